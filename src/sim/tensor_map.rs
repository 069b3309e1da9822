//! What is in a tensor map: the 128 bytes that say how a tensor lies in global memory and which box
//! of it a copy takes (CUDA Driver API, `cuTensorMapEncodeTiled`; PTX ISA, "tensor-map"). The
//! layout of the bytes is kc's own: programs make and change them by calls and instructions alone.

/// The bytes of a tensor map.
pub const BYTES: usize = 128;

/// The dimensions that a tensor has at most.
pub const MOST_RANK: usize = 5;

/// No block has so much shared memory.
const MOST_BYTES: u64 = 1 << 18;

/// A field of a tensor map, of a dimension where it has one for each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Field {
    Address,
    /// One less than the rank.
    Rank,
    Box(usize),
    Dim(usize),
    /// In bytes, of the dimension after this one: the innermost one lies side by side.
    Stride(usize),
    /// Every so many-th element.
    Step(usize),
    Element,
    Interleave,
    Swizzle,
    Fill,
}

impl Field {
    /// Where it lies in the map, and its bytes.
    pub fn place(self) -> (usize, u32) {
        match self {
            Field::Address => (0, 8),
            Field::Stride(n) => (8 + 8 * n, 8),
            Field::Dim(n) => (40 + 4 * n, 4),
            Field::Box(n) => (60 + 4 * n, 4),
            Field::Step(n) => (80 + 4 * n, 4),
            Field::Rank => (100, 4),
            Field::Element => (104, 4),
            Field::Interleave => (108, 4),
            Field::Swizzle => (112, 4),
            Field::Fill => (116, 4),
        }
    }

    /// Puts a value into the bytes of a map.
    pub fn put(self, map: &mut [u8; BYTES], value: u64) {
        let (at, bytes) = self.place();
        map[at..at + bytes as usize].copy_from_slice(&value.to_le_bytes()[..bytes as usize]);
    }

    fn get(self, map: &[u8; BYTES]) -> u64 {
        let (at, bytes) = self.place();
        let mut value = [0; 8];
        value[..bytes as usize].copy_from_slice(&map[at..at + bytes as usize]);
        u64::from_le_bytes(value)
    }
}

/// The bytes of an element by its number in tensor maps (PTX ISA, "tensormap.replace").
const ELEMENT_BYTES: [u32; 13] = [1, 2, 4, 4, 8, 8, 2, 4, 4, 8, 2, 4, 4];

/// Bits of a NaN of floats, by the same number; None: integers have none.
const NANS: [Option<u64>; 13] = {
    const F32: Option<u64> = Some(0x7fff_ffff);
    [None, None, None, None, None, None, Some(0x7fff), F32, F32, Some(0x7fff_ffff_ffff_ffff), Some(0x7fff), F32, F32]
};

/// A tensor map, taken apart.
#[derive(Clone, PartialEq, Debug)]
pub struct TensorMap {
    pub address: u64,
    /// Innermost first, as all that follows.
    pub dims: Vec<u64>,
    /// In bytes; of the innermost one the size of an element.
    pub strides: Vec<u64>,
    /// Elements of the box in shared memory.
    pub extents: Vec<u32>,
    /// The distance of neighbours in the box.
    pub steps: Vec<u32>,
    pub element_bytes: u32,
    /// What elements outside of the tensor are.
    pub fill: u64,
    pub swizzle: Swizzle,
}

/// How rows of shared memory are exchanged against bank conflicts: 16-byte parts of 128-byte rows,
/// by the number of the row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Swizzle(u64);

impl Swizzle {
    pub const NONE: Swizzle = Swizzle(0);

    /// Of 32, 64 or 128 bytes.
    pub fn of(span: u64) -> Swizzle {
        Swizzle(if span < 32 { 0 } else { span / 16 - 1 })
    }

    /// Where what would lie at an address of shared memory lies.
    pub fn apply(self, address: u64) -> u64 {
        address ^ (address >> 7 & self.0) << 4
    }

    fn span(self) -> u64 {
        (self.0 + 1) * 16
    }
}

