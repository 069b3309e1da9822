//! Is the gradient of a launch right? The backward entry against forward mode and against finite differences, all on the
//! reference interpreter, in the kernel's own types.
//!
//! For each array x of the launch with floats in it, random tangents v (zero for the other arrays) and random adjoints u of all final
//! contents: forward mode gives u.(J v), the backward entry (J^T u).v; both are the same number. Central differences
//! along v give it a third time, from the forward entry alone. Where the two one-sided differences disagree, the launch is at
//! a kink, and the difference says nothing.

use super::args::Arguments;
use super::device::{self, Device, Job, Report};
use super::launch::Launch;
use super::session::Program;
use super::{Result, fail, gradient};
use crate::codegen::abi::LaunchBounds;
use crate::diag::Code;
use crate::ir::{Derivative, FuncId};
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
    /// The one-sided differences disagree.
    pub kink: bool,
    /// The source states a derivative of its own, and differences disagree with it.
    pub custom: bool,
    pub right: bool,
}

/// The kernels of a check.
pub struct Kernels {
    pub forward: FuncId,
    /// Its forward-mode kernel, if it has one.
    pub tangents: Option<FuncId>,
}

/// Checks the gradient of `launch`, whose direction is `gradient`.
pub fn check(program: &Program, kernels: &Kernels, launch: &Launch, origin: &str, seed: u64) -> Result<Vec<Row>> {
    let module = &program.module;
    let structs = &module.structs;
    let Some(bounds) = LaunchBounds::new(&launch.dim) else {
        return Err(fail(Code::E1006, format!("{origin}: dim {:?} has too many threads", launch.dim)));
    };
    let mut arguments = Arguments::bind(launch, origin, &module.functions[kernels.forward], structs)?;
    let start = arguments.snapshot();
    let mut run = |entry: FuncId, args, _: &[(u64, u64)]| -> Result<Report> {
        let executable = device::prepare(module, entry, Device::Interp, true, false, true)?;
        // SAFETY: `args` was made for this entry, and its arrays live in `arguments`.
        let report = unsafe { executable.run(module, &Job { bounds, args, threads: 1, block_dim: 1, memory: &[] }) }?;
        match report.trap {
            Some(trap) => Err(fail(Code::E1101, format!("{origin}: the launch itself is in error: {:?}", trap.kind))),
            None => Ok(report),
        }
    };
    // Arrays that share memory share their gradient: each counts once.
    let mut active: Vec<usize> = Vec::new();
    for (n, array) in arguments.arrays.iter().enumerate() {
        let key = array.grad.as_ref().map(|g| &g.key);
        let known = |&m: &usize| arguments.arrays[m].grad.as_ref().map(|g| &g.key) == key;
        let floats = !arguments.floats(array, true, structs).is_empty();
        if key.is_some() && floats && !active.iter().any(known) {
            active.push(n);
        }
    }
    let mut random = Random(seed);
    let sizes: Vec<usize> =
        active.iter().map(|&n| arguments.floats(&arguments.arrays[n], true, structs).len()).collect();
    let mut numbers = || sizes.iter().map(|&n| (0..n).map(|_| random.next()).collect()).collect::<Vec<Vec<f64>>>();
    let (adjoints, tangents) = (numbers(), numbers());

    fill(&mut arguments, &active, true, structs, &adjoints);
    gradient::gradient(program, kernels.forward, &mut arguments, bounds.size, &mut run)?;
    let gradients = read(&arguments, &active, true, structs);
    arguments.restore(&start);
    let x = read(&arguments, &active, false, structs);

    let custom = module
        .functions
        .values()
        .any(|f| !f.library && matches!(f.derivative, Derivative::Rule { .. } | Derivative::Zero(_)));
    let mut rows = Vec::new();
    for (k, &n) in active.iter().enumerate() {
        let along: Vec<Vec<f64>> =
            tangents.iter().enumerate().map(|(m, v)| if m == k { v.clone() } else { vec![0.0; v.len()] }).collect();
        let (backward, size) = dot(&gradients[k..k + 1], &along[k..k + 1]);
        let precision = precision(&arguments, &active, structs);
        let mut forward = None;
        if let Some(kernel) = kernels.tangents {
            fill(&mut arguments, &active, true, structs, &along);
            let block = arguments.block_of_tangents(&module.functions[kernel], structs)?;
            run(kernel, std::ptr::with_exposed_provenance(block.address() as usize), &[])?;
            forward = Some(dot(&read(&arguments, &active, true, structs), &adjoints));
            arguments.restore(&start);
        }
        let mut value = |h: f64| -> Result<f64> {
            let moved: Vec<f64> = x[k].iter().zip(&along[k]).map(|(x, v)| x + h * v).collect();
            let array = arguments.arrays[n].clone();
            arguments.set_floats(&array, false, structs, &moved);
            run(kernels.forward, arguments.block(), &[])?;
            let value = dot(&read(&arguments, &active, false, structs), &adjoints).0;
            arguments.restore(&start);
            Ok(value)
        };
        // Central differences are best at the cube root of the rounding error; the best of a few steps counts.
        let here = value(0.0)?;
        let (mut difference, mut kink) = (f64::INFINITY, true);
        for scale in [0.1, 1.0, 10.0] {
            let h = scale * precision.cbrt();
            let (up, down) = (value(h)?, value(-h)?);
            let (left, right, central) = ((here - down) / h, (up - here) / h, (up - down) / (2.0 * h));
            kink &= (left - right).abs() > 0.05 * (left.abs() + right.abs()) + 10.0 * precision.sqrt();
            difference = difference.min(relative(central, backward, size));
        }
        let dot_product = forward.map(|(forward, terms)| relative(forward, backward, size.max(terms)));
        // 1e-9 for float64, 1e-4 for float32; differences lose a third of the digits at best.
        let (exact, close) = (precision.powf(0.58), 4.0 * precision.cbrt());
        let right = dot_product.map_or(kink || difference < close, |e| e < exact);
        let norm = gradients[k].iter().map(|g| g * g).sum::<f64>().sqrt();
        let agrees = kink || difference < close;
        // Forward mode follows the rules of the source: where it agrees, only the rules can be the reason.
        let custom = custom && !agrees && dot_product.is_some();
        let right = right && norm.is_finite() && (agrees || custom);
        let argument = arguments.arrays[n].key.clone();
        rows.push(Row { argument, norm, dot_product, difference, kink, custom, right });
    }
    Ok(rows)
}

