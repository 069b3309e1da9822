//! What can a kernel be called with? Values, and arrays in memory that the caller keeps.

use std::marker::PhantomData;

use smallvec::SmallVec;

use super::element::{Element, Kind};
use crate::types::MAX_DIMS;

/// The number of threads of a launch in each dimension, or the extents of an array: from `n`,
/// `[n]`, `[rows, columns]` and so on, up to four.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dim(pub(super) SmallVec<[usize; MAX_DIMS]>);

impl Dim {
    /// The extents.
    pub fn extents(&self) -> &[usize] {
        &self.0
    }
}

impl From<usize> for Dim {
    fn from(n: usize) -> Dim {
        Dim(SmallVec::from_slice(&[n]))
    }
}

impl<const N: usize> From<[usize; N]> for Dim {
    fn from(extents: [usize; N]) -> Dim {
        Dim(SmallVec::from_slice(&extents))
    }
}

impl From<&[usize]> for Dim {
    fn from(extents: &[usize]) -> Dim {
        Dim(SmallVec::from_slice(extents))
    }
}

/// An argument of a launch, in the order of the kernel's parameters.
///
/// Arrays stay where they are: a kernel reads and writes the caller's memory. What fits a parameter
/// is decided by the launch, which says in its [`Error`](crate::Error) what it expected.
///
/// | in the kernel | in Rust |
/// |---|---|
/// | `float`, `wp.int64`, `bool`, ... | [`Arg::value`]`(1.0f32)`, `(1i64)`, `(true)` |
/// | `wp.vec3`, `wp.mat22`, `wp.quat`, ... | [`Arg::value`]`([x, y, z])`, `([[a, b], [c, d]])`, `([x, y, z, w])` |
/// | a struct without arrays | [`Arg::value`] of a [`kernel_struct!`](crate::kernel_struct), or [`Arg::fields`] |
/// | a struct with arrays | [`Arg::fields`]`([("x", Arg::read(&x)), ...])` |
/// | `wp.array(dtype=float)` that is only read | [`Arg::read`]`(&x)` |
/// | an array that is written | [`Arg::write`]`(&mut x)` |
/// | `wp.array2d(dtype=float)` | [`Arg::read`]`(&x).`[`shape`](Arg::shape)`([rows, columns])` |
/// | an optional array | [`Arg::null`]`()` |
#[derive(Debug)]
pub struct Arg<'a>(pub(super) Form<'a>);

#[derive(Debug)]
pub(super) enum Form<'a> {
    Value {
        kind: &'static Kind,
        bytes: SmallVec<[u8; 64]>,
        gradient: Option<(&'static Kind, Memory<'a>)>,
    },
    Array(Array<'a>),
    Null,
    Fields(Vec<(&'a str, Arg<'a>)>),
    /// What was asked of something that is no array.
    Misused(&'static str),
}

/// An array in the caller's memory.
#[derive(Debug)]
pub(super) struct Array<'a> {
    pub kind: &'static Kind,
    /// Bytes of an element.
    pub size: usize,
    pub data: Memory<'a>,
    /// None: one dimension, with all elements.
    pub shape: Option<Dim>,
    /// In elements; None: row by row without gaps.
    pub strides: Option<Dim>,
    pub gradient: Option<(&'static Kind, Memory<'a>)>,
}

/// A slice without its type.
#[derive(Clone, Copy, Debug)]
pub(super) struct Memory<'a> {
    pub start: *mut u8,
    /// In elements.
    pub len: usize,
    pub writable: bool,
    borrow: PhantomData<&'a mut [u8]>,
}

// SAFETY: represents `&[T]` or `&mut [T]` of numbers (`Element` is `Send + Sync`).
unsafe impl Send for Memory<'_> {}

