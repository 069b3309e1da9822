//! Several files, as an editor has them: some open, some on the disk, in one workspace folder or
//! two.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::client::{Client, position};

const HELPER: &str = "import warp as wp\n\nGRÖSSE = wp.constant(3.0)\n\n\n@wp.struct\nclass Ball:\n    mass: float\n\n\n@wp.func\ndef hälfte(x: float, by: float):\n    \"\"\"Half of it.\"\"\"\n    return x * by\n";

const MAIN: &str = "import warp as wp\n\nimport helper\nfrom helper import GRÖSSE, Ball, hälfte\n\n\n@wp.kernel\ndef k(x: wp.array(dtype=float), balls: wp.array(dtype=Ball)):\n    i = wp.tid()\n    # 😀\n    x[i] = hälfte(x[i], by=0.5) * GRÖSSE + helper.hälfte(1.0, 2.0) + balls[i].mass\n";

const ALIAS: &str = "import warp as wp\nfrom helper import hälfte as h\n\n\n@wp.kernel\ndef other(x: wp.array(dtype=float)):\n    x[wp.tid()] = h(1.0, by=2.0)\n\n\ndef main():\n    import main as m\n    wp.launch(m.k, dim=3)\n";

/// A folder with files, and a client that works in it.
struct Folder {
    folder: tempfile::TempDir,
    client: Client,
}

impl Folder {
    fn new(files: &[(&str, &str)]) -> Folder {
        Folder::able(files, json!({"workspace": {"workspaceEdit": {"documentChanges": true}}}))
    }

    fn able(files: &[(&str, &str)], capabilities: Value) -> Folder {
        let folder = tempfile::tempdir().expect("a folder");
        let mut client = Client::raw();
        let root = uri(&folder.path().canonicalize().expect("its path"));
        let params = json!({"processId": null, "workspaceFolders": [{"uri": root, "name": "one"}], "capabilities": capabilities});
        client.ask("initialize", params);
        client.tell("initialized", json!({}));
        let folder = Folder { folder, client };
        files.iter().for_each(|(name, text)| folder.write(name, text));
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().expect("its path").join(name)
    }

    fn uri(&self, name: &str) -> String {
        uri(&self.path(name))
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }

    fn open(&mut self, name: &str, version: i64, text: &str) {
        let document = json!({"uri": self.uri(name), "languageId": "python", "version": version, "text": text});
        self.client.tell("textDocument/didOpen", json!({"textDocument": document}));
    }

    fn change(&mut self, name: &str, version: i64, text: &str) {
        let document = json!({"uri": self.uri(name), "version": version});
        self.client
            .tell("textDocument/didChange", json!({"textDocument": document, "contentChanges": [{"text": text}]}));
    }

    fn at(&self, name: &str, text: &str, part: &str) -> Value {
        json!({"textDocument": {"uri": self.uri(name)}, "position": position(text, part)})
    }

    fn rename(&mut self, name: &str, text: &str, part: &str, new: &str) -> Value {
        let mut params = self.at(name, text, part);
        params["newName"] = json!(new);
        self.client.answer("textDocument/rename", params)
    }

    /// The reason why a rename is refused.
    fn refused(&mut self, name: &str, text: &str, part: &str, new: &str) -> String {
        let answer = self.rename(name, text, part, new);
        answer["error"]["message"].as_str().unwrap_or_else(|| panic!("{answer}")).to_string()
    }

    /// The codes of the errors that are pushed next for a document, when `wanted` holds for them.
    fn errors_until(&mut self, name: &str, wanted: &[&str]) {
        let uri = self.uri(name);
        self.client.wait(|message| {
            let params = &message["params"];
            let codes = params["diagnostics"].as_array().map(|list| {
                let errors = list.iter().filter(|finding| finding["severity"] == 1);
                errors.filter_map(|finding| finding["code"].as_str()).collect::<Vec<_>>()
            });
            message["method"] == "textDocument/publishDiagnostics"
                && params["uri"] == *uri
                && codes.as_deref() == Some(wanted)
        });
    }

