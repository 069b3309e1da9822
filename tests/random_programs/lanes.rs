//! Random kernels whose threads have values of their own: what they tell each other by shuffles,
//! votes, tiles, arrays of the block and of the caller, under conditions of each and of all, in
//! loops. What each must come to is computed here, thread by thread, from the program's tree.

use std::fmt::Write;

use crate::random::Random;
use crate::tree::{Function, Part, Program, Stmt};

/// Blocks of a launch.
const BLOCKS: usize = 3;

/// Threads of a block: below, at and beyond a warp, and such as end within one.
const THREADS: [usize; 8] = [1, 2, 7, 31, 32, 33, 64, 80];

/// Integers that a thread has.
const VALUES: usize = 4;

/// Programs that follow one another are for blocks of one size: they are compiled as one file.
const FILE: u64 = 20;

type Numbers = Vec<i32>;

/// What a thread computes by itself.
enum Expr {
    Literal(i32),
    Thread,
    Lane,
    Turn(usize),
    Value(usize),
    Binary(&'static str, Box<Expr>, Box<Expr>),
    /// The first where a comparison holds, else the second.
    Choice(Box<Expr>, Box<Expr>, Box<Expr>),
}

/// How a value comes from another thread.
#[derive(Clone, Copy)]
enum Way {
    From,
    Up,
    Down,
    Xor,
}

enum Step {
    Set(usize, Expr),
    Shuffle(usize, Way, Expr, Expr),
    /// Of those for which a value is above zero.
    Ballot(usize, Expr),
    /// With the same value, of a few.
    Match(usize, Expr),
    /// Through an array of the block (false) or of the caller (true), with the element of another
    /// thread read.
    Array(usize, bool, Expr, usize),
    /// All values of the block as one.
    Total(usize, &'static str, Expr),
    /// A tile of two values of each thread, and back.
    Tile(usize, Expr, Expr),
    /// Several threads add to elements of a tile; each reads one.
    Added(usize, Expr, Expr, Expr),
    /// Conditions on which threads differ, or not (the count of the block): what is done by each,
    /// or by all.
    If(Expr, Vec<Step>, Vec<Step>),
    IfAll(i32, Vec<Step>, Vec<Step>),
    /// So many times; 0: as often as the block counts.
    For(usize, i32, Vec<Step>),
}

struct Generator {
    random: Random,
    threads: usize,
    turns: usize,
    inside: Vec<usize>,
}

impl Generator {
    fn expr(&mut self, depth: usize) -> Expr {
        let b = |e| Box::new(e);
        if depth == 0 {
            return match self.random.below(8) {
                0 => Expr::Literal(self.random.below(19) as i32 - 6),
                1 => Expr::Thread,
                2 => Expr::Lane,
                3 if !self.inside.is_empty() => Expr::Turn(self.random.pick(&self.inside)),
                _ => Expr::Value(self.random.below(VALUES)),
            };
        }
        let (x, y) = (self.expr(depth - 1), self.expr(depth - 1));
        if self.random.one_in(8) {
            return Expr::Choice(b(self.expr(0)), b(x), b(y));
        }
        Expr::Binary(self.random.pick(&["+", "-", "*", "&", "|", "^", "min", "max"]), b(x), b(y))
    }

    fn step(&mut self, depth: usize, together: bool) -> Step {
        let value = self.random.below(VALUES);
        let e = self.expr(2);
        if !together {
            return match self.random.below(4) {
                0 if depth < 3 => Step::If(e, self.steps(depth + 1, false), self.steps(depth + 1, false)),
                _ => Step::Set(value, e),
            };
        }
        let nested = depth < 3;
        match self.random.below(16) {
            0..=2 => {
                let way = self.random.pick(&[Way::From, Way::Up, Way::Down, Way::Xor]);
                // The number may differ between the threads.
                let by = if self.random.one_in(2) { Expr::Literal(self.random.below(36) as i32) } else { self.expr(1) };
                Step::Shuffle(value, way, e, by)
            }
            3 => Step::Ballot(value, e),
            4 => Step::Match(value, e),
            5 | 6 => Step::Array(value, self.random.one_in(2), e, self.random.below(self.threads)),
            7 | 8 => Step::Total(value, self.random.pick(&["sum", "min", "max"]), e),
            9 => Step::Tile(value, e, self.expr(1)),
            // In a launch of blocks, what is the same for all threads is added once.
            10 => {
                let own = Expr::Binary("^", Box::new(e), Box::new(Expr::Lane));
                Step::Added(value, own, self.expr(1), self.expr(1))
            }
            11 if nested => Step::If(e, self.steps(depth + 1, false), self.steps(depth + 1, false)),
            12 if nested => {
                Step::IfAll(self.random.below(4) as i32, self.steps(depth + 1, true), self.steps(depth + 1, true))
            }
            13 | 14 if nested && self.inside.len() < 2 => {
                let turn = self.turns;
                self.turns += 1;
                self.inside.push(turn);
                let body = self.steps(depth + 1, true);
                self.inside.pop();
                Step::For(turn, self.random.below(4) as i32, body)
            }
            _ => Step::Set(value, e),
        }
    }

