//! Parameter types with open parts, as in generic functions: matching them against argument types.

use std::collections::BTreeMap;

use crate::types::{ArrayType, Element, Scalar, StructTable, Type};

/// A class of scalars.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ScalarClass {
    Float,
    Int,
    Scalar,
}

impl ScalarClass {
    pub fn contains(self, scalar: Scalar) -> bool {
        match self {
            ScalarClass::Float => scalar.is_float(),
            ScalarClass::Int => scalar.is_int(),
            ScalarClass::Scalar => scalar != Scalar::Bool,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            ScalarClass::Float => "Float",
            ScalarClass::Int => "Int",
            ScalarClass::Scalar => "Scalar",
        }
    }

    pub fn from_name(name: &str) -> Option<ScalarClass> {
        [ScalarClass::Float, ScalarClass::Int, ScalarClass::Scalar].into_iter().find(|c| c.name() == name)
    }
}

/// What a parameter accepts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Pattern {
    Exact(Type),
    /// Any type, on its own.
    Any,
    /// One scalar type of the class; the same one wherever the signature names the class.
    Class(ScalarClass),
    /// A type variable.
    Var(String),
    Vec(Length, Part),
    Mat(Length, Length, Part),
    Quat(Part),
    Transform(Part),
    /// An array of any rank when `None`.
    Array(Box<Pattern>, Option<u8>),
    /// An indexed array of this rank, whose elements are open. Its type is a struct: the checker
    /// knows which ([`fits`](crate::check::Checker::fits)).
    Indexed(Box<Pattern>, u8),
    /// A tile of any shape.
    Tile(Element),
    /// By reference.
    Ref(Box<Pattern>),
    /// A function, bound at compile time.
    Function,
    /// A type itself, bound at compile time: one that fits the pattern.
    Type(Box<Pattern>),
    /// Not known: its annotation needs a value that only Python knows. Nothing fits.
    Unknown,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Length {
    Exact(u16),
    Var(String),
    Any,
}

/// The scalar of a composite.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Part {
    Exact(Scalar),
    Class(ScalarClass),
    Var(String),
    Any,
}

/// The values of a signature's variables in one instance.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Bindings {
    types: BTreeMap<String, Type>,
    lengths: BTreeMap<String, u16>,
}

impl Bindings {
    pub fn ty(&self, name: &str) -> Option<Type> {
        self.types.get(name).copied()
    }

    pub fn length(&self, name: &str) -> Option<u16> {
        self.lengths.get(name).copied()
    }

    fn bind(&mut self, name: &str, ty: Type) -> bool {
        *self.types.entry(name.to_string()).or_insert(ty) == ty
    }

    fn bind_length(&mut self, length: &Length, n: u16) -> bool {
        match length {
            Length::Exact(m) => *m == n,
            Length::Any => true,
            Length::Var(name) => *self.lengths.entry(name.clone()).or_insert(n) == n,
        }
    }

    fn bind_part(&mut self, part: &Part, scalar: Scalar) -> bool {
        match part {
            Part::Exact(s) => *s == scalar,
            Part::Any => true,
            Part::Class(class) => class.contains(scalar) && self.bind(class.name(), scalar.into()),
            Part::Var(name) => self.bind(name, scalar.into()),
        }
    }
}

impl Pattern {
    /// Whether a value of type `ty` fits; binds the pattern's variables.
    pub fn matches(&self, ty: Type, bindings: &mut Bindings) -> bool {
        match (self, ty) {
            // A function that takes an array takes a local array of that rank as well: it is
            // compiled for each.
            (Pattern::Exact(Type::Array(a)), Type::Local(l)) => a.element == l.element && a.ndim == l.ndim,
            (Pattern::Exact(t), _) => *t == ty,
            (Pattern::Any, _) => true,
            (Pattern::Ref(inner), _) => inner.matches(ty, bindings),
            (Pattern::Var(name), _) => bindings.bind(name, ty),
            (Pattern::Class(class), Type::Scalar(s)) => class.contains(s) && bindings.bind(class.name(), ty),
            (Pattern::Tile(element), Type::Local(l)) => l.block && l.element == *element,
            (Pattern::Vec(n, part), Type::Vec(m, s)) => bindings.bind_length(n, m) && bindings.bind_part(part, s),
            (Pattern::Mat(r, c, part), Type::Mat(p, q, s)) => {
                bindings.bind_length(r, p) && bindings.bind_length(c, q) && bindings.bind_part(part, s)
            }
            (Pattern::Quat(part), Type::Quat(s)) | (Pattern::Transform(part), Type::Transform(s)) => {
                bindings.bind_part(part, s)
            }
            (Pattern::Array(element, ndim), Type::Array(a)) => {
                ndim.is_none_or(|n| n == a.ndim) && element.matches(a.element.into(), bindings)
            }
            (Pattern::Array(element, ndim), Type::Local(a)) => {
                ndim.is_none_or(|n| n == a.ndim) && element.matches(a.element.into(), bindings)
            }
            _ => false,
        }
    }

