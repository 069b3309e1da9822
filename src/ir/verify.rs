//! Does a module keep the rules of [`super`]? Structure first (ids, single definition, scopes, terminators), then the
//! type rule of every operation.

use std::collections::HashSet;

use super::print::print_inst;
use super::*;
use crate::types::{ArrayType, BOOL, Element, I32, MAX_DIMS, U64};

/// Checks every rule; the error is one message per violation, with the function and the instruction.
pub fn verify(module: &Module) -> Result<(), Vec<String>> {
    let mut errors = Vec::new();
    structs(module, &mut errors);
    // Everything after this looks types up.
    if errors.is_empty() {
        signatures(module, &mut errors);
    }
    if errors.is_empty() {
        for function in module.functions.values() {
            let mut verifier = Verifier::new(module, function);
            verifier.function();
            errors.append(&mut verifier.errors);
        }
        recursion(module, &mut errors);
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

fn is_c_identifier(name: &str) -> bool {
    !name.starts_with(|c: char| c.is_ascii_digit())
        && !name.is_empty()
        && name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric())
}

/// Whether a type can be looked up; struct ids must be below `limit`.
fn type_is_valid(ty: Type, limit: usize) -> bool {
    let rank = |ndim: u8| (1..=MAX_DIMS).contains(&usize::from(ndim));
    match ty {
        Type::Scalar(_) | Type::Quat(_) | Type::Transform(_) => true,
        Type::Vec(n, _) => n > 0,
        Type::Mat(r, c, _) => r > 0 && c > 0,
        Type::Struct(id) => (id.0 as usize) < limit,
        Type::Array(a) => rank(a.ndim) && type_is_valid(a.element.into(), limit),
        Type::Local(a) => {
            let beyond = a.shape.iter().skip(usize::from(a.ndim));
            rank(a.ndim) && beyond.clone().all(|&n| n == 1) && type_is_valid(a.element.into(), limit)
        }
    }
}

fn structs(module: &Module, errors: &mut Vec<String>) {
    let mut names = HashSet::new();
    for (n, def) in module.structs.values().enumerate() {
        if !text::is_identifier(&def.name) || !names.insert(&def.name) {
            errors.push(format!("struct `{}`: the name is not unique or no identifier", def.name));
        }
        let mut fields = HashSet::new();
        for field in &def.fields {
            if !text::is_identifier(&field.name) || !fields.insert(&field.name) {
                errors.push(format!("struct `{}`: field name `{}` twice or no identifier", def.name, field.name));
            }
            if !type_is_valid(field.ty, n) || matches!(field.ty, Type::Local(_)) {
                errors.push(format!("struct `{}`: field `{}` cannot have its type", def.name, field.name));
            }
        }
    }
}

fn signatures(module: &Module, errors: &mut Vec<String>) {
    let mut names = HashSet::new();
    for function in module.functions.values() {
        let name = &function.name;
        let mut error = |message: &str| errors.push(format!("@{name}: {message}"));
        if !is_c_identifier(name) || !names.insert(name) {
            error("the name is not unique or not a C identifier");
        }
        let all_types = function.values.values().map(|v| v.ty).chain(function.results.iter().map(|r| r.ty));
        if !all_types.into_iter().all(|ty| type_is_valid(ty, module.structs.len())) {
            error("a type names a struct that is not there, or has a wrong number of dimensions");
        }
        if function.results.iter().any(|r| r.role == ResultRole::Return && matches!(r.ty, Type::Local(_))) {
            error("a local array is not returned");
        }
        let Some(entry) = function.blocks.get(function.entry) else {
            error("there is no entry block");
            continue;
        };
        let params: Vec<Option<Type>> = entry.params.iter().map(|&p| function.values.get(p).map(|v| v.ty)).collect();
        if let FunctionKind::Kernel { rank } = function.kind {
            if !(1..=MAX_DIMS as u8).contains(&rank) {
                error("a kernel's rank is 1 to 4");
            }
            if !function.results.is_empty() {
                error("a kernel has no results");
            }
            if params.iter().any(|ty| matches!(ty, Some(Type::Local(_)))) {
                error("a kernel's parameter cannot be a local array");
            }
        }
        let mut by_ref = HashSet::new();
        for result in &function.results {
            match result.role {
                ResultRole::Return if !by_ref.is_empty() => error("a returned value stands after a by-reference one"),
                ResultRole::Return => {}
                ResultRole::ByRef(n) => {
                    if !by_ref.insert(n) {
                        error("a parameter goes back by reference twice");
                    }
                    if params.get(n as usize) != Some(&Some(result.ty)) {
                        error("a by-reference result needs a parameter of its type");
                    }
                }
            }
        }
    }
}

/// Reports a function that reaches itself through calls.
fn recursion(module: &Module, errors: &mut Vec<String>) {
    let callees: Vec<Vec<FuncId>> = module
        .functions
        .values()
        .map(|function| {
            let mut list = Vec::new();
            function.walk(function.entry, &mut |_, inst| {
                if let Op::Call(callee, _) = inst.op {
                    list.push(callee);
                }
            });
            list
        })
        .collect();
    // Removing functions whose callees are all gone leaves those on cycles and their callers.
    let mut left: Vec<FuncId> = module.functions.ids().collect();
    loop {
        let before = left.len();
        let still: HashSet<FuncId> = left.iter().copied().collect();
        left.retain(|f| callees.get(f.0 as usize).is_some_and(|list| list.iter().any(|c| still.contains(c))));
        if left.len() == before {
            break;
        }
    }
    for id in left {
        errors.push(format!("@{}: calls itself, or a function that does", module.functions[id].name));
    }
}

/// What stands around a block.
#[derive(Clone, Copy)]
struct Context<'a> {
    /// The types that `yield` gives; None where it may not stand.
    yields: Option<&'a [Type]>,
    /// What `break` and `continue` carry; None outside of loops and in condition blocks.
    carried: Option<&'a [Type]>,
    /// `return` is allowed.
    returns: bool,
}

