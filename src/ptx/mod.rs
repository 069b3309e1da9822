//! What does a PTX text say? A lexer and a parser of PTX ISA as LLVM, NVRTC and people write it,
//! into a [`Module`] whose names are resolved: every operand knows its register or variable. What
//! an instruction means is decided by who runs it (`sim`).
//!
//! | file | question it answers |
//! |---|---|
//! | `lex` | what are the words of the text? |
//! | `parse` | which directives, variables and functions has it? |
//! | `body` | what does a function consist of? |
//! | `names` | which register or variable is meant? |
//! | `live` | how many registers does a kernel need? |

mod body;
mod lex;
mod live;
mod names;
mod parse;
#[cfg(test)]
mod tests;

pub use live::{Live, live, stand_alone};
pub use parse::parse;

use std::fmt;

/// A place in a PTX text: line and column from 1, the column in bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Place {
    pub line: u32,
    pub column: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Why a text is not understood.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error {
    pub at: Place,
    pub message: String,
    /// It may well be PTX, but has what kc does not know.
    pub unknown: bool,
}

impl Error {
    /// The text is no PTX.
    pub fn malformed(at: Place, message: impl Into<String>) -> Error {
        Error { at, message: message.into(), unknown: false }
    }

    /// The text has what kc does not know.
    pub fn unknown(at: Place, message: impl Into<String>) -> Error {
        Error { at, message: message.into(), unknown: true }
    }
}

pub type Result<T> = std::result::Result<T, Error>;

/// A text, parsed.
#[derive(Debug)]
pub struct Module<'t> {
    pub version: (u32, u32),
    /// `sm_90`
    pub target: &'t str,
    /// The files that `.loc` directives name, by number.
    pub files: Vec<(u32, String)>,
    /// All variables, of functions too.
    pub variables: Vec<Variable<'t>>,
    pub functions: Vec<Function<'t>>,
}

impl<'t> Module<'t> {
    /// The function with a body of this name, or else its declaration.
    pub fn function(&self, name: &str) -> Option<&Function<'t>> {
        let named = || self.functions.iter().filter(|f| f.name == name);
        named().find(|f| f.body.is_some()).or_else(|| named().next())
    }

    /// The kernels.
    pub fn entries(&self) -> impl Iterator<Item = &Function<'t>> {
        self.functions.iter().filter(|f| f.is_entry && f.body.is_some())
    }
}

/// The kinds of fundamental types.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Bits,
    Unsigned,
    Signed,
    Float,
    /// `.bf16`
    Brain,
    /// `.f16x2`, `.bf16x2`
    HalfPair,
    BrainPair,
    /// `.e4m3x2`, `.e5m2x2`
    E4m3Pair,
    E5m2Pair,
    Predicate,
}

impl Kind {
    /// Whether a value holds two numbers.
    pub fn is_pair(self) -> bool {
        matches!(self, Kind::HalfPair | Kind::BrainPair | Kind::E4m3Pair | Kind::E5m2Pair)
    }
}

/// A fundamental type; `bits` of a predicate is 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Type {
    pub kind: Kind,
    pub bits: u32,
}

impl Type {
    pub const PREDICATE: Type = Type { kind: Kind::Predicate, bits: 1 };

    /// The type of this name, without its dot.
    pub fn named(name: &str) -> Option<Type> {
        let ty = |kind, bits| Some(Type { kind, bits });
        match name {
            "pred" => return ty(Kind::Predicate, 1),
            "f16x2" => return ty(Kind::HalfPair, 32),
            "bf16x2" => return ty(Kind::BrainPair, 32),
            "e4m3x2" => return ty(Kind::E4m3Pair, 16),
            "e5m2x2" => return ty(Kind::E5m2Pair, 16),
            "bf16" => return ty(Kind::Brain, 16),
            "b128" => return ty(Kind::Bits, 128),
            _ => {}
        }
        let (kind, bits) = name.split_at_checked(1)?;
        let bits = match bits {
            "8" => 8,
            "16" => 16,
            "32" => 32,
            "64" => 64,
            _ => return None,
        };
        match kind {
            "b" => ty(Kind::Bits, bits),
            "u" => ty(Kind::Unsigned, bits),
            "s" => ty(Kind::Signed, bits),
            "f" if bits > 8 => ty(Kind::Float, bits),
            _ => None,
        }
    }

    pub fn bytes(self) -> u32 {
        self.bits.div_ceil(8)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            Kind::Bits => write!(f, "b{}", self.bits),
            Kind::Unsigned => write!(f, "u{}", self.bits),
            Kind::Signed => write!(f, "s{}", self.bits),
            Kind::Float => write!(f, "f{}", self.bits),
            Kind::Brain => f.write_str("bf16"),
            Kind::HalfPair => f.write_str("f16x2"),
            Kind::BrainPair => f.write_str("bf16x2"),
            Kind::E4m3Pair => f.write_str("e4m3x2"),
            Kind::E5m2Pair => f.write_str("e5m2x2"),
            Kind::Predicate => f.write_str("pred"),
        }
    }
}

