//! The explorer of kernels (`kc explore`): what its page gets, who is refused, and what a person
//! sees of it in a browser.

#[path = "explore/client.rs"]
mod client;

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use client::{Served, get, post};
use serde_json::{Value, json};

const SAXPY: &str = "import warp as wp\n\n\n@wp.kernel\ndef saxpy(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float)):\n    \
                     i = wp.tid()\n    x_i = x[i]\n    y[i] = a * x_i + y[i]\n";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A wish of the page for a part of what there is to see.
fn wish(part: &str, source: &str) -> Value {
    json!({
        "part": part, "source": source, "kernel": null, "arch": "sm_90", "opt": "full", "fmad": true, "tensor_cores": "on",
        "block_dim": null, "launch": { "dim": "", "block_dim": null, "gradient": false, "args": [] },
    })
}

fn codes(view: &Value) -> Vec<&str> {
    view["findings"].as_array().into_iter().flatten().filter_map(|one| one["code"].as_str()).collect()
}

/// Every pane of text has the kernel, and lines that come from its lines.
#[test]
fn panes_have_texts_and_lines() {
    let served = Served::start(SAXPY, &[]);
    let view = served.view(&wish("text", SAXPY));
    assert_eq!((&view["kernel"], &view["kernels"]), (&json!("saxpy"), &json!(["saxpy"])), "{view:#}");
    for (pane, words) in [
        ("cuda", "saxpy_cuda_kernel_forward"),
        ("gradient", "saxpy_cuda_kernel_backward"),
        ("ptx", ".entry saxpy_cuda_kernel_forward"),
        ("ir", "kernel @saxpy"),
        ("assembly", "saxpy_cpu_kernel_forward"),
        ("plan", "kernel saxpy forward"),
    ] {
        let pane_of = &view["panes"][pane];
        let text = pane_of["text"].as_str().unwrap_or_default();
        assert!(text.contains(words), "{pane}: {pane_of:#}");
        let lines: Vec<Vec<u64>> = serde_json::from_value(pane_of["lines"].clone()).expect("lines");
        assert_eq!(lines.len(), text.lines().count(), "{pane}");
        let store = lines.iter().filter(|from| from.contains(&8)).count();
        assert!((store > 0) == (pane != "plan"), "{pane}: {store} lines come from line 8: {text}");
        assert!(lines.iter().flatten().all(|line| (4..=8).contains(line)), "{pane}: {lines:?}");
    }
    let cuda = view["panes"]["cuda"]["text"].as_str().unwrap_or_default();
    assert!(!cuda.contains("_backward"), "the forward kernel alone");
    assert!(!view["panes"]["gradient"]["text"].as_str().unwrap_or_default().contains("void saxpy_cuda_kernel_forward"));
}

/// The architecture and the options reach the texts.
#[test]
fn options_count() {
    let served = Served::start(SAXPY, &[]);
    let mut asked = wish("text", SAXPY);
    asked["arch"] = json!("sm_75");
    asked["fmad"] = json!(false);
    let view = served.view(&asked);
    let ptx = view["panes"]["ptx"]["text"].as_str().unwrap_or_default();
    assert!(ptx.contains(".target sm_75") && !ptx.contains("fma.rn"), "{ptx}");
}

/// Findings have places in UTF-16 and the repairs of the editor server; good kernels go on.
#[test]
fn errors_have_places_and_repairs() {
    let served = Served::start(SAXPY, &[]);
    let source = format!(
        "{SAXPY}\n\n@wp.kernel\ndef bad(y: wp.array(dtype=float)):\n    yy = y[0]  # \u{1f600}\n    y[1] = yyy\n"
    );
    let view = served.view(&wish("text", &source));
    let error =
        view["findings"].as_array().expect("findings").iter().find(|one| one["code"] == "E0201").expect("E0201");
    assert_eq!((&error["level"], &error["line"]), (&json!("error"), &json!(14)), "{error:#}");
    let utf16: Vec<u16> = source.encode_utf16().collect();
    let at = |key: &str| error[key].as_u64().expect("an offset") as usize;
    assert_eq!(String::from_utf16_lossy(&utf16[at("from")..at("to")]), "yyy");
    let fix = &error["fixes"][0];
    assert_eq!(fix["edits"][0]["text"], json!("yy"), "{error:#}");
    assert!(view["panes"]["ptx"]["text"].as_str().is_some_and(|text| text.contains("saxpy")), "the other one compiles");
    let mut other = wish("text", &source);
    other["kernel"] = json!("bad");
    let view = served.view(&other);
    assert!(view["panes"]["ptx"]["why"].as_str().is_some_and(|why| why.contains("E0201")), "{view:#}");
    let none = served.view(&wish("text", "x = 1\n"));
    assert_eq!(none["panes"]["cuda"]["why"], json!("the file has no kernel"), "{none:#}");
    let broken = served.view(&wish("text", "@wp.kernel\ndef f(:\n"));
    assert!(broken["fault"].is_null() && broken["panes"]["ptx"]["text"] == json!(""), "{broken:#}");
}

