//! Names of types that are no values: `Points = wp.array(dtype=wp.vec3)` and
//! `FloatRef = wp.ref[float]` mean something only where a type is written.

use super::pattern::Pattern;
use super::value::{Operand, Res, TypeWord};
use crate::check::Checker;
use crate::check::names::member::is_core;
use crate::check::state::globals::Global;
use crate::check::types::value::ScopeId;
use crate::limits::MAX_IMPORTS;
use crate::syntax::ast::{Expr, ExprKind};

/// A name that is bound to an expression without a value so far.
struct Binding {
    scope: ScopeId,
    name: String,
    value: Expr,
}

impl Checker<'_> {
    /// What an alias of such a type represents. None: `expr` is no such name.
    pub fn type_alias(&mut self, expr: &Expr) -> Option<Res<Pattern>> {
        let Binding { scope, name, value } = self.binding(expr)?;
        if !self.within(scope, |c| c.is_array_or_reference(&value, MAX_IMPORTS)) {
            return None;
        }
        // An alias that needs itself is a circle, as any such constant is.
        self.scopes[scope].names.insert(name.clone(), Global::Evaluating);
        let (known, errors) = (self.diagnostics.len(), self.diagnostics.error_count());
        let needed = std::mem::take(&mut self.evaluation.unknown);
        let pattern = self.nested(expr.span, |c| c.within(scope, |c| c.annotation(&value, false)));
        self.diagnostics.blame(known, expr.span, "needed here");
        let unknown = std::mem::replace(&mut self.evaluation.unknown, needed);
        for unknown in &unknown {
            self.need_unknown(unknown);
        }
        // What is wrong in it is said once; what only Python knows, every kernel needs that uses
        // it.
        let wrong = unknown.is_empty() || self.diagnostics.error_count() > errors;
        let after = if pattern.is_err() && !self.evaluation.is_quiet() && wrong {
            Global::Broken
        } else {
            Global::Constant(value)
        };
        self.scopes[scope].names.insert(name, after);
        Some(pattern)
    }

    /// Whether `value` is such a type, or a name of one: `steps` is how many names may lie between.
    fn is_array_or_reference(&mut self, value: &Expr, steps: usize) -> bool {
        match &value.kind {
            ExprKind::Subscript { base: word, .. } | ExprKind::Call { callee: word, .. } => matches!(
                self.host_value(word),
                Some(Operand::Type(TypeWord::Array(_) | TypeWord::IndexedArray(_) | TypeWord::Ref))
            ),
            ExprKind::Name(_) | ExprKind::Attribute { .. } if steps > 0 => match self.binding(value) {
                Some(next) => self.within(next.scope, |c| c.is_array_or_reference(&next.value, steps - 1)),
                None => false,
            },
            _ => false,
        }
    }

    /// Where a name or `module.name` is bound, through the imports of other files.
    fn binding(&mut self, expr: &Expr) -> Option<Binding> {
        let (mut scope, mut name) = match &expr.kind {
            ExprKind::Name(name) => (self.lookup(name)?.0, name.clone()),
            ExprKind::Attribute { base, name } => {
                let ExprKind::Name(base) = &base.kind else { return None };
                let path = match self.follow(base)?.1 {
                    Global::Module(path) => path,
                    Global::Member { module, name } => format!("{module}.{name}"),
                    _ => return None,
                };
                (self.module(&path)?, name.text.clone())
            }
            _ => return None,
        };
        for _ in 0..MAX_IMPORTS {
            let module = match self.scopes[scope].names.get(&name)? {
                Global::Constant(value) => return Some(Binding { scope, name, value: value.clone() }),
                Global::Member { module, name: there } if !is_core(module) => {
                    name = there.clone();
                    module.clone()
                }
                _ => return None,
            };
            scope = self.module(&module)?;
        }
        None
    }
}
