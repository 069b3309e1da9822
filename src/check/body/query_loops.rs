//! `for i in query:`: how does a loop go through what a query of the library finds?
//!
//! It is a `while` loop over the query's own function: `while wp.hash_grid_query_next(query, i):`.

use crate::check::body::{Binding, Body};
use crate::check::calls::call::Given;
use crate::check::tree::{Expr, ExprKind, Stmt, StmtKind};
use crate::check::types::value::{FunctionName, Operand, Reported, Res};
use crate::library::Library;
use crate::source::Span;
use crate::syntax::ast;
use crate::types::{I32, Type};

/// The structs of the library that loops go through, and what sets the next number of each.
const QUERIES: [(&str, &str); 3] =
    [("HashGridQuery", "hash_grid_query_next"), ("BvhQuery", "bvh_query_next"), ("MeshQueryAABB", "mesh_query_next")];

impl Body<'_, '_> {
    /// The value of what a loop goes through, if that may be a query: a variable, or what a
    /// function of the library gives.
    fn may_be_query(iter: &ast::Expr) -> bool {
        match &iter.kind {
            ast::ExprKind::Name(_) => true,
            ast::ExprKind::Call { callee, .. } => match &callee.kind {
                ast::ExprKind::Name(name) | ast::ExprKind::Attribute { name: ast::Name { text: name, .. }, .. } => {
                    name.contains("_query") && Library::has(name)
                }
                _ => false,
            },
            _ => false,
        }
    }

    /// What sets the next number of a query of this type.
    fn next_of(&self, ty: Type) -> Option<&'static str> {
        let structs = &self.c.output.library_structs;
        let is = |name: &str| structs.get(name).is_some_and(|&id| ty == Type::Struct(id));
        QUERIES.iter().find(|(name, _)| is(name)).map(|(_, next)| *next)
    }

    /// A loop over a query; None: it goes through something else.
    pub fn query_loop(
        &mut self,
        (name, place): (&str, Span),
        iter: &ast::Expr,
        body: &[ast::Stmt],
        span: Span,
        out: &mut Vec<Stmt>,
    ) -> Option<Res<()>> {
        if self.c.output.library_structs.is_empty() && matches!(iter.kind, ast::ExprKind::Name(_))
            || !Self::may_be_query(iter)
        {
            return None;
        }
        let query = match self.expr(iter) {
            Ok(Operand::Value(query)) => query,
            Ok(_) => return None,
            Err(Reported) => return Some(Err(Reported)),
        };
        let next = self.next_of(query.ty)?;
        Some(self.loop_over_query(next, query, (name, place), body, span, out))
    }

    fn loop_over_query(
        &mut self,
        next: &str,
        query: Expr,
        (name, place): (&str, Span),
        body: &[ast::Stmt],
        span: Span,
        out: &mut Vec<Stmt>,
    ) -> Res<()> {
        // A query that a variable holds stays where it is: the loop has its own.
        let at = query.span;
        let own = self.new_local("", query.ty, at);
        let local = Expr::new(ExprKind::Local(own), query.ty, at);
        out.push(self.assign_local(own, query, at));
        let variable = self.assigned_local(name, I32, place, at);
        if variable.is_err() {
            self.scope.entry(name.to_string()).or_insert(Binding::Broken);
        }
        self.forget_assigned(body);
        self.enter_loop(body, out);
        let condition = variable.and_then(|variable| {
            self.known.remove(&variable);
            let index = Expr::new(ExprKind::Local(variable), I32, place);
            let given = [local, index].map(|expr| Given { name: None, operand: Operand::Value(expr), span: at });
            let found = self.call_function(&FunctionName::Builtin(next.to_string()), given.into(), at)?;
            self.materialize(found, at)
        });
        let body = self.loop_body(body);
        self.leave_loop();
        out.push(Stmt { kind: StmtKind::While { condition: condition?, body }, span });
        Ok(())
    }
}
