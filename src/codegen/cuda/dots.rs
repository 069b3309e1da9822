//! Which sums in reverse code are dot products? The adjoint of a factor is the sum over all
//! components of a product of two vectors. The text says `dot(adj_f, d)`, and
//! `dot_unless_zero(adj_f, f)` where each component counts only if the adjoint there is not 0.

use super::guards::guarded;
use crate::ids::IdMap;
use crate::ir::build::Builder;
use crate::ir::{
    BinaryOp, BlockId, CompareOp, FuncId, Function, FunctionKind, InstId, Module, Op, Phase, ResultInfo, ResultRole,
    Step, ValueId, Values,
};
use crate::source::Span;
use crate::types::{Scalar, Type};

/// The names of the functions in the text.
pub const NAMES: [&str; 2] = ["dot", "dot_unless_zero"];

/// A sum over all components of the product of two vectors.
#[derive(Clone, Copy)]
pub struct Dot {
    /// Adds the last component.
    sum: InstId,
    /// Where only components count in which the first factor is not 0, that one.
    factors: [ValueId; 2],
    guarded: bool,
    /// It is 0 where this does not hold.
    under: Option<ValueId>,
}

/// The dot products of a function.
pub fn of(function: &Function) -> Vec<Dot> {
    let mut found = Vec::new();
    function.walk(function.entry, &mut |id, inst| {
        let Op::Binary(BinaryOp::Add, sum, last) = inst.op else { return };
        let Some((terms, _, guard)) = component(function, last) else { return };
        let Type::Vec(n @ 2..=4, Scalar::F32 | Scalar::F64) = function.ty(terms) else { return };
        let (mut product, mut under) = (terms, None);
        if let Some(&Op::Select { condition, then, otherwise }) = function.op(terms) {
            if guard.is_some() || guarded(function, condition, otherwise).is_none() {
                return;
            }
            (product, under) = (then, Some(condition));
        }
        let Some(&Op::Binary(BinaryOp::Mul, a, b)) = function.op(product) else { return };
        if function.ty(a) != function.ty(b) {
            return;
        }
        let factors = match guard {
            Some(guard) if guard == b => [b, a],
            Some(guard) if guard != a => return,
            _ => [a, b],
        };
        let is_term = |value, at| component(function, value) == Some((terms, at, guard));
        let (mut sum, mut at) = (sum, u32::from(n) - 1);
        let mut matches = is_term(last, at);
        while matches && at > 1 {
            at -= 1;
            let Some(&Op::Binary(BinaryOp::Add, before, this)) = function.op(sum) else { return };
            matches = is_term(this, at);
            sum = before;
        }
        if matches && is_term(sum, 0) {
            found.push(Dot { sum: id, factors, guarded: guard.is_some(), under });
        }
    });
    found
}

/// Calls `dot` in the place of such sums of a function. Their bits stay: it adds in the same order.
/// `known`: the functions that are called for vectors of a type.
pub fn call(module: &mut Module, id: FuncId, dots: &[Dot], known: &mut IdMap<(Type, bool), FuncId>) {
    let mut callees = IdMap::default();
    for dot in dots {
        let function = &module.functions[id];
        let (ty, span) = (function.ty(dot.factors[0]), function.span);
        let callee = *known.entry((ty, dot.guarded)).or_insert_with(|| match library_dot(module, ty) {
            Some(known) if !dot.guarded => known,
            _ => function_of(module, ty, dot.guarded, span),
        });
        callees.insert(dot.sum, (dot, callee));
    }
    if callees.is_empty() {
        return;
    }
    let function = &mut module.functions[id];
    for block in function.blocks.ids().collect::<Vec<BlockId>>() {
        for inst in std::mem::take(&mut function.blocks[block].insts) {
            if let Some((dot, callee)) = callees.get(&inst) {
                let (span, result) = (function.insts[inst].span, function.insts[inst].results[0]);
                let ty = function.ty(result);
                let call = Op::Call(*callee, Values::from_slice(&dot.factors));
                function.insts[inst].op = match dot.under {
                    None => call,
                    Some(condition) => Builder::edit(function, block, |b| {
                        b.span = span;
                        let (then, otherwise) = (b.one(call, ty), b.zero(ty));
                        Op::Select { condition, then, otherwise }
                    }),
                };
            }
            function.blocks[block].insts.push(inst);
        }
    }
}

/// The vector that a term is a component of, which one, and the factor that has to be other than 0
/// there.
fn component(function: &Function, value: ValueId) -> Option<(ValueId, u32, Option<ValueId>)> {
    let extracted = |value| {
        let Some(Op::Extract(of, path)) = function.op(value) else { return None };
        let [Step::At(n)] = path[..] else { return None };
        Some((*of, n))
    };
    let Some(&Op::Select { condition, then, otherwise }) = function.op(value) else {
        return extracted(value).map(|(of, n)| (of, n, None));
    };
    let adjoint = guarded(function, condition, otherwise)?;
    let ((product, n), (guard, at)) = (extracted(then)?, extracted(adjoint)?);
    (n == at).then_some((product, n, Some(guard)))
}

/// The library's function, if the module has it.
fn library_dot(module: &Module, ty: Type) -> Option<FuncId> {
    module.functions.ids().find(|&id| {
        let function = &module.functions[id];
        let is_dot = function.library && function.source_name == NAMES[0] && function.phase == Phase::Forward;
        is_dot && function.params().iter().map(|&param| function.ty(param)).eq([ty, ty])
    })
}

/// A function of the text's own.
fn function_of(module: &mut Module, ty: Type, guarded: bool, span: Span) -> FuncId {
    let source_name = NAMES[usize::from(guarded)];
    let mut name = source_name.to_string();
    while module.find(&name).is_some() {
        name.push('_');
    }
    let (n, scalar) = (ty.scalar_count().unwrap_or(0), ty.scalar_part().unwrap_or(Scalar::F32));
    let params = ["a", "b"].map(|name| (name.to_string(), ty));
    let mut b = Builder::new(&name, FunctionKind::Device, &params, span);
    b.function.source_name = source_name.to_string();
    b.function.library = true;
    b.function.results.push(ResultInfo { ty: Type::Scalar(scalar), role: ResultRole::Return, name: None });
    let [x, y] = [0, 1].map(|at| b.function.params()[at]);
    let mut sum = None;
    for at in 0..n {
        let [x, y] = [x, y].map(|value| b.extract_at(value, at, Type::Scalar(scalar)));
        let mut term = b.binary(BinaryOp::Mul, x, y);
        if guarded {
            let zero = b.zero(Type::Scalar(scalar));
            let counts = b.compare(CompareOp::Ne, x, zero);
            term = b.select(counts, term, zero);
        }
        sum = Some(sum.map_or(term, |sum| b.binary(BinaryOp::Add, sum, term)));
    }
    b.effect(Op::Return(sum.into_iter().collect()));
    module.functions.push(b.finish())
}
