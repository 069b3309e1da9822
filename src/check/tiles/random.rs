//! Tiles of random numbers.

use super::elements::{flatten, unflatten};
use crate::check::body::Body;
use crate::check::calls::call::Given;
use crate::check::messages;
use crate::check::types::value::{Operand, Res};
use crate::source::Span;
use crate::types::{Element, Scalar};

impl Body<'_, '_> {
    /// `tile_randi(shape, rng, min, max)`, `tile_randf(...)`: the elements are drawn in row-major
    /// order; `rng` stays as it is.
    pub(super) fn tile_random(&mut self, floats: bool, given: &[Given], span: Span) -> Res<Operand> {
        let (name, function, scalar) = match floats {
            false => ("tile_randi", "_tile_randi", Scalar::I32),
            true => ("tile_randf", "_tile_randf", Scalar::F32),
        };
        let args = self.arguments_of(name, &["shape", "rng", "min", "max", "storage"], 2, given, span)?;
        let (Some(shape), Some(rng)) = (args.get("shape"), args.get("rng")) else {
            return Err(self.report(messages::tile_arguments::nothing_given("shape or no generator", span)));
        };
        let extents = self.shape_argument(shape)?;
        let total = extents.iter().product();
        let bounds = match (args.get("min"), args.get("max")) {
            (Some(low), Some(high)) => vec![low.clone(), high.clone()],
            (None, None) => Vec::new(),
            _ => return Err(self.report(messages::tile_arguments::one_bound(name, span))),
        };
        let (id, _) = self.scratch(Element::Scalar(scalar), &[total], span);
        self.tiles.filled.insert(id, id);
        let mut more = vec![rng.clone()];
        more.extend(bounds);
        more.iter_mut().for_each(|given| given.name = None);
        self.work(function, &[id], &more, span)?;
        let flat = self.result(id, span)?;
        let shape = extents.clone();
        let element =
            flat.reindexed(&extents, span, move |_, index| unflatten(&flatten(index, &shape, span), &[total]));
        Ok(Operand::Tile(element))
    }
}
