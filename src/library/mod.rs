//! The built-in library: the entries of `stdlib/`, written in the kernel language.
//!
//! An entry is a `def` with decorators: `@op("sqrt")` names the IR operation it is, `@func` a
//! composite whose body is compiled like a user's function, `@intrinsic` something that the
//! compiler itself does, with `@syntax("a[i] += b")` a name of Warp's for a statement. A type is a
//! `@struct` class. Every public
//! entry has a docstring and a gradient decision: a `@func_grad` rule beside it,
//! `@zero_grad("reason")`, `@no_grad("reason")`, `@compiler_grad("words")`, or, for composites, its
//! own body. `@gives("finite")` says what polynomials do not show: whether finite arguments give
//! finite results. Names that begin with `_` are helpers of the library that users do not see.
//!
//! Entries are parsed when they are first used.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use crate::diag::Diagnostics;
use crate::ir::Gives;
use crate::memo::lock;
use crate::source::{FileId, SourceFile, SourceMap};
use crate::syntax::ast::{self, ExprKind, Item};

pub mod reference;

mod index {
    include!(concat!(env!("OUT_DIR"), "/stdlib_index.rs"));
}

/// What the gradient of an entry is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Decision {
    /// A `@func_grad` rule is beside it.
    Rule,
    /// Its body is differentiated.
    Body,
    /// Zero almost everywhere, for the reason given.
    Zero(String),
    /// There is none, for the reason given.
    None(String),
    /// The compiler differentiates it, as the words say.
    Compiler(String),
    /// Not decided: such an entry does not load.
    Missing,
}

/// One overload of a built-in.
#[derive(Debug)]
pub struct Entry {
    pub function: Arc<ast::Function>,
    /// The IR operation it is; None for composites.
    pub op: Option<String>,
    /// The CUDA functions that compute the same for float32 and float64.
    pub cuda: Option<CudaNames>,
    /// What it gives for finite arguments (`@gives("finite")`).
    pub gives: Option<Gives>,
    pub decision: Decision,
    /// The compiler itself knows what it does: `function` has a signature and a doc, but no body
    /// that counts.
    pub intrinsic: bool,
    /// The statement that it is, if it is no function: `a[i] += b`.
    pub form: Option<String>,
    /// The arguments for which it is defined, and smooth if it has a gradient; parameters that are
    /// not named take all.
    pub domains: Vec<Domain>,
}

/// What `@domain(x=(low, high))` says of a parameter: its numbers, or those in it, are from `low`
/// to `high`.
#[derive(Clone, PartialEq, Debug)]
pub struct Domain {
    pub param: String,
    pub low: f64,
    pub high: f64,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CudaNames {
    pub float32: String,
    pub float64: String,
}

/// The door to the entries; they are the same for all compilations.
#[derive(Debug, Default)]
pub struct Library {
    parsed: Mutex<Parsed>,
}

/// What was parsed so far.
#[derive(Debug, Default)]
struct Parsed {
    entries: HashMap<String, Arc<[Arc<Entry>]>>,
    meanings: HashMap<String, Option<Meaning>>,
}

/// What a name represents in library code.
#[derive(Clone, Debug)]
pub enum Meaning {
    /// A module-level constant: its value.
    Constant(Arc<ast::Expr>),
    Function,
}

/// The texts, numbered as in the index.
fn sources_of_library() -> &'static [SourceFile] {
    static FILES: OnceLock<Vec<SourceFile>> = OnceLock::new();
    FILES.get_or_init(|| index::FILES.iter().map(|&(path, text)| SourceFile::new(path, text.to_string())).collect())
}

fn chunks(name: &str) -> &'static [(&'static str, u32, u32, u32)] {
    let first = index::CHUNKS.partition_point(|chunk| chunk.0 < name);
    let count = index::CHUNKS[first..].iter().take_while(|chunk| chunk.0 == name).count();
    &index::CHUNKS[first..first + count]
}

impl Library {
    /// Whether there is an entry or constant of this name.
    pub fn has(name: &str) -> bool {
        !chunks(name).is_empty()
    }

