//! `kc explore`: kernels in a browser.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use super::run::{With, compile_by};
use super::tensor_cores::TensorCoresArg;
use super::{Exit, messages, output};
use crate::driver::{self, Compiler, Overlaid};
use crate::explore::{LaunchWish, Server, Wish, Workers, serve, static_page};
use crate::profile::Limits;
use crate::run::program::{Program, Wanted};

/// Shows kernels and what they become in a browser.
///
/// Source, generated code, counters of a simulated launch and findings lie side by side. Pointing
/// at a line lights what came of it. The page is for this machine alone, and asks no other for
/// anything.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// The source file.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The kernel that is shown first.
    #[arg(short, long, value_name = "NAME")]
    kernel: Option<String>,
    /// The architecture of PTX, machine code and occupancy.
    #[arg(long, default_value = "sm_90", value_name = "SM", value_parser = super::profile::limits)]
    arch: &'static Limits,
    /// Threads in each dimension of the launch that is counted: `1000`, `256x256`.
    #[arg(long, value_name = "N[xN...]")]
    dim: Option<String>,
    /// An argument of that launch, as for `kc run`; others are made up.
    #[arg(long = "arg", value_name = "NAME=VALUE", allow_hyphen_values = true)]
    args: Vec<String>,
    /// Count the gradient too.
    #[arg(long)]
    gradient: bool,
    #[command(flatten)]
    tensor_cores: TensorCoresArg,
    /// Write the page as one file that is alone, and serve nothing.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// The port of the page; where another program has it, a free one.
    #[arg(long, value_name = "N", default_value_t = 8517)]
    port: u16,
    /// Marks a process that makes what the page shows.
    #[arg(long, hide = true)]
    worker: bool,
}

/// As a session of launches compiles.
fn compile(compiler: &Compiler, files: &Arc<Overlaid>, wanted: &Wanted) -> Program {
    compile_by(compiler, files, wanted, With::default())
}

pub(super) fn run(args: &Args) -> Exit {
    if args.worker {
        serve(&args.file, compile, std::io::stdin().lock(), std::io::stdout());
        return Exit::Ok;
    }
    let text = match std::fs::read_to_string(&args.file) {
        Ok(text) => text.replace("\r\n", "\n"),
        Err(error) => {
            return output::fail(&messages::unexplored(&args.file.display().to_string(), &driver::reason(&error)));
        }
    };
    let wish = Wish {
        kernel: args.kernel.clone(),
        arch: args.arch.arch.to_string(),
        tensor_cores: args.tensor_cores.choice().name().to_string(),
        launch: LaunchWish {
            dim: args.dim.clone().unwrap_or_default(),
            block_dim: None,
            gradient: args.gradient,
            args: args.args.clone(),
        },
        ..Wish::default()
    };
    let file = args.file.clone();
    let workers = Workers::start(Box::new(move || worker(&file)));
    match &args.html {
        Some(page) => write(args, page, &Wish { source: text, ..wish }, &workers),
        None => listen(args, wish, workers),
    }
}

/// The command of a worker process.
fn worker(file: &Path) -> std::io::Result<Command> {
    let mut command = driver::this_program()?;
    command.args(["explore", "--worker", "--"]).arg(file);
    Ok(command)
}

fn write(args: &Args, page: &Path, wish: &Wish, workers: &Workers) -> Exit {
    let (text, kernels) = static_page(&args.file, wish, workers);
    let shown = args.file.display().to_string();
    if let Some(name) = args.kernel.as_ref().filter(|name| !kernels.contains(name)) {
        return output::fail(&messages::explores_other_kernels(&shown, name, &kernels.join(", ")));
    }
    match output::write_file(page, text.as_bytes()) {
        Ok(()) => {
            output::note(&format!("wrote {}\n", page.display()));
            Exit::Ok
        }
        Err(error) => output::fail(&error),
    }
}

fn listen(args: &Args, wish: Wish, workers: Workers) -> Exit {
    let server = match Server::bind(args.port, &args.file, wish, workers) {
        Ok(server) => server,
        Err(error) => return output::fail(&messages::no_server(&driver::reason(&error))),
    };
    if server.port() != args.port && args.port != 0 {
        output::note(&format!("another program has port {}\n", args.port));
    }
    if let Err(error) = output::out(format!("{}\n", server.address()).as_bytes()) {
        return output::fail(&error);
    }
    output::note("open this address in a browser; Ctrl-C ends\n");
    server.run();
    Exit::Ok
}
