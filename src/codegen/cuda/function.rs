//! One function: its control flow as statements.

use super::block_memory::{TilePart, TilePlace};
use super::effects::FunctionEffects;
use super::guards::{has_many_guards, is_reverse};
use super::helpers::Helper;
use super::plain;
use super::plan::{Form, Plan};
use super::prelude::Prelude;
use super::printf::{self, quoted};
use super::products;
use super::remarks::Pending;
use super::tree::{self, Expr, Infix, Stmt, Var};
use super::types::{VarData, identifier};
use super::vars::Variables;
use super::wrapping::Wrapping;
use super::{TextContext, names};
use crate::analysis::ranges::Ranges;
use crate::codegen::blocks;
use crate::ids::{IdMap, IdVec};
use crate::ir::{BinaryOp, BlockId, Function, Inst, InstId, Op, ResultInfo, ResultRole, ValueId, arithmetic, threads};
use crate::passes::block_threads::registers_by;
use crate::passes::loops::is_set_whole_first;
use crate::source::Span;
use crate::types::{Scalar, StructTable, Type};

/// Something that the text has no form for.
#[derive(Debug)]
pub struct Fault {
    pub what: String,
    pub span: Span,
}

/// A function as statements; names are given later.
pub struct Body {
    pub vars: Vec<VarData>,
    pub params: Vec<Var>,
    /// Results after the first go out through these references, which stand after the parameters.
    pub outs: Vec<Var>,
    /// What the C++ function returns.
    pub returns: Option<Type>,
    /// The variables of a kernel's thread number and launch.
    pub thread: Option<(Var, Var)>,
    /// Those of a kernel with plain parameters.
    pub plain: Option<plain::Scope>,
    pub stmts: Vec<Stmt>,
    /// A kernel that returns from inside a loop needs a function for its body.
    pub returns_in_loop: bool,
}

pub struct Translator<'a> {
    pub shared: &'a TextContext<'a>,
    pub function: &'a Function,
    pub plan: &'a Plan,
    pub variables: &'a Variables,
    pub ranges: Ranges,
    pub wrapping: Wrapping,
    /// The instruction whose operands are read: [`Ranges`] are asked for there.
    pub at: InstId,
    /// How many operands read each value.
    uses: IdVec<ValueId, u32>,
    /// Reverse code has many choices that are 0 where an adjoint is.
    pub many_guards: bool,
    pub prelude: &'a mut Prelude,
    pub thread: Option<(Var, Var)>,
    /// A kernel with plain parameters, and its variables.
    pub plain: Option<(&'a plain::Kernel, plain::Scope)>,
    vars: Vec<VarData>,
    outs: Vec<Var>,
    /// Where its tiles begin in the shared memory that launches ask for, if it takes that.
    asked_places: Option<IdMap<ValueId, u64>>,
    /// What `yield` assigns in the block at hand, and the loops around it.
    yields: Vec<ValueId>,
    loops: Vec<Loop>,
    returns_in_loop: bool,
    /// A local array would be assigned to another, which C++ has no form for.
    chooses_arrays: bool,
    /// Values that the head of a loop computes.
    counters: Vec<ValueId>,
    comments: Pending<'a>,
}

struct Loop {
    /// Assigned by `continue`.
    carried: Vec<ValueId>,
    /// Assigned by `break`.
    results: Vec<ValueId>,
}

