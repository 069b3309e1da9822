//! What host code hands around beside numbers and types: kernels, and functions of Python.

use std::rc::Rc;

use crate::check::Checker;
use crate::check::body::Body;
use crate::check::names::member::{is_builtin_alias, is_warp};
use crate::check::state::globals::{Global, Maker, Scope, Unknown, Why};
use crate::check::types::value::{HostValue, Operand, Reported, Res, ScopeId, TypeWord};
use crate::memo::Same;
use crate::source::Span;
use crate::syntax::ast::{self, ExprKind, Item, Runs};
use crate::syntax::visit;
use crate::types::{ArrayType, Type};

impl Checker<'_> {
    /// Enters a block of host code that opens no scope. True: what follows it does not run.
    pub fn collect_block(&mut self, runs: &Runs, items: &[Item]) -> bool {
        let runs = match runs {
            Runs::Where(conditions) => match self.holds(conditions) {
                Some(false) => return false,
                Some(true) => &Runs::Always,
                None => &Runs::Maybe,
            },
            runs => runs,
        };
        let outer = self.scopes.conditional;
        self.scopes.conditional |= runs.is_conditional();
        let before = self.scopes.here_mut().returned.take();
        let ends = self.collect_items(items);
        let inner = self.scopes.here_mut().returned.take();
        let always = matches!(runs, Runs::Always);
        self.scopes.here_mut().returned = match (before, inner) {
            (before, None) => before,
            (None, Some(value)) if always => Some(value),
            // What does not always run may return something else, or nothing.
            (_, Some(_)) => Some(None),
        };
        self.scopes.conditional = outer;
        always && ends
    }

    /// Whether conditions are what they have to be. None: not all are known.
    fn holds(&mut self, conditions: &[(ast::Expr, bool)]) -> Option<bool> {
        // A file runs once, and all of it is of interest.
        self.scopes.here().parent?;
        let mut all = Some(true);
        for (condition, wanted) in conditions {
            match self.host_value(condition).as_ref().and_then(truth) {
                Some(found) if found != *wanted => return Some(false),
                Some(_) => {}
                None => all = None,
            }
        }
        all
    }

    /// The host function that a callee names: here, or in another module.
    pub fn maker_of(&mut self, callee: &ast::Expr) -> Option<Rc<Maker>> {
        let global = match &callee.kind {
            ExprKind::Name(name) => self.follow(name)?.1,
            ExprKind::Attribute { base, name } => {
                let ExprKind::Name(base) = &base.kind else { return None };
                match self.follow(base)?.1 {
                    Global::Module(path) if !is_warp(&path) && !is_builtin_alias(&path) => {
                        let scope = self.module(&path)?;
                        self.within(scope, |c| c.follow(&name.text))?.1
                    }
                    Global::Enum(class) => self.scopes[class.scope].names.get(&name.text)?.clone(),
                    Global::Class(scope, _) => self.scopes[scope].names.get(&name.text)?.clone(),
                    _ => return None,
                }
            }
            _ => return None,
        };
        match global {
            Global::Maker(maker) | Global::Value(Operand::Host(HostValue::Function(maker))) => Some(maker),
            _ => None,
        }
    }

    /// Whether a call is one of a host function that only computes.
    pub fn callee_computes(&mut self, call: &ast::Expr) -> bool {
        let ExprKind::Call { callee, .. } = &call.kind else { return false };
        self.maker_of(callee).is_some_and(|maker| maker.computes)
    }

    /// What a host function returns, in the scope of a call.
    pub fn returned_value(&mut self, scope: ScopeId, value: &ast::Expr, computes: bool) -> Res<Operand> {
        if !computes {
            return self.within(scope, |c| c.constant(value, false));
        }
        // A function that computes may do so by all that Python has: what fails is no mistake.
        self.quietly(|c| c.within(scope, |c| c.constant(value, false))).0
    }

    /// What `function.name = value` bound. None: nothing did.
    pub fn attribute_of_function(
        &mut self,
        scope: ScopeId,
        function: &str,
        name: &str,
        span: Span,
    ) -> Option<Res<Operand>> {
        let path = format!("{function}.{name}");
        self.scopes[scope].names.contains_key(&path).then_some(())?;
        self.within(scope, |c| c.global(&path, span))
    }

    /// What `self.name = value` bound in the `__init__` of an object.
    pub fn attribute_of_object(&mut self, scope: ScopeId, name: &str, span: Span) -> Res<Operand> {
        let this = match self.scopes[scope].this.clone() {
            Some(this) => this,
            None => return Err(Reported),
        };
        match self.attribute_of_function(scope, &this, name, span) {
            Some(value) => value,
            None => Err(self.need_unknown(&Unknown {
                name: name.to_string(),
                place: span,
                why: Why::Computed(Some(format!("`__init__` does not bind `{this}.{name}`"))),
            })),
        }
    }

    /// The object that a call of a class makes. None: it is no class with an `__init__` that is
    /// read.
    pub fn object_of(&mut self, callee: &ast::Expr, args: &[ast::Arg]) -> Option<ScopeId> {
        let ExprKind::Name(name) = &callee.kind else { return None };
        let (_, Global::Class(class, _)) = self.follow(name)? else { return None };
        let Some(Global::Maker(init)) = self.scopes[class].names.get("__init__").cloned() else { return None };
        let this = init.params.first()?.name.text.clone();
        let object = ast::Arg { name: None, value: ast::Expr { kind: ExprKind::Opaque, span: callee.span } };
        let args: Vec<ast::Arg> = std::iter::once(object).chain(args.iter().cloned()).collect();
        let scope = self.scope_of_call(&init, &args)?;
        self.scopes[scope].this = Some(this);
        Some(scope)
    }

    /// The scopes of functions that bind `self.name`, where `self` is the object whose functions
    /// the current one is among.
    pub fn bindings_of_self(&mut self, this: &str, name: &str) -> Vec<ScopeId> {
        let mut at = Some(self.scopes.current);
        while let Some(id) = at.filter(|id| !self.scopes[*id].is_class) {
            at = self.scopes[id].parent;
        }
        let Some(class) = at else { return Vec::new() };
        let is_new = |maker: &Maker| maker.scope == class && maker.computes;
        let new = self.host.makers.iter().filter(|(maker, scopes)| scopes.is_empty() && is_new(maker));
        for maker in new.map(|(maker, _)| maker.clone()).collect::<Vec<_>>() {
            self.maker_scope(&maker, vec![None; maker.params.len()]);
        }
        let path = format!("{this}.{name}");
        let inside = |(_, scope): &(ScopeId, &Scope)| scope.parent == Some(class) && scope.names.contains_key(&path);
        self.scopes.iter().filter(inside).map(|(id, _)| id).collect()
    }

    /// A function of Python without a name.
    fn lambda(&mut self, lambda: &ast::Lambda, span: Span) -> Operand {
        let scope = self.scopes.current;
        let same = |maker: &Maker| maker.name.span == span && maker.scope == scope;
        let known = self.host.makers.iter().find(|(maker, _)| same(maker)).map(|(maker, _)| maker.clone());
        let maker = known.unwrap_or_else(|| {
            let name = ast::Name { text: "lambda".to_string(), span };
            let items = vec![Item::Return(lambda.body.clone())];
            let maker = Rc::new(Maker { name, params: lambda.params.clone(), items, scope, computes: true });
            self.host.makers.push((maker.clone(), Vec::new()));
            maker
        });
        Operand::Host(HostValue::Function(maker))
    }
}

