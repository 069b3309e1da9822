//! How does a function body of the IR become LLVM instructions, whatever the target? This file
//! holds the state and the dispatch over operations; `ops`, `memory`, `atomics` and `control` hold
//! the parts.
//!
//! Calls are inlined while lowering, which costs less than LLVM's inliner and lets facts about
//! indices flow into callees. Only when that would make a kernel very large are big callees emitted
//! as functions of their own; lean code calls the library's ([`super::library`]).

mod components;
mod mode;

use std::collections::HashMap;
use std::rc::Rc;

use smallvec::{SmallVec, smallvec};

use super::affine::ValueFacts;
use super::builder::{Block, Func, Llvm, Ty, Val};
use super::control::{Join, LoopContext};
use super::debug_info::{DebugInfo, Variable, is_library};
use super::debug_locations::DebugLocations;
use super::flatten::{self, Leaf, LeafKind};
use super::known::{Argument, Known, KnownTable};
use super::library::Library;
use super::ops::{Floats, Ops};
use super::options::Checks;
use super::run_reports::Indexed;
use crate::codegen::prints::Print;
use crate::codegen::shadow::Shadows;
use crate::codegen::sites::{SiteKind, Sites};
use crate::ids::{Id, IdSet};
use crate::ir::{
    self, BinaryOp, BlockId, Check, CompareOp, FuncId, Function, InstId, Op, Path, Step, ValueId, straight,
};
use crate::source::Span;
use crate::types::{Scalar, Type};
pub use mode::{BlockSum, BlockSums, GpuKernel, Mode, PrivateCopy, Row};

/// A flattened value.
pub type Scalars<'ctx> = SmallVec<[Val<'ctx>; 4]>;

/// What the body runs on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// `alone`: see [`super::HostOptions`].
    Host {
        checked: bool,
        alone: bool,
    },
    Nvptx {
        checks: Checks,
    },
}

impl Target {
    /// The address space of array data.
    pub fn array_space(self) -> u16 {
        if self.is_gpu() { 1 } else { 0 }
    }

    pub fn is_gpu(self) -> bool {
        matches!(self, Target::Nvptx { .. })
    }

    pub fn is_alone(self) -> bool {
        matches!(self, Target::Host { alone: true, .. })
    }

    /// Whether somebody is reported of what [`Check`] finds.
    pub fn reports_checks(self) -> bool {
        !matches!(self, Target::Host { checked: false, .. } | Target::Nvptx { checks: Checks::None })
    }

    /// Whether asserts are recorded, rather than end the program.
    pub fn is_checked_or_host(self) -> bool {
        self.is_checked() || !self.is_gpu()
    }

    /// Whether the code tests indices of arrays, and records the first thread that is in error.
    pub fn is_checked(self) -> bool {
        matches!(self, Target::Host { checked: true, .. } | Target::Nvptx { checks: Checks::Recorded })
    }
}

/// The running thread.
#[derive(Clone, Copy)]
pub struct Thread<'ctx> {
    /// i32.
    pub coordinates: [Val<'ctx>; 4],
    /// i32.
    pub block_dim: Val<'ctx>,
    /// i64: the linear index, for reports.
    pub linear: Val<'ctx>,
    /// Pointer to the run's status, where one is reported to: never null on the host.
    pub status: Val<'ctx>,
}

