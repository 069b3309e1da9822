//! What an instruction does: the operations of the IR, the addresses and paths that they name, and
//! the values and blocks in them. What is true of each is in [`properties`](super::properties).

use std::iter::Take;
use std::ops::Deref;

use smallvec::{Array, SmallVec};

use super::{
    AtomicOp, BinaryOp, BlockId, CompareOp, Const, Exchange, FuncId, Inst, Product, UnaryOp, ValueId, Values, arrays,
    effects, jumps, nested, straight, values,
};

/// One step from a composite or struct to a part of it (see [`crate::types::Type::step`]).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Step {
    At(u32),
    /// By an integer value.
    Dynamic(ValueId),
}

pub type Path = SmallVec<[Step; 2]>;

/// One dimension of a view.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ViewIndex {
    /// Fixes the dimension at this index (int32), which removes it.
    At(ValueId),
    /// Keeps the elements start, start + step, ... before stop (all int32; start and stop are
    /// already inside 0..=extent, or inside -1..extent when step < 0; step is not 0).
    Range { start: ValueId, stop: ValueId, step: ValueId },
}

/// What a memory operation addresses: an element of an array or local array, or a part of one.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Access {
    pub array: ValueId,
    /// One per dimension.
    pub indices: Values,
    /// From the element to the part.
    pub path: Path,
}

impl Access {
    /// A whole element.
    pub fn element(array: ValueId, indices: &[ValueId]) -> Access {
        Access { array, indices: Values::from_slice(indices), path: Path::new() }
    }

    /// The part one step further in.
    pub fn part(&self, step: Step) -> Access {
        let mut part = self.clone();
        part.path.push(step);
        part
    }
}

/// What is looked at in checked runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Check {
    /// The operand is an index of one of `count` components (rule 14) of what the source calls
    /// `name`; empty: it has no name.
    Component { count: u32, name: String },
    /// The operand is an index of a tile or a local array, which the source calls `name` (empty: it
    /// has no name), in the dimension `dim`.
    Element { dim: u32, extent: u32, name: String },
    /// The operand is a bool: where it is true, the gradient of a library function is what a
    /// convention says, or has lost half of its digits, for the reason given. That is no error, but
    /// worth a note.
    ///
    /// In forward code there is a second operand, a result of the call of that function, and the
    /// bool comes from a call of its test with its arguments and zeros: differentiation makes the
    /// same test with the adjoints, and then these are gone.
    Degenerate { why: String },
    /// The operand is a bool: where it is true, this is a point of [`Check::Degenerate`] for any
    /// adjoint but 0. A product of two functions that both have such a point here sends 0 to both.
    ///
    /// In forward code the results of a library function follow, whose test takes no adjoints:
    /// where one of them has an adjoint, differentiation makes the same check, and then these are
    /// gone.
    Visit,
    /// Opens (`begins`) or closes a region that the block executes once, together. Exists only
    /// before [`thread_loops`](crate::passes::thread_loops); never executed.
    Together { begins: bool },
}

/// How functions of the library compute beside the points at which they have no derivative. The
/// library knows the numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Nudged {
    /// On one side.
    Moved = 0,
    /// There, and without a derivative.
    Cut = 1,
    /// On the other side.
    Back = 2,
}

/// What PTX for the simulator calls where [`Check::Component`] fails: the name as a text, the index
/// (int64), the count (int32).
pub const NO_COMPONENT: &str = "kc_no_component";

/// The same for [`Check::Element`]: the name, the dimension (int32), the index (int64), the extent
/// (int32).
pub const NO_ELEMENT: &str = "kc_no_element";

/// The same for [`Check::Degenerate`]: the reason as a text.
pub const DEGENERATE: &str = "kc_degenerate";

/// The same for [`Check::Visit`].
pub const VISIT: &str = "kc_visit";

#[derive(Debug, PartialEq, Eq, Hash)]
pub enum Op {
    // Values
    Const(Const),
    /// All bits zero; the result may be of any type (an array: null, all extents 0).
    Zero,
    Unary(UnaryOp, ValueId),
    Binary(BinaryOp, ValueId, ValueId),
    /// Gives bool.
    Compare(CompareOp, ValueId, ValueId),
    /// a * b + c, rounded once; floats only.
    Fma(ValueId, ValueId, ValueId),
    /// Scalar to scalar by value; a composite converts each component.
    Cast(ValueId),
    /// Scalar to a scalar of the same size, bit for bit.
    Bitcast(ValueId),
    /// Both sides are evaluated.
    Select {
        condition: ValueId,
        then: ValueId,
        otherwise: ValueId,
    },
    /// A composite from all its scalars (row major; a transform from p and q's 7), a struct from
    /// all its fields.
    Construct(Values),
    Extract(ValueId, Path),
    /// A copy of the value with one part replaced.
    Insert(ValueId, Path, ValueId),

