//! How does a launch of Warp on a GPU run kc's code? All of them go through one function of Warp's
//! library, which gets the addresses of the bounds, of each argument and, for a derivative, of each
//! gradient. kc takes the arguments from there, and puts its own code behind the same stream.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use kc::abi::LaunchBounds;
use kc::embed::{Dim, Form, On, Part, Queue};
use kc::run::devices::Resident;
use kc::run::devices::cuda::Card;
use kc::types::Type;
use pyo3::prelude::*;
use smallvec::SmallVec;

use super::{Count, Found, Given, Move, arrays, laid, repeated_bounds, same};
use crate::device;
use crate::error;
use crate::gpu::legacy;
use crate::kernel::Kernel;
use crate::module::interruptible;

/// A kernel of Warp that kc runs on a GPU.
#[pyclass(frozen, module = "kc._native")]
pub struct WarpOnGpu {
    kernel: kc::Kernel,
    /// The dimensions of its bounds.
    dims: usize,
    ordinal: i32,
    /// Where arguments go, in their order.
    moves: Vec<Move>,
    counts: [AtomicU64; 4],
    /// Why Warp ran a launch, or a gradient.
    fault: OnceLock<String>,
}

/// The addresses that Warp hands over for a launch: bounds, arguments, gradients.
#[derive(Clone, Copy)]
struct Params(*const *const u8);

// SAFETY: Warp waits for the launch, and nobody changes what lies there meanwhile.
unsafe impl Send for Params {}
// SAFETY: as above.
unsafe impl Sync for Params {}

impl Params {
    /// # Safety
    /// There are so many.
    unsafe fn at(self, n: usize) -> *const u8 {
        // SAFETY: the caller's promise.
        unsafe { self.0.add(n).read() }
    }
}

/// A launch, as kc makes it.
struct Launch {
    kernel: kc::Kernel,
    dim: Dim,
    stream: u64,
}

/// Gradients of zeros for one launch, of arrays that have none.
struct Zeros<'c> {
    card: &'c Card,
    stream: u64,
    made: SmallVec<[u64; 4]>,
}

impl Drop for Zeros<'_> {
    fn drop(&mut self) {
        // SAFETY: taken in `fill`, and what uses them is on the stream already.
        self.made.iter().for_each(|&address| unsafe { self.card.release(address, self.stream, true) });
    }
}

impl Zeros<'_> {
    fn fill(&mut self, given: &mut Given) -> kc::run::Result<()> {
        let bytes = (given.high - given.low) as usize;
        let address = self.card.allocate(bytes, self.stream, true)?;
        self.made.push(address);
        // SAFETY: memory of so many bytes, which nobody else has.
        unsafe { self.card.clear(address, bytes, self.stream) }?;
        given.descriptor.grad = address + given.extent.below as u64;
        Ok(())
    }
}

impl WarpOnGpu {
    /// What kc launches. None: the launch is for Warp.
    ///
    /// # Safety
    /// What Warp hands over for a launch of this kernel.
    unsafe fn launch(&self, params: Params, block: u32, stream: u64) -> Option<Result<Launch, kc::Error>> {
        // SAFETY: the caller's promise.
        let (bounds, repeats): (LaunchBounds, u64) = unsafe { repeated_bounds(params.at(0), self.dims) }?;
        let mut extents: SmallVec<[usize; 5]> = bounds.shape[..self.dims].iter().map(|&n| n as usize).collect();
        let kernel = self.kernel.block_dim(block);
        if repeats > 1 {
            // Threads with the same coordinates are those of a block, which has tiles.
            extents.push(block as usize);
            let dim = Dim::from(&extents[..]);
            let has_tiles = match kernel.dim_of_blocks(&dim, block) {
                Ok(blocks) => blocks.extents() != dim.extents(),
                Err(error) => return Some(Err(error)),
            };
            if repeats != u64::from(block) || !has_tiles {
                return None;
            }
        }
        let dim = Dim::from(&extents[..]);
        let made = kernel.made_for(&dim).map(|other| Launch { kernel: other.unwrap_or(kernel), dim, stream });
        Some(made)
    }

    /// The struct of arguments, or that of gradients.
    ///
    /// # Safety
    /// As above; there are so many addresses from the `first` on.
    unsafe fn block(&self, params: Params, first: usize) -> SmallVec<[u64; 64]> {
        let mut block = SmallVec::from_elem(0, self.kernel.signature().size().div_ceil(8));
        for (n, each) in self.moves.iter().enumerate() {
            // SAFETY: the caller's promise: what lies there was compared when the kernel was taken.
            unsafe { each.put(params.at(first + n), &mut block) };
        }
        block
    }

    fn queue(&self, py: Python<'_>, stream: u64) -> PyResult<Queue> {
        // What Warp promises of orders its own code keeps.
        Ok(Queue { deterministic: false, ..device::queue(py, Some(self.ordinal), stream)? })
    }

    /// Runs the kernel. False: it is for Warp.
    ///
    /// # Safety
    /// As for [`WarpOnGpu::block`].
    unsafe fn forward(&self, launch: &Launch, params: Params, queue: Queue) -> Result<bool, kc::Error> {
        let signature = launch.kernel.signature();
        // SAFETY: the caller's promise.
        let block = unsafe { self.block(params, 1) };
        let mut bound = signature.room();
        bound.put(0, &bytes(&block)[..signature.size()]);
        // SAFETY: the arguments are those of this kernel; Warp keeps their memory, and its stream.
        unsafe { launch.kernel.launch_resident(&launch.dim, &bound, queue) }.map(|()| true)
    }

