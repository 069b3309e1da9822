//! What is a GPU asked for besides launches? Memory that stays, copies and waits: for bindings of
//! other languages, whose arrays are there.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys;

use super::context::{Beside, Context};
use super::driver::{self, Description, refused};
use super::under_way::{self, About};
use crate::diag::Code;
use crate::run::{Fail, Result, fail};

/// A GPU. Its primary context stays until the process ends.
pub struct Card {
    context: Context,
    about: Description,
    /// Memory that is taken and given back in the order of a stream. None: the driver has no such.
    pool: Option<sys::CUmemoryPool>,
}

// SAFETY: the driver's handles are good on every thread on which the context is current, and
// `within` sees to that.
unsafe impl Send for Card {}
// SAFETY: as above; the driver takes calls from several threads.
unsafe impl Sync for Card {}

/// The GPUs that were asked for.
fn cards() -> MutexGuard<'static, BTreeMap<i32, Arc<Card>>> {
    static CARDS: Mutex<BTreeMap<i32, Arc<Card>>> = Mutex::new(BTreeMap::new());
    CARDS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn handle(stream: u64) -> sys::CUstream {
    std::ptr::with_exposed_provenance_mut(stream as usize)
}

impl Card {
    /// How many GPUs the driver knows.
    ///
    /// # Errors
    /// There is no driver, or it does not work (`E1104`).
    pub fn count() -> Result<usize> {
        driver::devices().map(|(_, list)| list.len())
    }

    /// A GPU by its number.
    ///
    /// # Errors
    /// There is no driver or no such GPU, or kc knows none as old (`E1104`).
    pub fn open(ordinal: i32) -> Result<Arc<Card>> {
        let mut cards = cards();
        if let Some(card) = cards.get(&ordinal) {
            return Ok(card.clone());
        }
        driver::start()?;
        let _beside = Beside::begin()?;
        let context = Context::open(ordinal)?;
        let (_, list) = driver::devices()?;
        let Some(about) = list.into_iter().find(|about| about.ordinal == ordinal) else {
            return Err(fail(Code::E1104, format!("the driver knows no GPU {ordinal} any more")));
        };
        let pool = pool(ordinal).map_err(|e| refused("a pool of memory", e))?;
        let card = Arc::new(Card { context, about, pool });
        cards.insert(ordinal, card.clone());
        Ok(card)
    }

    /// The numbers of the GPUs that were opened.
    pub fn opened() -> Vec<i32> {
        cards().keys().copied().collect()
    }

    /// Its number, its name, and so on.
    pub fn about(&self) -> &Description {
        &self.about
    }

    /// Its number.
    pub fn ordinal(&self) -> i32 {
        self.about.ordinal
    }

    fn within<T>(&self, what: &str, run: impl FnOnce() -> std::result::Result<T, DriverError>) -> Result<T> {
        let _beside = Beside::begin()?;
        self.context.enter()?;
        run().map_err(|error| self.fault(what, error))
    }

    fn fault(&self, what: &str, error: DriverError) -> Fail {
        match under_way::is_fault(error) {
            true => under_way::fault(self.ordinal(), error, None),
            false => refused(what, error),
        }
    }

    /// Bytes that are free, and all.
    ///
    /// # Errors
    /// The driver does not say.
    pub fn room(&self) -> Result<(usize, usize)> {
        self.within("its free memory", result::mem_get_info)
    }

    /// Memory for what follows on a stream; `pooled`: from a pool, if there is one.
    ///
    /// # Errors
    /// There is not so much (`E1107`), or a launch failed.
    pub fn allocate(&self, bytes: usize, stream: u64, pooled: bool) -> Result<u64> {
        let size = bytes.max(1);
        let made = self.within("memory", || {
            // SAFETY: plain allocation; `release` frees it.
            Ok(unsafe {
                match self.pool.filter(|_| pooled) {
                    Some(pool) => {
                        let mut address = 0;
                        sys::cuMemAllocFromPoolAsync(&mut address, size, pool, handle(stream))
                            .result()
                            .map(|()| address)
                    }
                    None => result::malloc_sync(size),
                }
            })
        })?;
        made.map_err(|error| match error.0 {
            sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY => self.full(bytes),
            _ => self.fault("memory", error),
        })
    }

    /// Memory that the host and all GPUs read and write; it goes back as what is not pooled does.
    ///
    /// # Errors
    /// There is not so much (`E1107`), or the driver has no such.
    pub fn managed(&self, bytes: usize) -> Result<u64> {
        let made = self.within("managed memory", || {
            let all = sys::CUmemAttach_flags::CU_MEM_ATTACH_GLOBAL;
            // SAFETY: plain allocation; `release` frees it.
            Ok(unsafe { result::malloc_managed(bytes.max(1), all) })
        })?;
        made.map_err(|error| match error.0 {
            sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY => self.full(bytes),
            _ => self.fault("managed memory", error),
        })
    }

