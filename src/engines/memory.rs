//! Whose memory is it, and how does it become a slice? The only unsafe code of the engines: arrays
//! of a caller by their descriptors, and the bytes of plain structs.

use crate::abi::ArrayDescriptor;

use super::error::EngineError;
use super::layout::{BvhHeader, HashGridHeader, MeshHeader, NO_ARRAY, NodeHalf, SolidAngle, TextureHeader};

/// Types whose bytes are all initialised, and for which all bytes are valid.
///
/// # Safety
///
/// The type has no padding, no pointer, and no bit pattern that is no value.
pub unsafe trait Plain: Copy + Send + Sync + 'static {}

macro_rules! plain {
    ($($type:ty),+) => {
        // SAFETY: numbers, or `repr(C)` structs of numbers whose padding is written out as fields;
        // `layout` asserts that the offsets leave no gap.
        $(unsafe impl Plain for $type {})+
    };
}

plain!(u8, Block, i32, u32, u64, f32, f64, half::f16);
plain!(NodeHalf, BvhHeader, MeshHeader, SolidAngle, HashGridHeader, TextureHeader);

// SAFETY: an array of values without padding has none between them.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}

/// Bytes that start where buffers of volumes and textures may.
#[repr(C, align(32))]
#[derive(Clone, Copy, Debug, Default)]
pub struct Block(pub [u8; 32]);

/// The bytes of a value.
pub fn bytes_of<T: Plain>(value: &T) -> &[u8] {
    bytes_of_slice(std::slice::from_ref(value))
}

/// The bytes of values.
pub fn bytes_of_slice<T: Plain>(values: &[T]) -> &[u8] {
    // SAFETY: the bytes of the slice, all initialised as `T` is `Plain`; u8 has no alignment.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

/// The bytes of values, to be written.
pub fn bytes_of_slice_mut<T: Plain>(values: &mut [T]) -> &mut [u8] {
    // SAFETY: as `bytes_of_slice`; any bytes written make valid values, as `T` is `Plain`.
    unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), size_of_val(values)) }
}

impl MeshHeader {
    /// Where the points and the velocities of a mesh are: start and bytes.
    ///
    /// # Safety
    ///
    /// `id` is the id of a mesh.
    pub unsafe fn numbers_at(id: u64) -> [(u64, u64); 2] {
        let at: *const MeshHeader = std::ptr::with_exposed_provenance(id as usize);
        // SAFETY: the caller's promise.
        let header = unsafe { at.read_unaligned() };
        [header.points, header.velocities].map(|array| (array.data, 12 * u64::from(array.shape[0].unsigned_abs())))
    }
}

/// The address of the first element; 0 of an empty slice.
pub fn address_of<T>(values: &[T]) -> u64 {
    if values.is_empty() { 0 } else { values.as_ptr().expose_provenance() as u64 }
}

/// The address of a value.
pub fn address_of_value<T>(value: &T) -> u64 {
    std::ptr::from_ref(value).expose_provenance() as u64
}

/// An array that an engine reads: its own, or one of the caller.
#[derive(Debug)]
pub struct Source<T> {
    memory: Memory<T>,
    descriptor: ArrayDescriptor,
}

#[derive(Debug)]
enum Memory<T> {
    Owned(Vec<T>),
    /// The memory that the descriptor names, as elements.
    External(usize),
}

impl<T: Plain> Source<T> {
    /// An array of the engine. `what` names it in an error, which says that it is too long.
    pub fn owned(values: Vec<T>, what: &'static str) -> Result<Source<T>, EngineError> {
        let count = values.len();
        let extent =
            i32::try_from(count).map_err(|_| EngineError::TooMany { what, count, limit: i32::MAX as usize })?;
        let mut descriptor = NO_ARRAY;
        descriptor.data = address_of(&values);
        descriptor.shape[0] = extent;
        descriptor.strides[0] = size_of::<T>() as i32;
        Ok(Source { memory: Memory::Owned(values), descriptor })
    }

    /// An array of the caller: one dimension, elements without gaps. `what` names it in errors.
    ///
    /// # Safety
    ///
    /// As long as the source lives, `array.data` is the address of `array.shape[0]` initialised
    /// elements; none is written while an engine is built, refitted or asked for its pieces.
    pub unsafe fn external(array: &ArrayDescriptor, what: &'static str) -> Result<Source<T>, EngineError> {
        let count =
            usize::try_from(array.shape[0]).map_err(|_| EngineError::NegativeShape { what, extent: array.shape[0] })?;
        let gaps = count > 1 && i64::from(array.strides[0]) != size_of::<T>() as i64;
        if array.ndim != 1 || gaps {
            return Err(EngineError::NotContiguous { what });
        }
        if array.data == 0 && count > 0 {
            return Err(EngineError::Null { what, count });
        }
        if !array.data.is_multiple_of(align_of::<T>() as u64) {
            return Err(EngineError::Unaligned { what, address: array.data, align: align_of::<T>() });
        }
        Ok(Source { memory: Memory::External(count), descriptor: *array })
    }

