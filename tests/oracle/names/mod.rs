//! Names that are known while compiling, under control flow: tuples, functions, types, shapes and
//! static values that branches and loops assign, in kernels and in functions.

mod values;

use crate::case::{Array, Case, Step, doubled, unit};
use crate::eval::number::{I32, Kind};
use crate::random::Random;
use crate::writer::Writer;

/// Threads of a launch.
const N: usize = 6;

const HEAD: &str = "import warp as wp

SIZE = 3


@wp.struct
class Left:
    v: float
    n: int


@wp.func
def twice(a: float):
    return a * 2.0


@wp.func
def shifted(a: float):
    return a + 0.75


@wp.func
def bent(a: float):
    if a > 0.25:
        return a * 0.5
    return a * a


@wp.func
def pair(a: float, b: float):
    return a - b, a * 0.5


@wp.func
def apply(f: wp.Function, a: float):
    return f(a) + f(a * 0.5)

";

/// Names of one kind, with what they are first.
struct Pools {
    floats: Vec<String>,
    ints: Vec<String>,
    pairs: Vec<String>,
    mixed: Vec<String>,
    triples: Vec<String>,
    functions: Vec<String>,
    types: Vec<String>,
    shapes: Vec<String>,
    vectors: Vec<String>,
}

struct Generator {
    w: Writer,
    names: Pools,
    /// In a kernel there are arrays.
    kernel: bool,
    functions: Vec<String>,
    /// Calls of functions with two results.
    pairs: Vec<String>,
    /// The kinds of names that the program has.
    kinds: Vec<char>,
    /// With tuples, types and functions in conditional expressions and tuples, which kc may refuse.
    odd: bool,
}

pub fn case(seed: u64) -> Case {
    let mut random = Random::new(seed ^ 0x6e61_6d65);
    let double = random.one_in(2);
    let empty = Pools {
        floats: Vec::new(),
        ints: Vec::new(),
        pairs: Vec::new(),
        mixed: Vec::new(),
        triples: Vec::new(),
        functions: Vec::new(),
        types: Vec::new(),
        shapes: Vec::new(),
        vectors: Vec::new(),
    };
    let w = Writer::new(random, HEAD);
    let mut g = Generator {
        w,
        names: empty,
        kernel: false,
        functions: Vec::new(),
        pairs: Vec::new(),
        kinds: Vec::new(),
        odd: false,
    };
    g.odd = g.w.one_in(12);
    g.kinds =
        (0..1 + g.w.below(3)).map(|_| g.w.random.pick(&['n', 't', 't', 'u', 'r', 'g', 'g', 'T', 's', 'v'])).collect();
    if !g.odd {
        g.kinds.retain(|kind| *kind != 'r');
    }
    if g.w.one_in(2) {
        g.function();
    }
    g.kernel();
    let text = if double { doubled(&g.w.text) } else { g.w.text.clone() };
    let kind = if double { Kind::F64 } else { Kind::F32 };
    let mut random = Random::new(seed ^ 0x1234);
    let mut numbers = |count: usize| (0..count).map(|_| f64::from(unit(&mut random) as f32)).collect::<Vec<_>>();
    let (x, y) = (numbers(N), numbers(4));
    let float = |name, shape: Vec<usize>, contents, active| Array { name, shape, kind, contents, active };
    let conditions = (0..N).map(|_| g.w.random.below(4) as f64).collect();
    let arrays = vec![
        float("x", vec![N], x, true),
        float("y", vec![2, 2], y, true),
        Array { name: "c", shape: vec![N], kind: I32, contents: conditions, active: false },
        float("o", vec![N], vec![0.0; N], false),
    ];
    let values = vec![("m", g.w.random.below(4) as f64, I32)];
    let launch = Step::Launch { kernel: "k".to_string(), dim: vec![N], block_dim: 1, args: Vec::new() };
    Case { text, arrays, values, steps: vec![launch], of: "o", uses: g.w.uses, at_rest: false }
}

impl Generator {
    fn function(&mut self) {
        let name = self.w.fresh("f");
        self.w.line(&format!("\n@wp.func\ndef {name}(p: float, q: int):"));
        self.w.depth = 1;
        self.w.line("j = q % 3");
        self.body(3);
        let e = self.sum();
        if self.w.one_in(2) {
            self.w.line(&format!("return {e}"));
            self.functions.push(format!("{name}(@, #)"));
        } else {
            let p = self.float(0);
            self.w.line(&format!("return {p}, {e}"));
            self.pairs.push(format!("{name}(p, q)"));
        }
        self.w.depth = 0;
        self.w.text += "\n";
    }

    fn kernel(&mut self) {
        self.kernel = true;
        self.w.line(
            "\n@wp.kernel\ndef k(x: wp.array(dtype=float), y: wp.array2d(dtype=float), c: wp.array(dtype=int), o: wp.array(dtype=float), m: int):",
        );
        self.w.depth = 1;
        for line in ["i = wp.tid()", "j = c[i]", "p = x[i]", "q = m"] {
            self.w.line(line);
        }
        self.body(7);
        let e = self.sum();
        self.w.line(&format!("o[i] = {e}"));
    }

