//! The editor server: how are the features of [`crate::ide`] said in the Language Server Protocol (3.18)?
//!
//! - [`transport`]: bytes to messages. [`client`]: what both sides can. [`documents`]: the open texts. [`position`]: offsets.
//! - [`worker`]: the thread that looks at texts. [`answer`], [`findings`]: what it says. [`views`]: what kernels become.
//!
//! The main loop reads messages and never waits for work, so an edit takes effect at once.

mod answer;
mod client;
mod documents;
mod findings;
mod position;
pub mod transport;
mod views;
mod worker;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use gen_lsp_types as lsp;
use lsp_server::{Connection, ErrorCode, Message, Notification, Request, RequestId, Response};
use serde_json::{Value, json};

use crate::ide::view::View;
use crate::library::Library;
use answer::{Answer, error, params};
use client::{Client, LIBRARY_SCHEME, SHOW, VIEW_SCHEME};
use documents::{Documents, Snapshot};
use worker::Worker;

/// Serves one client until it says goodbye or is gone. Gives whether it said goodbye.
pub fn serve(connection: Connection) -> bool {
    let worker = Worker::start(connection.sender.clone());
    let mut server = Server {
        out: connection.sender,
        worker,
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

/// The views that were shown, by their addresses.
type Views = Arc<Mutex<HashMap<String, (String, views::Request)>>>;

struct Server {
    out: crossbeam_channel::Sender<Message>,
    worker: Worker,
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
            }),
            "textDocument/didChange" => params(&value).map(|change: lsp::DidChangeTextDocumentParams| {
                let uri = &change.text_document.text_document_identifier.uri.0;
                let version = change.text_document.version;
                match self.documents.change(uri, version, change.content_changes, client.encoding) {
                    Some(snapshot) => self.worker.check(snapshot, client),
                    None => self.log(&format!("an edit of `{uri}`, which is not open")),
                }
            }),
            "textDocument/didClose" => params(&value).map(|close: lsp::DidCloseTextDocumentParams| {
                let uri = &close.text_document.uri.0;
                if self.documents.close(uri) {
                    self.worker.close(uri);
                }
            }),
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
            ("completionItem/resolve", Some(client)) => answer::resolve(&client, &request.params),
            ("workspace/textDocumentContent", _) => self.content(&request.params),
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
        let uri = uri.ok_or_else(|| error(ErrorCode::InvalidParams, "textDocument.uri is missing"))?;
        self.documents.get(uri).cloned().ok_or_else(|| error(ErrorCode::RequestFailed, format!("`{uri}` is not open")))
    }

    /// The text of one of our own documents.
    fn content(&self, params: &Value) -> Answer {
        let uri = params.get("uri").and_then(Value::as_str).unwrap_or_default();
        let library = uri.strip_prefix(LIBRARY_SCHEME).map(|rest| rest.trim_start_matches([':', '/']));
        if let Some(text) = library.and_then(Library::text) {
            return Ok(json!({"text": text}));
        }
        let views = self.views.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((document, request)) = views.get(uri).cloned() else {
            return Err(error(ErrorCode::RequestFailed, format!("there is no document `{uri}`")));
        };
        drop(views);
        let snapshot = self.documents.get(&document).cloned();
        let snapshot = snapshot.ok_or_else(|| error(ErrorCode::RequestFailed, format!("`{document}` is not open")))?;
        let text = views::text(&snapshot, &request).unwrap_or_else(|reason| reason);
        Ok(json!({"text": text}))
    }

    fn execute(&self, request: Request, client: Arc<Client>) {
        match request.params.get("command").and_then(Value::as_str) {
            Some(SHOW) => {
                let at = |n: usize| request.params.pointer(&format!("/arguments/{n}")).cloned().unwrap_or_default();
                let params = json!({"uri": at(0), "kernel": at(1), "view": at(2)});
                self.view(Request { params, ..request }, client, true);
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
        let (out, known) = (self.out.clone(), self.views.clone());
        std::thread::spawn(move || {
            let made = views::text(&snapshot, &wanted);
            let answer = match made {
                Err(reason) => Err(error(ErrorCode::RequestFailed, reason)),
                Ok(text) => {
                    let own =
                        format!("{VIEW_SCHEME}:/{}.{}.{}", wanted.kernel, wanted.view.name(), wanted.view.extension());
                    let place = if client.content {
                        known.lock().unwrap_or_else(PoisonError::into_inner).insert(own.clone(), (uri, wanted.clone()));
                        Some(own)
                    } else {
                        views::file_of_view(&wanted, &text).map(|file| documents::uri_of(&file))
                    };
                    if let (true, true, Some(place)) = (show, client.shows, &place) {
                        let id = RequestId::from(format!("kc/{}", request.id));
                        let params = json!({"uri": place, "takeFocus": true});
                        // Nobody listens any more: the session ends.
                        let _ = out.send(Request::new(id, "window/showDocument".to_string(), params).into());
                    }
                    Ok(json!({"text": text, "language": wanted.view.extension(), "uri": place}))
                }
            };
            let _ = out.send(Response { id: request.id, response_result: answer }.into());
        });
    }
}
