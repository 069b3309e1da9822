//! How does a program become faster, step by step? The versions of an algorithm, as one person
//! writes them.

use super::library::{Kind, Ladder, VERSION};
use super::program::{self, Draft, HALF};
use super::{claims, code, print};
use crate::dataset::plan::Plan;

/// A version of a program.
pub struct Rung {
    /// What makes it of the version before, and why that is faster.
    pub change: &'static str,
    pub reason: String,
    pub plan: Plan,
    /// What its text says and its code does not do.
    pub false_claim: Option<String>,
}

/// The versions, the slow one first.
pub fn versions(seed: u64, number: u64, ladder: &'static Ladder) -> Vec<Rung> {
    let whole = program::all_versions(seed, number, ladder);
    let rung = |(n, (change, _)): (usize, &(&'static str, &'static str))| {
        let draft = version(&whole, n);
        let text = print::text(&draft);
        Rung {
            change,
            reason: draft.notes.get(n).cloned().unwrap_or_default(),
            false_claim: claims::first(&draft),
            plan: program::plan(&draft, text),
        }
    };
    ladder.changes.iter().enumerate().map(rung).collect()
}

/// The program of version `n`.
fn version(whole: &Draft, n: usize) -> Draft {
    let mark = format!("{VERSION}{n}");
    let mut out = whole.clone();
    out.functions.retain(|function| function.kind != Kind::Kernel || function.name.contains(&mark));
    out.runs.retain(|run| run.kernel.contains(&mark));
    let kernels = || out.functions.iter().filter(|function| function.kind == Kind::Kernel);
    let has = |name: &str| kernels().any(|function| function.params.iter().any(|param| param == name));
    let halves: Vec<String> =
        out.roles.iter().map(|role| role.name.clone()).filter(|name| name.ends_with(HALF) && has(name)).collect();
    for half in halves {
        let plain = half.trim_end_matches(HALF).to_string();
        out.roles.retain(|role| role.name != plain);
        out.replace(&half, &plain);
        for name in
            out.functions.iter_mut().flat_map(|function| function.params.iter_mut().chain(&mut function.written))
        {
            if *name == half {
                name.clone_from(&plain);
            }
        }
    }
    let lines = |draft: &Draft, name: &str| {
        draft.functions.iter().any(|function| function.body.iter().any(|line| code::mentions(line, name)))
    };
    let unused: Vec<String> =
        out.roles.iter().map(|role| role.name.clone()).filter(|name| !lines(&out, name)).collect();
    out.roles.retain(|role| !unused.contains(&role.name));
    out.constants.retain(|name| !unused.contains(name));
    for function in &mut out.functions {
        function.name = function.name.replace(&mark, "");
    }
    for run in &mut out.runs {
        run.kernel = run.kernel.replace(&mark, "");
    }
    out
}
