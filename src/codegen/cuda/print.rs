//! Text of the syntax tree: minimal parentheses, four spaces per level.

use super::block_memory::TilePlace;
use super::tree::{Expr, Infix, Stmt, Var, spoken};
use super::wrapping;
use crate::codegen::blocks::ALIGN;
use crate::source::{Span, lined};

/// What the printer asks about variables.
pub trait Variables {
    fn name(&self, var: Var) -> &str;
    /// `float x`, or `float x[4]` for a local array.
    fn declaration(&self, var: Var) -> String;
}

/// Lines longer than this are broken where an argument list or a binary operator allows it.
pub const WIDTH: usize = 110;

/// How tightly an expression binds; higher binds tighter.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Precedence {
    Conditional,
    Or,
    And,
    BitOr,
    BitXor,
    BitAnd,
    Equality,
    Relation,
    Shift,
    Sum,
    Product,
    Prefix,
    Postfix,
}

fn infix_precedence(op: Infix) -> Precedence {
    match op {
        Infix::Mul | Infix::Div | Infix::Rem => Precedence::Product,
        Infix::Add | Infix::Sub => Precedence::Sum,
        Infix::Shl | Infix::Shr => Precedence::Shift,
        Infix::Lt | Infix::Le | Infix::Gt | Infix::Ge => Precedence::Relation,
        Infix::Eq | Infix::Ne | Infix::Same | Infix::Differs => Precedence::Equality,
        Infix::BitAnd => Precedence::BitAnd,
        Infix::BitXor => Precedence::BitXor,
        Infix::BitOr => Precedence::BitOr,
        Infix::And => Precedence::And,
        Infix::Or => Precedence::Or,
    }
}

fn precedence(e: &Expr) -> Precedence {
    match e {
        Expr::Infix(op, ..) => infix_precedence(*op),
        Expr::Conditional(..) => Precedence::Conditional,
        Expr::Prefix(..) | Expr::Cast(..) => Precedence::Prefix,
        Expr::Atom(text) if text.starts_with('-') => Precedence::Prefix,
        _ => Precedence::Postfix,
    }
}

/// Operators that people mix up: an operand of the second kind inside the first gets parentheses
/// that the language does not ask for.
fn is_easily_misread(outer: Infix, inner: &Expr) -> bool {
    let Expr::Infix(inner, ..) = inner else { return false };
    match infix_precedence(outer) {
        Precedence::Or => *inner == Infix::And,
        Precedence::Shift | Precedence::BitAnd | Precedence::BitXor | Precedence::BitOr => *inner != outer,
        Precedence::Equality | Precedence::Relation => {
            infix_precedence(*inner) >= Precedence::Equality && infix_precedence(*inner) <= Precedence::Relation
        }
        _ => false,
    }
}

/// An expression as text.
pub fn expression(e: &Expr, vars: &dyn Variables) -> String {
    let mut text = String::new();
    write_expr(&mut text, e, vars);
    text
}

fn write_list(out: &mut String, list: &[Expr], vars: &dyn Variables) {
    for (n, e) in list.iter().enumerate() {
        if n > 0 {
            out.push_str(", ");
        }
        write_expr(out, e, vars);
    }
}

