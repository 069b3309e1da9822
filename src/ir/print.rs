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
//! A line that starts with `#` is a note on the instruction below it. A value is shown by its
//! source name, with `.1`, `.2` ... where several share it, or by a number. A nested block that
//! ends in `yield` of nothing leaves that line out, and an `else` with nothing but that is left out
//! too.

use std::fmt::{Arguments, Write as _};
use std::ops::Range;
use std::sync::Arc;

use super::text::{constant, is_identifier, number, quote, shown_structs, stores};
use super::*;
use crate::ids::IdMap;
use crate::source::lined;

/// The last text of a linked function, and what it shows beside its code: names, and the
/// derivative.
struct Text {
    fingerprint: u128,
    derivative: String,
    text: String,
}

/// The whole module.
pub fn print(module: &Module) -> String {
    text_of(module, Detail::Usual, |_| true)
}

/// The whole module with what only people and CUDA text are told: the names of results, and what
/// loops keep. [`parse`](super::parse) reads back all of it.
pub fn print_complete(module: &Module) -> String {
    text_of(module, Detail::Complete, |_| true)
}

/// Some entries, and what they reach.
pub fn print_entries(module: &Module, entries: &[FuncId]) -> String {
    let reached = module.needed_by(entries.iter().copied());
    text_of(module, Detail::Usual, |id| reached[id])
}

/// The whole module, with a mark around what each instruction gives ([`crate::source::lined`]).
pub fn print_marked(module: &Module) -> String {
    text_of(module, Detail::Marked, |_| true)
}

/// What the text has beside the code.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Detail {
    Usual,
    /// Marks around what each instruction gives.
    Marked,
    /// Names of results and what loops keep.
    Complete,
}

fn text_of(module: &Module, detail: Detail, wanted: impl Fn(FuncId) -> bool) -> String {
    let structs = shown_structs(&module.structs);
    let mut text = String::new();
    for (id, def) in structs.iter() {
        let _ = writeln!(text, "struct {} {{", def.name);
        for field in &module.structs[id].fields {
            let _ = writeln!(text, "  {}: {}", field.name, field.ty.shown(&structs));
        }
        text.push_str("}\n\n");
    }
    let mut types = IdMap::default();
    for (n, (id, function)) in module.functions.iter().filter(|(id, _)| wanted(*id)).enumerate() {
        if n > 0 {
            text.push('\n');
        }
        let derivative = derivative(module, function) + &assumed_disjoint(module, function, &wanted);
        let linked =
            module.functions.linked(id).zip(module.functions.fingerprint(id)).filter(|_| detail == Detail::Usual);
        if let Some((linked, fingerprint)) = linked
            && let Some(known) = linked.facts.get::<Text>()
            && (known.fingerprint, &known.derivative) == (fingerprint, &derivative)
        {
            text.push_str(&known.text);
            continue;
        }
        let start = text.len();
        let mut printer = Printer { text, detail, types, ..Printer::new(module, &structs, function) };
        printer.function(&derivative);
        (text, types) = (printer.text, printer.types);
        if let Some((linked, fingerprint)) = linked {
            linked.facts.keep(Arc::new(Text { fingerprint, derivative, text: text[start..].to_string() }));
        }
    }
    text
}

/// ` adjoint @adj_f`: how a function is differentiated; empty where through its body.
fn derivative(module: &Module, function: &Function) -> String {
    let name = |id: FuncId| module.functions.get(id).map_or("?", |f| f.name.as_str());
    match &function.derivative {
        Derivative::Body => String::new(),
        Derivative::Rule { adjoint, replay: None } => format!(" adjoint @{}", name(*adjoint)),
        Derivative::Rule { adjoint, replay: Some(replay) } => {
            format!(" adjoint @{} replay @{}", name(*adjoint), name(*replay))
        }
        Derivative::Replay(replay) => format!(" replay @{}", name(*replay)),
        Derivative::Zero(reason) => format!(" zero_gradient {}", quote(reason)),
        Derivative::None(reason) => format!(" no_gradient {}", quote(reason)),
        Derivative::AdjointOf(of) => format!(" adjoint_of @{}", name(*of)),
    }
}

