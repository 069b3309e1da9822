//! Calls of types: conversions and constructors.

use super::call::Given;
use super::keyword::unknown_keyword;
use crate::check::body::{Body, Mode};
use crate::check::messages;
use crate::check::tree::{Expr, ExprKind, Step};
use crate::check::types::value::{Constant, Family, Number, Operand, Reported, Res, TypeWord, cast_to};
use crate::diag::Applicability;
use crate::source::Span;
use crate::types::{Scalar, Type};

/// `wp.vec3([1, 2, 3])` of Python code as `wp.vec3(1, 2, 3)`; a matrix may be given by rows.
fn spread(given: Vec<Given>) -> Vec<Given> {
    let is_sequence = given.iter().any(|arg| matches!(arg.operand, Operand::Tuple(_)));
    if !is_sequence {
        return given;
    }
    let parts = given.into_iter().flat_map(|arg| match arg.operand {
        Operand::Tuple(items) => {
            let part = |operand| Given { name: None, operand, span: arg.span };
            spread(items.into_iter().map(part).collect())
        }
        operand => vec![Given { operand, ..arg }],
    });
    parts.collect()
}

impl Body<'_, '_> {
    pub fn construct(&mut self, word: TypeWord, given: &[Given], span: Span) -> Res<Operand> {
        match word {
            TypeWord::Type(Type::Scalar(scalar)) => self.convert(scalar, given, span),
            TypeWord::Type(Type::Struct(id)) => self.construct_struct(id, given, span),
            TypeWord::Type(ty) if ty.is_composite() => {
                let positional: Vec<Given> = given
                    .iter()
                    .filter(|g| !matches!(g.keyword(), Some("dtype" | "shape" | "length")))
                    .cloned()
                    .collect();
                let positional = if self.is_host() { spread(positional) } else { positional };
                self.construct_composite(ty, &positional, span).map(Operand::Value)
            }
            // Not Warp's: annotations of generic functions call vectors so.
            TypeWord::Family(family @ (Family::Vector | Family::Matrix)) if self.is_bare_family(span) => {
                let (name, help) = match family {
                    Family::Vector => {
                        ("vec", "its length is part of a vector's name: `wp.vec3(x, y, z)`, or `wp.vector(x, y, z)`")
                    }
                    _ => ("mat", "its shape is part of a matrix's name: `wp.mat33(...)`"),
                };
                Err(self.report(messages::types::without_size(name, help, span)))
            }
            TypeWord::Family(family) => self.construct_family(family, given, span),
            TypeWord::Array(_) => {
                let of_host = given.iter().all(|arg| arg.keyword() != Some("ptr"));
                if of_host {
                    return Err(self.array_of_host(span));
                }
                let diagnostic = messages::builtins::array_from_pointer(span);
                Err(self.report(diagnostic))
            }
            _ => Err(self.report(messages::types::no_constructor(span))),
        }
    }

    /// Reports an array that Python makes, where a kernel would read it.
    pub fn array_of_host(&mut self, span: Span) -> Reported {
        self.report(messages::builtins::array_of_host(span))
    }

    /// `wp.vec(...)` and `wp.mat(...)` in code of users.
    fn is_bare_family(&self, span: Span) -> bool {
        let callee = self.c.sources.text(span).split('(').next().unwrap_or_default();
        let word = callee.rsplit('.').next().unwrap_or_default().trim();
        self.mode == Mode::User && matches!(word, "vec" | "mat")
    }

