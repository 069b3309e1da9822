//! Does a fault show, and how? Faulty programs are checked, run beside the right one, and
//! differentiated.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::Class;
use super::cuda::{self, InCuda};
use super::sites::Relaunch;
use crate::dataset::artefacts::{self, Compiled};
use crate::dataset::launch::{self, Contents, Scale, Size};
use crate::dataset::plan::{Plan, Step};
use crate::dataset::random::Random;
use crate::dataset::verify::{self, Case, Ended};
use crate::diag::{Diagnostic, Level};
use crate::driver::{Compilation, Compiler, Gradients, Request};
use crate::ir::{Function, FunctionKind, interp};
use crate::run::args::Arguments;
use crate::run::args::elements::leaves;
use crate::run::gradients::gradcheck;
use crate::run::launch::{Argument, ArgumentKind, Direction, Literal, Number};
use crate::run::{devices, run_errors};
use crate::source::SourceMap;
use crate::types::Scalar;

/// A right program and the numbers in its arrays.
pub struct Trial<'a> {
    pub plan: &'a Plan,
    /// The launch at which faults show: the first, whose arrays nobody has changed.
    pub step: &'a Step,
    pub seed: u64,
    pub compiler: &'a Compiler,
    /// Whether the fault is looked for in CUDA too.
    pub in_cuda: bool,
}

/// How a fault shows.
pub struct Shown {
    /// `check`, `run`, `gradient` or `simulator`.
    pub found_by: &'static str,
    /// What kc says of the faulty program, the findings of the run among it.
    pub diagnostics: Vec<Diagnostic>,
    pub sources: SourceMap,
    /// What goes wrong, in one line.
    pub failure: String,
    /// The launch at which a run shows the fault.
    pub witness: Option<Value>,
    /// Of that launch.
    pub threads: Option<Vec<u32>>,
    pub cuda: Option<InCuda>,
}

impl Shown {
    fn checked(diagnostics: Vec<Diagnostic>, sources: SourceMap, failure: String) -> Shown {
        Shown { found_by: "check", diagnostics, sources, failure, witness: None, threads: None, cuda: None }
    }
}

/// Numbers that differ by more than this, relative to 1 plus their size, are different.
const DIFFERENT: f64 = 1e-3;

