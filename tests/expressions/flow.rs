//! How does control flow wrap around statements? Branches and loops whose bodies compute something
//! that is used.

use super::tree::{Kind, Stmt};
use super::vocabulary::locals;
use super::writer::Writer;

/// Statements that reach exactly this control-flow depth and use about this many lines. What they
/// compute is in scope.
pub fn nest(writer: &mut Writer, depth: u32, lines: usize) -> Vec<Stmt> {
    match writer.random.weighted(&[30, 30, 12, 10, 10, 8]) {
        0 => branch(writer, depth, lines),
        1 => counted(writer, depth, lines),
        2 => conditional_loop(writer, depth, lines),
        3 => tiers(writer, depth, lines),
        4 => search(writer, depth, lines),
        _ => fold(writer, depth, lines),
    }
}

/// Statements of a block, and a float that uses all they computed.
fn inner(writer: &mut Writer, depth: u32, lines: usize, from: usize) -> (Vec<Stmt>, String) {
    let mut body = Vec::new();
    let kinds =
        [Kind::Float, Kind::Float, Kind::Unit, Kind::Vec(3), Kind::Signed, Kind::Positive, Kind::Vec(2), Kind::Int];
    if depth > 1 {
        let before = writer.random.below(3).min(lines / 3);
        for _ in 0..before {
            let kind = *writer.random.pick(&kinds);
            body.push(writer.assign(kind, 2));
        }
        let rest = lines.saturating_sub(before + 2);
        body.extend(nest(writer, depth - 1, rest));
    } else {
        for _ in 0..lines.min(5) {
            let kind = *writer.random.pick(&kinds);
            body.push(writer.assign(kind, 2));
        }
    }
    let value = match writer.rest(from) {
        Some(rest) => rest.text,
        None => writer.expr(Kind::Float, 2).text,
    };
    (body, value)
}

/// A variable that blocks update.
fn target(writer: &mut Writer) -> (String, Stmt) {
    let value = writer.expr(Kind::Float, 1);
    let name = writer.name(locals(writer.domain, Kind::Float));
    (name.clone(), Stmt::Line(format!("{name} = float({})", value.text)))
}

fn branch(writer: &mut Writer, depth: u32, lines: usize) -> Vec<Stmt> {
    let (name, first) = target(writer);
    let before = writer.values.len();
    let condition = writer.expr(Kind::Bool, 2);
    let share = if writer.random.chance(50) { lines / 2 } else { lines };
    let (mut body, value) = inner(writer, depth, share.saturating_sub(2), before);
    writer.values.truncate(before);
    let operator = *writer.random.pick(&["=", "+=", "-=", "="]);
    let value = if operator == "=" { format!("{name} + {value}") } else { value };
    body.push(Stmt::Line(format!("{name} {operator} {value}")));
    let mut out = vec![first, Stmt::Block(format!("if {}:", condition.text), body)];
    if share < lines || writer.random.chance(30) {
        if writer.random.chance(25) {
            let condition = writer.expr(Kind::Bool, 1);
            let value = writer.expr(Kind::Float, 2);
            out.push(Stmt::Block(
                format!("elif {}:", condition.text),
                vec![Stmt::Line(format!("{name} = {}", value.text))],
            ));
        }
        let (mut body, value) = inner(writer, 1, (lines - share).saturating_sub(2).min(3), before);
        writer.values.truncate(before);
        body.push(Stmt::Line(format!("{name} = {value}")));
        out.push(Stmt::Block("else:".to_string(), body));
    }
    writer.declare(&name, Kind::Float, true);
    out
}

/// `for k in range(n)` with a sum.
fn counted(writer: &mut Writer, depth: u32, lines: usize) -> Vec<Stmt> {
    let total =
        writer.name(&["acc", "total", "sum_terms", "running", "integral", "weighted", "score_sum", "response_sum"]);
    let k = writer.name(&["k", "n", "step", "it", "m", "s", "order", "tap", "level_k", "p"]);
    let before = writer.values.len();
    writer.declare(&format!("float({k})"), Kind::Float, false);
    writer.declare(&k, Kind::Int, false);
    let (mut body, value) = inner(writer, depth, lines.saturating_sub(3), before + 2);
    writer.values.truncate(before);
    let damped = match writer.random.below(3) {
        0 => format!("{total} += {value}"),
        1 => format!("{total} = {total} + {value}"),
        _ => {
            let weight = writer.expr(Kind::Signed, 1);
            let value = super::inputs::bracket(&value);
            let weight = super::inputs::bracket(&weight.text);
            format!("{total} += {weight} * {value}")
        }
    };
    body.push(Stmt::Line(damped));
    if depth == 1 && writer.random.chance(12) {
        let condition = format!("if {total} > {}:", writer.literal("big"));
        body.push(Stmt::Block(condition, vec![Stmt::Line("break".to_string())]));
    }
    let start = writer.literal("e");
    let start = if writer.random.chance(70) { "0.0".to_string() } else { start };
    let header = match writer.random.below(5) {
        0 => format!("for {k} in range(1, {}):", writer.random.between(3, 9)),
        1 => format!("for {k} in range(0, {}, 2):", writer.random.between(4, 11)),
        _ => format!("for {k} in range({}):", writer.random.between(2, 9)),
    };
    writer.declare(&total, Kind::Float, true);
    vec![Stmt::Line(format!("{total} = float({start})")), Stmt::Block(header, body)]
}

