//! Which stores only add to what was there? `a[i] = a[i] + e` passes the adjoint of the element on
//! to `e` and leaves it where it is for the old value: nothing is cleared and added again.

use crate::analysis::alias::{Root, accessed, root};
use crate::analysis::uses;
use crate::ids::IdMap;
use crate::ir::{Access, BinaryOp, BlockId, Function, InstId, Op, ValueId};
use crate::types::Type;

/// For each store that only adds, the load of what it adds to.
#[derive(Default)]
pub struct Accumulations {
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
    let Op::Store { access, value } = &function.insts[insts[at]].op else { return None };
    let known = root(function, access.array);
    if !matches!(function.ty(access.array), Type::Array(_)) || known == Root::Unknown {
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
                sum = if leads_to_load(function, *a, access) { *a } else { *b };
            }
            Op::Binary(BinaryOp::Sub, a, b) if function.ty(*a) == function.ty(*b) => sum = *a,
            Op::Load(loaded) if loaded == access => break sum,
            // Another operation is no sum.
            _ => return None,
        }
    };
    let is_load = |id: &InstId| function.insts[*id].results.first() == Some(&load);
    let start = insts[..at].iter().position(is_load)?;
    // The element may not change on the way.
    let untouched = insts[start + 1..at].iter().all(|&id| {
        let mut fine = true;
        let mut look = |op: &Op| {
            let properties = op.properties();
            let other = properties.writes.then(|| accessed(function, op));
            fine &= !properties.synchronises && other.is_none_or(|other| other != Root::Unknown && other != known);
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
fn leads_to_load(function: &Function, value: ValueId, access: &Access) -> bool {
    match function.op(value) {
        Some(Op::Binary(BinaryOp::Add, a, b)) => {
            leads_to_load(function, *a, access) || leads_to_load(function, *b, access)
        }
        Some(Op::Binary(BinaryOp::Sub, a, _)) => leads_to_load(function, *a, access),
        Some(Op::Load(loaded)) => loaded.array == access.array && loaded.indices == access.indices,
        // Another operation is no sum.
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::parse::parse;

    /// Of each store of a kernel, whether it only adds.
    fn stores(body: &str) -> Vec<bool> {
        let text = format!(
            "kernel @k(%a: array(dtype=float64), %b: array(dtype=float64)) rank 1 {{
             %i: int32 = thread_index 0
             %zero: int32 = const 0
             %e: float64 = load %b[%i]
             {body}
             return
             }}"
        );
        let module = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let function = &module.functions[module.find("k").unwrap()];
        let found = Accumulations::of(function);
        let mut all = Vec::new();
        function.walk(function.entry, &mut |id, inst| {
            if matches!(inst.op, Op::Store { .. }) {
                all.push(found.is_one(id));
            }
        });
        all
    }

    #[test]
    fn sums_and_differences_accumulate() {
        let sum = "%o: float64 = load %a[%i]
             %s: float64 = add %o, %e
             store %a[%i], %s";
        assert_eq!(stores(sum), [true]);
        assert_eq!(stores(&sum.replace("add %o, %e", "add %e, %o")), [true]);
        assert_eq!(stores(&sum.replace("add %o, %e", "sub %o, %e")), [true]);
        assert_eq!(stores(&sum.replace("add %o, %e", "sub %e, %o")), [false]);
        assert_eq!(stores(&sum.replace("add %o, %e", "mul %o, %e")), [false]);
        assert_eq!(stores(&sum.replace("store %a[%i]", "store %a[%zero]")), [false], "another element");
    }

    #[test]
    fn what_else_reads_or_writes_the_element_prevents_it() {
        let twice = "%o: float64 = load %a[%i]
             %s: float64 = add %o, %o
             store %a[%i], %s";
        assert_eq!(stores(twice), [false]);
        let between = "%o: float64 = load %a[%i]
             store %a[%zero], %e
             %s: float64 = add %o, %e
             store %a[%i], %s";
        assert_eq!(stores(between), [false, false]);
        assert_eq!(stores(&between.replace("store %a[%zero]", "store %b[%zero]")), [false, true], "another array");
    }
}
