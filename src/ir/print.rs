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

use super::text::{constant, is_identifier, quote, shown_structs};
use super::*;
use crate::source::lined;

/// The whole module.
pub fn print(module: &Module) -> String {
    text_of(module, false)
}

/// The same, with a mark around what each instruction gives ([`crate::source::lined`]).
pub fn print_marked(module: &Module) -> String {
    text_of(module, true)
}

fn text_of(module: &Module, marked: bool) -> String {
    let structs = shown_structs(&module.structs);
    let mut text = String::new();
    for (id, def) in structs.iter() {
        text.push_str(&format!("struct {} {{\n", def.name));
        for field in &module.structs[id].fields {
            text.push_str(&format!("  {}: {}\n", field.name, field.ty.display(&structs)));
        }
        text.push_str("}\n\n");
    }
    for (n, function) in module.functions.values().enumerate() {
        if n > 0 {
            text.push('\n');
        }
        let printer = Printer { marked, ..Printer::new(module, &structs, function) };
        text.push_str(&printer.function());
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
    module: &'a Module,
    structs: &'a StructTable,
    function: &'a Function,
    names: Vec<String>,
    text: String,
    nested: bool,
    marked: bool,
    /// Blocks on the way to this one: a faulty module could nest one in itself.
    open: Vec<BlockId>,
}

/// A name for each value that the function's blocks define, in the order of the text.
fn value_names(function: &Function) -> Vec<String> {
    let mut names: Vec<String> = (0..function.values.len()).map(|n| format!("%?{n}")).collect();
    let mut used: HashMap<&str, u32> = HashMap::new();
    let mut next = 0;
    let mut seen = vec![false; function.blocks.len()];
    let mut define = |value: ValueId| {
        let (Some(info), Some(slot)) = (function.values.get(value), names.get_mut(value.0 as usize)) else { return };
        *slot = match info.name.as_deref().filter(|name| is_identifier(name)) {
            Some(name) => {
                let count = used.entry(name).or_insert(0);
                *count += 1;
                if *count == 1 { format!("%{name}") } else { format!("%{name}.{}", *count - 1) }
            }
            None => {
                next += 1;
                format!("%{}", next - 1)
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
        let names = value_names(function);
        Printer { module, structs, function, names, text: String::new(), nested: true, marked: false, open: Vec::new() }
    }

    fn function(mut self) -> String {
        let function = self.function;
        let word = if function.is_kernel() { "kernel" } else { "func" };
        let params = self.function.blocks.get(function.entry).map_or(&[][..], |block| &block.params);
        let params = self.list(params, |p, v| p.typed(v));
        self.begin(function.span);
        self.text.push_str(&format!("{word} @{}({params})", function.name));
        if let FunctionKind::Kernel { rank } = function.kind {
            self.text.push_str(&format!(" rank {rank}"));
        }
        if !function.results.is_empty() {
            let results: Vec<String> = function
                .results
                .iter()
                .map(|r| match r.role {
                    ResultRole::Return => r.ty.display(self.structs),
                    ResultRole::ByRef(n) => format!("ref {n} {}", r.ty.display(self.structs)),
                })
                .collect();
            self.text.push_str(&format!(" -> ({})", results.join(", ")));
        }
        if function.source_name != function.name {
            self.text.push_str(&format!(" source {}", quote(&function.source_name)));
        }
        if function.library {
            self.text.push_str(" library");
        }
        if let Some(name) = &function.cuda_name {
            self.text.push_str(&format!(" cuda {}", quote(name)));
        }
        if let Some(text) = &function.native {
            self.text.push_str(&format!(" native {}", quote(text)));
        }
        if function.phase != Phase::Forward {
            self.text.push_str(&format!(" {}", function.phase.name()));
        }
        self.derivative();
        if !function.tape.is_empty() {
            let tape: Vec<String> = function.tape.iter().map(tape_buffer).collect();
            self.text.push_str(&format!(" tape ({})", tape.join(", ")));
        }
        self.text.push_str(" {");
        self.end();
        self.text.push('\n');
        self.block(function.entry, 1);
        self.text.push_str("}\n");
        self.text
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
        let name = |id: FuncId| self.module.functions.get(id).map_or("?", |f| f.name.as_str());
        let text = match &self.function.derivative {
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
        let function = self.function;
        let Some(data) = function.blocks.get(block).filter(|_| !self.open.contains(&block)) else {
            self.text.push_str(&format!("{:1$}?{block}\n", "", 2 * depth));
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
        let last = self.function.blocks.get(block).and_then(|data| data.insts.last());
        last.and_then(|&inst| self.function.insts.get(inst))
            .is_some_and(|inst| matches!(&inst.op, Op::Yield(values) if values.is_empty()))
    }

    fn braces(&mut self, block: BlockId, depth: usize) {
        if !self.nested {
            self.text.push_str("{ ... }");
            return;
        }
        self.text.push_str("{\n");
        self.block(block, depth + 1);
        self.text.push_str(&format!("{:1$}}}", "", 2 * depth));
    }

    fn inst(&mut self, id: InstId, depth: usize) {
        let function = self.function;
        if let Some(note) = function.notes.get(&id).filter(|_| self.nested) {
            note.lines().for_each(|line| self.text.push_str(&format!("{:1$}# {line}\n", "", 2 * depth)));
        }
        self.text.push_str(&format!("{:1$}", "", 2 * depth));
        let Some(inst) = function.insts.get(id) else {
            self.text.push_str(&format!("?{id}\n"));
            return;
        };
        self.begin(inst.span);
        if !inst.results.is_empty() {
            let results = self.list(&inst.results, |p, v| p.typed(v));
            self.text.push_str(&results);
            self.text.push_str(" = ");
        }
        match &inst.op {
            Op::If { condition, then, otherwise } => {
                self.text.push_str(&format!("if {} ", self.name(*condition)));
                self.braces(*then, depth);
                let bare = function.blocks.get(*otherwise).is_some_and(|data| data.insts.len() == 1);
                if !(bare && self.ends_silently(*otherwise)) {
                    self.text.push_str(" else ");
                    self.braces(*otherwise, depth);
                }
            }
            Op::For { start, end, step, init, body } => {
                let params = function.blocks.get(*body).map_or(&[][..], |data| &data.params);
                let counter = params.first().map_or("?".to_string(), |&v| self.typed(v));
                let [start, end, step] = [start, end, step].map(|&v| self.name(v));
                self.text.push_str(&format!("for {counter} = {start} to {end} step {step} "));
                self.carry(params.get(1..).unwrap_or(&[]), init);
                self.braces(*body, depth);
            }
            Op::While { init, condition, body } => {
                self.text.push_str("while ");
                let params = function.blocks.get(*condition).map_or(&[][..], |data| &data.params);
                self.carry(params, init);
                self.braces(*condition, depth);
                self.text.push_str(" do ");
                let params = function.blocks.get(*body).map_or(&[][..], |data| &data.params);
                if !params.is_empty() {
                    let params = self.list(params, |p, v| p.typed(v));
                    self.text.push_str(&format!("carry {params} "));
                }
                self.braces(*body, depth);
            }
            op => {
                let line = self.line(op);
                self.text.push_str(&line);
            }
        }
        self.end();
        self.text.push('\n');
    }

    fn carry(&mut self, params: &[ValueId], init: &[ValueId]) {
        if params.is_empty() && init.is_empty() {
            return;
        }
        let count = params.len().max(init.len());
        let pairs: Vec<String> = (0..count)
            .map(|n| {
                let param = params.get(n).map_or("?".to_string(), |&v| self.typed(v));
                let init = init.get(n).map_or("?".to_string(), |&v| self.name(v));
                format!("{param} = {init}")
            })
            .collect();
        self.text.push_str(&format!("carry {} ", pairs.join(", ")));
    }

    /// Every operation without nested blocks.
    fn line(&self, op: &Op) -> String {
        let v = |value: &ValueId| self.name(*value);
        let names = |values: &[ValueId]| self.list(values, Self::name);
        let word = |word: &str, values: &[ValueId]| format!("{word} {}", names(values)).trim_end().to_string();
        match op {
            Op::Const(c) => format!("const {}", constant(*c)),
            Op::Zero => "zero".to_string(),
            Op::Unary(op, a) => format!("{} {}", op.name(), v(a)),
            Op::Binary(op, a, b) => format!("{} {}, {}", op.name(), v(a), v(b)),
            Op::Compare(op, a, b) => format!("{} {}, {}", op.name(), v(a), v(b)),
            Op::Fma(a, b, c) => format!("fma {}, {}, {}", v(a), v(b), v(c)),
            Op::Cast(a) => format!("cast {}", v(a)),
            Op::Bitcast(a) => format!("bitcast {}", v(a)),
            Op::Select { condition, then, otherwise } => {
                format!("select {}, {}, {}", v(condition), v(then), v(otherwise))
            }
            Op::Construct(args) => word("construct", args),
            Op::Extract(a, path) => format!("extract {}{}", v(a), self.path(self.ty(*a), path)),
            Op::Insert(a, path, b) => format!("insert {}{}, {}", v(a), self.path(self.ty(*a), path), v(b)),
            Op::Call(callee, args) => {
                let name = self.module.functions.get(*callee).map_or("?", |f| f.name.as_str());
                format!("call @{name}({})", names(args))
            }
            Op::ThreadIndex(n) => format!("thread_index {n}"),
            Op::ThreadNumber => "thread_number".to_string(),
            Op::BlockDim => "block_dim".to_string(),
            Op::Extent(a, dim) => format!("extent {}, {dim}", v(a)),
            Op::IsSet(a) => format!("is_set {}", v(a)),
            Op::Gradient(a) => format!("gradient {}", v(a)),
            Op::Address(a) => format!("address {}", v(a)),
            Op::View(a, dims) => {
                let dims: Vec<String> = dims
                    .iter()
                    .map(|dim| match dim {
                        ViewIndex::At(at) => v(at),
                        ViewIndex::Range { start, stop, step } => format!("{}:{}:{}", v(start), v(stop), v(step)),
                    })
                    .collect();
                format!("view {}[{}]", v(a), dims.join(", "))
            }
            Op::LocalArray => "local_array".to_string(),
            Op::Load { array, index, path } => format!("load {}", self.element(*array, index, path)),
            Op::Store { array, index, path, value } => {
                format!("store {}, {}", self.element(*array, index, path), v(value))
            }
            Op::Atomic { op, array, index, path, value } => {
                format!("atomic {} {}, {}", op.name(), self.element(*array, index, path), v(value))
            }
            Op::AtomicCas { array, index, path, expected, new } => {
                format!("atomic_cas {}, {}, {}", self.element(*array, index, path), v(expected), v(new))
            }
            Op::Print { format, args } => {
                let args: String = args.iter().map(|a| format!(", {}", v(a))).collect();
                format!("print {}{args}", quote(format))
            }
            Op::Assert { condition, message } => format!("assert {}, {}", v(condition), quote(message)),
            Op::Yield(args) => word("yield", args),
            Op::Break(args) => word("break", args),
            Op::Continue(args) => word("continue", args),
            Op::Return(args) => word("return", args),
            Op::If { .. } | Op::For { .. } | Op::While { .. } => String::new(),
        }
    }

    fn element(&self, array: ValueId, index: &[ValueId], path: &Path) -> String {
        let element = match self.ty(array) {
            Some(Type::Array(a)) => Some(a.element.into()),
            Some(Type::Local(a)) => Some(a.element.into()),
            _ => None,
        };
        format!("{}[{}]{}", self.name(array), self.list(index, Self::name), self.path(element, path))
    }

    /// Struct fields by name, everything else by number.
    fn path(&self, mut ty: Option<Type>, path: &Path) -> String {
        let mut text = String::new();
        for step in path {
            let index = match step {
                Step::At(n) => {
                    let field = match ty {
                        Some(Type::Struct(id)) => self.structs.get(id).and_then(|def| def.fields.get(*n as usize)),
                        _ => None,
                    };
                    match field {
                        Some(field) => text.push_str(&format!(".{}", field.name)),
                        None => text.push_str(&format!("[{n}]")),
                    }
                    Some(*n)
                }
                Step::Dynamic(v) => {
                    text.push_str(&format!("[{}]", self.name(*v)));
                    None
                }
            };
            ty = ty.and_then(|ty| ty.step(index, self.structs));
        }
        text
    }

    fn ty(&self, value: ValueId) -> Option<Type> {
        self.function.values.get(value).map(|v| v.ty)
    }

    fn name(&self, value: ValueId) -> String {
        self.names.get(value.0 as usize).cloned().unwrap_or_else(|| format!("%?{}", value.0))
    }

    fn typed(&self, value: ValueId) -> String {
        let ty = self.ty(value).map_or("?".to_string(), |ty| ty.display(self.structs));
        format!("{}: {ty}", self.name(value))
    }

    fn list(&self, values: &[ValueId], show: impl Fn(&Self, ValueId) -> String) -> String {
        values.iter().map(|&v| show(self, v)).collect::<Vec<_>>().join(", ")
    }
}
