//! What is said where a number represents a tile, or a tile for a number.

use super::arguments::shape_text;
use crate::check::body::Body;
use crate::check::messages;
use crate::check::tree::Expr;
use crate::check::types::value::{Operand, Reported, cast_name};
use crate::diag::{Applicability, Diagnostic};
use crate::source::Span;
use crate::types::{LocalArrayType, Type};

impl Body<'_, '_> {
    /// `t[0:2] = 1.0`: all elements need a number each, which a tile full of it has.
    pub(super) fn number_for_tile(&mut self, place: &Operand, value: &Operand, at: Span, target: Span) -> Reported {
        let Some(to) = self.tile_elements(place) else {
            return self.report(messages::tiles::assigned_to_tile(at));
        };
        let diagnostic = messages::tiles::number_assigned_to_tile(&shape_text(&to.ty), at, target);
        let (text, found) = match value {
            Operand::Value(Expr { ty: Type::Scalar(scalar), .. }) => (self.c.sources.text(at), Some(*scalar)),
            Operand::Const(c) => (self.c.sources.text(at), c.scalar),
            _ => return self.report(diagnostic),
        };
        let Type::Scalar(element) = to.element() else { return self.report(diagnostic) };
        let full = format!("wp.tile_full(shape={}, value={text}, dtype={})", shape_text(&to.ty), cast_name(element));
        let sure = match value {
            Operand::Const(c) if found.is_none() => c.adapts_to(element),
            _ => found == Some(element),
        };
        let applicability = if sure && !text.contains('\n') { Applicability::Machine } else { Applicability::Maybe };
        self.report(messages::type_repairs::tile_of_number(diagnostic, &full, at, applicability))
    }

    /// How a number comes of a tile where one is needed: of the type `wanted`.
    pub fn suggest_element(&self, diagnostic: Diagnostic, ty: Type, at: Span, wanted: Type) -> Diagnostic {
        let Type::Local(tile @ LocalArrayType { block: true, .. }) = ty else { return diagnostic };
        let text = self.c.sources.text(at);
        if text.contains('\n') || !matches!(wanted, Type::Scalar(_)) {
            return diagnostic;
        }
        let first = vec!["0"; usize::from(tile.ndim)].join(", ");
        // A name or a call is indexed as it is.
        let element =
            if is_name(text) || is_call(text) { format!("{text}[{first}]") } else { format!("({text})[{first}]") };
        if tile.len() > 1 {
            return messages::type_repairs::element_or_sum(diagnostic, &element);
        }
        let applicability =
            if Type::from(tile.element) == wanted { Applicability::Machine } else { Applicability::Maybe };
        messages::type_repairs::element_of_tile(diagnostic, &element, at, applicability)
    }
}

/// `a`, `wp.tile_sum`
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.'))
}

/// `wp.tile_sum(f(a))`, and not `f(a) + f(b)`: the first bracket closes last.
fn is_call(text: &str) -> bool {
    let Some((name, args)) = text.split_once('(') else { return false };
    let mut depth = 1;
    for (at, c) in args.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return is_name(name) && at + 1 == args.len();
        }
    }
    false
}
