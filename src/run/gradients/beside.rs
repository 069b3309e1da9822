//! Is the gradient another one right beside a point where functions of the library have no
//! derivative?
//!
//! A product of two functions that both have such a point sends an adjoint of 0 to each of them, as
//! a factor 0 that has nothing to do with the point does: `normalize(x) * length(x)` is smooth, and
//! its gradient by the conventions is 0 at `x = 0`. So where a gradient run came to such a point
//! with an adjoint of 0, and to none with another one, it is run again by programs in which these
//! functions compute beside the point (`Request::nudged`). The conventions decided if the gradient
//! is another one there, and
//!
//! - part of it passes through these functions: without their derivatives it is yet another one; or
//! - it is the same on the other side: what they are part of is smooth.
//!
//! Neither holds for the gradient of `m` in `normalize(x) * m`: the value of `normalize` jumps, and
//! so does what it is a factor of.

use super::gradient::entries_of;
use crate::diag::Diagnostic;
use crate::ir::{Check, FuncId, Module, Nudged, Op};
use crate::run::Result;
use crate::run::args::{Arguments, Snapshot, memory};
use crate::run::messages;
use crate::source::Span;
use crate::types::StructTable;

/// What an adjoint of 1 changes in a gradient that is smooth there, at most: the point moves by
/// 1e-10.
const NOISE: f64 = 1e-5;
/// Parts of a gradient that round differently.
const ROUNDING: f64 = 1e-3;

/// Whether a gradient run of the kernel tells when it reaches such a point.
pub fn may_visit(module: &Module, forward: FuncId) -> bool {
    let visits = |id: FuncId| module.functions[id].has(|inst| matches!(inst.op, Op::Check(Check::Visit, _)));
    let backward = entries_of(module, &module.functions[forward]).backward;
    backward.is_some_and(|backward| module.reached_from(backward).into_iter().any(visits))
}

/// The arrays before a gradient run that may have to be made once more. None: there is no room.
pub fn start(arguments: &Arguments) -> Option<Snapshot> {
    memory::allows(bytes(arguments), 3).then(|| arguments.snapshot())
}

/// Of all arrays and gradients.
pub fn bytes(arguments: &Arguments) -> u64 {
    arguments.memory().iter().map(|&(_, bytes)| bytes).sum()
}

/// Runs the gradient by the program that computes beside such points, on arguments that are as
/// before the run. False: it does not compile, for a budget of the compiler, say.
pub type Again<'a> = dyn FnMut(Nudged, &mut Arguments) -> Result<bool> + 'a;

/// The note for a gradient that the conventions decide, after a run that came to a point at
/// `place`. The arguments are left as that run left them.
pub fn note(
    arguments: &mut Arguments,
    before: &Snapshot,
    structs: &StructTable,
    place: Span,
    again: &mut Again,
) -> Result<Option<Diagnostic>> {
    let (after, parameters) = (arguments.snapshot(), arguments.parameters.clone());
    let here = gradients(arguments, structs);
    arguments.restore(before);
    let seeds = gradients(arguments, structs);
    let found = match largest(&seeds) {
        Some(noise) => {
            let mut beside = |how| {
                arguments.restore(before);
                let ran = again(how, arguments)?;
                Ok(ran.then(|| gradients(arguments, structs)))
            };
            compared(&here, NOISE * noise, &mut beside)
        }
        None => Ok(None),
    };
    arguments.restore(&after);
    arguments.parameters = parameters;
    Ok(found?.map(|(name, here, beside)| messages::decided_by_convention(&name, here, beside, place)))
}

/// The gradient that the conventions decided, if they did: the name, the number here and beside.
fn compared(
    here: &Gradients,
    noise: f64,
    beside: &mut dyn FnMut(Nudged) -> Result<Option<Gradients>>,
) -> Result<Option<(String, f64, f64)>> {
    let Some(moved) = beside(Nudged::Moved)? else { return Ok(None) };
    let Some(found) = jump(here, &moved, noise) else { return Ok(None) };
    if found.2.is_nan() {
        return Ok(Some(found));
    }
    let Some(cut) = beside(Nudged::Cut)? else { return Ok(None) };
    if let Some(found) = jump_from_both(here, &cut, &moved, noise) {
        return Ok(Some(found));
    }
    let Some(back) = beside(Nudged::Back)? else { return Ok(None) };
    Ok(jump_to_both(here, &moved, &back, noise))
}

