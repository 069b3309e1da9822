//! Which machine does LLVM compile for, and with which passes?

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Once, OnceLock};

use llvm_sys::core::*;
use llvm_sys::error::*;
use llvm_sys::target::*;
use llvm_sys::target_machine::*;
use llvm_sys::transforms::pass_builder::*;

use super::builder::{Llvm, c_string, take_message};
use super::{CodegenError, Cpu, Opt};

/// The passes of [`Opt::Lean`], which make code small enough to be read. With `instcombine`, `licm` and `gvn` too, PTX takes half as
/// long again, and ptxas, which does all that itself, makes no better code of it: over 100 generated programs 5 % more
/// registers and 2 % fewer instructions (CUDA 13.0, sm_80).
pub(super) const LEAN: &str = "function(sroa,early-cse,simplifycfg)";

/// A target machine of LLVM.
pub struct Machine {
    raw: LLVMTargetMachineRef,
    key: Key,
}

/// Triple, processor, features and level of a machine.
type Key = (String, String, String, LLVMCodeGenOptLevel);

thread_local! {
    /// Making a machine, and what it finds out for its first module, takes a good part of the time that a small kernel does.
    static MACHINES: RefCell<Vec<Rc<Machine>>> = RefCell::default();
}

/// The processor that kc runs on, in LLVM's words.
struct Native {
    triple: String,
    cpu: String,
    features: String,
}

impl Native {
    fn of() -> &'static Native {
        static NATIVE: OnceLock<Native> = OnceLock::new();
        // SAFETY: LLVM allocates the texts, `take_message` frees them.
        NATIVE.get_or_init(|| unsafe {
            Native {
                triple: take_message(LLVMGetDefaultTargetTriple()),
                cpu: take_message(LLVMGetHostCPUName()),
                features: take_message(LLVMGetHostCPUFeatures()),
            }
        })
    }

    fn has(&self, feature: &str) -> bool {
        self.features.split(',').any(|known| known == feature)
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // SAFETY: owned, disposed of once.
        unsafe { LLVMDisposeTargetMachine(self.raw) }
    }
}

/// An architecture of NVIDIA GPUs that kc compiles for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arch {
    /// `sm_90`
    pub name: &'static str,
    /// 90
    pub number: u32,
    /// The lowest PTX ISA version that has it, times ten.
    pub ptx: u32,
}

impl Arch {
    /// From the PTX ISA manual, "Release notes": the version that brought each target. All are at most 9.0.
    pub const ALL: &'static [Arch] = &[
        Arch { name: "sm_75", number: 75, ptx: 63 },
        Arch { name: "sm_80", number: 80, ptx: 70 },
        Arch { name: "sm_86", number: 86, ptx: 71 },
        Arch { name: "sm_87", number: 87, ptx: 74 },
        Arch { name: "sm_89", number: 89, ptx: 78 },
        Arch { name: "sm_90", number: 90, ptx: 78 },
        Arch { name: "sm_100", number: 100, ptx: 86 },
        Arch { name: "sm_103", number: 103, ptx: 88 },
        Arch { name: "sm_120", number: 120, ptx: 87 },
        Arch { name: "sm_121", number: 121, ptx: 88 },
    ];

    /// The architecture of this name, such as `sm_90`.
    pub fn from_name(name: &str) -> Option<Arch> {
        Arch::ALL.iter().copied().find(|arch| arch.name == name)
    }
}

const NVPTX_TRIPLE: &str = "nvptx64-nvidia-cuda";
const NVPTX_LAYOUT: &str = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64";

impl Machine {
    pub fn nvptx(arch: Arch, opt: Opt) -> Result<Rc<Machine>, CodegenError> {
        static INIT: Once = Once::new();
        // SAFETY: registers LLVM's static tables, once.
        INIT.call_once(|| unsafe {
            LLVMInitializeNVPTXTargetInfo();
            LLVMInitializeNVPTXTarget();
            LLVMInitializeNVPTXTargetMC();
            LLVMInitializeNVPTXAsmPrinter();
        });
        let level = match opt {
            Opt::Lean | Opt::None => LLVMCodeGenOptLevel::LLVMCodeGenLevelNone,
            Opt::Full => LLVMCodeGenOptLevel::LLVMCodeGenLevelDefault,
        };
        Machine::of(NVPTX_TRIPLE, arch.name, &format!("+ptx{}", arch.ptx), level)
    }

    pub fn host(cpu: Cpu, opt: Opt) -> Result<Rc<Machine>, CodegenError> {
        static INIT: Once = Once::new();
        // SAFETY: registers LLVM's static tables, once.
        INIT.call_once(|| unsafe {
            LLVMInitializeX86TargetInfo();
            LLVMInitializeX86Target();
            LLVMInitializeX86TargetMC();
            LLVMInitializeX86AsmPrinter();
        });
        let level = match opt {
            Opt::None => LLVMCodeGenOptLevel::LLVMCodeGenLevelNone,
            Opt::Lean => LLVMCodeGenOptLevel::LLVMCodeGenLevelLess,
            Opt::Full => LLVMCodeGenOptLevel::LLVMCodeGenLevelDefault,
        };
        let native = Native::of();
        match cpu {
            Cpu::Native => Machine::of(&native.triple, &native.cpu, &native.features, level),
            Cpu::Baseline(name) => Machine::of(&native.triple, name.name(), "", level),
        }
    }

