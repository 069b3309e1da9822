//! What kernels cost, as the editor shows it: lenses that are filled when they are seen, and what a
//! launch took at each access.

use std::path::Path;

use serde_json::{Value, json};

use super::client::{Client, URI, position};

/// The loads are neighbours, the stores 256 bytes apart; the ü makes columns and bytes differ.
const TEXT: &str = r#"import warp as wp


@wp.func
def twice(x: wp.array2d(dtype=float), i: int, j: int):
    return x[i, j] * 2.0


@wp.kernel
def turn(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):
    i, j = wp.tid()
    ü = twice(x, i, j); y[j, i] = ü


@wp.kernel
def slow(x: wp.array(dtype=float)):
    i = wp.tid()
    s = float(0.0)
    for k in range(20000):
        s = s * 0.5 + 1.0
    x[i] = s
"#;

fn start() -> Client {
    Client::start(json!({"workspace": {"codeLens": {"refreshSupport": true}, "inlayHint": {"refreshSupport": true}}}))
}

fn document(uri: &str) -> Value {
    json!({"textDocument": {"uri": uri}})
}

/// The lens of a kernel that has to be filled.
fn unfilled(client: &mut Client, uri: &str, kernel: &str) -> Value {
    let lenses = client.ask("textDocument/codeLens", document(uri));
    let wanted = |lens: &&Value| lens["data"]["kernel"] == kernel && lens["command"].is_null();
    lenses.as_array().expect("a list").iter().find(wanted).expect("a lens").clone()
}

fn lens(client: &mut Client, uri: &str, kernel: &str) -> Value {
    let lens = unfilled(client, uri, kernel);
    client.ask("codeLens/resolve", lens)["command"].clone()
}

fn count(uri: &str, kernel: &str) -> Value {
    json!({"command": "kc.count", "arguments": [uri, kernel]})
}

