//! The binary interface of compiled kernels: one truth for PTX, host code, CUDA text, header,
//! metadata and `kc run`.
//!
//! - A kernel `K` is `K_cuda_kernel_forward(launch, args...)` on the device, each argument by
//!   value, and `K_cpu_kernel_forward(launch*, args*, begin, end, status*)` on the host, where
//!   `args*` points to a C struct with the kernel's parameters in order and the threads
//!   `begin..end` (linear index) are run.
//! - Its gradient is `K_cuda_kernel_backward(launch, args..., adjoints..., tape...)` and
//!   `K_cpu_kernel_backward` in the same way: for each argument one adjoint of the same type, then
//!   the tape buffers. Where there is a `K_..._augmented` (`launch, args..., tape...`), it runs in
//!   place of the forward entry, and what it logs goes to the backward entry.
//! - Adjoints of numbers are passed by value, so nothing can come back in them. On request the
//!   first buffer after the adjoints is one for their gradients, an array of float64
//!   ([`float_arguments`]).
//! - An array is passed as the 56-byte descriptor that Warp 1.19 uses (`warp/native/array.h`), so
//!   arrays owned by Warp, PyTorch or plain C can be handed over.
//! - Structs, and the struct of host arguments, have C layout ([`crate::types::Layout`]); `bool` is
//!   one byte.

use std::ffi::c_void;
use std::mem::offset_of;

use crate::types::{Layout, MAX_DIMS, Scalar, StructTable, Type};

/// The launch: extents of up to four dimensions (unused ones are 1) and their product. Threads are
/// numbered in row-major order. A device kernel of rank N is launched with extents 1 beyond N; a
/// host launch may have more dimensions than the kernel's rank, and the trailing ones then repeat
/// each thread.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LaunchBounds {
    pub shape: [u32; MAX_DIMS],
    pub size: u64,
}

impl LaunchBounds {
    /// None when an extent does not fit in 31 bits, or the number of threads in 63.
    pub fn new(dims: &[u32]) -> Option<LaunchBounds> {
        let mut shape = [1; MAX_DIMS];
        shape.get_mut(..dims.len())?.copy_from_slice(dims);
        let size = shape.iter().try_fold(1u64, |n, &d| n.checked_mul(u64::from(d)))?;
        (size <= i64::MAX as u64 && dims.iter().all(|&d| d <= i32::MAX as u32)).then_some(LaunchBounds { shape, size })
    }
}

/// Array argument, by value.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ArrayDescriptor {
    pub data: u64,
    /// Gradient array of the same shape and strides; 0 without one.
    pub grad: u64,
    pub shape: [i32; MAX_DIMS],
    /// In bytes.
    pub strides: [i32; MAX_DIMS],
    pub ndim: i32,
    pub flags: i32,
}

/// In [`ArrayDescriptor::flags`]: stores keep the array's gradient.
pub const ARRAY_FLAGS_RETAIN: i32 = 1;

/// Counts up when the bytes change that an id of a mesh, a tree, a grid or a texture points to:
/// headers for C refuse those of another number.
pub const ENGINE_LAYOUT: u32 = 1;

const _: () = assert!(size_of::<ArrayDescriptor>() == crate::types::ARRAY_DESCRIPTOR_SIZE as usize);

/// Byte offsets inside [`ArrayDescriptor`].
pub mod descriptor {
    pub const DATA: u32 = 0;
    pub const GRAD: u32 = 8;
    pub const SHAPE: u32 = 16;
    pub const STRIDES: u32 = 32;
    pub const NDIM: u32 = 48;
    pub const FLAGS: u32 = 52;

    /// A field of `size` bytes of the descriptor at `at` in a struct of arguments; 0 past its end.
    pub fn number(args: &[u8], at: usize, field: u32, size: usize) -> u64 {
        let start = at + field as usize;
        let mut bytes = [0; 8];
        bytes[..size].copy_from_slice(args.get(start..start + size).unwrap_or(&[0; 8][..size]));
        u64::from_le_bytes(bytes)
    }
}

