//! Lanes that may use the same elements of arrays that they store to: what they leave is what their
//! threads leave one after the other, whichever of them meet.

use std::fmt::Write;

use kc::codegen::llvm::{HostModule, HostOptions, emit_plan};
use kc::types::Scalar;

use crate::harness::*;

/// Arithmetic enough for lanes on any processor.
fn work(from: &str) -> String {
    let steps = (0..60).map(|n| match n % 3 {
        0 => format!("%w{}: int32 = xor %w{n}, %i\n", n + 1),
        1 => format!("%w{}: int32 = add %w{n}, {from}\n", n + 1),
        _ => format!("%w{}: int32 = sub %w{n}, %c3\n", n + 1),
    });
    format!("%w0: int32 = add {from}, %i\n{}", steps.collect::<String>())
}

fn kernel(body: &str) -> String {
    format!(
        "kernel @k(%ids: array(dtype=int32), %others: array(dtype=int32), %a: array(dtype=int32), %b: array(dtype=int32), \
         %c: array(dtype=int32), %d: array(dtype=int32), %e: array2d(dtype=int32), %n: int32) rank 2 {{\n\
         %c0: int32 = const 0\n%c1: int32 = const 1\n%c2: int32 = const 2\n%c3: int32 = const 3\n\
         %row: int32 = thread_index 0\n%i: int32 = thread_index 1\n{body}return\n}}\n"
    )
}

const KEY: &str = "%key: int32 = load %ids[%i]\n";

/// The plan of a kernel with this body.
fn plan_of(body: &str) -> String {
    let (plan, _) = host_code(&kernel(body), true, CHECKED.atomics);
    plan
}

#[test]
fn what_runs_as_lanes() {
    let work = work("%key");
    let plan = |body: &str| plan_of(&format!("{KEY}{work}{body}"));
    let runs = |plan: &str| plan.contains("\n  lanes: 16");
    let meet = |plan: &str| {
        plan.contains("\n  lanes: none, because several threads may use one element of an array that is stored to\n")
    };
    let keyed = |plan: &str| runs(plan) && plan.contains("\n    one by one where two have the same key\n");
    let read = "%old: int32 = load %a[%key]\n%new: int32 = xor %old, %w60\n";
    let update = format!("{read}store %a[%key], %new\n");
    assert!(keyed(&plan(&update)), "read and written: {}", plan(&update));
    assert!(meet(&plan(&format!("{read}store %a[%w60], %new\n"))), "read at one index and written at another");
    // A key that comes after an effect is too late.
    let late = "store %b[%i], %w54\n%late: int32 = load %others[%i]\nstore %a[%late], %w54\nstore %a[%late], %w55\n";
    assert!(meet(&plan(late)), "{}", plan(late));
    // Two stores to one element, or in branches, or to components of a row.
    let branches = "%b0: bool = lt %w56, %c0\nif %b0 {\nstore %a[%key], %w57\n} else {\nstore %a[%key], %w58\n}\n";
    assert!(keyed(&plan(branches)));
    assert!(keyed(&plan("store %e[%key, %c0], %w57\nstore %e[%key, %c1], %w58\n")));
    assert!(meet(&plan("store %a[%key], %w57\nstore %a[%w59], %w58\n")), "two indices");
    // A single store keeps the order by itself; a flag has none.
    let single = plan("store %a[%w59], %w58\n");
    assert!(runs(&single) && !keyed(&single), "{single}");
    let flag = plan("store %d[%c0], %c1\n%b0: bool = lt %w56, %c0\nif %b0 {\nstore %d[%c2], %c1\n}\n");
    assert!(runs(&flag) && !keyed(&flag), "{flag}");
    assert!(meet(&plan("store %d[%c0], %c1\nstore %d[%c0], %c2\n")), "two values");
    // Threads of a row are apart in what other rows use as well.
    let rows = plan("%old: int32 = load %a[%i]\nstore %a[%i], %w54\n");
    assert!(runs(&rows) && !keyed(&rows), "{rows}");
    // But not in what moves on from turn to turn.
    let moving = "for %l: int32 = %c0 to %c3 step %c1 {\n%at: int32 = add %i, %l\nstore %a[%at], %w54\n}\n";
    assert!(meet(&plan(moving)), "{}", plan(moving));
    let columns = "for %l: int32 = %c0 to %c3 step %c1 {\nstore %e[%i, %l], %w54\n}\n";
    assert!(!meet(&plan(columns)), "{}", plan(columns));
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % n
    }
}

/// A random body: loads, stores and updates of elements that threads share or have alone.
struct Body {
    random: Random,
    names: usize,
    text: String,
    /// How `%c` is indexed, which nothing reads.
    written: [&'static str; 2],
}

impl Body {
    fn value(&mut self, known: &[String]) -> String {
        known[self.random.below(known.len())].clone()
    }

    fn define(&mut self, known: &mut Vec<String>, operation: &str) {
        self.names += 1;
        let _ = writeln!(self.text, "%v{}: int32 = {operation}", self.names);
        known.push(format!("%v{}", self.names));
    }

    /// What nothing used would not be read.
    fn read(&mut self, known: &mut Vec<String>, operation: &str) {
        self.define(known, operation);
        let _ = writeln!(self.text, "store %b[%i], %v{}", self.names);
    }

