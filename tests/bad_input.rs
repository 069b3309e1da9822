//! Input that no one should write: each ends in a coded finding or in success, soon, and never in a
//! crash.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A guard against hanging, not a measurement: tests run unoptimised and beside each other.
const PATIENCE: Duration = Duration::from_secs(180);

struct Case {
    folder: tempfile::TempDir,
}

impl Case {
    fn new() -> Case {
        Case { folder: tempfile::tempdir().expect("a temporary folder") }
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, bytes).expect("a writable file");
        path
    }

    /// Runs kc in the folder; it must end in time, with one of the documented codes, and without a
    /// panic.
    fn kc(&self, args: &[&str]) -> (i32, String) {
        let start = Instant::now();
        let mut child = Command::new(env!("CARGO_BIN_EXE_kc"))
            .args(args)
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("kc starts");
        let id = child.id();
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        let watch = std::thread::spawn(move || {
            if receiver.recv_timeout(PATIENCE).is_err() {
                let _ = Command::new("kill").args(["-9", &id.to_string()]).status();
            }
        });
        let stdout = child.stdout.take().expect("piped");
        let reader = std::thread::spawn(move || std::io::read_to_string(stdout).unwrap_or_default());
        let stderr = std::io::read_to_string(child.stderr.take().expect("piped")).unwrap_or_default();
        let status = child.wait().expect("kc ends");
        let _ = sender.send(());
        watch.join().expect("the watch ends");
        let text = reader.join().expect("the reader ends") + &stderr;
        let code = status.code();
        assert!(code.is_some(), "{args:?}: killed by a signal ({status}) after {:?}:\n{text}", start.elapsed());
        for word in ["panicked", "RUST_BACKTRACE", "error[E0999]", "overflowed its stack", "LLVM ERROR"] {
            assert!(!text.contains(word), "{args:?}: {word}:\n{text}");
        }
        (code.unwrap_or_default(), text)
    }

    /// `kc check` and `kc compile` both give this code and exit status 1.
    fn fails(&self, path: &Path, diagnostic: &str) {
        let path = path.to_str().expect("UTF-8");
        for args in [vec!["check", path], vec!["compile", "-o", "out", path]] {
            let (code, text) = self.kc(&args);
            assert!(code == 1 && text.contains(diagnostic), "{args:?}: exit {code}, expected {diagnostic}:\n{text}");
        }
        assert!(!self.folder.path().join("out").exists(), "something was written for a broken file");
    }

    /// `kc check` ends with one of these codes.
    fn ends(&self, path: &Path, codes: &[i32]) -> String {
        let (code, text) = self.kc(&["check", "--format", "short", path.to_str().expect("UTF-8")]);
        assert!(codes.contains(&code), "exit {code}:\n{text}");
        text
    }
}

fn kernel(body: &str) -> String {
    format!("import warp as wp\n\n@wp.kernel\ndef k(x: wp.array(dtype=float), n: int):\n    i = wp.tid()\n{body}\n")
}

#[test]
fn missing_file_and_folder() {
    let case = Case::new();
    case.fails(Path::new("nowhere.py"), "E0901");
    std::fs::create_dir(case.folder.path().join("folder.py")).expect("a folder");
    case.fails(Path::new("folder.py"), "E0911");
}

#[test]
fn bytes_that_are_not_text() {
    let case = Case::new();
    let path = case.write("bytes.py", b"import warp as wp\nx = '\xff\xfe'\n");
    case.fails(&path, "E0902");
}

#[test]
fn too_large() {
    let case = Case::new();
    let path = case.write("large.py", vec![b'#'; 17 << 20]);
    case.fails(&path, "E0903");
}

#[test]
fn empty_and_without_kernels() {
    let case = Case::new();
    for (name, text) in
        [("empty.py", ""), ("newline.py", "\n"), ("bom.py", "\u{feff}"), ("host.py", "def f(x):\n    return x\n")]
    {
        let path = case.write(name, text);
        assert!(case.ends(&path, &[0]).contains("W0907"), "{name}");
        let (code, text) = case.kc(&["compile", "-o", "out", path.to_str().expect("UTF-8")]);
        assert!(code == 1 && text.contains("E0908"), "{name}: exit {code}:\n{text}");
    }
}

