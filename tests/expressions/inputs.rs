//! What does a kernel read? Parameters, how their elements are reached, and what a launch puts in
//! them.

use super::tree::{Content, Extent, Given, Kind, Param, Stmt};
use super::vocabulary::{inputs, scalars};
use super::writer::Writer;

/// The coordinates of the thread.
pub struct Grid {
    /// `i`, `j`, ... one per launch dimension.
    pub indices: Vec<String>,
}

/// How a kernel reaches into its arrays.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    Own,
    Gather,
    Stencil,
    Row,
    Constant,
}

impl Grid {
    pub fn own(&self) -> String {
        self.indices.join(", ")
    }

    pub fn shape(&self) -> Vec<Extent> {
        (0..self.indices.len()).map(Extent::axis).collect()
    }
}

/// The annotation of an array.
pub fn array_type(element: &str, ndim: usize, long: bool) -> String {
    match (ndim, long) {
        (1, false) => format!("wp.array(dtype={element})"),
        (n, true) => format!("wp.array(dtype={element}, ndim={n})"),
        (n, false) => format!("wp.array{n}d(dtype={element})"),
    }
}

/// What the elements of an array of a kind hold.
pub fn content(kind: Kind) -> Content {
    match kind {
        Kind::Positive => Content::Between(0.25, 2.0),
        Kind::Unit => Content::Between(0.0, 1.0),
        Kind::Int => Content::Below(Extent::Fixed(24)),
        Kind::Direction | Kind::Quat => Content::Normal,
        Kind::Mat(_) => Content::Between(-0.8, 0.8),
        _ => Content::Between(-1.0, 1.0),
    }
}

/// A scalar or composite parameter of a kind; its value is in scope.
pub fn scalar(writer: &mut Writer, kind: Kind) -> Param {
    let name = writer.name(scalars(writer.domain, kind));
    writer.declare(&name, kind, false);
    let given = value(writer, kind);
    Param { name, ty: kind.python().to_string(), given }
}

/// What a launch passes for a value of a kind.
pub fn value(writer: &mut Writer, kind: Kind) -> Given {
    let mut draw = |low: f64, high: f64| ((low + (high - low) * writer.random.unit()) * 64.0).round() / 64.0;
    match kind {
        Kind::Positive => Given::Float(vec![draw(0.25, 1.5)]),
        Kind::Unit => Given::Float(vec![draw(0.0625, 0.9375)]),
        Kind::Int => Given::Int(writer.random.between(1, 12)),
        Kind::Quat => Given::Float(vec![0.5, 0.5, -0.5, 0.5]),
        Kind::Direction => Given::Float(vec![0.0, 0.6, 0.8]),
        Kind::Transform => Given::Float(vec![draw(-1.0, 1.0), draw(-1.0, 1.0), 0.25, 0.5, -0.5, 0.5, 0.5]),
        kind => Given::Float((0..kind.components()).map(|_| draw(-1.0, 1.0)).collect()),
    }
}

