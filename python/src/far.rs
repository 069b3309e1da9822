//! How are arrays in the memory of a GPU made, copied and shared? Each has a NumPy array of a class
//! of its own (`kc/_device.py`), over memory that only the GPU reads.

use numpy::{PyArrayDescr, PyArrayDescrMethods, PyUntypedArray};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::device::{Memory, Whose, card, card as open, current_stream, keep, of, raise, told, waits};
use crate::gpu::by_rows;
use crate::memory::{Place, over};
use crate::view::{self, View};

/// An array with rows behind each other, of what the memory holds already; `managed`: the host uses
/// it, too.
#[pyfunction]
#[pyo3(signature = (ordinal, shape, dtype, managed=false))]
pub fn far_empty<'py>(
    ordinal: i32,
    shape: Vec<isize>,
    dtype: &Bound<'py, PyArrayDescr>,
    managed: bool,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    let size = dtype.itemsize();
    let bytes = shape.iter().try_fold(size, |bytes, &n| bytes.checked_mul(usize::try_from(n).ok()?));
    let Some(bytes) = bytes.filter(|&bytes| isize::try_from(bytes).is_ok()) else {
        return Err(pyo3::exceptions::PyValueError::new_err("the array is larger than the memory of any machine"));
    };
    let memory = match managed {
        true => Memory::managed(dtype.py(), ordinal, bytes)?,
        false => Memory::take(dtype.py(), ordinal, bytes)?,
    };
    let place = Place {
        start: memory.address() as usize,
        low: memory.address() as usize,
        high: memory.address() as usize + bytes,
        strides: by_rows(&shape, size as isize).into_iter().collect(),
        shape: shape.into_iter().collect(),
        dtype: dtype.clone().unbind(),
        at: Some(ordinal),
    };
    let start = place.start;
    // SAFETY: it holds all elements.
    unsafe { over(&place, start, Bound::new(dtype.py(), memory)?.into_any()) }
}

/// Managed memory as an array of the host, once the GPU has done all that it was asked for.
#[pyfunction]
pub fn far_shared<'py>(array: &Bound<'py, PyUntypedArray>) -> PyResult<Bound<'py, PyUntypedArray>> {
    let (py, memory) = (array.py(), known(array)?);
    let card = memory.get().card();
    // The host may write to it, and nothing says so.
    memory.get().share();
    waits(py)?;
    py.detach(|| card.wait_all()).map_err(|fail| raise(py, fail))?;
    told(py, card.ordinal())?;
    let place = Place { at: None, ..Place::of(array) };
    let start = place.start;
    let own = Memory::new(open(py, card.ordinal())?, start as u64, 0, Whose::Host(memory.unbind()));
    // SAFETY: the host has access to managed memory, and the array keeps it.
    unsafe { over(&place, start, Bound::new(py, own)?.into_any()) }
}

/// Brings managed memory to a GPU, or to the host (None), behind what this thread's stream does.
#[pyfunction]
pub fn far_prefetch(array: &Bound<'_, PyUntypedArray>, to: Option<i32>) -> PyResult<()> {
    let (py, memory, place) = (array.py(), known(array)?, Place::of(array));
    if place.is_empty() {
        return Ok(());
    }
    let target = to.map(|ordinal| open(py, ordinal)).transpose()?;
    let card = memory.get().card();
    let stream = current_stream(card.ordinal());
    // SAFETY: it is managed memory, which stays until the stream is done with it.
    py.detach(|| unsafe { card.prefetch(place.low as u64, place.high - place.low, target.as_deref(), stream) })
        .map_err(|fail| raise(py, fail))
}

/// The same memory as an array of another GPU, whose launches then reach it. None: they cannot.
#[pyfunction]
pub fn far_lent<'py>(array: &Bound<'py, PyUntypedArray>, ordinal: i32) -> PyResult<Option<Bound<'py, PyUntypedArray>>> {
    let (py, memory, mut place) = (array.py(), known(array)?, Place::of(array));
    let (card, own) = (open(py, ordinal)?, memory.get().card());
    if !memory.get().is_managed() && !py.detach(|| card.reach_memory_of(own)).map_err(|fail| raise(py, fail))? {
        return Ok(None);
    }
    memory.get().share();
    // What comes next there waits for what is done here.
    py.detach(|| card.follow(current_stream(ordinal), (own, current_stream(own.ordinal()))))
        .map_err(|fail| raise(py, fail))?;
    place.at = Some(ordinal);
    let (low, bytes) = (place.low as u64, place.high - place.low);
    let lent = Memory::new(card, low, bytes, Whose::Other(memory.into_any().unbind()));
    // SAFETY: the memory is kept, and launches of the other GPU reach it.
    unsafe { over(&place, place.start, Bound::new(py, lent)?.into_any()) }.map(Some)
}

