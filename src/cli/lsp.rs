//! `kc lsp`: the editor server.

use super::Exit;

/// Serves an editor over standard input and output (Language Server Protocol).
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// The way of talking; the only one there is. Some editors ask for it.
    #[arg(long)]
    stdio: bool,
}

pub(super) fn run(_: &Args) -> Exit {
    let (connection, writer) = crate::lsp::transport::connect(std::io::stdin(), std::io::stdout());
    let clean = crate::lsp::serve(connection);
    // Its panics would be those of the standard library.
    let _ = writer.join();
    // The protocol's way to say that the client left without a word.
    if clean { Exit::Ok } else { Exit::Errors }
}
