//! Parts of values, array elements, and what can be assigned.

use crate::check::body::Body;
use crate::check::messages;
use crate::check::state::globals::{Global, Unknown, Why};
use crate::check::tree::{Expr, ExprKind, LocalId, Place, Root, Step, Stmt, ViewIndex};
use crate::check::types::value::{
    Constant, EnumClass, FunctionName, HostValue, Number, Operand, Res, ScopeId, TypeWord,
};
use crate::diag::Applicability;
use crate::source::Span;
use crate::syntax::ast;
use crate::types::{I32, LocalArrayType, MAX_DIMS, Scalar, Type};

impl Body<'_, '_> {
    /// Something that can be assigned: a variable, an array element, or a part of one.
    pub fn place(&mut self, target: &ast::Expr) -> Res<Place> {
        let expr = match self.expr(target)? {
            Operand::Value(expr) => expr,
            Operand::Const(_) if let ast::ExprKind::Name(name) = &target.kind => {
                return Err(self.report(messages::statements::constant_assigned(name, target.span)));
            }
            _ => return self.not_assignable(target.span),
        };
        if let (ExprKind::View { array, index }, Type::Array(part)) = (&expr.kind, expr.ty)
            && index.iter().all(|dim| matches!(dim, ViewIndex::At(_)))
        {
            let (whole, rank) = (usize::from(self.rank_of(array.ty)), usize::from(part.ndim));
            let ranks = (whole.saturating_sub(rank), whole, rank);
            let shown = self.show(array.ty);
            return Err(self.report(messages::statements::too_few_indices_assigned(
                ranks,
                &shown,
                target.span,
                array.span,
            )));
        }
        match self.as_place(expr) {
            Some(place) => Ok(place),
            None => self.not_assignable(target.span),
        }
    }

    pub fn not_assignable<T>(&mut self, span: Span) -> Res<T> {
        Err(self.report(messages::statements::not_assignable(span)))
    }

    /// The place that an expression reads from, if it is one.
    pub fn as_place(&self, expr: Expr) -> Option<Place> {
        let Expr { kind, ty, span } = self.unguarded(expr);
        let (root, path) = match kind {
            ExprKind::Local(id) => (Root::Local(id), Vec::new()),
            ExprKind::Part { base, path } => match base.kind {
                ExprKind::Local(id) => (Root::Local(id), path),
                _ => return None,
            },
            ExprKind::Load { array, index, path } => (Root::Element { array, index }, path),
            _ => return None,
        };
        Some(Place { root, path, ty, span })
    }

    pub fn local_place(&self, id: LocalId, span: Span) -> Place {
        Place { root: Root::Local(id), path: Vec::new(), ty: self.locals[id].ty, span }
    }

    pub fn read_place(&self, place: &Place) -> Expr {
        let path = place.path.clone();
        let kind = match &place.root {
            Root::Local(id) if path.is_empty() => ExprKind::Local(*id),
            Root::Local(id) => {
                let base = Expr::new(ExprKind::Local(*id), self.locals[*id].ty, place.span);
                ExprKind::Part { base: Box::new(base), path }
            }
            Root::Element { array, index } => ExprKind::Load { array: array.clone(), index: index.clone(), path },
        };
        Expr::new(kind, place.ty, place.span)
    }

    /// The place with index expressions moved to variables, so that reading and writing it
    /// evaluates them once.
    pub fn evaluate_once(&mut self, place: Place, out: &mut Vec<Stmt>) -> Place {
        let mut once = |body: &mut Self, expr: Expr| -> Expr {
            // A variable too: what is evaluated between may be a call that changes it.
            if matches!(expr.kind, ExprKind::Const(_)) {
                return expr;
            }
            let (ty, span) = (expr.ty, expr.span);
            let id = body.new_local("", ty, span);
            out.push(body.assign_local(id, expr, span));
            Expr::new(ExprKind::Local(id), ty, span)
        };
        let root = match place.root {
            Root::Element { array, index } => {
                Root::Element { array, index: index.into_iter().map(|e| once(self, e)).collect() }
            }
            local => local,
        };
        let path = place
            .path
            .into_iter()
            .map(|step| match step {
                Step::Dynamic(e) => Step::Dynamic(Box::new(once(self, *e))),
                at => at,
            })
            .collect();
        Place { root, path, ..place }
    }

