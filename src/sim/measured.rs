//! What did a launch cost, instruction by instruction? The counters beside what their instructions
//! are.

use std::sync::Arc;

use super::code::{Class, Code, Math, Op};
use super::counters::{Counters, Counts};
use super::schedule::Form;
use crate::ptx::{Live, Module, Space, live};

/// One launch of a kernel as it was counted.
#[derive(Clone, Debug)]
pub struct Measured {
    pub entry: String,
    pub form: Form,
    /// What it was counted of, where somebody says so.
    pub text: Option<Text>,
    /// Of a block, without what the launch adds.
    pub shared_bytes: u32,
    /// Those that ran, in the order of the text.
    pub instructions: Vec<Instruction>,
    /// The different 32-byte sectors of global memory that were read, and written.
    pub sectors_read: u64,
    pub sectors_written: u64,
    /// Atomics on the address of global memory that most go to.
    pub one_address: u64,
    /// Those that wait for each other if warps run in step.
    pub in_step: u64,
}

/// A PTX text, and what it says of a kernel's registers.
#[derive(Clone, Debug)]
pub struct Text {
    pub ptx: Arc<str>,
    pub live: Option<Live>,
}

impl Text {
    pub fn of(ptx: &Arc<str>, parsed: &Module, entry: &str) -> Text {
        Text { ptx: ptx.clone(), live: live(parsed, entry) }
    }
}

/// An instruction that ran.
#[derive(Clone, Copy, Debug)]
pub struct Instruction {
    /// Its line in the PTX, from 1.
    pub ptx_line: u32,
    /// The line of the source that it comes from.
    pub line: Option<u32>,
    /// Its column there, from 1; 0: not known.
    pub column: u32,
    pub class: Class,
    pub math: Option<Math>,
    pub branches: bool,
    /// Lanes of a warp tell each other a number: a shuffle, or a reduction.
    pub exchanges: bool,
    pub access: Option<Access>,
    pub counts: Counts,
}

/// What an instruction does to memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    pub space: Space,
    pub kind: AccessKind,
    /// Of a lane.
    pub bytes: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessKind {
    Load,
    Store,
    /// Gives the old value back.
    Atomic,
    /// An atomic whose old value nobody asks for: `red`.
    Reduction,
    /// From global to shared memory: `cp.async`.
    Copy,
}

impl Measured {
    pub(super) fn of(code: &Code, form: &Form, counters: &Counters) -> Measured {
        let instruction = |(at, counts): (usize, &Counts)| {
            let inst = &code.insts[at];
            let (kind, space, bytes) = match &inst.op {
                Op::Load(access) => (AccessKind::Load, access.space, access.bytes * access.values.len() as u32),
                Op::Store(access) => (AccessKind::Store, access.space, access.bytes * access.values.len() as u32),
                Op::Atomic(atomic) if atomic.d.is_none() => (AccessKind::Reduction, atomic.space, atomic.all_bytes()),
                Op::Atomic(atomic) => (AccessKind::Atomic, atomic.space, atomic.all_bytes()),
                Op::CopyAsync(copy) => (AccessKind::Copy, Space::Global, copy.bytes),
                Op::LoadMatrix(load) => (AccessKind::Load, load.space, 16),
                _ => (AccessKind::Load, Space::Generic, 0),
            };
            Instruction {
                ptx_line: inst.at.line,
                line: inst.source.map(|source| source.line).filter(|line| *line > 0),
                column: 0,
                class: inst.class,
                math: inst.math,
                branches: matches!(inst.op, Op::Branch { .. } | Op::Switch { .. }),
                exchanges: matches!(inst.op, Op::Shuffle(_) | Op::Reduce { .. }),
                access: (bytes > 0).then(|| Access { space: counters.spaces[at].unwrap_or(space), kind, bytes }),
                counts: *counts,
            }
        };
        let ran = counters.counts.iter().enumerate().filter(|(_, counts)| counts.executed > 0);
        let [read, written] = &counters.touched;
        Measured {
            entry: code.entry.clone(),
            form: *form,
            text: None,
            shared_bytes: code.shared_bytes,
            instructions: ran.map(instruction).collect(),
            sectors_read: read.count(),
            sectors_written: written.count(),
            one_address: counters.queues.one_address(),
            in_step: counters.queues.in_step(),
        }
    }
}
