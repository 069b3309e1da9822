//! How does Warp launch a kernel of kc? Its CPU launches call C functions with the bounds of the
//! launch and structs of arguments, which lie in memory as kc's do. Each kernel gets a pair of such
//! functions out of a fixed number; where a launch is not for kc, they call Warp's own, which Warp
//! may have to compile first.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use kc::abi::{ARRAY_FLAGS_RETAIN, ArrayDescriptor, LaunchBounds};
use kc::analysis::alias::Root;
use kc::embed::{Bound as Laid, Dim, Extent, Form, Gradient, Part, Place, Signature, is_recording};
use kc::types::{Layout, StructTable, Type};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use smallvec::SmallVec;

use crate::error;
use crate::kernel::{self, Kernel};

mod far;

pub use far::WarpOnGpu;

type Forward = unsafe extern "C" fn(*const u8, *const u8);
type Backward = unsafe extern "C" fn(*const u8, *const u8, *const u8);

/// A kernel of Warp that kc runs.
struct Taken {
    kernel: kc::Kernel,
    /// The dimensions of its bounds.
    dims: usize,
    own: Own,
    /// Whether gradients are for kc.
    differentiated: bool,
    counts: [AtomicU64; 4],
    /// Where its arguments come from, if they lie otherwise for Warp.
    moves: Option<Vec<Move>>,
    /// Why kc could not compile it.
    fault: OnceLock<String>,
}

/// An argument that lies elsewhere for Warp: where for Warp and for kc, bytes for kc.
struct Move {
    from: usize,
    to: usize,
    size: usize,
    /// Of an indexed array: Warp's has the array, four addresses of lists of indices and four
    /// lengths of these; kc's has an array, and one for each list (`kc::check::body::indexed`). 0:
    /// it is none.
    rank: usize,
}

const DESCRIPTOR: usize = size_of::<ArrayDescriptor>();

impl Move {
    /// # Safety
    /// A struct of arguments of Warp, and room for kc's.
    unsafe fn put(&self, args: *const u8, block: &mut [u64]) {
        let to = block.as_mut_ptr().cast::<u8>();
        // SAFETY: the caller's promise: where things lie was compared when the kernel was taken.
        unsafe {
            let (from, to) = (args.add(self.from), to.add(self.to));
            if self.rank == 0 {
                return std::ptr::copy_nonoverlapping(from, to, self.size);
            }
            std::ptr::copy_nonoverlapping(from, to, DESCRIPTOR);
            for k in 0..self.rank {
                let list = from.add(DESCRIPTOR + 8 * k).cast::<u64>().read_unaligned();
                let count = from.add(DESCRIPTOR + 32 + 4 * k).cast::<i32>().read_unaligned();
                let (shape, strides) = ([count, 0, 0, 0], [4, 0, 0, 0]);
                let made = ArrayDescriptor { data: list, grad: 0, shape, strides, ndim: 1, flags: 0 };
                if list != 0 {
                    to.add(DESCRIPTOR * (k + 1)).cast::<ArrayDescriptor>().write_unaligned(made);
                }
            }
        }
    }
}

/// Warp's functions of a kernel.
struct Own {
    /// Called once: gives the addresses; 0: there is none.
    ask: Py<PyAny>,
    /// None: it failed.
    found: OnceLock<Option<(Forward, Option<Backward>)>>,
}

impl Own {
    /// Not with the interpreter held: another thread may be asking.
    fn functions(&self) -> Option<(Forward, Option<Backward>)> {
        let ask = |py: Python<'_>| self.ask.bind(py).call0()?.extract::<(usize, usize)>();
        *self.found.get_or_init(|| match Python::attach(ask) {
            // SAFETY: addresses of functions of this form, which live as long as what was asked.
            Ok((forward, backward)) => unsafe {
                let pointer = |at: usize| std::ptr::with_exposed_provenance::<c_void>(at);
                let backward = std::mem::transmute::<*const c_void, Option<Backward>>(pointer(backward));
                std::mem::transmute::<*const c_void, Option<Forward>>(pointer(forward))
                    .map(|forward| (forward, backward))
            },
            Err(error) => {
                failed(Failure::Python(error));
                None
            }
        })
    }
}

