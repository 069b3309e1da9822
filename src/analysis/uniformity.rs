//! In which threads of a launch do values differ, and which threads come to a block? (Known for
//! GPUs as uniformity or divergence analysis.)
//!
//! What a value depends on is a set of the thread's coordinates: threads that agree in these have
//! the same value, whenever they are there in the same iteration of the loops around. The rules are
//! those of data flow, and of control flow: what a branch or loop gives depends also on what
//! decides about it. A load gives threads that read one element together the same; what an atomic
//! gives differs in all of them.
//!
//! The analysis errs on the side of "differs". It goes over the function until nothing changes
//! (sets only grow).

use std::collections::BTreeMap;
use std::ops::{BitOr, BitOrAssign};

use super::alias::{Root, root};
use super::effects::EffectTable;
use crate::ids::{IdMap, IdVec};
use crate::ir::properties::DependsOn;
use crate::ir::*;
use crate::types::Type;

/// A set of the coordinates of a thread, at most four.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Coordinates(u8);

impl Coordinates {
    pub const NONE: Coordinates = Coordinates(0);
    /// Every coordinate, and what else can differ between threads.
    pub const ALL: Coordinates = Coordinates(0xF);

    /// The number of the thread in its block, which is none of the coordinates.
    pub const THREAD_IN_BLOCK: Coordinates = Coordinates(0x10);

    /// Coordinate `n` alone; there are no more than four.
    pub fn one(n: u8) -> Coordinates {
        Coordinates(1 << n.min(3))
    }

    /// The first `count` ones: those of a launch with so many dimensions.
    pub const fn first(count: u8) -> Coordinates {
        Coordinates(if count < 4 { (1 << count) - 1 } else { 0xF })
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn contains(self, n: u8) -> bool {
        self.meets(Coordinates::one(n))
    }

    /// Whether it has some of the others.
    pub fn meets(self, other: Coordinates) -> bool {
        !(self & other).is_empty()
    }

    /// Those not in `other`.
    pub fn without(self, other: Coordinates) -> Coordinates {
        Coordinates(self.0 & !other.0)
    }
}

impl BitOr for Coordinates {
    type Output = Coordinates;

    fn bitor(self, other: Coordinates) -> Coordinates {
        Coordinates(self.0 | other.0)
    }
}

impl BitOrAssign for Coordinates {
    fn bitor_assign(&mut self, other: Coordinates) {
        self.0 |= other.0;
    }
}

impl std::ops::BitAnd for Coordinates {
    type Output = Coordinates;

    fn bitand(self, other: Coordinates) -> Coordinates {
        Coordinates(self.0 & other.0)
    }
}

/// What a value depends on that is not the same for the whole launch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Dependence {
    pub coordinates: Coordinates,
    /// On when it is computed: on memory, or on the iteration of a loop.
    pub time: bool,
}

impl Dependence {
    /// On nothing: one value for the whole launch.
    pub const NONE: Dependence = Dependence { coordinates: Coordinates::NONE, time: false };
    const TIME: Dependence = Dependence { coordinates: Coordinates::NONE, time: true };
    const ALL: Dependence = Dependence { coordinates: Coordinates::ALL, time: true };

    fn on(coordinates: Coordinates) -> Dependence {
        Dependence { coordinates, time: false }
    }
}

impl BitOr for Dependence {
    type Output = Dependence;

    fn bitor(self, other: Dependence) -> Dependence {
        Dependence { coordinates: self.coordinates | other.coordinates, time: self.time | other.time }
    }
}

/// What the values of a function depend on, and which threads come to its blocks.
#[derive(Clone, Debug, Default)]
pub struct Uniformity {
    values: IdVec<ValueId, Dependence>,
    /// By block: what decides whether a thread is there.
    control: IdVec<BlockId, Coordinates>,
    /// By local array: what its elements depend on.
    elements: IdMap<ValueId, Dependence>,
    /// What those of all depend on: it was not known which array was meant.
    all_elements: Dependence,
    /// By instruction that waits for other threads: what decides whether a thread reaches it.
    waits: BTreeMap<InstId, Coordinates>,
}

