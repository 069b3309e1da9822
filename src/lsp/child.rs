//! How is kc asked in a process of its own? What goes wrong in a back end, and the memory it takes,
//! stay there.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::documents::Snapshot;
use crate::driver;

/// A process that a person waits for is ended after this.
pub const LIMIT: Duration = Duration::from_secs(20);

/// How often a process is asked whether it is done.
const PAUSE: Duration = Duration::from_millis(3);

/// What kc said.
pub struct Said {
    pub out: Vec<u8>,
    /// What it reports, with the folder of the document left out.
    pub err: String,
}

/// The file that a document represents: one without a name is Python too.
pub fn file(snapshot: &Snapshot) -> PathBuf {
    snapshot.source.path.with_extension("py")
}

/// Runs kc with documents as they are on the screen; `arguments` adds to its command line. After
/// `limit` it is ended.
///
/// # Errors
/// Why there is no answer, for the user.
pub fn ask(snapshot: &Snapshot, limit: Option<Duration>, arguments: impl FnOnce(&mut Command)) -> Result<Said, String> {
    let mut command = driver::this_program().map_err(|fault| format!("kc does not find itself: {fault}"))?;
    let folder = tempfile::tempdir().map_err(|fault| format!("there is no room for temporary files: {fault}"))?;
    let file = file(snapshot);
    arguments(&mut command);
    // The document last: it counts, whatever else has its path.
    let open = snapshot.files.open();
    let texts = open.iter().map(|source| (&source.path, &source.text)).chain([(&file, &snapshot.source.text)]);
    for (n, (path, text)) in texts.enumerate() {
        let copy = folder.path().join(format!("{n}.py"));
        std::fs::write(&copy, text).map_err(|fault| fault.to_string())?;
        command.arg("--overlay").arg(path).arg(copy);
    }
    driver::ends_with_this(&mut command);
    // Into files, which do not get full while nobody reads.
    let (out, err) = (folder.path().join("out"), folder.path().join("err"));
    let made = |path: &Path| File::create(path).map_err(|fault| fault.to_string());
    command.stdin(Stdio::null()).stdout(made(&out)?).stderr(made(&err)?);
    let mut child = command.spawn().map_err(|fault| fault.to_string())?;
    wait(&mut child, limit)?;
    let err = std::fs::read(err).map_err(|fault| fault.to_string())?;
    let beside = file.parent().map(|folder| format!("{}/", folder.display())).filter(|folder| folder != "/");
    let err = String::from_utf8_lossy(&err);
    let err = beside.map_or_else(|| err.to_string(), |folder| err.replace(&folder, ""));
    Ok(Said { out: std::fs::read(out).map_err(|fault| fault.to_string())?, err })
}

fn wait(child: &mut Child, limit: Option<Duration>) -> Result<(), String> {
    let Some(limit) = limit else { return child.wait().map(drop).map_err(|fault| fault.to_string()) };
    let start = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(_)) => return Ok(()),
            Ok(None) if start.elapsed() > limit => {
                // That it has just ended by itself is no fault.
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("it takes longer than {} seconds", limit.as_secs()));
            }
            Ok(None) => std::thread::sleep(PAUSE),
            Err(fault) if fault.kind() == ErrorKind::Interrupted => {}
            Err(fault) => return Err(fault.to_string()),
        }
    }
}

/// The launch files beside a document, and in `launches` there, that run this kernel of it.
pub fn launches(snapshot: &Snapshot, kernel: &str) -> Vec<PathBuf> {
    /// Larger files, and more of them, nobody writes by hand.
    const MOST: (u64, usize) = (1 << 20, 200);
    let source = driver::Disk;
    let absolute = |path: &Path| crate::source::FileSystem::absolute(&source, path);
    let file = absolute(&snapshot.source.path);
    let Some(folder) = file.parent() else { return Vec::new() };
    let mut found: Vec<PathBuf> = [folder.to_path_buf(), folder.join("launches")]
        .iter()
        .flat_map(|folder| std::fs::read_dir(folder).into_iter().flatten().flatten())
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|e| e == "json"))
        .take(MOST.1)
        .collect();
    found.sort();
    let names = |path: &PathBuf| {
        let small = std::fs::metadata(path).is_ok_and(|about| about.is_file() && about.len() <= MOST.0);
        let text = small.then(|| std::fs::read_to_string(path).ok()).flatten()?;
        let launch: serde_json::Value = serde_json::from_str(&text).ok()?;
        let of = path.parent()?.join(launch.get("source")?.as_str()?);
        (absolute(&of) == file && launch.get("kernel")?.as_str()? == kernel).then_some(())
    };
    found.retain(|path| names(path).is_some());
    found
}
