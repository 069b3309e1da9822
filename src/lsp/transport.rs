//! Bytes to messages and back. What is not a message gets an error as its answer, and the next
//! message is read. The end of the input ends the connection. So does an invalid Content-Length, as
//! the start of the next message is unknown then.

use std::io::{self, BufRead, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};

use crossbeam_channel::{Sender, unbounded};
use lsp_server::{Connection, ErrorCode, Message};
use serde_json::{Value, json};

/// The largest message that is read, in bytes.
const MAX_MESSAGE: usize = 256 << 20;

/// A connection over two byte streams. The returned thread ends after the last answer is written.
/// `given_up` gets the reason where the input has not ended and cannot be read any further.
pub fn connect(
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    given_up: impl FnOnce(&str) + Send + 'static,
) -> (Connection, std::thread::JoinHandle<()>) {
    let output = Arc::new(Mutex::new(output));
    let (to_server, receiver) = unbounded();
    let (sender, from_server) = unbounded::<Message>();
    let errors = output.clone();
    std::thread::spawn(move || read_all(io::BufReader::new(input), &to_server, &errors, given_up));
    let writer = std::thread::spawn(move || {
        for message in from_server {
            let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
            if message.write(&mut *output).is_err() {
                // Nobody listens any more; the reader will see the end of the input.
                return;
            }
        }
    });
    (Connection { sender, receiver }, writer)
}

fn read_all(mut input: impl BufRead, to: &Sender<Message>, errors: &Mutex<impl Write>, given_up: impl FnOnce(&str)) {
    loop {
        let body = match read_body(&mut input) {
            Ok(Some(body)) => body,
            Ok(None) => return,
            Err(Malformed::Header) => {
                refuse(errors, ErrorCode::ParseError, "a header without Content-Length");
                continue;
            }
            Err(Malformed::Length(length)) => {
                let reason = format!(
                    "Content-Length is `{length}`, which is no number of bytes up to {MAX_MESSAGE}; the server ends"
                );
                refuse(errors, ErrorCode::ParseError, &reason);
                given_up(&reason);
                return;
            }
        };
        let message = match serde_json::from_slice::<Value>(&body) {
            Err(error) => {
                refuse(errors, ErrorCode::ParseError, &format!("this is not JSON: {error}"));
                continue;
            }
            Ok(value) => serde_json::from_value::<Message>(value),
        };
        match message {
            Ok(message) => {
                let exit = matches!(&message, Message::Notification(n) if n.method == "exit");
                if to.send(message).is_err() || exit {
                    return;
                }
            }
            Err(_) => refuse(errors, ErrorCode::InvalidRequest, "this is no request, response or notification"),
        }
    }
}

/// Why a message could not be read.
enum Malformed {
    /// It has headers, and none says how long it is.
    Header,
    /// What `Content-Length` says.
    Length(String),
}

/// The next message's bytes; None at the end of the input.
fn read_body(input: &mut impl BufRead) -> Result<Option<Vec<u8>>, Malformed> {
    let mut length: Option<usize> = None;
    let mut strange = false;
    loop {
        let mut line = Vec::new();
        // A header is short; a line without end must not fill the memory.
        match input.take(8 << 10).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return Ok(None),
            Ok(_) => {}
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim();
        match text.split_once(':') {
            _ if text.is_empty() => match length {
                Some(_) => break,
                None if strange => return Err(Malformed::Header),
                // A blank line between messages.
                None => continue,
            },
            Some((name, value)) if name.trim().eq_ignore_ascii_case("content-length") => match value.trim().parse() {
                Ok(number) if number <= MAX_MESSAGE => length = Some(number),
                _ => {
                    return Err(Malformed::Length(value.trim().chars().filter(|c| !c.is_control()).take(40).collect()));
                }
            },
            Some((name, _)) if name.trim().eq_ignore_ascii_case("content-type") => {}
            _ => strange = true,
        }
    }
    let mut body = vec![0; length.unwrap_or(0)];
    match input.read_exact(&mut body) {
        Ok(()) => Ok(Some(body)),
        Err(_) => Ok(None),
    }
}

/// An answer to something that has no number to answer to.
fn refuse(output: &Mutex<impl Write>, code: ErrorCode, message: &str) {
    let answer = json!({"jsonrpc": "2.0", "id": null, "error": {"code": code as i32, "message": message}}).to_string();
    let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
    // When nobody reads, there is nobody to tell.
    let _ = write!(output, "Content-Length: {}\r\n\r\n{answer}", answer.len()).and_then(|()| output.flush());
}
