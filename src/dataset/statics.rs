//! What does one thread of a kernel do, as far as its IR tells without running it? Operations, bytes, and how the accesses of
//! neighbouring threads lie to each other.
//!
//! A thread is taken to run every loop to its end and the side of each branch that does more. A loop whose turns are not
//! known before it runs counts once, and is counted as open.

use std::collections::HashMap;
use std::ops::{Add, Mul};

use crate::ids::IdVec;
use crate::ir::{Access, BinaryOp, BlockId, FuncId, Function, FunctionKind, Inst, Module, Op, ValueId, ViewIndex};
use crate::types::{Layout, Type};

/// Counts of one thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Statics {
    /// Operations on floats, a fused multiply and add as two; library functions with all that is in them.
    pub flops: u64,
    /// Operations on integers, of indices too.
    pub int_ops: u64,
    /// Of array elements, as often as they are read or written.
    pub bytes_read: u64,
    pub bytes_written: u64,
    pub atomics: u64,
    /// Accesses in which the next thread takes the next element, the same one, or any other.
    pub accesses_next: u64,
    pub accesses_same: u64,
    pub accesses_other: u64,
    /// Branches and loops in the source that neighbouring threads may take differently.
    pub divergent: u64,
    /// Loops whose turns depend on the launch or on data.
    pub open_loops: u64,
}

impl Add for Statics {
    type Output = Statics;

    fn add(self, b: Statics) -> Statics {
        Statics {
            flops: self.flops.saturating_add(b.flops),
            int_ops: self.int_ops.saturating_add(b.int_ops),
            bytes_read: self.bytes_read.saturating_add(b.bytes_read),
            bytes_written: self.bytes_written.saturating_add(b.bytes_written),
            atomics: self.atomics.saturating_add(b.atomics),
            accesses_next: self.accesses_next.saturating_add(b.accesses_next),
            accesses_same: self.accesses_same.saturating_add(b.accesses_same),
            accesses_other: self.accesses_other.saturating_add(b.accesses_other),
            divergent: self.divergent.saturating_add(b.divergent),
            open_loops: self.open_loops.saturating_add(b.open_loops),
        }
    }
}

/// So many turns of a loop; what is counted in the source is counted once.
impl Mul<u64> for Statics {
    type Output = Statics;

    fn mul(self, turns: u64) -> Statics {
        Statics {
            flops: self.flops.saturating_mul(turns),
            int_ops: self.int_ops.saturating_mul(turns),
            bytes_read: self.bytes_read.saturating_mul(turns),
            bytes_written: self.bytes_written.saturating_mul(turns),
            atomics: self.atomics.saturating_mul(turns),
            accesses_next: self.accesses_next.saturating_mul(turns),
            accesses_same: self.accesses_same.saturating_mul(turns),
            accesses_other: self.accesses_other.saturating_mul(turns),
            ..self
        }
    }
}

impl Statics {
    /// Counts a thread of the kernel `kernel`.
    pub fn of(module: &Module, kernel: FuncId) -> Statics {
        let function = &module.functions[kernel];
        let rank = if let FunctionKind::Kernel { rank } = function.kind { rank } else { 1 };
        let mut walk = Walk { module, rank, library: HashMap::new() };
        walk.function(kernel, &vec![Along::Same; function.params().len()]).0
    }

    /// Floating-point operations per byte of array elements; 0 where no byte moves.
    pub fn intensity(&self) -> f64 {
        match self.bytes_read.saturating_add(self.bytes_written) {
            0 => 0.0,
            bytes => (self.flops as f64 / bytes as f64 * 1e4).round() / 1e4,
        }
    }

    /// The greater of two sides of a branch; what is counted in the source is counted on both.
    fn worse(self, other: Statics) -> Statics {
        let work = |s: &Statics| (s.flops + s.int_ops).saturating_add(s.bytes_read).saturating_add(s.bytes_written);
        let worse = if work(&other) > work(&self) { other } else { self };
        Statics { divergent: self.divergent + other.divergent, open_loops: self.open_loops + other.open_loops, ..worse }
    }

    fn access(&mut self, along: Along, bytes: u64, read: bool, written: bool) {
        add(&mut self.bytes_read, if read { bytes } else { 0 });
        add(&mut self.bytes_written, if written { bytes } else { 0 });
        let accesses = match along {
            Along::Next => &mut self.accesses_next,
            Along::Same => &mut self.accesses_same,
            Along::Other => &mut self.accesses_other,
        };
        add(accesses, 1);
    }
}

/// Loops in loops soon count more than there are numbers.
fn add(count: &mut u64, more: u64) {
    *count = count.saturating_add(more);
}

