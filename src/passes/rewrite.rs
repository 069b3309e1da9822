//! One walk in program order that replaces instructions by simpler ones and takes branches whose conditions are known.
//! Replaced instructions stay, unused, for [`super::dce`].

use super::algebra::{Rewrite, simpler};
use super::fold::fold;
use crate::ir::{BlockId, Function, InstId, Op, Path, Step, ValueId, Values};
use crate::types::{StructTable, Type};

/// Rewrites a function; says whether anything changed.
pub fn run(function: &mut Function, structs: &StructTable) -> bool {
    walk(function, structs).changed
}

/// What a walk has done.
pub struct Walked {
    pub changed: bool,
    /// An operation took the place of another one, and may have a simpler form in turn. Otherwise a second walk finds nothing,
    /// unless something else has changed the function since: operands are replaced before they are used.
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
    /// What each value is known to be; itself at first. Definitions come before uses, so entries are final.
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

    /// Rewrites one instruction and puts what is left of it into `out`; true if the block ends with it.
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
                self.block(body);
            }
            Op::While { init, condition, body } => {
                if self.never_holds(condition) {
                    let params = self.function.blocks[condition].params.clone();
                    params.iter().zip(&init).for_each(|(&p, &i)| self.replace(p, i));
                    results.iter().zip(init).for_each(|(&r, i)| self.replace(r, i));
                    return self.inline(condition, &[], out);
                }
                self.block(condition);
                self.block(body);
            }
            _ => {}
        }
        out.push(id);
        false
    }

    /// A simpler operation in the place of one without blocks whose result is `result`, if there is any; or only the result is
    /// replaced.
    fn simple(&mut self, op: &Op, result: ValueId) -> Option<Op> {
        let ty = self.function.ty(result);
        let simple = match ty {
            Type::Scalar(scalar) => fold(self.function, op, scalar).map(|constant| Rewrite::Op(Op::Const(constant))),
            _ => None,
        };
        match simple.or_else(|| simpler(self.function, self.structs, op, ty))? {
            // Once replaced, the instruction is unused; a second round must not count it as a change again.
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

    /// Puts a block's instructions in the place of the instruction that holds it; its `yield` gives `results`.
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
        let yields = |block: BlockId| match self.function.terminator(block).map(|inst| &inst.op) {
            Some(Op::Yield(values)) => Some(values.clone()),
            _ => None,
        };
        if let (Some(a), Some(b)) = (yields(then), yields(otherwise)) {
            for ((&result, a), b) in results.iter().zip(a).zip(b) {
                if a == b && self.same[result.0 as usize] == result {
                    self.replace(result, a);
                }
            }
        }
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
        match self.function.terminator(condition).map(|inst| &inst.op) {
            Some(Op::Yield(values)) => {
                let value = values.first().map(|&v| self.resolve(v));
                value.and_then(|v| self.function.as_const(v)).is_some_and(|c| c.bits == 0)
            }
            _ => false,
        }
    }

    /// Turns steps by constants into fixed steps.
    fn fixed_steps(&mut self, op: &mut Op) {
        let (mut ty, path): (Type, &mut Path) = match op {
            Op::Extract(whole, path) | Op::Insert(whole, path, _) => (self.function.ty(*whole), path),
            op => {
                let Some(access) = op.access_mut() else { return };
                match self.function.ty(access.array) {
                    Type::Array(a) => (a.element.into(), &mut access.path),
                    Type::Local(a) => (a.element.into(), &mut access.path),
                    _ => return,
                }
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
