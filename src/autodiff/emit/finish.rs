//! The last touches on what was made: small adjoints of built-ins take the place of their calls,
//! sums are written as a person would, and what nobody asked for is not computed.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::discriminant;
use std::sync::Arc;

use super::repeated;
use crate::analysis::effects::EffectTable;
use crate::analysis::uses;
use crate::analysis::value_numbering::numbering;
use crate::ids::{IdSet, IdVec};
use crate::ir::build::Builder;
use crate::ir::{
    BinaryOp, BlockId, Const, Derivative, FuncId, Function, InstId, LinkedFunction, Module, Op, Phase, TapeRole,
    ValueId,
};
use crate::passes::pipelines::{clean, forward_loops, last_takes, tidy_reverse};
use crate::passes::zero_sums::start_without_zero;
use crate::passes::{forget_calls, inline};

/// A built-in's adjoint with no more instructions than this, in one block, is written where it is
/// called.
const MAX_INLINED: usize = 8;

/// Finishes the gradient rules that somebody wrote, except for those that are linked, finished.
pub fn rules(module: &mut Module) {
    let rule = |f: &Function| if let Derivative::Rule { adjoint, .. } = f.derivative { Some(adjoint) } else { None };
    let rules: IdSet<FuncId> = module.functions.values().filter_map(rule).collect();
    let mut effects = EffectTable::default();
    for rule in rules {
        if !module.functions.is_linked(rule) {
            self::rule(module, rule, &mut effects);
        }
    }
}

/// Finishes a gradient rule: an adjoint has no use for a sum that begins with zero.
pub fn rule(module: &mut Module, rule: FuncId, effects: &mut EffectTable) {
    if start_without_zero(&mut module.functions[rule]) {
        for callee in module.functions.callees(rule) {
            effects.cover(module, callee);
        }
        tidy(module, rule, effects);
    }
}

/// Finishes the functions that differentiation has made, callees first in `made`.
pub fn run(module: &mut Module, effects: &EffectTable, made: &[FuncId], polished: &IdSet<FuncId>) {
    let named: IdSet<FuncId> = module.functions.values().flat_map(|f| f.derivative.functions()).collect();
    for &id in made.iter().filter(|id| !polished.contains(id)) {
        polish(module, id, effects);
        // Where there are gradients of struct parameters, sums began as fields of a struct of
        // zeros.
        for simplify in [start_without_zero, drop_zero_gradients] {
            let function = &mut module.functions[id];
            let applies = function.tape.iter().any(|buffer| buffer.role == TapeRole::Parameters);
            if applies && simplify(function) {
                tidy(module, id, effects);
            }
        }
    }
    let mut calls = Calls { of: made.iter().copied().collect(), found: BTreeMap::new() };
    for (id, function) in module.functions.iter() {
        if !calls.of.contains(&id) {
            calls.count(id, function);
        }
    }
    for &id in made.iter().rev() {
        let function = &module.functions[id];
        let is_free = !named.contains(&id) && function.phase == Phase::Forward && !function.is_kernel();
        if is_free && drop_results(module, id, calls.found.get(&id)) {
            tidy(module, id, effects);
        }
        calls.count(id, &module.functions[id]);
    }
    for &id in made {
        // What a linked function calls is linked: this is the same in all programs.
        let settled = |linked: &Arc<LinkedFunction>| {
            linked.facts.get_or_find(|| Settled(!tidy_reverse(&mut module.functions[id].clone(), effects))).0
        };
        if !module.functions.linked(id).is_some_and(settled) {
            tidy_reverse(&mut module.functions[id], effects);
        }
        let Module { functions, structs, .. } = &mut *module;
        if !functions.is_linked(id) {
            forward_loops(&mut functions[id], structs, effects);
            last_takes(&mut functions[id], structs, effects);
        }
    }
}

/// Whether [`tidy_reverse`] leaves a linked function as it is.
struct Settled(bool);

/// The first steps, which depend on nothing but the function and what it calls: small adjoints are
/// written where they are called, sums are simplified, and what is computed twice or not needed
/// goes.
pub fn polish(module: &mut Module, id: FuncId, effects: &EffectTable) {
    let mut small = module.functions.callees(id);
    small.retain(|&callee| is_small(&module.functions[callee]));
    let mut function = take(module, id);
    let more: usize = small.iter().map(|&callee| module.functions[callee].insts.len()).sum();
    // Within the limit, which a few instructions for each call hardly ever reach, nothing goes
    // wrong.
    if !small.is_empty() && function.insts.len() + more <= inline::MAX_INSTS {
        let inlined = inline::run(&mut function, module, &|callee| small.contains(&callee));
        debug_assert!(inlined.is_ok(), "@{} has grown too large", function.name);
    }
    let numbers = double(&mut function);
    repeated::run(&mut function, numbers, &|callee| effects[callee].is_pure());
    clean(&mut function, &module.structs, effects);
    // What an augmented forward entry computes is what the forward entry does, with the signs of
    // its zeros.
    if function.phase == Phase::Backward && start_without_zero(&mut function) {
        clean(&mut function, &module.structs, effects);
    }
    forget_calls(&mut function);
    module.functions[id] = function;
}

