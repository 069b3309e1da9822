//! Where does an imported name come from? Other files are found by [`Home`]'s rules, read when a
//! name of theirs is first needed, and never executed.
//!
//! Each file has a scope of its own. Only what the checked file uses of another one is checked: its
//! functions are checked where they are called, its structs and constants where they are named; its
//! kernels are not compiled.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::foreign;
use super::member::{is_builtin_alias, is_core, is_warp};
use super::suggest::nearest;
use crate::check::Checker;
use crate::check::messages;
use crate::check::state::globals::{Global, MODULE, Scope, Unknown, Why};
use crate::check::types::value::{Operand, Reported, Res, ScopeId};
use crate::diag::{Diagnostic, Level, quoted};
use crate::limits::{MAX_FILES, MAX_IMPORTS};
use crate::source::modules::{Home, absolute};
use crate::source::{FileId, Span};
use crate::syntax::ast::Parsed;

/// The files that the checked one imports from.
#[derive(Debug)]
pub(crate) struct Modules {
    /// The checked file.
    pub main: FileId,
    /// Where the parser found errors: it repairs what it can, but a function with a repaired line
    /// is not compiled.
    syntax_errors: Vec<Span>,
    /// The imports between the name being resolved and the current file.
    following: usize,
    /// Where the file to check is: imports are searched from there.
    home: Home,
    /// What is taken off paths in messages: the file to check was given relative to it.
    base: PathBuf,
    /// The files that were looked for, by their path.
    known: HashMap<PathBuf, Found>,
    /// The files that were found, by the scopes of their names.
    pub(super) files: HashMap<ScopeId, Module>,
    /// The names of packages that a C header gives.
    pub(super) from_headers: HashSet<(ScopeId, String)>,
    /// How many files were read.
    count: usize,
}

#[derive(Clone, Debug)]
enum Found {
    Missing,
    Unreadable(String),
    Here(ScopeId),
}

#[derive(Debug)]
pub(super) struct Module {
    /// With dots, from one of the roots.
    name: String,
    /// `__init__.py`
    package: bool,
    /// Its folder, until the C header of a package is read for what its compiled modules have.
    pub(super) folder: Option<PathBuf>,
    file: FileId,
    /// What the parser found, until something at its place is used.
    faults: Vec<Diagnostic>,
}

impl Modules {
    pub fn new(main: FileId, syntax_errors: Vec<Span>) -> Modules {
        Modules {
            main,
            syntax_errors,
            following: 0,
            home: Home::default(),
            base: PathBuf::new(),
            known: HashMap::new(),
            files: HashMap::new(),
            from_headers: HashSet::new(),
            count: 0,
        }
    }

    /// Whether the parser found an error in this place.
    pub fn is_repaired(&self, whole: Span) -> bool {
        self.syntax_errors.iter().any(|e| e.file == whole.file && whole.start <= e.start && e.end <= whole.end)
    }
}

