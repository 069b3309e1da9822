//! How do a kernel's results change when its inputs change a little? Forward mode: every float gets
//! a tangent beside it.
//!
//! [`jvp`] turns a kernel into one that computes the same and its derivative along a direction (a
//! Jacobian-vector product). Instruction by instruction, each value `v` that holds floats gets a
//! value `d_v` of the same type; arrays get arrays of tangents, and control flow carries the
//! tangents beside the values. Integers have none; the integers inside a struct's tangent mean
//! nothing. It reads no analysis and keeps no tape: it is what reverse mode is tested against, and
//! applied to a backward entry it computes products with second derivatives.
//!
//! The conventions where there is no derivative are those of reverse mode: the first operand of
//! `min` and `max` takes ties, the derivative of `abs` at 0 is 0, that of `copy_sign` goes by the
//! sign of the zero, rounding has derivative 0. A tangent that is exactly 0 stays 0 through a
//! division or square root, whatever the factor. Threads run in the interpreter's order where it
//! matters: an atomic `min`, `max`, `exchange` or `cas` moves the tangent with a plain load and
//! store.

use std::collections::HashMap;

use smallvec::SmallVec;

use crate::autodiff::analysis::floats::{has_tangent, leaves};
use crate::ir::build::Builder;
use crate::ir::*;
use crate::source::Span;
use crate::types::{BOOL, LocalArrayType, StructTable, Type};

mod tangents;
#[cfg(test)]
mod tests;

/// Why a kernel has no forward derivative.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refused {
    /// The instruction.
    pub span: Span,
    pub reason: String,
}

/// Appends the kernel `jvp_K` to the module. Its parameters are those of `kernel` (any phase), then
/// for each of them a tangent `d_<parameter>` of the same type: a null array means tangents of
/// zero, which are not written.
pub fn jvp(module: &mut Module, kernel: FuncId) -> Result<FuncId, Refused> {
    let guards = module.functions[kernel].phase == Phase::Backward;
    Pass { module, made: HashMap::new(), guards }.function(kernel)
}

struct Pass<'a> {
    module: &'a mut Module,
    /// The functions with tangents made so far.
    made: HashMap<FuncId, FuncId>,
    /// `adjoint != 0 ? adjoint * factor : 0` is a guard against factors without bounds, not a
    /// branch of the user's.
    guards: bool,
}

impl Pass<'_> {
    fn function(&mut self, id: FuncId) -> Result<FuncId, Refused> {
        if let Some(&made) = self.made.get(&id) {
            return Ok(made);
        }
        let old = self.module.functions[id].clone();
        let structs = self.module.structs.clone();
        let mut params: Vec<(String, Type)> = Vec::new();
        for &p in old.params() {
            params.push((old.values[p].name.clone().unwrap_or_else(|| format!("p{}", params.len())), old.ty(p)));
        }
        let tangents: Vec<(String, Type)> = params
            .iter()
            .filter(|(_, ty)| old.is_kernel() || has_tangent(*ty, &structs))
            .map(|(name, ty)| (format!("d_{name}"), *ty))
            .collect();
        params.extend(tangents);
        let mut new = Builder::new(&self.free_name(&format!("jvp_{}", old.name)), old.kind, &params, old.span);
        new.function.source_name = format!("jvp_{}", old.source_name);
        new.function.by_block = old.by_block;
        new.function.block_threads = old.block_threads;
        new.function.results.clone_from(&old.results);
        for result in old.results.iter().filter(|r| has_tangent(r.ty, &structs)) {
            new.function.results.push(ResultInfo { ty: result.ty, role: ResultRole::Return, name: None });
        }
        let count = old.values.len();
        let entry = new.function.entry;
        let mut copy = Copy {
            pass: self,
            structs,
            old: &old,
            new,
            value: vec![None; count],
            tangent: vec![None; count],
            missing: None,
        };
        let given = copy.new.params(entry).to_vec();
        let (values, tangents) = given.split_at(old.params().len());
        let mut tangents = tangents.iter();
        for (&p, &value) in old.params().iter().zip(values) {
            copy.value[p.0 as usize] = Some(value);
            if copy.has_tangent(p) {
                copy.tangent[p.0 as usize] = tangents.next().copied();
            } else if old.is_kernel() {
                tangents.next();
            }
        }
        copy.block_insts(old.entry)?;
        let mut new = copy.new.finish();
        // By-reference results would name parameters; the callers of this function know the order
        // instead.
        new.results.iter_mut().for_each(|r| r.role = ResultRole::Return);
        let made = self.module.functions.push(new);
        self.made.insert(id, made);
        Ok(made)
    }

    fn free_name(&self, wanted: &str) -> String {
        let mut name = wanted.to_string();
        let mut n = 1;
        while self.module.find(&name).is_some() {
            n += 1;
            name = format!("{wanted}_{n}");
        }
        name
    }
}