impl Trial<'_> {
    /// How the faulty text shows a fault of this class, with another launch than the right one if
    /// that is the fault. None: it does not, or it shows another one.
    pub fn show(&self, class: Class, faulty: &str, launch: Option<Relaunch>) -> Option<Shown> {
        match class {
            Class::Syntax | Class::Type | Class::Shape => self.check(class, faulty),
            Class::Semantic | Class::Race | Class::Bounds => self.run(class, faulty, launch),
            Class::Gradient => self.gradient(faulty),
        }
    }

    /// How the right program fails in CUDA without one of its barriers.
    pub fn without_barrier(&self, random: &mut Random) -> Option<Shown> {
        let right = self.entries(&self.plan.text, false)?;
        let size = launch::size(self.plan, self.step, Scale::Few);
        let contents = launch::contents(self.plan, [self.step], &size.values, self.seed);
        let case = self.case(&right, &size, &contents);
        let cuda = cuda::without_barrier(&case, random)?;
        let inputs = case.bind(Direction::Forward).ok()?;
        let witness = Some(self.witness(&case, &inputs).into());
        let (failure, threads) = (cuda.failure.clone(), Some(size.threads.clone()));
        let sources = right.program.sources;
        let (found_by, diagnostics, cuda) = ("simulator", Vec::new(), Some(cuda));
        Some(Shown { found_by, diagnostics, sources, failure, witness, threads, cuda })
    }

    fn check(&self, class: Class, faulty: &str) -> Option<Shown> {
        let compilation = self.compile(faulty, false);
        let diagnostics = compilation.diagnostics.into_sorted();
        let errors = || diagnostics.iter().filter(|d| d.level == Level::Error);
        let of_parser = |d: &Diagnostic| d.code.is_syntax();
        let fits = match class {
            Class::Syntax => errors().any(of_parser),
            _ => {
                errors().any(|d| ["E02", "E03", "E04", "E05"].contains(&&d.code.name()[..3]))
                    && !errors().any(of_parser)
            }
        };
        let first = errors().next().filter(|_| fits)?;
        let failure = said(first);
        Some(Shown::checked(diagnostics, compilation.sources, failure))
    }

    fn compile(&self, text: &str, backward: bool) -> Compilation {
        let request =
            Request { gradients: Gradients { backward, ..Gradients::default() }, strict: true, ..Request::default() };
        self.compiler.load_text(Path::new("kernel.py"), text.to_string(), &request)
    }

    fn entries(&self, text: &str, backward: bool) -> Option<Compiled> {
        let compilation = self.compile(text, backward);
        let is_fault = |d: &Diagnostic| d.level == Level::Error && !d.code.is_gradient();
        if compilation.diagnostics.iter().any(is_fault) {
            return None;
        }
        artefacts::entries(compilation, &[&self.step.kernel])
    }

    fn run(&self, class: Class, faulty: &str, launch: Option<Relaunch>) -> Option<Shown> {
        let (right, wrong) = (self.entries(&self.plan.text, false)?, self.entries(faulty, class == Class::Race)?);
        let of = |compiled: &Compiled| interp::Program::new(&compiled.program.module, compiled.first().forward);
        let (right_code, wrong_code) = (of(&right), of(&wrong));
        for scale in [Scale::Few, Scale::One, Scale::Many] {
            let size = launch::size(self.plan, self.step, scale);
            let contents = launch::contents(self.plan, [self.step], &size.values, self.seed);
            let other = launch.map_or_else(|| size.clone(), |launch| self.relaunched(launch, scale));
            if other.threads.contains(&0) {
                continue;
            }
            let (right_case, wrong_case) = (self.case(&right, &size, &contents), self.case(&wrong, &other, &contents));
            let expected = right_case.launch(&right_code, false).ok()?.arguments;
            let Ended { arguments: found, trap, clash, .. } = wrong_case.launch(&wrong_code, false).ok()?;
            let mut finding = None;
            let failure = match (class, trap, clash) {
                (Class::Bounds, Some(trap), _) if trap.kind == interp::TrapKind::OutOfBounds => {
                    let bounds = wrong_case.bounds().ok()?;
                    let trap = devices::interp::from_interp(&wrong.program.module, trap);
                    let rank = rank(&wrong.program.module.functions[wrong.first().forward]);
                    let error = run_errors::describe_trap(&trap, &bounds, other.threads.len().max(rank));
                    let failure = said(&error);
                    finding = Some(error);
                    failure
                }
                (Class::Bounds, None, _) => continue,
                (Class::Race, None, Some(clash)) => {
                    let (a, b) = (clash.earlier.thread, clash.later.thread);
                    let place = place(&wrong.program.sources, clash.later.span.start);
                    format!("{place}: threads {a} and {b} store to one element")
                }
                (Class::Race, None, None) => {
                    let backwards = wrong_case.launch(&wrong_code, true).ok()?.arguments;
                    match difference(&found, &backwards, &wrong, &wrong) {
                        Some(what) => format!("the order of the threads shows: {what}"),
                        None => continue,
                    }
                }
                (Class::Semantic, None, None) => match difference(&expected, &found, &right, &wrong) {
                    Some(what) => what,
                    None => continue,
                },
                _ => return None,
            };
            // A wrong number must not be the work of a race.
            if class == Class::Semantic {
                let backwards = wrong_case.launch(&wrong_code, true).ok()?.arguments;
                if difference(&found, &backwards, &wrong, &wrong).is_some() {
                    return None;
                }
            }
            let inputs = right_case.bind(Direction::Forward).ok()?;
            let mut witness = self.witness(&right_case, &inputs);
            if launch.is_some() {
                witness.insert("launch_dim_found".into(), json!(other.threads));
            }
            let cuda = self.in_cuda.then(|| cuda::of(class, &right_case, &wrong_case, &expected)).flatten();
            witness.insert("expected".into(), json!(verify::tensors(&expected, &right)));
            witness.insert("found".into(), json!(verify::tensors(&found, &wrong)));
            let mut diagnostics = wrong.program.diagnostics;
            diagnostics.extend(finding);
            let (sources, witness) = (wrong.program.sources, Some(witness.into()));
            let threads = Some(other.threads);
            return Some(Shown { found_by: "run", diagnostics, sources, failure, witness, threads, cuda });
        }
        None
    }

    /// A launch that is not the right one: as the host program says it, never rounded up.
    fn relaunched(&self, launch: Relaunch, scale: Scale) -> Size {
        let step = Step { block: None, ..self.step.clone() };
        let size = launch::size(self.plan, &step, scale);
        Size { threads: launch.of(size.threads), ..size }
    }

    fn gradient(&self, faulty: &str) -> Option<Shown> {
        let (right, wrong) = (self.entries(&self.plan.text, true)?, self.entries(faulty, true)?);
        let of_gradients = |d: &&Diagnostic| matches!(&d.code.name()[..3], "E06" | "W06");
        let known = |d: &Diagnostic| {
            right.program.diagnostics.iter().any(|other| other.code == d.code && other.message == d.message)
        };
        right.first().backward?;
        let mut failure = match wrong.program.diagnostics.iter().filter(of_gradients).find(|d| !known(d)) {
            Some(new) => said(new),
            None if wrong.first().backward.is_none() => {
                format!("`{}` has no backward entry: no array gets a gradient", self.step.kernel)
            }
            None => return None,
        };
        let size = launch::size(self.plan, self.step, Scale::Few);
        let contents = launch::contents(self.plan, [self.step], &size.values, self.seed);
        let case = self.case(&right, &size, &contents);
        let wanted = launch::launch(self.step, &size, &contents, Direction::Gradient);
        let sample = |compiled: &Compiled| {
            gradcheck::sample(&compiled.program, compiled.first().forward, &wanted, "witness", self.seed | 1)
        };
        let expected = sample(&right).ok()?;
        let mut arrays: Vec<Value> = Vec::new();
        if wrong.first().backward.is_some() {
            let found = sample(&wrong).ok()?;
            let mut worst = None;
            for (right, wrong) in expected.iter().zip(&found) {
                for (n, (a, b)) in right.gradient.iter().zip(&wrong.gradient).enumerate() {
                    if differ(*a, *b) && worst.is_none() {
                        worst = Some(format!("the gradient of `{}[{n}]` is {b}, not {a}", right.argument));
                    }
                }
                arrays.push(json!({
                    "name": right.argument, "adjoint": right.adjoint, "expected": right.gradient, "found": wrong.gradient,
                }));
            }
            failure = format!("{failure}; {}", worst?);
        } else {
            arrays.extend(expected.iter().map(|right| {
                json!({"name": right.argument, "adjoint": right.adjoint, "expected": right.gradient, "found": null})
            }));
        }
        let inputs = case.bind(Direction::Forward).ok()?;
        let mut witness = self.witness(&case, &inputs);
        witness.insert("gradients".into(), arrays.into());
        let Compiled { program, .. } = wrong;
        let (diagnostics, sources) = (program.diagnostics, program.sources);
        let (witness, threads) = (Some(witness.into()), Some(size.threads));
        Some(Shown { found_by: "gradient", diagnostics, sources, failure, witness, threads, cuda: None })
    }

    fn case<'b>(&'b self, compiled: &'b Compiled, size: &'b Size, contents: &'b Contents) -> Case<'b> {
        Case { plan: self.plan, step: self.step, compiled, kernel: compiled.first(), size, contents }
    }

    /// The launch and what it is given.
    fn witness(&self, case: &Case, inputs: &Arguments) -> Map<String, Value> {
        let launch = launch::launch(self.step, case.size, case.contents, Direction::Forward);
        let scalars: Map<String, Value> =
            launch.args.iter().filter_map(|arg| Some((arg.name.clone(), scalar(arg)?))).collect();
        let mut out = Map::new();
        out.insert("launch_dim".into(), json!(case.size.threads));
        out.insert("scalars".into(), scalars.into());
        out.insert("inputs".into(), json!(verify::tensors(inputs, case.compiled)));
        out
    }
}

