//! Can pages be read at one go? Guides have short sentences of common words, no page has a date but
//! in a table, and the two pages that everybody opens are short.
//!
//! A sentence is what ends in `.`, `!`, `?` or `:`, or an item of a list. Code, tables, headings,
//! pictures and addresses of links are left out; a piece of code in a line counts as one word of
//! two syllables. Syllables are counted by groups of vowels, as programs do that compute Flesch's
//! reading ease: 206.835 - 1.015 words a sentence - 84.6 syllables a word. 60 is plain English.

use crate::{pages, root};

/// Pages that teach or solve a task, and those with the rules behind them.
const GUIDES: [&str; 33] = [
    "../README.md",
    "index.md",
    "install.md",
    "compile.md",
    "python.md",
    "tiles.md",
    "embedding.md",
    "dataset.md",
    "simulator.md",
    "performance.md",
    "unsupported.md",
    "bugs.md",
    "stability.md",
    "examples.md",
    "tutorials/first-kernel.md",
    "tutorials/gradients.md",
    "tutorials/cpp.md",
    "tutorials/data-sets.md",
    "../SECURITY.md",
    "../CHANGELOG.md",
    "why.md",
    "commands.md",
    "usage.md",
    "conformance.md",
    "cuda.md",
    "language.md",
    "launches.md",
    "gradients.md",
    "python-reference.md",
    "tiles-reference.md",
    "dataset-reference.md",
    "simulator-reference.md",
    "embedding-reference.md",
];

fn read(page: &str) -> String {
    std::fs::read_to_string(root().join("docs").join(page)).unwrap_or_else(|error| panic!("{page}: {error}"))
}

/// The lines that are neither code nor of a table, headings or markup.
fn prose(text: &str) -> Vec<&str> {
    let body = text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n")).map_or(text, |(_, body)| body);
    let mut fenced = false;
    let lines = body.lines().filter(|line| {
        let line = line.trim_start();
        let fence = line.starts_with("```");
        fenced ^= fence;
        !fenced && !fence && !["|", "#", "<", "===", "!["].iter().any(|start| line.starts_with(start))
    });
    lines.collect()
}

/// Text of prose without what is not read aloud: addresses, stars, code.
fn spoken(line: &str) -> String {
    let mut out = String::new();
    for (n, part) in line.split('`').enumerate() {
        out += if n % 2 == 1 { "codeword" } else { part };
    }
    while let Some(at) = out.find("](") {
        let end = out[at..].find(')').map_or(out.len(), |end| at + end + 1);
        out.replace_range(at..end, "");
    }
    out.replace(['[', ']', '*', '<', '>'], "")
}

fn sentences(text: &str) -> Vec<Vec<String>> {
    let mut paragraphs: Vec<String> = vec![String::new()];
    for line in prose(text) {
        let trimmed = line.trim_start();
        let item = ["- ", "1. ", "-   "].iter().any(|start| trimmed.starts_with(start));
        if trimmed.is_empty() || item {
            paragraphs.push(String::new());
        }
        let last = paragraphs.last_mut().expect("a paragraph");
        *last += " ";
        *last += trimmed.trim_start_matches("- ").trim_start_matches("-   ");
    }
    let mut out = Vec::new();
    for paragraph in &paragraphs {
        let mut sentence = Vec::new();
        for word in spoken(paragraph).split_whitespace() {
            let letters: String = word.chars().filter(|c| c.is_alphanumeric() || *c == '\'').collect();
            if !letters.is_empty() {
                sentence.push(letters);
            }
            if word.trim_end_matches([')', '"']).ends_with(['.', '!', '?', ':']) {
                out.push(std::mem::take(&mut sentence));
            }
        }
        out.push(sentence);
    }
    out.retain(|sentence| !sentence.is_empty());
    out
}