/// A function on its way from old to new.
struct Copy<'p, 'm, 'f> {
    pass: &'p mut Pass<'m>,
    structs: StructTable,
    old: &'f Function,
    new: Builder,
    /// The new value of each old one.
    value: Vec<Option<ValueId>>,
    /// Its tangent; None: zero, or it has none.
    tangent: Vec<Option<ValueId>>,
    /// An operation turned out to have no rule.
    missing: Option<String>,
}

impl Copy<'_, '_, '_> {
    fn has_tangent(&self, old: ValueId) -> bool {
        has_tangent(self.old.ty(old), &self.structs)
    }

    fn value(&self, old: ValueId) -> ValueId {
        self.value[old.0 as usize].expect("values are defined before they are used (verified)")
    }

    fn tangent(&self, old: ValueId) -> Option<ValueId> {
        self.tangent[old.0 as usize]
    }

    /// The tangent as a value, which must be one that can be zero (any but a local array).
    fn tangent_or_zero(&mut self, old: ValueId) -> ValueId {
        self.tangent(old).unwrap_or_else(|| self.new.zero(self.old.ty(old)))
    }

    fn set(&mut self, old: ValueId, value: ValueId, tangent: Option<ValueId>) {
        let name = self.old.values[old].name.clone();
        self.new.function.values[value].name.clone_from(&name);
        if let (Some(tangent), Some(name)) = (tangent, name) {
            self.new.name(tangent, &format!("d_{name}"));
        }
        self.value[old.0 as usize] = Some(value);
        self.tangent[old.0 as usize] = tangent;
    }

    fn mapped(&self, op: &Op) -> Op {
        let mut op = op.clone();
        op.for_each_operand_mut(|v| *v = self.value(*v));
        op
    }

    /// The new values, then the tangents of those that have one: what blocks and calls pass on.
    fn with_tangents(&mut self, olds: &[ValueId]) -> Values {
        let mut all: Values = olds.iter().map(|&v| self.value(v)).collect();
        for &v in olds {
            if self.has_tangent(v) {
                all.push(self.tangent_or_zero(v));
            }
        }
        all
    }

    fn types_with_tangents(&self, olds: &[ValueId]) -> Vec<Type> {
        let types: Vec<Type> = olds.iter().map(|&v| self.old.ty(v)).collect();
        let tangents: Vec<Type> = types.iter().copied().filter(|&ty| has_tangent(ty, &self.structs)).collect();
        [types, tangents].concat()
    }

    /// Binds old values to new ones that came as [`Self::with_tangents`] passes them.
    fn bind(&mut self, olds: &[ValueId], given: &[ValueId]) {
        let (values, tangents) = given.split_at(olds.len());
        let mut tangents = tangents.iter().copied();
        for (&old, &value) in olds.iter().zip(values) {
            let tangent = if self.has_tangent(old) { tangents.next() } else { None };
            self.set(old, value, tangent);
        }
    }

    /// A nested block with the carried values as parameters, after `counter`.
    fn nested(&mut self, block: BlockId) -> Result<BlockId, Refused> {
        let params = self.old.blocks[block].params.clone();
        let types = self.types_with_tangents(&params);
        let new = self.new.new_block(&types);
        let given = self.new.params(new).to_vec();
        self.bind(&params, &given);
        let outer = self.new.switch_to(new);
        self.block_insts(block)?;
        self.new.switch_to(outer);
        Ok(new)
    }

    fn block_insts(&mut self, block: BlockId) -> Result<(), Refused> {
        let old = self.old;
        for &id in &old.blocks[block].insts {
            self.new.span = old.insts[id].span;
            self.inst(&old.insts[id])?;
        }
        Ok(())
    }

    fn inst(&mut self, inst: &Inst) -> Result<(), Refused> {
        match &inst.op {
            Op::If { condition, then, otherwise } => {
                let condition = self.value(*condition);
                let (then, otherwise) = (self.nested(*then)?, self.nested(*otherwise)?);
                self.finish(Op::If { condition, then, otherwise }, &inst.results);
            }
            Op::For { start, end, step, init, body } => {
                let [start, end, step] = [*start, *end, *step].map(|v| self.value(v));
                let init = self.with_tangents(init);
                let body = self.nested(*body)?;
                self.finish(Op::For { start, end, step, init, body }, &inst.results);
            }
            Op::While { init, condition, body } => {
                let init = self.with_tangents(init);
                let (condition, body) = (self.nested(*condition)?, self.nested(*body)?);
                self.finish(Op::While { init, condition, body }, &inst.results);
            }
            Op::Yield(values) => {
                let values = self.with_tangents(values);
                self.new.effect(Op::Yield(values));
            }
            Op::Break(values) => {
                let values = self.with_tangents(values);
                self.new.effect(Op::Break(values));
            }
            Op::Continue(values) => {
                let values = self.with_tangents(values);
                self.new.effect(Op::Continue(values));
            }
            Op::Return(values) => {
                let values = self.with_tangents(values);
                self.new.effect(Op::Return(values));
            }
            Op::Call(callee, args) => self.call(*callee, args, inst)?,
            op @ (plain!()) => {
                let types: Vec<Type> = inst.results.iter().map(|&r| self.old.ty(r)).collect();
                let op_new = self.mapped(op);
                let values = self.new.push(op_new, &types);
                match (inst.results.first(), values.first()) {
                    (Some(&old), Some(&value)) => {
                        self.set(old, value, None);
                        // A result may have a tangent though its type has none to show (an atomic
                        // on integers).
                        let tangent = self.rule(op, Some(old));
                        self.set(old, value, tangent.filter(|_| self.has_tangent(old)));
                    }
                    _ => {
                        self.rule(op, None);
                    }
                }
                if let Some(reason) = self.missing.take() {
                    return Err(Refused { span: inst.span, reason });
                }
            }
        }
        Ok(())
    }

    fn finish(&mut self, op: Op, results: &[ValueId]) {
        let types = self.types_with_tangents(results);
        let given = self.new.push(op, &types);
        self.bind(results, &given);
    }

    fn call(&mut self, callee: FuncId, args: &[ValueId], inst: &Inst) -> Result<(), Refused> {
        let function = &self.pass.module.functions[callee];
        let active = args.iter().any(|&a| self.tangent(a).is_some());
        let adjoint = match &function.derivative {
            Derivative::Rule { adjoint, .. } => Some(*adjoint),
            Derivative::None(why) if active => {
                let reason = format!("`{}` has no derivative: {why}", function.source_name);
                return Err(Refused { span: inst.span, reason });
            }
            Derivative::None(_) | Derivative::Zero(_) => None,
            _ => {
                let jvp = self.pass.function(callee)?;
                let args = self.with_tangents(args);
                self.finish(Op::Call(jvp, args), &inst.results);
                return Ok(());
            }
        };
        let types: Vec<Type> = inst.results.iter().map(|&r| self.old.ty(r)).collect();
        let op = self.mapped(&inst.op);
        let values = self.new.push(op, &types);
        inst.results.iter().zip(&values).for_each(|(&old, &value)| self.set(old, value, None));
        match adjoint {
            Some(adjoint) if active => self.by_rule(adjoint, args, inst),
            _ => Ok(()),
        }
    }

    /// The tangents of a call's results from the rule for its adjoints: one evaluation for each
    /// scalar of the results computes a row of the Jacobian, whose product with the tangents of the
    /// arguments is that scalar's tangent.
    fn by_rule(&mut self, adjoint: FuncId, args: &[ValueId], inst: &Inst) -> Result<(), Refused> {
        let refused = |reason: &str| Err(Refused { span: inst.span, reason: reason.to_string() });
        let arrays: Vec<ValueId> =
            args.iter().copied().filter(|&a| self.old.ty(a).bears_array(&self.structs)).collect();
        if arrays.iter().any(|&a| self.tangent(a).is_some()) {
            return refused(
                "a function with a gradient of its own takes an array, whose tangent forward mode can't follow",
            );
        }
        let added: Vec<Type> = self.pass.module.functions[adjoint].results.iter().map(|r| r.ty).collect();
        let floats: Vec<ValueId> =
            args.iter().copied().filter(|&a| self.old.ty(a).holds_floats(&self.structs)).collect();
        if added != floats.iter().map(|&a| self.old.ty(a)).collect::<Vec<_>>() {
            return refused("the rule for the gradient does not fit the function");
        }
        let mut rows: Vec<ValueId> = args.iter().map(|&a| self.value(a)).collect();
        for a in arrays {
            let null = self.new.zero(self.old.ty(a));
            rows.push(null);
        }
        for &result in &inst.results {
            let ty = self.old.ty(result);
            let mut tangent = None;
            for leaf in leaves(ty, &self.structs) {
                let mut given: Values = rows.iter().copied().collect();
                for &other in &inst.results {
                    let zero = self.new.zero(self.old.ty(other));
                    given.push(if other == result { self.with_one(zero, &leaf) } else { zero });
                }
                let additions = self.new.push(Op::Call(adjoint, given), &added);
                let mut sum = self.new.zero(Type::Scalar(leaf.scalar));
                for (&a, addition) in floats.iter().zip(additions) {
                    if let Some(t) = self.tangent(a) {
                        sum = self.dot(sum, leaf.scalar, addition, t);
                    }
                }
                let whole = tangent.unwrap_or_else(|| self.new.zero(ty));
                tangent = Some(self.with_part(whole, &leaf.path, sum));
            }
            let value = self.value(result);
            self.set(result, value, tangent);
        }
        Ok(())
    }

    /// Runs `body` if the array of tangents is there; else its results are zero.
    fn where_set(&mut self, tangents: ValueId, results: &[Type], body: impl FnOnce(&mut Self) -> Values) -> Results {
        if matches!(self.new.ty(tangents), Type::Local(LocalArrayType { .. })) {
            return body(self).into_iter().collect();
        }
        let condition = self.new.one(Op::IsSet(tangents), BOOL);
        let (then, otherwise) = (self.new.new_block(&[]), self.new.new_block(&[]));
        let outer = self.new.switch_to(then);
        let values = body(self);
        self.new.yield_(&values);
        self.new.switch_to(otherwise);
        let zeros: SmallVec<[ValueId; 4]> = results.iter().map(|&ty| self.new.zero(ty)).collect();
        self.new.yield_(&zeros);
        self.new.switch_to(outer);
        self.new.push(Op::If { condition, then, otherwise }, results)
    }

    /// `whole` with one part replaced; the part itself for an empty path.
    fn with_part(&mut self, whole: ValueId, path: &Path, part: ValueId) -> ValueId {
        if path.is_empty() {
            return part;
        }
        let ty = self.new.ty(whole);
        self.new.one(Op::Insert(whole, path.clone(), part), ty)
    }

    fn part(&mut self, whole: ValueId, path: &Path, ty: Type) -> ValueId {
        if path.is_empty() { whole } else { self.new.one(Op::Extract(whole, path.clone()), ty) }
    }
}
