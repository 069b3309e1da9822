//! Random kernels of tiles as Python text: tiles that are overwritten whole, in parts and element
//! by element, carried by loops, stored and loaded again. Each thread is a block of one, and owns
//! four elements of `tile_x` and `tile_out` and four rows of `tile_m` and `tile_outm`; `tile_y` and
//! `idx` are only read; `acc` takes atomics.

use std::fmt::Write;

use crate::generate::{Kernel, Random, in_double};

const HEAD: &str = "import warp as wp
from typing import Any


@wp.func
def mix(x: wp.float64, y: wp.float64):
    return x * y + wp.sin(x)


@wp.func
def guarded(x: wp.float64):
    if x > 0.2:
        return x * x
    return 0.5 * x


@wp.func
def damp(t: Any, s: wp.float64):
    t *= 0.5
    t[2] = wp.sin(s)


@wp.func
def normal(t: Any):
    total = wp.tile_dot(t, t)
    return t / (total[0] + 1.0)


@wp.kernel
def k(tile_x: wp.array(dtype=wp.float64), tile_y: wp.array(dtype=wp.float64), tile_out: wp.array(dtype=wp.float64), \
tile_m: wp.array2d(dtype=wp.float64), tile_outm: wp.array2d(dtype=wp.float64), acc: wp.array(dtype=wp.float64), \
wide: wp.array2d(dtype=wp.float64), idx: wp.array(dtype=int), c: wp.float64, n: int):
    i = wp.tid()
    picked = wp.tile_load(idx, shape=4)
    t0 = wp.tile_load(tile_x, shape=4, offset=i * 4)
    t1 = wp.tile_load(tile_y, shape=4, offset=i * 3)
    t2 = wp.tile_full(shape=4, value=c, dtype=wp.float64)
    m0 = wp.tile_load(tile_m, shape=(4, 4), offset=(i * 4, 0))
    m1 = wp.tile_broadcast(t0, shape=(4, 4)) + m0
    w = wp.tile_load(wide, shape=(40, 4), offset=(i * 40, 0))
    q = t0[1]
";

/// Turns of one loop at most.
const TURNS: u64 = 4;

struct Generator {
    random: Random,
    text: String,
    depth: usize,
    loops: u32,
    counters: u32,
    /// The kernel overwrites the arrays that it reads.
    overwrites: bool,
    left: u32,
    uses: Vec<&'static str>,
}

/// The kernel `k` of a seed.
pub fn kernel(seed: u64) -> Kernel {
    let mut generator = Generator {
        random: Random(seed ^ 0x71_1e5),
        text: HEAD.to_string(),
        depth: 1,
        loops: 0,
        counters: 0,
        overwrites: seed.is_multiple_of(2),
        left: 0,
        uses: Vec::new(),
    };
    generator.left = 3 + generator.random.below(9) as u32;
    while generator.left > 0 {
        generator.statement();
    }
    let (t, m) = (generator.vector(2), generator.matrix(1));
    generator.line(&format!("wp.tile_store(tile_out, {t} + t0, offset=i * 4)"));
    generator.line(&format!("wp.tile_store(tile_outm, {m} + m0 * q, offset=(i * 4, 0))"));
    Kernel { text: in_double(&generator.text), uses: generator.uses }
}

impl Generator {
    fn line(&mut self, text: &str) {
        writeln!(self.text, "{}{text}", "    ".repeat(self.depth)).expect("a string");
    }

    fn note(&mut self, what: &'static str) {
        if !self.uses.contains(&what) {
            self.uses.push(what);
        }
    }

    fn block(&mut self, header: &str) {
        self.line(header);
        self.depth += 1;
        for _ in 0..1 + self.random.below(3) {
            self.statement();
        }
        self.depth -= 1;
    }

