//! How do workers add to one array without atomics? In arrays in which rows of the launch are
//! [`Apart`] they keep to rows that are. Of others all but the first have a copy of their own,
//! which starts at zero; at the end the copies are added to the array, in the order of the workers.

use std::ffi::c_void;

use super::pieces::Cut;
use super::pool;
use crate::abi::{ArrayDescriptor, LaunchBounds};
use crate::codegen::privatization::{Apart, ArrayArgument, Role};
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
    /// How the launch is cut for arrays in which rows of it are apart; None: there are none.
    cut: Option<Cut>,
}

/// The memory of an argument.
struct ArgumentMemory {
    like: ArrayArgument,
    descriptor: ArrayDescriptor,
    end: u64,
}

impl Copies {
    /// Makes copies for `workers`; None if they would cost more than they save, the arrays are of
    /// no common form, or one that is updated shares memory with another. `smallest`: the fewest
    /// threads of a piece.
    ///
    /// # Safety
    /// `args` points to an argument struct of `size` bytes in which these arrays stand.
    pub unsafe fn new(
        arguments: &[ArrayArgument],
        args: *const c_void,
        size: usize,
        workers: usize,
        bounds: &LaunchBounds,
        smallest: u64,
    ) -> Option<Copies> {
        // SAFETY: the caller promises so many bytes.
        let given = unsafe { std::slice::from_raw_parts(args.cast::<u8>(), size) };
        let mut memories: Vec<ArgumentMemory> = Vec::new();
        for &like in arguments {
            let Some(descriptor) = find(given, &like) else { continue };
            let end = descriptor.data.checked_add(span(&descriptor, &like)?)?;
            let overlap = |other: &ArgumentMemory| {
                let updated = other.like.role != Role::Other || like.role != Role::Other;
                updated && other.descriptor.data < end && descriptor.data < other.end
            };
            if memories.iter().any(overlap) {
                return None;
            }
            memories.push(ArgumentMemory { like, descriptor, end });
        }
        let is_sum = |memory: &&ArgumentMemory| memory.like.role == Role::Sum;
        // SAFETY: the arrays are those of the launch.
        let apart = |memory: &ArgumentMemory| unsafe { are_apart(memory, given, &memories, bounds.shape[0]) };
        let sums = memories.iter().filter(is_sum).map(|memory| (memory, apart(memory)));
        let (apart, copied): (Vec<_>, Vec<_>) = sums.partition(|(_, apart)| apart.is_some());
        let most = |of: fn((u32, u32)) -> u32| apart.iter().filter_map(|(_, apart)| apart.map(of)).max().unwrap_or(0);
        let (gap, head) = (most(|apart| apart.0), most(|apart| apart.1));
        let pieces = if copied.is_empty() { workers as u64 * 8 } else { workers as u64 };
        let cut = if apart.is_empty() { None } else { Cut::new(bounds, pieces, smallest, gap, head) };
        let mut arrays: Vec<Array> = Vec::new();
        let mut bytes = 0u64;
        let alike = if cut.is_some() { &[][..] } else { &apart };
        for (memory, _) in copied.iter().chain(alike) {
            bytes = bytes.checked_add(memory.end - memory.descriptor.data)?;
            arrays.push(Array { like: memory.like, given: memory.descriptor, copies: Vec::new() });
        }
        let further = if arrays.is_empty() { 0 } else { workers.saturating_sub(1) };
        let all = bytes.checked_mul(further as u64)?;
        if bytes > bounds.size.saturating_mul(16) || !memory::allows(all, 4) {
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
        Some(Copies { arrays, blocks, cut })
    }

    /// How the launch is cut, if not just in equal parts.
    pub fn cut(&self) -> Option<Cut> {
        self.cut
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

/// The descriptor of the array, or of the gradient that represents it; None if there is neither.
pub(super) fn find(args: &[u8], like: &ArrayArgument) -> Option<ArrayDescriptor> {
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

/// How far rows of the launch, of which there are so many, must lie apart to share the array, and
/// how many at the start are apart from none.
///
/// # Safety
/// The arrays are those of a launch that may begin.
unsafe fn are_apart(memory: &ArgumentMemory, given: &[u8], all: &[ArgumentMemory], rows: u32) -> Option<(u32, u32)> {
    match memory.like.apart? {
        Apart::Bands { gap, head } => Some((gap, head)),
        Apart::Ranges { bounds, first } => {
            let of = read(given, bounds).filter(|of| of.data != 0)?;
            let [extent, ..] = of.shape;
            let count = u64::from(rows) + 1;
            let inside = u64::from(first) + count <= u64::try_from(extent).ok()?;
            let (from, stride) = (of.data, u64::try_from(of.strides[0]).ok()?);
            let end = from + (extent.max(1) as u64 - 1) * stride + 4;
            // What the kernel stores must not change them.
            let stored = |other: &ArgumentMemory| other.like.stored && other.descriptor.data < end && from < other.end;
            if !inside || all.iter().any(stored) {
                return None;
            }
            let number = |n: u64| {
                let at = from + (u64::from(first) + n) * stride;
                // SAFETY: inside the array.
                unsafe { std::ptr::with_exposed_provenance::<i32>(at as usize).read_unaligned() }
            };
            let mut before = 0;
            let rise = (0..count).all(|n| {
                let number = number(n);
                std::mem::replace(&mut before, number) <= number
            });
            rise.then_some((0, 0))
        }
    }
}

fn shape(descriptor: &ArrayDescriptor, like: &ArrayArgument) -> Vec<u32> {
    descriptor.shape.iter().take(like.ndim.into()).map(|&n| n.max(0) as u32).collect()
}

/// The bytes from the first element to the end of the last; None where strides run backwards, or
/// where an array that is added to has large gaps, or elements that share memory.
pub(super) fn span(descriptor: &ArrayDescriptor, like: &ArrayArgument) -> Option<u64> {
    let (mut last, mut elements) = (0u64, 1u64);
    let mut steps: Vec<(u64, u64)> = Vec::new();
    for (&n, &stride) in shape(descriptor, like).iter().zip(&descriptor.strides) {
        let stride = u64::try_from(stride).ok()?;
        last = last.checked_add(u64::from(n.saturating_sub(1)).checked_mul(stride)?)?;
        elements = elements.checked_mul(n.into())?;
        if n > 1 {
            steps.push((stride, u64::from(n - 1) * stride));
        }
    }
    // Each step leads over all that shorter ones reach.
    steps.sort_unstable();
    let mut reached = u64::from(like.element);
    let separate = steps.iter().all(|&(step, all)| {
        let over = step >= reached;
        reached += all;
        over
    });
    let bytes = last + u64::from(like.element);
    let compact = bytes <= elements.max(1).checked_mul(2 * u64::from(like.element))?;
    (compact && separate || like.role != Role::Sum).then_some(bytes)
}

/// Adds a copy to its array, scalar by scalar. Zeros are left out: they change nothing, not even
/// the sign of a zero.
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
