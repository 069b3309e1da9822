//! What is said of launches? Each function makes one finding, which here travels as an error.

use super::Fail;
use super::engine_ids::EngineCall;
use crate::diag::{Code, Diagnostic, counted};
use crate::engines::registry::Writer;
use crate::source::Span;

/// A launch, or a part of it, could not be done; the caller has the words, and there is no place in
/// a source text.
pub fn fail(code: Code, message: impl Into<String>) -> Fail {
    Box::new(Diagnostic::new(code, message))
}

/// A launch passed a point at which the gradient is near-degenerate; `message` says which and why.
pub(super) fn near_degenerate(message: String, at: Span) -> Diagnostic {
    Diagnostic::new(Code::W1120, message).label(at, "a gradient passes here")
}

/// The conventions for functions without a derivative decide a gradient: it is another one beside
/// the point.
pub(super) fn decided_by_convention(name: &str, here: f64, beside: f64, at: Span) -> Diagnostic {
    let message = format!(
        "a gradient is near-degenerate: in that of `{name}` a number is {here}, by the conventions for functions that have no \
         derivative at a point, and {beside} beside this point"
    );
    Diagnostic::new(Code::W1120, message).label(at, "such a function")
}

/// Results are to be the same whatever the order of threads is, and it shows in those of a kernel.
pub(super) fn no_order_to_keep(kernel: &str, device: &str) -> Diagnostic {
    let message =
        format!("the atomics of kernel `{kernel}` show the order of its threads, and `{device}` has none to keep");
    Diagnostic::new(Code::E1012, message)
}

/// A thread accessed an element outside of an array; `array` has its quotes.
pub(super) fn out_of_bounds(array: &str, (index, dim, extent): (i64, u32, i64), thread: &str, at: Span) -> Diagnostic {
    let message = format!(
        "index {index} is out of bounds for dimension {dim} of {array}, which has extent {extent}, in thread ({thread})"
    );
    Diagnostic::new(Code::E1101, message)
        .label(at, format!("index {index}, extent {extent}"))
        .note("the access was left out (a load gave zero), and the other threads ran on")
}

/// A thread accessed a component outside of a vector or matrix; `whole` has its quotes.
pub(super) fn component_out_of_bounds(whole: &str, index: i64, count: usize, thread: &str, at: Span) -> Diagnostic {
    let components = counted(count, "component");
    let message =
        format!("component index {index} is out of bounds for {whole}, which has {components}, in thread ({thread})");
    Diagnostic::new(Code::E1101, message)
        .label(at, format!("index {index}, {components}"))
        .note("a read gave 0 and a write changed nothing, and the other threads ran on")
}

/// The assertion of a thread does not hold; `message` is its own text, or empty.
pub(super) fn assertion(thread: &str, message: &str, at: Span) -> Diagnostic {
    let text = if message.is_empty() { String::new() } else { format!(": {message}") };
    Diagnostic::new(Code::E1102, format!("assertion failed in thread ({thread}){text}")).label(at, "does not hold")
}

/// A thread waits for all others of the launch, and one has ended.
pub(super) fn waits_for_ever(thread: &str, message: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E1114, format!("{message}: thread ({thread})")).label(at, "waits here")
}

/// Threads wait for each other, and there are more than the device runs together; `most` says how
/// many it does.
pub(super) fn too_many_to_wait(kernel: &str, launch: &str, most: &str) -> Fail {
    let message = format!("all threads of `{kernel}` wait for each other at `grid_sync`: {launch}, and {most}");
    let error = Diagnostic::new(Code::E1107, message);
    Box::new(error.help("launch fewer threads, each of which loops over several elements"))
}

/// The race check looked at some threads of a launch only.
pub(super) fn partly_checked(looked: &str, threads: &str, help: &str, kernel: Span) -> Diagnostic {
    let message =
        format!("looked at {looked} of {threads} threads: whether the order of the others shows is not known");
    Diagnostic::new(Code::W1122, message).label(kernel, "in launches of this kernel").help(help)
}

/// A kernel asks an engine of an id that is of none of its kind; `what` says what it is.
pub(super) fn no_engine(argument: &str, call: &EngineCall, what: &str) -> Fail {
    let message = format!("argument `{argument}` is {what}, and `{}` asks {}", call.function, call.kind.name());
    let error = Diagnostic::new(Code::E1127, message).label(call.span, "asked here");
    Box::new(error.help(format!("pass {}, and keep it as long as kernels use its id", call.kind.name())))
}

