//! What is a pool of memory? A name: what is allocated from it comes from the memory of its device,
//! and goes back there.

use std::ffi::{c_int, c_uint, c_void};

use crate::driver::Driver;
use crate::pointers::{In, Out};
use crate::status::{Result, Status};
use kc::sim::heap::Zone;

#[derive(Debug)]
pub struct Pool {
    pub device: usize,
    /// The one that the device has without being asked.
    pub of_device: bool,
}

/// `CUmemLocation`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Location {
    pub kind: c_int,
    pub id: c_int,
}

/// `CUmemAccessDesc`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Access {
    location: Location,
    flags: c_int,
}

/// `CUmemPoolProps`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Properties {
    kind: c_int,
    handles: c_int,
    location: Location,
    security: *const c_void,
    most: usize,
    usage: u16,
    reserved: [u8; 54],
}

const DEVICE: c_int = 1;

pub fn of_device(driver: &mut Driver, pool: Out<u64>, device: c_int) -> Result {
    let device = driver.device(device)?;
    let found = driver.pools.iter().find(|(_, pool)| pool.of_device && pool.device == device);
    pool.set(found.map(|(handle, _)| handle).ok_or(Status::InvalidDevice)?)
}

/// The pool of a device can be named again; memory comes from its device anyway.
pub fn set_of_device(driver: &mut Driver, device: c_int, pool: u64) -> Result {
    driver.device(device)?;
    driver.pools.get(pool).map(drop)
}

pub fn create(driver: &mut Driver, pool: Out<u64>, properties: In<Properties>) -> Result {
    let properties = properties.get()?;
    if properties.handles != 0 {
        return Err(Status::NotSupported.because("memory pools cannot be shared with other processes"));
    }
    if properties.location.kind != DEVICE {
        return Err(Status::NotSupported.because("memory pools are those of devices (CU_MEM_LOCATION_TYPE_DEVICE)"));
    }
    let device = driver.device(properties.location.id)?;
    let handle = driver.pools.add(Pool { device, of_device: false });
    pool.set(handle)
}

pub fn destroy(driver: &mut Driver, pool: u64) -> Result {
    if driver.pools.get(pool)?.of_device {
        return Err(Status::InvalidValue.because("the pool of a device stays"));
    }
    driver.pools.remove(pool).map(drop)
}

pub fn set_attribute(driver: &mut Driver, pool: u64, attribute: c_int, _: In<u8>) -> Result {
    driver.pools.get(pool)?;
    if (1..=8).contains(&attribute) { Ok(()) } else { Err(Status::InvalidValue.into()) }
}

pub fn get_attribute(driver: &mut Driver, pool: u64, attribute: c_int, value: Out<u8>) -> Result {
    let device = driver.pools.get(pool)?.device;
    let used = driver.heap.room(Zone::Device(device)).0;
    match attribute {
        // Three ways to use memory again, as the manual's usual values say.
        1..=3 => value.of_type::<c_int>().set(1),
        // What is kept when nobody uses it.
        4 => value.of_type::<u64>().set(0),
        // Bytes there and in use, now and at most.
        5..=8 => value.of_type::<u64>().set(used),
        _ => Err(Status::InvalidValue.into()),
    }
}

pub fn trim(driver: &mut Driver, pool: u64, _: usize) -> Result {
    driver.pools.get(pool).map(drop)
}

/// Lets other devices use the memory of the pool's, or not.
pub fn set_access(driver: &mut Driver, pool: u64, list: In<Access>, count: usize) -> Result {
    let owner = driver.pools.get(pool)?.device;
    for n in 0..count {
        let Access { location, flags } = list.at(n)?;
        let device = driver.device(location.id)?;
        match flags {
            0 => driver.peers.remove(&(device, owner)),
            _ => driver.peers.insert((device, owner)),
        };
    }
    Ok(())
}

pub fn get_access(driver: &mut Driver, flags: Out<c_uint>, pool: u64, location: In<Location>) -> Result {
    let owner = driver.pools.get(pool)?.device;
    let device = driver.device(location.get()?.id)?;
    flags.set(if device == owner || driver.peers.contains(&(device, owner)) { 3 } else { 0 })
}