impl Body<'_, '_> {
    /// A kernel or function of Python, where host code computes. None: the name is none.
    pub fn host_name(&mut self, name: &str) -> Option<Operand> {
        if !self.c.evaluation.hosting || !self.is_python() {
            return None;
        }
        Some(Operand::Host(match self.c.follow(name)?.1 {
            Global::Kernel(kernel) => HostValue::Kernel(Same(kernel)),
            Global::Maker(maker) => HostValue::Function(maker),
            _ => return None,
        }))
    }

    /// What only host code computes: functions without a name, types of arrays, the entries of
    /// dicts. None: it is something else.
    pub fn host_expr(&mut self, expr: &ast::Expr) -> Option<Res<Operand>> {
        if !self.c.evaluation.hosting || !self.is_python() {
            return None;
        }
        match &expr.kind {
            ExprKind::Lambda(lambda) => Some(Ok(self.c.lambda(lambda, expr.span))),
            ExprKind::Subscript { base, indices } => {
                let rank = self.array_word(base)?;
                let [element] = indices.as_slice() else { return None };
                Some(self.array_of(element, rank))
            }
            ExprKind::Call { callee, args } => {
                if let (ExprKind::Attribute { base, name }, []) = (&callee.kind, args.as_slice())
                    && matches!(name.text.as_str(), "items" | "keys" | "values")
                {
                    let Ok(Operand::Dict(dict)) = self.expr(base) else { return Some(Err(Reported)) };
                    return Some(self.entries(&dict, &name.text, expr.span));
                }
                if let Some(object) = self.c.object_of(callee, args) {
                    return Some(Ok(Operand::Host(HostValue::Object(object))));
                }
                let mut rank = self.array_word(callee)?;
                let mut element = None;
                for arg in args {
                    match arg.name.as_ref().map(|name| name.text.as_str()) {
                        Some("dtype") => element = Some(&arg.value),
                        Some("ndim") => {
                            let ndim = self.expr(&arg.value).ok()?;
                            rank = u8::try_from(self.known_int(&ndim)?).ok().filter(|n| (1..=4).contains(n))?;
                        }
                        _ => return None,
                    }
                }
                Some(self.array_of(element?, rank))
            }
            _ => None,
        }
    }