    /// The width of the host's vectors.
    pub fn host_vector_bits(cpu: Cpu) -> u32 {
        match cpu {
            Cpu::Native => {
                let native = Native::of();
                match (native.has("+avx512f") && native.has("+avx512vl"), native.has("+avx2")) {
                    (true, _) => 512,
                    (_, true) => 256,
                    _ => 128,
                }
            }
            Cpu::Baseline(level) => level.vector_bits(),
        }
    }

    /// Whether the host converts between half and float in hardware.
    pub fn host_has_half(cpu: Cpu) -> bool {
        match cpu {
            Cpu::Native => Native::of().has("+f16c"),
            Cpu::Baseline(level) => level.has_half(),
        }
    }

    /// This thread's machine of the kind.
    fn of(triple: &str, cpu: &str, features: &str, level: LLVMCodeGenOptLevel) -> Result<Rc<Machine>, CodegenError> {
        let key = (triple.to_string(), cpu.to_string(), features.to_string(), level);
        if let Some(known) = MACHINES.with_borrow(|all| all.iter().find(|machine| machine.key == key).cloned()) {
            return Ok(known);
        }
        let made = Rc::new(Machine::new(key)?);
        MACHINES.with_borrow_mut(|all| all.push(made.clone()));
        Ok(made)
    }

    fn new(key: Key) -> Result<Machine, CodegenError> {
        let (triple, cpu, features) = (c_string(&key.0), c_string(&key.1), c_string(&key.2));
        // SAFETY: the strings outlive the calls; the options are disposed of once.
        unsafe {
            let mut target = std::ptr::null_mut();
            let mut message = std::ptr::null_mut();
            if LLVMGetTargetFromTriple(triple.as_ptr(), &mut target, &mut message) != 0 {
                return Err(CodegenError::llvm(take_message(message)));
            }
            let options = LLVMCreateTargetMachineOptions();
            LLVMTargetMachineOptionsSetCPU(options, cpu.as_ptr());
            LLVMTargetMachineOptionsSetFeatures(options, features.as_ptr());
            LLVMTargetMachineOptionsSetCodeGenOptLevel(options, key.3);
            LLVMTargetMachineOptionsSetRelocMode(options, LLVMRelocMode::LLVMRelocPIC);
            let raw = LLVMCreateTargetMachineWithOptions(target, triple.as_ptr(), options);
            LLVMDisposeTargetMachineOptions(options);
            if raw.is_null() {
                return Err(CodegenError::llvm("no machine for this target".to_string()));
            }
            Ok(Machine { raw, key })
        }
    }

    /// Tells a module what it is compiled for.
    pub fn prepare(&self, ll: &Llvm) {
        // SAFETY: both are alive; the layout is copied.
        unsafe {
            let triple = LLVMGetTargetMachineTriple(self.raw);
            LLVMSetTarget(ll.module, triple);
            let is_device = std::ffi::CStr::from_ptr(triple).to_bytes() == NVPTX_TRIPLE.as_bytes();
            LLVMDisposeMessage(triple);
            if is_device {
                LLVMSetDataLayout(ll.module, c_string(NVPTX_LAYOUT).as_ptr());
            } else {
                let layout = LLVMCreateTargetDataLayout(self.raw);
                LLVMSetModuleDataLayout(ll.module, layout);
                LLVMDisposeTargetData(layout);
            }
        }
    }

    /// Verifies the module (debug builds only: a malformed one is kc's fault) and runs `passes`.
    pub fn optimise(&self, ll: &Llvm, passes: &str) -> Result<(), CodegenError> {
        if cfg!(debug_assertions)
            && let Some(message) = ll.verify()
        {
            return Err(CodegenError::internal(format!("malformed LLVM IR: {message}")));
        }
        if passes.is_empty() {
            return Ok(());
        }
        // LLVM ends the process when one run of this pass leaves something to do, unless told not to look.
        let passes = c_string(&passes.replace("instcombine", "instcombine<no-verify-fixpoint>"));
        // SAFETY: all are alive; the options are disposed of once.
        unsafe {
            let options = LLVMCreatePassBuilderOptions();
            let error = LLVMRunPasses(ll.module, passes.as_ptr(), self.raw, options);
            LLVMDisposePassBuilderOptions(options);
            check(error)
        }
    }

    /// Compiles a module to text or an object.
    pub fn emit(&self, ll: &Llvm, text: bool) -> Result<Vec<u8>, CodegenError> {
        let kind = if text { LLVMCodeGenFileType::LLVMAssemblyFile } else { LLVMCodeGenFileType::LLVMObjectFile };
        // SAFETY: the buffer is copied and disposed of once.
        unsafe {
            let mut message = std::ptr::null_mut();
            let mut buffer = std::ptr::null_mut();
            if LLVMTargetMachineEmitToMemoryBuffer(self.raw, ll.module, kind, &mut message, &mut buffer) != 0 {
                return Err(CodegenError::llvm(take_message(message)));
            }
            let bytes =
                std::slice::from_raw_parts(LLVMGetBufferStart(buffer).cast::<u8>(), LLVMGetBufferSize(buffer)).to_vec();
            LLVMDisposeMemoryBuffer(buffer);
            Ok(bytes)
        }
    }
}

/// An LLVM error as ours.
pub(super) fn check(error: LLVMErrorRef) -> Result<(), CodegenError> {
    if error.is_null() {
        return Ok(());
    }
    // SAFETY: taking the message consumes the error.
    unsafe {
        let raw = LLVMGetErrorMessage(error);
        let text = std::ffi::CStr::from_ptr(raw).to_string_lossy().into_owned();
        LLVMDisposeErrorMessage(raw);
        Err(CodegenError::llvm(text))
    }
}
