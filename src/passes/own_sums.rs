//! Atomic sums into elements that only one thread touches become plain ones.
//!
//! Reverse code adds to `adj_x[tid]` atomically, since two parameters may be one array. Where
//! different arrays share no memory, as in CUDA text with plain parameters, an array that the
//! kernel touches at the thread's own coordinates alone has elements of one thread each.

use crate::analysis::uses;
use crate::ids::{IdSet, IdVec};
use crate::ir::build::Builder;
use crate::ir::{Access, AtomicOp, BinaryOp, BlockId, Function, FunctionKind, Op, Results, ValueId};
use crate::types::Type;

/// Replaces what can be replaced in a kernel; says whether there was anything. No thread may have
/// the coordinates of another one.
pub fn run(function: &mut Function) -> bool {
    let FunctionKind::Kernel { rank } = function.kind else { return false };
    let own = own_arrays(function, rank);
    if own.is_empty() {
        return false;
    }
    let uses = uses(function);
    let blocks: Vec<BlockId> = function.blocks.ids().collect();
    blocks.into_iter().fold(false, |changed, block| replace(function, block, &own, &uses) | changed)
}

/// The parameters of which the kernel touches no element but the thread's own.
fn own_arrays(function: &Function, rank: u8) -> IdSet<ValueId> {
    let arrays = function.params().iter().copied().filter(|&param| matches!(function.ty(param), Type::Array(_)));
    let mut own: IdSet<ValueId> = arrays.collect();
    function.walk(function.entry, &mut |_, inst| {
        if matches!(inst.op, Op::Extent(..) | Op::IsSet(_)) {
            return;
        }
        let touched = inst.op.access().filter(|access| is_own(function, access, rank)).map(|access| access.array);
        inst.op.for_each_operand(|value| {
            if touched != Some(value) {
                own.remove(&value);
            }
        });
    });
    own
}

/// Whether an element has the thread's coordinates, all of them, as its indices.
fn is_own(function: &Function, access: &Access, rank: u8) -> bool {
    let mut left: Vec<u8> = (0..rank).collect();
    let all = access.indices.iter().all(|&index| {
        let Some(Op::ThreadIndex(n)) = function.op(index) else { return false };
        let before = left.len();
        left.retain(|k| k != n);
        left.len() < before
    });
    all && left.is_empty()
}

fn replace(function: &mut Function, block: BlockId, own: &IdSet<ValueId>, uses: &IdVec<ValueId, u32>) -> bool {
    let mut changed = false;
    for id in std::mem::take(&mut function.blocks[block].insts) {
        let inst = &function.insts[id];
        if let Op::Atomic { op: AtomicOp::Add, access, value } = &inst.op
            && own.contains(&access.array)
            && inst.results.iter().all(|&old| uses[old] == 0)
        {
            let (access, value, span) = (access.clone(), *value, inst.span);
            let ty = function.ty(value);
            let sum = Builder::edit(function, block, |b| {
                b.span = span;
                let before = b.one(Op::Load(access.clone()), ty);
                b.one(Op::Binary(BinaryOp::Add, before, value), ty)
            });
            function.insts[id].op = Op::Store { access, value: sum };
            function.insts[id].results = Results::new();
            changed = true;
        }
        function.blocks[block].insts.push(id);
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::parse::parse;
    use crate::ir::print::print;
    use crate::ir::verify::verify;

    /// How many atomic sums a kernel of rank 2 has after the pass.
    fn left(body: &str) -> usize {
        let text = format!(
            "kernel @k(%a: array2d(dtype=float32), %b: array(dtype=float32), %x: float32) rank 2 {{\n\
             %i: int32 = thread_index 0\n%j: int32 = thread_index 1\n{body}\nreturn\n}}"
        );
        let mut module = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let id = module.find("k").unwrap();
        run(&mut module.functions[id]);
        assert_eq!(verify(&module), Ok(()), "{}", print(&module));
        print(&module).matches("atomic").count()
    }

    #[test]
    fn a_thread_adds_plainly_to_its_own_element() {
        assert_eq!(left("%o: float32 = atomic add %a[%i, %j], %x"), 0);
        assert_eq!(left("%o: float32 = atomic add %a[%j, %i], %x"), 0);
    }

    #[test]
    fn sums_stay_atomic_where_threads_may_meet() {
        let elsewhere = "%o: float32 = atomic add %a[%i, %j], %x\n%k: int32 = const 1\n%y: float32 = load %a[%i, %k]";
        assert_eq!(left(elsewhere), 1);
        assert_eq!(left("%o: float32 = atomic add %a[%i, %i], %x"), 1);
        assert_eq!(left("%o: float32 = atomic add %b[%i], %x"), 1);
    }

    #[test]
    fn an_old_value_that_is_used_comes_of_an_atomic_sum() {
        assert_eq!(left("%o: float32 = atomic add %a[%i, %j], %x\nstore %a[%i, %j], %o"), 1);
    }
}
