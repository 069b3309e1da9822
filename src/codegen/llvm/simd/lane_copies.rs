//! How do lanes add to elements that they share, iteration after iteration? Not by summing the
//! lanes each time: while a row runs, each lane adds to a copy of its own, and the copies of all
//! lanes are summed at the end of the row.
//!
//! A copy has room for the elements that one atomic may name during a row, with the numbers of all
//! lanes side by side, so that an update is one wide addition. Whether a copy is worth its room is
//! decided when the row starts: it must be small, and the row long. Only backward entries have
//! copies, since different arrays of gradients share no memory; and only arrays that are added to
//! and not used otherwise.
//!
//! An innermost loop is twice in the code: once for the case that all gradients in it are wanted
//! and all its atomics have copies, without a branch, and once for the others.

use smallvec::SmallVec;

use crate::analysis::alias::{Root, root};
use crate::codegen::llvm::affine::{Affine, Empty};
use crate::codegen::llvm::builder::{Attribute, AttributeLoc, Block, Func, IntPredicate, Llvm, Val};
use crate::codegen::llvm::control::Join;
use crate::codegen::llvm::lower::{Frame, Lower, Scalars};
use crate::codegen::llvm::simd::access::SimdAccess;
use crate::ir::{Access, AtomicOp, BlockId, Function, Inst, Op, ValueId};
use crate::types::{Layout, Scalar, Type};

/// The bytes that the copies of a row may take: they stay in the second-level cache.
const ROOM: u64 = 256 << 10;

/// Rows of fewer lane groups than this have no copies.
pub(super) const MIN_GROUPS: i64 = 8;

/// A copy may have so many elements (as a power of two) for each lane group of the row, and the
/// same again for each loop around the atomic: each costs about as much at the end as one sum over
/// lanes.
const SHIFT_PER_LOOP: i64 = 2;

/// The copies of a row.
pub struct Copies<'ctx> {
    sites: Vec<Site<'ctx>>,
    /// The block before all rows, where stack slots go.
    entry: Block<'ctx>,
    /// What the loop at the cursor takes for true.
    assumed: Option<Vec<Assumption>>,
}

/// What is true or not for a whole row.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Assumption {
    /// The array, which was given, is not null.
    IsSet(ValueId),
    /// The site with this number has a copy.
    HasCopy(usize),
}

/// A loop with more instructions than this is there once in the code.
const MAX_TWICE: usize = 100;

/// The copy of one atomic.
struct Site<'ctx> {
    /// The atomic's result.
    atomic: ValueId,
    scalar: Scalar,
    /// The scalars of an element.
    components: u32,
    /// Where the address of the copy is kept; null: this row has none.
    slot: Val<'ctx>,
    /// The array's first element.
    data: Val<'ctx>,
    /// The indices that are the same for the whole row, and their strides (i32).
    fixed: Vec<(Affine<'ctx>, Val<'ctx>)>,
    /// The extents (i32) and strides (i32) of the other dimensions.
    open: Vec<(Val<'ctx>, Val<'ctx>)>,
    /// Loops around the atomic.
    depth: u32,
}

impl<'ctx> Site<'ctx> {
    /// Bytes of one scalar of all lanes.
    fn lane_bytes(&self, lanes: u32) -> u32 {
        self.scalar.size() * lanes
    }

    /// Whether the row has the copy, and its address.
    fn copy(&self, ll: &Llvm<'ctx>) -> (Val<'ctx>, Val<'ctx>) {
        let copy = ll.load(ll.ptr(0), self.slot, 8);
        (ll.icmp(IntPredicate::NE, ll.ptr_to_int(copy, ll.i64()), ll.const_i64(0)), copy)
    }
}

