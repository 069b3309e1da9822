//! The buffer protocol (PEP 3118). The stable interface of CPython has it from 3.11 on. CPython
//! 3.10 has the same functions and structure, which 3.11 then froze: they are named here.

use std::os::raw::{c_char, c_int, c_void};

use pyo3::prelude::*;

/// `Py_buffer` of CPython 3.10 and later.
#[repr(C)]
struct View {
    start: *mut c_void,
    owner: *mut pyo3::ffi::PyObject,
    bytes: isize,
    item: isize,
    read_only: c_int,
    dimensions: c_int,
    format: *mut c_char,
    shape: *mut isize,
    strides: *mut isize,
    suboffsets: *mut isize,
    internal: *mut c_void,
}

/// `PyBUF_SIMPLE`: bytes, one behind the other.
const SIMPLE: c_int = 0;

unsafe extern "C" {
    fn PyObject_CheckBuffer(object: *mut pyo3::ffi::PyObject) -> c_int;
    fn PyObject_GetBuffer(object: *mut pyo3::ffi::PyObject, view: *mut View, flags: c_int) -> c_int;
    fn PyBuffer_Release(view: *mut View);
}

/// Whether an object shows its memory.
pub fn has(object: &Bound<'_, PyAny>) -> bool {
    // SAFETY: the object lives, and the interpreter is held.
    unsafe { PyObject_CheckBuffer(object.as_ptr()) == 1 }
}

/// Copies the memory of an object. False: it has another size.
///
/// # Errors
/// Those of the object, which may have no memory to show.
pub fn copy(object: &Bound<'_, PyAny>, room: &mut [u8]) -> PyResult<bool> {
    // SAFETY: all zeros is a view that is filled in.
    let mut view: View = unsafe { std::mem::zeroed() };
    // SAFETY: the interpreter is held, and the object lives.
    if unsafe { PyObject_GetBuffer(object.as_ptr(), &mut view, SIMPLE) } != 0 {
        return Err(PyErr::fetch(object.py()));
    }
    let fits = usize::try_from(view.bytes) == Ok(room.len());
    if fits {
        // SAFETY: the view has so many bytes, and the room is ours.
        unsafe { std::ptr::copy_nonoverlapping(view.start.cast::<u8>(), room.as_mut_ptr(), room.len()) };
    }
    // SAFETY: it was filled above.
    unsafe { PyBuffer_Release(&mut view) };
    Ok(fits)
}
