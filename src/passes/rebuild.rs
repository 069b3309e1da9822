//! How does a pass take a function apart and put it together again? It takes the instructions out
//! of a block, rewrites their operands to what earlier values have become, and appends what it
//! wants to keep; blocks, instructions and values that stay keep their ids, and with them names,
//! spans and notes.

use crate::ids::IdMap;
use crate::ir::build::Builder;
use crate::ir::{BlockId, Function, InstId, Op, ValueId};

/// A function under reconstruction.
pub(super) struct Rebuild {
    pub b: Builder,
    /// What a value of old has become. Definitions come before uses, so entries are final.
    same: IdMap<ValueId, ValueId>,
}

impl Rebuild {
    /// Takes the function's content; [`Rebuild::finish`] brings it back. The entry block is
    /// current.
    pub fn start(function: &mut Function) -> Rebuild {
        let entry = function.entry;
        Rebuild { b: Builder::take(function, entry), same: IdMap::default() }
    }

    pub fn finish(self, function: &mut Function) {
        *function = self.b.finish();
    }

    /// The instructions of a block, which is empty then.
    pub fn take(&mut self, block: BlockId) -> Vec<InstId> {
        std::mem::take(&mut self.b.function.blocks[block].insts)
    }

    /// Brings an instruction's operands up to date, makes its span that of new ones, and returns a
    /// copy of its operation.
    pub fn visit(&mut self, id: InstId) -> Op {
        self.update(id).clone()
    }

    /// The same without the copy.
    pub fn update(&mut self, id: InstId) -> &Op {
        let same = &self.same;
        let inst = &mut self.b.function.insts[id];
        inst.op.for_each_operand_mut(|v| *v = same.get(v).copied().unwrap_or(*v));
        self.b.span = inst.span;
        &inst.op
    }

    /// What a value of old has become.
    pub fn current(&self, old: ValueId) -> ValueId {
        self.same.get(&old).copied().unwrap_or(old)
    }

    /// Uses `new` (already up to date) for `old` from here on. Its name goes over if there is none
    /// yet.
    pub fn replace(&mut self, old: ValueId, new: ValueId) {
        self.same.insert(old, new);
        let function = &mut self.b.function;
        if function.values[new].name.is_none() && function.as_const(new).is_none() {
            function.values[new].name = function.values[old].name.clone();
        }
    }
}

/// Puts other code in the place of some instructions: what `emit` appends for each. Nothing uses
/// their results.
pub(super) fn replace_each<T>(
    function: &mut Function,
    mut found: IdMap<InstId, T>,
    mut emit: impl FnMut(&mut Builder, InstId, T),
) {
    if found.is_empty() {
        return;
    }
    let entry = function.entry;
    Builder::edit(function, entry, |b| {
        for block in b.function.blocks.ids().collect::<Vec<_>>() {
            if !b.function.blocks[block].insts.iter().any(|id| found.contains_key(id)) {
                continue;
            }
            let insts = std::mem::take(&mut b.function.blocks[block].insts);
            b.switch_to(block);
            for id in insts {
                match found.remove(&id) {
                    Some(what) => emit(b, id, what),
                    None => b.append(id),
                }
            }
        }
    });
}