/// Takes a function out of its module, for a change.
fn take(module: &mut Module, id: FuncId) -> Function {
    let entry = module.functions[id].entry;
    Builder::take(&mut module.functions[id], entry).finish()
}

/// Removes what a change has left unused.
fn tidy(module: &mut Module, id: FuncId, effects: &EffectTable) {
    let mut function = take(module, id);
    clean(&mut function, &module.structs, effects);
    module.functions[id] = function;
}

/// Removes what adds zero to the gradients of parameters: parts that nothing depends on.
fn drop_zero_gradients(function: &mut Function) -> bool {
    let Some(buffer) = function.tape.iter().find(|buffer| buffer.role == TapeRole::Parameters) else { return false };
    let gradients = function.params()[buffer.param as usize];
    let is_zero = |id: &InstId| {
        let Op::Atomic { access, value, .. } = &function.insts[*id].op else { return false };
        access.array == gradients && function.as_const(*value).is_some_and(|c| c.as_float() == Some(0.0))
    };
    let idle: IdSet<InstId> = function.insts.ids().filter(|id| is_zero(id)).collect();
    for block in function.blocks.values_mut() {
        block.insts.retain(|id| !idle.contains(id));
    }
    !idle.is_empty()
}

/// An adjoint of the library that is a few operations on values.
fn is_small(function: &Function) -> bool {
    let insts = &function.blocks[function.entry].insts;
    let work = insts.iter().filter(|&&id| !matches!(function.insts[id].op, Op::Const(_) | Op::Zero));
    // The terminator is none of them.
    function.library
        && function.source_name.starts_with("adj_")
        && work.count() <= MAX_INLINED + 1
        && insts.iter().all(|&id| function.insts[id].op.blocks().is_empty())
}

/// `x + x` is `x * 2`: what a square passes on comes twice. Returns the numbering of the function's
/// values, if it was computed and is still right.
fn double(function: &mut Function) -> Option<IdVec<ValueId, ValueId>> {
    let mut first = None;
    let mut found: Vec<(BlockId, InstId, ValueId)> = Vec::new();
    for block in function.blocks.ids() {
        for &id in &function.blocks[block].insts {
            if let Op::Binary(BinaryOp::Add, a, b) = function.insts[id].op
                && function.ty(a).scalar_part().is_some_and(|s| s.is_float())
                && may_be_equal(function, a, b, 3)
            {
                let first = first.get_or_insert_with(|| numbering(function));
                if first[a] == first[b] {
                    found.push((block, id, a));
                }
            }
        }
    }
    if found.is_empty() {
        return first;
    }
    for (block, id, value) in found {
        let Some(scalar) = function.ty(value).scalar_part() else { continue };
        let two = Builder::edit(function, block, |b| b.constant(Const::float(scalar, 2.0)));
        let insts = &mut function.blocks[block].insts;
        if let (Some(made), Some(at)) = (insts.pop(), insts.iter().position(|&inst| inst == id)) {
            insts.insert(at, made);
            function.insts[id].op = Op::Binary(BinaryOp::Mul, value, two);
        }
    }
    None
}

/// False where a look at two values, and as far as `depth` at what they are computed from, tells
/// that they are not the same to [`numbering`].
fn may_be_equal(function: &Function, a: ValueId, b: ValueId, depth: u32) -> bool {
    if a == b || depth == 0 {
        return true;
    }
    let (Some(one), Some(other)) = (function.def(a), function.def(b)) else { return false };
    let same = |x: ValueId, y: ValueId| may_be_equal(function, x, y, depth - 1);
    match (&one.op, &other.op) {
        (Op::Load(_) | Op::Call(..) | Op::If { .. } | Op::For { .. } | Op::While { .. }, _) => false,
        (Op::Binary(op, a, b), Op::Binary(other, c, d)) => {
            op == other && (same(*a, *c) && same(*b, *d) || same(*a, *d) && same(*b, *c))
        }
        (Op::Const(_) | Op::Zero, Op::Const(_) | Op::Zero) => true,
        // The same operation may have the same operands: the numbering tells.
        (one, other) => discriminant(one) == discriminant(other),
    }
}