    /// Brings managed memory to a GPU, or to the host, behind what a stream of this one does.
    ///
    /// # Errors
    /// The driver refuses.
    ///
    /// # Safety
    /// It is managed memory of so many bytes.
    pub unsafe fn prefetch(&self, at: u64, bytes: usize, to: Option<&Card>, stream: u64) -> Result<()> {
        const HOST: sys::CUdevice = -1;
        let to = to.map_or(HOST, |card| card.context.device);
        // SAFETY: the caller's promise.
        self.within("a prefetch", || unsafe { sys::cuMemPrefetchAsync(at, bytes, to, handle(stream)).result() })
    }

    /// Lets launches of this GPU use the memory of another one from now on. False: it cannot.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn reach_memory_of(&self, other: &Card) -> Result<bool> {
        if other.ordinal() == self.ordinal() {
            return Ok(true);
        }
        self.within("access to another GPU", || {
            let mut can = 0;
            // SAFETY: both devices came from the driver, and the contexts live.
            let enabled = unsafe {
                sys::cuDeviceCanAccessPeer(&mut can, self.context.device, other.context.device).result()?;
                if can == 0 {
                    return Ok(false);
                }
                sys::cuCtxEnablePeerAccess(other.context.raw, 0).result()
            };
            match enabled {
                Err(DriverError(sys::CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED)) => Ok(true),
                other => other.map(|()| true),
            }
        })
    }

    fn full(&self, bytes: usize) -> Fail {
        let (ordinal, name) = (self.ordinal(), &self.about.name);
        let room = self.room().map_or_else(|_| String::new(), |(free, all)| format!("; {free} of {all} are free"));
        let mut error = fail(Code::E1107, format!("the GPU `cuda:{ordinal}` ({name}) has no {bytes} bytes free{room}"));
        error.help = Some("drop arrays that are not needed any more, take smaller pieces, or another GPU".to_string());
        error
    }

    /// Gives memory back once what a stream does already is done. A failure leaves nothing to do.
    ///
    /// # Safety
    /// It came from [`Card::allocate`], and nothing that comes later uses it.
    pub unsafe fn release(&self, address: u64, stream: u64, pooled: bool) {
        // SAFETY: the caller's promise.
        let _ = self.within("memory back", || unsafe {
            match self.pool.filter(|_| pooled) {
                Some(_) => result::free_async(address, handle(stream)),
                None => result::free_sync(address),
            }
        });
    }

    /// Copies bytes of the host over, behind what a stream does, and waits.
    ///
    /// # Errors
    /// A launch before it failed, or the driver refuses.
    ///
    /// # Safety
    /// Both are memory of so many bytes.
    pub unsafe fn upload(&self, to: u64, from: *const u8, bytes: usize, stream: u64) -> Result<()> {
        // SAFETY: the caller's promise.
        let source = unsafe { std::slice::from_raw_parts(from, bytes) };
        // SAFETY: as above; the source stays until the copy is done.
        self.within("a copy to the GPU", || unsafe { result::memcpy_htod_async(to, source, handle(stream)) })?;
        self.wait(stream)
    }

    /// The same from the GPU to the host.
    ///
    /// # Errors
    /// A launch before it failed, or the driver refuses.
    ///
    /// # Safety
    /// Both are memory of so many bytes, and nobody else uses that of the host.
    pub unsafe fn download(&self, to: *mut u8, from: u64, bytes: usize, stream: u64) -> Result<()> {
        // SAFETY: the caller's promise.
        let target = unsafe { std::slice::from_raw_parts_mut(to, bytes) };
        // SAFETY: as above.
        self.within("a copy from the GPU", || unsafe { result::memcpy_dtoh_async(target, from, handle(stream)) })?;
        self.wait(stream)
    }

    /// Copies bytes from the memory of a GPU, perhaps another one, behind what a stream of this one
    /// does.
    ///
    /// # Errors
    /// The driver refuses.
    ///
    /// # Safety
    /// Both are memory of so many bytes, until the copy is done.
    pub unsafe fn copy(&self, to: u64, (card, from): (&Card, u64), bytes: usize, stream: u64) -> Result<()> {
        // SAFETY: the caller's promise.
        self.within("a copy on the GPU", || unsafe {
            if card.ordinal() == self.ordinal() {
                result::memcpy_dtod_async(to, from, bytes, handle(stream))
            } else {
                result::memcpy_peer_async(self.context.raw, to, card.context.raw, from, bytes, handle(stream))
            }
        })
    }

    /// Sets bytes to zero, behind what a stream does.
    ///
    /// # Errors
    /// The driver refuses.
    ///
    /// # Safety
    /// It is memory of so many bytes, until that is done.
    pub unsafe fn clear(&self, at: u64, bytes: usize, stream: u64) -> Result<()> {
        // SAFETY: the caller's promise.
        self.within("zeros", || unsafe { result::memset_d8_async(at, 0, bytes, handle(stream)) })
    }

    /// Waits for what a stream does.
    ///
    /// # Errors
    /// A launch failed.
    pub fn wait(&self, stream: u64) -> Result<()> {
        // SAFETY: the stream is one of this GPU.
        self.within("a wait", || unsafe { result::stream::synchronize(handle(stream)) })?;
        under_way::waited(self.ordinal(), Some(stream));
        Ok(())
    }

    /// Waits for all that the GPU does.
    ///
    /// # Errors
    /// A launch failed.
    pub fn wait_all(&self) -> Result<()> {
        self.within("a wait", result::ctx::synchronize)?;
        under_way::waited(self.ordinal(), None);
        Ok(())
    }

    /// What comes next on a stream of this GPU waits for what a stream of another one, or of this
    /// one, does already.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn follow(&self, stream: u64, (card, other): (&Card, u64)) -> Result<()> {
        if card.ordinal() == self.ordinal() && other == stream {
            return Ok(());
        }
        let event = card.event(false)?;
        // SAFETY: the event lives, and the streams are of these GPUs.
        card.within("an event", || unsafe { result::event::record(event.raw(), handle(other)) })?;
        self.within("an event", || unsafe {
            let flags = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
            result::stream::wait_event(handle(stream), event.raw(), flags)
        })
    }

    /// Memory of the host that the GPU reads without a copy in between.
    ///
    /// # Errors
    /// There is not so much.
    pub fn pinned(&self, bytes: usize) -> Result<*mut u8> {
        // SAFETY: plain allocation; `unpin` frees it.
        self.within("pinned memory", || unsafe { result::malloc_host(bytes.max(1), 0) }).map(<*mut c_void>::cast)
    }

    /// Gives it back. A failure leaves nothing to do.
    ///
    /// # Safety
    /// It came from [`Card::pinned`], and nobody uses it any more.
    pub unsafe fn unpin(&self, at: *mut u8) {
        // SAFETY: the caller's promise.
        let _ = self.within("pinned memory back", || unsafe { result::free_host(at.cast()) });
    }

    /// An event; `timed`: it has a time.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn event(&self, timed: bool) -> Result<Event> {
        let flags =
            if timed { sys::CUevent_flags::CU_EVENT_DEFAULT } else { sys::CUevent_flags::CU_EVENT_DISABLE_TIMING };
        let raw = self.within("an event", || result::event::create(flags))?;
        Ok(Event { raw: raw as usize as u64, ordinal: self.ordinal() })
    }

    /// Records an event behind what a stream does.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn record(&self, event: &Event, stream: u64) -> Result<()> {
        // SAFETY: the event lives.
        self.within("an event", || unsafe { result::event::record(event.raw(), handle(stream)) })
    }

    /// What comes next on a stream waits for an event.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn await_event(&self, event: &Event, stream: u64) -> Result<()> {
        let flags = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
        // SAFETY: the event lives.
        self.within("an event", || unsafe { result::stream::wait_event(handle(stream), event.raw(), flags) })
    }

    /// Waits until an event is reached.
    ///
    /// # Errors
    /// A launch before it failed.
    pub fn reach(&self, event: &Event) -> Result<()> {
        // SAFETY: the event lives.
        self.within("a wait", || unsafe { result::event::synchronize(event.raw()) })
    }

    /// Milliseconds between two events that are reached.
    ///
    /// # Errors
    /// One is not, or has no time.
    pub fn elapsed(&self, start: &Event, end: &Event) -> Result<f32> {
        // SAFETY: both live.
        self.within("a time", || unsafe { result::event::elapsed(start.raw(), end.raw()) })
    }

    /// A new stream. Its work and that of the stream 0 go one after the other, unless it is
    /// `apart`.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn stream(&self, apart: bool) -> Result<u64> {
        use result::stream::StreamKind;
        let kind = if apart { StreamKind::NonBlocking } else { StreamKind::Default };
        self.within("a stream", || result::stream::create(kind)).map(|raw| raw as usize as u64)
    }

    /// Ends a stream once its work is done. A failure leaves nothing to do.
    ///
    /// # Safety
    /// It came from [`Card::stream`], and nobody uses it any more.
    pub unsafe fn end_stream(&self, stream: u64) {
        // SAFETY: the caller's promise.
        let _ = self.within("the end of a stream", || unsafe { result::stream::destroy(handle(stream)) });
    }

    /// What is given to a stream from now on is kept, and not done.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn capture(&self, stream: u64) -> Result<()> {
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: the stream lives.
        self.within("a capture", || unsafe { result::stream::begin_capture(handle(stream), mode) })?;
        captured().push((self.ordinal(), stream));
        Ok(())
    }

    /// Ends that; gives what was kept, to be done as often as one likes.
    ///
    /// # Errors
    /// Something was given to the stream that cannot be kept.
    pub fn captured(&self, stream: u64) -> Result<Graph> {
        captured().retain(|&known| known != (self.ordinal(), stream));
        // SAFETY: the stream lives, and the graph goes once it is made ready.
        let made = self.within("a capture", || unsafe {
            let graph = result::stream::end_capture(handle(stream))?;
            if graph.is_null() {
                return Ok(null_mut());
            }
            let ready = result::graph::instantiate(graph, sys::CUgraphInstantiate_flags(0));
            result::graph::destroy(graph)?;
            ready
        })?;
        Ok(Graph { raw: made as usize as u64, ordinal: self.ordinal() })
    }

    /// Does what a graph keeps, behind what a stream does.
    ///
    /// # Errors
    /// The driver refuses.
    ///
    /// # Safety
    /// The memory that its launches use stays until they are done.
    pub unsafe fn replay(&self, graph: &Graph, stream: u64, about: &str) -> Result<()> {
        if graph.raw == 0 {
            return Ok(());
        }
        let raw: sys::CUgraphExec = std::ptr::with_exposed_provenance_mut(graph.raw as usize);
        // SAFETY: the graph lives; the rest is the caller's promise.
        self.within("a graph", || unsafe { result::graph::launch(raw, handle(stream)) })?;
        under_way::note((self.ordinal(), stream), About::Words(about.to_string()));
        Ok(())
    }
}

