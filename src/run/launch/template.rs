//! What does a launch file for a kernel look like, before anyone wrote one? Every argument, with
//! contents to begin with.
//!
//! How large the arrays have to be is found by trying: the kernel runs on the interpreter, and an
//! array that is too small grows.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::extents::{Extents, TRIES, outside};
use super::{Argument, ArgumentKind, ArrayArgument, Direction, Fill, Launch, Literal, Number, Source, Stored};
use crate::abi::LaunchBounds;
use crate::diag::Code;
use crate::ir::interp::{self, Outcome, TrapKind};
use crate::ir::{BlockThreads, FuncId, Function, FunctionKind};
use crate::run::args::Arguments;
use crate::run::program::Program;
use crate::run::{Result, fail};
use crate::types::{ArrayType, MAX_DIMS, Scalar, StructTable, Type};

/// Instructions that one try may take.
const STEPS: u64 = 20_000_000;

/// Elements that all arrays together grow to.
const MOST: u64 = 1 << 21;

/// The largest extent of an array that has an element for each thread.
const LONGEST: u64 = 1 << 24;

/// A launch to begin with.
pub struct Template {
    pub launch: Launch,
    /// Why it does not run as it is; None: it does.
    pub why: Option<String>,
}

/// A launch of a kernel with every argument. `dim`: the threads in each dimension, if that is said.
pub fn template(program: &Program, kernel: FuncId, source: &Path, dim: Option<&[u32]>) -> Result<Template> {
    let function = &program.module.functions[kernel];
    let FunctionKind::Kernel { rank } = function.kind else { return Err(fail(Code::E0999, "no kernel")) };
    let dim = dim.map_or_else(
        || {
            let rank = usize::from(rank.clamp(1, MAX_DIMS as u8));
            vec![[1024, 64, 16, 8][rank - 1]; rank]
        },
        <[u32]>::to_vec,
    );
    let (mut first, mut refused) = (None, None);
    // Integers may be indices or counts: both kinds of contents are tried.
    for integers in [Fill::Range, Fill::Value(Literal::One(Number::Int(0))), Fill::Value(Literal::One(Number::Int(1)))]
    {
        match one_way(program, kernel, source, &dim, &integers) {
            Ok(made) if made.why.is_none() => return Ok(made),
            Ok(made) => {
                first.get_or_insert(made);
            }
            // Counting up leads beyond small integers.
            Err(error) => refused = Some(error),
        }
    }
    first.ok_or_else(|| refused.unwrap_or_else(|| fail(Code::E0999, "no way of filling arrays was tried")))
}

fn one_way(program: &Program, kernel: FuncId, source: &Path, dim: &[u32], integers: &Fill) -> Result<Template> {
    let (module, function) = (&program.module, &program.module.functions[kernel]);
    let structs = &module.structs;
    let mut seed = 0;
    let args = function.params().iter().enumerate();
    let args =
        args.map(|(n, &p)| argument(&function.param_name(n), "", function.ty(p), structs, dim, integers, &mut seed));
    let mut launch = Launch {
        id: function.source_name.clone(),
        source: source.to_path_buf(),
        kernel: Some(function.source_name.clone()),
        direction: Direction::Forward,
        dim: dim.to_vec(),
        block_dim: 256,
        args: args.collect(),
        structs: BTreeMap::new(),
        inputs: PathBuf::new(),
        grid: None,
        max_expanded: None,
    };
    let Some(bounds) = LaunchBounds::new(dim) else {
        return Err(fail(Code::E1006, format!("the product of dim {dim:?} is more than 2^63 threads")));
    };
    let ready = interp::Program::new(module, kernel);
    let mut why = None;
    let mut extents = Extents::of(&launch, MOST);
    for _ in 0..TRIES {
        let arguments = Arguments::bind(&launch, "the new launch", function, structs)?;
        let mut outcome = Outcome::new(|_| {});
        outcome.steps = Some(STEPS);
        // SAFETY: the block was made for this kernel, and nothing else runs on its arrays.
        unsafe { ready.run(&bounds, arguments.block(), 0, bounds.size, &mut outcome) };
        let Some(trap) = outcome.trap.take() else {
            why = None;
            break;
        };
        why = Some(outside(&arguments, &trap));
        match trap.kind {
            // It ran that long without an error.
            TrapKind::StepLimit => {
                why = None;
                break;
            }
            TrapKind::OutOfBounds if extents.grow(&mut launch, &arguments, &trap) => {}
            TrapKind::OutOfBounds | TrapKind::Component | TrapKind::Assert | TrapKind::Waits => break,
        }
    }
    by_blocks(&mut launch, function);
    Ok(Template { launch, why })
}

