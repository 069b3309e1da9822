//! Random kernels of tiles: shapes of one to four dimensions on both sides of the 32 chains of
//! sums, several types, views and parts, loops that carry tiles, products, factors, sorts, scans.
//! Each block owns the elements that it stores.

use kc::types::Scalar;

use crate::random::Random;
use crate::tree::{Block, Function, Part, Program, Stmt};

/// Blocks of a launch.
const BLOCKS: u32 = 3;

/// Extents of all arrays, by dimension. Each block owns as many of the first one.
pub const EXTENTS: [i32; 4] = [192, 20, 3, 1];
const OWN: u32 = 64;

/// Threads of a block on the simulator.
const THREADS: [u32; 6] = [1, 7, 32, 32, 64, 128];

const TYPES: [Scalar; 15] = [
    Scalar::F32,
    Scalar::F32,
    Scalar::F32,
    Scalar::F32,
    Scalar::F64,
    Scalar::F64,
    Scalar::F16,
    Scalar::BF16,
    Scalar::I32,
    Scalar::I32,
    Scalar::I64,
    Scalar::U32,
    Scalar::I16,
    Scalar::U8,
    Scalar::U64,
];

const LINES: [u32; 15] = [1, 3, 4, 7, 8, 16, 31, 32, 33, 40, 64, 70, 96, 100, 128];
const SIDES: [u32; 11] = [1, 2, 3, 4, 5, 8, 16, 17, 33, 40, 64];

/// Elements of one tile at most.
const MOST: u32 = 320;

type Shape = Vec<u32>;

#[derive(Clone)]
struct Tile {
    name: String,
    shape: Shape,
    scalar: Scalar,
    /// It is a view, or has one: it becomes no other tile.
    fixed: bool,
    /// It is a view, which functions do not take.
    view: bool,
}

struct Generator {
    random: Random,
    seed: u64,
    scalar: Scalar,
    exact: bool,
    tiles: Vec<Tile>,
    names: usize,
    loops: usize,
    left: usize,
    uses: Vec<&'static str>,
}

/// The kernel of a seed.
pub fn program(seed: u64) -> Program {
    let mut random = Random::new(seed ^ 0x711e_5000_0000);
    let scalar = random.pick(&TYPES);
    let threads = random.pick(&THREADS);
    let mut g = Generator {
        random,
        seed,
        scalar,
        exact: seed.is_multiple_of(2),
        tiles: Vec::new(),
        names: 0,
        loops: 0,
        left: 0,
        uses: Vec::new(),
    };
    let ty = name(scalar);
    let mut body = vec![line("i = wp.tid()"), line("m = n & 3"), line(&format!("q = {}", g.literal(scalar)))];
    for _ in 0..2 + g.random.below(3) {
        body.push(g.new_tile());
    }
    g.left = 4 + g.random.below(10);
    while g.left > 0 {
        body.extend(g.statement(0));
    }
    let mut params = format!(
        "a1: wp.array(dtype={ty}), a2: wp.array2d(dtype={ty}), a3: wp.array3d(dtype={ty}), b1: wp.array(dtype=int), s1: wp.array(dtype={ty}), \
         s2: wp.array2d(dtype={ty}), c1: wp.array(dtype=int)"
    );
    for tile in g.tiles.clone() {
        let out = format!("o_{}", tile.name);
        params += &format!(", {out}: wp.array2d(dtype={})", name(tile.scalar));
        let count: u32 = tile.shape.iter().product();
        let columns = columns(count);
        let shape = text(&[count / columns, columns]);
        // A slice of another tile does not lie in order: its copy does.
        let element = g.full(&tile.shape, tile.scalar, zero(tile.scalar));
        let copy = format!("wp.tile_reshape({} + {element}, shape={shape})", tile.name);
        body.push(line(&format!("wp.tile_store({out}, {copy}, offset=(i * {OWN}, 0))")));
    }
    params += &format!(", oq: wp.array(dtype={ty}), n: int");
    body.push(line("oq[i] = q"));
    let kernel = Function { head: format!("@wp.kernel\ndef k{seed}({params}):"), body };
    Program {
        seed,
        structs: Vec::new(),
        functions: functions(seed, scalar, g.exact),
        kernel,
        dims: vec![BLOCKS],
        exact: g.exact,
        uses: g.uses,
        extents: EXTENTS,
        block_dim: threads,
        counted: None,
        answer: None,
        mild: !seed.is_multiple_of(4),
    }
}

