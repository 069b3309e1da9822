//! `kc lsp` as a client sees it: one scenario per request, and the ways in which a session can go
//! wrong.

mod client;
mod costs;
mod imports;
mod products;
mod typing;
mod workspace;

use client::{Client, URI, position};
use serde_json::{Value, json};

const TEXT: &str = r#"import warp as wp


@wp.struct
class Ball:
    mass: float


@wp.func
def scale(x: float, by: float):
    return x * by


@wp.kernel
def k(x: wp.array(dtype=float), balls: wp.array(dtype=Ball)):
    i = wp.tid()
    y = wp.sqrt(x[i])
    if y > 1.0:
        y = scale(y, 2.0)
    x[i] = y * balls[i].mass
"#;

fn session() -> Client {
    let mut client = Client::start(json!({}));
    client.open(TEXT);
    client
}

/// A request about the place where `part` begins.
fn at(part: &str) -> Value {
    json!({"textDocument": {"uri": URI}, "position": position(TEXT, part)})
}

fn document() -> Value {
    json!({"textDocument": {"uri": URI}})
}

#[test]
fn findings_follow_edits() {
    let mut client = session();
    let codes = |list: Vec<Value>| list.iter().map(|d| d["code"].clone()).collect::<Vec<_>>();
    assert!(!codes(client.findings(1)).contains(&json!("E0301")));
    let start = position(TEXT, "1.0:");
    let end = position(TEXT, ".0:");
    client.change(2, json!([{"range": {"start": start, "end": end}, "text": "i + 1"}]));
    let found = client.findings(2);
    let error = found.iter().find(|d| d["severity"] == 1).expect("an error");
    assert_eq!(error["source"], "kc");
    assert_eq!(error["range"]["start"]["line"], start["line"]);
    client.change(3, json!([{"text": TEXT}]));
    assert!(client.findings(3).iter().all(|d| d["severity"] != 1));
    client.tell("textDocument/didClose", document());
    client.end();
}

#[test]
fn findings_when_asked_for() {
    let mut client = Client::start(json!({"textDocument": {"diagnostic": {}}}));
    let broken = TEXT.replace("y > 1.0", "y * i > 1.0");
    client.open(&broken);
    let report = client.ask("textDocument/diagnostic", document());
    assert_eq!(report["kind"], "full");
    assert!(report["items"].as_array().is_some_and(|list| list.iter().any(|d| d["severity"] == 1)), "{report}");
    let mut again = document();
    again["previousResultId"] = report["resultId"].clone();
    assert_eq!(client.ask("textDocument/diagnostic", again)["kind"], "unchanged");
    assert!(!client.has(|message| message["method"] == "textDocument/publishDiagnostics"));
    client.end();
}

/// Of a file with more findings than people read, the first ones come.
#[test]
fn the_first_thousand_findings_are_told() {
    let mut client = Client::start(json!({"textDocument": {"diagnostic": {}}}));
    let lines = "    del x\n".repeat(3000);
    client
        .open(&format!("import warp as wp\n\n@wp.kernel\ndef k(x: wp.array(dtype=float)):\n    i = wp.tid()\n{lines}"));
    let report = client.ask("textDocument/diagnostic", document());
    let items = report["items"].as_array().expect("a list");
    let last = items.iter().filter_map(|d| d["range"]["start"]["line"].as_u64()).max();
    assert_eq!(items.len(), 1000);
    assert!(last.is_some_and(|line| line <= 1010), "{last:?}");
    client.end();
}

