//! The editor server: how are the features of [`crate::ide`] said in the Language Server Protocol
//! (3.18)?
//!
//! - [`transport`]: bytes to messages. [`client`]: what both sides can. [`documents`]: the open
//!   texts. [`position`]: offsets.
//! - [`across`]: what is answered from several of them.
//! - [`worker`]: the thread that looks at texts. [`answer`], [`findings`]: what it says. [`views`]:
//!   what kernels become; [`costs`]: what they cost; [`child`]: the process that is asked for both.
//!   [`products`]: what computes products of tiles.
//!
//! The main loop reads messages and never waits for work, so an edit takes effect at once.

mod across;
mod answer;
mod calls;
mod child;
mod client;
mod costs;
mod documents;
mod findings;
mod position;
mod products;
mod symbols;
pub mod transport;
mod views;
mod worker;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gen_lsp_types as lsp;
use lsp_server::{Connection, ErrorCode, Message, Notification, Request, RequestId, Response};
use serde_json::{Value, json};

use crate::ide::view::View;
use crate::library::Library;
use crate::source::lined::Lined;
use answer::{Answer, error, params};
use client::{COUNT, Client, LIBRARY_SCHEME, SHOW, VIEW_SCHEME};
use costs::Costs;
use documents::{Documents, Snapshot};
use worker::Worker;

/// Serves one client until it says goodbye or is gone. Returns whether it said goodbye.
pub fn serve(connection: Connection) -> bool {
    let costs = Costs::start(connection.sender.clone());
    let worker = Worker::start(connection.sender.clone(), costs.table.clone());
    let mut server = Server {
        out: connection.sender,
        worker,
        costs,
        documents: Documents::default(),
        client: None,
        shut_down: false,
        views: Arc::default(),
    };
    for message in &connection.receiver {
        match message {
            Message::Notification(notification) if notification.method == "exit" => return server.shut_down,
            Message::Notification(notification) => server.notified(notification),
            Message::Request(request) => server.asked(request),
            // We ask for nothing whose answer matters.
            Message::Response(_) => {}
        }
    }
    false
}

/// The addresses of a list of workspace folders.
fn folder_uris(list: Option<&Value>) -> Vec<String> {
    let uri = |folder: &Value| folder.get("uri").and_then(Value::as_str).map(str::to_string);
    list.and_then(Value::as_array).into_iter().flatten().filter_map(uri).collect()
}

/// The folders that `initialize` names; older clients know one.
fn folders_of(params: &Value) -> Vec<String> {
    let list = folder_uris(params.get("workspaceFolders"));
    let root = params.get("rootUri").and_then(Value::as_str).map(str::to_string);
    if list.is_empty() { root.into_iter().collect() } else { list }
}

/// The views that were shown, by their addresses.
type Views = Arc<Mutex<HashMap<String, Shown>>>;

/// A view on the client's screen.
#[derive(Clone)]
struct Shown {
    /// The document with the kernel, and its version when the view was made.
    document: String,
    version: i32,
    request: views::Request,
    lined: Arc<Lined>,
}

impl Shown {
    /// Where the view's lines come from: the document, its version, and for each line of the view
    /// lines of the document. All count from 0, as positions do.
    fn lines(&self) -> Value {
        let lines = self.lined.lines.iter();
        let lines: Vec<Vec<u32>> = lines.map(|from| from.iter().map(|line| line.saturating_sub(1)).collect()).collect();
        json!({"source": self.document, "version": self.version, "lines": lines})
    }
}

fn lock(views: &Views) -> MutexGuard<'_, HashMap<String, Shown>> {
    views.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Server {
    out: crossbeam_channel::Sender<Message>,
    worker: Worker,
    costs: Costs,
    documents: Documents,
    /// None before `initialize`.
    client: Option<Arc<Client>>,
    shut_down: bool,
    views: Views,
}

impl Server {
    fn send(&self, message: Message) {
        // Nobody listens any more: the session ends.
        let _ = self.out.send(message);
    }

