//! How does the interpreter touch memory? The only unsafe code of the interpreter: reads and writes
//! of single scalars at addresses that bounds checks have passed.
//!
//! Addresses are plain integers, as in array descriptors; the memory behind them belongs to the
//! caller of [`super::run_kernel`] (who promised that it is valid) or to [`LocalMemory`].

use crate::ir::eval;
use crate::types::Scalar;

/// Reads the slot of a scalar: its constant bits.
///
/// # Safety
/// `address..address + scalar.size()` is readable and no one else writes it.
#[inline]
pub(super) unsafe fn read(address: u64, scalar: Scalar) -> u64 {
    let at = std::ptr::with_exposed_provenance::<u8>(address as usize);
    // SAFETY: the caller's promise; alignment is not needed.
    let bits = unsafe {
        match scalar.size() {
            1 => u64::from(at.read()),
            2 => u64::from(at.cast::<u16>().read_unaligned()),
            4 => u64::from(at.cast::<u32>().read_unaligned()),
            _ => at.cast::<u64>().read_unaligned(),
        }
    };
    eval::from_memory(scalar, bits).bits
}

/// Writes the low bytes of a slot.
///
/// # Safety
/// `address..address + scalar.size()` is writable and no one else uses it.
#[inline]
pub(super) unsafe fn write(address: u64, scalar: Scalar, bits: u64) {
    let at = std::ptr::with_exposed_provenance_mut::<u8>(address as usize);
    // SAFETY: the caller's promise; alignment is not needed.
    unsafe {
        match scalar.size() {
            1 => at.write(bits as u8),
            2 => at.cast::<u16>().write_unaligned(bits as u16),
            4 => at.cast::<u32>().write_unaligned(bits as u32),
            _ => at.cast::<u64>().write_unaligned(bits),
        }
    }
}

/// The memory of all local arrays of one thread. It is only touched through its address.
pub(super) struct LocalMemory {
    words: Vec<u64>,
    address: u64,
}

impl LocalMemory {
    pub(super) fn new(bytes: usize) -> LocalMemory {
        let mut words = vec![0u64; bytes.div_ceil(8)];
        let address = words.as_mut_ptr().expose_provenance() as u64;
        LocalMemory { words, address }
    }

    pub(super) fn address(&self) -> u64 {
        self.address
    }

    /// Zeroes `bytes` bytes from `address` on, as far as they lie in this memory.
    pub(super) fn clear(&mut self, address: u64, bytes: u64) {
        let end = self.address + 8 * self.words.len() as u64;
        if address >= self.address && address.saturating_add(bytes) <= end {
            let at = std::ptr::with_exposed_provenance_mut::<u8>(address as usize);
            // SAFETY: the range was just checked to lie inside `words`.
            unsafe { at.write_bytes(0, bytes as usize) }
        }
    }
}
