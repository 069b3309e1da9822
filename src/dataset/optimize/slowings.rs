//! How did a kernel look before somebody made it faster? Each change undoes one optimisation that
//! its kernel has.

use super::super::plan::{Extent, Given, Plan, Step};
use super::super::repair::launches::extents;
use super::super::repair::sites::{Faults, Relaunch, Sites, builtin, is_atom, range};
use crate::syntax::ast::{BinaryOp, Expr, ExprKind, Stmt, StmtKind};
use crate::syntax::visit;

/// The changes of the kernel that is launched first. What they are called, and what is said of
/// them, is of the way back: from the slow kernel to the fast one.
pub fn slowings(sites: &Sites, plan: &Plan, step: &Step) -> Faults {
    let mut out = Faults::default();
    if sites.kernel().is_some_and(|kernel| kernel.name.text == step.kernel) {
        swapped_axes(sites, step, &mut out);
        neighbours_apart(sites, plan, step, &mut out);
        accumulators(sites, &mut out);
        loads_in_loops(sites, &mut out);
    }
    out
}

/// `i, j = wp.tid()` as `j, i = wp.tid()`, with the extents of the launch the other way round.
fn swapped_axes(sites: &Sites, step: &Step, out: &mut Faults) {
    let Some((targets, _)) = thread_index(sites) else { return };
    let [Expr { kind: ExprKind::Tuple(names), .. }] = targets else { return };
    let [first, second] = names.as_slice() else { return };
    let Some(dims) = extents(sites.text, &step.kernel) else { return };
    let [rows, columns] = dims.as_slice() else { return };
    let (a, b) = (sites.at(first.span).to_string(), sites.at(second.span).to_string());
    let text = |range: &std::ops::Range<usize>| sites.text.get(range.clone()).unwrap_or_default().to_string();
    let note = format!(
        "the last coordinate of `wp.tid()` is that of neighbouring threads: as `{b}`, the last index of the arrays, a warp reads and writes neighbouring elements"
    );
    let edits = vec![
        (range(first.span), b),
        (range(second.span), a),
        (rows.clone(), text(columns)),
        (columns.clone(), text(rows)),
    ];
    out.relaunch("coalesce-axes", note, Relaunch::Swapped, edits);
}

/// A thread for eight elements in a row, where the kernel has a thread for each.
fn neighbours_apart(sites: &Sites, plan: &Plan, step: &Step, out: &mut Faults) {
    let (Some(kernel), [dim]) = (sites.kernel(), step.dims.as_slice()) else { return };
    let Some((targets, at)) = thread_index(sites) else { return };
    let ([Expr { kind: ExprKind::Name(thread), .. }], None) = (targets, &step.block) else { return };
    let mut returns = false;
    visit::each_statement(&kernel.body, &mut |stmt| returns |= matches!(stmt.kind, StmtKind::Return(_)));
    let (Some(last), false) = (kernel.body.last(), returns || plan.is_fixed()) else { return };
    // An array with an element for each thread says how many there are.
    let Some(array) = sites.elements().find_map(|(_, array, indices)| {
        let by_thread = indices.first().is_some_and(|index| sites.at(index.span) == thread);
        (by_thread && extent_of(step, array) == Some(*dim)).then_some(array)
    }) else {
        return;
    };
    let Some([whole]) = extents(sites.text, &step.kernel).map(|list| <[_; 1]>::try_from(list).ok()).unwrap_or(None)
    else {
        return;
    };
    let names = sites.names(kernel);
    let Some(first) = ["first", "begin", "base"].into_iter().find(|name| !names.contains(name)) else { return };
    let (line, body) = (sites.whole_lines(at), sites.whole_lines(last.span));
    // A comment on the thread's element goes: the slow kernel has eight of them.
    let above = sites.text.get(..line.start).unwrap_or_default().lines().next_back().unwrap_or_default();
    let start_of = if above.trim_start().starts_with('#') { line.start - above.len() - 1 } else { line.start };
    let Some(inside) = sites.text.get(line.end..body.end) else { return };
    let Some(margin) = sites.text.get(line.start..at.start as usize) else { return };
    let indented: String =
        inside.lines().map(|line| if line.is_empty() { "\n".to_string() } else { format!("    {line}\n") }).collect();
    let looped = format!(
        "{margin}{first} = 8 * wp.tid()\n{margin}for {thread} in range({first}, wp.min({first} + 8, {array}.shape[0])):\n{indented}"
    );
    let text = sites.text.get(whole.clone()).unwrap_or_default();
    let threads = if text.contains(' ') { format!("(({text}) + 7) // 8") } else { format!("({text} + 7) // 8") };
    let note = format!(
        "a thread for each element of `{array}`: the threads of a warp take neighbouring elements, and eight times as many of them hide the latency of memory"
    );
    out.relaunch("thread-per-element", note, Relaunch::Eighth, vec![(start_of..body.end, looped), (whole, threads)]);
}