#[test]
fn questions_about_a_place() {
    let mut client = session();
    let hover = client.ask("textDocument/hover", at("sqrt"));
    assert!(hover["contents"]["value"].as_str().is_some_and(|text| text.contains("adjoint[x] +=")), "{hover}");
    assert_eq!(hover["range"]["start"], position(TEXT, "sqrt"));
    let target = client.ask("textDocument/definition", at("scale(y"));
    assert_eq!(target[0]["range"]["start"], position(TEXT, "scale(x"));
    let library = client.ask("textDocument/definition", at("sqrt"));
    let file = library[0]["uri"].as_str().and_then(|uri| uri.strip_prefix("file://")).expect("a file");
    assert!(std::fs::read_to_string(file).is_ok_and(|text| text.contains("def sqrt(")));
    let ball = client.ask("textDocument/typeDefinition", at("balls[i]"));
    assert_eq!(ball["range"]["start"], position(TEXT, "Ball:"));
    let mut all = at("y = wp");
    all["context"] = json!({"includeDeclaration": true});
    assert_eq!(client.ask("textDocument/references", all).as_array().map(Vec::len), Some(5));
    let marks = client.ask("textDocument/documentHighlight", at("y = wp"));
    assert_eq!(marks.as_array().map(|list| list.iter().filter(|m| m["kind"] == 3).count()), Some(2));
    let mut after = at("sqrt");
    after["position"]["character"] = json!(after["position"]["character"].as_u64().expect("a number") + 2);
    let items = client.ask("textDocument/completion", after);
    let item = items["items"].as_array().and_then(|list| list.iter().find(|i| i["label"] == "sqrt")).expect("sqrt");
    let whole = client.ask("completionItem/resolve", item.clone());
    assert!(whole["documentation"]["value"].as_str().is_some_and(|doc| doc.contains("quare root")), "{whole}");
    let help = client.ask("textDocument/signatureHelp", at("2.0)"));
    assert_eq!(
        (&help["signatures"][0]["label"], &help["activeParameter"]),
        (&json!("scale(x: float, by: float)"), &json!(1))
    );
    client.end();
}

#[test]
fn questions_about_the_file() {
    let mut client = session();
    let names = client.ask("textDocument/documentSymbol", document());
    let names: Vec<&str> = names.as_array().expect("a list").iter().filter_map(|s| s["name"].as_str()).collect();
    assert_eq!(names, ["Ball", "scale", "k"]);
    let tokens = client.ask("textDocument/semanticTokens/full", document());
    let count = tokens["data"].as_array().map_or(0, Vec::len);
    assert!(count > 100 && count.is_multiple_of(5), "{count}");
    let mut range = document();
    range["range"] = json!({"start": {"line": 0, "character": 0}, "end": {"line": 7, "character": 0}});
    let some = client.ask("textDocument/semanticTokens/range", range.clone());
    assert!(some["data"].as_array().is_some_and(|data| !data.is_empty() && data.len() < count));
    range["range"]["end"]["line"] = json!(99);
    let hints = client.ask("textDocument/inlayHint", range);
    let labels: Vec<&str> = hints.as_array().expect("a list").iter().filter_map(|h| h["label"].as_str()).collect();
    assert_eq!(labels, [": int32", ": float32", "by:"]);
    let folds = client.ask("textDocument/foldingRange", document());
    assert!(folds.as_array().is_some_and(|list| list.contains(&json!({"startLine": 17, "endLine": 18}))), "{folds}");
    let mut place = document();
    place["positions"] = json!([position(TEXT, "y, 2.0")]);
    let chain = client.ask("textDocument/selectionRange", place);
    assert!(chain[0]["parent"]["parent"]["range"].is_object(), "{chain}");
    let lenses = client.ask("textDocument/codeLens", document());
    let titles: Vec<&str> =
        lenses.as_array().expect("a list").iter().filter_map(|l| l["command"]["title"].as_str()).collect();
    assert_eq!(titles, ["PTX", "CUDA", "IR", "adjoint"]);
    client.end();
}

#[test]
fn changes() {
    let mut client = session();
    let mut rename = at("scale(y");
    assert_eq!(client.ask("textDocument/prepareRename", rename.clone())["placeholder"], "scale");
    rename["newName"] = json!("grow");
    let edit = client.ask("textDocument/rename", rename.clone());
    assert_eq!(edit["changes"][URI].as_array().map(Vec::len), Some(2));
    rename["newName"] = json!("k");
    assert_eq!(client.answer("textDocument/rename", rename)["error"]["code"], -32803);
    let broken = TEXT.replace("y > 1.0", "i * y > 1.0");
    client.change(2, json!([{"text": broken}]));
    let range = json!({"start": position(&broken, "i * y > 1.0"), "end": position(&broken, "i * y > 1.0")});
    let wanted = json!({"textDocument": {"uri": URI}, "range": range, "context": {"diagnostics": []}});
    let actions = client.ask("textDocument/codeAction", wanted.clone());
    let fix = actions.as_array().expect("a list").iter().find(|a| a["kind"] == "quickfix").expect("a fix");
    assert!(fix["edit"]["changes"][URI][0]["newText"].as_str().is_some_and(|t| t.contains("float(i)")), "{fix}");
    assert_eq!(fix["diagnostics"][0]["code"], "E0301");
    let mut only = wanted;
    only["context"]["only"] = json!(["source.organizeImports"]);
    assert_eq!(client.ask("textDocument/codeAction", only), json!([]));
    client.end();
}

