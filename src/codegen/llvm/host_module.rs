//! How is a module for the host compiled?

use std::borrow::Cow;
use std::collections::HashMap;

use super::builder::{Context, Func, Llvm};
use super::debug_info::{DebugInfo, DebugTexts};
use super::host::{Entries, SimdBody};
use super::host_passes::optimise;
use super::library::Library;
use super::local_memory;
use super::lower::{ModuleState, Target};
use super::machine::{Lease, Machine};
use super::ops::Floats;
use super::options::{CodegenError, Cpu, HostOptions, Opt};
use super::simd;
use super::versions::Versions;
use crate::codegen::shadow::{self, Shadows};
use crate::codegen::sites::Sites;
use crate::diag::Code;
use crate::ids::IdSet;
use crate::ir::{FuncId, Module};
use crate::passes::{block_alone, reverse_sums};

/// An optimised host module.
pub(super) struct Compiled<'ctx> {
    pub ll: Llvm<'ctx>,
    /// Makes code of it.
    pub machine: Lease,
    pub sites: Sites,
    /// Objects of library functions that it calls and that were not there before: each defines
    /// [`symbol`] of its fingerprint.
    pub library: Vec<(u128, Vec<u8>)>,
}

/// The name of a library function that code of other modules calls: those of one fingerprint are
/// one function.
fn symbol(fingerprint: u128) -> String {
    format!("kc_library_{fingerprint:032x}")
}

/// What some callers want of a host module.
#[derive(Clone, Copy, Default)]
pub(super) struct Extras<'a> {
    /// Values keep the names of their source variables.
    pub names: bool,
    /// Library functions are called rather than inlined, and those of these fingerprints are there.
    pub library: Option<&'a IdSet<u128>>,
    /// The texts that debug information is about.
    pub debug: Option<DebugTexts<'a>>,
}

pub(super) fn compile<'ctx>(
    context: &'ctx Context,
    module: &Module,
    kernels: &[FuncId],
    options: &HostOptions,
    extras: Extras<'_>,
) -> Result<Compiled<'ctx>, CodegenError> {
    let Extras { names, library, .. } = extras;
    for &kernel in kernels {
        local_memory::validate(module, kernel)?;
        if let Some(span) = module.grid_sync_below(kernel) {
            let name = &module.functions[kernel].source_name;
            let message = format!(
                "kernel `{name}` waits for all threads of the launch, which the host runs one after the other; a GPU \
                 (`cuda`), `sim` and `interp` run it"
            );
            return Err(CodegenError { code: Code::E0824, message, span: Some(span) });
        }
    }
    let machine = Machine::host(options.cpu, options.opt)?;
    let sites = Sites::of(module, options.checked);
    let summed = reverse_sums::in_chains(module, kernels, reverse_sums::Terms::There);
    let blocks = match options.opt {
        Opt::Full => block_alone::alone(&summed, kernels),
        Opt::Lean | Opt::None => Cow::Borrowed(&*summed),
    };
    let (mut module, shadows) = shadow::extract_all(&blocks, kernels);
    let target = |alone| Target::Host { checked: options.checked, alone };
    let versions = options.cpu.versions().into_iter();
    let bodies: Vec<_> = versions.map(|cpu| (cpu, lane_bodies(&mut module, kernels, options.opt, cpu))).collect();
    let lowering = Lowering { context, module: &module, shadows: &shadows, kernels, options, extras, sites, bodies };
    let mut lowered = lowering.lower(&machine, false);
    if options.opt == Opt::Full && lowered.ll.size().wants_parts() {
        lowered = lowering.lower(&machine, true);
    }
    let Lowered { ll, sites, called } = lowered;
    let mut objects = Vec::new();
    for ((id, declared, fingerprint), alone, floats) in called {
        ll.rename(declared, &symbol(fingerprint));
        if library.is_none_or(|there| there.contains(&fingerprint)) {
            continue;
        }
        let context = Context::create();
        let ll = Llvm::new(&context, "kc", "", names);
        machine.prepare(&ll);
        let made = ModuleState::new(&module, &shadows, &ll, target(alone), floats, names).library_function(id);
        ll.rename(made, &symbol(fingerprint));
        optimise(&machine, &ll, options.opt)?;
        objects.push((fingerprint, machine.emit(&ll, false)?));
    }
    optimise(&machine, &ll, options.opt)?;
    let machine = match options.opt {
        Opt::Full => Machine::host(options.cpu, ll.size().code())?,
        Opt::Lean | Opt::None => machine,
    };
    Ok(Compiled { ll, machine, sites, library: objects })
}