/// ` assumes_disjoint (@k 0, @k 2)`: the stores that a backward entry assumes disjoint, by their
/// numbers in the functions that its forward entry runs. Empty where it assumes nothing, or where
/// its forward entry is not shown.
fn assumed_disjoint(module: &Module, function: &Function, wanted: &impl Fn(FuncId) -> bool) -> String {
    let forward = || module.entry(&function.source_name, Phase::Forward);
    let Some(forward) = Some(&function.assumed_disjoint).filter(|stores| !stores.is_empty()).and_then(|_| forward())
    else {
        return String::new();
    };
    let run = module.needed_by([forward].into_iter());
    let shown = module.functions.iter().filter(|(id, _)| run[*id] && wanted(*id));
    let stores: Vec<String> = shown
        .flat_map(|(_, f)| {
            let places =
                stores(f).into_iter().enumerate().filter(|(_, place)| function.assumed_disjoint.contains(place));
            places.map(|(n, _)| format!("@{} {n}", f.name))
        })
        .collect();
    if stores.is_empty() { String::new() } else { format!(" assumes_disjoint ({})", stores.join(", ")) }
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
    names: Names,
    /// The types met so far.
    types: IdMap<Type, String>,
    text: String,
    nested: bool,
    detail: Detail,
    /// Blocks on the way to this one: a faulty module could nest one in itself.
    open: Vec<BlockId>,
}

/// What the values of a function are called: the first value with a source name has that name,
/// later ones have a number behind it; the others are numbers. Values that no block defines have
/// none.
struct Names {
    letters: String,
    at: IdVec<ValueId, Range<usize>>,
}

impl Names {
    /// A name for each value that the function's blocks define, in the order of the text.
    fn of(function: &Function) -> Names {
        let mut letters = String::with_capacity(8 * function.values.len());
        let mut at: IdVec<ValueId, Range<usize>> = function.values.ids().map(|_| 0..0).collect();
        let mut used: IdMap<&str, u32> = IdMap::default();
        let mut next = 0;
        let mut seen = vec![false; function.blocks.len()];
        visit(function, function.entry, &mut seen, &mut |value| {
            let Some(info) = function.values.get(value) else { return };
            let start = letters.len();
            letters.push('%');
            match info.name.as_deref().filter(|name| is_identifier(name)) {
                Some(name) => {
                    letters.push_str(name);
                    let count = used.entry(name).or_insert(0);
                    if *count > 0 {
                        letters.push('.');
                        number(&mut letters, *count);
                    }
                    *count += 1;
                }
                None => {
                    number(&mut letters, next);
                    next += 1;
                }
            }
            at[value] = start..letters.len();
        });
        Names { letters, at }
    }
}

/// Calls `define` with the values that blocks define, each block once.
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

/// `5 log 8 "the old value of x[i]"`
fn kept(kept: &Kept) -> String {
    let Kept { store, bytes, slots, what, why } = kept;
    let slots = slots.map_or_else(String::new, |slots| format!("{slots} "));
    format!("{store} {bytes} {slots}{} {}", quote(what), quote(why))
}

fn tape_buffer(buffer: &TapeBuffer) -> String {
    let slots = buffer.slots.map_or(String::new(), |n| format!("{n} "));
    format!("{} {} {slots}{}", buffer.param, buffer.role.name(), quote(&buffer.reason))
}

impl<'a> Printer<'a> {
    fn new(module: &'a Module, structs: &'a StructTable, function: &'a Function) -> Self {
        let (text, types, open) = (String::new(), IdMap::default(), Vec::new());
        let names = Names::of(function);
        Printer { module, structs, function, names, types, text, nested: true, detail: Detail::Usual, open }
    }

