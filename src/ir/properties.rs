//! What is true of an operation, wherever it is: the one table that passes, analyses,
//! differentiation and back ends ask.
//!
//! A row describes the operation alone: the blocks nested in it are not part of it. A call may do
//! anything; who knows its function asks
//! [`EffectTable::properties`](crate::analysis::effects::EffectTable::properties).
//!
//! There is no default row: a new operation does not compile until it has one.

use super::{BinaryOp, Op, UnaryOp, Values};

/// What an operation does besides giving its results, and what these depend on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Properties {
    /// Its results depend on the content of memory.
    pub reads: bool,
    /// It changes the content of memory.
    pub writes: bool,
    /// It reads and writes memory indivisibly.
    pub atomic: bool,
    pub io: Io,
    /// In checked runs it may report an error of the run.
    pub may_trap: bool,
    /// It may run for ever.
    pub may_not_return: bool,
    /// Allocates or clears memory, so it must not be merged with an equal instruction.
    pub allocates: bool,
    /// Which threads run it together is part of its meaning: it may not come under another
    /// condition.
    pub convergent: bool,
    /// It orders memory between threads: no access to shared memory moves across it.
    pub synchronises: bool,
    /// It decides which instruction runs next: branches, loops, terminators.
    pub control: bool,
    /// From finite operands it gives finite floats, overflow aside.
    pub keeps_finite: bool,
    pub depends_on: DependsOn,
    pub cost: Cost,
}

/// What an operation tells the host.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Io {
    #[default]
    None,
    /// An error of the run.
    Error,
    /// Text, in whose order one sees the order of the threads.
    Output,
}

/// What the results of an operation depend on besides its operands and memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum DependsOn {
    #[default]
    Nothing,
    /// The launch: the same for all its threads.
    Launch,
    /// The thread.
    Thread,
}

/// What an operation takes, roughly, for each scalar of its result.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Cost {
    /// No instruction: a constant, values put together or taken apart, what the launch knows.
    Free,
    /// One instruction or a few.
    Simple,
    /// Tens of cycles, fewer of which overlap.
    Slow,
    /// An access to memory.
    Memory,
}

/// A value computed from operands, and nothing else.
const VALUE: Properties = Properties {
    reads: false,
    writes: false,
    atomic: false,
    io: Io::None,
    may_trap: false,
    may_not_return: false,
    allocates: false,
    convergent: false,
    synchronises: false,
    control: false,
    keeps_finite: true,
    depends_on: DependsOn::Nothing,
    cost: Cost::Simple,
};

const FREE: Properties = Properties { cost: Cost::Free, ..VALUE };

/// Division and root: by zero, of a negative number.
const SLOW: Properties = Properties { keeps_finite: false, cost: Cost::Slow, ..VALUE };

const ATOMIC: Properties =
    Properties { reads: true, writes: true, atomic: true, may_trap: true, cost: Cost::Memory, ..VALUE };

const CONTROL: Properties = Properties { control: true, ..FREE };

/// What nothing is known of.
const ANYTHING: Properties = Properties {
    reads: true,
    writes: true,
    atomic: true,
    io: Io::Output,
    may_trap: true,
    may_not_return: true,
    allocates: true,
    convergent: true,
    synchronises: true,
    control: false,
    keeps_finite: false,
    depends_on: DependsOn::Thread,
    cost: Cost::Memory,
};