/// An array whose elements are of a kind: adds what is needed to the parameters, and statements
/// that load from it.
pub fn array(
    writer: &mut Writer,
    grid: &Grid,
    kind: Kind,
    access: Access,
    params: &mut Vec<Param>,
    body: &mut Vec<Stmt>,
) {
    let element = kind.python();
    let name = writer.name(inputs(writer.domain, kind));
    let rank = grid.indices.len();
    let long = writer.random.chance(15);
    let mut push = |ty: String, shape: Vec<Extent>, content: Content| {
        params.push(Param { name: name.clone(), ty, given: Given::Array { shape, content } });
    };
    match access {
        Access::Own => {
            push(array_type(element, rank, long), grid.shape(), content(kind));
            load(writer, body, &format!("{name}[{}]", grid.own()), kind);
        }
        Access::Stencil => {
            // The extents are larger than the launch by what the neighbours need.
            let axis = writer.random.below(rank);
            let shape: Vec<Extent> =
                (0..rank).map(|a| Extent::Axis { axis: a, times: 1, plus: if a == axis { 2 } else { 0 } }).collect();
            push(array_type(element, rank, long), shape, content(kind));
            for shift in 0..3 {
                let at: Vec<String> = (0..rank)
                    .map(|a| match (a == axis, shift) {
                        (true, 1..) => format!("{} + {shift}", grid.indices[a]),
                        _ => grid.indices[a].clone(),
                    })
                    .collect();
                if shift != 1 || writer.random.chance(70) {
                    load(writer, body, &format!("{name}[{}]", at.join(", ")), kind);
                }
            }
        }
        Access::Gather => {
            let table = Extent::Axis { axis: 0, times: 1, plus: 3 };
            push(array_type(element, 1, long), vec![table], content(kind));
            let index_name = writer.name(&["indices", "idx", "links", "neighbors", "lookup", "permutation", "map_to"]);
            params.push(Param {
                name: index_name.clone(),
                ty: array_type("int", rank, false),
                given: Given::Array { shape: grid.shape(), content: Content::Below(table) },
            });
            let at = format!("{index_name}[{}]", grid.own());
            if writer.random.chance(60) {
                let local = writer.name(&["src_id", "nbr", "other", "j_src", "link", "partner", "source_index"]);
                body.push(Stmt::Line(format!("{local} = {at}")));
                load(writer, body, &format!("{name}[{local}]"), kind);
            } else {
                load(writer, body, &format!("{name}[{at}]"), kind);
            }
        }
        Access::Row => {
            let columns = writer.random.between(2, 7) as u32;
            let mut shape = vec![Extent::axis(0)];
            shape.push(Extent::Fixed(columns));
            push(array_type(element, 2, long), shape, content(kind));
            row_loop(writer, grid, &name, kind, columns, body);
        }
        Access::Constant => {
            let length = writer.random.between(2, 6) as u32;
            push(array_type(element, 1, long), vec![Extent::Fixed(length)], content(kind));
            let at = match writer.random.below(3) {
                0 => format!("{name}[{} % {length}]", grid.indices[0]),
                1 => format!("{name}[{}]", writer.random.below(length as usize)),
                _ => format!("{name}[({} + {}) % {length}]", grid.indices[0], writer.random.between(1, 5)),
            };
            load(writer, body, &at, kind);
        }
    }
}

/// An element in a variable, or in place where it is used.
fn load(writer: &mut Writer, body: &mut Vec<Stmt>, at: &str, kind: Kind) {
    if writer.random.chance(65) {
        writer.declare(at, kind, true);
        return;
    }
    let stem = at.split('[').next().unwrap_or("x");
    let singular = stem.strip_suffix('s').filter(|s| s.len() > 2 && !s.ends_with('s')).unwrap_or(stem);
    let one = format!("{singular}_i");
    let base = if singular == stem { one.as_str() } else { singular };
    let name = writer.name(&[base]);
    body.push(Stmt::Line(format!("{name} = {at}")));
    writer.declare(&name, kind, true);
}

/// A loop over a row of a matrix that adds up something of each element.
fn row_loop(writer: &mut Writer, grid: &Grid, name: &str, kind: Kind, columns: u32, body: &mut Vec<Stmt>) {
    let k = writer.name(&["k", "c", "col", "m", "feature", "e"]);
    let total = writer.name(&["row_sum", "acc", "total", "dot_row", "sum_k", "accum"]);
    let bound = match writer.random.below(3) {
        0 => columns.to_string(),
        1 => format!("{name}.shape[1]"),
        _ => columns.to_string(),
    };
    let before = writer.values.len();
    writer.declare(&format!("{name}[{}, {k}]", grid.indices[0]), kind, true);
    writer.declare(&format!("float({k})"), Kind::Float, false);
    let mut inner = Vec::new();
    if writer.random.chance(40) {
        inner.push(writer.assign(Kind::Float, 2));
    }
    let term = match writer.rest(before) {
        Some(term) => term,
        None => writer.expr(Kind::Float, 2),
    };
    let term = if writer.random.chance(50) {
        writer.fill(&format!("{} * {{s}}", bracket(&term.text)), Kind::Float, 1)
    } else {
        term
    };
    inner.push(Stmt::Line(format!("{total} += {}", term.text)));
    writer.values.truncate(before);
    body.push(Stmt::Line(format!("{total} = float(0.0)")));
    body.push(Stmt::Block(format!("for {k} in range({bound}):"), inner));
    writer.declare(&total, Kind::Float, true);
}

