//! How does structured control flow become basic blocks? Values that change become one phi per
//! scalar.

use smallvec::SmallVec;

use super::affine::LoopRange;
use super::builder::{Block, Func, IntPredicate, Llvm, Ty, Val};
use super::lower::{End, Frame, Lower, Mode, Scalars};
use crate::abi::HostStatus;
use crate::ids::IdSet;
use crate::ir::{Access, BinaryOp, BlockId, CompareOp, Function, Inst, Op, ValueId, jumps, plain, straight};
use crate::passes::block_threads::{goes_around_registers, registers_by};
use crate::passes::loops::has_loop;
use crate::types::{Scalar, Type};

/// A block that several ways lead to, with a phi for each value they bring.
pub struct Join<'ctx> {
    pub block: Block<'ctx>,
    phis: Scalars<'ctx>,
    ways: u32,
}

impl<'ctx> Join<'ctx> {
    /// A new block after those of `function`; the cursor stays.
    pub fn new(ll: &Llvm<'ctx>, function: Func<'ctx>, name: &str, types: &[Ty<'ctx>]) -> Join<'ctx> {
        let here = ll.current_block();
        let block = ll.block(function, name);
        ll.position_at_end(block);
        let phis = types.iter().map(|ty| ll.phi(*ty)).collect();
        ll.position_at_end(here);
        Join { block, phis, ways: 0 }
    }

    /// Leaves the current block for this one, bringing `values`.
    pub fn jump(&mut self, ll: &Llvm<'ctx>, values: &[Val<'ctx>]) {
        self.come_from_here(ll, values);
        ll.br(self.block);
    }

    /// Like [`Self::jump`] for a branch that the caller builds.
    pub fn come_from_here(&mut self, ll: &Llvm<'ctx>, values: &[Val<'ctx>]) {
        let from = ll.current_block();
        for (phi, value) in self.phis.iter().zip(values) {
            ll.add_incoming(*phi, ll.fit(*value, ll.ty(*phi)), from);
        }
        self.ways += 1;
    }

    /// The values, as the block has them.
    pub fn phis(&self) -> Scalars<'ctx> {
        self.phis.clone()
    }

    /// Moves the cursor here; gives the values that were brought. A block that nothing leads to is
    /// valid and is removed by the optimiser.
    pub fn enter(self, ll: &Llvm<'ctx>) -> Scalars<'ctx> {
        ll.position_at_end(self.block);
        self.phis
    }

    pub fn is_reached(&self) -> bool {
        self.ways > 0
    }
}

/// How many iterations of a small loop are done at once on the host.
pub const HOST_UNROLLED_TURNS: u32 = 8;

/// How many iterations of a small loop the device does at once, and how many instructions of the IR
/// such a loop has at most.
const UNROLLED_TURNS: u32 = 4;
const UNROLLED_SIZE: u32 = 48;

/// How many iterations of a loop that sums what is in registers, or reads tiles so often in each,
/// the device does at once: their loads are under way together anyway.
const SUMMED_TURNS: u32 = 2;
const MANY_READS: u32 = 4;

/// Whether a block has loops or calls in it.
fn has_code_of_its_own(function: &Function, block: BlockId) -> bool {
    let mut found = false;
    function.walk(block, &mut |_, inst| found |= matches!(inst.op, Op::For { .. } | Op::While { .. } | Op::Call(..)));
    found
}

/// Whether a branch in a loop's body changes an element of a tile that is the same in all
/// iterations, and no thread waits for others there: LLVM would keep the element in a register,
/// which all threads would load before the loop.
fn changes_one_element(function: &Function, body: BlockId) -> bool {
    let (mut changed, mut waits) = (Vec::new(), false);
    function.walk(body, &mut |_, inst| {
        // What waits was inlined.
        waits |= inst.op.properties().synchronises && !matches!(inst.op, Op::Call(..));
        for &nested in inst.op.blocks().iter().filter(|_| matches!(inst.op, Op::If { .. })) {
            function.walk(nested, &mut |_, inst| {
                if let Some(access) = inst.op.access()
                    && inst.op.properties().writes
                    && matches!(function.ty(access.array), Type::Local(ty) if ty.block)
                {
                    changed.push(access.indices.clone());
                }
            });
        }
    });
    if waits || changed.is_empty() {
        return false;
    }
    // What counters, memory and the like make another value in each iteration.
    let mut varies: IdSet<ValueId> = function.blocks[body].params.iter().copied().collect();
    function.walk(body, &mut |_, inst| {
        inst.op.blocks().iter().for_each(|&nested| varies.extend(function.blocks[nested].params.iter().copied()));
        let mut of_these = !inst.op.properties().is_value();
        inst.op.for_each_operand(|v| of_these |= varies.contains(&v));
        varies.extend(inst.results.iter().copied().filter(|_| of_these));
    });
    changed.iter().any(|indices| !indices.iter().any(|index| varies.contains(index)))
}

