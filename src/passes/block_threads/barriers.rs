//! Where must the threads of a block wait for each other? Between two accesses to one array by
//! different threads, one of which writes.
//!
//! A walk over what all threads do together, with the accesses since the last barrier on any way.
//! Iterations of loops come after each other, and so do the blocks that a GPU's block of threads
//! does one after the other: tiles are in the same memory.

use std::collections::BTreeSet;

use super::accesses::{Kind, Memory, Touch, all_touches, touches};
use super::distribute::{Owner, Share};
use crate::analysis::effects::EffectTable;
use crate::ids::{IdMap, IdSet};
use crate::ir::{BlockId, Function, Inst, InstId, Op, ValueId, jumps, nested, straight};

/// The instructions that a barrier has to stand before.
fn needed(function: &Function, effects: &EffectTable, shares: &IdMap<InstId, Share>) -> BTreeSet<InstId> {
    let mut search = Search { function, effects, shares, found: BTreeSet::new(), known: IdMap::default(), depth: 0 };
    let mut before = State::new();
    loop {
        let found = search.found.len();
        let mut jumps = Jumps::default();
        let mut after = search.block(search.function.entry, before.clone(), &mut jumps);
        after.extend(jumps.returned);
        // Of the caller's arrays, another block may have the elements in any case.
        after.retain(|access| matches!(access.memory, Memory::Block(_)));
        let after = anew(after, |_| true);
        if search.found.len() == found && after.is_subset(&before) {
            break;
        }
        before.extend(after);
    }
    search.found
}

/// How many barriers a function needs.
pub(super) fn count(function: &Function, effects: &EffectTable, shares: &IdMap<InstId, Share>) -> usize {
    needed(function, effects, shares).len()
}

/// Puts barriers into a function whose loops are dealt out.
pub(super) fn place(function: &mut Function, effects: &EffectTable, shares: &IdMap<InstId, Share>) {
    let found = needed(function, effects, shares);
    let blocks: Vec<BlockId> = function.blocks.ids().collect();
    for block in blocks {
        let insts = std::mem::take(&mut function.blocks[block].insts);
        let mut with = Vec::with_capacity(insts.len());
        for id in insts {
            if found.contains(&id) {
                let span = function.insts[id].span;
                with.push(function.insts.push(Inst { op: Op::Barrier, results: Default::default(), span }));
            }
            with.push(id);
        }
        function.blocks[block].insts = with;
    }
}

/// Which thread an access is made by.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum By {
    /// Each one, of the same elements.
    All,
    First,
    /// The one that has the element.
    Owner(Owner),
    /// The one whose patch of a product it is in.
    Patches([u32; 6]),
    Any,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Access {
    memory: Memory,
    kind: Kind,
    by: By,
}

impl Access {
    fn conflicts(&self, other: &Access) -> bool {
        let meet = match (&self.memory, &other.memory) {
            // Two arrays of the caller's may overlap.
            (Memory::Global(_), Memory::Global(_)) => true,
            (Memory::Block(a), Memory::Block(b)) => a == b,
            _ => false,
        };
        let harmless = matches!((self.kind, other.kind), (Kind::Read, Kind::Read) | (Kind::Atomic, Kind::Atomic));
        let same_thread = match (&self.by, &other.by) {
            (By::First, By::First) => true,
            (By::Owner(a), By::Owner(b)) => a == b && self.memory == other.memory,
            (By::Patches(a), By::Patches(b)) => a == b && self.memory == other.memory,
            _ => false,
        };
        meet && !harmless && !same_thread
    }
}

/// The accesses since the last barrier.
type State = BTreeSet<Access>;

/// The accesses as they are known once values have been computed again: who has an element that was
/// dealt out from such a value on, nobody knows.
fn anew(state: State, computed: impl Fn(ValueId) -> bool) -> State {
    let forget = |access: Access| match &access.by {
        By::Owner(Owner { start: Some(start), .. }) if computed(*start) => Access { by: By::Any, ..access },
        _ => access,
    };
    state.into_iter().map(forget).collect()
}

/// What holds where control leaves a block before its end.
#[derive(Default)]
struct Jumps {
    broken: State,
    continued: State,
    returned: State,
}

struct Search<'a> {
    function: &'a Function,
    effects: &'a EffectTable,
    shares: &'a IdMap<InstId, Share>,
    /// The instructions that a barrier is before.
    found: BTreeSet<InstId>,
    known: IdMap<InstId, Vec<Access>>,
    /// The number of branches and loops around.
    depth: u32,
}

/// Inside more branches and loops than this, barriers stand where they are first needed: to look
/// for a better place takes several walks through each.
const MAX_DEPTH: u32 = 6;

