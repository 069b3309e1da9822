//! What does the last block of a launch do, where it is not full? What a block of so many threads
//! does.
//!
//! Arrays with an element for each thread have fewer there, so sums, extrema and the like are of
//! the threads that there are. Such a block is compiled from a kernel that was checked for it, and
//! both are one kernel then, which looks at the number of its block.

use super::{Block, Refused, forget, of_block, prepared};
use crate::analysis::effects::EffectTable;
use crate::ir::build::Builder;
use crate::ir::{CompareOp, Const, FuncId, Function, FunctionKind, LastBlock, Module, Op, Values};
use crate::passes::copy::Copier;
use crate::passes::pipelines;
use crate::types::{I32, Scalar, Type};

/// What the last block does.
pub(super) fn kernel(
    module: &Module,
    id: FuncId,
    effects: &EffectTable,
    block: Block,
    last: LastBlock,
) -> Result<Function, Refused> {
    if block.threads > 1 {
        return of_block(module, id, effects, block);
    }
    // One thread does all by itself: no loop goes over threads.
    let mut function = prepared(module, id, effects)?;
    let FunctionKind::Kernel { rank } = function.kind else { return Ok(function) };
    let coordinate = i64::from(last.number) * i64::from(block.size);
    for inst in function.insts.values_mut() {
        if let Op::ThreadIndex(n) = inst.op
            && n + 1 == rank
        {
            inst.op = Op::Const(Const::int(Scalar::I32, coordinate.into()))
        } else if let Op::BlockDim = inst.op {
            inst.op = Op::Const(Const::int(Scalar::I32, block.size.into()))
        }
    }
    forget(&mut function);
    pipelines::clean(&mut function, &module.structs, effects);
    Ok(function)
}

/// One kernel of what all whole blocks do, and of what the last one does.
pub(super) fn join(whole: Function, of_last: Function, last: LastBlock) -> Function {
    let FunctionKind::Kernel { rank } = whole.kind else { return whole };
    let named = |(n, &param): (usize, _)| (whole.param_name(n), whole.ty(param));
    let params: Vec<(String, Type)> = whole.params().iter().enumerate().map(named).collect();
    let mut b = Builder::new(&whole.name, whole.kind, &params, whole.span);
    let entry = b.block();
    let number = b.one(Op::ThreadIndex(rank - 1), I32);
    let of_the_last = b.int(Scalar::I32, last.number.into());
    let condition = b.compare(CompareOp::Eq, number, of_the_last);
    let [then, otherwise] = [&of_last, &whole].map(|function| {
        let block = b.new_block(&[]);
        b.switch_to(block);
        let mut copier = Copier::from(function);
        for (n, &param) in function.params().iter().enumerate() {
            copier.map(param, b.params(entry)[n]);
        }
        copier.insts(&mut b, function.entry);
        b.yield_(&[]);
        b.switch_to(entry);
        block
    });
    b.effect(Op::If { condition, then, otherwise });
    b.effect(Op::Return(Values::new()));
    let Function { entry, values, insts, blocks, notes, .. } = b.finish();
    Function { entry, values, insts, blocks, notes, ..whole }
}
