//! How does a value of the IR become LLVM scalars? Composites, structs and array descriptors are
//! flattened into a list of leaves; no aggregate ever is an LLVM value.

use crate::abi::descriptor;
use crate::types::{Layout, Scalar, StructTable, Type};

/// One LLVM scalar of a flattened value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Leaf {
    pub kind: LeafKind,
    /// Byte offset in the value's memory.
    pub offset: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LeafKind {
    Scalar(Scalar),
    /// The data pointer of an array.
    Pointer,
    /// The reference to a local array.
    Local,
}

/// Positions in a flattened array: data, gradient, extents, strides.
pub const ARRAY_DATA: usize = 0;
pub const ARRAY_GRAD: usize = 1;
pub const ARRAY_SHAPE: usize = 2;

/// Position of the strides in a flattened array of `ndim` dimensions.
pub fn array_strides(ndim: u8) -> usize {
    ARRAY_SHAPE + usize::from(ndim)
}

/// Calls `f` on each leaf of a value of type `ty` that lies at byte `base`.
pub fn for_each_leaf(ty: Type, base: u32, structs: &StructTable, f: &mut impl FnMut(Leaf)) {
    match ty {
        Type::Scalar(s) | Type::Vec(_, s) | Type::Mat(_, _, s) | Type::Quat(s) | Type::Transform(s) => {
            for k in 0..ty.scalar_count().unwrap_or(1) {
                f(Leaf { kind: LeafKind::Scalar(s), offset: base + k * s.size() });
            }
        }
        Type::Struct(id) => {
            let mut end = 0u32;
            for field in &structs[id].fields {
                let layout = Layout::of(field.ty, structs);
                let start = end.next_multiple_of(layout.align);
                for_each_leaf(field.ty, base + start, structs, f);
                end = start + layout.size;
            }
        }
        Type::Array(array) => {
            f(Leaf { kind: LeafKind::Pointer, offset: base + descriptor::DATA });
            f(Leaf { kind: LeafKind::Scalar(Scalar::U64), offset: base + descriptor::GRAD });
            for start in [descriptor::SHAPE, descriptor::STRIDES] {
                for dim in 0..u32::from(array.ndim) {
                    f(Leaf { kind: LeafKind::Scalar(Scalar::I32), offset: base + start + 4 * dim });
                }
            }
        }
        Type::Local(_) => f(Leaf { kind: LeafKind::Local, offset: base }),
    }
}

/// The positions of the extents of arrays in a flattened value.
pub fn extents(ty: Type, structs: &StructTable) -> Vec<usize> {
    match ty {
        Type::Array(array) => (ARRAY_SHAPE..array_strides(array.ndim)).collect(),
        Type::Struct(id) => {
            let mut start = 0;
            let mut found = Vec::new();
            for field in &structs[id].fields {
                found.extend(extents(field.ty, structs).into_iter().map(|at| start + at));
                start += leaf_count(field.ty, structs);
            }
            found
        }
        _ => Vec::new(),
    }
}

/// The leaves of a type in order.
pub fn leaves(ty: Type, structs: &StructTable) -> Vec<Leaf> {
    let mut list = Vec::new();
    for_each_leaf(ty, 0, structs, &mut |leaf| list.push(leaf));
    list
}

/// The number of leaves of a type.
pub fn leaf_count(ty: Type, structs: &StructTable) -> usize {
    match ty {
        Type::Struct(id) => structs[id].fields.iter().map(|f| leaf_count(f.ty, structs)).sum(),
        Type::Array(array) => 2 + 2 * usize::from(array.ndim),
        Type::Local(_) => 1,
        _ => ty.scalar_count().unwrap_or(1) as usize,
    }
}

/// The position of the first leaf of step `index` (see [`Type::step`]) in a flattened value of type
/// `ty`.
pub fn leaf_start(ty: Type, index: u32, structs: &StructTable) -> usize {
    match ty {
        Type::Struct(id) => structs[id].fields.iter().take(index as usize).map(|f| leaf_count(f.ty, structs)).sum(),
        Type::Mat(_, columns, _) => index as usize * usize::from(columns),
        Type::Transform(_) => index as usize * 3,
        _ => index as usize,
    }
}