/// What is shared by all LLVM functions of a module.
pub struct ModuleState<'a, 'ctx> {
    pub ir: &'a ir::Module,
    pub ll: &'a Llvm<'ctx>,
    pub ops: Ops<'a, 'ctx>,
    pub target: Target,
    /// The GPU adds vectors to memory ([`super::vector_sums`]).
    pub vector_sums: bool,
    pub sites: Sites,
    /// Values keep the names of their source variables.
    names: bool,
    /// Device functions that are called rather than inlined, and those of them that wait for their
    /// bodies.
    pub(super) called: HashMap<FuncId, Func<'ctx>>,
    pub(super) pending: Vec<FuncId>,
    pub(super) weights: HashMap<FuncId, u64>,
    known: KnownTable,
    /// The library functions that are called, where such are.
    pub library: Option<Library<'a, 'ctx>>,
    /// What represents absent arrays of adjoints.
    pub shadows: &'a Shadows,
    /// Where instructions come from, if that is asked for.
    pub locations: Option<DebugLocations<'a, 'ctx>>,
    /// What debuggers see, if that is asked for.
    pub debug: Option<&'a DebugInfo<'a, 'ctx>>,
    /// Functions in which no multiplication fuses with an addition, though others let them.
    pub as_written: IdSet<FuncId>,
    /// Atomics so far that are loops of compare-and-swap on the host.
    pub swaps: u32,
    /// Threads of a warp bring elements to memory together.
    pub rows: bool,
    /// Functions of the host call more of their callees: with these inlined they were too large.
    pub in_parts: bool,
    /// What a device writes down instead of printing it, if it does so.
    pub prints: Option<&'a [Print]>,
    contract: bool,
}

impl<'a, 'ctx> ModuleState<'a, 'ctx> {
    pub fn new(
        ir: &'a ir::Module,
        shadows: &'a Shadows,
        ll: &'a Llvm<'ctx>,
        target: Target,
        floats: Floats,
        names: bool,
    ) -> ModuleState<'a, 'ctx> {
        let ops = Ops { ll, floats, is_host: matches!(target, Target::Host { .. }), fast: false };
        ModuleState {
            ir,
            ll,
            vector_sums: false,
            ops,
            target,
            sites: Sites::default(),
            names,
            called: HashMap::new(),
            pending: Vec::new(),
            weights: HashMap::new(),
            known: KnownTable::default(),
            library: None,
            shadows,
            locations: None,
            debug: None,
            as_written: IdSet::default(),
            swaps: 0,
            rows: false,
            in_parts: false,
            prints: None,
            contract: ll.contract.get(),
        }
    }

    /// The instructions from here on are those of an LLVM function made for `id`.
    pub fn enter(&self, function: Func<'ctx>, id: FuncId) {
        self.ll.contract.set(self.contract && !self.as_written.contains(&id));
        if let Some(locations) = &self.locations {
            locations.enter(function, self.ir.functions[id].span);
        }
        if let Some(debug) = self.debug {
            debug.enter(function, &self.ir.functions[id]);
        }
    }

    /// The LLVM type of a leaf.
    pub fn leaf_ty(&self, leaf: Leaf) -> Ty<'ctx> {
        match leaf.kind {
            LeafKind::Scalar(s) => self.ops.ty(s),
            LeafKind::Pointer => self.ll.ptr(self.target.array_space()),
            LeafKind::Local => self.ll.ptr(0),
        }
    }

    pub fn leaf_types(&self, ty: Type) -> SmallVec<[Ty<'ctx>; 4]> {
        let mut types = SmallVec::new();
        flatten::for_each_leaf(ty, 0, &self.ir.structs, &mut |leaf| types.push(self.leaf_ty(leaf)));
        types
    }
}

/// Lowers into one LLVM function.
pub struct Lower<'s, 'a, 'ctx> {
    pub state: &'s mut ModuleState<'a, 'ctx>,
    pub ir: &'a ir::Module,
    pub ll: &'a Llvm<'ctx>,
    pub ops: Ops<'a, 'ctx>,
    pub target: Target,
    pub into: LlvmFunction<'ctx>,
    pub thread: Thread<'ctx>,
    pub mode: Mode<'ctx>,
    pub facts: ValueFacts<'ctx>,
    pub loops: Loops,
    /// Addresses of arrays whose elements lie at multiples of their size, as far as it is a power
    /// of two ([`ArrayLayout::Contiguous`]).
    ///
    /// [`ArrayLayout::Contiguous`]: super::ArrayLayout::Contiguous
    pub aligned: IdSet<Val<'ctx>>,
    /// Addresses of arrays that nothing changes while the function runs ([`super::strips`]).
    pub unchanging: IdSet<Val<'ctx>>,
}

