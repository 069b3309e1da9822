//! In which context does a thread work? Each device has a primary one; others can be made. What a
//! context leaves goes with it.

use std::ffi::{c_int, c_uint};

use crate::driver::{Driver, VERSION, with_stack};
use crate::pointers::Out;
use crate::status::{Result, Status};

/// The default of `CU_LIMIT_MALLOC_HEAP_SIZE`, in bytes.
pub const MALLOC_HEAP: usize = 8 << 20;

/// A context of a device.
#[derive(Debug)]
pub struct Context {
    pub device: usize,
    /// How often the primary one was asked for; None: it is another one.
    pub retained: Option<u64>,
    pub flags: c_uint,
    /// What kernels may use: bytes of `printf`, of stacks, as clients set them.
    limits: [usize; 8],
    cache: c_int,
}

impl Context {
    fn new(device: usize, retained: Option<u64>) -> Context {
        let mib = 1 << 20;
        Context { device, retained, flags: 0, limits: [1024, mib, MALLOC_HEAP, 0, 2048, 128, 0, 0], cache: 0 }
    }

    /// Bytes that kernels can allocate.
    pub fn malloc_heap(&self) -> usize {
        self.limits[2]
    }
}

impl Driver {
    /// The current context of the thread.
    pub fn current(&self) -> Result<(u64, &Context)> {
        let Some(handle) = with_stack(|stack| stack.last().copied()).filter(|&handle| handle != 0) else {
            let why =
                "this thread has no context: `cuCtxSetCurrent` with that of `cuDevicePrimaryCtxRetain` comes first";
            return Err(Status::InvalidContext.because(why));
        };
        match self.contexts.get(handle) {
            Ok(context) => Ok((handle, context)),
            Err(_) => Err(Status::ContextDestroyed.because("the context of this thread was destroyed")),
        }
    }

    /// Its device, if nothing broke it: an error of a kernel stays.
    pub fn working(&self) -> Result<usize> {
        let device = self.current()?.1.device;
        match self.broken[device] {
            Some(status) => Err(status.into()),
            None => Ok(device),
        }
    }

    /// The context that is meant: that of the thread where it is null.
    pub fn context_or_current(&self, handle: u64) -> Result<(u64, &Context)> {
        match handle {
            0 => self.current(),
            handle => Ok((handle, self.contexts.get(handle)?)),
        }
    }

    fn primary(&mut self, device: usize) -> u64 {
        let is = |context: &Context| context.device == device && context.retained.is_some();
        let known = self.contexts.iter().find(|(_, context)| is(context)).map(|(handle, _)| handle);
        known.unwrap_or_else(|| self.contexts.add(Context::new(device, Some(0))))
    }

    /// Ends what a context has: its memory, modules, streams and events.
    fn leave(&mut self, context: u64) {
        let starts: Vec<u64> =
            self.owners.iter().filter(|(_, owner)| **owner == context).map(|(&start, _)| start).collect();
        self.leaks(&starts);
        if let Ok(device) = self.contexts.get(context).map(|context| context.device) {
            self.close_arena(device);
        }
        for start in starts {
            self.owners.remove(&start);
            let origin = self.origin();
            // It is there: `owners` has only such.
            let _ = self.heap.take(start, origin);
        }
        let modules: Vec<u64> =
            self.modules.iter().filter(|(_, module)| module.context == context).map(|(handle, _)| handle).collect();
        for module in modules {
            // It was just found.
            let _ = self.unload(module);
        }
        let streams: Vec<u64> =
            self.streams.iter().filter(|(_, stream)| stream.context == context).map(|(handle, _)| handle).collect();
        for stream in streams {
            // It was just found.
            let _ = self.streams.remove(stream);
            self.order.end(stream);
        }
        let events: Vec<u64> =
            self.events.iter().filter(|(_, event)| event.context == context).map(|(handle, _)| handle).collect();
        events.into_iter().for_each(|event| drop(self.events.remove(event)));
    }

    /// The process ends.
    pub fn leave_all(&mut self) {
        let mut starts: Vec<u64> = self.owners.keys().copied().collect();
        starts.sort_unstable();
        self.leaks(&starts);
    }
}

