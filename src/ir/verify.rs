//! Does a module keep the rules of [`super`]? Structure first (ids, single definition, scopes,
//! terminators), then the type rule of every operation.

mod form;
mod types;

use std::collections::HashSet;

pub use self::form::Form;
use self::types::{Types, Typing, check, same};
use super::print::print_inst;
use super::*;
use crate::ids::IdSet;
use crate::types::{BOOL, Element, MAX_DIMS, Scalar};

/// Checks every rule; the error is one message per violation, with the function and the
/// instruction.
pub fn verify(module: &Module) -> Result<(), Vec<String>> {
    verify_but(module, |_| false)
}

/// The same, without what functions have to keep by themselves that are known to.
pub fn verify_but(module: &Module, known: impl Fn(FuncId) -> bool) -> Result<(), Vec<String>> {
    let mut errors = Vec::new();
    structs(module, &mut errors);
    // Everything after this looks types up.
    if errors.is_empty() {
        signatures(module, &known, &mut errors);
    }
    if errors.is_empty() {
        for (id, _) in module.functions.iter().filter(|(id, _)| !known(*id)) {
            errors.extend(verify_function(module, id).err().unwrap_or_default());
        }
        recursion(module, &mut errors);
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// Checks one function of a module whose structs and signatures are right: for passes, which change
/// only bodies.
pub fn verify_function(module: &Module, id: FuncId) -> Result<(), Vec<String>> {
    verify_body(Within::Module(module), &module.functions[id], Form::Any)
}

/// Checks one function in a form, wherever it is.
pub fn verify_body(within: Within, function: &Function, form: Form) -> Result<(), Vec<String>> {
    let mut verifier = Verifier::new(within, function);
    verifier.function();
    // A walk needs the structure.
    if verifier.errors.is_empty() {
        form.check(within, function, &mut verifier.errors);
    }
    if verifier.errors.is_empty() { Ok(()) } else { Err(verifier.errors) }
}

/// Where a function is.
#[derive(Clone, Copy)]
pub enum Within<'a> {
    Module(&'a Module),
    /// Taken out of its module: what it calls is not known, and calls are not checked.
    Structs(&'a StructTable),
}

impl<'a> Within<'a> {
    fn structs(self) -> &'a StructTable {
        match self {
            Within::Module(module) => &module.structs,
            Within::Structs(structs) => structs,
        }
    }

    fn function(self, id: FuncId) -> Option<&'a Function> {
        match self {
            Within::Module(module) => module.functions.get(id),
            Within::Structs(_) => None,
        }
    }

    /// Whether the results of a call can be checked.
    fn knows_callee(self, op: &Op) -> bool {
        matches!(self, Within::Module(_)) || !matches!(op, Op::Call(..))
    }

    fn print(self, function: &Function, id: InstId) -> String {
        match self {
            Within::Module(module) => print_inst(module, function, id),
            Within::Structs(_) => format!("{:?}", function.insts[id].op),
        }
    }
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

fn signatures(module: &Module, known: impl Fn(FuncId) -> bool, errors: &mut Vec<String>) {
    let mut names = IdSet::default();
    names.reserve(module.functions.len());
    for (id, function) in module.functions.iter() {
        let name = &function.name;
        let mut error = |message: &str| errors.push(format!("@{name}: {message}"));
        if !names.insert(name) || !is_c_identifier(name) {
            error("the name is not unique or not a C identifier");
        }
        if function.derivative.functions().any(|id| module.functions.get(id).is_none()) {
            error("its derivative names a function that is not there");
        }
        if known(id) {
            continue;
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
        if function.native.is_some() && function.is_kernel() {
            error("a kernel's body is no CUDA text");
        }
        if function.phase != Phase::Forward && !function.is_kernel() {
            error("only kernels have entries other than `forward`");
        }
        for buffer in &function.tape {
            let ty = params.get(buffer.param as usize).copied().flatten();
            let fits = match ty {
                Some(Type::Array(array)) if buffer.role == TapeRole::Needed => {
                    array.ndim == 1 && array.element == Element::Scalar(Scalar::I64)
                }
                Some(Type::Array(array)) if buffer.role == TapeRole::Parameters => {
                    array.ndim == 1
                        && array.element == Element::Scalar(Scalar::F64)
                        && function.phase == Phase::Backward
                }
                Some(Type::Array(array)) => array.ndim == 2 && matches!(array.element, Element::Scalar(_)),
                _ => false,
            };
            if !fits || function.phase == Phase::Forward {
                error(
                    "a tape buffer is a matrix of scalars, one int64 for `needed`, or float64 for `parameters`, of an augmented or backward entry",
                );
            }
        }
        let mut by_ref = IdSet::default();
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
    let callees: IdVec<FuncId, Vec<FuncId>> = module.functions.values().map(Function::callees).collect();
    // Removing functions whose callees are all gone leaves those on cycles and their callers.
    let mut left: Vec<FuncId> = module.functions.ids().collect();
    let mut still: IdVec<FuncId, bool> = left.iter().map(|_| true).collect();
    loop {
        let before = left.len();
        left.retain(|&f| {
            still[f] = callees[f].iter().any(|&callee| still.get(callee) == Some(&true));
            still[f]
        });
        if left.len() == before {
            break;
        }
    }
    for id in left {
        errors.push(format!("@{}: calls itself, or a function that does", module.functions[id].name));
    }
}

/// What is around a block.
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
    within: Within<'a>,
    function: &'a Function,
    errors: Vec<String>,
    visible: Vec<bool>,
    /// What the block at hand and those around it have defined so far, in order.
    scope: Vec<ValueId>,
    defined: Vec<bool>,
    seen_blocks: Vec<bool>,
    seen_insts: Vec<bool>,
}

impl<'a> Verifier<'a> {
    fn new(within: Within<'a>, function: &'a Function) -> Self {
        let values = function.values.len();
        Verifier {
            within,
            function,
            errors: Vec::new(),
            visible: vec![false; values],
            scope: Vec::with_capacity(values),
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
        let line = self.within.print(self.function, inst);
        self.error(format!("`{line}`: {message}"));
    }

    fn define(&mut self, value: ValueId, def: ValueDef) {
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
        self.scope.push(value);
    }

    fn block(&mut self, id: BlockId, context: Context<'_>) {
        let function = self.function;
        let Some(block) = function.blocks.get(id) else {
            return self.error(format!("{id} is not in the list of blocks"));
        };
        if std::mem::replace(&mut self.seen_blocks[id.0 as usize], true) {
            return self.error(format!("{id} stands in two places"));
        }
        let outside = self.scope.len();
        for (n, &param) in block.params.iter().enumerate() {
            self.define(param, ValueDef::Param(id, n as u32));
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
                self.define(result, ValueDef::Result(inst, n as u32));
            }
        }
        if block.insts.is_empty() {
            self.error(format!("{id} has no terminator"));
        }
        for value in self.scope.drain(outside..) {
            self.visible[value.0 as usize] = false;
        }
    }

    fn inst(&mut self, id: InstId, inst: &'a Inst, context: Context<'_>) {
        let mut usable = true;
        inst.op.for_each_operand(|v| usable &= self.visible.get(v.0 as usize) == Some(&true));
        let known = inst.results.iter().all(|&r| self.function.values.get(r).is_some());
        let nested = inst.op.blocks();
        if !usable || !known || nested.iter().any(|&b| self.function.blocks.get(b).is_none()) {
            return self.inst_error(id, "an operand is not visible here, or an id is not in its list");
        }
        let mut types = inst.results.iter().map(|&r| self.function.ty(r));
        let rule = if !self.within.knows_callee(&inst.op) {
            Ok(())
        } else if nested.is_empty() && !inst.op.is_terminator() {
            let typing = Typing { within: self.within, function: self.function, result: types.clone().next() };
            typing.results(&inst.op).and_then(|expected| {
                let fits = expected.len() == types.len() && expected.iter().all(|&ty| types.next() == Some(ty));
                if fits { Ok(()) } else { Err("the results have other types".to_string()) }
            })
        } else {
            let results: Types = types.collect();
            self.control(&inst.op, &results, context)
        };
        if let Err(message) = rule {
            self.inst_error(id, &message);
        }
    }

    fn types(&self, values: &'a [ValueId]) -> impl Iterator<Item = Type> + use<'a> {
        let function = self.function;
        values.iter().filter_map(|&v| function.values.get(v)).map(|v| v.ty)
    }

    /// Terminators and the instructions with blocks.
    fn control(&mut self, op: &'a Op, results: &[Type], context: Context<'_>) -> Result<(), String> {
        let function = self.function;
        match op {
            Op::Yield(values) => match context.yields {
                Some(types) => same(self.types(values), types.iter().copied(), "what the block gives"),
                None => Err("`yield` does not stand in a function's outermost block".into()),
            },
            Op::Break(values) | Op::Continue(values) => match context.carried {
                Some(types) => same(self.types(values), types.iter().copied(), "what the loop carries"),
                None => Err("there is no loop to leave or restart here".into()),
            },
            Op::Return(values) => {
                same(self.types(values), function.results.iter().map(|r| r.ty), "the function's results")?;
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
                let carried = || results.iter().copied();
                same(self.types(init), carried(), "the results")?;
                let mut params = self.types(&function.blocks[*body].params);
                check(params.next() == Some(counter), "the body's first parameter is not the counter")?;
                same(params, carried(), "the body's parameters")?;
                self.block(*body, Context { yields: Some(results), carried: Some(results), ..context });
                Ok(())
            }
            Op::While { init, condition, body } => {
                same(self.types(init), results.iter().copied(), "the results")?;
                for block in [*condition, *body] {
                    let params = self.types(&function.blocks[block].params);
                    same(params, results.iter().copied(), "the parameters of its blocks")?;
                }
                self.block(*condition, Context { yields: Some(&[BOOL]), carried: None, returns: false });
                self.block(*body, Context { yields: Some(results), carried: Some(results), ..context });
                Ok(())
            }
            straight!() => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
