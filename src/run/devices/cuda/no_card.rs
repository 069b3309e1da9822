//! There is no GPU in a kc that was built without the feature `cuda`.

use std::sync::Arc;

use super::left_out;
use crate::run::Result;

/// None can be had.
pub enum Card {}

/// None can be had.
pub enum Event {}

/// None can be had.
pub enum Graph {}

/// What is known of a GPU.
pub struct About {
    /// Its name.
    pub name: String,
    /// Bytes.
    pub memory: usize,
    /// Compute capability.
    pub capability: (i32, i32),
    /// Of them.
    pub multiprocessors: i32,
}

macro_rules! never {
    ($($name:ident($($of:ident: $ty:ty),*) -> $out:ty;)*) => {
        /// No card has them.
        impl Card {
            $(
                #[doc(hidden)]
                #[allow(clippy::missing_errors_doc, unused_variables)]
                pub fn $name(&self, $($of: $ty),*) -> $out {
                    match *self {}
                }
            )*
        }
    };
}

macro_rules! never_unsafe {
    ($($name:ident($($of:ident: $ty:ty),*) -> $out:ty;)*) => {
        /// No card has them.
        impl Card {
            $(
                #[doc(hidden)]
                #[allow(clippy::missing_errors_doc, clippy::missing_safety_doc, unused_variables)]
                pub unsafe fn $name(&self, $($of: $ty),*) -> $out {
                    match *self {}
                }
            )*
        }
    };
}

never! {
    about() -> &About;
    ordinal() -> i32;
    room() -> Result<(usize, usize)>;
    allocate(bytes: usize, stream: u64, pooled: bool) -> Result<u64>;
    wait(stream: u64) -> Result<()>;
    wait_all() -> Result<()>;
    follow(stream: u64, other: (&Card, u64)) -> Result<()>;
    pinned(bytes: usize) -> Result<*mut u8>;
    managed(bytes: usize) -> Result<u64>;
    reach_memory_of(other: &Card) -> Result<bool>;
    event(timed: bool) -> Result<Event>;
    record(event: &Event, stream: u64) -> Result<()>;
    await_event(event: &Event, stream: u64) -> Result<()>;
    reach(event: &Event) -> Result<()>;
    elapsed(start: &Event, end: &Event) -> Result<f32>;
    stream(apart: bool) -> Result<u64>;
    capture(stream: u64) -> Result<()>;
    captured(stream: u64) -> Result<Graph>;
}

never_unsafe! {
    release(address: u64, stream: u64, pooled: bool) -> ();
    upload(to: u64, from: *const u8, bytes: usize, stream: u64) -> Result<()>;
    download(to: *mut u8, from: u64, bytes: usize, stream: u64) -> Result<()>;
    copy(to: u64, from: (&Card, u64), bytes: usize, stream: u64) -> Result<()>;
    prefetch(at: u64, bytes: usize, to: Option<&Card>, stream: u64) -> Result<()>;
    clear(at: u64, bytes: usize, stream: u64) -> Result<()>;
    unpin(at: *mut u8) -> ();
    end_stream(stream: u64) -> ();
    replay(graph: &Graph, stream: u64, about: &str) -> Result<()>;
}

impl Card {
    /// Fails.
    ///
    /// # Errors
    /// Always.
    pub fn count() -> Result<usize> {
        Err(left_out())
    }

    /// None.
    pub fn opened() -> Vec<i32> {
        Vec::new()
    }

    /// Fails.
    ///
    /// # Errors
    /// Always.
    pub fn open(_: i32) -> Result<Arc<Card>> {
        Err(left_out())
    }
}
