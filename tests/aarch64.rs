//! Objects for aarch64: well-formed, with vectors of four floats, and with the results of those for
//! x86-64, entry by entry and bit by bit, where this machine can run them: with `qemu-aarch64` and
//! the distribution's C compiler for it (`scripts/setup.sh aarch64`).

#[path = "common/process.rs"]
mod process;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use process::run;

use serde_json::Value;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Object, header and description of a file of kernels, all named `k`.
fn compiled(source: &Path, flags: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let kernels = folder.path().join("k.py");
    std::fs::copy(source, &kernels).expect("a copy");
    let mut kc = Command::new(env!("CARGO_BIN_EXE_kc"));
    run(kc.arg("compile").arg(kernels).args(["--emit", "obj,header,meta", "-q", "-o"]).arg(folder.path()).args(flags));
    folder
}

/// A tool of the LLVM that kc is built with.
fn llvm(tool: &str) -> Command {
    let prefix = std::env::var("LLVM_SYS_221_PREFIX").unwrap_or_else(|_| "/usr/lib/llvm-22".to_string());
    Command::new(Path::new(&prefix).join("bin").join(tool))
}

/// The table of a file's entries for `driver.c`; None: there is an argument that it has no numbers
/// for.
fn table(description: &Value) -> String {
    let mut entries = Vec::new();
    let mut text = String::from(
        "#include \"k.h\"\n\
         struct param { size_t offset; char scalar, role; int scalars, ndim; };\n\
         struct entry { const char *name; void (*call)(const kc_launch_bounds *, const void *, uint64_t, uint64_t, kc_status *);\n\
         int rank, count; size_t size; const struct param *params; };\n",
    );
    for kernel in description["kernels"].as_array().expect("kernels") {
        for (phase, entry) in kernel["entries"].as_object().expect("entries") {
            let mut params = Vec::new();
            let whole = entry["params"].as_array().expect("parameters");
            // Buffers of tapes are the caller's business, and tested elsewhere.
            let complete = entry.get("tape").is_none()
                && whole.iter().all(|param| {
                    let role = if param["role"] == "argument" { 'a' } else { '-' };
                    flat(param, 0, role, &description["structs"], &mut params)
                });
            if !complete {
                continue;
            }
            let name = entry["cpu"].as_str().expect("a name");
            let _ = writeln!(text, "static const struct param {name}_params[] = {{{}{{0}}}};", params.concat());
            let (rank, size) = (kernel["rank"].as_u64().expect("a rank").max(1), &entry["args_size"]);
            let call =
                format!("(void (*)(const kc_launch_bounds *, const void *, uint64_t, uint64_t, kc_status *)){name}");
            let count = params.len();
            entries.push(format!("{{\"{phase} {name}\", {call}, {rank}, {count}, {size}, {name}_params}},\n"));
        }
    }
    assert!(!entries.is_empty(), "{description:#}");
    let _ = write!(text, "static const struct entry entries[] = {{\n{}}};\n", entries.concat());
    text
}

/// The numbers and arrays of a parameter; false: it has an array of structs.
fn flat(member: &Value, base: u64, role: char, structs: &Value, out: &mut Vec<String>) -> bool {
    let (dtype, offset) = (&member["dtype"], base + member["offset"].as_u64().expect("an offset"));
    let ndim = member["ndim"].as_u64().unwrap_or(0);
    if dtype["class"] == "struct" {
        let fields = structs[dtype["name"].as_str().expect("a name")]["fields"].as_array().expect("fields");
        return ndim == 0 && fields.iter().all(|field| flat(field, offset, role, structs, out));
    }
    let scalar = match dtype["scalar"].as_str().expect("a scalar") {
        "float32" => 'f',
        "float64" => 'd',
        "float16" => 'e',
        "bfloat16" => 'g',
        "int64" => 'l',
        "uint64" => 'L',
        "int32" => 'i',
        "uint32" => 'I',
        "int16" => 'h',
        "uint16" => 'H',
        "int8" => 'b',
        "uint8" => 'B',
        "bool" => '?',
        other => panic!("{other}"),
    };
    let scalars: u64 = dtype["shape"].as_array().map_or(1, |shape| shape.iter().filter_map(Value::as_u64).product());
    out.push(format!("{{{offset}, '{scalar}', '{role}', {scalars}, {ndim}}}, "));
    true
}

