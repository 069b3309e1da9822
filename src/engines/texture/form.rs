//! Which forms of textures are there? How many texels along each axis, of what numbers,
//! and how they are sampled.

use super::super::error::TextureError;
use super::super::layout::{MAX_LEVELS, TextureHeader};

/// How the numbers of a texel are stored. The discriminants are Warp's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Numbers {
    U8 = 0,
    U16 = 1,
    F32 = 2,
    I8 = 3,
    I16 = 4,
    F16 = 5,
    U32 = 6,
    I32 = 7,
}

impl Numbers {
    pub const ALL: [Numbers; 8] =
        [Numbers::U8, Numbers::U16, Numbers::F32, Numbers::I8, Numbers::I16, Numbers::F16, Numbers::U32, Numbers::I32];

    pub fn name(self) -> &'static str {
        match self {
            Numbers::U8 => "uint8",
            Numbers::U16 => "uint16",
            Numbers::F32 => "float32",
            Numbers::I8 => "int8",
            Numbers::I16 => "int16",
            Numbers::F16 => "float16",
            Numbers::U32 => "uint32",
            Numbers::I32 => "int32",
        }
    }

    pub fn size(self) -> usize {
        match self {
            Numbers::U8 | Numbers::I8 => 1,
            Numbers::U16 | Numbers::I16 | Numbers::F16 => 2,
            Numbers::F32 | Numbers::U32 | Numbers::I32 => 4,
        }
    }

    /// Numbers that are not mixed, as they are no parts of a whole.
    pub fn counts(self) -> bool {
        matches!(self, Numbers::U32 | Numbers::I32)
    }
}

/// What is between texels, or between levels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Filter {
    Closest = 0,
    Linear = 1,
}

/// What is beside a texture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Address {
    Wrap = 0,
    Clamp = 1,
    Mirror = 2,
    Border = 3,
}

impl Filter {
    pub fn of_number(number: i64) -> Result<Filter, TextureError> {
        let found = [Filter::Closest, Filter::Linear].into_iter().find(|filter| *filter as i64 == number);
        found.ok_or(TextureError::Filter { number })
    }
}

impl Address {
    pub fn of_number(number: i64) -> Result<Address, TextureError> {
        let all = [Address::Wrap, Address::Clamp, Address::Mirror, Address::Border];
        all.into_iter().find(|address| *address as i64 == number).ok_or(TextureError::Address { number })
    }
}

/// All about a texture except for the texels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Form {
    /// 1, 2 or 3.
    pub dims: usize,
    /// Width, height, depth; 1 beyond `dims`.
    pub extents: [i64; 3],
    /// 1, 2 or 4.
    pub channels: i64,
    pub numbers: Numbers,
    pub filter: Filter,
    /// Between levels.
    pub level_filter: Filter,
    /// Along each axis.
    pub address: [Address; 3],
    /// Coordinates go from 0 to 1.
    pub normalized: bool,
    /// How many levels of detail; 0: all that there are.
    pub levels: i64,
}

const AXES: [&str; 3] = ["width", "height", "depth"];

/// Set in the metadata of kernels: the descriptor has [`TextureHeader::grad`].
pub const HAS_GRADIENTS: u32 = 1 << 31;

impl Form {
    /// Mixtures of texels, the nearest one beside; `extents` is width, height and depth.
    pub fn new(extents: &[i64], channels: i64, numbers: Numbers) -> Form {
        let filter = if numbers.counts() { Filter::Closest } else { Filter::Linear };
        Form {
            dims: extents.len().min(3),
            extents: std::array::from_fn(|axis| extents.get(axis).copied().unwrap_or(1)),
            channels,
            numbers,
            filter,
            level_filter: filter,
            address: [Address::Clamp; 3],
            normalized: true,
            levels: 1,
        }
    }

