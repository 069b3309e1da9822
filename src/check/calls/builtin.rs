//! The built-ins that the compiler itself knows: they need more than a signature says, such as the
//! kernel's thread index, the place behind an array index, or a type as an argument.

use super::call::Given;
use crate::check::body::Body;
use crate::check::messages;
use crate::check::tree::{Expr, ExprKind, LocalId, Stmt, StmtKind, ViewIndex};
use crate::check::types::value::{Constant, Family, Number, Operand, Reported, Res, TypeWord};
use crate::diag::Applicability;
use crate::ir::print_format::{Number as Extent, Piece, pieces};
use crate::ir::{AtomicOp, UnaryOp};
use crate::limits::{MAX_LOCAL_ELEMENTS, MAX_PRINTED};
use crate::source::Span;
use crate::syntax::ast;
use crate::types::{BOOL, I32, LocalArrayType, MAX_DIMS, Scalar, Type};

impl Body<'_, '_> {
    /// A call of an `@intrinsic` of the library; None for every other name.
    pub fn builtin(&mut self, name: &str, given: &[Given], span: Span) -> Option<Res<Operand>> {
        Some(match name {
            "tid" => self.tid(given, span),
            "len" => self.len(given, span),
            "zeros" => self.zeros(given, span),
            "type" => self.type_of(given, span),
            "block_dim" => {
                // In a kernel with tiles it is known when that is compiled.
                self.summary.by_thread = true;
                Ok(Operand::Value(Expr::new(ExprKind::BlockDim, I32, span)))
            }
            "grid_sync" => match given {
                [] => {
                    self.statement.pending.push(Stmt { kind: StmtKind::GridSync, span });
                    Ok(Operand::Tuple(Vec::new()))
                }
                _ => self.arguments(name, "no arguments", given, span),
            },
            "vector" => self.construct(TypeWord::Family(Family::Vector), given, span),
            "matrix" => self.construct(TypeWord::Family(Family::Matrix), given, span),
            "quaternion" => self.construct(TypeWord::Family(Family::Quaternion), given, span),
            "transformation" => self.construct(TypeWord::Family(Family::Transformation), given, span),
            "identity" | "quat_identity" | "transform_identity" => self.identity(name, given, span),
            "cast" => self.cast(given, span),
            "constant" => match given {
                [one] => Ok(one.operand.clone()),
                _ => self.arguments(name, "one value", given, span),
            },
            "select" => match given {
                [condition, otherwise, then] => {
                    let swapped = vec![condition.clone(), then.clone(), otherwise.clone()];
                    self.call_function(
                        &crate::check::types::value::FunctionName::Builtin("where".into()),
                        swapped,
                        span,
                    )
                }
                _ => self.arguments(name, "a condition and two values", given, span),
            },
            "view" => self.view(given, span),
            "unot" => match given {
                [Given { operand: Operand::Value(array), .. }] if matches!(array.ty, Type::Array(_)) => {
                    let is_set = Expr::new(ExprKind::IsSet(Box::new(array.clone())), BOOL, span);
                    Ok(Operand::Value(Expr::new(ExprKind::Unary(UnaryOp::Not, Box::new(is_set)), BOOL, span)))
                }
                _ => return None,
            },
            "atomic_add" => self.atomic(AtomicOp::Add, name, given, span),
            "atomic_sub" => self.atomic(AtomicOp::Sub, name, given, span),
            "atomic_min" => self.atomic(AtomicOp::Min, name, given, span),
            "atomic_max" => self.atomic(AtomicOp::Max, name, given, span),
            "atomic_and" => self.atomic(AtomicOp::And, name, given, span),
            "atomic_or" => self.atomic(AtomicOp::Or, name, given, span),
            "atomic_xor" => self.atomic(AtomicOp::Xor, name, given, span),
            "atomic_exch" => self.atomic(AtomicOp::Exchange, name, given, span),
            "atomic_cas" => self.atomic_cas(given, span),
            "grad" => match given {
                [Given { operand: Operand::Function(name), .. }] => Ok(Operand::Gradient(name.clone())),
                _ => self.arguments(name, "one function", given, span),
            },
            "range" | "reversed" => Err(self.report(messages::builtins::range_outside_loop(span))),
            "print" | "printf" => Err(self.report(messages::builtins::statement_as_value(name, span))),
            _ => return None,
        })
    }

    fn arguments<T>(&mut self, name: &str, wanted: &str, given: &[Given], span: Span) -> Res<T> {
        Err(self.report(messages::builtins::wrong_number(name, wanted, given.len(), span)))
    }

