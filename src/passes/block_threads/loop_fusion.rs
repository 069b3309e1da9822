//! Which loops over elements does a thread go through as one? Where one sets elements of a tile
//! that a later one reads, each thread its own, the thread does both for one element before it goes
//! on to the next: what it has just set is in a register, and a tile that nothing else reads is not
//! needed.

use super::accesses::{Kind, Memory, Sum, Touch, all_touches, memory, touches, touches_with_blocks};
use super::distribute::{Dealt, Share};
use crate::analysis::effects::EffectTable;
use crate::ids::{IdMap, IdSet};
use crate::ir::properties::Io;
use crate::ir::{Access, BlockId, Function, InstId, Op, ValueId};
use crate::types::Type;

/// Joins loops, takes elements that were just set from registers, and drops the tiles that nothing
/// reads then.
pub(super) fn join(function: &mut Function, effects: &EffectTable, shares: &mut IdMap<InstId, Share>) {
    let mut joined: IdSet<InstId> = IdSet::default();
    for block in function.blocks.ids().collect::<Vec<_>>() {
        while let Some((first, next)) = pair(function, effects, shares, block) {
            unite(function, shares, block, first, next);
            joined.insert(next);
        }
    }
    if joined.is_empty() {
        return;
    }
    for id in joined {
        if let (Op::For { body, .. }, Some(Share::Dealt(dealt))) = (&function.insts[id].op, shares.get(&id)) {
            forward(function, effects, *body, dealt);
        }
    }
    drop_unread(function);
}

/// The first two loops in a block that are one.
fn pair(
    function: &Function,
    effects: &EffectTable,
    shares: &IdMap<InstId, Share>,
    block: BlockId,
) -> Option<(InstId, InstId)> {
    let insts = &function.blocks[block].insts;
    let over_elements = |id: &InstId| shares.get(id).and_then(|share| elements(function, effects, *id, share));
    for (n, &first) in insts.iter().enumerate() {
        let Some(own) = over_elements(&first) else { continue };
        for &next in &insts[n + 1..] {
            if let Some(other) = over_elements(&next)
                && own.joins(function, &other)
            {
                return Some((first, next));
            }
            // The first one goes down to the other.
            if !own.passes(function, effects, shares, next) {
                break;
            }
        }
    }
    None
}

/// A loop that deals out a known number of iterations.
struct Elements<'a> {
    dealt: &'a Dealt,
    /// What it starts from, and counts by.
    bounds: [ValueId; 2],
    total: i128,
    touches: Vec<Touch>,
}

fn elements<'a>(function: &Function, effects: &EffectTable, id: InstId, share: &'a Share) -> Option<Elements<'a>> {
    let (Share::Dealt(dealt), &Op::For { start, end, step, body, .. }) = (share, &function.insts[id].op) else {
        return None;
    };
    let total = function.as_const(end).and_then(|c| c.as_int())?;
    let counted = dealt.start.is_none() && dealt.indices.iter().all(|(_, count)| count.is_some());
    let mut speaks = false;
    function.walk(body, &mut |_, inst| speaks |= effects.properties(&inst.op).io != Io::None);
    (counted && !speaks).then(|| Elements {
        dealt,
        bounds: [start, step],
        total,
        touches: all_touches(function, effects, body),
    })
}

