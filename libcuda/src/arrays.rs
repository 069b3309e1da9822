//! What are arrays, textures and surfaces? An array is a block of memory whose rows lie side by
//! side; a texture or a surface is the address of its descriptor, which the simulator reads.

use std::ffi::{c_int, c_uint};

use kc::sim::heap::{Kind, Zone};
use kc::sim::texture::{Format, Image, Mode};

use crate::copies::{self, Place, Side};
use crate::driver::Driver;
use crate::pointers::{In, Out};
use crate::status::{Result, Status};

/// `CUarray`.
#[derive(Clone, Debug)]
pub struct Array {
    pub start: u64,
    /// Height and depth may be 0: there is no such dimension.
    extent: [usize; 3],
    format: Format,
    kind: c_uint,
    channels: c_uint,
    flags: c_uint,
}

impl Array {
    /// Bytes of a row, of a plane.
    pub fn pitch(&self) -> u64 {
        self.extent[0] as u64 * u64::from(self.format.bytes() * self.channels)
    }

    fn plane(&self) -> u64 {
        self.pitch() * self.extent[1].max(1) as u64
    }

    /// One side of a copy of so many bytes, rows and planes from a place on.
    pub fn side(&self, at: [usize; 3], extent: [usize; 3]) -> Result<Side> {
        let all = [self.pitch() as usize, self.extent[1].max(1), self.extent[2].max(1)];
        for n in 0..3 {
            if at[n].checked_add(extent[n]).is_none_or(|end| end > all[n]) {
                let what = ["bytes of a row", "rows", "planes"][n];
                let why = format!("{} from {} on, of an array with {} {what}", extent[n], at[n], all[n]);
                return Err(Status::InvalidValue.because(why));
            }
        }
        let [x, y, z] = at.map(|n| n as u64);
        let address = self.start + z * self.plane() + y * self.pitch() + x;
        Ok(Side { place: Place::Device, address, pitch: self.pitch(), plane: self.plane() })
    }
}

/// `CUDA_ARRAY_DESCRIPTOR`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Plane {
    width: usize,
    height: usize,
    format: c_uint,
    channels: c_uint,
}

/// `CUDA_ARRAY3D_DESCRIPTOR`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Volume {
    extent: [usize; 3],
    format: c_uint,
    channels: c_uint,
    flags: c_uint,
}

/// `CUDA_ARRAY3D_SURFACE_LDST`: the array may be a surface.
const SURFACE: c_uint = 2;
/// More elements of a dimension no GPU has.
const MOST: usize = 1 << 17;

pub fn create(driver: &mut Driver, array: Out<u64>, plane: In<Plane>) -> Result {
    let Plane { width, height, format, channels } = plane.get()?;
    made(driver, array, &Volume { extent: [width, height, 0], format, channels, flags: 0 })
}

pub fn create_3d(driver: &mut Driver, array: Out<u64>, volume: In<Volume>) -> Result {
    let volume = volume.get()?;
    made(driver, array, &volume)
}

fn format_of(number: c_uint, channels: c_uint) -> Result<Format> {
    let format = Format::of(number)
        .ok_or_else(|| Status::NotSupported.because(format!("elements of the format {number:#x} are not simulated")))?;
    match channels {
        1 | 2 | 4 => Ok(format),
        _ => Err(Status::InvalidValue.because(format!("elements have 1, 2 or 4 channels, not {channels}"))),
    }
}

fn made(driver: &mut Driver, array: Out<u64>, volume: &Volume) -> Result {
    let device = driver.working()?;
    let &Volume { extent, format: kind, channels, flags } = volume;
    let format = format_of(kind, channels)?;
    if flags & !SURFACE != 0 {
        let why = format!("arrays of layers, cube maps and sparse ones are not simulated (flags {flags:#x})");
        return Err(Status::NotSupported.because(why));
    }
    if extent[0] == 0 || extent[1] == 0 && extent[2] != 0 || extent.iter().any(|&n| n > MOST) {
        return Err(Status::InvalidValue.because(format!("an array of {extent:?} elements")));
    }
    let mut new = Array { start: 0, extent, format, kind, channels, flags };
    let bytes = new.plane().saturating_mul(extent[2].max(1) as u64);
    new.start = driver.allocate(Zone::Device(device), Kind::Device, bytes as usize)?;
    array.set(driver.arrays.add(new))
}

pub fn destroy(driver: &mut Driver, array: u64) -> Result {
    let start = driver.arrays.remove(array)?.start;
    driver.give_back(start)
}

