//! Where is the element that an index names, and is it there? Rule 13 of the IR.

use super::affine::{Empty, InRow};
use super::builder::{IntPredicate, Val};
use super::lower::{Frame, Lower};
use crate::ir::{BinaryOp, Op, ValueId};
use crate::types::Scalar;

/// One index that is checked at run time.
#[derive(Clone)]
pub struct DimCheck<'ctx> {
    pub dim: u32,
    pub within: Val<'ctx>,
    /// As written, i64.
    pub index: Val<'ctx>,
    /// i32.
    pub extent: Val<'ctx>,
    /// Where a negative index counts from the end: whether it is in bounds as written, and the
    /// index then (i64).
    pub direct: Option<(Val<'ctx>, Val<'ctx>)>,
}

/// An index, not negative where it is in bounds.
#[derive(Clone, Copy)]
pub struct Index<'ctx> {
    /// i64.
    pub wide: Val<'ctx>,
    /// The same as i32, if it was one.
    pub narrow: Option<Val<'ctx>>,
    /// How far it is to the index of the row's next thread, where both are known to be in bounds.
    pub step: Option<i64>,
}

impl<'a, 'ctx> Lower<'_, 'a, 'ctx> {
    /// The index as i64 with the extent added when it was negative, and the check it needs, if any.
    pub fn index(
        &mut self,
        frame: &Frame<'a, 'ctx>,
        index: ValueId,
        dim: u32,
        extent: Val<'ctx>,
        is_local: bool,
    ) -> (Index<'ctx>, Option<DimCheck<'ctx>>) {
        let ll = self.ll;
        let (value, extent) = (frame.scalar(index), self.facts.same(extent));
        if self.facts.is_within(value, extent) {
            let narrow = (self.target.is_gpu() && self.target.is_checked()).then_some(value);
            return (Index { wide: ll.sext(value, ll.i64()), narrow, step: None }, None);
        }
        if let Some(wide) = self.in_part(frame, index, extent) {
            let narrow = self.target.is_gpu().then_some(value);
            return (Index { wide, narrow, step: None }, None);
        }
        if let Some(tests) = &mut self.facts.launch_tests
            && frame.scalar_ty(index) == Scalar::I32
            && tests.test(ll, value, extent, self.loops.depth > 0)
        {
            return (Index { wide: ll.sext(value, ll.i64()), narrow: Some(value), step: None }, None);
        }
        if let Some((InRow { first, step, .. }, check)) = self.in_row(frame, index, dim, extent) {
            return (Index { wide: first, narrow: None, step: Some(step) }, check);
        }
        let s = frame.scalar_ty(index);
        let signed = s.is_signed_int();
        let from_start =
            frame.known.ranges.counts_from_start(frame.at, index) || ll.as_int(value).is_some_and(|n| n >= 0);
        let wraps = signed && !from_start;
        let (number, count, written) = if s.bits() <= 32 {
            let number = self.ops.cast(s, Scalar::I32, value);
            // A uint32 of 2^31 or more is above every extent, as an unsigned number.
            (number, extent, None)
        } else {
            (value, ll.sext(extent, ll.i64()), Some(value))
        };
        let zero = ll.zero(ll.ty(number));
        let wrapped = if wraps {
            let negative = ll.icmp(IntPredicate::SLT, number, zero);
            ll.select(negative, ll.add(number, count), number)
        } else {
            number
        };
        let wide = match written {
            Some(_) => Index { wide: wrapped, narrow: None, step: None },
            None => Index { wide: ll.sext(wrapped, ll.i64()), narrow: Some(wrapped), step: None },
        };
        let extent_known = ll.as_int(count);
        let in_range = |n: i64| extent_known.is_some_and(|count| n >= 0 && n < count);
        // Of tiles, whose extents are constants.
        let proved = || {
            let below = |count| frame.known.ranges.is_below(frame.at, index, count);
            extent_known.and_then(|count| u32::try_from(count).ok()).is_some_and(below)
        };
        // Nothing outside of a tile or a local array is touched on a device either. Its code tells
        // of it before ([`index_checks`]).
        let is_checked = self.target.is_checked() || is_local && self.target.reports_checks();
        if !is_checked || ll.as_int(wrapped).is_some_and(in_range) || proved() {
            return (wide, None);
        }
        let written =
            written.unwrap_or_else(|| if signed { ll.sext(number, ll.i64()) } else { ll.zext(number, ll.i64()) });
        let within = ll.icmp(IntPredicate::ULT, wrapped, count);
        let direct = (wraps && wide.narrow.is_some() && ll.lanes(number).is_none())
            .then(|| (ll.icmp(IntPredicate::ULT, number, count), ll.sext(number, ll.i64())));
        (wide, Some(DimCheck { dim, within, index: written, extent, direct }))
    }

    /// An index that the fast loop over a row has in bounds, and its check where the array may
    /// have no elements.
    pub fn in_row(
        &mut self,
        frame: &Frame<'a, 'ctx>,
        index: ValueId,
        dim: u32,
        extent: Val<'ctx>,
    ) -> Option<(InRow<'ctx>, Option<DimCheck<'ctx>>)> {
        let (ll, value) = (self.ll, frame.scalar(index));
        let always = frame.block == frame.function.entry && frame.function.is_kernel();
        let empty = match self.target.is_checked() {
            false => Empty::Trusted,
            true if always => Empty::Refused,
            true => Empty::Tested { in_loop: self.loops.depth > 0 },
        };
        let signed = match frame.scalar_ty(index) {
            Scalar::I32 => true,
            Scalar::U32 => false,
            _ => return None,
        };
        let found = self.mode.guards_mut()?.require_within(ll, &self.facts, [value, extent], empty)?;
        let check = found.is_tested.then(|| DimCheck {
            dim,
            within: ll.icmp(IntPredicate::NE, extent, ll.zero(ll.ty(extent))),
            index: if signed { ll.sext(value, ll.i64()) } else { ll.zext(value, ll.i64()) },
            extent,
            direct: None,
        });
        Some((found, check))
    }

    /// An index of a part of an array that is inside (`first + n`, or `n` of a part from 0 on), as
    /// i64.
    pub fn in_part(&self, frame: &Frame<'a, 'ctx>, index: ValueId, extent: Val<'ctx>) -> Option<Val<'ctx>> {
        if self.facts.parts() == 0 || frame.scalar_ty(index) != Scalar::I32 {
            return None;
        }
        let (ll, zero) = (self.ll, self.ll.const_i32(0));
        if self.facts.part(frame.scalar(index), extent).is_some_and(|count| count > 0) {
            return Some(ll.sext(frame.scalar(index), ll.i64()));
        }
        let below = |n: ValueId, first: Val<'ctx>| {
            self.facts.part(first, extent).is_some_and(|count| frame.known.ranges.is_below(frame.at, n, count))
        };
        let wide = |value: ValueId| ll.sext(frame.scalar(value), ll.i64());
        if let Some(&Op::Binary(BinaryOp::Add, a, b)) = frame.function.op(index) {
            let known = [(a, b), (b, a)].into_iter().find(|&(first, n)| below(n, frame.scalar(first)));
            if let Some((first, n)) = known {
                return Some(ll.add_nsw(wide(first), wide(n)));
            }
        }
        below(index, zero).then(|| wide(index))
    }

    /// Whether the product of an index and a stride is one instruction that LLVM does not look
    /// into. Where it does several iterations at once, it turns the products into sums, which is
    /// better still.
    pub fn multiplies_by_hand(&self, index: Index<'ctx>) -> bool {
        self.target.is_gpu()
            && !self.loops.unrolled
            && index.narrow.is_some_and(|narrow| self.ll.as_int(narrow).is_none())
    }

    /// `index * stride` as i64.
    pub fn byte_offset(&self, index: Index<'ctx>, stride: Val<'ctx>) -> Val<'ctx> {
        let ll = self.ll;
        match index.narrow {
            Some(narrow) if self.multiplies_by_hand(index) => ll.ptx_mul_wide(narrow, stride),
            _ => ll.mul(index.wide, ll.sext(stride, ll.i64())),
        }
    }
}
