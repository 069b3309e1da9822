//! Random launches whose threads meet, or nearly do: atomic updates of shared elements, reads of
//! neighbours, scatters into what other threads read, one array for two parameters, several
//! launches in a row. Each gradient is right or refused.
//!
//! A launch is run as `kc run` runs launch programs, looks at its threads included, and what it
//! gives is compared with central differences of the forward launches, with the same launch in the
//! opposite order of its threads, with the host and with the simulator, which finds races in a way
//! of its own.

use std::fmt::Write as _;
use std::path::Path;

use kc::driver::{Compiler, Gradients, Request};
use kc::run::devices::Device;
use kc::run::devices::host::Host;
use kc::run::devices::interp::Interp;
use kc::run::devices::sim::Sim;
use kc::run::program::{Program, Wanted};
use kc::run::session::{Finished, Options, Session};
use serde_json::{Value, json};

use crate::check::{Extent, Outcome, Right};
use crate::generate::{Random, in_double};

/// Threads of a launch, and elements of every array.
const N: u64 = 8;

/// Gradient and differences agree to this, relative to the sum of the terms.
const TOLERANCE: f64 = 1e-5;

/// Arrays of floats with one dimension. Each is lent to the parameter of its name, unless a case
/// gives it to two.
const FLOATS: [&str; 6] = ["x", "y", "a", "b", "acc", "out"];

const HEAD: &str = "import warp as wp


@wp.struct
class Pair:
    u: wp.array(dtype=wp.float64)
    v: wp.array(dtype=wp.float64)


@wp.func
def pick(z: wp.array(dtype=wp.float64), j: int, k: int):
    return z[j] * z[(j + k) % 8]


@wp.func
def put(z: wp.array(dtype=wp.float64), j: int, e: wp.float64):
    z[j] = e


@wp.func
def add_to(z: wp.array(dtype=wp.float64), j: int, e: wp.float64):
    wp.atomic_add(z, j, e)


@wp.kernel
def weigh(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64), a: wp.array(dtype=wp.float64), b: wp.array(dtype=wp.float64), \
acc: wp.array(dtype=wp.float64), out: wp.array(dtype=wp.float64), m: wp.array2d(dtype=wp.float64), weights: wp.array2d(dtype=wp.float64), \
loss: wp.array(dtype=wp.float64)):
    i = wp.tid()
    e = x[i] * weights[i, 0] + y[i] * weights[i, 1] + a[i] * weights[i, 2] + b[i] * weights[i, 3]
    loss[i] = e + acc[i] * weights[i, 4] + out[i] * weights[i, 5] + m[i, 0] * weights[i, 6] + m[i, 1] * weights[i, 7]
";

const SIGNATURE: &str = "x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64), a: wp.array(dtype=wp.float64), b: wp.array(dtype=wp.float64), \
acc: wp.array(dtype=wp.float64), out: wp.array(dtype=wp.float64), m: wp.array2d(dtype=wp.float64), perm: wp.array(dtype=int), \
idx: wp.array(dtype=int), count: wp.array(dtype=int)";

/// Indices that no two threads share.
const OWN: [&str; 6] = ["i", "7 - i", "(i + 3) % 8", "perm[i]", "(i * 3) % 8", "i ^ 1"];

/// Indices that threads may share.
const ANY: [&str; 8] =
    ["0", "i // 2", "idx[i]", "i % 4", "(i + 1) % 8", "wp.min(i + 1, 7)", "idx[7 - i]", "perm[idx[i]]"];