impl Uniformity {
    /// Of a kernel, or of a function called with any arguments. `effects`: of what it calls; a
    /// function that is not covered may give anything.
    pub fn of(function: &Function, effects: &EffectTable) -> Uniformity {
        Uniformity::of_call(function, effects, &[])
    }

    /// Of one call, whose arguments depend on these (missing ones of a kernel on nothing, others on
    /// anything).
    pub fn of_call(function: &Function, effects: &EffectTable, arguments: &[Dependence]) -> Uniformity {
        let rank = if let FunctionKind::Kernel { rank } = function.kind { rank } else { 4 };
        let mut known = Uniformity {
            values: function.values.ids().map(|_| Dependence::NONE).collect(),
            control: function.blocks.ids().map(|_| Coordinates::NONE).collect(),
            elements: IdMap::default(),
            all_elements: Dependence::NONE,
            waits: BTreeMap::new(),
        };
        let missing = if function.is_kernel() { Dependence::NONE } else { Dependence::ALL };
        for (n, &param) in function.params().iter().enumerate() {
            known.values[param] = arguments.get(n).copied().unwrap_or(missing);
        }
        let launch = Coordinates::first(rank);
        let mut analysis = Analysis { function, effects, launch, known, changed: true };
        while std::mem::take(&mut analysis.changed) {
            analysis.block(function.entry, Context::default(), &mut Jumps::default());
        }
        analysis.known
    }

    pub fn dependence(&self, value: ValueId) -> Dependence {
        self.values.get(value).copied().unwrap_or(Dependence::ALL)
    }

    /// The coordinates that a value depends on.
    pub fn coordinates(&self, value: ValueId) -> Coordinates {
        self.dependence(value).coordinates
    }

    /// Whether threads that differ in coordinate `n` may have different values.
    pub fn varies_along(&self, value: ValueId, n: u8) -> bool {
        self.coordinates(value).contains(n)
    }

    /// Whether there is one value for all threads of the launch, at all times.
    pub fn is_invariant(&self, value: ValueId) -> bool {
        self.dependence(value) == Dependence::NONE
    }

    /// What decides whether a thread reaches a block.
    pub fn control(&self, block: BlockId) -> Coordinates {
        self.control.get(block).copied().unwrap_or(Coordinates::ALL)
    }

    /// The instructions that wait for other threads, barriers and calls of functions with some, and
    /// what decides whether a thread reaches each.
    pub fn waits(&self) -> impl Iterator<Item = (InstId, Coordinates)> + '_ {
        self.waits.iter().map(|(&inst, &control)| (inst, control))
    }

    /// What the elements of a local array depend on, named by its definition.
    pub fn elements(&self, local: ValueId) -> Dependence {
        self.elements.get(&local).copied().unwrap_or_default() | self.all_elements
    }
}

/// Why a thread is where it is.
#[derive(Clone, Copy, Default)]
struct Context {
    /// By all that was decided.
    control: Coordinates,
    /// By what was decided in this iteration of the innermost loop.
    iteration: Coordinates,
}

impl Context {
    fn under(self, more: Coordinates) -> Context {
        Context { control: self.control | more, iteration: self.iteration | more }
    }
}

/// How threads leave a block before its end, and with what.
#[derive(Default)]
struct Jumps {
    /// What decides about `return`, here or in blocks inside.
    returns: Coordinates,
    /// The same for `break` and `continue` of the innermost loop.
    breaks: Coordinates,
    continues: Coordinates,
    broken: Vec<Dependence>,
    continued: Vec<Dependence>,
}

impl Jumps {
    fn any(&self) -> Coordinates {
        self.returns | self.breaks | self.continues
    }
}

