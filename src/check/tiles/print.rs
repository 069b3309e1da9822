//! `print` of a tile: rows in brackets, then its shape.

use super::elements::{Elements, compare, count, number, variable};
use crate::check::body::Body;
use crate::check::messages;
use crate::check::tree::{Expr, LocalId, Stmt, StmtKind};
use crate::check::types::value::{Operand, Res};
use crate::ir::CompareOp;
use crate::source::Span;
use crate::types::I32;

impl Body<'_, '_> {
    /// The statements that write a tile, without a line end: `[[1 2]\n [3 4]] = tile(shape=(2,2))`.
    pub fn print_tile(&mut self, operand: &Operand, span: Span) -> Res<Vec<Stmt>> {
        let Some(tile) = self.tile_elements(operand) else { return Ok(Vec::new()) };
        if tile.element().scalar_part().is_none() {
            let shown = self.show(tile.element());
            return Err(self.report(messages::tiles::printed_elements(&shown, span)));
        }
        let tile = self.cheap(tile, span)?;
        let mut out = self.print_level(&tile, &mut Vec::new(), span)?;
        let extents: Vec<String> = tile.ty.extents().iter().map(u32::to_string).collect();
        out.push(text(format!(" = tile(shape=({}))", extents.join(",")), span));
        Ok(out)
    }

    /// What the dimensions behind those of `index` hold.
    fn print_level(&mut self, tile: &Elements, index: &mut Vec<Expr>, span: Span) -> Res<Vec<Stmt>> {
        let (level, ndim) = (index.len(), usize::from(tile.ty.ndim));
        if level == ndim {
            let value = (tile.at)(self, index, false)?;
            let mut lets: Vec<(LocalId, Expr)> = Vec::new();
            let is_composite = value.ty.is_composite();
            let value = if is_composite { self.shared(value, &mut lets) } else { value };
            let (format, mut args) = self.print_parts(value, span);
            // The shared value is evaluated with the first scalar.
            if let Some(first) = args.first_mut() {
                *first = self.wrap(lets, first.clone());
            }
            let format = if is_composite { format!("({format})") } else { format };
            return Ok(vec![Stmt { kind: StmtKind::Print { format, args }, span }]);
        }
        let extent = tile.ty.extents()[level];
        // A row ends its line, a matrix in a stack of them leaves one free; what follows is under
        // its first bracket.
        let between = match ndim - level {
            1 => " ".to_string(),
            behind => format!("{}{}", "\n".repeat(if behind == 2 { 1 } else { 2 }), " ".repeat(level + 1)),
        };
        let counter = self.new_local("", I32, span);
        index.push(variable(counter, I32, span));
        let mut body = self.print_level(tile, index, span)?;
        index.pop();
        if extent > 1 {
            let condition = compare(CompareOp::Lt, variable(counter, I32, span), number(extent - 1, span));
            let then = vec![text(between, span)];
            body.push(Stmt { kind: StmtKind::If { condition, then, otherwise: Vec::new() }, span });
        }
        Ok(vec![text("[".into(), span), count(counter, [0, extent], body, span), text("]".into(), span)])
    }
}

fn text(format: String, span: Span) -> Stmt {
    Stmt { kind: StmtKind::Print { format, args: Vec::new() }, span }
}
