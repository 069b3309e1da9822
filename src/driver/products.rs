//! What computes the products of tiles on a GPU? What plans say, with the places.

use super::{Compilation, Options};
use crate::ir::Phase;
use crate::passes::block_threads;
use crate::source::Span;

/// A product in an entry of a kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Product {
    /// The call that asks for it.
    pub span: Span,
    pub kernel: String,
    /// It is a part of the gradient.
    pub backward: bool,
    /// As plans have it.
    pub words: String,
}

impl Compilation {
    /// The products of forward and backward entries, in the order of the code.
    pub fn products(&self, options: &Options) -> Vec<Product> {
        let tensor = options.tensor();
        let entries = self.module.kernels().filter(|(_, entry)| entry.by_block && entry.phase != Phase::Augmented);
        let of = |(id, entry): (_, &crate::ir::Function)| {
            let (kernel, backward) = (entry.source_name.clone(), entry.phase == Phase::Backward);
            let made = block_threads::products(&self.module, id, tensor).into_iter();
            let one = move |product: block_threads::Multiplied| {
                let words = product.words(tensor);
                Product { span: product.span, kernel: kernel.clone(), backward, words }
            };
            made.map(one).collect::<Vec<_>>()
        };
        entries.flat_map(of).collect()
    }
}
