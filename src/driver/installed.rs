//! Where are the packages that are installed for a file? In the folders that Python would search:
//! those of `PYTHONPATH`, those of the active environment, and those that its `.pth` files name.
//!
//! | environment | how it is known |
//! |---|---|
//! | of the file | a folder `.venv` beside it, or beside a folder around it |
//! | active | `VIRTUAL_ENV`, `CONDA_PREFIX` |
//! | of the program | `python3` on `PATH` is in its `bin` |

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The folders, in the order of the search.
pub fn folders(file: &Path) -> Vec<PathBuf> {
    let mut found = process().to_vec();
    let own = file.ancestors().skip(1).map(|folder| folder.join(".venv"));
    if let Some(environment) = own.into_iter().find(|folder| folder.join("pyvenv.cfg").is_file()) {
        found.extend(of_environment(&environment));
    }
    let mut seen = std::collections::HashSet::new();
    found.retain(|folder| seen.insert(folder.clone()));
    found
}

/// Those that all files of a process have.
fn process() -> &'static [PathBuf] {
    static KNOWN: OnceLock<Vec<PathBuf>> = OnceLock::new();
    KNOWN.get_or_init(|| of_process(&|name| std::env::var_os(name)))
}

fn of_process(variable: &dyn Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    let mut found: Vec<PathBuf> =
        set("PYTHONPATH").map(|paths| std::env::split_paths(&paths).collect()).unwrap_or_default();
    found.retain(|folder| !folder.as_os_str().is_empty());
    let active = set("VIRTUAL_ENV").or_else(|| set("CONDA_PREFIX")).map(PathBuf::from);
    let environment = active.or_else(|| {
        let program =
            std::env::split_paths(&set("PATH")?).map(|folder| folder.join("python3")).find(|p| p.is_file())?;
        // That of an environment is a link to the one that it was made with.
        let bin = program.parent()?;
        let made = bin.parent()?.to_path_buf();
        if made.join("pyvenv.cfg").is_file() {
            return Some(made);
        }
        Some(program.canonicalize().ok()?.parent()?.parent()?.to_path_buf())
    });
    found.extend(environment.iter().flat_map(|folder| of_environment(folder)));
    found
}

/// The packages of an environment: `lib/python3.12/site-packages`, and what its `.pth` files name.
fn of_environment(environment: &Path) -> Vec<PathBuf> {
    let mut places: Vec<PathBuf> = Vec::new();
    for lib in ["lib", "lib64"] {
        for entry in sorted(&environment.join(lib)) {
            let name = entry.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if name.starts_with("python3") {
                places.extend(["site-packages", "dist-packages"].map(|packages| entry.join(packages)));
            }
        }
    }
    places.push(environment.join("Lib").join("site-packages"));
    places.retain(|place| place.is_dir());
    let named: Vec<PathBuf> = places.iter().flat_map(|place| of_links(place)).collect();
    places.extend(named);
    places
}

/// The folders that the `.pth` files of a folder name. Those of editable installations may name a
/// module that finds packages by a table instead.
fn of_links(packages: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for file in sorted(packages) {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is = |ending: &str| file.extension().is_some_and(|extension| extension == ending);
        if is("pth") {
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            for line in text.lines().map(str::trim) {
                let code = line.starts_with("import ") || line.starts_with("import\t");
                if !line.is_empty() && !line.starts_with('#') && !code {
                    found.push(packages.join(line));
                }
            }
        } else if is("py") && name.starts_with("__editable__") {
            found.extend(of_table(&std::fs::read_to_string(&file).unwrap_or_default()));
        }
    }
    found.retain(|folder| folder.is_dir());
    found
}

/// The folders of the packages in the table of a finder:
/// `MAPPING: dict[str, str] = {'pkg': '/src/pkg'}`.
fn of_table(text: &str) -> Vec<PathBuf> {
    let line = text.lines().find(|line| line.starts_with("MAPPING"));
    let Some((_, table)) = line.and_then(|line| line.split_once('{')) else { return Vec::new() };
    let words: Vec<&str> = table.split(['\'', '"']).collect();
    // Name and path stand between quotes, in turns.
    let quoted: Vec<&str> = words.iter().skip(1).step_by(2).copied().collect();
    let folder = |pair: &[&str]| {
        let path = Path::new(pair.get(1)?);
        (path.file_name()?.to_str()? == *pair.first()?).then(|| path.parent().map(Path::to_path_buf)).flatten()
    };
    quoted.chunks(2).filter_map(folder).collect()
}

/// What is in a folder, in order; nothing where it cannot be read.
fn sorted(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()).collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::ffi::OsString;
    use std::fs;

    use super::{folders, of_process};

    #[test]
    fn packages_are_searched_where_python_does() {
        let root = tempfile::tempdir().expect("a folder");
        let at = |path: &str| root.path().join(path);
        for folder in
            ["env/lib/python3.12/site-packages", "src/pkg", "linked/src", "extra", "conda/lib/python3.11/site-packages"]
        {
            fs::create_dir_all(at(folder)).expect("a folder");
        }
        let packages = at("env/lib/python3.12/site-packages");
        fs::write(
            packages.join("linked.pth"),
            format!("# a link\n{}\nimport os\n/no/such\n", at("linked/src").display()),
        )
        .expect("a file");
        let table = format!("MAPPING: dict[str, str] = {{'pkg': '{}'}}\n", at("src/pkg").display());
        fs::write(packages.join("__editable___pkg_finder.py"), format!("import sys\n{table}")).expect("a file");
        let found = |set: &[(&str, String)]| {
            let set: HashMap<&str, &String> = set.iter().map(|(name, value)| (*name, value)).collect();
            of_process(&|name| set.get(name).map(OsString::from))
        };
        let text = |path: &str| at(path).display().to_string();
        let places = [packages, at("src"), at("linked/src")];
        assert_eq!(found(&[("VIRTUAL_ENV", text("env"))]), places);
        assert_eq!(found(&[("PYTHONPATH", text("extra")), ("VIRTUAL_ENV", text("env"))])[0], at("extra"));
        assert_eq!(found(&[("CONDA_PREFIX", text("conda"))]), [at("conda/lib/python3.11/site-packages")]);
        // The environment of a program, which is a link to one elsewhere.
        fs::create_dir_all(at("env/bin")).expect("a folder");
        fs::write(at("env/bin/python3"), "").expect("a file");
        fs::write(at("env/pyvenv.cfg"), "").expect("a file");
        assert_eq!(found(&[("PATH", text("env/bin"))]), places);
        // That of a project lies in it.
        fs::rename(at("env"), at(".venv")).expect("a folder");
        fs::create_dir_all(at("project/deep")).expect("a folder");
        let own = folders(&at("project/deep/file.py"));
        assert!(own.contains(&at(".venv/lib/python3.12/site-packages")), "{own:?}");
    }
}