/// What is counted: launches and gradients, by whom.
#[derive(Clone, Copy)]
enum Count {
    Forward,
    ForwardByWarp,
    Backward,
    BackwardByWarp,
}

const PLACES: usize = 1024;
static TAKEN: [OnceLock<Taken>; PLACES] = [const { OnceLock::new() }; PLACES];
static USED: AtomicUsize = AtomicUsize::new(0);
/// The first error of a launch that nobody was told of yet.
static FAILED: Mutex<Option<Failure>> = Mutex::new(None);

/// Why a launch ended.
enum Failure {
    Kernel(Box<kc::Error>),
    /// By Ctrl-C, for one.
    Python(PyErr),
}

impl Taken {
    fn count(&self, what: Count) {
        self.counts[what as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Runs the kernel; Warp's, if kc cannot compile it.
    ///
    /// # Safety
    /// A struct of arguments of this kernel.
    unsafe fn launch(&self, bounds: LaunchBounds, args: *const u8) {
        if let Err(error) = self.kernel.prepare(&bounds) {
            self.fault.get_or_init(|| error.to_string().lines().next().unwrap_or_default().to_string());
            // SAFETY: the caller's promise.
            return unsafe { self.launch_own(warp_bounds(&bounds, self.dims).as_ptr().cast(), args) };
        }
        self.count(Count::Forward);
        let moved = self.moves.as_ref().map(|moves| {
            let mut block: SmallVec<[u64; 64]> = SmallVec::from_elem(0, self.kernel.signature().size().div_ceil(8));
            // SAFETY: the caller's promise.
            moves.iter().for_each(|each| unsafe { each.put(args, &mut block) });
            block
        });
        let args = moved.as_ref().map_or(args.cast::<c_void>(), |block| block.as_ptr().cast());
        if is_recording() {
            // SAFETY: the caller's promise.
            unsafe { self.record(&bounds, args.cast()) };
        }
        // SAFETY: the caller's promise.
        conclude(unsafe { self.kernel.launch_block(bounds, self.dims, args) });
    }

    /// Keeps a launch for `kc.record`.
    ///
    /// # Safety
    /// A struct of arguments as kc takes them.
    unsafe fn record(&self, bounds: &LaunchBounds, args: *const u8) {
        let (signature, structs) = (self.kernel.signature(), self.kernel.structs());
        // Its arrays have no other gradients.
        let adjoints: SmallVec<[u64; 64]> = SmallVec::from_elem(0, signature.size().div_ceil(8));
        // SAFETY: the caller's promise.
        let found = unsafe { arrays(signature, structs, args, adjoints.as_ptr().cast()) };
        let dim = Dim::from(&bounds.shape.map(|n| n as usize)[..self.dims]);
        match found {
            // SAFETY: as above.
            Some(given) => unsafe { self.kernel.record(&dim, &laid(signature, args, given)) },
            None => self.kernel.leave_out("an array has a negative extent"),
        }
    }

    /// Runs Warp's function.
    ///
    /// # Safety
    /// What Warp hands over for this kernel.
    unsafe fn launch_own(&self, launch: *const u8, args: *const u8) {
        self.count(Count::ForwardByWarp);
        if let Some((forward, _)) = self.own.functions() {
            // SAFETY: the caller's promise.
            unsafe { forward(launch, args) };
        }
    }

    /// Runs kc's derivative. False: it has none for these arguments.
    ///
    /// # Safety
    /// Structs of arguments of this kernel.
    unsafe fn adjoint(&self, bounds: &LaunchBounds, args: *const u8, adjoints: *const u8) -> bool {
        // SAFETY: the caller's promise.
        let Some(outcome) = (unsafe { gradient(self, bounds, args, adjoints) }) else { return false };
        self.count(Count::Backward);
        conclude(outcome);
        true
    }

    /// Runs Warp's derivative. False: it has none.
    ///
    /// # Safety
    /// What Warp hands over for this kernel.
    unsafe fn adjoint_own(&self, launch: *const u8, args: *const u8, adjoints: *const u8) -> bool {
        let Some((_, Some(own))) = self.own.functions() else { return false };
        self.count(Count::BackwardByWarp);
        // SAFETY: the caller's promise.
        unsafe { own(launch, args, adjoints) };
        true
    }
}

/// What a kernel that was taken over takes, and the dimensions of its bounds.
pub fn taken(place: usize) -> Option<(&'static Signature, usize)> {
    let taken = TAKEN.get(place)?.get()?;
    Some((taken.kernel.signature(), taken.dims))
}

/// Runs a kernel that was taken over; [`warp_raise`] has its error.
///
/// # Safety
/// A struct of arguments of the kernel, aligned to 8 bytes.
pub unsafe fn launch(place: usize, bounds: &LaunchBounds, args: *const u8) {
    let Some(taken) = TAKEN.get(place).and_then(OnceLock::get) else { return };
    // SAFETY: the caller's promise.
    unsafe { taken.launch(*bounds, args) };
}

/// The bounds of a launch of Warp: extents, then the number of threads, then how many threads have
/// the same coordinates. None: they are none that kc knows.
///
/// # Safety
/// Bounds with so many extents.
unsafe fn repeated_bounds(from: *const u8, dims: usize) -> Option<(LaunchBounds, u64)> {
    let mut shape = [1u32; 4];
    for (k, extent) in shape.iter_mut().take(dims).enumerate() {
        // SAFETY: the caller's promise.
        *extent = unsafe { from.cast::<u32>().add(k).read_unaligned() };
    }
    let rest = (dims * 4).next_multiple_of(8);
    // SAFETY: as above.
    let (size, repeats) =
        unsafe { (from.add(rest).cast::<u64>().read_unaligned(), from.add(rest + 8).cast::<u64>().read_unaligned()) };
    let bounds = LaunchBounds::new(&shape[..dims])?;
    (bounds.size.checked_mul(repeats) == Some(size)).then_some((bounds, repeats))
}

/// The same where each thread has coordinates of its own.
///
/// # Safety
/// As above.
unsafe fn bounds(from: *const u8, dims: usize) -> Option<LaunchBounds> {
    // SAFETY: the caller's promise.
    unsafe { repeated_bounds(from, dims) }.filter(|(_, repeats)| *repeats == 1).map(|(bounds, _)| bounds)
}

/// The same for Warp.
fn warp_bounds(bounds: &LaunchBounds, dims: usize) -> [u64; 4] {
    let mut words = [0u64; 4];
    for (k, &extent) in bounds.shape[..dims].iter().enumerate() {
        words[k / 2] |= u64::from(extent) << (32 * (k % 2));
    }
    let rest = dims.div_ceil(2);
    words[rest] = bounds.size;
    words[rest + 1] = 1;
    words
}

fn failed(failure: Failure) {
    FAILED.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(failure);
}

/// What a launch printed, and its error.
fn conclude(outcome: Result<kc::Outcome, kc::Error>) {
    use std::io::Write;
    let printed = match &outcome {
        Ok(outcome) => &outcome.printed,
        Err(error) => error.printed(),
    };
    if !printed.is_empty() {
        // Where standard output is closed nobody reads it.
        let mut out = std::io::stdout().lock();
        let _ = out.write_all(printed.as_bytes()).and_then(|()| out.flush());
    }
    let failure = match (kernel::raised(), outcome) {
        (Some(error), _) => Failure::Python(error),
        (None, Err(error)) => Failure::Kernel(Box::new(error)),
        (None, Ok(_)) => return,
    };
    failed(failure);
}

/// Runs the derivative of a kernel that was taken over; [`warp_raise`] has its error. False:
/// neither kc nor Warp has one.
///
/// # Safety
/// As for [`launch`]: the arguments, and the arrays that have their gradients.
pub unsafe fn adjoint(place: usize, bounds: &LaunchBounds, args: *const u8, adjoints: *const u8) -> bool {
    let Some(taken) = TAKEN.get(place).and_then(OnceLock::get) else { return false };
    // SAFETY: the caller's promise.
    let known = taken.differentiated && unsafe { taken.adjoint(bounds, args, adjoints) };
    // SAFETY: as above.
    known || unsafe { taken.adjoint_own(warp_bounds(bounds, taken.dims).as_ptr().cast(), args, adjoints) }
}

unsafe extern "C" fn forward<const N: usize>(launch: *const u8, args: *const u8) {
    let Some(taken) = TAKEN[N].get() else { return };
    // SAFETY: Warp calls this as its own function of the kernel.
    match unsafe { bounds(launch, taken.dims) } {
        // SAFETY: as above; the layouts were compared.
        Some(bounds) => unsafe { taken.launch(bounds, args) },
        // SAFETY: as above.
        None => unsafe { taken.launch_own(launch, args) },
    }
}

unsafe extern "C" fn backward<const N: usize>(launch: *const u8, args: *const u8, adjoints: *const u8) {
    let Some(taken) = TAKEN[N].get() else { return };
    // SAFETY: Warp calls this as its own function of the kernel.
    let bounds = taken.differentiated.then(|| unsafe { bounds(launch, taken.dims) }).flatten();
    // SAFETY: as above.
    if !bounds.is_some_and(|bounds| unsafe { taken.adjoint(&bounds, args, adjoints) }) {
        // SAFETY: as above.
        unsafe { taken.adjoint_own(launch, args, adjoints) };
    }
}

/// The derivative of a launch. None: it is not one that kc has, and nothing has run.
///
/// # Safety
/// Structs of arguments as Warp hands them over.
unsafe fn gradient(
    taken: &Taken,
    bounds: &LaunchBounds,
    args: *const u8,
    adjoints: *const u8,
) -> Option<Result<kc::Outcome, kc::Error>> {
    let plain = taken.kernel.gradient_of(Form::default()).ok()?;
    // SAFETY: the caller's promise.
    let given = unsafe { arrays(plain.signature(), plain.structs(), args, adjoints) }?;
    let gradient = match same(&given, &plain)? {
        pairs if pairs.is_empty() => plain,
        same => taken.kernel.gradient_of(Form { same, ..Form::default() }).ok()?,
    };
    // What the launch overwrote is not there any more.
    if gradient.records() {
        return None;
    }
    // SAFETY: the struct is as long as its signature says.
    let laid = unsafe { laid(gradient.signature(), args, given) };
    let dim = Dim::from(&bounds.shape.map(|n| n as usize)[..taken.dims]);
    // SAFETY: what the arrays share was looked at.
    match unsafe { taken.kernel.gradient_bound(&gradient, &dim, &laid, Part::Backward) } {
        Ok((outcome, _)) => Some(Ok(outcome)),
        // A thread was in error.
        Err(error) if error.trap().is_some() => Some(Err(error)),
        Err(_) => None,
    }
}

/// An array argument.
struct Given {
    place: Place,
    descriptor: ArrayDescriptor,
    /// From the first byte to behind the last.
    low: u64,
    high: u64,
    extent: Extent,
}

type Found = SmallVec<[Given; 8]>;

/// An array of Warp: kc's descriptor, except for the last two numbers, which have 16 bits each, and
/// then nothing that is set.
///
/// # Safety
/// A descriptor lies there.
unsafe fn array(from: *const u8) -> ArrayDescriptor {
    // SAFETY: the caller's promise; any bytes are numbers.
    let found = unsafe { from.cast::<ArrayDescriptor>().read_unaligned() };
    ArrayDescriptor { ndim: found.ndim & 0xffff, flags: (found.ndim >> 16) & 0xffff, ..found }
}

/// The arrays of a struct of arguments with their gradients. None: one has a gradient that is not
/// its own.
///
/// # Safety
/// Structs of arguments of this signature.
unsafe fn arrays(signature: &Signature, structs: &StructTable, args: *const u8, adjoints: *const u8) -> Option<Found> {
    let mut found = Found::new();
    let mut open: SmallVec<[Place; 8]> =
        signature.params().iter().enumerate().map(|(n, param)| Place::of(n, param)).collect();
    while let Some(place) = open.pop() {
        match place.ty {
            Type::Struct(id) => {
                let fields = structs[id].fields.iter().enumerate();
                open.extend(fields.map(|(k, field)| place.field(k as u32, field.ty, structs)));
            }
            Type::Array(ty) => {
                // SAFETY: the caller's promise.
                let read = |from: *const u8| unsafe { array(from.add(place.offset as usize)) };
                let (descriptor, adjoint) = (read(args), read(adjoints));
                if adjoint.data != 0 && adjoint.data != descriptor.grad {
                    return None;
                }
                let size = Layout::of_element(ty.element, structs).size as usize;
                let (mut below, mut above) = (0usize, size);
                for k in 0..usize::from(ty.ndim) {
                    let n = usize::try_from(descriptor.shape[k]).ok()?;
                    let reach = n.saturating_sub(1) * descriptor.strides[k].unsigned_abs() as usize;
                    *if descriptor.strides[k] < 0 { &mut below } else { &mut above } += reach;
                }
                let empty = descriptor.data == 0 || descriptor.shape[..usize::from(ty.ndim)].contains(&0);
                if !empty {
                    let extent = Extent { below, bytes: above, writable: true };
                    let (low, high) = (descriptor.data - below as u64, descriptor.data + above as u64);
                    found.push(Given { place, descriptor, low, high, extent });
                }
            }
            _ => {}
        }
    }
    Some(found)
}

/// The pairs of arguments that are one array. None: two share memory otherwise, or two arrays a
/// gradient.
fn same(given: &[Given], gradient: &Gradient) -> Option<Vec<(Root, Root)>> {
    let root = |place: &Place| Root::Param(place.path[0], place.path[1..].to_vec());
    let mut pairs = Vec::new();
    for (j, b) in given.iter().enumerate() {
        for a in &given[..j] {
            let (x, y) = (&a.descriptor, &b.descriptor);
            if a.place.ty == b.place.ty && x == y {
                if !pairs.iter().any(|(_, other)| *other == root(&b.place)) {
                    pairs.push((root(&a.place), root(&b.place)));
                }
                continue;
            }
            let meets = |shift: fn(&Given) -> u64| {
                let (s, t) = (shift(a), shift(b));
                s != 0 && t != 0 && {
                    let (s, t) = (s - a.extent.below as u64, t - b.extent.below as u64);
                    s < t + (b.high - b.low) && t < s + (a.high - a.low)
                }
            };
            let writes = |given: &Given| gradient.signature().writes(&given.place.path);
            if meets(|given| given.descriptor.grad) || meets(|given| given.descriptor.data) && (writes(a) || writes(b))
            {
                return None;
            }
        }
    }
    Some(pairs)
}

/// The arguments for kc.
///
/// # Safety
/// A struct of arguments of this signature.
unsafe fn laid(signature: &Signature, args: *const u8, given: Found) -> Laid {
    let mut bound = signature.room();
    // SAFETY: the caller's promise.
    bound.put(0, unsafe { std::slice::from_raw_parts(args, signature.size()) });
    for Given { place, descriptor, extent, .. } in given {
        let Type::Array(ty) = place.ty else { continue };
        let descriptor = ArrayDescriptor { flags: descriptor.flags & ARRAY_FLAGS_RETAIN, ..descriptor };
        bound.put_array(&place, ty, descriptor, extent);
    }
    bound
}

macro_rules! sixteen {
    ($function:ident, $n:expr) => {
        sixteen!($function, $n; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
    };
    ($function:ident, $n:expr; $($k:literal)*) => {
        [$($function::<{ $n * 16 + $k }>),*]
    };
}

macro_rules! all {
    ($function:ident, $ty:ty; $($k:literal)*) => {
        [$(sixteen!($function, $k) as [$ty; 16]),*]
    };
    ($function:ident, $ty:ty) => {
        all!($function, $ty; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
            32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63)
    };
}

static FORWARD: [[Forward; 16]; PLACES / 16] = all!(forward, Forward);
static BACKWARD: [[Backward; 16]; PLACES / 16] = all!(backward, Backward);

/// Takes over a kernel of Warp. `own` gives the addresses of Warp's functions (0: none) when they
/// are needed; of its gradients kc runs those of one that is `differentiated`. `moves`: where
/// arguments lie for Warp and for kc, their bytes, and the dimensions of indexed arrays, if kc
/// takes some from elsewhere. Gives the number of the kernel, and the addresses of kc's functions.
#[pyfunction]
pub fn warp_take(
    kernel: &Bound<'_, Kernel>,
    dims: usize,
    own: Py<PyAny>,
    has_backward: bool,
    differentiated: bool,
    moves: Option<Vec<(usize, usize, usize, usize)>>,
) -> PyResult<(usize, usize, usize)> {
    kc::engines::registry::expect_foreign();
    let moves =
        moves.map(|moves| moves.into_iter().map(|(from, to, size, rank)| Move { from, to, size, rank }).collect());
    let ready = &kernel.get().ready(kernel.py())?.kernel;
    if !(1..=4).contains(&dims) {
        return Err(PyRuntimeError::new_err("a kernel of Warp has 1 to 4 dimensions"));
    }
    let n = USED.fetch_add(1, Ordering::Relaxed);
    let Some(place) = TAKEN.get(n) else {
        USED.store(PLACES, Ordering::Relaxed);
        return Err(PyRuntimeError::new_err(format!("kc runs at most {PLACES} kernels of Warp in a process")));
    };
    let own = Own { ask: own, found: OnceLock::new() };
    let (counts, fault) = (Default::default(), OnceLock::new());
    place.get_or_init(|| Taken { kernel: ready.clone(), dims, own, differentiated, counts, moves, fault });
    let backward = if has_backward { BACKWARD[n / 16][n % 16] as usize } else { 0 };
    Ok((n, FORWARD[n / 16][n % 16] as usize, backward))
}

/// How often a kernel that was taken over ran: launches by kc and by Warp, then gradients; and why
/// kc could not compile it.
#[pyfunction]
pub fn warp_counts(n: usize) -> Option<([u64; 4], Option<String>)> {
    let taken = TAKEN.get(n)?.get()?;
    let counts = std::array::from_fn(|k| taken.counts[k].load(Ordering::Relaxed));
    Some((counts, taken.fault.get().cloned()))
}

/// Raises the first error of launches since it was asked last.
#[pyfunction]
pub fn warp_raise(py: Python<'_>) -> PyResult<()> {
    let failed = FAILED.lock().unwrap_or_else(PoisonError::into_inner).take();
    match failed {
        Some(Failure::Kernel(error)) => Err(error::raise(py, &error)),
        Some(Failure::Python(error)) => Err(error),
        None => Ok(()),
    }
}

/// Where the parameters of a kernel lie: offset and bytes of each.
#[pyfunction]
pub fn layout(kernel: &Bound<'_, Kernel>) -> PyResult<Vec<(u32, u32)>> {
    let ready = &kernel.get().ready(kernel.py())?.kernel;
    let structs = ready.structs();
    Ok(ready.signature().params().iter().map(|param| (param.offset, Layout::of(param.ty, structs).size)).collect())
}
