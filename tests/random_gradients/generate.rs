//! Random kernels as Python text. Every one is a right program: indices are in range, threads own
//! the elements that they read and write, loops end, and values stay near 1.

use std::fmt::Write;

/// Threads of a launch.
pub const THREADS: u32 = 4;

/// Elements of the arrays that all threads read, and of those with atomics.
pub const SHARED: u32 = 8;

/// Most turns of one loop.
const TURNS: u64 = 6;

/// Types and functions that every kernel can use. `x`, `m`, `s`, `out` and `outv` belong to
/// threads, element by element or row by row; `y`, `u` and `idx` are only read; `acc`, `low`,
/// `high` and `count` take atomics.
const HEAD: &str = "import warp as wp


@wp.struct
class State:
    a: wp.float64
    v: wp.vec3d
    n: int


@wp.func
def series(x: wp.float64, n: int):
    s = 0.0
    t = 1.0
    for k in range(n):
        t = t * x / wp.float64(k + 1)
        s += t
    return s


@wp.func
def newton(x: wp.float64):
    r = 1.0
    turns = int(0)
    while wp.abs(r * r - 1.0 - x * x) > 0.001 and turns < 9:
        r = 0.5 * (r + (1.0 + x * x) / r)
        turns += 1
    return r


@wp.func
def first_above(a: wp.array(dtype=wp.float64), level: wp.float64):
    for k in range(a.shape[0]):
        if a[k] > level:
            return a[k] * wp.float64(k + 1)
    return level


@wp.func
def scale(a: wp.array(dtype=wp.float64), i: int, by: wp.float64):
    a[i] = a[i] * by + 0.25


@wp.func
def step(s: State, h: wp.float64):
    r = s
    r.a = s.a + h * s.v[0]
    r.v[1] = s.v[1] * (1.0 - h * h)
    r.v[2] = wp.sin(s.a)
    r.n = s.n + 1
    return r


@wp.func
def split(x: wp.float64, y: wp.float64):
    return x * y, wp.tanh(x - y)

";

const SIGNATURE: &str = "x: wp.array(dtype=wp.float64), m: wp.array2d(dtype=wp.float64), s: wp.array(dtype=State), \
out: wp.array(dtype=wp.float64), outv: wp.array(dtype=wp.vec3d), y: wp.array(dtype=wp.float64), \
u: wp.array(dtype=wp.vec3d), idx: wp.array(dtype=int), acc: wp.array(dtype=wp.float64), \
low: wp.array(dtype=wp.float64), high: wp.array(dtype=wp.float64), count: wp.array(dtype=int), c: wp.float64, n: int";

/// The variables of a kernel, set before anything else, so that every branch may assign them.
const VARIABLES: &str = "    i = wp.tid()
    a0 = x[i]
    a1 = y[i]
    a2 = c
    a3 = 0.5
    v0 = u[i]
    v1 = wp.vec3d(a0, a1, 0.25)
    m0 = wp.mat33d(a1, a0, a2, a3, a0, a1, a0, a2, a3)
    p = s[i]
    p.n = p.n % 8
    w = wp.zeros(shape=4, dtype=wp.float64)
    j0 = idx[i] % 8
    j1 = int(1)
";

/// What a kernel does, as far as the check of it depends on that.
pub struct Kernel {
    pub text: String,
    /// Statements of each kind that it has, by the names of [`Generator::statement`].
    pub uses: Vec<&'static str>,
}

/// The kernel `k` of a seed.
pub fn kernel(seed: u64) -> Kernel {
    let mut generator = Generator {
        random: Random(seed),
        text: HEAD.to_string(),
        loops: Vec::new(),
        counters: 0,
        depth: 1,
        turns: 1,
        overwrites: seed.is_multiple_of(2),
        function: false,
        functions: 0,
        left: 0,
        uses: Vec::new(),
    };
    for _ in 0..generator.random.below(3) {
        generator.function();
    }
    generator.kernel();
    Kernel { text: in_double(&generator.text), uses: generator.uses }
}

/// The text with its literals in double precision: `0.5` is a float32.
pub fn in_double(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let end = rest[start..].find(|c: char| !c.is_ascii_digit() && c != '.').map_or(rest.len(), |n| start + n);
        let (before, number) = (&rest[..start], &rest[start..end]);
        out += before;
        if number.contains('.') {
            write!(out, "wp.float64({number})").expect("a string")
        } else {
            out += number
        }
        rest = &rest[end..];
    }
    out + rest
}

