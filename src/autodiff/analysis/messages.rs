//! What is said of code that has no gradient, or a doubtful one? Each function makes one finding.

use crate::diag::{CHECKED_IN_GRADIENT_RUNS, Code, Diagnostic};
use crate::source::Span;

/// A function that a gradient would pass through has none.
pub fn no_gradient(name: &str, reason: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0605, format!("`{name}` has no gradient: {reason}")).label(at, "a gradient would pass here")
}

/// The code is of a form that kc cannot reverse.
pub fn limit(at: Span, what: String) -> Diagnostic {
    let message = format!("no backward entry is made, because kc cannot reverse this: {what}");
    Diagnostic::new(Code::W0607, message).label(at, "this is what it can't reverse")
}

/// A value depends on the order of the threads.
pub(super) fn order(at: Span, what: &str) -> Diagnostic {
    Diagnostic::new(Code::E0601, format!("{what} depends on the order of the threads"))
        .label(at, "it differs from run to run, so it has no gradient")
        .help("compute the value without the atomic's result, or mark the kernel `enable_backward=False`")
}

/// The backward pass needs a value that the launch overwrites.
pub(super) fn overwrite(at: Span, what: &str) -> Diagnostic {
    let message = format!("no backward entry is made, because it needs {what}, which the launch overwrites");
    Diagnostic::new(Code::W0603, message).label(at, "needed again in the backward pass")
}

/// A fault of kc was found while building: never code that could be wrong.
pub fn fault(at: Span, message: &str) -> Diagnostic {
    let message = format!("no backward entry is made, because kc failed to reverse this: {message}");
    Diagnostic::new(Code::W0607, message).label(at, "a fault of kc")
}

/// A gradient passes a rounding, which has the derivative 0; `source` is the variable that gets
/// none.
pub(super) fn lossy(what: &str, source: Option<&str>, at: Span) -> Diagnostic {
    let mut message = format!("the gradient through {what} is zero almost everywhere");
    if let Some(name) = source {
        message.push_str(&format!("; `{name}` gets none here"));
    }
    Diagnostic::new(Code::W0604, message).label(at, "no gradient passes here")
}

/// Threads add to elements and take extremes of the same ones.
pub(super) fn sums_and_extremes(array: &str, sum: Span) -> Diagnostic {
    let order = "which depends on the order of the threads";
    Diagnostic::new(Code::E0601, format!("{array} gets sums and extremes in one launch, {order}")).label(sum, "a sum")
}

/// Threads take the extreme of elements that others store to.
pub(super) fn stored_extreme(array: &str, store: Span, extreme: Span, load: Span) -> Diagnostic {
    let message = format!("{array} gets an extreme, is read, and is stored to in one launch");
    Diagnostic::new(Code::E0601, message)
        .label(store, "stored here: which value the extreme took is not known afterwards")
        .label(extreme, "an extreme")
        .label(load, "read here, with a gradient")
        .help("use two launches, or mark the kernel `enable_backward=False`")
}

/// An array is read and written, perhaps at one element by two threads.
pub(super) fn read_and_written(array: &str, load: Span, written: Span) -> Diagnostic {
    let message = format!("the gradient assumes that no thread reads an element of {array} that another one writes");
    Diagnostic::new(Code::W0602, message)
        .label(load, "read here, with a gradient")
        .label(written, "written here")
        .note(CHECKED_IN_GRADIENT_RUNS)
        .help("read from one array and write to another, or use two launches")
}

/// Threads store, perhaps two of them to one element.
pub(super) fn stored_twice(array: &str, store: Span) -> Diagnostic {
    let message = format!("the gradient assumes that no two threads store to one element of {array}");
    Diagnostic::new(Code::W0606, message)
        .label(store, "the index does not show which thread this is")
        .note(CHECKED_IN_GRADIENT_RUNS)
        .help("where threads may meet, use `wp.atomic_add`")
}
