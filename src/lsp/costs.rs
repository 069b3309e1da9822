//! What do kernels cost a GPU? Registers and occupancy of those that the editor shows, and what a
//! launch of one took at each access, once somebody asked for it. `kc profile` says both
//! ([`child`]), on threads of its own: no edit and no answer waits for it.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crossbeam_channel::{Receiver, Sender, unbounded};
use lsp_server::{ErrorCode, Message, Request, RequestId, Response};
use serde_json::{Value, json};

use super::answer::{Answer, error};
use super::child;
use super::client::{COUNT, Client};
use super::documents::Snapshot;
use crate::driver::{self, Reads};
use crate::source::{FileSystem, SourceFile};

/// What a launch of a kernel took at one place of its document.
#[derive(Clone, PartialEq, Debug)]
pub struct Access {
    pub offset: u32,
    /// `9.1 sectors (ideal 3.6)`
    pub short: String,
    /// `load: 9.1 sectors per request, ideal 3.6`
    pub words: String,
}

/// What a launch of a kernel took.
pub struct Count {
    pub kernel: String,
    /// `spmv.json`, or what represents a launch that was made up.
    pub launch: String,
    /// Of the kernel as that launch had it.
    resident: String,
    /// `8.2 sectors a load, 3.6 a store`
    summary: String,
    pub accesses: Vec<Access>,
    /// Those of the backward entry, if it ran too.
    pub backward: Vec<Access>,
    /// The document that it was counted of, and what that imports.
    text: Arc<SourceFile>,
    reads: OnceLock<Reads>,
}

impl Count {
    /// Whether the document, which reads these files, is the one that was counted.
    fn is_of(&self, source: &SourceFile, reads: Option<&Reads>) -> bool {
        self.text.text == source.text && reads.is_none_or(|reads| self.reads.get_or_init(|| reads.clone()).is_current())
    }
}

/// What is known of a document's kernels without a launch.
struct Figures {
    text: Arc<SourceFile>,
    arch: String,
    /// The words, or why there are none.
    kernels: HashMap<String, Result<String, String>>,
}

#[derive(Default)]
struct Known {
    figures: HashMap<String, Figures>,
    counts: HashMap<String, Vec<Arc<Count>>>,
}

/// What is known of all documents.
#[derive(Clone, Default)]
pub struct Table(Arc<Mutex<Known>>);

impl Table {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The counts of a document that still hold; the newest is last.
    pub fn counts(&self, uri: &str, source: &SourceFile, reads: Option<&Reads>) -> Vec<Arc<Count>> {
        let known = self.lock();
        known.counts.get(uri).into_iter().flatten().filter(|count| count.is_of(source, reads)).cloned().collect()
    }

    fn figures(&self, snapshot: &Snapshot, client: &Client, kernel: &str) -> Option<Result<String, String>> {
        let known = self.lock();
        let figures = known.figures.get(&snapshot.uri)?;
        let same = figures.text.text == snapshot.source.text && figures.arch == client.arch;
        figures.kernels.get(kernel).filter(|_| same).cloned()
    }

    fn note_figures(&self, snapshot: &Snapshot, client: &Client, kernel: &str, told: Result<String, String>) {
        let mut known = self.lock();
        let text = &snapshot.source;
        let fresh = || Figures { text: text.clone(), arch: client.arch.clone(), kernels: HashMap::new() };
        let figures = known.figures.entry(snapshot.uri.clone()).or_insert_with(fresh);
        if figures.text.text != text.text || figures.arch != client.arch {
            *figures = fresh();
        }
        figures.kernels.insert(kernel.to_string(), told);
    }

    fn note_count(&self, uri: &str, count: Count) {
        let mut known = self.lock();
        let counts = known.counts.entry(uri.to_string()).or_default();
        counts.retain(|other| other.kernel != count.kernel && other.text.text == count.text.text);
        counts.push(Arc::new(count));
    }

    /// Forgets a document.
    pub fn forget(&self, uri: &str) {
        let mut known = self.lock();
        known.figures.remove(uri);
        known.counts.remove(uri);
    }
}

/// A lens that is to be filled.
struct Job {
    id: RequestId,
    lens: Value,
    kernel: String,
    snapshot: Snapshot,
    client: Arc<Client>,
}

impl Job {
    /// Whether the document has changed since the lens was asked for.
    fn is_late(&self) -> bool {
        let now = self.snapshot.files.at(&self.snapshot.files.absolute(&self.snapshot.source.path));
        now.is_none_or(|open| open.version != self.snapshot.version)
    }
}

/// The thread that fills lenses, and the one launch that is counted at a time.
pub struct Costs {
    jobs: Sender<Job>,
    out: Sender<Message>,
    pub table: Table,
    counting: Arc<AtomicBool>,
}

