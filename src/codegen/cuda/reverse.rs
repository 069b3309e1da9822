//! Which operations of reverse code say together what a person says by one? Sums over the
//! components of a product are dot products ([`dots`]); a vector whose components are all set, one
//! after the other, is made of them.

use std::borrow::Cow;

use super::dots::{self, Dot};
use super::guards::is_reverse;
use crate::analysis::effects::EffectTable;
use crate::ids::IdMap;
use crate::ir::{FuncId, Function, InstId, Module, Op, Step, Values};
use crate::passes::pipelines::clean;
use crate::types::Type;

/// What one function says in pieces.
struct Found {
    dots: Vec<Dot>,
    /// Where the last component is set, and all of them.
    wholes: Vec<(InstId, Values)>,
}

/// The module with such operations as one.
pub fn tidied(module: &Module) -> Cow<'_, Module> {
    let mut all: Vec<(FuncId, Found)> = Vec::new();
    for id in module.functions.ids().filter(|&id| is_reverse(&module.functions[id])) {
        let function = &module.functions[id];
        let found = Found { dots: dots::of(function), wholes: wholes(function) };
        if !found.dots.is_empty() || !found.wholes.is_empty() {
            all.push((id, found));
        }
    }
    if all.is_empty() {
        return Cow::Borrowed(module);
    }
    let mut changed = module.clone();
    let mut known = IdMap::default();
    for (id, found) in all {
        for (inst, parts) in found.wholes {
            changed.functions[id].insts[inst].op = Op::Construct(parts);
        }
        dots::call(&mut changed, id, &found.dots, &mut known);
        let mut effects = EffectTable::default();
        for callee in changed.functions.callees(id) {
            effects.cover(&changed, callee);
        }
        let Module { functions, structs, .. } = &mut changed;
        clean(&mut functions[id], structs, &effects);
    }
    Cow::Owned(changed)
}

/// Vectors of which each component is set, whatever they were before.
fn wholes(function: &Function) -> Vec<(InstId, Values)> {
    let mut found = Vec::new();
    function.walk(function.entry, &mut |id, inst| {
        let Op::Insert(..) = inst.op else { return };
        let Some(Type::Vec(n @ 2..=4, _)) = inst.results.first().map(|&result| function.ty(result)) else { return };
        let mut parts = vec![None; usize::from(n)];
        let mut op = Some(&inst.op);
        while let Some(Op::Insert(before, path, part)) = op {
            let [Step::At(at)] = path[..] else { break };
            let Some(place) = parts.get_mut(at as usize) else { break };
            // A later one replaces an earlier one.
            place.get_or_insert(*part);
            op = function.op(*before);
        }
        if let Some(parts) = parts.into_iter().collect::<Option<Values>>() {
            found.push((id, parts));
        }
    });
    found
}
