//! The worker thread: it analyses texts and answers requests, so that reading edits never waits.
//!
//! Requests go first, for a person waits for them; they need the newest analysis anyway, which the
//! findings then share. An edit stops the work on the text before it at the next step.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crossbeam_channel::Sender;
use lsp_server::{ErrorCode, Message, Notification, Request, RequestId, Response, ResponseError};
use serde_json::{Value, json};

use super::across::{self, Across};
use super::answer::{self, Answer, Context, error};
use super::calls;
use super::client::Client;
use super::costs::Table;
use super::documents::{Files, Snapshot};
use super::products;
use super::symbols::Index;
use crate::driver::project::policy_of;
use crate::driver::{self, Compiler, Reads};
use crate::ide::{File, project};
use crate::source::FileSystem;

/// The most analyses that are kept: those of the documents used last.
const MAX_KEPT: usize = 8;

/// When more kernels than these are to be differentiated, what is known without that is shown
/// first.
const MANY_GRADIENTS: usize = 4;

/// What a request is about.
enum About {
    /// A document, as it was when the request came.
    Document(Snapshot),
    /// All files.
    Workspace(Arc<Files>),
}

struct Ask {
    request: Request,
    about: About,
    client: Arc<Client>,
}

#[derive(Default)]
struct Queue {
    asks: VecDeque<Ask>,
    /// The newest text of each document that is to be looked at.
    checks: Vec<(Snapshot, Arc<Client>)>,
    /// Documents to look at again if what they import has changed.
    rechecks: Vec<(Snapshot, Arc<Client>)>,
    /// Documents that were closed: what is known of them is dropped.
    closed: Vec<String>,
    /// What is being worked on, and how to stop it.
    running: Option<Running>,
    /// The session is over.
    over: bool,
}

impl Queue {
    /// Stops what can wait.
    fn interrupt(&self) {
        if let Some(running) = self.running.as_ref().filter(|running| running.again) {
            running.stop.store(true, Ordering::Relaxed);
        }
    }
}

struct Running {
    /// A look at a document that nobody edited.
    again: bool,
    uri: String,
    version: i32,
    request: Option<RequestId>,
    stop: Arc<AtomicBool>,
}

#[derive(Default)]
struct WorkQueue {
    queue: Mutex<Queue>,
    wake: Condvar,
}

impl WorkQueue {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The handle of the thread.
pub struct Worker {
    shared: Arc<WorkQueue>,
    thread: Option<std::thread::JoinHandle<()>>,
    sender: Sender<Message>,
}

impl Worker {
    pub fn start(sender: Sender<Message>, costs: Table) -> Worker {
        let shared = Arc::new(WorkQueue::default());
        let (theirs, out) = (shared.clone(), sender.clone());
        let thread = std::thread::spawn(move || {
            // Deeply nested code needs a deep stack.
            while driver::guard(|| Work::new(&theirs, &out, &costs).run()).is_err() {}
        });
        Worker { shared, thread: Some(thread), sender }
    }

    /// Looks at a document's new text, and says what is found.
    pub fn check(&self, snapshot: Snapshot, client: Arc<Client>) {
        let mut queue = self.shared.lock();
        if let Some(running) = queue.running.as_ref().filter(|r| r.uri == snapshot.uri && r.version != snapshot.version)
        {
            running.stop.store(true, Ordering::Relaxed);
        }
        queue.interrupt();
        queue.checks.retain(|(other, _)| other.uri != snapshot.uri);
        queue.checks.push((snapshot, client));
        self.shared.wake.notify_one();
    }

    /// Looks at a document again, when there is nothing else to do, if what it imports has changed.
    pub fn recheck(&self, snapshot: Snapshot, client: Arc<Client>) {
        let mut queue = self.shared.lock();
        queue.rechecks.retain(|(other, _)| other.uri != snapshot.uri);
        queue.rechecks.push((snapshot, client));
        self.shared.wake.notify_one();
    }

    /// Answers a request about all files.
    pub fn ask_all(&self, request: Request, files: Arc<Files>, client: Arc<Client>) {
        self.shared.lock().asks.push_back(Ask { request, about: About::Workspace(files), client });
        self.shared.wake.notify_one();
    }

