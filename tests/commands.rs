//! The tour of the commands (docs/commands.md) and the tutorials are true: each line after `$` is
//! typed into a shell, in a folder with the files that the page gives, and says what is below it,
//! with the exit code that the page gives (0 where it gives none).

#[path = "common/gpu.rs"]
mod gpu;

use std::path::Path;
use std::process::{Command, Stdio};

/// A command of the page.
struct Typed {
    command: String,
    /// What it says; `...` represents any text of a line, or alone for any lines.
    says: Vec<String>,
    /// Of the line `$ echo $?` after it.
    code: i32,
}

fn page(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(name)).expect("the page")
}

/// The fenced blocks of a language.
fn blocks<'t>(text: &'t str, language: &str) -> Vec<&'t str> {
    let fence = format!("\n```{language}\n");
    let ends = text.match_indices(&fence).map(|(at, fence)| &text[at + fence.len()..]);
    ends.map(|rest| rest.split_once("```\n").expect("a fence that is closed").0).collect()
}

fn typed(text: &str) -> Vec<Typed> {
    let mut all: Vec<Typed> = Vec::new();
    let mut asks_code = false;
    for line in blocks(text, "console").into_iter().flat_map(str::lines) {
        match (line.strip_prefix("$ "), all.last_mut()) {
            (Some("echo $?"), Some(_)) => asks_code = true,
            (Some(command), _) => all.push(Typed { command: command.to_string(), says: Vec::new(), code: 0 }),
            (None, Some(last)) if asks_code => {
                last.code = line.parse().expect("an exit code");
                asks_code = false;
            }
            (None, Some(last)) => last.says.push(line.to_string()),
            (None, None) => panic!("{line} stands before a command"),
        }
    }
    assert!(!asks_code, "a code is missing");
    all
}