pub fn translate(
    shared: &TextContext<'_>,
    function: &Function,
    plain: Option<&plain::Kernel>,
    prelude: &mut Prelude,
) -> Result<Body, Fault> {
    let read_only = plain.map(|kernel| &kernel.read_only);
    let plan = Plan::of(shared.module, function, shared.effects, read_only);
    let variables = Variables::assign(shared.module, function, &plan);
    let adjoints = names::adjoints(function);
    let mut vars: Vec<VarData> = Vec::new();
    for (_, members) in variables.members() {
        let ty = members.first().map_or(crate::types::I32, |&m| function.ty(m));
        // Values that are part of larger expressions need no name.
        let hint = match members.iter().any(|&m| plan.form(m) == Form::Variable) {
            true => names::hint(shared, function, &variables, &adjoints, members),
            false => String::new(),
        };
        vars.push(VarData { ty, hint, by_reference: false });
    }
    let ranges = Ranges::of(function);
    let (most, wrap) = (plain.and_then(plain::Kernel::most), plain.and_then(|kernel| kernel.wrap));
    let translator = Translator {
        shared,
        function,
        plan: &plan,
        variables: &variables,
        wrapping: Wrapping::of(function, &ranges, most, wrap),
        ranges,
        at: InstId(0),
        uses: crate::analysis::uses(function),
        many_guards: has_many_guards(function),
        prelude,
        thread: None,
        plain: plain.map(|kernel| (kernel, plain::Scope::default())),
        vars,
        outs: Vec::new(),
        asked_places: blocks::asked_places(function, &shared.module.structs),
        yields: Vec::new(),
        loops: Vec::new(),
        returns_in_loop: false,
        chooses_arrays: false,
        counters: Vec::new(),
        comments: Pending::of(shared.remarks.of(function)),
    };
    translator.body()
}

