mod disjoint_rows;
mod divergence;
mod guards;
mod launches;
mod random;

use super::alias::Root;
use super::effects::{EffectTable, effects};
use super::interval::Interval;
use super::ownership::*;
use super::ranges::{Bounds, Ranges};
use super::strides::Strides;
use super::uniformity::{Coordinates, Dependence, Uniformity};
use super::uses;
use crate::ir::parse::parse;
use crate::ir::*;
use crate::types::Scalar;

/// The range of `%r` in a kernel with this body.
fn range_of(body: &str) -> Interval {
    let text = format!(
        "kernel @k(%a: array(dtype=int32), %x: int32, %u: uint8, %b: bool) rank 1 {{\n\
         %c0: int32 = const 0\n%c1: int32 = const 1\n%c8: int32 = const 8\n%m1: int32 = const -1\n\
         %i: int32 = thread_index 0\n%n: int32 = extent %a, 0\n{body}\nreturn\n}}"
    );
    let module = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(verify::verify(&module), Ok(()), "{text}");
    let function = &module.functions[FuncId(0)];
    let ranges = Ranges::of(function);
    let named = |(id, value): (ValueId, &Value)| (value.name.as_deref() == Some("r")).then_some(id);
    let value = function.values.iter().find_map(named).expect("a value called r");
    ranges.interval(value).unwrap()
}

const MAX: i128 = i32::MAX as i128;
const MIN: i128 = i32::MIN as i128;

#[test]
fn straight_code() {
    for (body, low, high) in [
        ("%r: int32 = add %i, %c1", 1, MAX),
        ("%r: int32 = add %i, %c8", MIN, MAX),
        // Quotients of numbers on both sides of 0, to 0 and down.
        (
            "%m9: int32 = const -9\n%y: int32 = max %x, %m9\n%z: int32 = min %y, %c8\n%d: int32 = const 2\n%r: int32 = div %z, %d",
            -4,
            4,
        ),
        (
            "%m9: int32 = const -9\n%y: int32 = max %x, %m9\n%z: int32 = min %y, %c8\n%d: int32 = const 2\n%r: int32 = floor_div %z, %d",
            -5,
            4,
        ),
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
        ("%r: int32 = abs_diff %i, %c8", 0, MAX - 9),
        ("%r: int32 = abs_diff %x, %c1", MIN, MAX),
        ("%h: int32 = const 100\n%y: int32 = rem %x, %c8\n%r: int32 = abs_diff %y, %h", 93, 107),
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
        assert_eq!(range_of(body), Interval { low, high }, "{body}");
    }
}

#[test]
fn branches() {
    let body = "%c: bool = lt %x, %c0\n%r: int32 = if %c {\nyield %c0\n} else {\nyield %x\n}";
    assert_eq!(range_of(body), Interval { low: 0, high: MAX });
    // A guard narrows what follows it, and only there.
    let body = "%c: bool = ge %x, %n\n%d: bool = lt %x, %c0\n%e: bool = or %c, %d\nif %e {\nreturn\n}\n%r: int32 = add %x, %c1";
    assert_eq!(range_of(body), Interval { low: 1, high: MAX });
    let body = "if %b {\n%d: bool = lt %x, %c0\nif %d {\nreturn\n}\n}\n%r: int32 = add %x, %c0";
    assert_eq!(range_of(body), Interval { low: MIN, high: MAX });
}

