//! Which code is on the disk already? Objects that kc made for the host are kept for other
//! processes, where the program that kc is a part of wants that.
//!
//! An object is found by the SHA-256 of all that it was made from: the kernel's module after all
//! passes (so whatever the kernel depends on: sources, captured values, types), options, processor,
//! LLVM, and the file that kc itself was loaded from. A file that is not whole, or not for this
//! key, counts as none.

use std::ffi::{CStr, OsStr, c_void};
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use sha2::{Digest, Sha256};

use crate::codegen::llvm::{HostOptions, native_processor};
use crate::ir::{FuncId, Module, fingerprint};
use crate::process::PrivateFolder;

/// The first bytes of a file; then its key, the SHA-256 of the object, and the object.
const MAGIC: &[u8] = b"kc object 1\n";

/// How the names of files begin that are being written.
const UNFINISHED: &str = ".kc-object-";

const SUFFIX: &str = "object";

/// When a process has written so many, or this is the first, it looks how much there is.
const WRITTEN_BETWEEN_SWEEPS: u64 = 64;

/// What was kept longest without use goes when there are more bytes than this, until half is left.
const MOST_BYTES: u64 = 256 << 20;

/// A file that is not complete after this long has lost its writer.
const LEFT_BEHIND: Duration = Duration::from_secs(24 * 3600);

static READ: AtomicU64 = AtomicU64::new(0);
static WRITTEN: AtomicU64 = AtomicU64::new(0);

/// How many objects this process has read, and written.
pub fn counts() -> (u64, u64) {
    (READ.load(Ordering::Relaxed), WRITTEN.load(Ordering::Relaxed))
}

/// The place of an object.
pub struct ObjectPlace {
    folder: PrivateFolder,
    key: [u8; 32],
}

impl ObjectPlace {
    /// That of the code of a kernel in a folder, which is made when it is first needed. None:
    /// nothing is kept.
    pub fn of(folder: &Path, module: &Module, kernel: FuncId, options: &HostOptions) -> Option<ObjectPlace> {
        let folder = PrivateFolder::open(folder)?;
        let mut hash = Sha256::new();
        let HostOptions { checked, opt, cpu, atomics } = options;
        let head =
            format!("{}\n{}\n{kernel:?} {checked} {opt:?} {cpu:?} {atomics:?}\n", this_kc()?, native_processor());
        hash.update((head.len() as u64).to_le_bytes());
        hash.update(head);
        hash.update(fingerprint::contents(module));
        Some(ObjectPlace { folder, key: hash.finalize().into() })
    }

    /// The name of its file.
    fn name(&self) -> String {
        let digits: String = self.key.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{digits}.{SUFFIX}")
    }

    /// The object, if it is there.
    pub fn read(&self) -> Option<Vec<u8>> {
        let mut file = self.folder.read(&self.name(), MOST_BYTES)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).ok()?;
        let rest = bytes.strip_prefix(MAGIC)?.strip_prefix(&self.key)?;
        let (digest, object) = rest.split_at_checked(32)?;
        if digest != Sha256::digest(object).as_slice() {
            return None;
        }
        // What was used last is swept last; a folder that cannot be written is as good.
        let _ = file.set_modified(SystemTime::now());
        READ.fetch_add(1, Ordering::Relaxed);
        Some(object.to_vec())
    }

    /// Keeps the object, whole or not at all. That it cannot be kept is nobody's error.
    pub fn write(&self, object: &[u8]) {
        let digest = Sha256::digest(object);
        let written = self.folder.write(&self.name(), UNFINISHED, &[MAGIC, &self.key, digest.as_slice(), object]);
        if written.is_ok() && WRITTEN.fetch_add(1, Ordering::Relaxed).is_multiple_of(WRITTEN_BETWEEN_SWEEPS) {
            sweep(&self.folder, MOST_BYTES);
        }
    }
}

/// The file that this code was loaded from, as it is now: another build is another file.
fn this_kc() -> Option<&'static str> {
    static THIS: OnceLock<Option<String>> = OnceLock::new();
    let find = || {
        // SAFETY: all zeros is a value of it.
        let mut found: libc::Dl_info = unsafe { std::mem::zeroed() };
        // SAFETY: an address of this code, and room for the answer.
        let known = unsafe { libc::dladdr(this_kc as *const c_void, &mut found) };
        if known == 0 || found.dli_fname.is_null() {
            return None;
        }
        // SAFETY: the loader's text, which lives as long as this code.
        let path = Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(found.dli_fname) }.to_bytes()));
        let about = fs::metadata(path).ok()?;
        let (size, time) = (about.len(), (about.mtime(), about.mtime_nsec()));
        Some(format!("kc {} {size} {time:?} {} {}", env!("CARGO_PKG_VERSION"), about.dev(), about.ino()))
    };
    THIS.get_or_init(find).as_deref()
}

