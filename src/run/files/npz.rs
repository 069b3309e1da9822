//! How are `.npz` archives (zip files of `.npy` arrays) and single `.npy` files opened, read, and
//! written whole?

use std::fs::File;
use std::io::{BufReader, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use zip::ZipArchive;
use zip::result::ZipError;
use zip::write::SimpleFileOptions;

use super::npy;
use super::npy::{Array, Header};
use super::whole;
use crate::diag::Code;
use crate::run::{Fail, Result, fail};

/// Deflate cannot shrink data by more than this factor; an entry that claims more is damaged.
const MAX_DEFLATE_RATIO: u64 = 1032;

/// An open archive.
pub struct Npz {
    path: PathBuf,
    archive: ZipArchive<BufReader<File>>,
    room: Room,
}

fn invalid(path: &Path, why: impl std::fmt::Display) -> Fail {
    fail(Code::E1007, format!("{} {why}", path.display()))
}

/// Opens a file for reading. A pipe that nobody writes to does not make it wait: the caller sees
/// that it is no regular file.
pub(super) fn open_at_once(path: &Path) -> std::io::Result<File> {
    let mut options = std::fs::OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK);
    options.open(path)
}

fn open_file(path: &Path) -> Result<(File, u64)> {
    let file = open_at_once(path).map_err(|e| invalid(path, format!("cannot be opened: {e}")))?;
    let metadata = file.metadata().map_err(|e| invalid(path, format!("cannot be read: {e}")))?;
    // A pipe or a device may never end.
    if !metadata.is_file() {
        return Err(invalid(path, "is not a regular file"));
    }
    Ok((file, metadata.len()))
}

