//! Is a program right? Its kernels run one after the other on the host and on the interpreter at
//! several sizes, each of them also in another order of its threads, and its gradient is compared
//! with forward mode; at the end the arrays are compared with what the program's own reference
//! computes.

use super::artefacts::{Compiled, Kernel, Rejection};
use super::launch::{self, Contents, Scale, Size};
use super::mutants::{self, Run};
use super::plan::{Plan, Step};
use super::reference;
use crate::abi::LaunchBounds;
use crate::codegen::llvm::{Atomics, Cpu, HostModule, HostOptions, Opt};
use crate::driver::Timings;
use crate::ir::{Module, Phase, interp};
use crate::run::args::Arguments;
use crate::run::args::elements::leaves;
use crate::run::devices::host::Compiled as HostKernel;
use crate::run::devices::{Executable, Job};
use crate::run::gradients::double;
use crate::run::gradients::gradcheck;
use crate::run::gradients::gradcheck::Kernels;
use crate::run::launch::Direction;
use crate::syntax::ast::Parsed;
use crate::types::Scalar;

/// What the checks of a row found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// The host gave what the interpreter gave, at each of these launch dimensions.
    pub host_ok: bool,
    pub shapes: Vec<String>,
    /// Between a float of the host and of the interpreter, at most; and that in units in the last
    /// place.
    pub max_abs: f64,
    pub max_ulp: u64,
    /// The floats of the small launch are those of double precision except for rounding; None:
    /// there is no such program.
    pub f64_ok: Option<bool>,
    /// The greatest difference, relative to the number and the scale of its array.
    pub f64_error: f64,
    /// The threads may run in any order, and no two store to one element.
    pub order_free: bool,
    /// An index was negative, which counts from the end of its array.
    pub from_end: bool,
    /// How far the arrays are at most from what the program's reference computes, relative to the
    /// number and the scale of its array; None: it has none.
    pub reference_error: Option<f64>,
    /// What became of mutants of the program, where some were made.
    pub mutants: Option<mutants::Tally>,
    /// The gradient passed the dot-product test; None: there is none, see `grad_skipped`.
    pub grad_ok: Option<bool>,
    pub grad_error: f64,
    pub grad_skipped: Option<String>,
}

/// An array of the small launch, as rows show it.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Tensor {
    pub name: String,
    pub dtype: String,
    pub shape: Vec<u64>,
    /// Little-endian bytes in base64.
    pub data: String,
}

/// The arrays of the program at [`Scale::Few`] before its first launch and after its last.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Example {
    pub inputs: Vec<Tensor>,
    pub outputs: Vec<Tensor>,
}

/// A launch at [`Scale::Few`], as the interpreter did it.
pub struct Launched {
    pub size: Size,
    /// What the arrays held before it.
    pub contents: Contents,
    pub before: Arguments,
    pub after: Arguments,
}

/// A program that passed.
pub struct Checked {
    pub verdict: Verdict,
    /// One per step.
    pub few: Vec<Launched>,
    /// One per size.
    pub runs: Vec<Run>,
}

impl Checked {
    /// The small launches as rows show them: each array as the first found it and as the last left
    /// it.
    pub fn example(&self, plan: &Plan, compiled: &Compiled) -> Example {
        let mut out = Example::default();
        for (step, Launched { before, after, .. }) in plan.steps.iter().zip(&self.few) {
            let renamed = |mut tensor: Tensor| {
                let (name, rest) = tensor.name.split_once('.').map_or((tensor.name.as_str(), ""), |(a, b)| (a, b));
                let dot = if rest.is_empty() { "" } else { "." };
                tensor.name = format!("{}{dot}{rest}", step.array_of(name));
                tensor
            };
            for tensor in tensors(before, compiled).into_iter().map(renamed) {
                if !out.inputs.iter().any(|other| other.name == tensor.name) {
                    out.inputs.push(tensor);
                }
            }
            for tensor in tensors(after, compiled).into_iter().map(renamed) {
                match out.outputs.iter_mut().find(|other| other.name == tensor.name) {
                    Some(other) => *other = tensor,
                    None => out.outputs.push(tensor),
                }
            }
        }
        out
    }
}

/// How far float32 may be from float64, relative to the number and the scale of its array: programs
/// whose rounding errors grow further say little.
pub const MAX_F64_ERROR: f64 = 1e-3;

