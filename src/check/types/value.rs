//! What an expression can denote while it is checked: a run-time value, or something known at
//! compile time.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use crate::check::state::definition::Definition;
use crate::check::state::globals::Maker;
use crate::check::tree::{Call, Expr, ExprKind, LocalId};
use crate::check::types::pattern::ScalarClass;
use crate::ir::Const;
use crate::memo::Same;
use crate::source::Span;
use crate::syntax::ast;
use crate::types::{Scalar, Type};

/// The checker already reported why there is no result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reported;

pub type Res<T> = Result<T, Reported>;

crate::define_id!(
    /// A Python scope: the module (always the first), a class, or the variables of a host function
    /// or loop for one set of values.
    ScopeId, "scope"
);

#[derive(Clone, Debug)]
pub enum Operand {
    Value(Expr),
    Const(Constant),
    Str(String),
    Type(TypeWord),
    Function(FunctionName),
    /// A Python module, by its dotted path: `warp`, `math`, `warp.types`.
    Module(String),
    Tuple(Vec<Operand>),
    /// A dict of Python, where Python computes.
    Dict(Rc<Dict>),
    /// A call with no result, with several, or with a local array: the arrays it fills are still to
    /// be added to its arguments.
    Results(Call, Vec<Type>),
    /// A stack of a block of threads.
    Stack(Stack),
    /// A tile that is not kept anywhere yet.
    Tile(crate::check::tiles::elements::Elements),
    /// `slice(0, 4)`
    Slice(Box<crate::check::tree::ViewIndex>),
    /// `a.shape`
    Shape(Expr),
    /// `a.grad` and the like: named so that the use can be explained.
    Enum(Rc<EnumClass>),
    /// `wp.adjoint`
    Adjoint,
    /// `wp.grad(f)`
    Gradient(FunctionName),
    /// What host code alone has.
    Host(HostValue),
}

/// A value that host functions are given, and kernels have no use for.
#[derive(Clone)]
pub enum HostValue {
    Kernel(Same<Definition>),
    Function(Rc<Maker>),
    /// An object of a class of Python: what its `__init__` binds is in this scope.
    Object(ScopeId),
}

impl HostValue {
    /// What messages call it.
    pub(crate) fn what(&self) -> &'static str {
        match self {
            HostValue::Kernel(_) => "a kernel",
            HostValue::Function(_) => "a function of Python",
            HostValue::Object(_) => "an object of Python",
        }
    }
}

/// Values are compared by their texts; the text of a definition would be long.
impl std::fmt::Debug for HostValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            HostValue::Kernel(kernel) => write!(f, "Kernel({:?}, {:?})", kernel.0.ast.name.span, kernel.0.scope),
            HostValue::Function(maker) => write!(f, "Function({:?}, {:?})", maker.name.span, maker.scope),
            HostValue::Object(scope) => write!(f, "Object({scope:?})"),
        }
    }
}

/// A dict: looked at entry by entry, so that those that kc cannot compute do no harm where they are
/// not asked for.
#[derive(Debug)]
pub struct Dict {
    pub(crate) entries: Vec<(ast::Expr, ast::Expr)>,
    /// What was found of each entry so far.
    pub(crate) found: RefCell<Vec<Entry>>,
    /// Where the names of the entries are looked up.
    pub(crate) scope: ScopeId,
}

#[derive(Clone, Debug)]
pub(crate) enum Entry {
    Unread,
    /// Being computed: what asks for it is a circle.
    Evaluating,
    Known(Operand),
    Failed {
        /// Whether that was said.
        said: bool,
    },
}

impl Dict {
    pub(crate) fn new(entries: &[(ast::Expr, ast::Expr)], scope: ScopeId) -> Dict {
        Dict { entries: entries.to_vec(), found: RefCell::new(vec![Entry::Unread; entries.len()]), scope }
    }

    /// How many entries were written.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }
}

/// An enumeration.
#[derive(Debug)]
pub struct EnumClass {
    pub name: String,
    pub members: HashMap<String, ast::Expr>,
    /// Where members know one another, and its kernel functions are.
    pub(crate) scope: ScopeId,
}

/// The variables of a stack.
#[derive(Clone, Copy, Debug)]
pub struct Stack {
    pub(crate) elements: LocalId,
    pub(crate) count: LocalId,
}

/// The end of the name of a parameter that a caller cannot write.
const COUNT: &str = ".count";

impl Stack {
    /// A function is given both tiles of a stack.
    pub fn params(name: &str) -> [String; 2] {
        [name.to_string(), format!("{name}{COUNT}")]
    }

    /// The name that the body of a function has for the stack whose tiles are parameters, the
    /// second of this name.
    pub fn of_params(count: &str) -> Option<&str> {
        count.strip_suffix(COUNT)
    }

    pub fn new(elements: LocalId, count: LocalId) -> Stack {
        Stack { elements, count }
    }

    /// Whether both are the same stack.
    pub fn is(self, other: &Stack) -> bool {
        self.elements == other.elements
    }
}