pub fn describe(driver: &mut Driver, plane: Out<Plane>, array: u64) -> Result {
    let Array { extent, kind, channels, .. } = *driver.arrays.get(array)?;
    plane.set(Plane { width: extent[0], height: extent[1], format: kind, channels })
}

pub fn describe_3d(driver: &mut Driver, volume: Out<Volume>, array: u64) -> Result {
    let Array { extent, kind, channels, flags, .. } = *driver.arrays.get(array)?;
    volume.set(Volume { extent, format: kind, channels, flags })
}

/// Bytes of an array of one row, from one on.
fn in_row(driver: &Driver, array: u64, from: usize, bytes: usize) -> Result<Side> {
    driver.arrays.get(array)?.side([from, 0, 0], [bytes, 1, 1])
}

pub fn from_host(driver: &mut Driver, to: u64, at: usize, from: In<u8>, bytes: usize) -> Result {
    from_host_async(driver, to, at, from, bytes, 0)?;
    copies::waited(driver)
}

pub fn from_host_async(driver: &mut Driver, to: u64, at: usize, from: In<u8>, bytes: usize, stream: u64) -> Result {
    let to = in_row(driver, to, at, bytes)?;
    driver.submit(stream, copies::plain(to, Side::plain(Place::Either, from.address()), bytes))
}

pub fn to_host(driver: &mut Driver, to: u64, from: u64, at: usize, bytes: usize) -> Result {
    to_host_async(driver, to, from, at, bytes, 0)?;
    copies::waited(driver)
}

pub fn to_host_async(driver: &mut Driver, to: u64, from: u64, at: usize, bytes: usize, stream: u64) -> Result {
    let from = in_row(driver, from, at, bytes)?;
    driver.submit(stream, copies::plain(Side::plain(Place::Either, to), from, bytes))
}

pub fn from_device(driver: &mut Driver, to: u64, at: usize, from: u64, bytes: usize) -> Result {
    let to = in_row(driver, to, at, bytes)?;
    driver.submit(0, copies::plain(to, Side::plain(Place::Device, from), bytes))
}

pub fn to_device(driver: &mut Driver, to: u64, from: u64, at: usize, bytes: usize) -> Result {
    let from = in_row(driver, from, at, bytes)?;
    driver.submit(0, copies::plain(Side::plain(Place::Device, to), from, bytes))
}

pub fn between(driver: &mut Driver, to: u64, to_at: usize, from: u64, from_at: usize, bytes: usize) -> Result {
    let (to, from) = (in_row(driver, to, to_at, bytes)?, in_row(driver, from, from_at, bytes)?);
    driver.submit(0, copies::plain(to, from, bytes))
}

/// `CUDA_RESOURCE_DESC`, whose middle depends on the kind.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Resource {
    kind: c_int,
    pad: c_int,
    parts: [u64; 16],
    flags: c_uint,
}

/// `CUDA_TEXTURE_DESC`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Sampling {
    modes: [c_uint; 3],
    filter: c_uint,
    flags: c_uint,
    anisotropy: c_uint,
    mipmap_filter: c_uint,
    bias: f32,
    levels: [f32; 2],
    border: [f32; 4],
    reserved: [c_int; 12],
}

const ARRAY: c_int = 0;
const LINEAR: c_int = 2;
const ROWS: c_int = 3;

/// Flags of textures.
const AS_INTEGER: c_uint = 1;
const NORMALIZED: c_uint = 2;
const SRGB: c_uint = 0x10;

