//! Loops over the threads of a block (work-item loops): how does a block compute what differs
//! between its threads? In loops that go through the threads,
//! between what all of them do together.
//!
//! ```text
//! x = a[tid]                              for l in range(32): xs[l] = a[32 * tid + l]
//! s = tile_sum(tile(x))        =>         s = tile_sum(xs)
//! b[tid] = x - s                          for l in range(32): b[32 * tid + l] = xs[l] - s
//! ```
//!
//! What comes out is code that computes once for each block ([`Function::by_block`]), as tiles
//! always are: differentiation and back ends know nothing of threads with values of their own. To
//! GPUs, such a loop is one that is dealt out, and each thread gets its own iteration.
//!
//! - What differs between threads, or is done by each ([`varying`]), goes into loops; what is the
//!   same for all is computed once.
//! - Neighbouring instructions of threads share a loop ([`split`]), unless one reads of a tile what
//!   another thread sets before.
//! - An update of an element is done by each thread as a whole ([`updates`]).
//! - What a later loop needs of an earlier one is kept in an array with an element for each thread,
//!   except for indices, which are computed again.
//! - The block's part of a thread's coordinate is the same for all ([`coordinate`]).
//!
//! Tile operations stand between two [`Check::Together`]: nothing in them differs, and they stand
//! under no condition that does.

mod coordinate;
mod form;
mod last;
mod run;
mod split;
mod updates;
mod varying;

pub use form::Doubt;
use form::Meant;

use super::block_threads::has_tiles;
use super::{inline, local_arrays, loop_exits, pipelines};
use crate::analysis::effects::{EffectTable, effects};
use crate::ids::{IdMap, IdSet};
use crate::ir::{
    BlockThreads, Check, CompareOp, Const, Derivative, FuncId, Function, FunctionKind, InstId, LastBlock, Module,
    OF_LAST, Op, ValueId,
};
use crate::source::Span;
use crate::types::{I32, Scalar};

/// Why a kernel cannot be done so.
#[derive(Clone, Debug)]
pub struct Refused {
    pub cause: Cause,
    pub message: String,
    pub labels: Vec<(Span, String)>,
    pub help: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// Threads differ in whether, or how often, they come to what all of them do together.
    Way,
    /// Anything else, as what a tile operation is given.
    Other,
}

/// What came of kernels whose threads may have values of their own.
#[derive(Default)]
pub struct Outcome {
    /// What cannot be done; it stays as it is.
    pub refused: Vec<(FuncId, Refused)>,
    /// What is compiled in one of two forms, and nothing says in which.
    pub doubts: Vec<(FuncId, Doubt)>,
}

/// Brings the kernels of a module that ask for it into the form of a block: those with values of
/// single threads, and those whose launches count threads.
///
/// `last`: the block that is not full, for which the module has kernels of their own ([`OF_LAST`]).
pub fn run(module: &mut Module, threads: u32, last: Option<LastBlock>, form: &dyn Fn(&Function) -> Form) -> Outcome {
    let wanted = |f: &Function| {
        f.by_block
            && !f.source_name.ends_with(OF_LAST)
            && (f.block_threads.is_some() || form(f) != Form::Counted(false))
    };
    let kernels: Vec<FuncId> = module.kernels().filter(|(_, f)| wanted(f)).map(|(id, _)| id).collect();
    let mut outcome = Outcome::default();
    if threads > 1 && !kernels.is_empty() {
        let effects = effects(module);
        for id in kernels {
            let form = form(&module.functions[id]);
            let counted = form != Form::Counted(false);
            let block_threads = BlockThreads { threads, counted, last: last.filter(|_| counted) };
            let made = kernel(module, id, &effects, block_threads).or_else(|why| {
                if form != Form::Either {
                    return Err(why);
                }
                let meant = form::meant(module, id, &effects, threads, &why);
                if let Meant::Threads = meant {
                    return Err(why);
                }
                if let Meant::Unknown = meant {
                    outcome.doubts.push((id, Doubt(why.clone())));
                }
                kernel(module, id, &effects, BlockThreads { threads, counted: false, last: None }).map_err(|_| why)
            });
            match made {
                // One that takes nothing from single threads is the same for blocks of any number
                // of them.
                _ if form == Form::Either && module.functions[id].block_threads.is_none() => {}
                Ok(function) => module.functions[id] = function,
                Err(why) => {
                    outcome.doubts.retain(|(doubted, _)| *doubted != id);
                    outcome.refused.push((id, why));
                }
            }
        }
    }
    for id in module.functions.ids() {
        if !module.functions.is_linked(id) && module.functions[id].has(is_of_threads) {
            forget(&mut module.functions[id]);
            let Module { functions, structs, .. } = &mut *module;
            pipelines::clean(&mut functions[id], structs, &EffectTable::default());
        }
    }
    outcome
}

