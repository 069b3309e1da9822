//! What has to be true of a module before its kernels are printed with plain parameters: no kernel
//! needs what only descriptors say.

use std::collections::BTreeSet;

use super::functions::{self, Calls};
use super::{Kernel, Kernels, Promises, rank, wraps};
use crate::analysis::effects::EffectTable;
use crate::analysis::ranges::{Bounds, Ranges};
use crate::analysis::uniformity::Uniformity;
use crate::analysis::uses;
use crate::analysis::written::written;
use crate::codegen::shadow::{self, ArrayPath};
use crate::diag::{Code, Diagnostic};
use crate::ids::{IdMap, IdSet};
use crate::ir::{
    AtomicOp, Const, FuncId, Function, Inst, InstId, Module, Op, Phase, ValueDef, ValueId, Values, ViewIndex,
};
use crate::passes::inline;
use crate::passes::pipelines::{clean, compute_once, own_elements};
use crate::types::{Scalar, Type};

/// The module with kernels that need nothing but what plain parameters say, and what is known of
/// them and of the functions that they call with arrays.
pub fn prepare(module: &Module, kernels: &[FuncId], promises: &Promises) -> Result<(Module, Kernels), Box<Diagnostic>> {
    let mut prepared = module.clone();
    let first = kernels.first().filter(|_| !promises.small);
    let wrap = first.map(|&id| prepared.functions.push(wraps::function(module, module.functions[id].span)));
    let mut known = Kernels::new();
    let mut calls: IdMap<FuncId, Calls> = IdMap::default();
    let (kept, entries) = functions::kept(module, kernels, |id, kept| inlined(module, id, kept))?;
    let mut finish = |id: FuncId, mut entry: Entry, bounds: &[Option<Bounds>], calls: &mut IdMap<FuncId, Calls>| {
        finished(&prepared, &mut entry, wrap, bounds);
        functions::note_calls(&entry, &Ranges::of_call(&entry.function, bounds), &kept, calls);
        prepared.functions[id] = entry.function;
        let said = promises.said.get(&id).cloned().unwrap_or_default();
        known.insert(id, Kernel { like: entry.like, said, wrap, ..Kernel::default() });
    };
    for (&id, entry) in kernels.iter().zip(entries) {
        finish(id, entry, &[], &mut calls);
    }
    for id in functions::callers_first(module, &kept) {
        // None: only code that is gone by now has called it.
        if let Some(Calls { bounds, there, like }) = calls.remove(&id) {
            let function = module.functions[id].clone();
            let params = function.params().to_vec();
            let given = params.iter().zip(there).filter(|(_, there)| *there).map(|(&param, _)| place(param)).collect();
            let like = params.iter().zip(like).filter_map(|(&param, like)| Some((param, params[like?]))).collect();
            finish(id, Entry { function, like, given }, &bounds, &mut calls);
        }
    }
    for (&id, kernel) in &mut known {
        if prepared.functions[id].is_kernel() {
            kernel.linear = is_linear(&prepared, id);
            kernel.one_place = one_place(&prepared.functions[id]);
        }
        let touched = written(&prepared, id);
        let params = prepared.functions[id].params().iter();
        kernel.read_only = (0..).zip(params).filter(|(n, _)| !touched.may_be(*n, &[])).map(|(_, &p)| p).collect();
    }
    Ok((prepared, known))
}

/// Atomic sums of floats with one address for the whole launch, whose old value is unused.
fn one_place(function: &Function) -> IdSet<InstId> {
    let is_sum = |inst: &Inst| {
        let ty = inst.results.first().map(|&result| function.ty(result));
        matches!(inst.op, Op::Atomic { op: AtomicOp::Add, .. })
            && matches!(ty, Some(Type::Scalar(Scalar::F32 | Scalar::F64)))
    };
    if !function.has(is_sum) {
        return IdSet::default();
    }
    let (uniformity, uses) = (Uniformity::of(function, &EffectTable::default()), uses(function));
    let mut found = IdSet::default();
    function.walk(function.entry, &mut |id, inst| {
        let Some(access) = inst.op.access().filter(|_| is_sum(inst)) else { return };
        let mut invariant = matches!(function.ty(access.array), Type::Array(_));
        access.for_each_operand(|value| invariant &= uniformity.is_invariant(value));
        if invariant && inst.results.iter().all(|&result| uses[result] == 0) {
            found.insert(id);
        }
    });
    found
}

/// A function on its way to pointers.
pub struct Entry {
    pub function: Function,
    /// Arrays of adjoints, each with the array whose extents it has.
    pub like: IdMap<ValueId, ValueId>,
    /// Arrays that are there: those of adjoints, and what entries keep.
    pub given: Vec<ArrayPath>,
}

fn place(param: ValueId) -> ArrayPath {
    ArrayPath { param, path: Default::default() }
}

