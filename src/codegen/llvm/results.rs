//! How does a function give several numbers, on the host in particular?

use llvm_sys::LLVMTypeKind;
use llvm_sys::core::*;

use super::builder::{Func, Llvm, Ty, Val};

/// LLVM's number of the calling convention `swiftcc`.
const SEVERAL_RESULTS: u32 = 16;

// SAFETY of the unsafe blocks below: every handle was made by this `Llvm`, which is alive.
impl Llvm {
    /// A function of the host that gives up to four numbers in registers, by LLVM's convention `swiftcc`. By C's, the third and
    /// fourth float come on the stack of the x87 unit; where LLVM fetches them from there without optimising, it may name
    /// registers above 15 in an instruction that has none of those.
    ///
    /// A fifth and a sixth float go there by both; seven and more through memory. See [`Self::results_ty`].
    pub fn set_several_results(&self, function: Func) {
        unsafe { LLVMSetFunctionCallConv(function.value.0, SEVERAL_RESULTS) }
    }
    /// The struct of such results: with five or six floats, as many more that nobody sets and reads as make seven.
    pub fn results_ty(&self, results: &[Ty]) -> Ty {
        let floats = results.iter().filter(|ty| unsafe {
            use LLVMTypeKind::*;
            matches!(LLVMGetTypeKind(ty.0), LLVMHalfTypeKind | LLVMFloatTypeKind | LLVMDoubleTypeKind)
        });
        let missing = match floats.count() {
            count @ (5 | 6) => 7 - count,
            _ => 0,
        };
        self.struct_ty(&[results, &vec![self.f32(); missing]].concat())
    }
    /// A struct that begins with these numbers, as the result of a function; the others are undefined.
    pub fn results(&self, function: Func, numbers: &[Val]) -> Val {
        let empty = self.undefined(Ty(unsafe { LLVMGetReturnType(function.ty) }));
        numbers.iter().enumerate().fold(empty, |whole, (n, &value)| self.insert_field(whole, value, n as u32))
    }
    pub fn call_several_results(&self, function: Func, args: &[Val]) -> Val {
        let call = self.call(function, args);
        unsafe { LLVMSetInstructionCallConv(call.0, SEVERAL_RESULTS) }
        call
    }
}
