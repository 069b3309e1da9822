//! How is an operation copied? Lists of ids go over as blocks of memory: `derive(Clone)` would walk them item by item, which
//! is most of what copying a function takes.

use smallvec::{Array, SmallVec};

use super::{Access, Inst, Op};

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
            Op::Extent(array, n) => Op::Extent(*array, *n),
            Op::IsSet(array) => Op::IsSet(*array),
            Op::Gradient(array) => Op::Gradient(*array),
            Op::Address(array) => Op::Address(*array),
            Op::View(array, dims) => Op::View(*array, list(dims)),
            Op::LocalArray => Op::LocalArray,
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
            Op::Print { format, args } => Op::Print { format: format.clone(), args: list(args) },
            Op::Assert { condition, message } => Op::Assert { condition: *condition, message: message.clone() },
            Op::Yield(values) => Op::Yield(list(values)),
            Op::Break(values) => Op::Break(list(values)),
            Op::Continue(values) => Op::Continue(list(values)),
            Op::Return(values) => Op::Return(list(values)),
        }
    }
}