/// What the threads of a kernel do with an array.
#[derive(Clone, Copy, PartialEq)]
enum Role {
    /// All read all of it.
    Read,
    /// Each thread has an element of its own.
    Own(&'static str),
    /// Sums, at any index.
    Sum,
    /// Atomic minima, at any index.
    Min,
    /// Anything: whether the order of the threads shows is for kc to say.
    Wild,
}

/// A launch program: kernels, and what runs.
pub struct Case {
    pub text: String,
    pub uses: Vec<&'static str>,
    steps: Vec<Value>,
    numbers: Random,
    /// Threads ask an atomic who comes first, so their order shows on purpose.
    ordered: bool,
}

pub fn case(seed: u64) -> Case {
    let mut generator = Generator { random: Random(seed ^ 0x7487), ..Generator::default() };
    let kernels = 1 + u64::from(generator.random.below(3) == 0);
    let mut steps = Vec::new();
    for number in 0..kernels {
        let two = generator.kernel(number);
        let mut step = json!({"kernel": format!("k{number}"), "dim": if two { json!([4, 2]) } else { json!([N]) }});
        if generator.random.below(8) == 0 {
            generator.uses("one array twice");
            let (from, to) = (generator.one_of(&FLOATS), generator.one_of(&FLOATS));
            step["args"] = json!({from: to});
        }
        steps.push(step);
    }
    if generator.random.below(4) == 0 {
        generator.uses("swap and repeat");
        steps.push(json!({"swap": ["x", "a"]}));
        steps = vec![json!({"repeat": 2, "steps": steps})];
    } else if kernels > 1 {
        generator.uses("two launches");
    }
    steps.push(json!({"kernel": "weigh", "dim": [N]}));
    Case {
        text: in_double(&format!("{HEAD}{}", generator.text)),
        uses: generator.used,
        steps,
        numbers: Random(seed ^ 0x1234_5678),
        ordered: generator.ordered,
    }
}

#[derive(Default)]
struct Generator {
    random: Random,
    text: String,
    roles: Vec<(&'static str, Role)>,
    depth: usize,
    /// The variable of the loop around.
    turn: Option<String>,
    loops: u32,
    used: Vec<&'static str>,
    ordered: bool,
}

impl Generator {
    fn uses(&mut self, what: &'static str) {
        if !self.used.contains(&what) {
            self.used.push(what);
        }
    }

