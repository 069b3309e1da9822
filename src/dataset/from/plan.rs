//! How is a kernel launched that somebody else wrote? As a launch file beside it says, or with
//! arguments that are made up.

use std::path::{Path, PathBuf};

use crate::dataset::artefacts::{self, Compiled, Rejection};
use crate::dataset::launch::{self, Contents};
use crate::dataset::plan::{Content, Extent, Given, Param, Plan, Step};
use crate::driver::{Compiler, Timings};
use crate::run::args::Arguments;
use crate::run::launch::{Argument, ArgumentKind, Direction, Launch, Literal, Number, make};

/// Seeds of made-up arguments: those of a row, and others for the same launch.
const SEEDS: [u64; 2] = [1, 2];

/// The launch files of a folder.
#[derive(Default)]
pub struct Launches {
    list: Vec<Launch>,
}

impl Launches {
    /// Files that are no launches are nobody's concern.
    pub fn read(folder: &Path) -> Launches {
        let mut paths = Vec::new();
        json_files(folder, 0, &mut paths);
        paths.sort();
        let list = paths.iter().filter_map(|path| crate::run::launch::read(path).ok());
        Launches { list: list.filter(|launch| launch.direction != Direction::Backward).collect() }
    }

    /// That of a kernel of a file.
    fn of(&self, source: &Path, kernel: &str) -> Option<&Launch> {
        let same = |launch: &&Launch| {
            let is_source = launch.source.file_name() == source.file_name();
            is_source && launch.kernel.as_deref().is_none_or(|name| name == kernel)
        };
        self.list.iter().find(same)
    }
}

fn json_files(folder: &Path, depth: usize, out: &mut Vec<PathBuf>) {
    const DEEPEST: usize = 8;
    const MOST: usize = 1000;
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, kind) = (entry.path(), entry.file_type());
        if kind.as_ref().is_ok_and(|kind| kind.is_dir()) && depth < DEEPEST {
            json_files(&path, depth + 1, out);
        } else if path.extension().is_some_and(|end| end == "json") && out.len() < MOST {
            out.push(path);
        }
    }
}

/// The program of a kernel, and a launch that it runs with.
pub fn of(
    text: &str,
    kernel: &str,
    source: &Path,
    launches: &Launches,
    compiler: &Compiler,
) -> Result<Plan, Rejection> {
    let compiled = artefacts::compile(text, None, &[kernel], false, false, compiler, &mut Timings::default())?;
    let made = |seed: u64| match launches.of(source, kernel) {
        Some(launch) => recorded(launch, &compiled),
        None => make::launch(&compiled.program, compiled.first().forward, source, seed)
            .map_err(|error| Rejection::new("no launch", error.message.clone())),
    };
    let (launch, arguments) = made(SEEDS[0])?;
    let params = launch.args.iter().zip(annotations(text, kernel)).map(|(argument, ty)| {
        Some(Param { name: argument.name.clone(), ty, given: given(&argument.kind, &argument.name, &arguments)? })
    });
    let params: Option<Vec<Param>> = params.collect();
    let params = params
        .ok_or_else(|| Rejection::new("no launch", "an argument is a struct with arrays, or an engine".to_string()))?;
    let step = Step {
        kernel: kernel.to_string(),
        dims: launch.dim.iter().map(|&n| Extent::Fixed(n)).collect(),
        block: None,
        params,
        bound: Vec::new(),
    };
    let recorded = |arguments: &Arguments| {
        let mut contents = Contents::new();
        launch::keep(&mut contents, &step, arguments, &compiled.program.module.structs);
        contents
    };
    let mut all = vec![recorded(&arguments)];
    // The same launch with other numbers: another one could have other extents.
    if let Ok((other, arguments)) = made(SEEDS[1])
        && other.dim == launch.dim
        && other.args == launch.args
    {
        all.push(recorded(&arguments));
    }
    let expected = all[0].keys().cloned().collect();
    Ok(Plan { text: text.to_string(), steps: vec![step], recorded: all, expected, ..Plan::default() })
}

/// A launch of a file with the arrays that it names.
fn recorded(launch: &Launch, compiled: &Compiled) -> Result<(Launch, Arguments), Rejection> {
    let module = &compiled.program.module;
    let function = &module.functions[compiled.first().forward];
    let launch = Launch { direction: Direction::Forward, ..launch.clone() };
    let arguments = Arguments::bind(&launch, &launch.id, function, &module.structs)
        .map_err(|error| Rejection::new("recorded launch", error.message.clone()))?;
    Ok((launch, arguments))
}

/// The annotations of a kernel's parameters, as they are written.
fn annotations(text: &str, kernel: &str) -> Vec<String> {
    use crate::dataset::repair::sites::parse;
    let parsed = parse(text);
    let mut kernels = crate::dataset::identity::kernels_of(&parsed);
    let Some(function) = kernels.find(|function| function.name.text == kernel) else { return Vec::new() };
    let at = |span: crate::source::Span| text[span.start as usize..span.end as usize].to_string();
    let of = |param: &crate::syntax::ast::Param| param.annotation.as_ref().map_or(String::new(), |ty| at(ty.span));
    function.params.iter().map(of).collect()
}

/// What is passed; None: nothing that a row can hold.
fn given(kind: &ArgumentKind, name: &str, arguments: &Arguments) -> Option<Given> {
    let float = |number: &Number| match *number {
        Number::Float(x) => x,
        Number::Int(n) => n as f64,
        Number::Bool(b) => f64::from(u8::from(b)),
    };
    Some(match kind {
        ArgumentKind::Value { literal: Literal::One(Number::Int(n)), .. } => Given::Int(i64::try_from(*n).ok()?),
        ArgumentKind::Value { literal: Literal::One(Number::Bool(b)), .. } => Given::Bool(*b),
        ArgumentKind::Value { literal: Literal::One(one), .. } => Given::Float(vec![float(one)]),
        ArgumentKind::Value { literal: Literal::Many(list), .. } => Given::Float(list.iter().map(float).collect()),
        ArgumentKind::Array(_) => {
            let array = arguments.arrays.iter().find(|array| array.key == name)?;
            Given::Array { shape: array.shape.iter().map(|&n| Extent::Fixed(n)).collect(), content: Content::Zero }
        }
        ArgumentKind::Struct { fields, .. } => {
            let field = |field: &Argument| Some((field.name.clone(), given(&field.kind, &field.name, arguments)?));
            let fields: Option<Vec<(String, Given)>> = fields.iter().map(field).collect();
            let is_array = |(_, given): &(String, Given)| matches!(given, Given::Array { .. });
            Given::Struct(fields.filter(|fields| !fields.iter().any(is_array))?)
        }
        ArgumentKind::Engine { .. } => return None,
    })
}