/// An array of the same form, of what the memory holds already. The elements are apart.
#[pyfunction]
pub fn far_like<'py>(array: &Bound<'py, PyUntypedArray>) -> PyResult<Bound<'py, PyUntypedArray>> {
    let py = array.py();
    let place = Place::of(array);
    let memory = Memory::take(py, known(array)?.get().card().ordinal(), place.high - place.low)?;
    let start = memory.address() as usize + (place.start - place.low);
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
    let stream = current_stream(memory.card().ordinal());
    if place.is_empty() {
        return Ok(());
    }
    // SAFETY: the memory holds the array, and stays until the stream is done with it.
    py.detach(|| unsafe { memory.card().clear(place.low as u64, place.high - place.low, stream) })
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
            let stream = current_stream(target.card().ordinal());
            let behind = current_stream(source.card().ordinal());
            // SAFETY: both have so many bytes, and their keepers wait for the streams.
            py.detach(|| unsafe {
                target.card().follow(stream, (source.card(), behind))?;
                target.card().copy(low as u64, (source.card(), other as u64), bytes, stream)?;
                // Who writes to the source, or drops it, does so behind the copy.
                source.card().follow(behind, (target.card(), stream))
            })
        }
        (Some(target), None) => {
            let stream = current_stream(target.card().ordinal());
            // SAFETY: as above; the interpreter keeps the array of the host.
            py.detach(|| unsafe {
                target.card().upload(low as u64, std::ptr::with_exposed_provenance(other), bytes, stream)
            })
        }
        (None, Some(source)) => {
            let stream = current_stream(source.card().ordinal());
            // SAFETY: as above.
            py.detach(|| unsafe {
                source.card().download(std::ptr::with_exposed_provenance_mut(low), other as u64, bytes, stream)
            })
        }
        (None, None) => return Err(PyRuntimeError::new_err("both arrays are the host's (this is a fault of kc)")),
    };
    done.map_err(|fail| raise(py, fail))?;
    match (&target, &source) {
        (Some(memory), None) | (None, Some(memory)) => told(py, memory.get().card().ordinal()),
        // Nothing was waited for.
        _ => Ok(()),
    }
}

/// An array of another library that is in the memory of a GPU, as one of this half: the same
/// memory. None: it is something else.
#[pyfunction]
pub fn far_adopt<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyUntypedArray>>> {
    let py = value.py();
    if value.cast::<PyUntypedArray>().is_ok() || !is_there(value)? {
        return Ok(None);
    }
    // PyTorch keeps tensors that require a gradient to itself.
    let wants = value.getattr_opt("requires_grad")?.is_some_and(|wants| wants.is_truthy().unwrap_or(false));
    let value = &if wants { value.call_method0("detach")? } else { value.clone() };
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

/// Whether a library says that its array is in the memory of a GPU.
fn is_there(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    const CUDA: i32 = 2;
    match value.getattr_opt("__dlpack_device__")? {
        Some(method) => {
            Ok(method.call0().and_then(|found| found.extract::<(i32, i32)>()).is_ok_and(|(kind, _)| kind == CUDA))
        }
        None => value.hasattr("__cuda_array_interface__"),
    }
}

fn dtype_of<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyArrayDescr>> {
    let scalar = py.import("kc._types")?.getattr("_scalar")?.call1((name,))?;
    Ok(scalar.getattr("numpy_dtype")?.cast_into::<PyArrayDescr>()?)
}

/// The bytes from the first to the last element, on the host.
pub fn fetched(array: &Bound<'_, PyUntypedArray>, memory: &Memory, place: &Place) -> PyResult<Vec<u8>> {
    let mut bytes = vec![0u8; place.high - place.low];
    let (py, stream, low) = (array.py(), current_stream(memory.card().ordinal()), place.low as u64);
    if bytes.is_empty() {
        return Ok(bytes);
    }
    waits(py)?;
    // SAFETY: the memory has so many bytes.
    py.detach(|| unsafe { memory.card().download(bytes.as_mut_ptr(), low, bytes.len(), stream) })
        .map_err(|fail| raise(py, fail))?;
    told(py, memory.card().ordinal())?;
    Ok(bytes)
}