/// `E0109: a header without ...`
pub fn said(diagnostic: &Diagnostic) -> String {
    format!("{}: {}", diagnostic.code.name(), diagnostic.message)
}

fn place(sources: &SourceMap, at: u32) -> String {
    sources.files().next().map_or(String::new(), |(_, file)| {
        let at = file.line_column(at);
        format!("{}:{}:{}", file.path.display(), at.line, at.column)
    })
}

fn rank(function: &Function) -> usize {
    match function.kind {
        FunctionKind::Kernel { rank } => rank.into(),
        _ => 0,
    }
}

/// A scalar, vector or struct argument; None for arrays.
fn scalar(argument: &Argument) -> Option<Value> {
    let number = |number: &Number| match *number {
        Number::Bool(b) => json!(b),
        Number::Int(n) => json!(n as i64),
        Number::Float(x) => json!(x),
    };
    Some(match &argument.kind {
        ArgumentKind::Value { literal: Literal::One(one), .. } => number(one),
        ArgumentKind::Value { literal: Literal::Many(list), .. } => list.iter().map(number).collect(),
        ArgumentKind::Struct { fields, .. } => {
            fields.iter().filter_map(|field| Some((field.name.clone(), scalar(field)?))).collect::<Map<_, _>>().into()
        }
        ArgumentKind::Array(_) | ArgumentKind::Engine { .. } => return None,
    })
}

fn differ(a: f64, b: f64) -> bool {
    let far = (a - b).abs() > DIFFERENT * (1.0 + a.abs().max(b.abs()));
    far || a.is_nan() != b.is_nan()
}

/// The first element that differs between two results, in words.
pub fn difference(expected: &Arguments, found: &Arguments, right: &Compiled, wrong: &Compiled) -> Option<String> {
    let structs = [&right.program.module.structs, &wrong.program.module.structs];
    for (a, b) in expected.arrays.iter().zip(&found.arrays) {
        let of = |array: &crate::run::args::BoundArray, n: usize| {
            leaves(array.ty.element.into(), structs[n]).unwrap_or_default()
        };
        for (leaf_a, leaf_b) in of(a, 0).iter().zip(of(b, 1)) {
            let (x, y) = (expected.gather(a, leaf_a), found.gather(b, &leaf_b));
            let name = format!("{}{}", a.key, leaf_a.suffix);
            if leaf_a.scalar == Scalar::F32 {
                for (n, (x, y)) in verify::floats(&x).zip(verify::floats(&y)).enumerate() {
                    if differ(x.into(), y.into()) {
                        return Some(format!("scalar {n} of `{name}` is {y}, not {x}"));
                    }
                }
            } else if let Some(n) = x.iter().zip(&y).position(|(x, y)| x != y) {
                let size = leaf_a.scalar.size() as usize;
                return Some(format!("scalar {} of `{name}` differs", n / size.max(1)));
            }
        }
    }
    None
}
