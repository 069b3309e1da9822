//! What does one thread of a kernel do, as far as its IR tells without running it? Operations,
//! bytes, and how the accesses of neighbouring threads lie to each other.
//!
//! A thread is taken to run every loop to its end and the side of each branch that does more. A
//! loop whose iterations are not known before it runs counts once, and is counted as open.

use std::collections::HashMap;
use std::ops::{Add, Mul};

use crate::analysis::effects::EffectTable;
use crate::analysis::strides::Strides;
use crate::analysis::uniformity::{Dependence, Uniformity};
use crate::ir::{Access, BlockId, FuncId, Function, FunctionKind, Inst, Module, Op, ValueId, ViewIndex};
use crate::types::{Layout, Type};

/// Counts of one thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Statics {
    /// Operations on floats, a fused multiply and add as two; library functions with all that is in
    /// them.
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
    /// Loops whose iterations depend on the launch or on data.
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

/// So many iterations of a loop; what is counted in the source is counted once.
impl Mul<u64> for Statics {
    type Output = Statics;

    fn mul(self, iterations: u64) -> Statics {
        Statics {
            flops: self.flops.saturating_mul(iterations),
            int_ops: self.int_ops.saturating_mul(iterations),
            bytes_read: self.bytes_read.saturating_mul(iterations),
            bytes_written: self.bytes_written.saturating_mul(iterations),
            atomics: self.atomics.saturating_mul(iterations),
            accesses_next: self.accesses_next.saturating_mul(iterations),
            accesses_same: self.accesses_same.saturating_mul(iterations),
            accesses_other: self.accesses_other.saturating_mul(iterations),
            ..self
        }
    }
}

impl Statics {
    /// Counts a thread of the kernel `kernel`.
    pub fn of(module: &Module, kernel: FuncId) -> Statics {
        let function = &module.functions[kernel];
        let rank = if let FunctionKind::Kernel { rank } = function.kind { rank } else { 1 };
        let mut effects = EffectTable::default();
        effects.cover(module, kernel);
        let mut walk = Walk { module, fastest: rank.max(1) - 1, effects, library: HashMap::new() };
        walk.function(kernel, &[])
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

/// How an access lies to that of the next thread, along the launch dimension that runs fastest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Along {
    Same,
    /// One element further.
    Next,
    /// In any way.
    Other,
}

/// What is known of an argument: what it depends on, and its stride.
type Argument = (Dependence, Option<i64>);

struct Walk<'m> {
    module: &'m Module,
    /// The coordinate that runs fastest.
    fastest: u8,
    effects: EffectTable,
    /// Library functions are long, and called again and again.
    library: HashMap<FuncId, Statics>,
}

/// One call of a function.
struct Instance<'m> {
    function: &'m Function,
    uniformity: Uniformity,
    strides: Strides,
}

impl<'m> Walk<'m> {
    /// The counts of a call.
    fn function(&mut self, id: FuncId, args: &[Argument]) -> Statics {
        let function = &self.module.functions[id];
        if let Some(known) = self.library.get(&id) {
            return *known;
        }
        let args = if function.library { &[] } else { args };
        let (dependences, strides): (Vec<_>, Vec<_>) = args.iter().copied().unzip();
        let uniformity = Uniformity::of_call(function, &self.effects, &dependences);
        let strides = Strides::of_call(function, &uniformity, self.fastest, &strides);
        let mut found = self.block(&Instance { function, uniformity, strides }, function.entry);
        if function.library {
            found.divergent = 0;
            self.library.insert(id, found);
        }
        found
    }

    fn block(&mut self, instance: &Instance<'m>, block: BlockId) -> Statics {
        let mut sum = Statics::default();
        let function = instance.function;
        function.blocks[block].insts.iter().for_each(|&id| self.inst(instance, &function.insts[id], &mut sum));
        sum
    }

