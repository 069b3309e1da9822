//! Which machine does LLVM compile for, and with which passes?

use std::ops::Deref;
use std::sync::{Mutex, Once, OnceLock};

use inkwell::OptimizationLevel;
use inkwell::data_layout::DataLayout;
use inkwell::module::FlagBehavior;
use inkwell::passes::PassBuilderOptions;
use inkwell::targets::{
    FileType, InitializationConfig, RelocMode, Target, TargetData, TargetMachine, TargetMachineOptions, TargetTriple,
};

use super::builder::{Attribute, AttributeLoc, Llvm};
use super::ops::Floats;
use super::options::{CodegenError, Cpu, Opt};
use super::processor::{self, Costs, Isa, Processor};
use crate::memo::lock;

/// The passes of [`Opt::Lean`], which make code small enough to be read. With `instcombine`, `licm`
/// and `gvn` too, PTX takes half as long again, and ptxas, which does all that itself, makes no
/// better code of it: over 100 generated programs 5 % more registers and 2 % fewer instructions
/// (CUDA 13.0, sm_80).
pub(super) const LEAN: &str = "function(sroa,early-cse,simplifycfg)";

/// The system that objects for a processor are for: this one's, as far as it has such processors.
fn triple(processor: &Processor) -> &'static str {
    match processor.isa {
        isa if isa == Isa::OWN => &Native::of().triple,
        Isa::X86 => "x86_64-unknown-linux-gnu",
        Isa::Aarch64 => "aarch64-unknown-linux-gnu",
    }
}

/// A target machine of LLVM.
pub struct Machine {
    raw: TargetMachine,
    layout: DataLayout,
    key: Key,
}

/// Triple, processor, features and level of a machine.
type Key = (String, String, String, OptimizationLevel);

// SAFETY: a machine has no ties to a thread, and who has a [`Lease`] is the only one to use it.
unsafe impl Send for Machine {}

/// Machines that nobody uses at the moment: making one, and what it finds out for its first module,
/// takes a good part of the time that a small kernel does.
static IDLE: Mutex<Vec<Machine>> = Mutex::new(Vec::new());

/// More than these are not kept.
const MAX_IDLE: usize = 64;

/// A machine that nobody else uses.
pub struct Lease {
    /// Only a lease that ends has none.
    machine: Option<Machine>,
}

impl Deref for Lease {
    type Target = Machine;

    fn deref(&self) -> &Machine {
        match &self.machine {
            Some(machine) => machine,
            None => unreachable!("a lease has its machine until it is dropped"),
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut idle = lock(&IDLE);
        if idle.len() < MAX_IDLE {
            idle.extend(self.machine.take());
        }
    }
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
        NATIVE.get_or_init(|| Native {
            triple: TargetMachine::get_default_triple().as_str().to_string_lossy().into_owned(),
            cpu: TargetMachine::get_host_cpu_name().to_string(),
            features: TargetMachine::get_host_cpu_features().to_string(),
        })
    }

    fn has(&self, feature: &str) -> bool {
        self.features.split(',').any(|known| known == feature)
    }
}

/// What code for the processor that kc runs on depends on, beside kc: the processor, and LLVM.
pub fn native_processor() -> String {
    let (Native { triple, cpu, features }, version) = (Native::of(), inkwell::support::get_llvm_version());
    format!("LLVM {version:?} {triple} {cpu} {features}")
}

/// An architecture of NVIDIA GPUs that kc compiles for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arch {
    /// `sm_90`
    pub name: &'static str,
    /// 90
    pub number: u32,
    /// The lowest PTX ISA version that has it and its instructions for matrices, times ten.
    pub ptx: u32,
    /// Bytes of shared memory that a block can ask for.
    pub shared: u64,
}