impl<'ctx> Copies<'ctx> {
    pub fn new(entry: Block<'ctx>) -> Copies<'ctx> {
        Copies { sites: Vec::new(), entry, assumed: None }
    }

    /// Makes the copies of the part `first..end` of a row, at the cursor.
    pub fn emit_start(&self, ll: &Llvm<'ctx>, first: Val<'ctx>, end: Val<'ctx>, lanes: u32) {
        let (Some(widest), zero) = (self.sites.iter().map(|s| s.lane_bytes(lanes)).max(), ll.const_i64(0)) else {
            return;
        };
        let room = ll.alloca(self.entry, ROOM, widest);
        let groups = ll.sdiv(ll.sub(end, first), ll.const_i64(lanes.into()));
        let long = ll.icmp(IntPredicate::SGE, groups, ll.const_i64(MIN_GROUPS));
        let mut taken = zero;
        for site in &self.sites {
            let most = ll.const_i64(ROOM as i64);
            let slots = site.open.iter().fold(ll.const_i64(1), |slots, (extent, _)| {
                // Extents are clamped, so that nothing overflows.
                let extent = ll.intrinsic("llvm.smin", &[ll.i64()], &[ll.sext(*extent, ll.i64()), most]);
                ll.mul(slots, extent)
            });
            let shift = SHIFT_PER_LOOP * i64::from(site.depth.min(3) + 1);
            let worth = ll.icmp(IntPredicate::SLE, slots, ll.mul(groups, ll.const_i64(1 << shift)));
            let bytes = ll.mul(slots, ll.const_i64(i64::from(site.components * site.lane_bytes(lanes))));
            let after = ll.add(taken, bytes);
            let fits = ll.icmp(IntPredicate::SLE, after, most);
            let is_set = ll.icmp(IntPredicate::NE, ll.ptr_to_int(site.data, ll.i64()), zero);
            let used = ll.and(ll.and(long, is_set), ll.and(worth, fits));
            let null = ll.int_to_ptr(zero, ll.ptr(0));
            ll.store(ll.select(used, ll.offset(room, taken), null), site.slot, 8);
            // Copies of narrow scalars leave the wide ones aligned.
            let padded = ll.and(ll.add(after, ll.const_i64(i64::from(widest) - 1)), ll.const_i64(-i64::from(widest)));
            taken = ll.select(used, padded, taken);
        }
        ll.clear(room, taken, widest);
    }
}

impl<'a, 'ctx> Lower<'_, 'a, 'ctx> {
    /// Whether an atomic has a copy in this row, and the address of what it adds to there; None
    /// where it can have none. The access is one that all lanes share, inside the array.
    pub fn copy_of(
        &mut self,
        frame: &Frame<'a, 'ctx>,
        op: AtomicOp,
        access: &Access,
        place: &SimdAccess<'ctx>,
        inst: &'a Inst,
    ) -> Option<(Val<'ctx>, Val<'ctx>)> {
        let ll = self.ll;
        let copies = self.mode.copies()?;
        let lanes = self.simd_width();
        let known = |site: &Site<'ctx>| inst.results.first() == Some(&site.atomic);
        let number = match copies.sites.iter().position(known) {
            Some(number) => number,
            None => {
                let site = self.new_site(frame, op, access, place, inst)?;
                let copies = self.mode.copies_mut()?;
                copies.sites.push(site);
                copies.sites.len() - 1
            }
        };
        let parts = self.array(frame, access.array);
        let (mut at, mut open) = (ll.const_i64(0), 0);
        for (dim, &i) in access.indices.iter().enumerate() {
            if self.fixed_index(frame, i, parts.extents[dim]).is_none() {
                let (index, _) = self.index(frame, i, dim as u32, parts.extents[dim], false);
                at = ll.add(ll.mul(at, ll.sext(parts.extents[dim], ll.i64())), index.wide);
                open += 1;
            }
        }
        let site = self.mode.copies()?.sites.get(number).filter(|site| site.open.len() == open)?;
        let bytes = i64::from(site.lane_bytes(lanes));
        let first = i64::from(place.part_offset() / site.scalar.size()) * bytes;
        let offset = ll.add(ll.mul(at, ll.const_i64(bytes * i64::from(site.components))), ll.const_i64(first));
        let (exists, copy) = site.copy(ll);
        let exists = if self.assume(Assumption::HasCopy(number)) { ll.bool(true) } else { exists };
        Some((exists, ll.offset(copy, offset)))
    }