    /// The rank of `wp.array`, `wp.array2d` and the like.
    fn array_word(&mut self, word: &ast::Expr) -> Option<u8> {
        match self.c.warp_word(word)?.as_str() {
            "array" | "array1d" => Some(1),
            "array2d" => Some(2),
            "array3d" => Some(3),
            "array4d" => Some(4),
            _ => None,
        }
    }

    fn array_of(&mut self, element: &ast::Expr, ndim: u8) -> Res<Operand> {
        match self.expr(element)? {
            Operand::Type(TypeWord::Type(ty)) if let Some(element) = ty.element() => {
                Ok(Operand::Type(TypeWord::Type(Type::Array(ArrayType { element, ndim }))))
            }
            _ => Err(Reported),
        }
    }
}

/// Whether a value counts as true in Python. None: that is not known.
pub(crate) fn truth(value: &Operand) -> Option<bool> {
    Some(match value {
        Operand::Const(constant) => constant.number.is_true(),
        Operand::Str(text) => !text.is_empty(),
        Operand::Tuple(items) => !items.is_empty(),
        Operand::Dict(dict) => dict.len() > 0,
        Operand::Type(TypeWord::None) => false,
        Operand::Type(_) | Operand::Function(_) | Operand::Module(_) | Operand::Enum(_) | Operand::Host(_) => true,
        _ => return None,
    })
}

/// The calls in what host code binds and returns.
pub(crate) fn calls<'a>(items: &'a [Item], f: &mut dyn FnMut(&'a ast::Expr)) {
    for item in items {
        match item {
            Item::Constant(ast::Constant { value, .. }) | Item::Return(value) => visit::walk(value, &mut |part| {
                if matches!(part.kind, ExprKind::Call { .. }) {
                    f(part);
                }
            }),
            Item::Region(ast::Region { kind: ast::RegionKind::Block(_), items, .. }) => calls(items, f),
            _ => {}
        }
    }
}

/// Whether a value has parts that host code alone has.
pub(crate) fn is_of_host(value: &Operand) -> bool {
    match value {
        Operand::Host(_) => true,
        Operand::Tuple(items) => items.iter().any(is_of_host),
        _ => false,
    }
}