    /// Makes a value that is used several times a variable; [`Body::wrap`] puts the assignment
    /// around the uses.
    pub fn shared(&mut self, expr: Expr, lets: &mut Vec<(LocalId, Expr)>) -> Expr {
        if matches!(expr.kind, ExprKind::Const(_) | ExprKind::Local(_) | ExprKind::Zero) {
            return expr;
        }
        let (ty, span) = (expr.ty, expr.span);
        let id = self.new_local("", ty, span);
        lets.push((id, expr));
        Expr::new(ExprKind::Local(id), ty, span)
    }

    /// The expression under its shared values.
    pub fn wrap(&self, lets: Vec<(LocalId, Expr)>, expr: Expr) -> Expr {
        lets.into_iter().rev().fold(expr, |body, (local, value)| {
            let (ty, span) = (body.ty, body.span);
            Expr::new(ExprKind::Let { local, value: Box::new(value), body: Box::new(body) }, ty, span)
        })
    }

    /// One step into a value; steps of one expression are joined to one path, so that only the part
    /// is loaded.
    pub fn part(&self, base: Expr, step: Step, span: Span) -> Expr {
        let index = match step {
            Step::At(k) => Some(k),
            Step::Dynamic(_) => None,
        };
        let ty = base.ty.step(index, &self.c.output.structs).unwrap_or(base.ty);
        let base = self.unguarded(base);
        let base = match base.kind {
            ExprKind::Local(id) if ty.bears_array(&self.c.output.structs) => {
                Expr { kind: ExprKind::Local(self.shadow_of(id).unwrap_or(id)), ..base }
            }
            _ => base,
        };
        let kind = match base.kind {
            ExprKind::Load { array, index, mut path } => {
                path.push(step);
                ExprKind::Load { array, index, path }
            }
            ExprKind::Part { base, mut path } => {
                path.push(step);
                ExprKind::Part { base, path }
            }
            _ => ExprKind::Part { base: Box::new(base), path: vec![step] },
        };
        self.guard_access(Expr::new(kind, ty, span))
    }

    pub fn rank_of(&self, ty: Type) -> u8 {
        match ty {
            Type::Array(a) => a.ndim,
            Type::Local(a) => a.ndim,
            ty => self.c.as_indexed(ty).map_or(0, |a| a.ndim),
        }
    }

    pub fn attribute(&mut self, base: &ast::Expr, name: &ast::Name, span: Span) -> Res<Operand> {
        if let Some(result) = self.class_attribute(base, name, span) {
            self.failed |= result.is_err();
            return result;
        }
        if let Some(result) = self.limit_of_type(base, name) {
            return result;
        }
        if self.is_python()
            && let ast::ExprKind::Call { callee, args } = &base.kind
            && let Some(object) = self.c.object_of(callee, args)
        {
            let result = self.c.attribute_of_object(object, &name.text, span);
            self.failed |= result.is_err();
            return result;
        }
        let operand = self.expr(base)?;
        let expr = match operand {
            Operand::Function(FunctionName::User { scope, name: function })
                if let Some(value) = self.c.attribute_of_function(scope, &function, &name.text, span) =>
            {
                self.failed |= value.is_err();
                return value;
            }
            Operand::Host(HostValue::Object(object)) => {
                let result = self.c.attribute_of_object(object, &name.text, span);
                self.failed |= result.is_err();
                return result;
            }
            Operand::Module(path) => {
                let result = self.c.member(&path, &name.text, span);
                self.failed |= result.is_err();
                if let (Ok(Operand::Function(FunctionName::Builtin(word))), false) = (&result, self.is_host())
                    && path.starts_with("numpy")
                {
                    let (text, ours) = (self.c.sources.text(span).to_string(), format!("wp.{word}"));
                    self.c.diagnostics.push(messages::names::taken_as_builtin(&text, &ours, span));
                }
                return result;
            }
            Operand::Enum(class) => return self.enum_member(&class, name, span),
            Operand::Type(TypeWord::Type(ty)) => {
                if let Some(operand) = self.type_attribute(ty, &name.text) {
                    return Ok(operand);
                }
                let shown = self.show(ty);
                return Err(self.report(messages::names::attribute_of_type(&shown, &name.text, span)));
            }
            Operand::Const(c) if name.text == "value" => return Ok(Operand::Const(c)),
            Operand::Const(c) => c.expr(base.span),
            Operand::Value(expr) => expr,
            other => {
                self.materialize(other, base.span)?;
                return Err(crate::check::types::value::Reported);
            }
        };
        if let Some(operand) = self.value_attribute(&expr, &name.text, span) {
            return Ok(operand);
        }
        Err(self.unknown_attribute(&expr, base, name))
    }