    fn convert(&mut self, scalar: Scalar, given: &[Given], span: Span) -> Res<Operand> {
        let operand = match given {
            [] => {
                return Ok(Operand::Value(Expr::new(ExprKind::Zero, Type::Scalar(scalar), span)));
            }
            [one] => &one.operand,
            _ => {
                return Err(self.report(messages::types::arguments_of_conversion(scalar.name(), given.len(), span)));
            }
        };
        // A constant keeps its full precision on the way to its type, and so does a variable that
        // holds a literal.
        let literal = match operand {
            Operand::Value(value) => self.literal(value).map(Operand::Const),
            _ => None,
        };
        if let Operand::Const(c) = literal.as_ref().unwrap_or(operand) {
            let number = match c.scalar {
                Some(_) => c.expr(span).as_number().unwrap_or(c.number),
                None => c.number,
            };
            if self.is_host() {
                let number = match (scalar, number) {
                    (s, n) if s.is_float() => Number::Float(n.as_f64()),
                    (Scalar::Bool, n) => Number::Bool(n.is_true()),
                    // What Python refuses, or what has more digits than constants do.
                    (_, Number::Float(v)) if !v.is_finite() || v.abs() >= 2.0f64.powi(127) => {
                        return self.beyond_constants(span);
                    }
                    (_, Number::Float(v)) => Number::Int(v as i128),
                    (_, n) => Number::Int(c.as_int().unwrap_or(i128::from(n.is_true()))),
                };
                // `int(x)` and `float(x)` are Python's own; `wp.float64(x)` has its type.
                let scalar = (!matches!(scalar, Scalar::I32 | Scalar::F32 | Scalar::Bool)).then_some(scalar);
                return Ok(Operand::Const(Constant { number, scalar }));
            }
            // Digits beyond those of a literal are for wider types.
            let number = if scalar.is_float() || c.scalar.is_some() { number } else { self.meant(c) };
            return Ok(Operand::Value(Constant { number, scalar: None }.expr_as(scalar, span)));
        }
        let value = self.materialize(operand.clone(), given[0].span)?;
        match value.ty {
            // The conversion has the place of the call, its operand keeps its own.
            Type::Scalar(from) => {
                if (from, scalar) == (Scalar::F32, Scalar::F64) {
                    self.warn_of_digits(given[0].span, span);
                }
                Ok(Operand::Value(Expr { span, ..cast_to(value, scalar) }))
            }
            Type::Array(_) if scalar == Scalar::Bool => Ok(Operand::Value(self.truth(Operand::Value(value), span)?)),
            ty => {
                let shown = self.show(ty);
                let diagnostic = messages::types::no_conversion(&shown, scalar.name(), given[0].span);
                Err(self.report(self.suggest_element(diagnostic, ty, given[0].span, scalar.into())))
            }
        }
    }

    fn construct_struct(&mut self, id: crate::types::StructId, given: &[Given], span: Span) -> Res<Operand> {
        let ty = Type::Struct(id);
        if given.is_empty() {
            return Ok(Operand::Value(Expr::new(ExprKind::Zero, ty, span)));
        }
        let (name, fields) = (self.c.output.structs[id].name.clone(), self.c.output.structs[id].fields.clone());
        let mut values: Vec<Option<Expr>> = vec![None; fields.len()];
        for (k, arg) in given.iter().enumerate() {
            let slot = match arg.keyword() {
                Some(keyword) => fields.iter().position(|f| f.name == keyword),
                None => Some(k),
            };
            let Some(field) = slot.and_then(|s| fields.get(s)) else {
                return Err(self.report(messages::calls::too_many_fields(&name, fields.len(), arg.span)));
            };
            let value = self.coerce(arg.operand.clone(), field.ty, arg.span)?;
            if value.ty != field.ty {
                let (wanted, found) = (self.show(field.ty), self.show(value.ty));
                let mut diagnostic = messages::calls::field(&field.name, &name, &wanted, &found, arg.span);
                if let (Type::Scalar(to), Type::Scalar(_)) = (field.ty, value.ty) {
                    let literal = matches!(arg.operand, Operand::Const(_));
                    let sure = if literal { Applicability::Machine } else { Applicability::Maybe };
                    diagnostic = self.suggest_cast(diagnostic, arg.span, (value.ty, to), "it", sure);
                }
                return Err(self.report(diagnostic));
            }
            if let Some(slot) = slot.and_then(|s| values.get_mut(s)) {
                *slot = Some(value);
            }
        }
        let parts = values
            .into_iter()
            .zip(&fields)
            .map(|(value, field)| value.unwrap_or_else(|| Expr::new(ExprKind::Zero, field.ty, span)))
            .collect();
        Ok(Operand::Value(Expr::new(ExprKind::Construct(parts), ty, span)))
    }

