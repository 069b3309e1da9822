//! Arrays, views, composites in memory, local arrays, atomics, bad indices.

use kc::codegen::llvm::{Atomics, HostModule, LlvmTarget, Parts, emit_llvm_ir};
use kc::codegen::sites::SiteKind;
use kc::types::Scalar;

use crate::harness::*;

const STENCIL: &str = "kernel @k(%u: array2d(dtype=float32), %o: array2d(dtype=float32)) rank 2 {
    %i: int32 = thread_index 0
    %j: int32 = thread_index 1
    %c0: int32 = const 0
    %c1: int32 = const 1
    %h: int32 = extent %u, 0
    %w: int32 = extent %u, 1
    %h1: int32 = sub %h, %c1
    %w1: int32 = sub %w, %c1
    %a: bool = gt %i, %c0
    %b: bool = lt %i, %h1
    %c: bool = gt %j, %c0
    %d: bool = lt %j, %w1
    %ab: bool = and %a, %b
    %cd: bool = and %c, %d
    %in: bool = and %ab, %cd
    if %in {
      %l: int32 = sub %j, %c1
      %r: int32 = add %j, %c1
      %n: int32 = sub %i, %c1
      %s: int32 = add %i, %c1
      %x0: float32 = load %u[%i, %l]
      %x1: float32 = load %u[%i, %r]
      %x2: float32 = load %u[%n, %j]
      %x3: float32 = load %u[%s, %j]
      %y0: float32 = add %x0, %x1
      %y1: float32 = add %x2, %x3
      %y: float32 = add %y0, %y1
      store %o[%i, %j], %y
      yield
    } else {
      yield
    }
    return
  }";

fn grid(h: i32, w: i32) -> Array {
    let values: Vec<u64> = (0..h * w).map(|n| u64::from(((n * n % 17) as f32 * 0.25).to_bits())).collect();
    Array::new(Scalar::F32, 1, &[h, w], &values)
}

#[test]
fn a_stencil_dense_and_strided() {
    let dense = grid(9, 40);
    compare(STENCIL, &[9, 40], &[Arg::Array(dense), zeros(Scalar::F32, &[9, 40])]);
    // Every second column of a wider grid, from the second on.
    let mut every_other = grid(9, 80);
    every_other.shape = vec![9, 40];
    every_other.strides = vec![320, 8];
    every_other.offset = 4;
    compare(STENCIL, &[9, 40], &[Arg::Array(every_other.clone()), zeros(Scalar::F32, &[9, 40])]);
    // Transposed, and rows backwards.
    let mut transposed = grid(40, 9);
    transposed.shape = vec![9, 40];
    transposed.strides = vec![4, 36];
    compare(STENCIL, &[9, 40], &[Arg::Array(transposed), zeros(Scalar::F32, &[9, 40])]);
    let mut backwards = grid(9, 40);
    backwards.strides = vec![-160, 4];
    backwards.offset = 8 * 160;
    compare(STENCIL, &[9, 40], &[Arg::Array(backwards), zeros(Scalar::F32, &[9, 40])]);
}

#[test]
fn the_stencil_and_saxpy_vectorise() {
    let saxpy = "kernel @k(%a: float32, %x: array(dtype=float32), %y: array(dtype=float32)) rank 1 {
        %i: int32 = thread_index 0
        %p: float32 = load %x[%i]
        %q: float32 = load %y[%i]
        %r: float32 = mul %a, %p
        %s: float32 = add %r, %q
        store %y[%i], %s
        return
      }";
    for text in [saxpy, STENCIL] {
        let module = parse(text);
        let kernels: Vec<_> = module.kernels().map(|(id, _)| id).collect();
        let ir = emit_llvm_ir(&module, &kernels, LlvmTarget::Host(CHECKED), &Parts::new(0)).unwrap();
        assert!(ir.contains("x float>"), "{ir}");
    }
    let two = u64::from(2f32.to_bits());
    let values: Vec<f32> = (0..100).map(|n| n as f32).collect();
    let run = compare(saxpy, &[100], &[Arg::Value(Scalar::F32, two), f32s(&values), f32s(&values)]);
    assert_eq!(as_f32(&run.args[2])[99], 297.0);
}