#[test]
fn a_byte_order_mark_is_no_matter() {
    let case = Case::new();
    let path = case.write("bom.py", format!("\u{feff}{}", kernel("    x[i] = 1.0")));
    assert!(!case.ends(&path, &[0]).contains("W0907"));
}

#[test]
fn unknown_kernel() {
    let case = Case::new();
    case.write("k.py", kernel("    x[i] = 1.0"));
    let (code, text) = case.kc(&["compile", "k.py", "-k", "kk", "-o", "out", "--emit", "ir"]);
    assert!(code == 1 && text.contains("E0905"), "exit {code}:\n{text}");
}

#[test]
fn a_broken_kernel_does_not_block_the_others() {
    let case = Case::new();
    let broken = "\n@wp.kernel\ndef broken(x: wp.array(dtype=float)):\n    x[wp.tid()] = nothing\n";
    case.write("k.py", kernel("    x[i] = 1.0") + broken);
    let (code, text) = case.kc(&["compile", "k.py", "-o", "out", "--emit", "ir"]);
    assert_eq!(code, 1, "{text}");
    let ir = std::fs::read_to_string(case.folder.path().join("out/k.ir")).expect("the good kernel was written");
    assert!(!ir.contains("broken"), "{ir}");
    let (code, text) = case.kc(&["compile", "k.py", "-k", "k", "-o", "out", "--emit", "ir"]);
    assert_eq!(code, 0, "the named kernel is good: {text}");
}

#[test]
fn deep_and_long_expressions() {
    let case = Case::new();
    let sum = |n: usize| vec!["x[i]"; n].join(" + ");
    let programs = [
        ("sum", format!("    x[i] = {}", sum(5_000))),
        ("parentheses", format!("    x[i] = {}x[i]{}", "(".repeat(200), ")".repeat(200))),
        ("unary", format!("    x[i] = {}x[i]", "-".repeat(2_000))),
        ("calls", format!("    x[i] = {}x[i]{}", "wp.abs(".repeat(200), ")".repeat(200))),
        ("power", format!("    x[i] = {}x[i]{}", "(x[i] * ".repeat(400), ")".repeat(400))),
        ("elif", {
            let arms: String = (1..1000).map(|n| format!("    elif n == {n}:\n        x[i] = {n}.0\n")).collect();
            format!("    if n == 0:\n        x[i] = 0.0\n{arms}")
        }),
        ("nested", {
            let mut body = String::new();
            for depth in 0..90 {
                body.push_str(&format!("{}if n > {depth}:\n", "    ".repeat(depth + 1)));
            }
            body + &format!("{}x[i] = 1.0", "    ".repeat(91))
        }),
    ];
    for (name, body) in programs {
        let path = case.write(&format!("{name}.py"), kernel(&body));
        let text = case.ends(&path, &[0, 1]);
        let (code, text) = match text.contains("error") {
            true => (1, text),
            false => case.kc(&["compile", &format!("{name}.py"), "-o", "out"]),
        };
        assert!(code == 0 || text.contains("error[E"), "{name}: exit {code}:\n{text}");
    }
}

#[test]
fn garbage() {
    let case = Case::new();
    // A fixed sequence (xorshift) of printable characters, lines, brackets and keywords.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let words = [
        "(",
        ")",
        "[",
        "]",
        ":",
        "\n",
        "    ",
        "def ",
        "@wp.kernel\n",
        "if ",
        "é",
        "\"",
        "'''",
        "\\",
        "0x",
        "1e",
        "#",
        "\t",
    ];
    let mut text = String::new();
    while text.len() < 1 << 20 {
        let n = next();
        match n % 3 {
            0 => text.push_str(words[(n >> 8) as usize % words.len()]),
            _ => text.push((32 + (n >> 8) % 95) as u8 as char),
        }
    }
    let path = case.write("garbage.py", &text);
    case.ends(&path, &[0, 1]);
    let path = case.write("inside.py", kernel("    x[i] = 1.0") + &text);
    case.ends(&path, &[0, 1]);
    let path = case.write("one_line.py", kernel(&format!("    x[i] = {}", text.replace(['\n', '#'], " "))));
    case.ends(&path, &[0, 1]);
    let path = case.write("zeros.py", vec![0_u8; 1 << 20]);
    case.ends(&path, &[0, 1]);
    let path = case.write("garbage.ir", &text);
    case.fails(&path, "E0909");
}

