//! Fast path of `wp.launch`: packs arguments whose types match exactly, and skips the launch code
//! of Warp. Whatever has to be converted, checked or explained is left to Warp's launch.

use kc::abi::LaunchBounds;
use kc::types::{MAX_DIMS, Scalar, Type};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyList, PyTuple, PyType};
use smallvec::SmallVec;

use crate::{buffer, value, warp};

/// The short way to one kernel.
#[pyclass(frozen, module = "kc._native")]
pub struct Short {
    /// As [`warp::warp_take`] gave it.
    place: usize,
    /// The dimensions of its bounds.
    dims: usize,
    /// Of the struct of arguments.
    size: usize,
    /// Warp's class of arrays.
    array: Py<PyType>,
    wanted: Vec<Wanted>,
}

/// What the kernel takes for one parameter.
struct Wanted {
    offset: usize,
    what: What,
}

enum What {
    /// Elements of this type, in so many dimensions.
    Array {
        dtype: Py<PyAny>,
        dims: u16,
    },
    /// An object of this class, whose bytes go over: a vector, a matrix.
    Object {
        class: Py<PyType>,
        size: usize,
    },
    /// A struct of Warp.
    Struct {
        is: Py<PyAny>,
        size: usize,
    },
    Number(Scalar),
}

/// Bytes of a descriptor, and where in it the dimensions are.
const ARRAY: usize = 56;
const NDIM: usize = 48;

type Block = SmallVec<[u64; 64]>;

#[pymethods]
impl Short {
    /// `wanted`: for each parameter its offset, bytes, and what it is: `("array", dtype, ndim)`,
    /// `("object", class, 0)`, `("struct", struct, 0)` or `("number", None, 0)`.
    #[new]
    fn new(
        place: usize,
        array: Bound<'_, PyType>,
        wanted: Vec<(usize, usize, String, Bound<'_, PyAny>, u16)>,
    ) -> PyResult<Short> {
        let refuse = |what: &str| PyValueError::new_err(format!("no short way: {what}"));
        let (signature, dims) = warp::taken(place).ok_or_else(|| refuse("the kernel is Warp's"))?;
        if wanted.len() != signature.params().len() {
            return Err(refuse("another number of parameters"));
        }
        let mut found = Vec::new();
        for ((offset, size, kind, class, ndim), param) in wanted.into_iter().zip(signature.params()) {
            let what = match (kind.as_str(), param.ty) {
                ("array", Type::Array(ty)) if size == ARRAY && ty.ndim == ndim as u8 => {
                    What::Array { dtype: class.unbind(), dims: ndim }
                }
                ("object", _) => What::Object { class: class.cast_into::<PyType>()?.unbind(), size },
                ("struct", Type::Struct(_)) => What::Struct { is: class.unbind(), size },
                // What Python's numbers become by rounding twice is Warp's to say.
                ("number", Type::Scalar(scalar)) if !matches!(scalar, Scalar::F16 | Scalar::BF16) => {
                    What::Number(scalar)
                }
                _ => return Err(refuse(&param.name)),
            };
            if offset != param.offset as usize || offset + size > signature.size() {
                return Err(refuse(&param.name));
            }
            found.push(Wanted { offset, what });
        }
        Ok(Short { place, dims, size: signature.size(), array: array.unbind(), wanted: found })
    }

    /// Launches, if the arguments are what the kernel takes. False: nothing was done.
    fn launch(
        &self,
        py: Python<'_>,
        dim: &Bound<'_, PyAny>,
        inputs: &Bound<'_, PyAny>,
        outputs: &Bound<'_, PyAny>,
    ) -> PyResult<bool> {
        let Some(bounds) = self.bounds(dim) else { return Ok(false) };
        let Some(block) = self.block([inputs, outputs], false)? else { return Ok(false) };
        let block = block.as_ptr().expose_provenance();
        // SAFETY: each argument is what the kernel takes, and the caller's lists hold the arrays.
        py.detach(|| unsafe { warp::launch(self.place, &bounds, std::ptr::with_exposed_provenance(block)) });
        warp::warp_raise(py)?;
        Ok(true)
    }

    /// Runs the derivative of a launch; the last two lists have the arrays that hold gradients, or
    /// None. False: nothing was done.
    fn adjoint(
        &self,
        py: Python<'_>,
        dim: &Bound<'_, PyAny>,
        inputs: &Bound<'_, PyAny>,
        outputs: &Bound<'_, PyAny>,
        adjoint_inputs: &Bound<'_, PyAny>,
        adjoint_outputs: &Bound<'_, PyAny>,
    ) -> PyResult<bool> {
        let Some(bounds) = self.bounds(dim) else { return Ok(false) };
        let Some(block) = self.block([inputs, outputs], false)? else { return Ok(false) };
        let Some(adjoints) = self.block([adjoint_inputs, adjoint_outputs], true)? else { return Ok(false) };
        let (block, adjoints) = (block.as_ptr().expose_provenance(), adjoints.as_ptr().expose_provenance());
        // SAFETY: as above.
        let ran = py.detach(|| unsafe {
            let [block, adjoints] = [block, adjoints].map(std::ptr::with_exposed_provenance);
            warp::adjoint(self.place, &bounds, block, adjoints)
        });
        warp::warp_raise(py)?;
        Ok(ran)
    }
}

impl Short {
    /// None: not a few numbers, or no threads.
    fn bounds(&self, dim: &Bound<'_, PyAny>) -> Option<LaunchBounds> {
        let mut shape = [1u32; MAX_DIMS];
        if dim.is_exact_instance_of::<PyInt>() {
            shape[0] = dim.extract().ok()?;
        } else {
            let put = |n: usize, item: &Bound<'_, PyAny>, shape: &mut [u32; MAX_DIMS]| -> Option<()> {
                let is_number = n < self.dims && item.is_exact_instance_of::<PyInt>();
                shape[n] = is_number.then(|| item.extract().ok()).flatten()?;
                Some(())
            };
            if let Ok(tuple) = dim.cast_exact::<PyTuple>() {
                for (n, item) in tuple.iter_borrowed().enumerate() {
                    put(n, &item, &mut shape)?;
                }
            } else {
                for (n, item) in dim.cast_exact::<PyList>().ok()?.iter().enumerate() {
                    put(n, &item, &mut shape)?;
                }
            }
        }
        LaunchBounds::new(&shape[..self.dims]).filter(|bounds| bounds.size > 0)
    }