fn write_expr(out: &mut String, e: &Expr, vars: &dyn Variables) {
    match e {
        Expr::Var(var) => out.push_str(vars.name(*var)),
        Expr::Atom(text) => out.push_str(text),
        Expr::Prefix(op, a) => {
            out.push_str(op);
            let a = if *op == "!" { tested(a) } else { a };
            // `- -x` must not become `--x`.
            let clash = *op == "-" && matches!(*a, Expr::Prefix("-", _)) || a.as_negative_literal().is_some();
            write_at(out, a, if clash { Precedence::Postfix } else { Precedence::Prefix }, vars);
        }
        Expr::Cast(ty, a) => {
            for part in ["(", ty, ")"] {
                out.push_str(part);
            }
            write_at(out, a, Precedence::Prefix, vars);
        }
        Expr::Infix(op, a, b) => {
            let level = infix_precedence(*op);
            let (a, b) = if matches!(op, Infix::And | Infix::Or) { (tested(a), tested(b)) } else { (&**a, &**b) };
            let wrapped = |e: &Expr, minimum| if is_easily_misread(*op, e) { Precedence::Postfix } else { minimum };
            write_at(out, a, wrapped(a, level), vars);
            for part in [" ", op.symbol(), " "] {
                out.push_str(part);
            }
            write_at(out, b, wrapped(b, next(level)), vars);
        }
        Expr::Conditional(c, a, b) => {
            write_at(out, tested(c), Precedence::Or, vars);
            out.push_str(" ? ");
            write_at(out, a, Precedence::Or, vars);
            out.push_str(" : ");
            write_at(out, b, Precedence::Conditional, vars);
        }
        Expr::Call(name, args) => {
            out.push_str(name);
            out.push('(');
            write_list(out, args, vars);
            out.push(')');
        }
        Expr::Method(a, name, args) => {
            write_at(out, a, Precedence::Postfix, vars);
            for part in [".", name, "("] {
                out.push_str(part);
            }
            write_list(out, args, vars);
            out.push(')');
        }
        Expr::Apply(a, args) => {
            write_at(out, a, Precedence::Postfix, vars);
            out.push('(');
            write_list(out, args, vars);
            out.push(')');
        }
        Expr::Index(a, at) => {
            write_at(out, a, Precedence::Postfix, vars);
            out.push('[');
            write_expr(out, at, vars);
            out.push(']');
        }
        Expr::Member(a, name) => {
            write_at(out, a, Precedence::Postfix, vars);
            out.push('.');
            out.push_str(name);
        }
        Expr::Braces(ty, args) => {
            out.push_str(ty);
            out.push('{');
            write_list(out, args, vars);
            out.push('}');
        }
    }
}

/// A condition without a cast to bool, which testing does anyway.
fn tested(e: &Expr) -> &Expr {
    match e {
        Expr::Cast(ty, a) if ty == "bool" => a,
        e => e,
    }
}

/// The level that a right operand must reach, as the operators associate to the left.
fn next(level: Precedence) -> Precedence {
    match level {
        Precedence::Conditional => Precedence::Or,
        Precedence::Or => Precedence::And,
        Precedence::And => Precedence::BitOr,
        Precedence::BitOr => Precedence::BitXor,
        Precedence::BitXor => Precedence::BitAnd,
        Precedence::BitAnd => Precedence::Equality,
        Precedence::Equality => Precedence::Relation,
        Precedence::Relation => Precedence::Shift,
        Precedence::Shift => Precedence::Sum,
        Precedence::Sum => Precedence::Product,
        Precedence::Product => Precedence::Prefix,
        Precedence::Prefix | Precedence::Postfix => Precedence::Postfix,
    }
}

fn write_at(out: &mut String, e: &Expr, minimum: Precedence, vars: &dyn Variables) {
    if precedence(e) < minimum {
        out.push('(');
        write_expr(out, e, vars);
        out.push(')');
    } else {
        write_expr(out, e, vars);
    }
}

