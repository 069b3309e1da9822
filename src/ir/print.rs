//! IR as text that reads like a program; [`super::parse`] reads it back.
//!
//! ```text
//! kernel @count(%data: array(dtype=int32), %out: array(dtype=int32)) rank 1 {
//!   %i: int32 = thread_index 0
//!   %0: int32 = const 0
//!   %1: int32 = const 1
//!   %n: int32 = extent %data, 0
//!   %sum: int32 = for %k: int32 = %i to %n step %1 carry %sum.1: int32 = %0 {
//!     %x: int32 = load %data[%k]
//!     %sum.2: int32 = add %sum.1, %x
//!     yield %sum.2
//!   }
//!   store %out[%i], %sum
//!   return
//! }
//! ```
//!
//! A line that starts with `#` is a note on the instruction below it. A value is shown by its source name, with `.1`, `.2` ... where several share it, or by a number. A nested block that
//! ends in `yield` of nothing leaves that line out, and an `else` with nothing but that is left out too.

use std::collections::HashMap;
use std::fmt::{Display, Formatter, Result as Written, Write as _, from_fn};

use super::text::{constant, is_identifier, quote, shown_structs};
use super::*;
use crate::source::lined;

/// The whole module.
pub fn print(module: &Module) -> String {
    text_of(module, false, |_| true)
}

/// Some entries, and what they reach.
pub fn print_entries(module: &Module, entries: &[FuncId]) -> String {
    let reached = module.needed_by(entries.iter().copied());
    text_of(module, false, |id| reached[id])
}

/// The whole module, with a mark around what each instruction gives ([`crate::source::lined`]).
pub fn print_marked(module: &Module) -> String {
    text_of(module, true, |_| true)
}

fn text_of(module: &Module, marked: bool, wanted: impl Fn(FuncId) -> bool) -> String {
    let structs = shown_structs(&module.structs);
    let mut text = String::new();
    for (id, def) in structs.iter() {
        let _ = writeln!(text, "struct {} {{", def.name);
        for field in &module.structs[id].fields {
            let _ = writeln!(text, "  {}: {}", field.name, field.ty.shown(&structs));
        }
        text.push_str("}\n\n");
    }
    for (n, (_, function)) in module.functions.iter().filter(|(id, _)| wanted(*id)).enumerate() {
        if n > 0 {
            text.push('\n');
        }
        let mut printer = Printer { text, marked, ..Printer::new(module, &structs, function) };
        printer.function();
        text = printer.text;
    }
    text
}

/// One instruction as its line in [`print`] (for messages); nested blocks are left out.
pub fn print_inst(module: &Module, function: &Function, inst: InstId) -> String {
    let structs = shown_structs(&module.structs);
    let mut printer = Printer::new(module, &structs, function);
    printer.nested = false;
    printer.inst(inst, 0);
    printer.text.trim_end().to_string()
}

struct Printer<'a> {
    words: Words<'a>,
    text: String,
    nested: bool,
    marked: bool,
    /// Blocks on the way to this one: a faulty module could nest one in itself.
    open: Vec<BlockId>,
}

/// How the parts of a function are written.
struct Words<'a> {
    module: &'a Module,
    structs: &'a StructTable,
    function: &'a Function,
    names: Vec<Name<'a>>,
}

/// What a value is called.
#[derive(Clone, Copy)]
enum Name<'a> {
    /// The first value with a source name has that name, later ones have a number behind it.
    Source(&'a str, u32),
    Number(u32),
    /// No block defines it.
    Unknown(ValueId),
}

impl Display for Name<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Written {
        match self {
            Name::Source(name, 0) => write!(f, "%{name}"),
            Name::Source(name, n) => write!(f, "%{name}.{n}"),
            Name::Number(n) => write!(f, "%{n}"),
            Name::Unknown(value) => write!(f, "%?{}", value.0),
        }
    }
}

/// A name for each value that the function's blocks define, in the order of the text.
fn value_names(function: &Function) -> Vec<Name<'_>> {
    let mut names: Vec<Name> = function.values.ids().map(Name::Unknown).collect();
    let mut used: HashMap<&str, u32> = HashMap::new();
    let mut next = 0;
    let mut seen = vec![false; function.blocks.len()];
    let mut define = |value: ValueId| {
        let (Some(info), Some(slot)) = (function.values.get(value), names.get_mut(value.0 as usize)) else { return };
        *slot = match info.name.as_deref().filter(|name| is_identifier(name)) {
            Some(name) => {
                let count = used.entry(name).or_insert(0);
                *count += 1;
                Name::Source(name, *count - 1)
            }
            None => {
                next += 1;
                Name::Number(next - 1)
            }
        };
    };
    fn visit(function: &Function, block: BlockId, seen: &mut [bool], define: &mut impl FnMut(ValueId)) {
        let Some(data) = function.blocks.get(block) else { return };
        if std::mem::replace(&mut seen[block.0 as usize], true) {
            return;
        }
        data.params.iter().for_each(|&p| define(p));
        for inst in data.insts.iter().filter_map(|&i| function.insts.get(i)) {
            inst.results.iter().for_each(|&r| define(r));
            for nested in inst.op.blocks() {
                visit(function, nested, seen, define);
            }
        }
    }
    visit(function, function.entry, &mut seen, &mut define);
    names
}

