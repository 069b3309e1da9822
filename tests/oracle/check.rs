//! Does kc compute what the evaluator computes? Values of all arrays, and the gradient along a
//! direction. What kc refuses with a code counts as refused.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::LazyLock;

use kc::diag::Diagnostic;
use kc::driver::{Compiler, Gradients, Request, SameArrays};
use kc::ir::{BlockThreads, Module, Nudged};
use kc::run::devices::Device;
use kc::run::devices::host::Host;
use kc::run::devices::interp::Interp;
use kc::run::devices::sim::Sim;
use kc::run::program::{Program, Wanted};
use kc::run::session::{Finished, Options, Session};
use kc::source::{SourceFile, SourceMap};
use tempfile::TempDir;

use crate::case::{Case, Numbers, Step};
use crate::eval::Stop;
use crate::eval::number::Kind;
use crate::random::Random;

pub enum Outcome {
    /// Values are right, and the gradient too where there is one.
    Right {
        gradient: bool,
    },
    /// The code with which kc refuses the program.
    Refused(String),
    /// The values are right, and the run says that the gradient may not be (W1120).
    Told,
    /// The language leaves open what the program computes.
    Undefined(String),
    /// Numbers grow too large to be compared.
    NotFinite,
    Wrong(String),
}

/// What is compared beside the interpreter.
#[derive(Clone, Copy)]
pub struct Extent {
    pub host: bool,
    pub sim: bool,
}

/// Beyond this, nothing is compared.
const LARGE: f64 = 1e6;

/// How close values and slopes of a case are: in double, and in float32.
struct Closeness {
    values: f64,
    slopes: f64,
}

fn closeness(case: &Case) -> Closeness {
    if case.arrays.iter().any(|array| array.kind == Kind::F32) {
        Closeness { values: 1e-4, slopes: 2e-3 }
    } else if case.text.contains("wp.float32") || case.text.contains("= float") {
        // Through a conversion to float32, an adjoint is one too.
        Closeness { values: 1e-10, slopes: 1e-6 }
    } else {
        Closeness { values: 1e-10, slopes: 1e-8 }
    }
}

pub fn check(case: &Case, seed: u64, extent: Extent) -> Outcome {
    let all = catch_unwind(AssertUnwindSafe(|| compare(case, seed, extent)));
    match all {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(wrong)) => Outcome::Wrong(wrong),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string()));
            Outcome::Wrong(format!("panic: {}", text.unwrap_or_default()))
        }
    }
}

/// Error: why it is wrong.
fn compare(case: &Case, seed: u64, extent: Extent) -> Result<Outcome, String> {
    let along = case.direction(&mut Random::new(seed ^ 0xD1F));
    let expected = match case.evaluate(&along, 0.0) {
        Ok(expected) => expected,
        Err(Stop::Undefined(why)) => return Ok(Outcome::Undefined(why)),
        Err(Stop::Meaningless(why)) => return refused(case, &why),
        Err(Stop::Fault(why)) => return Err(format!("the evaluator: {why}")),
    };
    let small = |x: f64| x.is_finite() && x.abs() < LARGE;
    if !expected.iter().flatten().all(|n| small(n.value()) && (case.at_rest || small(n.dot))) {
        return Ok(Outcome::NotFinite);
    }
    let folder = written(case)?;
    let runs = Runs { case, folder: folder.path(), expected: &expected, along: &along, whole: extent.host };
    let ended = runs.one(&Interp, true)?;
    let outcome = match &ended {
        Ended::Right | Ended::Told => {
            if ended == Ended::Told {
                Outcome::Told
            } else {
                Outcome::Right { gradient: true }
            }
        }
        // Without its gradient, it may have values.
        Ended::Refused(_) => match runs.one(&Interp, false)? {
            Ended::Refused(code) => return Ok(Outcome::Refused(code)),
            _ => Outcome::Right { gradient: false },
        },
    };
    let gradient = matches!(outcome, Outcome::Right { gradient: true });
    for (device, wanted) in [(&Host as &'static dyn Device, extent.host), (&Sim, extent.sim)] {
        if wanted && let Ended::Refused(code) = runs.one(device, gradient)? {
            return Err(format!("{} refuses what the interpreter runs: {code}", device.name()));
        }
    }
    Ok(outcome)
}

/// A folder with the program.
fn written(case: &Case) -> Result<TempDir, String> {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    std::fs::write(folder.path().join("k.py"), &case.text).map_err(|e| e.to_string())?;
    Ok(folder)
}

/// kc has to refuse what has no meaning, except where nothing follows from it: it may leave that
/// out.
fn refused(case: &Case, why: &str) -> Result<Outcome, String> {
    let folder = written(case)?;
    let runs = Runs { case, folder: folder.path(), expected: &Numbers::new(), along: &[], whole: false };
    match runs.one(&Interp, false)? {
        Ended::Refused(code) => Ok(Outcome::Refused(code)),
        _ => Ok(Outcome::Undefined(format!("no meaning, where perhaps nothing follows from it: {why}"))),
    }
}

#[derive(PartialEq)]
enum Ended {
    Right,
    Told,
    Refused(String),
}

struct Runs<'a> {
    case: &'a Case,
    folder: &'a Path,
    expected: &'a Numbers,
    along: &'a [Vec<f64>],
    whole: bool,
}