    fn statement(&mut self) {
        self.left = self.left.saturating_sub(1);
        let nested = self.depth < 4 && self.left > 0;
        match self.random.below(22) {
            0..=2 => {
                let (t, e) = (self.name("t", 3), self.vector(2));
                // What loops carry must not grow.
                self.line(&format!("{t} = wp.tile_map(wp.tanh, {e})"));
            }
            3 => {
                let (t, e) = (self.name("t", 3), self.vector(1));
                self.line(&format!("{t} = {t} * {e} * 0.5"));
            }
            4 | 5 => {
                let (m, e) = (self.name("m", 2), self.matrix(2));
                self.line(&format!("{m} = wp.tile_map(wp.tanh, {e})"));
            }
            6 => {
                self.note("product in place");
                let (a, b, out, s) = (self.matrix(1), self.matrix(0), self.name("m", 2), self.scalar());
                self.line(&format!("wp.tile_matmul({a}, {b}, {out}, alpha=0.125, beta={s} * 0.25)"));
                // In loops products grow: what overflows has no gradient to compare, though no
                // result may take it.
                if self.depth > 1 {
                    self.line(&format!("{out} = wp.tile_map(wp.tanh, {out})"));
                }
            }
            7 | 8 => self.element(),
            19 | 20 if self.loops < 2 => self.filled(),
            9 => {
                self.note("part");
                let (t, e, m) = (self.name("t", 3), self.vector(1), self.name("m", 2));
                let row = self.random.below(4);
                match self.random.below(4) {
                    0 => self.line(&format!("{t}[1:3] = ({e})[2:4]")),
                    1 => self.line(&format!("{m}[{row}] = {e}")),
                    2 => self.line(&format!("wp.tile_assign({t}, ({e})[0:2], offset=2)")),
                    _ => self.line(&format!("{m}[:, {row}] = {t}[::-1]")),
                }
            }
            10 => {
                let (t, e, s) = (self.name("t", 3), self.vector(1), self.scalar());
                match self.random.below(5) {
                    0 => self.line(&format!("{t} += {e} * 0.25")),
                    1 => self.line(&format!("wp.tile_axpy({s} * 0.25, {e}, {t})")),
                    2 => self.line(&format!("damp({t}, {s})")),
                    3 => self.line(&format!("{t} /= 1.5 + wp.abs({s})")),
                    _ => self.line(&format!("wp.tile_sort({t}, t2)").replace("wp.tile_sort(t2, t2)", "damp(t2, q)")),
                }
            }
            11 | 12 if nested => {
                self.note("branch");
                let e = self.scalar();
                self.line(&format!("q = {e}"));
                self.block("if q > 0.25:");
                if self.random.below(2) == 0 {
                    self.block("else:");
                }
            }
            13..=15 if nested && self.loops < 2 => {
                self.note("loop");
                let k = format!("k{}", self.counters);
                self.counters += 1;
                self.loops += 1;
                match self.random.below(4) {
                    0 => self.block(&format!("for {k} in range({}):", 1 + self.random.0 % TURNS)),
                    1 => self.block(&format!("for {k} in range(n):")),
                    2 => self.block(&format!("for {k} in range(n, 1, -1):")),
                    _ => {
                        self.line(&format!("{k} = int(0)"));
                        self.line(&format!("while {k} < n - 1:"));
                        self.depth += 1;
                        self.line(&format!("{k} += 1"));
                        self.statement();
                        self.statement();
                        self.depth -= 1;
                    }
                }
                self.loops -= 1;
            }
            16 => {
                self.note("store");
                let e = self.vector(1);
                let to = if self.overwrites { "tile_x" } else { "tile_out" };
                self.line(&format!("wp.tile_store({to}, wp.tile_map(wp.tanh, {e}), offset=i * 4)"));
            }
            17 => {
                self.note("atomic");
                let e = self.vector(1);
                self.line(&format!("wp.tile_atomic_add(acc, {e}, offset={})", self.random.0 % 5));
            }
            18 if self.overwrites => {
                let e = self.matrix(1);
                self.line(&format!("wp.tile_store(tile_m, wp.tile_map(wp.tanh, {e}), offset=(i * 4, 0))"));
            }
            _ => {
                let e = self.scalar();
                self.line(&format!("q = wp.tanh({e})"));
            }
        }
    }

