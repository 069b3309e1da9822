//! How do loops become IR, and which of them are unrolled?

use smallvec::SmallVec;

use super::Lowering;
use crate::check::tree::*;
use crate::ids::Id;
use crate::ir::{BlockId, Const, Op, ValueId};
use crate::types::Scalar;

/// The most iterations of an unrolled loop.
const MAX_UNROLLED_ITERATIONS: i128 = 16;
/// The same of a function that works on tiles: the threads of a block share the iterations, and
/// elements lie in memory anyway.
const MAX_UNROLLED_OF_TILES: i128 = 3;
/// The most tree nodes that all copies of a body may have, nested unrolled loops counted in.
const MAX_UNROLLED_NODES: usize = 6000;

/// The iterations of a loop with constant bounds.
struct Iterations {
    scalar: Scalar,
    start: i128,
    step: i128,
    count: i128,
}

impl Iterations {
    fn of(start: Const, end: Const, step: Const) -> Option<Iterations> {
        let (first, end, step_by) = (start.as_int()?, end.as_int()?, step.as_int()?);
        let span = if step_by < 0 { first - end } else { end - first };
        let count = match step_by.abs() {
            0 => 0,
            size => span.max(0).div_euclid(size) + i128::from(span.max(0).rem_euclid(size) != 0),
        };
        Some(Iterations { scalar: start.scalar, start: first, step: step_by, count })
    }
}

impl<'a> Lowering<'a> {
    pub(super) fn for_statement(&mut self, stmt: &'a Stmt, variable: LocalId, bounds: [&'a Expr; 3], body: &'a [Stmt]) {
        let [start, end, step] = bounds.map(|bound| self.expr(bound));
        self.b.span = stmt.span;
        if let Some(iterations) = self.iterations_to_unroll(stmt, [start, end, step]) {
            return self.unroll(&iterations, variable, body);
        }
        let carried = self.flow.facts(stmt).changed.clone();
        let init = self.read_all(&carried);
        let mut params = vec![self.b.ty(start)];
        params.extend(self.types_of(&carried));
        let block = self.b.new_block(&params);
        let params: SmallVec<[ValueId; 8]> = SmallVec::from_slice(self.b.params(block));
        let before = self.env.clone();
        let outside = self.b.switch_to(block);
        self.assign_all(&carried, &params[1..]);
        self.assign(variable, params[0]);
        self.loop_body(&carried, body);
        self.b.switch_to(outside);
        self.env = before;
        self.b.span = stmt.span;
        let results = self.b.push(Op::For { start, end, step, init, body: block }, &self.types_of(&carried));
        self.assign_all(&carried, &results);
    }

    pub(super) fn while_statement(&mut self, stmt: &'a Stmt, condition: &'a Expr, body: &'a [Stmt]) {
        let facts = self.flow.facts(stmt);
        // What the condition assigns cannot leave a condition block: test in the body instead.
        let test_in_body = facts.condition_assigns;
        let carried = facts.changed.clone();
        let types = self.types_of(&carried);
        let init = self.read_all(&carried);
        let before = self.env.clone();

        let head = self.b.new_block(&types);
        let block = self.b.new_block(&types);
        let outside = self.b.switch_to(head);
        self.enter(head, &carried);
        let go_on = if test_in_body { self.b.constant(Const::bool(true)) } else { self.expr(condition) };
        self.b.yield_(&[go_on]);

        self.env.clone_from(&before);
        self.b.switch_to(block);
        self.enter(block, &carried);
        if test_in_body {
            self.loops.push(carried.clone());
            let go_on = self.expr(condition);
            self.break_unless(go_on);
            self.loops.pop();
        }
        self.loop_body(&carried, body);

        self.b.switch_to(outside);
        self.env = before;
        self.b.span = stmt.span;
        let results = self.b.push(Op::While { init, condition: head, body: block }, &types);
        self.assign_all(&carried, &results);
    }

    /// Makes the parameters of a loop's block the current values of what it carries.
    fn enter(&mut self, block: BlockId, carried: &[LocalId]) {
        let params: SmallVec<[ValueId; 8]> = SmallVec::from_slice(self.b.params(block));
        self.assign_all(carried, &params);
    }

    fn loop_body(&mut self, carried: &[LocalId], body: &'a [Stmt]) {
        self.loops.push(carried.to_vec());
        self.block(body);
        if !self.b.is_terminated() {
            let values = self.carried_values();
            self.b.effect(Op::Yield(values));
        }
        self.loops.pop();
    }

    fn break_unless(&mut self, condition: ValueId) {
        let then = self.b.new_block(&[]);
        let otherwise = self.b.new_block(&[]);
        self.b.effect(Op::If { condition, then, otherwise });
        let outside = self.b.switch_to(then);
        self.b.yield_(&[]);
        self.b.switch_to(otherwise);
        let values = self.carried_values();
        self.b.effect(Op::Break(values));
        self.b.switch_to(outside);
    }

    /// A loop is unrolled here when its bounds are constants and its iterations few, and it is
    /// library code or picks components of a small composite, which then stay in registers. Other
    /// loops are the passes' business.
    fn iterations_to_unroll(&self, stmt: &Stmt, bounds: [ValueId; 3]) -> Option<Iterations> {
        let [start, end, step] = bounds.map(|bound| self.known(bound));
        let iterations = Iterations::of(start?, end?, step?)?;
        let facts = self.flow.facts(stmt);
        let wanted = self.function.library || facts.selects_component;
        let nodes = facts.weight.saturating_mul(self.copies).saturating_mul(usize::try_from(iterations.count).ok()?);
        let on_tiles = self.function.library
            && self
                .function
                .locals
                .values()
                .take(self.function.param_count as usize)
                .any(|local| local.ty.is_local_array());
        let most = if on_tiles { MAX_UNROLLED_OF_TILES } else { MAX_UNROLLED_ITERATIONS };
        let small = iterations.count <= most && nodes <= MAX_UNROLLED_NODES;
        (wanted && small && !facts.jumps).then_some(iterations)
    }

    fn unroll(&mut self, iterations: &Iterations, variable: LocalId, body: &'a [Stmt]) {
        let copies = self.copies;
        let first = self.b.function.insts.len() as u32;
        self.copies = copies.saturating_mul(iterations.count.max(1) as usize);
        for iteration in 0..iterations.count {
            if self.b.is_terminated() {
                break;
            }
            let value = self.b.constant(Const::int(iterations.scalar, iterations.start + iteration * iterations.step));
            self.env[variable.index()] = Some(value);
            self.block(body);
        }
        self.copies = copies;
        let made = first..self.b.function.insts.len() as u32;
        // An inner loop's instructions lie inside those of the outer one.
        self.unrolled.retain(|inner| inner.start < made.start);
        self.unrolled.push(made);
    }
}
