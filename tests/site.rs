//! The documentation as a site (`make site`): every page is in it and found by its search, links
//! lead somewhere, a browser shows it; and what the page "why kc" says was measured is in the pages
//! that it names.

#[path = "site/codes.rs"]
mod codes;
#[path = "site/figures.rs"]
mod figures;
#[path = "site/home.rs"]
mod home;
#[path = "site/reading.rs"]
mod reading;
#[path = "site/release.rs"]
mod release;
#[path = "site/spelling.rs"]
mod spelling;

use std::path::{Path, PathBuf};
use std::process::Command;

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
    let mut all = Vec::new();
    pages(&root().join("docs"), &mut all);
    assert!(all.len() >= 20, "{all:?}");
    for page in all {
        assert!(plan.contains(&format!(" {page}\n")), "scripts/site/mkdocs.yml does not name {page}");
    }
}

/// Prose has at most 100 columns, but for a line that one long piece of code or link fills.
#[test]
fn prose_is_narrow() {
    let mut all = vec!["../README.md".to_string(), "../CONTRIBUTING.md".to_string(), "../CHANGELOG.md".to_string()];
    pages(&root().join("docs"), &mut all);
    // `kc doc` and `kc explain` write these.
    all.retain(|page| page != "builtins.md" && page != "codes.md");
    let mut wide = Vec::new();
    for page in &all {
        let text = std::fs::read_to_string(root().join("docs").join(page)).expect("a page");
        let mut fenced = false;
        for (n, line) in text.lines().enumerate() {
            fenced ^= line.trim_start().starts_with("```");
            let is_prose = !fenced && !line.trim_start().starts_with('|') && !line.starts_with("    ");
            let pieces = line.split('`').enumerate().flat_map(|(n, part)| match n % 2 {
                0 => part.split(' ').map(str::len).collect::<Vec<_>>(),
                _ => vec![part.len()],
            });
            if is_prose && line.chars().count() > 100 && pieces.max() < Some(60) {
                wide.push(format!("{page}:{}", n + 1));
            }
        }
    }
    assert!(wide.is_empty(), "more than 100 columns: {wide:#?}");
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
        // In code `k[4, 256](x)` is a launch.
        let text: String = text.split("```").step_by(2).collect();
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

/// Each row of figures of "why kc" and of the first pages is in a page or file that they name, in
/// the same order; what is said in words is what the tables come to.
#[test]
fn figures_stand_where_they_were_measured() {
    let page = |name: &str| std::fs::read_to_string(root().join("docs").join(name)).expect("a page");
    let cells = |line: &str| -> Vec<String> { line.split('|').map(|cell| cell.trim().to_string()).collect() };
    // `1,139` and `12 / 21` too.
    let is_figure = |part: &str| part.replace(',', "").trim().parse::<f64>().is_ok();
    let number = |cell: &&String| cell.split('/').all(is_figure);
    let (why, speed, gradients) = (page("why.md"), page("performance.md"), page("gradients-warp.md"));
    let [ptx, programs, peers] =
        ["ptx", "warp-programs", "peers"].map(|name| page(&format!("../benches/results/{name}.md")));
    let measured = ptx.lines().chain(programs.lines()).chain(peers.lines());
    let of_pages = speed.lines().chain(gradients.lines()).chain(measured);
    let rows: Vec<Vec<String>> = of_pages.map(cells).collect();
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
    assert!(compared >= 16, "{compared} rows");
    // What it says in words.
    let (cuda, gallery) = (page("cuda.md"), page("gallery.md"));
    let all = cuda.lines().find(|line| line.starts_with("| **all** |")).map(cells).expect("the sum of the table");
    let ratios = format!("{} times the lines, and its gradients {} times", all[4], all[7]);
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words(&why).contains(&ratios), "docs/cuda.md says {ratios}");
    let count = gallery.matches("\n## ").count();
    assert!(why.contains(&format!("[{count} common mistakes](gallery.md)")), "the gallery has {count}");
    for mean in ["1.00 / 1.23", "1.19 / 1.72", "1.71 / 6.13"] {
        assert!(why.contains(mean) && ptx.contains(mean), "{mean}");
    }
}

