//! Threads as lanes: what lanes share, and what each has of its own.

use kc::codegen::llvm::Atomics;
use kc::types::Scalar;

use crate::harness::*;

fn f64s(shape: &[i32], values: impl Iterator<Item = i32>) -> Arg {
    let bits: Vec<u64> = values.map(|v| f64::from(v).to_bits()).collect();
    Arg::Array(Array::new(Scalar::F64, 1, shape, &bits))
}

/// A local array in which all lanes keep the same (a stack of turns), one in which they keep their
/// own, and one that only some lanes write to.
#[test]
fn local_arrays_of_all_lanes_and_of_each() {
    let text = "kernel @k(%in: array(dtype=int32), %out: array(dtype=int32)) rank 1 {
        %i: int32 = thread_index 0
        %0: int32 = const 0
        %1: int32 = const 1
        %2: int32 = const 2
        %7: int32 = const 7
        %turns: local(int32, 8) = local_array
        %own: local(int32, 8) = local_array
        %some: local(int32, 8) = local_array
        %v: int32 = load %in[%i]
        %odd: int32 = rem %v, %2
        %is_odd: bool = eq %odd, %1
        for %k: int32 = %0 to %7 step %1 {
          %twice: int32 = mul %k, %2
          store %turns[%k], %twice
          %mine: int32 = add %twice, %v
          store %own[%k], %mine
          if %is_odd {
            store %some[%k], %twice
          }
        }
        %at: int32 = and %v, %7
        %s: int32 = for %n: int32 = %0 to %7 step %1 carry %sum: int32 = %0 {
          %limit: int32 = load %turns[%n]
          %inner: int32 = for %m: int32 = %0 to %limit step %1 carry %t: int32 = %sum {
            %half: int32 = rem %m, %7
            %a: int32 = load %own[%half]
            %u: int32 = add %t, %a
            yield %u
          }
          %b: int32 = load %some[%n]
          %w: int32 = add %inner, %b
          yield %w
        }
        %c: int32 = load %turns[%at]
        %x: int32 = mul %s, %2
        %y: int32 = add %x, %c
        store %out[%i], %y
        return
    }";
    let input: Vec<i32> = (0..77).collect();
    assert_lanes(text, 16);
    let run = compare(text, &[77], &[i32s(&input), zeros(Scalar::I32, &[77])]);
    let expected = |v: i32| {
        let turns: i32 = (0..7).map(|n| (0..2 * n).map(|m| 2 * (m % 7) + v).sum::<i32>()).sum();
        let some: i32 = if v % 2 == 1 { (0..7).map(|n| 2 * n).sum() } else { 0 };
        2 * (turns + some) + if v & 7 < 7 { 2 * (v & 7) } else { 0 }
    };
    assert_eq!(as_i32(&run.args[1]), input.iter().map(|&v| expected(v)).collect::<Vec<_>>());
}

/// Lanes add to elements that they share: one index from the row, one that changes from turn to
/// turn, and two of them; some gradients are not wanted; one index is negative.
const SHARED: &str = "kernel @k(%x: array2d(dtype=float64), %w: array2d(dtype=float64), %u: array3d(dtype=float64), %c: array(dtype=vec3d), %adj_x: array2d(dtype=float64), %adj_w: array2d(dtype=float64), %adj_u: array3d(dtype=float64), %adj_c: array(dtype=vec3d)) rank 2 source \"k\" backward {
        %k: int32 = thread_index 0
        %i: int32 = thread_index 1
        %0: int32 = const 0
        %1: int32 = const 1
        %2: int32 = const 2
        %has_w: bool = is_set %adj_w
        %has_u: bool = is_set %adj_u
        %has_c: bool = is_set %adj_c
        %n: int32 = extent %w, 1
        %v: float64 = load %x[%k, %i]
        for %j: int32 = %0 to %n step %1 {
          %jj: int32 = mul %j, %j
          %back: int32 = rem %jj, %n
          %f: float64 = cast %j
          %add: float64 = mul %v, %f
          for %m: int32 = %0 to %n step %1 {
            if %has_w {
              %down: int32 = sub %back, %n
              %o0: float64 = atomic add %adj_w[%k, %down], %add
            }
            if %has_u {
              %r: int32 = rem %m, %2
              %o1: float64 = atomic sub %adj_u[%k, %r, %back], %v
            }
          }
          if %has_w {
            %o2: float64 = atomic add %adj_w[%k, %j], %v
          }
          if %has_c {
            %o3: float64 = atomic add %adj_c[%j][1], %add
            %o4: float64 = atomic add %adj_c[%2][2], %v
            %whole: vec3d = construct %v, %v, %add
            %o5: vec3d = atomic add %adj_c[%back], %whole
          }
        }
        return
    }";