struct Analysis<'a> {
    function: &'a Function,
    effects: &'a EffectTable,
    launch: Coordinates,
    known: Uniformity,
    changed: bool,
}

impl<'a> Analysis<'a> {
    fn of(&self, value: ValueId) -> Dependence {
        self.known.values[value]
    }

    fn grow(&mut self, value: ValueId, by: Dependence) {
        let grown = self.of(value) | by;
        self.changed |= grown != self.of(value);
        self.known.values[value] = grown;
    }

    fn operands(&self, op: &Op) -> Dependence {
        let mut all = Dependence::NONE;
        op.for_each_operand(|v| all = all | self.of(v));
        all
    }

    fn elements(&self, array: ValueId) -> Dependence {
        match root(self.function, array) {
            Root::Local(local) => self.known.elements(local),
            _ => Dependence::ALL,
        }
    }

    fn grow_elements(&mut self, array: ValueId, by: Dependence) {
        let (elements, grown) = match root(self.function, array) {
            Root::Local(local) => {
                let elements = self.known.elements.entry(local).or_default();
                let grown = *elements | by;
                (elements, grown)
            }
            // One of several.
            _ => (&mut self.known.all_elements, Dependence::ALL),
        };
        self.changed |= grown != *elements;
        *elements = grown;
    }

    fn is_local(&self, array: ValueId) -> bool {
        matches!(self.function.ty(array), Type::Local(_))
    }

    fn block(&mut self, block: BlockId, mut context: Context, jumps: &mut Jumps) {
        let function = self.function;
        self.restrict(block, context.control);
        for &id in &function.blocks[block].insts {
            let inst = &function.insts[id];
            match &inst.op {
                Op::If { condition, then, otherwise } => {
                    let condition = self.of(*condition);
                    let inner = context.under(condition.coordinates);
                    self.block(*then, inner, jumps);
                    self.block(*otherwise, inner, jumps);
                    for (n, &result) in inst.results.iter().enumerate() {
                        let yielded = [then, otherwise].map(|&b| self.function.yielded(b).get(n).map(|&v| self.of(v)));
                        let either = yielded.into_iter().flatten().fold(condition, Dependence::bitor);
                        self.grow(result, either);
                    }
                    // Those that left in it do not come to the rest.
                    context = context.under(jumps.any());
                }
                Op::For { start, end, step, init, body } => {
                    let range = self.of(*start) | self.of(*end) | self.of(*step);
                    let (variable, carried) = match function.blocks[*body].params.split_first() {
                        Some((&variable, carried)) => (Some(variable), carried),
                        None => (None, &[][..]),
                    };
                    variable.into_iter().for_each(|v| self.grow(v, range | Dependence::TIME));
                    let returns = self.iterations(inst, init, carried, *body, range.coordinates, context);
                    jumps.returns |= returns;
                    context = context.under(returns);
                }
                Op::While { init, condition, body } => {
                    let decides = |this: &Self| {
                        this.function.yielded(*condition).first().map_or(Dependence::NONE, |&v| this.of(v))
                    };
                    let before = decides(self).coordinates;
                    let tested = context.control | before | self.known.control[*body];
                    self.block(*condition, Context { control: tested, ..Context::default() }, jumps);
                    let params = &function.blocks[*body].params;
                    let returns = self.iterations(inst, init, params, *body, decides(self).coordinates, context);
                    for (&tested, &carried) in function.blocks[*condition].params.iter().zip(params) {
                        self.grow(tested, self.of(carried));
                    }
                    jumps.returns |= returns;
                    context = context.under(returns);
                }
                Op::Break(values) => {
                    jumps.breaks |= context.iteration;
                    self.join(&mut jumps.broken, values);
                }
                Op::Continue(values) => {
                    jumps.continues |= context.iteration;
                    self.join(&mut jumps.continued, values);
                }
                Op::Return(_) => jumps.returns |= context.control,
                op @ (straight!() | Op::Yield(_)) => {
                    if self.effects.properties(op).synchronises {
                        *self.known.waits.entry(id).or_default() |= context.control;
                    }
                    self.simple(op, inst, context);
                }
            }
        }
    }

