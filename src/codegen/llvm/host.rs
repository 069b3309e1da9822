//! How do the threads of a launch reach a kernel's body on the host?
//!
//! The entry runs the threads `begin..end` row by row: the last coordinate is the inner loop. Of
//! each row, the part in which all indices that are affine in that coordinate are known to be in
//! bounds, and the arrays are dense in their last dimension (see `affine`), runs in a loop without
//! those checks that LLVM can vectorise; the rest runs in a function of its own that checks
//! everything and takes any strides.

use std::collections::HashMap;
use std::mem::offset_of;

use super::affine::Guards;
use super::builder::{Attribute, AttributeLoc, Block, Func, IntPredicate, Llvm, Val};
use super::control::HOST_UNROLLED_TURNS;
use super::flatten;
use super::library::Library;
use super::lower::{Lower, Mode, ModuleState, Row, Scalars, Thread};
use super::options::{Atomics, HostOptions, Opt};
use super::prefetch::{self, Ahead};
use super::simd::{self, Plan, SimdLanes};
use crate::abi::{self, HostStatus, LaunchBounds};
use crate::analysis::order::has_atomics;
use crate::ids::IdSet;
use crate::ir::{FuncId, FunctionKind, Module, Op};
use crate::types::{MAX_DIMS, Scalar, Type};

/// A kernel larger than this (in IR instructions) has one loop only, to save compile time.
const FAST_LOOP_LIMIT: u64 = 4_000;

/// A kernel larger than this runs what is left of a row thread by thread, to save compile time.
const TAIL_LIMIT: usize = 800;

/// A kernel larger than this has no lanes in the entry for parts of a launch, if it has atomics, to
/// save compile time: there is another entry for whole launches.
const SHARED_LANES_LIMIT: usize = 800;

/// A kernel larger than this has one loop for arrays of any size, to save compile time.
const TWO_LOOPS_LIMIT: u64 = 800;

/// Where two lanes have the same key, the threads of so many vectors run one by one.
const ONE_BY_ONE: i64 = 4;

/// A row has lanes where it has at least this part of their number of threads.
const LEAST_LANES: u32 = 4;

/// A vector of a short row has to gain this much over its threads one by one: its guards are not in
/// the gain that is foreseen. MuJoCo's `_efc_contact_update` (rows of 4 threads, a gain of 3.6 by
/// 16 lanes) takes twice as long as lanes.
const SHORT_ROW_GAIN: f64 = 1.25;

/// A kernel of at most so many IR instructions that runs thread by thread runs several threads in
/// an iteration.
const UNROLL_LIMIT: u64 = 24;