    /// `file:line:character` of each location.
    fn places(&self, answer: &Value) -> Vec<String> {
        let place = |at: &Value| {
            let start = &at["range"]["start"];
            let file = at["uri"].as_str().and_then(|uri| uri.rsplit('/').next()).unwrap_or_default();
            format!("{file}:{}:{}", start["line"], start["character"])
        };
        answer.as_array().unwrap_or_else(|| panic!("{answer}")).iter().map(place).collect()
    }
}

fn uri(path: &std::path::Path) -> String {
    format!("file://{}", path.display())
}

/// A text with the edits of one document.
fn edited(text: &str, edits: &Value) -> String {
    let offset = |at: &Value| {
        let line = at["line"].as_u64().expect("a line") as usize;
        let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
        let mut units = at["character"].as_u64().expect("a character") as usize;
        let mut end = start;
        for c in text[start..].chars() {
            if units == 0 {
                break;
            }
            units -= c.len_utf16();
            end += c.len_utf8();
        }
        end
    };
    let mut result = text.to_string();
    let mut edits: Vec<_> = edits.as_array().expect("edits").iter().collect();
    edits.sort_by_key(|edit| std::cmp::Reverse(offset(&edit["range"]["start"])));
    for edit in edits {
        let range = offset(&edit["range"]["start"])..offset(&edit["range"]["end"]);
        result.replace_range(range, edit["newText"].as_str().expect("a text"));
    }
    result
}

const ALL: &[(&str, &str)] = &[("helper.py", HELPER), ("main.py", MAIN), ("alias.py", ALIAS)];

#[test]
fn definitions_and_hover_reach_other_files() {
    let mut f = Folder::new(ALL);
    f.open("main.py", 1, MAIN);
    for (part, place) in [
        ("hälfte(x[i]", "helper.py:11:4"),
        ("hälfte(1.0", "helper.py:11:4"),
        ("hälfte\n", "helper.py:11:4"),
        ("Ball)):", "helper.py:6:6"),
        ("GRÖSSE +", "helper.py:2:0"),
        ("mass", "helper.py:7:4"),
        ("by=", "helper.py:11:21"),
    ] {
        let params = f.at("main.py", MAIN, part);
        let answer = f.client.ask("textDocument/definition", params);
        assert_eq!(f.places(&answer), [place], "{part}");
    }
    for (part, sign) in
        [("hälfte(x[i]", "Half of it."), ("Ball)):", "class Ball"), ("mass", "Ball.mass: float"), ("GRÖSSE +", "3.0")]
    {
        let params = f.at("main.py", MAIN, part);
        let answer = f.client.ask("textDocument/hover", params);
        let text = answer["contents"]["value"].as_str().unwrap_or_default();
        assert!(text.contains(sign) && text.contains("from `helper.py`"), "{part}: {answer}");
    }
    f.client.end();
}

#[test]
fn uses_are_found_in_closed_files_and_through_other_names() {
    let mut f = Folder::new(ALL);
    f.open("helper.py", 1, HELPER);
    let params = f.at("helper.py", HELPER, "hälfte");
    let answer = f.client.ask("textDocument/references", params);
    let all = [
        "alias.py:1:19",
        "alias.py:1:29",
        "alias.py:6:18",
        "helper.py:11:4",
        "main.py:3:33",
        "main.py:10:11",
        "main.py:10:50",
    ];
    assert_eq!(f.places(&answer), all);
    // A file that changed, and one that is gone, since they were looked at.
    f.write("alias.py", &format!("\n{ALIAS}"));
    std::fs::remove_file(f.path("main.py")).expect("a file");
    let params = f.at("helper.py", HELPER, "hälfte");
    let answer = f.client.ask("textDocument/references", params);
    assert_eq!(f.places(&answer), ["alias.py:2:19", "alias.py:2:29", "alias.py:7:18", "helper.py:11:4"]);
    f.client.end();
}

