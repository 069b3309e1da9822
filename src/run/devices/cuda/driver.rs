//! The CUDA driver, which is loaded when first asked for: kc needs neither a driver nor a toolkit
//! to build or to start.
//!
//! Nothing of a launch stays on the device: module, memory and events are released on every way
//! out. A kernel for arrays that are there already stays loaded until it is dropped.

use crate::run::messages;
use std::ffi::{CStr, CString, c_void};
use std::ptr::null_mut;
use std::sync::Arc;

use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys;
use smallvec::{SmallVec, smallvec};

use crate::abi::{self, LaunchBounds, argument_layout};
use crate::codegen::llvm::{
    Arch, ArrayLayout, Checks, DenseArrays, Grid, Opt, Parts, Prints, PrivateSums, PtxOptions, asked_shared, emit_ptx,
    has_block_sums, one_block_keeps_order, strips,
};
use crate::codegen::prints;
use crate::codegen::sites::Sites;
use crate::diag::{Code, Diagnostic};
use crate::ir::{FuncId, FunctionKind, Module};
use crate::run::devices::copies::{self, within_rank};
use crate::run::devices::engines::Ids;
use crate::run::devices::sim::host_bytes;
use crate::run::devices::{Executable, Found, How, Job, Note, Report, Trap};
use crate::run::{Fail, Result, fail};
use crate::types::{StructTable, Type};

use super::context::{Beside, Context, Relaxed};
use super::prints::Ring;
use super::status::{Found as Recorded, Status};
use super::under_way::{self, About};

/// The shared memory that each block has besides its own (the same place: 1 KB).
const RESERVED: u64 = 1 << 10;

/// One GPU of this machine.
#[derive(Clone, Debug)]
pub struct Description {
    pub ordinal: i32,
    pub name: String,
    /// Compute capability: (9, 0).
    pub capability: (i32, i32),
    /// Bytes.
    pub memory: usize,
    pub multiprocessors: i32,
    /// What kc compiles for to run here; None if the GPU is older than all that kc knows.
    pub arch: Option<Arch>,
}

impl Description {
    /// As `kc devices` shows it; `version` is that of [`devices`].
    pub fn found(&self, version: i32) -> Found {
        let (major, minor) = self.capability;
        let arch = self.arch.map_or("too old for kc", |arch| arch.name);
        let about = format!(
            "{}, {:.1} GiB, {} multiprocessors, capability {major}.{minor} (kc compiles {arch}), driver for CUDA {}.{}",
            self.name,
            self.memory as f64 / f64::from(1 << 30),
            self.multiprocessors,
            version / 1000,
            version % 1000 / 10,
        );
        let facts = [
            ("name", self.name.clone().into()),
            ("memory", self.memory.into()),
            ("multiprocessors", self.multiprocessors.into()),
            ("capability", vec![major, minor].into()),
            ("arch", self.arch.map(|arch| arch.name).into()),
            ("cuda_version", vec![version / 1000, version % 1000 / 10].into()),
        ];
        let facts = facts.into_iter().map(|(name, fact)| (name.to_string(), fact)).collect();
        Found { name: format!("cuda:{}", self.ordinal), about, facts }
    }
}

/// All GPUs, and the CUDA version that the driver supports (major * 1000 + minor * 10).
pub fn devices() -> Result<(i32, Vec<Description>)> {
    start()?;
    let mut version = 0;
    // SAFETY: the driver is loaded (`start`), and writes one integer.
    unsafe { sys::cuDriverGetVersion(&mut version) }.result().map_err(|e| refused("its version", e))?;
    let count = result::device::get_count().map_err(|e| refused("the number of devices", e))?;
    let list: Result<Vec<Description>> = (0..count).map(|n| describe(n).map_err(|e| refused("a device", e))).collect();
    Ok((version, list?))
}

/// Loads the driver. The crate that binds it panics where there is none, so that is looked at
/// first.
pub(super) fn start() -> Result<()> {
    // SAFETY: loading the driver's library runs its initialisation, as every CUDA program does.
    if !unsafe { sys::is_culib_present() } {
        return Err(fail(Code::E1104, "the device `cuda` is not available: no NVIDIA driver (libcuda) was found"));
    }
    result::init().map_err(|e| refused("to start", e))
}