#[test]
fn overlapping_arrays_keep_the_order_of_threads() {
    // x and y are the same array shifted: each thread reads what the one before wrote.
    let text = "kernel @k(%x: array(dtype=float32)) rank 1 {
        %i: int32 = thread_index 0
        %c1: int32 = const 1
        %j: int32 = add %i, %c1
        %p: float32 = load %x[%i]
        %q: float32 = load %x[%j]
        %r: float32 = add %p, %q
        store %x[%j], %r
        return
      }";
    compare(text, &[50], &[f32s(&[1.5; 51])]);
}

#[test]
fn affine_indices_of_all_kinds() {
    // n-1-i, 2*i+1, i*w+k in loops, negative constants, and the first bad one is reported.
    let text = "kernel @k(%x: array(dtype=int32), %o: array(dtype=int32), %w: int32) rank 1 {
        %i: int32 = thread_index 0
        %c0: int32 = const 0
        %c1: int32 = const 1
        %c2: int32 = const 2
        %m1: int32 = const -1
        %n: int32 = extent %x, 0
        %n1: int32 = sub %n, %c1
        %back: int32 = sub %n1, %i
        %a: int32 = load %x[%back]
        %d: int32 = mul %i, %c2
        %d1: int32 = add %d, %c1
        %b: int32 = load %x[%d1]
        %l: int32 = load %x[%m1]
        %s0: int32 = add %a, %b
        %s1: int32 = add %s0, %l
        %s2: int32 = for %k: int32 = %c0 to %w step %c1 carry %s: int32 = %s1 {
          %ik: int32 = add %i, %k
          %v: int32 = load %x[%ik]
          %t: int32 = add %s, %v
          yield %t
        }
        store %o[%i], %s2
        return
      }";
    let x: Vec<i32> = (0..64).map(|n| n * n).collect();
    let w = |n: i32| Arg::Value(Scalar::I32, n as u32 as u64);
    compare(text, &[32], &[i32s(&x), zeros(Scalar::I32, &[32]), w(5)]);
    compare(text, &[32], &[i32s(&x), zeros(Scalar::I32, &[32]), w(-5)]);
    let run = compare(text, &[33], &[i32s(&x), zeros(Scalar::I32, &[33]), w(5)]);
    assert_eq!(run.failure, Some(Failure::OutOfBounds { dim: 0, index: 65, extent: 64, thread: 32 }));
    let run = compare(text, &[32], &[i32s(&x), zeros(Scalar::I32, &[32]), w(60)]);
    assert_eq!(run.failure, Some(Failure::OutOfBounds { dim: 0, index: 64, extent: 64, thread: 5 }));
}

#[test]
fn bad_indices_name_their_site_and_dimension() {
    let text = "kernel @k(%x: array2d(dtype=float64), %n: int32, %m: int64) rank 1 {
        %i: int32 = thread_index 0
        %v: float64 = load %x[%i, %n]
        %w: float64 = load %x[%n, %m]
        %s: float64 = add %v, %w
        store %x[%i, %i], %s
        return
      }";
    let x = || zeros(Scalar::F64, &[4, 6]);
    let args = |n: i32, m: i64| [x(), Arg::Value(Scalar::I32, n as u32 as u64), Arg::Value(Scalar::I64, m as u64)];
    let failure = |n, m, threads| compare(text, &[threads], &args(n, m)).failure;
    assert_eq!(failure(-1, -6, 4), None);
    assert_eq!(failure(6, 0, 4), Some(Failure::OutOfBounds { dim: 1, index: 6, extent: 6, thread: 0 }));
    assert_eq!(failure(-7, 0, 4), Some(Failure::OutOfBounds { dim: 1, index: -7, extent: 6, thread: 0 }));
    let far = Failure::OutOfBounds { dim: 1, index: 1 << 32, extent: 6, thread: 0 };
    assert_eq!(failure(0, 1 << 32, 4), Some(far));
    assert_eq!(failure(0, 0, 6), Some(Failure::OutOfBounds { dim: 0, index: 4, extent: 4, thread: 4 }));
    let module = parse(text);
    let host = HostModule::compile(&module, &[module.find("k").unwrap()], &CHECKED).unwrap();
    assert!(host.sites().iter().all(|site| site.kind == SiteKind::Access && site.description == "x"));
}

