//! Decorators that make no kernel here: those of other libraries, those of a module that is not
//! imported, and slips.

use super::foreign;
use super::member::is_warp;
use super::suggest::nearest;
use crate::check::Checker;
use crate::check::messages;
use crate::check::state::globals::Global;
use crate::source::Span;
use crate::syntax::ast::{self, ExprKind};

/// What Warp decorates functions and classes with.
const DECORATORS: [&str; 7] = ["kernel", "func", "struct", "func_grad", "func_replay", "func_native", "overload"];

impl Checker<'_> {
    /// Reports `@wp.kernal`, at which Python stops.
    fn misspelt(&mut self, module: Span, name: &ast::Name) -> bool {
        if DECORATORS.contains(&name.text.as_str()) {
            return false;
        }
        let Some(near) = nearest(&name.text, DECORATORS.into_iter()) else { return false };
        let module = self.sources.text(module);
        self.report(messages::names::unknown_decorator(module, &name.text, &near, name.span));
        true
    }

    /// Decorators that mean kernels elsewhere, or would here if `wp` were imported.
    /// True: one is a slip in a name of Warp's, so that the function is none of plain Python.
    pub(super) fn note_decorators(&mut self, function: &ast::Function) -> bool {
        for decorator in &function.decorators {
            let path = match &decorator.expr.kind {
                ExprKind::Call { callee, .. } => callee,
                _ => &decorator.expr,
            };
            let text = self.sources.text(path.span).to_string();
            let Some(root) = text.split('.').next() else { continue };
            let known = self.lookup(root).map(|(_, global)| global.clone());
            let base = match &known {
                Some(Global::Module(path)) => path.clone(),
                Some(Global::Member { module, name }) => format!("{module}.{name}"),
                Some(_) => continue,
                None if matches!(text.as_str(), "wp.kernel" | "wp.func" | "warp.kernel" | "warp.func") => {
                    if !self.definitions.missing_warp {
                        self.definitions.missing_warp = true;
                        let import = if root == "wp" { "import warp as wp" } else { "import warp" };
                        let start = Span { start: 0, end: 0, ..path.span };
                        self.report(messages::names::warp_not_imported(root, import, path.span, start));
                    }
                    continue;
                }
                None => continue,
            };
            if is_warp(&base)
                && let ExprKind::Attribute { base: module, name } = &path.kind
                && module.span.end - module.span.start == root.len() as u32
                && self.misspelt(module.span, name)
            {
                return true;
            }
            let full = format!("{base}{}", &text[root.len()..]);
            if foreign::is_jit(&full) && self.definitions.foreign_kernel.is_none() {
                self.definitions.foreign_kernel = Some((function.name.text.clone(), decorator.expr.span, full));
            }
        }
        false
    }

    /// Says of a file without kernels which of its functions is a kernel of another library.
    pub fn expect_own_kernels(&mut self) {
        let Some((name, span, path)) = self.definitions.foreign_kernel.take() else { return };
        if self.definitions.kernels().next().is_some() || self.diagnostics.has_errors() {
            return;
        }
        let library = foreign::library_of(&path).unwrap_or("another library");
        self.diagnostics.push(messages::names::kernels_of_other_library(&name, library, span));
    }
}
