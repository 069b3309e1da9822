//! Loops, branches, calls, launches.

use kc::codegen::llvm::{Grid, HostModule, HostOptions, LlvmTarget, Opt, Parts, PtxOptions, emit_llvm_ir, emit_ptx};
use kc::types::Scalar;

use crate::common;
use crate::harness::*;

/// A kernel of `%in` and `%out` (int32) with constants `%c0` to `%c5`, `%m1`, the thread `%i` and
/// the extent `%n`.
fn ints(functions: &str, body: &str, input: &[i32], out: usize) -> Run {
    let constants: String = (0..=5).map(|n| format!("%c{n}: int32 = const {n}\n")).collect();
    let text = format!(
        "{functions}kernel @k(%in: array(dtype=int32), %out: array(dtype=int32)) rank 1 {{\n{constants}\
         %m1: int32 = const -1\n%i: int32 = thread_index 0\n%n: int32 = extent %in, 0\n{body}\nreturn\n}}"
    );
    compare(&text, &[out as u32], &[i32s(input), zeros(Scalar::I32, &[out as i32])])
}

#[test]
fn loops_with_every_step() {
    // Sums of i*k over ranges with run-time and constant steps, both ways, and none at all.
    let body = "
        %s0: int32 = load %in[%i]
        %a: int32, %last: int32 = for %k: int32 = %m1 to %c5 step %s0 carry %s: int32 = %c0, %l: int32 = %c0 {
          %t: int32 = add %s, %k
          yield %t, %k
        }
        %m3: int32 = const -3
        %b: int32 = for %k2: int32 = %c5 to %m3 step %m1 carry %s2: int32 = %a {
          %t2: int32 = add %s2, %k2
          yield %t2
        }
        %far: int32 = const 2147483647
        %near: int32 = const 2147483640
        %c: int32 = for %k3: int32 = %near to %far step %c3 carry %s3: int32 = %b {
          %t3: int32 = xor %s3, %k3
          yield %t3
        }
        %d: int32 = add %c, %last
        store %out[%i], %d";
    let steps = [1, 2, 3, 5, 6, 7, 100, 0, -1, -2, i32::MAX, i32::MIN];
    ints("", body, &steps, steps.len());
}

#[test]
fn narrow_and_unsigned_loop_variables() {
    let text = "kernel @k(%out: array(dtype=int32)) rank 1 {
        %i: int32 = thread_index 0
        %z: int32 = const 0
        %from: uint8 = const 250
        %to: uint8 = const 255
        %step: uint8 = const 2
        %a: int32 = for %k: uint8 = %from to %to step %step carry %s: int32 = %z {
          %w: int32 = cast %k
          %t: int32 = add %s, %w
          yield %t
        }
        %low: int8 = const -128
        %high: int8 = const 127
        %down: int8 = const -100
        %b: int32 = for %k2: int8 = %high to %low step %down carry %s2: int32 = %a {
          %w2: int32 = cast %k2
          %t2: int32 = mul %s2, %w2
          yield %t2
        }
        store %out[%i], %b
        return
      }";
    compare(text, &[3], &[zeros(Scalar::I32, &[3])]);
}

#[test]
fn break_continue_return_and_while() {
    let body = "
        %r: int32, %q: int32 = while carry %a: int32 = %i, %b: int32 = %c0 {
          %more: bool = lt %b, %n
          yield %more
        } do carry %a.1: int32, %b.1: int32 {
          %x: int32 = load %in[%b.1]
          %b.2: int32 = add %b.1, %c1
          %odd: int32 = and %x, %c1
          %is: bool = eq %odd, %c1
          if %is {
            continue %a.1, %b.2
          }
          %stop: bool = eq %x, %c4
          if %stop {
            %u: int32 = mul %a.1, %c5
            break %u, %b.2
          } else {
            %done: bool = eq %x, %i
            if %done {
              store %out[%i], %m1
              return
            }
            yield
          }
          %t: int32 = add %a.1, %x
          yield %t, %b.2
        }
        %sum: int32 = add %r, %q
        store %out[%i], %sum";
    let run = ints("", body, &[3, 2, 6, 8, 1, 4, 10], 9);
    assert_eq!(as_i32(&run.args[1])[2], -1);
}