    /// Adds to what decides whether a thread reaches a block.
    fn restrict(&mut self, block: BlockId, by: Coordinates) {
        let control = self.known.control[block] | by;
        self.changed |= control != self.known.control[block];
        self.known.control[block] = control;
    }

    fn join(&self, slots: &mut Vec<Dependence>, values: &[ValueId]) {
        slots.resize(slots.len().max(values.len()), Dependence::NONE);
        slots.iter_mut().zip(values).for_each(|(slot, &value)| *slot = *slot | self.of(value));
    }

    /// The body of a loop, whose number of iterations `trips` decides about, and what it carries;
    /// gives what decides about a `return` in it.
    fn iterations(
        &mut self,
        inst: &Inst,
        init: &[ValueId],
        params: &[ValueId],
        body: BlockId,
        trips: Coordinates,
        context: Context,
    ) -> Coordinates {
        let mut jumps = Jumps::default();
        // Threads that broke off earlier, as far as is known by now, take no part in later
        // iterations.
        let inner = Context { control: context.control | trips | self.known.control[body], ..Context::default() };
        self.block(body, inner, &mut jumps);
        let trips = trips | jumps.breaks;
        // (One that returned does not come either, but gives the loop no result.)
        self.restrict(body, trips | jumps.returns);
        let yields = self.function.yielded(body);
        for (n, (&param, &result)) in params.iter().zip(&inst.results).enumerate() {
            let at = |list: &[Dependence]| list.get(n).copied().unwrap_or_default();
            let ways = Dependence { coordinates: trips | jumps.continues, time: true };
            let next = yields.get(n).map_or(Dependence::NONE, |&v| self.of(v)) | at(&jumps.continued);
            let carried = init.get(n).map_or(Dependence::NONE, |&v| self.of(v)) | next | ways;
            self.grow(param, carried);
            self.grow(result, self.of(param) | at(&jumps.broken));
        }
        jumps.returns
    }

    fn simple(&mut self, op: &Op, inst: &Inst, context: Context) {
        let operands = self.operands(op);
        let result = match op {
            Op::ThreadIndex(n) => Dependence::on(Coordinates::one(*n)),
            Op::ThreadNumber => Dependence::on(self.launch),
            Op::Call(callee, args) => {
                let own = self.effects[*callee].properties();
                let mut shares_local = false;
                for &local in args.iter().filter(|&&arg| matches!(self.function.ty(arg), Type::Local(_))) {
                    shares_local = true;
                    self.grow_elements(local, Dependence::ALL);
                }
                if own.atomic || own.depends_on == DependsOn::Thread || shares_local {
                    Dependence::ALL
                } else {
                    operands | Dependence { time: own.reads, ..Dependence::NONE }
                }
            }
            arithmetic!()
            | parts!()
            | Op::BlockDim
            | Op::ThreadInBlock
            | arrays!()
            | accesses!()
            | effects!()
            | nested!()
            | jumps!() => self.access(op, operands, context),
        };
        inst.results.iter().for_each(|&r| self.grow(r, result));
    }

    /// Of an operation by its row of the table, above all on memory.
    fn access(&mut self, op: &Op, operands: Dependence, context: Context) -> Dependence {
        let own = op.properties();
        let mut result = operands;
        if own.atomic || own.depends_on == DependsOn::Thread {
            result = Dependence::ALL;
        } else if own.reads {
            result = result | Dependence::TIME;
        }
        if let Some(access) = op.access()
            && self.is_local(access.array)
        {
            let meant = matches!(root(self.function, access.array), Root::Local(_));
            if own.writes {
                self.grow_elements(access.array, result | Dependence::on(context.control));
            } else if !meant {
                self.grow_elements(access.array, Dependence::ALL);
            }
            result = result | self.elements(access.array);
        }
        result
    }
}
