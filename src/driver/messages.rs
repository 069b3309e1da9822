//! What does the driver say? Each function makes one finding from what its caller knows.

use crate::diag::{Code, Diagnostic};
use crate::source::Span;

/// A file has no kernels, and nothing else is wrong with it.
pub(super) fn no_kernels(path: &str) -> Diagnostic {
    Diagnostic::new(Code::W0907, format!("`{path}` has no kernels"))
        .help("decorate a function with `@wp.kernel` to make one")
}

/// A kernel by block cannot be compiled to loops over the threads.
pub(super) fn no_thread_loops(message: &str, help: &str) -> Diagnostic {
    Diagnostic::new(Code::E0321, message).help(help)
}

/// A kernel that computes once for each block waits for all threads of the launch.
pub(super) fn grid_sync_in_block(kernel: &str, at: Span) -> Diagnostic {
    let message = format!("`{kernel}` has tiles, or calls of a whole block, and waits for all threads of the launch");
    Diagnostic::new(Code::E0824, message)
        .label(at, "here")
        .help("make two kernels of it: launches of one stream follow each other")
}

/// Threads differ in whether they come to a barrier of the launch.
pub(super) fn grid_sync_of_some(kernel: &str, at: Span) -> Diagnostic {
    let message = format!("only some threads of `{kernel}` come to `grid_sync`, and would wait for ever");
    Diagnostic::new(Code::E0824, message)
        .label(at, "the number of a thread decides whether it comes here")
        .help("let all threads come here: put the work under the condition, and the barrier after it")
}

/// A kernel is taken to have coordinates of blocks; `otherwise` is what is wrong with those of
/// threads.
pub(super) fn coordinates_of_blocks(kernel: &str, threads: u32, otherwise: &str) -> Diagnostic {
    let message =
        format!("`{kernel}` is compiled with coordinates of blocks; if its last one counts threads, it is wrong");
    Diagnostic::new(Code::W0411, message)
        .note(format!("with coordinates of threads, {otherwise}"))
        .help(format!(
            "say in this file how it is launched: `wp.launch_tiled({kernel}, dim=[...], inputs=[...], block_dim={threads})` for \
             coordinates of blocks, `wp.launch` with as many dimensions as there are coordinates for threads"
        ))
}

/// The verifier rejects the module that kc made.
pub(super) fn broken_ir(faults: &[String]) -> Diagnostic {
    Diagnostic::new(Code::E0999, format!("kc made IR that breaks its own rules: {}", faults.join("; ")))
}

/// One array is given for two parameters, and is a part of a struct in a call.
pub(super) fn shared_array_in_struct(kernel: &str) -> Diagnostic {
    let message =
        format!("kernel `{kernel}` is launched with one array for two parameters, and passes one on in a struct");
    Diagnostic::new(Code::E1010, message).help("pass the arrays themselves, or two arrays")
}

/// The verifier rejects a file of IR.
pub(super) fn invalid_ir(fault: String) -> Diagnostic {
    Diagnostic::new(Code::E0909, fault)
}

/// A file of IR cannot be parsed.
pub(super) fn unreadable_ir(message: String, line: Span) -> Diagnostic {
    Diagnostic::new(Code::E0909, message).label(line, "")
}

/// A kernel is named that the file does not have.
pub(super) fn unknown_kernel(name: &str) -> Diagnostic {
    Diagnostic::new(Code::E0905, format!("there is no kernel `{name}`"))
}

/// One thread stores for all threads of its block; `other` is a second place, if it is another one.
pub(super) fn one_store_for_all(array: &str, threads: u32, store: Span, other: Option<Span>) -> Diagnostic {
    let message = format!("on a GPU, one thread stores to {array} for all {threads} threads of its block");
    let diagnostic =
        Diagnostic::new(Code::W0412, message).label(store, "several threads may store to one element here");
    also(diagnostic, other, "this may be the same element, of another thread").help(
        "store at an index that is different for each thread (`s[lane] = ..`), with `wp.sync()` before others read it, or \
         add integers (`s[k] += 1`), which all threads do at once",
    )
}

/// Threads of a block read and write one element without a barrier between.
pub(super) fn no_barrier(array: &str, write: Span, read: Option<Span>) -> Diagnostic {
    let message = format!("a thread reads an element of {array} that another thread of its block writes, in any order");
    also(Diagnostic::new(Code::W0702, message).label(write, "written here"), read, "read here, by another thread").help(
        "put `wp.sync()` between the two, outside of branches: all threads of the block wait there for each other",
    )
}

fn also(diagnostic: Diagnostic, place: Option<Span>, label: &str) -> Diagnostic {
    match place {
        Some(place) => diagnostic.label(place, label),
        None => diagnostic,
    }
}

/// A file cannot be opened or read.
pub(super) fn unreadable(shown: &str, reason: &str) -> Diagnostic {
    Diagnostic::new(Code::E0901, format!("cannot read `{shown}`: {reason}"))
}

/// A file is larger than kc reads.
pub(super) fn too_large(shown: &str, limit: u64) -> Diagnostic {
    Diagnostic::new(Code::E0903, format!("`{shown}` is larger than {limit} MiB"))
}

/// A file has a byte that is not UTF-8.
pub(super) fn not_utf8(shown: &str, byte: u8, at: usize, line: usize) -> Diagnostic {
    Diagnostic::new(Code::E0902, format!("`{shown}` is not UTF-8 text"))
        .note(format!("the byte 0x{byte:02x} at offset {at} (line {line}) is not valid UTF-8"))
}

/// A kernel that calls CUDA text is compiled to another form.
pub(super) fn calls_cuda_text(kernel: &str, text: Span) -> Diagnostic {
    Diagnostic::new(Code::E0821, format!("kernel `{kernel}` calls a function whose body is CUDA text"))
        .label(text, "only `--emit cuda` has it")
        .help("write the function in the kernel language, with `@wp.func`, or compile this kernel with `--emit cuda`")
}

/// kc panicked.
pub(super) fn panicked(place: &str, message: &str) -> Diagnostic {
    Diagnostic::new(Code::E0999, format!("kc failed at {place}: {message}"))
        .note("this is a fault of kc, not of your file; please report it together with the file")
}
