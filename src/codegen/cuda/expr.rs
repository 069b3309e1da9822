//! Values as expressions.

use super::composite;
use super::function::{Fault, Translator};
use super::guards::guarded;
use super::helpers::Helper;
use super::literal::literal;
use super::plain;
use super::plan::Form;
use super::prelude::ArrayMember;
use super::products;
use super::scalar::{self, OperandFacts, is_half, typed};
use super::tree::{Expr, Infix, Stmt};
use super::types::{component, has_named_components, identifier, scalar_name, type_name};
use super::wrapping;
use crate::analysis::inside;
use crate::ir::{
    Access, Ask, AtomicOp, Const, Exchange, FuncId, Inst, Op, Part, Product, Step, UnaryOp, ValueDef, ValueId,
    ViewIndex,
};
use crate::types::{ArrayType, Scalar, Type};

impl Translator<'_> {
    /// A value where it is used: its variable, or the expression that computes it.
    pub fn value(&mut self, value: ValueId) -> Result<Expr, Fault> {
        if self.plan.form(value) == Form::Variable && self.plain_array(value).is_none() {
            return Ok(Expr::Var(self.variables.of(value)));
        }
        let function = self.function;
        match function.values[value].def {
            ValueDef::Param(..) if self.plain_array(value).is_some() => {
                Err(Fault { what: "an array as a value, with plain parameters,".to_string(), span: function.span })
            }
            ValueDef::Result(id, _) => self.reading_at(id, |this| this.operation(&function.insts[id])),
            ValueDef::Param(..) => Ok(Expr::Var(self.variables.of(value))),
        }
    }

    pub fn values(&mut self, values: &[ValueId]) -> Result<Vec<Expr>, Fault> {
        values.iter().map(|&v| self.value(v)).collect()
    }

    /// A value whose C++ type is exactly its own.
    fn typed_value(&mut self, value: ValueId) -> Result<Expr, Fault> {
        let e = self.value(value)?;
        Ok(match self.function.ty(value) {
            Type::Scalar(s) => typed(s, e, self.prelude),
            _ => e,
        })
    }

    /// The adjoint of a choice in reverse code that is 0 where the adjoint is, if the text says so
    /// by a call. The condition is written here, as `adjoint != 0`.
    fn guard(&self, condition: ValueId, otherwise: ValueId) -> Option<ValueId> {
        let written = self.many_guards && self.plan.form(condition) == Form::Inline;
        written.then(|| guarded(self.function, condition, otherwise)).flatten()
    }

    /// The expression that an instruction with one result computes.
    pub fn operation(&mut self, inst: &Inst) -> Result<Expr, Fault> {
        let Some(&result) = inst.results.first() else { return Err(self.fault(inst, "this operation has no value")) };
        let ty = self.function.ty(result);
        let structs = self.structs();
        let shared = self.shared;
        if let Some(name) = shared.constants.name(shared.module, self.function, inst, self.prelude) {
            return Ok(name);
        }
        Ok(match &inst.op {
            Op::Const(c) => literal(*c, self.prelude),
            Op::Zero => match ty {
                Type::Scalar(s) => literal(Const::new(s, 0), self.prelude),
                _ => Expr::Braces(self.type_name(ty), Vec::new()),
            },
            Op::Unary(op, a) => {
                let wraps = self.wrapping.is_at(inst);
                let a = self.value(*a)?;
                match ty {
                    Type::Scalar(s) if wraps => wrapping::unary(*op, s, a, self.prelude),
                    Type::Scalar(s) => scalar::unary(*op, s, a, self.prelude),
                    _ => composite::unary(*op, ty, a, structs, self.prelude),
                }
            }
            Op::Binary(op, a, b) => {
                let (ta, tb) = (self.function.ty(*a), self.function.ty(*b));
                let facts = self.facts(*a, *b);
                let wraps = self.wrapping.is_at(inst);
                let (a, b) = (self.value(*a)?, self.value(*b)?);
                match (ta, tb) {
                    (Type::Scalar(s), Type::Scalar(_)) if wraps => wrapping::binary(*op, s, a, b, self.prelude),
                    (Type::Scalar(s), Type::Scalar(_)) => scalar::binary(*op, s, a, b, facts, self.prelude),
                    _ => composite::binary(*op, (ta, a), (tb, b), structs, self.prelude),
                }
            }
            Op::Compare(op, a, b) => {
                let ty = self.function.ty(*a);
                let unsigned = self.function.as_const(*b).and_then(|c| c.as_int()).is_some_and(|n| n >= 0);
                let a = if unsigned { self.converted(*a)? } else { self.value(*a)? };
                let b = self.value(*b)?;
                match ty {
                    Type::Scalar(s) => scalar::compare(*op, s, a, b, self.prelude),
                    _ => composite::compare(*op, ty, a, b, structs, self.prelude),
                }
            }
            Op::Fma(a, b, c) => {
                let Type::Scalar(s) = ty else { return Err(self.fault(inst, "`fma` of a composite")) };
                let (a, b, c) = (self.value(*a)?, self.value(*b)?, self.value(*c)?);
                scalar::fma(s, a, b, c, self.prelude)
            }
            Op::Cast(a) => {
                let from = self.function.ty(*a);
                let a = self.value(*a)?;
                match (from, ty) {
                    (Type::Scalar(from), Type::Scalar(to)) => scalar::cast(from, to, a, self.prelude),
                    _ => composite::cast(from, ty, a, structs, self.prelude),
                }
            }
            Op::Bitcast(a) => {
                let from = self.function.ty(*a);
                let a = self.value(*a)?;
                let cast = match (from, ty) {
                    (Type::Scalar(from), Type::Scalar(to)) => scalar::bitcast(from, to, a, self.prelude),
                    _ => None,
                };
                cast.ok_or_else(|| self.fault(inst, "a bit cast between these types"))?
            }
            Op::Select { condition, then, otherwise } => {
                let guard = self.guard(*condition, *otherwise);
                let (c, a, b) = (self.value(*condition)?, self.typed_value(*then)?, self.typed_value(*otherwise)?);
                match guard {
                    Some(adjoint) => {
                        let adjoint = self.typed_value(adjoint)?;
                        Expr::call(self.prelude.helper(Helper::UnlessZero), [adjoint, a])
                    }
                    None => choice(c, a, b),
                }
            }
            Op::If { condition, then, otherwise } => {
                let c = self.value(*condition)?;
                let mut branches = Vec::new();
                for &block in &[*then, *otherwise] {
                    let function = self.function;
                    let Some(Inst { op: Op::Yield(values), .. }) = function.terminator(block) else {
                        return Err(self.fault(inst, "a branch that leaves inside an expression"));
                    };
                    let Some(&value) = values.first() else { return Err(self.fault(inst, "a branch without value")) };
                    branches.push(self.typed_value(value)?);
                }
                let (Some(b), Some(a)) = (branches.pop(), branches.pop()) else {
                    return Err(self.fault(inst, "an `if` without branches"));
                };
                choice(c, a, b)
            }
            Op::Construct(parts) => {
                let mut values = Vec::new();
                for &part in parts {
                    values.push(self.typed_value(part)?);
                }
                Expr::Braces(self.type_name(ty), values)
            }
            Op::Extract(base, path) => {
                let of = self.function.ty(*base);
                let base = self.value(*base)?;
                self.part(base, of, path)?
            }
            Op::Call(callee, args) => self.call(*callee, args)?,
            Op::ThreadNumber if let Some(thread) = self.plain_thread() => thread,
            Op::ThreadNumber => {
                let (task, _) = self.thread.ok_or_else(|| self.fault(inst, "`tid()` in a function"))?;
                Expr::cast("int", Expr::Var(task))
            }
            Op::ThreadIndex(n) => self.thread_index(*n).ok_or_else(|| self.fault(inst, "`tid()` in a function"))?,
            Op::BlockDim => Expr::cast("int", Expr::atom("blockDim.x")),
            Op::ThreadInBlock => Expr::cast("int", Expr::atom("threadIdx.x")),
            Op::Extent(array, dim) if let Some(n) = self.plain_array(*array) => self.plain_extent(n, *dim),
            Op::Extent(array, dim) => match self.function.ty(*array) {
                Type::Local(local) => Expr::atom(local.shape.get(usize::from(*dim)).copied().unwrap_or(1).to_string()),
                _ => self.value(*array)?.member("shape").index(Expr::atom(dim.to_string())),
            },
            Op::IsSet(array) if self.plain_array(*array).is_some() => {
                Expr::cast("bool", Expr::Var(self.variables.of(*array)))
            }
            Op::IsSet(array) => match self.function.ty(*array) {
                Type::Local(_) => Expr::atom("true"),
                ty => {
                    if let Type::Array(ty) = ty {
                        self.prelude.array_member(ty.element, ty.ndim, ArrayMember::IsSet, structs);
                    }
                    Expr::cast("bool", self.value(*array)?)
                }
            },
            Op::Gradient(array) => {
                if let Type::Array(ty) = self.function.ty(*array) {
                    self.prelude.array_member(ty.element, ty.ndim, ArrayMember::Gradient, &self.shared.module.structs);
                }
                Expr::Method(Box::new(self.value(*array)?), "gradient", Vec::new())
            }
            Op::Address(array) => {
                self.prelude.scalar(Scalar::U64);
                let data = match self.function.ty(*array) {
                    _ if self.plain_array(*array).is_some() => Expr::Var(self.variables.of(*array)),
                    Type::Local(_) => self.value(*array)?,
                    _ => self.value(*array)?.member("data"),
                };
                Expr::cast(scalar_name(Scalar::U64), data)
            }
            Op::ArrayAt { args, .. } => {
                if let Type::Array(array) = ty {
                    self.prelude.array_member(array.element, array.ndim, ArrayMember::AtAddress, structs);
                }
                let args = args.iter().map(|&arg| self.typed_value(arg)).collect::<Result<Vec<_>, _>>()?;
                Expr::call(format!("{}::at_address", self.type_name(ty)), args)
            }
            Op::View(array, dims) => self.view(inst, *array, dims)?,
            Op::Load(access) => {
                let (element, ty) = self.element(inst, access)?;
                self.part(element, ty, &access.path)?
            }
            Op::Atomic { op, access, value } => self.atomic(inst, *op, access, *value)?,
            Op::AtomicCas { access, expected, new } => {
                let (place, ty) = self.place(inst, access)?;
                let args = [Expr::prefix("&", place), self.typed_value(*expected)?, self.typed_value(*new)?];
                match ty {
                    Type::Scalar(Scalar::I32 | Scalar::U32 | Scalar::U64) => Expr::call("atomicCAS", args),
                    Type::Scalar(s) if s.size() > 1 => Expr::call(self.prelude.helper(Helper::AtomicCas), args),
                    _ => return Err(self.fault(inst, "an atomic compare-and-swap of this type")),
                }
            }
            Op::Exchange(exchange, operands) => self.exchange(*exchange, operands)?,
            Op::Product(product, operands) => self.product(Some(ty), product, operands)?,
            // Statements: see [`super::function`].
            Op::Insert(..)
            | Op::LocalArray
            | Op::SharedArray
            | Op::Store { .. }
            | Op::For { .. }
            | Op::While { .. }
            | Op::Barrier
            | Op::GridSync
            | Op::Copy(..)
            | Op::Print { .. }
            | Op::Assert { .. }
            | Op::Check(..)
            | Op::Yield(_)
            | Op::Break(_)
            | Op::Continue(_)
            | Op::Return(_) => return Err(self.fault(inst, "this operation as an expression")),
        })
    }

    /// A value that is converted where it is, or compared with what is not negative: the number of
    /// a thread needs no cast.
    pub fn converted(&mut self, value: ValueId) -> Result<Expr, Fault> {
        Ok(if let Some(Op::ThreadInBlock) = self.function.op(value) {
            Expr::atom("threadIdx.x")
        } else if let Some(Op::BlockDim) = self.function.op(value) {
            Expr::atom("blockDim.x")
        } else {
            self.value(value)?
        })
    }

    fn facts(&self, a: ValueId, b: ValueId) -> OperandFacts {
        OperandFacts {
            right: self.function.as_const(b),
            left_is_non_negative: self.ranges.is_at_least(self.at, a, 0),
            right_is_positive: self.ranges.is_at_least(self.at, b, 1),
            right_is_below_width: self
                .function
                .ty(a)
                .as_scalar()
                .is_some_and(|s| self.ranges.is_below(self.at, b, s.bits())),
        }
    }

    /// What the threads of a warp tell each other.
    fn exchange(&mut self, exchange: Exchange, operands: &[ValueId]) -> Result<Expr, Fault> {
        let all = Expr::atom("0xffffffff");
        let members = match exchange.part() {
            Some((0, part)) => Expr::atom(format!("{part:#x}")),
            Some((first, part)) => {
                let whole = Expr::infix(Infix::Lt, Expr::atom("threadIdx.x"), Expr::atom(format!("{first}u")));
                choice(whole, all, Expr::atom(format!("{part:#x}")))
            }
            None => all,
        };
        let mut args = vec![members];
        for &operand in operands {
            args.push(self.typed_value(operand)?);
        }
        // The functions of CUDA take numbers of these types.
        let plain = match self.function.ty(operands[0]) {
            Type::Scalar(s) => s.size() >= 4,
            _ => false,
        };
        let (name, helper) = match exchange.ask {
            Ask::Ballot => return Ok(Expr::call("__ballot_sync", args)),
            Ask::Match => return Ok(Expr::call("__match_any_sync", args)),
            Ask::Shuffle => ("__shfl_sync", Helper::WarpShuffle),
            Ask::Up => ("__shfl_up_sync", Helper::WarpUp),
            Ask::Down => ("__shfl_down_sync", Helper::WarpDown),
            Ask::Xor => ("__shfl_xor_sync", Helper::WarpXor),
        };
        Ok(Expr::call(if plain { name } else { self.prelude.helper(helper) }, args))
    }

    /// A product of tiles, or a part of one, by the instructions for matrices.
    /// `kept`: the type of what it gives.
    pub fn product(&mut self, kept: Option<Type>, product: &Product, operands: &[ValueId]) -> Result<Expr, Fault> {
        let name = self.prelude.product(product);
        let function = products::function(product.part);
        let mut args = self.arguments(operands)?;
        if product.part == Part::Keep {
            args.rotate_right(1);
        }
        let result = kept.map_or_else(String::new, |ty| format!("<{}>", self.type_name(ty)));
        Ok(Expr::call(format!("{name}::{function}{result}"), args))
    }

    fn atomic(&mut self, inst: &Inst, op: AtomicOp, access: &Access, value: ValueId) -> Result<Expr, Fault> {
        let (path, (element, ty)) = (&access.path, self.element(inst, access)?);
        let part = self.type_after(ty, path);
        if let Some(n) = self.first_unchecked_step(ty, path)
            && part.scalar_part().is_some_and(|s| s.size() > 1)
        {
            let owner = self.place_in(element, ty, &path[..n])?;
            let owner_type = self.type_after(ty, &path[..n]);
            let (mut scalars, mut args) = (Vec::new(), vec![owner]);
            for &step in &path[n..] {
                scalars.push(match step {
                    Step::Dynamic(at) => self.function.ty(at).as_scalar().unwrap_or(Scalar::I32),
                    Step::At(_) => Scalar::I32,
                });
                args.push(self.step_index(step)?);
            }
            let name = composite::atomic_component(op, owner_type, &scalars, self.structs(), self.prelude);
            args.push(self.typed_value(value)?);
            return Ok(Expr::call(name, args));
        }
        let (place, ty) = (self.place_in(element, ty, path)?, part);
        if ty.scalar_part().is_none_or(|s| s.size() == 1) {
            return Err(self.fault(inst, "an atomic operation on this type"));
        }
        let value = self.typed_value(value)?;
        // CUDA subtracts no floats.
        if op == AtomicOp::Sub && ty.scalar_part().is_some_and(|s| matches!(s, Scalar::F32 | Scalar::F64)) {
            let name = composite::atomic(AtomicOp::Add, ty, self.structs(), self.prelude);
            let negated = self.minus(ty, value);
            return Ok(Expr::call(name, [Expr::prefix("&", place), negated]));
        }
        let by_warps = self.plain.as_ref().is_some_and(|(kernel, _)| kernel.one_place.contains(&self.at));
        let name = match by_warps {
            true => self.prelude.helper(Helper::WarpAdd),
            false => composite::atomic(op, ty, self.structs(), self.prelude),
        };
        Ok(Expr::call(name, [Expr::prefix("&", place), value]))
    }

    /// `-value`, or `x` for `-x`.
    fn minus(&mut self, ty: Type, value: Expr) -> Expr {
        match (value, ty) {
            (Expr::Prefix("-", positive), _) => *positive,
            (value, Type::Scalar(s)) => scalar::unary(UnaryOp::Neg, s, value, self.prelude),
            (value, _) => composite::unary(UnaryOp::Neg, ty, value, self.structs(), self.prelude),
        }
    }

    /// A call that returns one value and takes nothing by reference.
    fn call(&mut self, callee: FuncId, args: &[ValueId]) -> Result<Expr, Fault> {
        let function = &self.shared.module.functions[callee];
        let mut values = self.passed(callee, args)?;
        if self.plain.as_ref().is_some_and(|(kernel, _)| kernel.wrap == Some(callee)) {
            return Ok(Expr::call(self.prelude.helper(Helper::Wrap), values));
        }
        let Some(name) = &function.cuda_name else {
            return Ok(Expr::Call(self.shared.function_name(callee).to_string(), values));
        };
        // CUDA's functions know no 16-bit floats of ours: these go through float.
        for (value, &arg) in values.iter_mut().zip(args) {
            if let Type::Scalar(s) = self.function.ty(arg)
                && is_half(s)
            {
                *value = Expr::cast("float", value.clone());
            }
        }
        let name = Some(name.as_str()).filter(|_| self.prelude.fast).and_then(scalar::approximation).unwrap_or(name);
        let call = Expr::call(name, values);
        Ok(match function.results.first().map(|r| r.ty) {
            Some(Type::Scalar(s)) if is_half(s) => Expr::call(scalar_name(s), [call]),
            _ => call,
        })
    }

    /// The arguments of a call. An array is a pointer where a function takes pointers, and behind
    /// it stand the extents that the function asks for.
    pub fn passed(&mut self, callee: FuncId, args: &[ValueId]) -> Result<Vec<Expr>, Fault> {
        let passed = self.shared.passed.borrow().get(&callee).cloned();
        let mut values = Vec::new();
        for (n, &arg) in (0..).zip(args) {
            let Some(own) = self.plain_array(arg).filter(|_| passed.is_some()) else {
                values.push(self.typed_value(arg)?);
                continue;
            };
            let plain::Passed { named, extents } = passed.clone().unwrap_or_default();
            values.extend(named.contains(&n).then(|| Expr::Var(self.variables.of(arg))));
            values.extend(extents.iter().filter(|(param, _)| *param == n).map(|&(_, dim)| self.plain_extent(own, dim)));
        }
        Ok(values)
    }

    /// Arguments of a product of tiles.
    pub fn arguments(&mut self, args: &[ValueId]) -> Result<Vec<Expr>, Fault> {
        args.iter().map(|&a| self.typed_value(a)).collect()
    }

    /// Coordinate `n` of the thread; None outside kernels.
    fn thread_index(&mut self, n: u8) -> Option<Expr> {
        let crate::ir::FunctionKind::Kernel { rank } = self.function.kind else { return None };
        if let Some(coordinate) = self.plain_coordinate(n) {
            return Some(coordinate);
        }
        let (task, launch) = self.thread?;
        let extent = |d: u8| Expr::Var(launch).member("shape").index(Expr::atom(d.to_string()));
        let mut e = Expr::Var(task);
        for d in (n + 1..rank).rev() {
            e = Expr::infix(Infix::Div, e, extent(d));
        }
        if n > 0 {
            e = Expr::infix(Infix::Rem, e, extent(n));
        }
        Some(Expr::cast("int", e))
    }

    fn view(&mut self, inst: &Inst, array: ValueId, dims: &[ViewIndex]) -> Result<Expr, Fault> {
        let Type::Array(ArrayType { element, mut ndim }) = self.function.ty(array) else {
            return Err(self.fault(inst, "a view of a local array"));
        };
        let structs = self.structs();
        let mut e = self.value(array)?;
        // Dimensions that stay, so far: fixing one moves the later ones down.
        let mut kept = 0u8;
        for dim in dims {
            match dim {
                ViewIndex::At(i) => {
                    let is_plain = self.ranges.counts_from_start(self.at, *i);
                    let i = self.value(*i)?;
                    if kept == 0 {
                        let member = if is_plain { ArrayMember::Row } else { ArrayMember::RowAt };
                        self.prelude.array_member(element, ndim, ArrayMember::Row, structs);
                        self.prelude.array_member(element, ndim, member, structs);
                        e = if is_plain { e.index(i) } else { Expr::Method(Box::new(e), "at", vec![i]) };
                    } else {
                        self.prelude.array_member(element, ndim, ArrayMember::Fix, structs);
                        e = Expr::Method(Box::new(e), "fix", vec![Expr::atom(kept.to_string()), i]);
                    }
                    ndim -= 1;
                }
                ViewIndex::Range { start, stop, step } => {
                    self.prelude.array_member(element, ndim, ArrayMember::Slice, structs);
                    let (start, stop, step) = (self.value(*start)?, self.value(*stop)?, self.value(*step)?);
                    e = Expr::Method(Box::new(e), "slice", vec![Expr::atom(kept.to_string()), start, stop, step]);
                    kept += 1;
                }
            }
        }
        Ok(e)
    }

    /// An element of an array, and its type.
    pub fn element(&mut self, inst: &Inst, access: &Access) -> Result<(Expr, Type), Fault> {
        let ty = self.function.ty(access.array);
        let promised = self.plain.as_ref().is_some_and(|(kernel, _)| kernel.wrap.is_none());
        let is_parameter = self.plain_array(access.array).is_some();
        let from_start = access.indices.iter().map(|&i| {
            promised
                || is_parameter && plain::is_wrapped(self.function, i)
                || self.ranges.counts_from_start(self.at, i)
                || inside::counts_from_start(self.shared.module, self.function, &self.ranges, self.at, access.array, i)
        });
        let from_start: Vec<bool> = from_start.collect();
        let at = self.values(&access.indices)?;
        if let (Type::Array(array), Some(n)) = (ty, self.plain_array(access.array)) {
            let indices = (0..).zip(at.into_iter().zip(from_start));
            let indices = indices.map(|(dim, (i, known))| match known {
                true => i,
                false => Expr::call(self.prelude.helper(Helper::Wrap), [i, self.plain_extent(n, dim)]),
            });
            let indices: Vec<Expr> = indices.collect();
            let at = plain::offset(indices, &mut |dim| self.plain_extent(n, dim));
            return Ok((Expr::Var(self.variables.of(access.array)).index(at), array.element.into()));
        }
        let base = self.value(access.array)?;
        match ty {
            Type::Local(local) => {
                let mut e = base;
                for (n, (i, known)) in at.into_iter().zip(from_start).enumerate() {
                    let extent = local.shape.get(n).copied().unwrap_or(1);
                    let i = if known {
                        i
                    } else {
                        Expr::call(self.prelude.helper(Helper::Wrap), [i, Expr::atom(extent.to_string())])
                    };
                    e = e.index(i);
                }
                Ok((e, local.element.into()))
            }
            Type::Array(array) => {
                let structs = self.structs();
                self.prelude.array_member(array.element, array.ndim, ArrayMember::Element, structs);
                let e = if from_start.iter().all(|&k| k) {
                    match <[Expr; 1]>::try_from(at) {
                        Ok([i]) => base.index(i),
                        Err(at) => Expr::Apply(Box::new(base), at),
                    }
                } else {
                    self.prelude.array_member(array.element, array.ndim, ArrayMember::ElementAt, structs);
                    Expr::Method(Box::new(base), "at", at)
                };
                Ok((e, array.element.into()))
            }
            _ => Err(self.fault(inst, "an element of this type")),
        }
    }

    /// A part of an array element that can be assigned to or pointed at.
    fn place(&mut self, inst: &Inst, access: &Access) -> Result<(Expr, Type), Fault> {
        let (path, (element, ty)) = (&access.path, self.element(inst, access)?);
        if self.first_unchecked_step(ty, path).is_some() {
            return Err(self.fault(inst, "an atomic operation on a component chosen at run time"));
        }
        let place = self.place_in(element, ty, path)?;
        Ok((place, self.type_after(ty, path)))
    }

    /// The part of a value that a path leads to.
    fn part(&mut self, e: Expr, ty: Type, path: &[Step]) -> Result<Expr, Fault> {
        self.follow(e, ty, path, false)
    }

    /// The same, to be assigned to: the value is assignable, and every step is inside the range.
    fn place_in(&mut self, e: Expr, ty: Type, path: &[Step]) -> Result<Expr, Fault> {
        self.follow(e, ty, path, true)
    }

    fn follow(&mut self, mut e: Expr, mut ty: Type, path: &[Step], assigned: bool) -> Result<Expr, Fault> {
        let structs = self.structs();
        let mut steps = path.iter().copied().peekable();
        while let Some(step) = steps.next() {
            self.prelude.ty(ty, structs);
            let inside = self.is_inside(ty, step);
            if let Type::Mat(_, c, s) = ty
                && inside
                && let Some(&column) = steps.peek()
                && self.is_inside(Type::Vec(c, s), column)
            {
                steps.next();
                composite::declare_element(ty, assigned, structs, self.prelude);
                let at = vec![self.step_index(step)?, self.step_index(column)?];
                e = Expr::Apply(Box::new(e), at);
                ty = Type::Scalar(s);
                continue;
            }
            e = match (ty, step) {
                _ if !inside => {
                    let Step::Dynamic(index) = step else { return Ok(e) };
                    let at = self.value(index)?;
                    let index_type = self.function.ty(index).as_scalar().unwrap_or(Scalar::I32);
                    composite::declare_component(ty, index_type, structs, self.prelude);
                    Expr::call("component", [e, at])
                }
                (Type::Struct(id), Step::At(n)) => {
                    let name = structs[id].fields.get(n as usize).map_or("", |f| f.name.as_str());
                    e.member(identifier(name))
                }
                (Type::Transform(_), Step::At(n)) => e.member(if n == 0 { "p" } else { "q" }),
                (Type::Mat(..), step) => e.member("row").index(self.step_index(step)?),
                (_, Step::At(n)) if has_named_components(ty) => e.member(component(n)),
                (_, step) => {
                    composite::declare_subscript(ty, assigned, self.prelude);
                    e.index(self.step_index(step)?)
                }
            };
            ty = self.step_type(ty, step);
        }
        Ok(e)
    }

    fn step_index(&mut self, step: Step) -> Result<Expr, Fault> {
        match step {
            Step::At(n) => Ok(Expr::atom(n.to_string())),
            Step::Dynamic(value) => self.value(value),
        }
    }

    /// Whether a step is certainly inside the range and needs no wrap.
    fn is_inside(&self, ty: Type, step: Step) -> bool {
        match step {
            Step::At(_) => true,
            Step::Dynamic(value) => self.ranges.is_below(self.at, value, ty.step_count(self.structs())),
        }
    }

    fn first_unchecked_step(&self, mut ty: Type, path: &[Step]) -> Option<usize> {
        for (n, &step) in path.iter().enumerate() {
            if !self.is_inside(ty, step) {
                return Some(n);
            }
            ty = self.step_type(ty, step);
        }
        None
    }

    fn step_type(&self, ty: Type, step: Step) -> Type {
        let index = if let Step::At(n) = step { Some(n) } else { None };
        // The verifier has checked every path.
        ty.step(index, self.structs()).unwrap_or(ty)
    }

    fn type_after(&self, ty: Type, path: &[Step]) -> Type {
        path.iter().fold(ty, |ty, &step| self.step_type(ty, step))
    }

    /// Assigns to a part of a place.
    pub fn store(
        &mut self,
        place: Expr,
        ty: Type,
        path: &[Step],
        value: Expr,
        out: &mut Vec<Stmt>,
    ) -> Result<(), Fault> {
        let Some(n) = self.first_unchecked_step(ty, path) else {
            let part = self.type_after(ty, path);
            let target = self.place_in(place, ty, path)?;
            out.push(self.assignment(target, part, value));
            return Ok(());
        };
        let structs = self.structs();
        let owner = self.place_in(place, ty, &path[..n])?;
        let owner_type = self.type_after(ty, &path[..n]);
        let Step::Dynamic(index) = path[n] else { return Ok(()) };
        let index_type = self.function.ty(index).as_scalar().unwrap_or(Scalar::I32);
        composite::declare_set_component(owner_type, index_type, structs, self.prelude);
        let at = self.value(index)?;
        if n + 1 == path.len() {
            out.push(Stmt::Eval(Expr::call("set_component", [owner, at, value])));
            return Ok(());
        }
        // A row chosen at run time: change a copy, then put it back if the row exists.
        let row_type = self.step_type(owner_type, path[n]);
        composite::declare_component(owner_type, index_type, structs, self.prelude);
        let row = self.new_variable(row_type, "row");
        let read = Expr::call("component", [owner.clone(), at.clone()]);
        out.push(Stmt::Assign { var: row, value: read, declare: false });
        self.store(Expr::Var(row), row_type, &path[n + 1..], value, out)?;
        out.push(Stmt::Eval(Expr::call("set_component", [owner, at, Expr::Var(row)])));
        Ok(())
    }

    /// The operator of `x = x op e` on composites needs a declaration of its own.
    pub fn assignment(&mut self, target: Expr, ty: Type, value: Expr) -> Stmt {
        let value = super::function::target_first(&target, ty, value);
        self.declare_compound(&target, ty, &value);
        Stmt::Store { target, value }
    }

    pub fn declare_compound(&mut self, target: &Expr, ty: Type, value: &Expr) {
        // `x = c ? x + a : x` becomes `if (c) x += a`.
        if let Expr::Conditional(_, a, b) = value {
            self.declare_compound(target, ty, a);
            self.declare_compound(target, ty, b);
        }
        if let Expr::Infix(op, a, _) = value
            && op.has_assignment()
            && **a == *target
        {
            let structs = self.structs();
            match ty {
                Type::Scalar(s) if !is_half(s) => {}
                _ => composite::declare_compound(*op, ty, structs, self.prelude),
            }
        }
    }

    /// `!condition`; integers are less, or not less: only floats may be neither.
    pub fn negated(&self, condition: ValueId, e: Expr) -> Expr {
        let is_int = matches!(self.function.op(condition), Some(Op::Compare(_, a, _)) if self.function.ty(*a).is_int());
        match e.negate() {
            Expr::Prefix("!", inner) if is_int => match *inner {
                // `n <= 2`, not `2 >= n`.
                Expr::Infix(op, a, b) if op.opposite().is_some() && matches!(*a, Expr::Atom(_)) => {
                    let op = op.opposite().unwrap_or(op);
                    Expr::Infix(op.mirrored().unwrap_or(op), b, a)
                }
                Expr::Infix(op, a, b) if op.opposite().is_some() => Expr::Infix(op.opposite().unwrap_or(op), a, b),
                inner => Expr::prefix("!", inner),
            },
            e => e,
        }
    }

    pub fn type_name(&mut self, ty: Type) -> String {
        let structs = self.structs();
        self.prelude.ty(ty, structs);
        type_name(ty, structs)
    }
}

/// `c ? a : b`, or `&&` and `||` where one side is a constant bool.
fn choice(c: Expr, a: Expr, b: Expr) -> Expr {
    let is = |e: &Expr, text: &str| matches!(e, Expr::Atom(t) if t == text);
    if is(&a, "true") && is(&b, "false") {
        return c;
    }
    if is(&b, "false") {
        return Expr::infix(Infix::And, c, a);
    }
    if is(&a, "true") {
        return Expr::infix(Infix::Or, c, b);
    }
    if is(&a, "false") && is(&b, "true") {
        return c.negate();
    }
    if is(&a, "false") {
        return Expr::infix(Infix::And, c.negate(), b);
    }
    if is(&b, "true") {
        return Expr::infix(Infix::Or, c.negate(), a);
    }
    Expr::Conditional(Box::new(c), Box::new(a), Box::new(b))
}