#[test]
fn views_of_a_kernel() {
    let mut client = Client::start(json!({
        "workspace": {"textDocumentContent": {}},
        "window": {"showDocument": {"support": true}},
    }));
    client.open(TEXT);
    for (view, sign) in [("ptx", ".visible .entry"), ("cuda", "__global__"), ("ir", "kernel @k"), ("adjoint", "adj_x")]
    {
        let shown = client.ask("kc/view", json!({"uri": URI, "kernel": "k", "view": view}));
        let text = shown["text"].as_str().expect("a text");
        assert!(text.contains(sign), "{view}: {shown}");
        // Every line has its origin, and the root is found from both sides.
        let lines: Vec<Vec<u64>> = serde_json::from_value(shown["lines"].clone()).expect("lines");
        assert_eq!((lines.len(), &shown["source"]), (text.lines().count(), &json!(URI)), "{view}");
        let root = position(TEXT, "wp.sqrt")["line"].as_u64().expect("a line");
        let found: Vec<&str> =
            text.lines().zip(&lines).filter(|(_, from)| from.contains(&root)).map(|(line, _)| line).collect();
        assert!(found.iter().any(|line| line.contains("sqrt")), "{view}: {found:?}\n{text}");
        assert_eq!(client.ask("kc/lines", json!({"uri": shown["uri"]}))["lines"], shown["lines"], "{view}");
    }
    assert_eq!(client.answer("kc/lines", json!({"uri": "kc-view:/none"}))["error"]["code"], -32803);
    let command = json!({"command": "kc.show", "arguments": [URI, "k", "ir"]});
    client.ask("workspace/executeCommand", command);
    let show = client.wait(|message| message["method"] == "window/showDocument");
    let content = client.ask("workspace/textDocumentContent", json!({"uri": show["params"]["uri"]}));
    assert!(content["text"].as_str().is_some_and(|text| text.contains("kernel @k")));
    let library = client.ask("textDocument/definition", at("sqrt"));
    assert!(library[0]["uri"].as_str().is_some_and(|uri| uri.starts_with("kc-stdlib:/")), "{library}");
    let content = client.ask("workspace/textDocumentContent", json!({"uri": library[0]["uri"]}));
    assert!(content["text"].as_str().is_some_and(|text| text.contains("def sqrt(")));
    for (kernel, view) in [("none", "ptx"), ("k", "nothing")] {
        let answer = client.answer("kc/view", json!({"uri": URI, "kernel": kernel, "view": view}));
        assert!(answer["error"]["code"].is_i64(), "{answer}");
    }
    client.end();
}

#[test]
fn utf16_positions_behind_wide_characters() {
    let text = TEXT
        .replace("    x[i] = y", "    wp.printf(\"😀字é\"); x[i] = y")
        .replace("    y = wp", "    '''😀'''; y = wp");
    let mut client = Client::start(json!({}));
    client.open(&text);
    let hover =
        client.ask("textDocument/hover", json!({"textDocument": {"uri": URI}, "position": position(&text, "sqrt")}));
    assert_eq!(hover["range"]["start"], position(&text, "sqrt"));
    // An edit behind the wide characters, then the same place again.
    let start = position(&text, "x[i] = y * balls");
    let mut end = start.clone();
    end["character"] = json!(start["character"].as_u64().expect("a number") + 4);
    client.change(2, json!([{"range": {"start": start, "end": end}, "text": "balls[0].mass"}]));
    let hover = client.ask("textDocument/hover", json!({"textDocument": {"uri": URI}, "position": start}));
    assert!(hover["contents"]["value"].as_str().is_some_and(|t| t.contains("balls: array(dtype=Ball)")), "{hover}");
    client.end();
    let mut client = Client::raw();
    let encodings = json!({"general": {"positionEncodings": ["utf-8", "utf-16"]}});
    let answer = client.ask("initialize", json!({"capabilities": encodings}));
    assert_eq!(answer["capabilities"]["positionEncoding"], "utf-8");
    client.open(&text);
    let mut bytes = position(&text, "sqrt");
    bytes["character"] = json!(text.lines().find_map(|line| line.find("sqrt")));
    let hover = client.ask("textDocument/hover", json!({"textDocument": {"uri": URI}, "position": bytes}));
    assert_eq!(hover["range"]["start"], bytes);
    client.end();
}

