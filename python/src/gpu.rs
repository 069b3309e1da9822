//! Where does an object have its numbers in the memory of a GPU? It tells by
//! `__cuda_array_interface__`, versions 2 and 3
//! (<https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html>), or by DLPack. A
//! launch goes behind the work of the stream that its library uses now.

use kc::types::Scalar;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use smallvec::SmallVec;

use crate::error::{Fault, Refused};
use crate::view::{Gpu, Kind, LEGACY, View};

/// The memory of an array that has `__cuda_array_interface__`. None: it has not.
pub fn view<'py>(value: &Bound<'py, PyAny>) -> Result<Option<View<'py>>, Fault> {
    let py = value.py();
    let Some(about) = value.getattr_opt(intern!(py, "__cuda_array_interface__"))? else { return Ok(None) };
    let wrong = |what: &str| Refused::new("E1005", format!("its `__cuda_array_interface__` {what}"));
    let entry = |name: &str| -> Result<Option<Bound<'py, PyAny>>, Fault> {
        match about.get_item(name) {
            Ok(found) => Ok(Some(found).filter(|found| !found.is_none())),
            Err(error) if error.is_instance_of::<pyo3::exceptions::PyKeyError>(py) => Ok(None),
            Err(error) => Err(error.into()),
        }
    };
    let needed = |name: &str| -> Result<Bound<'py, PyAny>, Fault> {
        entry(name)?.ok_or_else(|| wrong(&format!("has no `{name}`")).into())
    };
    let (address, read_only): (usize, bool) = needed("data")?.extract()?;
    let shape: Vec<isize> = needed("shape")?.extract()?;
    let text: String = needed("typestr")?.extract()?;
    let Some(scalar) = scalar(&text) else { return Err(wrong(&format!("has elements of type `{text}`")).into()) };
    if entry("mask")?.is_some() {
        return Err(wrong("has a mask, which kernels do not look at").into());
    }
    let strides: SmallVec<[isize; 6]> = match entry("strides")? {
        Some(given) => SmallVec::from_vec(given.extract()?),
        None => by_rows(&shape, scalar.size() as isize),
    };
    if strides.len() != shape.len() || shape.iter().any(|&n| n < 0) {
        return Err(wrong("has a shape and strides that do not fit").into());
    }
    let own = match entry("stream")? {
        Some(given) => Some(given.extract::<u64>()?),
        None => None,
    };
    let stream = own.or(stream(value, None)?).unwrap_or(LEGACY);
    Ok(Some(View {
        data: std::ptr::with_exposed_provenance_mut(address),
        shape: SmallVec::from_vec(shape),
        strides,
        kind: Kind::Scalar(scalar),
        writable: !read_only,
        owner: None,
        gpu: Some(Gpu { ordinal: None, stream: legacy(stream) }),
        memory: None,
    }))
}

/// The strides of elements that follow each other, row by row.
pub fn by_rows(shape: &[isize], size: isize) -> SmallVec<[isize; 6]> {
    let mut step = size;
    let mut strides: SmallVec<[isize; 6]> = SmallVec::from_elem(0, shape.len());
    for (stride, extent) in strides.iter_mut().zip(shape).rev() {
        *stride = step;
        step *= (*extent).max(1);
    }
    strides
}

/// The stream that the library of an array uses now, where kc knows how to ask. None: nobody says.
pub fn stream(value: &Bound<'_, PyAny>, ordinal: Option<i32>) -> PyResult<Option<u64>> {
    static STREAM: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    STREAM.import(value.py(), "kc._arguments", "stream_of")?.call1((value, ordinal))?.extract()
}

/// PyTorch says 0 where it uses the stream that is also called 1.
pub fn legacy(stream: u64) -> u64 {
    stream.max(LEGACY)
}

/// `<f4`
fn scalar(text: &str) -> Option<Scalar> {
    let native = if cfg!(target_endian = "little") { '<' } else { '>' };
    let rest = text.strip_prefix([native, '|', '='])?;
    Some(match rest {
        "b1" => Scalar::Bool,
        "i1" => Scalar::I8,
        "i2" => Scalar::I16,
        "i4" => Scalar::I32,
        "i8" => Scalar::I64,
        "u1" => Scalar::U8,
        "u2" => Scalar::U16,
        "u4" => Scalar::U32,
        "u8" => Scalar::U64,
        "f2" => Scalar::F16,
        "f4" => Scalar::F32,
        "f8" => Scalar::F64,
        _ => return None,
    })
}