    fn value_attribute(&mut self, expr: &Expr, name: &str, span: Span) -> Option<Operand> {
        let number = |n: i128| Operand::Const(Constant::untyped(Number::Int(n)));
        let boxed = || Box::new(expr.clone());
        if let Some(operand) = self.type_attribute(expr.ty, name) {
            return Some(operand);
        }
        match expr.ty {
            Type::Vec(..) | Type::Quat(_) => {
                let k = "xyzw".find(name).filter(|_| name.len() == 1).map(|k| k as u32);
                match k {
                    Some(k) if k < expr.ty.step_count(&self.c.output.structs) => {
                        Some(Operand::Value(self.part(expr.clone(), Step::At(k), span)))
                    }
                    _ => None,
                }
            }
            Type::Transform(_) => match name {
                "p" => Some(Operand::Value(self.part(expr.clone(), Step::At(0), span))),
                "q" => Some(Operand::Value(self.part(expr.clone(), Step::At(1), span))),
                _ => None,
            },
            ty if self.c.as_indexed(ty).is_some() && name == "shape" => Some(Operand::Shape(expr.clone())),
            ty if self.c.as_indexed(ty).is_some() && name == "size" => {
                let product =
                    |a, b| Expr::new(ExprKind::Binary(crate::ir::BinaryOp::Mul, Box::new(a), Box::new(b)), I32, span);
                self.indexed_extents(expr, span).into_iter().reduce(product).map(Operand::Value)
            }
            Type::Struct(id) => {
                let k = self.c.output.structs[id].fields.iter().position(|f| f.name == name)?;
                Some(Operand::Value(self.part(expr.clone(), Step::At(k as u32), span)))
            }
            Type::Array(array) => match name {
                "shape" => Some(Operand::Shape(expr.clone())),
                "grad" => Some(Operand::Value(Expr::new(ExprKind::Gradient(boxed()), expr.ty, span))),
                "size" => {
                    let extents = (0..array.ndim).map(|d| Expr::new(ExprKind::Extent(boxed(), d), I32, span));
                    extents
                        .reduce(|a, b| {
                            Expr::new(ExprKind::Binary(crate::ir::BinaryOp::Mul, Box::new(a), Box::new(b)), I32, span)
                        })
                        .map(Operand::Value)
                }
                "ptr" => Some(Operand::Value(Expr::new(ExprKind::Address(boxed()), crate::types::U64, span))),
                _ => None,
            },
            Type::Local(local) => match name {
                "shape" => Some(Operand::Shape(expr.clone())),
                "size" => Some(number(i128::from(local.len()))),
                _ => None,
            },
            _ => None,
        }
    }

