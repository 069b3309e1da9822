//! What becomes of a loop that is left in the middle of an iteration?

use super::SingleExit;
use super::count::CountEnd;
use super::outcome::{Context, Left, Outcome, Outcomes, Slot};
use crate::ir::{
    BinaryOp, BlockId, CompareOp, Const, Inst, InstId, Op, UnaryOp, ValueDef, ValueId, Values, jumps, straight,
};
use crate::passes::loops::trips;
use crate::types::{BOOL, I32, Scalar, Type};

/// A `for` with at most this many iterations stays one.
const MAX_SKIPPED_ITERATIONS: u64 = 32;

impl SingleExit {
    /// Transforms a loop; returns its outcome if that may be a `return`.
    pub(super) fn a_loop(&mut self, id: InstId, body: BlockId) -> Option<Left> {
        let inst = self.rebuild.b.function.insts[id].clone();
        if let Op::While { condition, .. } = inst.op {
            let holds = vec![Slot { ty: BOOL, name: None }];
            self.filled(condition, &Context { fall: holds, ..Context::falling() });
        }
        let first = usize::from(matches!(inst.op, Op::For { .. }));
        let params = self.rebuild.b.params(body)[first..].to_vec();
        let outcomes = self.outcomes[body].without(Outcome::Fall).with(Outcome::Continue);
        let context = Context { outcomes, yields: Outcome::Continue, fall: Vec::new(), carried: self.slots(&params) };
        if outcomes == Outcomes::of(Outcome::Continue) {
            self.plain_blocks(id, &[body], &context);
            return None;
        }
        let returns = if outcomes.has(Outcome::Return) { self.returned.clone() } else { Vec::new() };
        let left = match inst.op {
            Op::For { start, end, step, .. }
                if trips(&self.rebuild.b.function, start, end, step).is_some_and(|n| n <= MAX_SKIPPED_ITERATIONS) =>
            {
                self.skipping_for(id, body, &context, &returns)
            }
            Op::For { start, end, step, .. } => {
                let end = CountEnd::new(&mut self.rebuild.b, end, step);
                let condition = self.rebuild.b.new_block(&[]);
                self.counting_while(id, start, end, condition, body, &context, &returns)
            }
            straight!() | Op::If { .. } | Op::While { .. } | jumps!() => {
                self.stopping_while(id, &inst, body, &context, &returns)
            }
        };
        outcomes.has(Outcome::Return).then(|| self.only_return(left))
    }

    /// Behind a loop, `break` is as good as its last iteration.
    fn only_return(&mut self, left: Left) -> Left {
        let flag = match left.flag {
            Some(flag) if self.rebuild.b.ty(flag) != BOOL => {
                let code = self.rebuild.b.int(Scalar::I32, Outcome::Return as i128);
                Some(self.rebuild.b.compare(CompareOp::Eq, flag, code))
            }
            flag => flag,
        };
        let outcomes = Outcomes::of(Outcome::Fall).with(Outcome::Return);
        Left { outcomes, flag, carried: Values::new(), returned: left.returned }
    }

    /// The slots that a loop carries in addition: its outcome and the results of the function.
    fn added(outcomes: Outcomes, returns: &[Slot]) -> Vec<Slot> {
        let flag = outcomes.flag().map(|ty| Slot { ty, name: Some("leave".to_string()) });
        flag.into_iter().chain(returns.iter().cloned()).collect()
    }

    /// The start of those: no iteration has left yet.
    fn added_init(&mut self, context: &Context, returns: &[Slot]) -> Values {
        let mut values = Values::new();
        values.push(match context.outcomes.flag() {
            Some(I32) => self.rebuild.b.int(Scalar::I32, Outcome::Continue as i128),
            _ => self.rebuild.b.constant(Const::bool(false)),
        });
        values.extend(returns.iter().map(|slot| self.rebuild.b.zero(slot.ty)));
        values
    }

