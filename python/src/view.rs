//! Where does an object have its numbers? Arrays of NumPy and of kc are read in place; other
//! libraries tell by DLPack, by the buffer protocol or by `__array_interface__`.

use kc::types::{Scalar, StructTable, Type};
use numpy::npyffi::{NPY_ARRAY_WRITEABLE, PyArray_Descr, PyArrayObject};
use numpy::{PyArrayDescr, PyUntypedArray};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::{PyTraverseError, PyVisit};
use smallvec::SmallVec;
use std::sync::{Mutex, PoisonError};

use crate::device::{self, Memory};
use crate::error::Fault;
use crate::far::far_shared;
use crate::memory::on_host;
use crate::{dlpack, gpu};

/// What an array's elements are.
#[derive(Clone)]
pub enum Kind<'py> {
    Scalar(Scalar),
    /// What only NumPy describes.
    Other(Bound<'py, PyAny>),
}

/// An array's memory.
pub struct View<'py> {
    pub data: *mut u8,
    pub shape: SmallVec<[isize; 6]>,
    /// In bytes.
    pub strides: SmallVec<[isize; 6]>,
    pub kind: Kind<'py>,
    pub writable: bool,
    /// What keeps the memory, if that is not the object itself.
    pub owner: Option<Bound<'py, PyAny>>,
    /// None: the host can use it.
    pub gpu: Option<Gpu>,
    /// That of the GPU, where this half holds it.
    pub memory: Option<Bound<'py, Memory>>,
}

/// Where memory is that only a GPU can use.
#[derive(Clone, Copy, PartialEq)]
pub struct Gpu {
    /// Its number, where that was told.
    pub ordinal: Option<i32>,
    /// The stream behind whose work a launch goes: a `CUstream`.
    pub stream: u64,
}

/// The stream of CUDA's that waits for all others, and they for it.
pub const LEGACY: u64 = 1;

/// An array of kc: a NumPy array with the type of its elements in kernels, and a gradient.
#[pyclass(frozen, subclass, weakref, module = "kc._native", name = "Array")]
pub struct Array {
    data: Py<PyUntypedArray>,
    dtype: Py<PyAny>,
    grad: Mutex<Option<Py<PyAny>>>,
}

#[pymethods]
impl Array {
    #[new]
    fn new(data: Py<PyUntypedArray>, dtype: Py<PyAny>) -> Array {
        Array { data, dtype, grad: Mutex::new(None) }
    }

    /// The array as a NumPy array: the same memory. Of one in the memory of a GPU it is a copy,
    /// once its launches are over; of managed memory it is the same memory, then.
    fn numpy(&self, py: Python<'_>) -> PyResult<Py<PyUntypedArray>> {
        let data = self.data.bind(py);
        match device::of(data) {
            Some(memory) if memory.get().is_managed() => far_shared(data).map(Bound::unbind),
            Some(_) => on_host(data).map(Bound::unbind),
            None => Ok(self.data.clone_ref(py)),
        }
    }

    /// The NumPy array of the memory, wherever that is: for this package alone.
    #[getter(_data)]
    pub fn data(&self, py: Python<'_>) -> Py<PyUntypedArray> {
        self.data.clone_ref(py)
    }

    /// The type of an element, as kernels name it.
    #[getter]
    fn dtype(&self, py: Python<'_>) -> Py<PyAny> {
        self.dtype.clone_ref(py)
    }

    #[getter(_grad)]
    pub fn grad(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.grad.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|grad| grad.clone_ref(py))
    }

    #[setter(_grad)]
    fn set_grad(&self, grad: Option<Py<PyAny>>) {
        let old = std::mem::replace(&mut *self.grad.lock().unwrap_or_else(PoisonError::into_inner), grad);
        drop(old);
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.data)?;
        visit.call(&self.dtype)?;
        // What is not looked at counts as used by somebody.
        let Ok(grad) = self.grad.try_lock() else { return Ok(()) };
        visit.call(&*grad)
    }

    fn __clear__(&self) {
        self.set_grad(None);
    }
}

/// The memory of an array, if the object is one.
pub fn view<'py>(value: &Bound<'py, PyAny>) -> Result<Option<View<'py>>, Fault> {
    if let Ok(array) = value.cast::<Array>() {
        return Ok(Some(of_numpy(array.get().data.bind(value.py()))));
    }
    if let Ok(array) = value.cast::<PyUntypedArray>() {
        return Ok(Some(of_numpy(array)));
    }
    let py = value.py();
    if let Some(view) = dlpack::view(value)? {
        return Ok(Some(view));
    }
    if let Some(view) = gpu::view(value)? {
        return Ok(Some(view));
    }
    let buffer = crate::buffer::has(value);
    // Text and bytes have a buffer and are no arrays.
    if buffer || value.hasattr("__array_interface__")? {
        static FROM: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let source = match buffer {
            true => py.import("builtins")?.getattr("memoryview")?.call1((value,))?,
            false => value.clone(),
        };
        let made = FROM.import(py, "numpy", "asarray")?.call1((source,))?;
        if let Ok(array) = made.cast::<PyUntypedArray>() {
            let mut view = of_numpy(array);
            view.owner = Some(made);
            return Ok(Some(view));
        }
    }
    Ok(None)
}