impl<'a> Memory<'a> {
    fn read<T: Element>(data: &'a [T]) -> Memory<'a> {
        let start = data.as_ptr().cast_mut().cast();
        Memory { start, len: data.len(), writable: false, borrow: PhantomData }
    }

    fn write<T: Element>(data: &'a mut [T]) -> Memory<'a> {
        Memory { start: data.as_mut_ptr().cast(), len: data.len(), writable: true, borrow: PhantomData }
    }
}

impl<'a> Arg<'a> {
    /// A number, a vector, a matrix or a struct.
    pub fn value<T: Element>(value: T) -> Arg<'a> {
        let mut bytes = SmallVec::from_elem(0, size_of::<T>());
        // SAFETY: `KIND` describes `T`.
        unsafe { T::KIND.copy((&raw const value).cast(), &mut bytes) };
        Arg(Form::Value { kind: &T::KIND, bytes, gradient: None })
    }

    /// An array that the kernel only reads.
    pub fn read<T: Element>(data: &'a [T]) -> Arg<'a> {
        Arg::array::<T>(Memory::read(data))
    }

    /// An array that the kernel writes, and may read.
    pub fn write<T: Element>(data: &'a mut [T]) -> Arg<'a> {
        Arg::array::<T>(Memory::write(data))
    }

    /// No array: what the kernel tests with `if x:`.
    pub fn null() -> Arg<'a> {
        Arg(Form::Null)
    }

    /// A struct by the names of its fields.
    pub fn fields(fields: impl IntoIterator<Item = (&'a str, Arg<'a>)>) -> Arg<'a> {
        Arg(Form::Fields(fields.into_iter().collect()))
    }

    /// The extents of an array of several dimensions. The last one is that of neighbours in memory.
    pub fn shape(mut self, shape: impl Into<Dim>) -> Arg<'a> {
        self.array_mut("shape", |array| array.shape = Some(shape.into()));
        self
    }

    /// How many elements lie between neighbours along each dimension: for arrays that are part of a
    /// larger one.
    pub fn strides(mut self, strides: impl Into<Dim>) -> Arg<'a> {
        self.array_mut("strides", |array| array.strides = Some(strides.into()));
        self
    }

    /// The gradient of an array, with as many elements: what
    /// [`Kernel::gradient`](crate::Kernel::gradient) starts from for an array that the kernel
    /// writes, and adds to for one that it reads. Of a value, a slice of one: the sum over all
    /// threads is added to its floats.
    pub fn grad<T: Element>(mut self, gradient: &'a mut [T]) -> Arg<'a> {
        let given = Some((&T::KIND, Memory::write(gradient)));
        match &mut self.0 {
            Form::Array(array) => array.gradient = given,
            Form::Value { gradient, .. } => *gradient = given,
            other => *other = Form::Misused("grad"),
        }
        self
    }

    /// Whether the gradient of a value is asked for.
    pub(super) fn wants_parameter_gradients(&self) -> bool {
        match &self.0 {
            Form::Value { gradient, .. } => gradient.is_some(),
            Form::Fields(fields) => fields.iter().any(|(_, arg)| arg.wants_parameter_gradients()),
            Form::Array(_) | Form::Null | Form::Misused(_) => false,
        }
    }

    fn array_mut(&mut self, what: &'static str, change: impl FnOnce(&mut Array<'a>)) {
        match &mut self.0 {
            Form::Array(array) => change(array),
            other => *other = Form::Misused(what),
        }
    }

    fn array<T: Element>(data: Memory<'a>) -> Arg<'a> {
        let (kind, size) = (&T::KIND, size_of::<T>());
        Arg(Form::Array(Array { kind, size, data, shape: None, strides: None, gradient: None }))
    }

    /// What it is, for messages.
    pub(super) fn describe(&self) -> String {
        match &self.0 {
            Form::Value { kind, .. } => format!("a value `{kind}`"),
            Form::Array(array) => format!("a slice of `{}`", array.kind),
            Form::Null => "no array".to_string(),
            Form::Fields(_) => "a struct by its fields".to_string(),
            Form::Misused(what) => format!("`.{what}(...)` of what is no slice"),
        }
    }
}

impl<T: Element> From<T> for Arg<'_> {
    fn from(value: T) -> Self {
        Arg::value(value)
    }
}