#[test]
fn views_local_arrays_and_null_arrays() {
    let text = "kernel @k(%x: array3d(dtype=int32), %o: array(dtype=int32)) rank 1 {
        %i: int32 = thread_index 0
        %c0: int32 = const 0
        %c1: int32 = const 1
        %c2: int32 = const 2
        %c5: int32 = const 5
        %m1: int32 = const -1
        %p: array2d(dtype=int32) = view %x[%m1]
        %q: array(dtype=int32) = view %p[%c1:%c5:%c2, %i]
        %e: int32 = extent %q, 0
        %f: int32 = load %q[%m1]
        %none: array(dtype=int32) = zero
        %set: bool = is_set %q
        %unset: bool = is_set %none
        %l: local(int32, 2, 3) = local_array
        store %l[%c1, %m1], %f
        %old: int32 = atomic add %l[%c1, %c2], %e
        %g: int32 = load %l[%c1, %c2]
        %z: int32 = load %l[%c0, %c2]
        %b: int32 = cast %set
        %d: int32 = cast %unset
        %s: int32 = add %g, %old
        %s1: int32 = add %s, %b
        %s2: int32 = add %s1, %d
        %s3: int32 = add %s2, %z
        store %o[%i], %s3
        return
      }";
    let x: Vec<u64> = (0..2 * 6 * 4).map(|n| n * 3).collect();
    let x = || Arg::Array(Array::new(Scalar::I32, 1, &[2, 6, 4], &x));
    let run = compare(text, &[4], &[x(), zeros(Scalar::I32, &[4])]);
    assert_eq!(as_i32(&run.args[1])[0], 3 * (24 + 3 * 4) * 2 + 2 + 1);
    let run = compare(text, &[5], &[x(), zeros(Scalar::I32, &[5])]);
    assert_eq!(run.failure, Some(Failure::OutOfBounds { dim: 1, index: 4, extent: 4, thread: 4 }));
}

#[test]
fn composites_in_memory_with_dynamic_components() {
    let text = "kernel @k(%x: array(dtype=mat33f), %d: array(dtype=int32), %o: array(dtype=mat33f)) rank 1 {
        %i: int32 = thread_index 0
        %n: int32 = load %d[%i]
        %c1: int32 = const 1
        %m: mat33f = load %x[%i]
        %r: vec3f = extract %m[%n]
        %e: float32 = load %x[%i][1][%n]
        %r2: vec3f = mul %r, %e
        %m2: mat33f = insert %m[%n], %r2
        %m3: mat33f = insert %m2[%n][%n], %e
        %same: bool = eq %m3, %m
        %t: mat33f = select %same, %m, %m3
        store %o[%i], %t
        store %o[%i][%n][2], %e
        %row: vec3f = load %x[%c1][%n]
        %old: vec3f = atomic max %o[%i][%n], %row
        return
      }";
    let values: Vec<u64> = (0..9 * 9).map(|n| u64::from((n as f32 * 0.5 - 7.0).to_bits())).collect();
    let x = Arg::Array(Array::new(Scalar::F32, 9, &[9], &values));
    let d = i32s(&[0, 1, 2, 3, 100, -1, -3, -4, i32::MIN]);
    compare(text, &[9], &[x, d, Arg::Array(Array::zeros(Scalar::F32, 9, &[9]))]);
}