    fn put(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn write(&mut self, text: Arguments<'_>) {
        let _ = self.text.write_fmt(text);
    }

    fn indent(&mut self, depth: usize) {
        (0..depth).for_each(|_| self.put("  "));
    }

    fn function(&mut self, derivative: &str) {
        let function = self.function;
        let word = if function.is_kernel() { "kernel" } else { "func" };
        let params = function.blocks.get(function.entry).map_or(&[][..], |block| &block.params);
        self.begin(function.span);
        self.write(format_args!("{word} @{}(", function.name));
        self.typed_list(params);
        self.put(")");
        if let FunctionKind::Kernel { rank } = function.kind {
            self.write(format_args!(" rank {rank}"));
        }
        if !function.results.is_empty() {
            let structs = self.structs;
            let results: Vec<String> = function
                .results
                .iter()
                .map(|r| {
                    let named = r.name.as_ref().filter(|_| self.detail == Detail::Complete);
                    let named = named.map_or_else(String::new, |name| format!(" named {}", quote(name)));
                    match r.role {
                        ResultRole::Return => r.ty.display(structs) + &named,
                        ResultRole::ByRef(n) => format!("ref {n} {}{named}", r.ty.shown(structs)),
                    }
                })
                .collect();
            self.write(format_args!(" -> ({})", results.join(", ")));
        }
        if function.source_name != function.name {
            self.write(format_args!(" source {}", quote(&function.source_name)));
        }
        if function.library {
            self.put(" library");
        }
        if function.by_block {
            self.put(" by_block");
        }
        if function.fast_math {
            self.put(" fast_math");
        }
        if let Some(BlockThreads { threads, counted, last }) = function.block_threads {
            self.write(format_args!(" block_threads {threads}"));
            self.put(if counted { " counted" } else { "" });
            if let Some(LastBlock { number, threads }) = last {
                self.write(format_args!(" last {threads} behind {number}"));
            }
        }
        if let Some(name) = &function.cuda_name {
            self.write(format_args!(" cuda {}", quote(name)));
        }
        if let Some(text) = &function.native {
            self.write(format_args!(" native {}", quote(text)));
        }
        if let Some(gives) = function.gives {
            self.write(format_args!(" gives {}", gives.name()));
        }
        if function.phase != Phase::Forward {
            self.write(format_args!(" {}", function.phase.name()));
        }
        self.put(derivative);
        if !function.tape.is_empty() {
            let tape: Vec<String> = function.tape.iter().map(tape_buffer).collect();
            self.write(format_args!(" tape ({})", tape.join(", ")));
        }
        if self.detail == Detail::Complete && !function.kept.is_empty() {
            let kept: Vec<String> = function.kept.iter().map(kept).collect();
            self.write(format_args!(" kept ({})", kept.join(", ")));
        }
        self.put(" {");
        self.end();
        self.put("\n");
        self.block(function.entry, 1);
        self.put("}\n");
    }

    fn begin(&mut self, span: Span) {
        if self.detail == Detail::Marked {
            self.text.push_str(&lined::begin(span));
        }
    }

    fn end(&mut self) {
        if self.detail == Detail::Marked {
            self.text.push(lined::END);
        }
    }

    fn block(&mut self, block: BlockId, depth: usize) {
        let function = self.function;
        let Some(data) = function.blocks.get(block).filter(|_| !self.open.contains(&block)) else {
            self.indent(depth);
            self.write(format_args!("?{block}\n"));
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
        let function = self.function;
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
        let function = self.function;
        if self.nested
            && !function.notes.is_empty()
            && let Some(note) = function.notes.get(&id)
        {
            for line in note.lines() {
                self.indent(depth);
                self.write(format_args!("# {line}\n"));
            }
        }
        self.indent(depth);
        let Some(inst) = function.insts.get(id) else {
            self.write(format_args!("?{id}\n"));
            return;
        };
        self.begin(inst.span);
        if !inst.results.is_empty() {
            self.typed_list(&inst.results);
            self.put(" = ");
        }
        match &inst.op {
            Op::If { condition, then, otherwise } => {
                self.put("if ");
                self.name(*condition);
                self.put(" ");
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
                    Some(&counter) => self.typed(counter),
                    None => self.put("?"),
                }
                for (word, value) in [(" = ", start), (" to ", end), (" step ", step)] {
                    self.put(word);
                    self.name(*value);
                }
                self.put(" ");
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
                    self.put("carry ");
                    self.typed_list(params);
                    self.put(" ");
                }
                self.braces(*body, depth);
            }
            op @ (straight!() | jumps!()) => self.line(op),
        }
        self.end();
        self.put("\n");
    }

    fn carry(&mut self, params: &[ValueId], init: &[ValueId]) {
        let count = params.len().max(init.len());
        for n in 0..count {
            self.put(if n == 0 { "carry " } else { ", " });
            match params.get(n) {
                Some(&param) => self.typed(param),
                None => self.put("?"),
            }
            self.put(" = ");
            match init.get(n) {
                Some(&init) => self.name(init),
                None => self.put("?"),
            }
        }
        if count > 0 {
            self.put(" ");
        }
    }