impl TensorMap {
    /// Takes a map apart. Error: what is wrong with it, or what kc does not do.
    pub fn read(map: &[u8; BYTES]) -> Result<TensorMap, String> {
        let get = |field: Field| field.get(map);
        let rank = get(Field::Rank) as usize + 1;
        if rank > MOST_RANK {
            return Err(format!("a tensor map of {rank} dimensions; there are {MOST_RANK} at most"));
        }
        let element = get(Field::Element) as usize;
        let Some(&element_bytes) = ELEMENT_BYTES.get(element) else {
            return Err(format!("a tensor map of elements of kind {element}, which kc does not know"));
        };
        if get(Field::Interleave) != 0 {
            return Err("a tensor map of interleaved elements, which kc does not know".to_string());
        }
        let swizzle = match get(Field::Swizzle) {
            n @ 0..=3 => Swizzle::of(16 << n),
            n => return Err(format!("a tensor map of swizzle mode {n}, which kc does not know")),
        };
        let all = |field: fn(usize) -> Field| (0..rank).map(move |n| get(field(n)));
        let mut steps: Vec<u32> = all(Field::Step).map(|step| step as u32).collect();
        // The innermost dimension has no step where nothing is interleaved.
        steps[0] = 1;
        let boxes: Vec<u32> = all(Field::Box).map(|extent| extent as u32).collect();
        if let Some(n) = (0..rank).find(|&n| boxes[n] == 0 || boxes[n] > 256 || steps[n] == 0 || steps[n] > 8) {
            let (extent, step) = (boxes[n], steps[n]);
            return Err(format!(
                "a tensor map whose box has {extent} elements in dimension {n}, of which it takes every {step}th: \
                 a box has 1 to 256, and steps are 1 to 8"
            ));
        }
        let extents: Vec<u32> = boxes.iter().zip(&steps).map(|(extent, step)| extent.div_ceil(*step)).collect();
        let row = u64::from(extents[0] * element_bytes);
        if !row.is_multiple_of(16) {
            return Err(format!("a tensor map whose box has rows of {row} bytes, no multiple of 16"));
        }
        if swizzle != Swizzle::NONE && row > swizzle.span() {
            let span = swizzle.span();
            return Err(format!("a tensor map whose box has rows of {row} bytes, more than the {span} of its swizzle"));
        }
        let bytes = extents.iter().fold(u64::from(element_bytes), |bytes, &extent| bytes * u64::from(extent));
        if bytes > MOST_BYTES {
            return Err(format!("a tensor map whose box has {bytes} bytes, more than shared memory can have"));
        }
        let address = get(Field::Address);
        let mut strides = vec![u64::from(element_bytes)];
        strides.extend((0..rank - 1).map(|n| get(Field::Stride(n))));
        if !address.is_multiple_of(16) || strides[1..].iter().any(|stride| !stride.is_multiple_of(16)) {
            return Err("a tensor map whose address or strides are no multiples of 16 bytes".to_string());
        }
        Ok(TensorMap {
            address,
            dims: all(Field::Dim).collect(),
            strides,
            extents,
            steps,
            element_bytes,
            fill: if get(Field::Fill) == 1 { NANS[element].unwrap_or(0) } else { 0 },
            swizzle,
        })
    }

    /// The bytes of the box in shared memory.
    pub fn bytes(&self) -> u64 {
        self.extents.iter().map(|&extent| u64::from(extent)).product::<u64>() * u64::from(self.element_bytes)
    }

    /// The rows of the box at some coordinates: offset in the box, the address of the first element
    /// in global memory (None: the row lies outside), and the coordinate of that.
    pub fn rows<'a>(&'a self, at: &'a [i32]) -> impl Iterator<Item = (u64, Option<u64>)> + 'a {
        let count: u64 = self.extents[1..].iter().map(|&extent| u64::from(extent)).product();
        let row = u64::from(self.extents[0] * self.element_bytes);
        (0..count).map(move |n| {
            let (mut rest, mut address) = (n, Some(self.address));
            for (dim, &coordinate) in at.iter().enumerate().skip(1) {
                let extent = u64::from(self.extents[dim]);
                let index = i64::from(coordinate) + (rest % extent * u64::from(self.steps[dim])) as i64;
                rest /= extent;
                let inside = u64::try_from(index).ok().filter(|&index| index < self.dims[dim]);
                address = address.zip(inside).map(|(to, index)| to.wrapping_add(index.wrapping_mul(self.strides[dim])));
            }
            (n * row, address)
        })
    }

