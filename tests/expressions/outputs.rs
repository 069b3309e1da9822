//! What does a kernel write? Stores to its own elements, and atomic updates of shared ones.

use super::inputs::{Grid, array_type, bracket};
use super::tree::{Content, Extent, Given, Kind, Param, Stmt};
use super::vocabulary::outputs;
use super::writer::Writer;

/// A store of something of a kind to the thread's own element of a new array.
pub fn store(writer: &mut Writer, grid: &Grid, kind: Kind, params: &mut Vec<Param>, body: &mut Vec<Stmt>) {
    let name = writer.name(outputs(writer.domain));
    let rank = grid.indices.len();
    let mut value = writer.expr(kind, 2);
    if kind.is_float()
        && let Some(rest) = writer.rest(0)
    {
        let operator = *writer.random.pick(&["+", "-", "+"]);
        value.text =
            format!("{} {operator} {}", value.text, if operator == "-" { bracket_sum(&rest.text) } else { rest.text });
        if super::writer::binding_of(&value.text) < super::tree::Binding::Sum {
            value.text = writer.expr(kind, 1).text;
        }
    }
    let adds = kind != Kind::Bool && kind.components() < 5 && kind != Kind::Quat && writer.random.chance(12);
    let operator = if adds { "+=" } else { "=" };
    body.push(Stmt::Line(format!("{name}[{}] {operator} {}", grid.own(), value.text)));
    let long = writer.random.chance(15);
    params.push(Param {
        name,
        ty: array_type(kind.python(), rank, long),
        given: Given::Array { shape: grid.shape(), content: Content::Zero },
    });
}

fn bracket_sum(text: &str) -> String {
    if super::writer::binding_of(text) <= super::tree::Binding::Sum { format!("({text})") } else { text.to_string() }
}

/// An atomic update of an element that threads share.
pub fn atomic(writer: &mut Writer, grid: &Grid, params: &mut Vec<Param>, body: &mut Vec<Stmt>) {
    let bins = writer.random.between(1, 9) as u32;
    let first = grid.indices[0].clone();
    let slot = |writer: &mut Writer| match (bins, writer.random.below(3)) {
        (1, _) => "0".to_string(),
        (_, 0) => format!("{first} % {bins}"),
        (_, 1) => {
            let at = writer.expr(Kind::Int, 1);
            format!("wp.abs({}) % {bins}", at.text)
        }
        _ => {
            let at = writer.expr(Kind::Unit, 2);
            format!("wp.min(int({} * {bins}.0), {})", bracket(&at.text), bins - 1)
        }
    };
    let named = |writer: &mut Writer, body: &mut Vec<Stmt>| {
        let at = slot(writer);
        if at.len() < 8 || writer.random.chance(40) {
            return at;
        }
        let local = writer.name(&["bin", "slot", "cell", "bucket", "group_id", "cluster"]);
        body.push(Stmt::Line(format!("{local} = {at}")));
        local
    };
    let kind = writer.random.weighted(&[30, 8, 8, 8, 14, 12, 10, 4, 4, 4, 4]);
    let at = named(writer, body);
    let (name, element, content) = match kind {
        // A float sum, difference, largest, smallest.
        0..=3 => {
            let name = writer.name(&["total", "sums", "bins", "accum", "energy", "loss", "extrema", "partial"]);
            let value = match writer.rest(0) {
                Some(rest) if writer.random.chance(70) => rest,
                _ => writer.expr(Kind::Float, 2),
            };
            let function = ["atomic_add", "atomic_sub", "atomic_max", "atomic_min"][kind];
            if kind == 0 && writer.random.chance(35) {
                body.push(Stmt::Line(format!("{name}[{at}] += {}", value.text)));
            } else {
                body.push(Stmt::Line(format!("wp.{function}({name}, {at}, {})", value.text)));
            }
            (name, "float", Content::Zero)
        }
        // A count.
        4 => {
            let name = writer.name(&["histogram", "counts_out", "hits", "tally", "counter"]);
            let line = match writer.random.below(3) {
                0 => format!("{name}[{at}] += 1"),
                _ => format!("wp.atomic_add({name}, {at}, 1)"),
            };
            body.push(line_if(writer, line));
            (name, "int", Content::Zero)
        }
        // Vectors.
        5 => {
            let name = writer.name(&["net_force_out", "centroid", "flux_out", "vector_sum", "momentum_out"]);
            let value = writer.expr(Kind::Vec(3), 2);
            body.push(Stmt::Line(format!("wp.atomic_add({name}, {at}, {})", value.text)));
            (name, "wp.vec3", Content::Zero)
        }
        6 => {
            let name = writer.name(&["max_level", "min_level", "best_key", "deepest"]);
            let value = writer.expr(Kind::Int, 2);
            let function = *writer.random.pick(&["atomic_max", "atomic_min"]);
            body.push(Stmt::Line(format!("wp.{function}({name}, {at}, {})", value.text)));
            (name, "int", Content::Zero)
        }
        7..=9 => {
            let name = writer.name(&["bits_out", "mask_out", "flags_out", "occupancy"]);
            let value = writer.expr(Kind::Int, 2);
            let function = ["atomic_or", "atomic_xor", "atomic_and"][kind - 7];
            body.push(Stmt::Line(format!("wp.{function}({name}, {at}, {})", value.text)));
            (name, "int", Content::Below(Extent::Fixed(64)))
        }
        // Whoever comes first takes the place; all bring the same mark.
        _ => {
            let name = writer.name(&["owner", "claimed", "visited"]);
            let line = if writer.random.chance(50) {
                format!("wp.atomic_cas({name}, {at}, 0, 1)")
            } else {
                format!("wp.atomic_exch({name}, {at}, 1)")
            };
            body.push(line_if(writer, line));
            (name, "int", Content::Zero)
        }
    };
    params.push(Param {
        name,
        ty: array_type(element, 1, false),
        given: Given::Array { shape: vec![Extent::Fixed(bins)], content },
    });
}

fn line_if(writer: &mut Writer, line: String) -> Stmt {
    if writer.random.chance(50) {
        let condition = writer.expr(Kind::Bool, 2);
        return Stmt::Block(format!("if {}:", condition.text), vec![Stmt::Line(line)]);
    }
    Stmt::Line(line)
}
