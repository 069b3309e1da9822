//! The arguments of built-ins on tiles: which shapes, offsets and types were given?

use super::elements::{Elements, number, tile_type, variable};
use crate::check::body::Body;
use crate::check::calls::call::Given;
use crate::check::calls::keyword::unknown_keyword;
use crate::check::messages;
use crate::check::tree::{Expr, ExprKind};
use crate::check::types::value::{Number, Operand, Res, cast_to};
use crate::diag::{Diagnostic, quoted};
use crate::limits::MAX_LOCAL_ELEMENTS;
use crate::source::Span;
use crate::types::{ArrayType, Element, LocalArrayType, MAX_DIMS, Scalar, Type};

/// The arguments of a call by parameter.
pub(super) struct Arguments<'g> {
    name: &'static str,
    slots: Vec<(&'static str, Option<&'g Given>)>,
    span: Span,
}

impl<'g> Arguments<'g> {
    pub fn get(&self, param: &str) -> Option<&'g Given> {
        self.slots.iter().find(|(name, _)| *name == param).and_then(|(_, given)| *given)
    }
}

impl Body<'_, '_> {
    /// Sorts arguments by parameter; those after `required` may be absent.
    pub(super) fn arguments_of<'g>(
        &mut self,
        name: &'static str,
        params: &[&'static str],
        required: usize,
        given: &'g [Given],
        span: Span,
    ) -> Res<Arguments<'g>> {
        let mut slots: Vec<(&'static str, Option<&'g Given>)> = params.iter().map(|&param| (param, None)).collect();
        for (k, arg) in given.iter().enumerate() {
            let slot = match &arg.name {
                Some(keyword) => match slots.iter_mut().find(|(param, _)| *param == keyword.text) {
                    Some(slot) => slot,
                    None => {
                        let message = format!("`{name}` has no parameter `{}`", keyword.text);
                        let mut diagnostic = unknown_keyword(message, keyword, params.iter().copied());
                        if diagnostic.help.is_none() {
                            diagnostic = messages::details::parameters(diagnostic, &quoted(params));
                        }
                        return Err(self.report(diagnostic));
                    }
                },
                None => match slots.get_mut(k) {
                    Some(slot) => slot,
                    None => return self.argument_count(name, params, given, span),
                },
            };
            if slot.1.replace(arg).is_some() {
                return Err(self.report(messages::tile_arguments::given_twice(slot.0, arg.span)));
            }
        }
        if slots[..required].iter().any(|(_, arg)| arg.is_none()) {
            return self.argument_count(name, params, given, span);
        }
        let arguments = Arguments { name, slots, span };
        if let Some(storage) = arguments.get("storage")
            && !matches!(&storage.operand, Operand::Str(word) if word == "register" || word == "shared")
        {
            return Err(self.report(messages::tile_arguments::storage(storage.span)));
        }
        Ok(arguments)
    }

    fn argument_count<T>(&mut self, name: &str, params: &[&'static str], given: &[Given], span: Span) -> Res<T> {
        Err(self.report(messages::tile_arguments::wrong_number(name, &params.join(", "), given.len(), span)))
    }

    /// A required argument that is a tile.
    pub(super) fn tile_argument(&mut self, args: &Arguments, param: &str) -> Res<Elements> {
        match args.get(param) {
            Some(given) => self.tile_given(args.name, given),
            None => Err(self.report(messages::tile_arguments::missing(args.name, param, args.span))),
        }
    }

    pub(super) fn tile_given(&mut self, name: &str, given: &Given) -> Res<Elements> {
        if let Some(elements) = self.tile_elements(&given.operand) {
            return Ok(Elements { span: given.span, ..elements });
        }
        let value = self.materialize(given.operand.clone(), given.span)?;
        let shown = self.show(value.ty);
        let diagnostic = messages::tile_arguments::works_on_tiles(name, &shown, given.span);
        Err(self.report(match value.ty {
            Type::Array(_) => messages::type_repairs::load_first(diagnostic),
            _ => diagnostic,
        }))
    }

    /// A required argument that is changed: a tile in a variable, a part of one, or another view.
    pub(super) fn changed(&mut self, args: &Arguments, param: &str) -> Res<Operand> {
        let elements = self.tile_argument(args, param)?;
        if elements.repeats {
            return Err(self.report(messages::tile_arguments::repeated_elements_changed(
                args.name,
                param,
                elements.span,
            )));
        }
        match args.get(param).map(|given| &given.operand) {
            Some(Operand::Value(place)) if matches!(place.kind, ExprKind::Local(_) | ExprKind::View { .. }) => {
                Ok(Operand::Value(place.clone()))
            }
            _ if elements.is_view => Ok(Operand::Tile(elements)),
            _ => Err(self.report(messages::tile_arguments::change_is_lost(args.name, param, elements.span))),
        }
    }

    /// A required argument that is an array.
    pub(super) fn array_argument(&mut self, args: &Arguments, param: &str) -> Res<(Expr, ArrayType)> {
        let Some(given) = args.get(param) else {
            return Err(self.report(messages::tile_arguments::missing(args.name, param, args.span)));
        };
        let array = self.materialize(given.operand.clone(), given.span)?;
        match array.ty {
            Type::Array(ty) => match array.kind {
                ExprKind::Local(_) => Ok((array, ty)),
                _ => Ok((self.hidden(array), ty)),
            },
            ty => {
                let shown = self.show(ty);
                Err(self.report(messages::builtins::works_on_arrays(args.name, &shown, given.span)))
            }
        }
    }

    /// The constants of a tuple or of one number.
    pub(super) fn constants(&mut self, given: &Given, what: &str) -> Res<Vec<i128>> {
        let items = match &given.operand {
            Operand::Tuple(items) => items.clone(),
            one => vec![one.clone()],
        };
        let mut numbers = Vec::new();
        for item in &items {
            match self.known_int(item) {
                Some(n) => numbers.push(n),
                None => {
                    return Err(self.report(messages::tile_arguments::at_compile_time(what, given.span)));
                }
            }
        }
        Ok(numbers)
    }

    /// The `shape` of a new tile.
    pub(super) fn shape_argument(&mut self, given: &Given) -> Res<Vec<u32>> {
        let numbers = self.constants(given, "the shape of a tile")?;
        self.extents_of(&numbers, given.span)
    }

    /// Numbers as the extents of a tile.
    pub(super) fn extents_of(&mut self, numbers: &[i128], span: Span) -> Res<Vec<u32>> {
        if numbers.is_empty() || numbers.len() > MAX_DIMS {
            return Err(self.report(messages::tile_shapes::rank(numbers.len(), span)));
        }
        let mut extents = Vec::new();
        for &n in numbers {
            match u32::try_from(n) {
                Ok(n @ 1..) => extents.push(n),
                _ if n > 0 => extents.push(u32::MAX),
                _ => {
                    return Err(self.report(messages::tile_shapes::empty_dimension(n, span)));
                }
            }
        }
        let total = extents.iter().fold(1u64, |all, &n| all.saturating_mul(u64::from(n)));
        if total > u64::from(MAX_LOCAL_ELEMENTS) {
            return Err(self.report(messages::tile_shapes::too_large(span)));
        }
        Ok(extents)
    }

    /// The element type that `dtype` names; `otherwise` where there is none.
    pub(super) fn dtype_argument(&mut self, given: Option<&Given>, otherwise: Element) -> Res<Element> {
        let Some(given) = given else { return Ok(otherwise) };
        match self.type_argument(given)?.element() {
            Some(element) => Ok(element),
            None => Err(self.report(messages::tile_arguments::element(given.span))),
        }
    }

    /// An integer argument, evaluated once.
    pub(super) fn integer_argument(&mut self, operand: &Operand, span: Span) -> Res<Expr> {
        if let Some(n) = self.known_int(operand) {
            return Ok(number(n.clamp(i32::MIN.into(), i32::MAX.into()), span));
        }
        let value = self.materialize(operand.clone(), span)?;
        if !value.ty.is_int() {
            let shown = self.show(value.ty);
            return Err(self.report(messages::tile_arguments::index(&shown, span)));
        }
        let value = cast_to(value, Scalar::I32);
        Ok(self.hidden(value))
    }

    /// The `offset` into something of `ndim` dimensions: an `int32` for each.
    pub(super) fn offset_argument(&mut self, given: Option<&Given>, ndim: usize, span: Span) -> Res<Vec<Expr>> {
        let Some(given) = given else { return Ok((0..ndim).map(|_| number(0, span)).collect()) };
        let items = match &given.operand {
            Operand::Tuple(items) => items.clone(),
            one => vec![one.clone()],
        };
        if items.len() != ndim {
            return Err(self.report(messages::tile_shapes::offset(items.len(), ndim, given.span)));
        }
        items.iter().map(|item| self.integer_argument(item, given.span)).collect()
    }

    /// An `axis` of a tile of `ndim` dimensions; a negative one counts from the end.
    pub(super) fn axis_argument(&mut self, given: &Given, ndim: usize) -> Res<usize> {
        let numbers = self.constants(given, "an axis")?;
        let [axis] = numbers[..] else {
            return Err(self.report(messages::tile_shapes::one_axis(numbers.len(), given.span)));
        };
        let wrapped = if axis < 0 { axis + ndim as i128 } else { axis };
        match usize::try_from(wrapped).ok().filter(|&axis| axis < ndim) {
            Some(axis) => Ok(axis),
            None => Err(self.report(messages::tile_shapes::no_axis(axis, ndim, given.span))),
        }
    }

    /// A constant that is true or false.
    pub(super) fn flag_argument(&mut self, given: Option<&Given>, otherwise: bool) -> Res<bool> {
        let Some(given) = given else { return Ok(otherwise) };
        match &given.operand {
            Operand::Const(c) => Ok(c.number.is_true()),
            Operand::Value(expr) if let Some(known) = self.number(expr) => Ok(Number::is_true(known)),
            _ => Err(self.report(messages::tile_arguments::constant(given.span))),
        }
    }

    /// Refuses tiles of different shapes.
    pub(super) fn same_shape(&mut self, a: &Elements, b: &Elements, span: Span) -> Res<()> {
        if a.ty.extents() == b.ty.extents() {
            return Ok(());
        }
        let (left, right) = (shape_text(&a.ty), shape_text(&b.ty));
        let mut diagnostic = messages::tile_shapes::do_not_fit(&left, &right);
        diagnostic = match a.span == b.span {
            true => messages::details::one_shape_needed(diagnostic, span),
            false => messages::details::two_shapes(diagnostic, &left, &right, a.span, b.span),
        };
        let diagnostic = messages::type_repairs::broadcast(diagnostic);
        Err(self.report(self.blocks_of_one(diagnostic)))
    }

    /// Where values of single threads were made tiles, a dimension may stand for the threads of a
    /// block.
    pub(super) fn blocks_of_one(&self, diagnostic: Diagnostic) -> Diagnostic {
        match self.summary.by_thread {
            false => diagnostic,
            true => messages::type_repairs::block_dim(diagnostic, self.c.settings.block_dim),
        }
    }

    /// A tile in a variable of its own that the program does not name, zero at first.
    pub(super) fn scratch(
        &mut self,
        element: Element,
        extents: &[u32],
        span: Span,
    ) -> (crate::check::tree::LocalId, Expr) {
        let ty = Type::Local(tile_type(element, extents));
        let id = self.new_local("", ty, span);
        (id, variable(id, ty, span))
    }
}

/// `(4, 16)`, as Python writes it.
pub(super) fn shape_text(ty: &LocalArrayType) -> String {
    let extents: Vec<String> = ty.extents().iter().map(u32::to_string).collect();
    match &extents[..] {
        [one] => format!("({one},)"),
        all => format!("({})", all.join(", ")),
    }
}