    /// Runs the derivative. False: it is for Warp.
    ///
    /// # Safety
    /// As for [`WarpOnGpu::block`], with gradients behind the arguments.
    unsafe fn adjoint(&self, launch: &Launch, params: Params, queue: Queue) -> Result<bool, kc::Error> {
        let kernel = &launch.kernel;
        let plain = kernel.gradient_of(Form::default())?;
        // SAFETY: the caller's promise.
        let (args, adjoints) = unsafe { (self.block(params, 1), self.block(params, 1 + self.moves.len())) };
        let (args, adjoints) = (args.as_ptr().cast::<u8>(), adjoints.as_ptr().cast::<u8>());
        // SAFETY: both are structs of arguments of this kernel.
        let Some(mut given) = (unsafe { arrays(plain.signature(), plain.structs(), args, adjoints) }) else {
            return Ok(false);
        };
        let gradient = match same(&given, &plain) {
            None => return Ok(false),
            Some(pairs) if pairs.is_empty() => plain,
            Some(same) => kernel.gradient_of(Form { same, ..Form::default() })?,
        };
        // What the launch overwrote is not there any more.
        if gradient.records() {
            return Ok(false);
        }
        let lacks = |given: &Given| match given.place.ty {
            Type::Array(ty) => given.descriptor.grad == 0 && Type::from(ty.element).holds_floats(gradient.structs()),
            _ => false,
        };
        // A graph that another library captures holds no memory of a run.
        let takes_memory = given.iter().any(lacks) || !gradient.is_alone();
        if takes_memory && Resident::is_captured(self.ordinal, launch.stream) {
            return Ok(false);
        }
        let card: Arc<Card> = Card::open(self.ordinal).map_err(kc::Error::of)?;
        let mut zeros = Zeros { card: &card, stream: launch.stream, made: SmallVec::new() };
        fill(&mut given, lacks, &mut zeros).map_err(kc::Error::of)?;
        // SAFETY: the struct is as long as its signature says.
        let bound = unsafe { laid(gradient.signature(), args, given) };
        // SAFETY: what the arrays share was looked at.
        unsafe { kernel.gradient_resident(&gradient, &launch.dim, &bound, Part::Backward, queue) }.map(|_| true)
    }
}

fn fill(given: &mut Found, lacks: impl Fn(&Given) -> bool, zeros: &mut Zeros<'_>) -> kc::run::Result<()> {
    given.iter_mut().filter(|given| lacks(given)).try_for_each(|given| zeros.fill(given))
}

fn bytes(words: &[u64]) -> &[u8] {
    // SAFETY: every byte of a word is initialised, and bytes need no alignment.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), words.len() * 8) }
}

#[pymethods]
impl WarpOnGpu {
    /// `moves`: where each argument goes, its bytes, and the dimensions of an indexed array.
    #[new]
    fn new(
        kernel: &Bound<'_, Kernel>,
        dims: usize,
        ordinal: i32,
        moves: Vec<(usize, usize, usize)>,
    ) -> PyResult<WarpOnGpu> {
        let kernel = kernel.get().ready(kernel.py())?.kernel.clone();
        let moves = moves.into_iter().map(|(to, size, rank)| Move { from: 0, to, size, rank }).collect();
        Ok(WarpOnGpu { kernel, dims, ordinal, moves, counts: Default::default(), fault: OnceLock::new() })
    }

    /// Compiles and loads the kernel, or its derivative.
    fn load(&self, py: Python<'_>, adjoint: bool) -> PyResult<()> {
        let (kernel, on) =
            (self.kernel.clone(), On { ordinal: self.ordinal, checked: device::are_checked(), in_order: false });
        let load = move || match adjoint {
            false => kernel.load_resident(on),
            true => kernel.load_gradient_resident(&*kernel.gradient_of(Form::default())?, on),
        };
        interruptible(py, load)?.map_err(|error| error::raise(py, &error))
    }

    /// Runs the kernel, or its derivative, behind what a stream does already, and does not wait.
    /// False: it is for Warp. `params` is the address of the addresses that Warp hands over.
    fn run(&self, py: Python<'_>, adjoint: bool, params: usize, block: u32, stream: u64) -> PyResult<bool> {
        let params = Params(std::ptr::with_exposed_provenance(params));
        let stream = legacy(stream);
        // SAFETY: Warp calls this in the place of its own launch of the kernel.
        let launch = match unsafe { self.launch(params, block, stream) } {
            Some(Ok(launch)) => launch,
            Some(Err(error)) => return Ok(self.leave(&error)),
            None => return Ok(false),
        };
        let queue = self.queue(py, stream)?;
        let ran = py.detach(|| match adjoint {
            // SAFETY: as above.
            false => unsafe { self.forward(&launch, params, queue) },
            // SAFETY: as above.
            true => unsafe { self.adjoint(&launch, params, queue) },
        });
        match ran {
            Ok(ran) => {
                if ran {
                    self.count(if adjoint { Count::Backward } else { Count::Forward });
                }
                Ok(ran)
            }
            Err(error) => Ok(self.leave(&error)),
        }
    }

    /// Warp ran the kernel, or its derivative.
    fn left(&self, adjoint: bool) {
        self.count(if adjoint { Count::BackwardByWarp } else { Count::ForwardByWarp });
    }

    /// As [`super::warp_counts`].
    fn counts(&self) -> ([u64; 4], Option<String>) {
        (std::array::from_fn(|k| self.counts[k].load(Ordering::Relaxed)), self.fault.get().cloned())
    }
}

impl WarpOnGpu {
    fn count(&self, what: Count) {
        self.counts[what as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// A launch is Warp's, by an error of kc.
    fn leave(&self, error: &kc::Error) -> bool {
        self.fault.get_or_init(|| error.to_string().lines().next().unwrap_or_default().to_string());
        false
    }
}
