//! How do the threads of a launch reach a kernel's body on an NVIDIA GPU? Each runs the tasks
//! `first, first + stride, ...` below the launch's size (a grid-stride loop), so that any grid does
//! for any launch; or, where the grid is known to cover the launch, task `first` alone.

use std::borrow::Cow;
use std::collections::HashMap;
use std::mem::offset_of;
use std::sync::Arc;

use rayon::prelude::*;

use super::approximate::flush_subnormals;
use super::builder::{Attribute, AttributeLoc, Context, IntPredicate, Llvm, Ty, Val};
use super::debug_locations::{self, DebugLocations};
use super::flatten;
use super::join::join;
use super::join_ir::join_ir;
use super::library::{Library, LibraryText, Parts, TextKey};
use super::local_memory;
use super::lower::{BlockSums, GpuKernel, Lower, Mode, ModuleState, Scalars, Target, Thread};
use super::machine::{LEAN, Lease, Machine};
use super::ops::Floats;
use super::options::{ArrayLayout, Checks, CodegenError, Grid, Opt, Prints, PtxOptions};
use super::param_names::name_parameters;
use super::strips::{self, Strips};
use super::vector_sums;
use crate::abi::{self, DeviceStatus, LaunchBounds};
use crate::analysis::effects::EffectTable;
use crate::analysis::rounding;
use crate::codegen::blocks;
use crate::codegen::prints::{self, Print};
use crate::codegen::shadow::{self, Shadows};
use crate::codegen::sites::Sites;
use crate::diag::Code;
use crate::ir::{BinaryOp, FuncId, FunctionKind, Inst, Module, Op, Phase, UnaryOp};
use crate::limits::MAX_PARAMETER_BYTES;
use crate::passes::block_threads::own_threads;
use crate::passes::pipelines::{loads_once, own_elements};
use crate::passes::{index_checks, zero_adjoints};
use crate::source::FileId;
use crate::types::{Layout, Scalar, Type};

const FULL: &str = "function(sroa,early-cse<memssa>,instcombine,simplifycfg,loop-mssa(loop-rotate,licm),\
                    loop(indvars,loop-idiom,loop-deletion,loop-unroll-full),sroa,gvn,sccp,bdce,instcombine,\
                    loop-mssa(licm),simplifycfg,dse,adce,loop-unroll<O2>,instcombine,early-cse,simplifycfg,\
                    infer-address-spaces,infer-alignment)";

/// The bytes of shared memory that launches of a kernel have to ask for; `ptx` is its text.
pub fn asked_shared(module: &Module, kernel: FuncId, options: &PtxOptions, ptx: &str) -> Result<u32, CodegenError> {
    if !ptx.contains(".extern .shared") {
        return Ok(0);
    }
    let checked = with_checks(module, options);
    let shared = blocks::shared(&checked, &[kernel], options.tensor(), options.arch.shared)?;
    Ok(blocks::Memory::of(&shared.functions[kernel], &shared.structs).asked as u32)
}

/// What checked code of a module is made from.
fn with_checks<'a>(module: &'a Module, options: &PtxOptions) -> Cow<'a, Module> {
    if options.checks == Checks::None { Cow::Borrowed(module) } else { index_checks::add(module) }
}

/// The module whose functions load an element once, and test its index once
/// ([`pipelines::loads_once`](loads_once)): LLVM does not join loads behind tests.
fn with_loads_once(module: Cow<'_, Module>) -> Cow<'_, Module> {
    let mut effects = EffectTable::default();
    let mut changed = module;
    for id in changed.functions.ids() {
        if changed.functions.is_linked(id) || changed.functions[id].by_block {
            continue;
        }
        changed.functions.callees(id).into_iter().for_each(|callee| effects.cover(&changed, callee));
        let mut function = changed.functions[id].clone();
        if loads_once(&mut function, &changed.structs, &effects) {
            changed.to_mut().functions[id] = function;
        }
    }
    changed
}

/// The module whose backward entries compute nothing dear of adjoints that are zero.
fn without_zero_adjoints<'m>(module: Cow<'m, Module>, kernels: &[FuncId]) -> Cow<'m, Module> {
    let backward = |id: &&FuncId| module.functions[**id].phase == Phase::Backward && !module.functions[**id].by_block;
    let backward: Vec<FuncId> = kernels.iter().filter(backward).copied().collect();
    let mut effects = EffectTable::default();
    let mut changed = module;
    for id in backward {
        let mut function = changed.functions[id].clone();
        function.callees().into_iter().for_each(|callee| effects.cover(&changed, callee));
        if zero_adjoints::run(&mut function, &effects, &|callee| is_dear(&changed, callee)) {
            changed.to_mut().functions[id] = function;
        }
    }
    changed
}

