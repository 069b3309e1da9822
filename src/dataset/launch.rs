//! How is a step of a program launched? Its arguments as the launch model, for any size of the
//! program, with what the arrays hold by then.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::near::mix;
use super::plan::{Content, Extent, Given, Param, Plan, Step};
use super::random::Random;
use crate::run::args::Arguments;
use crate::run::args::elements::leaves;
use crate::run::args::literal;
use crate::run::launch::{
    Argument, ArgumentKind, ArrayArgument, Direction, Fill, Launch, Literal, Number, Source, Stored,
};
use crate::types::StructTable;

/// The threads of a launch, and the values of the plan's symbols.
#[derive(Clone, PartialEq, Debug)]
pub struct Size {
    pub threads: Vec<u32>,
    pub values: Vec<u32>,
}

/// Which size a program has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scale {
    /// The least that there is: one thread, for most.
    One,
    /// A few, and no multiple of a block; small enough to write down.
    Few,
    /// More than one pass of a grid of two blocks of the smallest size (64 threads), and no
    /// multiple of a block.
    Many,
}

impl Scale {
    pub const ALL: [Scale; 3] = [Scale::One, Scale::Few, Scale::Many];
}

/// The threads of a block of a launch.
pub const BLOCK_DIM: u32 = 256;

/// Threads of a block that works on tiles, in the host programs.
pub const TILE_THREADS: u32 = 64;

/// The threads of a block in each dimension where launches of a rank are rounded up: 32 together.
pub fn block(rank: usize) -> Vec<u32> {
    [&[32][..], &[4, 8], &[2, 4, 4]][rank.clamp(1, 3) - 1].to_vec()
}

/// The values of a plan's symbols.
pub fn values(plan: &Plan, scale: Scale) -> Vec<u32> {
    plan.symbols.iter().map(|symbol| symbol.values[scale as usize]).collect()
}

/// The size of a launch.
pub fn size(plan: &Plan, step: &Step, scale: Scale) -> Size {
    sized(step, values(plan, scale))
}

/// The size of a launch where the symbols have these values.
pub fn sized(step: &Step, values: Vec<u32>) -> Size {
    let dims = step.dims.iter().map(|dim| dim.of(&values));
    let threads = match &step.block {
        Some(block) => dims.zip(block).map(|(n, block)| n.div_ceil(*block) * block).collect(),
        None => dims.collect(),
    };
    Size { threads, values }
}

/// What the arrays of a program hold, by their names: the scalars of all elements, in order.
pub type Contents = BTreeMap<String, Vec<Number>>;

/// What they hold before the first launch, drawn from `seed`.
pub fn contents<'a>(plan: &Plan, steps: impl IntoIterator<Item = &'a Step>, values: &[u32], seed: u64) -> Contents {
    let count = plan.recorded.len().max(1) as u64;
    let mut out = plan.recorded.get((seed % count) as usize).cloned().unwrap_or_default();
    for step in steps {
        for (array, Param { ty, given, .. }) in arrays(step) {
            if let Given::Array { shape, content } = given
                && !out.contains_key(array)
            {
                let mut random = Random::new(seed, mix(array.bytes().map(u64::from)));
                let count: u64 = shape.iter().map(|extent| u64::from(extent.of(values))).product();
                out.insert(array.to_string(), fill(*content, count, ty, values, &mut random));
            }
        }
    }
    out
}

/// The parameters of a launch with the arrays that they get, and the parts of its engines.
fn arrays(step: &Step) -> impl Iterator<Item = (&str, &Param)> {
    step.params.iter().flat_map(|param| {
        let parts: &[(&str, Param)] = match &param.given {
            Given::Engine { parts, .. } => parts,
            _ => &[],
        };
        [(step.array_of(&param.name), param)]
            .into_iter()
            .chain(parts.iter().map(|(_, part)| (part.name.as_str(), part)))
    })
}

/// Notes what a launch left in its arrays. Structs are one list per field, one after the other.
pub fn keep(contents: &mut Contents, step: &Step, after: &Arguments, structs: &StructTable) {
    for array in &after.arrays {
        let mut numbers = Vec::new();
        for leaf in leaves(array.ty.element.into(), structs).unwrap_or_default() {
            let size = leaf.scalar.size() as usize;
            let bytes = after.gather(array, &leaf);
            numbers.extend(bytes.chunks_exact(size).map(|chunk| {
                let constant = literal::load(chunk, leaf.scalar);
                match (constant.as_float(), constant.as_int()) {
                    (Some(x), _) => Number::Float(x),
                    (None, Some(n)) => Number::Int(n),
                    (None, None) => Number::Bool(chunk.first().is_some_and(|&byte| byte != 0)),
                }
            }));
        }
        contents.insert(step.array_of(&array.key).to_string(), numbers);
    }
}

