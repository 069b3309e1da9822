//! Is the gradient of a launch right? The backward entry against forward mode and against finite
//! differences, all on the reference interpreter, or on another device.
//!
//! For each array x of the launch with floats in it, random tangents v (zero for the other arrays)
//! and random adjoints u of all final contents: forward mode gives u.(J v), the backward entry (J^T
//! u).v; both are the same number. Central differences along v give it a third time, from the
//! forward entry alone. Where the two one-sided differences disagree, or differences do not settle
//! as their step gets smaller, the launch is at or next to a kink, and the difference says nothing.
//! Nor does it where its own rounding is as large as what it misses, or where a convention
//! represents a derivative (W1120).
//!
//! [`check_double`] does this in double precision ([`super::double`]), where the two products agree
//! to 1e-9, and compares the gradient in the kernel's own types with that. [`check`] does it in the
//! kernel's own types.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::{double, gradient};
use crate::abi::LaunchBounds;
use crate::codegen::llvm::{Cpu, TensorCores};
use crate::diag::{Code, Level};
use crate::ir::{Derivative, FuncId, Module, Phase, TapeRole};
use crate::run::args::random::SplitMix;
use crate::run::args::{Arguments, Snapshot, elements};
use crate::run::devices::interp::Interp;
use crate::run::devices::{self, Device, Executable, How, Job, Report, Trial};
use crate::run::launch::{Argument, ArgumentKind, Direction, Launch};
use crate::run::program::Program;
use crate::run::run_errors::describe_trap;
use crate::run::{Result, fail};
use crate::types::{Scalar, StructTable};

/// What the check found for one array.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Row {
    pub argument: String,
    /// The Euclidean length of the gradient.
    pub norm: f64,
    /// |u.(J v) - (J^T u).v| relative to the sum of the magnitudes of the terms; None: there is no forward mode.
    pub dot_product: Option<f64>,
    /// The same for central differences.
    pub difference: f64,
    /// The differences say nothing: one-sided ones disagree, they go on changing with their step,
    /// they are not finite, rounding explains what they miss, or the gradient passes a point where
    /// a convention represents a derivative.
    pub kink: bool,
    /// The source states a derivative of its own, and differences disagree with it. Not right then,
    /// unless forward mode shows that this is the reason.
    pub custom: bool,
    /// How far the gradient in the kernel's own types is from the one in double precision, relative
    /// to the largest component; None: not compared.
    pub own: Option<f64>,
    pub right: bool,
}

/// The kernels of a check.
pub struct Kernels {
    pub forward: FuncId,
    /// Its forward-mode kernel, if it has one.
    pub tangents: Option<FuncId>,
    /// Where they run, less forward mode.
    pub device: &'static dyn Device,
}

/// The launch as one of the direction `gradient`, without what a launch may say about gradient
/// arrays: stores clear them, and they come with their arrays.
pub fn as_gradient(mut launch: Launch) -> Launch {
    fn visit(argument: &mut Argument) {
        match &mut argument.kind {
            ArgumentKind::Value { .. } => {}
            ArgumentKind::Struct { fields, .. } | ArgumentKind::Engine { fields, .. } => {
                fields.iter_mut().for_each(visit);
            }
            ArgumentKind::Array(array) => {
                (array.grad_external, array.retain_grad) = (false, false);
            }
        }
    }
    launch.args.iter_mut().for_each(visit);
    Launch { direction: Direction::Gradient, ..launch }
}

/// Checks the gradient of `launch`, whose direction is `gradient`, in the kernel's own types.
pub fn check(program: &Program, kernels: &Kernels, launch: &Launch, origin: &str, seed: u64) -> Result<Vec<Row>> {
    let function = &program.module.functions[kernels.forward];
    let arguments = Arguments::bind(launch, origin, function, &program.module.structs)?;
    check_bound(program, kernels, launch, arguments, origin, seed)
}

/// The same with arguments that are bound already.
pub fn check_bound(
    program: &Program,
    kernels: &Kernels,
    launch: &Launch,
    arguments: Arguments,
    origin: &str,
    seed: u64,
) -> Result<Vec<Row>> {
    Ok(Check::new(program, kernels, arguments, launch, origin, seed)?.rows()?.0)
}

