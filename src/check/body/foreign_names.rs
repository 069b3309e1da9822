//! Which expressions are those of another library or of host code? They are known by their shape,
//! and refused as a whole: what is inside them follows other rules, too.

use crate::check::body::{Binding, Body, Mode};
use crate::check::messages;
use crate::check::names::foreign::{self, Advice};
use crate::check::names::member::is_warp;
use crate::check::state::globals::Global;
use crate::check::types::value::Reported;
use crate::diag::Diagnostic;
use crate::source::Span;
use crate::syntax::ast::{self, ExprKind};

/// `a.b.c` as its words, outermost last. None: no such path.
fn words(expr: &ast::Expr) -> Option<Vec<&str>> {
    let (mut at, mut words) = (expr, Vec::new());
    loop {
        match &at.kind {
            ExprKind::Attribute { base, name } => {
                words.push(name.text.as_str());
                at = base;
            }
            ExprKind::Name(name) => {
                words.push(name);
                words.reverse();
                return Some(words);
            }
            _ => return None,
        }
    }
}

impl Body<'_, '_> {
    /// Reports an expression of user code that belongs to another library or to host code. None: it
    /// is none, as far as its shape shows.
    pub fn foreign(&mut self, expr: &ast::Expr) -> Option<Reported> {
        if self.mode != Mode::User {
            return None;
        }
        match &expr.kind {
            ExprKind::Call { callee, args } => self.foreign_call(expr, callee, args),
            ExprKind::Attribute { .. } | ExprKind::Name(_) => {
                let path = self.foreign_path(expr)?;
                Some(self.refuse(&path, expr, None))
            }
            ExprKind::Binary { .. } if self.is_thread_number(expr) => {
                let diagnostic = messages::names::thread_number(expr.span);
                Some(self.replaced(diagnostic, expr.span, "wp.tid()"))
            }
            _ => None,
        }
    }

    /// The full path of a name of a known library: `numba.cuda.grid`.
    fn foreign_path(&mut self, expr: &ast::Expr) -> Option<String> {
        let words = words(expr)?;
        let (root, rest) = words.split_first()?;
        if self.scope.contains_key(*root) {
            return None;
        }
        let base = match self.c.lookup(root).map(|(_, global)| global) {
            Some(Global::Module(path)) => path.clone(),
            Some(Global::Member { module, name }) => format!("{module}.{name}"),
            Some(_) => return None,
            // CUDA's own words need no import.
            None if foreign::is_thread_number(root) => format!("cuda.{root}"),
            // The names under which everybody imports them, left behind in a kernel that was
            // copied.
            None if !rest.is_empty() => foreign::of_custom(root)?.to_string(),
            None => return None,
        };
        let module = base.split('.').next().unwrap_or(&base);
        foreign::library_of(&base)?;
        // A file of this name is the user's own.
        let cuda = module == "cuda";
        if !cuda && self.c.module(module).is_some() {
            return None;
        }
        Some(std::iter::once(base.as_str()).chain(rest.iter().copied()).collect::<Vec<_>>().join("."))
    }

    fn foreign_call(&mut self, expr: &ast::Expr, callee: &ast::Expr, args: &[ast::Arg]) -> Option<Reported> {
        if let Some(vector) = self.vector_of_list(callee, args) {
            let text = self.c.sources.text(callee.span).to_string();
            let diagnostic = messages::names::vector_of_list(&text, expr.span);
            return Some(self.replaced(diagnostic, expr.span, &vector));
        }
        if let Some(path) = self.foreign_path(callee) {
            return Some(self.refuse(&path, callee, Some((expr.span, args))));
        }
        if let ExprKind::Attribute { base, name } = &callee.kind {
            if let ExprKind::Name(module) = &base.kind
                && !self.scope.contains_key(module)
                && let Some((_, Global::Module(path))) = self.c.lookup(module)
                && is_warp(path)
                && let Some(help) = foreign::of_host_warp(&name.text)
            {
                let text = self.c.sources.text(callee.span).to_string();
                let diagnostic = messages::names::host_function(&text, callee.span);
                return Some(self.report(diagnostic.help(help)));
            }
            return self.method(expr.span, base, name, args);
        }
        None
    }