#[test]
fn loops() {
    let body = "for %r: int32 = %c0 to %n step %c1 {\n}";
    assert_eq!(range_of(body), Interval { low: 0, high: MAX - 1 });
    let body = "%0: int32 = sub %n, %c1\nfor %r: int32 = %0 to %m1 step %m1 {\n}";
    assert_eq!(range_of(body), Interval { low: 0, high: MAX - 1 });
    let body = "for %r: int32 = %c8 to %c1 step %x {\n}";
    assert_eq!(range_of(body), Interval { low: 2, high: 8 }, "up from 8 (never) or down to 2");
    let body = "for %r: int32 = %x to %n step %c1 {\n}";
    assert_eq!(range_of(body), Interval { low: MIN, high: MAX - 1 });
    // A counter of a while loop, bounded by its condition.
    let body = "%1: int32 = while carry %k: int32 = %c0 {\n%c: bool = lt %k, %n\nyield %c\n} do carry %r: int32 {\n\
                %k.1: int32 = add %r, %c1\nyield %k.1\n}";
    assert_eq!(range_of(body), Interval { low: 0, high: MAX - 1 });
    // Without the bound it may wrap.
    let body = "%1: int32 = while carry %k: int32 = %c0 {\nyield %b\n} do carry %r: int32 {\n\
                %k.1: int32 = add %r, %c1\nyield %k.1\n}";
    assert_eq!(range_of(body), Interval { low: MIN, high: MAX });
    // A carried maximum, with `continue` and `break`; the result joins all ways out.
    let body = "%r: int32 = for %k: int32 = %c0 to %n step %c1 carry %m: int32 = %c8 {\n%y: int32 = load %a[%k]\n\
                if %b {\nbreak %c1\n}\nif %b {\ncontinue %m\n}\n%z: int32 = max %m, %y\nyield %z\n}";
    assert_eq!(range_of(body), Interval { low: 1, high: MAX });
    // Two values that feed each other: one wrong start spoils both.
    let body = "%1: int32, %r: int32 = for %k: int32 = %c0 to %n step %c1 carry %p: int32 = %m1, %q: int32 = %c0 {\nyield %q, %p\n}";
    assert_eq!(range_of(body).low, MIN);
    let body = "%1: int32, %r: int32 = for %k: int32 = %c0 to %n step %c1 carry %p: int32 = %c1, %q: int32 = %c0 {\nyield %q, %k\n}";
    assert_eq!(range_of(body), Interval { low: 0, high: MAX - 1 });
}