/// The kernel with functions that take arrays inlined, except those that are `kept`.
fn inlined(module: &Module, id: FuncId, kept: &IdSet<FuncId>) -> Result<Entry, Box<Diagnostic>> {
    let mut function = module.functions[id].clone();
    let takes_arrays = |id: FuncId| {
        let callee = &module.functions[id];
        !kept.contains(&id) && callee.params().iter().any(|&p| matches!(callee.ty(p), Type::Array(_)))
    };
    inline::run(&mut function, module, &takes_arrays).map_err(|too_large| {
        let message = format!("kernel `{}` is too long with the functions that take its arrays", function.source_name);
        let help = "`--abi warp` has a text for it";
        Box::new(Diagnostic::new(Code::E0820, message).label(too_large.span, "called here").help(help))
    })?;
    let mut like = IdMap::default();
    let kept = function.tape.iter().filter_map(|buffer| function.params().get(buffer.param as usize));
    let mut given: Vec<ArrayPath> = kept.map(|&param| place(param)).collect();
    if let Some((extracted, shadows)) = shadow::extract(&function) {
        function = extracted;
        for shadow in shadows {
            if shadow.given.path.is_empty() && shadow.array.path.is_empty() {
                like.insert(shadow.given.param, shadow.array.param);
            }
            given.push(shadow.given);
        }
    }
    Ok(Entry { function, like, given })
}

/// Takes arrays of adjoints to be there. Indices that may be negative go through the function
/// `wrap`, if there is one. `bounds`: of the arguments.
fn finished(module: &Module, entry: &mut Entry, wrap: Option<FuncId>, bounds: &[Option<Bounds>]) {
    let Entry { function, like, given } = entry;
    for at in function.insts.ids().collect::<Vec<InstId>>() {
        if let Op::IsSet(array) = function.insts[at].op
            && shadow::place(function, array).is_some_and(|place| given.contains(&place))
        {
            function.insts[at].op = Op::Const(Const::bool(true));
        }
    }
    address_through_views(function);
    let mut effects = EffectTable::default();
    function.walk(function.entry, &mut |_, inst| {
        if let Op::Call(callee, _) = inst.op {
            effects.cover(module, callee);
        }
    });
    clean(function, &module.structs, &effects);
    if function.phase == Phase::Backward {
        own_elements(function, &module.structs, &effects);
    }
    if let Some(wrap) = wrap {
        effects.cover(module, wrap);
        wraps::insert(module, function, wrap, like, &Ranges::of_call(function, bounds));
    }
    compute_once(function, &module.structs, &effects);
}

/// `x[i][j]` for an element `j` of the row `i` of `x`.
fn address_through_views(function: &mut Function) {
    for at in function.insts.ids().collect::<Vec<InstId>>() {
        let Some(array) = function.insts[at].op.access().map(|access| access.array) else { continue };
        let Some((of, fixed)) = row(function, array) else { continue };
        if let Some(access) = function.insts[at].op.access_mut() {
            access.array = of;
            access.indices = fixed.iter().chain(&access.indices).copied().collect();
        }
    }
    for at in function.insts.ids().collect::<Vec<InstId>>() {
        if let Op::Extent(array, dim) = function.insts[at].op
            && let Some((of, fixed)) = row(function, array)
        {
            function.insts[at].op = Op::Extent(of, dim + fixed.len() as u8);
        }
    }
}

/// The array that a value is a part of, and the leading indices that are fixed in it.
fn row(function: &Function, array: ValueId) -> Option<(ValueId, Values)> {
    let ValueDef::Result(inst, _) = function.values[array].def else { return None };
    let Op::View(of, dims) = &function.insts[inst].op else { return None };
    let own: Option<Values> =
        dims.iter().map(|dim| if let ViewIndex::At(at) = dim { Some(*at) } else { None }).collect();
    let own = own?;
    Some(match row(function, *of) {
        Some((whole, mut fixed)) => {
            fixed.extend(own);
            (whole, fixed)
        }
        None => (*of, own),
    })
}

/// Whether the threads of a kernel are numbered along one dimension: it or a function that it calls
/// asks for numbers of threads, or lets threads meet, which are those of a block, neighbours by
/// their numbers.
fn is_linear(module: &Module, id: FuncId) -> bool {
    let mut linear = rank(&module.functions[id]) > 3;
    let (mut seen, mut next) = (BTreeSet::from([id]), vec![id]);
    while let Some(id) = next.pop() {
        let function = &module.functions[id];
        linear |= function.native.is_some();
        function.walk(function.entry, &mut |_, inst| {
            if let Op::Call(callee, _) = inst.op {
                next.extend(seen.insert(callee).then_some(callee));
            } else {
                linear |= matches!(inst.op, Op::ThreadNumber | Op::BlockDim | Op::ThreadInBlock);
                linear |= inst.op.properties().synchronises;
            }
        });
    }
    linear
}
