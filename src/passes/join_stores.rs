//! Stores to one element at the ends of both branches become one store behind them.
//!
//! `if c { x[i] = a } else { x[i] = b }` is `x[i] = c ? a : b`. What an early `return` leaves
//! behind often looks like that: its reverse then takes the adjoint of the element in one place,
//! and a branch that stores a constant has none.

use super::adjacent::is_free_of_memory;
use crate::analysis::effects::EffectTable;
use crate::ir::build::Builder;
use crate::ir::{BlockId, Function, Inst, InstId, Op, ValueId};

/// Joins what can be joined; says whether there was anything.
pub fn run(function: &mut Function, effects: &EffectTable) -> bool {
    let mut changed = false;
    block(function, effects, function.entry, &mut changed);
    changed
}

/// From the inside out: what has come behind a branch may be at the end of the one around it.
fn block(function: &mut Function, effects: &EffectTable, at: BlockId, changed: &mut bool) {
    let mut n = 0;
    while let Some(&id) = function.blocks[at].insts.get(n) {
        n += 1;
        for nested in function.insts[id].op.blocks() {
            block(function, effects, nested, changed);
        }
        let Op::If { then, otherwise, .. } = function.insts[id].op else { continue };
        // The last store of both comes behind the branch, the one before it in front of that.
        while let Some(stores) = last_stores(function, effects, [then, otherwise]) {
            let store = join(function, id, stores);
            function.blocks[at].insts.insert(n, store);
            *changed = true;
        }
    }
}

/// The places of the stores that end two branches, if they are to one element.
fn last_stores(function: &Function, effects: &EffectTable, branches: [BlockId; 2]) -> Option<[(BlockId, usize); 2]> {
    let [one, other] = branches.map(|block| {
        let insts = &function.blocks[block].insts;
        let (end, before) = insts.split_last()?;
        matches!(function.insts[*end].op, Op::Yield(_)).then_some(())?;
        let at = before.iter().rposition(|&id| !is_free_of_memory(function, effects, &function.insts[id]))?;
        matches!(function.insts[before[at]].op, Op::Store { .. }).then_some((block, at))
    });
    let (one, other) = (one?, other?);
    let access = |(block, at): (BlockId, usize)| function.insts[function.blocks[block].insts[at]].op.access();
    (access(one)? == access(other)?).then_some([one, other])
}

/// Takes the stores out of the branches of `id`, which then yields the values, and makes one of
/// them the store of that.
fn join(function: &mut Function, id: InstId, stores: [(BlockId, usize); 2]) -> InstId {
    let [(value, _), (other, store)] = stores.map(|(block, at)| {
        let store = function.blocks[block].insts.remove(at);
        let Op::Store { value, .. } = function.insts[store].op else { unreachable!("it was found as a store") };
        let end = function.blocks[block].insts.last().copied();
        if let Some(Inst { op: Op::Yield(values), .. }) = end.map(|end| &mut function.insts[end]) {
            values.push(value);
        }
        (value, store)
    });
    let ty = function.ty(value);
    let chosen = Builder::edit(function, stores[0].0, |b| b.add_result(id, ty));
    let name = |v: ValueId| function.values[v].name.clone().filter(|_| function.as_const(v).is_none());
    function.values[chosen].name = name(other).or_else(|| name(value));
    if let Op::Store { value, .. } = &mut function.insts[store].op {
        *value = chosen;
    }
    store
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::effects::effects;
    use crate::ir::parse::parse;
    use crate::ir::print::print;
    use crate::ir::verify::verify;

    /// A kernel after the pass, and how many stores it has.
    fn after(body: &str) -> (usize, String) {
        let text = format!(
            "kernel @k(%a: array(dtype=float32), %b: array(dtype=float32), %c: bool, %d: bool) rank 1 {{\n\
             %i: int32 = thread_index 0\n%j: int32 = const 1\n%x: float32 = load %a[%i]\n{body}\nreturn\n}}"
        );
        let mut module = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let (id, effects) = (module.find("k").unwrap(), effects(&module));
        run(&mut module.functions[id], &effects);
        assert_eq!(verify(&module), Ok(()), "{}", print(&module));
        let text = print(&module);
        (text.matches("store").count(), text)
    }

    #[test]
    fn the_last_stores_of_both_branches_are_one() {
        let (count, text) = after(
            "if %c {
               %p: float32 = const 1.0
               store %b[%j], %x
               store %a[%i], %p
             } else {
               %q: float32 = mul %x, %x
               store %b[%j], %q
               %r: float32 = add %q, %x
               store %a[%i], %r
             }",
        );
        assert_eq!(count, 2, "{text}");
        let at = |what: &str| text.find(what).unwrap_or_else(|| panic!("{what}: {text}"));
        assert!(at("} else") < at("store %b") && at("store %b") < at("store %a"), "{text}");
    }

    #[test]
    fn a_chain_of_branches_ends_in_one_store() {
        let (count, text) = after(
            "if %c {
               store %a[%i], %x
             } else {
               if %d {
                 %p: float32 = const 1.0
                 store %a[%i], %p
               } else {
                 %q: float32 = mul %x, %x
                 store %a[%i], %q
               }
             }",
        );
        assert_eq!(count, 1, "{text}");
    }

    #[test]
    fn other_elements_and_what_is_read_afterwards_stay() {
        let (count, text) = after("if %c {\nstore %a[%i], %x\n} else {\nstore %a[%j], %x\n}");
        assert_eq!(count, 2, "{text}");
        let (count, text) = after("if %c {\nstore %a[%i], %x\n} else {\nstore %b[%i], %x\n}");
        assert_eq!(count, 2, "{text}");
        let read = "if %c {
               store %a[%i], %x
             } else {
               store %a[%i], %x
               %y: float32 = load %a[%j]
               store %b[%i], %y
             }";
        let (count, text) = after(read);
        assert_eq!(count, 3, "{text}");
        assert_eq!(after("if %c {\nstore %a[%i], %x\n}").0, 1);
    }
}