fn fill(arguments: &mut Arguments, active: &[usize], gradient: bool, structs: &StructTable, values: &[Vec<f64>]) {
    for (&n, values) in active.iter().zip(values) {
        let array = arguments.arrays[n].clone();
        arguments.set_floats(&array, gradient, structs, values);
    }
}

fn read(arguments: &Arguments, active: &[usize], gradient: bool, structs: &StructTable) -> Vec<Vec<f64>> {
    active.iter().map(|&n| arguments.floats(&arguments.arrays[n], gradient, structs)).collect()
}

/// The dot product, and the sum of the magnitudes of its terms.
fn dot(a: &[Vec<f64>], b: &[Vec<f64>]) -> (f64, f64) {
    let terms = a.iter().flatten().zip(b.iter().flatten()).map(|(a, b)| if *b == 0.0 { 0.0 } else { a * b });
    terms.fold((0.0, 0.0), |(sum, size), term| (sum + term, size + term.abs()))
}

fn relative(a: f64, b: f64, size: f64) -> f64 {
    let error = (a - b).abs() / size.max(1e-30);
    if a == b { 0.0 } else { error }
}

/// The unit roundoff of the coarsest float type in the arrays.
fn precision(arguments: &Arguments, active: &[usize], structs: &StructTable) -> f64 {
    let of = |scalar: Scalar| match scalar {
        Scalar::F64 => f64::EPSILON,
        Scalar::F32 => f64::from(f32::EPSILON),
        Scalar::F16 => 1.0 / 1024.0,
        _ => 1.0 / 128.0,
    };
    let scalars = active.iter().flat_map(|&n| {
        super::elements::leaves(arguments.arrays[n].ty.element.into(), structs).unwrap_or_default().into_iter()
    });
    scalars.filter(|leaf| leaf.scalar.is_float()).map(|leaf| of(leaf.scalar)).fold(f64::EPSILON, f64::max)
}

/// SplitMix64 (Steele, Lea, Flood 2014), as numbers in [-1, 1) with 20 bits, which every type but 16-bit floats holds exactly.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 44) as f64 / f64::from(1 << 19) - 1.0
    }
}
