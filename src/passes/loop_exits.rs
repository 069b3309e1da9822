//! One exit for every region: how does code look without `break`, `continue` and early `return`?
//!
//! Afterwards only the entry block ends in `return`, and every other block in `yield`. What left a
//! region in the middle is then an *outcome* that the region yields, with a payload: the values
//! that the loop carries, or the function's results.
//!
//! * Where one branch of an `if` always leaves, the rest of the block moves into the other branch.
//!   Nothing is copied.
//! * Where a branch leaves only sometimes, the `if` also yields its outcome, and the rest of the
//!   block is under an `if` on that.
//! * A loop that a `break` or `return` may end carries the outcome. A `while` stops on it. A `for`
//!   becomes such a `while`; one with few iterations, known in number, stays and skips those that
//!   are left, so that it remains countable.
//!
//! Outcomes are a bool where there are two, else an int32.

use outcome::{Context, Left, Outcome, Outcomes, Slot, find_outcomes};

use super::rebuild::Rebuild;
use crate::ids::{IdMap, IdVec};
use crate::ir::{BlockId, CompareOp, Const, Function, InstId, Op, Results, ValueId, Values, nested, straight};
use crate::types::{BOOL, Scalar};

mod count;
mod iterations;
mod outcome;

/// Brings a function into single-exit form; says whether it was not. Without early exits it stays
/// as it is.
pub fn run(function: &mut Function) -> bool {
    if is_single_exit(function) {
        return false;
    }
    let mut outcomes: IdVec<BlockId, Outcomes> = function.blocks.ids().map(|_| Outcomes::NONE).collect();
    find_outcomes(function, function.entry, &mut outcomes);
    let entry = function.entry;
    let returned: Vec<Slot> = function.results.iter().map(|r| Slot { ty: r.ty, name: None }).collect();
    let mut pass = SingleExit { rebuild: Rebuild::start(function), outcomes, joins: IdMap::default(), returned };
    let outcomes = Outcomes::of(Outcome::Return);
    let context = Context { outcomes, yields: Outcome::Return, fall: Vec::new(), carried: Vec::new() };
    let insts = pass.take(entry);
    let values = pass.region(insts, &context);
    pass.rebuild.b.effect(Op::Return(values));
    pass.rebuild.finish(function);
    true
}

/// Whether no `break` or `continue` is left, and no `return` but the one at the end.
pub fn is_single_exit(function: &Function) -> bool {
    let last = function.blocks[function.entry].insts.last().copied();
    let mut single = true;
    function.walk(function.entry, &mut |id, inst| {
        single &= match inst.op {
            Op::Break(_) | Op::Continue(_) => false,
            Op::Return(_) => Some(id) == last,
            straight!() | nested!() | Op::Yield(_) => true,
        };
    });
    single
}

struct SingleExit {
    rebuild: Rebuild,
    outcomes: IdVec<BlockId, Outcomes>,
    /// A `yield` whose region goes on behind its `if`, and the results of that.
    joins: IdMap<InstId, Results>,
    returned: Vec<Slot>,
}

impl SingleExit {
    /// The instructions of a block, last one first; the block is empty then.
    fn take(&mut self, block: BlockId) -> Vec<InstId> {
        let mut insts = self.rebuild.take(block);
        insts.reverse();
        insts
    }

    /// Appends instructions (last one first) to the current block up to the end of the region,
    /// except for its terminator, whose values it gives.
    fn region(&mut self, mut insts: Vec<InstId>, context: &Context) -> Values {
        while let Some(id) = insts.pop() {
            match self.rebuild.visit(id) {
                Op::Yield(values) => match self.joins.remove(&id) {
                    Some(results) => results.iter().zip(values).for_each(|(&r, v)| self.rebuild.replace(r, v)),
                    None => return self.outcome(context, context.yields, &values),
                },
                Op::Continue(values) => return self.outcome(context, Outcome::Continue, &values),
                Op::Break(values) => return self.outcome(context, Outcome::Break, &values),
                Op::Return(values) => return self.outcome(context, Outcome::Return, &values),
                Op::If { then, otherwise, .. } => {
                    let inner = self.outcomes[then].union(self.outcomes[otherwise]);
                    if inner == Outcomes::of(Outcome::Fall) {
                        let fall = self.slots(&self.rebuild.b.function.insts[id].results.clone());
                        self.plain_blocks(id, &[then, otherwise], &Context { fall, ..Context::falling() });
                    } else if let Some((leaving, staying)) = self.leaving_branch(then, otherwise) {
                        return self.rest_in_branch(id, leaving, staying, insts, context);
                    } else {
                        let left = self.flagged_if(id, [then, otherwise], inner, context);
                        return self.guarded_rest(&left, insts, context);
                    }
                }
                Op::For { body, .. } | Op::While { body, .. } => {
                    if let Some(left) = self.a_loop(id, body) {
                        return self.guarded_rest(&left, insts, context);
                    }
                }
                straight!() => self.rebuild.b.append(id),
            }
        }
        // A verified region ends in a terminator; its last `if` may have left nothing to reach.
        self.outcome(context, context.yields, &[])
    }

