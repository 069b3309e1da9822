//! Which file is a module? Python's rules: beside the file that imports, and from the folder above
//! the outermost package that holds it.

use std::path::{Path, PathBuf};

use super::FileSystem;

/// Where a file is among modules.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Home {
    /// The folders that absolute imports are searched in.
    pub roots: Vec<PathBuf>,
    /// The folders of installed packages, which are searched after them.
    pub installed: Vec<PathBuf>,
    /// The file's own name, with dots, from the outermost root.
    pub name: String,
    /// `__init__.py`
    pub package: bool,
}

impl Home {
    /// The home of the file at an absolute path.
    pub fn of(path: &Path, system: &dyn FileSystem) -> Home {
        let mut folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let package = stem == "__init__";
        let mut names = if package { Vec::new() } else { vec![stem] };
        let mut roots = vec![folder.clone()];
        let is_package = |folder: &Path| system.has(&folder.join("__init__.py"));
        // Folders without `__init__.py` are packages too: inside of others, and where the file's
        // own imports lead up through them.
        let levels = match system.read(path) {
            Some(Ok(text)) => levels(&text),
            _ => 0,
        };
        let mut inside = levels.saturating_sub(1);
        loop {
            let package = folder.ancestors().take(MAX_NAMESPACES).position(is_package);
            inside = inside.max(package.map_or(0, |above| above + 1));
            let (Some(parent), Some(name), 1..) = (folder.parent(), folder.file_name(), inside) else { break };
            names.insert(0, name.to_string_lossy().into_owned());
            folder = parent.to_path_buf();
            inside -= 1;
        }
        if folder != roots[0] {
            // A script finds what is beside it first.
            let at = usize::from(!is_package(&roots[0]));
            roots.insert(at, folder);
        }
        Home { roots, installed: Vec::new(), name: names.join("."), package }
    }

    /// The same with what else Python searches for the file at `path` that was given as `written`:
    /// what is beside the links in it, and what is installed.
    pub fn with_installed(mut self, path: &Path, written: &Path, system: &dyn FileSystem) -> Home {
        if written != path {
            self.roots.extend(Home::of(written, system).roots);
        }
        self.installed = system.installed(written);
        let mut seen = std::collections::HashSet::new();
        self.roots.retain(|root| seen.insert(root.clone()));
        self.installed.retain(|root| seen.insert(root.clone()));
        self
    }

    /// The files that a module can be in; the first that is there counts.
    pub fn candidates(&self, module: &str) -> Vec<PathBuf> {
        Home::below(&self.roots, module)
    }

    /// The files of installed packages that a module can be in.
    pub fn installed_candidates(&self, module: &str) -> Vec<PathBuf> {
        Home::below(&self.installed, module)
    }

    fn below(roots: &[PathBuf], module: &str) -> Vec<PathBuf> {
        let relative: PathBuf = module.split('.').collect();
        let in_root = |root: &PathBuf| {
            let stem = root.join(&relative);
            let mut file = stem.clone().into_os_string();
            file.push(".py");
            [stem.join("__init__.py"), PathBuf::from(file)]
        };
        roots.iter().flat_map(in_root).collect()
    }
}

/// Of how many folders without `__init__.py`, one in the other, a package is looked for.
const MAX_NAMESPACES: usize = 4;

/// The most dots that an import of a text begins with.
fn levels(text: &str) -> usize {
    let imports = text.lines().filter_map(|line| line.trim_start().strip_prefix("from ."));
    imports.map(|rest| 1 + rest.bytes().take_while(|&byte| byte == b'.').count()).max().unwrap_or(0)
}

/// The module, from a root, that an import in the module `name` means: `.x` in `a.b` is `a.x`.
/// None: it leads out of the outermost package.
pub fn absolute(name: &str, package: bool, written: &str) -> Option<String> {
    let path = written.trim_start_matches('.');
    let level = written.len() - path.len();
    if level == 0 {
        return Some(written.to_string());
    }
    let mut parts: Vec<&str> = name.split('.').filter(|part| !part.is_empty()).collect();
    let up = if package { level - 1 } else { level };
    parts.truncate(parts.len().checked_sub(up)?);
    parts.extend(path.split('.').filter(|part| !part.is_empty()));
    Some(parts.join("."))
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::{FileSystem, Home, absolute};

    #[derive(Debug)]
    struct Files(&'static [(&'static str, &'static str)]);

    impl FileSystem for Files {
        fn read(&self, path: &Path) -> Option<Result<String, String>> {
            self.0.iter().find(|(name, _)| Path::new(name) == path).map(|(_, text)| Ok((*text).to_string()))
        }

        fn absolute(&self, path: &Path) -> PathBuf {
            path.to_path_buf()
        }
    }

    #[test]
    fn folders_are_packages_inside_of_others_and_where_imports_lead_up() {
        let files = Files(&[
            ("/w/pkg/__init__.py", ""),
            ("/w/pkg/a.py", ""),
            ("/w/pkg/sub/b.py", ""),
            ("/w/pkg/sub/in/__init__.py", ""),
            ("/w/pkg/sub/in/f.py", ""),
            ("/w/spaces/deep/c.py", "import warp as wp\nfrom ..shapes import Disc\nfrom .near import f\n"),
            ("/w/spaces/deep/d.py", "from .near import f\n"),
            ("/w/scripts/e.py", "# from the start"),
        ]);
        let home = |path: &str| {
            let Home { roots, name, package, .. } = Home::of(Path::new(path), &files);
            assert!(!package);
            (name, roots.iter().map(|root| root.display().to_string()).collect::<Vec<_>>().join(" "))
        };
        for (path, name, roots) in [
            ("/w/pkg/a.py", "pkg.a", "/w /w/pkg"),
            ("/w/pkg/sub/b.py", "pkg.sub.b", "/w/pkg/sub /w"),
            ("/w/pkg/sub/in/f.py", "pkg.sub.in.f", "/w /w/pkg/sub/in"),
            ("/w/spaces/deep/c.py", "deep.c", "/w/spaces/deep /w/spaces"),
            ("/w/spaces/deep/d.py", "d", "/w/spaces/deep"),
            ("/w/scripts/e.py", "e", "/w/scripts"),
        ] {
            assert_eq!(home(path), (name.to_string(), roots.to_string()), "{path}");
        }
        // Dots are resolved from the name.
        assert_eq!(absolute("deep.c", false, "..shapes").as_deref(), Some("shapes"));
    }

    #[test]
    fn dots_lead_up() {
        for (name, package, written, meant) in [
            ("a.b", false, ".x", Some("a.x")),
            ("a.b", false, "..x", Some("x")),
            ("a.b", true, ".x", Some("a.b.x")),
            ("a.b", false, "...x", None),
            ("b", false, "x.y", Some("x.y")),
        ] {
            assert_eq!(absolute(name, package, written).as_deref(), meant, "{written} in {name}");
        }
    }
}