    // Functions and threads
    Call(FuncId, Values),
    /// int32 coordinate `n` of the thread: the launch's row-major coordinates, last one fastest. A
    /// kernel of rank 1 launched with more dimensions sees the first coordinate.
    ThreadIndex(u8),
    /// int32: the row-major number of the thread in the launch, over all its coordinates.
    ThreadNumber,
    /// int32: threads in a block (1 on the host).
    BlockDim,
    /// int32: the number of the thread in its block (0 on the host).
    ThreadInBlock,

    // Memory
    /// int32 extent of a dimension of an array.
    Extent(ValueId, u8),
    /// bool: the array is not null.
    IsSet(ValueId),
    /// The array of adjoints that an array's descriptor carries, with the same extents and strides;
    /// the null array if there is none.
    Gradient(ValueId),
    /// uint64: the address of the array's first element.
    Address(ValueId),
    /// The array at an address (rule 25). `args`: the address of its elements and that of their
    /// adjoints (uint64), then its extents (int32).
    ArrayAt {
        /// Nothing writes its elements during the launch.
        constant: bool,
        args: Values,
    },
    /// The sub-array that fixes or cuts the leading dimensions; those not named stay whole.
    View(ValueId, SmallVec<[ViewIndex; 4]>),
    /// A zeroed per-thread array; the result is a [`crate::types::Type::Local`], used like an array
    /// by the ops below.
    LocalArray,
    /// An array that the threads of the block share, with elements that nobody has set; the result
    /// is a local array of a block.
    SharedArray,
    Load(Access),
    Store {
        access: Access,
        value: ValueId,
    },
    /// Gives the old value.
    Atomic {
        op: AtomicOp,
        access: Access,
        value: ValueId,
    },
    /// Gives the old value; stores `new` if the old value equals `expected`.
    AtomicCas {
        access: Access,
        expected: ValueId,
        new: ValueId,
    },

    // Control
    If {
        condition: ValueId,
        then: BlockId,
        otherwise: BlockId,
    },
    For {
        start: ValueId,
        end: ValueId,
        step: ValueId,
        init: Values,
        body: BlockId,
    },
    While {
        init: Values,
        condition: BlockId,
        body: BlockId,
    },

    // Effects
    /// Waits for all threads of the block; what they wrote before it, all of them see behind it
    /// (rule 19).
    Barrier,
    /// Waits for all threads of the launch; what they wrote before it, all of them see behind it
    /// (rule 26).
    GridSync,
    /// A product of matrices that the block computes together (rule 22): `c`, then `a` and `b`
    /// where it multiplies, then what is in registers where that is given.
    Product(Product, Values),
    /// Copies a part of an array into a tile, the block's threads together (rule 23): rows and
    /// columns, the tile, the array and the indices there (int32).
    Copy([u32; 2], Values),
    /// What the threads of a warp tell each other (rule 24): a value and, where one is named, the
    /// thread (int32).
    Exchange(Exchange, Values),
    /// C format string; the arguments are scalars.
    Print {
        format: String,
        args: Values,
    },
    Assert {
        condition: ValueId,
        message: String,
    },
    /// Tells the host where an operand is not as it should be. Only code for checked runs has it
    /// (rule 21).
    Check(Check, Values),

    // Terminators
    Yield(Values),
    Break(Values),
    Continue(Values),
    Return(Values),
}

/// Calls `$f` on a reference to each value of an access, which is a reference too: shared or
/// mutable, and so are its parts.
macro_rules! each_in_access {
    ($access:expr, $f:expr) => {{
        let Access { array, indices, path } = $access;
        $f(array);
        for index in indices {
            $f(index);
        }
        for step in path {
            if let Step::Dynamic(value) = step {
                $f(value);
            }
        }
    }};
}

