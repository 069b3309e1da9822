//! What does a launch of a kernel cost a GPU? It is counted on the simulator, with arguments that
//! somebody gives, and made-up ones for the rest.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use super::findings::{Finding, finding};
use super::panes::chosen;
use super::wish::{LaunchWish, Wish};
use crate::diag::{Diagnostic, Level};
use crate::driver::{Analysis, Compiler, Overlaid};
use crate::ir::{FuncId, FunctionKind, Phase};
use crate::profile::{self, Limits, Profile, Registers};
use crate::run::Result;
use crate::run::devices::{self, Trial};
use crate::run::launch::{Launch, as_flags, flags, template};
use crate::run::program::{Program, Wanted};
use crate::run::session::{Finished, Options, Session};
use crate::source::SourceMap;

/// Compiles a file for a run. The command line has this already.
pub type Compile = fn(&Compiler, &Arc<Overlaid>, &Wanted) -> Program;

/// Threads of a made-up launch, by the number of its dimensions: few enough to be counted while
/// somebody types.
const THREADS: [&[u32]; 4] = [&[256], &[16, 16], &[8, 8, 4], &[4, 4, 4, 4]];

/// What there is to say of a launch of the kernel.
pub fn count(path: &Path, wish: &Wish, compiler: &Compiler, compile: Compile) -> Value {
    let files = wish.files(path);
    let program = compile(compiler, &files, &Wanted::of(path, false));
    let forward = program.module.kernels().filter(|(_, f)| f.phase == Phase::Forward);
    let all: Vec<(FuncId, String)> = forward.map(|(id, f)| (id, f.source_name.clone())).collect();
    let names: Vec<String> = all.iter().map(|(_, name)| name.clone()).collect();
    let asked = wish.kernel.as_ref();
    let id = match chosen(wish, &names) {
        // Another kernel than the one that is looked at is no answer.
        Some(name) if asked.is_none_or(|asked| asked == name) => {
            all.iter().find(|(_, own)| own == name).map(|(id, _)| *id)
        }
        _ => None,
    };
    let Some(id) = id else {
        let errors = program.diagnostics.iter().filter(|one| one.level == Level::Error).count();
        let why = match errors {
            0 => "there is no kernel to launch",
            _ => "the kernel has errors: nothing is counted before they are repaired",
        };
        return without_launch(why);
    };
    let made = match Made::of(&program, id, path, &wish.launch) {
        Ok(made) => made,
        Err(error) => return without_launch(&said(&error)),
    };
    let form = made.form(&program, id, wish);
    if let (Some(why), true) = (&made.why, made.given.is_empty()) {
        let name = &program.module.functions[id].source_name;
        let why = format!("`{name}` does not run with made-up arguments: {why}. Give sizes or arguments here.");
        return json!({ "launch": form, "why": why, "asks": true, "entries": [], "findings": [] });
    }
    let mut compile = |wanted: &Wanted| compile(compiler, &files, wanted);
    let trial = Trial { counts: true, ..Trial::PLAIN };
    let device = match devices::counting() {
        Ok(device) => device,
        Err(error) => return without_launch(&said(&error)),
    };
    let options = Options {
        trial,
        tensor_cores: wish.tensor_cores(),
        checked: false,
        gradient: wish.launch.gradient,
        ..Options::of(device)
    };
    let finished = Session::new(options, &mut compile).run(&made.launch, "the launch of this page");
    let entries = entries(&finished, wish);
    let why = finished.errors.first().map(said);
    json!({ "launch": form, "why": why, "asks": false, "entries": entries, "findings": found(&finished) })
}

/// The answer where nothing can be launched.
fn without_launch(why: &str) -> Value {
    json!({ "launch": null, "why": why, "asks": false, "entries": [], "findings": [] })
}

fn said(error: &Diagnostic) -> String {
    let help = error.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
    format!("{}: {}{help}", error.code.name(), error.message)
}

/// A launch, and what of it was made up.
struct Made {
    launch: Launch,
    /// Why it does not run as it was made up.
    why: Option<String>,
    /// The arguments as they were made up, by name.
    arguments: Vec<(String, String)>,
    given: Vec<String>,
}

impl Made {
    fn of(program: &Program, id: FuncId, path: &Path, wish: &LaunchWish) -> Result<Made> {
        let (function, structs) = (&program.module.functions[id], &program.module.structs);
        let rank = match function.kind {
            FunctionKind::Kernel { rank } => usize::from(rank.clamp(1, 4)),
            FunctionKind::Device => 1,
        };
        let dim = match wish.dim.trim() {
            "" => THREADS[rank - 1].to_vec(),
            text => flags::parse_dim("Threads", text)?,
        };
        let template::Template { mut launch, why } = template::template(program, id, path, Some(&dim))?;
        let arguments = launch.args.iter().flat_map(|argument| as_flags::written("", argument)).collect();
        flags::replace(&mut launch, function, structs, &wish.args)?;
        if let Some(threads) = wish.block_dim.filter(|&threads| threads > 0) {
            launch.block_dim = threads.into();
        }
        Ok(Made { launch, why, arguments, given: wish.args.clone() })
    }

    /// What a page shows to be filled in.
    fn form(&self, program: &Program, id: FuncId, wish: &Wish) -> Value {
        let (function, structs) = (&program.module.functions[id], &program.module.structs);
        let dim: Vec<String> = self.launch.dim.iter().map(u32::to_string).collect();
        let types: Vec<(String, String)> = function
            .params()
            .iter()
            .enumerate()
            .flat_map(|(n, &param)| as_flags::leaves(&function.param_name(n), function.ty(param), structs))
            .collect();
        let argument = |(name, made): &(String, String)| {
            let ty = types.iter().find(|(own, _)| own == name).map(|(_, ty)| ty.as_str());
            let given = wish.launch.args.iter().find_map(|text| text.strip_prefix(&format!("{name}=")));
            json!({ "name": name, "type": ty.unwrap_or_default(), "made": made, "given": given })
        };
        let arguments: Vec<Value> = self.arguments.iter().map(argument).collect();
        json!({ "dim": dim.join("x"), "block_dim": self.launch.block_dim, "arguments": arguments })
    }
}

/// What each entry that ran took.
fn entries(finished: &Finished, wish: &Wish) -> Vec<Value> {
    let Some(program) = &finished.program else { return Vec::new() };
    let Some(limits) = Limits::of(&wish.arch).or_else(|| Limits::of(crate::driver::Arch::DEFAULT.name)) else {
        return Vec::new();
    };
    let file = program.sources.file(Analysis::FILE);
    let mut all = Vec::new();
    for mut measured in finished.counted.iter().cloned() {
        profile::locate(&mut measured, |offset| {
            let place = file.line_column(offset);
            (place.line, place.column)
        });
        let live = measured.text.as_ref().and_then(|text| text.live);
        let registers = live.map_or(Registers::Unknown, Registers::of);
        all.push(Profile::of(measured, limits, registers).summary());
    }
    all
}

/// What is wrong with the launch.
fn found(finished: &Finished) -> Vec<Finding> {
    let nothing = SourceMap::default();
    let sources = finished.program.as_ref().map_or(&nothing, |program| &program.sources);
    let all = finished.findings.iter().chain(&finished.errors);
    all.filter(|one| one.span().is_some()).map(|one| finding(one, one.span(), sources, Analysis::FILE)).collect()
}
