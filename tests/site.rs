//! The documentation as a site (`make site`): every page is in it and found by its search, links lead somewhere, a browser shows it; and what
//! the page "why kc" says was measured stands in the pages that it names.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The pages below `docs`, from there.
fn pages(folder: &Path, out: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            pages(&path, out);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            out.push(path.strip_prefix(root().join("docs")).expect("below docs").display().to_string());
        }
    }
}

#[test]
fn every_page_is_named() {
    let plan = std::fs::read_to_string(root().join("scripts/site/mkdocs.yml")).expect("the plan of the site");
    let index = std::fs::read_to_string(root().join("docs/index.md")).expect("the first page");
    let mut all = Vec::new();
    pages(&root().join("docs"), &mut all);
    assert!(all.len() >= 20, "{all:?}");
    for page in all {
        assert!(plan.contains(&format!(" {page}\n")), "scripts/site/mkdocs.yml does not name {page}");
        let below = page.contains('/') || page == "index.md";
        assert!(below || index.contains(&format!("({page})")), "docs/index.md does not name {page}");
    }
}

/// Links between pages lead to pages and headings; those to the outside are not tried.
#[test]
fn links_lead_to_files() {
    let mut all = vec!["../README.md".to_string()];
    pages(&root().join("docs"), &mut all);
    let mut tried = 0;
    for page in all {
        let path = root().join("docs").join(&page);
        let text = std::fs::read_to_string(&path).expect("a page");
        for link in text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link) {
            let file = link.split('#').next().unwrap_or_default();
            if file.is_empty() || file.contains("://") || file.contains(char::is_whitespace) {
                continue;
            }
            let to = path.parent().expect("a folder").join(file);
            assert!(to.exists(), "{page}: {link}");
            tried += 1;
        }
    }
    assert!(tried > 40, "{tried} links");
}

/// Each row of figures of "why kc" stands in one of the pages that it names, in the same order.
#[test]
fn figures_stand_where_they_were_measured() {
    let page = |name: &str| std::fs::read_to_string(root().join("docs").join(name)).expect("a page");
    let cells = |line: &str| -> Vec<String> { line.split('|').map(|cell| cell.trim().to_string()).collect() };
    let number = |cell: &&String| cell.parse::<f64>().is_ok();
    let (why, speed, gradients) = (page("why.md"), page("performance.md"), page("gradients-warp.md"));
    let rows: Vec<Vec<String>> = speed.lines().chain(gradients.lines()).map(cells).collect();
    let mut compared = 0;
    for line in why.lines().filter(|line| line.starts_with('|')) {
        let own = cells(line);
        let figures: Vec<&String> = own.iter().filter(number).collect();
        if figures.is_empty() {
            continue;
        }
        let has = |row: &Vec<String>| {
            let mut rest = row.iter();
            figures.iter().all(|figure| rest.any(|cell| cell == *figure))
        };
        assert!(rows.iter().any(has), "no page has {line}");
        compared += 1;
    }
    assert!(compared >= 7, "{compared} rows");
}

/// Builds the site; `scripts/setup.sh site` has made the environment.
fn build() -> PathBuf {
    let site = tempfile::tempdir().expect("a temporary folder").keep();
    let output = Command::new(root().join(".env-site/bin/mkdocs"))
        .args(["build", "--quiet", "--strict", "--config-file", "scripts/site/mkdocs.yml", "--site-dir"])
        .arg(&site)
        .current_dir(root())
        .output()
        .expect("`scripts/setup.sh site` makes .env-site");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    site
}

/// `cargo test --test site -- --ignored`: needs `.env-site` and Chromium (or its name in `KC_BROWSER`).
#[test]
#[ignore = "needs a browser"]
fn a_browser_shows_and_searches_it() {
    let site = build();
    let mut server = Command::new("python3")
        .args(["-u", "-m", "http.server", "0", "--bind", "127.0.0.1"])
        .current_dir(&site)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("python3 starts");
    let mut said = std::io::BufReader::new(server.stdout.take().expect("a pipe"));
    let mut line = String::new();
    std::io::BufRead::read_line(&mut said, &mut line).expect("the server says where it is");
    let port = line.split_whitespace().skip_while(|word| *word != "port").nth(1).expect("a port").to_string();
    let browser = std::env::var("KC_BROWSER").unwrap_or_else(|_| "chromium".to_string());
    let show = |page: &str| {
        let output = Command::new(&browser)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=10000", "--dump-dom"])
            .arg(format!("http://127.0.0.1:{port}/{page}"))
            .output()
            .unwrap_or_else(|error| panic!("{browser} does not start: {error}"));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let (first, why, found) = (show("index.html"), show("why.html"), show("search.html?q=checkpoint"));
    server.kill().expect("the server is there");
    let _ = server.wait();
    std::fs::remove_dir_all(&site).expect("the site is ours");
    assert!(first.contains("<h1 id=\"kc\">kc</h1>") && first.contains("href=\"why.html\""), "{first}");
    assert!(why.contains("<td>379.5344</td>"), "{why}");
    // What the script of the search wrote into the page.
    assert!(found.contains("gradients.html"), "{found}");
}
