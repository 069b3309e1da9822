//! The intermediate representation: typed, structured, in SSA form. One IR serves forward and
//! backward code, the interpreter, both LLVM back ends and the CUDA text.
//!
//! # Semantics
//!
//! 1. A [`Module`] is a list of functions; a function is a tree of blocks. A block is a list of
//!    instructions that ends in exactly one *terminator* ([`Op::is_terminator`]); terminators stand
//!    nowhere else.
//! 2. Every value is defined once, by an instruction or as a block parameter, and is visible after
//!    its definition in its own block and in the blocks nested in it.
//! 3. `if` runs one of its two blocks, which take no parameters. A block that ends in `yield` gives
//!    the `if` its results.
//! 4. `for` evaluates start, end and step once. It runs its body for i = start, start + step, ...
//!    while i < end (i > end when step < 0; not at all when step = 0). The body's parameters are i
//!    and the carried values; `yield` and `continue` give the next carried values. The results are
//!    the carried values after the last iteration. i never overflows: an iteration that would need
//!    i past the type's range ends the loop.
//! 5. `while` runs its condition block (parameters: the carried values), which yields one bool; if
//!    true it runs the body (parameters: the carried values). `yield` and `continue` in the body
//!    give the next carried values; the results are the carried values at the moment the condition
//!    failed, or those of the `break`.
//! 6. `break`, `continue` leave or restart the innermost loop around them, through any number of
//!    `if`s, carrying that loop's values. `return` leaves the function with its results. None of
//!    the three is in a condition block. An `if` whose branches both leave has no reachable code
//!    after it (its block still ends in a terminator).
//! 7. Integers are two's complement and wrap. `div` truncates, `floor_div` rounds down, `rem` has
//!    the sign of the dividend. x / 0 = 0 and x // 0 = 0, x % 0 = x; MIN / -1 = MIN, MIN % -1 = 0.
//!    `abs_diff` is the distance |a - b| without bounds, and then wraps: of `int8` 127 and -128 it
//!    is -1. Unsigned, it is exact.
//! 8. Shifts by the width or more (or by a negative count) give 0, or for `shr` of a negative
//!    signed value -1.
//! 9. Floats are IEEE 754 with round to nearest even, subnormals kept. `float16` and `bfloat16`
//!    operations round their exact result once. There is no contraction in the IR itself;
//!    [`Op::Fma`] rounds once. Which NaN an operation gives is not fixed, but `neg`, `abs`,
//!    `copy_sign`, `tf32` and `bitcast` work on the bits. `tf32` gives its operand; a `product`
//!    (rule 22) whose factors are `float32` and come of it may round them to TensorFloat-32, with
//!    11 bits.
//! 10. `min`, `max` return the other operand when one is NaN; min(-0, +0) is -0, max is +0.
//! 11. Casts: int to int wraps; float to int truncates toward zero, saturates, and maps NaN to 0;
//!     to float rounds to nearest even; to bool is `x != 0`; from bool is 0 or 1.
//! 12. Arithmetic on composites (vectors, matrices, quaternions) works component by component;
//!     `mul` also takes a scalar on either side and `div` a scalar on the right. `eq`/`ne` on
//!     composites compare all components.
//! 13. Array indices count from 0; a negative index has the extent added once. `load`, `store`,
//!     `atomic` name the array, one index per dimension, and the access path inside the element. In
//!     checked runs an index outside the extent is an error of the run (the load gives zero, the
//!     store does nothing, an atomic gives zero and changes nothing, `view` gives the null array);
//!     unchecked it is undefined. A load or view that nothing uses may be left out, check and all.
//!     An index computed from non-negative numbers by sums and products that overflowed, more or
//!     less a constant, names no element: it may be treated as outside the extent.
//! 14. Component steps by a run-time value have the count added once when negative; outside the
//!     range a read gives 0 and a write changes nothing.
//! 15. `store` is not atomic. `atomic` reads and writes one scalar indivisibly (a composite: each
//!     component by itself) and returns the old value. `atomic_cas` compares bits. Threads of a
//!     launch run in any order.
//! 16. A failed `assert` is an error of the run; the thread goes on.
//! 17. A local array is a reference. A `local_array` instruction names one piece of memory per call
//!     of its function, which it zeroes each time it runs; the reference is good until the function
//!     returns, so it is not among its results.
//! 18. A launch has at most 2^31 - 1 threads along each dimension.
//! 19. `barrier` waits until every thread of the block is there; what any of them wrote to memory
//!     before it, all of them see behind it. The threads of a block reach the same barriers in the
//!     same order: none is under a condition on which they differ. On the host and in the
//!     interpreter a block is one thread, and a barrier does nothing.
//! 20. A function that is `by_block` computes once for each block of threads: its coordinates are
//!     those of the block. As made, it is code of one thread.
//!     [`block_threads`](crate::passes::block_threads) makes code of each thread of a block of it,
//!     in which `thread_in_block` is the number of the thread in its block, and a `shared_array` is
//!     one piece of memory of the block, whose elements are anything until they are set. Where a
//!     block's threads have values of their own (`block_threads`), that code goes through the
//!     threads in loops, which [`thread_loops`](crate::passes::thread_loops) makes; before that, it
//!     is code of any of them, and `thread_in_block` is its number.
//! 21. `check component` says of an index into components that it has to be one (rule 14: -count ..
//!     count, unsigned 0 .. count); any other is an error of the run. It changes no value.
//!     `check element` says the same of an index of a local array (rule 13).
//! 22. `product` is a product of tiles that the threads of a block compute together: `set` makes
//!     `c` that of `a` and `b`, `add` adds it to `c`. All threads come to it, and to barriers
//!     around it where others read or write what it does. It sums in `float32`, or `float64`, in
//!     any order, and rounds once where `c` has less. Whole warps of the block do it with the
//!     matrix instructions of their GPU: `take` loads each thread's fragment of `c` into registers,
//!     `keep` adds to it, `put` stores it, and between the first and the last the elements in `c`
//!     are unspecified. Where a block has no whole warp, its threads add in `c` itself, by `fma`.
//! 23. `copy` sets the first rows and columns of a tile to elements of an array of two dimensions,
//!     starting at the given one; the source must lie inside the array. The threads of the block
//!     do it together. Until the next barrier no thread may access source or destination.
//!
//! 24. `exchange` asks the other threads of the warp: `shuffle`, `up`, `down` and `xor` for the
//!     value that one of them has, `ballot` for the threads in which a condition holds, and `match`
//!     for those that have the same integer, thread `n` of the warp as bit `n`. A warp is 32
//!     threads that follow one another, the last one of the block perhaps fewer. All threads of a
//!     warp come to it together, and whom `shuffle`, `down` and `xor` name is there; where `up` and
//!     `down` name one outside the warp, a thread gets its own value. In the interpreter a warp is
//!     one thread.
//!
//! 25. `array_at` is the array whose elements lie one after another in memory from the first
//!     address on, row major, and their adjoints likewise from the second one on (0: there are
//!     none). Address 0 gives the null array; a negative extent counts as 0. That the memory is
//!     there for the whole launch is for who gives the address; and for `constant_array_at`, that
//!     nothing writes to it.
//!
//! 26. `grid_sync` waits until every thread of the launch is there; what any of them wrote to
//!     memory before it, all see behind it. All threads reach the same ones in the same order. Where
//!     blocks have threads, a launch is cooperative: all blocks are on the device at once. Only
//!     kernels that are not by block have it, and code for the host has none.
//!
//! Text form: [`print`](mod@print), read back by [`parse`]. [`verify`](mod@verify) checks the rules
//! above; [`eval`] computes single operations and [`interp`] whole kernels.

