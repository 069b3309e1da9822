//! A small C++ syntax tree: what the printed text consists of, apart from declarations of types and
//! functions.

use smallvec::SmallVec;

use super::block_memory::TilePlace;
use crate::source::Span;

/// A mutable variable of the printed function.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Var(pub u32);

/// An expression. None has side effects except [`Expr::Call`] of a function that has.
#[derive(Clone, PartialEq, Debug)]
pub enum Expr {
    Var(Var),
    /// A literal or a global name; starts with `-` when negative.
    Atom(String),
    /// A C++ prefix operator: `-`, `!`, `~`, `&`.
    Prefix(&'static str, Box<Expr>),
    Infix(Infix, Box<Expr>, Box<Expr>),
    Conditional(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `(type)x`
    Cast(String, Box<Expr>),
    /// `name(a, b)`
    Call(String, Vec<Expr>),
    /// `x.name(a, b)`
    Method(Box<Expr>, &'static str, Vec<Expr>),
    /// `x(a, b)`
    Apply(Box<Expr>, Vec<Expr>),
    /// `x[i]`
    Index(Box<Expr>, Box<Expr>),
    /// `x.name`
    Member(Box<Expr>, String),
    /// `type{a, b}`
    Braces(String, Vec<Expr>),
}

/// The C++ binary operators, without assignment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Infix {
    Mul,
    Div,
    Rem,
    Add,
    Sub,
    Shl,
    Shr,
    Lt,
    Le,
    Gt,
    Ge,
    Eq,
    Ne,
    /// `==` of composites and 16-bit floats, beside which no `!=` may be declared.
    Same,
    /// `!=` of composites, beside which no `==` may be declared.
    Differs,
    BitAnd,
    BitXor,
    BitOr,
    And,
    Or,
}

impl Infix {
    pub fn symbol(self) -> &'static str {
        match self {
            Infix::Mul => "*",
            Infix::Div => "/",
            Infix::Rem => "%",
            Infix::Add => "+",
            Infix::Sub => "-",
            Infix::Shl => "<<",
            Infix::Shr => ">>",
            Infix::Lt => "<",
            Infix::Le => "<=",
            Infix::Gt => ">",
            Infix::Ge => ">=",
            Infix::Eq | Infix::Same => "==",
            Infix::Ne | Infix::Differs => "!=",
            Infix::BitAnd => "&",
            Infix::BitXor => "^",
            Infix::BitOr => "|",
            Infix::And => "&&",
            Infix::Or => "||",
        }
    }

    /// The comparison that holds exactly when this one does not (floats: only `==` and `!=` have
    /// one).
    pub fn negated(self) -> Option<Infix> {
        Some(match self {
            Infix::Eq => Infix::Ne,
            Infix::Ne => Infix::Eq,
            _ => return None,
        })
    }

    /// The order of integers that holds exactly when this one does not.
    pub fn opposite(self) -> Option<Infix> {
        Some(match self {
            Infix::Lt => Infix::Ge,
            Infix::Le => Infix::Gt,
            Infix::Gt => Infix::Le,
            Infix::Ge => Infix::Lt,
            _ => return None,
        })
    }

    /// The order of `b` and `a` that is this one of `a` and `b`.
    pub fn mirrored(self) -> Option<Infix> {
        Some(match self {
            Infix::Lt => Infix::Gt,
            Infix::Le => Infix::Ge,
            Infix::Gt => Infix::Lt,
            Infix::Ge => Infix::Le,
            _ => return None,
        })
    }

    /// Whether `a op= b` exists and means `a = a op b`.
    pub fn has_assignment(self) -> bool {
        use Infix::*;
        matches!(self, Mul | Div | Rem | Add | Sub | Shl | Shr | BitAnd | BitXor | BitOr)
    }
}

/// A statement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stmt {
    /// `type var;`
    Declare(Var),
    /// `var = value;`, with the type in front when `declare`.
    Assign {
        var: Var,
        value: Expr,
        declare: bool,
    },
    /// `float buffer[4][4] = {};` (the extents are part of the variable's type), or without zeros.
    LocalArray {
        var: Var,
        zeros: bool,
    },
    /// `__shared__ float tile[4][4];`, or a part of the memory that launches ask for.
    SharedArray(Var, TilePlace),
    /// `target = value;`
    Store {
        target: Expr,
        value: Expr,
    },
    /// `value;`
    Eval(Expr),
    If {
        condition: Expr,
        then: Vec<Stmt>,
        otherwise: Vec<Stmt>,
    },
    For {
        var: Var,
        start: Expr,
        condition: Expr,
        step: Expr,
        body: Vec<Stmt>,
        /// Each iteration is to be code of its own: it says which registers are meant.
        unrolled: bool,
    },
    /// Without a condition: `for (;;)`.
    While {
        condition: Option<Expr>,
        body: Vec<Stmt>,
    },
    Break,
    Continue,
    Return(Option<Expr>),
    /// A comment on the statement below it.
    Note(String),
    /// No text: where the statements after it come from. Only where that is asked for.
    At(Span),
}

