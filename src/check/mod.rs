//! Meaning: names, types, overloads, constants. [`Parsed`] in, [`Checked`] out.
//!
//! | folder | question it answers |
//! |---|---|
//! | `names` | what do the names of a file mean? |
//! | `types` | which types are written, and what can an expression denote? |
//! | `body` | what does the code of one function mean? |
//! | `calls` | what does a call call, and how is that differentiated? |
//! | `host` | what does the host code around kernels say about them? |
//! | `state` | what is known so far: scopes, definitions, their instances and gradients |
//! | `messages` | what does it say of each finding? |
//! | [`lints`] | what compiles and is probably not meant? |
//!
//! [`tree`] is the result, [`visit`] walks it, and [`facts`] is what an editor asks for.
//!
//! Each kernel is checked by itself: a kernel with errors is left out and blocks no other.

mod body;
mod budget;
mod calls;
mod checked;
pub mod facts;
mod host;
pub mod lints;
mod messages;
mod names;
mod options;
mod state;
mod tiles;
pub mod tree;
mod types;
pub mod visit;

pub use tiles::precision_kept;
pub use types::value;

use std::collections::HashMap;
use std::sync::Arc;

use crate::check::state::definition::{
    Definition, Instance, InstanceArg, InstanceKey, ParamInfo, Signature, Underived,
};
use crate::check::state::globals::Global;
use crate::check::state::{Definitions, Evaluation, Gradients, HostCode, InstanceTable, Output, Scopes, Settings};
use crate::check::types::pattern::{Bindings, Pattern};
use crate::check::types::value::{FunctionName, Operand, Reported, Res, Stack};
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::ids::IdVec;
use crate::ir::Nudged;
use crate::source::{SourceMap, Span};
use crate::syntax::ast::{self, Parsed};
use crate::types::Type;
use body::Body;
pub use calls::instances::Instances;
pub use checked::{Checked, End, Unresolved, Verdict};
pub use state::definition::{Imported, LibraryFunction};

/// What is wanted of [`check()`].
#[derive(Clone, Debug)]
pub struct Options {
    /// Also keep what the editor asks for: [`Checked::facts`].
    pub facts: bool,
    /// Also make functions of the library's gradient rules for what differentiated kernels call.
    /// The user's custom gradients are checked in any case.
    pub backward: bool,
    /// Also make functions of the library's tests for near-degenerate gradients
    /// ([`tree::DegeneracyTest`]).
    pub tests: bool,
    /// Functions of the library compute beside such points: `_nudged_f` represents `f`.
    pub nudged: Option<Nudged>,
    /// Every float type of the file is float64: see `types/double.rs`.
    pub double: bool,
    /// Literals have their own types, as in Warp: see `body/adapt.rs`.
    pub strict: bool,
    /// Types for generic kernels: `scale(x=wp.array(dtype=wp.float64), s=wp.float64)`.
    pub types: Vec<String>,
    /// The threads of a block. None: as many as the launches of the file say, if they agree, else
    /// one.
    pub block_dim: Option<u32>,
    /// The threads of a last block that is not full: kernels are checked for it, too.
    pub last_threads: Option<u32>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            backward: true,
            facts: false,
            tests: false,
            nudged: None,
            double: false,
            strict: false,
            types: Vec::new(),
            block_dim: None,
            last_threads: None,
        }
    }
}

impl Options {
    fn settings(&self) -> Settings {
        let Options { tests, nudged, double, strict, .. } = *self;
        Settings { tests, nudged, double, strict, block_dim: 1, backward_off: false, fast_math: false }
    }
}