/// What a resource is as an image, whose elements are nearest and whose borders are clamped.
fn image(driver: &mut Driver, resource: &Resource) -> Result<Image> {
    let parts = &resource.parts;
    let (low, high) = (parts[1] as u32, (parts[1] >> 32) as u32);
    let (address, extent, pitch, plane, format, channels) = match resource.kind {
        ARRAY => {
            let array = driver.arrays.get(parts[0])?;
            let extent = array.extent.map(|n| n as u32);
            (array.start, extent, array.pitch(), array.plane(), array.format, array.channels)
        }
        LINEAR => {
            let format = format_of(low, high)?;
            let width = parts[2] / u64::from(format.bytes() * high);
            if width == 0 || width > 1 << 28 {
                return Err(Status::InvalidValue.because(format!("a texture of {width} elements of linear memory")));
            }
            (parts[0], [width as u32, 0, 0], parts[2], parts[2], format, high)
        }
        ROWS => {
            let (format, [width, height, pitch]) = (format_of(low, high)?, [parts[2], parts[3], parts[4]]);
            let row = width.saturating_mul(u64::from(format.bytes() * high));
            if width == 0 || height == 0 || width > MOST as u64 || height > MOST as u64 || pitch < row {
                let why = format!("a texture of {width} x {height} elements whose rows are {pitch} bytes apart");
                return Err(Status::InvalidValue.because(why));
            }
            (parts[0], [width as u32, height as u32, 0], pitch, pitch * height, format, high)
        }
        _ => return Err(Status::NotSupported.because("arrays with levels of detail (mipmaps) are not simulated")),
    };
    if resource.kind != ARRAY {
        let bytes = if resource.kind == LINEAR { pitch } else { plane - pitch };
        if let Err(fault) = driver.heap.find(address, bytes.max(1)) {
            driver.bad_access(address, bytes, false, &fault);
            return Err(Status::InvalidValue.into());
        }
    }
    Ok(Image {
        address,
        extent,
        pitch,
        plane,
        format,
        channels,
        modes: [Mode::Clamp; 3],
        linear: false,
        as_integer: false,
        normalized: false,
        border: [0.0; 4],
        is_surface: false,
    })
}

/// Puts a descriptor where kernels find it.
fn placed(driver: &mut Driver, object: Out<u64>, image: &Image, resource: Resource) -> Result {
    let device = driver.working()?;
    let bytes = image.descriptor();
    let start = driver.allocate(Zone::Device(device), Kind::Constant, bytes.len())?;
    let at: *mut u8 = std::ptr::with_exposed_provenance_mut(start as usize);
    // SAFETY: the block was just given, with so many bytes.
    unsafe { at.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    driver.heap.mark(start, bytes.len() as u64, true);
    driver.images.insert(start, resource);
    object.set(start)
}

pub fn texture_create(
    driver: &mut Driver,
    texture: Out<u64>,
    resource: In<Resource>,
    sampling: In<Sampling>,
    view: In<u8>,
) -> Result {
    let (resource, sampling) = (resource.get()?, sampling.get()?);
    if view.is_given() {
        return Err(Status::NotSupported.because("views of resources are not simulated; describe the array itself"));
    }
    if sampling.flags & SRGB != 0 {
        return Err(Status::NotSupported.because("textures of sRGB colours are not simulated"));
    }
    let mut image = image(driver, &resource)?;
    for (mode, number) in image.modes.iter_mut().zip(sampling.modes) {
        *mode = Mode::of(number).ok_or_else(|| Status::InvalidValue.because(format!("{number} is no address mode")))?;
    }
    image.linear = sampling.filter == 1;
    image.as_integer = sampling.flags & AS_INTEGER != 0;
    image.normalized = sampling.flags & NORMALIZED != 0;
    image.border = sampling.border;
    let whole = image.as_integer && !matches!(image.format, Format::F16 | Format::F32)
        || matches!(image.format, Format::U32 | Format::S32);
    image.as_integer = whole;
    if image.linear && whole {
        return Err(Status::InvalidValue.because("elements that stay integers cannot be filtered linearly"));
    }
    placed(driver, texture, &image, resource)
}

pub fn surface_create(driver: &mut Driver, surface: Out<u64>, resource: In<Resource>) -> Result {
    let resource = resource.get()?;
    if resource.kind != ARRAY || driver.arrays.get(resource.parts[0])?.flags & SURFACE == 0 {
        return Err(Status::InvalidValue.because("a surface is an array made with CUDA_ARRAY3D_SURFACE_LDST"));
    }
    let image = Image { is_surface: true, ..image(driver, &resource)? };
    placed(driver, surface, &image, resource)
}

pub fn object_destroy(driver: &mut Driver, object: u64) -> Result {
    driver.images.remove(&object).ok_or_else(|| {
        Status::InvalidValue.because(format!("{object:#x} is no texture and no surface, or was destroyed"))
    })?;
    driver.owners.remove(&object);
    let origin = driver.origin();
    // It was given with the descriptor.
    let _ = driver.heap.take(object, origin);
    Ok(())
}

pub fn resource_of(driver: &mut Driver, resource: Out<Resource>, object: u64) -> Result {
    let found = driver.images.get(&object).copied();
    resource.set(found.ok_or_else(|| Status::InvalidValue.because(format!("{object:#x} is no texture")))?)
}
