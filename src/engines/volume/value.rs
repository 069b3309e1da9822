//! What can a voxel hold? Values by type, and their bytes.

use super::types::GridType;

/// A value, from which a volume has its type.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Value {
    F32(f32),
    F64(f64),
    I32(i32),
    I64(i64),
    U32(u32),
    Vec3F32([f32; 3]),
    Vec3F64([f64; 3]),
    Vec4F32([f32; 4]),
    Vec4F64([f64; 4]),
    /// Voxels hold their number, all voxels of leaves counted.
    Index,
    /// Voxels hold their number, active voxels counted.
    OnIndex,
}

impl Value {
    pub fn grid_type(self) -> GridType {
        match self {
            Value::F32(_) => GridType::F32,
            Value::F64(_) => GridType::F64,
            Value::I32(_) => GridType::I32,
            Value::I64(_) => GridType::I64,
            Value::U32(_) => GridType::U32,
            Value::Vec3F32(_) => GridType::Vec3F32,
            Value::Vec3F64(_) => GridType::Vec3F64,
            Value::Vec4F32(_) => GridType::Vec4F32,
            Value::Vec4F64(_) => GridType::Vec4F64,
            Value::Index => GridType::Index,
            Value::OnIndex => GridType::OnIndex,
        }
    }

    /// Little endian; none of numbers of voxels.
    pub fn bytes(self) -> Vec<u8> {
        match self {
            Value::F32(x) => x.to_le_bytes().to_vec(),
            Value::F64(x) => x.to_le_bytes().to_vec(),
            Value::I32(x) => x.to_le_bytes().to_vec(),
            Value::I64(x) => x.to_le_bytes().to_vec(),
            Value::U32(x) => x.to_le_bytes().to_vec(),
            Value::Vec3F32(x) => x.map(f32::to_le_bytes).concat(),
            Value::Vec3F64(x) => x.map(f64::to_le_bytes).concat(),
            Value::Vec4F32(x) => x.map(f32::to_le_bytes).concat(),
            Value::Vec4F64(x) => x.map(f64::to_le_bytes).concat(),
            Value::Index | Value::OnIndex => Vec::new(),
        }
    }
}

/// Values in a box, z fastest, with the value around them.
#[derive(Clone, Copy, Debug)]
pub enum Dense<'a> {
    F32(&'a [f32], f32),
    I32(&'a [i32], i32),
    Vec3F32(&'a [[f32; 3]], [f32; 3]),
}

impl Dense<'_> {
    pub fn count(&self) -> usize {
        match self {
            Dense::F32(values, _) => values.len(),
            Dense::I32(values, _) => values.len(),
            Dense::Vec3F32(values, _) => values.len(),
        }
    }

    pub fn background(&self) -> Value {
        match *self {
            Dense::F32(_, around) => Value::F32(around),
            Dense::I32(_, around) => Value::I32(around),
            Dense::Vec3F32(_, around) => Value::Vec3F32(around),
        }
    }

    /// In the byte order of the machine, which is little endian.
    pub fn bytes(&self) -> &[u8] {
        use crate::engines::memory::bytes_of_slice;
        match self {
            Dense::F32(values, _) => bytes_of_slice(values),
            Dense::I32(values, _) => bytes_of_slice(values),
            Dense::Vec3F32(values, _) => bytes_of_slice(values),
        }
    }
}
