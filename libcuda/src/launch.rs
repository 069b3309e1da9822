//! What does a launch run, and is it one? Its parameters are bytes as the kernel's PTX lays them
//! out.

use std::ffi::{c_int, c_uint};
use std::io::Write;
use std::sync::Arc;

use kc::sim::heap::{Block, Kind, Origin, Zone};
use kc::sim::memory::Arena;
use kc::sim::{self, Checks, Code, Form, How, Text, What};

use crate::contexts::MALLOC_HEAP;
use crate::driver::Driver;
use crate::interrupt::Watch;
use crate::modules::Function;
use crate::order::Work;
use crate::pointers::{In, Out};
use crate::status::{Result, Status};
use crate::streams::Operation;

/// A kernel with its parameters and the form of its launch.
#[derive(Clone, Debug)]
pub struct Launch {
    pub code: Arc<Code>,
    pub written: Text,
    /// How messages call the text of the kernel.
    pub module: String,
    pub form: Form,
    pub params: Vec<u8>,
    pub origin: Origin,
}

/// What is in the list `extra` of a launch (CUDA Driver API, `cuLaunchKernel`).
const END: usize = 0;
const BUFFER: usize = 1;
const SIZE: usize = 2;

/// Bytes through which the blocks of a cooperative launch wait for each other.
const WORKSPACE: u64 = 8;

impl Driver {
    /// The bytes of a kernel's parameters, from pointers to each or as one block.
    fn parameters(code: &Code, each: In<In<u8>>, extra: In<usize>) -> Result<Vec<u8>> {
        let mut bytes = vec![0; code.param_bytes as usize];
        if extra.is_given() && !each.is_given() {
            let (mut buffer, mut size, mut n) = (0, 0, 0);
            loop {
                match extra.at(n)? {
                    END => break,
                    BUFFER => buffer = extra.at(n + 1)?,
                    SIZE => size = In::<usize>::from_address(extra.at(n + 1)?).get()?,
                    other => return Err(Status::InvalidValue.because(format!("{other} is no option of `extra`"))),
                }
                n += 2;
            }
            let wanted = code.params.last().map_or(0, |&(at, size)| (at + size) as usize);
            if size < wanted {
                let why = format!("`{}` takes {wanted} bytes of parameters, and {size} are given", code.entry);
                return Err(Status::InvalidValue.because(why));
            }
            let given = In::<u8>::from_address(buffer);
            (0..wanted).try_for_each(|n| given.at(n).map(|byte| bytes[n] = byte))?;
            return Ok(bytes);
        }
        if !each.is_given() && !code.params.is_empty() {
            let (entry, count) = (&code.entry, code.params.len());
            return Err(Status::InvalidValue.because(format!("`{entry}` takes {count} parameters, and none are given")));
        }
        for (n, &(at, size)) in code.params.iter().enumerate() {
            let value = each.at(n)?;
            if !value.is_given() {
                return Err(
                    Status::InvalidValue.because(format!("the pointer to parameter {n} of `{}` is null", code.entry))
                );
            }
            for byte in 0..size as usize {
                bytes[at as usize + byte] = value.at(byte)?;
            }
        }
        Ok(bytes)
    }

