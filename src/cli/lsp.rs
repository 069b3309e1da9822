//! `kc lsp`: the editor server.

use super::{Exit, output};

/// Serves an editor by the Language Server Protocol.
///
/// It speaks over standard input and output.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// The way of talking; the only one there is. Some editors ask for it.
    #[arg(long)]
    stdio: bool,
}

/// A server lives for days: what it frees goes back to the system at once, and its few threads
/// share their heaps. Without this, both allocators, kc's own and the C library's, which LLVM uses,
/// keep a growing reserve for each thread.
fn keep_memory_small() {
    /// `mi_option_purge_delay` of mimalloc.h: milliseconds that freed memory is kept. The crate has
    /// no name for it.
    #[cfg(feature = "allocator")]
    const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;
    #[cfg(feature = "allocator")]
    // SAFETY: sets a number of the allocator.
    unsafe {
        libmimalloc_sys::mi_option_set(PURGE_DELAY, 0)
    };
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: sets two numbers of the allocator (mallopt(3)), before there are other threads.
    unsafe {
        libc::mallopt(libc::M_TRIM_THRESHOLD, 128 << 10);
        libc::mallopt(libc::M_ARENA_MAX, 2);
    }
}

pub(super) fn run(_: &Args) -> Exit {
    keep_memory_small();
    // The client may not show answers that it did not ask for.
    let given_up = |reason: &str| output::err(&format!("kc lsp: {reason}\n"));
    let (connection, writer) = crate::lsp::transport::connect(std::io::stdin(), std::io::stdout(), given_up);
    let clean = crate::lsp::serve(connection);
    // Its panics would be those of the standard library.
    let _ = writer.join();
    // The protocol's way to say that the client left without a word.
    if clean { Exit::Ok } else { Exit::Errors }
}
