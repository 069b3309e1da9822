//! Which values does reverse code read? Those that the adjoint rules ask for when they are tried.

use super::reverse::Reverse;
use crate::autodiff::analysis::facts::ForwardFacts;
use crate::autodiff::analysis::needed::bounds;
use crate::autodiff::analysis::world::World;
use crate::autodiff::storage::Strategy;
use crate::ids::IdMap;
use crate::ir::build::Builder;
use crate::ir::{Function, FunctionKind, InstId, Op, ValueId, jumps, straight};

/// The values that the reverse of each instruction reads: what its adjoint rule asks for, tried on
/// a scratch function.
pub fn reads(world: &World<'_>, function: &Function, facts: &ForwardFacts) -> IdMap<InstId, Vec<ValueId>> {
    let mut scratch = Builder::new("scratch", FunctionKind::Device, &[], function.span);
    scratch.reserve(2 * function.insts.len());
    let nothing = Strategy::default();
    let mut reverse = Reverse::new(world, function, facts, &nothing, scratch);
    reverse.scratch_shadows();
    let mut found = IdMap::default();
    function.walk(function.entry, &mut |id, inst| {
        if !facts.reversed.contains(&id) {
            return;
        }
        let mut read = Vec::new();
        match &inst.op {
            Op::If { condition, .. } => read.push(*condition),
            Op::For { .. } | Op::While { .. } => bounds(function, id, &mut read),
            straight!() | jumps!() => {
                for &result in inst.results.iter().filter(|&&r| facts.activity.is_active(r)) {
                    let seed = reverse.b.zero(function.ty(result));
                    reverse.adjoints.insert(result, seed);
                }
                reverse.reads = Some(Vec::new());
                reverse.inst(id);
                read = reverse.reads.take().unwrap_or_default();
                reverse.adjoints.clear();
                reverse.parts.clear();
            }
        }
        found.insert(id, read);
    });
    found
}