#[test]
fn intervals_hold_every_result() {
    // All pairs of small signed bytes within random intervals: the interval of the result holds
    // each result.
    let mut state = 12345u64;
    let mut random = |n: i128| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        i128::from(state >> 33) % n
    };
    for scalar in [Scalar::I8, Scalar::U8] {
        let full = Interval::full(scalar).unwrap();
        for _ in 0..400 {
            let mut interval = || {
                let low = full.low + random(256);
                Interval { low, high: (low + random(9)).min(full.high) }
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

/// Whether `%a`, or `%b` if the body has no `%a`, is private by element in a kernel with this body.
fn is_private(rank: u8, body: &str, sharing: Sharing) -> bool {
    let text = format!(
        "kernel @k(%a: array(dtype=float32), %b: array2d(dtype=float32), %v: array(dtype=int32), %w: int32, %f: float32)
         rank {rank} {{\n%c0: int32 = const 0\n%c1: int32 = const 1\n%c3: int32 = const 3\n%m1: int32 = const -1\n\
         %i: int32 = thread_index 0\n{body}\nreturn\n}}"
    )
    .replace("\n         rank", " rank");
    let module = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(verify::verify(&module), Ok(()), "{text}");
    let function = &module.functions[FuncId(0)];
    private_arrays(function, &module.structs, sharing)
        .contains(function, function.params()[usize::from(!body.contains("%a["))])
}

#[test]
fn arrays_that_threads_do_not_share() {
    for (rank, body) in [
        (1, "store %a[%i], %f"),
        (1, "%x: float32 = load %a[%i]\nstore %a[%i], %x"),
        // With an offset that is the same for all, written twice.
        (
            1,
            "%j: int32 = max %w, %c0\n%k: int32 = add %i, %j\nstore %a[%k], %f\n%l: int32 = max %w, %c0\n\
             %m: int32 = add %l, %i\n%x: float32 = load %a[%m]",
        ),
        // From the end down.
        (1, "%n: int32 = const 2147483647\n%j: int32 = sub %n, %i\nstore %a[%j], %f"),
        // Three elements for each thread.
        (
            1,
            "%j: int32 = mul %i, %c3\nfor %k: int32 = %c0 to %c3 step %c1 {\n%l: int32 = add %j, %k\n\
             store %a[%l], %f\n}\n%n: int32 = add %j, %c1\nstore %a[%n], %f",
        ),
        (1, "%j: int64 = cast %i\nstore %a[%j], %f"),
        // A row for each thread, directly and through a view.
        (1, "store %b[%i, %c3], %f\n%r: array(dtype=float32) = view %b[%i]\nstore %r[%w], %f"),
        (2, "%j: int32 = thread_index 1\nstore %b[%j, %i], %f\n%x: float32 = load %b[%j, %i]"),
        // What others do to arrays of another type does not matter.
        (1, "store %a[%i], %f\n%x: int32 = load %v[%c0]"),
    ] {
        assert!(is_private(rank, body, Sharing::SameType), "{body}");
        assert!(is_private(rank, body, Sharing::Never), "{body}");
    }
}

#[test]
fn arrays_that_threads_may_share() {
    for (rank, body) in [
        (1, "store %a[%c0], %f"),
        (1, "store %a[%w], %f"),
        // A neighbour's element.
        (1, "store %a[%i], %f\n%j: int32 = add %i, %c1\n%x: float32 = load %a[%j]"),
        // The threads of a second coordinate.
        (2, "store %a[%i], %f"),
        (2, "%j: int32 = thread_index 1\n%k: int32 = add %i, %j\nstore %a[%k], %f"),
        // Negative ones count from the end.
        (1, "%j: int32 = sub %i, %c1\nstore %a[%j], %f"),
        (1, "%j: int32 = add %i, %w\nstore %a[%j], %f"),
        // Overlapping spans.
        (1, "%j: int32 = mul %i, %c3\n%k: int32 = add %j, %c3\nstore %a[%j], %f\nstore %a[%k], %f"),
        // Gathered.
        (1, "%j: int32 = load %v[%i]\nstore %a[%j], %f"),
        // A difference that wraps: the threads 0 and 4 meet.
        (
            1,
            "%s: int32 = const 1073741824\n%p: int32 = mul %i, %s\n%j: int32 = sub %w, %p\n%t: bool = ge %j, %c0\n\
             if %t {\nstore %a[%j], %f\nyield\n} else {\nyield\n}",
        ),
        // A cut view may start anywhere.
        (1, "%r: array2d(dtype=float32) = view %b[%i:%w:%c1]\nstore %r[%i, %c0], %f"),
    ] {
        assert!(!is_private(rank, body, Sharing::Never), "{body}");
        assert!(!is_private(rank, body, Sharing::SameType), "{body}");
    }
}

#[test]
fn arrays_that_may_share_memory() {
    for (body, same_type) in [
        ("store %a[%i], %f\nstore %b[%c0, %c0], %f", false),
        ("store %a[%i], %f\nstore %b[%i, %c0], %f", true),
        // A race of the forward code apart, a written array does not lie across another.
        ("%x: float32 = load %a[%i]\nstore %b[%i, %c0], %x", true),
        // Two that are read may.
        ("%x: float32 = load %a[%i]\n%y: float32 = load %b[%i, %c0]", false),
    ] {
        assert!(is_private(1, body, Sharing::Never), "{body}");
        assert_eq!(is_private(1, body, Sharing::SameType), same_type, "{body}");
    }
}

#[test]
fn effects_reach_callers_in_their_terms() {
    let text = "\
struct S {
  n: int32
  x: array(dtype=float32)
}

func @inner(%s: S, %b: array2d(dtype=float32)) -> (float32) {
  %0: int32 = const 0
  %x: array(dtype=float32) = extract %s.x
  %f: float32 = load %x[%0]
  %row: array(dtype=float32) = view %b[%0]
  %g: array(dtype=float32) = gradient %row
  %old: float32 = atomic add %g[%0], %f
  return %f
}

func @pure(%f: float32) -> (float32) {
  %0: int32 = const 0
  %l: local(float32, 2) = local_array
  store %l[%0], %f
  %g: float32 = load %l[%0]
  return %g
}

kernel @k(%m: array2d(dtype=float32), %s: S) rank 1 {
  %0: int32 = const 0
  %f: float32 = call @inner(%s, %m)
  store %m[%0, %0], %f
  return
}
";
    let module = parse(text).unwrap();
    let all = effects(&module);
    let of = |name: &str| &all[module.find(name).unwrap()];
    let set = |root: Root| std::collections::BTreeSet::from([root]);
    let gradient = |root: Root| Root::Gradient(Box::new(root));
    assert_eq!(of("inner").loads, set(Root::Param(0, vec![1])));
    assert_eq!(of("inner").atomics, set(gradient(Root::Param(1, vec![]))));
    assert_eq!(of("k").loads, set(Root::Param(1, vec![1])));
    assert_eq!(of("k").atomics, set(gradient(Root::Param(0, vec![]))));
    assert_eq!(of("k").stores, set(Root::Param(0, vec![])));
    assert!(of("pure").is_pure() && !of("inner").is_pure() && of("inner").writes_memory());
}