/// By name, the numbers of gradients.
type Gradients = Vec<(String, Vec<f64>)>;

fn largest(of: &Gradients) -> Option<f64> {
    let largest = of.iter().flat_map(|(_, values)| values).fold(0.0, |most: f64, x| most.max(x.abs()));
    (largest > 0.0).then_some(largest)
}

/// Those of arrays and of values.
fn gradients(arguments: &Arguments, structs: &StructTable) -> Gradients {
    let arrays = arguments.arrays.iter().filter(|array| array.grad.is_some());
    let arrays = arrays.map(|array| (array.key.clone(), arguments.floats(array, true, structs)));
    let values = arguments.parameters.iter();
    let values = values.map(|value| (value.key.clone(), value.gradient.clone().unwrap_or_default()));
    arrays.chain(values).collect()
}

/// The first number that differs by more than the noise and by more than rounding.
fn jump(here: &Gradients, beside: &Gradients, noise: f64) -> Option<(String, f64, f64)> {
    here.iter().zip(beside).find_map(|((name, here), (_, beside))| {
        let found = here.iter().zip(beside).find(|&(&a, &b)| differs(a, b, noise))?;
        Some((name.clone(), *found.0, *found.1))
    })
}

/// The first number that differs from both of two.
fn jump_from_both(here: &Gradients, cut: &Gradients, beside: &Gradients, noise: f64) -> Option<(String, f64, f64)> {
    here.iter().zip(cut).zip(beside).find_map(|(((name, here), (_, cut)), (_, beside))| {
        let mut all = here.iter().zip(cut).zip(beside);
        let found = all.find(|&((&a, &b), &other)| differs(a, other, noise) && differs(b, other, noise))?;
        Some((name.clone(), *found.0.0, *found.1))
    })
}

/// The first number that differs from two that agree.
fn jump_to_both(here: &Gradients, one: &Gradients, other: &Gradients, noise: f64) -> Option<(String, f64, f64)> {
    here.iter().zip(one).zip(other).find_map(|(((name, here), (_, one)), (_, other))| {
        let mut all = here.iter().zip(one).zip(other);
        let found = all.find(|&((&here, &one), &other)| differs(here, one, noise) && !differs(one, other, noise))?;
        Some((name.clone(), *found.0.0, *found.0.1))
    })
}

fn differs(a: f64, b: f64, noise: f64) -> bool {
    match (a.is_nan(), b.is_nan()) {
        (false, false) if a.is_finite() && b.is_finite() => (a - b).abs() > noise.max(ROUNDING * a.abs().max(b.abs())),
        (false, false) => a != b,
        (a, b) => a != b,
    }
}

#[cfg(test)]
mod tests {
    use super::{jump, jump_from_both, jump_to_both};

    #[test]
    fn noise_and_rounding_are_no_jumps() {
        let of = |values: [f64; 3]| vec![("x".to_string(), values.to_vec())];
        let here = of([0.0, 1.0, f64::NAN]);
        assert_eq!(jump(&here, &of([1e-6, 1.0005, f64::NAN]), 1e-5), None);
        assert_eq!(jump(&here, &of([1e-4, 1.0, f64::NAN]), 1e-5), Some(("x".to_string(), 0.0, 1e-4)));
        assert!(jump(&here, &of([0.0, f64::INFINITY, f64::NAN]), 1e-5).is_some());
        assert!(jump(&here, &of([0.0, 1.0, 0.0]), 1e-5).is_some());
        let other = of([0.0, 2.0, f64::NAN]);
        assert_eq!(jump_to_both(&here, &other, &of([0.0, 2.0, f64::NAN]), 1e-5), Some(("x".to_string(), 1.0, 2.0)));
        assert_eq!(jump_to_both(&here, &other, &of([0.0, -2.0, f64::NAN]), 1e-5), None);
        let beside = of([3.0, 2.0, f64::NAN]);
        assert_eq!(jump_from_both(&here, &other, &beside, 1e-5), Some(("x".to_string(), 0.0, 3.0)));
        assert_eq!(jump_from_both(&here, &beside, &other, 1e-5), None);
    }
}
