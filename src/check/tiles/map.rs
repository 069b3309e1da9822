//! Functions and operators, element by element.

use std::rc::Rc;

use super::elements::{Elements, number, tile_type};
use crate::check::body::Body;
use crate::check::calls::call::Given;
use crate::check::messages;
use crate::check::tree::{Expr, ExprKind, Place, Root, Step};
use crate::check::types::value::{FunctionName, Operand, Reported, Res, cast_name};
use crate::source::Span;
use crate::syntax::ast::{BinaryOp, UnaryOp};
use crate::types::{LocalArrayType, Type};

/// A function of elements.
type Function = Rc<dyn Fn(&mut Body<'_, '_>, Vec<Operand>) -> Res<Operand>>;

/// What the names of operators stand for.
#[derive(Clone, Copy)]
pub(super) enum Scalars {
    Binary(BinaryOp),
    Negate,
    Where,
}

impl Scalars {
    pub fn of(name: &str) -> Scalars {
        match name {
            "neg" => Scalars::Negate,
            "add" => Scalars::Binary(BinaryOp::Add),
            "sub" => Scalars::Binary(BinaryOp::Sub),
            "mul" => Scalars::Binary(BinaryOp::Mul),
            "div" => Scalars::Binary(BinaryOp::Div),
            _ => Scalars::Where,
        }
    }
}

impl Body<'_, '_> {
    /// `f` of the elements of tiles of one shape, and of values.
    fn mapped(&mut self, args: Vec<Operand>, spans: Vec<Span>, span: Span, f: Function) -> Res<Elements> {
        let mut parts: Vec<Result<Elements, Operand>> = Vec::new();
        for (operand, &at) in args.into_iter().zip(&spans) {
            parts.push(match self.tile_elements(&operand) {
                Some(elements) => Ok(Elements { span: at, ..elements }),
                None => Err(match operand {
                    Operand::Value(value) => Operand::Value(self.hidden(value)),
                    other => other,
                }),
            });
        }
        let tiles: Vec<Elements> = parts.iter().filter_map(|part| part.as_ref().ok().cloned()).collect();
        let Some((first, others)) = tiles.split_first() else {
            return Err(self.report(messages::tiles::map_without_tile(span)));
        };
        for other in others {
            self.same_shape(first, other, span)?;
        }
        let at = Rc::new(move |body: &mut Body<'_, '_>, index: &[Expr], sure: bool| {
            let mut values = Vec::new();
            for part in &parts {
                values.push(match part {
                    Ok(tile) => Operand::Value((tile.at)(body, index, sure)?),
                    Err(value) => value.clone(),
                });
            }
            let of_tiles = parts.iter().filter_map(|part| part.as_ref().ok()).map(|tile| tile.span).collect();
            let outer = std::mem::replace(&mut body.tiles.computed, of_tiles);
            let result = f(body, values);
            body.tiles.computed = outer;
            body.materialize(result?, span)
        });
        // The type is that of any element, of which no statement is made.
        let (zeros, pending) = (first.ty.extents().iter().map(|_| number(0, span)), self.statement.pending.len());
        let sample = at(self, &zeros.collect::<Vec<_>>(), true)?;
        self.statement.pending.truncate(pending);
        let Some(element) = sample.ty.element() else {
            return Err(self.report(messages::tiles::no_element_comes_out(span)));
        };
        let mut checks: Vec<_> = tiles.iter().flat_map(|tile| tile.checks.iter().copied()).collect();
        checks.sort();
        checks.dedup();
        Ok(Elements {
            ty: tile_type(element, first.ty.extents()),
            span,
            at,
            reads: tiles.iter().flat_map(|tile| tile.reads.iter().copied()).collect(),
            memory: tiles.iter().any(|tile| tile.memory),
            cheap: false,
            is_view: false,
            repeats: false,
            result: None,
            checks,
        })
    }

    /// `left op right`, where one side is a tile at least.
    pub fn tile_binary(
        &mut self,
        op: BinaryOp,
        left: Operand,
        right: Operand,
        (span, at_left, at_right): (Span, Span, Span),
    ) -> Res<Operand> {
        let both = self.is_tile(&left) && self.is_tile(&right);
        let fits = match op {
            BinaryOp::Mul | BinaryOp::Div => true,
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor => both,
            _ => false,
        };
        if !fits {
            let symbol = op.symbol();
            let what = if both { "tiles" } else { "a tile and a number" };
            let mut diagnostic =
                messages::tiles::binary_operator(symbol, what, if self.is_tile(&left) { at_left } else { at_right });
            diagnostic = match op {
                BinaryOp::MatMul => messages::type_repairs::product_of_matrices(diagnostic),
                BinaryOp::Add | BinaryOp::Sub => messages::type_repairs::full_tile(diagnostic),
                _ => messages::type_repairs::map(diagnostic),
            };
            return Err(self.report(diagnostic));
        }
        // A literal takes the type of the elements.
        let scalar = [&left, &right].into_iter().find_map(|side| self.tile_elements(side)?.element().scalar_part());
        let adapted = |operand: Operand, at: Span| match (&operand, scalar) {
            (Operand::Const(c), Some(scalar)) if c.adapts_to(scalar) => Operand::Value(c.expr_as(scalar, at)),
            _ => operand,
        };
        let (left, right) = (adapted(left, at_left), adapted(right, at_right));
        let f: Function = Rc::new(move |body, mut values| {
            let (Some(r), Some(l)) = (values.pop(), values.pop()) else { return Err(Reported) };
            body.element_binary(op, l, r, (span, at_left, at_right))
        });
        self.mapped(vec![left, right], vec![at_left, at_right], span, f).map(Operand::Tile)
    }