/// The text as an operand of a product.
pub fn bracket(text: &str) -> String {
    if super::writer::binding_of(text) < super::tree::Binding::Product { format!("({text})") } else { text.to_string() }
}

/// A sparse matrix in CSR form and the product of one of its rows with a vector.
pub fn csr(writer: &mut Writer, grid: &Grid, params: &mut Vec<Param>, body: &mut Vec<Stmt>) {
    let offsets = writer.name(&["row_offsets", "offsets", "indptr", "row_start", "row_ptr"]);
    let columns = writer.name(&["columns", "col_indices", "cols", "col_idx"]);
    let values = writer.name(&["values", "nonzeros", "entries", "coeffs"]);
    let x = writer.name(&["x", "p", "vec_in", "u", "rhs"]);
    let entries = Extent::Axis { axis: 0, times: 3, plus: 2 };
    let rows = Extent::axis(0);
    let array = |name: &str, ty: &str, shape, content| Param {
        name: name.to_string(),
        ty: array_type(ty, 1, false),
        given: Given::Array { shape: vec![shape], content },
    };
    params.push(array(&offsets, "int", Extent::Axis { axis: 0, times: 1, plus: 1 }, Content::Offsets(entries)));
    params.push(array(&columns, "int", entries, Content::Below(rows)));
    params.push(array(&values, "float", entries, Content::Between(-1.0, 1.0)));
    params.push(array(&x, "float", rows, Content::Between(-1.0, 1.0)));
    let row = &grid.indices[0];
    let total = writer.name(&["dot_row", "row_sum", "acc", "ax", "sum_row"]);
    let k = writer.name(&["k", "e", "nz", "entry_id"]);
    body.push(Stmt::Line(format!("{total} = float(0.0)")));
    let (begin, end) = if writer.random.chance(50) {
        let (begin, end) = (writer.name(&["begin", "start", "lo"]), writer.name(&["end", "stop", "hi"]));
        body.push(Stmt::Line(format!("{begin} = {offsets}[{row}]")));
        body.push(Stmt::Line(format!("{end} = {offsets}[{row} + 1]")));
        (begin, end)
    } else {
        (format!("{offsets}[{row}]"), format!("{offsets}[{row} + 1]"))
    };
    let before = writer.values.len();
    let mut inner = Vec::new();
    let column = if writer.random.chance(50) {
        let local = writer.name(&["col", "j_col", "nbr", "c"]);
        inner.push(Stmt::Line(format!("{local} = {columns}[{k}]")));
        local
    } else {
        format!("{columns}[{k}]")
    };
    let product = format!("{values}[{k}] * {x}[{column}]");
    match writer.random.below(4) {
        0 => inner.push(Stmt::Line(format!("{total} += {product}"))),
        1 => {
            let weight = writer.expr(Kind::Signed, 2);
            inner.push(Stmt::Line(format!("{total} += {} * {product}", bracket(&weight.text))));
        }
        2 => {
            // The diagonal is often left out, as in a Jacobi sweep.
            inner
                .push(Stmt::Block(format!("if {column} != {row}:"), vec![Stmt::Line(format!("{total} += {product}"))]));
        }
        _ => {
            writer.declare(&format!("{values}[{k}]"), Kind::Float, true);
            writer.declare(&format!("{x}[{column}]"), Kind::Float, true);
            inner.push(writer.assign(Kind::Float, 2));
            if let Some(term) = writer.rest(before) {
                inner.push(Stmt::Line(format!("{total} += {}", term.text)));
            }
        }
    }
    writer.values.truncate(before);
    body.push(Stmt::Block(format!("for {k} in range({begin}, {end}):"), inner));
    writer.declare(&total, Kind::Float, true);
    writer.declare(&format!("{x}[{row}]"), Kind::Float, false);
}
