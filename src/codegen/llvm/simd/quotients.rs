//! How do lanes divide several numbers by one? A vector by its length is the usual case.
//!
//! Of the operations of a lane, division takes longest: ten cycles for sixteen quotients with
//! AVX-512, the time of twenty multiplications. So the reciprocal `r` of the denominator `b` is
//! found once, by a division, and each quotient is corrected by its remainder (Markstein,
//! "Computation of elementary functions on the IBM RISC System/6000 processor", 1990):
//!
//! ```text
//! q = x * r      e = fma(-q, b, x)      x / b = fma(e, r, q)
//! ```
//!
//! These are the bits of the division where `r` is correctly rounded and nothing leaves the range
//! of normal numbers. The last rounding is that of a number which is no further than 2^-22 units in
//! the last place from the quotient. So it could only go wrong where the quotient is as near to the
//! middle of two floats, and of these quotients (for each `b` those of some few `x`, see
//! `tests/llvm/quotients.rs`) none does. Numbers out of the range are divided.

use crate::codegen::llvm::builder::{IntPredicate, Val};
use crate::codegen::llvm::control::Join;
use crate::codegen::llvm::lower::{Lower, Scalars};
use crate::ir::BinaryOp;
use crate::types::Scalar;

/// With fewer numerators the divisions take no longer.
const LEAST_NUMERATORS: usize = 3;

/// Divisions of shorter vectors take half the time, and then this does not pay.
const LEAST_LANES: u32 = 16;

/// A denominator's magnitude is at least 2^-31 and less than 2^33. With a numerator's, at least
/// 2^-63 and less than 2^65, all reciprocals and quotients are normal numbers, and remainders,
/// whose last bit is 2^-48 of the numerator at least, are exact.
const LEAST_DENOMINATOR: i32 = (127 - 31) << 23;
const END_OF_DENOMINATORS: i32 = (127 + 33) << 23;

const LEAST_NUMERATOR: i32 = (127 - 63) << 23;
const END_OF_NUMERATORS: i32 = (127 + 65) << 23;

/// Of the bits of a float32, the highest one of the exponent. The numbers in which it differs from
/// the next one are those at least 2^-63 and less than 2^65.
const HIGHEST: i32 = 1 << 30;

impl<'ctx> Lower<'_, '_, 'ctx> {
    /// The quotients of several float32 numbers by one, where that is faster than the divisions;
    /// None: where not.
    pub fn quotients(
        &mut self,
        op: BinaryOp,
        s: Scalar,
        numerators: &[Val<'ctx>],
        denominators: &[Val<'ctx>],
    ) -> Option<Scalars<'ctx>> {
        let ll = self.ll;
        let &[b] = denominators else { return None };
        let lanes = ll.lanes(b)?;
        let of_vector = lanes / self.mode.lanes().map_or(1, |lanes| lanes.vectors);
        if op != BinaryOp::Div || s != Scalar::F32 || numerators.len() < LEAST_NUMERATORS || of_vector < LEAST_LANES {
            return None;
        }
        let numerators: Scalars = numerators.iter().map(|x| ll.splat(*x, lanes)).collect();
        let [usual, unusual, with_zeros, others] =
            ["usual", "unusual", "zeros", "others"].map(|name| ll.block(self.into.function, name));
        let mut join = Join::new(ll, self.into.function, "quotients", &vec![ll.ty(b); numerators.len()]);

        // Shifted to the left, the sign is gone and each bit is where the next one was.
        let bits = |x: Val<'ctx>| ll.bitcast(x, ll.i32());
        let shifted: Scalars = numerators.iter().map(|x| ll.shl(bits(*x), ll.const_i32(1))).collect();
        let differ = numerators.iter().zip(&shifted).map(|(x, shifted)| ll.xor(bits(*x), *shifted));
        let zero = ll.const_i32(0);
        let all = differ.reduce(|x, y| ll.and(x, y)).unwrap_or(zero);
        let usual_numerators = ll.icmp(IntPredicate::NE, ll.and(all, ll.const_i32(HIGHEST)), zero);
        let magnitude = ll.and(bits(b), ll.const_i32(i32::MAX));
        let denominator = ll.icmp(
            IntPredicate::ULT,
            ll.sub(magnitude, ll.const_i32(LEAST_DENOMINATOR)),
            ll.const_i32(END_OF_DENOMINATORS - LEAST_DENOMINATOR),
        );
        ll.likely_br(self.none_but(ll.and(denominator, usual_numerators)), usual, unusual);

        ll.position_at_end(usual);
        let values = self.corrected(&numerators, b, false);
        join.jump(ll, &values);

        // Zeros take the same way, but that their signs would be lost.
        ll.position_at_end(unusual);
        let good = shifted.iter().map(|x| {
            let least = ll.const_i32(LEAST_NUMERATOR << 1);
            let above =
                ll.icmp(IntPredicate::ULT, ll.sub(*x, least), ll.const_i32((END_OF_NUMERATORS - LEAST_NUMERATOR) << 1));
            ll.or(above, ll.eq(*x, zero))
        });
        let good = good.fold(denominator, |x, y| ll.and(x, y));
        ll.cond_br(self.none_but(good), with_zeros, others);
        ll.position_at_end(with_zeros);
        let values = self.corrected(&numerators, b, true);
        join.jump(ll, &values);

        ll.position_at_end(others);
        let values: Scalars = numerators.iter().map(|x| ll.fdiv(*x, b)).collect();
        join.jump(ll, &values);
        Some(join.enter(ll))
    }

    /// Whether all lanes that are running are in a mask.
    fn none_but(&self, mask: Val<'ctx>) -> Val<'ctx> {
        let others = self.narrowed(self.ll.not(mask));
        self.ll.not(self.ll.any(others))
    }

    /// Quotients in range, or zeros too if they are to keep their signs.
    fn corrected(&self, numerators: &[Val<'ctx>], b: Val<'ctx>, signs: bool) -> Scalars<'ctx> {
        let ll = self.ll;
        let ty = ll.ty(b);
        let fma = |x, y, z| ll.intrinsic("llvm.fma", &[ty], &[x, y, z]);
        let reciprocal = ll.fdiv(ll.fit(ll.const_f32(1.0), ty), b);
        let quotient = |x: &Val<'ctx>| {
            let near = ll.raw_fmul(*x, reciprocal);
            let remainder = fma(ll.fneg(near), b, *x);
            let quotient = fma(remainder, reciprocal, near);
            if signs { ll.intrinsic("llvm.copysign", &[ty], &[quotient, near]) } else { quotient }
        };
        numerators.iter().map(quotient).collect()
    }
}
