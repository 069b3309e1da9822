//! IR to CUDA C++ text: one file that a person likes to read and that `nvcc` and NVRTC compile
//! without include paths.
//!
//! Per function: [`plan`] decides which values become variables and which are written where they
//! are used, [`vars`] leaves SSA form, [`function`] and [`expr`] build a small syntax [`tree`],
//! [`shape`] gives loops their jumps back, [`declarations`] declares the variables, [`names`] names
//! them, [`print`] prints. [`prelude`] collects what the functions need above them: types and
//! helpers, each only where it is used. Before all that, [`reverse`] says together what gradients
//! have in pieces ([`dots`]), and [`survey`] looks who calls whom, and which library functions
//! [`memo`] has from an earlier text.
//!
//! Kernels take their arguments as Warp's do, or as people write them ([`Abi`], [`plain`]).
//!
//! The text means what the IR means, with four stated limits. The compiler may contract
//! `a * b + c` unless the text is made without ([`CudaOptions::fmad`]), or the compiler is told not
//! to (`--fmad=false`). Indices are not checked, and may overflow
//! where no array has the element. A `for` whose end is within one step of the largest number of
//! its index type may overflow, unless its step is 1 or -1. Extents and numbers of threads are
//! below 2^31 - 2^16 ([`wrapping`]).

mod block_memory;
mod composite;
mod constants;
mod declarations;
mod describe;
mod dots;
mod effects;
mod expr;
mod function;
mod guards;
mod helpers;
mod kernel;
mod literal;
mod memo;
mod names;
mod plain;
mod plan;
mod prelude;
mod print;
mod printf;
mod products;
mod remarks;
mod reverse;
mod scalar;
mod shape;
mod survey;
mod tree;
mod types;
mod vars;
mod wrapping;

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use crate::analysis::rounding;
use crate::codegen::blocks;
use crate::diag::{Code, Diagnostic};
use crate::ids::IdMap;
use crate::ir::{FuncId, Function, Module, Phase, ResultRole};
use crate::passes::block_threads::Tensor;
use constants::Constants;
use effects::FunctionEffects;
use function::Fault;
use helpers::Helper;
pub use memo::Texts;
pub use plain::{Argument, PlainEntry, Promises, Said};
use prelude::Prelude;
pub use remarks::{Comment, Remarked, Remarks};
pub use reverse::tidied;
use survey::{Order, Summary, Survey};
pub use types::{identifier, struct_name};

/// How kernels take their launch and their arrays.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Abi {
    /// As Warp's do: the launch, then arrays as descriptors with extents and strides; any grid runs
    /// the whole launch.
    #[default]
    Warp,
    /// As people write them: pointers to dense arrays, sizes, numbers; the grid has a thread for
    /// each of the launch.
    Plain,
}

/// What the text says about itself, and where it can run.
#[derive(Clone, Debug)]
pub struct CudaOptions {
    /// The name of the source file, for the comment at the head; no path that differs from machine
    /// to machine.
    pub source_name: String,
    /// What the source says beside its code.
    pub remarks: Remarks,
    pub abi: Abi,
    /// What the caller promises of plain parameters, besides what the head of the text says.
    pub promises: Promises,
    /// Bytes of shared memory that a block may have.
    pub shared: u64,
    /// Whether the compiler of the text may fuse `a * b + c` into one rounding. If not, products of
    /// floats are calls that no compiler fuses (`__fmul_rn`).
    pub fmad: bool,
    /// What multiplies tiles. None of the text's own: chains of `fma`.
    pub tensor: Tensor,
}

impl Default for CudaOptions {
    fn default() -> CudaOptions {
        CudaOptions {
            source_name: String::new(),
            remarks: Remarks::default(),
            abi: Abi::Warp,
            promises: Promises::default(),
            shared: blocks::DEFAULT_BYTES,
            fmad: true,
            tensor: Tensor::NONE,
        }
    }
}

/// Prints some kernels of a module, with the functions they call. The error names the construct
/// that has no CUDA form. `known`: the texts of library functions that were printed before.
pub fn emit(
    module: &Module,
    kernels: &[FuncId],
    options: &CudaOptions,
    known: &Texts,
) -> Result<String, Box<Diagnostic>> {
    emit_with_entries(module, kernels, options, known).map(|(text, _)| text)
}

/// The same, with what each entry takes where its parameters are plain.
pub fn emit_with_entries(
    module: &Module,
    kernels: &[FuncId],
    options: &CudaOptions,
    known: &Texts,
) -> Result<(String, Vec<PlainEntry>), Box<Diagnostic>> {
    if options.abi == Abi::Warp {
        return Printer::new(&tidied(module), known).print(kernels, options);
    }
    let (prepared, plain) = with_plain(module, kernels, options)?;
    let prepared = tidied(&prepared);
    let mut printer = Printer::new(&prepared, known);
    printer.plain = plain;
    printer.text(kernels, options)
}