/// Instructions that one launch of the interpreter may take: loops of generated programs are short.
pub const STEPS: u64 = 20_000_000;

/// Runs all checks of a program, parsed if that gave no finding.
pub fn verify(
    plan: &Plan,
    parsed: Option<&Parsed>,
    compiled: &Compiled,
    seed: u64,
    timings: &mut Timings,
) -> Result<Checked, Rejection> {
    let module = &compiled.program.module;
    let options = HostOptions { checked: true, opt: Opt::None, cpu: Cpu::Native, atomics: Atomics::Plain };
    let runner = |kernel: &Kernel| {
        let code = HostModule::compile(module, &[kernel.forward], &options);
        let code = code.map_err(|e| Rejection::new("back end host", e.message))?;
        let missing = || Rejection::new("back end host", "the host code has no entry");
        let entry = code.entry(kernel.forward).ok_or_else(missing)?;
        let interpreter = interp::Program::new(module, kernel.forward);
        Ok(Runner { host: HostKernel::alone(code, entry), interpreter })
    };
    let runners = compiled.kernels.iter().map(|kernel| timings.time("host code", || runner(kernel)));
    let runners = runners.collect::<Result<Vec<Runner>, Rejection>>()?;
    let wide = timings.time("double", || reference::wide(plan, parsed, &compiled.compiler));
    let mut verdict = Verdict { host_ok: true, order_free: true, ..Verdict::default() };
    let (mut few, mut runs) = (Vec::new(), Vec::new());
    // What has one size is looked at once.
    for scale in Scale::ALL.into_iter().filter(|scale| *scale == Scale::Few || !plan.is_fixed()) {
        let mut contents = launch::contents(plan, &plan.steps, &launch::values(plan, scale), seed);
        let first = contents.clone();
        let mut shapes = Vec::new();
        for step in &plan.steps {
            let size = launch::size(plan, step, scale);
            let (kernel, runner) = compiled
                .kernels
                .iter()
                .zip(&runners)
                .find(|(kernel, _)| kernel.name == step.kernel)
                .ok_or_else(|| Rejection::new("launch", format!("there is no kernel `{}`", step.kernel)))?;
            let case = Case { plan, step, compiled, kernel, size: &size, contents: &contents };
            shapes.push(size.threads.iter().map(u32::to_string).collect::<Vec<_>>().join("x"));
            let after = case.run(runner, &mut verdict, timings)?;
            if scale == Scale::Few {
                case.examine(runner, &wide, &after, seed, &mut verdict, timings)?;
            }
            let before = match scale {
                Scale::Few => Some((case.bind(Direction::Forward)?, contents.clone())),
                _ => None,
            };
            launch::keep(&mut contents, step, &after, &module.structs);
            few.extend(before.map(|(before, contents)| Launched { size, contents, before, after }));
        }
        verdict.shapes.push(shapes.join(" "));
        let mut expected = contents.clone();
        if !plan.references.is_empty() {
            let made = timings.time("reference", || reference::expected(plan, &wide, scale, first.clone()))?;
            let error = reference::compare(plan, &made, &contents).map_err(|message| {
                Rejection::new("reference differs", format!("{message} at {:?}", launch::values(plan, scale)))
            })?;
            verdict.reference_error = Some(verdict.reference_error.unwrap_or(0.0).max(error));
            expected.extend(made);
        }
        runs.push(Run { scale, given: first, found: contents, expected });
    }
    if verdict.grad_ok.is_none() {
        verdict.grad_skipped = compiled.kernels.iter().find_map(|kernel| kernel.no_backward.clone());
    }
    Ok(Checked { verdict, few, runs })
}

/// A kernel in both forms that are compared.
struct Runner {
    host: HostKernel,
    interpreter: interp::Program,
}

/// One launch of a program.
pub struct Case<'a> {
    pub plan: &'a Plan,
    pub step: &'a Step,
    pub compiled: &'a Compiled,
    pub kernel: &'a Kernel,
    pub size: &'a Size,
    /// What its arrays hold.
    pub contents: &'a Contents,
}

/// How a launch on the interpreter ended.
pub struct Ended {
    pub arguments: Arguments,
    /// The first error.
    pub trap: Option<interp::Trap>,
    /// Two threads that stored to one element; not looked for where the threads run backwards.
    pub clash: Option<interp::Clash>,
    /// An index was negative and counted from the end.
    pub from_end: bool,
}

