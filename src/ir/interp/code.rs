//! The compact form of a function: every value is a range of slots in the function's frame, one
//! `u64` per scalar (as the bits of a constant). An array takes the seven words of its descriptor,
//! a local array its address.

use std::sync::Arc;

use super::multiply::Multiply;
use super::ops;
use crate::ir::AtomicOp;
use crate::source::Span;
use crate::types::{MAX_DIMS, Scalar};

/// A kernel and every function it reaches, ready to run.
pub struct Program {
    /// The kernel is the first.
    pub(super) functions: Vec<FunctionCode>,
    /// Slots and local bytes that the deepest chain of calls needs.
    pub(super) stack_slots: usize,
    pub(super) local_bytes: usize,
    pub(super) params: Vec<Parameter>,
    pub(super) span: Span,
    /// Its threads wait for each other.
    pub(super) waits: bool,
    pub(super) name: Box<str>,
}

impl Program {
    /// Whether the threads of a launch wait for each other: then there are at most
    /// [`MOST_THREADS`](super::MOST_THREADS).
    pub fn waits(&self) -> bool {
        self.waits
    }

    /// Of the kernel.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// A kernel parameter: where it is in the argument struct and in the frame.
pub(super) struct Parameter {
    pub offset: u32,
    pub slot: u32,
    pub leaves: Leaves,
}

/// One scalar of a type: its byte offset in memory. A type's leaves are in the order of its slots.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaf {
    pub offset: u32,
    pub scalar: Scalar,
}

pub(super) type Leaves = Arc<[Leaf]>;

#[derive(Default)]
pub(super) struct FunctionCode {
    /// Slots of the frame; a callee's frame follows it.
    pub slots: usize,
    /// Bytes of its local arrays.
    pub local_bytes: usize,
    /// The first of the slots that hold its constants, which nothing writes once they are set.
    pub constants_at: usize,
    pub constants: Box<[u64]>,
    pub body: Box<[Code]>,
}

/// Copies `count` slots.
#[derive(Clone, Copy, Debug)]
pub(super) struct Move {
    pub from: u32,
    pub to: u32,
    pub count: u32,
}

/// Copies that happen at once.
#[derive(Debug, Default)]
pub(super) struct Moves {
    pub list: Box<[Move]>,
    /// A target of one is a source of another, so all sources are read first.
    pub overlap: bool,
}

/// An integer operand that counts something: `u64` values above the range of `i64` are as good as
/// infinite.
#[derive(Clone, Copy, Debug)]
pub(super) struct Count {
    pub slot: u32,
    pub unsigned: bool,
}

/// A path into a value: a fixed part and steps by run-time values, each to one of `count` parts.
#[derive(Debug)]
pub(super) struct Steps {
    pub slot: u32,
    pub byte: u32,
    pub dynamic: Box<[DynamicStep]>,
}

#[derive(Debug)]
pub(super) struct DynamicStep {
    pub index: Count,
    pub count: u32,
    pub slots: u32,
    pub bytes: u32,
}