/// Whether a function divides or takes roots, which take many instructions.
fn is_dear(module: &Module, id: FuncId) -> bool {
    let function = &module.functions[id];
    let float = |value| function.ty(value).scalar_part().is_some_and(|s| s.is_float());
    let slow = |inst: &Inst| {
        matches!(inst.op, Op::Unary(UnaryOp::Sqrt, _)) || matches!(inst.op, Op::Binary(BinaryOp::Div, a, _) if float(a))
    };
    function.has(slow) || function.callees().into_iter().any(|callee| is_dear(module, callee))
}

/// Kernels of a file that are one LLVM module. Modules are compiled side by side, but each costs
/// about 2 ms of its own: as much as half a lean kernel. What is in which module must not depend on
/// the machine, as the text does.
fn kernels_in_module(opt: Opt) -> usize {
    match opt {
        Opt::Full => 4,
        Opt::Lean | Opt::None => 16,
    }
}

/// The PTX text of the kernels, each as `NAME_cuda_kernel_forward`. `known`: the texts of library
/// functions that were compiled before.
pub fn emit_ptx(
    module: &Module,
    kernels: &[FuncId],
    options: &PtxOptions,
    known: &Parts,
) -> Result<String, CodegenError> {
    emit(module, kernels, options, known, Places::None)
}

/// The same with the directives that tell places (`.loc`): a line of theirs is an offset in bytes
/// into the file `source`, and one.
pub fn emit_ptx_located(
    module: &Module,
    kernels: &[FuncId],
    options: &PtxOptions,
    known: &Parts,
    source: FileId,
) -> Result<String, CodegenError> {
    emit(module, kernels, options, known, Places::Located(source))
}

/// The same, with a mark around each instruction that comes from the file `source`
/// ([`crate::source::lined`]).
pub fn emit_ptx_marked(
    module: &Module,
    kernels: &[FuncId],
    options: &PtxOptions,
    known: &Parts,
    source: FileId,
) -> Result<String, CodegenError> {
    emit(module, kernels, options, known, Places::Marked(source))
}

/// What PTX says of the file that it comes from.
#[derive(Clone, Copy)]
enum Places {
    None,
    /// Marks around instructions ([`crate::source::lined`]).
    Marked(FileId),
    /// LLVM's directives.
    Located(FileId),
}

impl Places {
    fn source(self) -> Option<FileId> {
        match self {
            Places::None => None,
            Places::Marked(source) | Places::Located(source) => Some(source),
        }
    }
}

fn emit(
    module: &Module,
    kernels: &[FuncId],
    options: &PtxOptions,
    known: &Parts,
    places: Places,
) -> Result<String, CodegenError> {
    let options = &with_parameters(module, kernels, *options);
    let ready = Ready::of(module, kernels, options, known)?;
    let part = |kernels: &Vec<FuncId>| ready.compile(&Context::create(), kernels, options, false, places)?.ptx(places);
    let parts = in_parts(module, kernels, kernels_in_module(options.opt));
    // Only on a pool that the caller is in: kernels nest deep, and it knows how large the stacks
    // are.
    let texts: Vec<Result<String, CodegenError>> = match rayon::current_thread_index() {
        Some(_) => parts.par_iter().map(part).collect(),
        None => parts.iter().map(part).collect(),
    };
    let text = join(texts.into_iter().map(|text| Ok(text?.into())).collect::<Result<_, CodegenError>>()?);
    Ok(name_parameters(&text, module, kernels))
}

/// The entries in parts of so many kernels.
fn in_parts(module: &Module, entries: &[FuncId], kernels: usize) -> Vec<Vec<FuncId>> {
    let mut number: HashMap<&str, usize> = HashMap::new();
    let mut parts: Vec<Vec<FuncId>> = Vec::new();
    for &id in entries {
        let next = number.len();
        let part = *number.entry(&module.functions[id].source_name).or_insert(next) / kernels;
        if part == parts.len() {
            parts.push(Vec::new());
        }
        parts[part].push(id);
    }
    parts
}

