//! The typed tree: what the checker hands to lowering. Every name is resolved, every type known,
//! every generic function instantiated, every built-in either a primitive operation or a function
//! of this module.

use std::collections::HashMap;

use crate::check::state::definition::Imported;
use crate::ids::IdVec;
use crate::ir::{AtomicOp, BinaryOp, CompareOp, Const, ConstantId, Gives, UnaryOp};
use crate::source::Span;
use crate::types::Type;

crate::define_id!(
    /// A function instance of the checked module.
    FnId, "fn"
);
crate::define_id!(
    /// A variable of a function, parameters included.
    LocalId, "local"
);

#[derive(Clone, Debug)]
pub struct Function {
    /// Unique in the module, and a C identifier.
    pub name: String,
    /// As written in the source.
    pub source_name: String,
    /// `Some(rank)` for kernels: the number of coordinates of `tid()` (1 to 4).
    pub kernel_rank: Option<u8>,
    /// From the built-in library.
    pub library: bool,
    /// It works on tiles, or calls what does.
    pub by_block: bool,
    /// It uses what differs between the threads of a block, or calls what does.
    pub by_thread: bool,
    /// The CUDA function that computes the same, such as `sinf`.
    pub cuda_name: Option<String>,
    /// What it gives for finite arguments, where its code does not show that.
    pub gives: Option<Gives>,
    /// The body as CUDA C++ text; `body` is empty.
    pub native: Option<String>,
    /// The first `param_count` locals are the parameters.
    pub locals: IdVec<LocalId, Local>,
    pub param_count: u32,
    /// Types of the returned values, local arrays left out: none, one, or several.
    pub results: Vec<Type>,
    /// Of what it returns, the numbers of values in tuples; None for a value. Empty: no tuples.
    pub nested: Vec<Option<usize>>,
    /// Variables whose final values are further results, before those of `by_ref`: what a custom
    /// gradient adds to the adjoints of its parameters.
    pub accumulators: Vec<LocalId>,
    /// Parameters whose final value goes back to the caller's variable, in order.
    pub by_ref: Vec<LocalId>,
    /// The local arrays among what it returns.
    pub arrays: Vec<ReturnedArray>,
    pub derivative: Derivative,
    pub body: Vec<Stmt>,
    /// Where the body names a constant: a number, or a composite of numbers.
    pub named: HashMap<Span, ConstantId>,
    pub span: Span,
    /// A library function that other programs have too: what they have in common. Then that has the
    /// body and its variables.
    pub imported: Option<Imported>,
}

/// A local array that a function returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReturnedArray {
    /// Its place among all that is returned.
    pub position: usize,
    /// The caller's array that takes it: one of the last parameters, which the source does not
    /// have.
    pub param: LocalId,
}

impl Function {
    /// The types of all that it returns, in the order of the source.
    pub fn returned(&self) -> Vec<Type> {
        let mut types = self.results.clone();
        for array in &self.arrays {
            types.insert(array.position, self.locals[array.param].ty);
        }
        types
    }

    /// The function with its body: an imported one has that elsewhere.
    pub fn with_body(&self) -> &Function {
        self.imported.as_ref().map_or(self, |imported| imported.function().function())
    }
}

/// How a function is differentiated: see [`crate::ir::Derivative`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Derivative {
    #[default]
    Body,
    Rule {
        adjoint: FnId,
        replay: Option<FnId>,
    },
    /// Through the body of another function, which replaces this one in reverse code.
    Replay(FnId),
    Zero(String),
    None(String),
    /// The function is the adjoint of another one: its body is made from that one's.
    AdjointOf(FnId),
}