    /// `wp.tid(2)`: how many numbers there are follows from what takes them.
    pub fn tid_takes_none<T>(&mut self, given: usize, span: Span) -> Res<T> {
        let text = self.c.sources.text(span);
        let called = text.split_once('(').map_or("wp.tid", |(name, _)| name.trim_end()).to_string();
        let diagnostic = messages::builtins::arguments_of_tid(given, span);
        Err(self.replaced(diagnostic, span, &format!("{called}()")))
    }

    fn tid(&mut self, given: &[Given], span: Span) -> Res<Operand> {
        if !given.is_empty() {
            return self.tid_takes_none(given.len(), span);
        }
        self.tid_allowed(span)?;
        Ok(Operand::Value(Expr::new(ExprKind::ThreadIndex(0), I32, span)))
    }

    fn len(&mut self, given: &[Given], span: Span) -> Res<Operand> {
        let [one] = given else { return self.arguments("len", "one argument", given, span) };
        let number = |n: u32| Ok(Operand::Const(Constant::untyped(Number::Int(i128::from(n)))));
        match &one.operand {
            Operand::Tuple(items) => number(items.len() as u32),
            Operand::Dict(dict) => number(dict.len() as u32),
            Operand::Shape(array) => number(u32::from(self.rank_of(array.ty))),
            operand => {
                let expr = self.materialize(operand.clone(), one.span)?;
                match expr.ty {
                    Type::Array(_) => Ok(Operand::Value(Expr::new(ExprKind::Extent(Box::new(expr), 0), I32, span))),
                    Type::Local(local) => number(local.shape[0]),
                    ty if self.c.as_indexed(ty).is_some() => {
                        self.indexed_extents(&expr, span).into_iter().next().map(Operand::Value).ok_or(Reported)
                    }
                    Type::Transform(_) => number(7),
                    ty if ty.is_composite() => number(ty.step_count(&self.c.output.structs)),
                    ty => {
                        let shown = self.show(ty);
                        Err(self.report(messages::builtins::no_length(&shown, one.span)))
                    }
                }
            }
        }
    }

    /// A type given as an argument.
    pub fn type_argument(&mut self, given: &Given) -> Res<Type> {
        match &given.operand {
            Operand::Type(TypeWord::Type(ty)) => Ok(*ty),
            Operand::Str(text) => {
                let diagnostic = messages::types::quoted_type_argument(given.span);
                let bare = text.strip_prefix("wp.").unwrap_or(text);
                Err(match crate::check::types::value::type_of_name(bare) {
                    Some(_) => self.replaced(diagnostic, given.span, &format!("wp.{bare}")),
                    None => self.report(messages::repairs::type_itself(diagnostic)),
                })
            }
            _ => Err(self.report(messages::types::no_type_argument(given.span))),
        }
    }

