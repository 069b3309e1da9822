//! In which order does a kernel with tiles become code of each thread of a block? [`STEPS`] is that
//! order, with the reason of each step for its place. Debug builds verify the kernel after each.

use super::plan::{self, Plan, own_threads};
use super::products::forget_tf32;
use super::shared_memory::{MORE_BYTES, MOST_BYTES};
use super::tensor::Tensor;
use super::{
    accumulators, atomic_updates, barriers, chunks, copy_coalescing, distribute, in_place, index_folding, loop_fusion,
    prefetch, registers, rows, shared_memory, thread_tiles, warps,
};
use crate::analysis::effects::EffectTable;
use crate::ids::{IdMap, IdSet};
use crate::ir::verify::Form;
use crate::ir::{Function, InstId, Op};
use crate::passes::{dead_stores, pipelines};
use crate::types::StructTable;

/// A kernel on its way, with what the steps know of it.
pub(super) struct Kernel<'m> {
    pub function: Function,
    structs: &'m StructTable,
    /// Of the functions that it calls: no step changes these.
    effects: &'m EffectTable,
    tensor: Tensor,
    /// How many threads a block has, where they have values of their own.
    own_threads: Option<u32>,
    plans: IdMap<InstId, Plan>,
    /// Who does what, once the plans are carried out.
    shares: IdMap<InstId, distribute::Share>,
    /// Some products are left to instructions for matrices.
    has_products: bool,
}

impl<'m> Kernel<'m> {
    pub fn new(function: Function, structs: &'m StructTable, effects: &'m EffectTable, tensor: Tensor) -> Kernel<'m> {
        let own_threads = own_threads(&function);
        let (plans, shares) = (IdMap::default(), IdMap::default());
        Kernel { function, structs, effects, tensor, own_threads, plans, shares, has_products: false }
    }

    /// Goes through all steps.
    pub fn run(mut self) -> Function {
        for step in STEPS {
            (step.run)(&mut self);
            pipelines::verified(step, &self.function, self.structs, Form::ByThread);
        }
        self.function
    }
}

/// One step.
pub(super) struct Step {
    pub name: &'static str,
    /// Why it runs here, and not earlier or later.
    pub why: &'static str,
    run: fn(&mut Kernel),
}

impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "block_threads, {} ({})", self.name, self.why)
    }
}

