//! What does a kernel become, as texts with the source lines that their lines come from? And what
//! is wrong with the file, as the editor server says it.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;
use serde_json::{Value, json};

use super::findings::{Edit, Finding, Fix, finding};
use super::wish::Wish;
use crate::diag::policy::Policy;
use crate::diag::{Diagnostics, Level};
use crate::driver::{self, Analysis, Artefact, Compilation, Compiler, Memory, Options, project};
use crate::ide::{File, actions, find, view};
use crate::source::lined::Lined;

/// A text, or why there is none.
#[derive(Clone, Default, Serialize, Debug)]
pub struct Pane {
    pub text: String,
    /// For each of its lines those of the source that it comes from, from 1.
    pub lines: Vec<Vec<u32>>,
    /// `cuda`, `ptx`, `ir`, `asm`, `plain`: how it is coloured.
    pub language: &'static str,
    pub why: Option<String>,
}

impl Pane {
    pub fn of(language: &'static str, lined: Lined) -> Pane {
        Pane { text: lined.text, lines: lined.lines, language, why: None }
    }

    pub fn none(language: &'static str, why: impl Into<String>) -> Pane {
        Pane { language, why: Some(why.into()), ..Pane::default() }
    }
}

/// The names of the kernels that a text defines, good or not, in their order.
pub fn kernels(file: &File) -> Vec<String> {
    file.functions().filter(|function| find::is_kernel(function)).map(|f| f.name.text.clone()).collect()
}

/// The kernel that is meant: the one that is asked for, if the text has it, else the first.
pub fn chosen<'k>(wish: &Wish, kernels: &'k [String]) -> Option<&'k str> {
    let named = kernels.iter().find(|name| Some(*name) == wish.kernel.as_ref());
    named.or(kernels.first()).map(String::as_str)
}

/// Findings, names of kernels and the texts of one of them.
pub fn text(path: &Path, wish: &Wish, compiler: &Compiler, memory: &mut Memory) -> Value {
    let (mut file, pending) = File::new(path, wish.source.clone(), wish.files(path), compiler);
    pending.finish(&mut file.analysis, memory, &|| false);
    let policy = project::policy_of(path);
    if let Ok(policy) = &policy {
        let Analysis { sources, diagnostics, .. } = &mut file.analysis;
        policy.apply(diagnostics, sources);
    }
    let mut found = of_file(&file);
    let kernels = kernels(&file);
    let chosen = chosen(wish, &kernels);
    let panes: Panes = match chosen {
        Some(kernel) => {
            let (panes, made) = panes(path, wish, kernel, compiler);
            let more = made.into_iter().flat_map(|made| made.findings(policy.as_ref().ok()));
            for one in more {
                if !found.iter().any(|known| (known.code, known.from) == (one.code, one.from)) {
                    found.push(one);
                }
            }
            panes
        }
        None => PANES.map(|(name, language)| (name, Pane::none(language, "the file has no kernel"))).into(),
    };
    if let Err(message) = policy {
        found.push(Finding { code: "pyproject.toml", level: "error", message, ..Finding::default() });
    }
    let imports: Vec<_> = file.analysis.imported().map(|file| file.path.clone()).collect();
    json!({ "findings": found, "kernels": kernels, "kernel": chosen, "panes": panes, "imports": imports })
}

/// What the editor server says of a text, with the actions that repair it.
fn of_file(file: &File) -> Vec<Finding> {
    let sources = &file.analysis.sources;
    let source = sources.file(Analysis::FILE);
    let mut found: Vec<Finding> =
        file.findings().map(|(place, one)| finding(one, Some(place), sources, Analysis::FILE)).collect();
    found.iter_mut().for_each(|one| one.fixes.clear());
    for action in actions::actions(file, 0..source.text.len() as u32) {
        if let Some(one) = action.finding.and_then(|number| found.get_mut(number)) {
            let edits = action.edits.iter().map(|edit| Edit::of(source, edit)).collect();
            one.fixes.push(Fix { title: action.title, preferred: action.preferred, edits });
        }
    }
    found.sort_by_key(|one| one.from);
    found
}

