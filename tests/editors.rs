//! Real clients against the server: headless Neovim and pytest-lsp, from the private Python
//! environment.

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A program of the test environment.
fn installed(name: &str) -> PathBuf {
    let path = root().join(".env-test/bin").join(name);
    assert!(path.is_file(), "there is no {name} in .env-test: run `scripts/setup.sh test`");
    path
}

fn must_pass(command: &mut Command, sign: &str) {
    let cache = std::env::temp_dir().join("kc-editors-test");
    let output = command.env("XDG_CACHE_HOME", cache).output().expect("the client runs");
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && said.contains(sign), "{said}");
}

#[test]
fn neovim() {
    let nvim = installed("nvim");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("kernels.py");
    std::fs::copy(root().join("tests/editors/kernels.py"), &file).expect("a copy");
    let mut command = Command::new(nvim);
    command.args(["--clean", "--headless", "-l", "tests/editors/neovim.lua", env!("CARGO_BIN_EXE_kc")]);
    must_pass(command.arg(&file).current_dir(root()), "all ok");
}

#[test]
fn pytest_lsp() {
    let pytest = installed("pytest");
    let mut command = Command::new(pytest);
    command.args(["-q", "-p", "no:cacheprovider", "test_session.py"]).env("KC", env!("CARGO_BIN_EXE_kc"));
    must_pass(command.current_dir(root().join("tests/editors")), " passed");
}