use std::collections::BTreeMap;

use smallvec::SmallVec;

pub use self::exchange::{Ask, Exchange};
pub(crate) use self::groups::{
    accesses, arithmetic, arrays, effects, jumps, nested, parts, plain, reports, straight, threads, together, values,
};
pub use self::op::*;
pub use self::product::{Part, Product, Unit};
pub use self::scalar_op::*;
pub use crate::abi::Phase;
use crate::ids::IdVec;
use crate::source::Span;
use crate::types::{StructTable, Type};
pub use functions::{Functions, LinkedFunction};

mod blocks;
pub mod build;
mod calls;
pub mod eval;
mod exchange;
pub mod fingerprint;
mod functions;
mod groups;
pub mod interp;
mod op;
pub mod parse;
pub mod print;
pub mod print_format;
mod product;
pub mod properties;
mod scalar_op;
mod text;
pub mod verify;

crate::define_id!(
    /// A function of a module.
    FuncId, "@"
);
crate::define_id!(
    /// A value of a function.
    ValueId, "%"
);
crate::define_id!(
    /// A block of a function.
    BlockId, "block"
);
crate::define_id!(
    /// An instruction of a function.
    InstId, "inst"
);

/// Everything compiled from one source file. Callees stand before or after their callers; there is
/// no recursion.
#[derive(Clone, Debug, Default)]
pub struct Module {
    pub structs: StructTable,
    pub functions: Functions,
    pub constants: ConstantNames,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FunctionKind {
    /// An entry point; `rank` is the number of coordinates that its `tid()` gives (1 to 4).
    Kernel { rank: u8 },
    /// Called from kernels and other functions.
    Device,
}

/// How a result of a device function goes back to the caller.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ResultRole {
    /// One of the values after `return`.
    Return,
    /// The new value of parameter `n`, which the source takes by reference. The caller rebinds its
    /// variable.
    ByRef(u32),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ResultInfo {
    pub ty: Type,
    pub role: ResultRole,
    /// What CUDA text calls it where it has to, if anything special. Only the complete text has it.
    pub name: Option<String>,
}

/// What a function of finite arguments may give.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Gives {
    Finite,
    /// Infinite, where an argument is large.
    Overflows,
    /// Infinite or NaN, whatever the arguments.
    Any,
}

