//! IR to CUDA C++ text: one file that a person likes to read and that `nvcc` and NVRTC compile without include paths.
//!
//! Per function: [`plan`] decides which values become variables and which are written where they are used, [`vars`] leaves
//! SSA form, [`function`] and [`expr`] build a small syntax [`tree`], [`declarations`] declares the variables, [`names`]
//! names them, [`print`] prints. [`prelude`] collects what the functions need above them: types and helpers, each only
//! where it is used. Before all that, [`survey`] looks who calls whom, and which library functions [`memo`] has from an
//! earlier text.
//!
//! The text means what the IR means, with three stated limits. The compiler may contract `a * b + c` unless it is told
//! not to (`--fmad=false`). Indices are not checked. A `for` whose end is within one step of the largest number of its
//! index type may overflow, unless its step is 1 or -1.

mod composite;
mod constants;
mod declarations;
mod effects;
mod expr;
mod function;
mod helpers;
mod kernel;
mod literal;
mod memo;
mod names;
mod plan;
mod prelude;
mod print;
mod remarks;
mod scalar;
mod survey;
mod tree;
mod types;
mod vars;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use crate::codegen::blocks;
use crate::diag::{Code, Diagnostic};
use crate::ids::IdMap;
use crate::ir::{FuncId, Function, Module, ResultRole};
use constants::Constants;
use effects::FunctionEffects;
use function::Fault;
use helpers::Helper;
pub use memo::Texts;
use prelude::Prelude;
pub use remarks::{Comment, Remarked, Remarks};
use survey::{Order, Summary, Survey};
pub use types::identifier;

/// What the text says about itself.
#[derive(Clone, Debug, Default)]
pub struct CudaOptions {
    /// The name of the source file, for the comment at the head; no path that differs from machine to machine.
    pub source_name: String,
    /// What the source says beside its code.
    pub remarks: Remarks,
}

/// Prints some kernels of a module, with the functions they call. The error names the construct that has no CUDA form.
/// `known`: the texts of library functions that were printed before.
pub fn emit(
    module: &Module,
    kernels: &[FuncId],
    options: &CudaOptions,
    known: &Texts,
) -> Result<String, Box<Diagnostic>> {
    Printer::new(module, known).emit(kernels, options)
}

/// The same, with a mark around each statement ([`crate::source::lined`]).
pub fn emit_marked(module: &Module, kernels: &[FuncId], options: &CudaOptions) -> Result<String, Box<Diagnostic>> {
    // Marked texts are read once by a person: nothing is kept for them.
    let survey = Survey::new(module, false);
    let known = Texts::new(0);
    let constants = Constants::of(module);
    Printer { module, survey, known: &known, printed: IdMap::default(), constants, marked: true }.emit(kernels, options)
}

/// Prints several texts of one module: what two of them share is surveyed once, and the same functions are printed once.
pub struct Printer<'a> {
    module: &'a Module,
    survey: Survey<'a>,
    known: &'a Texts,
    /// The functions, without kernels, that have no place there.
    printed: IdMap<FuncId, Arc<memo::Printed>>,
    constants: Constants,
    marked: bool,
}

impl<'a> Printer<'a> {
    pub fn new(module: &'a Module, known: &'a Texts) -> Printer<'a> {
        let (survey, constants) = (Survey::new(module, true), Constants::of(module));
        Printer { module, survey, known, printed: IdMap::default(), constants, marked: false }
    }

    /// Like [`emit`].
    pub fn emit(&mut self, kernels: &[FuncId], options: &CudaOptions) -> Result<String, Box<Diagnostic>> {
        match blocks::shared(self.module, kernels).map_err(|error| Box::new(error.into()))? {
            Cow::Borrowed(_) => self.text(kernels, options),
            Cow::Owned(module) => {
                let marked = self.marked;
                Printer { marked, ..Printer::new(&module, self.known) }.text(kernels, options)
            }
        }
    }

    fn text(&mut self, kernels: &[FuncId], options: &CudaOptions) -> Result<String, Box<Diagnostic>> {
        let Order { printed: order, named, .. } = self.survey.order(kernels);
        let names = function_names(self.module, &named, &self.survey);
        let (effects, constants) = (&self.survey.effects, &self.constants);
        let remarks = &options.remarks;
        let shared = TextContext { module: self.module, effects, constants, remarks, names, marked: self.marked };
        let mut prelude = Prelude::default();
        let mut functions = String::new();
        for &(id, fingerprint) in &order {
            let function = &self.module.functions[id];
            let failed = |fault: Fault| {
                let message = format!("{} cannot be written as CUDA C++", fault.what);
                Box::new(
                    Diagnostic::new(Code::E0820, message)
                        .label(fault.span, format!("needed by `{}`", function.source_name)),
                )
            };
            functions.push('\n');
            match self.survey.summary(id).filter(|_| !function.is_kernel()) {
                Some(summary) => {
                    let printed = device_function(&shared, id, fingerprint, summary, self.known, &mut self.printed)
                        .map_err(failed)?;
                    functions.push_str(&printed.text);
                    prelude.add(&printed.prelude);
                }
                None => functions.push_str(&kernel::function(&shared, id, &mut prelude).map_err(failed)?),
            }
        }
        let mut out = format!("// Generated by kc {}", env!("CARGO_PKG_VERSION"));
        if !options.source_name.is_empty() {
            let _ = write!(out, " from {}", options.source_name.replace(['\n', '\r', '\\'], "_"));
        }
        out.push_str(".\n\n");
        prelude.write(&mut out, &self.module.structs);
        out.push_str(&functions);
        Ok(out)
    }
}

