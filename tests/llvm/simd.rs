//! Code that is built differently for the host's speed: lanes, loops without checks, several turns
//! at once. All ways must give what the interpreter gives.

use std::process::Command;

use kc::codegen::llvm::{Atomics, Cpu, HostOptions, emit_object};
use kc::types::Scalar;

use crate::harness::*;

/// Sums of the values that each row lists, with the bounds of the rows in an array:
/// `y[i] = sum of v[k] * x[col[k]]`.
const ROWS: &str = "kernel @k(%rows: array(dtype=int32), %col: array(dtype=int32), %v: array(dtype=float32), \
      %x: array(dtype=float32), %y: array(dtype=float32)) rank 1 {
    %i: int32 = thread_index 0
    %one: int32 = const 1
    %zero: float32 = const 0.0
    %next: int32 = add %i, %one
    %from: int32 = load %rows[%i]
    %to: int32 = load %rows[%next]
    %sum: float32 = for %k: int32 = %from to %to step %one carry %s: float32 = %zero {
      %a: float32 = load %v[%k]
      %c: int32 = load %col[%k]
      %b: float32 = load %x[%c]
      %p: float32 = mul %a, %b
      %t: float32 = add %s, %p
      yield %t
    }
    store %y[%i], %sum
    return
  }";

#[test]
fn rows_with_bounds_in_memory() {
    let run = |rows: &[i32], col: &[i32]| {
        let v: Vec<f32> = (0..col.len()).map(|n| n as f32 * 0.25 - 1.0).collect();
        let threads = rows.len() - 1;
        let args =
            [i32s(rows), i32s(col), f32s(&v), f32s(&[0.5, -2.0, 3.0, 8.0]), zeros(Scalar::F32, &[threads as i32])];
        compare(ROWS, &[threads as u32], &args).failure
    };
    let col = [0, 1, 2, 3, -1, -4, 0, 2, 2, 1, 3, -2];
    assert_eq!(run(&[0, 1, 1, 12, 3, 7, 0], &col), None);
    // Turns that count from the end of the arrays, and some that are in bounds again.
    assert_eq!(run(&[0, -5, 4, 12], &col), None);
    let outside = |dim, index, extent, thread| Some(Failure::OutOfBounds { dim, index, extent, thread });
    assert_eq!(run(&[2, 12, 12], &col), None);
    assert_eq!(run(&[2, 4, 13, 2], &col), outside(0, 12, 12, 1));
    assert_eq!(run(&[-13, 4, 4], &col), outside(0, -13, 12, 0));
    assert_eq!(run(&[0, 3, 6], &[0, 1, 2, 3, 4, 0]), outside(0, 4, 4, 1));
    assert_eq!(run(&[0, 3, 6], &[0, 1, -5, 3, 2, 0]), outside(0, -5, 4, 0));
}

#[test]
fn short_kernels_take_several_threads_in_a_turn() {
    let text = "kernel @k(%at: array(dtype=int32), %x: array(dtype=float32), %sums: array(dtype=float32)) rank 1 {
        %i: int32 = thread_index 0
        %n: int32 = load %at[%i]
        %v: float32 = load %x[%i]
        %old: float32 = atomic add %sums[%n], %v
        return
      }";
    let at: Vec<i32> = (0..70).map(|n| n * 7 % 10 - 5).collect();
    let x: Vec<f32> = (0..70).map(|n| n as f32).collect();
    let run = |at: &[i32]| compare(text, &[70], &[i32s(at), f32s(&x), zeros(Scalar::F32, &[5])]).failure;
    assert_eq!(run(&at), None);
    for (place, index) in [(0, 5), (33, -6), (69, i32::MAX)] {
        let mut bad = at.clone();
        bad[place] = index;
        let failure = Failure::OutOfBounds { dim: 0, index: index.into(), extent: 5, thread: place as u64 };
        assert_eq!(run(&bad), Some(failure));
    }
}

/// Pairs of points push each other apart: enough arithmetic (sums that are taken back) to run as
/// lanes where gathers are dear, with updates of places that may meet, by whole numbers, so that
/// their order does not show.
const PAIRS: &str = "kernel @k(%ends: array2d(dtype=int32), %x: array(dtype=vec3f), %f: array(dtype=vec3f)) rank 1 {
    %s: int32 = thread_index 0
    %c0: int32 = const 0
    %c1: int32 = const 1
    %i: int32 = load %ends[%s, %c0]
    %j: int32 = load %ends[%s, %c1]
    %a: vec3f = load %x[%i]
    %b: vec3f = load %x[%j]
    %d: vec3f = sub %a, %b
    %e: vec3f = mul %d, %d
    %e0: float32 = extract %e[0]
    %e1: float32 = extract %e[1]
    %e2: float32 = extract %e[2]
    %e01: float32 = add %e0, %e1
    %sum: float32 = add %e01, %e2
    %l: float32 = sqrt %sum
    %u: vec3f = div %d, %l
    %p0: vec3f = add %u, %e
    %q0: vec3f = sub %p0, %e
    %p1: vec3f = add %q0, %e
    %q1: vec3f = sub %p1, %e
    %p2: vec3f = add %q1, %e
    %q2: vec3f = sub %p2, %e
    %p3: vec3f = add %q2, %e
    %q3: vec3f = sub %p3, %e
    %p4: vec3f = add %q3, %e
    %q4: vec3f = sub %p4, %e
    %p5: vec3f = add %q4, %e
    %q5: vec3f = sub %p5, %e
    %p6: vec3f = add %q5, %e
    %q6: vec3f = sub %p6, %e
    %p7: vec3f = add %q6, %e
    %q7: vec3f = sub %p7, %e
    %g: vec3f = mul %q7, %e01
    %h: vec3f = floor %g
    %r1: vec3f = atomic add %f[%i], %h
    %r2: vec3f = atomic sub %f[%j], %h
    return
  }";