    /// What a type alone tells: `dtype`, `ndim`, `length`.
    fn type_attribute(&self, ty: Type, name: &str) -> Option<Operand> {
        // The type of `ctypes` that a scalar is: its size is the same.
        if name == "_type_" && ty.as_scalar().is_some() && self.is_python() {
            return Some(Operand::Type(TypeWord::Type(ty)));
        }
        let number = |n: u32| Operand::Const(Constant::untyped(Number::Int(i128::from(n))));
        let element = match ty {
            Type::Array(a) => Some((Type::from(a.element), a.ndim)),
            Type::Local(a) => Some((Type::from(a.element), a.ndim)),
            ty => self.c.as_indexed(ty).map(|a| (Type::from(a.element), a.ndim)),
        };
        match (name, element) {
            ("dtype", Some((element, _))) => Some(Operand::Type(TypeWord::Type(element))),
            ("dtype", None) if ty.is_composite() => ty.scalar_part().map(|s| Operand::Type(TypeWord::Type(s.into()))),
            ("ndim", Some((_, ndim))) => Some(number(u32::from(ndim))),
            ("length", None) if matches!(ty, Type::Vec(..) | Type::Quat(_)) => ty.scalar_count().map(number),
            ("shape", None) => match ty {
                Type::Mat(r, c, _) => Some(Operand::Tuple(vec![number(u32::from(r)), number(u32::from(c))])),
                _ => None,
            },
            _ => None,
        }
    }

    /// `Solver.weight`, where the class holds kernel functions; None: it is no such name.
    fn class_attribute(&mut self, base: &ast::Expr, name: &ast::Name, span: Span) -> Option<Res<Operand>> {
        if self.is_library() {
            return None;
        }
        let scope = self.class_scope(base)?;
        let known = self.c.within(scope, |c| c.names().contains_key(&name.text));
        if known { self.c.within(scope, |c| c.global(&name.text, span)) } else { None }
    }

    /// The scope of the plain Python class that a path names: `Solver`, `module.Solver`,
    /// `Solver.Data`.
    fn class_scope(&mut self, path: &ast::Expr) -> Option<ScopeId> {
        match &path.kind {
            ast::ExprKind::Name(name) if !self.scope.contains_key(name) => {
                let found = self.c.follow(name);
                self.scope_of_class(name, found)
            }
            ast::ExprKind::Attribute { base, name } => {
                let scope = match &base.kind {
                    ast::ExprKind::Name(module) if !self.scope.contains_key(module) => match self.c.lookup(module)?.1 {
                        Global::Module(module) => {
                            let module = module.clone();
                            self.c.module(&module)?
                        }
                        _ => self.class_scope(base)?,
                    },
                    _ => self.class_scope(base)?,
                };
                let known = self.c.within(scope, |c| c.names().contains_key(&name.text));
                let found = if known { self.c.within(scope, |c| c.follow(&name.text)) } else { None };
                self.scope_of_class(&name.text, found)
            }
            _ => None,
        }
    }

    fn scope_of_class(&self, name: &str, found: Option<(ScopeId, Global)>) -> Option<ScopeId> {
        let (scope, class) = found?;
        match class {
            Global::Class(scope, _) => Some(scope),
            // A name of a type, with functions. Aliases in other files have other names.
            Global::Constant(_) | Global::Value(_) => self.c.scopes[scope].methods.get(name).copied(),
            _ => None,
        }
    }

    fn enum_member(&mut self, class: &EnumClass, name: &ast::Name, span: Span) -> Res<Operand> {
        if let Some(expr) = class.members.get(&name.text) {
            if let Some(place) = self.c.member_changed(class.scope, &class.name, &name.text) {
                let unknown = Unknown { name: format!("{}.{}", class.name, name.text), place, why: Why::Changed };
                return Err(self.c.need_unknown(&unknown));
            }
            let known = self.c.diagnostics.len();
            let result = self.c.within(class.scope, |c| c.constant(expr, false));
            if result.is_err() {
                // What only Python can compute is no mistake of the enumeration.
                self.c.leave_to_python(known, &format!("{}.{}", class.name, name.text), expr.span);
            }
            return result;
        }
        if self.c.within(class.scope, |c| c.names().contains_key(&name.text))
            && let Some(function) = self.c.within(class.scope, |c| c.global(&name.text, span))
        {
            return function;
        }
        Err(self.report(messages::names::member_of_enumeration(&class.name, &name.text, span)))
    }

