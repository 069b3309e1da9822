//! Which stores can only a run tell apart?
//!
//! `y[to[i]]`, `y[first[i] + k]` and `y[i * stride]` differ from thread to thread as tables and
//! numbers of the launch say: nothing here speaks for or against it. `y[i // 2]` and `y[i * 3 + k]`
//! with k up to 8 meet whatever they are given, and so does `y[to[i]]` in a launch of two
//! coordinates. `if j == 0` and `if i % 32 == 0` choose the threads that store: those have one j,
//! and `i // 32` of their own.

use std::collections::BTreeSet;

use crate::analysis::guards::{Guards, guards};
use crate::analysis::uniformity::Uniformity;
use crate::ids::{IdMap, IdVec};
use crate::ir::{
    Access, BinaryOp, BlockId, CompareOp, Function, FunctionKind, Inst, InstId, Op, ValueDef, ValueId, ViewIndex,
};

/// A kernel, with what its indices are looked for in.
pub struct RunTime<'a> {
    function: &'a Function,
    uniformity: &'a Uniformity,
    /// Equal values, by the first of them.
    first: &'a IdVec<ValueId, ValueId>,
    /// The loop that a block is the body of.
    loops: IdMap<BlockId, InstId>,
    guards: Guards,
}

/// What the threads that make an access have in common, as its guards say.
#[derive(Default)]
struct Chosen {
    /// Coordinates of the launch.
    coordinates: Vec<u8>,
    /// Remainders: of a value by another one.
    remainders: Vec<(ValueId, ValueId)>,
}

