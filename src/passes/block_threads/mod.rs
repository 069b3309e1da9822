//! How do the threads of a block share what a kernel with tiles computes once for each block?
//!
//! Such a kernel ([`Function::by_block`]) says what one block does, as code of one thread. On the
//! host that is how it runs. Here it becomes code of each thread of a block:
//!
//! - Values are computed by every thread: they are the same for all, and so is the way through the
//!   code.
//! - Loops over elements are dealt out ([`plan`]), and tiles are in memory of the block
//!   ([`Op::SharedArray`]).
//! - Other effects, and loops that only have effects, are those of thread 0; what an atomic gives,
//!   it tells the others.
//! - Barriers stand between accesses of different threads ([`barriers`]).
//!
//! No sum changes its order: results are those of the host, bit for bit, however many threads a
//! block has. Only atomics on floats may come in another order, as those of different blocks do,
//! and products of matrices by the hardware's instructions ([`TensorCores`]) sum as these do.
//!
//! | file | question |
//! |---|---|
//! | `steps` | in which order does all of this run, and why? |
//! | `accesses` | what does code touch, and do iterations of a loop touch the same? |
//! | `plan` | which loops are dealt out, and what does one thread do alone? |
//! | `products` | which loops are products of matrices? |
//! | `tensor` | which of these do instructions for matrices compute? |
//! | `zero_fill` | are the zeros of a new tile needed? |
//! | `distribute` | carries the plans out |
//! | `rows` | how long are the rows of tiles? |
//! | `banks` | in which banks of memory do threads meet? |
//! | `fragments` | and where instructions for matrices read and write? |
//! | `prefetch` | which parts of arrays are asked for before they are needed? |
//! | `accumulators` | which products stay in registers through a loop? |
//! | `warps` | what do the threads of a warp tell each other without memory? |
//! | `footprint` | do two iterations touch the same element, by the indices of every iteration? |
//! | `atomic_updates` | which updates may threads make at the same time, as atomic operations? |
//! | `thread_tiles` | which tile elements can be private variables of a thread? |
//! | `registers` | which elements stay in registers while a thread goes through a loop? |
//! | `copy_coalescing` | which tiles hold what another one holds? |
//! | `loop_fusion` | which loops over elements does a thread go through as one? |
//! | `chunks` | which tiles are in registers although a block may have any number of threads? |
//! | `in_place` | which factorisation can run in place? |
//! | `index_folding` | what is certain of an index that comes of the number of its element? |
//! | `liveness` | which tiles are live at the same time? |
//! | `shared_memory` | which tiles are in the same memory? |
//! | `barriers` | where must threads wait for each other? |

pub(super) mod accesses;
mod accumulators;
mod atomic_updates;
mod banks;
mod barriers;
mod chunks;
mod copy_coalescing;
mod distribute;
pub(super) mod footprint;
mod fragments;
mod in_place;
mod index_folding;
mod liveness;
mod loop_fusion;
pub(super) mod plan;
mod prefetch;
pub(super) mod products;
mod registers;
pub(super) mod rows;
mod shared_memory;
mod steps;
mod tensor;
mod thread_tiles;
mod warps;
pub(super) mod zero_fill;

use std::borrow::Cow;

use self::plan::{Meeting, Plan};
use super::reverse_sums::{Terms, in_chains};
use super::{inline, pipelines};
use crate::analysis::effects::{EffectTable, Effects, effects};
use crate::ids::IdSet;
use crate::ir::properties::Io;
use crate::ir::verify::Form;
use crate::ir::{FuncId, Function, Inst, Module, Op, Part, Phase, Product, UnaryOp, Unit};
use crate::source::Span;
use crate::types::{Scalar, Type};

pub use chunks::{goes_around_registers, registers_by};
pub use plan::own_threads;
pub use shared_memory::MOST_BYTES;
pub use tensor::{Tensor, TensorCores};

/// Why a kernel with tiles has no form for the threads of a block.
#[derive(Clone, Debug)]
pub struct Refused {
    pub kernel: FuncId,
    pub why: String,
    pub span: Span,
}

