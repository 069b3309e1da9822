//! Every example and run test, compiled: PTX goes through ptxas, CUDA text through NVRTC without
//! include paths, headers through the C and C++ compilers, objects and descriptions through their
//! own readers. A sample of them, unless one is named or `KC_TESTS=all`.

mod common;
#[path = "common/sample.rs"]
mod sample;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use libtest_mimic::{Arguments, Failed, Trial};

/// The oldest and the newest architecture. Lean texts differ little between them, and CUDA text not
/// at all.
const ENDS: [&str; 2] = ["sm_75", "sm_120"];

/// Examples are compiled for every architecture that a test looks at, what only tests run for
/// fewer: ptxas and NVRTC are slow.
fn is_example(file: &Path) -> bool {
    file.parent().is_some_and(|folder| folder.ends_with("examples"))
}

type Outcome = Result<(), Failed>;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let whole = sample::whole() || arguments.filter.is_some();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut trials = Vec::new();
    for folder in ["examples", "tests/run"] {
        let entries = std::fs::read_dir(root.join(folder)).expect("the folder is there");
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
        files.retain(|path| path.extension().is_some_and(|extension| extension == "py"));
        files.sort();
        assert!(!files.is_empty(), "{folder} is empty");
        for (n, file) in files.into_iter().enumerate() {
            let name = format!("{folder}/{}", file.file_name().unwrap_or_default().to_string_lossy());
            let kinds: [(&str, fn(&Path) -> Outcome); 6] =
                [("header", header), ("object", object), ("ptx", ptx), ("cuda", cuda), ("ir", ir), ("lines", lines)];
            // Of the sample each file has one kind, and each kind one file in six.
            let wanted = |at: usize| whole || (n + at).is_multiple_of(6);
            for (_, (kind, test)) in kinds.into_iter().enumerate().filter(|(at, _)| wanted(*at)) {
                let file = file.clone();
                trials.push(Trial::test(format!("{name} {kind}"), move || test(&file)));
            }
        }
    }
    let native = root.join("tests/native/texts.py");
    let tests: [(&str, fn(&Path) -> Outcome); 3] = [("cuda", cuda), ("header", header), ("refused", refused)];
    for (kind, test) in tests {
        let file = native.clone();
        trials.push(Trial::test(format!("tests/native/texts.py {kind}"), move || test(&file)));
    }
    trials.push(Trial::test("many kernels ptx", many_kernels));
    trials.push(Trial::test("many deep kernels ptx", many_deep_kernels));
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// CUDA text cannot become PTX or an object, and does not run.
fn refused(file: &Path) -> Outcome {
    let arguments: [&[&str]; 4] = [
        &["compile", "--emit", "ptx", "-o", "-"],
        &["compile", "--emit", "obj", "-o", "-"],
        &["run", "-k", "k2", "--dim", "2", "--arg", "x=ones:int32:2", "--arg", "out=zeros:int32:2"],
        &[
            "run",
            "-k",
            "k2",
            "--dim",
            "2",
            "--arg",
            "x=ones:int32:2",
            "--arg",
            "out=zeros:int32:2",
            "--device",
            "interp",
        ],
    ];
    for args in arguments {
        let output = Command::new(env!("CARGO_BIN_EXE_kc")).arg(args[0]).arg(file).args(&args[1..]).output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        if output.status.success() || !said.contains("error[E0821]") {
            return Err(format!("{args:?} is not refused:\n{said}").into());
        }
    }
    Ok(())
}

/// Compiles a file into a new folder.
fn compile(file: &Path, args: &[&str]) -> Result<tempfile::TempDir, Failed> {
    let folder = tempfile::tempdir()?;
    let output = Command::new(env!("CARGO_BIN_EXE_kc"))
        .arg("compile")
        .arg(file)
        .args(args)
        .arg("-o")
        .arg(folder.path())
        .output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    let mut errors = said.lines().filter(|line| line.contains("error["));
    match output.status.code() {
        Some(0) => Ok(folder),
        // A kernel whose gradient is refused still has its forward entry.
        Some(1) if said.contains("error[") && errors.all(|line| line.contains("error[E06")) => Ok(folder),
        code => Err(format!("kc: exit {code:?}\n{}", String::from_utf8_lossy(&output.stderr)).into()),
    }
}

fn result(folder: &tempfile::TempDir, file: &Path, suffix: &str) -> PathBuf {
    folder.path().join(format!("{}.{suffix}", file.file_stem().unwrap_or_default().to_string_lossy()))
}