/// Counters of a made-up launch, of sizes that are given, and of the gradient.
#[test]
fn counters_are_of_the_launch_that_is_asked_for() {
    let served = Served::start(SAXPY, &[]);
    let counted = |wish: &Value| {
        let view = served.view(wish);
        let entries = view["entries"].as_array().expect("entries").clone();
        (view, entries)
    };
    let mut asked = wish("counters", SAXPY);
    let (view, entries) = counted(&asked);
    let sum = |entry: &Value| {
        let metrics = entry["metrics"].as_array().expect("metrics");
        metrics.iter().find(|one| one["name"] == "smsp__inst_executed.sum").expect("a count")["value"].as_u64()
    };
    assert_eq!(view["launch"]["dim"], json!("256"), "{view:#}");
    let arguments: Vec<&str> = view["launch"]["arguments"]
        .as_array()
        .expect("arguments")
        .iter()
        .filter_map(|one| one["made"].as_str())
        .collect();
    assert_eq!(arguments, ["1.0", "random:1:256", "random:2:256"]);
    assert!(entries[0]["heat"].as_array().is_some_and(|heat| heat.iter().any(|one| one["heat"] == json!(1.0))));
    asked["launch"]["dim"] = json!("1024");
    let (_, larger) = counted(&asked);
    assert_eq!(sum(&larger[0]), sum(&entries[0]).map(|count| 4 * count), "four times the warps");
    asked["launch"]["gradient"] = json!(true);
    let (_, both) = counted(&asked);
    assert!(
        both.iter().any(|entry| entry["entry"].as_str().is_some_and(|name| name.ends_with("_backward"))),
        "{both:#?}"
    );
    // An array that is too short is a finding at its line.
    let mut short = wish("counters", SAXPY);
    short["launch"]["args"] = json!(["x=zeros:10"]);
    let (view, _) = counted(&short);
    assert!(codes(&view).iter().any(|code| code.starts_with("E11")), "{view:#}");
    assert_eq!(view["findings"][0]["line"], json!(7), "{view:#}");
    let mut unknown = wish("counters", SAXPY);
    unknown["launch"]["args"] = json!(["z=1"]);
    assert!(served.view(&unknown)["why"].as_str().is_some_and(|why| why.contains("E1004")));
    unknown["launch"] = json!({ "dim": "many", "block_dim": null, "gradient": false, "args": [] });
    assert!(served.view(&unknown)["why"].as_str().is_some_and(|why| why.contains("E1012")));
}

/// A kernel that does not run with what can be made up asks for sizes, and runs with them.
#[test]
fn a_kernel_asks_for_its_launch() {
    let source = "import warp as wp\n\n@wp.kernel\ndef k(n: int, x: wp.array(dtype=float)):\n    i = wp.tid()\n    x[i * n * 10000] = 1.0\n";
    let served = Served::start(source, &[]);
    let mut asked = wish("counters", source);
    let view = served.view(&asked);
    assert_eq!((&view["asks"], &view["entries"]), (&json!(true), &json!([])), "{view:#}");
    assert!(view["why"].as_str().is_some_and(|why| why.contains("Give sizes or arguments")), "{view:#}");
    let names: Vec<&Value> =
        view["launch"]["arguments"].as_array().expect("arguments").iter().map(|a| &a["name"]).collect();
    assert_eq!(names, ["n", "x"]);
    asked["launch"]["args"] = json!(["n=0"]);
    let view = served.view(&asked);
    assert_eq!((&view["asks"], view["entries"].as_array().map(Vec::len)), (&json!(false), Some(1)), "{view:#}");
}

