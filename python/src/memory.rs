//! What else does the Python half ask of an array's memory?

use std::ffi::{c_int, c_void};

use kc::types::Scalar;
use numpy::npyffi::{NPY_ARRAY_ALIGNED, NPY_ARRAY_WRITEABLE, NpyTypes, PY_ARRAY_API, get_type_object, npy_intp};
use numpy::{PyArrayDescr, PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyFloat, PyInt};
use smallvec::SmallVec;
use twox_hash::XxHash3_128;

use crate::bind;
use crate::device;
use crate::far;
use crate::view::{Kind, View, of_numpy, view};

/// What NumPy needs to know of an array of another library: address, whether it may be written,
/// extents, strides, the name of its elements' type, and what keeps its memory. None: it is no
/// array.
type Described<'py> = (usize, bool, Vec<isize>, Vec<isize>, &'static str, Bound<'py, PyAny>);

#[pyfunction]
pub fn describe<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Described<'py>>> {
    let py = value.py();
    let Some(View { data, shape, strides, kind, writable, owner, gpu, .. }) =
        view(value).map_err(|fault| fault.of("an array").raise(py))?
    else {
        return Ok(None);
    };
    if gpu.is_some() {
        return Err(bind::on_gpu("an array").raise(py));
    }
    let Kind::Scalar(scalar) = kind else { return Ok(None) };
    let owner = owner.unwrap_or_else(|| value.clone());
    Ok(Some((data.expose_provenance(), writable, shape.to_vec(), strides.to_vec(), scalar.name(), owner)))
}

/// Where the memory of an array is: its first element, and from byte `low` to before `high`.
pub struct Place {
    pub start: usize,
    pub low: usize,
    pub high: usize,
    pub shape: SmallVec<[isize; 4]>,
    pub strides: SmallVec<[isize; 4]>,
    pub dtype: Py<PyArrayDescr>,
    /// The GPU whose memory it is. None: the host's.
    pub at: Option<i32>,
}

impl Place {
    pub fn of(array: &Bound<'_, PyUntypedArray>) -> Place {
        let view = of_numpy(array);
        let (dtype, size) = (array.dtype(), array.dtype().itemsize());
        let start = view.data.expose_provenance();
        let (shape, strides) = (view.shape.iter().copied().collect(), view.strides.iter().copied().collect());
        let at = view.gpu.and_then(|gpu| gpu.ordinal);
        let mut place = Place { start, low: start, high: start, shape, strides, dtype: dtype.unbind(), at };
        place.span_of(size);
        place
    }

    /// Finds the first and the last byte.
    fn span_of(&mut self, size: usize) {
        let (mut below, mut above) = (0, size);
        for (&n, &stride) in self.shape.iter().zip(&self.strides) {
            let reach = (n.max(1) - 1).unsigned_abs() * stride.unsigned_abs();
            *if stride < 0 { &mut below } else { &mut above } += reach;
        }
        if self.shape.contains(&0) {
            // An array without elements has no byte.
            (below, above) = (0, 0);
        }
        (self.low, self.high) = (self.start - below, self.start + above);
    }

    /// The same for a place that was put together.
    pub fn span(&mut self, py: Python<'_>) {
        let size = self.dtype.bind(py).itemsize();
        self.span_of(size);
    }