    /// Whether a GPU starts such a launch.
    fn fits(&self, code: &Code, most_dynamic: u32, form: &Form) -> Result {
        let Form { grid, block, dynamic_shared, .. } = *form;
        let entry = &code.entry;
        let invalid = |why: String| Err(Status::InvalidValue.because(why));
        let words = |extents: [u32; 3]| extents.map(|extent| extent.to_string()).join(" x ");
        let threads: u64 = block.iter().map(|&extent| u64::from(extent)).product();
        if grid.contains(&0) || block.contains(&0) {
            return invalid(format!(
                "`{entry}`: a launch of {} blocks of {} threads is none",
                words(grid),
                words(block)
            ));
        }
        if threads > 1024 || block[0] > 1024 || block[1] > 1024 || block[2] > 64 {
            return invalid(format!("`{entry}`: blocks of {} threads; one has 1024 at most, 64 in z", words(block)));
        }
        let most = 65_535;
        let blocks: u128 = grid.iter().map(|&extent| u128::from(extent)).product();
        if grid[0] > i32::MAX as u32 || grid[1] > most || grid[2] > most || blocks > u32::MAX.into() {
            return invalid(format!("`{entry}`: {} blocks; there can be 2^31 - 1, 65535 in y and z", words(grid)));
        }
        let bound = code.required_threads.or(code.max_threads);
        if code.max_threads.is_some_and(|most| threads > most)
            || code.required_threads.is_some_and(|required| required != threads)
        {
            return invalid(format!("`{entry}` is made for blocks of {} threads, not {threads}", bound.unwrap_or(0)));
        }
        if dynamic_shared > most_dynamic {
            let why = format!(
                "`{entry}`: {dynamic_shared} bytes of dynamic shared memory; {most_dynamic} are allowed \
                 (CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES allows more)"
            );
            return Err(Status::InvalidValue.because(why));
        }
        Ok(())
    }

    pub fn prepare(&self, function: u64, form: Form, each: In<In<u8>>, extra: In<usize>) -> Result<Launch> {
        let function = self.functions.get(function)?;
        self.fits(&function.code, function.most_dynamic, &form)?;
        let form = self.in_clusters(function, form)?;
        let params = Driver::parameters(&function.code, each, extra)?;
        let module = self.modules.get(function.module)?.name.clone();
        Ok(Launch {
            code: function.code.clone(),
            written: function.written.clone(),
            module,
            form,
            params,
            origin: self.origin(),
        })
    }

    /// The launch with the clusters of its kernel.
    fn in_clusters(&self, function: &Function, form: Form) -> Result<Form> {
        let invalid = |why: String| Status::InvalidCluster.because(format!("`{}`: {why}", function.code.entry));
        let form = form.for_kernel(function.code.cluster).map_err(invalid)?;
        let blocks = form.cluster_blocks();
        if blocks > 1 && self.capability().0 < 9 {
            return Err(invalid(format!("clusters begin with sm_90; this is an {}", self.settings.limits.arch)));
        }
        if blocks > PORTABLE_CLUSTER && !function.large_clusters {
            return Err(invalid(format!(
                "clusters of {blocks} blocks; more than {PORTABLE_CLUSTER} are allowed by \
                 CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED"
            )));
        }
        Ok(form)
    }

    /// Runs a launch on a device.
    pub fn launch(&mut self, device: usize, launch: &Launch, work: &Work) -> Result {
        if let Some(status) = self.broken[device] {
            return Err(status.into());
        }
        self.mirrors_in();
        if launch.form.workspace != 0 {
            self.clear_workspace(launch.form.workspace);
        }
        if launch.code.allocates && self.arenas[device].is_none() {
            self.open_arena(device)?;
        }
        let checks = Checks { races: self.settings.races, uninitialised: self.settings.uninitialised };
        let how = How {
            checks,
            seed: self.settings.seed,
            limit: self.settings.steps,
            counts: self.settings.counts,
            footprint: self.order.watches(),
        };
        let peers = &self.peers;
        let reaches = |block: &Block| match block.zone {
            Zone::Host => true,
            Zone::Device(owner) => owner == device || block.kind == Kind::Device && peers.contains(&(device, owner)),
        };
        let arena = self.arenas[device].as_ref().map(|(arena, pieces)| (*arena, pieces.as_slice()));
        // SAFETY: the driver's lock is held, so that nobody gives or takes memory; the client does
        // not use it while a kernel does.
        let memory = unsafe { self.heap.lend(&reaches, arena) };
        // The driver's own words are not the client's to order.
        let pieces = memory.pieces.iter().filter(|piece| piece.start != launch.form.workspace);
        let blocks: Vec<(u64, u64)> = pieces.map(|piece| (piece.start, piece.bytes)).collect();
        let watch = Watch::new();
        let mut goes_on = || !Watch::came();
        let outcome = sim::run(&launch.code, &launch.form, launch.params.clone(), memory, &how, &mut goes_on);
        drop(watch);
        self.arenas[device] = outcome.memory.arena.map(|arena| (arena, outcome.memory.allocated()));
        self.mirrors_out();
        if !outcome.printed.is_empty() {
            // A closed stream is not worth a word.
            let _ = std::io::stdout().write_all(&outcome.printed);
            let _ = std::io::stdout().flush();
        }
        self.found(device, launch, &outcome.findings);
        for (condition, value) in outcome.conditions {
            self.set_condition(condition, value)?;
        }
        if let Some(footprint) = &outcome.footprint
            && let Some(found) = self.order.launched(work, footprint, &blocks)
        {
            self.not_ordered(work, &found);
        }
        if let Some(measured) = outcome.measured {
            self.findings.counted(launch, measured);
        }
        let ended = outcome.findings.iter().find_map(|finding| ends_with(&finding.what));
        let status = ended.or(Watch::came().then_some(Status::LaunchTimeout));
        self.broken[device] = status;
        status.map_or(Ok(()), |status| Err(status.into()))
    }
}

