//! How do lanes read and write memory? SIMD lanes that lie side by side with one wide access,
//! elements of a few components with wide accesses and shuffles, others lane by lane (gather and
//! scatter).

use smallvec::{SmallVec, smallvec};

use super::interleave::is_interleaved;
use crate::codegen::llvm::affine::InRow;
use crate::codegen::llvm::builder::{IntPredicate, Val};
use crate::codegen::llvm::flatten::{self, Leaf, LeafKind};
use crate::codegen::llvm::indices::DimCheck;
use crate::codegen::llvm::lower::{Frame, Lower, Scalars};
use crate::codegen::sites::SiteKind;
use crate::ir::{Access, Step, ValueId};
use crate::source::Span;
use crate::types::{Layout, Scalar, Type};

/// How many bytes before they are read they are asked for, how many at most at once, and how many
/// come together.
const FETCHED_AHEAD: i64 = 3072;
const FETCHED_MOST: i64 = 1024;
const LINE: usize = 64;

/// The elements that the lanes name.
pub struct SimdAccess<'ctx> {
    /// The element of the first lane, except for what `offsets` adds.
    pub base: Val<'ctx>,
    /// Bytes from one lane to the next.
    step: SimdStep<'ctx>,
    /// Further bytes of each lane (vector of i64).
    offsets: Option<Val<'ctx>>,
    checks: SmallVec<[DimCheck<'ctx>; 2]>,
    site: Option<Val<'ctx>>,
    /// The element.
    ty: Type,
    /// The part of it that the path names, and its first byte.
    pub part: Type,
    part_offset: u32,
    /// A local array holds each scalar of all lanes side by side: this many times the bytes of one
    /// thread's. 1 for arrays.
    scale: u32,
    /// How many bytes (vector of i64) further the elements are that later threads name, if their
    /// addresses are to be asked for.
    later: Option<Val<'ctx>>,
}

#[derive(Clone, Copy)]
enum SimdStep<'ctx> {
    Constant(i64),
    /// i64
    Dynamic(Val<'ctx>),
}

impl<'ctx> SimdAccess<'ctx> {
    pub fn element(&self) -> Type {
        self.ty
    }

    /// Bytes from the start of the element.
    pub fn part_offset(&self) -> u32 {
        self.part_offset
    }

    /// No two lanes name one element.
    pub fn is_spread(&self) -> bool {
        self.offsets.is_none() && matches!(self.step, SimdStep::Constant(step) if step != 0)
    }

    /// In a local array of each lane's own all lanes name one index, so that their scalars of this
    /// type lie side by side.
    fn is_packed(&self, scalar: Scalar) -> bool {
        let packed = matches!(self.step, SimdStep::Constant(step) if step == i64::from(scalar.size()));
        self.scale > 1 && self.offsets.is_none() && packed
    }

    /// All lanes name one element.
    pub fn is_uniform(&self) -> bool {
        self.offsets.is_none() && matches!(self.step, SimdStep::Constant(0))
    }
}

