//! What do textures and surfaces give? A descriptor in global memory, whose address is the handle,
//! says how the elements lie; fetches filter them as the CUDA C++ Programming Guide describes
//! ("Texture Fetching"). The layout of the descriptor is kc's own: programs get it by calls and
//! hand over its address alone.

use half::f16;

use super::cluster::Shared;
use super::code::{Border, SurfaceAccess, TextureFetch};
use super::findings::What;
use super::machine::{Machine, lanes};
use super::warp::Warp;
use crate::ptx::Space;

/// The bytes of a descriptor.
pub const BYTES: usize = 96;

const MARK: u64 = u64::from_le_bytes(*b"kc image");

/// What an element of one channel is (`CUarray_format`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    U8,
    U16,
    U32,
    S8,
    S16,
    S32,
    F16,
    F32,
}

impl Format {
    /// By its number in the driver API.
    pub fn of(number: u32) -> Option<Format> {
        Some(match number {
            1 => Format::U8,
            2 => Format::U16,
            3 => Format::U32,
            8 => Format::S8,
            9 => Format::S16,
            10 => Format::S32,
            16 => Format::F16,
            32 => Format::F32,
            _ => return None,
        })
    }

    pub fn bytes(self) -> u32 {
        match self {
            Format::U8 | Format::S8 => 1,
            Format::U16 | Format::S16 | Format::F16 => 2,
            Format::U32 | Format::S32 | Format::F32 => 4,
        }
    }

    /// Whether fetches give its integers as they are.
    fn is_whole(self) -> bool {
        matches!(self, Format::U32 | Format::S32)
    }

    /// As a float: integers of 8 and 16 bits from 0 to 1, or from -1.
    fn float(self, bits: u32) -> f32 {
        match self {
            Format::U8 => bits as f32 / 255.0,
            Format::U16 => bits as f32 / 65535.0,
            Format::S8 => (f32::from(bits as i8) / 127.0).max(-1.0),
            Format::S16 => (f32::from(bits as i16) / 32767.0).max(-1.0),
            Format::F16 => f16::from_bits(bits as u16).to_f32(),
            Format::U32 | Format::S32 | Format::F32 => f32::from_bits(bits),
        }
    }

    /// The bits of an integer in a register.
    fn integer(self, bits: u32) -> u32 {
        match self {
            Format::S8 => i32::from(bits as i8) as u32,
            Format::S16 => i32::from(bits as i16) as u32,
            _ => bits,
        }
    }
}

/// What coordinates outside mean.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    Wrap,
    Clamp,
    Mirror,
    Border,
}

impl Mode {
    pub fn of(number: u32) -> Option<Mode> {
        [Mode::Wrap, Mode::Clamp, Mode::Mirror, Mode::Border].get(number as usize).copied()
    }
}

/// A texture or a surface.
#[derive(Clone, Debug, PartialEq)]
pub struct Image {
    pub address: u64,
    /// Width, height and depth; 0 where there is no such dimension.
    pub extent: [u32; 3],
    /// Bytes from a row to the next, from a plane to the next.
    pub pitch: u64,
    pub plane: u64,
    pub format: Format,
    pub channels: u32,
    pub modes: [Mode; 3],
    pub linear: bool,
    /// Integers stay what they are.
    pub as_integer: bool,
    /// Coordinates go from 0 to 1.
    pub normalized: bool,
    pub border: [f32; 4],
    pub is_surface: bool,
}