    /// Answers a request about a document.
    pub fn ask(&self, request: Request, snapshot: Snapshot, client: Arc<Client>) {
        let mut queue = self.shared.lock();
        queue.interrupt();
        queue.asks.push_back(Ask { request, about: About::Document(snapshot), client });
        self.shared.wake.notify_one();
    }

    /// Gives up a request.
    pub fn cancel(&self, id: &RequestId) {
        let mut queue = self.shared.lock();
        if let Some(at) = queue.asks.iter().position(|ask| ask.request.id == *id) {
            queue.asks.remove(at);
            let answer = Response::new_err(id.clone(), ErrorCode::RequestCanceled as i32, "cancelled".to_string());
            // Nobody listens any more: the session ends.
            let _ = self.sender.send(answer.into());
        } else if let Some(running) = queue.running.as_ref().filter(|r| r.request.as_ref() == Some(id)) {
            running.stop.store(true, Ordering::Relaxed);
        }
    }

    /// Forgets a document.
    pub fn close(&self, uri: &str) {
        let mut queue = self.shared.lock();
        queue.checks.retain(|(other, _)| other.uri != uri);
        queue.rechecks.retain(|(other, _)| other.uri != uri);
        queue.closed.push(uri.to_string());
        self.shared.wake.notify_one();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let mut queue = self.shared.lock();
        queue.over = true;
        if let Some(running) = &queue.running {
            running.stop.store(true, Ordering::Relaxed);
        }
        drop(queue);
        self.shared.wake.notify_one();
        if let Some(thread) = self.thread.take() {
            // Its panics were caught.
            let _ = thread.join();
        }
    }
}

enum Task {
    Ask(Ask, Arc<AtomicBool>),
    Check(Snapshot, Arc<Client>, Arc<AtomicBool>),
    Recheck(Snapshot, Arc<Client>, Arc<AtomicBool>),
    Close(Vec<String>),
    End,
}

struct Kept {
    uri: String,
    version: i32,
    file: Arc<File>,
}

struct Work<'a> {
    shared: &'a WorkQueue,
    out: &'a Sender<Message>,
    /// What was counted.
    costs: &'a Table,
    compiler: Compiler,
    /// The document used last is last.
    kept: Vec<Kept>,
    /// The documents that have findings on the client's screen.
    shown: HashMap<String, bool>,
    /// What is remembered about gradients.
    gradients: HashMap<String, driver::Memory>,
    /// For each open document its version that was checked, and what that depends on.
    reads: HashMap<String, (i32, Reads)>,
    /// What is remembered of other files.
    others: project::Kept,
    symbols: Index,
    /// How often the client was asked to ask again.
    refreshes: u64,
}