pub fn primary_retain(driver: &mut Driver, context: Out<u64>, device: c_int) -> Result {
    let device = driver.device(device)?;
    let handle = driver.primary(device);
    context.set(handle)?;
    if let Some(retained) = &mut driver.contexts.get_mut(handle)?.retained {
        *retained += 1;
    }
    Ok(())
}

pub fn primary_release(driver: &mut Driver, device: c_int) -> Result {
    let device = driver.device(device)?;
    let handle = driver.primary(device);
    let retained = match &mut driver.contexts.get_mut(handle)?.retained {
        Some(0) | None => {
            return Err(
                Status::InvalidContext.because("the primary context is released more often than it was retained")
            );
        }
        Some(retained) => {
            *retained -= 1;
            *retained
        }
    };
    if retained == 0 {
        driver.leave(handle);
    }
    Ok(())
}

pub fn primary_reset(driver: &mut Driver, device: c_int) -> Result {
    let device = driver.device(device)?;
    let handle = driver.primary(device);
    driver.leave(handle);
    driver.broken[device] = None;
    Ok(())
}

pub fn primary_set_flags(driver: &mut Driver, device: c_int, flags: c_uint) -> Result {
    let device = driver.device(device)?;
    let handle = driver.primary(device);
    driver.contexts.get_mut(handle)?.flags = flags;
    Ok(())
}

pub fn primary_state(driver: &mut Driver, device: c_int, flags: Out<c_uint>, active: Out<c_int>) -> Result {
    let device = driver.device(device)?;
    let handle = driver.primary(device);
    let context = driver.contexts.get(handle)?;
    flags.set(context.flags)?;
    active.set(c_int::from(context.retained.is_some_and(|retained| retained > 0)))
}

pub fn create(driver: &mut Driver, context: Out<u64>, flags: c_uint, device: c_int) -> Result {
    let device = driver.device(device)?;
    let handle = driver.contexts.add(Context { flags, ..Context::new(device, None) });
    context.set(handle)?;
    with_stack(|stack| stack.push(handle));
    Ok(())
}

/// With parameters of affinity, which the simulator has no use for.
pub fn create_with(driver: &mut Driver, context: Out<u64>, _: u64, flags: c_uint, device: c_int) -> Result {
    create(driver, context, flags, device)
}

pub fn create_with_affinity(
    driver: &mut Driver,
    context: Out<u64>,
    _: u64,
    _: c_int,
    flags: c_uint,
    device: c_int,
) -> Result {
    create(driver, context, flags, device)
}

pub fn destroy(driver: &mut Driver, context: u64) -> Result {
    if driver.contexts.get(context)?.retained.is_some() {
        return Err(Status::InvalidContext.because("the primary context ends by `cuDevicePrimaryCtxRelease`"));
    }
    driver.leave(context);
    driver.contexts.remove(context)?;
    with_stack(|stack| {
        if stack.last() == Some(&context) {
            stack.pop();
        }
    });
    Ok(())
}

pub fn get_current(_: &mut Driver, context: Out<u64>) -> Result {
    context.set(with_stack(|stack| stack.last().copied().unwrap_or(0)))
}

pub fn set_current(driver: &mut Driver, context: u64) -> Result {
    if context != 0 {
        driver.contexts.get(context)?;
    }
    with_stack(|stack| {
        stack.pop();
        if context != 0 {
            stack.push(context);
        }
    });
    Ok(())
}

pub fn push_current(driver: &mut Driver, context: u64) -> Result {
    driver.contexts.get(context)?;
    with_stack(|stack| stack.push(context));
    Ok(())
}

pub fn pop_current(_: &mut Driver, context: Out<u64>) -> Result {
    match with_stack(Vec::pop) {
        Some(handle) => {
            context.set_if_wanted(handle);
            Ok(())
        }
        None => Err(Status::InvalidContext.because("this thread has no context to pop")),
    }
}

pub fn get_device(driver: &mut Driver, device: Out<c_int>) -> Result {
    device.set(driver.current()?.1.device as c_int)
}

