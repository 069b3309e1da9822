//! How do lanes branch and loop? By masks; see [`super`].

use smallvec::SmallVec;

use crate::codegen::llvm::builder::{IntPredicate, Val};
use crate::codegen::llvm::control::Join;
use crate::codegen::llvm::lower::{End, Frame, Lower, Scalars};
use crate::ir::{BlockId, Inst, Op, ValueId};

/// A branch with more instructions than this is skipped where no lane takes it.
const SKIP_FROM: usize = 12;

/// A branch with more instructions than this is compiled once, whatever it gains.
const MOST_TWICE: usize = 160;

impl<'a, 'ctx> Lower<'_, 'a, 'ctx> {
    /// An `if` whose lanes go different ways: both are run.
    pub fn if_lanes(
        &mut self,
        frame: &mut Frame<'a, 'ctx>,
        inst: &'a Inst,
        condition: Val<'ctx>,
        then: BlockId,
        otherwise: BlockId,
    ) {
        let ll = self.ll;
        let types = self.types_of(frame, &inst.results);
        let mut sides: SmallVec<[Scalars; 2]> = SmallVec::new();
        for (body, taken) in [(then, condition), (otherwise, ll.not(condition))] {
            let insts = &frame.function.blocks[body].insts;
            if insts.len() == 1 {
                sides.push(self.masked_block(frame, body));
                continue;
            }
            let mask = self.narrowed(taken);
            if !needs_lanes(frame, body) {
                sides.push(self.with_mask(Some(mask), |lower| lower.masked_block(frame, body)));
                continue;
            }
            let mut join = Join::new(ll, self.into.function, "endlanes", &types);
            let some = ll.block(self.into.function, "lanes");
            let zeros: Scalars = types.iter().map(|t| ll.zero(*t)).collect();
            if self.gains_without_mask(frame, body) {
                let (all, not_all) = (ll.block(self.into.function, "all"), ll.block(self.into.function, "notall"));
                ll.cond_br(ll.all(mask), all, not_all);
                ll.position_at_end(all);
                let values = self.masked_block(frame, body);
                join.jump(ll, &values);
                ll.position_at_end(not_all);
            }
            join.come_from_here(ll, &zeros);
            ll.cond_br(ll.any(mask), some, join.block);
            ll.position_at_end(some);
            let values = self.with_mask(Some(mask), |lower| lower.masked_block(frame, body));
            join.jump(ll, &values);
            sides.push(join.enter(ll));
        }
        let values = sides[0].iter().zip(&sides[1]).map(|(t, o)| ll.select(condition, *t, *o)).collect();
        self.bind(frame, &inst.results, values);
    }

    /// Whether a block is compiled a second time, for vectors of which all lanes take it: without
    /// masks, elements of a few components are read by wide accesses instead of gathers, and single
    /// ones are read faster where masks cost. Only where no mask holds yet, so that nested branches
    /// grow with their depth, not by powers of two.
    fn gains_without_mask(&self, frame: &Frame<'a, 'ctx>, block: BlockId) -> bool {
        let Some(lanes) = self.mode.lanes().filter(|lanes| lanes.mask.is_none()) else { return false };
        let (mut insts, mut gains) = (0, false);
        frame.function.walk(block, &mut |_, inst| {
            insts += 1;
            gains |= inst.op.access().is_some_and(|access| lanes.plan.loses_by_masks(frame.function, access));
        });
        gains && insts <= MOST_TWICE
    }

    /// A block without early exits; what it yields.
    fn masked_block(&mut self, frame: &mut Frame<'a, 'ctx>, block: BlockId) -> Scalars<'ctx> {
        match self.block(frame, block, false) {
            End::Yield(values) => values,
            // Not reached: the plan takes single-exit code only.
            End::Return(_) | End::Left => Scalars::new(),
        }
    }

    /// A `for` whose lanes take different numbers of iterations: a lane rests once its iterations
    /// are done.
    pub fn for_lanes(
        &mut self,
        frame: &mut Frame<'a, 'ctx>,
        inst: &'a Inst,
        [start, end, step]: [ValueId; 3],
        init: &[ValueId],
        body: BlockId,
    ) {
        let ll = self.ll;
        let s = frame.scalar_ty(start);
        let ty = self.ops.ty(s);
        let count = self.simd_width();
        let (first, limit, stride) = (frame.scalar(start), frame.scalar(end), frame.scalar(step));
        let unit = ll.as_int(stride) == Some(1);
        let wide = ll.vector_ty(ty, count);
        let mask_ty = ll.vector_ty(ll.i1(), count);
        let params = &frame.function.blocks[body].params;
        let Some((&variable, rest)) = params.split_first() else { return };
        let carried = self.types_of(frame, rest);
        // The loop variable, iterations done, the lanes that run, the carried values.
        let mut types = vec![wide, wide, mask_ty];
        types.extend(&carried);
        let less = |a: Val<'ctx>, b: Val<'ctx>| {
            let signed = if s.is_signed_int() { IntPredicate::SLT } else { IntPredicate::ULT };
            ll.icmp(signed, a, b)
        };
        // Other steps count iterations, so that nothing overflows.
        let iterations = if unit { None } else { Some(self.trip_count(s, first, limit, stride)) };
        let more = match iterations {
            None => less(first, limit),
            Some(iterations) => ll.icmp(IntPredicate::NE, iterations, ll.int(ty, 0)),
        };
        let zero = ll.int(ty, 0);
        let mut initial: Scalars = SmallVec::from_slice(&[first, zero, self.narrowed(more)]);
        initial.extend(frame.flat(init));
        let mut header = Join::new(ll, self.into.function, "for", &types);
        let mut exit = Join::new(ll, self.into.function, "endfor", &carried);
        let inner = ll.block(self.into.function, "body");
        header.jump(ll, &initial);
        let phis = header.phis();
        ll.position_at_end(header.block);
        let (i, done, active) = (phis[0], phis[1], phis[2]);
        let values: Scalars = phis[3..].iter().copied().collect();
        exit.come_from_here(ll, &values);
        ll.cond_br(ll.any(active), inner, exit.block);

        ll.position_at_end(inner);
        self.define(frame, variable, SmallVec::from_slice(&[i]));
        self.bind(frame, rest, values.clone());
        let new = self.with_mask(Some(active), |lower| lower.masked_block(frame, body));
        let next = ll.add(i, stride);
        let done = ll.add(done, ll.int(ty, 1));
        let more = match iterations {
            None => less(next, limit),
            Some(iterations) => ll.icmp(IntPredicate::ULT, done, iterations),
        };
        let mut again: Scalars = SmallVec::from_slice(&[next, done, ll.and(active, more)]);
        again.extend(new.iter().zip(&values).map(|(new, old)| ll.select(active, *new, *old)));
        header.jump(ll, &again);
        let values = exit.enter(ll);
        self.bind(frame, &inst.results, values);
    }

    /// A `while` whose lanes end at different times.
    pub fn while_lanes(
        &mut self,
        frame: &mut Frame<'a, 'ctx>,
        inst: &'a Inst,
        init: &[ValueId],
        condition: BlockId,
        body: BlockId,
    ) {
        let ll = self.ll;
        let count = self.simd_width();
        let function = frame.function;
        let carried = self.types_of(frame, &function.blocks[body].params);
        let mut types = vec![ll.vector_ty(ll.i1(), count)];
        types.extend(&carried);
        let mut header = Join::new(ll, self.into.function, "while", &types);
        let mut exit = Join::new(ll, self.into.function, "endwhile", &carried);
        let inner = ll.block(self.into.function, "body");
        let mut initial: Scalars = SmallVec::from_slice(&[self.narrowed(ll.bool(true))]);
        initial.extend(frame.flat(init));
        header.jump(ll, &initial);
        let phis = header.phis();
        ll.position_at_end(header.block);
        let active = phis[0];
        let values: Scalars = phis[1..].iter().copied().collect();
        self.bind(frame, &function.blocks[condition].params, values.clone());
        let tested = self.with_mask(Some(active), |lower| lower.masked_block(frame, condition));
        let more = tested.first().copied().unwrap_or(ll.bool(false));
        let more = self.unless_failed(more);
        let more = ll.and(active, more);
        exit.come_from_here(ll, &values);
        ll.cond_br(ll.any(more), inner, exit.block);

        ll.position_at_end(inner);
        self.bind(frame, &function.blocks[body].params, values.clone());
        let new = self.with_mask(Some(more), |lower| lower.masked_block(frame, body));
        let mut again: Scalars = SmallVec::from_slice(&[more]);
        again.extend(new.iter().zip(&values).map(|(new, old)| ll.select(more, *new, *old)));
        header.jump(ll, &again);
        let values = exit.enter(ll);
        self.bind(frame, &inst.results, values);
    }
}

/// Whether a block must not run without a lane (it touches memory or loops), or is better skipped
/// then.
fn needs_lanes(frame: &Frame, block: BlockId) -> bool {
    let mut insts = 0;
    let mut must = false;
    frame.function.walk(block, &mut |_, inst| {
        insts += 1;
        let own = inst.op.properties();
        must |= own.accesses_memory() || own.has_side_effect() || own.may_trap;
        must |= matches!(inst.op, Op::For { .. } | Op::While { .. });
    });
    must || insts > SKIP_FROM
}
