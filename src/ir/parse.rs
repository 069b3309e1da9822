//! Reads the text that [`super::print`] writes. Names and types are resolved here; whether the module keeps the rules is
//! for [`super::verify`]. Spans are empty.

mod lex;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use self::lex::{Token, TokenKind, tokens};
use super::text::{builtin_type, parse_constant};
use super::*;
use crate::source::FileId;
use crate::types::{ArrayType, Element, Field, LocalArrayType, MAX_DIMS, StructDef, StructId};

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

/// How deep blocks may nest: bounds the recursion.
const MAX_DEPTH: usize = 200;

/// The module in a text.
pub fn parse(text: &str) -> Parsed<Module> {
    let mut parser = Parser {
        tokens: tokens(text)?,
        at: 0,
        module: Module::default(),
        structs: HashMap::new(),
        calls: Vec::new(),
        function: empty_function(),
        values: HashMap::new(),
        depth: 0,
    };
    parser.module()?;
    Ok(parser.module)
}

fn no_span() -> Span {
    Span::new(FileId(0), 0, 0)
}

fn empty_function() -> Function {
    Function {
        name: String::new(),
        source_name: String::new(),
        kind: FunctionKind::Device,
        results: Vec::new(),
        cuda_name: None,
        library: false,
        entry: BlockId(0),
        values: IdVec::new(),
        insts: IdVec::new(),
        blocks: IdVec::new(),
        span: no_span(),
    }
}

/// A call whose callee may stand further down.
struct PendingCall {
    caller: FuncId,
    inst: InstId,
    callee: String,
    line: u32,
}

struct Parser<'t> {
    tokens: Vec<Token<'t>>,
    at: usize,
    module: Module,
    /// By the name that types show.
    structs: HashMap<String, StructId>,
    calls: Vec<PendingCall>,
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
}

impl<'t> Parser<'t> {
    // Tokens