/// The LLVM function that is written.
pub struct LlvmFunction<'ctx> {
    pub function: Func<'ctx>,
    /// Where stack slots go.
    pub entry: Block<'ctx>,
    /// Where the prints of the function build their texts, one after the other.
    pub print_buffer: Option<Val<'ctx>>,
    /// Callees of at least this size are called rather than inlined.
    called_from: Option<u64>,
}

/// The loops around the cursor.
#[derive(Default)]
pub struct Loops {
    /// How many, other than that over threads.
    pub depth: u32,
    /// The device does several iterations of one of them at once.
    pub unrolled: bool,
}

/// One instance of an IR function: the body of a kernel, or of a callee at one call.
pub struct Frame<'a, 'ctx> {
    pub function: &'a Function,
    /// What the analyses say of it.
    pub known: Rc<Known>,
    /// The instruction that is being lowered: bounds are asked for there.
    pub at: InstId,
    /// The block that it is in.
    pub block: BlockId,
    values: Vec<Scalars<'ctx>>,
    pub loops: Vec<LoopContext<'ctx>>,
    /// Where a `return` inside nested blocks goes.
    pub returns: Option<Join<'ctx>>,
    pub result_types: SmallVec<[Ty<'ctx>; 4]>,
}

impl<'ctx> Frame<'_, 'ctx> {
    pub fn get(&self, value: ValueId) -> &Scalars<'ctx> {
        &self.values[value.index()]
    }

    /// The LLVM value of a scalar.
    pub fn scalar(&self, value: ValueId) -> Val<'ctx> {
        self.values[value.index()][0]
    }

    pub fn set(&mut self, value: ValueId, scalars: Scalars<'ctx>) {
        self.values[value.index()] = scalars;
    }

    pub fn ty(&self, value: ValueId) -> Type {
        self.function.ty(value)
    }

    pub fn scalar_ty(&self, value: ValueId) -> Scalar {
        self.function.ty(value).scalar_part().expect("verified IR: a scalar or composite")
    }

    pub fn flat(&self, values: &[ValueId]) -> Scalars<'ctx> {
        values.iter().flat_map(|v| self.get(*v).iter().copied()).collect()
    }
}

