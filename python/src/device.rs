//! Which memory of a GPU does Python hold? An array there has a NumPy array of a class of its own
//! (`kc/_device.py`) for its extents and strides, over memory that only the GPU reads.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use kc::run::devices::cuda::Card;
use numpy::npyffi::PyArrayObject;
use numpy::{PyArrayDescr, PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::{PyTraverseError, PyVisit};

use crate::error::{self, Refused};
use crate::gpu::by_rows;
use crate::memory::{Place, over};
use crate::view::{self, LEGACY, View, of_numpy};

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

enum Whose {
    /// It goes back to the pool of the GPU, or to its driver.
    Own { pooled: bool },
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

/// Raises where a graph is captured, which can hold no wait.
fn waits(py: Python<'_>) -> PyResult<()> {
    if KEPT.with_borrow(Option::is_none) {
        return Ok(());
    }
    let text = "a graph is captured, and nothing can be read, written or waited for from the host meanwhile";
    let help = "do that before the `with` block of the graph; what looks for races reads arrays once: run the launch once before";
    Err(Refused::new("E1104", text).help(help).raise(py))
}

/// The exception for an error of kc's library.
pub fn raise(py: Python<'_>, fail: kc::run::Fail) -> PyErr {
    error::raise(py, &kc::Error::of(fail))
}

pub fn card(py: Python<'_>, ordinal: i32) -> PyResult<Arc<Card>> {
    py.detach(|| Card::open(ordinal)).map_err(|fail| raise(py, fail))
}

impl Memory {
    fn take(py: Python<'_>, ordinal: i32, bytes: usize) -> PyResult<Memory> {
        let card = card(py, ordinal)?;
        let pooled = CAPTURES.load(Ordering::SeqCst) == 0;
        let stream = current_stream(ordinal);
        let address = py.detach(|| card.allocate(bytes, stream, pooled)).map_err(|fail| raise(py, fail))?;
        Ok(Memory::new(card, address, bytes, Whose::Own { pooled }))
    }

    fn new(card: Arc<Card>, address: u64, bytes: usize, whose: Whose) -> Memory {
        let shared = AtomicBool::new(matches!(whose, Whose::Other(_)));
        Memory { card, address, bytes, whose, writes: Mutex::default(), shared }
    }

    pub fn card(&self) -> &Card {
        &self.card
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
            Whose::Own { pooled } if CAPTURES.load(Ordering::SeqCst) > 0 => {
                let mut waiting = WAITING.lock().unwrap_or_else(PoisonError::into_inner);
                waiting.push((self.card.clone(), self.address, pooled));
            }
            // SAFETY: nobody has it any more; the stream waits for the others of kc.
            Whose::Own { pooled } => unsafe { self.card.release(self.address, LEGACY, pooled) },
            Whose::Pinned => {
                let at: *mut u8 = std::ptr::with_exposed_provenance_mut(self.address as usize);
                // SAFETY: as above.
                unsafe { self.card.unpin(at) };
            }
            Whose::Other(_) => {}
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
            Whose::Own { .. } | Whose::Pinned => Ok(()),
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
            return Some(memory.clone()).filter(|memory| !matches!(memory.get().whose, Whose::Pinned));
        }
        if base.cast::<PyUntypedArray>().is_err() {
            return None;
        }
        at = base.as_ptr();
    }
}

/// An array with rows behind each other, of what the memory holds already.
#[pyfunction]
pub fn far_empty<'py>(
    ordinal: i32,
    shape: Vec<isize>,
    dtype: &Bound<'py, PyArrayDescr>,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    let size = dtype.itemsize();
    let bytes = shape.iter().try_fold(size, |bytes, &n| bytes.checked_mul(usize::try_from(n).ok()?));
    let Some(bytes) = bytes.filter(|&bytes| isize::try_from(bytes).is_ok()) else {
        return Err(pyo3::exceptions::PyValueError::new_err("the array is larger than the memory of any machine"));
    };
    let memory = Memory::take(dtype.py(), ordinal, bytes)?;
    let place = Place {
        start: memory.address as usize,
        low: memory.address as usize,
        high: memory.address as usize + bytes,
        strides: by_rows(&shape, size as isize).into_iter().collect(),
        shape: shape.into_iter().collect(),
        dtype: dtype.clone().unbind(),
        at: Some(ordinal),
    };
    let start = place.start;
    // SAFETY: it holds all elements.
    unsafe { over(&place, start, Bound::new(dtype.py(), memory)?.into_any()) }
}