struct Generator {
    random: Random,
    text: String,
    /// The loops around the next statement: whether each is a `while`, and its variable.
    loops: Vec<(bool, String)>,
    counters: u32,
    /// Of the indentation.
    depth: usize,
    /// Turns of the loops around, multiplied.
    turns: u64,
    /// The kernel overwrites what it reads.
    overwrites: bool,
    /// In a function of floats `x`, `y` with the variables `a0` to `a3`.
    function: bool,
    functions: u32,
    /// Statements that may still be made.
    left: u32,
    uses: Vec<&'static str>,
}

impl Generator {
    fn function(&mut self) {
        let name = self.functions;
        writeln!(self.text, "\n@wp.func\ndef f{name}(x: wp.float64, y: wp.float64):").expect("a string");
        self.text += "    a0 = x\n    a1 = y\n    a2 = x * y\n    a3 = 0.75\n    j0 = int(2)\n    j1 = int(1)\n";
        self.function = true;
        self.left = 3 + self.random.below(5) as u32;
        self.statements(2, 4);
        let result = self.float(2);
        self.line(&format!("return {result}"));
        self.text += "\n";
        self.function = false;
        self.functions += 1;
    }

    fn kernel(&mut self) {
        writeln!(self.text, "\n@wp.kernel\ndef k({SIGNATURE}):\n{}", VARIABLES.trim_end()).expect("a string");
        self.left = 5 + self.random.below(14) as u32;
        while self.left > 0 {
            self.statement();
        }
        let (a, v) = (self.float(2), self.vector(1));
        self.line(&format!("out[i] = out[i] + a0 * a1 + a2 - a3 + {a} + w[j1 % 4]"));
        self.line(&format!("outv[i] = {v} + m0 * v0 + p.v * p.a"));
    }

    fn line(&mut self, text: &str) {
        for _ in 0..self.depth {
            self.text += "    ";
        }
        self.text += text;
        self.text += "\n";
    }

    fn statements(&mut self, least: u64, most: u64) {
        for _ in 0..least + self.random.below(most - least + 1) {
            self.statement();
        }
    }

    /// The statements under a header line, one level deeper.
    fn block(&mut self, header: &str) {
        self.line(header);
        self.depth += 1;
        self.statements(1, 3);
        self.depth -= 1;
    }

    fn statement(&mut self) {
        self.left = self.left.saturating_sub(1);
        let nested = self.depth < 4 && self.left > 0;
        match self.random.below(if self.function { 12 } else { 28 }) {
            0..=2 => self.assign(),
            3 => self.update(),
            4 => {
                self.note("swap");
                let e = self.float(2);
                let (a, b) = (self.name("a", 4), self.name("a", 4));
                if a == b {
                    self.line(&format!("{a} = {e}"));
                } else {
                    self.line(&format!("{a}, {b} = {b}, {e}"));
                }
            }
            5 | 6 if nested => self.branch(),
            7 | 8 if nested && self.turns * TURNS <= 60 => self.for_loop(),
            9 if nested && self.turns * TURNS <= 60 => self.while_loop(),
            10 if !self.loops.is_empty() => self.leave(),
            11 => {
                let e = self.int();
                let j = self.name("j", 2);
                self.line(&format!("{j} = ({e}) % {SHARED}"));
            }
            12 | 13 => self.vectors(),
            14 => self.matrix(),
            15 => self.structs(),
            16 | 17 => self.local_array(),
            18..=21 if self.overwrites => self.overwrite(),
            22 | 23 => self.output(),
            24 | 25 => self.atomic(),
            26 | 27 => self.call(),
            _ => self.assign(),
        }
    }

    fn note(&mut self, what: &'static str) {
        if !self.uses.contains(&what) {
            self.uses.push(what);
        }
    }

    fn assign(&mut self) {
        let (a, e) = (self.name("a", 4), self.float(3));
        // Values that are carried round loops must not grow.
        if self.random.below(2) == 0 {
            self.line(&format!("{a} = wp.tanh({e})"));
        } else {
            self.line(&format!("{a} = {e}"));
        }
    }