/// The optimised LLVM IR of the kernels.
pub(super) fn emit_ir(
    module: &Module,
    kernels: &[FuncId],
    options: &PtxOptions,
    known: &Parts,
) -> Result<String, CodegenError> {
    let options = &with_parameters(module, kernels, *options);
    Ready::of(module, kernels, options, known)?.compile(&Context::create(), kernels, options, true, Places::None)?.ir()
}

/// The optimised LLVM IR of the kernels and its PTX, from one compilation.
pub(super) fn emit_both(
    module: &Module,
    kernels: &[FuncId],
    options: &PtxOptions,
    known: &Parts,
) -> Result<(String, String), CodegenError> {
    let options = &with_parameters(module, kernels, *options);
    let ready = Ready::of(module, kernels, options, known)?;
    let context = Context::create();
    let compiled = ready.compile(&context, kernels, options, true, Places::None)?;
    // The back end works on the module: its text is taken first.
    Ok((compiled.ir()?, compiled.ptx(Places::None)?))
}

/// A module whose kernels can be compiled.
struct Ready<'a> {
    module: Cow<'a, Module>,
    shadows: Shadows,
    /// What the code may record.
    sites: Sites,
    /// What it may print, where that is written down.
    prints: Option<Vec<Print>>,
    known: &'a Parts,
}

/// Gradients that add plainly to elements of one thread each.
fn with_own_elements<'a>(mut module: Cow<'a, Module>, kernels: &[FuncId]) -> Cow<'a, Module> {
    let mut effects = EffectTable::default();
    for &kernel in kernels {
        module.functions[kernel].callees().into_iter().for_each(|callee| effects.cover(&module, callee));
    }
    for &kernel in kernels {
        let function = &module.functions[kernel];
        // Who writes an atomic sum may mean it for another launch at the same time.
        if function.phase == Phase::Backward && !function.by_block {
            let mut function = module.functions[kernel].clone();
            own_elements(&mut function, &module.structs, &effects);
            module.to_mut().functions[kernel] = function;
        }
    }
    module
}

impl Ready<'_> {
    fn of<'a>(
        module: &'a Module,
        kernels: &[FuncId],
        options: &PtxOptions,
        known: &'a Parts,
    ) -> Result<Ready<'a>, CodegenError> {
        for &kernel in kernels {
            // The tiles of a kernel that works on them are the block's, and looked at there.
            if !module.functions[kernel].by_block {
                local_memory::validate(module, kernel)?;
            }
            validate_parameters(module, kernel)?;
        }
        let sites = match options.checks {
            Checks::Recorded => Sites::of(module, true),
            Checks::None | Checks::Simulated => Sites::default(),
        };
        let prints = (options.prints == Prints::Ring).then(|| prints::prints(module));
        let (module, shadows) = shadow::extract_all(module, kernels);
        let module = without_zero_adjoints(module, kernels);
        let module = if options.layout == ArrayLayout::Apart { with_own_elements(module, kernels) } else { module };
        let module = if options.checks == Checks::Recorded { with_loads_once(module) } else { module };
        let module = match with_checks(&module, options) {
            Cow::Owned(checked) => Cow::Owned(checked),
            Cow::Borrowed(_) => module,
        };
        let module = match blocks::shared(&module, kernels, options.tensor(), options.arch.shared)? {
            Cow::Owned(shared) => Cow::Owned(shared),
            Cow::Borrowed(_) => module,
        };
        for &kernel in kernels.iter().filter(|&&kernel| module.functions[kernel].by_block) {
            local_memory::validate(&module, kernel)?;
        }
        Ok(Ready { module, shadows, sites, prints, known })
    }

    /// The optimised module, `names`: in which values have theirs.
    fn compile<'ctx>(
        &self,
        context: &'ctx Context,
        kernels: &[FuncId],
        options: &PtxOptions,
        names: bool,
        places: Places,
    ) -> Result<Compiled<'ctx>, CodegenError> {
        let mut machine = Machine::nvptx(options.arch, options.opt)?;
        let ll = empty_module(context, &machine, options, names);
        let mut state = self.state(&ll, options, names);
        if options.fmad {
            state.as_written = rounding::as_written(&self.module);
        }
        state.locations = places.source().map(|source| DebugLocations::new(&ll, source));
        state.library = (options.opt != Opt::Full)
            .then(|| Library::new(&self.module, options.fmad, Target::Nvptx { checks: options.checks }));
        for &kernel in kernels {
            entry(&mut state, kernel, options);
        }
        state.finish();
        let called = state.library.take().map(Library::into_called).unwrap_or_default();
        let library =
            called.iter().map(|&(id, _, fingerprint)| self.library_part(id, fingerprint, &machine, options, names));
        let library = library.collect::<Result<_, _>>()?;
        let lean = options.opt != Opt::Full || !ll.size().bears_device_passes();
        if lean && options.opt == Opt::Full {
            machine = Machine::nvptx(options.arch, Opt::Lean)?;
        }
        machine.optimise(&ll, if lean { LEAN } else { FULL })?;
        Ok(Compiled { ll, machine, library })
    }

    /// What is known while code is made for a GPU.
    fn state<'s, 'ctx>(&'s self, ll: &'s Llvm<'ctx>, options: &PtxOptions, names: bool) -> ModuleState<'s, 'ctx> {
        let target = Target::Nvptx { checks: options.checks };
        let mut state = ModuleState::new(&self.module, &self.shadows, ll, target, Floats::NVPTX, names);
        state.rows = options.opt == Opt::Full;
        state.vector_sums = vector_sums::has(options);
        state.sites = self.sites.clone();
        state.prints = self.prints.as_deref();
        state
    }

    /// The texts of a library function that kernels call.
    fn library_part(
        &self,
        id: FuncId,
        fingerprint: u128,
        machine: &Machine,
        options: &PtxOptions,
        names: bool,
    ) -> Result<Arc<LibraryText>, CodegenError> {
        let kind = TextKey { arch: options.arch.name, fmad: options.fmad, ir: names };
        self.known.get_or_make(fingerprint, kind, || {
            let context = Context::create();
            let ll = empty_module(&context, machine, options, names);
            self.state(&ll, options, names).library_function(id);
            machine.optimise(&ll, LEAN)?;
            let ir = names.then(|| ll.print());
            // Callers in other modules see the alignments that the ABI gives to results, not those
            // of internal functions.
            let ptx = text(&ll, machine)?.replace(".visible .func", ".func");
            Ok(LibraryText { ir, ptx })
        })
    }
}