    pub fn subscript(&mut self, base: &ast::Expr, indices: &[ast::Expr], span: Span) -> Res<Operand> {
        if self.is_library()
            && let ast::ExprKind::Name(name) = &base.kind
            && matches!(name.as_str(), "Vec" | "Mat" | "Quat" | "Transform")
        {
            let whole = ast::Expr {
                kind: ast::ExprKind::Subscript { base: Box::new(base.clone()), indices: indices.to_vec() },
                span,
            };
            let pattern = self.c.annotation(&whole, true)?;
            return match pattern.resolve(&self.function.bindings) {
                Some(ty) => Ok(Operand::Type(TypeWord::Type(ty))),
                None => Err(self.report(messages::types::open_parts(span))),
            };
        }
        if let [index] = indices
            && let Some(item) = self.returned_by(base, Some(index))
        {
            return item;
        }
        match self.expr(base)? {
            Operand::Adjoint => match indices {
                // `adjoint[x.field]` is `adjoint[x].field`.
                [ast::Expr { kind: ast::ExprKind::Attribute { base: inner, name }, .. }] => {
                    let (base, indices) = (Box::new(base.clone()), vec![(**inner).clone()]);
                    let whole = ast::Expr { kind: ast::ExprKind::Subscript { base, indices }, span };
                    let kind = ast::ExprKind::Attribute { base: Box::new(whole), name: name.clone() };
                    self.expr(&ast::Expr { kind, span })
                }
                _ => self.adjoint(indices, span),
            },
            Operand::Tuple(items) => match indices {
                [slice] if let Some(taken) = self.python_slice(&items, slice) => taken,
                _ => self.tuple_item(&items, indices, span),
            },
            Operand::Dict(_) if !self.is_host() => {
                let text = format!("wp.static({})", self.c.sources.text(span));
                let diagnostic = messages::values::lookup_in_dict(span);
                Err(self.replaced(diagnostic, span, &text))
            }
            Operand::Dict(dict) => self.dict_item(&dict, indices, span),
            Operand::Shape(array)
                if let [slice] = indices
                    && let Some(taken) = self.python_slice(&self.extents(&array, span), slice) =>
            {
                taken
            }
            Operand::Shape(array) => {
                // Every shape has four extents in memory; those past the rank are 0.
                let mut extents = self.extents(&array, span);
                let past = Operand::Const(Constant::untyped(Number::Int(0)));
                extents.resize(MAX_DIMS, past);
                self.tuple_item(&extents, indices, span)
            }
            Operand::Tile(view) if view.is_view => self.index_view(view, indices, span),
            operand => {
                let expr = self.materialize(operand, base.span)?;
                match expr.ty {
                    Type::Array(_) | Type::Local(_) => self.index_array(expr, indices, span),
                    ty if ty.is_composite() => self.index_composite(expr, indices, span),
                    ty if let Some(picked) = self.c.as_indexed(ty) => self.index_indexed(expr, picked, indices, span),
                    ty => {
                        let shown = self.show(ty);
                        Err(self.report(messages::indices::not_indexable(&shown, span)))
                    }
                }
            }
        }
    }

    fn tuple_item(&mut self, items: &[Operand], indices: &[ast::Expr], span: Span) -> Res<Operand> {
        let index = match indices {
            [index] => {
                let operand = self.expr(index)?;
                self.known_int(&operand)
            }
            _ => None,
        };
        let Some(index) = index else {
            let numbers = items.iter().all(|item| match item {
                Operand::Const(c) => matches!(c.number, Number::Float(_) | Number::Int(_)),
                Operand::Value(expr) => expr.ty.as_scalar().is_some(),
                _ => false,
            });
            if items.iter().all(|item| matches!(item, Operand::Function(_))) {
                let text = self.c.sources.text(span);
                let help = format!(
                    "in a loop of constant length, `wp.static({text})` is the function of each turn; elsewhere call each by its name, \
                     under an `if`"
                );
                return Err(self.report(messages::indices::function_at_run_time(&help, span)));
            }
            let vector = Some(items.len()).filter(|n| numbers && (2..=4).contains(n));
            return Err(self.report(messages::indices::tuple_at_run_time(vector, span)));
        };
        let wrapped = if index < 0 { index + items.len() as i128 } else { index };
        match usize::try_from(wrapped).ok().and_then(|k| items.get(k)) {
            Some(item) => Ok(item.clone()),
            None => Err(self.report(messages::indices::outside_tuple(index, items.len(), span))),
        }
    }

