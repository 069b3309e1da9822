//! What does each scalar operation compute? The arithmetic rules of the IR (7 to 11) in LLVM
//! instructions, the same on every target and bit for bit.
//!
//! `bool` is an `i1`. A `float16` or `bfloat16` value is carried as the `float` of the same value:
//! the operation is done in a wider format and its result rounded once. For `+ - * / sqrt` the 24
//! bits of `float` are wide enough that rounding twice gives the same as rounding once (Figueroa,
//! "When is double rounding innocuous?", 1995: p >= 2q + 2). Where that does not hold (`fma`,
//! conversions from wider types), the first rounding is *to odd*, which keeps the information that
//! a second rounding needs (Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums",
//! 2008).

use super::builder::{FloatPredicate, IntPredicate, Llvm, Ty, Val};
use crate::ir::{BinaryOp, CompareOp, Const, UnaryOp};
use crate::types::Scalar;

/// What a target does with floats itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Floats {
    /// It converts between `half` and `float`.
    pub half: bool,
    /// It multiplies a float by a power of two that an integer names, with one rounding.
    pub scale: bool,
}

impl Floats {
    pub const NVPTX: Floats = Floats { half: true, scale: false };
}

/// Builds scalar operations.
#[derive(Clone, Copy)]
pub struct Ops<'a, 'ctx> {
    pub ll: &'a Llvm<'ctx>,
    pub floats: Floats,
    pub is_host: bool,
    /// Quotients, roots and functions of `float32` are the hardware's approximations
    /// ([`super::approximate`]).
    pub fast: bool,
}

fn is_narrow(s: Scalar) -> bool {
    matches!(s, Scalar::F16 | Scalar::BF16)
}