/// The functions that kernels map and call.
fn functions(seed: u64, scalar: Scalar, exact: bool) -> Vec<Function> {
    let ty = name(scalar);
    let function = |head: String, body: &[&str]| Function {
        head: format!("@wp.func\ndef {head}:"),
        body: body.iter().map(|text| line(text)).collect(),
    };
    let wave = if scalar.is_float() && !exact { "wp.sin(x) + y" } else { "x * x - y" };
    vec![
        function(format!("mix_{seed}(x: {ty}, y: {ty})"), &[&format!("return {wave}")]),
        Function {
            head: format!("@wp.func\ndef damp_{seed}(x: {ty}):"),
            body: vec![block(&format!("if x > {ty}(8):"), vec![line(&format!("return {ty}(8)"))]), line("return x")],
        },
        function(format!("change_{seed}(t: Any, s: {ty})"), &["t *= s", "t += t"]),
        function(format!("shift_{seed}(t: Any, s: {ty})"), &["u = t * s", "return u - t"]),
    ]
}

fn line(text: &str) -> Stmt {
    Stmt::line(&text.replace("{}", ""), Vec::new())
}

fn block(head: &str, body: Vec<Stmt>) -> Stmt {
    Stmt::block(head, Vec::new(), body)
}

fn name(scalar: Scalar) -> String {
    format!("wp.{}", scalar.name())
}

fn zero(scalar: Scalar) -> String {
    format!("{}(0)", name(scalar))
}