    fn respond(&self, id: RequestId, answer: Answer) {
        self.send(Response { id, response_result: answer }.into());
    }

    fn log(&self, message: &str) {
        let params = json!({"type": 2, "message": message});
        self.send(Notification::new("window/logMessage".to_string(), params).into());
    }

    fn notified(&mut self, notification: Notification) {
        let Notification { method, params: value } = notification;
        let Some(client) = self.client.clone() else { return };
        let done = match method.as_str() {
            "textDocument/didOpen" => params(&value).map(|open: lsp::DidOpenTextDocumentParams| {
                let document = open.text_document;
                let snapshot = self.documents.open(document.uri.0, document.version, document.text);
                self.worker.check(snapshot, client);
                self.recheck();
            }),
            "textDocument/didChange" => params(&value).map(|change: lsp::DidChangeTextDocumentParams| {
                let uri = &change.text_document.text_document_identifier.uri.0;
                let version = change.text_document.version;
                match self.documents.change(uri, version, change.content_changes, client.encoding) {
                    Some(snapshot) => {
                        self.worker.check(snapshot, client);
                        self.recheck();
                    }
                    None => self.log(&format!("an edit of `{uri}`, which is not open")),
                }
            }),
            "textDocument/didClose" => params(&value).map(|close: lsp::DidCloseTextDocumentParams| {
                let uri = &close.text_document.uri.0;
                if self.documents.close(uri) {
                    self.worker.close(uri);
                    self.recheck();
                }
            }),
            "initialized" => {
                self.watch(&client);
                Ok(())
            }
            "workspace/didChangeWatchedFiles" => {
                self.recheck();
                Ok(())
            }
            "workspace/didChangeWorkspaceFolders" => {
                let event = value.get("event").unwrap_or(&Value::Null);
                self.documents
                    .files
                    .change_folders(&folder_uris(event.get("added")), &folder_uris(event.get("removed")));
                Ok(())
            }
            "workspace/didChangeConfiguration" => {
                self.configure(value.get("settings").unwrap_or(&Value::Null));
                Ok(())
            }
            "$/cancelRequest" => {
                let id = value.get("id").cloned().map(serde_json::from_value::<RequestId>);
                if let Some(Ok(id)) = id {
                    self.worker.cancel(&id);
                }
                Ok(())
            }
            _ => Ok(()),
        };
        if let Err(fault) = done {
            self.log(&format!("`{method}`: {}", fault.message));
        }
    }

    /// Looks again at the documents whose imported files may have changed.
    fn recheck(&self) {
        let Some(client) = &self.client else { return };
        for snapshot in self.documents.all() {
            self.worker.recheck(snapshot.clone(), client.clone());
        }
    }

    /// Asks the client to tell of files that change on the disk.
    fn watch(&self, client: &Client) {
        if client.watches {
            let method = "workspace/didChangeWatchedFiles";
            let options = json!({"watchers": [{"globPattern": "**/*.py"}]});
            let params = json!({"registrations": [{"id": "kc/watch", "method": method, "registerOptions": options}]});
            let id = RequestId::from("kc/watch".to_string());
            self.send(Request::new(id, "client/registerCapability".to_string(), params).into());
        }
    }

    fn configure(&mut self, settings: &Value) {
        let Some(client) = &self.client else { return };
        let mut changed = Client::clone(client);
        changed.configure(settings);
        changed.complaints.iter().for_each(|complaint| self.log(complaint));
        let client = Arc::new(changed);
        self.client = Some(client.clone());
        for snapshot in self.documents.all() {
            // What is known was judged by the old settings.
            self.worker.close(&snapshot.uri);
            self.worker.check(snapshot.clone(), client.clone());
        }
    }