impl Eq for Expr {}

impl Expr {
    pub fn atom(text: impl Into<String>) -> Expr {
        Expr::Atom(text.into())
    }

    pub fn infix(op: Infix, a: Expr, b: Expr) -> Expr {
        Expr::Infix(op, Box::new(a), Box::new(b))
    }

    pub fn prefix(op: &'static str, a: Expr) -> Expr {
        Expr::Prefix(op, Box::new(a))
    }

    pub fn call(name: impl Into<String>, args: impl IntoIterator<Item = Expr>) -> Expr {
        Expr::Call(name.into(), args.into_iter().collect())
    }

    pub fn cast(ty: impl Into<String>, a: Expr) -> Expr {
        Expr::Cast(ty.into(), Box::new(a))
    }

    pub fn member(self, name: impl Into<String>) -> Expr {
        Expr::Member(Box::new(self), name.into())
    }

    pub fn index(self, at: Expr) -> Expr {
        Expr::Index(Box::new(self), Box::new(at))
    }

    /// `!self`, in its simplest form.
    pub fn negate(self) -> Expr {
        match self {
            Expr::Infix(op, a, b) if op.negated().is_some() => Expr::Infix(op.negated().unwrap_or(op), a, b),
            Expr::Prefix("!", a) => *a,
            other => Expr::prefix("!", other),
        }
    }

    /// Whether `!self` needs no `!`.
    pub fn has_plain_negation(&self) -> bool {
        match self {
            Expr::Infix(op, ..) => op.negated().is_some(),
            Expr::Prefix("!", _) => true,
            _ => false,
        }
    }

    /// A literal, or a composite of zeros.
    pub fn is_constant(&self) -> bool {
        match self {
            Expr::Atom(_) => true,
            Expr::Braces(_, parts) => parts.is_empty(),
            _ => false,
        }
    }

    /// `0.0f`, `vec3{}`: what adds nothing.
    pub fn is_zero(&self) -> bool {
        match self {
            Expr::Atom(text) => matches!(text.as_str(), "0.0f" | "0.0"),
            Expr::Braces(_, parts) => parts.is_empty(),
            _ => false,
        }
    }

    /// The literal's text without its sign, if this is a negative literal.
    pub fn as_negative_literal(&self) -> Option<&str> {
        if let Expr::Atom(text) = self { text.strip_prefix('-') } else { None }
    }

    /// Calls `f` on the expressions directly below this one.
    pub fn for_each_child<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        match self {
            Expr::Var(_) | Expr::Atom(_) => {}
            Expr::Prefix(_, a) | Expr::Cast(_, a) | Expr::Member(a, _) => f(a),
            Expr::Infix(_, a, b) | Expr::Index(a, b) => {
                f(a);
                f(b);
            }
            Expr::Conditional(a, b, c) => {
                f(a);
                f(b);
                f(c);
            }
            Expr::Call(_, args) | Expr::Braces(_, args) => args.iter().for_each(f),
            Expr::Method(a, _, args) | Expr::Apply(a, args) => {
                f(a);
                args.iter().for_each(f);
            }
        }
    }

    /// Calls `f` on every variable of the expression.
    pub fn for_each_var(&self, f: &mut dyn FnMut(Var)) {
        match self {
            Expr::Var(var) => f(*var),
            Expr::Atom(_) => {}
            _ => self.for_each_child(&mut |child| child.for_each_var(f)),
        }
    }

    pub fn reads(&self, var: Var) -> bool {
        let mut found = false;
        self.for_each_var(&mut |v| found |= v == var);
        found
    }
}

/// Whether statements, or those nested in them, read a variable.
pub fn reads(list: &[Stmt], var: Var) -> bool {
    list.iter().any(|stmt| {
        let mut found = false;
        stmt.for_each_expr(&mut |e| found |= e.reads(var));
        found || stmt.bodies().iter().any(|body| reads(body, var))
    })
}