impl Checker<'_> {
    /// Notes where the checked file is.
    pub fn open_main(&mut self, parsed: &Parsed) {
        let Some(system) = self.sources.system() else { return };
        let given = self.sources.path(parsed.file).to_path_buf();
        let path = system.absolute(&given);
        let home = Home::of(&path, &*system).with_installed(&path, &system.written(&given), &*system);
        let mut base = path.clone();
        for _ in given.components() {
            base.pop();
        }
        let base = if given.is_relative() && base.join(&given) == path { base } else { PathBuf::new() };
        let module = Module {
            name: home.name.clone(),
            package: home.package,
            folder: None,
            file: parsed.file,
            faults: Vec::new(),
        };
        (self.modules.home, self.modules.base) = (home, base);
        self.modules.known.insert(path, Found::Here(MODULE));
        self.modules.files.insert(MODULE, module);
    }

    /// The scope of the file that a scope is in.
    pub fn module_of(&self, scope: ScopeId) -> ScopeId {
        self.scopes.module_of(scope)
    }

    /// Whether names are resolved in the checked file, not in one that it imports from.
    pub fn in_main(&self) -> bool {
        self.module_of(self.scopes.current) == MODULE
    }

    /// The module that an import of the current file means, from a root: `.x` in `a.b` is `a.x`.
    /// What leads out of the outermost package stays as it is.
    pub fn absolute_module(&self, written: &str) -> String {
        let module = self.modules.files.get(&self.module_of(self.scopes.current));
        let meant = module.and_then(|module| absolute(&module.name, module.package, written));
        meant.unwrap_or_else(|| written.to_string())
    }

    /// The scope of a module's names, if there is a file of it.
    pub fn module(&mut self, name: &str) -> Option<ScopeId> {
        if is_builtin_alias(name) || name.is_empty() || name.starts_with('.') {
            return None;
        }
        let mut paths = self.modules.home.candidates(name);
        // What other libraries have is not for kernels, and not read.
        if foreign::library_of(name).is_none() {
            paths.extend(self.modules.home.installed_candidates(name));
        }
        paths.iter().find_map(|path| match self.file_at(path, name) {
            Found::Here(scope) => Some(scope),
            Found::Missing | Found::Unreadable(_) => None,
        })
    }

    fn file_at(&mut self, path: &Path, name: &str) -> Found {
        if let Some(known) = self.modules.known.get(path) {
            return known.clone();
        }
        let text = match self.sources.system().and_then(|system| system.read(path)) {
            Some(Ok(text)) if self.modules.count < MAX_FILES => text,
            None => return self.remember(path, Found::Missing),
            Some(Ok(_)) => {
                return self.remember(path, Found::Unreadable(format!("more than {MAX_FILES} files are imported")));
            }
            Some(Err(reason)) => return self.remember(path, Found::Unreadable(reason)),
        };
        self.modules.count += 1;
        let known = self.known.parses.of(path, self.shown(path), text);
        let file = known.parsed.file;
        self.sources.keep(file, known.source.clone());
        let faults = known.faults.clone();
        self.modules
            .syntax_errors
            .extend(faults.iter().filter(|d| d.level == Level::Error).filter_map(Diagnostic::span));
        let scope = self.scopes.push(Scope::new(None, None, false));
        let package = path.file_name().is_some_and(|name| name == "__init__.py");
        let folder = path.parent().filter(|_| package).map(Path::to_path_buf);
        self.modules.files.insert(scope, Module { name: name.to_string(), package, folder, file, faults });
        let found = self.remember(path, Found::Here(scope));
        self.collect_file(scope, &known.parsed);
        found
    }

    fn remember(&mut self, path: &Path, found: Found) -> Found {
        self.modules.known.insert(path.to_path_buf(), found.clone());
        found
    }

    /// A path as messages name it.
    pub(super) fn shown(&self, path: &Path) -> PathBuf {
        if let Some(shown) = self.sources.system().and_then(|system| system.shown(path)) {
            return shown;
        }
        match path.strip_prefix(&self.modules.base) {
            Ok(rest) if !self.modules.base.as_os_str().is_empty() => rest.to_path_buf(),
            _ => path.to_path_buf(),
        }
    }

    /// Enters the names of an imported file. What is wrong in it is said when it is used, or when
    /// it is checked itself.
    fn collect_file(&mut self, scope: ScopeId, parsed: &Parsed) {
        let conditional = std::mem::replace(&mut self.scopes.conditional, false);
        let written = std::mem::take(&mut self.gradients.written);
        self.quietly(|c| {
            c.scopes[scope].changes.clone_from(&parsed.changes);
            c.within(scope, |c| c.collect_scope(&parsed.items));
            c.note_aliases(scope);
            c.check_gradient_targets();
        });
        self.gradients.written = written;
        self.scopes.conditional = conditional;
    }

    /// What a name means in the current scope, through the imports of other files.
    pub fn follow(&mut self, name: &str) -> Option<(ScopeId, Global)> {
        let (mut scope, mut global) = self.lookup(name).map(|(scope, global)| (scope, global.clone()))?;
        for _ in 0..MAX_IMPORTS {
            let Global::Member { module, name } = &global else { break };
            if is_core(module) {
                break;
            }
            let Some(next) = self.module(module) else { break };
            self.open_header(next, name);
            let Some(found) = self.scopes[next].names.get(name) else { break };
            if matches!(found, Global::Member { module: from, name: same } if from == module && same == name) {
                let file = format!("{module}.{name}");
                return self.module(&file).map(|_| (next, Global::Module(file)));
            }
            (scope, global) = (next, found.clone());
        }
        Some((scope, global))
    }

    /// What `name` means in another file; None: there is no file of the module, or it does not have
    /// the name.
    pub fn member_of_file(&mut self, module: &str, name: &str, span: Span) -> Option<Res<Operand>> {
        let scope = self.module(module);
        if let Some(scope) = scope {
            self.open_header(scope, name);
        }
        if let Some(scope) = scope
            && let Some(global) = self.scopes[scope].names.get(name)
            // `from . import name` of a package is its own file.
            && !matches!(global, Global::Member { module: from, name: same } if from == module && same == name)
        {
            if self.modules.following >= MAX_IMPORTS {
                return Some(Err(self.report(messages::names::circular_import(name, module, span))));
            }
            self.modules.following += 1;
            let result = self.within(scope, |c| c.global(name, span));
            self.modules.following -= 1;
            return result;
        }
        let inner = format!("{module}.{name}");
        self.module(&inner).map(|_| Ok(Operand::Module(inner)))
    }

    /// Whether a module has a name. None: it has no file that is read.
    pub fn has_member(&mut self, module: &str, name: &str) -> Option<bool> {
        if is_core(module) || is_warp(module) {
            // What kc does not have, programs can do without here.
            let known = self.quietly(|c| c.member(module, name, Span::new(c.modules.main, 0, 0))).0.is_ok();
            return Some(known).filter(|known| *known || is_warp(module));
        }
        let scope = self.module(module)?;
        // Not all that a header defines is bound by the modules.
        if self.modules.from_headers.contains(&(scope, name.to_string())) {
            return None;
        }
        if self.scopes[scope].names.contains_key(name) || self.module(&format!("{module}.{name}")).is_some() {
            return Some(true);
        }
        if self.scopes[scope].open { None } else { Some(false) }
    }

    /// Enters the names of `from module import *`. False: there is no file of it.
    pub fn import_all(&mut self, module: &str) -> bool {
        let Some(scope) = self.module(module) else { return false };
        let from = &self.scopes[scope];
        let star = from.star_import;
        let mut names: Vec<(String, Global)> = Vec::new();
        for (name, global) in &from.names {
            let global = match global {
                Global::Module(_) | Global::Member { .. } => global.clone(),
                _ => Global::Member { module: module.to_string(), name: name.clone() },
            };
            if !name.starts_with('_') {
                names.push((name.clone(), global));
            }
        }
        names.sort_by(|a, b| a.0.cmp(&b.0));
        for (name, global) in names {
            self.bind(&name, global);
        }
        let here = self.module_of(self.scopes.current);
        self.scopes[here].star_import |= star;
        true
    }

    /// Reports a name that is in no file that kc can read.
    pub fn missing_import(&mut self, module: &str, name: &str, span: Span) -> Reported {
        let diagnostic = match self.module(module) {
            // A compiled module has it, most likely.
            Some(scope) if self.scopes[scope].open => {
                let why =
                    Why::Computed(Some(format!("`{name}` comes with `import *`, from what is no file of Python")));
                return self.need_unknown(&Unknown { name: format!("{module}.{name}"), place: span, why });
            }
            Some(scope) => {
                let file = self.modules.files.get(&scope).map(|module| module.file);
                let path = file.map(|file| self.sources.path(file).display().to_string()).unwrap_or_default();
                let names = self.scopes[scope].names.keys().map(String::as_str).collect::<Vec<_>>();
                let near = nearest(name, names.into_iter());
                let diagnostic = messages::names::missing_in_file(&path, name, module, span);
                match near {
                    Some(near) => messages::repairs::did_you_mean_name(diagnostic, &near),
                    None => diagnostic,
                }
            }
            None => self.missing_file(module, name, span),
        };
        self.report(diagnostic)
    }

    fn missing_file(&self, module: &str, name: &str, span: Span) -> Diagnostic {
        let help = "define it in this file, or pass the value to the kernel as an argument";
        if module.starts_with('.') {
            return messages::names::outside_package(name, module, help, span);
        }
        let paths = self.modules.home.candidates(module);
        for path in &paths {
            if let Some(Found::Unreadable(reason)) = self.modules.known.get(path) {
                let path = self.shown(path);
                return messages::names::unreadable_file(name, &path.display().to_string(), reason, help, span);
            }
        }
        let diagnostic = messages::names::missing_file(name, module, help, span);
        let looked = quoted(paths.iter().map(|path| self.shown(path).display().to_string()));
        match looked.is_empty() || is_warp(module) && self.module_root_is_foreign() {
            true => diagnostic,
            false => messages::details::looked_for(diagnostic, &looked),
        }
    }

    /// Whether no file of Warp itself was found: then nobody expects one beside the user's file.
    fn module_root_is_foreign(&self) -> bool {
        !self.modules.files.values().any(|module| is_warp(&module.name))
    }

    /// Reports what the parser found in an imported function that is used.
    pub fn report_faults(&mut self, whole: Span) {
        let Some(module) = self.modules.files.values_mut().find(|module| module.file == whole.file) else { return };
        let inside = |d: &Diagnostic| d.span().is_some_and(|span| whole.start <= span.start && span.end <= whole.end);
        let (found, rest) = std::mem::take(&mut module.faults).into_iter().partition(inside);
        module.faults = rest;
        let found: Vec<Diagnostic> = found;
        for fault in found {
            self.report(fault);
        }
    }
}
