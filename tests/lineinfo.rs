//! PTX with source lines: the same instructions, each after the line that it comes from, accepted
//! by NVIDIA's assembler.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

fn ptx(source: &Path, more: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kc"));
    let output =
        command.args(["compile", "-o", "-", "--emit", "ptx"]).args(more).arg(source).output().expect("kc starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn is_directive(line: &str) -> bool {
    line.starts_with("\t.loc\t") || line.starts_with(".file\t")
}

#[test]
fn the_instructions_are_the_same() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    for name in ["saxpy", "nbody", "spmv", "reduction", "wave2d"] {
        let source = root.join(format!("examples/{name}.py"));
        for more in [&["--opt", "full"][..], &["--opt", "lean", "--no-backward"]] {
            let plain = ptx(&source, more);
            let lined = ptx(&source, &[more, &["--lineinfo"]].concat());
            let kept: Vec<&str> = lined.lines().filter(|line| !is_directive(line)).collect();
            // One blank line is before `.file`.
            let words = |lines: Vec<&str>| {
                lines.into_iter().filter(|line| !line.is_empty()).map(str::to_string).collect::<Vec<_>>()
            };
            assert_eq!(words(kept), words(plain.lines().collect()), "{name} {more:?}");
            assert_eq!(lined.matches(".file\t1 \"").count(), 1);
            let lines = std::fs::read_to_string(&source).expect("a source").lines().count();
            let places: Vec<usize> = lined
                .lines()
                .filter_map(|line| line.strip_prefix("\t.loc\t1 ")?.split(' ').next()?.parse().ok())
                .collect();
            assert!(places.len() >= 3 && places.iter().all(|&line| (1..=lines).contains(&line)), "{name}: {places:?}");
            assert!(places.windows(2).any(|pair| pair[0] != pair[1]), "{name}");
            common::assert_ptx(&lined, "sm_90");
            assert!(!plain.lines().any(is_directive));
        }
    }
}

#[test]
fn instructions_stand_after_their_lines() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("a \"b\\c.py");
    let text = "import warp as wp\n\n@wp.kernel\ndef k(x: wp.array(dtype=float), y: wp.array(dtype=float)):\n    i = wp.tid()\n    a = x[i]\n    b = wp.sqrt(a)\n    y[i] = b\n";
    std::fs::write(&source, text).expect("a file");
    let lined = ptx(&source, &["--lineinfo", "--no-backward", "--grid", "covering"]);
    common::assert_ptx(&lined, "sm_90");
    assert!(lined.contains("a 'b\\c.py\"\n"), "{lined}");
    let line_of = |instruction: &str| {
        let before = lined.split(instruction).next().expect("text");
        assert_ne!(before, lined, "{instruction} is missing in\n{lined}");
        before.rsplit(".loc\t1 ").next().and_then(|rest| rest.split(' ').next()).expect("a place").to_string()
    };
    assert_eq!(
        (line_of("ld.global").as_str(), line_of("sqrt.rn").as_str(), line_of("st.global").as_str()),
        ("6", "7", "8"),
        "{lined}"
    );
}

/// Names outside ASCII stay apart in CUDA text, and are valid there.
#[test]
fn letters_of_any_alphabet_can_be_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("k.py");
    let text = "import warp as wp\n\nα = 0.25\nβ = 0.75\nalpha = 3.0\n\n@wp.func\ndef größe(é: float, e: float) -> float:\n    return é - e * 2.0\n\n@wp.kernel\ndef k(x: wp.array(dtype=float), σ: float, sigma: float):\n    i = wp.tid()\n    Δt = x[i] * σ - sigma\n    变 = Δt * α + alpha\n    量 = größe(变, Δt) * β\n    x[i] = 量 + wp.sin(变) / 量\n";
    std::fs::write(&source, text).expect("a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_kc"));
    let output = command.args(["compile", "-o", "-", "--emit", "cuda"]).arg(&source).output().expect("kc starts");
    let cuda = String::from_utf8(output.stdout).expect("UTF-8");
    for word in ["float Deltat = ", "u53d8", "u91cf", "grosse(", "float sigma", "alpha", "beta"] {
        assert!(cuda.contains(word), "{word} is missing in\n{cuda}");
    }
    common::assert_cuda(&cuda, "sm_90");
    // In the order of the source, two names of one transcription are two names.
    assert!(cuda.contains("float sigma, float sigma_2") || cuda.contains("float sigma, float sigma_"), "{cuda}");
    let header = folder.path().join("k.h");
    let mut command = Command::new(env!("CARGO_BIN_EXE_kc"));
    let made = command.args(["compile", "-q", "-o"]).arg(&header).arg(&source).status().expect("kc starts");
    assert!(made.success());
    for compiler in [&["gcc", "-std=c11", "-x", "c"][..], &["g++", "-std=c++17", "-x", "c++"]] {
        let output = Command::new(compiler[0])
            .args(&compiler[1..])
            .args(["-fsyntax-only"])
            .arg(&header)
            .output()
            .expect("a compiler");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}
