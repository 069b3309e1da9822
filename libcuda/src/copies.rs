//! What do copies and fills do to memory? Each side is checked before a byte moves: whether it is
//! there, and all of it.

use std::ffi::{c_int, c_uint};

use kc::sim::heap::Kind;

use crate::driver::{Driver, default_stream};
use crate::order::Work;
use crate::pointers::In;
use crate::status::{Result, Status};
use crate::streams::Operation;

/// Where one side of a copy lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    Device,
    /// The address says it.
    Either,
}

/// One side of a copy: rows, and planes of rows.
#[derive(Clone, Copy, Debug)]
pub struct Side {
    pub place: Place,
    pub address: u64,
    /// Bytes from a row to the next, and from a plane to the next.
    pub pitch: u64,
    pub plane: u64,
}

impl Side {
    pub fn plain(place: Place, address: u64) -> Side {
        Side { place, address, pitch: 0, plane: 0 }
    }
}

/// Bytes from one place to another.
#[derive(Clone, Copy, Debug)]
pub struct Copy {
    pub to: Side,
    pub from: Side,
    pub width: u64,
    pub height: u64,
    pub depth: u64,
}

/// Elements of 1, 2 or 4 bytes with one value, in rows.
#[derive(Clone, Copy, Debug)]
pub struct Fill {
    pub to: u64,
    pub pitch: u64,
    pub size: u64,
    pub value: u32,
    pub width: u64,
    pub height: u64,
}

impl Driver {
    /// Whether bytes of a device, or of the host where it may be, can be used.
    fn look(&mut self, side: Side, address: u64, bytes: u64, writes: bool, work: &Work) -> Result {
        let ours = side.place == Place::Device || self.heap.reaches(address);
        if !ours {
            return match address {
                0 => Err(Status::InvalidValue.because("memory of the host at a null pointer")),
                _ => Ok(()),
            };
        }
        match self.heap.find(address, bytes) {
            Ok(block) => {
                let (start, offset) = (block.start, address - block.start);
                if let Some(found) = self.order.touched(work, start, offset, bytes, writes) {
                    self.not_ordered(work, &found);
                }
                Ok(())
            }
            Err(fault) => {
                self.bad_access(address, bytes, writes, &fault);
                Err(Status::InvalidValue.into())
            }
        }
    }

    /// Whether a side of a copy is memory of the client's own.
    pub fn is_of_client(&self, copy: &Copy) -> bool {
        [copy.to, copy.from].iter().any(|side| side.place == Place::Either && !self.heap.reaches(side.address))
    }

    pub fn copy(&mut self, copy: &Copy, work: &Work) -> Result {
        let &Copy { to, from, width, height, depth } = copy;
        if width == 0 || height == 0 || depth == 0 {
            return Ok(());
        }
        for side in [to, from] {
            if height > 1 && side.pitch < width || depth > 1 && side.plane < side.pitch.saturating_mul(height) {
                let pitch = side.pitch;
                let why = format!(
                    "rows of {width} bytes lie in each other with a pitch of {pitch}, or planes of {height} rows do"
                );
                return Err(Status::InvalidValue.because(why));
            }
        }
        self.mirrors_in();
        for plane in 0..depth {
            for row in 0..height {
                let at = |side: Side| {
                    let offset = plane.wrapping_mul(side.plane).wrapping_add(row.wrapping_mul(side.pitch));
                    side.address.wrapping_add(offset)
                };
                let (target, source) = (at(to), at(from));
                self.look(from, source, width, false, work)?;
                self.look(to, target, width, true, work)?;
                let (start, end): (*const u8, *mut u8) = (
                    std::ptr::with_exposed_provenance(source as usize),
                    std::ptr::with_exposed_provenance_mut(target as usize),
                );
                // SAFETY: each side is a block of the heap, which was just checked, or the
                // client's memory, which it answers for.
                unsafe { std::ptr::copy(start, end, width as usize) };
                match (self.heap.reaches(source), self.heap.reaches(target)) {
                    (true, true) => self.heap.copy_marks(source, target, width),
                    (false, true) => self.heap.mark(target, width, true),
                    _ => {}
                }
            }
        }
        self.mirrors_out();
        Ok(())
    }

