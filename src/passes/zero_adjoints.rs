//! What reverse code computes of an adjoint that is zero is left out, where it is dear.
//!
//! ```text
//! p, q = adj_f(x, a)               u, v = if a != 0 { p, q = adj_f(x, a); yield p, q }
//! u = select(a != 0, p, 0)   =>           else { yield 0, 0 }
//! v = select(a != 0, q, 0)
//! ```
//!
//! For GPUs, whose threads most often go one way: a step that was clipped, a contact that is none.
//! On the host both sides run under masks, as the select has it.

use crate::analysis::effects::EffectTable;
use crate::analysis::uses;
use crate::ids::{IdMap, IdVec};
use crate::ir::build::Builder;
use crate::ir::{BlockId, CompareOp, FuncId, Function, Inst, InstId, Op, ValueDef, ValueId};
use crate::passes::code_sinking;

/// Makes branches of such choices in a backward entry; says whether there were any. `dear`: calls
/// that are worth a branch.
pub fn run(function: &mut Function, effects: &EffectTable, dear: &dyn Fn(FuncId) -> bool) -> bool {
    let mut changed = false;
    for block in function.blocks.ids().collect::<Vec<_>>() {
        for group in groups(function, block, dear) {
            branch(function, block, &group);
            changed = true;
        }
    }
    changed && code_sinking::into_branches(function, effects)
}

/// Choices by one condition, one behind the other in a block.
struct Group {
    condition: ValueId,
    selects: Vec<InstId>,
}

/// The choices between zero and what a dear call gives to nobody else.
fn groups(function: &Function, block: BlockId, dear: &dyn Fn(FuncId) -> bool) -> Vec<Group> {
    let mut found: IdMap<ValueId, Group> = IdMap::default();
    let mut order = Vec::new();
    for &id in &function.blocks[block].insts {
        let Op::Select { condition, otherwise, .. } = function.insts[id].op else { continue };
        if is_zero(function, otherwise) && asks_for_zero(function, condition) {
            let none = || {
                order.push(condition);
                Group { condition, selects: Vec::new() }
            };
            found.entry(condition).or_insert_with(none).selects.push(id);
        }
    }
    if order.is_empty() {
        return Vec::new();
    }
    let uses = uses(function);
    let groups = order.into_iter().filter_map(|condition| found.remove(&condition));
    groups
        .filter(|group| group.calls(function).any(|(call, inst)| dear(call) && group.has_all(function, inst, &uses)))
        .collect()
}

impl Group {
    fn then(&self, function: &Function, select: InstId) -> Option<ValueId> {
        if let Op::Select { then, .. } = function.insts[select].op { Some(then) } else { None }
    }

    /// The calls whose results are chosen.
    fn calls<'f>(&'f self, function: &'f Function) -> impl Iterator<Item = (FuncId, &'f Inst)> {
        self.selects.iter().filter_map(|&select| {
            let inst = function.def(self.then(function, select)?)?;
            if let Op::Call(callee, _) = inst.op { Some((callee, inst)) } else { None }
        })
    }

    /// Whether all that is used of an instruction's results is chosen here, and defined before the
    /// first of these choices.
    fn has_all(&self, function: &Function, inst: &Inst, uses: &IdVec<ValueId, u32>) -> bool {
        let chosen = |result: ValueId| {
            self.selects.iter().filter(|&&select| self.then(function, select) == Some(result)).count() as u32
        };
        inst.results.iter().all(|&result| uses[result] == chosen(result))
    }
}

fn is_zero(function: &Function, value: ValueId) -> bool {
    function.as_const(value).is_some_and(|c| c.bits == 0) || function.op(value) == Some(&Op::Zero)
}

/// `a != 0`
fn asks_for_zero(function: &Function, condition: ValueId) -> bool {
    let Some(&Op::Compare(CompareOp::Ne, a, b)) = function.op(condition) else { return false };
    is_zero(function, b) && function.ty(a).scalar_part().is_some_and(|s| s.is_float())
}