#[test]
fn silence_in_files_without_kernels() {
    let mut client = Client::start(json!({}));
    client.open("import warp as wp\n\ndef f(:\n    return wp.sine(1 +\n");
    let anywhere = json!({"textDocument": {"uri": URI}, "position": {"line": 3, "character": 14}});
    for method in ["hover", "completion", "definition", "signatureHelp"] {
        assert_eq!(client.ask(&format!("textDocument/{method}"), anywhere.clone()), Value::Null, "{method}");
    }
    assert_eq!(client.ask("textDocument/documentSymbol", document()), Value::Null);
    assert!(!client.has(|message| message["method"] == "textDocument/publishDiagnostics"));
    // With a kernel there are findings, and without it they go away.
    client.change(2, json!([{"text": TEXT.replace("y > 1.0", "y * i > 1.0")}]));
    assert!(!client.findings(2).is_empty());
    client.change(3, json!([{"text": "x = 1\n"}]));
    assert!(client.findings(3).is_empty());
    client.end();
}

/// Nobody knows where the next message begins.
#[test]
fn a_length_that_is_none_ends_the_server() {
    for length in ["-5", "1e20", "99999999999999999999", "268435457", "", "12 34", "\x1b[31m7"] {
        let mut server = std::process::Command::new(env!("CARGO_BIN_EXE_kc"))
            .args(["lsp", "--stdio"])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .expect("kc runs");
        // The input stays open: the server ends by itself.
        let mut input = server.stdin.take().expect("its input");
        std::io::Write::write_all(&mut input, format!("Content-Length: {length}\r\n\r\n{{}}").as_bytes())
            .expect("it reads");
        let ended = server.wait_with_output().expect("it ends");
        drop(input);
        let [answer, said] = [ended.stdout, ended.stderr].map(|bytes| String::from_utf8(bytes).expect("text"));
        let shown = length.replace('\x1b', "");
        let sentence =
            format!("Content-Length is `{shown}`, which is no number of bytes up to 268435456; the server ends");
        assert_eq!(ended.status.code(), Some(1), "{length}: {said}");
        assert_eq!(said, format!("kc lsp: {sentence}\n"));
        assert!(answer.contains("-32700") && answer.contains(&sentence), "{answer}");
    }
}

#[test]
fn broken_messages_get_errors() {
    let mut client = session();
    let code = |client: &mut Client, bytes: &[u8]| {
        client.write(bytes);
        client.wait(|message| message["id"].is_null() && message["error"].is_object())["error"]["code"].clone()
    };
    assert_eq!(code(&mut client, b"Content-Length: 5\r\n\r\n{\"a\":"), -32700);
    assert_eq!(code(&mut client, b"Content-Length: 2\r\n\r\n\xff\xfe"), -32700);
    assert_eq!(code(&mut client, b"Content-Length: 2\r\n\r\n[]"), -32600);
    assert_eq!(code(&mut client, b"Content-Length: 4\r\n\r\nnull"), -32600);
    assert_eq!(code(&mut client, b"Nonsense\r\n\r\n"), -32700);
    for (method, params, expected) in [
        (
            "textDocument/hover",
            json!({"textDocument": {"uri": "file:///closed.py"}, "position": {"line": 0, "character": 0}}),
            -32803,
        ),
        ("textDocument/hover", json!({"textDocument": {"uri": URI}}), -32602),
        ("textDocument/hover", json!(["x"]), -32602),
        ("textDocument/rename", at("scale(y"), -32602),
        ("textDocument/nonsense", document(), -32601),
        ("nonsense", Value::Null, -32601),
        ("initialize", json!({}), -32600),
        ("workspace/executeCommand", json!({"command": "rm"}), -32602),
        ("workspace/textDocumentContent", json!({"uri": "kc-view:/none"}), -32803),
    ] {
        let answer = client.answer(method, params);
        assert_eq!(answer["error"]["code"], expected, "{method}: {answer}");
    }
    for (method, params) in [
        (
            "textDocument/didChange",
            json!({"textDocument": {"uri": "file:///closed.py", "version": 1}, "contentChanges": []}),
        ),
        ("textDocument/didOpen", json!({"textDocument": 3})),
        ("textDocument/didClose", json!({"textDocument": {"uri": "file:///closed.py"}})),
        ("$/cancelRequest", json!({"id": 12345})),
        ("workspace/didChangeConfiguration", json!({"settings": {"kc": {"allow": ["E9999", 3]}}})),
        ("unknown", Value::Null),
    ] {
        client.tell(method, params);
    }
    let far =
        json!({"textDocument": {"uri": URI}, "position": {"line": 4_000_000_000u32, "character": 4_000_000_000u32}});
    assert_eq!(client.ask("textDocument/hover", far), Value::Null);
    assert!(client.ask("textDocument/hover", at("sqrt")).is_object());
    client.end();
}

