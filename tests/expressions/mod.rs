//! What else can be said in the language? A generator of kernels of random expressions, for tests
//! of kc: each from (seed, index) alone. They mean nothing.
//!
//! | file | question it answers |
//! |---|---|
//! | [`category`] | what kinds of kernels are there? |
//! | [`tree`] | what is a program, and how is it printed? |
//! | [`vocabulary`] | what do people call things? |
//! | [`formulas`], [`fragments`] | which expressions and pieces of code do people write? |
//! | [`writer`] | how do templates become code? |
//! | [`flow`] | how does control flow wrap around statements? |
//! | [`inputs`], [`outputs`] | what does a kernel read and write? |
//! | [`parts`] | which functions and structs come with a kernel? |
//!
//! A kernel is a mixture: fragments that are typical of its domain, sentences of the expression
//! grammar, and control flow around both. Every value that a statement computes is used by a later
//! one; the stores at the end use what is left.

pub mod category;
mod flow;
mod formulas;
mod fragments;
mod inputs;
mod outputs;
mod parts;
pub mod tree;
pub mod vocabulary;
mod writer;

use std::collections::HashSet;

pub use category::Category;
pub use vocabulary::Domain;

use crate::dataset::random::Random;
use crate::dataset::sample::{Meaning, Sample};
use inputs::{Access, Grid};
use tree::{Extent, Given, Kind, Param, Program, Stmt};
use vocabulary::{objects, verbs};
use writer::Writer;

/// Names that programs never give.
const RESERVED: &[&str] = &[
    "wp", "float", "int", "range", "bool", "len", "min", "max", "abs", "print", "and", "or", "not", "in", "is", "if",
    "for", "while", "def", "class", "return", "lambda", "pass", "from", "import", "as", "input", "map", "sum", "pow",
];

/// Makes sample number `index` of `seed`, of one of the categories (not none).
pub fn sample(seed: u64, index: u64, categories: &[Category]) -> Sample {
    let mut random = Random::new(seed, index);
    let category = *random.pick(categories);
    let domain = match category {
        Category::Sparse => Domain::Sparse,
        Category::Quaternion => *random.pick(&[Domain::Physics, Domain::Geometry, Domain::Graphics]),
        _ => Domain::ALL[random.weighted(&[22, 18, 16, 15, 15, 4, 10])],
    };
    let mut writer = Writer {
        random: &mut random,
        domain,
        values: Vec::new(),
        callees: Vec::new(),
        used: 0,
        taken: RESERVED.iter().map(|name| name.to_string()).collect::<HashSet<String>>(),
    };
    let program = kernel(&mut writer, category);
    let meaning = Meaning { split: "train", ..Meaning::default() };
    Sample { plan: program.plan(), category: category.name(), domain: domain.name(), meaning }
}

/// The statements that a kernel is to have: about as people's kernels are distributed.
fn size(random: &mut Random, category: Category) -> usize {
    let lines = (0.6 + 1.45 * random.normal()).exp();
    (lines as usize).clamp(category.size(), 100)
}

fn kernel(writer: &mut Writer, category: Category) -> Program {
    let size = size(writer.random, category);
    // The nesting of control flow, as in libraries of kernels.
    let wanted = writer.random.weighted(&[56, 24, 11, 9]) as u32;
    let depth = wanted.max(category.depth());
    let size = size.max([0, 3, 6, 9][depth.min(3) as usize]);
    let rank = match category {
        Category::Grid => 2 + writer.random.below(2),
        Category::Sparse => 1,
        _ => [1, 2, 3][writer.random.weighted(&[80, 16, 4])],
    };
    let verb = *writer.random.pick(verbs(writer.domain));
    let object = *writer.random.pick(objects(writer.domain));
    let name = match writer.random.below(4) {
        0 => format!("{object}_kernel"),
        1 => format!("{verb}_{object}_kernel"),
        _ => format!("{verb}_{object}"),
    };
    writer.taken.insert(name.clone());
    let mut constants = Vec::new();
    if writer.random.chance(12) {
        let name =
            writer.name(&["CUTOFF", "GAIN", "SCALE", "EPS_TERM", "DAMPING", "BIAS", "TIME_STEP", "GRAVITY", "RATE"]);
        let value = writer.literal("c");
        constants.push((name.clone(), value));
        writer.declare(&name, Kind::Positive, false);
    }
    let kept = writer.values.clone();
    let functions = parts::functions(writer, category, depth);
    writer.values = kept;

    let (grid, mut body) = indices(writer, rank);
    let mut params: Vec<Param> = Vec::new();
    let mut structs = Vec::new();
    if category == Category::Struct || writer.random.chance(11) {
        structs.push(parts::structure(writer, &grid, &mut params, &mut body));
    }
    let guarded = guard(writer, &grid, &mut params, &mut body);
    read(writer, category, &grid, size, &mut params, &mut body);
    compute(writer, category, depth, size, &mut body);
    // A function that nobody calls is no part of a program.
    for n in 0..writer.callees.len() {
        if writer.callees[n].calls == 0 {
            body.push(writer.assign_call(n));
        }
    }
    write(writer, category, &grid, &mut params, &mut body);
    if !guarded && writer.random.chance(20) {
        params.sort_by_key(|p| !matches!(p.given, Given::Array { .. }));
    }
    let doc = writer.random.chance(35).then(|| parts::doc(writer, verb, object));
    let kernel = tree::Function {
        name,
        doc,
        params: params.iter().map(|p| (p.name.clone(), p.ty.clone())).collect(),
        returns: None,
        body,
    };
    let doc = writer.random.chance(15).then(|| parts::module_doc(writer, object));
    Program { doc, constants, structs, functions, kernel, params, rank, guarded }
}

