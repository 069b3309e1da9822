//! IR functions to their compact form.

use std::collections::HashMap;

use super::code::*;
use super::multiply::{Multiply, Tile};
use super::ops;
use crate::abi::argument_layout;
use crate::ir::{
    Access, Ask, AtomicOp, BlockId, Check, CompareOp, Const, FuncId, Function, Inst, Module, Op, Path, Step, ValueId,
    ViewIndex,
};
use crate::types::{Layout, MAX_DIMS, Scalar, StructTable, Type};

impl Program {
    /// Prepares a kernel of a verified module.
    pub fn new(module: &Module, kernel: FuncId) -> Program {
        let mut order = vec![kernel];
        let mut numbers = HashMap::from([(kernel, 0)]);
        let mut leaves = LeafTable { structs: &module.structs, known: HashMap::new() };
        let mut functions = Vec::new();
        let mut params = Vec::new();
        let mut calls = Vec::new();
        while let Some(&id) = order.get(functions.len()) {
            let function = &module.functions[id];
            let mut number = |callee: FuncId| {
                *numbers.entry(callee).or_insert_with(|| {
                    order.push(callee);
                    order.len() - 1
                })
            };
            let mut compiler = Compiler::new(module, function, &mut leaves);
            compiler.callees = vec![];
            let body = compiler.function(&mut number);
            if functions.is_empty() {
                let types: Vec<Type> = function.params().iter().map(|&p| function.ty(p)).collect();
                let (offsets, _) = argument_layout(&types, &module.structs);
                params = function
                    .params()
                    .iter()
                    .zip(offsets)
                    .map(|(&p, offset)| Parameter {
                        offset,
                        slot: compiler.slot(p),
                        leaves: compiler.leaves.of(function.ty(p)),
                    })
                    .collect();
            }
            calls.push(std::mem::take(&mut compiler.callees));
            functions.push(FunctionCode {
                slots: compiler.next as usize,
                local_bytes: compiler.local_bytes.next_multiple_of(8),
                constants_at: compiler.constants_at as usize,
                constants: std::mem::take(&mut compiler.constants).into(),
                body,
            });
        }
        let mut depths = vec![None; functions.len()];
        let (stack_slots, local_bytes) = depth(0, &functions, &calls, &mut depths);
        let waits = module.grid_sync_below(kernel).is_some();
        let Function { source_name, span, .. } = &module.functions[kernel];
        let name = source_name.as_str().into();
        Program { functions, stack_slots, local_bytes, params, span: *span, waits, name }
    }
}

/// Slots and local bytes of a function and the deepest chain of calls below it. A verified module
/// has no recursion.
fn depth(
    at: usize,
    functions: &[FunctionCode],
    calls: &[Vec<usize>],
    known: &mut [Option<(usize, usize)>],
) -> (usize, usize) {
    if let Some(depth) = known[at] {
        return depth;
    }
    let below = calls[at].iter().fold((0, 0), |(slots, bytes), &callee| {
        let (s, b) = depth(callee, functions, calls, known);
        (slots.max(s), bytes.max(b))
    });
    let total = (functions[at].slots + below.0, functions[at].local_bytes + below.1);
    known[at] = Some(total);
    total
}

fn is_used(function: &Function, value: ValueId) -> bool {
    function.has(|inst| {
        let mut used = false;
        inst.op.for_each_operand(|v| used |= v == value);
        used
    })
}

/// The leaves of each type, made once.
struct LeafTable<'m> {
    structs: &'m StructTable,
    known: HashMap<Type, Leaves>,
}

impl LeafTable<'_> {
    fn of(&mut self, ty: Type) -> Leaves {
        if let Some(leaves) = self.known.get(&ty) {
            return leaves.clone();
        }
        let mut list = Vec::new();
        match ty {
            Type::Struct(id) => {
                for (n, field) in self.structs[id].fields.iter().enumerate() {
                    let start = Layout::step_offset(ty, n as u32, self.structs);
                    list.extend(self.of(field.ty).iter().map(|leaf| Leaf { offset: start + leaf.offset, ..*leaf }));
                }
            }
            // The descriptor as seven words.
            Type::Array(_) => list.extend((0..7).map(|n| Leaf { offset: 8 * n, scalar: Scalar::U64 })),
            Type::Local(_) => list.push(Leaf { offset: 0, scalar: Scalar::U64 }),
            _ => {
                let (scalar, count) = (ty.scalar_part().unwrap_or(Scalar::I32), ty.scalar_count().unwrap_or(0));
                list.extend((0..count).map(|n| Leaf { offset: n * scalar.size(), scalar }));
            }
        }
        let leaves: Leaves = list.into();
        self.known.insert(ty, leaves.clone());
        leaves
    }

    fn count(&mut self, ty: Type) -> u32 {
        self.of(ty).len() as u32
    }
}