fn syllables(word: &str) -> usize {
    if word == "codeword" {
        return 2;
    }
    if word.chars().any(|c| c.is_ascii_digit()) {
        return 1;
    }
    let word = word.to_lowercase();
    let vowel = |c: char| "aeiouy".contains(c);
    let letters: Vec<char> = word.chars().collect();
    let groups = letters.iter().enumerate().filter(|(n, c)| vowel(**c) && (*n == 0 || !vowel(letters[n - 1]))).count();
    // A silent e: "compile", "files", but not "table".
    let stem = word.strip_suffix('s').unwrap_or(&word);
    let syllabic = stem.strip_suffix("le").is_some_and(|before| before.ends_with(|c| !vowel(c)));
    let past = word.ends_with("ed") && !word.ends_with("ted") && !word.ends_with("ded");
    let silent = stem.ends_with('e') && !syllabic || past;
    groups.saturating_sub(usize::from(silent && groups > 1)).max(1)
}

/// Words a sentence, and Flesch's reading ease.
fn measured(text: &str) -> (f64, f64) {
    let all = sentences(text);
    let words: Vec<&String> = all.iter().flatten().collect();
    let spoken: usize = words.iter().map(|word| syllables(word)).sum();
    let mean = words.len() as f64 / all.len() as f64;
    (mean, 206.835 - 1.015 * mean - 84.6 * spoken as f64 / words.len() as f64)
}

#[test]
fn measures_are_those_of_known_texts() {
    let count = |word: &str, number| assert_eq!(syllables(word), number, "{word}");
    for (word, number) in [("the", 1), ("kernel", 2), ("compile", 2), ("files", 1), ("table", 2), ("gradient", 2)] {
        count(word, number);
    }
    let (mean, ease) =
        measured("# Title\n\nThe cat sat on the mat. It is `a b`.\n\n```sh\nno prose\n```\n\n| a | b |\n");
    assert!((mean - 4.5).abs() < 1e-9 && (100.0..125.0).contains(&ease), "{mean} {ease}");
    let hard =
        "Differentiability considerations necessitate comprehensive instrumentation of intermediate representations.";
    assert!(measured(hard).1 < 0.0);
}

#[test]
fn guides_are_easy_to_read() {
    let mut hard = Vec::new();
    for page in GUIDES {
        let text = read(page);
        let (mean, ease) = measured(&text);
        if std::env::var_os("KC_SHOW").is_some() {
            let longest = sentences(&text).into_iter().max_by_key(Vec::len).unwrap_or_default();
            println!("{page}: {mean:.1} words a sentence, ease {ease:.0}; {}: {}", longest.len(), longest.join(" "));
        }
        if mean > 20.0 || ease < 50.0 {
            hard.push(format!("{page}: {mean:.1} words a sentence, reading ease {ease:.0}"));
        }
    }
    assert!(hard.is_empty(), "{hard:#?}");
}

/// A date tells when something was measured: it stands in the table, or in a file of measurements.
#[test]
fn dates_stand_in_tables() {
    let months = "January February March April May June July August September October November December";
    let is_month = |word: &str| months.split(' ').any(|month| month == word);
    let mut all = vec!["../README.md".to_string(), "../CHANGELOG.md".to_string()];
    pages(&root().join("docs"), &mut all);
    let mut dated = Vec::new();
    for page in &all {
        let text = read(page);
        let joined = prose(&text).join(" ");
        let words: Vec<&str> = joined.split_whitespace().collect();
        for pair in words.windows(2) {
            let day = pair[0].trim_matches('(').parse::<u32>().is_ok_and(|day| (1..=31).contains(&day));
            let month = is_month(pair[1].trim_end_matches(|c: char| !c.is_alphabetic()));
            let year = is_month(pair[0]) && pair[1].starts_with("20");
            if day && month || year {
                dated.push(format!("{page}: {} {}", pair[0], pair[1]));
            }
        }
    }
    assert!(dated.is_empty(), "{dated:#?}");
}

#[test]
fn first_pages_are_short() {
    let lines = |page: &str| read(page).lines().count();
    assert!(lines("../README.md") < 150, "README.md has {} lines", lines("../README.md"));
    assert!(lines("../CHANGELOG.md") <= 120, "CHANGELOG.md has {} lines", lines("../CHANGELOG.md"));
}
