//! Which bytes of global memory did a launch touch? A bit for each byte that was read, and one for
//! each that was written.

use super::store::Store;

/// Bytes that a launch read and wrote.
#[derive(Debug)]
pub struct Footprint {
    base: u64,
    /// Read, written: 64 bytes in an element.
    bits: [Store<u64>; 2],
}

impl Footprint {
    /// Nothing yet, of so many bytes from an address on, a multiple of 64.
    pub fn new(base: u64, bytes: usize) -> Footprint {
        let none = || Store::zeroed(bytes.div_ceil(64) + 1);
        Footprint { base, bits: [none(), none()] }
    }

    /// Notes an access: so many bytes, which lie in one element.
    #[inline(always)]
    pub fn add(&mut self, at: usize, bytes: u32, writes: bool) {
        let bits = u64::MAX >> (64 - bytes.min(64)) << (at % 64);
        if let Some(word) = self.bits[usize::from(writes)].get_mut(at / 64) {
            *word |= bits;
        }
    }

    /// Notes accesses side by side.
    #[inline(always)]
    pub fn add_row(&mut self, at: usize, bytes: usize, writes: bool) {
        let (mut at, end) = (at, at + bytes);
        while at < end {
            let part = (64 - at % 64).min(end - at);
            self.add(at, part as u32, writes);
            at += part;
        }
    }

    /// The bits of `bytes` bytes at an address that is a multiple of 64: what was read, what was
    /// written. None: nothing of them.
    pub fn of(&self, start: u64, bytes: u64) -> Option<[Vec<u64>; 2]> {
        let from = (start - self.base) as usize / 64;
        let count = (bytes as usize).div_ceil(64);
        let part = |n: usize| self.bits[n].get(from..from + count).unwrap_or_default().to_vec();
        let parts = [part(0), part(1)];
        parts.iter().flatten().any(|word| *word != 0).then_some(parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accesses_leave_their_bytes() {
        let mut made = Footprint::new(256, 512);
        made.add(64 + 8, 4, false);
        made.add(64 + 60, 4, true);
        made.add(128, 16, true);
        made.add_row(192 + 32, 128, true);
        assert_eq!(made.of(256, 64), None);
        assert_eq!(made.of(256 + 64, 100), Some([vec![0xf00, 0], vec![0xf << 60, 0xffff]]));
        assert_eq!(made.of(256 + 192, 192), Some([vec![0; 3], vec![u64::MAX << 32, u64::MAX, u64::MAX >> 32]]));
    }
}
