//! How do index coordinates become world coordinates? `world = matrix * index + translation`, in
//! f64, with a copy in f32 beside it.

use super::bytes::{get, put};
use super::types::grid;
use crate::engines::error::VolumeError;

/// Offsets from [`grid::MAP`]: f32 matrix, inverse, translation, taper; then the same in f64.
const MATRIX: usize = 88;
const INVERSE: usize = 160;
const TRANSLATION: usize = 232;
const TAPER: usize = 256;
const SINGLE: usize = 0;
const SINGLE_INVERSE: usize = 36;
const SINGLE_TRANSLATION: usize = 72;
const SINGLE_TAPER: usize = 84;

type Matrix = [[f64; 3]; 3];

/// A linear map with its inverse, and a translation in units of the world.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Transform {
    matrix: Matrix,
    inverse: Matrix,
    translation: [f64; 3],
}

impl Transform {
    /// `matrix` by rows. It must be finite and have an inverse.
    pub fn new(matrix: [[f32; 3]; 3], translation: [f32; 3]) -> Result<Transform, VolumeError> {
        if !matrix.as_flattened().iter().chain(&translation).all(|x| x.is_finite()) {
            return Err(VolumeError::NotFinite { what: "transform" });
        }
        let matrix = matrix.map(|row| row.map(f64::from));
        let inverse = invert(matrix).ok_or(VolumeError::Singular)?;
        Ok(Transform { matrix, inverse, translation: translation.map(f64::from) })
    }

    /// Voxels of this size, which is finite and above 0.
    pub fn scale(size: [f32; 3], translation: [f32; 3]) -> Result<Transform, VolumeError> {
        if !size.iter().all(|&x| x > 0.0 && x.is_finite()) {
            return Err(VolumeError::VoxelSize { value: size.map(f64::from) });
        }
        let [x, y, z] = size;
        Transform::new([[x, 0.0, 0.0], [0.0, y, 0.0], [0.0, 0.0, z]], translation)
    }

    /// The linear part, by rows, in f32.
    pub fn matrix(&self) -> [[f32; 3]; 3] {
        self.matrix.map(|row| row.map(|x| x as f32))
    }

    pub fn translation(&self) -> [f32; 3] {
        self.translation.map(|x| x as f32)
    }

    pub fn to_world(&self, index: [f64; 3]) -> [f64; 3] {
        let [x, y, z] = index;
        std::array::from_fn(|k| {
            let row = self.matrix[k];
            x.mul_add(row[0], y.mul_add(row[1], z.mul_add(row[2], self.translation[k])))
        })
    }

    /// The voxel nearest to a point of the world, found in f32; halves go up. None beyond i32.
    pub fn to_voxel(&self, world: [f32; 3]) -> Option<[i32; 3]> {
        let moved: [f32; 3] = std::array::from_fn(|k| world[k] - self.translation[k] as f32);
        let mut voxel = [0; 3];
        for (out, row) in voxel.iter_mut().zip(self.inverse) {
            let [a, b, c] = row.map(|x| x as f32);
            let index = (moved[0].mul_add(a, moved[1].mul_add(b, moved[2] * c)) + 0.5).floor();
            if !(-2147483648.0..2147483648.0).contains(&index) {
                return None;
            }
            *out = index as i32;
        }
        Some(voxel)
    }

    /// The voxels nearest to points of the world.
    pub fn to_voxels(&self, points: &[[f32; 3]]) -> Result<Vec<[i32; 3]>, VolumeError> {
        let voxel = |(point, &world)| self.to_voxel(world).ok_or(VolumeError::Point { point, world });
        points.iter().enumerate().map(voxel).collect()
    }

    /// The world's distance along each axis between two neighbours along a diagonal.
    pub fn voxel_size(&self) -> [f64; 3] {
        let (a, b) = (self.to_world([1.0; 3]), self.to_world([0.0; 3]));
        std::array::from_fn(|k| a[k] - b[k])
    }

    /// The box in the world around a box of indices.
    pub fn world_box(&self, [low, high]: [[f64; 3]; 2]) -> [[f64; 3]; 2] {
        let corners = (0..8)
            .map(|corner| self.to_world(std::array::from_fn(|k| if corner >> k & 1 == 0 { low[k] } else { high[k] })));
        let start = [[f64::INFINITY; 3], [f64::NEG_INFINITY; 3]];
        corners.fold(start, |[low, high], corner| {
            [std::array::from_fn(|k| low[k].min(corner[k])), std::array::from_fn(|k| high[k].max(corner[k]))]
        })
    }

    /// Writes the map of a grid header.
    pub fn write(&self, header: &mut [u8]) {
        let mut write = |single: usize, double: usize, values: &[f64]| {
            for (k, &value) in values.iter().enumerate() {
                put(header, grid::MAP + single + 4 * k, (value as f32).to_le_bytes());
                put(header, grid::MAP + double + 8 * k, value.to_le_bytes());
            }
        };
        write(SINGLE, MATRIX, self.matrix.as_flattened());
        write(SINGLE_INVERSE, INVERSE, self.inverse.as_flattened());
        write(SINGLE_TRANSLATION, TRANSLATION, &self.translation);
        write(SINGLE_TAPER, TAPER, &[1.0]);
        for (k, size) in self.voxel_size().into_iter().enumerate() {
            put(header, grid::VOXEL_SIZE + 8 * k, size.to_le_bytes());
        }
    }

    /// Reads the map of a grid header of [`grid::SIZE`] bytes.
    pub fn read(header: &[u8]) -> Transform {
        let number = |offset: usize, k: usize| f64::from_le_bytes(get(header, grid::MAP + offset + 8 * k));
        let matrix = |offset: usize| std::array::from_fn(|i| std::array::from_fn(|j| number(offset, 3 * i + j)));
        let translation = std::array::from_fn(|k| number(TRANSLATION, k));
        Transform { matrix: matrix(MATRIX), inverse: matrix(INVERSE), translation }
    }
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    std::array::from_fn(|k| {
        let (i, j) = ((k + 1) % 3, (k + 2) % 3);
        a[i] * b[j] - a[j] * b[i]
    })
}

/// The rows of the inverse are cross products of columns, over the determinant. None where it is 0,
/// or the inverse not finite.
fn invert(rows: Matrix) -> Option<Matrix> {
    let [a, b, c]: Matrix = std::array::from_fn(|k| rows.map(|row| row[k]));
    let normals = [cross(b, c), cross(c, a), cross(a, b)];
    let over = 1.0 / (0..3).map(|k| a[k] * normals[0][k]).sum::<f64>();
    let inverse = normals.map(|row| row.map(|x| x * over));
    inverse.as_flattened().iter().all(|x| x.is_finite()).then_some(inverse)
}
