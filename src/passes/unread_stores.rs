//! Stores to tiles that nothing reads afterwards: a reverse loop that takes the adjoint of an
//! element leaves a zero there, for the case that the element is read again.

use crate::analysis::alias::{Root, root};
use crate::analysis::dependence::Dependences;
use crate::analysis::ranges::Ranges;
use crate::ids::{IdMap, IdSet};
use crate::ir::{Access, BlockId, Function, InstId, Op, ValueId};

/// So many reads of a tile are looked at for each store.
const MOST_READS: usize = 64;

/// What a function does to a tile.
struct Tile {
    home: BlockId,
    stores: Vec<InstId>,
    reads: Vec<InstId>,
}

/// Removes them; says whether there were any.
pub fn run(function: &mut Function) -> bool {
    let tiles = tiles(function);
    if tiles.values().all(|tile| tile.stores.is_empty()) {
        return false;
    }
    let ranges = Ranges::of(function);
    let dependences = Dependences::of(function, &ranges);
    let mut unread: IdSet<InstId> = IdSet::default();
    for Tile { home, stores, reads } in tiles.values().filter(|tile| tile.reads.len() <= MOST_READS) {
        let is_read = |&&store: &&InstId| reads.iter().any(|&read| dependences.may_depend(store, read, *home));
        unread.extend(stores.iter().filter(|store| !is_read(store)));
    }
    function.blocks.values_mut().for_each(|block| block.insts.retain(|id| !unread.contains(id)));
    !unread.is_empty()
}

/// The tiles of which only elements are used.
fn tiles(function: &Function) -> IdMap<ValueId, Tile> {
    let mut found: IdMap<ValueId, Tile> = IdMap::default();
    for block in function.blocks.ids() {
        for &id in &function.blocks[block].insts {
            let inst = &function.insts[id];
            if let (Op::LocalArray, [tile]) = (&inst.op, &inst.results[..])
                && function.ty(*tile).is_tile()
            {
                found.insert(*tile, Tile { home: block, stores: Vec::new(), reads: Vec::new() });
            }
        }
    }
    function.walk(function.entry, &mut |id, inst| {
        let array = if let Op::Store { access: Access { array, .. }, .. } | Op::Load(Access { array, .. }) = &inst.op {
            Some(*array)
        } else if let Op::View(array, _) = &inst.op {
            // Views lead to their tile.
            Some(*array)
        } else {
            None
        };
        if let Some(Root::Local(tile)) = array.map(|array| root(function, array))
            && let Some(known) = found.get_mut(&tile)
        {
            if let Op::Store { .. } = inst.op {
                known.stores.push(id)
            } else if let Op::Load(_) = inst.op {
                known.reads.push(id)
            }
        }
        // What else is done to a tile is not looked into.
        inst.op.for_each_operand(|operand| {
            let other = Some(operand) != array && function.ty(operand).is_local_array();
            if let (true, Root::Local(tile)) = (other, root(function, operand)) {
                found.remove(&tile);
            }
        });
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::parse::parse;
    use crate::ir::print::print;
    use crate::ir::verify::verify;

    /// How many stores a kernel with a tile `%t` has after the pass.
    fn stores(body: &str) -> usize {
        let text = format!(
            "kernel @k(%y: array(dtype=float32), %n: int32) rank 1 by_block {{\n\
             %z: int32 = const 0\n%c1: int32 = const 1\n%c9: int32 = const 9\n%w: float32 = zero\n\
             %t: tile(float32, 10) = local_array\n{body}return\n}}"
        );
        let mut module = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let id = module.find("k").expect("the kernel");
        run(&mut module.functions[id]);
        assert_eq!(verify(&module), Ok(()), "{}", print(&module));
        print(&module).matches("store %t").count()
    }

    const TAKE: &str = "%v: float32 = load %t[%i]\nstore %y[%i], %v\nstore %t[%i], %w\n";

    #[test]
    fn what_is_taken_once_leaves_nothing() {
        assert_eq!(stores(&format!("for %i: int32 = %z to %c9 step %c1 {{\n{TAKE}}}\n")), 0);
        // The elements after it are read in later iterations.
        let ahead = "%next: int32 = add %i, %c1\nfor %k: int32 = %next to %c9 step %c1 {\n%u: float32 = load %t[%k]\n\
                     %q: float32 = add %u, %v\nstore %t[%k], %q\n}\n";
        assert_eq!(stores(&format!("for %i: int32 = %z to %c9 step %c1 {{\n{TAKE}{ahead}}}\n")), 1);
    }

    #[test]
    fn what_may_be_read_again_stays() {
        let in_loop = |body: &str| stores(&format!("for %i: int32 = %z to %c9 step %c1 {{\n{body}}}\n"));
        assert_eq!(in_loop(&format!("{TAKE}%u: float32 = load %t[%z]\nstore %y[%z], %u\n")), 1);
        assert_eq!(in_loop(&format!("for %j: int32 = %z to %c9 step %c1 {{\n{TAKE}}}\n")), 1);
        assert_eq!(stores(&format!("%i: int32 = const 0\n{TAKE}%u: float32 = load %t[%i]\nstore %y[%i], %u\n")), 1);
        assert_eq!(stores("store %t[%z], %w\n%v: float32 = load %t[%n]\nstore %y[%z], %v\n"), 1);
        // What an atomic finds is read.
        assert_eq!(stores("store %t[%z], %w\n%v: float32 = atomic add %t[%z], %w\nstore %y[%z], %v\n"), 1);
    }
}
