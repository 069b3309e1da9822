//! Kernels whose backward entry needs what the launch overwrites.

use super::{check_with, differentiated, numbers};
use crate::ir::{Op, Phase};

const CONSTANTS: &str = "%zero: int32 = const 0
    %c1: int32 = const 1
    %c2: int32 = const 2
    %c3: int32 = const 3
    %none: float64 = const 0
    %one: float64 = const 1
    %half: float64 = const 0.5
    %i: int32 = thread_index 0";

fn kernel(params: &str, body: &str) -> String {
    let params: Vec<String> = params.split(' ').map(|p| format!("%{p}: array(dtype=float64)")).collect();
    format!("kernel @k({}) rank 1 {{\n{CONSTANTS}\n{body}\nreturn\n}}", params.join(", "))
}

/// Checks the gradient, and that there is an augmented entry whose log takes `slots` slots per
/// thread (None: unknown).
fn check(params: &str, body: &str, slots: Option<u32>) {
    let text = kernel(params, body);
    let (module, found) = differentiated(&text, None);
    let entry = module.entry("k", Phase::Augmented).unwrap_or_else(|| panic!("no augmented entry: {found:?}"));
    assert_eq!(module.functions[entry].tape[0].slots, slots, "{:?}", module.functions[entry].tape);
    let arrays: Vec<Vec<f64>> = params.split(' ').enumerate().map(|(n, _)| numbers(6, n)).collect();
    check_with(&text, &[3], &arrays);
}

#[test]
fn in_place_products() {
    check(
        "x y",
        "%a: float64 = load %x[%i]
         %b: float64 = load %y[%i]
         %p: float64 = mul %a, %b
         store %x[%i], %p",
        Some(1),
    );
}

#[test]
fn read_overwrite_read() {
    check(
        "x y",
        "%a: float64 = load %x[%i]
         %s: float64 = mul %a, %a
         store %x[%i], %s
         %b: float64 = load %x[%i]
         %c: float64 = mul %b, %a
         %d: float64 = load %y[%i]
         %e: float64 = mul %c, %d
         store %y[%i], %e",
        Some(2),
    );
}

#[test]
fn branches_share_their_slots() {
    check(
        "x y",
        "%a: float64 = load %x[%i]
         %far: bool = gt %a, %one
         %r: float64 = if %far {
           %b: float64 = load %y[%i]
           %p: float64 = mul %a, %b
           store %y[%i], %p
           yield %p
         } else {
           %b1: float64 = load %y[%i]
           %b2: float64 = mul %b1, %b1
           store %y[%i], %b2
           yield %a
         }
         %q: float64 = mul %r, %a
         store %x[%i], %q",
        Some(2),
    );
}

#[test]
fn loops_carry_the_next_slot() {
    // A constant number of iterations, one that is read from memory, and one that depends on what
    // the iterations overwrite.
    let iterations = "%a: float64 = load %x[%k]
           %b: float64 = mul %a, %a
           store %x[%k], %b";
    let known = format!("for %k: int32 = %zero to %c3 step %c1 {{\n{iterations}\n yield\n}}");
    let known = known.replace("[%k]", "[%i]");
    check("x y", &known, Some(3));
    let read = format!(
        "%f: float64 = load %n[%zero]
         %four: float64 = const 4
         %g: float64 = mul %f, %four
         %end: int32 = cast %g
         for %k: int32 = %zero to %end step %c1 {{\n{iterations}\n yield\n}}"
    )
    .replace("[%k]", "[%i]");
    check("x n", &read, None);
    let data = "while {
           %at: float64 = load %x[%i]
           %more: bool = gt %at, %half
           yield %more
         } do {
           %a: float64 = load %x[%i]
           %b: float64 = load %y[%i]
           %c: float64 = mul %a, %b
           %d: float64 = mul %c, %half
           store %x[%i], %d
           yield
         }";
    check("x y", data, None);
}

#[test]
fn nested_loops_log() {
    check(
        "x y",
        "for %k: int32 = %zero to %c3 step %c1 {
           %n: int32 = add %k, %i
           for %j: int32 = %zero to %n step %c1 {
             %a: float64 = load %x[%i]
             %b: float64 = load %y[%i]
             %c: float64 = mul %a, %b
             store %x[%i], %c
             yield
           }
           %u: float64 = load %y[%i]
           %v: float64 = mul %u, %u
           store %y[%i], %v
           yield
         }",
        None,
    );
}

#[test]
fn results_of_atomics_are_logged() {
    // The order of the threads gives each its place.
    check(
        "x y count",
        "%old: float64 = atomic add %count[%c1], %one
         %at: int32 = cast %old
         %a: float64 = load %x[%i]
         %b: float64 = mul %a, %a
         store %y[%at], %b",
        Some(1),
    );
}

