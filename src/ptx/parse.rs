//! Which directives, variables and functions has the text?

use super::lex::{Lexer, Token};
use super::names::{self, Name, Scope};
use super::{Error, Function, Init, Kind, Linkage, Module, Place, Result, Space, Type, Variable};

/// Parses a text.
pub fn parse(text: &str) -> Result<Module<'_>> {
    // What was a string of C may have kept its end, as in files that Warp writes.
    let text = text.trim_end_matches('\0');
    let module =
        Module { version: (0, 0), target: "", files: Vec::new(), variables: Vec::new(), functions: Vec::new() };
    let mut parser =
        Parser { lexer: Lexer::new(text)?, module, scopes: vec![Scope::default()], location: None, is_managed: false };
    parser.head()?;
    while parser.lexer.token != Token::End {
        parser.item()?;
    }
    Ok(parser.module)
}

pub(super) struct Parser<'t> {
    pub lexer: Lexer<'t>,
    pub module: Module<'t>,
    pub scopes: Vec<Scope<'t>>,
    /// What the last `.loc` said.
    pub location: Option<super::Location>,
    /// Whether the type that was read last said `.attribute(.managed)`.
    is_managed: bool,
}

/// The widest initial value, and the largest variable; more is no variable of a kernel.
const MOST_BYTES: u64 = 1 << 32;

impl<'t> Parser<'t> {
    pub fn place(&self) -> Place {
        self.lexer.place
    }

    pub fn malformed<T>(&self, message: impl Into<String>) -> Result<T> {
        Err(Error::malformed(self.place(), message))
    }

    /// What is here, for messages.
    pub fn found(&self) -> String {
        match self.lexer.token {
            Token::Word(word) => format!("`{word}`"),
            Token::Dot(word) => format!("`.{word}`"),
            Token::Text(_) => "a text".to_string(),
            Token::Mark(mark) => format!("`{}`", char::from(mark)),
            Token::End => "the end of the text".to_string(),
            Token::Int(_) | Token::F32(_) | Token::F64(_) => "a number".to_string(),
        }
    }

    pub fn is(&self, mark: u8) -> bool {
        self.lexer.token == Token::Mark(mark)
    }

    /// Skips the mark if it is here.
    pub fn eat(&mut self, mark: u8) -> Result<bool> {
        let is = self.is(mark);
        if is {
            self.lexer.advance()?;
        }
        Ok(is)
    }

    pub fn expect(&mut self, mark: u8) -> Result<()> {
        if self.eat(mark)? {
            return Ok(());
        }
        self.malformed(format!("expected `{}`, found {}", char::from(mark), self.found()))
    }