impl Case<'_> {
    pub fn bounds(&self) -> Result<LaunchBounds, Rejection> {
        LaunchBounds::new(&self.size.threads).ok_or_else(|| Rejection::new("launch", "too many threads"))
    }

    pub fn bind(&self, direction: Direction) -> Result<Arguments, Rejection> {
        let launch = launch::launch(self.step, self.size, self.contents, direction);
        let module = &self.compiled.program.module;
        Arguments::bind(&launch, "launch", &module.functions[self.kernel.forward], &module.structs)
            .map_err(|e| Rejection::new("launch", e.message.clone()))
    }

    /// Runs the launch on the interpreter and on the host, which must agree; gives what the
    /// interpreter left.
    fn run(&self, runner: &Runner, verdict: &mut Verdict, timings: &mut Timings) -> Result<Arguments, Rejection> {
        let expected = timings.time("interpret", || self.interpret(&runner.interpreter, false, verdict))?;
        let found = self.bind(Direction::Forward)?;
        let (args, memory) = (found.block(), found.memory());
        let job = Job { memory: &memory, ..Job::new(self.bounds()?, args, 1) };
        // SAFETY: the arguments were bound for this kernel and live in `found`.
        let report = unsafe { runner.host.run(&self.compiled.program.module, &job) };
        let report = report.map_err(|e| Rejection::new("host run", e.message.clone()))?;
        if let Some(trap) = report.trap {
            return Err(Rejection::new("out of bounds", format!("{:?}", trap.kind)));
        }
        // Arrays whose order is free are not compared element by element, but one worker goes in
        // order.
        let (absolute, ulp) = distance(&expected, &found, self.compiled)?;
        verdict.max_abs = verdict.max_abs.max(absolute);
        verdict.max_ulp = verdict.max_ulp.max(ulp);
        match ulp > 4 {
            true => Err(Rejection::new("host differs", format!("{ulp} ulp at {:?}", self.size.threads))),
            false => Ok(expected),
        }
    }

    /// Whether the launch gives the same in another order of its threads and in double precision,
    /// and has the right gradient.
    fn examine(
        &self,
        runner: &Runner,
        wide: &Module,
        expected: &Arguments,
        seed: u64,
        verdict: &mut Verdict,
        timings: &mut Timings,
    ) -> Result<(), Rejection> {
        let reversed = timings.time("interpret", || self.interpret(&runner.interpreter, true, verdict))?;
        let is_free = |name: &str| self.plan.unordered.iter().any(|free| free == self.step.array_of(name));
        if !same_in_any_order(expected, &reversed, self.compiled, &is_free) {
            let message = format!("the result of `{}` depends on the order of the threads", self.step.kernel);
            return Err(Rejection::new("race", message));
        }
        if let Some(error) = timings.time("double", || self.double(wide, expected))? {
            verdict.f64_ok = Some(true);
            verdict.f64_error = verdict.f64_error.max(error);
        }
        match self.kernel.backward {
            Some(_) => timings.time("gradient", || self.gradient(seed, verdict)),
            None => Ok(()),
        }
    }

    fn gradient(&self, seed: u64, verdict: &mut Verdict) -> Result<(), Rejection> {
        let launch = launch::launch(self.step, self.size, self.contents, Direction::Gradient);
        let kernels = Kernels {
            forward: self.kernel.forward,
            tangents: self.kernel.tangents,
            device: &crate::run::devices::interp::Interp,
        };
        let rows = gradcheck::check(&self.compiled.program, &kernels, &launch, "gradient", seed | 1)
            .map_err(|e| Rejection::new("gradient run", e.message.clone()))?;
        if let Some(wrong) = rows.iter().find(|row| !row.right) {
            let error = wrong.dot_product.unwrap_or(wrong.difference);
            return Err(Rejection::new("gradient", format!("`{}`: {error:e}", wrong.argument)));
        }
        verdict.grad_ok = Some(true);
        let errors = rows.iter().map(|row| row.dot_product.unwrap_or(row.difference));
        verdict.grad_error = errors.fold(verdict.grad_error, f64::max);
        Ok(())
    }

    /// How far the launch is at most from the same in double precision; None: there is no such
    /// program.
    fn double(&self, wide: &Module, expected: &Arguments) -> Result<Option<f64>, Rejection> {
        let module = &self.compiled.program.module;
        if double::rounds(module, self.kernel.forward) {
            return Ok(None);
        }
        let Some(kernel) = wide.entry(&self.step.kernel, Phase::Forward) else { return Ok(None) };
        let launch = launch::launch(self.step, self.size, self.contents, Direction::Forward);
        let given = self.bind(Direction::Forward)?;
        let bound =
            double::arguments(&launch, "launch", &given, &module.structs, &wide.functions[kernel], &wide.structs);
        let Ok(arguments) = bound else { return Ok(None) };
        let mut outcome = interp::Outcome::new(|_| {});
        outcome.steps = Some(STEPS);
        let bounds = self.bounds()?;
        // SAFETY: the arguments were bound for this kernel, and nobody else uses them.
        unsafe {
            interp::Program::new(wide, kernel).run(&bounds, arguments.block(), 0, bounds.size, &mut outcome);
        }
        if let Some(trap) = outcome.trap.take() {
            return Err(Rejection::new("double precision differs", trap.message));
        }
        let mut worst = 0.0f64;
        for (plain, wider) in expected.arrays.iter().zip(&arguments.arrays) {
            let ours = expected.floats(plain, false, &module.structs);
            let theirs = arguments.floats(wider, false, &wide.structs);
            let scale = reference::scale_of(&theirs);
            for (a, b) in ours.iter().zip(&theirs) {
                let error = reference::distance(*b, *a, scale);
                worst = if error.is_nan() { f64::INFINITY } else { worst.max(error) };
            }
        }
        match worst <= MAX_F64_ERROR {
            true => Ok(Some(worst)),
            false => Err(Rejection::new("double precision differs", format!("by {worst:e}"))),
        }
    }

    /// Runs the launch on the interpreter, with the threads in order or the other way round.
    pub fn launch(&self, interpreter: &interp::Program, reversed: bool) -> Result<Ended, Rejection> {
        let arguments = self.bind(Direction::Forward)?;
        let bounds = self.bounds()?;
        let mut outcome = interp::Outcome::new(|_| {});
        outcome.steps = Some(STEPS);
        outcome.accesses = (!reversed).then(interp::Accesses::of_writes);
        // SAFETY: the arguments were bound for this kernel, and nobody else uses them.
        unsafe {
            if reversed {
                for thread in (0..bounds.size).rev() {
                    interpreter.run(&bounds, arguments.block(), thread, thread + 1, &mut outcome);
                }
            } else {
                interpreter.run(&bounds, arguments.block(), 0, bounds.size, &mut outcome);
            }
        }
        let trap = outcome.trap.take();
        let clash = outcome.accesses.take().and_then(|accesses| accesses.clash);
        let from_end = outcome.from_end;
        drop(outcome);
        Ok(Ended { arguments, trap, clash, from_end })
    }

    /// The arguments after a run without error.
    fn interpret(
        &self,
        interpreter: &interp::Program,
        reversed: bool,
        verdict: &mut Verdict,
    ) -> Result<Arguments, Rejection> {
        let Ended { arguments, trap, clash, from_end } = self.launch(interpreter, reversed)?;
        verdict.from_end |= from_end;
        if let Some(clash) = clash {
            return Err(Rejection::new(
                "race",
                format!("threads {:?} store to one element", [clash.earlier.thread, clash.later.thread]),
            ));
        }
        match trap {
            None => Ok(arguments),
            Some(trap) => {
                let cause = match trap.kind {
                    interp::TrapKind::OutOfBounds | interp::TrapKind::Component => "out of bounds",
                    interp::TrapKind::Assert => "assertion",
                    interp::TrapKind::Waits => "a barrier without end",
                    interp::TrapKind::StepLimit => "too many steps",
                };
                Err(Rejection::new(cause, trap.message))
            }
        }
    }
}

