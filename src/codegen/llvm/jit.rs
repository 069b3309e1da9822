//! How is host code run in this process? The kernels are compiled to an object in memory, which LLVM's LLJIT links.

use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};

use llvm_sys::core::LLVMCreateMemoryBufferWithMemoryRangeCopy;
use llvm_sys::orc2::lljit::*;
use llvm_sys::orc2::*;

use super::builder::c_string;
use super::machine::{Machine, check};
use super::{CodegenError, Cpu, HostOptions, Opt, Site, host};
use crate::abi::{self, HostEntry};
use crate::ids::IdSet;
use crate::ir::{FuncId, Module};

/// Compiled kernels, ready to be called from any thread. The code lives as long as this.
pub struct HostModule {
    /// Only a module that is dropped has none.
    engine: Option<Engine>,
    /// What of the engine's code is this module's own.
    own: LLVMOrcResourceTrackerRef,
    entries: Vec<(FuncId, HostEntry)>,
    sites: Vec<Site>,
}

// SAFETY: after construction nothing is changed; the code is read-only and reentrant.
unsafe impl Send for HostModule {}
// SAFETY: as above.
unsafe impl Sync for HostModule {}

/// An engine that links one module at a time, and library functions that stay for the next ones.
///
/// A library function is compiled where [`Opt::None`] asks for code quickly: `log` is the same in every program. It is known
/// by its content, which has all that its code depends on beside the machine and the options, of which there is one
/// choice (see [`shares`]).
struct Engine {
    raw: LLVMOrcLLJITRef,
    /// The contents of the library functions that are there.
    library: IdSet<u128>,
}

/// An engine with more library functions than this is given up: each takes two pages.
const MAX_LIBRARY: usize = 1024;

/// Modules of these options share library functions.
fn shares(options: &HostOptions) -> bool {
    options.opt == Opt::None && options.cpu == Cpu::Native
}

// SAFETY: an engine has no ties to a thread.
unsafe impl Send for Engine {}

/// Engines without a module: making one costs as much as compiling a small kernel.
static IDLE: Mutex<Vec<Engine>> = Mutex::new(Vec::new());

/// More than these are not kept.
const MAX_IDLE: usize = 16;

impl Engine {
    /// An engine in which code finds the functions of this process (the C library).
    fn new() -> Result<Engine, CodegenError> {
        // An engine looks for the targets that the first machine registers.
        Machine::host(Cpu::Native, Opt::None)?;
        // SAFETY: out parameters are local; ownership of the generator goes to the library.
        unsafe {
            let mut raw = std::ptr::null_mut();
            check(LLVMOrcCreateLLJIT(&mut raw, LLVMOrcCreateLLJITBuilder()))?;
            let engine = Engine { raw, library: IdSet::default() };
            let mut generator = std::ptr::null_mut();
            check(LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(
                &mut generator,
                LLVMOrcLLJITGetGlobalPrefix(raw),
                None,
                std::ptr::null_mut(),
            ))?;
            LLVMOrcJITDylibAddGenerator(LLVMOrcLLJITGetMainJITDylib(raw), generator);
            Ok(engine)
        }
    }
}

impl Engine {
    /// Adds an object: to the code of a tracker, or to what stays as long as the engine.
    fn add(&self, tracker: Option<LLVMOrcResourceTrackerRef>, object: &[u8]) -> Result<(), CodegenError> {
        // SAFETY: the buffer is a copy that LLJIT takes over.
        check(unsafe {
            let name = c"kernels";
            let buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(object.as_ptr().cast(), object.len(), name.as_ptr());
            match tracker {
                Some(tracker) => LLVMOrcLLJITAddObjectFileWithRT(self.raw, tracker, buffer),
                None => LLVMOrcLLJITAddObjectFile(self.raw, LLVMOrcLLJITGetMainJITDylib(self.raw), buffer),
            }
        })
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // SAFETY: owned, disposed of once. There is nobody to tell about a failure.
        let _ = check(unsafe { LLVMOrcDisposeLLJIT(self.raw) });
    }
}

impl Drop for HostModule {
    fn drop(&mut self) {
        let Some(engine) = self.engine.take() else { return };
        // SAFETY: the engine is alive, and nobody calls the module's code any more.
        let cleared = unsafe {
            let cleared = check(LLVMOrcResourceTrackerRemove(self.own));
            LLVMOrcReleaseResourceTracker(self.own);
            cleared
        };
        let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
        if cleared.is_ok() && idle.len() < MAX_IDLE && engine.library.len() <= MAX_LIBRARY {
            idle.push(engine);
        }
    }
}

impl HostModule {
    /// Compiles the kernels and links them into this process.
    pub fn compile(module: &Module, kernels: &[FuncId], options: &HostOptions) -> Result<HostModule, CodegenError> {
        let idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut engine = idle.map_or_else(Engine::new, Ok)?;
        let compiled = host::compile(module, kernels, options, false, shares(options).then_some(&engine.library))?;
        let object = compiled.machine.emit(&compiled.ll, false)?;
        for (content, object) in compiled.library {
            engine.add(None, &object)?;
            engine.library.insert(content);
        }
        let jit = engine.raw;
        // SAFETY: the engine is alive.
        let own = unsafe { LLVMOrcJITDylibCreateResourceTracker(LLVMOrcLLJITGetMainJITDylib(jit)) };
        engine.add(Some(own), &object)?;
        let mut host = HostModule { engine: Some(engine), own, entries: Vec::new(), sites: compiled.sites };
        // SAFETY: names outlive the calls.
        unsafe {
            for &kernel in kernels {
                let name =
                    c_string(&abi::host_entry(&module.functions[kernel].source_name, module.functions[kernel].phase));
                let mut address = 0;
                check(LLVMOrcLLJITLookup(jit, &mut address, name.as_ptr()))?;
                if address == 0 {
                    return Err(CodegenError::internal(format!("no code for {name:?}")));
                }
                let entry = std::mem::transmute::<*const c_void, HostEntry>(address as *const c_void);
                host.entries.push((kernel, entry));
            }
        }
        Ok(host)
    }

    /// The entry of a kernel that was compiled; calling it is unsafe: arguments must fit the kernel, and this module must
    /// outlive the call.
    pub fn entry(&self, kernel: FuncId) -> Option<HostEntry> {
        self.entries.iter().find(|(id, _)| *id == kernel).map(|(_, entry)| *entry)
    }

    /// The places that [`HostStatus::site`](abi::HostStatus::site) refers to.
    pub fn sites(&self) -> &[Site] {
        &self.sites
    }
}
