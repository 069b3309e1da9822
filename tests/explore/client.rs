//! A client of `kc explore`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

/// A page that is served, of a file in a folder of its own.
pub struct Served {
    kc: Child,
    pub port: u16,
    pub token: String,
    pub file: PathBuf,
    _folder: tempfile::TempDir,
}

impl Served {
    /// `options` may name a port; else it is a free one.
    pub fn start(source: &str, options: &[&str]) -> Served {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("saxpy.py");
        std::fs::write(&file, source).expect("a file");
        let mut command = Command::new(env!("CARGO_BIN_EXE_kc"));
        command.arg("explore").arg(&file).args(if options.is_empty() { &["--port", "0"] } else { options });
        let mut kc = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("kc");
        let mut line = String::new();
        BufReader::new(kc.stdout.take().expect("its output")).read_line(&mut line).expect("an address");
        let rest = line.trim().strip_prefix("http://127.0.0.1:").expect("an address of this machine");
        let (port, token) = rest.split_once('/').expect("a token");
        let token = token.trim_end_matches('/').to_string();
        assert_eq!(token.len(), 32, "128 bits");
        Served { kc, port: port.parse().expect("a port"), token, file, _folder: folder }
    }

    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub fn view(&self, wish: &Value) -> Value {
        view(self.port, &self.token, wish)
    }

    pub fn save(&self, text: &str, stamp: &str) -> Value {
        let body = json!({ "text": text, "stamp": stamp }).to_string();
        let path = format!("/{}/save", self.token);
        let said = post(self.port, &path, &self.host(), &["Content-Type: application/json"], &body);
        serde_json::from_str(&said.2).unwrap_or_else(|fault| panic!("{fault}: {said:?}"))
    }

    /// Ends the processes that kc has started.
    pub fn kill_workers(&self) {
        let children = format!("/proc/{0}/task", self.kc.id());
        let tasks = std::fs::read_dir(children).into_iter().flatten().flatten();
        let texts = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
        for id in texts.flat_map(|text| text.split_whitespace().map(str::to_string).collect::<Vec<_>>()) {
            let _ = Command::new("kill").args(["-9", &id]).status();
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.kc.kill();
        let _ = self.kc.wait();
    }
}

/// What a page gets for a wish.
pub fn view(port: u16, token: &str, wish: &Value) -> Value {
    let (path, host) = (format!("/{token}/view"), format!("127.0.0.1:{port}"));
    let (status, _, body) = post(port, &path, &host, &["Content-Type: application/json"], &wish.to_string());
    assert_eq!(status, 200, "{body}");
    serde_json::from_str(&body).expect("JSON")
}

pub fn get(port: u16, path: &str, host: &str, headers: &[&str]) -> (u16, String, String) {
    ask(port, "GET", path, host, headers, "")
}

pub fn post(port: u16, path: &str, host: &str, headers: &[&str], body: &str) -> (u16, String, String) {
    ask(port, "POST", path, host, headers, body)
}

/// Status, head and body of an answer.
fn ask(port: u16, method: &str, path: &str, host: &str, headers: &[&str], body: &str) -> (u16, String, String) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
    let more: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    let head = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\n{more}Content-Length: {}\r\n\r\n", body.len());
    stream.write_all(head.as_bytes()).expect("a request");
    // A body that is refused may not be read to its end.
    let _ = stream.write_all(body.as_bytes());
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let text = String::from_utf8_lossy(&answer).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer to {method} {path}: {text}"));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    (status, head.to_string(), body.to_string())
}
