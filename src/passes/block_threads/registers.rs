//! Which elements stay in registers while a thread goes through a loop? Those of a tile of which
//! the loop touches this one alone: it is read before the loop and set behind it, as the sum of a
//! product is.

use super::accesses::{Kind, Memory, all_touches};
use super::distribute::Share;
use super::plan::leaves;
use crate::analysis::effects::EffectTable;
use crate::ids::{IdMap, IdSet};
use crate::ir::{Access, BlockId, Function, Inst, InstId, Op, ValueId, Values};
use crate::passes::rebuild::Rebuild;
use crate::types::Type;

/// An element of a tile.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Element {
    array: ValueId,
    indices: Values,
}

impl Element {
    fn is(&self, access: &Access) -> bool {
        self.array == access.array && self.indices == access.indices
    }
}

/// Keeps elements in registers through loops in the iterations that are dealt out.
pub(super) fn keep(function: &mut Function, effects: &EffectTable, shares: &IdMap<InstId, Share>) {
    let mut found: IdMap<InstId, Vec<Element>> = IdMap::default();
    for (&id, share) in shares {
        if matches!(share, Share::Dealt(_)) {
            for &block in function.insts[id].op.blocks().iter() {
                function.walk(block, &mut |id, inst| {
                    if let Op::For { body, .. } = inst.op
                        && !leaves(function, inst, false)
                    {
                        found.insert(id, elements(function, effects, body));
                    }
                });
            }
        }
    }
    found.retain(|_, elements| !elements.is_empty());
    if found.is_empty() {
        return;
    }
    let entry = function.entry;
    let mut keeper = Keeper { rebuild: Rebuild::start(function), found, kept: Vec::new() };
    keeper.block(entry);
    keeper.rebuild.finish(function);
}

/// The elements that the body of a loop sets, each the only one of its tile that it touches, and
/// always the same.
fn elements(function: &Function, effects: &EffectTable, body: BlockId) -> Vec<Element> {
    let inside = function.defined_in(body);
    let own: IdSet<InstId> = function.blocks[body].insts.iter().copied().collect();
    let touches = all_touches(function, effects, body);
    let mut found: Vec<Element> = Vec::new();
    for write in touches.iter().filter(|touch| touch.kind == Kind::Write) {
        let (Memory::Block(array), Some(indices)) = (&write.memory, &write.indices) else { continue };
        let element = Element { array: *array, indices: indices.clone() };
        let alone = touches.iter().filter(|touch| touch.memory == write.memory).all(|touch| {
            let access = function.insts[touch.at].op.access();
            let whole = access.is_some_and(|access| access.path.is_empty() && element.is(access));
            whole && own.contains(&touch.at) && touch.kind != Kind::Atomic
        });
        if alone && !indices.iter().any(|index| inside.contains(index)) && !found.contains(&element) {
            found.push(element);
        }
    }
    found
}

struct Keeper {
    rebuild: Rebuild,
    found: IdMap<InstId, Vec<Element>>,
    /// The elements that the loop around has in registers, and their values now.
    kept: Vec<(Element, ValueId)>,
}

impl Keeper {
    fn block(&mut self, block: BlockId) {
        let outside = self.rebuild.b.switch_to(block);
        for id in self.rebuild.take(block) {
            let op = self.rebuild.visit(id);
            match (&op, self.found.remove(&id)) {
                (Op::For { .. }, Some(elements)) => self.iterations(id, op, elements),
                (Op::Load(access), _) if self.kept_now(access).is_some() => {
                    let value = self.kept_now(access);
                    let result = self.rebuild.b.function.insts[id].results.first().copied();
                    if let (Some(result), Some(value)) = (result, value) {
                        self.rebuild.replace(result, value);
                    }
                }
                (Op::Store { access, value }, _) if self.kept_now(access).is_some() => {
                    let slot = self.kept.iter_mut().find(|(element, _)| element.is(access));
                    slot.into_iter().for_each(|(_, now)| *now = *value);
                }
                // It touches no kept element.
                _ => {
                    for &nested in op.blocks().iter() {
                        let around = std::mem::take(&mut self.kept);
                        self.block(nested);
                        self.kept = around;
                    }
                    self.rebuild.b.append(id);
                }
            }
        }
        self.rebuild.b.switch_to(outside);
    }

    fn kept_now(&self, access: &Access) -> Option<ValueId> {
        self.kept.iter().find(|(element, _)| element.is(access)).map(|&(_, value)| value)
    }

    fn iterations(&mut self, id: InstId, op: Op, elements: Vec<Element>) {
        let Op::For { start, end, step, mut init, body } = op else { return };
        let mut kept = Vec::new();
        for element in elements {
            let Type::Local(ty) = self.rebuild.b.ty(element.array) else { continue };
            let indices: Values = element.indices.iter().map(|&index| self.rebuild.current(index)).collect();
            let element = Element { indices, ..element };
            let access = Access::element(element.array, &element.indices);
            let first = match self.just_set(&access) {
                Some(value) => value,
                None => self.rebuild.b.one(Op::Load(access), ty.element.into()),
            };
            init.push(first);
            let value = self.rebuild.b.add_param(body, ty.element.into());
            kept.push((element, value));
        }
        let around = std::mem::replace(&mut self.kept, kept);
        self.block(body);
        let kept = std::mem::replace(&mut self.kept, around);
        let last = self.rebuild.b.function.blocks[body].insts.last().copied();
        if let Some(Inst { op: Op::Yield(values), .. }) = last.map(|last| &mut self.rebuild.b.function.insts[last]) {
            values.extend(kept.iter().map(|&(_, value)| value));
        }
        self.rebuild.b.function.insts[id].op = Op::For { start, end, step, init, body };
        self.rebuild.b.append(id);
        for (element, _) in kept {
            let Type::Local(ty) = self.rebuild.b.ty(element.array) else { continue };
            let value = self.rebuild.b.add_result(id, ty.element.into());
            let access = Access::element(element.array, &element.indices);
            self.rebuild.b.effect(Op::Store { access, value });
        }
    }

    /// What the instruction before set the element to; it goes, for the element is set again.
    fn just_set(&mut self, access: &Access) -> Option<ValueId> {
        let block = self.rebuild.b.block();
        let function = &mut self.rebuild.b.function;
        let at = function.blocks[block].insts.iter().rposition(|&id| {
            let op = &function.insts[id].op;
            !op.properties().is_value()
        })?;
        let id = function.blocks[block].insts[at];
        let Op::Store { access: set, value } = &function.insts[id].op else { return None };
        let value = (set == access).then_some(*value)?;
        function.blocks[block].insts.remove(at);
        Some(value)
    }
}
