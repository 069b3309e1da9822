//! `--deterministic` on a GPU: sums of floats, and what atomics give, are those of the threads one
//! after the other, in whatever order blocks run.

#[path = "common/gpu.rs"]
mod gpu;

use std::path::Path;
use std::process::{Command, Output};

const KERNELS: &str = "\
import warp as wp

@wp.kernel
def total(x: wp.array(dtype=float), s: wp.array(dtype=float), old: wp.array(dtype=float)):
    i = wp.tid()
    old[i] = wp.atomic_add(s, 0, x[i])

@wp.kernel
def tiled(x: wp.array(dtype=float), s: wp.array(dtype=float)):
    i = wp.tid()
    wp.tile_atomic_add(s, wp.tile_load(x, shape=64, offset=64 * i))
";

const TOTAL: [&str; 11] = [
    "-k",
    "total",
    "--dim",
    "600",
    "--arg",
    "x=random:3:600",
    "--arg",
    "s=zeros:1",
    "--arg",
    "old=zeros:600",
    "--out-dir",
];

fn kc(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_kc")).current_dir(folder).args(args).output().expect("kc starts")
}

/// What a launch on the simulated driver leaves, with blocks and warps in the order of a seed.
fn left(folder: &Path, seed: &str, more: &[&str]) -> Vec<u8> {
    let run = ["gpu", "--seed", seed, env!("CARGO_BIN_EXE_kc"), "run", "k.py", "--device", "cuda"];
    result(folder, seed, &[&run, more].concat())
}

fn result(folder: &Path, name: &str, run: &[&str]) -> Vec<u8> {
    let said = kc(folder, &[run, &TOTAL, &[name]].concat());
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    let mut files = std::fs::read_dir(folder.join(name)).expect("a folder").map(|file| file.expect("a file").path());
    let npz = files.find(|path| path.extension().is_some_and(|extension| extension == "npz")).expect("results");
    let mut arrays = kc::run::files::npz::Npz::open(&npz, None).expect("results");
    ["s", "old"].map(|array| arrays.read(array, |_| Ok(())).expect("the array").bytes).concat()
}

#[test]
fn sums_are_those_of_one_thread_after_the_other() {
    gpu::library();
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    std::fs::write(folder.join("k.py"), KERNELS).expect("the kernels");
    let one = left(folder, "1", &[]);
    assert!((2..5).any(|seed| left(folder, &seed.to_string(), &[]) != one), "the test shows nothing");
    let host = result(folder, "host", &["run", "k.py", "--deterministic"]);
    for seed in ["1", "2", "3"] {
        assert_eq!(left(folder, seed, &["--deterministic"]), host, "{seed}");
    }
    // The threads of a block share what tiles are.
    let tiled = ["-k", "tiled", "--dim", "4,64", "--deterministic", "--arg", "x=ones:256", "--arg", "s=zeros:64"];
    let run = ["gpu", env!("CARGO_BIN_EXE_kc"), "run", "k.py", "--device", "cuda"];
    let said = String::from_utf8_lossy(&kc(folder, &[&run[..], &tiled].concat()).stderr).into_owned();
    assert!(said.contains("the atomics of kernel `tiled` show the order of its threads"), "{said}");
}