/// Checks every kernel and function of a file. What has errors is reported and left out of the
/// result. What there is to know of the library, beyond `known`, is added to that.
pub fn check(
    parsed: &Parsed,
    options: &Options,
    known: &Instances,
    sources: &mut SourceMap,
    diagnostics: &mut Diagnostics,
) -> Checked {
    let syntax_errors =
        diagnostics.iter().filter(|d| d.level == crate::diag::Level::Error).filter_map(|d| d.span()).collect();
    let mut checker = Checker {
        sources,
        diagnostics,
        known,
        settings: options.settings(),
        modules: names::modules::Modules::new(parsed.file, syntax_errors),
        scopes: Scopes::new(),
        host: HostCode::default(),
        definitions: Definitions::default(),
        evaluation: Evaluation::default(),
        instances: InstanceTable::default(),
        gradients: Gradients::default(),
        output: Output { facts: options.facts.then(facts::EditorFacts::default), ..Output::default() },
    };
    checker.collect(parsed);
    let spelling = checker.spelling();
    checker.diagnostics.spell(parsed.file, spelling);
    checker.take_types(&options.types);
    let stated = checker.stated_block_dim();
    checker.settings.block_dim = options.block_dim.unwrap_or(stated);
    let mut written: Vec<Arc<Definition>> = checker.gradients.written.iter().map(|c| c.definition().clone()).collect();
    checker.check_gradient_targets();
    let mut kernels = Vec::new();
    for definition in checker.definitions.all.clone() {
        if definition.kernel {
            let found = checker.kernels(&definition);
            checker.note_verdict(&definition, &found);
            kernels.extend(found);
        } else {
            // Also those that no kernel calls: their errors are worth knowing.
            checker.check_uncalled(&definition);
        }
        written.push(definition);
    }
    // Variants of one function have one text.
    written.sort_by_key(|definition| definition.ast.span);
    written.dedup_by_key(|definition| definition.ast.span);
    written.retain(|definition| definition.ast.span.file == parsed.file);
    let written: Vec<&ast::Function> = written.iter().map(|definition| &*definition.ast).collect();
    let modules = checker.module_names();
    let modules: Vec<&str> = modules.iter().map(String::as_str).collect();
    lints::run(
        parsed.file,
        &checker.output.functions,
        &checker.output.structs,
        &written,
        &modules,
        checker.sources,
        checker.diagnostics,
    );
    let alone = checker.launched_alone();
    checker.diagnostics.retain(|d| d.code != Code::W0701 || !alone.iter().any(|kernel| d.is_within(*kernel)));
    checker.check_launches();
    checker.expect_own_kernels();
    if let Some(threads) = options.last_threads {
        checker.check_last_block(threads, &mut kernels);
    }
    let differentiated = kernels.iter().any(|&id| checker.output.functions[id].derivative == tree::Derivative::Body);
    checker.derive(checker.gradients.needs_rules || options.backward && differentiated);
    names::quiet(parsed, checker.sources, checker.diagnostics);
    let mut facts = checker.output.facts.take().unwrap_or_default();
    if options.facts {
        facts.structs.clone_from(&checker.output.structs);
        for &id in &kernels {
            let kernel = &checker.output.functions[id];
            for (name, differs) in lints::per_thread(kernel) {
                facts.per_thread.insert((kernel.span, name), differs);
            }
        }
    }
    let declared = checker.declared();
    let Checker { output, settings, host, .. } = checker;
    let Output { structs, constants, functions, unresolved, verdicts, fast, .. } = output;
    let (block_dim, launched) = (settings.block_dim, host.launched);
    Checked {
        structs,
        constants,
        functions,
        kernels,
        block_dim,
        launched,
        alone,
        fast,
        declared,
        unresolved,
        verdicts,
        facts,
    }
}

/// The state of one file's check.
pub(crate) struct Checker<'a> {
    pub sources: &'a mut SourceMap,
    pub diagnostics: &'a mut Diagnostics,
    /// The library, and what is known of it.
    known: &'a Instances,
    pub settings: Settings,
    /// The checked file, and those that it imports from.
    modules: names::modules::Modules,
    scopes: Scopes,
    host: HostCode,
    definitions: Definitions,
    pub evaluation: Evaluation,
    instances: InstanceTable,
    gradients: Gradients,
    pub output: Output,
}