impl Driver {
    /// The memory that kernels of a device allocate from: as much as `CU_LIMIT_MALLOC_HEAP_SIZE`
    /// says at the first launch of one that does. It is there until its context ends.
    fn open_arena(&mut self, device: usize) -> Result {
        let bytes = self.current().map_or(MALLOC_HEAP, |(_, context)| context.malloc_heap()).max(1);
        let (zone, origin) = (Zone::Device(device), self.origin());
        let start = self.heap.give(zone, Kind::Arena, bytes as u64, 1, origin);
        let start = start.map_err(|full| self.no_memory(zone, bytes, full))?;
        self.arenas[device] = Some((Arena { start, end: start + bytes as u64, next: start }, Vec::new()));
        Ok(())
    }

    /// The words of a device's cooperative launches, plain or captured. One pair does for all of
    /// them: here one launch runs at a time, and finds zeros in them.
    fn workspace(&mut self, device: usize) -> Result<u64> {
        if self.workspaces[device] == 0 {
            let (zone, origin) = (Zone::Device(device), self.origin());
            let start = self.heap.give(zone, Kind::Variable, WORKSPACE, WORKSPACE, origin);
            self.workspaces[device] = start.map_err(|full| self.no_memory(zone, WORKSPACE as usize, full))?;
        }
        Ok(self.workspaces[device])
    }

    /// Just before a cooperative launch runs: the one before, or one that ended by an error, may
    /// have left what is no zero.
    fn clear_workspace(&mut self, start: u64) {
        let at: *mut u64 = std::ptr::with_exposed_provenance_mut(start as usize);
        // SAFETY: `workspace` took so many bytes there, which are never given back; no launch runs
        // now.
        unsafe { at.write_unaligned(0) };
        self.heap.mark(start, WORKSPACE, true);
    }

    /// Takes back all that kernels of a device have allocated.
    pub fn close_arena(&mut self, device: usize) {
        if let Some((arena, _)) = self.arenas[device].take() {
            let origin = self.origin();
            // Nothing else frees this block.
            let _ = self.heap.take(arena.start, origin);
        }
    }
}

/// What the driver says after such a finding; None: the launch goes on.
fn ends_with(what: &What) -> Option<Status> {
    match what {
        What::Outside(_) | What::ReadOnly(_) | What::BadImage(_) => Some(Status::IllegalAddress),
        What::Misaligned(_) => Some(Status::MisalignedAddress),
        What::Assert(_) => Some(Status::Assert),
        What::NoFunction(_) => Some(Status::InvalidPc),
        What::Endless => Some(Status::LaunchTimeout),
        what => what.is_fatal().then_some(Status::LaunchFailed),
    }
}