    /// The elements of a row that lie inside of the tensor: their numbers in the box.
    pub fn inside(&self, at: &[i32]) -> std::ops::Range<u32> {
        let (first, extent) = (i64::from(at[0]), i64::from(self.extents[0]));
        let start = (-first).clamp(0, extent);
        let end = (self.dims[0] as i64 - first).clamp(start, extent);
        start as u32..end as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(box_x: u64, swizzle: u64) -> [u8; BYTES] {
        let mut map = [0; BYTES];
        let fields = [
            (Field::Address, 0x1000),
            (Field::Rank, 1),
            (Field::Dim(0), 100),
            (Field::Dim(1), 50),
            (Field::Stride(0), 208),
            (Field::Box(0), box_x),
            (Field::Box(1), 4),
            (Field::Step(0), 1),
            (Field::Step(1), 1),
            (Field::Element, 6),
            (Field::Swizzle, swizzle),
        ];
        fields.into_iter().for_each(|(field, value)| field.put(&mut map, value));
        map
    }

    #[test]
    fn boxes_at_borders_take_what_is_inside() {
        let map = TensorMap::read(&matrix(32, 0)).expect("a map");
        assert_eq!(map.bytes(), 32 * 4 * 2);
        let rows: Vec<_> = map.rows(&[96, 48]).collect();
        assert_eq!(rows[..3], [(0, Some(0x1000 + 48 * 208)), (64, Some(0x1000 + 49 * 208)), (128, None)]);
        assert_eq!(map.inside(&[96, 48]), 0..4);
        assert_eq!(map.inside(&[-5, 0]), 5..32);
        assert_eq!(map.inside(&[200, 0]), 0..0);
        assert_eq!(map.inside(&[-40, 0]), 32..32);
        assert_eq!(map.rows(&[0, -1]).next(), Some((0, None)));
    }

    #[test]
    fn every_second_row_makes_half_a_box() {
        let mut bytes = matrix(32, 0);
        Field::Step(0).put(&mut bytes, 7);
        Field::Step(1).put(&mut bytes, 2);
        let map = TensorMap::read(&bytes).expect("a map");
        assert_eq!((map.extents.clone(), map.bytes()), (vec![32, 2], 32 * 2 * 2));
        let rows: Vec<_> = map.rows(&[0, 47]).collect();
        assert_eq!(rows, [(0, Some(0x1000 + 47 * 208)), (64, Some(0x1000 + 49 * 208))]);
    }

    /// PTX ISA, "Shared memory layout and swizzling": 16-byte parts by the number of the row.
    #[test]
    fn swizzles_exchange_parts_of_rows() {
        let [of_32, of_64, of_128] = [32, 64, 128].map(Swizzle::of);
        assert_eq!([0x000, 0x010, 0x080, 0x090].map(|at| of_32.apply(at)), [0x000, 0x010, 0x090, 0x080]);
        assert_eq!([0x080, 0x100, 0x180, 0x1b0].map(|at| of_64.apply(at)), [0x090, 0x120, 0x1b0, 0x180]);
        assert_eq!([0x380, 0x3f0, 0x400].map(|at| of_128.apply(at)), [0x3f0, 0x380, 0x400]);
        assert_eq!(Swizzle::NONE.apply(0x3f0), 0x3f0);
    }

    #[test]
    fn maps_that_no_copy_can_take_are_refused() {
        for (field, value) in [
            (Field::Rank, 5),
            (Field::Element, 13),
            (Field::Interleave, 1),
            (Field::Swizzle, 7),
            (Field::Box(1), 0),
            (Field::Box(0), 257),
            (Field::Box(0), 4),
            (Field::Step(1), 9),
            (Field::Stride(0), 200),
            (Field::Address, 0x1008),
        ] {
            let mut map = matrix(32, 0);
            field.put(&mut map, value);
            assert!(TensorMap::read(&map).is_err(), "{field:?} = {value}");
        }
        assert!(TensorMap::read(&matrix(64, 2)).is_err(), "rows of 128 bytes swizzled by 64");
        let mut deep = matrix(256, 0);
        let of_third = [(Field::Rank, 2), (Field::Dim(2), 300), (Field::Stride(1), 20800), (Field::Step(2), 1)];
        of_third.into_iter().for_each(|(field, value)| field.put(&mut deep, value));
        for (third, fits) in [(32, true), (256, false)] {
            Field::Box(1).put(&mut deep, 16);
            Field::Box(2).put(&mut deep, third);
            assert_eq!(TensorMap::read(&deep).is_ok(), fits, "{third}");
        }
    }
}
