//! What does the command line say of its arguments and files? Each function makes one finding.

use crate::diag::{Code, Diagnostic};
use crate::source::Span;

/// A file, or what `what` says, cannot be written.
pub(super) fn unwritten(what: &str, reason: &str) -> Diagnostic {
    Diagnostic::new(Code::E0904, format!("cannot write {what}: {reason}"))
}

/// No file of the wanted kind was found.
pub(super) fn nothing_found(message: String) -> Diagnostic {
    Diagnostic::new(Code::E0911, message)
}

/// A folder cannot be read.
pub(super) fn unreadable_folder(folder: &str, reason: &str) -> Diagnostic {
    Diagnostic::new(Code::E0901, format!("cannot read the folder `{folder}`: {reason}"))
}

/// `--abi plain` is given with an output that has no such form.
pub(super) fn plain_abi() -> Diagnostic {
    Diagnostic::new(Code::E1012, "`--abi plain` is for CUDA text: nothing else takes its arguments so")
        .help("ask for it alone, with `--emit cuda`, and for the rest without `--abi`")
}

/// Several results are printed to standard output.
pub(super) fn several_printed() -> Diagnostic {
    several("`-o -` prints one result")
}

/// Several results are written to one file.
pub(super) fn several_in_file(file: &str) -> Diagnostic {
    several(&format!("`-o {file}` names the file of one result"))
}

fn several(message: &str) -> Diagnostic {
    Diagnostic::new(Code::E1012, message)
        .help("name one file, one `--emit` and one `--arch`; or a folder, where results are named after their input")
}

/// The ending of the file to write is that of another output.
pub(super) fn other_ending(file: &str, ending: &str) -> Diagnostic {
    let message = format!("`-o {file}` ends in `.{ending}`, which is not the ending of what `--emit` asks for");
    Diagnostic::new(Code::E1012, message).help("leave `--emit` out: the ending says what is written")
}

/// A named file has no kernels that can be compiled.
pub(super) fn no_kernels(path: &str) -> Diagnostic {
    Diagnostic::new(Code::E0908, format!("`{path}` has no kernels to compile"))
}

/// No file in the named folders has kernels that can be compiled.
pub(super) fn no_kernels_in(folders: &str) -> Diagnostic {
    Diagnostic::new(Code::E0908, format!("no kernels to compile in {folders}"))
}

/// Two inputs have one output.
pub(super) fn written_twice(file: &str, first: &str) -> Diagnostic {
    Diagnostic::new(Code::E0906, format!("`{file}` was already written for `{first}`"))
}

/// A kernel cannot run with made-up arrays, and a launch file is needed to profile it.
pub(super) fn needs_launch(kernel: &str, path: &str, why: &str, at: Span) -> Diagnostic {
    let message = format!("`{kernel}` does not run with the arrays that are made up for it: {why}");
    Diagnostic::new(Code::E1109, message)
        .label(at, "this kernel")
        .help(format!("`kc launch new {path} -k {kernel}` writes a launch file to begin with"))
}

/// The manual page of a command is asked for that there is not.
pub(super) fn no_command(wanted: &str, known: &str) -> Diagnostic {
    Diagnostic::new(Code::E1012, format!("kc has no command `{wanted}`; it has {known}"))
}

/// The process that ran a launch file died.
pub(super) fn worker_died(path: &str, how: &str) -> Diagnostic {
    Diagnostic::new(Code::E0999, format!("kc died while it ran {path} ({how})"))
        .note("either the compiled code broke (with --unchecked, through an index out of bounds), or the compiler did")
}

/// A launch file took longer than `--timeout`.
pub(super) fn too_slow(path: &str, seconds: f64) -> Diagnostic {
    Diagnostic::new(Code::E1110, format!("{path} took longer than {seconds} s"))
        .help("a larger `--timeout` lets it run on")
}

/// kc panicked in a launch of several.
pub(super) fn panicked(place: &str, message: &str) -> Diagnostic {
    Diagnostic::new(Code::E0999, format!("kc failed at {place}: {message}"))
}

/// `--watch` is given for standard input.
pub(super) fn nothing_to_watch() -> Diagnostic {
    Diagnostic::new(Code::E1012, "`--watch` needs files: standard input is read once")
}

/// The file of a page cannot be read.
pub(super) fn unexplored(file: &str, reason: &str) -> Diagnostic {
    Diagnostic::new(Code::E0901, format!("cannot read `{file}`: {reason}"))
}

/// The file of a page has no kernel of the name.
pub(super) fn explores_other_kernels(file: &str, name: &str, kernels: &str) -> Diagnostic {
    Diagnostic::new(Code::E0905, format!("`{file}` has no kernel `{name}`; it has {kernels}"))
}

/// No port can be listened at.
pub(super) fn no_server(reason: &str) -> Diagnostic {
    Diagnostic::new(Code::E0904, format!("cannot serve the page: {reason}"))
}
