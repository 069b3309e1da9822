//! How does a launch get a volume? It is filled from an array with the values of a box of voxels,
//! or read from a file.

use super::engines::descriptor_at;
use super::{ARRAY_DESCRIPTOR_SIZE, Binder};
use crate::abi::ArrayDescriptor;
use crate::diag::Code;
use crate::engines::memory::Plain;
use crate::engines::volume::transform::Transform;
use crate::engines::volume::value::Dense;
use crate::engines::{Engine, EngineError, Source, Volume};
use crate::run::Result;
use crate::run::launch::{Argument, ArgumentKind, DType};
use crate::types::{ArrayType, Element, Scalar, Type};

/// A volume, and what it holds before a launch.
pub struct BoundVolume {
    volume: Volume,
    origin: Origin,
}

enum Origin {
    /// The array that it is filled from, of this shape.
    Array(Values, [usize; 3]),
    File(Volume),
}

/// The array, and the value beside it.
enum Values {
    F32(Source<f32>, f32),
    I32(Source<i32>, i32),
    Vec3F32(Source<[f32; 3]>, [f32; 3]),
}

impl Values {
    fn dense(&self) -> Dense<'_> {
        match self {
            Values::F32(values, around) => Dense::F32(values.as_slice(), *around),
            Values::I32(values, around) => Dense::I32(values.as_slice(), *around),
            Values::Vec3F32(values, around) => Dense::Vec3F32(values.as_slice(), *around),
        }
    }
}

impl BoundVolume {
    pub fn id(&self) -> u64 {
        self.volume.id()
    }

    /// One that a file holds.
    pub fn of_file(read: Volume) -> std::result::Result<BoundVolume, EngineError> {
        Ok(BoundVolume { volume: read.frozen()?, origin: Origin::File(read) })
    }

    /// Follows the array, or is that of the file again; what kernels stored in the volume is gone.
    pub fn refill(&mut self) {
        match &self.origin {
            Origin::Array(values, shape) => self.volume.fill(values.dense(), *shape),
            Origin::File(read) => self.volume.copy_from(read),
        }
    }
}

impl<'a> Binder<'a> {
    /// The volume that `fields` describe.
    pub(super) fn volume(
        &mut self,
        path: &str,
        fields: &'a [Argument],
    ) -> Result<std::result::Result<BoundVolume, EngineError>> {
        let place = format!("{path}.data");
        let given = fields.iter().find(|field| field.name == "data").map(|field| &field.kind);
        let Some(ArgumentKind::Array(given)) = given else {
            return Err(self.fail(Code::E1005, format!("argument `{place}`: expected an array")));
        };
        let element = match &given.dtype {
            Some(DType::Plain(element)) => *element,
            _ => Element::Scalar(Scalar::F32),
        };
        let known = [Element::Scalar(Scalar::F32), Element::Scalar(Scalar::I32), Element::Vec(3, Scalar::F32)];
        if !known.contains(&element) {
            let name = Type::from(element).display(self.structs).to_string();
            let message =
                format!("argument `{place}`: a volume is filled with float32, int32 or vec3f, not with {name}");
            return Err(self.fail(Code::E1005, message));
        }
        let at = self.next;
        self.next += ARRAY_DESCRIPTOR_SIZE;
        self.array(&place, given, ArrayType { element, ndim: 3 }, at)?;
        // No kernel gets the array, and values of volumes have no gradient: a run has neither among
        // its results.
        self.out.arrays.pop();
        let described = descriptor_at(self.out.block.bytes(), at);
        let three = |name: &str, otherwise: f32| -> Result<[f32; 3]> {
            // One for all axes, or one for each.
            let numbers = self.numbers(path, fields, name)?;
            Ok(std::array::from_fn(|k| {
                numbers.get(if numbers.len() == 1 { 0 } else { k }).map_or(otherwise, |&number| number as f32)
            }))
        };
        let (size, first) = (three("voxel_size", 1.0)?, three("min_world", 0.0)?);
        let around = three("bg_value", 0.0)?;
        let whole = self.number(path, fields, "bg_value")?.unwrap_or(0.0) as i32;
        let build = || {
            let values = match element {
                Element::Scalar(Scalar::I32) => Values::I32(flat(&described)?, whole),
                Element::Scalar(_) => Values::F32(flat(&described)?, around[0]),
                _ => Values::Vec3F32(flat(&described)?, around),
            };
            let shape = std::array::from_fn(|k| described.shape[k].max(0) as usize);
            let volume = Volume::from_dense(values.dense(), shape, Transform::scale(size, first)?)?;
            Ok(BoundVolume { volume, origin: Origin::Array(values, shape) })
        };
        Ok(build())
    }
}

/// The elements of an array of three dimensions, one after the other.
fn flat<T: Plain>(array: &ArrayDescriptor) -> std::result::Result<Source<T>, EngineError> {
    const WHAT: &str = "data";
    let mut step = size_of::<T>() as i64;
    for axis in (0..3).rev() {
        if array.shape[axis] > 1 && i64::from(array.strides[axis]) != step {
            return Err(EngineError::NotContiguous { what: WHAT });
        }
        step = step.saturating_mul(i64::from(array.shape[axis]));
    }
    let count = step / size_of::<T>() as i64;
    let limit = i32::MAX as usize;
    let extent = i32::try_from(count).map_err(|_| EngineError::TooMany { what: WHAT, count: count as usize, limit })?;
    let mut line = ArrayDescriptor { ndim: 1, ..*array };
    (line.shape[0], line.strides[0]) = (extent, size_of::<T>() as i32);
    // SAFETY: the buffer belongs to the arguments, as the volume does, and is written between
    // launches only; the volume reads it then.
    unsafe { Source::external(&line, WHAT) }
}
