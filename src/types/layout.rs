//! Sizes and offsets in memory: C layout with natural alignment, the same on the host and on the
//! device.

use super::{Element, StructTable, Type};

/// Bytes of an array descriptor: data pointer, gradient pointer, 4 extents, 4 byte strides, rank,
/// flags.
pub const ARRAY_DESCRIPTOR_SIZE: u32 = 56;

/// Size and alignment in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    pub size: u32,
    pub align: u32,
}

impl Layout {
    pub fn of(ty: Type, structs: &StructTable) -> Layout {
        match ty {
            Type::Struct(id) => {
                let mut end = Layout { size: 0, align: 1 };
                for field in &structs[id].fields {
                    let field = Layout::of(field.ty, structs);
                    end.size = end.size.next_multiple_of(field.align) + field.size;
                    end.align = end.align.max(field.align);
                }
                // An empty struct takes one byte, as in C++.
                Layout { size: end.size.max(1).next_multiple_of(end.align), ..end }
            }
            Type::Array(_) => Layout { size: ARRAY_DESCRIPTOR_SIZE, align: 8 },
            Type::Local(local) => {
                let element = Layout::of(local.element.into(), structs);
                Layout { size: element.size * local.len() as u32, align: element.align }
            }
            Type::Scalar(s) | Type::Vec(_, s) | Type::Mat(_, _, s) | Type::Quat(s) | Type::Transform(s) => {
                Layout { size: s.size() * ty.scalar_count().unwrap_or(1), align: s.size() }
            }
        }
    }

    pub fn of_element(element: Element, structs: &StructTable) -> Layout {
        Layout::of(element.into(), structs)
    }

    /// The byte offset of access step `index` (see [`Type::step`]) inside a value of type `ty`.
    pub fn step_offset(ty: Type, index: u32, structs: &StructTable) -> u32 {
        match ty {
            Type::Struct(id) => {
                let mut end = 0u32;
                for (k, field) in structs[id].fields.iter().enumerate() {
                    let layout = Layout::of(field.ty, structs);
                    let start = end.next_multiple_of(layout.align);
                    if k as u32 == index {
                        return start;
                    }
                    end = start + layout.size;
                }
                end
            }
            Type::Transform(s) => index * 3 * s.size(),
            Type::Mat(_, c, s) => index * u32::from(c) * s.size(),
            Type::Vec(_, s) | Type::Quat(s) | Type::Scalar(s) => index * s.size(),
            Type::Array(_) | Type::Local(_) => 0,
        }
    }
}
