//! What conditions on the way tell of integers, at the ends of their types above all.

use super::*;

/// The bounds of the index `%a[...]` of the one load of a kernel with this body.
fn index_of(body: &str) -> Bounds {
    let text = format!(
        "kernel @k(%a: array(dtype=float32), %x: int32, %u: uint8, %s: int8, %b: bool) rank 1 {{\n\
         %c0: int32 = const 0\n%c1: int32 = const 1\n%c8: int32 = const 8\n%m1: int32 = const -1\n\
         %i: int32 = thread_index 0\n%n: int32 = extent %a, 0\n{body}\nreturn\n}}"
    );
    let module = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(verify::verify(&module), Ok(()), "{text}");
    let function = &module.functions[FuncId(0)];
    let ranges = Ranges::of(function);
    let mut found = Vec::new();
    function.walk(function.entry, &mut |id, inst| {
        if let Op::Load(_) = &inst.op {
            inst.op.for_each_operand(|v| found.extend(ranges.bounds_at(id, v)));
        }
    });
    assert_eq!(found.len(), 1, "{text}");
    found[0]
}

const MAX: i128 = i32::MAX as i128;
const MIN: i128 = i32::MIN as i128;

#[test]
fn conditions_hold_inside_and_behind() {
    let load = |index: &str| format!("%v: float32 = load %a[{index}]");
    for (body, low, high) in [
        // Computed inside, and before: the operand was narrowed behind the definition.
        (format!("%c: bool = gt %i, %c0\nif %c {{\n%j: int32 = sub %i, %c1\n{}\n}}", load("%j")), 0, MAX - 2),
        (format!("%j: int32 = sub %i, %c1\n%c: bool = gt %i, %c0\nif %c {{\n{}\n}}", load("%j")), 0, MAX - 2),
        // The difference is compared, and computed once more.
        (
            format!(
                "%j: int32 = sub %i, %c1\n%c: bool = ge %j, %c0\nif %c {{\n%k: int32 = sub %i, %c1\n{}\n}}",
                load("%k")
            ),
            0,
            MAX - 2,
        ),
        // Only an end can be left out.
        (format!("%c: bool = ne %i, %c0\nif %c {{\n%j: int32 = sub %i, %c1\n{}\n}}", load("%j")), 0, MAX - 2),
        (format!("%c: bool = ne %i, %c1\nif %c {{\n%j: int32 = sub %i, %c1\n{}\n}}", load("%j")), -1, MAX - 2),
        // On the other side, and behind a branch that leaves.
        (format!("%c: bool = lt %x, %c0\nif %c {{\n}} else {{\n{}\n}}", load("%x")), 0, MAX),
        (format!("%c: bool = le %x, %c0\nif %c {{\nreturn\n}}\n%j: int32 = sub %x, %c1\n{}", load("%j")), 0, MAX - 1),
        // Not behind one that does not.
        (format!("%c: bool = le %x, %c0\nif %c {{\n}}\n{}", load("%x")), MIN, MAX),
        // Several at once; `and` of conditions that is a branch, and one that is a choice.
        (
            format!(
                "%c: bool = ge %x, %c0\n%d: bool = lt %x, %n\n%f: bool = const false\n\
                 %e: bool = if %c {{\nyield %d\n}} else {{\nyield %f\n}}\nif %e {{\n{}\n}}",
                load("%x")
            ),
            0,
            MAX - 1,
        ),
        (
            format!(
                "%c: bool = ge %x, %c0\n%d: bool = lt %x, %c8\n%f: bool = const false\n\
                 %e: bool = select %c, %d, %f\nif %e {{\n{}\n}}",
                load("%x")
            ),
            0,
            7,
        ),
        // `c or d` says nothing where it holds.
        (
            format!(
                "%c: bool = ge %x, %c0\n%d: bool = lt %x, %c8\n%f: bool = const true\n\
                 %e: bool = select %c, %f, %d\nif %e {{\n{}\n}}",
                load("%x")
            ),
            MIN,
            MAX,
        ),
    ] {
        assert_eq!(index_of(&body).interval, Interval { low, high }, "{body}");
    }
}

#[test]
fn what_wraps_tells_nothing_of_its_operands() {
    for (body, low, high) in [
        // x = MIN gives x - 1 = MAX: x need not be positive.
        ("%j: int32 = sub %x, %c1\n%c: bool = ge %j, %c0\nif %c {\n%v: float32 = load %a[%x]\n}", MIN, MAX),
        // Without MIN it must be.
        (
            "%m: int32 = const -2147483648\n%p: bool = eq %x, %m\nif %p {\nreturn\n}\n%j: int32 = sub %x, %c1\n\
             %c: bool = ge %j, %c0\nif %c {\n%v: float32 = load %a[%x]\n}",
            1,
            MAX,
        ),
        // Bytes, where the types end soon.
        ("%o: uint8 = const 1\n%d: uint8 = sub %u, %o\n%v: float32 = load %a[%d]", 0, 255),
        (
            "%z: uint8 = const 0\n%o: uint8 = const 1\n%c: bool = gt %u, %z\nif %c {\n%d: uint8 = sub %u, %o\n\
             %v: float32 = load %a[%d]\n}",
            0,
            254,
        ),
        (
            "%m: int8 = const 127\n%o: int8 = const 1\n%c: bool = lt %s, %m\nif %c {\n%d: int8 = add %s, %o\n\
             %v: float32 = load %a[%d]\n}",
            -127,
            127,
        ),
        (
            "%m: int8 = const 126\n%o: int8 = const 2\n%c: bool = le %s, %m\nif %c {\n%d: int8 = add %s, %o\n\
             %v: float32 = load %a[%d]\n}",
            -128,
            127,
        ),
        // A wider copy lies where the narrow one does; a narrower one of it need not.
        ("%w: int32 = cast %s\n%c: bool = ge %w, %c0\nif %c {\n%v: float32 = load %a[%s]\n}", 0, 127),
        (
            "%w: int8 = cast %x\n%z: int8 = const 0\n%c: bool = ge %w, %z\nif %c {\n%v: float32 = load %a[%x]\n}",
            MIN,
            MAX,
        ),
    ] {
        assert_eq!(index_of(body).interval, Interval { low, high }, "{body}");
    }
}