impl Costs {
    pub fn start(out: Sender<Message>) -> Costs {
        let (jobs, theirs) = unbounded();
        let table = Table::default();
        let (known, sender) = (table.clone(), out.clone());
        // It ends when nobody can send it anything more.
        std::thread::spawn(move || fill_lenses(&theirs, &sender, &known));
        Costs { jobs, out, table, counting: Arc::default() }
    }

    /// Fills a lens, `{range, data: {uri, kernel}}`, of a document.
    pub fn resolve(&self, request: Request, snapshot: Snapshot, client: Arc<Client>) {
        let Request { id, params: lens, .. } = request;
        let kernel = lens.pointer("/data/kernel").and_then(Value::as_str).unwrap_or_default().to_string();
        // The thread lives as long as this.
        let _ = self.jobs.send(Job { id, lens, kernel, snapshot, client });
    }

    /// Counts a launch of a kernel, and has the client ask for what can be shown then.
    pub fn count(&self, id: RequestId, snapshot: Snapshot, client: Arc<Client>, kernel: String) {
        let (out, table, counting) = (self.out.clone(), self.table.clone(), self.counting.clone());
        // Nobody listens any more: the session ends.
        let send = move |message: Message| drop(out.send(message));
        if counting.swap(true, Ordering::AcqRel) {
            let fault = error(ErrorCode::RequestFailed, "another launch is being counted");
            return send(Response { id, response_result: Err(fault) }.into());
        }
        std::thread::spawn(move || {
            let told = driver::catch(|| count(&snapshot, &client, &kernel));
            counting.store(false, Ordering::Release);
            let told = told.unwrap_or_else(|fault| Err(format!("kc failed at {}: {}", fault.place, fault.message)));
            let answer = told.map(|(count, warning)| {
                let said = json!({"kernel": kernel, "launch": count.launch, "words": count.summary, "found": warning});
                table.note_count(&snapshot.uri, count);
                for (can, method) in [
                    (client.refreshes_lenses, "workspace/codeLens/refresh"),
                    (client.refreshes_hints, "workspace/inlayHint/refresh"),
                ] {
                    if can {
                        let id = RequestId::from(format!("kc/{method}/{id}"));
                        send(Request::new(id, method.to_string(), Value::Null).into());
                    }
                }
                said
            });
            let answer = answer.map_err(|why| error(ErrorCode::RequestFailed, format!("`{kernel}`: {why}")));
            send(Response { id, response_result: answer }.into());
        });
    }
}

/// Fills lenses, all that wait for one text at once.
fn fill_lenses(jobs: &Receiver<Job>, out: &Sender<Message>, table: &Table) {
    while let Ok(first) = jobs.recv() {
        let mut waiting = vec![first];
        waiting.extend(jobs.try_iter());
        while !waiting.is_empty() {
            let (uri, version) = (waiting[0].snapshot.uri.clone(), waiting[0].snapshot.version);
            let (group, rest): (Vec<Job>, Vec<Job>) =
                waiting.into_iter().partition(|job| job.snapshot.uri == uri && job.snapshot.version == version);
            waiting = rest;
            // A fault must not leave the others without an answer.
            let done = driver::catch(|| look(&group, table));
            let fault = done.err().map(|fault| format!("kc failed at {}: {}", fault.place, fault.message));
            for job in group {
                let answer = match &fault {
                    Some(fault) => Err(error(ErrorCode::InternalError, fault.clone())),
                    None => filled(&job, table),
                };
                // Nobody listens any more: the session ends.
                let _ = out.send(Response { id: job.id, response_result: answer }.into());
            }
        }
    }
}

/// Finds out what is not known yet of the kernels of these lenses.
fn look(group: &[Job], table: &Table) {
    let Some(Job { snapshot, client, .. }) = group.first().filter(|job| !job.is_late()) else { return };
    let mut kernels: Vec<&str> = group.iter().map(|job| job.kernel.as_str()).collect();
    kernels.sort_unstable();
    kernels.dedup();
    kernels.retain(|kernel| table.figures(snapshot, client, kernel).is_none());
    if kernels.is_empty() {
        return;
    }
    let said = child::ask(snapshot, Some(child::LIMIT), |command| {
        command.arg("profile").arg(child::file(snapshot)).args(["--no-run", "--json", "--arch", &client.arch]);
        command.args(kernels.iter().flat_map(|kernel| ["-k", kernel]));
    });
    let read = said.as_ref().ok().and_then(|said| serde_json::from_slice::<Value>(&said.out).ok());
    let why = said.map_or_else(|why| why, |said| first_line(&said.err));
    let list = read.as_ref().and_then(|read| read.get("kernels")).and_then(Value::as_array);
    for kernel in kernels {
        let one = list.into_iter().flatten().find(|one| one.get("kernel").is_some_and(|name| name == kernel));
        let words = one.and_then(|one| one.pointer("/occupancy/words")).and_then(Value::as_str);
        table.note_figures(snapshot, client, kernel, words.map(str::to_string).ok_or_else(|| why.clone()));
    }
}

