use super::*;
use crate::ir::parse::parse;

/// The range of `%r` in a kernel with this body.
fn range_of(body: &str) -> Range {
    let text = format!(
        "kernel @k(%a: array(dtype=int32), %x: int32, %u: uint8, %b: bool) rank 1 {{\n\
         %c0: int32 = const 0\n%c1: int32 = const 1\n%c8: int32 = const 8\n%m1: int32 = const -1\n\
         %i: int32 = thread_index 0\n%n: int32 = extent %a, 0\n{body}\nreturn\n}}"
    );
    let module = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(verify::verify(&module), Ok(()), "{text}");
    let function = &module.functions[FuncId(0)];
    let ranges = ranges(function);
    let named = |(id, value): (ValueId, &Value)| (value.name.as_deref() == Some("r")).then_some(id);
    let value = function.values.iter().find_map(named).expect("a value called r");
    assert_eq!(non_negative(function).contains(value), ranges[value].unwrap().low >= 0);
    ranges[value].unwrap()
}

const MAX: i128 = i32::MAX as i128;
const MIN: i128 = i32::MIN as i128;

#[test]
fn straight_code() {
    for (body, low, high) in [
        ("%r: int32 = add %i, %c1", 1, MAX),
        ("%r: int32 = add %i, %c8", MIN, MAX),
        ("%r: int32 = sub %n, %c1", -1, MAX - 1),
        ("%r: int32 = sub %i, %c8", -8, MAX - 9),
        ("%r: int32 = mul %i, %c8", MIN, MAX),
        ("%r: int32 = div %i, %c8", 0, (MAX - 1) / 8),
        ("%r: int32 = floor_div %x, %c8", -(1 << 28), (1 << 28) - 1),
        ("%r: int32 = rem %x, %c8", -7, 7),
        ("%r: int32 = rem %i, %x", 0, MAX - 1),
        ("%r: int32 = rem %i, %c8", 0, 7),
        ("%r: int32 = max %x, %c0", 0, MAX),
        ("%r: int32 = min %i, %c8", 0, 8),
        ("%r: int32 = and %x, %c8", 0, 8),
        ("%r: int32 = or %c8, %c1", 0, 15),
        ("%r: int32 = shr %i, %x", 0, MAX - 1),
        ("%r: int32 = shl %c1, %c8", 256, 256),
        ("%r: int32 = abs %x", MIN, MAX),
        ("%y: int32 = rem %x, %c8\n%r: int32 = abs %y", 0, 7),
        ("%r: int32 = neg %i", -(MAX - 1), 0),
        ("%r: int32 = cast %u", 0, 255),
        ("%r: int8 = cast %x", -128, 127),
        ("%r: int32 = cast %b", 0, 1),
        ("%r: uint32 = cast %x", 0, (1 << 32) - 1),
        ("%r: int32 = select %b, %i, %m1", -1, MAX - 1),
        ("%r: int32 = load %a[%i]", MIN, MAX),
        ("%l: local(int8, 3, 4) = local_array\n%r: int32 = extent %l, 1", 4, 4),
        ("%r: int32 = pop_count %x", 0, 32),
        ("%y: uint64 = address %a\n%r: uint64 = mul %y, %y", 0, (1 << 64) - 1),
        // A flat index from bounded parts.
        ("%y: int32 = rem %i, %c8\n%z: int32 = mul %y, %c8\n%r: int32 = add %z, %y", 0, 63),
    ] {
        assert_eq!(range_of(body), Range { low, high }, "{body}");
    }
}

#[test]
fn branches() {
    let body = "%c: bool = lt %x, %c0\n%r: int32 = if %c {\nyield %c0\n} else {\nyield %x\n}";
    assert_eq!(range_of(body), Range { low: 0, high: MAX });
    // A guard narrows what follows it, and only there.
    let body = "%c: bool = ge %x, %n\n%d: bool = lt %x, %c0\n%e: bool = or %c, %d\nif %e {\nreturn\n}\n%r: int32 = add %x, %c1";
    assert_eq!(range_of(body), Range { low: 1, high: MAX });
    let body = "if %b {\n%d: bool = lt %x, %c0\nif %d {\nreturn\n}\n}\n%r: int32 = add %x, %c0";
    assert_eq!(range_of(body), Range { low: MIN, high: MAX });
}

