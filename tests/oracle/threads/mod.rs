//! Threads of a block: tiles and arrays of the block, read in branches, loops, functions and
//! conditional expressions, then scatters, element writes and atomics; two-dimensional indices,
//! shuffles, blocks that are not full.

mod steps;

use crate::case::{Array, Case, Step, doubled, unit};
use crate::eval::number::{I32, Kind};
use crate::random::Random;
use crate::writer::Writer;

const HEAD: &str = "import warp as wp
from typing import Any


@wp.func
def pick(t: Any, n: int):
    return t[n] * 0.5


@wp.func
def pick_if(t: Any, n: int, a: float):
    if a > 0.125:
        return t[n] * a
    return a


@wp.func
def total(t: Any, n: int):
    sum = float(0.0)
    for k in range(n):
        sum += t[k]
    return sum


@wp.func
def warp_sum(v: float):
    for k in range(3):
        v = v + wp.shuffle_xor(v, 1 << k)
    return v

";

struct Generator {
    w: Writer,
    threads: usize,
    /// Rows and columns of the array of two dimensions.
    grid: (usize, usize),
    /// All threads of the block are here.
    together: bool,
    /// Tiles that are there, with an element for each thread.
    tiles: Vec<String>,
    /// Several threads may have stored since they met last.
    stored: bool,
    /// The last block of the launch has fewer threads.
    partial: bool,
}

pub fn case(seed: u64) -> Case {
    let mut random = Random::new(seed ^ 0x7468_7264);
    let double = random.one_in(2);
    let threads: usize = random.pick(&[4, 4, 4, 5, 6, 8, 8, 16, 32, 33]);
    let blocks = 1 + random.below(3);
    let rows = if random.one_in(5) { 2 } else { 1 };
    // The last block may lack threads.
    let partial = rows == 1 && random.one_in(12);
    let grid = if threads.is_multiple_of(4) {
        (threads / 4, 4)
    } else if threads.is_multiple_of(2) {
        (2, threads / 2)
    } else {
        (1, threads)
    };
    let w = Writer::new(random, HEAD);
    let mut g = Generator { w, threads, grid, together: true, tiles: Vec::new(), stored: false, partial };
    g.kernel(rows == 2);
    let mut uses = g.w.uses.clone();
    if partial {
        uses.push("partial block");
    }
    let n = blocks * threads - if partial { 1 + g.w.below(threads - 1) } else { 0 };
    let text = if double { doubled(&g.w.text) } else { g.w.text.clone() };
    let kind = if double { Kind::F64 } else { Kind::F32 };
    let mut random = Random::new(seed ^ 0x1234);
    let mut numbers = |count: usize| (0..count).map(|_| f64::from(unit(&mut random) as f32)).collect::<Vec<_>>();
    let (x, y, weights) = (numbers(n), numbers(n), numbers(rows * n));
    let float = |name, shape: Vec<usize>, contents, active| Array { name, shape, kind, contents, active };
    let indices = (0..n).map(|_| g.w.below(4) as f64).collect();
    let arrays = vec![
        float("x", vec![n], x, true),
        float("y", vec![n], y, true),
        float("weights", vec![rows * n], weights, false),
        float("a", vec![4], vec![0.0; 4], false),
        float("b", vec![rows * n], vec![0.0; rows * n], false),
        float("o", vec![rows * n + 1], vec![0.0; rows * n + 1], false),
        Array { name: "c", shape: vec![n], kind: I32, contents: indices, active: false },
    ];
    let values = vec![("m", g.w.below(4) as f64, I32), ("size", n as f64, I32)];
    let dim = if rows == 2 { vec![2, n] } else { vec![n] };
    let launch = |kernel: &str, dim: Vec<usize>, block_dim| Step::Launch {
        kernel: kernel.to_string(),
        dim,
        block_dim,
        args: Vec::new(),
    };
    let steps = vec![launch("k", dim, threads), launch("last", vec![4], 1)];
    Case { text, arrays, values, steps, of: "o", uses, at_rest: false }
}

const PARAMETERS: &str = "x: wp.array(dtype=float), y: wp.array(dtype=float), weights: wp.array(dtype=float), a: wp.array(dtype=float), \
b: wp.array(dtype=float), o: wp.array(dtype=float), c: wp.array(dtype=int), m: int, size: int";

impl Generator {
    fn kernel(&mut self, two: bool) {
        let threads = self.threads;
        self.w.line(&format!("\n@wp.kernel\ndef k({PARAMETERS}):"));
        self.w.depth = 1;
        if two {
            self.w.uses("two coordinates");
            self.w.line("r, i = wp.tid()");
            self.w.line("at = r * size + i");
        } else {
            self.w.line("i = wp.tid()");
            self.w.line("at = i");
        }
        for line in ["lane = wp.lane()", "j = c[i]", "v = x[i]", "w = y[i]"] {
            self.w.line(line);
        }
        self.w.line(&format!("s = wp.zeros(shape={threads}, dtype=float, storage=\"shared\")"));
        if self.w.one_in(2) {
            self.w.line("t = wp.tile(v * 2.0)");
            self.tiles.push("t".to_string());
        }
        if self.w.one_in(3) {
            self.w.line("u = wp.tile(w + v)");
            self.tiles.push("u".to_string());
        }
        if self.w.one_in(3) {
            let (r, c) = self.grid;
            self.w.line(&format!("q = wp.zeros(shape=({r}, {c}), dtype=float, storage=\"shared\")"));
            self.w.uses("two dimensions");
        }
        self.w.left = 3 + self.w.below(7);
        while self.w.left > 0 {
            self.statement();
        }
        self.meet();
        let mut terms = vec!["w".to_string(), "v * 0.5".to_string(), "s[lane] * 0.25".to_string()];
        terms.extend(self.tiles.clone().iter().map(|t| format!("{t}[{}]", self.index())));
        if self.has_grid() {
            terms.push(format!("q[{}]", self.place()));
        }
        self.w.line(&format!("o[at] = ({}) * weights[at]", terms.join(" + ")));
        self.w.depth = 0;
        // What was added up counts, too.
        self.w.line(&format!("\n\n@wp.kernel\ndef last({PARAMETERS}):"));
        self.w.text += "    i = wp.tid()\n    wp.atomic_add(o, size, a[i] * a[i])\n";
    }