    /// The struct of arguments. None: one is not what the kernel takes. Of values there are no
    /// gradients.
    fn block(&self, lists: [&Bound<'_, PyAny>; 2], gradients: bool) -> PyResult<Option<Block>> {
        let mut block: Block = SmallVec::from_elem(0, self.size.div_ceil(8));
        let mut n = 0;
        let mut put = |value: &Bound<'_, PyAny>| -> PyResult<bool> {
            let Some(wanted) = self.wanted.get(n) else { return Ok(false) };
            n += 1;
            let none = gradients && value.is_none() && !matches!(wanted.what, What::Struct { .. });
            Ok(none || self.put(wanted, value, &mut block)?)
        };
        for list in lists {
            // An array is held by its list as long as the launch takes: what other threads do to
            // the list does not matter.
            if let Ok(list) = list.cast_exact::<PyList>() {
                for value in list.iter() {
                    if !put(&value)? {
                        return Ok(None);
                    }
                }
            } else if let Ok(tuple) = list.cast_exact::<PyTuple>() {
                for value in tuple.iter_borrowed() {
                    if !put(&value)? {
                        return Ok(None);
                    }
                }
            } else {
                return Ok(None);
            }
        }
        Ok((n == self.wanted.len()).then_some(block))
    }

    /// Puts an argument in its place. False: it is not what the kernel takes.
    fn put(&self, wanted: &Wanted, value: &Bound<'_, PyAny>, block: &mut Block) -> PyResult<bool> {
        let py = value.py();
        // SAFETY: words are bytes, all of which are there.
        let bytes = unsafe { std::slice::from_raw_parts_mut(block.as_mut_ptr().cast::<u8>(), block.len() * 8) };
        let room = &mut bytes[wanted.offset..];
        match &wanted.what {
            What::Array { .. } if value.is_none() => Ok(true),
            What::Array { dtype, dims } => {
                if !value.get_type().is(&self.array) || !value.getattr(intern!(py, "dtype"))?.is(dtype) {
                    return Ok(false);
                }
                let mut known = value.getattr(intern!(py, "ctype"))?;
                if known.is_none() {
                    known = value.call_method0(intern!(py, "__ctype__"))?;
                }
                let room = &mut room[..ARRAY];
                Ok(buffer::copy(&known, room)? && room[NDIM..NDIM + 2] == dims.to_ne_bytes())
            }
            What::Object { class, size } => Ok(value.get_type().is(class) && buffer::copy(value, &mut room[..*size])?),
            What::Struct { is, size } => {
                let Some(of) = value.getattr_opt(intern!(py, "_cls"))? else { return Ok(false) };
                Ok(of.is(is) && buffer::copy(&value.call_method0(intern!(py, "__ctype__"))?, &mut room[..*size])?)
            }
            What::Number(scalar) => {
                let plain = match scalar {
                    Scalar::Bool => value.is_exact_instance_of::<PyBool>(),
                    Scalar::F32 | Scalar::F64 => {
                        value.is_exact_instance_of::<PyFloat>() || value.is_exact_instance_of::<PyInt>()
                    }
                    _ => value.is_exact_instance_of::<PyInt>(),
                };
                if !plain {
                    return Ok(false);
                }
                // A number that is too large has another meaning for Warp.
                let Ok(Some(found)) = value::pack(Type::Scalar(*scalar), value) else { return Ok(false) };
                room[..found.len()].copy_from_slice(&found);
                Ok(true)
            }
        }
    }
}