    fn update(&mut self) {
        let (a, e) = (self.name("a", 4), self.float(2));
        match self.random.below(4) {
            0 => self.line(&format!("{a} += {e}")),
            1 => self.line(&format!("{a} -= {e}")),
            2 => self.line(&format!("{a} *= wp.cos({e})")),
            _ => self.line(&format!("{a} /= 1.5 + wp.abs({e})")),
        }
    }

    fn branch(&mut self) {
        self.note("if");
        let test = self.test();
        self.block(&format!("if {test}:"));
        if self.random.below(3) == 0 {
            let test = self.test();
            self.block(&format!("elif {test}:"));
        }
        if self.random.below(2) == 0 {
            self.block("else:");
        }
    }

    fn for_loop(&mut self) {
        let k = format!("k{}", self.counters);
        self.counters += 1;
        let kind = if self.function { [0, 1, 5][self.random.below(3) as usize] } else { self.random.below(6) };
        let range = match kind {
            0 => format!("range({})", 1 + self.random.below(TURNS)),
            1 => format!("range({}, -1, -1)", self.random.below(TURNS)),
            2 => "range(n)".to_string(),
            3 => "range(1, n, 2)".to_string(),
            4 => format!("range(idx[({}) % {SHARED}] % {TURNS})", self.int()),
            _ => format!("range(j0 % 4, {})", 1 + self.random.below(TURNS)),
        };
        self.note(if kind < 2 { "static for" } else { "dynamic for" });
        self.in_loop(false, &k, &format!("for {k} in {range}:"));
    }

    fn while_loop(&mut self) {
        self.note("while");
        let k = format!("k{}", self.counters);
        self.counters += 1;
        self.line(&format!("{k} = int(0)"));
        let test = if self.random.below(2) == 0 { format!(" and ({})", self.test()) } else { String::new() };
        let dynamic = if self.function { "j0 + 1" } else { "n" };
        let bound = if self.random.below(2) == 0 { dynamic.to_string() } else { self.random.below(TURNS).to_string() };
        self.in_loop(true, &k, &format!("while {k} < {bound}{test}:"));
    }

    fn in_loop(&mut self, is_while: bool, k: &str, header: &str) {
        if !self.loops.is_empty() {
            self.note("nested loops");
        }
        self.loops.push((is_while, k.to_string()));
        self.turns *= TURNS;
        self.line(header);
        self.depth += 1;
        if is_while {
            self.line(&format!("{k} += 1"));
        }
        self.statements(1, 4);
        self.depth -= 1;
        self.turns /= TURNS;
        self.loops.pop();
    }

    fn leave(&mut self) {
        let word = match self.random.below(5) {
            0 | 1 => "break",
            2 | 3 => "continue",
            _ => "return",
        };
        self.note(word);
        let test = self.test();
        self.line(&format!("if {test}:"));
        let e = self.float(1);
        match (word, self.function) {
            ("return", true) => self.line(&format!("    return {e}")),
            ("return", false) => {
                self.line(&format!("    out[i] = {e}"));
                self.line("    return");
            }
            _ => self.line(&format!("    {word}")),
        }
    }

    fn vectors(&mut self) {
        self.note("vector");
        let v = self.name("v", 2);
        match self.random.below(4) {
            0 => {
                let (e, k) = (self.float(2), self.random.below(3));
                self.line(&format!("{v}[{k}] = {e}"));
            }
            1 => {
                let (e, k) = (self.float(2), self.int());
                self.line(&format!("{v}[({k}) % 3] = wp.tanh({e})"));
            }
            2 => {
                let e = self.vector(1);
                self.line(&format!("{v} += {e} * 0.5"));
            }
            _ => {
                let e = self.vector(2);
                self.line(&format!("{v} = {e}"));
            }
        }
    }

    fn matrix(&mut self) {
        self.note("matrix");
        let e = self.float(2);
        match self.random.below(4) {
            0 => {
                let (r, k) = (self.random.below(3), self.int());
                self.line(&format!("m0[{r}, ({k}) % 3] = wp.tanh({e})"));
            }
            1 => self.line("m0 = wp.transpose(m0) * 0.5 + wp.outer(v0, v1) * 0.25"),
            2 => {
                let v = self.vector(1);
                self.line(&format!("m0[{}] = {v}", self.random.0 % 3));
            }
            _ => self.line(&format!("m0 = m0 * wp.cos({e}) + wp.diag(v1) * 0.5")),
        }
    }