/// The digits of a key, as they are in the name of a file.
fn is_key(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// Removes what was used longest ago, if there is too much, and what was never finished; files of
/// other names are not ours.
fn sweep(folder: &PrivateFolder, most: u64) {
    let Ok(files) = folder.files() else { return };
    let mut kept = Vec::new();
    for file in files {
        match file.name.split_once('.') {
            Some((key, SUFFIX)) if is_key(key) => kept.push((file.modified, file.bytes, file.name)),
            _ if file.name.starts_with(UNFINISHED) && file.modified.elapsed().is_ok_and(|age| age > LEFT_BEHIND) => {
                _ = folder.remove(&file.name);
            }
            _ => {}
        }
    }
    let mut bytes: u64 = kept.iter().map(|(_, size, _)| size).sum();
    if bytes <= most {
        return;
    }
    kept.sort();
    for (_, size, name) in kept {
        if bytes <= most / 2 {
            return;
        }
        if folder.remove(&name).is_ok() {
            bytes -= size;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::codegen::llvm::{Atomics, Cpu, Opt};
    use crate::ir::parse::parse;

    const HOW: HostOptions = HostOptions { checked: true, opt: Opt::Full, cpu: Cpu::Native, atomics: Atomics::Shared };

    fn open(folder: &tempfile::TempDir) -> PrivateFolder {
        PrivateFolder::open(folder.path()).expect("it is ours")
    }

    fn place(folder: &tempfile::TempDir, key: u8) -> ObjectPlace {
        ObjectPlace { folder: open(folder), key: [key; 32] }
    }

    fn path(folder: &tempfile::TempDir, place: &ObjectPlace) -> PathBuf {
        folder.path().join(place.name())
    }

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().expect("a folder")
    }

    #[test]
    fn what_is_not_whole_is_not_there() {
        let folder = folder();
        let (mine, other) = (place(&folder, 1), place(&folder, 2));
        assert_eq!(mine.read(), None);
        mine.write(b"code");
        assert_eq!(mine.read().as_deref(), Some(&b"code"[..]));
        assert_eq!(other.read(), None);
        let whole = fs::read(path(&folder, &mine)).expect("it was written");
        fs::write(path(&folder, &other), &whole).expect("a copy");
        assert_eq!(other.read(), None, "it is of another key");
        for n in 0..whole.len() {
            fs::write(path(&folder, &mine), &whole[..n]).expect("a part");
            assert_eq!(mine.read(), None, "the first {n} bytes");
            let mut changed = whole.clone();
            changed[n] ^= 1;
            fs::write(path(&folder, &mine), changed).expect("a change");
            assert_eq!(mine.read(), None, "byte {n}");
        }
    }

    #[test]
    fn what_was_used_last_stays() {
        let folder = folder();
        let places: Vec<ObjectPlace> = (0..8).map(|key| place(&folder, key)).collect();
        for (n, place) in places.iter().enumerate() {
            place.write(&[0; 1000]);
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(n as u64);
            fs::File::options()
                .append(true)
                .open(path(&folder, place))
                .and_then(|file| file.set_modified(time))
                .expect("ours");
        }
        assert!(places[0].read().is_some(), "the oldest is used");
        sweep(&open(&folder), 6000);
        let left: Vec<usize> = (0..8).filter(|&n| path(&folder, &places[n]).exists()).collect();
        assert_eq!(left, [0, 7]);
    }

    #[test]
    fn files_of_other_names_stay() {
        let folder = folder();
        let old = SystemTime::UNIX_EPOCH;
        let foreign = ["dpkg.new", "tree.object", "A.object", &format!("{}.object", "g".repeat(64))];
        for name in foreign.iter().copied().chain([".kc-object-1"]) {
            fs::write(folder.path().join(name), [0; 4000]).expect("a file");
            fs::File::options()
                .append(true)
                .open(folder.path().join(name))
                .and_then(|f| f.set_modified(old))
                .expect("ours");
        }
        sweep(&open(&folder), 1000);
        assert!(foreign.iter().all(|name| folder.path().join(name).exists()));
        assert!(!folder.path().join(".kc-object-1").exists());
    }

    #[test]
    fn the_key_has_all_that_code_depends_on() {
        let folder = folder();
        let text = |number: &str| {
            format!(
                "kernel @k(%x: array(dtype=float32)) rank 1 {{\n  %i: int32 = thread_index 0\n  \
                 %v: float32 = const {number}\n  store %x[%i], %v\n  return\n}}\n"
            )
        };
        let key = |number: &str, options: &HostOptions| {
            let module = parse(&text(number)).unwrap_or_else(|e| panic!("{e}"));
            let kernel = module.find("k").expect("the kernel");
            ObjectPlace::of(folder.path(), &module, kernel, options).expect("a place").key
        };
        assert_eq!(key("2.0", &HOW), key("2.0", &HOW));
        let others = [
            HostOptions { checked: false, ..HOW },
            HostOptions { opt: Opt::None, ..HOW },
            HostOptions { cpu: Cpu::V3, ..HOW },
            HostOptions { atomics: Atomics::Plain, ..HOW },
        ];
        let mut keys: Vec<[u8; 32]> = others.iter().map(|options| key("2.0", options)).collect();
        keys.extend([key("2.0", &HOW), key("3.0", &HOW)]);
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), others.len() + 2);
    }
}
