//! What do other libraries tell of their arrays? The structs of DLPack 1 and of the versions before
//! it, which PyTorch, JAX, CuPy and others hand out
//! (<https://dmlc.github.io/dlpack/latest/c_api.html>).

use std::ffi::{CStr, c_void};

use kc::types::Scalar;
use numpy::PyUntypedArray;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use smallvec::SmallVec;

use crate::error::{Fault, Refused};
use crate::gpu;
use crate::view::{Gpu, Kind, LEGACY, View, of_numpy};

#[repr(C)]
struct Tensor {
    data: *mut c_void,
    device: i32,
    device_id: i32,
    ndim: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *mut i64,
    /// In elements; null: row by row.
    strides: *mut i64,
    byte_offset: u64,
}

#[repr(C)]
struct Managed {
    tensor: Tensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Managed)>,
}

#[repr(C)]
struct Versioned {
    major: u32,
    minor: u32,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Versioned)>,
    flags: u64,
    tensor: Tensor,
}

/// What DLPack calls complex numbers, and what to pass instead.
const COMPLEX: u8 = 5;
const PAIRS: &str = "kernels have no complex numbers: pass the two numbers of each, `torch.view_as_real(x)` for PyTorch, and declare \
                     `kc.array(dtype=kc.vec2)`, for complex128 `kc.vec2d`";

const READ_ONLY: u64 = 1;
const CUDA: i32 = 2;
/// The devices whose memory the host can use: its own, and what it shares with a GPU.
const ON_HOST: [i32; 4] = [1, 3, 11, 13];

const OLD: &CStr = c"dltensor";
const NEW: &CStr = c"dltensor_versioned";

/// The memory of an array that speaks DLPack. None: it does not.
pub fn view<'py>(value: &Bound<'py, PyAny>) -> Result<Option<View<'py>>, Fault> {
    let py = value.py();
    let Some(method) = value.getattr_opt("__dlpack__")? else { return Ok(None) };
    if is_negated(value)? {
        return Err(Refused::new("E1005", "has the opposite of the numbers in its memory (PyTorch's negative bit)")
            .help("`x.resolve_neg()` is a tensor with its numbers in memory")
            .into());
    }
    let options = PyDict::new(py);
    let mut gpu = None;
    if let Some(device) = value.getattr_opt("__dlpack_device__")? {
        let (kind, ordinal): (i32, i32) = device.call0()?.extract()?;
        if kind == CUDA {
            // The launch goes behind the library's own work (-1: nothing is to be waited for), or
            // else that is to wait.
            let own = gpu::stream(value, Some(ordinal))?;
            options.set_item("stream", if own.is_some() { -1 } else { LEGACY as i64 })?;
            gpu = Some(Gpu { ordinal: Some(ordinal), stream: gpu::legacy(own.unwrap_or(LEGACY)) });
        } else if !ON_HOST.contains(&kind) {
            return Err(Refused::new("E1104", "is in the memory of another device, and the kernel runs on the host")
                .help("copy it to the host first, for PyTorch with `.cpu()`")
                .into());
        }
    }
    // Who knows the new protocol takes the version; who does not says so with a TypeError.
    let versioned = options.copy()?;
    versioned.set_item("max_version", (1, 1))?;
    let capsule = match method.call((), Some(&versioned)) {
        Err(error) if error.is_instance_of::<pyo3::exceptions::PyTypeError>(py) => method.call((), Some(&options)),
        other => other,
    };
    // Why a library keeps its array to itself is reported by its own message (PyTorch: one that
    // requires a gradient).
    let capsule = capsule?;
    let Ok(capsule) = capsule.cast_into::<PyCapsule>() else {
        return Err(Refused::new("E1005", "`__dlpack__` gave no capsule").into());
    };
    // SAFETY: a capsule of this name holds this struct. It is not renamed: the capsule's own
    // destructor frees it, when the last view goes.
    let (tensor, writable) = unsafe {
        let pointer = |name: &CStr| match ffi::PyCapsule_IsValid(capsule.as_ptr(), name.as_ptr()) {
            1 => ffi::PyCapsule_GetPointer(capsule.as_ptr(), name.as_ptr()),
            _ => std::ptr::null_mut(),
        };
        let (new, old) = (pointer(NEW).cast::<Versioned>(), pointer(OLD).cast::<Managed>());
        match (new.as_ref(), old.as_ref()) {
            (Some(new), _) if new.major == 1 => (&new.tensor, new.flags & READ_ONLY == 0),
            // The old protocol cannot tell. JAX's arrays are the ones that must not be written.
            (None, Some(old)) => (&old.tensor, !is_immutable(value)),
            _ => return Err(Refused::new("E1005", "its `__dlpack__` is of a version that kc does not know").into()),
        }
    };
    let Some(scalar) = scalar(tensor) else {
        if tensor.code == COMPLEX {
            return Err(Refused::new("E1005", format!("has complex numbers of {} bits", tensor.bits))
                .help(PAIRS)
                .into());
        }
        let what = format!("has elements of DLPack type ({}, {}, {})", tensor.code, tensor.bits, tensor.lanes);
        return Err(Refused::new("E1005", what).into());
    };
    // Memory that the capsule puts elsewhere is not read on the host.
    if !(ON_HOST.contains(&tensor.device) || gpu.is_some() && tensor.device == CUDA) {
        let what = format!("its capsule says DLPack device {}, and its `__dlpack_device__` another one", tensor.device);
        return Err(Refused::new("E1005", what).into());
    }
    // SAFETY: the library vouches for as many extents and strides as dimensions.
    let layout = unsafe { Layout::of(tensor, scalar) };
    let Layout { data, shape, strides } = layout.map_err(|what| Refused::new("E1005", what))?;
    let (kind, owner) = (Kind::Scalar(scalar), Some(capsule.into_any()));
    Ok(Some(View { data, shape, strides, kind, writable, owner, gpu, memory: None }))
}