/// Which of a kernel's entries a function is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// What the user wrote.
    Forward,
    /// The same, and it records what the backward entry can't find in memory any more.
    Augmented,
    /// Takes the arguments, then the adjoint of each, then the tape buffers.
    Backward,
}

impl Phase {
    pub const ALL: [Phase; 3] = [Phase::Forward, Phase::Augmented, Phase::Backward];

    /// The word at the end of entry names.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Forward => "forward",
            Phase::Augmented => "augmented",
            Phase::Backward => "backward",
        }
    }
}

/// The name of a kernel's device entry; `kernel` is its name in the source.
pub fn device_entry(kernel: &str, phase: Phase) -> String {
    format!("{kernel}_cuda_kernel_{}", phase.name())
}

/// The name of a kernel's host entry; `kernel` is its name in the source.
pub fn host_entry(kernel: &str, phase: Phase) -> String {
    format!("{kernel}_cpu_kernel_{}", phase.name())
}

/// The name of the host entry beside the one of this name that updates memory by plain reads and
/// writes.
pub fn alone_entry(entry: &str) -> String {
    format!("{entry}_alone")
}

/// Byte offset of each host argument in the argument struct, and the struct's layout.
pub fn argument_layout(params: &[Type], structs: &StructTable) -> (Vec<u32>, Layout) {
    let mut end = Layout { size: 0, align: 1 };
    let offsets = params
        .iter()
        .map(|&ty| {
            let layout = Layout::of(ty, structs);
            let start = end.size.next_multiple_of(layout.align);
            end = Layout { size: start + layout.size, align: end.align.max(layout.align) };
            start
        })
        .collect();
    (offsets, Layout { size: end.size.max(1).next_multiple_of(end.align), ..end })
}

/// A number, vector or matrix of floats that a kernel is given by value: a parameter, or a field of
/// one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FloatArgument {
    pub param: usize,
    /// The fields that lead to it from the parameter, and their names: `.p.k`.
    pub fields: Vec<u32>,
    pub suffix: String,
    pub ty: Type,
    /// Bytes from the start of the argument struct.
    pub offset: u32,
    /// The gradient of its first scalar in the array of such gradients; the others follow.
    pub slot: u32,
}

impl FloatArgument {
    /// Its scalars, of which each has a slot.
    pub fn scalars(&self) -> u32 {
        self.ty.scalar_count().unwrap_or(0)
    }
}

/// The floats that a kernel with these parameters is given by value, in order. Their gradients are
/// sums over all threads, and stand in one array of float64 whatever their types: a float16 could
/// not count to 3000.
pub fn float_arguments(params: &[Type], structs: &StructTable) -> Vec<FloatArgument> {
    fn visit(at: &mut FloatArgument, structs: &StructTable, found: &mut Vec<FloatArgument>) {
        if let Type::Struct(id) = at.ty {
            for (k, field) in structs[id].fields.iter().enumerate() {
                let mut inner = FloatArgument {
                    suffix: format!("{}.{}", at.suffix, field.name),
                    ty: field.ty,
                    offset: at.offset + Layout::step_offset(at.ty, k as u32, structs),
                    ..at.clone()
                };
                inner.fields.push(k as u32);
                visit(&mut inner, structs, found);
                at.slot = inner.slot;
            }
        } else if at.ty.scalar_part().is_some_and(Scalar::is_float) {
            found.push(at.clone());
            at.slot += at.scalars();
        }
    }
    let (offsets, _) = argument_layout(params, structs);
    let (mut found, mut slot) = (Vec::new(), 0);
    for (param, (&ty, offset)) in params.iter().zip(offsets).enumerate() {
        let mut at = FloatArgument { param, fields: Vec::new(), suffix: String::new(), ty, offset, slot };
        visit(&mut at, structs, &mut found);
        slot = at.slot;
    }
    found
}

