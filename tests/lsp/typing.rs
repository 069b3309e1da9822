//! What a person types is broken most of the time: every prefix of every example goes through the
//! server, as edits, with the questions that an editor asks meanwhile. None may end the server, and
//! every question gets an answer.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::client::{Client, URI};

fn examples() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let entries = std::fs::read_dir(folder).expect("examples").map(|entry| entry.expect("an entry").path());
    let files: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|e| e == "py")).collect();
    assert!(files.len() > 5);
    files
}

/// What is asked while a person types, and again of the same place where the cursor was.
const QUESTIONS: [&str; 8] = [
    "textDocument/completion",
    "textDocument/signatureHelp",
    "textDocument/hover",
    "textDocument/documentSymbol",
    "textDocument/semanticTokens/full",
    "textDocument/codeLens",
    "textDocument/documentHighlight",
    "textDocument/foldingRange",
];

/// Types a file, character by character, and asks the server meanwhile.
fn type_file(path: &Path) {
    let text = std::fs::read_to_string(path).expect("a text");
    let mut client = Client::start(json!({}));
    client.open("");
    let (mut line, mut character, mut version, mut asked) = (0, 0, 1, 0);
    let (mut word, mut new) = (false, 0);
    for (number, c) in text.chars().enumerate() {
        let place = json!({"line": line, "character": character});
        version += 1;
        client.change(version, json!([{"range": {"start": place, "end": place}, "text": c.to_string()}]));
        match c {
            '\n' => (line, character) = (line + 1, 0),
            c => character += c.len_utf16(),
        }
        // A release is quick enough to look at each letter; otherwise a name that grows says
        // nothing new, and every third sign represents the others.
        let grows = word && (c.is_alphanumeric() || c == '_') || c == ' ';
        word = c.is_alphanumeric() || c == '_';
        new += usize::from(!grows);
        if cfg!(debug_assertions) && (grows || !new.is_multiple_of(3)) {
            continue;
        }
        asked += 1;
        let params = json!({"textDocument": {"uri": URI}, "position": {"line": line, "character": character}});
        let question = QUESTIONS[asked % QUESTIONS.len()];
        let answer = client.answer(question, params);
        assert!(answer["error"].is_null(), "{}: {question} after {number} characters: {answer}", path.display());
    }
    assert!(asked > 20, "{}: {asked} questions", path.display());
    assert!(client.findings(version).iter().all(|finding| finding["severity"] != 1), "{}", path.display());
    assert!(!client.has(|message| message["method"] == "window/logMessage"), "{}", path.display());
    client.end();
}

#[test]
fn every_prefix_of_every_example() {
    std::thread::scope(|scope| {
        let threads: Vec<_> = examples().into_iter().map(|path| scope.spawn(move || type_file(&path))).collect();
        threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
    });
}

/// Every request about a document with strange parameters: an answer or an error.
#[test]
fn every_request_in_strange_places() {
    let text = "import warp as wp\n\n@wp.kernel\ndef k(x: wp.array(dtype=float)):\n    '''😀字'''; x[wp.tid()] = wp.sin(x[0]) \n";
    let mut client = Client::start(json!({}));
    client.open(text);
    let methods = [
        "hover",
        "completion",
        "signatureHelp",
        "definition",
        "typeDefinition",
        "references",
        "documentHighlight",
        "documentSymbol",
        "prepareRename",
        "rename",
        "codeAction",
        "codeLens",
        "foldingRange",
        "selectionRange",
        "inlayHint",
        "semanticTokens/full",
        "semanticTokens/range",
        "diagnostic",
    ];
    let request = |uri: &str, line: u32, character: u32| {
        let place = json!({"line": line, "character": character});
        json!({
            "textDocument": {"uri": uri}, "position": place, "positions": [place], "newName": "名",
            "range": {"start": place, "end": {"line": 0, "character": 0}}, "context": {"diagnostics": []},
        })
    };
    let known = |answer: &Value| {
        let code = answer["error"]["code"].as_i64();
        code.is_none_or(|code| [-32803, -32602].contains(&code)).then_some(()).is_some()
    };
    for method in methods.map(|method| format!("textDocument/{method}")) {
        // Inside the emoji, in every column of the line, behind its end, behind the last line.
        for (line, character) in (0..60).map(|n| (4, n)).chain([(4, u32::MAX), (5, 0), (99, 3), (u32::MAX, u32::MAX)]) {
            let answer = client.answer(&method, request(URI, line, character));
            assert!(known(&answer), "{method} at {line}:{character}: {answer}");
        }
        let closed = client.answer(&method, request("file:///tmp/closed.py", 0, 0));
        assert_eq!(closed["error"]["code"], -32803, "{method}: {closed}");
        for params in [Value::Null, json!([]), json!({}), json!({"textDocument": {"uri": 7}}), json!("x")] {
            let answer = client.answer(&method, params);
            assert_eq!(answer["error"]["code"], -32602, "{method}: {answer}");
        }
        for broken in [json!({"line": -1, "character": 0}), json!({"line": "1"}), json!(null), json!(1.5)] {
            let mut params = request(URI, 4, 4);
            params["position"] = broken.clone();
            params["positions"] = json!([broken]);
            params["range"] = json!({"start": broken, "end": broken});
            let answer = client.answer(&method, params);
            assert!(known(&answer), "{method}: {answer}");
        }
    }
    client.tell("textDocument/didClose", json!({"textDocument": {"uri": URI}}));
    for method in methods.map(|method| format!("textDocument/{method}")) {
        assert_eq!(client.answer(&method, request(URI, 4, 4))["error"]["code"], -32803, "{method} after the end");
    }
    client.end();
}
