//! What can be asked of kc on the command line, whatever the command: which files, where results
//! go, how it talks.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use tempfile::TempDir;

const DOUBLE: &str =
    "import warp as wp\n\n@wp.kernel\ndef double(x: wp.array(dtype=float)):\n    i = wp.tid()\n    x[i] = x[i] * 2.0\n";

/// An integer sum that meets a float: one error, with a fix to look at.
const BROKEN: &str =
    "import warp as wp\n\n@wp.kernel\ndef broken(x: wp.array(dtype=float)):\n    i = wp.tid()\n    x[i] = y\n";

struct Folder(TempDir);

impl Folder {
    fn new(files: &[(&str, &str)]) -> Folder {
        let folder = Folder(tempfile::tempdir().expect("a temporary folder"));
        files.iter().for_each(|(name, text)| folder.write(name, text));
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::create_dir_all(self.path(name).parent().expect("a folder")).expect("a folder");
        std::fs::write(self.path(name), text).expect("a file");
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kc"));
        command.args(args).current_dir(self.0.path()).env_remove("NO_COLOR");
        command
    }

    fn kc(&self, args: &[&str]) -> Said {
        self.command(args).stdin(Stdio::null()).output().expect("kc starts").into()
    }

    fn kc_with_input(&self, args: &[&str], input: &[u8]) -> Said {
        let mut command = self.command(args);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("kc starts");
        // kc reads no more than it takes: the pipe may be closed before the end.
        let _ = child.stdin.take().expect("a pipe").write_all(input);
        child.wait_with_output().expect("kc ends").into()
    }

