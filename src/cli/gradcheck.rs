//! `kc gradcheck`: are the gradients of launches, or of the kernels of a file, right?

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::run::{With, compile};
use super::{Exit, StoreArg, output};
use crate::abi::LaunchBounds;
use crate::diag::render::{Format, render};
use crate::diag::{Diagnostic, Level};
use crate::driver;
use crate::ir::{Derivative, FuncId, Phase};
use crate::run::args::Arguments;
use crate::run::devices::Device;
use crate::run::gradients::gradcheck;
use crate::run::gradients::gradcheck::{Kernels, Row};
use crate::run::gradients::{double, second_order};
use crate::run::launch::make;
use crate::run::launch::{self, Direction, Launch};
use crate::run::program::{Program, Wanted, compiled_for, kernel};
use crate::run::race_check::{Looked, Threads};
use crate::run::session;
use crate::run::{Fail, Result};
use crate::source::SourceMap;

/// Checks gradients against forward mode and finite differences.
///
/// Runs on the reference interpreter (or `--device`), in double precision whatever the kernel's
/// types. Then it compares the gradient in the kernel's own types with that. The exit code is 1 if
/// a gradient is wrong or can't be checked.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Launch files (.json); or source files (.py, .ir), whose kernels are launched with made-up
    /// arguments.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Only this kernel of a source file.
    #[arg(short, long, value_name = "NAME")]
    kernel: Option<String>,
    /// Seed of the random directions and of made-up arguments.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Where the entries of the gradient run: on `sim` they are the PTX of a GPU, and what it finds
    /// wrong ends the check. Forward mode runs on the interpreter.
    #[arg(long, default_value = "interp", value_parser = super::devices::parser())]
    device: &'static dyn Device,
    /// Where the state of loops waits for the reverse sweep.
    #[arg(long, value_enum, value_name = "STORE")]
    store: Option<StoreArg>,
    /// Check in the kernel's own types only.
    #[arg(long)]
    own_types: bool,
    /// Check second derivatives: Hessian-vector products against differences of the gradient, and
    /// their symmetry.
    #[arg(long)]
    second_order: bool,
    /// One JSON object per launch.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Exit {
    let mut exit = Exit::Ok;
    for path in &args.files {
        let mut sources = SourceMap::default();
        let end = file(args, path, &mut sources).unwrap_or_else(|error| {
            say(&error, &sources);
            Exit::after([&*error])
        });
        exit = exit.max(end);
    }
    exit
}

fn say(error: &Diagnostic, sources: &SourceMap) {
    output::err(&render(error, sources, Format::Full, output::style()));
}

fn file(args: &Args, path: &Path, sources: &mut SourceMap) -> Result<Exit> {
    if path.extension().is_some_and(|e| e == "json") {
        let mut launch = gradcheck::as_gradient(launch::read(path)?);
        let mut subject = Subject::of(args, &mut launch);
        let end = of_launch(args, &mut subject, &launch).map_err(|error| refused(args, error));
        *sources = subject.plain.program.sources;
        return end;
    }
    let subject = Subject::new(args, path, args.kernel.as_deref(), None, None);
    let end = of_source(args, &subject, path);
    *sources = subject.plain.program.sources;
    end
}

fn of_launch(args: &Args, subject: &mut Subject, launch: &Launch) -> Result<Exit> {
    let named = |program: &Program| {
        kernel(program, &launch.source, launch.kernel.as_deref())
            .map_err(|mut errors| -> Fail { Box::new(errors.swap_remove(0)) })
    };
    let (mut forward, module) = (named(&subject.plain.program)?, &subject.plain.program.module);
    let function = &module.functions[forward];
    let mut arguments = Arguments::bind(launch, &launch.id, function, &module.structs)?;
    let same = arguments.same_arrays(function, &module.structs, true)?;
    if !same.is_empty() {
        let name = function.source_name.clone();
        *subject = Subject::new(
            args,
            &launch.source,
            Some(&name),
            Some(driver::SameArrays { kernel: name.clone(), pairs: same }),
            subject.block_threads,
        );
        forward = named(&subject.plain.program)?;
    }
    let program = &subject.plain.program;
    let dim = launch.dim_by_block(&program.module.functions[forward])?;
    session::counts_once(&program.module.functions[forward], &dim)?;
    if let Some(bounds) = LaunchBounds::new(&dim) {
        let looked = Looked { program, direction: Direction::Gradient, bounds: &bounds, only_proves: false };
        Threads::of(&program.module, forward).check(&looked, &mut arguments)?;
    }
    one(args, subject, forward, launch, arguments)
}