impl Elements<'_> {
    /// Whether the other one, behind this one, reads what this one sets, and both have all that
    /// they share by the same iterations.
    fn joins(&self, function: &Function, other: &Elements<'_>) -> bool {
        let counts = |e: &Elements<'_>| e.dealt.indices.iter().map(|(_, count)| *count).collect::<Vec<_>>();
        let alike = self.bounds == other.bounds && self.total == other.total && counts(self) == counts(other);
        let mut hands_over = false;
        let own = alike
            && self.touches.iter().all(|touch| {
                other.touches.iter().filter(|next| conflict(touch, next)).all(|next| {
                    hands_over |= touch.kind == Kind::Write && next.kind == Kind::Read;
                    matches!(touch.memory, Memory::Block(_))
                        && self.dealt.owner(function, touch).is_some_and(|owner| {
                            touch.array == next.array && other.dealt.owner(function, next) == Some(owner)
                        })
                })
            });
        own && hands_over
    }

    /// Whether an instruction behind the loop may as well stand in front of it.
    fn passes(&self, function: &Function, effects: &EffectTable, shares: &IdMap<InstId, Share>, id: InstId) -> bool {
        let op = &function.insts[id].op;
        let mut touched = Vec::new();
        match shares.get(&id) {
            Some(Share::Dealt(_)) => {
                for &block in op.blocks().iter() {
                    touched.extend(all_touches(function, effects, block));
                }
                let mut speaks = false;
                function.walk(op.blocks()[0], &mut |_, inst| speaks |= effects.properties(&inst.op).io != Io::None);
                if speaks {
                    return false;
                }
            }
            None if op.blocks().is_empty() && !effects.properties(op).is_fixed() => {
                touches(function, effects, id, &mut touched);
            }
            _ => return false,
        }
        !self.touches.iter().any(|touch| touched.iter().any(|other| conflict(touch, other)))
    }
}

/// Whether the order of two accesses may matter, as far as their arrays say. Two arrays of the
/// caller's may overlap.
fn conflict(a: &Touch, b: &Touch) -> bool {
    let meet = match (&a.memory, &b.memory) {
        (Memory::Global(_), Memory::Global(_)) => true,
        (a, b) => a == b,
    };
    meet && (a.kind, b.kind) != (Kind::Read, Kind::Read)
}

/// Puts what the first loop does at the beginning of what the next one does.
fn unite(function: &mut Function, shares: &mut IdMap<InstId, Share>, block: BlockId, first: InstId, next: InstId) {
    let (&Op::For { body: from, .. }, &Op::For { body: to, .. }) =
        (&function.insts[first].op, &function.insts[next].op)
    else {
        return;
    };
    let Some(Share::Dealt(mut dealt)) = shares.remove(&first) else { return };
    let Some(Share::Dealt(other)) = shares.remove(&next) else { return };
    let mut before = std::mem::take(&mut function.blocks[from].insts);
    before.pop();
    function.blocks[to].insts.splice(0..0, before);
    function.blocks[block].insts.retain(|&id| id != first);
    let (old, number) = (function.blocks[from].params[0], function.blocks[to].params[0]);
    let mut same: IdMap<ValueId, ValueId> = [(old, number)].into_iter().collect();
    for ((index, _), (later, _)) in dealt.indices.iter_mut().zip(&other.indices) {
        *index = if *index == old { number } else { *index };
        if *later != number {
            same.insert(*later, *index);
        }
    }
    replace(function, to, &same);
    shares.insert(next, Share::Dealt(dealt));
}

/// Uses other values in a block and what is nested in it.
fn replace(function: &mut Function, block: BlockId, same: &IdMap<ValueId, ValueId>) {
    let mut inside = Vec::new();
    function.walk(block, &mut |id, _| inside.push(id));
    for id in inside {
        function.insts[id].op.for_each_operand_mut(|v| {
            while let Some(&other) = same.get(v) {
                *v = other;
            }
        });
    }
}

/// An element that an iteration has set.
struct Set {
    array: ValueId,
    indices: Vec<Sum>,
    value: ValueId,
}

/// Takes elements that an iteration has set before from where they were computed.
pub(super) fn forward(function: &mut Function, effects: &EffectTable, body: BlockId, dealt: &Dealt) {
    let mut known: Vec<Set> = Vec::new();
    let mut same: IdMap<ValueId, ValueId> = IdMap::default();
    for id in function.blocks[body].insts.clone() {
        let here = touches_with_blocks(function, effects, id);
        let written = |array: ValueId| here.iter().any(|t| t.kind != Kind::Read && t.memory == Memory::Block(array));
        for touch in &here {
            let Op::Load(access) = &function.insts[touch.at].op else { continue };
            let set =
                known.iter().find(|set| set.array == access.array && !written(set.array) && set.is(function, access));
            if let (Some(set), [result]) = (set, &function.insts[touch.at].results[..]) {
                if access.path.is_empty() {
                    same.insert(*result, set.value);
                } else {
                    function.insts[touch.at].op = Op::Extract(set.value, access.path.clone());
                }
            }
        }
        known.retain(|set| !written(set.array));
        if let Op::Store { access, value } = &function.insts[id].op
            && access.path.is_empty()
            && memory(function, access.array) == Memory::Block(access.array)
            && dealt.is_inside(function, access)
        {
            let indices = access.indices.iter().map(|&index| Sum::of(function, index)).collect();
            known.push(Set { array: access.array, indices, value: *value });
        }
    }
    let gone = |function: &Function, id: &InstId| {
        let inst = &function.insts[*id];
        matches!(inst.op, Op::Load(_)) && inst.results.first().is_some_and(|result| same.contains_key(result))
    };
    let mut blocks = vec![body];
    function.walk(body, &mut |_, inst| blocks.extend(inst.op.blocks().iter()));
    for block in blocks {
        let mut insts = std::mem::take(&mut function.blocks[block].insts);
        insts.retain(|id| !gone(function, id));
        function.blocks[block].insts = insts;
    }
    replace(function, body, &same);
}