/// The entries of a module's kernels, in the making.
pub(super) struct Entries<'o, 'ctx> {
    pub(super) kernels: &'o [FuncId],
    /// Of each kernel, if it has one.
    pub(super) bodies: Vec<Option<SimdBody>>,
    pub(super) options: &'o HostOptions,
    /// Library functions that are called, and whether by code that is alone.
    pub(super) called: Vec<((FuncId, Func<'ctx>, u128), bool)>,
    /// What runs single threads, by kernel.
    pub(super) rows: HashMap<FuncId, Func<'ctx>>,
    /// For parts of a launch and for whole ones, by kernel that has both.
    pub(super) made: HashMap<FuncId, [Option<Func<'ctx>>; 2]>,
}

impl<'ctx> Entries<'_, 'ctx> {
    /// Whether a kernel needs an entry for who is alone with its arrays, or for who is not. One
    /// without atomics has one entry for both.
    pub(super) fn wants(&self, module: &Module, kernel: FuncId, alone: bool) -> bool {
        match self.options.atomics {
            Atomics::Plain => alone,
            Atomics::Shared => !alone,
            Atomics::Called => !alone || has_atomics(module, kernel),
        }
    }

    pub(super) fn define(&mut self, state: &mut ModuleState<'_, 'ctx>, alone: bool) {
        for (&kernel, body) in self.kernels.iter().zip(&self.bodies) {
            if !self.wants(state.ir, kernel, alone) {
                continue;
            }
            let divided = self.options.atomics == Atomics::Called && has_atomics(state.ir, kernel);
            let lanes = body.clone().filter(|body| !divided || alone || body.plan.insts <= SHARED_LANES_LIMIT);
            // What is left over of a large kernel's lanes runs by the code for parts, again to save
            // compile time.
            let known = lanes.as_ref().filter(|body| body.plan.insts > SHARED_LANES_LIMIT);
            let known = known.and_then(|_| self.rows.get(&kernel).copied());
            let (rows, made) = KernelEntry::define(state, kernel, lanes, known, self.options.opt == Opt::Full);
            self.rows.insert(kernel, rows);
            if divided {
                self.made.entry(kernel).or_default()[usize::from(alone)] = Some(made);
            }
        }
        state.finish();
        let called = state.library.take().map(Library::into_called).unwrap_or_default();
        self.called.extend(called.into_iter().map(|function| (function, alone)));
    }

    /// Makes the entries that choose.
    pub(super) fn define_choices(&self, module: &Module, ll: &Llvm<'ctx>) {
        for kernel in self.kernels {
            let Some(&[Some(shared), Some(alone)]) = self.made.get(kernel) else { continue };
            let function = &module.functions[*kernel];
            let name = abi::host_entry(&function.source_name, function.phase);
            ll.rename(shared, &format!("{name}_shared"));
            ll.set_internal(shared);
            ll.rename(alone, &abi::alone_entry(&name));
            define_choice(ll, &name, alone, shared);
        }
    }
}

/// The entry `name`, which leaves a whole launch to `alone` and a part of one to `shared`.
fn define_choice<'ctx>(ll: &Llvm<'ctx>, name: &str, alone: Func<'ctx>, shared: Func<'ctx>) {
    let (i64, ptr) = (ll.i64(), ll.ptr(0));
    let made = ll.add_function(name, None, &[ptr, ptr, i64, i64, ptr], false);
    ll.add_attribute(made, AttributeLoc::Function, Attribute::Flag("nounwind"));
    let p = |n| ll.param(made, n);
    let (start, whole, part) = (ll.block(made, "start"), ll.block(made, "whole"), ll.block(made, "part"));
    ll.position_at_end(start);
    let size = ll.load(i64, ll.offset_by(p(0), offset_of!(LaunchBounds, size) as u64), 8);
    let is_whole = ll.and(ll.eq(p(2), ll.const_i64(0)), ll.eq(p(3), size));
    ll.cond_br(is_whole, whole, part);
    for (block, entry) in [(whole, alone), (part, shared)] {
        ll.position_at_end(block);
        ll.tail_call_void(entry, &[p(0), p(1), p(2), p(3), p(4)]);
        ll.ret(None);
    }
}

/// An extent of the launch, as i64.
fn extent<'ctx>(ll: &Llvm<'ctx>, launch: Val<'ctx>, dim: usize) -> Val<'ctx> {
    let at = ll.offset_by(launch, (offset_of!(LaunchBounds, shape) + 4 * dim) as u64);
    ll.zext(ll.load(ll.i32(), at, 4), ll.i64())
}

/// The coordinates as int32; those that the kernel does not have are 0.
fn coordinates_of<'ctx>(ll: &Llvm<'ctx>, wide: &[Val<'ctx>]) -> [Val<'ctx>; 4] {
    let mut coordinates = [ll.const_i32(0); 4];
    coordinates.iter_mut().zip(wide).for_each(|(narrow, &c)| *narrow = ll.trunc(c, ll.i32()));
    coordinates
}

/// The next ones after these coordinates: the last goes up, and where one is at its end, the one
/// before it.
fn count_up<'ctx>(ll: &Llvm<'ctx>, at: &[Val<'ctx>], shape: &[Val<'ctx>]) -> Vec<Val<'ctx>> {
    let mut next = at.to_vec();
    let mut carry = ll.bool(true);
    for k in (0..at.len()).rev() {
        let more = ll.add(at[k], ll.zext(carry, ll.i64()));
        next[k] = more;
        if k > 0 {
            let full = ll.eq(more, shape[k]);
            next[k] = ll.select(full, ll.const_i64(0), more);
            carry = ll.and(carry, full);
        }
    }
    next
}

/// What both loops over threads need.
struct KernelEntry {
    kernel: FuncId,
    rank: usize,
    types: Vec<Type>,
    /// Of each argument in the argument struct.
    offsets: Vec<u32>,
    /// May be compiled twice, once without checks.
    twice: bool,
}

/// The body that runs several threads at once.
#[derive(Clone)]
pub(super) struct SimdBody {
    pub(super) function: FuncId,
    pub(super) plan: Plan,
    pub(super) count: u32,
    /// In so many vectors.
    pub(super) vectors: u32,
}