    /// `v.norm()`, `x.to(float)`: values have no methods.
    fn method(&mut self, span: Span, base: &ast::Expr, name: &ast::Name, args: &[ast::Arg]) -> Option<Reported> {
        let mut root = base;
        while let ExprKind::Attribute { base, .. } | ExprKind::Subscript { base, .. } = &root.kind {
            root = base;
        }
        let ExprKind::Name(variable) = &root.kind else { return None };
        if !matches!(self.scope.get(variable), Some(Binding::Local(_))) {
            return None;
        }
        let text = |span: Span| self.c.sources.text(span).to_string();
        let value = text(base.span);
        let shown: Vec<String> = args.iter().map(|arg| text(arg.value.span)).collect();
        let written = match (name.text.as_str(), args) {
            ("to" | "astype" | "cast", [to]) => {
                let word = words(&to.value)?.last().copied()?;
                let ty = match word {
                    "float" | "int" | "bool" => word.to_string(),
                    word => format!("wp.{}", foreign::short_type(word)?),
                };
                format!("{ty}({value})")
            }
            (word, _) => {
                let function = format!("wp.{}", foreign::of_method(word)?);
                format!("{function}({})", std::iter::once(value).chain(shown).collect::<Vec<_>>().join(", "))
            }
        };
        let diagnostic = messages::names::method(&name.text, name.span);
        Some(self.replaced(diagnostic, span, &written))
    }

    /// `np.array([a, b, c])` as a vector.
    fn vector_of_list(&mut self, callee: &ast::Expr, args: &[ast::Arg]) -> Option<String> {
        let [ast::Arg { name: None, value }, ..] = args else { return None };
        let made = matches!(words(callee)?.last().copied()?, "array" | "asarray" | "Vector" | "tensor" | "stack");
        let module = self.foreign_path(callee).is_some() || {
            let root = words(callee)?.first().copied()?.to_string();
            matches!(self.c.lookup(&root), Some((_, Global::Module(path))) if path == "numpy")
        };
        if made && module { self.vector_text(value) } else { None }
    }

    /// A list of two to four items as the call that makes a vector of them.
    pub fn vector_text(&self, list: &ast::Expr) -> Option<String> {
        self.matrix_text(list).or_else(|| self.row_text(list))
    }

    /// What a list represents that says a shape or an offset, by its name or in a call that takes
    /// no other lists: a tuple.
    pub fn tuple_for_list(&self, callee: &ast::Expr, arg: &ast::Arg) -> Option<String> {
        let ExprKind::List(items) = &arg.value.kind else { return None };
        let extents = match &arg.name {
            Some(name) => matches!(name.text.as_str(), "shape" | "offset" | "strides"),
            None => words(callee)?.last().is_some_and(|word| *word == "zeros" || word.starts_with("tile_")),
        };
        let plain = items.iter().all(|item| !matches!(item.kind, ExprKind::List(_) | ExprKind::Starred(_)));
        if !extents || !plain || items.is_empty() {
            return None;
        }
        let parts: Vec<&str> = items.iter().map(|item| self.c.sources.text(item.span)).collect();
        let comma = if parts.len() == 1 { "," } else { "" };
        Some(format!("({}{comma})", parts.join(", ")))
    }

    /// Likewise a matrix for a list of lists.
    fn matrix_text(&self, list: &ast::Expr) -> Option<String> {
        let ExprKind::List(rows) = &list.kind else { return None };
        let parts = rows.iter().map(|row| match &row.kind {
            ExprKind::List(items) => Some(items.as_slice()),
            _ => None,
        });
        let parts = parts.collect::<Option<Vec<_>>>()?;
        let columns = parts.first()?.len();
        let plain = |item: &ast::Expr| !matches!(item.kind, ExprKind::List(_) | ExprKind::Starred(_));
        if ![rows.len(), columns].iter().all(|n| (2..=4).contains(n))
            || parts.iter().any(|row| row.len() != columns || !row.iter().all(plain))
        {
            return None;
        }
        let items: Vec<&str> = parts.into_iter().flatten().map(|item| self.c.sources.text(item.span)).collect();
        match rows.len() == columns {
            true => Some(format!("wp.mat{columns}{columns}({})", items.join(", "))),
            false => Some(format!("wp.matrix({}, shape=({}, {columns}))", items.join(", "), rows.len())),
        }
    }