/// The first extent of the array that a parameter gets.
fn extent_of(step: &Step, name: &str) -> Option<Extent> {
    step.params.iter().find(|param| param.name == name).and_then(|param| match &param.given {
        Given::Array { shape, .. } => shape.first().copied(),
        _ => None,
    })
}

/// The targets of the statement that takes the coordinates of the thread, first in the kernel.
fn thread_index<'a>(sites: &Sites<'a>) -> Option<(&'a [Expr], crate::source::Span)> {
    let stmt = sites.kernel()?.body.iter().find(|stmt| !matches!(stmt.kind, StmtKind::Expr(_)))?;
    let StmtKind::Assign { targets, value } = &stmt.kind else { return None };
    let ExprKind::Call { callee, .. } = &value.kind else { return None };
    (builtin(sites.at(callee.span)) == Some("tid")).then_some((targets.as_slice(), stmt.span))
}

/// Sums that are kept in a variable, as sums in the array that gets them at the end.
fn accumulators(sites: &Sites, out: &mut Faults) {
    let Some(kernel) = sites.kernel() else { return };
    let mut blocks: Vec<&[Stmt]> = vec![&kernel.body];
    visit::each_statement(&kernel.body, &mut |stmt| blocks.extend(visit::blocks(stmt)));
    for block in blocks {
        for (at, init) in block.iter().enumerate() {
            let StmtKind::Assign { targets, value } = &init.kind else { continue };
            let [Expr { kind: ExprKind::Name(sum), .. }] = targets.as_slice() else { continue };
            if is_constant(sites, value) {
                let rest = block.get(at + 1..).unwrap_or_default();
                rest.iter().for_each(|last| accumulator(sites, init, sum, value, last, out));
            }
        }
    }
}

/// One of them: `sum = 0.0`, then loops with `sum += ..`, then `last`, which alone reads it.
fn accumulator(sites: &Sites, init: &Stmt, sum: &str, zero: &Expr, last: &Stmt, out: &mut Faults) {
    let Some(kernel) = sites.kernel() else { return };
    let is_sum = |expr: &Expr| matches!(&expr.kind, ExprKind::Name(name) if name == sum);
    let mut adds: Vec<(&Stmt, &Expr)> = Vec::new();
    let mut named = 0;
    visit::each_statement(&kernel.body, &mut |stmt| match &stmt.kind {
        StmtKind::AugAssign { target, op: BinaryOp::Add, value } if is_sum(target) => {
            adds.push((stmt, value));
            named += 1;
        }
        // `sum = sum + ..`
        StmtKind::Assign { targets, value } if targets.iter().all(is_sum) => {
            if let ExprKind::Binary { op: BinaryOp::Add, left, right } = &value.kind
                && is_sum(left.as_ref())
            {
                adds.push((stmt, right.as_ref()));
                named += 2;
            }
        }
        _ => {}
    });
    let between = |stmt: &Stmt| stmt.span.start > init.span.end && stmt.span.end < last.span.start;
    if adds.is_empty() || !adds.iter().all(|(stmt, _)| between(stmt) && in_a_loop(sites, stmt)) {
        return;
    }
    // Nothing else names it: the first statement, the sums, and the last one.
    if mentions(sites, sum) != named + 2 || adds.iter().any(|(_, value)| sites.at(value.span).contains('\n')) {
        return;
    }
    let bracketed = |value: &Expr| match is_atom(value) {
        true => sites.at(value.span).to_string(),
        false => format!("({})", sites.at(value.span)),
    };
    match &last.kind {
        StmtKind::Assign { targets, value } if matches!(&value.kind, ExprKind::Name(name) if name == sum) => {
            let [target] = targets.as_slice() else { return };
            let ExprKind::Subscript { base, indices } = &target.kind else { return };
            let ExprKind::Name(array) = &base.kind else { return };
            if sites.array_type(array).is_none() || mentions(sites, array) != 1 || !known(sites, indices, init) {
                return;
            }
            let element = sites.at(target.span);
            let mut edits = vec![(range(init.span), format!("{element} = {}", sites.at(zero.span)))];
            edits.extend(
                adds.iter()
                    .map(|(stmt, value)| (range(stmt.span), format!("{element} = {element} + {}", bracketed(value)))),
            );
            edits.push((sites.whole_lines(last.span), String::new()));
            let note = format!(
                "the sum stays in a register, and `{array}` is written once: before, each iteration read and wrote an element of it in global memory"
            );
            out.add("accumulate-in-register", note, edits);
        }
        StmtKind::Expr(Expr { kind: ExprKind::Call { callee, args }, .. })
            if builtin(sites.at(callee.span)) == Some("atomic_add") =>
        {
            let [array, indices @ .., value] = args.as_slice() else { return };
            let indices: Vec<Expr> = indices.iter().map(|arg| arg.value.clone()).collect();
            if !matches!(&value.value.kind, ExprKind::Name(name) if name == sum) || !known(sites, &indices, init) {
                return;
            }
            let place: Vec<&str> = indices.iter().map(|index| sites.at(index.span)).collect();
            let (array, place) = (sites.at(array.value.span), place.join(", "));
            let mut edits = vec![(sites.whole_lines(init.span), String::new())];
            edits.extend(adds.iter().map(|(stmt, value)| {
                (range(stmt.span), format!("{}({array}, {place}, {})", sites.at(callee.span), sites.at(value.span)))
            }));
            edits.push((sites.whole_lines(last.span), String::new()));
            let note = format!(
                "each thread adds up what it has, and `{array}` gets one atomic addition of it, where every iteration made one"
            );
            out.add("aggregate-atomics", note, edits);
        }
        _ => {}
    }
}