    fn asked(&mut self, request: Request) {
        let id = request.id.clone();
        let answer = match (request.method.as_str(), self.client.clone()) {
            ("initialize", None) => {
                let client = Client::new(&request.params);
                let answer = client::capabilities(&client);
                client.complaints.iter().for_each(|complaint| self.log(complaint));
                self.documents.files.change_folders(&folders_of(&request.params), &[]);
                self.client = Some(Arc::new(client));
                Ok(answer)
            }
            ("initialize", Some(_)) => Err(error(ErrorCode::InvalidRequest, "the session has begun already")),
            (_, None) => Err(error(ErrorCode::ServerNotInitialized, "`initialize` comes first")),
            _ if self.shut_down => Err(error(ErrorCode::InvalidRequest, "the session is over")),
            ("shutdown", _) => {
                self.shut_down = true;
                Ok(Value::Null)
            }
            ("codeLens/resolve", Some(client)) => {
                let uri = request.params.pointer("/data/uri").and_then(Value::as_str).unwrap_or_default();
                match self.document(uri) {
                    Ok(snapshot) => return self.costs.resolve(request, snapshot, client),
                    Err(fault) => Err(fault),
                }
            }
            ("completionItem/resolve", Some(client)) => answer::resolve(&client, &request.params),
            ("workspace/symbol" | "callHierarchy/incomingCalls" | "callHierarchy/outgoingCalls", Some(client)) => {
                return self.worker.ask_all(request, self.documents.files.clone(), client);
            }
            ("workspace/textDocumentContent", _) => return self.content(request),
            ("kc/lines", _) => self.lines(&request.params),
            ("workspace/executeCommand", Some(client)) => return self.execute(request, client),
            ("kc/view", Some(client)) => return self.view(request, client, false),
            (method, Some(client)) if answer::is_about_document(method) => match self.snapshot(&request.params) {
                Ok(snapshot) => return self.worker.ask(request, snapshot, client),
                Err(fault) => Err(fault),
            },
            (method, _) => Err(error(ErrorCode::MethodNotFound, format!("`{method}` is not known"))),
        };
        self.respond(id, answer);
    }

    /// The document that a request is about.
    fn snapshot(&self, params: &Value) -> Result<Snapshot, lsp_server::ResponseError> {
        let uri = params.pointer("/textDocument/uri").or_else(|| params.get("uri")).and_then(Value::as_str);
        self.document(uri.ok_or_else(|| error(ErrorCode::InvalidParams, "textDocument.uri is missing"))?)
    }

    fn document(&self, uri: &str) -> Result<Snapshot, lsp_server::ResponseError> {
        self.documents.get(uri).cloned().ok_or_else(|| error(ErrorCode::RequestFailed, format!("`{uri}` is not open")))
    }

    /// The text of one of our own documents; a view is made anew when its document has changed.
    fn content(&self, request: Request) {
        let uri = request.params.get("uri").and_then(Value::as_str).unwrap_or_default().to_string();
        let library = uri.strip_prefix(LIBRARY_SCHEME).map(|rest| rest.trim_start_matches([':', '/']));
        if let Some(text) = library.and_then(Library::text) {
            return self.respond(request.id, Ok(json!({"text": text})));
        }
        let shown = lock(&self.views).get(&uri).cloned();
        let Some(shown) = shown else {
            let fault = error(ErrorCode::RequestFailed, format!("there is no document `{uri}`"));
            return self.respond(request.id, Err(fault));
        };
        match self.documents.get(&shown.document).cloned() {
            Some(snapshot) if snapshot.version != shown.version => {
                let (out, views) = (self.out.clone(), self.views.clone());
                std::thread::spawn(move || {
                    let text = match views::make(&snapshot, &shown.request) {
                        Ok(lined) => {
                            let text = lined.text.clone();
                            let version = snapshot.version;
                            lock(&views).insert(uri, Shown { version, lined: Arc::new(lined), ..shown });
                            text
                        }
                        Err(reason) => reason,
                    };
                    // Nobody listens any more: the session ends.
                    let _ = out.send(Response { id: request.id, response_result: Ok(json!({"text": text})) }.into());
                });
            }
            _ => self.respond(request.id, Ok(json!({"text": shown.lined.text}))),
        }
    }