impl Gives {
    pub const ALL: [Gives; 3] = [Gives::Finite, Gives::Overflows, Gives::Any];

    /// The word in IR text, and in `@gives` of the library.
    pub fn name(self) -> &'static str {
        match self {
            Gives::Finite => "finite",
            Gives::Overflows => "overflows",
            Gives::Any => "any",
        }
    }

    pub fn from_name(name: &str) -> Option<Gives> {
        Gives::ALL.into_iter().find(|gives| gives.name() == name)
    }
}

#[derive(Clone, Debug)]
pub struct Function {
    /// Unique in the module, and a C identifier: `dot_vec3f`. A forward kernel's name is its source
    /// name.
    pub name: String,
    /// As the user or the library wrote it: `dot`. All entries of a kernel have the kernel's.
    pub source_name: String,
    pub kind: FunctionKind,
    /// `ByRef` results come after the `Return` ones.
    pub results: Vec<ResultInfo>,
    /// The CUDA function that computes the same (`sinf`): CUDA text calls it and does not print the
    /// body.
    pub cuda_name: Option<String>,
    /// The body as CUDA C++ text. Only CUDA text has it: the instructions stand for "this cannot
    /// run".
    pub native: Option<String>,
    /// What it gives for finite arguments, where its code does not show that.
    pub gives: Option<Gives>,
    /// From the built-in library, not from the user's file.
    pub library: bool,
    /// It works on tiles, or calls what does: it computes once for each block of threads.
    pub by_block: bool,
    /// GPU code of it takes the hardware's approximations (`fast_math` of modules;
    /// [`crate::passes::fast_math`]). What it means stays as it is.
    pub fast_math: bool,
    /// It has values that differ between the threads of a block, so blocks of its launches have as
    /// many as it is made for.
    pub block_threads: Option<BlockThreads>,
    /// Which of a kernel's entries this is; `Forward` for device functions.
    pub phase: Phase,
    /// How it is differentiated.
    pub derivative: Derivative,
    /// The buffers among a kernel's last parameters that the caller provides for keeping values.
    pub tape: Vec<TapeBuffer>,
    /// The stores of a kernel that its backward entry takes to be made to an element by one thread
    /// at most, without a proof.
    pub assumed_disjoint: Vec<Span>,
    /// What the loops of a backward entry keep for their reverse, for people and metadata. Only the
    /// complete text has it.
    pub kept: Vec<Kept>,
    /// Remarks for readers of the CUDA text, printed above the instruction.
    pub notes: BTreeMap<InstId, String>,
    pub entry: BlockId,
    pub values: IdVec<ValueId, Value>,
    pub insts: IdVec<InstId, Inst>,
    pub blocks: IdVec<BlockId, Block>,
    pub span: Span,
}

