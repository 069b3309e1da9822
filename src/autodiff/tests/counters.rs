//! Reverse loops over counters of every integer type, with steps of both signs, up to the limits of
//! the types.

use super::check_with;
use crate::types::Scalar;

/// A product carried by a loop (which keeps state), a sum whose factor is the counter (which keeps
/// none), and a store whose place the counter gives.
fn kernel(scalar: Scalar, step: Option<i128>, carries: bool) -> String {
    let ty = scalar.name();
    let step_text = match step {
        Some(step) => format!("%step: {ty} = const {step}"),
        None => format!("%fstep: float64 = load %bounds[%two]\n%step: {ty} = cast %fstep"),
    };
    let iteration = if carries {
        "%c: float64 = cast %k
         %part: float64 = mul %c, %small
         %f: float64 = add %one, %part
         %p: float64 = mul %s, %f
         %t: float64 = mul %p, %a"
    } else {
        "%c: float64 = cast %k
         %part: float64 = mul %c, %small
         %p: float64 = mul %part, %a
         %t: float64 = add %s, %p"
    };
    format!(
        "kernel @k(%bounds: array(dtype=float64), %x: array(dtype=float64), %y: array(dtype=float64)) rank 1 {{
           %zero: int32 = const 0
           %one_at: int32 = const 1
           %two: int32 = const 2
           %one: float64 = const 1
           %small: float64 = const 0.001
           %i: int32 = thread_index 0
           %a: float64 = load %x[%i]
           %fstart: float64 = load %bounds[%zero]
           %fend: float64 = load %bounds[%one_at]
           %start: {ty} = cast %fstart
           %end: {ty} = cast %fend
           {step_text}
           %r: float64 = for %k: {ty} = %start to %end step %step carry %s: float64 = %a {{
             {iteration}
             yield %t
           }}
           store %y[%i], %r
           return
         }}"
    )
}

fn check(scalar: Scalar, start: f64, end: f64, step: f64) {
    let arrays = [vec![start, end, step], vec![0.75, 1.25], vec![0.5, 2.0]];
    for known in [true, false] {
        for carries in [true, false] {
            let text = kernel(scalar, known.then_some(step as i128), carries);
            check_with(&text, &[2], &arrays);
        }
    }
}

#[test]
fn unsigned_counters() {
    for scalar in [Scalar::U8, Scalar::U16, Scalar::U32, Scalar::U64] {
        check(scalar, 0.0, 5.0, 1.0);
        check(scalar, 3.0, 9.0, 1.0);
        check(scalar, 9.0, 3.0, 1.0);
        check(scalar, 2.0, 12.0, 3.0);
        check(scalar, 2.0, 12.0, 0.0);
    }
    check(Scalar::U8, 0.0, 255.0, 1.0);
    check(Scalar::U8, 250.0, 255.0, 4.0);
    check(Scalar::U8, 1.0, 255.0, 128.0);
    check(Scalar::U64, 0.0, 18446744073709549568.0, 4611686018427387904.0);
}

#[test]
fn signed_counters() {
    for scalar in [Scalar::I8, Scalar::I16, Scalar::I32, Scalar::I64] {
        check(scalar, 0.0, 5.0, 1.0);
        check(scalar, -3.0, 4.0, 1.0);
        check(scalar, 5.0, -2.0, -1.0);
        check(scalar, -2.0, 5.0, -1.0);
        check(scalar, -4.0, 9.0, 3.0);
        check(scalar, 9.0, -4.0, -3.0);
        check(scalar, 9.0, -4.0, 0.0);
    }
    check(Scalar::I8, -128.0, 127.0, 1.0);
    check(Scalar::I8, 127.0, -128.0, -1.0);
    check(Scalar::I8, -128.0, 127.0, 100.0);
    check(Scalar::I8, 127.0, -128.0, -128.0);
    check(Scalar::I16, 32700.0, 32767.0, 9.0);
    check(Scalar::I32, 2147483640.0, 2147483647.0, 1.0);
    check(Scalar::I32, -2147483640.0, -2147483648.0, -1.0);
    check(Scalar::I32, -2147483648.0, 2147483647.0, 1000000000.0);
    check(Scalar::I64, -9223372036854775808.0, 9223372036854774784.0, 2305843009213693952.0);
}
