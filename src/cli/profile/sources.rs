//! `kc profile FILE.py`: what is counted of kernels that come without a launch file, and what is
//! known of them without any launch.

use crate::cli::messages;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use super::{Args, registers_of};
use crate::cli::run::{With, compile_from, report};
use crate::cli::{Exit, output};
use crate::diag::{Diagnostic, Level};
use crate::driver::Overlaid;
use crate::ir::{FuncId, Phase};
use crate::profile::Resident;
use crate::run::devices::{Cpu, How, Trial, holds_no_cuda_text, sim};
use crate::run::launch::{Launch, template};
use crate::run::program::{Program, Wanted, kernel};

/// A file with the kernels that are meant, and the errors that stand in their way.
struct Meant {
    program: Program,
    kernels: Vec<FuncId>,
    errors: Vec<Diagnostic>,
}

impl Meant {
    fn of(args: &Args, path: &Path, files: &Arc<Overlaid>) -> Meant {
        let program = compile_from(files, &Wanted::of(path, false), With::default());
        let all = || program.module.kernels().filter(|(_, f)| f.phase == Phase::Forward).map(|(id, _)| id);
        let (mut kernels, mut errors) = (Vec::new(), Vec::new());
        let named = args.kernels.iter().map(|name| Some(name.as_str()));
        let wanted: Vec<Option<&str>> = match all().next() {
            Some(_) if args.kernels.is_empty() => {
                kernels.extend(all());
                errors.extend(program.diagnostics.iter().filter(|d| d.level == Level::Error).cloned());
                Vec::new()
            }
            // Says why there is none.
            None if args.kernels.is_empty() => vec![None],
            _ => named.collect(),
        };
        for name in wanted {
            match kernel(&program, path, name) {
                Ok(id) => kernels.push(id),
                Err(more) => errors.extend(more.into_iter().filter(|one| !errors.contains(one)).collect::<Vec<_>>()),
            }
        }
        Meant { program, kernels, errors }
    }
}

/// The launches that `kc launch new` would write for the kernels; what is in the way of others is
/// reported.
pub(super) fn launches(args: &Args, path: &Path, files: &Arc<Overlaid>) -> (Vec<Launch>, Exit) {
    let Meant { program, kernels, mut errors } = Meant::of(args, path, files);
    let mut launches = Vec::new();
    for id in kernels {
        let (name, span) = (&program.module.functions[id].source_name, program.module.functions[id].span);
        match template::template(&program, id, path, None) {
            Ok(template::Template { launch, why: None }) => launches.push(launch),
            Ok(template::Template { why: Some(why), .. }) => {
                errors.push(messages::needs_launch(name, &path.display().to_string(), &why, span));
            }
            Err(error) => errors.push(*error),
        }
    }
    errors.iter().for_each(|error| report(error, &program.sources));
    (launches, Exit::after(&errors))
}

/// Registers, occupancy and shared memory of kernels, as far as their PTX tells.
pub(super) fn outlines(args: &Args, path: &Path, files: &Arc<Overlaid>, list: &mut Vec<Value>) -> Exit {
    let meant = Meant::of(args, path, files);
    let sources = &meant.program.sources;
    meant.errors.iter().for_each(|error| report(error, sources));
    let mut exit = Exit::after(&meant.errors);
    for &id in &meant.kernels {
        let module = &meant.program.module;
        let name = &module.functions[id].source_name;
        let trial = Trial { counts: true, ..Trial::PLAIN };
        let how = How {
            checked: false,
            fmad: false,
            tensor_cores: args.tensor_cores.choice(),
            alone: false,
            in_order: false,
            cpu: Cpu::Native,
            trial,
            objects: None,
        };
        let ready = holds_no_cuda_text(module, id).and_then(|()| sim::prepared(module, id, &how));
        let told = ready.and_then(|kernel| {
            let (entry, text, shared) = kernel.outline();
            let registers = registers_of(args, text, entry);
            let resident = Resident::of(args.arch, args.block_dim.into(), registers, shared);
            if args.json {
                list.push(json!({
                    "kernel": name, "entry": entry, "arch": args.arch.arch, "block": [args.block_dim, 1, 1], "shared_bytes": shared,
                    "occupancy": resident.json(),
                }));
                return Ok(());
            }
            output::out(format!("{name}: {entry}\n  {}\n", resident.words()).as_bytes()).map_err(Box::new)
        });
        if let Err(error) = told {
            report(&error, sources);
            exit = exit.max(Exit::after([&*error]));
        }
    }
    exit
}
