//! `kc devices`: on what can kernels run here?

use super::{Exit, output};
use crate::diag::render::{Format, render};
use crate::run::devices::gpu;
use crate::source::SourceMap;

/// Lists what kernels can run on: the host, the interpreter, and each NVIDIA GPU that the driver knows.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// One JSON object per device.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Exit {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut lines = if args.json {
        let (host, interp) =
            (serde_json::json!({"device": "host", "cores": cores}), serde_json::json!({"device": "interp"}));
        format!("{host}\n{interp}\n")
    } else {
        format!("host    this machine, {cores} cores\ninterp  the reference interpreter\n")
    };
    let found = gpu::devices();
    if let Ok((version, list)) = &found {
        for gpu in list {
            lines.push_str(&if args.json { json(*version, gpu) } else { text(*version, gpu) });
        }
    }
    let written = output::out(lines.as_bytes()).map_err(Box::new);
    match written.and(found) {
        Ok(_) => Exit::Ok,
        Err(error) => {
            output::err(&render(&error, &SourceMap::default(), Format::Full, output::style()));
            Exit::Errors
        }
    }
}

fn text(version: i32, gpu: &gpu::Description) -> String {
    let (major, minor) = gpu.capability;
    let arch = gpu.arch.map_or("too old for kc", |arch| arch.name);
    format!(
        "cuda:{}  {}, {:.1} GiB, {} multiprocessors, capability {major}.{minor} (kc compiles {arch}), driver for CUDA {}.{}\n",
        gpu.ordinal,
        gpu.name,
        gpu.memory as f64 / f64::from(1 << 30),
        gpu.multiprocessors,
        version / 1000,
        version % 1000 / 10,
    )
}

fn json(version: i32, gpu: &gpu::Description) -> String {
    let value = serde_json::json!({
        "device": format!("cuda:{}", gpu.ordinal),
        "name": gpu.name,
        "memory": gpu.memory,
        "multiprocessors": gpu.multiprocessors,
        "capability": [gpu.capability.0, gpu.capability.1],
        "arch": gpu.arch.map(|arch| arch.name),
        "cuda_version": [version / 1000, version % 1000 / 10],
    });
    format!("{value}\n")
}
