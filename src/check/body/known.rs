//! Which variables hold a literal at this point? `n = 3` makes a variable, but until `n` changes it
//! also serves where a constant is needed (`v[0:n]`, `wp.zeros(shape=n, ...)`, `wp.static(n)`), and
//! `x = 0.1` keeps all its digits on the way to a wider type (`wp.float64(x)`).
//!
//! The record follows the order of statements: what a branch changes is forgotten after it, what a
//! loop changes is forgotten before its body.

use std::collections::{HashMap, HashSet};

use crate::check::body::body_state::Known;
use crate::check::body::{Binding, Body};
use crate::check::messages;
use crate::check::tree::{Expr, ExprKind, LocalId};
use crate::check::types::value::{Constant, Number, Operand, Res};
use crate::syntax::{ast, visit};
use crate::types::Scalar;

impl Body<'_, '_> {
    /// The literal an expression is, or the one that the variable it names holds.
    pub fn literal(&self, expr: &Expr) -> Option<Constant> {
        match expr.kind {
            ExprKind::Local(id) => self.known.get(&id).copied(),
            _ => None,
        }
    }

    /// The number of a constant where it is: Python and the library compute with all its digits,
    /// kernels do not.
    pub fn meant(&self, constant: &Constant) -> Number {
        if self.is_host() || self.is_library() { constant.number } else { constant.in_kernel() }
    }

    /// The number of an expression that is known at compile time.
    pub fn number(&self, expr: &Expr) -> Option<Number> {
        expr.as_number().or_else(|| self.literal(expr).map(|c| c.number))
    }

    /// The integer that an operand is known to be.
    pub fn known_int(&self, operand: &Operand) -> Option<i128> {
        match operand {
            Operand::Const(c) => c.as_int(),
            Operand::Value(expr) => match self.number(expr)? {
                Number::Int(n) => Some(n),
                _ => None,
            },
            _ => None,
        }
    }

    /// The value of a `wp.static(...)`: names known at compile time are visible in it, and of
    /// variables what their types tell (`len(v)`, `v.dtype`).
    pub fn static_value(&mut self, expr: &ast::Expr) -> Res<Operand> {
        let mut scope = HashMap::new();
        for (name, binding) in &self.scope {
            let binding = match binding {
                Binding::Local(id) => match self.known.get(id) {
                    Some(constant) => Binding::Alias(Operand::Const(*constant)),
                    None => binding.clone(),
                },
                other => other.clone(),
            };
            scope.insert(name.clone(), binding);
        }
        let result = Body::constant(self.c, expr, false, scope, self.locals.clone())?;
        if let Operand::Value(value) = &result
            && let Some(local) = first_local(value)
        {
            let name = self.locals.get(local).map_or_else(String::new, |local| local.name.clone());
            return Err(self.report(messages::values::static_of_run_time(&name, expr.span)));
        }
        Ok(result)
    }

    /// Forgets the variables that statements which may run again, or not at all, assign.
    pub fn forget_assigned(&mut self, statements: &[ast::Stmt]) {
        let mut names = HashSet::new();
        assigned_names(statements, &mut names);
        for name in names {
            if let Some(Binding::Local(id)) = self.scope.get(name) {
                self.known.remove(id);
            }
        }
    }

    /// After two ways join: what both know.
    pub fn join_known(&mut self, other: &Known) {
        self.known.retain(|id, constant| other.get(id) == Some(constant));
    }
}

/// Whether statements may assign a name.
pub(crate) fn assigns(statements: &[ast::Stmt], name: &str) -> bool {
    let mut names = HashSet::new();
    assigned_names(statements, &mut names);
    names.contains(name)
}

/// The names that statements may assign.
pub(crate) fn assigned(statements: &[ast::Stmt]) -> HashSet<&str> {
    let mut names = HashSet::new();
    assigned_names(statements, &mut names);
    names
}

/// The names that statements may assign. A call may change any variable it is given, so its
/// arguments count too; but a conversion changes none.
fn assigned_names<'a>(statements: &'a [ast::Stmt], names: &mut HashSet<&'a str>) {
    visit::each_statement(statements, &mut |stmt| {
        for target in visit::targets(stmt) {
            visit::bound_names(target, &mut |_, name| names.extend([name]));
        }
        visit::expressions(stmt, &mut |expr| call_names(expr, names));
    });
}

/// The names that stand alone as arguments of calls somewhere in an expression.
fn call_names<'a>(expr: &'a ast::Expr, names: &mut HashSet<&'a str>) {
    visit::walk(expr, &mut |part| {
        if let ast::ExprKind::Call { callee, args } = &part.kind
            && !converts(callee)
        {
            for arg in args {
                if let ast::ExprKind::Name(name) = &arg.value.kind {
                    names.insert(name);
                }
            }
        }
    });
}

/// Whether what is called is a scalar type: `float`, `wp.float64`.
fn converts(callee: &ast::Expr) -> bool {
    let name = match &callee.kind {
        ast::ExprKind::Name(name) => name,
        ast::ExprKind::Attribute { name, .. } => &name.text,
        _ => return false,
    };
    matches!(name.as_str(), "int" | "float") || Scalar::from_name(name).is_some()
}

/// A variable that an expression reads.
fn first_local(expr: &Expr) -> Option<LocalId> {
    let first = |parts: &[Expr]| parts.iter().find_map(first_local);
    match &expr.kind {
        ExprKind::Local(id) => Some(*id),
        ExprKind::Unary(_, a) | ExprKind::Cast(a) | ExprKind::Bitcast(a) => first_local(a),
        ExprKind::Binary(_, a, b) | ExprKind::Compare(_, a, b) => first_local(a).or_else(|| first_local(b)),
        ExprKind::Construct(parts) | ExprKind::And(parts) | ExprKind::Or(parts) => first(parts),
        ExprKind::Call(call) => first(&call.args),
        ExprKind::Part { base, .. } => first_local(base),
        ExprKind::Load { array, .. } | ExprKind::Extent(array, _) | ExprKind::IsSet(array) => first_local(array),
        ExprKind::Select { condition, then, otherwise } | ExprKind::Conditional { condition, then, otherwise } => {
            [condition, then, otherwise].into_iter().find_map(|part| first_local(part))
        }
        _ => None,
    }
}
