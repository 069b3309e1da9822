//! `kc gpu`: a CUDA program, on a machine without a GPU. The program finds a driver that runs its
//! PTX on the simulator (`libcuda/`), and what that found is reported and counted.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use serde_json::{Value, json};

use super::profile::limits;
use super::{Exit, output};
use crate::diag::Code;
use crate::profile::{Gate, Limits, Verdict, program_page};
use crate::run::{Result, fail};

/// Runs a CUDA program on a simulated GPU.
///
/// Its PTX is executed on this machine and checked for data races, accesses outside of arrays,
/// uninitialised memory, barriers that threads miss, and use after free.
///
/// Programs by numba-cuda, Triton, cuda.core, cuda-bindings, NVRTC and the driver API run
/// unchanged. A program whose name ends in `.py` is run by `python3`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Exit codes: that of the program; 1 if it ends with 0 and something was found; 2 wrong usage; 128 + N after signal N."
)]
pub(super) struct Args {
    /// The program and its arguments.
    #[arg(required = true, value_name = "PROGRAM", trailing_var_arg = true, allow_hyphen_values = true)]
    program: Vec<OsString>,
    /// The architecture of the GPU.
    #[arg(long, default_value = "sm_90", value_name = "ARCH", value_parser = limits)]
    arch: &'static Limits,
    /// So many GPUs.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=16))]
    devices: u32,
    /// Bytes of memory of each, with K, M or G.
    #[arg(long, default_value = "8G", value_name = "BYTES")]
    memory: String,
    /// What is looked for besides what ends a launch on a GPU too: `races`, `uninitialised`,
    /// `leaks` (memory that is never given back); `none`.
    #[arg(long, default_value = "races,uninitialised", value_name = "LIST")]
    checks: String,
    /// Streams, blocks and warps run in an order that this number decides; without it in their
    /// order.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Instructions that a warp may run before the launch counts as endless.
    #[arg(long, value_name = "N")]
    steps: Option<u64>,
    /// Write what was found and what each launch costs, by the counters of `kc profile`: JSON, or
    /// one HTML file where the name ends in `.html`.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Ends with exit code 1 if this holds for a launch, such as
    /// `derived__memory_l2_theoretical_sectors_global_excessive > 0`; may be repeated.
    #[arg(long, value_name = "METRIC OP NUMBER", value_parser = Gate::parse)]
    fail_if: Vec<Gate>,
}

pub(super) fn run(args: &Args) -> Exit {
    program(args).unwrap_or_else(|error| output::fail(&error))
}

fn program(args: &Args) -> Result<Exit> {
    let library = library()?;
    let folder = tempfile::Builder::new().prefix("kc-gpu-").tempdir().map_err(|e| cannot("make a folder", &e))?;
    let log = folder.path().join("log.jsonl");
    furnish(folder.path(), &library).map_err(|e| cannot("make the folder of the driver", &e))?;
    let mut command = command(&args.program);
    environment(&mut command, args, folder.path(), &log);
    let mut child = command.spawn().map_err(|error| {
        let name = command.get_program().to_string_lossy().into_owned();
        fail(Code::E1012, format!("`{name}` does not start: {error}"))
    })?;
    // Ctrl-C is the program's business; what was found is reported after it.
    // SAFETY: to ignore a signal takes no code of ours.
    unsafe { libc::signal(libc::SIGINT, libc::SIG_IGN) };
    let status = child.wait().map_err(|e| cannot("wait for the program", &e))?;
    let events = events(&log);
    if let Some(path) = &args.report {
        let report = report(args, status, &events);
        let is_page = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("html"));
        let text = if is_page {
            program_page(&report, &|file| std::fs::read_to_string(file).ok())
        } else {
            format!("{report:#}\n")
        };
        output::write_file(path, text.as_bytes()).map_err(Box::new)?;
        output::note(&format!("wrote {}\n", path.display()));
    }
    let found = events
        .iter()
        .any(|event| event["event"] == "finding" && event["code"].as_str().is_some_and(|code| code.starts_with('E')));
    let failed = args.fail_if.iter().filter(|gate| !holds(gate, &events)).count() > 0;
    Ok(match (status.code(), status.signal()) {
        (Some(0), _) if found || failed => Exit::Errors,
        (Some(code), _) => Exit::Program(u8::try_from(code & 0xff).unwrap_or(1)),
        (None, signal) => Exit::Program(u8::try_from(128 + signal.unwrap_or(0)).unwrap_or(u8::MAX)),
    })
}

/// Whether no launch breaks a bound; else says which launch of each kernel does first, or that
/// there is no such count.
fn holds(gate: &Gate, events: &[Value]) -> bool {
    let mut broken: Vec<&str> = Vec::new();
    let mut is_known = false;
    for launch in events.iter().filter(|event| event["event"] == "launch") {
        let verdict = gate.verdict(launch["metrics"][gate.metric()]["value"].as_f64());
        is_known |= verdict != Verdict::Unknown;
        let entry = launch["entry"].as_str().unwrap_or("?");
        if let Verdict::Fails(value) = verdict
            && !broken.contains(&entry)
        {
            broken.push(entry);
            let call = launch["call"].as_u64().unwrap_or(0);
            let message = format!("`{entry}` (call {call}): `{}`: {} is {value}", gate.text, gate.metric());
            output::fail(&fail(Code::E1118, message));
        }
    }
    if !is_known {
        let message =
            format!("no launch has a metric `{}`; `kc profile --all` shows those that there are", gate.metric());
        output::fail(&fail(Code::E1118, message));
    }
    is_known && broken.is_empty()
}

