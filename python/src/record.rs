//! How are launches kept in files? `kc.record`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use kc::embed::{Recorded, start_recording, stop_recording};
use pyo3::prelude::*;

use crate::error;

/// Keeps launches on the host from now on: of each kernel, direction and size the first `each`, in
/// a new folder, if their arrays have at most `most` bytes.
#[pyfunction]
pub fn recording_start(py: Python<'_>, folder: PathBuf, each: usize, most: u64) -> PyResult<()> {
    start_recording(&folder, each, most).map_err(|failed| error::raise(py, &failed))
}

/// Ends it: the launch files, and the kernels with launches that were not kept, each with the
/// reason.
#[pyfunction]
pub fn recording_stop(py: Python<'_>) -> (Vec<PathBuf>, BTreeMap<String, String>) {
    let Recorded { files, left } = py.detach(stop_recording);
    (files, left)
}