/// An array of the same form, of what the memory holds already. The elements are apart.
#[pyfunction]
pub fn far_like<'py>(array: &Bound<'py, PyUntypedArray>) -> PyResult<Bound<'py, PyUntypedArray>> {
    let py = array.py();
    let place = Place::of(array);
    let memory = Memory::take(py, known(array)?.get().card.ordinal(), place.high - place.low)?;
    let start = memory.address as usize + (place.start - place.low);
    // SAFETY: it has all bytes from the first to the last element.
    unsafe { over(&place, start, Bound::new(py, memory)?.into_any()) }
}

/// An array of other elements, in the memory from the first to the last element of an array.
#[pyfunction]
pub fn far_view<'py>(
    array: &Bound<'py, PyUntypedArray>,
    shape: Vec<isize>,
    strides: Vec<isize>,
    dtype: &Bound<'py, PyArrayDescr>,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    let (py, all) = (array.py(), Place::of(array));
    let (shape, strides) = (shape.into_iter().collect(), strides.into_iter().collect());
    let dtype = dtype.clone().unbind();
    let mut place = Place { start: all.start, low: all.start, high: all.start, shape, strides, dtype, at: all.at };
    place.span(py);
    if place.low < all.low || place.high > all.high || place.shape.len() != place.strides.len() {
        return Err(PyRuntimeError::new_err("a view reaches out of its array (this is a fault of kc)"));
    }
    let start = place.start;
    // SAFETY: the array holds its bytes.
    unsafe { over(&place, start, known(array)?.into_any()) }
}

fn known<'py>(array: &Bound<'py, PyUntypedArray>) -> PyResult<Bound<'py, Memory>> {
    of(array).ok_or_else(|| PyRuntimeError::new_err("the array is not in the memory of a GPU (this is a fault of kc)"))
}

/// Sets all bytes from the first to the last element to zero.
#[pyfunction]
pub fn far_clear(array: &Bound<'_, PyUntypedArray>) -> PyResult<()> {
    let (py, memory, place) = (array.py(), known(array)?, Place::of(array));
    keep(&memory);
    let memory = memory.get();
    memory.wrote(place.low, place.high);
    let stream = current_stream(memory.card.ordinal());
    if place.is_empty() {
        return Ok(());
    }
    // SAFETY: the memory holds the array, and stays until the stream is done with it.
    py.detach(|| unsafe { memory.card.clear(place.low as u64, place.high - place.low, stream) })
        .map_err(|fail| raise(py, fail))
}

/// Copies all elements between two arrays of one form, of which at least one is a GPU's: their
/// strides are the same.
#[pyfunction]
pub fn far_copy(to: &Bound<'_, PyUntypedArray>, from: &Bound<'_, PyUntypedArray>) -> PyResult<()> {
    let py = to.py();
    let (mine, its) = (Place::of(to), Place::of(from));
    let steps = |place: &Place| -> Vec<isize> {
        place.shape.iter().zip(&place.strides).filter(|(n, _)| **n > 1).map(|(_, stride)| *stride).collect()
    };
    if mine.shape != its.shape || steps(&mine) != steps(&its) || mine.high - mine.low != its.high - its.low {
        return Err(PyRuntimeError::new_err("the arrays have different forms (this is a fault of kc)"));
    }
    if mine.is_empty() {
        return Ok(());
    }
    let bytes = mine.high - mine.low;
    let (target, source) = (of(to), of(from));
    if let Some(target) = &target {
        target.get().wrote(mine.low, mine.high);
    }
    target.iter().chain(&source).for_each(keep);
    if target.is_none() || source.is_none() {
        waits(py)?;
    }
    let (low, other) = (mine.low, its.low);
    let done = match (target.as_ref().map(Bound::get), source.as_ref().map(Bound::get)) {
        (Some(target), Some(source)) => {
            let stream = current_stream(target.card.ordinal());
            let behind = current_stream(source.card.ordinal());
            // SAFETY: both have so many bytes, and their keepers wait for the streams.
            py.detach(|| unsafe {
                target.card.follow(stream, (&source.card, behind))?;
                target.card.copy(low as u64, (&source.card, other as u64), bytes, stream)?;
                // Who writes to the source, or drops it, does so behind the copy.
                source.card.follow(behind, (&target.card, stream))
            })
        }
        (Some(target), None) => {
            let stream = current_stream(target.card.ordinal());
            // SAFETY: as above; the interpreter keeps the array of the host.
            py.detach(|| unsafe {
                target.card.upload(low as u64, std::ptr::with_exposed_provenance(other), bytes, stream)
            })
        }
        (None, Some(source)) => {
            let stream = current_stream(source.card.ordinal());
            // SAFETY: as above.
            py.detach(|| unsafe {
                source.card.download(std::ptr::with_exposed_provenance_mut(low), other as u64, bytes, stream)
            })
        }
        (None, None) => return Err(PyRuntimeError::new_err("both arrays are the host's (this is a fault of kc)")),
    };
    done.map_err(|fail| raise(py, fail))
}