impl Search<'_> {
    fn block(&mut self, block: BlockId, mut state: State, jumps: &mut Jumps) -> State {
        let function = self.function;
        for &id in &function.blocks[block].insts {
            let op = &function.insts[id].op;
            match op {
                Op::Return(_) => jumps.returned.extend(state.iter().cloned()),
                Op::Break(_) => jumps.broken.extend(state.iter().cloned()),
                Op::Continue(_) => jumps.continued.extend(state.iter().cloned()),
                Op::If { .. } | Op::For { .. } | Op::While { .. } if !self.shares.contains_key(&id) => {
                    state = self.control(id, op, state, jumps);
                }
                straight!() | nested!() | Op::Yield(_) => state = self.step(id, state),
            }
        }
        state
    }

    /// A branch or loop that all threads go through. What has to be waited for because of earlier
    /// accesses is waited for in front of it, and not in each branch or iteration.
    fn control(&mut self, id: InstId, op: &Op, mut before: State, jumps: &mut Jumps) -> State {
        if self.found.contains(&id) {
            before.clear();
        }
        if before.is_empty() || self.depth >= MAX_DEPTH {
            return self.inside(op, before, jumps);
        }
        // What it needs by itself.
        self.inside(op, State::new(), &mut Jumps::default());
        let own = self.found.clone();
        let after = self.inside(op, before, jumps);
        if self.found.len() == own.len() {
            return after;
        }
        self.found = own;
        self.found.insert(id);
        self.inside(op, State::new(), jumps)
    }

    fn inside(&mut self, op: &Op, before: State, jumps: &mut Jumps) -> State {
        self.depth += 1;
        let after = match *op {
            Op::If { then, otherwise, .. } => {
                let mut after = self.block(then, before.clone(), jumps);
                after.extend(self.block(otherwise, before, jumps));
                after
            }
            Op::For { body, .. } => self.iterate(None, body, before, jumps),
            Op::While { condition, body, .. } => self.iterate(Some(condition), body, before, jumps),
            straight!() | jumps!() => before,
        };
        self.depth -= 1;
        after
    }

    fn iterate(&mut self, condition: Option<BlockId>, body: BlockId, before: State, jumps: &mut Jumps) -> State {
        let mut start = before;
        loop {
            let found = self.found.len();
            let mut inner = Jumps::default();
            let tested = match condition {
                Some(condition) => self.block(condition, start.clone(), &mut inner),
                None => start.clone(),
            };
            let mut again = self.block(body, tested.clone(), &mut inner);
            again.extend(inner.continued);
            let again = self.around(again, body, condition);
            jumps.returned.extend(inner.returned);
            if again.is_subset(&start) && self.found.len() == found {
                let mut after = tested;
                after.extend(inner.broken);
                return after;
            }
            start.extend(again);
        }
    }

    /// The accesses of an iteration of a loop as they are known in the next one.
    fn around(&self, state: State, body: BlockId, condition: Option<BlockId>) -> State {
        if !state.iter().any(|access| matches!(access.by, By::Owner(Owner { start: Some(_), .. }))) {
            return state;
        }
        let blocks = [Some(body), condition].into_iter().flatten();
        let inside: IdSet<ValueId> = blocks.flat_map(|block| self.function.defined_in(block)).collect();
        anew(state, |value| inside.contains(&value))
    }

    fn step(&mut self, id: InstId, mut state: State) -> State {
        let accesses = match self.known.get(&id) {
            Some(known) => known.clone(),
            None => {
                let found = self.accesses(id);
                self.known.insert(id, found.clone());
                found
            }
        };
        if accesses.iter().any(|access| state.iter().any(|earlier| earlier.conflicts(access))) {
            self.found.insert(id);
        }
        if self.found.contains(&id) {
            state.clear();
        }
        state.extend(accesses);
        state
    }

    /// The accesses of an instruction, or of all that is in one that threads share.
    fn accesses(&self, id: InstId) -> Vec<Access> {
        let function = self.function;
        let mut all = Vec::new();
        let share = self.shares.get(&id);
        match share {
            None => touches(function, self.effects, id, &mut all),
            Some(_) => {
                for &block in function.insts[id].op.blocks().iter() {
                    all.extend(all_touches(function, self.effects, block));
                }
            }
        }
        let product = if let Op::Product(product, arrays) = &function.insts[id].op {
            arrays.first().map(|&result| (product, result))
        } else {
            None
        };
        let by = |touch: &Touch| match share {
            _ if product.is_some_and(|(_, result)| result == touch.array) => {
                product.map_or(By::Any, |(product, _)| By::Patches(product.owners()))
            }
            None if product.is_some() || matches!(function.insts[id].op, Op::Copy(..)) => By::Any,
            None => By::All,
            Some(Share::OneThread) => By::First,
            Some(Share::Dealt(dealt)) => dealt.owner(function, touch).map_or(By::Any, By::Owner),
        };
        let accesses = all.iter().filter(|touch| !matches!(touch.memory, Memory::Thread(_)));
        let found: BTreeSet<Access> =
            accesses.map(|touch| Access { memory: touch.memory.clone(), kind: touch.kind, by: by(touch) }).collect();
        found.into_iter().collect()
    }
}