struct Verifier<'a> {
    module: &'a Module,
    function: &'a Function,
    errors: Vec<String>,
    visible: Vec<bool>,
    defined: Vec<bool>,
    seen_blocks: Vec<bool>,
    seen_insts: Vec<bool>,
}

impl<'a> Verifier<'a> {
    fn new(module: &'a Module, function: &'a Function) -> Self {
        let values = function.values.len();
        Verifier {
            module,
            function,
            errors: Vec::new(),
            visible: vec![false; values],
            defined: vec![false; values],
            seen_blocks: vec![false; function.blocks.len()],
            seen_insts: vec![false; function.insts.len()],
        }
    }

    fn function(&mut self) {
        let entry = self.function.entry;
        self.block(entry, Context { yields: None, carried: None, returns: true });
    }

    fn error(&mut self, message: String) {
        self.errors.push(format!("@{}: {message}", self.function.name));
    }

    fn inst_error(&mut self, inst: InstId, message: &str) {
        let line = print_inst(self.module, self.function, inst);
        self.error(format!("`{line}`: {message}"));
    }

    fn define(&mut self, value: ValueId, def: ValueDef, scope: &mut Vec<ValueId>) {
        let n = value.0 as usize;
        match self.function.values.get(value) {
            None => return self.error(format!("{value} is not in the list of values")),
            Some(info) if info.def != def => self.error(format!("{value} records another definition than it has")),
            Some(_) => {}
        }
        if std::mem::replace(&mut self.defined[n], true) {
            self.error(format!("{value} is defined twice"));
        }
        self.visible[n] = true;
        scope.push(value);
    }

