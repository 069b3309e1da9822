//! What computes the product of tiles that the pointer is on? The kernels that have it are compiled
//! as far as IR for that.

use super::client::Client;
use super::documents::Snapshot;
use crate::driver::{Arch, Compiler, Gradients, Options, Request};
use crate::ide::File;
use crate::ide::find::is_kernel;
use crate::source::Span;

/// The call at an offset, and a list of what it becomes; None: no product is there, or none that is
/// computed on a GPU.
pub fn at(
    file: &File,
    snapshot: &Snapshot,
    client: &Client,
    compiler: &Compiler,
    offset: u32,
) -> Option<(Span, String)> {
    let call = file.product_at(offset)?;
    let function = file.function_at(offset)?;
    // A function may be called by any kernel, and then gradients of all of them would take too long
    // to wait for.
    let (kernels, backward) = match is_kernel(function) {
        true => (vec![function.name.text.clone()], true),
        false => (Vec::new(), false),
    };
    let request = Request { kernels, gradients: Gradients { backward, ..Gradients::default() }, ..Request::default() };
    let (path, text) = (&snapshot.source.path, snapshot.source.text.clone());
    let compilation = compiler.load_among(path, text, snapshot.files.clone(), &request);
    let archs = Arch::from_name(&client.arch).into_iter().collect();
    let mut lines: Vec<String> = Vec::new();
    for product in compilation.products(&Options { archs, ..Options::default() }) {
        let of = if product.backward { "gradient: " } else { "" };
        let whose = if is_kernel(function) { String::new() } else { format!(" (`{}`)", product.kernel) };
        let line = format!("- {of}{}{whose}", product.words);
        if product.span == call && !lines.contains(&line) {
            lines.push(line);
        }
    }
    (!lines.is_empty()).then(|| (call, format!("On a GPU (`--emit plan`):\n\n{}", lines.join("\n"))))
}