/// The same in double precision, with the program of `double`, and compares the gradient of the
/// kernel's own types with that. Where they are far apart, the own types must pass the check too.
pub fn check_double(
    program: &Program,
    kernels: &Kernels,
    double: (&Program, &Kernels),
    launch: &Launch,
    plain: Arguments,
    origin: &str,
    seed: u64,
) -> Result<Vec<Row>> {
    let (module, other) = (&program.module, &double.0.module);
    let wide =
        double::arguments(launch, origin, &plain, &module.structs, &other.functions[double.1.forward], &other.structs)?;
    let mut double = Check::new(double.0, double.1, wide, launch, origin, seed)?;
    let mut own = Check::new(program, kernels, plain, launch, origin, seed)?;
    // One of the two may have a gradient by arrays alone.
    let (a, b) = (own.active.clone(), double.active.clone());
    own.active.retain(|subject| b.contains(subject));
    double.active.retain(|subject| a.contains(subject));
    let active = own.active.clone();
    let (mut rows, exact) = double.rows()?;
    let (_, gradients, _) = own.gradients()?;
    let limit = own.precision().cbrt();
    let mut far = false;
    for (n, row) in rows.iter_mut().enumerate() {
        let distance = distance(&gradients[n], &exact[n]);
        row.own = Some(distance);
        far |= distance.is_nan() || distance > limit;
    }
    if far {
        let mut again = Check::new(program, kernels, own.arguments, launch, origin, seed)?;
        again.active = active;
        let again = again.rows()?.0;
        rows.iter_mut().zip(again).for_each(|(row, own)| row.right &= own.right);
    }
    Ok(rows)
}

/// Random adjoints of the final contents of each array with a gradient, drawn from `seed`, and the
/// gradient for them.
pub struct Sample {
    pub argument: String,
    pub adjoint: Vec<f64>,
    pub gradient: Vec<f64>,
}

/// The gradient of `launch`, whose direction is `gradient`, for random adjoints.
pub fn sample(program: &Program, forward: FuncId, launch: &Launch, origin: &str, seed: u64) -> Result<Vec<Sample>> {
    let function = &program.module.functions[forward];
    let arguments = Arguments::bind(launch, origin, function, &program.module.structs)?;
    let kernels = Kernels { forward, tangents: None, device: &Interp };
    let mut check = Check::new(program, &kernels, arguments, launch, origin, seed)?;
    let (adjoints, gradients, _) = check.gradients()?;
    let names = check.active.iter().map(|subject| subject.key(&check.arguments).to_string());
    let found = names.zip(adjoints).zip(gradients);
    Ok(found.map(|((argument, adjoint), gradient)| Sample { argument, adjoint, gradient }).collect())
}

/// Whether the backward entry of a kernel gives the gradients of parameters.
fn gives_parameter_gradients(program: &Program, forward: FuncId) -> bool {
    let module = &program.module;
    let backward = module.entry(&module.functions[forward].source_name, Phase::Backward);
    backward.is_some_and(|id| module.functions[id].tape.iter().any(|tape| tape.role == TapeRole::Parameters))
}

/// One launch on its way through the check.
pub(in crate::run) struct Check<'a> {
    pub program: &'a Program,
    pub kernels: &'a Kernels,
    pub arguments: Arguments,
    pub start: Snapshot,
    /// What has gradients; arrays that share memory count once.
    pub active: Vec<Subject>,
    pub runner: Runner<'a>,
    /// The gradient came to a point at which a convention represents a derivative.
    degenerate: bool,
    seed: u64,
}

/// Something with a gradient, by its number among the arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::run) enum Subject {
    Array(usize),
    /// Given by value.
    Parameter(usize),
}

impl Subject {
    pub fn key(self, arguments: &Arguments) -> &str {
        match self {
            Subject::Array(n) => &arguments.arrays[n].key,
            Subject::Parameter(n) => &arguments.parameters[n].key,
        }
    }

    /// Its floats, or their gradients.
    fn floats(self, arguments: &Arguments, gradient: bool, structs: &StructTable) -> Vec<f64> {
        match self {
            Subject::Array(n) => arguments.floats(&arguments.arrays[n], gradient, structs),
            Subject::Parameter(n) if gradient => {
                let parameter = &arguments.parameters[n];
                parameter.gradient.clone().unwrap_or_else(|| vec![0.0; parameter.place.scalars() as usize])
            }
            Subject::Parameter(n) => arguments.parameter(&arguments.parameters[n]),
        }
    }

    fn set_floats(self, arguments: &mut Arguments, gradient: bool, structs: &StructTable, values: &[f64]) {
        match self {
            Subject::Array(n) => {
                let array = arguments.arrays[n].clone();
                arguments.set_floats(&array, gradient, structs, values);
            }
            Subject::Parameter(n) if gradient => arguments.parameters[n].gradient = Some(values.to_vec()),
            Subject::Parameter(n) => {
                let parameter = arguments.parameters[n].clone();
                arguments.set_parameter(&parameter, values);
            }
        }
    }
}