/// The streams that kc captures now, with the GPUs.
fn captured() -> MutexGuard<'static, Vec<(i32, u64)>> {
    static STREAMS: Mutex<Vec<(i32, u64)>> = Mutex::new(Vec::new());
    STREAMS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether kc captures a stream.
pub(super) fn captures(ordinal: i32, stream: u64) -> bool {
    captured().contains(&(ordinal, stream))
}

/// A pool of a GPU that keeps what it is given back.
fn pool(ordinal: i32) -> std::result::Result<Option<sys::CUmemoryPool>, DriverError> {
    use sys::CUdevice_attribute as Attribute;
    let device = result::device::get(ordinal)?;
    // SAFETY: the device came from the driver.
    let has = unsafe { result::device::get_attribute(device, Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED) };
    if !has.is_ok_and(|has| has == 1) {
        return Ok(None);
    }
    // SAFETY: the driver fills in what is all zeros, and reads one number.
    unsafe {
        let mut about: sys::CUmemPoolProps = std::mem::zeroed();
        about.allocType = sys::CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
        about.location.type_ = sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
        about.location.id = ordinal;
        let mut pool = null_mut();
        sys::cuMemPoolCreate(&mut pool, &about).result()?;
        let (mut keep, what) = (u64::MAX, sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD);
        sys::cuMemPoolSetAttribute(pool, what, (&raw mut keep).cast()).result()?;
        Ok(Some(pool))
    }
}

/// A point in the work of a stream.
pub struct Event {
    raw: u64,
    ordinal: i32,
}

impl Event {
    fn raw(&self) -> sys::CUevent {
        std::ptr::with_exposed_provenance_mut(self.raw as usize)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        let Ok(card) = Card::open(self.ordinal) else { return };
        // SAFETY: made by `Card::event`, destroyed once.
        let _ = card.within("the end of an event", || unsafe { result::event::destroy(self.raw()) });
    }
}

/// Work that is kept, to be done again.
pub struct Graph {
    raw: u64,
    ordinal: i32,
}

impl Drop for Graph {
    fn drop(&mut self) {
        let Ok(card) = Card::open(self.ordinal) else { return };
        if self.raw != 0 {
            let raw: sys::CUgraphExec = std::ptr::with_exposed_provenance_mut(self.raw as usize);
            // SAFETY: made by `Card::captured`, destroyed once.
            let _ = card.within("the end of a graph", || unsafe { result::graph::exec_destroy(raw) });
        }
    }
}