/// The threads of a block that have values of their own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct BlockThreads {
    /// Threads of a block.
    pub threads: u32,
    /// The last coordinate of a launch counts threads; else the coordinates are those of the block,
    /// for all its threads the same.
    pub counted: bool,
    /// The last block of the launch, where it is not full. The number of threads of a launch is
    /// part of such a kernel.
    pub last: Option<LastBlock>,
}

/// The end of the source name of a kernel that was checked for the last block of a launch.
pub const OF_LAST: &str = "@last";

/// A block with fewer threads than the others.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LastBlock {
    /// The blocks before it.
    pub number: u32,
    pub threads: u32,
}

/// How a function is differentiated.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Derivative {
    /// Through its body.
    #[default]
    Body,
    /// By a function of this module that someone wrote. Its parameters are those of the
    /// differentiated function, then one adjoint per array-bearing parameter (the array of
    /// adjoints, or the struct of them), then the adjoint of each result (returned ones, then
    /// by-reference ones). Its results are the additions to the adjoints of the parameters that
    /// hold floats outside arrays ([`Type::holds_floats`]), in order; in a struct, integers are
    /// zero and arrays null. `replay`, if there is one, represents the function where reverse code
    /// computes its results again.
    Rule { adjoint: FuncId, replay: Option<FuncId> },
    /// Reverse code computes and differentiates this function in its place; it has the same
    /// signature.
    Replay(FuncId),
    /// It is zero almost everywhere, or is meant to count as zero, for the reason given.
    Zero(String),
    /// There is none, for the reason given: active use is an error.
    None(String),
    /// This function itself is the adjoint of another one, with the signature of a
    /// [`Derivative::Rule`]; `autodiff` writes its body, which gives zeros until then.
    AdjointOf(FuncId),
}

impl Derivative {
    /// The functions it names.
    pub fn functions_mut(&mut self) -> impl Iterator<Item = &mut FuncId> {
        match self {
            Derivative::Rule { adjoint, replay } => [Some(adjoint), replay.as_mut()],
            Derivative::AdjointOf(of) | Derivative::Replay(of) => [Some(of), None],
            Derivative::Body | Derivative::Zero(_) | Derivative::None(_) => [None, None],
        }
        .into_iter()
        .flatten()
    }

    pub fn functions(&self) -> impl Iterator<Item = FuncId> {
        match *self {
            Derivative::Rule { adjoint, replay } => [Some(adjoint), replay],
            Derivative::AdjointOf(of) | Derivative::Replay(of) => [Some(of), None],
            Derivative::Body | Derivative::Zero(_) | Derivative::None(_) => [None, None],
        }
        .into_iter()
        .flatten()
    }
}

/// What one loop keeps for its reverse.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Kept {
    /// The kind of store: one of [`Kept::STORES`].
    pub store: &'static str,
    /// Bytes per thread and iteration (or snapshot).
    pub bytes: u32,
    /// Iterations (or snapshots) that there is room for; None: the host decides.
    pub slots: Option<u64>,
    /// The variables.
    pub what: String,
    /// Why this store.
    pub why: String,
}

impl Kept {
    pub const STORES: [&'static str; 4] = ["unroll", "stack", "tape", "checkpoint"];
}

/// A buffer that the caller of an entry provides: the parameter `param` of a kernel's function.
/// Most keep values from forward to reverse code, and are a matrix `[slot][thread]` of one scalar
/// type.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TapeBuffer {
    pub param: u32,
    pub role: TapeRole,
    /// The slots that a thread needs at most, where compilation can tell.
    pub slots: Option<u32>,
    /// What is kept and why, for people.
    pub reason: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TapeRole {
    /// The gradients of what the kernel is given by value, as many float64 as there are slots: the
    /// backward entry adds to them, unless the array is null ([`crate::abi::float_arguments`]).
    Parameters,
    /// Values that the launch overwrites: written by the augmented forward entry, read by the
    /// backward entry.
    Log,
    /// State of loops: scratch of the backward entry alone.
    State,
    /// One int64. Receives (by atomic max) in its high half the slots that the thread with the most
    /// needs, in its low half that thread, from threads for which there were not enough. Not zero:
    /// the run has failed, and what it wrote to gradients means nothing.
    Needed,
}

impl TapeRole {
    pub const ALL: [TapeRole; 4] = [TapeRole::Parameters, TapeRole::Log, TapeRole::State, TapeRole::Needed];