impl<'a> Work<'a> {
    fn new(shared: &'a WorkQueue, out: &'a Sender<Message>, costs: &'a Table) -> Work<'a> {
        Work {
            shared,
            out,
            costs,
            compiler: Compiler::new(),
            kept: Vec::new(),
            shown: HashMap::new(),
            gradients: HashMap::new(),
            reads: HashMap::new(),
            others: project::Kept::default(),
            symbols: Index::default(),
            refreshes: 0,
        }
    }

    fn run(&mut self) {
        loop {
            match self.next() {
                Task::End => return,
                Task::Close(uris) => uris.iter().for_each(|uri| self.forget(uri)),
                Task::Ask(ask, stop) => {
                    let id = ask.request.id.clone();
                    let answer = driver::catch(|| self.answer(&ask, &stop));
                    let response_result = answer.unwrap_or_else(|fault| Err(internal(&fault)));
                    self.send(Response { id, response_result }.into());
                }
                Task::Check(snapshot, client, stop) => {
                    let done = driver::catch(|| self.check(&snapshot, &client, &stop));
                    self.complain(done);
                }
                Task::Recheck(snapshot, client, stop) => {
                    let done = driver::catch(|| self.recheck(&snapshot, &client, &stop));
                    self.complain(done);
                }
            }
        }
    }

    /// Logs a fault of our own.
    fn complain(&self, done: Result<(), driver::Fault>) {
        if let Err(fault) = done {
            let message = json!({"type": 1, "message": internal(&fault).message});
            self.send(Notification::new("window/logMessage".to_string(), message).into());
        }
    }

    fn next(&mut self) -> Task {
        let mut queue = self.shared.lock();
        queue.running = None;
        loop {
            if queue.over {
                return Task::End;
            }
            if !queue.closed.is_empty() {
                return Task::Close(std::mem::take(&mut queue.closed));
            }
            let stop = Arc::new(AtomicBool::new(false));
            let running = |snapshot: &Snapshot, request| Running {
                again: false,
                uri: snapshot.uri.clone(),
                version: snapshot.version,
                request,
                stop: stop.clone(),
            };
            if let Some(ask) = queue.asks.pop_front() {
                // A newer text waits: the answer would be about one that is gone, unless it is
                // known already.
                if let About::Document(about) = &ask.about {
                    let newer = |s: &Snapshot| s.uri == about.uri && s.version != about.version;
                    stop.store(queue.checks.iter().any(|(s, _)| newer(s)), Ordering::Relaxed);
                    queue.running = Some(running(about, Some(ask.request.id.clone())));
                }
                return Task::Ask(ask, stop);
            }
            if let Some((snapshot, client)) = queue.checks.pop() {
                queue.running = Some(running(&snapshot, None));
                return Task::Check(snapshot, client, stop);
            }
            if let Some((snapshot, client)) = queue.rechecks.pop() {
                queue.running = Some(Running { again: true, ..running(&snapshot, None) });
                return Task::Recheck(snapshot, client, stop);
            }
            queue = self.shared.wake.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn send(&self, message: Message) {
        // Nobody listens any more: the session ends.
        let _ = self.out.send(message);
    }

    /// What is known of a text. None: the work was stopped.
    fn file(&mut self, snapshot: &Snapshot, client: &Client, stop: &AtomicBool) -> Option<Arc<File>> {
        let known = self.kept.iter().position(|kept| kept.uri == snapshot.uri);
        if let Some(kept) = known.map(|at| self.kept.remove(at))
            && kept.version == snapshot.version
            && kept.file.analysis.is_current()
        {
            let file = kept.file.clone();
            self.kept.push(kept);
            return Some(file);
        }
        let stopped = || stop.load(Ordering::Relaxed);
        if stopped() {
            return None;
        }
        let (path, text) = (&snapshot.source.path, snapshot.source.text.clone());
        self.others.forget(&snapshot.files.absolute(path));
        let (mut file, pending) = File::new(path, text, snapshot.files.clone(), &self.compiler);
        if stopped() {
            return None;
        }
        // A table that cannot be read is said by the command line.
        let policy = client.policy.clone().over(policy_of(path).unwrap_or_default());
        let mut memory = self.gradients.remove(&snapshot.uri).unwrap_or_default();
        if !client.pulls && pending.open(&file.analysis, &memory) > MANY_GRADIENTS {
            policy.apply(&mut file.analysis.diagnostics, &file.analysis.sources);
            self.report(&file, snapshot, client);
        }
        let done = pending.finish(&mut file.analysis, &mut memory, &stopped);
        self.gradients.insert(snapshot.uri.clone(), memory);
        if !done {
            return None;
        }
        policy.apply(&mut file.analysis.diagnostics, &file.analysis.sources);
        let file = Arc::new(file);
        self.reads.insert(snapshot.uri.clone(), (snapshot.version, file.analysis.reads().clone()));
        self.kept.push(Kept { uri: snapshot.uri.clone(), version: snapshot.version, file: file.clone() });
        if self.kept.len() > MAX_KEPT {
            self.kept.remove(0);
        }
        Some(file)
    }

    fn answer(&mut self, ask: &Ask, stop: &AtomicBool) -> Answer {
        let Ask { request, about, client } = ask;
        let snapshot = match about {
            About::Document(snapshot) => snapshot,
            About::Workspace(files) if request.method == "workspace/symbol" => {
                return Ok(self.symbols.answer(files, client, &request.params));
            }
            About::Workspace(files) => {
                let mut across = Across::new(files, &self.compiler, &mut self.others);
                return calls::answer(&mut across, client, &request.method, &request.params);
            }
        };
        if !snapshot.concerns_us() {
            return Ok(nothing(&request.method));
        }
        let Some(file) = self.file(snapshot, client, stop) else {
            return Err(error(ErrorCode::ContentModified, "the document has changed since"));
        };
        let counts = match answer::SHOW_COUNTS.contains(&request.method.as_str()) {
            true => self.costs.counts(&snapshot.uri, &snapshot.source, Some(file.analysis.reads())),
            false => Vec::new(),
        };
        let mut context =
            Context { file: &file, uri: &snapshot.uri, version: snapshot.version, client, counts, product: None };
        if request.method == "textDocument/hover"
            && let Ok(offset) = context.offset(&request.params)
        {
            context.product = products::at(&file, snapshot, client, &self.compiler, offset);
        }
        if across::METHODS.contains(&request.method.as_str()) {
            self.others.put(snapshot.files.absolute(&snapshot.source.path), file.clone());
            let mut across = Across::new(&snapshot.files, &self.compiler, &mut self.others);
            if let Some(answer) = across::answer(&context, &mut across, &request.method, &request.params) {
                return answer;
            }
        }
        if !file.has_kernels() {
            return Ok(nothing(&request.method));
        }
        answer::answer(&context, &request.method, &request.params)
            .unwrap_or_else(|| Err(error(ErrorCode::MethodNotFound, format!("`{}` is not known", request.method))))
    }

    fn check(&mut self, snapshot: &Snapshot, client: &Client, stop: &AtomicBool) {
        if client.pulls {
            // The client asks when it wants to know; what it will ask for is made ready.
            if snapshot.concerns_us() {
                self.file(snapshot, client, stop);
            }
            return;
        }
        if snapshot.concerns_us() {
            if let Some(file) = self.file(snapshot, client, stop) {
                self.report(&file, snapshot, client);
            }
        } else if self.shown.insert(snapshot.uri.clone(), false) == Some(true) {
            self.publish(&snapshot.uri, Some(snapshot.version), json!([]));
        }
    }

    /// Checks a document again that is known, if what it imports has changed.
    fn recheck(&mut self, snapshot: &Snapshot, client: &Arc<Client>, stop: &AtomicBool) {
        let known = self.reads.get(&snapshot.uri).filter(|(version, _)| *version == snapshot.version);
        if known.is_some_and(|(_, reads)| reads.is_current()) || !snapshot.concerns_us() {
            return;
        }
        self.check(snapshot, client, stop);
        if stop.load(Ordering::Relaxed) {
            // Something more urgent came.
            self.shared.lock().rechecks.insert(0, (snapshot.clone(), client.clone()));
            return;
        }
        if client.pulls && client.refreshes {
            self.refreshes += 1;
            let id = RequestId::from(format!("kc/diagnostics/{}", self.refreshes));
            self.send(Request::new(id, "workspace/diagnostic/refresh".to_string(), Value::Null).into());
        }
    }

    /// Pushes what was found. Files without kernels are none of our business.
    fn report(&mut self, file: &File, snapshot: &Snapshot, client: &Client) {
        let (uri, version) = (&*snapshot.uri, snapshot.version);
        let found = Context { file, uri, version, client, counts: Vec::new(), product: None }.diagnostics();
        if file.has_kernels() || self.shown.get(&snapshot.uri) == Some(&true) {
            self.shown.insert(snapshot.uri.clone(), !found.is_empty());
            self.publish(&snapshot.uri, Some(snapshot.version), json!(found));
        }
    }

    fn publish(&self, uri: &str, version: Option<i32>, diagnostics: Value) {
        let mut params = json!({"uri": uri, "diagnostics": diagnostics});
        if let Some(version) = version {
            params["version"] = json!(version);
        }
        self.send(Notification::new("textDocument/publishDiagnostics".to_string(), params).into());
    }

    fn forget(&mut self, uri: &str) {
        self.kept.retain(|kept| kept.uri != uri);
        self.gradients.remove(uri);
        self.reads.remove(uri);
        self.costs.forget(uri);
        if self.shown.remove(uri) == Some(true) {
            self.publish(uri, None, json!([]));
        }
    }
}

/// The answer when there is nothing to say.
fn nothing(method: &str) -> Value {
    match method {
        "textDocument/diagnostic" => json!({"kind": "full", "items": []}),
        "textDocument/semanticTokens/full" | "textDocument/semanticTokens/range" => json!({"data": []}),
        _ => Value::Null,
    }
}

fn internal(fault: &driver::Fault) -> ResponseError {
    error(ErrorCode::InternalError, format!("E0999: kc failed at {}: {}", fault.place, fault.message))
}
