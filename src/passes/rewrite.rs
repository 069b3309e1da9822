//! One walk in program order that replaces instructions by simpler ones and takes branches whose
//! conditions are known. Replaced instructions stay, unused, for [`super::dce`].

use super::algebra::{Rewrite, simpler};
use super::fold::fold;
use crate::ir::{
    BinaryOp, BlockId, Function, InstId, Op, Path, Step, UnaryOp, ValueDef, ValueId, Values, jumps, straight,
};
use crate::types::{BOOL, StructTable, Type};

/// Rewrites a function; says whether anything changed.
pub fn run(function: &mut Function, structs: &StructTable) -> bool {
    walk(function, structs).changed
}

/// What a walk has done.
pub struct Walked {
    pub changed: bool,
    /// An operation took the place of another one, and may have a simpler form in turn. Otherwise a
    /// second walk finds nothing, unless something else has changed the function since: operands
    /// are replaced before they are used.
    pub unfinished: bool,
}

/// Rewrites a function.
pub fn walk(function: &mut Function, structs: &StructTable) -> Walked {
    let same = function.values.ids().collect();
    let entry = function.entry;
    let mut rewriter = Rewriter { function, structs, same, changed: false, unfinished: false };
    rewriter.block(entry);
    Walked { changed: rewriter.changed, unfinished: rewriter.unfinished }
}

struct Rewriter<'a> {
    function: &'a mut Function,
    structs: &'a StructTable,
    /// What each value is known to be; itself at first. Definitions come before uses, so entries
    /// are final.
    same: Vec<ValueId>,
    changed: bool,
    /// See [`Walked`].
    unfinished: bool,
}

