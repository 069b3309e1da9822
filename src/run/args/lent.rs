//! Arguments whose arrays stay in their owner's memory.

use super::memory::Buffer;
use super::parameters::float_parameters;
use super::{Arguments, BoundArray, BufferOffset, Grad, put};
use crate::abi::{ArrayDescriptor, descriptor};
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
    /// As it stands there.
    pub descriptor: ArrayDescriptor,
    /// Bytes of its memory, and of that of its gradient where it has one.
    pub bytes: usize,
}

impl Arguments {
    /// The arguments of an argument struct of `kernel`. Arrays of floats without a gradient get one of zeros.
    ///
    /// # Safety
    /// The descriptors name so many bytes of memory each, which stay as long as the arguments live, and which nobody else
    /// uses while a kernel runs on them.
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
        };
        out.block.bytes_mut().copy_from_slice(block);
        for Lent { key, ty, offset, descriptor, bytes } in arrays {
            let dims = usize::from(ty.ndim);
            // SAFETY: the caller's promise.
            let place = out.keep(unsafe { Buffer::lent(descriptor.data, bytes) });
            let grad = match descriptor.grad {
                0 if Type::from(ty.element).holds_floats(structs) => {
                    let place = out.keep(Buffer::zeroed(bytes as u64, &format!("the gradient of `{key}`"))?);
                    let address = out.address(place).to_le_bytes();
                    put(out.block.bytes_mut(), offset + descriptor::GRAD, &address);
                    Some(place)
                }
                0 => None,
                // SAFETY: the caller's promise.
                at => Some(out.keep(unsafe { Buffer::lent(at, bytes) })),
            };
            let grad = grad.map(|place| Grad { key: format!("{key}.grad"), place, external: false });
            let shape = descriptor.shape[..dims].iter().map(|&n| n as u32).collect();
            let strides = descriptor.strides[..dims].iter().map(|&s| s.into()).collect();
            out.arrays.push(BoundArray { key, ty, shape, strides, offset, place, grad, retain_grad: false });
        }
        Ok(out)
    }

    fn keep(&mut self, buffer: Buffer) -> BufferOffset {
        self.buffers.push(buffer);
        BufferOffset { buffer: self.buffers.len() - 1, origin: 0 }
    }
}
