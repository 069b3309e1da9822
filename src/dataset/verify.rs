//! Is a program right? It runs on the host and on the reference interpreter at several sizes, in another order of its
//! threads, and its gradient is compared with forward mode.

use super::artefacts::{self, Compiled, Rejection};
use super::launch::{self, Scale, Size};
use super::sample::tree::Program;
use crate::abi::LaunchBounds;
use crate::codegen::llvm::{Cpu, HostModule, HostOptions, Opt};
use crate::driver::Timings;
use crate::ir::{Phase, interp};
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
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Verdict {
    /// The host gave what the interpreter gave, at each of these launch dimensions.
    pub host_ok: bool,
    pub shapes: Vec<String>,
    /// Between a float of the host and of the interpreter, at most; and that in units in the last place.
    pub max_abs: f64,
    pub max_ulp: u64,
    /// The floats of the small launch are those of double precision but for rounding; None: there is no such program.
    pub f64_ok: Option<bool>,
    /// The greatest difference, relative to 1 plus the number.
    pub f64_error: f64,
    /// The threads may run in any order, and no two store to one element.
    pub order_free: bool,
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

/// The arrays of the small launch before and after it.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Example {
    pub launch_dim: Vec<u32>,
    pub inputs: Vec<Tensor>,
    pub outputs: Vec<Tensor>,
}

/// The launch at [`Scale::Few`], as the interpreter did it.
pub struct Launched {
    pub size: Size,
    pub before: Arguments,
    pub after: Arguments,
}

/// A program that passed.
pub struct Checked {
    pub verdict: Verdict,
    pub few: Launched,
}

impl Checked {
    /// The small launch as rows show it.
    pub fn example(&self, compiled: &Compiled) -> Example {
        let Launched { size, before, after } = &self.few;
        let (inputs, outputs) = (tensors(before, compiled), tensors(after, compiled));
        Example { launch_dim: size.threads.clone(), inputs, outputs }
    }
}

/// How far float32 may be from float64, relative to 1 plus the number: programs whose rounding errors grow further say little.
const MAX_F64_ERROR: f64 = 1e-3;

/// Instructions that one launch of the interpreter may take: loops of generated programs are short.
const STEPS: u64 = 20_000_000;

/// Runs all checks of a program, parsed if that gave no finding.
pub fn verify(
    program: &Program,
    text: &str,
    parsed: Option<&Parsed>,
    compiled: &Compiled,
    seed: u64,
    timings: &mut Timings,
) -> Result<Checked, Rejection> {
    let module = &compiled.program.module;
    let options = HostOptions { checked: true, opt: Opt::None, cpu: Cpu::Native, alone: true };
    let code = timings
        .time("host code", || HostModule::compile(module, &[compiled.forward], &options))
        .map_err(|e| Rejection::new("back end host", e.message))?;
    let Some(entry) = code.entry(compiled.forward) else {
        return Err(Rejection::new("back end host", "the host code has no entry"));
    };
    let host = HostKernel::alone(code, entry);
    let interpreter = interp::Program::new(module, compiled.forward);
    let mut verdict = Verdict { host_ok: true, order_free: true, ..Verdict::default() };
    let mut few = None;
    for scale in Scale::ALL {
        let size = launch::size(program, scale);
        let case = Case { program, compiled, size: &size, seed };
        let expected = timings.time("interpret", || case.interpret(&interpreter, false))?;
        let found = case.bind(Direction::Forward)?;
        let bounds = case.bounds()?;
        let (args, memory) = (found.block(), found.memory());
        let job = Job { memory: &memory, ..Job::new(bounds, args, 1) };
        // SAFETY: the arguments were bound for this kernel and live in `found`.
        let report = unsafe { host.run(module, &job) }.map_err(|e| Rejection::new("host run", e.message.clone()))?;
        if let Some(trap) = report.trap {
            return Err(Rejection::new("out of bounds", format!("{:?}", trap.kind)));
        }
        let (absolute, ulp) = distance(&expected, &found, compiled)?;
        verdict.max_abs = verdict.max_abs.max(absolute);
        verdict.max_ulp = verdict.max_ulp.max(ulp);
        if ulp > 4 {
            return Err(Rejection::new("host differs", format!("{ulp} ulp at {:?}", size.threads)));
        }
        verdict.shapes.push(size.threads.iter().map(u32::to_string).collect::<Vec<_>>().join("x"));
        if scale == Scale::Few {
            let reversed = timings.time("interpret", || case.interpret(&interpreter, true))?;
            if !same_in_any_order(&expected, &reversed, compiled) {
                return Err(Rejection::new("race", "the result depends on the order of the threads"));
            }
            (verdict.f64_ok, verdict.f64_error) = timings.time("double", || case.double(text, parsed, &expected))?;
            few = Some(Launched { before: case.bind(Direction::Forward)?, after: expected, size });
        }
    }
    match (&compiled.backward, &compiled.no_backward) {
        (Some(_), _) => timings.time("gradient", || gradient(program, compiled, seed, &mut verdict))?,
        (None, reason) => verdict.grad_skipped.clone_from(reason),
    }
    let few = few.ok_or_else(|| Rejection::new("launch", "there is no small launch"))?;
    Ok(Checked { verdict, few })
}

/// One launch of a program.
pub struct Case<'a> {
    pub program: &'a Program,
    pub compiled: &'a Compiled,
    pub size: &'a Size,
    /// Of the numbers in its arrays.
    pub seed: u64,
}

