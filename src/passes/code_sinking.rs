//! Code sinking: a choice between two values becomes a branch, where computing one of them can
//! fail.
//!
//! `where(v > 0, sqrt(v), 0)` computes both values and takes one. In reverse, the side that was not
//! taken would get the adjoint 0 and pass on 0 times the derivative there, which may be infinite.
//! As a branch, it is not reversed at all.
//!
//! What moves into the branch: instructions of the same block without effects whose results only
//! this side reads; loads only if nothing is written on the way. Choices between values that are
//! there anyway stay as they are.

use std::collections::BinaryHeap;

use smallvec::SmallVec;

use crate::analysis::effects::EffectTable;
use crate::ids::IdSet;
use crate::ir::{
    BinaryOp, Block, BlockId, Function, Inst, InstId, Op, UnaryOp, ValueDef, ValueId, accesses, arrays, effects, jumps,
    parts, threads,
};

/// Makes branches of choices; says whether there were any.
pub fn run(function: &mut Function, effects: &EffectTable) -> bool {
    let chooses = |inst: &Inst| matches!(inst.op, Op::Select { .. });
    if !function.has(chooses) || !function.has(|inst| can_fail(function, inst)) {
        return false;
    }
    let mut pass = Sink::new(function, effects);
    pass.block(function, function.entry, Work::MakeBranches);
    pass.changed
}

/// Moves what only one branch of an `if` reads into that branch, under the same conditions; says
/// whether there was any.
pub fn into_branches(function: &mut Function, effects: &EffectTable) -> bool {
    if !function.has(|inst| matches!(inst.op, Op::If { .. })) {
        return false;
    }
    let mut pass = Sink::new(function, effects);
    pass.block(function, function.entry, Work::FillBranches);
    pass.changed
}

/// What is done.
#[derive(Clone, Copy)]
enum Work {
    MakeBranches,
    FillBranches,
}

impl Work {
    /// Whether there is something to do at an operation.
    fn begins_at(self, op: &Op) -> bool {
        match self {
            Work::MakeBranches => matches!(op, Op::Select { .. }),
            Work::FillBranches => matches!(op, Op::If { .. }),
        }
    }
}

/// The block at hand.
struct Here {
    block: BlockId,
    /// How many of the first n instructions have effects.
    effects: Vec<usize>,
}

struct Sink<'a> {
    effects: &'a EffectTable,
    /// The instructions that read each value, and those that they are nested in.
    users: Vec<SmallVec<[InstId; 4]>>,
    /// The block of each instruction, and its place there.
    home: Vec<(BlockId, usize)>,
    changed: bool,
}