impl<'a, 'ctx> Lower<'_, 'a, 'ctx> {
    /// Finds what the access names in each lane.
    pub fn lane_access(&mut self, frame: &Frame<'a, 'ctx>, access: &Access, span: Span) -> SimdAccess<'ctx> {
        let Access { array, indices, path } = access;
        let ll = self.ll;
        let parts = self.array(frame, *array);
        let size = i64::from(Layout::of_element(parts.element, &self.ir.structs).size);
        let mut base = parts.data;
        let ty = Type::from(parts.element);
        let (mut step, scale) = match ty.scalar_part() {
            Some(s) if self.is_of_lane(frame, *array) => (SimdStep::Constant(s.size().into()), self.simd_width()),
            _ => (SimdStep::Constant(0), 1),
        };
        let mut offsets: Option<Val> = None;
        let mut checks: SmallVec<[DimCheck; 2]> = smallvec![];
        for (dim, &i) in indices.iter().enumerate() {
            let stride = parts.strides[dim];
            let dense = dim + 1 == indices.len()
                && (ll.as_int(stride) == Some(size)
                    || self.mode.guards_mut().is_some_and(|g| g.require_stride(stride, size as u32, &parts.extents)));
            let bytes = if dense { ll.const_i64(size) } else { ll.sext(stride, ll.i64()) };
            let bytes = ll.mul(bytes, ll.const_i64(scale.into()));
            let (at, inner, check) = self.lane_index(frame, i, dim as u32, parts.extents[dim]);
            checks.extend(check);
            if ll.lanes(at).is_some() {
                let more = ll.mul(at, bytes);
                offsets = Some(offsets.map_or(more, |sum| ll.add(sum, more)));
                continue;
            }
            base = ll.offset(base, ll.mul(at, bytes));
            step = match (step, inner) {
                (step, 0) => step,
                (SimdStep::Constant(sum), _) if dense => SimdStep::Constant(sum + inner * size * i64::from(scale)),
                (SimdStep::Constant(0), _) => SimdStep::Dynamic(ll.mul(bytes, ll.const_i64(inner))),
                (SimdStep::Constant(sum), _) => {
                    SimdStep::Dynamic(ll.add(ll.mul(bytes, ll.const_i64(inner)), ll.const_i64(sum)))
                }
                (SimdStep::Dynamic(sum), _) => SimdStep::Dynamic(ll.add(sum, ll.mul(bytes, ll.const_i64(inner)))),
            };
        }
        let later = self.later_element(frame, access, &parts);
        let site = (!checks.is_empty()).then(|| {
            let name = frame.function.values[*array].name.clone().unwrap_or_default();
            self.site(span, SiteKind::Access, &name)
        });
        let (mut part, mut part_offset) = (ty, 0);
        for step in path {
            // The plan takes no other steps.
            let Step::At(n) = *step else { continue };
            part_offset += Layout::step_offset(part, n, &self.ir.structs);
            part = self.step_ty(part, Some(n));
        }
        SimdAccess { base, step, offsets, checks, site, ty, part, part_offset, scale, later }
    }

    /// An index as i64 (of the first lane, with the distance from lane to lane; or of each lane),
    /// and its check.
    fn lane_index(
        &mut self,
        frame: &Frame<'a, 'ctx>,
        index: ValueId,
        dim: u32,
        extent: Val<'ctx>,
    ) -> (Val<'ctx>, i64, Option<DimCheck<'ctx>>) {
        let ll = self.ll;
        let value = frame.scalar(index);
        if ll.lanes(value).is_some()
            && let Some((InRow { first, step, .. }, check)) = self.in_row(frame, index, dim, extent)
        {
            return (first, step, check);
        }
        let (index, check) = self.index(frame, index, dim, extent, false);
        (index.wide, 0, check)
    }

    /// Looks at the checks of an access: reports the first lane that fails, and gives the lanes
    /// that go on (None: all).
    pub fn lanes_within(&mut self, access: &SimdAccess<'ctx>) -> Option<Val<'ctx>> {
        let ll = self.ll;
        let Some(ok) = access.checks.iter().map(|c| c.within).reduce(|a, b| ll.and(a, b)) else { return self.mask() };
        let good = self.narrowed(ok);
        let ok = ll.splat(ok, self.simd_width());
        let bad = self.narrowed(ll.not(ok));
        let (report, go_on) = (ll.block(self.into.function, "outside"), ll.block(self.into.function, "inside"));
        let none = ll.not(ll.any(bad));
        ll.likely_br(none, go_on, report);
        ll.position_at_end(report);
        let lane = ll.first_lane(bad);
        let of = |value: Val<'ctx>| if ll.lanes(value).is_some() { ll.extract_lane(value, lane) } else { value };
        let mut checks = access.checks.iter().rev();
        if let (Some(last), Some(site)) = (checks.next(), access.site) {
            let dim_of = |c: &DimCheck<'ctx>| ll.const_i32(c.dim as i32);
            let first = checks.fold((dim_of(last), of(last.index), of(last.extent)), |rest, c| {
                let within = of(c.within);
                let choose = |later, here| ll.select(within, later, here);
                (choose(rest.0, dim_of(c)), choose(rest.1, of(c.index)), choose(rest.2, of(c.extent)))
            });
            self.with_mask(Some(bad), |lower| lower.report_out_of_bounds(site, first.0, first.1, first.2));
        }
        ll.br(go_on);
        ll.position_at_end(go_on);
        Some(good)
    }

    /// The address of each lane's part at byte `offset` (vector of pointers).
    fn lane_pointers(&self, access: &SimdAccess<'ctx>, offset: u32) -> Val<'ctx> {
        let ll = self.ll;
        let base = ll.offset_by(access.base, u64::from((access.part_offset + offset) * access.scale));
        let offsets = self.lane_offsets(access);
        ll.offset(base, offsets)
    }

    /// The bytes of each lane from the base (vector of i64).
    pub fn lane_offsets(&self, access: &SimdAccess<'ctx>) -> Val<'ctx> {
        let ll = self.ll;
        let lanes = ll.sequence(ll.i64(), self.simd_width());
        let stepped = match access.step {
            SimdStep::Constant(0) => None,
            SimdStep::Constant(bytes) => Some(ll.mul(lanes, ll.const_i64(bytes))),
            SimdStep::Dynamic(bytes) => Some(ll.mul(lanes, bytes)),
        };
        match (stepped, access.offsets) {
            (Some(a), Some(b)) => ll.add(a, b),
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => ll.zero(ll.vector_ty(ll.i64(), self.simd_width())),
        }
    }

    /// The first byte of the part in the first lane.
    pub fn lane_base(&self, access: &SimdAccess<'ctx>) -> Val<'ctx> {
        self.ll.offset_by(access.base, u64::from(access.part_offset * access.scale))
    }

    /// How many scalars of one type make up each element, where lanes lie side by side; which of
    /// them is the part's first.
    fn interleaved(&self, access: &SimdAccess<'ctx>, s: Scalar) -> Option<(u32, u32)> {
        let SimdStep::Constant(step) = access.step else { return None };
        let size = s.size();
        let whole =
            access.ty.scalar_part() == Some(s) && step == i64::from(Layout::of(access.ty, &self.ir.structs).size);
        let components = access.ty.scalar_count().unwrap_or(1);
        (whole && access.scale == 1 && access.offsets.is_none() && is_interleaved(components))
            .then_some((components, access.part_offset / size))
    }

    pub fn load_lanes(&mut self, frame: &Frame<'a, 'ctx>, access: &Access, span: Span) -> Scalars<'ctx> {
        let access = self.lane_access(frame, access, span);
        let mask = self.lanes_within(&access);
        let values = self.read_lanes(&access, mask);
        self.read_later(&access, &values);
        values
    }

    /// Reads what later threads read where the lanes read `values`, if those may be indices.
    fn read_later(&mut self, access: &SimdAccess<'ctx>, values: &Scalars<'ctx>) {
        let ll = self.ll;
        if !access.checks.is_empty() || access.offsets.is_some() || access.scale != 1 {
            return;
        }
        let bytes = match access.step {
            SimdStep::Constant(bytes) => ll.const_i64(bytes),
            SimdStep::Dynamic(bytes) => bytes,
        };
        if let Some(further) = self.to_later(access.part, bytes) {
            let access = SimdAccess { base: ll.outside(access.base, further), checks: smallvec![], ..*access };
            let later = self.read_lanes(&access, None);
            self.note_later(values, &later);
        }
    }

    /// Asks for the elements of later threads.
    pub fn ask_for_later(&self, access: &SimdAccess<'ctx>) {
        let ll = self.ll;
        let Some(bytes) = access.later else { return };
        let bytes = ll.add(self.lane_offsets(access), bytes);
        for lane in 0..self.simd_width() {
            let of_lane = ll.extract_lane(bytes, ll.const_i64(lane.into()));
            ll.prefetch(ll.outside(access.base, of_lane));
        }
    }

    /// What the running lanes read.
    pub fn read_lanes(&mut self, access: &SimdAccess<'ctx>, mask: Option<Val<'ctx>>) -> Scalars<'ctx> {
        let ll = self.ll;
        let lanes = self.simd_width();
        let all = || ll.splat(ll.bool(true), lanes);
        let mut leaves: SmallVec<[(Scalar, u32); 4]> = smallvec![];
        flatten::for_each_leaf(access.part, 0, &self.ir.structs, &mut |Leaf { kind, offset }| {
            // SIMD lanes share their arrays, so that every leaf is a scalar.
            if let LeafKind::Scalar(s) = kind {
                leaves.push((s, offset));
            }
        });
        let scalar = leaves.first().map_or(Scalar::F32, |leaf| leaf.0);
        if access.is_uniform() {
            // Only the checks differ, or nothing.
            let types: Vec<_> = self.leaf_types(access.part).iter().map(|t| ll.vector_ty(*t, lanes)).collect();
            let some = mask.map(|mask| ll.any(mask));
            let values = self.when(some, |lower| {
                let pointer = lower.lane_base(access);
                lower.load_value(pointer, access.part, 1).iter().zip(&types).map(|(v, t)| ll.fit(*v, *t)).collect()
            });
            return match mask {
                Some(mask) => values.iter().map(|v| ll.select(mask, *v, ll.zero(ll.ty(*v)))).collect(),
                None => values,
            };
        }
        if access.is_packed(scalar) {
            // Its own memory: lanes that rest may read it too.
            return leaves
                .iter()
                .map(|&(s, offset)| {
                    let ty = ll.vector_ty(self.ops.memory_ty(s), lanes);
                    let pointer = ll.offset_by(self.lane_base(access), u64::from(offset * access.scale));
                    self.ops.decode(s, ll.load(ty, pointer, s.size()))
                })
                .collect::<Scalars<'ctx>>()
                .into_iter()
                .map(|v| mask.map_or(v, |mask| ll.select(mask, v, ll.zero(ll.ty(v)))))
                .collect();
        }
        self.fetch_ahead(access, mask);
        self.ask_for_later(access);
        match self.interleaved(access, scalar) {
            Some((1, _)) => {
                let ty = ll.vector_ty(self.ops.memory_ty(scalar), lanes);
                let raw = match mask {
                    None => ll.load(ty, access.base, scalar.size()),
                    Some(mask) => ll.masked_load(ty, access.base, scalar.size(), mask),
                };
                smallvec![self.ops.decode(scalar, raw)]
            }
            Some((components, first)) if mask.is_none() => {
                let wanted = first..first + leaves.len() as u32;
                let memory = (self.ops.memory_ty(scalar), scalar.size());
                let parts = self.read_interleaved(access.base, components, wanted, memory);
                parts.into_iter().map(|part| self.ops.decode(scalar, part)).collect()
            }
            _ => leaves
                .iter()
                .map(|&(s, offset)| {
                    let ty = ll.vector_ty(self.ops.memory_ty(s), lanes);
                    let pointers = self.lane_pointers(access, offset);
                    self.ops.decode(s, ll.gather(ty, pointers, s.size(), mask.unwrap_or_else(all)))
                })
                .collect(),
        }
    }

    /// Asks for what the iterations after this one will read. Elements of several scalars go by
    /// faster than the processor's own prefetching keeps up with.
    fn fetch_ahead(&self, access: &SimdAccess<'ctx>, mask: Option<Val<'ctx>>) {
        let SimdStep::Constant(step) = access.step else { return };
        let bytes = step * i64::from(self.simd_width());
        let composite = access.ty.scalar_count().is_some_and(|count| count > 1) && access.part == access.ty;
        let in_turns = mask.is_none() && self.loops.depth == 0 && access.scale == 1 && access.offsets.is_none();
        if !composite || !in_turns || !(1..=FETCHED_MOST).contains(&bytes) {
            return;
        }
        let ll = self.ll;
        for line in (0..bytes).step_by(LINE) {
            let at = ll.outside(access.base, ll.const_i64(FETCHED_AHEAD + line));
            ll.prefetch(at);
        }
    }

    pub fn store_lanes(&mut self, frame: &Frame<'a, 'ctx>, access: &Access, value: ValueId, span: Span) {
        let access = self.lane_access(frame, access, span);
        let mask = self.lanes_within(&access);
        self.write_lanes(&access, mask, frame.get(value));
    }

    /// Writes a value of the running lanes.
    pub fn write_lanes(&mut self, access: &SimdAccess<'ctx>, mask: Option<Val<'ctx>>, values: &Scalars<'ctx>) {
        let ll = self.ll;
        let lanes = self.simd_width();
        let values: Scalars = values.iter().map(|v| ll.splat(*v, lanes)).collect();
        if access.is_uniform() {
            // The last thread wins.
            let some = mask.map(|mask| ll.any(mask));
            self.when(some, |lower| {
                let lane = mask.map_or(ll.const_i64(i64::from(lanes) - 1), |mask| ll.last_lane(mask));
                let last = values.iter().map(|v| ll.extract_lane(*v, lane)).collect();
                let pointer = lower.lane_base(access);
                lower.store_value(pointer, access.part, 1, &last);
                Scalars::new()
            });
            return;
        }
        let mut leaves: SmallVec<[(Scalar, u32); 4]> = smallvec![];
        flatten::for_each_leaf(access.part, 0, &self.ir.structs, &mut |Leaf { kind, offset }| {
            if let LeafKind::Scalar(s) = kind {
                leaves.push((s, offset));
            }
        });
        let scalar = leaves.first().map_or(Scalar::F32, |leaf| leaf.0);
        if access.is_packed(scalar) {
            for (&(s, offset), value) in leaves.iter().zip(&values) {
                let pointer = ll.offset_by(self.lane_base(access), u64::from(offset * access.scale));
                let raw = self.ops.encode(s, *value);
                match mask {
                    None => ll.store(raw, pointer, s.size()),
                    Some(mask) => ll.masked_store(raw, pointer, s.size(), mask),
                }
            }
            return;
        }
        self.ask_for_later(access);
        match self.interleaved(access, scalar) {
            Some((1, _)) => {
                let raw = self.ops.encode(scalar, values[0]);
                match mask {
                    None => ll.store(raw, access.base, scalar.size()),
                    Some(mask) => ll.masked_store(raw, access.base, scalar.size(), mask),
                }
            }
            Some((components, 0)) if mask.is_none() && leaves.len() as u32 == components => {
                let raw = values.iter().map(|v| self.ops.encode(scalar, *v)).collect();
                self.write_interleaved(access.base, raw, scalar.size());
            }
            _ => {
                let mask = mask.unwrap_or_else(|| ll.splat(ll.bool(true), lanes));
                for (&(s, offset), value) in leaves.iter().zip(&values) {
                    let pointers = self.lane_pointers(access, offset);
                    ll.scatter(self.ops.encode(s, *value), pointers, s.size(), mask);
                }
            }
        }
    }

    /// An assert of each running lane.
    pub fn assert_lanes(&mut self, condition: Val<'ctx>, message: &str, span: Span) {
        let ll = self.ll;
        let failed = self.narrowed(ll.not(ll.splat(condition, self.simd_width())));
        let fine = ll.icmp(IntPredicate::EQ, ll.any(failed), ll.bool(false));
        // Inside, the failed lanes are those that run, and the first of them tells.
        self.with_mask(Some(failed), |lower| lower.assert(fine, message, span));
    }
}