#[test]
fn lanes_update_places_that_meet() {
    let x: Vec<u64> = (0..3 * 9).map(|n| u64::from(((n * n % 31) as f32 * 0.5).to_bits())).collect();
    let run = |ends: &[(i32, i32)]| {
        let flat: Vec<u64> = ends.iter().flat_map(|e| [e.0, e.1]).map(|n| u64::from(n as u32)).collect();
        let ends_array = kc_array(Scalar::I32, 1, &[ends.len() as i32, 2], &flat);
        let args = [ends_array, kc_array(Scalar::F32, 3, &[9], &x), kc_array(Scalar::F32, 3, &[9], &[0; 27])];
        compare(PAIRS, &[ends.len() as u32], &args).failure
    };
    assert_lanes(PAIRS, 16);
    let ends: Vec<(i32, i32)> = (0..53).map(|n| (n * 5 % 9, -1 - n * 7 % 4)).filter(|(i, j)| i - j != 9).collect();
    assert_eq!(run(&ends), None);
    let mut bad = ends.clone();
    bad[20].1 = 9;
    assert_eq!(run(&bad), Some(Failure::OutOfBounds { dim: 0, index: 9, extent: 9, thread: 20 }));
}

/// Elements of several components, side by side: read and written by wide accesses and shuffles
/// where all lanes run, by gathers where some do.
#[test]
fn elements_of_several_components() {
    let widths = [("vec2f", 2), ("vec3f", 3), ("quatf", 4), ("vec(5, float32)", 5), ("vec(6, float32)", 6)];
    let wider = [("transformf", 7), ("vec(8, float32)", 8), ("mat33f", 9), ("mat44f", 16)];
    for (ty, width) in widths.into_iter().chain(wider) {
        // Arithmetic enough for lanes, on each component.
        let steps: String = (1..8).map(|n| format!("%v{n}: {ty} = add %v{}, %b\n", n - 1)).collect();
        let text = format!(
            "kernel @k(%a: array(dtype={ty}), %r: array(dtype={ty}), %n: int32) rank 1 {{
                %i: int32 = thread_index 0
                %within: bool = lt %i, %n
                if %within {{
                  %v0: {ty} = load %a[%i]
                  %b: {ty} = load %r[%i]
                  {steps}
                  store %r[%i], %v7
                }}
                return
              }}"
        );
        assert_lanes(&text, 16);
        let (_, ir) = host_code(&text, true, Atomics::Shared);
        assert!(ir.contains("\nall:"), "vectors of which all lanes run have code of their own: {ir}");
        // Whole vectors, such a vector and a rest, and vectors of which the guard leaves a part.
        for (threads, limit) in [(64, 64), (53, 53), (64, 41), (64, 0), (7, 7)] {
            let shape = [threads as i32];
            let own = |step: f32| {
                let scalars: Vec<u64> =
                    (0..threads * width).map(|n| u64::from((n as f32 * step - 3.0).to_bits())).collect();
                kc_array(Scalar::F32, width, &shape, &scalars)
            };
            let args = [own(0.25), own(0.75), Arg::Value(Scalar::I32, limit)];
            assert_eq!(compare(&text, &[threads as u32], &args).failure, None, "{ty}, {threads} threads");
        }
    }
}

/// Composites whose components are squared, in another block than the one that reads them.
const SQUARED: &str =
    "kernel @k(%a: array(dtype=vec3f), %y: array(dtype=float32), %z: array(dtype=float32), %n: int32) rank 1 {
    %i: int32 = thread_index 0
    %v: vec3f = load %a[%i]
    %x: float32 = extract %v[0]
    store %z[%i], %x
    %zero: int32 = const 0
    %some: bool = gt %n, %zero
    if %some {
      %m: vec3f = mul %v, %v
      %m0: float32 = extract %m[0]
      %m1: float32 = extract %m[1]
      %m2: float32 = extract %m[2]
      %s: float32 = add %m0, %m1
      %t: float32 = add %s, %m2
      store %y[%i], %t
    }
    return
  }";

