//! Reads the text that [`super::print`] writes. Names and types are resolved here; whether the
//! module keeps the rules is for [`super::verify`]. Spans are those of the text: an instruction's
//! is its line.

mod inst;
mod lex;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use self::lex::{Token, TokenKind, tokens};
use super::text::{builtin_type, stores};
use super::*;
use crate::source::FileId;
use crate::types::{ArrayType, Element, Field, LocalArrayType, MAX_DIMS, Scalar, StructDef, StructId};

/// Why a text is no module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseError {
    /// Counts from 1.
    pub line: u32,
    pub message: String,
}

impl std::fmt::Display for ParseError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for ParseError {}

type Parsed<T> = Result<T, ParseError>;

/// The module in a text, which is file 0 of what is compiled.
pub fn parse(text: &str) -> Parsed<Module> {
    let mut parser = Parser {
        tokens: tokens(text)?,
        at: 0,
        module: Module::default(),
        structs: HashMap::new(),
        calls: Vec::new(),
        derivatives: Vec::new(),
        disjoint: Vec::new(),
        function: empty_function(),
        values: HashMap::new(),
        depth: 0,
    };
    parser.module()?;
    Ok(parser.module)
}

fn empty_function() -> Function {
    Function {
        name: String::new(),
        source_name: String::new(),
        kind: FunctionKind::Device,
        results: Vec::new(),
        cuda_name: None,
        fast_math: false,
        gives: None,
        native: None,
        library: false,
        by_block: false,
        block_threads: None,
        phase: Phase::Forward,
        derivative: Derivative::Body,
        tape: Vec::new(),
        assumed_disjoint: Vec::new(),
        kept: Vec::new(),
        notes: Default::default(),
        entry: BlockId(0),
        values: IdVec::new(),
        insts: IdVec::new(),
        blocks: IdVec::new(),
        span: Span::new(FileId(0), 0, 0),
    }
}

/// A call whose callee may stand further down.
struct PendingCall {
    caller: FuncId,
    inst: InstId,
    callee: String,
    line: u32,
}

/// A function's derivative as written.
struct PendingDerivative {
    function: FuncId,
    /// `adjoint` or `adjoint` and `replay`, `replay` alone, `adjoint_of`.
    names: Vec<String>,
    word: &'static str,
    line: u32,
}

/// A store that a backward entry assumes disjoint, as written.
struct PendingStore<'t> {
    entry: FuncId,
    function: &'t str,
    /// Which of the function's stores, in the order of the text.
    number: usize,
    line: u32,
}

struct Parser<'t> {
    tokens: Vec<Token<'t>>,
    at: usize,
    module: Module,
    /// By the name that types show.
    structs: HashMap<String, StructId>,
    calls: Vec<PendingCall>,
    derivatives: Vec<PendingDerivative>,
    disjoint: Vec<PendingStore<'t>>,
    /// The function in progress and its values by name.
    function: Function,
    values: HashMap<&'t str, ValueId>,
    depth: usize,
}

/// A result or parameter as written.
struct Typed<'t> {
    name: &'t str,
    ty: Type,
    line: u32,
    span: Span,
}

impl<'t> Parser<'t> {
    // Tokens