/// An array of another library that is in the memory of a GPU, as one of this half: the same
/// memory. None: it is something else.
#[pyfunction]
pub fn far_adopt<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyUntypedArray>>> {
    let py = value.py();
    let speaks = value.hasattr("__dlpack__")? || value.hasattr("__cuda_array_interface__")?;
    if !speaks || value.cast::<PyUntypedArray>().is_ok() {
        return Ok(None);
    }
    let found = view::view(value).map_err(|fault| fault.of("the array").raise(py))?;
    let Some(View { data, shape, strides, kind, owner, gpu: Some(gpu), .. }) = found else { return Ok(None) };
    let view::Kind::Scalar(scalar) = kind else { return Ok(None) };
    let address = data.expose_provenance();
    let ordinal = match gpu.ordinal {
        Some(ordinal) => ordinal,
        None => kc::run::devices::Resident::ordinal_of(address as u64).map_err(|fail| raise(py, fail))?,
    };
    let card = card(py, ordinal)?;
    // What comes next here waits for what the library does there.
    py.detach(|| card.follow(current_stream(ordinal), (&card, gpu.stream))).map_err(|fail| raise(py, fail))?;
    let dtype = dtype_of(py, scalar.name())?;
    let mut place = Place {
        start: address,
        low: address,
        high: address,
        shape: shape.into_iter().collect(),
        strides: strides.into_iter().collect(),
        dtype: dtype.unbind(),
        at: Some(ordinal),
    };
    place.span(py);
    let keeper = (value.clone(), owner).into_pyobject(py)?.into_any().unbind();
    let memory = Memory::new(card, place.low as u64, place.high - place.low, Whose::Other(keeper));
    // SAFETY: the library vouches for the memory.
    unsafe { over(&place, address, Bound::new(py, memory)?.into_any()) }.map(Some)
}

fn dtype_of<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyArrayDescr>> {
    let scalar = py.import("kc._types")?.getattr("_scalar")?.call1((name,))?;
    Ok(scalar.getattr("numpy_dtype")?.cast_into::<PyArrayDescr>()?)
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
    py.detach(|| stream.map_or_else(|| card.wait_all(), |stream| card.wait(stream))).map_err(|fail| raise(py, fail))
}

/// The bytes from the first to the last element, on the host.
pub fn fetched(array: &Bound<'_, PyUntypedArray>, memory: &Memory, place: &Place) -> PyResult<Vec<u8>> {
    let mut bytes = vec![0u8; place.high - place.low];
    let (py, stream, low) = (array.py(), current_stream(memory.card.ordinal()), place.low as u64);
    if bytes.is_empty() {
        return Ok(bytes);
    }
    waits(py)?;
    // SAFETY: the memory has so many bytes.
    py.detach(|| unsafe { memory.card.download(bytes.as_mut_ptr(), low, bytes.len(), stream) })
        .map_err(|fail| raise(py, fail))?;
    Ok(bytes)
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