impl Image {
    /// Its descriptor.
    pub fn descriptor(&self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        let mut at = 0;
        let mut put = |part: &[u8]| {
            bytes[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        };
        [MARK, self.address, self.pitch, self.plane].iter().for_each(|n| put(&n.to_le_bytes()));
        self.extent.iter().for_each(|n| put(&n.to_le_bytes()));
        let format = [1, 2, 3, 8, 9, 10, 16, 32u32].into_iter().find(|&n| Format::of(n) == Some(self.format));
        let flags = [self.linear, self.as_integer, self.normalized, self.is_surface];
        let flags = (0..).zip(flags).fold(0u32, |all, (n, flag)| all | u32::from(flag) << n);
        [format.unwrap_or(0), self.channels, flags].iter().for_each(|n| put(&n.to_le_bytes()));
        self.modes.iter().for_each(|&mode| put(&(mode as u32).to_le_bytes()));
        self.border.iter().for_each(|n| put(&n.to_le_bytes()));
        bytes
    }

    fn read(bytes: &[u8; BYTES]) -> Option<Image> {
        let long = |at: usize| super::memory::read(bytes, at, 8);
        let word = |at: usize| super::memory::read(bytes, at, 4) as u32;
        let flag = |n: u32| word(52) >> n & 1 == 1;
        if long(0) != MARK {
            return None;
        }
        Some(Image {
            address: long(8),
            pitch: long(16),
            plane: long(24),
            extent: [word(32), word(36), word(40)],
            format: Format::of(word(44))?,
            channels: word(48),
            linear: flag(0),
            as_integer: flag(1),
            normalized: flag(2),
            is_surface: flag(3),
            modes: [Mode::of(word(56))?, Mode::of(word(60))?, Mode::of(word(64))?],
            border: [68, 72, 76, 80].map(|at| f32::from_bits(word(at))),
        })
    }

    /// The bytes of an element with all its channels.
    pub fn element(&self) -> u64 {
        u64::from(self.format.bytes() * self.channels)
    }

    fn size(&self, dim: usize) -> i64 {
        i64::from(self.extent[dim].max(1))
    }

    /// Where an element lies; None: it is outside.
    fn place(&self, at: [i64; 3]) -> Option<u64> {
        let inside = (0..3).all(|dim| (0..self.size(dim)).contains(&at[dim]));
        let [x, y, z] = at.map(|n| n as u64);
        inside.then(|| self.address + z * self.plane + y * self.pitch + x * self.element())
    }

    /// The element that an index means in a dimension; one outside means the border.
    fn index(&self, dim: usize, n: i64) -> i64 {
        let size = self.size(dim);
        match self.modes[dim] {
            Mode::Border => n,
            Mode::Wrap if self.normalized => n.rem_euclid(size),
            Mode::Mirror if self.normalized => {
                let n = n.rem_euclid(2 * size);
                if n < size { n } else { 2 * size - 1 - n }
            }
            _ => n.clamp(0, size - 1),
        }
    }

    /// The elements at a coordinate of a dimension, and the part of the second.
    fn along(&self, dim: usize, coordinate: f32) -> ([i64; 2], f32) {
        let x = if self.normalized { coordinate * self.size(dim) as f32 } else { coordinate };
        // Not a number counts as 0.
        let x = if x.is_nan() { 0.0 } else { x };
        if !self.linear {
            let n = self.index(dim, x.floor() as i64);
            return ([n, n], 0.0);
        }
        let x = x - 0.5;
        let first = x.floor();
        // 8 bits of fraction.
        let part = ((x - first) * 256.0).round() / 256.0;
        let n = first as i64;
        ([self.index(dim, n), self.index(dim, n.saturating_add(1))], part)
    }
}

impl Machine<'_> {
    /// The image that a handle names; None: that it names none has been reported.
    fn image(
        &mut self,
        shared: &mut Shared,
        warp: &mut Warp,
        handle: u64,
        is_surface: bool,
        lane: usize,
        pc: u32,
    ) -> Option<Image> {
        let bytes = self.bytes(shared, warp, (Space::Global, handle), BYTES as u32, lane, pc)?;
        let image = bytes.first_chunk().and_then(Image::read).filter(|image| image.is_surface == is_surface);
        if image.is_none() {
            let what = if is_surface { "surface" } else { "texture" };
            self.findings.add(What::BadImage(format!("{handle:#x} is no {what}")), pc, warp.thread(lane as u32));
        }
        image
    }

