//! HTTP/1.1, as far as one page needs it: a request on each connection, with a body of a known
//! length. `httparse` reads the head.

use std::io::{ErrorKind, Read, Write};

/// The bytes of a request's head, and of its body, at most.
const MAX_HEAD: usize = 16 << 10;
pub const MAX_BODY: usize = 1 << 20;
const MAX_HEADERS: usize = 64;

/// What a browser asks.
#[derive(Clone, Default, Debug)]
pub struct Request {
    pub method: String,
    /// Before the `?`.
    pub path: String,
    pub query: String,
    /// Names in lower case.
    headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Request {
    /// The value of a header that is there once.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }
}

/// What it gets.
#[derive(Debug)]
pub struct Response {
    pub status: u16,
    kind: &'static str,
    policy: Option<String>,
    pub body: Vec<u8>,
}

impl Response {
    pub fn of(kind: &'static str, body: impl Into<Vec<u8>>) -> Response {
        Response { status: 200, kind, policy: None, body: body.into() }
    }

    pub fn json(value: &serde_json::Value) -> Response {
        Response::of("application/json", value.to_string())
    }

    pub fn refuse(status: u16, why: &str) -> Response {
        Response { status, ..Response::of("text/plain; charset=utf-8", format!("{why}\n")) }
    }

    /// With what the page may load.
    pub fn policy(self, policy: String) -> Response {
        Response { policy: Some(policy), ..self }
    }

    /// # Errors
    /// Nobody listens any more.
    pub fn write(&self, to: &mut impl Write) -> std::io::Result<()> {
        let reason = match self.status {
            200 => "OK",
            400 => "Bad Request",
            403 => "Forbidden",
            404 => "Not Found",
            405 => "Method Not Allowed",
            411 => "Length Required",
            413 => "Content Too Large",
            415 => "Unsupported Media Type",
            431 => "Request Header Fields Too Large",
            503 => "Service Unavailable",
            _ => "Error",
        };
        let policy = self.policy.as_deref().unwrap_or("default-src 'none'; frame-ancestors 'none'");
        let head = format!(
            "HTTP/1.1 {} {reason}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\nCache-Control: no-store\r\n\
             X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\nCross-Origin-Opener-Policy: same-origin\r\n\
             Cross-Origin-Resource-Policy: same-origin\r\nContent-Security-Policy: {policy}\r\n\r\n",
            self.status,
            self.kind,
            self.body.len()
        );
        to.write_all(&[head.as_bytes(), &self.body].concat())?;
        to.flush()
    }
}

/// Reads a request.
///
/// # Errors
/// What to answer to one that is none, or too large.
pub fn read(from: &mut impl Read) -> Result<Request, Response> {
    let mut bytes = Vec::new();
    let (mut request, length, head) = loop {
        if let Some(found) = head(&bytes)? {
            break found;
        }
        if bytes.len() > MAX_HEAD {
            return Err(Response::refuse(431, "the head of the request is too large"));
        }
        if more(from, &mut bytes)? == 0 {
            return Err(Response::refuse(400, "the request ends early"));
        }
    };
    request.body = bytes.split_off(head);
    while request.body.len() < length {
        if more(from, &mut request.body)? == 0 {
            return Err(Response::refuse(400, "the body ends early"));
        }
    }
    request.body.truncate(length);
    Ok(request)
}

fn more(from: &mut impl Read, bytes: &mut Vec<u8>) -> Result<usize, Response> {
    let mut next = [0; 16 << 10];
    loop {
        match from.read(&mut next) {
            Ok(count) => {
                bytes.extend_from_slice(&next[..count]);
                return Ok(count);
            }
            Err(fault) if fault.kind() == ErrorKind::Interrupted => {}
            Err(_) => return Err(Response::refuse(400, "the request does not come")),
        }
    }
}

/// The request without its body, the length of that, and where it begins. None: more has to come.
fn head(bytes: &[u8]) -> Result<Option<(Request, usize, usize)>, Response> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let head = match parsed.parse(bytes) {
        Ok(httparse::Status::Complete(head)) => head,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(fault) => return Err(Response::refuse(400, &format!("this is no request: {fault}"))),
    };
    let target = parsed.path.unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let text = |value: &[u8]| String::from_utf8_lossy(value).trim().to_string();
    let request = Request {
        method: parsed.method.unwrap_or_default().to_string(),
        path: path.to_string(),
        query: query.to_string(),
        headers: parsed.headers.iter().map(|one| (one.name.to_ascii_lowercase(), text(one.value))).collect(),
        body: Vec::new(),
    };
    let length = length(&request)?;
    Ok(Some((request, length, head)))
}

/// The length of the body. One that is too large is not read.
fn length(request: &Request) -> Result<usize, Response> {
    if request.header("transfer-encoding").is_some() {
        return Err(Response::refuse(411, "the body has no length"));
    }
    let lengths: Vec<&str> =
        request.headers.iter().filter(|(name, _)| name == "content-length").map(|(_, value)| value.as_str()).collect();
    match lengths.as_slice() {
        [] => Ok(0),
        [one] => match one.parse::<u64>() {
            Ok(length) if length <= MAX_BODY as u64 => Ok(length as usize),
            Ok(_) => Err(Response::refuse(413, "the body is larger than 1 MiB")),
            Err(_) => Err(Response::refuse(400, "the length of the body is no number")),
        },
        _ => Err(Response::refuse(400, "the body has several lengths")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(text: &str) -> u16 {
        read(&mut text.as_bytes()).map_or_else(|refused| refused.status, |_| 200)
    }

    #[test]
    fn requests_are_read_whole() {
        let text = "POST /t/view?a=b HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabcd";
        let request = read(&mut text.as_bytes()).expect("a request");
        assert_eq!((&*request.method, &*request.path, &*request.query), ("POST", "/t/view", "a=b"));
        assert_eq!((request.header("host"), &*request.body), (Some("x"), &b"abc"[..]));
    }

    #[test]
    fn what_is_no_request_is_refused() {
        let with = |headers: &str| format!("POST / HTTP/1.1\r\n{headers}\r\n\r\n");
        for (text, code) in [
            ("".to_string(), 400),
            ("GET".to_string(), 400),
            ("\0\0 / HTTP/1.1\r\n\r\n".to_string(), 400),
            (with("Content-Length: 5"), 400),
            (with("Content-Length: -5"), 400),
            (with("Content-Length: 1048577"), 413),
            (with("Content-Length: 99999999999999999999"), 400),
            (with("Content-Length: 0\r\nContent-Length: 0"), 400),
            (with("Transfer-Encoding: chunked"), 411),
            (with(&format!("A: {}", "x".repeat(20 << 10))), 200),
            (format!("GET /{} HTTP/1.1\r\n", "x".repeat(40 << 10)), 431),
            (with(&"A: b\r\n".repeat(80)), 400),
        ] {
            let got = status(&text);
            assert!(got == code || code == 200 && got < 500, "{} gives {got}", &text[..text.len().min(60)]);
        }
    }
}
