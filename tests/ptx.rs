//! Does kc's PTX compute what its host code computes, however it is made? Launches are run on the
//! simulator with PTX for covering grids and for any grid, optimised fully and lean, for strided
//! and for contiguous arrays, and in several orders of the threads; all is compared with the host.
//! Of the run tests one launch in eight unless `KC_TESTS=all`.

#[path = "common/sample.rs"]
mod sample;

use std::path::{Path, PathBuf};
use std::process::Command;

use kc::codegen::llvm::{Arch, ArrayLayout, Checks, Grid, Opt, Prints, PtxOptions, TensorCores};
use kc::driver::{Compiler, Gradients, Request};
use kc::ir::{FuncId, Module};
use kc::run::devices::sim::Kernel;
use kc::run::devices::{self, Device, Executable, Found, How, Trial};
use kc::run::program::{Program, Wanted};
use kc::run::session::{Finished, Options, Session};
use kc::run::{launch, verify};
use kc::sim::Counts;

/// The simulator with PTX that is made in one way.
struct Variant {
    name: &'static str,
    grid: Grid,
    layout: ArrayLayout,
    opt: Opt,
    checks: Checks,
}

static VARIANTS: [Variant; 4] = [
    Variant { name: "any grid", grid: Grid::Any, layout: ArrayLayout::Strided, opt: Opt::Full, checks: Checks::None },
    Variant {
        name: "any grid, lean",
        grid: Grid::Any,
        layout: ArrayLayout::Strided,
        opt: Opt::Lean,
        checks: Checks::None,
    },
    Variant {
        name: "contiguous",
        grid: Grid::Covering,
        layout: ArrayLayout::Contiguous,
        opt: Opt::Full,
        checks: Checks::None,
    },
    // Nothing is wrong in these launches: they give the same, and record nothing.
    Variant {
        name: "with tests",
        grid: Grid::Any,
        layout: ArrayLayout::Contiguous,
        opt: Opt::Lean,
        checks: Checks::Recorded,
    },
];

impl Device for Variant {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        "the simulator with PTX made in another way"
    }

    fn found(&self) -> kc::run::Result<Vec<Found>> {
        Ok(Vec::new())
    }

    fn prepare(&self, module: &Module, kernel: FuncId, how: &How) -> kc::run::Result<Box<dyn Executable>> {
        let Variant { grid, layout, opt, checks, .. } = *self;
        let (arch, tensor_cores) = (Arch::DEFAULT, TensorCores::On);
        let options = PtxOptions { arch, opt, fmad: false, layout, grid, checks, prints: Prints::Driver, tensor_cores };
        let kernel = Kernel::load(module, kernel, &options, how.trial)?;
        // Strided arrays may lie at any multiple of their scalars.
        Ok(Box::new(if layout == ArrayLayout::Strided { kernel.shifted(8) } else { kernel }))
    }

    fn keeps_order(&self) -> bool {
        false
    }
}

fn python(script: &str) -> Command {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let mut command = Command::new(root.join(".env-test/bin/python"));
    command.arg("-B").arg(root.join(script));
    command
}