/// A kernel with tiles computes once for each block: the threads of one are a dimension more of its
/// launch, or one thread is a block.
fn by_blocks(launch: &mut Launch, function: &Function) {
    let FunctionKind::Kernel { rank } = function.kind else { return };
    if !function.by_block || launch.dim.len() > rank.into() {
        return;
    }
    // It may be made for blocks of a size.
    let made_for = function.block_threads.map(|block_threads| block_threads.threads);
    launch.block_dim = made_for.unwrap_or(launch.block_dim);
    let dims = launch.dim.len();
    match (function.block_threads, launch.dim.last_mut()) {
        (Some(BlockThreads { counted: true, threads, .. }), Some(last)) => *last = last.next_multiple_of(threads),
        _ if dims == MAX_DIMS => launch.block_dim = 1,
        _ if made_for == Some(1) => {}
        _ => launch.dim.push(launch.block_dim),
    }
}

/// The extents of an array that has an element for each thread, or for each thread of some
/// dimensions.
fn shape(array: ArrayType, dim: &[u32]) -> Vec<u32> {
    let n = usize::from(array.ndim);
    let threads = dim.iter().fold(1u64, |all, &n| all.saturating_mul(n.into()));
    if n == 1 && dim.len() > 1 {
        return vec![u32::try_from(threads.min(LONGEST)).unwrap_or(1).max(1)];
    }
    // More dimensions than the launch has are components of what each thread works on.
    (0..n).map(|k| dim.get(k).copied().unwrap_or(4).max(1)).collect()
}

fn argument(
    name: &str,
    owner: &str,
    ty: Type,
    structs: &StructTable,
    dim: &[u32],
    integers: &Fill,
    seed: &mut u64,
) -> Argument {
    let one = |scalar: Scalar| match scalar {
        Scalar::Bool => Number::Bool(true),
        s if s.is_float() => Number::Float(1.0),
        _ => Number::Int(dim.first().copied().unwrap_or(1).into()),
    };
    let kind = match ty {
        Type::Array(array) => {
            let fill = if Type::from(array.element).holds_floats(structs) {
                *seed += 1;
                Fill::Random(*seed)
            } else {
                integers.clone()
            };
            ArgumentKind::Array(ArrayArgument {
                shape: Some(shape(array, dim)),
                data: Some(Stored { key: format!("{owner}{name}"), source: Source::Fill(fill) }),
                ..ArrayArgument::default()
            })
        }
        Type::Struct(id) => {
            let owner = format!("{owner}{name}.");
            let fields = structs[id].fields.iter();
            let fields = fields.map(|f| argument(&f.name, &owner, f.ty, structs, dim, integers, seed)).collect();
            ArgumentKind::Struct { name: None, fields }
        }
        Type::Scalar(scalar) => ArgumentKind::Value { dtype: None, literal: Literal::One(one(scalar)) },
        other => {
            let number = one(other.scalar_part().unwrap_or(Scalar::F32));
            let count = other.scalar_count().unwrap_or(1) as usize;
            ArgumentKind::Value { dtype: None, literal: Literal::Many(vec![number; count]) }
        }
    };
    Argument { name: name.to_string(), kind }
}
