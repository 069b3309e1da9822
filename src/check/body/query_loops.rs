//! `for i in query:`: how does a loop go through what a query of the library finds?
//!
//! It is a `while` loop over the query's own function: `while wp.hash_grid_query_next(query, i):`.
//! Points of a hash grid come in runs; a loop that nothing breaks counts through each, which leaves
//! the compiler an inner loop that it knows well.

use crate::check::body::loops::{jumps, whole};
use crate::check::body::{Binding, Body};
use crate::check::calls::call::Given;
use crate::check::tree::{Expr, ExprKind, Stmt, StmtKind};
use crate::check::types::value::{FunctionName, Operand, Reported, Res};
use crate::library::Library;
use crate::source::Span;
use crate::syntax::ast;
use crate::types::{I32, Type};

/// A struct of the library that loops go through.
struct Query {
    name: &'static str,
    /// What sets its next number.
    next: &'static str,
    runs: Option<Runs>,
}

/// Functions of the library by which a query gives several numbers at once.
#[derive(Clone, Copy)]
struct Runs {
    /// Sets where the next run begins.
    next: &'static str,
    /// Where the current run ends.
    end: &'static str,
    /// The number at a place of it.
    item: &'static str,
}

const RUNS: Runs = Runs { next: "_hash_grid_next_run", end: "_hash_grid_run_end", item: "_hash_grid_item" };

const QUERIES: [Query; 3] = [
    Query { name: "HashGridQuery", next: "hash_grid_query_next", runs: Some(RUNS) },
    Query { name: "BvhQuery", next: "bvh_query_next", runs: None },
    Query { name: "MeshQueryAABB", next: "mesh_query_next", runs: None },
];

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

    fn query_of(&self, ty: Type) -> Option<&'static Query> {
        let structs = &self.c.output.library_structs;
        let is = |name: &str| structs.get(name).is_some_and(|&id| ty == Type::Struct(id));
        QUERIES.iter().find(|query| is(query.name))
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
        let kind = self.query_of(query.ty)?;
        Some(self.loop_over_query(kind, query, (name, place), body, span, out))
    }

    fn loop_over_query(
        &mut self,
        kind: &Query,
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
        let runs = kind.runs.filter(|_| !jumps(body, &ast::StmtKind::Break));
        let first = runs.map(|_| self.new_local("", I32, at));
        let condition = variable.and_then(|variable| {
            self.known.remove(&variable);
            let index = Expr::new(ExprKind::Local(first.unwrap_or(variable)), I32, place);
            self.of_library(runs.map_or(kind.next, |runs| runs.next), [local.clone(), index], at)
        });
        let mut body = self.loop_body(body);
        self.leave_loop();
        let condition = condition?;
        if let (Some(runs), Some(first), Ok(variable)) = (runs, first, variable) {
            let counter = self.new_local("", I32, at);
            let end = self.of_library(runs.end, [local.clone()], at)?;
            let item = self.of_library(runs.item, [local, Expr::new(ExprKind::Local(counter), I32, at)], at)?;
            body.insert(0, self.assign_local(variable, item, at));
            let start = Expr::new(ExprKind::Local(first), I32, at);
            let step = whole(1, I32, at);
            body = vec![Stmt { kind: StmtKind::For { variable: counter, start, end, step, body }, span }];
        }
        out.push(Stmt { kind: StmtKind::While { condition, body }, span });
        Ok(())
    }

    /// What a function of the library gives.
    fn of_library<const N: usize>(&mut self, name: &str, args: [Expr; N], at: Span) -> Res<Expr> {
        let given = args.map(|expr| Given { name: None, operand: Operand::Value(expr), span: at });
        let found = self.call_function(&FunctionName::Builtin(name.to_string()), given.into(), at)?;
        self.materialize(found, at)
    }
}