/// The most dimensions that an array can have: NumPy's limit. A larger number is no number of
/// dimensions.
const MOST_DIMENSIONS: i32 = 64;

/// Where the elements of a tensor are.
struct Layout {
    data: *mut u8,
    shape: SmallVec<[isize; 6]>,
    /// In bytes.
    strides: SmallVec<[isize; 6]>,
}

impl Layout {
    /// The error completes the name of an argument: "has a negative extent".
    ///
    /// # Safety
    ///
    /// Where they are not null, shape and strides hold as many numbers as the tensor has
    /// dimensions.
    unsafe fn of(tensor: &Tensor, scalar: Scalar) -> Result<Layout, String> {
        let size = scalar.size() as isize;
        if !(0..=MOST_DIMENSIONS).contains(&tensor.ndim) {
            return Err(format!("has {} dimensions by DLPack", tensor.ndim));
        }
        let n = tensor.ndim as usize;
        if n > 0 && tensor.shape.is_null() {
            return Err("has no extents by DLPack".to_string());
        }
        let list = |start: *mut i64| -> SmallVec<[i64; 6]> {
            // SAFETY: the caller vouches for it.
            (0..n).map(|k| unsafe { *start.add(k) }).collect()
        };
        let extents = list(tensor.shape);
        if let Some(extent) = extents.iter().find(|&&extent| extent < 0) {
            return Err(format!("has the negative extent {extent}"));
        }
        let large = || "is larger than the memory of any machine".to_string();
        let shape: SmallVec<[isize; 6]> = extents.iter().map(|&extent| extent as isize).collect();
        let bytes = shape.iter().try_fold(size, |bytes, &extent| bytes.checked_mul(extent.max(1)));
        let strides = match tensor.strides.is_null() {
            false => list(tensor.strides).into_iter().map(|stride| (stride as isize).checked_mul(size)).collect(),
            true => bytes.map(|_| gpu::by_rows(&shape, size)),
        };
        let strides: SmallVec<[isize; 6]> = strides.ok_or_else(large)?;
        let is_empty = shape.contains(&0);
        if !is_empty {
            let reach = shape.iter().zip(&strides).try_fold(size, |reach, (&extent, &stride)| {
                reach.checked_add((extent - 1).checked_mul(stride.checked_abs()?)?)
            });
            reach.ok_or_else(large)?;
            if tensor.data.is_null() {
                return Err("has elements, and no memory by DLPack".to_string());
            }
        }
        let offset = isize::try_from(tensor.byte_offset).map_err(|_| large())?;
        Ok(Layout { data: tensor.data.cast::<u8>().wrapping_offset(offset), shape, strides })
    }
}

/// Whether it is a tensor of PyTorch whose numbers are those of its memory with the other sign, as
/// `z.conj().imag` is: DLPack has no word for that, and PyTorch does not refuse.
fn is_negated(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    match value.getattr_opt("is_neg")? {
        Some(method) => method.call0()?.extract(),
        None => Ok(false),
    }
}

fn is_immutable(value: &Bound<'_, PyAny>) -> bool {
    value.get_type().module().is_ok_and(|module| module.to_string().starts_with("jax"))
}

fn scalar(tensor: &Tensor) -> Option<Scalar> {
    let found = NUMBERS.iter().find(|(code, bits, _)| (*code, *bits, 1) == (tensor.code, tensor.bits, tensor.lanes));
    found.map(|(_, _, scalar)| *scalar)
}

