//! Annotations that name types of other libraries: `np.ndarray`, `float[:]`, `tl.constexpr`.

use crate::check::Checker;
use crate::check::messages;
use crate::check::names::foreign::{self, Advice};
use crate::check::state::globals::Global;
use crate::check::types::value::{Reported, type_of_name};
use crate::syntax::ast::{Expr, ExprKind};

impl Checker<'_> {
    /// Reports an annotation of another library's, or of Python's own, with what to write instead.
    /// None: it is none of these.
    pub fn foreign_annotation(&mut self, expr: &Expr) -> Option<Reported> {
        let word = if let ExprKind::Subscript { base, .. } = &expr.kind { base } else { expr };
        if let Some((Some(path), _)) = self.annotated_path(word)
            && matches!(path.as_str(), "builtins.tuple" | "builtins.Tuple" | "typing.Tuple")
        {
            let diagnostic = messages::types::tuple_parameter(expr.span);
            return Some(self.report(diagnostic));
        }
        let written = match &expr.kind {
            ExprKind::Subscript { base, indices } => {
                let (path, word) = self.annotated_path(base)?;
                if indices.iter().all(|index| matches!(index.kind, ExprKind::Slice { .. })) {
                    self.array_text(&self.element_text(&word)?, indices.len())
                } else if foreign::is_array_class(&word) && path.is_some() {
                    let element = indices.first().and_then(|index| match &index.kind {
                        ExprKind::Name(name) => self.element_text(name),
                        _ => None,
                    });
                    self.array_text(&element.unwrap_or_else(|| "float".into()), 1)
                } else {
                    return None;
                }
            }
            ExprKind::Call { callee, .. } => {
                let (path, word) = self.annotated_path(callee)?;
                let path = path.filter(|path| foreign::library_of(path).is_some())?;
                match foreign::is_array_class(&word) {
                    true => self.array_text("float", 1),
                    false => return Some(self.foreign_type(expr, &path)),
                }
            }
            ExprKind::Name(_) | ExprKind::Attribute { .. } => {
                let (path, word) = self.annotated_path(expr)?;
                let path = path?;
                if path == "builtins.str" {
                    let diagnostic = messages::types::string_parameter(expr.span);
                    return Some(self.report(diagnostic));
                } else if foreign::is_array_class(&word) {
                    self.array_text("float", 1)
                } else if foreign::library_of(&path).is_some() {
                    return Some(self.foreign_type(expr, &path));
                } else {
                    return None;
                }
            }
            _ => return None,
        };
        Some(self.instead_of(expr, &written))
    }

    fn instead_of(&mut self, expr: &Expr, written: &str) -> Reported {
        let text = self.sources.text(expr.span).to_string();
        self.report(messages::types::foreign_type(&text, written, expr.span))
    }

    fn foreign_type(&mut self, expr: &Expr, path: &str) -> Reported {
        match foreign::of_path(path) {
            Advice::Name(name) => {
                let text = format!("wp.{name}");
                self.instead_of(expr, &text)
            }
            Advice::Word(word) => self.instead_of(expr, word),
            advice => {
                let text = self.sources.text(expr.span).to_string();
                let help =
                    if let Advice::Say(help) = advice { help } else { "types are `float`, `wp.vec3`, arrays, ..." };
                self.report(messages::types::foreign_type_without_name(&text, help, expr.span))
            }
        }
    }

    /// `wp.array2d(dtype=float)`
    fn array_text(&self, element: &str, ndim: usize) -> String {
        let word = if ndim <= 1 { "array".to_string() } else { format!("array{}d", ndim.min(4)) };
        format!("wp.{word}(dtype={element})")
    }

    fn element_text(&self, word: &str) -> Option<String> {
        match word {
            "float" | "int" | "bool" => Some(word.to_string()),
            _ => foreign::short_type(word).map(|name| format!("wp.{name}")),
        }
    }

    /// The path of a name that is no type of ours, with its last word. The path is None for a plain
    /// type, such as `float`.
    fn annotated_path(&mut self, expr: &Expr) -> Option<(Option<String>, String)> {
        let mut words = Vec::new();
        let mut at = expr;
        let root = loop {
            match &at.kind {
                ExprKind::Attribute { base, name } => {
                    words.push(name.text.clone());
                    at = base;
                }
                ExprKind::Name(name) => break name,
                _ => return None,
            }
        };
        words.reverse();
        let base = match self.lookup(root).map(|(_, global)| global) {
            Some(Global::Module(path)) => path.clone(),
            Some(Global::Member { module, name }) => format!("{module}.{name}"),
            Some(_) => return None,
            None if type_of_name(root).is_some() => return Some((None, root.clone())),
            None if matches!(root.as_str(), "list" | "List" | "tuple" | "Tuple" | "str" | "Sequence") => {
                format!("builtins.{root}")
            }
            None => return None,
        };
        let outside = matches!(base.split('.').next(), Some("numpy" | "typing" | "builtins" | "collections"))
            || foreign::library_of(&base).is_some() && self.module(base.split('.').next()?).is_none();
        let path = std::iter::once(base).chain(words).collect::<Vec<_>>().join(".");
        let last = path.rsplit('.').next()?.to_string();
        outside.then_some((Some(path), last))
    }
}