impl Npz {
    /// `most`: how many bytes a compressed entry may hold; see [`Room::of`].
    pub fn open(path: &Path, most: Option<u64>) -> Result<Npz> {
        let (file, length) = open_file(path)?;
        let archive = ZipArchive::new(BufReader::new(file))
            .map_err(|e| invalid(path, format!("is not a readable .npz archive: {}", reason(&e))))?;
        Ok(Npz { path: path.to_path_buf(), archive, room: Room::of(length, most) })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The names of the arrays, without `.npy`.
    pub fn names(&self) -> Vec<String> {
        let names = self.archive.file_names().flatten();
        names.map(|name| name.strip_suffix(".npy").unwrap_or(&name).to_string()).collect()
    }

    /// Reads the array `name`. `check` sees the header before any data is read.
    pub fn read(&mut self, name: &str, check: impl FnOnce(&Header) -> Result<()>) -> Result<Array> {
        let shown = format!("entry `{name}` of {}", self.path.display());
        let bad = |why: String| fail(Code::E1007, format!("{shown} {why}"));
        let file_name = format!("{name}.npy");
        let index = self.archive.index_for_name(&file_name).or_else(|| self.archive.index_for_name(name));
        let Some(index) = index else {
            let names = self.names();
            let list = if names.is_empty() { "no entries".to_string() } else { crate::run::list(&names) };
            let path = self.path.display();
            return Err(fail(Code::E1008, format!("{path} has no entry `{name}`; it has {list}")));
        };
        let mut entry = self.archive.by_index(index).map_err(|e| bad(format!("cannot be read: {}", reason(&e))))?;
        if entry.size() > entry.compressed_size().saturating_mul(MAX_DEFLATE_RATIO).saturating_add(64) {
            return Err(bad("claims more data than its compressed bytes can hold".to_string()));
        }
        let available = entry.size();
        self.room.holds(available).map_err(bad)?;
        let header = npy::read_header(&mut entry).map_err(bad)?;
        check(&header)?;
        npy::read_data(&mut entry, header, available).map_err(bad)
    }
}

/// Reads a single `.npy` file. `check` sees the header before any data is read.
pub fn read_npy(path: &Path, check: impl FnOnce(&Header) -> Result<()>) -> Result<Array> {
    let (file, length) = open_file(path)?;
    let mut input = BufReader::new(file);
    let header = npy::read_header(&mut input).map_err(|why| invalid(path, why))?;
    check(&header)?;
    npy::read_data(&mut input, header, length).map_err(|why| invalid(path, why))
}

fn reason(e: &ZipError) -> String {
    match e {
        ZipError::Io(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => "it is truncated".to_string(),
        other => other.to_string(),
    }
}

/// Writes an archive; entries are stored uncompressed.
pub struct NpzWriter<W: Write + Seek> {
    zip: zip::ZipWriter<W>,
}

impl<W: Write + Seek> NpzWriter<W> {
    pub fn new(output: W) -> Self {
        Self { zip: zip::ZipWriter::new(output) }
    }

    pub fn add(&mut self, name: &str, descr: &str, shape: &[u64], bytes: &[u8]) -> std::io::Result<()> {
        let options = SimpleFileOptions::default()
            .compression_method(zip::CompressionMethod::Stored)
            // The same results give the same bytes, whenever they are written.
            .last_modified_time(zip::DateTime::DEFAULT)
            .large_file(bytes.len() as u64 > u64::from(u32::MAX) - 65_536);
        self.zip.start_file(format!("{name}.npy"), options)?;
        npy::write(&mut self.zip, descr, shape, bytes)
    }

    pub fn finish(self) -> std::io::Result<W> {
        Ok(self.zip.finish()?)
    }
}

/// Writes `path` whole or not at all: `write` fills a temporary file.
pub fn write_whole(path: &Path, write: impl FnOnce(&mut File) -> std::io::Result<()>) -> Result<()> {
    let failed = |e: std::io::Error| fail(Code::E0904, format!("cannot write {}: {e}", path.display()));
    whole::write_whole(path, write).map_err(failed)
}

/// Compressed files may hold so many bytes, however small they are.
const EXPANDED: u64 = 256 << 20;

/// The variable of the environment with another number of bytes.
const EXPANDED_VARIABLE: &str = "KC_MAX_EXPANDED";

/// How many bytes may be unpacked from a file: a small file must not take all memory.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    file: u64,
    most: u64,
}

impl Room {
    /// For a file of this size. `most`: what the session allows; otherwise the environment, or
    /// [`EXPANDED`]. Four times the file's size is always allowed.
    pub fn of(file: u64, most: Option<u64>) -> Room {
        static OTHERWISE: OnceLock<u64> = OnceLock::new();
        let given = || std::env::var(EXPANDED_VARIABLE).ok().and_then(|text| text.parse().ok()).unwrap_or(EXPANDED);
        let most = most.unwrap_or_else(|| *OTHERWISE.get_or_init(given));
        Room { file, most: most.max(file.saturating_mul(4)) }
    }

    /// Why so many bytes are not unpacked.
    pub fn holds(self, bytes: u64) -> std::result::Result<(), String> {
        let Room { file, most } = self;
        match bytes <= most {
            true => Ok(()),
            false => Err(format!(
                "holds {bytes} bytes in a file of {file}: more than {most}; `kc run --max-expanded {bytes}` or \
                 {EXPANDED_VARIABLE}={bytes} reads it"
            )),
        }
    }
}

/// Reads a whole text file of at most `limit` bytes.
pub fn read_text(path: &Path, limit: u64, code: Code) -> Result<String> {
    let failed = |why: String| fail(code, format!("cannot read {}: {why}", path.display()));
    let file = open_at_once(path).map_err(|e| failed(e.to_string()))?;
    let metadata = file.metadata().map_err(|e| failed(e.to_string()))?;
    if !metadata.is_file() {
        return Err(failed("not a regular file".into()));
    }
    if metadata.len() > limit {
        return Err(failed(format!("{} bytes are more than {limit}", metadata.len())));
    }
    let mut text = String::new();
    file.take(limit).read_to_string(&mut text).map_err(|e| failed(e.to_string()))?;
    Ok(text)
}