/// The module with those kernels that work on tiles as code of each thread of a block.
pub fn shared<'m>(module: &'m Module, kernels: &[FuncId], tensor: Tensor) -> Result<Cow<'m, Module>, Refused> {
    let wanted: Vec<FuncId> = kernels.iter().copied().filter(|&id| module.functions[id].by_block).collect();
    if wanted.is_empty() {
        return Ok(Cow::Borrowed(module));
    }
    let effects = effects(module);
    let mut changed = module.clone();
    let summed = in_chains(module, &wanted, Terms::Before(MOST_BYTES));
    for id in wanted {
        changed.functions[id] = kernel(&summed, id, &effects, tensor)?;
    }
    Ok(Cow::Owned(changed))
}

/// A product of tiles in a kernel, and what computes it.
#[derive(Clone, Debug)]
pub struct Multiplied {
    pub span: Span,
    /// Rows and columns of the result, and the length of the sums.
    pub size: [u32; 3],
    pub factors: [Scalar; 2],
    /// The program allows less than `float32`, with `precision="tf32"`.
    pub tf32: bool,
    /// The instruction, or why there is none.
    pub by: Result<Unit, String>,
}

impl Multiplied {
    /// What a person reads:
    /// `32 x 32 x 16, float16 by float16: tensor cores of sm_90, as f16, in patches of 16 x 16`.
    pub fn words(&self, tensor: Tensor) -> String {
        let ([rows, columns, inner], [a, b]) = (self.size, self.factors);
        let how = match &self.by {
            Ok(unit) => {
                let product = Product { part: Part::Add, unit: *unit, size: self.size, turned: [false; 2] };
                let ([row, column, _], [down, across]) = (unit.fragment(), product.patch());
                let asked = if self.tf32 { ", by its `precision`" } else { "" };
                let patch = format!("in patches of {} x {}", row * down, column * across);
                format!("tensor cores of sm_{}, as {}{asked}, {patch}", tensor.arch, unit.name())
            }
            Err(why) => format!("chains of fma, because {why}"),
        };
        format!("{rows} x {columns} x {inner}, {} by {}: {how}", a.name(), b.name())
    }
}

/// The products of a kernel, as far as it has a form for the threads of a block.
pub fn products(module: &Module, kernel: FuncId, tensor: Tensor) -> Vec<Multiplied> {
    whole(module, kernel, &effects(module)).map_or_else(|_| Vec::new(), |function| multiplied(&function, tensor))
}

/// The products of kernels that are computed in `float32` though the program allows less, and why,
/// except for those whose sizes have no instruction: of these the checker knows.
pub fn precision_kept(module: &Module, kernels: &[FuncId], tensor: Tensor) -> Vec<(Span, String)> {
    let any = || module.functions.values().any(|function| function.has(asks_for_tf32));
    if tensor.cores == TensorCores::Off || !any() {
        return Vec::new();
    }
    let effects = effects(module);
    // Of a gradient that is as it is: its products have other sizes, and what it logs is among
    // them.
    let forward = kernels.iter().filter(|&&kernel| module.functions[kernel].phase == Phase::Forward);
    let whole = forward.filter_map(|&kernel| whole(module, kernel, &effects).ok());
    whole.flat_map(|function| precision_kept_in(&function, tensor)).collect()
}

/// What threads of a block do to one element of memory in no order of their own: a write, and
/// another access.
#[derive(Clone, Debug)]
pub struct Unordered {
    pub threads: u32,
    /// The name of the memory.
    pub array: Option<String>,
    pub accesses: [Span; 2],
    /// Thread 0 does it for all threads, one after the other. Else the element is the caller's, and
    /// they race.
    pub serial: bool,
}

/// The places in a kernel where threads of a block have values of their own, and no order.
pub fn unordered(module: &Module, kernel: FuncId, effects: &EffectTable) -> Vec<Unordered> {
    let Some(threads) = own_threads(&module.functions[kernel]) else { return Vec::new() };
    let Ok(mut function) = whole(module, kernel, effects) else { return Vec::new() };
    let plans = warps::ask(&mut function, &module.structs, effects, Tensor::NONE, threads);
    let mut found = Vec::new();
    for id in warps::loops_over_threads(&function, threads) {
        let alone = matches!(plans.get(&id), Some(Plan::OneThread));
        let (serial, pair) = match plan::meeting(&function, effects, id, alone) {
            Some(Meeting::MayBe(pair)) => (true, pair),
            Some(Meeting::Is(pair)) => (false, pair),
            None => continue,
        };
        let array = function.insts[pair[0]].op.access().map(|access| access.array);
        let array = array.and_then(|array| function.values[array].name.clone());
        found.push(Unordered { threads, array, accesses: pair.map(|at| function.insts[at].span), serial });
    }
    found
}