/// A variable keeps one type in its whole function. Reading it before any assignment yields zero.
#[derive(Clone, Debug)]
pub struct Local {
    /// Empty for variables that the checker made.
    pub name: String,
    pub ty: Type,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct Stmt {
    pub kind: StmtKind,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum StmtKind {
    /// `place = value`. The value is evaluated first.
    Assign(Place, Expr),
    /// `a, b = f(...)`: results of a call to variables, in order; None drops one.
    AssignCall {
        targets: Vec<Option<LocalId>>,
        call: Call,
    },
    /// `a, b = x, y` between variables: all values are evaluated before any is assigned.
    AssignMany(Vec<(LocalId, Expr)>),
    /// `place op= value` on array memory that compiles to an atomic; the old value is dropped.
    AtomicUpdate {
        op: AtomicOp,
        place: Place,
        value: Expr,
    },
    /// An expression for its effects.
    Expr(Expr),
    /// A call without results, or whose results are dropped.
    Call(Call),
    If {
        condition: Expr,
        then: Vec<Stmt>,
        otherwise: Vec<Stmt>,
    },
    /// `for variable in range(start, end, step)`: all four of one integer type. The loop owns its
    /// counter: assigning the variable in the body does not change the next iteration. After the
    /// loop the variable keeps its last value.
    For {
        variable: LocalId,
        start: Expr,
        end: Expr,
        step: Expr,
        body: Vec<Stmt>,
    },
    While {
        condition: Expr,
        body: Vec<Stmt>,
    },
    /// See [`crate::ir::Op::GridSync`].
    GridSync,
    /// See [`crate::ir::Check::Together`].
    Together {
        begins: bool,
    },
    Break,
    Continue,
    /// One expression per result of the function.
    Return(Vec<Expr>),
    /// `return f(...)` where `f` has several results.
    ReturnCall(Call),
    /// C format string with scalar arguments.
    Print {
        format: String,
        args: Vec<Expr>,
    },
    Assert {
        condition: Expr,
        message: String,
    },
}

/// Something assignable: a variable or an array element, and a path to a part of it.
#[derive(Clone, Debug)]
pub struct Place {
    pub root: Root,
    pub path: Vec<Step>,
    /// The type of the part.
    pub ty: Type,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum Root {
    Local(LocalId),
    /// An element of an array or local array: one index per dimension, each of an integer type.
    Element {
        array: Box<Expr>,
        index: Vec<Expr>,
    },
}

/// One step to a part (see [`Type::step`]).
#[derive(Clone, Debug)]
pub enum Step {
    At(u32),
    /// By an integer expression.
    Dynamic(Box<Expr>),
}

#[derive(Clone, Debug)]
pub struct Expr {
    pub kind: ExprKind,
    pub ty: Type,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct Call {
    pub callee: FnId,
    pub args: Vec<Expr>,
    /// For each of the callee's `by_ref` parameters, where its final value goes.
    pub by_ref: Vec<Place>,
    /// For checked runs with gradients, where the library has a test of its function.
    pub test: Option<Box<DegeneracyTest>>,
    pub span: Span,
}

/// What says of arguments and adjoints whether the gradient of a library function is
/// near-degenerate there.
#[derive(Clone, Debug)]
pub struct DegeneracyTest {
    /// Takes the arguments, then the adjoints of the results (returned ones, then by-reference
    /// ones); gives bool.
    pub callee: FnId,
    /// It takes these adjoints. One that does not knows the point alone: only the gradient beside
    /// it tells whether it is another one there.
    pub adjoints: bool,
    /// Words for the note.
    pub why: String,
}

#[derive(Clone, Debug)]
pub enum ExprKind {
    Const(Const),
    /// A value of all zero bits.
    Zero,
    Local(LocalId),
    Unary(UnaryOp, Box<Expr>),
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// Operands of one type.
    Compare(CompareOp, Box<Expr>, Box<Expr>),
    Fma(Box<Expr>, Box<Expr>, Box<Expr>),
    /// Short circuit; operands are bool.
    And(Vec<Expr>),
    Or(Vec<Expr>),
    /// `then if condition else otherwise`: only one side is evaluated.
    Conditional {
        condition: Box<Expr>,
        then: Box<Expr>,
        otherwise: Box<Expr>,
    },
    /// Both sides are evaluated (`wp.where`).
    Select {
        condition: Box<Expr>,
        then: Box<Expr>,
        otherwise: Box<Expr>,
    },
    /// Number conversion to `ty`.
    Cast(Box<Expr>),
    Bitcast(Box<Expr>),
    /// Assigns a new variable, then evaluates to `body`: for values that are used several times.
    Let {
        local: LocalId,
        value: Box<Expr>,
        body: Box<Expr>,
    },
    /// All scalars of a composite (row major), or all fields of a struct.
    Construct(Vec<Expr>),
    /// A part of a value.
    Part {
        base: Box<Expr>,
        path: Vec<Step>,
    },
    /// Full indexing of an array, then a path into the element: only that part is loaded.
    Load {
        array: Box<Expr>,
        index: Vec<Expr>,
        path: Vec<Step>,
    },
    /// The call has exactly one result.
    Call(Call),
    ThreadIndex(u8),
    BlockDim,
    /// The number of the thread in its block.
    ThreadInBlock,
    Extent(Box<Expr>, u8),
    IsSet(Box<Expr>),
    /// The array of adjoints behind an array's own gradient pointer; null if there is none.
    Gradient(Box<Expr>),
    Address(Box<Expr>),
    /// See [`crate::ir::Op::ArrayAt`].
    ArrayAt {
        constant: bool,
        args: Vec<Expr>,
    },
    View {
        array: Box<Expr>,
        index: Vec<ViewIndex>,
    },
    LocalArray,
    /// Returns the old value.
    Atomic {
        op: AtomicOp,
        place: Place,
        value: Box<Expr>,
    },
    AtomicCas {
        place: Place,
        expected: Box<Expr>,
        new: Box<Expr>,
    },
}

/// One dimension of a view; expressions of any integer type. Missing bounds are the ends; bounds
/// follow Python's slice rules (negative ones count from the end, all are clamped to the extent).
#[derive(Clone, Debug)]
pub enum ViewIndex {
    At(Expr),
    Range { start: Option<Expr>, stop: Option<Expr>, step: Option<Expr> },
}
