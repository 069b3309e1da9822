//! What is a number, a vector or a matrix in Python?

use kc::types::{Scalar, Type};
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyFloat, PyInt, PyString};
use smallvec::SmallVec;

use crate::error::{Fault, Refused};

/// The bytes of a value.
pub type Bytes = SmallVec<[u8; 64]>;

/// A value of a type that is neither a struct nor an array. None: it is something else.
pub fn pack(ty: Type, value: &Bound<'_, PyAny>) -> Result<Option<Bytes>, Fault> {
    let Some(scalar) = ty.scalar_part() else { return Ok(None) };
    let mut bytes = Bytes::new();
    let fits = match ty {
        Type::Scalar(_) => number(scalar, value, &mut bytes)?,
        Type::Vec(n, _) => list(scalar, usize::from(n), value, &mut bytes)?,
        Type::Quat(_) => list(scalar, 4, value, &mut bytes)?,
        Type::Transform(_) => nested(scalar, &[3, 4], value, &mut bytes)? || list(scalar, 7, value, &mut bytes)?,
        Type::Mat(rows, columns, _) => {
            let (rows, columns) = (usize::from(rows), usize::from(columns));
            nested(scalar, &vec![columns; rows], value, &mut bytes)? || list(scalar, rows * columns, value, &mut bytes)?
        }
        Type::Struct(_) | Type::Array(_) | Type::Local(_) => false,
    };
    Ok(fits.then_some(bytes))
}

/// The items of a list, a tuple, an array or a vector of kc.
fn items<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Vec<Bound<'py, PyAny>>>> {
    let is_text = value.is_instance_of::<PyString>()
        || value.is_instance_of::<PyBytes>()
        || value.is_instance_of::<PyByteArray>();
    if is_text || value.len().is_err() || !value.hasattr("__getitem__")? || value.hasattr("keys")? {
        return Ok(None);
    }
    value.try_iter()?.collect::<PyResult<_>>().map(Some)
}

/// `n` numbers in a row.
fn list(scalar: Scalar, n: usize, value: &Bound<'_, PyAny>, bytes: &mut Bytes) -> Result<bool, Fault> {
    bytes.clear();
    let Some(items) = items(value)? else { return Ok(false) };
    if items.len() != n {
        return Ok(false);
    }
    for item in &items {
        if !number(scalar, item, bytes)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Rows of so many numbers each.
fn nested(scalar: Scalar, rows: &[usize], value: &Bound<'_, PyAny>, bytes: &mut Bytes) -> Result<bool, Fault> {
    bytes.clear();
    let Some(items) = items(value)? else { return Ok(false) };
    if items.len() != rows.len() {
        return Ok(false);
    }
    for (row, n) in items.iter().zip(rows) {
        let mut part = Bytes::new();
        if !list(scalar, *n, row, &mut part)? {
            return Ok(false);
        }
        bytes.extend_from_slice(&part);
    }
    Ok(true)
}

fn number(scalar: Scalar, value: &Bound<'_, PyAny>, bytes: &mut Bytes) -> Result<bool, Fault> {
    macro_rules! whole {
        ($ty:ty) => {{
            let Some(n) = integer(value)? else { return Ok(false) };
            match n.extract::<$ty>() {
                Ok(n) => bytes.extend_from_slice(&n.to_le_bytes()),
                Err(error) if error.is_instance_of::<PyOverflowError>(value.py()) => {
                    let what = format!("{} does not fit in {}", n.str()?, scalar.name());
                    return Err(Refused::new("E1005", what).into());
                }
                Err(error) => return Err(error.into()),
            }
        }};
    }
    match scalar {
        Scalar::Bool => {
            let Some(truth) = truth(value)? else { return Ok(false) };
            bytes.push(truth.into());
        }
        Scalar::I8 => whole!(i8),
        Scalar::I16 => whole!(i16),
        Scalar::I32 => whole!(i32),
        Scalar::I64 => whole!(i64),
        Scalar::U8 => whole!(u8),
        Scalar::U16 => whole!(u16),
        Scalar::U32 => whole!(u32),
        Scalar::U64 => whole!(u64),
        Scalar::F16 | Scalar::BF16 | Scalar::F32 | Scalar::F64 => {
            let Some(x) = float(value)? else { return Ok(false) };
            match scalar {
                Scalar::F16 => bytes.extend_from_slice(&half::f16::from_f64(x).to_le_bytes()),
                Scalar::BF16 => bytes.extend_from_slice(&half::bf16::from_f64(x).to_le_bytes()),
                Scalar::F32 => bytes.extend_from_slice(&(x as f32).to_le_bytes()),
                _ => bytes.extend_from_slice(&x.to_le_bytes()),
            }
        }
    }
    Ok(true)
}

/// `True`, `numpy.True_`, 0 or 1.
fn truth(value: &Bound<'_, PyAny>) -> PyResult<Option<bool>> {
    if let Ok(truth) = value.cast::<PyBool>() {
        return Ok(Some(truth.is_true()));
    }
    if value.get_type().name()?.to_string_lossy().starts_with("bool") {
        return value.is_truthy().map(Some);
    }
    let whole = integer(value)?.and_then(|n| n.extract::<i64>().ok());
    Ok(whole.filter(|n| matches!(n, 0 | 1)).map(|n| n == 1))
}

/// What Python takes for a whole number.
fn integer<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    if value.is_instance_of::<PyInt>() {
        return Ok(Some(value.clone()));
    }
    if value.is_instance_of::<PyFloat>() || has_items(value) || !value.hasattr("__index__")? {
        return Ok(None);
    }
    // SAFETY: the object lives; the result is a new reference or null with an exception set.
    let made = unsafe { Bound::from_owned_ptr_or_err(value.py(), pyo3::ffi::PyNumber_Index(value.as_ptr())) };
    // Tensors have the method, and refuse it where they hold no integer.
    Ok(made.ok())
}

/// What Python takes for a number.
fn float(value: &Bound<'_, PyAny>) -> Result<Option<f64>, Fault> {
    if let Ok(x) = value.cast::<PyFloat>() {
        return Ok(Some(x.value()));
    }
    if has_items(value) || value.is_instance_of::<PyString>() {
        return Ok(None);
    }
    if !value.hasattr("__float__")? && !value.hasattr("__index__")? {
        return Ok(None);
    }
    match value.extract::<f64>() {
        Ok(x) => Ok(Some(x)),
        Err(error) if error.is_instance_of::<PyOverflowError>(value.py()) => {
            Err(Refused::new("E1005", format!("{} is too large for a float", value.str()?)).into())
        }
        // A complex number, for one.
        Err(_) => Ok(None),
    }
}

/// Arrays of one element convert to numbers in Python, and are no numbers here.
fn has_items(value: &Bound<'_, PyAny>) -> bool {
    value.len().is_ok()
}
