//! Is the gradient of a kernel right? Reverse mode against forward mode and differences, stores
//! against each other, unrolled loops against rolled ones, host code against the interpreter.

use std::collections::HashMap;
use std::ffi::c_void;
use std::path::{Path, PathBuf};

use kc::abi::{HostStatus, LaunchBounds};
use kc::autodiff::{Adjoints, Options, Store, differentiate, jvp};
use kc::codegen::llvm::{Atomics, Cpu, HostModule, HostOptions, Opt};
use kc::diag::{Diagnostics, Level};
use kc::driver::{Compiler, Request};
use kc::ir::{FuncId, Module, Phase};
use kc::passes;
use kc::run::args::{Arguments, Snapshot};
use kc::run::devices::host::Host;
use kc::run::devices::interp::Interp;
use kc::run::devices::{self, Device, Executable, How, Job, Report};
use kc::run::gradients::gradient;
use kc::run::launch::{
    Argument, ArgumentKind, ArrayArgument, Direction, Fill, Launch, Literal, Number, Source, Stored,
};
use kc::run::program::Program;
use kc::types::{StructTable, Type};

use crate::generate::{Random, SHARED, THREADS};

/// The dot products of forward and reverse mode differ by no more than this, relative to the sum of
/// their terms.
const TOLERANCE: f64 = 1e-9;

/// Derivatives beyond this are compared with forward mode alone.
const STEEP: f64 = 1e9;

/// How the check of one kernel ended.
pub enum Outcome {
    Right(Right),
    /// There is no gradient, and this is what kc says.
    Refused(String),
    /// The kernel's own results overflow: nothing can be compared.
    NotFinite,
    Wrong(String),
}

pub struct Right {
    /// The error of the dot product.
    pub error: f64,
    /// The stores whose gradients were compared.
    pub stores: usize,
    /// The loops of the kernel could be unrolled, and its gradient was compared.
    pub unrolled: bool,
    pub host: bool,
    /// Central differences were compared; false: the launch is at a kink.
    pub differences: bool,
}

/// What is compared beside the dot product, which always is.
#[derive(Clone, Copy)]
pub struct Extent {
    pub host: bool,
    pub sim: bool,
    pub stores: bool,
}

/// Checks the kernel `k` of a text.
pub fn check(text: &str, seed: u64, extent: Extent) -> Outcome {
    let compilation = Compiler::new().load_text(Path::new("random.py"), text.to_string(), &Request::default());
    let error = compilation.diagnostics.iter().find(|d| d.level == Level::Error && !is_refusal(d.code.name()));
    if let Some(error) = error {
        return Outcome::Wrong(format!("it does not compile: {} {}", error.code.name(), error.message));
    }
    let refusal = compilation.diagnostics.iter().find(|d| is_reason(d.code.name()));
    let reason = refusal.map(|d| format!("{} {}", d.code.name(), d.message));
    let program = Program {
        module: compilation.module,
        sources: compilation.sources,
        diagnostics: compilation.diagnostics.into_sorted(),
    };
    match with_program(program, seed, extent) {
        Ok(Some(right)) => Outcome::Right(right),
        Ok(None) => Outcome::NotFinite,
        Err(message) if message == NO_ENTRY => Outcome::Refused(reason.unwrap_or_else(|| "no reason".to_string())),
        Err(message) => Outcome::Wrong(message),
    }
}

const NO_ENTRY: &str = "no backward entry";

fn is_refusal(code: &str) -> bool {
    code[1..].starts_with("06")
}

/// Whether a finding tells why there is no gradient: an error, or W0603 and W0607, which leave the
/// forward entry alone.
fn is_reason(code: &str) -> bool {
    code.starts_with("E06") || code == "W0603" || code == "W0607"
}

