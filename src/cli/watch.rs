//! When is a command done again? `--watch` runs it whenever a file that it read has changed.

use crate::cli::messages;
use crate::diag::counted;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::inputs::{Input, inputs};
use super::{Exit, output};
use crate::driver::Disk;
use crate::source::{FileSystem, SourceMap};

/// How often files are looked at. Editors write a file in less.
const PAUSE: Duration = Duration::from_millis(150);

/// The files that a run has read, with what stood in them.
#[derive(Default)]
pub(super) struct Seen {
    files: Vec<File>,
    /// Whether anybody asks for them.
    wanted: bool,
}

struct File {
    path: PathBuf,
    /// One file may be named in several ways.
    absolute: PathBuf,
    /// None: it could not be read.
    text: Option<String>,
    stamp: Option<(SystemTime, u64)>,
}

impl Seen {
    /// Notes an input and what was read for it.
    pub fn note(&mut self, input: &Path, sources: &SourceMap) {
        if !self.wanted {
            return;
        }
        let read = sources.files().map(|(_, file)| (file.path.clone(), Some(file.text.clone())));
        let input = std::iter::once((input.to_path_buf(), None));
        for (path, text) in read.chain(input) {
            let absolute = Disk.absolute(&path);
            if !self.files.iter().any(|file| file.absolute == absolute) {
                self.files.push(File { path, absolute, text, stamp: None });
            }
        }
    }

    /// The first file that is no longer what was read. Texts are compared, since a file may have
    /// been written while it was read.
    fn changed(&mut self) -> Option<&Path> {
        let changed = |file: &mut File| {
            let stamp = std::fs::metadata(&file.path).and_then(|data| Ok((data.modified()?, data.len()))).ok();
            if stamp.is_some() && stamp == file.stamp {
                return false;
            }
            file.stamp = stamp;
            std::fs::read_to_string(&file.path).ok() != file.text
        };
        self.files.iter_mut().find_map(|file| changed(file).then_some(file.path.as_path()))
    }
}

/// Does a command on the files that `names` mean; with `watch`, again and again until kc is ended.
/// `once` is reported which files, and notes what it reads.
pub(super) fn run(names: &[PathBuf], watch: bool, mut once: impl FnMut(&[Input], &mut Seen) -> Exit) -> Exit {
    if watch && names.iter().any(|name| name.as_os_str() == "-") {
        return output::refuse(&messages::nothing_to_watch());
    }
    let mut list = match inputs(names, "py") {
        Ok(list) => list,
        Err(error) => return output::fail(&error),
    };
    loop {
        let mut seen = Seen { wanted: watch, ..Seen::default() };
        let exit = once(&list, &mut seen);
        if !watch {
            return exit;
        }
        let count = seen.files.len();
        output::note(&format!("watching {}; Ctrl-C ends\n", counted(count, "file")));
        loop {
            std::thread::sleep(PAUSE);
            if let Some(path) = seen.changed() {
                output::note(&format!("\n{} has changed\n", path.display()));
                break;
            }
            // A folder may have more files by now. That it has none, or is away, may pass.
            if let Ok(now) = inputs(names, "py")
                && now != list
            {
                output::note("\nthere are other files\n");
                list = now;
                break;
            }
        }
    }
}