/// The same for the operands of an operation.
macro_rules! each_operand {
    ($op:expr, $f:expr) => {{
        let mut f = $f;
        macro_rules! path {
            ($steps:expr) => {
                for step in $steps {
                    if let Step::Dynamic(value) = step {
                        f(value);
                    }
                }
            };
        }
        macro_rules! list {
            ($values:expr) => {
                for value in $values {
                    f(value);
                }
            };
        }
        match $op {
            Op::Const(_)
            | Op::Zero
            | Op::ThreadIndex(_)
            | Op::ThreadNumber
            | Op::BlockDim
            | Op::ThreadInBlock
            | Op::LocalArray
            | Op::SharedArray
            | Op::Barrier
            | Op::GridSync => {}
            Op::Unary(_, a)
            | Op::Cast(a)
            | Op::Bitcast(a)
            | Op::Extent(a, _)
            | Op::IsSet(a)
            | Op::Gradient(a)
            | Op::Address(a) => f(a),
            Op::Binary(_, a, b) | Op::Compare(_, a, b) => {
                f(a);
                f(b);
            }
            Op::Fma(a, b, c) | Op::Select { condition: a, then: b, otherwise: c } => {
                f(a);
                f(b);
                f(c);
            }
            Op::Construct(args)
            | Op::Call(_, args)
            | Op::Yield(args)
            | Op::Break(args)
            | Op::Continue(args)
            | Op::Return(args) => list!(args),
            Op::Print { args, .. } | Op::Check(_, args) | Op::Product(_, args) | Op::Copy(_, args) => list!(args),
            Op::ArrayAt { args, .. } => list!(args),
            Op::Exchange(_, args) => list!(args),
            Op::Extract(a, steps) => {
                f(a);
                path!(steps);
            }
            Op::Insert(a, steps, b) => {
                f(a);
                path!(steps);
                f(b);
            }
            Op::View(a, dims) => {
                f(a);
                for dim in dims {
                    match dim {
                        ViewIndex::At(v) => f(v),
                        ViewIndex::Range { start, stop, step } => {
                            f(start);
                            f(stop);
                            f(step);
                        }
                    }
                }
            }
            Op::Load(access) => each_in_access!(access, f),
            Op::Store { access, value } | Op::Atomic { access, value, .. } => {
                each_in_access!(access, f);
                f(value);
            }
            Op::AtomicCas { access, expected, new } => {
                each_in_access!(access, f);
                f(expected);
                f(new);
            }
            Op::If { condition, .. } | Op::Assert { condition, .. } => f(condition),
            Op::For { start, end, step, init, .. } => {
                f(start);
                f(end);
                f(step);
                list!(init);
            }
            Op::While { init, .. } => list!(init),
        }
    }};
}

/// What `$op` addresses, shared or mutable.
macro_rules! access {
    ($op:expr) => {
        match $op {
            Op::Load(access) | Op::Store { access, .. } | Op::Atomic { access, .. } | Op::AtomicCas { access, .. } => {
                Some(access)
            }
            values!() | Op::Call(..) | arrays!() | effects!() | nested!() | jumps!() => None,
        }
    };
}

/// The blocks nested in an instruction: a list of two at most, without an allocation or anything to
/// drop.
#[derive(Clone, Copy)]
pub struct Nested {
    blocks: [BlockId; 2],
    count: u8,
}

impl Deref for Nested {
    type Target = [BlockId];

    #[inline]
    fn deref(&self) -> &[BlockId] {
        &self.blocks[..usize::from(self.count)]
    }
}

impl IntoIterator for Nested {
    type Item = BlockId;
    type IntoIter = Take<std::array::IntoIter<BlockId, 2>>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.blocks.into_iter().take(usize::from(self.count))
    }
}

impl Access {
    /// Calls `f` on every value of the address: the array, the indices, the steps by a value.
    pub fn for_each_operand(&self, mut f: impl FnMut(ValueId)) {
        let mut f = |value: &ValueId| f(*value);
        each_in_access!(self, f);
    }
}

impl Op {
    #[inline]
    pub fn is_terminator(&self) -> bool {
        matches!(self, jumps!())
    }

    /// What a load, store or atomic addresses.
    #[inline]
    pub fn access(&self) -> Option<&Access> {
        access!(self)
    }

    /// The same, in place.
    #[inline]
    pub fn access_mut(&mut self) -> Option<&mut Access> {
        access!(self)
    }

    /// The blocks nested in this instruction.
    #[inline]
    pub fn blocks(&self) -> Nested {
        match *self {
            Op::If { then, otherwise, .. } => Nested { blocks: [then, otherwise], count: 2 },
            Op::For { body, .. } => Nested { blocks: [body, body], count: 1 },
            Op::While { condition, body, .. } => Nested { blocks: [condition, body], count: 2 },
            straight!() | jumps!() => Nested { blocks: [BlockId(0); 2], count: 0 },
        }
    }

