//! How is a generated program launched? Its arguments as the launch model, for any size of the launch.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::sample::random::Random;
use super::sample::tree::{Content, Extent, Given, Param, Program};
use crate::run::launch::{
    Argument, ArgumentKind, ArrayArgument, Direction, Fill, Launch, Literal, Number, Source, Stored,
};

/// Launch dimensions, and the extents that arrays follow: they differ where the launch is rounded up.
#[derive(Clone, PartialEq, Debug)]
pub struct Size {
    pub threads: Vec<u32>,
    pub extents: Vec<u32>,
}

/// Which size a launch has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scale {
    One,
    /// A few, and no multiple of a block; small enough to write down.
    Few,
    /// More than one pass of a grid of two blocks of the smallest size (64 threads), and no multiple of a block.
    Many,
}

impl Scale {
    pub const ALL: [Scale; 3] = [Scale::One, Scale::Few, Scale::Many];
}

/// The threads of a block of a launch.
pub const BLOCK_DIM: u32 = 256;

/// The threads of a block in each dimension where launches are rounded up, by the launch's rank: 32 together.
const BLOCK: [[u32; 3]; 3] = [[32, 0, 0], [4, 8, 0], [2, 4, 4]];

/// The size of a launch of `program`.
pub fn size(program: &Program, scale: Scale) -> Size {
    let extents: Vec<u32> = match (scale, program.rank) {
        (Scale::One, rank) => vec![1; rank],
        (Scale::Few, 1) => vec![7],
        (Scale::Few, 2) => vec![3, 5],
        (Scale::Few, _) => vec![2, 3, 3],
        (Scale::Many, 1) => vec![71],
        (Scale::Many, 2) => vec![7, 11],
        (Scale::Many, _) => vec![3, 5, 5],
    };
    let threads = match program.guarded {
        true => {
            let block = BLOCK[extents.len().clamp(1, 3) - 1];
            extents.iter().zip(block).map(|(n, block)| n.div_ceil(block) * block).collect()
        }
        false => extents.clone(),
    };
    Size { threads, extents }
}

/// The launch of a program; its arrays hold numbers drawn from `seed`.
pub fn launch(program: &Program, size: &Size, seed: u64, direction: Direction) -> Launch {
    let args = program.params.iter().enumerate().map(|(n, param)| argument(param, size, seed, n as u64));
    Launch {
        id: program.kernel.name.clone(),
        source: PathBuf::from("kernel.py"),
        kernel: Some(program.kernel.name.clone()),
        direction,
        dim: size.threads.clone(),
        block_dim: BLOCK_DIM,
        args: args.collect(),
        structs: BTreeMap::new(),
        inputs: PathBuf::new(),
        grid: None,
    }
}

fn argument(param: &Param, size: &Size, seed: u64, number: u64) -> Argument {
    let kind = match &param.given {
        Given::Array { shape, content } => {
            let shape: Vec<u32> = shape.iter().map(|extent| extent.of(&size.extents)).collect();
            let count: u64 = shape.iter().map(|&n| u64::from(n)).product();
            let components = components(&param.ty);
            let mut random = Random::new(seed, number);
            let fill = fill(*content, count * components, components, size, &mut random, param.ty.contains("int"));
            let data = Some(Stored { key: param.name.clone(), source: Source::Fill(fill) });
            ArgumentKind::Array(ArrayArgument { shape: Some(shape), data, ..ArrayArgument::default() })
        }
        given => value(given, size),
    };
    Argument { name: param.name.clone(), kind }
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
        Given::Count(extent) => one(Number::Int(extent.of(&size.extents).into())),
        Given::Struct(fields) => {
            let fields =
                fields.iter().map(|(name, given)| Argument { name: name.clone(), kind: value(given, size) }).collect();
            ArgumentKind::Struct { name: None, fields }
        }
        Given::Array { .. } => one(Number::Int(0)),
    }
}

/// The scalars of an array's element, by its annotation; 1 for structs, whose fields are filled one by one.
fn components(annotation: &str) -> u64 {
    const SIZES: [(&str, u64); 9] = [
        ("vec2", 2),
        ("vec3", 3),
        ("vec4", 4),
        ("mat22", 4),
        ("mat33", 9),
        ("mat44", 16),
        ("quat", 4),
        ("transform", 7),
        ("spatial_vector", 6),
    ];
    SIZES.iter().find(|(name, _)| annotation.contains(&format!("wp.{name}"))).map_or(1, |found| found.1)
}

fn fill(content: Content, count: u64, components: u64, size: &Size, random: &mut Random, ints: bool) -> Fill {
    // Multiples of 1/256: short to write down, and exact in every type.
    let grid = |x: f64| (x * 256.0).round() / 256.0;
    let mut list: Vec<Number> = Vec::with_capacity(count as usize);
    match content {
        Content::Zero => return Fill::Value(Literal::One(if ints { Number::Int(0) } else { Number::Float(0.0) })),
        Content::Between(low, high) => {
            // Structs have more floats than elements: the list begins again.
            let count = if components == 1 { count + 7 } else { count };
            list.extend((0..count).map(|_| Number::Float(grid(low + (high - low) * random.unit()))));
        }
        Content::Normal => {
            for _ in 0..count / components.max(1) {
                let draw: Vec<f64> = (0..components).map(|_| 2.0 * random.unit() - 1.0).collect();
                let length = draw.iter().map(|x| x * x).sum::<f64>().sqrt().max(0.05);
                list.extend(draw.iter().map(|x| Number::Float(f64::from((x / length) as f32))));
            }
        }
        Content::Below(extent) => {
            let below = extent.of(&size.extents).max(1) as usize;
            list.extend((0..count).map(|_| Number::Int(random.below(below) as i128)));
        }
        Content::Offsets(extent) => {
            // Rows of 2 to 4 entries, where there are as many.
            let last = i128::from(extent.of(&size.extents));
            let mut at = 0;
            for _ in 0..count {
                list.push(Number::Int(at));
                at = (at + random.between(2, 4) as i128).min(last);
            }
        }
    }
    if list.is_empty() { Fill::Value(Literal::One(Number::Int(0))) } else { Fill::List(list) }
}

/// The shape of an argument in words of the launch: `[dim0 + 2, 4]`.
pub fn shape_text(shape: &[Extent]) -> String {
    format!("[{}]", shape.iter().map(extent_text).collect::<Vec<_>>().join(", "))
}

/// An extent or a count in the same words.
pub fn extent_text(extent: &Extent) -> String {
    match *extent {
        Extent::Fixed(n) => n.to_string(),
        Extent::Axis { axis, times, plus } => {
            let name = format!("dim{axis}");
            let scaled = if times == 1 { name } else { format!("{times} * {name}") };
            if plus == 0 { scaled } else { format!("{scaled} + {plus}") }
        }
    }
}