    fn steps(&mut self, depth: usize, together: bool) -> Vec<Step> {
        (0..1 + self.random.below(3)).map(|_| self.step(depth, together)).collect()
    }
}

/// The kernel of a seed.
pub fn program(seed: u64) -> Program {
    let of_file = &mut Random::new((seed / FILE) ^ 0x1a9e_5000);
    let (threads, counted) = (of_file.pick(&THREADS), of_file.one_in(2));
    let random = Random::new(seed ^ 0x1a9e_0000);
    let mut g = Generator { random, threads, turns: 0, inside: Vec::new() };
    let count = 3 + g.random.below(8);
    let steps: Vec<Step> = (0..count).map(|_| g.step(0, true)).collect();
    let thread = if counted { "t = wp.tid()" } else { "t = wp.tid() * wp.block_dim() + wp.lane()" };
    // What all threads of the block know, and the compiler does not.
    let all = "m = wp.tile_sum(wp.tile((t // wp.block_dim()) & wp.lane() & 1))[0] & 3";
    let mut body = vec![line(thread), line("lane = wp.lane()"), line(all)];
    body.push(line(&format!("s = wp.zeros(shape={threads}, dtype=int, storage=\"shared\")")));
    body.push(line(&format!("a = wp.tile_zeros(shape={threads}, dtype=int)")));
    body.extend((0..VALUES).map(|n| line(&format!("v{n} = (t * {} + {n}) ^ {}", 7 + n, seed % 97))));
    print(&steps, threads, &mut body);
    body.extend((0..VALUES).map(|n| line(&format!("o[t, {n}] = v{n}"))));
    let params = "g: wp.array(dtype=int), o: wp.array2d(dtype=int)";
    let mut all = Block::all(threads, seed);
    all.iter_mut().for_each(|block| block.run(&steps));
    let answer = all.iter().flat_map(|block| (0..threads).flat_map(|t| block.values.iter().map(move |v| v[t])));
    Program {
        seed,
        structs: Vec::new(),
        functions: Vec::new(),
        kernel: Function { head: format!("@wp.kernel\ndef k{seed}({params}):"), body },
        dims: vec![BLOCKS as u32],
        extents: [(BLOCKS * threads) as i32, VALUES as i32, 1, 1],
        block_dim: threads as u32,
        counted: Some(counted),
        answer: Some(answer.collect()),
        mild: true,
        // C++ runs one thread after the other.
        exact: false,
        uses: Vec::new(),
    }
}

fn line(text: &str) -> Stmt {
    Stmt::line(text, Vec::new())
}

fn text(e: &Expr) -> String {
    match e {
        Expr::Literal(n) => format!("{n}"),
        Expr::Thread => "t".to_string(),
        Expr::Lane => "lane".to_string(),
        Expr::Turn(n) => format!("k{n}"),
        Expr::Value(n) => format!("v{n}"),
        Expr::Binary(op @ ("min" | "max"), x, y) => format!("wp.{op}({}, {})", text(x), text(y)),
        Expr::Binary(op, x, y) => format!("({} {op} {})", text(x), text(y)),
        Expr::Choice(c, x, y) => format!("wp.where({} > 2, {}, {})", text(c), text(x), text(y)),
    }
}

fn print(steps: &[Step], threads: usize, out: &mut Vec<Stmt>) {
    let inner = |steps: &[Step]| {
        let mut out = Vec::new();
        print(steps, threads, &mut out);
        out
    };
    let branches = |head: String, then: &[Step], other: &[Step]| {
        let parts = vec![Part::new(&head, Vec::new(), inner(then)), Part::new("else:", Vec::new(), inner(other))];
        Stmt { before: None, parts }
    };
    for step in steps {
        let mut say = |text: String| out.push(line(&text));
        match step {
            Step::Set(v, e) => say(format!("v{v} = {}", text(e))),
            Step::Shuffle(v, way, e, by) => {
                let name = match way {
                    Way::From => "shuffle",
                    Way::Up => "shuffle_up",
                    Way::Down => "shuffle_down",
                    Way::Xor => "shuffle_xor",
                };
                say(format!("v{v} = wp.{name}({}, {} & 63)", text(e), text(by)));
            }
            Step::Ballot(v, e) => say(format!("v{v} = int(wp.ballot({} > 0))", text(e))),
            Step::Match(v, e) => say(format!("v{v} = int(wp.match({} & 3))", text(e))),
            Step::Array(v, callers, e, by) => {
                let (array, first) = if *callers { ("g", "t - lane + ") } else { ("s", "") };
                say("wp.sync()".to_string());
                say(format!("{array}[{first}lane] = {}", text(e)));
                say("wp.sync()".to_string());
                say(format!("v{v} = {array}[{first}(lane + {by}) % {threads}]"));
                say("wp.sync()".to_string());
            }
            Step::Total(v, op, e) => say(format!("v{v} = wp.tile_{op}(wp.tile({}))[0]", text(e))),
            Step::Tile(v, x, y) => {
                say(format!("v{v} = wp.untile(wp.tile({}) * wp.tile({}))", text(x), text(y)));
            }
            Step::Added(v, e, at, from) => {
                let mut place = String::new();
                write!(place, "({} & 1023) % {threads}", text(at)).expect("a string");
                say(format!("a[{place}] += {}", text(e)));
                say(format!("v{v} = a[({} & 1023) % {threads}]", text(from)));
            }
            Step::If(e, then, other) => out.push(branches(format!("if {} > 1:", text(e)), then, other)),
            Step::IfAll(n, then, other) => out.push(branches(format!("if m > {n}:"), then, other)),
            Step::For(k, n, body) => {
                let count = if *n == 0 { "m".to_string() } else { n.to_string() };
                out.push(Stmt::block(&format!("for k{k} in range({count}):"), Vec::new(), inner(body)));
            }
        }
    }
}

/// The state of a block.
struct Block {
    first: usize,
    threads: usize,
    /// What it counts.
    count: i32,
    values: [Numbers; VALUES],
    turns: Vec<i32>,
    added: Numbers,
    /// Which threads are here.
    here: Vec<bool>,
}

impl Block {
    fn all(threads: usize, seed: u64) -> Vec<Block> {
        let block = |number: usize| {
            let first = number * threads;
            let odd = (0..threads).filter(|lane| number & lane & 1 == 1).count();
            let value =
                |n: usize| (0..threads).map(|t| (((first + t) * (7 + n) + n) as i32) ^ (seed % 97) as i32).collect();
            Block {
                first,
                threads,
                count: odd as i32 & 3,
                values: std::array::from_fn(value),
                turns: vec![0; 64],
                added: vec![0; threads],
                here: vec![true; threads],
            }
        };
        (0..BLOCKS).map(block).collect()
    }

