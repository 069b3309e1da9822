//! What is a stream, and what does it do? A call puts its operation into the queue (`queue`); a
//! captured stream puts it into a graph instead.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::Arc;
use std::time::Instant;

use crate::conditions::Nested;
use crate::copies::{Copy, Fill};
use crate::driver::{Driver, default_stream};
use crate::graphs::Graph;
use crate::launch::Launch;
use crate::order::{Clock, Kind, Work};
use crate::pointers::Out;
use crate::queue::Queued;
use crate::status::{Result, Status};

/// Something that a stream does.
#[derive(Clone, Debug)]
pub enum Operation {
    Launch(Launch),
    Copy(Copy),
    Fill(Fill),
    Host(HostFunction),
    Record(u64),
    Free(u64),
    /// Graphs of a graph, as a condition says.
    Nested(Nested),
    /// A graph with conditions begins.
    Begin(Arc<Graph>),
}

/// A function of the client and what it is given.
#[derive(Clone, Copy, Debug)]
pub enum HostFunction {
    Plain(extern "C" fn(*mut c_void), usize),
    /// With the stream and a status.
    OfStream(extern "C" fn(u64, c_int, *mut c_void), u64, usize),
}

impl HostFunction {
    pub fn call(self) {
        match self {
            HostFunction::Plain(f, data) => f(std::ptr::with_exposed_provenance_mut(data)),
            HostFunction::OfStream(f, stream, data) => f(stream, 0, std::ptr::with_exposed_provenance_mut(data)),
        }
    }
}

#[derive(Debug)]
pub struct Stream {
    pub context: u64,
    pub device: usize,
    flags: c_uint,
    priority: c_int,
    /// The graph that it is captured into.
    pub capture: Option<u64>,
    /// Whether it began that capture.
    pub leads: bool,
}

#[derive(Debug)]
pub struct Event {
    pub context: u64,
    times: bool,
    at: Option<Instant>,
    /// What was done before it.
    pub clock: Clock,
    /// Recorded where a stream was captured: into this graph.
    pub captured: Option<u64>,
}

/// The stream that is there without being made, by its three names: null, the legacy one, that of
/// the thread.
fn is_default(stream: u64) -> bool {
    stream <= 2
}

impl Driver {
    /// The device of a stream, if it is one.
    pub fn device_of_stream(&self, stream: u64) -> Result<usize> {
        let current = self.working()?;
        if is_default(stream) {
            return Ok(current);
        }
        let device = self.streams.get(stream)?.device;
        self.broken[device].map_or(Ok(device), |status| Err(status.into()))
    }

    /// The graph that a stream is captured into.
    pub fn capture_of(&self, stream: u64) -> Option<u64> {
        self.streams.get(stream).ok().filter(|_| !is_default(stream)).and_then(|stream| stream.capture)
    }

    /// Has an operation done in its turn, or kept for a graph.
    pub fn submit(&mut self, stream: u64, operation: Operation) -> Result {
        let device = self.device_of_stream(stream)?;
        match self.capture_of(stream) {
            Some(graph) => {
                self.graphs.get_mut(graph)?.add(device, operation);
                Ok(())
            }
            None => {
                self.enqueue(stream, device, operation);
                Ok(())
            }
        }
    }

    /// A stream gives a block, or takes it back: as if it wrote all of it.
    pub fn uses_all(&mut self, address: u64, work: &Work) {
        let Ok(block) = self.heap.find(address, 1) else { return };
        let (start, bytes) = (block.start, block.bytes);
        if let Some(found) = self.order.touched(work, start, 0, bytes, true) {
            self.not_ordered(work, &found);
        }
    }

    /// The host goes on only after this.
    pub fn host_waits(&mut self, clock: &Clock) {
        self.order.host_waits(clock);
        self.queue.wait_for(clock);
    }

    /// A stream as its order is counted.
    pub fn counted(&self, stream: u64, device: usize) -> u64 {
        if is_default(stream) { default_stream(device) } else { stream }
    }