    pub fn fill(&mut self, fill: &Fill, work: &Work) -> Result {
        let &Fill { to, pitch, size, value, width, height } = fill;
        let bytes = width.checked_mul(size).ok_or(Status::InvalidValue)?;
        if bytes == 0 || height == 0 {
            return Ok(());
        }
        if !to.is_multiple_of(size) {
            return Err(
                Status::InvalidValue.because(format!("{to:#x} is no multiple of {size}, the bytes of an element"))
            );
        }
        if height > 1 && pitch < bytes {
            return Err(Status::InvalidValue
                .because(format!("rows of {bytes} bytes lie in each other with a pitch of {pitch}")));
        }
        let side = Side::plain(Place::Device, to);
        for row in 0..height {
            let start = to.wrapping_add(row.wrapping_mul(pitch));
            self.look(side, start, bytes, true, work)?;
            let at: *mut u8 = std::ptr::with_exposed_provenance_mut(start as usize);
            let value = value.to_le_bytes();
            for n in 0..bytes as usize {
                // SAFETY: the block was just checked.
                unsafe { at.add(n).write(value[n % size as usize]) };
            }
            self.heap.mark(start, bytes, true);
        }
        self.mirrors_out();
        Ok(())
    }

    /// What the client wrote into memory of its own that devices reach goes to where they reach it,
    /// and back.
    pub fn mirrors_in(&mut self) {
        self.mirrors(false);
    }

    pub fn mirrors_out(&mut self) {
        self.mirrors(true);
    }

    fn mirrors(&mut self, out: bool) {
        for (&start, registered) in &self.registered {
            let Some(mirror) = registered.mirror else { continue };
            let (from, to) = if out { (mirror, start) } else { (start, mirror) };
            let source: *const u8 = std::ptr::with_exposed_provenance(from as usize);
            let target: *mut u8 = std::ptr::with_exposed_provenance_mut(to as usize);
            // SAFETY: the client registered this memory and did not take it back; the mirror is a
            // block as long.
            unsafe { target.copy_from_nonoverlapping(source, registered.bytes as usize) };
        }
    }
}

pub fn plain(to: Side, from: Side, bytes: usize) -> Operation {
    Operation::Copy(Copy { to, from, width: bytes as u64, height: 1, depth: 1 })
}

/// Such a copy is done when its call ends: the host has waited for the default stream.
pub fn waited(driver: &mut Driver) -> Result {
    let device = driver.working()?;
    driver.host_waits(&driver.order.clock(default_stream(device)));
    Ok(())
}

pub fn to_device(driver: &mut Driver, to: u64, from: In<u8>, bytes: usize) -> Result {
    to_device_async(driver, to, from, bytes, 0)?;
    waited(driver)
}

pub fn to_device_async(driver: &mut Driver, to: u64, from: In<u8>, bytes: usize, stream: u64) -> Result {
    let sides = (Side::plain(Place::Device, to), Side::plain(Place::Either, from.address()));
    driver.submit(stream, plain(sides.0, sides.1, bytes))
}

pub fn to_host(driver: &mut Driver, to: u64, from: u64, bytes: usize) -> Result {
    to_host_async(driver, to, from, bytes, 0)?;
    waited(driver)
}

pub fn to_host_async(driver: &mut Driver, to: u64, from: u64, bytes: usize, stream: u64) -> Result {
    let sides = (Side::plain(Place::Either, to), Side::plain(Place::Device, from));
    driver.submit(stream, plain(sides.0, sides.1, bytes))
}

pub fn on_device(driver: &mut Driver, to: u64, from: u64, bytes: usize) -> Result {
    on_device_async(driver, to, from, bytes, 0)
}

pub fn on_device_async(driver: &mut Driver, to: u64, from: u64, bytes: usize, stream: u64) -> Result {
    driver.submit(stream, plain(Side::plain(Place::Device, to), Side::plain(Place::Device, from), bytes))
}

pub fn any(driver: &mut Driver, to: u64, from: u64, bytes: usize) -> Result {
    any_async(driver, to, from, bytes, 0)?;
    waited(driver)
}

pub fn any_async(driver: &mut Driver, to: u64, from: u64, bytes: usize, stream: u64) -> Result {
    driver.submit(stream, plain(Side::plain(Place::Either, to), Side::plain(Place::Either, from), bytes))
}

pub fn peer(driver: &mut Driver, to: u64, _: u64, from: u64, _: u64, bytes: usize) -> Result {
    on_device(driver, to, from, bytes)
}

pub fn peer_async(driver: &mut Driver, to: u64, _: u64, from: u64, _: u64, bytes: usize, stream: u64) -> Result {
    on_device_async(driver, to, from, bytes, stream)
}

/// `CUDA_MEMCPY2D`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Plane {
    from_x: usize,
    from_y: usize,
    from_kind: c_int,
    from_host: u64,
    from_device: u64,
    from_array: u64,
    from_pitch: usize,
    to_x: usize,
    to_y: usize,
    to_kind: c_int,
    to_host: u64,
    to_device: u64,
    to_array: u64,
    to_pitch: usize,
    width: usize,
    height: usize,
}