/// The leaves of all arrays as bits, type by type.
fn each_leaf(arguments: &Arguments, compiled: &Compiled, mut f: impl FnMut(&str, Scalar, Vec<u64>, Vec<u8>)) {
    let structs = &compiled.program.module.structs;
    for array in &arguments.arrays {
        for leaf in leaves(array.ty.element.into(), structs).unwrap_or_default() {
            let shape = array.shape.iter().map(|&n| u64::from(n)).chain(leaf.shape.iter().copied()).collect();
            f(&format!("{}{}", array.key, leaf.suffix), leaf.scalar, shape, arguments.gather(array, &leaf));
        }
    }
}

pub fn tensors(arguments: &Arguments, compiled: &Compiled) -> Vec<Tensor> {
    let mut out = Vec::new();
    each_leaf(arguments, compiled, |name, scalar, shape, bytes| {
        out.push(Tensor { name: name.to_string(), dtype: scalar.name().to_string(), shape, data: base64(&bytes) });
    });
    out
}

fn collect(arguments: &Arguments, compiled: &Compiled) -> Vec<(String, Scalar, Vec<u8>)> {
    let mut out = Vec::new();
    each_leaf(arguments, compiled, |name, scalar, _, bytes| out.push((name.to_string(), scalar, bytes)));
    out
}

