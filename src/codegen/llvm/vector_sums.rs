//! Which sums add a whole vector to memory in one instruction? `red` of two or four `float32`, or
//! of two to eight halves, which GPUs have from sm_90 on (PTX ISA 8.1): where nobody asks for the
//! old value, and the element lies at a multiple of its size, as it does in dense arrays
//! ([`super::ArrayLayout`]). Each number is a sum of its own, as without.
//!
//! In the code for arrays of any strides nothing is known of where elements lie. A test there would
//! be an `and`, a comparison and a branch (three instructions a warp) beside two or four `red`, and
//! both ways of the code; kc's own launches take the dense code wherever arrays allow it, so that
//! there is none.

use super::builder::Val;
use super::flatten::ARRAY_DATA;
use super::lower::{Frame, Lower, Scalars};
use super::options::PtxOptions;
use crate::analysis::uses;
use crate::ir::{self, Access, AtomicOp, Function, Inst, Op};
use crate::types::{Scalar, Type};

/// The first architecture with such instructions, and the version of PTX.
const SINCE: (u32, u32) = (90, 81);

/// The bytes that one instruction adds to.
const MOST_BYTES: u32 = 16;

/// The numbers of an element that one instruction adds.
fn vector(ty: Type) -> Option<(Scalar, u32)> {
    let (scalar, count) = (ty.scalar_part()?, ty.scalar_count()?);
    let known = matches!(scalar, Scalar::F32 | Scalar::F16) && count > 1 && count.is_power_of_two();
    (known && count * scalar.size() <= MOST_BYTES).then_some((scalar, count))
}

fn adds(function: &Function, op: AtomicOp, access: &Access, inst: &Inst) -> Option<(Scalar, u32)> {
    let &result = inst.results.first()?;
    let whole = access.path.is_empty() && matches!(function.ty(access.array), Type::Array(_));
    let found = vector(function.ty(result)).filter(|_| whole && matches!(op, AtomicOp::Add | AtomicOp::Sub))?;
    (uses(function)[result] == 0).then_some(found)
}

/// Whether code has them.
pub fn has(options: &PtxOptions) -> bool {
    options.arch.number >= SINCE.0 && options.arch.ptx >= SINCE.1
}

/// The version of PTX that the sums of a module ask for; 0 where it has none.
pub fn version(module: &ir::Module, options: &PtxOptions) -> u32 {
    let (arch, version) = SINCE;
    let any = |function: &Function| {
        function.has(|inst| {
            let result = inst.results.first().filter(|_| matches!(inst.op, Op::Atomic { .. }));
            result.is_some_and(|&result| vector(function.ty(result)).is_some())
        })
    };
    let may = options.arch.number >= arch && options.layout.is_dense();
    if may && module.functions.values().any(any) { version } else { 0 }
}

impl<'a, 'ctx> Lower<'_, 'a, 'ctx> {
    /// The numbers that an atomic adds in one instruction.
    pub fn vector_of_sums(
        &self,
        frame: &Frame<'a, 'ctx>,
        op: AtomicOp,
        access: &Access,
        inst: &Inst,
    ) -> Option<(Scalar, u32)> {
        let known = self.state.vector_sums && self.target.is_gpu();
        let data = frame.get(access.array).get(ARRAY_DATA).filter(|data| known && self.aligned.contains(data));
        data.and_then(|_| adds(frame.function, op, access, inst))
    }

    /// Adds them.
    pub fn add_vector(
        &mut self,
        frame: &Frame<'a, 'ctx>,
        op: AtomicOp,
        access: &Access,
        inst: &Inst,
        operands: &Scalars<'ctx>,
    ) -> Scalars<'ctx> {
        let place = self.place(frame, access, inst.span);
        // A composite of no components represents "no results".
        self.checked(&place, Type::Vec(0, Scalar::I32), |lower, place| {
            let part = lower.part(frame, place, &access.path);
            let s = part.ty.scalar_part().unwrap_or(Scalar::F32);
            lower.when(part.exists, |lower| {
                let ll = lower.ll;
                let halves = s == Scalar::F16;
                let number = |v: &Val<'ctx>| {
                    let v = if op == AtomicOp::Sub { ll.fneg(*v) } else { *v };
                    if halves { lower.ops.to_bits(s, v) } else { v }
                };
                let numbers: Scalars = operands.iter().map(number).collect();
                ll.ptx_add_vector(part.pointer, &numbers, halves);
                Scalars::new()
            })
        });
        operands.iter().map(|v| self.ll.zero(self.ll.ty(*v))).collect()
    }
}
