//! The simulated CUDA driver, built once for the tests that load it or run programs on it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The library; the command `kc` finds it there too, beside itself.
pub fn library() -> &'static Path {
    static ONE: OnceLock<PathBuf> = OnceLock::new();
    ONE.get_or_init(|| {
        // By itself: the command's allocator has no place in a client's process.
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "--offline", "-p", "kc-libcuda"]);
        if !cfg!(debug_assertions) {
            cargo.arg("--release");
        }
        let output = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).output().expect("cargo starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        // Tests lie in a folder beside it.
        let test = std::env::current_exe().expect("this program");
        let folder = test.parent().and_then(Path::parent).expect("a folder");
        let library = folder.join("libkc_gpu.so");
        assert!(library.is_file(), "{} is not there", library.display());
        library
    })
}