/// All kernels of a source file.
fn of_source(args: &Args, subject: &Subject, path: &Path) -> Result<Exit> {
    let program = &subject.plain.program;
    let mut exit = Exit::Ok;
    for error in program.diagnostics.iter().filter(|d| d.level == Level::Error) {
        say(error, &program.sources);
        exit = Exit::Errors;
    }
    for (name, why) in &subject.plain.left_out {
        output::out(format!("{name}\n  not checked: {why}\n").as_bytes()).map_err(Box::new)?;
    }
    let kernels: Vec<FuncId> = program
        .module
        .kernels()
        .filter(|(_, f)| subject.plain.tangents.contains_key(&f.source_name))
        .filter(|(_, f)| f.phase == Phase::Forward)
        .map(|(id, _)| id)
        .collect();
    for forward in kernels {
        let function = &program.module.functions[forward];
        if matches!(function.derivative, Derivative::None(_)) {
            let text = format!("{}\n  not checked: `enable_backward=False`\n", function.source_name);
            output::out(text.as_bytes()).map_err(Box::new)?;
            continue;
        }
        let end = crate::run::gradients::gradient::entries(program, forward)
            .and_then(|_| make::launch(program, forward, path, args.seed))
            .and_then(|(launch, arguments)| one(args, subject, forward, &launch, arguments));
        let end = end.unwrap_or_else(|error| {
            let error = refused(args, error);
            // Errors of the source were shown.
            if error.level < Level::Error || !program.diagnostics.iter().any(|d| d.message == error.message) {
                say(&error, &program.sources);
            }
            if !args.json {
                let text = format!("{}\n  not checked: {}\n", function.source_name, error.code.name());
                // Its exit code says so already.
                let _ = output::out(text.as_bytes());
            }
            Exit::after([&*error])
        });
        exit = exit.max(end);
    }
    Ok(exit)
}

/// A kernel that the device's back end refuses has a gradient all the same.
fn refused(args: &Args, error: Fail) -> Fail {
    match error.code.is_of_back_ends() && !args.device.is_reference() {
        true => Box::new(error.note("`--device interp` checks the gradient of a kernel that a back end refuses")),
        false => error,
    }
}

fn one(args: &Args, subject: &Subject, forward: FuncId, launch: &Launch, arguments: Arguments) -> Result<Exit> {
    let differentiable = !matches!(subject.plain.program.module.functions[forward].derivative, Derivative::Zero(_));
    if args.second_order && differentiable {
        return second_order(args, subject, forward, launch, arguments);
    }
    let plain = &subject.plain;
    let name = &plain.program.module.functions[forward].source_name;
    let (kernels, mut why) = plain.kernels(forward, name, args.device);
    let (rows, types) = match subject.double(forward, name) {
        Ok(double) => {
            let kernel = double.program.module.entry(name, Phase::Forward);
            let kernel = kernel.ok_or_else(no_kernel)?;
            let (wide, reason) = double.kernels(kernel, name, args.device);
            why = reason;
            let both = (&double.program, &wide);
            let rows =
                gradcheck::check_double(&plain.program, &kernels, both, launch, arguments, &launch.id, args.seed)?;
            (rows, Ok(()))
        }
        Err(reason) => {
            let rows = gradcheck::check_bound(&plain.program, &kernels, launch, arguments, &launch.id, args.seed)?;
            (rows, Err(reason))
        }
    };
    let right = rows.iter().all(|row| row.right);
    let text = if args.json {
        let value = serde_json::json!({
            "id": launch.id, "seed": args.seed, "right": right, "double": types.is_ok(), "own_types_because": types.err(),
            "no_forward_mode": why, "arguments": rows
        });
        format!("{value}\n")
    } else {
        table(&launch.id, &rows, why.as_deref(), types.err().as_deref())
    };
    output::out(text.as_bytes()).map_err(Box::new)?;
    Ok(if right { Exit::Ok } else { Exit::Errors })
}

