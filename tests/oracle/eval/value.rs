//! What can a name mean? Values carry their types; the tree is never typed.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use kc::syntax::ast;

use super::Stop;
use super::number::{Kind, Number};

#[derive(Clone, Debug)]
pub enum Value {
    /// Not assigned: zero of any type.
    Unset,
    Number(Number),
    Composite(Composite),
    Tuple(Vec<Value>),
    Struct(Arc<ast::Class>, Vec<(String, Value)>),
    /// An array of the caller or of the thread, or a part of one.
    Array(View),
    /// A tile or an array of the block: one for all threads.
    Tile(View),
    Function(Arc<ast::Function>),
    Builtin(String),
    Type(Type),
    /// A string, such as that of `storage=`: what it says does not matter.
    Text,
}

/// A vector, matrix (row major) or quaternion.
#[derive(Clone, Debug)]
pub struct Composite {
    pub form: Form,
    pub numbers: Vec<Number>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    Vector(usize),
    Matrix(usize, usize),
    Quaternion,
}

#[derive(Clone, Debug)]
pub enum Type {
    Number(Kind),
    Composite(Form, Kind),
    Struct(Arc<ast::Class>),
}

/// Memory, with what each element saw since threads last met.
#[derive(Debug)]
pub struct Memory {
    pub elements: Vec<Value>,
    pub marks: Vec<Mark>,
}

/// Which threads did what with an element in an interval of a block.
#[derive(Clone, Copy, Default, Debug)]
pub struct Mark {
    pub interval: u64,
    pub read: u64,
    pub wrote: u64,
    pub added: u64,
}

#[derive(Clone, Debug)]
pub struct View {
    pub memory: Rc<RefCell<Memory>>,
    pub element: Type,
    pub offset: usize,
    pub shape: Vec<usize>,
    pub strides: Vec<isize>,
    /// An array of the thread.
    pub local: bool,
}

impl Form {
    pub fn len(self) -> usize {
        match self {
            Form::Vector(n) => n,
            Form::Matrix(r, c) => r * c,
            Form::Quaternion => 4,
        }
    }
}

impl Type {
    /// `vec3`, `vec3d`, `mat22`, `quatd`, `float64`, ...
    pub fn named(name: &str) -> Option<Type> {
        if let Some(kind) = Kind::named(name) {
            return Some(Type::Number(kind));
        }
        let digits: Vec<usize> = name.chars().filter_map(|c| c.to_digit(10)).map(|n| n as usize).collect();
        let letters: String = name.chars().filter(|c| !c.is_ascii_digit()).collect();
        let kind = |suffix: &str| match suffix {
            "" | "f" => Some(Kind::F32),
            "d" => Some(Kind::F64),
            "i" => Some(super::number::I32),
            _ => None,
        };
        let form = match (letters.as_str(), &digits[..]) {
            (text, &[n]) if text.starts_with("vec") => Form::Vector(n),
            (text, &[r, c]) if text.starts_with("mat") => Form::Matrix(r, c),
            ("quat" | "quatf" | "quatd", []) => Form::Quaternion,
            _ => return None,
        };
        let suffix = letters.trim_start_matches("quat").trim_start_matches("vec").trim_start_matches("mat");
        Some(Type::Composite(form, kind(suffix)?))
    }

    pub fn of(value: &Value) -> Result<Type, Stop> {
        match value {
            Value::Number(n) => Ok(Type::Number(n.kind)),
            Value::Composite(c) => Ok(Type::Composite(c.form, c.numbers[0].kind)),
            Value::Struct(class, _) => Ok(Type::Struct(class.clone())),
            other => Err(Stop::Fault(format!("no type of an element: {other:?}"))),
        }
    }

    pub fn zero(&self) -> Value {
        match self {
            Type::Number(kind) => Value::Number(Number::zero(*kind)),
            Type::Composite(form, kind) => {
                Value::Composite(Composite { form: *form, numbers: vec![Number::zero(*kind); form.len()] })
            }
            Type::Struct(class) => Value::Struct(class.clone(), Vec::new()),
        }
    }
}

impl View {
    pub fn new(shape: Vec<usize>, element: Type, elements: Vec<Value>) -> View {
        let marks = vec![Mark::default(); elements.len()];
        let memory = Rc::new(RefCell::new(Memory { elements, marks }));
        let strides = row_major(&shape);
        View { memory, element, offset: 0, shape, strides, local: false }
    }

    pub fn filled(shape: Vec<usize>, value: Value) -> Result<View, Stop> {
        let count = shape.iter().product();
        Ok(View::new(shape, Type::of(&value)?, vec![value; count]))
    }