impl<'a> RunTime<'a> {
    pub fn new(function: &'a Function, uniformity: &'a Uniformity, first: &'a IdVec<ValueId, ValueId>) -> RunTime<'a> {
        let mut loops = IdMap::default();
        function.walk(function.entry, &mut |id, inst| {
            if matches!(inst.op, Op::For { .. } | Op::While { .. }) {
                inst.op.blocks().into_iter().for_each(|block| _ = loops.insert(block, id));
            }
        });
        RunTime { function, uniformity, first, loops, guards: guards(function, function.entry) }
    }

    /// Whether numbers that a run knows decide if two threads have the element of an access.
    pub fn decides(&self, id: InstId, access: &Access) -> bool {
        let FunctionKind::Kernel { rank } = self.function.kind else { return false };
        let (mut indices, mut array) = (access.indices.to_vec(), access.array);
        while let Some(Op::View(inner, dims)) = self.function.op(array) {
            indices.extend(dims.iter().filter_map(|dim| if let ViewIndex::At(at) = dim { Some(*at) } else { None }));
            array = *inner;
        }
        let chosen = self.chosen(id);
        let apart = |n: &u8| !chosen.coordinates.contains(n);
        let along = |n: u8| indices.iter().any(|&index| self.uniformity.varies_along(index, n));
        let mut given = false;
        (0..rank).filter(apart).all(along)
            && indices.iter().all(|&index| self.keeps_apart(index, &chosen, &mut given))
            && given
    }

    /// What the guards of an access say of the threads that make it.
    fn chosen(&self, id: InstId) -> Chosen {
        let mut chosen = Chosen::default();
        for guard in self.guards.get(&id).into_iter().flatten() {
            let Some(&Op::Compare(op, a, b)) = self.function.op(guard.condition) else { continue };
            if op != if guard.holds { CompareOp::Eq } else { CompareOp::Ne } {
                continue;
            }
            for (side, other) in [(a, b), (b, a)] {
                if !self.uniformity.is_invariant(other) {
                    continue;
                }
                if let Some(&Op::ThreadIndex(n)) = self.function.op(self.number(side)) {
                    chosen.coordinates.push(n);
                } else if let Some(&Op::Binary(BinaryOp::Rem, of, by)) = self.function.op(self.number(side)) {
                    chosen.remainders.push((self.number(of), self.number(by)));
                }
            }
        }
        chosen
    }

    /// The first of the values that are this number, however wide.
    fn number(&self, value: ValueId) -> ValueId {
        let mut at = value;
        while let Some(&Op::Cast(inner)) = self.function.op(at)
            && !self.function.ty(inner).is_float()
        {
            at = inner;
        }
        self.first.get(at).copied().unwrap_or(at)
    }

    /// Whether an index is computed in ways that keep different numbers apart; `given` becomes true
    /// where one of them is not known here.
    fn keeps_apart(&self, index: ValueId, chosen: &Chosen, given: &mut bool) -> bool {
        let (mut seen, mut left) = (BTreeSet::new(), vec![index]);
        while let Some(value) = left.pop() {
            if !seen.insert(value) || self.function.as_const(value).is_some() {
                continue;
            }
            let (inst, n) = match self.function.values[value].def {
                ValueDef::Param(block, n) => {
                    match self.loops.get(&block) {
                        Some(&of) => self.carried(&self.function.insts[of], n as usize, &mut left),
                        None => *given = true,
                    }
                    continue;
                }
                ValueDef::Result(inst, n) => (&self.function.insts[inst], n as usize),
            };
            let op = &inst.op;
            if matches!(op, Op::Load(_) | Op::Atomic { .. } | Op::AtomicCas { .. } | Op::Extent(..) | Op::Call(..)) {
                *given = true;
            } else if let Op::Select { then, otherwise, .. } = op {
                left.extend([*then, *otherwise]);
            } else if let Op::If { then, otherwise, .. } = op {
                left.extend([then, otherwise].into_iter().filter_map(|b| self.function.yielded(*b).get(n)));
            } else if matches!(op, Op::For { .. } | Op::While { .. }) {
                self.kept(inst, n, &mut left);
            } else if keeps_numbers_apart(self.function, op) {
                op.for_each_operand(|operand| left.push(operand));
            } else if let Op::Binary(BinaryOp::Div | BinaryOp::FloorDiv, of, by) = op
                && self.is_among(*of, *by, &chosen.remainders)
            {
                *given = true;
                left.push(*of);
            } else if !matches!(op, Op::ThreadIndex(_) | Op::ThreadNumber) {
                return false;
            }
        }
        true
    }

    /// Whether the remainder of this quotient is among those that are the same for all threads.
    fn is_among(&self, of: ValueId, by: ValueId, remainders: &[(ValueId, ValueId)]) -> bool {
        let (of, by) = (self.number(of), self.number(by));
        let equal = |other: ValueId| {
            other == by
                || self
                    .function
                    .as_const(by)
                    .is_some_and(|c| self.function.as_const(other).is_some_and(|other| c.as_int() == other.as_int()))
        };
        remainders.iter().any(|&(number, divisor)| number == of && equal(divisor))
    }

    /// What parameter `n` of a loop's block is: the number of a counted loop is between its bounds.
    fn carried(&self, of: &Inst, n: usize, left: &mut Vec<ValueId>) {
        if let Op::For { start, end, step, .. } = &of.op
            && n == 0
        {
            left.extend([*start, *end, *step]);
        } else {
            self.kept(of, n - usize::from(matches!(of.op, Op::For { .. })), left);
        }
    }

    /// What the values that a loop carries are: at first, and after an iteration.
    fn kept(&self, of: &Inst, n: usize, left: &mut Vec<ValueId>) {
        let (Op::For { init, body, .. } | Op::While { init, body, .. }) = &of.op else { return };
        left.extend(init.get(n));
        left.extend(self.function.yielded(*body).get(n));
    }
}

/// Whether different operands mostly give different results: a quotient, a remainder or an extreme
/// is one number for many.
fn keeps_numbers_apart(function: &Function, op: &Op) -> bool {
    let is_whole = |value: ValueId| !function.ty(value).is_float();
    matches!(op, Op::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul, ..) | Op::Unary(..) | Op::Extract(..))
        || matches!(op, Op::Cast(inner) if is_whole(*inner))
}
