//! Which indices may be outside of a tile or a local array? Code for the simulator says so before
//! each access: the passes that come behind it make numbers of such arrays, and share their loops
//! among threads, after which an index outside is none.

use std::borrow::Cow;

use crate::analysis::ranges::Ranges;
use crate::ids::IdMap;
use crate::ir::{Access, Check, FuncId, Function, Inst, InstId, Module, Op, Values};
use crate::types::Type;

/// The module with a [`Check::Element`] of each index that may be outside.
pub fn add(module: &Module) -> Cow<'_, Module> {
    let mut changed = Cow::Borrowed(module);
    for id in module.functions.ids().filter(|&id| !module.functions.is_linked(id)) {
        let wanted = wanted(module, id);
        if !wanted.is_empty() {
            insert(&mut changed.to_mut().functions[id], wanted);
        }
    }
    changed
}

/// The checks before each access.
fn wanted(module: &Module, id: FuncId) -> IdMap<InstId, Vec<Inst>> {
    let function = &module.functions[id];
    let is_local = |access: &Access| matches!(function.ty(access.array), Type::Local(_));
    let mut wanted = IdMap::default();
    if !function.has(|inst| inst.op.access().is_some_and(is_local)) {
        return wanted;
    }
    let ranges = Ranges::of(function);
    function.walk(function.entry, &mut |id, inst| {
        let Some(access) = inst.op.access() else { return };
        let Type::Local(array) = function.ty(access.array) else { return };
        let name = function.values[access.array].name.clone().unwrap_or_default();
        for ((dim, &extent), &index) in (0..).zip(array.extents()).zip(&access.indices) {
            let fits = |low: i128, high: i128| low >= -i128::from(extent) && high < i128::from(extent);
            if ranges.bounds_at(id, index).is_some_and(|bounds| fits(bounds.interval.low, bounds.interval.high)) {
                continue;
            }
            let op = Op::Check(Check::Element { dim, extent, name: name.clone() }, Values::from_slice(&[index]));
            let check = Inst { op, results: Default::default(), span: inst.span };
            wanted.entry(id).or_insert_with(Vec::new).push(check);
        }
    });
    wanted
}

fn insert(function: &mut Function, mut wanted: IdMap<InstId, Vec<Inst>>) {
    let Function { blocks, insts, .. } = function;
    for block in blocks.values_mut() {
        if !block.insts.iter().any(|id| wanted.contains_key(id)) {
            continue;
        }
        for id in std::mem::take(&mut block.insts) {
            block.insts.extend(wanted.remove(&id).into_iter().flatten().map(|check| insts.push(check)));
            block.insts.push(id);
        }
    }
}