/// A `while` with a count and a condition on what it computes.
fn conditional_loop(writer: &mut Writer, depth: u32, lines: usize) -> Vec<Stmt> {
    let (name, first) = target(writer);
    let count = writer.name(&["count", "rounds", "iterations", "tries", "passes", "hops"]);
    let limit = writer.random.between(3, 12);
    let before = writer.values.len();
    writer.declare(&format!("float({count})"), Kind::Float, false);
    let (mut body, value) = inner(writer, depth, lines.saturating_sub(4), before + 1);
    writer.values.truncate(before);
    let damping = writer.literal("half");
    body.push(Stmt::Line(format!("{name} = {damping} * {name} + {} * wp.tanh({value})", writer.literal("e"))));
    let step = if writer.random.chance(50) { format!("{count} += 1") } else { format!("{count} = {count} + 1") };
    body.push(Stmt::Line(step));
    let header = match writer.random.below(3) {
        0 => format!("while {count} < {limit}:"),
        1 => format!("while wp.abs({name}) > {} and {count} < {limit}:", writer.literal("e")),
        _ => format!("while {count} < {limit} and {name} < {}:", writer.literal("big")),
    };
    writer.declare(&name, Kind::Float, true);
    writer.declare(&count, Kind::Int, false);
    vec![first, Stmt::Line(format!("{count} = int(0)")), Stmt::Block(header, body)]
}

/// `if` / `elif` / `else` that choose a value.
fn tiers(writer: &mut Writer, depth: u32, lines: usize) -> Vec<Stmt> {
    let (name, first) = target(writer);
    let mut out = vec![first];
    let count = 2 + writer.random.below(3);
    let before = writer.values.len();
    for n in 0..count {
        let condition = writer.expr(Kind::Bool, 2);
        let word = if n == 0 { "if" } else { "elif" };
        let deep = if n == 0 { depth } else { 1 };
        let (mut body, value) = inner(writer, deep, (lines / count).saturating_sub(1), before);
        writer.values.truncate(before);
        body.push(Stmt::Line(format!("{name} = {value}")));
        out.push(Stmt::Block(format!("{word} {}:", condition.text), body));
    }
    if writer.random.chance(60) {
        let value = writer.expr(Kind::Float, 2);
        out.push(Stmt::Block("else:".to_string(), vec![Stmt::Line(format!("{name} = {}", value.text))]));
    }
    writer.declare(&name, Kind::Float, true);
    out
}

/// A loop that looks for the best of several candidates; one level more when there is room.
fn search(writer: &mut Writer, depth: u32, lines: usize) -> Vec<Stmt> {
    if depth < 2 {
        return counted(writer, depth, lines);
    }
    let best = writer.name(&["best", "closest", "peak", "strongest", "lowest"]);
    let k = writer.name(&["k", "candidate", "trial", "probe", "c"]);
    let score = writer.name(&["score", "candidate_value", "trial_cost", "probe_value"]);
    let before = writer.values.len();
    writer.declare(&format!("float({k})"), Kind::Float, false);
    let (mut body, value) = inner(writer, depth - 1, lines.saturating_sub(5), before + 1);
    writer.values.truncate(before);
    body.push(Stmt::Line(format!("{score} = {value}")));
    let smallest = writer.random.chance(50);
    let (operator, start) = if smallest { ("<", "1000.0") } else { (">", "-1000.0") };
    body.push(Stmt::Block(format!("if {score} {operator} {best}:"), vec![Stmt::Line(format!("{best} = {score}"))]));
    let header = format!("for {k} in range({}):", writer.random.between(2, 7));
    writer.declare(&best, Kind::Float, true);
    vec![Stmt::Line(format!("{best} = float({start})")), Stmt::Block(header, body)]
}

/// A loop that adds up vectors.
fn fold(writer: &mut Writer, depth: u32, lines: usize) -> Vec<Stmt> {
    let total = writer.name(&["sum_vec", "center_sum", "net", "moment_sum", "gathered"]);
    let k = writer.name(&["k", "corner", "ring", "segment", "s"]);
    let before = writer.values.len();
    writer.declare(&format!("float({k})"), Kind::Float, false);
    let (mut body, value) = inner(writer, depth, lines.saturating_sub(3), before + 1);
    let direction = writer.expr(Kind::Vec(3), 1);
    writer.values.truncate(before);
    let (value, direction) = (super::inputs::bracket(&value), super::inputs::bracket(&direction.text));
    body.push(Stmt::Line(format!("{total} += {value} * {direction}")));
    let header = format!("for {k} in range({}):", writer.random.between(2, 6));
    writer.declare(&total, Kind::Vec(3), true);
    vec![Stmt::Line(format!("{total} = wp.vec3(0.0, 0.0, 0.0)")), Stmt::Block(header, body)]
}
