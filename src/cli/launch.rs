//! `kc launch`: launch files.

use std::path::{Component, Path, PathBuf};

use super::run::{With, compile, report};
use super::{Exit, output};
use crate::diag::Code;
use crate::driver::Disk;
use crate::run::launch::{flags, template, to_json};
use crate::run::program::{Wanted, kernel};
use crate::run::{Result, fail};
use crate::source::FileSystem;

/// Makes launch files, which say which kernel runs on what.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(clap::Subcommand, Debug)]
enum Verb {
    New(New),
}

/// Writes a launch file for a kernel, with every argument: arrays of the sizes with which the
/// kernel runs, filled with numbers to begin with.
#[derive(clap::Args, Debug)]
struct New {
    /// The source file.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The kernel; not needed where the file has only one.
    #[arg(short, long, value_name = "NAME")]
    kernel: Option<String>,
    /// Threads in each dimension: `1000`, `256x256`.
    #[arg(long, value_name = "N[xN...]")]
    dim: Option<String>,
    /// The launch file [default: KERNEL.json]; `-` prints it.
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace a file that is there.
    #[arg(long)]
    force: bool,
}

pub(super) fn run(args: &Args) -> Exit {
    let Verb::New(new) = &args.verb;
    new_launch(new).unwrap_or_else(|error| match error.code {
        Code::E1012 => output::refuse(&error),
        _ => output::fail(&error),
    })
}

fn new_launch(args: &New) -> Result<Exit> {
    let dim = args.dim.as_ref().map(|text| flags::parse_dim("--dim", text)).transpose()?;
    let program = compile(&Wanted::of(&args.file, false), With::default());
    let id = match kernel(&program, &args.file, args.kernel.as_deref()) {
        Ok(id) => id,
        Err(errors) => {
            errors.iter().for_each(|error| report(error, &program.sources));
            return Ok(Exit::after(&errors));
        }
    };
    let (function, structs) = (&program.module.functions[id], &program.module.structs);
    let made = template::template(&program, id, &args.file, dim.as_deref())?;
    let name = args.out.clone().unwrap_or_else(|| PathBuf::from(format!("{}.json", function.source_name)));
    let printed = name.as_os_str() == "-";
    let folder = if printed { Path::new("") } else { name.parent().unwrap_or(Path::new("")) };
    let text = to_json(&made.launch, &from_folder(folder, &args.file), function, structs);
    if printed {
        output::out(text.as_bytes()).map_err(Box::new)?;
    } else {
        if name.exists() && !args.force {
            let mut error = fail(Code::E1012, format!("`{}` is there already", name.display()));
            error.help = Some("`--force` replaces it, `-o` names another".to_string());
            return Err(error);
        }
        output::write_file(&name, text.as_bytes()).map_err(Box::new)?;
        let wrote = format!("wrote {}", name.display());
        output::note(&match &made.why {
            None => format!("{wrote}; `kc run {}` runs it\n", name.display()),
            Some(why) => format!("{wrote}; it does not run as it is: {why}\n"),
        });
    }
    if let (Some(why), true) = (&made.why, printed) {
        output::note(&format!("it does not run as it is: {why}\n"));
    }
    Ok(Exit::Ok)
}

/// How a file is named from a folder: relative to it, where it was named relative to the current
/// one.
fn from_folder(folder: &Path, file: &Path) -> String {
    if file.is_absolute() {
        return file.display().to_string();
    }
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let (from, to) = (Disk.absolute(folder), Disk.absolute(file));
    let same = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    let up = from.components().skip(same).map(|_| Component::ParentDir);
    let path: PathBuf = up.chain(to.components().skip(same)).collect();
    path.display().to_string()
}