#[test]
fn loops() {
    let body = "for %r: int32 = %c0 to %n step %c1 {\n}";
    assert_eq!(range_of(body), Range { low: 0, high: MAX - 1 });
    let body = "%0: int32 = sub %n, %c1\nfor %r: int32 = %0 to %m1 step %m1 {\n}";
    assert_eq!(range_of(body), Range { low: 0, high: MAX - 1 });
    let body = "for %r: int32 = %c8 to %c1 step %x {\n}";
    assert_eq!(range_of(body), Range { low: 2, high: 8 }, "up from 8 (never) or down to 2");
    let body = "for %r: int32 = %x to %n step %c1 {\n}";
    assert_eq!(range_of(body), Range { low: MIN, high: MAX - 1 });
    // A counter of a while loop, bounded by its condition.
    let body = "%1: int32 = while carry %k: int32 = %c0 {\n%c: bool = lt %k, %n\nyield %c\n} do carry %r: int32 {\n\
                %k.1: int32 = add %r, %c1\nyield %k.1\n}";
    assert_eq!(range_of(body), Range { low: 0, high: MAX - 1 });
    // Without the bound it may wrap.
    let body = "%1: int32 = while carry %k: int32 = %c0 {\nyield %b\n} do carry %r: int32 {\n\
                %k.1: int32 = add %r, %c1\nyield %k.1\n}";
    assert_eq!(range_of(body), Range { low: MIN, high: MAX });
    // A carried maximum, with `continue` and `break`; the result joins all ways out.
    let body = "%r: int32 = for %k: int32 = %c0 to %n step %c1 carry %m: int32 = %c8 {\n%y: int32 = load %a[%k]\n\
                if %b {\nbreak %c1\n}\nif %b {\ncontinue %m\n}\n%z: int32 = max %m, %y\nyield %z\n}";
    assert_eq!(range_of(body), Range { low: 1, high: MAX });
    // Two values that feed each other: one wrong start spoils both.
    let body = "%1: int32, %r: int32 = for %k: int32 = %c0 to %n step %c1 carry %p: int32 = %m1, %q: int32 = %c0 {\nyield %q, %p\n}";
    assert_eq!(range_of(body).low, MIN);
    let body = "%1: int32, %r: int32 = for %k: int32 = %c0 to %n step %c1 carry %p: int32 = %c1, %q: int32 = %c0 {\nyield %q, %k\n}";
    assert_eq!(range_of(body), Range { low: 0, high: MAX - 1 });
}

#[test]
fn intervals_hold_every_result() {
    // All pairs of small signed bytes within random intervals: the interval of the result holds each result.
    let mut state = 12345u64;
    let mut random = |n: i128| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        i128::from(state >> 33) % n
    };
    for scalar in [Scalar::I8, Scalar::U8] {
        let full = Range::full(scalar).unwrap();
        for _ in 0..400 {
            let mut interval = || {
                let low = full.low + random(256);
                Range { low, high: (low + random(9)).min(full.high) }
            };
            let (a, b) = (interval(), interval());
            let pairs = (a.low..=a.high).flat_map(|x| (b.low..=b.high).map(move |y| (x, y)));
            for (x, y) in pairs {
                let (cx, cy) = (Const::int(scalar, x), Const::int(scalar, y));
                for &op in BinaryOp::ALL {
                    let range = a.binary(op, b, scalar).filter(|r| full.contains(*r));
                    if let (Some(range), Some(result)) = (range, eval::binary(op, cx, cy)) {
                        assert!(range.holds(result), "{} {x} {y}: {result:?} not in {range:?}", op.name());
                    }
                }
                for &op in UnaryOp::ALL {
                    let range = a.unary(op, scalar).filter(|r| full.contains(*r));
                    if let (Some(range), Some(result)) = (range, eval::unary(op, cx)) {
                        assert!(range.holds(result), "{} {x}: {result:?} not in {range:?}", op.name());
                    }
                }
            }
        }
    }
}

#[test]
fn uses_count_operands() {
    let module = parse("func @f(%x: int32, %y: int32) -> (int32) {\n%z: int32 = add %x, %x\nreturn %z\n}").unwrap();
    let function = &module.functions[FuncId(0)];
    let counts = uses(function);
    let params = function.params();
    assert_eq!((counts[params[0]], counts[params[1]]), (2, 0));
}