    fn one_of(&mut self, list: &[&'static str]) -> &'static str {
        list[self.random.below(list.len() as u64) as usize]
    }

    /// The kernel `k{number}`; true: its launch has two dimensions.
    fn kernel(&mut self, number: u64) -> bool {
        self.roles = [FLOATS.as_slice(), &["m"]].concat().into_iter().map(|name| (name, Role::Read)).collect();
        for at in 0..self.roles.len() {
            self.roles[at].1 = match self.random.below(12) {
                0..=3 => Role::Read,
                4..=7 => Role::Own(self.one_of(&OWN)),
                8 | 9 => Role::Sum,
                10 => Role::Min,
                _ => Role::Wild,
            };
        }
        // Something is written.
        self.roles[5].1 = Role::Own("i");
        let two = self.random.below(4) == 0;
        writeln!(self.text, "\n\n@wp.kernel\ndef k{number}({SIGNATURE}):").expect("a string");
        self.depth = 1;
        if two {
            self.line("r, c = wp.tid()");
            self.line("i = r * 2 + c");
        } else {
            self.line("i = wp.tid()");
        }
        for line in ["t0 = 0.5", "t1 = wp.float64(i) * 0.125", "t2 = -0.25", "j0 = int(2)"] {
            self.line(line);
        }
        for _ in 0..3 + self.random.below(6) {
            self.statement();
        }
        self.line("out[i] = out[i] + t0 * t1 - t2");
        two
    }

    fn line(&mut self, text: &str) {
        let indent = "    ".repeat(self.depth);
        writeln!(self.text, "{indent}{text}").expect("a string");
    }

    fn block(&mut self, header: &str) {
        self.line(header);
        self.depth += 1;
        let e = self.leaf();
        self.line(&format!("t2 = t2 * 0.5 + {e}"));
        for _ in 0..1 + self.random.below(2) {
            self.statement();
        }
        self.depth -= 1;
    }

    fn statement(&mut self) {
        match self.random.below(16) {
            0..=3 => {
                let (t, e) = (self.one_of(&["t0", "t1", "t2"]), self.float(2));
                self.line(&format!("{t} = wp.tanh({e})"));
            }
            4..=8 => self.store(),
            9 if self.depth < 3 => {
                let test = self.test();
                self.block(&format!("if {test}:"));
                if self.random.below(2) == 0 {
                    self.block("else:");
                }
            }
            10 if self.depth < 3 && self.turn.is_none() => {
                self.uses("loop");
                let k = format!("k{}", self.loops);
                self.loops += 1;
                self.turn = Some(k.clone());
                let turns = ["8", "3", "i % 3 + 1"];
                let range = self.one_of(&turns);
                self.block(&format!("for {k} in range({range}):"));
                self.turn = None;
            }
            11 => self.choose(),
            12 => self.pair(),
            13 => self.row(),
            14 if self.random.below(3) == 0 => {
                self.uses("slot");
                self.ordered = true;
                self.line("j0 = wp.atomic_add(count, 0, 1) % 8");
            }
            15 if self.random.below(2) == 0 => {
                self.uses("return");
                let test = self.test();
                self.line(&format!("if {test}:"));
                self.line("    return");
            }
            _ => self.store(),
        }
    }

    /// An array, with an index that its role allows.
    fn place(&mut self, allowed: impl Fn(Role) -> bool) -> Option<(&'static str, Role, String)> {
        let fit: Vec<_> = self.roles.iter().copied().filter(|&(name, role)| name != "m" && allowed(role)).collect();
        if fit.is_empty() {
            return None;
        }
        let (name, role) = fit[self.random.below(fit.len() as u64) as usize];
        let at = match role {
            Role::Own(own) => own.to_string(),
            Role::Read | Role::Sum | Role::Min => self.index(),
            Role::Wild if self.random.below(2) == 0 => self.one_of(&OWN).to_string(),
            Role::Wild => self.index(),
        };
        Some((name, role, at))
    }

    fn index(&mut self) -> String {
        match (self.random.below(12), &self.turn) {
            (0 | 1, Some(k)) => format!("(i + {k}) % 8"),
            (2, Some(k)) => k.clone(),
            (3, _) => "j0".to_string(),
            (4..=6, _) => self.one_of(&OWN).to_string(),
            _ => self.one_of(&ANY).to_string(),
        }
    }

    fn store(&mut self) {
        let e = self.float(2);
        let Some((name, role, at)) = self.place(|role| role != Role::Read) else { return };
        let kind = match role {
            Role::Sum => 5 + self.random.below(4),
            Role::Min => 9,
            Role::Own(_) => self.random.below(7),
            Role::Wild => {
                self.uses("wild");
                self.random.below(11)
            }
            Role::Read => return,
        };
        match kind {
            0 | 1 => self.line(&format!("{name}[{at}] = {e}")),
            2 => self.line(&format!("{name}[{at}] *= wp.cos({e})")),
            3 => self.line(&format!("put({name}, {at}, {e})")),
            // Threads that store the same, whatever they computed.
            4 => self.line(&format!("{name}[{at}] = 0.5")),
            5 => self.line(&format!("wp.atomic_add({name}, {at}, {e})")),
            6 => self.line(&format!("{name}[{at}] += {e}")),
            7 => self.line(&format!("add_to({name}, {at}, {e})")),
            8 => self.line(&format!("wp.atomic_sub({name}, {at}, {e})")),
            9 => self.line(&format!("wp.atomic_min({name}, {at}, {e})")),
            _ => {
                self.uses("old value");
                self.ordered = true;
                self.line(&format!("t0 = wp.atomic_add({name}, {at}, {e})"));
            }
        }
        match kind {
            5..=8 => self.uses("sum"),
            9 => self.uses("minimum"),
            _ => self.uses("store"),
        }
    }

    /// One of two arrays, read or written.
    fn choose(&mut self) {
        self.uses("chosen array");
        let test = self.test();
        let reads = |role| matches!(role, Role::Read | Role::Wild);
        if let (Some((p, ..)), Some((q, _, at))) = (self.place(reads), self.place(reads)) {
            let chosen = format!("c{}", self.loops);
            self.loops += 1;
            self.line(&format!("{chosen} = {p} if {test} else {q}"));
            let t = self.one_of(&["t0", "t1", "t2"]);
            self.line(&format!("{t} = {t} * 0.5 + {chosen}[{at}]"));
        }
    }

    /// A struct of two arrays.
    fn pair(&mut self) {
        self.uses("struct of arrays");
        let e = self.float(1);
        let reads = |role| matches!(role, Role::Read | Role::Wild);
        let writes = |role| matches!(role, Role::Own(_) | Role::Wild);
        if let (Some((p, _, from)), Some((q, _, to))) = (self.place(reads), self.place(writes)) {
            let pair = format!("pair{}_", self.loops);
            self.loops += 1;
            self.line(&format!("{pair} = Pair()"));
            self.line(&format!("{pair}.u = {p}"));
            self.line(&format!("{pair}.v = {q}"));
            self.line(&format!("{pair}.v[{to}] = {pair}.u[{from}] * {e}"));
        }
    }

    /// A row of the matrix.
    fn row(&mut self) {
        let e = self.float(1);
        let role = self.roles[6].1;
        let at = match role {
            Role::Own(own) => own.to_string(),
            _ => self.index(),
        };
        self.uses("row");
        let row = format!("row{}", self.loops);
        self.loops += 1;
        match role {
            Role::Own(_) | Role::Wild => {
                self.line(&format!("{row} = m[{at}]"));
                self.line(&format!("{row}[1] = {row}[0] * {e}"));
            }
            Role::Read => self.line(&format!("t2 = m[{at}, 0] * m[{at}, 1]")),
            Role::Sum => self.line(&format!("m[{at}, 0] += {e}")),
            Role::Min => self.line(&format!("wp.atomic_min(m, {at}, 1, {e})")),
        }
    }

    fn test(&mut self) -> String {
        match self.random.below(7) {
            0 => "i % 2 == 0".to_string(),
            1 => "i < 3".to_string(),
            2 => "perm[i] > 3".to_string(),
            3 => "idx[i] == 1".to_string(),
            4 => "i == 5".to_string(),
            5 => "t1 > t2".to_string(),
            _ => format!("{} > 0.1", self.leaf()),
        }
    }

    fn float(&mut self, depth: u32) -> String {
        if depth == 0 {
            return self.leaf();
        }
        let e = self.float(depth - 1);
        match self.random.below(8) {
            0 | 1 => format!("({e} + {})", self.leaf()),
            2 | 3 => format!("{e} * {}", self.leaf()),
            4 => format!("wp.sin({e})"),
            5 => format!("({e} if {} else {})", self.test(), self.leaf()),
            6 => format!("wp.max({e}, {})", self.leaf()),
            _ => e,
        }
    }

    fn leaf(&mut self) -> String {
        match self.random.below(10) {
            0 => format!("{:.2}", 0.2 + self.random.below(100) as f64 / 80.0),
            1..=4 => self.one_of(&["t0", "t1", "t2"]).to_string(),
            n => {
                let reads = |role| matches!(role, Role::Read | Role::Own(_) | Role::Wild);
                match self.place(reads) {
                    // A function that reads two elements.
                    Some((name, Role::Read, at)) if n == 5 => format!("pick({name}, {at}, 3)"),
                    Some((name, _, at)) => format!("{name}[{at}]"),
                    None => "t1".to_string(),
                }
            }
        }
    }
}

/// Numbers of the float arrays, in the order of [`Launches::NAMES`].
type Floats = Vec<Vec<f64>>;

/// The launches of a case, on a device.
struct Launches<'a> {
    case: &'a Case,
    folder: &'a Path,
    perm: Vec<u64>,
    idx: Vec<u64>,
    weights: Vec<f64>,
}

/// How the launches ended.
enum Ended {
    Values {
        /// The losses of the threads.
        loss: Vec<f64>,
        gradient: Floats,
    },
    Refused(String),
}

impl Launches<'_> {
    const NAMES: [&'static str; 7] = ["x", "y", "a", "b", "acc", "out", "m"];

    fn run(&self, source: &str, start: &Floats, device: &'static dyn Device, gradient: bool) -> Result<Ended, String> {
        let mut arrays = json!({
            "perm": {"shape": [N], "fill": self.perm}, "idx": {"shape": [N], "fill": self.idx}, "count": {"shape": [1]},
            "weights": {"shape": [N, 8], "fill": self.weights}, "loss": {"shape": [N]}
        });
        for (name, numbers) in Self::NAMES.iter().zip(start) {
            let shape = if *name == "m" { json!([N, 2]) } else { json!([N]) };
            arrays[*name] = json!({"shape": shape, "fill": numbers});
        }
        let mut program = json!({"format": 1, "id": "p", "source": source, "arrays": arrays, "steps": self.case.steps});
        if gradient {
            program["gradient_of"] = json!(["loss"]);
        }
        let path = self.folder.join("p.json");
        std::fs::write(&path, program.to_string()).map_err(|e| e.to_string())?;
        let mut compile = compile;
        let finished = Session::new(Options { threads: 1, ..Options::of(device) }, &mut compile).run_file(&path);
        if let Some(error) = finished.errors.first() {
            let code = error.code.name();
            let expected = code == "E1108" || code == "E1103" || code[1..].starts_with("06");
            let told = format!("{code} {}", error.message);
            if std::env::var_os("KC_RANDOM_SHOW").is_some() {
                eprintln!("{told}");
            }
            return if expected { Ok(Ended::Refused(code.to_string())) } else { Err(told) };
        }
        let loss = floats(&finished, "loss", false)?;
        let gradient = match gradient {
            true => Self::NAMES.iter().map(|name| floats(&finished, name, true)).collect::<Result<_, _>>()?,
            false => Vec::new(),
        };
        Ok(Ended::Values { loss, gradient })
    }

    /// Whether the gradient agrees with differences close to these numbers. Also where it is
    /// refused there.
    fn is_right_beside(&self, start: &Floats, along: &Floats) -> Result<bool, String> {
        let mut random = Random(0x5eed);
        let moved: Floats = start.iter().map(|x| x.iter().map(|x| x + 1e-3 * random.float()).collect()).collect();
        let Ended::Values { gradient, .. } = self.run("k.py", &moved, &Interp, true)? else { return Ok(true) };
        let terms = || gradient.iter().flatten().zip(along.iter().flatten()).map(|(g, v)| g * v);
        let (slope, size) = (terms().sum::<f64>(), 1.0 + terms().map(f64::abs).sum::<f64>());
        let at = |h: f64| {
            let numbers = moved.iter().zip(along);
            self.value(&numbers.map(|(x, v)| x.iter().zip(v).map(|(x, v)| x + h * v).collect()).collect())
        };
        let (Some(up), Some(down)) = (at(1e-6)?, at(-1e-6)?) else { return Ok(true) };
        Ok(((up - down) / 2e-6 - slope).abs() < TOLERANCE * size)
    }

    /// The sum of the losses, where nothing refuses.
    fn value(&self, start: &Floats) -> Result<Option<f64>, String> {
        Ok(match self.run("k.py", start, &Interp, false)? {
            Ended::Values { loss, .. } => Some(loss.iter().sum()),
            Ended::Refused(_) => None,
        })
    }
}

fn compile(wanted: &Wanted) -> Program {
    let request = Request {
        kernels: wanted.gradient_of.as_ref().or(wanted.kernel.as_ref()).into_iter().cloned().collect(),
        gradients: Gradients {
            backward: wanted.gradient_of.is_some(),
            store: None,
            parameters: true,
            ..Gradients::default()
        },
        same_arrays: wanted.same_arrays.clone(),
        block_threads: wanted.block_threads,
        ..Request::default()
    };
    let compilation = Compiler::new().load(&wanted.source, &request);
    let diagnostics = compilation.diagnostics.into_sorted();
    Program { module: compilation.module, sources: compilation.sources, diagnostics }
}

fn floats(finished: &Finished, name: &str, gradient: bool) -> Result<Vec<f64>, String> {
    let missing = || format!("there is no `{name}` afterwards");
    let (arguments, program) = finished.arguments.as_ref().zip(finished.program.as_ref()).ok_or_else(missing)?;
    let array = arguments.arrays.iter().find(|array| array.key == name).ok_or_else(missing)?;
    Ok(arguments.floats(array, gradient, &program.module.structs))
}

/// Whether all numbers are the same up to the rounding of sums in another order.
fn close(a: &[f64], b: &[f64]) -> bool {
    let size = a.iter().chain(b).fold(1.0, |size: f64, x| size.max(x.abs()));
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-9 * size)
}

pub fn check(case: &mut Case, extent: Extent) -> Outcome {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let back = case.text.replace("i = wp.tid()", "i = 7 - wp.tid()").replace("i = r * 2 + c", "i = 7 - (r * 2 + c)");
    for (name, text) in [("k.py", &case.text), ("back.py", &back)] {
        std::fs::write(folder.path().join(name), text).expect("a file");
    }
    match compare(case, folder.path(), extent) {
        Ok(outcome) => outcome,
        Err(reason) => Outcome::Wrong(reason),
    }
}

fn compare(case: &mut Case, folder: &Path, extent: Extent) -> Result<Outcome, String> {
    let mut random = Random(case.numbers.0);
    let mut perm: Vec<u64> = (0..N).collect();
    (1..N).rev().for_each(|n| perm.swap(n as usize, random.below(n + 1) as usize));
    let idx = (0..N).map(|_| random.below(N)).collect();
    // Few different numbers let threads store what is there already.
    let few = random.below(3) == 0;
    let mut number = || if few { 0.5 * random.below(3) as f64 - 0.5 } else { random.float() };
    let sizes = [8, 8, 8, 8, 8, 8, 16];
    let start: Floats = sizes.iter().map(|&n| (0..n).map(|_| number()).collect()).collect();
    let weights = (0..64).map(|_| random.float()).collect();
    let along: Floats = sizes.iter().map(|&n| (0..n).map(|_| random.float()).collect()).collect();
    let launches = Launches { case, folder, perm, idx, weights };

    let (loss, gradient) = match launches.run("k.py", &start, &Interp, true)? {
        Ended::Values { loss, gradient } => (loss, gradient),
        Ended::Refused(code) => return Ok(Outcome::Refused(code)),
    };
    if !loss.iter().chain(gradient.iter().flatten()).all(|x| x.is_finite() && x.abs() < 1e9) {
        return Ok(Outcome::NotFinite);
    }
    let terms = || gradient.iter().flatten().zip(along.iter().flatten()).map(|(g, v)| g * v);
    let (slope, size) = (terms().sum::<f64>(), 1.0 + terms().map(f64::abs).sum::<f64>());
    let moved = |h: f64| {
        let numbers = start.iter().zip(&along);
        launches.value(&numbers.map(|(x, v)| x.iter().zip(v).map(|(x, v)| x + h * v).collect()).collect())
    };
    // Reads that nothing uses count as meetings where the program runs as it is written; gradients
    // leave them out.
    let Some(middle) = moved(0.0)? else { return Ok(Outcome::Refused("E1108".to_string())) };
    let mut right = Right { error: 0.0, stores: 0, unrolled: false, host: false, differences: false };
    let (mut kink, mut seen) = (false, Vec::new());
    for h in [1e-4, 1e-5, 1e-6, 1e-7] {
        // Next to this launch there may be one whose threads meet.
        let (Some(up), Some(down)) = (moved(h)?, moved(-h)?) else {
            kink = true;
            break;
        };
        let (before, after, central) = ((middle - down) / h, (up - middle) / h, (up - down) / (2.0 * h));
        right.error = (central - slope).abs() / size;
        right.differences = right.error < TOLERANCE;
        if right.differences {
            break;
        }
        kink |= h < 1e-5 && (before - after).abs() > TOLERANCE * size;
        seen.push(central);
    }
    if !right.differences {
        right.error = 0.0;
        // Where two sides of a minimum are equal, central differences are the mean of both slopes,
        // in every step alike.
        if !kink && !launches.is_right_beside(&start, &along)? {
            return Err(format!("the gradient gives {slope:e}, differences {seen:?}"));
        }
    }
    let smooth = right.differences;
    let same = |what: &str, source: &str, device: &'static dyn Device| match launches.run(source, &start, device, true)
    {
        Ok(Ended::Values { loss: other, gradient: its }) => {
            // At a kink, such as two threads with the same minimum, the gradient may be that of
            // either side.
            let slopes = !smooth || its.iter().zip(&gradient).all(|(a, b)| close(a, b));
            match (close(&other, &loss), slopes) {
                (true, true) => Ok(()),
                (false, _) => Err(format!("{what}: other results, {other:?} and {loss:?}")),
                (true, false) => Err(format!("{what}: another gradient, {its:?} and {gradient:?}")),
            }
        }
        Ok(Ended::Refused(code)) => Err(format!("{what}: refused, {code}")),
        Err(error) => Err(format!("{what}: {error}")),
    };
    if !case.ordered {
        same("in the opposite order of threads", "back.py", &Interp)?;
        if extent.host {
            same("host", "k.py", &Host)?;
            right.host = true;
        }
        if extent.sim {
            same("simulator", "k.py", &Sim)?;
        }
    }
    Ok(Outcome::Right(right))
}