/// The largest distance of two floats, and the largest in units in the last place; results that are
/// not finite, or integers that differ, are refused.
fn distance(expected: &Arguments, found: &Arguments, compiled: &Compiled) -> Result<(f64, u64), Rejection> {
    let (mut absolute, mut most) = (0.0f64, 0);
    for ((name, scalar, a), (_, _, b)) in collect(expected, compiled).into_iter().zip(collect(found, compiled)) {
        if scalar == Scalar::F64
            && let Some(x) = doubles(&a).find(|x| !x.is_finite() || x.abs() > 1e12)
        {
            return Err(Rejection::new("not finite", format!("`{name}` holds {x}")));
        }
        if scalar != Scalar::F32 {
            if a != b {
                return Err(Rejection::new("host differs", format!("`{name}` differs")));
            }
            continue;
        }
        for (a, b) in floats(&a).zip(floats(&b)) {
            if !a.is_finite() || a.abs() > 1e12 {
                return Err(Rejection::new("not finite", format!("`{name}` holds {a}")));
            }
            absolute = absolute.max((f64::from(a) - f64::from(b)).abs());
            most = most.max(ulps(a, b));
        }
    }
    Ok((absolute, most))
}

/// Floats may differ by the rounding of sums in another order; the elements of some arrays may come
/// in another order.
fn same_in_any_order(a: &Arguments, b: &Arguments, compiled: &Compiled, is_free: &dyn Fn(&str) -> bool) -> bool {
    collect(a, compiled).into_iter().zip(collect(b, compiled)).all(|((name, scalar, mut a), (_, _, mut b))| {
        if is_free(&name) {
            let sort = |bytes: &[u8]| {
                let mut words: Vec<&[u8]> = bytes.chunks(scalar.size() as usize).collect();
                words.sort_unstable();
                words.concat()
            };
            (a, b) = (sort(&a), sort(&b));
        }
        match scalar {
            Scalar::F32 => {
                floats(&a).zip(floats(&b)).all(|(a, b)| (a - b).abs() <= 1e-4 * (1.0 + a.abs().max(b.abs())))
            }
            Scalar::F64 => {
                doubles(&a).zip(doubles(&b)).all(|(a, b)| (a - b).abs() <= 1e-9 * (1.0 + a.abs().max(b.abs())))
            }
            _ => a == b,
        }
    })
}

fn doubles(bytes: &[u8]) -> impl Iterator<Item = f64> {
    bytes.as_chunks::<8>().0.iter().map(|chunk| f64::from_le_bytes(*chunk))
}

pub fn floats(bytes: &[u8]) -> impl Iterator<Item = f32> {
    bytes.as_chunks::<4>().0.iter().map(|chunk| f32::from_le_bytes(*chunk))
}

/// Steps between two floats of the type.
fn ulps(a: f32, b: f32) -> u64 {
    let order = |x: f32| {
        let bits = i64::from(x.to_bits() as i32);
        if bits < 0 { i64::from(i32::MIN) - bits } else { bits }
    };
    if a == b { 0 } else { order(a).abs_diff(order(b)) }
}

/// RFC 4648.
pub fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().fold(0u32, |word, &b| word << 8 | u32::from(b)) << (8 * (3 - chunk.len()));
        for k in 0..4 {
            let digit = ALPHABET[(word >> (18 - 6 * k)) as usize & 63];
            out.push(if k <= chunk.len() { digit as char } else { '=' });
        }
    }
    out
}