/// What is lowered, once or twice.
struct Lowering<'l, 'ctx> {
    context: &'ctx Context,
    module: &'l Module,
    shadows: &'l Shadows,
    kernels: &'l [FuncId],
    options: &'l HostOptions,
    extras: Extras<'l>,
    sites: Sites,
    /// What runs several threads at once, for each processor.
    bodies: Vec<(Cpu, Vec<Option<SimdBody>>)>,
}

/// A module that no passes have gone through.
struct Lowered<'ctx> {
    ll: Llvm<'ctx>,
    sites: Sites,
    /// Library functions that are called, whether by code that is alone, and their floats.
    called: Vec<((FuncId, Func<'ctx>, u128), bool, Floats)>,
}

impl<'ctx> Lowering<'_, 'ctx> {
    /// `in_parts`: functions call more of their callees.
    fn lower(&self, machine: &Machine, in_parts: bool) -> Lowered<'ctx> {
        let &Lowering { module, kernels, options, extras: Extras { names, library, debug }, .. } = self;
        let ll = Llvm::new(self.context, "kc", "", names);
        machine.prepare(&ll);
        let mut sites = self.sites.clone();
        let file = kernels.first().map(|&kernel| module.functions[kernel].span.file);
        let debug = debug.zip(file).map(|(texts, file)| DebugInfo::new(&ll, texts, file, options.opt != Opt::None));
        let target = |alone| Target::Host { checked: options.checked, alone };
        let mut versions = Versions::default();
        let mut called = Vec::new();
        for (cpu, bodies) in &self.bodies {
            let floats = Machine::host_floats(*cpu);
            let bodies = bodies.clone();
            let mut entries =
                Entries { kernels, bodies, options, called: Vec::new(), rows: HashMap::new(), made: HashMap::new() };
            for alone in [false, true] {
                if !kernels.iter().any(|&kernel| entries.wants(module, kernel, alone)) {
                    continue;
                }
                let mut state = ModuleState::new(module, self.shadows, &ll, target(alone), floats, names);
                state.in_parts = in_parts;
                state.sites = std::mem::take(&mut sites);
                state.library = library.map(|_| Library::new(module, false, target(alone)));
                state.debug = debug.as_ref();
                entries.define(&mut state, alone);
                sites = state.sites;
            }
            entries.define_choices(module, &ll);
            called.extend(entries.called.into_iter().map(|(function, alone)| (function, alone, floats)));
            if let (Cpu::Auto, Cpu::Named(processor)) = (options.cpu, *cpu) {
                versions.close(&ll, processor);
            }
        }
        if options.cpu == Cpu::Auto {
            versions.define_entries(&ll);
        }
        if let Some(debug) = debug {
            debug.finish();
        }
        Lowered { ll, sites, called }
    }
}

/// What runs several threads at once, of each kernel that gains by it on the processor.
fn lane_bodies(module: &mut Cow<Module>, kernels: &[FuncId], opt: Opt, cpu: Cpu) -> Vec<Option<SimdBody>> {
    let mut body = |kernel| {
        let (mut function, plan, count) = match opt {
            Opt::Full => simd::prepare(module, kernel, cpu).ok()?,
            Opt::Lean | Opt::None => return None,
        };
        function.name += "_lanes";
        Some(SimdBody { function: module.to_mut().functions.push(function), plan, count, vectors: 1 })
    };
    kernels.iter().map(|&kernel| body(kernel)).collect()
}
