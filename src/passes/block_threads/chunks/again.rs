//! May work be done more than once? Some loops in it do other elements of a tile each time; the
//! rest gives the same again, if it sets what it reads and changes nothing else.

use super::super::accesses::{Kind, Memory, Touch, touches};
use super::super::distribute::Share;
use super::super::liveness::taken;
use super::super::plan::leaves;
use crate::analysis::alias::Root;
use crate::analysis::effects::EffectTable;
use crate::ids::{IdMap, IdSet};
use crate::ir::properties::Io;
use crate::ir::{Function, InstId, Op, ValueId};

/// What is done again.
pub(super) struct Work<'a> {
    pub function: &'a Function,
    pub effects: &'a EffectTable,
    pub shares: &'a IdMap<InstId, Share>,
    /// Is in one block, one behind the other.
    pub region: &'a [InstId],
    /// The loops in it that do other elements each time.
    pub loops: &'a [InstId],
}

/// What is in a region and is the same whenever it is computed, and the rest.
pub(super) fn parted(function: &Function, region: &[InstId]) -> (Vec<InstId>, Vec<InstId>) {
    let mut changes: IdSet<ValueId> = IdSet::default();
    region.iter().partition(|&&id| {
        let inst = &function.insts[id];
        let mut fixed = inst.op.properties().is_value();
        inst.op.for_each_operand(|v| fixed &= !changes.contains(&v));
        if !fixed {
            changes.extend(inst.results.iter().copied());
        }
        fixed
    })
}

impl Work<'_> {
    pub fn may_be_repeated(&self, tile: ValueId) -> bool {
        let function = self.function;
        let leaves = |id: &InstId| {
            let inst = &function.insts[*id];
            inst.op.is_terminator() || !self.shares.contains_key(id) && leaves(function, inst, false)
        };
        if self.region.iter().any(leaves) || self.is_used_outside() {
            return false;
        }
        let (mut rest, mut own): (Vec<Touch>, Vec<Touch>) = (Vec::new(), Vec::new());
        if !self.collect(self.region, 0, &mut rest, &mut own) || self.storing(self.region) > 1 {
            return false;
        }
        let taken = taken(function, self.effects, self.shares, self.region);
        let is_set = |touch: &Touch| match touch.memory {
            Memory::Block(written) => touch.kind == Kind::Write && !taken.contains(&written),
            _ => false,
        };
        let all = || rest.iter().chain(&own);
        // Nobody reads what the loops set outside of the block: it would be there already the next
        // time.
        let stays = |touch: &Touch| match &touch.memory {
            Memory::Block(written) => *written == tile,
            Memory::Global(root) => {
                touch.kind == Kind::Write && !all().any(|read| read.kind == Kind::Read && may_be(root, &read.memory))
            }
            Memory::Thread(_) => false,
        };
        !taken.contains(&tile)
            && rest.iter().all(|touch| touch.kind == Kind::Read || is_set(touch))
            && own.iter().all(|touch| touch.kind == Kind::Read || stays(touch))
    }

    /// Whether something behind the region uses what is computed in it and not the same each time.
    fn is_used_outside(&self) -> bool {
        let function = self.function;
        let (_, inside) = parted(function, self.region);
        let results: IdSet<ValueId> =
            inside.iter().flat_map(|&id| function.insts[id].results.iter().copied()).collect();
        let mut uses: IdMap<ValueId, i32> = IdMap::default();
        let mut count = |inst: &crate::ir::Inst, more: i32| {
            inst.op.for_each_operand(|v| _ = results.contains(&v).then(|| *uses.entry(v).or_default() += more));
        };
        function.walk(function.entry, &mut |_, inst| count(inst, 1));
        for &id in self.region {
            count(&function.insts[id], -1);
            function.insts[id]
                .op
                .blocks()
                .iter()
                .for_each(|&block| function.walk(block, &mut |_, inst| count(inst, -1)));
        }
        uses.values().any(|&uses| uses != 0)
    }

    /// Collects what is touched, by the loops and by the rest; says whether the rest may be done
    /// again, and is not much. `depth`: of loops around.
    fn collect(&self, insts: &[InstId], depth: u32, rest: &mut Vec<Touch>, own: &mut Vec<Touch>) -> bool {
        let function = self.function;
        insts.iter().all(|&id| {
            let op = &function.insts[id].op;
            let properties = self.effects.properties(op);
            let blocks = op.blocks();
            let repeats = matches!(op, Op::For { .. } | Op::While { .. });
            let mut plain = properties.io == Io::None && !properties.may_not_return;
            if self.shares.contains_key(&id) {
                let is_own = self.loops.contains(&id);
                for &block in blocks.iter() {
                    function.walk(block, &mut |id, inst| {
                        touches(function, self.effects, id, if is_own { own } else { rest });
                        let properties = self.effects.properties(&inst.op);
                        plain &= properties.io == Io::None && !properties.may_not_return;
                        plain &= is_own || !matches!(inst.op, Op::For { .. } | Op::While { .. });
                    });
                }
                return plain && (is_own || depth < 2);
            }
            touches(function, self.effects, id, rest);
            let depth = depth + u32::from(repeats);
            plain && blocks.iter().all(|&block| self.collect(&function.blocks[block].insts, depth, rest, own))
        })
    }

    /// How many of the loops set elements of arrays of the caller's one after the other. Of two,
    /// the second one would set elements before the first one does.
    fn storing(&self, insts: &[InstId]) -> usize {
        let function = self.function;
        let of = |&id: &InstId| {
            let op = &function.insts[id].op;
            let inside =
                || op.blocks().iter().map(|&block| self.storing(&function.blocks[block].insts)).collect::<Vec<_>>();
            if self.loops.contains(&id) {
                let mut touched = Vec::new();
                op.blocks().iter().for_each(|&block| {
                    function.walk(block, &mut |id, _| touches(function, self.effects, id, &mut touched));
                });
                let stores = |touch: &Touch| touch.kind != Kind::Read && matches!(touch.memory, Memory::Global(_));
                return usize::from(touched.iter().any(stores));
            }
            if let Op::If { .. } = op {
                inside().into_iter().max().unwrap_or_default()
            } else {
                2 * inside().into_iter().sum::<usize>()
            }
        };
        insts.iter().map(of).sum()
    }
}

/// Whether an array of the caller's may be the same as another one, as far as their names say.
fn may_be(root: &Root, memory: &Memory) -> bool {
    match memory {
        Memory::Global(other) => root == other || [root, other].contains(&&Root::Unknown),
        _ => false,
    }
}
