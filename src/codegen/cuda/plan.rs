//! Decides which values become variables and which are written where they are used, as parts of
//! larger expressions.

use super::constants::is_table;
use super::effects::{Effects, FunctionEffects, gives_one_value};
use super::guards::is_reverse;
use super::scalar::is_half;
use crate::ids::{IdSet, IdVec};
use crate::ir::{
    BinaryOp, BlockId, Function, Inst, InstId, Module, Op, Phase, Step, UnaryOp, ValueDef, ValueId, Values, accesses,
    arithmetic, arrays, effects, jumps, nested, threads,
};
use crate::types::{Scalar, Type};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// Not needed: not printed.
    Unused,
    /// Printed as an expression wherever it is used.
    Inline,
    Variable,
}

/// Expressions longer than this many characters (roughly) are split by a variable.
const LONGEST: u32 = 150;
/// An `if` with a value is printed with `?:` up to this length.
const LONGEST_CONDITIONAL: u32 = 90;
/// A load is written twice, where nothing writes the array, up to this length.
const LONGEST_TWICE: u32 = 24;
/// The first term of the sum that an adjoint is is in its expression up to this length.
const LONGEST_TERM: u32 = 60;

pub struct Plan {
    forms: IdVec<ValueId, Form>,
    /// `if`s whose branches are expressions: printed with `?:`, `&&` or `||`.
    expressions: IdVec<InstId, bool>,
}

impl Plan {
    pub fn form(&self, value: ValueId) -> Form {
        self.forms[value]
    }

    /// Whether an `if` is printed as an expression.
    pub fn is_expression(&self, inst: InstId) -> bool {
        self.expressions[inst]
    }

    /// `read_only`: arrays that no thread of the launch writes, whatever else is written.
    pub fn of(
        module: &Module,
        function: &Function,
        effects: &FunctionEffects,
        read_only: Option<&IdSet<ValueId>>,
    ) -> Plan {
        let mut planner = Planner {
            module,
            function,
            effects,
            read_only,
            uses: function.values.ids().map(|_| Uses::default()).collect(),
            cost: function.values.ids().map(|_| Cost::default()).collect(),
            plan: Plan {
                forms: function.values.ids().map(|_| Form::Variable).collect(),
                expressions: function.insts.ids().map(|_| false).collect(),
            },
        };
        planner.count_uses();
        planner.block(function.entry);
        planner.plan
    }
}

/// Where a value is used.
#[derive(Clone, Copy, Default)]
struct Uses {
    count: u32,
    /// The block of the last use that was counted.
    block: Option<BlockId>,
    /// The last use that was counted.
    user: Option<InstId>,
    /// Some uses that were counted are in different blocks.
    blocks: bool,
    /// Used as the end or step of a `for`, which is evaluated in every iteration.
    every_iteration: bool,
}

/// What an inlined expression consists of.
#[derive(Clone, Copy, Default)]
struct Cost {
    /// Characters, roughly.
    length: u32,
    /// Kinds of memory that evaluating it reads.
    reads: u8,
    calls: bool,
    /// It reads arrays, be they such as nothing writes.
    loads: bool,
}

struct Planner<'a> {
    module: &'a Module,
    function: &'a Function,
    effects: &'a FunctionEffects,
    read_only: Option<&'a IdSet<ValueId>>,
    uses: IdVec<ValueId, Uses>,
    cost: IdVec<ValueId, Cost>,
    plan: Plan,
}

