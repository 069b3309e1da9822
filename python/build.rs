//! What is linked into the wheel, so that it asks little of a system: the C++ library and zstd, where LLVM is linked in, too.

use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // Old systems have threads and loading in libraries of their own. They are asked for by their full names: newer ones have no
    // links to them.
    if cfg!(target_os = "linux") {
        println!(
            "cargo:rustc-cdylib-link-arg=-Wl,--push-state,--no-as-needed,-l:libpthread.so.0,-l:libdl.so.2,--pop-state"
        );
    }
    if std::env::var_os("CARGO_FEATURE_LLVM_STATIC").is_none() {
        return;
    }
    let folder = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("static");
    std::fs::create_dir_all(&folder).expect("OUT_DIR is writable");
    // A folder that is looked into first, with nothing but archives.
    let compiler = compiler();
    for name in ["libstdc++.a", "libzstd.a"] {
        let asked =
            Command::new(&compiler).arg(format!("-print-file-name={name}")).output().expect("a C compiler links");
        let archive = PathBuf::from(String::from_utf8_lossy(&asked.stdout).trim());
        assert!(archive.is_absolute(), "the C compiler has no {name}");
        let link = folder.join(name);
        if std::fs::read_link(&link).ok().as_ref() != Some(&archive) {
            let _ = std::fs::remove_file(&link);
            std::os::unix::fs::symlink(&archive, &link).expect("OUT_DIR is writable");
        }
    }
    println!("cargo:rustc-link-search=native={}", folder.display());
}

/// The C compiler for the processor that the wheel is for.
fn compiler() -> String {
    let target = std::env::var("TARGET").expect("cargo sets TARGET");
    if std::env::var("HOST").is_ok_and(|host| host == target) {
        return "cc".to_string();
    }
    let named = std::env::var(format!("CC_{}", target.replace('-', "_")));
    named.unwrap_or_else(|_| format!("{}-gcc", target.replace("-unknown", "")))
}
