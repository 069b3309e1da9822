//! How does XLA call? The custom calls of its foreign function interface, version 0.1
//! (`xla/ffi/api/c_api.h` of OpenXLA, whose structs stand here as far as they are used).

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::prelude::*;
use smallvec::SmallVec;

use crate::kernel;
use crate::xla::{self, Memory, Where};

/// The entry that XLA calls, as JAX takes it; `far`: on a GPU.
#[pyfunction]
pub fn xla_target(py: Python<'_>, far: bool) -> PyResult<Bound<'_, PyAny>> {
    let entry: unsafe extern "C" fn(*mut CallFrame) -> *mut c_void = if far { call_far } else { call };
    // SAFETY: a capsule of this name holds the entry, which stays; it has nothing to free.
    unsafe {
        let capsule = pyo3::ffi::PyCapsule_New(entry as *mut c_void, c"xla._CUSTOM_CALL_TARGET".as_ptr(), None);
        Bound::from_owned_ptr_or_err(py, capsule)
    }
}

#[repr(C)]
struct Extension {
    size: usize,
    kind: c_int,
    next: *mut Extension,
}

#[repr(C)]
struct Version {
    size: usize,
    extensions: *mut Extension,
    major: c_int,
    minor: c_int,
}

/// What XLA asks of an entry before it calls it.
#[repr(C)]
struct Metadata {
    size: usize,
    version: Version,
    traits: u32,
}

#[repr(C)]
struct MetadataExtension {
    base: Extension,
    metadata: *mut Metadata,
}

const METADATA: c_int = 1;

#[repr(C)]
struct ErrorArguments {
    size: usize,
    extensions: *mut Extension,
    message: *const c_char,
    code: c_int,
}

/// What the context of a call is asked for: a stream, a pointer, or the number of a GPU.
#[repr(C)]
struct Asked {
    size: usize,
    extensions: *mut Extension,
    context: *mut c_void,
    found: u64,
}

/// What an error of XLA is asked for, or given back by.
#[repr(C)]
struct OfError {
    size: usize,
    extensions: *mut Extension,
    error: *mut c_void,
    message: *const c_char,
}

type Ask = unsafe extern "C" fn(*mut Asked) -> *mut c_void;

/// The table of XLA's functions, as far as it is used.
#[repr(C)]
struct Api {
    size: usize,
    extensions: *mut Extension,
    version: Version,
    internal: *const c_void,
    error_create: unsafe extern "C" fn(*mut ErrorArguments) -> *mut c_void,
    error_message: unsafe extern "C" fn(*mut OfError),
    error_destroy: unsafe extern "C" fn(*mut OfError),
    register: *const c_void,
    stream: Ask,
    /// Types, states, memory, threads, futures and numbers of runs.
    others: [*const c_void; 12],
    /// Not in the first tables of this version.
    ordinal: Option<Ask>,
}

#[repr(C)]
struct List {
    size: usize,
    extensions: *mut Extension,
    count: i64,
    kinds: *mut c_int,
    items: *mut *mut c_void,
}

#[repr(C)]
struct Text {
    start: *const u8,
    length: usize,
}

#[repr(C)]
struct Attributes {
    size: usize,
    extensions: *mut Extension,
    count: i64,
    kinds: *mut c_int,
    names: *mut *mut Text,
    items: *mut *mut c_void,
}

#[repr(C)]
struct CallFrame {
    size: usize,
    extensions: *mut Extension,
    api: *const Api,
    context: *mut c_void,
    stage: c_int,
    operands: List,
    results: List,
    attributes: Attributes,
}

#[repr(C)]
struct Buffer {
    size: usize,
    extensions: *mut Extension,
    kind: c_int,
    data: *mut c_void,
    rank: i64,
    extents: *mut i64,
}

/// `XLA_FFI_ExecutionStage_EXECUTE`, `XLA_FFI_AttrType_STRING`,
/// `XLA_FFI_Error_Code_INVALID_ARGUMENT`
const EXECUTE: c_int = 3;
const STRING: c_int = 4;
const INVALID: c_int = 3;

/// The bytes of a number, by `XLA_FFI_DataType`; 0: kernels have none of it.
fn size_of_number(kind: c_int) -> usize {
    match kind {
        1 | 2 | 6 => 1,
        3 | 7 | 10 | 16 => 2,
        4 | 8 | 11 => 4,
        5 | 9 | 12 => 8,
        _ => 0,
    }
}

/// Runs the plan that the call names, on the host.
///
/// # Safety
/// XLA calls it.
unsafe extern "C" fn call(frame: *mut CallFrame) -> *mut c_void {
    // SAFETY: the caller's promise.
    unsafe { called(frame, false) }
}

/// The same on the GPU that XLA runs the program on.
///
/// # Safety
/// XLA calls it.
unsafe extern "C" fn call_far(frame: *mut CallFrame) -> *mut c_void {
    // SAFETY: the caller's promise.
    unsafe { called(frame, true) }
}

/// # Safety
/// XLA calls it.
unsafe fn called(frame: *mut CallFrame, far: bool) -> *mut c_void {
    // SAFETY: XLA's frame lives while the call takes.
    let frame = unsafe { &mut *frame };
    // SAFETY: as above; an extension of this kind is of this struct.
    unsafe {
        let mut at = frame.extensions;
        while let Some(extension) = at.as_ref() {
            if extension.kind == METADATA {
                let metadata = &mut *(*at.cast::<MetadataExtension>()).metadata;
                (metadata.version.major, metadata.version.minor) = (0, 1);
                metadata.traits = 0;
                return std::ptr::null_mut();
            }
            at = extension.next;
        }
    }
    if frame.stage != EXECUTE {
        return std::ptr::null_mut();
    }
    // SAFETY: as above.
    let done = catch_unwind(AssertUnwindSafe(|| unsafe { execute(frame, far) }));
    let done = done.unwrap_or_else(|_| Err("kc failed (this is a fault of kc)".to_string()));
    let Err(message) = done else { return std::ptr::null_mut() };
    let message = CString::new(message.replace('\0', " ")).unwrap_or_default();
    let mut arguments = ErrorArguments {
        size: size_of::<ErrorArguments>(),
        extensions: std::ptr::null_mut(),
        message: message.as_ptr(),
        code: INVALID,
    };
    // SAFETY: XLA's table; the message lives until it was copied.
    unsafe { ((*frame.api).error_create)(&mut arguments) }
}

/// # Safety
/// XLA's frame.
unsafe fn execute(frame: &CallFrame, far: bool) -> Result<(), String> {
    // SAFETY: the caller's promise.
    let (name, operands, results) =
        unsafe { (name(&frame.attributes), memory(&frame.operands)?, memory(&frame.results)?) };
    // SAFETY: the caller's promise.
    let at = if far { Some(unsafe { place(frame, &operands) }?) } else { None };
    let name = name.ok_or("the call names no launch")?;
    // SAFETY: the caller's promise.
    let outcome = unsafe { xla::run(name, &operands, &results, at.as_ref()) };
    if let Some(error) = kernel::raised() {
        return Err(error.to_string());
    }
    let printed = outcome?.printed;
    if printed.is_empty() {
        return Ok(());
    }
    Python::attach(|py| py.import("sys")?.getattr("stdout")?.call_method1("write", (printed,)).map(drop))
        .map_err(|error| error.to_string())
}

/// The GPU and the stream of a call.
///
/// # Safety
/// XLA's frame.
unsafe fn place(frame: &CallFrame, operands: &[Memory]) -> Result<Where, String> {
    // SAFETY: the caller's promise, here and below.
    let api = unsafe { &*frame.api };
    let ask = |ask: Ask| {
        let size = size_of::<Asked>();
        let mut asked = Asked { size, extensions: std::ptr::null_mut(), context: frame.context, found: 0 };
        let error = unsafe { ask(&mut asked) };
        if error.is_null() {
            return Ok(asked.found);
        }
        let size = size_of::<OfError>();
        let mut of = OfError { size, extensions: std::ptr::null_mut(), error, message: std::ptr::null() };
        unsafe { (api.error_message)(&mut of) };
        let said = match of.message.is_null() {
            true => "XLA does not say where the program runs".to_string(),
            false => unsafe { CStr::from_ptr(of.message) }.to_string_lossy().into_owned(),
        };
        unsafe { (api.error_destroy)(&mut of) };
        Err(said)
    };
    let stream = ask(api.stream)?;
    let ordinal = match api.ordinal.filter(|_| api.size >= size_of::<Api>()) {
        Some(ordinal) => Some(ask(ordinal)? as i32),
        None => None,
    };
    Where::new(ordinal, stream, operands)
}

/// # Safety
/// The attributes of a frame.
unsafe fn name(attributes: &Attributes) -> Option<&str> {
    (0..usize::try_from(attributes.count).ok()?).find_map(|n| {
        // SAFETY: as many names, kinds and items as it says.
        unsafe {
            let text = |text: &Text| std::slice::from_raw_parts(text.start, text.length);
            let is_it = *attributes.kinds.add(n) == STRING && text(&**attributes.names.add(n)) == b"launch";
            if !is_it {
                return None;
            }
            std::str::from_utf8(text(&*(*attributes.items.add(n)).cast::<Text>())).ok()
        }
    })
}

/// # Safety
/// The operands or the results of a frame.
unsafe fn memory(list: &List) -> Result<SmallVec<[Memory; 8]>, String> {
    (0..usize::try_from(list.count).unwrap_or(0))
        .map(|n| {
            // SAFETY: as many items as it says. All kinds so far are buffers, of as many extents as
            // their rank.
            let buffer = unsafe { &*(*list.items.add(n)).cast::<Buffer>() };
            let rank = usize::try_from(buffer.rank).unwrap_or(0);
            // SAFETY: as above.
            let count: usize =
                (0..rank).map(|k| usize::try_from(unsafe { *buffer.extents.add(k) }).unwrap_or(0)).product();
            match size_of_number(buffer.kind) {
                0 => Err(format!("operand {n} is of a type that kernels do not have ({})", buffer.kind)),
                size => Ok(Memory { data: buffer.data.cast(), bytes: count * size }),
            }
        })
        .collect()
}
