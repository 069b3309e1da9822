//! Which values and blocks does an instruction name?

use std::iter::Take;
use std::ops::Deref;

use super::{Access, BlockId, Op, Step, ValueId, ViewIndex};

/// Calls `$f` on a reference to each value of an access, which is a reference too: shared or mutable, and so are its parts.
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
            Op::Const(_) | Op::Zero | Op::ThreadIndex(_) | Op::ThreadNumber | Op::BlockDim | Op::LocalArray => {}
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
            Op::Print { args, .. } => list!(args),
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

/// The operations that neither address an element nor hold blocks.
macro_rules! simple {
    () => {
        Op::Const(_)
            | Op::Zero
            | Op::Unary(..)
            | Op::Binary(..)
            | Op::Compare(..)
            | Op::Fma(..)
            | Op::Cast(_)
            | Op::Bitcast(_)
            | Op::Select { .. }
            | Op::Construct(_)
            | Op::Extract(..)
            | Op::Insert(..)
            | Op::Call(..)
            | Op::ThreadIndex(_)
            | Op::ThreadNumber
            | Op::BlockDim
            | Op::Extent(..)
            | Op::IsSet(_)
            | Op::Gradient(_)
            | Op::Address(_)
            | Op::View(..)
            | Op::LocalArray
            | Op::Print { .. }
            | Op::Assert { .. }
            | Op::Yield(_)
            | Op::Break(_)
            | Op::Continue(_)
            | Op::Return(_)
    };
}

/// What `$op` addresses, shared or mutable.
macro_rules! access {
    ($op:expr) => {
        match $op {
            Op::Load(access) | Op::Store { access, .. } | Op::Atomic { access, .. } | Op::AtomicCas { access, .. } => {
                Some(access)
            }
            Op::If { .. } | Op::For { .. } | Op::While { .. } | simple!() => None,
        }
    };
}

/// The blocks nested in an instruction: a list of two at most, without an allocation or anything to drop.
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
        matches!(self, Op::Yield(_) | Op::Break(_) | Op::Continue(_) | Op::Return(_))
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
            Op::Load(_) | Op::Store { .. } | Op::Atomic { .. } | Op::AtomicCas { .. } | simple!() => {
                Nested { blocks: [BlockId(0); 2], count: 0 }
            }
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