/// A kernel searches an engine by boxes or cells that are older than its points.
pub(super) fn stale_engine(argument: &str, call: &EngineCall, writer: &Writer) -> Diagnostic {
    let (kind, again) = (call.kind.name(), call.kind.word());
    let message = format!(
        "`{}` searches {kind} by where its points were before kernel `{}` wrote them",
        call.function, writer.kernel
    );
    let again = if again == "hash_grid" { "`build`" } else { "`refit`" };
    Diagnostic::new(Code::W1128, message)
        .label(call.span, format!("argument `{argument}` is out of date here"))
        .note(format!("`{}` wrote them at {}", writer.kernel, writer.place))
        .help(format!("call {again} between the two launches"))
}

/// A program has no kernels.
pub(super) fn no_kernels(program: &str) -> Diagnostic {
    Diagnostic::new(Code::E0908, format!("{program} has no kernels"))
}

/// A program does not have the named kernel.
pub(super) fn no_such_kernel(program: &str, kernel: &str, known: &str) -> Diagnostic {
    Diagnostic::new(Code::E0905, format!("{program} has no kernel `{kernel}`; it has {known}"))
}

/// A program has several kernels, and none is named.
pub(super) fn several_kernels(program: &str, known: &str) -> Diagnostic {
    Diagnostic::new(Code::E1003, format!("{program} has several kernels, name one: {known}"))
}

/// Two launches would write to one folder.
pub(super) fn written_twice(id: &str) -> Diagnostic {
    let message = format!("two launches of this call have the id {id:?}; the second is not written");
    Diagnostic::new(Code::E0906, message)
}

/// The simulator does not know an instruction of somebody's PTX.
pub(super) fn unknown_ptx(what: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0831, format!("the simulator does not know {what}")).label(at, "here")
}

/// Somebody's PTX is none.
pub(super) fn invalid_ptx(message: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0830, message).label(at, "here")
}

/// The simulator found something in a run; the caller has the words and adds the places.
pub(super) fn simulated(code: Code, message: String) -> Diagnostic {
    Diagnostic::new(code, message)
}

/// Two orders of the threads leave different values.
pub(super) fn order_shows(element: &str) -> Diagnostic {
    let message = format!("{element} depends on the order of the threads: two schedules leave different values");
    Diagnostic::new(Code::W1119, message)
}

/// The simulator does not take the PTX that kc made; `text` is the line.
pub(super) fn own_ptx(message: &str, line: u32, text: &str) -> Diagnostic {
    Diagnostic::new(Code::E0999, format!("the simulator does not take kc's own PTX: {message} (line {line})"))
        .note(text)
}

/// The driver does not give a kernel its shared memory; `words` are the driver's.
#[cfg(feature = "cuda")]
pub(super) fn no_shared_memory(kernel: &str, bytes: u32, words: &str) -> Diagnostic {
    let message = format!("the GPU does not give the {bytes} bytes of shared memory that `{kernel}` needs");
    Diagnostic::new(Code::E1107, message).note(words)
}

/// A launch on a GPU ended with an error; `words` are the driver's.
#[cfg(feature = "cuda")]
pub(super) fn gpu_fault(message: String, words: &str) -> Diagnostic {
    Diagnostic::new(Code::E1107, message).note(words)
}

/// The driver's compiler refuses PTX; `words` are its own.
#[cfg(feature = "cuda")]
pub(super) fn refused_ptx(driver_is_old: bool, words: String) -> Diagnostic {
    let message = match driver_is_old {
        true => "the driver is too old for the PTX of this GPU; update it",
        false => "the driver's compiler does not take the PTX",
    };
    Diagnostic::new(Code::E1107, message).note(words)
}

/// A launch program is given where one launch is expected.
pub(super) fn several_launches(path: &str) -> Diagnostic {
    Diagnostic::new(Code::E1001, format!("{path} is a launch program, and one launch is expected"))
        .help("`kc run` runs launch programs")
}

/// A source file is given where a launch file is expected.
pub(super) fn no_launch_file(path: &str) -> Diagnostic {
    Diagnostic::new(Code::E1001, format!("{path} is a source file, and a launch file is expected"))
        .help("a launch file is JSON that names a kernel, its threads and its arguments: see docs/launches.md")
}