    /// Writes an operation without nested blocks.
    fn line(&mut self, op: &Op) {
        match op {
            Op::Const(c) => {
                self.put("const ");
                constant(&mut self.text, *c);
                if let Some(named) = c.named.and_then(|id| self.module.constants.get(id)) {
                    let parts = if named.composite { "[]" } else { "" };
                    self.write(format_args!(" {}", quote(&format!("{}{parts}", named.name))));
                    if let Some(Derived { of, value, op, number }) = named.derived
                        && let Some(of) = self.module.constants.get(of)
                    {
                        self.write(format_args!(" from {} {value} {} {number}", quote(&of.name), op.name()));
                    }
                }
            }
            Op::Zero => self.put("zero"),
            Op::Unary(op, a) => self.words(op.name(), &[*a]),
            Op::Binary(op, a, b) => self.words(op.name(), &[*a, *b]),
            Op::Compare(op, a, b) => self.words(op.name(), &[*a, *b]),
            Op::Fma(a, b, c) => self.words("fma", &[*a, *b, *c]),
            Op::Cast(a) => self.words("cast", &[*a]),
            Op::Bitcast(a) => self.words("bitcast", &[*a]),
            Op::Select { condition, then, otherwise } => self.words("select", &[*condition, *then, *otherwise]),
            Op::Construct(args) => self.words("construct", args),
            Op::Extract(a, path) => {
                self.words("extract", &[*a]);
                self.path(self.ty(*a), path);
            }
            Op::Insert(a, path, b) => {
                self.words("insert", &[*a]);
                self.path(self.ty(*a), path);
                self.also(*b);
            }
            Op::Call(callee, args) => {
                let name = self.module.functions.get(*callee).map_or("?", |f| f.name.as_str());
                self.put("call @");
                self.put(name);
                self.put("(");
                self.list(args);
                self.put(")");
            }
            Op::ThreadIndex(n) => self.write(format_args!("thread_index {n}")),
            Op::ThreadNumber => self.put("thread_number"),
            Op::BlockDim => self.put("block_dim"),
            Op::ThreadInBlock => self.put("thread_in_block"),
            Op::Extent(a, dim) => {
                self.words("extent", &[*a]);
                self.write(format_args!(", {dim}"));
            }
            Op::IsSet(a) => self.words("is_set", &[*a]),
            Op::Gradient(a) => self.words("gradient", &[*a]),
            Op::Address(a) => self.words("address", &[*a]),
            Op::ArrayAt { constant, args } => {
                self.words(if *constant { "constant_array_at" } else { "array_at" }, args);
            }
            Op::View(a, dims) => {
                self.words("view", &[*a]);
                for (n, dim) in dims.iter().enumerate() {
                    self.put(if n == 0 { "[" } else { ", " });
                    match dim {
                        ViewIndex::At(at) => self.name(*at),
                        ViewIndex::Range { start, stop, step } => {
                            self.name(*start);
                            for value in [stop, step] {
                                self.put(":");
                                self.name(*value);
                            }
                        }
                    }
                }
                self.put(if dims.is_empty() { "[]" } else { "]" });
            }
            Op::LocalArray => self.put("local_array"),
            Op::SharedArray => self.put("shared_array"),
            Op::Load(access) => {
                self.put("load ");
                self.access(access);
            }
            Op::Store { access, value } => {
                self.put("store ");
                self.access(access);
                self.also(*value);
            }
            Op::Atomic { op, access, value } => {
                self.put("atomic ");
                self.put(op.name());
                self.put(" ");
                self.access(access);
                self.also(*value);
            }
            Op::AtomicCas { access, expected, new } => {
                self.put("atomic_cas ");
                self.access(access);
                self.also(*expected);
                self.also(*new);
            }
            Op::Barrier => self.put("barrier"),
            Op::GridSync => self.put("grid_sync"),
            Op::Product(product, args) => {
                let [rows, columns, inner] = product.size;
                let (part, unit) = (product.part.name(), product.unit.name());
                self.write(format_args!("product {part} {unit} {rows} {columns} {inner}"));
                for (turned, word) in product.turned.into_iter().zip([" left_turned", " right_turned"]) {
                    self.put(if turned { word } else { "" });
                }
                args.iter().for_each(|&value| self.also(value));
            }
            Op::Copy([rows, columns], args) => {
                self.write(format_args!("copy {rows} {columns}"));
                args.iter().for_each(|&value| self.also(value));
            }
            Op::Exchange(exchange, args) => {
                self.write(format_args!("exchange {} {}", exchange.ask.name(), exchange.threads));
                args.iter().for_each(|&value| self.also(value));
            }
            Op::Print { format, args } => {
                self.put("print ");
                self.put(&quote(format));
                args.iter().for_each(|&value| self.also(value));
            }
            Op::Assert { condition, message } => {
                self.words("assert", &[*condition]);
                self.put(", ");
                self.put(&quote(message));
            }
            Op::Check(Check::Degenerate { why }, args) => {
                self.words("check degenerate", args);
                self.put(", ");
                self.put(&quote(why));
            }
            Op::Check(Check::Visit, args) => self.words("check visit", args),
            Op::Check(Check::Together { begins }, _) => {
                self.put(if *begins { "check together begin" } else { "check together end" });
            }
            Op::Check(Check::Component { count, name }, index) => {
                self.words("check component", index);
                self.put(&format!(" of {count}, "));
                self.put(&quote(name));
            }
            Op::Check(Check::Element { dim, extent, name }, index) => {
                self.words("check element", index);
                self.put(&format!(" of {extent} in {dim}, "));
                self.put(&quote(name));
            }
            Op::Yield(args) => self.words("yield", args),
            Op::Break(args) => self.words("break", args),
            Op::Continue(args) => self.words("continue", args),
            Op::Return(args) => self.words("return", args),
            Op::If { .. } | Op::For { .. } | Op::While { .. } => {}
        }
    }

