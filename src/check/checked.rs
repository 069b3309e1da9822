//! What comes out of the check of a file.

use std::collections::HashMap;

use crate::check::facts::EditorFacts;
use crate::check::tree::{FnId, Function};
use crate::ids::IdVec;
use crate::ir::ConstantNames;
use crate::source::Span;
use crate::types::StructTable;

/// The checked kernels of one file and every function they reach. A kernel with errors is not in
/// it.
#[derive(Clone, Debug, Default)]
pub struct Checked {
    pub structs: StructTable,
    /// The names of the file for constants.
    pub constants: ConstantNames,
    /// Callees come before their callers.
    pub functions: IdVec<FnId, Function>,
    /// The launchable entries of `functions`, in source order.
    pub kernels: Vec<FnId>,
    /// How many threads a block has, to code in which they have values of their own.
    pub block_dim: u32,
    /// By kernel, as the file names it, how many dimensions its launches have, with that of the
    /// threads of `wp.launch_tiled`, if known.
    pub launched: HashMap<String, Option<usize>>,
    /// Where the kernels are that the file launches with one thread alone.
    pub alone: Vec<Span>,
    /// Where the kernels are whose GPU code takes the hardware's approximations.
    pub fast: Vec<Span>,
    /// The names of all kernels and functions of the file, good or not.
    pub declared: Vec<String>,
    /// The kernels without errors that cannot be compiled: they need what only Python knows.
    pub unresolved: Vec<Unresolved>,
    /// What became of each kernel of the file, as it is written.
    pub verdicts: Vec<Verdict>,
    /// Empty unless the options asked for them.
    pub facts: EditorFacts,
}

/// A kernel as it is written, and what became of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Verdict {
    pub name: String,
    /// All of it, decorators too.
    pub span: Span,
    pub end: End,
}

/// How the check of a kernel ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum End {
    /// It is compiled, for one kind of arguments at least.
    Ok,
    /// It needs what only Python knows.
    Unresolved,
    Errors,
}

/// A kernel that was checked and cannot be compiled.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unresolved {
    /// Of its entry.
    pub name: String,
    /// Where the warning that says why is.
    pub span: Span,
}