fn empty_module<'ctx>(context: &'ctx Context, machine: &Machine, options: &PtxOptions, names: bool) -> Llvm<'ctx> {
    let ll = Llvm::new(context, "kc", "device", names);
    ll.contract.set(options.fmad);
    machine.prepare(&ll);
    ll
}

/// An optimised module, and the library functions that it calls.
struct Compiled<'ctx> {
    ll: Llvm<'ctx>,
    machine: Lease,
    library: Vec<Arc<LibraryText>>,
}

impl Compiled<'_> {
    fn ir(&self) -> Result<String, CodegenError> {
        let library = self.library.iter().filter_map(|part| part.ir.as_deref());
        Ok(join_ir(self.ll.print(), library))
    }

    /// With marks, if they are asked for, around what comes from a file of the user's.
    fn ptx(&self, places: Places) -> Result<String, CodegenError> {
        let mut own = text(&self.ll, &self.machine)?;
        if let Places::Marked(source) = places {
            own = debug_locations::marked(&own, source);
        }
        // Functions stand before what calls them.
        let library = self.library.iter().map(|part| Cow::from(&part.ptx));
        Ok(join(library.chain([own.into()]).collect()))
    }
}

/// The PTX of an optimised module.
fn text(ll: &Llvm, machine: &Machine) -> Result<String, CodegenError> {
    let text = String::from_utf8(machine.emit(ll, true)?);
    Ok(tidy(&text.map_err(|_| CodegenError::internal("PTX that is no text".to_string()))?))
}

/// The bytes of the parameters of a kernel in every version of PTX, and the first version in which
/// they may take more, from Volta on.
const SMALL_PARAMETERS: (u32, u32) = (4096, 81);

/// The same options, in a version of PTX that has room for the parameters of these kernels, and
/// adds their vectors.
fn with_parameters(module: &Module, kernels: &[FuncId], mut options: PtxOptions) -> PtxOptions {
    let (small, version) = SMALL_PARAMETERS;
    if kernels.iter().any(|&kernel| parameter_bytes(module, kernel) > small) {
        options.arch.ptx = options.arch.ptx.max(version);
    }
    options.arch.ptx = options.arch.ptx.max(vector_sums::version(module, &options));
    options
}

