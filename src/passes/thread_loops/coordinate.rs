//! What of a thread's coordinate in the launch belongs to its block?
//!
//! Only the last block of a launch that counts threads may have fewer than the others. So the
//! coordinate is the block's, times that number, plus the number of the thread: divided by it, it
//! is the same for all threads, and the rest is the number of the thread.

use super::Seeds;
use crate::ids::IdMap;
use crate::ir::{BinaryOp, Const, Function, FunctionKind, Inst, InstId, Op, Value, ValueDef, ValueId};
use crate::source::Span;
use crate::types::{I32, Scalar};

enum Part {
    /// The coordinate of the block, divided by so much.
    Block(i128),
    ThreadInBlock,
}

/// Replaces quotients and rests of the coordinate.
pub(super) fn divide(function: &mut Function, seeds: &mut Seeds, threads: u32) {
    let (Some(coordinate), FunctionKind::Kernel { rank }) = (seeds.coordinate, function.kind) else { return };
    let mut parts: Vec<(InstId, Part)> = Vec::new();
    function.walk(function.entry, &mut |id, inst| {
        parts.extend(part(function, &inst.op, coordinate, threads.into()).map(|part| (id, part)));
    });
    let mut thread_numbers: IdMap<ValueId, ValueId> = IdMap::default();
    for (id, part) in parts {
        let Some(&result) = function.insts[id].results.first() else { continue };
        let span = function.insts[id].span;
        match part {
            Part::Block(1) => function.insts[id].op = Op::ThreadIndex(rank - 1),
            Part::Block(n) => {
                let divisor = first(function, Op::Const(Const::int(Scalar::I32, n)), span);
                let block = first(function, Op::ThreadIndex(rank - 1), span);
                function.insts[id].op = Op::Binary(BinaryOp::Div, block, divisor);
            }
            Part::ThreadInBlock => {
                let thread = *seeds.thread.get_or_insert_with(|| first(function, Op::ThreadInBlock, span));
                thread_numbers.insert(result, thread);
            }
        }
    }
    for inst in function.insts.values_mut() {
        inst.op.for_each_operand_mut(|v| *v = thread_numbers.get(v).copied().unwrap_or(*v));
    }
}

fn part(function: &Function, op: &Op, coordinate: ValueId, threads: i128) -> Option<Part> {
    let &Op::Binary(op, a, b) = op else { return None };
    let n = if a == coordinate { constant(function, b)? } else { return None };
    let divisor = match op {
        BinaryOp::Div | BinaryOp::FloorDiv => n,
        BinaryOp::Shr if (0..31).contains(&n) => 1 << n,
        BinaryOp::Rem => return (n == threads).then_some(Part::ThreadInBlock),
        BinaryOp::And if threads & (threads - 1) == 0 => return (n == threads - 1).then_some(Part::ThreadInBlock),
        _ => return None,
    };
    (divisor > 0 && divisor % threads == 0).then(|| Part::Block(divisor / threads))
}

/// A number that is known, or the product of such.
fn constant(function: &Function, value: ValueId) -> Option<i128> {
    if let Op::Binary(BinaryOp::Mul, a, b) = function.def(value)?.op {
        constant(function, a)?.checked_mul(constant(function, b)?)
    } else {
        function.as_const(value)?.as_int()
    }
}

/// An instruction at the beginning of the function.
fn first(function: &mut Function, op: Op, span: Span) -> ValueId {
    let id = function.insts.push(Inst { op, results: Default::default(), span });
    let value = function.values.push(Value { ty: I32, def: ValueDef::Result(id, 0), name: None, span });
    function.insts[id].results.push(value);
    let entry = function.entry;
    function.blocks[entry].insts.insert(0, id);
    value
}