fn shared(rows: i32, columns: i32, n: i32, wanted: [bool; 3]) -> Run {
    let c = |on: bool| {
        let mut array = Array::zeros(Scalar::F64, 3, &[n.max(3)]);
        array.is_null = !on;
        Arg::Array(array)
    };
    let x = f64s(&[rows, columns], (0..rows * columns).map(|n| n % 11 - 3));
    let (w, u) = ([rows, n], [rows, 2, n]);
    let pick = |shape: &[i32], on: bool| {
        let mut array = Array::zeros(Scalar::F64, 1, shape);
        array.is_null = !on;
        Arg::Array(array)
    };
    let args = [
        x,
        zeros(Scalar::F64, &w),
        zeros(Scalar::F64, &u),
        c(true),
        pick(&[rows, columns], false),
        pick(&w, wanted[0]),
        pick(&u, wanted[1]),
        c(wanted[2]),
    ];
    compare(SHARED, &[rows as u32, columns as u32], &args)
}

#[test]
fn lanes_add_to_elements_that_they_share() {
    assert_lanes(SHARED, 16);
    // A worker that is alone with the arrays gives each lane a copy of the elements that a row adds
    // to.
    let copies = |atomics| host_code(SHARED, true, atomics).1.contains("@kc_add_copy_64x16(");
    assert!(copies(Atomics::Plain) && copies(Atomics::Called) && !copies(Atomics::Shared));
    // Long rows, with and without a rest; short ones; elements that are too many for copies.
    for (rows, columns, n) in [(2, 160, 7), (3, 203, 4), (2, 9, 5), (1, 130, 90), (2, 400, 1)] {
        for wanted in [[true; 3], [true, false, true], [false, true, false]] {
            let run = shared(rows, columns, n, wanted);
            assert_eq!(run.failure, None);
        }
    }
}

#[test]
fn an_index_outside_is_reported_where_lanes_share_elements() {
    let text = SHARED.replace("atomic sub %adj_u[%k, %r, %back]", "atomic sub %adj_u[%k, %m, %back]");
    let args = [
        f64s(&[1, 200], 0..200),
        zeros(Scalar::F64, &[1, 6]),
        zeros(Scalar::F64, &[1, 2, 6]),
        Arg::Array(Array::zeros(Scalar::F64, 3, &[6])),
        zeros(Scalar::F64, &[1, 200]),
        zeros(Scalar::F64, &[1, 6]),
        zeros(Scalar::F64, &[1, 2, 6]),
        Arg::Array(Array::zeros(Scalar::F64, 3, &[6])),
    ];
    let run = compare(&text, &[1, 200], &args);
    assert!(matches!(run.failure, Some(Failure::OutOfBounds { dim: 1, index: 2, extent: 2, .. })), "{:?}", run.failure);
}

/// Adding a copy goes over a whole dimension, in which other workers may have elements: no copy
/// where the index tells rows apart.
#[test]
fn elements_that_rows_share_out_have_no_copies() {
    let text = |range: &str| {
        format!(
            "kernel @k(%s: array(dtype=int32), %x: array2d(dtype=float32), %adj_s: array(dtype=int32), %adj_x: array2d(dtype=float32), %adj_a: array(dtype=float32)) rank 2 source \"k\" backward {{
        %k: int32 = thread_index 0
        %i: int32 = thread_index 1
        %0: int32 = const 0
        %1: int32 = const 1
        %next: int32 = add %k, %1
        %n: int32 = extent %x, 1
        %from: int32 = load %s[%k]
        %to: int32 = load %s[%next]
        %v: float32 = load %x[%k, %i]
        for %j: int32 = {range} step %1 {{
          %o: float32 = atomic add %adj_a[%j], %v
        }}
        return
    }}"
        )
    };
    let copies = |range| host_code(&text(range), true, Atomics::Plain).1.contains("@kc_add_copy_32x16(");
    assert_eq!(["%0 to %n", "%from to %to", "%k to %next"].map(copies), [true, false, false]);
}
