//! How do workers add to one array without atomics? All but the first add to a copy of their own, which starts at zero; at
//! the end the copies are added to the array, in the order of the workers.

use std::ffi::c_void;

use super::pool;
use crate::abi::ArrayDescriptor;
use crate::codegen::privatization::{ArrayArgument, Role};
use crate::run::args::elements::for_each_element;
use crate::run::args::memory;
use crate::run::args::memory::Buffer;
use crate::types::{ARRAY_DESCRIPTOR_SIZE, Scalar};

/// An array and its copies.
struct Array {
    like: ArrayArgument,
    /// Of the array itself.
    given: ArrayDescriptor,
    /// One per further worker.
    copies: Vec<Buffer>,
}

/// What the workers of a launch get besides the arguments.
pub struct Copies {
    arrays: Vec<Array>,
    /// The argument structs of all workers but the first.
    blocks: Vec<Buffer>,
}

impl Copies {
    /// Makes copies for `workers`; None if they would cost more than they save (`threads` in the launch), the arrays are of
    /// no common form, or one that is updated shares memory with another.
    ///
    /// # Safety
    /// `args` points to an argument struct of `size` bytes in which these arrays stand.
    pub unsafe fn new(
        arguments: &[ArrayArgument],
        args: *const c_void,
        size: usize,
        workers: usize,
        threads: u64,
    ) -> Option<Copies> {
        // SAFETY: the caller promises so many bytes.
        let given = unsafe { std::slice::from_raw_parts(args.cast::<u8>(), size) };
        let mut arrays = Vec::new();
        let mut bytes = 0u64;
        let mut ranges: Vec<(Role, u64, u64)> = Vec::new();
        for like in arguments {
            let Some(descriptor) = find(given, like) else { continue };
            let end = descriptor.data.checked_add(span(&descriptor, like)?)?;
            let overlap = |&(role, from, to): &(Role, u64, u64)| {
                let updated = role != Role::Other || like.role != Role::Other;
                updated && from < end && descriptor.data < to
            };
            if ranges.iter().any(overlap) {
                return None;
            }
            ranges.push((like.role, descriptor.data, end));
            if like.role != Role::Sum {
                continue;
            }
            bytes = bytes.checked_add(end - descriptor.data)?;
            arrays.push(Array { like: *like, given: descriptor, copies: Vec::new() });
        }
        let further = workers.saturating_sub(1);
        let all = bytes.checked_mul(further as u64)?;
        if bytes > threads.saturating_mul(16) || !memory::allows(all, 4) {
            return None;
        }
        let mut blocks = Vec::new();
        for _ in 0..further {
            let mut block = Buffer::zeroed(size as u64, "the argument struct").ok()?;
            block.bytes_mut().copy_from_slice(given);
            for array in &mut arrays {
                let copy = Buffer::zeroed(span(&array.given, &array.like)?, "a worker's copy").ok()?;
                let own = ArrayDescriptor { data: copy.address(), grad: 0, ..array.given };
                let at = array.like.offset as usize;
                write(block.bytes_mut().get_mut(at..at + ARRAY_DESCRIPTOR_SIZE as usize)?, &own);
                array.copies.push(copy);
            }
            blocks.push(block);
        }
        Some(Copies { arrays, blocks })
    }

    /// The arguments of a worker; None for the first, which takes those of the launch.
    pub fn args(&self, worker: usize) -> Option<*const c_void> {
        let block = self.blocks.get(worker.checked_sub(1)?)?;
        Some(std::ptr::with_exposed_provenance(block.address() as usize))
    }

    /// Adds the copies to the arrays, on so many workers.
    ///
    /// # Safety
    /// The arrays that the arguments described are still there, and nobody else uses them.
    pub unsafe fn merge(self, workers: usize) {
        for array in &self.arrays {
            for copy in &array.copies {
                // SAFETY: the caller's promise; the copy has the shape of the array.
                unsafe {
                    match array.like.scalar.unwrap_or(Scalar::U8) {
                        Scalar::F32 => add::<f32>(array, copy, workers, |a, b| a + b),
                        Scalar::F64 => add::<f64>(array, copy, workers, |a, b| a + b),
                        s if s.size() == 1 => add::<u8>(array, copy, workers, u8::wrapping_add),
                        s if s.size() == 2 => add::<u16>(array, copy, workers, u16::wrapping_add),
                        s if s.size() == 4 => add::<u32>(array, copy, workers, u32::wrapping_add),
                        _ => add::<u64>(array, copy, workers, u64::wrapping_add),
                    }
                }
            }
        }
    }
}

