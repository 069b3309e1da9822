//! Loops and guards as a person writes them. Where the IR has one exit per region, a `break` is a
//! flag that the loop tests and a `continue` is a branch around the rest; here they become jumps
//! again. In reverse code, what may add zero becomes a branch too.

use std::collections::BTreeSet;

use super::tree::{self, Expr, Infix, Stmt, Var, spoken};

/// Shapes the statements of a function. `returns_nothing`: its last branch may return instead.
/// `is_reverse`: the sign of a zero means nothing there.
pub fn run(stmts: &mut Vec<Stmt>, vars: usize, returns_nothing: bool, is_reverse: bool) {
    if is_reverse {
        branches(stmts);
        conjunctions(stmts);
    }
    if is_reverse && returns_nothing {
        sums_inside(stmts);
    }
    let mut counts = vec![Count::default(); vars];
    count(stmts, &mut counts);
    lists(stmts, &counts);
    copies(stmts, &counts);
    if returns_nothing {
        guard(stmts, &Stmt::Return(None), is_reverse);
    }
}

/// Makes branches of choices between a change and none: `x += c ? a : 0` is `if (c) x += a`.
fn branches(list: &mut [Stmt]) {
    for stmt in list {
        match stmt {
            Stmt::If { then, otherwise, .. } => {
                branches(then);
                branches(otherwise);
            }
            Stmt::For { body, .. } | Stmt::While { body, .. } => branches(body),
            _ => {
                if let Stmt::Assign { value, .. } | Stmt::Store { value, .. } = stmt {
                    negated_choice(value);
                }
                if let Some(branch) = branch(stmt) {
                    *stmt = branch;
                }
            }
        }
    }
}

/// `-(c ? a : 0)` is `c ? -a : 0`.
fn negated_choice(value: &mut Expr) {
    if let Expr::Prefix("-", choice) = value
        && let Expr::Conditional(condition, a, zero) = &**choice
        && zero.is_zero()
    {
        let minus = Box::new(Expr::prefix("-", (**a).clone()));
        *value = Expr::Conditional(condition.clone(), minus, zero.clone());
    }
}

fn branch(stmt: &Stmt) -> Option<Stmt> {
    // The condition, and the change where it holds (or does not, where the bool says so).
    let change = |target: &Expr, value: &Expr| match value {
        Expr::Infix(op @ (Infix::Add | Infix::Sub), from, added) if **from == *target => {
            let (condition, added) = unless_zero(added)?;
            Some((condition, Expr::infix(*op, target.clone(), added)))
        }
        Expr::Conditional(condition, a, b) if **b == *target => Some(((**condition).clone(), (**a).clone())),
        Expr::Conditional(condition, a, b) if **a == *target => Some(((**condition).clone().negate(), (**b).clone())),
        _ => None,
    };
    let (condition, stmt) = match stmt {
        Stmt::Assign { var, value, declare: false } => {
            let (condition, value) = change(&Expr::Var(*var), value)?;
            (condition, Stmt::Assign { var: *var, value, declare: false })
        }
        Stmt::Store { target, value } => {
            let (condition, value) = change(target, value)?;
            (condition, Stmt::Store { target: target.clone(), value })
        }
        Stmt::Eval(Expr::Call(name, args)) if name == "atomicAdd" || name == "atomicSub" => {
            let [place, added] = args.as_slice() else { return None };
            let (condition, added) = unless_zero(added)?;
            (condition, Stmt::Eval(Expr::Call(name.clone(), vec![place.clone(), added])))
        }
        _ => return None,
    };
    Some(Stmt::If { condition, then: vec![stmt], otherwise: Vec::new() })
}

/// `if (a) { if (b) x += c; }` is `if (a && b) x += c;`. In the source's own text a person chose
/// one of the two.
fn conjunctions(list: &mut [Stmt]) {
    for stmt in list {
        match stmt {
            Stmt::If { condition, then, otherwise } => {
                conjunctions(then);
                conjunctions(otherwise);
                let inner = then.iter().position(|stmt| !matches!(stmt, Stmt::At(_)));
                let alone = otherwise.is_empty() && inner.is_some_and(|inner| inner + 1 == then.len());
                if let Some(Stmt::If { condition: b, then: body, otherwise }) = then.last_mut().filter(|_| alone)
                    && otherwise.is_empty()
                    && matches!(spoken(body).as_slice(), [Stmt::Assign { .. } | Stmt::Store { .. } | Stmt::Eval(_)])
                {
                    let a = std::mem::replace(condition, Expr::atom(""));
                    *condition = Expr::infix(Infix::And, a, std::mem::replace(b, Expr::atom("")));
                    *then = std::mem::take(body);
                }
            }
            Stmt::For { body, .. } | Stmt::While { body, .. } => conjunctions(body),
            _ => {}
        }
    }
}