/// The panes that a text alone makes, and their languages.
const PANES: [(&str, &str); 6] =
    [("ir", "ir"), ("cuda", "cuda"), ("gradient", "cuda"), ("ptx", "ptx"), ("assembly", "asm"), ("plan", "plain")];

type Panes = BTreeMap<&'static str, Pane>;

/// A compilation whose artefacts are shown.
struct Made<'w> {
    compilation: Compilation,
    /// How many findings the text has.
    of_text: usize,
    options: Options,
    kernel: &'w str,
}

impl<'w> Made<'w> {
    fn of(path: &Path, wish: &Wish, kernel: &'w str, backward: bool, compiler: &Compiler) -> Made<'w> {
        let request = wish.request(kernel, backward);
        let compilation = compiler.load_among(path, wish.source.clone(), wish.files(path), &request);
        Made { of_text: compilation.diagnostics.len(), compilation, options: wish.options(), kernel }
    }

    fn lined(&mut self, language: &'static str, artefact: Artefact) -> Pane {
        let made = self.compilation.emit_lined(artefact, &self.options);
        made.map_or_else(|| Pane::none(language, self.why()), |lined| Pane::of(language, lined))
    }

    /// Plans have no lines of the source.
    fn plan(&mut self) -> Pane {
        let Some(bytes) = self.compilation.emit(Artefact::Plan, &self.options) else {
            return Pane::none("plain", self.why());
        };
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let lines = vec![Vec::new(); text.lines().count()];
        Pane::of("plain", Lined { text, lines })
    }

    /// Why a kernel became nothing: its errors, or what else is said of it.
    fn why(&self) -> String {
        let all = &self.compilation.diagnostics;
        let first = all.iter().find(|one| one.level == Level::Error).or_else(|| all.iter().next());
        match (first, all.error_count()) {
            (Some(first), 0 | 1) => format!("{}: {}", first.code.name(), first.message),
            (Some(first), errors) => format!("{}: {} ({errors} errors in all)", first.code.name(), first.message),
            (None, _) => format!("`{}` becomes no code", self.kernel),
        }
    }

    /// What back ends add to the findings of the text.
    fn findings(self, policy: Option<&Policy>) -> Vec<Finding> {
        let Compilation { diagnostics, sources, .. } = self.compilation;
        let mut added = Diagnostics::new();
        diagnostics.iter().skip(self.of_text).for_each(|one| added.push(one.clone()));
        policy.iter().for_each(|policy| policy.apply(&mut added, &sources));
        added.iter().map(|one| finding(one, one.span(), &sources, Analysis::FILE)).collect()
    }
}

fn panes<'w>(path: &Path, wish: &Wish, kernel: &'w str, compiler: &Compiler) -> (Panes, [Made<'w>; 2]) {
    // The forward entry alone reads best; what gradients add is beside it.
    let alone = || {
        let mut made = Made::of(path, wish, kernel, false, compiler);
        let cuda = made.lined("cuda", Artefact::Cuda);
        let ptx = made.lined("ptx", Artefact::Ptx(wish.arch()));
        let assembly = made.lined("asm", Artefact::Assembly);
        (made, [("cuda", cuda), ("ptx", ptx), ("assembly", assembly)])
    };
    let both = || {
        let mut made = Made::of(path, wish, kernel, true, compiler);
        let ir = made.lined("ir", Artefact::Ir);
        let gradient = gradient(made.lined("cuda", Artefact::Cuda), kernel);
        let plan = made.plan();
        (made, [("ir", ir), ("gradient", gradient), ("plan", plan)])
    };
    let ((alone, first), (both, second)) = driver::on_workers(|| rayon::join(alone, both));
    (first.into_iter().chain(second).collect(), [both, alone])
}

/// The backward kernel of CUDA text that has both.
fn gradient(all: Pane, kernel: &str) -> Pane {
    if all.why.is_some() {
        return all;
    }
    let backward = view::backward(&Lined { text: all.text, lines: all.lines }, kernel);
    backward.map_or_else(
        || Pane::none(all.language, format!("`{kernel}` has no backward kernel")),
        |lined| Pane::of(all.language, lined),
    )
}