    fn structs(&mut self) {
        self.note("struct");
        match self.random.below(5) {
            0 => {
                let e = self.float(2);
                self.line(&format!("p.a = wp.tanh({e})"));
            }
            1 => {
                let (e, k) = (self.float(2), self.random.below(3));
                self.line(&format!("p.v[{k}] = {e}"));
            }
            2 => {
                let v = self.vector(1);
                self.line(&format!("p.v = p.v * 0.5 + {v}"));
            }
            3 => self.line("p = step(p, 0.5 * wp.sin(a0))"),
            _ => self.line("p.n = (p.n + j0) % 8"),
        }
    }

    fn local_array(&mut self) {
        self.note("local array");
        let (e, k) = (self.float(2), self.int());
        if self.random.below(2) == 0 {
            self.line(&format!("w[({k}) % 4] = wp.tanh({e})"));
        } else {
            let a = self.name("a", 4);
            self.line(&format!("{a} = w[({k}) % 4] * {e}"));
        }
    }

    /// Elements that belong to the thread are read and written again.
    fn overwrite(&mut self) {
        self.note("overwrite");
        let e = self.float(2);
        let row = format!("m[i, ({}) % 3]", self.int());
        let at = if self.random.below(2) == 0 { "x[i]".to_string() } else { format!("x[i + {THREADS}]") };
        match self.random.below(9) {
            0 => self.line(&format!("{at} = wp.tanh({e})")),
            1 => self.line(&format!("{at} *= wp.cos({e})")),
            2 => self.line(&format!("{at} /= 1.5 + wp.abs({e})")),
            3 => self.line(&format!("{at} += {e}")),
            4 => self.line(&format!("{row} = wp.sin({e})")),
            5 => self.line(&format!("{row} *= wp.cos({e})")),
            6 => self.line(&format!("s[i].a = wp.tanh({e})")),
            7 => self.line(&format!("outv[i][{}] = {e}", self.random.0 % 3)),
            _ => self.line(&format!("scale(x, i, wp.cos({e}))")),
        }
    }

    fn output(&mut self) {
        let e = self.float(2);
        match self.random.below(3) {
            0 => self.line(&format!("out[i] = {e}")),
            1 => self.line(&format!("out[i + {THREADS}] += {e}")),
            _ => self.line(&format!("out[i + {THREADS}] -= {e}")),
        }
    }

    fn atomic(&mut self) {
        let (e, k) = (self.float(2), self.int());
        let at = format!("({k}) % {SHARED}");
        match self.random.below(6) {
            0 | 1 => self.line(&format!("wp.atomic_add(acc, {at}, {e})")),
            2 => self.line(&format!("wp.atomic_sub(acc, {at}, {e})")),
            3 => self.line(&format!("wp.atomic_min(low, {at}, {e})")),
            4 => self.line(&format!("wp.atomic_max(high, {at}, {e})")),
            _ if !self.overwrites => self.line(&format!("wp.atomic_add(acc, {at}, 2.0 * ({e}))")),
            _ => {
                self.note("slot");
                self.line("j1 = wp.atomic_add(count, 0, 1) % 8");
                return;
            }
        }
        self.note("atomic");
    }

    fn call(&mut self) {
        self.note("call");
        let (a, e, f) = (self.name("a", 4), self.float(1), self.float(1));
        match self.random.below(5) {
            0 => self.line(&format!("{a} = series(0.5 * wp.sin({e}), n)")),
            1 => self.line(&format!("{a} = newton(wp.sin({e}))")),
            2 => self.line(&format!("{a} = first_above(y, {e})")),
            3 => self.line(&format!("a0, a1 = split({e}, {f})")),
            _ if self.functions > 0 => {
                let n = self.random.below(self.functions.into());
                self.line(&format!("{a} = wp.tanh(f{n}({e}, {f}))"));
            }
            _ => self.line(&format!("{a} = series({e} * 0.25, 3)")),
        }
    }

    fn name(&mut self, letter: &str, count: u64) -> String {
        format!("{letter}{}", self.random.below(count))
    }

    /// A number that is not negative.
    fn int(&mut self) -> String {
        match self.random.below(6) {
            0 => self.random.below(4).to_string(),
            1 => self.name("j", 2),
            2 if !self.loops.is_empty() => self.loops[self.loops.len() - 1].1.clone(),
            3 if !self.function => format!("idx[j0] + {}", self.random.below(3)),
            4 if !self.function => "i + j1".to_string(),
            5 if !self.function => "p.n".to_string(),
            _ => "j0 + 1".to_string(),
        }
    }