impl<'a> Translator<'a> {
    pub fn structs(&self) -> &'a StructTable {
        &self.shared.module.structs
    }

    pub fn effects(&self) -> &'a FunctionEffects {
        self.shared.effects
    }

    pub fn fault(&self, inst: &Inst, what: &str) -> Fault {
        Fault { what: what.to_string(), span: inst.span }
    }

    pub fn new_variable(&mut self, ty: Type, hint: &str) -> Var {
        let var = Var(self.vars.len() as u32);
        self.vars.push(VarData { ty, hint: hint.to_string(), by_reference: false });
        var
    }

    fn body(mut self) -> Result<Body, Fault> {
        let function = self.function;
        let params: Vec<Var> = function.params().iter().map(|&p| self.variables.of(p)).collect();
        for &param in function.params() {
            match function.ty(param) {
                Type::Array(array) if self.plain.is_some() => self.prelude.ty(array.element.into(), self.structs()),
                ty => self.prelude.ty(ty, self.structs()),
            }
        }
        let mut returns = None;
        let plain = function.results.iter().filter(|r| r.role == ResultRole::Return).count();
        for result in &function.results {
            self.prelude.ty(result.ty, self.structs());
            match result.role {
                ResultRole::Return if plain == 1 => returns = Some(result.ty),
                ResultRole::Return => {
                    let out = self.out(self.outs.len(), result);
                    self.vars[out.0 as usize].by_reference = true;
                    self.outs.push(out);
                }
                ResultRole::ByRef(n) => {
                    if let Some(param) = params.get(n as usize) {
                        self.vars[param.0 as usize].by_reference = true;
                    }
                }
            }
        }
        if self.plain.is_some() && function.is_kernel() {
            self.name_threads();
        } else if function.is_kernel() {
            self.prelude.launch();
            if !function.by_block {
                self.prelude.turns();
            }
            let task = self.new_variable(crate::types::U64, "task");
            let launch = self.new_variable(crate::types::U64, "dim");
            self.thread = Some((task, launch));
        }
        let mut stmts = self.block(function.entry)?;
        if self.chooses_arrays {
            return Err(Fault { what: "a local array that a branch or loop chooses".to_string(), span: function.span });
        }
        if matches!(stmts.last(), Some(Stmt::Return(None))) {
            stmts.pop();
        }
        Ok(Body {
            vars: self.vars,
            params,
            outs: self.outs,
            returns,
            thread: self.thread,
            plain: self.plain.map(|(_, scope)| scope),
            stmts,
            returns_in_loop: self.returns_in_loop,
        })
    }

    /// The variable that takes result `n` out: the returned one itself, if it is the one to return.
    fn out(&mut self, n: usize, result: &ResultInfo) -> Var {
        let function = self.function;
        let mut returns = Vec::new();
        function.walk(function.entry, &mut |_, inst| {
            if let Op::Return(values) = &inst.op {
                returns.push(values.clone());
            }
        });
        if let [values] = returns.as_slice()
            && let Some(&value) = values.get(n)
            && self.plan.form(value) == Form::Variable
        {
            let var = self.variables.of(value);
            let shared = values.iter().filter(|&&v| self.variables.of(v) == var).count() > 1;
            let is_param = function.params().iter().any(|&p| self.variables.of(p) == var);
            if !shared && !is_param {
                if let Some(name) = &result.name {
                    self.vars[var.0 as usize].hint = identifier(name);
                }
                return var;
            }
        }
        let hint = result.name.as_deref().map_or_else(|| self.out_hint(n), identifier);
        self.new_variable(result.ty, &hint)
    }

    /// The source name of what the function's last `return` returns as result `n`.
    fn out_hint(&self, n: usize) -> String {
        let mut name = None;
        self.function.walk(self.function.entry, &mut |_, inst| {
            if let Op::Return(values) = &inst.op
                && let Some(&value) = values.get(n)
            {
                name = self.function.values[value].name.clone();
            }
        });
        name.map_or_else(|| format!("result_{n}"), |name| identifier(&format!("{name}_out")))
    }

    fn block(&mut self, block: BlockId) -> Result<Vec<Stmt>, Fault> {
        let function = self.function;
        let mut out = Vec::new();
        for &id in &function.blocks[block].insts {
            let inst = &function.insts[id];
            // Calls with several results too: what only they need is not printed.
            if !inst.results.is_empty() && inst.results.iter().all(|&r| self.plan.form(r) == Form::Unused) {
                continue;
            }
            if let Some(note) = function.notes.get(&id) {
                out.push(Stmt::Note(note.clone()));
            }
            let before = out.len();
            // Before what is nested in it, and its own comments.
            let comments = self.comments.take(inst.span);
            self.reading_at(id, |this| this.statement(id, inst, &mut out))?;
            if out.len() == before {
                self.comments.put_back(&comments);
            } else if !comments.is_empty() {
                out.insert(before, Stmt::Note(self.comments.text(&comments)));
            }
            if self.shared.marked && out.len() > before {
                out.insert(before, Stmt::At(inst.span));
            }
            // What is after an `if` whose branches both leave is never reached.
            if out.last().is_some_and(Stmt::leaves) {
                break;
            }
        }
        Ok(out)
    }

    /// Translates what reads the operands of `id`.
    pub fn reading_at<R>(&mut self, id: InstId, translate: impl FnOnce(&mut Self) -> R) -> R {
        let around = std::mem::replace(&mut self.at, id);
        let result = translate(self);
        self.at = around;
        result
    }

    /// A nested block, whose `yield` assigns `yields`.
    fn nested(&mut self, block: BlockId, yields: &[ValueId]) -> Result<Vec<Stmt>, Fault> {
        let before = std::mem::replace(&mut self.yields, yields.to_vec());
        let mut stmts = self.block(block)?;
        self.yields = before;
        while matches!(stmts.last(), Some(Stmt::Note(_))) {
            stmts.pop();
        }
        Ok(stmts)
    }

    fn statement(&mut self, id: InstId, inst: &Inst, out: &mut Vec<Stmt>) -> Result<(), Fault> {
        match &inst.op {
            Op::If { condition, then, otherwise } if !self.plan.is_expression(id) => {
                self.if_statement(*condition, *then, *otherwise, &inst.results, out)
            }
            Op::For { .. } => self.for_statement(inst, out),
            Op::While { .. } => self.while_statement(inst, out),
            Op::Yield(values) => {
                let targets = self.yields.clone();
                self.assign_all(&targets, values, out)
            }
            Op::Continue(values) | Op::Break(values) => {
                let is_break = matches!(inst.op, Op::Break(_));
                let Some(around) = self.loops.last() else { return Err(self.fault(inst, "a jump outside of loops")) };
                let targets = if is_break { around.results.clone() } else { around.carried.clone() };
                self.assign_all(&targets, values, out)?;
                out.push(if is_break { Stmt::Break } else { Stmt::Continue });
                Ok(())
            }
            Op::Return(values) => self.return_statement(values, out),
            Op::Store { access, value } => {
                let (place, ty) = self.element(inst, access)?;
                let value = self.value(*value)?;
                self.store(place, ty, &access.path, value, out)
            }
            Op::Insert(base, path, value) => {
                let Some(&result) = inst.results.first() else { return Ok(()) };
                if self.plan.form(result) == Form::Unused {
                    return Ok(());
                }
                let var = self.variables.of(result);
                let base = self.value(*base)?;
                self.assign(var, base, out);
                let value = self.value(*value)?;
                let ty = self.function.ty(result);
                self.store(Expr::Var(var), ty, path, value, out)
            }
            Op::LocalArray => {
                if let Some(&result) = inst.results.first()
                    && self.plan.form(result) == Form::Variable
                {
                    self.prelude.ty(self.function.ty(result), self.structs());
                    let var = self.variables.of(result);
                    let zeros = !is_set_whole_first(self.function, result);
                    out.push(Stmt::LocalArray { var, zeros });
                }
                Ok(())
            }
            Op::SharedArray => {
                if let Some(&result) = inst.results.first()
                    && self.plan.form(result) == Form::Variable
                {
                    self.prelude.ty(self.function.ty(result), self.structs());
                    let var = self.variables.of(result);
                    let ty = self.vars[var.0 as usize].declaration("", true, self.structs());
                    let places = self.asked_places.as_ref();
                    let part = places.and_then(|at| TilePart::of(result, ty, at, self.function, self.structs()));
                    let own = || TilePlace::Own { aligned: products::reads_rows(self.function, result) };
                    out.push(Stmt::SharedArray(var, part.map_or_else(own, TilePlace::Asked)));
                }
                Ok(())
            }
            Op::Print { format, args } => {
                let values: Result<Vec<Expr>, Fault> = args.iter().map(|&arg| self.value(arg)).collect();
                let scalars = args.iter().map(|&arg| self.function.ty(arg).as_scalar().unwrap_or(Scalar::I32));
                let values = printf::arguments(format, scalars.zip(values?));
                self.prelude.output();
                out.push(Stmt::Eval(Expr::Call("printf".to_string(), values)));
                Ok(())
            }
            Op::Product(product, operands) if !product.part.gives() => {
                let call = self.product(None, product, operands)?;
                out.push(Stmt::Eval(call));
                Ok(())
            }
            Op::Barrier => {
                out.push(Stmt::Eval(Expr::call("__syncthreads", [])));
                Ok(())
            }
            Op::GridSync => {
                let call = Expr::call(self.prelude.helper(Helper::GridSync), []);
                out.push(Stmt::Eval(call));
                Ok(())
            }
            // A GPU's code checks no index, that of an array neither.
            Op::Check(..) => Ok(()),
            Op::Assert { condition, message } => {
                let mut condition = self.value(*condition)?;
                if !message.is_empty() {
                    condition = Expr::infix(Infix::And, condition, Expr::atom(quoted(message)));
                }
                // `assert` is a macro: commas inside braces would part its argument.
                if has_braces(&condition) {
                    condition = Expr::call("", [condition]);
                }
                self.prelude.output();
                out.push(Stmt::Eval(Expr::call("assert", [condition])));
                Ok(())
            }
            Op::Call(callee, args) if !super::effects::gives_one_value(&self.shared.module.functions[*callee]) => {
                self.call_statement(inst, *callee, args, out)
            }
            arithmetic!()
            | Op::Zero
            | Op::Select { .. }
            | Op::Construct(_)
            | Op::Extract(..)
            | threads!()
            | Op::Call(..)
            | Op::Extent(..)
            | Op::IsSet(_)
            | Op::Gradient(_)
            | Op::Address(_)
            | Op::ArrayAt { .. }
            | Op::View(..)
            | Op::Load(_)
            | Op::Atomic { .. }
            | Op::AtomicCas { .. }
            | Op::Product(..)
            | Op::Copy(..)
            | Op::Exchange(..)
            | Op::If { .. } => self.value_statement(inst, out),
        }
    }

    /// An instruction that has an expression: assigned to its variable, or evaluated for its
    /// effect.
    fn value_statement(&mut self, inst: &Inst, out: &mut Vec<Stmt>) -> Result<(), Fault> {
        if inst.results.first().is_some_and(|result| self.counters.contains(result)) {
            return Ok(());
        }
        match inst.results.first() {
            Some(&result) if self.plan.form(result) == Form::Variable => {
                let value = self.operation(inst)?;
                if self.effects().own(self.function, inst).is_pure() || self.uses[result] > 0 {
                    self.assign(self.variables.of(result), value, out);
                } else {
                    out.push(Stmt::Eval(value));
                }
            }
            Some(_) => {}
            None => {
                let value = self.operation(inst)?;
                out.push(Stmt::Eval(value));
            }
        }
        Ok(())
    }

    /// A call with results through references.
    fn call_statement(
        &mut self,
        inst: &Inst,
        callee: crate::ir::FuncId,
        args: &[ValueId],
        out: &mut Vec<Stmt>,
    ) -> Result<(), Fault> {
        let target = &self.shared.module.functions[callee];
        let mut values = self.passed(callee, args)?;
        let plain = target.results.iter().filter(|r| r.role == ResultRole::Return).count();
        let (mut returned, mut outs) = (None, Vec::new());
        for (&result, info) in inst.results.iter().zip(&target.results) {
            let var = self.variables.of(result);
            match info.role {
                ResultRole::Return if plain == 1 => returned = Some(result),
                ResultRole::Return => {
                    self.prelude.ty(info.ty, self.structs());
                    outs.push(Expr::Var(var));
                }
                ResultRole::ByRef(n) => {
                    let Some(value) = values.get_mut(n as usize) else { continue };
                    let before = std::mem::replace(value, Expr::Var(var));
                    self.assign(var, before, out);
                }
            }
        }
        values.extend(outs);
        let call = Expr::Call(self.shared.function_name(callee).to_string(), values);
        match returned {
            Some(result) if self.uses[result] > 0 => self.assign(self.variables.of(result), call, out),
            _ => out.push(Stmt::Eval(call)),
        }
        Ok(())
    }

    fn if_statement(
        &mut self,
        condition: ValueId,
        then: BlockId,
        otherwise: BlockId,
        results: &[ValueId],
        out: &mut Vec<Stmt>,
    ) -> Result<(), Fault> {
        let tested = condition;
        let mut condition = self.value(condition)?;
        let mut then = self.nested(then, results)?;
        let mut otherwise = self.nested(otherwise, results)?;
        if then.is_empty() && otherwise.is_empty() {
            return Ok(());
        }
        if let Some((var, place, zero)) = taken(&then, &otherwise) {
            let take = Expr::call(self.prelude.helper(Helper::Take), [place]);
            let value = Expr::Conditional(Box::new(condition), Box::new(take), Box::new(zero));
            self.assign(var, value, out);
            return Ok(());
        }
        while let Some((_, [a, b])) = tree::same_start(&then, &otherwise).filter(|(var, _)| !condition.reads(*var)) {
            out.push(then.remove(a));
            otherwise.remove(b);
            // Places of statements that are gone.
            for branch in [&mut then, &mut otherwise] {
                if tree::spoken(branch).is_empty() {
                    branch.clear();
                }
            }
        }
        if then.is_empty() && otherwise.is_empty() {
            return Ok(());
        }
        let is_jump = |list: &[Stmt]| matches!(tree::spoken(list).as_slice(), [only] if only.leaves());
        if then.is_empty() || is_jump(&otherwise) && !is_jump(&then) {
            condition = self.negated(tested, condition);
            std::mem::swap(&mut then, &mut otherwise);
        }
        // What it is otherwise can stand before the choice, unless the other side keeps what it
        // was. Branches of the source keep their order, except for a single constant.
        let is_reverse = is_reverse(self.function);
        let can_stand_before = |constants: &[Stmt], rest: &[Stmt]| {
            let first = |stmt: &&Stmt| match stmt {
                Stmt::Assign { var, value, declare: false } => {
                    value.is_constant() && !condition.reads(*var) && tree::sets_first(rest, *var)
                }
                _ => false,
            };
            let spoken = tree::spoken(constants);
            (spoken.len() == 1 || is_reverse && spoken.len() > 1) && spoken.iter().all(first)
        };
        if can_stand_before(&otherwise, &then) {
            out.append(&mut otherwise);
        } else if is_reverse && condition.has_plain_negation() && can_stand_before(&then, &otherwise) {
            out.append(&mut then);
            condition = self.negated(tested, condition);
            std::mem::swap(&mut then, &mut otherwise);
        }
        // A guard: what follows need not be nested.
        let rest = if is_jump(&then) { std::mem::take(&mut otherwise) } else { Vec::new() };
        // A remark on the only statement reads well beside its condition.
        let noted = matches!(tree::spoken(&then).as_slice(), [Stmt::Note(_), _]) && otherwise.is_empty();
        if let Some(at) = then.iter().position(|stmt| matches!(stmt, Stmt::Note(_))).filter(|_| noted) {
            out.push(then.remove(at));
        }
        out.push(Stmt::If { condition, then, otherwise });
        out.extend(rest);
        Ok(())
    }

    fn for_statement(&mut self, inst: &Inst, out: &mut Vec<Stmt>) -> Result<(), Fault> {
        let Op::For { start, end, step, init, body } = &inst.op else { return Ok(()) };
        let params = self.function.blocks[*body].params.clone();
        let Some((&index, carried)) = params.split_first() else { return Ok(()) };
        self.assign_all(carried, init, out)?;
        let unrolled = registers_by(self.function, [*start, *end, *step], *body).is_some();
        let mut var = self.variables.of(index);
        let start = self.converted(*start)?;
        let end = self.value(*end)?;
        let known = self.function.as_const(*step).and_then(|c| c.as_int());
        let one_less = if known == Some(-1) { self.one_less(*body, index) } else { None };
        if let Some(counter) = one_less {
            var = self.variables.of(counter);
            self.counters.push(counter);
        }
        let k = || Expr::Var(var);
        let (condition, step) = 'head: {
            match known {
                _ if one_less.is_some() => (Expr::infix(Infix::Gt, k(), end), Expr::atom("--")),
                Some(0) => return Ok(()),
                Some(n) if n > 0 => (Expr::infix(Infix::Lt, k(), end), Expr::atom(n.to_string())),
                Some(n) => (down_to(k(), end), Expr::atom(n.to_string())),
                None => {
                    let rises = self.ranges.interval(*step).is_some_and(|interval| interval.low > 0);
                    let step = if rises { self.converted(*step)? } else { self.value(*step)? };
                    let zero = || Expr::atom("0");
                    if rises {
                        break 'head (Expr::infix(Infix::Lt, k(), end), step);
                    }
                    let down = Expr::infix(
                        Infix::And,
                        Expr::infix(Infix::Lt, step.clone(), zero()),
                        Expr::infix(Infix::Gt, k(), end.clone()),
                    );
                    let up = Expr::infix(Infix::Lt, k(), end);
                    let is_up = Expr::infix(Infix::Gt, step.clone(), zero());
                    (Expr::Conditional(Box::new(is_up), Box::new(up), Box::new(down)), step)
                }
            }
        };
        self.loops.push(Loop { carried: carried.to_vec(), results: inst.results.to_vec() });
        let stmts = self.nested(*body, carried);
        self.loops.pop();
        out.push(Stmt::For { var, start, condition, step, body: without_last_continue(stmts?), unrolled });
        Ok(())
    }

    /// The one value computed from the index of a loop that counts down, if that is the index less
    /// one.
    fn one_less(&self, body: BlockId, index: ValueId) -> Option<ValueId> {
        let function = self.function;
        let (mut readers, mut counter) = (0, None);
        function.walk(body, &mut |_, inst| {
            inst.op.for_each_operand(|v| readers += usize::from(v == index));
            if let Op::Binary(BinaryOp::Sub | BinaryOp::Add, a, b) = inst.op
                && a == index
            {
                let by = if matches!(inst.op, Op::Binary(BinaryOp::Sub, ..)) { 1 } else { -1 };
                let step = function.as_const(b).and_then(|c| c.as_int());
                counter = inst.results.first().copied().filter(|_| step == Some(by));
            }
        });
        let counter = counter.filter(|_| readers == 1)?;
        let here = function.def(counter).is_some_and(|_| {
            function.blocks[body].insts.iter().any(|&id| function.insts[id].results.contains(&counter))
        });
        let var = self.variables.of(counter);
        let alone = self.variables.members().any(|(v, members)| v == var && members.len() == 1);
        (here && alone && self.plan.form(counter) == Form::Variable).then_some(counter)
    }

    fn while_statement(&mut self, inst: &Inst, out: &mut Vec<Stmt>) -> Result<(), Fault> {
        let Op::While { init, condition, body } = &inst.op else { return Ok(()) };
        let function = self.function;
        let carried = function.blocks[*condition].params.clone();
        self.assign_all(&carried, init, out)?;
        let mut stmts = self.nested(*condition, &[])?;
        let Some(&tested) = function.yielded(*condition).first() else {
            return Err(self.fault(inst, "a loop without condition"));
        };
        let mut test = Some(self.value(tested)?);
        if matches!(&test, Some(Expr::Atom(text)) if text == "true") {
            test = None;
        }
        if !stmts.is_empty()
            && let Some(test) = test.take()
        {
            stmts.push(Stmt::If {
                condition: self.negated(tested, test),
                then: vec![Stmt::Break],
                otherwise: Vec::new(),
            });
        }
        self.loops.push(Loop { carried: carried.clone(), results: inst.results.to_vec() });
        let body = self.nested(*body, &carried);
        self.loops.pop();
        stmts.extend(without_last_continue(body?));
        out.push(Stmt::While { condition: test, body: stmts });
        Ok(())
    }

    fn return_statement(&mut self, values: &[ValueId], out: &mut Vec<Stmt>) -> Result<(), Fault> {
        self.returns_in_loop |= !self.loops.is_empty();
        let function = self.function;
        let plain = function.results.iter().filter(|r| r.role == ResultRole::Return).count();
        let (mut returned, mut changes) = (None, Vec::new());
        let mut outs = self.outs.clone().into_iter();
        for (&value, info) in values.iter().zip(&function.results) {
            match info.role {
                ResultRole::Return if plain == 1 => returned = Some(value),
                ResultRole::Return => {
                    if let Some(out) = outs.next() {
                        changes.push((out, self.value(value)?));
                    }
                }
                ResultRole::ByRef(n) => {
                    if let Some(&param) = function.params().get(n as usize) {
                        changes.push((self.variables.of(param), self.value(value)?));
                    }
                }
            }
        }
        self.assign_parallel(changes, out);
        let returned = returned.map(|value| self.value(value)).transpose()?;
        out.push(Stmt::Return(returned));
        Ok(())
    }

    /// `targets = sources`, all at once.
    fn assign_all(&mut self, targets: &[ValueId], sources: &[ValueId], out: &mut Vec<Stmt>) -> Result<(), Fault> {
        let mut changes = Vec::new();
        for (&target, &source) in targets.iter().zip(sources) {
            changes.push((self.variables.of(target), self.value(source)?));
        }
        self.assign_parallel(changes, out);
        Ok(())
    }

    /// Assigns one after the other, so that each still reads what it should; a cycle needs one more
    /// variable.
    fn assign_parallel(&mut self, mut changes: Vec<(Var, Expr)>, out: &mut Vec<Stmt>) {
        changes.retain(|(var, value)| *value != Expr::Var(*var));
        while !changes.is_empty() {
            // One whose old value nobody else still needs.
            let free = (0..changes.len()).find(|&n| {
                let var = changes[n].0;
                changes.iter().enumerate().all(|(m, (_, value))| m == n || !value.reads(var))
            });
            match free {
                Some(n) => {
                    let (var, value) = changes.remove(n);
                    self.assign(var, value, out);
                }
                None => {
                    // Computes a new value ahead; better one that is more than a name.
                    let n = changes.iter().position(|(_, value)| !matches!(value, Expr::Var(_))).unwrap_or(0);
                    let data = &self.vars[changes[n].0.0 as usize];
                    let (ty, hint) = (data.ty, format!("{}_next", data.hint));
                    let next = self.new_variable(ty, &hint);
                    let value = std::mem::replace(&mut changes[n].1, Expr::Var(next));
                    out.push(Stmt::Assign { var: next, value, declare: false });
                }
            }
        }
    }

    fn assign(&mut self, var: Var, value: Expr, out: &mut Vec<Stmt>) {
        if value == Expr::Var(var) {
            return;
        }
        let ty = self.vars[var.0 as usize].ty;
        let value = target_first(&Expr::Var(var), ty, value);
        self.prelude.ty(ty, self.structs());
        self.chooses_arrays |= matches!(ty, Type::Local(_));
        self.declare_compound(&Expr::Var(var), ty, &value);
        out.push(Stmt::Assign { var, value, declare: false });
    }
}

