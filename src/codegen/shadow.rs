//! Where are the adjoints? IR chooses each array of adjoints where it uses it: the one the caller
//! gives, or else the one behind the array itself. Compiled code does that once, before its loop
//! over threads, and then just uses the parameter:
//!
//! ```text
//! if (!adj_x) adj_x = x.gradient();
//! ```

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::analysis::uses;
use crate::ids::IdMap;
use crate::ir::{
    FuncId, Function, Inst, Module, Op, Path, Phase, Step, ValueDef, ValueId, accesses, arithmetic, effects, jumps,
    nested, threads,
};
use crate::types::Type;

/// The shadows of each backward entry that has any.
pub type Shadows = BTreeMap<FuncId, Vec<Shadow>>;

/// An array that a kernel is given: a parameter, or a field of one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ArrayPath {
    pub param: ValueId,
    pub path: Path,
}

/// The array of adjoints in `given` defaults to the one behind `array`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shadow {
    pub given: ArrayPath,
    pub array: ArrayPath,
}

/// [`extract`] for some kernels of a module.
pub fn extract_all<'a>(module: &'a Module, kernels: &[FuncId]) -> (Cow<'a, Module>, Shadows) {
    let (mut changed, mut shadows) = (Cow::Borrowed(module), Shadows::new());
    for &id in kernels {
        if let Some((function, found)) = extract(&module.functions[id]) {
            changed.to_mut().functions[id] = function;
            shadows.insert(id, found);
        }
    }
    (changed, shadows)
}

/// Takes the choices of arrays of adjoints out of a backward entry; what remains names the given
/// arrays. None: nothing to take out.
pub fn extract(function: &Function) -> Option<(Function, Vec<Shadow>)> {
    if function.phase == Phase::Forward {
        return None;
    }
    let mut shadows: Vec<Shadow> = Vec::new();
    // The value that represents each choice.
    let mut replaced: IdMap<ValueId, ValueId> = IdMap::default();
    // The given array is seen with its default only if every use of it is such a choice.
    let mut bare: Vec<ArrayPath> = Vec::new();
    function.walk(function.entry, &mut |_, inst| match inst.op {
        Op::Select { condition, then, otherwise }
            if let Some(shadow) = shadow(function, condition, then, otherwise) =>
        {
            if !shadows.contains(&shadow) {
                shadows.push(shadow);
            }
            replaced.extend(inst.results.iter().map(|&result| (result, then)));
        }
        Op::IsSet(_) | Op::Extract(..) => {}
        arithmetic!()
        | Op::Zero
        | Op::Select { .. }
        | Op::Construct(_)
        | Op::Insert(..)
        | threads!()
        | Op::Call(..)
        | Op::Extent(..)
        | Op::Gradient(_)
        | Op::Address(_)
        | Op::ArrayAt { .. }
        | Op::View(..)
        | Op::LocalArray
        | Op::SharedArray
        | accesses!()
        | effects!()
        | nested!()
        | jumps!() => inst.op.for_each_operand(|operand| {
            if matches!(function.ty(operand), Type::Array(_) | Type::Struct(_)) {
                bare.extend(place(function, operand));
            }
        }),
    });
    let overlaps = |a: &ArrayPath, b: &ArrayPath| {
        a.param == b.param && (a.path.starts_with(&b.path) || b.path.starts_with(&a.path))
    };
    let conflicting = shadows.iter().enumerate().any(|(n, shadow)| {
        bare.iter().any(|place| overlaps(place, &shadow.given))
            || shadows[..n].iter().any(|other| other.given == shadow.given)
    });
    if shadows.is_empty() || conflicting {
        return None;
    }
    let mut function = function.clone();
    for inst in function.insts.values_mut() {
        let is_choice = inst.results.first().is_some_and(|r| replaced.contains_key(r));
        if !is_choice {
            inst.op.for_each_operand_mut(|operand| *operand = replaced.get(operand).copied().unwrap_or(*operand));
        }
    }
    let is_choice = |inst: &Inst| inst.results.first().is_some_and(|result| replaced.contains_key(result));
    remove(&mut function, is_choice);
    let uses = uses(&function);
    remove(&mut function, |inst| {
        matches!(inst.op, Op::Gradient(_)) && inst.results.iter().all(|&result| uses[result] == 0)
    });
    Some((function, shadows))
}

/// Takes instructions out of a function.
fn remove(function: &mut Function, which: impl Fn(&Inst) -> bool) {
    for block in function.blocks.ids().collect::<Vec<_>>() {
        let mut insts = std::mem::take(&mut function.blocks[block].insts);
        insts.retain(|&id| !which(&function.insts[id]));
        function.blocks[block].insts = insts;
    }
}

/// What a choice between arrays says.
fn shadow(function: &Function, condition: ValueId, then: ValueId, otherwise: ValueId) -> Option<Shadow> {
    let op = |value: ValueId| function.op(value);
    let (Some(&Op::IsSet(tested)), Some(&Op::Gradient(array))) = (op(condition), op(otherwise)) else { return None };
    let (given, array) = (place(function, then)?, place(function, array)?);
    (place(function, tested).as_ref() == Some(&given)).then_some(Shadow { given, array })
}

/// The part of a parameter that a value is.
pub fn place(function: &Function, value: ValueId) -> Option<ArrayPath> {
    match function.values[value].def {
        ValueDef::Param(block, _) => (block == function.entry).then(|| ArrayPath { param: value, path: Path::new() }),
        ValueDef::Result(inst, _) => {
            if let Op::Extract(base, steps) = &function.insts[inst].op
                && steps.iter().all(|step| matches!(step, Step::At(_)))
            {
                let mut place = place(function, *base)?;
                place.path.extend(steps.iter().copied());
                Some(place)
            } else {
                None
            }
        }
    }
}
