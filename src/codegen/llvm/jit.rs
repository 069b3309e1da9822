//! How is host code run in this process? The kernels are compiled to an object in memory, which
//! LLVM's LLJIT links.

use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};

use super::builder::Context;
use super::ffi::{Jit, JitCode};
use super::host_module;
use super::machine::Machine;
use super::options::{CodegenError, Cpu, HostOptions, Opt};
use crate::abi::{self, HostEntry};
use crate::codegen::sites::Sites;
use crate::ids::IdSet;
use crate::ir::{FuncId, Module};

/// Compiled kernels, ready to be called from any thread. The code lives as long as this.
pub struct HostModule {
    /// Only a module that is dropped has none.
    engine: Option<Engine>,
    /// What of the engine's code is this module's own.
    own: Option<JitCode>,
    entries: Vec<(FuncId, HostEntry)>,
    sites: Sites,
}

/// An engine that links one module at a time, and library functions that stay for the next ones.
///
/// A library function is compiled where [`Opt::None`] asks for code quickly: `log` is the same in
/// every program. It is known by its fingerprint, which has all that its code depends on beside the
/// machine and the options, of which there is one choice (see [`shares`]).
struct Engine {
    jit: Jit,
    /// The fingerprints of the library functions that are there.
    library: IdSet<u128>,
}

/// An engine with more library functions than this is given up: each takes two pages.
const MAX_LIBRARY: usize = 1024;

/// Modules of these options share library functions.
fn shares(options: &HostOptions) -> bool {
    options.opt == Opt::None && options.cpu == Cpu::Native
}

/// Engines without a module: making one costs as much as compiling a small kernel.
static IDLE: Mutex<Vec<Engine>> = Mutex::new(Vec::new());

/// More than these are not kept.
const MAX_IDLE: usize = 16;

impl Engine {
    fn new() -> Result<Engine, CodegenError> {
        // An engine looks for the targets that the first machine registers.
        Machine::host(Cpu::Native, Opt::None)?;
        let jit = Jit::new().map_err(CodegenError::llvm)?;
        Ok(Engine { jit, library: IdSet::default() })
    }

    /// One without a module.
    fn idle() -> Result<Engine, CodegenError> {
        let idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.map_or_else(Engine::new, Ok)
    }

    /// Links the object of some kernels, after library functions that it calls.
    fn link(
        mut self,
        object: &[u8],
        library: Vec<(u128, Vec<u8>)>,
        sites: Sites,
        module: &Module,
        kernels: &[FuncId],
    ) -> Result<HostModule, CodegenError> {
        for (fingerprint, object) in library {
            self.jit.add(&object).map_err(CodegenError::llvm)?;
            self.library.insert(fingerprint);
        }
        let own = self.jit.add_removable(object).map_err(CodegenError::llvm)?;
        let mut host = HostModule { engine: Some(self), own: Some(own), entries: Vec::new(), sites };
        for &kernel in kernels {
            let function = &module.functions[kernel];
            let name = abi::host_entry(&function.source_name, function.phase);
            let entry = host.address(&name)?;
            host.entries.push((kernel, entry));
        }
        Ok(host)
    }
}

impl Drop for HostModule {
    fn drop(&mut self) {
        let Some(engine) = self.engine.take() else { return };
        // Nobody calls the module's code any more.
        let cleared = self.own.take().map_or(Ok(()), |own| engine.jit.remove(own));
        let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
        if cleared.is_ok() && idle.len() < MAX_IDLE && engine.library.len() <= MAX_LIBRARY {
            idle.push(engine);
        }
    }
}

impl HostModule {
    /// Compiles the kernels and links them into this process.
    pub fn compile(module: &Module, kernels: &[FuncId], options: &HostOptions) -> Result<HostModule, CodegenError> {
        HostModule::compile_to_keep(module, kernels, options).map(|(code, _)| code)
    }

    /// The same, with the object, of which [`HostModule::link`] makes the same code. None: it needs
    /// more than itself.
    pub fn compile_to_keep(
        module: &Module,
        kernels: &[FuncId],
        options: &HostOptions,
    ) -> Result<(HostModule, Option<Vec<u8>>), CodegenError> {
        let engine = Engine::idle()?;
        let context = Context::create();
        let library = shares(options).then_some(&engine.library);
        let compiled = host_module::compile(
            &context,
            module,
            kernels,
            options,
            host_module::Extras { library, ..host_module::Extras::default() },
        )?;
        let object = compiled.machine.emit(&compiled.ll, false)?;
        // What a site's number means has to follow from the module.
        let is_whole = !shares(options) && compiled.sites == Sites::of(module, options.checked);
        let code = engine.link(&object, compiled.library, compiled.sites, module, kernels)?;
        Ok((code, is_whole.then_some(object)))
    }

    /// Links an object that [`HostModule::compile_to_keep`] gave for the same module, kernels and
    /// options, on this processor.
    pub fn link(
        module: &Module,
        kernels: &[FuncId],
        options: &HostOptions,
        object: &[u8],
    ) -> Result<HostModule, CodegenError> {
        Engine::idle()?.link(object, Vec::new(), Sites::of(module, options.checked), module, kernels)
    }

    fn address(&self, name: &str) -> Result<HostEntry, CodegenError> {
        let jit = self.engine.as_ref().map(|engine| &engine.jit);
        let address = jit.map_or(Ok(0), |jit| jit.address(name)).map_err(CodegenError::llvm)?;
        if address == 0 {
            return Err(CodegenError::internal(format!("no code for {name:?}")));
        }
        // SAFETY: it is the address of an entry, which the compiler gave this type, and no null
        // pointer.
        Ok(unsafe { std::mem::transmute::<*const c_void, HostEntry>(address as *const c_void) })
    }

    /// The entry of a kernel that was compiled; calling it is unsafe: arguments must fit the
    /// kernel, and this module must outlive the call.
    pub fn entry(&self, kernel: FuncId) -> Option<HostEntry> {
        self.entries.iter().find(|(id, _)| *id == kernel).map(|(_, entry)| *entry)
    }

    /// The places that [`HostStatus::site`](abi::HostStatus::site) refers to.
    pub fn sites(&self) -> &Sites {
        &self.sites
    }
}