/// For each that is active its floats.
pub(in crate::run) type Floats = Vec<Vec<f64>>;

/// Roundings of a result, each of the unit roundoff, that a difference may leave of 0.
const ROUNDINGS: f64 = 64.0;

impl<'a> Check<'a> {
    pub fn new(
        program: &'a Program,
        kernels: &'a Kernels,
        arguments: Arguments,
        launch: &Launch,
        origin: &'a str,
        seed: u64,
    ) -> Result<Check<'a>> {
        let Some(bounds) = LaunchBounds::new(&launch.dim_by_block(&program.module.functions[kernels.forward])?) else {
            return Err(fail(Code::E1006, format!("{origin}: dim {:?} has too many threads", launch.dim)));
        };
        let structs = &program.module.structs;
        let mut arrays: Vec<usize> = Vec::new();
        for (n, array) in arguments.arrays.iter().enumerate() {
            let key = array.grad.as_ref().map(|g| &g.key);
            let known = |&m: &usize| arguments.arrays[m].grad.as_ref().map(|g| &g.key) == key;
            let floats = !arguments.floats(array, true, structs).is_empty();
            if key.is_some() && floats && !arrays.iter().any(known) {
                arrays.push(n);
            }
        }
        let mut active: Vec<Subject> = arrays.into_iter().map(Subject::Array).collect();
        if gives_parameter_gradients(program, kernels.forward) {
            active.extend((0..arguments.parameters.len()).map(Subject::Parameter));
        }
        let start = arguments.snapshot();
        let dims = launch.dim.len();
        let runner = Runner {
            module: &program.module,
            bounds,
            block_dim: launch.block_dim,
            dims,
            origin,
            device: kernels.device,
            tangents: kernels.tangents,
            ready: HashMap::new(),
        };
        Ok(Check { program, kernels, arguments, start, active, runner, degenerate: false, seed })
    }

    /// Random adjoints of all final contents, the gradients for them, and random tangents.
    pub fn gradients(&mut self) -> Result<(Floats, Floats, Floats)> {
        let structs = &self.program.module.structs;
        let sizes: Vec<usize> =
            self.active.iter().map(|subject| subject.floats(&self.arguments, true, structs).len()).collect();
        let mut random = Random::new(self.seed);
        let mut numbers = || sizes.iter().map(|&n| (0..n).map(|_| random.next()).collect()).collect::<Floats>();
        let (mut adjoints, tangents) = (numbers(), numbers());
        // No launch changes a parameter.
        for (subject, adjoint) in self.active.iter().zip(&mut adjoints) {
            if matches!(subject, Subject::Parameter(_)) {
                adjoint.fill(0.0);
            }
        }
        fill(&mut self.arguments, &self.active, true, structs, &adjoints);
        let (threads, runner) = (self.runner.bounds.size, &mut self.runner);
        let memory = self.arguments.memory();
        let mut run = |entry: FuncId, args, more: &[(u64, u64)]| runner.run(entry, args, &[&memory, more].concat());
        let report = gradient::gradient(self.program, self.kernels.forward, &mut self.arguments, threads, &mut run)?;
        let noted = report.findings.iter().any(|found| found.code == Code::W1120);
        self.degenerate = noted || report.note.is_some() || report.visited.is_some();
        let gradients = read(&self.arguments, &self.active, true, structs);
        self.arguments.restore(&self.start);
        Ok((adjoints, gradients, tangents))
    }

    pub fn precision(&self) -> f64 {
        precision(&self.arguments, &self.active, &self.program.module.structs)
    }

    /// The table, and the gradients.
    fn rows(mut self) -> Result<(Vec<Row>, Floats)> {
        let (adjoints, gradients, tangents) = self.gradients()?;
        let (module, forward) = (&self.program.module, self.kernels.forward);
        let structs = &module.structs;
        let x = read(&self.arguments, &self.active, false, structs);
        let custom = module.functions.values().any(|f| {
            !f.library && !f.is_kernel() && matches!(f.derivative, Derivative::Rule { .. } | Derivative::Zero(_))
        });
        let precision = self.precision();
        let mut rows = Vec::new();
        // What the launch as it is gives, for all arrays.
        let mut here = None;
        for k in 0..self.active.len() {
            let along: Floats =
                tangents.iter().enumerate().map(|(m, v)| if m == k { v.clone() } else { vec![0.0; v.len()] }).collect();
            let (backward, size) = dot(&gradients[k..k + 1], &along[k..k + 1]);
            let mut ahead = None;
            if let Some(kernel) = self.kernels.tangents {
                fill(&mut self.arguments, &self.active, true, structs, &along);
                let block = self.arguments.block_of_tangents(&module.functions[kernel], structs)?;
                let args = std::ptr::with_exposed_provenance(block.address() as usize);
                self.runner.run(kernel, args, &self.arguments.memory())?;
                ahead = Some(dot(&read(&self.arguments, &self.active, true, structs), &adjoints));
                self.arguments.restore(&self.start);
            }
            let subject = self.active[k];
            let mut value = |h: f64| -> Result<(f64, f64)> {
                let moved: Vec<f64> = x[k].iter().zip(&along[k]).map(|(x, v)| x + h * v).collect();
                subject.set_floats(&mut self.arguments, false, structs, &moved);
                self.runner.run(forward, self.arguments.block(), &self.arguments.memory())?;
                let value = dot(&read(&self.arguments, &self.active, false, structs), &adjoints);
                self.arguments.restore(&self.start);
                Ok(value)
            };
            // The gradient of a parameter is a sum over all threads, whose terms may cancel.
            let size = match (subject, ahead) {
                (Subject::Parameter(_), Some((_, terms))) => size.max(terms),
                _ => size,
            };
            // 1e-9 for float64, 1e-4 for float32; differences lose a third of the digits at best.
            let (exact, close) = (precision.powf(0.58), 4.0 * precision.cbrt());
            // Central differences are best at the cube root of the rounding error; the best of a
            // few steps counts, and the first that leaves no doubt is enough.
            let (here, terms) = match here {
                Some(here) => here,
                None => *here.insert(value(0.0)?),
            };
            // A gradient of so much is what rounding leaves of 0: a result rounds by this share,
            // and its inputs with it.
            let length = |of: &[f64]| of.iter().map(|x| x * x).sum::<f64>().sqrt();
            let (inputs, largest) = (length(&x[k]), x[k].iter().fold(0.0, |most: f64, x| most.max(x.abs())));
            let noise = if inputs > 0.0 { ROUNDINGS * precision * terms * length(&along[k]) / inputs } else { 0.0 };
            let (mut difference, mut kink, mut explained) = (f64::INFINITY, true, false);
            let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
            for scale in [1.0, 0.1, 10.0] {
                let h = scale * precision.cbrt();
                let (up, down) = (value(h)?.0, value(-h)?.0);
                let (left, right, central) = ((here - down) / h, (up - here) / h, (up - down) / (2.0 * h));
                kink &= (left - right).abs() > 0.05 * (left.abs() + right.abs()) + 10.0 * precision.sqrt();
                // The sums of a difference round too, and so does where it is taken.
                let rounding = noise + precision * (ROUNDINGS * terms + 4.0 * largest * size) / h;
                explained |= (central - backward).abs() <= rounding;
                difference = difference.min(relative(central, backward, size));
                (least, most) = (least.min(central), most.max(central));
                if difference < close && !kink {
                    break;
                }
            }
            let dot_product = ahead.map(|(ahead, terms)| relative(ahead, backward, size.max(terms)));
            // Differences that go on changing with their step have no limit that they could show.
            kink |= difference >= close && most - least > 0.25 * least.abs().max(most.abs());
            // The contents may hold infinities and NaNs that the kernel passes on.
            kink |= !difference.is_finite();
            // Nor have they one where rounding or a step's own error is as large as what they miss.
            let missed = (least - backward).abs().min((most - backward).abs());
            kink |= difference >= close && (explained || self.degenerate || missed <= most - least);
            // Without forward mode only differences can tell.
            let rounds = ahead.is_some_and(|(ahead, _)| (ahead - backward).abs() <= noise);
            let right = dot_product.map_or(difference < close, |e| e < exact || rounds);
            let norm = gradients[k].iter().map(|g| g * g).sum::<f64>().sqrt();
            let agrees = kink || difference < close;
            // Forward mode follows the rules of the source: where it agrees, only the rules can be
            // the reason.
            let custom = custom && !agrees;
            let right = right && norm.is_finite() && (agrees || custom && dot_product.is_some());
            let argument = subject.key(&self.arguments).to_string();
            rows.push(Row { argument, norm, dot_product, difference, kink, custom, own: None, right });
        }
        Ok((rows, gradients))
    }
}

