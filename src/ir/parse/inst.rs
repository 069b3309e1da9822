//! Blocks and instructions of IR text.

use super::lex::TokenKind;
use super::{Parsed, Parser, PendingCall, Typed};
use crate::ir::text::parse_constant;
use crate::ir::*;

/// How deep blocks may nest: bounds the recursion.
const MAX_DEPTH: usize = 200;

impl<'t> Parser<'t> {
    /// A block in braces. A nested one without a terminator ends in `yield` of nothing.
    pub(super) fn braces(&mut self, block: BlockId) -> Parsed<()> {
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
            self.push(block, Op::Yield(Values::new()), &[], self.span_of_line())?;
        }
        Ok(())
    }

    fn push(&mut self, block: BlockId, op: Op, results: &[Typed<'t>], span: Span) -> Parsed<InstId> {
        let inst = InstId(self.function.insts.len() as u32);
        let mut values = Results::new();
        for (n, typed) in results.iter().enumerate() {
            values.push(self.define(typed, ValueDef::Result(inst, n as u32))?);
        }
        self.function.insts.push(Inst { op, results: values, span });
        self.function.blocks[block].insts.push(inst);
        Ok(inst)
    }

    fn inst(&mut self, block: BlockId) -> Parsed<()> {
        let mut note = String::new();
        while let TokenKind::Note(line) = self.peek() {
            self.at += 1;
            self.line_end()?;
            note = if note.is_empty() { line.to_string() } else { format!("{note}\n{line}") };
        }
        let inst = self.bare_inst(block)?;
        if !note.is_empty() {
            self.function.notes.insert(inst, note);
        }
        self.line_end()
    }

    fn bare_inst(&mut self, block: BlockId) -> Parsed<InstId> {
        let span = self.span_of_line();
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
            let inst = self.push(block, Op::Call(FuncId(0), args.into()), &results, span)?;
            self.calls.push(PendingCall { caller: FuncId(self.module.functions.len() as u32), inst, callee, line });
            Ok(inst)
        } else {
            // The ones with blocks apart from `op`, whose large stack frame would be on every level
            // of nesting.
            let op = match word {
                "if" => self.if_op()?,
                "for" => self.for_op()?,
                "while" => self.while_op()?,
                _ => self.op(word, results.first().map(|r| r.ty))?,
            };
            self.push(block, op, &results, span)
        }
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
            "const" => {
                let constant = self.constant(result)?;
                Op::Const(Const { named: self.constant_name()?, ..constant })
            }
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
            "thread_number" => Op::ThreadNumber,
            "block_dim" => Op::BlockDim,
            "thread_in_block" => Op::ThreadInBlock,
            "extent" => {
                let array = self.value()?;
                self.mark(',')?;
                Op::Extent(array, self.number()?)
            }
            "is_set" => Op::IsSet(self.value()?),
            "gradient" => Op::Gradient(self.value()?),
            "address" => Op::Address(self.value()?),
            "array_at" => Op::ArrayAt { constant: false, args: self.values()? },
            "constant_array_at" => Op::ArrayAt { constant: true, args: self.values()? },
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
            "shared_array" => Op::SharedArray,
            "load" => Op::Load(self.access()?),
            "store" => Op::Store { access: self.access()?, value: self.comma_value()? },
            "atomic" => {
                let name = self.word("an atomic operation")?;
                let Some(op) = AtomicOp::from_name(name) else {
                    return self.error(format!("no atomic operation is called `{name}`"));
                };
                Op::Atomic { op, access: self.access()?, value: self.comma_value()? }
            }
            "atomic_cas" => {
                let (access, expected) = (self.access()?, self.comma_value()?);
                Op::AtomicCas { access, expected, new: self.comma_value()? }
            }
            "barrier" => Op::Barrier,
            "grid_sync" => Op::GridSync,
            "product" => {
                let part = self.word("a part of a product")?;
                let Some(part) = Part::ALL.into_iter().find(|p| p.name() == part) else {
                    return self.error(format!("no part of a product is called `{part}`"));
                };
                let unit = self.word("what multiplies")?;
                let Some(unit) = Unit::ALL.into_iter().find(|u| u.name() == unit) else {
                    return self.error(format!("nothing that multiplies is called `{unit}`"));
                };
                let size = [self.number()?, self.number()?, self.number()?];
                let turned = [self.eat_word("left_turned"), self.eat_word("right_turned")];
                let mut args = Values::new();
                while self.eat_mark(',') {
                    args.push(self.value()?);
                }
                Op::Product(Product { part, unit, size, turned }, args)
            }
            "copy" => {
                let size = [self.number()?, self.number()?];
                let mut args = Values::new();
                while self.eat_mark(',') {
                    args.push(self.value()?);
                }
                Op::Copy(size, args)
            }
            "exchange" => {
                let ask = self.word("what is asked")?;
                let Some(ask) = Ask::ALL.into_iter().find(|a| a.name() == ask) else {
                    return self.error(format!("nothing that threads ask is called `{ask}`"));
                };
                let threads = self.number()?;
                let mut args = Values::new();
                while self.eat_mark(',') {
                    args.push(self.value()?);
                }
                Op::Exchange(Exchange { ask, threads }, args)
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
            "check" if self.eat_word("degenerate") => {
                let mut args = Values::from_slice(&[self.value()?]);
                self.mark(',')?;
                while !matches!(self.peek(), TokenKind::Text(_)) {
                    args.push(self.value()?);
                    self.mark(',')?;
                }
                Op::Check(Check::Degenerate { why: self.text()? }, args)
            }
            "check" if self.eat_word("visit") => {
                let mut args = Values::from_slice(&[self.value()?]);
                while self.eat_mark(',') {
                    args.push(self.value()?);
                }
                Op::Check(Check::Visit, args)
            }
            "check" if self.eat_word("together") => {
                let begins = self.eat_word("begin");
                if !begins {
                    self.keyword("end")?;
                }
                Op::Check(Check::Together { begins }, Values::new())
            }
            "check" if self.eat_word("element") => {
                let index = self.value()?;
                self.keyword("of")?;
                let extent = self.number()?;
                self.keyword("in")?;
                let dim = self.number()?;
                self.mark(',')?;
                Op::Check(Check::Element { dim, extent, name: self.text()? }, Values::from_slice(&[index]))
            }
            "check" => {
                self.keyword("component")?;
                let index = self.value()?;
                self.keyword("of")?;
                let count = self.number()?;
                self.mark(',')?;
                Op::Check(Check::Component { count, name: self.text()? }, Values::from_slice(&[index]))
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

    /// `"n"`, or `"table[]"` for a number of a composite, or `"n - 1" from "n" 256 sub 1`.
    fn constant_name(&mut self) -> Parsed<Option<ConstantId>> {
        let TokenKind::Text(_) = self.peek() else { return Ok(None) };
        let text = self.text()?;
        let named = match text.strip_suffix("[]") {
            Some(name) => NamedConstant::new(name.to_string(), true),
            None if self.peek() == TokenKind::Word("from") => {
                self.at += 1;
                let of = NamedConstant::new(self.text()?, false);
                let (of, value) = (self.module.constants.enter(of), self.number()?);
                let TokenKind::Word(word) = self.peek() else { return self.expected("an operation") };
                let Some(op) = BinaryOp::from_name(word) else { return self.expected("an operation") };
                self.at += 1;
                let derived = Some(Derived { of, value, op, number: self.number()? });
                NamedConstant { name: text, composite: false, derived }
            }
            None => NamedConstant::new(text, false),
        };
        Ok(Some(self.module.constants.enter(named)))
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
                    .map(|bits| Const::new(scalar, bits))
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
            self.push(otherwise, Op::Yield(Values::new()), &[], self.span_of_line())?;
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
