//! Dead store elimination: stores that the next store to the element overwrites, and nothing reads:
//! what taking the adjoint of an element twice leaves behind.
//!
//! Looks at the instructions of one block. Whatever may read or write the array in between lets the
//! first store stay.

use crate::analysis::alias::{Root, root};
use crate::analysis::effects::EffectTable;
use crate::ids::IdSet;
use crate::ir::{Access, BlockId, Function, Inst, InstId, Op, Step};
use crate::types::Type;

/// Removes them; says whether there were any.
pub fn run(function: &mut Function, effects: &EffectTable) -> bool {
    remove(function, effects, |_| true)
}

/// The same for tiles, which share no memory with other arrays.
pub fn run_tiles(function: &mut Function, effects: &EffectTable) -> bool {
    remove(function, effects, |ty| ty.is_tile())
}

fn remove(function: &mut Function, effects: &EffectTable, of: impl Fn(Type) -> bool) -> bool {
    let mut dead: IdSet<InstId> = IdSet::default();
    for block in function.blocks.ids() {
        find(function, effects, block, &mut dead);
    }
    dead.retain(|&id| function.insts[id].op.access().is_some_and(|access| of(function.ty(access.array))));
    function.blocks.values_mut().for_each(|block| block.insts.retain(|id| !dead.contains(id)));
    !dead.is_empty()
}

fn find(function: &Function, effects: &EffectTable, block: BlockId, dead: &mut IdSet<InstId>) {
    // Stores that nothing has read so far, with the roots of their arrays.
    let mut open: Vec<(Root, InstId)> = Vec::new();
    for &id in &function.blocks[block].insts {
        let inst = &function.insts[id];
        if let Op::Store { access, .. } = &inst.op {
            let own = root(function, access.array);
            open.retain(|(_, store)| {
                let overwritten = function.insts[*store].op.access().is_some_and(|first| covers(access, first));
                dead.extend(overwritten.then_some(*store));
                // A store to another element reads nothing.
                !overwritten
            });
            if is_known(&own) {
                open.push((own, id));
            }
        } else if let Op::Load(access) = &inst.op {
            let read = root(function, access.array);
            open.retain(|(of, _)| is_known(&read) && *of != read);
        } else if touches_memory(function, effects, inst) {
            open.clear();
        }
    }
}

/// Whether other roots are other memory: memory at an address may be that of a parameter.
fn is_known(root: &Root) -> bool {
    !matches!(root, Root::Unknown | Root::Memory)
}

/// Whether a store to one part of an element leaves nothing of what was stored to another.
fn covers(access: &Access, first: &Access) -> bool {
    let fixed = access.path.iter().all(|step| matches!(step, Step::At(_)));
    access.array == first.array && access.indices == first.indices && fixed && first.path.starts_with(&access.path)
}

fn touches_memory(function: &Function, effects: &EffectTable, inst: &Inst) -> bool {
    let touches = |op: &Op| {
        let properties = effects.properties(op);
        properties.accesses_memory() || properties.has_side_effect() || properties.synchronises || op.is_terminator()
    };
    let mut found = touches(&inst.op);
    for nested in inst.op.blocks() {
        function.walk(nested, &mut |_, inst| {
            found |= touches(&inst.op) && !matches!(inst.op, Op::Yield(_));
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::effects::effects;
    use crate::ir::parse::parse;
    use crate::ir::print::print;
    use crate::ir::verify::verify;

    /// How many stores a kernel has after the pass.
    fn stores(body: &str) -> usize {
        let text = format!(
            "kernel @k(%a: array(dtype=vec3f), %b: array(dtype=vec3f), %c: bool) rank 1 {{\n%i: int32 = thread_index 0\n\
             %j: int32 = const 1\n%x: vec3f = load %a[%i]\n%s: float32 = extract %x[0]\n{body}\nreturn\n}}"
        );
        let mut module = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let (id, effects) = (module.find("k").unwrap(), effects(&module));
        run(&mut module.functions[id], &effects);
        assert_eq!(verify(&module), Ok(()), "{}", print(&module));
        print(&module).matches("store").count()
    }

    #[test]
    fn the_last_of_two_stores_to_an_element_stays() {
        assert_eq!(stores("store %a[%i], %x\nstore %b[%i], %x\nstore %a[%i], %x"), 2);
        assert_eq!(stores("store %a[%i][0], %s\nstore %a[%i], %x"), 1);
        assert_eq!(stores("store %a[%i], %x\n%y: vec3f = load %b[%j]\nstore %a[%i], %y"), 1);
    }

    #[test]
    fn what_may_be_read_in_between_stays() {
        assert_eq!(stores("store %a[%i], %x\nstore %a[%j], %x"), 2);
        assert_eq!(stores("store %a[%i], %x\nstore %a[%i][0], %s"), 2);
        assert_eq!(stores("store %a[%i], %x\n%y: vec3f = load %a[%j]\nstore %b[%i], %y\nstore %a[%i], %y"), 3);
        assert_eq!(stores("store %a[%i], %x\n%y: vec3f = atomic add %a[%j], %x\nstore %a[%i], %y"), 2);
        let branch = "store %a[%i], %x\nif %c {\n%y: vec3f = load %a[%j]\nstore %b[%i], %y\n}\nstore %a[%i], %x";
        assert_eq!(stores(branch), 3);
        assert_eq!(stores(&branch.replace("load %a[%j]\nstore %b[%i], %y", "mul %x, %s")), 1);
    }
}
