//! Does a function return what its annotation says?

use crate::check::body::Body;
use crate::check::messages;
use crate::check::state::definition::Definition;
use crate::check::types::pattern::Pattern;
use crate::diag::Applicability;
use crate::source::Span;
use crate::syntax::ast::{ExprKind, StmtKind};
use crate::types::{Scalar, Type};

impl Body<'_, '_> {
    /// Reports a kernel with an annotation of what it returns, which can be `None` alone.
    pub fn no_promise(&mut self, definition: &Definition) {
        let Some(promised) = definition.ast.returns.as_ref().filter(|it| !matches!(it.kind, ExprKind::None)) else {
            return;
        };
        let mut diagnostic = messages::statements::kernel_promises_result(promised.span);
        let text = &self.c.sources.file(promised.span.file).text;
        let before = text.get(..promised.span.start as usize).and_then(|before| before.rfind("->"));
        if let Some(arrow) = before {
            let start = text[..arrow].trim_end().len() as u32;
            let at = Span { start, ..promised.span };
            diagnostic = messages::repairs::no_annotation(diagnostic, at);
        }
        self.report(diagnostic);
    }

    /// The number that a function's annotation says it returns.
    pub fn promised_scalar(&mut self, definition: &Definition) -> Option<Scalar> {
        let promised = definition.ast.returns.as_ref().filter(|_| self.adapts() && !definition.kernel)?;
        if self.c.settings.double || matches!(promised.kind, ExprKind::None) {
            return None;
        }
        let (pattern, _) = self.c.within(definition.scope, |c| c.quietly(|c| c.annotation(promised, false)));
        match pattern {
            Ok(Pattern::Exact(wanted)) => wanted.as_scalar(),
            _ => None,
        }
    }

    /// Reports a function that returns nothing, or one value of another type, where its annotation
    /// promises a type.
    pub fn keep_promise(&mut self, definition: &Definition) {
        let Some(promised) = &definition.ast.returns else { return };
        // In double precision the types are others than those written.
        if self.c.settings.double || matches!(promised.kind, ExprKind::None) {
            return;
        }
        let (pattern, _) = self.c.within(definition.scope, |c| c.quietly(|c| c.annotation(promised, false)));
        let Ok(Pattern::Exact(wanted)) = pattern else { return };
        let name = &definition.ast.name;
        let shown = self.show(wanted);
        match self.summary.results.clone() {
            Some((types, _)) if types.iter().any(|ty| matches!(ty, Type::Local(_))) => {}
            None => {
                let diagnostic =
                    messages::statements::promised_result_missing(&name.text, &shown, promised.span, name.span);
                self.report(match definition.ast.body.last().map(|last| (&last.kind, last.span)) {
                    Some((StmtKind::Assign { targets, .. }, span)) if targets.len() == 1 => {
                        let value = self.c.sources.text(targets[0].span).to_string();
                        let end = Span { start: span.end, ..span };
                        let indent = self.indent(span);
                        messages::repairs::return_at_end(diagnostic, &value, &indent, end)
                    }
                    _ => messages::repairs::return_or_no_annotation(diagnostic),
                });
            }
            Some((types, at)) => {
                let [found] = types.as_slice() else { return };
                if *found == wanted {
                    return;
                }
                let diagnostic = messages::statements::other_result_promised(
                    &name.text,
                    &shown,
                    &self.show(*found),
                    at,
                    promised.span,
                );
                let text = self.c.sources.text(at);
                let value =
                    text.strip_prefix("return").map(|rest| rest.len() - rest.trim_start().len() + "return".len());
                let diagnostic = match (value, wanted, *found) {
                    (Some(skip), Type::Scalar(to), Type::Scalar(_)) => {
                        let value = Span { start: at.start + skip as u32, ..at };
                        self.suggest_cast(diagnostic, value, (*found, to), "it", Applicability::Maybe)
                    }
                    _ => messages::repairs::promised_type_or_no_annotation(diagnostic),
                };
                self.report(diagnostic);
            }
        }
    }

    /// The blanks before the line that a span begins in.
    fn indent(&self, span: Span) -> String {
        let text = self.c.sources.file(span.file).text.get(..span.start as usize).unwrap_or_default();
        let line = text.rsplit('\n').next().unwrap_or_default();
        line[..line.len() - line.trim_start().len()].to_string()
    }
}