/// Prints statements, one per line, at `level` steps of indentation.
pub fn statements(out: &mut String, list: &[Stmt], level: usize, vars: &dyn Variables) {
    let mut notes = String::new();
    let mut at = None;
    let mut rest = list.iter().peekable();
    while let Some(stmt) = rest.next() {
        if let Stmt::At(span) = stmt {
            at = Some(*span);
            continue;
        }
        if let Stmt::Note(note) = stmt {
            note.lines().for_each(|text| notes.push_str(&format!("{:1$}// {text}\n", "", level * 4)));
            continue;
        }
        let place = at.filter(|_| !matches!(stmt, Stmt::Declare(_)));
        let declares_several = matches!(stmt, Stmt::Declare(_)) && matches!(rest.peek(), Some(Stmt::Declare(_)));
        let start = notes.is_empty().then(|| starts(stmt, &mut rest, level, vars)).flatten();
        if let Some(text) = start {
            out.extend(place.iter().map(|span| lined::begin(*span)));
            line(out, level, &text);
            if place.is_some() {
                out.insert(out.len() - 1, lined::END);
            }
            continue;
        }
        if notes.is_empty() && !declares_several {
            out.extend(place.iter().map(|span| lined::begin(*span)));
            statement(out, stmt, level, vars);
            if place.is_some() {
                // Before the line end.
                out.insert(out.len() - 1, lined::END);
            }
            continue;
        }
        let mut text = String::new();
        statement(&mut text, stmt, level, vars);
        // `float a, b;`
        while let (Stmt::Declare(var), Some(Stmt::Declare(next))) = (stmt, rest.peek()) {
            let (own, other) = (vars.declaration(*var), vars.declaration(*next));
            let (Some((ty, _)), Some((other, name))) = (own.rsplit_once(' '), other.rsplit_once(' ')) else { break };
            let longer = format!("{}, {name};\n", text.trim_end().trim_end_matches(';'));
            if ty != other || name.contains(['[', '(']) || longer.len() > WIDTH {
                break;
            }
            text = longer;
            rest.next();
        }
        let aside = format!("{}  {}", text.trim_end(), notes.trim());
        out.extend(place.iter().map(|span| lined::begin(*span)));
        if notes.lines().count() == 1 && text.lines().count() == 1 && aside.len() <= WIDTH {
            out.push_str(&aside);
        } else {
            out.push_str(&notes);
            out.push_str(text.trim_end_matches('\n'));
        }
        out.extend(place.iter().map(|_| lined::END));
        out.push('\n');
        notes.clear();
    }
}

/// `float adj_a = 0.0f, adj_b = 0.0f;`: adjoints that begin side by side, as many as fit on a line.
fn starts(
    stmt: &Stmt,
    rest: &mut std::iter::Peekable<std::slice::Iter<'_, Stmt>>,
    level: usize,
    vars: &dyn Variables,
) -> Option<String> {
    let begins = |stmt: &Stmt| match stmt {
        Stmt::Assign { var, value: value @ Expr::Atom(_), declare: true } if vars.name(*var).starts_with("adj_") => {
            Some((vars.declaration(*var), expression(value, vars)))
        }
        _ => None,
    };
    let (declared, value) = begins(stmt)?;
    let (ty, _) = declared.rsplit_once(' ')?;
    let mut text = format!("{declared} = {value}");
    let mut several = false;
    loop {
        let mut ahead = rest.clone();
        let next = ahead.find(|stmt| !matches!(stmt, Stmt::At(_)));
        let Some((other, value)) = next.and_then(begins) else { break };
        let Some((_, name)) = other.rsplit_once(' ').filter(|(other, _)| *other == ty) else { break };
        let longer = format!("{text}, {name} = {value}");
        if level * 4 + longer.len() >= WIDTH {
            break;
        }
        text = longer;
        several = true;
        *rest = ahead;
    }
    several.then(|| text + ";")
}

fn indent(out: &mut String, columns: usize) {
    const SPACES: &str = "                                ";
    let (many, rest) = (columns / SPACES.len(), columns % SPACES.len());
    (0..many).for_each(|_| out.push_str(SPACES));
    out.push_str(&SPACES[..rest]);
}

/// Prints a line at a level, broken where it is too long.
pub fn line(out: &mut String, level: usize, text: &str) {
    wrap(out, level * 4, text);
    out.push('\n');
}

/// Prints a line that `write` writes.
fn written(out: &mut String, level: usize, write: impl FnOnce(&mut String)) {
    let start = out.len();
    indent(out, level * 4);
    let begin = out.len();
    write(out);
    if out.len() - begin > width(level * 4) {
        let text = out.split_off(begin);
        out.truncate(start);
        wrap(out, level * 4, &text);
    }
    out.push('\n');
}

/// What fits on a line from a column on.
fn width(column: usize) -> usize {
    WIDTH.saturating_sub(column).max(40)
}

