//! How is host code run in this process? The kernels are compiled to an object in memory, which LLVM's LLJIT links.

use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};

use llvm_sys::core::LLVMCreateMemoryBufferWithMemoryRangeCopy;
use llvm_sys::orc2::lljit::*;
use llvm_sys::orc2::*;

use super::builder::c_string;
use super::machine::check;
use super::{CodegenError, HostOptions, Site, host};
use crate::codegen::abi::{self, HostEntry};
use crate::ir::{FuncId, Module};

/// Compiled kernels, ready to be called from any thread. The code lives as long as this.
pub struct HostModule {
    /// Only a module that is dropped has none.
    engine: Option<Engine>,
    entries: Vec<(FuncId, HostEntry)>,
    sites: Vec<Site>,
}

// SAFETY: after construction nothing is changed; the code is read-only and reentrant.
unsafe impl Send for HostModule {}
// SAFETY: as above.
unsafe impl Sync for HostModule {}

/// An engine that links one module.
struct Engine {
    raw: LLVMOrcLLJITRef,
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
        // SAFETY: out parameters are local; ownership of the generator goes to the library.
        unsafe {
            let mut raw = std::ptr::null_mut();
            check(LLVMOrcCreateLLJIT(&mut raw, LLVMOrcCreateLLJITBuilder()))?;
            let engine = Engine { raw };
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

impl Drop for Engine {
    fn drop(&mut self) {
        // SAFETY: owned, disposed of once. There is nobody to tell about a failure.
        let _ = check(unsafe { LLVMOrcDisposeLLJIT(self.raw) });
    }
}

impl Drop for HostModule {
    fn drop(&mut self) {
        let Some(engine) = self.engine.take() else { return };
        // SAFETY: the engine is alive, and nobody calls its code any more.
        let cleared = check(unsafe { LLVMOrcJITDylibClear(LLVMOrcLLJITGetMainJITDylib(engine.raw)) });
        let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
        if cleared.is_ok() && idle.len() < MAX_IDLE {
            idle.push(engine);
        }
    }
}

impl HostModule {
    /// Compiles the kernels and links them into this process.
    pub fn compile(module: &Module, kernels: &[FuncId], options: &HostOptions) -> Result<HostModule, CodegenError> {
        let compiled = host::compile(module, kernels, options, false)?;
        let object = compiled.machine.emit(&compiled.ll, false)?;
        let idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let engine = idle.map_or_else(Engine::new, Ok)?;
        let jit = engine.raw;
        let mut host = HostModule { engine: Some(engine), entries: Vec::new(), sites: compiled.sites };
        // SAFETY: the buffer is a copy that LLJIT takes over; names outlive the calls.
        unsafe {
            let name = c"kernels";
            let buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(object.as_ptr().cast(), object.len(), name.as_ptr());
            let library = LLVMOrcLLJITGetMainJITDylib(jit);
            check(LLVMOrcLLJITAddObjectFile(jit, library, buffer))?;
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