/// `v = 0; if (c) { .. v += a; .. } x += v;` at the end: the sum is inside the branch, where there
/// is something to add.
fn sums_inside(list: &mut Vec<Stmt>) {
    let Some(at) = list.iter().rposition(|stmt| matches!(stmt, Stmt::If { .. })) else { return };
    let sums: Option<Vec<Var>> = list[at + 1..].iter().map(summed).collect();
    let Some(sums) = sums.filter(|sums| !sums.is_empty()) else { return };
    let Stmt::If { condition, then, otherwise } = &list[at] else { return };
    if !otherwise.is_empty() || tree::jumps(then) {
        return;
    }
    let start = |var: Var| {
        let is_zero =
            |stmt: &Stmt| matches!(stmt, Stmt::Assign { var: set, value, .. } if *set == var && value.is_zero());
        let zero = list[..at].iter().rposition(is_zero)?;
        let between = &list[zero + 1..at];
        let others = list[at + 1..].iter().filter(|stmt| tree::reads(std::slice::from_ref(stmt), var)).count();
        let alone = !condition.reads(var) && others == 1 && !tree::assigns(between, var) && !tree::reads(between, var);
        alone.then_some(zero)
    };
    let Some(mut zeros) = sums.iter().map(|&var| start(var)).collect::<Option<Vec<usize>>>() else { return };
    let behind = list.split_off(at + 1);
    let Some(Stmt::If { then, .. }) = list.last_mut() else { return };
    then.extend(behind);
    zeros.sort_unstable();
    zeros.dedup();
    let starts: Vec<Stmt> = zeros.iter().rev().map(|&zero| list.remove(zero)).collect();
    if let Some(Stmt::If { then, .. }) = list.last_mut() {
        let is_needed = |start: &Stmt| matches!(start, Stmt::Assign { var, .. } if !tree::sets_first(then, *var));
        let starts: Vec<Stmt> = starts.into_iter().filter(is_needed).collect();
        starts.into_iter().for_each(|start| then.insert(0, start));
        sums_inside(then);
    }
}

/// The variable that a statement adds to an element.
fn summed(stmt: &Stmt) -> Option<Var> {
    match stmt {
        Stmt::Store { target, value: Expr::Infix(Infix::Add, from, added) } if **from == *target => match **added {
            Expr::Var(var) => Some(var),
            _ => None,
        },
        Stmt::Eval(Expr::Call(name, args)) if name == "atomicAdd" => match args.as_slice() {
            [_, Expr::Var(var)] => Some(*var),
            _ => None,
        },
        _ => None,
    }
}

/// What is added, and when it is not zero.
fn unless_zero(added: &Expr) -> Option<(Expr, Expr)> {
    let Expr::Conditional(condition, a, b) = added else { return None };
    match (a.is_zero(), b.is_zero()) {
        (false, true) => Some(((**condition).clone(), (**a).clone())),
        (true, false) => Some(((**condition).clone().negate(), (**b).clone())),
        _ => None,
    }
}

/// How often statements read a variable and how often they set it.
#[derive(Clone, Copy, Default)]
struct Count {
    reads: u32,
    sets: u32,
}

fn count(list: &[Stmt], counts: &mut [Count]) {
    for stmt in list {
        if let Stmt::Assign { var, .. } | Stmt::For { var, .. } | Stmt::Declare(var) = stmt {
            counts[var.0 as usize].sets += 1;
        }
        stmt.for_each_expr(&mut |e| e.for_each_var(&mut |var| counts[var.0 as usize].reads += 1));
        stmt.bodies().iter().for_each(|body| count(body, counts));
    }
}