/// Puts one branch in the place of the last choice; the values are there then, and what uses the
/// choices moves behind it.
fn branch(function: &mut Function, block: BlockId, group: &Group) {
    let insts = std::mem::take(&mut function.blocks[block].insts);
    let mut late: Vec<InstId> = Vec::new();
    let (mut kept, mut seen) = (Vec::with_capacity(insts.len()), 0);
    let mut behind: Vec<ValueId> = Vec::new();
    for id in insts {
        let inst = &function.insts[id];
        if group.selects.contains(&id) {
            seen += 1;
            behind.extend(inst.results.iter().copied());
            if seen == group.selects.len() {
                kept.push(id);
                kept.append(&mut late);
            }
            continue;
        }
        // Between the choices: what uses one of them waits.
        let mut waits = false;
        if seen > 0 && seen < group.selects.len() {
            inst.op.for_each_operand(|v| waits |= behind.contains(&v));
            for &nested in inst.op.blocks().iter() {
                function.walk(nested, &mut |_, inst| inst.op.for_each_operand(|v| waits |= behind.contains(&v)));
            }
            waits |= !inst.op.properties().is_value() && !late.is_empty();
        }
        if waits {
            behind.extend(inst.results.iter().copied());
            late.push(id);
        } else {
            kept.push(id);
        }
    }
    function.blocks[block].insts = kept;
    let Some(&last) = group.selects.last() else { return };
    let chosen: Vec<(ValueId, ValueId)> = group
        .selects
        .iter()
        .filter_map(|&id| Some((group.then(function, id)?, *function.insts[id].results.first()?)))
        .collect();
    let span = function.insts[last].span;
    let (mut then, mut otherwise) = (BlockId(0), BlockId(0));
    Builder::edit(function, block, |b| {
        b.span = span;
        (then, otherwise) = (b.new_block(&[]), b.new_block(&[]));
        b.switch_to(then);
        b.yield_(&chosen.iter().map(|&(value, _)| value).collect::<Vec<_>>());
        b.switch_to(otherwise);
        let zeros: Vec<ValueId> = chosen.iter().map(|&(value, _)| b.zero(b.ty(value))).collect();
        b.yield_(&zeros);
        b.switch_to(block);
    });
    let inst = &mut function.insts[last];
    inst.op = Op::If { condition: group.condition, then, otherwise };
    inst.results = chosen.iter().map(|&(_, result)| result).collect();
    for (n, &(_, result)) in chosen.iter().enumerate() {
        function.values[result].def = ValueDef::Result(last, n as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::effects::effects;
    use crate::ir::parse::parse;
    use crate::ir::print::print;
    use crate::ir::verify::verify;

    /// The entry with choices between what a call gives and zero, after the pass.
    fn after(chosen: &str) -> String {
        let text = format!(
            "func @f(%x: float32, %a: float32) -> (float32, float32) {{\n%r: float32 = sqrt %x\n%s: float32 = div %a, %r\n\
             return %s, %r\n}}\n\
             kernel @k(%x: array(dtype=float32), %adj_x: array(dtype=float32)) rank 1 backward {{\n\
             %i: int32 = thread_index 0\n%v: float32 = load %x[%i]\n%z: float32 = zero\n%c: bool = ne %v, %z\n\
             %p: float32, %q: float32 = call @f(%v, %v)\n{chosen}return\n}}"
        );
        let mut module = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let (id, effects) = (module.find("k").expect("the kernel"), effects(&module));
        run(&mut module.functions[id], &effects, &|_| true);
        assert_eq!(verify(&module), Ok(()), "{}", print(&module));
        print(&module)
    }

    const BOTH: &str = "%u: float32 = select %c, %p, %z\n%w: float32 = select %c, %q, %z\n\
                        store %adj_x[%i], %u\nstore %adj_x[%i], %w\n";

    #[test]
    fn a_call_for_a_zero_adjoint_is_left_out() {
        let text = after(BOTH);
        let branch = text.find("if %c").expect("a branch");
        assert!(text[branch..].contains("call @f") && !text.contains("select"), "{text}");
        // What uses the first choice comes behind the second one.
        let between = BOTH.replace("%w:", "%y: float32 = neg %u\n%w:").replace("[%i], %u", "[%i], %y");
        assert!(!after(&between).contains("select"));
    }

    #[test]
    fn what_others_use_stays() {
        let used = format!("{BOTH}store %adj_x[%i], %p\n");
        assert!(after(&used).contains("select"));
        let other = BOTH.replace("select %c, %q, %z", "select %c, %q, %v");
        assert!(after(&other).contains("select"));
    }
}
