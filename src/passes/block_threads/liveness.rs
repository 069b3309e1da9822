//! Liveness of tiles: which tiles are live at the same time, and which may take the memory of the
//! tile that it is computed from? A backward analysis, from the end of the kernel.

use std::collections::BTreeSet;

use super::accesses::{Kind, Memory, Sum, Touch, all_touches, touches};
use super::distribute::{Dealt, Share};
use crate::analysis::effects::EffectTable;
use crate::ids::IdMap;
use crate::ir::{BlockId, Function, InstId, Op, Part, ValueId, nested, straight};
use crate::types::Type;

/// What is found of all tiles of a kernel.
pub(super) struct Found {
    /// Pairs that are needed at the same time, the smaller number first.
    pub apart: BTreeSet<[ValueId; 2]>,
    /// A tile that a loop reads, and one that it sets from it element by element, in the order of
    /// the kernel.
    pub heirs: Vec<[ValueId; 2]>,
}

pub(super) fn needed(function: &Function, effects: &EffectTable, shares: &IdMap<InstId, Share>) -> Found {
    let mut search = Search::new(function, effects, shares);
    search.block(function.entry, Needed::new(), &Jumps::default());
    Found { apart: search.apart, heirs: search.heirs }
}

/// The tiles of which some instructions, one behind the other, take elements that they have not
/// set.
pub(super) fn taken(
    function: &Function,
    effects: &EffectTable,
    shares: &IdMap<InstId, Share>,
    insts: &[InstId],
) -> BTreeSet<ValueId> {
    Search::new(function, effects, shares).insts(insts, Needed::new(), &Jumps::default())
}

/// The tiles whose elements are read later.
type Needed = BTreeSet<ValueId>;

/// What is needed where control goes that leaves a block.
#[derive(Clone, Default)]
struct Jumps {
    broken: Needed,
    continued: Needed,
}

/// What something does to tiles.
#[derive(Clone, Default)]
struct Step {
    /// Those that it takes elements of which it has not set.
    takes: Needed,
    writes: Needed,
    /// Those of which it sets all elements.
    sets: Needed,
    /// Pairs of a tile that is read and one that is set, element by element.
    handed: Vec<[ValueId; 2]>,
}

struct Search<'a> {
    function: &'a Function,
    effects: &'a EffectTable,
    shares: &'a IdMap<InstId, Share>,
    /// Pairs that are needed at the same time, the smaller number first.
    apart: BTreeSet<[ValueId; 2]>,
    heirs: Vec<[ValueId; 2]>,
    steps: IdMap<InstId, Step>,
}