#[test]
fn structs_with_arrays() {
    let text = "struct Inner {
        a: vec3f
        on: bool
        data: array(dtype=float32)
      }
      struct Outer {
        h: float16
        inner: Inner
        k: uint8
      }
      kernel @k(%s: array(dtype=Outer), %x: array(dtype=float32), %o: array(dtype=float32)) rank 1 {
        %i: int32 = thread_index 0
        %c0: int32 = const 0
        %c1: int32 = const 1
        %true: bool = const true
        %v: Outer = load %s[%c0]
        %v1: Outer = insert %v.inner.data, %x
        %v2: Outer = insert %v1.inner.on, %true
        store %s[%c0], %v2
        %in: Inner = load %s[%c0].inner
        %on: bool = extract %in.on
        %y: array(dtype=float32) = extract %in.data
        %n: int32 = extent %y, 0
        %e: float32 = load %y[%i]
        %f: float32 = cast %n
        %g: float32 = mul %e, %f
        %z: float32 = zero
        %r: float32 = select %on, %g, %z
        store %o[%i], %r
        return
      }";
    // The struct takes 2 + 12 + 1 + 56 + 1 bytes, padded: words are enough memory of the right
    // alignment.
    let module = parse(text);
    let layout = kc::types::Layout::of(kc::types::Type::Struct(kc::types::StructId(1)), &module.structs);
    let words = vec![0; layout.size as usize / 8];
    let s = Arg::Array(Array::new(Scalar::U64, words.len(), &[1], &words));
    let kernel = module.find("k").unwrap();
    let args = [s, f32s(&[1.0, 2.0, 3.0]), zeros(Scalar::F32, &[3])];
    let host = HostModule::compile(&module, &[kernel], &CHECKED).unwrap();
    let run = run_host(&host, &module, kernel, &[3], &args, u64::MAX);
    assert_eq!(run.failure, None);
    assert_eq!(as_f32(&run.args[2]), [3.0, 6.0, 9.0]);
    assert_ptx(&module, &[kernel], "sm_90", kc::codegen::llvm::Opt::Full);
}

const ATOMICS: [&str; 8] = ["add", "sub", "min", "max", "and", "or", "xor", "exchange"];

fn has_atomic(op: &str, s: Scalar) -> bool {
    match op {
        "exchange" => true,
        "and" | "or" | "xor" => s.is_int(),
        _ => s != Scalar::Bool,
    }
}

#[test]
fn atomics_of_every_kind() {
    for s in Scalar::ALL {
        let t = s.name();
        let ops: Vec<&str> = ATOMICS.into_iter().filter(|op| has_atomic(op, s)).collect();
        let mut text = format!(
            "kernel @k(%x: array(dtype={t}), %a: array(dtype={t}), %o: array2d(dtype={t})) rank 1 {{\n\
             %i: int32 = thread_index 0\n%v: {t} = load %x[%i]\n"
        );
        for (n, op) in ops.iter().enumerate() {
            text += &format!(
                "%n{n}: int32 = const {n}\n%r{n}: {t} = atomic {op} %a[%n{n}], %v\nstore %o[%n{n}, %i], %r{n}\n"
            );
        }
        let n = ops.len();
        text +=
            &format!("%n{n}: int32 = const {n}\n%w: {t} = load %a[%n0]\n%r{n}: {t} = atomic_cas %a[%n{n}], %w, %v\n");
        text += &format!("store %o[%n{n}, %i], %r{n}\nreturn\n}}");
        let values: Vec<u64> = (0..20u64)
            .map(|k| if s.is_float() { kc::ir::Const::float(s, (k * 37 % 11) as f64 - 4.5).bits } else { k * 37 % 251 })
            .map(|bits| if s == Scalar::Bool { bits & 1 } else { bits })
            .collect();
        let x = Arg::Array(Array::new(s, 1, &[20], &values));
        let rows = n as i32 + 1;
        compare(&text, &[20], &[x, zeros(s, &[rows]), zeros(s, &[rows, 20])]);
        let module = parse(&text);
        let kernels: Vec<_> = module.kernels().map(|(id, _)| id).collect();
        for arch in crate::common::ARCHITECTURES {
            assert_ptx(&module, &kernels, arch, kc::codegen::llvm::Opt::Lean);
        }
    }
}