#[test]
fn wrong_usage() {
    let case = Case::new();
    case.write("k.py", kernel("    x[i] = 1.0"));
    for args in [
        &["compile"][..],
        &["frobnicate"],
        &["compile", "k.py", "--emit", "sass"],
        &["compile", "k.py", "--arch", "sm_12"],
        &["compile", "k.py", "-o", "-"],
        &["check", "k.py", "--format", "xml"],
        &["explain", "E9999"],
    ] {
        let (code, text) = case.kc(args);
        assert!(code == 2 && text.contains("error"), "{args:?}: exit {code}:\n{text}");
    }
}

#[test]
fn outputs_that_cannot_be_written() {
    let case = Case::new();
    case.write("k.py", kernel("    x[i] = 1.0"));
    case.write("file", "not a folder");
    let (code, text) = case.kc(&["compile", "k.py", "-o", "file/inside", "--emit", "ir"]);
    assert!(code == 1 && text.contains("E0904"), "exit {code}:\n{text}");
    std::fs::create_dir(case.folder.path().join("other")).expect("a folder");
    case.write("other/k.py", kernel("    x[i] = 2.0"));
    let (code, text) = case.kc(&["compile", "k.py", "other/k.py", "-o", "out", "--emit", "ir"]);
    assert!(code == 1 && text.contains("E0906"), "exit {code}:\n{text}");
    let left: Vec<_> = std::fs::read_dir(case.folder.path().join("out")).expect("out").collect();
    assert_eq!(left.len(), 1, "only the result is left: {left:?}");
}

#[test]
fn a_closed_pipe_is_quiet() {
    let output: Output = Command::new("sh")
        .arg("-c")
        .arg(format!("{} explain | head -1", env!("CARGO_BIN_EXE_kc")))
        .output()
        .expect("a shell");
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// What doubles with each line takes time in its lines, not in what they stand for.
#[test]
fn functions_that_each_call_the_one_before_twice() {
    let case = Case::new();
    let mut text = "import warp as wp\n\n@wp.func\ndef f0(x: float):\n    return x * x\n".to_string();
    for n in 1..40 {
        text += &format!("@wp.func\ndef f{n}(x: float):\n    return f{0}(x) + f{0}(x + 1.0)\n", n - 1);
    }
    text += "@wp.kernel\ndef k(x: wp.array(dtype=float)):\n    x[wp.tid()] = f39(x[wp.tid()])\n";
    case.write("k.py", text);
    let (code, text) = case.kc(&["compile", "k.py", "-o", "out", "--emit", "cuda,ptx"]);
    assert_eq!(code, 0, "{text}");
}

#[test]
fn values_of_too_many_components() {
    let case = Case::new();
    let mut text = "import warp as wp\n\n@wp.struct\nclass S0:\n    a: float\n".to_string();
    for n in 1..40 {
        text += &format!("@wp.struct\nclass S{n}:\n    a: S{0}\n    b: S{0}\n", n - 1);
    }
    text += "@wp.kernel\ndef k(x: wp.array(dtype=S39)):\n    x[1] = x[0]\n";
    let path = case.write("structs.py", text);
    case.fails(&path, "E0317");
    let head = "V = wp.types.vector(length=1000, dtype=float)\n";
    let body = "    v = V()\n    x[i] = wp.outer(v, v)[0, 0]";
    let path = case.write("outer.py", kernel(body).replacen("\n\n", &format!("\n{head}\n"), 1));
    case.fails(&path, "E0317");
}

/// The most components that are allowed: kernels of tens of thousands of instructions, and of a
/// thousand branches.
#[test]
fn large_kernels_compile() {
    let case = Case::new();
    let head = "V = wp.types.vector(length=1024, dtype=float)\n\n";
    let body = "    v = V(x[i])\n    x[i] = wp.dot(v, v)";
    case.write("long.py", kernel(body).replacen("\n\n", &format!("\n{head}\n"), 1));
    let compares = vec!["x[i]"; 1000].join(" < ");
    case.write("wide.py", kernel(&format!("    if {compares}:\n        x[i] = 1.0")));
    for file in ["long.py", "wide.py"] {
        let (code, text) = case.kc(&["compile", file, "-o", "out", "--emit", "cuda,ptx"]);
        assert_eq!(code, 0, "{file}: {text}");
    }
}