#[test]
fn an_infinite_while_ends_once_an_index_is_bad() {
    let body = "
        %r: int32 = while carry %a: int32 = %c0 {
          %x: int32 = load %in[%a]
          %more: bool = ne %x, %c5
          yield %more
        } do carry %a.1: int32 {
          %a.2: int32 = add %a.1, %c1
          yield %a.2
        }
        store %out[%i], %r";
    // No 5 in the input: the search runs off its end.
    let text = format!(
        "kernel @k(%in: array(dtype=int32), %out: array(dtype=int32)) rank 1 {{
         %c0: int32 = const 0\n%c1: int32 = const 1\n%c5: int32 = const 5\n%i: int32 = thread_index 0\n{body}\nreturn\n}}"
    );
    let module = parse(&text);
    let kernel = module.find("k").unwrap();
    let host = HostModule::compile(&module, &[kernel], &CHECKED).unwrap();
    let args = [i32s(&[1, 2, 3]), zeros(Scalar::I32, &[2])];
    let run = run_host(&host, &module, kernel, &[2], &args, u64::MAX);
    assert_eq!(run.failure, Some(Failure::OutOfBounds { dim: 0, index: 3, extent: 3, thread: 0 }));
}

#[test]
fn calls_with_early_returns_and_composites() {
    let functions = "
        func @clamp(%x: int32, %low: int32, %high: int32) -> (int32) {
          %a: bool = lt %x, %low
          if %a {
            return %low
          }
          %b: bool = gt %x, %high
          if %b {
            return %high
          }
          return %x
        }
        func @both(%v: vec2i) -> (vec2i, int32) {
          %x: int32 = extract %v[0]
          %y: int32 = extract %v[1]
          %w: vec2i = construct %y, %x
          %s: int32 = add %x, %y
          return %w, %s
        }
        ";
    let body = "
        %x: int32 = load %in[%i]
        %y: int32 = call @clamp(%x, %m1, %c4)
        %v: vec2i = construct %x, %y
        %w: vec2i, %s: int32 = call @both(%v)
        %d: vec2i = mul %w, %c3
        %e: vec2i = sub %d, %v
        %f: int32 = extract %e[0]
        %g: int32 = add %f, %s
        %h: int32 = call @clamp(%g, %c0, %y)
        %o: int32 = add %g, %h
        store %out[%i], %o";
    ints(functions, body, &[-5, -1, 0, 3, 4, 5, 100], 7);
}

#[test]
fn launches_of_every_rank() {
    for rank in 1..=4usize {
        let dims: Vec<u32> = [3, 5, 2, 4][4 - rank..].to_vec();
        let ndim = if rank == 1 { String::new() } else { format!("{rank}d") };
        let mut text = format!("kernel @k(%out: array{ndim}(dtype=int32)) rank {rank} {{\n%ten: int32 = const 10\n");
        let mut sum = String::new();
        for n in 0..rank {
            text += &format!("%t{n}: int32 = thread_index {n}\n");
            if n > 0 {
                text += &format!("%m{n}: int32 = mul {sum}, %ten\n%s{n}: int32 = add %m{n}, %t{n}\n");
                sum = format!("%s{n}");
            } else {
                sum = "%t0".to_string();
            }
        }
        let index: Vec<String> = (0..rank).map(|n| format!("%t{n}")).collect();
        text += &format!("store %out[{}], {sum}\nreturn\n}}", index.join(", "));
        let shape: Vec<i32> = dims.iter().map(|&d| d as i32).collect();
        compare(&text, &dims, &[zeros(Scalar::I32, &shape)]);
    }
}