    /// The word in IR text and metadata.
    pub fn name(self) -> &'static str {
        match self {
            TapeRole::Parameters => "parameters",
            TapeRole::Log => "log",
            TapeRole::State => "state",
            TapeRole::Needed => "needed",
        }
    }
}

/// What a parameter of a kernel's entry is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ParamRole {
    /// The user's.
    Argument,
    /// The adjoint of argument `n`.
    Adjoint(usize),
    /// A buffer that keeps values: entry `n` of [`Function::tape`].
    Tape(usize),
}

#[derive(Clone, Debug)]
pub struct Value {
    pub ty: Type,
    pub def: ValueDef,
    /// The source variable this value was assigned to, where there was one.
    pub name: Option<String>,
    pub span: Span,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ValueDef {
    /// Result `n` of an instruction.
    Result(InstId, u32),
    /// Parameter `n` of a block; the entry block's parameters are the function's.
    Param(BlockId, u32),
}

#[derive(Clone, Debug, Default)]
pub struct Block {
    pub params: Vec<ValueId>,
    pub insts: Vec<InstId>,
}

pub type Results = SmallVec<[ValueId; 1]>;
pub type Values = SmallVec<[ValueId; 4]>;

#[derive(Debug)]
pub struct Inst {
    pub op: Op,
    pub results: Results,
    pub span: Span,
}

impl Function {
    #[inline]
    pub fn is_kernel(&self) -> bool {
        matches!(self.kind, FunctionKind::Kernel { .. })
    }

    #[inline]
    pub fn params(&self) -> &[ValueId] {
        &self.blocks[self.entry].params
    }

    /// What parameter `n` of a kernel's entry is for: backward entries take the arguments, as many
    /// adjoints, then the tape buffers.
    pub fn param_role(&self, n: usize) -> ParamRole {
        if let Some(at) = self.tape.iter().position(|buffer| buffer.param as usize == n) {
            return ParamRole::Tape(at);
        }
        let arguments = self.params().len().saturating_sub(self.tape.len()) / 2;
        match self.phase {
            Phase::Backward if n >= arguments => ParamRole::Adjoint(n - arguments),
            _ => ParamRole::Argument,
        }
    }

    /// The name of parameter `n`, as interfaces show it.
    pub fn param_name(&self, n: usize) -> String {
        let name = self.params().get(n).and_then(|&p| self.values[p].name.clone());
        name.unwrap_or_else(|| format!("arg{n}"))
    }

    #[inline]
    pub fn ty(&self, value: ValueId) -> Type {
        self.values[value].ty
    }

    /// The instruction that defines a value; None for block parameters.
    #[inline]
    pub fn def(&self, value: ValueId) -> Option<&Inst> {
        match self.values[value].def {
            ValueDef::Result(inst, _) => Some(&self.insts[inst]),
            ValueDef::Param(..) => None,
        }
    }

    /// The operation that defines a value; None for block parameters.
    #[inline]
    pub fn op(&self, value: ValueId) -> Option<&Op> {
        Some(&self.def(value)?.op)
    }

    /// The constant that a value is, if it is one.
    #[inline]
    pub fn as_const(&self, value: ValueId) -> Option<Const> {
        let op = self.op(value)?;
        if let Op::Const(c) = op {
            return Some(*c);
        }
        let scalar = self.ty(value).as_scalar().filter(|_| *op == Op::Zero)?;
        Some(Const::new(scalar, 0))
    }
}

impl Module {
    /// All entries of all kernels: see [`Function::phase`].
    pub fn kernels(&self) -> impl Iterator<Item = (FuncId, &Function)> {
        self.functions.iter().filter(|(_, f)| f.is_kernel())
    }

    /// The entry of a kernel, by its name in the source.
    pub fn entry(&self, kernel: &str, phase: Phase) -> Option<FuncId> {
        self.kernels().find(|(_, f)| f.source_name == kernel && f.phase == phase).map(|(id, _)| id)
    }

    pub fn find(&self, name: &str) -> Option<FuncId> {
        self.functions.iter().find(|(_, f)| f.name == name).map(|(id, _)| id)
    }
}
