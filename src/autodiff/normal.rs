//! The form that can be reversed: one exit per region, local arrays as values, and calls only of
//! functions that keep an adjoint of their own.

use crate::analysis::alias::{Root, root};
use crate::analysis::effects::EffectTable;
use crate::autodiff::analysis::written::Written;
use crate::diag::Diagnostic;
use crate::ids::{IdMap, IdSet};
use crate::ir::build::Builder;
use crate::ir::{Derivative, FuncId, Function, Module, Op, Path, Step, ValueId};
use crate::passes::inline;
use crate::passes::pipelines::reversible;
use crate::types::{StructTable, Type};

/// Calls nest no deeper than this (each round inlines one level of those that only then turn out to
/// need it).
const MAX_ROUNDS: usize = 64;

/// A copy of a function in normal form. Calls of functions that differentiation made stay.
pub(super) fn normal_form(
    module: &Module,
    effects: &EffectTable,
    id: FuncId,
    generated: &IdSet<FuncId>,
) -> Result<Function, Diagnostic> {
    let mut copy = module.functions[id].clone();
    for _ in 0..MAX_ROUNDS {
        replace_by_replay(module, effects, &mut copy)?;
        let calls = calls_to_inline(module, &copy, effects, generated);
        let wanted = |callee: FuncId| calls.contains(&callee);
        match inline::run(&mut copy, module, &wanted) {
            Ok(true) => {}
            Ok(false) => break,
            Err(large) => {
                let name = &module.functions[large.callee].source_name;
                return Err(crate::autodiff::analysis::refuse::limit(
                    large.span,
                    format!("with `{name}` the code grows too large"),
                ));
            }
        }
    }
    // The choices in reverse code are guards, which have rules of their own.
    reversible(&mut copy, &module.structs, effects, !generated.contains(&id));
    Ok(copy)
}

/// Reads each field of floats of a struct parameter once, at the start: reverse code then adds up
/// the adjoint of that field, and not one of the whole struct.
pub(super) fn read_fields_once(function: &mut Function, structs: &StructTable) {
    let params: Vec<ValueId> =
        function.params().iter().copied().filter(|&p| matches!(function.ty(p), Type::Struct(_))).collect();
    let entry = function.entry;
    let mut reads: Vec<(ValueId, Path, ValueId)> = Vec::new();
    let mut same: IdMap<ValueId, ValueId> = IdMap::default();
    for id in function.insts.ids() {
        let Op::Extract(whole, path) = &function.insts[id].op else { continue };
        let (whole, path) = (*whole, path.clone());
        if !params.contains(&whole) {
            continue;
        }
        let (mut ty, mut depth) = (function.ty(whole), 0);
        while let (Type::Struct(_), Some(&Step::At(n))) = (ty, path.get(depth)) {
            let Some(part) = ty.step(Some(n), structs) else { break };
            (ty, depth) = (part, depth + 1);
        }
        if matches!(ty, Type::Struct(_)) || !ty.holds_floats(structs) {
            continue;
        }
        let (field, rest) = (Path::from_slice(&path[..depth]), Path::from_slice(&path[depth..]));
        let known = reads.iter().find(|(of, at, _)| *of == whole && *at == field).map(|(_, _, value)| *value);
        let value = known.unwrap_or_else(|| {
            let value = Builder::edit(function, entry, |b| b.one(Op::Extract(whole, field.clone()), ty));
            let insts = &mut function.blocks[entry].insts;
            insts.rotate_right(1);
            reads.push((whole, field, value));
            value
        });
        match rest.is_empty() {
            true => same.extend(function.insts[id].results.iter().map(|&result| (result, value))),
            false => function.insts[id].op = Op::Extract(value, rest),
        }
    }
    for inst in function.insts.values_mut() {
        inst.op.for_each_operand_mut(|v| *v = same.get(v).copied().unwrap_or(*v));
    }
}

/// Functions that have a stand-in for reverse code, which finds their results again. How these
/// depend on what the function was given it does not say: where that matters, the program has to.
fn replace_by_replay(module: &Module, effects: &EffectTable, function: &mut Function) -> Result<(), Diagnostic> {
    for inst in function.insts.values_mut() {
        if let Op::Call(callee, _) = &mut inst.op
            && let Derivative::Replay(stand_in) = module.functions[*callee].derivative
        {
            if has_floats(module, effects, *callee) {
                let name = &module.functions[*callee].source_name;
                let what =
                    format!("`{name}` gives or stores floats, and its replay function does not tell their derivative");
                let help = format!("write one, with `@wp.func_grad({name})`");
                return Err(crate::autodiff::analysis::refuse::limit(inst.span, what).help(help));
            }
            *callee = stand_in;
        }
    }
    Ok(())
}

/// Whether a function gives floats, or stores some to its caller's memory.
fn has_floats(module: &Module, effects: &EffectTable, id: FuncId) -> bool {
    let function = &module.functions[id];
    let stores = |root: &Root| match root {
        Root::Param(n, fields) if fields.is_empty() => {
            match function.params().get(*n as usize).map(|&p| function.ty(p)) {
                Some(Type::Array(array)) => Type::from(array.element).holds_floats(&module.structs),
                _ => true,
            }
        }
        Root::Local(_) => false,
        _ => true,
    };
    function.results.iter().any(|result| result.ty.holds_floats(&module.structs)) || effects[id].writes().any(stores)
}

/// The calls to inline. A function keeps an adjoint of its own if it has no effects, and if what it
/// reads is still there: neither an array nor memory at an address that this function may write.
/// Functions that give an array, that read an unknown one, or that are given a struct with arrays
/// that was put together are inlined too: these arrays have to be known.
fn calls_to_inline(
    module: &Module,
    function: &Function,
    effects: &EffectTable,
    generated: &IdSet<FuncId>,
) -> Vec<FuncId> {
    let written = Written::of(&module.structs, effects, function);
    let mut found = Vec::new();
    function.walk(function.entry, &mut |_, inst| {
        let Op::Call(callee, args) = &inst.op else { return };
        let body = matches!(module.functions[*callee].derivative, Derivative::Body | Derivative::Replay(_));
        if !body || generated.contains(callee) || found.contains(callee) {
            return;
        }
        let shared = args.iter().any(|&arg| {
            function.ty(arg).bears_array(&module.structs)
                && (matches!(function.ty(arg), Type::Local(_))
                    || written.overwrites_any(function, arg)
                    || matches!(function.ty(arg), Type::Struct(_)) && root(function, arg) == Root::Unknown)
        });
        let gives_array = module.functions[*callee].results.iter().any(|result| result.ty.bears_array(&module.structs));
        let memory = written.overwrites_for(*callee) || effects[*callee].loads.contains(&Root::Unknown);
        if !effects[*callee].is_removable() || shared || gives_array || memory {
            found.push(*callee);
        }
    });
    found
}