/// How a value changes from a thread to the next one, along the launch dimension that runs fastest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Along {
    Same,
    /// It is greater by one.
    Next,
    /// In any way.
    Other,
}

struct Walk<'m> {
    module: &'m Module,
    rank: u8,
    /// Library functions are long, and called again and again.
    library: HashMap<FuncId, Statics>,
}

type Values = IdVec<ValueId, Along>;

impl Walk<'_> {
    /// The counts of a call, and how its results change.
    fn function(&mut self, id: FuncId, args: &[Along]) -> (Statics, Along) {
        let module = self.module;
        let function = &module.functions[id];
        let joined = if args.iter().all(|&a| a == Along::Same) { Along::Same } else { Along::Other };
        if let Some(known) = self.library.get(&id) {
            return (*known, joined);
        }
        let mut values: Values = function.values.ids().map(|_| Along::Other).collect();
        for (&param, &along) in function.params().iter().zip(args) {
            values[param] = if function.library { Along::Other } else { along };
        }
        let mut found = self.block(function, function.entry, &mut values);
        if function.library {
            found.divergent = 0;
            self.library.insert(id, found);
        }
        (found, joined)
    }

    fn block(&mut self, function: &Function, block: BlockId, values: &mut Values) -> Statics {
        let mut sum = Statics::default();
        for &id in &function.blocks[block].insts {
            let inst = &function.insts[id];
            let along = self.inst(function, inst, values, &mut sum);
            for &result in &inst.results {
                values[result] = along;
            }
        }
        sum
    }

    /// Adds what an instruction does to `sum`; returns how its results change.
    fn inst(&mut self, function: &Function, inst: &Inst, values: &mut Values, sum: &mut Statics) -> Along {
        let mut all_same = true;
        inst.op.for_each_operand(|v| all_same &= values[v] == Along::Same);
        let mut along = if all_same { Along::Same } else { Along::Other };
        let ty = inst.results.first().map(|&r| function.ty(r));
        let bytes = |ty: Option<Type>| ty.map_or(0, |ty| u64::from(Layout::of(ty, &self.module.structs).size));
        match &inst.op {
            Op::Unary(..) | Op::Binary(..) | Op::Fma(..) => {
                let count = u64::from(ty.and_then(Type::scalar_count).unwrap_or(1));
                match ty.and_then(Type::scalar_part) {
                    Some(scalar) if scalar.is_float() => {
                        let each = if matches!(inst.op, Op::Fma(..)) { 2 } else { 1 };
                        add(&mut sum.flops, each * count);
                    }
                    _ => add(&mut sum.int_ops, count),
                }
                if let Op::Binary(op, a, b) = inst.op {
                    let steps = matches!((op, values[a], values[b]), (BinaryOp::Add, Along::Same, Along::Next))
                        || matches!(op, BinaryOp::Add | BinaryOp::Sub)
                            && (values[a], values[b]) == (Along::Next, Along::Same);
                    if steps {
                        along = Along::Next;
                    }
                }
            }
            Op::Cast(a) if ty.is_some_and(Type::is_int) => along = values[*a],
            Op::ThreadIndex(n) => along = if n + 1 == self.rank { Along::Next } else { Along::Same },
            Op::ThreadNumber => along = Along::Next,
            Op::View(array, dims) => {
                let at_same = |dim: &ViewIndex| match dim {
                    ViewIndex::At(v) => values[*v] == Along::Same,
                    ViewIndex::Range { .. } => false,
                };
                let same = values[*array] == Along::Same && dims.iter().all(at_same);
                along = if same { Along::Same } else { Along::Other };
            }
            Op::LocalArray => along = Along::Same,
            Op::Load(Access { array, indices, .. }) if is_shared(function, *array) => {
                sum.access(of_index(values, *array, indices), bytes(ty), true, false);
            }
            Op::Store { access: Access { array, indices, .. }, value } if is_shared(function, *array) => {
                sum.access(of_index(values, *array, indices), bytes(Some(function.ty(*value))), false, true);
            }
            Op::Atomic { access: Access { array, indices, .. }, .. }
            | Op::AtomicCas { access: Access { array, indices, .. }, .. } => {
                add(&mut sum.atomics, 1);
                sum.access(of_index(values, *array, indices), bytes(ty), true, true);
                along = Along::Other;
            }
            // What a thread holds for itself.
            Op::Load(_) => along = Along::Other,
            Op::Call(callee, args) => {
                let args: Vec<Along> = args.iter().map(|&arg| values[arg]).collect();
                let (found, result) = self.function(*callee, &args);
                (*sum, along) = (*sum + found, result);
            }
            Op::If { condition, then, otherwise } => {
                let (a, b) = (self.block(function, *then, values), self.block(function, *otherwise, values));
                *sum = *sum + a.worse(b);
                let gives = |block: BlockId| match function.terminator(block).map(|inst| &inst.op) {
                    Some(Op::Yield(list)) => list.iter().all(|&v| values[v] == Along::Same),
                    _ => true,
                };
                let same = values[*condition] == Along::Same;
                add(&mut sum.divergent, u64::from(!same && !function.library));
                along = if same && gives(*then) && gives(*otherwise) { Along::Same } else { Along::Other };
            }
            Op::For { start, end, step, body, .. } => {
                if let Some(&counter) = function.blocks[*body].params.first() {
                    values[counter] = if values[*step] == Along::Same { values[*start] } else { Along::Other };
                }
                let known = [start, end, step].map(|&v| function.as_const(v)?.as_int());
                let turns = match known {
                    [Some(start), Some(end), Some(step)] if step != 0 => {
                        let turns = (end - start + step - step.signum()) / step;
                        Some(turns.clamp(0, i128::from(u32::MAX)) as u64)
                    }
                    _ => None,
                };
                *sum = *sum + self.block(function, *body, values) * turns.unwrap_or(1);
                add(&mut sum.open_loops, u64::from(turns.is_none()));
                let same = [start, end, step].iter().all(|&&v| values[v] == Along::Same);
                add(&mut sum.divergent, u64::from(!same && !function.library));
                along = Along::Other;
            }
            Op::While { condition, body, .. } => {
                *sum = *sum + self.block(function, *condition, values) + self.block(function, *body, values);
                add(&mut sum.open_loops, 1);
                add(&mut sum.divergent, u64::from(!function.library));
                along = Along::Other;
            }
            _ => {}
        }
        along
    }
}

