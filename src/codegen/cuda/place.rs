//! Where variables are declared: in the innermost block that holds all their uses, with their first value if they have
//! one there.

use super::tree::{Expr, Stmt, Var};
use crate::ids::IdList;

type Vars = IdList<Var>;

/// Declares every variable of `list` but those in `declared`, which are parameters.
pub fn declare(list: &mut Vec<Stmt>, declared: &Vars) {
    let mut vars = Vars::new();
    list.iter().for_each(|stmt| occurring(stmt, &mut vars));
    let mut own = Vars::new();
    declared_by_statements(list, &mut own);
    let vars: Vars = vars.iter().filter(|&v| !declared.contains(v) && !own.contains(v)).collect();
    declare_in(list, vars);
}

/// Loop indices and local arrays bring their own declaration.
fn declared_by_statements(list: &[Stmt], out: &mut Vars) {
    for stmt in list {
        match stmt {
            Stmt::For { var, .. } | Stmt::LocalArray(var) => {
                out.insert(*var);
            }
            _ => {}
        }
        stmt.bodies().iter().for_each(|body| declared_by_statements(body, out));
    }
}

fn declare_in(list: &mut Vec<Stmt>, vars: Vars) {
    let uses: Vec<Vars> = list
        .iter()
        .map(|stmt| {
            let mut found = Vars::new();
            occurring(stmt, &mut found);
            found
        })
        .collect();
    let mut inner: Vec<[Vars; 2]> = vec![Default::default(); list.len()];
    let mut here: Vec<(usize, Var)> = Vec::new();
    for var in vars.iter() {
        let mut at = (0..list.len()).filter(|&n| uses[n].contains(var));
        let Some(first) = at.next() else { continue };
        match (at.next(), only_body(&list[first], var)) {
            (None, Some(body)) => {
                inner[first][body].insert(var);
            }
            _ => here.push((first, var)),
        }
    }
    for (stmt, [first, second]) in list.iter_mut().zip(inner) {
        match stmt {
            Stmt::If { then, otherwise, .. } => {
                declare_in(then, first);
                declare_in(otherwise, second);
            }
            Stmt::For { body, .. } | Stmt::While { body, .. } => declare_in(body, first),
            _ => {}
        }
    }
    here.sort();
    // From the end, so that insertions move nothing that is still to be found.
    for vars in here.chunk_by(|a, b| a.0 == b.0).rev() {
        let Some(&(mut at, _)) = vars.first() else { continue };
        let assigned = |var: Var| match &list[at] {
            Stmt::Assign { var: target, value, .. } => *target == var && !value.reads(var),
            _ => false,
        };
        let (own, others): (Vec<Var>, Vec<Var>) = vars.iter().map(|(_, var)| *var).partition(|var| assigned(*var));
        if let (Stmt::Assign { declare, .. }, false) = (&mut list[at], own.is_empty()) {
            *declare = true;
        }
        // Not between a statement and what is said about it.
        while at > 0 && matches!(list[at - 1], Stmt::Note(_) | Stmt::At(_)) {
            at -= 1;
        }
        list.splice(at..at, others.into_iter().map(Stmt::Declare));
    }
}

/// Which nested block of a statement holds all uses of a variable.
fn only_body(stmt: &Stmt, var: Var) -> Option<usize> {
    let mut in_head = false;
    stmt.for_each_expr(&mut |e: &Expr| in_head |= e.reads(var));
    if in_head || matches!(stmt, Stmt::Assign { .. }) {
        return None;
    }
    let holds = stmt.bodies().map(|body| {
        let mut found = Vars::new();
        body.iter().for_each(|s| occurring(s, &mut found));
        found.contains(var)
    });
    match holds {
        [true, false] => Some(0),
        [false, true] => Some(1),
        _ => None,
    }
}

/// Every variable that a statement reads or assigns, with those of nested statements.
fn occurring(stmt: &Stmt, out: &mut Vars) {
    match stmt {
        Stmt::Declare(var) | Stmt::LocalArray(var) | Stmt::Assign { var, .. } | Stmt::For { var, .. } => {
            out.insert(*var);
        }
        _ => {}
    }
    stmt.for_each_expr(&mut |e| {
        e.for_each_var(&mut |v| {
            out.insert(v);
        })
    });
    stmt.bodies().iter().for_each(|body| body.iter().for_each(|s| occurring(s, out)));
}
