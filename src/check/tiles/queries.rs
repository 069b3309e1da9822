//! Queries that the threads of a block make together: one step of a walk through a tree.

use crate::check::body::Body;
use crate::check::calls::call::Given;
use crate::check::types::value::{Operand, Res};
use crate::source::Span;
use crate::types::{Element, Scalar};

impl Body<'_, '_> {
    /// `tile_bvh_query_next(query)`: a number for each thread of the block, by a function of the
    /// library.
    pub(super) fn tile_query_next(
        &mut self,
        name: &'static str,
        function: &str,
        given: &[Given],
        span: Span,
    ) -> Res<Operand> {
        self.arguments_of(name, &["query"], 1, given, span)?;
        let query = given.iter().map(|given| Given { name: None, ..given.clone() }).collect::<Vec<_>>();
        self.summary.by_thread = true;
        let (id, _) = self.scratch(Element::Scalar(Scalar::I32), &[self.c.settings.block_dim], span);
        self.tiles.filled.insert(id, id);
        self.work(function, &[id], &query, span)?;
        self.result(id, span).map(Operand::Tile)
    }
}