impl<'ctx> Ops<'_, 'ctx> {
    /// The LLVM type of a value.
    pub fn ty(&self, s: Scalar) -> Ty<'ctx> {
        match s {
            Scalar::F16 | Scalar::BF16 | Scalar::F32 => self.ll.f32(),
            Scalar::F64 => self.ll.f64(),
            _ => self.ll.int_ty(s.bits()),
        }
    }

    /// The LLVM type of a value in memory.
    pub fn memory_ty(&self, s: Scalar) -> Ty<'ctx> {
        match s {
            Scalar::F32 => self.ll.f32(),
            Scalar::F64 => self.ll.f64(),
            Scalar::F16 if self.floats.half => self.ll.half(),
            _ => self.ll.int_ty(s.size() * 8),
        }
    }

    pub fn constant(&self, c: Const) -> Val<'ctx> {
        match c.scalar {
            Scalar::BF16 => self.ll.const_f32(f32::from_bits((c.bits as u32) << 16)),
            Scalar::F16 => self.ll.const_f32(half::f16::from_bits(c.bits as u16).to_f32()),
            Scalar::F32 => self.ll.const_f32(f32::from_bits(c.bits as u32)),
            Scalar::F64 => self.ll.const_f64(f64::from_bits(c.bits)),
            s => self.ll.int(self.ty(s), c.bits),
        }
    }

    pub fn zero(&self, s: Scalar) -> Val<'ctx> {
        self.ll.zero(self.ty(s))
    }

    fn int(&self, s: Scalar, value: i64) -> Val<'ctx> {
        self.ll.int(self.ty(s), value as u64)
    }

    // Memory formats

    /// From the format in memory.
    pub fn decode(&self, s: Scalar, raw: Val<'ctx>) -> Val<'ctx> {
        match s {
            Scalar::Bool => self.ll.icmp(IntPredicate::NE, raw, self.ll.int(self.ll.i8(), 0)),
            Scalar::F16 if self.floats.half => self.ll.fpext(raw, self.ll.f32()),
            Scalar::F16 | Scalar::BF16 => self.from_bits(s, raw),
            _ => raw,
        }
    }

    /// To the format in memory.
    pub fn encode(&self, s: Scalar, value: Val<'ctx>) -> Val<'ctx> {
        match s {
            Scalar::Bool => self.ll.zext(value, self.ll.i8()),
            // Exact: the value is one of float16.
            Scalar::F16 if self.floats.half => self.ll.fptrunc(value, self.ll.half()),
            Scalar::F16 | Scalar::BF16 => self.to_bits(s, value),
            _ => value,
        }
    }

    /// The bits of a value as an integer of its size.
    pub fn to_bits(&self, s: Scalar, value: Val<'ctx>) -> Val<'ctx> {
        let ll = self.ll;
        let i16 = ll.int_ty(16);
        match s {
            Scalar::Bool => ll.zext(value, ll.i8()),
            Scalar::F16 if self.floats.half => ll.bitcast(ll.fptrunc(value, ll.half()), i16),
            Scalar::F16 => {
                let c = |v: u32| ll.const_i32(v as i32);
                let bits = ll.bitcast(value, ll.i32());
                let sign = ll.and(ll.lshr(bits, c(16)), c(0x8000));
                let magnitude = ll.and(bits, c(0x7fff_ffff));
                let normal = ll.lshr(ll.sub(magnitude, c(112 << 23)), c(13));
                // 0.5 has the spacing of float16's subnormals, so that the sum holds the count of
                // them in its low bits.
                let sum = ll.raw_fadd(ll.bitcast(magnitude, ll.f32()), ll.const_f32(0.5));
                let subnormal = ll.sub(ll.bitcast(sum, ll.i32()), c(0.5f32.to_bits()));
                let special = ll.or(c(0x7c00), ll.lshr(ll.and(magnitude, c(0x7f_ffff)), c(13)));
                let finite = ll.select(ll.icmp(IntPredicate::ULT, magnitude, c(113 << 23)), subnormal, normal);
                let result = ll.select(ll.icmp(IntPredicate::UGE, magnitude, c(0x7f80_0000)), special, finite);
                ll.trunc(ll.or(result, sign), i16)
            }
            Scalar::BF16 => ll.trunc(ll.lshr(ll.bitcast(value, ll.i32()), ll.const_i32(16)), i16),
            Scalar::F32 => ll.bitcast(value, ll.i32()),
            Scalar::F64 => ll.bitcast(value, ll.i64()),
            _ => value,
        }
    }

    /// The value with these bits.
    pub fn from_bits(&self, s: Scalar, bits: Val<'ctx>) -> Val<'ctx> {
        let ll = self.ll;
        match s {
            Scalar::Bool => ll.icmp(IntPredicate::NE, bits, ll.int(ll.i8(), 0)),
            Scalar::F16 if self.floats.half => ll.fpext(ll.bitcast(bits, ll.half()), ll.f32()),
            Scalar::F16 => {
                let c = |v: u32| ll.const_i32(v as i32);
                let bits = ll.zext(bits, ll.i32());
                let sign = ll.shl(ll.and(bits, c(0x8000)), c(16));
                let shifted = ll.shl(ll.and(bits, c(0x7fff)), c(13));
                let normal = ll.add(shifted, c(112 << 23));
                let special = ll.add(shifted, c(224 << 23));
                let biased = ll.bitcast(ll.add(shifted, c(113 << 23)), ll.f32());
                let least = ll.const_f32(f32::from_bits(113 << 23));
                let subnormal = ll.bitcast(ll.raw_fsub(biased, least), ll.i32());
                let finite = ll.select(ll.icmp(IntPredicate::ULT, shifted, c(0x0400 << 13)), subnormal, normal);
                let result = ll.select(ll.icmp(IntPredicate::UGE, shifted, c(0x7c00 << 13)), special, finite);
                ll.bitcast(ll.or(result, sign), ll.f32())
            }
            Scalar::BF16 => ll.bitcast(ll.shl(ll.zext(bits, ll.i32()), ll.const_i32(16)), ll.f32()),
            Scalar::F32 => ll.bitcast(bits, ll.f32()),
            Scalar::F64 => ll.bitcast(bits, ll.f64()),
            _ => bits,
        }
    }

    // Rounding

    /// Rounds a `float` to the values of `s`.
    fn narrow(&self, s: Scalar, value: Val<'ctx>) -> Val<'ctx> {
        let ll = self.ll;
        let c = |v: u32| ll.const_i32(v as i32);
        match s {
            Scalar::F16 if self.floats.half => ll.fpext(ll.fptrunc(value, ll.half()), ll.f32()),
            Scalar::F16 => {
                let bits = ll.bitcast(value, ll.i32());
                let sign = ll.and(bits, c(0x8000_0000));
                let magnitude = ll.xor(bits, sign);
                let normal = self.round_low_bits(magnitude, 13);
                // From 65520 on the rounded value is 65536, which is infinity.
                let overflow = ll.icmp(IntPredicate::UGE, normal, c(0x4780_0000));
                let normal = ll.select(overflow, c(0x7f80_0000), normal);
                let half = ll.const_f32(0.5);
                let subnormal = ll.raw_fsub(ll.raw_fadd(ll.bitcast(magnitude, ll.f32()), half), half);
                let tiny = ll.icmp(IntPredicate::ULT, magnitude, c(113 << 23));
                let finite = ll.select(tiny, ll.bitcast(subnormal, ll.i32()), normal);
                let quiet = ll.and(ll.or(magnitude, c(0x40_0000)), c(0xffff_e000));
                let nan = ll.icmp(IntPredicate::UGT, magnitude, c(0x7f80_0000));
                ll.bitcast(ll.or(ll.select(nan, quiet, finite), sign), ll.f32())
            }
            Scalar::BF16 => {
                let bits = ll.bitcast(value, ll.i32());
                let rounded = self.round_low_bits(bits, 16);
                let quiet = ll.and(ll.or(bits, c(0x40_0000)), c(0xffff_0000));
                let nan = ll.fcmp(FloatPredicate::UNO, value, value);
                ll.bitcast(ll.select(nan, quiet, rounded), ll.f32())
            }
            _ => value,
        }
    }

    /// Clears the low `count` bits of an i32, rounding to nearest even.
    fn round_low_bits(&self, bits: Val<'ctx>, count: u32) -> Val<'ctx> {
        let ll = self.ll;
        let odd = ll.and(ll.lshr(bits, ll.const_i32(count as i32)), ll.const_i32(1));
        let bump = ll.add(odd, ll.const_i32((1 << (count - 1)) - 1));
        ll.and(ll.add(bits, bump), ll.const_i32(-1 << count))
    }

    /// A `double` as the `float` below or above it whose last bit is 1, or as itself where that is
    /// exact.
    fn f64_to_f32_odd(&self, value: Val<'ctx>) -> Val<'ctx> {
        let ll = self.ll;
        let nearest = ll.fptrunc(value, ll.f32());
        let back = ll.fpext(nearest, ll.f64());
        let bits = ll.bitcast(nearest, ll.i32());
        let even = ll.eq(ll.and(bits, ll.const_i32(1)), ll.const_i32(0));
        let larger = ll.fcmp(FloatPredicate::OGT, self.fabs(back), self.fabs(value));
        let smaller = ll.fcmp(FloatPredicate::OLT, self.fabs(back), self.fabs(value));
        let step = ll.select(larger, ll.const_i32(-1), ll.select(smaller, ll.const_i32(1), ll.const_i32(0)));
        let step = ll.select(even, step, ll.const_i32(0));
        ll.bitcast(ll.add(bits, step), ll.f32())
    }

    fn f64_to_narrow(&self, s: Scalar, value: Val<'ctx>) -> Val<'ctx> {
        self.narrow(s, self.f64_to_f32_odd(value))
    }

    // Operations

    fn fabs(&self, a: Val<'ctx>) -> Val<'ctx> {
        self.float_intrinsic("llvm.fabs", &[a])
    }

    fn float_intrinsic(&self, name: &'static str, args: &[Val<'ctx>]) -> Val<'ctx> {
        self.ll.intrinsic(name, &[self.ll.ty(args[0])], args)
    }

    /// The smaller or the larger of two floats: the other one where one is NaN, and -0 below 0.
    ///
    /// The host's scalars compare, for two reasons. LLVM 22's scalar code for AVX-512 gives the NaN
    /// of an operand of `minimumnum` or `maximumnum` where it knows that the other operand is none:
    /// `min(float(n), x)`, `min(max(x, 0.5), x)`. And loops of these it does not make vectors of.
    fn extremum(&self, max: bool, a: Val<'ctx>, b: Val<'ctx>) -> Val<'ctx> {
        let ll = self.ll;
        if !self.is_host || ll.lanes(a).is_some() || ll.lanes(b).is_some() {
            return self.float_intrinsic(if max { "llvm.maximumnum" } else { "llvm.minimumnum" }, &[a, b]);
        }
        let beyond = ll.fcmp(if max { FloatPredicate::OGT } else { FloatPredicate::OLT }, a, b);
        let alone = ll.fcmp(FloatPredicate::UNO, b, b);
        let one = ll.select(ll.or(beyond, alone), a, b);
        // Equal floats differ in the sign of zero at most.
        let bits = if ll.ty(a) == ll.f64() { ll.i64() } else { ll.i32() };
        let [x, y] = [a, b].map(|v| ll.bitcast(v, bits));
        let both = ll.bitcast(if max { ll.and(x, y) } else { ll.or(x, y) }, ll.ty(a));
        ll.select(ll.fcmp(FloatPredicate::OEQ, a, b), both, one)
    }

    pub fn unary(&self, op: UnaryOp, s: Scalar, a: Val<'ctx>) -> Val<'ctx> {
        let ll = self.ll;
        let float = s.is_float();
        match op {
            UnaryOp::Neg if float => ll.fneg(a),
            UnaryOp::Neg => ll.neg(a),
            UnaryOp::Not | UnaryOp::BitNot => ll.not(a),
            UnaryOp::Abs if float => self.fabs(a),
            UnaryOp::Abs if s.is_signed_int() => ll.intrinsic("llvm.abs", &[ll.ty(a)], &[a, ll.bool(false)]),
            UnaryOp::Abs | UnaryOp::Tf32 => a,
            UnaryOp::Sqrt if self.fast && s == Scalar::F32 => ll.approximate(self.float_intrinsic("llvm.sqrt", &[a])),
            UnaryOp::Sqrt => self.narrow(s, self.float_intrinsic("llvm.sqrt", &[a])),
            UnaryOp::Floor => self.float_intrinsic("llvm.floor", &[a]),
            UnaryOp::Ceil => self.float_intrinsic("llvm.ceil", &[a]),
            UnaryOp::Trunc => self.float_intrinsic("llvm.trunc", &[a]),
            UnaryOp::RoundEven => self.float_intrinsic("llvm.roundeven", &[a]),
            UnaryOp::Round => self.float_intrinsic("llvm.round", &[a]),
            UnaryOp::PopCount => ll.intrinsic("llvm.ctpop", &[ll.ty(a)], &[a]),
            UnaryOp::LeadingZeros => ll.intrinsic("llvm.ctlz", &[ll.ty(a)], &[a, ll.bool(false)]),
        }
    }

    pub fn binary(&self, op: BinaryOp, s: Scalar, a: Val<'ctx>, b: Val<'ctx>) -> Val<'ctx> {
        let ll = self.ll;
        let (float, signed) = (s.is_float(), s.is_signed_int());
        match op {
            BinaryOp::Add if float => self.narrow(s, self.wide(s, a, b, Llvm::fadd, Llvm::raw_fadd)),
            BinaryOp::Sub if float => self.narrow(s, self.wide(s, a, b, Llvm::fsub, Llvm::raw_fsub)),
            BinaryOp::Mul if float => self.narrow(s, self.wide(s, a, b, Llvm::fmul, Llvm::raw_fmul)),
            BinaryOp::Div if self.fast && s == Scalar::F32 => ll.approximate(ll.fdiv(a, b)),
            BinaryOp::Div if float => self.narrow(s, ll.fdiv(a, b)),
            BinaryOp::Add => ll.add(a, b),
            BinaryOp::Sub => ll.sub(a, b),
            BinaryOp::Mul => ll.mul(a, b),
            BinaryOp::Div => self.divide(s, a, b).0,
            BinaryOp::Rem => self.divide(s, a, b).1,
            BinaryOp::FloorDiv => {
                let (quotient, remainder) = self.divide(s, a, b);
                if !signed {
                    return quotient;
                }
                // One less where the division is inexact and the signs differ. x / 0 has remainder
                // x but stays 0.
                let zero = self.int(s, 0);
                let inexact = ll.icmp(IntPredicate::NE, remainder, zero);
                let differ = ll.icmp(IntPredicate::SLT, ll.xor(a, b), zero);
                let nonzero = ll.icmp(IntPredicate::NE, b, zero);
                let less = ll.and(ll.and(inexact, differ), nonzero);
                ll.sub(quotient, ll.zext(less, self.ty(s)))
            }
            BinaryOp::Min | BinaryOp::Max if float => self.extremum(op == BinaryOp::Max, a, b),
            BinaryOp::Min if s == Scalar::Bool => ll.and(a, b),
            BinaryOp::Max if s == Scalar::Bool => ll.or(a, b),
            BinaryOp::Min => ll.intrinsic(if signed { "llvm.smin" } else { "llvm.umin" }, &[ll.ty(a)], &[a, b]),
            BinaryOp::Max => ll.intrinsic(if signed { "llvm.smax" } else { "llvm.umax" }, &[ll.ty(a)], &[a, b]),
            BinaryOp::And => ll.and(a, b),
            BinaryOp::Or => ll.or(a, b),
            BinaryOp::Xor => ll.xor(a, b),
            BinaryOp::Shl => self.shift(s, a, b, Llvm::shl),
            BinaryOp::Shr if signed => {
                let last = self.int(s, i64::from(s.bits()) - 1);
                ll.ashr(a, ll.intrinsic("llvm.umin", &[ll.ty(a)], &[b, last]))
            }
            BinaryOp::Shr => self.shift(s, a, b, Llvm::lshr),
            BinaryOp::CopySign => self.float_intrinsic("llvm.copysign", &[a, b]),
            BinaryOp::MulHigh => {
                let wide = ll.int_ty(s.bits() * 2);
                let product = ll.mul(ll.zext(a, wide), ll.zext(b, wide));
                let width = ll.int(wide, u64::from(s.bits()));
                ll.trunc(ll.lshr(product, width), self.ty(s))
            }
            BinaryOp::AbsDiff => ll.sub(self.binary(BinaryOp::Max, s, a, b), self.binary(BinaryOp::Min, s, a, b)),
        }
    }

    /// Contraction would skip the rounding of a narrow float.
    fn wide(&self, s: Scalar, a: Val<'ctx>, b: Val<'ctx>, full: Binary<'ctx>, narrow: Binary<'ctx>) -> Val<'ctx> {
        if is_narrow(s) { narrow(self.ll, a, b) } else { full(self.ll, a, b) }
    }

    /// Quotient and remainder with the results of rule 7 for a zero divisor and for MIN / -1.
    fn divide(&self, s: Scalar, a: Val<'ctx>, b: Val<'ctx>) -> (Val<'ctx>, Val<'ctx>) {
        let ll = self.ll;
        let (zero, one) = (self.int(s, 0), self.int(s, 1));
        let by_zero = ll.eq(b, zero);
        let (quotient, remainder) = if s.is_signed_int() {
            let least = self.int(s, i64::MIN >> (64 - s.bits()));
            let overflow = ll.and(ll.eq(a, least), ll.eq(b, self.int(s, -1)));
            // MIN / 1 = MIN, MIN % 1 = 0: what MIN / -1 shall give.
            let divisor = ll.select(ll.or(by_zero, overflow), one, b);
            (ll.sdiv(a, divisor), ll.srem(a, divisor))
        } else {
            let divisor = ll.select(by_zero, one, b);
            (ll.udiv(a, divisor), ll.urem(a, divisor))
        };
        (ll.select(by_zero, zero, quotient), ll.select(by_zero, a, remainder))
    }

    /// 0 for counts of the width or more; a negative count is a large unsigned one.
    fn shift(&self, s: Scalar, a: Val<'ctx>, count: Val<'ctx>, shift: Binary<'ctx>) -> Val<'ctx> {
        let ll = self.ll;
        let width = self.int(s, i64::from(s.bits()));
        let within = ll.icmp(IntPredicate::ULT, count, width);
        // PTX counts in 32 bits, and LLVM leaves the comparison to the instruction, which sees the
        // low half of a count of 64.
        let halved = !self.is_host && s.bits() == 64;
        let count = if halved { ll.intrinsic("llvm.umin", &[ll.ty(a)], &[count, width]) } else { count };
        ll.select(within, shift(ll, a, count), self.int(s, 0))
    }

    /// a * b + c, rounded once.
    pub fn fma(&self, s: Scalar, a: Val<'ctx>, b: Val<'ctx>, c: Val<'ctx>) -> Val<'ctx> {
        let ll = self.ll;
        if !is_narrow(s) {
            return self.float_intrinsic("llvm.fma", &[a, b, c]);
        }
        // The product is exact in double. The error of the sum (Knuth's TwoSum) tells which way it
        // was rounded.
        let wide = |v| ll.fpext(v, ll.f64());
        let (p, c) = (ll.raw_fmul(wide(a), wide(b)), wide(c));
        let sum = ll.raw_fadd(p, c);
        let c_part = ll.raw_fsub(sum, p);
        let p_part = ll.raw_fsub(sum, c_part);
        let error = ll.raw_fadd(ll.raw_fsub(p, p_part), ll.raw_fsub(c, c_part));
        let zero = ll.const_f64(0.0);
        let bits = ll.bitcast(sum, ll.i64());
        let even = ll.eq(ll.and(bits, ll.const_i64(1)), ll.const_i64(0));
        // False for NaN, which the error is when the sum is not finite.
        let up = ll.fcmp(FloatPredicate::OGT, error, zero);
        let down = ll.fcmp(FloatPredicate::OLT, error, zero);
        let negative = ll.icmp(IntPredicate::SLT, bits, ll.const_i64(0));
        let outward = ll.select(negative, down, up);
        let inexact = ll.or(up, down);
        let step = ll.select(outward, ll.const_i64(1), ll.const_i64(-1));
        let step = ll.select(ll.and(inexact, even), step, ll.const_i64(0));
        self.f64_to_narrow(s, ll.bitcast(ll.add(bits, step), ll.f64()))
    }

    pub fn compare(&self, op: CompareOp, s: Scalar, a: Val<'ctx>, b: Val<'ctx>) -> Val<'ctx> {
        if s.is_float() {
            let how = match op {
                CompareOp::Eq => FloatPredicate::OEQ,
                CompareOp::Ne => FloatPredicate::UNE,
                CompareOp::Lt => FloatPredicate::OLT,
                CompareOp::Le => FloatPredicate::OLE,
                CompareOp::Gt => FloatPredicate::OGT,
                CompareOp::Ge => FloatPredicate::OGE,
            };
            return self.ll.fcmp(how, a, b);
        }
        let signed = s.is_signed_int();
        let how = match (op, signed) {
            (CompareOp::Eq, _) => IntPredicate::EQ,
            (CompareOp::Ne, _) => IntPredicate::NE,
            (CompareOp::Lt, true) => IntPredicate::SLT,
            (CompareOp::Le, true) => IntPredicate::SLE,
            (CompareOp::Gt, true) => IntPredicate::SGT,
            (CompareOp::Ge, true) => IntPredicate::SGE,
            (CompareOp::Lt, false) => IntPredicate::ULT,
            (CompareOp::Le, false) => IntPredicate::ULE,
            (CompareOp::Gt, false) => IntPredicate::UGT,
            (CompareOp::Ge, false) => IntPredicate::UGE,
        };
        self.ll.icmp(how, a, b)
    }

    pub fn cast(&self, from: Scalar, to: Scalar, a: Val<'ctx>) -> Val<'ctx> {
        let ll = self.ll;
        if from == to {
            return a;
        }
        match (from.is_float(), to.is_float()) {
            (_, _) if to == Scalar::Bool => {
                if from.is_float() {
                    ll.fcmp(FloatPredicate::UNE, a, self.zero(from))
                } else {
                    ll.icmp(IntPredicate::NE, a, self.zero(from))
                }
            }
            (false, false) => {
                if from.bits() > to.bits() {
                    ll.trunc(a, self.ty(to))
                } else if from.bits() == to.bits() {
                    a
                } else if from.is_signed_int() {
                    ll.sext(a, self.ty(to))
                } else {
                    ll.zext(a, self.ty(to))
                }
            }
            (true, false) if ll.lanes(a).is_some() && to == Scalar::I32 => self.lanes_to_i32(from, a),
            // The instruction (`cvt.rzi`) saturates and takes NaN for 0, which LLVM does not count
            // on. From 64 bits or to 64 bits a NaN gives another number.
            (true, false) if !self.is_host && ll.ty(a) == ll.f32() && matches!(to, Scalar::I32 | Scalar::U32) => {
                let name = if to == Scalar::I32 { "llvm.nvvm.f2i.rz" } else { "llvm.nvvm.f2ui.rz" };
                ll.intrinsic(name, &[], &[a])
            }
            (true, false) => {
                let name = if to.is_signed_int() { "llvm.fptosi.sat" } else { "llvm.fptoui.sat" };
                ll.intrinsic(name, &[self.ty(to), ll.ty(a)], &[a])
            }
            (false, true) => self.int_to_float(from, to, a),
            (true, true) => match (from, to) {
                (Scalar::F64, Scalar::F32) => ll.fptrunc(a, ll.f32()),
                (Scalar::F64, _) => self.f64_to_narrow(to, a),
                (_, Scalar::F64) => ll.fpext(a, ll.f64()),
                (_, Scalar::F32) => a,
                _ => self.narrow(to, a),
            },
        }
    }

    /// Saturates by comparisons: LLVM's own `llvm.fptosi.sat` of vectors goes lane by lane on x86.
    fn lanes_to_i32(&self, from: Scalar, a: Val<'ctx>) -> Val<'ctx> {
        let ll = self.ll;
        let float = |value: f64| match from {
            Scalar::F64 => ll.const_f64(value),
            _ => ll.const_f32(value as f32),
        };
        let (least, end) = (float(-2147483648.0), float(2147483648.0));
        // False for NaN.
        let fits = ll.and(ll.fcmp(FloatPredicate::OGE, a, least), ll.fcmp(FloatPredicate::OLT, a, end));
        let whole = ll.fptosi(ll.select(fits, a, float(0.0)), ll.i32());
        let low = ll.select(ll.fcmp(FloatPredicate::OLT, a, least), ll.const_i32(i32::MIN), whole);
        ll.select(ll.fcmp(FloatPredicate::OGE, a, end), ll.const_i32(i32::MAX), low)
    }

    fn int_to_float(&self, from: Scalar, to: Scalar, a: Val<'ctx>) -> Val<'ctx> {
        let ll = self.ll;
        let signed = from.is_signed_int();
        let convert = |a: Val<'ctx>, ty: Ty<'ctx>| if signed { ll.sitofp(a, ty) } else { ll.uitofp(a, ty) };
        if !is_narrow(to) {
            return convert(a, self.ty(to));
        }
        match from.bits() {
            // Exact in float.
            ..=16 => self.narrow(to, convert(a, ll.f32())),
            // Exact in double.
            ..=32 => self.f64_to_narrow(to, convert(a, ll.f64())),
            _ => {
                // Where double could not hold the integer, the low 11 bits are folded into one that
                // says "inexact".
                let magnitude = if signed { ll.intrinsic("llvm.abs", &[ll.i64()], &[a, ll.bool(false)]) } else { a };
                let low = ll.and(magnitude, ll.const_i64(0x7ff));
                let sticky = ll.zext(ll.icmp(IntPredicate::NE, low, ll.const_i64(0)), ll.i64());
                let high = ll.and(magnitude, ll.const_i64(!0x7ff));
                let folded = ll.or(high, ll.shl(sticky, ll.const_i64(11)));
                let large = ll.icmp(IntPredicate::UGE, magnitude, ll.const_i64(1 << 53));
                let wide = ll.uitofp(ll.select(large, folded, magnitude), ll.f64());
                let wide = if signed {
                    let negative = ll.icmp(IntPredicate::SLT, a, ll.const_i64(0));
                    ll.select(negative, ll.fneg(wide), wide)
                } else {
                    wide
                };
                self.f64_to_narrow(to, wide)
            }
        }
    }

    /// Between scalars of one size.
    pub fn bitcast(&self, from: Scalar, to: Scalar, a: Val<'ctx>) -> Val<'ctx> {
        if from == to || (from.is_int() && to.is_int()) { a } else { self.from_bits(to, self.to_bits(from, a)) }
    }
}

type Binary<'ctx> = fn(&Llvm<'ctx>, Val<'ctx>, Val<'ctx>) -> Val<'ctx>;
