//! Names that are known while compiling, under control flow: tuples, functions, types, shapes and static values that branches
//! and loops assign, in kernels and in functions.

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

    /// A new value for a name; the first one uses no other names of its kind.
    fn assign(&mut self, name: &str, again: usize) {
        let other = |names: &[String], w: &mut Writer| names[w.below(names.len())].clone();
        let most = if again == 0 { 2 } else { 6 };
        let kind = self.w.below(most);
        let value = match name.chars().next() {
            Some('a') => self.float(2),
            Some('n') => {
                self.w.uses("static value");
                match kind {
                    0 => format!("{}", self.w.below(4)),
                    1 => self.w.one_of(&["wp.static(2)", "wp.static(SIZE)", "SIZE", "wp.static(SIZE - 2)"]).to_string(),
                    2 => format!("{name} + 1"),
                    3 => "j".to_string(),
                    _ => self.int(),
                }
            }
            Some('t') => {
                self.w.uses("pair");
                match kind {
                    0 | 1 => format!("({}, {})", self.float(1), self.float(0)),
                    2 => format!("({name}[1], {name}[0] + {name}[1] * 0.5)"),
                    3 if !self.pairs.is_empty() => self.pairs[0].clone(),
                    3 => format!("pair({}, {})", self.float(0), self.float(0)),
                    4 => other(&self.names.pairs, &mut self.w),
                    _ if !self.odd => format!("({}, {name}[0])", self.float(0)),
                    _ => {
                        let test = self.test();
                        format!("{name} if {test} else ({}, {name}[0])", self.float(0))
                    }
                }
            }
            Some('u') => {
                self.w.uses("pair of two types");
                match kind {
                    0 | 1 => format!("({}, {})", self.float(0), self.w.below(4)),
                    2 | 3 => format!("({name}[0] * 0.5, {name}[1] + 1)"),
                    _ => format!("({}, {})", self.float(1), self.int()),
                }
            }
            Some('r') => {
                self.w.uses("triple");
                match kind {
                    0 | 1 => format!("({}, ({}, {}))", self.float(0), self.float(0), self.float(0)),
                    2 => format!("({name}[1][1], ({name}[0], {name}[1][0]))"),
                    _ => format!("({}, {name}[1])", self.float(1)),
                }
            }
            Some('g') => {
                self.w.uses("function");
                match kind {
                    0..=2 => self.w.one_of(&["twice", "shifted", "bent", "wp.sin", "wp.cos", "wp.tanh"]).to_string(),
                    3 => other(&self.names.functions, &mut self.w),
                    _ if !self.odd => self.w.one_of(&["twice", "bent", "wp.cos"]).to_string(),
                    _ => {
                        let test = self.test();
                        format!("{} if {test} else {name}", self.w.one_of(&["twice", "shifted", "wp.sin"]))
                    }
                }
            }
            Some('T') => {
                self.w.uses("type");
                match kind {
                    0..=3 => self.w.one_of(&["int", "float", "wp.float64", "wp.int64", "wp.float32"]).to_string(),
                    _ if !self.odd => "int".to_string(),
                    _ => format!("int if {} else {name}", self.test()),
                }
            }
            Some('s') => {
                self.w.uses("shape");
                match kind {
                    0..=3 => self.w.one_of(&["x.shape[0]", "y.shape[1]", "c.shape[0]", "len(x)"]).to_string(),
                    4 => format!("{name} + 1"),
                    _ => format!("x.shape[0] if {} else {name}", self.test()),
                }
            }
            _ => {
                self.w.uses("vector");
                match kind {
                    0 | 1 => format!("wp.vec2({}, {})", self.float(0), self.float(0)),
                    2 => format!("wp.vec2({name}[1], {name}[0] * 0.5)"),
                    3 => format!("{name} * 0.5"),
                    _ => format!("{name} + wp.vec2({}, 0.5)", self.float(0)),
                }
            }
        };
        // Both names at once, or one after the other.
        if again == 1 && name.starts_with('t') && self.w.one_in(4) {
            self.w.uses("unpacking");
            self.w.line(&format!("a0, a1 = {value}"));
            return;
        }
        self.w.line(&format!("{name} = {value}"));
    }

    fn int(&mut self) -> String {
        let mut known = vec!["j".to_string(), "q".to_string()];
        known.extend(self.names.ints.iter().cloned());
        known.extend(self.w.loops.iter().cloned());
        known.extend(self.names.mixed.iter().map(|u| format!("{u}[1]")));
        let n = self.w.below(known.len());
        known[n].clone()
    }

    fn test(&mut self) -> String {
        let mut tests: Vec<String> =
            ["j > 1", "q > 1", "p > 0.125", "j == q", "j % 2 == 0", "q == 0"].map(String::from).to_vec();
        tests.extend(
            self.names
                .pairs
                .iter()
                .filter(|t| self.w.text.contains(&format!(" {t} =")))
                .map(|t| format!("{t}[0] > 0.125")),
        );
        tests.extend(self.w.loops.iter().map(|k| format!("{k} % 2 == 1")));
        tests.extend(self.w.loops.iter().map(|k| format!("{k} < q")));
        let n = self.w.below(tests.len());
        tests[n].clone()
    }

    fn float(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.leaf();
        }
        let (a, b) = (self.float(depth - 1), self.leaf());
        match self.w.below(7) {
            0 | 1 => format!("({a} + {b})"),
            2 => format!("({a} - {b})"),
            3 => format!("{a} * {b}"),
            4 => format!("({a} if {} else {b})", self.test()),
            5 => format!("wp.sin({a})"),
            _ => a,
        }
    }

    /// A value of some name that has one.
    fn leaf(&mut self) -> String {
        let text = &self.w.text;
        let start = text.rfind("def ").unwrap_or(0);
        let set = |name: &&String| text[start..].contains(&format!(" {name} ="));
        let mut found: Vec<String> = vec!["p".to_string(), "p * 0.5".to_string()];
        let names = &self.names;
        found.extend(names.floats.iter().filter(set).cloned());
        found.extend(names.ints.iter().filter(set).map(|n| format!("float({n}) * 0.25")));
        found.extend(names.pairs.iter().filter(set).flat_map(|t| [format!("{t}[0]"), format!("{t}[1]")]));
        found.extend(names.mixed.iter().filter(set).map(|u| format!("{u}[0]")));
        found.extend(names.triples.iter().filter(set).map(|r| format!("{r}[1][0]")));
        found.extend(names.functions.iter().filter(set).flat_map(|g| [format!("{g}(p)"), format!("apply({g}, a0)")]));
        found.extend(names.types.iter().filter(set).map(|t| format!("float({t}(p * 4.0)) * 0.125")));
        found.extend(names.shapes.iter().filter(set).map(|s| format!("float({s}) * 0.125")));
        found.extend(names.vectors.iter().filter(set).map(|v| format!("{v}[1]")));
        found.extend(self.functions.iter().map(|f| f.replace('@', "p").replace('#', "q")));
        if self.w.one_in(5) {
            return self.w.literal();
        }
        let n = self.w.below(found.len());
        found[n].clone()
    }

    /// Of every name.
    fn sum(&mut self) -> String {
        let names = &self.names;
        let mut terms: Vec<String> = names.floats.clone();
        terms.extend(names.ints.iter().map(|n| format!("float({n})")));
        terms.extend(names.pairs.iter().flat_map(|t| [format!("{t}[0]"), format!("{t}[1] * 0.5")]));
        terms.extend(names.mixed.iter().map(|u| format!("{u}[0] * float({u}[1])")));
        terms.extend(names.triples.iter().map(|r| format!("{r}[0] * {r}[1][1]")));
        terms.extend(names.functions.iter().map(|g| format!("{g}(p)")));
        terms.extend(names.types.iter().map(|t| format!("float({t}(p * 4.0))")));
        terms.extend(names.shapes.iter().map(|s| format!("float({s})")));
        terms.extend(names.vectors.iter().map(|v| format!("{v}[0]")));
        terms.join(" + ")
    }
}