impl Op {
    /// The operation's row of the table.
    pub fn properties(&self) -> Properties {
        match self {
            Op::Const(_) | Op::Zero => FREE,
            Op::Construct(_) | Op::Extract(..) | Op::Insert(..) => FREE,
            Op::Unary(op, _) => unary(*op),
            Op::Binary(op, ..) => binary(*op),
            Op::Compare(..) | Op::Fma(..) | Op::Cast(_) | Op::Select { .. } => VALUE,
            Op::Bitcast(_) => Properties { keeps_finite: false, ..VALUE },

            Op::Call(..) => ANYTHING,
            Op::ThreadIndex(_) | Op::ThreadNumber | Op::ThreadInBlock => {
                Properties { depends_on: DependsOn::Thread, ..FREE }
            }
            Op::BlockDim => Properties { depends_on: DependsOn::Launch, ..FREE },

            Op::Extent(..) => FREE,
            Op::IsSet(_) | Op::Gradient(_) | Op::Address(_) | Op::ArrayAt { .. } => VALUE,
            Op::View(..) => Properties { may_trap: true, ..VALUE },
            Op::LocalArray => Properties { allocates: true, cost: Cost::Memory, ..VALUE },
            Op::SharedArray => Properties { allocates: true, ..FREE },
            Op::Load(_) => Properties { reads: true, may_trap: true, cost: Cost::Memory, ..VALUE },
            Op::Store { .. } => Properties { writes: true, may_trap: true, cost: Cost::Memory, ..VALUE },
            Op::Atomic { .. } | Op::AtomicCas { .. } => ATOMIC,

            // A `for` counts: it ends.
            Op::If { .. } | Op::For { .. } => CONTROL,
            Op::While { .. } => Properties { may_not_return: true, ..CONTROL },
            Op::Yield(_) | Op::Break(_) | Op::Continue(_) | Op::Return(_) => CONTROL,

            Op::Barrier => Properties { convergent: true, synchronises: true, cost: Cost::Slow, ..VALUE },
            // What other blocks wrote, and may still read, is any memory.
            Op::GridSync => Properties {
                reads: true,
                writes: true,
                convergent: true,
                synchronises: true,
                cost: Cost::Slow,
                ..VALUE
            },
            Op::Product(product, _) => {
                let writes = product.part.writes();
                Properties { reads: true, writes, convergent: true, cost: Cost::Memory, ..VALUE }
            }
            Op::Copy(..) => {
                Properties { reads: true, writes: true, may_trap: true, convergent: true, cost: Cost::Memory, ..VALUE }
            }
            Op::Exchange(..) => {
                Properties { convergent: true, depends_on: DependsOn::Thread, cost: Cost::Slow, ..VALUE }
            }
            Op::Print { .. } => Properties { io: Io::Output, cost: Cost::Slow, ..VALUE },
            Op::Assert { .. } | Op::Check(..) => Properties { io: Io::Error, may_trap: true, ..VALUE },
        }
    }

    /// The operands through which derivatives flow into the results.
    pub fn smooth_operands(&self) -> Values {
        let mut list = Values::new();
        match self {
            Op::Unary(UnaryOp::Neg | UnaryOp::Abs | UnaryOp::Sqrt | UnaryOp::Tf32, a)
            | Op::Cast(a)
            | Op::Extract(a, _) => list.push(*a),
            Op::Binary(BinaryOp::CopySign, a, _) => list.push(*a),
            Op::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div, a, b)
            | Op::Binary(BinaryOp::FloorDiv | BinaryOp::Rem | BinaryOp::Min | BinaryOp::Max, a, b)
            | Op::Binary(BinaryOp::And | BinaryOp::Or | BinaryOp::Xor, a, b)
            | Op::Binary(BinaryOp::Shl | BinaryOp::Shr | BinaryOp::MulHigh | BinaryOp::AbsDiff, a, b) => {
                list.extend([*a, *b])
            }
            Op::Fma(a, b, c) => list.extend([*a, *b, *c]),
            Op::Select { then, otherwise, .. } => list.extend([*then, *otherwise]),
            Op::Construct(args) | Op::Call(_, args) => list.extend(args.iter().copied()),
            Op::Insert(a, _, b) => list.extend([*a, *b]),
            // Constants, steps and bits.
            Op::Const(_) | Op::Zero | Op::Unary(..) | Op::Compare(..) | Op::Bitcast(_) => {}
            Op::ThreadIndex(_) | Op::ThreadNumber | Op::BlockDim | Op::ThreadInBlock => {}
            // Arrays are followed by what is done to their elements.
            Op::Extent(..) | Op::IsSet(_) | Op::Gradient(_) | Op::Address(_) | Op::View(..) => {}
            Op::ArrayAt { .. } => {}
            Op::LocalArray | Op::SharedArray => {}
            Op::Load(_) | Op::Store { .. } | Op::Atomic { .. } | Op::AtomicCas { .. } => {}
            // What comes out of blocks, they pass on.
            Op::If { .. } | Op::For { .. } | Op::While { .. } => {}
            Op::Yield(_) | Op::Break(_) | Op::Continue(_) | Op::Return(_) => {}
            // Made behind differentiation.
            Op::Product(..) | Op::Copy(..) | Op::Exchange(..) => {}
            Op::Barrier | Op::GridSync | Op::Print { .. } | Op::Assert { .. } | Op::Check(..) => {}
        }
        list
    }
}