    fn index_array(&mut self, array: Expr, indices: &[ast::Expr], span: Span) -> Res<Operand> {
        let rank = usize::from(self.rank_of(array.ty));
        // Elements of tiles take the indices of their components in the same brackets.
        if let Type::Local(tile) = array.ty
            && has_components(tile, indices.len())
        {
            let element = self.index_array(array, &indices[..rank], span)?;
            return self.component_of(element, &indices[rank..], span);
        }
        if indices.len() > rank {
            let shown = self.show(array.ty);
            let mut diagnostic = messages::indices::too_many_for_array(indices.len(), rank, &shown, span);
            diagnostic = self.label_origin(diagnostic, &array, span);
            let axes = indices.iter().any(|index| matches!(index.kind, ast::ExprKind::None));
            diagnostic = match array.ty {
                _ if axes => messages::repairs::no_new_dimensions(diagnostic),
                Type::Array(_) if indices.len() <= MAX_DIMS => {
                    messages::repairs::declared_rank(diagnostic, rank, indices.len())
                }
                _ => diagnostic,
            };
            return Err(self.report(diagnostic));
        }
        if let Some(picked) = self.tile_gather(&Operand::Value(array.clone()), indices, span)? {
            return Ok(picked);
        }
        let mut dims = Vec::new();
        for index in indices {
            dims.push(self.view_index(index)?);
        }
        self.array_part(array, dims, span).map(Operand::Value)
    }

    /// The element or view that some dimensions of an array name; there are not more of them than
    /// the array has.
    pub fn array_part(&mut self, array: Expr, mut dims: Vec<ViewIndex>, span: Span) -> Res<Expr> {
        let mut ty = match array.ty {
            Type::Local(ty) => return self.local_part(array, ty, dims, span),
            Type::Array(ty) => ty,
            _ => return Err(crate::check::types::value::Reported),
        };
        // `a[i][j]` is `a[i, j]`: the view's fixed dimensions join the new ones.
        let array = match array.kind {
            ExprKind::View { array: inner, index } if index.iter().all(|i| matches!(i, ViewIndex::At(_))) => {
                dims.splice(0..0, index);
                *inner
            }
            kind => Expr { kind, ..array },
        };
        let fixed = dims.iter().filter(|d| matches!(d, ViewIndex::At(_))).count();
        let whole = usize::from(self.rank_of(array.ty));
        if fixed == whole {
            let index =
                dims.into_iter().filter_map(|d| if let ViewIndex::At(e) = d { Some(e) } else { None }).collect();
            let kind = ExprKind::Load { array: Box::new(array), index, path: Vec::new() };
            return Ok(self.guard_access(Expr::new(kind, ty.element.into(), span)));
        }
        ty.ndim = (whole - fixed) as u8;
        Ok(Expr::new(ExprKind::View { array: Box::new(array), index: dims }, Type::Array(ty), span))
    }

    pub fn view_index(&mut self, index: &ast::Expr) -> Res<ViewIndex> {
        if matches!(index.kind, ast::ExprKind::None) {
            let diagnostic = messages::indices::none(index.span);
            return Err(self.replaced(diagnostic, index.span, "0"));
        }
        if let ast::ExprKind::Slice { lower, upper, step } = &index.kind {
            return self.range_between([lower, upper, step].map(|bound| bound.as_deref()));
        }
        match self.slice_object(index)? {
            Some(range) => Ok(range),
            None => Ok(ViewIndex::At(self.int_value(index)?)),
        }
    }