/// A number known at compile time. Literals have no type of their own until one is needed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Constant {
    pub number: Number,
    /// `wp.float64(0.5)` has one; `0.5` does not.
    pub scalar: Option<Scalar>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Number {
    Int(i128),
    Float(f64),
    Bool(bool),
}

#[derive(Clone, PartialEq, Debug)]
pub enum TypeWord {
    Type(Type),
    /// `wp.array`, `wp.array2d`, ... (0: the rank is given by `ndim`).
    Array(u8),
    /// `wp.indexedarray`, `wp.indexedarray2d`, ... (0: the rank is given by `ndim`).
    IndexedArray(u8),
    /// `wp.types.vector`, `wp.types.matrix`, `wp.types.quaternion`, `wp.types.transformation`
    Family(Family),
    Ref,
    Any,
    /// `wp.Function`, `Callable`
    Function,
    /// A class of scalars, of which a signature takes one type.
    Class(ScalarClass),
    None,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Family {
    Vector,
    Matrix,
    Quaternion,
    Transformation,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum FunctionName {
    /// Functions of the user's file under this name, in the scope that binds it.
    User { scope: ScopeId, name: String },
    /// Entries of the library under this name.
    Builtin(String),
}

impl FunctionName {
    pub fn text(&self) -> &str {
        match self {
            FunctionName::User { name, .. } | FunctionName::Builtin(name) => name,
        }
    }
}

impl Number {
    pub fn default_scalar(self) -> Scalar {
        match self {
            Number::Int(_) => Scalar::I32,
            Number::Float(_) => Scalar::F32,
            Number::Bool(_) => Scalar::Bool,
        }
    }

    pub fn to_const(self, scalar: Scalar) -> Const {
        match self {
            Number::Int(value) => Const::int(scalar, value),
            Number::Bool(value) => Const::int(scalar, i128::from(value)),
            Number::Float(value) if scalar.is_float() => Const::float(scalar, value),
            // Toward zero, saturating, NaN to 0: the IR's rule for casts.
            Number::Float(value) if scalar == Scalar::Bool => Const::bool(value != 0.0),
            Number::Float(value) => {
                let (low, high) = scalar.int_range();
                Const::int(scalar, if value.is_nan() { 0 } else { (value as i128).clamp(low, high) })
            }
        }
    }

    pub fn as_f64(self) -> f64 {
        match self {
            Number::Int(value) => value as f64,
            Number::Float(value) => value,
            Number::Bool(value) => f64::from(u8::from(value)),
        }
    }

    pub fn is_true(self) -> bool {
        match self {
            Number::Int(value) => value != 0,
            Number::Float(value) => value != 0.0,
            Number::Bool(value) => value,
        }
    }
}

impl Constant {
    pub fn untyped(number: Number) -> Constant {
        Constant { number, scalar: None }
    }

    /// The type it has when nothing else decides.
    pub fn scalar(self) -> Scalar {
        self.scalar.unwrap_or(self.number.default_scalar())
    }

    pub fn as_int(self) -> Option<i128> {
        match self.number {
            Number::Int(value) => Some(value),
            Number::Bool(value) => Some(i128::from(value)),
            Number::Float(_) => None,
        }
    }

    /// As a value of type `scalar`.
    pub fn expr_as(self, scalar: Scalar, span: Span) -> Expr {
        Expr { kind: ExprKind::Const(self.number.to_const(scalar)), ty: Type::Scalar(scalar), span }
    }

    pub fn expr(self, span: Span) -> Expr {
        self.expr_as(self.scalar(), span)
    }

    /// The number as kernels have it: a literal of a float is `float32` there.
    pub fn in_kernel(self) -> Number {
        match (self.number, self.scalar) {
            (Number::Float(value), None) => Number::Float(f64::from(value as f32)),
            (number, _) => number,
        }
    }

    /// Whether an integer is one of those of a type; of floats, all are.
    pub fn fits(self, scalar: Scalar) -> bool {
        let (low, high) = if scalar.is_int() { scalar.int_range() } else { (i128::MIN, i128::MAX) };
        self.as_int().is_none_or(|value| (low..=high).contains(&value))
    }

    /// Whether a literal is the same number in this type; a decimal is as near as the type has it.
    pub fn adapts_exactly(self, scalar: Scalar) -> bool {
        if !self.adapts_to(scalar) || !self.fits(scalar) {
            return false;
        }
        match self.number {
            Number::Int(value) if scalar.is_float() => {
                let float = self.number.to_const(scalar).as_float();
                float.is_some_and(|float| float == value as f64 && float as i128 == value)
            }
            Number::Int(_) | Number::Float(_) | Number::Bool(_) => true,
        }
    }

    /// A literal without a type can take this one without changing its meaning.
    pub fn adapts_to(self, scalar: Scalar) -> bool {
        self.scalar.is_none()
            && match self.number {
                Number::Int(_) => scalar != Scalar::Bool,
                Number::Float(_) => scalar.is_float(),
                Number::Bool(_) => scalar == Scalar::Bool,
            }
    }
}

impl Expr {
    pub fn new(kind: ExprKind, ty: Type, span: Span) -> Expr {
        Expr { kind, ty, span }
    }

    /// The number of a constant expression.
    pub fn as_number(&self) -> Option<Number> {
        match self.kind {
            ExprKind::Const(c) if c.scalar == Scalar::Bool => Some(Number::Bool(c.bits != 0)),
            ExprKind::Const(c) => c.as_int().map(Number::Int).or(c.as_float().map(Number::Float)),
            _ => None,
        }
    }
}

/// The type that a name of the kernel language denotes: `float`, `vec3`, `mat44d`, `quatf`,
/// `spatial_vector`.
pub fn type_of_name(name: &str) -> Option<Type> {
    match name {
        "float" => return Some(Type::Scalar(Scalar::F32)),
        "int" => return Some(Type::Scalar(Scalar::I32)),
        "half" => return Some(Type::Scalar(Scalar::F16)),
        "handle" => return Some(Type::Scalar(Scalar::U64)),
        "bool_" => return Some(Type::Scalar(Scalar::Bool)),
        _ => {}
    }
    if let Some(scalar) = Scalar::from_name(name) {
        return Some(Type::Scalar(scalar));
    }
    let suffix = |rest: &str, floats_only: bool| -> Option<Scalar> {
        if rest.is_empty() {
            return Some(Scalar::F32);
        }
        Scalar::ALL.into_iter().find(|s| s.suffix() == Some(rest) && (!floats_only || s.is_float()))
    };
    let digits = |rest: &str, n: usize| -> Option<Vec<u16>> {
        let head = rest.get(..n)?;
        head.bytes().map(|b| (b'2'..=b'4').contains(&b).then(|| u16::from(b - b'0'))).collect()
    };
    if let Some(rest) = name.strip_prefix("vec") {
        let n = digits(rest, 1)?[0];
        return Some(Type::Vec(n, suffix(&rest[1..], false)?));
    }
    if let Some(rest) = name.strip_prefix("mat") {
        let d = digits(rest, 2)?;
        return (d[0] == d[1]).then_some(Type::Mat(d[0], d[1], suffix(&rest[2..], true)?));
    }
    if let Some(rest) = name.strip_prefix("quat") {
        return Some(Type::Quat(suffix(rest, true)?));
    }
    if let Some(rest) = name.strip_prefix("transform") {
        return Some(Type::Transform(suffix(rest, true)?));
    }
    if let Some(rest) = name.strip_prefix("spatial_vector") {
        return Some(Type::Vec(6, suffix(rest, true)?));
    }
    if let Some(rest) = name.strip_prefix("spatial_matrix") {
        return Some(Type::Mat(6, 6, suffix(rest, true)?));
    }
    None
}

/// How a user writes the conversion to a scalar type.
pub(crate) fn cast_name(scalar: Scalar) -> String {
    match scalar {
        Scalar::F32 => "float".into(),
        Scalar::I32 => "int".into(),
        Scalar::Bool => "bool".into(),
        other => format!("wp.{}", other.name()),
    }
}

/// The expression as another scalar type.
pub(crate) fn cast_to(expr: Expr, scalar: Scalar) -> Expr {
    if expr.ty == Type::Scalar(scalar) {
        return expr;
    }
    let span = expr.span;
    Expr::new(ExprKind::Cast(Box::new(expr)), Type::Scalar(scalar), span)
}

/// "convert it: `float(...)`"
pub(crate) fn convert_help(ty: Type) -> String {
    match ty.as_scalar() {
        Some(scalar) => format!("convert one side, for example with `{}(...)`", cast_name(scalar)),
        None => "both sides need the same type".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_names() {
        assert_eq!(type_of_name("vec3"), Some(Type::Vec(3, Scalar::F32)));
        assert_eq!(type_of_name("vec2ub"), Some(Type::Vec(2, Scalar::U8)));
        assert_eq!(type_of_name("mat44d"), Some(Type::Mat(4, 4, Scalar::F64)));
        assert_eq!(type_of_name("mat23"), None);
        assert_eq!(type_of_name("quath"), Some(Type::Quat(Scalar::F16)));
        assert_eq!(type_of_name("transform_point"), None);
        assert_eq!(type_of_name("vec5"), None);
        assert_eq!(type_of_name("handle"), Some(Type::Scalar(Scalar::U64)));
        assert_eq!(type_of_name("bfloat16"), Some(Type::Scalar(Scalar::BF16)));
    }

    #[test]
    fn numbers_saturate_when_they_become_integers() {
        assert_eq!(Number::Float(3e10).to_const(Scalar::I32).as_int(), Some(i128::from(i32::MAX)));
        assert_eq!(Number::Float(f64::NAN).to_const(Scalar::I32).as_int(), Some(0));
        assert_eq!(Number::Float(-1.5).to_const(Scalar::U8).as_int(), Some(0));
    }
}
