//! Where do the views of kernels come from? From `kc compile` in a process of its own: what goes wrong in a back end, and
//! the memory it takes, stay there.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::documents::Snapshot;
use crate::driver;
use crate::ide::view::View;
use crate::library::Library;
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
    let kc = std::env::current_exe().map_err(|fault| format!("kc does not find itself: {fault}"))?;
    let folder = tempfile::tempdir().map_err(|fault| format!("there is no room for temporary files: {fault}"))?;
    let file = snapshot.source.path.with_extension("py");
    let mut command = Command::new(kc);
    command.arg("compile").arg(&file);
    // The document last: it counts, whatever else has its path.
    let open = snapshot.files.open();
    let texts = open.iter().map(|source| (&source.path, &source.text)).chain([(&file, &snapshot.source.text)]);
    for (n, (path, text)) in texts.enumerate() {
        let copy = folder.path().join(format!("{n}.py"));
        std::fs::write(&copy, text).map_err(|fault| fault.to_string())?;
        command.arg("--overlay").arg(path).arg(copy);
    }
    command.args(["-k", &request.kernel, "-o", "-", "--lines", "--format", "short", "--emit"]);
    match request.view {
        View::Ptx => command.args(["ptx", "--no-backward"]),
        View::Cuda => command.args(["cuda", "--no-backward"]),
        View::Ir => command.arg("ir"),
        View::Adjoint => command.arg("cuda"),
    };
    driver::ends_with_this(&mut command);
    let output = command.stdin(std::process::Stdio::null()).output().map_err(|fault| fault.to_string())?;
    let beside = file.parent().map(|folder| format!("{}/", folder.display())).filter(|folder| folder != "/");
    let said = String::from_utf8_lossy(&output.stderr);
    let said = beside.map_or_else(|| said.to_string(), |folder| said.replace(&folder, ""));
    let Some(lined) = read(&output.stdout) else {
        let said = said.trim();
        return Err(if said.is_empty() {
            format!("`{}` has no {}", request.kernel, request.view.title())
        } else {
            said.to_string()
        });
    };
    match request.view {
        View::Adjoint => backward(&lined, &request.kernel).ok_or_else(|| match said.trim() {
            "" => format!("`{}` has no backward kernel", request.kernel),
            said => said.to_string(),
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

/// The text without the forward kernel. None: there is no backward kernel.
fn backward(lined: &Lined, kernel: &str) -> Option<Lined> {
    let entry = format!("void {kernel}_cuda_kernel_backward(");
    let forward = format!("extern \"C\" __global__ void {kernel}_cuda_kernel_forward(");
    lined.text.contains(&entry).then(|| {
        let Some(start) = lined.text.lines().position(|line| line.starts_with(&forward)) else { return lined.clone() };
        // Up to its brace, and the blank line after it.
        let end = lined.text.lines().skip(start).position(|line| line == "}").map_or(start, |n| start + n + 1);
        let blank = lined.text.lines().nth(end).is_some_and(str::is_empty);
        lined.without(start..end + usize::from(blank))
    })
}

/// A folder for files that editors open: it lasts as long as the user's session.
fn folder() -> Option<PathBuf> {
    let base = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache")))
        .unwrap_or_else(std::env::temp_dir);
    let folder = base.join(concat!("kc-", env!("CARGO_PKG_VERSION")));
    std::fs::create_dir_all(&folder).ok()?;
    Some(folder)
}

/// A library file as a file that can be opened. None when it cannot be written.
pub fn copy_of_library(path: &str) -> Option<PathBuf> {
    let text = Library::text(path)?;
    let file = folder()?.join(path);
    if std::fs::read_to_string(&file).ok().as_deref() != Some(text) {
        std::fs::create_dir_all(file.parent()?).ok()?;
        std::fs::write(&file, text).ok()?;
    }
    Some(file)
}

/// A view as a file that can be opened. None when it cannot be written.
pub fn file_of_view(request: &Request, text: &str) -> Option<PathBuf> {
    let extension = request.view.extension();
    let file = folder()?.join(format!("{}.{}.{extension}", request.kernel, request.view.name()));
    std::fs::write(&file, text).ok()?;
    Some(file)
}