    fn argument<'g>(&self, given: &'g [Given], name: &str, position: usize) -> Option<&'g Given> {
        given.iter().find(|g| g.keyword() == Some(name)).or_else(|| given.get(position).filter(|g| g.name.is_none()))
    }

    fn zeros(&mut self, given: &[Given], span: Span) -> Res<Operand> {
        let Some(shape) = self.argument(given, "shape", 0) else {
            let text = self.c.sources.text(span);
            let other = given.iter().filter_map(|one| one.keyword()).find(|name| *name != "dtype");
            let named = other.and_then(|name| text.split_once(&format!("{name}=")));
            let Some((before, after)) = named else {
                return self.arguments("zeros", "`shape` and `dtype`", given, span);
            };
            let repaired = format!("{before}shape={after}");
            let diagnostic = messages::builtins::arguments_of_zeros(given.len(), span);
            return Err(self.replaced(diagnostic, span, &repaired));
        };
        let element = match self.argument(given, "dtype", 1) {
            Some(dtype) => self.type_argument(dtype)?,
            None => self.default_float().into(),
        };
        let Some(element) = element.element() else {
            return Err(self.report(messages::builtins::element_of_local_array(span)));
        };
        let items = match &shape.operand {
            Operand::Tuple(items) => items.clone(),
            Operand::Shape(array) => self.extents(array, shape.span),
            one => vec![one.clone()],
        };
        let mut extents = [1u32; MAX_DIMS];
        if items.is_empty() || items.len() > MAX_DIMS {
            return Err(self.report(messages::builtins::rank_of_local_array(items.len(), shape.span)));
        }
        for (extent, item) in extents.iter_mut().zip(&items) {
            match self.known_int(item) {
                // One that is too long makes the array too large.
                Some(n @ 1..) => *extent = u32::try_from(n).unwrap_or(u32::MAX),
                _ => {
                    return Err(self.report(messages::builtins::shape_of_local_array(shape.span)));
                }
            }
        }
        let ty = LocalArrayType { element, shape: extents, ndim: items.len() as u8, block: false };
        if ty.len() > u64::from(MAX_LOCAL_ELEMENTS) {
            return Err(self.report(messages::builtins::local_array_too_large(shape.span)));
        }
        Ok(Operand::Value(Expr::new(ExprKind::LocalArray, Type::Local(ty), span)))
    }

    fn type_of(&mut self, given: &[Given], span: Span) -> Res<Operand> {
        let [one] = given else { return self.arguments("type", "one argument", given, span) };
        let expr = self.materialize(one.operand.clone(), one.span)?;
        Ok(Operand::Type(TypeWord::Type(expr.ty)))
    }

    fn identity(&mut self, name: &str, given: &[Given], span: Span) -> Res<Operand> {
        let dtype = self.argument(given, "dtype", usize::from(name == "identity"));
        let scalar = match dtype {
            None => self.default_float(),
            Some(dtype) => match self.type_argument(dtype)? {
                Type::Scalar(s) => s,
                _ => return Err(self.report(messages::types::no_scalar_type(dtype.span))),
            },
        };
        let (ty, ones): (Type, Box<dyn Fn(u32) -> bool>) = match name {
            "quat_identity" => (Type::Quat(scalar), Box::new(|k| k == 3)),
            "transform_identity" => (Type::Transform(scalar), Box::new(|k| k == 6)),
            _ => {
                let n = self.argument(given, "n", 0).and_then(|g| self.known_int(&g.operand));
                let n = n.and_then(|n| u16::try_from(n).ok()).filter(|&n| (1..=32).contains(&n));
                let Some(n) = n else {
                    return Err(self.report(messages::builtins::size_of_identity(span)));
                };
                (Type::Mat(n, n, scalar), Box::new(move |k| k % (u32::from(n) + 1) == 0))
            }
        };
        let parts = (0..ty.scalar_count().unwrap_or(0))
            .map(|k| Constant::untyped(Number::Int(i128::from(ones(k)))).expr_as(scalar, span))
            .collect();
        Ok(Operand::Value(Expr::new(ExprKind::Construct(parts), ty, span)))
    }

    /// `wp.cast(value, dtype)`: the bits of the value as another type of the same size.
    fn cast(&mut self, given: &[Given], span: Span) -> Res<Operand> {
        let [value, dtype] = given else { return self.arguments("cast", "a value and a type", given, span) };
        let ty = self.type_argument(dtype)?;
        let value = self.materialize(value.operand.clone(), value.span)?;
        match (value.ty, ty) {
            (Type::Scalar(a), Type::Scalar(b)) if a.size() == b.size() => {
                Ok(Operand::Value(Expr::new(ExprKind::Bitcast(Box::new(value)), ty, span)))
            }
            (a, b) => {
                let (a, b) = (self.show(a), self.show(b));
                Err(self.report(messages::builtins::reinterpreted(&a, &b, span)))
            }
        }
    }

    fn view(&mut self, given: &[Given], span: Span) -> Res<Operand> {
        let Some((array, indices)) = given.split_first() else {
            return self.arguments("view", "an array and indices", given, span);
        };
        let array = self.materialize(array.operand.clone(), array.span)?;
        let rank = usize::from(self.rank_of(array.ty));
        if rank == 0 {
            return Err(self.report(messages::builtins::view_of_value(&self.show(array.ty), span)));
        }
        if indices.is_empty() || indices.len() >= rank {
            return Err(self.report(messages::builtins::view_of_element(indices.len(), span)));
        }
        let mut dims = Vec::new();
        for index in indices {
            dims.push(ViewIndex::At(self.index_argument(index)?));
        }
        let mut ty = match array.ty {
            Type::Array(ty) => ty,
            Type::Local(local) => return self.local_part(array, local, dims, span).map(Operand::Value),
            _ => return Err(Reported),
        };
        ty.ndim -= indices.len() as u8;
        Ok(Operand::Value(Expr::new(ExprKind::View { array: Box::new(array), index: dims }, Type::Array(ty), span)))
    }

    fn index_argument(&mut self, given: &Given) -> Res<Expr> {
        let value = self.materialize(given.operand.clone(), given.span)?;
        if value.ty.is_int() {
            return Ok(value);
        }
        let shown = self.show(value.ty);
        let diagnostic = messages::indices::not_an_integer(&shown, given.span);
        let cast = (value.ty, Scalar::I32);
        Err(self.report(self.suggest_cast(diagnostic, given.span, cast, "it", Applicability::Maybe)))
    }

    /// The element that `atomic_*(array, i, ..., values)` works on, and the `values` arguments
    /// after the indices.
    fn atomic_place(
        &mut self,
        name: &str,
        given: &[Given],
        values: usize,
        span: Span,
    ) -> Res<(crate::check::tree::Place, Vec<Expr>)> {
        let Some((first, rest)) = given.split_first() else {
            return self.arguments(name, "an array, its indices and a value", given, span);
        };
        let array = self.materialize(first.operand.clone(), first.span)?;
        let (rank, element) = match array.ty {
            Type::Array(a) => (usize::from(a.ndim), Type::from(a.element)),
            Type::Local(a) => (usize::from(a.ndim), Type::from(a.element)),
            ty if let Some(a) = self.c.as_indexed(ty) => (usize::from(a.ndim), Type::from(a.element)),
            ty => {
                let shown = self.show(ty);
                let diagnostic = messages::builtins::works_on_arrays(name, &shown, first.span);
                let text = self.c.sources.text(first.span).to_string();
                // An element in place of the array and its indices.
                return Err(match text.strip_suffix(']').and_then(|text| text.split_once('[')) {
                    Some((array, indices)) if !indices.contains(['[', ']', ':']) => {
                        self.replaced(diagnostic, first.span, &format!("{array}, {indices}"))
                    }
                    _ => self.report(messages::repairs::array_and_index_apart(diagnostic, name)),
                });
            }
        };
        if rest.len() != rank + values {
            let array = self.c.sources.text(first.span);
            let indices = ["i", "j", "k", "l"].get(..rank).unwrap_or_default().join(", ");
            let wanted = if values == 1 { "value" } else { "compare, value" };
            let (numbers, call) = ((rank, values, rest.len()), format!("wp.{name}({array}, {indices}, {wanted})"));
            return Err(self.report(messages::builtins::arguments_of_atomic(name, numbers, &call, span)));
        }
        if element.scalar_part().is_none_or(|s| s == Scalar::Bool) {
            let shown = self.show(element);
            return Err(self.report(messages::builtins::no_atomics(name, &shown, first.span)));
        }
        let mut index = Vec::new();
        for given in &rest[..rank] {
            index.push(self.index_argument(given)?);
        }
        let mut exprs = Vec::new();
        for given in &rest[rank..] {
            let value = self.coerce(given.operand.clone(), element, given.span)?;
            if value.ty != element {
                let (wanted, found) = (self.show(element), self.show(value.ty));
                let mut diagnostic = messages::builtins::atomic_value(name, &wanted, &found, given.span);
                diagnostic = self.suggest_element(diagnostic, value.ty, given.span, element);
                if let (Type::Scalar(to), Type::Scalar(_)) = (element, value.ty) {
                    let cast = (value.ty, to);
                    diagnostic = self.suggest_cast(diagnostic, given.span, cast, "it", Applicability::Machine);
                }
                return Err(self.report(diagnostic));
            }
            exprs.push(value);
        }
        // An element of a view of a local array is one of the array.
        let (array, mut index) = match array.ty {
            Type::Local(local) => {
                let dims = index.into_iter().map(ViewIndex::At).collect();
                match self.local_part(array, local, dims, span)?.kind {
                    ExprKind::Load { array, index, .. } => (*array, index),
                    _ => return Err(Reported),
                }
            }
            ty if self.c.as_indexed(ty).is_some() => match self.indexed_element(&array, index, span) {
                Some(element) => element,
                None => return Err(Reported),
            },
            _ => (array, index),
        };
        if let Some(first) = index.first_mut() {
            *first = self.of_each_thread(first.clone());
        }
        let root = crate::check::tree::Root::Element { array: Box::new(array), index };
        Ok((crate::check::tree::Place { root, path: Vec::new(), ty: element, span }, exprs))
    }

    fn atomic(&mut self, op: AtomicOp, name: &str, given: &[Given], span: Span) -> Res<Operand> {
        let (place, mut values) = self.atomic_place(name, given, 1, span)?;
        let ty = place.ty;
        if matches!(op, AtomicOp::And | AtomicOp::Or | AtomicOp::Xor) && ty.scalar_part().is_some_and(Scalar::is_float)
        {
            let shown = self.show(ty);
            return Err(self.report(messages::builtins::bits_of_other_type(name, &shown, span)));
        }
        let value = Box::new(values.pop().ok_or(Reported)?);
        Ok(Operand::Value(self.guard_access(Expr::new(ExprKind::Atomic { op, place, value }, ty, span))))
    }

    fn atomic_cas(&mut self, given: &[Given], span: Span) -> Res<Operand> {
        let (place, mut values) = self.atomic_place("atomic_cas", given, 2, span)?;
        let ty = place.ty;
        if ty.as_scalar().is_none() {
            let shown = self.show(ty);
            return Err(self.report(messages::builtins::compared_and_swapped(&shown, span)));
        }
        let (new, expected) = (values.pop().ok_or(Reported)?, values.pop().ok_or(Reported)?);
        Ok(Operand::Value(Expr::new(
            ExprKind::AtomicCas { place, expected: Box::new(expected), new: Box::new(new) },
            ty,
            span,
        )))
    }

    /// `print(x)` writes one value and a line end; `printf(format, ...)` follows C.
    pub fn print(&mut self, name: &str, args: &[ast::Arg], span: Span) -> Res<StmtKind> {
        if args.len() > MAX_PRINTED {
            return self.prints_too_much(name, span);
        }
        if let Some(reported) = self.print_keyword(name, args) {
            return Err(reported);
        }
        let mut operands = Vec::new();
        for arg in args {
            operands.push((self.expr(&arg.value)?, arg.value.span));
        }
        if name == "printf" {
            let mut operands = operands.into_iter();
            let Some((Operand::Str(format), _)) = operands.next() else {
                return Err(self.report(messages::builtins::no_format(span)));
            };
            let operands: Vec<(Operand, Span)> = operands.collect();
            let text = |operand: &Operand| if let Operand::Str(text) = operand { Some(text.clone()) } else { None };
            let texts: Vec<Option<String>> = operands.iter().map(|(operand, _)| text(operand)).collect();
            let (format, filled) = with_texts(&format, &texts);
            let mut values = Vec::new();
            for (n, (operand, at)) in operands.into_iter().enumerate() {
                if filled.contains(&n) {
                    continue;
                }
                let value = self.materialize(operand, at)?;
                if value.ty.as_scalar().is_none() {
                    let shown = self.show(value.ty);
                    return Err(self.report(messages::builtins::formatted_type(&shown, at)));
                }
                values.push(value);
            }
            return match conversions(&format) {
                Ok(n) if n == values.len() => Ok(StmtKind::Print { format, args: values }),
                Ok(n) => Err(self.report(messages::builtins::number_of_conversions(n, values.len(), span))),
                Err(written) => Err(self.report(messages::builtins::unknown_conversion(written, span))),
            };
        }
        let mut lets: Vec<(LocalId, Expr)> = Vec::new();
        let mut values = Vec::new();
        let mut pieces = Vec::new();
        for (operand, at) in operands {
            if let Operand::Str(text) = operand {
                pieces.push(text.replace('%', "%%"));
                continue;
            }
            if self.is_tile(&operand) {
                // What is before it is written first; what follows it begins with a space.
                let tile = self.print_tile(&operand, at)?;
                if !pieces.is_empty() {
                    let before = self.print_of(std::mem::take(&mut pieces), " ", &mut lets, &mut values);
                    self.statement.pending.push(Stmt { kind: before, span });
                }
                self.statement.pending.extend(tile);
                pieces.push(String::new());
                continue;
            }
            let value = self.materialize(operand, at)?;
            if value.ty.scalar_part().is_none() {
                let shown = self.show(value.ty);
                return Err(self.report(messages::builtins::printed_type(&shown, at)));
            }
            let ty = value.ty;
            let value = if ty.is_composite() { self.shared(value, &mut lets) } else { value };
            let (format, parts) = self.print_parts(value, at);
            pieces.push(format);
            values.extend(parts);
            if values.len() > MAX_PRINTED {
                return self.prints_too_much(name, span);
            }
        }
        Ok(self.print_of(pieces, "\n", &mut lets, &mut values))
    }

    fn prints_too_much(&mut self, name: &str, span: Span) -> Res<StmtKind> {
        Err(self.report(messages::builtins::too_much_printed(name, span)))
    }

    fn print_of(
        &self,
        pieces: Vec<String>,
        end: &str,
        lets: &mut Vec<(LocalId, Expr)>,
        values: &mut Vec<Expr>,
    ) -> StmtKind {
        let (lets, mut args) = (std::mem::take(lets), std::mem::take(values));
        // The shared values are evaluated with the first scalar.
        if let Some(first) = args.first_mut() {
            *first = self.wrap(lets, first.clone());
        }
        StmtKind::Print { format: pieces.join(" ") + end, args }
    }

    /// The format and the scalars of a value that `print` writes.
    pub fn print_parts(&self, value: Expr, at: Span) -> (String, Vec<Expr>) {
        let mut parts = Vec::new();
        self.all_scalars(value, at, &mut parts);
        let format: Vec<&str> = parts.iter().map(|p| conversion(p.ty.as_scalar())).collect();
        (format.join(" "), parts)
    }

    fn all_scalars(&self, value: Expr, at: Span, out: &mut Vec<Expr>) {
        let steps = value.ty.step_count(&self.c.output.structs);
        if steps == 0 {
            out.push(value);
            return;
        }
        for k in 0..steps {
            self.all_scalars(self.part(value.clone(), crate::check::tree::Step::At(k), at), at, out);
        }
    }
}