/// A state space.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Space {
    Generic,
    Global,
    Shared,
    Local,
    Const,
    Param,
}

impl Space {
    pub fn named(name: &str) -> Option<Space> {
        Some(match name {
            "global" => Space::Global,
            // A block is a cluster of its own.
            "shared" | "shared::cta" | "shared::cluster" => Space::Shared,
            "local" => Space::Local,
            "const" => Space::Const,
            "param" | "param::entry" | "param::func" => Space::Param,
            _ => return None,
        })
    }

    pub fn name(self) -> &'static str {
        match self {
            Space::Generic => "generic",
            Space::Global => "global",
            Space::Shared => "shared",
            Space::Local => "local",
            Space::Const => "constant",
            Space::Param => "parameter",
        }
    }
}

/// A variable in memory; parameters are such.
#[derive(Clone, Debug)]
pub struct Variable<'t> {
    pub name: &'t str,
    pub space: Space,
    pub ty: Type,
    pub align: u32,
    /// Bytes; 0 for what the launch gives its size (`.extern .shared`).
    pub bytes: u64,
    pub init: Vec<(u64, Init)>,
    /// The number of its function; None for those of the module.
    pub owner: Option<usize>,
    pub linkage: Linkage,
    /// Host and devices share it (`.attribute(.managed)`).
    pub is_managed: bool,
    pub at: Place,
}

/// A part of an initial value, at its offset.
#[derive(Clone, Debug, PartialEq)]
pub enum Init {
    /// So many bytes of a number.
    Bits(u64, u32),
    /// The address of a variable.
    Address { variable: usize, offset: i64, generic: bool },
    /// The address of a function.
    Function(String),
}

/// Who knows a name of a text: nobody else, other texts, or it is defined in one of those.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Linkage {
    #[default]
    Own,
    Visible,
    /// So that another text may define it too.
    Weak,
    External,
}

/// A kernel or a function.
#[derive(Debug)]
pub struct Function<'t> {
    pub name: &'t str,
    pub is_entry: bool,
    pub linkage: Linkage,
    /// Numbers of variables.
    pub params: Vec<usize>,
    pub returns: Vec<usize>,
    /// `.maxntid`, `.reqntid`: the threads of a block, where the text bounds them.
    pub max_threads: Option<u64>,
    pub required_threads: Option<u64>,
    /// `.reqnctapercluster`: the blocks of a cluster.
    pub cluster: Option<[u32; 3]>,
    pub body: Option<Body<'t>>,
    pub at: Place,
}

/// What a function does.
#[derive(Debug, Default)]
pub struct Body<'t> {
    /// The types of its registers.
    pub registers: Vec<Type>,
    pub instructions: Vec<Instruction<'t>>,
}

/// The number of a register in its function.
pub type Register = u32;

/// A place in the source that a compiler noted (`.loc`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Location {
    pub file: u32,
    pub line: u32,
    pub column: u32,
}

#[derive(Clone, Debug)]
pub struct Instruction<'t> {
    /// The predicate, and whether it is negated.
    pub guard: Option<(Register, bool)>,
    /// `add`
    pub opcode: &'t str,
    /// What follows it, without dots.
    pub modifiers: smallvec::SmallVec<[&'t str; 6]>,
    pub operands: smallvec::SmallVec<[Operand<'t>; 4]>,
    pub at: Place,
    pub source: Option<Location>,
}

impl fmt::Display for Instruction<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.opcode)?;
        self.modifiers.iter().try_for_each(|m| write!(f, ".{m}"))
    }
}

#[derive(Clone, PartialEq, Debug)]
pub enum Operand<'t> {
    Register(Register),
    /// `!%p1`
    Not(Register),
    /// `%r1|%p1`: two results.
    Pair(Register, Register),
    /// `_|%p1`: the second of two results.
    Second(Register),
    Int(u64),
    /// Bits of a float32, a float64.
    F32(u32),
    F64(u64),
    /// `%tid.x`, without its `%`
    Special(&'t str),
    Variable {
        variable: usize,
        offset: i64,
    },
    Function(&'t str),
    Address(Base, i64),
    /// `[map, {%r1, %r2}]`: a place in a tensor.
    InTensor {
        base: Base,
        offset: i64,
        coordinates: Vec<Operand<'t>>,
    },
    /// `{%r1, %r2}`
    Vector(Vec<Operand<'t>>),
    /// `(a, b)` of a call.
    List(Vec<Operand<'t>>),
    /// An instruction of the same function; its number may be one beyond the last.
    Label(usize),
    /// Of `brx.idx`.
    Targets(Vec<usize>),
    /// `_`
    Sink,
}

/// What an address counts from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Base {
    Register(Register),
    Variable(usize),
    /// `[16]`
    Zero,
}
