//! How do the threads of a launch wait for each other ([`Op::GridSync`](crate::ir::Op::GridSync))?
//! Each is a thread of the system, of which one runs at a time: as far as the next barrier, in
//! their order, and then all once more. So each has a stack of its own while it waits.

use std::ops::Range;
use std::sync::mpsc::{Receiver, Sender, channel};

use super::{Note, Outcome, Trap, TrapKind};
use crate::source::Span;

/// The most threads of such a launch: of more the system may refuse some.
pub const MOST_THREADS: u64 = 8192;

/// The bytes of a thread's stack: it nests as deep as the source does.
const STACK: usize = 1 << 20;

/// What a thread tells.
enum Told {
    /// It waits here, with so many steps left.
    Waits(Span, Option<u64>),
    Printed(String),
    Ended(Box<Ended>),
}

/// What is left of a thread.
struct Ended {
    steps: Option<u64>,
    trap: Option<Trap>,
    note: Option<Note>,
    visited: Option<Span>,
    operations: Option<u64>,
}

/// How a thread waits for the others.
pub struct Waiting {
    /// Lets it go on with so many steps; closed: the run is over.
    go: Receiver<Option<u64>>,
    told: Sender<Told>,
}

impl Waiting {
    /// Until all are here; whether it goes on.
    pub fn wait(&self, outcome: &mut Outcome<'_>, at: Span) -> bool {
        let told = self.told.send(Told::Waits(at, outcome.steps));
        match told.ok().and_then(|()| self.go.recv().ok()) {
            Some(steps) => {
                outcome.steps = steps;
                true
            }
            None => false,
        }
    }
}

/// A thread that waits, as who runs all of them sees it.
struct Thread {
    number: u64,
    go: Sender<Option<u64>>,
    told: Receiver<Told>,
}

/// What one thread of a launch does.
pub type Body<'a> = dyn Fn(u64, &mut Outcome<'_>, &Waiting) + Sync + 'a;

/// Runs the threads of a launch of the kernel at `kernel`.
pub fn run(threads: Range<u64>, outcome: &mut Outcome<'_>, kernel: Span, body: &Body) {
    let counted = outcome.operations.is_some();
    std::thread::scope(|scope| {
        let mut live = Vec::new();
        for number in threads {
            let ((go, goes), (tells, told)) = (channel(), channel());
            let waiting = Waiting { go: goes, told: tells };
            let started = std::thread::Builder::new()
                .stack_size(STACK)
                .spawn_scoped(scope, move || one(number, counted, &waiting, body));
            if let Err(error) = started {
                let message = format!("the system has no more threads for a launch that waits ({error})");
                return trap(outcome, kernel, number, message);
            }
            live.push(Thread { number, go, told });
        }
        // What is dropped here does not go on.
        while !live.is_empty() {
            let (mut ended, mut waits) = (None, Vec::new());
            for thread in live {
                match turn(&thread, outcome) {
                    Some(at) => waits.push((thread, at)),
                    None => ended = Some(thread.number),
                }
                if outcome.steps == Some(0) {
                    return;
                }
            }
            if let (Some(ended), Some((waits, at))) = (ended, waits.first()) {
                let message = format!("thread {ended} of the launch ends, and this one waits for it for ever");
                return trap(outcome, *at, waits.number, message);
            }
            live = waits.into_iter().map(|(thread, _)| thread).collect();
        }
    });
}

/// One thread, on a thread of the system.
fn one(number: u64, counted: bool, waiting: &Waiting, body: &Body) {
    let Ok(steps) = waiting.go.recv() else { return };
    let tell = |told| {
        // Nobody listens when the run is over.
        let _ = waiting.told.send(told);
    };
    let mut own = Outcome::new(|text: &str| tell(Told::Printed(text.to_string())));
    (own.steps, own.operations) = (steps, counted.then_some(0));
    body(number, &mut own, waiting);
    let Outcome { steps, trap, note, visited, operations, .. } = own;
    tell(Told::Ended(Box::new(Ended { steps, trap, note, visited, operations })));
}

/// Lets a thread run until it waits, and says where; None: it has ended.
fn turn(thread: &Thread, outcome: &mut Outcome<'_>) -> Option<Span> {
    thread.go.send(outcome.steps).ok()?;
    loop {
        match thread.told.recv().ok()? {
            Told::Printed(text) => (outcome.print)(&text),
            Told::Waits(at, steps) => {
                outcome.steps = steps;
                return Some(at);
            }
            Told::Ended(ended) => {
                let Ended { steps, trap, note, visited, operations } = *ended;
                outcome.steps = steps;
                outcome.trap = outcome.trap.take().or(trap);
                outcome.note = outcome.note.take().or(note);
                outcome.visited = outcome.visited.or(visited);
                if let (Some(all), Some(own)) = (&mut outcome.operations, operations) {
                    *all += own;
                }
                return None;
            }
        }
    }
}

fn trap(outcome: &mut Outcome<'_>, span: Span, thread: u64, message: String) {
    let trap = Trap { kind: TrapKind::Waits, span, thread, dim: 0, index: 0, extent: 0, array: 0, message };
    outcome.trap = outcome.trap.take().or(Some(trap));
}