fn parameter_bytes(module: &Module, kernel: FuncId) -> u32 {
    let function = &module.functions[kernel];
    let types: Vec<Type> = function.params().iter().map(|p| function.ty(*p)).collect();
    abi::argument_layout(&types, &module.structs).1.size + size_of::<LaunchBounds>() as u32
}

fn validate_parameters(module: &Module, kernel: FuncId) -> Result<(), CodegenError> {
    let function = &module.functions[kernel];
    let size = parameter_bytes(module, kernel);
    if size > MAX_PARAMETER_BYTES {
        return Err(CodegenError {
            code: Code::E0803,
            message: format!(
                "the parameters of `{}` take {size} bytes; a kernel can have {MAX_PARAMETER_BYTES}",
                function.source_name
            ),
            span: Some(function.span),
        });
    }
    Ok(())
}

/// Removes what depends on what else the process compiled (LLVM numbers calls by a counter of the
/// process), the marks around single instructions, and comments about visibility, which a directive
/// says.
fn tidy(text: &str) -> String {
    let mut tidy = String::with_capacity(text.len());
    for line in text.lines() {
        let line = line.trim_ascii_end();
        // Comments alone have a slash.
        let code = match line.find('/') {
            None => line,
            Some(_) if matches!(line.trim_start(), "// begin inline asm" | "// end inline asm") => continue,
            Some(_) if line.starts_with("\t// .globl") => continue,
            Some(_) => line.split_once("// callseq").map_or(line, |(code, _)| code.trim_end()),
        };
        tidy.push_str(code);
        tidy.push('\n');
    }
    tidy
}

/// How a parameter is passed.
enum Passing {
    /// In a register type of its own.
    Scalar(Scalar),
    /// As bytes in parameter memory.
    Bytes(Layout),
}

fn entry(state: &mut ModuleState, kernel: FuncId, options: &PtxOptions) {
    let (ll, ir) = (state.ll, state.ir);
    let function = &ir.functions[kernel];
    let waits = ir.grid_sync_below(kernel).is_some();
    let types: Vec<Type> = function.params().iter().map(|p| function.ty(*p)).collect();
    let bounds = Layout { size: size_of::<LaunchBounds>() as u32, align: align_of::<LaunchBounds>() as u32 };
    let mut passing = vec![Passing::Bytes(bounds)];
    passing.extend(types.iter().map(|&ty| match ty {
        Type::Scalar(s) => Passing::Scalar(s),
        _ => Passing::Bytes(Layout::of(ty, &ir.structs)),
    }));
    let llvm_types: Vec<Ty> = passing
        .iter()
        .map(|p| match p {
            Passing::Scalar(s) => state.ops.memory_ty(*s),
            Passing::Bytes(_) => ll.ptr(0),
        })
        .collect();
    let made = ll.add_function(&abi::device_entry(&function.source_name, function.phase), None, &llvm_types, false);
    ll.set_ptx_kernel(made);
    if let Some(threads) = own_threads(function) {
        ll.add_attribute(made, AttributeLoc::Function, Attribute::Text("nvvm.reqntid", &threads.to_string()));
    }
    if function.fast_math {
        flush_subnormals(ll, made);
    }
    state.enter(made, kernel);
    for (n, p) in passing.iter().enumerate() {
        if let Passing::Bytes(layout) = p {
            let place = AttributeLoc::Param(n as u32);
            ll.add_attribute(made, place, Attribute::Typed("byval", ll.bytes(u64::from(layout.size))));
            ll.add_attribute(made, place, Attribute::Number("align", u64::from(layout.align)));
        }
    }

    let start = ll.block(made, "start");
    ll.position_at_end(start);
    let special = |name| ll.intrinsic(name, &[], &[]);
    let block_dim = special("llvm.nvvm.read.ptx.sreg.ntid.x");
    let launch = ll.param(made, 0);
    let zero32 = ll.const_i32(0);
    let status = match options.checks {
        Checks::Recorded => ll.shared_bytes(abi::DEVICE_STATUS, size_of::<DeviceStatus>() as u64),
        Checks::None | Checks::Simulated => ll.zero(ll.ptr(0)),
    };
    let thread = Thread { coordinates: [zero32; 4], block_dim, linear: ll.const_i64(0), status };
    let mut lower = Lower::new(state, made, start, thread, None);
    let mut args: Vec<Scalars> = types
        .iter()
        .enumerate()
        .map(|(n, &ty)| {
            let param = ll.param(made, n as u32 + 1);
            match ty {
                Type::Scalar(s) => Scalars::from_slice(&[lower.ops.decode(s, param)]),
                _ => {
                    let mut scalars = lower.load_argument(param, ty, 1);
                    if options.layout.is_dense() {
                        make_contiguous(&mut lower, ty, &mut scalars);
                    }
                    scalars
                }
            }
        })
        .collect();
    lower.default_adjoints(kernel, &mut args);
    if options.layout.is_dense() {
        lower.aligned.extend(args.iter().flatten());
    }
    let rank = match function.kind {
        FunctionKind::Kernel { rank } => usize::from(rank),
        FunctionKind::Device => 1,
    };
    lower.mode = Mode::Kernel(GpuKernel {
        asked_places: blocks::asked_places(function, &ir.structs).unwrap_or_default(),
        // Behind a barrier of the grid others read what was added before it.
        block_sums: (!function.by_block && !waits).then(BlockSums::default),
        private: Vec::new(),
    });
    let tasks = Tasks { launch, block_dim, rank, by_block: function.by_block };
    // A thread is at one place: of several tasks one would wait for the others.
    let grid = if waits { Grid::Covering } else { options.grid };
    match grid {
        Grid::Any => tasks.in_turns_or_private(&mut lower, kernel, args),
        Grid::Strips => tasks.in_strips(&mut lower, kernel, args, options.layout),
        Grid::Covering => tasks.at_once(&mut lower, |lower| tasks.kernel(lower, kernel, args)),
    }
    // Of the descriptors of arrays most kernels need a part.
    ll.delete_unused(start);
}

