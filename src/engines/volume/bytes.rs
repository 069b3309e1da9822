//! How are numbers in a buffer read and written? At any offset, little endian.

/// `N` bytes at `offset`; zeros behind the end.
pub fn get<const N: usize>(bytes: &[u8], offset: usize) -> [u8; N] {
    bytes.get(offset..).and_then(|rest| rest.first_chunk()).copied().unwrap_or([0; N])
}

pub fn u16_at(bytes: &[u8], offset: usize) -> u16 {
    u16::from_le_bytes(get(bytes, offset))
}

pub fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    u32::from_le_bytes(get(bytes, offset))
}

pub fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    u64::from_le_bytes(get(bytes, offset))
}

pub fn i64_at(bytes: &[u8], offset: usize) -> i64 {
    i64::from_le_bytes(get(bytes, offset))
}

/// Three numbers.
pub fn coord_at(bytes: &[u8], offset: usize) -> [i32; 3] {
    std::array::from_fn(|k| i32::from_le_bytes(get(bytes, offset + 4 * k)))
}

/// Writes bytes, for which the buffer has room.
pub fn put(bytes: &mut [u8], offset: usize, value: impl AsRef<[u8]>) {
    let value = value.as_ref();
    bytes[offset..offset + value.len()].copy_from_slice(value);
}

pub fn put_coord(bytes: &mut [u8], offset: usize, coord: [i32; 3]) {
    for (k, x) in coord.into_iter().enumerate() {
        put(bytes, offset + 4 * k, x.to_le_bytes());
    }
}

/// Sets one bit of a mask.
pub fn set_bit(bytes: &mut [u8], mask: usize, bit: usize) {
    bytes[mask + bit / 8] |= 1 << (bit % 8);
}

/// The numbers of the set bits among the first `count`.
pub fn set_bits(bytes: &[u8], mask: usize, count: usize) -> impl Iterator<Item = usize> + '_ {
    (0..count / 64).flat_map(move |word| {
        let bits = u64_at(bytes, mask + 8 * word);
        let next = |rest: &u64| Some(rest & (rest - 1)).filter(|&rest| rest != 0);
        let words = std::iter::successors(Some(bits).filter(|&bits| bits != 0), next);
        words.map(move |rest| 64 * word + rest.trailing_zeros() as usize)
    })
}