    /// The names users can call, sorted.
    pub fn public_names() -> impl Iterator<Item = &'static str> {
        let mut last = "";
        index::CHUNKS.iter().map(|chunk| chunk.0).filter(move |name| {
            let new = *name != last && !name.starts_with('_') && !name.contains('.');
            last = name;
            new
        })
    }

    /// The names that stand for statements, such as `array_store`, sorted: they are documented, but
    /// not called.
    pub fn statements() -> impl Iterator<Item = &'static str> {
        index::CHUNKS.iter().filter_map(|chunk| chunk.0.strip_suffix(".syntax"))
    }

    /// How the statement is written that a name represents: `a[i] = value` for `array_store`.
    pub fn statement(&self, name: &str, sources: &mut SourceMap) -> Option<String> {
        self.entries(&format!("{name}.syntax"), sources).iter().find_map(|entry| entry.form.clone())
    }

    /// The text of a library file, such as `stdlib/scalar.py`.
    pub fn text(path: &str) -> Option<&'static str> {
        index::FILES.iter().find(|(known, _)| *known == path).map(|(_, text)| *text)
    }

    /// The library's files: names and texts.
    pub fn files() -> impl Iterator<Item = (&'static str, &'static str)> {
        index::FILES.iter().copied()
    }

    /// All overloads of a name, in the order of the files; empty when there are none.
    pub fn entries(&self, name: &str, sources: &mut SourceMap) -> Arc<[Arc<Entry>]> {
        self.open(sources);
        if let Some(entries) = lock(&self.parsed).entries.get(name).cloned() {
            return entries;
        }
        let has_rules = !name.contains('.') && Library::has(&format!("{name}.grad"));
        let rules = if has_rules { self.rules(name, sources) } else { Arc::from([]) };
        let entries: Arc<[Arc<Entry>]> = self
            .parse(name)
            .into_iter()
            .filter_map(|item| match item {
                Item::Function(function) => {
                    let has_rule = rules.iter().any(|rule| belongs(&rule.function, &function));
                    Some(Arc::new(Entry::new(function, has_rule)))
                }
                _ => None,
            })
            .collect();
        // Another thread may have been quicker.
        lock(&self.parsed).entries.entry(name.to_string()).or_insert(entries).clone()
    }

    /// The `@func_grad` rules for a name, of all its overloads.
    pub fn rules(&self, name: &str, sources: &mut SourceMap) -> Arc<[Arc<Entry>]> {
        self.entries(&format!("{name}.grad"), sources)
    }

    /// What a name represents in library code; None: the library has no such name.
    pub fn meaning(&self, name: &str, sources: &mut SourceMap) -> Option<Meaning> {
        self.open(sources);
        if let Some(meaning) = lock(&self.parsed).meanings.get(name).cloned() {
            return meaning;
        }
        let constant = self.parse(name).into_iter().find_map(|item| match item {
            Item::Constant(constant) => Some(Meaning::Constant(Arc::new(constant.value))),
            _ => None,
        });
        let meaning = constant.or(Library::has(name).then_some(Meaning::Function));
        lock(&self.parsed).meanings.insert(name.to_string(), meaning.clone());
        meaning
    }

    /// Whether there is a struct of this name.
    pub fn has_struct(name: &str) -> bool {
        Library::has(&format!("{name}.struct"))
    }

    /// The struct of this name.
    pub fn structure(&self, name: &str, sources: &mut SourceMap) -> Option<ast::Class> {
        self.open(sources);
        self.parse(&format!("{name}.struct")).into_iter().find_map(|item| match item {
            Item::Class(class) => Some(class),
            _ => None,
        })
    }

    /// Lets a compilation see the library's texts: spans point there.
    pub fn open(&self, sources: &mut SourceMap) {
        sources.share(sources_of_library());
    }

    fn parse(&self, name: &str) -> Vec<Item> {
        let mut items = Vec::new();
        for &(_, number, start, end) in chunks(name) {
            let (path, text) = index::FILES[number as usize];
            let file = FileId::shared(number);
            // The chunk at its own place in the file, so that spans point into the file; blanks
            // stand for the rest.
            let mut padded = " ".repeat((start as usize).saturating_sub(1));
            if start > 0 {
                padded.push('\n');
            }
            padded.push_str(&text[start as usize..end as usize]);
            let mut diagnostics = Diagnostics::new();
            items.extend(crate::syntax::parse(file, &padded, &mut diagnostics).items);
            debug_assert!(diagnostics.is_empty(), "{path}: `{name}` does not parse: {diagnostics:?}");
        }
        items
    }
}

/// Whether a rule is written for this overload: it repeats the overload's parameters, though
/// perhaps for fewer types (`Float` where the overload takes `Scalar`).
fn belongs(rule: &ast::Function, overload: &ast::Function) -> bool {
    fn head(annotation: &Option<ast::Expr>) -> Option<&str> {
        match &annotation.as_ref()?.kind {
            ExprKind::Name(_) => Some(""),
            ExprKind::Subscript { base, .. } => match &base.kind {
                ExprKind::Name(name) => Some(name),
                _ => None,
            },
            _ => None,
        }
    }
    let pairs = rule.params.iter().zip(&overload.params);
    rule.params.len() >= overload.params.len()
        && pairs.into_iter().all(|(r, o)| r.name.text == o.name.text && head(&r.annotation) == head(&o.annotation))
}

