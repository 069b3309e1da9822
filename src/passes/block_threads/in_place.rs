//! Which factor of a matrix can be in the place of the matrix? One that is cleared and then
//! computed column by column from the diagonal down, from what is in the matrix at the same
//! element: that is not needed any more when the element is set. What is above the diagonal is
//! never set, and has to be zero from the beginning.

use super::accesses::{Kind, Memory, Sum, Touch, all_touches, touches, touches_with_blocks};
use super::distribute::{Dealt, Share};
use super::plan::leaves;
use crate::analysis::effects::EffectTable;
use crate::ids::IdMap;
use crate::ir::{Access, BlockId, CompareOp, Function, InstId, Op, ValueId};
use crate::passes::rebuild::replace_each;
use crate::types::Type;

/// Lets factors take the places of matrices.
pub(super) fn take(function: &mut Function, effects: &EffectTable, shares: &IdMap<InstId, Share>) {
    let mut found = Vec::new();
    for block in function.blocks.ids() {
        for (n, &id) in function.blocks[block].insts.iter().enumerate() {
            let columns = Columns { function, effects, shares, before: &function.blocks[block].insts[..n] };
            found.extend(columns.of(id));
        }
    }
    for Factor { clear, matrix, factor } in found {
        replace_each(function, [(clear, ())].into_iter().collect(), |b, id, ()| {
            let Some(&[row, column]) = b.function.insts[id].op.access().map(|access| &access.indices[..]) else {
                return b.append(id);
            };
            let condition = b.compare(CompareOp::Gt, column, row);
            let (then, otherwise) = (b.new_block(&[]), b.new_block(&[]));
            let outside = b.switch_to(then);
            b.append(id);
            b.yield_(&[]);
            b.switch_to(otherwise);
            b.yield_(&[]);
            b.switch_to(outside);
            b.effect(Op::If { condition, then, otherwise });
        });
        for inst in function.insts.values_mut() {
            inst.op.for_each_operand_mut(|v| *v = if *v == factor { matrix } else { *v });
        }
        for block in function.blocks.ids().collect::<Vec<_>>() {
            let mut insts = std::mem::take(&mut function.blocks[block].insts);
            insts.retain(|&id| !function.insts[id].results.contains(&factor));
            function.blocks[block].insts = insts;
        }
    }
}

struct Factor {
    /// What clears an element of the factor.
    clear: InstId,
    matrix: ValueId,
    factor: ValueId,
}

/// The loop over columns and what is in front of it.
struct Columns<'a> {
    function: &'a Function,
    effects: &'a EffectTable,
    shares: &'a IdMap<InstId, Share>,
    before: &'a [InstId],
}

