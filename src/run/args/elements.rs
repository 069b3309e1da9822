//! Which scalars does an array element consist of, and where does each element lie?

use crate::types::{Layout, MAX_DIMS, Scalar, StructTable, Type};

/// A scalar, vector or matrix inside an array element; the element itself unless it is a struct.
#[derive(Clone, Debug, PartialEq)]
pub struct Leaf {
    /// What follows the array's key: nothing, or `.pos`.
    pub suffix: String,
    /// Bytes from the start of the element.
    pub offset: u32,
    pub scalar: Scalar,
    /// The component shape.
    pub shape: Vec<u64>,
}

impl Leaf {
    /// Size in bytes.
    pub fn bytes(&self) -> usize {
        self.shape.iter().product::<u64>() as usize * self.scalar.size() as usize
    }
}

/// The leaves of an element type in the order of memory; None if a struct in it has an array field.
pub fn leaves(ty: Type, structs: &StructTable) -> Option<Vec<Leaf>> {
    fn visit(ty: Type, suffix: String, offset: u32, structs: &StructTable, out: &mut Vec<Leaf>) -> Option<()> {
        let (scalar, shape) = match ty {
            Type::Scalar(s) => (s, vec![]),
            Type::Vec(n, s) => (s, vec![n.into()]),
            Type::Mat(r, c, s) => (s, vec![r.into(), c.into()]),
            Type::Quat(s) => (s, vec![4]),
            Type::Transform(s) => (s, vec![7]),
            Type::Array(_) | Type::Local(_) => return None,
            Type::Struct(id) => {
                for (k, field) in structs[id].fields.iter().enumerate() {
                    let at = offset + Layout::step_offset(ty, k as u32, structs);
                    visit(field.ty, format!("{suffix}.{}", field.name), at, structs, out)?;
                }
                return Some(());
            }
        };
        out.push(Leaf { suffix, offset, scalar, shape });
        Some(())
    }
    let mut out = Vec::new();
    visit(ty, String::new(), 0, structs, &mut out)?;
    Some(out)
}

/// Calls `f` with the byte offset of every element, row major.
pub fn for_each_element(shape: &[u32], strides: &[i64], mut f: impl FnMut(i64)) {
    if shape.contains(&0) {
        return;
    }
    let mut index = [0u32; MAX_DIMS];
    let mut at = 0;
    loop {
        f(at);
        let mut dim = shape.len();
        loop {
            if dim == 0 {
                return;
            }
            dim -= 1;
            index[dim] += 1;
            at += strides[dim];
            if index[dim] < shape[dim] {
                break;
            }
            at -= strides[dim] * i64::from(index[dim]);
            index[dim] = 0;
        }
    }
}

/// The strides of a dense row-major array of elements of this many bytes; None past 64 bits.
pub fn dense_strides(shape: &[u32], element: u32) -> Option<Vec<i64>> {
    let mut strides = vec![0; shape.len()];
    let mut step = i64::from(element);
    for (stride, &n) in strides.iter_mut().zip(shape).rev() {
        *stride = step;
        // An empty array has no element to step to.
        step = step.checked_mul(i64::from(n.max(1)))?;
    }
    Some(strides)
}
