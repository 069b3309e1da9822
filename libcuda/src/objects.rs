//! What do graphs keep alive for the client? Objects of the client, each with a function that ends
//! it: called once when neither the client nor a graph, a copy or an instance has a reference left.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::{Arc, Mutex, PoisonError};

use crate::driver::Driver;
use crate::graphs::Graph;
use crate::pointers::Out;
use crate::status::{Fail, Result, Status};
use crate::streams::HostFunction;

/// An object of the client, as long as somebody has a reference.
#[derive(Debug)]
pub struct Object {
    end: HostFunction,
}

/// The destructors of objects without references. They are called when the driver's lock is free.
static ENDED: Mutex<Vec<HostFunction>> = Mutex::new(Vec::new());

impl Drop for Object {
    fn drop(&mut self) {
        ENDED.lock().unwrap_or_else(PoisonError::into_inner).push(self.end);
    }
}

/// Calls what ends objects; the driver's lock is not held.
pub fn end_unused() {
    let ended = std::mem::take(&mut *ENDED.lock().unwrap_or_else(PoisonError::into_inner));
    ended.into_iter().for_each(HostFunction::call);
}

/// References to an object. None: there are none, and the object may be gone.
#[derive(Clone, Debug, Default)]
pub struct References {
    object: Option<Arc<Object>>,
    count: u64,
}

impl References {
    fn add(&mut self, object: &Arc<Object>, count: u64) {
        self.object.get_or_insert_with(|| object.clone());
        self.count += count;
    }

    fn take(&mut self, count: u64) -> Result<Arc<Object>> {
        match &self.object {
            Some(object) if self.count >= count => {
                let object = object.clone();
                self.count -= count;
                if self.count == 0 {
                    self.object = None;
                }
                Ok(object)
            }
            _ => {
                Err(Status::InvalidValue
                    .because(format!("{count} references are given up, and {} are held", self.count)))
            }
        }
    }
}

/// How many references a call is about.
fn count_of(count: c_uint) -> Result<u64> {
    match c_int::try_from(count) {
        Ok(1..) => Ok(count.into()),
        _ => Err(Fail::from(Status::InvalidValue)),
    }
}

/// `CU_USER_OBJECT_NO_DESTRUCTOR_SYNC`, which must be given, and `CU_GRAPH_USER_OBJECT_MOVE`.
const NO_SYNC: c_uint = 1;
const MOVE: c_uint = 1;

pub fn create(
    driver: &mut Driver,
    object: Out<u64>,
    data: *mut c_void,
    end: Option<extern "C" fn(*mut c_void)>,
    count: c_uint,
    flags: c_uint,
) -> Result {
    let (Some(end), NO_SYNC) = (end, flags) else { return Err(Status::InvalidValue.into()) };
    let count = count_of(count)?;
    if !object.is_wanted() {
        return Err(Status::InvalidValue.into());
    }
    let made = Arc::new(Object { end: HostFunction::Plain(end, data.expose_provenance()) });
    object.set(driver.objects.add(References { object: Some(made), count }))
}

pub fn retain(driver: &mut Driver, object: u64, count: c_uint) -> Result {
    let count = count_of(count)?;
    let held = driver.objects.get_mut(object)?;
    let known = held.object.clone().ok_or(Status::InvalidValue)?;
    held.add(&known, count);
    Ok(())
}

pub fn release(driver: &mut Driver, object: u64, count: c_uint) -> Result {
    let count = count_of(count)?;
    driver.objects.get_mut(object)?.take(count).map(drop)
}

pub fn graph_retain(driver: &mut Driver, graph: u64, object: u64, count: c_uint, flags: c_uint) -> Result {
    let count = count_of(count)?;
    if flags & !MOVE != 0 {
        return Err(Status::InvalidValue.into());
    }
    let graph = driver.graphs.get_mut(graph)?;
    let held = driver.objects.get_mut(object)?;
    let known = match flags {
        MOVE => held.take(count)?,
        _ => held.object.clone().ok_or(Status::InvalidValue)?,
    };
    graph.objects.entry(object).or_default().add(&known, count);
    Ok(())
}

pub fn graph_release(driver: &mut Driver, graph: u64, object: u64, count: c_uint) -> Result {
    let count = count_of(count)?;
    let Graph { objects, .. } = driver.graphs.get_mut(graph)?;
    let held = objects.get_mut(&object).ok_or(Status::InvalidValue)?;
    held.take(count).map(drop)
}