#[test]
fn atomics_hold_between_workers() {
    let text = "kernel @k(%a: array(dtype=float32), %b: array(dtype=uint8), %m: array(dtype=float16)) rank 1 {
        %i: int32 = thread_index 0
        %c0: int32 = const 0
        %c1: int32 = const 1
        %one: float32 = const 1.0
        %u: uint8 = const 1
        %h: float16 = const 1.0
        %r: float32 = atomic add %a[%c0], %one
        %s: uint8 = atomic add %b[%c1], %u
        %t: float16 = atomic add %m[%c1], %h
        return
      }";
    let module = parse(text);
    let kernel = module.find("k").unwrap();
    let host = HostModule::compile(&module, &[kernel], &CHECKED).unwrap();
    let entry = host.entry(kernel).unwrap();
    let (mut a, mut b, mut m) = ([0f32; 2], [0u8; 4], [0u16; 4]);
    let array = |data: u64, n: i32, size: i32| kc::abi::ArrayDescriptor {
        data,
        grad: 0,
        shape: [n, 0, 0, 0],
        strides: [size, 0, 0, 0],
        ndim: 1,
        flags: 0,
    };
    let args = [
        array(a.as_mut_ptr().expose_provenance() as u64, 2, 4),
        array(b.as_mut_ptr().expose_provenance() as u64, 4, 1),
        array(m.as_mut_ptr().expose_provenance() as u64, 4, 2),
    ];
    let launch = kc::abi::LaunchBounds::new(&[2048]).unwrap();
    std::thread::scope(|scope| {
        for worker in 0..4u64 {
            let (args, launch) = (&args, &launch);
            scope.spawn(move || {
                // SAFETY: the arrays outlive the scope and are changed by atomics only. A null
                // status is allowed.
                unsafe {
                    let args = std::ptr::from_ref(args).cast();
                    entry(launch, args, worker * 512, (worker + 1) * 512, std::ptr::null_mut());
                }
            });
        }
    });
    // SAFETY: the workers are done; the compiler could not see their writes.
    let (a, b, m) = unsafe { (std::ptr::read_volatile(&a), std::ptr::read_volatile(&b), std::ptr::read_volatile(&m)) };
    assert_eq!(a[0], 2048.0);
    assert_eq!(b, [0, 0, 0, 0], "2048 wraps to 0 in eight bits, and the neighbours keep theirs");
    assert_eq!(m[1], kc::ir::Const::float(Scalar::F16, 2048.0).bits as u16);
}

/// A block doubles 64 elements, from its first one on where that is at most `count` before the end.
fn doubles_a_part(count: u32) -> String {
    format!(
        "kernel @k(%x: array(dtype=float32), %o: array(dtype=float32)) rank 1 by_block {{
          %b: int32 = thread_index 0
          %c0: int32 = const 0
          %c1: int32 = const 1
          %c64: int32 = const 64
          %count: int32 = const {count}
          %first: int32 = mul %b, %c64
          %n: int32 = extent %x, 0
          %last: int32 = sub %n, %count
          %low: bool = ge %first, %c0
          %high: bool = le %first, %last
          %in: bool = and %low, %high
          %t: tile(float32, 64) = local_array
          if %in {{
            for %i: int32 = %c0 to %c64 step %c1 {{
              %at: int32 = add %first, %i
              %v: float32 = load %x[%at]
              %d: float32 = add %v, %v
              store %t[%i], %d
            }}
          }}
          for %j: int32 = %c0 to %c64 step %c1 {{
            %w: float32 = load %t[%j]
            %s: int32 = add %first, %j
            store %o[%s], %w
          }}
          return
        }}"
    )
}

#[test]
fn parts_of_arrays_that_are_inside_are_not_checked() {
    let args = |n: usize| [f32s(&(0..n).map(|n| n as f32).collect::<Vec<_>>()), zeros(Scalar::F32, &[192])];
    // Where nothing is known of the whole row.
    let vectors = |count: u32| {
        let (_, ir) = host_code(&doubles_a_part(count), true, Atomics::Shared);
        function_of(&ir, "k_rows").contains("fadd <")
    };
    assert!(vectors(64) && !vectors(63));
    // The last block is ragged: it copies nothing.
    for n in [192, 190, 128, 64, 1, 0] {
        compare(&doubles_a_part(64), &[3], &args(n));
    }
    // One index too many is found in its block, and told.
    let run = compare(&doubles_a_part(63), &[3], &args(127));
    assert!(run.failure.is_some(), "the index is outside");
}