#[test]
fn indices_that_overflowed_count_from_the_start() {
    for (body, from_start, non_negative) in [
        ("%j: int32 = mul %i, %n\n%v: float32 = load %a[%j]", true, false),
        ("%j: int32 = mul %i, %n\n%k: int32 = add %j, %c8\n%v: float32 = load %a[%k]", true, false),
        ("%j: int32 = mul %i, %n\n%k: int64 = cast %j\n%v: float32 = load %a[%k]", true, false),
        // No sum, no product: what overflowed counts from the end.
        ("%j: int32 = mul %i, %n\n%k: int32 = rem %j, %c8\n%v: float32 = load %a[%k]", false, false),
        ("%j: int32 = mul %i, %n\n%k: int32 = min %j, %c8\n%v: float32 = load %a[%k]", false, false),
        ("%j: int32 = mul %i, %n\n%k: int32 = sub %j, %c0\n%v: float32 = load %a[%k]", false, false),
        ("%j: int64 = cast %n\n%k: int64 = mul %j, %j\n%l: int32 = cast %k\n%v: float32 = load %a[%l]", false, false),
        ("%j: int32 = mul %i, %x\n%v: float32 = load %a[%j]", false, false),
        ("%c: bool = ge %x, %c0\nif %c {\n%j: int32 = mul %i, %x\n%v: float32 = load %a[%j]\n}", true, false),
        // A choice between such.
        ("%j: int32 = mul %i, %n\n%k: int32 = select %b, %j, %i\n%v: float32 = load %a[%k]", true, false),
        ("%j: int32 = mul %i, %n\n%k: int32 = select %b, %j, %m1\n%v: float32 = load %a[%k]", false, false),
        // Summed up by a loop; a sum of something else.
        (
            "%t: int32 = for %k: int32 = %c0 to %n step %c1 carry %p: int32 = %c0 {\n%q: int32 = add %p, %k\nyield %q\n}\n\
             %v: float32 = load %a[%t]",
            true,
            false,
        ),
        (
            "%t: int32 = for %k: int32 = %c0 to %n step %c1 carry %p: int32 = %c0 {\n%q: int32 = add %p, %x\nyield %q\n}\n\
             %v: float32 = load %a[%t]",
            false,
            false,
        ),
        // Down from an end, by an odd step.
        (
            "%e: int32 = sub %n, %c1\n%m3: int32 = const -3\nfor %k: int32 = %e to %m1 step %m3 {\n\
             %v: float32 = load %a[%k]\n}",
            true,
            true,
        ),
        ("%m3: int32 = const -3\nfor %k: int32 = %n to %m3 step %m1 {\n%v: float32 = load %a[%k]\n}", false, false),
        // A counter that runs down to its last value.
        (
            "%1: int32 = while carry %k: int32 = %x {\n%c: bool = gt %k, %c0\nyield %c\n} do carry %r: int32 {\n\
             %p: int32 = sub %r, %c1\n%v: float32 = load %a[%p]\nyield %p\n}",
            true,
            true,
        ),
    ] {
        let bounds = index_of(body);
        assert_eq!((bounds.from_start, bounds.interval.low >= 0), (from_start, non_negative), "{body}");
    }
}

#[test]
fn arguments_bring_their_bounds() {
    let text = "func @f(%i: int32, %j: int32) -> (int32) {\n%1: int32 = const 1\n%r: int32 = sub %i, %1\nreturn %r\n}";
    let module = parse(text).unwrap();
    let function = &module.functions[FuncId(0)];
    let result = function.values.ids().find(|&v| function.values[v].name.as_deref() == Some("r")).unwrap();
    let bounds = |low, high| Some(Bounds::from(Interval { low, high }));
    let of = |arguments: &[Option<Bounds>]| Ranges::of_call(function, arguments).interval(result).unwrap();
    assert_eq!(of(&[]), Interval { low: MIN, high: MAX });
    assert_eq!(of(&[bounds(1, 5), None]), Interval { low: 0, high: 4 });
    assert_eq!(of(&[bounds(MIN, MIN)]), Interval { low: MIN, high: MAX });
    // Beyond the type, which no argument is: nothing is learned.
    assert_eq!(of(&[bounds(MAX + 1, MAX + 2)]), Interval { low: MIN, high: MAX });
}