    /// Calls `f` on every value this instruction reads (not those read inside nested blocks).
    pub fn for_each_operand(&self, mut f: impl FnMut(ValueId)) {
        each_operand!(self, |value: &ValueId| f(*value));
    }

    /// Calls `f` on every operand, in place.
    pub fn for_each_operand_mut(&mut self, f: impl FnMut(&mut ValueId)) {
        each_operand!(self, f);
    }
}

// `derive(Clone)` would walk lists of ids item by item, which is most of what copying a function
// takes: they go over as blocks of memory.

fn list<A: Array<Item: Copy>>(items: &SmallVec<A>) -> SmallVec<A> {
    SmallVec::from_slice(items)
}

impl Clone for Inst {
    fn clone(&self) -> Inst {
        Inst { op: self.op.clone(), results: list(&self.results), span: self.span }
    }
}

impl Clone for Access {
    fn clone(&self) -> Access {
        Access { array: self.array, indices: list(&self.indices), path: list(&self.path) }
    }
}

impl Clone for Op {
    fn clone(&self) -> Op {
        match self {
            Op::Const(c) => Op::Const(*c),
            Op::Zero => Op::Zero,
            Op::Unary(op, a) => Op::Unary(*op, *a),
            Op::Binary(op, a, b) => Op::Binary(*op, *a, *b),
            Op::Compare(op, a, b) => Op::Compare(*op, *a, *b),
            Op::Fma(a, b, c) => Op::Fma(*a, *b, *c),
            Op::Cast(a) => Op::Cast(*a),
            Op::Bitcast(a) => Op::Bitcast(*a),
            Op::Select { condition, then, otherwise } => {
                Op::Select { condition: *condition, then: *then, otherwise: *otherwise }
            }
            Op::Construct(parts) => Op::Construct(list(parts)),
            Op::Extract(whole, path) => Op::Extract(*whole, list(path)),
            Op::Insert(whole, path, part) => Op::Insert(*whole, list(path), *part),
            Op::Call(callee, args) => Op::Call(*callee, list(args)),
            Op::ThreadIndex(n) => Op::ThreadIndex(*n),
            Op::ThreadNumber => Op::ThreadNumber,
            Op::BlockDim => Op::BlockDim,
            Op::ThreadInBlock => Op::ThreadInBlock,
            Op::Extent(array, n) => Op::Extent(*array, *n),
            Op::IsSet(array) => Op::IsSet(*array),
            Op::Gradient(array) => Op::Gradient(*array),
            Op::Address(array) => Op::Address(*array),
            Op::ArrayAt { constant, args } => Op::ArrayAt { constant: *constant, args: list(args) },
            Op::View(array, dims) => Op::View(*array, list(dims)),
            Op::LocalArray => Op::LocalArray,
            Op::SharedArray => Op::SharedArray,
            Op::Load(access) => Op::Load(access.clone()),
            Op::Store { access, value } => Op::Store { access: access.clone(), value: *value },
            Op::Atomic { op, access, value } => Op::Atomic { op: *op, access: access.clone(), value: *value },
            Op::AtomicCas { access, expected, new } => {
                Op::AtomicCas { access: access.clone(), expected: *expected, new: *new }
            }
            Op::If { condition, then, otherwise } => {
                Op::If { condition: *condition, then: *then, otherwise: *otherwise }
            }
            Op::For { start, end, step, init, body } => {
                Op::For { start: *start, end: *end, step: *step, init: list(init), body: *body }
            }
            Op::While { init, condition, body } => Op::While { init: list(init), condition: *condition, body: *body },
            Op::Barrier => Op::Barrier,
            Op::GridSync => Op::GridSync,
            Op::Product(product, args) => Op::Product(*product, list(args)),
            Op::Copy(size, args) => Op::Copy(*size, list(args)),
            Op::Exchange(exchange, args) => Op::Exchange(*exchange, list(args)),
            Op::Print { format, args } => Op::Print { format: format.clone(), args: list(args) },
            Op::Assert { condition, message } => Op::Assert { condition: *condition, message: message.clone() },
            Op::Check(what, operands) => Op::Check(what.clone(), list(operands)),
            Op::Yield(values) => Op::Yield(list(values)),
            Op::Break(values) => Op::Break(list(values)),
            Op::Continue(values) => Op::Continue(list(values)),
            Op::Return(values) => Op::Return(list(values)),
        }
    }
}