/// One side of a copy with rows: the kind of its memory (`CUmemorytype`), its addresses or its
/// array, where it begins, its pitches, and how much is copied.
fn side(
    driver: &Driver,
    kind: c_int,
    [host, device, array]: [u64; 3],
    at: [usize; 3],
    [pitch, height]: [usize; 2],
    extent: [usize; 3],
) -> Result<Side> {
    let (place, start) = match kind {
        1 => (Place::Either, host),
        2 => (Place::Device, device),
        3 => return driver.arrays.get(array)?.side(at, extent),
        4 => (Place::Either, device),
        _ => return Err(Status::InvalidValue.because(format!("{kind} is no kind of memory"))),
    };
    let [x, y, z, row] = [at[0], at[1], at[2], pitch].map(|extent| extent as u64);
    let plane = row.wrapping_mul(height as u64);
    let offset = z.wrapping_mul(plane).wrapping_add(y.wrapping_mul(row)).wrapping_add(x);
    let address = start.wrapping_add(offset);
    Ok(Side { place, address, pitch: pitch as u64, plane })
}

pub fn rows(driver: &mut Driver, plane: In<Plane>) -> Result {
    rows_async(driver, plane, 0)?;
    waited(driver)
}

pub fn rows_async(driver: &mut Driver, plane: In<Plane>, stream: u64) -> Result {
    let p = plane.get()?;
    let extent = [p.width, p.height, 1];
    let (from, to) = ([p.from_host, p.from_device, p.from_array], [p.to_host, p.to_device, p.to_array]);
    let from = side(driver, p.from_kind, from, [p.from_x, p.from_y, 0], [p.from_pitch, 0], extent)?;
    let to = side(driver, p.to_kind, to, [p.to_x, p.to_y, 0], [p.to_pitch, 0], extent)?;
    let copy = Copy { to, from, width: p.width as u64, height: p.height as u64, depth: 1 };
    driver.submit(stream, Operation::Copy(copy))
}

/// `CUDA_MEMCPY3D`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Volume {
    from: [usize; 3],
    from_lod: usize,
    from_kind: c_int,
    from_host: u64,
    from_device: u64,
    from_array: u64,
    from_reserved: u64,
    from_pitch: [usize; 2],
    to: [usize; 3],
    to_lod: usize,
    to_kind: c_int,
    to_host: u64,
    to_device: u64,
    to_array: u64,
    to_reserved: u64,
    to_pitch: [usize; 2],
    extent: [usize; 3],
}

pub fn volume(driver: &mut Driver, volume: In<Volume>) -> Result {
    volume_async(driver, volume, 0)?;
    waited(driver)
}

pub fn volume_async(driver: &mut Driver, volume: In<Volume>, stream: u64) -> Result {
    let copy = of_volume(driver, &volume.get()?)?;
    driver.submit(stream, Operation::Copy(copy))
}

/// The copy that `CUDA_MEMCPY3D` describes.
pub fn of_volume(driver: &Driver, v: &Volume) -> Result<Copy> {
    let from = [v.from_host, v.from_device, v.from_array];
    let from = side(driver, v.from_kind, from, v.from, v.from_pitch, v.extent)?;
    let to = side(driver, v.to_kind, [v.to_host, v.to_device, v.to_array], v.to, v.to_pitch, v.extent)?;
    let [width, height, depth] = v.extent.map(|extent| extent as u64);
    Ok(Copy { to, from, width, height, depth })
}

macro_rules! fills {
    ($($once:ident $queued:ident $rows:ident $rows_queued:ident $element:ty;)*) => {
        $(
            pub fn $once(driver: &mut Driver, to: u64, value: $element, count: usize) -> Result {
                $queued(driver, to, value, count, 0)
            }

            pub fn $queued(driver: &mut Driver, to: u64, value: $element, count: usize, stream: u64) -> Result {
                $rows_queued(driver, to, 0, value, count, 1, stream)
            }

            pub fn $rows(
                driver: &mut Driver,
                to: u64,
                pitch: usize,
                value: $element,
                width: usize,
                height: usize,
            ) -> Result {
                $rows_queued(driver, to, pitch, value, width, height, 0)
            }

            pub fn $rows_queued(
                driver: &mut Driver,
                to: u64,
                pitch: usize,
                value: $element,
                width: usize,
                height: usize,
                stream: u64,
            ) -> Result {
                let size = size_of::<$element>() as u64;
                let (width, height) = (width as u64, height as u64);
                let fill = Fill { to, pitch: pitch as u64, size, value: value.into(), width, height };
                driver.submit(stream, Operation::Fill(fill))
            }
        )*
    };
}

fills! {
    fill8 fill8_async fill8_rows fill8_rows_async u8;
    fill16 fill16_async fill16_rows fill16_rows_async u16;
    fill32 fill32_async fill32_rows fill32_rows_async c_uint;
}

/// Whether a block is the client's to use as the host does.
pub fn is_of_host(kind: Kind) -> bool {
    matches!(kind, Kind::Pinned | Kind::Managed | Kind::ManagedVariable)
}