fn with_program(program: Program, seed: u64, extent: Extent) -> Result<Option<Right>, String> {
    let forward = program.module.entry("k", Phase::Forward).ok_or("no forward entry")?;
    program.module.entry("k", Phase::Backward).ok_or(NO_ENTRY)?;
    let mut launch = Run::new(&program, forward, seed)?;
    let Some(gradient) = launch.gradient(&program, &Interp)? else { return Ok(None) };
    let mut right = Right { error: 0.0, stores: 0, unrolled: false, host: false, differences: false };

    let tangents = launch.random_floats(0xD1F);
    let Some((values, along)) = launch.forward_mode(&program, &tangents)? else { return Ok(None) };
    if !same_bits(&values, &gradient.values) {
        return Err(format!(
            "forward mode computes other values than the kernel: {}",
            first_difference(&values, &gradient.values)
        ));
    }
    let (reverse, size) = dot(&gradient.adjoints, &tangents);
    let (ahead, terms) = dot(&along, &launch.seeds);
    right.error = (reverse - ahead).abs() / size.max(terms).max(1e-300);
    if right.error > TOLERANCE {
        return Err(format!("dot products: reverse mode {reverse:e}, forward mode {ahead:e}, error {:e}", right.error));
    }
    right.differences = launch.differences(&program, &tangents, ahead, terms)?;

    if extent.host {
        match launch.gradient(&program, &Host)? {
            Some(host)
                if same_bits(&host.adjoints, &gradient.adjoints) && same_bits(&host.values, &gradient.values) =>
            {
                right.host = true;
            }
            _ => return Err("host code and interpreter differ".to_string()),
        }
    }
    if extent.stores {
        let of_tiles = program.module.functions[forward].by_block;
        for store in [Store::Unroll, Store::Stack, Store::Tape, Store::Checkpoint] {
            // Refused with this store: the number of comparisons tells.
            let Some(other) = again(&program, &Options { store: Some(store), ..Options::default() }, false) else {
                continue;
            };
            let found = launch.gradient(&other, &Interp)?.ok_or("a gradient that overflows")?;
            let far = distance(&found.adjoints, &gradient.adjoints);
            // What a reverse loop adds up through a tile has 32 chains; where no loop is left, one.
            let same = match store {
                Store::Unroll if of_tiles => far < 1e-14,
                _ => same_bits(&found.adjoints, &gradient.adjoints),
            };
            if !same {
                return Err(format!("the store {store:?} gives another gradient, {far:e} away"));
            }
            right.stores += 1;
        }
        if let Some(unrolled) = again(&program, &Options::default(), true) {
            let found = launch.gradient(&unrolled, &Interp)?;
            let close = |found: &Gradient| {
                let (other, terms) = dot(&found.adjoints, &tangents);
                (other - reverse).abs() <= TOLERANCE * terms.max(size)
            };
            right.unrolled = true;
            if !found.as_ref().is_some_and(close) {
                return Err("with its loops unrolled the kernel has another gradient".to_string());
            }
        }
    }
    Ok(Some(right))
}

/// The program differentiated again from its forward entry, which may be unrolled first. None: it
/// has no backward entry, or there is nothing to unroll.
fn again(program: &Program, options: &Options, unroll: bool) -> Option<Program> {
    let mut module = program.module.clone();
    passes::select(&mut module, |entry| entry.phase == Phase::Forward);
    if unroll {
        let forward = module.entry("k", Phase::Forward)?;
        if !passes::unroll::run(&mut module.functions[forward], &|_, counted| {
            counted.iterations * counted.size as u64 <= 2000
        }) {
            return None;
        }
        passes::simplify(&mut module);
    }
    let mut diagnostics = Diagnostics::default();
    differentiate(&mut module, options, &Adjoints::new(0), &mut diagnostics);
    passes::simplify(&mut module);
    module.entry("k", Phase::Backward)?;
    Some(Program { module, ..Program::default() })
}

/// Numbers of all arrays with gradients.
type Floats = Vec<Vec<f64>>;

struct Gradient {
    /// The contents of the arrays after the forward run.
    values: Floats,
    /// With respect to the contents before it.
    adjoints: Floats,
}

