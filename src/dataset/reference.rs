//! Does a program compute what it is for? Its references are functions of plain Python, which
//! compute the same one element after the other; here they run as kernels of one thread, in double
//! precision.

use super::artefacts::{self, Rejection};
use super::launch::{self, Contents, Scale};
use super::plan::Plan;
use super::verify::STEPS;
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

/// How far a float may be from the right one, relative to it.
pub const RELATIVE: f64 = 1e-3;

/// And relative to the largest of its array, which is taken for no less than [`LEAST_SCALE`].
pub const OF_SCALE: f64 = 1e-4;
pub const LEAST_SCALE: f64 = 1e-6;

/// What the references leave in the arrays that are given.
pub fn expected(plan: &Plan, wide: &Module, scale: Scale, mut given: Contents) -> Result<Contents, Rejection> {
    let refused = |what: String| Rejection::new("no reference", what);
    let values = launch::values(plan, scale);
    for (name, numbers) in launch::contents(plan, &plan.references, &values, 0) {
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
    Ok(given)
}

/// How far the arrays `found` are at most from those `expected`, in the unit of [`RELATIVE`]. The
/// error names the first number that is too far.
pub fn compare(plan: &Plan, expected: &Contents, found: &Contents) -> Result<f64, String> {
    let mut worst = 0.0f64;
    for name in &plan.expected {
        let (Some(expected), Some(found)) = (expected.get(name), found.get(name)) else { continue };
        let exact = !expected.iter().chain(found).any(|number| matches!(number, Number::Float(_)));
        let (mut a, mut b): (Vec<f64>, Vec<f64>) =
            (expected.iter().map(float).collect(), found.iter().map(float).collect());
        if plan.unordered.contains(name) {
            a.sort_by(f64::total_cmp);
            b.sort_by(f64::total_cmp);
        }
        let scale = scale_of(&a);
        for (n, (a, b)) in a.iter().zip(&b).enumerate() {
            let error = distance(*a, *b, scale);
            if error.is_nan() || error > RELATIVE || (exact && a != b) {
                return Err(format!("scalar {n} of `{name}` is {b}, not {a}"));
            }
            worst = worst.max(error);
        }
    }
    Ok(worst)
}

/// The scale of an array's numbers.
pub fn scale_of(numbers: &[f64]) -> f64 {
    numbers.iter().fold(LEAST_SCALE, |scale, x| scale.max(x.abs()))
}

/// How far a number is from the right one, relative to it and to a part of the scale of its array:
/// at most [`RELATIVE`] where it is within that of the number and [`OF_SCALE`] of the scale.
pub fn distance(right: f64, found: f64, scale: f64) -> f64 {
    (right - found).abs() / (right.abs() + OF_SCALE / RELATIVE * scale)
}

fn float(number: &Number) -> f64 {
    match *number {
        Number::Bool(b) => f64::from(u8::from(b)),
        Number::Int(n) => n as f64,
        Number::Float(x) => x,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_are_compared_by_their_own_scale() {
        let plan = Plan { expected: vec!["y".to_string()], ..Plan::default() };
        let of = |numbers: [f64; 2]| Contents::from([("y".to_string(), numbers.map(Number::Float).to_vec())]);
        assert!(compare(&plan, &of([1e-5, 2e-5]), &of([1e-5, 2.1e-5])).is_err(), "small numbers count as much");
        assert!(compare(&plan, &of([0.0, 1000.0]), &of([0.05, 1000.0])).is_ok(), "zero beside large numbers");
        let ints = |n: i128| Contents::from([("y".to_string(), vec![Number::Int(n)])]);
        assert!(compare(&plan, &ints(100_000), &ints(100_001)).is_err(), "counts are exact");
    }
}