/// Elements that are loaded once and used in loops, as loads in every iteration.
fn loads_in_loops(sites: &Sites, out: &mut Faults) {
    for (function, stmt) in &sites.statements {
        let StmtKind::Assign { targets, value } = &stmt.kind else { continue };
        let [Expr { kind: ExprKind::Name(name), .. }] = targets.as_slice() else { continue };
        let ExprKind::Subscript { base, indices } = &value.kind else { continue };
        let ExprKind::Name(array) = &base.kind else { continue };
        let in_kernel = sites.kernel().is_some_and(|kernel| kernel.span == function.span);
        let stored = sites.stores().any(|(_, other, _)| other == array);
        let plain = indices.iter().all(|index| !matches!(index.kind, ExprKind::Slice { .. }));
        if !in_kernel || stored || !plain || sites.array_type(array).is_none() || !unchanged(sites, indices, stmt) {
            continue;
        }
        let is_it = |expr: &Expr| matches!(&expr.kind, ExprKind::Name(other) if other == name);
        let uses: Vec<_> = sites
            .exprs
            .iter()
            .filter(|site| site.function.span == function.span && is_it(site.expr) && site.stmt.span != stmt.span)
            .collect();
        // It is assigned once.
        let assigned = uses.iter().any(|site| visit::targets(site.stmt).iter().any(is_it));
        if assigned || uses.is_empty() || !uses.iter().all(|site| in_a_loop(sites, site.stmt)) {
            continue;
        }
        let element = sites.at(value.span).to_string();
        let mut edits: Vec<_> = uses.iter().map(|site| (range(site.expr.span), element.clone())).collect();
        edits.push((sites.whole_lines(stmt.span), String::new()));
        let note = format!("`{element}` is loaded once, into a register, and not in every iteration of the loop");
        out.add("load-once", note, edits);
    }
}

/// How often the first kernel names something.
fn mentions(sites: &Sites, name: &str) -> usize {
    let is_it = |expr: &Expr| matches!(&expr.kind, ExprKind::Name(other) if other == name);
    sites.exprs.iter().filter(|site| sites.is_in_kernel(site) && is_it(site.expr)).count()
}

/// Whether a statement is in a loop of the kernel.
fn in_a_loop(sites: &Sites, stmt: &Stmt) -> bool {
    sites.statements.iter().any(|(_, other)| {
        matches!(other.kind, StmtKind::For { .. } | StmtKind::While { .. })
            && other.span.start < stmt.span.start
            && stmt.span.end <= other.span.end
    })
}

/// Whether an expression names no variable: `float(0.0)`, `wp.vec3()`.
fn is_constant(sites: &Sites, value: &Expr) -> bool {
    let mut constant = true;
    visit::walk(value, &mut |expr| {
        constant &= match &expr.kind {
            ExprKind::Name(name) => matches!(name.as_str(), "wp" | "float" | "int"),
            _ => !matches!(expr.kind, ExprKind::Subscript { .. }),
        };
    });
    constant && !sites.at(value.span).contains("tid")
}

/// Whether the names in indices have their values before a statement, and keep them.
fn known(sites: &Sites, indices: &[Expr], at: &Stmt) -> bool {
    let Some(kernel) = sites.kernel() else { return false };
    let mut fine = unchanged(sites, indices, at);
    for index in indices {
        visit::walk(index, &mut |expr| {
            let ExprKind::Name(name) = &expr.kind else { return };
            let is_param = kernel.params.iter().any(|param| param.name.text == *name);
            let before = sites.statements.iter().any(|(function, stmt)| {
                function.span == kernel.span && stmt.span.start < at.span.start && binds(stmt, name)
            });
            fine &= is_param || before || name == "wp";
        });
    }
    fine
}

/// Whether no statement behind another one gives the names in indices new values.
fn unchanged(sites: &Sites, indices: &[Expr], at: &Stmt) -> bool {
    let mut fine = true;
    for index in indices {
        visit::walk(index, &mut |expr| {
            let ExprKind::Name(name) = &expr.kind else { return };
            fine &= !sites.statements.iter().any(|(_, stmt)| stmt.span.start > at.span.start && binds(stmt, name));
        });
    }
    fine
}

fn binds(stmt: &Stmt, name: &str) -> bool {
    let mut found = false;
    for target in visit::targets(stmt) {
        visit::bound_names(target, &mut |_, other| found |= other == name);
    }
    found
}