pub fn kernel(
    driver: &mut Driver,
    function: u64,
    gx: c_uint,
    gy: c_uint,
    gz: c_uint,
    bx: c_uint,
    by: c_uint,
    bz: c_uint,
    shared: c_uint,
    stream: u64,
    each: In<In<u8>>,
    extra: In<usize>,
) -> Result {
    driver.device_of_stream(stream)?;
    let form = Form::new([gx, gy, gz], [bx, by, bz], shared);
    let launch = driver.prepare(function, form, each, extra)?;
    driver.submit(stream, Operation::Launch(launch))
}

pub fn cooperative(
    driver: &mut Driver,
    function: u64,
    gx: c_uint,
    gy: c_uint,
    gz: c_uint,
    bx: c_uint,
    by: c_uint,
    bz: c_uint,
    shared: c_uint,
    stream: u64,
    each: In<In<u8>>,
) -> Result {
    let form = Form::new([gx, gy, gz], [bx, by, bz], shared);
    driver.fits_at_once(function, &form)?;
    let device = driver.device_of_stream(stream)?;
    let form = Form { workspace: driver.workspace(device)?, ..form };
    let launch = driver.prepare(function, form, each, In::from_address(0))?;
    driver.submit(stream, Operation::Launch(launch))
}

/// `CUlaunchConfig`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Config {
    grid: [c_uint; 3],
    block: [c_uint; 3],
    shared: c_uint,
    stream: u64,
    attributes: In<Attribute>,
    count: c_uint,
}

/// `CUlaunchAttribute`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Attribute {
    id: c_int,
    pad: c_int,
    value: [c_uint; 16],
}

/// The most blocks of a cluster without that the kernel allows more.
const PORTABLE_CLUSTER: u32 = 8;

const COOPERATIVE: c_int = 2;
const CLUSTER: c_int = 4;

pub fn kernel_with(
    driver: &mut Driver,
    config: In<Config>,
    function: u64,
    each: In<In<u8>>,
    extra: In<usize>,
) -> Result {
    let config = config.get()?;
    let mut form = config.form()?;
    let cooperative = config.asks_for(COOPERATIVE)?.is_some_and(|value| value[0] != 0);
    if cooperative {
        driver.fits_at_once(function, &form)?;
    }
    let device = driver.device_of_stream(config.stream)?;
    if cooperative {
        form.workspace = driver.workspace(device)?;
    }
    let launch = driver.prepare(function, form, each, extra)?;
    driver.submit(config.stream, Operation::Launch(launch))
}

impl Config {
    /// The value of an attribute, if it is given; the last one counts.
    fn asks_for(&self, wanted: c_int) -> Result<Option<[c_uint; 16]>> {
        let mut found = None;
        for n in 0..self.count as usize {
            let attribute = self.attributes.at(n)?;
            found = if attribute.id == wanted { Some(attribute.value) } else { found };
        }
        Ok(found)
    }

    fn form(&self) -> Result<Form> {
        let form = Form::new(self.grid, self.block, self.shared);
        let cluster = self.asks_for(CLUSTER)?;
        Ok(cluster.map_or(form, |value| Form { cluster: [value[0], value[1], value[2]], ..form }))
    }
}

impl Driver {
    /// Whether all blocks of a launch can be on the GPU at once, as they wait for each other.
    fn fits_at_once(&self, function: u64, form: &Form) -> Result {
        let threads = form.block.iter().fold(1u32, |all, &extent| all.saturating_mul(extent));
        let at_once = self.resident(function, threads, form.dynamic_shared)? * self.settings.gpu.multiprocessors;
        match form.blocks() > at_once.into() {
            true => Err(Status::CooperativeTooLarge.because(format!(
                "{} blocks are to run together, and {at_once} fit on the GPU at once",
                form.blocks()
            ))),
            false => Ok(()),
        }
    }

    /// Blocks that fit on a multiprocessor.
    fn resident(&self, function: u64, threads: u32, dynamic: u32) -> Result<u32> {
        let function = self.functions.get(function)?;
        let shared = function.code.shared_bytes.saturating_add(dynamic);
        let limits = self.settings.limits;
        match threads > 1024 || shared > limits.shared_per_block {
            true => Ok(0),
            false => Ok(limits.occupancy(threads, Some(function.registers()), shared).blocks_per_sm),
        }
    }
}

