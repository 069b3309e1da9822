//! What do kernels with `fast_math` compute in place of exact `float32` functions? What nvcc does
//! for `-use_fast_math`, and Warp with it: the instructions that a GPU has for 2^x, the logarithm
//! to base 2, sine, cosine, quotients and roots, subnormal numbers as zeros, and other functions by
//! formulas of these. Other types, and functions that nvcc has no formula for, stay exact.

use super::builder::{Attribute, AttributeLoc, Func, Llvm, Val};
use super::lower::{Lower, Scalars};
use crate::ir::{BinaryOp, FuncId};
use crate::types::Scalar;

/// Subnormal `float32` are zeros in a function, as operands and as results (`.ftz`).
pub fn flush_subnormals<'ctx>(ll: &Llvm<'ctx>, function: Func<'ctx>) {
    let flush = Attribute::Text("denormal-fp-math-f32", "preserve-sign,preserve-sign");
    ll.add_attribute(function, AttributeLoc::Function, flush);
}

impl<'ctx> Lower<'_, '_, 'ctx> {
    /// A call of a function that the hardware approximates, in code that may.
    pub fn approximated(&self, callee: FuncId, args: &[Scalars<'ctx>]) -> Option<Val<'ctx>> {
        if !self.ops.fast {
            return None;
        }
        let (ll, ops) = (self.ll, self.ops);
        let number = |n: usize| args.get(n).and_then(|scalars| scalars.first().copied());
        let x = number(0).filter(|x| ll.ty(*x) == ll.f32())?;
        let c = |value: f32| ll.const_f32(value);
        let unary = |name, x: Val<'ctx>| ll.approximate(ll.intrinsic(name, &[ll.f32()], &[x]));
        let power = |x| unary("llvm.exp2", x);
        let log2 = |x| ll.intrinsic("llvm.nvvm.lg2.approx.ftz.f", &[], &[x]);
        let [sine, cosine] = ["llvm.sin", "llvm.cos"].map(|name| move |x| unary(name, x));
        Some(match self.ir.functions[callee].cuda_name.as_deref()? {
            "expf" => power(ll.fmul(x, c(std::f32::consts::LOG2_E))),
            "logf" => ll.fmul(log2(x), c(std::f32::consts::LN_2)),
            "log2f" => log2(x),
            "log10f" => ll.fmul(log2(x), c(std::f32::consts::LOG10_2)),
            "powf" => power(ll.fmul(number(1)?, log2(x))),
            "sinf" => sine(x),
            "cosf" => cosine(x),
            "tanf" => ops.binary(BinaryOp::Div, Scalar::F32, sine(x), cosine(x)),
            _ => return None,
        })
    }
}