    /// `wp.vector(x, y, z)`, `wp.matrix(..., shape=(3, 3))`,
    /// `wp.types.vector(length=3, dtype=float)`: the type follows from the arguments.
    fn construct_family(&mut self, family: Family, given: &[Given], span: Span) -> Res<Operand> {
        if self.is_host()
            && let Some(ty) = self.family_type(family, given)?
        {
            return Ok(Operand::Type(TypeWord::Type(self.c.bounded(ty, span)?)));
        }
        let named = |name: &str| given.iter().find(|g| g.keyword() == Some(name));
        let positional: Vec<Given> = given.iter().filter(|g| g.name.is_none()).cloned().collect();
        let scalar = match named("dtype").map(|g| &g.operand) {
            Some(Operand::Type(TypeWord::Type(Type::Scalar(s)))) => Some(*s),
            Some(_) => return Err(self.report(messages::types::no_scalar_type(span))),
            None => positional.iter().find_map(|g| match &g.operand {
                Operand::Value(e) => e.ty.scalar_part(),
                Operand::Const(c) => Some(c.scalar()),
                _ => None,
            }),
        };
        let Some(scalar) = scalar else {
            return Err(self.report(messages::types::unknown_dtype(span)));
        };
        let ty = match family {
            Family::Quaternion => Type::Quat(scalar),
            Family::Transformation => Type::Transform(scalar),
            Family::Vector => {
                // One vector alone converts to another scalar type.
                let converted = match positional.as_slice() {
                    [one] => match &one.operand {
                        Operand::Value(Expr { ty: Type::Vec(n, _), .. }) => Some(*n),
                        _ => None,
                    },
                    _ => None,
                };
                let length = match (converted, named("length")) {
                    (Some(length), _) => length,
                    (None, Some(given)) => self.given_length(&given.operand, given.span)?,
                    (None, None) => self.c.vector_length(positional.len() as i128, span)?,
                };
                Type::Vec(length, scalar)
            }
            Family::Matrix => match named("shape").map(|g| &g.operand) {
                Some(Operand::Tuple(shape)) if let [rows, columns] = shape.as_slice() => {
                    Type::Mat(self.given_length(rows, span)?, self.given_length(columns, span)?, scalar)
                }
                _ => {
                    return Err(self.report(messages::types::unknown_shape(span)));
                }
            },
        };
        let ty = self.c.bounded(ty, span)?;
        // Outside kernels, `wp.types.vector(length=3, dtype=float)` is the type itself.
        if self.is_host() && positional.is_empty() {
            return Ok(Operand::Type(TypeWord::Type(ty)));
        }
        self.construct_composite(ty, &positional, span).map(Operand::Value)
    }

    /// `wp.types.vector(3, float)`, `wp.types.matrix((2, 3), float)`, with or without keywords:
    /// outside kernels that is a type, not a value.
    fn family_type(&mut self, family: Family, given: &[Given]) -> Res<Option<Type>> {
        let (size, sized) = match family {
            Family::Vector => ("length", true),
            Family::Matrix => ("shape", true),
            Family::Quaternion | Family::Transformation => ("", false),
        };
        let [dtype, size] = match (given, sized) {
            ([dtype], false) => [dtype, dtype],
            ([a, b], true) if a.keyword() == Some("dtype") || b.keyword() == Some(size) => [a, b],
            ([a, b], true) => [b, a],
            _ => return Ok(None),
        };
        let Operand::Type(TypeWord::Type(Type::Scalar(scalar))) = dtype.operand else { return Ok(None) };
        let span = size.span;
        Ok(Some(match (family, &size.operand) {
            (Family::Vector, n) => Type::Vec(self.given_length(n, span)?, scalar),
            (Family::Matrix, Operand::Tuple(shape)) => match shape.as_slice() {
                [r, c] => Type::Mat(self.given_length(r, span)?, self.given_length(c, span)?, scalar),
                _ => return Ok(None),
            },
            (Family::Quaternion, _) => Type::Quat(scalar),
            (Family::Transformation, _) => Type::Transform(scalar),
            _ => return Ok(None),
        }))
    }

