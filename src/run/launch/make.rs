//! How is a kernel launched that comes without a launch? Arguments made up for it: a few threads,
//! arrays as large as they have to be, numbers from a seed, integers that are indices in range as
//! far as trying can tell.
//!
//! What a kernel takes for an index or for a count is not known, so several ways are tried, and the
//! first counts with which it runs to its end, without error, to finite results, and without
//! threads that meet in a store.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::extents::{Extents, TRIES, outside};
use super::{
    Argument, ArgumentKind, ArrayArgument, Direction, Fill, Launch, Literal, Number, Source, Stored, dim_by_block,
};
use crate::abi::LaunchBounds;
use crate::diag::Code;
use crate::ir::interp::{self, Outcome, Trap, TrapKind};
use crate::ir::{BlockThreads, Const, FuncId, FunctionKind};
use crate::run::args::Arguments;
use crate::run::args::elements::leaves;
use crate::run::args::random::SplitMix;
use crate::run::engine_ids::engine_ids;
use crate::run::program::Program;
use crate::run::race_check::{Looked, Threads};
use crate::run::{Fail, Result, fail};
use crate::types::{Scalar, StructTable, Type};

/// Instructions that one try may take.
const STEPS: u64 = 10_000_000;

/// Elements that all arrays together grow to.
const MOST: u64 = 1 << 16;

/// How the contents of arrays are made.
#[derive(Clone, Copy)]
struct Way {
    /// Floats of both signs; else positive ones.
    signed: bool,
    /// Integers count up, as offsets do; else they are a permutation.
    counting: bool,
}

/// A launch of a kernel with made-up arguments that it runs with, and these arguments. The error
/// says what is in the way.
pub fn launch(program: &Program, kernel: FuncId, source: &Path, seed: u64) -> Result<(Launch, Arguments)> {
    let module = &program.module;
    let function = &module.functions[kernel];
    let FunctionKind::Kernel { rank } = function.kind else { return Err(fail(Code::E0999, "no kernel")) };
    let threads: u32 = [6, 4, 3, 2][usize::from(rank.clamp(1, 4)) - 1];
    // In whole blocks, where their threads have values of their own.
    let mut dim = vec![threads; rank.into()];
    let block_dim = function.block_threads.map_or(1, |block_threads| block_threads.threads);
    match (function.block_threads, dim.last_mut()) {
        (Some(BlockThreads { counted: true, .. }), Some(last)) => *last = last.next_multiple_of(block_dim),
        (Some(BlockThreads { threads: 2.., .. }), _) => dim.push(block_dim),
        _ => {}
    }
    let blocks = dim_by_block(function, &dim, block_dim)?;
    let Some(bounds) = LaunchBounds::new(&blocks) else { return Err(fail(Code::E0999, "too many threads")) };
    // A number that is no id of an engine leads anywhere in memory.
    let ids = engine_ids(module, kernel);
    if ids.elsewhere || !ids.of_params.is_empty() {
        return Err(no_launch(&function.source_name, "it asks a mesh or another engine, and none is made up"));
    }
    let ready = interp::Program::new(module, kernel);
    let mut why: Option<String> = None;
    for (signed, counting) in [(true, false), (false, false), (true, true), (false, true)] {
        let way = Way { signed, counting };
        let args = function.params().iter().enumerate();
        let args =
            args.map(|(n, &p)| argument("", &function.param_name(n), function.ty(p), &module.structs, threads, n));
        let mut launch = Launch {
            id: function.source_name.clone(),
            source: source.to_path_buf(),
            kernel: Some(function.source_name.clone()),
            direction: Direction::Gradient,
            dim: dim.clone(),
            block_dim,
            args: args.collect(),
            structs: BTreeMap::new(),
            inputs: PathBuf::new(),
            grid: None,
            max_expanded: None,
        };
        let origin = format!("made-up launch of `{}`", function.source_name);
        let mut extents = Extents::of(&launch, MOST);
        for left in (0..TRIES).rev() {
            let mut arguments = Arguments::bind(&launch, &origin, function, &module.structs)?;
            contents(&mut arguments, &module.structs, way, threads, seed);
            match attempt(program, kernel, &ready, &bounds, &mut arguments) {
                Ok(()) => return Ok((launch, arguments)),
                Err(Failure::Beyond(trap)) if left > 0 && extents.grow(&mut launch, &arguments, &trap) => {}
                Err(Failure::Beyond(trap)) => {
                    why.get_or_insert(outside(&arguments, &trap));
                    break;
                }
                Err(Failure::Other(reason)) => {
                    why.get_or_insert(reason);
                    break;
                }
            }
        }
    }
    Err(no_launch(&function.source_name, &why.unwrap_or_default()))
}

fn no_launch(name: &str, why: &str) -> Fail {
    let mut error = fail(Code::E1109, format!("kernel `{name}` does not run with made-up arguments: {why}"));
    error.help = Some("describe a launch in a launch file, and give that to `kc gradcheck`".to_string());
    error
}