/// The launch of a step.
pub fn launch(step: &Step, size: &Size, contents: &Contents, direction: Direction) -> Launch {
    Launch {
        id: step.kernel.clone(),
        source: PathBuf::from("kernel.py"),
        kernel: Some(step.kernel.clone()),
        direction,
        dim: size.threads.clone(),
        // Devices of the checks have blocks of one thread.
        block_dim: 1,
        args: step.params.iter().map(|param| argument(step, param, size, contents)).collect(),
        structs: BTreeMap::new(),
        inputs: PathBuf::new(),
        grid: None,
        max_expanded: None,
    }
}

fn argument(step: &Step, param: &Param, size: &Size, contents: &Contents) -> Argument {
    let kind = match &param.given {
        Given::Array { shape, .. } => {
            let shape: Vec<u32> = shape.iter().map(|extent| extent.of(&size.values)).collect();
            let fill = match contents.get(step.array_of(&param.name)).filter(|numbers| !numbers.is_empty()) {
                Some(numbers) => Fill::List(numbers.clone()),
                None => Fill::Value(Literal::One(Number::Int(0))),
            };
            let data = Some(Stored { key: param.name.clone(), source: Source::Fill(fill) });
            ArgumentKind::Array(ArrayArgument { shape: Some(shape), data, ..ArrayArgument::default() })
        }
        Given::Engine { kind, parts } => {
            let fields = parts
                .iter()
                .map(|(field, part)| Argument { name: field.to_string(), ..part_of(step, part, size, contents) });
            ArgumentKind::Engine { kind: *kind, fields: fields.collect(), file: None }
        }
        given => value(given, size),
    };
    Argument { name: param.name.clone(), kind }
}

/// A part of an engine; an array that the kernel gets too is the same in both.
fn part_of(step: &Step, part: &Param, size: &Size, contents: &Contents) -> Argument {
    let mut out = argument(step, part, size, contents);
    let is_same =
        |other: &&Param| matches!(other.given, Given::Array { .. }) && step.array_of(&other.name) == part.name;
    if let ArgumentKind::Array(array) = &mut out.kind
        && let Some(other) = step.params.iter().find(is_same)
    {
        array.data = Some(Stored { key: other.name.clone(), source: Source::Alias(other.name.clone()) });
    }
    out
}

fn value(given: &Given, size: &Size) -> ArgumentKind {
    let one = |number| ArgumentKind::Value { dtype: None, literal: Literal::One(number) };
    match given {
        Given::Float(list) => match list.as_slice() {
            [x] => one(Number::Float(*x)),
            list => {
                let literal = Literal::Many(list.iter().map(|&x| Number::Float(x)).collect());
                ArgumentKind::Value { dtype: None, literal }
            }
        },
        Given::Int(n) => one(Number::Int((*n).into())),
        Given::Bool(b) => one(Number::Bool(*b)),
        Given::Count(extent) => one(Number::Int(extent.of(&size.values).into())),
        Given::Struct(fields) => {
            let fields =
                fields.iter().map(|(name, given)| Argument { name: name.clone(), kind: value(given, size) }).collect();
            ArgumentKind::Struct { name: None, fields }
        }
        Given::Array { .. } | Given::Engine { .. } => one(Number::Int(0)),
    }
}

/// The scalars of an array's element, by its annotation; 1 for structs, whose fields are filled one
/// by one.
fn components(annotation: &str) -> u64 {
    const SIZES: [(&str, u64); 10] = [
        ("vec2", 2),
        ("vec3", 3),
        ("vec4", 4),
        ("mat22", 4),
        ("mat33", 9),
        ("mat44", 16),
        ("quat", 4),
        ("transform", 7),
        ("spatial_vector", 6),
        ("spatial_matrix", 36),
    ];
    SIZES.iter().find(|(name, _)| annotation.contains(&format!("wp.{name}"))).map_or(1, |found| found.1)
}

