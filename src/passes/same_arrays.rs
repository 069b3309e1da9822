//! What if two parameters of a kernel are one array? All other passes, and differentiation, take
//! different parameters to share no memory. This pass makes that true of a launch that passes one
//! array twice: one of the two names represents both, and nothing uses the other any more.

use std::collections::BTreeSet;

use smallvec::smallvec;

use super::inline;
use crate::analysis::alias::{Root, root};
use crate::ids::IdMap;
use crate::ir::*;
use crate::types::{StructTable, Type};

/// A kernel, and pairs of its array parameters (or fields of struct parameters) that are one array
/// in a launch.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SameArrays {
    /// Its name in the source.
    pub kernel: String,
    pub pairs: Vec<(Root, Root)>,
}

/// Gives pairs of array parameters (or fields of struct parameters) of a kernel one name: the
/// second of each pair is the same array as the first. Returns whether it could be done.
pub fn run(module: &mut Module, kernel: FuncId, same: &[(Root, Root)]) -> bool {
    let others: BTreeSet<&Root> = same.iter().map(|(_, other)| other).collect();
    let mut function = module.functions[kernel].clone();
    if passes_whole(&function, &module.structs, &others)
        && (inline::run(&mut function, module, &|_| true).is_err() || passes_whole(&function, &module.structs, &others))
    {
        return false;
    }
    for (first, other) in same {
        let Some(named) = name(&mut function, &module.structs, first) else { return false };
        // Every value that is the whole of the other array.
        let mut replaced: IdMap<ValueId, ValueId> = IdMap::default();
        for value in function.values.ids() {
            let of_other = matches!(function.ty(value), Type::Array(_)) && root(&function, value) == *other;
            let is_part = matches!(function.op(value), Some(Op::View(..)));
            if of_other && !is_part {
                replaced.insert(value, named);
            }
        }
        for inst in function.insts.values_mut() {
            inst.op.for_each_operand_mut(|value| *value = replaced.get(value).copied().unwrap_or(*value));
        }
    }
    module.functions[kernel] = function;
    true
}

/// Whether a struct with one of the arrays in it is used as a whole.
fn passes_whole(function: &Function, structs: &StructTable, others: &BTreeSet<&Root>) -> bool {
    let holds = |value: ValueId| match (function.ty(value), root(function, value)) {
        (Type::Struct(_), Root::Param(n, fields)) => {
            let inside = |other: &&&Root| matches!(other, Root::Param(m, path) if *m == n && path.starts_with(&fields));
            function.ty(value).bears_array(structs) && others.iter().any(|other| inside(&other))
        }
        _ => false,
    };
    function.has(|inst| {
        let mut found = false;
        if !matches!(inst.op, Op::Extract(..)) {
            inst.op.for_each_operand(|value| found |= holds(value));
        }
        found
    })
}

/// The value that is an array parameter or a field of one, at the start of the function.
fn name(function: &mut Function, structs: &StructTable, array: &Root) -> Option<ValueId> {
    let Root::Param(n, fields) = array else { return None };
    let param = *function.params().get(*n as usize)?;
    if fields.is_empty() {
        return Some(param);
    }
    let path: Path = fields.iter().map(|&k| Step::At(k)).collect();
    let ty = fields.iter().try_fold(function.ty(param), |ty, &k| ty.step(Some(k), structs))?;
    let inst = InstId(function.insts.len() as u32);
    let span = function.span;
    let value = function.values.push(Value { ty, def: ValueDef::Result(inst, 0), name: None, span });
    function.insts.push(Inst { op: Op::Extract(param, path), results: smallvec![value], span });
    let entry = function.entry;
    function.blocks[entry].insts.insert(0, inst);
    Some(value)
}
