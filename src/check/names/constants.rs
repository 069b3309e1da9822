//! What is a constant of the file? Python computes it, once, where a kernel first asks for it; what
//! only Python can compute leaves the kernel to Python.

use super::foreign;
use crate::check::Checker;
use crate::check::host::values::is_of_host;
use crate::check::state::globals::{Global, Unknown, Why};
use crate::check::types::value::{Operand, Reported, Res, ScopeId};
use crate::diag::{Code, Diagnostic};
use crate::source::Span;
use crate::syntax::ast;

impl Checker<'_> {
    /// The value of a constant, computed on its first use.
    pub fn global_constant(&mut self, scope: ScopeId, name: &str, value: ast::Expr, used: Span) -> Res<Operand> {
        let module = self.scopes[scope].parent.is_none();
        if self.evaluation.is_quiet() && module && self.evaluation.quiet_failures.contains(&(scope, name.to_string())) {
            return Err(Reported);
        }
        if let Some(place) = self.changed(scope, name, &value) {
            return Err(self.need_unknown(&Unknown { name: name.to_string(), place, why: Why::Changed }));
        }
        // `N = N if N > 0 else 16` means the binding before.
        let earlier = self.scopes[scope].earlier.get_mut(name).and_then(Vec::pop);
        self.scopes[scope].names.insert(name.to_string(), earlier.clone().unwrap_or(Global::Evaluating));
        self.evaluation.own_names.push(name.to_string());
        let kept = value.clone();
        let needed = std::mem::take(&mut self.evaluation.unknown);
        let (result, after) = if module {
            let known = self.diagnostics.len();
            let result = self.nested(used, |c| c.within(scope, |c| c.constant(&value, false)));
            if result.is_err() {
                self.leave_to_python(known, name, value.span);
            }
            self.diagnostics.blame(known, used, "needed here");
            let failed = match self.evaluation.unknown.first() {
                Some(unknown) => Global::Unknown(unknown.clone()),
                None if self.evaluation.is_quiet() => {
                    if result.is_err() {
                        self.evaluation.quiet_failures.insert((scope, name.to_string()));
                    }
                    Global::Constant(value)
                }
                None => Global::Broken,
            };
            (result, failed)
        } else {
            // Host code computes what it likes: a value that is none of ours is no mistake.
            let (result, quiet) = self.quietly(|c| c.nested(used, |c| c.within(scope, |c| c.constant(&value, false))));
            (result, Global::Unknown(quiet.cause(name, value.span)))
        };
        self.evaluation.unknown = needed;
        self.evaluation.own_names.pop();
        let after = match &result {
            // Kernels that name it hear what it is for them.
            Ok(operand) if is_of_host(operand) => Global::Constant(kept),
            Ok(operand) => Global::Value(operand.clone()),
            Err(Reported) => after,
        };
        if let Global::Unknown(unknown) = &after {
            self.need_unknown(unknown);
        }
        if let (Some(earlier), Global::Constant(_)) = (earlier, &after) {
            self.scopes[scope].earlier.entry(name.to_string()).or_default().push(earlier);
        }
        self.scopes[scope].names.insert(name.to_string(), after);
        result
    }

    /// Makes a constant unknown whose value only fails, in the findings after the first `known`
    /// ones, for words of Python that kernels do not have: the file is not wrong.
    pub fn leave_to_python(&mut self, known: usize, name: &str, place: Span) {
        let found = self.diagnostics.take_after(known);
        let is_host = |d: &Diagnostic| match d.code {
            // Of arrays that a kernel reads it is the kernel that has to change.
            Code::E0502 => d.message.starts_with('`'),
            // A plain function or class is called; Python's own values meet in a way that is not
            // followed.
            Code::E0203 | Code::E0308 => true,
            // The name of a type is not computed.
            Code::E0304 => !d.message.starts_with("a type"),
            Code::E0202 => self.is_of_numpy(d),
            Code::E0201 => d
                .message
                .split('`')
                .nth(1)
                .is_some_and(|word| foreign::is_of_python(word, &self.sources.file(place.file).text)),
            _ => false,
        };
        if found.is_empty() || !found.iter().all(is_host) {
            return found.into_iter().for_each(|d| self.diagnostics.push(d));
        }
        let reason = found.into_iter().find(|d| d.code == Code::E0502).map(|d| d.message);
        self.need_unknown(&Unknown { name: name.to_string(), place, why: Why::Computed(reason) });
    }

    /// Whether a finding is about a name of NumPy: `np.linspace`.
    fn is_of_numpy(&self, diagnostic: &Diagnostic) -> bool {
        let text = diagnostic.labels.first().map_or("", |label| self.sources.text(label.span));
        let Some((module, _)) = text.split_once('.') else { return false };
        matches!(self.lookup(module), Some((_, Global::Module(path))) if path == "numpy")
    }
}
