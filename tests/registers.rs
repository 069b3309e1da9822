//! Without ptxas, registers are told as a range: does ptxas' own number lie in it?

mod common;

use std::path::Path;
use std::process::Command;

use kc::profile::Registers;

/// Of the kernels of the examples and of the run and gradient tests, with their gradients: so many of a hundred.
const INSIDE: usize = 95;

#[test]
fn the_range_holds_what_ptxas_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().expect("a folder");
    let (mut inside, mut all, mut wide) = (0, 0, Vec::new());
    for source in ["examples", "tests/run", "tests/gradients"] {
        let files = std::fs::read_dir(root.join(source)).expect("a folder").map(|file| file.expect("a file").path());
        for file in files.filter(|file| file.extension().is_some_and(|e| e == "py")) {
            let mut command = Command::new(env!("CARGO_BIN_EXE_kc"));
            command.args(["compile", "--emit", "ptx", "--grid", "covering", "-o"]).arg(folder.path()).arg(&file);
            command.output().expect("kc runs");
            let made = folder.path().join(file.file_name().expect("a name")).with_extension("ptx");
            let Ok(text) = std::fs::read_to_string(made) else { continue };
            let parsed = kc::ptx::parse(&text).expect("PTX");
            for (entry, registers) in common::registers(&text, "sm_90") {
                let live = kc::ptx::live(&parsed, &entry).expect("a body");
                let Registers::Between(least, most) = Registers::of(live) else { panic!("a range") };
                all += 1;
                inside += usize::from((least..=most).contains(&registers));
                wide.push(f64::from(most) / f64::from(least));
            }
        }
    }
    wide.sort_by(f64::total_cmp);
    println!("{inside} of {all}; in the middle the most is {:.1} times the least", wide[wide.len() / 2]);
    assert!(all > 200 && inside * 100 >= all * INSIDE, "{inside} of {all}");
}