/// Builds the driver for the kernels of a folder.
fn program(folder: &Path, compiler: &str, flags: &[&str]) -> PathBuf {
    let text = std::fs::read_to_string(folder.join("k.json")).expect("the description");
    let description = serde_json::from_str(&text).expect("JSON");
    std::fs::write(folder.join("entries.h"), table(&description)).expect("a file");
    let program = folder.join("program");
    let mut cc = Command::new(compiler);
    cc.args(["-std=gnu11", "-O1", "-Wno-unused-function", "-I"]).arg(folder).args(flags);
    run(cc
        .arg(Path::new(ROOT).join("tests/aarch64/driver.c"))
        .arg(folder.join("k.o"))
        .arg("-lm")
        .arg("-o")
        .arg(&program));
    program
}

/// What runs programs for aarch64, if that is there.
fn emulator() -> Option<&'static str> {
    if cfg!(target_arch = "aarch64") {
        return Some("env");
    }
    let starts = |name: &str| Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success());
    let emulator = ["qemu-aarch64", "qemu-aarch64-static"].into_iter().find(|name| starts(name))?;
    starts("aarch64-linux-gnu-gcc").then_some(emulator)
}

/// Some of the files with kernels, or with `KC_AARCH64=all` all of them, which takes minutes.
fn sources() -> Vec<PathBuf> {
    const SOME: [&str; 6] = ["kernels", "vectors", "scalars", "nans", "atomics", "mass_spring"];
    let all = std::env::var_os("KC_AARCH64").is_some_and(|value| value == "all");
    let wanted = |path: &PathBuf| all || SOME.iter().any(|name| path.file_stem().is_some_and(|stem| stem == *name));
    let mut found: Vec<PathBuf> = ["examples", "tests/run", "tests/versions"]
        .iter()
        .flat_map(|folder| std::fs::read_dir(Path::new(ROOT).join(folder)).expect(folder).flatten())
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "py") && wanted(path))
        .collect();
    found.sort();
    found
}

#[test]
fn objects_are_of_aarch64() {
    let source = Path::new(ROOT).join("tests/versions/kernels.py");
    for cpu in ["aarch64", "neoverse-n1", "apple-m1"] {
        let folder = compiled(&source, &["--cpu", cpu, "--checked"]);
        let object = folder.path().join("k.o");
        let bytes = std::fs::read(&object).expect("the object");
        // EM_AARCH64, of the System V ABI's ELF header.
        assert_eq!(bytes[18..20], 183u16.to_le_bytes(), "{cpu}");
        let text = run(llvm("llvm-objdump").args(["-d", "--no-show-raw-insn"]).arg(&object));
        assert!(!text.contains("<unknown>"), "{cpu}");
        assert!(text.contains(".4s,") && text.contains("\tfsqrt\t"), "{cpu}\n{text}");
        let symbols = run(llvm("llvm-nm").arg("--undefined-only").arg(&object));
        for symbol in symbols.split_whitespace().filter(|word| *word != "U") {
            let known = ["memset", "memcpy", "snprintf", "printf", "fflush", "stdout", "fma", "fmaf"];
            assert!(known.contains(&symbol), "{cpu} needs {symbol}");
        }
    }
    let plan = run(Command::new(env!("CARGO_BIN_EXE_kc"))
        .args(["compile", "--emit", "plan", "--cpu", "neoverse-n1", "-o", "-"])
        .arg(Path::new(ROOT).join("examples/saxpy.py")));
    assert!(plan.contains("lanes: 4, in vectors of 128 bits"), "{plan}");
}

#[test]
fn results_are_those_of_x86_64() {
    let Some(emulator) = emulator() else {
        println!("left out: no qemu-aarch64 and C compiler for aarch64 (scripts/setup.sh aarch64)");
        return;
    };
    let (mut same, mut faults) = (0, Vec::new());
    for source in sources() {
        let of = |cpu: &str, compiler: &str, emulator: &str, flags: &[&str]| {
            let folder = compiled(&source, &["--cpu", cpu, "--checked"]);
            run(Command::new(emulator).arg(program(folder.path(), compiler, flags)))
        };
        let found = of("aarch64", "aarch64-linux-gnu-gcc", emulator, &["-static"]);
        let expected = of("x86-64", "cc", "env", &[]);
        for (expected, found) in expected.lines().zip(found.lines()) {
            if [expected, found].iter().any(|line| line.ends_with(": no end")) {
                continue;
            }
            if expected == found {
                same += 1;
            } else {
                faults.push(format!("{}:\n  x86-64  {expected}\n  aarch64 {found}", source.display()));
            }
        }
        assert_eq!(expected.lines().count(), found.lines().count(), "{}", source.display());
    }
    assert!(faults.is_empty(), "{} of {}:\n{}", faults.len(), same + faults.len(), faults.join("\n"));
    assert!(same >= 40, "{same} entries");
}