    /// Where the elements are, and how many bytes they take.
    pub fn range(&self) -> (u64, u64) {
        (self.address(), (self.len() * size_of::<T>()) as u64)
    }

    /// The same array once more; of its own elements a copy.
    ///
    /// # Safety
    ///
    /// As [`Source::external`], for as long as both live.
    pub unsafe fn again(&self) -> Source<T> {
        let (memory, data) = match &self.memory {
            Memory::Owned(values) => {
                let values = values.clone();
                let data = address_of(&values);
                (Memory::Owned(values), data)
            }
            Memory::External(count) => (Memory::External(*count), self.descriptor.data),
        };
        Source { memory, descriptor: ArrayDescriptor { data, ..self.descriptor } }
    }

    /// Says where the gradients of the elements are; 0: there are none. False: they were there.
    ///
    /// # Safety
    ///
    /// As long as the source lives, or until another address is set, as many gradients as elements
    /// are at the address.
    pub unsafe fn set_gradient(&mut self, address: u64) -> bool {
        std::mem::replace(&mut self.descriptor.grad, address) != address
    }

    pub fn len(&self) -> usize {
        match &self.memory {
            Memory::Owned(values) => values.len(),
            Memory::External(count) => *count,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn as_slice(&self) -> &[T] {
        match &self.memory {
            Memory::Owned(values) => values,
            Memory::External(0) => &[],
            // SAFETY: `external` was told that the address is that of so many elements, which live
            // as long as the source and are not written meanwhile; it tested null and alignment.
            Memory::External(count) => unsafe {
                std::slice::from_raw_parts(std::ptr::with_exposed_provenance(self.descriptor.data as usize), *count)
            },
        }
    }

    /// The elements, if the engine owns them.
    pub fn owned_mut(&mut self) -> Option<&mut [T]> {
        match &mut self.memory {
            Memory::Owned(values) => Some(values),
            Memory::External(_) => None,
        }
    }

    /// What kernels see of the array.
    pub fn descriptor(&self) -> ArrayDescriptor {
        self.descriptor
    }

    pub fn address(&self) -> u64 {
        if self.is_empty() { 0 } else { self.descriptor.data }
    }

    pub fn bytes(&self) -> &[u8] {
        bytes_of_slice(self.as_slice())
    }

    /// The gradients of the elements, if there are any.
    pub fn gradient_bytes(&self) -> Option<&[u8]> {
        let address = self.descriptor.grad as usize;
        // SAFETY: a gradient has the array's shape and strides, by the descriptor's contract.
        (address != 0 && !self.is_empty()).then(|| unsafe {
            std::slice::from_raw_parts(std::ptr::with_exposed_provenance(address), size_of::<T>() * self.len())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn describe<T>(values: &[T], stride: i32) -> ArrayDescriptor {
        let (shape, strides) = ([values.len() as i32, 0, 0, 0], [stride, 0, 0, 0]);
        ArrayDescriptor { data: address_of(values), grad: 0, shape, strides, ndim: 1, flags: 0 }
    }

    fn external<T: Plain>(array: &ArrayDescriptor) -> Result<Source<T>, EngineError> {
        // SAFETY: the descriptors of these tests are right, or refused.
        unsafe { Source::external(array, "points") }
    }

    #[test]
    fn external_arrays_are_read_in_place() {
        let values = [[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]];
        let source: Source<[f32; 3]> = external(&describe(&values, 12)).unwrap();
        assert_eq!(source.as_slice(), values);
        assert_eq!(source.address(), values.as_ptr() as u64);
        assert_eq!(source.bytes().len(), 24);
    }

    #[test]
    fn wrong_descriptors_are_refused() {
        let values = [1i32, 2, 3];
        let right = describe(&values, 4);
        let error = |array: ArrayDescriptor| external::<i32>(&array).unwrap_err().to_string();
        assert_eq!(error(describe(&values, 8)), "the points must be a one-dimensional array without gaps");
        assert_eq!(
            error(ArrayDescriptor { ndim: 2, ..right }),
            "the points must be a one-dimensional array without gaps"
        );
        assert_eq!(error(ArrayDescriptor { data: 0, ..right }), "the 3 points are at address 0");
        assert_eq!(error(ArrayDescriptor { shape: [-1; 4], ..right }), "the array of points has -1 elements");
        let odd = ArrayDescriptor { data: right.data + 1, ..right };
        assert!(error(odd).ends_with("which is no multiple of 4"));
    }

    #[test]
    fn empty_arrays_need_no_memory() {
        let source: Source<i32> = external(&NO_ARRAY).unwrap();
        assert!(source.is_empty() && source.as_slice().is_empty() && source.address() == 0);
    }
}