#[test]
fn the_order_of_a_session() {
    let mut client = Client::raw();
    assert_eq!(client.answer("textDocument/hover", document())["error"]["code"], -32002);
    client.ask("initialize", json!({"capabilities": {}}));
    client.ask("shutdown", Value::Null);
    assert_eq!(client.answer("textDocument/hover", document())["error"]["code"], -32600);
    client.tell("exit", Value::Null);
    assert_eq!(Client::start(json!({})).hang_up(), Some(1));
}

#[test]
fn settings_decide_which_warnings_count() {
    let text = TEXT.replace("    y = wp", "    unused = 1.0\n    y = wp");
    let mut client = Client::start(json!({}));
    client.open(&text);
    let unused = |list: &[Value]| list.iter().find(|d| d["code"] == "W1301").map(|d| d["severity"].clone());
    let found = client.findings(1);
    assert_eq!(unused(&found), Some(json!(2)));
    client.tell("workspace/didChangeConfiguration", json!({"settings": {"kc": {"deny": ["unused-variable"]}}}));
    let changed = client
        .wait(|m| m["params"]["version"] == 1 && m["params"]["diagnostics"].to_string().contains("\"severity\":1"));
    assert!(changed["params"]["diagnostics"].to_string().contains("W1301"));
    client.end();
}

#[test]
fn an_edit_never_waits() {
    // Thousands of edits and questions at once: the last text is judged, every question gets an
    // answer, old ones perhaps the one that the text has changed.
    let mut client = session();
    let mut asked = Vec::new();
    for version in 2..1000 {
        let text = if version % 2 == 0 { "y * i > 1.0" } else { "y > 1.0" };
        client.change(version, json!([{"text": TEXT.replace("y > 1.0", text)}]));
        if version % 10 == 0 {
            asked.push(client.request("textDocument/hover", at("sqrt")));
        }
    }
    client.change(1000, json!([{"text": TEXT.replace("y > 1.0", "y * i > 1.0")}]));
    assert!(client.findings(1000).iter().any(|d| d["severity"] == 1));
    for id in asked {
        let answer = client.wait(|message| message["id"] == id);
        assert!(answer["result"].is_object() || answer["error"]["code"] == -32801, "{answer}");
    }
    client.end();
}

#[test]
fn questions_can_be_cancelled() {
    let mut client = session();
    let ids: Vec<i64> = (0..50).map(|_| client.request("textDocument/completion", at("sqrt"))).collect();
    client.tell("$/cancelRequest", json!({"id": ids[49]}));
    for id in ids {
        let answer = client.wait(|message| message["id"] == id);
        assert!(answer["result"].is_object() || answer["error"]["code"] == -32800, "{answer}");
    }
    client.end();
}

#[test]
fn huge_and_deep_files() {
    let mut client = Client::start(json!({}));
    client.open(&format!("import warp as wp\n{TEXT}\n{}", "x = 1\n".repeat(2_000_000)));
    assert_eq!(client.ask("textDocument/hover", at("sqrt")), Value::Null);
    let deep = format!(
        "import warp as wp\n\n@wp.kernel\ndef k(x: wp.array(dtype=float)):\n    x[0] = {}1.0{}\n",
        "(".repeat(50_000),
        ")".repeat(50_000)
    );
    client.change(2, json!([{"text": deep}]));
    client.ask("textDocument/documentSymbol", document());
    let sum = format!(
        "import warp as wp\n\n@wp.kernel\ndef k(x: wp.array(dtype=float)):\n    x[0] = 1.0{}\n",
        " + x[1]".repeat(5_000)
    );
    client.change(3, json!([{"text": sum}]));
    let middle = json!({"textDocument": {"uri": URI}, "position": {"line": 4, "character": 20_000}});
    client.ask("textDocument/hover", middle.clone());
    client.ask("textDocument/selectionRange", json!({"textDocument": {"uri": URI}, "positions": [middle["position"]]}));
    client.change(4, json!([{"text": TEXT}]));
    assert!(client.ask("textDocument/hover", at("sqrt")).is_object());
    client.end();
}