/// `x * e` for a scalar `e * x`, and so for sums: `x *= e` says it best.
pub fn target_first(target: &Expr, ty: Type, value: Expr) -> Expr {
    match value {
        Expr::Infix(op @ (Infix::Add | Infix::Mul), a, b)
            if *b == *target && *a != *target && matches!(ty, Type::Scalar(s) if !super::scalar::is_half(s)) =>
        {
            Expr::Infix(op, b, a)
        }
        value => value,
    }
}

/// `k > end`, or `k >= first` where the end is one below something.
fn down_to(k: Expr, end: Expr) -> Expr {
    let is_one = |e: &Expr| *e == Expr::atom("1") || *e == Expr::atom("1ll");
    match end {
        Expr::Infix(Infix::Sub, first, one) if is_one(&one) => Expr::infix(Infix::Ge, k, *first),
        end if matches!(end.as_negative_literal(), Some("1" | "1ll")) => Expr::infix(Infix::Ge, k, Expr::atom("0")),
        end => Expr::infix(Infix::Gt, k, end),
    }
}

fn without_last_continue(mut stmts: Vec<Stmt>) -> Vec<Stmt> {
    if matches!(stmts.last(), Some(Stmt::Continue)) {
        stmts.pop();
    }
    stmts
}

/// `x = place; place = 0` against `x = 0`: the variable, the place and the zero.
fn taken(then: &[Stmt], otherwise: &[Stmt]) -> Option<(Var, Expr, Expr)> {
    match (tree::spoken(then).as_slice(), tree::spoken(otherwise).as_slice()) {
        (
            [Stmt::Assign { var, value: place, .. }, Stmt::Store { target, value: zero }],
            [Stmt::Assign { var: same, value, .. }],
        ) if place == target && var == same && zero == value => Some((*var, place.clone(), zero.clone())),
        _ => None,
    }
}

fn has_braces(e: &Expr) -> bool {
    let mut found = matches!(e, Expr::Braces(..));
    e.for_each_child(&mut |child| found |= has_braces(child));
    found
}