    /// The type this pattern is under the bindings; None while a part is open.
    pub fn resolve(&self, bindings: &Bindings) -> Option<Type> {
        let part = |part: &Part| match part {
            Part::Exact(s) => Some(*s),
            Part::Any => None,
            Part::Class(class) => bindings.ty(class.name())?.as_scalar(),
            Part::Var(name) => bindings.ty(name)?.as_scalar(),
        };
        let length = |length: &Length| match length {
            Length::Exact(n) => Some(*n),
            Length::Any => None,
            Length::Var(name) => bindings.length(name),
        };
        Some(match self {
            Pattern::Exact(ty) => *ty,
            Pattern::Any
            | Pattern::Function
            | Pattern::Type(_)
            | Pattern::Unknown
            | Pattern::Tile(_)
            | Pattern::Indexed(..) => return None,
            Pattern::Class(class) => bindings.ty(class.name())?,
            Pattern::Var(name) => bindings.ty(name)?,
            Pattern::Vec(n, p) => Type::Vec(length(n)?, part(p)?),
            Pattern::Mat(r, c, p) => Type::Mat(length(r)?, length(c)?, part(p)?),
            Pattern::Quat(p) => Type::Quat(part(p)?),
            Pattern::Transform(p) => Type::Transform(part(p)?),
            Pattern::Array(element, ndim) => {
                Type::Array(ArrayType { element: element.resolve(bindings)?.element()?, ndim: (*ndim)? })
            }
            Pattern::Ref(inner) => inner.resolve(bindings)?,
        })
    }

    /// Some part is open: arguments decide it.
    pub fn is_open(&self) -> bool {
        !self.is_exact() && *self != Pattern::Unknown
    }

    /// No open part: the signature is not generic here.
    pub fn is_exact(&self) -> bool {
        match self {
            Pattern::Exact(_) => true,
            Pattern::Ref(inner) => inner.is_exact(),
            _ => false,
        }
    }

    /// As a signature shows it.
    pub fn display(&self, structs: &StructTable) -> String {
        let length = |length: &Length| match length {
            Length::Exact(n) => n.to_string(),
            Length::Var(name) => name.clone(),
            Length::Any => "Any".into(),
        };
        let part = |part: &Part| match part {
            Part::Exact(s) => s.name().to_string(),
            Part::Class(class) => class.name().to_string(),
            Part::Var(name) => name.clone(),
            Part::Any => "Any".into(),
        };
        match self {
            Pattern::Exact(ty) => ty.display(structs),
            Pattern::Any => "Any".into(),
            Pattern::Class(class) => class.name().into(),
            Pattern::Var(name) => name.clone(),
            Pattern::Vec(n, p) => format!("vec({}, {})", length(n), part(p)),
            Pattern::Mat(r, c, p) => format!("mat({}, {}, {})", length(r), length(c), part(p)),
            Pattern::Quat(p) => format!("quat({})", part(p)),
            Pattern::Transform(p) => format!("transform({})", part(p)),
            Pattern::Array(element, ndim) => {
                let dims = ndim.filter(|&n| n > 1).map_or(String::new(), |n| format!("{n}d"));
                format!("array{dims}(dtype={})", element.display(structs))
            }
            Pattern::Indexed(element, ndim) => {
                let dims = if *ndim > 1 { format!("{ndim}d") } else { String::new() };
                format!("indexedarray{dims}(dtype={})", element.display(structs))
            }
            Pattern::Tile(element) => format!("tile(dtype={})", Type::from(*element).display(structs)),
            Pattern::Ref(inner) => format!("ref[{}]", inner.display(structs)),
            Pattern::Function => "Function".into(),
            Pattern::Type(inner) => format!("type[{}]", inner.display(structs)),
            Pattern::Unknown => "?".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_variable_stands_for_one_type() {
        let float = Pattern::Class(ScalarClass::Float);
        let mut bindings = Bindings::default();
        assert!(float.matches(Type::Scalar(Scalar::F64), &mut bindings));
        assert!(!float.matches(Type::Scalar(Scalar::F32), &mut bindings));
        assert!(!float.matches(Type::Scalar(Scalar::I32), &mut Bindings::default()));
        let vec = Pattern::Vec(Length::Var("N".into()), Part::Class(ScalarClass::Float));
        assert!(!vec.matches(Type::Vec(3, Scalar::F32), &mut bindings.clone()));
        assert!(vec.matches(Type::Vec(3, Scalar::F64), &mut bindings));
        assert_eq!(vec.resolve(&bindings), Some(Type::Vec(3, Scalar::F64)));
    }
}