#[test]
fn a_rename_changes_all_files_from_either_end() {
    for (file, text, part) in [("helper.py", HELPER, "hälfte"), ("main.py", MAIN, "hälfte(x[i]")] {
        let mut f = Folder::new(ALL);
        f.open(file, 7, text);
        let answer = f.rename(file, text, part, "teil");
        let changes = answer["result"]["documentChanges"].as_array().unwrap_or_else(|| panic!("{answer}")).clone();
        assert_eq!(changes.len(), 3);
        for change in &changes {
            let document = &change["textDocument"];
            let name = document["uri"].as_str().and_then(|uri| uri.rsplit('/').next()).expect("a name").to_string();
            assert_eq!(document["version"], if name == file { json!(7) } else { Value::Null });
            let (_, before) = ALL.iter().find(|(other, _)| *other == name).expect("one of ours");
            // All uses have the name itself; the alias keeps its own.
            assert_eq!(edited(before, &change["edits"]), before.replace("hälfte", "teil"), "{name}");
        }
        f.client.end();
    }
}

#[test]
fn fields_and_parameters_are_renamed_in_all_files() {
    let mut f = Folder::new(ALL);
    f.open("helper.py", 1, HELPER);
    let mut texts = |part: &str, new: &str| -> Vec<String> {
        let answer = f.rename("helper.py", HELPER, part, new);
        let changes = answer["result"]["documentChanges"].as_array().unwrap_or_else(|| panic!("{answer}")).clone();
        let text = |change: &Value| {
            let name = change["textDocument"]["uri"].as_str().and_then(|uri| uri.rsplit('/').next()).expect("a name");
            let (_, before) = ALL.iter().find(|(other, _)| *other == name).expect("one of ours");
            edited(before, &change["edits"])
        };
        changes.iter().map(text).collect()
    };
    assert_eq!(texts("mass", "weight"), [HELPER.replace("mass", "weight"), MAIN.replace("mass", "weight")]);
    let by = |text: &str| text.replace("by=", "factor=").replace("by:", "factor:").replace("* by", "* factor");
    assert_eq!(texts("by:", "factor"), [by(ALIAS), by(HELPER), by(MAIN)]);
    f.client.end();
}

#[test]
fn renames_that_are_not_safe_are_refused() {
    let mut f = Folder::new(ALL);
    f.write("words.py", "import helper\n\nf = getattr(helper, 'GRÖSSE')\n");
    f.write("host.py", "from helper import Ball\n\nb = Ball()\nb.mass = 1.0\n");
    f.open("main.py", 1, MAIN);
    f.open("alias.py", 1, ALIAS);
    for (file, text, part, new, reason) in [
        ("main.py", MAIN, "hälfte(x[i]", "Ball", "already means something else"),
        ("main.py", MAIN, "hälfte(x[i]", "for", "is not a name"),
        ("main.py", MAIN, "hälfte(x[i]", "x", "already means something else"),
        ("main.py", MAIN, "GRÖSSE +", "G", "in quotes"),
        ("main.py", MAIN, "mass", "m", "host.py: plain Python uses `.mass` (line 4)"),
        ("main.py", MAIN, "helper.h", "h", "is a Python module"),
        ("alias.py", ALIAS, "h(1.0", "z", "this file's own name for `hälfte`"),
    ] {
        let said = f.refused(file, text, part, new);
        assert!(said.contains(reason), "{part} to {new}: {said}");
    }
    f.client.end();
}

#[test]
fn files_outside_the_workspace_stay_as_they_are() {
    let mut f = Folder::new(&[("in/main.py", MAIN), ("in/__init__.py", "")]);
    // The folder above holds the package, and what it imports.
    f.write("helper.py", HELPER);
    let (inside, all) = (f.uri("in"), f.uri(""));
    let folder = |uri: &str| json!([{"uri": uri.trim_end_matches('/'), "name": "x"}]);
    let event = json!({"added": folder(&inside), "removed": folder(&all)});
    f.client.tell("workspace/didChangeWorkspaceFolders", json!({"event": event}));
    f.open("in/main.py", 1, MAIN);
    let said = f.refused("in/main.py", MAIN, "hälfte(x[i]", "teil");
    assert!(said.contains("outside the workspace"), "{said}");
    // With both as workspace folders, both change.
    f.write("two/other.py", "import warp as wp\n");
    let event = json!({"added": folder(&all), "removed": []});
    f.client.tell("workspace/didChangeWorkspaceFolders", json!({"event": event}));
    let answer = f.rename("in/main.py", MAIN, "hälfte(x[i]", "teil");
    assert_eq!(answer["result"]["documentChanges"].as_array().map(Vec::len), Some(2), "{answer}");
    f.client.end();
}