    /// Fetches from textures, by each lane.
    pub fn texture(&mut self, shared: &mut Shared, warp: &mut Warp, fetch: &TextureFetch, pc: u32, active: u32) {
        for lane in lanes(active) {
            let handle = warp.regs[fetch.texture.0 as usize][lane].wrapping_add(fetch.texture.1 as u64);
            let Some(image) = self.image(shared, warp, handle, false, lane, pc) else { return };
            let coordinates: Vec<u32> =
                fetch.coordinates.iter().map(|&reg| warp.regs[reg as usize][lane] as u32).collect();
            let found = match fetch.whole {
                true => self.at_index(shared, warp, &image, &coordinates, lane, pc),
                false => self.filtered(shared, warp, &image, &coordinates, lane, pc),
            };
            for (to, value) in fetch.to.iter().zip(found) {
                if let Some(to) = to {
                    warp.regs[*to as usize][lane] = value.into();
                }
            }
        }
    }

    /// An element by its index; 0 outside.
    fn at_index(
        &mut self,
        shared: &mut Shared,
        warp: &mut Warp,
        image: &Image,
        coordinates: &[u32],
        lane: usize,
        pc: u32,
    ) -> [u32; 4] {
        let mut at = [0; 3];
        at.iter_mut().zip(coordinates).for_each(|(at, &n)| *at = i64::from(n as i32));
        let Some(place) = image.place(at) else { return [0; 4] };
        let keeps = image.as_integer || image.format.is_whole();
        self.channels(shared, warp, image, place, lane, pc).map(|bits| match keeps {
            true => image.format.integer(bits),
            false => image.format.float(bits).to_bits(),
        })
    }