/// Where the terminators of a block put their values.
#[derive(Clone, Copy)]
struct Targets<'a> {
    /// `yield`
    next: &'a [ValueId],
    /// `continue`: the loop's parameters.
    again: &'a [ValueId],
    /// `break`: the loop's results.
    out: &'a [ValueId],
}

struct Compiler<'m, 't> {
    module: &'m Module,
    function: &'m Function,
    leaves: &'t mut LeafTable<'m>,
    /// First slot of each value that has been met.
    slots: Vec<Option<u32>>,
    /// First slot of each result.
    results: Vec<u32>,
    next: u32,
    /// First slot of the constants, and what they are.
    constants_at: u32,
    constants: Vec<u64>,
    local_bytes: usize,
    callees: Vec<usize>,
}

/// The slots in which a function takes parameters and leaves results: those of its frame, in order.
fn signature_slots(function: &Function, leaves: &mut LeafTable<'_>) -> (Vec<u32>, Vec<u32>, u32) {
    let mut next = 0;
    let mut take = |ty: Type| {
        let at = next;
        next += leaves.count(ty);
        at
    };
    let params = function.params().iter().map(|&p| take(function.ty(p))).collect();
    let results = function.results.iter().map(|r| take(r.ty)).collect();
    (params, results, next)
}

impl<'m, 't> Compiler<'m, 't> {
    fn new(module: &'m Module, function: &'m Function, leaves: &'t mut LeafTable<'m>) -> Self {
        let (params, results, constants_at) = signature_slots(function, leaves);
        let mut slots = vec![None; function.values.len()];
        for (&param, slot) in function.params().iter().zip(params) {
            slots[param.0 as usize] = Some(slot);
        }
        // Constants stand side by side: they are half of what there is to run, and copied at once.
        let mut constants = Vec::new();
        for inst in function.insts.values() {
            if let (Op::Const(c), &[result]) = (&inst.op, &inst.results[..]) {
                slots[result.0 as usize] = Some(constants_at + constants.len() as u32);
                constants.push(c.bits);
            }
        }
        let next = constants_at + constants.len() as u32;
        Compiler {
            module,
            function,
            leaves,
            slots,
            results,
            next,
            constants_at,
            constants,
            local_bytes: 0,
            callees: Vec::new(),
        }
    }

    fn function(&mut self, number: &mut impl FnMut(FuncId) -> usize) -> Box<[Code]> {
        self.block(self.function.entry, Targets { next: &[], again: &[], out: &[] }, number)
    }

    /// The first slot of a value; the first request reserves its range.
    fn slot(&mut self, value: ValueId) -> u32 {
        if let Some(slot) = self.slots[value.0 as usize] {
            return slot;
        }
        let slot = self.next;
        self.next += self.leaves.count(self.function.ty(value));
        self.slots[value.0 as usize] = Some(slot);
        slot
    }

    fn count_of(&mut self, value: ValueId) -> u32 {
        self.leaves.count(self.function.ty(value))
    }

    fn scalar(&self, value: ValueId) -> Scalar {
        self.function.ty(value).scalar_part().unwrap_or(Scalar::I32)
    }

    fn count(&mut self, value: ValueId) -> Count {
        Count { slot: self.slot(value), unsigned: self.scalar(value).is_unsigned_int() }
    }

    fn moves(&mut self, from: &[ValueId], to: &[ValueId]) -> Moves {
        let list: Box<[Move]> = from
            .iter()
            .zip(to)
            .map(|(&f, &t)| Move { from: self.slot(f), to: self.slot(t), count: self.count_of(f) })
            .filter(|m| m.from != m.to)
            .collect();
        let overlap = list.iter().any(|m| list.iter().any(|other| m.to == other.from));
        Moves { list, overlap }
    }

    fn block(&mut self, block: BlockId, targets: Targets<'_>, number: &mut impl FnMut(FuncId) -> usize) -> Box<[Code]> {
        let function = self.function;
        let insts = function.blocks[block].insts.iter().map(|&id| &function.insts[id]);
        let insts = insts.filter(|inst| !matches!(inst.op, Op::Const(_)));
        insts.map(|inst| self.inst(inst, targets, number)).collect()
    }