/// What shows pages; it is not on every machine. `KC_BROWSER=NAME` takes another browser of the
/// family, and fails without it.
fn browser() -> Result<PathBuf, String> {
    if let Some(browser) = std::env::var_os("KC_BROWSER") {
        return Ok(browser.into());
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let named =
        std::env::split_paths(&folders).flat_map(|folder| ["chromium", "google-chrome"].map(|name| folder.join(name)));
    let browser = named.into_iter().find(|path| path.exists());
    browser.ok_or("no Chromium in PATH; KC_BROWSER names another one".to_string())
}

/// What makes the site, and what shows it.
fn tools() -> Result<(PathBuf, PathBuf), String> {
    let mkdocs = root().join(".env-site/bin/mkdocs");
    if !mkdocs.exists() {
        return Err("`scripts/setup.sh site` has not made .env-site".to_string());
    }
    Ok((mkdocs, browser()?))
}

/// What a command prints; it succeeds.
fn succeed(command: &mut Command) -> String {
    let output = command.current_dir(root()).output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Reports of `kc profile` open in Chromium: they ask for nothing, their pictures show and their
/// links lead to lines. `KC_BLESS=1` takes the pictures of docs/simulator.md.
#[test]
fn a_browser_shows_reports() {
    let browser = match browser() {
        Ok(browser) => browser,
        Err(why) => return eprintln!("left out: {why}"),
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let reports = ["histogram", "spmv", "mandelbrot"];
    for name in reports {
        let mut kc = Command::new(env!("CARGO_BIN_EXE_kc"));
        kc.args(["profile", &format!("examples/launches/{name}.json"), "--registers", "32", "--html"]);
        succeed(kc.arg(folder.path().join(format!("profile-{name}.html"))));
    }
    let mut look = Command::new("python3");
    look.arg("tests/site/browser.py").arg(browser).arg(folder.path()).arg("--pictures").arg(folder.path());
    let seen: serde_json::Value = serde_json::from_str(&succeed(&mut look)).expect("JSON");
    assert_eq!(seen["faults"], serde_json::json!([]), "{seen:#}");
    assert!(seen["links"].as_u64() > Some(50), "{seen:#}");
    for name in reports {
        let page = &seen["pages"][format!("profile-{name}.html")];
        assert!(page["words"].as_u64() > Some(300), "{name}: {seen:#}");
        let file = format!("profile-{name}.png");
        let picture = std::fs::read(folder.path().join(&file)).expect("a picture");
        assert!(picture.starts_with(b"\x89PNG") && picture.len() > 20_000, "{name}: {} bytes", picture.len());
        if std::env::var_os("KC_BLESS").is_some() {
            std::fs::write(root().join("docs").join(file), picture).expect("docs can be written");
        }
    }
}

/// Every page opens in Chromium and asks no other server for anything. Its pictures show, its links
/// lead to places, nothing leaves the screen of a phone, and the search finds. Five pages also have
/// names for their controls and contrast in both colour schemes, and the first one is light. Where
/// there is no browser it says that it was left out: `cargo test --test site -- --nocapture`.
#[test]
fn a_browser_shows_and_searches_it() {
    let (mkdocs, browser) = match tools() {
        Ok(tools) => tools,
        Err(why) if std::env::var_os("KC_BROWSER").is_none() => return eprintln!("left out: {why}"),
        Err(why) => panic!("{why}"),
    };
    let site = tempfile::tempdir().expect("a temporary folder");
    let plan = ["build", "--quiet", "--strict", "--config-file", "scripts/site/mkdocs.yml", "--site-dir"];
    succeed(Command::new(mkdocs).args(plan).arg(site.path()).env("NO_MKDOCS_2_WARNING", "1"));
    // The subject of a page, a name before a bracket, a name after a dot, a code.
    let words = [
        ("checkpoint", "gradients.html"),
        ("kc_add_kernels", "embedding.html"),
        ("tile_matmul", "tiles.html"),
        ("E0301", "gallery.html"),
    ];
    let mut look = Command::new("python3");
    look.arg("tests/site/browser.py").arg(browser).arg(site.path()).args(words.map(|(word, _)| word)).arg("--phone");
    let closely = ["index", "tiles", "performance", "tutorials/first-kernel", "python"];
    look.args(closely.map(|page| format!("--look={page}.html"))).arg("--disk=tile_matmul");
    let seen: serde_json::Value = serde_json::from_str(&succeed(&mut look)).expect("JSON");
    assert_eq!(seen["faults"], serde_json::json!([]), "{seen:#}");
    let mut all = Vec::new();
    pages(&root().join("docs"), &mut all);
    for page in &all {
        let name = page.replace("README.md", "index.md").replace(".md", ".html");
        let words = seen["pages"][&name]["words"].as_u64().unwrap_or_default();
        assert!(words > 30, "{name} shows {words} words");
    }
    let shown = |name: &str| seen["pages"][name]["pictures"].as_u64();
    assert_eq!((shown("simulator.html"), shown("editors/vscode.html")), (Some(4), Some(1)), "{seen:#}");
    assert!(seen["links"].as_u64() > Some(100), "{seen:#}");
    let on_disk = seen["disk"].as_array().expect("a list");
    assert!(on_disk.iter().any(|hit| hit == "tiles.html"), "opened from the disk: {on_disk:?}");
    let texts = seen["looked"].as_object().expect("pages");
    assert_eq!(texts.len(), 2 * closely.len(), "{texts:?}");
    assert!(texts.values().all(|count| count.as_u64() > Some(30)), "{texts:?}");
    let weight = seen["pages"]["index.html"]["bytes"].as_u64();
    assert!(weight > Some(100_000) && weight <= Some(500_000), "the home page has {weight:?} bytes");
    for (word, page) in words {
        let hits = seen["found"][word].as_array().expect("a list");
        assert!(hits.iter().any(|hit| hit == page), "{word}: {hits:?}");
    }
}
