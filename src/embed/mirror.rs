//! Where are the logs, counters and sums of a gradient run on a GPU? Each memory of the host that
//! an entry takes besides its arrays has one on the GPU in its place; what the host reads
//! afterwards is copied back.

use std::ffi::c_void;
use std::sync::Arc;

use crate::abi::{argument_layout, descriptor};
use crate::ir::{FuncId, Module, TapeRole};
use crate::run::Result;
use crate::run::args::Arguments;
use crate::run::devices::Card;
use crate::run::gradients::gradient::Kept;
use crate::types::Type;

/// Memory of the host, and what represents it.
struct Piece {
    host: u64,
    bytes: usize,
    device: u64,
    role: TapeRole,
}

/// The pieces of one run. They go back once the stream has done what uses them.
pub struct Mirror {
    card: Arc<Card>,
    stream: u64,
    pieces: Vec<Piece>,
}

impl Mirror {
    pub fn new(ordinal: i32, stream: u64) -> Result<Mirror> {
        Ok(Mirror { card: Card::open(ordinal)?, stream, pieces: Vec::new() })
    }

    pub fn stream(&self) -> u64 {
        self.stream
    }

    /// The struct of arguments of an entry with memory of the GPU in the place of `more`.
    ///
    /// # Safety
    /// `block` is that struct; `more` has address and bytes of the memory for each tape of the
    /// entry, in their order.
    pub unsafe fn block(
        &mut self,
        module: &Module,
        entry: FuncId,
        block: *const c_void,
        more: &[(u64, u64)],
    ) -> Result<Vec<u64>> {
        let function = &module.functions[entry];
        let types: Vec<Type> = function.params().iter().map(|&param| function.ty(param)).collect();
        let (offsets, layout) = argument_layout(&types, &module.structs);
        let mut words = vec![0u64; (layout.size as usize).div_ceil(8)];
        // SAFETY: the struct has so many bytes.
        unsafe { std::ptr::copy_nonoverlapping(block.cast::<u8>(), words.as_mut_ptr().cast(), layout.size as usize) };
        for (tape, &(host, bytes)) in function.tape.iter().zip(more) {
            if bytes == 0 {
                continue;
            }
            let known = self.pieces.iter().find(|piece| piece.host == host).map(|piece| piece.device);
            let device = match known {
                Some(device) => device,
                None => self.piece(host, bytes as usize, tape.role)?,
            };
            // Descriptors are aligned to words.
            words[((offsets[tape.param as usize] + descriptor::DATA) / 8) as usize] = device;
        }
        Ok(words)
    }

    /// Copies what the arrays of a launch hold on the GPU: address and bytes of each.
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn keep(&self, memory: &[(u64, u64)]) -> Result<Copies> {
        let mut copies = Copies { card: self.card.clone(), stream: self.stream, parts: Vec::new() };
        for &(at, bytes) in memory.iter().filter(|(_, bytes)| *bytes > 0) {
            let copy = self.card.allocate(bytes as usize, self.stream, true)?;
            copies.parts.push((at, copy, bytes as usize));
            // SAFETY: memory of this GPU, of so many bytes each.
            unsafe { self.card.copy(copy, (&self.card, at), bytes as usize, self.stream) }?;
        }
        Ok(copies)
    }

    fn piece(&mut self, host: u64, bytes: usize, role: TapeRole) -> Result<u64> {
        let device = self.card.allocate(bytes, self.stream, true)?;
        self.pieces.push(Piece { host, bytes, device, role });
        // SAFETY: memory of so many bytes, of this run.
        unsafe { self.card.clear(device, bytes, self.stream) }?;
        Ok(device)
    }

    /// Copies back what the host reads, and keeps nothing but logs, which the next entry takes.
    ///
    /// # Safety
    /// The memory of the host that the last run got is there, and nobody else uses it.
    pub unsafe fn fetch(&mut self) -> Result<()> {
        for piece in &self.pieces {
            if matches!(piece.role, TapeRole::Needed | TapeRole::Parameters) {
                let to: *mut u8 = std::ptr::with_exposed_provenance_mut(piece.host as usize);
                // SAFETY: the caller's promise.
                unsafe { self.card.download(to, piece.device, piece.bytes, self.stream) }?;
            }
        }
        let (card, stream) = (&self.card, self.stream);
        self.pieces.retain(|piece| {
            let kept = piece.role == TapeRole::Log;
            if !kept {
                // SAFETY: the launch that uses it is on the stream already.
                unsafe { card.release(piece.device, stream, true) };
            }
            kept
        });
        Ok(())
    }
}

/// What arrays in the memory of a GPU held: their addresses, those of the copies, and bytes.
pub struct Copies {
    card: Arc<Card>,
    stream: u64,
    parts: Vec<(u64, u64, usize)>,
}

impl Kept for Copies {
    fn restore(&self, _: &mut Arguments) -> Result<()> {
        self.parts.iter().try_for_each(|&(at, copy, bytes)| {
            // SAFETY: as in [`Mirror::keep`].
            unsafe { self.card.copy(at, (&self.card, copy), bytes, self.stream) }
        })
    }

    fn restore_gradient(&self, arguments: &mut Arguments, array: usize) -> Result<()> {
        let Some((at, _)) = arguments.gradient_memory(array) else { return Ok(()) };
        self.parts.iter().filter(|part| part.0 == at).try_for_each(|&(at, copy, bytes)| {
            // SAFETY: as above.
            unsafe { self.card.copy(at, (&self.card, copy), bytes, self.stream) }
        })
    }
}

impl Drop for Copies {
    fn drop(&mut self) {
        for &(_, copy, _) in &self.parts {
            // SAFETY: the copies that use it are on the stream already.
            unsafe { self.card.release(copy, self.stream, true) };
        }
    }
}

impl Drop for Mirror {
    fn drop(&mut self) {
        for piece in &self.pieces {
            // SAFETY: the launches that use it are on the stream already.
            unsafe { self.card.release(piece.device, self.stream, true) };
        }
    }
}