#[test]
fn grids_that_cover_the_launch_save_the_loop_over_tasks() {
    let text = "kernel @k(%out: array3d(dtype=int32)) rank 3 {
        %i: int32 = thread_index 0
        %j: int32 = thread_index 1
        %k: int32 = thread_index 2
        %n: int32 = thread_number
        store %out[%i, %j, %k], %n
        return
      }";
    let module = parse(text);
    let kernels = [module.find("k").unwrap()];
    for arch in common::ARCHITECTURES {
        let any = assert_ptx(&module, &kernels, arch, Opt::Full);
        assert!(any.contains("%nctaid.x") && any.contains("div.u64"), "{any}");
        let options = PtxOptions { grid: Grid::Covering, ..ptx_options(arch, Opt::Full) };
        let covering = emit_ptx(&module, &kernels, &options, &Parts::new(0)).unwrap();
        common::assert_ptx(&covering, arch);
        assert!(!covering.contains("%nctaid.x") && !covering.contains("div.u64"), "{covering}");
        assert!(covering.contains("div.u32") && covering.contains("setp.ge.u32"), "{covering}");
        assert_eq!(covering.matches("bra").count(), 1, "{covering}");
    }
}

#[test]
fn large_kernels_are_optimised_leanly() {
    let sums = |count: usize| {
        let body: String =
            (0..count).map(|n| format!("%v{}: int32 = add %v{n}, %x\n%x{n}: int32 = mul %v{n}, %x\n", n + 1)).collect();
        let text = format!(
            "kernel @k(%a: array(dtype=int32)) rank 1 {{\n%i: int32 = thread_index 0\n%x: int32 = load %a[%i]\n\
             %y: int32 = const 1\n%v0: int32 = sub %x, %y\n{body}store %a[%i], %v{count}\nreturn\n}}"
        );
        let module = parse(&text);
        let kernels = [module.find("k").unwrap()];
        [Opt::Full, Opt::Lean].map(|opt| {
            emit_ptx(&module, &kernels, &ptx_options(common::ARCHITECTURES[0], opt), &Parts::new(0)).unwrap()
        })
    };
    let [full, lean] = sums(40);
    assert_ne!(full, lean);
    let [full, lean] = sums(5000);
    assert!(full == lean, "{} and {} bytes", full.len(), lean.len());
}

#[test]
fn extra_launch_dimensions_repeat_threads() {
    let text = "kernel @k(%out: array(dtype=int32)) rank 1 {
        %i: int32 = thread_index 0
        %one: int32 = const 1
        %old: int32 = atomic add %out[%i], %one
        return
      }";
    let run = compare(text, &[3, 2, 2], &[zeros(Scalar::I32, &[3])]);
    assert_eq!(as_i32(&run.args[0]), [4, 4, 4]);
}

#[test]
fn asserts_and_prints() {
    let body = "
        %x: int32 = load %in[%i]
        %big: bool = gt %x, %c3
        %f: float32 = cast %x
        print \"%d is %s: %5.2f|%x|%s%%\\n\", %x, %big, %f, %x, %f
        store %out[%i], %x";
    let run = ints("", body, &[1, -4, 5], 3);
    assert_eq!(run.printed, "1 is False:  1.00|1|1%\n-4 is False: -4.00|fffffffc|-4%\n5 is True:  5.00|5|5%\n");
    let body = "
        %x: int32 = load %in[%i]
        %fine: bool = gt %x, %c0
        assert %fine, \"x > 0\"
        store %out[%i], %x";
    let run = ints("", body, &[1, 2, -3, -4], 4);
    assert_eq!(run.failure, Some(Failure::Assert { thread: 2 }));
    assert_eq!(as_i32(&run.args[1]), [1, 2, -3, -4], "the thread goes on");
}