    /// A length that a constructor is given.
    fn given_length(&mut self, operand: &Operand, span: Span) -> Res<u16> {
        match self.known_int(operand) {
            Some(n) => self.c.vector_length(n, span),
            None => Err(self.report(messages::types::size_at_run_time(span))),
        }
    }

    pub fn construct_composite(&mut self, ty: Type, given: &[Given], span: Span) -> Res<Expr> {
        let scalar = ty.scalar_part().ok_or(Reported)?;
        let count = ty.scalar_count().ok_or(Reported)? as usize;
        if given.iter().any(|g| g.name.is_some()) {
            return self.keyword_composite(ty, given, span);
        }
        if given.is_empty() {
            return Ok(Expr::new(ExprKind::Zero, ty, span));
        }
        // One scalar fills a vector or matrix; one composite of the same shape converts.
        let mut values = Vec::new();
        for arg in given {
            let literal = match &arg.operand {
                Operand::Value(value) => self.literal(value).map(Operand::Const),
                _ => None,
            };
            let value = match literal.as_ref().unwrap_or(&arg.operand) {
                // Numbers in constructors take the component type, whatever kind they are.
                Operand::Const(c) if c.scalar.is_none() => c.expr_as(scalar, arg.span),
                other => self.materialize(other.clone(), arg.span)?,
            };
            values.push((value, arg.span));
        }
        if let [(value, _)] = values.as_slice() {
            match (value.ty, ty) {
                (Type::Scalar(s), Type::Vec(..) | Type::Mat(..) | Type::Transform(_)) if s == scalar && count > 1 => {
                    let mut lets = Vec::new();
                    let parts = vec![self.shared(value.clone(), &mut lets); count];
                    let filled = Expr::new(ExprKind::Construct(parts), ty, span);
                    return Ok(self.wrap(lets, filled));
                }
                // A translation alone: no rotation.
                (Type::Vec(3, s), Type::Transform(_)) if s == scalar => {
                    let mut lets = Vec::new();
                    let p = self.shared(value.clone(), &mut lets);
                    let mut parts = Vec::new();
                    self.scalars_of(p, span, &mut parts);
                    let number = |n| Constant::untyped(Number::Int(n)).expr_as(scalar, span);
                    parts.extend([0, 0, 0, 1].map(number));
                    let moved = Expr::new(ExprKind::Construct(parts), ty, span);
                    return Ok(self.wrap(lets, moved));
                }
                (Type::Vec(n, _), Type::Vec(m, _)) if n == m => {
                    return Ok(self.convert_composite(value.clone(), ty, span));
                }
                (Type::Mat(r, c, _), Type::Mat(p, q, _)) if (r, c) == (p, q) => {
                    return Ok(self.convert_composite(value.clone(), ty, span));
                }
                (Type::Quat(_), Type::Quat(_)) | (Type::Transform(_), Type::Transform(_)) => {
                    return Ok(self.convert_composite(value.clone(), ty, span));
                }
                _ => {}
            }
        }
        // Columns of a matrix.
        if let Type::Mat(r, c, s) = ty
            && values.len() == usize::from(c)
            && values.iter().all(|(v, _)| v.ty == Type::Vec(r, s))
        {
            let mut lets = Vec::new();
            let columns: Vec<Expr> = values.into_iter().map(|(v, _)| self.shared(v, &mut lets)).collect();
            let mut parts = Vec::new();
            for row in 0..u32::from(r) {
                for column in &columns {
                    parts.push(self.part(column.clone(), Step::At(row), column.span));
                }
            }
            let matrix = Expr::new(ExprKind::Construct(parts), ty, span);
            return Ok(self.wrap(lets, matrix));
        }
        let mut lets = Vec::new();
        let mut parts = Vec::new();
        // Once one value is shared all are, so that they are still evaluated in order.
        let share = values.iter().any(|(v, _)| v.ty.is_composite());
        for (value, at) in values {
            let value = if share { self.shared(value, &mut lets) } else { value };
            self.scalars_of(value, at, &mut parts);
        }
        for part in &parts {
            if part.ty != Type::Scalar(scalar) {
                let (shown, found) = (self.show(ty), self.show(part.ty));
                let diagnostic = messages::calls::component(&shown, scalar.name(), &found, part.span);
                return Err(self.report(self.suggest_cast(
                    diagnostic,
                    part.span,
                    (part.ty, scalar),
                    "it",
                    Applicability::Machine,
                )));
            }
        }
        if parts.len() != count {
            let shown = self.show(ty);
            let forms = match ty {
                Type::Vec(n, _) => format!(
                    "{n} numbers, or shorter vectors that make {n}; one number for all; another vector; nothing, for zeros"
                ),
                Type::Mat(r, c, _) => format!(
                    "{count} numbers row by row, or {c} columns of {r}; one number for all; another matrix; nothing"
                ),
                Type::Quat(_) => {
                    "4 numbers, or the vector part and a number; another quaternion; nothing, for zeros".into()
                }
                _ => "a vector and a quaternion, or 7 numbers; another transform; nothing, for zeros".into(),
            };
            return Err(self.report(messages::calls::components(&shown, count, parts.len(), &forms, span)));
        }
        let built = Expr::new(ExprKind::Construct(parts), ty, span);
        Ok(self.wrap(lets, built))
    }