    fn add_params(&mut self, block: BlockId, slots: &[Slot]) -> Values {
        let mut params = Values::new();
        for slot in slots {
            let param = self.rebuild.b.add_param(block, slot.ty);
            self.rebuild.b.function.values[param].name = slot.name.clone();
            params.push(param);
        }
        params
    }

    /// The values of an iteration in the order in which the loop carries them.
    fn in_loop_order(context: &Context, values: &[ValueId]) -> Values {
        // The iteration's slots are flag, carried, returned; the loop's carried, flag, returned.
        let count = context.carried.len();
        let (flag, rest) = values.split_at(1);
        rest[..count].iter().chain(flag).chain(&rest[count..]).copied().collect()
    }

    /// The results of a loop, of which `first` belong to something else, as an outcome.
    fn loop_left(&self, id: InstId, context: &Context, first: usize) -> Left {
        let results = &self.rebuild.b.function.insts[id].results[first..];
        let (carried, added) = results.split_at(context.carried.len());
        Left {
            outcomes: context.outcomes,
            flag: added.first().copied(),
            carried: Values::from_slice(carried),
            returned: Values::from_slice(added.get(1..).unwrap_or(&[])),
        }
    }

    /// `for` whose iterations do nothing once one has left.
    fn skipping_for(&mut self, id: InstId, body: BlockId, context: &Context, returns: &[Slot]) -> Left {
        let slots = Self::added(context.outcomes, returns);
        let added = self.added_init(context, returns);
        if let Op::For { init, .. } = &mut self.rebuild.b.function.insts[id].op {
            init.extend(added);
        }
        let insts = self.take(body);
        self.add_params(body, &slots);
        slots.iter().for_each(|slot| self.add_result(id, slot));
        let before: Values = Values::from_slice(&self.rebuild.b.params(body)[1..]);
        let outside = self.rebuild.b.switch_to(body);
        let span = self.rebuild.b.span;
        let condition = self.not_lowest(context.outcomes, before.get(context.carried.len()).copied());
        let (then, otherwise) = (self.rebuild.b.new_block(&[]), self.rebuild.b.new_block(&[]));
        self.rebuild.b.switch_to(then);
        self.rebuild.b.yield_(&before);
        self.rebuild.b.switch_to(otherwise);
        let values = self.region(insts, context);
        let values = Self::in_loop_order(context, &values);
        self.rebuild.b.effect(Op::Yield(values));
        self.rebuild.b.switch_to(body);
        self.rebuild.b.span = span;
        let types: Vec<Type> = before.iter().map(|&v| self.rebuild.b.ty(v)).collect();
        let results = self.rebuild.b.push(Op::If { condition, then, otherwise }, &types);
        for (&result, &param) in results.iter().zip(&before) {
            self.rebuild.b.function.values[result].name = self.rebuild.b.function.values[param].name.clone();
        }
        self.rebuild.b.yield_(&results);
        self.rebuild.b.switch_to(outside);
        self.rebuild.b.append(id);
        self.loop_left(id, context, 0)
    }

    /// `while` whose condition also asks whether an iteration has left.
    fn stopping_while(&mut self, id: InstId, inst: &Inst, body: BlockId, context: &Context, returns: &[Slot]) -> Left {
        let Op::While { condition, .. } = inst.op else { unreachable!("called for `while` alone") };
        let slots = Self::added(context.outcomes, returns);
        let added = self.added_init(context, returns);
        if let Op::While { init, .. } = &mut self.rebuild.b.function.insts[id].op {
            init.extend(added);
        }
        slots.iter().for_each(|slot| self.add_result(id, slot));
        let flag = self.add_params(condition, &slots).first().copied();
        self.add_params(body, &slots);
        self.stop_on(condition, context.outcomes, flag);
        let insts = self.take(body);
        let outside = self.rebuild.b.switch_to(body);
        let values = self.region(insts, context);
        let values = Self::in_loop_order(context, &values);
        self.rebuild.b.effect(Op::Yield(values));
        self.rebuild.b.switch_to(outside);
        self.rebuild.b.append(id);
        self.loop_left(id, context, 0)
    }

