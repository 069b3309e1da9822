//! What is true of a function that is to be differentiated? All analyses of the forward program
//! together.

use super::accumulate::Accumulations;
use super::activity::{Activity, writing_calls};
use super::fills::Fills;
use super::finite::Finite;
use super::reread::Rereads;
use super::world::World;
use super::written::{Written, stale};
use crate::analysis::holders;
use crate::analysis::ownership::{IndexFacts, PrivateArrays, Sharing, private_arrays_among};
use crate::ids::{IdMap, IdSet};
use crate::ir::{
    Access, AtomicOp, BlockId, Check, Derivative, FuncId, Function, InstId, Op, ValueDef, ValueId, arrays, effects,
    jumps, nested, values,
};
use crate::types::Type;

/// What holds of one function in normal form.
pub struct ForwardFacts {
    pub activity: Activity,
    /// The floats that a kernel is given by value have gradients.
    pub parameters: bool,
    pub written: Written,
    private: PrivateArrays,
    /// The instructions with something to do in reverse.
    pub reversed: IdSet<InstId>,
    /// Those of them that hold stores or atomics with something to do in reverse.
    storing: IdSet<InstId>,
    /// Where guards are needed.
    pub finite: Finite,
    pub accumulations: Accumulations,
    pub holders: Vec<Option<InstId>>,
    pub fills: Fills,
    /// What the rules read in a tile.
    pub rereads: Rereads,
    /// Bounds of the integers, and what is equal.
    pub known: IndexFacts,
    /// The function is reverse code itself: `x != 0 ? ... : 0` guards factors without bounds and is
    /// no branch of the user's.
    pub guards: bool,
    /// The calls that write to arrays by themselves.
    pub writing: IdSet<InstId>,
    /// The instructions whose results can't be computed again after the launch.
    pub stale: IdSet<InstId>,
    /// What is checked of indices that choose components, in code for checked runs: where an
    /// adjoint takes the same way, it is checked again.
    pub component_checks: IdMap<ValueId, Check>,
    /// By call of a library function: the test for points at which its gradient is near-degenerate,
    /// and what to say then.
    pub tests: IdMap<InstId, (FuncId, Check)>,
}

impl ForwardFacts {
    /// `parameters`: as for [`Activity::of`].
    pub fn of(world: &World<'_>, function: &Function, guards: bool, parameters: bool) -> ForwardFacts {
        let writing = writing_calls(world.module, world.effects, function);
        let activity = Activity::of(world.module, world.effects, &writing, function, parameters);
        let written = Written::of(&world.module.structs, world.effects, function);
        let known = IndexFacts::of(function);
        let holders = holders(function);
        let fills = Fills::of(world.module, world.effects, function, &holders);
        let (reversed, storing) = reversed(world, function, &activity, &writing);
        ForwardFacts {
            reversed,
            storing,
            component_checks: component_checks(function),
            tests: degeneracy_tests(function),
            stale: stale(world.module, function, &written, &fills),
            written,
            private: private_arrays_among(function, &world.module.structs, Sharing::SameType, &known, &|_| true),
            finite: Finite::of(world.module, function, &mut world.sizes.borrow_mut()),
            accumulations: Accumulations::of(function),
            holders,
            fills,
            rereads: Rereads::default(),
            known,
            guards,
            activity,
            parameters,
            writing,
        }
    }

    /// Whether the instruction holds stores or atomics with something to do in reverse.
    pub fn stores_floats(&self, id: InstId) -> bool {
        self.storing.contains(&id)
    }

    /// Whether only this thread touches the elements of an array that it touches, so that the
    /// adjoints of those are its own, too. Takes it that the launch has no more dimensions than the
    /// kernel has coordinates.
    pub fn private(&self, function: &Function, array: ValueId) -> bool {
        self.private.contains(function, array)
    }
}

fn component_checks(function: &Function) -> IdMap<ValueId, Check> {
    let mut found = IdMap::default();
    function.walk(function.entry, &mut |_, inst| {
        if let Op::Check(what @ Check::Component { .. }, index) = &inst.op {
            found.entry(index[0]).or_insert_with(|| what.clone());
        }
    });
    found
}

/// From `%c = call @test(...)` and `check degenerate %c, %result`.
fn degeneracy_tests(function: &Function) -> IdMap<InstId, (FuncId, Check)> {
    let mut found = IdMap::default();
    function.walk(function.entry, &mut |_, inst| {
        if let Op::Check(what @ Check::Degenerate { .. }, operands) = &inst.op
            && let &[holds, result] = operands.as_slice()
            && let Some(Op::Call(test, _)) = function.op(holds)
            && let ValueDef::Result(call, _) = function.values[result].def
        {
            found.insert(call, (*test, what.clone()));
        }
    });
    found
}

/// Collects the instructions of a block that hold reversed instructions with side effects; says
/// whether there are any in the block.
fn effect_holders(function: &Function, block: BlockId, reversed: &IdSet<InstId>, found: &mut IdSet<InstId>) -> bool {
    let mut any = false;
    for &id in &function.blocks[block].insts {
        let inst = &function.insts[id];
        let mut holds = false;
        for nested in inst.op.blocks() {
            holds |= effect_holders(function, nested, reversed, found);
        }
        if holds {
            found.insert(id);
        }
        any |= holds || reversed.contains(&id) && inst.op.properties().has_side_effect();
    }
    any
}

/// The instructions with something to do in reverse, and those of them that hold stores or atomics
/// with something to do.
fn reversed(
    world: &World<'_>,
    function: &Function,
    activity: &Activity,
    writing: &IdSet<InstId>,
) -> (IdSet<InstId>, IdSet<InstId>) {
    let mut found = IdSet::default();
    function.walk(function.entry, &mut |id, inst| {
        let works = match &inst.op {
            // What a store leaves in an array does not depend on what was there before, active or
            // not.
            Op::Store { access: Access { array, .. }, value } => {
                let ty = function.ty(*array);
                (matches!(ty, Type::Array(_)) || ty.is_local_array())
                    && function.ty(*value).holds_floats(&world.module.structs)
            }
            // So does one that may replace the content.
            Op::Atomic { op: AtomicOp::Min | AtomicOp::Max | AtomicOp::Exchange, value, .. } => {
                function.ty(*value).holds_floats(&world.module.structs)
            }
            Op::Atomic { value, .. } => activity.is_active(*value),
            // A rule says what becomes of the adjoints of what its function writes.
            Op::Call(callee, _) if writing.contains(&id) => {
                matches!(world.module.functions[*callee].derivative, Derivative::Rule { .. })
            }
            Op::Call(..) => activity.any_result(inst),
            Op::Check(Check::Visit, operands) => operands.iter().any(|&value| activity.is_active(value)),
            op @ (values!() | arrays!() | Op::Load(_) | Op::AtomicCas { .. } | effects!() | nested!() | jumps!()) => {
                activity.any_result(inst) || op.properties().synchronises
            }
        };
        if works {
            found.insert(id);
        }
    });
    let mut holders = IdSet::default();
    effect_holders(function, function.entry, &found, &mut holders);
    found.extend(holders.iter().copied());
    (found, holders)
}
