//! What does a launch that was in error, or passed a degenerate point, say?

use super::devices::{self, Note, Trap, TrapKind};
use crate::abi::LaunchBounds;
use crate::diag::{Code, Diagnostic};
use crate::run::messages;

/// The threads of a launch have no order on a GPU, and it shows in what the kernel leaves.
pub fn order_shows(kernel: &str, ordinal: i32) -> Diagnostic {
    let mut error = messages::no_order_to_keep(kernel, &format!("cuda:{ordinal}"));
    error.code = Code::E1104;
    error.help("run it on the host, where the order is fixed: from Python, with arrays of `x.to(\"cpu\")`")
}

/// What a note of a launch with `dims` dimensions means.
pub fn describe_note(note: &Note, bounds: &LaunchBounds, dims: usize) -> Diagnostic {
    note_of(note, &devices::coordinates(bounds, dims, note.thread))
}

/// What a note means of the thread with these coordinates.
pub fn note_of(note: &Note, thread: &[u64]) -> Diagnostic {
    let message = devices::near_degenerate(&format!("thread ({})", shown(thread)), &note.why);
    messages::near_degenerate(message, note.span)
}

fn shown(thread: &[u64]) -> String {
    thread.iter().map(u64::to_string).collect::<Vec<String>>().join(", ")
}

/// What a trap of a launch with `dims` dimensions means.
pub fn describe_trap(trap: &Trap, bounds: &LaunchBounds, dims: usize) -> Diagnostic {
    trap_of(trap, &devices::coordinates(bounds, dims, trap.thread))
}

/// What a trap means of the thread with these coordinates.
pub fn trap_of(trap: &Trap, thread: &[u64]) -> Diagnostic {
    let thread = shown(thread);
    match &trap.kind {
        TrapKind::OutOfBounds { array, dim, index, extent } => {
            let array = array.as_ref().map_or("the array".to_string(), |name| format!("`{name}`"));
            messages::out_of_bounds(&array, (*index, *dim, *extent), &thread, trap.span)
        }
        TrapKind::Component { name, index, count } => {
            let whole = name.as_ref().map_or("the value".to_string(), |name| format!("`{name}`"));
            messages::component_out_of_bounds(&whole, *index, *count as usize, &thread, trap.span)
        }
        TrapKind::Assert { message } => messages::assertion(&thread, message, trap.span),
        TrapKind::Waits { message } => messages::waits_for_ever(&thread, message, trap.span),
    }
}
