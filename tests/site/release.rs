//! What a release and the forms of the repository name is there.

use crate::root;

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Every `make TARGET`, script and file of the workflows and of the container.
#[test]
fn workflows_name_what_there_is() {
    let makefile = read("Makefile");
    let targets = makefile.lines().find_map(|line| line.strip_prefix(".PHONY: ")).expect("targets");
    let targets: Vec<&str> = targets.split(' ').collect();
    let mut made = 0;
    for name in ["tests", "wheels", "site", "gpu"] {
        let text = read(&format!(".github/workflows/{name}.yml"));
        assert!(text.contains(&format!("\nname: {name}\n")) && text.contains("\npermissions:\n"), "{name}");
        for line in text.lines().filter_map(|line| line.split_once("run: ")).map(|(_, command)| command) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let make = words.iter().position(|word| *word == "make");
            for target in make.map_or(&[][..], |at| &words[at + 1..]).iter().take_while(|word| **word != "&&") {
                assert!(targets.contains(target), "{name}: make {target}");
                made += 1;
            }
            for file in words.iter().filter(|word| word.starts_with("scripts/") || word.starts_with(".ci/")) {
                assert!(root().join(file).exists(), "{name}: {file}");
            }
        }
    }
    assert!(made >= 4, "{made} targets");
    let container = read("Containerfile");
    for line in container.lines().filter(|line| line.starts_with("COPY --from=build /kc/")) {
        let path = line.split(' ').nth(2).and_then(|path| path.strip_prefix("/kc/")).expect("a path");
        assert!(path.starts_with("target/release/") || root().join(path).exists(), "{path}");
    }
    let rust = read("Cargo.toml");
    let rust = rust.lines().find_map(|line| line.strip_prefix("rust-version = ")).expect("a version").trim_matches('"');
    assert!(container.contains(&format!("--default-toolchain {rust}")), "{rust}");
}

#[test]
fn versions_are_one() {
    let version = env!("CARGO_PKG_VERSION");
    assert!(read("CITATION.cff").contains(&format!("\nversion: {version}\n")), "CITATION.cff: {version}");
    assert!(read("CHANGELOG.md").contains(&format!("\n## {version}")), "CHANGELOG.md: {version}");
    assert!(read("docs/install.md").contains(&format!("kc {version}\n")), "docs/install.md: {version}");
}

/// The page about bugs sends people to forms that there are.
#[test]
fn forms_are_those_of_the_page() {
    let page = read("docs/bugs.md");
    for (name, file) in [("Bug", "bug"), ("Speed", "speed"), ("Wish", "wish")] {
        assert!(page.contains(&format!("*{name}*")), "{name}");
        assert!(read(&format!(".github/ISSUE_TEMPLATE/{file}.yml")).starts_with(&format!("name: {name}\n")), "{file}");
    }
}