impl Arch {
    /// From the PTX ISA manual, "Release notes": the version that brought each target; of sm_75,
    /// that with its `mma.sync` of 16 x 8 x 8 halves. All are at most 9.0. Shared memory is from
    /// the CUDA C++ Programming Guide, "Compute Capabilities". Targets with an `a` run on that
    /// capability alone; they take the code of the one without.
    pub const ALL: &'static [Arch] = &[
        Arch { name: "sm_75", number: 75, ptx: 65, shared: 64 << 10 },
        Arch { name: "sm_80", number: 80, ptx: 70, shared: 163 << 10 },
        Arch { name: "sm_86", number: 86, ptx: 71, shared: 99 << 10 },
        Arch { name: "sm_87", number: 87, ptx: 74, shared: 163 << 10 },
        Arch { name: "sm_89", number: 89, ptx: 78, shared: 99 << 10 },
        Arch { name: "sm_90", number: 90, ptx: 78, shared: 227 << 10 },
        Arch { name: "sm_90a", number: 90, ptx: 80, shared: 227 << 10 },
        Arch { name: "sm_100", number: 100, ptx: 86, shared: 227 << 10 },
        Arch { name: "sm_100a", number: 100, ptx: 86, shared: 227 << 10 },
        Arch { name: "sm_103", number: 103, ptx: 88, shared: 227 << 10 },
        Arch { name: "sm_103a", number: 103, ptx: 88, shared: 227 << 10 },
        Arch { name: "sm_120", number: 120, ptx: 87, shared: 99 << 10 },
        Arch { name: "sm_120a", number: 120, ptx: 87, shared: 99 << 10 },
        Arch { name: "sm_121", number: 121, ptx: 88, shared: 99 << 10 },
        Arch { name: "sm_121a", number: 121, ptx: 88, shared: 99 << 10 },
    ];

    /// What is compiled for where nothing else is asked for.
    pub const DEFAULT: Arch = Arch::ALL[5];

    /// Whether code for it runs on no later GPU (`sm_90a`).
    pub fn is_specific(self) -> bool {
        self.name.ends_with('a')
    }

    /// The architecture of this name, such as `sm_90`.
    pub fn from_name(name: &str) -> Option<Arch> {
        Arch::ALL.iter().copied().find(|arch| arch.name == name)
    }
}

/// What of a target kc needs: code is written, never read.
const PARTS: InitializationConfig = InitializationConfig {
    asm_parser: false,
    asm_printer: true,
    base: true,
    disassembler: false,
    info: true,
    machine_code: true,
};

/// LLVM's name of `bti` instructions, for functions and modules.
const BRANCH_TARGETS: &str = "branch-target-enforcement";

const NVPTX_TRIPLE: &str = "nvptx64-nvidia-cuda";
const NVPTX_LAYOUT: &str = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64";

impl Machine {
    pub fn nvptx(arch: Arch, opt: Opt) -> Result<Lease, CodegenError> {
        static INIT: Once = Once::new();
        INIT.call_once(|| Target::initialize_nvptx(&PARTS));
        let level = match opt {
            Opt::Lean | Opt::None => OptimizationLevel::None,
            Opt::Full => OptimizationLevel::Default,
        };
        Machine::of(NVPTX_TRIPLE, arch.name, &format!("+ptx{}", arch.ptx), level)
    }

    pub fn host(cpu: Cpu, opt: Opt) -> Result<Lease, CodegenError> {
        static INIT: Once = Once::new();
        INIT.call_once(|| {
            // The entries that choose among versions of a kernel ask the processor what it has by
            // instructions of their own.
            Target::initialize_x86(&InitializationConfig { asm_parser: true, ..PARTS });
            Target::initialize_aarch64(&PARTS);
        });
        let level = match opt {
            Opt::None => OptimizationLevel::None,
            Opt::Lean => OptimizationLevel::Less,
            Opt::Full => OptimizationLevel::Default,
        };
        let native = Native::of();
        match cpu {
            Cpu::Native => Machine::of(&native.triple, &native.cpu, &native.features, level),
            Cpu::Named(processor) => Machine::of(triple(processor), processor.llvm, "", level),
            // Each version says itself what it is for.
            Cpu::Auto => Machine::host(Cpu::V1, opt),
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
            Cpu::Named(processor) => processor.vector_bits,
            Cpu::Auto => Machine::host_vector_bits(Cpu::V1),
        }
    }

    /// What the host does with floats in hardware.
    pub fn host_floats(cpu: Cpu) -> Floats {
        // AVX-512 scales (`vscalefps`), for vectors of any width.
        let scale = Machine::host_vector_bits(cpu) == 512;
        let half = match cpu {
            Cpu::Native => Isa::OWN == Isa::Aarch64 || Native::of().has("+f16c"),
            Cpu::Named(processor) => processor.has_half,
            Cpu::Auto => false,
        };
        Floats { half, scale }
    }