    /// The names of the files in a folder, in order.
    fn list(&self, name: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.path(name)).expect("a folder");
        let mut names: Vec<String> =
            entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

struct Said {
    code: Option<i32>,
    out: String,
    err: String,
}

impl From<Output> for Said {
    fn from(output: Output) -> Said {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        Said { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

impl Said {
    #[track_caller]
    fn ends(self, code: i32) -> Said {
        assert_eq!(self.code, Some(code), "{}\n{}", self.out, self.err);
        self
    }
}

fn some_files() -> Folder {
    Folder::new(&[
        ("src/a.py", DOUBLE),
        ("src/deep/er/b.py", BROKEN),
        ("src/tool.py", "print('no kernels')\n"),
        ("src/.venv/c.py", BROKEN),
        ("src/env/pyvenv.cfg", ""),
        ("src/env/lib/d.py", BROKEN),
        ("src/notes.txt", "no Python at all ("),
        ("empty/notes.txt", ""),
    ])
}

#[test]
fn folders_and_patterns_stand_for_the_python_files_there() {
    let folder = some_files();
    let said = folder.kc(&["check", "src"]).ends(1);
    assert!(said.out.contains("src/deep/er/b.py:6") && said.out.matches("error[").count() == 1, "{}", said.out);
    assert!(!said.out.contains("W0907"), "a file that was found may have no kernels: {}", said.out);
    assert_eq!(
        said.err, "src/a.py: 1 kernel ok, no findings\nsrc/deep/er/b.py: 1 error\n1 file without kernels\n",
        "in order, without what is installed or hidden"
    );
    let said = folder.kc(&["check", "src/*.py"]).ends(0);
    assert_eq!(said.err, "src/a.py: 1 kernel ok, no findings\n1 file without kernels\n");
    let said = folder.kc(&["check", "src/**/[b-c].py", "src/a.py"]).ends(1);
    assert!(said.err.starts_with("src/deep/er/b.py: 1 error\nsrc/a.py: 1 kernel ok"), "{}", said.err);
    // Who names a file wants its kernels.
    assert!(folder.kc(&["check", "src/tool.py", "src"]).ends(1).out.contains("W0907"));
    for (args, code) in [(["check", "empty"], "E0911"), (["check", "src/*.cu"], "E0911"), (["fix", "no/*.py"], "E0911")]
    {
        assert!(folder.kc(&args).ends(1).err.contains(code), "{args:?}");
    }
    // A file may be called like a pattern.
    folder.write("[a].py", DOUBLE);
    assert_eq!(folder.kc(&["check", "[a].py"]).ends(0).err, "[a].py: 1 kernel ok, no findings\n");
}

/// Files are checked on several cores, and what they import is parsed once: what is said of each is
/// the same, and comes in the order of the files.
#[test]
fn many_files_are_checked_as_each_alone() {
    let folder = Folder::new(&[
        ("shared.py", "import warp as wp\n\n@wp.func\ndef fault(x: float):\n    return x + unknown\n\nN = 3\n"),
        ("other.py", "import warp as wp\nfrom shared import N\n\n@wp.func\ndef slip(x: float):\n    return x.y + N\n"),
    ]);
    let names: Vec<String> = (0..70).map(|n| format!("k{n:02}.py")).collect();
    for (n, name) in names.iter().enumerate() {
        // Which import comes first differs, and with it which finding is the first.
        let imports =
            ["from shared import fault\nfrom other import slip", "from other import slip\nfrom shared import fault"];
        let calls = ["fault(x[i]) + slip(x[i])", "slip(x[i]) + fault(x[i])", "x[i] * 2.0", "x[i] + y"];
        let text = DOUBLE.replace("import warp as wp", &format!("import warp as wp\n{}", imports[n % 2]));
        folder.write(name, &text.replace("x[i] * 2.0", calls[n % 4]));
    }
    let args: Vec<&str> = ["check"].into_iter().chain(names.iter().map(String::as_str)).collect();
    let together = folder.kc(&args).ends(1);
    let mut alone = Said { code: Some(1), out: String::new(), err: String::new() };
    for name in &names {
        let said = folder.kc(&["check", name]);
        alone.out += &said.out;
        alone.err += &said.err;
    }
    assert!(alone.out.contains("shared.py:5") && alone.out.contains("E0201"), "{}", alone.out);
    assert_eq!(together.out, alone.out);
    assert_eq!(together.err, alone.err);
}

#[test]
fn a_folder_is_compiled_and_repaired() {
    let folder = some_files();
    let said = folder.kc(&["compile", "src", "--emit", "cuda", "-o", "out"]).ends(1);
    assert_eq!(folder.list("out"), ["a.cu"], "{}", said.err);
    assert!(said.err.contains("src/a.py: wrote 1 kernel to out/a.cu\n"), "{}", said.err);
    let said = folder.kc(&["compile", "src/t*.py", "-o", "out"]).ends(1);
    assert!(said.err.contains("E0908") && said.err.contains("no kernels to compile in `src/t*.py`"), "{}", said.err);
    let said = folder.kc(&["fix", "src"]).ends(1);
    assert_eq!(said.err, "src/deep/er/b.py: 0 fixes, 1 error left\n");
}

#[test]
fn files_of_one_name_have_results_of_their_own() {
    let folder = Folder::new(&[("src/a/k.py", DOUBLE), ("src/b/k.py", DOUBLE), ("src/k.py", DOUBLE)]);
    folder.kc(&["compile", "src", "--emit", "cuda", "-o", "out"]).ends(0);
    assert_eq!(["out", "out/a", "out/b"].map(|name| folder.list(name).join(" ")), ["a b k.cu", "k.cu", "k.cu"]);
    folder.kc(&["compile", "src/*/k.py", "--emit", "cuda", "-o", "more"]).ends(0);
    assert_eq!(["more", "more/a", "more/b"].map(|name| folder.list(name).join(" ")), ["a b", "k.cu", "k.cu"]);
}

/// A function of another module, and a kernel that needs it.
fn twice(module: &str) -> (String, String) {
    let function = "import warp as wp\n\n\n@wp.func\ndef twice(x: float):\n    return x * 2.0\n";
    let kernel =
        DOUBLE.replace("\n\n@", &format!("\nfrom {module} import twice\n\n@")).replace("x[i] * 2.0", "twice(x[i])");
    (function.to_string(), kernel)
}

#[test]
fn packages_are_found_where_python_finds_them() {
    let (function, kernel) = twice("shapes.round");
    let folder = Folder::new(&[
        ("k.py", &kernel),
        ("env/lib/python3.12/site-packages/shapes/round.py", &function),
        ("src/shapes/__init__.py", ""),
        ("src/shapes/round.py", &function),
        ("linked/lib/python3.12/site-packages/shapes.pth", "../../../../src\n"),
    ]);
    let check = |set: &[(&str, &str)]| {
        let mut command = folder.command(&["check", "k.py"]);
        for name in ["PYTHONPATH", "VIRTUAL_ENV", "CONDA_PREFIX", "PATH"] {
            command.env_remove(name);
        }
        command.envs(set.iter().map(|(name, path)| (name, folder.path(path))));
        Said::from(command.output().expect("kc starts"))
    };
    assert!(check(&[]).ends(1).out.contains("E0507"));
    for set in [("VIRTUAL_ENV", "env"), ("CONDA_PREFIX", "linked"), ("PYTHONPATH", "src")] {
        assert_eq!(check(&[set]).ends(0).err, "k.py: 1 kernel ok, no findings\n", "{set:?}");
    }
    // An environment of the project.
    folder.write(".venv/pyvenv.cfg", "");
    folder.write(".venv/lib/python3.13/site-packages/shapes/round.py", &function);
    check(&[]).ends(0);
}

#[cfg(unix)]
#[test]
fn a_linked_package_has_its_neighbours() {
    let (function, kernel) = twice("beside");
    let folder =
        Folder::new(&[("real/pkg/__init__.py", ""), ("real/pkg/k.py", &kernel), ("packages/beside.py", &function)]);
    std::os::unix::fs::symlink(folder.path("real/pkg"), folder.path("packages/pkg")).expect("a link");
    folder.kc(&["check", "packages/pkg/k.py"]).ends(0);
    assert!(folder.kc(&["check", "real/pkg/k.py"]).ends(1).out.contains("E0507"));
}

#[test]
fn a_project_says_which_warnings_it_wants() {
    let unused = format!("{DOUBLE}    unused = x[i]\n");
    let folder = Folder::new(&[("src/a.py", &unused), ("src/tests/b.py", &unused)]);
    let codes = |said: Said| said.out.matches("W1301").count();
    assert_eq!(codes(folder.kc(&["check", "src", "--format", "short"]).ends(0)), 2);
    folder.write(
        "pyproject.toml",
        "[tool.kc]\ndeny = [\"unused-variable\"]\n\n[tool.kc.folders.\"src/tests\"]\nallow = [\n    \"W1301\",\n]\n",
    );
    assert_eq!(codes(folder.kc(&["check", "src", "--format", "short"]).ends(1)), 1);
    // The command line comes first.
    assert_eq!(codes(folder.kc(&["check", "src", "--allow", "W1301", "--format", "short"]).ends(0)), 0);
    folder.write("pyproject.toml", "[tool.kc]\nallwo = []\n");
    assert!(folder.kc(&["check", "src"]).ends(2).err.contains("`allwo` is no key of `[tool.kc]`"));
}

#[test]
fn warnings_of_gradients_are_for_files_that_ask_for_one() {
    let scatter = |index: &str| {
        format!(
            "import warp as wp\n\n\n@wp.kernel\ndef k(x: wp.array(dtype=float), to: wp.array(dtype=int), \
             y: wp.array(dtype=float), z: wp.array(dtype=float)):\n    i = wp.tid()\n    y[{index}] = x[i]\n    z[{index}] = x[i]\n"
        )
    };
    let asking = |index: &str| format!("{}\n\ntape = wp.Tape()\n", scatter(index));
    let files = [
        ("a.py", scatter("i // 2")),
        ("b.py", asking("i // 2")),
        ("c.py", asking("to[i] + 1")),
        ("d.py", asking("to[i] // 2")),
        ("e.py", asking("2 * i + to.shape[0]")),
        ("f.py", asking("to[i % 3]")),
    ];
    let folder = Folder::new(&files.each_ref().map(|(name, text)| (*name, text.as_str())));
    let said = |args: &[&str]| folder.kc(args).ends(0).out;
    assert_eq!(said(&["check", "a.py"]), "");
    for file in ["a.py", "b.py", "c.py"] {
        assert_eq!(said(&["check", file, "--warn", "gradients", "--format", "short"]).matches("W0606").count(), 2);
    }
    for file in ["b.py", "d.py"] {
        let shown = said(&["check", file]);
        assert!(shown.matches("warning[W0606]").count() == 1 && shown.contains("1 more warning W0606"), "{shown}");
    }
    // A gradient run looks whether threads meet where it decides; code that runs elsewhere does
    // not.
    for file in ["c.py", "e.py", "f.py"] {
        assert_eq!(said(&["check", file]), "", "{file}");
    }
    let told = folder.kc(&["compile", "c.py", "--emit", "ptx"]).ends(0);
    assert_eq!(format!("{}{}", told.out, told.err).matches("warning[W0606]").count(), 1);
}

/// `kc check` leaves out gradients where it would say nothing; errors are for every file.
#[test]
fn errors_of_gradients_are_for_all_files() {
    let said = |lines: &str, gradient: &str| {
        let body = lines.replace('\n', "\n    ");
        let arrays = "x: wp.array(dtype=float), y: wp.array(dtype=float)";
        let text = format!(
            "import warp as wp\n\n\n@wp.func\ndef f({arrays}, i: int):\n    {body}\n\n\n\
             @wp.kernel{gradient}\ndef k({arrays}):\n    i = wp.tid()\n    f(x, y, i)\n\n\n\
             @wp.kernel{gradient}\ndef l({arrays}):\n    i = wp.tid()\n    {body}\n"
        );
        let folder = Folder::new(&[("a.py", &text)]);
        folder.kc(&["check", "a.py", "--format", "short"]).out
    };
    let bad = [
        ("wp.atomic_cas(y, 0, x[i], 2.0)", "E0601"),
        ("old = wp.atomic_add(y, 0, x[i])\ny[i + 1] = old", "E0601"),
        ("wp.atomic_add(y, 0, x[i])\nwp.atomic_max(y, 0, x[i])", "E0601"),
        ("wp.atomic_exch(y, 0, x[i])", "E0601"),
        ("y[i] = wp.cast(wp.cast(x[i], wp.int32) + 1, wp.float32)", "E0605"),
    ];
    for (lines, code) in bad {
        let found = said(lines, "");
        assert!(found.contains(code), "{lines}: {found}");
        assert_eq!(said(lines, "(enable_backward=False)"), "", "{lines}");
    }
    for lines in ["wp.atomic_add(y, 0, wp.sin(x[i]))", "y[0] = wp.pow(x[i], 3.0)", "wp.atomic_max(y, 0, x[i])"] {
        assert!(!said(lines, "").contains("E06"), "{lines}");
    }
}

/// Threads that a condition chooses, by a coordinate or by a remainder.
#[test]
fn chosen_threads_store_where_a_run_decides() {
    let said = |condition: &str, index: &str| {
        let text = format!(
            "import warp as wp\n\ntape = wp.Tape()\n\n\n@wp.kernel\ndef k(x: wp.array2d(dtype=float), \
             to: wp.array(dtype=int), y: wp.array(dtype=float), n: int):\n    i, j = wp.tid()\n    if {condition}:\n        \
             y[{index}] = x[i, j]\n\n\n@wp.kernel\ndef l(x: wp.array(dtype=float), to: wp.array(dtype=int), \
             y: wp.array(dtype=float), n: int):\n    i = wp.tid()\n    j = i % 32\n    if {condition}:\n        \
             y[{}] = x[i]\n",
            index.replace("to[i]", "i // 32")
        );
        let folder = Folder::new(&[("a.py", &text)]);
        folder.kc(&["check", "a.py", "--format", "short"]).ends(0).out
    };
    for (condition, index) in [("j == 0", "to[i]"), ("n == j", "to[i] + n"), ("j == 3 and n > 0", "to[i]")] {
        assert_eq!(said(condition, index), "", "{condition}");
    }
    // Several threads of a row, and a coordinate that is a number of each thread.
    for (condition, index) in
        [("j != 0", "to[i]"), ("j < 2", "to[i]"), ("j == to[i]", "to[i]"), ("j == 0", "to[i] // 2")]
    {
        assert!(said(condition, index).contains("W0606"), "{condition}: {index}");
    }
}

#[test]
fn standard_input_is_a_file() {
    let folder =
        Folder::new(&[("shared.py", "import warp as wp\n\n@wp.func\ndef twice(a: float):\n    return 2.0 * a\n")]);
    let importing = DOUBLE
        .replace("x[i] * 2.0", "twice(x[i])")
        .replace("\n\n@wp.kernel", "\nfrom shared import twice\n\n@wp.kernel");
    let said = folder.kc_with_input(&["check", "-"], importing.as_bytes()).ends(0);
    assert_eq!(said.err, "<stdin>: 1 kernel ok, no findings\n");
    assert!(folder.kc_with_input(&["check", "-"], BROKEN.as_bytes()).ends(1).out.contains("<stdin>:6:12"));
    let said = folder.kc_with_input(&["compile", "-", "--emit", "cuda", "-o", "-"], importing.as_bytes()).ends(0);
    assert!(said.out.contains("twice("), "{}", said.out);
    folder.kc_with_input(&["compile", "-", "--emit", "ptx,header"], DOUBLE.as_bytes()).ends(0);
    assert_eq!(folder.list("."), ["shared.py", "stdin.h", "stdin.ptx"]);
    let summed = BROKEN.replace("x[i] = y", "s = 0\n    for j in range(3):\n        s += x[j]\n    x[i] = s");
    let said = folder.kc_with_input(&["fix", "--maybe", "--strict-warp", "-"], summed.as_bytes()).ends(0);
    assert_eq!(said.out, summed.replace("s = 0\n", "s = 0.0\n"));
    assert!(folder.kc_with_input(&["check", "-"], b"x = '\xff'\n").ends(1).err.contains("E0902"));
    assert!(folder.kc_with_input(&["check", "-"], &vec![b'#'; 17 << 20]).ends(1).err.contains("E0903"));
    assert!(folder.kc(&["check", "-", "--watch"]).ends(2).err.contains("E1012"));
}

/// What is wrong in a module that several files import is said of the first of them alone; an error
/// fails each.
#[test]
fn warnings_about_a_shared_module_are_told_once() {
    let shared = "import warp as wp\n\n@wp.func\ndef half(i: int):\n    unused = 1\n    return float(i / 2)\n";
    let importing =
        DOUBLE.replace("x[i] * 2.0", "half(i)").replace("\n\n@wp.kernel", "\nfrom shared import half\n\n@wp.kernel");
    let folder = Folder::new(&[("a.py", &importing), ("b.py", &importing), ("shared.py", shared)]);
    let said = folder.kc(&["check", "."]).ends(0).out;
    assert_eq!((said.matches("W1201").count(), said.matches("warning[W1301]").count()), (1, 1), "{said}");
    let wrong = shared.replace("unused = 1", "return undefined");
    let folder = Folder::new(&[("a.py", &importing), ("b.py", &importing), ("shared.py", &wrong)]);
    let said = folder.kc(&["check", "a.py", "b.py"]).ends(1);
    assert!(said.out.matches("E0201").count() >= 2, "{}", said.out);
}

/// A kernel without a backward entry is named where a gradient is asked for, and else in one line.
#[test]
fn entries_that_are_missing_are_told() {
    let source = "import warp as wp

@wp.func_native(\"return x + 1.0f;\")
def more(x: float) -> float: ...

@wp.kernel
def k(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = more(x[i])
";
    let asking = format!("{source}\ntape = wp.Tape()\n");
    let folder = Folder::new(&[("k.py", source), ("asking.py", &asking)]);
    let note = "k.py: wrote 1 kernel to k.cu; not all have a backward entry: `--warn gradients` says why\n";
    assert_eq!(folder.kc(&["compile", "k.py", "-o", "k.cu"]).ends(0).err, note);
    assert_eq!(
        folder.kc(&["compile", "k.py", "-o", "k.cu", "--no-backward"]).ends(0).err.matches("backward").count(),
        0
    );
    for args in [&["compile", "asking.py", "-o", "k.cu"][..], &["compile", "k.py", "-o", "k.cu", "--warn", "gradients"]]
    {
        let said = folder.kc(args).ends(0).err;
        assert!(said.contains("W0607") && said.ends_with("wrote 1 kernel to k.cu\n"), "{said}");
    }
}

#[test]
fn the_ending_of_a_file_says_what_is_written() {
    let folder = Folder::new(&[("k.py", DOUBLE), ("two.py", DOUBLE), ("dir.ptx/keep", "")]);
    let said = folder.kc(&["compile", "k.py", "-o", "out/mine.ptx"]).ends(0);
    assert_eq!(said.err, "k.py: wrote 1 kernel to out/mine.ptx\n");
    assert!(std::fs::read_to_string(folder.path("out/mine.ptx")).expect("PTX").contains(".visible .entry"));
    for (name, start) in
        [("x.cu", "//"), ("x.h", "/*"), ("x.json", "{"), ("x.ir", ""), ("x.ll", ""), ("x.o", ""), ("x.plan", "")]
    {
        folder.kc(&["compile", "k.py", "-o", name, "-q"]).ends(0);
        let bytes = std::fs::read(folder.path(name)).expect("a result");
        assert!(bytes.starts_with(start.as_bytes()) && !bytes.is_empty(), "{name}");
    }
    folder.kc(&["compile", "k.py", "--emit", "cuda", "-o", "y.cu"]).ends(0);
    // A folder stays one, whatever it is called.
    folder.kc(&["compile", "k.py", "-o", "dir.ptx"]).ends(0);
    assert_eq!(folder.list("dir.ptx"), ["k.cu", "k.ptx", "keep"]);
    let before = folder.list(".");
    for args in [
        &["compile", "k.py", "two.py", "-o", "z.ptx"][..],
        &["compile", "k.py", "--emit", "ptx,cuda", "-o", "z.ptx"],
        &["compile", "k.py", "--emit", "cuda", "-o", "z.ptx"],
        &["compile", "k.py", "--emit", "all", "-o", "z.ptx"],
        &["compile", "k.py", "--arch", "sm_80,sm_90", "-o", "z.ptx"],
        &["compile", "k.py", "-o", "-"],
    ] {
        assert!(folder.kc(args).ends(2).err.contains("E1012"), "{args:?}");
    }
    assert_eq!(folder.list("."), before, "nothing is written");
}

#[test]
fn kernels_take_what_people_write() {
    let folder = Folder::new(&[("s.py", DOUBLE)]);
    let text = folder.kc(&["compile", "s.py", "--abi", "plain", "-o", "-"]).ends(0).out;
    assert!(text.contains("__restrict__") && !text.contains("launch_bounds"), "{text}");
    let refused = folder.kc(&["compile", "s.py", "--abi", "plain", "--emit", "cuda,ptx"]).ends(2).err;
    assert!(refused.contains("E1012") && refused.contains("--emit cuda"), "{refused}");
    let slices = "import warp as wp\n\n@wp.kernel\ndef k(x: wp.array(dtype=float), y: wp.array(dtype=float)):\n    i = wp.tid()\n    part = x[1:i]\n    y[i] = part[0]\n";
    folder.write("v.py", slices);
    let refused = folder.kc(&["compile", "v.py", "--abi", "plain", "--no-backward", "-o", "-"]).ends(1).err;
    assert!(refused.contains("E0820") && refused.contains("--abi warp"), "{refused}");
    folder.kc(&["compile", "v.py", "--abi", "warp", "--emit", "cuda", "--no-backward", "-o", "-"]).ends(0);
}

#[test]
fn everything_can_be_asked_for_at_once() {
    let folder = Folder::new(&[("k.py", DOUBLE)]);
    let said = folder.kc(&["compile", "k.py", "--emit", "all", "--arch", "sm_80,sm_90", "-o", "out"]).ends(0);
    let names = [
        "k.cu",
        "k.h",
        "k.ir",
        "k.json",
        "k.o",
        "k.plan",
        "k.rs",
        "k.s",
        "k.sm_80.ll",
        "k.sm_80.ptx",
        "k.sm_90.ll",
        "k.sm_90.ptx",
    ];
    assert_eq!(folder.list("out"), names);
    assert_eq!(said.err.lines().count(), 1, "{}", said.err);
    assert!(names.iter().all(|name| said.err.contains(&format!("out/{name}"))), "{}", said.err);
}

#[test]
fn colours_and_quiet() {
    let folder = Folder::new(&[("k.py", DOUBLE), ("b.py", BROKEN)]);
    let coloured = |args: &[&str]| folder.kc(args).ends(1).out.contains('\u{1b}');
    assert!(!coloured(&["check", "b.py"]), "no terminal");
    assert!(coloured(&["check", "b.py", "--color", "always"]) && coloured(&["--color=always", "check", "b.py"]));
    assert!(!coloured(&["check", "b.py", "--color", "never"]));
    assert!(folder.kc(&["check", "b.py", "--color", "blue"]).ends(2).err.contains("blue"));
    let said = folder.kc(&["check", "k.py", "-q"]).ends(0);
    assert_eq!((said.out.as_str(), said.err.as_str()), ("", ""));
    let said = folder.kc(&["-q", "compile", "k.py"]).ends(0);
    assert_eq!((said.out.as_str(), said.err.as_str()), ("", ""));
    let said = folder.kc(&["check", "b.py", "--quiet"]).ends(1);
    assert!(said.out.contains("error[E0201]") && said.err.is_empty(), "{}", said.err);
    // What programs read has no line in between.
    let said = folder.kc(&["compile", "k.py", "--format", "json"]).ends(0);
    assert_eq!(said.err, "");
}

/// Ends the process even where a test fails.
struct Watching {
    child: Child,
    lines: mpsc::Receiver<String>,
}

impl Watching {
    /// Reads until a line has these words.
    fn wait_for(&mut self, words: &str) -> String {
        let mut all = String::new();
        loop {
            match self.lines.recv_timeout(Duration::from_secs(60)) {
                Ok(line) => all += &(line.clone() + "\n"),
                Err(_) => panic!("no {words:?} in\n{all}"),
            }
            let line = all.lines().last().expect("a line");
            if line.contains(words) {
                return all;
            }
        }
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn watching_works_again_when_a_file_changes() {
    let folder = Folder::new(&[
        (
            "k.py",
            "import warp as wp\nfrom shared import RATE\n\n@wp.kernel\ndef k(x: wp.array(dtype=float)):\n    x[wp.tid()] = RATE\n",
        ),
        ("shared.py", "RATE = 2.5\n"),
    ]);
    let mut child = folder
        .command(&["compile", "--watch", ".", "--emit", "cuda", "-o", "out"])
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("kc starts");
    let (send, lines) = mpsc::channel();
    let stderr = BufReader::new(child.stderr.take().expect("a pipe"));
    std::thread::spawn(move || stderr.lines().map_while(Result::ok).try_for_each(|line| send.send(line)));
    let mut kc = Watching { child, lines };
    let text = || std::fs::read_to_string(folder.path("out/k.cu")).expect("CUDA text");
    kc.wait_for("watching 2 files");
    assert!(text().contains("2.5f"));
    // What it imports counts too.
    folder.write("shared.py", "RATE = 3.5\n");
    kc.wait_for("shared.py has changed");
    kc.wait_for("watching");
    assert!(text().contains("3.5f"));
    folder.write("shared.py", "RATE = (\n");
    assert!(kc.wait_for("watching").contains("error["), "an error is shown, and it goes on");
    folder.write("shared.py", "RATE = 4.5\n");
    kc.wait_for("wrote 1 kernel");
    kc.wait_for("watching");
    assert!(text().contains("4.5f"));
    folder.write("more.py", DOUBLE);
    kc.wait_for("there are other files");
    kc.wait_for("watching 3 files");
    assert_eq!(folder.list("out"), ["k.cu", "more.cu"]);
    assert!(kc.child.try_wait().expect("a status").is_none(), "it watches until it is ended");
}

#[test]
fn shells_complete_every_command() {
    let folder = Folder::new(&[]);
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let script = folder.kc(&["completions", shell]).ends(0).out;
        for word in ["compile", "gradcheck", "--emit", "--out-dir", "--watch", "completions"] {
            let word = if shell == "fish" { word.trim_start_matches("--") } else { word };
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    // What bash makes of it.
    let script = folder.kc(&["completions", "bash"]).out;
    folder.write("kc.bash", &script);
    let ask = "source ./kc.bash; COMP_WORDS=(kc comp); COMP_CWORD=1; _kc kc comp kc; echo \"${COMPREPLY[@]}\"";
    let output = Command::new("bash").args(["-c", ask]).current_dir(folder.path("")).output().expect("bash");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "compile completions\n", "{output:?}");
    assert!(folder.kc(&["completions", "tcsh"]).ends(2).err.contains("tcsh"));
}

#[test]
fn there_is_a_page_of_the_manual_for_every_command() {
    let folder = Folder::new(&[]);
    let help = folder.kc(&["--help"]).ends(0).out;
    let verbs = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let verbs: Vec<&str> =
        verbs.filter_map(|line| line.split_whitespace().next()).filter(|verb| *verb != "help").collect();
    folder.kc(&["man", "-o", "man"]).ends(0);
    let pages = folder.list("man");
    assert!(pages.contains(&"kc.1".to_string()) && verbs.len() >= 14, "{pages:?}");
    for verb in verbs {
        assert!(pages.contains(&format!("kc-{verb}.1")), "{verb}: {pages:?}");
    }
    assert!(pages.contains(&"kc-dataset-stats.1".to_string()), "{pages:?}");
    let page = folder.kc(&["man", "compile"]).ends(0).out;
    assert_eq!(page, std::fs::read_to_string(folder.path("man/kc-compile.1")).expect("a page"));
    assert!(page.contains(".TH kc-compile 1") && page.contains("\\-\\-emit") && !page.contains("overlay"), "{page}");
    assert!(folder.kc(&["man", "knit"]).ends(2).err.contains("E1012"));
    folder.write("file", "");
    assert!(folder.kc(&["man", "-o", "file"]).ends(1).err.contains("E0904"));
}

/// The archive of `make dist`, here of a script that calls the program under test.
#[test]
fn the_archive_has_what_a_machine_needs() {
    let folder = Folder::new(&[("kc", &format!("#!/bin/sh\nexec {} \"$@\"\n", env!("CARGO_BIN_EXE_kc")))]);
    let shell = |script: &str| {
        let output = Command::new("bash").args(["-euc", script]).current_dir(folder.path("")).output().expect("bash");
        assert!(output.status.success(), "{script}: {output:?}");
        String::from_utf8(output.stdout).expect("UTF-8").trim_end().to_string()
    };
    folder.write("driver", "stands for the library of `kc gpu`");
    let pack = format!("chmod +x kc; {}/scripts/dist.sh kc driver", env!("CARGO_MANIFEST_DIR"));
    let archive = shell(&format!("{pack} one"));
    let machine = shell("uname -m");
    assert!(archive.ends_with(&format!("/one/kc-{}-{machine}-linux.tar.gz", env!("CARGO_PKG_VERSION"))), "{archive}");
    assert_eq!(folder.list("one").len(), 1, "nothing else is left");
    let again = shell(&format!("{pack} two"));
    assert_eq!(std::fs::read(&archive).expect("bytes"), std::fs::read(again).expect("bytes"), "the same bytes");
    shell(&format!("mkdir prefix; tar -xzf {archive} --strip-components=1 -C prefix"));
    for file in [
        "share/man/man1/kc-compile.1.gz",
        "share/bash-completion/completions/kc",
        "share/zsh/site-functions/_kc",
        "share/fish/vendor_completions.d/kc.fish",
        "share/kc/kc.ps1",
        "share/kc/LICENSE",
        "share/kc/THIRD-PARTY.md",
        "share/kc/kc.cdx.json",
        "lib/pkgconfig/kc.pc",
        "share/kc/docs/launches.md",
        "share/kc/examples/saxpy.py",
        "lib/kc/libcuda.so.1",
        "INSTALL",
    ] {
        let length = std::fs::metadata(folder.path("prefix").join(file)).map_or(0, |data| data.len());
        assert!(length > 20, "{file}");
    }
    assert!(shell("prefix/bin/kc --version").starts_with("kc "));
    shell("prefix/bin/kc check prefix/share/kc/examples");
}

/// Paths of the repository are not needed by any command.
#[test]
fn files_are_named_as_they_were_given() {
    let folder = some_files();
    let absolute = folder.path("src");
    let said = folder.kc(&["check", absolute.to_str().expect("UTF-8")]).ends(1);
    assert!(said.err.starts_with(absolute.join("a.py").to_str().expect("UTF-8")), "{}", said.err);
    assert!(Path::new(&absolute).is_absolute());
}

#[test]
fn each_command_is_said_in_ten_words() {
    let help = some_files().kc(&["--help"]).ends(0).out;
    let list = help.split("Commands:\n").nth(1).and_then(|rest| rest.split("\n\n").next()).expect("a list of commands");
    let lines: Vec<&str> = list.lines().collect();
    assert!(lines.len() > 12, "{list}");
    for line in lines {
        let about = line.trim().split_once("  ").expect("a command and what it does").1;
        assert!(about.split_whitespace().count() <= 10, "{line}");
    }
}
