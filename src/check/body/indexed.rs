//! `wp.indexedarray`: how is an element named when lists of indices choose what of an array is
//! there?
//!
//! An indexed array is a struct: the array `data`, and for each of its dimensions `indices_0`,
//! `indices_1`, ... the list of the indices into `data` that its elements have. A list that is null
//! takes the whole dimension. So `a[i, j]` is `data[indices_0[i], indices_1[j]]`; gradients belong
//! to `data`, and every back end knows structs.

use crate::check::Checker;
use crate::check::body::Body;
use crate::check::messages;
use crate::check::tree::{Expr, ExprKind, Step, ViewIndex};
use crate::check::types::pattern::{Bindings, Pattern};
use crate::check::types::value::{Operand, Res, cast_to};
use crate::source::Span;
use crate::syntax::ast;
use crate::types::{ArrayType, BOOL, Element, Field, I32, MAX_DIMS, Scalar, StructDef, Type};

impl Checker<'_> {
    /// The type of indexed arrays of these elements and this rank.
    pub fn indexed_array(&mut self, element: Element, ndim: u8) -> Type {
        let array = ArrayType { element, ndim };
        if let Some((id, _)) = self.output.indexed.iter().find(|(_, known)| *known == array) {
            return Type::Struct(*id);
        }
        let mut fields = vec![Field { name: "data".into(), ty: Type::Array(array) }];
        let list = Type::Array(ArrayType { element: Element::Scalar(Scalar::I32), ndim: 1 });
        fields.extend((0..ndim).map(|d| Field { name: format!("indices_{d}"), ty: list }));
        let rank = if ndim == 1 { String::new() } else { format!("{ndim}d") };
        let shown: String = self.show(element.into());
        let shown: String = shown.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let name = self.output.names.unique(format!("indexedarray{rank}_{shown}").trim_end_matches('_'));
        let id = self.output.structs.push(StructDef { name, fields });
        self.output.indexed.push((id, array));
        Type::Struct(id)
    }

    /// Whether a value of a type fits a parameter; binds the variables of its pattern.
    pub fn fits(&self, pattern: &Pattern, ty: Type, bindings: &mut Bindings) -> bool {
        match pattern {
            Pattern::Indexed(element, ndim) => self
                .as_indexed(ty)
                .is_some_and(|array| array.ndim == *ndim && element.matches(array.element.into(), bindings)),
            Pattern::Ref(inner) => self.fits(inner, ty, bindings),
            pattern => pattern.matches(ty, bindings),
        }
    }

    /// Element and rank, if a type is that of an indexed array.
    pub fn as_indexed(&self, ty: Type) -> Option<ArrayType> {
        let Type::Struct(id) = ty else { return None };
        self.output.indexed.iter().find(|(known, _)| *known == id).map(|(_, array)| *array)
    }
}

impl Body<'_, '_> {
    fn indexed_data(&self, array: &Expr, span: Span) -> Expr {
        self.part(array.clone(), Step::At(0), span)
    }

    /// The list of indices of a dimension.
    fn indexed_list(&self, array: &Expr, dim: usize, span: Span) -> Expr {
        self.part(array.clone(), Step::At(dim as u32 + 1), span)
    }

    /// `chosen` where the dimension has a list of indices, else `plain`.
    fn by_list(&self, list: &Expr, chosen: Expr, plain: Expr, span: Span) -> Expr {
        let ty = plain.ty;
        let condition = Box::new(Expr::new(ExprKind::IsSet(Box::new(list.clone())), BOOL, span));
        let kind = ExprKind::Conditional { condition, then: Box::new(chosen), otherwise: Box::new(plain) };
        Expr::new(kind, ty, span)
    }

