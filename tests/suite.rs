//! The cost model on the kernels of the benchmark suite: none runs as lanes against its own
//! estimate, on any processor of the table, neither by kc's lanes nor by LLVM's; and what it
//! decides depends on the processor.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use kc::codegen::llvm::{Atomics, Cpu, HostOptions, LlvmTarget, Opt, Parts, emit_llvm_ir, emit_plan};
use kc::driver::{Compilation, Compiler, Request};
use kc::ir::FuncId;

fn suite() -> Compilation {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/kernels.py");
    let compilation = Compiler::new().load(&path, &Request::default());
    assert!(!compilation.diagnostics.has_errors());
    compilation
}

fn options(cpu: Cpu) -> HostOptions {
    HostOptions { checked: true, opt: Opt::Full, cpu, atomics: Atomics::Plain }
}

/// The lines about lanes, by kernel and phase.
fn lanes(plan: &str) -> BTreeMap<&str, &str> {
    let kernels = plan.split("kernel ").skip(1);
    kernels
        .map(|part| {
            let mut lines = part.lines();
            let name = lines.next().expect("a name");
            (name, lines.find_map(|line| line.strip_prefix("  lanes: ")).expect("a line about lanes"))
        })
        .collect()
}

/// The factor that the estimate has; None: lanes cannot be had at any price.
fn gain(line: &str) -> Option<f64> {
    let (_, rest) = line.split_once("a gain of ").or_else(|| line.split_once("would gain a factor of "))?;
    rest.split(' ').next()?.parse().ok()
}

/// How much faster lanes must be by the estimate, which is shown with one digit.
const LEAST: f64 = 1.2;

#[test]
fn no_kernel_runs_as_lanes_against_the_estimate() {
    let suite = suite();
    let kernels: Vec<FuncId> = suite.module.kernels().map(|(id, _)| id).collect();
    assert!(kernels.len() >= 26, "{} entries", kernels.len());
    let processors: Vec<&str> = Cpu::names().filter(|name| !["native", "auto"].contains(name)).collect();
    for name in processors {
        let cpu = Cpu::from_name(name).expect("a processor of the table");
        let plan = emit_plan(&suite.module, &kernels, &options(cpu), Default::default());
        let (mut with, mut without) = (0, 0);
        for (kernel, line) in lanes(&plan) {
            let Some(gain) = gain(line) else { continue };
            let runs = !line.starts_with("none");
            assert!(if runs { gain >= LEAST } else { gain <= LEAST }, "{name}: {kernel}: {line}");
            *(if runs { &mut with } else { &mut without }) += 1;
        }
        assert!(with >= 12, "{name}: {with} kernels as lanes, {without} not\n{plan}");
    }
}

/// LLVM's own passes do not make lanes with gathers of what the model left as threads, and the
/// model's lanes are there in the code.
#[test]
fn the_code_is_as_planned() {
    let suite = suite();
    for name in ["x86-64-v3", "znver4", "sapphirerapids"] {
        let cpu = Cpu::from_name(name).expect("a processor of the table");
        for (kernel, function) in suite.module.kernels() {
            let plan = emit_plan(&suite.module, &[kernel], &options(cpu), Default::default());
            let line = *lanes(&plan).values().next().expect("one kernel");
            let planned = !line.starts_with("none");
            // Where lanes would not be right, LLVM cannot have them either.
            if !planned && gain(line).is_none() {
                continue;
            }
            let target = LlvmTarget::Host(options(cpu));
            let ir = emit_llvm_ir(&suite.module, &[kernel], target, &Parts::new(0)).unwrap_or_else(|e| panic!("{e}"));
            let name = format!("{name}: {} {}: {line}", function.source_name, function.phase.name());
            if planned {
                // The mask of the lanes that are left at the end of a row.
                let count = line.split(',').next().expect("lanes");
                assert!(ir.contains(&format!("<{count} x i1>")), "{name}\n{ir}");
            } else {
                let gathers = ir.contains("llvm.masked.gather") || ir.contains("llvm.masked.scatter");
                assert!(!gathers, "{name}\n{ir}");
            }
        }
    }
}

/// Threads one by one ask for what the springs of later ones join: the loop for arrays beyond the
/// caches does, and the other does not.
#[test]
fn springs_ask_for_what_later_ones_join() {
    let suite = suite();
    let cpu = Cpu::from_name("znver4").expect("a processor of the table");
    let asked = |wanted: &str| {
        let (kernel, _) = suite.module.kernels().find(|(_, f)| f.source_name == wanted).expect("a kernel");
        let target = LlvmTarget::Host(options(cpu));
        let ir = emit_llvm_ir(&suite.module, &[kernel], target, &Parts::new(0)).unwrap_or_else(|e| panic!("{e}"));
        ir.matches("call void @llvm.prefetch").count()
    };
    // Position, velocity and force of both ends. A histogram computes its indices.
    assert_eq!((asked("springs"), asked("histogram"), asked("jacobi")), (6, 0, 0));
}

/// Forcing `--cpu` to each family changes the plan, as `kc compile --emit plan` shows it.
#[test]
fn each_family_has_a_plan_of_its_own() {
    let plan = |cpu: &str| {
        let mut kc = Command::new(env!("CARGO_BIN_EXE_kc"));
        kc.args(["compile", "--emit", "plan", "-q", "-o", "-", "--cpu", cpu]);
        let output =
            kc.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suite/kernels.py")).output().expect("kc starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let families = [
        "x86-64-v2",
        "x86-64-v3",
        "x86-64-v4",
        "haswell",
        "skylake",
        "skylake-avx512",
        "icelake-server",
        "sapphirerapids",
        "znver2",
        "znver3",
        "znver4",
        "znver5",
        "neoverse-n1",
    ];
    let plans = families.map(|name| (name, plan(name)));
    for (n, (name, plan)) in plans.iter().enumerate() {
        for (other, same) in &plans[..n] {
            assert!(plan != same, "{name} and {other}");
        }
    }
    let of = |wanted: &str, kernel: &str| {
        let plan = &plans.iter().find(|(name, _)| *name == wanted).expect("a family").1;
        lanes(plan)[kernel].split(',').next().expect("lanes").to_string()
    };
    // A row of neighbours anywhere, of three floats each: gathers that pay on Intel's processors
    // alone.
    assert_eq!(of("sapphirerapids", "sph_density forward"), "16");
    assert_eq!(of("znver4", "sph_density forward"), "none");
}

/// In backward entries workers add to arrays themselves where rows of the launch are apart, and
/// lanes to neighbouring elements at once.
#[test]
fn gradients_are_shared_out_by_rows() {
    let suite = suite();
    let kernels: Vec<_> = suite.module.kernels().map(|(id, _)| id).collect();
    let cpu = Cpu::from_name("znver4").expect("a processor");
    let plan = emit_plan(&suite.module, &kernels, &options(cpu), Default::default());
    let of = |kernel: &str| {
        let found = plan.split("kernel ").find(|text| text.starts_with(&format!("{kernel} backward")));
        found.unwrap_or_else(|| panic!("{kernel}: {plan}"))
    };
    let jacobi = of("jacobi");
    assert!(jacobi.contains("\n  lanes: 16"), "{jacobi}");
    assert!(
        jacobi.contains("workers: each adds to adj_u itself (rows more than 2 others away are apart)\n"),
        "{jacobi}"
    );
    let spmv = of("spmv");
    let val = "adj_val itself (rows are apart where the numbers in rowptr rise)";
    assert!(spmv.contains(&format!("each adds to {val}, to copies of adj_x, which are")), "{spmv}");
}
