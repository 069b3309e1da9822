//! What is in a block, and in those nested in it?

use super::{BlockId, Function, Inst, InstId, Op, ValueId};
use crate::ids::IdSet;

impl Function {
    /// The terminator of a finished block.
    #[inline]
    pub fn terminator(&self, block: BlockId) -> Option<&Inst> {
        self.blocks[block].insts.last().map(|&i| &self.insts[i]).filter(|inst| inst.op.is_terminator())
    }

    /// What a nested block gives to the instruction that holds it: the operands of its `yield`. A
    /// block that ends otherwise gives nothing.
    pub fn yielded(&self, block: BlockId) -> &[ValueId] {
        if let Some(Inst { op: Op::Yield(values), .. }) = self.terminator(block) { values } else { &[] }
    }

    /// What the function gives its caller at the end of its outermost block.
    pub fn returned(&self) -> &[ValueId] {
        if let Some(Inst { op: Op::Return(values), .. }) = self.terminator(self.entry) { values } else { &[] }
    }

    /// Whether there is an instruction that is `wanted`, in whatever block.
    pub fn has(&self, wanted: impl Fn(&Inst) -> bool) -> bool {
        self.has_below(self.entry, wanted)
    }

    /// The same of a block and those nested in it.
    pub fn has_below(&self, block: BlockId, wanted: impl Fn(&Inst) -> bool) -> bool {
        fn search(function: &Function, block: BlockId, wanted: &impl Fn(&Inst) -> bool) -> bool {
            function.blocks[block].insts.iter().any(|&id| {
                let inst = &function.insts[id];
                wanted(inst) || inst.op.blocks().into_iter().any(|nested| search(function, nested, wanted))
            })
        }
        search(self, block, &wanted)
    }

    /// Whether blocks are nested in more than `depth` others.
    pub fn is_deeper_than(&self, depth: usize) -> bool {
        fn search(function: &Function, block: BlockId, left: usize) -> bool {
            function.blocks[block].insts.iter().any(|&id| {
                let nested = function.insts[id].op.blocks();
                !nested.is_empty() && (left == 0 || nested.into_iter().any(|block| search(function, block, left - 1)))
            })
        }
        search(self, self.entry, depth)
    }

    /// Calls `f` on every instruction reachable from `block`, outer ones before those nested in
    /// them.
    pub fn walk(&self, block: BlockId, f: &mut impl FnMut(InstId, &Inst)) {
        for &id in &self.blocks[block].insts {
            let inst = &self.insts[id];
            f(id, inst);
            for nested in inst.op.blocks() {
                self.walk(nested, f);
            }
        }
    }

    /// Calls `f` on every value that running a block computes: the results of its instructions, and
    /// all that is defined in those nested in it.
    pub fn for_each_computed(&self, block: BlockId, f: &mut impl FnMut(ValueId)) {
        self.walk(block, &mut |_, inst| {
            inst.results.iter().for_each(|&result| f(result));
            for nested in inst.op.blocks() {
                self.blocks[nested].params.iter().for_each(|&param| f(param));
            }
        });
    }

    /// The values that running a block computes; not its parameters, which are there before.
    pub fn computed_in(&self, block: BlockId) -> IdSet<ValueId> {
        let mut found = IdSet::default();
        self.for_each_computed(block, &mut |value| _ = found.insert(value));
        found
    }

    /// The values that exist in a block alone: its parameters and what it computes.
    pub fn defined_in(&self, block: BlockId) -> IdSet<ValueId> {
        let mut found = self.computed_in(block);
        found.extend(self.blocks[block].params.iter().copied());
        found
    }
}
