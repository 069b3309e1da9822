//! Which memory of a GPU does Python hold? An array there has a NumPy array of a class of its own
//! (`kc/_device.py`) for its extents and strides, over memory that only the GPU reads.

use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use kc::embed::Queue;
use kc::run::devices::cuda::Card;
use numpy::npyffi::PyArrayObject;
use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::{PyTraverseError, PyVisit};

use crate::error::{self, Refused};
use crate::kernel::{print, warn};
use crate::view::{LEGACY, of_numpy};

/// Memory of a GPU, or of the host for its copies.
#[pyclass(frozen, weakref, module = "kc._native")]
pub struct Memory {
    card: Arc<Card>,
    address: u64,
    bytes: usize,
    whose: Whose,
    /// The writes of kc: from byte, to before byte, and a number that no other write has.
    writes: Mutex<Vec<(usize, usize, u64)>>,
    /// Others know of it, and may write to it.
    shared: AtomicBool,
}

pub enum Whose {
    /// It goes back to the pool of the GPU, or to its driver.
    Own { pooled: bool },
    /// The same of memory that the host uses, too.
    Managed,
    /// Managed memory as the host's: what keeps it.
    Host(Py<Memory>),
    /// Of the host.
    Pinned,
    /// Another library's: what keeps it.
    Other(Py<PyAny>),
}

/// How many streams are captured: meanwhile memory is neither taken from a pool nor given back.
static CAPTURES: AtomicUsize = AtomicUsize::new(0);
static WAITING: Mutex<Vec<(Arc<Card>, u64, bool)>> = Mutex::new(Vec::new());

thread_local! {
    /// The streams that this thread uses, by GPU.
    static STREAMS: RefCell<Vec<(i32, u64)>> = const { RefCell::new(Vec::new()) };
    /// The memory that a graph uses which this thread captures.
    static KEPT: RefCell<Option<Vec<Py<Memory>>>> = const { RefCell::new(None) };
}

/// The stream of a GPU that this thread uses.
#[pyfunction]
pub fn current_stream(ordinal: i32) -> u64 {
    let of = |streams: &Vec<(i32, u64)>| streams.iter().find(|(gpu, _)| *gpu == ordinal).map(|(_, at)| *at);
    STREAMS.with_borrow(of).unwrap_or(LEGACY)
}

/// Sets it; gives the one before.
#[pyfunction]
pub fn use_stream(ordinal: i32, stream: u64) -> u64 {
    let before = current_stream(ordinal);
    STREAMS.with_borrow_mut(|streams| {
        streams.retain(|(gpu, _)| *gpu != ordinal);
        streams.push((ordinal, stream));
    });
    before
}

/// A capture of a stream begins or ends; gives the memory that was used meanwhile.
pub fn captures(begins: bool) -> Vec<Py<Memory>> {
    if begins {
        CAPTURES.fetch_add(1, Ordering::SeqCst);
        KEPT.set(Some(Vec::new()));
        return Vec::new();
    }
    if CAPTURES.fetch_sub(1, Ordering::SeqCst) == 1 {
        let waiting = std::mem::take(&mut *WAITING.lock().unwrap_or_else(PoisonError::into_inner));
        for (card, address, pooled) in waiting {
            // SAFETY: nobody has it any more.
            unsafe { card.release(address, LEGACY, pooled) };
        }
    }
    KEPT.take().unwrap_or_default()
}

/// Memory is used: a graph that is captured keeps it.
pub fn keep(memory: &Bound<'_, Memory>) {
    KEPT.with_borrow_mut(|kept| {
        let kept = kept.as_mut().filter(|kept| !kept.iter().any(|known| known.is(memory)));
        kept.into_iter().for_each(|kept| kept.push(memory.clone().unbind()));
    });
}

