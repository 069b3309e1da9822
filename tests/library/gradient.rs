//! Is the gradient of a built-in that of finite differences?

use kc::codegen::llvm::HostModule;
use kc::ir::{FuncId, Module};
use kc::library::Decision;
use kc::types::Scalar;
use libtest_mimic::Failed;

use crate::instance::{Instance, Role};
use crate::memory::{self, Memory};
use crate::{Random, threads};

/// Compares the backward entry with central differences of a weighted sum of the results, number by
/// number of the arguments; threads are independent, so one run changes the same number of all.
pub fn check(
    instance: &Instance,
    module: &Module,
    host: &HostModule,
    forward: FuncId,
    backward: FuncId,
    arrays: &[Memory],
) -> Result<(), Failed> {
    let forward = host.entry(forward).ok_or("no forward entry")?;
    let threads = threads(instance);
    // 16-bit floats are too coarse for differences; their rules are those of the other types.
    let coarse = |memory: &Memory| memory.scalar.is_float() && memory.scalar.size() == 2;
    // Of an overload for several types, the float64 one is compared; float32 differences are too
    // coarse near poles.
    let second = !instance.kernel.ends_with("_0") && arrays.iter().any(|memory| memory.scalar == Scalar::F32);
    // A check that fails has no results, and `detach` has no gradient on purpose.
    let fails = memory::run(forward, threads, &mut arrays.to_vec()).is_err();
    if second || fails || arrays.iter().any(coarse) || instance.kernel.starts_with("detach_") {
        return Ok(());
    }
    let mut random = Random::new(&instance.kernel);
    let is_result = |role: Role| role != Role::Input;
    let mut weights: Vec<Memory> = arrays.to_vec();
    for (memory, param) in weights.iter_mut().zip(&instance.params) {
        for n in 0..memory.count() {
            match (is_result(param.role), memory.scalar.is_float()) {
                (true, true) => memory.set_float(n, 0.5 + random.next()),
                (_, true) => memory.set_float(n, 0.0),
                (_, false) => memory.set_int(n, 0),
            }
        }
    }
    let mut both: Vec<Memory> = arrays.iter().chain(&weights).cloned().collect();
    let mut again = both.clone();
    let entry = host.entry(backward).ok_or("no backward entry")?;
    memory::run(entry, threads, &mut both)?;
    memory::interpret(module, backward, threads, &mut again)?;
    for (a, b) in both.iter().zip(&again) {
        if a.bytes() != b.bytes() {
            return Err(format!("{}: host and interpreter differ in the gradient", instance.kernel).into());
        }
    }
    let gradients = &both[arrays.len()..];
    for (p, param) in instance.params.iter().enumerate() {
        if param.role == Role::Output || !arrays[p].scalar.is_float() {
            continue;
        }
        // Elements that belong to the same thread are changed one after the other.
        let (stride, turns) = match param.role {
            Role::Whole => (arrays[p].count(), arrays[p].count()),
            _ => (arrays[p].width, arrays[p].width),
        };
        for turn in 0..turns {
            let numbers: Vec<usize> = (turn..arrays[p].count()).step_by(stride).collect();
            let sums = |direction: f64| -> Result<(Vec<f64>, Vec<f64>), String> {
                let mut changed = arrays.to_vec();
                let mut at = Vec::new();
                for &n in &numbers {
                    let x = arrays[p].float(n);
                    changed[p].set_float(n, x + direction * step(arrays[p].scalar, x));
                    at.push(changed[p].float(n));
                }
                memory::run(forward, threads, &mut changed)?;
                Ok((weighted_sums(instance, &changed, &weights, threads), at))
            };
            let ((up, above), (down, below)) = (sums(1.0)?, sums(-1.0)?);
            for (k, &n) in numbers.iter().enumerate() {
                let difference = (up[k] - down[k]) / (above[k] - below[k]);
                compare(instance, p, n, gradients[p].float(n), difference, up[k].abs(), arrays)?;
            }
        }
    }
    Ok(())
}

fn compare(
    instance: &Instance,
    param: usize,
    n: usize,
    gradient: f64,
    difference: f64,
    size: f64,
    arrays: &[Memory],
) -> Result<(), Failed> {
    let exact = matches!(instance.decision, Decision::Zero(_) | Decision::None(_)) && !instance.whole_arrays;
    let double = arrays.iter().all(|memory| memory.scalar != Scalar::F32);
    let tolerance = if double { 2e-6 } else { 2e-2 } * (1.0 + gradient.abs() + difference.abs() + size * 1e-2);
    let right = if exact {
        gradient == 0.0 && difference.abs() <= tolerance
    } else {
        (gradient - difference).abs() <= tolerance
    };
    if right {
        return Ok(());
    }
    let x: Vec<f64> = arrays.iter().filter(|m| m.scalar.is_float()).map(|m| m.float(n.min(m.count() - 1))).collect();
    let kernel = &instance.kernel;
    let message = format!(
        "{kernel}: parameter {param}, number {n}: gradient {gradient}, finite difference {difference}; near {x:?}"
    );
    Err(message.into())
}

/// What each thread's results weigh.
fn weighted_sums(instance: &Instance, arrays: &[Memory], weights: &[Memory], threads: u32) -> Vec<f64> {
    let mut sums = vec![0.0; threads as usize];
    for ((memory, weight), param) in arrays.iter().zip(weights).zip(&instance.params) {
        if param.role == Role::Input || !memory.scalar.is_float() {
            continue;
        }
        let each = memory.count() / sums.len();
        for n in 0..memory.count() {
            sums[n / each] += memory.float(n) * weight.float(n);
        }
    }
    sums
}

/// How far to go for a difference: truncation and rounding errors are about the same.
fn step(scalar: Scalar, x: f64) -> f64 {
    let unit = if scalar == Scalar::F64 { 1e-5 } else { 4e-3 };
    unit * x.abs().max(1.0)
}