impl Set {
    fn is(&self, function: &Function, access: &Access) -> bool {
        let same = |(sum, &index): (&Sum, &ValueId)| *sum == Sum::of(function, index);
        self.indices.len() == access.indices.len() && self.indices.iter().zip(&access.indices).all(same)
    }
}

impl Dealt {
    /// Whether an access is to an element that there is, whatever the iteration: elements outside
    /// are not set.
    fn is_inside(&self, function: &Function, access: &Access) -> bool {
        let Type::Local(ty) = function.ty(access.array) else { return false };
        let inside = |(&index, &extent): (&ValueId, &u32)| {
            let sum = Sum::of(function, index);
            let last = match sum.terms.iter().next() {
                None => Some(0),
                Some((term, 1)) if sum.terms.len() == 1 => {
                    let dealt = self.indices.iter().find(|(index, _)| index == term);
                    dealt.and_then(|(_, count)| *count).map(|count| i128::from(count) - 1)
                }
                _ => None,
            };
            sum.constant >= 0 && last.is_some_and(|last| last + sum.constant < i128::from(extent))
        };
        access.indices.iter().zip(ty.extents()).all(inside)
    }
}

/// Takes out the tiles that are only set.
fn drop_unread(function: &mut Function) {
    let mut unread: IdSet<ValueId> = IdSet::default();
    function.walk(function.entry, &mut |_, inst| {
        unread.extend(inst.results.first().filter(|_| matches!(inst.op, Op::SharedArray)));
    });
    function.walk(function.entry, &mut |_, inst| {
        let set = if let Op::Store { access, .. } = &inst.op { Some(access.array) } else { None };
        inst.op.for_each_operand(|v| _ = (set != Some(v)).then(|| unread.remove(&v)));
    });
    if unread.is_empty() {
        return;
    }
    give_names(function, &unread);
    for block in function.blocks.ids().collect::<Vec<_>>() {
        let mut insts = std::mem::take(&mut function.blocks[block].insts);
        insts.retain(|&id| {
            if let Op::Store { access, .. } = &function.insts[id].op {
                !unread.contains(&access.array)
            } else if let Op::SharedArray = &function.insts[id].op {
                !function.insts[id].results.first().is_some_and(|array| unread.contains(array))
            } else {
                true
            }
        });
        function.blocks[block].insts = insts;
    }
}

/// What has no name and holds the same as a tile that goes gets its name.
fn give_names(function: &mut Function, gone: &IdSet<ValueId>) {
    let mut stores: Vec<[ValueId; 2]> = Vec::new();
    function.walk(function.entry, &mut |_, inst| {
        if let Op::Store { access, value } = &inst.op
            && access.path.is_empty()
            && function.ty(access.array).is_tile()
        {
            stores.push([access.array, *value]);
        }
    });
    for &[tile, value] in stores.iter().filter(|[tile, _]| gone.contains(tile)) {
        let other = stores
            .iter()
            .find(|&&[other, same]| same == value && !gone.contains(&other) && function.ty(other) == function.ty(tile));
        if let Some(&[other, _]) = other
            && function.values[other].name.is_none()
        {
            function.values[other].name = function.values[tile].name.clone();
        }
    }
}
