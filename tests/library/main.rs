//! Every built-in of the library, by the library's own index, so that none can be forgotten:
//! kernels are made for every overload, with made-up arguments of its domain.
//!
//! - Host code and interpreter give the same bits.
//! - Gradients are those of finite differences; what is declared to have no gradient passes none.
//! - The CUDA text of all kernels together passes NVRTC.
//! - The examples in the docs compile, and their checks hold. What reads meshes, trees and hash
//!   grids is tested by these alone.
//!
//! One built-in in three unless one is named or `KC_TESTS=all`; the CUDA text has them all.

#[path = "../common/mod.rs"]
mod common;
mod examples;
mod gradient;
mod instance;
mod memory;
#[path = "../common/sample.rs"]
mod sample;

use std::path::Path;

use instance::{Instance, Role, instances};
use kc::codegen::llvm::{Atomics, Cpu, HostModule, HostOptions, Opt};
use kc::driver::{Abi, ArrayLayout, Artefact, Compilation, Compiler, Gradients, Grid, Options, Request};
use kc::ir::{Derivative, FuncId, Module, Phase};
use kc::library::{Entry, Library};
use kc::source::SourceMap;
use kc::types::Scalar;
use libtest_mimic::{Arguments, Failed, Trial};
use memory::Memory;

/// Threads of a launch, where the built-in works on single values.
pub const THREADS: u32 = 16;

/// Elements of an array that a built-in takes whole.
const WHOLE: usize = 16;

const HEAD: &str = "import warp as wp\n\n\n";

fn main() {
    let arguments = Arguments::from_args();
    let mut trials: Vec<Trial> =
        sample::sampled(Library::public_names(), if arguments.filter.is_some() { 1 } else { 4 })
            .into_iter()
            .map(|name| Trial::test(name, move || check(name)))
            .collect();
    trials.extend(
        Library::statements().map(|name| Trial::test(name, move || examples::check(&format!("{name}.syntax")))),
    );
    trials.push(Trial::test("cuda_text_of_all", cuda_text_of_all));
    libtest_mimic::run(&arguments, trials).exit();
}

/// The kernels of a name.
fn all_instances(name: &str) -> Vec<Instance> {
    let (library, mut sources) = (Library::default(), SourceMap::default());
    let entries = library.entries(name, &mut sources);
    let own = entries.iter().enumerate().filter(|(_, entry)| !entry.intrinsic && !reads_engines(entry));
    own.flat_map(|(n, entry)| instances(name, n, entry, &sources)).collect()
}

/// It takes the id of a mesh, a tree or a hash grid, a query, or a texture: no number that is made
/// up will do. `tests/engines` compares what these find with a search through everything.
pub fn reads_engines(entry: &Entry) -> bool {
    let first = entry.function.params.first().map(|param| param.name.text.as_str());
    matches!(first, Some("id" | "query" | "tex"))
}

fn check(name: &str) -> Result<(), Failed> {
    examples::check(name)?;
    let instances = all_instances(name);
    if instances.is_empty() {
        return Ok(());
    }
    // Work on whole arrays in place may be refused, with a code of its own; its forward code is
    // tested all the same.
    let in_place = name.starts_with("dense_");
    let compilation = compile(&instances, !in_place)?;
    let module = &compilation.module;
    let kernels: Vec<FuncId> = module.kernels().map(|(id, _)| id).collect();
    let options = HostOptions { checked: true, opt: Opt::Full, cpu: Cpu::Native, atomics: Atomics::Shared };
    let host = HostModule::compile(module, &kernels, &options).map_err(|error| error.to_string())?;
    for instance in &instances {
        let forward = find(module, &instance.kernel, Phase::Forward)?;
        let arrays = arguments(instance);
        same_bits(instance, module, &host, forward, &arrays)?;
        match find(module, &instance.kernel, Phase::Backward) {
            Ok(backward) => gradient::check(instance, module, &host, forward, backward, &arrays)?,
            // What stores no floats has nothing to differentiate, and says so.
            Err(_) if matches!(module.functions[forward].derivative, Derivative::Zero(_)) => no_floats(instance)?,
            Err(missing) if !in_place && gradients_are_made() => return Err(missing),
            Err(_) => {}
        }
    }
    Ok(())
}

fn compile(instances: &[Instance], backward: bool) -> Result<Compilation, Failed> {
    let text = instances.iter().fold(HEAD.to_string(), |text, instance| text + &instance.source + "\n\n");
    let gradients = Gradients { backward, ..Gradients::default() };
    let request = Request { gradients, ..Request::default() };
    let compilation = Compiler::new().load_text(Path::new("library.py"), text.clone(), &request);
    // Where there is no gradient by decision, kc must say so rather than pass none.
    let errors: Vec<String> = compilation
        .diagnostics
        .iter()
        .filter(|d| d.level == kc::diag::Level::Error)
        .map(|d| format!("{}: {}", d.code.name(), d.message))
        .collect();
    if errors.is_empty() { Ok(compilation) } else { Err(format!("{}\n{text}", errors.join("\n")).into()) }
}

