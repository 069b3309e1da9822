//! What does the id of a hash grid point to, and who owns it? Points sorted by the cell they lie
//! in: what `wp.HashGrid` is. Cells repeat in all directions; points of a cell are in ascending
//! order of their numbers, or of groups first.

use std::mem::offset_of;

use super::device::{Engine, Kind, Piece, Pieces};
use super::error::EngineError;
use super::layout::{HASH_GRID_BYTES, HashGridHeader};
use super::memory::{address_of, address_of_value, bytes_of, bytes_of_slice};
use super::registry::{Registration, ranges_of};
use super::tree::same_length;
use half::f16;
use sort::Sorted;

mod sort;

/// The type of coordinates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Real {
    F16,
    F32,
    F64,
}

impl Real {
    pub fn name(self) -> &'static str {
        match self {
            Real::F16 => "float16",
            Real::F32 => "float32",
            Real::F64 => "float64",
        }
    }
}

/// Points of one type.
#[derive(Clone, Copy, Debug)]
pub enum Points<'a> {
    F16(&'a [[f16; 3]]),
    F32(&'a [[f32; 3]]),
    F64(&'a [[f64; 3]]),
}

impl Points<'_> {
    pub fn dtype(&self) -> Real {
        match self {
            Points::F16(_) => Real::F16,
            Points::F32(_) => Real::F32,
            Points::F64(_) => Real::F64,
        }
    }

    pub fn len(&self) -> usize {
        match self {
            Points::F16(points) => points.len(),
            Points::F32(points) => points.len(),
            Points::F64(points) => points.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A hash grid. Its id is the address of a [`HashGridHeader`].
#[derive(Debug)]
pub struct HashGrid {
    registration: Registration,
    header: Box<HashGridHeader>,
    dtype: Real,
    dims: [i32; 3],
    sorted: Sorted,
}

impl HashGrid {
    /// A grid of `dims` cells along x, y and z, without points.
    pub fn new(dims: [i32; 3], dtype: Real) -> Result<HashGrid, EngineError> {
        let cells = cell_count(dims)?;
        // A place where that is an error: the memory itself comes as zeros, which nothing writes.
        if Vec::<[i32; 2]>::new().try_reserve_exact(cells).is_err() {
            return Err(EngineError::CellMemory { cells });
        }
        let sorted = Sorted::new(cells);
        let (registration, header) = Default::default();
        let mut grid = HashGrid { registration, header, dtype, dims, sorted };
        grid.publish(false);
        Ok(grid)
    }

    /// Sorts points into cells of the given width, which is rounded to the grid's type. The grid
    /// keeps no coordinates: points that move later aren't noticed.
    ///
    /// Coordinates that are NaN count as 0. Cells beyond ±2^31 are those at that end. On an error
    /// the grid is as it was.
    pub fn build(&mut self, points: Points, width: f64, groups: Option<&[i32]>) -> Result<(), EngineError> {
        if let Some(groups) = groups {
            same_length("points", points.len(), "groups", groups.len())?;
        }
        check_count(points.len())?;
        self.sort(points, width, groups)?;
        self.publish(groups.is_some());
        self.registration.built_of(&[]);
        Ok(())
    }

    /// Lets launches notice when the points that the grid was built of are written: start and bytes
    /// of their memory, which the caller keeps until the grid is built again or gone.
    pub fn follow(&self, points: (u64, u64)) {
        self.registration.built_of(&[points]);
    }

    /// Makes room: arrays of builds of up to so many points stay where the first one has them.
    pub fn reserve(&mut self, points: usize, with_groups: bool) -> Result<(), EngineError> {
        check_count(points)?;
        let Sorted { cells, ids, keys, .. } = &mut self.sorted;
        cells.reserve(points.saturating_sub(cells.len()));
        ids.reserve(points.saturating_sub(ids.len()));
        if with_groups {
            keys.reserve(points.saturating_sub(keys.len()));
        }
        self.publish(self.header.has_groups != 0);
        Ok(())
    }

    /// The grid as it is now, at an id of its own.
    pub fn frozen(&self) -> HashGrid {
        let (header, sorted) = (Box::new(*self.header), self.sorted.clone());
        let registration = Registration::default();
        let mut grid = HashGrid { registration, header, dtype: self.dtype, dims: self.dims, sorted };
        grid.publish(self.header.has_groups != 0);
        grid
    }

    pub fn dtype(&self) -> Real {
        self.dtype
    }

    /// The points in the order of cells.
    pub fn ids(&self) -> &[i32] {
        &self.sorted.ids
    }

    /// Where the points of each cell start and end among [`HashGrid::ids`].
    pub fn ranges(&self) -> (&[i32], &[i32]) {
        (&self.sorted.starts, &self.sorted.ends)
    }

    fn sort(&mut self, points: Points, width: f64, groups: Option<&[i32]>) -> Result<(), EngineError> {
        if self.dtype != points.dtype() {
            return Err(EngineError::PointType { grid: self.dtype.name(), points: points.dtype().name() });
        }
        let sorted = match points {
            Points::F16(points) => self.sort_as(points, f16::from_f64(width), groups),
            Points::F32(points) => self.sort_as(points, width as f32, groups),
            Points::F64(points) => self.sort_as(points, width, groups),
        };
        sorted.ok_or(EngineError::CellWidth { width, dtype: self.dtype.name() })
    }

    /// None where the width or its inverse is 0, negative, infinite or NaN.
    fn sort_as<T: Coordinate>(&mut self, points: &[[T; 3]], width: T, groups: Option<&[i32]>) -> Option<()> {
        let inverse = width.inverse();
        if ![width, inverse].iter().all(|x| x.is_positive()) {
            return None;
        }
        let size = size_of::<T>();
        self.header.widths = [0; 16];
        self.header.widths[..size].copy_from_slice(bytes_of(&width));
        self.header.widths[size..2 * size].copy_from_slice(bytes_of(&inverse));
        let axes = self.dims.map(Axis::new);
        let cell = |point: usize| cell_number(axes, points[point].map(|x| x.cell(inverse)));
        self.sorted.sort(points.len(), cell, groups);
        Some(())
    }

    fn publish(&mut self, has_groups: bool) {
        let header = &mut self.header;
        header.point_cells = address_of(&self.sorted.cells);
        header.point_ids = address_of(&self.sorted.ids);
        header.point_keys = address_of(&self.sorted.keys);
        header.cell_starts = address_of(&self.sorted.starts);
        header.cell_ends = address_of(&self.sorted.ends);
        header.dims = self.dims;
        header.num_points = self.sorted.ids.len() as i32;
        header.max_points = capacity(&self.sorted.cells).min(capacity(&self.sorted.ids));
        header.max_keys = capacity(&self.sorted.keys);
        header.has_groups = i32::from(has_groups);
        let ranges = ranges_of(self);
        self.registration.publish(self.id(), Kind::HashGrid, ranges);
    }
}

fn capacity<T>(values: &Vec<T>) -> i32 {
    i32::try_from(values.capacity()).unwrap_or(i32::MAX)
}

impl Engine for HashGrid {
    fn id(&self) -> u64 {
        address_of_value(&*self.header)
    }

    fn kind(&self) -> Kind {
        Kind::HashGrid
    }

    fn header(&self) -> &[u8] {
        let bytes = bytes_of(&*self.header);
        if self.dtype == Real::F64 { bytes } else { &bytes[..HASH_GRID_BYTES] }
    }

    fn pieces(&self) -> Vec<Piece<'_>> {
        let mut pieces = Pieces::default();
        pieces.read(offset_of!(HashGridHeader, point_cells), bytes_of_slice(&self.sorted.cells));
        pieces.read(offset_of!(HashGridHeader, point_ids), bytes_of_slice(&self.sorted.ids));
        pieces.read(offset_of!(HashGridHeader, point_keys), bytes_of_slice(&self.sorted.keys));
        pieces.read(offset_of!(HashGridHeader, cell_starts), bytes_of_slice(&self.sorted.starts));
        pieces.read(offset_of!(HashGridHeader, cell_ends), bytes_of_slice(&self.sorted.ends));
        pieces.finish()
    }
}

fn check_count(count: usize) -> Result<(), EngineError> {
    let limit = i32::MAX as usize;
    if count > limit { Err(EngineError::TooMany { what: "points", count, limit }) } else { Ok(()) }
}

/// The number of cells, which i32 can hold.
fn cell_count(dims: [i32; 3]) -> Result<usize, EngineError> {
    if dims.iter().any(|&dim| dim < 1) {
        return Err(EngineError::Dimensions { dims });
    }
    let count = dims.iter().try_fold(1i32, |count, &dim| count.checked_mul(dim));
    count.map(|count| count as usize).ok_or(EngineError::Cells { dims })
}

/// Cells along an axis, which repeat: remainders without division, by Lemire, Kaser and Kurz,
/// Faster remainder by direct computation, 2019.
#[derive(Clone, Copy)]
struct Axis {
    dim: u32,
    /// 2^64 over `dim`, rounded up.
    factor: u64,
    /// The remainder of -2^31, which coordinates are counted from.
    first: u32,
}

impl Axis {
    /// `dim` is at least 1.
    fn new(dim: i32) -> Axis {
        let factor = (u64::MAX / dim as u64).wrapping_add(1);
        Axis { dim: dim as u32, factor, first: i32::MIN.rem_euclid(dim) as u32 }
    }

    /// The remainder, which is not negative.
    fn wrap(self, cell: i32) -> i32 {
        if self.dim.is_power_of_two() {
            return cell & (self.dim - 1) as i32;
        }
        let part = self.factor.wrapping_mul(u64::from(cell as u32 ^ 1 << 31));
        let remainder = ((u128::from(part) * u128::from(self.dim)) >> 64) as u32 + self.first;
        (if remainder >= self.dim { remainder - self.dim } else { remainder }) as i32
    }
}

/// The number of the cell at these coordinates, of which x counts fastest.
fn cell_number([x, y, z]: [Axis; 3], cell: [i32; 3]) -> i32 {
    (z.wrap(cell[2]) * y.dim as i32 + y.wrap(cell[1])) * x.dim as i32 + x.wrap(cell[0])
}

/// A type of coordinates, with its own rounding.
trait Coordinate: super::memory::Plain {
    fn inverse(self) -> Self;

    /// Above 0 and finite.
    fn is_positive(self) -> bool;

    /// The coordinate of the cell, before wrapping.
    fn cell(self, inverse: Self) -> i32;
}

/// `x` rounded down, in the range of i32 without its last number; 0 for NaN. A walk over cells can
/// then go one beyond the end.
macro_rules! floor {
    ($x:expr, $float:ty) => {{
        let x = $x;
        let whole = x as i32;
        whole.saturating_sub(i32::from(whole as $float > x)).min(i32::MAX - 1)
    }};
}

impl Coordinate for f32 {
    fn inverse(self) -> f32 {
        1.0 / self
    }

    fn is_positive(self) -> bool {
        self > 0.0 && self.is_finite()
    }

    fn cell(self, inverse: f32) -> i32 {
        floor!(self * inverse, f32)
    }
}

impl Coordinate for f64 {
    fn inverse(self) -> f64 {
        1.0 / self
    }

    fn is_positive(self) -> bool {
        self > 0.0 && self.is_finite()
    }

    fn cell(self, inverse: f64) -> i32 {
        floor!(self * inverse, f64)
    }
}

/// Each operation is rounded to f16.
impl Coordinate for f16 {
    fn inverse(self) -> f16 {
        f16::from_f32(1.0 / self.to_f32())
    }

    fn is_positive(self) -> bool {
        self > f16::ZERO && self.is_finite()
    }

    fn cell(self, inverse: f16) -> i32 {
        floor!(f16::from_f32(self.to_f32() * inverse.to_f32()).to_f32(), f32)
    }
}

#[cfg(test)]
mod tests;
