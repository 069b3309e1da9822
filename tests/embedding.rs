//! Another program links kc's library: without the command line, its allocator and the CUDA driver,
//! and with an interface that its documentation explains.

#[path = "common/sample.rs"]
mod sample;

use std::process::{Command, Output};

/// Cargo in this package, without a network.
fn cargo(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO"));
    command.args(args).arg("--offline").current_dir(env!("CARGO_MANIFEST_DIR")).env("RUSTDOCFLAGS", "-D warnings");
    command.output().expect("cargo starts")
}

fn succeed(args: &[&str]) -> String {
    let output = cargo(args);
    assert!(output.status.success(), "cargo {args:?}:\n{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The names of the packages that a build with these options links.
fn linked(options: &[&str]) -> Vec<String> {
    let tree = succeed(&[&["tree", "--edges", "normal", "--prefix", "none"], options].concat());
    tree.lines().filter_map(|line| line.split(' ').next()).map(str::to_string).collect()
}

#[test]
fn the_library_links_neither_the_command_line_nor_an_allocator_nor_cuda() {
    const LEFT_OUT: &[&str] = &["clap", "mimalloc", "libmimalloc-sys", "cudarc", "lsp-server", "parquet"];
    let has = |all: &[String], name: &str| all.iter().any(|package| package == name);
    let library = linked(&["--package", "kc", "--no-default-features", "--features", "llvm-dynamic"]);
    let program = linked(&["--package", "embed_rust"]);
    let command = linked(&["--package", "kc"]);
    for all in [&library, &program, &command] {
        assert!(has(all, "kc") && has(all, "inkwell"), "{all:?}");
    }
    for name in LEFT_OUT {
        assert!(has(&command, name), "the command links {name}; is the list here out of date?");
        assert!(!has(&library, name), "the library links {name}");
        assert!(!has(&program, name), "a program with the library links {name}");
    }
}

/// Builds the library with the features of the example, which is how programs take it.
#[test]
fn the_example_runs() {
    let printed = succeed(&["run", "--quiet", "--package", "embed_rust"]);
    let misses: Vec<f32> =
        printed.lines().filter_map(|line| line.split("missed by ").nth(1)?.split(' ').next()?.parse().ok()).collect();
    let [first, .., last] = misses[..] else { panic!("{printed}") };
    assert!(first > 5.0 && last < 1e-3, "{printed}");
    // The feature `cuda` is off here.
    let left_out = "E1104: the device `cuda` is not available: kc was built without it (the feature `cuda`)";
    for words in [left_out, "E1101", "index 10000 is out of bounds", "throw.py:9", "v = velocity[i]"] {
        assert!(printed.contains(words), "{words} is missing in\n{printed}");
    }
}

/// Of the whole suite alone: it takes as long as a build.
#[test]
fn the_documentation_has_no_warnings() {
    if !sample::whole() {
        println!("left out; KC_TESTS=all runs it");
        return;
    }
    succeed(&["doc", "--quiet", "--no-deps", "--package", "kc"]);
}