/// Runs the entries of one module, each made ready once.
pub(in crate::run) struct Runner<'a> {
    module: &'a Module,
    pub bounds: LaunchBounds,
    /// Of the launch.
    dims: usize,
    origin: &'a str,
    block_dim: u32,
    device: &'static dyn Device,
    /// No launch runs forward mode, which is made for one thread after the other: the interpreter
    /// has it, whatever the device.
    tangents: Option<FuncId>,
    ready: HashMap<FuncId, Box<dyn Executable>>,
}

impl Runner<'_> {
    /// `memory`: all that the arrays lie in.
    pub fn run(&mut self, entry: FuncId, args: *const std::ffi::c_void, memory: &[(u64, u64)]) -> Result<Report> {
        if let Entry::Vacant(slot) = self.ready.entry(entry) {
            let how = How {
                checked: true,
                fmad: false,
                tensor_cores: TensorCores::Off,
                alone: true,
                in_order: false,
                cpu: Cpu::Native,
                trial: Trial::PLAIN,
                objects: None,
            };
            let device = if self.tangents == Some(entry) { &Interp } else { self.device };
            slot.insert(devices::prepare(device, self.module, entry, &how)?);
        }
        let job = Job { block_dim: self.block_dim, memory, ..Job::new(self.bounds, args, 1) };
        // SAFETY: `args` was made for this entry, and its arrays live in the check's arguments.
        let mut report = unsafe { self.ready[&entry].run(self.module, &job) }?;
        // What the simulator finds wrong leaves nothing to check.
        if let Some(at) = report.findings.iter().position(|found| found.level == Level::Error) {
            let error = report.findings.swap_remove(at);
            return Err(Box::new(error.note(format!("{} does not run right, so nothing is checked", self.origin))));
        }
        match report.trap {
            Some(trap) => {
                let error = describe_trap(&trap, &self.bounds, self.dims);
                Err(Box::new(error.note(format!("{} does not run, so nothing is checked", self.origin))))
            }
            None => Ok(report),
        }
    }
}