/// Raises where a graph is captured, which can hold no memory that a derivative takes for one run.
pub fn takes_memory(py: Python<'_>) -> PyResult<()> {
    if KEPT.with_borrow(Option::is_none) {
        return Ok(());
    }
    let text =
        "a graph is captured, and this derivative takes memory of its own: it keeps values, or sums of parameters";
    let help = "leave it out of the graph; `parameters=False` leaves out the gradients of what is given by value";
    Err(Refused::new("E1104", text).help(help).raise(py))
}

/// Raises where a graph is captured, which can hold no wait.
pub fn waits(py: Python<'_>) -> PyResult<()> {
    if KEPT.with_borrow(Option::is_none) {
        return Ok(());
    }
    let text = "a graph is captured, and nothing can be read, written or waited for from the host meanwhile";
    let help = "do that before the `with` block of the graph; what looks for races reads arrays once: run the launch once before";
    Err(Refused::new("E1104", text).help(help).raise(py))
}

/// Whether launches on a GPU test every index from now on.
static CHECKED: AtomicBool = AtomicBool::new(false);

/// Says so; gives what was said before.
#[pyfunction]
pub fn check_launches(on: bool) -> bool {
    CHECKED.swap(on, Ordering::SeqCst)
}

/// Whether launches on a GPU test every index now.
#[pyfunction]
pub fn are_checked() -> bool {
    CHECKED.load(Ordering::SeqCst)
}

/// Whether launches give the same results each time from now on.
static DETERMINISTIC: AtomicBool = AtomicBool::new(false);

/// Says so; gives what was said before.
#[pyfunction]
pub fn order_launches(on: bool) -> bool {
    DETERMINISTIC.swap(on, Ordering::SeqCst)
}

pub fn are_deterministic() -> bool {
    DETERMINISTIC.load(Ordering::SeqCst)
}

/// A kernel for a launch on the host: on one worker, where results are the same each time.
pub fn on_workers(kernel: &kc::Kernel) -> Cow<'_, kc::Kernel> {
    if are_deterministic() { Cow::Owned(kernel.threads(1)) } else { Cow::Borrowed(kernel) }
}

/// Where a launch goes. Raises what threads of launches before it recorded, if that is known.
pub fn queue(py: Python<'_>, ordinal: Option<i32>, stream: u64) -> PyResult<Queue> {
    if let Some(ordinal) = ordinal {
        told(py, ordinal)?;
    }
    Ok(Queue { ordinal, checked: are_checked(), deterministic: are_deterministic(), stream })
}

/// Prints what kernels of a GPU printed, and raises what their threads recorded, as far as it is
/// known: all of the launches that were waited for.
pub fn told(py: Python<'_>, ordinal: i32) -> PyResult<()> {
    print(py, &kc::embed::printed(ordinal))?;
    let (error, warnings) = kc::embed::told(ordinal);
    warn(py, warnings)?;
    error.map_or(Ok(()), |error| Err(error::raise(py, &error)))
}

/// [`told`], for who has waited by other means.
#[pyfunction]
pub fn card_told(py: Python<'_>, ordinal: i32) -> PyResult<()> {
    told(py, ordinal)
}

/// The exception for an error of kc's library.
pub fn raise(py: Python<'_>, fail: kc::run::Fail) -> PyErr {
    error::raise(py, &kc::Error::of(fail))
}

pub fn card(py: Python<'_>, ordinal: i32) -> PyResult<Arc<Card>> {
    py.detach(|| Card::open(ordinal)).map_err(|fail| raise(py, fail))
}

impl Memory {
    pub fn take(py: Python<'_>, ordinal: i32, bytes: usize) -> PyResult<Memory> {
        let card = card(py, ordinal)?;
        let pooled = CAPTURES.load(Ordering::SeqCst) == 0;
        let stream = current_stream(ordinal);
        let address = py.detach(|| card.allocate(bytes, stream, pooled)).map_err(|fail| raise(py, fail))?;
        Ok(Memory::new(card, address, bytes, Whose::Own { pooled }))
    }

