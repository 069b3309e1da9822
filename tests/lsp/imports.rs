//! Names from other files, as an editor has them open.

use serde_json::{Value, json};

use crate::client::Client;

const HELPER: &str = "file:///tmp/kc_lsp_open_helper.py";

const TEXT: &str = r#"import warp as wp

from kc_lsp_open_helper import half


@wp.kernel
def k(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = half(x[i])
"#;

#[test]
fn an_open_document_is_imported_as_it_is_on_the_screen() {
    let helper = "import warp as wp\n\n\n@wp.func\ndef half(x: float):\n    return x * 0.5\n";
    let mut client = Client::start(json!({}));
    let document = json!({"uri": HELPER, "languageId": "python", "version": 70, "text": helper});
    client.tell("textDocument/didOpen", json!({"textDocument": document}));
    client.open(TEXT);
    let errors = |findings: Vec<Value>| -> Vec<Value> {
        findings.iter().filter(|finding| finding["severity"] == 1).map(|finding| finding["code"].clone()).collect()
    };
    assert_eq!(errors(client.findings(1)), Vec::<Value>::new());
    let changed = json!({"uri": HELPER, "version": 71});
    let text = helper.replace("half", "third");
    client.tell("textDocument/didChange", json!({"textDocument": changed, "contentChanges": [{"text": text}]}));
    client.change(2, json!([{"text": format!("{TEXT}\n")}]));
    assert_eq!(errors(client.findings(2)), [json!("E0507")]);
    client.end();
}

#[test]
fn views_of_a_kernel_that_imports_show_the_open_documents() {
    let helper = "import warp as wp\n\n\n@wp.struct\nclass Half:\n    by: float\n\n\n@wp.func\ndef half(x: float):\n    return x * 0.12345\n";
    let text = TEXT.replace("import half", "import Half, half").replace("(dtype=float)", "(dtype=float), h: Half");
    let mut client = Client::start(json!({}));
    let document = json!({"uri": HELPER, "languageId": "python", "version": 70, "text": helper});
    client.tell("textDocument/didOpen", json!({"textDocument": document}));
    client.open(&text);
    for (view, sign) in [("ptx", ".visible .entry"), ("cuda", "0.12345f"), ("ir", "0.12345"), ("adjoint", "0.12345f")] {
        let shown = client.ask("kc/view", json!({"uri": crate::client::URI, "kernel": "k", "view": view}));
        assert!(shown["text"].as_str().is_some_and(|text| text.contains(sign)), "{view}: {shown}");
    }
    client.end();
}