/// Runs a command that must succeed; what it says.
#[track_caller]
fn done(command: &mut Command) -> String {
    let output = command.output().expect("`make test` makes .env-test");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

/// Runs a launch on a device.
fn run(path: &Path, device: &'static dyn Device, schedules: u32) -> Finished {
    let mut compile = |wanted: &Wanted| {
        let request = Request {
            kernels: wanted.gradient_of.as_ref().or(wanted.kernel.as_ref()).into_iter().cloned().collect(),
            gradients: Gradients {
                backward: wanted.gradient_of.is_some(),
                store: None,
                parameters: true,
                ..Gradients::default()
            },
            same_arrays: wanted.same_arrays.clone(),
            block_threads: wanted.block_threads,
            ..Request::default()
        };
        let compilation = Compiler::new().load(&wanted.source, &request);
        let diagnostics = compilation.diagnostics.into_sorted();
        Program { module: compilation.module, sources: compilation.sources, diagnostics }
    };
    let trial = Trial { schedules, seed: 7, counts: schedules > 1, ..Trial::PLAIN };
    let options = Options { threads: 1, trial, ..Options::of(device) };
    Session::new(options, &mut compile).run(&launch::read(path).expect("a launch"), &path.display().to_string())
}

/// What a comparison found.
#[derive(Default)]
struct Compared {
    wrong: Vec<String>,
    runs: usize,
    /// Exchanges of the lanes of warps on the simulator as users run it, and those of them that all
    /// 32 lanes took part in.
    exchanges: u64,
    whole: u64,
}

impl Compared {
    fn count(&mut self, run: &Finished) {
        let exchanges = run.counted.iter().flat_map(|measured| &measured.instructions).filter(|i| i.exchanges);
        for Counts { executed, threads_on, .. } in exchanges.map(|i| i.counts) {
            self.exchanges += executed;
            // Of an instruction that some warps run with fewer lanes, none count: the test asks for
            // a bound from below.
            self.whole += if threads_on == 32 * executed { executed } else { 0 };
        }
    }
}

/// Runs every `every`th case below a folder in all ways.
fn compare(cases: &Path, every: usize) -> Compared {
    let mut folders: Vec<PathBuf> =
        std::fs::read_dir(cases).expect("cases").map(|entry| entry.expect("an entry").path()).collect();
    folders.retain(|folder| folder.join("case.json").exists());
    folders.sort();
    assert!(!folders.is_empty());
    let host = devices::named("host").expect("the host");
    let sim = devices::named("sim").expect("the simulator");
    let mut compared = Compared::default();
    for folder in folders.iter().step_by(every) {
        let path = folder.join("case.json");
        let text = std::fs::read_to_string(&path).expect("a case");
        let dense = !text.contains("\"strides\"");
        let expected = run(&path, host, 1);
        if !expected.errors.is_empty() {
            // A launch whose point is its error.
            continue;
        }
        let (Some(a), Some(program)) = (&expected.arguments, &expected.program) else { continue };
        let ways = VARIANTS.iter().map(|variant| (variant as &'static dyn Device, 1)).chain([(sim, 3)]);
        for (device, schedules) in ways {
            if device.name() == "contiguous" && !dense {
                continue;
            }
            let found = run(&path, device, schedules);
            if schedules > 1 {
                compared.count(&found);
            }
            let name = format!("{} ({})", folder.display(), device.name());
            compared.wrong.extend(found.errors.iter().map(|e| format!("{name}: {} {}", e.code.name(), e.message)));
            let Some(b) = &found.arguments else { continue };
            let rows = verify::compare(a, b, &program.module.structs, false);
            let apart = rows.iter().filter(|row| row.wrong > 0);
            compared.wrong.extend(apart.map(|row| format!("{name}: {} differs in {} scalars", row.array, row.wrong)));
            compared.runs += 1;
        }
    }
    compared
}

/// Whole warps add up floats, loops part, and accesses are wide.
#[test]
fn warps_loops_and_wide_accesses() {
    let folder = tempfile::tempdir().expect("a folder");
    done(python("tests/ptx/cases.py").arg(folder.path()));
    let Compared { wrong, runs, exchanges, whole } = compare(folder.path(), 1);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // 48 launches, four ways each.
    assert!(runs >= 170, "{runs} runs");
    // Sums of whole warps go through shuffles only where no lane has strayed.
    assert!(whole >= 100 && 2 * whole >= exchanges, "{whole} of {exchanges} exchanges have all lanes");
}

#[test]
fn launches_of_the_run_tests() {
    let folder = tempfile::tempdir().expect("a folder");
    done(python("tests/reference/launches.py").args(["prepare", "tests/run"]).arg(folder.path()));
    let (every, least) = if sample::whole() { (1, 240) } else { (8, 30) };
    let Compared { wrong, runs, .. } = compare(folder.path(), every);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(runs >= least, "{runs} runs");
}