    /// Loops fill a tile element by element, each from others: from those before, as a factor is,
    /// or from any.
    fn filled(&mut self) {
        self.note("filled");
        let (j, k) = (format!("j{}", self.counters), format!("k{}", self.counters));
        self.counters += 1;
        let mut one = |of: &[&str]| of[self.random.below(of.len() as u64) as usize].replace('J', &j).replace('K', &k);
        let turns = one(&["range(1, 4)", "range(1, 4)", "range(3, 0, -1)", "range(1, 4, 2)"]);
        let inner = one(&[
            "range(J)",
            "range(J)",
            "range(J, 4)",
            "range(J + 1, 4)",
            "range(J - 1, 4)",
            "range(3, J, -1)",
            "range(J - 1, -1, -1)",
            "range(4 - J, 4)",
            "range(n)",
        ]);
        let (read, write, late) =
            (one(&["K % 4", "K", "3 - K"]), one(&["J", "J", "3 - J", "J - 1", "0"]), one(&["J", "J - 1", "3 - J"]));
        // Only loops over numbers below four have such counters.
        let read = if inner == "range(n)" { format!("{k} % 4") } else { read };
        let (t, u, m) = (self.name("t", 3), self.name("t", 3), self.name("m", 2));
        let matrix = self.random.below(3) == 0;
        let at = |index: &str| if matrix { format!("{m}[{index}, {k} % 2]") } else { format!("{t}[{index}]") };
        let out = |index: &str| if matrix { format!("{m}[{index}, 1]") } else { format!("{t}[{index}]") };
        self.line(&format!("for {j} in {turns}:"));
        self.depth += 1;
        self.line(&format!("s = {u}[{j}]"));
        self.line(&format!("for {k} in {inner}:"));
        let factor = match self.random.below(3) {
            0 => "q".to_string(),
            1 => "s".to_string(),
            _ => at(&read),
        };
        self.line(&format!("    s += 0.25 * {} * {factor}", at(&read)));
        match self.random.below(4) {
            0 => self.line(&format!("{} = wp.tanh(s)", out(&write))),
            1 => self.line(&format!("{} = wp.sin(s) + 0.5 * {}", out(&write), out(&late))),
            2 => {
                self.line(&format!("{} = wp.sqrt(s * s + 1.0)", out(&write)));
                self.line(&format!("{} = wp.tanh(s) * {}", out(&late), out(&write)));
            }
            _ => {
                self.line("if s > 0.1:");
                self.line(&format!("    {} = s / wp.sqrt(s * s + 1.0)", out(&write)));
            }
        }
        self.depth -= 1;
    }

    /// An element of a variable gets another value.
    fn element(&mut self) {
        self.note("element");
        let (t, m, s) = (self.name("t", 3), self.name("m", 2), self.scalar());
        let (a, b) = (self.random.below(4), self.random.below(4));
        match self.random.below(4) {
            0 => self.line(&format!("{t}[{a}] = {s}")),
            1 => self.line(&format!("{t}[{a}] += {s} * 0.5")),
            2 => self.line(&format!("{m}[{a}, {b}] = {s} * {t}[{b}]")),
            _ => self.line(&format!("{t}[n % 4] = {t}[{a}] * {t}[{b}]")),
        }
    }

    fn name(&mut self, letter: &str, count: u64) -> String {
        format!("{letter}{}", self.random.below(count))
    }

    fn scalar(&mut self) -> String {
        match self.random.below(10) {
            8 => {
                // Longer than the chains of a sum.
                self.note("chains");
                match self.random.below(4) {
                    0 => format!("wp.tile_sum({})[0] * 0.02", self.wide()),
                    1 => format!("wp.tile_min({})[0]", self.wide()),
                    2 => format!("wp.tile_reduce(wp.max, {})[0]", self.wide()),
                    _ => format!("wp.tile_dot({}, w)[0] * 0.02", self.wide()),
                }
            }
            0 => format!("0.{}", self.random.below(9) + 1),
            1 => "c".to_string(),
            2 => "q".to_string(),
            3 => format!("{}[{}]", self.name("t", 3), self.random.below(4)),
            4 => format!("{}[{}, {}]", self.name("m", 2), self.random.below(4), self.random.below(4)),
            5 => {
                self.note("sum");
                format!("wp.tile_sum({})[0]", self.vector(1))
            }
            6 => {
                self.note("extremum");
                let word = ["min", "max"][self.random.below(2) as usize];
                format!("wp.tile_{word}({})[0]", self.vector(1))
            }
            _ => format!("wp.tile_dot({}, {})[0]", self.name("t", 3), self.vector(0)),
        }
    }