    fn peek(&self) -> TokenKind<'t> {
        self.tokens.get(self.at).map_or(TokenKind::End, |t| t.kind.clone())
    }

    fn line(&self) -> u32 {
        self.tokens.get(self.at).or(self.tokens.last()).map_or(1, |t| t.line)
    }

    /// From this token to the end of its line.
    fn span_of_line(&self) -> Span {
        let rest = self.tokens.get(self.at..).unwrap_or_default();
        let start = rest.first().map_or(0, |token| token.start);
        let end = rest.iter().find(|token| token.kind == TokenKind::LineEnd).map_or(start, |token| token.start);
        Span::new(FileId(0), start, end)
    }

    fn next(&mut self) -> TokenKind<'t> {
        let token = self.peek();
        self.at += 1;
        token
    }

    fn error<T>(&self, message: impl Into<String>) -> Parsed<T> {
        Err(ParseError { line: self.line(), message: message.into() })
    }

    fn expected<T>(&self, what: &str) -> Parsed<T> {
        self.error(format!("expected {what}, found {}", self.peek()))
    }

    fn eat(&mut self, token: &TokenKind<'_>) -> bool {
        let found = self.peek() == *token;
        self.at += usize::from(found);
        found
    }

    fn eat_mark(&mut self, mark: char) -> bool {
        self.eat(&TokenKind::Mark(mark))
    }

    fn eat_word(&mut self, word: &str) -> bool {
        self.eat(&TokenKind::Word(word))
    }

    fn mark(&mut self, mark: char) -> Parsed<()> {
        if self.eat_mark(mark) { Ok(()) } else { self.expected(&format!("`{mark}`")) }
    }

    fn keyword(&mut self, word: &str) -> Parsed<()> {
        if self.eat_word(word) { Ok(()) } else { self.expected(&format!("`{word}`")) }
    }

    fn line_end(&mut self) -> Parsed<()> {
        if self.eat(&TokenKind::LineEnd) { Ok(()) } else { self.expected("the end of the line") }
    }

    fn word(&mut self, what: &str) -> Parsed<&'t str> {
        match self.peek() {
            TokenKind::Word(word) => {
                self.at += 1;
                Ok(word)
            }
            _ => self.expected(what),
        }
    }

    fn text(&mut self) -> Parsed<String> {
        match self.peek() {
            TokenKind::Text(text) => {
                self.at += 1;
                Ok(text)
            }
            _ => self.expected("a string"),
        }
    }

    fn number<N: std::str::FromStr>(&mut self) -> Parsed<N> {
        if let TokenKind::Number(text) = self.peek()
            && let Ok(value) = text.parse()
        {
            self.at += 1;
            return Ok(value);
        }
        self.expected("a number in range")
    }

    /// Items between brackets, separated by commas.
    fn list<T>(&mut self, open: char, close: char, item: impl Fn(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        self.mark(open)?;
        let mut items = Vec::new();
        while !self.eat_mark(close) {
            if !items.is_empty() {
                self.mark(',')?;
            }
            items.push(item(self)?);
        }
        Ok(items)
    }

    // Declarations

    fn module(&mut self) -> Parsed<()> {
        self.eat(&TokenKind::LineEnd);
        loop {
            match self.next() {
                TokenKind::End => break,
                TokenKind::Word("struct") => self.struct_def()?,
                TokenKind::Word("kernel") => self.function_def(true)?,
                TokenKind::Word("func") => self.function_def(false)?,
                _ => {
                    self.at -= 1;
                    return self.expected("`struct`, `kernel` or `func`");
                }
            }
        }
        let find = |module: &Module, name: &str, line| {
            module.find(name).ok_or_else(|| ParseError { line, message: format!("no function `@{name}`") })
        };
        for pending in std::mem::take(&mut self.derivatives) {
            let ids: Vec<FuncId> =
                pending.names.iter().map(|name| find(&self.module, name, pending.line)).collect::<Parsed<_>>()?;
            let derivative = match ids.as_slice() {
                &[of] if pending.word == "adjoint_of" => Derivative::AdjointOf(of),
                &[replay] if pending.word == "replay" => Derivative::Replay(replay),
                &[adjoint] => Derivative::Rule { adjoint, replay: None },
                &[adjoint, replay, ..] => Derivative::Rule { adjoint, replay: Some(replay) },
                [] => continue,
            };
            self.module.functions[pending.function].derivative = derivative;
        }
        for call in std::mem::take(&mut self.calls) {
            let callee = find(&self.module, &call.callee, call.line)?;
            if let Op::Call(target, _) = &mut self.module.functions[call.caller].insts[call.inst].op {
                *target = callee;
            }
        }
        for store in std::mem::take(&mut self.disjoint) {
            let function = find(&self.module, store.function, store.line)?;
            let Some(&place) = stores(&self.module.functions[function]).get(store.number) else {
                let message = format!("`@{}` has no store {}", store.function, store.number);
                return Err(ParseError { line: store.line, message });
            };
            self.module.functions[store.entry].assumed_disjoint.push(place);
        }
        Ok(())
    }

    fn struct_def(&mut self) -> Parsed<()> {
        let shown = self.word("a struct name")?;
        self.mark('{')?;
        self.line_end()?;
        let mut fields = Vec::new();
        while !self.eat_mark('}') {
            let name = self.word("a field name")?.to_string();
            self.mark(':')?;
            fields.push(Field { name, ty: self.ty()? });
            self.line_end()?;
        }
        self.line_end()?;
        let id = self.module.structs.push(StructDef { name: shown.trim_end_matches('\'').to_string(), fields });
        match self.structs.insert(shown.to_string(), id) {
            None => Ok(()),
            Some(_) => self.error(format!("struct `{shown}` is defined twice")),
        }
    }

    fn function_name(&mut self) -> Parsed<&'t str> {
        match self.peek() {
            TokenKind::Function(name) => {
                self.at += 1;
                Ok(name)
            }
            _ => self.expected("a function name"),
        }
    }

    fn function_def(&mut self, kernel: bool) -> Parsed<()> {
        self.function = empty_function();
        self.function.span = self.span_of_line();
        self.values.clear();
        let name = self.function_name()?.to_string();
        let entry = self.function.blocks.push(Block::default());
        for param in self.list('(', ')', Self::typed)? {
            self.param(entry, &param)?;
        }
        if kernel {
            self.keyword("rank")?;
            self.function.kind = FunctionKind::Kernel { rank: self.number()? };
        }
        if self.eat_mark('>') {
            self.function.results = self.list('(', ')', |p| {
                let role = if p.eat_word("ref") { ResultRole::ByRef(p.number()?) } else { ResultRole::Return };
                let ty = p.ty()?;
                let name = if p.eat_word("named") { Some(p.text()?) } else { None };
                Ok(ResultInfo { ty, role, name })
            })?;
        }
        self.function.source_name = if self.eat_word("source") { self.text()? } else { name.clone() };
        self.function.name = name;
        self.function.library = self.eat_word("library");
        self.function.by_block = self.eat_word("by_block");
        self.function.fast_math = self.eat_word("fast_math");
        if self.eat_word("block_threads") {
            let (threads, counted) = (self.number()?, self.eat_word("counted"));
            let mut last = None;
            if self.eat_word("last") {
                let threads = self.number()?;
                self.keyword("behind")?;
                last = Some(LastBlock { number: self.number()?, threads });
            }
            self.function.block_threads = Some(BlockThreads { threads, counted, last });
        }
        if self.eat_word("cuda") {
            self.function.cuda_name = Some(self.text()?);
        }
        if self.eat_word("native") {
            self.function.native = Some(self.text()?);
        }
        if self.eat_word("gives") {
            let word = self.word("what it gives")?;
            self.function.gives = Gives::from_name(word);
            if self.function.gives.is_none() {
                return self.error(format!("`{word}` is not `finite`, `overflows` or `any`"));
            }
        }
        for phase in [Phase::Augmented, Phase::Backward] {
            if self.eat_word(phase.name()) {
                self.function.phase = phase;
            }
        }
        self.derivative()?;
        if self.eat_word("assumes_disjoint") {
            let entry = FuncId(self.module.functions.len() as u32);
            let stores = self.list('(', ')', |p| {
                let line = p.line();
                Ok(PendingStore { entry, function: p.function_name()?, number: p.number()?, line })
            })?;
            self.disjoint.extend(stores);
        }
        if self.eat_word("tape") {
            self.function.tape = self.list('(', ')', Self::tape_buffer)?;
        }
        if self.eat_word("kept") {
            self.function.kept = self.list('(', ')', Self::kept)?;
        }
        self.braces(entry)?;
        self.line_end()?;
        let function = std::mem::replace(&mut self.function, empty_function());
        self.module.functions.push(function);
        Ok(())
    }

    fn derivative(&mut self) -> Parsed<()> {
        let line = self.line();
        if self.eat_word("zero_gradient") {
            self.function.derivative = Derivative::Zero(self.text()?);
        } else if self.eat_word("no_gradient") {
            self.function.derivative = Derivative::None(self.text()?);
        } else {
            let word = ["adjoint_of", "adjoint", "replay"].into_iter().find(|word| self.eat_word(word));
            if let Some(word) = word {
                let mut names = vec![self.function_name()?.to_string()];
                if word == "adjoint" && self.eat_word("replay") {
                    names.push(self.function_name()?.to_string());
                }
                let function = FuncId(self.module.functions.len() as u32);
                self.derivatives.push(PendingDerivative { function, names, word, line });
            }
        }
        Ok(())
    }

    fn tape_buffer(&mut self) -> Parsed<TapeBuffer> {
        let param = self.number()?;
        let Some(role) = TapeRole::ALL.into_iter().find(|role| self.eat_word(role.name())) else {
            return self.expected("`parameters`, `log`, `state` or `needed`");
        };
        let slots = if let TokenKind::Number(_) = self.peek() { Some(self.number()?) } else { None };
        Ok(TapeBuffer { param, role, slots, reason: self.text()? })
    }

    fn kept(&mut self) -> Parsed<Kept> {
        let Some(store) = Kept::STORES.into_iter().find(|store| self.eat_word(store)) else {
            return self.expected("`unroll`, `stack`, `tape` or `checkpoint`");
        };
        let bytes = self.number()?;
        let slots = if let TokenKind::Number(_) = self.peek() { Some(self.number()?) } else { None };
        Ok(Kept { store, bytes, slots, what: self.text()?, why: self.text()? })
    }

    fn ty(&mut self) -> Parsed<Type> {
        let name = self.word("a type")?;
        if let Some(&id) = self.structs.get(name) {
            return Ok(Type::Struct(id));
        }
        if self.peek() != TokenKind::Mark('(') {
            return match builtin_type(name) {
                Some(ty) => Ok(ty),
                None => {
                    self.at -= 1;
                    self.expected("a type")
                }
            };
        }
        self.mark('(')?;
        let ty = match name {
            "vec" => {
                let n = self.number()?;
                self.mark(',')?;
                Type::Vec(n, self.scalar()?)
            }
            "mat" => {
                let r = self.number()?;
                self.mark(',')?;
                let c = self.number()?;
                self.mark(',')?;
                Type::Mat(r, c, self.scalar()?)
            }
            "quat" => Type::Quat(self.scalar()?),
            "transform" => Type::Transform(self.scalar()?),
            "array" | "array1d" | "array2d" | "array3d" | "array4d" => {
                self.keyword("dtype")?;
                self.mark('=')?;
                let ndim = name.chars().find_map(|c| c.to_digit(10)).unwrap_or(1) as u8;
                Type::Array(ArrayType { element: self.element()?, ndim })
            }
            "local" | "tile" => {
                let element = self.element()?;
                let (mut shape, mut ndim) = ([1; MAX_DIMS], 0u8);
                while self.eat_mark(',') {
                    match shape.get_mut(usize::from(ndim)) {
                        Some(extent) => *extent = self.number()?,
                        None => return self.error("a local array has 1 to 4 dimensions"),
                    }
                    ndim += 1;
                }
                let total = shape.iter().try_fold(1u64, |n, &d| n.checked_mul(u64::from(d)));
                if total.is_none_or(|n| n > u64::from(u32::MAX)) {
                    return self.error("the local array is too large");
                }
                Type::Local(LocalArrayType { element, shape, ndim, block: name == "tile" })
            }
            _ => return self.error(format!("no type is called `{name}`")),
        };
        self.mark(')')?;
        Ok(ty)
    }

    fn scalar(&mut self) -> Parsed<Scalar> {
        let name = self.word("a number type")?;
        match Scalar::from_name(name) {
            Some(scalar) => Ok(scalar),
            None => self.error(format!("no number type is called `{name}`")),
        }
    }

    fn element(&mut self) -> Parsed<Element> {
        match self.ty()?.element() {
            Some(element) => Ok(element),
            None => self.error("an array does not hold arrays"),
        }
    }

    // Values

    fn typed(&mut self) -> Parsed<Typed<'t>> {
        let line = self.line();
        let (start, end) = self.tokens.get(self.at).map_or((0, 0), |token| (token.start, token.end));
        match self.next() {
            TokenKind::Value(name) => {
                self.mark(':')?;
                Ok(Typed { name, ty: self.ty()?, line, span: Span::new(FileId(0), start, end) })
            }
            _ => {
                self.at -= 1;
                self.expected("a value")
            }
        }
    }

    fn define(&mut self, typed: &Typed<'t>, def: ValueDef) -> Parsed<ValueId> {
        // `x.1` is the second value called `x`; numbers are no names.
        let stem = typed.name.split_once('.').map_or(typed.name, |(stem, _)| stem);
        let name = Some(stem).filter(|s| !s.starts_with(|c: char| c.is_ascii_digit())).map(str::to_string);
        let value = self.function.values.push(Value { ty: typed.ty, def, name, span: typed.span });
        match self.values.insert(typed.name, value) {
            None => Ok(value),
            Some(_) => Err(ParseError { line: typed.line, message: format!("`%{}` is defined twice", typed.name) }),
        }
    }

    fn param(&mut self, block: BlockId, typed: &Typed<'t>) -> Parsed<()> {
        let n = self.function.blocks[block].params.len() as u32;
        let value = self.define(typed, ValueDef::Param(block, n))?;
        self.function.blocks[block].params.push(value);
        Ok(())
    }

    fn value(&mut self) -> Parsed<ValueId> {
        let TokenKind::Value(name) = self.peek() else { return self.expected("a value") };
        let Some(&value) = self.values.get(name) else { return self.error(format!("`%{name}` is not defined")) };
        self.at += 1;
        Ok(value)
    }

    /// Values up to the end of the line.
    fn values(&mut self) -> Parsed<Values> {
        let mut values = Values::new();
        while self.peek() != TokenKind::LineEnd {
            if !values.is_empty() {
                self.mark(',')?;
            }
            values.push(self.value()?);
        }
        Ok(values)
    }

    fn comma_value(&mut self) -> Parsed<ValueId> {
        self.mark(',')?;
        self.value()
    }

    fn index(&mut self) -> Parsed<Values> {
        Ok(self.list('[', ']', Self::value)?.into())
    }

    /// Steps from a value of type `ty`.
    fn path(&mut self, mut ty: Option<Type>) -> Parsed<Path> {
        let mut path = Path::new();
        loop {
            let step = if self.eat_mark('.') {
                let name = self.word("a field")?;
                let field = match ty {
                    Some(Type::Struct(id)) => self.module.structs[id].fields.iter().position(|f| f.name == name),
                    _ => None,
                };
                match field {
                    Some(n) => Step::At(n as u32),
                    None => return self.error(format!("there is no field `{name}`")),
                }
            } else if self.eat_mark('[') {
                let step = match self.peek() {
                    TokenKind::Value(_) => Step::Dynamic(self.value()?),
                    _ => Step::At(self.number()?),
                };
                self.mark(']')?;
                step
            } else {
                return Ok(path);
            };
            let index = if let Step::At(n) = step { Some(n) } else { None };
            ty = ty.and_then(|ty| ty.step(index, &self.module.structs));
            path.push(step);
        }
    }

    /// `%array[%i, %j].field`
    fn access(&mut self) -> Parsed<Access> {
        let array = self.value()?;
        let indices = self.index()?;
        let element = match self.function.ty(array) {
            Type::Array(a) => Some(a.element.into()),
            Type::Local(a) => Some(a.element.into()),
            _ => None,
        };
        Ok(Access { array, indices, path: self.path(element)? })
    }
}