/// Shapes the loops of a list and of those in it.
fn lists(list: &mut Vec<Stmt>, counts: &[Count]) {
    for stmt in list.iter_mut() {
        match stmt {
            Stmt::If { then, otherwise, .. } => {
                lists(then, counts);
                lists(otherwise, counts);
            }
            Stmt::For { body, .. } | Stmt::While { body, .. } => lists(body, counts),
            _ => {}
        }
    }
    let mut at = 0;
    while at < list.len() {
        if let Some(start) = break_for_flag(list, at, counts) {
            list.remove(start);
            at -= 1;
        }
        if let Stmt::For { body, .. } | Stmt::While { body, .. } = &mut list[at] {
            guard(body, &Stmt::Continue, false);
        }
        at += 1;
    }
}

/// Makes values where they are copied: `t = max(m, x); if (x > m) at = j; m = t;` is
/// `if (x > m) at = j; m = max(m, x);`.
fn copies(list: &mut Vec<Stmt>, counts: &[Count]) {
    for stmt in list.iter_mut() {
        if let Stmt::If { then, otherwise, .. } = stmt {
            copies(then, counts);
            copies(otherwise, counts);
        } else if let Stmt::For { body, .. } | Stmt::While { body, .. } = stmt {
            copies(body, counts);
        }
    }
    let source = |stmt: &Stmt| match stmt {
        Stmt::Assign { value: Expr::Var(from), .. } => Some(from.0),
        _ => None,
    };
    let copied: BTreeSet<_> = list.iter().filter_map(source).collect();
    let mut at = 0;
    while at < list.len() {
        let is_copied = matches!(&list[at], Stmt::Assign { var, .. } if copied.contains(&var.0));
        match is_copied.then(|| copy_of(&list[at..], counts)).flatten() {
            Some(copy) => {
                if let Stmt::Assign { value, .. } = list.remove(at)
                    && let Stmt::Assign { value: copied, .. } = &mut list[at + copy - 1]
                {
                    *copied = value;
                }
            }
            None => at += 1,
        }
    }
}

/// Where the value that the first statement gives a variable is copied, if that is all that is done
/// with it and nothing before that changes the value.
fn copy_of(list: &[Stmt], counts: &[Count]) -> Option<usize> {
    let (Stmt::Assign { var: made, value, .. }, rest) = list.split_first()? else { return None };
    let Count { reads: 1, sets: 1 } = counts[made.0 as usize] else { return None };
    let is_copy = |stmt: &Stmt| matches!(stmt, Stmt::Assign { value: Expr::Var(from), .. } if from == made);
    let copy = rest.iter().position(|stmt| is_copy(stmt) || !only_assigns(stmt)).filter(|&n| is_copy(&rest[n]))?;
    let between = &rest[..copy];
    let mut stays = copy > 0 && is_pure(value);
    value.for_each_var(&mut |var| stays &= !tree::assigns(between, var));
    stays.then_some(copy + 1)
}

/// Whether all that a statement does is to give variables values.
fn only_assigns(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Assign { value, .. } => is_pure(value),
        Stmt::If { condition, then, otherwise } => is_pure(condition) && then.iter().chain(otherwise).all(only_assigns),
        Stmt::At(_) => true,
        _ => false,
    }
}

/// Whether an expression has no side effects, whatever the functions are that kc writes.
fn is_pure(e: &Expr) -> bool {
    let mut pure = match e {
        Expr::Call(name, _) => matches!(name.as_str(), "fminf" | "fmaxf" | "fmin" | "fmax" | "min" | "max"),
        _ => true,
    };
    e.for_each_child(&mut |child| pure &= is_pure(child));
    pure
}

/// `while (!leave && more)`, where nothing but this test reads `leave` and each way that sets it
/// ends the iteration there: `break` instead. Gives the place of `leave = false` above the loop,
/// which goes.
fn break_for_flag(list: &mut [Stmt], at: usize, counts: &[Count]) -> Option<usize> {
    let (before, rest) = list.split_at_mut(at);
    let Stmt::While { condition: Some(Expr::Infix(Infix::And, flag, more)), body } = &mut rest[0] else { return None };
    let Expr::Prefix("!", flag) = &**flag else { return None };
    let Expr::Var(flag) = **flag else { return None };
    if counts[flag.0 as usize].reads != 1 || tree::jumps(body) {
        return None;
    }
    let is_start = |stmt: &Stmt| match stmt {
        Stmt::Assign { var, value: Expr::Atom(value), .. } => *var == flag && value == "false",
        _ => false,
    };
    let start = before.iter().rposition(is_start)?;
    let mut shaped = body.clone();
    steps_first(&mut shaped, flag);
    let mut found = 0;
    break_at_end(&mut shaped, flag, &mut found);
    if found + 1 != counts[flag.0 as usize].sets {
        return None;
    }
    let condition = (**more).clone();
    rest[0] = Stmt::While { condition: Some(condition), body: shaped };
    Some(start)
}