    fn has_grid(&self) -> bool {
        self.w.uses.contains(&"two dimensions")
    }

    fn meet(&mut self) {
        self.w.line("wp.sync()");
        self.stored = false;
    }

    /// Where threads have stored, they meet before others read: most of the time.
    fn before(&mut self) {
        if self.together && self.stored && !self.w.one_in(8) {
            self.meet();
        }
    }

    fn nested(&mut self, count: usize, together: bool) {
        let before = self.together;
        self.together = before && together;
        self.w.depth += 1;
        for _ in 0..1 + self.w.below(count) {
            self.statement();
        }
        self.w.depth -= 1;
        self.together = before;
    }

    fn statement(&mut self) {
        self.w.left = self.w.left.saturating_sub(1);
        if self.w.depth < 4 && self.w.one_in(4) {
            return self.control();
        }
        if self.together && self.w.one_in(2) {
            return self.collective();
        }
        self.own();
    }

    fn control(&mut self) {
        match self.w.below(6) {
            0 if self.together => {
                self.w.uses("if of all");
                self.w.line("if m > 1:");
                let tiles = self.tiles.clone();
                self.nested(3, true);
                if self.w.one_in(2) {
                    self.w.line("else:");
                    self.nested(2, true);
                }
                self.tiles = tiles;
            }
            1 if self.together && self.w.loops.len() < 2 => {
                let turn = self.w.fresh("k");
                let count = if self.w.one_in(2) { "m".to_string() } else { format!("{}", 1 + self.w.below(3)) };
                self.w.uses("for of all");
                self.w.line(&format!("for {turn} in range({count}):"));
                self.w.loops.push(turn);
                self.nested(3, true);
                self.w.loops.pop();
                self.stored = true;
            }
            2 if self.w.loops.len() < 2 => {
                let turn = self.w.fresh("k");
                self.w.uses("for of each");
                self.before();
                let count = self.w.one_of(&["j", "2", "j + 1", "lane % 3"]);
                self.w.line(&format!("for {turn} in range({count}):"));
                self.w.loops.push(turn);
                self.nested(2, false);
                self.w.loops.pop();
            }
            _ => {
                let test = self.test();
                self.w.uses("if of each");
                self.before();
                self.w.line(&format!("if {test}:"));
                self.nested(3, false);
                if self.w.one_in(3) {
                    self.w.line("else:");
                    self.nested(2, false);
                }
            }
        }
    }

    fn array(&mut self) -> String {
        let mut names = self.tiles.clone();
        names.push("s".to_string());
        let n = self.w.below(names.len());
        names[n].clone()
    }

    /// An index that no two threads share.
    fn mine(&mut self) -> String {
        let size = self.threads;
        match self.w.below(5) {
            0 => format!("(lane + 1) % {size}"),
            1 => format!("{} - lane", size - 1),
            _ => "lane".to_string(),
        }
    }

    fn index(&mut self) -> String {
        let size = self.threads;
        match self.w.below(9) {
            0 => "0".to_string(),
            1 => "j".to_string(),
            2 => format!("(lane + 1) % {size}"),
            3 => format!("{} - lane", size - 1),
            4 => "lane // 2".to_string(),
            5 => format!("(lane + j) % {size}"),
            6 => format!("{}", self.w.below(4)),
            _ => "lane".to_string(),
        }
    }

    /// A place of each thread in the array of two dimensions.
    fn place(&mut self) -> String {
        let (rows, columns) = self.grid;
        match self.w.below(3) {
            0 => format!("lane % {rows}, lane // {rows}"),
            1 => format!("{} - lane // {columns}, lane % {columns}", rows - 1),
            _ => format!("lane // {columns}, lane % {columns}"),
        }
    }

    fn flag(&mut self) -> String {
        match self.w.below(4) {
            0 => "j > 1".to_string(),
            1 => "lane % 2 == 0".to_string(),
            _ => "True".to_string(),
        }
    }

    fn test(&mut self) -> String {
        match self.w.below(8) {
            0 => "j > 1".to_string(),
            1 => "lane % 2 == 0".to_string(),
            2 => "lane > 1".to_string(),
            3 => "v > 0.125".to_string(),
            4 => "v < w".to_string(),
            5 => "j == lane".to_string(),
            6 => "w > v and j < 3".to_string(),
            _ => format!("lane < {}", self.threads / 2),
        }
    }

    fn leaf(&mut self) -> String {
        match self.w.below(8) {
            0 => self.w.literal(),
            1 => "float(j) * 0.25".to_string(),
            2 => "float(lane) * 0.0625".to_string(),
            3 => "x[i]".to_string(),
            4 | 5 => "w".to_string(),
            _ => "v".to_string(),
        }
    }

    fn float(&mut self, depth: usize) -> String {
        let a = if depth == 0 { return self.leaf() } else { self.float(depth - 1) };
        let b = self.leaf();
        match self.w.below(6) {
            0 => format!("({a} + {b})"),
            1 => format!("({a} - {b})"),
            2 => format!("{a} * {b}"),
            3 => format!("wp.sin({a})"),
            4 => format!("({a} if {} else {b})", self.test()),
            _ => a,
        }
    }
}
