//! Which line of the client makes a call? Python tells: the innermost frame whose file belongs to
//! the user. The process has Python's C API or it has not; nothing is linked (Python/C API
//! Reference, "Initialization, Finalization, and Threads" and "Frame Objects").

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::{Arc, OnceLock};

use kc::sim::heap::Line;

type Object = *mut c_void;

/// The functions of Python that are needed.
struct Api {
    is_initialized: unsafe extern "C" fn() -> c_int,
    is_finalizing: Option<unsafe extern "C" fn() -> c_int>,
    ensure: unsafe extern "C" fn() -> c_int,
    release: unsafe extern "C" fn(c_int),
    fetch: unsafe extern "C" fn(*mut Object, *mut Object, *mut Object),
    restore: unsafe extern "C" fn(Object, Object, Object),
    frame: unsafe extern "C" fn() -> Object,
    line: unsafe extern "C" fn(Object) -> c_int,
    code: unsafe extern "C" fn(Object) -> Object,
    back: unsafe extern "C" fn(Object) -> Object,
    attribute: unsafe extern "C" fn(Object, *const c_char) -> Object,
    text: unsafe extern "C" fn(Object, *mut isize) -> *const c_char,
    keep: unsafe extern "C" fn(Object),
    drop: unsafe extern "C" fn(Object),
}

/// A symbol of the process, if it has it.
fn symbol(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the name ends with a zero byte.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

/// A function of the process, if it has it.
///
/// # Safety
/// `F` is the type of a function of this name.
unsafe fn function<F: Copy>(name: &CStr) -> Option<F> {
    // SAFETY: an address becomes the function that lies there.
    symbol(name).map(|found| unsafe { std::mem::transmute_copy(&found) })
}

impl Api {
    fn find() -> Option<Api> {
        // SAFETY: functions of these names have these types since Python 3.9.
        let api = unsafe {
            Api {
                is_initialized: function(c"Py_IsInitialized")?,
                is_finalizing: function(c"Py_IsFinalizing").or_else(|| function(c"_Py_IsFinalizing")),
                ensure: function(c"PyGILState_Ensure")?,
                release: function(c"PyGILState_Release")?,
                fetch: function(c"PyErr_Fetch")?,
                restore: function(c"PyErr_Restore")?,
                frame: function(c"PyEval_GetFrame")?,
                line: function(c"PyFrame_GetLineNumber")?,
                code: function(c"PyFrame_GetCode")?,
                back: function(c"PyFrame_GetBack")?,
                attribute: function(c"PyObject_GetAttrString")?,
                text: function(c"PyUnicode_AsUTF8AndSize")?,
                keep: function(c"Py_IncRef")?,
                drop: function(c"Py_DecRef")?,
            }
        };
        Some(api)
    }

    /// # Safety
    /// The thread holds the interpreter's lock.
    unsafe fn innermost(&self) -> Option<Line> {
        // SAFETY: the functions are called as the reference says; a frame is borrowed, and what
        // `back` and `code` give is owned.
        unsafe {
            let mut frame = (self.frame)();
            if frame.is_null() {
                return None;
            }
            (self.keep)(frame);
            let mut found = None;
            while !frame.is_null() && found.is_none() {
                found = self.of_user(frame);
                let next = (self.back)(frame);
                (self.drop)(frame);
                frame = next;
            }
            if !frame.is_null() {
                (self.drop)(frame);
            }
            found
        }
    }

    /// The line that a frame is at, if its file belongs to the user.
    ///
    /// # Safety
    /// The thread holds the interpreter's lock, and `frame` is a frame.
    unsafe fn of_user(&self, frame: Object) -> Option<Line> {
        // SAFETY: as above; the text lives as long as its object.
        unsafe {
            let code = (self.code)(frame);
            let name = (self.attribute)(code, c"co_filename".as_ptr());
            (self.drop)(code);
            if name.is_null() {
                return None;
            }
            let mut length = 0;
            let text = (self.text)(name, &raw mut length);
            let file = (!text.is_null()).then(|| {
                String::from_utf8_lossy(std::slice::from_raw_parts(text.cast(), length as usize)).into_owned()
            });
            (self.drop)(name);
            let line = u32::try_from((self.line)(frame)).ok()?;
            file.filter(|file| is_of_user(file)).map(|file| Line { file, line })
        }
    }
}

/// Libraries are not the user's, nor is what has no file.
fn is_of_user(file: &str) -> bool {
    let parts = ["/site-packages/", "/dist-packages/", "/lib/python3"];
    !file.starts_with('<') && !file.ends_with("/kc_warp.py") && !parts.iter().any(|part| file.contains(part))
}

/// The line of the client that makes this thread's call. Don't call it with the driver's lock held:
/// it takes the interpreter's lock, and a thread that has that one may wait for the driver's.
pub fn line() -> Option<Arc<Line>> {
    static API: OnceLock<Option<Api>> = OnceLock::new();
    let api = API.get_or_init(Api::find).as_ref()?;
    // SAFETY: asks whether there is an interpreter; then its lock is taken and given back, and an
    // error that is set stays set.
    unsafe {
        if (api.is_initialized)() == 0 || api.is_finalizing.is_some_and(|is_finalizing| is_finalizing() != 0) {
            return None;
        }
        let state = (api.ensure)();
        let mut error = [std::ptr::null_mut(); 3];
        let [kind, value, trace] = &mut error;
        (api.fetch)(kind, value, trace);
        let found = api.innermost();
        let [kind, value, trace] = error;
        (api.restore)(kind, value, trace);
        (api.release)(state);
        found.map(Arc::new)
    }
}

/// The library that calls the driver: the innermost frame that is not the driver's.
pub fn library() -> Option<String> {
    let mut frames = [std::ptr::null_mut(); 32];
    // SAFETY: there is room for so many frames (glibc, `backtrace`).
    let count = unsafe { libc::backtrace(frames.as_mut_ptr(), frames.len() as c_int) };
    let mut own = None;
    for &frame in frames.get(..usize::try_from(count).ok()?)? {
        let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
        // SAFETY: any address may be asked for; the answer has room.
        if unsafe { libc::dladdr(frame, info.as_mut_ptr()) } == 0 {
            continue;
        }
        // SAFETY: zeroed, and filled.
        let info = unsafe { info.assume_init() };
        if *own.get_or_insert(info.dli_fbase) != info.dli_fbase && !info.dli_fname.is_null() {
            // SAFETY: the name of a library that is loaded.
            let path = unsafe { CStr::from_ptr(info.dli_fname) }.to_string_lossy().into_owned();
            return path.rsplit('/').next().map(str::to_string);
        }
    }
    None
}