/// The greatest difference of two numbers relative to the greatest of `b`.
pub(in crate::run) fn distance(a: &[f64], b: &[f64]) -> f64 {
    let size = b.iter().fold(0.0, |size: f64, x| size.max(x.abs()));
    let worse = |far: f64, d: f64| if far.is_nan() || d.is_nan() { f64::NAN } else { far.max(d) };
    let far = a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, worse);
    if far == 0.0 { 0.0 } else { far / size.max(1e-30) }
}

pub(in crate::run) fn fill(
    arguments: &mut Arguments,
    active: &[Subject],
    gradient: bool,
    structs: &StructTable,
    values: &[Vec<f64>],
) {
    for (subject, values) in active.iter().zip(values) {
        subject.set_floats(arguments, gradient, structs, values);
    }
}

pub(in crate::run) fn read(
    arguments: &Arguments,
    active: &[Subject],
    gradient: bool,
    structs: &StructTable,
) -> Vec<Vec<f64>> {
    active.iter().map(|subject| subject.floats(arguments, gradient, structs)).collect()
}

/// The dot product, and the sum of the magnitudes of its terms.
pub(in crate::run) fn dot(a: &[Vec<f64>], b: &[Vec<f64>]) -> (f64, f64) {
    let terms = a.iter().flatten().zip(b.iter().flatten()).map(|(a, b)| if *b == 0.0 { 0.0 } else { a * b });
    terms.fold((0.0, 0.0), |(sum, size), term| (sum + term, size + term.abs()))
}

pub(in crate::run) fn relative(a: f64, b: f64, size: f64) -> f64 {
    let error = (a - b).abs() / size.max(1e-30);
    if a == b { 0.0 } else { error }
}

/// The unit roundoff of the coarsest float type in what is active.
fn precision(arguments: &Arguments, active: &[Subject], structs: &StructTable) -> f64 {
    let of = |scalar: Scalar| match scalar {
        Scalar::F64 => f64::EPSILON,
        Scalar::F32 => f64::from(f32::EPSILON),
        Scalar::F16 => 1.0 / 1024.0,
        _ => 1.0 / 128.0,
    };
    let scalars = active.iter().flat_map(|&subject| match subject {
        Subject::Array(n) => {
            let leaves = elements::leaves(arguments.arrays[n].ty.element.into(), structs).unwrap_or_default();
            leaves.into_iter().map(|leaf| leaf.scalar).collect()
        }
        Subject::Parameter(n) => vec![arguments.parameters[n].scalar()],
    });
    scalars.filter(|scalar| scalar.is_float()).map(of).fold(f64::EPSILON, f64::max)
}

/// Numbers in [-1, 1) with 20 bits, which every type but 16-bit floats holds exactly.
pub(in crate::run) struct Random(SplitMix);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(SplitMix(seed))
    }

    pub fn next(&mut self) -> f64 {
        2.0 * self.0.unit() - 1.0
    }
}
