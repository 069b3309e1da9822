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