impl Runs<'_> {
    /// One run of the program on a device, compared with what the evaluator found.
    fn one(&self, device: &'static dyn Device, gradient: bool) -> Result<Ended, String> {
        let path = self.folder.join("p.json");
        std::fs::write(&path, self.case.json(gradient).to_string()).map_err(|e| e.to_string())?;
        let mut compiled = Compiled { gradient, whole: self.whole, kept: HashMap::new() };
        let mut compile = |wanted: &Wanted| compiled.program(wanted);
        let options = Options { threads: 1, deterministic: device.name() == "host", ..Options::of(device) };
        let finished = Session::new(options, &mut compile).run_file(&path);
        let on = device.name();
        if let Some(error) = finished.errors.first() {
            let code = error.code.name();
            return match is_refusal(code, &error.message, self.case) {
                true => {
                    if std::env::var_os("KC_ORACLE_SHOW").is_some() {
                        println!("refused: {code} {} {:?}", error.message, error.labels);
                    }
                    Ok(Ended::Refused(code.to_string()))
                }
                false => Err(format!("{on}: {code} {}", error.message)),
            };
        }
        for (array, expected) in self.case.arrays.iter().zip(self.expected) {
            let Some(found) = numbers(&finished, array.name, false) else { continue };
            let wanted: Vec<f64> = expected.iter().map(|n| n.value()).collect();
            if let Some(at) = first_difference(&found, &wanted, closeness(self.case).values) {
                return Err(format!("{on}: {}[{at}] is {}, expected {}", array.name, found[at], wanted[at]));
            }
        }
        let told = finished.findings.iter().any(|finding| finding.code.name() == "W1120");
        if !gradient {
            return Ok(Ended::Right);
        }
        match self.slopes(&finished) {
            Ok(()) => Ok(if told { Ended::Told } else { Ended::Right }),
            Err(_) if told => Ok(Ended::Told),
            Err(wrong) => Err(format!("{on}: {wrong}")),
        }
    }

    /// Compares the gradient with derivatives of the evaluator.
    fn slopes(&self, finished: &Finished) -> Result<(), String> {
        let (mut slope, mut size) = (0.0, 1.0);
        let mut gradients = Vec::new();
        for (array, along) in self.case.arrays.iter().zip(self.along).filter(|(array, _)| array.active) {
            let Some(found) = numbers(finished, array.name, true) else { continue };
            for (g, v) in found.iter().zip(along) {
                slope += g * v;
                size += (g * v).abs();
            }
            gradients.push(format!("{}.grad = {found:?}", array.name));
        }
        let wanted = match self.case.at_rest {
            true => match self.differences() {
                Some(wanted) => wanted,
                None => return Ok(()),
            },
            false => {
                let of = self.case.arrays.iter().position(|array| array.name == self.case.of);
                self.expected[of.expect("an array of the case")].iter().map(|n| n.dot).sum()
            }
        };
        let within = if self.case.at_rest { 1e-4 } else { closeness(self.case).slopes };
        // Not so for NaN.
        if (slope - wanted).abs() <= within * (size + wanted.abs()) {
            return Ok(());
        }
        let along: Vec<_> = self.case.arrays.iter().zip(self.along).filter(|(array, _)| array.active).collect();
        let along: Vec<String> = along.iter().map(|(array, v)| format!("{}: {v:?}", array.name)).collect();
        Err(format!("slope {slope:e}, expected {wanted:e} along {}; {}", along.join(", "), gradients.join(", ")))
    }

    /// The derivative along the direction, where it is the same from both sides and for several
    /// steps.
    fn differences(&self) -> Option<f64> {
        let of = self.case.arrays.iter().position(|array| array.name == self.case.of)?;
        let value = |h: f64| {
            let found = self.case.evaluate(self.along, h).ok()?;
            Some(found[of].iter().map(|n| n.value()).sum::<f64>())
        };
        let middle = value(0.0)?;
        let mut seen: Vec<f64> = Vec::new();
        for h in [1e-4, 1e-5, 1e-6] {
            let (up, down) = (value(h)?, value(-h)?);
            seen.extend([(up - middle) / h, (middle - down) / h, (up - down) / (2.0 * h)]);
        }
        let [.., above, below, wanted] = seen[..] else { return None };
        let size = 1.0 + wanted.abs();
        // A small kink is one: less than what is compared.
        let smooth = (above - below).abs() < 5e-5 * size;
        (smooth && seen.iter().all(|s| (s - wanted).abs() < 2e-3 * size)).then_some(wanted)
    }
}