impl Checker<'_> {
    pub fn report(&mut self, diagnostic: Diagnostic) -> Reported {
        self.diagnostics.push(diagnostic);
        Reported
    }

    /// The type's name for messages.
    pub fn show(&self, ty: Type) -> String {
        ty.display(&self.output.structs)
    }

    /// Notes what became of a kernel; of one in a host function, the best of what its calls give.
    fn note_verdict(&mut self, definition: &Definition, found: &[tree::FnId]) {
        let ast::Function { name, span, .. } = &*definition.ast;
        let unresolved = self.output.unresolved.iter().any(|unresolved| unresolved.span == name.span);
        let end = match found.is_empty() {
            false => End::Ok,
            true if unresolved => End::Unresolved,
            true => End::Errors,
        };
        match self.output.verdicts.iter_mut().find(|verdict| verdict.span == *span) {
            Some(verdict) => verdict.end = verdict.end.min(end),
            None => self.output.verdicts.push(Verdict { name: name.text.clone(), span: *span, end }),
        }
    }

    fn kernel(&mut self, definition: &Arc<Definition>) -> Res<tree::FnId> {
        let signature = self.signature(definition)?;
        let mut args = Vec::new();
        for param in &signature.params {
            match param.pattern {
                Pattern::Exact(ty) => args.push(InstanceArg::Type(ty)),
                Pattern::Unknown => args.push(InstanceArg::Unknown),
                _ => {
                    let why = crate::check::state::globals::Why::Generic(param.pattern.display(&self.output.structs));
                    self.need_unknown(&crate::check::state::globals::Unknown {
                        name: param.name.clone(),
                        place: param.span,
                        why,
                    });
                    args.push(InstanceArg::Unknown);
                }
            }
        }
        for unknown in &signature.unknown {
            self.need_unknown(unknown);
        }
        self.instance(definition, args, Bindings::default(), definition.ast.name.span)
    }

    fn check_uncalled(&mut self, definition: &Arc<Definition>) {
        let Ok(signature) = self.signature(definition) else { return };
        if signature.params.iter().all(|param| param.pattern.is_exact()) {
            let args = signature
                .params
                .iter()
                .filter_map(|param| param.pattern.resolve(&Bindings::default()).map(InstanceArg::Type))
                .collect();
            // An error is reported already; nothing depends on the result.
            let _ = self.instance(definition, args, Bindings::default(), definition.ast.name.span);
        }
    }

    /// The instance of a definition for these arguments, checked on first use.
    pub fn instance(
        &mut self,
        definition: &Arc<Definition>,
        args: Vec<InstanceArg>,
        bindings: Bindings,
        call: Span,
    ) -> Res<tree::FnId> {
        let result = self.find_instance(definition, args, bindings, call);
        self.note_request(result);
        result
    }

    fn find_instance(
        &mut self,
        definition: &Arc<Definition>,
        args: Vec<InstanceArg>,
        bindings: Bindings,
        call: Span,
    ) -> Res<tree::FnId> {
        let key = InstanceKey::new(definition, args);
        match self.instances.get(&key) {
            Some(Instance::Done(id)) => return Ok(id),
            Some(Instance::Failed) => {
                let unknown = self.instances.unknown(&key);
                for unknown in &unknown {
                    self.need_unknown(unknown);
                }
                if unknown.is_empty() {
                    self.blame_import(definition, call);
                }
                return Err(Reported);
            }
            Some(Instance::Open) => {
                let name = &definition.ast.name;
                return Err(self.report(messages::names::recursion(&name.text, call, name.span)));
            }
            None => {}
        }
        if let Some(id) = self.import(&key) {
            return Ok(id);
        }
        self.charge_instance(call)?;
        self.instances.open(key.clone());
        self.start_requests();
        let (known, errors) = (self.diagnostics.len(), self.diagnostics.error_count());
        let outer = std::mem::take(&mut self.evaluation.unknown);
        let scope = self.body_scope(definition);
        let function = self.nested(call, |c| c.within(scope, |c| Body::check(c, definition, &key.args, bindings)));
        let unknown = std::mem::replace(&mut self.evaluation.unknown, outer);
        for unknown in &unknown {
            self.need_unknown(unknown);
        }
        let generic = !definition.library() && key.args.iter().any(|arg| matches!(arg, InstanceArg::Function(_)));
        if generic && !definition.kernel {
            self.diagnostics.blame(known, call, "for this call");
        }
        let function = match self.end_requests(definition, &key).filter(|_| unknown.is_empty()) {
            Some(callees) => function.map(|function| self.keep(definition, &key, false, callees, function)),
            None => function,
        };
        let result = self.accept(definition, errors, function);
        if let (Ok(id), false) = (result, definition.kernel) {
            let (definition, args) = (definition.clone(), key.args.clone());
            self.gradients.underived.push(Underived { id, definition, args });
        }
        match result {
            Ok(id) => {
                self.instances.done(key, id);
            }
            // What it found is not shown: it must be found again.
            Err(Reported) if self.evaluation.is_quiet() => {
                self.instances.forget(&key);
            }
            Err(Reported) => {
                if unknown.is_empty() {
                    self.blame_import(definition, call);
                }
                self.instances.failed(key, unknown);
            }
        }
        result
    }

    /// Reports at a call of another file's function that it has errors, which nobody sees in that
    /// file.
    fn blame_import(&mut self, definition: &Definition, call: Span) {
        let name = &definition.ast.name;
        if definition.library() || name.span.file == call.file || call.file != self.modules.main {
            return;
        }
        let path = self.sources.path(name.span.file).display().to_string();
        self.report_faults(definition.ast.span);
        self.report(messages::names::errors_in_import(&name.text, &path, call, name.span));
    }

    /// Takes a function into the module, unless checking it found an error (there were `errors`
    /// before) or the parser had to repair it.
    fn accept(&mut self, definition: &Definition, errors: usize, function: Res<tree::Function>) -> Res<tree::FnId> {
        let repaired = self.modules.is_repaired(definition.ast.span);
        match function {
            Ok(function) if self.diagnostics.error_count() == errors && !repaired => {
                Ok(self.output.functions.push(function))
            }
            _ => Err(Reported),
        }
    }

    /// The parameters of a definition.
    pub fn signature(&mut self, definition: &Arc<Definition>) -> Res<Arc<Signature>> {
        if let Some(known) = definition.signature.get() {
            return known.clone().ok_or(Reported);
        }
        let structs = self.instances.structs_named;
        let result = self.within(definition.scope, |c| c.resolve_signature(definition));
        // Programs share what the library defines, and each numbers the library's structs itself.
        let shared = !definition.library() || structs == self.instances.structs_named;
        if shared && (result.is_ok() || !self.evaluation.is_quiet()) {
            definition.signature.get_or_init(|| result.as_ref().ok().cloned());
        }
        result
    }

    fn resolve_signature(&mut self, definition: &Definition) -> Res<Arc<Signature>> {
        let mut params = Vec::new();
        let mut failed = false;
        let outer = std::mem::take(&mut self.evaluation.unknown);
        for param in &definition.ast.params {
            if param.star != ast::Star::None {
                self.report(messages::names::star_parameter(param.span));
                failed = true;
                continue;
            }
            if param.annotation.is_none() && matches!(param.name.text.as_str(), "self" | "cls") {
                self.report(a_method(definition, &param.name));
                failed = true;
                continue;
            }
            let Some(annotation) = &param.annotation else {
                self.report(messages::names::no_annotation(&param.name.text, param.name.span));
                failed = true;
                continue;
            };
            let errors = self.diagnostics.error_count();
            if let Some(stack) = self.stack_pattern(annotation).filter(|_| !definition.kernel) {
                let names = Stack::params(&param.name.text);
                failed |= stack.is_err();
                params.extend(stack.into_iter().flatten().zip(names).map(|(pattern, name)| ParamInfo {
                    name,
                    pattern,
                    default: None,
                    span: param.span,
                }));
                continue;
            }
            let pattern = match self.annotation(annotation, definition.library()) {
                Ok(pattern) => pattern,
                Err(Reported) if self.diagnostics.error_count() == errors => Pattern::Unknown,
                Err(Reported) => {
                    failed = true;
                    continue;
                }
            };
            if let (true, Pattern::Exact(ty)) = (definition.kernel, &pattern)
                && self.refuse_tile(*ty, annotation.span, "a parameter of a kernel").is_err()
            {
                failed = true;
                continue;
            }
            let (name, default) = (param.name.text.clone(), param.default.clone());
            params.push(ParamInfo { name, pattern, default, span: param.span });
        }
        let unknown = std::mem::replace(&mut self.evaluation.unknown, outer);
        // Without an error and without a reason, the error is one that was reported before.
        failed |= unknown.is_empty() && params.iter().any(|param| param.pattern == Pattern::Unknown);
        let returns = match &definition.ast.returns {
            // `tuple[A, B]` is for readers: several results have no one type.
            Some(ast::Expr { kind: ast::ExprKind::Subscript { base, .. }, .. }) if matches!(&base.kind, ast::ExprKind::Name(name) if name == "tuple") => {
                None
            }
            Some(annotation) if definition.library() => self.annotation(annotation, true).ok(),
            _ => None,
        };
        if failed { Err(Reported) } else { Ok(Arc::new(Signature { params, returns, unknown })) }
    }

    /// All definitions of a function name.
    pub fn candidates(&mut self, name: &FunctionName) -> Arc<[Arc<Definition>]> {
        match name {
            FunctionName::User { scope, name } => match self.scopes[*scope].names.get(name) {
                Some(Global::Functions(definitions)) => definitions.as_slice().into(),
                _ => Arc::from([]),
            },
            FunctionName::Builtin(name) => self.builtin_definitions(name),
        }
    }

    /// The value of a module-level constant expression, by Python's rules.
    pub fn constant(&mut self, expr: &ast::Expr, library: bool) -> Res<Operand> {
        Body::constant(self, expr, library, HashMap::new(), IdVec::new())
    }
}

#[cfg(test)]
mod tests;

/// The finding for `self` in a kernel or function.
fn a_method(definition: &Definition, this: &ast::Name) -> Diagnostic {
    let what = if definition.kernel { "kernel" } else { "function of kernels" };
    let diagnostic = messages::names::method_parameter(what, &this.text, this.span);
    let mut used = false;
    crate::syntax::visit::each_statement(&definition.ast.body, &mut |stmt| {
        crate::syntax::visit::expressions(stmt, &mut |expr| {
            crate::syntax::visit::walk(expr, &mut |part| {
                used |= matches!(&part.kind, ast::ExprKind::Name(name) if *name == this.text);
            });
        });
    });
    let after = definition.ast.params.get(1).map_or(this.span.end, |next| next.span.start);
    let at = Span { end: after, ..this.span };
    if used { diagnostic } else { messages::repairs::removed(diagnostic, at) }
}