impl<'a> Sink<'a> {
    fn new(function: &Function, effects: &'a EffectTable) -> Sink<'a> {
        let mut pass = Sink {
            effects,
            users: function.values.ids().map(|_| SmallVec::new()).collect(),
            home: vec![(function.entry, 0); function.insts.len()],
            changed: false,
        };
        pass.count(function, function.entry, &mut Vec::new());
        pass
    }

    fn count(&mut self, function: &Function, block: BlockId, around: &mut Vec<InstId>) {
        for (at, &id) in function.blocks[block].insts.iter().enumerate() {
            self.home[id.0 as usize] = (block, at);
            around.push(id);
            let inst = &function.insts[id];
            inst.op.for_each_operand(|v| self.users[v.0 as usize].extend_from_slice(around));
            inst.op.blocks().into_iter().for_each(|nested| self.count(function, nested, around));
            around.pop();
        }
    }

    /// Works on a block and those in it.
    fn block(&mut self, function: &mut Function, block: BlockId, work: Work) {
        if function.blocks[block].insts.iter().any(|&id| work.begins_at(&function.insts[id].op)) {
            self.insts(function, block, work);
        }
        for at in 0..function.blocks[block].insts.len() {
            let id = function.blocks[block].insts[at];
            for nested in function.insts[id].op.blocks() {
                self.block(function, nested, work);
            }
        }
    }

    /// Works on the instructions of a block from its end, so that what moves into a branch can sink
    /// further there.
    fn insts(&mut self, function: &mut Function, block: BlockId, work: Work) {
        let mut effects = vec![0];
        for (at, &id) in function.blocks[block].insts.iter().enumerate() {
            self.home[id.0 as usize] = (block, at);
            effects.push(effects[at] + usize::from(self.memory(function, &function.insts[id]).1));
        }
        let here = Here { block, effects };
        let mut moved = IdSet::default();
        for at in (0..function.blocks[block].insts.len()).rev() {
            let id = function.blocks[block].insts[at];
            if work.begins_at(&function.insts[id].op) && !moved.contains(&id) {
                moved.extend(match work {
                    Work::MakeBranches => self.branch_of_choice(function, &here, id),
                    Work::FillBranches => self.fill_branches(function, &here, id),
                });
            }
        }
        if !moved.is_empty() {
            self.changed = true;
            function.blocks[block].insts.retain(|id| !moved.contains(id));
        }
    }

    /// Makes a branch of a choice with a side that can fail.
    fn branch_of_choice(&mut self, function: &mut Function, here: &Here, id: InstId) -> IdSet<InstId> {
        let Op::Select { condition, then, otherwise } = function.insts[id].op else { return IdSet::default() };
        if then == otherwise {
            return IdSet::default();
        }
        let sides =
            [then, otherwise].map(|side| match [condition, then, otherwise].iter().filter(|v| **v == side).count() {
                1 => self.only_for(function, here, id, &[side], &|_| true, &|user, value| user == id && value == side),
                _ => Vec::new(),
            });
        if !sides.iter().flatten().any(|&inst| can_fail(function, &function.insts[inst])) {
            return IdSet::default();
        }
        let span = function.insts[id].span;
        let blocks = [(then, &sides[0]), (otherwise, &sides[1])].map(|(value, side)| {
            let give = function.insts.push(Inst {
                op: Op::Yield([value].into_iter().collect()),
                results: Default::default(),
                span,
            });
            let insts: Vec<InstId> = side.iter().copied().chain([give]).collect();
            let block = function.blocks.push(Block { params: Vec::new(), insts });
            self.home.push((block, 0));
            // It now reads the value in the place of the choice.
            self.users[value.0 as usize].extend([give, id]);
            block
        });
        function.insts[id].op = Op::If { condition, then: blocks[0], otherwise: blocks[1] };
        self.changed = true;
        for (side, block) in sides.iter().zip(blocks) {
            self.now_inside(function, id, block, side);
        }
        sides.into_iter().flatten().collect()
    }

    /// Moves what an `if` alone needs into its branches.
    fn fill_branches(&mut self, function: &mut Function, here: &Here, id: InstId) -> IdSet<InstId> {
        let mut all = IdSet::default();
        let Op::If { condition, then, otherwise } = function.insts[id].op else { return all };
        for (branch, other) in [(then, otherwise), (otherwise, then)] {
            let mut roots = Vec::new();
            function.walk(branch, &mut |_, inst| inst.op.for_each_operand(|v| roots.push(v)));
            let fine = |user: InstId, value: ValueId| {
                user == id && value != condition && self.users_in(value, other).next().is_none()
            };
            // Whole regions stay, and what costs nothing.
            let takes = |op: &Op| {
                op.blocks().is_empty() && !matches!(op, Op::Const(_) | Op::Zero | Op::ThreadIndex(_) | Op::IsSet(_))
            };
            let found = self.only_for(function, here, id, &roots, &takes, &fine);
            self.now_inside(function, id, branch, &found);
            all.extend(found.iter().copied());
            function.blocks[branch].insts.splice(0..0, found);
        }
        all
    }

    fn users_in(&self, value: ValueId, block: BlockId) -> impl Iterator<Item = InstId> {
        let users = self.users[value.0 as usize].iter().copied();
        users.filter(move |user| self.home[user.0 as usize].0 == block)
    }

    /// The instructions before `id` in its block that compute `roots` and nothing that others read,
    /// in order, as far as `takes` allows. `fine` says whether an instruction's reading of a value
    /// is that of the side in question.
    fn only_for(
        &self,
        function: &Function,
        here: &Here,
        id: InstId,
        roots: &[ValueId],
        takes: &dyn Fn(&Op) -> bool,
        fine: &dyn Fn(InstId, ValueId) -> bool,
    ) -> Vec<InstId> {
        let end = self.home[id.0 as usize].1;
        let place = |value: ValueId| match function.values[value].def {
            ValueDef::Result(inst, _) => {
                let (block, at) = self.home[inst.0 as usize];
                (block == here.block && at < end).then_some((at, inst))
            }
            ValueDef::Param(..) => None,
        };
        // From the last to the first: all that may read a value has been decided before it.
        let mut waiting: BinaryHeap<(usize, InstId)> = roots.iter().filter_map(|&v| place(v)).collect();
        if waiting.is_empty() {
            return Vec::new();
        }
        let (mut seen, mut found) = (IdSet::default(), IdSet::default());
        let mut order = Vec::new();
        while let Some((at, candidate)) = waiting.pop() {
            if !seen.insert(candidate) {
                continue;
            }
            let inst = &function.insts[candidate];
            let (reads, effect) = self.memory(function, inst);
            let written = here.effects[end] > here.effects[at + 1];
            let only = inst
                .results
                .iter()
                .all(|&r| self.users_in(r, here.block).all(|user| found.contains(&user) || fine(user, r)));
            if effect || reads && written || !only || !takes(&inst.op) {
                continue;
            }
            found.insert(candidate);
            order.push(candidate);
            inst.op.for_each_operand(|v| waiting.extend(place(v)));
            for nested in inst.op.blocks() {
                function.walk(nested, &mut |_, inst| inst.op.for_each_operand(|v| waiting.extend(place(v))));
            }
        }
        order.reverse();
        order
    }

    /// Instructions have moved into a block inside the instruction `around`.
    fn now_inside(&mut self, function: &Function, around: InstId, block: BlockId, moved: &[InstId]) {
        for &id in moved {
            self.home[id.0 as usize] = (block, 0);
            let inst = &function.insts[id];
            inst.op.for_each_operand(|v| self.users[v.0 as usize].push(around));
            for nested in inst.op.blocks() {
                function
                    .walk(nested, &mut |_, inst| inst.op.for_each_operand(|v| self.users[v.0 as usize].push(around)));
            }
        }
    }

    /// Whether an instruction reads memory, and whether it must stay where it is.
    fn memory(&self, function: &Function, inst: &Inst) -> (bool, bool) {
        // A local array is zeroed where it is; a `while` inside ends where its region ends.
        let look = |op: &Op| {
            let own = self.effects.properties(op);
            let stays = own.has_side_effect() || own.allocates || own.convergent;
            let call = matches!(op, Op::Call(..)) && own.may_not_return;
            (own.reads || own.allocates, stays || call)
        };
        let mut found = look(&inst.op);
        found.1 |= inst.op.is_terminator();
        for block in inst.op.blocks() {
            function.walk(block, &mut |_, inst| {
                let (reads, stays) = look(&inst.op);
                found.0 |= reads;
                found.1 |= stays || matches!(inst.op, Op::Break(_) | Op::Continue(_) | Op::Return(_));
            });
        }
        found
    }
}

/// Whether an instruction's derivative may be infinite, or its value make a product's derivative
/// so.
fn can_fail(function: &Function, inst: &Inst) -> bool {
    let float = |v: ValueId| function.ty(v).scalar_part().is_some_and(|s| s.is_float());
    let variable = |v: ValueId| function.as_const(v).is_none();
    match &inst.op {
        Op::Unary(UnaryOp::Sqrt, _) => true,
        Op::Binary(BinaryOp::Mul, a, b) => float(*a) && variable(*a) && variable(*b),
        Op::Binary(BinaryOp::Div, a, b) => float(*a) && variable(*b),
        Op::Fma(..) | Op::Call(..) | Op::If { .. } | Op::For { .. } | Op::While { .. } => true,
        Op::Const(_)
        | Op::Unary(..)
        | Op::Binary(..)
        | Op::Compare(..)
        | Op::Cast(_)
        | Op::Bitcast(_)
        | parts!()
        | threads!()
        | arrays!()
        | accesses!()
        | effects!()
        | jumps!() => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::effects::effects;
    use crate::ir::parse::parse;
    use crate::ir::verify::verify;

    /// What `pass` makes of the body of a function: its blocks as the operations in them, the outer
    /// one first.
    fn after(body: &str, pass: fn(&mut Function, &EffectTable) -> bool) -> Vec<Vec<Op>> {
        let text = format!(
            "func @f(%x: float64, %y: float64, %a: array(dtype=float64)) -> (float64) {{\n%i: int32 = const 0\n{body}\n}}"
        );
        let mut module = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let (id, effects) = (module.find("f").unwrap(), effects(&module));
        pass(&mut module.functions[id], &effects);
        assert_eq!(verify(&module), Ok(()), "{}", crate::ir::print::print(&module));
        fn blocks(function: &Function, block: BlockId, all: &mut Vec<Vec<Op>>) {
            let ops: Vec<Op> = function.blocks[block].insts.iter().map(|&id| function.insts[id].op.clone()).collect();
            let nested: Vec<BlockId> = ops.iter().flat_map(Op::blocks).collect();
            all.push(ops);
            nested.into_iter().for_each(|block| blocks(function, block, all));
        }
        let mut all = Vec::new();
        blocks(&module.functions[id], module.functions[id].entry, &mut all);
        all
    }

    fn is_root(op: &Op) -> bool {
        matches!(op, Op::Unary(UnaryOp::Sqrt, _))
    }

    const GUARDED: &str = "%c: bool = gt %x, %y
        %r: float64 = sqrt %x
        %s: float64 = select %c, %r, %y
        return %s";

    #[test]
    fn a_root_moves_under_the_choice_that_alone_reads_it() {
        let blocks = after(GUARDED, run);
        assert_eq!(blocks.len(), 3);
        assert!(!blocks[0].iter().any(is_root) && blocks[1].iter().any(is_root));
    }

    #[test]
    fn what_others_read_stays_and_choices_between_values_stay() {
        let twice = GUARDED.replace("return %s", "%t: float64 = add %s, %r\nreturn %t");
        assert_eq!(after(&twice, run).len(), 1);
        assert_eq!(after(&GUARDED.replace("sqrt %x", "neg %x"), run).len(), 1);
    }

    #[test]
    fn no_load_moves_past_a_store() {
        let text = "%c: bool = gt %x, %y
            %l: float64 = load %a[%i]
            store %a[%i], %y
            %s: float64 = if %c {
              yield %l
            } else {
              yield %x
            }
            return %s";
        assert!(after(text, into_branches)[0].iter().any(|op| matches!(op, Op::Load(_))));
        let free = text.replace("store %a[%i], %y\n", "");
        assert!(!after(&free, into_branches)[0].iter().any(|op| matches!(op, Op::Load(_))));
    }
}
