//! Which stores only add to what was there? `a[i] = a[i] + e` passes the adjoint of the element on to `e` and leaves it
//! where it is for the old value: nothing is cleared and added again.

use crate::ids::IdMap;
use crate::ir::facts::{Root, root, uses};
use crate::ir::{BinaryOp, BlockId, Function, InstId, Op, ValueId};
use crate::types::Type;

/// For each store that only adds, the load of what it adds to.
#[derive(Default)]
pub(super) struct Accumulations {
    stores: IdMap<InstId, ValueId>,
}

impl Accumulations {
    pub fn of(function: &Function) -> Accumulations {
        let uses = uses(function);
        let mut found = Accumulations::default();
        for block in function.blocks.ids() {
            for (at, &id) in function.blocks[block].insts.iter().enumerate() {
                if let Some(old) = accumulated(function, block, at, &|v| uses[v] == 1) {
                    found.stores.insert(id, old);
                }
            }
        }
        found
    }

    /// Whether a store only adds.
    pub fn is_one(&self, store: InstId) -> bool {
        self.stores.contains_key(&store)
    }

    /// Whether a loaded value is one that a store only adds to.
    pub fn is_old(&self, value: ValueId) -> bool {
        self.stores.values().any(|&old| old == value)
    }
}

/// The old value of the element that the instruction at `at` adds to.
fn accumulated(function: &Function, block: BlockId, at: usize, once: &dyn Fn(ValueId) -> bool) -> Option<ValueId> {
    let insts = &function.blocks[block].insts;
    let Op::Store { array, index, path, value } = &function.insts[insts[at]].op else { return None };
    let known = root(function, *array);
    if !matches!(function.ty(*array), Type::Array(_)) || known == Root::Unknown {
        return None;
    }
    // Down the sum to the load.
    let mut sum = *value;
    let load = loop {
        if !once(sum) {
            return None;
        }
        match &function.def(sum)?.op {
            Op::Binary(BinaryOp::Add, a, b) if function.ty(*a) == function.ty(*b) => {
                sum = if leads_to_load(function, *a, array, index) { *a } else { *b };
            }
            Op::Binary(BinaryOp::Sub, a, b) if function.ty(*a) == function.ty(*b) => sum = *a,
            Op::Load { array: from, index: loaded, path: part } if (from, loaded, part) == (array, index, path) => {
                break sum;
            }
            _ => return None,
        }
    };
    let is_load = |id: &InstId| function.insts[*id].results.first() == Some(&load);
    let start = insts[..at].iter().position(is_load)?;
    // The element may not change on the way.
    let untouched = insts[start + 1..at].iter().all(|&id| {
        let mut fine = true;
        let mut look = |op: &Op| match op {
            Op::Store { array, .. } | Op::Atomic { array, .. } | Op::AtomicCas { array, .. } => {
                let other = root(function, *array);
                fine &= other != Root::Unknown && other != known;
            }
            Op::Call(..) => fine = false,
            _ => {}
        };
        look(&function.insts[id].op);
        for nested in function.insts[id].op.blocks() {
            function.walk(nested, &mut |_, inst| look(&inst.op));
        }
        fine
    });
    untouched.then_some(load)
}

/// Whether the first operands of sums lead to a load of this element.
fn leads_to_load(function: &Function, value: ValueId, array: &ValueId, index: &[ValueId]) -> bool {
    match function.def(value).map(|inst| &inst.op) {
        Some(Op::Binary(BinaryOp::Add, a, b)) => {
            leads_to_load(function, *a, array, index) || leads_to_load(function, *b, array, index)
        }
        Some(Op::Binary(BinaryOp::Sub, a, _)) => leads_to_load(function, *a, array, index),
        Some(Op::Load { array: from, index: at, .. }) => from == array && at.as_slice() == index,
        _ => false,
    }
}
