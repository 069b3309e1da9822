//! Which choices of reverse code say that a value is 0 where its adjoint is? 0 times infinity is no
//! gradient. Where a function has many of them, the text calls a helper.

use super::scalar::is_half;
use crate::ir::{CompareOp, Function, Op, Phase, ValueId};

/// From so many on, a function says that a value is 0 where its adjoint is.
const MANY_GUARDS: usize = 5;

/// Whether a function is reverse code: an entry, or the adjoint of a function, which takes that of
/// the result.
pub fn is_reverse(function: &Function) -> bool {
    let is_adjoint = || {
        let mut names = function.params().iter().filter_map(|&param| function.values[param].name.as_deref());
        function.source_name.starts_with("adj_") && names.any(|name| name.starts_with("adj_ret"))
    };
    function.phase == Phase::Backward || !function.is_kernel() && is_adjoint()
}

/// Whether reverse code has many choices that are 0 where an adjoint is.
pub fn has_many_guards(function: &Function) -> bool {
    let mut count = 0;
    if is_reverse(function) {
        function.walk(function.entry, &mut |_, inst| {
            if let Op::Select { condition, otherwise, .. } = inst.op {
                count += usize::from(guarded(function, condition, otherwise).is_some());
            }
        });
    }
    count >= MANY_GUARDS
}

/// The adjoint of a choice that is 0 where the adjoint is.
pub fn guarded(function: &Function, condition: ValueId, otherwise: ValueId) -> Option<ValueId> {
    let is_zero = |value| {
        let zero = function.as_const(value).is_some_and(|c| c.bits == 0);
        zero || function.op(value) == Some(&Op::Zero)
    };
    let Op::Compare(CompareOp::Ne, adjoint, zero) = function.op(condition)? else { return None };
    let is_half = function.ty(*adjoint).scalar_part().is_some_and(is_half);
    (is_zero(*zero) && is_zero(otherwise) && !is_half).then_some(*adjoint)
}