/// The module with kernels for plain parameters, those on tiles as code of each thread of a block.
fn with_plain(
    module: &Module,
    kernels: &[FuncId],
    options: &CudaOptions,
) -> Result<(Module, plain::Kernels), Box<Diagnostic>> {
    let shared = blocks::shared(module, kernels, options.tensor, options.shared);
    plain::prepare(shared.map_err(|error| Box::new(error.into()))?.as_ref(), kernels, &options.promises)
}

/// The same, with a mark around each statement ([`crate::source::lined`]).
pub fn emit_marked(whole: &Module, kernels: &[FuncId], options: &CudaOptions) -> Result<String, Box<Diagnostic>> {
    // Marked texts are read once by a person: nothing is kept for them.
    let known = Texts::new(0);
    let marked = |module, plain| Printer {
        survey: Survey::new(module, false),
        plain,
        marked: true,
        ..Printer::new(module, &known)
    };
    let made = match options.abi {
        Abi::Warp => marked(&tidied(whole), plain::Kernels::new()).print(kernels, options),
        Abi::Plain => {
            let (module, plain) = with_plain(whole, kernels, options)?;
            marked(&tidied(&module), plain).text(kernels, options)
        }
    };
    made.map(|(text, _)| text)
}

/// Prints several texts of one module, such as [`tidied`] gives: what two of them share is surveyed
/// once, and the same functions are printed once.
pub struct Printer<'a> {
    module: &'a Module,
    survey: Survey<'a>,
    known: &'a Texts,
    /// The functions, without kernels, that have no place there.
    printed: IdMap<FuncId, Arc<memo::Printed>>,
    constants: Constants,
    /// What is known of kernels whose parameters are plain.
    plain: plain::Kernels,
    marked: bool,
}

impl<'a> Printer<'a> {
    pub fn new(module: &'a Module, known: &'a Texts) -> Printer<'a> {
        let (survey, constants) = (Survey::new(module, true), Constants::of(module));
        let plain = plain::Kernels::new();
        Printer { module, survey, known, printed: IdMap::default(), constants, plain, marked: false }
    }

    /// Like [`emit`], with descriptors.
    pub fn emit(&mut self, kernels: &[FuncId], options: &CudaOptions) -> Result<String, Box<Diagnostic>> {
        let options = CudaOptions { abi: Abi::Warp, ..options.clone() };
        self.print(kernels, &options).map(|(text, _)| text)
    }

    fn print(
        &mut self,
        kernels: &[FuncId],
        options: &CudaOptions,
    ) -> Result<(String, Vec<PlainEntry>), Box<Diagnostic>> {
        match blocks::shared(self.module, kernels, options.tensor, options.shared)
            .map_err(|error| Box::new(error.into()))?
        {
            Cow::Borrowed(_) => self.text(kernels, options),
            Cow::Owned(module) => {
                let marked = self.marked;
                Printer { marked, ..Printer::new(&module, self.known) }.text(kernels, options)
            }
        }
    }

    fn text(
        &mut self,
        kernels: &[FuncId],
        options: &CudaOptions,
    ) -> Result<(String, Vec<PlainEntry>), Box<Diagnostic>> {
        let Order { printed: order, named, .. } = self.survey.order(kernels);
        let names = function_names(self.module, &named, &self.survey, &self.plain);
        let (effects, constants) = (&self.survey.effects, &self.constants);
        let (remarks, plain) = (&options.remarks, &self.plain);
        let entries = plain_names(self.module, kernels, &names, plain);
        let shared = TextContext {
            module: self.module,
            effects,
            constants,
            remarks,
            names,
            plain,
            entries,
            passed: RefCell::default(),
            marked: self.marked,
            fmad: options.fmad,
            all_fast: kernels.iter().all(|&id| self.module.functions[id].fast_math),
        };
        let mut taken = Vec::new();
        let mut prelude = Prelude::new(options.fmad, shared.all_fast);
        let mut functions = String::new();
        for &(id, fingerprint) in &order {
            let function = &self.module.functions[id];
            let failed = |fault: Fault| {
                let message = format!("{} cannot be written as CUDA C++", fault.what);
                let diagnostic = Diagnostic::new(Code::E0820, message)
                    .label(fault.span, format!("needed by `{}`", function.source_name));
                Box::new(match options.abi {
                    Abi::Warp => diagnostic,
                    Abi::Plain => diagnostic.help("`--abi warp` may have a text for it: its arrays are descriptors"),
                })
            };
            functions.push('\n');
            match self.survey.summary(id).filter(|_| !function.is_kernel()) {
                Some(summary) => {
                    let printed = device_function(&shared, id, fingerprint, summary, self.known, &mut self.printed)
                        .map_err(failed)?;
                    functions.push_str(&printed.text);
                    prelude.add(&printed.prelude);
                }
                None => {
                    let (text, entry) = kernel::function(&shared, id, &mut prelude).map_err(failed)?;
                    functions.push_str(&text);
                    taken.extend(entry);
                }
            }
        }
        let mut out = format!("// Generated by kc {}", env!("CARGO_PKG_VERSION"));
        if !options.source_name.is_empty() {
            let _ = write!(out, " from {}", options.source_name.replace(['\n', '\r', '\\'], "_"));
        }
        out.push_str(".\n");
        if options.abi == Abi::Plain {
            out.push_str(plain::head_of_text(&options.promises));
        }
        let as_written = rounding::as_written(self.module);
        let compares = |&&id: &&FuncId| as_written.contains(&id) && self.module.functions[id].phase == Phase::Backward;
        if let Some(&id) = kernels.iter().find(compares).filter(|_| options.fmad) {
            let name = &self.module.functions[id].source_name;
            let _ = writeln!(out, "// Compile with -fmad=false: the gradient of {name} finds extremes by their bits.");
        }
        if kernels.iter().any(|&id| self.module.functions[id].fast_math) {
            out.push_str(
                "// fast_math: float32 functions are the GPU's approximations; Warp compiles with -ftz=true, too.\n",
            );
        }
        out.push('\n');
        prelude.write(&mut out, &self.module.structs);
        out.truncate(out.trim_end_matches('\n').len());
        out.push('\n');
        out.push_str(&functions);
        Ok((out, taken))
    }
}