/// The driver said no where it answers on any working machine.
pub(super) fn refused(what: &str, error: DriverError) -> Fail {
    fail(Code::E1104, format!("the device `cuda` is not available: the driver refuses {what} ({})", words(error)))
}

/// `CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected`
pub(super) fn words(error: DriverError) -> String {
    let text = |found: std::result::Result<&CStr, DriverError>| {
        found.map_or_else(|_| "unknown".to_string(), |text| text.to_string_lossy().into_owned())
    };
    format!("{}: {}", text(error.error_name()), text(error.error_string()))
}

fn describe(ordinal: i32) -> std::result::Result<Description, DriverError> {
    use sys::CUdevice_attribute as Attribute;
    let device = result::device::get(ordinal)?;
    // SAFETY: `device` came from the driver.
    let attribute = |which| unsafe { result::device::get_attribute(device, which) };
    let capability = (
        attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
        attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
    );
    Ok(Description {
        ordinal,
        name: result::device::get_name(device)?,
        capability,
        // SAFETY: as above.
        memory: unsafe { result::device::total_mem(device) }?,
        multiprocessors: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        arch: arch_for(capability),
    })
}

/// The GPU in whose memory an address is.
pub fn ordinal_of(address: u64) -> Result<i32> {
    start()?;
    let (mut ordinal, what) = (0i32, sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
    // SAFETY: the driver is loaded (`start`), and writes one integer; it looks the address up and
    // does not use it.
    unsafe { sys::cuPointerGetAttribute((&raw mut ordinal).cast(), what, address) }
        .result()
        .map_err(|e| refused("the GPU of an array", e))?;
    Ok(ordinal)
}

/// The newest architecture whose PTX a GPU of this capability runs: PTX runs on its own and all
/// later ones (PTX ISA manual, `.target`).
fn arch_for((major, minor): (i32, i32)) -> Option<Arch> {
    let number = u32::try_from(major * 10 + minor).ok()?;
    Arch::ALL.iter().copied().filter(|arch| arch.number <= number && !arch.is_specific()).max_by_key(|arch| arch.number)
}

/// A kernel loaded on a device.
pub struct Kernel {
    module: sys::CUmodule,
    function: sys::CUfunction,
    name: Arc<str>,
    params: Vec<Type>,
    structs: StructTable,
    /// Where arguments lie in their struct, and its bytes.
    offsets: Vec<u32>,
    size: usize,
    /// The number of coordinates of a thread.
    rank: usize,
    /// A block does a task, not a thread.
    by_block: bool,
    /// Bytes of shared memory that launches ask for.
    asked_shared: u32,
    /// The most threads of a grid, whose threads take tasks in turns ([`Grid::Any`]); None: the
    /// grid covers the launch.
    most_threads: Option<u64>,
    /// A thread does several tasks at once ([`Grid::Strips`]).
    in_strips: bool,
    /// The threads of the one block that runs all of a launch ([`How::in_order`]).
    in_order: Option<u32>,
    /// All threads of a launch wait for each other ([`Op::GridSync`](crate::ir::Op::GridSync)).
    waits: bool,
    /// What its blocks may have copies of, where they ask for memory; and, if its own grid covers
    /// the launch, the same for threads that take tasks in turns.
    private: Option<PrivateSums>,
    in_turns: Option<Box<Kernel>>,
    /// The same for arrays without gaps that share no memory, and what says which launches have
    /// such.
    dense: Option<Box<(DenseArrays, Kernel)>>,
    /// What its threads record, if its code has tests.
    status: Option<Status>,
    /// Where it prints to, if it does.
    ring: Option<Arc<Ring>>,
    /// Last: the module goes before its context.
    context: Context,
}

// SAFETY: the driver's handles are good on every thread on which the context is current, and `run`
// and `drop` see to that.
unsafe impl Send for Kernel {}
// SAFETY: as above; the driver takes launches from several threads.
unsafe impl Sync for Kernel {}

/// Of a kernel with a longer text there is no code for arrays without gaps.
const MOST_DENSE: usize = 64 * 1024;

/// The threads of a block that adds up what a launch brings: the same on every GPU, as the order
/// is, and so few that each may have all registers that there are.
const ADDING: u32 = 256;

impl Kernel {
    /// Compiles a kernel for a GPU and loads it.
    pub fn load(module: &Module, kernel: FuncId, how: &How, ordinal: i32) -> Result<Kernel> {
        start()?;
        let _beside = Beside::begin()?;
        if how.in_order {
            return Kernel::in_order(module, kernel, how, ordinal);
        }
        let (mut made, size) = Kernel::laid_out(module, kernel, how, ordinal, ArrayLayout::Strided)?;
        // Long texts take the driver's compiler long.
        if size <= MOST_DENSE
            && let Some(arrays) = DenseArrays::of(module, kernel)
        {
            let (dense, _) = Kernel::laid_out(module, kernel, how, ordinal, ArrayLayout::Apart)?;
            made.dense = Some(Box::new((arrays, dense)));
        }
        Ok(made)
    }

    /// The same for launches that one thread runs, or one block, whose sums have one order.
    fn in_order(module: &Module, kernel: FuncId, how: &How, ordinal: i32) -> Result<Kernel> {
        let arch = Context::open(ordinal)?.arch;
        let &How { fmad, tensor_cores, checked, .. } = how;
        let (opt, layout, grid, prints) = (Opt::Full, ArrayLayout::Strided, Grid::Any, Prints::Ring);
        let checks = if checked { Checks::Recorded } else { Checks::None };
        let options = PtxOptions { arch, opt, fmad, layout, grid, checks, prints, tensor_cores };
        let text = emit_ptx(module, &[kernel], &options, &Parts::new(0)).map_err(|e| Box::new(Diagnostic::from(e)))?;
        let mut made = Kernel::load_text(module, kernel, &options, text, ordinal)?;
        made.in_order = Some(if one_block_keeps_order(module, kernel) { ADDING } else { 1 });
        Ok(made)
    }

    /// The same for arrays of one layout, and the bytes of its text.
    fn laid_out(
        module: &Module,
        kernel: FuncId,
        how: &How,
        ordinal: i32,
        layout: ArrayLayout,
    ) -> Result<(Kernel, usize)> {
        let arch = Context::open(ordinal)?.arch;
        let &How { fmad, tensor_cores, checked, .. } = how;
        let (opt, grid) = (Opt::Full, Grid::Covering);
        let (checks, prints) = (if checked { Checks::Recorded } else { Checks::None }, Prints::Ring);
        let covering = PtxOptions { arch, opt, fmad, layout, grid, checks, prints, tensor_cores };
        let any = PtxOptions { grid: Grid::Any, ..covering };
        let emit = |options: &PtxOptions| {
            emit_ptx(module, &[kernel], options, &Parts::new(0)).map_err(|e| Box::new(Diagnostic::from(e)))
        };
        if strips::Strips::of(module, kernel).is_some() {
            let options = PtxOptions { grid: Grid::Strips, ..covering };
            let text = emit(&options)?;
            let size = text.len();
            return Ok((Kernel::load_text(module, kernel, &options, text, ordinal)?, size));
        }
        let (text, private) = (emit(&covering)?, PrivateSums::of(module, kernel));
        let size = text.len();
        if has_block_sums(&text) {
            let mut made = Kernel::load_text(module, kernel, &any, emit(&any)?, ordinal)?;
            made.private = private;
            return Ok((made, size));
        }
        let mut made = Kernel::load_text(module, kernel, &covering, text, ordinal)?;
        if private.is_some() && layout == ArrayLayout::Strided {
            made.in_turns = Some(Box::new(Kernel::load_text(module, kernel, &any, emit(&any)?, ordinal)?));
            made.private = private;
        }
        Ok((made, size))
    }

    /// The same of a text that was made with these options.
    fn load_text(module: &Module, kernel: FuncId, options: &PtxOptions, text: String, ordinal: i32) -> Result<Kernel> {
        let context = Context::open(ordinal)?;
        let most_threads = (options.grid == Grid::Any).then_some(context.resident_threads);
        let in_strips = options.grid == Grid::Strips;
        let asked_shared = asked_shared(module, kernel, options, &text).map_err(|e| Box::new(Diagnostic::from(e)))?;
        let function = &module.functions[kernel];
        let prints = text.contains(abi::DEVICE_PRINTS);
        let text = CString::new(text).map_err(|_| fail(Code::E0999, "the PTX text has a zero byte"))?;
        let _relaxed = Relaxed::begin()?;
        let loaded = load_ptx(&text)?;
        let params: Vec<Type> = function.params().iter().map(|&p| function.ty(p)).collect();
        let (offsets, layout) = argument_layout(&params, &module.structs);
        let mut made = Kernel {
            module: loaded,
            function: null_mut(),
            name: function.source_name.as_str().into(),
            params,
            structs: module.structs.clone(),
            offsets,
            size: layout.size as usize,
            rank: match function.kind {
                FunctionKind::Kernel { rank } => rank.into(),
                FunctionKind::Device => return Err(fail(Code::E0999, "a launched function is no kernel")),
            },
            by_block: function.by_block,
            asked_shared,
            most_threads,
            in_strips,
            in_order: None,
            waits: module.grid_sync_below(kernel).is_some(),
            private: None,
            in_turns: None,
            dense: None,
            status: None,
            ring: None,
            context,
        };
        let entry = abi::device_entry(&function.source_name, function.phase);
        let entry = CString::new(entry).map_err(|_| fail(Code::E0999, "a kernel's name has a zero byte"))?;
        // SAFETY: `loaded` lives in `made`.
        made.function = unsafe { result::module::get_function(loaded, entry) }
            .map_err(|e| fail(Code::E0999, format!("the loaded PTX has no kernel `{}` ({})", made.name, words(e))))?;
        // A driver that loads lazily loads the function now, and not at its first launch, which may
        // be one that a graph captures.
        let (mut registers, of) = (0, sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_NUM_REGS);
        // SAFETY: the function was found above; the number is not needed.
        let _ = unsafe { sys::cuFuncGetAttribute(&mut registers, of, made.function) };
        if options.checks == Checks::Recorded {
            made.status = Some(Status::of(loaded, Arc::new(Sites::of(module, true)))?);
        }
        if prints {
            made.ring = Some(Ring::of(ordinal, loaded, &prints::prints(module))?);
        }
        if asked_shared > 0 {
            let most = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            // SAFETY: the function was found above.
            unsafe { sys::cuFuncSetAttribute(made.function, most, asked_shared as i32) }
                .result()
                .map_err(|e| Box::new(messages::no_shared_memory(&made.name, asked_shared, &words(e))))?;
        }
        Ok(made)
    }

    /// Copies the job's memory over, runs, and copies it back.
    ///
    /// # Safety
    /// As for [`Executable::run`].
    unsafe fn run_copied(&self, job: &Job) -> Result<Report> {
        self.context.enter()?;
        let mut copies = Vec::new();
        // SAFETY: the caller vouches for the arguments.
        let mut ids = unsafe { Ids::of(job.args, &self.params, &self.structs) };
        let all = || job.memory.iter().chain(job.constant).copied();
        for (address, len) in all().filter(|&range| !ids.lie_in(range)) {
            // SAFETY: the caller gives this memory to the launch.
            copies.push(Copy::upload(address, unsafe { host_bytes(address, len) })?);
        }
        let piece = |copy: &Copy| (copy.host, copy.len, copy.device);
        let mut pieces: Vec<_> = copies.iter().map(piece).collect();
        ids.copy(&mut pieces, |address, bytes| {
            let copy = Copy::upload(address, bytes)?;
            let device = copy.device;
            copies.push(copy);
            Ok(device)
        })?;
        for (address, len) in all().filter(|&range| ids.lie_in(range)) {
            // SAFETY: the same.
            let copy = Copy::upload(address, &ids.to_device(address, unsafe { host_bytes(address, len) }))?;
            pieces.push(piece(&copy));
            copies.push(copy);
        }
        // SAFETY: the caller vouches for the argument struct.
        let mut words = unsafe { copies::arguments(job.args, &self.params, &self.structs, &pieces, &ids) }?;
        let block = copies::bytes(&mut words);
        let (mut bounds, repeats) = within_rank(&job.bounds, self.rank);
        let mut args: Vec<*mut c_void> = vec![(&raw mut bounds).cast()];
        // A parameter without bytes (an empty struct) still has a place.
        args.extend(self.offsets.iter().map(|&at| block.as_mut_ptr().wrapping_add(at as usize).cast::<c_void>()));

        // SAFETY: the struct of arguments is copied to `block`.
        let (kernel, private) = unsafe { self.chosen(block.as_ptr().cast(), bounds.size, job.block_dim) };
        let seconds = match bounds.size {
            0 => 0.0,
            size => kernel.launch(&mut args, size, repeats, job.block_dim, private)?,
        };
        for copy in copies.iter().filter(|copy| job.memory.contains(&(copy.host, copy.len))) {
            // SAFETY: the caller gives the memory to this launch.
            unsafe { copy.download(&ids) }?;
        }
        let (trap, note) = kernel.status.as_ref().map_or((None, None), Status::take);
        let number =
            |at: [u32; 4]| job.bounds.shape.iter().zip(at).fold(0, |n, (&all, k)| n * u64::from(all) + u64::from(k));
        let trap = trap.map(|(trap, at)| Trap { thread: number(at), ..trap });
        let note = note.map(|(note, at)| Note { thread: number(at), ..note });
        let mut report = Report { seconds: Some(seconds), trap, note, ..Report::default() };
        report.printed.push(&kernel.ring.as_ref().map(|ring| ring.take()).unwrap_or_default());
        Ok(report)
    }

    /// Puts a launch behind what a stream does already, and does not wait for it. Arrays are in the
    /// memory of this GPU.
    ///
    /// # Safety
    /// `args` is the struct of arguments of this kernel. Its arrays, and the stream, stay until the
    /// launch is over.
    pub unsafe fn launch_behind(
        &self,
        stream: u64,
        bounds: &LaunchBounds,
        args: *const c_void,
        block_dim: u32,
    ) -> Result<()> {
        let (mut bounds, repeats) = within_rank(bounds, self.rank);
        if bounds.size == 0 {
            return Ok(());
        }
        // SAFETY: the caller's promise.
        let (kernel, private) = unsafe { self.chosen(args, bounds.size, block_dim) };
        let (threads, block_dim) = (bounds.size, self.block_dim(block_dim));
        let blocks = kernel.blocks(threads, block_dim, private)?;
        let mut values: SmallVec<[*mut c_void; 16]> = smallvec![(&raw mut bounds).cast()];
        // The driver copies them.
        values.extend(self.offsets.iter().map(|&at| args.cast_mut().wrapping_byte_add(at as usize)));
        let handle: sys::CUstream = std::ptr::with_exposed_provenance_mut(stream as usize);
        let _beside = Beside::within(&self.context)?;
        kernel.fits_at_once(blocks, block_dim)?;
        let launched = (0..repeats).try_for_each(|_| {
            // SAFETY: one pointer per parameter of the entry, to values of its types; the rest is
            // the caller's promise.
            unsafe { kernel.start(blocks, block_dim, private, handle, &mut values) }
        });
        let about = About::Kernel(self.name.clone(), threads, block_dim);
        let queue = (self.context.ordinal, stream);
        match launched {
            Ok(()) => {
                under_way::note(queue, about);
                Ok(())
            }
            // A launch before it failed, which the driver says at the next call.
            Err(e) if under_way::is_fault(e) => {
                let fault = under_way::fault(self.context.ordinal, e, Some(&about));
                under_way::note_first(queue, about);
                Err(fault)
            }
            Err(e) => Err(self.fault(e, threads, block_dim)),
        }
    }

    /// What threads of the kernel recorded since the last call: an error, and a gradient that is
    /// near-degenerate.
    pub fn recorded(&self) -> (Option<Recorded<Trap>>, Option<Recorded<Note>>) {
        let dense = self.dense.iter().map(|dense| &dense.1);
        let all = std::iter::once(self).chain(self.in_turns.as_deref()).chain(dense);
        let mut found = (None, None);
        let Ok(_beside) = Beside::begin().and_then(|beside| self.context.enter().map(|()| beside)) else {
            return found;
        };
        for status in all.filter_map(|kernel| kernel.status.as_ref()) {
            // A later call tells of the others.
            if found.0.is_none() {
                let (trap, note) = status.take();
                found = (trap, found.1.or(note));
            }
        }
        found
    }

    /// The code that a launch runs, and the bytes that its blocks ask for to have copies.
    ///
    /// # Safety
    /// `args` is the struct of arguments of this kernel.
    unsafe fn chosen(&self, args: *const c_void, threads: u64, block_dim: u32) -> (&Kernel, u32) {
        if self.private.is_none() && self.dense.is_none() {
            return (self, 0);
        }
        // SAFETY: the caller's promise.
        let args = unsafe { std::slice::from_raw_parts(args.cast::<u8>(), self.size) };
        let one_by_one = || match self.dense.as_deref() {
            Some((arrays, dense)) if arrays.fit(args) => (dense, 0),
            _ => (self, 0),
        };
        let Some(private) = &self.private else { return one_by_one() };
        let block_dim = self.block_dim(block_dim);
        let kernel = self.in_turns.as_deref().unwrap_or(self);
        let bytes = |asked: u32| {
            let blocks = kernel.blocks(threads, block_dim, asked).unwrap_or(1).max(1);
            private.bytes(args, threads / u64::from(blocks))
        };
        // The more a block asks for, the fewer there are at once.
        match bytes(bytes(0)) {
            0 => one_by_one(),
            asked => (kernel, asked),
        }
    }

    /// The threads of its blocks, where a launch asks for so many.
    fn block_dim(&self, asked: u32) -> u32 {
        self.in_order.unwrap_or_else(|| Job::usual_blocks(asked, self.by_block))
    }

    fn blocks(&self, threads: u64, block_dim: u32, private: u32) -> Result<u32> {
        // Numbers of tasks are of 32 bits where grids cover the launch ([`Grid::Covering`]).
        if threads > i32::MAX as u64 {
            let (name, most) = (&self.name, i32::MAX);
            let message = format!("the launch of `{name}` has {threads} threads; one on a GPU can have {most}");
            return Err(fail(Code::E1107, message));
        }
        if self.in_order.is_some() {
            return Ok(1);
        }
        let at_once = |most: u64| {
            // A multiprocessor has the memory of the largest block, which reserves some.
            let blocks = (self.context.arch.shared + RESERVED) / (u64::from(private) + RESERVED);
            most.min(blocks * u64::from(block_dim) * self.context.multiprocessors)
        };
        let threads = match self.most_threads {
            Some(most) => threads.min(at_once(most)),
            None if self.in_strips => strips::threads(threads, self.context.resident_threads),
            None => threads,
        };
        Ok(if self.by_block { threads } else { threads.div_ceil(block_dim.into()) } as u32)
    }

    /// A launch done `repeats` times and waited for; its time on the device in seconds.
    fn launch(
        &self,
        args: &mut [*mut c_void],
        threads: u64,
        repeats: u64,
        block_dim: u32,
        private: u32,
    ) -> Result<f64> {
        let block_dim = self.block_dim(block_dim);
        let blocks = self.blocks(threads, block_dim, private)?;
        self.fits_at_once(blocks, block_dim)?;
        let (start, end) = (Event::new()?, Event::new()?);
        let stream = null_mut();
        let mut run = || {
            // SAFETY: `args` has one pointer per parameter of the entry, to values of its types;
            // events and function are alive.
            unsafe {
                result::event::record(start.0, stream)?;
                for _ in 0..repeats {
                    self.start(blocks, block_dim, private, stream, args)?;
                }
                result::event::record(end.0, stream)?;
            }
            result::ctx::synchronize()?;
            // SAFETY: both events have been reached.
            unsafe { result::event::elapsed(start.0, end.0) }
        };
        let milliseconds = run().map_err(|e| self.fault(e, threads, block_dim))?;
        Ok(f64::from(milliseconds) / 1e3)
    }

    /// Begins a launch.
    ///
    /// # Safety
    /// `values` has one pointer per parameter of the entry, to values of its types, and what these
    /// name stays until the launch is over.
    unsafe fn start(
        &self,
        blocks: u32,
        block_dim: u32,
        private: u32,
        stream: sys::CUstream,
        values: &mut [*mut c_void],
    ) -> std::result::Result<(), DriverError> {
        let (grid, block, shared) = ((blocks, 1, 1), (block_dim, 1, 1), self.asked_shared + private);
        // SAFETY: the caller's promise; the function is loaded.
        unsafe {
            match self.waits {
                true => result::launch_cooperative_kernel(self.function, grid, block, shared, stream, values),
                false => result::launch_kernel(self.function, grid, block, shared, stream, values),
            }
        }
    }

    /// Blocks that wait for each other are on the GPU at once: whether it has room for so many.
    fn fits_at_once(&self, blocks: u32, block_dim: u32) -> Result<()> {
        if !self.waits {
            return Ok(());
        }
        let (mut each, shared) = (0, self.asked_shared as usize);
        // SAFETY: the function is loaded; one number is written.
        unsafe { sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut each, self.function, block_dim as i32, shared) }
            .result()
            .map_err(|e| refused("how many blocks it holds", e))?;
        let most = u64::from(each.unsigned_abs()) * self.context.multiprocessors;
        if u64::from(blocks) <= most {
            return Ok(());
        }
        let launch = format!("{blocks} blocks of {block_dim} threads");
        let most = format!("{most} blocks ({} threads) fit on this GPU at once", most * u64::from(block_dim));
        Err(messages::too_many_to_wait(&self.name, &launch, &most))
    }

    /// The registers of a thread, and the most threads of a block, as the driver says.
    fn room(&self) -> Option<(i32, i32)> {
        use sys::CUfunction_attribute as Of;
        let ask = |of| {
            let mut number = 0;
            // SAFETY: the function is loaded; one number is written.
            unsafe { sys::cuFuncGetAttribute(&mut number, of, self.function) }.result().ok().map(|()| number)
        };
        let registers = ask(Of::CU_FUNC_ATTRIBUTE_NUM_REGS)?;
        ask(Of::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK).map(|most| (registers, most))
    }

    /// What an error of a launch means.
    fn fault(&self, error: DriverError, threads: u64, block_dim: u32) -> Fail {
        use sys::CUresult as E;
        let name = &self.name;
        let launch = format!("kernel `{name}`, {threads} threads in blocks of {block_dim}");
        let what = under_way::meaning(error).unwrap_or("the GPU did not run the launch");
        let message = format!("{what} ({launch})");
        let mut fault = messages::gpu_fault(message, &words(error));
        if matches!(error.0, E::CUDA_ERROR_ILLEGAL_ADDRESS) {
            fault = fault.help("`kc run --device host` tests every index and names the one that is out of bounds");
        }
        if let (E::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, Some((registers, most))) = (error.0, self.room()) {
            fault = fault
                .note(format!("a thread of it has {registers} registers: a block has room for {most} threads"))
                .help(format!("launch it in blocks of {most} threads at most: `block_dim={most}`"));
        }
        Box::new(fault)
    }
}