    /// The index into `data` of the index `at` of a dimension. Only one of the two uses of `at` is
    /// evaluated.
    fn data_index(&self, array: &Expr, dim: usize, at: Expr, span: Span) -> Expr {
        let list = self.indexed_list(array, dim, span);
        let scalar = if at.ty == I32 { Scalar::I32 } else { Scalar::I64 };
        let load = ExprKind::Load { array: Box::new(list.clone()), index: vec![at.clone()], path: Vec::new() };
        let chosen = cast_to(Expr::new(load, I32, span), scalar);
        self.by_list(&list, chosen, cast_to(at, scalar), span)
    }

    /// The array and the indices that `a[at...]` means; fewer indices than dimensions give None.
    pub fn indexed_element(&self, array: &Expr, at: Vec<Expr>, span: Span) -> Option<(Expr, Vec<Expr>)> {
        let picked = self.c.as_indexed(array.ty)?;
        if at.len() != usize::from(picked.ndim) {
            return None;
        }
        let index = at.into_iter().enumerate().map(|(dim, at)| self.data_index(array, dim, at, span)).collect();
        Some((self.indexed_data(array, span), index))
    }

    /// `a[i, j]`, or with fewer indices the indexed array of the other dimensions.
    pub fn index_indexed(&mut self, array: Expr, picked: ArrayType, indices: &[ast::Expr], span: Span) -> Res<Operand> {
        let rank = usize::from(picked.ndim);
        if indices.len() > rank {
            let shown = self.show(array.ty);
            return Err(self.report(messages::indices::too_many_for_array(indices.len(), rank, &shown, span)));
        }
        let mut at = Vec::new();
        for index in indices {
            if matches!(index.kind, ast::ExprKind::Slice { .. }) {
                let diagnostic = messages::indices::slice_of_indexed_array(index.span);
                return Err(self.report(diagnostic));
            }
            at.push(self.int_value(index)?);
        }
        // Its parts are read several times.
        let mut lets = Vec::new();
        let array = match array.kind {
            ExprKind::Local(_) | ExprKind::Part { .. } | ExprKind::Load { .. } | ExprKind::Construct(_) => array,
            _ => self.shared(array, &mut lets),
        };
        if at.len() == rank {
            let Some((data, index)) = self.indexed_element(&array, at, span) else {
                return Err(crate::check::types::value::Reported);
            };
            let load = ExprKind::Load { array: Box::new(data), index, path: Vec::new() };
            let element = self.guard_access(Expr::new(load, picked.element.into(), span));
            return Ok(Operand::Value(self.wrap(lets, element)));
        }
        let given = at.len();
        let fixed: Vec<Expr> =
            at.into_iter().enumerate().map(|(dim, at)| self.data_index(&array, dim, at, span)).collect();
        let rest = ArrayType { ndim: picked.ndim - given as u8, ..picked };
        let index = fixed.into_iter().map(ViewIndex::At).collect();
        let view = ExprKind::View { array: Box::new(self.indexed_data(&array, span)), index };
        let mut fields = vec![Expr::new(view, Type::Array(rest), span)];
        fields.extend((given..rank).map(|dim| self.indexed_list(&array, dim, span)));
        let ty = self.c.indexed_array(rest.element, rest.ndim);
        let made = Expr::new(ExprKind::Construct(fields), ty, span);
        Ok(Operand::Value(self.wrap(lets, made)))
    }

    /// The extents of an indexed array.
    pub fn indexed_extents(&self, array: &Expr, span: Span) -> Vec<Expr> {
        let rank = self.c.as_indexed(array.ty).map_or(0, |picked| usize::from(picked.ndim)).min(MAX_DIMS);
        let extent = |of: Expr, dim: usize| Expr::new(ExprKind::Extent(Box::new(of), dim as u8), I32, span);
        let of_dimension = |dim| {
            let list = self.indexed_list(array, dim, span);
            let plain = extent(self.indexed_data(array, span), dim);
            self.by_list(&list, extent(list.clone(), 0), plain, span)
        };
        (0..rank).map(of_dimension).collect()
    }
}