fn asks_for_tf32(inst: &Inst) -> bool {
    matches!(inst.op, Op::Unary(UnaryOp::Tf32, _))
}

fn precision_kept_in(function: &Function, tensor: Tensor) -> Vec<(Span, String)> {
    let made = multiplied(function, tensor);
    let mut marked: Vec<Span> = Vec::new();
    function.walk(function.entry, &mut |_, inst| {
        if asks_for_tf32(inst) && !marked.contains(&inst.span) {
            marked.push(inst.span);
        }
    });
    let why = |span: Span| {
        let mut all = made.iter().filter(|product| product.span == span).peekable();
        let unknown = all.peek().is_none().then(|| "it is no product of whole tiles".to_string());
        let fits = |product: &&Multiplied| Unit::Tf32.fits(product.size);
        unknown.or_else(|| all.filter(fits).find_map(|product| product.by.clone().err()))
    };
    marked.into_iter().filter_map(|span| Some((span, why(span)?))).collect()
}

fn multiplied(function: &Function, tensor: Tensor) -> Vec<Multiplied> {
    let mut made = Vec::new();
    function.walk(function.entry, &mut |id, inst| {
        if let Some(found) = products::find(function, id) {
            let by = found.unit(tensor);
            made.push(Multiplied { span: inst.span, size: found.size, factors: found.factors, tf32: found.tf32, by });
        }
    });
    made
}

fn kernel(module: &Module, id: FuncId, effects: &EffectTable, tensor: Tensor) -> Result<Function, Refused> {
    Ok(steps::Kernel::new(whole(module, id, effects)?, &module.structs, effects, tensor).run())
}

/// The kernel with the functions that matter in it, its products parted: what is shared out.
fn whole(module: &Module, id: FuncId, effects: &EffectTable) -> Result<Function, Refused> {
    let mut function = module.functions[id].clone();
    let matters = |callee: FuncId| has_tiles(&module.functions[callee]) || has_effects(&effects[callee]);
    inline::run(&mut function, module, &matters).map_err(|error| {
        let why = format!("with its functions it has more than {} instructions", inline::MAX_INSTS);
        Refused { kernel: id, why, span: error.span }
    })?;
    let mut left = None;
    function.walk(function.entry, &mut |_, inst| {
        if let Op::Call(callee, _) = inst.op
            && matters(callee)
        {
            left = Some((callee, inst.span));
        }
    });
    if let Some((callee, span)) = left {
        let why = format!("`{}`, whose body is CUDA text, may change memory", module.functions[callee].source_name);
        return Err(Refused { kernel: id, why, span });
    }
    let threads = own_threads(&function);
    let shared = |function: &Function| {
        threads.map_or_else(IdSet::default, |threads| atomic_updates::of_threads(function, effects, threads))
    };
    pipelines::small_tiles(&mut function, &module.structs, effects, &shared);
    // Which threads touch the same element would not be known.
    let mut chosen = None;
    function.walk(function.entry, &mut |_, inst| {
        let blocks = inst.op.blocks();
        let params = blocks.iter().flat_map(|&block| &function.blocks[block].params);
        let chooses = matches!(inst.op, Op::Select { .. }) || !blocks.is_empty();
        if chooses && inst.results.iter().chain(params).any(|&value| function.ty(value).is_tile()) {
            chosen = Some(inst.span);
        }
    });
    if let Some(span) = chosen {
        return Err(Refused { kernel: id, why: "a branch or loop chooses between tiles".to_string(), span });
    }
    pipelines::verified("whole", &function, &module.structs, Form::Made);
    if products::part(&mut function) {
        pipelines::clean(&mut function, &module.structs, effects);
    }
    Ok(function)
}

/// Whether a function makes tiles, or takes them.
pub(super) fn has_tiles(function: &Function) -> bool {
    function.by_block || function.params().iter().any(|&p| matches!(function.ty(p), Type::Local(_)))
}

fn has_effects(effects: &Effects) -> bool {
    effects.stores_any
        || effects.writes_memory()
        || effects.io != Io::None
        || effects.synchronises
        || effects.convergent
}

#[cfg(test)]
mod tests;