    /// A word and what it is about.
    fn words(&mut self, word: &str, values: &[ValueId]) {
        self.put(word);
        if !values.is_empty() {
            self.put(" ");
            self.list(values);
        }
    }

    /// One more operand.
    fn also(&mut self, value: ValueId) {
        self.put(", ");
        self.name(value);
    }

    fn access(&mut self, access: &Access) {
        let element = match self.ty(access.array) {
            Some(Type::Array(a)) => Some(a.element.into()),
            Some(Type::Local(a)) => Some(a.element.into()),
            _ => None,
        };
        self.name(access.array);
        self.put("[");
        self.list(&access.indices);
        self.put("]");
        self.path(element, &access.path);
    }

    /// Struct fields by name, everything else by number.
    fn path(&mut self, mut ty: Option<Type>, path: &Path) {
        let structs = self.structs;
        for step in path {
            let index = match step {
                Step::At(n) => {
                    let field = match ty {
                        Some(Type::Struct(id)) => structs.get(id).and_then(|def| def.fields.get(*n as usize)),
                        _ => None,
                    };
                    match field {
                        Some(field) => {
                            self.put(".");
                            self.put(&field.name);
                        }
                        None => {
                            self.put("[");
                            number(&mut self.text, *n);
                            self.put("]");
                        }
                    }
                    Some(*n)
                }
                Step::Dynamic(v) => {
                    self.put("[");
                    self.name(*v);
                    self.put("]");
                    None
                }
            };
            ty = ty.and_then(|ty| ty.step(index, structs));
        }
    }

    fn ty(&self, value: ValueId) -> Option<Type> {
        self.function.values.get(value).map(|v| v.ty)
    }

    fn name(&mut self, value: ValueId) {
        match self.names.at.get(value).filter(|at| !at.is_empty()) {
            Some(at) => self.text.push_str(&self.names.letters[at.clone()]),
            // No block defines it.
            None => self.write(format_args!("%?{}", value.0)),
        }
    }

    fn typed(&mut self, value: ValueId) {
        self.name(value);
        self.put(": ");
        match self.ty(value) {
            Some(Type::Scalar(scalar)) => self.put(scalar.name()),
            Some(ty) => self.text.push_str(self.types.entry(ty).or_insert_with(|| ty.display(self.structs))),
            None => self.put("?"),
        }
    }

    fn list(&mut self, values: &[ValueId]) {
        for (n, &value) in values.iter().enumerate() {
            if n > 0 {
                self.put(", ");
            }
            self.name(value);
        }
    }

    fn typed_list(&mut self, values: &[ValueId]) {
        for (n, &value) in values.iter().enumerate() {
            if n > 0 {
                self.put(", ");
            }
            self.typed(value);
        }
    }
}