pub fn occupancy(driver: &mut Driver, blocks: Out<c_int>, function: u64, threads: c_int, shared: usize) -> Result {
    let threads = u32::try_from(threads).ok().filter(|&threads| threads > 0);
    let threads = threads.ok_or_else(|| Status::InvalidValue.because("a block has one thread at least"))?;
    let shared = u32::try_from(shared).map_err(|_| Status::InvalidValue)?;
    blocks.set(driver.resident(function, threads, shared)? as c_int)
}

pub fn occupancy_with(
    driver: &mut Driver,
    blocks: Out<c_int>,
    function: u64,
    threads: c_int,
    shared: usize,
    _: c_uint,
) -> Result {
    occupancy(driver, blocks, function, threads, shared)
}

/// Clusters that fit on the GPU at once. Which multiprocessors lie together is not documented: all
/// count as one group.
pub fn active_clusters(driver: &mut Driver, clusters: Out<c_int>, function: u64, config: In<Config>) -> Result {
    let form = config.get()?.form()?;
    let form = driver.in_clusters(driver.functions.get(function)?, form)?;
    let resident = driver.resident(function, form.threads(), form.dynamic_shared)?;
    clusters.set((resident * driver.settings.gpu.multiprocessors / form.cluster_blocks()) as c_int)
}

/// The most blocks that a cluster of such blocks can have.
pub fn largest_cluster(driver: &mut Driver, blocks: Out<c_int>, function: u64, config: In<Config>) -> Result {
    let form = config.get()?.form()?;
    let largest = match driver.functions.get(function)?.large_clusters {
        true => 2 * PORTABLE_CLUSTER,
        false => PORTABLE_CLUSTER,
    };
    let fits = driver.capability().0 >= 9 && driver.resident(function, form.threads(), form.dynamic_shared)? > 0;
    blocks.set(if fits { largest as c_int } else { 0 })
}

/// The block size with most resident threads; `shared_of` gives the shared memory of a block size.
pub fn best_block(
    driver: &mut Driver,
    grid: Out<c_int>,
    block: Out<c_int>,
    function: u64,
    shared_of: Option<extern "C" fn(c_int) -> usize>,
    shared: usize,
    most: c_int,
) -> Result {
    let bound = driver.functions.get(function)?.code.max_threads.unwrap_or(1024).min(1024) as u32;
    let most = if most > 0 { bound.min(most as u32) } else { bound };
    let mut best = (0, 0, 0);
    for threads in (1..=most.div_ceil(32)).rev().map(|warps| (warps * 32).min(most)) {
        let shared = shared_of.map_or(shared, |of| of(threads as c_int));
        let resident = driver.resident(function, threads, u32::try_from(shared).unwrap_or(u32::MAX))?;
        if resident * threads > best.0 {
            best = (resident * threads, resident, threads);
        }
    }
    grid.set((best.1 * driver.settings.gpu.multiprocessors) as c_int)?;
    block.set(best.2 as c_int)
}

pub fn best_block_with(
    driver: &mut Driver,
    grid: Out<c_int>,
    block: Out<c_int>,
    function: u64,
    shared_of: Option<extern "C" fn(c_int) -> usize>,
    shared: usize,
    most: c_int,
    _: c_uint,
) -> Result {
    best_block(driver, grid, block, function, shared_of, shared, most)
}

pub fn available_shared(driver: &mut Driver, bytes: Out<usize>, function: u64, blocks: c_int, _: c_int) -> Result {
    let limits = driver.settings.limits;
    let own = driver.functions.get(function)?.code.shared_bytes;
    let blocks = u32::try_from(blocks).ok().filter(|&blocks| blocks > 0).ok_or(Status::InvalidValue)?;
    let each = (limits.shared / blocks).saturating_sub(limits.shared_reserved).min(limits.shared_per_block);
    bytes.set((each / limits.shared_unit * limits.shared_unit).saturating_sub(own) as usize)
}
