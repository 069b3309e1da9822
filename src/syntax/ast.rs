//! The syntax tree of kernels. It holds what the user wrote, nothing resolved; what kernels cannot
//! contain is kept as [`ExprKind::Unsupported`] / [`StmtKind::Unsupported`] so that the checker can
//! say so at its place.

use std::sync::Arc;

use super::changes::Change;
use crate::source::{FileId, Span};

/// A name and where it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Name {
    pub text: String,
    pub span: Span,
}

/// The parts of a source file that concern kc, in order. All other top-level statements are
/// skipped.
#[derive(Clone, Debug)]
pub struct Parsed {
    pub file: FileId,
    pub items: Vec<Item>,
    /// What host code changes of what it names.
    pub changes: Vec<Change>,
}

#[derive(Clone, Debug)]
pub enum Item {
    Import(Import),
    /// A decorated or plain `def` at top level. Plain ones (no decorator of ours) keep their header
    /// only: `body` is empty and they serve for messages such as "`f` is not decorated with
    /// `@wp.func`". Shared: whoever checks it keeps it.
    Function(Arc<Function>),
    Class(Class),
    /// `NAME = value` (or `NAME: T = value`) at module level: a constant, an alias, or host data.
    /// When the value is outside our grammar it is an [`ExprKind::Opaque`].
    Constant(Constant),
    /// `NAME.attribute = value` in host code, under the name with the dot.
    Attribute(Constant),
    /// A call by host code that says for what kernels are compiled: `wp.overload(...)`,
    /// `wp.set_module_options(...)`, or one of a host function that makes kernels.
    Call(Expr),
    /// Host code around definitions of ours.
    Region(Region),
    /// What a host function around definitions of ours returns.
    Return(Expr),
}

/// Host code that is read because it holds definitions of ours, or calls a function that does: what
/// it binds and calls, in order. Names bound to what only Python can know are constants with
/// [`ExprKind::Opaque`].
#[derive(Clone, Debug)]
pub struct Region {
    pub kind: RegionKind,
    pub items: Vec<Item>,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum RegionKind {
    /// The body of a plain `def`; one that `computes` only binds names and returns something.
    Function { name: Name, params: Vec<Param>, computes: bool },
    /// The body of a plain `def` that holds no definitions of ours, but launches of kernels.
    Launching { name: Name, params: Vec<Param> },
    /// The body of a plain class.
    Class(Name),
    /// The functions of a class that is an item of its own, before this one: of an enumeration or a
    /// name of a type.
    Methods(Name),
    /// The body of a `for`; the iterable is [`ExprKind::Opaque`] when the grammar does not cover
    /// it.
    Loop { target: Expr, iter: Expr },
    /// A block that opens no scope: of `if`, `while`, `with`, `try` and their clauses.
    Block(Runs),
}

/// When does a block of host code run?
#[derive(Clone, Debug)]
pub enum Runs {
    /// That of `with` does, and so does the `else` of an `if TYPE_CHECKING`.
    Always,
    /// That of `try` begins.
    Begins,
    Maybe,
    /// Where each of these is true, or is not, as the flag says: that of `if` and its clauses.
    Where(Vec<(Expr, bool)>),
}

impl Runs {
    /// Whether its names may not be bound.
    pub fn is_conditional(&self) -> bool {
        matches!(self, Runs::Maybe | Runs::Where(_))
    }
}

impl Parsed {
    /// The items of the file, those of host code in the place of their regions.
    pub fn all_items(&self) -> Vec<&Item> {
        fn collect<'a>(items: &'a [Item], out: &mut Vec<&'a Item>) {
            for item in items {
                match item {
                    Item::Region(region) => collect(&region.items, out),
                    item => out.push(item),
                }
            }
        }
        let mut found = Vec::new();
        collect(&self.items, &mut found);
        found
    }

    /// The functions of the file, also those inside host code, in order.
    pub fn functions(&self) -> Vec<&Function> {
        let mut found = Vec::new();
        for item in self.all_items() {
            if let Item::Function(function) = item {
                found.push(&**function);
            }
        }
        found
    }
}

