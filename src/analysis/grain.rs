//! How many threads of a launch are worth handing to a worker?

use std::collections::HashMap;

use crate::ir::{BlockId, FuncId, Function, Module, Op, ValueId, jumps, plain};

/// Instructions that cost more than handing a piece out, which takes a microsecond or two: ten
/// times that where they run one by one, as much where sixteen lanes run at once.
const SMALLEST_WORK: u64 = 128 << 10;

/// Threads per piece are between these: few enough for the cheapest kernels, and several vectors of
/// lanes.
const SMALLEST_THREADS: (u64, u64) = (64, 16384);

/// Iterations of a loop where nothing tells.
const ITERATIONS: u64 = 16;

/// The least number of threads in a piece, so that handing it out costs less than running it.
pub fn smallest(module: &Module, kernel: FuncId) -> u64 {
    let work = work(module, kernel, &mut HashMap::new()).max(1);
    let (least, most) = SMALLEST_THREADS;
    (SMALLEST_WORK / work).next_multiple_of(least).clamp(least, most)
}

/// An estimate of the instructions that one call of a function runs.
fn work(module: &Module, id: FuncId, known: &mut HashMap<FuncId, u64>) -> u64 {
    if let Some(&work) = known.get(&id) {
        return work;
    }
    let function = &module.functions[id];
    let found = block_work(module, function, function.entry, known);
    known.insert(id, found);
    found
}

fn block_work(module: &Module, function: &Function, block: BlockId, known: &mut HashMap<FuncId, u64>) -> u64 {
    let mut sum = 0u64;
    for &id in &function.blocks[block].insts {
        let inst = &function.insts[id];
        let nested = inst.op.blocks().into_iter().map(|b| block_work(module, function, b, known));
        let nested = nested.fold(1, u64::saturating_add);
        let own = match &inst.op {
            Op::For { start, end, .. } => {
                let constant = |value: ValueId| function.as_const(value)?.as_int();
                let iterations = constant(*start).zip(constant(*end)).map(|(start, end)| start.abs_diff(end));
                nested.saturating_mul(iterations.and_then(|n| u64::try_from(n).ok()).unwrap_or(ITERATIONS))
            }
            Op::While { .. } => nested.saturating_mul(ITERATIONS),
            Op::Call(callee, _) => work(module, *callee, known),
            plain!() | Op::If { .. } | jumps!() => nested,
        };
        sum = sum.saturating_add(own);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::parse;

    /// Of a kernel that does `body` for each thread.
    fn smallest_of(body: &str) -> u64 {
        let text = format!(
            "kernel @k(%n: int32, %x: array(dtype=int32)) rank 1 {{\n  %i: int32 = thread_index 0\n  \
             %zero: int32 = const 0\n  %one: int32 = const 1\n{body}  return\n}}\n"
        );
        let module = parse::parse(&text).unwrap_or_else(|e| panic!("{e:?}"));
        let kernel = module.find("k").expect("the kernel");
        smallest(&module, kernel)
    }

    #[test]
    fn the_longer_threads_run_the_fewer_make_a_piece() {
        let iterations = |end: &str| {
            format!(
                "  for %k: int32 = %zero to {end} step %one {{\n    %v: int32 = load %x[%k]\n    store %x[%i], %v\n    yield\n  }}\n"
            )
        };
        assert_eq!(smallest_of("  store %x[%i], %i\n"), 16384);
        let open = smallest_of(&iterations("%n"));
        assert!((64..4096).contains(&open), "{open}");
        let long = smallest_of(&format!("  %many: int32 = const 1000000\n{}", iterations("%many")));
        assert_eq!(long, 64);
    }
}