/// What DLPack calls the numbers: code and bits.
const NUMBERS: [(u8, u8, Scalar); 13] = [
    (0, 8, Scalar::I8),
    (0, 16, Scalar::I16),
    (0, 32, Scalar::I32),
    (0, 64, Scalar::I64),
    (1, 8, Scalar::U8),
    (1, 16, Scalar::U16),
    (1, 32, Scalar::U32),
    (1, 64, Scalar::U64),
    (2, 16, Scalar::F16),
    (2, 32, Scalar::F32),
    (2, 64, Scalar::F64),
    (4, 16, Scalar::BF16),
    (6, 8, Scalar::Bool),
];

/// What a capsule that this half hands out holds, of either version: the struct first.
#[repr(C)]
struct Lent<T> {
    managed: T,
    shape: Vec<i64>,
    strides: Vec<i64>,
    owner: Py<PyAny>,
}

/// # Safety
/// `at` is a [`Lent`] that nobody uses any more.
unsafe extern "C" fn end<T>(at: *mut T) {
    // SAFETY: the caller's promise.
    let lent = unsafe { Box::from_raw(at.cast::<Lent<T>>()) };
    Python::try_attach(|_| drop(lent));
}

/// A capsule that nobody took has its name still.
unsafe extern "C" fn forget<T: Named>(capsule: *mut ffi::PyObject) {
    // SAFETY: a capsule of this name holds a `Lent`.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, T::NAME.as_ptr()) == 1 {
            end::<T>(ffi::PyCapsule_GetPointer(capsule, T::NAME.as_ptr()).cast());
        }
    }
}

trait Named: Sized {
    const NAME: &'static CStr;
    fn of(tensor: Tensor) -> Self;
    fn tensor(&mut self) -> &mut Tensor;
}

impl Named for Managed {
    const NAME: &'static CStr = OLD;
    fn of(tensor: Tensor) -> Managed {
        Managed { tensor, context: std::ptr::null_mut(), deleter: Some(end::<Managed>) }
    }
    fn tensor(&mut self) -> &mut Tensor {
        &mut self.tensor
    }
}

impl Named for Versioned {
    const NAME: &'static CStr = NEW;
    fn of(tensor: Tensor) -> Versioned {
        let (context, deleter) = (std::ptr::null_mut(), Some(end::<Versioned> as unsafe extern "C" fn(*mut Versioned)));
        Versioned { major: 1, minor: 0, context, deleter, flags: 0, tensor }
    }
    fn tensor(&mut self) -> &mut Tensor {
        &mut self.tensor
    }
}

fn capsule<'py, T: Named>(
    owner: &Bound<'py, PyAny>,
    tensor: Tensor,
    shape: Vec<i64>,
    strides: Vec<i64>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = owner.py();
    let mut lent = Box::new(Lent { managed: T::of(tensor), shape, strides, owner: owner.clone().unbind() });
    let (shape, strides) = (lent.shape.as_mut_ptr(), lent.strides.as_mut_ptr());
    (lent.managed.tensor().shape, lent.managed.tensor().strides) = (shape, strides);
    let at = Box::into_raw(lent);
    // SAFETY: who takes the capsule calls `deleter`, or else its destructor does.
    unsafe {
        let made = ffi::PyCapsule_New(at.cast(), T::NAME.as_ptr(), Some(forget::<T>));
        if made.is_null() {
            end::<T>(at.cast());
        }
        Bound::from_owned_ptr_or_err(py, made)
    }
}

/// The capsule of an array in the memory of a GPU. None: DLPack has no name for its elements.
#[pyfunction]
pub fn far_dlpack<'py>(array: &Bound<'py, PyUntypedArray>, versioned: bool) -> PyResult<Option<Bound<'py, PyAny>>> {
    let View { data, shape, strides, kind, gpu, memory, .. } = of_numpy(array);
    let (Kind::Scalar(scalar), Some(gpu), Some(memory)) = (kind, gpu, memory) else { return Ok(None) };
    let Some((code, bits, _)) = NUMBERS.iter().find(|(_, _, known)| *known == scalar) else { return Ok(None) };
    memory.get().share();
    let size = scalar.size() as isize;
    if strides.iter().any(|stride| stride % size != 0) {
        return Ok(None);
    }
    let tensor = Tensor {
        data: data.cast(),
        device: CUDA,
        device_id: gpu.ordinal.unwrap_or(0),
        ndim: shape.len() as i32,
        code: *code,
        bits: *bits,
        lanes: 1,
        shape: std::ptr::null_mut(),
        strides: std::ptr::null_mut(),
        byte_offset: 0,
    };
    let shape = shape.iter().map(|&n| n as i64).collect();
    let strides = strides.iter().map(|&stride| (stride / size) as i64).collect();
    match versioned {
        true => capsule::<Versioned>(array.as_any(), tensor, shape, strides).map(Some),
        false => capsule::<Managed>(array.as_any(), tensor, shape, strides).map(Some),
    }
}