    /// `wp.transform(p=..., q=...)`, `wp.quat(x=..., ...)`.
    fn keyword_composite(&mut self, ty: Type, given: &[Given], span: Span) -> Res<Expr> {
        let names: &[&str] = match ty {
            Type::Transform(_) => &["p", "q"],
            Type::Quat(_) | Type::Vec(..) => &["x", "y", "z", "w"],
            _ => &[],
        };
        let mut ordered: Vec<Option<Given>> = vec![None; names.len()];
        for (k, arg) in given.iter().enumerate() {
            let slot = match arg.keyword() {
                Some(keyword) => names.iter().position(|n| *n == keyword),
                None => Some(k),
            };
            match slot.and_then(|s| ordered.get_mut(s)) {
                Some(place) => *place = Some(Given { name: None, ..arg.clone() }),
                None => {
                    let shown = self.show(ty);
                    let message = format!("`{shown}` has no such parameter");
                    return Err(match &arg.name {
                        Some(keyword) => self.report(unknown_keyword(message, keyword, names.iter().copied())),
                        None => self.report(messages::calls::unknown_keyword(&message, arg.span)),
                    });
                }
            }
        }
        let given: Vec<Given> = ordered.into_iter().flatten().collect();
        self.construct_composite(ty, &given, span)
    }

    fn convert_composite(&self, value: Expr, ty: Type, span: Span) -> Expr {
        if value.ty == ty {
            return value;
        }
        Expr::new(ExprKind::Cast(Box::new(value)), ty, span)
    }

    /// All scalars of a value, row by row.
    pub fn scalars_of(&self, value: Expr, at: Span, out: &mut Vec<Expr>) {
        let steps = value.ty.step_count(&self.c.output.structs);
        if steps == 0 {
            out.push(value);
            return;
        }
        for k in 0..steps {
            self.scalars_of(self.part(value.clone(), Step::At(k), at), at, out);
        }
    }
}
