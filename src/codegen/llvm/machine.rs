//! Which machine does LLVM compile for, and with which passes?

use std::sync::Once;

use llvm_sys::core::*;
use llvm_sys::error::*;
use llvm_sys::target::*;
use llvm_sys::target_machine::*;
use llvm_sys::transforms::pass_builder::*;

use super::builder::{Llvm, c_string, take_message};
use super::{CodegenError, Cpu, Opt};

/// A target machine of LLVM.
pub struct Machine {
    raw: LLVMTargetMachineRef,
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
    pub fn nvptx(arch: Arch, opt: Opt) -> Result<Machine, CodegenError> {
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
        Machine::new(NVPTX_TRIPLE, arch.name, &format!("+ptx{}", arch.ptx), level)
    }

    pub fn host(cpu: Cpu, opt: Opt) -> Result<Machine, CodegenError> {
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
        // SAFETY: LLVM allocates the texts, `take_message` frees them.
        let (triple, native_cpu, native_features) = unsafe {
            (
                take_message(LLVMGetDefaultTargetTriple()),
                take_message(LLVMGetHostCPUName()),
                take_message(LLVMGetHostCPUFeatures()),
            )
        };
        match cpu {
            Cpu::Native => Machine::new(&triple, &native_cpu, &native_features, level),
            Cpu::Baseline(name) => Machine::new(&triple, name.name(), "", level),
        }
    }

    /// The width of the host's vectors.
    pub fn host_vector_bits(cpu: Cpu) -> u32 {
        match cpu {
            Cpu::Native => {
                // SAFETY: LLVM allocates the text, `take_message` frees it.
                let features = unsafe { take_message(LLVMGetHostCPUFeatures()) };
                let has = |name: &str| features.split(',').any(|f| f == name);
                match (has("+avx512f") && has("+avx512vl"), has("+avx2")) {
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
            // SAFETY: as above.
            Cpu::Native => unsafe { take_message(LLVMGetHostCPUFeatures()) }.split(',').any(|f| f == "+f16c"),
            Cpu::Baseline(level) => level.has_half(),
        }
    }

    fn new(triple: &str, cpu: &str, features: &str, level: LLVMCodeGenOptLevel) -> Result<Machine, CodegenError> {
        let (triple, cpu, features) = (c_string(triple), c_string(cpu), c_string(features));
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
            LLVMTargetMachineOptionsSetCodeGenOptLevel(options, level);
            LLVMTargetMachineOptionsSetRelocMode(options, LLVMRelocMode::LLVMRelocPIC);
            let raw = LLVMCreateTargetMachineWithOptions(target, triple.as_ptr(), options);
            LLVMDisposeTargetMachineOptions(options);
            if raw.is_null() {
                return Err(CodegenError::llvm("no machine for this target".to_string()));
            }
            Ok(Machine { raw })
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