impl Columns<'_> {
    fn of(&self, id: InstId) -> Option<Factor> {
        let function = self.function;
        let Op::For { start, end, step, body, .. } = function.insts[id].op else { return None };
        let int = |v: ValueId| function.as_const(v).and_then(|c| c.as_int());
        if self.shares.contains_key(&id) || [int(start), int(step)] != [Some(0), Some(1)] {
            return None;
        }
        let (count, column) = (int(end)?, *function.blocks[body].params.first()?);
        let inside = all_touches(function, self.effects, body);
        let of = |tile: ValueId| inside.iter().filter(move |touch| touch.memory == Memory::Block(tile));
        let factor = inside.iter().find_map(|touch| match touch.memory {
            Memory::Block(tile) if touch.kind == Kind::Write => Some(tile),
            _ => None,
        })?;
        let square = |tile: ValueId| match function.ty(tile) {
            Type::Local(ty) => ty.ndim == 2 && ty.extents().iter().all(|&extent| i128::from(extent) == count),
            _ => false,
        };
        let matrix = inside.iter().find_map(|touch| match touch.memory {
            Memory::Block(tile) if tile != factor && of(tile).all(|t| t.kind == Kind::Read) => Some(tile),
            _ => None,
        })?;
        if !square(factor) || function.ty(matrix) != function.ty(factor) || leaves(function, &function.insts[id], false)
        {
            return None;
        }
        let clear = self.prepared(matrix, factor)?;
        // The matrix is for this loop alone.
        let mut elsewhere = Vec::new();
        function.walk(function.entry, &mut |id, _| touches(function, self.effects, id, &mut elsewhere));
        let reads = elsewhere.iter().filter(|t| t.memory == Memory::Block(matrix) && t.kind != Kind::Write).count();
        if reads != of(matrix).count() {
            return None;
        }
        let below = self.below(body, column, count)?;
        let Op::For { body: rows, .. } = function.insts[below].op else { return None };
        let row = *function.blocks[rows].params.first()?;
        // First what is read of the matrix at an element, then what is set there.
        let in_order = [(body, column), (rows, row)].into_iter().all(|(block, row)| {
            let mut set = false;
            let mut fits = true;
            for &id in &function.blocks[block].insts {
                if id == below {
                    continue;
                }
                for touch in &touches_with_blocks(function, self.effects, id) {
                    let at = || self.is_at(touch, row, column);
                    match touch.memory {
                        Memory::Block(tile) if tile == matrix => fits &= at() && !set && touch.at == id,
                        Memory::Block(tile) if tile == factor && touch.kind == Kind::Write => {
                            fits &= at() && self.always(id, touch.at);
                            set = true;
                        }
                        Memory::Block(tile) if tile == factor => fits &= self.is_left_of(touch, column),
                        _ => {}
                    }
                }
            }
            fits && set
        });
        in_order.then_some(Factor { clear, matrix, factor })
    }

    /// What clears an element of the factor, behind what sets the matrix, and nothing else touches
    /// one of them.
    fn prepared(&self, matrix: ValueId, factor: ValueId) -> Option<InstId> {
        let function = self.function;
        let mut clear = None;
        for &id in self.before.iter().rev() {
            let mut here = touches_with_blocks(function, self.effects, id);
            here.retain(|touch| [matrix, factor].map(Memory::Block).contains(&touch.memory));
            // What comes before the zeros has the matrix as it was.
            if clear.is_some() && !here.is_empty() {
                return clear.filter(|_| here.iter().all(|touch| touch.memory == Memory::Block(matrix)));
            }
            let [touch] = &here[..] else {
                if here.is_empty() {
                    continue;
                }
                return None;
            };
            let (Some(Share::Dealt(dealt)), &Op::For { body, .. }) = (self.shares.get(&id), &function.insts[id].op)
            else {
                return None;
            };
            let whole = dealt.sets_all(function, body, touch);
            let Op::Store { value, .. } = function.insts[touch.at].op else { return None };
            let zero = function.def(value).is_some_and(|inst| matches!(inst.op, Op::Zero));
            if !whole || !zero || touch.array != factor {
                return None;
            }
            clear = Some(touch.at);
        }
        None
    }

    /// The loop over the rows below the diagonal.
    fn below(&self, body: BlockId, column: ValueId, count: i128) -> Option<InstId> {
        let function = self.function;
        let below = |id: &&InstId| {
            let (Some(Share::Dealt(dealt)), &Op::For { end, .. }) = (self.shares.get(id), &function.insts[**id].op)
            else {
                return false;
            };
            let next = Sum { terms: [(column, 1)].into_iter().collect(), constant: 1 };
            let Dealt { start: Some(start), step: 1, .. } = dealt else { return false };
            Sum::of(function, *start) == next && function.as_const(end).and_then(|c| c.as_int()) == Some(count)
        };
        let mut found = function.blocks[body].insts.iter().filter(below);
        let id = *found.next()?;
        // Elements of the diagonal are not touched behind it.
        found.next().is_none().then_some(id)
    }

    fn is_at(&self, touch: &Touch, row: ValueId, column: ValueId) -> bool {
        let place = self.access(touch).map(|access| &access.indices[..]);
        place == Some(&[row, column])
    }

    /// Whether an access is to an element in a column that comes before.
    fn is_left_of(&self, touch: &Touch, column: ValueId) -> bool {
        let function = self.function;
        let Some(&[_, index]) = self.access(touch).map(|access| &access.indices[..]) else { return false };
        let mut counted = false;
        function.walk(function.entry, &mut |_, inst| {
            if let Op::For { start, end, step, body, .. } = inst.op
                && function.blocks[body].params.first() == Some(&index)
            {
                let int = |v: ValueId| function.as_const(v).and_then(|c| c.as_int());
                counted = end == column && int(start) == Some(0) && int(step) == Some(1);
            }
        });
        counted
    }

    fn access(&self, touch: &Touch) -> Option<&Access> {
        let access = self.function.insts[touch.at].op.access()?;
        (access.path.is_empty() && touch.memory == Memory::Block(access.array)).then_some(access)
    }

    /// Whether something that is in an instruction is done whenever that is: it is it, or thread 0
    /// does it.
    fn always(&self, id: InstId, at: InstId) -> bool {
        let first = if let (Some(Share::OneThread), &Op::If { then, .. }) =
            (self.shares.get(&id), &self.function.insts[id].op)
        {
            self.function.blocks[then].insts.contains(&at)
        } else {
            false
        };
        id == at || first
    }
}