/// `5 log 8 "the old value of x[i]"`
fn tape_buffer(buffer: &TapeBuffer) -> String {
    let slots = buffer.slots.map_or(String::new(), |n| format!("{n} "));
    format!("{} {} {slots}{}", buffer.param, buffer.role.name(), quote(&buffer.reason))
}

impl<'a> Printer<'a> {
    fn new(module: &'a Module, structs: &'a StructTable, function: &'a Function) -> Self {
        let words = Words { module, structs, function, names: value_names(function) };
        Printer { words, text: String::new(), nested: true, marked: false, open: Vec::new() }
    }

    fn put(&mut self, text: impl Display) {
        let _ = write!(self.text, "{text}");
    }

    fn indent(&mut self, depth: usize) {
        (0..depth).for_each(|_| self.text.push_str("  "));
    }

    fn function(&mut self) {
        let function = self.words.function;
        let word = if function.is_kernel() { "kernel" } else { "func" };
        let params = function.blocks.get(function.entry).map_or(&[][..], |block| &block.params);
        self.begin(function.span);
        let _ = write!(self.text, "{word} @{}({})", function.name, self.words.typed_list(params));
        if let FunctionKind::Kernel { rank } = function.kind {
            self.put(format_args!(" rank {rank}"));
        }
        if !function.results.is_empty() {
            let structs = self.words.structs;
            let results: Vec<String> = function
                .results
                .iter()
                .map(|r| match r.role {
                    ResultRole::Return => r.ty.display(structs),
                    ResultRole::ByRef(n) => format!("ref {n} {}", r.ty.shown(structs)),
                })
                .collect();
            self.put(format_args!(" -> ({})", results.join(", ")));
        }
        if function.source_name != function.name {
            self.put(format_args!(" source {}", quote(&function.source_name)));
        }
        if function.library {
            self.put(" library");
        }
        if let Some(name) = &function.cuda_name {
            self.put(format_args!(" cuda {}", quote(name)));
        }
        if let Some(text) = &function.native {
            self.put(format_args!(" native {}", quote(text)));
        }
        if function.phase != Phase::Forward {
            self.put(format_args!(" {}", function.phase.name()));
        }
        self.derivative();
        if !function.tape.is_empty() {
            let tape: Vec<String> = function.tape.iter().map(tape_buffer).collect();
            self.put(format_args!(" tape ({})", tape.join(", ")));
        }
        self.put(" {");
        self.end();
        self.text.push('\n');
        self.block(function.entry, 1);
        self.put("}\n");
    }

    fn begin(&mut self, span: Span) {
        if self.marked {
            self.text.push_str(&lined::begin(span));
        }
    }

    fn end(&mut self) {
        if self.marked {
            self.text.push(lined::END);
        }
    }

    fn derivative(&mut self) {
        let words = &self.words;
        let name = |id: FuncId| words.module.functions.get(id).map_or("?", |f| f.name.as_str());
        let text = match &words.function.derivative {
            Derivative::Body => return,
            Derivative::Rule { adjoint, replay: None } => format!(" adjoint @{}", name(*adjoint)),
            Derivative::Rule { adjoint, replay: Some(replay) } => {
                format!(" adjoint @{} replay @{}", name(*adjoint), name(*replay))
            }
            Derivative::Replay(replay) => format!(" replay @{}", name(*replay)),
            Derivative::Zero(reason) => format!(" zero_gradient {}", quote(reason)),
            Derivative::None(reason) => format!(" no_gradient {}", quote(reason)),
            Derivative::AdjointOf(of) => format!(" adjoint_of @{}", name(*of)),
        };
        self.text.push_str(&text);
    }

    fn block(&mut self, block: BlockId, depth: usize) {
        let function = self.words.function;
        let Some(data) = function.blocks.get(block).filter(|_| !self.open.contains(&block)) else {
            self.indent(depth);
            self.put(format_args!("?{block}\n"));
            return;
        };
        self.open.push(block);
        let silent = usize::from(depth > 1 && self.ends_silently(block));
        for &inst in &data.insts[..data.insts.len() - silent] {
            self.inst(inst, depth);
        }
        self.open.pop();
    }