fn run(command: &mut Command) -> Outcome {
    let output = command.output()?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("{command:?}:\n{}", String::from_utf8_lossy(&output.stderr)).into()),
    }
}

/// With the origin of its lines a text is the same text, and lines of kernels do come from lines of
/// the source.
fn lines(file: &Path) -> Outcome {
    let source = std::fs::read_to_string(file)?;
    for emit in ["ptx", "cuda", "ir"] {
        let print = |more: &[&str]| -> Result<Vec<u8>, Failed> {
            let args = ["compile", "--opt", "lean", "-o", "-", "--emit", emit];
            Ok(Command::new(env!("CARGO_BIN_EXE_kc")).args(args).args(more).arg(file).output()?.stdout)
        };
        let plain = String::from_utf8(print(&[])?)?;
        let lined: serde_json::Value = serde_json::from_slice(&print(&["--lines"])?)?;
        let text = lined["text"].as_str().unwrap_or_default();
        if let Some((a, b)) = plain.lines().zip(text.lines()).find(|(a, b)| a != b) {
            return Err(format!("{emit}: `{a}` has become `{b}`").into());
        }
        let from: Vec<Vec<usize>> = serde_json::from_value(lined["lines"].clone())?;
        if plain.lines().count() != text.lines().count() || from.len() != text.lines().count() {
            return Err(format!("{emit}: another number of lines").into());
        }
        let last = source.lines().count();
        if from.iter().flatten().any(|&line| line == 0 || line > last) {
            return Err(format!("{emit}: a line that the source does not have").into());
        }
        // Most of what is no frame: instructions, statements.
        let code = |line: &&str| line.starts_with([' ', '\t']) && line.trim_end().ends_with([';', '{']) || emit == "ir";
        let (all, placed) = text
            .lines()
            .zip(&from)
            .filter(|(line, _)| code(line))
            .fold((0, 0), |(all, placed), (_, from)| (all + 1, placed + usize::from(!from.is_empty())));
        if placed == 0 {
            return Err(format!("{emit}: none of {all} lines has an origin").into());
        }
    }
    Ok(())
}

/// Of the sample, full texts for one end and lean ones for the other; which one depends on the
/// name.
fn ptx(file: &Path) -> Outcome {
    let first = file.file_name().map_or(0, |name| name.len()) % 2;
    let (full, lean) = match (sample::whole(), is_example(file)) {
        (true, true) => (&common::ARCHITECTURES[..], &ENDS[..]),
        (true, false) => (&ENDS[..], &ENDS[..]),
        (false, _) => (&ENDS[first..=first], &ENDS[1 - first..=1 - first]),
    };
    for (opt, archs) in [("full", full), ("lean", lean)] {
        let folder = compile(file, &["--emit", "ptx", "--arch", &archs.join(","), "--opt", opt])?;
        for arch in archs {
            // A file names its architecture beside others.
            let suffix = if archs.len() == 1 { "ptx".to_string() } else { format!("{arch}.ptx") };
            let text = std::fs::read_to_string(result(&folder, file, &suffix))?;
            common::assemble_ptx(&text, arch).map_err(|log| format!("{arch}, {opt}: {log}\n{text}"))?;
        }
    }
    Ok(())
}

/// More kernels than one LLVM module takes, which share texts and a function too large to be
/// inlined: the text is whole, and the same whatever the number of threads.
fn many_kernels() -> Outcome {
    let mut source =
        String::from("import warp as wp\n\n@wp.func\ndef f0(x: float):\n    return wp.sin(x) * wp.cos(x)\n");
    for n in 1..12 {
        source += &format!("\n@wp.func\ndef f{n}(x: float):\n    return f{}(x) + f{}(x * 0.5)\n", n - 1, n - 1);
    }
    for n in 0..20 {
        source += &format!(
            "\n@wp.kernel\ndef k{n}(a: wp.array(dtype=float)):\n    i = wp.tid()\n    assert a[i] > 0.0, \"positive\"\n    \
             wp.printf(\"%d\\n\", i)\n    a[i] = f11(a[i]) + float({n})\n"
        );
    }
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("many.py");
    std::fs::write(&file, source)?;
    for opt in ["full", "lean"] {
        let text = |threads: &str| -> Result<String, Failed> {
            let mut command = Command::new(env!("CARGO_BIN_EXE_kc"));
            command.arg("compile").arg(&file).args(["--emit", "ptx", "--arch", "sm_90", "--opt", opt, "-o", "-"]);
            let output = command.env("RAYON_NUM_THREADS", threads).output()?;
            match output.status.success() {
                true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
                false => Err(String::from_utf8_lossy(&output.stderr).into_owned().into()),
            }
        };
        let ptx = text("2")?;
        if ptx != text("1")? {
            return Err(format!("{opt}: the text depends on the number of threads").into());
        }
        let missing = (0..20).find(|n| !ptx.contains(&format!(".entry k{n}_cuda_kernel_backward(")));
        if missing.is_some() || ptx.matches("f11_func(").count() < 2 || ptx.matches(".entry").count() < 40 {
            return Err(format!("{opt}: not whole: {missing:?}\n{ptx}").into());
        }
        common::assemble_ptx(&ptx, "sm_90").map_err(|log| format!("{opt}: {log}"))?;
    }
    Ok(())
}

