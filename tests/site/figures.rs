//! Figures have one source, the tables of docs/performance.md and benches/results: what the README,
//! the home page, "why kc" and the page itself say in words is computed from these tables again.

use crate::root;

fn page(name: &str) -> String {
    let text = std::fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The cells of the table whose head begins with these words.
fn table(file: &str, head: &str) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
    let rows = text.lines().skip_while(|line| !line.starts_with(head)).skip(2).take_while(|line| line.starts_with('|'));
    rows.map(|row| row.trim_matches('|').split(" |").map(|cell| cell.trim().to_string()).collect()).collect()
}

/// The geometric mean of one column over another, of the rows that have both.
fn ratio<'r>(rows: impl Iterator<Item = &'r Vec<String>>, over: usize, under: usize) -> f64 {
    let pairs = rows.filter_map(|row| Some((row[over].parse::<f64>().ok()?, row[under].parse::<f64>().ok()?)));
    let logs: Vec<f64> = pairs.map(|(a, b)| (a / b).ln()).collect();
    assert!(logs.len() >= 11, "{} rows", logs.len());
    (logs.iter().sum::<f64>() / logs.len() as f64).exp()
}

/// Whether a text has the number to as many digits as it is given there.
fn is_close(said: f64, digits: i32, found: f64) -> bool {
    (said - found).abs() <= 0.51 * 10f64.powi(-digits)
}

#[test]
fn means_are_those_of_the_tables() {
    const SPEED: &str = "docs/performance.md";
    let host = table(SPEED, "| kernel | Warp | kc | Warp / kc | two cores");
    let gpu = table(SPEED, "| kernel | | kc, dense | launch");
    assert_eq!((host.len(), gpu.len()), (15, 28));
    let entry = |name| gpu.iter().filter(move |row: &&Vec<String>| row[1] == name);
    for (said, digits, found) in [
        (4.65, 2, ratio(host.iter(), 1, 2)),
        (7.8, 1, ratio(host.iter(), 1, 4)),
        (4.7, 1, ratio(host.iter(), 8, 9)),
        (7.7, 1, ratio(host.iter(), 8, 11)),
        (2.29, 2, ratio(entry("forward"), 5, 3)),
        (1.37, 2, ratio(entry("backward"), 5, 2)),
    ] {
        assert!(is_close(said, digits, found), "{said} is said, {found} comes of the table");
    }
    for (name, said) in [
        (
            "README.md",
            "| one core of an Intel Xeon | 4.65 | 4.7 | | two cores | 7.8 | 7.7 | | an NVIDIA H200 | 2.29 | 1.37 |",
        ),
        ("docs/index.md", "4.65 times forward, 4.7 backward"),
        ("docs/index.md", "2.29 times forward, 1.37 backward"),
        (SPEED, "Warp's time is 4.65 times that of kc forward and 4.7 times backward"),
        (SPEED, "it is 7.8 and 7.7 times"),
        (SPEED, "Warp takes 2.29 times as long as kc forward and 1.37 times backward"),
        ("docs/why.md", "Warp takes 2.29 times as long forward and 1.37 times backward"),
        ("benches/results/host-rocket-lake.md", "forward 4.65x on one core and 7.8x on two"),
    ] {
        assert!(page(name).contains(said), "{name} does not say: {said}");
    }
}

/// Rows of docs/performance.md are those of the file that was written when they were measured.
#[test]
fn rows_are_those_of_the_measurements() {
    let speed = std::fs::read_to_string(root().join("docs/performance.md")).expect("the page");
    let mut all: Vec<Vec<String>> = Vec::new();
    for file in std::fs::read_dir(root().join("benches/results")).expect("measurements").flatten() {
        let text = std::fs::read_to_string(file.path()).expect("a file");
        all.extend(
            text.lines()
                .filter(|line| line.starts_with('|'))
                .map(|line| line.split('|').map(|cell| cell.trim().to_string()).collect()),
        );
    }
    let number = |cell: &str| cell.parse::<f64>().is_ok();
    let mut compared = 0;
    for line in speed.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let figures: Vec<&str> = cells.iter().skip(2).copied().filter(|cell| number(cell)).collect();
        if figures.len() < 3 {
            continue;
        }
        let has = |row: &Vec<String>| {
            let mut rest = row.iter();
            row.contains(&cells[1].to_string()) && figures.iter().all(|figure| rest.any(|cell| cell == figure))
        };
        assert!(all.iter().any(has), "no measurement has {line}");
        compared += 1;
    }
    assert!(compared >= 45, "{compared} rows");
}

#[test]
fn counts_are_those_of_conformance() {
    let conformance = page("docs/conformance.md");
    for (row, said) in [
        ("without tiles, on the host | 1,216 | 1,230 |", "1,216 of 1,230"),
        ("Warp's own is right | 274 | 274 |", "274 of 274"),
        ("files that compile | 1,682 | 1,739 |", "1,682 of 1,739"),
    ] {
        assert!(conformance.contains(row), "{row}");
        assert!(page("docs/index.md").contains(said), "{said}");
    }
    assert!(page("README.md").contains("1,739 core kernels, [1,682 compile]"));
    assert!(page("docs/performance.md").contains("| check of a kernel of 20 lines | 5.6 |"));
    assert!(page("docs/index.md").contains("a kernel of 20 lines | 5.6 ms |"));
}
