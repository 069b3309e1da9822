//! A client of `kc lsp`: the real program, over its standard input and output.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

/// Longer than any answer takes, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Client {
    process: Child,
    input: ChildStdin,
    output: Receiver<Value>,
    /// Messages that came while another one was waited for.
    waiting: Vec<Value>,
    last_id: i64,
}

/// The document that most tests edit.
pub const URI: &str = "file:///tmp/kernels.py";

impl Client {
    /// Starts a server, and a session with these capabilities.
    pub fn start(capabilities: Value) -> Client {
        let mut client = Client::raw();
        let answer =
            client.ask("initialize", json!({"processId": null, "rootUri": null, "capabilities": capabilities}));
        assert!(answer["capabilities"]["hoverProvider"].as_bool() == Some(true), "{answer}");
        client.tell("initialized", json!({}));
        client
    }

    /// Starts a server without a session.
    pub fn raw() -> Client {
        let mut process = Command::new(env!("CARGO_BIN_EXE_kc"))
            .args(["lsp", "--stdio"])
            .env("XDG_CACHE_HOME", std::env::temp_dir().join("kc-lsp-test"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("kc runs");
        let input = process.stdin.take().expect("its input");
        let mut reader = BufReader::new(process.stdout.take().expect("its output"));
        let (to, output) = channel();
        std::thread::spawn(move || {
            loop {
                let mut length = 0;
                loop {
                    let mut line = String::new();
                    if reader.read_line(&mut line).unwrap_or(0) == 0 {
                        return;
                    }
                    match line.trim().split_once(": ") {
                        Some((_, number)) => length = number.parse().expect("a length"),
                        None => break,
                    }
                }
                let mut body = vec![0; length];
                if reader.read_exact(&mut body).is_err() {
                    return;
                }
                let message = serde_json::from_slice(&body).expect("JSON");
                if to.send(message).is_err() {
                    return;
                }
            }
        });
        Client { process, input, output, waiting: Vec::new(), last_id: 0 }
    }

    pub fn write(&mut self, bytes: &[u8]) {
        self.input.write_all(bytes).and_then(|()| self.input.flush()).expect("the server reads");
    }

    pub fn send(&mut self, message: &Value) {
        let body = message.to_string();
        self.write(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
    }

    pub fn tell(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Sends a request and gives its number.
    pub fn request(&mut self, method: &str, params: Value) -> i64 {
        self.last_id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params}));
        self.last_id
    }

    /// The next message for which `wanted` holds.
    pub fn wait(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.waiting.iter().position(&wanted) {
            return self.waiting.remove(at);
        }
        loop {
            let message = self.output.recv_timeout(PATIENCE).expect("the server answers");
            if wanted(&message) {
                return message;
            }
            self.waiting.push(message);
        }
    }

    /// Whether a message for which `wanted` holds has come so far.
    pub fn has(&mut self, wanted: impl Fn(&Value) -> bool) -> bool {
        self.waiting.extend(self.output.try_iter());
        self.waiting.iter().any(wanted)
    }

    /// The whole answer to a request.
    pub fn answer(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        self.wait(|message| message["id"] == id && message["method"].is_null())
    }

    /// The result of a request.
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let answer = self.answer(method, params);
        assert!(answer["error"].is_null(), "{method}: {answer}");
        answer["result"].clone()
    }

    pub fn open(&mut self, text: &str) {
        let document = json!({"uri": URI, "languageId": "python", "version": 1, "text": text});
        self.tell("textDocument/didOpen", json!({"textDocument": document}));
    }

    pub fn change(&mut self, version: i64, changes: Value) {
        let document = json!({"uri": URI, "version": version});
        self.tell("textDocument/didChange", json!({"textDocument": document, "contentChanges": changes}));
    }

    /// The findings of a version of the document.
    pub fn findings(&mut self, version: i64) -> Vec<Value> {
        let message = self.wait(|message| {
            message["method"] == "textDocument/publishDiagnostics" && message["params"]["version"] == version
        });
        message["params"]["diagnostics"].as_array().expect("a list").clone()
    }

    /// Says goodbye; the server must end well.
    pub fn end(mut self) {
        assert_eq!(self.ask("shutdown", Value::Null), Value::Null);
        self.tell("exit", Value::Null);
        let status = self.process.wait().expect("an end");
        assert_eq!(status.code(), Some(0));
    }

    /// Closes the input without a goodbye, and gives the exit code.
    pub fn hang_up(self) -> Option<i32> {
        let Client { mut process, input, .. } = self;
        drop(input);
        process.wait().expect("an end").code()
    }
}

/// Where a text is in another one, as a position in UTF-16.
pub fn position(text: &str, part: &str) -> Value {
    let at = text.find(part).expect("the part");
    let before = &text[..at];
    let line = before.matches('\n').count();
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    json!({"line": line, "character": before[start..].encode_utf16().count()})
}