/// The order of the steps.
pub(super) const STEPS: &[Step] = &[
    Step {
        name: "plan",
        why: "first: all steps carry out the plans, which read the loops as they are written",
        run: |k| {
            k.plans = match k.own_threads {
                Some(threads) => warps::ask(&mut k.function, k.structs, k.effects, k.tensor, threads),
                None => plan::plan(&k.function, k.effects, k.tensor),
            };
        },
    },
    Step {
        name: "updates",
        why: "before loops are dealt: the plans name stores that become atomic",
        run: |k| atomic_updates::make(&mut k.function, &k.plans),
    },
    Step {
        name: "distribute",
        why: "before all that asks who does what: it says so",
        run: |k| k.shares = distribute::deal(&mut k.function, k.effects, &k.plans).shares,
    },
    Step {
        name: "forget_tf32",
        why: "after products became instructions: only those look at the precision that is asked for",
        run: |k| {
            forget_tf32(&mut k.function);
            k.has_products = k.function.has(|inst| matches!(inst.op, Op::Product(..)));
        },
    },
    Step {
        name: "accumulators",
        why: "before prefetching: a product in registers leaves memory for the parts that are copied ahead",
        run: |k| {
            if k.has_products {
                accumulators::keep(&mut k.function, k.effects, &k.shares);
            }
        },
    },
    Step {
        name: "prefetch",
        why: "before rows are lengthened: it makes the tiles that are copied to",
        run: |k| {
            if k.has_products {
                let what = prefetch::Copied::Products;
                prefetch::copy(&mut k.function, k.structs, k.effects, &mut k.shares, what, MOST_BYTES);
            }
        },
    },
    Step {
        name: "lengthen",
        why: "when all factors of products are there: their rows must not meet in the banks of memory",
        run: |k| {
            if k.has_products {
                rows::lengthen(&mut k.function, k.structs, MOST_BYTES);
            }
        },
    },
    Step {
        name: "thread_tiles",
        why: "before copies are found: an element of one thread alone is no memory of the block",
        run: |k| {
            if let Some(threads) = k.own_threads {
                thread_tiles::keep(&mut k.function, k.effects, &k.shares, threads);
            }
        },
    },
    Step {
        name: "copy_coalescing",
        why: "before registers: it forwards loads, which then read no memory",
        run: |k| copy_coalescing::find(&mut k.function, k.effects, &k.shares),
    },
    Step {
        name: "registers",
        why: "before loops are joined: an element in a register keeps no loops apart",
        run: |k| registers::keep(&mut k.function, k.effects, &k.shares),
    },
    Step {
        name: "loop_fusion",
        why: "before chunks: a tile is in registers where all its loops are one",
        run: |k| loop_fusion::join(&mut k.function, k.effects, &mut k.shares),
    },
    Step {
        name: "chunks",
        why: "before memory is assigned: a tile in registers takes none",
        run: |k| {
            if k.own_threads.is_none() {
                chunks::keep(&mut k.function, k.effects, &mut k.shares);
            }
        },
    },
    Step {
        name: "prefetch_chains",
        why: "after chunks: sums in registers go through their loop again with all that is copied ahead",
        run: |k| {
            if !k.has_products && k.tensor.copies {
                let what = prefetch::Copied::Chains;
                prefetch::copy(&mut k.function, k.structs, k.effects, &mut k.shares, what, MOST_BYTES);
            }
        },
    },
    Step {
        name: "in_place",
        why: "before memory is assigned: a factor in the place of its matrix takes none",
        run: |k| in_place::take(&mut k.function, k.effects, &k.shares),
    },
    Step {
        name: "shared_memory",
        why: "when all tiles that stay in memory are known",
        run: |k| shared_memory::share(&mut k.function, k.structs, k.effects, &k.shares, MOST_BYTES),
    },
    Step {
        name: "share_chunks",
        why: "after memory is assigned: loops over registers no longer name tiles",
        run: |k| {
            if k.own_threads.is_none() {
                chunks::share(&mut k.function, &mut k.shares);
            }
        },
    },
    Step {
        name: "spread",
        why: "with the memory that is left: longer rows keep threads out of each other's banks",
        run: |k| {
            let more = rows::total(&k.function, k.structs) > MOST_BYTES && k.tensor.arch >= 80;
            rows::spread(&mut k.function, k.structs, &k.shares, if more { MORE_BYTES } else { MOST_BYTES });
        },
    },
    Step {
        name: "barriers",
        why: "when no access moves any more and memory is shared: both decide where threads wait",
        run: |k| barriers::place(&mut k.function, k.effects, &k.shares),
    },
    Step {
        name: "straighten",
        why: "after barriers, which go by the loops over threads: it takes them away",
        run: |k| {
            if let Some(threads) = k.own_threads {
                thread_tiles::straighten(&mut k.function, &k.shares, threads);
                pipelines::small_tiles(&mut k.function, k.structs, k.effects, &|_| IdSet::default());
            }
        },
    },
    Step {
        name: "index_folding",
        why: "when indices come of thread numbers: their ranges are known now",
        run: |k| {
            index_folding::fold(&mut k.function);
            pipelines::clean(&mut k.function, k.structs, k.effects);
        },
    },
    Step {
        name: "dead_stores",
        why: "last: zeros that a thread's next store overwrites, where loops were joined",
        run: |k| {
            if dead_stores::run_tiles(&mut k.function, k.effects) {
                pipelines::clean(&mut k.function, k.structs, k.effects);
            }
        },
    },
];