    fn inst(&mut self, inst: &'m Inst, targets: Targets<'_>, number: &mut impl FnMut(FuncId) -> usize) -> Code {
        let function = self.function;
        let result = inst.results.first().copied();
        let (to, count, scalar) = match result {
            Some(value) => (self.slot(value), self.count_of(value), self.scalar(value)),
            None => (0, 0, Scalar::I32),
        };
        let span = inst.span;
        match &inst.op {
            // Not met: set when the function is entered.
            Op::Const(c) => Code::Set { to, bits: c.bits },
            Op::Zero => Code::Clear { to, count },
            // A block is one thread: nothing to wait for, nothing to clear.
            // The access behind it tells of an index outside.
            Op::GridSync => Code::GridSync(span),
            Op::Barrier | Op::Check(Check::Together { .. } | Check::Element { .. }, _) => Code::Clear { to, count: 0 },
            // It has nothing in registers, either.
            Op::Product(product, args) if product.part.has_factors() => {
                let tiles = [0, 1, 2].map(|n| Tile::new(self.slot(args[n]), function.ty(args[n])));
                let kept = result.and(args.get(3)).map(|&given| [self.slot(given), to, count]);
                Code::Product(Box::new(Multiply::new(*product, tiles, kept)))
            }
            Op::Product(..) => Code::Clear { to, count },
            // A warp is one thread, and what it asks is its own.
            Op::Exchange(exchange, args) => match exchange.ask {
                Ask::Match => Code::Set { to, bits: 1 },
                _ => {
                    let list = Box::new([Move { from: self.slot(args[0]), to, count: self.count_of(args[0]) }]);
                    Code::Move(Moves { list, overlap: false })
                }
            },
            Op::Copy(size, args) => {
                let indices = [0, 1, 2, 3].map(|n| self.next + n);
                self.next += 4;
                let mut place = |array: ValueId, slots: &[u32]| {
                    let place = self.place(&Access::element(array, &args[2..]), inst);
                    let count = |&slot: &u32| Count { slot, unsigned: false };
                    ElementRef { index: slots.iter().map(count).collect(), ..place }
                };
                let (to, from) = (place(args[0], &indices[..2]), place(args[1], &indices[2..]));
                Code::Copy { size: *size, first: [self.slot(args[2]), self.slot(args[3])], indices, to, from }
            }
            Op::Unary(op, a) => Code::Unary { f: ops::unary(*op, scalar), scalar, to, a: self.slot(*a), count },
            Op::Binary(op, a, b) => {
                let stride = |v: ValueId| u32::from(count == 1 || function.ty(v).is_composite());
                let (stride_a, stride_b) = (stride(*a), stride(*b));
                let (a, b) = (self.slot(*a), self.slot(*b));
                Code::Binary { f: ops::binary(*op, scalar), scalar, to, a, b, stride_a, stride_b, count }
            }
            Op::Compare(op, a, b) => Code::Compare {
                f: ops::compare(*op, self.scalar(*a)),
                any: *op == CompareOp::Ne,
                to,
                a: self.slot(*a),
                b: self.slot(*b),
                count: self.count_of(*a),
            },
            Op::Fma(a, b, c) => {
                let (a, b, c) = (self.slot(*a), self.slot(*b), self.slot(*c));
                Code::Fma { f: ops::fma(scalar), scalar, to, a, b, c, count }
            }
            Op::Cast(a) => Code::Cast { f: ops::cast(self.scalar(*a), scalar), to, a: self.slot(*a), count },
            Op::Bitcast(a) => Code::Bitcast { from: self.scalar(*a), scalar, to, a: self.slot(*a) },
            Op::Select { condition, then, otherwise } => Code::Select {
                condition: self.slot(*condition),
                then: self.slot(*then),
                otherwise: self.slot(*otherwise),
                to,
                count,
            },
            Op::Construct(args) => {
                let mut at = to;
                let list = args
                    .iter()
                    .map(|&arg| {
                        let m = Move { from: self.slot(arg), to: at, count: self.count_of(arg) };
                        at += m.count;
                        m
                    })
                    .collect();
                Code::Move(Moves { list, overlap: false })
            }
            Op::Extract(a, path) => {
                let path = self.steps(function.ty(*a), path);
                Code::Extract { to, from: self.slot(*a), count, path }
            }
            Op::Insert(a, path, part) => Code::Insert {
                to,
                whole: self.slot(*a),
                whole_count: count,
                part: self.slot(*part),
                count: self.count_of(*part),
                path: self.steps(function.ty(*a), path),
            },
            Op::Call(callee, args) => {
                let target = &self.module.functions[*callee];
                let (params, results, _) = signature_slots(target, self.leaves);
                let arguments = args
                    .iter()
                    .zip(params)
                    .map(|(&arg, to)| Move { from: self.slot(arg), to, count: self.count_of(arg) })
                    .collect();
                let results = inst
                    .results
                    .iter()
                    .zip(results)
                    .map(|(&value, from)| Move { from, to: self.slot(value), count: self.count_of(value) })
                    .collect();
                let callee = number(*callee);
                self.callees.push(callee);
                Code::Call { callee, arguments, results }
            }
            Op::ThreadIndex(n) => Code::ThreadIndex { to, n: *n },
            Op::ThreadNumber => Code::ThreadNumber { to },
            Op::BlockDim => Code::Set { to, bits: 1 },
            Op::ThreadInBlock => Code::Set { to, bits: 0 },
            Op::Extent(array, dim) => match function.ty(*array) {
                Type::Local(local) => {
                    let extent = i128::from(local.shape[usize::from(*dim).min(MAX_DIMS - 1)]);
                    Code::Set { to, bits: Const::int(Scalar::I32, extent).bits }
                }
                _ => Code::Extent { to, array: self.slot(*array), dim: *dim },
            },
            Op::IsSet(array) => Code::IsSet { to, array: self.slot(*array) },
            Op::Gradient(array) => Code::Gradient { to, array: self.slot(*array) },
            Op::ArrayAt { args, .. } => {
                let size = match result.map(|r| function.ty(r)) {
                    Some(Type::Array(array)) => Layout::of_element(array.element, &self.module.structs).size,
                    _ => 0,
                };
                Code::ArrayAt { to, args: args.iter().map(|&arg| self.slot(arg)).collect(), size }
            }
            // The descriptor's first word is the address.
            Op::Address(array) => {
                let list = Box::new([Move { from: self.slot(*array), to, count: 1 }]);
                Code::Move(Moves { list, overlap: false })
            }
            Op::View(array, dims) => {
                let ndim = match function.ty(*array) {
                    Type::Array(a) => a.ndim,
                    _ => 0,
                };
                let dims = dims
                    .iter()
                    .map(|dim| match *dim {
                        ViewIndex::At(at) => ViewDim::At(self.slot(at)),
                        ViewIndex::Range { start, stop, step } => {
                            ViewDim::Range { start: self.slot(start), stop: self.slot(stop), step: self.slot(step) }
                        }
                    })
                    .collect();
                Code::View { to, array: self.slot(*array), ndim, dims, span }
            }
            Op::LocalArray | Op::SharedArray => {
                let bytes = match result.map(|value| function.ty(value)) {
                    Some(Type::Local(local)) => {
                        u64::from(Layout::of_element(local.element, &self.module.structs).size) * local.len()
                    }
                    _ => 0,
                };
                let offset = self.local_bytes.next_multiple_of(8);
                self.local_bytes = offset + bytes as usize;
                Code::LocalArray { to, offset: offset as u64, bytes }
            }
            Op::Load(access) => Code::Load { to, place: self.place(access, inst) },
            Op::Store { access, value } => Code::Store { from: self.slot(*value), place: self.place(access, inst) },
            Op::Atomic { op, access, value } => {
                let place = self.place(access, inst);
                // Only an exchange asks, and looking is a walk through the function.
                let used = *op == AtomicOp::Exchange && result.is_some_and(|old| is_used(function, old));
                Code::Atomic { op: *op, to, value: self.slot(*value), place, used }
            }
            Op::AtomicCas { access, expected, new } => {
                let place = self.place(access, inst);
                Code::AtomicCas { to, expected: self.slot(*expected), new: self.slot(*new), place }
            }
            Op::If { condition, then, otherwise } => {
                let targets = Targets { next: &inst.results, ..targets };
                Code::If {
                    condition: self.slot(*condition),
                    then: self.block(*then, targets, number),
                    otherwise: self.block(*otherwise, targets, number),
                }
            }
            Op::For { start, end, step, init, body } => {
                let params = &function.blocks[*body].params;
                let (counter, carried) = (params[0], &params[1..]);
                let inside = Targets { next: carried, again: carried, out: &inst.results };
                Code::For(Box::new(For {
                    scalar: self.scalar(*start),
                    start: self.slot(*start),
                    end: self.slot(*end),
                    step: self.slot(*step),
                    counter: self.slot(counter),
                    init: self.moves(init, carried),
                    body: self.block(*body, inside, number),
                    results: self.moves(carried, &inst.results),
                }))
            }
            Op::While { init, condition, body } => {
                let before = &function.blocks[*condition].params;
                let carried = &function.blocks[*body].params;
                let inside = Targets { next: before, again: before, out: &inst.results };
                let code = self.block(*condition, Targets { next: &[], again: &[], out: &[] }, number);
                let holds = function.yielded(*condition).first().copied();
                Code::While(Box::new(While {
                    init: self.moves(init, before),
                    condition: code,
                    holds: holds.map_or(0, |value| self.slot(value)),
                    enter: self.moves(before, carried),
                    body: self.block(*body, inside, number),
                    results: self.moves(before, &inst.results),
                }))
            }
            Op::Print { format, args } => {
                let args = args.iter().map(|&arg| (self.slot(arg), self.scalar(arg))).collect();
                Code::Print { format: format.clone(), args }
            }
            Op::Assert { condition, message } => {
                Code::Assert { condition: self.slot(*condition), message: message.clone(), span }
            }
            Op::Check(Check::Degenerate { why }, args) => {
                Code::CheckDegenerate { holds: self.slot(args[0]), why: why.clone(), span }
            }
            Op::Check(Check::Visit, args) => Code::CheckVisit { holds: self.slot(args[0]), span },
            Op::Check(Check::Component { count, name }, index) => {
                Code::CheckComponent { index: self.count(index[0]), count: *count, name: name.clone(), span }
            }
            Op::Yield(values) => Code::Yield(self.moves(values, targets.next)),
            Op::Break(values) => Code::Break(self.moves(values, targets.out)),
            Op::Continue(values) => Code::Continue(self.moves(values, targets.again)),
            Op::Return(values) => {
                let list = values
                    .iter()
                    .enumerate()
                    .map(|(n, &value)| Move {
                        from: self.slot(value),
                        to: self.results[n],
                        count: self.count_of(value),
                    })
                    .collect();
                Code::Return(Moves { list, overlap: false })
            }
        }
    }