#[test]
fn importers_are_checked_again() {
    let mut f = Folder::new(&[("helper.py", HELPER)]);
    f.open("main.py", 1, MAIN);
    f.errors_until("main.py", &[]);
    // On the screen only.
    f.open("helper.py", 1, HELPER);
    f.change("helper.py", 2, &HELPER.replace("by: float", "by: float, more: float"));
    f.errors_until("main.py", &["E0402", "E0402"]);
    f.change("helper.py", 3, HELPER);
    f.errors_until("main.py", &[]);
    let document = json!({"textDocument": {"uri": f.uri("helper.py")}});
    f.client.tell("textDocument/didClose", document);
    // On the disk: gone, and there again.
    std::fs::remove_file(f.path("helper.py")).expect("a file");
    f.client.tell("workspace/didChangeWatchedFiles", json!({"changes": []}));
    f.errors_until("main.py", &["E0507"]);
    f.write("helper.py", HELPER);
    f.client.tell("workspace/didChangeWatchedFiles", json!({"changes": []}));
    f.errors_until("main.py", &[]);
    f.client.end();
}

#[test]
fn files_that_import_each_other() {
    let a = "import warp as wp\nimport b\n\n\n@wp.func\ndef fa(x: float):\n    return x\n\n\n@wp.kernel\ndef k(x: wp.array(dtype=float)):\n    x[0] = b.fb(1.0)\n";
    let b = "import warp as wp\nfrom a import *\n\n\n@wp.func\ndef fb(x: float):\n    return fa(x)\n";
    let mut f = Folder::new(&[("a.py", a), ("b.py", b)]);
    f.open("a.py", 1, a);
    f.open("b.py", 1, b);
    let params = f.at("b.py", b, "fa(x)");
    let answer = f.client.ask("textDocument/definition", params);
    assert_eq!(f.places(&answer), ["a.py:5:4"]);
    let params = f.at("a.py", a, "fb(1.0)");
    let answer = f.client.ask("textDocument/references", params);
    assert_eq!(f.places(&answer), ["a.py:11:13", "b.py:5:4"]);
    let answer = f.rename("a.py", a, "fa", "first");
    assert_eq!(answer["result"]["documentChanges"].as_array().map(Vec::len), Some(2), "{answer}");
    // A name that only leads in a circle is nobody's.
    let c = "import warp as wp\nfrom d import nothing\n\n\n@wp.kernel\ndef k():\n    nothing()\n";
    f.write("d.py", "from c import nothing\n");
    f.open("c.py", 1, c);
    let params = f.at("c.py", c, "nothing()");
    assert_eq!(f.client.ask("textDocument/definition", params), Value::Null);
    f.client.end();
}

#[test]
fn symbols_of_the_workspace() {
    let mut f = Folder::new(ALL);
    f.write(".venv/hidden.py", HELPER);
    f.open("main.py", 1, &MAIN.replace("def k(", "def kernel_on_screen("));
    let mut names = |query: &str| -> Vec<String> {
        let answer = f.client.ask("workspace/symbol", json!({"query": query}));
        let name = |entry: &Value| entry["name"].as_str().unwrap_or_default().to_string();
        answer.as_array().expect("a list").iter().map(name).collect()
    };
    assert_eq!(names("hÄlf"), ["hälfte"]);
    assert_eq!(names("kos"), ["kernel_on_screen"]);
    // A constant that no kernel of its file uses is plain Python's.
    assert_eq!(names(""), ["other", "Ball", "hälfte", "kernel_on_screen"]);
    // What changes on the disk, or comes and goes there, is found as it is.
    for text in ["@wp.func\ndef new_name(x: float):\n    return x\n", "@wp.func\ndef newer_name():\n    return 1\n", ""]
    {
        f.write("new.py", &format!("import warp as wp\n\n\n{text}"));
        let answer = f.client.ask("workspace/symbol", json!({"query": "new"}));
        let found: Vec<&str> = answer.as_array().expect("a list").iter().filter_map(|e| e["name"].as_str()).collect();
        let wanted: Vec<&str> = text.split(['(', ' ']).filter(|word| word.ends_with("_name")).collect();
        assert_eq!(found, wanted);
    }
    f.client.end();
}

