//! Where are the gradients of a tape's arrays? For all memory that its launches use there is memory
//! of the same form, so that parts of an array have parts of its gradient.

use numpy::{PyArrayDescr, PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::arguments::as_numpy;
use crate::device;
use crate::error::Refused;
use crate::memory::{self, Place, is_same};
use crate::tape::wrong;
use crate::view::of_numpy;

/// Raises where memory has two types.
fn two_types(py: Python<'_>, one: &Py<PyArrayDescr>, other: &Py<PyArrayDescr>) -> PyResult<()> {
    if is_same(py, one, other) {
        return Ok(());
    }
    let name = |dtype: &Py<PyArrayDescr>| dtype.bind(py).str().map_or_else(|_| String::new(), |name| name.to_string());
    let (one, other) = (name(one), name(other));
    let text = format!("one memory is used as {one} and as {other}: whose gradient it has is open");
    Err(wrong(py, &text, None))
}

/// The gradients of one backward run.
pub struct Run {
    /// Apart from each other, in the order of their addresses.
    blocks: Vec<Block>,
}

/// Memory without gaps, and that of its gradient.
struct Block {
    low: usize,
    high: usize,
    /// What its elements are made of.
    dtype: Py<PyArrayDescr>,
    /// The GPU whose memory it is.
    at: Option<i32>,
    /// None: nothing was asked for yet, and all of it is zero.
    memory: Option<Memory>,
}

struct Memory {
    owner: Py<PyUntypedArray>,
    /// The address of the gradient of the byte at `low`.
    start: usize,
    /// Whether the owner has the form of one array that is all of the block.
    whole: bool,
}

impl Run {
    /// For arrays of floats at these places.
    pub fn new(py: Python<'_>, mut places: Vec<&Place>) -> PyResult<Run> {
        places.retain(|place| !place.is_empty());
        places.sort_by_key(|place| (place.low, place.high));
        let mut blocks: Vec<Block> = Vec::new();
        for place in places {
            match blocks.last_mut() {
                Some(last) if place.low < last.high => {
                    last.high = last.high.max(place.high);
                    two_types(py, &last.dtype, &place.dtype)?;
                }
                _ => {
                    let dtype = place.dtype.clone_ref(py);
                    blocks.push(Block { low: place.low, high: place.high, dtype, at: place.at, memory: None });
                }
            }
        }
        Ok(Run { blocks })
    }

    /// The gradient of an array. None: there is none.
    pub fn view<'py>(&mut self, py: Python<'py>, place: &Place) -> PyResult<Option<Bound<'py, PyUntypedArray>>> {
        if place.is_empty() {
            return memory::zeros(py, &place.shape, &place.dtype, place.at).map(Some);
        }
        match self.block(place) {
            Some(block) => block.view(py, place),
            None => Ok(None),
        }
    }

    /// The gradient of an array of which steps used parts alone, as a copy: zero elsewhere. None:
    /// they used nothing of it.
    pub fn gathered<'py>(&self, py: Python<'py>, place: &Place) -> PyResult<Option<Bound<'py, PyUntypedArray>>> {
        let blocks = &self.blocks[self.meeting(place)];
        let mut parts = blocks.iter().filter(|block| is_same(py, &block.dtype, &place.dtype)).peekable();
        if parts.peek().is_none() {
            return Ok(None);
        }
        let made = Memory::new(py, (place.low, place.high), place.at, None)?;
        for part in parts {
            let Some(memory) = &part.memory else { continue };
            let (low, high) = (part.low.max(place.low), part.high.min(place.high));
            let (from, to) = (memory.start + (low - part.low), made.start + (low - place.low));
            if place.at.is_some() {
                copy_far(py, &made, to, memory, from, high - low)?;
                continue;
            }
            let from: *const u8 = std::ptr::with_exposed_provenance(from);
            let to: *mut u8 = std::ptr::with_exposed_provenance_mut(to);
            // SAFETY: both have all bytes from `low` to `high`, and one of them is new.
            unsafe { std::ptr::copy_nonoverlapping(from, to, high - low) };
        }
        // SAFETY: the memory is that of the place.
        unsafe { memory::over(place, made.start + (place.start - place.low), made.owner.into_bound(py).into_any()) }
            .map(Some)
    }

    /// Makes one block of those that an array meets, and of the array: before anything is asked
    /// for.
    pub fn join(&mut self, py: Python<'_>, place: &Place) -> PyResult<()> {
        let met = self.meeting(place);
        let (Some(first), Some(last)) = (self.blocks[met.clone()].first(), self.blocks[met.clone()].last()) else {
            return Ok(());
        };
        let (low, high) = (first.low.min(place.low), last.high.max(place.high));
        let dtype = place.dtype.clone_ref(py);
        for block in &self.blocks[met.clone()] {
            two_types(py, &block.dtype, &dtype)?;
        }
        self.blocks.splice(met, [Block { low, high, dtype, at: place.at, memory: None }]);
        Ok(())
    }

    /// The blocks that an array meets.
    fn meeting(&self, place: &Place) -> std::ops::Range<usize> {
        let first = self.blocks.partition_point(|block| block.high <= place.low);
        let end = self.blocks.partition_point(|block| block.low < place.high);
        first..end.max(first)
    }

    fn block(&mut self, place: &Place) -> Option<&mut Block> {
        let n = self.blocks.partition_point(|block| block.low <= place.start);
        self.blocks[..n].last_mut()
    }

    /// Says how the result depends on an array: adds to its gradient.
    pub fn seed(&mut self, array: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = array.py();
        let mine = as_numpy(array)?.filter(|mine| mine.len() == 0 || has_floats(&mine.dtype()));
        let gradient = mine.map_or(Ok(None), |mine| self.view(py, &Place::of(&mine)))?;
        let Some(gradient) = gradient else {
            let text = "a gradient is given for an array of floats that no recorded launch uses";
            return Err(Refused::new("E1004", text).raise(py));
        };
        if memory::put_number(&gradient, value, true) {
            return Ok(());
        }
        static SEED: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        SEED.import(py, "kc._tape", "_seed")?.call1((gradient, value)).map(drop)
    }

    pub fn traverse(&self, visit: &pyo3::PyVisit<'_>) -> Result<(), pyo3::PyTraverseError> {
        self.blocks.iter().filter_map(|block| block.memory.as_ref()).try_for_each(|memory| visit.call(&memory.owner))
    }
}