/// Spaces that a text may be filled up with.
const MAX_WIDTH: usize = 256;

/// The C conversion that `print` uses for a scalar.
fn conversion(scalar: Option<Scalar>) -> &'static str {
    match scalar {
        Some(s) if s.is_float() => "%g",
        // The word, as Python and Warp write it.
        Some(Scalar::Bool) => "%s",
        Some(Scalar::U64) => "%llu",
        Some(s) if s.is_unsigned_int() => "%u",
        Some(Scalar::I64) => "%lld",
        _ => "%d",
    }
}

/// A C format with the texts that its `%s` stand for, and the numbers of the values that these
/// were: a kernel has no texts when it runs. Widths hold (`%-8s`).
fn with_texts(format: &str, texts: &[Option<String>]) -> (String, Vec<usize>) {
    let (mut out, mut filled) = (String::new(), Vec::new());
    let mut count = 0;
    for piece in pieces(format) {
        let found = match piece {
            Piece::Text(text) => {
                out.push_str(text);
                continue;
            }
            Piece::Percent => {
                out.push_str("%%");
                continue;
            }
            Piece::Conversion(found) => found,
        };
        count += found.stars();
        match (found.letter, found.stars(), texts.get(count).and_then(Option::as_ref)) {
            ('s', 0, Some(text)) => {
                let digits = |number| if let Some(Extent::Digits(n)) = number { Some(n) } else { None };
                let text: String = text.chars().take(digits(found.precision).unwrap_or(usize::MAX)).collect();
                let wide = digits(found.width).unwrap_or(0).min(MAX_WIDTH);
                let text = if found.flags.contains('-') { format!("{text:<wide$}") } else { format!("{text:>wide$}") };
                out.push_str(&text.replace('%', "%%"));
                filled.push(count);
            }
            _ => out.push_str(found.written),
        }
        count += 1;
    }
    (out, filled)
}

