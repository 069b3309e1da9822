//! Which values differ between threads, and by how much from one to the next.

use super::random::{Seen, run};
use super::*;
use crate::ids::IdMap;

/// What `%r` depends on, and its stride along the last coordinate, in a kernel of rank 2 with this
/// body.
fn of_result(body: &str) -> (Dependence, Option<i64>) {
    let text = format!(
        "func @double(%x: int32) -> (int32) {{\n%y: int32 = add %x, %x\nreturn %y\n}}\n\
         func @task() -> (int32) {{\n%y: int32 = thread_index 0\nreturn %y\n}}\n\
         kernel @k(%a: array(dtype=int32), %w: int32, %b: bool) rank 2 {{\n\
         %c0: int32 = const 0\n%c1: int32 = const 1\n%c2: int32 = const 2\n\
         %i: int32 = thread_index 0\n%j: int32 = thread_index 1\n%n: int32 = extent %a, 0\n{body}\nreturn\n}}"
    );
    let module = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(verify::verify(&module), Ok(()), "{text}");
    let function = &module.functions[module.find("k").unwrap()];
    let uniformity = Uniformity::of(function, &effects(&module));
    let strides = Strides::along(function, &uniformity, 1);
    let value = function.values.ids().find(|&v| function.values[v].name.as_deref() == Some("r")).expect("a value");
    (uniformity.dependence(value), strides.of(value))
}

const I: Coordinates = Coordinates::first(1);
const BOTH: Coordinates = Coordinates::first(2);

fn j() -> Coordinates {
    Coordinates::one(1)
}

#[test]
fn data_brings_dependence() {
    for (body, coordinates, time) in [
        ("%r: int32 = add %w, %n", Coordinates::NONE, false),
        ("%r: int32 = add %i, %w", I, false),
        ("%r: int32 = mul %i, %j", BOTH, false),
        ("%r: int32 = thread_number", BOTH, false),
        ("%r: int32 = block_dim", Coordinates::NONE, false),
        // Memory: at an address, and at a time.
        ("%r: int32 = load %a[%w]", Coordinates::NONE, true),
        ("%r: int32 = load %a[%j]", j(), true),
        ("%r: int32 = atomic add %a[%c0], %w", Coordinates::ALL, true),
        ("%v: array(dtype=int32) = view %a[%i:%n:%c1]\n%r: int32 = extent %v, 0", I, false),
        // Calls.
        ("%r: int32 = call @double(%w)", Coordinates::NONE, false),
        ("%r: int32 = call @double(%j)", j(), false),
        ("%r: int32 = call @task()", Coordinates::ALL, true),
        // A thread's own memory.
        ("%l: local(int32, 2) = local_array\nstore %l[%c0], %w\n%r: int32 = load %l[%c1]", Coordinates::NONE, true),
        ("%l: local(int32, 2) = local_array\nstore %l[%c0], %i\n%r: int32 = load %l[%c1]", I, true),
        ("%l: local(int32, 2) = local_array\nstore %l[%j], %w\n%r: int32 = load %l[%c1]", j(), true),
    ] {
        assert_eq!(of_result(body).0, Dependence { coordinates, time }, "{body}");
    }
}

