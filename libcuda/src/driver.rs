//! What does the driver know, and what happens around each call? One lock for all; nothing of a
//! call leaves it as a panic.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};

use kc::sim::heap::{Heap, Origin};
use kc::sim::memory::{Arena, Piece};
use serde_json::json;

use crate::arrays::{Array, Resource};
use crate::client;
use crate::conditions::Condition;
use crate::contexts::Context;
use crate::findings::Findings;
use crate::graphs::Graph;
use crate::handles::Table;
use crate::modules::{Function, Link, Module};
use crate::objects::{self, References};
use crate::order::{Kind, Order};
use crate::pools::Pool;
use crate::queue::{Queue, Queued};
use crate::settings::{self, Settings};
use crate::status::{Fail, Result, Status};
use crate::streams::{Event, Operation, Stream};

/// CUDA 13.0: what `cuDriverGetVersion` says.
pub const VERSION: c_int = 13000;

/// What a process has of its simulated machine.
pub struct Driver {
    pub settings: Settings,
    pub heap: Heap,
    /// By device: what a kernel left broken, as every later call says.
    pub broken: Vec<Option<Status>>,
    /// By device: where kernels allocate memory, and what they have.
    pub arenas: Vec<Option<(Arena, Vec<Piece>)>>,
    /// Through which the blocks of a cooperative launch wait for each other, of devices that had
    /// one.
    pub workspaces: Vec<u64>,
    pub contexts: Table<Context>,
    pub modules: Table<Module>,
    pub functions: Table<Function>,
    pub links: Table<Link>,
    pub streams: Table<Stream>,
    pub events: Table<Event>,
    pub pools: Table<Pool>,
    pub arrays: Table<Array>,
    /// Textures and surfaces, by their descriptors.
    pub images: HashMap<u64, Resource>,
    pub graphs: Table<Graph>,
    /// What nodes of graphs go by.
    pub conditions: Table<Condition>,
    /// Graphs that can be launched.
    pub instances: Table<Graph>,
    /// What the client has of objects that graphs keep alive.
    pub objects: Table<References>,
    /// The context of each block of memory.
    pub owners: HashMap<u64, u64>,
    /// Memory of the client that devices reach: where it lies for them.
    pub registered: HashMap<u64, Registered>,
    /// Whose memory whose kernels may use: device, peer.
    pub peers: HashSet<(usize, usize)>,
    pub findings: Findings,
    /// What orders the work of streams.
    pub order: Order,
    /// What was asked for and is not done yet.
    pub queue: Queue,
    /// The call that runs, or the one whose work does.
    pub call: Origin,
    calls: u64,
    process: u32,
}

/// Memory that the client had already.
#[derive(Clone, Copy, Debug)]
pub struct Registered {
    pub bytes: u64,
    /// Its place in the range of the devices, if somebody asked for it.
    pub mirror: Option<u64>,
}

static DRIVER: Mutex<Option<Driver>> = Mutex::new(None);

