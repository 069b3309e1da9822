//! Which file is a module? Python's rules: beside the file that imports, and from the folder above the outermost package
//! that holds it.

use std::path::{Path, PathBuf};

use super::FileSystem;

/// Where a file stands among modules.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Home {
    /// The folders that absolute imports are searched in.
    pub roots: Vec<PathBuf>,
    /// The file's own name, with dots, from the first root.
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
        while system.read(&folder.join("__init__.py")).is_some()
            && let (Some(parent), Some(name)) = (folder.parent(), folder.file_name())
        {
            names.insert(0, name.to_string_lossy().into_owned());
            folder = parent.to_path_buf();
        }
        if folder != roots[0] {
            roots.insert(0, folder);
        }
        Home { roots, name: names.join("."), package }
    }

    /// The files that a module can be in; the first that is there counts.
    pub fn candidates(&self, module: &str) -> Vec<PathBuf> {
        let relative: PathBuf = module.split('.').collect();
        let in_root = |root: &PathBuf| {
            let stem = root.join(&relative);
            let mut file = stem.clone().into_os_string();
            file.push(".py");
            [stem.join("__init__.py"), PathBuf::from(file)]
        };
        self.roots.iter().flat_map(in_root).collect()
    }
}

/// The module, from a root, that an import in the module `name` means: `.x` in `a.b` is `a.x`. None: it leads out of the
/// outermost package.
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
    use super::absolute;

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