    /// An operator on two elements. Structs are added and subtracted field by field.
    pub(super) fn element_binary(
        &mut self,
        op: BinaryOp,
        left: Operand,
        right: Operand,
        (span, at_left, at_right): (Span, Span, Span),
    ) -> Res<Operand> {
        let (Operand::Value(l), Operand::Value(r)) = (&left, &right) else {
            return self.binary(op, left, right, span, at_left, at_right);
        };
        let Type::Struct(id) = l.ty else { return self.binary(op, left, right, span, at_left, at_right) };
        if l.ty != r.ty || !matches!(op, BinaryOp::Add | BinaryOp::Sub) {
            return self.binary(op, left, right, span, at_left, at_right);
        }
        let mut lets = Vec::new();
        let (l, r) = (self.shared(l.clone(), &mut lets), self.shared(r.clone(), &mut lets));
        let mut fields = Vec::new();
        for n in 0..self.c.output.structs[id].fields.len() as u32 {
            let [a, b] = [&l, &r].map(|whole| Operand::Value(self.part(whole.clone(), Step::At(n), span)));
            let field = self.element_binary(op, a, b, (span, at_left, at_right))?;
            fields.push(self.materialize(field, span)?);
        }
        let whole = Expr::new(ExprKind::Construct(fields), l.ty, span);
        Ok(Operand::Value(self.wrap(lets, whole)))
    }

    /// What `place op= right` makes of what is there. Structs that are elements of tiles are added
    /// and subtracted.
    pub fn updated_element(
        &mut self,
        place: &Place,
        op: BinaryOp,
        old: Expr,
        right: Operand,
        spans: (Span, Span, Span),
    ) -> Res<Operand> {
        let of_tile = matches!(&place.root, Root::Element { array, .. } if matches!(array.ty, Type::Local(LocalArrayType { block: true, .. })));
        match of_tile {
            true => self.element_binary(op, Operand::Value(old), right, spans),
            false => self.binary(op, Operand::Value(old), right, spans.0, spans.1, spans.2),
        }
    }

    pub fn tile_unary(&mut self, op: UnaryOp, operand: Operand, span: Span, at: Span) -> Res<Operand> {
        if op != UnaryOp::Neg {
            return Err(self.report(messages::tiles::unary_operator(op.symbol(), at)));
        }
        let f: Function = Rc::new(move |body, mut values| match values.pop() {
            Some(value) => body.unary(op, value, span, at),
            None => Err(Reported),
        });
        self.mapped(vec![operand], vec![at], span, f).map(Operand::Tile)
    }

    /// `wp.add(t, u)` and the like.
    pub(super) fn tile_function(&mut self, what: Scalars, given: &[Given], span: Span) -> Res<Operand> {
        match (what, given) {
            (Scalars::Binary(op), [left, right]) => {
                let operands = (left.operand.clone(), right.operand.clone());
                self.tile_binary(op, operands.0, operands.1, (span, left.span, right.span))
            }
            (Scalars::Negate, [one]) => self.tile_unary(UnaryOp::Neg, one.operand.clone(), span, one.span),
            (Scalars::Where, [condition, then, otherwise]) => {
                let chosen = self.truth(condition.operand.clone(), condition.span)?;
                let condition = Operand::Value(self.hidden(chosen));
                let args = vec![condition, then.operand.clone(), otherwise.operand.clone()];
                let spans = vec![span, then.span, otherwise.span];
                let f: Function = Rc::new(move |body, values| {
                    let given = |operand| Given { name: None, operand, span };
                    let name = FunctionName::Builtin("where".into());
                    body.call_function(&name, values.into_iter().map(given).collect(), span)
                });
                self.mapped(args, spans, span, f).map(Operand::Tile)
            }
            _ => Err(self.report(messages::tiles::arguments_of_elementwise(span))),
        }
    }

