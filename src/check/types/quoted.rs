//! Annotations in quotes: `x: "wp.array(dtype=float)"` means what is between them.

use crate::check::Checker;
use crate::diag::Diagnostics;
use crate::source::Span;
use crate::syntax::ast::{Arg, Constant, Expr, ExprKind, Item, Name};

/// What is before the text that is read, to make it a line of Python.
const BEFORE: &str = "_ = ";

impl Checker<'_> {
    /// The expression that a quoted annotation holds; None: it is none, or it is written in a way
    /// that hides where its parts stand.
    pub fn quoted(&self, text: &str, span: Span) -> Option<Expr> {
        let written = self.sources.text(span);
        let inner = ['"', '\''].iter().find_map(|quote| written.strip_prefix(*quote)?.strip_suffix(*quote))?;
        if inner != text {
            return None;
        }
        let line = format!("{BEFORE}{text}\n");
        let mut faults = Diagnostics::new();
        let parsed = crate::syntax::parse(span.file, &line, &mut faults);
        match <[Item; 1]>::try_from(parsed.items) {
            Ok([Item::Constant(Constant { value, .. })]) if faults.is_empty() => moved(&value, span.start + 1),
            _ => None,
        }
    }
}

/// A type expression that was read behind [`BEFORE`], at its place in the file.
fn moved(expr: &Expr, start: u32) -> Option<Expr> {
    let at = |span: Span| Span {
        start: span.start + start - BEFORE.len() as u32,
        end: span.end + start - BEFORE.len() as u32,
        ..span
    };
    let inner = |expr: &Expr| moved(expr, start);
    let name = |name: &Name| Name { text: name.text.clone(), span: at(name.span) };
    let kind = match &expr.kind {
        ExprKind::Name(_) | ExprKind::Int(_) | ExprKind::None => expr.kind.clone(),
        ExprKind::Attribute { base, name: word } => {
            ExprKind::Attribute { base: Box::new(inner(base)?), name: name(word) }
        }
        ExprKind::Call { callee, args } => {
            let arg = |arg: &Arg| Some(Arg { name: arg.name.as_ref().map(name), value: inner(&arg.value)? });
            ExprKind::Call { callee: Box::new(inner(callee)?), args: args.iter().map(arg).collect::<Option<_>>()? }
        }
        ExprKind::Subscript { base, indices } => ExprKind::Subscript {
            base: Box::new(inner(base)?),
            indices: indices.iter().map(inner).collect::<Option<_>>()?,
        },
        ExprKind::Tuple(items) => ExprKind::Tuple(items.iter().map(inner).collect::<Option<_>>()?),
        _ => return None,
    };
    Some(Expr { kind, span: at(expr.span) })
}
