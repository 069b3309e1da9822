//! The simulated device: a GPU of the chosen architecture, with the figures published for
//! it.

use std::ffi::{c_char, c_int, c_uint};

use crate::driver::{Driver, VERSION};
use crate::pointers::{Out, Text};
use crate::status::{Result, Status};

pub fn version(version: Out<c_int>) -> Result {
    version.set(VERSION)
}

pub fn count(driver: &mut Driver, count: Out<c_int>) -> Result {
    count.set(driver.settings.devices as c_int)
}

pub fn get(driver: &mut Driver, device: Out<c_int>, ordinal: c_int) -> Result {
    driver.device(ordinal)?;
    device.set(ordinal)
}

pub fn name(driver: &mut Driver, name: Out<c_char>, size: c_int, device: c_int) -> Result {
    driver.device(device)?;
    let text = format!("{} (simulated by kc)", driver.settings.gpu.name);
    name.set_text(&text, usize::try_from(size).unwrap_or(0))
}

/// Bytes of memory.
pub fn total_memory(driver: &mut Driver, bytes: Out<usize>, device: c_int) -> Result {
    driver.device(device)?;
    bytes.set(driver.settings.memory as usize)
}

pub fn uuid(driver: &mut Driver, uuid: Out<[u8; 16]>, device: c_int) -> Result {
    let device = driver.device(device)?;
    let mut bytes = *b"kc simulated\0\0\0\0";
    bytes[15] = device as u8;
    uuid.set(bytes)
}

pub fn luid(driver: &mut Driver, luid: Out<[u8; 8]>, mask: Out<c_uint>, device: c_int) -> Result {
    driver.device(device)?;
    luid.set([0; 8])?;
    mask.set(1)
}

pub fn pci_bus(driver: &mut Driver, text: Out<c_char>, size: c_int, device: c_int) -> Result {
    let device = driver.device(device)?;
    text.set_text(&format!("0000:{:02x}:00.0", device + 1), usize::try_from(size).unwrap_or(0))
}

pub fn by_pci_bus(driver: &mut Driver, device: Out<c_int>, text: Text) -> Result {
    let text = text.str()?;
    let bus = text.split(':').rev().nth(1).and_then(|bus| c_int::from_str_radix(bus, 16).ok());
    let found = bus.map(|bus| bus - 1).filter(|&bus| driver.device(bus).is_ok());
    device.set(found.ok_or_else(|| Status::InvalidDevice.because(format!("there is no device at `{text}`")))?)
}

pub fn capability(driver: &mut Driver, major: Out<c_int>, minor: Out<c_int>, device: c_int) -> Result {
    driver.device(device)?;
    let (a, b) = driver.capability();
    major.set(a)?;
    minor.set(b)
}

pub fn attribute(driver: &mut Driver, value: Out<c_int>, attribute: c_int, device: c_int) -> Result {
    let device = driver.device(device)?;
    value.set(driver.attribute(attribute, device).ok_or(Status::InvalidValue)?)
}

/// The greatest number of an attribute in `CUdevice_attribute` of CUDA 13.0; 0 of those that this
/// file does not name: what they ask for is not there.
const LAST: c_int = 147;

impl Driver {
    /// `sm_90` is 9, 0.
    pub fn capability(&self) -> (c_int, c_int) {
        let number: c_int = self.settings.limits.arch.trim_start_matches("sm_").parse().unwrap_or(0);
        (number / 10, number % 10)
    }

    /// An attribute by its number (`CUdevice_attribute`).
    pub fn attribute(&self, attribute: c_int, device: usize) -> Option<c_int> {
        let (limits, gpu) = (self.settings.limits, self.settings.gpu);
        let grid = 65_535;
        Some(match attribute {
            // Threads of a block, and its extents; the extents of a grid.
            1..=3 => 1024,
            4 => 64,
            5 => c_int::MAX,
            6 | 7 => grid,
            // Shared memory of a block, constant memory, lanes of a warp, pitch, registers of a
            // block.
            8 => 48 << 10,
            9 => 64 << 10,
            10 => 32,
            11 => c_int::MAX,
            12 => limits.registers as c_int,
            13 => gpu.megahertz as c_int * 1000,
            // Alignments of textures and surfaces.
            14 => 512,
            51 => 32,
            // Copies beside kernels, multiprocessors, host memory in their range, compute mode,
            // concurrent kernels.
            15 | 19 | 31 => 1,
            16 => gpu.multiprocessors as c_int,
            33 => device as c_int + 1,
            36 => 2_619_000,
            37 => 5120,
            38 => 50 << 20,
            39 => (limits.warps * 32) as c_int,
            // Engines for copies, unified addresses.
            40 | 41 => 1,
            75 => self.capability().0,
            76 => self.capability().1,
            // Priorities of streams; caches in front of global and local memory; shared memory and
            // registers of a multiprocessor.
            78..=80 => 1,
            81 => limits.shared as c_int,
            82 => limits.registers as c_int,
            // Managed memory, atomics of the host, access of both at once, preemption, the host's
            // pointers.
            83 | 86 | 88..=91 => 1,
            // Cooperative launches; shared memory of a block that asks for it.
            95 => 1,
            97 => limits.shared_per_block as c_int,
            100 | 101 => 1,
            106 => limits.blocks as c_int,
            111 => limits.shared_reserved as c_int,
            // Pools of memory.
            115 => 1,
            // Clusters; tensor maps.
            120 | 127 => (self.capability().0 >= 9).into(),
            _ if (1..=LAST).contains(&attribute) => 0,
            _ => return None,
        })
    }
}

/// Whether work may be queued so: all devices know each other's order.
pub fn supports_affinity(driver: &mut Driver, supported: Out<c_int>, _: c_int, device: c_int) -> Result {
    driver.device(device)?;
    supported.set(0)
}

pub fn error_name(status: c_int, text: Out<*const c_char>) -> Result {
    words(status, text, |status| status.words().0.as_ptr())
}

pub fn error_string(status: c_int, text: Out<*const c_char>) -> Result {
    words(status, text, |status| status.words().1.as_ptr())
}

fn words(number: c_int, text: Out<*const c_char>, of: fn(Status) -> *const c_char) -> Result {
    match Status::of(number) {
        Some(status) => text.set(of(status)),
        None => {
            text.set(std::ptr::null())?;
            Err(Status::InvalidValue.into())
        }
    }
}