/// How control leaves a block.
pub enum End<'ctx> {
    /// By `yield`, with these flattened values; the cursor is where they are known.
    Yield(Scalars<'ctx>),
    /// By `return` at the outermost level of a function.
    Return(Scalars<'ctx>),
    /// Another way: nothing follows.
    Left,
}

impl<'s, 'a, 'ctx> Lower<'s, 'a, 'ctx> {
    /// `called_from`: from which size on callees are called ([`ModuleState::called_from`]).
    pub fn new(
        state: &'s mut ModuleState<'a, 'ctx>,
        llvm_function: Func<'ctx>,
        entry: Block<'ctx>,
        thread: Thread<'ctx>,
        called_from: Option<u64>,
    ) -> Lower<'s, 'a, 'ctx> {
        let (ir, ll, ops, target) = (state.ir, state.ll, state.ops, state.target);
        let into = LlvmFunction { function: llvm_function, entry, print_buffer: None, called_from };
        let (facts, loops) = (ValueFacts::default(), Loops::default());
        let (aligned, unchanging) = Default::default();
        Lower { state, ir, ll, ops, target, into, thread, mode: Mode::Thread, facts, loops, aligned, unchanging }
    }

    pub fn leaf_types(&self, ty: Type) -> SmallVec<[Ty<'ctx>; 4]> {
        self.state.leaf_types(ty)
    }

    pub fn zeros(&self, ty: Type) -> Scalars<'ctx> {
        self.leaf_types(ty).into_iter().map(|t| self.ll.zero(t)).collect()
    }

    /// A place in the source that a run may report.
    pub fn site(&mut self, span: Span, kind: SiteKind, description: &str) -> Val<'ctx> {
        self.ll.const_i32(self.state.sites.number(span, kind, description) as i32)
    }

    /// The body of a kernel, at the cursor.
    pub fn kernel(&mut self, id: FuncId, args: Vec<Scalars<'ctx>>) {
        self.into.called_from = self.state.called_from(id, false);
        self.function(id, args, &[]);
    }

    /// The body of a function, inlined at the cursor; gives its results. `known`: of the arguments.
    pub fn function(&mut self, id: FuncId, args: Vec<Scalars<'ctx>>, known: &[Argument]) -> Vec<Scalars<'ctx>> {
        let function = &self.ir.functions[id];
        let mut frame = Frame {
            function,
            known: self.state.known.of_call(self.ir, id, known),
            at: InstId(0),
            block: function.entry,
            values: vec![Scalars::new(); function.values.len()],
            loops: Vec::new(),
            returns: None,
            result_types: function.results.iter().flat_map(|r| self.leaf_types(r.ty)).collect(),
        };
        for ((&param, scalars), n) in function.params().iter().zip(args).zip(1..) {
            self.describe(&frame, param, Variable::Parameter(n), &scalars);
            frame.set(param, scalars);
        }
        // The library's own helpers, such as the bodies of `sin` and `pow`, place each rounding and
        // each fma on purpose.
        let contract = self.ll.contract.get();
        let exact = function.library && function.source_name.starts_with('_');
        self.ll.contract.set(contract && !exact);
        let fast = std::mem::replace(&mut self.ops.fast, self.target.is_gpu() && function.fast_math && !exact);
        let end = self.block(&mut frame, function.entry, true);
        self.ops.fast = fast;
        self.ll.contract.set(contract);
        let flat = match (end, frame.returns.take()) {
            (End::Return(values), None) => values,
            (End::Return(values), Some(mut join)) => {
                join.jump(self.ll, &values);
                join.enter(self.ll)
            }
            (_, Some(join)) => join.enter(self.ll),
            // A function that never returns (its loop has no exit): what follows is not reached.
            (_, None) => {
                let dead = self.ll.block(self.into.function, "never");
                self.ll.position_at_end(dead);
                frame.result_types.iter().map(|t| self.ll.undefined(*t)).collect()
            }
        };
        let mut flat = flat.into_iter();
        function
            .results
            .iter()
            .map(|r| flat.by_ref().take(flatten::leaf_count(r.ty, &self.ir.structs)).collect())
            .collect()
    }

    /// Lowers the instructions of a block at the cursor. `outermost`: it is a function's entry
    /// block.
    pub fn block(&mut self, frame: &mut Frame<'a, 'ctx>, block: BlockId, outermost: bool) -> End<'ctx> {
        let function = frame.function;
        for &id in &function.blocks[block].insts {
            let inst = &function.insts[id];
            (frame.at, frame.block) = (id, block);
            if let Some(locations) = &self.state.locations {
                locations.set(inst.span);
            }
            if let Some(debug) = self.state.debug {
                debug.set(inst.span);
            }
            match &inst.op {
                Op::Yield(values) => return End::Yield(frame.flat(values)),
                Op::Return(values) if outermost => return End::Return(frame.flat(values)),
                Op::Return(values) => {
                    let flat = frame.flat(values);
                    let mut join = frame
                        .returns
                        .take()
                        .unwrap_or_else(|| Join::new(self.ll, self.into.function, "return", &frame.result_types));
                    join.jump(self.ll, &flat);
                    frame.returns = Some(join);
                    return End::Left;
                }
                Op::Break(values) => {
                    let flat = frame.flat(values);
                    if let Some(context) = frame.loops.last_mut() {
                        context.exit.jump(self.ll, &flat);
                    }
                    return End::Left;
                }
                Op::Continue(values) => {
                    let flat = frame.flat(values);
                    if let Some(context) = frame.loops.last_mut() {
                        context.next.jump(self.ll, &flat);
                    }
                    return End::Left;
                }
                Op::If { .. } | Op::For { .. } | Op::While { .. } => {
                    if !self.control(frame, inst) {
                        return End::Left;
                    }
                }
                straight!() => {
                    self.inst(frame, inst);
                    self.compare_keys(frame, inst);
                }
            }
        }
        // Verified IR ends every block in a terminator; the rest of one whose `if` leaves on both
        // ways is not reached.
        End::Left
    }

    fn inst(&mut self, frame: &mut Frame<'a, 'ctx>, inst: &'a ir::Inst) {
        let result = inst.results.first().copied();
        let result_ty = result.map(|r| frame.ty(r));
        let scalars: Scalars = match &inst.op {
            Op::Const(c) => smallvec![self.ops.constant(*c)],
            Op::Zero => result_ty.map(|ty| self.zeros(ty)).unwrap_or_default(),
            Op::Unary(op, a) => {
                let s = frame.scalar_ty(*a);
                frame.get(*a).iter().map(|v| self.ops.unary(*op, s, *v)).collect()
            }
            Op::Binary(op, a, b) => {
                let (ops, s) = (self.ops, frame.scalar_ty(*a));
                let result = self
                    .quotients(*op, s, frame.get(*a), frame.get(*b))
                    .unwrap_or_else(|| self.zip(frame.get(*a), frame.get(*b), |x, y| ops.binary(*op, s, x, y)));
                if let ([x], [y], [r]) = (&frame.get(*a)[..], &frame.get(*b)[..], &result[..]) {
                    self.facts.binary(self.ll, *op, s, *x, *y, *r);
                }
                result
            }
            Op::Compare(op, a, b) => {
                let (ops, s) = (self.ops, frame.scalar_ty(*a));
                if let (Some(tests), [x], [y]) = (&mut self.facts.launch_tests, &frame.get(*a)[..], &frame.get(*b)[..])
                {
                    tests.compares(*x, *y);
                }
                let each = self.zip(frame.get(*a), frame.get(*b), |x, y| ops.compare(*op, s, x, y));
                let any = *op == CompareOp::Ne;
                let all = each.into_iter().reduce(|p, q| if any { self.ll.or(p, q) } else { self.ll.and(p, q) });
                all.into_iter().collect()
            }
            Op::Fma(a, b, c) => {
                let s = frame.scalar_ty(*a);
                let (a, b, c) = (frame.get(*a), frame.get(*b), frame.get(*c));
                a.iter().zip(b).zip(c).map(|((a, b), c)| self.ops.fma(s, *a, *b, *c)).collect()
            }
            Op::Cast(a) => {
                let from = frame.scalar_ty(*a);
                let to = result_ty.and_then(Type::scalar_part).unwrap_or(from);
                let result: Scalars = frame.get(*a).iter().map(|v| self.ops.cast(from, to, *v)).collect();
                result
            }
            Op::Bitcast(a) => {
                let from = frame.scalar_ty(*a);
                let to = result_ty.and_then(Type::scalar_part).unwrap_or(from);
                frame.get(*a).iter().map(|v| self.ops.bitcast(from, to, *v)).collect()
            }
            Op::Select { condition, then, otherwise } => {
                let condition = frame.scalar(*condition);
                self.zip(frame.get(*then), frame.get(*otherwise), |x, y| self.ll.select(condition, x, y))
            }
            Op::Construct(parts) => frame.flat(parts),
            Op::Extract(a, path) => self.extract(frame, *a, path),
            Op::Insert(a, path, b) => self.insert(frame, *a, path, *b),
            Op::Call(callee, args) => return self.call(frame, *callee, args, &inst.results),
            Op::ThreadIndex(n) => {
                smallvec![self.thread.coordinates[usize::from(*n).min(3)]]
            }
            Op::ThreadNumber => {
                let ll = self.ll;
                let number = match self.mode {
                    // In the loop over a row, as a sum that shows how it follows the coordinate.
                    Mode::Row(Row { first, coordinate, .. }) => {
                        let number = ll.add(first, coordinate);
                        self.facts.binary(ll, BinaryOp::Add, Scalar::I32, first, coordinate, number);
                        number
                    }
                    Mode::Thread | Mode::Kernel(_) => ll.trunc(self.thread.linear, ll.i32()),
                };
                smallvec![number]
            }
            Op::BlockDim => smallvec![self.thread.block_dim],
            Op::ThreadInBlock => smallvec![self.lane()],
            Op::Extent(array, dim) => {
                smallvec![self.array(frame, *array).extents[usize::from(*dim)]]
            }
            Op::IsSet(array) => smallvec![self.is_set(frame, *array)],
            Op::Gradient(array) => self.gradient(frame, *array),
            Op::Address(array) => smallvec![self.ll.ptr_to_int(frame.scalar(*array), self.ll.i64())],
            Op::ArrayAt { args, .. } => {
                inst.results.first().map(|&r| self.array_at(frame, args, r)).unwrap_or_default()
            }
            Op::View(array, dims) => self.view(frame, *array, dims, inst.span),
            Op::LocalArray => inst.results.first().map(|&r| self.local_array(frame, r)).unwrap_or_default(),
            Op::SharedArray => inst.results.first().map(|&r| self.shared_array(frame, r)).unwrap_or_default(),
            Op::Load(access) => self.load(frame, access, inst),
            Op::Store { access, value } => {
                self.store(frame, access, *value, inst.span);
                return;
            }
            Op::Atomic { op, access, value } => self.atomic(frame, *op, access, *value, inst),
            Op::AtomicCas { access, expected, new } => self.atomic_cas(frame, access, [*expected, *new], inst),
            Op::Copy(size, operands) => {
                self.copy(frame, *size, operands);
                return;
            }
            Op::Barrier => {
                self.barrier(frame);
                return;
            }
            Op::GridSync => {
                self.grid_sync();
                return;
            }
            Op::Product(product, operands) => {
                let given = self.product(frame, product, operands);
                if result.is_none() {
                    return;
                }
                given
            }
            Op::Exchange(exchange, operands) => self.exchange(frame, *exchange, operands),
            Op::Print { format, args } => {
                self.print(frame, format, args);
                return;
            }
            Op::Check(Check::Degenerate { why }, args) => {
                self.note_degenerate(frame.scalar(args[0]), why, inst.span);
                return;
            }
            Op::Check(Check::Visit, args) => {
                self.note_visit(frame.scalar(args[0]), inst.span);
                return;
            }
            Op::Check(Check::Together { .. }, _) => return,
            Op::Check(Check::Component { count, name }, index) => {
                self.check_index(frame, index[0], *count, Indexed::Component, name, inst.span);
                return;
            }
            Op::Check(Check::Element { dim, extent, name }, index) => {
                let of = Indexed::Element { dim: *dim };
                self.check_index(frame, index[0], *extent, of, name, inst.span);
                return;
            }
            Op::Assert { condition, message } => {
                self.assert(frame.scalar(*condition), message, inst.span);
                return;
            }
            Op::If { .. }
            | Op::For { .. }
            | Op::While { .. }
            | Op::Yield(_)
            | Op::Break(_)
            | Op::Continue(_)
            | Op::Return(_) => return,
        };
        if let Some(result) = result {
            self.define(frame, result, scalars);
        }
    }

    /// Binds a result and, where names are kept, names it.
    pub fn define(&mut self, frame: &mut Frame<'a, 'ctx>, value: ValueId, scalars: Scalars<'ctx>) {
        if self.state.names
            && let Some(name) = &frame.function.values[value].name
        {
            for scalar in &scalars {
                self.ll.name(*scalar, name);
            }
        }
        self.describe(frame, value, Variable::Local, &scalars);
        frame.set(value, scalars);
    }

    /// Tells debuggers that the variable of a value has it from here on.
    fn describe(&self, frame: &Frame<'a, 'ctx>, value: ValueId, kind: Variable, scalars: &Scalars<'ctx>) {
        // Code of the library belongs to the line that calls it, and its variables to nobody.
        let debug = self.state.debug.filter(|_| !is_library(frame.function));
        if let (Some(debug), Some(name)) = (debug, &frame.function.values[value].name) {
            debug.variable(name, kind, frame.ty(value), scalars, &self.ir.structs);
        }
    }

    /// Component by component; a scalar on one side goes with every component of the other.
    fn zip(
        &self,
        a: &Scalars<'ctx>,
        b: &Scalars<'ctx>,
        f: impl Fn(Val<'ctx>, Val<'ctx>) -> Val<'ctx>,
    ) -> Scalars<'ctx> {
        match (a.len(), b.len()) {
            (1, n) if n > 1 => b.iter().map(|y| f(a[0], *y)).collect(),
            (n, 1) if n > 1 => a.iter().map(|x| f(*x, b[0])).collect(),
            _ => a.iter().zip(b).map(|(x, y)| f(*x, *y)).collect(),
        }
    }

    fn call(&mut self, frame: &mut Frame<'a, 'ctx>, callee: FuncId, args: &[ValueId], results: &[ValueId]) {
        let argument = |a: &ValueId| Argument {
            bounds: frame.known.ranges.bounds_at(frame.at, *a),
            dependence: frame.known.uniformity.dependence(*a),
        };
        let known: SmallVec<[Argument; 4]> = args.iter().map(argument).collect();
        let args: Vec<Scalars> = args.iter().map(|a| frame.get(*a).clone()).collect();
        let values = if let Some(scaled) = self.scaled(callee, &args) {
            vec![smallvec![scaled]]
        } else if let Some(near) = self.approximated(callee, &args) {
            vec![smallvec![near]]
        } else if let Some(made) = self.state.library_call(callee) {
            let flat: Scalars = args.into_iter().flatten().collect();
            match &self.ir.functions[callee].results[..] {
                [one] if flatten::leaf_count(one.ty, &self.ir.structs) == 1 => {
                    vec![smallvec![self.ll.call(made, &flat)]]
                }
                _ => self.several_results(callee, made, &flat),
            }
        } else if self.into.called_from.is_some_and(|from| self.state.weight(callee) >= from) {
            self.call_function(callee, args)
        } else {
            let caller = self.state.debug.and_then(|debug| Some((debug, debug.call(&self.ir.functions[callee])?)));
            let values = self.function(callee, args, &known);
            if let Some((debug, caller)) = caller {
                debug.leave(caller);
            }
            values
        };
        for (&result, scalars) in results.iter().zip(values) {
            self.define(frame, result, scalars);
        }
    }

    /// The results of a call that gives a struct of their numbers, or nothing.
    pub(super) fn several_results(&self, callee: FuncId, made: Func<'ctx>, args: &[Val<'ctx>]) -> Vec<Scalars<'ctx>> {
        let aggregate = self.ll.call_several_results(made, args);
        let mut next = 0;
        self.ir.functions[callee]
            .results
            .iter()
            .map(|r| {
                let count = flatten::leaf_count(r.ty, &self.ir.structs) as u32;
                next += count;
                // Without any number there is no struct.
                let numbers = (next - count..next).zip(std::iter::repeat(aggregate));
                numbers.filter_map(|(n, whole)| Some(self.ll.extract_field(whole?, n))).collect()
            })
            .collect()
    }

    // Parts of composites
}