enum Failure {
    /// An index beyond the end of an array.
    Beyond(Box<Trap>),
    Other(String),
}

/// One run; the arguments are as before afterwards.
fn attempt(
    program: &Program,
    kernel: FuncId,
    ready: &interp::Program,
    bounds: &LaunchBounds,
    arguments: &mut Arguments,
) -> std::result::Result<(), Failure> {
    let structs = &program.module.structs;
    let before = arguments.snapshot();
    let mut outcome = Outcome::new(|_| {});
    outcome.steps = Some(STEPS);
    // SAFETY: the block was made for this kernel, and nothing else runs on its arrays.
    unsafe { ready.run(bounds, arguments.block(), 0, bounds.size, &mut outcome) };
    let trap = outcome.trap.take();
    drop(outcome);
    let finite = arguments.arrays.iter().all(|array| {
        let large = |x: &f64| !x.is_finite() || x.abs() > 1e6;
        !arguments.floats(array, false, structs).iter().any(large)
    });
    arguments.restore(&before);
    match trap {
        None => {}
        Some(trap) => {
            return Err(match trap.kind {
                TrapKind::OutOfBounds if trap.index < 0 => {
                    Failure::Other("it reads or writes at a negative index".to_string())
                }
                TrapKind::OutOfBounds => Failure::Beyond(Box::new(trap)),
                TrapKind::Component => Failure::Other("it names a component that is not there".to_string()),
                TrapKind::Assert => Failure::Other(format!("an assertion fails: {}", trap.message)),
                TrapKind::Waits => Failure::Other(trap.message),
                TrapKind::StepLimit => Failure::Other("it does not end in time".to_string()),
            });
        }
    }
    if !finite {
        return Err(Failure::Other("its results are infinite, NaN or very large".to_string()));
    }
    let looked = Looked { program, direction: Direction::Gradient, bounds, only_proves: false };
    match Threads::of(&program.module, kernel).check(&looked, arguments) {
        Ok(_) => Ok(()),
        Err(error) => Err(Failure::Other(error.message.clone())),
    }
}

/// `owner`: what is before the name in the name of the whole, `s.` for a field of `s`.
fn argument(owner: &str, name: &str, ty: Type, structs: &StructTable, threads: u32, number: usize) -> Argument {
    let float = |k: usize| Number::Float(0.5 + 0.125 * ((number + k) % 4) as f64);
    let one = |scalar: Scalar, k: usize| match scalar {
        Scalar::Bool => Number::Bool(true),
        s if s.is_float() => float(k),
        _ => Number::Int(threads.into()),
    };
    let kind = match ty {
        Type::Array(array) => ArgumentKind::Array(ArrayArgument {
            shape: Some(vec![threads; array.ndim.into()]),
            data: Some(Stored {
                key: format!("{owner}{name}"),
                source: Source::Fill(Fill::Value(Literal::One(Number::Int(0)))),
            }),
            ..ArrayArgument::default()
        }),
        Type::Struct(id) => ArgumentKind::Struct {
            name: None,
            fields: structs[id]
                .fields
                .iter()
                .enumerate()
                .map(|(k, field)| {
                    argument(&format!("{owner}{name}."), &field.name, field.ty, structs, threads, number + k)
                })
                .collect(),
        },
        Type::Scalar(scalar) => ArgumentKind::Value { dtype: None, literal: Literal::One(one(scalar, 0)) },
        other => {
            let scalar = other.scalar_part().unwrap_or(Scalar::F32);
            let count = other.scalar_count().unwrap_or(1) as usize;
            let literal = Literal::Many((0..count).map(|k| one(scalar, k)).collect());
            ArgumentKind::Value { dtype: None, literal }
        }
    };
    Argument { name: name.to_string(), kind }
}

/// Fills all arrays.
fn contents(arguments: &mut Arguments, structs: &StructTable, way: Way, threads: u32, seed: u64) {
    let mut random = SplitMix(seed);
    let mut unit = || random.unit();
    for array in arguments.arrays.clone() {
        for leaf in leaves(array.ty.element.into(), structs).unwrap_or_default() {
            let scalars = arguments.gather(&array, &leaf).len() / leaf.scalar.size().max(1) as usize;
            let mut bytes = Vec::with_capacity(scalars * leaf.scalar.size() as usize);
            for n in 0..scalars {
                let value = match leaf.scalar {
                    Scalar::Bool => Const::bool(n % 2 == 0),
                    s if s.is_float() => {
                        let sign = if way.signed && unit() < 0.5 { -1.0 } else { 1.0 };
                        Const::float(s, sign * (0.125 + 0.875 * unit()))
                    }
                    s => {
                        let last = i128::from(threads);
                        let n = n as i128;
                        Const::int(s, if way.counting { n.min(last) } else { ((last - 1) * n + 2) % last })
                    }
                };
                bytes.extend_from_slice(&value.bits.to_le_bytes()[..leaf.scalar.size() as usize]);
            }
            arguments.put_leaf(&array, &leaf, &bytes);
        }
    }
}
