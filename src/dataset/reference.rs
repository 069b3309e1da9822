//! Does a program compute what it is for? Its references are functions of plain Python, which
//! compute the same one element after the other; here they run as kernels of one thread, in double
//! precision.

use super::artefacts::{self, Rejection};
use super::launch::{self, Contents, Scale};
use super::plan::Plan;
use super::verify::{MAX_F64_ERROR, STEPS};
use crate::abi::LaunchBounds;
use crate::driver::Compiler;
use crate::ir::{Module, Phase, interp};
use crate::run::args::Arguments;
use crate::run::launch::{Direction, Number};
use crate::syntax::ast::Parsed;

/// The kernels of a program and its references, all in double precision; empty if they cannot be
/// had so.
pub fn wide(plan: &Plan, parsed: Option<&Parsed>, compiler: &Compiler) -> Module {
    match plan.references.is_empty() {
        true => artefacts::double(&plan.text, parsed, compiler),
        false => artefacts::double(&format!("{}\n\n{}", plan.text, plan.reference_text), None, compiler),
    }
}

/// How far the arrays `found` are at most from what the references make of those `given`.
pub fn check(
    plan: &Plan,
    wide: &Module,
    scale: Scale,
    mut given: Contents,
    found: &Contents,
) -> Result<f64, Rejection> {
    let refused = |what: String| Rejection::new("no reference", what);
    let values = launch::values(plan, scale);
    for (name, numbers) in launch::contents(&plan.references, &values, 0) {
        given.entry(name).or_insert(numbers);
    }
    for step in &plan.references {
        let kernel = wide.entry(&step.kernel, Phase::Forward);
        let kernel = kernel.ok_or_else(|| refused(format!("`{}` did not compile", step.kernel)))?;
        let size = launch::size(plan, step, scale);
        let launch = launch::launch(step, &size, &given, Direction::Forward);
        let arguments = Arguments::bind(&launch, "reference", &wide.functions[kernel], &wide.structs)
            .map_err(|e| refused(e.message.clone()))?;
        let bounds = LaunchBounds::new(&size.threads).ok_or_else(|| refused("too many threads".to_string()))?;
        let mut outcome = interp::Outcome::new(|_| {});
        outcome.steps = Some(STEPS);
        // SAFETY: the arguments were bound for this kernel, and nobody else uses them.
        unsafe { interp::Program::new(wide, kernel).run(&bounds, arguments.block(), 0, bounds.size, &mut outcome) };
        if let Some(trap) = outcome.trap.take() {
            return Err(refused(trap.message));
        }
        drop(outcome);
        launch::keep(&mut given, step, &arguments, &wide.structs);
    }
    let mut worst = 0.0f64;
    for name in &plan.expected {
        let (Some(expected), Some(found)) = (given.get(name), found.get(name)) else { continue };
        let (mut a, mut b): (Vec<f64>, Vec<f64>) =
            (expected.iter().map(float).collect(), found.iter().map(float).collect());
        if plan.unordered.contains(name) {
            a.sort_by(f64::total_cmp);
            b.sort_by(f64::total_cmp);
        }
        for (n, (a, b)) in a.iter().zip(&b).enumerate() {
            let error = (a - b).abs() / (1.0 + a.abs());
            if error.is_nan() || error > MAX_F64_ERROR {
                let message = format!("scalar {n} of `{name}` is {b} at {values:?}, not {a}");
                return Err(Rejection::new("reference differs", message));
            }
            worst = worst.max(error);
        }
    }
    Ok(worst)
}

fn float(number: &Number) -> f64 {
    match *number {
        Number::Bool(b) => f64::from(u8::from(b)),
        Number::Int(n) => n as f64,
        Number::Float(x) => x,
    }
}
