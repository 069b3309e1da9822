//! Coalesced stores: the threads of a warp transpose elements, so that it writes whole sectors.
//! Where each thread has an element of several numbers, and their elements lie one behind the
//! other, stores of the first number of all, then of the second one, and so on, reach all of that
//! memory each time, some bytes in each 32 (8 million stores of 3 x 3 matrices took an H200 0.53
//! ms, by rows 0.20, and as many atomic additions 0.87 and 0.28). So the threads swap numbers
//! first: each gets every 32nd of the warp's, and stores go along a row of 32.
//!
//! With `n` numbers in an element, thread `s` has the numbers `n s + c` of the warp, and thread `r`
//! brings `32 j + r` to memory. In turn `t` of the exchange all give their number `c = t`: for odd
//! `n` it goes to another thread each, `r = n s + t` modulo 32, whose row `j` follows from
//! `32 j + r = t` modulo `n`. With the turns in the order `t = 32 u` modulo `n` a thread gets its
//! rows in their order, except for where it begins: they are turned around by selections of powers
//! of two (Catanzaro, Keller and Garland, "A decomposition for in-place matrix transposition",
//! PPoPP 2014, have such exchanges for any number of threads). An even `n` is made of pairs.
//!
//! Whether the threads of a warp are all there, and their elements one behind the other, they ask
//! each other; else each stores its own.

use super::builder::{Attribute, AttributeLoc, IntPredicate, Val};
use super::lower::{Frame, Lower, Scalars};
use crate::ir::{Access, Ask, Op, ValueId};
use crate::types::{Scalar, Type};

/// The threads of a warp.
const LANES: u32 = 32;

/// More numbers than these would take more instructions than memory takes time.
const MOST_UNITS: u32 = 9;

/// An element as `units` numbers, or pairs of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Rows {
    scalar: Scalar,
    /// Odd.
    units: u32,
    per_unit: u32,
}

impl Rows {
    /// How the elements of `ty` are swapped, if they have at least so many numbers or pairs.
    fn of(ty: Type, least: u32) -> Option<Rows> {
        let (scalar, count) = (ty.scalar_part()?, ty.scalar_count()?);
        let per_unit = match scalar.size() {
            4 if count.is_multiple_of(2) => 2,
            4 | 8 => 1,
            _ => return None,
        };
        let units = count / per_unit;
        (units % 2 == 1 && (least..=MOST_UNITS).contains(&units)).then_some(Rows { scalar, units, per_unit })
    }

    /// A number's inverse, modulo another one that it shares no factor with.
    fn inverse(number: u32, modulo: u32) -> u32 {
        (0..modulo).find(|candidate| number * candidate % modulo == 1 % modulo).unwrap_or(0)
    }
}