    pub fn clone_ref(&self, py: Python<'_>) -> Place {
        let Place { start, low, high, at, .. } = *self;
        Place {
            start,
            low,
            high,
            shape: self.shape.clone(),
            strides: self.strides.clone(),
            dtype: self.dtype.clone_ref(py),
            at,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.low == self.high
    }

    pub fn meets(&self, other: &Place) -> bool {
        self.low < other.high && other.low < self.high
    }

    /// Whether it has the same elements.
    pub fn is(&self, other: &Place, py: Python<'_>) -> bool {
        self.start == other.start
            && self.shape == other.shape
            && self.strides == other.strides
            && is_same(py, &self.dtype, &other.dtype)
    }

    /// Whether each element has memory of its own.
    pub fn is_plain(&self, py: Python<'_>) -> bool {
        let size = self.dtype.bind(py).itemsize();
        if self.is_empty() || self.is_dense(size as isize) {
            return true;
        }
        let steps = self.shape.iter().zip(&self.strides).filter(|(n, _)| **n > 1);
        let mut steps: SmallVec<[(usize, usize); 4]> =
            steps.map(|(n, stride)| (stride.unsigned_abs(), n.unsigned_abs())).collect();
        steps.sort_unstable();
        let mut reach = size;
        steps.iter().all(|&(stride, n)| {
            let apart = stride >= reach;
            reach += (n - 1) * stride;
            apart
        })
    }

    /// Whether it has the strides of a new array: its elements follow each other, row by row.
    pub fn is_dense(&self, size: isize) -> bool {
        let mut step = size;
        self.shape.iter().zip(&self.strides).rev().all(|(&n, &stride)| {
            let follows = stride == step;
            step *= n;
            follows
        })
    }
}

pub fn is_same(py: Python<'_>, one: &Py<PyArrayDescr>, other: &Py<PyArrayDescr>) -> bool {
    one.is(other) || one.bind(py).is_equiv_to(other.bind(py))
}

/// The pairs of arrays whose memory, from first byte to last, overlaps.
#[pyfunction]
pub fn overlapping(arrays: Vec<Bound<'_, PyUntypedArray>>) -> Vec<(usize, usize)> {
    let places: Vec<Place> = arrays.iter().map(Place::of).collect();
    let pairs = (0..places.len()).flat_map(|j| (0..j).map(move |i| (i, j)));
    pairs.filter(|&(i, j)| places[i].meets(&places[j])).collect()
}

/// A new array of zeros, in the memory of a GPU or of the host.
pub fn zeros<'py>(
    py: Python<'py>,
    shape: &[isize],
    dtype: &Py<PyArrayDescr>,
    at: Option<i32>,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    if let Some(ordinal) = at {
        let made = far::far_empty(ordinal, shape.to_vec(), dtype.bind(py), false)?;
        return far::far_clear(&made).map(|()| made);
    }
    let mut shape: SmallVec<[npy_intp; 4]> = SmallVec::from_slice(shape);
    let dtype = dtype.bind(py).clone().into_dtype_ptr();
    // SAFETY: as many extents as it says; NumPy takes over the reference to the type.
    unsafe {
        let made = PY_ARRAY_API.PyArray_Zeros(py, shape.len() as c_int, shape.as_mut_ptr(), dtype, 0);
        Ok(Bound::from_owned_ptr_or_err(py, made)?.cast_into_unchecked())
    }
}

/// Calls a function of the Python half that makes an array of one.
fn made<'py>(
    cell: &'static PyOnceLock<Py<PyAny>>,
    name: &str,
    array: &Bound<'py, PyUntypedArray>,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    Ok(cell.import(array.py(), "kc._arguments", name)?.call1((array,))?.cast_into::<PyUntypedArray>()?)
}

/// The same elements, at the same strides where that can be.
pub fn copy<'py>(array: &Bound<'py, PyUntypedArray>) -> PyResult<Bound<'py, PyUntypedArray>> {
    static COPY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    made(&COPY, "copy", array)
}

/// The same elements, each with memory of its own.
pub fn apart<'py>(array: &Bound<'py, PyUntypedArray>) -> PyResult<Bound<'py, PyUntypedArray>> {
    static APART: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    made(&APART, "apart", array)
}

/// The elements of an array of a GPU, in the memory of the host.
pub fn on_host<'py>(array: &Bound<'py, PyUntypedArray>) -> PyResult<Bound<'py, PyUntypedArray>> {
    static READ: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    Ok(READ.import(array.py(), "kc._device", "read")?.call1((array,))?.cast_into::<PyUntypedArray>()?)
}

/// Sets all elements to those of another array.
pub fn put(to: &Bound<'_, PyUntypedArray>, from: &Bound<'_, PyUntypedArray>) -> PyResult<()> {
    if !device::is_far(to) {
        return to.as_any().set_item(to.py().Ellipsis(), from);
    }
    static PUT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    PUT.import(to.py(), "kc._device", "put")?.call1((to, from)).map(drop)
}

/// Zeros with the strides of an array whose elements are apart.
pub fn zeros_like<'py>(array: &Bound<'py, PyUntypedArray>) -> PyResult<Bound<'py, PyUntypedArray>> {
    let place = Place::of(array);
    if place.is_dense(array.dtype().itemsize() as isize) {
        return zeros(array.py(), &place.shape, &place.dtype, place.at);
    }
    static ZEROS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    made(&ZEROS, "zeros_like", array)
}

/// Sets all elements of an array of float32 or float64 to a number of Python, or adds it to them.
/// False: it is something else.
pub fn put_number(array: &Bound<'_, PyUntypedArray>, value: &Bound<'_, PyAny>, adds: bool) -> bool {
    if !value.is_exact_instance_of::<PyFloat>() && !value.is_exact_instance_of::<PyInt>() {
        return false;
    }
    let (Ok(number), view) = (value.extract::<f64>(), of_numpy(array)) else { return false };
    let Kind::Scalar(scalar @ (Scalar::F32 | Scalar::F64)) = view.kind else { return false };
    // A number that is too large is for NumPy to warn of.
    let is_large = scalar == Scalar::F32 && number.is_finite() && (number as f32).is_infinite();
    if !array.is_c_contiguous() || !view.writable || is_large || view.gpu.is_some() {
        return false;
    }
    // SAFETY: an array of so many numbers, without gaps, that may be written.
    unsafe {
        if scalar == Scalar::F32 {
            let numbers = std::slice::from_raw_parts_mut(view.data.cast::<f32>(), array.len());
            numbers.iter_mut().for_each(|x| *x = number as f32 + if adds { *x } else { 0.0 });
        } else {
            let numbers = std::slice::from_raw_parts_mut(view.data.cast::<f64>(), array.len());
            numbers.iter_mut().for_each(|x| *x = number + if adds { *x } else { 0.0 });
        }
    }
    true
}