impl Planner<'_> {
    /// Counts the uses that remain once pure instructions without uses are gone.
    fn count_uses(&mut self) {
        let function = self.function;
        let mut order = Vec::new();
        collect(function, function.entry, &mut order);
        for &(block, inst) in &order {
            self.count(block, inst, 1);
        }
        // Users stand after what they use, so one pass from the end removes whole chains.
        for &(block, inst) in order.iter().rev() {
            let data = &function.insts[inst];
            let unused = !data.results.is_empty() && data.results.iter().all(|&r| self.uses[r].count == 0);
            let removable = !matches!(data.op, Op::If { .. } | Op::For { .. } | Op::While { .. })
                && self.effects.own(function, data).is_pure();
            if unused && removable {
                self.count(block, inst, -1);
                for &result in &data.results {
                    self.plan.forms[result] = Form::Unused;
                }
            }
        }
    }

    fn count(&mut self, block: BlockId, inst: InstId, by: i32) {
        let data = &self.function.insts[inst];
        data.op.for_each_operand(|value| {
            let uses = &mut self.uses[value];
            uses.count = uses.count.wrapping_add_signed(by);
            uses.blocks |= uses.block.is_some_and(|known| known != block);
            uses.block = Some(block);
            uses.user = Some(inst);
        });
        if let Op::For { end, step, .. } = &data.op {
            self.uses[*end].every_iteration = true;
            self.uses[*step].every_iteration = true;
        }
    }

    /// Returns the effects of everything in the block.
    fn block(&mut self, block: BlockId) -> Effects {
        let mut all = Effects::default();
        // Inlined values that read memory and are not part of a printed statement yet.
        let mut pending: IdSet<ValueId> = IdSet::default();
        // All that these read, if not more.
        let mut read = 0;
        for &id in &self.function.blocks[block].insts {
            let inst = &self.function.insts[id];
            let mut effects = self.effects.own(self.function, inst);
            if let Op::Load(access) = &inst.op
                && self.read_only.is_some_and(|arrays| arrays.contains(&access.array))
            {
                effects.reads = 0;
            }
            for nested in inst.op.blocks() {
                effects.join(self.block(nested));
            }
            all.join(effects);
            if inst.results.iter().any(|&r| self.plan.forms[r] == Form::Unused) {
                continue;
            }
            let mut operands = Values::new();
            inst.op.for_each_operand(|value| operands.push(value));
            for value in &operands {
                pending.remove(value);
            }
            if effects.writes & read != 0 {
                for value in pending.extract_if(|&v| self.cost[v].reads & effects.writes != 0) {
                    self.plan.forms[value] = Form::Variable;
                }
                read = pending.iter().fold(0, |read, &value| read | self.cost[value].reads);
            }
            self.choose(block, id, inst, effects, &operands);
            if let [result] = inst.results[..]
                && self.plan.forms[result] == Form::Inline
                && self.cost[result].reads != 0
            {
                pending.insert(result);
                read |= self.cost[result].reads;
            }
        }
        all
    }

    /// Decides the form of an instruction's result.
    fn choose(&mut self, block: BlockId, id: InstId, inst: &Inst, effects: Effects, operands: &[ValueId]) {
        let [result] = inst.results[..] else { return };
        let mut cost = self.tree_cost(inst, operands);
        cost.reads |= effects.reads;
        // What all threads of a warp do is in no expression of which they may skip a part.
        let together = inst.op.properties().convergent && !matches!(inst.op, Op::Call(..));
        if together || !effects.is_pure() || !self.has_expression(inst, &mut cost) {
            return;
        }
        // Too long a line: its longest part becomes a variable.
        while cost.length > LONGEST {
            let inlined = operands.iter().copied().filter(|&v| self.is_inlined_tree(v));
            let Some(longest) = inlined.max_by_key(|&v| (self.cost[v].length, v)) else { break };
            self.plan.forms[longest] = Form::Variable;
            cost = self.tree_cost(inst, operands);
            cost.reads |= effects.reads;
            if !self.has_expression(inst, &mut cost) {
                return;
            }
        }
        self.cost[result] = cost;
        let value = &self.function.values[result];
        let uses = self.uses[result];
        let is_constant = matches!(inst.op, Op::Const(_) | Op::Zero) || is_table(self.module, self.function, inst);
        let is_trivial = is_constant || self.is_trivial(inst) || self.is_read_twice(inst, uses, cost, block);
        let single = uses.count <= 1 && uses.block == Some(block);
        let loop_bound = uses.every_iteration && (cost.loads || cost.calls || matches!(inst.op, Op::If { .. }));
        let is_short = single && cost.length <= LONGEST_TERM;
        let needs_no_name =
            value.name.is_none() || is_short && (self.is_term(result, inst) || self.is_end(result, inst));
        let inline =
            is_constant || self.is_parameter(&inst.op) || needs_no_name && !loop_bound && (is_trivial || single);
        if inline {
            self.plan.forms[result] = Form::Inline;
        }
        if matches!(inst.op, Op::If { .. }) {
            self.plan.expressions[id] = true;
        }
    }

    /// Whether an adjoint is computed only to be returned, or added to an element:
    /// `adj_x[i] += adj_y * a`.
    fn is_end(&self, value: ValueId, inst: &Inst) -> bool {
        let Uses { count: 1, user: Some(user), .. } = self.uses[value] else { return false };
        let is_stored = |sum: ValueId| {
            let Uses { count: 1, user: Some(store), .. } = self.uses[sum] else { return false };
            matches!(self.function.insts[store].op, Op::Store { .. })
        };
        let is_end = |user: &Inst| {
            if let Op::Binary(BinaryOp::Add | BinaryOp::Sub, a, _) = user.op {
                let is_element = matches!(self.function.op(a), Some(Op::Load(_)));
                return a != value && is_element && user.results.iter().all(|&sum| is_stored(sum));
            }
            let is_returned = matches!(&user.op, Op::Return(results) if results.len() == 1);
            is_returned || matches!(user.op, Op::Atomic { .. })
        };
        let name = self.function.values[value].name.as_deref();
        is_reverse(self.function)
            && !matches!(inst.op, Op::If { .. })
            && name.is_some_and(|name| name.starts_with("adj_"))
            && is_end(&self.function.insts[user])
    }

    /// Whether a value is the first term of a sum that is the same adjoint: `adj_f = a + b` is read
    /// sooner than `adj_f = a; adj_f += b`. Sums of the source's own statements stay as they were
    /// written.
    fn is_term(&self, value: ValueId, inst: &Inst) -> bool {
        let Uses { count: 1, user: Some(user), .. } = self.uses[value] else { return false };
        let user = &self.function.insts[user];
        let [sum] = user.results[..] else { return false };
        let name = |value: ValueId| self.function.values[value].name.as_deref();
        is_reverse(self.function)
            && !matches!(inst.op, Op::If { .. })
            && matches!(user.op, Op::Binary(BinaryOp::Add | BinaryOp::Sub, a, b) if (a == value) != (b == value))
            && self.plan.forms[sum] != Form::Unused
            && name(value).is_some_and(|name| name.starts_with("adj_"))
            && name(value) == name(sum)
    }

    /// What is a parameter or the thread's number where parameters are plain: in entries that kc
    /// made, a second name for it says nothing.
    fn is_parameter(&self, op: &Op) -> bool {
        let is_own = |array: &ValueId| self.function.params().contains(array);
        self.read_only.is_some()
            && self.function.phase != Phase::Forward
            && (*op == Op::ThreadNumber || matches!(op, Op::Extent(array, _) if is_own(array)))
    }

    /// `x[i]`, read by two neighbours: as clear as a name that somebody made up for it.
    fn is_read_twice(&self, inst: &Inst, uses: Uses, cost: Cost, block: BlockId) -> bool {
        let function = self.function;
        let counts = |&index: &ValueId| match function.values[index].def {
            ValueDef::Param(..) => true,
            ValueDef::Result(inst, _) => matches!(function.insts[inst].op, Op::ThreadIndex(_)),
        };
        let Op::Load(access) = &inst.op else { return false };
        inst.results.iter().all(|&result| function.ty(result).scalar_part().is_some_and(Scalar::is_float))
            && access.indices.iter().all(counts)
            && cost.reads == 0
            && cost.length <= LONGEST_TWICE
            && uses.count == 2
            && !uses.blocks
            && uses.block == Some(block)
    }

    fn is_inlined_tree(&self, value: ValueId) -> bool {
        self.plan.forms[value] == Form::Inline
            && self.function.def(value).is_some_and(|d| !matches!(d.op, Op::Const(_) | Op::Zero) && !self.is_trivial(d))
    }

    fn is_float(&self, inst: &Inst) -> bool {
        let is_float = |&result| matches!(self.function.ty(result).scalar_part(), Some(Scalar::F32 | Scalar::F64));
        inst.results.iter().all(is_float)
    }

    /// `v.x`
    fn is_part(&self, inst: &Inst) -> bool {
        let Op::Extract(base, path) = &inst.op else { return false };
        self.plan.forms[*base] == Form::Variable && path.iter().all(|step| matches!(step, Step::At(_)))
    }

    /// Cheap and free of memory: may be repeated.
    fn is_trivial(&self, inst: &Inst) -> bool {
        let is_variable = |value: &ValueId| self.plan.forms[*value] == Form::Variable;
        match &inst.op {
            Op::BlockDim | Op::ThreadInBlock => true,
            Op::Extent(array, _) | Op::IsSet(array) | Op::Address(array) => is_variable(array),
            Op::Extract(..) => self.is_part(inst),
            // `i + 1`
            Op::Binary(BinaryOp::Add | BinaryOp::Sub, a, b) => {
                let constant = self.function.as_const(*b).filter(|c| c.as_int().is_some());
                is_variable(a) && constant.is_some_and(|c| c.scalar.size() >= 4)
            }
            // `-x`
            Op::Unary(UnaryOp::Neg, a) => {
                let is_part = || self.function.def(*a).is_some_and(|part| self.is_part(part));
                self.is_float(inst) && (is_variable(a) || self.plan.forms[*a] == Form::Inline && is_part())
            }
            // `(float)i`
            Op::Cast(a) => {
                let of = self.function.ty(*a);
                is_variable(a) && matches!(of, Type::Scalar(Scalar::I32 | Scalar::U32)) && self.is_float(inst)
            }
            // `i >= 0`
            Op::Compare(_, a, b) => {
                let constant = matches!(self.function.op(*b), Some(Op::Const(_) | Op::Zero));
                is_variable(a) && constant && !self.function.ty(*a).scalar_part().is_some_and(is_half)
            }
            // Others are longer than a name, or cost more.
            _ => false,
        }
    }

    /// Whether the text has an expression for this instruction. For an `if` this adds the cost of
    /// its branches.
    fn has_expression(&self, inst: &Inst, cost: &mut Cost) -> bool {
        match &inst.op {
            Op::LocalArray | Op::SharedArray | Op::Insert(..) | Op::For { .. } | Op::While { .. } => false,
            Op::Call(callee, _) => gives_one_value(&self.module.functions[*callee]),
            Op::If { then, otherwise, .. } => {
                for &branch in &[*then, *otherwise] {
                    let Some(value) = self.branch_value(branch) else { return false };
                    let part = self.operand_cost(value);
                    cost.length += part.length + 3;
                    cost.reads |= part.reads;
                    cost.calls |= part.calls;
                    cost.loads |= part.loads;
                }
                cost.length <= LONGEST_CONDITIONAL
            }
            arithmetic!()
            | Op::Zero
            | Op::Select { .. }
            | Op::Construct(_)
            | Op::Extract(..)
            | threads!()
            | Op::Extent(..)
            | Op::IsSet(_)
            | Op::Gradient(_)
            | Op::Address(_)
            | Op::ArrayAt { .. }
            | Op::View(..)
            | accesses!()
            | effects!() => true,
            jumps!() => false,
        }
    }

    /// The value of a branch that consists of nothing but an expression.
    fn branch_value(&self, block: BlockId) -> Option<ValueId> {
        let insts = &self.function.blocks[block].insts;
        let (last, before) = insts.split_last()?;
        let Op::Yield(values) = &self.function.insts[*last].op else { return None };
        let all_inline = before.iter().all(|&inst| {
            let results = &self.function.insts[inst].results;
            !results.is_empty() && results.iter().all(|&r| self.plan.forms[r] != Form::Variable)
        });
        if let [value] = values[..] { all_inline.then_some(value) } else { None }
    }

    fn operand_cost(&self, value: ValueId) -> Cost {
        match self.plan.forms[value] {
            Form::Inline => self.cost[value],
            _ => Cost {
                length: self.function.values[value].name.as_ref().map_or(5, |n| n.len() as u32),
                ..Cost::default()
            },
        }
    }

    fn tree_cost(&self, inst: &Inst, operands: &[ValueId]) -> Cost {
        let mut cost = Cost {
            length: own_length(self.module, self.function, inst),
            reads: 0,
            calls: matches!(inst.op, Op::Call(..)),
            loads: matches!(inst.op, Op::Load(_)),
        };
        for &value in operands {
            let part = self.operand_cost(value);
            cost.length += part.length;
            cost.reads |= part.reads;
            cost.calls |= part.calls;
            cost.loads |= part.loads;
        }
        cost
    }
}