    /// Names of all kinds, and statements that assign them.
    fn body(&mut self, most: usize) {
        let mut names = |kind: char| {
            let count = if self.kinds.contains(&kind) { 1 + self.w.below(2) } else { 0 };
            (0..count).map(|n| format!("{kind}{n}")).collect::<Vec<_>>()
        };
        self.names = Pools {
            floats: vec!["a0".to_string(), "a1".to_string()],
            ints: names('n'),
            pairs: names('t'),
            mixed: names('u'),
            triples: names('r'),
            functions: names('g'),
            types: names('T'),
            shapes: if self.kernel { names('s') } else { Vec::new() },
            vectors: names('v'),
        };
        self.w.line("a0 = p * 0.5");
        self.w.line("a1 = float(j) * 0.25");
        let all = [
            self.names.ints.clone(),
            self.names.pairs.clone(),
            self.names.mixed.clone(),
            self.names.triples.clone(),
            self.names.functions.clone(),
            self.names.types.clone(),
            self.names.shapes.clone(),
            self.names.vectors.clone(),
        ];
        for name in all.concat() {
            // In both branches, or before.
            if self.w.one_in(6) {
                let test = self.test();
                self.w.uses("both branches");
                self.w.line(&format!("if {test}:"));
                self.nested(|g| g.assign(&name, 0));
                self.w.line("else:");
                self.nested(|g| g.assign(&name, 0));
            } else {
                self.assign(&name, 0);
            }
        }
        self.w.left = 2 + self.w.below(most);
        while self.w.left > 0 {
            self.statement();
        }
    }

    fn nested(&mut self, body: impl FnOnce(&mut Generator)) {
        self.w.depth += 1;
        body(self);
        self.w.depth -= 1;
    }

    fn some(&mut self, count: usize) {
        for _ in 0..1 + self.w.below(count) {
            self.statement();
        }
    }

    fn statement(&mut self) {
        self.w.left = self.w.left.saturating_sub(1);
        let deep = self.w.depth > 3;
        match self.w.below(14) {
            0 | 1 if !deep => {
                let test = self.test();
                self.w.uses("if");
                self.w.line(&format!("if {test}:"));
                self.nested(|g| g.some(3));
                if self.w.one_in(3) {
                    let test = self.test();
                    self.w.line(&format!("elif {test}:"));
                    self.nested(|g| g.some(2));
                }
                if self.w.one_in(2) {
                    self.w.line("else:");
                    self.nested(|g| g.some(2));
                }
            }
            2 | 3 if !deep && self.w.loops.len() < 2 => {
                let turn = self.w.fresh("k");
                let count = match self.w.below(5) {
                    0 => "q".to_string(),
                    1 => "j".to_string(),
                    2 => "1, q + 2".to_string(),
                    _ => format!("{}", 1 + self.w.below(4)),
                };
                self.w.uses("for");
                self.w.line(&format!("for {turn} in range({count}):"));
                self.w.loops.push(turn);
                self.nested(|g| {
                    g.some(3);
                    g.maybe_leave();
                });
                self.w.loops.pop();
            }
            4 if !deep && self.w.loops.len() < 2 => {
                let counter = self.w.fresh("w");
                self.w.uses("while");
                self.w.line(&format!("{counter} = int(0)"));
                let test = self.test();
                let order = if self.w.one_in(2) {
                    format!("{counter} < 4 and {test}")
                } else {
                    format!("{test} and {counter} < 3")
                };
                self.w.line(&format!("while {order}:"));
                self.w.loops.push(counter.clone());
                self.nested(|g| {
                    g.w.line(&format!("{counter} = {counter} + 1"));
                    g.some(3);
                    g.maybe_leave();
                });
                self.w.loops.pop();
            }
            5 if self.kernel && self.w.loops.is_empty() && self.w.depth == 1 && self.w.one_in(3) => {
                let test = self.test();
                let e = self.sum();
                self.w.uses("return");
                self.w.line(&format!("if {test}:"));
                self.w.line(&format!("    o[i] = {e}"));
                self.w.line("    return");
            }
            _ => {
                let all = [
                    &self.names.floats,
                    &self.names.ints,
                    &self.names.pairs,
                    &self.names.mixed,
                    &self.names.triples,
                    &self.names.functions,
                    &self.names.types,
                    &self.names.shapes,
                    &self.names.vectors,
                ];
                let all: Vec<String> = all.into_iter().flatten().cloned().collect();
                let name = all[self.w.below(all.len())].clone();
                self.assign(&name, 1);
            }
        }
    }

    fn maybe_leave(&mut self) {
        if self.w.one_in(4) {
            let test = self.test();
            let word = self.w.one_of(&["break", "continue"]);
            self.w.uses(word);
            self.w.line(&format!("if {test}:"));
            self.w.line(&format!("    {word}"));
            self.statement();
        }
    }
}