impl<'a> Search<'a> {
    fn new(function: &'a Function, effects: &'a EffectTable, shares: &'a IdMap<InstId, Share>) -> Search<'a> {
        Search { function, effects, shares, apart: BTreeSet::new(), heirs: Vec::new(), steps: IdMap::default() }
    }

    /// What is needed at the beginning of a block.
    fn block(&mut self, block: BlockId, after: Needed, jumps: &Jumps) -> Needed {
        self.insts(&self.function.blocks[block].insts, after, jumps)
    }

    fn insts(&mut self, insts: &[InstId], after: Needed, jumps: &Jumps) -> Needed {
        let function = self.function;
        let mut needed = after;
        for &id in insts.iter().rev() {
            match function.insts[id].op {
                Op::Return(_) => needed.clear(),
                Op::Break(_) => needed.clone_from(&jumps.broken),
                Op::Continue(_) => needed.clone_from(&jumps.continued),
                Op::If { then, otherwise, .. } if !self.shares.contains_key(&id) => {
                    let mut both = self.block(then, needed.clone(), jumps);
                    both.extend(self.block(otherwise, needed, jumps));
                    needed = both;
                }
                Op::For { body, .. } if !self.shares.contains_key(&id) => needed = self.iterate(None, body, needed),
                Op::While { condition, body, .. } if !self.shares.contains_key(&id) => {
                    needed = self.iterate(Some(condition), body, needed);
                }
                straight!() | nested!() | Op::Yield(_) => needed = self.step(id, needed),
            }
        }
        needed
    }

    fn iterate(&mut self, condition: Option<BlockId>, body: BlockId, after: Needed) -> Needed {
        let mut start = after.clone();
        loop {
            let jumps = Jumps { broken: after.clone(), continued: start.clone() };
            let mut again = after.clone();
            again.extend(self.block(body, start.clone(), &jumps));
            if let Some(condition) = condition {
                again = self.block(condition, again, &jumps);
            }
            again.extend(start.iter().copied());
            if again == start {
                return start;
            }
            start = again;
        }
    }

    fn step(&mut self, id: InstId, after: Needed) -> Needed {
        let step = match self.steps.get(&id) {
            Some(known) => known.clone(),
            None => {
                let found = self.look(id);
                self.heirs.splice(0..0, found.handed.iter().copied());
                self.steps.insert(id, found.clone());
                found
            }
        };
        for &tile in &step.writes {
            for &other in after.iter().chain(&step.writes) {
                self.keep_apart(tile, other);
            }
            for &other in step.takes.iter().filter(|&&other| !step.handed.contains(&[other, tile])) {
                self.keep_apart(tile, other);
            }
        }
        let mut before = after;
        before.retain(|tile| !step.sets.contains(tile));
        before.extend(step.takes);
        before
    }

    fn keep_apart(&mut self, a: ValueId, b: ValueId) {
        if a != b {
            self.apart.insert([a.min(b), a.max(b)]);
        }
    }

    fn look(&self, id: InstId) -> Step {
        let function = self.function;
        let mut all = Vec::new();
        touches(function, self.effects, id, &mut all);
        for &block in function.insts[id].op.blocks().iter() {
            all.extend(all_touches(function, self.effects, block));
        }
        let mut step = Step::default();
        let dealt =
            if let (Some(Share::Dealt(dealt)), Op::For { body, .. }) = (self.shares.get(&id), &function.insts[id].op) {
                Some((dealt, *body))
            } else {
                None
            };
        let of = |tile: ValueId| all.iter().filter(move |touch| touch.memory == Memory::Block(tile));
        let touched: BTreeSet<ValueId> = all
            .iter()
            .filter_map(|touch| match touch.memory {
                Memory::Block(tile) => Some(tile),
                _ => None,
            })
            .collect();
        for &tile in &touched {
            let set = dealt.and_then(|(dealt, body)| of(tile).find(|touch| dealt.sets_all(function, body, touch)));
            let whole = set.is_some() || sets_whole(function, id, tile);
            let owner = dealt.zip(set).and_then(|((dealt, _), set)| dealt.owner(function, set));
            let mut is_set = false;
            for touch in of(tile) {
                is_set |= set.is_some_and(|set| set.at == touch.at);
                let own = is_set && dealt.and_then(|(dealt, _)| dealt.owner(function, touch)) == owner;
                let takes = touch.kind != Kind::Write && !own && !(whole && set.is_none());
                _ = takes && step.takes.insert(tile);
                _ = touch.kind != Kind::Read && step.writes.insert(tile);
            }
            _ = whole && step.sets.insert(tile);
        }
        if let Some((dealt, body)) = dealt {
            let order = Order::of(function, body);
            for &tile in step.takes.difference(&step.writes) {
                for &heir in &step.writes {
                    if function.ty(tile) == function.ty(heir) && order.hands(function, dealt, of(tile), of(heir)) {
                        step.handed.push([tile, heir]);
                    }
                }
            }
        }
        step
    }
}

/// Whether a product or a copy sets all of a tile.
fn sets_whole(function: &Function, id: InstId, tile: ValueId) -> bool {
    let Type::Local(ty) = function.ty(tile) else { return false };
    if let Op::Product(product, arrays) = &function.insts[id].op {
        product.part == Part::Set && arrays.first() == Some(&tile) && ty.extents() == &product.size[..2]
    } else if let Op::Copy(size, operands) = &function.insts[id].op {
        operands.first() == Some(&tile) && ty.extents() == size
    } else {
        false
    }
}

impl Dealt {
    /// Whether an access sets an element in each iteration, and all of the tile's in all
    /// iterations.
    pub(super) fn sets_all(&self, function: &Function, body: BlockId, touch: &Touch) -> bool {
        let Op::Store { access, .. } = &function.insts[touch.at].op else { return false };
        let Type::Local(ty) = function.ty(access.array) else { return false };
        let always = access.path.is_empty() && function.blocks[body].insts.contains(&touch.at);
        let mut left: Vec<(ValueId, Option<u64>)> = self.indices.clone();
        let each = access.indices.iter().zip(ty.extents()).all(|(&index, &extent)| {
            let sum = Sum::of(function, index);
            let along = |(dealt, count): &(ValueId, Option<u64>)| {
                sum.terms.len() == 1 && sum.terms.get(dealt) == Some(&1) && *count == Some(extent.into())
            };
            let found = left.iter().position(along);
            found.map(|n| left.remove(n));
            sum.constant == 0 && (found.is_some() || extent == 1 && sum.terms.is_empty())
        });
        always && each && self.start.is_none() && touch.memory == Memory::Block(access.array)
    }
}

/// Where instructions stand in a loop's body.
struct Order {
    /// The number of an instruction in the order of the text, and the loops around it.
    at: IdMap<InstId, (usize, Vec<InstId>)>,
}

impl Order {
    fn of(function: &Function, body: BlockId) -> Order {
        fn number(function: &Function, block: BlockId, around: &mut Vec<InstId>, order: &mut Order) {
            for &id in &function.blocks[block].insts {
                order.at.insert(id, (order.at.len(), around.clone()));
                let op = &function.insts[id].op;
                let repeats = !matches!(op, Op::If { .. });
                if repeats {
                    around.push(id);
                }
                op.blocks().iter().for_each(|&nested| number(function, nested, around, order));
                if repeats {
                    around.pop();
                }
            }
        }
        let mut order = Order { at: IdMap::default() };
        number(function, body, &mut Vec::new(), &mut order);
        order
    }

    /// Whether each iteration reads elements of one tile, then sets the same ones of another, which
    /// no other iteration reads.
    fn hands<'a>(
        &self,
        function: &Function,
        dealt: &Dealt,
        reads: impl Iterator<Item = &'a Touch>,
        heirs: impl Iterator<Item = &'a Touch>,
    ) -> bool {
        let (reads, heirs): (Vec<&Touch>, Vec<&Touch>) = (reads.collect(), heirs.collect());
        let Some(owner) = reads.first().and_then(|touch| dealt.owner(function, touch)) else { return false };
        let own = |touch: &&Touch| {
            touch.memory == Memory::Block(touch.array) && dealt.owner(function, touch).as_ref() == Some(&owner)
        };
        let before = |read: &Touch, heir: &Touch| match (self.at.get(&read.at), self.at.get(&heir.at)) {
            (Some((read, around)), Some((heir, other))) => {
                read < heir && !around.iter().any(|repeated| other.contains(repeated))
            }
            _ => false,
        };
        reads.iter().chain(&heirs).all(own) && reads.iter().all(|read| heirs.iter().all(|heir| before(read, heir)))
    }
}
