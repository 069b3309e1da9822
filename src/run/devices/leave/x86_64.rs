//! The call of compiled code on x86-64.

std::arch::global_asm!(
    ".p2align 4",
    ".hidden kc_enter",
    ".globl kc_enter",
    "kc_enter:",
    "push rbp",
    "push rbx",
    "push r12",
    "push r13",
    "push r14",
    "push r15",
    "sub rsp, 8",
    "mov rbx, rdi",
    "mov [rbx], rsp",
    "mov rax, [rsi + 40]",
    "mov r8, [rsi + 32]",
    "mov rcx, [rsi + 24]",
    "mov rdx, [rsi + 16]",
    "mov rdi, [rsi]",
    "mov rsi, [rsi + 8]",
    "call rax",
    ".hidden kc_left",
    ".globl kc_left",
    "kc_left:",
    "mov qword ptr [rbx], 0",
    "add rsp, 8",
    "pop r15",
    "pop r14",
    "pop r13",
    "pop r12",
    "pop rbx",
    "pop rbp",
    "ret",
);

/// The address of the instruction that comes next.
pub fn instruction(registers: &libc::mcontext_t) -> usize {
    registers.gregs[libc::REG_RIP as usize] as usize
}

/// The thread goes on at `left`, with the stack of `kc_enter` and the place that holds it.
pub fn go_on(registers: &mut libc::mcontext_t, left: usize, stack: usize, frame: usize) {
    registers.gregs[libc::REG_RSP as usize] = stack as i64;
    registers.gregs[libc::REG_RBX as usize] = frame as i64;
    registers.gregs[libc::REG_RIP as usize] = left as i64;
}
