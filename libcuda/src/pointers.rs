//! What do clients hand over? Pointers to results, to lists and to texts, each looked at before it
//! is used. What lies behind a pointer that is not null the client answers for, as of the driver.

use std::ffi::{CStr, c_char, c_void};

use crate::status::{Result, Status};

/// Where a result goes.
#[derive(Debug)]
#[repr(transparent)]
pub struct Out<T>(*mut T);

// A pointer is copied whatever it leads to.
impl<T> Clone for Out<T> {
    fn clone(&self) -> Out<T> {
        *self
    }
}

impl<T> Copy for Out<T> {}

impl<T> Out<T> {
    /// A place that the client named by a number.
    pub fn at(address: usize) -> Out<T> {
        Out(std::ptr::with_exposed_provenance_mut(address))
    }

    /// Writes the result; null is an invalid value.
    pub fn set(self, value: T) -> Result {
        if self.0.is_null() {
            return Err(Status::InvalidValue.because("a result has nowhere to go: its pointer is null"));
        }
        // SAFETY: the client gives a place for the result.
        unsafe { self.0.write_unaligned(value) };
        Ok(())
    }

    /// Writes the result, if it is wanted.
    pub fn set_if_wanted(self, value: T) {
        if !self.0.is_null() {
            // SAFETY: as above.
            unsafe { self.0.write_unaligned(value) };
        }
    }

    pub fn address(self) -> usize {
        self.0.expose_provenance()
    }

    pub fn is_wanted(self) -> bool {
        !self.0.is_null()
    }

    /// Writes the `n`-th of several results.
    pub fn set_at(self, n: usize, value: T) -> Result {
        if self.0.is_null() {
            return Err(Status::InvalidValue.because("a list of results has nowhere to go: its pointer is null"));
        }
        // SAFETY: the client gives a place for each of the results that it asks for.
        unsafe { self.0.add(n).write_unaligned(value) };
        Ok(())
    }

    /// The same place for results of another type: attributes have several.
    pub fn of_type<U>(self) -> Out<U> {
        Out(self.0.cast())
    }
}

impl Out<c_char> {
    /// Writes a text with its end, cut where the place ends.
    pub fn set_text(self, text: &str, size: usize) -> Result {
        if self.0.is_null() || size == 0 {
            return Err(
                Status::InvalidValue.because("a text has nowhere to go: its pointer is null, or it has no bytes")
            );
        }
        let bytes = text.as_bytes();
        let count = bytes.len().min(size - 1);
        // SAFETY: the client gives `size` bytes.
        unsafe {
            self.0.copy_from_nonoverlapping(bytes.as_ptr().cast(), count);
            self.0.add(count).write(0);
        }
        Ok(())
    }
}

/// What the client lends for reading: one thing or a list.
#[derive(Debug)]
#[repr(transparent)]
pub struct In<T>(*const T);

impl<T> Clone for In<T> {
    fn clone(&self) -> In<T> {
        *self
    }
}

impl<T> Copy for In<T> {}

impl<T> In<T> {
    /// A place that the client named by a number.
    pub fn from_address(address: usize) -> In<T> {
        In(std::ptr::with_exposed_provenance(address))
    }
}

impl<T: Copy> In<T> {
    pub fn get(self) -> Result<T> {
        self.at(0)
    }

    /// The `n`-th of a list.
    pub fn at(self, n: usize) -> Result<T> {
        self.at_if_given(n).ok_or_else(|| Status::InvalidValue.because("something that is needed is null"))
    }

    /// The same; None: there is no list.
    pub fn at_if_given(self, n: usize) -> Option<T> {
        // SAFETY: what is not null the client fills, as many as it says.
        (!self.0.is_null()).then(|| unsafe { self.0.add(n).read_unaligned() })
    }

    pub fn is_given(self) -> bool {
        !self.0.is_null()
    }

    pub fn address(self) -> u64 {
        self.0.expose_provenance() as u64
    }
}

/// A text of C.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Text(*const c_char);

impl Text {
    pub fn get<'a>(self) -> Result<&'a CStr> {
        if self.0.is_null() {
            return Err(Status::InvalidValue.because("a name is null"));
        }
        // SAFETY: the client's text has its end, and lives for the call.
        Ok(unsafe { CStr::from_ptr(self.0) })
    }

    pub fn str<'a>(self) -> Result<&'a str> {
        self.get()?.to_str().map_err(|_| Status::InvalidValue.because("a name is no UTF-8"))
    }
}

/// Bytes at an address of the host, for a call.
///
/// # Safety
/// They are there, and nobody writes to them meanwhile.
pub unsafe fn bytes_at<'a>(address: u64, count: usize) -> &'a [u8] {
    if count == 0 {
        return &[];
    }
    let start: *const c_void = std::ptr::with_exposed_provenance(address as usize);
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(start.cast(), count) }
}