impl Rewriter<'_> {
    fn block(&mut self, block: BlockId) {
        let insts = std::mem::take(&mut self.function.blocks[block].insts);
        let mut out = Vec::with_capacity(insts.len());
        let count = insts.len();
        let ended = insts.into_iter().position(|inst| self.inst(inst, &mut out));
        // Behind a branch that surely leaves, nothing is reached.
        self.changed |= ended.is_some_and(|at| at + 1 < count);
        self.function.blocks[block].insts = out;
    }

    /// Replaces `old` by `new` from here on.
    fn replace(&mut self, old: ValueId, new: ValueId) {
        self.same[old.0 as usize] = new;
        self.changed = true;
        if self.function.values[new].name.is_none() && self.function.as_const(new).is_none() {
            self.function.values[new].name = self.function.values[old].name.clone();
        }
    }

    fn resolve(&self, value: ValueId) -> ValueId {
        self.same[value.0 as usize]
    }

    fn resolved(&self, values: &[ValueId]) -> Values {
        values.iter().map(|&v| self.resolve(v)).collect()
    }

    /// Rewrites one instruction and puts what is left of it into `out`; true if the block ends with
    /// it.
    fn inst(&mut self, id: InstId, out: &mut Vec<InstId>) -> bool {
        let mut op = std::mem::replace(&mut self.function.insts[id].op, Op::Zero);
        op.for_each_operand_mut(|v| *v = self.same[v.0 as usize]);
        self.fixed_steps(&mut op);
        if op.blocks().is_empty() {
            if let [result] = self.function.insts[id].results[..]
                && let Some(simpler) = self.simple(&op, result)
            {
                op = simpler;
            }
            let last = op.is_terminator();
            self.function.insts[id].op = op;
            out.push(id);
            return last;
        }
        self.function.insts[id].op = op.clone();
        let results = self.function.insts[id].results.clone();
        match op {
            Op::If { condition, then, otherwise } => {
                if let Some(known) = self.function.as_const(condition) {
                    self.changed = true;
                    return self.inline(if known.bits != 0 { then } else { otherwise }, &results, out);
                }
                self.block(then);
                self.block(otherwise);
                self.agreeing_results(then, otherwise, &results);
            }
            Op::For { start, end, step, init, body } => {
                if self.never_runs(start, end, step) {
                    results.iter().zip(init).for_each(|(&r, i)| self.replace(r, i));
                    return false;
                }
                let params = self.function.blocks[body].params[1..].to_vec();
                self.twins(&init, body, &[&params, &results]);
                self.block(body);
            }
            Op::While { init, condition, body } => {
                if self.never_holds(condition) {
                    let params = self.function.blocks[condition].params.clone();
                    params.iter().zip(&init).for_each(|(&p, &i)| self.replace(p, i));
                    results.iter().zip(init).for_each(|(&r, i)| self.replace(r, i));
                    return self.inline(condition, &[], out);
                }
                let [tested, params] = [condition, body].map(|block| self.function.blocks[block].params.clone());
                self.twins(&init, body, &[&tested, &params, &results]);
                self.block(condition);
                self.block(body);
                self.false_inside(condition, body);
            }
            straight!() | jumps!() => {}
        }
        out.push(id);
        false
    }

    /// A simpler operation in the place of one without blocks whose result is `result`, if there is
    /// any; or only the result is replaced.
    fn simple(&mut self, op: &Op, result: ValueId) -> Option<Op> {
        let ty = self.function.ty(result);
        let simple = match ty {
            Type::Scalar(scalar) => fold(self.function, op, scalar).map(|constant| Rewrite::Op(Op::Const(constant))),
            _ => None,
        };
        match simple.or_else(|| simpler(self.function, self.structs, op, ty))? {
            // Once replaced, the instruction is unused; a second round must not count it as a
            // change again.
            Rewrite::Same(value) => {
                self.replace(result, value);
                None
            }
            Rewrite::Op(op) => {
                self.changed = true;
                self.unfinished |= !matches!(op, Op::Const(_) | Op::Zero);
                Some(op)
            }
        }
    }

    /// Puts a block's instructions in the place of the instruction that holds it; its `yield` gives
    /// `results`.
    fn inline(&mut self, block: BlockId, results: &[ValueId], out: &mut Vec<InstId>) -> bool {
        for inst in std::mem::take(&mut self.function.blocks[block].insts) {
            if let Op::Yield(values) = &self.function.insts[inst].op {
                let values = self.resolved(values);
                results.iter().zip(values).for_each(|(&r, v)| self.replace(r, v));
                return false;
            }
            if self.inst(inst, out) {
                return true;
            }
        }
        false
    }

    /// A result for which both branches give one value is that value.
    fn agreeing_results(&mut self, then: BlockId, otherwise: BlockId, results: &[ValueId]) {
        let [a, b] = [then, otherwise].map(|block| Values::from_slice(self.function.yielded(block)));
        for ((&result, a), b) in results.iter().zip(a).zip(b) {
            if a == b && self.same[result.0 as usize] == result {
                self.replace(result, a);
            }
        }
    }

    /// Of counters that a loop carries, those that begin with one constant and add one constant are
    /// one. `slots`: the places where what is carried has a name, those of the body among them.
    fn twins(&mut self, init: &[ValueId], body: BlockId, slots: &[&[ValueId]]) {
        let function = &*self.function;
        let Some(Op::Yield(next)) = function.terminator(body).map(|inst| &inst.op) else { return };
        let step = |n: usize| {
            let start = function.as_const(self.resolve(init[n]))?;
            let Op::Binary(BinaryOp::Add, a, b) = function.def(*next.get(n)?)?.op else { return None };
            let step = function.as_const(self.resolve(b))?;
            let is_carried = slots.iter().any(|params| params.get(n) == Some(&a));
            (is_carried && start.scalar.is_int()).then_some((start.scalar, start.bits, step.bits))
        };
        let mut counters: Vec<_> = (0..init.len()).filter_map(|n| Some((step(n)?, n))).collect();
        counters.sort_by_key(|&((_, start, step), n)| (start, step, n));
        let pairs: Vec<(usize, usize)> = counters
            .chunk_by(|(a, _), (b, _)| a == b)
            .flat_map(|same| same[1..].iter().map(|&(_, twin)| (same[0].1, twin)))
            .collect();
        // Where an iteration ends early, what goes on is not what is at its end.
        let leaves = |op: &Op| matches!(op, Op::Break(_) | Op::Continue(_));
        let mut early = false;
        if !pairs.is_empty() {
            function.walk(body, &mut |_, inst| early |= leaves(&inst.op));
        }
        for (kept, twin) in pairs.into_iter().filter(|_| !early) {
            slots.iter().for_each(|params| self.replace(params[twin], params[kept]));
        }
    }

    /// Where a `while` goes on only as long as something that it carries is false, a branch of its
    /// body that makes that false leaves it as it is.
    fn false_inside(&mut self, condition: BlockId, body: BlockId) {
        let yielded = |function: &Function, block: BlockId, n: usize| function.yielded(block).get(n).copied();
        let mut conjuncts = Vec::from_iter(yielded(self.function, condition, 0));
        while let Some(value) = conjuncts.pop() {
            let tested = if let Some(&Op::Binary(BinaryOp::And, a, b)) = self.function.op(value)
                && self.function.ty(value) == BOOL
            {
                conjuncts.extend([a, b]);
                continue;
            } else if let Some(&Op::Unary(UnaryOp::Not, tested)) = self.function.op(value) {
                tested
            } else {
                continue;
            };
            let Some(n) = self.function.blocks[condition].params.iter().position(|&p| p == tested) else { continue };
            let param = self.function.blocks[body].params[n];
            let mut next = yielded(self.function, body, n);
            while let Some((inst, at)) = next.and_then(|value| self.result_of(value)) {
                let Op::If { then, otherwise, .. } = self.function.insts[inst].op else { break };
                let branches = [then, otherwise].map(|block| (block, yielded(self.function, block, at)));
                let is_constant = branches.map(|(_, v)| v.and_then(|v| self.function.as_const(v)).map(|c| c.bits));
                next = match is_constant {
                    [Some(0), None] => self.leaves(branches[0].0, at, param).and(branches[1].1),
                    [None, Some(0)] => self.leaves(branches[1].0, at, param).and(branches[0].1),
                    _ => None,
                };
            }
        }
    }

    /// The instruction whose result a value is, and which of its results.
    fn result_of(&self, value: ValueId) -> Option<(InstId, usize)> {
        match self.function.values[value].def {
            ValueDef::Result(inst, _) => {
                let at = self.function.insts[inst].results.iter().position(|&r| r == value)?;
                Some((inst, at))
            }
            _ => None,
        }
    }

    /// Makes a block yield another value at one place.
    fn leaves(&mut self, block: BlockId, at: usize, value: ValueId) -> Option<()> {
        let id = *self.function.blocks[block].insts.last()?;
        let Op::Yield(values) = &mut self.function.insts[id].op else { return None };
        *values.get_mut(at)? = value;
        self.changed = true;
        Some(())
    }

    fn never_runs(&self, start: ValueId, end: ValueId, step: ValueId) -> bool {
        let int = |value: ValueId| self.function.as_const(value).and_then(|c| c.as_int());
        match (int(start), int(end), int(step)) {
            (_, _, Some(0)) => true,
            (Some(start), Some(end), Some(step)) => {
                if step > 0 {
                    start >= end
                } else {
                    start <= end
                }
            }
            _ => false,
        }
    }

    fn never_holds(&self, condition: BlockId) -> bool {
        let value = self.function.yielded(condition).first().map(|&v| self.resolve(v));
        value.and_then(|v| self.function.as_const(v)).is_some_and(|c| c.bits == 0)
    }

    /// Turns steps by constants into fixed steps.
    fn fixed_steps(&mut self, op: &mut Op) {
        let (mut ty, path): (Type, &mut Path) = if let Op::Extract(whole, path) | Op::Insert(whole, path, _) = op {
            (self.function.ty(*whole), path)
        } else {
            let Some(access) = op.access_mut() else { return };
            match self.function.ty(access.array) {
                Type::Array(a) => (a.element.into(), &mut access.path),
                Type::Local(a) => (a.element.into(), &mut access.path),
                _ => return,
            }
        };
        for step in path {
            if let Step::Dynamic(value) = *step
                && let Some(index) = self.function.as_const(value).and_then(|c| c.as_int())
            {
                let count = ty.step_count(self.structs);
                let index = if index < 0 { index + i128::from(count) } else { index };
                if let Some(n) = u32::try_from(index).ok().filter(|&n| n < count) {
                    *step = Step::At(n);
                    self.changed = true;
                }
            }
            let index = if let Step::At(n) = *step { Some(n) } else { None };
            match ty.step(index, self.structs) {
                Some(part) => ty = part,
                None => return,
            }
        }
    }
}
