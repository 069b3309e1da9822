//! Who may ask, and what? A server of one page for one file, on this machine's loopback address
//! alone. Who does not know the token of the address gets nothing, and neither does a page of
//! another origin that a browser has open.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::io::Read;
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};

use super::http::{self, Request, Response};
use super::page::{EDITOR, STYLE, Start, script, static_page};
use super::wish::{Part, Wish};
use super::worker::Workers;
use crate::driver::{self, Stamp};
use crate::run::files::whole::write_whole;

/// More connections than this at once are refused.
const MOST: usize = 64;

/// A connection that says nothing for so long is closed.
const SILENCE: Duration = Duration::from_secs(10);

/// How long, and for how many bytes, one that is answered is listened to.
const LINGER: Duration = Duration::from_millis(500);
const MOST_LATE: u64 = 16 << 20;

/// How long a page waits for news of its file, and how often the file is looked at.
const NEWS: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(100);

/// 128 random bits, as digits.
pub struct Token(String);

impl Token {
    /// # Errors
    /// The system has no random numbers.
    pub fn random() -> std::io::Result<Token> {
        let mut bytes = [0; 16];
        std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        Ok(Token(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// Takes as long for any text of its length.
    fn is(&self, text: &str) -> bool {
        let same = self.0.bytes().zip(text.bytes()).fold(0, |other, (a, b)| other | (a ^ b));
        text.len() == self.0.len() && same == 0
    }
}

/// A file that is served.
pub struct Server {
    listener: TcpListener,
    port: u16,
    token: Token,
    path: PathBuf,
    /// What a page begins with.
    wish: Wish,
    workers: Workers,
    /// The files that the last text imports.
    imports: Mutex<Vec<PathBuf>>,
    open: AtomicUsize,
}

impl Server {
    /// Listens at a port of the loopback address; where another program has it, at any that is
    /// free.
    ///
    /// # Errors
    /// There is none, or the system has no random numbers.
    pub fn bind(port: u16, path: &Path, wish: Wish, workers: Workers) -> std::io::Result<Server> {
        let any = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).or_else(|_| any())?;
        let port = listener.local_addr()?.port();
        let (path, imports, open) = (path.to_path_buf(), Mutex::default(), AtomicUsize::new(0));
        Ok(Server { listener, port, token: Token::random()?, path, wish, workers, imports, open })
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The address of the page.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}/{}/", self.port, self.token.0)
    }

    /// Answers for ever, each connection on a thread of its own.
    pub fn run(self) {
        let this = Arc::new(self);
        for stream in this.listener.incoming().flatten() {
            let server = this.clone();
            if server.open.fetch_add(1, Ordering::AcqRel) >= MOST {
                server.open.fetch_sub(1, Ordering::AcqRel);
                // It may be gone already.
                let _ = Response::refuse(503, "there are too many connections").write(&mut &stream);
                continue;
            }
            std::thread::spawn(move || {
                // A fault of ours costs one answer.
                let _ = driver::catch(|| server.connected(&stream));
                server.open.fetch_sub(1, Ordering::AcqRel);
            });
        }
    }

    fn connected(&self, stream: &TcpStream) {
        let timed = stream.set_read_timeout(Some(SILENCE)).and_then(|()| stream.set_write_timeout(Some(SILENCE)));
        let response = match timed.map(|()| http::read(&mut &*stream)) {
            Ok(Ok(request)) => self.answer(&request),
            Ok(Err(refused)) => refused,
            Err(_) => return,
        };
        // Who asked may be gone.
        let _ = stream.set_nodelay(true);
        let _ = response.write(&mut &*stream).and_then(|()| stream.shutdown(Shutdown::Write));
        // What was refused may still be on its way; a connection that is cut loses the answer.
        let _ = stream.set_read_timeout(Some(LINGER));
        let _ = std::io::copy(&mut stream.take(MOST_LATE), &mut std::io::sink());
    }

    /// What a request gets.
    pub fn answer(&self, request: &Request) -> Response {
        if let Err(refused) = self.admit(request) {
            return refused;
        }
        let nothing = || Response::refuse(404, "nothing is there");
        let mut parts = request.path.split('/').skip(1);
        // The token first: who does not know it learns nothing else.
        if !parts.next().is_some_and(|token| self.token.is(token)) {
            return nothing();
        }
        let (name, more) = (parts.next().unwrap_or("."), parts.next());
        match (request.method.as_str(), name, more) {
            (_, _, Some(_)) => nothing(),
            ("GET", "", None) => self.page(),
            ("GET", "page.css", None) => Response::of("text/css; charset=utf-8", STYLE),
            ("GET", "page.js", None) => Response::of("text/javascript; charset=utf-8", script()),
            ("GET", "editor.js", None) => Response::of("text/javascript; charset=utf-8", EDITOR),
            ("GET", "changes", None) => self.changes(&request.query),
            ("POST", "view", None) => with(request, |wish: Wish| self.view(&wish)),
            ("POST", "share", None) => with(request, |wish: Wish| {
                Response::of("text/html; charset=utf-8", static_page(&self.path, &wish, &self.workers).0)
            }),
            ("POST", "save", None) => with(request, |save: Save| self.save(&save)),
            (_, "" | "page.css" | "page.js" | "editor.js" | "changes" | "view" | "share" | "save", None) => {
                Response::refuse(405, "that is asked for otherwise")
            }
            _ => nothing(),
        }
    }

    /// Refuses what another site has a browser ask, by a name of its own or from its pages.
    fn admit(&self, request: &Request) -> Result<(), Response> {
        let own = ["127.0.0.1", "localhost"].map(|name| format!("{name}:{}", self.port));
        let is_own = |host: &str| own.iter().any(|own| own == host);
        if !request.header("host").is_some_and(is_own) {
            return Err(Response::refuse(403, "this server has another name"));
        }
        let from_own = |origin: &str| origin.strip_prefix("http://").is_some_and(is_own);
        let site = request.header("sec-fetch-site").is_none_or(|site| ["same-origin", "none"].contains(&site));
        if !request.header("origin").is_none_or(from_own) || !site {
            return Err(Response::refuse(403, "a page of another origin asks"));
        }
        Ok(())
    }

    fn page(&self) -> Response {
        let (Ok(text), Ok(nonce)) = (self.text(), Token::random()) else {
            return Response::refuse(404, &format!("{} cannot be read", self.path.display()));
        };
        let wish = Wish { source: text, ..self.wish.clone() };
        // The first answer names the kernels.
        let (kernels, stamp) = (Vec::new(), Some(self.stamp()));
        let start = Start { path: &self.path, wish: &wish, kernels, stamp, views: None };
        let policy = format!(
            "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{}'; connect-src 'self'; img-src data:; \
             base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
            nonce.0
        );
        Response::of("text/html; charset=utf-8", start.served(&nonce.0)).policy(policy)
    }

    fn view(&self, wish: &Wish) -> Response {
        #[derive(Deserialize)]
        struct Imports {
            #[serde(default)]
            imports: Vec<PathBuf>,
        }
        let answer = self.workers.ask(wish);
        if wish.part == Part::Text
            && let Ok(Imports { imports }) = serde_json::from_str(&answer)
        {
            *self.imports.lock().unwrap_or_else(PoisonError::into_inner) = imports;
        }
        Response::of("application/json", answer)
    }

    /// The text on the disk, with line ends as a page has them.
    fn text(&self) -> std::io::Result<String> {
        Ok(std::fs::read_to_string(&self.path)?.replace("\r\n", "\n"))
    }

    /// What tells of the file, and of those that it imports: `7f-3a`.
    fn stamp(&self) -> String {
        let hash = |what: &dyn Fn(&mut DefaultHasher)| {
            let mut hasher = DefaultHasher::new();
            what(&mut hasher);
            hasher.finish()
        };
        let own = hash(&|hasher| self.text().ok().hash(hasher));
        let imports = self.imports.lock().unwrap_or_else(PoisonError::into_inner);
        let others = hash(&|hasher| {
            format!("{:?}", imports.iter().map(|path| Stamp::of(path)).collect::<Vec<_>>()).hash(hasher)
        });
        format!("{own:x}-{others:x}")
    }

    /// What has changed on the disk since a stamp, as soon as something has.
    fn changes(&self, query: &str) -> Response {
        let since = query.strip_prefix("since=").unwrap_or_default();
        let own = |stamp: &str| stamp.split('-').next().map(str::to_string);
        let until = Instant::now() + NEWS;
        loop {
            let stamp = self.stamp();
            if stamp != since || Instant::now() > until {
                let text = (own(&stamp) != own(since)).then(|| self.text().ok()).flatten();
                return Response::json(&json!({ "stamp": stamp, "text": text }));
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Writes the text, unless the file is another one than the page has seen.
    fn save(&self, save: &Save) -> Response {
        let own = |stamp: &str| stamp.split('-').next().map(str::to_string);
        let now = self.stamp();
        if own(&now) != own(&save.stamp) {
            return Response::json(&json!({ "refused": "The file has changed on the disk. ", "stamp": now }));
        }
        let windows = std::fs::read_to_string(&self.path).is_ok_and(|text| text.contains("\r\n"));
        let text = if windows { save.text.replace('\n', "\r\n") } else { save.text.clone() };
        match write_whole(&self.path, |file| std::io::Write::write_all(file, text.as_bytes())) {
            Ok(()) => Response::json(&json!({ "stamp": self.stamp() })),
            Err(fault) => Response::json(
                &json!({ "refused": format!("not written: {}. ", driver::reason(&fault)), "stamp": now }),
            ),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Save {
    text: String,
    stamp: String,
}

/// Answers a request with a body of JSON.
fn with<T: serde::de::DeserializeOwned>(request: &Request, answer: impl FnOnce(T) -> Response) -> Response {
    // A form of another site cannot send this type.
    let kind = request.header("content-type").unwrap_or_default();
    if kind.split(';').next().map(str::trim) != Some("application/json") {
        return Response::refuse(415, "the body is to be JSON");
    }
    match serde_json::from_slice::<Value>(&request.body).and_then(serde_json::from_value) {
        Ok(asked) => answer(asked),
        Err(fault) => Response::refuse(400, &format!("the body is not what is asked: {fault}")),
    }
}