/// What launches of kernels with tiles say about threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// Whether the last coordinate counts them.
    Counted(bool),
    /// As the code wants it.
    Either,
}

fn is_of_threads(inst: &crate::ir::Inst) -> bool {
    matches!(inst.op, Op::ThreadInBlock | Op::Check(Check::Together { .. }, _))
}

/// Drops the words about threads from a function in which they make no difference: what each thread
/// does, this one does.
fn forget(function: &mut Function) {
    let tests: Vec<(InstId, bool)> =
        function.insts.iter().filter_map(|(id, inst)| Some((id, test_of_thread(function, &inst.op)?))).collect();
    for (id, holds) in tests {
        function.insts[id].op = Op::Const(Const::new(Scalar::Bool, holds.into()));
    }
    without_edges(function);
}

fn without_edges(function: &mut Function) {
    let Function { blocks, insts, .. } = function;
    let is_edge = |id: &InstId| matches!(insts[*id].op, Op::Check(Check::Together { .. }, _));
    blocks.values_mut().for_each(|block| block.insts.retain(|id| !is_edge(id)));
}

/// The comparisons by which the checker says that each thread does something for itself:
/// `thread_in_block < 0` and `thread_in_block >= 0`.
fn test_of_thread(function: &Function, op: &Op) -> Option<bool> {
    let &Op::Compare(op @ (CompareOp::Lt | CompareOp::Ge), a, b) = op else { return None };
    let thread = matches!(function.def(a)?.op, Op::ThreadInBlock);
    let zero = function.as_const(b).and_then(|c| c.as_int()) == Some(0);
    (thread && zero).then_some(op == CompareOp::Ge)
}

fn kernel(
    module: &Module,
    id: FuncId,
    effects: &EffectTable,
    block_threads: BlockThreads,
) -> Result<Function, Refused> {
    let whole = Block { size: block_threads.threads, threads: block_threads.threads, counted: block_threads.counted };
    let mut function = of_block(module, id, effects, whole)?;
    let name = format!("{}{OF_LAST}", function.source_name);
    let own = module.functions.iter().find(|(_, f)| f.source_name == name).map(|(id, _)| id);
    let last = block_threads.last.zip(own);
    if let Some((last, own)) = last {
        let of_last = last::kernel(module, own, effects, Block { threads: last.threads, ..whole }, last)?;
        function = last::join(function, of_last, last);
        pipelines::clean(&mut function, &module.structs, effects);
    }
    function.block_threads = Some(BlockThreads { last: last.map(|(last, _)| last), ..block_threads });
    Ok(function)
}

/// A block of threads.
#[derive(Clone, Copy)]
struct Block {
    /// The threads of a whole one, which is what `wp.block_dim()` says.
    size: u32,
    threads: u32,
    counted: bool,
}

/// What a block of such threads does.
fn of_block(module: &Module, id: FuncId, effects: &EffectTable, block: Block) -> Result<Function, Refused> {
    let mut function = prepared(module, id, effects)?;
    let own = of_threads(module);
    let seeds = Seeds::gather(&mut function, block);
    let varying = varying::Varying::of(&function, effects, &seeds, &own);
    split::split(&mut function, effects, &seeds, varying, &own, block)?;
    without_edges(&mut function);
    pipelines::clean(&mut function, &module.structs, effects);
    Ok(function)
}

/// A kernel with the functions that have tiles written into it, before its threads are reported
/// apart.
fn prepared(module: &Module, id: FuncId, effects: &EffectTable) -> Result<Function, Refused> {
    let mut function = module.functions[id].clone();
    let mut refused = None;
    function.walk(function.entry, &mut |_, inst| {
        if let Op::Call(callee, _) = inst.op
            && has_tiles(&module.functions[callee])
            && matches!(module.functions[callee].derivative, Derivative::Rule { .. } | Derivative::Replay(_))
        {
            refused = Some(inst.span);
        }
    });
    if let Some(span) = refused {
        return Err(Refused {
            cause: Cause::Other,
            message: "a function with tiles and a gradient of its own is called where threads have values of their own"
                .into(),
            labels: vec![(span, "called here".to_string())],
            help: "write its code into the kernel, or leave its gradient to kc",
        });
    }
    inline::run(&mut function, module, &|callee| has_tiles(&module.functions[callee])).map_err(|error| Refused {
        cause: Cause::Other,
        message: format!(
            "with its functions, a kernel whose threads have values of their own has more than {} instructions",
            inline::MAX_INSTS
        ),
        labels: vec![(error.span, "this call is too much".to_string())],
        help: "write a shorter kernel",
    })?;
    loop_exits::run(&mut function);
    pipelines::clean(&mut function, &module.structs, effects);
    local_arrays::of_threads(&mut function, &module.structs, pipelines::MAX_LOCAL_SCALARS);
    pipelines::clean(&mut function, &module.structs, effects);
    Ok(function)
}