    pub fn managed(py: Python<'_>, ordinal: i32, bytes: usize) -> PyResult<Memory> {
        let card = card(py, ordinal)?;
        let address = py.detach(|| card.managed(bytes)).map_err(|fail| raise(py, fail))?;
        Ok(Memory::new(card, address, bytes, Whose::Managed))
    }

    pub fn new(card: Arc<Card>, address: u64, bytes: usize, whose: Whose) -> Memory {
        let shared = AtomicBool::new(matches!(whose, Whose::Other(_)));
        Memory { card, address, bytes, whose, writes: Mutex::default(), shared }
    }

    pub fn card(&self) -> &Card {
        &self.card
    }

    pub fn address(&self) -> u64 {
        self.address
    }

    fn writes(&self) -> std::sync::MutexGuard<'_, Vec<(usize, usize, u64)>> {
        self.writes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that kc writes to bytes from `low` to before `high`.
    pub fn wrote(&self, low: usize, high: usize) {
        static NUMBERS: AtomicU64 = AtomicU64::new(1);
        /// More writes than these are remembered as one.
        const MOST: usize = 64;
        let number = NUMBERS.fetch_add(1, Ordering::SeqCst);
        let mut writes = self.writes();
        writes.retain(|&(from, to, _)| from < low || high < to);
        writes.push((low, high, number));
        if writes.len() > MOST {
            let all = (self.address as usize, self.address as usize + self.bytes, number);
            *writes = vec![all];
        }
    }

    /// Notes that kc writes to all of it.
    pub fn wrote_all(&self) {
        self.wrote(self.address as usize, self.address as usize + self.bytes.max(1));
    }

    /// A number that changes with each write of kc to these bytes. None: others may write to them.
    pub fn contents(&self, low: usize, high: usize) -> Option<u64> {
        if self.shared.load(Ordering::SeqCst) {
            return None;
        }
        Some(
            self.writes()
                .iter()
                .filter(|(from, to, _)| *from < high && low < *to)
                .map(|found| found.2)
                .max()
                .unwrap_or(0),
        )
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        match self.whose {
            Whose::Managed if CAPTURES.load(Ordering::SeqCst) > 0 => {
                let mut waiting = WAITING.lock().unwrap_or_else(PoisonError::into_inner);
                waiting.push((self.card.clone(), self.address, false));
            }
            Whose::Own { pooled } if CAPTURES.load(Ordering::SeqCst) > 0 => {
                let mut waiting = WAITING.lock().unwrap_or_else(PoisonError::into_inner);
                waiting.push((self.card.clone(), self.address, pooled));
            }
            // SAFETY: nobody has it any more; the stream waits for the others of kc.
            Whose::Own { pooled } => unsafe { self.card.release(self.address, LEGACY, pooled) },
            // SAFETY: as above.
            Whose::Managed => unsafe { self.card.release(self.address, LEGACY, false) },
            Whose::Pinned => {
                let at: *mut u8 = std::ptr::with_exposed_provenance_mut(self.address as usize);
                // SAFETY: as above.
                unsafe { self.card.unpin(at) };
            }
            Whose::Other(_) | Whose::Host(_) => {}
        }
    }
}

#[pymethods]
impl Memory {
    /// The number of the GPU.
    #[getter]
    fn ordinal(&self) -> i32 {
        self.card.ordinal()
    }

    /// Whether the host uses it, too.
    #[getter]
    pub fn is_managed(&self) -> bool {
        matches!(self.whose, Whose::Managed)
    }

    /// Others know of it from now on.
    pub fn share(&self) {
        self.shared.store(true, Ordering::SeqCst);
    }

    /// Pinned memory, for NumPy.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, pyo3::types::PyDict>> {
        if !matches!(self.whose, Whose::Pinned) {
            return Err(pyo3::exceptions::PyAttributeError::new_err("this memory is a GPU's"));
        }
        let about = pyo3::types::PyDict::new(py);
        about.set_item("data", (self.address, false))?;
        about.set_item("shape", (self.bytes,))?;
        about.set_item("typestr", "|u1")?;
        about.set_item("version", 3)?;
        Ok(about)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        match &self.whose {
            Whose::Other(owner) => visit.call(owner),
            Whose::Host(memory) => visit.call(memory),
            Whose::Own { .. } | Whose::Managed | Whose::Pinned => Ok(()),
        }
    }
}