#[test]
fn large_callees_are_called_rather_than_inlined() {
    // 100 calls of a function of 250 instructions that uses the thread, its own memory, a struct of
    // results and a check.
    let mut functions = "func @big(%x: int32, %in: array(dtype=int32)) -> (vec2i, int32) {
        %t: int32 = thread_index 0
        %c1: int32 = const 1
        %l: local(int32, 3) = local_array
        store %l[%c1], %t
        %e: int32 = load %in[%x]
        %s0: int32 = add %e, %x\n"
        .to_string();
    for n in 0..250 {
        functions += &format!("%s{}: int32 = {} %s{n}, %t\n", n + 1, ["add", "xor", "mul"][n % 3]);
    }
    functions += "%k: int32 = load %l[%c1]\n%v: vec2i = construct %s250, %k\nreturn %v, %e\n}\n";
    let mut body = "%a0: int32 = const 0\n".to_string();
    for n in 0..100 {
        body += &format!(
            "%x{n}: int32 = rem %a{n}, %n\n%v{n}: vec2i, %e{n}: int32 = call @big(%x{n}, %in)\n\
             %p{n}: int32 = extract %v{n}[0]\n%q{n}: int32 = extract %v{n}[1]\n\
             %r{n}: int32 = add %p{n}, %q{n}\n%a{}: int32 = add %r{n}, %e{n}\n",
            n + 1
        );
    }
    let run = ints(&functions, &format!("{body}store %out[%i], %a100"), &[5, 2], 3);
    // A remainder may be -1, which counts from the end: never outside.
    assert_eq!(run.failure, None);
}

#[test]
fn callees_give_several_floats() {
    // By C's convention the third and fourth come through the x87 unit, by LLVM's the fifth and
    // sixth.
    for width in [4, 5, 6, 7] {
        // 100 calls of a function of 250 instructions with so many floats as results, each with
        // eight as arguments.
        let params: Vec<String> = (0..8).map(|n| format!("%p{n}: float32")).collect();
        let types = vec!["float32"; width].join(", ");
        let mut functions = format!("func @big({}) -> ({types}) {{\n%s0: float32 = add %p0, %p1\n", params.join(", "));
        for n in 0..250 {
            functions += &format!("%s{}: float32 = {} %s{n}, %p{}\n", n + 1, ["add", "sub", "min"][n % 3], n % 8);
        }
        let results: Vec<String> = (0..width).map(|n| format!("%s{}", 250 - n)).collect();
        functions += &format!("return {}\n}}\n", results.join(", "));
        let mut body: String = (0..8).map(|n| format!("%a{n}: float32 = const {n}.5\n")).collect();
        for n in 0..100 {
            let first = width * n;
            let args: Vec<String> = (first..first + 8).map(|k| format!("%a{k}")).collect();
            let given: Vec<String> = (first + 8..first + 8 + width).map(|k| format!("%a{k}: float32")).collect();
            body += &format!("{} = call @big({})\n", given.join(", "), args.join(", "));
        }
        let last = width * 100 + 7;
        body += "%t0: float32 = const 0.0\n";
        for n in 0..width {
            body += &format!("%t{}: float32 = add %t{n}, %a{}\n", n + 1, last - n);
        }
        let text = format!(
            "{functions}kernel @k(%out: array(dtype=float32)) rank 1 {{\n%i: int32 = thread_index 0\n{body}\
             store %out[%i], %t{width}\nreturn\n}}"
        );
        let run = compare(&text, &[3], &[zeros(Scalar::F32, &[3])]);
        assert_eq!(run.failure, None);
        let module = parse(&text);
        let options = HostOptions { opt: Opt::None, ..CHECKED };
        let ir =
            emit_llvm_ir(&module, &[module.find("k").unwrap()], LlvmTarget::Host(options), &Parts::new(0)).unwrap();
        // With five or six, some are added that nobody reads: seven come through memory.
        let fields = vec!["float"; if width > 4 { 7 } else { width }].join(", ");
        assert!(ir.contains(&format!("define internal swiftcc {{ {fields} }}")), "{ir}");
        assert!(ir.contains(&format!("call swiftcc {{ {fields} }}")), "{ir}");
    }
}