    /// Adds what an instruction does to `sum`.
    fn inst(&mut self, instance: &Instance<'m>, inst: &Inst, sum: &mut Statics) {
        let function = instance.function;
        let fastest = self.fastest;
        let ty = inst.results.first().map(|&r| function.ty(r));
        let module = self.module;
        let bytes = |ty: Option<Type>| ty.map_or(0, |ty| u64::from(Layout::of(ty, &module.structs).size));
        let differs = |value: ValueId| instance.uniformity.varies_along(value, fastest);
        let divergent = |differs: bool| u64::from(differs && !function.library);
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
            }
            Op::Load(access) if is_shared(function, access.array) => {
                sum.access(instance.along(access), bytes(ty), true, false);
            }
            Op::Store { access, value } if is_shared(function, access.array) => {
                sum.access(instance.along(access), bytes(Some(function.ty(*value))), false, true);
            }
            Op::Atomic { access, .. } | Op::AtomicCas { access, .. } => {
                add(&mut sum.atomics, 1);
                sum.access(instance.along(access), bytes(ty), true, true);
            }
            Op::Call(callee, args) => {
                let argument = |&v: &ValueId| (instance.uniformity.dependence(v), instance.strides.of(v));
                let args: Vec<Argument> = args.iter().map(argument).collect();
                *sum = *sum + self.function(*callee, &args);
            }
            Op::If { condition, then, otherwise } => {
                add(&mut sum.divergent, divergent(differs(*condition)));
                let (a, b) = (self.block(instance, *then), self.block(instance, *otherwise));
                *sum = *sum + a.worse(b);
            }
            Op::For { start, end, step, body, .. } => {
                let known = [start, end, step].map(|&v| function.as_const(v)?.as_int());
                let iterations = match known {
                    [Some(start), Some(end), Some(step)] if step != 0 => {
                        let iterations = (end - start + step - step.signum()) / step;
                        Some(iterations.clamp(0, i128::from(u32::MAX)) as u64)
                    }
                    _ => None,
                };
                add(&mut sum.divergent, divergent([start, end, step].iter().any(|&&v| differs(v))));
                add(&mut sum.open_loops, u64::from(iterations.is_none()));
                *sum = *sum + self.block(instance, *body) * iterations.unwrap_or(1);
            }
            Op::While { condition, body, .. } => {
                let decides = function.yielded(*condition).first().copied();
                add(&mut sum.divergent, divergent(decides.is_none_or(differs)));
                add(&mut sum.open_loops, 1);
                *sum = *sum + self.block(instance, *condition) + self.block(instance, *body);
            }
            // A thread's own memory counts as registers, moves, tests and addresses as no work.
            op => add(&mut sum.atomics, u64::from(op.properties().atomic)),
        }
    }
}

impl Instance<'_> {
    fn along(&self, access: &Access) -> Along {
        let Some((&last, outer)) = access.indices.split_last() else { return Along::Other };
        let same = |v: &ValueId| self.strides.of(*v) == Some(0);
        if !same(&access.array) || !outer.iter().all(same) {
            return Along::Other;
        }
        match self.strides.of(last) {
            Some(0) => Along::Same,
            Some(1) if !self.is_cut(access.array) => Along::Next,
            _ => Along::Other,
        }
    }

    /// Whether an array is part of another, perhaps every second element.
    fn is_cut(&self, array: ValueId) -> bool {
        let Some(Op::View(of, dims)) = self.function.op(array) else { return false };
        dims.iter().any(|d| matches!(d, ViewIndex::Range { .. })) || self.is_cut(*of)
    }
}

/// Whether an array lies in memory that threads share.
fn is_shared(function: &Function, array: ValueId) -> bool {
    matches!(function.ty(array), Type::Array(_))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::artefacts;
    use crate::driver::{Compiler, Timings};

    fn of(body: &str) -> Statics {
        let head =
            "import warp as wp\n\n@wp.kernel\ndef k(a: wp.array(dtype=float), b: wp.array(dtype=float), n: int):\n";
        let text = format!("{head}    i = wp.tid()\n{body}");
        let made = artefacts::compile(&text, None, &["k"], false, false, &Compiler::new(), &mut Timings::default());
        let compiled = made.unwrap_or_else(|rejection| panic!("{rejection:?}: {text}"));
        Statics::of(&compiled.program.module, compiled.first().forward)
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