    /// Of one thread.
    fn eval(&self, e: &Expr, t: usize) -> i32 {
        match e {
            Expr::Literal(n) => *n,
            Expr::Thread => (self.first + t) as i32,
            Expr::Lane => t as i32,
            Expr::Turn(n) => self.turns[*n],
            Expr::Value(n) => self.values[*n][t],
            Expr::Binary(op, x, y) => {
                let (x, y) = (self.eval(x, t), self.eval(y, t));
                match *op {
                    "+" => x.wrapping_add(y),
                    "-" => x.wrapping_sub(y),
                    "*" => x.wrapping_mul(y),
                    "&" => x & y,
                    "|" => x | y,
                    "^" => x ^ y,
                    "min" => x.min(y),
                    "max" => x.max(y),
                    op => unreachable!("there is no operation {op}"),
                }
            }
            Expr::Choice(c, x, y) => self.eval(if self.eval(c, t) > 2 { x } else { y }, t),
        }
    }

    /// Of all threads of the block.
    fn each(&self, e: &Expr) -> Numbers {
        (0..self.threads).map(|t| self.eval(e, t)).collect()
    }

    /// The threads of the warp of a thread.
    fn warp(&self, t: usize) -> std::ops::Range<usize> {
        let first = t / 32 * 32;
        first..(first + 32).min(self.threads)
    }