    /// `then if condition else otherwise` of tiles.
    pub fn tile_choice(&mut self, given: [Given; 3], span: Span) -> Res<Operand> {
        self.tile_function(Scalars::Where, &given, span)
    }

    /// The function that an argument names, as one of elements; `spans`: where the arguments stand
    /// that it gets.
    pub(super) fn function_argument(&mut self, given: Option<&Given>, spans: Vec<Span>, span: Span) -> Res<Function> {
        let Some(Given { operand: Operand::Function(name), .. }) = given else {
            let at = given.map_or(span, |given| given.span);
            return Err(self.report(messages::tiles::map_without_function(at)));
        };
        let name = name.clone();
        Ok(Rc::new(move |body, values| {
            let place = |n: usize| spans.get(n).copied().unwrap_or(span);
            let given =
                values.into_iter().enumerate().map(|(n, operand)| Given { name: None, operand, span: place(n) });
            let given: Vec<Given> = given.collect();
            if let FunctionName::Builtin(word) = &name {
                // On numbers these are operators, and no entries of the library.
                if let (Scalars::Binary(op), [l, r]) = (Scalars::of(word), &given[..]) {
                    return body.element_binary(op, l.operand.clone(), r.operand.clone(), (span, span, span));
                }
                if let (Scalars::Negate, [one]) = (Scalars::of(word), &given[..]) {
                    return body.unary(UnaryOp::Neg, one.operand.clone(), span, span);
                }
                if let Some(result) = body.builtin(word, &given, span) {
                    return result;
                }
            }
            body.call_function(&name, given, span)
        }))
    }

    /// `tile_map(f, a, ...)`
    pub(super) fn tile_map(&mut self, given: &[Given], span: Span) -> Res<Operand> {
        if let Some(named) = given.iter().find_map(|arg| arg.name.as_ref()) {
            return Err(self.report(messages::tiles::keyword_of_map(named.span)));
        }
        let args = given.iter().skip(1);
        let spans: Vec<Span> = args.clone().map(|arg| arg.span).collect();
        let f = self.function_argument(given.first(), spans.clone(), span)?;
        self.mapped(args.map(|arg| arg.operand.clone()).collect(), spans, span, f).map(Operand::Tile)
    }

    pub(super) fn tile_astype(&mut self, given: &[Given], span: Span) -> Res<Operand> {
        let args = self.arguments_of("tile_astype", &["t", "dtype"], 2, given, span)?;
        let tile = self.tile_argument(&args, "t")?;
        let element = self.dtype_argument(args.get("dtype"), tile.ty.element)?;
        let (Type::Scalar(to), Type::Scalar(_)) = (Type::from(element), tile.element()) else {
            let shown = self.show(tile.element());
            return Err(self.report(messages::tiles::converted_elements(
                &shown,
                &cast_name(crate::types::Scalar::F32),
                tile.span,
            )));
        };
        let f: Function = Rc::new(move |body, mut values| {
            let Some(value) = values.pop() else { return Err(Reported) };
            let value = body.materialize(value, span)?;
            Ok(Operand::Value(crate::check::types::value::cast_to(value, to)))
        });
        let at = tile.span;
        self.mapped(vec![Operand::Tile(tile)], vec![at], span, f).map(Operand::Tile)
    }

    /// `dest = alpha * src + dest`
    pub(super) fn tile_axpy(&mut self, given: &[Given], span: Span) -> Res<Operand> {
        let args = self.arguments_of("tile_axpy", &["alpha", "src", "dest"], 3, given, span)?;
        let (source, place) = (self.tile_argument(&args, "src")?, self.changed(&args, "dest")?);
        let dest = self.tile_argument(&args, "dest")?;
        let Some(alpha) = args.get("alpha") else { return Err(Reported) };
        let spans = (span, alpha.span, source.span);
        let at = dest.span;
        let scaled = self.tile_binary(BinaryOp::Mul, alpha.operand.clone(), Operand::Tile(source), spans)?;
        let sum = self.tile_binary(BinaryOp::Add, scaled, Operand::Tile(dest), (span, span, at))?;
        self.assign_place(place, sum, span)?;
        Ok(Operand::Tuple(Vec::new()))
    }

    /// Sets the elements of a variable or a part of one.
    pub(super) fn assign_part(&mut self, place: Expr, value: Operand, span: Span) -> Res<()> {
        let (Some(to), Some(from)) = (self.tile_elements(&Operand::Value(place.clone())), self.tile_elements(&value))
        else {
            return Err(self.report(messages::tiles::assigned_to_tile(span)));
        };
        if let ExprKind::Local(tile) = place.kind {
            self.same_shape(&to, &from, span)?;
            let from = self.converted(from, &to)?;
            return self.fill(tile, &from, span);
        }
        self.assign_elements(to, from, span)
    }
}