/// Appends `text` at a column; a long text is broken after the last comma or before the last
/// operator that fits, and goes on eight columns further in. Quoted strings are not broken.
fn wrap(out: &mut String, column: usize, text: &str) {
    let (mut rest, mut at_column) = (text, column);
    loop {
        indent(out, at_column);
        let Some(at) = break_point(rest, width(at_column)) else {
            out.push_str(rest);
            return;
        };
        out.push_str(rest[..at].trim_end());
        out.push('\n');
        rest = rest[at..].trim_start();
        at_column = column + 8;
    }
}

/// Where to break a text that is longer than `width`: of the places that fit the one least deep in
/// parentheses, and the last of these.
fn break_point(text: &str, width: usize) -> Option<usize> {
    if text.len() <= width {
        return None;
    }
    let bytes = text.as_bytes();
    let (mut depth, mut quoted, mut best) = (0usize, false, None::<(usize, usize)>);
    for (at, &byte) in bytes.iter().enumerate() {
        match byte {
            b'"' if at == 0 || bytes[at - 1] != b'\\' => quoted = !quoted,
            _ if quoted => {}
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b' ' if at > 12 => {
                let after_comma = bytes[at - 1] == b',' || bytes[at - 1] == b';';
                let operator = text[at + 1..].split(' ').next().unwrap_or("");
                let before_operator = matches!(
                    operator,
                    "+" | "-" | "*" | "/" | "%" | "&&" | "||" | "&" | "|" | "^" | "?" | ":" | "<<" | ">>"
                );
                let fits = at <= width;
                let better = best.is_none_or(|(d, _)| if fits { depth <= d } else { false });
                if (after_comma || before_operator) && better && (fits || best.is_none()) {
                    best = Some((depth, at));
                }
            }
            _ => {}
        }
        if at > width && best.is_some() {
            break;
        }
    }
    best.map(|(_, at)| at)
}

fn statement(out: &mut String, stmt: &Stmt, level: usize, vars: &dyn Variables) {
    let text = |e: &Expr| expression(e, vars);
    match stmt {
        Stmt::Declare(var) => line(out, level, &format!("{};", vars.declaration(*var))),
        Stmt::LocalArray { var, zeros } => {
            let zeros = if *zeros { " = {}" } else { "" };
            line(out, level, &format!("{}{zeros};", vars.declaration(*var)));
        }
        Stmt::SharedArray(var, TilePlace::Own { aligned }) => {
            let align = if *aligned { format!("__align__({ALIGN}) ") } else { String::new() };
            line(out, level, &format!("__shared__ {align}{};", vars.declaration(*var)));
        }
        Stmt::SharedArray(var, TilePlace::Asked(part)) => line(out, level, &part.declaration(vars.name(*var))),
        Stmt::Assign { var, value, declare: true } => written(out, level, |out| {
            out.push_str(&vars.declaration(*var));
            out.push_str(" = ");
            match value {
                // The declaration names the type.
                Expr::Braces(_, parts) => {
                    out.push('{');
                    write_list(out, parts, vars);
                    out.push('}');
                }
                other => write_expr(out, wrapping::assigned(other), vars),
            }
            out.push(';');
        }),
        Stmt::Assign { var, value, declare: false } => assignment(out, level, &Expr::Var(*var), value, vars),
        Stmt::Store { target, value } => assignment(out, level, target, value, vars),
        Stmt::Eval(e) => written(out, level, |out| {
            write_expr(out, e, vars);
            out.push(';');
        }),
        Stmt::Note(_) | Stmt::At(_) => {}
        Stmt::Break => line(out, level, "break;"),
        Stmt::Continue => line(out, level, "continue;"),
        Stmt::Return(None) => line(out, level, "return;"),
        Stmt::Return(Some(value)) => written(out, level, |out| {
            out.push_str("return ");
            write_expr(out, wrapping::assigned(value), vars);
            out.push(';');
        }),
        Stmt::If { condition, then, otherwise } => print_if(out, "", condition, then, otherwise, level, vars),
        Stmt::For { var, start, condition, step, body, unrolled } => {
            if *unrolled {
                line(out, level, "#pragma unroll");
            }
            let declaration = vars.declaration(*var);
            let advance = advance(vars.name(*var), step, vars);
            let head = match step {
                // Runs from one below the start down to the end.
                Expr::Atom(step) if step == "--" => {
                    let name = vars.name(*var);
                    let condition = text(condition).replacen(name, &format!("{name}--"), 1);
                    format!("for ({declaration} = {}; {condition};)", text(start))
                }
                _ => format!("for ({declaration} = {}; {}; {advance})", text(start), text(condition)),
            };
            braced(out, &head, body, level, vars);
        }
        Stmt::While { condition: None, body } => braced(out, "for (;;)", body, level, vars),
        Stmt::While { condition: Some(condition), body } => {
            braced(out, &format!("while ({})", text(tested(condition))), body, level, vars);
        }
    }
}

