//! Which operations have effects?

use crate::ir::Op;

/// Whether the operation itself does more than give its results. A load does not: see [`super`].
pub fn has_effect(op: &Op) -> bool {
    matches!(op, Op::Store { .. } | Op::Atomic { .. } | Op::AtomicCas { .. } | Op::Print { .. } | Op::Assert { .. })
}