pub fn get_device_of(driver: &mut Driver, device: Out<c_int>, context: u64) -> Result {
    device.set(driver.context_or_current(context)?.1.device as c_int)
}

pub fn get_flags(driver: &mut Driver, flags: Out<c_uint>) -> Result {
    flags.set(driver.current()?.1.flags)
}

pub fn set_flags(driver: &mut Driver, flags: c_uint) -> Result {
    let handle = driver.current()?.0;
    driver.contexts.get_mut(handle)?.flags = flags;
    Ok(())
}

pub fn get_id(driver: &mut Driver, context: u64, id: Out<u64>) -> Result {
    id.set(driver.context_or_current(context)?.0)
}

pub fn get_version(driver: &mut Driver, context: u64, version: Out<c_uint>) -> Result {
    driver.context_or_current(context)?;
    version.set(VERSION as c_uint)
}

/// All that was asked for is done when a call ends.
pub fn synchronize(driver: &mut Driver) -> Result {
    let device = driver.working()?;
    driver.order.host_waits_for_all(device);
    Ok(())
}

pub fn synchronize_of(driver: &mut Driver, context: u64) -> Result {
    let device = driver.context_or_current(context)?.1.device;
    driver.order.host_waits_for_all(device);
    driver.broken[device].map_or(Ok(()), |status| Err(status.into()))
}

pub fn get_limit(driver: &mut Driver, value: Out<usize>, limit: c_int) -> Result {
    let limits = driver.current()?.1.limits;
    let known = usize::try_from(limit).ok().and_then(|limit| limits.get(limit));
    value.set(*known.ok_or(Status::InvalidValue)?)
}

pub fn set_limit(driver: &mut Driver, limit: c_int, value: usize) -> Result {
    let handle = driver.current()?.0;
    let limits = &mut driver.contexts.get_mut(handle)?.limits;
    let known = usize::try_from(limit).ok().and_then(|limit| limits.get_mut(limit));
    *known.ok_or(Status::InvalidValue)? = value;
    Ok(())
}

pub fn get_cache(driver: &mut Driver, config: Out<c_int>) -> Result {
    config.set(driver.current()?.1.cache)
}

pub fn set_cache(driver: &mut Driver, config: c_int) -> Result {
    let handle = driver.current()?.0;
    driver.contexts.get_mut(handle)?.cache = config;
    Ok(())
}

pub fn priorities(driver: &mut Driver, least: Out<c_int>, greatest: Out<c_int>) -> Result {
    driver.current()?;
    least.set_if_wanted(0);
    greatest.set_if_wanted(-5);
    Ok(())
}

pub fn can_access_peer(driver: &mut Driver, can: Out<c_int>, device: c_int, peer: c_int) -> Result {
    let (device, peer) = (driver.device(device)?, driver.device(peer)?);
    can.set(c_int::from(device != peer))
}

pub fn enable_peer(driver: &mut Driver, context: u64, flags: c_uint) -> Result {
    let device = driver.current()?.1.device;
    let peer = driver.contexts.get(context)?.device;
    match () {
        _ if flags != 0 => Err(Status::InvalidValue.into()),
        _ if device == peer => Err(Status::InvalidDevice.because("a device is no peer of itself")),
        _ if !driver.peers.insert((device, peer)) => Err(Status::PeerEnabled.into()),
        _ => Ok(()),
    }
}

pub fn disable_peer(driver: &mut Driver, context: u64) -> Result {
    let device = driver.current()?.1.device;
    let peer = driver.contexts.get(context)?.device;
    match driver.peers.remove(&(device, peer)) {
        true => Ok(()),
        false => Err(Status::PeerNotEnabled.into()),
    }
}

/// What links between devices do: all that the driver can ask for.
pub fn peer_attribute(driver: &mut Driver, value: Out<c_int>, attribute: c_int, device: c_int, peer: c_int) -> Result {
    let different = driver.device(device)? != driver.device(peer)?;
    match attribute {
        // Performance rank, access, native atomics, arrays.
        1 => value.set(0),
        2..=4 => value.set(c_int::from(different)),
        _ => Err(Status::InvalidValue.into()),
    }
}