/// Whether a line is as the page shows it.
fn is_line(shown: &str, line: &str) -> bool {
    let mut parts = shown.split("...");
    let Some(mut rest) = line.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, between)) = parts.split_last() else { return rest.is_empty() };
    for part in between {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// Whether the lines are as the page shows them.
fn is_text(shown: &[String], lines: &[&str]) -> bool {
    match (shown.split_first(), lines.split_first()) {
        (None, lines) => lines.is_none(),
        (Some((first, after)), _) if first == "..." => (0..=lines.len()).any(|skip| is_text(after, &lines[skip..])),
        (Some(_), None) => false,
        (Some((first, after)), Some((line, rest))) => is_line(first, line) && is_text(after, rest),
    }
}

#[test]
fn patterns_stand_for_what_they_say() {
    let shown = |text: &str| text.lines().map(str::to_string).collect::<Vec<_>>();
    assert!(is_line("a ... c", "a b c") && is_line("...", "") && is_line("a", "a") && is_line("a...", "a b"));
    assert!(!is_line("a ... c", "a b d") && !is_line("a", "a b") && !is_line("a...c...c", "a c"));
    assert!(is_text(&shown("a\n...\nc"), &["a", "b", "b", "c"]) && is_text(&shown("...\nc"), &["c"]));
    assert!(!is_text(&shown("a\n...\nc"), &["a", "b"]) && !is_text(&shown("a"), &[]) && !is_text(&[], &["a"]));
}

/// Types the commands of a page in a folder, to which its files are added; how many files and
/// commands of kc there are.
fn type_in(text: &str, folder: &Path) -> (usize, usize) {
    type_in_with(text, folder, None)
}

/// The same, with programs of another folder before all others.
fn type_in_with(text: &str, folder: &Path, first: Option<&Path>) -> (usize, usize) {
    let files = blocks(text, "python");
    let programs = blocks(text, "cpp");
    for (file, comment) in files.iter().map(|file| (file, "# ")).chain(programs.iter().map(|file| (file, "// "))) {
        let name = file.lines().next().and_then(|line| line.strip_prefix(comment)).expect("a name");
        std::fs::write(folder.join(name), file).expect("a writable folder");
    }
    // Blocks of Rust without a name are parts of programs.
    for file in blocks(text, "rust") {
        if let Some(name) = file.lines().next().and_then(|line| line.strip_prefix("// ")).filter(|n| n.ends_with(".rs"))
        {
            std::fs::write(folder.join(name), file).expect("a writable folder");
        }
    }
    let commands = typed(text);
    let of_kc = commands.iter().filter(|typed| typed.command.starts_with("kc ")).count();
    let kc = Path::new(env!("CARGO_BIN_EXE_kc")).parent().expect("a folder");
    let first = first.map_or_else(String::new, |first| format!("{}:", first.display()));
    let path = format!("{first}{}:{}", kc.display(), std::env::var("PATH").unwrap_or_default());
    let mut wrong = Vec::new();
    for Typed { command, says, code } in &commands {
        let output = Command::new("sh")
            .args(["-c", &format!("exec 2>&1; {command}")])
            .current_dir(folder)
            .env("PATH", &path)
            .env("PYTHONWARNINGS", "ignore")
            .stdin(Stdio::null())
            .output()
            .expect("a shell");
        let said = String::from_utf8(output.stdout).expect("UTF-8");
        let lines: Vec<&str> = said.lines().collect();
        if output.status.code() != Some(*code) || !is_text(says, &lines) {
            let shown = says.join("\n");
            wrong.push(format!(
                "$ {command}\n{said}({:?})\n-- the page shows\n{shown}\n({code})\n",
                output.status.code()
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), commands.len(), wrong.join("\n"));
    (files.len(), of_kc)
}

/// The text, with what stands in tabs (`=== "Title"`) moved to the left.
#[cfg(unix)]
fn without_tabs(text: &str) -> String {
    let mut in_tab = false;
    let lines = text.lines().map(|line| {
        in_tab = line.starts_with("=== ") || in_tab && (line.is_empty() || line.starts_with("    "));
        if in_tab { line.strip_prefix("    ").unwrap_or(line) } else { line }
    });
    lines.map(|line| format!("{line}\n")).collect()
}

/// Pages with commands of their own.
#[cfg(unix)]
#[test]
fn guides_say_what_they_show() {
    for (name, most) in [
        ("index", 1),
        ("install", 2),
        ("compile", 5),
        ("explore", 1),
        ("tiles", 6),
        ("unsupported", 1),
        ("embedding", 5),
        ("dataset", 10),
    ] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let text = page(&format!("{name}.md"));
        let flat = without_tabs(&text);
        let (_, of_kc) = type_in(&flat, folder.path());
        assert!(of_kc >= most, "{name}: {of_kc} commands");
    }
}

/// The folder of the simulator's page has the examples in it, as a clone has.
#[cfg(unix)]
#[test]
fn the_simulator_says_what_its_page_says() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    std::os::unix::fs::symlink(examples, folder.path().join("examples")).expect("a link");
    let (files, of_kc) = type_in(&page("simulator.md"), folder.path());
    assert!(files == 1 && of_kc >= 3, "{files} files, {of_kc} commands");
}

/// The page about CUDA programs: with libraries of Python that are their clients.
#[cfg(unix)]
#[test]
fn kc_gpu_says_what_its_page_says() {
    gpu::library();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let clients = Path::new(env!("CARGO_MANIFEST_DIR")).join(".env-gpu/bin");
    assert!(clients.is_dir(), "`scripts/setup.sh test` makes .env-gpu");
    let (files, of_kc) = type_in_with(&page("gpu.md"), folder.path(), Some(&clients));
    assert!(files == 2 && of_kc >= 6, "{files} files, {of_kc} commands");
}

#[cfg(unix)]
#[test]
fn the_tutorials_say_what_their_pages_say() {
    for (name, most) in [("first-kernel", 8), ("gradients", 5), ("cpp", 1), ("data-sets", 7)] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (_, of_kc) = type_in(&page(&format!("tutorials/{name}.md")), folder.path());
        assert!(of_kc >= most, "{name}: {of_kc} commands");
    }
}

#[test]
fn the_commands_say_what_the_page_says() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (files, of_kc) = type_in(&page("commands.md"), folder.path());
    assert_eq!(files, 2);
    assert!(of_kc >= 30, "{of_kc} commands");
    // What they wrote is there and has something in it.
    for name in ["heat.ptx", "heat.cu", "native/heat.o", "new.npy", "profile.html", "kc.bash", "man/kc-run.1"] {
        let written = std::fs::metadata(folder.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(written.len() > 100, "{name} has {} bytes", written.len());
    }
}
