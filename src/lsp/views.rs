//! Where do the views of kernels come from? From `kc compile` ([`child`]).

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::child;
use super::documents::Snapshot;
use crate::ide::view::{View, backward};
use crate::library::Library;
use crate::process::PrivateFolder;
use crate::source::lined::Lined;

/// What a view is of.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Request {
    pub kernel: String,
    pub view: View,
}

/// The text of a view, and where its lines come from.
///
/// # Errors
/// Why there is none, for the user.
pub fn make(snapshot: &Snapshot, request: &Request) -> Result<Lined, String> {
    let said = child::ask(snapshot, None, |command| {
        command.arg("compile").arg(child::file(snapshot));
        command.args(["-k", &request.kernel, "-o", "-", "--lines", "--format", "short", "--emit"]);
        match request.view {
            View::Ptx => command.args(["ptx", "--no-backward"]),
            View::Cuda => command.args(["cuda", "--no-backward"]),
            View::Ir => command.arg("ir"),
            View::Adjoint => command.arg("cuda"),
        };
    })?;
    let why = said.err.trim();
    let Some(lined) = read(&said.out) else {
        return Err(if why.is_empty() {
            format!("`{}` has no {}", request.kernel, request.view.title())
        } else {
            why.to_string()
        });
    };
    match request.view {
        View::Adjoint => backward(&lined, &request.kernel).ok_or_else(|| match why {
            "" => format!("`{}` has no backward kernel", request.kernel),
            why => why.to_string(),
        }),
        _ => Ok(lined),
    }
}

/// What `kc compile --lines` prints.
fn read(bytes: &[u8]) -> Option<Lined> {
    let said: Value = serde_json::from_slice(bytes).ok()?;
    let number = |line: &Value| line.as_u64().and_then(|line| u32::try_from(line).ok());
    let lines = said.get("lines")?.as_array()?.iter();
    let lines = lines.map(|from| from.as_array().into_iter().flatten().filter_map(number).collect()).collect();
    Some(Lined { text: said.get("text")?.as_str()?.to_string(), lines })
}

/// A folder for files that editors open: it lasts as long as the user's session. None: others could
/// have put links into it.
fn folder() -> Option<(PathBuf, PrivateFolder)> {
    let own = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache")));
    let version = concat!("kc-", env!("CARGO_PKG_VERSION"));
    let folder = match own {
        Some(base) => base.join(version),
        // Everybody writes there: each user has a folder.
        // SAFETY: it only reads a number.
        None => std::env::temp_dir().join(format!("{version}-{}", unsafe { libc::geteuid() })),
    };
    // A link may lead from a folder of all to one of the user's.
    if folder.is_symlink() {
        return None;
    }
    let private = PrivateFolder::open(&folder)?;
    Some((folder, private))
}

/// A library file as a file that can be opened. None when it cannot be written.
pub fn copy_of_library(path: &str) -> Option<PathBuf> {
    let text = Library::text(path)?;
    let file = folder()?.0.join(path);
    if std::fs::read_to_string(&file).ok().as_deref() != Some(text) {
        std::fs::create_dir_all(file.parent()?).ok()?;
        std::fs::write(&file, text).ok()?;
    }
    Some(file)
}

/// A view as a file that can be opened. None when it cannot be written.
pub fn file_of_view(request: &Request, text: &str) -> Option<PathBuf> {
    let extension = request.view.extension();
    let name = format!("{}.{}.{extension}", request.kernel, request.view.name());
    let (folder, private) = folder()?;
    private.write(&name, ".new-", &[text.as_bytes()]).ok()?;
    Some(folder.join(name))
}