/// A device function, whose text is printed once for all texts with these names: one with a fingerprint for all programs,
/// another one for the texts of its module.
fn device_function(
    shared: &TextContext<'_>,
    id: FuncId,
    fingerprint: Option<u128>,
    summary: &Summary,
    kept: &Texts,
    own: &mut IdMap<FuncId, Arc<memo::Printed>>,
) -> Result<Arc<memo::Printed>, Fault> {
    let callees = || summary.callees(&shared.module.functions[id]);
    let names = || std::iter::once(id).chain(callees()).map(|id| shared.function_name(id));
    let known = match fingerprint {
        Some(fingerprint) => kept.get(fingerprint),
        None => own.get(&id).cloned(),
    };
    if let Some(printed) = known.filter(|printed| names().eq(printed.names.iter().map(String::as_str))) {
        return Ok(printed);
    }
    let mut prelude = Prelude::default();
    let text = kernel::function(shared, id, &mut prelude)?;
    let printed = Arc::new(memo::Printed { names: names().map(str::to_string).collect(), text, prelude });
    match fingerprint {
        Some(fingerprint) => kept.keep(fingerprint, printed.clone()),
        None => _ = own.insert(id, printed.clone()),
    }
    Ok(printed)
}

/// What all functions of one text share.
pub struct TextContext<'a> {
    pub module: &'a Module,
    pub effects: &'a FunctionEffects,
    constants: &'a Constants,
    remarks: &'a Remarks,
    names: BTreeMap<FuncId, String>,
    /// Statements tell where they come from.
    marked: bool,
}

impl TextContext<'_> {
    /// The C++ name of a device function.
    pub fn function_name(&self, id: FuncId) -> &str {
        self.names.get(&id).map_or("", String::as_str)
    }
}

/// Functions keep their source names, as C++ overloads them too; one that C++ could not tell from another, or from CUDA's
/// own, gets its name in the module.
fn function_names(module: &Module, order: &[FuncId], survey: &Survey<'_>) -> BTreeMap<FuncId, String> {
    let composite_ops = composite_operations(order, survey);
    let mut signatures = BTreeSet::new();
    let mut names = BTreeMap::new();
    for &id in order {
        let function = &module.functions[id];
        let mut name = types::identifier(&function.source_name);
        let mut params: Vec<_> = function.params().iter().map(|&p| function.ty(p)).collect();
        let plain: Vec<_> = function.results.iter().filter(|r| r.role == ResultRole::Return).map(|r| r.ty).collect();
        if plain.len() > 1 {
            params.extend(plain);
        }
        let is_type = |name: &str| types::is_type_name(name) || module.structs.values().any(|s| s.name == name);
        let is_helper = |name: &str| {
            Helper::is_name(name)
                || composite_ops.contains(name)
                || name.strip_prefix("to_").is_some_and(types::is_type_name)
        };
        let clashes_with_cuda = types::is_cuda_function(&name) && params.iter().all(|ty| ty.as_scalar().is_some());
        if clashes_with_cuda || is_type(&name) || is_helper(&name) || !signatures.insert((name.clone(), params.clone()))
        {
            name = unique(function, |name| !types::is_cuda_function(name) && !is_type(name) && !is_helper(name));
            while !signatures.insert((name.clone(), params.clone())) {
                name.push('_');
            }
        }
        names.insert(id, name);
    }
    names
}

/// The names of operations on composites: the prelude may define functions of these names.
fn composite_operations(order: &[FuncId], survey: &Survey<'_>) -> BTreeSet<&'static str> {
    let summaries = order.iter().filter_map(|&id| survey.summary(id));
    let mut names: BTreeSet<&str> = summaries.flat_map(|summary| summary.operations.iter().copied()).collect();
    // These print as operators.
    for operator in ["add", "sub", "mul", "div", "rem", "neg", "not"] {
        names.remove(operator);
    }
    names
}

fn unique(function: &Function, is_free: impl Fn(&str) -> bool) -> String {
    let mut name = types::identifier(&function.name);
    while !is_free(&name) {
        name.push('_');
    }
    name
}