/// A launch of the kernel, with made-up arguments.
struct Run {
    arguments: Arguments,
    start: Snapshot,
    /// The arrays with gradients.
    active: Vec<usize>,
    /// The adjoints of their final contents.
    seeds: Floats,
    bounds: LaunchBounds,
    structs: StructTable,
    seed: u64,
}

impl Run {
    fn new(program: &Program, forward: FuncId, seed: u64) -> Result<Run, String> {
        let module = &program.module;
        let function = &module.functions[forward];
        let args =
            (0..function.params().len()).map(|n| argument(&function.param_name(n), function.ty(function.params()[n])));
        let launch = Launch {
            id: "random".into(),
            source: PathBuf::from("random.py"),
            kernel: Some("k".into()),
            direction: Direction::Gradient,
            dim: vec![THREADS],
            block_dim: 1,
            args: args.collect(),
            structs: Default::default(),
            inputs: PathBuf::new(),
            grid: None,
            max_expanded: None,
        };
        let structs = module.structs.clone();
        let arguments = Arguments::bind(&launch, "random", function, &structs).map_err(|e| e.message.clone())?;
        let holds = |n: &usize| !arguments.floats(&arguments.arrays[*n], true, &structs).is_empty();
        let active = (0..arguments.arrays.len()).filter(holds).collect();
        let bounds = LaunchBounds::new(&launch.dim).ok_or("a launch too large")?;
        let start = arguments.snapshot();
        let mut run = Run { arguments, start, active, seeds: Vec::new(), bounds, structs, seed };
        let values = run.random_floats(1);
        run.fill(false, &values);
        run.start = run.arguments.snapshot();
        run.seeds = run.random_floats(2);
        Ok(run)
    }

    fn random_floats(&self, salt: u64) -> Floats {
        let mut random = Random(self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ salt);
        let count = |n: &usize| self.arguments.floats(&self.arguments.arrays[*n], true, &self.structs).len();
        self.active
            .iter()
            .map(count)
            .collect::<Vec<_>>()
            .iter()
            .map(|&n| (0..n).map(|_| random.float()).collect())
            .collect()
    }

    fn fill(&mut self, gradient: bool, values: &Floats) {
        for (&n, values) in self.active.iter().zip(values) {
            let array = self.arguments.arrays[n].clone();
            self.arguments.set_floats(&array, gradient, &self.structs, values);
        }
    }

    fn read(&self, gradient: bool) -> Floats {
        self.active.iter().map(|&n| self.arguments.floats(&self.arguments.arrays[n], gradient, &self.structs)).collect()
    }

    /// Forward and backward. None: numbers that are not finite came out.
    fn gradient(&mut self, program: &Program, device: &dyn Device) -> Result<Option<Gradient>, String> {
        let module = &program.module;
        let forward = module.entry("k", Phase::Forward).ok_or("no forward entry")?;
        self.arguments.restore(&self.start);
        let seeds = self.seeds.clone();
        self.fill(true, &seeds);
        let mut code = Code::new(module, device)?;
        let bounds = self.bounds;
        let mut run = |entry: FuncId, args: *const c_void, _: &[(u64, u64)]| code.run(module, entry, &bounds, args);
        let report = gradient::gradient(program, forward, &mut self.arguments, bounds.size, &mut run)
            .map_err(|e| format!("the run fails: {} {}", e.code.name(), e.message))?;
        if let Some(trap) = report.trap {
            return Err(format!("the run fails: {:?}", trap.kind));
        }
        let found = Gradient { values: self.read(false), adjoints: self.read(true) };
        let finite = |floats: &Floats| floats.iter().flatten().all(|x| x.is_finite() && x.abs() < 1e100);
        if !finite(&found.values) {
            return Ok(None);
        }
        if !finite(&found.adjoints) {
            return Err("the gradient is not finite, and the results are".to_string());
        }
        Ok(Some(found))
    }