fn second_order(
    args: &Args,
    subject: &Subject,
    forward: FuncId,
    launch: &Launch,
    arguments: Arguments,
) -> Result<Exit> {
    if args.device.name() != "interp" {
        return Err(crate::run::fail(
            crate::diag::Code::E1012,
            "second derivatives are checked on the interpreter alone",
        ));
    }
    let name = &subject.plain.program.module.functions[forward].source_name;
    let structs = &subject.plain.program.module.structs;
    let (compiled, arguments, types) = match subject.double(forward, name) {
        Ok(double) => {
            let module = &double.program.module;
            let kernel = module.entry(name, Phase::Forward).ok_or_else(no_kernel)?;
            let wide =
                double::arguments(launch, &launch.id, &arguments, structs, &module.functions[kernel], &module.structs)?;
            (double, wide, Ok(()))
        }
        Err(reason) => (&subject.plain, arguments, Err(reason)),
    };
    let forward = compiled.program.module.entry(name, Phase::Forward).ok_or_else(no_kernel)?;
    let (kernels, _) = compiled.kernels(forward, name, args.device);
    let (first, backward) = match compiled.second.get(name) {
        Some(Ok(made)) => *made,
        Some(Err(why)) => return Err(no_second(name, why)),
        None => return Err(no_second(name, "it has no backward entry")),
    };
    let tangents = second_order::Tangents { first, backward };
    let program = &compiled.program;
    let found = second_order::check(program, &kernels, tangents, launch, arguments, &launch.id, args.seed)?;
    let text = if args.json {
        let value = serde_json::json!({
            "id": launch.id, "seed": args.seed, "right": found.right, "double": types.is_ok(),
            "own_types_because": types.err(), "symmetry": found.symmetry, "arguments": found.rows
        });
        format!("{value}\n")
    } else {
        second_table(&launch.id, &found, types.err().as_deref())
    };
    output::out(text.as_bytes()).map_err(Box::new)?;
    Ok(if found.right { Exit::Ok } else { Exit::Errors })
}

fn no_kernel() -> Fail {
    crate::run::fail(crate::diag::Code::E0999, "no kernel in double precision")
}

fn no_second(name: &str, why: &str) -> Fail {
    crate::run::fail(crate::diag::Code::E1103, format!("kernel `{name}` has no second derivatives: {why}"))
}

fn second_table(id: &str, found: &second_order::Found, own_types: Option<&str>) -> String {
    let mut text = format!("{id}\n  {:<20} {:>12} {:>12}\n", "argument", "|H v|", "difference");
    for row in &found.rows {
        let verdict = match (row.right, row.kink) {
            (true, false) => "right",
            (true, true) => "right; the gradient has a kink?",
            (false, _) => "WRONG",
        };
        text += &format!("  {:<20} {:>12.4e} {:>12.1e}  {verdict}\n", row.argument, row.norm, row.difference);
    }
    text += &format!(
        "  w.(H v) and v.(H w) differ by {:.1e}{}\n",
        found.symmetry,
        if found.right { "" } else { "  WRONG" }
    );
    if let Some(why) = own_types {
        text += &format!("  checked in the kernel's own types, to their precision: {why}\n");
    }
    text
}

/// A source, compiled as it is and in double precision.
struct Subject {
    plain: Compiled,
    /// Or why there is none.
    double: std::result::Result<Compiled, String>,
    block_threads: Option<driver::BlockThreads>,
}

struct Compiled {
    program: Program,
    /// The forward-mode kernels by the name of their kernel, or why there is none.
    tangents: HashMap<String, std::result::Result<FuncId, String>>,
    /// Forward mode of the entries of a gradient run, or why there is none; empty where only first
    /// derivatives are checked.
    second: HashMap<String, std::result::Result<(FuncId, FuncId), String>>,
    /// Kernels that were not compiled without being wrong, and why.
    left_out: Vec<(String, String)>,
}

impl Subject {
    /// As a launch needs it.
    fn of(args: &Args, launch: &mut Launch) -> Subject {
        let mut wanted = Wanted::of(&launch.source, true);
        let program = compiled_for(&mut wanted, launch, &mut |wanted| Rc::new(compile(wanted, With::default())));
        // The only one, if none is named: forward mode adds kernels of its own to those of the
        // file.
        if let Ok(id) = kernel(&program, &launch.source, launch.kernel.as_deref()) {
            launch.kernel = Some(program.module.functions[id].source_name.clone());
        }
        Subject::new(args, &launch.source, launch.kernel.as_deref(), None, wanted.block_threads)
    }

    /// `same`: the arrays that are one in the launch. `block_threads`: its blocks, where their
    /// threads have values of their own.
    fn new(
        args: &Args,
        source: &Path,
        kernel: Option<&str>,
        same: Option<driver::SameArrays>,
        block_threads: Option<driver::BlockThreads>,
    ) -> Subject {
        let plain = Compiled::new(args, source, kernel, false, same.clone(), block_threads);
        let double = if args.own_types {
            Err("asked for".to_string())
        } else if source.extension().is_some_and(|e| e == "ir") {
            Err("IR text has the types that it has".to_string())
        } else {
            Ok(Compiled::new(args, source, kernel, true, same, block_threads))
        };
        Subject { plain, double, block_threads }
    }