/// `x = value;`, or the shorter `x += e;` when the value is `x + e`.
fn assignment(out: &mut String, level: usize, target: &Expr, value: &Expr, vars: &dyn Variables) {
    written(out, level, |out| {
        write_expr(out, target, vars);
        let updated = wrapping::update(target, value);
        let (operator, value) = match (value, &updated) {
            (_, Some((op, right))) => (op.symbol(), right),
            (Expr::Infix(op, a, b), _) if op.has_assignment() && **a == *target => (op.symbol(), &**b),
            _ => ("", wrapping::assigned(value)),
        };
        for part in [" ", operator, "= "] {
            out.push_str(part);
        }
        write_expr(out, value, vars);
        out.push(';');
    });
}

fn advance(name: &str, step: &Expr, vars: &dyn Variables) -> String {
    match (step, step.as_negative_literal()) {
        (_, Some("1")) => format!("--{name}"),
        (_, Some(amount)) => format!("{name} -= {amount}"),
        (Expr::Atom(one), _) if one == "1" => format!("++{name}"),
        _ => format!("{name} += {}", expression(step, vars)),
    }
}

fn braced(out: &mut String, head: &str, body: &[Stmt], level: usize, vars: &dyn Variables) {
    line(out, level, &format!("{head} {{"));
    statements(out, body, level + 1, vars);
    line(out, level, "}");
}

fn print_if(
    out: &mut String,
    before: &str,
    condition: &Expr,
    then: &[Stmt],
    otherwise: &[Stmt],
    level: usize,
    vars: &dyn Variables,
) {
    let head = format!("{before}if ({})", expression(tested(condition), vars));
    if let ([only], []) = (spoken(then).as_slice(), otherwise)
        && before.is_empty()
        && !matches!(only, Stmt::If { .. } | Stmt::For { .. } | Stmt::While { .. } | Stmt::Note(_))
    {
        let mut text = String::new();
        statement(&mut text, only, 0, vars);
        let text = format!("{head} {}", text.trim_end());
        let leaves = matches!(only, Stmt::Break | Stmt::Continue | Stmt::Return(_));
        if leaves || !text.contains('\n') && level * 4 + text.len() <= WIDTH {
            line(out, level, &text);
            // The line comes from both statements.
            if let Some(span) = place_of(then.first()) {
                let end = out.trim_end().len();
                let last = out[..end].char_indices().last().map_or(end, |(at, _)| at);
                out.insert(end, lined::END);
                out.insert_str(last, &lined::begin(span));
            }
            return;
        }
    }
    line(out, level, &format!("{head} {{"));
    statements(out, then, level + 1, vars);
    let outer = otherwise;
    match spoken(otherwise).as_slice() {
        [] => line(out, level, "}"),
        [Stmt::If { condition, then, otherwise }] => {
            let place = place_of(outer.first());
            out.extend(place.iter().map(|span| lined::begin(*span)));
            print_if(out, "} else ", condition, then, otherwise, level, vars);
            // Before the line end.
            let end = out.trim_end().len();
            place.iter().for_each(|_| out.insert(end, lined::END));
        }
        _ => {
            line(out, level, "} else {");
            statements(out, otherwise, level + 1, vars);
            line(out, level, "}");
        }
    }
}

fn place_of(stmt: Option<&Stmt>) -> Option<Span> {
    if let Some(Stmt::At(span)) = stmt { Some(*span) } else { None }
}
