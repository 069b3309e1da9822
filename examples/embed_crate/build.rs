//! Compiles src/heat.py to an object, and to the Rust source that calls it. `KC` names the program.

use std::path::PathBuf;
use std::process::Command;

fn main() {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    let kc = std::env::var_os("KC").unwrap_or_else(|| "kc".into());
    let mut command = Command::new(kc);
    command.args(["compile", "-q", "src/heat.py", "--emit", "obj,rust", "--checked", "--out-dir"]).arg(&out);
    assert!(command.status().expect("kc starts").success(), "kc found errors in src/heat.py");
    println!("cargo::rerun-if-changed=src/heat.py");
    println!("cargo::rerun-if-env-changed=KC");
    println!("cargo::rustc-link-arg={}", out.join("heat.o").display());
}