/// The characters that an operation adds to those of its operands, roughly.
fn own_length(module: &Module, function: &Function, inst: &Inst) -> u32 {
    match &inst.op {
        Op::Const(c) => match c.scalar {
            Scalar::F32 | Scalar::F64 => 5,
            Scalar::F16 | Scalar::BF16 => 14,
            _ => 3,
        },
        Op::Zero => 6,
        Op::Binary(..) | Op::Compare(..) => 3,
        Op::Unary(..) => 6,
        Op::Construct(_) if is_table(module, function, inst) => 5,
        Op::Construct(args) => 5 + 2 * args.len() as u32,
        Op::Call(callee, args) => module.functions[*callee].source_name.len() as u32 + 2 * args.len() as u32,
        Op::Load(access) => 2 + 2 * access.indices.len() as u32,
        Op::Fma(..)
        | Op::Cast(_)
        | Op::Bitcast(_)
        | Op::Select { .. }
        | Op::Extract(..)
        | Op::Insert(..)
        | threads!()
        | arrays!()
        | Op::Store { .. }
        | Op::Atomic { .. }
        | Op::AtomicCas { .. }
        | effects!()
        | nested!()
        | jumps!() => 8,
    }
}

/// The instructions of a block and of those nested in it, in order, each with its block.
fn collect(function: &Function, block: BlockId, order: &mut Vec<(BlockId, InstId)>) {
    for &inst in &function.blocks[block].insts {
        order.push((block, inst));
        for nested in function.insts[inst].op.blocks() {
            collect(function, nested, order);
        }
    }
}