/// The calls of some functions.
struct Calls {
    of: IdSet<FuncId>,
    /// For each of these that is called, which of its results the calls use, and who calls it.
    found: BTreeMap<FuncId, (Vec<bool>, BTreeSet<FuncId>)>,
}

impl Calls {
    fn count(&mut self, id: FuncId, caller: &Function) {
        let mut counts = None;
        caller.walk(caller.entry, &mut |_, inst| {
            if let Op::Call(callee, _) = inst.op
                && self.of.contains(&callee)
            {
                let counts = counts.get_or_insert_with(|| uses(caller));
                let (wanted, callers) =
                    self.found.entry(callee).or_insert_with(|| (vec![false; inst.results.len()], BTreeSet::new()));
                wanted.iter_mut().zip(&inst.results).for_each(|(used, &r)| *used |= counts[r] > 0);
                callers.insert(id);
            }
        });
    }
}

/// Takes the results that nobody uses from a function and from all calls of it; says whether there
/// were any.
fn drop_results(module: &mut Module, id: FuncId, calls: Option<&(Vec<bool>, BTreeSet<FuncId>)>) -> bool {
    let Some((wanted, callers)) = calls.filter(|(wanted, _)| wanted.contains(&false)) else { return false };
    fn keep<T>(list: impl IntoIterator<Item = T>, wanted: &[bool]) -> impl Iterator<Item = T> {
        list.into_iter().zip(wanted).filter(|(_, wanted)| **wanted).map(|(item, _)| item)
    }
    let function = &mut module.functions[id];
    function.results = keep(std::mem::take(&mut function.results), wanted).collect();
    let last = function.blocks[function.entry].insts.last().copied();
    if let Some(Op::Return(values)) = last.map(|inst| &mut function.insts[inst].op) {
        *values = keep(std::mem::take(values), wanted).collect();
    }
    for &caller in callers {
        let caller = &mut module.functions[caller];
        for inst in caller.insts.ids() {
            if matches!(caller.insts[inst].op, Op::Call(callee, _) if callee == id) {
                let results = std::mem::take(&mut caller.insts[inst].results);
                let kept: Vec<ValueId> = keep(results, wanted).collect();
                for (n, &value) in kept.iter().enumerate() {
                    caller.values[value].def = crate::ir::ValueDef::Result(inst, n as u32);
                }
                caller.insts[inst].results = kept.into_iter().collect();
            }
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::Diagnostics;
    use crate::ir::parse::parse;
    use crate::ir::verify::verify;

    fn ops(function: &Function) -> Vec<&Op> {
        let mut ops = Vec::new();
        function.walk(function.entry, &mut |id, _| ops.push(&function.insts[id].op));
        ops
    }

    #[test]
    fn a_value_and_itself_are_twice_the_value() {
        let text = "func @f(%x: float64, %y: float64) -> (float64) {
            %p: float64 = mul %x, %y
            %q: float64 = mul %x, %y
            %s: float64 = add %p, %q
            %t: float64 = add %s, %x
            return %t
            }";
        let mut module = parse(text).unwrap();
        let id = module.find("f").unwrap();
        double(&mut module.functions[id]);
        assert_eq!(verify(&module), Ok(()));
        let adds = ops(&module.functions[id]).iter().filter(|op| matches!(op, Op::Binary(BinaryOp::Add, ..))).count();
        assert_eq!(adds, 1, "{}", crate::ir::print::print(&module));
    }

    #[test]
    fn an_adjoint_gives_only_what_its_callers_take() {
        let text = "func @f(%x: float64, %y: float64) -> (float64) {
            %p: float64 = mul %x, %y
            %q: float64 = mul %p, %y
            return %q
            }
            kernel @k(%a: array(dtype=float64), %b: array(dtype=float64), %c: float64) rank 1 {
            %i: int32 = thread_index 0
            %x: float64 = load %a[%i]
            %r: float64 = call @f(%x, %c)
            store %b[%i], %r
            return
            }";
        let mut module = parse(text).unwrap();
        let (options, adjoints) = (crate::autodiff::Options::default(), crate::autodiff::Adjoints::new(0));
        crate::autodiff::differentiate(&mut module, &options, &adjoints, &mut Diagnostics::new());
        assert_eq!(verify(&module), Ok(()));
        let adjoint = &module.functions[module.find("adj_f").unwrap()];
        assert_eq!(adjoint.results.len(), 1, "the second argument is no float of an array");
    }
}
