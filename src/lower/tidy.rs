//! How does unrolled code stay readable? The iterations of an unrolled loop leave a trail of values
//! with one name: `s = a[0] * b[0]`, `s += a[1] * b[1]`, ... and of components set one by one. CUDA
//! text prints a statement for each named value, so this takes the names from steps that only the
//! next step uses, and makes one construction of a composite whose components are all set.

use std::collections::HashMap;
use std::ops::Range;

use crate::ids::IdVec;
use crate::ir::{
    BlockId, Function, InstId, Op, Step, ValueDef, ValueId, accesses, arithmetic, arrays, effects, nested, threads,
};
use crate::types::Type;

/// The most named steps that become one expression.
const MAX_STEPS: usize = 4;

/// Tidies the instructions in these ranges, which unrolling made.
pub(super) fn tidy(function: &mut Function, unrolled: &[Range<u32>]) {
    if unrolled.is_empty() {
        return;
    }
    let uses = Uses::of(function);
    let is_unrolled = |inst: InstId| unrolled.iter().any(|range| range.contains(&inst.0));
    let mut steps: HashMap<ValueId, usize> = HashMap::new();
    for id in function.insts.ids().filter(|&id| uses.block[id].is_some()) {
        if is_unrolled(id) && matches!(function.insts[id].op, Op::Insert(..)) {
            construct(function, &uses, id);
        }
        let mut operands = Vec::new();
        function.insts[id].op.for_each_operand(|value| operands.push(value));
        for value in operands {
            let ValueDef::Result(def, 0) = function.values[value].def else { continue };
            let near = uses.count[value] == 1 && uses.block[def] == uses.block[id];
            if !near || !(is_unrolled(def) || is_unrolled(id)) || !is_expression(&function.insts[def].op) {
                continue;
            }
            let result = function.insts[id].results.first().copied();
            let takes = match &function.insts[id].op {
                // The end of the trail goes where it is used.
                Op::Insert(_, _, part) => *part == value,
                Op::Construct(_) | Op::Return(_) => true,
                op @ (arithmetic!()
                | Op::Zero
                | Op::Select { .. }
                | Op::Extract(..)
                | threads!()
                | Op::Call(..)
                | arrays!()
                | accesses!()
                | effects!()
                | nested!()
                | Op::Yield(_)
                | Op::Break(_)
                | Op::Continue(_)) => {
                    is_expression(op) && result.is_some_and(|r| function.values[r].name == function.values[value].name)
                }
            };
            let before = steps.get(&value).copied().unwrap_or(0) + 1;
            if takes && before < MAX_STEPS {
                function.values[value].name = None;
                if let Some(result) = result {
                    let longest = steps.entry(result).or_default();
                    *longest = before.max(*longest);
                }
            }
        }
    }
}

/// Operations that read well inside a larger expression.
fn is_expression(op: &Op) -> bool {
    matches!(op, Op::Unary(..) | Op::Binary(..) | Op::Fma(..) | Op::Select { .. } | Op::Call(..) | Op::Construct(_))
}

/// Where values are used.
struct Uses {
    count: IdVec<ValueId, u32>,
    /// The block of each instruction; None for those that are in none.
    block: IdVec<InstId, Option<BlockId>>,
}

impl Uses {
    fn of(function: &Function) -> Uses {
        let mut count: IdVec<ValueId, u32> = function.values.ids().map(|_| 0).collect();
        let mut block: IdVec<InstId, Option<BlockId>> = function.insts.ids().map(|_| None).collect();
        for (id, data) in function.blocks.iter() {
            for &inst in &data.insts {
                block[inst] = Some(id);
                function.insts[inst].op.for_each_operand(|value| count[value] += 1);
            }
        }
        Uses { count, block }
    }
}

/// Makes the last of a chain of inserts one construction, if the chain sets every component.
fn construct(function: &mut Function, uses: &Uses, last: InstId) {
    let ty = function.ty(function.insts[last].results[0]);
    let (Type::Vec(..) | Type::Mat(..) | Type::Quat(_)) = ty else { return };
    let count = ty.scalar_count().unwrap_or(0) as usize;
    let mut parts: Vec<Option<ValueId>> = vec![None; count];
    let mut missing = count;
    let mut at = last;
    loop {
        let Op::Insert(whole, path, part) = &function.insts[at].op else { return };
        let Some(slot) = slot(ty, path).and_then(|slot| parts.get_mut(slot)) else { return };
        missing -= usize::from(slot.is_none());
        slot.get_or_insert(*part);
        if missing == 0 {
            break;
        }
        let ValueDef::Result(def, 0) = function.values[*whole].def else { return };
        if uses.count[*whole] != 1 || uses.block[def] != uses.block[at] {
            return;
        }
        at = def;
    }
    function.insts[last].op = Op::Construct(parts.into_iter().flatten().collect());
}

/// The position of a scalar among the scalars of a composite.
fn slot(ty: Type, path: &[Step]) -> Option<usize> {
    match (ty, path) {
        (Type::Vec(..) | Type::Quat(_), [Step::At(n)]) => Some(*n as usize),
        (Type::Mat(_, columns, _), [Step::At(row), Step::At(column)]) => {
            Some(*row as usize * usize::from(columns) + *column as usize)
        }
        _ => None,
    }
}
