//! What does a name mean in all files together? Definitions, uses and new names across the files of
//! a project.
//!
//! There is no index that could be stale: each question reads the texts anew, and looks closely at
//! those in which the name occurs. What is known of a file is kept while it and what it imports are
//! unchanged.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::File;
use super::names::{Names, Occurrence, Role, Symbol};
use super::rename;
use crate::diag::Level;
use crate::driver::{Analysis, Compiler};
use crate::limits::MAX_IMPORTS;
use crate::source::modules::{Home, absolute};
use crate::source::{FileSystem, Span};

/// The most files of which is kept what is known.
const MAX_KEPT: usize = 64;

/// What a name is, wherever it is used. Paths are absolute.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Entity {
    /// A function, struct, enumeration or constant.
    Item { path: PathBuf, name: String },
    /// A field of a struct, or a member of an enumeration.
    Field { path: PathBuf, owner: String, name: String },
    /// A parameter, as calls name it.
    Parameter { path: PathBuf, function: String, name: String },
    /// A file.
    Module { path: PathBuf },
}

/// A place in a file of the project.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    pub path: PathBuf,
    pub span: Span,
    pub role: Role,
}

/// What is kept from question to question.
#[derive(Debug, Default)]
pub struct Kept {
    files: HashMap<PathBuf, Arc<File>>,
}

impl Kept {
    /// Takes over what is known of the file at an absolute path.
    pub fn put(&mut self, path: PathBuf, file: Arc<File>) {
        if self.files.len() >= MAX_KEPT {
            self.files.clear();
        }
        self.files.insert(path, file);
    }

    /// Drops what is known of a file whose text has changed: two analyses of one file would stay
    /// otherwise, and the next question would free one.
    pub fn forget(&mut self, path: &Path) {
        self.files.remove(path);
    }
}

/// The files that a question is about.
pub struct Project<'a> {
    pub system: Arc<dyn FileSystem>,
    pub compiler: &'a Compiler,
    /// The files in which uses are searched.
    pub paths: Vec<PathBuf>,
    pub kept: &'a mut Kept,
}

impl Entity {
    pub fn path(&self) -> &Path {
        match self {
            Entity::Item { path, .. }
            | Entity::Field { path, .. }
            | Entity::Parameter { path, .. }
            | Entity::Module { path } => path,
        }
    }

    /// The name that is in texts; None for a file.
    pub fn name(&self) -> Option<&str> {
        match self {
            Entity::Item { name, .. } | Entity::Field { name, .. } | Entity::Parameter { name, .. } => Some(name),
            Entity::Module { .. } => None,
        }
    }

    /// The same with another name.
    fn named(&self, new: &str) -> Entity {
        let mut copy = self.clone();
        match &mut copy {
            Entity::Item { name, .. } | Entity::Field { name, .. } | Entity::Parameter { name, .. } => {
                *name = new.to_string();
            }
            Entity::Module { .. } => {}
        }
        copy
    }
}

