//! A choice between two values becomes a branch, where computing one of them can fail.
//!
//! `where(v > 0, sqrt(v), 0)` computes both values and takes one. In reverse, the side that was not taken would get the
//! adjoint 0 and pass on 0 times the derivative there, which may be infinite. As a branch, it is not reversed at all.
//!
//! What moves into the branch: instructions of the same block without effects whose results only this side reads; loads only
//! if nothing is written on the way. Choices between values that are there anyway stay as they are.

use std::collections::{HashMap, HashSet};

use super::functions::has_effect;
use crate::ids::IdVec;
use crate::ir::{Block, BlockId, FuncId, Function, Inst, InstId, Op, ValueId};

/// Makes branches; says whether there were any. `pure`: the functions without effects.
pub fn run(function: &mut Function, pure: &IdVec<FuncId, bool>) -> bool {
    let mut pass = Sink { users: users(function), pure, changed: false };
    let entry = function.entry;
    pass.block(function, entry);
    pass.changed
}

/// The instructions that read each value: of those nested in another, the one that stands in the value's own block.
fn users(function: &Function) -> HashMap<ValueId, HashSet<InstId>> {
    fn visit(
        function: &Function,
        block: BlockId,
        around: &mut Vec<InstId>,
        out: &mut HashMap<ValueId, HashSet<InstId>>,
    ) {
        for &id in &function.blocks[block].insts {
            around.push(id);
            let inst = &function.insts[id];
            // All around count: only the one in the value's block is asked for.
            inst.op.for_each_operand(|v| out.entry(v).or_default().extend(around.iter().copied()));
            inst.op.blocks().into_iter().for_each(|nested| visit(function, nested, around, out));
            around.pop();
        }
    }
    let mut out = HashMap::new();
    visit(function, function.entry, &mut Vec::new(), &mut out);
    out
}

struct Sink<'a> {
    users: HashMap<ValueId, HashSet<InstId>>,
    pure: &'a IdVec<FuncId, bool>,
    changed: bool,
}

impl Sink<'_> {
    fn block(&mut self, function: &mut Function, block: BlockId) {
        // From the end, so that a choice inside a side moves with it and is looked at there.
        let mut at = function.blocks[block].insts.len();
        while at > 0 {
            at -= 1;
            let id = function.blocks[block].insts[at];
            if let Op::Select { condition, then, otherwise } = function.insts[id].op
                && then != otherwise
            {
                let sides =
                    [then, otherwise].map(|side| self.side(function, block, at, side, [condition, then, otherwise]));
                if sides.iter().flatten().any(|inst| can_fail(function, &function.insts[*inst])) {
                    self.branch(function, block, id, condition, [then, otherwise], &sides);
                    at -= sides.iter().map(Vec::len).sum::<usize>();
                }
            }
            for nested in function.insts[id].op.blocks() {
                self.block(function, nested);
            }
        }
    }

    /// The instructions before position `at` that only this side of the choice there needs, in order.
    fn side(&self, function: &Function, block: BlockId, at: usize, side: ValueId, reads: [ValueId; 3]) -> Vec<InstId> {
        let insts = &function.blocks[block].insts;
        if reads.iter().filter(|v| **v == side).count() > 1 {
            return Vec::new();
        }
        let mut found: Vec<InstId> = Vec::new();
        let mut written = false;
        for &id in insts[..at].iter().rev() {
            let inst = &function.insts[id];
            let (reads_memory, effect) = self.memory(function, inst);
            let stays = effect || inst.results.is_empty() || reads_memory && written;
            let only_here = inst.results.iter().all(|r| {
                let mut users = self.users.get(r).into_iter().flatten();
                users.all(|user| found.contains(user) || !insts.contains(user) || (*user == insts[at] && *r == side))
            });
            let used = inst.results.iter().any(|r| self.users.get(r).is_some_and(|users| !users.is_empty()));
            if !stays && only_here && used {
                found.push(id);
            }
            written |= effect;
        }
        found.reverse();
        found
    }

    /// Whether an instruction reads memory, and whether it has effects.
    fn memory(&self, function: &Function, inst: &Inst) -> (bool, bool) {
        let mut found = match &inst.op {
            Op::Call(callee, _) => (true, !self.pure[*callee]),
            Op::Load { .. } => (true, false),
            // A local array is zeroed where it stands.
            Op::LocalArray => (true, true),
            op => (false, has_effect(op) || op.is_terminator()),
        };
        for block in inst.op.blocks() {
            function.walk(block, &mut |_, inst| {
                found.0 |= matches!(inst.op, Op::Load { .. } | Op::Call(..));
                found.1 |= has_effect(&inst.op)
                    || matches!(inst.op, Op::LocalArray | Op::Break(_) | Op::Continue(_) | Op::Return(_));
                found.1 |= matches!(inst.op, Op::Call(callee, _) if !self.pure[callee]);
            });
        }
        found
    }

    fn branch(
        &mut self,
        function: &mut Function,
        block: BlockId,
        id: InstId,
        condition: ValueId,
        values: [ValueId; 2],
        sides: &[Vec<InstId>; 2],
    ) {
        let span = function.insts[id].span;
        let mut blocks = [block; 2];
        for (n, side) in sides.iter().enumerate() {
            let give = function.insts.push(Inst {
                op: Op::Yield([values[n]].into_iter().collect()),
                results: Default::default(),
                span,
            });
            let insts = side.iter().copied().chain([give]).collect();
            blocks[n] = function.blocks.push(Block { params: Vec::new(), insts });
            // It now reads the value in the place of the choice.
            self.users.entry(values[n]).or_default().insert(give);
        }
        function.blocks[block].insts.retain(|inst| !sides.iter().any(|side| side.contains(inst)));
        function.insts[id].op = Op::If { condition, then: blocks[0], otherwise: blocks[1] };
        self.changed = true;
    }
}

/// Whether an instruction's derivative may be infinite, or its value make a product's derivative so.
fn can_fail(function: &Function, inst: &Inst) -> bool {
    use crate::ir::{BinaryOp, UnaryOp};
    let float = |v: ValueId| function.ty(v).scalar_part().is_some_and(|s| s.is_float());
    let variable = |v: ValueId| function.as_const(v).is_none();
    match &inst.op {
        Op::Unary(UnaryOp::Sqrt, _) => true,
        Op::Binary(BinaryOp::Mul, a, b) => float(*a) && variable(*a) && variable(*b),
        Op::Binary(BinaryOp::Div, a, b) => float(*a) && variable(*b),
        Op::Fma(..) | Op::Call(..) | Op::If { .. } | Op::For { .. } | Op::While { .. } => true,
        _ => false,
    }
}