/// Whether statements set a variable before they read it, whichever way they take.
pub fn sets_first(list: &[Stmt], var: Var) -> bool {
    for stmt in list {
        match stmt {
            Stmt::Assign { var: set, value, .. } if *set == var => return !value.reads(var),
            Stmt::If { condition, then, otherwise }
                if !condition.reads(var) && sets_first(then, var) && sets_first(otherwise, var) =>
            {
                return true;
            }
            _ => {}
        }
        let alone = std::slice::from_ref(stmt);
        if jumps(alone) || assigns(alone, var) || reads(alone, var) {
            return false;
        }
    }
    false
}

/// Whether statements or those in them set a variable.
pub fn assigns(list: &[Stmt], wanted: Var) -> bool {
    list.iter().any(|stmt| {
        let own = matches!(stmt, Stmt::Assign { var, .. } | Stmt::For { var, .. } if *var == wanted);
        own || stmt.bodies().iter().any(|body| assigns(body, wanted))
    })
}

/// Whether statements leave the loop around them or its iteration.
pub fn jumps(list: &[Stmt]) -> bool {
    list.iter().any(|stmt| match stmt {
        Stmt::Break | Stmt::Continue | Stmt::Return(_) => true,
        Stmt::If { then, otherwise, .. } => jumps(then) || jumps(otherwise),
        // Their own jumps stay in them, except for this.
        Stmt::For { body, .. } | Stmt::While { body, .. } => returns(body),
        _ => false,
    })
}

fn returns(list: &[Stmt]) -> bool {
    list.iter().any(|stmt| matches!(stmt, Stmt::Return(_)) || stmt.bodies().iter().any(|body| returns(body)))
}

/// A variable that both branches of an `if` set to the same constant before they do anything else
/// with it, and where. Nothing leaves a branch before.
pub fn same_start(then: &[Stmt], otherwise: &[Stmt]) -> Option<(Var, [usize; 2])> {
    fn start(list: &[Stmt], var: Var) -> Option<(usize, &String)> {
        let about = |stmt: &Stmt| {
            let alone = std::slice::from_ref(stmt);
            jumps(alone) || assigns(alone, var) || reads(alone, var)
        };
        let at = list.iter().position(about)?;
        match &list[at] {
            Stmt::Assign { var: set, value: Expr::Atom(value), declare: false } if *set == var => Some((at, value)),
            _ => None,
        }
    }
    then.iter().find_map(|stmt| {
        let Stmt::Assign { var, value: Expr::Atom(_), declare: false } = stmt else { return None };
        let ((a, first), (b, second)) = (start(then, *var)?, start(otherwise, *var)?);
        (first == second).then_some((*var, [a, b]))
    })
}

/// The statements of a list that have a text.
pub fn spoken(list: &[Stmt]) -> SmallVec<[&Stmt; 4]> {
    list.iter().filter(|stmt| !matches!(stmt, Stmt::At(_))).collect()
}

impl Stmt {
    /// True when control never reaches the statement after this one.
    pub fn leaves(&self) -> bool {
        match self {
            Stmt::Break | Stmt::Continue | Stmt::Return(_) => true,
            Stmt::If { then, otherwise, .. } => {
                then.last().is_some_and(Stmt::leaves) && otherwise.last().is_some_and(Stmt::leaves)
            }
            _ => false,
        }
    }

    /// The statements nested in this one.
    pub fn bodies(&self) -> [&[Stmt]; 2] {
        match self {
            Stmt::If { then, otherwise, .. } => [then, otherwise],
            Stmt::For { body, .. } | Stmt::While { body, .. } => [body, &[]],
            _ => [&[], &[]],
        }
    }

    /// Calls `f` on the expressions of this statement itself, not on those of nested statements.
    pub fn for_each_expr<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        match self {
            Stmt::Declare(_)
            | Stmt::LocalArray { .. }
            | Stmt::SharedArray(..)
            | Stmt::Break
            | Stmt::Continue
            | Stmt::Return(None)
            | Stmt::Note(_)
            | Stmt::At(_) => {}
            Stmt::Assign { value, .. } | Stmt::Eval(value) | Stmt::Return(Some(value)) => f(value),
            Stmt::Store { target, value } => {
                f(target);
                f(value);
            }
            Stmt::If { condition, .. } => f(condition),
            Stmt::For { start, condition, step, .. } => {
                f(start);
                f(condition);
                f(step);
            }
            Stmt::While { condition, .. } => condition.iter().for_each(f),
        }
    }
}
