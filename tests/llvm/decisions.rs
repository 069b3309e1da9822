//! Do the decisions that make code fast show in the code? What it computes is for the other tests,
//! which would pass without them.

use kc::codegen::llvm::{Atomics, Cpu, HostOptions, Opt, emit_plan};

use crate::harness::*;

/// A kernel of two coordinates `%i` and `%j` with this body, whose result is `%r`.
fn kernel(body: &str) -> String {
    format!(
        "kernel @k(%x: array2d(dtype=float32), %y: array2d(dtype=float32), %n: int32, %m: int32) rank 2 {{
            %i: int32 = thread_index 0
            %j: int32 = thread_index 1
            %c0: int32 = const 0
            %c1: int32 = const 1
            %c2: int32 = const 2
            %zero: float32 = const 0.0
            {body}
            store %y[%i, %j], %r
            return
          }}"
    )
}

/// Lanes that read elements anywhere pay on one processor and not on another: `--cpu` changes the
/// plan.
#[test]
fn plans_know_the_processor() {
    let text = kernel(
        "%v: float32 = load %x[%i, %j]
            %p: int32 = cast %v
            %r: float32 = load %x[%i, %p]",
    );
    let module = parse(&text);
    let kernels = [module.find("k").expect("the kernel is called k")];
    for (name, lanes) in
        [("sapphirerapids", "lanes: 16"), ("skylake", "lanes: 8"), ("znver2", "lanes: none"), ("znver5", "lanes: none")]
    {
        let cpu = Cpu::from_name(name).expect("a processor of the table");
        let plan = emit_plan(
            &module,
            &kernels,
            &HostOptions { checked: false, opt: Opt::Full, cpu, atomics: Atomics::Plain },
            Default::default(),
        );
        assert!(plan.contains(lanes), "{name}\n{plan}");
    }
}

/// Indices that are sums of the coordinates and of what a row does not change are checked before
/// the row: the loop over its threads reports nothing, only the code for what is left does.
#[test]
fn affine_indices_are_checked_before_the_row() {
    let beside = "%p: int32 = add %j, %c1
        %q: int32 = sub %i, %c1
        %r: float32 = load %x[%q, %p]";
    let scaled = "%a: int32 = mul %j, %c2
        %b: int32 = mul %n, %m
        %c: int32 = add %a, %b
        %d: int32 = sub %c, %i
        %r: float32 = load %x[%m, %d]";
    let turns = "%r: float32 = for %k: int32 = %c0 to %n step %c1 carry %s: float32 = %zero {
          %p: int32 = add %j, %k
          %v: float32 = load %x[%k, %p]
          %t: float32 = add %s, %v
          yield %t
        }";
    for body in [beside, scaled, turns] {
        let (_, ir) = host_code(&kernel(body), true, Atomics::Shared);
        let (entry, rows) = (function_of(&ir, "k_cpu_kernel_forward"), function_of(&ir, "k_rows"));
        assert!(!entry.contains("kc_out_of_bounds"), "{body}\n{entry}");
        assert!(rows.contains("kc_out_of_bounds"), "{body}\n{rows}");
        // Neighbours are read at once.
        assert!(!entry.contains("llvm.masked.gather") || body == scaled, "{body}\n{entry}");
    }
    // What depends on memory is checked where it is used.
    let (_, ir) = host_code(
        &kernel(
            "%v: float32 = load %x[%i, %j]
            %p: int32 = cast %v
            %r: float32 = load %x[%i, %p]",
        ),
        true,
        Atomics::Shared,
    );
    assert!(function_of(&ir, "k_cpu_kernel_forward").contains("kc_out_of_bounds"), "{ir}");
}

