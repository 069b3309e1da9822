//! What are the parts of a typed expression or statement? Traversals of the tree, one level at a
//! time.

use super::tree::*;

/// Calls `f` on the direct sub-expressions, in order of evaluation.
pub fn children<'a>(expr: &'a Expr, f: &mut dyn FnMut(&'a Expr)) {
    match &expr.kind {
        ExprKind::Const(_)
        | ExprKind::Zero
        | ExprKind::Local(_)
        | ExprKind::ThreadIndex(_)
        | ExprKind::BlockDim
        | ExprKind::ThreadInBlock
        | ExprKind::LocalArray => {}
        ExprKind::Unary(_, a)
        | ExprKind::Cast(a)
        | ExprKind::Bitcast(a)
        | ExprKind::Extent(a, _)
        | ExprKind::IsSet(a)
        | ExprKind::Gradient(a)
        | ExprKind::Address(a) => f(a),
        ExprKind::Binary(_, a, b) | ExprKind::Compare(_, a, b) => {
            f(a);
            f(b);
        }
        ExprKind::Let { value, body, .. } => {
            f(value);
            f(body);
        }
        ExprKind::Fma(a, b, c)
        | ExprKind::Conditional { condition: a, then: b, otherwise: c }
        | ExprKind::Select { condition: a, then: b, otherwise: c } => {
            f(a);
            f(b);
            f(c);
        }
        ExprKind::And(parts)
        | ExprKind::Or(parts)
        | ExprKind::Construct(parts)
        | ExprKind::ArrayAt { args: parts, .. } => {
            parts.iter().for_each(f);
        }
        ExprKind::Part { base, path } => {
            f(base);
            step_children(path, f);
        }
        ExprKind::Load { array, index, path } => {
            f(array);
            index.iter().for_each(&mut *f);
            step_children(path, f);
        }
        ExprKind::Call(call) => call_children(call, f),
        ExprKind::View { array, index } => {
            f(array);
            for dim in index {
                match dim {
                    ViewIndex::At(at) => f(at),
                    ViewIndex::Range { start, stop, step } => {
                        [start, stop, step].into_iter().flatten().for_each(&mut *f);
                    }
                }
            }
        }
        ExprKind::Atomic { place, value, .. } => {
            f(value);
            place_children(place, f);
        }
        ExprKind::AtomicCas { place, expected, new } => {
            f(expected);
            f(new);
            place_children(place, f);
        }
    }
}

/// Calls `f` on the expressions that stand directly in a statement; not on those of statements
/// nested in it.
pub fn expressions<'a>(stmt: &'a Stmt, f: &mut dyn FnMut(&'a Expr)) {
    match &stmt.kind {
        StmtKind::Assign(place, value) | StmtKind::AtomicUpdate { place, value, .. } => {
            f(value);
            place_children(place, f);
        }
        StmtKind::AssignCall { call, .. } | StmtKind::Call(call) | StmtKind::ReturnCall(call) => call_children(call, f),
        StmtKind::AssignMany(pairs) => pairs.iter().for_each(|(_, value)| f(value)),
        StmtKind::Expr(expr)
        | StmtKind::If { condition: expr, .. }
        | StmtKind::While { condition: expr, .. }
        | StmtKind::Assert { condition: expr, .. } => f(expr),
        StmtKind::For { start, end, step, .. } => [start, end, step].into_iter().for_each(f),
        StmtKind::Return(values) | StmtKind::Print { args: values, .. } => values.iter().for_each(f),
        StmtKind::GridSync | StmtKind::Together { .. } | StmtKind::Break | StmtKind::Continue => {}
    }
}

/// Calls `f` on every part of `expr`, itself included.
pub fn walk<'a>(expr: &'a Expr, f: &mut dyn FnMut(&'a Expr)) {
    f(expr);
    children(expr, &mut |child| walk(child, f));
}

/// Calls `f` on every statement, nested ones included, in order.
pub fn each_statement<'a>(body: &'a [Stmt], f: &mut dyn FnMut(&'a Stmt)) {
    for stmt in body {
        f(stmt);
        match &stmt.kind {
            StmtKind::If { then, otherwise, .. } => {
                each_statement(then, f);
                each_statement(otherwise, f);
            }
            StmtKind::For { body, .. } | StmtKind::While { body, .. } => each_statement(body, f),
            _ => {}
        }
    }
}

/// Calls `f` on every expression of a function, in order.
pub fn each_expression<'a>(body: &'a [Stmt], f: &mut dyn FnMut(&'a Expr)) {
    each_statement(body, &mut |stmt| expressions(stmt, &mut |expr| walk(expr, f)));
}

/// The paths of component steps that stand directly in an expression, with whether they step into a
/// composite or struct value.
pub fn path(expr: &Expr) -> &[Step] {
    match &expr.kind {
        ExprKind::Part { path, .. } | ExprKind::Load { path, .. } => path,
        ExprKind::Atomic { place, .. } | ExprKind::AtomicCas { place, .. } => &place.path,
        _ => &[],
    }
}

/// The functions that a function calls, once for each call.
pub fn callees(function: &Function) -> Vec<FnId> {
    let mut found = Vec::new();
    each_statement(&function.body, &mut |stmt| {
        if let StmtKind::AssignCall { call, .. } | StmtKind::Call(call) | StmtKind::ReturnCall(call) = &stmt.kind {
            found.push(call.callee);
        }
    });
    each_expression(&function.body, &mut |expr| {
        if let ExprKind::Call(call) = &expr.kind {
            found.push(call.callee);
        }
    });
    found
}

/// The local a by-reference argument goes back to. An array element goes back to memory instead.
pub fn by_ref_locals(call: &Call) -> impl Iterator<Item = LocalId> {
    call.by_ref.iter().filter_map(|place| match place.root {
        Root::Local(local) => Some(local),
        Root::Element { .. } => None,
    })
}

fn call_children<'a>(call: &'a Call, f: &mut dyn FnMut(&'a Expr)) {
    call.args.iter().for_each(&mut *f);
    call.by_ref.iter().for_each(|place| place_children(place, f));
}

fn place_children<'a>(place: &'a Place, f: &mut dyn FnMut(&'a Expr)) {
    if let Root::Element { array, index } = &place.root {
        f(array);
        index.iter().for_each(&mut *f);
    }
    step_children(&place.path, f);
}

fn step_children<'a>(path: &'a [Step], f: &mut dyn FnMut(&'a Expr)) {
    for step in path {
        if let Step::Dynamic(index) = step {
            f(index);
        }
    }
}