const CALLS: &str = "import warp as wp\nfrom helper import hälfte as h\n\n\n@wp.func\ndef zweimal(x: float):\n    return h(x, 1.0) + h(x, by=2.0)\n\n\n@wp.kernel\ndef start(x: wp.array(dtype=float)):\n    i = wp.tid()\n    x[i] = zweimal(h(x[i], 2.0)) + wp.sin(x[i])\n\n\ndef main(n):\n    wp.launch(start, dim=n)\n\n\nwp.launch(start, dim=3)\n";

#[test]
fn callers_and_what_is_called_are_told_across_files() {
    let mut f = Folder::new(ALL);
    f.write("calls.py", CALLS);
    f.open("calls.py", 1, CALLS);
    let shown = |answer: &Value, side: &str| -> Vec<String> {
        let calls = answer.as_array().unwrap_or_else(|| panic!("{answer}")).iter();
        let line = |call: &Value| {
            let ranges = call["fromRanges"].as_array().expect("ranges").iter();
            let places: Vec<String> =
                ranges.map(|at| format!("{}:{}", at["start"]["line"], at["start"]["character"])).collect();
            format!("{} {} {}", call[side]["detail"], call[side]["name"], places.join(" ")).replace('"', "")
        };
        calls.map(line).collect()
    };
    let params = f.at("calls.py", CALLS, "h(x, 1.0)");
    let items = f.client.ask("textDocument/prepareCallHierarchy", params);
    let half = &items[0];
    assert_eq!((&items[1], &half["name"], &half["detail"]), (&Value::Null, &json!("hälfte"), &json!("helper.py")));
    assert_eq!(half["selectionRange"]["start"], json!({"line": 11, "character": 4}));
    assert_eq!(half["range"]["start"], json!({"line": 10, "character": 0}), "with its decorator");
    let callers = f.client.ask("callHierarchy/incomingCalls", json!({"item": half}));
    let all = ["alias.py other 6:18", "calls.py zweimal 6:11 6:23", "calls.py start 12:19", "main.py k 10:11 10:50"];
    assert_eq!(shown(&callers, "from"), all);
    let called = f.client.ask("callHierarchy/outgoingCalls", json!({"item": half}));
    assert_eq!(called, json!([]));

    // From a caller on, up to the launches.
    let twice = &callers[1]["from"];
    let called = f.client.ask("callHierarchy/outgoingCalls", json!({"item": twice}));
    assert_eq!(shown(&called, "to"), ["helper.py hälfte 6:11 6:23"]);
    let callers = f.client.ask("callHierarchy/incomingCalls", json!({"item": twice}));
    assert_eq!(shown(&callers, "from"), ["calls.py start 12:11"]);
    let kernel = &callers[0]["from"];
    let called = f.client.ask("callHierarchy/outgoingCalls", json!({"item": kernel}));
    assert_eq!(shown(&called, "to"), ["calls.py zweimal 12:11", "helper.py hälfte 12:19"]);
    let callers = f.client.ask("callHierarchy/incomingCalls", json!({"item": kernel}));
    assert_eq!(shown(&callers, "from"), ["calls.py calls.py 16:14 19:10"]);
    for caller in callers.as_array().expect("callers") {
        let answer = f.client.ask("callHierarchy/incomingCalls", json!({"item": caller["from"]}));
        assert_eq!(answer, json!([]), "{caller}");
    }

    // Nothing to tell of a variable, a built-in and an empty place; an item of somebody else; a
    // file that is gone.
    for part in ["i = wp", "sin(", "import warp"] {
        let params = f.at("calls.py", CALLS, part);
        assert_eq!(f.client.ask("textDocument/prepareCallHierarchy", params), Value::Null, "{part}");
    }
    let answer = f.client.answer("callHierarchy/incomingCalls", json!({"item": {"name": "x"}}));
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    let gone = json!({"item": {"data": {"path": f.path("gone.py"), "function": "x"}}});
    assert_eq!(f.client.ask("callHierarchy/outgoingCalls", gone), json!([]));
    f.client.end();
}
