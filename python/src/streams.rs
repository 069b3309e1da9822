//! What are streams, events and graphs of a GPU in Python? `kc/_streams.py` has what users call.

use std::sync::Arc;

use kc::run::devices::cuda::{self, Card};
use pyo3::prelude::*;

use crate::device::{self, Memory, raise};

/// A stream of a GPU, which ends when nobody has it any more.
#[pyclass(frozen, module = "kc._native")]
pub struct RawStream {
    card: Arc<Card>,
    #[pyo3(get)]
    raw: u64,
}

#[pymethods]
impl RawStream {
    /// `apart`: it does not wait for the stream 0.
    #[new]
    fn new(py: Python<'_>, ordinal: i32, apart: bool) -> PyResult<RawStream> {
        let card = device::card(py, ordinal)?;
        let raw = card.stream(apart).map_err(|fail| raise(py, fail))?;
        Ok(RawStream { card, raw })
    }
}

impl Drop for RawStream {
    fn drop(&mut self) {
        // SAFETY: it is this object's own.
        unsafe { self.card.end_stream(self.raw) };
    }
}

/// What comes next on a stream waits for what another one, perhaps of another GPU, does already.
#[pyfunction]
pub fn streams_follow(py: Python<'_>, behind: (i32, u64), first: (i32, u64)) -> PyResult<()> {
    let (card, other) = (device::card(py, behind.0)?, device::card(py, first.0)?);
    py.detach(|| card.follow(behind.1, (&other, first.1))).map_err(|fail| raise(py, fail))
}

/// A point in the work of a stream.
#[pyclass(frozen, module = "kc._native")]
pub struct RawEvent {
    card: Arc<Card>,
    event: cuda::Event,
}

#[pymethods]
impl RawEvent {
    #[new]
    fn new(py: Python<'_>, ordinal: i32) -> PyResult<RawEvent> {
        let card = device::card(py, ordinal)?;
        let event = card.event(true).map_err(|fail| raise(py, fail))?;
        Ok(RawEvent { card, event })
    }

    /// Puts it behind what a stream does.
    fn record(&self, py: Python<'_>, stream: u64) -> PyResult<()> {
        self.card.record(&self.event, stream).map_err(|fail| raise(py, fail))
    }

    /// What comes next on a stream waits for it.
    fn hold(&self, py: Python<'_>, ordinal: i32, stream: u64) -> PyResult<()> {
        device::card(py, ordinal)?.await_event(&self.event, stream).map_err(|fail| raise(py, fail))
    }

    /// Waits for it.
    fn reach(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.card.reach(&self.event)).map_err(|fail| raise(py, fail))?;
        device::told(py, self.card.ordinal())
    }

    /// Milliseconds from it to another one; both were reached.
    fn elapsed(&self, py: Python<'_>, end: &RawEvent) -> PyResult<f32> {
        self.card.elapsed(&self.event, &end.event).map_err(|fail| raise(py, fail))
    }
}

/// Work of a stream that is kept, to be done again.
#[pyclass(frozen, module = "kc._native")]
pub struct RawGraph {
    card: Arc<Card>,
    graph: cuda::Graph,
    /// The memory that it uses.
    memory: Vec<Py<Memory>>,
}

/// What is given to a stream from now on is kept.
#[pyfunction]
pub fn capture_begin(py: Python<'_>, ordinal: i32, stream: u64) -> PyResult<()> {
    let card = device::card(py, ordinal)?;
    device::captures(true);
    card.capture(stream).map_err(|fail| {
        drop(device::captures(false));
        raise(py, fail)
    })
}

/// Ends that.
#[pyfunction]
pub fn capture_end(py: Python<'_>, ordinal: i32, stream: u64) -> PyResult<RawGraph> {
    let card = device::card(py, ordinal)?;
    let made = card.captured(stream);
    let memory = device::captures(false);
    let graph = made.map_err(|fail| raise(py, fail))?;
    Ok(RawGraph { card, graph, memory })
}

#[pymethods]
impl RawGraph {
    /// Does it all behind what a stream does.
    fn replay(&self, py: Python<'_>, stream: u64) -> PyResult<()> {
        device::told(py, self.card.ordinal())?;
        for memory in &self.memory {
            memory.get().wrote_all();
        }
        // SAFETY: this object keeps the memory.
        let done = py.detach(|| unsafe { self.card.replay(&self.graph, stream, "a graph") });
        done.map_err(|fail| raise(py, fail))
    }
}