    /// The program in double precision, if that says the same about a kernel.
    fn double(&self, forward: FuncId, name: &str) -> std::result::Result<&Compiled, String> {
        let double = self.double.as_ref().map_err(String::clone)?;
        if double::rounds(&self.plain.program.module, forward) {
            return Err("it rounds to a narrower type and goes on with the result".to_string());
        }
        if double::reads_engines(&self.plain.program.module, forward) {
            return Err("the numbers of meshes, trees, hash grids and textures have types of their own".to_string());
        }
        let module = &double.program.module;
        let forward = module.entry(name, Phase::Forward).map(|id| &module.functions[id].derivative);
        let complete = |derivative: &Derivative| {
            matches!(derivative, Derivative::Zero(_)) || module.entry(name, Phase::Backward).is_some()
        };
        if forward.is_some_and(complete) {
            return Ok(double);
        }
        let error = double.program.diagnostics.iter().find(|d| d.level == Level::Error);
        let reason = error.map_or("no entry".to_string(), |d| format!("{} {}", d.code.name(), d.message));
        Err(format!("it has no form in double precision: {reason}"))
    }
}

impl Compiled {
    fn new(
        args: &Args,
        source: &Path,
        kernel: Option<&str>,
        double: bool,
        same: Option<driver::SameArrays>,
        block_threads: Option<driver::BlockThreads>,
    ) -> Compiled {
        let request = driver::Request {
            kernels: kernel.iter().map(|k| k.to_string()).collect(),
            gradients: driver::Gradients {
                backward: true,
                store: args.store.map(Into::into),
                parameters: !args.second_order,
                ..driver::Gradients::default()
            },
            double,
            same_arrays: same,
            block_threads,
            checked: true,
            ..driver::Request::default()
        };
        let mut compilation = driver::Compiler::new().load(source, &request);
        let names: Vec<String> = compilation
            .module
            .kernels()
            .filter(|(_, f)| f.phase == Phase::Forward)
            .map(|(_, f)| f.source_name.clone())
            .collect();
        let mut tangents = HashMap::new();
        let mut second = HashMap::new();
        if let Some(mut differentiable) = compilation.differentiable() {
            for name in names {
                if args.second_order {
                    second.insert(name.clone(), differentiable.second_order(&name));
                }
                let made = differentiable.forward_mode(Some(&name));
                tangents.insert(name, made);
            }
        }
        let left_out = compilation
            .unresolved
            .iter()
            .map(|u| (u.name.clone(), "it needs what only Python knows".to_string()))
            .collect();
        let (module, diagnostics) = (compilation.module, compilation.diagnostics.into_sorted());
        Compiled { program: Program { module, sources: compilation.sources, diagnostics }, tangents, second, left_out }
    }

    /// The kernels for a check, and why there is no forward mode if there is none.
    fn kernels(&self, forward: FuncId, name: &str, device: &'static dyn Device) -> (Kernels, Option<String>) {
        match self.tangents.get(name) {
            Some(Ok(id)) => (Kernels { forward, tangents: Some(*id), device }, None),
            Some(Err(why)) => (Kernels { forward, tangents: None, device }, Some(why.clone())),
            None => (Kernels { forward, tangents: None, device }, None),
        }
    }
}

fn table(id: &str, rows: &[Row], no_forward_mode: Option<&str>, own_types: Option<&str>) -> String {
    let mut text = format!(
        "{id}\n  {:<20} {:>12} {:>12} {:>12} {:>12}\n",
        "argument", "|gradient|", "dot product", "difference", "own types"
    );
    for row in rows {
        let figure = |e: Option<f64>| e.map_or("-".to_string(), |e| format!("{e:.1e}"));
        let verdict = match (row.right, row.kink) {
            (true, _) if row.custom => "right by the source's own rule; differences disagree with that",
            (true, false) => "right",
            (true, true) => "right; at a kink?",
            (false, _) if row.custom && row.dot_product.is_none() => {
                "not settled: the source's own rule may be the reason, and there is no forward mode to tell"
            }
            (false, false) => "WRONG",
            (false, true) if row.dot_product.is_none() => "not settled: at a kink?, and there is no forward mode",
            (false, true) => "WRONG; at a kink?",
        };
        text += &format!(
            "  {:<20} {:>12.4e} {:>12} {:>12.1e} {:>12}  {verdict}\n",
            row.argument,
            row.norm,
            figure(row.dot_product),
            row.difference,
            figure(row.own)
        );
    }
    if rows.is_empty() {
        text += "  no argument holds floats: nothing to check\n";
    }
    if let Some(why) = no_forward_mode {
        text += &format!("  no forward mode: {why}\n");
    }
    if let Some(why) = own_types {
        text += &format!("  checked in the kernel's own types, to their precision: {why}\n");
    }
    text
}
