//! Where do a kernel's entries keep values for the reverse sweep? Matrices `[slot][thread]` in host
//! memory, and beside them the counter of slots that threads wanted, and the gradients of
//! parameters.

use crate::diag::Code;
use crate::ir::{Function, TapeBuffer, TapeRole};
use crate::run::args::memory;
use crate::run::args::memory::Buffer;
use crate::run::args::{Arguments, Described};
use crate::run::{Result, fail};
use crate::types::{Scalar, Type};

/// The most bytes that the buffers of one launch take; less where less memory is free.
pub const LIMIT: u64 = 2 << 30;

/// One buffer: `slots` x `threads` scalars, the counter (1 x 1), or the gradients of parameters
/// (`slots` x 1).
pub struct Tape {
    buffer: Buffer,
    slots: u32,
    threads: u32,
    size: u32,
    role: TapeRole,
}

impl Tape {
    /// The buffer for `tape` of `entry`.
    pub fn new(entry: &Function, tape: &TapeBuffer, slots: u32, threads: u64) -> Result<Tape> {
        let scalar = match entry.params().get(tape.param as usize).map(|&p| entry.ty(p)) {
            Some(Type::Array(a)) => Type::from(a.element).as_scalar(),
            _ => None,
        };
        let Some(scalar) = scalar else { return Err(fail(Code::E0999, "a tape buffer is no array of scalars")) };
        let (slots, threads) = match tape.role {
            TapeRole::Needed => (1, 1),
            TapeRole::Parameters => (slots, 1),
            TapeRole::Log | TapeRole::State => (slots, threads),
        };
        let too_large = || too_large(entry, slots, None, threads, u64::from(scalar.size()));
        let row = threads * u64::from(scalar.size());
        if row > i32::MAX as u64 {
            return Err(too_large());
        }
        let make = match tape.role {
            TapeRole::Needed | TapeRole::Parameters => Buffer::zeroed,
            // Slots are written before they are read.
            TapeRole::Log | TapeRole::State => Buffer::scratch,
        };
        let buffer = make(row * u64::from(slots), "the tape").map_err(|_| too_large())?;
        Ok(Tape { buffer, slots, threads: threads as u32, size: scalar.size(), role: tape.role })
    }

    /// What an argument struct says of it.
    pub fn described(&self) -> Described {
        let data = if self.buffer.bytes().is_empty() { 0 } else { self.buffer.address() };
        // A row is at most `i32::MAX` bytes: `new`.
        let (size, row) = (self.size as i32, (self.threads * self.size) as i32);
        let dims = match self.role {
            TapeRole::Needed | TapeRole::Parameters => vec![(self.slots, size)],
            TapeRole::Log | TapeRole::State => vec![(self.slots, row), (self.threads, size)],
        };
        Described { data, grad: 0, dims }
    }

    /// Address and bytes.
    fn memory(&self) -> (u64, u64) {
        (self.buffer.address(), self.buffer.bytes().len() as u64)
    }

    pub fn is_log(&self) -> bool {
        self.role == TapeRole::Log
    }

    /// What was added up, if it is the array for that.
    fn sums(&self) -> Option<Vec<f64>> {
        let bytes = self.buffer.bytes();
        let sum = |bytes: &[u8]| bytes.try_into().map_or(0.0, f64::from_le_bytes);
        (self.role == TapeRole::Parameters).then(|| bytes.chunks_exact(8).map(sum).collect())
    }

    /// What a counter holds: the most slots that a thread wanted, and that thread.
    pub fn count(&self) -> Option<Needed> {
        let bytes = self.buffer.bytes().get(..8).filter(|_| self.role == TapeRole::Needed)?;
        let word = u64::from_le_bytes(bytes.try_into().ok()?);
        Some(Needed { slots: (word >> 32) as u32, thread: word as u32 })
    }
}

/// What the neediest thread of a launch wanted, if there was too little.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Needed {
    pub slots: u32,
    /// Its row-major number.
    pub thread: u32,
}