/// A lens with what is known.
fn filled(job: &Job, table: &Table) -> Answer {
    let Job { lens, kernel, snapshot, client, .. } = job;
    let Some(figures) = table.figures(snapshot, client, kernel) else {
        return Err(error(ErrorCode::ContentModified, "the document has changed since"));
    };
    let counts = table.counts(&snapshot.uri, &snapshot.source, None);
    let (title, tooltip) = match (counts.iter().find(|count| count.kernel == *kernel), figures) {
        (Some(count), _) => {
            (format!("{}, {} ({})", count.resident, count.summary, count.launch), "count again".to_string())
        }
        (None, Ok(words)) => (words, "count what a launch takes at each access".to_string()),
        (None, Err(why)) => ("no figures".to_string(), why),
    };
    let mut lens = lens.clone();
    lens["command"] =
        json!({"title": title, "tooltip": tooltip, "command": COUNT, "arguments": [snapshot.uri, kernel]});
    Ok(lens)
}

/// What `kc profile` says of a launch of a kernel: that of a launch file, or one that is made up.
/// With it the codes of what is wrong with it.
fn count(snapshot: &Snapshot, client: &Client, kernel: &str) -> Result<(Count, Vec<String>), String> {
    let file = child::launches(snapshot, kernel).into_iter().next();
    let said = child::ask(snapshot, Some(child::LIMIT), |command| {
        command.args(["profile", "--json", "--arch", &client.arch]);
        match &file {
            Some(launch) => command.arg(launch),
            None => command.arg(child::file(snapshot)).args(["-k", kernel]),
        };
    })?;
    let read: Option<Value> = serde_json::from_slice(&said.out).ok();
    let list = read.as_ref().and_then(|read| read.get("kernels")).and_then(Value::as_array);
    let entry = |phase: &str| {
        let ends = |one: &&Value| one.get("entry").and_then(Value::as_str).is_some_and(|entry| entry.ends_with(phase));
        list.into_iter().flatten().find(ends)
    };
    let Some(forward) = entry("_forward") else { return Err(first_line(&said.err)) };
    let words = |pointer: &str| forward.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_string();
    let found = forward.get("findings").and_then(Value::as_array).into_iter().flatten();
    // What the run found: the compiler's findings stand at their places already.
    let of_runs = |code: &&str| code.get(1..).is_some_and(|number| number.starts_with("11"));
    let codes = found.filter_map(|one| one.get("code")?.as_str().filter(of_runs));
    let mut found: Vec<String> = codes.map(str::to_string).collect();
    found.dedup();
    let mut summary = summary(forward);
    if !found.is_empty() {
        summary += &format!(", found {}", found.join(", "));
    }
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let accesses = |entry: &Value| {
        let list = entry.get("accesses").and_then(Value::as_array);
        list.into_iter().flatten().filter_map(|one| access(one, &snapshot.source)).collect()
    };
    let made = Count {
        kernel: kernel.to_string(),
        launch: file.as_deref().and_then(name).unwrap_or_else(|| "a made-up launch".to_string()),
        resident: words("/occupancy/words"),
        summary,
        accesses: accesses(forward),
        backward: entry("_backward").map(accesses).unwrap_or_default(),
        text: snapshot.source.clone(),
        reads: OnceLock::new(),
    };
    Ok((made, found))
}

/// Sectors per request of a whole entry.
fn summary(entry: &Value) -> String {
    let ratio = |side: &str| {
        let name = format!("l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_{side}.ratio");
        entry.get("metrics")?.get(name)?.get("value")?.as_f64()
    };
    let one = |(side, word)| ratio(side).map(|ratio| format!("{} sectors a {word}", number(ratio)));
    let both: Vec<String> = [("ld", "load"), ("st", "store")].into_iter().filter_map(one).collect();
    if both.is_empty() { "no global loads or stores".to_string() } else { both.join(", ") }
}

/// With one digit after the point, where it is no integer.
fn number(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or_else(|| text.clone(), str::to_string)
}

fn access(one: &Value, source: &SourceFile) -> Option<Access> {
    let at = |key: &str| one.get(key)?.as_u64().and_then(|n| u32::try_from(n).ok());
    let line = source.line_range(at("line")?);
    // Columns count characters from 1.
    let text = source.text.get(line.start as usize..line.end as usize)?;
    let (byte, _) = text.char_indices().nth(at("column")?.checked_sub(1)? as usize)?;
    let (takes, ideal) = (one.get("takes")?.as_f64()?, one.get("ideal")?.as_f64()?);
    let unit = one.get("unit")?.as_str()?;
    let short = match one.get("wasteful")?.as_bool()? {
        true => format!("{} {unit} (ideal {})", number(takes), number(ideal)),
        false => format!("{} {unit}", number(takes)),
    };
    let words = format!("{}: {}", one.get("kind")?.as_str()?, one.get("words")?.as_str()?);
    Some(Access { offset: line.start + byte as u32, short, words })
}

/// What is wrong, in a line.
fn first_line(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("kc says nothing");
    line.trim().to_string()
}
