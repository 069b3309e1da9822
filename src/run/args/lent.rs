//! Arguments whose arrays stay in their owner's memory.

use super::memory::Buffer;
use super::parameters::float_parameters;
use super::{Arguments, BoundArray, BufferOffset, Grad, put};
use crate::abi::{ARRAY_FLAGS_RETAIN, ArrayDescriptor, descriptor};
use crate::ir::Function;
use crate::run::Result;
use crate::types::{ArrayType, StructTable, Type};

/// An array that its owner lends for a run.
pub struct Lent {
    /// `x`, or `s.x` inside a struct argument.
    pub key: String,
    pub ty: ArrayType,
    /// Of its descriptor in the argument struct.
    pub offset: u32,
    /// As it is there.
    pub descriptor: ArrayDescriptor,
    /// Bytes of its memory, and of that of its gradient where it has one, from the first element
    /// on.
    pub bytes: usize,
    /// More of them before it, where strides are negative.
    pub below: usize,
}

impl Arguments {
    /// The arguments of an argument struct of `kernel`. Arrays of floats without a gradient get one
    /// of zeros.
    ///
    /// # Safety
    /// The descriptors name so many bytes of memory each, which stay as long as the arguments live,
    /// and which nobody else uses while a kernel runs on them.
    pub unsafe fn lent(
        kernel: &Function,
        block: &[u8],
        arrays: impl Iterator<Item = Lent>,
        structs: &StructTable,
    ) -> Result<Arguments> {
        let mut out = Arguments {
            block: Buffer::zeroed(block.len() as u64, "the argument struct")?,
            buffers: Vec::new(),
            arrays: Vec::new(),
            parameters: float_parameters(kernel, structs),
            engines: Vec::new(),
            end: block.len() as u32,
        };
        out.block.bytes_mut().copy_from_slice(block);
        for Lent { key, ty, offset, descriptor, bytes, below } in arrays {
            let dims = usize::from(ty.ndim);
            // An array without elements is null.
            let lend = |at: u64| match at {
                // SAFETY: the caller's promise.
                0 => unsafe { Buffer::lent(0, 0) },
                // SAFETY: the caller's promise.
                at => unsafe { Buffer::lent(at.wrapping_sub(below as u64), below + bytes) },
            };
            let place = out.keep(lend(descriptor.data), below);
            let grad = match descriptor.grad {
                0 if Type::from(ty.element).holds_floats(structs) => {
                    let zeros = Buffer::zeroed((below + bytes) as u64, &format!("the gradient of `{key}`"))?;
                    let place = out.keep(zeros, below);
                    let address = out.address(place).to_le_bytes();
                    put(out.block.bytes_mut(), offset + descriptor::GRAD, &address);
                    Some(place)
                }
                0 => None,
                at => Some(out.keep(lend(at), below)),
            };
            let grad = grad.map(|place| Grad { key: format!("{key}.grad"), place, external: false });
            let shape = descriptor.shape[..dims].iter().map(|&n| n as u32).collect();
            let strides = descriptor.strides[..dims].iter().map(|&s| s.into()).collect();
            let retain_grad = descriptor.flags & ARRAY_FLAGS_RETAIN != 0;
            out.arrays.push(BoundArray { key, ty, shape, strides, offset, place, grad, retain_grad });
        }
        Ok(out)
    }

    fn keep(&mut self, buffer: Buffer, below: usize) -> BufferOffset {
        self.buffers.push(buffer);
        BufferOffset { buffer: self.buffers.len() - 1, origin: below as u64 }
    }
}