    /// A tile of forty by four.
    fn wide(&mut self) -> String {
        let t = self.vector(0);
        match self.random.below(3) {
            0 => format!("(wp.tile_broadcast({t}, shape=(40, 4)) * w)"),
            1 => format!("wp.tile_map(mix, w, wp.tile_broadcast({t}, shape=(40, 4)))"),
            _ => format!("wp.tile_map(mix, w, {})", self.name("t", 3) + "[2]"),
        }
    }

    /// A tile of four.
    fn vector(&mut self, depth: u32) -> String {
        if depth == 0 {
            return match self.random.below(5) {
                0 => format!("{}[{}]", self.name("m", 2), self.random.below(4)),
                _ => self.name("t", 3),
            };
        }
        let t = self.vector(depth - 1);
        match self.random.below(18) {
            16 => {
                self.note("chains of rows");
                let rows = format!("wp.tile_reshape({} + w, shape=(4, 40))", self.wide());
                match self.random.below(3) {
                    0 => format!("wp.tile_reduce(wp.max, {rows}, axis=1)"),
                    _ => format!("(wp.tile_sum({rows}, axis=1) * 0.05)"),
                }
            }
            17 => format!("(wp.tile_sum({}, axis=0) * 0.05)", self.wide()),
            0 => format!("({t} + {})", self.vector(depth - 1)),
            1 => format!("({t} - {})", self.vector(depth - 1)),
            2 => format!("({t} * {})", self.vector(depth - 1)),
            3 => format!("({t} * {})", self.scalar()),
            4 => format!("wp.tile_map(wp.sin, {t})"),
            5 => format!("wp.tile_map(mix, {t}, {})", self.vector(depth - 1)),
            6 => format!("wp.tile_map(mix, {t}, {})", self.scalar()),
            7 => format!("wp.tile_map(guarded, {t})"),
            8 => {
                self.note("scan");
                let word = ["inclusive", "exclusive", "max_inclusive", "min_inclusive"][self.random.below(4) as usize];
                format!("wp.tile_scan_{word}({t})")
            }
            9 => {
                self.note("sum");
                format!("wp.tile_sum({}, axis={})", self.matrix(depth - 1), self.random.below(2))
            }
            10 => {
                self.note("gather");
                let array =
                    ["tile_x", "tile_y", "tile_out"][self.random.below(if self.overwrites { 1 } else { 2 }) as usize];
                // Its own elements, if others are written elsewhere.
                match self.overwrites {
                    true => format!("wp.tile_load({array}, shape=4, offset=i * 4)"),
                    false => format!("wp.tile_load_indexed({array}, picked, shape=4)"),
                }
            }
            11 => format!("normal({})", self.name("t", 3)),
            12 => {
                self.note("fold");
                format!("wp.tile_reduce(mix, {}, axis=1)", self.name("m", 2))
            }
            13 => format!("({t})[::-1]"),
            14 => format!("wp.tile_broadcast(wp.tile_sum({t}), shape=4)"),
            _ => format!("wp.tile_full(shape=4, value={}, dtype=wp.float64)", self.scalar()),
        }
    }

    /// A tile of four by four.
    fn matrix(&mut self, depth: u32) -> String {
        if depth == 0 {
            return self.name("m", 2);
        }
        let m = self.matrix(depth - 1);
        match self.random.below(9) {
            0 => format!("({m} + {})", self.matrix(depth - 1)),
            1 => format!("wp.tile_transpose({m})"),
            2 | 3 => {
                self.note("product");
                format!("wp.tile_matmul({m}, {})", self.matrix(depth - 1))
            }
            4 => format!("wp.tile_map(mix, {m}, {})", self.matrix(depth - 1)),
            5 => format!("({m} * {})", self.scalar()),
            6 => format!("wp.tile_broadcast({}, shape=(4, 4))", self.vector(depth - 1)),
            7 => format!("wp.tile_diag_add({m}, {})", self.vector(depth - 1)),
            _ => "wp.tile_load(tile_m, shape=(4, 4), offset=(i * 4, 0))".to_string(),
        }
    }
}