/// The tasks of a launch: those that the running thread does, and where each lies in the launch.
struct Tasks<'ctx> {
    launch: Val<'ctx>,
    block_dim: Val<'ctx>,
    rank: usize,
    /// A block does a task, not a thread.
    by_block: bool,
}

impl<'ctx> Tasks<'ctx> {
    /// The number of the thread, or the block, in its grid, as 32 or 64 bits.
    fn thread_number(&self, lower: &Lower<'_, '_, 'ctx>, ty: Ty<'ctx>) -> Val<'ctx> {
        let ll = lower.ll;
        let special = |name| wide(ll, ll.intrinsic(name, &[], &[]), ty);
        if self.by_block {
            return special("llvm.nvvm.read.ptx.sreg.ctaid.x");
        }
        let thread = special("llvm.nvvm.read.ptx.sreg.tid.x");
        let block = special("llvm.nvvm.read.ptx.sreg.ctaid.x");
        ll.add(ll.mul(block, wide(ll, self.block_dim, ty)), thread)
    }

    /// The extents beyond the first.
    fn inner_extents(&self, lower: &Lower<'_, '_, 'ctx>, ty: Ty<'ctx>) -> Vec<Val<'ctx>> {
        let ll = lower.ll;
        (1..self.rank).map(|k| wide(ll, ll.load(ll.i32(), ll.offset_by(self.launch, 4 * k as u64), 4), ty)).collect()
    }

    /// Tells where task number `task` lies.
    fn locate(&self, lower: &mut Lower<'_, '_, 'ctx>, task: Val<'ctx>, inner_extents: &[Val<'ctx>]) {
        let ll = lower.ll;
        let narrow = |v| if ll.ty(v) == ll.i32() { v } else { ll.trunc(v, ll.i32()) };
        let mut rest = task;
        for (k, &extent) in (1..self.rank).zip(inner_extents).rev() {
            let quotient = ll.udiv(rest, extent);
            lower.thread.coordinates[k] = narrow(ll.sub(rest, ll.mul(quotient, extent)));
            rest = quotient;
        }
        lower.thread.coordinates[0] = narrow(rest);
        lower.thread.linear = wide(ll, task, ll.i64());
    }

    /// The body of a kernel for the task at hand.
    fn kernel<'a>(&self, lower: &mut Lower<'_, 'a, 'ctx>, kernel: FuncId, args: Vec<Scalars<'ctx>>) {
        lower.kernel_for_launch(kernel, args, &|lower| {
            let ll = lower.ll;
            let size = self.size(ll);
            if self.rank == 1 {
                return (vec![size], ll.bool(true));
            }
            let mut extents = vec![wide(ll, ll.load(ll.i32(), self.launch, 4), ll.i64())];
            extents.extend(self.inner_extents(lower, ll.i64()));
            let all = extents.iter().copied().reduce(|all, extent| ll.mul(all, extent)).unwrap_or(size);
            // A launch with more dimensions than the kernel has coordinates.
            (extents, ll.icmp(IntPredicate::ULE, size, all))
        });
    }

    /// The thread's task, if the launch has so many. Ends the function.
    fn at_once(&self, lower: &mut Lower<'_, '_, 'ctx>, body: impl FnOnce(&mut Lower<'_, '_, 'ctx>)) {
        let ll = lower.ll;
        let (task_block, done) = (ll.block(lower.into.function, "task"), ll.block(lower.into.function, "done"));
        let task = self.thread_number(lower, ll.i32());
        // The low half: the other one is 0.
        let size = ll.load(ll.i32(), ll.offset_by(self.launch, offset_of!(LaunchBounds, size) as u64), 8);
        let inner_extents = self.inner_extents(lower, ll.i32());
        let begin = ll.current_block();
        ll.position_at_end(task_block);
        self.locate(lower, task, &inner_extents);
        body(lower);
        ll.br(done);
        ll.position_at_end(begin);
        lower.begin_block_sums();
        ll.cond_br(ll.icmp(IntPredicate::ULT, task, size), task_block, done);
        ll.position_at_end(done);
        lower.end_block_sums();
        ll.ret(None);
    }

    /// [`Self::in_turns`], with copies of what the block adds to where it may have such
    /// ([`super::private_sums`]).
    fn in_turns_or_private<'a>(&self, lower: &mut Lower<'_, 'a, 'ctx>, kernel: FuncId, args: Vec<Scalars<'ctx>>) {
        let ll = lower.ll;
        let copies = lower.private_copies(&lower.ir.functions[kernel], &args, self.size(ll));
        if let Some(some) = lower.any_copy(&copies) {
            let [with, without] = ["private", "direct"].map(|name| ll.block(lower.into.function, name));
            ll.cond_br(some, with, without);
            ll.position_at_end(with);
            lower.begin_private(&copies);
            let set = |lower: &mut Lower<'_, 'a, 'ctx>, private| {
                if let Some(own) = lower.mode.kernel_mut() {
                    own.private = private;
                    own.block_sums = Some(BlockSums::default());
                }
            };
            set(lower, copies.clone());
            self.in_turns(lower, |lower| self.kernel(lower, kernel, args.clone()));
            lower.end_private(&copies);
            lower.end_block_sums();
            ll.ret(None);
            ll.position_at_end(without);
            set(lower, Vec::new());
        }
        self.in_turns(lower, |lower| self.kernel(lower, kernel, args));
        lower.end_block_sums();
        ll.ret(None);
    }

    /// How many tasks the launch has.
    fn size(&self, ll: &Llvm<'ctx>) -> Val<'ctx> {
        ll.load(ll.i64(), ll.offset_by(self.launch, offset_of!(LaunchBounds, size) as u64), 8)
    }

    /// How many tasks lie between two of a thread: as many as the grid has threads, or blocks.
    fn stride(&self, ll: &Llvm<'ctx>) -> Val<'ctx> {
        let grid = ll.intrinsic("llvm.nvvm.read.ptx.sreg.nctaid.x", &[], &[]);
        let in_block = if self.by_block { ll.const_i64(1) } else { wide(ll, self.block_dim, ll.i64()) };
        ll.mul(wide(ll, grid, ll.i64()), in_block)
    }

    /// [`Self::in_turns`], four tasks at once as long as there are four and arrays lie apart
    /// ([`super::strips`]).
    fn in_strips<'a>(
        &self,
        lower: &mut Lower<'_, 'a, 'ctx>,
        kernel: FuncId,
        args: Vec<Scalars<'ctx>>,
        layout: ArrayLayout,
    ) {
        let ll = lower.ll;
        let first = self.thread_number(lower, ll.i64());
        let Some(strips) = Strips::of(lower.ir, kernel) else {
            return self.in_turns_or_private(lower, kernel, args);
        };
        let apart = match layout {
            ArrayLayout::Apart => ll.bool(true),
            _ => lower.are_apart(&lower.ir.functions[kernel], &strips, &args),
        };
        let (stride, size) = (self.stride(ll), self.size(ll));
        let inner_extents = self.inner_extents(lower, ll.i64());
        let times = |n: u64| ll.mul(stride, ll.const_i64(n as i64));
        let [head, four, rest] = ["strips", "strip", "rest"].map(|name| ll.block(lower.into.function, name));
        let begin = ll.current_block();
        ll.br(head);
        ll.position_at_end(head);
        let task = ll.phi(ll.i64());
        ll.add_incoming(task, first, begin);
        let last = ll.add(task, times(strips::TASKS - 1));
        ll.cond_br(ll.and(apart, ll.icmp(IntPredicate::ULT, last, size)), four, rest);

        ll.position_at_end(four);
        lower.stay(&strips, &args);
        for n in 0..strips::TASKS {
            let here = ll.ptx_opaque(ll.add(task, times(n)));
            self.locate(lower, here, &inner_extents);
            self.kernel(lower, kernel, args.clone());
        }
        lower.may_change();
        let latch = ll.current_block();
        ll.add_incoming(task, ll.add(task, times(strips::TASKS)), latch);
        ll.br(head);
        ll.ends(latch);

        ll.position_at_end(rest);
        self.in_turns_from(lower, task, |lower| self.kernel(lower, kernel, args));
        lower.end_block_sums();
        ll.ret(None);
    }

    /// The thread's task and every one that lies a grid further.
    fn in_turns<'a>(&self, lower: &mut Lower<'_, 'a, 'ctx>, body: impl FnOnce(&mut Lower<'_, 'a, 'ctx>)) {
        let first = self.thread_number(lower, lower.ll.i64());
        self.in_turns_from(lower, first, body);
    }

    fn in_turns_from<'a>(
        &self,
        lower: &mut Lower<'_, 'a, 'ctx>,
        first: Val<'ctx>,
        body: impl FnOnce(&mut Lower<'_, 'a, 'ctx>),
    ) {
        let ll = lower.ll;
        let block = |name| ll.block(lower.into.function, name);
        let (head, task_block, done) = (block("tasks"), block("task"), block("done"));
        let stride = self.stride(ll);
        let size = self.size(ll);
        let inner_extents = self.inner_extents(lower, ll.i64());
        let begin = ll.current_block();

        ll.position_at_end(head);
        let task = ll.phi(ll.i64());
        ll.cond_br(ll.icmp(IntPredicate::ULT, task, size), task_block, done);

        ll.position_at_end(task_block);
        // LLVM would keep further numbers that grow with this one in registers of their own, all
        // through the body.
        let task_here = ll.ptx_opaque(task);
        self.locate(lower, task_here, &inner_extents);
        body(lower);
        let next = ll.add(task_here, stride);
        let latch = ll.current_block();
        ll.add_incoming(task, next, latch);
        ll.br(head);
        ll.ends(latch);
        ll.position_at_end(begin);
        lower.begin_block_sums();
        ll.add_incoming(task, first, ll.current_block());
        ll.br(head);
        ll.position_at_end(done);
    }
}