thread_local! {
    /// The contexts of the thread, the current one last.
    static CURRENT: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// The contexts of the thread that calls.
pub fn with_stack<R>(f: impl FnOnce(&mut Vec<u64>) -> R) -> R {
    CURRENT.with(|stack| f(&mut stack.borrow_mut()))
}

fn lock() -> Guard {
    DRIVER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Says something to the user.
pub fn say(text: &str) {
    // A closed stream is not worth a word.
    let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("kc gpu: {text}\n").as_bytes());
}

/// Whether findings name the call: by then it should be known where it was made.
fn asks_for_work(name: &str) -> bool {
    ["cuMem", "cuLaunch", "cuGraphLaunch"].iter().any(|start| name.starts_with(start))
}

/// Runs a call: the number that it gives. A call that is `queued` only asks for work, or looks at
/// nothing that work changes; before others all work is done.
pub fn enter(name: &'static str, queued: bool, call: impl FnOnce(&mut Driver) -> Result) -> c_int {
    if let Some(status) = settings::failing(name) {
        return status;
    }
    let result = catch_unwind(AssertUnwindSafe(|| {
        let line = if asks_for_work(name) { client::line() } else { None };
        let mut guard = lock();
        let driver = match guard.as_mut() {
            Some(driver) => driver,
            None if name == "cuInit" => guard.insert(Driver::new()?),
            None => return Err(Status::NotInitialized.because("`cuInit` comes first")),
        };
        if driver.process != std::process::id() {
            let why =
                "this process was forked after `cuInit`; CUDA works in processes that call it themselves (spawn them)";
            return Err(Status::NotInitialized.because(why));
        }
        driver.calls += 1;
        let origin = Origin { name: name.to_string(), number: driver.calls, line };
        driver.call = origin.clone();
        if !queued {
            driver.queue.wait_for_all();
        }
        let (mut guard, before) = run_queued(guard);
        let Some(driver) = guard.as_mut() else { return before };
        driver.call = origin;
        let result = call(driver);
        if !queued {
            driver.queue.wait_for_all();
        }
        let (guard, after) = run_queued(guard);
        drop(guard);
        objects::end_unused();
        before.and(result).and(after)
    }));
    match result {
        Ok(Ok(())) => Status::Success as c_int,
        Ok(Err(Fail { status, why })) => {
            if let Some(why) = why {
                let name_of = status.words().0.to_string_lossy();
                say(&format!("{name}: {why} ({name_of})"));
            }
            status as c_int
        }
        Err(_) => {
            say(&format!("{name}: a fault of kc itself; please report it"));
            Status::Unknown as c_int
        }
    }
}

type Guard = MutexGuard<'static, Option<Driver>>;

/// Does the work whose turn it is. Functions of the host run without the lock: they may call what
/// they like.
fn run_queued(mut guard: Guard) -> (Guard, Result) {
    let mut result = Ok(());
    while let Some(driver) = guard.as_mut() {
        match driver.queue.next() {
            Some(Queued { operation: Operation::Host(function), .. }) => {
                drop(guard);
                function.call();
                guard = lock();
            }
            Some(queued) => {
                let done = driver.perform(queued);
                result = result.and(done);
            }
            None => break,
        }
    }
    (guard, result)
}

/// Runs a call that needs nothing of the driver, not even that it is there.
pub fn enter_free(name: &'static str, call: impl FnOnce() -> Result) -> c_int {
    if let Some(status) = settings::failing(name) {
        return status;
    }
    let result = catch_unwind(AssertUnwindSafe(call));
    match result {
        Ok(Ok(())) => Status::Success as c_int,
        Ok(Err(Fail { status, why })) => {
            if let Some(why) = why {
                say(&format!("{name}: {why}"));
            }
            status as c_int
        }
        Err(_) => Status::Unknown as c_int,
    }
}

/// What is said when the process ends.
pub fn end() {
    // A thread that still holds the lock is in a call that never ends now.
    let Ok(mut guard) = DRIVER.try_lock() else { return };
    if let Some(driver) = guard.as_mut().filter(|driver| driver.process == std::process::id()) {
        driver.call = Origin { name: "exit".to_string(), number: driver.calls, line: None };
        driver.queue.wait_for_all();
        while let Some(queued) = driver.queue.next() {
            // No call is left that could return the status; findings are printed.
            let _ = driver.perform(queued);
        }
        driver.leave_all();
        let left = json!({
            "contexts": driver.contexts.iter().filter(|(_, context)| context.retained.is_none_or(|n| n > 0)).count(),
            "modules": driver.modules.iter().count(),
            "streams": driver.streams.iter().count(),
            "events": driver.events.iter().count(),
            "blocks": driver.owners.len(),
        });
        driver.findings.summary(&left);
    }
}

/// How the default stream of a device is counted.
pub fn default_stream(device: usize) -> u64 {
    1 + device as u64
}

impl Driver {
    fn new() -> Result<Driver> {
        let settings = Settings::read().map_err(|why| Status::InvalidValue.because(why))?;
        let heap = Heap::reserve(settings.devices, settings.memory).ok_or_else(|| {
            Status::OutOfMemory.because("the system has no range of addresses for the devices' memory")
        })?;
        let mut order = Order::new(settings.races);
        (0..settings.devices).for_each(|device| order.begin(default_stream(device), device, Kind::Default));
        let mut pools = Table::new("memory pool", 7, Status::InvalidValue);
        for device in 0..settings.devices {
            pools.add(Pool { device, of_device: true });
        }
        Ok(Driver {
            heap,
            broken: vec![None; settings.devices],
            arenas: vec![None; settings.devices],
            workspaces: vec![0; settings.devices],
            contexts: Table::new("context", 1, Status::InvalidContext),
            modules: Table::new("module", 2, Status::InvalidHandle),
            functions: Table::new("function", 3, Status::InvalidHandle),
            links: Table::new("linker", 4, Status::InvalidHandle),
            streams: Table::new("stream", 5, Status::InvalidHandle),
            events: Table::new("event", 6, Status::InvalidHandle),
            pools,
            arrays: Table::new("array", 10, Status::InvalidHandle),
            images: HashMap::new(),
            graphs: Table::new("graph", 8, Status::InvalidValue),
            conditions: Table::new("condition", 12, Status::InvalidValue),
            instances: Table::new("graph that was instantiated", 9, Status::InvalidValue),
            objects: Table::new("user object", 11, Status::InvalidValue),
            owners: HashMap::new(),
            registered: HashMap::new(),
            peers: HashSet::new(),
            findings: Findings::new(&settings),
            order,
            queue: Queue::new(settings.seed),
            call: Origin { name: String::new(), number: 0, line: None },
            calls: 0,
            process: std::process::id(),
            settings,
        })
    }

    /// The call that runs, or whose work does, as what memory remembers.
    pub fn origin(&self) -> Origin {
        self.call.clone()
    }

    /// The device of this number.
    pub fn device(&self, number: c_int) -> Result<usize> {
        usize::try_from(number).ok().filter(|&device| device < self.settings.devices).ok_or_else(|| {
            let there = self.settings.devices;
            Status::InvalidDevice.because(format!("there is no device {number}; there are {there} (KC_SIM_DEVICES)"))
        })
    }
}

/// `cuInit`.
pub fn init(_: &mut Driver, flags: u32) -> Result {
    if flags == 0 { Ok(()) } else { Err(Status::InvalidValue.because("the flags of `cuInit` are 0")) }
}
