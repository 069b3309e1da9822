//! How does meaning become IR? Typed tree in, SSA with structured control flow out.
//!
//! A local variable has no place in the IR: it is whatever value it was last assigned
//! ([`Lowering::env`]). Where ways join, the value comes from the construct that joins them: an
//! `if` has one result per local that a branch changes and someone reads later, a loop carries the
//! locals that its body changes ([`flow`]). A variable that is not assigned yet is zero.
//!
//! Two shapes are chosen for the reader of CUDA text and for the passes:
//! * `if` with a branch that always jumps away: the other branch continues in the surrounding
//!   block, so that a guard such as `if i >= n: return` nests nothing.
//! * `a and b` is the operation `and` when `b` is cheap and harmless; else it is an `if` on `a`
//!   that yields `b` or false (`or`: true or `b`).

use std::ops::Range;

use smallvec::SmallVec;

use crate::check::tree;
use crate::check::{Checked, Imported};
use crate::ids::Id;
use crate::ir::build::Builder;
use crate::ir::{BlockThreads, Derivative, FuncId, Function, FunctionKind, Module, ResultInfo, ResultRole, ValueId};
use crate::types::Type;

mod expr;
mod flow;
mod local_set;
mod loops;
mod place;
mod print;
mod stmt;
mod tidy;

#[cfg(test)]
mod tests;

/// The IR of a checked file, function by function in the same order. `checks`: for checked runs,
/// see [`crate::ir::Check`].
pub fn lower(checked: &Checked, checks: bool) -> Module {
    let functions = checked.functions.values().map(|function| lower_function(checked, function, checks));
    Module { functions: functions.collect(), ..without_functions(checked) }
}

/// What the functions of a checked file share.
pub fn without_functions(checked: &Checked) -> Module {
    Module { structs: checked.structs.clone(), constants: checked.constants.clone(), ..Module::default() }
}

/// The IR of one function of a checked file.
pub fn lower_function(checked: &Checked, function: &tree::Function, checks: bool) -> Function {
    Lowering::of(checked, function, checks).run()
}

/// One function on its way to IR.
struct Lowering<'a> {
    checked: &'a Checked,
    /// With its body.
    function: &'a tree::Function,
    /// If it is a library function: what represents its callees.
    imported: Option<&'a Imported>,
    /// Indices of components are tested. Those of the library's own code are good, and its
    /// functions are shared with unchecked code.
    checks: bool,
    flow: flow::Flow,
    b: Builder,
    /// The current value of each local; None before its first assignment.
    env: Vec<Option<ValueId>>,
    /// For each loop around the current place, outermost first, the locals it carries.
    loops: Vec<Vec<tree::LocalId>>,
    /// How many times the current place is repeated by unrolled loops around it.
    copies: usize,
    /// The instructions that outermost unrolled loops became.
    unrolled: Vec<Range<u32>>,
}

