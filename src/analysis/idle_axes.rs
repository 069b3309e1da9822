//! Which coordinates does a kernel not ask for? Threads that differ in these alone do the same.
//! Programs launch kernels of tiles with a coordinate for each thread of a block, for example.

use super::order::{has_atomics, prints};
use super::written::{Touched, read, written};
use crate::ir::{FuncId, Module, Op, Phase};
use crate::types::MAX_DIMS;

/// Coordinates that a kernel does not ask for. One of the threads that differ in these alone leaves
/// the same in memory as all of them, if no written array overlaps with one that is read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IdleAxes {
    pub idle: [bool; MAX_DIMS],
    pub reads: Touched,
    pub writes: Touched,
}

impl IdleAxes {
    /// None: there are none, or the number of threads shows.
    pub fn of(module: &Module, kernel: FuncId) -> Option<IdleAxes> {
        let mut idle = [true; MAX_DIMS];
        // Other entries use arrays of adjoints that come with those of the arguments.
        let forward = module.functions[kernel].phase == Phase::Forward;
        let mut counted = !forward || has_atomics(module, kernel) || prints(module, kernel);
        for id in module.reached_from(kernel) {
            let function = &module.functions[id];
            function.walk(function.entry, &mut |_, inst| {
                if let Op::ThreadIndex(n) = inst.op {
                    idle[usize::from(n)] = false;
                }
                let shows = matches!(inst.op, Op::ThreadNumber | Op::ThreadInBlock | Op::GridSync);
                // Arrays that no argument is.
                counted |= shows || matches!(inst.op, Op::Gradient(_) | Op::Address(_) | Op::ArrayAt { .. });
            });
        }
        if counted || idle == [false; MAX_DIMS] {
            return None;
        }
        let (reads, writes) = (read(module, kernel), written(module, kernel));
        let again = reads.any || writes.any || writes.arrays.keys().any(|(n, fields)| reads.may_be(*n, fields));
        (!again).then_some(IdleAxes { idle, reads, writes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::parse;

    fn idle(body: &str) -> Option<[bool; MAX_DIMS]> {
        of_phase("", body)
    }

    fn of_phase(phase: &str, body: &str) -> Option<[bool; MAX_DIMS]> {
        let text = format!(
            "kernel @k(%a: array(dtype=int32), %b: array(dtype=int32)) rank 3{phase} {{\n  %i: int32 = thread_index 1\n{body}  return\n}}\n"
        );
        let module = parse::parse(&text).unwrap_or_else(|error| panic!("{error:?}"));
        IdleAxes::of(&module, module.find("k").expect("the kernel")).map(|found| found.idle)
    }

    #[test]
    fn coordinates_that_nobody_asks_for_are_idle() {
        let copies = "  %v: int32 = load %a[%i]\n  store %b[%i], %v\n";
        assert_eq!(idle(copies), Some([true, false, true, true]));
        let both = format!("  %j: int32 = thread_index 0\n{copies}");
        assert_eq!(idle(&both), Some([false, false, true, true]));
    }

    #[test]
    fn what_shows_how_many_threads_there_are_counts() {
        let number = "  %n: int32 = thread_number\n  store %b[%i], %n\n";
        let again = "  %v: int32 = load %a[%i]\n  %w: int32 = add %v, %v\n  store %a[%i], %w\n";
        let gradient = "  %g: array(dtype=int32) = gradient %a\n  store %g[%i], %i\n";
        let atomic = "  %old: int32 = atomic add %b[%i], %i\n";
        for body in [number, again, gradient, atomic] {
            assert_eq!(idle(body), None, "{body}");
        }
        let copies = "  %v: int32 = load %a[%i]\n  store %b[%i], %v\n";
        assert_eq!(of_phase(" source \"k\" backward", copies), None);
    }
}
