//! Which threads of a launch need not run on the host? Those that do what another one does: they
//! differ in coordinates alone that the kernel does not ask for ([`IdleAxes`]). Programs launch
//! kernels of tiles so, with a coordinate for each thread of a block of a GPU.

use super::privatization::{find, span};
use super::{Job, coordinates};
use crate::abi::{LaunchBounds, argument_layout};
use crate::analysis::alias::Root;
use crate::analysis::idle_axes::IdleAxes;
use crate::codegen::privatization::{ArrayArgument, array_arguments};
use crate::ir::{FuncId, Module};
use crate::types::{MAX_DIMS, Type};

/// A kernel that does not ask for all coordinates, and its arrays.
#[derive(Clone, Debug)]
pub struct Idle {
    idle: [bool; MAX_DIMS],
    read: Vec<ArrayArgument>,
    written: Vec<ArrayArgument>,
    /// Bytes of the argument struct.
    args: usize,
}

impl Idle {
    pub fn of(module: &Module, kernel: FuncId) -> Option<Idle> {
        let IdleAxes { idle, reads, writes } = IdleAxes::of(module, kernel)?;
        let function = &module.functions[kernel];
        let types: Vec<Type> = function.params().iter().map(|&param| function.ty(param)).collect();
        let (mut read, mut written) = (Vec::new(), Vec::new());
        for (root, array) in array_arguments(function, &module.structs) {
            let Root::Param(n, fields) = root else { continue };
            if writes.may_be(n, &fields) {
                written.push(array);
            } else if reads.may_be(n, &fields) {
                read.push(array);
            }
        }
        Some(Idle { idle, read, written, args: argument_layout(&types, &module.structs).1.size as usize })
    }

    /// The bounds of a launch with each idle coordinate 0. None: all its threads have to run.
    ///
    /// # Safety
    /// The argument struct is that of this kernel.
    pub unsafe fn bounds(&self, job: &Job) -> Option<LaunchBounds> {
        let mut shape = job.bounds.shape;
        shape.iter_mut().zip(self.idle).filter(|(_, idle)| *idle).for_each(|(extent, _)| *extent = (*extent).min(1));
        let bounds = LaunchBounds::new(&shape).filter(|bounds| bounds.size < job.bounds.size)?;
        // SAFETY: the caller promises so many bytes.
        let args = unsafe { std::slice::from_raw_parts(job.args.cast::<u8>(), self.args) };
        self.are_apart(args).then_some(bounds)
    }

    /// Whether no array that is written lies in the memory of one that is read.
    fn are_apart(&self, args: &[u8]) -> bool {
        // From the first byte to the end; None: not known. One that is null has none.
        let memory = |array: &ArrayArgument| {
            let Some(given) = find(args, array) else { return Some((0, 0)) };
            Some((given.data, given.data.checked_add(span(&given, array)?)?))
        };
        let known = |arrays: &[ArrayArgument]| arrays.iter().map(memory).collect::<Option<Vec<(u64, u64)>>>();
        let (Some(read), Some(written)) = (known(&self.read), known(&self.written)) else { return false };
        written.iter().all(|w| read.iter().all(|r| w.1 <= r.0 || r.1 <= w.0))
    }
}

/// The number in a whole launch of a thread of the one that ran in its place.
pub fn number(thread: u64, ran: &LaunchBounds, whole: &LaunchBounds) -> u64 {
    let at = coordinates(ran, MAX_DIMS, thread);
    at.iter().zip(&whole.shape).fold(0, |number, (&at, &extent)| number * u64::from(extent) + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_keep_their_numbers() {
        let bounds = |dims: &[u32]| LaunchBounds::new(dims).expect("a launch");
        let (ran, whole) = (bounds(&[3, 1, 5]), bounds(&[3, 4, 5]));
        assert_eq!(number(7, &ran, &whole), 20 + 2);
        assert_eq!(number(14, &ran, &whole), 2 * 20 + 4);
    }
}