/// Who may not ask gets nothing.
#[test]
fn strangers_are_refused() {
    let served = Served::start(SAXPY, &[]);
    let (port, token) = (served.port, served.token.clone());
    let own = format!("127.0.0.1:{port}");
    let path = |rest: &str| format!("/{token}/{rest}");
    assert_eq!(get(port, &path(""), &own, &[]).0, 200);
    assert_eq!(get(port, &path(""), &format!("localhost:{port}"), &[]).0, 200);
    let wrong = format!("{}0", &token[..token.len() - 1]);
    let wrong = if wrong == token { format!("{}1", &token[..token.len() - 1]) } else { wrong };
    for (path, host, headers, status) in [
        // Without the token, or with another.
        ("/".to_string(), &*own, vec![], 404),
        (format!("/{wrong}/"), &own, vec![], 404),
        (format!("/{token}0/"), &own, vec![], 404),
        // Outside.
        (path("../../etc/passwd"), &own, vec![], 404),
        (path("..%2f..%2fetc/passwd"), &own, vec![], 404),
        (path("page.js/x"), &own, vec![], 404),
        (path("saxpy.py"), &own, vec![], 404),
        // By another name, as a name server of a stranger has a browser ask.
        (path(""), "evil.example", vec![], 403),
        (path(""), &format!("evil.example:{port}"), vec![], 403),
        (path(""), "127.0.0.1", vec![], 403),
        // From a page of another origin.
        (path("changes?since=x"), &own, vec!["Origin: https://evil.example"], 403),
        (path("changes?since=x"), &own, vec!["Origin: null"], 403),
        (path(""), &own, vec!["Sec-Fetch-Site: cross-site"], 403),
        // Otherwise than they are asked for.
        (path("view"), &own, vec![], 405),
        (path("save"), &own, vec![], 405),
    ] {
        assert_eq!(get(port, &path, host, &headers).0, status, "{path} {host} {headers:?}");
    }
    let body = wish("text", SAXPY).to_string();
    let kind = "Content-Type: application/json";
    let evil = "Origin: http://evil.example";
    assert_eq!(post(port, &path("view"), &own, &[kind, evil], &body).0, 403);
    assert_eq!(post(port, &path("view"), &own, &["Content-Type: text/plain"], &body).0, 415);
    assert_eq!(post(port, &path("view"), &own, &[kind], "{").0, 400);
    assert_eq!(post(port, &path("view"), &own, &[kind], r#"{"part":"text"}"#).0, 400);
    let large = wish("text", &"# \n".repeat(400_000)).to_string();
    assert_eq!(post(port, &path("view"), &own, &[kind], &large).0, 413);
    assert_eq!(post(port, &path("page.css"), &own, &[kind], "{}").0, 405);
    let (status, head, page) = get(port, &path(""), &own, &[]);
    assert_eq!(status, 200);
    assert!(head.contains("default-src 'none'") && head.contains("frame-ancestors 'none'"), "{head}");
    assert!(!head.contains("unsafe-inline") && !page.contains("src=\"http"), "{head}");
}

/// What kc dies of, or never ends, costs one answer.
#[test]
fn a_page_outlives_its_workers() {
    let endless = "import warp as wp\n\n@wp.kernel\ndef k(x: wp.array(dtype=float)):\n    i = wp.tid()\n    while x[i] < 2.0:\n        x[i] = x[i] * 0.5\n";
    let served = Served::start(endless, &[]);
    // A newer question ends an older one that goes on and on.
    let older = {
        let (port, token) = (served.port, served.token.clone());
        let mut asked = wish("counters", endless);
        asked["launch"]["dim"] = json!("1000000");
        std::thread::spawn(move || client::view(port, &token, &asked))
    };
    std::thread::sleep(std::time::Duration::from_millis(300));
    let newer = served.view(&wish("counters", SAXPY));
    assert_eq!(newer["entries"].as_array().map(Vec::len), Some(1), "{newer:#}");
    assert!(!older.join().expect("an answer")["entries"].is_array(), "the older one was given up");
    served.kill_workers();
    let first = served.view(&wish("text", SAXPY));
    let second = served.view(&wish("text", SAXPY));
    assert!(first["fault"].is_string() || first["kernel"] == json!("saxpy"), "{first:#}");
    assert_eq!(second["kernel"], json!("saxpy"), "{second:#}");
}

/// A port that another program has is left to it.
#[test]
fn another_port_is_taken() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port().to_string();
    let served = Served::start(SAXPY, &["--port", &port]);
    assert_ne!(served.port.to_string(), port);
    assert_eq!(served.view(&wish("text", SAXPY))["kernel"], json!("saxpy"));
}

/// Changes on the disk are told, and what would be lost is not written over.
#[test]
fn the_file_is_watched_and_saved() {
    let served = Served::start(SAXPY, &[]);
    let news = |stamp: &str| -> Value {
        let path = format!("/{}/changes?since={stamp}", served.token);
        serde_json::from_str(&get(served.port, &path, &served.host(), &[]).2).expect("JSON")
    };
    let first = news("none");
    assert_eq!(first["text"], json!(SAXPY));
    let stamp = first["stamp"].as_str().expect("a stamp").to_string();
    let saved = served.save(&format!("{SAXPY}# mine\n"), &stamp);
    assert!(
        saved["refused"].is_null()
            && std::fs::read_to_string(&served.file).is_ok_and(|text| text.ends_with("# mine\n"))
    );
    let stamp = saved["stamp"].as_str().expect("a stamp").to_string();
    std::fs::write(&served.file, format!("{SAXPY}# theirs\n")).expect("a file");
    assert!(news(&stamp)["text"].as_str().is_some_and(|text| text.ends_with("# theirs\n")));
    let refused = served.save("mine again\n", &stamp);
    assert!(refused["refused"].as_str().is_some_and(|why| why.contains("has changed")), "{refused:#}");
    assert!(
        std::fs::read_to_string(&served.file).is_ok_and(|text| text.ends_with("# theirs\n")),
        "nothing was written"
    );
    // Line ends of Windows stay.
    std::fs::write(&served.file, "a\r\nb\r\n").expect("a file");
    let windows = news(&stamp);
    assert_eq!(windows["text"], json!("a\nb\n"));
    served.save("a\nc\n", windows["stamp"].as_str().expect("a stamp"));
    assert_eq!(std::fs::read_to_string(&served.file).expect("a file"), "a\r\nc\r\n");
}

/// One file that is alone, of all kernels.
#[test]
fn a_copy_has_all_kernels() {
    let folder = tempfile::tempdir().expect("a folder");
    let page = folder.path().join("page.html");
    let mut kc = Command::new(env!("CARGO_BIN_EXE_kc"));
    kc.args(["explore", "examples/reduction.py", "--html"]).arg(&page).current_dir(root());
    let output = kc.output().expect("kc");
    assert!(output.status.success(), "{output:?}");
    let text = std::fs::read_to_string(&page).expect("a page");
    let boot = text.split_once("id=\"boot\">").and_then(|(_, rest)| rest.split_once("</script>")).expect("data").0;
    let boot: Value = serde_json::from_str(boot).expect("JSON");
    let names: Vec<&str> = boot["kernels"].as_array().expect("kernels").iter().filter_map(Value::as_str).collect();
    assert!(names.len() > 1, "{names:?}");
    for name in &names {
        let view = &boot["views"][name];
        assert!(view["panes"]["ptx"]["text"].as_str().is_some_and(|text| text.contains(name)), "{name}: {view:#}");
        assert!(view["counters"]["entries"].is_array(), "{name}: {view:#}");
    }
    for (args, code) in [
        (vec!["explore", "nowhere.py"], 1),
        (vec!["explore", "examples/saxpy.py", "--html", "/dev/null/x.html"], 1),
        (vec!["explore", "examples/saxpy.py", "-k", "none", "--html", "/dev/null"], 1),
        (vec!["explore", "examples/saxpy.py", "--arch", "sm_1"], 2),
        (vec!["explore"], 2),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_kc")).args(&args).current_dir(root()).output().expect("kc");
        assert_eq!(output.status.code(), Some(code), "{args:?}: {output:?}");
    }
}

/// What shows pages, as for the site.
fn browser() -> Option<PathBuf> {
    if let Some(browser) = std::env::var_os("KC_BROWSER") {
        return Some(browser.into());
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let named = |folder: PathBuf| ["chromium", "google-chrome"].map(|name| folder.join(name));
    std::env::split_paths(&folders).flat_map(named).find(|path| path.exists())
}

/// Somebody edits in Chromium, sees counters change, sees an error and repairs it, points at lines,
/// and opens a copy from the disk. `KC_BLESS=1` takes the picture of docs/explore.md.
#[test]
fn a_person_explores() {
    let Some(browser) = browser() else {
        return eprintln!("left out: no Chromium in PATH; KC_BROWSER names another one");
    };
    let folder = tempfile::tempdir().expect("a folder");
    let (file, copy) = (folder.path().join("saxpy.py"), folder.path().join("copy.html"));
    std::fs::write(&file, SAXPY.replace("    x_i = x[i]\n", "").replace("x_i", "x[i * 8]")).expect("a file");
    let mut kc = Command::new(env!("CARGO_BIN_EXE_kc"));
    assert!(kc.arg("explore").arg(&file).arg("--html").arg(&copy).status().is_ok_and(|status| status.success()));
    let mut look = Command::new("python3");
    look.args(["-B", "tests/explore/browser.py"]).arg(browser).arg(env!("CARGO_BIN_EXE_kc")).arg(&file);
    let pictures = folder.path().join("pictures");
    std::fs::create_dir(&pictures).expect("a folder");
    let output = look.arg("--copy").arg(&copy).arg("--pictures").arg(&pictures).current_dir(root()).output();
    let output = output.expect("python3");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let seen: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&seen["faults"], &seen["logs"]), (&json!([]), &json!([])), "{seen:#}");
    assert!(seen["texts"].as_u64() > Some(50), "{seen:#}");
    // All panes have something, and the last finding is gone again.
    let lengths = seen["lengths"].as_object().expect("panes");
    assert!(lengths.len() == 9 && lengths.values().all(|length| length.as_u64() > Some(60)), "{seen:#}");
    assert_eq!(seen["error"], json!(["error E0301"]), "{seen:#}");
    assert!(seen["marks"].as_u64() > Some(0) && seen["fixes"][0].as_str().is_some(), "{seen:#}");
    assert!(seen["stale"].as_array().is_some_and(|panes| panes.contains(&json!("pane-ptx"))), "{seen:#}");
    assert_eq!(seen["repaired"], json!(0), "{seen:#}");
    assert!(seen["counters"] != seen["after"] && seen["after"] != seen["sizes"], "{seen:#}");
    assert!(seen["advice"][0].as_str().is_some_and(|advice| advice.starts_with("line 7: ")), "{seen:#}");
    assert_eq!(seen["advised"], json!([]), "{seen:#}");
    let lit = |of: &str, pane: &str| seen[of][pane].as_u64().unwrap_or_default();
    for pane in ["source", "pane-cuda", "pane-ptx", "pane-ir", "pane-gradient", "pane-assembly"] {
        assert!(lit("pointed", pane) > 0 || pane == "source", "{pane}: {seen:#}");
    }
    for pane in ["source", "pane-cuda", "pane-ir"] {
        assert!(lit("from_ptx", pane) > 0 && lit("by_keys", pane) > 0, "{pane}: {seen:#}");
    }
    assert!(seen["saved"].as_str().is_some_and(|text| text.contains("a * x[i]")), "{seen:#}");
    let picture = std::fs::read(pictures.join("explore.png")).expect("a picture");
    assert!(picture.starts_with(b"\x89PNG") && picture.len() > 20_000, "{} bytes", picture.len());
    if std::env::var_os("KC_BLESS").is_some() {
        std::fs::write(root().join("docs/explore.png"), picture).expect("docs can be written");
    }
    let copy = &seen["copy"];
    assert!(copy["hot"].as_u64() > Some(0) && copy["lit"].as_u64() > Some(0), "{seen:#}");
    assert_eq!(copy["kernels"], json!(["saxpy"]), "{seen:#}");
}
