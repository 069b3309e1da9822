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

use std::rc::Rc;

use super::{Runs, Session, gradient, kernel};
use crate::abi::LaunchBounds;
use crate::diag::{Code, Diagnostic};
use crate::ir::{Check, FuncId, Module, Nudged, Op};
use crate::run::Result;
use crate::run::args::{Arguments, Snapshot, memory};
use crate::run::gradients::gradient::entries_of;
use crate::run::launch::{Direction, Launch};
use crate::run::program::{Program, Wanted};
use crate::source::Span;
use crate::types::StructTable;

/// What an adjoint of 1 changes in a gradient that is smooth there, at most: the point moves by
/// 1e-10.
const NOISE: f64 = 1e-5;
/// Parts of a gradient that round differently.
const ROUNDING: f64 = 1e-3;

/// The arrays before a run that may have to be made once more. None: nothing may be degenerate in
/// it, or there is no room.
pub(super) fn start(
    module: &Module,
    forward: FuncId,
    direction: Direction,
    checked: bool,
    arguments: &Arguments,
) -> Option<Snapshot> {
    if direction == Direction::Forward || !checked {
        return None;
    }
    let backward = entries_of(module, &module.functions[forward]).backward?;
    let visits = |id: FuncId| module.functions[id].has(|inst| matches!(inst.op, Op::Check(Check::Visit, _)));
    let bytes: u64 = arguments.memory().iter().map(|&(_, bytes)| bytes).sum();
    (module.reached_from(backward).into_iter().any(visits) && memory::allows(bytes, 3)).then(|| arguments.snapshot())
}

impl Session<'_> {
    /// The note for a gradient that the conventions decide, after a run that came to a point at
    /// `place`.
    pub(super) fn beside(
        &mut self,
        launch: &Launch,
        wanted: &Wanted,
        (bounds, place): (&LaunchBounds, Span),
        before: &Snapshot,
        arguments: &mut Arguments,
    ) -> Result<Option<Diagnostic>> {
        let (after, parameters) = (arguments.snapshot(), arguments.parameters.clone());
        let Some(program) = self.nudged(launch, wanted, Nudged::Moved) else { return Ok(None) };
        let structs = program.0.module.structs.clone();
        let here = gradients(arguments, &structs);
        arguments.restore(before);
        let seeds = gradients(arguments, &structs);
        let mut found = Ok(None);
        if let Some(noise) = largest(&seeds) {
            found = self.compared(launch, wanted, (bounds, before), arguments, &here, NOISE * noise);
        }
        arguments.restore(&after);
        arguments.parameters = parameters;
        Ok(found?.map(|(name, here, beside)| {
            let message = format!(
                "a gradient is near-degenerate: in that of `{name}` a number is {here}, by the conventions for functions that have no \
                 derivative at a point, and {beside} beside this point"
            );
            Diagnostic::new(Code::W1120, message).label(place, "such a function")
        }))
    }

    /// The gradient that the conventions decided, if they did: the name, the number here and
    /// beside.
    fn compared(
        &mut self,
        launch: &Launch,
        wanted: &Wanted,
        at: (&LaunchBounds, &Snapshot),
        arguments: &mut Arguments,
        here: &Gradients,
        noise: f64,
    ) -> Result<Option<(String, f64, f64)>> {
        let mut of = |how| self.gradients_of(launch, wanted, how, at, arguments);
        let Some(moved) = of(Nudged::Moved)? else { return Ok(None) };
        let Some(found) = jump(here, &moved, noise) else { return Ok(None) };
        if found.2.is_nan() {
            return Ok(Some(found));
        }
        let Some(cut) = of(Nudged::Cut)? else { return Ok(None) };
        if let Some((name, _, beside)) = jump(&cut, &moved, noise) {
            return Ok(Some((name, found.1, beside)));
        }
        let Some(back) = of(Nudged::Back)? else { return Ok(None) };
        Ok(jump_to_both(here, &moved, &back, noise))
    }

    /// The gradients by a program that computes beside such points. None: it does not compile, for
    /// a budget of the compiler, say.
    fn gradients_of(
        &mut self,
        launch: &Launch,
        wanted: &Wanted,
        how: Nudged,
        (bounds, before): (&LaunchBounds, &Snapshot),
        arguments: &mut Arguments,
    ) -> Result<Option<Gradients>> {
        let Some((program, id)) = self.nudged(launch, wanted, how) else { return Ok(None) };
        arguments.restore(before);
        let mut runs = Runs {
            wanted: &Wanted { nudged: Some(how), ..wanted.clone() },
            module: &program.module,
            bounds: *bounds,
            block_dim: launch.block_dim,
            memory: arguments.memory(),
            seconds: 0.0,
            counted: Vec::new(),
        };
        let mut run = |entry: FuncId, args, more: &[(u64, u64)]| self.run_entry(&mut runs, entry, args, more);
        match launch.direction {
            Direction::Backward => gradient::backward(&program, id, arguments, bounds.size, &mut run)?,
            _ => gradient::gradient(&program, id, arguments, bounds.size, &mut run)?,
        };
        Ok(Some(gradients(arguments, &program.module.structs)))
    }

    fn nudged(&mut self, launch: &Launch, wanted: &Wanted, how: Nudged) -> Option<(Rc<Program>, FuncId)> {
        let program = self.compiled(&Wanted { nudged: Some(how), ..wanted.clone() });
        let id = kernel(&program, &launch.source, launch.kernel.as_deref()).ok()?;
        Some((program, id))
    }
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
    use super::{jump, jump_to_both};

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
    }
}