    /// Where the lines of a view come from.
    fn lines(&self, params: &Value) -> Answer {
        let uri = params.get("uri").and_then(Value::as_str).unwrap_or_default();
        let views = lock(&self.views);
        views
            .get(uri)
            .map(Shown::lines)
            .ok_or_else(|| error(ErrorCode::RequestFailed, format!("there is no view `{uri}`")))
    }

    fn execute(&self, request: Request, client: Arc<Client>) {
        match request.params.get("command").and_then(Value::as_str) {
            Some(SHOW) => {
                let at = |n: usize| request.params.pointer(&format!("/arguments/{n}")).cloned().unwrap_or_default();
                let params = json!({"uri": at(0), "kernel": at(1), "view": at(2)});
                self.view(Request { params, ..request }, client, true);
            }
            Some(COUNT) => {
                let at = |n: usize| request.params.pointer(&format!("/arguments/{n}")).and_then(Value::as_str);
                let kernel = at(1).unwrap_or_default().to_string();
                match self.document(at(0).unwrap_or_default()) {
                    Ok(snapshot) => self.costs.count(request.id, snapshot, client, kernel),
                    Err(fault) => self.respond(request.id, Err(fault)),
                }
            }
            command => {
                let message = format!("`{}` is not one of our commands", command.unwrap_or_default());
                self.respond(request.id, Err(error(ErrorCode::InvalidParams, message)));
            }
        }
    }

    /// Makes a view on a thread of its own, answers with it, and perhaps has the client show it.
    fn view(&self, request: Request, client: Arc<Client>, show: bool) {
        let word = |key: &str| request.params.get(key).and_then(Value::as_str).unwrap_or_default().to_string();
        let (uri, kernel) = (word("uri"), word("kernel"));
        let snapshot = self.snapshot(&request.params);
        let wanted = match (snapshot, View::from_name(&word("view"))) {
            (Ok(snapshot), Some(view)) => Ok((snapshot, views::Request { kernel, view })),
            (Err(fault), _) => Err(fault),
            (_, None) => {
                let known = View::ALL.map(View::name).join(", ");
                Err(error(ErrorCode::InvalidParams, format!("the views are: {known}")))
            }
        };
        let (snapshot, wanted) = match wanted {
            Ok(wanted) => wanted,
            Err(fault) => return self.respond(request.id, Err(fault)),
        };
        let (out, views) = (self.out.clone(), self.views.clone());
        std::thread::spawn(move || {
            // Nobody listens any more: the session ends.
            let send = |message: Message| drop(out.send(message));
            let id = |what: &str| RequestId::from(format!("kc/{what}/{}", request.id));
            let answer = views::make(&snapshot, &wanted).map(|lined| {
                let (kernel, view) = (&wanted.kernel, wanted.view);
                let place = match client.content {
                    true => Some(format!("{VIEW_SCHEME}:/{kernel}.{}.{}", view.name(), view.extension())),
                    false => views::file_of_view(&wanted, &lined.text).map(|file| documents::uri_of(&file)),
                };
                let version = snapshot.version;
                let shown = Shown { document: uri, version, request: wanted.clone(), lined: Arc::new(lined) };
                let mut answer = shown.lines();
                answer["text"] = json!(shown.lined.text);
                answer["language"] = json!(view.extension());
                answer["uri"] = json!(place);
                if let Some(place) = place {
                    let before = lock(&views).insert(place.clone(), shown);
                    if client.content && before.is_some() {
                        // The client may have the text of an older version.
                        let params = json!({"uri": place});
                        send(
                            Request::new(id("refresh"), "workspace/textDocumentContent/refresh".to_string(), params)
                                .into(),
                        );
                    }
                    if show && client.shows {
                        let params = json!({"uri": place, "takeFocus": true});
                        send(Request::new(id("show"), "window/showDocument".to_string(), params).into());
                    }
                }
                answer
            });
            let answer = answer.map_err(|reason| error(ErrorCode::RequestFailed, reason));
            send(Response { id: request.id.clone(), response_result: answer }.into());
        });
    }
}
