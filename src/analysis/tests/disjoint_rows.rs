//! How rows of a launch are apart in arrays.

use super::*;
use crate::analysis::disjoint_rows::{Apart, apart};

/// Of the array `%a`, to which a kernel of two coordinates adds with this body; `%s` are the bounds
/// of ranges, `%j` another coordinate.
fn of(body: &str) -> Option<Apart> {
    let text = format!(
        "kernel @k(%a: array2d(dtype=float32), %s: array(dtype=int32), %x: int32, %v: float32, %n: int32) rank 2 {{\n\
         %c0: int32 = const 0\n%c1: int32 = const 1\n%c3: int32 = const 3\n%m1: int32 = const -1\n\
         %i: int32 = thread_index 0\n%j: int32 = thread_index 1\n%up: int32 = add %i, %c1\n%down: int32 = sub %i, %c1\n\
         %from: int32 = load %s[%i]\n%to: int32 = load %s[%up]\n{body}\nreturn\n}}"
    );
    let module = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(verify::verify(&module), Ok(()), "{text}");
    let function = &module.functions[FuncId(0)];
    let a = Root::Param(0, Vec::new());
    apart(function, &IndexFacts::of(function), &|root| *root == a).remove(&a)
}

fn add(n: u32, first: &str, last: &str) -> String {
    format!("%r{n}: float32 = atomic add %a[{first}, {last}], %v\n")
}

fn bands(gap: u32, head: u32) -> Option<Apart> {
    Some(Apart::Bands { gap, head })
}

#[test]
fn bands_of_rows() {
    assert_eq!(of(&add(0, "%i", "%x")), bands(0, 0));
    assert_eq!(of(&(add(0, "%i", "%j") + &add(1, "%up", "%j"))), bands(1, 0));
    // What may count from the end does so in the first rows alone.
    assert_eq!(of(&(add(0, "%down", "%j") + &add(1, "%up", "%j"))), bands(2, 1));
    let guarded = format!("%g: bool = gt %i, %c0\nif %g {{\n{}}}\n", add(0, "%down", "%j") + &add(1, "%up", "%j"));
    assert_eq!(of(&guarded), bands(2, 0));
    // In the other dimension; a multiple, with a rest below and above it.
    assert_eq!(of(&(add(0, "%x", "%i") + &add(1, "%j", "%up"))), bands(1, 0));
    let tripled = "%w: int64 = cast %i\n%k3: int64 = const 3\n%k1: int64 = const 1\n%t: int64 = mul %w, %k3\n%b: int64 = sub %t, %k1\n";
    assert_eq!(of(&format!("{tripled}{}{}", add(0, "%t", "%c0"), add(1, "%b", "%c0"))), bands(0, 1));
    let loop_over = |end: &str| {
        format!("for %m: int32 = %c0 to {end} step %c1 {{\n%q: int32 = add %i, %m\n{}}}\n", add(0, "%q", "%j"))
    };
    assert_eq!(of(&loop_over("%c3")), bands(2, 0));
    assert_eq!(of(&loop_over("%x")), None, "a loop that goes anywhere");
}

#[test]
fn no_bands() {
    for body in [
        add(0, "%j", "%x"),
        add(0, "%i", "%j") + &add(1, "%j", "%i"),
        format!("%q: int32 = add %i, %j\n{}", add(0, "%q", "%c0")),
        // Another order of rows, and steps of any size.
        format!("%q: int32 = sub %n, %i\n{}", add(0, "%q", "%c0")),
        format!("%q: int32 = mul %i, %x\n{}", add(0, "%q", "%c0")),
        format!("%q: int32 = add %i, %x\n{}", add(0, "%q", "%c0")),
        format!("%far: int32 = const 100000\n%q: int32 = sub %i, %far\n{}", add(0, "%q", "%c0")),
    ] {
        assert_eq!(of(&body), None, "{body}");
    }
}

#[test]
fn ranges_of_memory() {
    let over = |range: &str, index: &str, rest: &str| {
        format!("for %m: int32 = {range} {{\n%q: int32 = add %m, {index}\n{}{rest}}}\n", add(0, "%q", "%j"))
    };
    let s = || Root::Param(1, Vec::new());
    assert_eq!(of(&over("%from to %to step %c1", "%c0", "")), Some(Apart::Ranges { bounds: s(), first: 0 }));
    assert_eq!(of(&over("%to to %from step %m1", "%m1", "")), Some(Apart::Ranges { bounds: s(), first: 0 }));
    for (range, index) in [
        ("%from to %to step %c1", "%c1"),
        ("%from to %to step %c1", "%m1"),
        ("%to to %from step %m1", "%c0"),
        ("%to to %from step %c1", "%c0"),
        ("%from to %to step %c3", "%c0"),
        ("%from to %x step %c1", "%c0"),
        ("%from to %from step %c1", "%c0"),
    ] {
        assert_eq!(of(&over(range, index, "")), None, "{range}, {index}");
    }
    // The bounds change; another access goes anywhere.
    assert_eq!(of(&over("%from to %to step %c1", "%c0", "store %s[%j], %m\n")), None);
    assert_eq!(of(&over("%from to %to step %c1", "%c0", &add(1, "%j", "%j"))), None);
}
