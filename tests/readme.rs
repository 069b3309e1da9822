//! The README tells the truth, and so do the pages that it leads to: an example becomes the CUDA
//! text that is shown, commands are accepted, and what is counted is so.

use std::path::Path;
use std::process::Command;

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect(path)
}

fn readme() -> String {
    read("README.md")
}

/// The fenced blocks of a language.
fn blocks(text: &str, language: &str) -> Vec<String> {
    let fence = format!("\n```{language}\n");
    let parts = text.split(&fence).skip(1);
    parts.map(|part| part.split("\n```").next().unwrap_or_default().to_string()).collect()
}

/// As many functions as `shown` has, from its first line on.
fn same_functions(text: &str, shown: &str) -> String {
    let from = text.find(shown.lines().next().unwrap_or_default()).expect("the first line is the same");
    let functions = shown.lines().filter(|line| *line == "}").count();
    text[from..].split_inclusive("\n}\n").take(functions).collect::<String>().trim_end().to_string()
}

#[test]
fn the_example_becomes_the_text_it_shows() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("nbody.py");
    let page = read("docs/cuda.md");
    std::fs::write(&path, blocks(&page, "python").swap_remove(0)).expect("a writable file");
    let output = Command::new(env!("CARGO_BIN_EXE_kc"))
        .args(["compile", "--emit", "cuda", "-o", "-"])
        .arg(&path)
        .output()
        .expect("kc starts");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let all = &blocks(&page, "cuda")[..2];
    assert!(all[0].contains("_forward(") && all[1].contains("_backward("));
    for shown in all {
        if std::env::var_os("KC_BLESS").is_some_and(|value| value == "1") {
            let page = read("docs/cuda.md").replace(shown, &same_functions(&text, shown));
            std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/cuda.md"), page).expect("a writable page");
        } else {
            assert!(
                text.contains(shown),
                "docs/cuda.md shows\n{shown}\n\nbut kc writes\n{text}\n(KC_BLESS=1 rewrites it)"
            );
        }
    }
}