    /// The sizes of all levels, of a form that there can be.
    pub fn check(mut self) -> Result<Vec<[i64; 3]>, TextureError> {
        for (axis, &extent) in AXES.iter().zip(&self.extents) {
            if extent < 1 || extent > i64::from(i32::MAX) {
                return Err(TextureError::Extent { axis, extent });
            }
        }
        if ![1, 2, 4].contains(&self.channels) {
            return Err(TextureError::Channels { channels: self.channels });
        }
        if self.numbers.counts() && self.filter == Filter::Linear {
            return Err(TextureError::Mixture { numbers: self.numbers.name() });
        }
        let most = i64::from(self.extents.iter().max().map_or(1, |&extent| extent.max(1)).ilog2()) + 1;
        if self.levels < 0 || self.levels > most || self.levels.max(1) > MAX_LEVELS as i64 {
            return Err(TextureError::Levels { levels: self.levels, most: most.min(MAX_LEVELS as i64) });
        }
        self = self.resolved();
        if self.levels > MAX_LEVELS as i64 {
            return Err(TextureError::Levels { levels: self.levels, most: MAX_LEVELS as i64 });
        }
        if self.levels > 1 && self.numbers.counts() && self.level_filter == Filter::Linear {
            return Err(TextureError::Mixture { numbers: self.numbers.name() });
        }
        let bytes =
            self.extents.iter().fold(self.numbers.size() as u128 * self.channels as u128, |product, &extent| {
                product.saturating_mul(extent as u128)
            });
        if bytes > isize::MAX as u128 / 4 {
            return Err(TextureError::TooLarge { bytes });
        }
        Ok((0..self.levels).map(|level| self.size_at(level as usize)).collect())
    }

    /// With the number of levels that 0 asks for: all.
    pub fn resolved(mut self) -> Form {
        if self.levels == 0 {
            self.levels = i64::from(self.extents.iter().max().map_or(1, |&extent| extent.max(1)).ilog2()) + 1;
        }
        self
    }

    /// Whether a texture of an array reads it where it is.
    pub fn is_read_in_place(&self) -> bool {
        self.numbers == Numbers::F32 && self.resolved().levels == 1
    }

    pub(super) fn size(&self) -> [i64; 3] {
        self.extents
    }

    /// The texels along each axis of a level.
    fn size_at(&self, level: usize) -> [i64; 3] {
        self.extents.map(|extent| (extent >> level).max(1))
    }

    /// The bytes of a level; None: too many.
    pub(super) fn bytes_of(&self, size: [i64; 3]) -> Option<usize> {
        let texel = self.numbers.size().checked_mul(usize::try_from(self.channels).ok()?)?;
        size.iter().try_fold(texel, |bytes, &extent| bytes.checked_mul(usize::try_from(extent).ok()?))
    }

    /// What kernels are told beside the handle and the extents.
    pub fn metadata(&self) -> u32 {
        let form = self.resolved();
        let [u, v, w] = form.address.map(|address| address as u32);
        form.channels as u32
            | (form.numbers as u32) << 3
            | (form.filter as u32) << 6
            | (form.level_filter as u32) << 7
            | (form.levels as u32) << 8
            | u32::from(form.normalized) << 13
            | u << 14
            | v << 16
            | w << 18
            | HAS_GRADIENTS
    }

    /// The argument of a kernel: as many bytes as its struct has.
    pub fn argument(&self, handle: u64) -> Vec<u8> {
        let mut bytes = handle.to_le_bytes().to_vec();
        for &extent in &self.extents[..self.dims] {
            bytes.extend((extent as i32).to_le_bytes());
        }
        bytes.extend(self.metadata().to_le_bytes());
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes
    }

    /// What the kernel language calls it.
    pub fn class(&self) -> String {
        format!("Texture{}D", self.dims)
    }

    /// A descriptor without addresses, of a form that is right.
    pub(super) fn header(&self) -> TextureHeader {
        let form = self.resolved();
        let mut header = TextureHeader {
            width: form.extents[0] as i32,
            height: if form.dims > 1 { form.extents[1] as i32 } else { 0 },
            depth: if form.dims > 2 { form.extents[2] as i32 } else { 0 },
            channels: form.channels as i32,
            numbers: form.numbers as i32,
            filter: form.filter as i32,
            level_filter: form.level_filter as i32,
            num_levels: form.levels as i32,
            address: form.address.map(|address| address as i32),
            normalized: u32::from(form.normalized),
            ..TextureHeader::default()
        };
        let mut offset = 0;
        for level in 0..form.levels as usize {
            let size = form.size_at(level);
            [header.widths[level], header.heights[level], header.depths[level]] = size.map(|extent| extent as i32);
            header.offsets[level] = offset;
            offset += form.bytes_of(size).unwrap_or(0) as u64;
        }
        header
    }
}