    /// The values of forward mode, and their derivative along `tangents`.
    fn forward_mode(&mut self, program: &Program, tangents: &Floats) -> Result<Option<(Floats, Floats)>, String> {
        let mut module = program.module.clone();
        let forward = module.entry("k", Phase::Forward).ok_or("no forward entry")?;
        let kernel =
            jvp::jvp(&mut module, forward).map_err(|refused| format!("no forward mode: {}", refused.reason))?;
        self.arguments.restore(&self.start);
        self.fill(true, tangents);
        let block = self
            .arguments
            .block_of_tangents(&module.functions[kernel], &self.structs)
            .map_err(|e| e.message.clone())?;
        let args = std::ptr::with_exposed_provenance(block.address() as usize);
        Code::new(&module, &Interp)?
            .run(&module, kernel, &self.bounds, args)
            .map_err(|e| format!("forward mode: {}", e.message))?;
        let (values, along) = (self.read(false), self.read(true));
        let finite = along.iter().flatten().all(|x| x.is_finite() && x.abs() < 1e100);
        Ok(finite.then_some((values, along)))
    }

    /// Compares `derivative`, that of the weighted results along `tangents`, with central
    /// differences. False: one-sided differences disagree.
    fn differences(
        &mut self,
        program: &Program,
        tangents: &Floats,
        derivative: f64,
        size: f64,
    ) -> Result<bool, String> {
        // The sine of a large number, say: the results swing within every step that differences
        // could take.
        if derivative.abs() > STEEP {
            return Ok(false);
        }
        let module = &program.module;
        let forward = module.entry("k", Phase::Forward).ok_or("no forward entry")?;
        let mut code = Code::new(module, &Interp)?;
        self.arguments.restore(&self.start);
        let here = self.read(false);
        let mut value = |h: f64| -> Result<f64, String> {
            self.arguments.restore(&self.start);
            let moved = here.iter().zip(tangents);
            let moved: Floats = moved.map(|(x, v)| x.iter().zip(v).map(|(x, v)| x + h * v).collect()).collect();
            self.fill(false, &moved);
            code.run(module, forward, &self.bounds, self.arguments.block()).map_err(|e| e.message.clone())?;
            Ok(dot(&self.read(false), &self.seeds).0)
        };
        let middle = value(0.0)?;
        let mut kink = false;
        for h in [1e-5, 1e-6, 1e-7] {
            let (up, down) = (value(h)?, value(-h)?);
            let (left, right, central) = ((middle - down) / h, (up - middle) / h, (up - down) / (2.0 * h));
            let scale = 1.0 + size + central.abs();
            if (central - derivative).abs() < 1e-4 * scale {
                return Ok(true);
            }
            kink |= (left - right).abs() > 1e-4 * scale;
        }
        if kink { Ok(false) } else { Err(format!("forward mode gives {derivative:e}, central differences disagree")) }
    }
}

/// Compiled entries of one module.
enum Code {
    Interp(HashMap<FuncId, Box<dyn Executable>>),
    Host(HostModule),
}

impl Code {
    fn new(module: &Module, device: &dyn Device) -> Result<Code, String> {
        if device.is_reference() {
            return Ok(Code::Interp(HashMap::new()));
        }
        let kernels: Vec<FuncId> = module.kernels().map(|(id, _)| id).collect();
        let options = HostOptions { checked: true, opt: Opt::Lean, cpu: Cpu::Native, atomics: Atomics::Plain };
        HostModule::compile(module, &kernels, &options).map(Code::Host).map_err(|error| error.to_string())
    }

