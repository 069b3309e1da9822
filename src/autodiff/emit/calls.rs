//! The adjoint of a call: a call of the adjoint function, the user's or the one made from the body.

use smallvec::SmallVec;

use super::reverse::Reverse;
use crate::analysis::alias::{Root, root};
use crate::autodiff::analysis::finite::what_gives;
use crate::ir::{
    BinaryOp, Check, CompareOp, Const, Derivative, FuncId, Gives, Inst, InstId, Op, Step, ValueId, Values,
};
use crate::types::{BOOL, Type};

impl Reverse<'_> {
    pub fn reverse_call(&mut self, id: InstId, inst: &Inst, callee: FuncId, args: &[ValueId]) {
        let writes = self.facts.writing.contains(&id);
        let seeds: Vec<Option<ValueId>> = inst.results.iter().map(|&r| self.take(r)).collect();
        if seeds.iter().all(Option::is_none) && !writes && self.reads.is_none() {
            return;
        }
        let adjoint = match &self.world.module.functions[callee].derivative {
            Derivative::Rule { adjoint, .. } => Some(*adjoint),
            Derivative::Body => self.world.adjoints.get(&callee).copied(),
            _ => None,
        };
        let structs = &self.world.module.structs;
        let mut values: Values = self.primals(args);
        for &arg in args.iter().filter(|&&arg| self.old.ty(arg).bears_array(structs)) {
            let shadow = self.shadow_value(arg);
            values.push(shadow);
        }
        let seeds: Vec<ValueId> = inst
            .results
            .iter()
            .zip(seeds)
            .map(|(&result, seed)| seed.unwrap_or_else(|| self.b.zero(self.old.ty(result))))
            .collect();
        values.extend(seeds.iter().copied());
        if self.reads.is_some() {
            return;
        }
        let Some(adjoint) = adjoint else {
            self.faults.push(format!("there is no adjoint of @{}", self.world.module.functions[callee].name));
            return;
        };
        let receivers: Vec<ValueId> =
            args.iter().copied().filter(|&arg| self.old.ty(arg).holds_floats(structs)).collect();
        let types: Vec<Type> = receivers.iter().map(|&arg| self.old.ty(arg)).collect();
        if let Some((test, what)) = self.facts.tests.get(&id) {
            let holds = self.b.one(Op::Call(*test, values.clone()), BOOL);
            self.b.effect(Op::Check(what.clone(), Values::from_slice(&[holds])));
            // The same for adjoints of 1: the point, whatever the adjoint.
            let mut point = Values::from_slice(&values[..values.len() - seeds.len()]);
            point.extend(seeds.iter().map(|&seed| self.ones_like(seed)));
            let holds = self.b.one(Op::Call(*test, point), BOOL);
            self.b.effect(Op::Check(Check::Visit, Values::from_slice(&[holds])));
        }
        let additions = self.b.push(Op::Call(adjoint, values), &types);
        let wanted = if self.needs_guard(inst, callee, adjoint) { self.any_nonzero(&seeds) } else { None };
        // What comes twice to one argument is added up first.
        let mut sums: Vec<(ValueId, ValueId)> = Vec::new();
        for (&arg, addition) in receivers.iter().zip(additions) {
            if !self.is_active(arg) {
                continue;
            }
            let addition = match wanted {
                Some(wanted) => {
                    let zero = self.b.zero(self.old.ty(arg));
                    self.b.select(wanted, addition, zero)
                }
                None => addition,
            };
            match sums.iter().position(|(known, _)| *known == arg) {
                Some(at) => sums[at].1 = self.sum_of(sums[at].1, addition),
                None => sums.push((arg, addition)),
            }
        }
        sums.into_iter().for_each(|(arg, sum)| self.add(arg, sum));
    }

    /// Whether zero adjoints of a call's results may give more than zero. An adjoint function that
    /// kc made has its own guards, which take its arguments for finite.
    fn needs_guard(&self, inst: &Inst, callee: FuncId, adjoint: FuncId) -> bool {
        let module = self.world.module;
        let own = matches!(module.functions[callee].derivative, Derivative::Rule { .. });
        let non_finite =
            |of: ValueId| inst.results.iter().any(|&result| self.facts.finite.may_be_non_finite(of, result));
        let mut infinite = false;
        inst.op.for_each_operand(|arg| infinite |= non_finite(arg));
        infinite
            || own && what_gives(module, adjoint, &mut self.world.sizes.borrow_mut()) != Gives::Finite
            || inst.results.iter().any(|&result| self.facts.finite.is_dropped(result))
    }

    /// 1 in all scalars of a type of floats.
    fn ones_like(&mut self, value: ValueId) -> ValueId {
        let ty = self.b.ty(value);
        let Some(scalar) = ty.scalar_part().filter(|scalar| scalar.is_float()) else { return self.b.zero(ty) };
        let one = self.b.constant(Const::float(scalar, 1.0));
        match ty.scalar_count().filter(|_| ty.is_composite()) {
            Some(count) => self.b.one(Op::Construct(Values::from_elem(one, count as usize)), ty),
            None => one,
        }
    }

    /// Whether any float in the values is not zero; None if there are none.
    fn any_nonzero(&mut self, values: &[ValueId]) -> Option<ValueId> {
        let mut any = None;
        for &value in values {
            let structs = &self.world.module.structs;
            let ty = self.b.ty(value);
            let nonzero = match ty {
                Type::Struct(id) => {
                    let parts: Vec<ValueId> = structs[id]
                        .fields
                        .iter()
                        .enumerate()
                        .filter(|(_, field)| field.ty.holds_floats(structs))
                        .map(|(n, field)| self.b.extract_at(value, n as u32, field.ty))
                        .collect();
                    self.any_nonzero(&parts)
                }
                _ if ty.holds_floats(structs) => {
                    let zero = self.b.zero(ty);
                    Some(self.b.compare(CompareOp::Ne, value, zero))
                }
                _ => None,
            };
            any = match (any, nonzero) {
                (Some(a), Some(b)) => Some(self.b.one(Op::Binary(BinaryOp::Or, a, b), BOOL)),
                (a, b) => a.or(b),
            };
        }
        any
    }

    /// The shadow of an array, or a struct with the shadows of a struct's arrays (and zeros
    /// besides).
    fn shadow_value(&mut self, value: ValueId) -> ValueId {
        let ty = self.old.ty(value);
        if matches!(ty, Type::Array(_)) {
            return self.shadow_argument(value);
        }
        let mut whole = self.b.zero(ty);
        if let Root::Param(n, fields) = root(self.old, value) {
            whole = self.fill_shadows(whole, ty, n, fields, &mut Vec::new());
        }
        whole
    }

    fn fill_shadows(&mut self, mut whole: ValueId, ty: Type, n: u32, at: Vec<u32>, inside: &mut Vec<u32>) -> ValueId {
        let Type::Struct(id) = ty else { return whole };
        let structs = &self.world.module.structs;
        for (k, field) in structs[id].fields.iter().enumerate() {
            inside.push(k as u32);
            if matches!(field.ty, Type::Array(_)) {
                let fields: Vec<u32> = at.iter().chain(inside.iter()).copied().collect();
                if let Some(shadow) = self.shadows.get(&Root::Param(n, fields)).copied() {
                    let path: SmallVec<[Step; 2]> = inside.iter().map(|&k| Step::At(k)).collect();
                    let owner = self.b.ty(whole);
                    whole = self.b.one(Op::Insert(whole, path, shadow.array), owner);
                }
            } else {
                whole = self.fill_shadows(whole, field.ty, n, at.clone(), inside);
            }
            inside.pop();
        }
        whole
    }
}