impl<'a> Lowering<'a> {
    fn of(checked: &'a Checked, head: &'a tree::Function, checks: bool) -> Lowering<'a> {
        let imported = head.imported.as_ref();
        let function = head.with_body();
        let locals = function.locals.values();
        let params: Vec<(String, Type)> =
            locals.take(function.param_count as usize).map(|local| (local.name.clone(), local.ty)).collect();
        let kind = match function.kernel_rank {
            Some(rank) => FunctionKind::Kernel { rank },
            None => FunctionKind::Device,
        };
        let mut b = Builder::new(&head.name, kind, &params, function.span);
        b.reserve(64);
        b.function.source_name = function.source_name.clone();
        b.function.cuda_name = function.cuda_name.clone();
        b.function.native = function.native.clone();
        b.function.gives = function.gives;
        b.function.library = function.library;
        b.function.by_block = function.by_block;
        b.function.block_threads = (function.by_block && function.by_thread).then_some(BlockThreads {
            threads: checked.block_dim,
            counted: false,
            last: None,
        });
        b.function.results = result_infos(function);
        b.function.derivative = derivative(&head.derivative);
        let mut env = vec![None; function.locals.len()];
        for (slot, &param) in env.iter_mut().zip(b.function.params()) {
            *slot = Some(param);
        }
        Lowering {
            checked,
            function,
            imported,
            checks: checks && !function.library,
            flow: flow::Flow::of(function),
            b,
            env,
            loops: Vec::new(),
            copies: 1,
            unrolled: Vec::new(),
        }
    }

    fn run(mut self) -> Function {
        if self.function.native.is_some() {
            // Who runs this must not go on with results that were never computed.
            let never = self.b.constant(crate::ir::Const::bool(false));
            let message = format!("`{}` is CUDA text, which only the CUDA output has", self.function.source_name);
            self.b.effect(crate::ir::Op::Assert { condition: never, message });
        }
        self.block(&self.function.body);
        if !self.b.is_terminated() {
            // The end of a body that returns nothing, or that the checker knows never to be
            // reached.
            self.b.span = self.function.span;
            let values = self.function.results.iter().map(|&ty| self.b.zero(ty)).collect();
            self.leave_function(values);
        }
        let mut function = self.b.finish();
        tidy::tidy(&mut function, &self.unrolled);
        function
    }

    /// Ends the function: `values`, then what was accumulated, then the parameters that go back to
    /// the caller.
    fn leave_function(&mut self, mut values: SmallVec<[ValueId; 4]>) {
        for &local in self.function.accumulators.iter().chain(&self.function.by_ref) {
            values.push(self.read(local));
        }
        self.b.effect(crate::ir::Op::Return(values));
    }

    /// The current value of a local.
    fn read(&mut self, local: tree::LocalId) -> ValueId {
        match self.env[local.index()] {
            Some(value) => value,
            None => self.b.zero(self.function.locals[local].ty),
        }
    }

    fn read_all(&mut self, locals: &[tree::LocalId]) -> SmallVec<[ValueId; 4]> {
        locals.iter().map(|&local| self.read(local)).collect()
    }

    /// Makes `value` the current value of a local.
    fn assign(&mut self, local: tree::LocalId, value: ValueId) {
        let name = &self.function.locals[local].name;
        if !name.is_empty() {
            // That of a tuple's element is `t[0]`.
            self.b.name(value, &name.replace('[', "_").replace(']', ""));
        }
        self.env[local.index()] = Some(value);
    }

    fn assign_all(&mut self, locals: &[tree::LocalId], values: &[ValueId]) {
        for (&local, &value) in locals.iter().zip(values) {
            self.assign(local, value);
        }
    }

    fn types_of(&self, locals: &[tree::LocalId]) -> Vec<Type> {
        locals.iter().map(|&local| self.function.locals[local].ty).collect()
    }
}

fn result_infos(function: &tree::Function) -> Vec<ResultInfo> {
    // CUDA text calls them by name.
    let accumulated = function.accumulators.iter().map(|&local| {
        let local = &function.locals[local];
        (local.ty, function.native.as_ref().map(|_| local.name.clone()))
    });
    let plain = function.results.iter().map(|&ty| (ty, None));
    let returned = plain.chain(accumulated).map(|(ty, name)| ResultInfo { ty, role: ResultRole::Return, name });
    let by_ref = function.by_ref.iter().map(|&local| ResultInfo {
        ty: function.locals[local].ty,
        role: ResultRole::ByRef(local.index() as u32),
        name: None,
    });
    returned.chain(by_ref).collect()
}

/// How a checked function is differentiated.
pub fn derivative(derivative: &tree::Derivative) -> Derivative {
    match derivative {
        tree::Derivative::Body => Derivative::Body,
        tree::Derivative::Rule { adjoint, replay } => {
            Derivative::Rule { adjoint: func_id(*adjoint), replay: replay.map(func_id) }
        }
        tree::Derivative::Replay(replay) => Derivative::Replay(func_id(*replay)),
        tree::Derivative::Zero(reason) => Derivative::Zero(reason.clone()),
        tree::Derivative::None(reason) => Derivative::None(reason.clone()),
        tree::Derivative::AdjointOf(primal) => Derivative::AdjointOf(func_id(*primal)),
    }
}

/// Functions keep their places.
pub fn func_id(id: tree::FnId) -> FuncId {
    FuncId::new(id.index())
}