    fn range_between(&mut self, bounds: [Option<&ast::Expr>; 3]) -> Res<ViewIndex> {
        let mut bound = |e: Option<&ast::Expr>| e.map(|e| self.int_value(e)).transpose();
        let [start, stop, step] = bounds;
        let (start, stop, step) = (bound(start)?, bound(stop)?, bound(step)?);
        if let Some(step) = &step
            && self.number(step).is_some_and(|number| !number.is_true())
        {
            return Err(self.report(messages::indices::step_of_elements_is_zero(step.span)));
        }
        Ok(ViewIndex::Range { start, stop, step })
    }

    /// `slice(stop)`, `slice(start, stop)` or `slice(start, stop, step)`, where `None` is a bound
    /// that is not given; None for everything else.
    pub fn slice_object(&mut self, expr: &ast::Expr) -> Res<Option<ViewIndex>> {
        let ast::ExprKind::Call { callee, args } = &expr.kind else { return Ok(None) };
        if !matches!(&callee.kind, ast::ExprKind::Name(name) if name == "slice" && !self.scope.contains_key(name)) {
            return Ok(None);
        }
        if self.c.lookup("slice").is_some() {
            return Ok(None);
        }
        let given: Vec<Option<&ast::Expr>> = args
            .iter()
            .map(|arg| Some(&arg.value).filter(|bound| !matches!(bound.kind, ast::ExprKind::None)))
            .collect();
        if let Some(keyword) = args.iter().find_map(|arg| arg.name.as_ref()) {
            return Err(self.report(messages::indices::keyword_of_slice(keyword.span)));
        }
        let bounds = match given[..] {
            [stop] => [None, stop, None],
            [start, stop] => [start, stop, None],
            [start, stop, step] => [start, stop, step],
            _ => {
                return Err(self.report(messages::indices::arguments_of_slice(given.len(), expr.span)));
            }
        };
        self.range_between(bounds).map(Some)
    }

    /// An expression of an integer type.
    pub fn int_value(&mut self, expr: &ast::Expr) -> Res<Expr> {
        let value = self.value(expr)?;
        if value.ty.is_int() {
            return Ok(value);
        }
        let shown = self.show(value.ty);
        let diagnostic = messages::indices::not_an_integer(&shown, expr.span);
        let cast = (value.ty, Scalar::I32);
        Err(self.report(self.suggest_cast(diagnostic, expr.span, cast, "it", Applicability::Maybe)))
    }

    /// The component of an element of a tile, by the indices that are left.
    pub fn component_of(&mut self, element: Operand, indices: &[ast::Expr], span: Span) -> Res<Operand> {
        let element = self.materialize(element, span)?;
        self.index_composite(element, indices, span)
    }

    fn index_composite(&mut self, base: Expr, indices: &[ast::Expr], span: Span) -> Res<Operand> {
        let mut lets = Vec::new();
        if let Some(slice) = self.composite_slice(base.ty, indices, span, &mut lets)? {
            return Ok(Operand::Value(self.read_slice(base, slice, lets, span)));
        }
        if let ([index], Type::Transform(s)) = (indices, base.ty) {
            return self.index_transform(base, s, index, span);
        }
        let depth = if matches!(base.ty, Type::Mat(..)) { 2 } else { 1 };
        if indices.len() > depth {
            let shown = self.show(base.ty);
            return Err(self.report(messages::indices::too_many_for_value(indices.len(), &shown, depth, span)));
        }
        let (whole, mut expr) = (base.ty, base);
        for (level, index) in indices.iter().enumerate() {
            let count = expr.ty.step_count(&self.c.output.structs);
            let step = self.component_step(index, count, whole, level)?;
            expr = self.part(expr, step, span);
        }
        Ok(Operand::Value(expr))
    }
}

/// Whether so many indices name a component of an element of a tile, or a row of one.
pub fn has_components(tile: LocalArrayType, indices: usize) -> bool {
    let own = match Type::from(tile.element) {
        Type::Mat(..) => 2,
        Type::Vec(..) | Type::Quat(_) => 1,
        _ => 0,
    };
    let rank = usize::from(tile.ndim);
    tile.block && (rank + 1..=rank + own).contains(&indices)
}