    /// Whether this machine is known to run code for a processor: for its own, and for the levels
    /// of x86-64 that it has.
    pub fn host_runs(cpu: Cpu) -> bool {
        const V2: &[&str] = &["+cx16", "+popcnt", "+sse4.2", "+ssse3"];
        const V3: &[&str] = &["+avx2", "+bmi", "+bmi2", "+f16c", "+fma", "+lzcnt", "+movbe"];
        const V4: &[&str] = &["+avx512f", "+avx512bw", "+avx512cd", "+avx512dq", "+avx512vl"];
        let processor = match cpu {
            Cpu::Native => return true,
            Cpu::Named(processor) => processor,
            Cpu::Auto => return false,
        };
        let needs: &[&[&str]] = match processor.name {
            "x86-64" => &[],
            "x86-64-v2" => &[V2],
            "x86-64-v3" => &[V2, V3],
            "x86-64-v4" => &[V2, V3, V4],
            _ => return false,
        };
        Isa::OWN == Isa::X86 && needs.iter().copied().flatten().all(|feature| Native::of().has(feature))
    }

    /// What memory costs the lanes of the host.
    pub fn host_costs(cpu: Cpu) -> Costs {
        match cpu {
            Cpu::Native => processor::costs(&Native::of().cpu, Machine::host_vector_bits(cpu)),
            Cpu::Named(processor) => processor.costs,
            Cpu::Auto => Machine::host_costs(Cpu::V1),
        }
    }

    /// A machine of the kind.
    fn of(triple: &str, cpu: &str, features: &str, level: OptimizationLevel) -> Result<Lease, CodegenError> {
        let key = (triple.to_string(), cpu.to_string(), features.to_string(), level);
        let known = {
            let mut idle = lock(&IDLE);
            idle.iter().rposition(|machine| machine.key == key).map(|at| idle.swap_remove(at))
        };
        let machine = known.map_or_else(|| Machine::new(key), Ok)?;
        Ok(Lease { machine: Some(machine) })
    }

    fn new(key: Key) -> Result<Machine, CodegenError> {
        let (triple, cpu, features, level) = &key;
        let triple = TargetTriple::create(triple);
        let target = Target::from_triple(&triple).map_err(|message| CodegenError::llvm(message.to_string()))?;
        let options = TargetMachineOptions::new()
            .set_cpu(cpu)
            .set_features(features)
            .set_level(*level)
            .set_reloc_mode(RelocMode::PIC);
        let raw = target
            .create_target_machine_from_options(&triple, options)
            .ok_or_else(|| CodegenError::llvm("no machine for this target".to_string()))?;
        let is_device = key.0 == NVPTX_TRIPLE;
        let data = if is_device { TargetData::create(NVPTX_LAYOUT) } else { raw.get_target_data() };
        let layout = data.get_data_layout();
        Ok(Machine { raw, layout, key })
    }

    /// Tells a module what it is compiled for.
    pub fn prepare(&self, ll: &Llvm) {
        ll.module.set_triple(&self.raw.get_triple());
        ll.module.set_data_layout(&self.layout);
    }

    /// Lets programs be linked with the protection that processors have against jumps to other
    /// places than the beginnings of functions: `endbr64` (Intel CET) or `bti` (Arm) is at each
    /// of them, and the object says so. Stacks of return addresses alone need nothing.
    pub fn guard_branches(&self, ll: &Llvm) {
        let flag = |name| {
            let yes = ll.context.i32_type().const_int(1, false);
            ll.module.add_basic_value_flag(name, FlagBehavior::Override, yes);
        };
        if self.key.0.starts_with("x86_64") {
            ["cf-protection-branch", "cf-protection-return"].into_iter().for_each(flag);
        } else {
            flag(BRANCH_TARGETS);
            for function in ll.defined() {
                ll.add_attribute(function, AttributeLoc::Function, Attribute::Text(BRANCH_TARGETS, ""));
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
        // LLVM ends the process when one run of this pass leaves something to do, unless told not
        // to look.
        let passes = passes.replace("instcombine", "instcombine<no-verify-fixpoint>");
        let result = ll.module.run_passes(&passes, &self.raw, PassBuilderOptions::create());
        result.map_err(|message| CodegenError::llvm(message.to_string()))
    }

    /// Compiles a module to text or an object.
    pub fn emit(&self, ll: &Llvm, text: bool) -> Result<Vec<u8>, CodegenError> {
        let kind = if text { FileType::Assembly } else { FileType::Object };
        match self.raw.write_to_memory_buffer(&ll.module, kind) {
            Ok(buffer) => Ok(buffer.as_slice().to_vec()),
            Err(message) => Err(CodegenError::llvm(message.to_string())),
        }
    }
}