#[test]
fn control_brings_dependence() {
    let test = "%c: bool = gt %i, %c1\n%d: bool = gt %w, %c1\n";
    for (body, coordinates) in [
        ("%r: int32 = if %c {\nyield %c0\n} else {\nyield %c1\n}", I),
        ("%r: int32 = if %d {\nyield %c0\n} else {\nyield %c1\n}", Coordinates::NONE),
        ("%r: int32 = if %d {\nyield %c0\n} else {\nyield %j\n}", j()),
        // A thread's own memory, where only some write it.
        ("%l: local(int32, 2) = local_array\nif %c {\nstore %l[%c0], %w\n}\n%r: int32 = load %l[%c0]", I),
        // So many iterations each.
        (
            "%r: int32 = for %k: int32 = %c0 to %j step %c1 carry %s: int32 = %c0 {\n%t: int32 = add %s, %c1\nyield %t\n}",
            j(),
        ),
        (
            "%r: int32 = for %k: int32 = %c0 to %w step %c1 carry %s: int32 = %c0 {\n%t: int32 = add %s, %k\nyield %t\n}",
            Coordinates::NONE,
        ),
        // What goes round.
        (
            "%1: int32, %r: int32 = for %k: int32 = %c0 to %w step %c1 carry %p: int32 = %i, %q: int32 = %c0 {\nyield %q, %p\n}",
            I,
        ),
        // Some break off, in another iteration than others; some go on early.
        (
            "%r: int32 = for %k: int32 = %c0 to %w step %c1 carry %s: int32 = %c0 {\n%e: bool = eq %k, %j\n\
             if %e {\nbreak %s\n}\n%t: int32 = add %s, %c1\nyield %t\n}",
            j(),
        ),
        (
            "%r: int32 = for %k: int32 = %c0 to %w step %c1 carry %s: int32 = %c0 {\nif %c {\ncontinue %c2\n}\nyield %c1\n}",
            I,
        ),
        (
            "%r: int32 = for %k: int32 = %c0 to %w step %c1 carry %s: int32 = %c0 {\nif %d {\nbreak %c2\n}\nyield %c1\n}",
            Coordinates::NONE,
        ),
    ] {
        let (dependence, _) = of_result(&format!("{test}{body}"));
        assert_eq!(dependence.coordinates, coordinates, "{body}");
    }
}

#[test]
fn some_threads_come_to_a_block() {
    let text = "kernel @k(%w: int32) rank 2 {\n%c1: int32 = const 1\n%i: int32 = thread_index 0\n%j: int32 = thread_index 1\n\
        %c: bool = gt %i, %c1\n%d: bool = gt %w, %c1\nif %d {\nif %c {\nreturn\n}\n}\n\
        for %k: int32 = %c1 to %j step %c1 {\n}\n%e: bool = gt %w, %i\nif %d {\n}\nreturn\n}";
    let module = parse(text).unwrap();
    let function = &module.functions[FuncId(0)];
    let uniformity = Uniformity::of(function, &EffectTable::default());
    let mut found = Vec::new();
    function.walk(function.entry, &mut |_, inst| {
        found.extend(inst.op.blocks().first().map(|&block| uniformity.control(block)));
    });
    // All; some rows; the rows that are left, as many columns as iterate; the rows that are left.
    assert_eq!(found, [Coordinates::NONE, I, BOTH, I]);
}

#[test]
fn barriers_that_some_threads_do_not_come_to() {
    // In which functions some are.
    for (body, expected) in [
        ("barrier", &[][..]),
        ("if %d {\nbarrier\n}", &[]),
        ("call @meet(%w)\nfor %k: int32 = %c1 to %w step %c1 {\nbarrier\n}", &[]),
        ("if %c {\n}\nbarrier", &[]),
        ("if %c {\nbarrier\n}", &["k"]),
        ("if %c {\nreturn\n}\nbarrier", &["k"]),
        ("if %d {\nif %c {\nreturn\n}\n}\nif %d {\nbarrier\n}", &["k"]),
        ("for %k: int32 = %c1 to %i step %c1 {\nbarrier\n}", &["k"]),
        // Some break off, and wait no more.
        ("for %k: int32 = %c1 to %w step %c1 {\nbarrier\n%e: bool = gt %k, %i\nif %e {\nbreak\n}\n}", &["k"]),
        (
            "for %m: int32 = %c1 to %w step %c1 {\nfor %k: int32 = %c1 to %w step %c1 {\nbarrier\n}\n\
             %e: bool = gt %m, %i\nif %e {\nreturn\n}\n}",
            &["k"],
        ),
        // Inside what is called, and by what it is called with.
        ("if %c {\ncall @meet(%w)\n}", &["k"]),
        ("call @meet(%i)", &["meet"]),
        ("call @outer(%w)", &[]),
        ("call @outer(%i)", &["meet"]),
    ] {
        let text = format!(
            "func @meet(%n: int32) {{\n%c2: int32 = const 2\n%t: bool = gt %n, %c2\nif %t {{\nbarrier\n}}\nreturn\n}}\n\
             func @outer(%n: int32) {{\ncall @meet(%n)\nreturn\n}}\n\
             kernel @k(%w: int32) rank 1 {{\n%c1: int32 = const 1\n%i: int32 = thread_index 0\n\
             %c: bool = gt %i, %c1\n%d: bool = gt %w, %c1\n{body}\nreturn\n}}"
        );
        let module = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let found = super::super::barriers::divergent(&module);
        let named: Vec<&str> = found.iter().filter_map(|found| found.text.split('`').nth(1)).collect();
        assert_eq!(named, expected, "{body}: {found:?}");
    }
}