/// The functions in which threads do something for themselves, and that make no tiles of it.
fn of_threads(module: &Module) -> IdSet<FuncId> {
    let mut found: IdSet<FuncId> = IdSet::default();
    loop {
        let before = found.len();
        for (id, function) in module.functions.iter() {
            let calls = |inst: &crate::ir::Inst| matches!(inst.op, Op::Call(callee, _) if found.contains(&callee));
            if !function.is_kernel()
                && (function.has(|inst| matches!(inst.op, Op::ThreadInBlock)) || function.has(calls))
            {
                found.insert(id);
            }
        }
        if found.len() == before {
            return found;
        }
    }
}

/// Where it comes from that threads differ. Each of these is there once, first in the function.
#[derive(Default)]
struct Seeds {
    /// The number of the thread in its block, and its coordinate in the launch, where that counts
    /// threads.
    thread: Option<ValueId>,
    coordinate: Option<ValueId>,
    /// What holds in no thread, or in each.
    tests: IdMap<ValueId, bool>,
    /// Where the program asks for them.
    span: Option<Span>,
}

impl Seeds {
    /// Moves them to the beginning; what is no seed, but known now, becomes a constant.
    fn gather(function: &mut Function, block: Block) -> Seeds {
        let FunctionKind::Kernel { rank } = function.kind else { return Seeds::default() };
        let mut first: IdMap<u8, (InstId, ValueId)> = IdMap::default();
        let mut same: IdMap<ValueId, ValueId> = IdMap::default();
        let mut seeds = Seeds::default();
        let mut moved = Vec::new();
        let mut gone: IdSet<InstId> = IdSet::default();
        let mut found = Vec::new();
        function.walk(function.entry, &mut |id, inst| found.push((id, inst.results.first().copied())));
        for (id, result) in found {
            let Some(result) = result else { continue };
            let (op, span) = (&function.insts[id].op, function.insts[id].span);
            let test = test_of_thread(function, op);
            let kind = match (op, test) {
                (Op::ThreadInBlock, _) => 0,
                (Op::ThreadIndex(n), _) if block.counted && *n + 1 == rank => 1,
                (_, Some(false)) if block.counted => 2,
                (_, Some(true)) => 3,
                (Op::BlockDim, _) => {
                    function.insts[id].op = Op::Const(Const::new(Scalar::I32, block.size.into()));
                    continue;
                }
                // In a launch of blocks, all that each thread would do for itself is done once.
                (_, Some(false)) => {
                    function.insts[id].op = Op::Const(Const::new(Scalar::Bool, 0));
                    continue;
                }
                // It means the same in loops over threads.
                _ => continue,
            };
            gone.insert(id);
            match first.get(&kind) {
                Some(&(_, known)) => _ = same.insert(result, known),
                None => {
                    first.insert(kind, (id, result));
                    moved.push((kind, id));
                    match kind {
                        0 => seeds.thread = Some(result),
                        1 => seeds.coordinate = Some(result),
                        _ => _ = seeds.tests.insert(result, kind == 3),
                    }
                    if kind < 2 {
                        seeds.span = seeds.span.or(Some(span));
                    }
                }
            }
        }
        for inst in function.insts.values_mut() {
            inst.op.for_each_operand_mut(|v| *v = same.get(v).copied().unwrap_or(*v));
        }
        for block in function.blocks.values_mut() {
            block.insts.retain(|id| !gone.contains(id));
        }
        moved.sort();
        // The constant that a test compares with.
        let mut firsts = Vec::new();
        for (_, id) in moved {
            if let Op::Compare(_, _, zero) = function.insts[id].op {
                let inst = crate::ir::Inst {
                    op: Op::Const(Const::new(Scalar::I32, 0)),
                    results: Default::default(),
                    span: function.insts[id].span,
                };
                let at = function.insts.push(inst);
                let value = function.values.push(crate::ir::Value {
                    ty: I32,
                    def: crate::ir::ValueDef::Result(at, 0),
                    name: None,
                    span: function.values[zero].span,
                });
                function.insts[at].results.push(value);
                if let Op::Compare(_, _, zero) = &mut function.insts[id].op {
                    *zero = value;
                }
                firsts.push(at);
            }
            firsts.push(id);
        }
        let entry = function.entry;
        function.blocks[entry].insts.splice(0..0, firsts);
        coordinate::divide(function, &mut seeds, block.size);
        seeds
    }

    fn has(&self, value: ValueId) -> bool {
        self.thread == Some(value) || self.coordinate == Some(value) || self.tests.contains_key(&value)
    }
}