impl SimdBody {
    /// The threads of the shortest row that runs as lanes: with fewer, most lanes are empty.
    fn least_row(&self) -> u32 {
        let gains = f64::from(self.count) * SHORT_ROW_GAIN / self.plan.gain;
        (gains.ceil() as u32).clamp(self.count / LEAST_LANES, self.count)
    }

    /// The same for several vectors at a time.
    fn wide(&self) -> Option<SimdBody> {
        let vectors = self.plan.vectors;
        (vectors > 1).then(|| SimdBody { count: self.count * vectors, vectors, ..self.clone() })
    }
}

impl KernelEntry {
    fn define<'ctx>(
        state: &mut ModuleState<'_, 'ctx>,
        kernel: FuncId,
        body: Option<SimdBody>,
        rows: Option<Func<'ctx>>,
        twice: bool,
    ) -> (Func<'ctx>, Func<'ctx>) {
        let function = &state.ir.functions[kernel];
        let types: Vec<Type> = function.params().iter().map(|p| function.ty(*p)).collect();
        let rank = match function.kind {
            FunctionKind::Kernel { rank } => usize::from(rank).clamp(1, MAX_DIMS),
            FunctionKind::Device => 1,
        };
        let offsets = abi::argument_layout(&types, &state.ir.structs).0;
        let entry = KernelEntry { kernel, rank, types, offsets, twice };
        let rows = rows.unwrap_or_else(|| entry.define_rows(state));
        (rows, entry.define_entry(state, rows, body))
    }

    fn load_args<'ctx>(&self, lower: &mut Lower<'_, '_, 'ctx>, args: Val<'ctx>) -> Vec<Scalars<'ctx>> {
        let load = |(ty, offset): (&Type, &u32)| {
            let at = lower.ll.offset_by(args, u64::from(*offset));
            lower.load_value(at, *ty, 1)
        };
        let mut scalars: Vec<Scalars> = self.types.iter().zip(&self.offsets).map(load).collect();
        lower.default_adjoints(self.kernel, &mut scalars);
        scalars
    }

    /// `rows(args, launch, c0, c1, c2, last, linear, end, status)`: runs the threads `linear..end`,
    /// the first of which has the outer coordinates c0.. and the last coordinate `last`. Checks
    /// everything, takes any strides.
    fn define_rows<'ctx>(&self, state: &mut ModuleState<'_, 'ctx>) -> Func<'ctx> {
        let ll = state.ll;
        let name = format!("{}_rows", state.ir.functions[self.kernel].name);
        let (i64, ptr) = (ll.i64(), ll.ptr(0));
        let made = ll.add_function(&name, None, &[ptr, ptr, i64, i64, i64, i64, i64, i64, ptr], false);
        ll.set_internal(made);
        ll.add_attribute(made, AttributeLoc::Function, Attribute::Flag("noinline"));
        ll.add_attribute(made, AttributeLoc::Function, Attribute::Flag("nounwind"));
        let p = |n| ll.param(made, n);
        let (start, head) = (ll.block(made, "start"), ll.block(made, "threads"));
        let (body, done) = (ll.block(made, "thread"), ll.block(made, "done"));
        ll.position_at_end(start);
        state.enter(made, self.kernel);
        let last = self.rank - 1;
        let first: Vec<Val> = (0..self.rank).map(|k| if k == last { p(5) } else { p(2 + k as u32) }).collect();
        let shape: Vec<Val> = (0..self.rank).map(|k| extent(ll, p(1), k)).collect();
        let thread =
            Thread { coordinates: coordinates_of(ll, &first), block_dim: ll.const_i32(1), linear: p(6), status: p(8) };
        let mut lower = Lower::new(state, made, start, thread, None);
        let args = self.load_args(&mut lower, p(0));
        ll.br(head);
        ll.position_at_end(head);
        let phi = |from: &Val<'ctx>| {
            let phi = ll.phi(i64);
            ll.add_incoming(phi, *from, start);
            phi
        };
        let (linear, at) = (phi(&p(6)), first.iter().map(phi).collect::<Vec<_>>());
        ll.cond_br(ll.icmp(IntPredicate::SLT, linear, p(7)), body, done);
        ll.position_at_end(body);
        lower.thread.coordinates = coordinates_of(ll, &at);
        lower.thread.linear = linear;
        lower.kernel(self.kernel, args);
        let after = count_up(ll, &at, &shape);
        let next = ll.add_nsw(linear, ll.const_i64(1));
        let latch = ll.current_block();
        ll.add_incoming(linear, next, latch);
        at.iter().zip(after).for_each(|(&phi, value)| ll.add_incoming(phi, value, latch));
        ll.br(head);
        ll.position_at_end(done);
        ll.ret(None);
        made
    }

    /// Splits a linear index by the kernel's own dimensions.
    fn split<'ctx>(&self, ll: &Llvm<'ctx>, linear: Val<'ctx>, shape: &[Val<'ctx>]) -> [Val<'ctx>; 4] {
        let mut coordinates = [ll.const_i64(0); 4];
        let mut rest = linear;
        for k in (1..self.rank).rev() {
            let quotient = ll.udiv(rest, shape[k]);
            coordinates[k] = ll.sub(rest, ll.mul(quotient, shape[k]));
            rest = quotient;
        }
        coordinates[0] = rest;
        coordinates
    }

    fn define_entry<'ctx>(
        &self,
        state: &mut ModuleState<'_, 'ctx>,
        rows: Func<'ctx>,
        body: Option<SimdBody>,
    ) -> Func<'ctx> {
        let ll = state.ll;
        let kernel = &state.ir.functions[self.kernel];
        let name = abi::host_entry(&kernel.source_name, kernel.phase);
        let (i64, ptr) = (ll.i64(), ll.ptr(0));
        let made = ll.add_function(&name, None, &[ptr, ptr, i64, i64, ptr], false);
        ll.add_attribute(made, AttributeLoc::Function, Attribute::Flag("nounwind"));
        let p = |n| ll.param(made, n);
        let (launch, args, begin, end) = (p(0), p(1), p(2), p(3));
        let start = ll.block(made, "start");
        ll.position_at_end(start);
        state.enter(made, self.kernel);

        // A caller without a status gets one that nobody reads, so that the body need not ask.
        let own = ll.alloca(start, size_of::<HostStatus>() as u64, align_of::<HostStatus>() as u32);
        ll.memset_zero(own, size_of::<HostStatus>() as u64, align_of::<HostStatus>() as u32);
        let given = ll.icmp(IntPredicate::NE, ll.ptr_to_int(p(4), i64), ll.const_i64(0));
        let status = ll.select(given, p(4), own);

        let shape: Vec<Val> = (0..MAX_DIMS).map(|k| extent(ll, launch, k)).collect();
        let repeats = shape[self.rank..].iter().fold(ll.const_i64(1), |n, e| ll.mul(n, *e));
        let (some, once, repeated, done) =
            (ll.block(made, "some"), ll.block(made, "once"), ll.block(made, "repeated"), ll.block(made, "done"));
        ll.cond_br(ll.icmp(IntPredicate::ULT, begin, end), some, done);
        ll.position_at_end(some);
        ll.cond_br(ll.eq(repeats, ll.const_i64(1)), once, repeated);

        self.repeated(ll, made, rows, repeated, done, [args, launch, begin, end, status], repeats, &shape);
        ll.position_at_end(once);
        let ends = [args, launch, begin, end, status];
        if let Some(body) = body.as_ref().filter(|_| self.rank > 1) {
            // A row of a few threads leaves most lanes empty, and its guards cost more than it.
            let (few, many) = (ll.block(made, "few"), ll.block(made, "many"));
            let least = ll.const_i64(body.least_row().into());
            ll.cond_br(ll.icmp(IntPredicate::ULT, shape[self.rank - 1], least), few, many);
            ll.position_at_end(few);
            let c = self.split(ll, begin, &shape);
            ll.call_void(rows, &[args, launch, c[0], c[1], c[2], c[self.rank - 1], begin, end, status]);
            ll.br(done);
            ll.position_at_end(many);
        }
        let looked_up = if self.bears_two_loops(state) { prefetch::looked_up(kernel) } else { Vec::new() };
        if !looked_up.is_empty() {
            let (far, near) = (ll.block(made, "far"), ll.block(made, "near"));
            let descriptors = looked_up.iter().map(|&parameter| self.offsets[parameter]);
            ll.cond_br(prefetch::is_far(ll, args, descriptors), far, near);
            ll.position_at_end(far);
            self.by_rows(state, made, start, rows, ends, done, &shape, body.clone(), true);
            ll.position_at_end(near);
        }
        if let Some(wide) = body.as_ref().and_then(SimdBody::wide) {
            let (long, short) = (ll.block(made, "long"), ll.block(made, "short"));
            let least = ll.const_i64(wide.plan.long_row(wide.count).into());
            ll.cond_br(ll.icmp(IntPredicate::UGE, shape[self.rank - 1], least), long, short);
            ll.position_at_end(long);
            self.by_rows(state, made, start, rows, ends, done, &shape, Some(wide), false);
            ll.position_at_end(short);
        }
        self.by_rows(state, made, start, rows, ends, done, &shape, body, false);
        ll.position_at_end(done);
        ll.ret(None);
        made
    }

    /// Extra dimensions of the launch repeat each thread: one call per thread.
    #[allow(clippy::too_many_arguments)]
    fn repeated<'ctx>(
        &self,
        ll: &Llvm<'ctx>,
        made: Func<'ctx>,
        rows: Func<'ctx>,
        from: Block<'ctx>,
        done: Block<'ctx>,
        [args, launch, begin, end, status]: [Val<'ctx>; 5],
        repeats: Val<'ctx>,
        shape: &[Val<'ctx>],
    ) {
        ll.position_at_end(from);
        let repeat = ll.block(made, "repeat");
        ll.br(repeat);
        ll.position_at_end(repeat);
        let linear = ll.phi(ll.i64());
        ll.add_incoming(linear, begin, from);
        let c = self.split(ll, ll.udiv(linear, repeats), shape);
        let next = ll.add(linear, ll.const_i64(1));
        ll.call_void(rows, &[args, launch, c[0], c[1], c[2], c[self.rank - 1], linear, next, status]);
        ll.add_incoming(linear, next, repeat);
        ll.cond_br(ll.icmp(IntPredicate::ULT, next, end), repeat, done);
    }

    #[allow(clippy::too_many_arguments)]
    fn by_rows<'ctx>(
        &self,
        state: &mut ModuleState<'_, 'ctx>,
        made: Func<'ctx>,
        start: Block<'ctx>,
        rows: Func<'ctx>,
        [args, launch, begin, end, status]: [Val<'ctx>; 5],
        done: Block<'ctx>,
        shape: &[Val<'ctx>],
        simd_body: Option<SimdBody>,
        far: bool,
    ) {
        let ll = state.ll;
        let i64 = ll.i64();
        let last = self.rank - 1;
        let has_fast_loop = simd_body.is_some() || self.wants_fast_loop(state);
        let zero = ll.const_i64(0);
        let zero32 = ll.const_i32(0);
        let thread = Thread { coordinates: [zero32; 4], block_dim: ll.const_i32(1), linear: zero, status };
        let mut lower = Lower::new(state, made, start, thread, None);
        let arguments = if has_fast_loop { self.load_args(&mut lower, args) } else { Vec::new() };
        let first = self.split(ll, begin, shape);
        let before = ll.current_block();
        let row = ll.block(made, "row");
        ll.br(row);

        // One iteration per row: the linear index of its first thread here, and the coordinates.
        ll.position_at_end(row);
        let linear = ll.phi(i64);
        ll.add_incoming(linear, begin, before);
        let coordinates: Vec<Val> = (0..self.rank)
            .map(|k| {
                let c = ll.phi(i64);
                ll.add_incoming(c, first[k], before);
                c
            })
            .collect();
        let low = coordinates[last];
        let outer = |k: usize| if k < last { coordinates[k] } else { zero };
        let min = |a, b| ll.intrinsic("llvm.umin", &[i64], &[a, b]);
        let count = min(ll.sub(end, linear), ll.sub(shape[last], low));
        let high = ll.add_nsw(low, count);
        let next_linear = ll.add(linear, count);
        let base = ll.sub(linear, low);
        let call_rows = |from: Val<'ctx>, to: Val<'ctx>| {
            let (first, end) = (ll.add(base, from), ll.add(base, to));
            ll.call_void(rows, &[args, launch, outer(0), outer(1), outer(2), from, first, end, status]);
        };

        if has_fast_loop {
            let (head, body, after) = (ll.block(made, "threads"), ll.block(made, "thread"), ll.block(made, "rest"));
            let of_row: Vec<Val> = (0..self.rank).map(outer).collect();
            lower.thread.coordinates = coordinates_of(ll, &of_row);
            let row_number = ll.trunc(base, ll.i32());
            let row_end = ll.current_block();
            ll.position_at_end(head);
            let j = ll.phi(i64);
            // SIMD lanes are threads side by side.
            let width = simd_body.as_ref().map_or(1, |body| body.count);
            let has_tail = simd_body.as_ref().is_some_and(|body| body.plan.insts <= TAIL_LIMIT);
            let inner = ll.trunc(j, ll.i32());
            let inner = if width == 1 { inner } else { ll.add(inner, ll.sequence(ll.i32(), width)) };
            lower.thread.coordinates[last] = inner;
            lower.thread.linear = ll.add(base, j);
            let guards = self.follow(&mut lower, &arguments, inner, j);
            lower.facts.set_invariant(row_number, true);
            let kernel = simd_body.as_ref().map_or(self.kernel, |body| body.function);
            let copies = simd_body.is_some() && lower.target.is_alone();
            let copies = copies.then(|| simd::Copies::new(start));
            // Where lanes with equal keys go, and those at the end of a row.
            let has_keys = simd_body.as_ref().is_some_and(|body| !body.plan.keys.is_empty());
            let one_by_one = has_keys.then(|| ll.block(made, "onebyone"));
            let leave = (has_keys && has_tail).then(|| ll.block(made, "leave"));
            let lanes = simd_body.map(|SimdBody { count, vectors, plan, .. }| SimdLanes {
                count,
                vectors,
                mask: None,
                plan,
                one_by_one: leave,
            });
            lower.mode = Mode::Row(Row { first: row_number, coordinate: inner, guards, lanes, copies, ahead: None });

            // The threads that are left at the end of a row fill some lanes.
            let tail = has_tail.then(|| {
                let (part, some) = (ll.block(made, "part"), ll.block(made, "lanes"));
                ll.position_at_end(some);
                let limit = ll.phi(i64);
                let left = ll.trunc(ll.sub(limit, j), ll.i32());
                let mask = ll.icmp(IntPredicate::SLT, ll.sequence(ll.i32(), width), left);
                lower.with_mask(Some(mask), |lower| lower.kernel(kernel, arguments.clone()));
                let end = ll.current_block();
                ll.br(after);
                (part, some, limit, end)
            });
            if let Some(lanes) = lower.mode.lanes_mut() {
                lanes.one_by_one = one_by_one;
            }
            ll.position_at_end(body);
            let end_of_row = prefetch::end_of_row(ll, start);
            if let (true, Some(row)) = (far, lower.mode.row_mut()) {
                row.ahead = Some(Ahead::new(ll, end_of_row, j, width));
            }
            lower.kernel(kernel, arguments);
            let next = ll.add_nsw(j, ll.const_i64(width.into()));
            let latch = ll.current_block();
            ll.br(head);
            if width == 1 && self.is_short(lower.state) {
                ll.unroll(latch, HOST_UNROLLED_TURNS);
            }

            // All guards are known now: find the part of the row for the loop, and run what is
            // before and after it.
            let guards = lower.mode.row().map(|row| &row.guards);
            let (first, end_of_fast) = guards.map_or((low, high), |guards| guards.emit(ll, row_end, low, high));
            ll.position_at_end(row_end);
            ll.store(end_of_fast, end_of_row, 8);
            let copies = lower.mode.row_mut().and_then(|row| row.copies.take());
            if let Some(copies) = &copies {
                copies.emit_start(ll, first, end_of_fast, width);
            }
            let preheader = self.when(ll, made, ll.icmp(IntPredicate::SLT, low, first), || call_rows(low, first));
            ll.br(head);
            ll.add_incoming(j, first, preheader);
            ll.add_incoming(j, next, latch);
            if let Some(one_by_one) = one_by_one {
                ll.position_at_end(one_by_one);
                let to = ll.add_nsw(j, ll.const_i64(i64::from(width) * ONE_BY_ONE));
                let to = ll.intrinsic("llvm.smin", &[i64], &[to, end_of_fast]);
                call_rows(j, to);
                ll.br(head);
                ll.add_incoming(j, to, one_by_one);
            }
            ll.position_at_end(head);
            let full = ll.add_nsw(j, ll.const_i64(i64::from(width) - 1));
            let more = ll.icmp(IntPredicate::SLT, full, end_of_fast);
            ll.cond_br(more, body, tail.map_or(after, |(part, ..)| part));
            ll.position_at_end(after);
            let mut done_to = j;
            if let Some((part, some, limit, end)) = tail {
                done_to = ll.phi(i64);
                ll.add_incoming(done_to, j, part);
                ll.add_incoming(done_to, end_of_fast, end);
                ll.position_at_end(part);
                ll.cond_br(ll.icmp(IntPredicate::SLT, j, end_of_fast), some, after);
                ll.add_incoming(limit, end_of_fast, part);
                if let Some(leave) = leave {
                    ll.position_at_end(leave);
                    ll.br(after);
                    ll.add_incoming(done_to, j, leave);
                }
                ll.position_at_end(after);
            }
            if let Some(copies) = &copies {
                lower.add_copies(copies);
            }
            let rest = ll.icmp(IntPredicate::SLT, done_to, high);
            self.when(ll, made, rest, || call_rows(done_to, high));
        } else {
            call_rows(low, high);
        }

        // The next row: the last coordinate starts at 0.
        let mut next = count_up(ll, &coordinates[..last], &shape[..last]);
        next.push(zero);
        let latch = ll.current_block();
        ll.add_incoming(linear, next_linear, latch);
        for (phi, value) in coordinates.iter().zip(next) {
            ll.add_incoming(*phi, value, latch);
        }
        ll.cond_br(ll.icmp(IntPredicate::ULT, next_linear, end), row, done);
    }

    /// Runs `body` under a condition; gives the block that follows, where the cursor is left.
    fn when<'ctx>(&self, ll: &Llvm<'ctx>, made: Func<'ctx>, condition: Val<'ctx>, body: impl FnOnce()) -> Block<'ctx> {
        let (yes, after) = (ll.block(made, "when"), ll.block(made, "after"));
        ll.cond_br(condition, yes, after);
        ll.position_at_end(yes);
        body();
        ll.br(after);
        ll.position_at_end(after);
        after
    }

    /// Threads cost little more than the loop over them.
    fn is_short(&self, state: &mut ModuleState) -> bool {
        let function = &state.ir.functions[self.kernel];
        let mut straight = true;
        function.walk(function.entry, &mut |_, inst| {
            straight &= !matches!(inst.op, Op::For { .. } | Op::While { .. } | Op::Call(..));
        });
        straight && state.weight(self.kernel) <= UNROLL_LIMIT
    }

    /// A second loop, for arrays beyond the caches, pays where threads are so long that few of them
    /// are under way at once, and the kernel is not too large to be compiled twice.
    fn bears_two_loops(&self, state: &mut ModuleState) -> bool {
        self.wants_fast_loop(state) && !self.is_short(state) && state.weight(self.kernel) <= TWO_LOOPS_LIMIT
    }

    /// A loop without checks pays where the kernel touches memory, and is not too large to be
    /// compiled twice. It pays nowhere where little time is spent on the code.
    fn wants_fast_loop(&self, state: &mut ModuleState) -> bool {
        let function = &state.ir.functions[self.kernel];
        if !self.twice {
            return false;
        }
        let mut memory = false;
        function.walk(function.entry, &mut |_, inst| {
            memory |= inst.op.properties().accesses_memory();
        });
        memory && state.weight(self.kernel) <= FAST_LOOP_LIMIT
    }

    /// Tells the facts what is the same for a whole row, and starts to collect guards.
    fn follow<'ctx>(
        &self,
        lower: &mut Lower<'_, '_, 'ctx>,
        arguments: &[Scalars<'ctx>],
        inner: Val<'ctx>,
        j: Val<'ctx>,
    ) -> Guards<'ctx> {
        let ll = lower.ll;
        lower.facts.follow_affine(inner);
        for (k, coordinate) in lower.thread.coordinates.into_iter().enumerate() {
            if k + 1 < self.rank {
                lower.facts.set_invariant(coordinate, true);
            }
        }
        let mut known = IdSet::default();
        for (ty, scalars) in self.types.iter().zip(arguments) {
            let leaves = flatten::leaves(*ty, &lower.ir.structs);
            for (leaf, value) in leaves.iter().zip(scalars) {
                if let flatten::LeafKind::Scalar(s @ (Scalar::I32 | Scalar::U32)) = leaf.kind {
                    if ll.as_int(*value).is_none() {
                        lower.facts.set_invariant(*value, s == Scalar::I32);
                    }
                    // An extent, a stride, or a plain number: all are known before the row.
                    known.insert(*value);
                }
            }
        }
        Guards::new(j, known)
    }
}
