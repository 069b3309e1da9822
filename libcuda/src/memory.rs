//! Who has which memory? What is given and taken back, and what an address tells.

use std::ffi::{c_int, c_uint};

use kc::sim::heap::{Block, Full, Kind, Zone};

use crate::copies::is_of_host;
use crate::driver::{Driver, Registered};
use crate::pointers::{In, Out};
use crate::pools::Location;
use crate::status::{Fail, Result, Status};
use crate::streams::Operation;

impl Driver {
    pub fn allocate(&mut self, zone: Zone, kind: Kind, bytes: usize) -> Result<u64> {
        let context = self.current()?.0;
        if bytes == 0 {
            return Err(Status::InvalidValue.because("memory of 0 bytes"));
        }
        let origin = self.origin();
        let start =
            self.heap.give(zone, kind, bytes as u64, 1, origin).map_err(|full| self.no_memory(zone, bytes, full))?;
        self.owners.insert(start, context);
        Ok(start)
    }

    /// The same in the order of a stream: others use it after what follows there.
    fn allocate_in(&mut self, stream: u64, device: usize, bytes: usize) -> Result<u64> {
        let start = self.allocate(Zone::Device(device), Kind::Device, bytes)?;
        let (origin, counted) = (self.origin(), self.counted(stream, device));
        let work = self.order.operation(counted, origin.name.clone(), origin);
        self.uses_all(start, &work);
        Ok(start)
    }

    pub fn no_memory(&self, zone: Zone, bytes: usize, full: Full) -> Fail {
        let (used, all) = self.heap.room(zone);
        Status::OutOfMemory.because(match full {
            Full::Zone => format!("{bytes} bytes are asked for; {used} of {all} are in use (KC_SIM_MEMORY)"),
            Full::Machine => format!("this machine has no {bytes} bytes more"),
        })
    }

    /// Takes memory back that a client was given.
    pub fn give_back(&mut self, address: u64) -> Result {
        if address == 0 {
            return Ok(());
        }
        let is_variable = |block: &Block| matches!(block.kind, Kind::Variable | Kind::Constant | Kind::ManagedVariable);
        if self.heap.find(address, 1).is_ok_and(|block| block.start == address && is_variable(block)) {
            return Err(Status::InvalidValue.because(format!("{address:#x} is a variable of a module, which owns it")));
        }
        let origin = self.origin();
        match self.heap.take(address, origin) {
            Ok(block) => {
                self.owners.remove(&block.start);
                self.order.forget(block.start);
                Ok(())
            }
            Err(fault) => {
                self.bad_free(address, &fault);
                Err(Status::InvalidValue.into())
            }
        }
    }
}

pub fn allocate(driver: &mut Driver, address: Out<u64>, bytes: usize) -> Result {
    let device = driver.working()?;
    address.set(0)?;
    address.set(driver.allocate(Zone::Device(device), Kind::Device, bytes)?)
}

pub fn allocate_rows(
    driver: &mut Driver,
    address: Out<u64>,
    pitch: Out<usize>,
    width: usize,
    height: usize,
    element: c_uint,
) -> Result {
    if !matches!(element, 4 | 8 | 16) {
        return Err(Status::InvalidValue.because(format!("elements have 4, 8 or 16 bytes, not {element}")));
    }
    let row = width.checked_next_multiple_of(512).ok_or(Status::OutOfMemory)?;
    let bytes = row.checked_mul(height).ok_or(Status::OutOfMemory)?;
    pitch.set(row)?;
    allocate(driver, address, bytes)
}

pub fn allocate_async(driver: &mut Driver, address: Out<u64>, bytes: usize, stream: u64) -> Result {
    let device = driver.device_of_stream(stream)?;
    if driver.capture_of(stream).is_some() {
        return Err(Status::NotSupported
            .because("memory that a graph allocates is not simulated; allocate it before the capture"));
    }
    address.set(0)?;
    address.set(driver.allocate_in(stream, device, bytes)?)
}

pub fn allocate_from_pool(driver: &mut Driver, address: Out<u64>, bytes: usize, pool: u64, stream: u64) -> Result {
    driver.device_of_stream(stream)?;
    let device = driver.pools.get(pool)?.device;
    address.set(0)?;
    address.set(driver.allocate_in(stream, device, bytes)?)
}