/// The bytes that one slot of every buffer of a role takes for each thread.
pub fn bytes_per_slot(entry: &Function, role: TapeRole) -> u64 {
    let size = |tape: &TapeBuffer| match entry.params().get(tape.param as usize).map(|&p| entry.ty(p)) {
        Some(Type::Array(a)) => Type::from(a.element).as_scalar().map_or(0, Scalar::size),
        _ => 0,
    };
    entry.tape.iter().filter(|t| t.role == role).map(|t| u64::from(size(t))).sum()
}

/// The slots that surely fit in memory.
pub fn most_slots(entry: &Function, role: TapeRole, threads: u64) -> u32 {
    let each = bytes_per_slot(entry, role).saturating_mul(threads).max(1);
    u32::try_from(LIMIT.min(memory::available() / 2) / each).unwrap_or(u32::MAX).min(i32::MAX as u32)
}

/// The error for a tape that does not fit; `thread`: the one that needs so many slots, where that
/// was measured.
pub fn too_large(entry: &Function, slots: u32, thread: Option<u32>, threads: u64, bytes: u64) -> crate::run::Fail {
    let total = u64::from(slots).saturating_mul(threads).saturating_mul(bytes);
    let name = &entry.source_name;
    let message = format!(
        "the gradient of kernel `{name}` keeps {slots} slots of {bytes} bytes for each of {threads} threads, {total} bytes, and {} are the limit",
        LIMIT.min(memory::available() / 2)
    );
    let mut error = fail(Code::E1106, message);
    if let Some(thread) = thread {
        let own = u64::from(slots).saturating_mul(bytes);
        error
            .notes
            .push(format!("thread {thread} needs the most: {slots} slots, {own} bytes; no gradient was written"));
    }
    let kept = |tape: &&TapeBuffer| matches!(tape.role, TapeRole::Log | TapeRole::State) && !tape.reason.is_empty();
    for tape in entry.tape.iter().filter(kept) {
        error.notes.push(format!("kept: {}", tape.reason));
    }
    error
}

/// Arguments that grew a tape: the block of an entry and what it points to.
pub struct Taped {
    pub block: Buffer,
    pub tapes: Vec<Tape>,
    /// Address and bytes of every buffer that the entry takes, of others' logs too.
    pub memory: Vec<(u64, u64)>,
}

impl Taped {
    /// The argument struct, for the entry.
    pub fn address(&self) -> *const std::ffi::c_void {
        std::ptr::with_exposed_provenance(self.block.address() as usize)
    }

    /// What the counter says; 0 without one.
    pub fn needed(&self) -> Needed {
        self.tapes.iter().filter_map(Tape::count).max().unwrap_or_default()
    }

    /// The gradients of the parameters, if the entry gives them.
    pub fn parameter_gradients(&self) -> Option<Vec<f64>> {
        self.tapes.iter().find_map(Tape::sums)
    }

    /// The argument struct of `entry` with buffers of its own; `logs` are those that another entry
    /// has filled.
    pub fn new(
        arguments: &Arguments,
        entry: &Function,
        structs: &crate::types::StructTable,
        slots: impl Fn(&TapeBuffer) -> u32,
        threads: u64,
        logs: &[Tape],
    ) -> Result<Taped> {
        let mut tapes = Vec::new();
        for tape in &entry.tape {
            if tape.role == TapeRole::Log && !logs.is_empty() {
                continue;
            }
            tapes.push(Tape::new(entry, tape, slots(tape), threads)?);
        }
        let (mut own, mut filled) = (tapes.iter(), logs.iter());
        let mut all = Vec::new();
        for tape in &entry.tape {
            let next = if tape.role == TapeRole::Log && !logs.is_empty() { filled.next() } else { own.next() };
            let next = next.ok_or_else(|| fail(Code::E0999, "the entries of a kernel differ in their logs"))?;
            all.push((tape.param, next));
        }
        let described: Vec<(u32, Described)> = all.iter().map(|(param, tape)| (*param, tape.described())).collect();
        let block = arguments.block_for(entry, structs, &described)?;
        let memory = all.iter().map(|(_, tape)| tape.memory()).collect();
        Ok(Taped { block, tapes, memory })
    }
}
