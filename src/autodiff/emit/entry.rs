//! The functions that come out: the backward entry of a kernel, and the adjoint function of a
//! device function.

use smallvec::SmallVec;

use super::reverse::Reverse;
use super::rules::scalar_path;
use super::state::{Shadow, Tape};
use crate::abi::{FloatArgument, float_arguments};
use crate::analysis::alias::Root;
use crate::autodiff::Store;
use crate::autodiff::analysis::facts::ForwardFacts;
use crate::autodiff::analysis::world::World;
use crate::autodiff::storage::Strategy;
use crate::autodiff::storage::buffers::{self, Buffers, Slots, Wanted, slots_of};
use crate::autodiff::storage::plan::body_of;
use crate::autodiff::storage::report::kept;
use crate::ir::build::Builder;
use crate::ir::{
    Access, AtomicOp, Derivative, FuncId, Function, FunctionKind, Module, Op, Path, Phase, ResultInfo, ResultRole,
    Step, TapeRole, ValueId,
};
use crate::types::{BOOL, Scalar, Type};

/// The names and types of a function's parameters; unnamed ones get a number.
fn parameters(function: &Function) -> Vec<(String, Type)> {
    let name = |(n, &p): (usize, &ValueId)| {
        (function.values[p].name.clone().unwrap_or_else(|| format!("p{n}")), function.ty(p))
    };
    function.params().iter().enumerate().map(name).collect()
}

/// The paths to the arrays inside a type, as field numbers.
fn array_fields(module: &Module, ty: Type) -> Vec<(Vec<u32>, Type)> {
    match ty {
        Type::Array(_) => vec![(Vec::new(), ty)],
        Type::Struct(id) => {
            let mut found = Vec::new();
            for (n, field) in module.structs[id].fields.iter().enumerate() {
                for (mut path, ty) in array_fields(module, field.ty) {
                    path.insert(0, n as u32);
                    found.push((path, ty));
                }
            }
            found
        }
        _ => Vec::new(),
    }
}

