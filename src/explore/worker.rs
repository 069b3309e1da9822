//! Who makes what a page shows? Processes of kc, which keep what they know of the library from text
//! to text. One may die of a text, or never end: then the page hears of it, and the next question
//! gets a new process.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded, select, unbounded};
use serde_json::{Value, json};

use super::counters::{self, Compile};
use super::wish::{Part, Wish};
use super::{machine, panes};
use crate::driver::{self, Compiler, Memory};

/// A question that takes longer is given up.
const LIMIT: Duration = Duration::from_secs(20);

/// Answers wishes about a file, line by line, until there are no more: what a worker process does.
pub fn serve(path: &Path, compile: Compile, input: impl BufRead, mut output: impl Write) {
    let (compiler, mut memory) = (Compiler::new(), Memory::default());
    for line in input.lines() {
        let Ok(line) = line else { return };
        let answer = match serde_json::from_str::<Wish>(&line) {
            Ok(wish) => driver::catch(|| answer(path, &wish, &compiler, &mut memory, compile))
                .unwrap_or_else(|fault| failed(&format!("kc failed at {}: {}", fault.place, fault.message))),
            Err(fault) => failed(&format!("this is no wish: {fault}")),
        };
        // Nobody listens any more.
        if writeln!(output, "{answer}").and_then(|()| output.flush()).is_err() {
            return;
        }
    }
}

fn answer(path: &Path, wish: &Wish, compiler: &Compiler, memory: &mut Memory, compile: Compile) -> Value {
    match wish.part {
        Part::Text => panes::text(path, wish, compiler, memory),
        Part::Counters => counters::count(path, wish, compiler, compile),
        Part::Machine => json!(machine::machine(path, wish, compiler)),
    }
}

fn failed(why: &str) -> Value {
    json!({ "fault": why })
}

/// Starts a worker process; what it says comes from its standard output.
pub type Start = Box<dyn Fn() -> std::io::Result<Command> + Send + Sync>;

/// A question, and where its answer goes.
struct Job {
    wish: String,
    answer: Sender<String>,
}

/// The worker processes of a server: for texts, for launches and machine code, which may take long,
/// and for copies. A question of the second kind ends the one before it that is still under way.
pub struct Workers {
    texts: Sender<Job>,
    launches: Sender<Job>,
    machines: Sender<Job>,
    copies: Sender<Job>,
}

impl Workers {
    pub fn start(start: Start) -> Workers {
        let start = std::sync::Arc::new(start);
        let one = |newer_counts| {
            let (jobs, theirs) = unbounded();
            let start = start.clone();
            // A worker ends with the thread that has started it, which lives as long as this.
            std::thread::spawn(move || manage(&theirs, &start, newer_counts, LIMIT));
            jobs
        };
        Workers { texts: one(false), launches: one(true), machines: one(true), copies: one(false) }
    }

    /// The answer to a wish, as JSON.
    pub fn ask(&self, wish: &Wish) -> String {
        let jobs = match wish.part {
            Part::Text => &self.texts,
            Part::Counters => &self.launches,
            Part::Machine => &self.machines,
        };
        ask(jobs, wish)
    }

    /// Everything there is to see of a kernel.
    pub fn copy(&self, wish: &Wish) -> Value {
        let part = |part, kernel| {
            let answer = ask(&self.copies, &Wish { part, kernel, ..wish.clone() });
            serde_json::from_str(&answer).unwrap_or_else(|fault| failed(&fault.to_string()))
        };
        let mut view: Value = part(Part::Text, wish.kernel.clone());
        if view.get("fault").is_none() {
            let kernel = view["kernel"].as_str().map(str::to_string);
            view["counters"] = part(Part::Counters, kernel.clone());
            view["machine"] = part(Part::Machine, kernel);
        }
        view
    }
}

fn ask(jobs: &Sender<Job>, wish: &Wish) -> String {
    let (answer, theirs) = bounded(1);
    let wish = json!(wish).to_string();
    let sent = jobs.send(Job { wish, answer }).ok();
    let said = sent.and_then(|()| theirs.recv().ok());
    said.unwrap_or_else(|| failed("kc has no worker any more").to_string())
}

