//! Which memory does an access touch?
//!
//! Different array parameters, and different array fields of struct parameters, count as different
//! roots. Whether they share memory is for the caller to consider: a caller may pass one array
//! twice.

use crate::ir::*;
use crate::types::Type;

/// Where an array comes from.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Root {
    /// A parameter of the function (by number), or a field inside a struct parameter.
    Param(u32, Vec<u32>),
    /// The local array that this value names.
    Local(ValueId),
    /// The array of adjoints of another.
    Gradient(Box<Root>),
    /// Memory at an address ([`Op::ArrayAt`]). Two of these may share memory.
    Memory,
    /// The same where nothing writes it during the launch.
    Constant,
    /// Chosen at run time, or read from memory.
    Unknown,
}

impl Root {
    /// Memory of the function's own.
    pub fn is_local(&self) -> bool {
        match self {
            Root::Local(_) => true,
            Root::Gradient(inner) => inner.is_local(),
            _ => false,
        }
    }
}

/// Where an array, or a struct that holds arrays, comes from; views lead to the whole array.
pub fn root(function: &Function, array: ValueId) -> Root {
    match function.values[array].def {
        ValueDef::Param(block, n) if block == function.entry => Root::Param(n, Vec::new()),
        ValueDef::Param(..) => Root::Unknown,
        ValueDef::Result(inst, _) => match &function.insts[inst].op {
            Op::View(inner, _) => root(function, *inner),
            Op::Gradient(inner) => Root::Gradient(Box::new(root(function, *inner))),
            Op::LocalArray | Op::SharedArray => Root::Local(array),
            Op::ArrayAt { constant, .. } => {
                if *constant {
                    Root::Constant
                } else {
                    Root::Memory
                }
            }
            Op::Extract(whole, path) => match root(function, *whole) {
                Root::Param(n, mut fields) => {
                    for step in path {
                        match step {
                            Step::At(k) => fields.push(*k),
                            Step::Dynamic(_) => return Root::Unknown,
                        }
                    }
                    Root::Param(n, fields)
                }
                _ => Root::Unknown,
            },
            arithmetic!()
            | Op::Zero
            | Op::Select { .. }
            | Op::Construct(_)
            | Op::Insert(..)
            | threads!()
            | Op::Call(..)
            | Op::Extent(..)
            | Op::IsSet(_)
            | Op::Address(_)
            | accesses!()
            | effects!()
            | nested!()
            | jumps!() => Root::Unknown,
        },
    }
}

/// The array whose memory an operation reads or writes, if it does.
pub fn accessed(function: &Function, op: &Op) -> Root {
    op.access().map_or(Root::Unknown, |access| root(function, access.array))
}

/// An element of a root array: through views, with one index per dimension of the root.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Location {
    pub root: Root,
    /// None: an index into a cut dimension, computed from several values.
    pub index: Vec<Option<ValueId>>,
}

/// The element that `array[index]` is.
pub fn location(function: &Function, array: ValueId, index: &[ValueId]) -> Location {
    let mut dims = dimensions(function, array);
    let mut rest = index.iter();
    let index = dims
        .drain(..)
        .map(|dim| match dim {
            Dimension::Fixed(index) => index,
            Dimension::Whole => rest.next().copied(),
            Dimension::Cut => {
                rest.next();
                None
            }
        })
        .collect();
    Location { root: root(function, array), index }
}

/// What a view leaves of a dimension of its root.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Dimension {
    Whole,
    Cut,
    Fixed(Option<ValueId>),
}

fn dimensions(function: &Function, array: ValueId) -> Vec<Dimension> {
    match function.op(array) {
        Some(Op::View(inner, view)) => {
            let mut dims = dimensions(function, *inner);
            let open = dims.iter_mut().filter(|dim| !matches!(dim, Dimension::Fixed(_)));
            for (dim, index) in open.zip(view) {
                *dim = match (index, *dim) {
                    (ViewIndex::At(at), Dimension::Whole) => Dimension::Fixed(Some(*at)),
                    (ViewIndex::At(_), _) => Dimension::Fixed(None),
                    (ViewIndex::Range { .. }, _) => Dimension::Cut,
                };
            }
            dims
        }
        Some(Op::Gradient(inner)) => dimensions(function, *inner),
        None
        | Some(
            values!()
            | Op::Call(..)
            | Op::Extent(..)
            | Op::IsSet(_)
            | Op::Address(_)
            | Op::ArrayAt { .. }
            | Op::LocalArray
            | Op::SharedArray
            | accesses!()
            | effects!()
            | nested!()
            | jumps!(),
        ) => {
            let ndim = match function.ty(array) {
                Type::Array(a) => a.ndim,
                Type::Local(a) => a.ndim,
                _ => 0,
            };
            vec![Dimension::Whole; usize::from(ndim)]
        }
    }
}

/// A root of a callee in terms of the caller, which passes `args`.
pub fn in_caller(function: &Function, args: &[ValueId], inner: &Root) -> Root {
    match inner {
        Root::Param(n, fields) => match args.get(*n as usize).map(|&arg| root(function, arg)) {
            Some(Root::Param(m, mut outer)) => {
                outer.extend(fields);
                Root::Param(m, outer)
            }
            Some(other) if fields.is_empty() => other,
            _ => Root::Unknown,
        },
        Root::Gradient(inner) => match in_caller(function, args, inner) {
            Root::Unknown => Root::Unknown,
            outer => Root::Gradient(Box::new(outer)),
        },
        Root::Local(_) | Root::Memory | Root::Constant => inner.clone(),
        Root::Unknown => Root::Unknown,
    }
}