/// How a launch on the interpreter ended.
pub struct Ended {
    pub arguments: Arguments,
    /// The first error.
    pub trap: Option<interp::Trap>,
    /// Two threads that stored to one element; not looked for where the threads run backwards.
    pub clash: Option<interp::Clash>,
}

impl Case<'_> {
    pub fn bounds(&self) -> Result<LaunchBounds, Rejection> {
        LaunchBounds::new(&self.size.threads).ok_or_else(|| Rejection::new("launch", "too many threads"))
    }

    pub fn bind(&self, direction: Direction) -> Result<Arguments, Rejection> {
        let launch = launch::launch(self.program, self.size, self.seed, direction);
        let module = &self.compiled.program.module;
        Arguments::bind(&launch, "launch", &module.functions[self.compiled.forward], &module.structs)
            .map_err(|e| Rejection::new("launch", e.message.clone()))
    }

    /// Whether the launch gives the same numbers in double precision, and how far they are apart at most.
    fn double(
        &self,
        text: &str,
        parsed: Option<&Parsed>,
        expected: &Arguments,
    ) -> Result<(Option<bool>, f64), Rejection> {
        let compiled = self.compiled;
        let (module, name) = (&compiled.program.module, &self.program.kernel.name);
        if double::rounds(module, compiled.forward) {
            return Ok((None, 0.0));
        }
        let wide = artefacts::double(text, parsed, &compiled.compiler);
        let Some(kernel) = wide.entry(name, Phase::Forward) else { return Ok((None, 0.0)) };
        let launch = launch::launch(self.program, self.size, self.seed, Direction::Forward);
        let given = self.bind(Direction::Forward)?;
        let bound =
            double::arguments(&launch, "launch", &given, &module.structs, &wide.functions[kernel], &wide.structs);
        let Ok(arguments) = bound else { return Ok((None, 0.0)) };
        let mut outcome = interp::Outcome::new(|_| {});
        outcome.steps = Some(STEPS);
        let bounds = self.bounds()?;
        // SAFETY: the arguments were bound for this kernel, and nobody else uses them.
        unsafe {
            interp::Program::new(&wide, kernel).run(&bounds, arguments.block(), 0, bounds.size, &mut outcome);
        }
        if let Some(trap) = outcome.trap.take() {
            return Err(Rejection::new("double precision differs", trap.message));
        }
        let mut worst = 0.0f64;
        for (plain, wider) in expected.arrays.iter().zip(&arguments.arrays) {
            let ours = expected.floats(plain, false, &module.structs);
            let theirs = arguments.floats(wider, false, &wide.structs);
            for (a, b) in ours.iter().zip(&theirs) {
                let error = (a - b).abs() / (1.0 + b.abs());
                worst = if error.is_nan() { f64::INFINITY } else { worst.max(error) };
            }
        }
        match worst <= MAX_F64_ERROR {
            true => Ok((Some(true), worst)),
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
        drop(outcome);
        Ok(Ended { arguments, trap, clash })
    }

    /// The arguments after a run without error.
    fn interpret(&self, interpreter: &interp::Program, reversed: bool) -> Result<Arguments, Rejection> {
        let Ended { arguments, trap, clash } = self.launch(interpreter, reversed)?;
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
                    interp::TrapKind::OutOfBounds => "out of bounds",
                    interp::TrapKind::Assert => "assertion",
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

/// The largest distance of two floats, and the largest in units in the last place; results that are not finite, or integers that
/// differ, are refused.
fn distance(expected: &Arguments, found: &Arguments, compiled: &Compiled) -> Result<(f64, u64), Rejection> {
    let (mut absolute, mut most) = (0.0f64, 0);
    for ((name, scalar, a), (_, _, b)) in collect(expected, compiled).into_iter().zip(collect(found, compiled)) {
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

/// Floats may differ by the rounding of sums in another order.
fn same_in_any_order(a: &Arguments, b: &Arguments, compiled: &Compiled) -> bool {
    collect(a, compiled).into_iter().zip(collect(b, compiled)).all(|((_, scalar, a), (_, _, b))| match scalar {
        Scalar::F32 => floats(&a).zip(floats(&b)).all(|(a, b)| (a - b).abs() <= 1e-4 * (1.0 + a.abs().max(b.abs()))),
        _ => a == b,
    })
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

fn gradient(program: &Program, compiled: &Compiled, seed: u64, verdict: &mut Verdict) -> Result<(), Rejection> {
    let size = launch::size(program, Scale::Few);
    let launch = launch::launch(program, &size, seed, Direction::Gradient);
    let kernels = Kernels { forward: compiled.forward, tangents: compiled.tangents };
    let rows = gradcheck::check(&compiled.program, &kernels, &launch, "gradient", seed | 1)
        .map_err(|e| Rejection::new("gradient run", e.message.clone()))?;
    if let Some(wrong) = rows.iter().find(|row| !row.right) {
        let error = wrong.dot_product.unwrap_or(wrong.difference);
        return Err(Rejection::new("gradient", format!("`{}`: {error:e}", wrong.argument)));
    }
    verdict.grad_ok = Some(true);
    let errors = rows.iter().map(|row| row.dot_product.unwrap_or(row.difference));
    verdict.grad_error = errors.fold(0.0, f64::max);
    Ok(())
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