impl Reverse<'_> {
    fn part(&mut self, whole: ValueId, path: &[u32], ty: Type) -> ValueId {
        if path.is_empty() {
            return whole;
        }
        self.b.one(Op::Extract(whole, path.iter().map(|&k| Step::At(k)).collect::<SmallVec<[Step; 2]>>()), ty)
    }

    /// Finds the shadows of a kernel's arrays: what the adjoint parameter holds, else the array's
    /// own gradient.
    fn kernel_shadows(&mut self, adjoints: &[ValueId]) {
        let old = self.old;
        for (n, &param) in old.params().iter().enumerate() {
            for (path, ty) in array_fields(self.world.module, old.ty(param)) {
                let copy = self.primal(param);
                let (array, given) = (self.part(copy, &path, ty), self.part(adjoints[n], &path, ty));
                let is_given = self.b.one(Op::IsSet(given), BOOL);
                let own = self.b.one(Op::Gradient(array), ty);
                let shadow = self.b.select(is_given, given, own);
                let set = self.b.one(Op::IsSet(shadow), BOOL);
                if path.is_empty() {
                    self.name_after(shadow, "grad_", param);
                }
                self.shadows.insert(Root::Param(n as u32, path), Shadow { array: shadow, set });
            }
        }
    }

    /// Finds the shadows of a device function's arrays among its parameters from `at` on; returns
    /// where they end.
    fn device_shadows(&mut self, at: usize) -> usize {
        let old = self.old;
        let mut next = at;
        for (n, &param) in old.params().iter().enumerate() {
            if !old.ty(param).bears_array(&self.world.module.structs) {
                continue;
            }
            let shadow = self.b.function.params()[next];
            next += 1;
            for (path, ty) in array_fields(self.world.module, old.ty(param)) {
                let array = self.part(shadow, &path, ty);
                let set = self.b.one(Op::IsSet(array), BOOL);
                self.shadows.insert(Root::Param(n as u32, path), Shadow { array, set });
            }
        }
        next
    }

    /// Shadows for a scratch function, where only their being there counts.
    pub fn scratch_shadows(&mut self) {
        let old = self.old;
        for (n, &param) in old.params().iter().enumerate() {
            for (path, ty) in array_fields(self.world.module, old.ty(param)) {
                let array = self.b.zero(ty);
                let set = self.b.one(Op::IsSet(array), BOOL);
                self.shadows.insert(Root::Param(n as u32, path), Shadow { array, set });
            }
        }
        for block in old.blocks.ids() {
            self.tile_shadows(block);
        }
    }

    fn bind_parameters(&mut self) {
        let copies: Vec<ValueId> = self.b.function.params()[..self.old.params().len()].to_vec();
        for (&old, new) in self.old.params().iter().zip(copies) {
            self.bind(old, new);
        }
    }

    /// The tape for the loops that keep their state there.
    fn make_tape(&mut self, world: &World<'_>) {
        let mut all = Slots::new();
        let mut reasons = Vec::new();
        self.old.walk(self.old.entry, &mut |id, inst| {
            let Some(plan) = self.strategy.plans.get(&id).filter(|plan| plan.store == Store::Tape && plan.keeps())
            else {
                return;
            };
            let Some((body, first)) = body_of(&inst.op) else { return };
            for n in plan.kept() {
                let param = self.old.blocks[body].params[first + n];
                all.extend(slots_of(self.old.ty(param), &world.module.structs).unwrap_or_default());
                let name = self.old.values[param].name.clone().unwrap_or_else(|| "a value".to_string());
                let reason = format!("`{name}` at the start of each iteration of its loop");
                if !reasons.contains(&reason) {
                    reasons.push(reason);
                }
            }
        });
        let scalars: Vec<Scalar> = all.into_keys().collect();
        let reason = reasons.join(", ");
        let wanted = Wanted { scalars: &scalars, role: TapeRole::State, slots: None, counted: true, reason: &reason };
        if let Some(buffers) = Buffers::new(&mut self.b, &wanted) {
            let top = self.b.int(Scalar::I32, 0);
            self.tape = Some(Tape { buffers, top });
        }
    }

    /// Where the log is too small for what a thread needs, the backward entry does nothing.
    fn leave_unless_room(&mut self, buffers: &Buffers, slots: u32) {
        let room = buffers.has_room(&mut self.b, None, slots.saturating_sub(1));
        let (then, otherwise) = (self.b.new_block(&[]), self.b.new_block(&[]));
        let outside = self.b.switch_to(then);
        self.b.yield_(&[]);
        self.b.switch_to(otherwise);
        self.b.effect(Op::Return(SmallVec::new()));
        self.b.switch_to(outside);
        self.b.push(Op::If { condition: room, then, otherwise }, &[]);
    }

    /// Adds the array for the gradients of a kernel's parameters to its own; None: it has none, or
    /// they are not asked for.
    fn parameter_gradients(&mut self) -> Option<ValueId> {
        let old = self.old;
        let structs = &self.world.module.structs;
        let types: Vec<Type> = old.params().iter().map(|&param| old.ty(param)).collect();
        let floats = float_arguments(&types, structs);
        if floats.is_empty() || !self.facts.parameters {
            return None;
        }
        let slots: u32 = floats.iter().map(FloatArgument::scalars).sum();
        let name = |float: &FloatArgument| format!("`{}{}`", old.param_name(float.param), float.suffix);
        let reason = floats.iter().map(name).collect::<Vec<String>>().join(", ");
        Some(buffers::parameter_gradients(&mut self.b, slots, reason))
    }

    /// Adds the adjoints of the parameters to their gradients, unless these are not wanted.
    fn pass_to_parameters(&mut self, gradients: ValueId) {
        let old = self.old;
        let structs = &self.world.module.structs;
        let types: Vec<Type> = old.params().iter().map(|&param| old.ty(param)).collect();
        let adjoints: Vec<Option<ValueId>> =
            old.params().iter().map(|&param| if self.is_active(param) { self.take(param) } else { None }).collect();
        if adjoints.iter().all(Option::is_none) {
            return;
        }
        let set = self.b.one(Op::IsSet(gradients), BOOL);
        self.guarded(set, None, |this| {
            for float in float_arguments(&types, structs) {
                let Some(adjoint) = adjoints[float.param] else { continue };
                for n in 0..float.scalars() {
                    let mut path: Path = float.fields.iter().map(|&k| Step::At(k)).collect();
                    if float.ty.is_composite() {
                        path.extend(scalar_path(float.ty, n));
                    }
                    let Some(scalar) = float.ty.scalar_part() else { continue };
                    let part = match path.is_empty() {
                        true => adjoint,
                        false => this.b.one(Op::Extract(adjoint, path), Type::Scalar(scalar)),
                    };
                    let value = this.b.cast(part, Scalar::F64);
                    let slot = this.b.int(Scalar::I32, i128::from(float.slot + n));
                    let access = Access::element(gradients, &[slot]);
                    this.b.one(Op::Atomic { op: AtomicOp::Add, access, value }, Type::Scalar(Scalar::F64));
                }
            }
            None
        });
    }

    fn finish(self) -> Result<Function, Vec<String>> {
        if self.faults.is_empty() { Ok(self.b.finish()) } else { Err(self.faults) }
    }
}

