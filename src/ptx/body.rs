//! What does a function consist of? Declarations, labels and instructions, in nested blocks.

use smallvec::SmallVec;

use super::lex::Token;
use super::names::{self, Name, Scope, Wanted};
use super::parse::Parser;
use super::{Base, Body, Error, Instruction, Linkage, Operand, Place, Register, Result, Space, Type};

/// A function has no more registers than this.
const MOST_REGISTERS: usize = 1 << 20;
/// Blocks nest no deeper.
const MOST_BLOCKS: usize = 256;

impl<'t> Parser<'t> {
    /// The rest of a body, after its brace.
    pub(super) fn body(&mut self, owner: usize) -> Result<Body<'t>> {
        let mut body = Body::default();
        let outermost = self.scopes.len();
        self.scopes.push(Scope::default());
        while self.scopes.len() > outermost {
            self.statement(owner, &mut body)?;
        }
        Ok(body)
    }

    fn statement(&mut self, owner: usize, body: &mut Body<'t>) -> Result<()> {
        match self.lexer.token {
            Token::Mark(b'{') => {
                if self.scopes.len() > MOST_BLOCKS {
                    return self.malformed("blocks nest too deep");
                }
                self.lexer.advance()?;
                self.scopes.push(Scope::default());
                Ok(())
            }
            Token::Mark(b'}') => {
                self.lexer.advance()?;
                self.close(body)
            }
            Token::Mark(b';') => self.lexer.advance(),
            Token::Dot(word) => self.directive(word, owner, body),
            Token::Mark(b'@') => {
                let at = self.place();
                self.lexer.advance()?;
                let negated = self.eat(b'!')?;
                let place = self.place();
                let name = self.word("a predicate")?;
                let predicate = self.register(name, place)?;
                if body.registers.get(predicate as usize) != Some(&Type::PREDICATE) {
                    return Err(Error::malformed(place, format!("`{name}` is no predicate")));
                }
                let opcode = self.word("an instruction")?;
                self.instruction(at, Some((predicate, negated)), opcode, body)
            }
            Token::Word(word) => {
                let at = self.place();
                self.lexer.advance()?;
                if self.eat(b':')? {
                    return self.label(word, at, body);
                }
                self.instruction(at, None, word, body)
            }
            _ => self.malformed(format!("expected an instruction, found {}", self.found())),
        }
    }

    /// Ends a block: its labels are known, and uses of others belong to the block around it.
    fn close(&mut self, body: &mut Body<'t>) -> Result<()> {
        let Some(scope) = self.scopes.pop() else { return self.malformed("a brace closes nothing") };
        let in_function = self.scopes.len() > 2;
        for wanted in scope.wanted {
            match scope.labels.get(wanted.label) {
                Some(&target) => {
                    set_target(body, &wanted, target);
                }
                None => match scope.tables.get(wanted.label) {
                    Some(list) => {
                        let targets: Result<Vec<usize>> = list
                            .iter()
                            .map(|one| scope.labels.get(one.label).copied().ok_or_else(|| no_label(one)))
                            .collect();
                        let targets = targets?;
                        if let Some(instruction) = body.instructions.get_mut(wanted.instruction) {
                            instruction.operands[wanted.operand] = Operand::Targets(targets);
                        }
                    }
                    None if in_function => {
                        if let Some(around) = self.scopes.last_mut() {
                            around.wanted.push(wanted);
                        }
                    }
                    // Calls name functions here.
                    None if !body.instructions.get(wanted.instruction).is_some_and(is_branch) => {}
                    None => return Err(no_label(&wanted)),
                },
            }
        }
        Ok(())
    }

    fn label(&mut self, name: &'t str, at: Place, body: &mut Body<'t>) -> Result<()> {
        if self.lexer.token == Token::Dot("branchtargets") {
            self.lexer.advance()?;
            let mut list = Vec::new();
            loop {
                let at = self.place();
                let label = self.word("a label")?;
                list.push(Wanted { label, instruction: 0, operand: 0, at });
                if !self.eat(b',')? {
                    break;
                }
            }
            self.expect(b';')?;
            if let Some(scope) = self.scopes.last_mut() {
                scope.tables.insert(name, list);
            }
            return Ok(());
        }
        // Calls through pointers hand over variables, which say the same.
        if let Token::Dot("callprototype" | "calltargets") = self.lexer.token {
            return self.skip_statement();
        }
        let new = self.scopes.last_mut().is_none_or(|s| s.labels.insert(name, body.instructions.len()).is_none());
        if new { Ok(()) } else { Err(Error::malformed(at, format!("the label `{name}` stands twice"))) }
    }

    fn directive(&mut self, word: &'t str, owner: usize, body: &mut Body<'t>) -> Result<()> {
        let at = self.place();
        self.lexer.advance()?;
        match word {
            "reg" => self.registers(body),
            "loc" => self.loc(),
            "file" => self.file(),
            "pragma" => self.skip_statement(),
            "branchtargets" | "callprototype" | "calltargets" => {
                self.malformed(format!("`.{word}` stands after a label"))
            }
            _ => match Space::named(word) {
                Some(space) if space != Space::Const => self.variables(space, Linkage::Own, Some(owner)),
                _ => Err(Error::unknown(at, format!("the directive `.{word}` in a function"))),
            },
        }
    }

    /// `.reg .b32 %r<5>, %x;`
    fn registers(&mut self, body: &mut Body<'t>) -> Result<()> {
        let at = self.place();
        let ty = match self.lexer.token {
            Token::Dot(word) => {
                Type::named(word).ok_or_else(|| Error::unknown(at, format!("registers of type `.{word}`")))?
            }
            _ => return self.malformed(format!("expected a type, found {}", self.found())),
        };
        if ty.bits > 64 {
            return Err(Error::unknown(at, format!("registers of {} bits", ty.bits)));
        }
        self.lexer.advance()?;
        loop {
            let place = self.place();
            let name = self.word("the name of a register")?;
            let mut count = 1;
            let is_range = self.eat(b'<')?;
            if is_range {
                count = self.int()?;
                self.expect(b'>')?;
            }
            if body.registers.len() as u64 + count > MOST_REGISTERS as u64 {
                return Err(Error::malformed(place, "too many registers"));
            }
            let first = names::push(&mut body.registers, ty, count as u32);
            if let Some(scope) = self.scopes.last_mut() {
                if is_range {
                    scope.declare_range(name, first, count as u32);
                } else if !scope.declare(name, Name::Register(first)) {
                    return Err(Error::malformed(place, format!("`{name}` is declared twice")));
                }
            }
            if !self.eat(b',')? {
                return self.expect(b';');
            }
        }
    }

    fn register(&self, name: &str, at: Place) -> Result<Register> {
        match names::find(&self.scopes, name) {
            Some(Name::Register(register)) => Ok(register),
            _ => Err(Error::malformed(at, format!("there is no register `{name}`"))),
        }
    }

    /// The rest of an instruction, after its first word.
    fn instruction(
        &mut self,
        at: Place,
        guard: Option<(Register, bool)>,
        opcode: &'t str,
        body: &mut Body<'t>,
    ) -> Result<()> {
        if opcode.starts_with(['%', '$']) {
            return Err(Error::malformed(at, format!("expected an instruction, found `{opcode}`")));
        }
        let mut made = Instruction {
            guard,
            opcode,
            modifiers: SmallVec::new(),
            operands: SmallVec::new(),
            at,
            source: self.location,
        };
        while let Token::Dot(word) = self.lexer.token {
            made.modifiers.push(word);
            self.lexer.advance()?;
        }
        let number = body.instructions.len();
        if !self.eat(b';')? {
            loop {
                let position = made.operands.len();
                let operand = self.operand(number, position)?;
                made.operands.push(operand);
                if !self.eat(b',')? {
                    break;
                }
            }
            if !self.eat(b';')? {
                return self.malformed(format!("expected `,` or `;`, found {}", self.found()));
            }
        }
        body.instructions.push(made);
        Ok(())
    }

    fn operand(&mut self, instruction: usize, position: usize) -> Result<Operand<'t>> {
        let at = self.place();
        match self.lexer.token {
            Token::Mark(b'{') => Ok(Operand::Vector(self.operands(b'}', instruction)?)),
            Token::Mark(b'(') => Ok(Operand::List(self.operands(b')', instruction)?)),
            Token::Mark(b'[') => {
                self.lexer.advance()?;
                let address = self.address_operand()?;
                self.expect(b']')?;
                Ok(address)
            }
            Token::Mark(b'!') => {
                self.lexer.advance()?;
                let at = self.place();
                let name = self.word("a predicate")?;
                Ok(Operand::Not(self.register(name, at)?))
            }
            Token::Mark(b'-') => {
                self.lexer.advance()?;
                let value = match self.lexer.token {
                    Token::Int(value) => Operand::Int(value.wrapping_neg()),
                    Token::F64(bits) => Operand::F64(bits ^ (1 << 63)),
                    Token::F32(bits) => Operand::F32(bits ^ (1 << 31)),
                    _ => return self.malformed(format!("expected a number, found {}", self.found())),
                };
                self.lexer.advance()?;
                Ok(value)
            }
            Token::Int(value) => self.number(Operand::Int(value)),
            Token::F32(bits) => self.number(Operand::F32(bits)),
            Token::F64(bits) => self.number(Operand::F64(bits)),
            Token::Word("WARP_SZ") => self.number(Operand::Int(32)),
            Token::Dot(digits) if digits.starts_with(|c: char| c.is_ascii_digit()) => {
                Err(Error::unknown(at, format!("the number `.{digits}`; `0.{digits}` will do")))
            }
            Token::Word("_") => {
                self.lexer.advance()?;
                if !self.eat(b'|')? {
                    return Ok(Operand::Sink);
                }
                let at = self.place();
                match self.word("a predicate")? {
                    "_" => Ok(Operand::Sink),
                    name => Ok(Operand::Second(self.register(name, at)?)),
                }
            }
            Token::Mark(b'~') => Err(Error::unknown(at, "a constant that is computed")),
            Token::Word(name) => {
                self.lexer.advance()?;
                self.named(name, at, instruction, position)
            }
            _ => self.malformed(format!("expected an operand, found {}", self.found())),
        }
    }

    fn number(&mut self, operand: Operand<'t>) -> Result<Operand<'t>> {
        self.lexer.advance()?;
        if matches!(
            self.lexer.token,
            Token::Mark(b'+' | b'-' | b'*' | b'/' | b'%' | b'<' | b'>' | b'&' | b'^' | b'?' | b'|')
        ) {
            return Err(Error::unknown(self.place(), "a constant that is computed"));
        }
        Ok(operand)
    }

    fn operands(&mut self, close: u8, instruction: usize) -> Result<Vec<Operand<'t>>> {
        self.lexer.advance()?;
        let mut list = Vec::new();
        while !self.eat(close)? {
            if matches!(self.lexer.token, Token::Mark(b'{' | b'(' | b'[')) {
                return self.malformed(format!("expected a register, found {}", self.found()));
            }
            list.push(self.operand(instruction, usize::MAX)?);
            if !self.eat(b',')? && !self.is(close) {
                return self.malformed(format!("expected `,`, found {}", self.found()));
            }
        }
        Ok(list)
    }

    fn named(&mut self, name: &'t str, at: Place, instruction: usize, position: usize) -> Result<Operand<'t>> {
        match names::find(&self.scopes, name) {
            Some(Name::Register(register)) => {
                if self.eat(b'|')? {
                    let at = self.place();
                    let other = self.word("a predicate")?;
                    return Ok(match other {
                        "_" => Operand::Register(register),
                        _ => Operand::Pair(register, self.register(other, at)?),
                    });
                }
                if let Token::Dot(part) = self.lexer.token {
                    return Err(Error::unknown(at, format!("the part `.{part}` of a register")));
                }
                Ok(Operand::Register(register))
            }
            Some(Name::Variable(variable)) => {
                let offset = self.offset()?;
                Ok(Operand::Variable { variable, offset })
            }
            None => {
                if let Some(special) = name.strip_prefix('%') {
                    if names::is_rare(special) {
                        return Err(Error::unknown(at, format!("the register `{name}`")));
                    }
                    if !names::is_special(special) {
                        return Err(Error::malformed(at, format!("there is no register `{name}`")));
                    }
                    return self.special(special, at);
                }
                // A function, or a label that comes later: only calls name functions.
                if position != usize::MAX
                    && let Some(scope) = self.scopes.last_mut()
                {
                    scope.wanted.push(Wanted { label: name, instruction, operand: position, at });
                }
                Ok(Operand::Function(name))
            }
        }
    }

    /// `%tid.x` with its part.
    fn special(&mut self, name: &'t str, at: Place) -> Result<Operand<'t>> {
        let Token::Dot(part) = self.lexer.token else {
            return match names::is_vector(name) {
                true => Err(Error::unknown(at, format!("`%{name}` as a vector"))),
                false => Ok(Operand::Special(name)),
            };
        };
        self.lexer.advance()?;
        let parts = names::VECTORS.iter().flatten();
        let whole = parts.copied().find(|whole| whole.rsplit_once('.') == Some((name, part)));
        let whole = whole.ok_or_else(|| Error::malformed(at, format!("there is no register `%{name}.{part}`")))?;
        Ok(Operand::Special(whole))
    }

    fn offset(&mut self) -> Result<i64> {
        let mut offset = 0i64;
        while self.is(b'+') || self.is(b'-') {
            let negative = self.is(b'-');
            self.lexer.advance()?;
            let by = self.signed()? as i64;
            offset = offset.wrapping_add(if negative { by.wrapping_neg() } else { by });
        }
        if self.is(b'*') {
            return Err(Error::unknown(self.place(), "an offset that is computed"));
        }
        Ok(offset)
    }

    fn address_operand(&mut self) -> Result<Operand<'t>> {
        let at = self.place();
        let base = match self.lexer.token {
            Token::Word(name) => {
                self.lexer.advance()?;
                match names::find(&self.scopes, name) {
                    Some(Name::Register(register)) => Base::Register(register),
                    Some(Name::Variable(variable)) => Base::Variable(variable),
                    None => return Err(Error::malformed(at, format!("there is no `{name}`"))),
                }
            }
            Token::Int(_) | Token::Mark(b'-') => {
                let offset = self.signed()? as i64;
                return Ok(Operand::Address(Base::Zero, offset));
            }
            _ => return self.malformed(format!("expected an address, found {}", self.found())),
        };
        let offset = self.offset()?;
        if !self.eat(b',')? {
            return Ok(Operand::Address(base, offset));
        }
        if !self.is(b'{') {
            return self.malformed(format!("expected coordinates in braces, found {}", self.found()));
        }
        let coordinates = self.operands(b'}', usize::MAX)?;
        if self.is(b',') {
            return Err(Error::unknown(at, "a place in a tensor with offsets besides its coordinates"));
        }
        Ok(Operand::InTensor { base, offset, coordinates })
    }
}

fn is_branch(instruction: &Instruction) -> bool {
    matches!(instruction.opcode, "bra" | "brx")
}

fn set_target(body: &mut Body, wanted: &Wanted, target: usize) {
    let operand = body.instructions.get_mut(wanted.instruction).and_then(|i| i.operands.get_mut(wanted.operand));
    if let Some(operand) = operand {
        *operand = Operand::Label(target);
    }
}

fn no_label(wanted: &Wanted) -> Error {
    Error::malformed(wanted.at, format!("there is no `{}`", wanted.label))
}