/// `import a.b as c` is `{ module: "a.b", names: [] , alias: Some(c) }`; `from a import b as c` has
/// one name each.
#[derive(Clone, Debug)]
pub struct Import {
    pub module: String,
    pub alias: Option<Name>,
    pub names: Vec<ImportedName>,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct ImportedName {
    /// `*`, at no place, for all of them.
    pub name: Name,
    pub alias: Option<Name>,
}

#[derive(Clone, Debug)]
pub struct Constant {
    pub name: Name,
    pub value: Expr,
    pub span: Span,
}

/// `@path` or `@path(args)`.
#[derive(Clone, Debug)]
pub struct Decorator {
    pub expr: Expr,
}

#[derive(Clone, Debug)]
pub struct Function {
    pub name: Name,
    pub decorators: Vec<Decorator>,
    pub params: Vec<Param>,
    pub returns: Option<Expr>,
    pub doc: Option<String>,
    pub body: Vec<Stmt>,
    /// From the first decorator to the end of the body.
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct Param {
    pub name: Name,
    pub annotation: Option<Expr>,
    pub default: Option<Expr>,
    pub star: Star,
    pub span: Span,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Star {
    None,
    /// `*args`
    One,
    /// `**kwargs`
    Two,
}

/// A `@wp.struct` class, or an enumeration (`class Mode(IntEnum)`); other classes are skipped.
#[derive(Clone, Debug)]
pub struct Class {
    pub name: Name,
    pub decorators: Vec<Decorator>,
    pub bases: Vec<Expr>,
    /// `name: annotation` and `name = value` and `name: annotation = value`, in order; methods are
    /// skipped.
    pub members: Vec<Member>,
    pub doc: Option<String>,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct Member {
    pub name: Name,
    pub annotation: Option<Expr>,
    pub value: Option<Expr>,
}

#[derive(Clone, Debug)]
pub struct Stmt {
    pub kind: StmtKind,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum StmtKind {
    /// `a = value`; `a = b = value` has two targets.
    Assign {
        targets: Vec<Expr>,
        value: Expr,
    },
    AugAssign {
        target: Expr,
        op: BinaryOp,
        value: Expr,
    },
    AnnAssign {
        target: Expr,
        annotation: Expr,
        value: Option<Expr>,
    },
    If {
        condition: Expr,
        then: Vec<Stmt>,
        otherwise: Vec<Stmt>,
    },
    For {
        target: Expr,
        iter: Expr,
        body: Vec<Stmt>,
        otherwise: Vec<Stmt>,
    },
    While {
        condition: Expr,
        body: Vec<Stmt>,
        otherwise: Vec<Stmt>,
    },
    Return(Option<Expr>),
    Expr(Expr),
    Assert {
        condition: Expr,
        message: Option<Expr>,
    },
    Pass,
    Break,
    Continue,
    /// Python that kernels do not have, named as a user would: `try`, `with`, `lambda`,
    /// `a nested function`.
    Unsupported(&'static str),
    /// Could not be parsed; already reported.
    Error,
}

#[derive(Clone, Debug)]
pub struct Expr {
    pub kind: ExprKind,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum ExprKind {
    Name(String),
    Attribute {
        base: Box<Expr>,
        name: Name,
    },
    /// Decimal, hex, octal or binary without sign. None: the literal does not fit in 128 bits.
    Int(Option<u128>),
    Float(f64),
    Str(String),
    Bool(bool),
    None,
    Unary {
        op: UnaryOp,
        operand: Box<Expr>,
    },
    Binary {
        op: BinaryOp,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    /// `a and b and c` has three operands.
    Logic {
        op: BoolOp,
        operands: Vec<Expr>,
    },
    /// `first op1 e1 op2 e2 ...`
    Compare {
        first: Box<Expr>,
        rest: Vec<(CompareOp, Expr)>,
    },
    Conditional {
        condition: Box<Expr>,
        then: Box<Expr>,
        otherwise: Box<Expr>,
    },
    Call {
        callee: Box<Expr>,
        args: Vec<Arg>,
    },
    /// `base[i]` has one index, `base[i, j]` two. Slices stand only here.
    Subscript {
        base: Box<Expr>,
        indices: Vec<Expr>,
    },
    Slice {
        lower: Option<Box<Expr>>,
        upper: Option<Box<Expr>>,
        step: Option<Box<Expr>>,
    },
    Tuple(Vec<Expr>),
    List(Vec<Expr>),
    Starred(Box<Expr>),
    /// Means something only where Python computes: `wp.set_module_options({...})`, constants of the
    /// module.
    Dict(Vec<(Expr, Expr)>),
    /// `[element for target in iter if condition]`, `(element for ...)`: only where Python
    /// computes.
    Comprehension(Box<Comprehension>),
    /// `lambda x: x`: only where Python computes.
    Lambda(Arc<Lambda>),
    /// Python that kernels do not have: `an f-string`, `a set`, ...
    Unsupported(&'static str),
    /// Text outside kernels that our grammar does not cover (module level only).
    Opaque,
    /// Could not be parsed; already reported.
    Error,
}

/// `lambda a, b=1: body`
#[derive(Clone, Debug)]
pub struct Lambda {
    pub params: Vec<Param>,
    pub body: Expr,
}

/// A list comprehension or a generator expression; of one in braces the elements are tuples of keys
/// and values.
#[derive(Clone, Debug)]
pub struct Comprehension {
    /// What it is called: `a comprehension`, `a generator expression`.
    pub what: &'static str,
    pub element: Expr,
    /// At least one.
    pub clauses: Vec<Clause>,
}

/// `for target in iter if condition if condition`
#[derive(Clone, Debug)]
pub struct Clause {
    pub target: Expr,
    pub iter: Expr,
    pub conditions: Vec<Expr>,
    pub is_async: bool,
}

#[derive(Clone, Debug)]
pub struct Arg {
    /// `name=value`
    pub name: Option<Name>,
    pub value: Expr,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnaryOp {
    Neg,
    Pos,
    /// `not`
    Not,
    /// `~`
    Invert,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    FloorDiv,
    Mod,
    Pow,
    MatMul,
    BitAnd,
    BitOr,
    BitXor,
    Shl,
    Shr,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BoolOp {
    And,
    Or,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CompareOp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Is,
    IsNot,
    In,
    NotIn,
}

impl UnaryOp {
    pub fn symbol(self) -> &'static str {
        match self {
            UnaryOp::Neg => "-",
            UnaryOp::Pos => "+",
            UnaryOp::Not => "not",
            UnaryOp::Invert => "~",
        }
    }
}

impl BinaryOp {
    pub fn symbol(self) -> &'static str {
        match self {
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::FloorDiv => "//",
            BinaryOp::Mod => "%",
            BinaryOp::Pow => "**",
            BinaryOp::MatMul => "@",
            BinaryOp::BitAnd => "&",
            BinaryOp::BitOr => "|",
            BinaryOp::BitXor => "^",
            BinaryOp::Shl => "<<",
            BinaryOp::Shr => ">>",
        }
    }

    /// How tightly it binds, as a rank: `*` has a greater one than `+`.
    pub fn binding(self) -> u8 {
        match self {
            BinaryOp::BitOr => 0,
            BinaryOp::BitXor => 1,
            BinaryOp::BitAnd => 2,
            BinaryOp::Shl | BinaryOp::Shr => 3,
            BinaryOp::Add | BinaryOp::Sub => 4,
            BinaryOp::Mul | BinaryOp::Div | BinaryOp::FloorDiv | BinaryOp::Mod | BinaryOp::MatMul => 5,
            BinaryOp::Pow => 6,
        }
    }
}

impl CompareOp {
    pub fn symbol(self) -> &'static str {
        match self {
            CompareOp::Eq => "==",
            CompareOp::Ne => "!=",
            CompareOp::Lt => "<",
            CompareOp::Le => "<=",
            CompareOp::Gt => ">",
            CompareOp::Ge => ">=",
            CompareOp::Is => "is",
            CompareOp::IsNot => "is not",
            CompareOp::In => "in",
            CompareOp::NotIn => "not in",
        }
    }
}