fn cannot(what: &str, error: &std::io::Error) -> crate::run::Fail {
    fail(Code::E1104, format!("cannot {what}: {error}"))
}

/// The driver: beside the program, where `make dist` puts it, or as `KC_GPU_LIBRARY` says.
fn library() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os("KC_GPU_LIBRARY").map(PathBuf::from) {
        return match path.is_file() {
            true => Ok(path),
            false => Err(fail(Code::E1104, format!("KC_GPU_LIBRARY={}: there is no such file", path.display()))),
        };
    }
    let own =
        std::env::current_exe().and_then(|path| path.canonicalize()).map_err(|e| cannot("find the program kc", &e))?;
    let beside = own.parent().unwrap_or(Path::new("."));
    let places = [beside.join("libkc_gpu.so"), beside.join("../lib/kc/libcuda.so.1")];
    places.iter().find(|path| path.is_file()).and_then(|path| path.canonicalize().ok()).ok_or_else(|| {
        let looked: Vec<String> = places.iter().map(|path| path.display().to_string()).collect();
        let message = format!("the simulated driver is not there: looked for {}", looked.join(" and "));
        let mut error = fail(Code::E1104, message);
        error.help = Some("`make` builds it; `KC_GPU_LIBRARY` names it elsewhere".to_string());
        error
    })
}

/// What programs look for, in the folder: the driver by its names, what represents the assembler,
/// what Python runs first.
fn furnish(folder: &Path, library: &Path) -> std::io::Result<()> {
    for part in ["lib", "python", "triton"] {
        std::fs::create_dir(folder.join(part))?;
    }
    for name in ["libcuda.so.1", "libcuda.so"] {
        symlink(library, folder.join("lib").join(name))?;
    }
    let assembler = folder.join("ptxas");
    std::fs::write(&assembler, include_str!("ptxas.sh"))?;
    std::fs::set_permissions(&assembler, PermissionsExt::from_mode(0o755))?;
    std::fs::write(folder.join("python/kc_warp.py"), include_str!("kc_warp.py"))?;
    std::fs::write(folder.join("python/sitecustomize.py"), include_str!("sitecustomize.py"))
}

/// A file of Python has an interpreter: the one of the Python package, if the command is its, or
/// that of the search path.
fn command(program: &[OsString]) -> Command {
    let path = Path::new(&program[0]);
    let mut command = if path.extension().is_some_and(|e| e == "py") {
        let own = std::env::var_os("KC_PYTHON").filter(|own| !own.is_empty());
        let mut python = Command::new(own.unwrap_or_else(|| "python3".into()));
        python.arg(path);
        python
    } else {
        Command::new(path)
    };
    command.args(&program[1..]);
    command
}

/// A list of folders with one more in front.
fn before(folder: &Path, variable: &str) -> OsString {
    let mut list = folder.as_os_str().to_owned();
    if let Some(rest) = std::env::var_os(variable).filter(|rest| !rest.is_empty()) {
        list.push(":");
        list.push(rest);
    }
    list
}

fn environment(command: &mut Command, args: &Args, folder: &Path, log: &Path) {
    let mut set = |name: &str, value: &dyn AsRef<OsStr>| {
        command.env(name, value.as_ref());
    };
    set("LD_LIBRARY_PATH", &before(&folder.join("lib"), "LD_LIBRARY_PATH"));
    set("PYTHONPATH", &before(&folder.join("python"), "PYTHONPATH"));
    for name in ["TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH"] {
        set(name, &folder.join("ptxas"));
    }
    // PTX that represents machine code is not for a GPU to find.
    set("TRITON_CACHE_DIR", &folder.join("triton"));
    set("KC_SIM_ARCH", &args.arch.arch);
    set("KC_SIM_DEVICES", &args.devices.to_string());
    set("KC_SIM_MEMORY", &args.memory);
    set("KC_SIM_CHECKS", &args.checks);
    set("KC_SIM_LOG", &log);
    let counts = args.report.is_some() || !args.fail_if.is_empty();
    set("KC_SIM_COUNT", &if counts { "1" } else { "0" });
    if let Some(seed) = args.seed {
        set("KC_SIM_SEED", &seed.to_string());
    }
    if let Some(steps) = args.steps {
        set("KC_SIM_STEPS", &steps.to_string());
    }
}

/// What the driver noted, in its order; a line that a killed program did not finish is none.
fn events(log: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn report(args: &Args, status: ExitStatus, events: &[Value]) -> Value {
    let of = |kind: &str| -> Vec<Value> {
        let mut list: Vec<Value> = events.iter().filter(|event| event["event"] == kind).cloned().collect();
        list.iter_mut().filter_map(Value::as_object_mut).for_each(|event| drop(event.remove("event")));
        list
    };
    let program: Vec<String> = args.program.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    json!({
        "format": 1,
        "program": program,
        "exit": status.code(),
        "arch": args.arch.arch,
        "devices": args.devices,
        "findings": of("finding"),
        "launches": of("launch"),
    })
}