/// A kernel with nothing to differentiate gives no floats.
fn no_floats(instance: &Instance) -> Result<(), Failed> {
    let is_float = |param: &instance::Param| param.element.scalar_part().is_some_and(Scalar::is_float);
    match instance.params.iter().any(|param| param.role == Role::Output && is_float(param)) {
        true => Err(format!("{} gives floats, and has no backward entry", instance.kernel).into()),
        false => Ok(()),
    }
}

/// Whether kc makes backward entries at all: then each kernel must have one.
fn gradients_are_made() -> bool {
    let text = "@wp.kernel\ndef square(x: wp.array(dtype=float)):\n    x[wp.tid()] = x[wp.tid()] * 2.0\n";
    let compilation = Compiler::new().load_text(
        Path::new("square.py"),
        format!("import warp as wp\n\n\n{text}"),
        &Request::default(),
    );
    compilation.module.kernels().any(|(_, kernel)| kernel.phase == Phase::Backward)
}

fn find(module: &Module, kernel: &str, phase: Phase) -> Result<FuncId, Failed> {
    let found = module.kernels().find(|(_, function)| function.source_name == kernel && function.phase == phase);
    found.map(|(id, _)| id).ok_or_else(|| format!("{kernel} has no {} entry", phase.name()).into())
}

pub fn threads(instance: &Instance) -> u32 {
    if instance.whole_arrays { 1 } else { THREADS }
}

/// Made-up arguments, the same in every run.
fn arguments(instance: &Instance) -> Vec<Memory> {
    let mut random = Random::new(&instance.kernel);
    let array = |param: &instance::Param| {
        let len = if param.role == Role::Whole { WHOLE } else { threads(instance) as usize };
        let mut memory = Memory::zeroed(param.element, len);
        if param.role == Role::Output {
            return memory;
        }
        let mut numbers: Vec<f64> = (0..memory.count()).map(|_| random.next()).collect();
        if param.role == Role::Whole {
            // Arrays are taken in rising order, which is what searches need.
            numbers.sort_by(f64::total_cmp);
        }
        for (n, t) in numbers.into_iter().enumerate() {
            if memory.scalar.is_float() {
                let (low, high) = param.domain.unwrap_or((-2.0, 2.0));
                memory.set_float(n, low + (high - low) * t);
            } else {
                let (low, high) = param.domain.unwrap_or((1.0, 9.0));
                memory.set_int(n, (low + ((high - low + 1.0) * t).floor()) as i128);
            }
        }
        memory
    };
    instance.params.iter().map(array).collect()
}

fn same_bits(
    instance: &Instance,
    module: &Module,
    host: &HostModule,
    kernel: FuncId,
    arrays: &[Memory],
) -> Result<(), Failed> {
    let (mut expected, mut found) = (arrays.to_vec(), arrays.to_vec());
    let entry = host.entry(kernel).ok_or("the host code has no such entry")?;
    let a = memory::interpret(module, kernel, threads(instance), &mut expected);
    let b = memory::run(entry, threads(instance), &mut found);
    if a.is_ok() != b.is_ok() {
        return Err(format!("{}: interpreter {a:?}, host {b:?}", instance.kernel).into());
    }
    for (n, (a, b)) in expected.iter().zip(&found).enumerate() {
        for k in 0..a.count() {
            let nan = a.scalar.is_float() && a.float(k).is_nan() && b.float(k).is_nan();
            if a.bits(k) != b.bits(k) && !nan {
                let (a, b) = (a.bits(k), b.bits(k));
                let kernel = &instance.kernel;
                return Err(format!("{kernel}: array {n}, number {k}: interpreter {a:#x}, host {b:#x}").into());
            }
        }
    }
    Ok(())
}

/// One file with all kernels: helpers of one must not disturb those of another.
fn cuda_text_of_all() -> Result<(), Failed> {
    let instances: Vec<Instance> = Library::public_names().flat_map(all_instances).collect();
    assert!(instances.len() > 400, "only {} kernels", instances.len());
    let mut compilation = compile(&instances, false)?;
    let options = Options {
        opt: Opt::Full,
        fmad: true,
        layout: ArrayLayout::Strided,
        grid: Grid::Any,
        abi: Abi::Warp,
        lineinfo: false,
        cpu: Cpu::Native,
        checked: false,
        ptx: Vec::new(),
        ..Options::default()
    };
    let text = compilation.emit(Artefact::Cuda, &options).ok_or("no CUDA text")?;
    common::assert_cuda(&String::from_utf8(text).map_err(|error| error.to_string())?, "sm_75");
    Ok(())
}

/// Numbers from 0 to 1.
struct Random(u64);

impl Random {
    fn new(seed: &str) -> Random {
        // FNV-1a
        Random(seed.bytes().fold(0xCBF2_9CE4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01B3)))
    }

    fn next(&mut self) -> f64 {
        // splitmix64 (Steele, Lea and Flood, OOPSLA 2014)
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}
