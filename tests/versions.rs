//! Objects for `--cpu auto` hold a version of each entry for each level of x86-64, and a program
//! runs the best that its machine has: all levels compute the same bits, whoever asks first, in
//! programs and libraries of any kind.
#![cfg(target_arch = "x86_64")]

#[path = "common/process.rs"]
mod process;

use std::path::{Path, PathBuf};
use std::process::Command;

use process::run;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/versions");

/// Object, header and description of a file of kernels.
fn compiled(source: &Path, flags: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut kc = Command::new(env!("CARGO_BIN_EXE_kc"));
    run(kc.arg("compile").arg(source).args(["--emit", "obj,header,meta", "-q", "-o"]).arg(folder.path()).args(flags));
    folder
}

fn kernels(flags: &[&str]) -> tempfile::TempDir {
    compiled(&Path::new(FOLDER).join("kernels.py"), flags)
}

/// The program of the folder with an object.
fn program(folder: &Path, flags: &[&str]) -> PathBuf {
    let path = folder.join("program");
    let mut cpp = Command::new("c++");
    cpp.args(["-std=c++17", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-pthread"]).args(flags);
    cpp.arg("-I").arg(folder).arg(Path::new(FOLDER).join("main.cpp")).arg(folder.join("kernels.o"));
    run(cpp.arg("-lm").arg("-o").arg(&path));
    path
}

/// The best level of this machine, asked in another way.
fn best() -> u32 {
    let third = is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("f16c")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("movbe");
    let fourth = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512cd")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl");
    2 + u32::from(third) + u32::from(third && fourth)
}

#[test]
fn all_levels_compute_the_same() {
    let checked = kernels(&["--cpu", "auto", "--checked", "--export"]);
    let said = run(&mut Command::new(program(checked.path(), &["-DCHECKED"])));
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 6, "{said}");
    let best = best();
    for (level, line) in lines.iter().enumerate() {
        let used = if level == 0 { best } else { (level as u32).clamp(2, best) };
        let same = lines[0].split_once(' ').and_then(|(_, rest)| rest.split_once(' ')).expect("three columns").1;
        assert_eq!(*line, format!("{level} {used} {same}"), "{said}");
        assert!(
            line.contains(
                ": index -2000 is out of bounds for dimension 0 of `x`, which has extent 1003, in thread 700"
            ),
            "{said}"
        );
    }
    // As an object for the least of all processors has it.
    let hash = |text: &str| text.split_whitespace().nth(2).map(str::to_string);
    let auto = kernels(&["--cpu", "auto"]);
    let said = run(&mut Command::new(program(auto.path(), &[])));
    assert!(said.lines().all(|line| hash(line) == hash(lines[0])), "{said}");

    // The first calls of eight threads, in a program that is linked statically.
    let said = run(Command::new(program(auto.path(), &["-static"])).arg("threads"));
    assert!(said.lines().count() == 8 && said.lines().all(|line| Some(line.to_string()) == hash(lines[0])), "{said}");
}

