//! Tiles that take more than a block has without being asked: the text of every architecture that
//! has so much is what NVRTC makes PTX of, and threads of a block that run it on the simulator
//! compute what the interpreter does.

use std::path::Path;

use kc::abi::{LaunchBounds, device_entry};
use kc::codegen::cuda::{CudaOptions, Texts, emit};
use kc::codegen::llvm::{Arch, ArrayLayout, Checks, Grid, Opt, Prints, PtxOptions, TensorCores};
use kc::codegen::meta;
use kc::diag::Code;
use kc::driver::{Compiler, Gradients, Request};
use kc::ir::interp::{Outcome, run_kernel};
use kc::ir::{Const, FuncId, Module, Phase};
use kc::passes::block_threads::{Tensor, TensorCores as Cores};
use kc::run::devices::sim::Kernel;
use kc::run::devices::{Executable as _, Job, Trial};
use kc::types::{Scalar, Type};
use libtest_mimic::Failed;
use serde_json::Value;

use crate::arguments::{Arguments, Memory};
use crate::common;

const SOURCE: &str = "import warp as wp

@wp.kernel
def scans(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):
    i = wp.tid()
    block_memory = wp.tile_load(x, shape=(60, 120), offset=(i * 60, 0))
    sums = wp.tile_scan_inclusive(block_memory)
    wp.tile_store(y, sums * block_memory, offset=(i * 60, 0))

@wp.kernel
def mixed(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):
    i = wp.tid()
    # 33 halves end between two multiples of 16 bytes.
    h = wp.tile_astype(wp.tile_load(x[i * 60], shape=33), dtype=wp.float16)
    s = wp.tile_scan_max_inclusive(h)
    t = wp.tile_astype(wp.tile_load(x, shape=(60, 110), offset=(i * 60, 0)), dtype=wp.float64)
    u = wp.tile_scan_inclusive(t)
    wp.tile_store(y, wp.tile_astype(u, dtype=float), offset=(i * 60, 0))
    wp.tile_store(y[i * 60], wp.tile_astype(s + h, dtype=float), offset=40)
";

/// The extents of both arrays: two blocks of rows, the second of which is not full.
const EXTENTS: [i32; 4] = [110, 120, 1, 1];

const BLOCK: u32 = 64;

pub fn check() -> Result<(), Failed> {
    let gradients = Gradients { backward: true, ..Gradients::default() };
    let request = Request { gradients, ..Request::default() };
    let compilation = Compiler::new().load_text(Path::new("kernel.py"), SOURCE.to_string(), &request);
    let said: Vec<&str> = compilation.diagnostics.iter().map(|d| d.message.as_str()).collect();
    assert!(!compilation.diagnostics.has_errors(), "{said:?}");
    let module = &compilation.module;
    let (mut fits, mut refused) = (0, 0);
    for (id, kernel) in module.kernels() {
        let bytes = asked(module, id)?;
        assert!(bytes > 48 << 10, "{}: {bytes}", kernel.name);
        for arch in Arch::ALL {
            let options = CudaOptions { shared: arch.shared, ..CudaOptions::default() };
            match emit(module, &[id], &options, &Texts::new(0)) {
                Ok(text) => {
                    assert!(bytes <= arch.shared, "{} {}: {bytes}", kernel.name, arch.name);
                    let entry = device_entry(&kernel.source_name, kernel.phase);
                    let most =
                        format!("cudaFuncSetAttribute({entry}, cudaFuncAttributeMaxDynamicSharedMemorySize, {bytes})");
                    assert!(text.contains(&most) && text.contains(&format!("<<<grid, block, {bytes}>>>")), "{text}");
                    run(module, id, *arch, &text)?;
                    fits += 1;
                }
                Err(error) => {
                    assert!(bytes > arch.shared && error.code == Code::E0822, "{}: {}", arch.name, error.message);
                    refused += 1;
                }
            }
        }
    }
    assert!(fits >= 20 && refused >= 4, "{fits} fit, {refused} are refused");
    Ok(())
}

/// The bytes that a launch asks for, by the metadata.
fn asked(module: &Module, id: FuncId) -> Result<u64, Failed> {
    let tensor = Tensor::of_ptx(Cores::Off, 90);
    let text = meta::emit(module, &[id], meta::MetaOptions { tensor, ..Default::default() });
    let meta: Value = serde_json::from_str(&text)?;
    let entries = &meta["kernels"][0]["entries"];
    let block = &entries[Phase::name(module.functions[id].phase)]["block"];
    Ok(block["dynamic_shared_bytes"].as_u64().ok_or_else(|| text.clone())?)
}

/// Two blocks: what one leaves in the memory is not the other one's.
fn run(module: &Module, id: FuncId, arch: Arch, text: &str) -> Result<(), Failed> {
    let kernel = &module.functions[id];
    let ptx = common::assert_cuda(text, arch.name);
    assert!(ptx.contains(".extern .shared .align 16 .b8 block_memory[];"), "{ptx}");
    common::assert_ptx(&ptx, arch.name);
    let launch = LaunchBounds::new(&[2]).ok_or("a small launch")?;
    let types: Vec<Type> = kernel.params().iter().map(|&p| kernel.ty(p)).collect();
    let arguments = || {
        let mut next = 0u32;
        // Sums of them are exact.
        Arguments::new(module, &types, EXTENTS, &mut |scalar: Scalar| {
            next = next.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            Const::float(scalar, f64::from(next >> 29)).bits
        })
    };
    let (expected, found) = (arguments(), arguments());
    let mut outcome = Outcome::new(|_| {});
    // SAFETY: the argument block describes memory that `expected` owns.
    unsafe { run_kernel(module, id, &launch, expected.block.as_ptr().cast(), 0, u64::MAX, &mut outcome) };
    assert!(outcome.trap.is_none(), "{}: {:?}", kernel.name, outcome.trap);
    let options = PtxOptions {
        arch,
        opt: Opt::Full,
        fmad: false,
        layout: ArrayLayout::Strided,
        grid: Grid::Covering,
        checks: Checks::None,
        prints: Prints::Driver,
        tensor_cores: TensorCores::Off,
    };
    let loaded = Kernel::of_text(module, &[id], ptx.into(), &options, &Trial::PLAIN).map_err(|e| e.message)?;
    let piece = |m: &Memory| (m.words.as_ptr().expose_provenance() as u64, m.words.len() as u64 * 8);
    let memory: Vec<(u64, u64)> = found.arrays.iter().map(piece).collect();
    let job = Job { block_dim: BLOCK, memory: &memory, ..Job::new(launch, found.block.as_ptr().cast(), 1) };
    for code in &loaded {
        // SAFETY: the block describes memory that `found` owns.
        let report = unsafe { code.run(module, &job) }.map_err(|e| e.message)?;
        assert!(report.trap.is_none() && report.findings.is_empty(), "{}: {:?}", kernel.name, report.findings);
    }
    for (n, (e, f)) in expected.arrays.iter().zip(&found.arrays).enumerate() {
        let differs = e.first_difference(f);
        assert!(differs.is_none(), "{} on {}, array {n}, scalar {differs:?}\n{text}", kernel.name, arch.name);
    }
    Ok(())
}