/// A loop by several steps stops where its last turn does, and an index that some turn has out of
/// bounds, which a branch may leave out, is checked in its place: the others have no checks then
/// either.
#[test]
fn one_index_does_not_cost_the_row() {
    // Four at a time, from `%k` to the third behind it, in a row of 64: all of them are inside.
    let steps =
        "%four: int32 = const 4\n%three: int32 = const 3\n%end: int32 = const 64\n%t: tile(float32, 64) = local_array
        %r: float32 = for %k: int32 = %c0 to %end step %four carry %s: float32 = %zero {
          %at: int32 = add %k, %three
          %v: float32 = load %x[%i, %j]
          store %t[%at], %v
          %w: float32 = load %t[%k]
          %q: float32 = add %s, %w
          yield %q
        }";
    let (_, ir) = host_code(&kernel(steps), true, Atomics::Shared);
    let entry = function_of(&ir, "k_cpu_kernel_forward");
    assert!(entry.contains("fadd") && !entry.contains("kc_out_of_bounds"), "{entry}");
    let before = "%r: float32 = for %k: int32 = %c0 to %n step %c1 carry %s: float32 = %zero {
          %first: bool = eq %k, %c0
          %v: float32 = if %first {
            yield %zero
          } else {
            %p: int32 = sub %k, %c1
            %u: float32 = load %x[%p, %j]
            yield %u
          }
          %w: float32 = load %x[%k, %j]
          %q: float32 = add %v, %w
          %t: float32 = add %s, %q
          yield %t
        }";
    let (_, ir) = host_code(&kernel(before), true, Atomics::Shared);
    let (entry, rows) = ["k_cpu_kernel_forward", "k_rows"].map(|name| function_of(&ir, name)).into();
    let checks = [entry, rows].map(|text| text.matches("call void @kc_out_of_bounds").count());
    // The entry has the body twice, for one vector and for several.
    assert!(checks[0] > 0 && checks[0] < 2 * checks[1], "{checks:?}\n{entry}");
}

/// An index times a stride is one instruction of 32 bits by 32 bits.
#[test]
fn addresses_are_widening_products() {
    let text = kernel("%r: float32 = load %x[%j, %i]");
    let module = parse(&text);
    let ptx = assert_ptx(&module, &[module.find("k").unwrap()], "sm_90", Opt::Full);
    assert_eq!(ptx.matches("mul.wide.s32").count(), 4, "{ptx}");
    assert_eq!(ptx.matches("mad.lo.s64").count(), 0, "{ptx}");
}

/// A short kernel that runs thread by thread takes eight threads in a turn; a longer one, and one
/// with a loop, does not.
#[test]
fn short_kernels_take_eight_threads_in_a_turn() {
    let updates = |text: &str| {
        let (plan, ir) = host_code(text, false, Atomics::Shared);
        assert!(plan.contains("\n  lanes: none, because "), "{plan}");
        function_of(&ir, "k_cpu_kernel_forward").matches("atomicrmw xor ").count()
    };
    let update = |n: usize| format!("%a{n}: int32 = atomic xor %to[%n], %c{}\n", n + 1);
    let constant = |n: usize| format!("%c{n}: int32 = const {n}\n");
    let text = |updates: usize, after: &str| {
        let constants: String = (0..=updates).map(constant).collect();
        let updates: String = (0..updates).map(update).collect();
        format!(
            "kernel @k(%at: array(dtype=int32), %to: array(dtype=int32)) rank 1 {{
                %i: int32 = thread_index 0
                %n: int32 = load %at[%i]
                {constants}{updates}{after}
                return
              }}"
        )
    };
    // One more for what is left of a row.
    assert_eq!(updates(&text(1, "")), 9);
    // Twice, for there is a loop for arrays beyond the caches.
    assert_eq!(updates(&text(30, "")), 60);
    let turning = "for %k: int32 = %c0 to %n step %c1 {\n%b: int32 = atomic add %to[%n], %k\n}\n";
    assert_eq!(updates(&text(1, turning)), 2);
}

/// However many neighbours of an element a kernel reads, one comparison of a row's ends with the
/// array's covers all.
#[test]
fn any_number_of_neighbours_is_checked_once_for_a_row() {
    let many: String = (0..300)
        .map(|n| format!("%c{n}: int32 = const {n}\n%q{n}: int32 = add %i, %c{n}\n%v{n}: float32 = load %x[%q{n}]\nstore %y[%i], %v{n}\n"))
        .collect();
    let text = format!(
        "kernel @k(%x: array(dtype=float32), %y: array(dtype=float32)) rank 1 {{\n%i: int32 = thread_index 0\n{many}return\n}}\n"
    );
    let (_, ir) = host_code(&text, true, Atomics::Shared);
    let entry = function_of(&ir, "k_cpu_kernel_forward");
    assert!(!entry.contains("llvm.masked.gather") && !entry.contains("kc_out_of_bounds"), "{entry}");
}