    /// Whether a block ends in a `yield` of nothing.
    fn ends_silently(&self, block: BlockId) -> bool {
        let function = self.words.function;
        let last = function.blocks.get(block).and_then(|data| data.insts.last());
        last.and_then(|&inst| function.insts.get(inst))
            .is_some_and(|inst| matches!(&inst.op, Op::Yield(values) if values.is_empty()))
    }

    fn braces(&mut self, block: BlockId, depth: usize) {
        if !self.nested {
            self.put("{ ... }");
            return;
        }
        self.put("{\n");
        self.block(block, depth + 1);
        self.indent(depth);
        self.put("}");
    }

    fn inst(&mut self, id: InstId, depth: usize) {
        let function = self.words.function;
        if let Some(note) = function.notes.get(&id).filter(|_| self.nested) {
            for line in note.lines() {
                self.indent(depth);
                self.put(format_args!("# {line}\n"));
            }
        }
        self.indent(depth);
        let Some(inst) = function.insts.get(id) else {
            self.put(format_args!("?{id}\n"));
            return;
        };
        self.begin(inst.span);
        if !inst.results.is_empty() {
            let _ = write!(self.text, "{} = ", self.words.typed_list(&inst.results));
        }
        match &inst.op {
            Op::If { condition, then, otherwise } => {
                let _ = write!(self.text, "if {} ", self.words.name(*condition));
                self.braces(*then, depth);
                let bare = function.blocks.get(*otherwise).is_some_and(|data| data.insts.len() == 1);
                if !(bare && self.ends_silently(*otherwise)) {
                    self.put(" else ");
                    self.braces(*otherwise, depth);
                }
            }
            Op::For { start, end, step, init, body } => {
                let params = function.blocks.get(*body).map_or(&[][..], |data| &data.params);
                self.put("for ");
                match params.first() {
                    Some(&counter) => {
                        let _ = write!(self.text, "{}", self.words.typed(counter));
                    }
                    None => self.put("?"),
                }
                let [start, end, step] = [start, end, step].map(|&v| self.words.name(v));
                let _ = write!(self.text, " = {start} to {end} step {step} ");
                self.carry(params.get(1..).unwrap_or(&[]), init);
                self.braces(*body, depth);
            }
            Op::While { init, condition, body } => {
                self.put("while ");
                let params = function.blocks.get(*condition).map_or(&[][..], |data| &data.params);
                self.carry(params, init);
                self.braces(*condition, depth);
                self.put(" do ");
                let params = function.blocks.get(*body).map_or(&[][..], |data| &data.params);
                if !params.is_empty() {
                    let _ = write!(self.text, "carry {} ", self.words.typed_list(params));
                }
                self.braces(*body, depth);
            }
            op => {
                let _ = self.words.line(&mut self.text, op);
            }
        }
        self.end();
        self.text.push('\n');
    }

    fn carry(&mut self, params: &[ValueId], init: &[ValueId]) {
        if params.is_empty() && init.is_empty() {
            return;
        }
        let words = &self.words;
        let count = params.len().max(init.len());
        let pairs: Vec<String> = (0..count)
            .map(|n| {
                let param = params.get(n).map_or("?".to_string(), |&v| words.typed(v).to_string());
                let init = init.get(n).map_or("?".to_string(), |&v| words.name(v).to_string());
                format!("{param} = {init}")
            })
            .collect();
        self.put(format_args!("carry {} ", pairs.join(", ")));
    }
}