#[test]
fn the_commands_work() {
    let root = env!("CARGO_MANIFEST_DIR");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let text = readme() + &read("docs/usage.md");
    // Every second piece between fences is a block.
    let blocks = text.split("\n```").skip(1).step_by(2);
    let commands: Vec<&str> = blocks.flat_map(str::lines).filter(|line| line.starts_with("kc ")).collect();
    assert!(commands.len() >= 8, "{commands:?}");
    for command in commands {
        let command = command.replace("-o out", &format!("-o {}", folder.path().display()));
        let line = command.replacen("kc", env!("CARGO_BIN_EXE_kc"), 1);
        let output = Command::new("sh").args(["-c", &line]).current_dir(root).output().expect("a shell");
        assert!(output.status.success(), "{command}\n{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// The first screen says what kc is, and shows a result that it has.
#[test]
fn the_first_screen_ends_in_a_result() {
    let text = readme();
    let screen: Vec<&str> = text.lines().take(39).collect();
    let at = screen.iter().position(|line| line.starts_with("$ kc ")).expect("a command");
    let shown: Vec<&str> = screen[at + 1..].iter().copied().take_while(|line| *line != "```").collect();
    assert!(shown.len() > 3 && at + shown.len() + 1 < screen.len(), "the result stands on the first screen");
    let mut command = Command::new(env!("CARGO_BIN_EXE_kc"));
    let output = command.args(screen[at]["$ kc ".len()..].split(' ')).current_dir(env!("CARGO_MANIFEST_DIR")).output();
    let said = String::from_utf8(output.expect("kc starts").stdout).expect("UTF-8");
    assert!(said.starts_with(&shown.join("\n")), "the README shows\n{}\nbut kc says\n{said}", shown.join("\n"));
}

/// What the README counts and lists is what there is.
#[test]
fn what_it_counts_is_so() {
    let text = readme();
    let kc = |args: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_kc")).args(args).output().expect("kc starts");
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    // The page is compared with the library by a test of its own.
    let page = include_str!("../docs/builtins.md");
    let names = page.lines().find_map(|line| line.split_once(" names, ")).expect("a count").0;
    assert!(text.contains(&format!("[{names} names](docs/builtins.md)")), "the library has {names} names");
    let language = read("docs/language.md");
    assert!(language.contains(&format!("[{names} names](builtins.md)")), "docs/language.md: {names} names");
    let help = kc(&["--help"]);
    let verbs = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let verbs: Vec<&str> =
        verbs.filter_map(|line| line.split_whitespace().next()).filter(|verb| *verb != "help").collect();
    assert!(verbs.len() >= 12, "{help}");
    let usage = read("docs/usage.md");
    for verb in &verbs {
        assert!(usage.contains(&format!("| `kc {verb}")), "the table of commands lacks `kc {verb}`");
    }
    assert_eq!(usage.matches("\n| `kc ").count(), verbs.len(), "the table has commands that kc lacks");
    let emit = kc(&["compile", "--help"]);
    let kinds =
        emit.lines().skip_while(|line| !line.contains("--emit")).filter_map(|line| line.trim().strip_prefix("- "));
    let kinds: Vec<&str> =
        kinds.take_while(|kind| !kind.starts_with("unroll")).filter_map(|kind| kind.split(':').next()).collect();
    let (all, kinds) = kinds.split_last().expect("kinds");
    assert!(*all == "all" && usage.contains(&format!("`--emit {}`", kinds.join(","))), "{kinds:?}");
    let manifest = include_str!("../Cargo.toml");
    let rust =
        manifest.lines().find_map(|line| line.strip_prefix("rust-version = ")).expect("a version").trim_matches('"');
    assert!(text.contains(&format!("Rust ({rust} or newer)")));
    let oldest = kc::driver::Arch::ALL[0].name;
    let says = |path: &str, words: &str| {
        assert!(read(path).split_whitespace().collect::<Vec<_>>().join(" ").contains(words), "{path}: {words}");
    };
    says("docs/compile.md", &format!("`{oldest}` the oldest"));
    says("docs/language.md", &format!("arrays of 1 to {} dimensions", kc::types::MAX_DIMS));
    says("docs/embedding-reference.md", &format!("the {}-byte descriptor", kc::types::ARRAY_DESCRIPTOR_SIZE));
    says("docs/stability.md", &format!("descriptor of {} bytes", kc::types::ARRAY_DESCRIPTOR_SIZE));
}

/// What docs/unsupported.md calls missing is refused, and what kc takes beside it compiles.
#[test]
fn what_is_not_yet_there_is_refused() {
    let text = read("docs/unsupported.md");
    let check = |program: &str| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("k.py");
        std::fs::write(&path, format!("import typing\n\nimport warp as wp\n\n{program}\n")).expect("a writable file");
        let output = Command::new(env!("CARGO_BIN_EXE_kc")).args(["check", "--format", "short"]).arg(&path).output();
        String::from_utf8_lossy(&output.expect("kc starts").stdout).into_owned()
    };
    let kernel = |params: &str, line: &str| format!("@wp.kernel\ndef k({params}):\n    i = wp.tid()\n    {line}");
    for (word, params, line) in [
        ("`wp.address_of`", "x: wp.array(dtype=float)", "p = wp.address_of(x)"),
        ("`wp.array(ptr=)`", "p: wp.uint64", "a = wp.array(ptr=p, shape=(4,), dtype=float)"),
    ] {
        assert!(text.contains(word), "{word}");
        assert!(check(&kernel(params, line)).contains("E0408"), "{word} is there now");
    }
    for (params, line) in [
        ("x: wp.indexedarray(dtype=float)", "x[i] = 1.0"),
        ("x: \"wp.array(dtype=float)\"", "x[i] = 1.0"),
        ("x: wp.array[float]", "x[i] = 1.0"),
        ("x: wp.array(dtype=float, ndim=2)", "x[i, 0] = 1.0"),
        ("x: wp.array2d(dtype=float)", "x[i, 0] = 1.0"),
    ] {
        let said = check(&kernel(params, line));
        assert!(!said.contains("error["), "{params}: {said}");
    }
}