/// Signature of a host entry. `status` may be null: then nothing is recorded and prints go to
/// standard output.
pub type HostEntry = unsafe extern "C" fn(
    launch: *const LaunchBounds,
    args: *const c_void,
    begin: u64,
    end: u64,
    status: *mut HostStatus,
);

/// What a host run reports back. The first failing thread fills the fields from `kind` on; `kind`
/// is claimed by an atomic compare-and-swap from 0, so several workers can share one status.
#[repr(C)]
#[derive(Debug)]
pub struct HostStatus {
    /// 0: no error; 1: index out of bounds; 2: failed assert.
    pub kind: u32,
    /// Which access or assert: a number of `codegen::sites`.
    pub site: u32,
    /// Out of bounds: the dimension, the index as written, the extent.
    pub dim: u32,
    pub extent: i32,
    pub index: i64,
    /// Linear index of the thread.
    pub thread: u64,
    /// Receives printed bytes; null: standard output.
    pub print: Option<unsafe extern "C" fn(user: *mut c_void, text: *const u8, len: u64)>,
    pub user: *mut c_void,
    /// 0: none; else the number of the site, counted from 1, of the first gradient that is
    /// near-degenerate ([`crate::ir::Check::Degenerate`]), and its thread. Claimed as `kind` is.
    pub note: u32,
    /// 0: none; else the number of a site, counted from 1, of a [`crate::ir::Check::Visit`] that
    /// held. Any of them.
    pub visited: u32,
    pub note_thread: u64,
}

/// What code of a device with tests records in the module that it is loaded in
/// ([`DEVICE_STATUS`]), as [`HostStatus`] does up to `index`. All of it is zero before.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DeviceStatus {
    pub kind: u32,
    pub site: u32,
    pub dim: u32,
    pub extent: i32,
    pub index: i64,
    /// The coordinates of the thread.
    pub thread: [u32; MAX_DIMS],
    /// As there, with its thread.
    pub note: u32,
    pub note_thread: [u32; MAX_DIMS],
    unused: u32,
    /// The address of a copy of this record in memory of the host; 0: there is none. Threads write
    /// both, `kind` and `note` last.
    pub copy: u64,
}

/// The name of that record.
pub const DEVICE_STATUS: &str = "kc_status";

/// What threads of a device print, in memory that the host reads: a ring of words. A print takes a
/// word for what it is, and one for the bits of each number that it shows. `head` and `tail` count
/// all words that were ever written and read.
#[repr(C)]
pub struct PrintRing {
    pub head: u64,
    pub tail: u64,
    /// Prints that found no room.
    pub lost: u64,
    unused: u64,
    /// Zero, where nothing is written. The first word of a print, which is written last, has the
    /// number of its words in its low half, and 1 + its number in the high one.
    pub words: [u64; PRINT_WORDS as usize],
}

/// A power of two.
pub const PRINT_WORDS: u64 = 1 << 17;

/// The name of what a module knows of it: the address of the ring, and the number of its own first
/// print, 8 bytes each.
pub const DEVICE_PRINTS: &str = "kc_prints";

const _: () = {
    assert!(offset_of!(DeviceStatus, kind) == offset_of!(HostStatus, kind));
    assert!(offset_of!(DeviceStatus, site) == offset_of!(HostStatus, site));
    assert!(offset_of!(DeviceStatus, dim) == offset_of!(HostStatus, dim));
    assert!(offset_of!(DeviceStatus, extent) == offset_of!(HostStatus, extent));
    assert!(offset_of!(DeviceStatus, index) == offset_of!(HostStatus, index));
    assert!(offset_of!(DeviceStatus, thread) == offset_of!(HostStatus, thread));
};

impl HostStatus {
    pub const OK: u32 = 0;
    pub const OUT_OF_BOUNDS: u32 = 1;
    pub const ASSERT: u32 = 2;
}