    fn row_text(&self, list: &ast::Expr) -> Option<String> {
        let ExprKind::List(items) = &list.kind else { return None };
        let plain =
            |item: &ast::Expr| !matches!(item.kind, ExprKind::List(_) | ExprKind::Starred(_) | ExprKind::Tuple(_));
        if !(2..=4).contains(&items.len()) || !items.iter().all(plain) {
            return None;
        }
        let parts: Vec<&str> = items.iter().map(|item| self.c.sources.text(item.span)).collect();
        let whole = parts.iter().all(|part| part.trim_start_matches('-').bytes().all(|c| c.is_ascii_digit()));
        let ty = format!("wp.vec{}{}", items.len(), if whole { "i" } else { "" });
        Some(format!("{ty}({})", parts.join(", ")))
    }

    /// Whether an expression computes with the indices of blocks and threads, and with nothing
    /// else.
    fn is_thread_number(&mut self, expr: &ast::Expr) -> bool {
        let mut asks = false;
        let mut pending = vec![expr];
        while let Some(part) = pending.pop() {
            match &part.kind {
                ExprKind::Binary { left, right, .. } => pending.extend([&**left, &**right]),
                ExprKind::Int(_) => {}
                _ => match self.foreign_path(part) {
                    Some(path) if foreign::is_thread_number(&path) => asks |= path.contains("threadIdx"),
                    _ => return false,
                },
            }
        }
        asks
    }

    /// Reports a name of another library; `call` is the call of it, if it is called.
    fn refuse(&mut self, path: &str, at: &ast::Expr, call: Option<(Span, &[ast::Arg])>) -> Reported {
        let text = self.c.sources.text(at.span).to_string();
        let library = foreign::library_of(path).unwrap_or("host Python");
        let diagnostic = messages::names::foreign_name(&text, library, at.span);
        let source = |span: Span| self.c.sources.text(span).to_string();
        let element = |args: &[ast::Arg]| match args {
            [ast::Arg { value: ast::Expr { kind: ExprKind::Subscript { base, indices }, .. }, .. }, rest @ ..] => {
                let indices = indices.iter().map(|index| source(index.span));
                let rest = rest.iter().map(|arg| source(arg.value.span));
                Some(std::iter::once(source(base.span)).chain(indices).chain(rest).collect::<Vec<_>>().join(", "))
            }
            _ => None,
        };
        let last = path.rsplit('.').next().unwrap_or_default();
        match (foreign::of_path(path), call) {
            (_, Some((span, [value, to]))) if last == "cast" => {
                let to = words(&to.value).and_then(|words| foreign::short_type(words.last()?));
                let ty = format!("wp.{}", to.unwrap_or("float32"));
                let text = format!("{ty}({})", source(value.value.span));
                self.replaced(diagnostic, span, &text)
            }
            (Advice::Whole(name), Some((span, _))) => {
                let text = format!("wp.{name}()");
                self.replaced(diagnostic, span, &text)
            }
            (Advice::Argument, Some((span, [arg, ..]))) => {
                let text = source(arg.value.span);
                self.replaced(diagnostic, span, &text)
            }
            // `ti.atomic_add(x[i], value)` names the array and the index apart here.
            (Advice::Name(name), Some((span, args))) if name.starts_with("atomic_") && element(args).is_some() => {
                let text = format!("wp.{name}({})", element(args).unwrap_or_default());
                self.replaced(diagnostic, span, &text)
            }
            (Advice::Name(name) | Advice::Whole(name), _) => {
                let text = format!("wp.{name}");
                self.replaced(diagnostic, at.span, &text)
            }
            (Advice::Word(name), _) => self.replaced(diagnostic, at.span, name),
            (Advice::Argument, _) => self.report(diagnostic),
            (Advice::Say(help), _) => self.report(diagnostic.help(help)),
        }
    }

    /// Reports with the text that belongs at `span`.
    pub fn replaced(&mut self, diagnostic: Diagnostic, span: Span, text: &str) -> Reported {
        self.report(messages::repairs::written_so(diagnostic, text, span))
    }
}