/// A kernel with atomics has a part that is plain and one that is not, and an entry that chooses;
/// one without has one entry.
#[test]
fn objects_have_an_entry_without_atomics() {
    let add = "kernel @k(%x: array(dtype=float32), %y: array(dtype=float32)) rank 1 {
        %i: int32 = thread_index 0
        %v: float32 = load %x[%i]
        %3: int32 = const 3
        %j: int32 = and %i, %3
        %old: float32 = atomic add %y[%j], %v
        return
    }";
    let (_, ir) = host_code(add, true, Atomics::Called);
    let atomic = |name: &str| function_of(&ir, name).contains("atomicrmw");
    assert!(!atomic("k_cpu_kernel_forward_alone") && atomic("k_cpu_kernel_forward_shared"), "{ir}");
    let entry = function_of(&ir, "k_cpu_kernel_forward");
    assert!(entry.contains("@k_cpu_kernel_forward_alone") && entry.contains("@k_cpu_kernel_forward_shared"), "{entry}");
    let (_, ir) =
        host_code(&add.replace("%old: float32 = atomic add %y[%j], %v", "store %y[%j], %v"), true, Atomics::Called);
    assert!(!ir.contains("_alone") && !ir.contains("_shared"), "{ir}");
}

/// Many atomics in a kernel are calls of one function.
#[test]
fn many_atomics_are_calls() {
    let many = |count: usize| -> String {
        let adds: String = (0..count)
            .map(|n| format!("%c{n}: int32 = const {n}\n%q{n}: int32 = add %i, %c{n}\n%o{n}: float32 = atomic add %y[%q{n}], %one\n"))
            .collect();
        format!(
            "kernel @k(%y: array(dtype=float32)) rank 1 {{\n%i: int32 = thread_index 0\n%one: float32 = const 1.5\n{adds}return\n}}\n"
        )
    };
    let calls =
        |count| host_code(&many(count), true, Atomics::Shared).1.matches("call float @kc_atomic_add_float32").count();
    assert!(calls(8) == 0 && calls(100) > 60, "{} {}", calls(8), calls(100));
}

/// A function of the host that would become large by what it calls calls it, with what that needs
/// of an array alone; a device inlines it.
#[test]
fn large_kernels_of_the_host_call_their_functions() {
    let mut function = "func @part(%in: array2d(dtype=float32), %i: int32, %x: float32) -> (float32) {
        %e: float32 = load %in[%i, %i]
        %s0: float32 = add %e, %x\n"
        .to_string();
    for n in 0..50 {
        function += &format!(
            "%c{n}: bool = gt %s{n}, %e
            %s{}: float32 = if %c{n} {{
              %a{n}: float32 = load %in[%i, %i]
              store %in[%i, %i], %s{n}
              yield %a{n}
            }} else {{
              %b{n}: float32 = div %s{n}, %e
              yield %b{n}
            }}\n",
            n + 1
        );
    }
    function += "return %s50\n}\n";
    for (calls, is_called) in [(3, false), (20, true)] {
        let body: String = (0..calls).map(|n| format!("%x{}: float32 = call @part(%x, %i, %x{n})\n", n + 1)).collect();
        let body = format!("%x0: float32 = const 1.5\n{body}%r: float32 = add %x{calls}, %zero");
        let text = function.clone() + &kernel(&body);
        let (_, ir) = host_code(&text, true, Atomics::Shared);
        assert_eq!(ir.contains("@part_func("), is_called, "{calls} calls");
        let numbers = |line: &str| line.split("@part_func(").nth(1).map(|rest| rest.matches(',').count() + 1);
        let defined = ir.lines().find(|line| line.starts_with("define internal")).and_then(numbers);
        // The thread takes four numbers, the array nine.
        assert!(defined.is_none_or(|numbers| numbers <= 14), "{defined:?}");
        let module = parse(&text);
        let ptx = assert_ptx(&module, &[module.find("k").unwrap()], "sm_90", Opt::Full);
        assert!(!ptx.contains("part_func"), "{calls} calls");
    }
}