/// Refusals of the compiler, of launches whose threads race, and of blocks that are not full.
///
/// A tile of such a block has an element for each thread that is there; another index is an error.
fn is_refusal(code: &str, message: &str, case: &Case) -> bool {
    let of_compiler = ["E01", "E02", "E03", "E04", "E05", "E06", "E08"].iter().any(|family| code.starts_with(family));
    // The error names the extent, which no whole block has.
    let last_block = || {
        case.steps.iter().any(|step| match step {
            Step::Launch { dim, block_dim, .. } => {
                let there = dim.last().map_or(0, |last| last % block_dim.max(&1));
                there != 0 && message.contains(&format!("which has extent {there},"))
            }
            _ => false,
        })
    };
    of_compiler || ["E1006", "E1103", "E1108"].contains(&code) || code == "E1101" && last_block()
}

/// Knows the library: to learn it anew for each program would take longer than all the rest.
static COMPILER: LazyLock<Compiler> = LazyLock::new(Compiler::new);

/// What kc makes of a file. A file is compiled once for the launches of a run, with the gradients
/// of all kernels if the run wants some: most of the time of a case goes there.
struct Compiled {
    gradient: bool,
    /// As `kc run` does it: once for all that is asked for.
    whole: bool,
    kept: HashMap<(Option<BlockThreads>, Option<SameArrays>, Option<Nudged>), (Module, Vec<Diagnostic>)>,
}

impl Compiled {
    fn program(&mut self, wanted: &Wanted) -> Program {
        let mut request = Request {
            kernels: wanted.gradient_of.as_ref().or(wanted.kernel.as_ref()).into_iter().cloned().collect(),
            gradients: Gradients {
                backward: wanted.gradient_of.is_some(),
                store: None,
                parameters: true,
                ..Gradients::default()
            },
            same_arrays: wanted.same_arrays.clone(),
            block_threads: wanted.block_threads,
            checked: wanted.checked,
            nudged: wanted.nudged,
            ..Request::default()
        };
        let key = (wanted.block_threads, wanted.same_arrays.clone(), wanted.nudged);
        if !self.whole {
            if let Some((module, diagnostics)) = self.kept.get(&key) {
                let mut sources = SourceMap::default();
                kc::library::Library::default().open(&mut sources);
                let text = std::fs::read_to_string(&wanted.source).unwrap_or_default();
                sources.add(SourceFile::new(&wanted.source, text));
                return Program { module: module.clone(), sources, diagnostics: diagnostics.clone() };
            }
            request.kernels.clear();
            request.gradients.backward = self.gradient;
        }
        let compilation = match self.whole {
            true => Compiler::new().load(&wanted.source, &request),
            false => COMPILER.load(&wanted.source, &request),
        };
        let diagnostics = compilation.diagnostics.into_sorted();
        if !self.whole {
            self.kept.insert(key, (compilation.module.clone(), diagnostics.clone()));
        }
        Program { module: compilation.module, sources: compilation.sources, diagnostics }
    }
}

/// The floats that an array holds; None: no launch takes it. Integers show in what floats are
/// computed from.
fn numbers(finished: &Finished, name: &str, gradient: bool) -> Option<Vec<f64>> {
    let (arguments, program) = finished.arguments.as_ref().zip(finished.program.as_ref())?;
    let array = arguments.arrays.iter().find(|array| array.key == name)?;
    Some(arguments.floats(array, gradient, &program.module.structs))
}

fn first_difference(a: &[f64], b: &[f64], within: f64) -> Option<usize> {
    let size = b.iter().fold(1.0, |size: f64, x| size.max(x.abs()));
    (0..a.len().min(b.len())).find(|&n| (a[n] - b[n]).abs() > within * size || a[n].is_nan() != b[n].is_nan())
}