/// As one vector of 48 floats what is read would be taken apart into scalars, and put together
/// again, wherever it reaches another block.
#[test]
fn composites_stay_in_vectors_between_blocks() {
    let module = parse(SQUARED);
    let kernels: Vec<_> = module.kernels().map(|(id, _)| id).collect();
    let options = HostOptions { cpu: Cpu::V4, ..CHECKED };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let object = folder.path().join("k.o");
    std::fs::write(&object, emit_object(&module, &kernels, &options, &[], true, None).expect("code").bytes)
        .expect("a file");
    let output = Command::new("objdump").args(["-d", "--no-show-raw-insn"]).arg(&object).output().expect("objdump");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("vpermt2ps"), "{text}");
    assert_eq!(text.matches("vinsertps").count(), 0, "{text}");
}

fn kc_array(scalar: Scalar, width: usize, shape: &[i32], scalars: &[u64]) -> Arg {
    Arg::Array(Array::new(scalar, width, shape, scalars))
}

#[test]
fn lanes_convert_floats_as_threads_do() {
    let text = "kernel @k(%x: array(dtype=float32), %d: array(dtype=float64), %h: array(dtype=float16), \
          %o: array2d(dtype=int32)) rank 1 {
        %i: int32 = thread_index 0
        %c0: int32 = const 0
        %c1: int32 = const 1
        %c2: int32 = const 2
        %a: float32 = load %x[%i]
        %b: float64 = load %d[%i]
        %c: float16 = load %h[%i]
        %na: int32 = cast %a
        %nb: int32 = cast %b
        %nc: int32 = cast %c
        store %o[%c0, %i], %na
        store %o[%c1, %i], %nb
        store %o[%c2, %i], %nc
        return
      }";
    let edges = [0.0, -0.0, 0.99, -0.99, 1.5, -1.5, 2147483520.0, 2147483647.0, 2147483648.0, 3e9, 1e30, f64::INFINITY];
    let values: Vec<f64> =
        edges.iter().flat_map(|&v| [v, -v]).chain([f64::NAN, -2147483649.0, 65504.0, 1e-30]).collect();
    let of = |s: Scalar| {
        let bits: Vec<u64> = values.iter().map(|&v| kc::ir::Const::float(s, v).bits).collect();
        kc_array(s, 1, &[values.len() as i32], &bits)
    };
    let out = zeros(Scalar::I32, &[3, values.len() as i32]);
    let args = [of(Scalar::F32), of(Scalar::F64), of(Scalar::F16), out];
    assert_lanes(text, 16);
    assert_eq!(compare(text, &[values.len() as u32], &args).failure, None);
}

/// A loop in which threads take part as long as their number says, and may come to a bad index: 64
/// lanes at a time in rows of 256 and more.
const TURNS: &str = "kernel @k(%x: array(dtype=float32), %y: array2d(dtype=float32), %s: array(dtype=int32)) rank 2 {
    %i: int32 = thread_index 0
    %j: int32 = thread_index 1
    %0: int32 = const 0
    %1: int32 = const 1
    %c13: int32 = const 13
    %half: float32 = const 0.5
    %zero: float32 = zero
    %n: int32 = rem %j, %c13
    %r: float32 = for %k: int32 = %0 to %c13 step %1 carry %a: float32 = %zero {
      %more: bool = lt %k, %n
      %d: float32 = if %more {
        %v: float32 = load %x[%k]
        %b: float32 = mul %a, %half
        %c: float32 = add %b, %v
        yield %c
      } else {
        yield %a
      }
      yield %d
    }
    store %y[%i, %j], %r
    %old: int32 = atomic add %s[%0], %n
    return
  }";

#[test]
fn long_rows_run_in_several_vectors() {
    let run = |columns: i32, extent: i32| {
        let x: Vec<u64> = (0..extent).map(|n| u64::from((n as f32 * 0.37).to_bits())).collect();
        let args = [
            kc_array(Scalar::F32, 1, &[extent], &x),
            kc_array(Scalar::F32, 1, &[3, columns], &vec![0; 3 * columns as usize]),
            kc_array(Scalar::I32, 1, &[13], &[0; 13]),
        ];
        compare(TURNS, &[3, columns as u32], &args).failure
    };
    let (plan, ir) = host_code(TURNS, true, Atomics::Shared);
    assert!(plan.contains("; in rows of 256 threads and more 64, in several vectors"), "{plan}");
    let entry = function_of(&ir, "k_cpu_kernel_forward");
    assert!(entry.contains("<64 x float>") && entry.contains("<16 x float>"), "{entry}");
    // Rows with some lanes left over, with none, and ones that are too short.
    for columns in [700, 512, 256, 255, 3] {
        assert_eq!(run(columns, 12), None, "{columns}");
    }
    assert_eq!(run(700, 11), Some(Failure::OutOfBounds { dim: 0, index: 11, extent: 11, thread: 12 }));
}
