//! Type expressions: `wp.array(dtype=wp.vec3)`, `wp.array2d[float]`, `Any`, `Vec[N, Float]`.

use super::pattern::{Length, Part, Pattern};
use super::value::{Family, Operand, Reported, Res, TypeWord, type_of_name};
use crate::check::Checker;
use crate::check::messages;
use crate::check::state::globals::Global;
use crate::check::tiles::tile_type;
use crate::check::types::pattern::ScalarClass;
use crate::limits::{MAX_LENGTH, MAX_LOCAL_ELEMENTS, MAX_PARTS};
use crate::source::Span;
use crate::syntax::ast::{Arg, Expr, ExprKind};
use crate::types::{ArrayType, Element, MAX_DIMS, Scalar, Type};

impl Checker<'_> {
    /// What a parameter annotation accepts. `library` turns on the words of the library's
    /// signatures.
    pub fn annotation(&mut self, expr: &Expr, library: bool) -> Res<Pattern> {
        if !library && let Some(alias) = self.type_alias(expr) {
            return alias;
        }
        if !library && let Some(reported) = self.foreign_annotation(expr) {
            return Err(reported);
        }
        match &expr.kind {
            ExprKind::Name(name) if library && Self::is_variable(name) => Ok(Pattern::Var(name.clone())),
            ExprKind::Name(name) if library && ScalarClass::from_name(name).is_some() => {
                ScalarClass::from_name(name).map(Pattern::Class).ok_or(Reported)
            }
            ExprKind::Name(name) if library && name == "Array" => Ok(Pattern::Array(Box::new(Pattern::Any), None)),
            // `TYPES[key]`
            ExprKind::Subscript { base, .. } if !library && self.is_table(base) => {
                let word = self.type_word(expr, library)?;
                self.word_pattern(word, expr.span)
            }
            ExprKind::Subscript { base, indices } => self.subscripted(base, indices, expr.span, library),
            // What a function of Python makes.
            ExprKind::Call { callee, .. } if !library && self.maker_of(callee).is_some() => {
                let word = self.type_word(expr, library)?;
                self.word_pattern(word, expr.span)
            }
            ExprKind::Call { callee, args } => self.called(callee, args, expr.span, library),
            ExprKind::Str(text) => match self.quoted(text, expr.span) {
                Some(inner) => self.annotation(&inner, library),
                None => self.not_a_type(expr.span, "a string that is no type expression"),
            },
            _ => {
                let word = self.type_word(expr, library)?;
                self.word_pattern(word, expr.span)
            }
        }
    }

    /// Whether a name is one of a dict, list or tuple.
    fn is_table(&mut self, base: &Expr) -> bool {
        let ExprKind::Name(name) = &base.kind else { return false };
        match self.follow(name) {
            Some((_, Global::Constant(value))) => {
                matches!(value.kind, ExprKind::Dict(_) | ExprKind::List(_) | ExprKind::Tuple(_))
            }
            Some((_, Global::Value(value))) => matches!(value, Operand::Dict(_) | Operand::Tuple(_)),
            _ => false,
        }
    }

    /// A type without open parts.
    pub fn concrete_type(&mut self, expr: &Expr, library: bool) -> Res<Type> {
        match self.annotation(expr, library)? {
            Pattern::Exact(ty) => self.bounded(ty, expr.span),
            other => {
                let shown = other.display(&self.output.structs);
                Err(self.report(messages::types::not_one_type(&shown, expr.span)))
            }
        }
    }

    /// Refuses a tile where memory of the caller's is. `place`: a parameter of a kernel, a field.
    pub fn refuse_tile(&mut self, ty: Type, span: Span, place: &str) -> Res<()> {
        if !matches!(ty, Type::Local(_)) {
            return Ok(());
        }
        Err(self.report(messages::types::tile_in_signature(place, span)))
    }

    /// Refuses a matrix or a struct of more parts than a thread can work with.
    pub fn bounded(&mut self, ty: Type, span: Span) -> Res<Type> {
        let parts = ty.parts(&self.output.structs);
        if parts <= MAX_PARTS {
            return Ok(ty);
        }
        let shown = self.show(ty);
        Err(self.report(messages::types::too_many_components(&shown, parts, span)))
    }

    fn type_word(&mut self, expr: &Expr, library: bool) -> Res<TypeWord> {
        if let ExprKind::Name(name) = &expr.kind
            && library
            && let Some(ty) = type_of_name(name)
        {
            return Ok(TypeWord::Type(ty));
        }
        if !library {
            self.refuse_prefix(expr)?;
        }
        match self.constant(expr, library)? {
            Operand::Type(word) => Ok(word),
            _ => self.not_a_type(expr.span, "this is a value"),
        }
    }

    fn word_pattern(&mut self, word: TypeWord, span: Span) -> Res<Pattern> {
        Ok(match word {
            TypeWord::Type(ty) => Pattern::Exact(ty),
            TypeWord::Any => Pattern::Any,
            TypeWord::Class(class) => Pattern::Class(class),
            TypeWord::Function => Pattern::Function,
            TypeWord::Array(n) => Pattern::Array(Box::new(Pattern::Any), Some(n.max(1))),
            TypeWord::IndexedArray(_) => return self.not_a_type(span, "its `dtype` is missing"),
            TypeWord::Family(_) => return self.not_a_type(span, "its length and `dtype` are missing"),
            TypeWord::Ref => return self.not_a_type(span, "write `wp.ref[T]`"),
            TypeWord::None => return self.not_a_type(span, "no value"),
        })
    }

    fn subscripted(&mut self, base: &Expr, indices: &[Expr], span: Span, library: bool) -> Res<Pattern> {
        if library && let ExprKind::Name(name) = &base.kind {
            match (name.as_str(), indices) {
                ("Vec", [n, s]) => {
                    return Ok(Self::close(Pattern::Vec(self.length(n, library)?, self.part(s, library)?)));
                }
                ("Mat", [r, c, s]) => {
                    let (rows, columns) = (self.length(r, library)?, self.length(c, library)?);
                    return Ok(Self::close(Pattern::Mat(rows, columns, self.part(s, library)?)));
                }
                ("Quat", [s]) => return Ok(Self::close(Pattern::Quat(self.part(s, library)?))),
                ("Transform", [s]) => return Ok(Self::close(Pattern::Transform(self.part(s, library)?))),
                ("Array", [element]) => {
                    return Ok(Pattern::Array(Box::new(self.annotation(element, library)?), None));
                }
                ("Array", [element, ndim]) => {
                    let ndim = self.rank(ndim)?;
                    return Ok(Pattern::Array(Box::new(self.annotation(element, library)?), Some(ndim)));
                }
                ("ref", [inner]) => return Ok(Pattern::Ref(Box::new(self.annotation(inner, library)?))),
                ("type", [inner]) => return Ok(Pattern::Type(Box::new(self.annotation(inner, library)?))),
                _ => {}
            }
        }
        if self.is_tile_word(base) {
            let Some((element, extents)) = indices.split_first() else {
                return self.not_a_type(span, "no element type");
            };
            return self.tile_pattern(element, extents, span);
        }
        match (self.type_word(base, library)?, indices) {
            (TypeWord::Array(n), [element]) => {
                let element = self.element(element, library)?;
                self.array_pattern(element, n.max(1), span)
            }
            (TypeWord::Array(0), [element, ndim]) => {
                let ndim = self.rank(ndim)?;
                let element = self.element(element, library)?;
                self.array_pattern(element, ndim, span)
            }
            (TypeWord::IndexedArray(n), [element]) => {
                let element = self.element(element, library)?;
                self.indexed_pattern(element, n.max(1), span)
            }
            (TypeWord::IndexedArray(0), [element, ndim]) => {
                let ndim = self.rank(ndim)?;
                let element = self.element(element, library)?;
                self.indexed_pattern(element, ndim, span)
            }
            (TypeWord::Ref, [inner]) => Ok(Pattern::Ref(Box::new(self.annotation(inner, library)?))),
            // What is left of a query is the same for grids of all types of numbers.
            (TypeWord::Type(query), [number]) if self.is_grid_query(query) => match self.annotation(number, library)? {
                Pattern::Any | Pattern::Class(ScalarClass::Float) => Ok(Pattern::Exact(query)),
                Pattern::Exact(Type::Scalar(Scalar::F16 | Scalar::F32 | Scalar::F64)) => Ok(Pattern::Exact(query)),
                _ => self.not_a_type(number.span, "points of hash grids are `float16`, `float32` or `float64`"),
            },
            (TypeWord::Family(Family::Vector), [n, s]) => {
                Ok(Self::close(Pattern::Vec(self.length(n, library)?, self.part(s, library)?)))
            }
            _ => self.not_a_type(span, "this cannot be subscripted as a type"),
        }
    }

    fn is_grid_query(&self, ty: Type) -> bool {
        self.output.library_structs.get("HashGridQuery").is_some_and(|&id| ty == Type::Struct(id))
    }

    fn called(&mut self, callee: &Expr, args: &[Arg], span: Span, library: bool) -> Res<Pattern> {
        if is_stack_word(callee) {
            let diagnostic = messages::types::stack_elsewhere(span);
            return Err(self.report(diagnostic));
        }
        let is_tile = self.is_tile_word(callee);
        let word = if is_tile { TypeWord::Any } else { self.type_word(callee, library)? };
        let find = |name: &str, position: usize| {
            args.iter()
                .find(|arg| arg.name.as_ref().is_some_and(|n| n.text == name))
                .or_else(|| args.get(position).filter(|arg| arg.name.is_none()))
                .map(|arg| &arg.value)
        };
        match word {
            _ if is_tile => match (find("dtype", 0), find("shape", 1).map(|shape| (&shape.kind, shape))) {
                (Some(element), Some((ExprKind::Tuple(extents), _))) => self.tile_pattern(element, extents, span),
                (Some(element), Some((_, one))) => self.tile_pattern(element, std::slice::from_ref(one), span),
                (Some(element), None) => match self.element(element, false)? {
                    Pattern::Exact(ty) => match ty.element() {
                        Some(element) => Ok(Pattern::Tile(element)),
                        None => self.not_a_type(span, "a tile holds numbers, vectors or structs"),
                    },
                    _ => Ok(Pattern::Any),
                },
                _ => self.not_a_type(span, "its `dtype` is missing"),
            },
            TypeWord::Array(n) | TypeWord::IndexedArray(n) => {
                let ndim = match find("ndim", 1) {
                    Some(expr) => self.rank(expr)?,
                    None => n.max(1),
                };
                if matches!(word, TypeWord::IndexedArray(_)) {
                    let Some(element) = find("dtype", 0) else {
                        return self.not_a_type(span, "its `dtype` is missing");
                    };
                    let element = self.element(element, library)?;
                    return self.indexed_pattern(element, ndim, span);
                }
                match find("dtype", 0) {
                    Some(element) => {
                        let element = self.element(element, library)?;
                        self.array_pattern(element, ndim, span)
                    }
                    None => Ok(Pattern::Array(Box::new(Pattern::Any), Some(ndim))),
                }
            }
            TypeWord::Family(family) => {
                let Some(scalar) = find("dtype", usize::from(matches!(family, Family::Vector | Family::Matrix))) else {
                    return self.not_a_type(span, "`dtype` is missing");
                };
                let part = self.part(scalar, library)?;
                Ok(Self::close(match family {
                    Family::Vector => match find("length", 0) {
                        Some(n) => Pattern::Vec(self.length(n, library)?, part),
                        None => return self.not_a_type(span, "`length` is missing"),
                    },
                    Family::Matrix => match find("shape", 0).map(|e| &e.kind) {
                        Some(ExprKind::Tuple(shape)) if shape.len() == 2 => {
                            Pattern::Mat(self.length(&shape[0], library)?, self.length(&shape[1], library)?, part)
                        }
                        _ => return self.not_a_type(span, "`shape` is missing"),
                    },
                    Family::Quaternion => Pattern::Quat(part),
                    Family::Transformation => Pattern::Transform(part),
                }))
            }
            _ => self.not_a_type(span, "this call is not a type"),
        }
    }

    /// `wp.tile` is a function where it is called in a kernel, and names the tiles where types
    /// stand.
    fn is_tile_word(&self, expr: &Expr) -> bool {
        matches!(&expr.kind, ExprKind::Attribute { name, .. } if name.text == "tile")
    }

    /// The tiles of elements and of their number that a parameter is, which is annotated as
    /// `wp.tile_stack(capacity=8, dtype=float)`. None: it is no stack.
    pub fn stack_pattern(&mut self, annotation: &Expr) -> Option<Res<[Pattern; 2]>> {
        let ExprKind::Call { callee, args } = &annotation.kind else { return None };
        if !is_stack_word(callee) {
            return None;
        }
        let find = |name: &str, position: usize| {
            let named = args.iter().find(|arg| arg.name.as_ref().is_some_and(|n| n.text == name));
            named.or_else(|| args.get(position).filter(|arg| arg.name.is_none())).map(|arg| &arg.value)
        };
        let (Some(capacity), Some(dtype)) = (find("capacity", 0), find("dtype", 1)) else {
            return Some(self.not_a_type(annotation.span, "its `capacity` and `dtype` are missing"));
        };
        let elements = self.tile_pattern(dtype, std::slice::from_ref(capacity), annotation.span);
        let count = Pattern::Exact(Type::Local(tile_type(Element::Scalar(Scalar::I32), &[1])));
        Some(elements.map(|elements| [elements, count]))
    }

    /// `wp.tile[float, 4, 8]`
    fn tile_pattern(&mut self, element: &Expr, extents: &[Expr], span: Span) -> Res<Pattern> {
        let element = match self.element(element, false)? {
            Pattern::Exact(ty) => ty.element(),
            // The shape alone is not asked for.
            _ => return Ok(Pattern::Any),
        };
        let Some(element) = element else { return self.not_a_type(span, "a tile holds numbers, vectors or structs") };
        let mut shape = Vec::new();
        for extent in extents {
            let known = match self.constant(extent, false)? {
                Operand::Const(c) => c.as_int().and_then(|n| u32::try_from(n).ok()).filter(|&n| n > 0),
                Operand::Type(TypeWord::Any) => return Ok(Pattern::Any),
                _ => None,
            };
            match known {
                Some(n) => shape.push(n),
                None => return self.not_a_type(extent.span, "a dimension of a tile is a constant"),
            }
        }
        let total = shape.iter().fold(1u64, |all, &n| all.saturating_mul(n.into()));
        if shape.is_empty() || shape.len() > MAX_DIMS || total > u64::from(MAX_LOCAL_ELEMENTS) {
            return self.not_a_type(span, "a tile has 1 to 4 dimensions, and not too many elements");
        }
        Ok(Pattern::Exact(Type::Local(tile_type(element, &shape))))
    }

    /// The type of elements or components: unlike a whole annotation, no text.
    fn element(&mut self, expr: &Expr, library: bool) -> Res<Pattern> {
        let ExprKind::Str(text) = &expr.kind else { return self.annotation(expr, library) };
        let diagnostic = messages::types::quoted_element(expr.span);
        let module = |name: &str| type_of_name(name).map(|_| format!("wp.{name}"));
        let ty = match text.as_str() {
            "float" | "int" | "bool" => Some(text.clone()),
            name => module(name).or_else(|| self.quoted(text, expr.span).map(|_| text.clone())),
        };
        Err(self.report(match ty {
            Some(ty) => messages::repairs::written_so(diagnostic, &ty, expr.span),
            None => diagnostic,
        }))
    }

    /// Refuses `wp.float` and `wp.int`, which Warp knows only in the bodies of kernels.
    fn refuse_prefix(&mut self, expr: &Expr) -> Res<()> {
        let ExprKind::Attribute { base, name } = &expr.kind else { return Ok(()) };
        let ExprKind::Name(module) = &base.kind else { return Ok(()) };
        let is_warp = matches!(self.lookup(module), Some((_, Global::Module(path))) if path == "warp");
        if !is_warp || !matches!(name.text.as_str(), "float" | "int") {
            return Ok(());
        }
        let (module, ty) = (module.clone(), name.text.clone());
        Err(self.report(messages::types::python_type_with_prefix(&module, &ty, expr.span)))
    }

    /// A composite whose parts are all known is one type.
    fn close(pattern: Pattern) -> Pattern {
        pattern.resolve(&Default::default()).map_or(pattern, Pattern::Exact)
    }

    fn array_pattern(&mut self, element: Pattern, ndim: u8, span: Span) -> Res<Pattern> {
        Ok(match element {
            Pattern::Exact(ty) => match ty.element() {
                Some(element) => Pattern::Exact(Type::Array(ArrayType { element, ndim })),
                None => return self.not_a_type(span, "an array cannot hold arrays"),
            },
            open => Pattern::Array(Box::new(open), Some(ndim)),
        })
    }

    fn indexed_pattern(&mut self, element: Pattern, ndim: u8, span: Span) -> Res<Pattern> {
        match element {
            Pattern::Exact(ty) => match ty.element() {
                Some(element) => Ok(Pattern::Exact(self.indexed_array(element, ndim))),
                None => self.not_a_type(span, "an array cannot hold arrays"),
            },
            open => Ok(Pattern::Indexed(Box::new(open), ndim)),
        }
    }

    fn rank(&mut self, expr: &Expr) -> Res<u8> {
        // `Literal[2]`, as type checkers want it.
        if let ExprKind::Subscript { base, indices } = &expr.kind
            && let (
                ExprKind::Name(word) | ExprKind::Attribute { name: crate::syntax::ast::Name { text: word, .. }, .. },
                [inner],
            ) = (&base.kind, indices.as_slice())
            && word == "Literal"
        {
            return self.rank(inner);
        }
        match self.constant(expr, false)? {
            Operand::Const(c) if c.as_int().is_some_and(|n| (1..=MAX_DIMS as i128).contains(&n)) => {
                Ok(c.as_int().unwrap_or(1) as u8)
            }
            _ => self.not_a_type(expr.span, "an array has 1 to 4 dimensions"),
        }
    }

    fn length(&mut self, expr: &Expr, library: bool) -> Res<Length> {
        if let ExprKind::Name(name) = &expr.kind
            && library
            && Self::is_variable(name)
        {
            return Ok(Length::Var(name.clone()));
        }
        match self.constant(expr, library)? {
            Operand::Type(TypeWord::Any) => Ok(Length::Any),
            Operand::Const(c) if let Some(n) = c.as_int() => self.vector_length(n, expr.span).map(Length::Exact),
            _ => self.not_a_type(expr.span, "a constant length is needed"),
        }
    }

    /// The number of components of a vector, or of rows or columns of a matrix.
    pub fn vector_length(&mut self, n: i128, span: Span) -> Res<u16> {
        if let Some(n) = u16::try_from(n).ok().filter(|n| (1..=MAX_LENGTH).contains(n)) {
            return Ok(n);
        }
        Err(self.report(messages::types::length_of_vector(n, span)))
    }

    fn part(&mut self, expr: &Expr, library: bool) -> Res<Part> {
        match self.element(expr, library)? {
            Pattern::Exact(Type::Scalar(scalar)) => Ok(Part::Exact(scalar)),
            Pattern::Class(class) => Ok(Part::Class(class)),
            Pattern::Var(name) => Ok(Part::Var(name)),
            Pattern::Any => Ok(Part::Any),
            _ => self.not_a_type(expr.span, "a scalar type is needed"),
        }
    }

    /// Single capital letters are variables of library signatures: `T`, `N`.
    fn is_variable(name: &str) -> bool {
        name.len() == 1 && name.as_bytes()[0].is_ascii_uppercase()
    }

    fn not_a_type<T>(&mut self, span: Span, label: &str) -> Res<T> {
        Err(self.report(messages::types::not_a_type(label, span)))
    }
}

fn is_stack_word(expr: &Expr) -> bool {
    matches!(&expr.kind, ExprKind::Attribute { name, .. } if name.text == "tile_stack")
}