    fn peek(&self) -> TokenKind<'t> {
        self.tokens.get(self.at).map_or(TokenKind::End, |t| t.kind.clone())
    }

    fn line(&self) -> u32 {
        self.tokens.get(self.at).or(self.tokens.last()).map_or(1, |t| t.line)
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
        for call in std::mem::take(&mut self.calls) {
            let Some(callee) = self.module.find(&call.callee) else {
                return Err(ParseError { line: call.line, message: format!("no function `@{}`", call.callee) });
            };
            if let Op::Call(target, _) = &mut self.module.functions[call.caller].insts[call.inst].op {
                *target = callee;
            }
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
                Ok(ResultInfo { ty: p.ty()?, role })
            })?;
        }
        self.function.source_name = if self.eat_word("source") { self.text()? } else { name.clone() };
        self.function.name = name;
        self.function.library = self.eat_word("library");
        if self.eat_word("cuda") {
            self.function.cuda_name = Some(self.text()?);
        }
        self.braces(entry)?;
        self.line_end()?;
        let function = std::mem::replace(&mut self.function, empty_function());
        self.module.functions.push(function);
        Ok(())
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
            "local" => {
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
                Type::Local(LocalArrayType { element, shape, ndim })
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
        match self.next() {
            TokenKind::Value(name) => {
                self.mark(':')?;
                Ok(Typed { name, ty: self.ty()?, line })
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
        let value = self.function.values.push(Value { ty: typed.ty, def, name, span: no_span() });
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
    fn place(&mut self) -> Parsed<(ValueId, Values, Path)> {
        let array = self.value()?;
        let index = self.index()?;
        let element = match self.function.ty(array) {
            Type::Array(a) => Some(a.element.into()),
            Type::Local(a) => Some(a.element.into()),
            _ => None,
        };
        Ok((array, index, self.path(element)?))
    }

    // Blocks and instructions

    /// A block in braces. A nested one without a terminator ends in `yield` of nothing.
    fn braces(&mut self, block: BlockId) -> Parsed<()> {
        if self.depth == MAX_DEPTH {
            return self.error("blocks are nested too deep");
        }
        self.depth += 1;
        self.mark('{')?;
        self.line_end()?;
        while !self.eat_mark('}') {
            self.inst(block)?;
        }
        self.depth -= 1;
        if block != self.function.entry && self.function.terminator(block).is_none() {
            self.push(block, Op::Yield(Values::new()), &[])?;
        }
        Ok(())
    }

    fn push(&mut self, block: BlockId, op: Op, results: &[Typed<'t>]) -> Parsed<InstId> {
        let inst = InstId(self.function.insts.len() as u32);
        let mut values = Results::new();
        for (n, typed) in results.iter().enumerate() {
            values.push(self.define(typed, ValueDef::Result(inst, n as u32))?);
        }
        self.function.insts.push(Inst { op, results: values, span: no_span() });
        self.function.blocks[block].insts.push(inst);
        Ok(inst)
    }

    fn inst(&mut self, block: BlockId) -> Parsed<()> {
        let mut results = Vec::new();
        if let TokenKind::Value(_) = self.peek() {
            results.push(self.typed()?);
            while self.eat_mark(',') {
                results.push(self.typed()?);
            }
            self.mark('=')?;
        }
        let line = self.line();
        let word = self.word("an operation")?;
        if word == "call" {
            let callee = self.function_name()?.to_string();
            let args = self.list('(', ')', Self::value)?;
            let inst = self.push(block, Op::Call(FuncId(0), args.into()), &results)?;
            self.calls.push(PendingCall { caller: FuncId(self.module.functions.len() as u32), inst, callee, line });
        } else {
            // The ones with blocks apart from `op`, whose large stack frame would be on every level of nesting.
            let op = match word {
                "if" => self.if_op()?,
                "for" => self.for_op()?,
                "while" => self.while_op()?,
                _ => self.op(word, results.first().map(|r| r.ty))?,
            };
            self.push(block, op, &results)?;
        }
        self.line_end()
    }

    fn op(&mut self, word: &str, result: Option<Type>) -> Parsed<Op> {
        if let Some(op) = UnaryOp::from_name(word) {
            return Ok(Op::Unary(op, self.value()?));
        }
        if let Some(op) = BinaryOp::from_name(word) {
            return Ok(Op::Binary(op, self.value()?, self.comma_value()?));
        }
        if let Some(op) = CompareOp::from_name(word) {
            return Ok(Op::Compare(op, self.value()?, self.comma_value()?));
        }
        Ok(match word {
            "const" => Op::Const(self.constant(result)?),
            "zero" => Op::Zero,
            "fma" => Op::Fma(self.value()?, self.comma_value()?, self.comma_value()?),
            "cast" => Op::Cast(self.value()?),
            "bitcast" => Op::Bitcast(self.value()?),
            "select" => {
                let (condition, then) = (self.value()?, self.comma_value()?);
                Op::Select { condition, then, otherwise: self.comma_value()? }
            }
            "construct" => Op::Construct(self.values()?),
            "extract" => {
                let whole = self.value()?;
                Op::Extract(whole, self.path(Some(self.function.ty(whole)))?)
            }
            "insert" => {
                let whole = self.value()?;
                let path = self.path(Some(self.function.ty(whole)))?;
                Op::Insert(whole, path, self.comma_value()?)
            }
            "thread_index" => Op::ThreadIndex(self.number()?),
            "block_dim" => Op::BlockDim,
            "extent" => {
                let array = self.value()?;
                self.mark(',')?;
                Op::Extent(array, self.number()?)
            }
            "is_set" => Op::IsSet(self.value()?),
            "address" => Op::Address(self.value()?),
            "view" => {
                let array = self.value()?;
                let dims = self.list('[', ']', |p| {
                    let start = p.value()?;
                    if !p.eat_mark(':') {
                        return Ok(ViewIndex::At(start));
                    }
                    let stop = p.value()?;
                    p.mark(':')?;
                    Ok(ViewIndex::Range { start, stop, step: p.value()? })
                })?;
                Op::View(array, dims.into())
            }
            "local_array" => Op::LocalArray,
            "load" => {
                let (array, index, path) = self.place()?;
                Op::Load { array, index, path }
            }
            "store" => {
                let (array, index, path) = self.place()?;
                Op::Store { array, index, path, value: self.comma_value()? }
            }
            "atomic" => {
                let name = self.word("an atomic operation")?;
                let Some(op) = AtomicOp::from_name(name) else {
                    return self.error(format!("no atomic operation is called `{name}`"));
                };
                let (array, index, path) = self.place()?;
                Op::Atomic { op, array, index, path, value: self.comma_value()? }
            }
            "atomic_cas" => {
                let (array, index, path) = self.place()?;
                let expected = self.comma_value()?;
                Op::AtomicCas { array, index, path, expected, new: self.comma_value()? }
            }
            "print" => {
                let format = self.text()?;
                let mut args = Values::new();
                while self.eat_mark(',') {
                    args.push(self.value()?);
                }
                Op::Print { format, args }
            }
            "assert" => {
                let condition = self.value()?;
                self.mark(',')?;
                Op::Assert { condition, message: self.text()? }
            }
            "yield" => Op::Yield(self.values()?),
            "break" => Op::Break(self.values()?),
            "continue" => Op::Continue(self.values()?),
            "return" => Op::Return(self.values()?),
            _ => {
                self.at -= 1;
                return self.expected("an operation");
            }
        })
    }

    fn constant(&mut self, result: Option<Type>) -> Parsed<Const> {
        let Some(scalar) = result.and_then(Type::as_scalar) else {
            return self.error("a constant needs a result of a scalar type");
        };
        let constant = match self.peek() {
            TokenKind::Word("nan") if scalar.is_float() => {
                self.at += 1;
                self.mark('(')?;
                let bits = match self.peek() {
                    TokenKind::Number(text) => u64::from_str_radix(text.trim_start_matches("0x"), 16).ok(),
                    _ => None,
                };
                let nan = bits
                    .filter(|&bits| eval::from_memory(scalar, bits).bits == bits)
                    .map(|bits| Const { scalar, bits })
                    .filter(|c| c.as_float().is_some_and(f64::is_nan));
                let Some(nan) = nan else { return self.expected("the bits of a NaN") };
                self.at += 1;
                self.mark(')')?;
                return Ok(nan);
            }
            TokenKind::Word(text) | TokenKind::Number(text) => parse_constant(scalar, text),
            _ => None,
        };
        match constant {
            Some(constant) => {
                self.at += 1;
                Ok(constant)
            }
            None => self.expected(&format!("a constant of type {}", scalar.name())),
        }
    }

    fn if_op(&mut self) -> Parsed<Op> {
        let condition = self.value()?;
        let then = self.function.blocks.push(Block::default());
        self.braces(then)?;
        let otherwise = self.function.blocks.push(Block::default());
        if self.eat_word("else") {
            self.braces(otherwise)?;
        } else {
            self.push(otherwise, Op::Yield(Values::new()), &[])?;
        }
        Ok(Op::If { condition, then, otherwise })
    }

    /// `carry %x: int32 = %0, ...`
    fn carry(&mut self, block: BlockId) -> Parsed<Values> {
        let (mut init, mut params) = (Values::new(), Vec::new());
        if self.eat_word("carry") {
            loop {
                params.push(self.typed()?);
                self.mark('=')?;
                init.push(self.value()?);
                if !self.eat_mark(',') {
                    break;
                }
            }
        }
        // Only now: an initial value is not one of the parameters.
        params.iter().try_for_each(|param| self.param(block, param))?;
        Ok(init)
    }

    fn for_op(&mut self) -> Parsed<Op> {
        let body = self.function.blocks.push(Block::default());
        let counter = self.typed()?;
        self.mark('=')?;
        let start = self.value()?;
        self.keyword("to")?;
        let end = self.value()?;
        self.keyword("step")?;
        let step = self.value()?;
        self.param(body, &counter)?;
        let init = self.carry(body)?;
        self.braces(body)?;
        Ok(Op::For { start, end, step, init, body })
    }

    fn while_op(&mut self) -> Parsed<Op> {
        let condition = self.function.blocks.push(Block::default());
        let init = self.carry(condition)?;
        self.braces(condition)?;
        self.keyword("do")?;
        let body = self.function.blocks.push(Block::default());
        if self.eat_word("carry") {
            loop {
                let param = self.typed()?;
                self.param(body, &param)?;
                if !self.eat_mark(',') {
                    break;
                }
            }
        }
        self.braces(body)?;
        Ok(Op::While { init, condition, body })
    }
}