    /// The place of an element. An index below 0 counts from the end, once.
    pub fn place(&self, index: &[i128]) -> Result<usize, Stop> {
        let mut at = self.offset as isize;
        for ((&i, &extent), &stride) in index.iter().zip(&self.shape).zip(&self.strides) {
            let i = if i < 0 { i + extent as i128 } else { i };
            if i < 0 || i >= extent as i128 {
                return Err(Stop::Meaningless(format!("index {i} of {extent}")));
            }
            at += i as isize * stride;
        }
        Ok(at as usize)
    }

    /// The places of all elements, row major.
    pub fn places(&self) -> Vec<usize> {
        let mut places = vec![self.offset as isize];
        for (&extent, &stride) in self.shape.iter().zip(&self.strides) {
            places = places.iter().flat_map(|&at| (0..extent as isize).map(move |i| at + i * stride)).collect();
        }
        places.into_iter().map(|at| at as usize).collect()
    }

    pub fn elements(&self) -> Vec<Value> {
        let memory = self.memory.borrow();
        self.places().into_iter().map(|at| memory.elements[at].clone()).collect()
    }

    pub fn set_elements(&self, values: &[Value]) {
        let places = self.places();
        let mut memory = self.memory.borrow_mut();
        places.into_iter().zip(values).for_each(|(at, value)| memory.elements[at] = value.clone());
    }

    /// With elements of its own.
    pub fn copied(&self) -> View {
        View { local: self.local, ..View::new(self.shape.clone(), self.element.clone(), self.elements()) }
    }

    /// A slice of one dimension, by Python's rule.
    pub fn sliced(&self, dim: usize, bounds: [Option<i128>; 3]) -> Result<View, Stop> {
        let extent = self.shape[dim] as i128;
        let step = bounds[2].unwrap_or(1);
        if step == 0 {
            return Err(Stop::Fault("a step of 0".to_string()));
        }
        let (least, most) = if step > 0 { (0, extent) } else { (-1, extent - 1) };
        let bound = |bound: Option<i128>, missing| match bound {
            Some(b) => (if b < 0 { b + extent } else { b }).clamp(least, most),
            None => missing,
        };
        let (start, stop) = match step > 0 {
            true => (bound(bounds[0], 0), bound(bounds[1], extent)),
            false => (bound(bounds[0], extent - 1), bound(bounds[1], -1)),
        };
        let count = if step > 0 { (stop - start + step - 1) / step } else { (start - stop - step - 1) / -step }.max(0);
        let mut part = self.clone();
        part.shape[dim] = count as usize;
        if count > 0 {
            part.offset = (self.offset as isize + start as isize * self.strides[dim]) as usize;
        }
        part.strides[dim] *= step as isize;
        Ok(part)
    }
}

pub fn row_major(shape: &[usize]) -> Vec<isize> {
    let mut strides = vec![1; shape.len()];
    for dim in (1..shape.len()).rev() {
        strides[dim - 1] = strides[dim] * shape[dim] as isize;
    }
    strides
}

impl Value {
    pub fn number(&self) -> Result<Number, Stop> {
        match self {
            Value::Number(n) => Ok(*n),
            other => Err(Stop::Fault(format!("a number, not {other:?}"))),
        }
    }

    pub fn int(&self) -> Result<i128, Stop> {
        match self {
            Value::Unset => Ok(0),
            Value::Number(n) if !n.kind.is_float() => Ok(n.int),
            other => Err(Stop::Fault(format!("an integer, not {other:?}"))),
        }
    }

    pub fn is_true(&self) -> Result<bool, Stop> {
        match self {
            Value::Unset => Ok(false),
            other => Ok(other.number()?.is_true()),
        }
    }

    pub fn view(&self) -> Result<&View, Stop> {
        match self {
            Value::Array(view) | Value::Tile(view) => Ok(view),
            other => Err(Stop::Fault(format!("an array or tile, not {other:?}"))),
        }
    }

    /// A shape: an integer, or a tuple of them.
    pub fn extents(&self) -> Result<Vec<usize>, Stop> {
        match self {
            Value::Tuple(items) => items.iter().map(|item| item.int().map(|n| n as usize)).collect(),
            other => Ok(vec![other.int()? as usize]),
        }
    }

    pub fn ty(&self) -> Result<Type, Stop> {
        match self {
            Value::Type(ty) => Ok(ty.clone()),
            other => Err(Stop::Fault(format!("a type, not {other:?}"))),
        }
    }
}