/// The number of values that a C format takes, or what of it numbers do not have.
fn conversions(format: &str) -> Result<usize, &str> {
    let mut count = 0;
    for piece in pieces(format) {
        match piece {
            Piece::Conversion(found) if found.is_known() && found.letter != 's' => count += 1 + found.stars(),
            Piece::Conversion(found) => return Err(found.written),
            Piece::Text("%") => return Err("%"),
            Piece::Text(_) | Piece::Percent => {}
        }
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::with_texts;

    /// As C's `printf` writes them.
    #[test]
    fn texts_stand_in_formats() {
        let texts = |list: &[&str]| list.iter().map(|text| Some(text.to_string())).collect::<Vec<_>>();
        let all = |format: &str, list: &[&str]| with_texts(format, &texts(list)).0;
        assert_eq!(
            all("%s|%5s|%-5s|%.2s|%5.1s|%1s", &["abc", "ab", "ab", "abc", "xy", "long"]),
            "abc|   ab|ab   |ab|    x|long"
        );
        assert_eq!(all("%%s %s%% ä", &["50%"]), "%%s 50%%%% ä");
        assert_eq!(with_texts("%d %s %f", &[None, Some("x".into()), None]), ("%d x %f".to_string(), vec![1]));
        assert_eq!(with_texts("%s %", &[None]), ("%s %".to_string(), Vec::new()));
        assert_eq!(with_texts("%d", &texts(&["x"])), ("%d".to_string(), Vec::new()));
    }
}
