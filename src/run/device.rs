//! On what does a kernel run? One small interface over the interpreter and the compiled host code.

use std::ffi::c_void;

use super::{Result, fail};
use crate::codegen::abi::LaunchBounds;
use crate::diag::Code;
use crate::ir::{FuncId, Module, Op};
use crate::source::Span;

/// Where kernels run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Device {
    /// Compiled, on all cores.
    Host,
    /// The reference interpreter.
    Interp,
    /// Not in this version.
    Cuda,
}

/// One launch, ready to go.
pub struct Job {
    pub bounds: LaunchBounds,
    /// The argument struct of [`crate::codegen::abi::argument_layout`].
    pub args: *const c_void,
    /// Worker threads; 0: one per core.
    pub threads: usize,
}

/// What came of a launch, besides the contents of its arrays.
#[derive(Debug, Default)]
pub struct Report {
    pub printed: Printed,
    pub trap: Option<Trap>,
}

/// An error of a run; the first thread that met one tells.
#[derive(Clone, Debug, PartialEq)]
pub struct Trap {
    pub kind: TrapKind,
    /// The access or the assertion.
    pub span: Span,
    /// Linear index of the thread.
    pub thread: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub enum TrapKind {
    /// `array` is the array's name in the source, where it has one; `index` is as written, before the extent is added.
    OutOfBounds {
        array: Option<String>,
        dim: u32,
        index: i64,
        extent: i32,
    },
    Assert {
        message: String,
    },
}

/// What a kernel printed, up to a limit: a runaway kernel must not fill the memory.
#[derive(Debug, Default)]
pub struct Printed {
    pub bytes: Vec<u8>,
    truncated: bool,
}

impl Printed {
    const LIMIT: usize = 64 << 20;

    pub fn push(&mut self, text: &[u8]) {
        if self.bytes.len() + text.len() <= Self::LIMIT {
            self.bytes.extend_from_slice(text);
        } else if !self.truncated {
            self.truncated = true;
            self.bytes.extend_from_slice(b"\n... further output was dropped\n");
        }
    }
}

/// Does a thread of the kernel print? Such kernels run in order on one thread, so that the output is always the same.
pub fn prints(module: &Module, kernel: FuncId) -> bool {
    let mut seen = std::collections::HashSet::new();
    let mut open = vec![kernel];
    while let Some(id) = open.pop() {
        if !seen.insert(id) {
            continue;
        }
        let function = &module.functions[id];
        let mut found = false;
        function.walk(function.entry, &mut |_, inst| match &inst.op {
            Op::Print { .. } => found = true,
            Op::Call(callee, _) => open.push(*callee),
            _ => {}
        });
        if found {
            return true;
        }
    }
    false
}

/// Threads per piece of a launch: enough pieces to keep `workers` busy, whole rows where that is possible, and never so
/// few threads that handing them out costs more than running them.
pub fn chunk(bounds: &LaunchBounds, workers: usize) -> u64 {
    const SMALLEST: u64 = 2048;
    let piece = (bounds.size / (workers.max(1) as u64 * 8)).max(SMALLEST);
    let row = bounds.shape.iter().rev().map(|&n| u64::from(n)).find(|&n| n > 1).unwrap_or(1);
    if row <= piece { piece / row * row } else { piece }
}

/// The coordinates of a thread: as many as the launch has dimensions.
pub fn coordinates(bounds: &LaunchBounds, dims: usize, thread: u64) -> Vec<u64> {
    let mut rest = thread;
    let mut at = vec![0; dims.clamp(1, bounds.shape.len())];
    for (c, &n) in at.iter_mut().zip(&bounds.shape).rev() {
        *c = rest % u64::from(n.max(1));
        rest /= u64::from(n.max(1));
    }
    at
}

/// A kernel made ready for a device.
pub enum Executable {}

/// Makes a kernel ready to run.
pub fn prepare(_module: &Module, _kernel: FuncId, _device: Device, _checked: bool) -> Result<Executable> {
    Err(fail(Code::E1104, "no device yet"))
}

impl Executable {
    /// Runs a launch.
    pub fn run(&self, _module: &Module, _job: &Job) -> Report {
        match *self {}
    }
}
