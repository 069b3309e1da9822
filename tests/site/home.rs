//! What the first pages show is what kc makes, and what a newcomer asks is two clicks away.

use std::process::Command;

use crate::{root, succeed};

fn read(page: &str) -> String {
    std::fs::read_to_string(root().join("docs").join(page)).unwrap_or_else(|error| panic!("{page}: {error}"))
}

/// The block of a language in the tabs of the home page, moved to the left.
fn tab(language: &str, nth: usize) -> String {
    let page = read("index.md");
    let block = page.split(&format!("\n    ```{language}\n")).nth(nth + 1).expect(language);
    let lines = block.split("\n    ```").next().expect("an end").lines();
    lines.map(|line| line.strip_prefix("    ").unwrap_or(line)).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_home_page_shows_what_kc_makes() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("fade.py");
    std::fs::write(&file, tab("python", 0)).expect("a writable folder");
    let compiled = |options: &[&str]| {
        succeed(Command::new(env!("CARGO_BIN_EXE_kc")).arg("compile").arg(&file).args(["-o", "-"]).args(options))
    };
    let cuda = compiled(&["--emit", "cuda", "--abi", "plain"]);
    let ptx = compiled(&["--emit", "ptx", "--layout", "contiguous", "--grid", "covering", "--arch", "sm_90"]);
    for (text, shown) in [(&cuda, tab("cuda", 0)), (&cuda, tab("cuda", 1)), (&ptx, tab("ptx", 0))] {
        assert!(shown.lines().count() > 5 && text.contains(&shown), "shown:\n{shown}\nmade:\n{text}");
    }
}

/// `KC_BLESS=1` draws it anew.
#[test]
fn the_picture_is_drawn_from_what_kc_makes() {
    let drawn = succeed(Command::new("python3").arg("scripts/site/panels.py").arg(env!("CARGO_BIN_EXE_kc")));
    if std::env::var_os("KC_BLESS").is_some() {
        std::fs::write(root().join("docs/home.svg"), &drawn).expect("docs can be written");
    }
    assert!(drawn == read("home.svg"), "`scripts/site/panels.py KC > docs/home.svg` draws another picture");
}

/// Whether a page has a link to another one, as they stand below docs.
fn leads(from: &str, to: &str) -> bool {
    let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
    let text = read(from);
    text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).any(|(link, _)| {
        let mut path: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
        for part in link.split('#').next().unwrap_or_default().split('/') {
            if part == ".." { path.pop().map_or((), |_| ()) } else { path.push(part) }
        }
        path.join("/") == to
    })
}

/// A reader who knows CUDA and not kc finds each answer with at most two clicks from the home page.
#[test]
fn ten_questions_are_answered() {
    for (question, pages, answer) in [
        ("How do I install it?", &["install.md"][..], "pip install kc_compiler-*.whl"),
        ("How do I get PTX for sm_90?", &["compile.md"], "kc compile saxpy.py --emit ptx --arch sm_90"),
        ("Is my gradient right?", &["tutorials/gradients.md"], "$ kc gradcheck bowl.py"),
        ("What does a W06xx warning mean?", &["codes.md"], "### W0602: "),
        ("How do I call a kernel from C++?", &["tutorials/cpp.md"], "kc::launch(bowl::roll_cpu_launch"),
        ("How do I run without a GPU?", &["simulator.md"], "--device sim"),
        ("How do I run without a GPU?", &["gpu.md"], "kc gpu sums.py"),
        ("How do I make 1,000 rows of training data?", &["dataset.md"], "kc dataset -n 1000"),
        ("How fast is it beside Warp?", &["performance.md"], "Warp's time is 4.65 times that of kc"),
        ("What is not supported?", &["unsupported.md"], "| `wp.array(ptr=)`"),
        ("How do I report a bug?", &["bugs.md"], "Open an issue with the form *Bug*"),
        ("How do I speed up a Warp program?", &["python.md", "python-reference.md"], "kc.accelerate()"),
    ] {
        assert!(pages.len() <= 2);
        let mut at = "index.md";
        for page in pages {
            assert!(leads(at, page), "{question} {at} has no link to {page}");
            at = page;
        }
        assert!(read(at).contains(answer), "{question} {at} does not say: {answer}");
    }
    let home = read("index.md");
    let asked = home.split("## Ten questions").nth(1).expect("the questions").lines();
    assert_eq!(asked.filter(|line| line.ends_with(") |")).count(), 10);
}

/// The gallery has seventeen pictures with words beside them, and the files that it names.
#[test]
fn the_gallery_has_what_it_names() {
    let page = read("examples.md");
    let sections: Vec<&str> = page.split("\n## ").skip(1).collect();
    assert_eq!(sections.len(), 17);
    for section in sections {
        let title = section.lines().next().unwrap_or_default();
        let picture = section.split("](").nth(1).and_then(|rest| rest.split(')').next()).expect("a picture");
        assert!(root().join("docs").join(picture).is_file(), "{title}: {picture}");
        let words = section.split("```").next().expect("text").split_whitespace().count();
        assert!(words >= 30, "{title} has {words} words");
        for file in section.split_whitespace().filter(|word| word.starts_with("examples/") && !word.contains(']')) {
            assert!(root().join(file).exists(), "{title}: {file}");
        }
    }
}
