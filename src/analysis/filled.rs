//! Which arrays does a launch fill? Each element of such an array is written before anything reads
//! it, so that the array may hold anything before the launch.
//!
//! An array is filled if its extents are those of the launch, which is for the caller to see to,
//! and every thread stores to the element of its coordinates, under no condition, before the
//! kernel does anything else with the array.

use crate::ids::IdSet;
use crate::ir::{Access, Function, FunctionKind, Inst, Op, ValueId};
use crate::types::Type;

use super::alias::{Root, root};
use super::effects::EffectTable;

/// Which parameters of a kernel are filled by a launch with their extents.
pub fn filled(function: &Function, effects: &EffectTable) -> Vec<bool> {
    let params = function.params();
    let mut found = vec![false; params.len()];
    let FunctionKind::Kernel { rank } = function.kind else { return found };
    if function.by_block {
        return found;
    }
    // Arrays that something else was done with.
    let mut used: IdSet<ValueId> = IdSet::default();
    for &id in &function.blocks[function.entry].insts {
        let inst = &function.insts[id];
        if let Op::Store { access, .. } = &inst.op
            && let Some(n) = params.iter().position(|&param| param == access.array)
            && is_own(function, access, rank.into())
        {
            found[n] |= !used.contains(&access.array);
            continue;
        }
        note(function, effects, inst, &mut used);
        let mut returns = false;
        for nested in inst.op.blocks() {
            function.walk(nested, &mut |_, inst| {
                returns |= matches!(inst.op, Op::Return(_));
                note(function, effects, inst, &mut used);
            });
        }
        if returns {
            // Some threads do not come further.
            break;
        }
    }
    found
}

/// Whether an access is to the whole element of the thread's coordinates.
fn is_own(function: &Function, access: &Access, rank: usize) -> bool {
    let coordinate =
        |(k, &index): (usize, &ValueId)| matches!(function.op(index), Some(Op::ThreadIndex(n)) if usize::from(*n) == k);
    access.path.is_empty() && access.indices.len() == rank && access.indices.iter().enumerate().all(coordinate)
}

/// Notes the arrays that an instruction may read or write.
fn note(function: &Function, effects: &EffectTable, inst: &Inst, used: &mut IdSet<ValueId>) {
    let known = inst.op.access().map(|access| root(function, access.array));
    match known {
        Some(Root::Param(n, fields)) if fields.is_empty() => {
            used.extend(function.params().get(n as usize).copied());
        }
        Some(Root::Param(..)) => {}
        _ if known.is_some() || effects.properties(&inst.op).accesses_memory() => {
            let arrays = function.params().iter().filter(|&&param| matches!(function.ty(param), Type::Array(_)));
            used.extend(arrays.copied());
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::effects::effects;
    use crate::ir::parse::parse;

    /// Whether launches of a kernel with this body fill `%y`, and `%m`.
    #[track_caller]
    fn fills(body: &str) -> [bool; 2] {
        let text = format!(
            "kernel @k(%x: array(dtype=int32), %y: array(dtype=int32), %m: array2d(dtype=int32)) rank 1 {{\n\
             %i: int32 = thread_index 0\n%0: int32 = const 0\n%1: int32 = const 1\n%b: bool = lt %i, %1\n{body}return\n}}\n"
        );
        let module = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let found = filled(&module.functions[module.find("k").expect("a kernel")], &effects(&module));
        [found[1], found[2]]
    }

    #[test]
    fn every_thread_stores_to_its_element() {
        let store = "store %y[%i], %1\n";
        assert_eq!(fills(store), [true, false]);
        assert_eq!(fills(&format!("%v: int32 = load %x[%i]\n{store}%w: int32 = load %y[%i]\n")), [true, false]);
        assert_eq!(fills("store %m[%i, %0], %1\n"), [false, false], "a column alone");
        assert_eq!(fills("%j: int32 = add %i, %1\nstore %y[%j], %1\n"), [false, false], "not its own");
    }

    #[test]
    fn not_where_something_comes_before() {
        let store = "store %y[%i], %1\n";
        assert_eq!(fills(&format!("%v: int32 = load %y[%i]\n{store}")), [false, false], "a read");
        assert_eq!(fills(&format!("%v: int32 = atomic add %y[%0], %1\n{store}")), [false, false], "a sum");
        assert_eq!(fills(&format!("if %b {{\n{store}}}\n")), [false, false], "a condition");
    }
}
