//! How does control go on after a region, and what does the region yield for it?

use crate::ids::IdVec;
use crate::ir::{BlockId, Function, Op, ValueId, Values, straight};
use crate::types::{BOOL, I32, Type};

/// How control goes on after a region. The numbers are the codes of outcomes at run time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    /// To the code behind it.
    Fall = 0,
    /// To the next iteration of the innermost loop.
    Continue = 1,
    /// Behind the innermost loop.
    Break = 2,
    /// Out of the function.
    Return = 3,
}

pub(super) const ALL: [Outcome; 4] = [Outcome::Fall, Outcome::Continue, Outcome::Break, Outcome::Return];

/// A set of outcomes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Outcomes(u8);

impl Outcomes {
    pub(super) const NONE: Outcomes = Outcomes(0);

    pub(super) fn of(outcome: Outcome) -> Outcomes {
        Outcomes(1 << outcome as u8)
    }

    pub(super) fn with(self, outcome: Outcome) -> Outcomes {
        Outcomes(self.0 | Outcomes::of(outcome).0)
    }

    pub(super) fn without(self, outcome: Outcome) -> Outcomes {
        Outcomes(self.0 & !Outcomes::of(outcome).0)
    }

    pub(super) fn union(self, other: Outcomes) -> Outcomes {
        Outcomes(self.0 | other.0)
    }

    pub(super) fn has(self, outcome: Outcome) -> bool {
        self.0 & Outcomes::of(outcome).0 != 0
    }

    pub(super) fn len(self) -> u32 {
        self.0.count_ones()
    }

    pub(super) fn iter(self) -> impl DoubleEndedIterator<Item = Outcome> {
        ALL.into_iter().filter(move |&o| self.has(o))
    }

    /// The type of a value that says which: none is needed for a single one.
    pub(super) fn flag(self) -> Option<Type> {
        match self.len() {
            0 | 1 => None,
            2 => Some(BOOL),
            _ => Some(I32),
        }
    }

    /// A loop's outcomes carry its values.
    pub(super) fn leaves_iteration(self) -> bool {
        self.has(Outcome::Continue) || self.has(Outcome::Break)
    }
}

/// Records the outcomes of a block and of those nested in it. A loop may always be followed by what
/// is behind it.
pub(super) fn find_outcomes(function: &Function, block: BlockId, all: &mut IdVec<BlockId, Outcomes>) -> Outcomes {
    let mut found = Outcomes::NONE;
    let mut reached = true;
    for &id in &function.blocks[block].insts {
        let inner: Vec<Outcomes> =
            function.insts[id].op.blocks().iter().map(|&b| find_outcomes(function, b, all)).collect();
        if !reached {
            continue;
        }
        let inner = inner.into_iter().fold(Outcomes::NONE, Outcomes::union);
        match function.insts[id].op {
            Op::Yield(_) => found = found.with(Outcome::Fall),
            Op::Continue(_) => found = found.with(Outcome::Continue),
            Op::Break(_) => found = found.with(Outcome::Break),
            Op::Return(_) => found = found.with(Outcome::Return),
            Op::If { .. } => {
                found = found.union(inner.without(Outcome::Fall));
                reached = inner.has(Outcome::Fall);
            }
            Op::For { .. } | Op::While { .. } if inner.has(Outcome::Return) => found = found.with(Outcome::Return),
            straight!() | Op::For { .. } | Op::While { .. } => {}
        }
    }
    all[block] = found;
    found
}

/// A value that a region yields.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    pub(super) ty: Type,
    pub(super) name: Option<String>,
}

/// What a region yields: `fall`'s values if it may fall through, the flag if there are several
/// outcomes, the carried values if it may leave an iteration, the function's results if it may
/// return.
#[derive(Clone)]
pub(super) struct Context {
    pub(super) outcomes: Outcomes,
    /// What `yield` at the region's end means.
    pub(super) yields: Outcome,
    pub(super) fall: Vec<Slot>,
    /// What the innermost loop carries.
    pub(super) carried: Vec<Slot>,
}

/// The values of an outcome that is known only at run time.
#[derive(Clone)]
pub(super) struct Left {
    pub(super) outcomes: Outcomes,
    pub(super) flag: Option<ValueId>,
    pub(super) carried: Values,
    pub(super) returned: Values,
}

impl Context {
    /// Of a region that only falls through, and yields nothing.
    pub(super) fn falling() -> Context {
        let outcomes = Outcomes::of(Outcome::Fall);
        Context { outcomes, yields: Outcome::Fall, fall: Vec::new(), carried: Vec::new() }
    }

    /// What the region yields, in order.
    pub(super) fn slots(&self, returned: &[Slot]) -> Vec<Slot> {
        let mut slots = Vec::new();
        if self.outcomes.has(Outcome::Fall) {
            slots.extend(self.fall.iter().cloned());
        }
        slots.extend(self.outcomes.flag().map(|ty| Slot { ty, name: Some("leave".to_string()) }));
        if self.outcomes.leaves_iteration() {
            slots.extend(self.carried.iter().cloned());
        }
        if self.outcomes.has(Outcome::Return) {
            slots.extend(returned.iter().cloned());
        }
        slots
    }

    /// Results in the order of the slots, as an outcome.
    pub(super) fn left(&self, results: &[ValueId]) -> Left {
        let mut rest = results;
        let mut cut = |count: usize| {
            let (head, tail) = rest.split_at(count.min(rest.len()));
            rest = tail;
            Values::from_slice(head)
        };
        cut(if self.outcomes.has(Outcome::Fall) { self.fall.len() } else { 0 });
        let flag = cut(usize::from(self.outcomes.flag().is_some())).first().copied();
        let carried = cut(if self.outcomes.leaves_iteration() { self.carried.len() } else { 0 });
        Left { outcomes: self.outcomes, flag, carried, returned: Values::from_slice(rest) }
    }
}