pub fn allocate_managed(driver: &mut Driver, address: Out<u64>, bytes: usize, flags: c_uint) -> Result {
    driver.working()?;
    if !matches!(flags, 1 | 2) {
        return Err(Status::InvalidValue.because("managed memory is attached globally (1) or to the host (2)"));
    }
    address.set(driver.allocate(Zone::Host, Kind::Managed, bytes)?)
}

pub fn allocate_host(driver: &mut Driver, address: Out<u64>, bytes: usize) -> Result {
    driver.working()?;
    address.set(driver.allocate(Zone::Host, Kind::Pinned, bytes)?)
}

pub fn allocate_host_with(driver: &mut Driver, address: Out<u64>, bytes: usize, _: c_uint) -> Result {
    allocate_host(driver, address, bytes)
}

pub fn free(driver: &mut Driver, address: u64) -> Result {
    driver.working()?;
    driver.give_back(address)
}

pub fn free_async(driver: &mut Driver, address: u64, stream: u64) -> Result {
    driver.submit(stream, Operation::Free(address))
}

pub fn free_host(driver: &mut Driver, address: u64) -> Result {
    driver.working()?;
    driver.give_back(address)
}

pub fn host_device_pointer(driver: &mut Driver, device: Out<u64>, host: u64, flags: c_uint) -> Result {
    let working = driver.working()?;
    if flags != 0 {
        return Err(Status::InvalidValue.into());
    }
    if driver.heap.find(host, 1).is_ok_and(|block| is_of_host(block.kind)) {
        return device.set(host);
    }
    let found = driver.registered.iter().find(|(start, r)| (**start..**start + r.bytes).contains(&host));
    let Some((&start, &registered)) = found else {
        return Err(Status::InvalidValue.because(format!("{host:#x} is no memory of the host that devices reach")));
    };
    let mirror = match registered.mirror {
        Some(mirror) => mirror,
        None => {
            let origin = driver.origin();
            let made = driver.heap.give(Zone::Host, Kind::Pinned, registered.bytes, 4096, origin);
            let mirror =
                made.map_err(|full| driver.no_memory(Zone::Device(working), registered.bytes as usize, full))?;
            driver.registered.insert(start, Registered { mirror: Some(mirror), ..registered });
            driver.mirrors_in();
            mirror
        }
    };
    device.set(mirror + (host - start))
}

pub fn host_flags(driver: &mut Driver, flags: Out<c_uint>, host: u64) -> Result {
    driver.heap.find(host, 1).map_err(|_| Status::InvalidValue)?;
    // Mapped for devices.
    flags.set(2)
}

pub fn register(driver: &mut Driver, host: u64, bytes: usize, _: c_uint) -> Result {
    driver.working()?;
    if host == 0 || bytes == 0 {
        return Err(Status::InvalidValue.because("memory to register has an address and bytes"));
    }
    let end = host.checked_add(bytes as u64).ok_or(Status::InvalidValue)?;
    if driver.registered.iter().any(|(&start, r)| host < start + r.bytes && start < end) {
        return Err(Status::HostRegistered.into());
    }
    driver.registered.insert(host, Registered { bytes: bytes as u64, mirror: None });
    Ok(())
}

pub fn unregister(driver: &mut Driver, host: u64) -> Result {
    driver.working()?;
    driver.mirrors_out();
    let registered = driver.registered.remove(&host);
    let registered = registered
        .ok_or_else(|| Status::HostNotRegistered.because(format!("{host:#x} was not registered, or was taken back")))?;
    if let Some(mirror) = registered.mirror {
        let origin = driver.origin();
        // It was given when the device's pointer was asked for.
        let _ = driver.heap.take(mirror, origin);
    }
    Ok(())
}

pub fn info(driver: &mut Driver, free: Out<usize>, total: Out<usize>) -> Result {
    let device = driver.working()?;
    let (used, all) = driver.heap.room(Zone::Device(device));
    free.set_if_wanted((all - used) as usize);
    total.set_if_wanted(all as usize);
    Ok(())
}

pub fn range(driver: &mut Driver, start: Out<u64>, bytes: Out<usize>, address: u64) -> Result {
    driver.current()?;
    let block = driver.heap.find(address, 1).map_err(|_| Status::NotFound)?;
    start.set_if_wanted(block.start);
    bytes.set_if_wanted(block.bytes as usize);
    Ok(())
}