impl Executable for Kernel {
    unsafe fn run(&self, _: &Module, job: &Job) -> Result<Report> {
        // SAFETY: the same contract.
        unsafe { self.run_copied(job) }
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        // After a fault of a kernel the driver refuses these too, and takes the module back all the
        // same.
        let _beside = Beside::begin();
        let _ = self.context.enter();
        // A launch that nobody waited for may still run.
        let _ = result::ctx::synchronize();
        // SAFETY: loaded in `load`, unloaded once. A failure (after a fault of the kernel) leaves
        // nothing to do.
        let _ = unsafe { result::module::unload(self.module) };
        // While the context is current.
        drop((self.status.take(), self.ring.take()));
    }
}

/// Whether a stream is captured for a graph now, as far as the driver says.
pub fn is_captured(ordinal: i32, stream: u64) -> bool {
    let asked = || -> Result<bool> {
        start()?;
        let _beside = Beside::begin()?;
        let _context = Context::open(ordinal)?;
        let handle: sys::CUstream = std::ptr::with_exposed_provenance_mut(stream as usize);
        // SAFETY: the stream is one of this GPU.
        let status = unsafe { result::stream::is_capturing(handle) };
        Ok(status.is_ok_and(|status| status != sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE))
    };
    asked().unwrap_or(false)
}