    /// Puts an operation of a stream into the queue.
    pub fn enqueue(&mut self, stream: u64, device: usize, operation: Operation) {
        let origin = self.origin();
        let name = match &operation {
            Operation::Launch(launch) => launch.code.entry.clone(),
            _ => origin.name.clone(),
        };
        let stream = self.counted(stream, device);
        if self.queue.is_empty() {
            self.order.settle();
        }
        let work = self.order.operation(stream, name, origin);
        // What the client may take back or change after the call is read and written now.
        if matches!(&operation, Operation::Nested(_))
            || matches!(&operation, Operation::Copy(copy) if self.is_of_client(copy))
        {
            self.queue.wait_for(&[(stream, work.time)].into());
        }
        self.queue.push(Queued { device, operation, work });
    }

    /// Does an operation.
    pub fn perform(&mut self, queued: Queued) -> Result {
        let Queued { device, operation, work } = queued;
        self.call.clone_from(&work.call);
        match operation {
            Operation::Launch(launch) => self.launch(device, &launch, &work),
            Operation::Copy(copy) => self.copy(&copy, &work),
            Operation::Fill(fill) => self.fill(&fill, &work),
            // Those are called where the lock is not held.
            Operation::Host(_) => Ok(()),
            Operation::Record(event) => {
                self.events.get_mut(event)?.at = Some(Instant::now());
                Ok(())
            }
            Operation::Free(address) => {
                self.uses_all(address, &work);
                self.give_back(address)
            }
            Operation::Nested(nested) => self.nested(&nested, &work),
            Operation::Begin(graph) => {
                self.reset_conditions(&graph);
                Ok(())
            }
        }
    }
}

pub fn create(driver: &mut Driver, stream: Out<u64>, flags: c_uint) -> Result {
    create_with_priority(driver, stream, flags, 0)
}

pub fn create_with_priority(driver: &mut Driver, stream: Out<u64>, flags: c_uint, priority: c_int) -> Result {
    let device = driver.working()?;
    let context = driver.current()?.0;
    if flags > 1 {
        return Err(Status::InvalidValue.because("the flags of a stream are 0 or CU_STREAM_NON_BLOCKING"));
    }
    let priority = priority.clamp(-5, 0);
    let handle = driver.streams.add(Stream { context, device, flags, priority, capture: None, leads: false });
    driver.order.begin(handle, device, if flags == 0 { Kind::Blocking } else { Kind::Free });
    stream.set(handle)
}

pub fn destroy(driver: &mut Driver, stream: u64) -> Result {
    if is_default(stream) {
        return Err(Status::InvalidHandle.because("the default stream stays"));
    }
    driver.streams.remove(stream)?;
    driver.order.end(stream);
    Ok(())
}

fn not_captured(driver: &Driver, stream: u64) -> Result {
    match driver.capture_of(stream) {
        Some(_) => {
            Err(Status::CaptureUnsupported
                .because("the stream is being captured: nothing runs that could be waited for"))
        }
        None => Ok(()),
    }
}

pub fn synchronize(driver: &mut Driver, stream: u64) -> Result {
    let device = driver.device_of_stream(stream)?;
    not_captured(driver, stream)?;
    let counted = driver.counted(stream, device);
    driver.host_waits(&driver.order.clock(counted));
    Ok(())
}

/// What it asks about is done when the call ends: a stream is never busy.
pub fn query(driver: &mut Driver, stream: u64) -> Result {
    synchronize(driver, stream)
}

pub fn wait_event(driver: &mut Driver, stream: u64, event: u64, _: c_uint) -> Result {
    let device = driver.device_of_stream(stream)?;
    let captured = driver.events.get(event)?.captured;
    let (clock, counted) = (driver.events.get(event)?.clock.clone(), driver.counted(stream, device));
    driver.order.waits(counted, &clock);
    // Whoever waits for what is captured is captured too.
    if let (Some(graph), false) = (captured.filter(|&graph| driver.graphs.has(graph)), is_default(stream)) {
        driver.streams.get_mut(stream)?.capture = Some(graph);
    }
    Ok(())
}

pub fn get_context(driver: &mut Driver, stream: u64, context: Out<u64>) -> Result {
    context.set(match is_default(stream) {
        true => driver.current()?.0,
        false => driver.streams.get(stream)?.context,
    })
}

pub fn get_device(driver: &mut Driver, stream: u64, device: Out<c_int>) -> Result {
    device.set(driver.device_of_stream(stream)? as c_int)
}