    fn slots(&self, values: &[ValueId]) -> Vec<Slot> {
        values
            .iter()
            .map(|&v| Slot { ty: self.rebuild.b.ty(v), name: self.rebuild.b.function.values[v].name.clone() })
            .collect()
    }

    /// Treats blocks without outcomes of their own, and appends the instruction that holds them.
    fn plain_blocks(&mut self, id: InstId, blocks: &[BlockId], context: &Context) {
        for &block in blocks {
            self.filled(block, context);
        }
        self.rebuild.b.append(id);
    }

    /// Treats a block in its place.
    fn filled(&mut self, block: BlockId, context: &Context) {
        let insts = self.take(block);
        self.fill(block, insts, context);
    }

    fn fill(&mut self, block: BlockId, insts: Vec<InstId>, context: &Context) {
        let outside = self.rebuild.b.switch_to(block);
        let span = self.rebuild.b.span;
        let values = self.region(insts, context);
        self.rebuild.b.effect(Op::Yield(values));
        self.rebuild.b.switch_to(outside);
        self.rebuild.b.span = span;
    }

    /// The branch that never falls through, and the other one.
    fn leaving_branch(&self, then: BlockId, otherwise: BlockId) -> Option<(BlockId, BlockId)> {
        let leaves = |block: BlockId| !self.outcomes[block].has(Outcome::Fall);
        if leaves(then) { Some((then, otherwise)) } else { leaves(otherwise).then_some((otherwise, then)) }
    }

    /// The rest of the region moves into the branch that may reach it.
    fn rest_in_branch(
        &mut self,
        id: InstId,
        leaving: BlockId,
        staying: BlockId,
        mut rest: Vec<InstId>,
        context: &Context,
    ) -> Values {
        let results = std::mem::take(&mut self.rebuild.b.function.insts[id].results);
        self.filled(leaving, context);
        let mut insts = self.take(staying);
        if self.outcomes[staying].has(Outcome::Fall)
            && let Some(&join) = insts.first()
        {
            rest.append(&mut insts);
            self.joins.insert(join, results);
            self.fill(staying, rest, context);
        } else {
            self.fill(staying, insts, context);
        }
        self.add_slots(id, context);
        self.rebuild.b.append(id);
        self.rebuild.b.function.insts[id].results.iter().copied().collect()
    }

    /// Lets an `if` also yield how its branches end.
    fn flagged_if(&mut self, id: InstId, blocks: [BlockId; 2], outcomes: Outcomes, outer: &Context) -> Left {
        let fall = self.slots(&self.rebuild.b.function.insts[id].results.clone());
        let count = fall.len();
        let context = Context { outcomes, yields: Outcome::Fall, fall, carried: outer.carried.clone() };
        for block in blocks {
            self.filled(block, &context);
        }
        let slots = context.slots(&self.returned).split_off(count);
        for slot in slots {
            self.add_result(id, &slot);
        }
        self.rebuild.b.append(id);
        let results = self.rebuild.b.function.insts[id].results.clone();
        context.left(&results)
    }

    /// The rest of the region, which is not reached when a part of it has left; `left` says when.
    fn guarded_rest(&mut self, left: &Left, rest: Vec<InstId>, context: &Context) -> Values {
        let condition = self.not_lowest(left.outcomes, left.flag);
        let (then, otherwise) = (self.rebuild.b.new_block(&[]), self.rebuild.b.new_block(&[]));
        let span = self.rebuild.b.span;
        let outside = self.rebuild.b.switch_to(then);
        let values = self.forward(left, context);
        self.rebuild.b.effect(Op::Yield(values));
        self.rebuild.b.switch_to(outside);
        self.fill(otherwise, rest, context);
        self.rebuild.b.span = span;
        self.rebuild.b.effect(Op::If { condition, then, otherwise });
        let id = *self.rebuild.b.function.blocks[outside].insts.last().expect("it was just appended");
        self.add_slots(id, context);
        self.rebuild.b.function.insts[id].results.iter().copied().collect()
    }