    fn block(&mut self, id: BlockId, context: Context<'_>) {
        let function = self.function;
        let Some(block) = function.blocks.get(id) else {
            return self.error(format!("{id} is not in the list of blocks"));
        };
        if std::mem::replace(&mut self.seen_blocks[id.0 as usize], true) {
            return self.error(format!("{id} stands in two places"));
        }
        let mut scope = Vec::new();
        for (n, &param) in block.params.iter().enumerate() {
            self.define(param, ValueDef::Param(id, n as u32), &mut scope);
        }
        for (n, &inst) in block.insts.iter().enumerate() {
            let Some(data) = function.insts.get(inst) else {
                self.error(format!("{inst} is not in the list of instructions"));
                continue;
            };
            if std::mem::replace(&mut self.seen_insts[inst.0 as usize], true) {
                self.error(format!("{inst} stands in two places"));
                continue;
            }
            let last = n + 1 == block.insts.len();
            if data.op.is_terminator() != last {
                self.inst_error(inst, if last { "a block must end in a terminator" } else { "stands amid a block" });
            }
            self.inst(inst, data, context);
            for (n, &result) in data.results.iter().enumerate() {
                self.define(result, ValueDef::Result(inst, n as u32), &mut scope);
            }
        }
        if block.insts.is_empty() {
            self.error(format!("{id} has no terminator"));
        }
        for value in scope {
            self.visible[value.0 as usize] = false;
        }
    }

    fn inst(&mut self, id: InstId, inst: &Inst, context: Context<'_>) {
        let mut usable = true;
        inst.op.for_each_operand(|v| usable &= self.visible.get(v.0 as usize) == Some(&true));
        let known = inst.results.iter().all(|&r| self.function.values.get(r).is_some());
        let nested = inst.op.blocks();
        if !usable || !known || nested.iter().any(|&b| self.function.blocks.get(b).is_none()) {
            return self.inst_error(id, "an operand is not visible here, or an id is not in its list");
        }
        let results: Vec<Type> = inst.results.iter().map(|&r| self.function.ty(r)).collect();
        let rule = if nested.is_empty() && !inst.op.is_terminator() {
            let typing = Typing { module: self.module, function: self.function, result: results.first().copied() };
            typing.results(&inst.op).and_then(|expected| {
                if expected == results { Ok(()) } else { Err("the results have other types".to_string()) }
            })
        } else {
            self.control(&inst.op, &results, context)
        };
        if let Err(message) = rule {
            self.inst_error(id, &message);
        }
    }

    fn types(&self, values: &[ValueId]) -> Vec<Type> {
        values.iter().filter_map(|&v| self.function.values.get(v)).map(|v| v.ty).collect()
    }