impl Words<'_> {
    /// Writes an operation without nested blocks.
    fn line(&self, out: &mut String, op: &Op) -> Written {
        let v = |value: &ValueId| self.name(*value);
        let word = |out: &mut String, word: &str, values: &[ValueId]| match values {
            [] => write!(out, "{word}"),
            _ => write!(out, "{word} {}", self.list(values)),
        };
        match op {
            Op::Const(c) => write!(out, "const {}", constant(*c)),
            Op::Zero => write!(out, "zero"),
            Op::Unary(op, a) => write!(out, "{} {}", op.name(), v(a)),
            Op::Binary(op, a, b) => write!(out, "{} {}, {}", op.name(), v(a), v(b)),
            Op::Compare(op, a, b) => write!(out, "{} {}, {}", op.name(), v(a), v(b)),
            Op::Fma(a, b, c) => write!(out, "fma {}, {}, {}", v(a), v(b), v(c)),
            Op::Cast(a) => write!(out, "cast {}", v(a)),
            Op::Bitcast(a) => write!(out, "bitcast {}", v(a)),
            Op::Select { condition, then, otherwise } => {
                write!(out, "select {}, {}, {}", v(condition), v(then), v(otherwise))
            }
            Op::Construct(args) => word(out, "construct", args),
            Op::Extract(a, path) => write!(out, "extract {}{}", v(a), self.path(self.ty(*a), path)),
            Op::Insert(a, path, b) => write!(out, "insert {}{}, {}", v(a), self.path(self.ty(*a), path), v(b)),
            Op::Call(callee, args) => {
                let name = self.module.functions.get(*callee).map_or("?", |f| f.name.as_str());
                write!(out, "call @{name}({})", self.list(args))
            }
            Op::ThreadIndex(n) => write!(out, "thread_index {n}"),
            Op::ThreadNumber => write!(out, "thread_number"),
            Op::BlockDim => write!(out, "block_dim"),
            Op::Extent(a, dim) => write!(out, "extent {}, {dim}", v(a)),
            Op::IsSet(a) => write!(out, "is_set {}", v(a)),
            Op::Gradient(a) => write!(out, "gradient {}", v(a)),
            Op::Address(a) => write!(out, "address {}", v(a)),
            Op::View(a, dims) => {
                let dim = |dim: &ViewIndex, f: &mut Formatter<'_>| match dim {
                    ViewIndex::At(at) => write!(f, "{}", v(at)),
                    ViewIndex::Range { start, stop, step } => write!(f, "{}:{}:{}", v(start), v(stop), v(step)),
                };
                write!(out, "view {}[{}]", v(a), separated(dims, dim))
            }
            Op::LocalArray => write!(out, "local_array"),
            Op::Load { array, index, path } => write!(out, "load {}", self.element(*array, index, path)),
            Op::Store { array, index, path, value } => {
                write!(out, "store {}, {}", self.element(*array, index, path), v(value))
            }
            Op::Atomic { op, array, index, path, value } => {
                write!(out, "atomic {} {}, {}", op.name(), self.element(*array, index, path), v(value))
            }
            Op::AtomicCas { array, index, path, expected, new } => {
                write!(out, "atomic_cas {}, {}, {}", self.element(*array, index, path), v(expected), v(new))
            }
            Op::Print { format, args } => {
                write!(out, "print {}", quote(format))?;
                args.iter().try_for_each(|a| write!(out, ", {}", v(a)))
            }
            Op::Assert { condition, message } => write!(out, "assert {}, {}", v(condition), quote(message)),
            Op::Yield(args) => word(out, "yield", args),
            Op::Break(args) => word(out, "break", args),
            Op::Continue(args) => word(out, "continue", args),
            Op::Return(args) => word(out, "return", args),
            Op::If { .. } | Op::For { .. } | Op::While { .. } => Ok(()),
        }
    }

    fn element(&self, array: ValueId, index: &[ValueId], path: &Path) -> impl Display {
        let element = match self.ty(array) {
            Some(Type::Array(a)) => Some(a.element.into()),
            Some(Type::Local(a)) => Some(a.element.into()),
            _ => None,
        };
        from_fn(move |f| write!(f, "{}[{}]{}", self.name(array), self.list(index), self.path(element, path)))
    }

    /// Struct fields by name, everything else by number.
    fn path(&self, ty: Option<Type>, path: &Path) -> impl Display {
        from_fn(move |f| {
            let mut ty = ty;
            for step in path {
                let index = match step {
                    Step::At(n) => {
                        let field = match ty {
                            Some(Type::Struct(id)) => self.structs.get(id).and_then(|def| def.fields.get(*n as usize)),
                            _ => None,
                        };
                        match field {
                            Some(field) => write!(f, ".{}", field.name)?,
                            None => write!(f, "[{n}]")?,
                        }
                        Some(*n)
                    }
                    Step::Dynamic(v) => {
                        write!(f, "[{}]", self.name(*v))?;
                        None
                    }
                };
                ty = ty.and_then(|ty| ty.step(index, self.structs));
            }
            Ok(())
        })
    }

    fn ty(&self, value: ValueId) -> Option<Type> {
        self.function.values.get(value).map(|v| v.ty)
    }

    fn name(&self, value: ValueId) -> Name<'_> {
        self.names.get(value.0 as usize).copied().unwrap_or(Name::Unknown(value))
    }

    fn typed(&self, value: ValueId) -> impl Display {
        from_fn(move |f| match self.ty(value) {
            Some(ty) => write!(f, "{}: {}", self.name(value), ty.shown(self.structs)),
            None => write!(f, "{}: ?", self.name(value)),
        })
    }

    fn list(&self, values: &[ValueId]) -> impl Display {
        separated(values, |&value, f| self.name(value).fmt(f))
    }

    fn typed_list(&self, values: &[ValueId]) -> impl Display {
        separated(values, |&value, f| self.typed(value).fmt(f))
    }
}

/// `a, b, c`
fn separated<T>(items: &[T], show: impl Fn(&T, &mut Formatter<'_>) -> Written) -> impl Display {
    from_fn(move |f| {
        for (n, item) in items.iter().enumerate() {
            if n > 0 {
                f.write_str(", ")?;
            }
            show(item, f)?;
        }
        Ok(())
    })
}