/// An array of the form of `place`, whose first element is at `start` in the memory of `owner`.
///
/// # Safety
/// All its elements lie in memory that `owner` keeps, and that may be written.
pub unsafe fn over<'py>(place: &Place, start: usize, owner: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyUntypedArray>> {
    static FAR: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = owner.py();
    let far = place.at.map(|_| FAR.import(py, "kc._device", "Far")).transpose()?;
    let (mut shape, mut strides) = (place.shape.clone(), place.strides.clone());
    let dtype = place.dtype.bind(py).clone().into_dtype_ptr();
    let data: *mut c_void = std::ptr::with_exposed_provenance_mut(start);
    // SAFETY: the caller's promise; NumPy takes over the references to the type and to the owner.
    unsafe {
        let class = far.map_or_else(|| get_type_object(py, NpyTypes::PyArray_Type), |far| far.as_ptr().cast());
        let (n, shape, strides) = (shape.len() as c_int, shape.as_mut_ptr(), strides.as_mut_ptr());
        let flags = NPY_ARRAY_WRITEABLE | NPY_ARRAY_ALIGNED;
        let none = std::ptr::null_mut();
        let made = PY_ARRAY_API.PyArray_NewFromDescr(py, class, dtype, n, shape, strides, data, flags, none);
        let made: Bound<'py, PyUntypedArray> = Bound::from_owned_ptr_or_err(py, made)?.cast_into_unchecked();
        if PY_ARRAY_API.PyArray_SetBaseObject(py, made.as_ptr().cast(), owner.into_ptr()) != 0 {
            return Err(PyErr::fetch(py));
        }
        Ok(made)
    }
}

/// A number that tells whether the elements have changed: 128 bits of XXH3, so that two contents
/// with one number do not happen.
#[pyfunction]
pub fn digest(py: Python<'_>, array: &Bound<'_, PyUntypedArray>) -> PyResult<u128> {
    let View { data, shape, strides, memory, .. } = of_numpy(array);
    let mut start = data.expose_provenance();
    let mut bytes = Vec::new();
    if let Some(memory) = memory {
        let place = Place::of(array);
        if let Some(number) = memory.get().contents(place.low, place.high) {
            return Ok(number.into());
        }
        bytes = far::fetched(array, memory.get(), &place)?;
        start = bytes.as_ptr().expose_provenance() + (place.start - place.low);
    }
    let size = array.dtype().itemsize();
    // The inner dimensions without gaps are one run of bytes.
    let (mut run, mut dims) = (size, shape.len());
    while dims > 0 && (strides[dims - 1] == run as isize || shape[dims - 1] == 1) {
        dims -= 1;
        run *= shape[dims].unsigned_abs();
    }
    if shape.contains(&0) {
        return Ok(0);
    }
    let (shape, strides) = (&shape[..dims], &strides[..dims]);
    let all = shape.iter().fold(run, |bytes, n| bytes.saturating_mul(n.unsigned_abs()));
    let read = || {
        let mut found = 0;
        runs(start, shape, strides, &mut |at| {
            let start: *const u8 = std::ptr::with_exposed_provenance(at);
            // SAFETY: the array's elements lie there; what another thread writes meanwhile is a
            // change, or is not seen.
            let bytes = unsafe { std::slice::from_raw_parts(start, run) };
            // Each run's number is the seed of the next one.
            found = XxHash3_128::oneshot_with_seed((found ^ found >> 64) as u64, bytes);
        });
        found
    };
    // To let other threads run costs more than a few thousand bytes do.
    const SMALL: usize = 16384;
    let found = if all <= SMALL { read() } else { py.detach(read) };
    drop(bytes);
    Ok(found)
}

/// The start of each run of bytes.
fn runs(start: usize, shape: &[isize], strides: &[isize], visit: &mut impl FnMut(usize)) {
    match (shape, strides) {
        ([n, shape @ ..], [stride, strides @ ..]) => {
            (0..*n).for_each(|k| runs(start.wrapping_add_signed(k * stride), shape, strides, visit));
        }
        _ => visit(start),
    }
}