    /// Terminators and the instructions with blocks.
    fn control(&mut self, op: &Op, results: &[Type], context: Context<'_>) -> Result<(), String> {
        let function = self.function;
        match op {
            Op::Yield(values) => match context.yields {
                Some(types) => same(&self.types(values), types, "what the block gives"),
                None => Err("`yield` does not stand in a function's outermost block".into()),
            },
            Op::Break(values) | Op::Continue(values) => match context.carried {
                Some(types) => same(&self.types(values), types, "what the loop carries"),
                None => Err("there is no loop to leave or restart here".into()),
            },
            Op::Return(values) => {
                let types: Vec<Type> = function.results.iter().map(|r| r.ty).collect();
                same(&self.types(values), &types, "the function's results")?;
                if context.returns { Ok(()) } else { Err("`return` does not stand in a condition block".into()) }
            }
            Op::If { condition, then, otherwise } => {
                check(function.ty(*condition) == BOOL, "the condition is not bool")?;
                for block in [*then, *otherwise] {
                    check(function.blocks[block].params.is_empty(), "a block of `if` takes no parameters")?;
                    self.block(block, Context { yields: Some(results), ..context });
                }
                Ok(())
            }
            Op::For { start, end, step, init, body } => {
                let counter = function.ty(*start);
                check(counter.is_int(), "the bounds are not integers")?;
                check(function.ty(*end) == counter && function.ty(*step) == counter, "the bounds differ in type")?;
                let carried = self.types(init);
                same(&carried, results, "the results")?;
                let params = self.types(&function.blocks[*body].params);
                check(params.first() == Some(&counter), "the body's first parameter is not the counter")?;
                same(&params[1..], results, "the body's parameters")?;
                self.block(*body, Context { yields: Some(results), carried: Some(results), ..context });
                Ok(())
            }
            Op::While { init, condition, body } => {
                same(&self.types(init), results, "the results")?;
                for block in [*condition, *body] {
                    same(&self.types(&function.blocks[block].params), results, "the parameters of its blocks")?;
                }
                self.block(*condition, Context { yields: Some(&[BOOL]), carried: None, returns: false });
                self.block(*body, Context { yields: Some(results), carried: Some(results), ..context });
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

fn check(condition: bool, message: &str) -> Result<(), String> {
    if condition { Ok(()) } else { Err(message.to_string()) }
}

fn same(given: &[Type], expected: &[Type], what: &str) -> Result<(), String> {
    check(given == expected, &format!("the values differ in number or type from {what}"))
}

/// Whether two types are of one form, apart from the scalar in them.
fn same_form(a: Type, b: Type) -> bool {
    match (a, b) {
        (Type::Scalar(_), Type::Scalar(_)) | (Type::Quat(_), Type::Quat(_)) => true,
        (Type::Transform(_), Type::Transform(_)) => true,
        (Type::Vec(n, _), Type::Vec(m, _)) => n == m,
        (Type::Mat(r, c, _), Type::Mat(s, d, _)) => (r, c) == (s, d),
        _ => false,
    }
}

/// Whether the operation exists on a scalar type.
fn unary_has(op: UnaryOp, s: Scalar) -> bool {
    match op {
        UnaryOp::Not => s == Scalar::Bool,
        UnaryOp::Neg | UnaryOp::Abs => s != Scalar::Bool,
        UnaryOp::BitNot | UnaryOp::PopCount | UnaryOp::LeadingZeros => s.is_int(),
        UnaryOp::Sqrt | UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::Trunc | UnaryOp::RoundEven | UnaryOp::Round => {
            s.is_float()
        }
    }
}

fn binary_has(op: BinaryOp, s: Scalar) -> bool {
    match op {
        BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div | BinaryOp::Min | BinaryOp::Max => {
            s != Scalar::Bool
        }
        BinaryOp::FloorDiv | BinaryOp::Rem | BinaryOp::Shl | BinaryOp::Shr => s.is_int(),
        BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => !s.is_float(),
        BinaryOp::CopySign => s.is_float(),
        BinaryOp::MulHigh => matches!(s, Scalar::U32 | Scalar::U64),
    }
}

fn atomic_has(op: AtomicOp, s: Scalar) -> bool {
    match op {
        AtomicOp::Add | AtomicOp::Sub | AtomicOp::Min | AtomicOp::Max => s != Scalar::Bool,
        AtomicOp::And | AtomicOp::Or | AtomicOp::Xor => s.is_int(),
        AtomicOp::Exchange => true,
    }
}

/// The type rules of the operations without blocks.
struct Typing<'a> {
    module: &'a Module,
    function: &'a Function,
    /// Where the operands do not fix the result's type, it is checked against them.
    result: Option<Type>,
}

impl Typing<'_> {
    fn ty(&self, value: ValueId) -> Type {
        self.function.ty(value)
    }

    /// The types that the results must have. One arm per operation.
    fn results(&self, op: &Op) -> Result<Vec<Type>, String> {
        let given = || self.result.ok_or_else(|| "there is no result".to_string());
        let one = |ty: Type| Ok(vec![ty]);
        match op {
            Op::Const(c) => one(Type::Scalar(c.scalar)),
            Op::Zero => one(given()?),
            Op::Unary(op, a) => {
                let ty = self.ty(*a);
                check(ty.scalar_part().is_some_and(|s| unary_has(*op, s)), "the operand's type does not have it")?;
                one(ty)
            }
            Op::Binary(op, a, b) => {
                let (a, b) = (self.ty(*a), self.ty(*b));
                check(a.scalar_part().is_some_and(|s| binary_has(*op, s)), "the operands' type does not have it")?;
                check(a.scalar_part() == b.scalar_part(), "the operands differ in scalar type")?;
                match (op, a.is_composite(), b.is_composite()) {
                    (BinaryOp::Mul, false, true) => one(b),
                    (BinaryOp::Mul | BinaryOp::Div, true, false) => one(a),
                    _ if a == b => one(a),
                    _ => Err("the operands differ in type".into()),
                }
            }
            Op::Compare(op, a, b) => {
                let (a, b) = (self.ty(*a), self.ty(*b));
                check(a == b && a.scalar_part().is_some(), "the operands cannot be compared")?;
                let orders = !matches!(op, CompareOp::Eq | CompareOp::Ne);
                check(!orders || a.is_int() || a.is_float(), "only numbers have an order")?;
                one(BOOL)
            }
            Op::Fma(a, b, c) => {
                let ty = self.ty(*a);
                check(ty.scalar_part().is_some_and(Scalar::is_float), "the operands are not floats")?;
                check(self.ty(*b) == ty && self.ty(*c) == ty, "the operands differ in type")?;
                one(ty)
            }
            Op::Cast(a) => {
                check(same_form(self.ty(*a), given()?), "a cast changes only the scalar type")?;
                one(given()?)
            }
            Op::Bitcast(a) => {
                let pair = self.ty(*a).as_scalar().zip(given()?.as_scalar());
                let fits = pair.is_some_and(|(a, b)| a.size() == b.size() && a != Scalar::Bool && b != Scalar::Bool);
                check(fits, "a bitcast is between number types of one size")?;
                one(given()?)
            }
            Op::Select { condition, then, otherwise } => {
                check(self.ty(*condition) == BOOL, "the condition is not bool")?;
                check(self.ty(*then) == self.ty(*otherwise), "the two values differ in type")?;
                one(self.ty(*then))
            }
            Op::Construct(args) => {
                let ty = given()?;
                let parts: Vec<Type> = match (ty, ty.scalar_part(), ty.scalar_count()) {
                    (Type::Struct(id), ..) => self.module.structs[id].fields.iter().map(|f| f.ty).collect(),
                    (_, Some(s), Some(count)) if ty.is_composite() => vec![Type::Scalar(s); count as usize],
                    _ => return Err("only composites and structs are constructed".into()),
                };
                let args: Vec<Type> = args.iter().map(|&a| self.ty(a)).collect();
                same(&args, &parts, "the parts of the type")?;
                one(ty)
            }
            Op::Extract(a, path) => {
                check(!path.is_empty(), "the path is empty")?;
                one(self.part(self.ty(*a), path)?)
            }
            Op::Insert(a, path, b) => {
                check(!path.is_empty(), "the path is empty")?;
                check(self.part(self.ty(*a), path)? == self.ty(*b), "the new part has another type")?;
                one(self.ty(*a))
            }
            Op::Call(callee, args) => {
                let callee = self.module.functions.get(*callee).ok_or("the function is not in the module")?;
                check(callee.kind == FunctionKind::Device, "a kernel cannot be called")?;
                let params: Vec<Type> =
                    callee.params().iter().filter_map(|&p| callee.values.get(p)).map(|v| v.ty).collect();
                let args: Vec<Type> = args.iter().map(|&a| self.ty(a)).collect();
                same(&args, &params, "the function's parameters")?;
                Ok(callee.results.iter().map(|r| r.ty).collect())
            }
            Op::ThreadIndex(n) => {
                let rank = match self.function.kind {
                    FunctionKind::Kernel { rank } => rank,
                    FunctionKind::Device => MAX_DIMS as u8,
                };
                check(*n < rank, "the thread has fewer coordinates")?;
                one(I32)
            }
            Op::BlockDim => one(I32),
            Op::Extent(a, dim) => {
                let (_, ndim) = self.array(*a)?;
                check(*dim < ndim, "the array has fewer dimensions")?;
                one(I32)
            }
            Op::IsSet(a) | Op::Address(a) => {
                check(matches!(self.ty(*a), Type::Array(_)), "the operand is not an array")?;
                one(if matches!(op, Op::IsSet(_)) { BOOL } else { U64 })
            }
            Op::View(a, dims) => self.view(*a, dims),
            Op::LocalArray => {
                check(matches!(given()?, Type::Local(_)), "the result is not a local array")?;
                one(given()?)
            }
            Op::Load { array, index, path } => one(self.place(*array, index, path)?),
            Op::Store { array, index, path, value } => {
                check(self.place(*array, index, path)? == self.ty(*value), "the value has another type")?;
                Ok(Vec::new())
            }
            Op::Atomic { op, array, index, path, value } => {
                let ty = self.place(*array, index, path)?;
                check(ty.scalar_part().is_some_and(|s| atomic_has(*op, s)), "the type does not have it")?;
                check(ty == self.ty(*value), "the value has another type")?;
                one(ty)
            }
            Op::AtomicCas { array, index, path, expected, new } => {
                let ty = self.place(*array, index, path)?;
                check(ty.scalar_part().is_some(), "the type does not have it")?;
                check(ty == self.ty(*expected) && ty == self.ty(*new), "a value has another type")?;
                one(ty)
            }
            Op::Print { args, .. } => {
                check(args.iter().all(|&a| self.ty(a).as_scalar().is_some()), "only scalars are printed")?;
                Ok(Vec::new())
            }
            Op::Assert { condition, .. } => {
                check(self.ty(*condition) == BOOL, "the condition is not bool")?;
                Ok(Vec::new())
            }
            // Checked by `Verifier::control`.
            Op::If { .. } | Op::For { .. } | Op::While { .. } => Ok(Vec::new()),
            Op::Yield(_) | Op::Break(_) | Op::Continue(_) | Op::Return(_) => Ok(Vec::new()),
        }
    }

    /// Element and number of dimensions of an array or local array.
    fn array(&self, array: ValueId) -> Result<(Element, u8), String> {
        match self.ty(array) {
            Type::Array(a) => Ok((a.element, a.ndim)),
            Type::Local(a) => Ok((a.element, a.ndim)),
            _ => Err("the operand is not an array".into()),
        }
    }

    /// The type of the element part that a load, store or atomic names.
    fn place(&self, array: ValueId, index: &[ValueId], path: &Path) -> Result<Type, String> {
        let (element, ndim) = self.array(array)?;
        check(index.len() == usize::from(ndim), "one index per dimension is needed")?;
        check(index.iter().all(|&i| self.ty(i).is_int()), "an index is not an integer")?;
        self.part(element.into(), path)
    }

    fn part(&self, mut ty: Type, path: &Path) -> Result<Type, String> {
        for step in path {
            let index = match step {
                Step::At(n) => Some(*n),
                Step::Dynamic(v) => {
                    check(self.ty(*v).is_int(), "a step is not an integer")?;
                    None
                }
            };
            ty = ty.step(index, &self.module.structs).ok_or("the path leads to no part")?;
        }
        Ok(ty)
    }

    fn view(&self, array: ValueId, dims: &[ViewIndex]) -> Result<Vec<Type>, String> {
        let Type::Array(ArrayType { element, ndim }) = self.ty(array) else {
            return Err("the operand is not an array".into());
        };
        check(dims.len() <= usize::from(ndim), "the array has fewer dimensions")?;
        let mut kept = ndim;
        for dim in dims {
            let ints = match dim {
                ViewIndex::At(v) => {
                    kept = kept.saturating_sub(1);
                    [v, v, v]
                }
                ViewIndex::Range { start, stop, step } => [start, stop, step],
            };
            check(ints.iter().all(|&&v| self.ty(v) == I32), "an index of a view is not int32")?;
        }
        check(kept > 0, "a view keeps at least one dimension")?;
        Ok(vec![Type::Array(ArrayType { element, ndim: kept })])
    }
}

#[cfg(test)]
#[path = "verify_tests.rs"]
mod tests;