    fn steps(&mut self, mut ty: Type, path: &Path) -> Steps {
        let structs = &self.module.structs;
        let (mut slot, mut byte, mut dynamic) = (0, 0, Vec::new());
        for step in path {
            let index = match *step {
                Step::At(n) => {
                    slot += match ty {
                        Type::Struct(id) => {
                            let before = structs[id].fields.iter().take(n as usize);
                            before.map(|field| self.leaves.count(field.ty)).sum()
                        }
                        Type::Transform(_) => 3 * n,
                        Type::Mat(_, columns, _) => n * u32::from(columns),
                        _ => n,
                    };
                    byte += Layout::step_offset(ty, n, structs);
                    Some(n)
                }
                Step::Dynamic(value) => {
                    let slots = if let Type::Mat(_, columns, _) = ty { u32::from(columns) } else { 1 };
                    let bytes = Layout::step_offset(ty, 1, structs);
                    dynamic.push(DynamicStep { index: self.count(value), count: ty.step_count(structs), slots, bytes });
                    None
                }
            };
            ty = ty.step(index, structs).unwrap_or(ty);
        }
        Steps { slot, byte, dynamic: dynamic.into() }
    }

    fn place(&mut self, access: &Access, inst: &Inst) -> ElementRef {
        let structs = &self.module.structs;
        let (element, local): (Type, _) = match self.function.ty(access.array) {
            Type::Local(local) => {
                let mut strides = [u64::from(Layout::of_element(local.element, structs).size); MAX_DIMS];
                for n in (0..usize::from(local.ndim).saturating_sub(1)).rev() {
                    strides[n] = strides[n + 1] * u64::from(local.shape[n + 1]);
                }
                (local.element.into(), Some(LocalShape { shape: local.shape, strides }))
            }
            Type::Array(array) => (array.element.into(), None),
            other => (other, None),
        };
        let part = access.path.iter().fold(element, |ty, step| {
            let index = if let Step::At(n) = step { Some(*n) } else { None };
            ty.step(index, structs).unwrap_or(ty)
        });
        ElementRef {
            array: self.slot(access.array),
            local,
            index: access.indices.iter().map(|&i| self.count(i)).collect(),
            path: self.steps(element, &access.path),
            leaves: self.leaves.of(part),
            span: inst.span,
        }
    }
}