/// The memory of a GPU in which an array is. None: the host has it.
#[pyfunction]
#[pyo3(name = "memory_of")]
pub fn of<'py>(array: &Bound<'py, PyUntypedArray>) -> Option<Bound<'py, Memory>> {
    let mut at = array.as_ptr();
    loop {
        // SAFETY: an array of NumPy lives as long as one that is a part of it.
        let base = unsafe { (*at.cast::<PyArrayObject>()).fields.base };
        if base.is_null() {
            return None;
        }
        // SAFETY: as above.
        let base = unsafe { Bound::from_borrowed_ptr(array.py(), base) };
        if let Ok(memory) = base.cast::<Memory>() {
            return Some(memory.clone()).filter(|memory| !matches!(memory.get().whose, Whose::Pinned | Whose::Host(_)));
        }
        if base.cast::<PyUntypedArray>().is_err() {
            return None;
        }
        at = base.as_ptr();
    }
}

/// A NumPy array of bytes that a GPU reads without a copy in between.
#[pyfunction]
pub fn pinned(py: Python<'_>, ordinal: i32, bytes: usize) -> PyResult<Memory> {
    let card = card(py, ordinal)?;
    let at = card.pinned(bytes).map_err(|fail| raise(py, fail))?;
    Ok(Memory::new(card, at.expose_provenance() as u64, bytes, Whose::Pinned))
}

/// How many GPUs there are.
#[pyfunction]
pub fn card_count(py: Python<'_>) -> PyResult<usize> {
    py.detach(Card::count).map_err(|fail| raise(py, fail))
}

/// The numbers of the GPUs that were used.
#[pyfunction]
pub fn cards_opened() -> Vec<i32> {
    Card::opened()
}

/// Name, bytes, compute capability and multiprocessors.
#[pyfunction]
pub fn card_about(py: Python<'_>, ordinal: i32) -> PyResult<(String, usize, (i32, i32), i32)> {
    let card = card(py, ordinal)?;
    let about = card.about();
    Ok((about.name.clone(), about.memory, about.capability, about.multiprocessors))
}

/// Bytes that are free.
#[pyfunction]
pub fn card_free(py: Python<'_>, ordinal: i32) -> PyResult<usize> {
    card(py, ordinal)?.room().map(|(free, _)| free).map_err(|fail| raise(py, fail))
}

/// Waits for all that a GPU does, or for what a stream of it does.
#[pyfunction]
#[pyo3(signature = (ordinal, stream=None))]
pub fn card_wait(py: Python<'_>, ordinal: i32, stream: Option<u64>) -> PyResult<()> {
    let card = card(py, ordinal)?;
    waits(py)?;
    py.detach(|| stream.map_or_else(|| card.wait_all(), |stream| card.wait(stream))).map_err(|fail| raise(py, fail))?;
    told(py, ordinal)
}

/// Whether an array is in the memory of a GPU.
pub fn is_far(array: &Bound<'_, PyUntypedArray>) -> bool {
    of(array).is_some()
}

/// Address of the first element, for who is outside.
#[pyfunction]
pub fn address_of(array: &Bound<'_, PyUntypedArray>) -> usize {
    let empty = array.len() == 0;
    if empty { 0 } else { of_numpy(array).data.expose_provenance() }
}

/// What comes next on a stream waits for what this thread's stream of the GPU does.
#[pyfunction]
pub fn stream_follow(py: Python<'_>, ordinal: i32, stream: u64) -> PyResult<()> {
    let card = card(py, ordinal)?;
    py.detach(|| card.follow(stream, (&card, current_stream(ordinal)))).map_err(|fail| raise(py, fail))
}
