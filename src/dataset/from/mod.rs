//! How do the kernels of somebody's own files become rows? Each kernel, with what it uses of its
//! file, is a program; its launch is recorded, or made up.
//!
//! | file | question it answers |
//! |---|---|
//! | [`licence`] | may a file be given to others? |
//! | [`secrets`] | does it hold a password or a key? |
//! | [`grams`] | does it share text with what models are measured with? |
//! | [`slice`](mod@slice) | which lines of a file does a kernel need? |
//! | [`plan`] | how is it launched? |
//!
//! Nothing that is wrong with a file or a kernel ends the run: it is left out, with a line that
//! says why.

mod grams;
mod licence;
mod plan;
mod secrets;
mod slice;

use std::path::{Path, PathBuf};

use rayon::prelude::*;

pub use grams::Grams;

use super::artefacts::Rejection;
use super::identity;
use super::sample::{Meaning, Sample};
use super::splits::SPLITS;
use super::{Result, fail};
use crate::diag::{Code, Diagnostics, Level};
use crate::driver::{self, Compilers};
use crate::source::FileId;
use crate::syntax;
use crate::syntax::ast::Function;

/// A file of more bytes is no source that somebody wrote.
const LARGEST: u64 = 2 << 20;

/// Where a set's programs come from.
#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub struct From {
    pub folder: PathBuf,
    /// Of all that was read: the programs that were found, and what they must not share text with.
    pub digest: String,
}

/// A file or a kernel that is left out.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct LeftOut {
    /// `path`, or `path:line`.
    pub place: String,
    pub kernel: Option<String>,
    pub cause: String,
    pub detail: String,
}

/// What is in a folder.
#[derive(Default)]
pub struct Found {
    pub files: u64,
    pub samples: Vec<Sample>,
    pub left_out: Vec<LeftOut>,
}

impl Found {
    /// Of the programs, in their order.
    pub fn digest(&self) -> String {
        let texts = self.samples.iter().flat_map(|sample| sample.plan.text.bytes().chain([0]));
        super::store::sha256(&texts.collect::<Vec<u8>>())
    }
}

/// Reads all Python files below a folder; what shares text with `grams` is left out.
pub fn read(folder: &Path, grams: &Grams, compilers: &Compilers) -> Result<Found> {
    if !folder.is_dir() {
        return Err(fail(Code::E1404, format!("`--from {}`: there is no such folder", folder.display())));
    }
    let mut paths = Vec::new();
    driver::python_files(folder, true, &mut paths);
    paths.sort();
    let launches = plan::Launches::read(folder);
    let parts: Vec<Found> = paths.par_iter().map(|path| file(folder, path, grams, &launches, compilers)).collect();
    let mut out = Found { files: paths.len() as u64, ..Found::default() };
    for part in parts {
        out.samples.extend(part.samples);
        out.left_out.extend(part.left_out);
    }
    Ok(out)
}

fn file(folder: &Path, path: &Path, grams: &Grams, launches: &plan::Launches, compilers: &Compilers) -> Found {
    let mut out = Found::default();
    let shown = path.strip_prefix(folder).unwrap_or(path).display().to_string();
    let mut leave = |cause: &str, detail: String| {
        out.left_out.push(LeftOut { place: shown.clone(), kernel: None, cause: cause.to_string(), detail });
    };
    let size = std::fs::metadata(path).map_or(0, |data| data.len());
    if size > LARGEST {
        leave("too large", format!("it has {size} bytes"));
        return out;
    }
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => {
            leave("not readable", driver::reason(&error));
            return out;
        }
    };
    // Files without kernels are no concern of ours, whatever they are licensed under.
    if !text.contains(".kernel") && !text.contains("@kernel") {
        leave("no kernel", "nothing in it is decorated as a kernel".to_string());
        return out;
    }
    let Some(licence) = licence::of(folder, path, &text) else {
        leave("licence", "it has no licence that is known to let others use it".to_string());
        return out;
    };
    if let Some(what) = secrets::find(&text) {
        leave("secret", what);
        return out;
    }
    let mut findings = Diagnostics::new();
    let parsed = syntax::parse(FileId(0), &text, &mut findings);
    if let Some(error) = findings.iter().find(|finding| finding.level == Level::Error) {
        leave("does not parse", format!("{}: {}", error.code.name(), error.message));
        return out;
    }
    let kernels: Vec<&Function> = identity::kernels_of(&parsed).collect();
    if kernels.is_empty() {
        leave("no kernel", "its kernels are made inside of functions".to_string());
    }
    for kernel in kernels {
        let line = 1 + text[..kernel.span.start as usize].matches('\n').count();
        let place = format!("{shown}:{line}");
        let made = driver::catch(|| {
            compilers.lend(|compiler| {
                let program = slice::of(&text, &parsed, kernel);
                if let Some(gram) = grams.shared(&program) {
                    return Err(Rejection::new("contamination", format!("text to be left out has `{gram}` too")));
                }
                let plan = plan::of(&program, &kernel.name.text, path, launches, compiler)?;
                Ok(sample(kernel, plan, &place, licence))
            })
        });
        let made = made
            .unwrap_or_else(|fault| Err(Rejection::new("fault of kc", format!("{}: {}", fault.place, fault.message))));
        match made {
            Ok(sample) => out.samples.push(sample),
            Err(Rejection { cause, detail }) => {
                out.left_out.push(LeftOut { place, kernel: Some(kernel.name.text.clone()), cause, detail });
            }
        }
    }
    out
}

/// The program of a kernel, with what its docstring says.
fn sample(kernel: &Function, plan: super::plan::Plan, place: &str, licence: &'static str) -> Sample {
    let params: Vec<&str> = kernel.params.iter().map(|param| param.name.text.as_str()).collect();
    let signature = format!("`{}({})`", kernel.name.text, params.join(", "));
    let doc = kernel.doc.as_deref().unwrap_or_default().trim();
    let first = doc.split("\n\n").next().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    let tasks = match doc.is_empty() {
        true => std::array::from_fn(|_| format!("Write the Warp kernel {signature}.")),
        false => {
            let short = format!("Write the Warp kernel {signature}. {first}");
            let all = doc.lines().map(str::trim).collect::<Vec<_>>().join("\n");
            [short.clone(), short, format!("Write the Warp kernel {signature}.\n\n{all}")]
        }
    };
    // Equal kernels are in one split, wherever they come from.
    let split = match identity::body(kernel) % 20 {
        0 => SPLITS[1],
        1 => SPLITS[2],
        _ => SPLITS[0],
    };
    Sample {
        plan,
        category: "own",
        domain: "generic",
        meaning: Meaning {
            family: None,
            split,
            source: place.to_string(),
            kinds: Vec::new(),
            tasks,
            level: 2,
            false_claim: None,
            translations: Vec::new(),
            licence,
            mode: "from",
        },
    }
}

#[cfg(test)]
mod tests;