    fn new_site(
        &mut self,
        frame: &Frame<'a, 'ctx>,
        op: AtomicOp,
        access: &Access,
        place: &SimdAccess<'ctx>,
        inst: &'a Inst,
    ) -> Option<Site<'ctx>> {
        let summed =
            self.mode.lanes()?.plan.is_sum(frame.function, access.array) && is_whole(frame.function, access.array);
        let scalar = place.part.scalar_part()?;
        let element = place.element();
        let packed = Layout::of(element, &self.ir.structs).size == scalar.size() * element.scalar_count()?;
        let adds = matches!(op, AtomicOp::Add | AtomicOp::Sub) && matches!(scalar, Scalar::F32 | Scalar::F64);
        if !summed || !adds || !packed || element.scalar_part() != Some(scalar) {
            return None;
        }
        let parts = self.array(frame, access.array);
        let (mut fixed, mut open) = (Vec::new(), Vec::new());
        for (dim, &i) in access.indices.iter().enumerate() {
            match self.fixed_index(frame, i, parts.extents[dim]) {
                Some(form) => fixed.push((form, parts.strides[dim])),
                // Adding the copy goes over the whole dimension: rows of other workers may stand
                // there.
                None if self.mode.lanes()?.plan.differs_between_rows(i) => return None,
                None => open.push((parts.extents[dim], parts.strides[dim])),
            }
        }
        let few = open.len() <= 2 && access.indices.len() == parts.extents.len();
        let slot = self.ll.alloca(self.mode.copies()?.entry, 8, 8);
        few.then_some(Site {
            atomic: *inst.results.first()?,
            scalar,
            components: element.scalar_count()?,
            slot,
            data: parts.data,
            fixed,
            open,
            depth: self.loops.depth,
        })
    }

    /// An index that is the same for the whole row, known before it, and looked at there.
    fn fixed_index(&mut self, frame: &Frame<'a, 'ctx>, index: ValueId, extent: Val<'ctx>) -> Option<Affine<'ctx>> {
        if !matches!(frame.scalar_ty(index), Scalar::I32 | Scalar::U32) {
            return None;
        }
        let value = frame.scalar(index);
        let form = self.facts.fixed_form(self.ll, value)?;
        // Copies are read and written whether a thread adds to them or not.
        self.mode.guards_mut()?.require_within(self.ll, &self.facts, [value, extent], Empty::Refused)?;
        Some(form)
    }

    /// Notes what the loop at the cursor takes for true; false: it does not.
    fn assume(&mut self, what: Assumption) -> bool {
        let Some(assumed) = self.mode.copies_mut().and_then(|copies| copies.assumed.as_mut()) else { return false };
        if !assumed.contains(&what) {
            assumed.push(what);
        }
        true
    }

    /// Whether the loop at the cursor takes it for true that an array was given, which `condition`
    /// tests.
    pub fn assume_set(&mut self, frame: &Frame<'a, 'ctx>, condition: ValueId) -> bool {
        let Some(&Op::IsSet(array)) = frame.function.op(condition) else { return false };
        matches!(root(frame.function, array), Root::Param(..))
            && is_whole(frame.function, array)
            && self.assume(Assumption::IsSet(array))
    }

    /// Whether a loop is twice in the code.
    pub fn stands_twice(&self, frame: &Frame<'a, 'ctx>, inst: &Inst, body: BlockId) -> bool {
        let Some(lanes) = self.mode.lanes().filter(|lanes| lanes.mask.is_none()) else { return false };
        if self.mode.copies().is_none_or(|copies| copies.assumed.is_some()) {
            return false;
        }
        let (mut insts, mut plain, mut adds) = (0, true, false);
        frame.function.walk(body, &mut |_, inst| {
            insts += 1;
            plain &= !matches!(inst.op, Op::For { .. } | Op::While { .. });
            adds |= matches!(&inst.op, Op::Atomic { access: Access { array, .. }, .. } if lanes.plan.is_sum(frame.function, *array));
        });
        let mut differ = false;
        if let Op::For { start, end, step, .. } = &inst.op {
            differ = [start, end, step].iter().any(|&&v| lanes.plan.varies(v));
        }
        plain && adds && !differ && insts <= MAX_TWICE
    }

    /// Runs `make`, which lowers a loop, twice: in a way that takes things for true, and in the
    /// general way for the case that one of them is not.
    pub fn twice(
        &mut self,
        frame: &mut Frame<'a, 'ctx>,
        results: &[ValueId],
        make: impl Fn(&mut Self, &mut Frame<'a, 'ctx>),
    ) {
        let ll = self.ll;
        let before = ll.current_block();
        let [with, without] = ["all", "some"].map(|name| ll.block(self.into.function, name));
        let mut join = Join::new(ll, self.into.function, "endtwice", &self.types_of(frame, results));
        let mut assumed = Some(Vec::new());
        for block in [with, without] {
            ll.position_at_end(block);
            self.swap_assumed(&mut assumed);
            make(self, frame);
            self.swap_assumed(&mut assumed);
            join.jump(ll, &frame.flat(results));
            if block == with {
                let end = ll.current_block();
                ll.position_at_end(before);
                let all = assumed.take().unwrap_or_default();
                let holds = all.iter().map(|what| self.holds(frame, *what)).fold(ll.bool(true), |a, b| ll.and(a, b));
                ll.cond_br(holds, with, without);
                ll.position_at_end(end);
            }
        }
        let values = join.enter(ll);
        self.bind(frame, results, values);
    }

    fn swap_assumed(&mut self, other: &mut Option<Vec<Assumption>>) {
        if let Some(copies) = self.mode.copies_mut() {
            std::mem::swap(&mut copies.assumed, other);
        }
    }

    fn holds(&self, frame: &Frame<'a, 'ctx>, what: Assumption) -> Val<'ctx> {
        match what {
            Assumption::IsSet(array) => self.is_set(frame, array),
            Assumption::HasCopy(number) => {
                let site = self.mode.copies().and_then(|copies| copies.sites.get(number));
                site.map_or(self.ll.bool(false), |site| site.copy(self.ll).0)
            }
        }
    }

    /// Adds a number of each lane, per component, to a copy.
    pub fn add_to_copy(&mut self, op: AtomicOp, s: Scalar, copy: Val<'ctx>, own: &[Val<'ctx>]) {
        let ll = self.ll;
        for (k, own) in own.iter().enumerate() {
            let at = ll.offset_by(copy, k as u64 * u64::from(s.size() * self.simd_width()));
            let old = ll.load(ll.ty(*own), at, s.size());
            ll.store(self.combine(op, s, old, *own), at, s.size());
        }
    }

    /// Adds the copies of a row to their arrays, at the cursor.
    pub fn add_copies(&mut self, copies: &Copies<'ctx>) {
        let ll = self.ll;
        for site in &copies.sites {
            let add = self.adder(site.scalar);
            let (exists, copy) = site.copy(ll);
            let wide = |value: Val<'ctx>| ll.sext(value, ll.i64());
            self.when(Some(exists), |_| {
                let base = site.fixed.iter().fold(site.data, |base, (form, stride)| {
                    ll.offset(base, ll.mul(form.emit_fixed(ll), wide(*stride)))
                });
                let mut args: SmallVec<[Val; 8]> = SmallVec::from_slice(&[copy, base]);
                args.extend((site.open.len()..2).flat_map(|_| [ll.const_i64(1), ll.const_i64(0)]));
                args.extend(site.open.iter().flat_map(|(extent, stride)| [wide(*extent), wide(*stride)]));
                args.push(ll.const_i64(site.components.into()));
                ll.call_void(add, &args);
                Scalars::new()
            });
        }
    }

    /// A function that adds a copy to its array: the copy, the first element, two extents with
    /// their strides (i64), the components of an element (i64).
    fn adder(&mut self, s: Scalar) -> Func<'ctx> {
        let ll = self.ll;
        let lanes = self.simd_width();
        let i64 = ll.i64();
        let name = format!("kc_add_copy_{}x{lanes}", s.size() * 8);
        let known = ll.function_has_body(&name);
        let made = ll.declare(&name, None, &[ll.ptr(0), ll.ptr(0), i64, i64, i64, i64, i64], false);
        if known {
            return made;
        }
        ll.set_internal(made);
        for flag in ["noinline", "nounwind"] {
            ll.add_attribute(made, AttributeLoc::Function, Attribute::Flag(flag));
        }
        let here = ll.current_block();
        let p = |n| ll.param(made, n);
        let start = ll.block(made, "start");
        ll.position_at_end(start);
        let size = ll.const_i64(s.size().into());
        let wide = ll.vector_ty(self.ops.ty(s), lanes);
        // Three loops: the extents, the components. Each counts, and moves in the copy and in the
        // array.
        let bounds = [(p(2), p(3)), (p(4), p(5)), (p(6), size)];
        let mut loops = Vec::new();
        let (mut before, mut copy, mut address) = (start, p(0), p(1));
        let done = ll.block(made, "done");
        for (count, _) in bounds {
            let (head, body) = (ll.block(made, "head"), ll.block(made, "body"));
            ll.br(head);
            ll.position_at_end(head);
            let phis = [ll.phi(i64), ll.phi(ll.ptr(0)), ll.phi(ll.ptr(0))];
            for (phi, value) in phis.iter().zip([ll.const_i64(0), copy, address]) {
                ll.add_incoming(*phi, value, before);
            }
            loops.push((head, phis));
            let out = loops.len().checked_sub(2).map(|_| ll.block(made, "next"));
            ll.cond_br(ll.icmp(IntPredicate::SLT, phis[0], count), body, out.unwrap_or(done));
            if let Some(out) = out {
                // The loop around this one goes on, at the copy's next number.
                let (outer, [n, _, at]) = loops[loops.len() - 2];
                ll.position_at_end(out);
                let stride = bounds[loops.len() - 2].1;
                let next = [ll.add(n, ll.const_i64(1)), phis[1], ll.offset(at, stride)];
                loops[loops.len() - 2].1.iter().zip(next).for_each(|(phi, v)| ll.add_incoming(*phi, v, out));
                ll.br(outer);
            }
            ll.position_at_end(body);
            (before, copy, address) = (body, phis[1], phis[2]);
        }
        let sum = self.across(AtomicOp::Add, s, ll.load(wide, copy, s.size()));
        let old = self.read(s, address);
        let new = self.combine(AtomicOp::Add, s, old, sum);
        self.write(s, address, new);
        if let Some((head, phis)) = loops.pop() {
            let bytes = ll.const_i64((s.size() * lanes).into());
            let next = [ll.add(phis[0], ll.const_i64(1)), ll.offset(copy, bytes), ll.offset(address, size)];
            phis.iter().zip(next).for_each(|(phi, v)| ll.add_incoming(*phi, v, ll.current_block()));
            ll.br(head);
        }
        ll.position_at_end(done);
        ll.ret(None);
        ll.position_at_end(here);
        made
    }
}

/// An array as it was given, not a part of one; its root is a parameter.
fn is_whole(function: &Function, array: ValueId) -> bool {
    let Some(op) = function.op(array) else { return true };
    let Op::Extract(whole, _) = op else { return false };
    is_whole(function, *whole) && matches!(function.ty(array), Type::Array(_))
}