/// The descriptor of the array, or of the gradient that stands for it; None if there is neither.
fn find(args: &[u8], like: &ArrayArgument) -> Option<ArrayDescriptor> {
    let own = read(args, like.offset)?;
    if own.data != 0 {
        return Some(own);
    }
    let array = read(args, like.gradient_of?)?;
    (array.grad != 0).then_some(ArrayDescriptor { data: array.grad, grad: 0, ..array })
}

fn read(args: &[u8], offset: u32) -> Option<ArrayDescriptor> {
    let bytes = args.get(offset as usize..offset as usize + ARRAY_DESCRIPTOR_SIZE as usize)?;
    // SAFETY: so many bytes are there, and any bits are a descriptor.
    Some(unsafe { bytes.as_ptr().cast::<ArrayDescriptor>().read_unaligned() })
}

fn write(to: &mut [u8], descriptor: &ArrayDescriptor) {
    // SAFETY: the descriptor is plain data of this size.
    let bytes =
        unsafe { std::slice::from_raw_parts((&raw const *descriptor).cast::<u8>(), ARRAY_DESCRIPTOR_SIZE as usize) };
    to.copy_from_slice(bytes);
}

fn shape(descriptor: &ArrayDescriptor, like: &ArrayArgument) -> Vec<u32> {
    descriptor.shape.iter().take(like.ndim.into()).map(|&n| n.max(0) as u32).collect()
}

/// The bytes from the first element to the end of the last; None where strides run backwards, or leave large gaps in an array
/// that is to be copied.
fn span(descriptor: &ArrayDescriptor, like: &ArrayArgument) -> Option<u64> {
    let (mut last, mut elements) = (0u64, 1u64);
    for (&n, &stride) in shape(descriptor, like).iter().zip(&descriptor.strides) {
        let stride = u64::try_from(stride).ok()?;
        last = last.checked_add(u64::from(n.saturating_sub(1)).checked_mul(stride)?)?;
        elements = elements.checked_mul(n.into())?;
    }
    let bytes = last + u64::from(like.element);
    let compact = bytes <= elements.max(1).checked_mul(2 * u64::from(like.element))?;
    (compact || like.role != Role::Sum).then_some(bytes)
}

/// Adds a copy to its array, scalar by scalar. Zeros are left out: they change nothing, not even the sign of a zero.
///
/// # Safety
/// As for [`Copies::merge`]; `T` is the scalar of the elements.
unsafe fn add<T: Copy + Default + PartialEq + Send + Sync>(
    array: &Array,
    copy: &Buffer,
    workers: usize,
    sum: impl Fn(T, T) -> T + Sync,
) {
    /// Scalars that one task adds.
    const PIECE: usize = 1 << 16;
    let size = size_of::<T>();
    let shape = shape(&array.given, &array.like);
    let strides: Vec<i64> = array.given.strides.iter().take(shape.len()).map(|&s| s.into()).collect();
    let dense =
        crate::run::args::elements::dense_strides(&shape, array.like.element).is_some_and(|dense| dense == strides);
    let target = array.given.data as usize;
    let source = copy.address() as usize;
    let zero = T::default();
    let one = |at: usize| {
        // SAFETY: inside the array and its copy.
        unsafe {
            let to = std::ptr::with_exposed_provenance_mut::<T>(target + at);
            let more = std::ptr::with_exposed_provenance::<T>(source + at).read_unaligned();
            if more != zero {
                to.write_unaligned(sum(to.read_unaligned(), more));
            }
        }
    };
    if dense {
        let scalars = shape.iter().map(|&n| n as usize).product::<usize>() * array.like.element as usize / size;
        let piece = |piece: u64| {
            let start = piece as usize * PIECE;
            (start..scalars.min(start + PIECE)).for_each(|n| one(n * size));
        };
        pool::for_each(workers, scalars.div_ceil(PIECE) as u64, &piece);
        return;
    }
    for_each_element(&shape, &strides, |at| {
        (0..array.like.element as usize / size).for_each(|n| one(at as usize + n * size));
    });
}