/// An unsigned number as 32 or 64 bits.
fn wide<'ctx>(ll: &Llvm<'ctx>, value: Val<'ctx>, ty: Ty<'ctx>) -> Val<'ctx> {
    if ll.ty(value) == ty { value } else { ll.zext(value, ty) }
}

/// Replaces the strides of the arrays in a value by those of dense arrays.
fn make_contiguous<'ctx>(lower: &mut Lower<'_, '_, 'ctx>, ty: Type, scalars: &mut [Val<'ctx>]) {
    let (ll, structs) = (lower.ll, &lower.ir.structs);
    match ty {
        Type::Array(array) => {
            let (n, strides) = (usize::from(array.ndim), flatten::array_strides(array.ndim));
            let mut stride = ll.const_i32(Layout::of_element(array.element, structs).size as i32);
            for dim in (0..n).rev() {
                scalars[strides + dim] = stride;
                stride = ll.mul(stride, scalars[flatten::ARRAY_SHAPE + dim]);
            }
        }
        Type::Struct(id) => {
            let mut start = 0;
            for field in &structs[id].fields {
                let count = flatten::leaf_count(field.ty, structs);
                make_contiguous(lower, field.ty, &mut scalars[start..start + count]);
                start += count;
            }
        }
        _ => {}
    }
}