    /// Makes a condition block false where the outcome is not to go on. Its code is not run then,
    /// unless it is harmless.
    fn stop_on(&mut self, condition: BlockId, outcomes: Outcomes, flag: Option<ValueId>) {
        let mut insts = self.take(condition);
        let function = &self.rebuild.b.function;
        let harmless = insts.iter().all(|&id| {
            let op = &function.insts[id].op;
            op.is_terminator() || op.properties().is_value()
        });
        let outside = self.rebuild.b.switch_to(condition);
        let left = self.not_lowest(outcomes, flag);
        let going = self.rebuild.b.unary(UnaryOp::Not, left);
        let holds = if harmless {
            let last = insts.remove(0);
            insts.into_iter().rev().for_each(|inst| self.rebuild.b.append(inst));
            let holds = if let Op::Yield(values) = &self.rebuild.b.function.insts[last].op {
                values.first().copied()
            } else {
                None
            };
            match holds {
                Some(holds) => self.rebuild.b.binary(BinaryOp::And, going, holds),
                None => going,
            }
        } else {
            let (then, otherwise) = (self.rebuild.b.new_block(&[]), self.rebuild.b.new_block(&[]));
            insts.reverse();
            self.rebuild.b.function.blocks[then].insts = insts;
            self.rebuild.b.switch_to(otherwise);
            let no = self.rebuild.b.constant(Const::bool(false));
            self.rebuild.b.yield_(&[no]);
            self.rebuild.b.switch_to(condition);
            self.rebuild.b.one(Op::If { condition: going, then, otherwise }, BOOL)
        };
        self.rebuild.b.yield_(&[holds]);
        self.rebuild.b.switch_to(outside);
    }

    /// `for` as a `while` that carries the counter first.
    #[expect(clippy::too_many_arguments, reason = "the parts of one loop")]
    fn counting_while(
        &mut self,
        id: InstId,
        start: ValueId,
        end: CountEnd,
        condition: BlockId,
        body: BlockId,
        context: &Context,
        returns: &[Slot],
    ) -> Left {
        let slots = Self::added(context.outcomes, returns);
        let added = self.added_init(context, returns);
        let Op::For { init, .. } = self.rebuild.b.function.insts[id].op.clone() else {
            unreachable!("called for `for` alone")
        };
        let init = std::iter::once(start).chain(init).chain(added).collect();
        self.rebuild.b.function.insts[id].op = Op::While { init, condition, body };
        let counter = self.rebuild.b.params(body)[0];
        // The counter is first among the results too, so that the others move.
        let results = std::mem::take(&mut self.rebuild.b.function.insts[id].results);
        self.rebuild.b.add_result(id, self.rebuild.b.ty(counter));
        for (n, &result) in results.iter().enumerate() {
            self.rebuild.b.function.values[result].def = ValueDef::Result(id, n as u32 + 1);
        }
        self.rebuild.b.function.insts[id].results.extend(results);
        slots.iter().for_each(|slot| self.add_result(id, slot));
        let before = self.slots(self.rebuild.b.params(body));
        self.add_params(body, &slots);
        let params = self.add_params(condition, &before);
        let flag = self.add_params(condition, &slots).first().copied();
        let outside = self.rebuild.b.switch_to(condition);
        let inside = end.not_reached(&mut self.rebuild.b, params[0]);
        self.rebuild.b.yield_(&[inside]);
        self.stop_on(condition, context.outcomes, flag);
        let insts = self.take(body);
        self.rebuild.b.switch_to(body);
        let span = self.rebuild.b.span;
        let values = self.region(insts, context);
        self.rebuild.b.span = span;
        let next = end.next(&mut self.rebuild.b, counter);
        let values = std::iter::once(next).chain(Self::in_loop_order(context, &values)).collect();
        self.rebuild.b.effect(Op::Yield(values));
        self.rebuild.b.switch_to(outside);
        self.rebuild.b.append(id);
        self.loop_left(id, context, 1)
    }
}