impl<'a, 'ctx> Lower<'_, 'a, 'ctx> {
    /// How the threads of a warp bring elements of `ty` to memory together, if they are likely to
    /// have one behind the other: the last index is the thread's own.
    pub(super) fn rows(&self, frame: &Frame<'a, 'ctx>, access: &Access, ty: Type, least: u32) -> Option<Rows> {
        let function = frame.function;
        let own = |v: ValueId| if let Some(Op::ThreadIndex(n)) = function.op(v) { Some(*n) } else { None };
        let may = self.state.rows
            && !function.by_block
            && access.path.is_empty()
            && matches!(function.ty(access.array), Type::Array(_));
        let last = own(*access.indices.last().filter(|_| may)?)?;
        // The look at the whole function comes last.
        let rows = Rows::of(ty, least)?;
        (!function.has(|inst| matches!(inst.op, Op::ThreadIndex(n) if n > last))).then_some(rows)
    }

    /// Brings the numbers of an element at `pointer` to memory by `each`: (address, number).
    pub(super) fn by_rows(
        &mut self,
        rows: Rows,
        pointer: Val<'ctx>,
        numbers: &[Val<'ctx>],
        mut each: impl FnMut(&mut Self, Val<'ctx>, Val<'ctx>),
    ) {
        let ll = self.ll;
        // Or LLVM would copy the code around it into branches that threads of a warp take
        // differently.
        ll.add_attribute(self.into.function, AttributeLoc::Function, Attribute::Flag("convergent"));
        let Rows { scalar, units, per_unit } = rows;
        let (size, unit) = (scalar.size(), scalar.size() * per_unit);
        let [ask, together, apart, done] =
            ["side_by_side", "rows", "apart", "brought"].map(|name| ll.block(self.into.function, name));
        let all = ll.const_i32(-1);
        let active = ll.intrinsic("llvm.nvvm.activemask", &[], &[]);
        ll.cond_br(ll.eq(active, all), ask, apart);

        ll.position_at_end(ask);
        let lane = ll.intrinsic("llvm.nvvm.read.ptx.sreg.laneid", &[], &[]);
        let wide = ll.zext(lane, ll.i64());
        let before = |bytes: u32| ll.mul(wide, ll.const_i64(bytes.into()));
        let start = ll.sub(ll.ptr_to_int(pointer, ll.i64()), before(units * unit));
        let first = self.shuffle(Ask::Shuffle, Scalar::U64, all, start, ll.const_i32(0));
        let alike = ll.intrinsic("llvm.nvvm.vote.ballot.sync", &[], &[all, ll.eq(start, first)]);
        ll.cond_br(ll.eq(alike, all), together, apart);

        ll.position_at_end(together);
        // What others of the warp have done with these elements is done, and seen.
        ll.effect_intrinsic("llvm.nvvm.bar.warp.sync", &[all]);
        let numbers_of_rows = self.swapped(rows, lane, numbers);
        let begin = ll.offset(pointer, ll.sub(before(unit), before(units * unit)));
        for (n, &number) in numbers_of_rows.iter().enumerate() {
            let (row, part) = (n as u32 / per_unit, n as u32 % per_unit);
            each(self, ll.offset_by(begin, u64::from(row * LANES * unit + part * size)), number);
        }
        ll.effect_intrinsic("llvm.nvvm.bar.warp.sync", &[all]);
        ll.br(done);

        ll.position_at_end(apart);
        for (n, &number) in numbers.iter().enumerate() {
            each(self, ll.offset_by(pointer, n as u64 * u64::from(size)), number);
        }
        ll.br(done);
        ll.position_at_end(done);
    }

    /// The numbers that a thread brings to memory, by rows, from those of its own element.
    fn swapped(&self, rows: Rows, lane: Val<'ctx>, numbers: &[Val<'ctx>]) -> Scalars<'ctx> {
        let ll = self.ll;
        let Rows { scalar, units, per_unit } = rows;
        if let Some(&first) = numbers.first()
            && ll.is_constant(first)
            && numbers.iter().all(|number| *number == first)
        {
            return Scalars::from_slice(numbers);
        }
        let int = |n: u32| ll.const_i32(n as i32);
        let from_units = Rows::inverse(units, LANES);
        let own = ll.mul(lane, int(from_units));
        let mut got: Vec<Scalars> = Vec::new();
        for u in 0..units {
            let t = LANES * u % units;
            let from = ll.and(ll.sub(own, int(t * from_units % LANES)), int(LANES - 1));
            let parts = (0..per_unit).map(|part| numbers[(t * per_unit + part) as usize]);
            got.push(parts.map(|number| self.shuffle(Ask::Shuffle, scalar, int(u32::MAX), number, from)).collect());
        }
        // Row `j` came in turn `j + around`.
        let around = ll.urem(ll.mul(lane, int(Rows::inverse(LANES, units))), int(units));
        let mut by = 1;
        while by < units {
            let turns = ll.icmp(IntPredicate::NE, ll.and(around, int(by)), int(0));
            let turned = |j: u32, part: usize| {
                let (here, there) = (&got[j as usize], &got[((j + by) % units) as usize]);
                ll.select(turns, there[part], here[part])
            };
            got = (0..units).map(|j| (0..per_unit as usize).map(|part| turned(j, part)).collect()).collect();
            by *= 2;
        }
        got.into_iter().flatten().collect()
    }
}