fn unary(op: UnaryOp) -> Properties {
    match op {
        UnaryOp::Sqrt => SLOW,
        UnaryOp::Neg
        | UnaryOp::Not
        | UnaryOp::BitNot
        | UnaryOp::Abs
        | UnaryOp::Floor
        | UnaryOp::Ceil
        | UnaryOp::Trunc
        | UnaryOp::RoundEven
        | UnaryOp::Round
        | UnaryOp::PopCount
        | UnaryOp::LeadingZeros
        | UnaryOp::Tf32 => VALUE,
    }
}

fn binary(op: BinaryOp) -> Properties {
    match op {
        BinaryOp::Div | BinaryOp::FloorDiv | BinaryOp::Rem => SLOW,
        BinaryOp::Add
        | BinaryOp::Sub
        | BinaryOp::Mul
        | BinaryOp::Min
        | BinaryOp::Max
        | BinaryOp::And
        | BinaryOp::Or
        | BinaryOp::Xor
        | BinaryOp::Shl
        | BinaryOp::Shr
        | BinaryOp::CopySign
        | BinaryOp::MulHigh
        | BinaryOp::AbsDiff => VALUE,
    }
}

impl Properties {
    /// Somebody else sees that it ran: it stays even if nothing uses its results. What may not
    /// return is another matter.
    pub fn has_side_effect(self) -> bool {
        self.writes || self.io != Io::None || self.synchronises
    }

    pub fn accesses_memory(self) -> bool {
        self.reads || self.writes
    }

    /// It does nothing but give its results, which depend on its operands, the thread and the
    /// launch alone. Such an operation may go, be repeated and move wherever its operands are
    /// visible.
    pub fn is_value(self) -> bool {
        !self.reads && !self.is_fixed()
    }

    /// It may not move to another place among the instructions around it, whatever they are.
    pub fn is_fixed(self) -> bool {
        self.has_side_effect() || self.may_not_return || self.allocates || self.convergent || self.control
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Access, AtomicOp, Check, ValueId, Values};

    #[test]
    fn what_no_pass_may_drop_or_move() {
        let (v, access) = (ValueId(0), || Access::element(ValueId(0), &[]));
        let kept = [
            Op::Store { access: access(), value: v },
            Op::Atomic { op: AtomicOp::Add, access: access(), value: v },
            Op::AtomicCas { access: access(), expected: v, new: v },
            Op::Barrier,
            Op::GridSync,
            Op::Print { format: String::new(), args: Values::new() },
            Op::Assert { condition: v, message: String::new() },
            Op::Check(Check::Component { count: 3, name: String::new() }, Values::from_slice(&[v])),
            Op::Call(crate::ir::FuncId(0), Values::new()),
        ];
        for op in kept {
            let row = op.properties();
            assert!(row.has_side_effect() && row.is_fixed() && !row.is_value(), "{op:?}");
        }
        // Dropped, but neither moved across writes nor repeated.
        let load = Op::Load(access()).properties();
        assert!(!load.has_side_effect() && !load.is_fixed() && !load.is_value());
        let local = Op::LocalArray.properties();
        assert!(!local.has_side_effect() && local.is_fixed() && !local.is_value());
        for op in [Op::Zero, Op::Fma(v, v, v), Op::ThreadIndex(0), Op::BlockDim, Op::Extent(v, 0)] {
            assert!(op.properties().is_value(), "{op:?}");
        }
    }
}