#[test]
fn strides_are_what_neighbours_differ_by() {
    for (body, stride) in [
        ("%r: int32 = add %w, %i", Some(0)),
        ("%r: int32 = add %w, %j", Some(1)),
        ("%r: int32 = sub %w, %j", Some(-1)),
        ("%r: int32 = thread_number", Some(1)),
        ("%x: int32 = const 2147483647\n%y: int32 = mul %j, %x\n%r: int32 = add %y, %y", Some(4_294_967_294)),
        ("%x: int32 = shl %j, %c2\n%y: int64 = cast %x\n%r: int64 = neg %y", Some(-4)),
        ("%x: int32 = mul %j, %j\n%r: int32 = add %x, %c1", None),
        ("%x: int32 = sub %j, %j\n%r: int32 = add %x, %w", Some(0)),
        ("%r: int32 = mul %j, %n", None),
        ("%r: int32 = load %a[%j]", None),
        ("for %r: int32 = %j to %n step %c2 {\n}", Some(1)),
        ("for %r: int32 = %c0 to %j step %c1 {\n}", Some(0)),
        ("for %r: int32 = %j to %n step %j {\n}", None),
    ] {
        assert_eq!(of_result(body).1, stride, "{body}");
    }
}

#[test]
fn threads_that_agree_see_the_same() {
    let (mut equal, mut once) = (0, 0);
    for seed in 1..=300u64 {
        let (function, seen) = run(seed);
        let uniformity = Uniformity::of(&function, &EffectTable::default());
        let mut home: IdMap<ValueId, BlockId> = IdMap::default();
        for (block, data) in function.blocks.iter() {
            home.extend(data.params.iter().map(|&p| (p, block)));
            home.extend(data.insts.iter().flat_map(|&id| &function.insts[id].results).map(|&r| (r, block)));
        }
        // By value: what each of the 2 x 3 threads saw, one after the other.
        let mut traces: IdMap<ValueId, [Vec<i128>; 6]> = IdMap::default();
        for Seen { thread, reader, value, number } in seen {
            if reader.is_none() {
                traces.entry(value).or_default()[thread].push(number);
            }
        }
        for (value, traces) in traces {
            let dependence = uniformity.dependence(value);
            // Which threads are there at all decides how often.
            let all = dependence.coordinates | uniformity.control(home[&value]);
            let class = |thread: usize| {
                let (i, j) = (thread / 3, thread % 3);
                (if all.contains(0) { i } else { 0 }, if all.contains(1) { j } else { 0 })
            };
            for a in 0..6 {
                for b in (a + 1)..6 {
                    if class(a) == class(b) {
                        // A thread may run out of steps.
                        let both = traces[a].iter().zip(&traces[b]);
                        equal += both.clone().count();
                        assert!(both.clone().all(|(x, y)| x == y), "seed {seed}: {value} of threads {a} and {b}");
                    }
                }
            }
            if dependence == Dependence::NONE {
                let mut all = traces.iter().flatten();
                once += all.clone().count();
                let first = all.next();
                assert!(all.all(|x| Some(x) == first), "seed {seed}: {value} is not one value");
            }
        }
    }
    assert!(equal > 10_000 && once > 10_000, "{equal} equal pairs, {once} invariants");
}