/// How often a block reads memory that the threads of a block share; 0 if it reads other memory
/// too.
fn reads_of_tiles(function: &Function, block: BlockId) -> u32 {
    let (mut tiles, mut others) = (0, false);
    function.walk(block, &mut |_, inst| {
        if let Some(access) = inst.op.access() {
            let is_tile = matches!(function.ty(access.array), Type::Local(ty) if ty.block);
            tiles += u32::from(is_tile);
            others |= !is_tile;
        }
    });
    if others { 0 } else { tiles }
}

/// Where `break` and `continue` of a loop go.
pub struct LoopContext<'ctx> {
    pub exit: Join<'ctx>,
    pub next: Join<'ctx>,
}

impl<'a, 'ctx> Lower<'_, 'a, 'ctx> {
    /// An `if`, `for` or `while`. False when nothing after it is reached.
    pub fn control(&mut self, frame: &mut Frame<'a, 'ctx>, inst: &'a Inst) -> bool {
        match &inst.op {
            Op::If { condition, then, otherwise } => self.if_(frame, inst, *condition, *then, *otherwise),
            Op::For { start, end, step, init, body } => {
                self.loops.depth += 1;
                let range = [*start, *end, *step];
                if self.stands_twice(frame, inst, *body) {
                    self.twice(frame, &inst.results, |lower, frame| lower.for_(frame, inst, range, init, *body));
                } else {
                    self.for_(frame, inst, range, init, *body);
                }
                self.loops.depth -= 1;
                true
            }
            Op::While { init, condition, body } => {
                self.loops.depth += 1;
                self.while_(frame, inst, init, *condition, *body);
                self.loops.depth -= 1;
                true
            }
            straight!() | jumps!() => true,
        }
    }

    fn join(&self, name: &str, types: &[Ty<'ctx>]) -> Join<'ctx> {
        Join::new(self.ll, self.into.function, name, types)
    }

    /// Hands flattened values out to `targets`.
    pub fn bind(&mut self, frame: &mut Frame<'a, 'ctx>, targets: &[ValueId], flat: Scalars<'ctx>) {
        let mut flat = flat.into_iter();
        for &target in targets {
            let count = super::flatten::leaf_count(frame.ty(target), &self.ir.structs);
            let scalars = flat.by_ref().take(count).collect();
            self.define(frame, target, scalars);
        }
    }

    fn if_(
        &mut self,
        frame: &mut Frame<'a, 'ctx>,
        inst: &'a Inst,
        condition: ValueId,
        then: BlockId,
        otherwise: BlockId,
    ) -> bool {
        let ll = self.ll;
        if self.assume_set(frame, condition) {
            if let End::Yield(values) = self.block(frame, then, false) {
                self.bind(frame, &inst.results, values);
                return true;
            }
            return false;
        }
        if self.any_varies(frame.get(condition)) {
            let condition = frame.scalar(condition);
            self.if_lanes(frame, inst, condition, then, otherwise);
            return true;
        }
        let mut join = self.join("endif", &self.types_of(frame, &inst.results));
        let (then_block, else_block) = (ll.block(self.into.function, "then"), ll.block(self.into.function, "else"));
        ll.cond_br(frame.scalar(condition), then_block, else_block);
        let parts = self.facts.parts();
        self.learn_parts(frame, condition);
        self.facts.launch_tests.iter_mut().for_each(|tests| tests.branches += 1);
        for (block, body) in [(then_block, then), (else_block, otherwise)] {
            ll.position_at_end(block);
            if let End::Yield(values) = self.block(frame, body, false) {
                join.jump(ll, &values);
            }
            // The condition says nothing of where it does not hold.
            self.facts.forget_parts(parts);
        }
        self.facts.launch_tests.iter_mut().for_each(|tests| tests.branches -= 1);
        if !join.is_reached() {
            ll.delete_block(join.block);
            return false;
        }
        let values = join.enter(ll);
        self.bind(frame, &inst.results, values);
        true
    }

    /// Learns which parts of arrays are inside where a condition holds: tiles are copied after
    /// `first >= 0 and first <= extent - count`. On a GPU also of `first >= 0 and first < extent`,
    /// and of `extent >= count`.
    fn learn_parts(&mut self, frame: &Frame<'a, 'ctx>, condition: ValueId) {
        let wanted = if self.target.is_gpu() { self.target.is_checked() } else { frame.function.by_block };
        if !wanted {
            return;
        }
        let op = |value: ValueId| frame.function.op(value);
        let int = |value: ValueId| frame.function.as_const(value)?.as_int();
        let is_zero = |value: ValueId| int(value) == Some(0);
        let mut facts = vec![condition];
        let (mut from_start, mut ends) = (Vec::new(), Vec::new());
        while let Some(fact) = facts.pop() {
            if let Some(&Op::Binary(BinaryOp::And, a, b)) = op(fact) {
                facts.extend([b, a]);
            } else if let Some(&Op::Compare(CompareOp::Ge, first, zero)) = op(fact)
                && is_zero(zero)
            {
                from_start.push(first);
            } else if let Some(&Op::Compare(CompareOp::Le, first, last)) = op(fact)
                && let Some(&Op::Binary(BinaryOp::Sub, extent, count)) = op(last)
                && matches!(op(extent), Some(Op::Extent(..)))
                && let Some(Ok(count)) = int(count).map(i32::try_from)
                && let Ok(count) = u32::try_from(count)
            {
                ends.push((first, extent, count));
            } else if let Some(&Op::Compare(CompareOp::Lt, first, extent)) = op(fact)
                && self.target.is_gpu()
                && matches!(op(extent), Some(Op::Extent(..)))
                && frame.scalar_ty(first) == Scalar::I32
            {
                ends.push((first, extent, 1));
            } else if let Some(&Op::Compare(CompareOp::Ge, extent, count)) = op(fact)
                && self.target.is_gpu()
                && matches!(op(extent), Some(Op::Extent(..)))
                && let Some(Ok(count)) = int(count).map(u32::try_from)
            {
                self.facts.set_part(self.ll.const_i32(0), frame.scalar(extent), count);
            }
        }
        for (first, extent, count) in ends {
            let is_known = frame.known.ranges.interval(first).is_some_and(|interval| interval.low >= 0);
            if is_known || from_start.contains(&first) {
                self.facts.set_part(frame.scalar(first), frame.scalar(extent), count);
            }
        }
    }

    fn for_(
        &mut self,
        frame: &mut Frame<'a, 'ctx>,
        inst: &'a Inst,
        [start, end, step]: [ValueId; 3],
        init: &[ValueId],
        body: BlockId,
    ) {
        if [start, end, step].iter().any(|&v| self.any_varies(frame.get(v))) {
            return self.for_lanes(frame, inst, [start, end, step], init, body);
        }
        let extents = self.extents_of_turns(frame, [start, end, step], body);
        if extents.is_empty() {
            let values = self.loop_(frame, [start, end, step], init, body, &[], &inst.results);
            return self.bind(frame, &inst.results, values);
        }
        // Twice: without the checks of the indices that are the loop variable, where its whole
        // range is in bounds.
        let ll = self.ll;
        let (first, limit) = (frame.scalar(start), frame.scalar(end));
        let below = extents.iter().map(|extent| ll.icmp(IntPredicate::SLE, limit, *extent));
        let inside = below.fold(ll.icmp(IntPredicate::SGE, first, ll.const_i32(0)), |a, b| ll.and(a, b));
        let (fast, careful) = (ll.block(self.into.function, "inbounds"), ll.block(self.into.function, "careful"));
        let mut join = self.join("endfor", &self.types_of(frame, &inst.results));
        ll.likely_br(inside, fast, careful);
        for (block, extents) in [(fast, &extents[..]), (careful, &[])] {
            ll.position_at_end(block);
            let values = self.loop_(frame, [start, end, step], init, body, extents, &inst.results);
            join.jump(ll, &values);
        }
        let values = join.enter(ll);
        self.bind(frame, &inst.results, values);
    }

    /// Whether a `for` on a GPU whose indices are tested begins at 0 or above.
    fn counts_up_from_start(&self, frame: &Frame<'a, 'ctx>, start: ValueId) -> bool {
        let checked = self.target.is_gpu() && self.target.is_checked();
        checked && frame.known.ranges.interval(start).is_some_and(|interval| interval.low >= 0)
    }

    /// The extents that the variable of an innermost `for` is an index below, by steps of 1, where
    /// that is worth a loop of its own; none where a check before the row does it, or where checks
    /// are rare anyway.
    fn extents_of_turns(
        &self,
        frame: &Frame<'a, 'ctx>,
        [start, end, step]: [ValueId; 3],
        body: BlockId,
    ) -> Scalars<'ctx> {
        /// A loop with more instructions than this is not compiled twice.
        const MOST: usize = 40;
        let (ll, function) = (self.ll, frame.function);
        let mut extents = Scalars::new();
        let unit = ll.as_int(frame.scalar(step)) == Some(1) && frame.scalar_ty(start) == Scalar::I32;
        let by_row = self.facts.is_row_range(ll, frame.scalar(start), frame.scalar(end));
        let Some(&variable) = function.blocks[body].params.first() else { return extents };
        let tested = match &self.mode {
            Mode::Row(row) => row.lanes.is_none(),
            Mode::Kernel(_) => self.target.is_checked() && !function.by_block,
            Mode::Thread => false,
        };
        if !tested || !unit || by_row {
            return extents;
        }
        let limit = frame.scalar(end);
        let is_known = |extent| extent == limit && self.counts_up_from_start(frame, start);
        let (mut insts, mut innermost) = (0, true);
        function.walk(body, &mut |_, inst| {
            insts += 1;
            innermost &= !matches!(inst.op, Op::For { .. } | Op::While { .. } | Op::Call(..));
            if let Op::Load(access) | Op::Store { access, .. } | Op::Atomic { access, .. } = &inst.op
                && let Access { array, indices, .. } = access
                && function.params().contains(array)
            {
                let parts = self.array(frame, *array);
                for (&i, &extent) in indices.iter().zip(&parts.extents) {
                    let extent = self.facts.same(extent);
                    if i == variable && !extents.contains(&extent) && !is_known(extent) {
                        extents.push(extent);
                    }
                }
            }
        });
        if innermost && insts <= MOST { extents } else { Scalars::new() }
    }

    /// Builds the loop; gives its results. `inside`: extents that its variable is an index below.
    fn loop_(
        &mut self,
        frame: &mut Frame<'a, 'ctx>,
        [start, end, step]: [ValueId; 3],
        init: &[ValueId],
        body: BlockId,
        inside: &[Val<'ctx>],
        results: &[ValueId],
    ) -> Scalars<'ctx> {
        let ll = self.ll;
        let s = frame.scalar_ty(start);
        let signed = s.is_signed_int();
        let ty = self.ops.ty(s);
        let (first, limit, stride) = (frame.scalar(start), frame.scalar(end), frame.scalar(step));
        let rest = frame.function.blocks[body].params.get(1..).unwrap_or_default();
        let carried: Vec<Ty> = self.types_of(frame, rest).to_vec();
        let (zero, one) = (ll.int(ty, 0), ll.int(ty, 1));
        let unit = match ll.as_int(stride) {
            Some(1) => Some(true),
            Some(-1) if signed => Some(false),
            _ => None,
        };
        let rotated = unit.is_some() && self.is_rotated(frame, s, body);
        // Other steps count iterations, so that nothing overflows.
        let iterations = if unit.is_some() && !rotated { None } else { Some(self.trip_count(s, first, limit, stride)) };

        // The header's phis: the loop variable, the counter where there is one, the carried values.
        let mut types = vec![ty];
        types.extend(iterations.map(|_| ty));
        types.extend(&carried);
        let mut header = self.join("for", &types);
        let next = self.join("next", &carried);
        let mut exit = self.join("endfor", &self.types_of(frame, results));
        let body_block = ll.block(self.into.function, "body");

        let begin = match (iterations, unit) {
            (Some(turns), Some(up)) if rotated => {
                let turn = self.first_turn(turns);
                if up { ll.add(first, turn) } else { ll.sub(first, turn) }
            }
            _ => first,
        };
        let mut initial: Scalars = SmallVec::from_slice(&[begin]);
        initial.extend(iterations.map(|_| zero));
        initial.extend(frame.flat(init));
        header.jump(ll, &initial);
        let header_phis = header.phis.clone();
        ll.position_at_end(header.block);
        let i = header_phis[0];
        let values: Scalars = header_phis[types.len() - carried.len()..].iter().copied().collect();
        let more = match (unit, iterations) {
            (_, Some(iterations)) => ll.icmp(IntPredicate::ULT, header_phis[1], iterations),
            (Some(false), _) => ll.icmp(IntPredicate::SGT, i, limit),
            _ if signed => ll.icmp(IntPredicate::SLT, i, limit),
            _ => ll.icmp(IntPredicate::ULT, i, limit),
        };
        exit.come_from_here(ll, &values);
        ll.cond_br(more, body_block, exit.block);

        ll.position_at_end(body_block);
        self.facts.loop_variable(ll, s, i, LoopRange { start: first, end: limit, step: ll.as_int(stride) });
        inside.iter().for_each(|extent| self.facts.set_within(i, *extent));
        if s == Scalar::I32 && self.counts_up_from_start(frame, start) {
            match ll.as_int(stride) {
                Some(step) if step > 0 => self.facts.set_within(i, self.facts.same(limit)),
                Some(_) => {}
                None => self.facts.launch_tests.iter_mut().for_each(|tests| tests.variable(i, limit, stride)),
            }
        }
        let params = &frame.function.blocks[body].params;
        if let Some((&variable, rest)) = params.split_first() {
            self.define(frame, variable, SmallVec::from_slice(&[i]));
            self.bind(frame, rest, values);
        }
        let is_constant = |v: Val<'ctx>| ll.as_int(v).is_some();
        let open = !is_constant(first) || !is_constant(limit);
        let dealt = frame.function.by_block && !is_constant(stride);
        let turns = self.turns_at_once(frame.function, body, open, dealt);
        // Elements of an array are registers where it is certain which ones are meant.
        let whole = registers_by(frame.function, [start, end, step], body).filter(|_| self.target.is_gpu());
        let around = std::mem::replace(&mut self.loops.unrolled, turns.is_some() && !dealt || whole.is_some());
        frame.loops.push(LoopContext { exit, next });
        let ended = self.block(frame, body, false);
        self.loops.unrolled = around;
        let Some(LoopContext { exit, mut next }) = frame.loops.pop() else { return Scalars::new() };
        if let End::Yield(values) = ended {
            next.jump(ll, &values);
        }
        if next.is_reached() {
            let values = next.enter(ll);
            let advanced = match unit {
                Some(true) if signed => ll.add_nsw(i, one),
                Some(false) => ll.sub_nsw(i, one),
                _ => ll.add(i, stride),
            };
            let advanced = if rotated { self.next_turn(advanced, [first, limit]) } else { advanced };
            let mut again: Scalars = SmallVec::from_slice(&[advanced]);
            again.extend(iterations.map(|_| ll.add(header_phis[1], one)));
            again.extend(values);
            let latch = ll.current_block();
            header.jump(ll, &again);
            if let Some(count) = whole {
                ll.unroll(latch, count);
            } else if !inside.is_empty() {
                ll.unroll(latch, HOST_UNROLLED_TURNS);
            } else if self.target.is_gpu() && frame.function.by_block && changes_one_element(frame.function, body) {
                ll.keep_inside(latch);
            } else if let Some(turns) = turns {
                ll.unroll(latch, turns);
            } else if self.target.is_gpu() && frame.function.by_block && has_loop(frame.function, body) {
                // A triangle of loops written out in full has as many as the cube of its side, and
                // barriers among them.
                ll.keep_rolled(latch);
            }
        } else {
            ll.delete_block(next.block);
        }
        exit.enter(ll)
    }

    /// How many iterations of a loop are better done at once: on the device, where its body is
    /// small and only reads, so that the loads of several iterations are under way together.
    /// `open`: it is not known how many there are. `dealt`: the threads of a block share the loop,
    /// so that it is not known by how much the counter grows. A loop of which so much is said stays
    /// one: ptxas would do more of its iterations at once, for more registers.
    fn turns_at_once(&self, function: &Function, body: BlockId, open: bool, dealt: bool) -> Option<u32> {
        if !self.target.is_gpu() {
            return None;
        }
        // Two numbers of each row of a factor are read by one instruction.
        if goes_around_registers(function, body) {
            return Some(SUMMED_TURNS);
        }
        let small = || self.reading_size(function, body).is_some_and(|size| size <= UNROLLED_SIZE);
        if dealt {
            return (!has_code_of_its_own(function, body)).then_some(UNROLLED_TURNS);
        }
        let reads = reads_of_tiles(function, body);
        let turns = if reads >= MANY_READS { SUMMED_TURNS } else { UNROLLED_TURNS };
        ((open || reads > 0) && small()).then_some(turns)
    }

    /// The number of instructions of a block with those of its callees; None where it does more
    /// than compute and read, or holds a loop.
    fn reading_size(&self, function: &Function, block: BlockId) -> Option<u32> {
        let mut size = Some(0u32);
        function.walk(block, &mut |_, inst| {
            let own = inst.op.properties();
            let more = match &inst.op {
                Op::For { .. } | Op::While { .. } => None,
                Op::Call(callee, _) => {
                    let callee = &self.ir.functions[*callee];
                    self.reading_size(callee, callee.entry)
                }
                _ if own.has_side_effect() || own.allocates => None,
                plain!() | Op::If { .. } | jumps!() => Some(1),
            };
            size = size.zip(more).map(|(a, b)| a.saturating_add(b)).filter(|&size| size <= UNROLLED_SIZE);
        });
        size
    }

    /// The number of iterations of a `for`, as an unsigned number of the loop variable's type.
    pub fn trip_count(&mut self, s: Scalar, start: Val<'ctx>, end: Val<'ctx>, step: Val<'ctx>) -> Val<'ctx> {
        let ll = self.ll;
        let ty = self.ops.ty(s);
        let (zero, one) = (ll.int(ty, 0), ll.int(ty, 1));
        let less = |a, b| ll.icmp(if s.is_signed_int() { IntPredicate::SLT } else { IntPredicate::ULT }, a, b);
        // ceil(distance / |step|) for a distance of at least 1.
        let count = |distance: Val<'ctx>, step: Val<'ctx>| {
            let zero_step = ll.eq(step, zero);
            let divisor = ll.select(zero_step, one, step);
            ll.add(ll.udiv(ll.sub(distance, one), divisor), one)
        };
        let up = ll.select(less(start, end), count(ll.sub(end, start), step), zero);
        let iterations = if s.is_signed_int() {
            let down = ll.select(less(end, start), count(ll.sub(start, end), ll.neg(step)), zero);
            ll.select(less(step, zero), down, up)
        } else {
            up
        };
        ll.select(ll.eq(step, zero), zero, iterations)
    }

    fn while_(
        &mut self,
        frame: &mut Frame<'a, 'ctx>,
        inst: &'a Inst,
        init: &[ValueId],
        condition: BlockId,
        body: BlockId,
    ) {
        let ll = self.ll;
        if self.lanes_differ(frame, condition) {
            return self.while_lanes(frame, inst, init, condition, body);
        }
        let carried = self.types_of(frame, &frame.function.blocks[body].params);
        let mut next = self.join("while", &carried);
        let mut exit = self.join("endwhile", &carried);
        let body_block = ll.block(self.into.function, "body");
        next.jump(ll, &frame.flat(init));
        ll.position_at_end(next.block);
        let values = next.phis.clone();

        let function = frame.function;
        self.bind(frame, &function.blocks[condition].params, values.clone());
        let more = match self.block(frame, condition, false) {
            End::Yield(values) => values.first().copied().unwrap_or(ll.bool(false)),
            // Verified IR does not leave a condition block.
            _ => ll.bool(false),
        };
        // A GPU's loop can miss data only if it loads some. Functions of the library may be
        // compiled by themselves, without a status, and their loops end.
        let loads = |block| function.has_below(block, |inst| matches!(inst.op, Op::Load(_) | Op::Call(..)));
        let more = match self.target.is_gpu() && (function.library || !loads(condition) && !loads(body)) {
            true => more,
            false => self.unless_failed(more),
        };
        exit.come_from_here(ll, &values);
        ll.cond_br(more, body_block, exit.block);

        ll.position_at_end(body_block);
        self.bind(frame, &function.blocks[body].params, values);
        frame.loops.push(LoopContext { exit, next });
        let ended = self.block(frame, body, false);
        let Some(LoopContext { exit, mut next }) = frame.loops.pop() else { return };
        if let End::Yield(values) = ended {
            let latch = ll.current_block();
            next.jump(ll, &values);
            if self.target.is_gpu() && function.by_block && changes_one_element(function, body) {
                ll.keep_inside(latch);
            }
        }
        let values = exit.enter(ll);
        self.bind(frame, &inst.results, values);
    }

    /// In a checked run, loops that may not end by themselves also end once an error is recorded:
    /// the data that should have ended them may be missing.
    pub fn unless_failed(&mut self, more: Val<'ctx>) -> Val<'ctx> {
        if !self.target.is_checked() {
            return more;
        }
        let ll = self.ll;
        let at = ll.offset_by(self.thread.status, std::mem::offset_of!(HostStatus, kind) as u64);
        let kind = ll.load_atomic(ll.i32(), at, 4);
        ll.and(more, ll.eq(kind, ll.const_i32(HostStatus::OK as i32)))
    }
}