/// Where managed memory lies does not matter here.
pub fn prefetch(driver: &mut Driver, address: u64, bytes: usize, _: c_int, stream: u64) -> Result {
    driver.device_of_stream(stream)?;
    advise(driver, address, bytes, 0, 0)
}

pub fn prefetch_to(driver: &mut Driver, address: u64, bytes: usize, _: Location, _: c_uint, stream: u64) -> Result {
    prefetch(driver, address, bytes, 0, stream)
}

fn is_managed(block: &Block) -> bool {
    matches!(block.kind, Kind::Managed | Kind::ManagedVariable)
}

pub fn advise(driver: &mut Driver, address: u64, bytes: usize, _: c_int, _: c_int) -> Result {
    match driver.heap.find(address, bytes as u64) {
        Ok(block) if is_managed(block) => Ok(()),
        _ => Err(Status::InvalidValue.because(format!("{bytes} bytes at {address:#x} are no managed memory"))),
    }
}

pub fn advise_at(driver: &mut Driver, address: u64, bytes: usize, advice: c_int, _: Location) -> Result {
    advise(driver, address, bytes, advice, 0)
}

/// What an address tells (`CUpointer_attribute`). None: nothing, it is of no block.
fn pointer(driver: &Driver, value: Out<u8>, attribute: c_int, address: u64) -> Result<Option<()>> {
    let Ok(block) = driver.heap.find(address, 1) else { return Ok(None) };
    let of_host = is_of_host(block.kind);
    let device = match block.zone {
        Zone::Device(device) => device as c_int,
        Zone::Host => 0,
    };
    let context = driver.owners.get(&block.start).copied().unwrap_or(0);
    match attribute {
        1 => value.of_type::<u64>().set(context)?,
        2 => value.of_type::<c_int>().set(if block.kind == Kind::Pinned { 1 } else { 2 })?,
        3 => value.of_type::<u64>().set(address)?,
        4 if of_host => value.of_type::<u64>().set(address)?,
        6 => value.of_type::<c_int>().set(0)?,
        7 => value.of_type::<u64>().set(block.given.number)?,
        8 => value.of_type::<c_int>().set(c_int::from(is_managed(block)))?,
        9 => value.of_type::<c_int>().set(device)?,
        10 | 15 => value.of_type::<c_int>().set(0)?,
        11 => value.of_type::<u64>().set(block.start)?,
        12 => value.of_type::<usize>().set(block.bytes as usize)?,
        13 => value.of_type::<c_int>().set(1)?,
        14 | 17 => value.of_type::<u64>().set(0)?,
        // Read and written.
        16 => value.of_type::<c_int>().set(3)?,
        _ => return Ok(None),
    }
    Ok(Some(()))
}

/// Clients ask so whether an address is a device's: that it is not is no fault.
pub fn pointer_attribute(driver: &mut Driver, value: Out<u8>, attribute: c_int, address: u64) -> Result {
    if !value.is_wanted() {
        return Err(Status::InvalidValue.because("a result has nowhere to go: its pointer is null"));
    }
    pointer(driver, value, attribute, address)?.ok_or_else(|| Status::InvalidValue.into())
}

/// Of an address that is nobody's all attributes are 0, and the device is -2.
pub fn pointer_attributes(
    driver: &mut Driver,
    count: c_uint,
    attributes: In<c_int>,
    values: In<Out<u8>>,
    address: u64,
) -> Result {
    for n in 0..count as usize {
        let (attribute, value) = (attributes.at(n)?, values.at(n)?);
        if pointer(driver, value, attribute, address)?.is_some() {
            continue;
        }
        match attribute {
            1 | 3 | 4 | 7 | 11 | 12 | 14 | 17 => value.of_type::<u64>().set(0)?,
            2 | 6 | 8 | 10 | 13 | 15 | 16 => value.of_type::<c_int>().set(0)?,
            9 => value.of_type::<c_int>().set(-2)?,
            _ => return Err(Status::InvalidValue.into()),
        }
    }
    Ok(())
}

/// Copies wait anyway.
pub fn set_pointer_attribute(driver: &mut Driver, _: In<u8>, attribute: c_int, address: u64) -> Result {
    match driver.heap.find(address, 1) {
        Ok(_) if attribute == 6 => Ok(()),
        _ => Err(Status::InvalidValue.into()),
    }
}