    fn steps(&mut self, known: &mut Vec<String>, depth: usize) {
        for _ in 0..2 + self.random.below(4) {
            let (x, y) = (self.value(known), self.value(known));
            let column = ["%c0", "%c1", "%c2"][self.random.below(3)];
            match self.random.below(12) {
                0 => self.read(known, "load %a[%key]"),
                1 => _ = writeln!(self.text, "store %a[%key], {x}"),
                2 => self.read(known, "load %b[%i]"),
                3 => _ = writeln!(self.text, "store %b[%i], {x}"),
                4 | 5 => {
                    let at = self.written[self.random.below(2)];
                    let _ = writeln!(self.text, "store %c[{at}], {x}");
                }
                6 => _ = writeln!(self.text, "store %d[{column}], %c3"),
                7 => self.read(known, &format!("load %e[%key, {column}]")),
                8 => _ = writeln!(self.text, "store %e[%key, {column}], {x}"),
                9 if depth < 2 => {
                    self.names += 1;
                    let _ = writeln!(self.text, "%b{0}: bool = lt {x}, {y}\nif %b{0} {{", self.names);
                    self.steps(&mut known.clone(), depth + 1);
                    let _ = writeln!(self.text, "}} else {{");
                    self.steps(&mut known.clone(), depth + 1);
                    let _ = writeln!(self.text, "}}");
                }
                10 if depth < 2 => {
                    self.names += 1;
                    let _ = writeln!(self.text, "for %l{}: int32 = %c0 to %c3 step %c1 {{", self.names);
                    let mut inner = known.clone();
                    inner.push(format!("%l{}", self.names));
                    self.steps(&mut inner, depth + 1);
                    let _ = writeln!(self.text, "}}");
                }
                n => self.define(known, &format!("{} {x}, {y}", ["xor", "add", "sub"][n % 3])),
            }
        }
    }
}

/// The indices of 75 threads into 40 elements. 0: all equal; 1: equal ones here and there; 2: all
/// different within 40 threads; 3: these, from the end.
fn indices(random: &mut Random, kind: usize) -> Vec<i32> {
    let of = |n: i32| n * 7 % 40;
    (0..75)
        .map(|n| match kind {
            0 => 5,
            1 => of(n) - of(n) % (1 + random.below(3) as i32),
            2 => of(n),
            _ => of(n) - 40 * random.below(2) as i32,
        })
        .collect()
}

#[test]
fn random_kernels_leave_what_threads_in_order_leave() {
    let (mut keyed, mut lanes) = (0, 0);
    for seed in 1..=30u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let ways = ["%key", "%other", "%i", "%c2"];
        let first = ways[random.below(4)];
        let second = if random.below(2) == 0 { first } else { ways[random.below(4)] };
        let mut body = Body { random, names: 0, text: String::new(), written: [first, second] };
        let known = ["%i", "%key", "%other", "%w60", "%w30", "%row", "%c2"];
        body.steps(&mut known.map(str::to_string).to_vec(), 0);
        let other = "%other: int32 = load %others[%i]\n";
        // Known to all threads, or to those below a limit.
        let text = match body.random.below(2) {
            0 => kernel(&format!("{KEY}{other}{}{}", work("%key"), body.text)),
            _ => kernel(&format!("%go: bool = lt %i, %n\nif %go {{\n{KEY}{other}{}{}}}\n", work("%key"), body.text)),
        };
        let module = parse(&text);
        let id = module.find("k").expect("a kernel");
        let plan = emit_plan(&module, &[id], &CHECKED, Default::default());
        lanes += usize::from(!plan.contains("lanes: none"));
        keyed += usize::from(plan.contains("one by one where"));
        let code = [CHECKED, HostOptions { checked: false, ..CHECKED }]
            .map(|options| (options, HostModule::compile(&module, &[id], &options).unwrap_or_else(|e| panic!("{e}"))));
        for kind in 0..4 {
            let mut ids = indices(&mut body.random, kind);
            let others_kind = body.random.below(4);
            let others = indices(&mut body.random, others_kind);
            if body.random.below(4) == 0 {
                ids[body.random.below(75)] = [40, -41, i32::MIN][body.random.below(3)];
            }
            let numbers = |n: i32| i32s(&(0..n).map(|k| k * k - 9).collect::<Vec<_>>());
            let e = kc_array2(40, 3);
            let limit = Arg::Value(Scalar::I32, [75, 61, 8][body.random.below(3)]);
            let args = [i32s(&ids), i32s(&others), numbers(40), numbers(75), numbers(75), numbers(4), e, limit];
            let expected = interpret(&module, id, &[2, 75], &args);
            for (options, host) in &code {
                if !options.checked && expected.failure.is_some() {
                    continue;
                }
                for chunk in [u64::MAX, 33] {
                    let name = format!("program {seed}, indices {kind}, {options:?}, chunks of {chunk}\n{text}");
                    let run = run_host(host, &module, id, &[2, 75], &args, chunk);
                    assert_eq!(run.failure, expected.failure, "{name}");
                    if expected.failure.is_none() {
                        assert_same(&name, &expected.args, &run.args);
                    }
                }
            }
        }
    }
    assert!(lanes >= 8 && keyed >= 4, "{lanes} as lanes, {keyed} of them with keys");
}

fn kc_array2(rows: i32, columns: i32) -> Arg {
    let numbers: Vec<u64> = (0..rows * columns).map(|n| u64::from(n as u32)).collect();
    Arg::Array(Array::new(Scalar::I32, 1, &[rows, columns], &numbers))
}