    fn run(
        &mut self,
        module: &Module,
        entry: FuncId,
        bounds: &LaunchBounds,
        args: *const c_void,
    ) -> kc::run::Result<Report> {
        match self {
            Code::Interp(prepared) => {
                if let std::collections::hash_map::Entry::Vacant(slot) = prepared.entry(entry) {
                    let how = How {
                        checked: true,
                        fmad: false,
                        tensor_cores: kc::run::devices::TensorCores::Off,
                        alone: true,
                        in_order: false,
                        cpu: kc::run::devices::Cpu::Native,
                        trial: kc::run::devices::Trial::PLAIN,
                        objects: None,
                    };
                    slot.insert(devices::prepare(&Interp, module, entry, &how)?);
                }
                let job = Job::new(*bounds, args, 1);
                // SAFETY: `args` was made for this entry, and its arrays live in `Run::arguments`.
                unsafe { prepared[&entry].run(module, &job) }
            }
            Code::Host(host) => {
                let code = host.entry(entry).expect("all kernels are compiled");
                let mut status = HostStatus {
                    kind: HostStatus::OK,
                    site: 0,
                    dim: 0,
                    extent: 0,
                    index: 0,
                    thread: 0,
                    print: None,
                    user: std::ptr::null_mut(),
                    note: 0,
                    visited: 0,
                    note_thread: 0,
                };
                // SAFETY: as above.
                unsafe { code(bounds, args, 0, bounds.size, &raw mut status) };
                if status.kind != HostStatus::OK {
                    return Err(kc::run::fail(kc::diag::Code::E1101, "host code reports an error"));
                }
                Ok(Report::default())
            }
        }
    }
}

fn argument(name: &str, ty: Type) -> Argument {
    let kind = match ty {
        Type::Array(array) => {
            let stored = |key: String, fill: Fill| Some(Stored { key, source: Source::Fill(fill) });
            let zero = Fill::Value(Literal::One(Number::Int(0)));
            let contents = if name == "count" { zero.clone() } else { Fill::Random(7) };
            ArgumentKind::Array(ArrayArgument {
                ndim: Some(array.ndim.into()),
                shape: Some(match (name.starts_with("tile"), array.ndim) {
                    (false, 2) if name == "wide" => vec![40 * THREADS, 4],
                    (true, 2) => vec![4 * THREADS, 4],
                    (true, _) => vec![4 * THREADS],
                    (false, 2) => vec![THREADS, 3],
                    (false, _) => vec![SHARED],
                }),
                data: stored(name.to_string(), contents),
                grad: stored(format!("{name}.grad"), zero),
                ..ArrayArgument::default()
            })
        }
        ty if ty.is_int() => ArgumentKind::Value { dtype: None, literal: Literal::One(Number::Int(4)) },
        _ => ArgumentKind::Value { dtype: None, literal: Literal::One(Number::Float(0.375)) },
    };
    Argument { name: name.to_string(), kind }
}

/// The dot product, and the sum of the magnitudes of its terms.
fn dot(a: &Floats, b: &Floats) -> (f64, f64) {
    let terms = a.iter().flatten().zip(b.iter().flatten()).map(|(a, b)| a * b);
    terms.fold((0.0, 0.0), |(sum, size), term| (sum + term, size + term.abs()))
}

/// The greatest difference of two numbers, relative to the greatest number (or 1).
fn distance(a: &Floats, b: &Floats) -> f64 {
    let size = a.iter().flatten().fold(1.0, |size: f64, x| size.max(x.abs()));
    a.iter().flatten().zip(b.iter().flatten()).fold(0.0, |far: f64, (a, b)| far.max((a - b).abs())) / size
}

fn same_bits(a: &Floats, b: &Floats) -> bool {
    let bits = |floats: &Floats| -> Vec<u64> { floats.iter().flatten().map(|x| x.to_bits()).collect() };
    bits(a) == bits(b)
}

/// Where numbers first differ in their bits: the argument, the element, and both.
fn first_difference(a: &Floats, b: &Floats) -> String {
    for (n, (a, b)) in a.iter().zip(b).enumerate() {
        if let Some(k) = (0..a.len().min(b.len())).find(|&k| a[k].to_bits() != b[k].to_bits()) {
            return format!("number {k} of argument {n}, {:e} and {:e}", a[k], b[k]);
        }
    }
    "none".to_string()
}