    /// The nearest element, or two in each dimension by their parts.
    fn filtered(
        &mut self,
        shared: &mut Shared,
        warp: &mut Warp,
        image: &Image,
        coordinates: &[u32],
        lane: usize,
        pc: u32,
    ) -> [u32; 4] {
        let mut along = [([0, 0], 0.0); 3];
        for (dim, &bits) in coordinates.iter().enumerate() {
            along[dim] = image.along(dim, f32::from_bits(bits));
        }
        if image.as_integer || image.format.is_whole() {
            let Some(place) = image.place(along.map(|(n, _)| n[0])) else {
                return image.border.map(|value| value as i32 as u32);
            };
            return self.channels(shared, warp, image, place, lane, pc).map(|bits| image.format.integer(bits));
        }
        let mut sum = [0.0; 4];
        for corner in 0..1usize << coordinates.len() {
            let mut weight = 1.0;
            let mut at = [0; 3];
            for dim in 0..coordinates.len() {
                let (elements, part) = along[dim];
                let second = corner >> dim & 1;
                at[dim] = elements[second];
                weight *= if second == 1 { part } else { 1.0 - part };
            }
            // What has no part is not read.
            if weight == 0.0 {
                continue;
            }
            let values = match image.place(at) {
                Some(place) => self.channels(shared, warp, image, place, lane, pc).map(|bits| image.format.float(bits)),
                None => image.border,
            };
            sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += weight * value);
        }
        sum.map(f32::to_bits)
    }

    /// The channels of an element; those that it lacks are 0.
    fn channels(
        &mut self,
        shared: &mut Shared,
        warp: &mut Warp,
        image: &Image,
        place: u64,
        lane: usize,
        pc: u32,
    ) -> [u32; 4] {
        let bytes = image.format.bytes();
        let mut found = [0; 4];
        for (n, value) in found.iter_mut().enumerate().take(image.channels as usize) {
            let at = place + n as u64 * u64::from(bytes);
            *value = self.fetch(shared, warp, (Space::Global, at), bytes, lane, pc) as u32;
        }
        found
    }

    /// Reads or writes a surface, by each lane.
    pub fn surface(&mut self, shared: &mut Shared, warp: &mut Warp, access: &SurfaceAccess, pc: u32, active: u32) {
        let bytes = u64::from(access.bytes) * access.values.len() as u64;
        for lane in lanes(active) {
            let handle = warp.regs[access.surface.0 as usize][lane].wrapping_add(access.surface.1 as u64);
            let Some(image) = self.image(shared, warp, handle, true, lane, pc) else { return };
            let mut at = [0; 3];
            for (dim, &reg) in access.coordinates.iter().enumerate() {
                at[dim] = i64::from(warp.regs[reg as usize][lane] as u32 as i32);
            }
            // The first coordinate counts bytes.
            let most = |dim: usize| match dim {
                0 => image.size(0) * image.element() as i64 - bytes as i64,
                _ => image.size(dim) - 1,
            };
            let inside = (0..3).all(|dim| (0..=most(dim)).contains(&at[dim]));
            match access.border {
                Border::Clamp => (0..3).for_each(|dim| at[dim] = at[dim].clamp(0, most(dim).max(0))),
                Border::Zero if !inside => {
                    let read = access.values.iter().filter(|_| !access.writes);
                    read.for_each(|&reg| warp.regs[reg as usize][lane] = 0);
                    continue;
                }
                Border::Trap if !inside => {
                    let what = format!(
                        "{bytes} bytes from byte {} of row {} on are outside of the surface of {} x {} elements of {} bytes",
                        at[0],
                        at[1],
                        image.size(0),
                        image.size(1),
                        image.element()
                    );
                    self.findings.add(What::BadImage(what), pc, warp.thread(lane as u32));
                    return;
                }
                Border::Zero | Border::Trap => {}
            }
            let [x, y, z] = at.map(|n| n as u64);
            let place = image.address + z * image.plane + y * image.pitch + x;
            for (n, &reg) in access.values.iter().enumerate() {
                let at = (Space::Global, place + n as u64 * u64::from(access.bytes));
                if access.writes {
                    let value = warp.regs[reg as usize][lane] & (u64::MAX >> (64 - 8 * access.bytes));
                    self.leave(shared, warp, at, access.bytes, value, lane, pc);
                } else {
                    warp.regs[reg as usize][lane] = self.fetch(shared, warp, at, access.bytes, lane, pc);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image() -> Image {
        Image {
            address: 1 << 40,
            extent: [8, 4, 0],
            pitch: 32,
            plane: 128,
            format: Format::F32,
            channels: 1,
            modes: [Mode::Wrap, Mode::Mirror, Mode::Border],
            linear: true,
            as_integer: false,
            normalized: true,
            border: [0.0, 1.0, 2.0, 3.0],
            is_surface: false,
        }
    }

    #[test]
    fn descriptors_are_read_as_they_were_written() {
        assert_eq!(Image::read(&image().descriptor()), Some(image()));
        assert_eq!(Image::read(&[0; BYTES]), None);
    }

    #[test]
    fn coordinates_outside_mean_what_the_mode_says() {
        let wrapped = image();
        assert_eq!([-1, 0, 7, 8, 17].map(|n| wrapped.index(0, n)), [7, 0, 7, 0, 1]);
        assert_eq!([-1, 0, 3, 4, 7, 8].map(|n| wrapped.index(1, n)), [0, 0, 3, 3, 0, 0]);
        let clamped = Image { normalized: false, ..image() };
        assert_eq!([-5, 3, 9].map(|n| clamped.index(0, n)), [0, 3, 7]);
        assert_eq!(clamped.place([8, 0, 0]), None);
    }

    #[test]
    fn parts_have_eight_bits() {
        let linear = Image { normalized: false, ..image() };
        assert_eq!(linear.along(0, 2.5), ([2, 3], 0.0));
        assert_eq!(linear.along(0, 2.501).1, 0.0);
        assert_eq!(linear.along(0, 3.0), ([2, 3], 0.5));
        let nearest = Image { linear: false, ..image() };
        assert_eq!(nearest.along(0, 0.99), ([7, 7], 0.0));
    }
}
