//! How much work has a file asked for? Counters against the bounds of [`crate::limits`].

use super::tree::{Derivative, Expr, FnId};
use super::types::value::{Operand, Reported, Res};
use super::{Checker, visit};
use crate::check::messages;
use crate::diag::Diagnostic;
use crate::limits::{
    MAX_CONSTANT_COPIES, MAX_CONSTANT_PARTS, MAX_GRADIENT_DEPTH, MAX_INSTANCES, MAX_NESTED_USES, MAX_SUGGESTIONS,
    MAX_UNROLLED_STATEMENTS,
};
use crate::source::Span;

impl Checker<'_> {
    /// Refuses a compile-time value of too many parts, and too many uses of large ones.
    pub fn charge(&mut self, value: &Operand, span: Span) -> Res<()> {
        let parts = parts(value);
        if parts > MAX_CONSTANT_PARTS {
            return Err(self.constant_too_large(span));
        }
        self.evaluation.budget.copied += parts;
        if self.evaluation.budget.copied > MAX_CONSTANT_COPIES {
            return Err(self.overspent(messages::values::too_many_constants(span)));
        }
        Ok(())
    }

    pub fn constant_too_large(&mut self, span: Span) -> Reported {
        self.report(messages::values::constant_too_large(span))
    }

    /// Counts a statement of an unrolled loop.
    pub fn charge_unrolled(&mut self, span: Span) -> Res<()> {
        self.evaluation.budget.unrolled += 1;
        if self.evaluation.budget.unrolled > MAX_UNROLLED_STATEMENTS {
            return Err(self.overspent(messages::values::unrolled_too_often(span)));
        }
        Ok(())
    }

    /// Whether no more is unrolled.
    pub fn is_unrolled_enough(&self) -> bool {
        self.evaluation.budget.unrolled > MAX_UNROLLED_STATEMENTS
    }

    /// Runs `f` for a function or constant that is needed at `span`, unless too many wait for
    /// others.
    pub fn nested<T>(&mut self, span: Span, f: impl FnOnce(&mut Self) -> Res<T>) -> Res<T> {
        if self.evaluation.budget.nested >= MAX_NESTED_USES {
            return Err(self.report(messages::values::nested_too_deep(span)));
        }
        self.evaluation.budget.nested += 1;
        let result = f(self);
        self.evaluation.budget.nested -= 1;
        result
    }

    /// Refuses one more version of a function.
    pub fn charge_instance(&mut self, span: Span) -> Res<()> {
        if self.instances.len() < MAX_INSTANCES {
            return Ok(());
        }
        Err(self.overspent(messages::values::too_many_instances(span)))
    }

    /// Refuses the gradient of a function that is a gradient itself, too often over.
    pub fn charge_gradient(&mut self, of: FnId, span: Span) -> Res<()> {
        if self.gradient_depth(of) < MAX_GRADIENT_DEPTH {
            return Ok(());
        }
        Err(self.report(messages::gradients::too_deep(span)))
    }

    /// How many gradients there are inside one another in a function, with all that it calls.
    fn gradient_depth(&mut self, id: FnId) -> u32 {
        if let Some(&known) = self.evaluation.budget.gradients.get(&id) {
            return known;
        }
        let mut depth = 0;
        for callee in visit::callees(&self.output.functions[id]) {
            depth = depth.max(self.gradient_depth(callee));
        }
        if let Derivative::AdjointOf(primal) = self.output.functions[id].derivative {
            depth = depth.max(1 + self.gradient_depth(primal));
        }
        self.evaluation.budget.gradients.insert(id, depth);
        depth
    }

    /// Whether one more search for the nearest name is worth its time: with hundreds of unknown
    /// names, none was a slip.
    pub fn may_suggest(&mut self) -> bool {
        self.evaluation.budget.suggested += 1;
        self.evaluation.budget.suggested <= MAX_SUGGESTIONS
    }

    /// Whether the end of a budget was reported: no more work is done for a file that is refused.
    pub fn is_spent(&self) -> bool {
        self.evaluation.budget.spent
    }

    /// Reports the end of a budget, unless that was done.
    fn overspent(&mut self, finding: Diagnostic) -> Reported {
        if !self.evaluation.budget.spent {
            self.report(finding);
            // What is said quietly is not heard.
            self.evaluation.budget.spent = !self.evaluation.is_quiet();
        }
        Reported
    }
}

/// The numbers and operations of a value.
pub(crate) fn parts(value: &Operand) -> usize {
    match value {
        Operand::Value(expr) | Operand::Shape(expr) => expr_parts(expr),
        Operand::Tuple(items) => 1 + items.iter().map(parts).sum::<usize>(),
        Operand::Str(text) => 1 + text.len() / size_of::<Operand>(),
        Operand::Results(call, _) => 1 + call.args.iter().map(expr_parts).sum::<usize>(),
        _ => 1,
    }
}

/// The operations of an expression.
pub(crate) fn expr_parts(expr: &Expr) -> usize {
    let mut count = 0;
    visit::walk(expr, &mut |_| count += 1);
    count
}