#[test]
fn a_condition_is_logged_in_place_of_what_it_compares() {
    check(
        "x y z",
        "%a: float64 = load %x[%i]
         %b: float64 = load %y[%i]
         %e: float64 = load %z[%i]
         %c: bool = gt %a, %b
         %r: float64 = if %c {
           %d: float64 = mul %e, %half
           yield %d
         } else {
           yield %e
         }
         store %x[%i], %r
         store %y[%i], %r",
        Some(1),
    );
}

/// What is multiplied by a number of a table is not needed in reverse, unless something in the
/// table varies.
#[test]
fn tables_have_no_adjoints() {
    let table = |number: &str| {
        format!(
            "kernel @k(%x: array(dtype=float64), %y: array(dtype=float64)) rank 1 by_block {{\n{CONSTANTS}\n%n: int32 = const 9\n\
             %t: tile(float64, 9) = local_array\n\
             for %j: int32 = %zero to %n step %c1 {{\n{number}\nstore %t[%j], %v\n}}\n\
             for %k: int32 = %zero to %n step %c1 {{\n%a: float64 = load %x[%k]\n%b: float64 = load %t[%k]\n\
             %p: float64 = mul %a, %b\nstore %x[%k], %p\n}}\nreturn\n}}"
        )
    };
    for (number, kept) in [
        ("%v: float64 = cast %j", false),
        ("%w: float64 = cast %j\n%v: float64 = mul %w, %half", false),
        ("%v: float64 = load %y[%j]", true),
        ("%w: float64 = cast %j\n%y1: float64 = load %y[%j]\n%v: float64 = add %w, %y1", true),
    ] {
        let text = table(number);
        let (module, found) = differentiated(&text, None);
        assert!(module.entry("k", Phase::Backward).is_some(), "{found:?}");
        assert_eq!(module.entry("k", Phase::Augmented).is_some(), kept, "{number}");
        check_with(&text, &[1], &[numbers(9, 0), numbers(9, 1)]);
    }
}

/// A tile that is filled element by element, each from those before:
/// `t = sqrt(100 + x[i] + u[0]^2 + .. + u[i - 1]^2)`, then summed into `y`.
fn filled(step: &str) -> String {
    let body = format!(
        "%c6: int32 = const 6
         %hundred: float64 = const 100
         %u: tile(float64, 6) = local_array
         for %k: int32 = %zero to %c6 step %c1 {{
           %a: float64 = load %x[%k]
           %s: float64 = for %m: int32 = %zero to %k step %c1 carry %p: float64 = %a {{
             %b: float64 = load %u[%m]
             %q: float64 = mul %b, %b
             %r: float64 = add %p, %q
             yield %r
           }}
           %far: float64 = add %s, %hundred
           %t: float64 = sqrt %far
           {step}
         }}
         for %o: int32 = %zero to %c6 step %c1 {{
           %v: float64 = load %u[%o]
           %w: float64 = mul %v, %v
           %h: float64 = atomic add %y[%i], %w
         }}"
    );
    kernel("x y", &body).replace("rank 1 {", "rank 1 by_block {")
}

/// The number of loops in a backward entry, and whether there is an augmented one.
fn loops_and_log(text: &str) -> (usize, bool) {
    let (module, found) = differentiated(text, None);
    let entry = module.entry("k", Phase::Backward).unwrap_or_else(|| panic!("no backward entry: {found:?}"));
    let function = &module.functions[entry];
    let mut loops = 0;
    function.walk(function.entry, &mut |_, inst| loops += usize::from(matches!(inst.op, Op::For { .. })));
    (loops, module.entry("k", Phase::Augmented).is_some())
}

#[test]
fn what_a_loop_computed_is_read_where_it_was_stored() {
    let check = |text: &str| check_with(text, &[1], &[numbers(6, 0), numbers(6, 1)]);
    // The root needs itself, which the tile has: the loop over the products runs forward, and
    // backward for its own sake.
    let text = filled("store %u[%k], %t");
    let read = loops_and_log(&text);
    check(&text);
    // Stored twice, the first value is computed again.
    let twice = filled("store %u[%k], %t\n%z: float64 = mul %t, %half\nstore %u[%k], %z");
    let computed = loops_and_log(&twice);
    check(&twice);
    assert!(!read.1 && read.0 < computed.0, "{read:?} {computed:?}");
    // Where an element is filled again later, what was read of it is logged.
    let again = filled("store %u[%k], %t\nstore %u[%zero], %t");
    assert!(loops_and_log(&again).1);
    check(&again);
}