/// The element part that a load, store or atomic names.
#[derive(Debug)]
pub(super) struct ElementRef {
    /// First slot of the descriptor, or the slot of the local array's address.
    pub array: u32,
    pub local: Option<LocalShape>,
    pub index: Box<[Count]>,
    pub path: Steps,
    pub leaves: Leaves,
    pub span: Span,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct LocalShape {
    pub shape: [u32; MAX_DIMS],
    /// In bytes.
    pub strides: [u64; MAX_DIMS],
}

#[derive(Debug)]
pub(super) enum ViewDim {
    At(u32),
    Range { start: u32, stop: u32, step: u32 },
}

/// One instruction. `to` is the first slot of the result; other numbers are slots unless they say
/// otherwise.
#[derive(Debug)]
pub(super) enum Code {
    Set {
        to: u32,
        bits: u64,
    },
    Clear {
        to: u32,
        count: u32,
    },
    Unary {
        f: ops::Unary,
        scalar: Scalar,
        to: u32,
        a: u32,
        count: u32,
    },
    /// The strides are 0 for a scalar that meets each component of a composite, else 1.
    Binary {
        f: ops::Binary,
        scalar: Scalar,
        to: u32,
        a: u32,
        b: u32,
        stride_a: u32,
        stride_b: u32,
        count: u32,
    },
    /// Of all components, or of any one.
    Compare {
        f: ops::Binary,
        any: bool,
        to: u32,
        a: u32,
        b: u32,
        count: u32,
    },
    Fma {
        f: ops::Ternary,
        scalar: Scalar,
        to: u32,
        a: u32,
        b: u32,
        c: u32,
        count: u32,
    },
    Cast {
        f: ops::Unary,
        to: u32,
        a: u32,
        count: u32,
    },
    Bitcast {
        from: Scalar,
        scalar: Scalar,
        to: u32,
        a: u32,
    },
    Select {
        condition: u32,
        then: u32,
        otherwise: u32,
        to: u32,
        count: u32,
    },
    Move(Moves),
    Extract {
        to: u32,
        from: u32,
        count: u32,
        path: Steps,
    },
    Insert {
        to: u32,
        whole: u32,
        whole_count: u32,
        part: u32,
        count: u32,
        path: Steps,
    },
    /// `arguments` go from this frame to the callee's, `results` back.
    Call {
        callee: usize,
        arguments: Box<[Move]>,
        results: Box<[Move]>,
    },
    ThreadIndex {
        to: u32,
        n: u8,
    },
    ThreadNumber {
        to: u32,
    },
    Extent {
        to: u32,
        array: u32,
        dim: u8,
    },
    IsSet {
        to: u32,
        array: u32,
    },
    Gradient {
        to: u32,
        array: u32,
    },
    /// The slots of two addresses, then of the extents, for elements of `size` bytes.
    ArrayAt {
        to: u32,
        args: Box<[u32]>,
        size: u32,
    },
    View {
        to: u32,
        array: u32,
        ndim: u8,
        dims: Box<[ViewDim]>,
        span: Span,
    },
    /// `offset` and `bytes` in the function's local memory. A part of an array goes into a tile:
    /// rows and columns, the slots of the first indices, and those of the indices of an element,
    /// which the two places have: in the tile, then in the array.
    Copy {
        size: [u32; 2],
        first: [u32; 2],
        indices: [u32; 4],
        to: ElementRef,
        from: ElementRef,
    },
    /// A product of tiles.
    Product(Box<Multiply>),
    LocalArray {
        to: u32,
        offset: u64,
        bytes: u64,
    },
    Load {
        to: u32,
        place: ElementRef,
    },
    Store {
        from: u32,
        place: ElementRef,
    },
    Atomic {
        op: AtomicOp,
        to: u32,
        value: u32,
        place: ElementRef,
        /// Something reads the old value.
        used: bool,
    },
    AtomicCas {
        to: u32,
        expected: u32,
        new: u32,
        place: ElementRef,
    },
    If {
        condition: u32,
        then: Box<[Code]>,
        otherwise: Box<[Code]>,
    },
    For(Box<For>),
    While(Box<While>),
    Print {
        format: String,
        args: Box<[(u32, Scalar)]>,
    },
    Assert {
        condition: u32,
        message: String,
        span: Span,
    },
    CheckDegenerate {
        holds: u32,
        why: String,
        span: Span,
    },
    CheckVisit {
        holds: u32,
        span: Span,
    },
    CheckComponent {
        index: Count,
        count: u32,
        name: String,
        span: Span,
    },
    GridSync(Span),
    Yield(Moves),
    Break(Moves),
    Continue(Moves),
    Return(Moves),
}

#[derive(Debug)]
pub(super) struct For {
    pub scalar: Scalar,
    pub start: u32,
    pub end: u32,
    pub step: u32,
    pub counter: u32,
    pub init: Moves,
    pub body: Box<[Code]>,
    /// From the body's parameters to the results.
    pub results: Moves,
}

#[derive(Debug)]
pub(super) struct While {
    /// To the condition's parameters.
    pub init: Moves,
    pub condition: Box<[Code]>,
    /// The bool that the condition yields.
    pub holds: u32,
    /// From the condition's parameters to the body's.
    pub enter: Moves,
    pub body: Box<[Code]>,
    /// From the condition's parameters to the results.
    pub results: Moves,
}