/// Whether an array lies in memory that threads share.
fn is_shared(function: &Function, array: ValueId) -> bool {
    matches!(function.ty(array), Type::Array(_))
}

fn of_index(values: &Values, array: ValueId, index: &[ValueId]) -> Along {
    let Some((&last, outer)) = index.split_last() else { return values[array] };
    match values[array] == Along::Same && outer.iter().all(|&v| values[v] == Along::Same) {
        true => values[last],
        false => Along::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::artefacts;
    use crate::driver::Timings;

    fn of(body: &str) -> Statics {
        let head =
            "import warp as wp\n\n@wp.kernel\ndef k(a: wp.array(dtype=float), b: wp.array(dtype=float), n: int):\n";
        let text = format!("{head}    i = wp.tid()\n{body}");
        let made = artefacts::compile(&text, None, "k", false, false, &mut Timings::default());
        let compiled = made.unwrap_or_else(|rejection| panic!("{rejection:?}: {text}"));
        Statics::of(&compiled.program.module, compiled.forward)
    }

    #[test]
    fn operations_and_bytes_are_those_of_a_thread() {
        let plain = of("    b[i] = a[i] * 2.0 + a[i + 1]\n");
        assert_eq!((plain.flops, plain.bytes_read, plain.bytes_written), (2, 8, 4));
        assert_eq!((plain.accesses_next, plain.accesses_same, plain.accesses_other), (3, 0, 0));
        assert_eq!(plain.intensity(), 0.1667);
        let loops = of("    s = float(0.0)\n    for k in range(10, 0, -3):\n        s += a[k]\n    b[i] = s\n");
        assert_eq!((loops.flops, loops.bytes_read, loops.open_loops), (4, 16, 0));
        let open = of("    s = float(0.0)\n    for k in range(n):\n        s += a[i * n + k]\n    b[i] = s\n");
        assert_eq!((open.flops, open.open_loops, open.divergent, open.accesses_other), (1, 1, 0, 1));
    }

    #[test]
    fn threads_that_part_are_seen() {
        let apart = of("    if a[i] > 0.0:\n        b[i] = 1.0\n    else:\n        b[i] = a[i] * 3.0\n");
        assert_eq!((apart.divergent, apart.flops, apart.bytes_written), (1, 1, 4));
        let together = of("    if n > 3:\n        b[i] = 1.0\n    else:\n        b[i] = a[2 * i] + a[n]\n");
        assert_eq!((together.divergent, together.flops), (0, 1));
        assert_eq!((together.accesses_next, together.accesses_same, together.accesses_other), (1, 1, 1));
        let atomic = of("    wp.atomic_add(b, 0, a[i])\n");
        assert_eq!((atomic.atomics, atomic.accesses_same, atomic.accesses_next), (1, 1, 1));
    }
}