/// A worker process.
struct Worker {
    process: Child,
    to: ChildStdin,
    lines: Receiver<String>,
}

impl Drop for Worker {
    fn drop(&mut self) {
        // That it has just ended by itself is no fault.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Worker {
    fn start(start: &Start) -> std::io::Result<Worker> {
        let mut command = start()?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        driver::ends_with_this(&mut command);
        let mut process = command.spawn()?;
        let gone = || std::io::Error::other("it has no streams");
        let (to, from) = (process.stdin.take().ok_or_else(gone)?, process.stdout.take().ok_or_else(gone)?);
        let (said, lines) = unbounded();
        std::thread::spawn(move || {
            for line in BufReader::new(from).lines().map_while(Result::ok) {
                if said.send(line).is_err() {
                    return;
                }
            }
        });
        Ok(Worker { process, to, lines })
    }
}

/// How a question ended.
enum End {
    Answer(String),
    /// The worker is no use any more.
    Lost(String),
    Newer(Job),
}

/// Does jobs one by one, until nobody can ask any more.
fn manage(jobs: &Receiver<Job>, start: &Start, newer_counts: bool, limit: Duration) {
    let (mut worker, mut next) = (None, None);
    while let Some(job) = next.take().or_else(|| jobs.recv().ok()) {
        let ready = worker.take().map_or_else(|| Worker::start(start), Ok);
        let said = match ready {
            Ok(mut ready) => match question(&mut ready, &job.wish, jobs, newer_counts, limit) {
                End::Answer(answer) => {
                    worker = Some(ready);
                    answer
                }
                End::Lost(why) => failed(&why).to_string(),
                End::Newer(newer) => {
                    next = Some(newer);
                    json!({ "superseded": true }).to_string()
                }
            },
            Err(fault) => failed(&format!("kc does not start: {fault}")).to_string(),
        };
        // Who asked may be gone.
        let _ = job.answer.send(said);
    }
}

fn question(worker: &mut Worker, wish: &str, jobs: &Receiver<Job>, newer_counts: bool, limit: Duration) -> End {
    if writeln!(worker.to, "{wish}").and_then(|()| worker.to.flush()).is_err() {
        return End::Lost("kc has ended on what was asked before".to_string());
    }
    let until = Instant::now() + limit;
    let never = crossbeam_channel::never();
    let newer = if newer_counts { jobs } else { &never };
    select! {
        recv(worker.lines) -> line => line.map_or_else(|_| End::Lost("kc ended on this text".to_string()), End::Answer),
        recv(newer) -> job => job.map_or_else(|_| End::Lost("nobody asks any more".to_string()), End::Newer),
        default(until.saturating_duration_since(Instant::now())) => {
            End::Lost(format!("it takes longer than {} seconds", limit.as_secs()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A worker that is a shell.
    fn shell(script: &'static str) -> Start {
        Box::new(move || {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            Ok(command)
        })
    }

    fn managed(script: &'static str, newer_counts: bool, limit: Duration) -> Sender<Job> {
        let (jobs, theirs) = unbounded();
        std::thread::spawn(move || manage(&theirs, &shell(script), newer_counts, limit));
        jobs
    }

    #[test]
    fn a_worker_that_dies_or_is_late_is_replaced() {
        // It answers one question, and dies of the next.
        let jobs = managed("read a; echo 1; read a; exit 3", false, LIMIT);
        let wish = Wish::default();
        assert_eq!(ask(&jobs, &wish), "1");
        assert!(ask(&jobs, &wish).contains("kc ended on this text"));
        assert_eq!(ask(&jobs, &wish), "1");
        let late = managed("read a; sleep 60", false, Duration::from_millis(50));
        assert!(ask(&late, &wish).contains("takes longer"));
    }

    #[test]
    fn a_newer_question_counts() {
        let jobs = managed("read a; case $a in *first*) sleep 60;; esac; echo 2", true, LIMIT);
        let first = Wish { source: "first".to_string(), ..Wish::default() };
        let (older, said) = (jobs.clone(), bounded(1));
        std::thread::spawn(move || said.0.send(ask(&older, &first)));
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(ask(&jobs, &Wish::default()), "2");
        assert!(said.1.recv().is_ok_and(|said| said.contains("superseded")));
    }
}
