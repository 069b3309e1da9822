//! Which elements are surely others, by the conditions under which they are accessed?

use super::accesses::Sum;
use crate::ids::IdMap;
use crate::ir::{BinaryOp, BlockId, CompareOp, Function, InstId, Op, ValueId};

/// The conditions under which the accesses in a block stand, by instruction.
pub(super) fn guards(function: &Function, block: BlockId) -> IdMap<InstId, Vec<ValueId>> {
    let (mut found, mut held) = (IdMap::default(), Vec::new());
    function.blocks[block].insts.iter().for_each(|&id| note_guards(function, id, &mut held, &mut found));
    found
}

/// Those of the accesses in an instruction.
pub(in crate::passes) fn guards_in(function: &Function, id: InstId) -> IdMap<InstId, Vec<ValueId>> {
    let mut found = IdMap::default();
    note_guards(function, id, &mut Vec::new(), &mut found);
    found
}

fn note_guards(function: &Function, id: InstId, held: &mut Vec<ValueId>, found: &mut IdMap<InstId, Vec<ValueId>>) {
    let op = &function.insts[id].op;
    if !held.is_empty() && op.access().is_some() {
        found.insert(id, held.clone());
    }
    let mut inside = |block: BlockId, held: &mut Vec<ValueId>| {
        function.blocks[block].insts.iter().for_each(|&id| note_guards(function, id, held, found));
    };
    if let &Op::If { condition, then, otherwise } = op {
        let before = held.len();
        let mut all = vec![condition];
        while let Some(condition) = all.pop() {
            match function.def(condition).map(|inst| &inst.op) {
                Some(&Op::Binary(BinaryOp::And, a, b)) => all.extend([a, b]),
                // `a and b`, where `b` is looked at only if `a` holds.
                Some(&Op::If { condition: first, otherwise, .. }) if yields_false(function, otherwise) => {
                    all.push(first)
                }
                _ => held.push(condition),
            }
        }
        inside(then, held);
        held.truncate(before);
        inside(otherwise, held);
    } else {
        op.blocks().iter().for_each(|&nested| inside(nested, held));
    }
}

fn yields_false(function: &Function, block: BlockId) -> bool {
    match function.terminator(block).map(|inst| &inst.op) {
        Some(Op::Yield(values)) => match values[..] {
            [value] => function.as_const(value).is_some_and(|c| c.bits == 0),
            _ => false,
        },
        _ => false,
    }
}

/// What is known of values where elements are compared.
pub(in crate::passes) struct Known<'a> {
    pub function: &'a Function,
    /// The same for all that are compared.
    pub fixed: &'a dyn Fn(ValueId) -> bool,
    /// Never negative.
    pub natural: &'a dyn Fn(ValueId) -> bool,
    /// The value that an index stands for.
    pub plain: &'a dyn Fn(ValueId) -> ValueId,
}

impl Known<'_> {
    /// Whether an element at `i` is none at `j`, both under these conditions, as where a row is summed up by
    /// halves: `if i < n: t[i] += t[i + n]`, or `if i % (2 * n) == 0: t[i] += t[i + n]`.
    pub fn are_parted(&self, conditions: &[ValueId], i: ValueId, j: ValueId) -> bool {
        let sum = |v| Sum::of(self.function, v);
        let (first, second) = (sum((self.plain)(i)), sum((self.plain)(j)));
        // Negative ones count from the end.
        if !self.is_natural(&first) {
            return false;
        }
        conditions.iter().any(|&condition| match self.function.def(condition).map(|inst| &inst.op) {
            Some(&Op::Compare(CompareOp::Lt, x, n) | &Op::Compare(CompareOp::Gt, n, x)) => {
                // One is below `n`, which is positive then, the other one is `n` and more.
                let n = sum(n);
                sum(x) == first && self.is_fixed(&n) && self.is_natural(&second.less(&n))
            }
            Some(&Op::Compare(CompareOp::Eq, rest, zero)) => {
                let is_zero = self.function.as_const(zero).and_then(|c| c.as_int()) == Some(0);
                let Some(&Op::Binary(BinaryOp::Rem, x, n)) = self.function.def(rest).map(|inst| &inst.op) else {
                    return false;
                };
                // They are a multiple of `n` apart, and half of it.
                let (n, apart) = (sum(n), second.less(&first));
                let halves = n.less(&apart).less(&apart) == Sum::default() && self.is_natural(&apart);
                is_zero && sum(x) == first && self.is_fixed(&n) && halves
            }
            _ => false,
        })
    }

    fn is_fixed(&self, sum: &Sum) -> bool {
        sum.terms.keys().all(|&term| (self.fixed)(term))
    }

    fn is_natural(&self, sum: &Sum) -> bool {
        let natural = |(&term, &times): (&ValueId, &i128)| times > 0 && (self.natural)(term);
        sum.constant >= 0 && sum.terms.iter().all(natural)
    }
}