/// Moves counters that go on at the end in front of the statement that sets the flag, if that has
/// no part in them.
fn steps_first(body: &mut [Stmt], flag: Var) {
    let Some(mut setter) = body.iter().rposition(|stmt| tree::assigns(std::slice::from_ref(stmt), flag)) else {
        return;
    };
    // With the place and the remark that belong to it.
    let head = |body: &[Stmt], mut at: usize| {
        while at > 0 && matches!(body[at - 1], Stmt::At(_) | Stmt::Note(_)) {
            at -= 1;
        }
        at
    };
    let mut at = setter + 1;
    while at < body.len() {
        let step = match &body[at] {
            Stmt::Assign { var, value: Expr::Infix(Infix::Add | Infix::Sub, a, b), .. } => {
                let own = matches!((&**a, &**b), (Expr::Var(a), Expr::Atom(_)) if a == var);
                let setter = std::slice::from_ref(&body[setter]);
                (own && !tree::reads(setter, *var) && !tree::assigns(setter, *var)).then_some(())
            }
            Stmt::At(_) | Stmt::Note(_) => {
                at += 1;
                continue;
            }
            _ => None,
        };
        let (Some(()), from, to) = (step, head(body, at), head(body, setter)) else { return };
        body[to..=at].rotate_right(at + 1 - from);
        setter += at + 1 - from;
        at += 1;
    }
}

/// Makes jumps of the assignments that end a list, and those that end its last branch.
fn break_at_end(list: &mut Vec<Stmt>, flag: Var, found: &mut u32) {
    while let Some(Stmt::At(_)) = list.last() {
        list.pop();
    }
    match list.last_mut() {
        Some(Stmt::Assign { var, value, .. }) if *var == flag => {
            *found += 1;
            let condition = std::mem::replace(value, Expr::atom(""));
            list.pop();
            match condition {
                Expr::Atom(value) if value == "true" => list.push(Stmt::Break),
                Expr::Atom(value) if value == "false" => {}
                condition => list.push(Stmt::If { condition, then: vec![Stmt::Break], otherwise: Vec::new() }),
            }
        }
        Some(Stmt::If { condition, then, otherwise }) => {
            break_at_end(then, flag, found);
            break_at_end(otherwise, flag, found);
            if spoken(then).is_empty() && !spoken(otherwise).is_empty() {
                std::mem::swap(then, otherwise);
                *condition = std::mem::replace(condition, Expr::atom("")).negate();
            } else if spoken(then).is_empty() {
                list.pop();
            }
        }
        _ => {}
    }
}

/// `if (!(a < b)) { rest }` at the end: `if (a < b) continue;` and the rest. A condition that can
/// be told without `!` is as the source has it; but `a != b` is what reverse code makes of a source
/// that leaves where they are equal.
fn guard(list: &mut Vec<Stmt>, jump: &Stmt, is_reverse: bool) {
    while let Some(Stmt::At(_)) = list.last() {
        list.pop();
    }
    let Some(Stmt::If { condition, then, otherwise }) = list.last_mut() else { return };
    if !otherwise.is_empty() || !is_long(then, is_reverse) {
        return;
    }
    let condition = match condition {
        Expr::Prefix("!", around) if matches!(**around, Expr::Infix(..)) => (**around).clone(),
        Expr::Infix(Infix::Ne, a, b) if is_reverse => Expr::Infix(Infix::Eq, a.clone(), b.clone()),
        _ => return,
    };
    let mut rest = std::mem::take(then);
    guard(&mut rest, jump, is_reverse);
    list.pop();
    list.push(Stmt::If { condition, then: vec![jump.clone()], otherwise: Vec::new() });
    list.append(&mut rest);
}

/// Whether a branch has more than one statement, be they in another branch (`nested`).
fn is_long(list: &[Stmt], nested: bool) -> bool {
    match spoken(list).as_slice() {
        [Stmt::If { then, otherwise, .. }] => nested && otherwise.is_empty() && is_long(then, nested),
        list => list.len() > 1,
    }
}