impl Entry {
    fn new(function: Arc<ast::Function>, has_rule: bool) -> Entry {
        let mut op = None;
        let mut cuda = None;
        let mut gives = None;
        let mut decision = None;
        let (mut intrinsic, mut form) = (false, None);
        let mut domains = Vec::new();
        for decorator in &function.decorators {
            let ExprKind::Call { callee, args } = &decorator.expr.kind else {
                intrinsic |= matches!(&decorator.expr.kind, ExprKind::Name(word) if word == "intrinsic");
                continue;
            };
            let ExprKind::Name(word) = &callee.kind else { continue };
            let mut strings = args.iter().filter_map(|arg| match &arg.value.kind {
                ExprKind::Str(text) => Some(text.clone()),
                _ => None,
            });
            match (word.as_str(), strings.next()) {
                ("op", Some(text)) => op = Some(text),
                ("syntax", Some(text)) => form = Some(text),
                ("cuda", Some(float32)) => {
                    let float64 = strings.next().unwrap_or_else(|| float32.clone());
                    cuda = Some(CudaNames { float32, float64 });
                }
                ("gives", Some(word)) => gives = Gives::from_name(&word),
                ("zero_grad", Some(reason)) => decision = Some(Decision::Zero(reason)),
                ("no_grad", Some(reason)) => decision = Some(Decision::None(reason)),
                ("compiler_grad", Some(words)) => decision = Some(Decision::Compiler(words)),
                ("domain", None) => domains.extend(args.iter().filter_map(Domain::new)),
                _ => {}
            }
        }
        let decision = decision.unwrap_or(match (&op, has_rule) {
            (_, true) => Decision::Rule,
            (None, false) if !intrinsic => Decision::Body,
            (_, false) => Decision::Missing,
        });
        Entry { function, op, cuda, gives, decision, intrinsic, form, domains }
    }
}

impl Domain {
    /// `x=(low, high)`
    fn new(arg: &ast::Arg) -> Option<Domain> {
        let ExprKind::Tuple(ends) = &arg.value.kind else { return None };
        let [low, high] = ends.as_slice() else { return None };
        Some(Domain { param: arg.name.as_ref()?.text.clone(), low: number(low)?, high: number(high)? })
    }
}

/// The value of a number as written.
fn number(expr: &ast::Expr) -> Option<f64> {
    match &expr.kind {
        ExprKind::Int(value) => Some((*value)? as f64),
        ExprKind::Float(value) => Some(*value),
        ExprKind::Unary { op: ast::UnaryOp::Neg, operand } => Some(-number(operand)?),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DECORATORS: [&str; 11] = [
        "func",
        "struct",
        "intrinsic",
        "op",
        "syntax",
        "cuda",
        "domain",
        "func_grad",
        "zero_grad",
        "no_grad",
        "compiler_grad",
    ];

    #[test]
    fn every_public_entry_has_a_doc_and_a_gradient_decision() {
        let library = Library::default();
        let mut sources = SourceMap::default();
        let mut faults = Vec::new();
        let mut count = 0;
        for name in Library::public_names() {
            for entry in library.entries(name, &mut sources).iter() {
                count += 1;
                if entry.function.doc.is_none() {
                    faults.push(format!("{name}: no doc"));
                }
                if entry.decision == Decision::Missing {
                    faults.push(format!("{name}: no gradient decision"));
                }
                // Polynomials do not show it.
                let smooth = entry.op.is_none() && !matches!(entry.decision, Decision::Zero(_) | Decision::None(_));
                if entry.cuda.is_some() && smooth && entry.gives.is_none() {
                    faults.push(format!("{name}: no `@gives`"));
                }
            }
        }
        assert!(faults.is_empty(), "{}", faults.join("\n"));
        assert!(count > 100, "only {count} entries found");
    }
    /// [`Entry::new`] passes over what it does not know.
    #[test]
    fn every_decorator_has_a_meaning() {
        let gives = Gives::ALL.map(|gives| format!("@gives(\"{}\")", gives.name()));
        let mut count = 0;
        for file in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/stdlib")).expect("the library") {
            let text = std::fs::read_to_string(file.expect("a file").path()).expect("a text");
            for line in text.lines().filter(|line| line.starts_with('@')) {
                let word = line[1..].split('(').next().unwrap_or_default();
                let known = match word {
                    "gives" => gives.iter().any(|given| given == line),
                    _ => DECORATORS.contains(&word),
                };
                assert!(known, "{line}");
                count += 1;
            }
        }
        assert!(count > 500, "only {count} decorators found");
    }
}
