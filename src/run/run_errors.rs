//! What does a launch that was in error, or passed a degenerate point, say?

use super::devices::{self, Note, Trap, TrapKind};
use crate::abi::LaunchBounds;
use crate::diag::{Code, Diagnostic};

/// What a note of a launch with `dims` dimensions means.
pub fn describe_note(note: &Note, bounds: &LaunchBounds, dims: usize) -> Diagnostic {
    let at: Vec<String> = devices::coordinates(bounds, dims, note.thread).iter().map(u64::to_string).collect();
    let message = devices::near_degenerate(&format!("thread ({})", at.join(", ")), &note.why);
    Diagnostic::new(Code::W1120, message).label(note.span, "a gradient passes here")
}

/// What a trap of a launch with `dims` dimensions means.
pub fn describe_trap(trap: &Trap, bounds: &LaunchBounds, dims: usize) -> Diagnostic {
    let at: Vec<String> = devices::coordinates(bounds, dims, trap.thread).iter().map(u64::to_string).collect();
    let thread = at.join(", ");
    match &trap.kind {
        TrapKind::OutOfBounds { array, dim, index, extent } => {
            let array = array.as_ref().map_or("the array".to_string(), |name| format!("`{name}`"));
            let message = format!(
                "index {index} is out of bounds for dimension {dim} of {array}, which has extent {extent}, in thread ({thread})"
            );
            Diagnostic::new(Code::E1101, message)
                .label(trap.span, format!("index {index}, extent {extent}"))
                .note("the access was left out (a load gave zero), and the other threads ran on")
        }
        TrapKind::Component { name, index, count } => {
            let whole = name.as_ref().map_or("the value".to_string(), |name| format!("`{name}`"));
            let message = format!(
                "component index {index} is out of bounds for {whole}, which has {count} components, in thread ({thread})"
            );
            Diagnostic::new(Code::E1101, message)
                .label(trap.span, format!("index {index}, {count} components"))
                .note("a read gave 0 and a write changed nothing, and the other threads ran on")
        }
        TrapKind::Assert { message } => {
            let text = if message.is_empty() { String::new() } else { format!(": {message}") };
            Diagnostic::new(Code::E1102, format!("assertion failed in thread ({thread}){text}"))
                .label(trap.span, "does not hold")
        }
    }
}
