//! How does a kernel, or its derivative, run where a GPU's arrays are? Behind what a stream does
//! already; nobody waits for it. For bindings of other languages, whose libraries own that memory.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::arg::Dim;
use super::bind::{self, Bound};
use super::derivative::{Gradient, Ran};
use super::kernel::HOW;
use super::{Error, Kernel, Outcome};
use crate::abi::LaunchBounds;
use crate::diag::Code;
use crate::driver;
use crate::ir::{FuncId, Module};
use crate::run::devices::{Job, Report, Resident};
use crate::run::{Result, fail, session};

/// An entry as it is loaded on GPUs, by their numbers.
#[derive(Default)]
pub(super) struct Residents(Mutex<HashMap<i32, Arc<Resident>>>);

impl Residents {
    /// The entry on a GPU, loaded when it is first asked for.
    fn on(&self, ordinal: i32, module: &Module, entry: FuncId) -> Result<Arc<Resident>> {
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known().get(&ordinal) {
            return Ok(found.clone());
        }
        let load = || Resident::load(module, entry, &HOW, ordinal);
        let made = Arc::new(driver::guard(load).unwrap_or_else(|fault| Err(Box::new(fault.into())))?);
        // Two threads may both load it; one's is kept.
        Ok(known().entry(ordinal).or_insert(made).clone())
    }
}

/// Where a launch goes.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Queue {
    /// The GPU in whose memory the arrays are. None: the driver is asked.
    pub ordinal: Option<i32>,
    /// A `CUstream`.
    pub stream: u64,
}

#[doc(hidden)]
impl Kernel {
    /// Puts a launch behind what a stream of a GPU does already, and does not wait for it. Indices
    /// are not tested.
    ///
    /// # Errors
    /// The arguments do not fit (`E1006`), there is no driver or no such GPU (`E1104`), or it
    /// refuses the launch (`E1107`).
    ///
    /// # Safety
    /// As for [`Kernel::launch_bound`], until the launch is over, in the memory of the GPU; the
    /// stream stays as long.
    pub unsafe fn launch_resident(&self, dim: &Dim, bound: &Bound, queue: Queue) -> std::result::Result<(), Error> {
        let shared = &*self.shared;
        let program = shared.module.program();
        let run = || {
            let bounds = self.bounds(dim)?;
            let entry = (&program.module, shared.forward);
            // SAFETY: the caller's promise.
            unsafe { self.behind(&shared.resident, entry, &bounds, bound, bound.block(), queue) }
        };
        run().map_err(|error| self.error(error, program))
    }

    /// The same for the derivative alone ([`Part::Backward`](super::Part::Backward)). The arrays of
    /// floats have gradients, in the memory of the same GPU. Whether the order of threads shows in
    /// them is for [`Kernel::look`] to say, of arrays on the host.
    ///
    /// # Errors
    /// As there; or the derivative takes memory of its own ([`Gradient::is_alone`]), or an array
    /// has no gradient (`E1104`).
    ///
    /// # Safety
    /// As for [`Kernel::gradient_bound`], until the launch is over, in the memory of the GPU; the
    /// stream stays as long.
    pub unsafe fn backward_resident(
        &self,
        gradient: &Gradient,
        dim: &Dim,
        bound: &Bound,
        queue: Queue,
    ) -> std::result::Result<Outcome, Error> {
        let program = &gradient.program;
        let run = || {
            let module = &program.module;
            let bounds = bind::bounds(dim, &module.functions[gradient.forward], self.block_dim)?;
            session::counts_once(&module.functions[gradient.forward], &bounds.shape[..dim.extents().len()])?;
            let Some(alone) = gradient.alone.as_ref().filter(|_| bound.overwrites_gradients()) else {
                return Err(fail(
                    Code::E1104,
                    "the derivative takes memory of its own, which it has on the host alone",
                ));
            };
            if bound.lacks_gradients(&module.structs) {
                return Err(fail(Code::E1104, "an array in the memory of a GPU has no gradient there"));
            }
            let block = bound.grown(alone.size);
            let entry = (module, alone.entry);
            // SAFETY: the block is that of the entry; the rest is the caller's promise.
            unsafe { self.behind(&alone.resident, entry, &bounds, bound, block.as_ptr().cast(), queue) }?;
            Ok(Ran::new(bounds, dim.extents().len(), Report::default()))
        };
        gradient.conclude(self, run().map_err(|error| self.error(error, program))?).map(|(outcome, _)| outcome)
    }

    /// # Safety
    /// As above; `block` is the struct of arguments of the entry.
    unsafe fn behind(
        &self,
        loaded: &Residents,
        (module, entry): (&Module, FuncId),
        bounds: &LaunchBounds,
        bound: &Bound,
        block: *const std::ffi::c_void,
        Queue { ordinal, stream }: Queue,
    ) -> Result<()> {
        let ordinal = match ordinal {
            Some(ordinal) => ordinal,
            None => one_gpu(bound)?,
        };
        let threads = self.block_dim.unwrap_or(Job::BLOCK_DIM);
        // SAFETY: the caller's promise.
        unsafe { loaded.on(ordinal, module, entry)?.launch(stream, bounds, block, threads) }
    }
}

/// The GPU in whose memory all arrays are, by what the driver says of their addresses.
fn one_gpu(bound: &Bound) -> Result<i32> {
    let mut known = None;
    for &(address, _) in bound.memory.iter().chain(&bound.constant) {
        let ordinal = Resident::ordinal_of(address)?;
        if *known.get_or_insert(ordinal) != ordinal {
            return Err(fail(Code::E1104, "the arrays of the launch are in the memory of several GPUs"));
        }
    }
    Ok(known.unwrap_or(0))
}