    fn votes(&self, t: usize, holds: impl Fn(usize) -> bool) -> i32 {
        self.warp(t).enumerate().filter(|&(_, other)| holds(other)).fold(0u32, |bits, (n, _)| bits | 1 << n) as i32
    }

    /// Each thread that is here gets its number.
    fn set(&mut self, v: usize, numbers: &[i32]) {
        for t in (0..self.threads).filter(|&t| self.here[t]) {
            self.values[v][t] = numbers[t];
        }
    }

    fn run(&mut self, steps: &[Step]) {
        for step in steps {
            self.step(step);
        }
    }

    fn step(&mut self, step: &Step) {
        let all = 0..self.threads;
        match step {
            Step::Set(v, e) => {
                let numbers = self.each(e);
                self.set(*v, &numbers);
            }
            Step::Shuffle(v, way, e, by) => {
                let (numbers, by) = (self.each(e), self.each(by));
                let from = |t: usize| {
                    let (own, by) = ((t % 32) as i32, by[t] & 63);
                    let other = match way {
                        Way::From => by % 32,
                        Way::Up => own - by,
                        Way::Down => own + by,
                        Way::Xor => own ^ by,
                    };
                    let there = t as i32 - own + other;
                    let is_there = (0..32).contains(&other) && (there as usize) < self.threads;
                    if is_there { there as usize } else { t }
                };
                let found: Numbers = all.map(|t| numbers[from(t)]).collect();
                self.set(*v, &found);
            }
            Step::Ballot(v, e) => {
                let numbers = self.each(e);
                let found: Numbers = all.map(|t| self.votes(t, |other| numbers[other] > 0)).collect();
                self.set(*v, &found);
            }
            Step::Match(v, e) => {
                let numbers = self.each(e);
                let same = |t: usize, other: usize| numbers[t] & 3 == numbers[other] & 3;
                let found: Numbers = all.map(|t| self.votes(t, |other| same(t, other))).collect();
                self.set(*v, &found);
            }
            Step::Array(v, _, e, by) => {
                let numbers = self.each(e);
                let found: Numbers = all.map(|t| numbers[(t + by) % self.threads]).collect();
                self.set(*v, &found);
            }
            Step::Total(v, op, e) => {
                let numbers = self.each(e).into_iter();
                let total = match *op {
                    "sum" => numbers.fold(0, i32::wrapping_add),
                    "min" => numbers.fold(i32::MAX, i32::min),
                    _ => numbers.fold(i32::MIN, i32::max),
                };
                self.set(*v, &vec![total; self.threads]);
            }
            Step::Tile(v, x, y) => {
                let found: Numbers =
                    self.each(x).into_iter().zip(self.each(y)).map(|(x, y)| x.wrapping_mul(y)).collect();
                self.set(*v, &found);
            }
            Step::Added(v, e, at, from) => {
                for t in all.clone() {
                    let place = (self.eval(at, t) & 1023) as usize % self.threads;
                    self.added[place] = self.added[place].wrapping_add(self.eval(e, t));
                }
                let found: Numbers =
                    all.map(|t| self.added[(self.eval(from, t) & 1023) as usize % self.threads]).collect();
                self.set(*v, &found);
            }
            Step::If(e, then, other) => {
                let before = self.here.clone();
                let holds: Vec<bool> = self.each(e).into_iter().map(|n| n > 1).collect();
                for (steps, wanted) in [(then, true), (other, false)] {
                    self.here = all.clone().map(|t| before[t] && holds[t] == wanted).collect();
                    self.run(steps);
                }
                self.here = before;
            }
            Step::IfAll(n, then, other) => self.run(if self.count > *n { then } else { other }),
            Step::For(turn, n, body) => {
                for k in 0..if *n == 0 { self.count } else { *n } {
                    self.turns[*turn] = k;
                    self.run(body);
                }
            }
        }
    }
}
