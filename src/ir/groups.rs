//! Which operations are of one kind? Patterns for matches that treat them alike.
//!
//! Each operation is in one of `arithmetic`, `parts`, `threads`, `arrays`, `accesses`, `effects`,
//! `nested` and `jumps`, or is [`Op::Call`](super::Op::Call). A match that ends in such groups lists
//! all operations: a new one compiles only when it is in a group, or named where it differs.

/// Computed from the operands, scalar by scalar.
macro_rules! arithmetic {
    () => {
        $crate::ir::Op::Const(_)
            | $crate::ir::Op::Unary(..)
            | $crate::ir::Op::Binary(..)
            | $crate::ir::Op::Compare(..)
            | $crate::ir::Op::Fma(..)
            | $crate::ir::Op::Cast(_)
            | $crate::ir::Op::Bitcast(_)
    };
}

/// Values of any type, arrays among them, that are chosen, put together or taken apart.
macro_rules! parts {
    () => {
        $crate::ir::Op::Zero
            | $crate::ir::Op::Select { .. }
            | $crate::ir::Op::Construct(_)
            | $crate::ir::Op::Extract(..)
            | $crate::ir::Op::Insert(..)
    };
}

/// What the launch knows of a thread.
macro_rules! threads {
    () => {
        $crate::ir::Op::ThreadIndex(_)
            | $crate::ir::Op::ThreadNumber
            | $crate::ir::Op::BlockDim
            | $crate::ir::Op::ThreadInBlock
    };
}

/// They depend on operands, the thread and the launch alone.
macro_rules! values {
    () => {
        $crate::ir::arithmetic!() | $crate::ir::parts!() | $crate::ir::threads!()
    };
}

/// Arrays as such, not their elements.
macro_rules! arrays {
    () => {
        $crate::ir::Op::Extent(..)
            | $crate::ir::Op::IsSet(_)
            | $crate::ir::Op::Gradient(_)
            | $crate::ir::Op::Address(_)
            | $crate::ir::Op::View(..)
            | $crate::ir::Op::LocalArray
            | $crate::ir::Op::SharedArray
    };
}

/// They access one element, or a part of it.
macro_rules! accesses {
    () => {
        $crate::ir::Op::Load(_)
            | $crate::ir::Op::Store { .. }
            | $crate::ir::Op::Atomic { .. }
            | $crate::ir::Op::AtomicCas { .. }
    };
}

/// What threads do together, and what they tell the host.
macro_rules! effects {
    () => {
        $crate::ir::Op::Barrier
            | $crate::ir::Op::Product(..)
            | $crate::ir::Op::Copy(..)
            | $crate::ir::Op::Exchange(..)
            | $crate::ir::Op::Print { .. }
            | $crate::ir::Op::Assert { .. }
            | $crate::ir::Op::Check(..)
    };
}

/// They neither hold blocks nor call nor jump.
macro_rules! plain {
    () => {
        $crate::ir::values!() | $crate::ir::arrays!() | $crate::ir::accesses!() | $crate::ir::effects!()
    };
}

/// They hold no blocks, and the next instruction follows.
macro_rules! straight {
    () => {
        $crate::ir::Op::Call(..) | $crate::ir::plain!()
    };
}

/// They hold blocks.
macro_rules! nested {
    () => {
        $crate::ir::Op::If { .. } | $crate::ir::Op::For { .. } | $crate::ir::Op::While { .. }
    };
}

/// The terminators.
macro_rules! jumps {
    () => {
        $crate::ir::Op::Yield(_) | $crate::ir::Op::Break(_) | $crate::ir::Op::Continue(_) | $crate::ir::Op::Return(_)
    };
}

pub(crate) use {accesses, arithmetic, arrays, effects, jumps, nested, parts, plain, straight, threads, values};