/// The backward entry of a kernel in normal form.
pub fn backward(
    world: &World<'_>,
    old: &Function,
    facts: &ForwardFacts,
    strategy: &Strategy,
) -> Result<Function, Vec<String>> {
    let own = parameters(old);
    let adjoint = own.iter().map(|(name, ty)| (format!("adj_{name}"), *ty));
    let all: Vec<(String, Type)> = own.iter().cloned().chain(adjoint).collect();
    let name = world.unique_name(format!("{}_backward", old.source_name));
    let mut builder = Builder::new(&name, old.kind, &all, old.span);
    builder.reserve(2 * old.insts.len());
    builder.function.source_name = old.source_name.clone();
    builder.function.phase = Phase::Backward;
    builder.function.library = old.library;
    builder.function.by_block = old.by_block;
    builder.function.block_threads = old.block_threads;
    old.walk(old.entry, &mut |id, inst| {
        builder.function.kept.extend(strategy.plans.get(&id).and_then(|plan| kept(world, old, plan, inst)));
    });
    let mut reverse = Reverse::new(world, old, facts, strategy, builder);
    reverse.bind_parameters();
    let adjoints: Vec<ValueId> = reverse.b.function.params()[own.len()..].to_vec();
    let gradients = reverse.parameter_gradients();
    let log = &strategy.log;
    let wanted =
        Wanted { scalars: &log.scalars, role: TapeRole::Log, slots: log.slots, counted: false, reason: &log.reason };
    reverse.log = Buffers::new(&mut reverse.b, &wanted);
    if let (Some(buffers), Some(slots)) = (reverse.log.clone(), log.slots) {
        reverse.leave_unless_room(&buffers, slots);
    }
    reverse.make_tape(world);
    reverse.kernel_shadows(&adjoints);
    reverse.block(old.entry, |_| ());
    if let Some(gradients) = gradients {
        reverse.pass_to_parameters(gradients);
    }
    reverse.b.effect(Op::Return(SmallVec::new()));
    reverse.finish()
}

/// The parameters and results of an adjoint function: see [`Derivative::Rule`].
fn adjoint_signature(module: &Module, old: &Function) -> (Vec<(String, Type)>, Vec<ResultInfo>) {
    let own = parameters(old);
    let mut all = own.clone();
    all.extend(
        own.iter().filter(|(_, ty)| (*ty).bears_array(&module.structs)).map(|(name, ty)| (format!("adj_{name}"), *ty)),
    );
    let single = old.results.len() == 1;
    all.extend(old.results.iter().enumerate().map(|(n, result)| {
        let name = if single { "adj_ret".to_string() } else { format!("adj_ret_{n}") };
        (name, result.ty)
    }));
    let additions = own
        .iter()
        .filter(|(_, ty)| ty.holds_floats(&module.structs))
        .map(|(name, ty)| ResultInfo { ty: *ty, role: ResultRole::Return, name: Some(format!("adj_{name}")) })
        .collect();
    (all, additions)
}

/// The adjoint function of a pure device function in normal form, under a name that the caller
/// makes unique.
pub fn adjoint(
    world: &World<'_>,
    old: &Function,
    facts: &ForwardFacts,
    strategy: &Strategy,
) -> Result<Function, Vec<String>> {
    let (all, additions) = adjoint_signature(world.module, old);
    let name = world.unique_name(format!("adj_{}", old.name));
    let mut builder = Builder::new(&name, FunctionKind::Device, &all, old.span);
    builder.reserve(2 * old.insts.len());
    builder.function.source_name = format!("adj_{}", old.source_name);
    builder.function.library = old.library;
    builder.function.by_block = old.by_block;
    builder.function.block_threads = old.block_threads;
    builder.function.results = additions;
    let mut reverse = Reverse::new(world, old, facts, strategy, builder);
    reverse.bind_parameters();
    let seeds_at = reverse.device_shadows(old.params().len());
    let seeds: Vec<ValueId> = reverse.b.function.params()[seeds_at..].to_vec();
    reverse.block(old.entry, |this| {
        for (&value, &seed) in this.old.returned().iter().zip(&seeds) {
            this.add(value, seed);
        }
    });
    let structs = &world.module.structs;
    let results: Vec<ValueId> =
        old.params().iter().filter(|&&p| old.ty(p).holds_floats(structs)).map(|&p| reverse.take_or_zero(p)).collect();
    reverse.b.effect(Op::Return(results.into_iter().collect()));
    reverse.finish()
}

/// The function `stub` with a new body: a call of `adjoint`, which has the same signature.
pub fn forward_to(stub: &Function, adjoint: FuncId) -> Function {
    let mut builder = Builder::new(&stub.name, stub.kind, &parameters(stub), stub.span);
    builder.function.source_name = stub.source_name.clone();
    builder.function.library = stub.library;
    builder.function.by_block = stub.by_block;
    builder.function.block_threads = stub.block_threads;
    builder.function.results = stub.results.clone();
    let args = builder.function.params().iter().copied().collect();
    let types: Vec<Type> = stub.results.iter().map(|r| r.ty).collect();
    let results = builder.push(Op::Call(adjoint, args), &types);
    builder.effect(Op::Return(results.into_iter().collect()));
    builder.finish()
}

/// The device functions that a function's reverse calls the adjoints of.
pub fn active_callees(module: &Module, old: &Function, facts: &ForwardFacts) -> Vec<FuncId> {
    let mut found = Vec::new();
    old.walk(old.entry, &mut |id, inst| {
        if let Op::Call(callee, _) = inst.op
            && facts.reversed.contains(&id)
            && module.functions[callee].derivative == Derivative::Body
            && !found.contains(&callee)
        {
            found.push(callee);
        }
    });
    found
}
