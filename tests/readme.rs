//! The README tells the truth: its example becomes the CUDA text that it shows, and its commands are accepted.

use std::process::Command;

fn readme() -> String {
    std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).expect("README.md")
}

/// The fenced blocks of a language.
fn blocks(language: &str) -> Vec<String> {
    let (text, fence) = (readme(), format!("\n```{language}\n"));
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
    std::fs::write(&path, blocks("python").swap_remove(0)).expect("a writable file");
    let output = Command::new(env!("CARGO_BIN_EXE_kc"))
        .args(["compile", "--emit", "cuda", "-o", "-"])
        .arg(&path)
        .output()
        .expect("kc starts");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let all = blocks("cuda");
    assert_eq!(all.len(), 2, "forward and backward");
    for shown in all {
        if std::env::var_os("KC_BLESS").is_some_and(|value| value == "1") {
            let readme = readme().replace(&shown, &same_functions(&text, &shown));
            std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md"), readme).expect("a writable README");
        } else {
            assert!(
                text.contains(&shown),
                "the README shows\n{shown}\n\nbut kc writes\n{text}\n(KC_BLESS=1 rewrites it)"
            );
        }
    }
}

#[test]
fn the_commands_work() {
    let root = env!("CARGO_MANIFEST_DIR");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let text = readme();
    // Every second piece between fences is a block.
    let blocks = text.split("\n```").skip(1).step_by(2);
    let commands: Vec<&str> = blocks.flat_map(str::lines).filter(|line| line.starts_with("kc ")).collect();
    assert!(commands.len() >= 4, "{commands:?}");
    for command in commands {
        let command = command.replace("-o out", &format!("-o {}", folder.path().display()));
        let line = command.replacen("kc", env!("CARGO_BIN_EXE_kc"), 1);
        let output = Command::new("sh").args(["-c", &line]).current_dir(root).output().expect("a shell");
        assert!(output.status.success(), "{command}\n{}", String::from_utf8_lossy(&output.stderr));
    }
}