/// `i = wp.tid()` in its forms.
fn indices(writer: &mut Writer, rank: usize) -> (Grid, Vec<Stmt>) {
    let names: &[&str] = match (rank, writer.random.below(4)) {
        (1, 0) => &["tid"],
        (1, 1) => &["idx"],
        (1, _) => &["i"],
        (2, 0) => &["row", "col"],
        (2, 1) => &["x", "y"],
        (2, _) => &["i", "j"],
        (_, 0) => &["x", "y", "z"],
        (_, _) => &["i", "j", "k"],
    };
    let indices: Vec<String> = names.iter().map(|name| writer.name(&[name])).collect();
    for name in &indices {
        writer.declare(name, Kind::Int, false);
    }
    let line = Stmt::Line(format!("{} = wp.tid()", indices.join(", ")));
    (Grid { indices }, vec![line])
}

/// `if i >= n: return`, for launches that are rounded up.
fn guard(writer: &mut Writer, grid: &Grid, params: &mut Vec<Param>, body: &mut Vec<Stmt>) -> bool {
    if grid.indices.len() > 1 || !writer.random.chance(9) {
        return false;
    }
    let count = writer.name(&["n", "count_n", "num_items", "size", "length_n"]);
    params.push(Param { name: count.clone(), ty: "int".to_string(), given: Given::Count(Extent::axis(0)) });
    let header = format!("if {} >= {count}:", grid.indices[0]);
    body.push(Stmt::Block(header, vec![Stmt::Line("return".to_string())]));
    true
}

fn read(
    writer: &mut Writer,
    category: Category,
    grid: &Grid,
    size: usize,
    params: &mut Vec<Param>,
    body: &mut Vec<Stmt>,
) {
    let kinds = category.kinds();
    let count = 1 + writer.random.below(if size > 12 { 4 } else { 2 });
    let scalars = match category {
        Category::ScalarParam => 2 + writer.random.below(3),
        _ => [0, 0, 1, 1, 2, 3][writer.random.below(6)],
    };
    for n in 0..scalars {
        let kind = match writer.random.below(8) {
            0 => Kind::Unit,
            1 => Kind::Int,
            2 if n > 0 => Kind::Vec(3),
            3 => Kind::Float,
            4 if category == Category::Quaternion => Kind::Quat,
            5 if category == Category::Matrix => Kind::Mat(3),
            _ => Kind::Positive,
        };
        params.push(inputs::scalar(writer, kind));
    }
    if category == Category::Sparse || (writer.domain == Domain::Sparse && grid.indices.len() == 1) {
        inputs::csr(writer, grid, params, body);
    }
    for n in 0..count {
        let kind = if n == 0 { kinds[0] } else { *writer.random.pick(kinds) };
        let access = match category {
            Category::Gather if n == 0 => Access::Gather,
            Category::Stencil if n == 0 => Access::Stencil,
            Category::Loop | Category::NestedLoop if n == 0 && writer.random.chance(30) => Access::Row,
            _ => [Access::Own, Access::Gather, Access::Stencil, Access::Row, Access::Constant]
                [writer.random.weighted(&[70, 9, 7, if size > 6 { 4 } else { 0 }, 7])],
        };
        let (rank, access) = (grid.indices.len(), access);
        let access = if rank > 1 && access == Access::Row { Access::Own } else { access };
        inputs::array(writer, grid, kind, access, params, body);
    }
}

