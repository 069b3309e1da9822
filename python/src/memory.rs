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

/// A byte's address, and those of the first byte and of what is behind the last.
type Reach = (usize, usize, usize);

/// Where arrays lie: of each the address of its first element, and from the first byte to behind the last; and the pairs whose
/// memory, from first byte to last, overlaps.
#[pyfunction]
pub fn reaches(arrays: Vec<Bound<'_, PyUntypedArray>>) -> (Vec<Reach>, Vec<(usize, usize)>) {
    let found: Vec<Reach> = arrays.iter().map(reach).collect();
    let pairs = (0..found.len()).flat_map(|j| (0..j).map(move |i| (i, j)));
    let meet = |(a, b): &(usize, usize)| found[*a].1 < found[*b].2 && found[*b].1 < found[*a].2;
    let pairs = pairs.filter(meet).collect();
    (found, pairs)
}

/// Where an array lies: see [`reaches`]. An array without elements has no byte.
fn reach(array: &Bound<'_, PyUntypedArray>) -> Reach {
    let view = of_numpy(array);
    let start = view.data as usize;
    if view.shape.contains(&0) {
        return (start, start, start);
    }
    let (mut below, mut above) = (0, array.dtype().itemsize());
    for (&n, &stride) in view.shape.iter().zip(&view.strides) {
        let reach = (n - 1).unsigned_abs() * stride.unsigned_abs();
        *if stride < 0 { &mut below } else { &mut above } += reach;
    }
    (start, start - below, start + above)
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