/// Gives PTX to the driver's compiler; its own words are part of the message when it refuses.
fn load_ptx(text: &CStr) -> Result<sys::CUmodule> {
    use sys::CUjit_option as Option;
    const LOG: usize = 8192;
    let mut log = vec![0u8; LOG];
    let mut options = [Option::CU_JIT_ERROR_LOG_BUFFER, Option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    // The driver takes sizes in the pointer itself.
    let mut values = [log.as_mut_ptr().cast::<c_void>(), std::ptr::without_provenance_mut(LOG)];
    let mut module = null_mut();
    // SAFETY: two options with a value each; the buffer outlives the call and ends in a zero (it is
    // never filled).
    let loaded = unsafe {
        sys::cuModuleLoadDataEx(&mut module, text.as_ptr().cast(), 2, options.as_mut_ptr(), values.as_mut_ptr())
    };
    loaded.result().map(|()| module).map_err(|error| {
        use sys::CUresult as E;
        let said =
            CStr::from_bytes_until_nul(&log).map_or_else(|_| String::new(), |l| l.to_string_lossy().into_owned());

        let said = if said.trim().is_empty() { words(error) } else { format!("{}: {}", words(error), said.trim()) };
        Box::new(messages::refused_ptx(error.0 == E::CUDA_ERROR_UNSUPPORTED_PTX_VERSION, said))
    })
}

struct Event(sys::CUevent);

impl Event {
    fn new() -> Result<Event> {
        result::event::create(sys::CUevent_flags::CU_EVENT_DEFAULT).map(Event).map_err(|e| refused("an event", e))
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: made in `new`, destroyed once.
        let _ = unsafe { result::event::destroy(self.0) };
    }
}

/// A piece of the host's memory and its copy on the device.
struct Copy {
    host: u64,
    len: u64,
    device: sys::CUdeviceptr,
}

impl Copy {
    fn upload(host: u64, bytes: &[u8]) -> Result<Copy> {
        let len = bytes.len() as u64;
        // SAFETY: plain allocation; `drop` frees it. A size of 0 is an error of the driver.
        let device = unsafe { result::malloc_sync(bytes.len().max(1)) }.map_err(|e| match e.0 {
            sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY => out_of_memory(len),
            _ => refused("memory", e),
        })?;
        let copy = Copy { host, len, device };
        if !bytes.is_empty() {
            // SAFETY: the device's piece is as long.
            unsafe { result::memcpy_htod_sync(device, bytes) }.map_err(|e| refused("a copy to the device", e))?;
        }
        Ok(copy)
    }

    /// # Safety
    /// Nothing else uses the host's memory.
    unsafe fn download(&self, ids: &Ids) -> Result<()> {
        let at = std::ptr::with_exposed_provenance_mut::<u8>(self.host as usize);
        // SAFETY: the caller's promise.
        let bytes = unsafe { std::slice::from_raw_parts_mut(at, self.len as usize) };
        if bytes.is_empty() {
            return Ok(());
        }
        // SAFETY: as long as the device's piece.
        unsafe { result::memcpy_dtoh_sync(bytes, self.device) }.map_err(|e| refused("a copy from the device", e))?;
        if ids.lie_in((self.host, self.len)) {
            let own = ids.to_host(self.host, bytes);
            bytes.copy_from_slice(&own);
        }
        Ok(())
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        // SAFETY: allocated in `upload`, freed once.
        let _ = unsafe { result::free_sync(self.device) };
    }
}

fn out_of_memory(len: u64) -> Fail {
    let room =
        result::mem_get_info().map_or_else(|_| String::new(), |(free, all)| format!("; {free} of {all} are free"));
    fail(Code::E1107, format!("the GPU has no {len} bytes free for an array of the launch{room}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gpu_runs_the_newest_code_that_is_not_newer_than_itself() {
        let name = |capability| arch_for(capability).map(|arch| arch.name);
        assert_eq!(name((9, 0)), Some("sm_90"));
        assert_eq!(name((8, 8)), Some("sm_87"));
        assert_eq!(name((7, 5)), Some("sm_75"));
        assert_eq!(name((7, 0)), None);
    }
}