/// More kernels than one LLVM module takes, each of which nests deeper than a small stack allows.
fn many_deep_kernels() -> Outcome {
    let mut source = String::from("import warp as wp\n");
    for n in 0..17 {
        source += &format!(
            "\n@wp.kernel\ndef k{n}(a: wp.array(dtype=float)):\n    x = a[wp.tid()]\n    if x < 0.0:\n        a[0] = x\n"
        );
        let depth = if n == 8 { 1500 } else { 2 };
        (0..depth).for_each(|d| source += &format!("    elif x < {d}.0:\n        a[{d}] = x\n"));
    }
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("deep.py");
    std::fs::write(&file, source)?;
    let output = compile(&file, &["--emit", "ptx", "--arch", "sm_90", "--opt", "lean", "--no-backward"])?;
    let text = std::fs::read_to_string(result(&output, &file, "ptx"))?;
    match text.matches(".entry").count() {
        17 => Ok(()),
        count => Err(format!("{count} entries of 17").into()),
    }
}

fn cuda(file: &Path) -> Outcome {
    let folder = compile(file, &["--emit", "cuda"])?;
    let text = std::fs::read_to_string(result(&folder, file, "cu"))?;
    for arch in if is_example(file) && sample::whole() { &ENDS[..] } else { &ENDS[..1] } {
        common::compile_cuda(&text, arch).map_err(|log| format!("{arch}: {log}\n{text}"))?;
    }
    Ok(())
}

/// The header in C and in C++, with all warnings, and beside the metadata.
fn header(file: &Path) -> Outcome {
    let folder = compile(file, &["--emit", "header,meta"])?;
    let path = result(&folder, file, "h");
    let strict = ["-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-include"];
    run(Command::new("cc").args(["-x", "c", "-std=c11"]).args(strict).arg(&path).arg("/dev/null"))?;
    run(Command::new("cc").args(["-x", "c++", "-std=c++17"]).args(strict).arg(&path).arg("/dev/null"))?;
    let metadata = std::fs::read_to_string(result(&folder, file, "json"))?;
    let metadata: serde_json::Value = serde_json::from_str(&metadata).map_err(|error| error.to_string())?;
    match metadata["kernels"].as_array().is_some_and(|kernels| !kernels.is_empty()) {
        true => Ok(()),
        false => Err(format!("no kernels in the metadata:\n{metadata:#}").into()),
    }
}

/// The object links into a shared library with nothing but the C library.
fn object(file: &Path) -> Outcome {
    for flags in [&["--emit", "obj"][..], &["--emit", "obj", "--checked", "--cpu", "x86-64"]] {
        let folder = compile(file, flags)?;
        let library = folder.path().join("kernels.so");
        let object = result(&folder, file, "o");
        run(Command::new("cc").args(["-shared", "-Wl,--no-undefined", "-o"]).arg(&library).arg(&object).arg("-lm"))?;
    }
    Ok(())
}

/// The IR text compiles to the same PTX as the file it came from.
fn ir(file: &Path) -> Outcome {
    let folder = compile(file, &["--emit", "ir,ptx"])?;
    let text = result(&folder, file, "ir");
    let again = compile(&text, &["--emit", "ir,ptx"])?;
    for suffix in ["ir", "ptx"] {
        let first = std::fs::read_to_string(result(&folder, file, suffix))?;
        let second = std::fs::read_to_string(result(&again, file, suffix))?;
        if first != second {
            return Err(format!("{suffix} differs after a round trip:\n{first}\n---\n{second}").into());
        }
    }
    Ok(())
}
