//! Which operations are of one kind? Patterns for matches that treat them alike.
//!
//! Each operation is in one of `arithmetic`, `parts`, `threads`, `arrays`, `accesses`, `together`,
//! `reports`, `nested` and `jumps`, or is [`Op::Call`](super::Op::Call) or
//! [`Op::Exchange`](super::Op::Exchange); the other groups are made of these. A match that ends in
//! groups lists all operations: with a new one it compiles when that is in a group.

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
            | $crate::ir::Op::ArrayAt { .. }
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

/// What the threads of a block do together.
macro_rules! together {
    () => {
        $crate::ir::Op::Barrier | $crate::ir::Op::GridSync | $crate::ir::Op::Product(..) | $crate::ir::Op::Copy(..)
    };
}

/// What a thread tells the host.
macro_rules! reports {
    () => {
        $crate::ir::Op::Print { .. } | $crate::ir::Op::Assert { .. } | $crate::ir::Op::Check(..)
    };
}

/// What threads do together or tell others.
macro_rules! effects {
    () => {
        $crate::ir::together!() | $crate::ir::Op::Exchange(..) | $crate::ir::reports!()
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

pub(crate) use {
    accesses, arithmetic, arrays, effects, jumps, nested, parts, plain, reports, straight, threads, together, values,
};