/// Each version has the registers of its level, and no other; callers see one entry, and one
/// header.
#[test]
fn each_version_is_of_its_level() {
    let auto = kernels(&["--cpu", "auto"]);
    let text = run(Command::new("objdump").args(["-d", "--no-show-raw-insn"]).arg(auto.path().join("kernels.o")));
    let functions: Vec<(&str, &str)> = text
        .split("\n\n")
        .filter_map(|part| {
            let (head, code) = part.trim_start().split_once(">:\n")?;
            Some((head.split_once('<')?.1, code))
        })
        .collect();
    let of =
        |level: &str| -> Vec<&(&str, &str)> { functions.iter().filter(|(name, _)| name.ends_with(level)).collect() };
    let uses = |level: &str, register: &str| of(level).iter().any(|(_, code)| code.contains(register));
    for level in [".x86-64-v2", ".x86-64-v3", ".x86-64-v4"] {
        for entry in ["blend_cpu_kernel_forward", "blend_cpu_kernel_backward", "total_cpu_kernel_forward_alone"] {
            assert!(of(level).iter().any(|(name, _)| *name == format!("{entry}{level}")), "{entry}{level}");
        }
    }
    assert!(uses(".x86-64-v4", "%zmm") && uses(".x86-64-v3", "%ymm") && uses(".x86-64-v2", "%xmm"));
    assert!(!uses(".x86-64-v3", "%zmm") && !uses(".x86-64-v3", "%k1") && !uses(".x86-64-v2", "%ymm"));
    // AVX-512 multiplies by a power of two in one instruction, as an exponential does at its end.
    assert!(uses(".x86-64-v4", "vscalef") && !uses(".x86-64-v3", "vscalef"));
    // What is not of a version runs anywhere.
    for (name, code) in functions.iter().filter(|(name, _)| !name.contains(".x86-64-v")) {
        assert!(!code.contains("%ymm") && !code.contains("%zmm"), "{name}:\n{code}");
    }

    let symbols = run(Command::new("nm").args(["--defined-only", "-g"]).arg(auto.path().join("kernels.o")));
    let mut symbols: Vec<&str> =
        symbols.lines().filter_map(|line| line.split_once(' ')?.1.split_once(' ').map(|s| s.1)).collect();
    symbols.sort_unstable();
    let one = kernels(&["--cpu", "x86-64-v3"]);
    let plain = run(Command::new("nm").args(["--defined-only", "-g"]).arg(one.path().join("kernels.o")));
    let mut expected: Vec<&str> =
        plain.lines().filter_map(|line| line.split_once(' ')?.1.split_once(' ').map(|s| s.1)).collect();
    expected.extend(["kc_cpu_level", "kc_cpu_use"]);
    expected.sort_unstable();
    assert_eq!(symbols, expected);

    let read = |folder: &tempfile::TempDir, name: &str| std::fs::read_to_string(folder.path().join(name)).expect(name);
    assert_eq!(read(&auto, "kernels.h"), read(&one, "kernels.h"));
    let description =
        |folder| -> serde_json::Value { serde_json::from_str(&read(folder, "kernels.json")).expect("JSON") };
    assert_eq!(description(&auto)["processors"], serde_json::json!(["x86-64-v2", "x86-64-v3", "x86-64-v4"]));
    assert_eq!(description(&one)["processors"], serde_json::Value::Null);
}

/// Two objects in one program share what `kc_cpu_use` says; a shared library works; and so does a
/// program in Rust.
#[test]
fn objects_share_the_level() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let wave = compiled(&root.join("examples/wave2d.py"), &["--cpu", "auto", "--checked", "--export"]);
    let (object, program) = (wave.path().join("wave2d.o"), wave.path().join("program"));
    let example = |name: &str| root.join("examples/embed_native").join(name);
    let link = format!("link-arg={}", object.display());
    run(Command::new("rustc").args(["--edition", "2024", "-C", &link, "-o"]).arg(&program).arg(example("main.rs")));
    let said = run(&mut Command::new(&program));
    assert!(said.starts_with("sum 1.0000"), "{said}");

    let library = wave.path().join("wave2d.so");
    run(Command::new("cc")
        .args(["-shared", "-Wl,--no-undefined", "-Wl,-z,text"])
        .arg(&object)
        .arg("-lm")
        .arg("-o")
        .arg(&library));
    let mut python = Command::new("python3");
    assert_eq!(run(python.arg(example("main.py")).arg(&library).arg(wave.path().join("wave2d.json"))), said);

    let saxpy = compiled(&root.join("examples/saxpy.py"), &["--cpu", "auto"]);
    let text = r#"
#include "saxpy.h"
#include "wave2d.h"
extern unsigned kc_cpu_use(unsigned level);
extern unsigned kc_cpu_level;
int main(void)
{
    float x[20], y[20];
    const int64_t n = 20;
    saxpy_args args = {0};
    kc_launch_bounds launch;
    for (int i = 0; i < 20; ++i) x[i] = (float)i, y[i] = 1.0f;
    if (kc_cpu_use(2) != 2 || kc_cpu_level != 2) return 1;
    args.a = 2.0f;
    if (!kc_array_of(&args.x, x, 4, 1, &n) || !kc_array_of(&args.y, y, 4, 1, &n) || !kc_launch_of(&launch, 1, &n)) return 2;
    saxpy_cpu_launch(&launch, &args, NULL, 1, NULL, NULL);
    printf("%g %g %u\n", (double)y[0], (double)y[19], kc_cpu_level);
    (void)step_cpu_launch, (void)step_backward_cpu_launch;
    return 0;
}
"#;
    let source = wave.path().join("both.c");
    std::fs::write(&source, text).expect("a file");
    let mut c = Command::new("cc");
    c.args(["-std=c11", "-O1", "-I"]).arg(saxpy.path()).arg("-I").arg(wave.path()).arg(&source);
    run(c.arg(&object).arg(saxpy.path().join("saxpy.o")).arg("-lm").arg("-o").arg(&program));
    assert_eq!(run(&mut Command::new(&program)), "1 39 2\n");
}
