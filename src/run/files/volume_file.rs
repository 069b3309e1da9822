//! How is a file of volumes read? NanoVDB's (`.nvdb`), one grid of those in it.

use std::io::Read;
use std::path::Path;

use super::npz;
use crate::diag::Code;
use crate::engines::Volume;
use crate::engines::volume::file;
use crate::run::args::memory;
use crate::run::{Result, fail, list};

/// Whether a file holds volumes, by its name.
pub fn is_volume(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("nvdb"))
}

/// The grid that is called `name`, or else the first one. `most`: see [`npz::Room::of`].
///
/// # Errors
/// The file can't be opened or holds no volumes that can be read (`E1007`), or no such grid
/// (`E1008`).
pub fn read(path: &Path, name: Option<&str>, most: Option<u64>) -> Result<Volume> {
    let bad = |why: String| fail(Code::E1007, format!("{} {why}", path.display()));
    let opened = npz::open_at_once(path).map_err(|error| bad(format!("cannot be opened: {error}")))?;
    let length = match opened.metadata() {
        Ok(data) if data.is_file() => data.len(),
        _ => return Err(bad("is not a regular file".to_string())),
    };
    if length > memory::available() {
        return Err(bad(format!("has {length} bytes, more than there is memory for")));
    }
    let mut bytes = Vec::new();
    opened.take(length).read_to_end(&mut bytes).map_err(|error| bad(format!("cannot be read: {error}")))?;
    let broken = |error: String| bad(format!("is not a readable NanoVDB file: {error}"));
    let expanded = file::expanded(&bytes).map_err(|error| broken(error.to_string()))?;
    npz::Room::of(length, most).holds(expanded).map_err(bad)?;
    let volumes = Volume::from_file_bytes(&bytes).map_err(|error| broken(error.to_string()))?;
    let names: Vec<String> = volumes.iter().map(|volume| volume.info().name).collect();
    let wanted = name.map_or(Some(0), |name| names.iter().position(|known| known == name));
    let found = wanted.and_then(|wanted| volumes.into_iter().nth(wanted));
    found.ok_or_else(|| {
        let name = name.unwrap_or_default();
        fail(Code::E1008, format!("{} has no grid `{name}`; its grids are {}", path.display(), list(&names)))
    })
}