/// A device function, whose text is printed once for all texts with these names: one with a
/// fingerprint for all programs, another one for the texts of its module.
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
    let serves = |printed: &Arc<memo::Printed>| {
        (printed.prelude.fmad, printed.prelude.all_fast) == (shared.fmad, shared.all_fast)
            && names().eq(printed.names.iter().map(String::as_str))
    };
    if let Some(printed) = known.filter(serves) {
        return Ok(printed);
    }
    let mut prelude = Prelude::new(shared.fmad, shared.all_fast);
    let (text, _) = kernel::function(shared, id, &mut prelude)?;
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
    /// The kernels with plain parameters, and what they are called; functions that take pointers.
    plain: &'a plain::Kernels,
    entries: BTreeMap<FuncId, String>,
    /// What functions with pointers are passed: known when they are printed, before those that call
    /// them.
    passed: RefCell<BTreeMap<FuncId, plain::Passed>>,
    /// Statements tell where they come from.
    marked: bool,
    /// Products and sums may fuse.
    fmad: bool,
    /// All kernels take the hardware's approximations.
    all_fast: bool,
}

impl TextContext<'_> {
    /// The C++ name of a kernel with plain parameters.
    fn plain_name(&self, id: FuncId) -> &str {
        self.entries.get(&id).map_or("", String::as_str)
    }

    /// The C++ name of a device function.
    pub fn function_name(&self, id: FuncId) -> &str {
        self.names.get(&id).map_or("", String::as_str)
    }
}

/// Functions keep their source names, as C++ overloads them too; one that C++ could not tell from
/// another, or from CUDA's own, gets its name in the module.
fn function_names(
    module: &Module,
    order: &[FuncId],
    survey: &Survey<'_>,
    pointers: &plain::Kernels,
) -> BTreeMap<FuncId, String> {
    let composite_ops = composite_operations(order, survey);
    let structs: BTreeSet<String> = module.structs.values().map(|s| struct_name(&s.name)).collect();
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
        // Arrays of any rank are the same pointers: such functions are not overloaded.
        if pointers.contains_key(&id) {
            params.clear();
        }
        let is_type = |name: &str| types::is_type_name(name) || structs.contains(name);
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

/// Plain kernels have the names that the source gives them (`saxpy`, `saxpy_backward`), if nothing
/// else in the text does.
fn plain_names(
    module: &Module,
    kernels: &[FuncId],
    functions: &BTreeMap<FuncId, String>,
    plain: &plain::Kernels,
) -> BTreeMap<FuncId, String> {
    let devices = functions.iter().filter(|(id, _)| !module.functions[**id].is_kernel());
    let mut taken: BTreeSet<&str> = devices.map(|(_, name)| name.as_str()).collect();
    let structs: Vec<String> = module.structs.values().map(|s| struct_name(&s.name)).collect();
    taken.extend(structs.iter().map(String::as_str));
    let mut names: BTreeMap<FuncId, String> = BTreeMap::new();
    for &id in kernels.iter().filter(|id| plain.contains_key(id)) {
        let function = &module.functions[id];
        let stem = types::identifier(&function.source_name);
        let name = match function.phase {
            Phase::Forward => stem,
            Phase::Augmented | Phase::Backward => format!("{stem}_{}", function.phase.name()),
        };
        let clashes = taken.contains(name.as_str())
            || types::is_cuda_function(&name)
            || plain::is_c_function(&name)
            || types::is_type_name(&name)
            || Helper::is_name(&name)
            || names.values().any(|other| *other == name);
        let name = if clashes { crate::abi::device_entry(&function.source_name, function.phase) } else { name };
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