/// The numbers of an array with `elements` elements.
fn fill(content: Content, elements: u64, annotation: &str, values: &[u32], random: &mut Random) -> Vec<Number> {
    let components = components(annotation);
    let count = elements * components;
    let ints = ["int", "vec2i", "vec3i", "vec4i"].iter().any(|ty| annotation.contains(ty));
    let bools = annotation.contains("bool");
    let number = |x: f64| {
        if bools {
            Number::Bool(x != 0.0)
        } else if ints {
            Number::Int(x as i128)
        } else {
            Number::Float(x)
        }
    };
    // Multiples of 1/256: short to write down, and exact in every type.
    let grid = |x: f64| (x * 256.0).round() / 256.0;
    let draw = |random: &mut Random, count: u64, low: f64, high: f64| -> Vec<f64> {
        (0..count).map(|_| grid(low + (high - low) * random.unit())).collect()
    };
    let unit = |list: &[f64]| -> Vec<Number> {
        let length = list.iter().map(|x| x * x).sum::<f64>().sqrt().max(0.05);
        list.iter().map(|x| Number::Float(f64::from((x / length) as f32))).collect()
    };
    match content {
        Content::Zero => vec![number(0.0); count as usize],
        Content::Full(x) => vec![number(x); count as usize],
        Content::Between(low, high) if ints || bools => {
            let below = (high - low).max(1.0) as usize;
            (0..count).map(|_| number((low as i128 + random.below(below) as i128) as f64)).collect()
        }
        Content::Between(low, high) => {
            // Structs have more floats than elements: the list begins again.
            let count = if components == 1 { count + 7 } else { count };
            draw(random, count, low, high).into_iter().map(number).collect()
        }
        Content::Gauss(mean, deviation) => {
            (0..count).map(|_| number(grid(mean + deviation * random.normal()))).collect()
        }
        Content::Sorted(low, high) => {
            let mut list = draw(random, count, low, high);
            list.sort_by(f64::total_cmp);
            list.into_iter().map(number).collect()
        }
        Content::Normal => draw(random, count, -1.0, 1.0).chunks(components as usize).flat_map(unit).collect(),
        Content::Rotation => (0..elements)
            .flat_map(|_| {
                let rotation = draw(random, 4, -1.0, 1.0);
                match components {
                    7 => {
                        [draw(random, 3, -1.0, 1.0).into_iter().map(Number::Float).collect(), unit(&rotation)].concat()
                    }
                    9 => matrix(&unit(&rotation)),
                    _ => unit(&rotation),
                }
            })
            .collect(),
        Content::Below(extent) => {
            let below = extent.of(values).max(1) as usize;
            (0..count).map(|_| Number::Int(random.below(below) as i128)).collect()
        }
        Content::Maybe(extent) => {
            let below = extent.of(values) as usize + 1;
            (0..count).map(|_| Number::Int(random.below(below) as i128 - 1)).collect()
        }
        Content::Offsets(extent) => {
            // Rows of 2 to 4 entries, where there are as many.
            let last = i128::from(extent.of(values));
            let mut at = 0;
            let mut row = || {
                let start = Number::Int(at);
                at = (at + random.between(2, 4) as i128).min(last);
                start
            };
            (0..count).map(|_| row()).collect()
        }
        Content::Rows(extent) => {
            // Rows of any length: some are empty.
            let last = extent.of(values);
            let mut ends: Vec<u32> = (2..count).map(|_| random.below(last as usize + 1) as u32).collect();
            ends.sort_unstable();
            let all = [0].into_iter().chain(ends).chain([last]);
            all.take(count as usize).map(|end| Number::Int(end.into())).collect()
        }
        Content::Range => (0..count).map(|n| number(n as f64)).collect(),
        Content::Tree => {
            (0..count).map(|n| Number::Int((i128::from(n) - random.between(1, 3) as i128).max(-1))).collect()
        }
        Content::Permutation => {
            let mut list: Vec<Number> = (0..count).map(|n| Number::Int(n.into())).collect();
            (1..list.len()).rev().for_each(|n| list.swap(n, random.below(n + 1)));
            list
        }
        Content::Ring(extent) => {
            let turn = u64::from(extent.of(values)).max(1);
            let of = |n: u64| (0..components).map(move |c| Number::Int(((n + c) % turn).into()));
            (0..elements).flat_map(of).collect()
        }
        Content::Strip(extent) => {
            let turn = u64::from(extent.of(values)).max(1);
            (0..count).map(|n| Number::Int(((n / 3 + n % 3) % turn).into())).collect()
        }
    }
}

/// The rotation matrix of a unit quaternion, row by row.
fn matrix(rotation: &[Number]) -> Vec<Number> {
    let part = |n: usize| match rotation.get(n) {
        Some(Number::Float(x)) => *x,
        _ => 0.0,
    };
    let (x, y, z, w) = (part(0), part(1), part(2), part(3));
    let rows = [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)],
        [2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)],
        [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)],
    ];
    rows.concat().into_iter().map(|x| Number::Float(f64::from(x as f32))).collect()
}

/// The shape of an argument in words: `[dim0 + 2, 4]`.
pub fn shape_text(plan: &Plan, shape: &[Extent]) -> String {
    format!("[{}]", shape.iter().map(|extent| extent.text(&plan.symbols)).collect::<Vec<_>>().join(", "))
}