/// Positions and labels of the hints that are no types and no parameters.
fn hints(client: &mut Client, uri: &str) -> Vec<(Value, String)> {
    let mut wanted = document(uri);
    wanted["range"] = json!({"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}});
    let hints = client.ask("textDocument/inlayHint", wanted);
    let ours = hints.as_array().expect("a list").iter().filter(|hint| hint["kind"].is_null());
    ours.map(|hint| (hint["position"].clone(), hint["label"].as_str().expect("a label").to_string())).collect()
}

fn hover(client: &mut Client, uri: &str, part: &str) -> String {
    let mut wanted = document(uri);
    wanted["position"] = position(TEXT, part);
    client.ask("textDocument/hover", wanted)["contents"]["value"].as_str().unwrap_or_default().to_string()
}

fn end_of(part: &str) -> Value {
    let mut at = position(TEXT, part);
    at["character"] = json!(at["character"].as_u64().expect("a column") + part.len() as u64);
    at
}

#[test]
fn a_lens_tells_registers_and_occupancy() {
    let mut client = start();
    client.open(TEXT);
    let command = lens(&mut client, URI, "turn");
    let title = command["title"].as_str().expect("a title");
    assert!(title.contains(" registers") && title.contains("of 64 warps at 256 threads on sm_90"), "{title}");
    assert!(title.ends_with("0 bytes shared"), "{title}");
    assert_eq!((&command["command"], &command["arguments"]), (&json!("kc.count"), &json!([URI, "turn"])));
    // Another GPU, as the settings say.
    client.tell("workspace/didChangeConfiguration", json!({"settings": {"kc": {"arch": "sm_86"}}}));
    let title = lens(&mut client, URI, "turn")["title"].to_string();
    assert!(title.contains("of 48 warps at 256 threads on sm_86"), "{title}");
    client.tell("workspace/didChangeConfiguration", json!({"settings": {"kc": {"arch": "sm_1"}}}));
    let said = client.wait(|message| message["method"] == "window/logMessage");
    assert!(said["params"]["message"].as_str().is_some_and(|text| text.contains("`sm_1` is not known")), "{said}");
    // A kernel that does not compile has no figures, which is reported with the reason; others have
    // theirs.
    client.change(2, json!([{"text": TEXT.replace("x[i] = s", "x[i] = missing")}]));
    let command = lens(&mut client, URI, "slow");
    assert_eq!(command["title"], "no figures");
    assert!(command["tooltip"].as_str().is_some_and(|text| text.contains("E0")), "{command}");
    assert!(lens(&mut client, URI, "turn")["title"].as_str().is_some_and(|title| title.contains(" registers")));
    // A lens of a text that is gone, of a document that is not open, and one that is none of ours.
    for data in [json!({"uri": "file:///none.py", "kernel": "turn"}), json!(null), json!({"uri": 3})] {
        assert!(client.answer("codeLens/resolve", json!({"data": data}))["error"]["code"].is_i64());
    }
    assert_eq!(
        client.ask("codeLens/resolve", json!({"data": {"uri": URI, "kernel": "none"}}))["command"]["title"],
        "no figures"
    );
    client.end();
}

#[test]
fn a_counted_launch_shows_sectors_at_each_access() {
    let mut client = start();
    client.open(TEXT);
    assert_eq!(hints(&mut client, URI), []);
    assert!(!hover(&mut client, URI, "[j, i]").contains("sectors"));
    let said = client.ask("workspace/executeCommand", count(URI, "turn"));
    assert_eq!((&said["kernel"], &said["found"]), (&json!("turn"), &json!([])), "{said}");
    // 64 x 64 threads: a warp loads 128 bytes in a row, and stores to 32 rows.
    assert_eq!(said["words"], "4 sectors a load, 32 sectors a store");
    client.wait(|message| message["method"] == "workspace/codeLens/refresh");
    client.wait(|message| message["method"] == "workspace/inlayHint/refresh");
    let shown =
        vec![(end_of("x[i, j]"), "4 sectors".to_string()), (end_of("y[j, i]"), "32 sectors (ideal 4)".to_string())];
    assert_eq!(hints(&mut client, URI), shown);
    let text = hover(&mut client, URI, "[j, i]");
    assert!(text.contains("store: 32.0 sectors per request, ideal 4.0 (`turn`, a made-up launch)"), "{text}");
    let title = lens(&mut client, URI, "turn")["title"].to_string();
    assert!(title.contains(" registers") && title.contains("32 sectors a store (a made-up launch)"), "{title}");
    // They are of this text: another one has none, and the same has them again.
    client.change(2, json!([{"text": TEXT.replace("y[j, i] = ü", "y[i, j] = ü")}]));
    assert_eq!(hints(&mut client, URI), []);
    assert!(!lens(&mut client, URI, "turn")["title"].to_string().contains("sectors"));
    client.change(3, json!([{"text": TEXT}]));
    assert_eq!(hints(&mut client, URI), shown);
    client.tell("textDocument/didClose", document(URI));
    client.open(TEXT);
    assert_eq!(hints(&mut client, URI), []);
    // What cannot be counted is reported.
    for (kernel, why) in [("none", "E0905"), ("", "E0905")] {
        let answer = client.answer("workspace/executeCommand", count(URI, kernel));
        assert!(answer["error"]["message"].as_str().is_some_and(|text| text.contains(why)), "{answer}");
    }
    assert!(client.answer("workspace/executeCommand", count("file:///none.py", "turn"))["error"]["code"].is_i64());
    assert!(client.answer("workspace/executeCommand", json!({"command": "kc.count"}))["error"]["code"].is_i64());
    client.end();
}

fn launch(folder: &Path, name: &str, contents: &Value) {
    std::fs::write(folder.join(name), contents.to_string()).expect("a launch");
}

/// A launch file beside the source counts, and its races are reported; the document as it is on the
/// screen runs, not the one on the disk.
#[test]
fn launch_files_beside_the_source_are_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("race.py");
    let text =
        "import warp as wp\n\n\n@wp.kernel\ndef k(x: wp.array(dtype=float)):\n    i = wp.tid()\n    x[0] = float(i)\n";
    std::fs::write(&path, "old\n").expect("a source");
    let dtype = json!({"class": "scalar", "scalar": "float32", "shape": []});
    let array = json!({"name": "x", "kind": "array", "dtype": dtype, "ndim": 1, "shape": [64], "fill": "random:1"});
    let case = json!({"format": 1, "id": "case", "source": "../race.py", "kernel": "k", "dim": [64], "block_dim": 32, "args": [array]});
    std::fs::create_dir(folder.path().join("launches")).expect("a folder");
    launch(&folder.path().join("launches"), "b.json", &case);
    // Others are not of this kernel, or not launches.
    launch(folder.path(), "a.json", &json!({"format": 1, "source": "race.py", "kernel": "other"}));
    std::fs::write(folder.path().join("c.json"), "{").expect("a file");
    let uri = format!("file://{}", path.canonicalize().expect("a path").display());
    let mut client = start();
    let opened = json!({"uri": uri, "languageId": "python", "version": 1, "text": text});
    client.tell("textDocument/didOpen", json!({"textDocument": opened}));
    let said = client.ask("workspace/executeCommand", count(&uri, "k"));
    assert_eq!((&said["launch"], &said["found"]), (&json!("b.json"), &json!(["E1113"])), "{said}");
    let title = lens(&mut client, &uri, "k")["title"].to_string();
    assert!(title.contains("at 32 threads") && title.contains("found E1113 (b.json)"), "{title}");
    client.end();
}

/// Edits and questions are answered while a launch is counted; a second one has to wait.
#[test]
fn nothing_waits_for_a_count() {
    let mut client = start();
    client.open(TEXT);
    hints(&mut client, URI);
    let counting = client.request("workspace/executeCommand", count(URI, "slow"));
    let text = hover(&mut client, URI, "s * 0.5");
    assert!(text.contains("float32"), "{text}");
    let answer = client.answer("workspace/executeCommand", count(URI, "turn"));
    assert!(answer["error"]["message"].as_str().is_some_and(|text| text.contains("another launch")), "{answer}");
    assert!(!client.has(|message| message["id"] == counting), "the launch took no time");
    let done = client.wait(|message| message["id"] == counting);
    assert_eq!(done["result"]["words"], "4 sectors a store", "{done}");
    client.end();
}