impl Block {
    fn view<'py>(&mut self, py: Python<'py>, place: &Place) -> PyResult<Option<Bound<'py, PyUntypedArray>>> {
        if place.low < self.low || place.high > self.high || !is_same(py, &self.dtype, &place.dtype) {
            return Ok(None);
        }
        let size = self.dtype.bind(py).itemsize() as isize;
        let is_all = place.low == self.low && place.high == self.high && place.is_dense(size);
        let memory = match &mut self.memory {
            Some(memory) => memory,
            none => none.insert(Memory::new(py, (self.low, self.high), self.at, is_all.then_some(place))?),
        };
        let owner = memory.owner.bind(py);
        if is_all
            && memory.whole
            && owner.shape().iter().zip(&place.shape).all(|(&a, &b)| a as isize == b)
            && owner.ndim() == place.shape.len()
        {
            return Ok(Some(owner.clone()));
        }
        let start = memory.start + (place.start - self.low);
        // SAFETY: the memory is that of the block, in which the place is.
        unsafe { memory::over(place, start, owner.clone().into_any()) }.map(Some)
    }
}

impl Memory {
    /// Zeros; `whole` is an array that is all of the block.
    fn new(py: Python<'_>, (low, high): (usize, usize), at: Option<i32>, whole: Option<&Place>) -> PyResult<Memory> {
        if let Some(place) = whole {
            let owner = memory::zeros(py, &place.shape, &place.dtype, at)?;
            let start = of_numpy(&owner).data.expose_provenance();
            return Ok(Memory { owner: owner.unbind(), start, whole: true });
        }
        // Aligned as the arrays are.
        const ALIGN: usize = 64;
        let bytes = numpy::dtype::<u8>(py).unbind();
        let owner = memory::zeros(py, &[(high - low + ALIGN) as isize], &bytes, at)?;
        let data = of_numpy(&owner).data.expose_provenance();
        let start = data + (low.wrapping_sub(data)) % ALIGN;
        Ok(Memory { owner: owner.unbind(), start, whole: false })
    }
}

/// Copies bytes between the gradients of arrays of a GPU.
fn copy_far(py: Python<'_>, into: &Memory, to: usize, of: &Memory, from: usize, bytes: usize) -> PyResult<()> {
    let (Some(target), Some(source)) = (device::of(into.owner.bind(py)), device::of(of.owner.bind(py))) else {
        return Ok(());
    };
    let (target, source) = (target.get(), source.get());
    let stream = device::current_stream(target.card().ordinal());
    // SAFETY: both have so many bytes there.
    let copied = unsafe { target.card().copy(to as u64, (source.card(), from as u64), bytes, stream) };
    copied.map_err(|fail| device::raise(py, fail))
}

/// Whether elements are, or have, floats.
#[pyfunction]
pub fn has_floats(dtype: &Bound<'_, PyArrayDescr>) -> bool {
    if let Some(names) = dtype.names() {
        return names.iter().any(|name| dtype.get_field(name).is_ok_and(|(field, _)| has_floats(&field.base())));
    }
    match dtype.kind() {
        b'f' => true,
        // Of another package.
        b'V' => dtype.getattr("name").and_then(|name| name.extract::<String>()).is_ok_and(|name| name == "bfloat16"),
        _ => false,
    }
}
