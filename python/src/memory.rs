//! What else does the Python half ask of an array's memory?

use numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use twox_hash::XxHash3_128;

use crate::view::{Kind, View, of_numpy, view};

/// What NumPy needs to know of an array of another library: address, whether it may be written, extents, strides, the name of
/// its elements' type, and what keeps its memory. None: it is no array.
type Described<'py> = (usize, bool, Vec<isize>, Vec<isize>, &'static str, Bound<'py, PyAny>);

#[pyfunction]
pub fn describe<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Described<'py>>> {
    let py = value.py();
    let Some(View { data, shape, strides, kind, writable, owner }) = view(value).map_err(|fault| fault.raise(py))?
    else {
        return Ok(None);
    };
    let Kind::Scalar(scalar) = kind else { return Ok(None) };
    let owner = owner.unwrap_or_else(|| value.clone());
    Ok(Some((data.expose_provenance(), writable, shape.to_vec(), strides.to_vec(), scalar.name(), owner)))
}

/// The pairs of arrays whose memory, from first byte to last, overlaps.
#[pyfunction]
pub fn overlaps(arrays: Vec<Bound<'_, PyUntypedArray>>) -> Vec<(usize, usize)> {
    let ranges: Vec<(usize, usize)> = arrays.iter().map(extent).collect();
    let pairs = (0..ranges.len()).flat_map(|j| (0..j).map(move |i| (i, j)));
    pairs.filter(|&(i, j)| ranges[i].0 < ranges[j].1 && ranges[j].0 < ranges[i].1).collect()
}

/// Which of `known` have memory that overlaps that of one of `arrays`.
#[pyfunction]
pub fn meeting(known: Vec<Bound<'_, PyUntypedArray>>, arrays: Vec<Bound<'_, PyUntypedArray>>) -> Vec<usize> {
    let ranges: Vec<(usize, usize)> = arrays.iter().map(extent).collect();
    let meets = |array| {
        let (low, high) = extent(array);
        ranges.iter().any(|range| range.0 < high && low < range.1)
    };
    (0..known.len()).filter(|&n| meets(&known[n])).collect()
}

/// From the first byte of an array to behind its last; an array without elements has none.
#[pyfunction]
pub fn extent(array: &Bound<'_, PyUntypedArray>) -> (usize, usize) {
    let view = of_numpy(array);
    let start = view.data as usize;
    if view.shape.contains(&0) {
        return (start, start);
    }
    let (mut below, mut above) = (0, array.dtype().itemsize());
    for (&n, &stride) in view.shape.iter().zip(&view.strides) {
        let reach = (n - 1).unsigned_abs() * stride.unsigned_abs();
        *if stride < 0 { &mut below } else { &mut above } += reach;
    }
    (start - below, start + above)
}

/// A number that tells whether the elements have changed: 128 bits of XXH3, so that two contents with one number do not happen.
#[pyfunction]
pub fn digest(py: Python<'_>, array: &Bound<'_, PyUntypedArray>) -> u128 {
    let View { data, shape, strides, .. } = of_numpy(array);
    let size = array.dtype().itemsize();
    // The inner dimensions without gaps are one run of bytes.
    let (mut run, mut dims) = (size, shape.len());
    while dims > 0 && (strides[dims - 1] == run as isize || shape[dims - 1] == 1) {
        dims -= 1;
        run *= shape[dims].unsigned_abs();
    }
    if shape.contains(&0) {
        return 0;
    }
    let (start, shape, strides) = (data.expose_provenance(), &shape[..dims], &strides[..dims]);
    py.detach(|| {
        let mut found = 0;
        runs(start, shape, strides, &mut |at| {
            let start: *const u8 = std::ptr::with_exposed_provenance(at);
            // SAFETY: the array's elements lie there; what another thread writes meanwhile is a change, or is not seen.
            let bytes = unsafe { std::slice::from_raw_parts(start, run) };
            // Each run's number is the seed of the next one.
            found = XxHash3_128::oneshot_with_seed((found ^ found >> 64) as u64, bytes);
        });
        found
    })
}

/// The start of each run of bytes.
fn runs(start: usize, shape: &[isize], strides: &[isize], visit: &mut impl FnMut(usize)) {
    match (shape, strides) {
        ([n, shape @ ..], [stride, strides @ ..]) => {
            (0..*n).for_each(|k| runs(start.wrapping_add_signed(k * stride), shape, strides, visit));
        }
        _ => visit(start),
    }
}