pub fn get_flags(driver: &mut Driver, stream: u64, flags: Out<c_uint>) -> Result {
    flags.set(if is_default(stream) { 0 } else { driver.streams.get(stream)?.flags })
}

pub fn get_priority(driver: &mut Driver, stream: u64, priority: Out<c_int>) -> Result {
    priority.set(if is_default(stream) { 0 } else { driver.streams.get(stream)?.priority })
}

pub fn get_id(driver: &mut Driver, stream: u64, id: Out<u64>) -> Result {
    driver.device_of_stream(stream)?;
    id.set(stream)
}

pub fn launch_host(
    driver: &mut Driver,
    stream: u64,
    function: Option<extern "C" fn(*mut c_void)>,
    data: *mut c_void,
) -> Result {
    let function = function.ok_or_else(|| Status::InvalidValue.because("the function is null"))?;
    driver.submit(stream, Operation::Host(HostFunction::Plain(function, data.expose_provenance())))
}

pub fn add_callback(
    driver: &mut Driver,
    stream: u64,
    function: Option<extern "C" fn(u64, c_int, *mut c_void)>,
    data: *mut c_void,
    _: c_uint,
) -> Result {
    not_captured(driver, stream)?;
    let function = function.ok_or_else(|| Status::InvalidValue.because("the function is null"))?;
    driver.submit(stream, Operation::Host(HostFunction::OfStream(function, stream, data.expose_provenance())))
}

/// Managed memory is there for all.
pub fn attach(driver: &mut Driver, stream: u64, address: u64, _: usize, _: c_uint) -> Result {
    driver.device_of_stream(stream)?;
    driver.heap.find(address, 1).map(drop).map_err(|_| Status::InvalidValue.into())
}

pub fn event_create(driver: &mut Driver, event: Out<u64>, flags: c_uint) -> Result {
    const WITHOUT_TIMES: c_uint = 2;
    const BETWEEN_PROCESSES: c_uint = 4;
    driver.working()?;
    let context = driver.current()?.0;
    if flags & BETWEEN_PROCESSES != 0 {
        return Err(Status::NotSupported.because("events cannot be shared with other processes"));
    }
    let handle = driver.events.add(Event {
        context,
        times: flags & WITHOUT_TIMES == 0,
        at: None,
        clock: Clock::new(),
        captured: None,
    });
    event.set(handle)
}

pub fn event_record(driver: &mut Driver, event: u64, stream: u64) -> Result {
    driver.events.get(event)?;
    let device = driver.device_of_stream(stream)?;
    let clock = driver.order.clock(driver.counted(stream, device));
    let captured = driver.capture_of(stream);
    let found = driver.events.get_mut(event)?;
    (found.captured, found.clock) = (captured, clock);
    driver.submit(stream, Operation::Record(event))
}

pub fn event_record_with(driver: &mut Driver, event: u64, stream: u64, _: c_uint) -> Result {
    event_record(driver, event, stream)
}

/// What was recorded is done; what was never recorded counts as done.
pub fn event_done(driver: &mut Driver, event: u64) -> Result {
    let clock = driver.events.get(event)?.clock.clone();
    driver.host_waits(&clock);
    match driver.broken.iter().flatten().next() {
        Some(&status) => Err(status.into()),
        None => Ok(()),
    }
}

pub fn event_destroy(driver: &mut Driver, event: u64) -> Result {
    driver.events.remove(event).map(drop)
}

/// Milliseconds of this machine: a simulated GPU has no time of its own.
pub fn event_elapsed(driver: &mut Driver, milliseconds: Out<f32>, start: u64, end: u64) -> Result {
    let (start, end) = (driver.events.get(start)?, driver.events.get(end)?);
    let (Some(from), Some(to), true) = (start.at, end.at, start.times && end.times) else {
        return Err(
            Status::InvalidHandle.because("both events must be recorded, and made without CU_EVENT_DISABLE_TIMING")
        );
    };
    let span = match to.checked_duration_since(from) {
        Some(span) => span.as_secs_f32(),
        None => -from.duration_since(to).as_secs_f32(),
    };
    milliseconds.set(span * 1e3)
}