    /// Whether an outcome is another than the first of the set: for an `if` falling through, for a
    /// loop going on.
    fn not_lowest(&mut self, outcomes: Outcomes, flag: Option<ValueId>) -> ValueId {
        let lowest = outcomes.iter().next().unwrap_or(Outcome::Fall);
        match flag {
            Some(flag) if self.rebuild.b.ty(flag) == BOOL => flag,
            Some(flag) => {
                let code = self.rebuild.b.int(Scalar::I32, lowest as i128);
                self.rebuild.b.compare(CompareOp::Ne, flag, code)
            }
            None => self.rebuild.b.constant(Const::bool(false)),
        }
    }

    /// A run-time outcome of an inner region (not the lowest of its set), as the values of the
    /// outer one.
    fn forward(&mut self, left: &Left, context: &Context) -> Values {
        let mut others = left.outcomes.iter().skip(1);
        let (first, second) = (others.next(), others.next());
        match (first, second, left.flag) {
            (Some(outcome), None, _) | (Some(outcome), _, None) => {
                let payload = if outcome == Outcome::Return { &left.returned } else { &left.carried };
                self.outcome(context, outcome, payload)
            }
            (_, _, Some(flag)) => {
                let flag = match context.outcomes.flag() {
                    Some(BOOL) => {
                        let last = context.outcomes.iter().next_back().unwrap_or(Outcome::Return);
                        let code = self.rebuild.b.int(Scalar::I32, last as i128);
                        Some(self.rebuild.b.compare(CompareOp::Eq, flag, code))
                    }
                    Some(_) => Some(flag),
                    None => None,
                };
                self.pack(context, &[], flag, &left.carried, &left.returned)
            }
            (None, ..) => self.pack(context, &[], None, &[], &[]),
        }
    }

    /// The values of a region that ends in a known way.
    fn outcome(&mut self, context: &Context, outcome: Outcome, values: &[ValueId]) -> Values {
        let flag = context.outcomes.flag().map(|ty| {
            if ty == BOOL {
                let last = context.outcomes.iter().next_back();
                self.rebuild.b.constant(Const::bool(last == Some(outcome)))
            } else {
                self.rebuild.b.int(Scalar::I32, outcome as i128)
            }
        });
        match outcome {
            Outcome::Fall => self.pack(context, values, flag, &[], &[]),
            Outcome::Continue | Outcome::Break => self.pack(context, &[], flag, values, &[]),
            Outcome::Return => self.pack(context, &[], flag, &[], values),
        }
    }

    /// Puts values in the order of the context's slots; those not given are zero, since nothing
    /// reads them.
    fn pack(
        &mut self,
        context: &Context,
        fall: &[ValueId],
        flag: Option<ValueId>,
        carried: &[ValueId],
        returned: &[ValueId],
    ) -> Values {
        let mut values = Values::new();
        let mut put = |pass: &mut Self, slots: &[Slot], given: &[ValueId], wanted: bool| {
            if wanted {
                for (n, slot) in slots.iter().enumerate() {
                    let value = given.get(n).copied();
                    values.push(value.unwrap_or_else(|| pass.rebuild.b.zero(slot.ty)));
                }
            }
        };
        let outcomes = context.outcomes;
        put(self, &context.fall, fall, outcomes.has(Outcome::Fall));
        if let Some(ty) = outcomes.flag() {
            put(self, &[Slot { ty, name: None }], flag.as_slice(), true);
        }
        put(self, &context.carried, carried, outcomes.leaves_iteration());
        let slots = self.returned.clone();
        put(self, &slots, returned, outcomes.has(Outcome::Return));
        values
    }

    fn add_result(&mut self, id: InstId, slot: &Slot) {
        let value = self.rebuild.b.add_result(id, slot.ty);
        self.rebuild.b.function.values[value].name = slot.name.clone();
    }

    /// Makes the context's slots the results of an instruction that has none.
    fn add_slots(&mut self, id: InstId, context: &Context) {
        for slot in context.slots(&self.returned) {
            self.add_result(id, &slot);
        }
    }
}

#[cfg(test)]
mod tests;