/// The middle of a kernel.
fn compute(writer: &mut Writer, category: Category, depth: u32, size: usize, body: &mut Vec<Stmt>) {
    let kinds = category.kinds();
    let count = |body: &[Stmt]| lines(body);
    let domain = writer.domain.name();
    let mut flowed = depth == 0 || deepest(body) >= depth;
    if category == Category::Random {
        random_numbers(writer, body);
    }
    if category == Category::While {
        while_loop(writer, body);
        flowed = depth <= 1;
    }
    let mut guard = 0;
    while count(body) + 1 < size || !flowed {
        guard += 1;
        let room = size.saturating_sub(count(body) + 1);
        if !flowed && (room <= 4 + 3 * depth as usize || writer.random.chance(30) || guard > 40) {
            body.extend(flow::nest(writer, depth, room.max(2)));
            flowed = true;
            continue;
        }
        if guard > 90 {
            break;
        }
        match writer.random.weighted(&[60, if room >= 2 { 28 } else { 0 }, if depth > 0 && room >= 5 { 12 } else { 0 }])
        {
            0 => {
                let kind = *writer.random.pick(kinds);
                let nested = [1, 2, 2, 2, 3][writer.random.below(5)];
                body.push(writer.assign(kind, nested));
            }
            1 => {
                let fits = |f: &&fragments::Fragment| {
                    (f.0 == domain || (f.0 == "any" && domain == "generic"))
                        && f.1 <= depth
                        && f.3.lines().count() <= room + 1
                };
                let own: Vec<&fragments::Fragment> = fragments::FRAGMENTS.iter().filter(fits).collect();
                let any = |f: &&fragments::Fragment| f.0 == "any" && f.1 <= depth && f.3.lines().count() <= room + 1;
                let list: Vec<&fragments::Fragment> = if own.is_empty() || writer.random.chance(30) {
                    fragments::FRAGMENTS.iter().filter(any).collect()
                } else {
                    own
                };
                if !list.is_empty() {
                    let fragment = **writer.random.pick(&list);
                    body.extend(writer.fragment(fragment.2, fragment.3));
                }
            }
            _ => {
                let deep = 1 + writer.random.below(depth as usize) as u32;
                body.extend(flow::nest(writer, deep, room.min(8)));
            }
        }
    }
}

fn random_numbers(writer: &mut Writer, body: &mut Vec<Stmt>) {
    let list: Vec<&fragments::Fragment> =
        fragments::FRAGMENTS.iter().filter(|f| f.3.contains("wp.rand_init") && f.1 == 0).collect();
    let fragment = **writer.random.pick(&list);
    body.extend(writer.fragment(fragment.2, fragment.3));
}

fn while_loop(writer: &mut Writer, body: &mut Vec<Stmt>) {
    let list: Vec<&fragments::Fragment> =
        fragments::FRAGMENTS.iter().filter(|f| f.3.contains("while ") && f.1 == 1).collect();
    let fragment = **writer.random.pick(&list);
    body.extend(writer.fragment(fragment.2, fragment.3));
}

/// The end of a kernel: every value that is left goes somewhere.
fn write(writer: &mut Writer, category: Category, grid: &Grid, params: &mut Vec<Param>, body: &mut Vec<Stmt>) {
    let kinds = category.kinds();
    let atomic = matches!(category, Category::Atomic | Category::Reduction);
    if atomic || writer.random.chance(6) {
        outputs::atomic(writer, grid, params, body);
        if atomic && !writer.values.iter().any(|v| v.owed && v.uses == 0) && writer.random.chance(70) {
            return;
        }
    }
    let kind = *writer.random.pick(kinds);
    outputs::store(writer, grid, kind, params, body);
    let left = |writer: &Writer| writer.values.iter().filter(|v| v.owed && v.uses == 0).count();
    if left(writer) > 0 || writer.random.chance(12) {
        outputs::store(writer, grid, Kind::Float, params, body);
    }
}

/// The statements of a block and of all in it.
pub fn lines(body: &[Stmt]) -> usize {
    body.iter()
        .map(|stmt| match stmt {
            Stmt::Line(_) => 1,
            Stmt::Block(header, inner) => lines(inner) + usize::from(!header.starts_with("else")),
        })
        .sum()
}

/// How deep control flow nests.
pub fn deepest(body: &[Stmt]) -> u32 {
    let depth = |stmt: &Stmt| match stmt {
        Stmt::Line(_) => 0,
        Stmt::Block(_, inner) => 1 + deepest(inner),
    };
    body.iter().map(depth).max().unwrap_or(0)
}
