//! `kc gradcheck`: are the gradients of launches right?

use std::path::PathBuf;

use super::{Exit, StoreArg, output};
use crate::diag::render::{Format, render};
use crate::driver;
use crate::run::gradcheck::{self, Kernels, Row};
use crate::run::launch::{self, Direction, Launch};
use crate::run::session::{Program, kernel};
use crate::run::{Fail, Result};
use crate::source::SourceMap;

/// Compares the gradient of a launch with forward mode and with finite differences, on the reference interpreter and in the
/// kernel's own types. Exit code 1 if one is wrong.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Launch files.
    #[arg(required = true, value_name = "LAUNCH")]
    files: Vec<PathBuf>,
    /// Seed of the random directions.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Where the state of loops waits for the reverse sweep.
    #[arg(long, value_enum, value_name = "STORE")]
    store: Option<StoreArg>,
    /// One JSON object per launch.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Exit {
    let mut exit = Exit::Ok;
    for path in &args.files {
        let mut sources = SourceMap::default();
        let end = match one(args, path, &mut sources) {
            Ok(right) => {
                if right {
                    Exit::Ok
                } else {
                    Exit::Errors
                }
            }
            Err(error) => {
                output::err(&render(&error, &sources, Format::Full, output::style()));
                Exit::Errors
            }
        };
        exit = exit.max(end);
    }
    exit
}

fn one(args: &Args, path: &std::path::Path, sources: &mut SourceMap) -> Result<bool> {
    let launch = Launch { direction: Direction::Gradient, ..launch::read(path)? };
    let request = driver::Request {
        kernels: launch.kernel.iter().cloned().collect(),
        types: Vec::new(),
        gradients: driver::Gradients { backward: true, store: args.store.map(Into::into) },
    };
    let mut compilation = driver::Compilation::load(&launch.source, &request);
    let tangents = compilation.forward_mode(launch.kernel.as_deref());
    let (module, diagnostics) = (compilation.module, compilation.diagnostics.into_sorted());
    let program = Program { module, sources: compilation.sources, diagnostics };
    let found = kernel(&program, &launch.source, launch.kernel.as_deref())
        .map_err(|mut errors| -> Fail { Box::new(errors.swap_remove(0)) })
        .and_then(|forward| {
            let (tangents, why) = match tangents {
                Ok(id) => (Some(id), None),
                Err(why) => (None, Some(why)),
            };
            let rows = gradcheck::check(&program, &Kernels { forward, tangents }, &launch, &launch.id, args.seed)?;
            Ok((rows, why))
        });
    *sources = program.sources;
    let (rows, why) = found?;
    let right = rows.iter().all(|row| row.right);
    let text = if args.json {
        format!(
            "{}\n",
            serde_json::json!({"id": launch.id, "seed": args.seed, "right": right, "no_forward_mode": why, "arguments": rows})
        )
    } else {
        table(&launch.id, &rows, why.as_deref())
    };
    output::out(text.as_bytes()).map_err(Box::new)?;
    Ok(right)
}

fn table(id: &str, rows: &[Row], why: Option<&str>) -> String {
    let mut text =
        format!("{id}\n  {:<20} {:>12} {:>12} {:>12}\n", "argument", "|gradient|", "dot product", "difference");
    for row in rows {
        let dot = row.dot_product.map_or("-".to_string(), |e| format!("{e:.1e}"));
        let verdict = match (row.right, row.kink) {
            (true, _) if row.custom => "right by the source's own rule; differences disagree with that",
            (true, false) => "right",
            (true, true) => "right; at a kink?",
            (false, false) => "WRONG",
            (false, true) => "WRONG; at a kink?",
        };
        text += &format!("  {:<20} {:>12.4e} {dot:>12} {:>12.1e}  {verdict}\n", row.argument, row.norm, row.difference);
    }
    if let Some(why) = why {
        text += &format!("  no forward mode: {why}\n");
    }
    text
}
