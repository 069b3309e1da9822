//! The call of compiled code on AArch64 (Procedure Call Standard, section 6.1: a function keeps x19
//! to x30 and the low halves of v8 to v15).

std::arch::global_asm!(
    ".p2align 4",
    ".hidden kc_enter",
    ".globl kc_enter",
    "kc_enter:",
    "stp x29, x30, [sp, #-160]!",
    "mov x29, sp",
    "stp x19, x20, [sp, #16]",
    "stp x21, x22, [sp, #32]",
    "stp x23, x24, [sp, #48]",
    "stp x25, x26, [sp, #64]",
    "stp x27, x28, [sp, #80]",
    "stp d8, d9, [sp, #96]",
    "stp d10, d11, [sp, #112]",
    "stp d12, d13, [sp, #128]",
    "stp d14, d15, [sp, #144]",
    "mov x19, x0",
    "mov x9, sp",
    "str x9, [x19]",
    "ldp x4, x9, [x1, #32]",
    "ldp x2, x3, [x1, #16]",
    "ldp x0, x1, [x1]",
    "blr x9",
    ".hidden kc_left",
    ".globl kc_left",
    "kc_left:",
    "str xzr, [x19]",
    "ldp d14, d15, [sp, #144]",
    "ldp d12, d13, [sp, #128]",
    "ldp d10, d11, [sp, #112]",
    "ldp d8, d9, [sp, #96]",
    "ldp x27, x28, [sp, #80]",
    "ldp x25, x26, [sp, #64]",
    "ldp x23, x24, [sp, #48]",
    "ldp x21, x22, [sp, #32]",
    "ldp x19, x20, [sp, #16]",
    "ldp x29, x30, [sp], #160",
    "ret",
);

/// The address of the instruction that comes next.
pub fn instruction(registers: &libc::mcontext_t) -> usize {
    registers.pc as usize
}

/// The thread goes on at `left`, with the stack of `kc_enter` and the place that holds it.
pub fn go_on(registers: &mut libc::mcontext_t, left: usize, stack: usize, frame: usize) {
    registers.sp = stack as u64;
    registers.regs[19] = frame as u64;
    registers.pc = left as u64;
}