impl Project<'_> {
    /// A file as it is now.
    pub fn file(&mut self, path: &Path) -> Option<Arc<File>> {
        let text = self.system.read(path)?.ok()?;
        if let Some(file) = self.kept.files.get(path)
            && file.text() == text
            && file.analysis.is_current()
        {
            return Some(file.clone());
        }
        let file = Arc::new(File::new(path, text, self.system.clone(), self.compiler).0);
        self.kept.put(path.to_path_buf(), file.clone());
        Some(file)
    }

    fn path(&self, file: &File) -> PathBuf {
        self.system.absolute(file.analysis.sources.path(Analysis::FILE))
    }

    /// What a symbol of a file is in all files. None: nothing that other files can name.
    pub fn entity(&mut self, file: &File, symbol: &Symbol) -> Option<Entity> {
        let path = self.path(file);
        let home = Home::of(&path, &*self.system);
        match symbol {
            Symbol::Item(name) => Some(Entity::Item { path, name: name.clone() }),
            Symbol::Module(name) => self.bound(&home, &path, &home, name, 0),
            Symbol::Member { module, name } => {
                self.member(&home, &absolute(&home.name, home.package, module)?, name, 0)
            }
            Symbol::Field { owner, name } => {
                let path = self.class(file, &path, &home, owner)?;
                Some(Entity::Field { path, owner: owner.clone(), name: name.clone() })
            }
            Symbol::Local { function, name } => {
                let function = file.functions().find(|f| f.span == *function)?;
                let function =
                    function.params.iter().any(|p| p.name.text == *name).then(|| function.name.text.clone())?;
                Some(Entity::Parameter { path, function, name: name.clone() })
            }
            Symbol::Keyword { function, name } => {
                let sources = &file.analysis.sources;
                let path = self.system.absolute(sources.path(function.file));
                Some(Entity::Parameter { path, function: sources.text(*function).to_string(), name: name.clone() })
            }
            Symbol::Builtin(_) => None,
        }
    }

    /// The file with a struct that values of `file` are of.
    fn class(&mut self, file: &File, path: &Path, home: &Home, owner: &str) -> Option<PathBuf> {
        let has = |file: &File| file.classes().any(|class| class.name.text == owner);
        if has(file) {
            return Some(path.to_path_buf());
        }
        if let Some(Entity::Item { path, name }) = self.bound(home, path, home, owner, 0)
            && name == owner
        {
            return Some(path);
        }
        // Without an import of its own: a value of it came from a function.
        let read: Vec<PathBuf> = file.analysis.imported().map(|file| self.system.absolute(&file.path)).collect();
        let mut found = read.into_iter().filter(|path| self.file(path).is_some_and(|file| has(&file)));
        let first = found.next()?;
        found.next().is_none().then_some(first)
    }

    /// What a name of a whole file is, which is at `home`; files are searched from the roots of
    /// `from`.
    fn bound(&mut self, from: &Home, path: &Path, home: &Home, name: &str, depth: usize) -> Option<Entity> {
        let file = self.file(path)?;
        if defines(&file, name) {
            return Some(Entity::Item { path: path.to_path_buf(), name: name.to_string() });
        }
        if depth > MAX_IMPORTS {
            return None;
        }
        if let Some(import) = file.names.imports.get(name) {
            let module = absolute(&home.name, home.package, &import.module)?;
            return match &import.member {
                Some(member) => self.member(from, &module, member, depth + 1),
                None => self.module(from, &module).map(|path| Entity::Module { path }),
            };
        }
        let stars = file.names.stars.clone();
        let visible = !name.starts_with('_');
        stars.iter().filter(|_| visible).find_map(|star| {
            let module = absolute(&home.name, home.package, star)?;
            self.member(from, &module, name, depth + 1)
        })
    }

    /// What `name` of a module is.
    fn member(&mut self, from: &Home, module: &str, name: &str, depth: usize) -> Option<Entity> {
        if let Some(path) = self.module(from, module) {
            let package = path.file_name().is_some_and(|name| name == "__init__.py");
            let home = Home { name: module.to_string(), package, ..Home::default() };
            if let Some(found) = self.bound(from, &path, &home, name, depth) {
                return Some(found);
            }
        }
        self.module(from, &format!("{module}.{name}")).map(|path| Entity::Module { path })
    }

    fn module(&self, from: &Home, module: &str) -> Option<PathBuf> {
        let found = from.candidates(module).into_iter().find(|path| matches!(self.system.read(path), Some(Ok(_))))?;
        Some(self.system.absolute(&found))
    }

    /// The file and the places where something is defined.
    pub fn definitions(&mut self, entity: &Entity) -> Option<(Arc<File>, Vec<Span>)> {
        let file = self.file(entity.path())?;
        let spans = match entity {
            Entity::Module { .. } => vec![Span::new(Analysis::FILE, 0, 0)],
            _ => {
                let own = file.names.iter().filter(|o| o.role == Role::Definition);
                let candidates: Vec<Occurrence> =
                    own.filter(|o| Some(file.slice(o.span)) == entity.name()).cloned().collect();
                let same = |o: &&Occurrence| self.entity(&file, &o.symbol).as_ref() == Some(entity);
                candidates.iter().filter(same).map(|o| o.span).collect()
            }
        };
        Some((file, spans))
    }

    /// Every use of something, in the order of the files; its definition counts. `asked` is
    /// searched, too.
    pub fn references(&mut self, asked: &Path, entity: &Entity) -> Vec<Place> {
        let Some(name) = entity.name() else { return Vec::new() };
        let mut paths: Vec<PathBuf> = self.paths.clone();
        paths.extend([asked.to_path_buf(), entity.path().to_path_buf()]);
        paths.sort();
        paths.dedup();
        // A file may pass the name on under another one.
        let (mut names, mut searched) = (vec![name.to_string()], HashSet::new());
        let mut found = Vec::new();
        while let Some(name) = names.pop() {
            for path in &paths {
                let Some(Ok(text)) = self.system.read(path) else { continue };
                if !text.contains(&name) || !searched.insert(path.clone()) {
                    continue;
                }
                let Some(file) = self.file(path) else { continue };
                let mut known: HashMap<&Symbol, bool> = HashMap::new();
                for occurrence in file.names.iter() {
                    let symbol = &occurrence.symbol;
                    let same =
                        *known.entry(symbol).or_insert_with(|| self.entity(&file, symbol).as_ref() == Some(entity));
                    if same {
                        found.push(Place { path: path.clone(), span: occurrence.span, role: occurrence.role });
                        let word = file.slice(occurrence.span);
                        if Some(word) != entity.name() && !names.iter().any(|name| name == word) {
                            names.push(word.to_string());
                        }
                    }
                }
            }
        }
        found.sort_by(|a, b| (&a.path, a.span.start).cmp(&(&b.path, b.span.start)));
        found
    }

    /// The places where a new name goes, for a name that other files can use. `writable` says which
    /// files may change.
    ///
    /// # Errors
    /// A sentence for the user.
    pub fn rename(
        &mut self,
        asked: &File,
        occurrence: &Occurrence,
        new: &str,
        writable: &dyn Fn(&Path) -> bool,
    ) -> Result<Vec<Place>, String> {
        rename::check_name(new)?;
        let unknown = || format!("kc does not find where `{}` is defined", asked.slice(occurrence.span));
        let entity = self.entity(asked, &occurrence.symbol).ok_or_else(unknown)?;
        let old = entity.name().ok_or("a module is a file: rename the file")?.to_string();
        let written = asked.slice(occurrence.span);
        if written != old {
            return Err(format!("`{written}` is this file's own name for `{old}`; change it in the import"));
        }
        if old == new {
            return Ok(Vec::new());
        }
        if !writable(entity.path()) {
            return Err(format!("`{old}` is defined in `{}`, outside the workspace", entity.path().display()));
        }
        let mut places = self.references(&self.path(asked), &entity);
        let mut paths: Vec<PathBuf> = places.iter().map(|place| place.path.clone()).collect();
        paths.dedup();
        let mut edited = HashMap::new();
        for path in &paths {
            let shown = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let refused = |reason: String| format!("{shown}: {reason}");
            let file = self.file(path).ok_or_else(|| refused("it is gone".to_string()))?;
            places.retain(|place| place.path != *path || file.slice(place.span) == old);
            let here: Vec<Span> = places.iter().filter(|p| p.path == *path).map(|p| p.span).collect();
            if here.is_empty() {
                continue;
            }
            if !writable(path) {
                return Err(refused(format!("it uses `{old}`, and is outside the workspace or not open")));
            }
            self.may_be_called(&file, &entity, &old, new).map_err(refused)?;
            let mut text = file.text().to_string();
            for span in here.iter().rev() {
                text.replace_range(span.start as usize..span.end as usize, new);
            }
            edited.insert(path.clone(), text);
        }
        self.strings(&entity, &old)?;
        self.verify(&entity, new, &edited, places.len())?;
        Ok(places)
    }

    /// Whether nothing else in a file speaks against the new name.
    fn may_be_called(&mut self, file: &File, entity: &Entity, old: &str, new: &str) -> Result<(), String> {
        let mut symbols: Vec<&Symbol> = file.names.iter().map(|o| &o.symbol).collect();
        let mut seen = HashSet::new();
        symbols.retain(|symbol| seen.insert(*symbol));
        for symbol in symbols {
            if self.entity(file, symbol).as_ref() == Some(entity) {
                rename::check(file, symbol, new)?;
            }
        }
        if let Entity::Field { .. } = entity
            && let Some(line) = rename::host_attribute(file, old)
        {
            return Err(format!("plain Python uses `.{old}` (line {line}); rename it there first"));
        }
        Ok(())
    }

    /// Refuses where a text in quotes may mean the name, or plain Python the field.
    fn strings(&mut self, entity: &Entity, old: &str) -> Result<(), String> {
        let field = matches!(entity, Entity::Field { .. });
        let quoted = [format!("\"{old}\""), format!("'{old}'")];
        for path in self.paths.clone() {
            let Some(Ok(text)) = self.system.read(&path) else { continue };
            if !text.contains(old) {
                continue;
            }
            let Some(file) = self.file(&path).filter(|file| path == entity.path() || self.imports(file, entity.path()))
            else {
                continue;
            };
            let shown = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let dynamic = text.contains("__all__") || text.contains("getattr");
            if let Some(at) = quoted.iter().find_map(|quoted| text.find(quoted.as_str())).filter(|_| dynamic) {
                let line = text.get(..at).unwrap_or_default().matches('\n').count() + 1;
                return Err(format!("{shown}: line {line} has `{old}` in quotes; change it there first"));
            }
            if let Some(line) = rename::host_attribute(&file, old).filter(|_| field) {
                return Err(format!("{shown}: plain Python uses `.{old}` (line {line}); rename it there first"));
            }
        }
        Ok(())
    }

    /// Whether a file imports another one, or from it, directly.
    fn imports(&mut self, file: &File, path: &Path) -> bool {
        let here = self.path(file);
        let home = Home::of(&here, &*self.system);
        let Names { imports, stars, .. } = &file.names;
        let modules = imports.values().flat_map(|import| {
            let inner = import.member.as_ref().map(|member| format!("{}.{member}", import.module));
            [Some(import.module.clone()), inner].into_iter().flatten()
        });
        let mut modules = modules.chain(stars.iter().cloned());
        modules.any(|written| {
            let module = absolute(&home.name, home.package, &written);
            module.and_then(|module| self.module(&home, &module)).is_some_and(|found| found == path)
        })
    }

    /// Looks at the files as they would be: nothing may be wrong that was not, and every use must
    /// mean the same.
    fn verify(&self, entity: &Entity, new: &str, edited: &HashMap<PathBuf, String>, uses: usize) -> Result<(), String> {
        let system = Arc::new(Edited { under: self.system.clone(), texts: edited.clone() });
        // Both without what is known already, which has the findings of gradients and the user's
        // settings in it.
        let (mut old, mut kept) = (Kept::default(), Kept::default());
        let paths = edited.keys().cloned().collect();
        let system_now = self.system.clone();
        let mut before = Project { system: system_now, compiler: self.compiler, paths: Vec::new(), kept: &mut old };
        let mut after = Project { system, compiler: self.compiler, paths, kept: &mut kept };
        let faults = |file: &File| {
            let errors = file.analysis.diagnostics.iter().filter(|d| d.level == Level::Error);
            let mut codes: Vec<&str> = errors.map(|d| d.code.name()).collect();
            codes.sort_unstable();
            codes.iter().map(|code| code.to_string()).collect::<Vec<String>>()
        };
        for path in edited.keys() {
            let (Some(was), Some(is)) = (before.file(path), after.file(path)) else { continue };
            let broken = || format!("with `{new}`, `{}` would have errors that it does not have now", path.display());
            if faults(&was) != faults(&is) {
                return Err(broken());
            }
        }
        let renamed = after.references(entity.path(), &entity.named(new));
        let same = renamed.iter().filter(|place| after.file(&place.path).is_some_and(|f| f.slice(place.span) == new));
        match same.count() == uses {
            true => Ok(()),
            false => Err(format!("`{new}` would mean something else in one of the files")),
        }
    }
}

fn defines(file: &File, name: &str) -> bool {
    use crate::syntax::ast::Item;
    file.analysis.parsed.all_items().into_iter().any(|item| match item {
        Item::Function(function) => function.name.text == name,
        Item::Class(class) => class.name.text == name,
        Item::Constant(constant) => constant.name.text == name,
        Item::Import(_) | Item::Region(_) | Item::Attribute(_) | Item::Call(_) | Item::Return(_) => false,
    })
}

/// Files of which some have other texts.
#[derive(Debug)]
struct Edited {
    under: Arc<dyn FileSystem>,
    texts: HashMap<PathBuf, String>,
}

impl FileSystem for Edited {
    fn read(&self, path: &Path) -> Option<Result<String, String>> {
        match self.texts.get(path) {
            Some(text) => Some(Ok(text.clone())),
            None => self.under.read(path),
        }
    }

    fn absolute(&self, path: &Path) -> PathBuf {
        self.under.absolute(path)
    }

    fn written(&self, path: &Path) -> PathBuf {
        self.under.written(path)
    }

    fn installed(&self, path: &Path) -> Vec<PathBuf> {
        self.under.installed(path)
    }
}