    fn test(&mut self) -> String {
        let (a, level) = (self.name("a", 4), self.literal());
        match self.random.below(5) {
            0 => format!("{a} < {level}"),
            1 => format!("{a} > {}", self.name("a", 4)),
            2 => format!("({}) % 2 == 0", self.int()),
            3 => format!("{a} > {level} and not ({}) == 3", self.int()),
            _ => format!("{a} * {a} > {level} or {} < 0.0", self.name("a", 4)),
        }
    }

    fn literal(&mut self) -> String {
        format!("{:.2}", 0.2 + self.random.below(100) as f64 / 80.0)
    }

    fn float(&mut self, depth: u32) -> String {
        if depth == 0 || self.random.below(5) == 0 {
            return self.float_leaf();
        }
        let a = self.float(depth - 1);
        match self.random.below(22) {
            0..=2 => format!("({a} + {})", self.float(depth - 1)),
            3 | 4 => format!("({a} - {})", self.float(depth - 1)),
            5..=8 => format!("{a} * {}", self.float(depth - 1)),
            9 => format!("{a} / (1.5 + {0} * {0})", self.float_leaf()),
            10 => format!("wp.sin({a})"),
            11 => format!("wp.cos({a})"),
            12 => format!("wp.exp(-wp.abs({a}))"),
            13 => format!("wp.sqrt(1.0 + {0} * {0})", self.float_leaf()),
            14 => format!("wp.max({a}, {})", self.float(depth - 1)),
            15 => format!("wp.min({a}, {})", self.float(depth - 1)),
            16 => format!("({a} if {} else {})", self.test(), self.float(depth - 1)),
            17 => {
                let b = self.float_leaf();
                format!("wp.where({b} > 0.0, wp.sqrt({b}), {a})")
            }
            18 => format!("wp.clamp({a}, -0.8, 0.9)"),
            19 => format!("wp.lerp({a}, {}, 0.3)", self.float(depth - 1)),
            20 => format!("wp.log(1.25 + wp.abs({a}))"),
            _ if !self.function => format!("wp.dot({}, {})", self.vector(0), self.vector(0)),
            _ => format!("-{}", self.float_leaf()),
        }
    }

    fn float_leaf(&mut self) -> String {
        if self.function {
            return match self.random.below(7) {
                0 => "x".to_string(),
                1 => "y".to_string(),
                2 => self.literal(),
                _ => self.name("a", 4),
            };
        }
        match self.random.below(18) {
            0 | 1 => self.literal(),
            2 => "x[i]".to_string(),
            3 => format!("x[i + {THREADS}]"),
            4 => format!("y[({}) % {SHARED}]", self.int()),
            5 => format!("m[i, ({}) % 3]", self.int()),
            6 => format!("v0[({}) % 3]", self.int()),
            7 => "v1[1]".to_string(),
            8 => "p.a".to_string(),
            9 => "s[i].v[1]".to_string(),
            10 => "m0[1, j0 % 3]".to_string(),
            11 => format!("w[({}) % 4]", self.int()),
            12 if self.overwrites => "out[i]".to_string(),
            13 => format!("wp.float64(({}) % 4) * 0.25", self.int()),
            _ => self.name("a", 4),
        }
    }

    fn vector(&mut self, depth: u32) -> String {
        if depth == 0 {
            return match self.random.below(6) {
                0 => "p.v".to_string(),
                1 => format!("u[({}) % {SHARED}]", self.int()),
                2 => "m0[1]".to_string(),
                _ => self.name("v", 2),
            };
        }
        let v = self.vector(depth - 1);
        match self.random.below(7) {
            0 => format!("({v} + {})", self.vector(depth - 1)),
            1 => format!("({v} - {})", self.vector(depth - 1)),
            2 => format!("{v} * {}", self.float(1)),
            3 => format!("wp.cross({v}, {})", self.vector(depth - 1)),
            4 => format!("wp.cw_mul({v}, {})", self.vector(depth - 1)),
            5 => format!("wp.normalize({v} + wp.vec3d({}, 0.5, 2.0))", self.float(0)),
            _ => format!("m0 * {v} * 0.5"),
        }
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014).
#[derive(Default)]
pub struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        (self.next() >> 11) % n
    }

    /// From -1 to 1.
    pub fn float(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}