    pub fn word(&mut self, what: &str) -> Result<&'t str> {
        match self.lexer.token {
            Token::Word(word) => {
                self.lexer.advance()?;
                Ok(word)
            }
            _ => self.malformed(format!("expected {what}, found {}", self.found())),
        }
    }

    /// Skips the directive if it is here.
    pub fn eat_dot(&mut self, name: &str) -> Result<bool> {
        let is = self.lexer.token == Token::Dot(name);
        if is {
            self.lexer.advance()?;
        }
        Ok(is)
    }

    pub fn int(&mut self) -> Result<u64> {
        match self.lexer.token {
            Token::Int(value) => {
                self.lexer.advance()?;
                Ok(value)
            }
            _ => self.malformed(format!("expected a number, found {}", self.found())),
        }
    }

    /// An integer with its sign, as bits.
    pub fn signed(&mut self) -> Result<u64> {
        if self.eat(b'-')? { Ok(self.int()?.wrapping_neg()) } else { self.int() }
    }

    fn head(&mut self) -> Result<()> {
        let no_ptx = "this is no PTX: it begins with `.version`";
        if !self.eat_dot("version")? {
            return self.malformed(no_ptx);
        }
        // `7.8` is read as a float.
        self.module.version = match self.lexer.token {
            Token::F64(bits) => {
                let tenths = (f64::from_bits(bits) * 10.0).round();
                if !(10.0..100.0).contains(&tenths) {
                    return Err(Error::unknown(self.place(), "this version of PTX; kc knows 1.0 to 9.9"));
                }
                (tenths as u32 / 10, tenths as u32 % 10)
            }
            _ => return self.malformed("expected a version of PTX, such as 7.8"),
        };
        self.lexer.advance()?;
        if !self.eat_dot("target")? {
            return self.malformed(format!("expected `.target`, found {}", self.found()));
        }
        let at = self.place();
        let target = self.word("an architecture, such as sm_90")?;
        let number = target.strip_prefix("sm_").map(|number| number.trim_end_matches(['a', 'f']));
        if number.and_then(|number| number.parse::<u32>().ok()).is_none_or(|number| number < 20) {
            return Err(Error::unknown(at, format!("the target `{target}`")));
        }
        self.module.target = target;
        while self.eat(b',')? {
            self.word("an option of the target")?;
        }
        Ok(())
    }

    /// A directive, a variable or a function of the module.
    fn item(&mut self) -> Result<()> {
        let at = self.place();
        let (mut linkage, mut entry) = (Linkage::Own, None);
        loop {
            let Token::Dot(word) = self.lexer.token else {
                return self.malformed(format!("expected a directive, found {}", self.found()));
            };
            self.lexer.advance()?;
            match word {
                "address_size" => {
                    let size = self.int()?;
                    return match size {
                        64 => Ok(()),
                        _ => Err(Error::unknown(at, format!("addresses of {size} bits; kc runs 64-bit PTX"))),
                    };
                }
                "extern" => linkage = Linkage::External,
                "visible" => linkage = Linkage::Visible,
                "weak" | "common" => linkage = Linkage::Weak,
                "entry" | "func" => entry = Some(word == "entry"),
                "file" => return self.file(),
                "section" => return self.section(),
                "pragma" | "alias" => return self.skip_statement(),
                "loc" => return self.loc(),
                _ => match Space::named(word) {
                    Some(space @ (Space::Global | Space::Const | Space::Shared)) => {
                        return self.variables(space, linkage, None);
                    }
                    _ => return Err(Error::unknown(at, format!("the directive `.{word}`"))),
                },
            }
            if let Some(is_entry) = entry {
                return self.function(is_entry, linkage, at);
            }
        }
    }

    pub fn skip_statement(&mut self) -> Result<()> {
        while !self.eat(b';')? {
            if self.lexer.token == Token::End {
                return self.malformed("expected `;`, found the end of the text");
            }
            self.lexer.advance()?;
        }
        Ok(())
    }

    /// `.file 1 "name"`, with time and size after commas.
    pub fn file(&mut self) -> Result<()> {
        let number = self.int()?;
        if let Token::Text(name) = self.lexer.token {
            self.module.files.push((number as u32, name.to_string()));
            self.lexer.advance()?;
        }
        while self.eat(b',')? {
            self.int()?;
        }
        Ok(())
    }

    /// `.loc file line column`, perhaps with the place that a function was inlined at: then that is
    /// what counts to a reader of the calling file, but the inner one is where the text of the
    /// instruction is.
    pub fn loc(&mut self) -> Result<()> {
        let (file, line) = (self.int()? as u32, self.int()? as u32);
        let column = if let Token::Int(_) = self.lexer.token { self.int()? as u32 } else { 0 };
        self.location = (line > 0).then_some(super::Location { file, line, column });
        while self.eat(b',')? {
            match self.word("`function_name` or `inlined_at`")? {
                "function_name" => {
                    self.word("a label")?;
                    if self.eat(b'+')? {
                        self.int()?;
                    }
                }
                "inlined_at" => {
                    for _ in 0..3 {
                        self.int()?;
                    }
                }
                other => return self.malformed(format!("`.loc` has no `{other}`")),
            }
        }
        Ok(())
    }

    /// Debug sections say nothing about what is computed.
    fn section(&mut self) -> Result<()> {
        let start = self.place();
        while !self.is(b'{') {
            if self.lexer.token == Token::End {
                return Err(Error::malformed(start, "a section does not begin"));
            }
            self.lexer.advance()?;
        }
        while !self.eat(b'}')? {
            if self.lexer.token == Token::End {
                return Err(Error::malformed(start, "a section does not end"));
            }
            self.lexer.advance()?;
        }
        Ok(())
    }

    /// A type after its alignment and vector: `.align 4 .v2 .f32`; the elements of the vector.
    fn ty(&mut self) -> Result<(Type, Option<u32>, u32)> {
        let (mut align, mut lanes) = (None, 1);
        loop {
            let at = self.place();
            let Token::Dot(word) = self.lexer.token else {
                return self.malformed(format!("expected a type, found {}", self.found()));
            };
            self.lexer.advance()?;
            match word {
                "align" => {
                    let value = self.int()?;
                    if !value.is_power_of_two() || value > 1 << 16 {
                        return Err(Error::malformed(at, format!("{value} is no alignment")));
                    }
                    align = Some(value as u32);
                }
                "v2" => lanes = 2,
                "v4" => lanes = 4,
                // What a pointer points to says nothing about the parameter.
                "ptr" | "attribute" => self.attribute(word)?,
                "global" | "const" | "local" | "shared" => {}
                _ => {
                    let ty = Type::named(word).ok_or_else(|| Error::unknown(at, format!("the type `.{word}`")))?;
                    // `.param .u64 .ptr .global .align 4 name`
                    while let Token::Dot(word) = self.lexer.token {
                        self.lexer.advance()?;
                        if word == "align" {
                            self.int()?;
                        }
                    }
                    return Ok((ty, align, lanes));
                }
            }
        }
    }

    fn attribute(&mut self, word: &str) -> Result<()> {
        if word == "attribute" && self.eat(b'(')? {
            while !self.eat(b')')? {
                self.is_managed |= self.lexer.token == Token::Dot("managed");
                if self.lexer.token == Token::End {
                    return self.malformed("expected `)`, found the end of the text");
                }
                self.lexer.advance()?;
            }
        }
        Ok(())
    }

    /// One variable, without what it begins with.
    fn variable(&mut self, space: Space, owner: Option<usize>) -> Result<(usize, bool)> {
        let (ty, align, lanes) = self.ty()?;
        self.declarator(space, owner, (ty, align, lanes))
    }

    fn declarator(
        &mut self,
        space: Space,
        owner: Option<usize>,
        (ty, align, lanes): (Type, Option<u32>, u32),
    ) -> Result<(usize, bool)> {
        let at = self.place();
        if ty.kind == Kind::Predicate {
            return Err(Error::malformed(at, "a predicate has no place in memory"));
        }
        let name = match self.lexer.token {
            Token::Word(name) => {
                self.lexer.advance()?;
                name
            }
            // Parameters of prototypes may have none.
            _ if space == Space::Param => "_",
            _ => return self.malformed(format!("expected a name, found {}", self.found())),
        };
        let (mut count, mut open) = (u64::from(lanes), false);
        while self.eat(b'[')? {
            if self.eat(b']')? {
                open = true;
                continue;
            }
            let extent = self.int()?;
            count = count.checked_mul(extent).filter(|n| *n < MOST_BYTES).unwrap_or(MOST_BYTES);
            self.expect(b']')?;
        }
        let element = u64::from(ty.bytes());
        let mut variable = Variable {
            name,
            space,
            ty,
            align: align.unwrap_or(ty.bytes() * lanes),
            bytes: if open { 0 } else { count * element },
            init: Vec::new(),
            owner,
            linkage: Linkage::Own,
            is_managed: false,
            at,
        };
        if variable.bytes >= MOST_BYTES {
            return Err(Error::malformed(at, format!("`{name}` is too large")));
        }
        let number = self.module.variables.len();
        if self.eat(b'=')? {
            let mut offset = 0;
            self.initial(&mut variable, &mut offset)?;
            variable.bytes = variable.bytes.max(if open { offset } else { 0 });
            if offset > variable.bytes {
                return Err(Error::malformed(at, format!("`{name}` has more initial values than elements")));
            }
        }
        self.module.variables.push(variable);
        if name != "_"
            && let Some(scope) = self.scopes.last_mut()
            && !scope.declare(name, Name::Variable(number))
            && owner.is_some()
        {
            return Err(Error::malformed(at, format!("`{name}` is declared twice")));
        }
        Ok((number, open))
    }

    /// An initial value at `offset`, which goes on.
    fn initial(&mut self, variable: &mut Variable<'t>, offset: &mut u64) -> Result<()> {
        if self.eat(b'{')? {
            while !self.eat(b'}')? {
                self.initial(variable, offset)?;
                if !self.eat(b',')? && !self.is(b'}') {
                    return self.malformed(format!("expected `,` or `}}`, found {}", self.found()));
                }
            }
            return Ok(());
        }
        let bytes = variable.ty.bytes();
        let at = self.place();
        let negative = self.eat(b'-')?;
        let value = match self.lexer.token {
            Token::Int(bits) if variable.ty.kind == Kind::Float && variable.ty.bits == 64 => {
                Init::Bits((bits as f64).to_bits(), bytes)
            }
            Token::Int(bits) if variable.ty.kind == Kind::Float && variable.ty.bits == 32 => {
                Init::Bits((bits as f32).to_bits().into(), bytes)
            }
            Token::Int(bits) => Init::Bits(if negative { bits.wrapping_neg() } else { bits }, bytes),
            Token::F32(bits) => Init::Bits(bits.into(), bytes),
            Token::F64(bits) if variable.ty.bits == 32 => {
                Init::Bits((f64::from_bits(bits) as f32).to_bits().into(), bytes)
            }
            Token::F64(bits) => Init::Bits(bits, bytes),
            Token::Word("generic") => {
                self.lexer.advance()?;
                self.expect(b'(')?;
                let value = self.address(true)?;
                self.expect(b')')?;
                self.plus(value)?
            }
            Token::Word(_) => {
                let value = self.address(false)?;
                self.plus(value)?
            }
            _ => return self.malformed(format!("expected an initial value, found {}", self.found())),
        };
        let value = match value {
            Init::Bits(bits, bytes) => {
                self.lexer.advance()?;
                if self.is(b'(') {
                    return Err(Error::unknown(self.place(), "a part of an address as an initial value"));
                }
                let is_float = variable.ty.kind == Kind::Float;
                let sign = if negative && is_float { 1 << (variable.ty.bits - 1) } else { 0 };
                Init::Bits(bits ^ sign, bytes)
            }
            address if negative || bytes != 8 => {
                return Err(Error::unknown(at, format!("{address:?} as an initial value of {bytes} bytes")));
            }
            address => address,
        };
        if *offset + u64::from(bytes) > MOST_BYTES {
            return Err(Error::malformed(at, "too many initial values"));
        }
        // Zeros are there without being said.
        if value != Init::Bits(0, bytes) {
            variable.init.push((*offset, value));
        }
        *offset += u64::from(bytes);
        Ok(())
    }

    fn address(&mut self, generic: bool) -> Result<Init> {
        let at = self.place();
        let name = self.word("the name of a variable")?;
        match names::find(&self.scopes, name) {
            Some(Name::Variable(variable)) => Ok(Init::Address { variable, offset: 0, generic }),
            // Which functions there are shows at the end of the text.
            _ if !name.starts_with('%') => Ok(Init::Function(name.to_string())),
            _ => Err(Error::malformed(at, format!("`{name}` as an initial value"))),
        }
    }

    fn plus(&mut self, value: Init) -> Result<Init> {
        let Init::Address { variable, mut offset, generic } = value else { return Ok(value) };
        while self.is(b'+') || self.is(b'-') {
            let negative = self.eat(b'-')? || !self.eat(b'+')?;
            let by = self.int()? as i64;
            offset = offset.wrapping_add(if negative { by.wrapping_neg() } else { by });
        }
        Ok(Init::Address { variable, offset, generic })
    }

    /// Variables up to the semicolon.
    pub fn variables(&mut self, space: Space, linkage: Linkage, owner: Option<usize>) -> Result<()> {
        let external = linkage == Linkage::External;
        self.is_managed = false;
        let ty = self.ty()?;
        let is_managed = self.is_managed;
        loop {
            let (number, open) = self.declarator(space, owner, ty)?;
            let variable = &mut self.module.variables[number];
            (variable.linkage, variable.is_managed) = (linkage, is_managed);
            if open && variable.bytes == 0 && !external {
                let message = format!("the array `{}` without a size", variable.name);
                return Err(Error::unknown(variable.at, message));
            }
            if !self.eat(b',')? {
                return self.expect(b';');
            }
        }
    }

    fn function(&mut self, is_entry: bool, linkage: Linkage, at: Place) -> Result<()> {
        let owner = self.module.functions.len();
        self.scopes.push(Scope::default());
        let mut returns = Vec::new();
        if self.is(b'(') {
            returns = self.parameters(owner)?;
        }
        let name = self.word("the name of a function")?;
        let params = if self.is(b'(') { self.parameters(owner)? } else { Vec::new() };
        let mut function = Function {
            name,
            is_entry,
            linkage,
            params,
            returns,
            max_threads: None,
            required_threads: None,
            cluster: None,
            body: None,
            at,
        };
        while let Token::Dot(word) = self.lexer.token {
            self.lexer.advance()?;
            let at = self.place();
            match word {
                "maxntid" | "reqntid" => {
                    let mut product = self.int()?;
                    while self.eat(b',')? {
                        product = product.saturating_mul(self.int()?);
                    }
                    let which =
                        if word == "maxntid" { &mut function.max_threads } else { &mut function.required_threads };
                    *which = Some(product);
                }
                "explicitcluster" => {}
                "maxclusterrank" => drop(self.int()?),
                "reqnctapercluster" => {
                    let mut extents = [1u32; 3];
                    for (n, extent) in extents.iter_mut().enumerate() {
                        if n == 0 || self.eat(b',')? {
                            *extent = self.int()?.try_into().unwrap_or(u32::MAX);
                        }
                    }
                    function.cluster = Some(extents);
                }
                "minnctapersm" | "maxnreg" | "maxnctapersm" => drop(self.int()?),
                "noreturn" => {}
                "pragma" => self.skip_statement()?,
                _ => return Err(Error::unknown(at, format!("the directive `.{word}` of a kernel"))),
            }
        }
        self.location = None;
        if self.eat(b'{')? {
            function.body = Some(self.body(owner)?);
        } else if !self.eat(b';')? && !matches!(self.lexer.token, Token::Dot(_)) {
            return self.malformed(format!("expected a body or `;`, found {}", self.found()));
        }
        self.scopes.truncate(1);
        self.module.functions.push(function);
        Ok(())
    }

    /// `(.param .u64 a, .param .align 8 .b8 b[56])`, or registers.
    fn parameters(&mut self, owner: usize) -> Result<Vec<usize>> {
        self.expect(b'(')?;
        let mut list = Vec::new();
        while !self.eat(b')')? {
            let at = self.place();
            if self.eat_dot("reg")? {
                return Err(Error::unknown(at, "parameters in registers"));
            }
            if !self.eat_dot("param")? {
                return self.malformed(format!("expected `.param`, found {}", self.found()));
            }
            list.push(self.variable(Space::Param, Some(owner))?.0);
            if !self.eat(b',')? && !self.is(b')') {
                return self.malformed(format!("expected `,` or `)`, found {}", self.found()));
            }
        }
        Ok(list)
    }
}