pub fn of_numpy<'py>(array: &Bound<'py, PyUntypedArray>) -> View<'py> {
    let memory = device::of(array);
    let gpu = memory.as_ref().map(|memory| {
        let ordinal = memory.get().card().ordinal();
        Gpu { ordinal: Some(ordinal), stream: device::current_stream(ordinal) }
    });
    // SAFETY: a NumPy array has this layout, with as many extents and strides as dimensions.
    unsafe {
        let fields = &(*array.as_ptr().cast::<PyArrayObject>()).fields;
        let n = usize::try_from(fields.nd).unwrap_or(0);
        let list = |start: *mut isize| if n == 0 { &[][..] } else { std::slice::from_raw_parts(start, n) };
        View {
            data: fields.data.cast(),
            shape: SmallVec::from_slice(list(fields.dimensions)),
            strides: SmallVec::from_slice(list(fields.strides)),
            kind: kind(array.py(), fields.descr),
            writable: fields.flags & NPY_ARRAY_WRITEABLE != 0,
            owner: None,
            gpu,
            memory,
        }
    }
}

/// # Safety
/// A description of elements that lives.
unsafe fn kind<'py>(py: Python<'py>, descr: *mut PyArray_Descr) -> Kind<'py> {
    // SAFETY: the caller's promise; these fields are the same in all versions.
    let (number, order) = unsafe { ((*descr).fields.type_num, (*descr).fields.byteorder as u8) };
    let native = matches!(order, b'=' | b'|') || order == if cfg!(target_endian = "little") { b'<' } else { b'>' };
    let long = if size_of::<std::ffi::c_long>() == 8 { (Scalar::I64, Scalar::U64) } else { (Scalar::I32, Scalar::U32) };
    let scalar = match number {
        0 => Scalar::Bool,
        1 => Scalar::I8,
        2 => Scalar::U8,
        3 => Scalar::I16,
        4 => Scalar::U16,
        5 => Scalar::I32,
        6 => Scalar::U32,
        7 => long.0,
        8 => long.1,
        9 => Scalar::I64,
        10 => Scalar::U64,
        11 => Scalar::F32,
        12 => Scalar::F64,
        23 => Scalar::F16,
        // SAFETY: as above.
        _ => return other(unsafe { Bound::from_borrowed_ptr(py, descr.cast()) }),
    };
    match native {
        true => Kind::Scalar(scalar),
        // SAFETY: as above.
        false => Kind::Other(unsafe { Bound::from_borrowed_ptr(py, descr.cast()) }),
    }
}

/// Types that other packages add to NumPy.
fn other(descr: Bound<'_, PyAny>) -> Kind<'_> {
    match descr.getattr("name").and_then(|name| name.extract::<String>()) {
        Ok(name) if name == "bfloat16" => Kind::Scalar(Scalar::BF16),
        _ => Kind::Other(descr),
    }
}

impl Kind<'_> {
    /// For messages.
    pub fn shown(&self) -> String {
        match self {
            Kind::Scalar(scalar) => scalar.name().to_string(),
            Kind::Other(descr) => descr.str().map_or_else(|_| "unknown elements".to_string(), |name| name.to_string()),
        }
    }

    /// Whether the fields of a structured element are called as those of this type.
    pub fn is_named_as(&self, ty: Type, structs: &StructTable) -> bool {
        match self {
            Kind::Scalar(_) => true,
            Kind::Other(descr) => descr.cast::<PyArrayDescr>().is_ok_and(|descr| is_named_as(descr, ty, structs)),
        }
    }

    /// The numbers of a structured element: offset and type of each, in order. None: it holds
    /// something else.
    pub fn parts(&self) -> Option<(usize, Vec<(usize, Scalar)>)> {
        match self {
            Kind::Scalar(scalar) => Some((scalar.size() as usize, vec![(0, *scalar)])),
            Kind::Other(descr) => {
                let descr = descr.cast::<PyArrayDescr>().ok()?;
                let mut parts = Vec::new();
                collect(descr, 0, &mut parts)?;
                Some((numpy::PyArrayDescrMethods::itemsize(descr), parts))
            }
        }
    }
}

/// Whether the fields are called as those of a struct, which are found by name everywhere else.
/// Those of vectors have any names.
fn is_named_as(descr: &Bound<'_, PyArrayDescr>, ty: Type, structs: &StructTable) -> bool {
    use numpy::PyArrayDescrMethods;
    let (Type::Struct(id), Some(names)) = (ty, descr.names()) else { return true };
    let fields = &structs[id].fields;
    names.len() == fields.len()
        && names.iter().zip(fields).all(|(name, field)| {
            *name == field.name && descr.get_field(name).is_ok_and(|(of, _)| is_named_as(&of, field.ty, structs))
        })
}

fn collect(descr: &Bound<'_, PyArrayDescr>, at: usize, parts: &mut Vec<(usize, Scalar)>) -> Option<()> {
    use numpy::PyArrayDescrMethods;
    const MOST: usize = 4096;
    if let Some(names) = descr.names() {
        for name in names {
            let (field, offset) = descr.get_field(&name).ok()?;
            collect(&field, at + offset, parts)?;
        }
        return Some(());
    }
    if descr.has_subarray() {
        let base = descr.base();
        let size = base.itemsize();
        let count: usize = descr.shape().iter().product();
        if count > MOST {
            return None;
        }
        return (0..count).try_for_each(|n| collect(&base, at + n * size, parts));
    }
    // SAFETY: it lives as long as `descr`.
    match unsafe { kind(descr.py(), descr.as_dtype_ptr()) } {
        Kind::Scalar(scalar) if parts.len() < MOST => {
            parts.push((at, scalar));
            Some(())
        }
        _ => None,
    }
}