fn text(shape: &[u32]) -> String {
    match shape {
        [n] => n.to_string(),
        _ => format!("({})", shape.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")),
    }
}

/// The widest row of so many elements that divides them and that arrays have.
fn columns(count: u32) -> u32 {
    (1..=EXTENTS[1] as u32).rev().find(|c| count.is_multiple_of(*c)).unwrap_or(1)
}

impl Generator {
    fn note(&mut self, what: &'static str) {
        if !self.uses.contains(&what) {
            self.uses.push(what);
        }
    }

    fn shape(&mut self) -> Shape {
        loop {
            let shape: Shape = match self.random.below(10) {
                0..=3 => vec![self.random.pick(&LINES)],
                4..=7 => (0..2).map(|_| self.random.pick(&SIDES)).collect(),
                8 => (0..3).map(|_| self.random.pick(&SIDES[..9])).collect(),
                _ => (0..4).map(|_| self.random.pick(&SIDES[..4])).collect(),
            };
            let count: u32 = shape.iter().product();
            if count <= MOST && count / columns(count) <= OWN {
                return shape;
            }
        }
    }

    /// Another type for some tiles, which the first one is cast to.
    fn other(&mut self) -> Scalar {
        if self.scalar.is_float() { self.random.pick(&[Scalar::F32, Scalar::F64]) } else { Scalar::I32 }
    }

    fn new_tile(&mut self) -> Stmt {
        let shape = match self.tiles.is_empty() || self.random.below(3) > 0 {
            true => self.shape(),
            false => {
                let n = self.random.below(self.tiles.len());
                self.tiles[n].shape.clone()
            }
        };
        let scalar = if self.random.one_in(6) { self.other() } else { self.scalar };
        let from = self.copy(&shape, scalar, 2);
        let name = format!("t{}", self.names);
        self.names += 1;
        self.tiles.push(Tile { name: name.clone(), shape, scalar, fixed: false, view: false });
        line(&format!("{name} = {from}"))
    }

    /// A view gets a name of its own.
    fn new_view(&mut self) -> Option<Stmt> {
        let n = self.random.below(self.tiles.len());
        let of = self.tiles[n].clone();
        let (expression, shape) = match (self.random.below(4), of.shape.len()) {
            (0, 2) => (format!("wp.tile_transpose({})", of.name), vec![of.shape[1], of.shape[0]]),
            (1, 2) => (format!("{}[{}]", of.name, self.random.below(of.shape[0] as usize)), vec![of.shape[1]]),
            (2, 2) => {
                let c = self.random.below(of.shape[1] as usize);
                (format!("{}[:, {c}]", of.name), vec![of.shape[0]])
            }
            (_, 1) if of.shape[0] > 2 => {
                let from = self.random.below(of.shape[0] as usize - 1) as u32;
                match self.random.below(2) {
                    0 => (format!("{}[{from}:]", of.name), vec![of.shape[0] - from]),
                    _ => (format!("{}[::-1]", of.name), of.shape.clone()),
                }
            }
            _ => return None,
        };
        let count: u32 = shape.iter().product();
        if count / columns(count) > OWN {
            return None;
        }
        self.note("view");
        self.tiles[n].fixed = true;
        let name = format!("t{}", self.names);
        self.names += 1;
        self.tiles.push(Tile { name: name.clone(), shape, scalar: of.scalar, fixed: true, view: true });
        Some(line(&format!("{name} = {expression}")))
    }

    fn statement(&mut self, depth: usize) -> Vec<Stmt> {
        self.left = self.left.saturating_sub(1);
        let nested = depth < 2 && self.left > 1;
        let n = self.random.below(self.tiles.len());
        let t = self.tiles[n].clone();
        let place = self.place(&t);
        match self.random.below(20) {
            0 if depth == 0 && self.names < 9 => vec![self.new_tile()],
            1 if depth == 0 && self.names < 9 => self.new_view().into_iter().collect(),
            2..=4 if !t.fixed => {
                let own = t.scalar == self.scalar;
                let e = if own { self.settled(&t.shape, t.scalar, 3) } else { self.copy(&t.shape, t.scalar, 3) };
                vec![line(&format!("{} = {e}", t.name))]
            }
            5 => {
                let e = self.tile(&t.shape, t.scalar, 2);
                vec![line(&format!("{} {} {e}", t.name, self.random.pick(&["+=", "-="])))]
            }
            6 => {
                let s = self.scalar(t.scalar, 1);
                vec![line(&match self.random.below(3) {
                    0 => format!("{place} = {s}"),
                    1 => format!("{place} += {s}"),
                    _ => format!("{} *= {s}", t.name),
                })]
            }
            7 => self.part(&t),
            8 => self.product(&t),
            9 => self.sorted(&t),
            10 if self.scalar == t.scalar && !t.view => {
                let s = self.scalar(t.scalar, 1);
                vec![line(&format!("change_{}({}, {s})", self.seed, t.name))]
            }
            11 => self.store(),
            12 | 13 if nested => {
                let (a, b) = (self.scalar(self.scalar, 2), self.literal(self.scalar));
                let head = if self.random.one_in(3) { "if m > 1:".to_string() } else { format!("if {a} > {b}:") };
                let mut parts = vec![Part::new(&head, Vec::new(), self.statements(depth + 1))];
                if self.random.one_in(2) {
                    parts.push(Part::new("else:", Vec::new(), self.statements(depth + 1)));
                }
                vec![Stmt { before: None, parts }]
            }
            14 | 15 if nested && self.loops < 2 => {
                self.loops += 1;
                let k = format!("k{}", self.names);
                self.names += 1;
                let (head, first, before) = match self.random.below(3) {
                    0 => (format!("for {k} in range(m):"), None, None),
                    1 => (format!("for {k} in range({}):", 1 + self.random.below(4)), None, None),
                    _ => (format!("while {k} < m:"), Some(format!("{k} += 1")), Some(format!("{k} = int(0)"))),
                };
                let body = self.statements(depth + 1);
                let mut part = Part::new(&head, Vec::new(), Vec::new());
                part.block = Some(Block { first, body });
                self.loops -= 1;
                vec![Stmt { before, parts: vec![part] }]
            }
            16 => {
                // Integers may come in any order.
                let shape = [self.random.pick(&LINES)];
                let e = self.tile(&shape, Scalar::I32, 1);
                self.note("atomic");
                vec![line(&format!("wp.tile_atomic_add(c1, {e}, offset={})", self.random.below(190) as i32 - 4))]
            }
            17 | 18 => self.swept(&t),
            _ => {
                let s = self.scalar(self.scalar, 2);
                vec![line(&format!("q = damp_{}({s})", self.seed))]
            }
        }
    }

    fn statements(&mut self, depth: usize) -> Vec<Stmt> {
        (0..1 + self.random.below(3)).flat_map(|_| self.statement(depth)).collect()
    }

    /// An element that all threads of a block name alike.
    fn place(&mut self, tile: &Tile) -> String {
        let index = |extent: u32, random: &mut Random| match random.below(3) {
            0 if extent >= 4 => "m".to_string(),
            _ => random.below(extent as usize).to_string(),
        };
        let indices: Vec<String> = tile.shape.iter().map(|&extent| index(extent, &mut self.random)).collect();
        format!("{}[{}]", tile.name, indices.join(", "))
    }

    /// A part of a tile gets new elements.
    fn part(&mut self, t: &Tile) -> Vec<Stmt> {
        self.note("part");
        let from: Vec<u32> = t.shape.iter().map(|&n| self.random.below(n as usize) as u32).collect();
        let count: Vec<u32> =
            t.shape.iter().zip(&from).map(|(n, from)| 1 + self.random.below((n - from) as usize) as u32).collect();
        let e = self.tile(&count, t.scalar, 1);
        let slices: Vec<String> =
            from.iter().zip(&count).map(|(from, count)| format!("{from}:{}", from + count)).collect();
        vec![line(&match self.random.below(3) {
            0 => format!("{}[{}] = {e}", t.name, slices.join(", ")),
            1 => format!("{}[{}] += {e}", t.name, slices.join(", ")),
            _ => format!("wp.tile_assign({}, {e}, offset={})", t.name, text(&from)),
        })]
    }

    /// A loop goes over elements in another loop, and where it begins and ends may depend on that:
    /// the elements are of other threads each time.
    fn swept(&mut self, t: &Tile) -> Vec<Stmt> {
        let Some((&last, rows)) = t.shape.split_last().filter(|(_, rows)| rows.len() < 2) else { return Vec::new() };
        self.note("swept");
        let (k, j) = (format!("k{}", self.names), format!("j{}", self.names));
        self.names += 1;
        let bounds = self.random.pick(&[
            "0, N",
            "K % N, N",
            "K // 2 % N, N",
            "wp.min(K, N - 1), N",
            "K % N, N, 2",
            "N - 1 - K % N, -1, -1",
            "N - 1, K % N - 1, -1",
            "m % N, N",
            "0, K % N + 1",
        ]);
        let bounds = bounds.replace('N', &last.to_string()).replace('K', &k);
        let (here, there) = match rows {
            &[rows] => {
                let other = self.random.pick(&["R - 1 - K % R", "(K + 1) % R", "K % R"]);
                let other = other.replace('R', &rows.to_string()).replace('K', &k);
                (format!("{}[{k} % {rows}, {j}]", t.name), format!("{}[{other}, {j}]", t.name))
            }
            _ => {
                let other = self.random.pick(&["J", "J", "(J + K) % N", "N - 1 - J"]);
                let other = other.replace('N', &last.to_string()).replace('J', &j).replace('K', &k);
                (format!("{}[{j}]", t.name), format!("{}[{other}]", t.name))
            }
        };
        let literal = if t.scalar.is_float() { format!("{}(0.25)", name(t.scalar)) } else { self.literal(t.scalar) };
        let statement = match self.random.below(3) {
            0 => format!("{here} += {there} * {literal}"),
            1 => format!("{here} = {there} * {literal} + {here}"),
            _ => format!("{here} = {here} * {literal} + {}({j})", name(t.scalar)),
        };
        let inner = Stmt {
            before: None,
            parts: vec![Part::new(&format!("for {j} in range({bounds}):"), Vec::new(), vec![line(&statement)])],
        };
        let turns = if self.random.one_in(2) { "m".to_string() } else { (1 + self.random.below(4)).to_string() };
        vec![Stmt {
            before: None,
            parts: vec![Part::new(&format!("for {k} in range({turns}):"), Vec::new(), vec![inner])],
        }]
    }

    fn product(&mut self, t: &Tile) -> Vec<Stmt> {
        let [rows, columns] = t.shape[..] else { return Vec::new() };
        if !t.scalar.is_float() {
            return Vec::new();
        }
        self.note("product in place");
        let inner = self.random.pick(&SIDES[..7]);
        let (a, b) = (self.settled(&[rows, inner], t.scalar, 1), self.settled(&[inner, columns], t.scalar, 1));
        let numbers = self.random.pick(&["", ", alpha=0.5, beta=0.25", ", alpha=-1.0, beta=0.0", ", alpha=2.0"]);
        vec![line(&format!("wp.tile_matmul({a}, {b}, {}{numbers})", t.name))]
    }

    /// Sorts, and what systems of equations need, in place.
    fn sorted(&mut self, t: &Tile) -> Vec<Stmt> {
        if let [n] = t.shape[..] {
            let others: Vec<String> = self
                .tiles
                .iter()
                .filter(|o| o.shape == [n] && !o.fixed && o.name != t.name)
                .map(|o| o.name.clone())
                .collect();
            let Some(other) = others.first() else { return Vec::new() };
            if t.fixed {
                return Vec::new();
            }
            self.note("sort");
            return vec![line(&format!("wp.tile_sort({}, {other})", t.name))];
        }
        Vec::new()
    }

    /// A store into what the block owns, which later loads may see.
    fn store(&mut self) -> Vec<Stmt> {
        self.note("store");
        let scalar = self.scalar;
        vec![line(&match self.random.below(3) {
            0 => {
                let n = self.random.pick(&LINES).min(OWN);
                let at = self.random.below((OWN - n + 1) as usize);
                let e = self.tile(&[n], scalar, 2);
                format!("wp.tile_store(s1, {e}, offset=i * {OWN} + {at})")
            }
            1 => {
                let (r, c) = (self.random.pick(&SIDES), self.random.pick(&SIDES[..5]));
                let (at, column) = (self.random.below((OWN - r + 1) as usize), self.random.below(22) as i32 - 2);
                let e = self.tile(&[r, c], scalar, 2);
                format!("wp.tile_store(s2, {e}, offset=(i * {OWN} + {at}, {column}))")
            }
            _ => {
                let s = self.scalar(scalar, 1);
                format!("s1[i * {OWN} + {}] = {s}", self.random.below(OWN as usize))
            }
        })]
    }

    fn literal(&mut self, scalar: Scalar) -> String {
        let ty = name(scalar);
        match scalar.is_float() {
            true => format!(
                "{ty}({:?})",
                self.random.below(41) as f64 / 8.0 - if self.random.one_in(3) { 2.0 } else { 0.0 }
            ),
            false => format!("{ty}({})", self.random.below(9)),
        }
    }

    /// A number.
    fn scalar(&mut self, scalar: Scalar, depth: usize) -> String {
        if depth == 0 {
            return if scalar == self.scalar && self.random.one_in(2) { "q".to_string() } else { self.literal(scalar) };
        }
        let shape = self.shape();
        match self.random.below(9) {
            0 => self.literal(scalar),
            1 if scalar == self.scalar => "q".to_string(),
            2 | 3 => {
                let found: Vec<Tile> = self.tiles.iter().filter(|t| t.scalar == scalar).cloned().collect();
                match found.is_empty() {
                    true => self.literal(scalar),
                    false => {
                        let n = self.random.below(found.len());
                        self.place(&found[n])
                    }
                }
            }
            4 => {
                let word = self.random.pick(&["min", "max"]);
                format!("wp.tile_{word}({})[0]", self.known(scalar, depth - 1))
            }
            5 => {
                let e = self.known(scalar, depth - 1);
                let f = self.random.pick(&["wp.add", "wp.mul", "wp.min", "wp.max"]);
                self.note("reduce");
                format!("wp.tile_reduce({f}, {e})[0]")
            }
            6 => {
                let (a, b) = (self.tile(&shape, scalar, depth - 1), self.tile(&shape, scalar, depth - 1));
                format!("wp.tile_dot({a}, {b})[0]")
            }
            7 => {
                let word = self.random.pick(&["argmin", "argmax"]);
                let e = self.known(self.scalar, depth - 1);
                format!("{}(wp.tile_{word}({e})[0])", name(scalar))
            }
            _ => format!("wp.tile_sum({})[0]", self.known(scalar, depth - 1)),
        }
    }

    /// A tile of a shape that is there, mostly.
    fn known(&mut self, scalar: Scalar, depth: usize) -> String {
        let n = self.random.below(self.tiles.len() + 1);
        let shape = match self.tiles.get(n) {
            Some(tile) => tile.shape.clone(),
            None => self.shape(),
        };
        self.tile(&shape, scalar, depth)
    }

    fn full(&mut self, shape: &[u32], scalar: Scalar, value: String) -> String {
        format!("wp.tile_full(shape={}, value={value}, dtype={})", text(shape), name(scalar))
    }

    /// A tile whose numbers do not grow without end.
    fn settled(&mut self, shape: &[u32], scalar: Scalar, depth: usize) -> String {
        let e = self.tile(shape, scalar, depth);
        if scalar == self.scalar { format!("wp.tile_map(damp_{}, {e})", self.seed) } else { e }
    }

    /// A tile of its own: a view of a variable would fix that.
    fn copy(&mut self, shape: &[u32], scalar: Scalar, depth: usize) -> String {
        let e = self.tile(shape, scalar, depth);
        format!("{e} + {}", self.full(shape, scalar, zero(scalar)))
    }

    fn leaf(&mut self, shape: &[u32], scalar: Scalar) -> String {
        let count: u32 = shape.iter().product();
        let same: Vec<String> =
            self.tiles.iter().filter(|t| t.shape == shape && t.scalar == scalar).map(|t| t.name.clone()).collect();
        if !same.is_empty() && !self.random.one_in(4) {
            return same[self.random.below(same.len())].clone();
        }
        let flat: Vec<String> = self
            .tiles
            .iter()
            .filter(|t| t.shape.iter().product::<u32>() == count && t.scalar == scalar && !t.fixed)
            .map(|t| t.name.clone())
            .collect();
        if !flat.is_empty() && self.random.one_in(2) {
            return format!("wp.tile_reshape({}, shape={})", flat[self.random.below(flat.len())], text(shape));
        }
        let value = self.scalar(scalar, 0);
        match self.random.below(4) {
            0 => return self.full(shape, scalar, value),
            1 => return format!("wp.tile_ones(shape={}, dtype={})", text(shape), name(scalar)),
            _ => {}
        }
        if scalar == Scalar::I32 && self.scalar != Scalar::I32 {
            return match shape {
                [n] if self.random.one_in(2) => format!("wp.tile_arange({n}, dtype=int)"),
                [n] => format!("wp.tile_load(b1, shape={n}, offset={})", self.random.below(200) as i32 - 4),
                _ => self.full(shape, scalar, value),
            };
        }
        if scalar != self.scalar {
            return self.full(shape, scalar, value);
        }
        let first = match self.random.below(3) {
            0 => format!("i * {OWN} + {}", self.random.below(OWN as usize)),
            1 => format!("m * 5 - {}", self.random.below(9)),
            _ => (self.random.below(200) as i32 - 8).to_string(),
        };
        let column = self.random.below(24) as i32 - 3;
        match shape.len() {
            1 if self.random.one_in(3) => {
                self.note("gather");
                let picked = format!("wp.tile_load(b1, shape={}, offset={})", shape[0], self.random.below(150));
                format!("wp.tile_load_indexed(a1, {picked}, shape={})", shape[0])
            }
            // What others store is not read: a block has its own part of it.
            1 if shape[0] <= OWN && self.random.one_in(3) => {
                let at = self.random.below((OWN - shape[0] + 1) as usize);
                format!("wp.tile_load(s1, shape={}, offset=i * {OWN} + {at})", shape[0])
            }
            2 if shape[0] <= OWN && self.random.one_in(3) => {
                let at = self.random.below((OWN - shape[0] + 1) as usize);
                format!("wp.tile_load(s2, shape={}, offset=(i * {OWN} + {at}, {column}))", text(shape))
            }
            1 => format!("wp.tile_load(a1, shape={}, offset={first})", text(shape)),
            2 => format!("wp.tile_load(a2, shape={}, offset=({first}, {column}))", text(shape)),
            3 => {
                format!("wp.tile_load(a3, shape={}, offset=({first}, {column}, {}))", text(shape), self.random.below(3))
            }
            _ => self.full(shape, scalar, value),
        }
    }

    fn tile(&mut self, shape: &[u32], scalar: Scalar, depth: usize) -> String {
        if depth == 0 {
            return self.leaf(shape, scalar);
        }
        let count: u32 = shape.iter().product();
        let below = depth - 1;
        let own = scalar == self.scalar;
        match self.random.below(22) {
            0..=2 => {
                let (a, b) = (self.tile(shape, scalar, below), self.tile(shape, scalar, below));
                format!("({a} {} {b})", self.random.pick(&["+", "-", "*"]))
            }
            3 => {
                let (a, s) = (self.tile(shape, scalar, below), self.scalar(scalar, below));
                match scalar.is_float() {
                    true => format!("({a} {} {s})", self.random.pick(&["*", "/"])),
                    false => format!("({s} * {a})"),
                }
            }
            4 if !scalar.is_float() => {
                let (a, b) = (self.tile(shape, scalar, below), self.tile(shape, scalar, below));
                format!("({a} {} {b})", self.random.pick(&["&", "|", "^"]))
            }
            4 => format!("(-{})", self.tile(shape, scalar, below)),
            5 | 6 if own => {
                let a = self.tile(shape, scalar, below);
                let b =
                    if self.random.one_in(2) { self.tile(shape, scalar, below) } else { self.scalar(scalar, below) };
                self.note("map");
                format!("wp.tile_map(mix_{}, {a}, {b})", self.seed)
            }
            7 => {
                let f = self.random.pick(&["wp.min", "wp.max"]);
                let (a, b) = (self.tile(shape, scalar, below), self.tile(shape, scalar, below));
                format!("wp.tile_map({f}, {a}, {b})")
            }
            8 => {
                let word = self.random.pick(&["inclusive", "exclusive", "max_inclusive", "min_inclusive"]);
                self.note("scan");
                format!("wp.tile_scan_{word}({})", self.tile(shape, scalar, below))
            }
            9 if shape.len() == 2 => {
                let turned = [shape[1], shape[0]];
                format!("wp.tile_transpose({})", self.tile(&turned, scalar, below))
            }
            10 | 11 => {
                // A line of each element goes.
                let axis = self.random.below(shape.len() + 1);
                let mut longer = shape.to_vec();
                longer.insert(axis, self.random.pick(&[1, 2, 3, 5, 31, 32, 33, 40, 64]));
                if longer.len() > 4 || longer.iter().product::<u32>() > 3 * MOST {
                    return self.leaf(shape, scalar);
                }
                let e = self.tile(&longer, scalar, below);
                match self.random.below(3) {
                    0 => {
                        self.note("reduce axis");
                        format!(
                            "wp.tile_reduce({}, {e}, axis={axis})",
                            self.random.pick(&["wp.min", "wp.max", "wp.add"])
                        )
                    }
                    _ => {
                        self.note("sum axis");
                        format!("wp.tile_sum({e}, axis={axis})")
                    }
                }
            }
            12 => {
                // Some dimensions of one element become longer.
                let mut narrow: Shape = shape.iter().map(|&n| if self.random.one_in(2) { 1 } else { n }).collect();
                while narrow.len() > 1 && self.random.one_in(3) {
                    narrow.remove(0);
                }
                self.note("broadcast");
                format!("wp.tile_broadcast({}, shape={})", self.tile(&narrow, scalar, below), text(shape))
            }
            13 if shape.len() == 2 && scalar.is_float() => {
                let inner = self.random.pick(&SIDES[..8]);
                let (a, b) =
                    (self.settled(&[shape[0], inner], scalar, below), self.settled(&[inner, shape[1]], scalar, below));
                self.note("product");
                format!("wp.tile_matmul({a}, {b})")
            }
            14 => {
                let by = self.random.pick(&[1, 2]);
                let longer: Shape = shape.iter().map(|n| n * by + self.random.below(3) as u32).collect();
                if longer.iter().product::<u32>() > 3 * MOST {
                    return self.leaf(shape, scalar);
                }
                let slices: Vec<String> = shape
                    .iter()
                    .zip(&longer)
                    .map(|(n, whole)| match whole == n {
                        true => self.random.pick(&[":", "::-1"]).to_string(),
                        false => {
                            let from = self.random.below((whole - n * by + 1) as usize) as u32;
                            format!("{from}:{}:{by}", from + n * by)
                        }
                    })
                    .collect();
                self.note("slice");
                format!("({})[{}]", self.tile(&longer, scalar, below), slices.join(", "))
            }
            15 => {
                let from = self.other();
                if scalar.is_float() == from.is_float() {
                    return format!("wp.tile_astype({}, dtype={})", self.tile(shape, from, below), name(scalar));
                }
                self.leaf(shape, scalar)
            }
            16 => {
                let c = self.random.pick(&["m > 1", "i == 1", "m == 0"]);
                let (a, b) = (self.tile(shape, scalar, below), self.tile(shape, scalar, below));
                format!("wp.where({c}, {a}, {b})")
            }
            17 if shape.len() == 2 && shape[0] == shape[1] && scalar.is_float() => {
                let (a, d) = (self.tile(shape, scalar, below), self.tile(&shape[..1], scalar, below));
                format!("wp.tile_diag_add({a}, {d})")
            }
            18 | 19 if shape.len() == 1 && shape[0] <= 17 && matches!(scalar, Scalar::F32 | Scalar::F64) => {
                let n = shape[0];
                let a = self.settled(&[n, n], scalar, below);
                let y = self.tile(shape, scalar, below);
                let four = self.full(shape, scalar, format!("{}(40)", name(scalar)));
                self.note("solve");
                let square = format!("wp.tile_diag_add(wp.tile_matmul({a}, wp.tile_transpose({a})), {four})");
                match self.random.below(3) {
                    0 => format!("wp.tile_lower_solve(wp.tile_cholesky({square}), {y})"),
                    1 => format!("wp.tile_upper_solve(wp.tile_cholesky({square}, fill_mode=\"upper\"), {y})"),
                    _ => format!("wp.tile_cholesky_solve(wp.tile_cholesky({square}), {y})"),
                }
            }
            20 if own => {
                let s = self.scalar(scalar, below);
                let a = self.tile(shape, scalar, below);
                let zero = self.full(shape, scalar, zero(scalar));
                format!("shift_{}({a} + {zero}, {s})", self.seed)
            }
            21 if shape.len() == 1 => {
                let longer = self.random.pick(&LINES);
                let picks = format!("wp.tile_map(wp.min, wp.tile_arange({}, dtype=int), {})", count, longer - 1);
                let wide = [longer, 3];
                self.note("pick");
                format!("({})[{picks}, :][:, 1]", self.tile(&wide, scalar, below))
            }
            _ => self.leaf(shape, scalar),
        }
    }
}
