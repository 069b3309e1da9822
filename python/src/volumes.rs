//! How does Python make a volume, and ask it? Functions that the class in `kc/_volumes.py` calls.
//! Coordinates and values come and go as bytes.

use kc::engines::error::VolumeError;
use kc::engines::volume::file::Codec;
use kc::engines::volume::topology::Capacity;
use kc::engines::volume::transform::Transform;
use kc::engines::volume::types::GridType;
use kc::engines::volume::value::{Dense, Value};
use kc::engines::{EngineError, Kind, Volume};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::engines::{Engine, wrong};

type Matrix = [[f32; 3]; 3];

/// Numbers of four bytes in rows of three. Bytes after the last whole row are dropped.
fn rows<T>(bytes: &[u8], number: impl Fn([u8; 4]) -> T) -> Vec<[T; 3]> {
    let (words, _) = bytes.as_chunks::<4>();
    let (rows, _) = words.as_chunks::<3>();
    rows.iter().map(|row| row.map(&number)).collect()
}

/// The voxels that are named: by their indices, or (`world`) by points.
fn voxels(points: &[u8], world: bool, transform: &Transform) -> Result<Vec<[i32; 3]>, EngineError> {
    Ok(if world { transform.to_voxels(&rows(points, f32::from_le_bytes))? } else { rows(points, i32::from_le_bytes) })
}

/// The value of this type of grids whose bytes these are. None: there is no such type, or the bytes
/// are too few.
fn value(kind: &str, bytes: &[u8]) -> Option<Value> {
    fn numbers<const N: usize, const B: usize>(bytes: &[u8]) -> Option<[[u8; B]; N]> {
        let (words, _) = bytes.as_chunks::<B>();
        words.first_chunk::<N>().copied()
    }
    let grid = GridType::ALL.into_iter().find(|grid| grid.name() == kind)?;
    Some(match grid {
        GridType::F32 => Value::F32(f32::from_le_bytes(*bytes.first_chunk()?)),
        GridType::F64 => Value::F64(f64::from_le_bytes(*bytes.first_chunk()?)),
        GridType::I32 => Value::I32(i32::from_le_bytes(*bytes.first_chunk()?)),
        GridType::I64 => Value::I64(i64::from_le_bytes(*bytes.first_chunk()?)),
        GridType::U32 => Value::U32(u32::from_le_bytes(*bytes.first_chunk()?)),
        GridType::Vec3F32 => Value::Vec3F32(numbers::<3, 4>(bytes)?.map(f32::from_le_bytes)),
        GridType::Vec3F64 => Value::Vec3F64(numbers::<3, 8>(bytes)?.map(f64::from_le_bytes)),
        GridType::Vec4F32 => Value::Vec4F32(numbers::<4, 4>(bytes)?.map(f32::from_le_bytes)),
        GridType::Vec4F64 => Value::Vec4F64(numbers::<4, 8>(bytes)?.map(f64::from_le_bytes)),
        GridType::Index => Value::Index,
        GridType::OnIndex => Value::OnIndex,
        GridType::IndexMask | GridType::OnIndexMask => return None,
    })
}

fn no_type() -> EngineError {
    VolumeError::GridType { number: 0 }.into()
}

fn raised(py: Python<'_>) -> impl Fn(EngineError) -> PyErr {
    move |error| wrong(py, Kind::Volume, &error)
}

/// Makes a volume of tiles, or where `kind` is "OnIndex" of voxels. `room`: upper and lower nodes,
/// leaves and voxels that it can be built anew with.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "they are Python's")]
pub fn volume_of_points(
    slf: &Bound<'_, Engine>,
    points: &[u8],
    world: bool,
    matrix: Matrix,
    translation: [f32; 3],
    kind: &str,
    background: &[u8],
    room: Option<[usize; 4]>,
) -> PyResult<()> {
    let build = || {
        let transform = Transform::new(matrix, translation)?;
        let background = value(kind, background).ok_or_else(no_type)?;
        let capacity = room.map(|[uppers, lowers, leaves, voxels]| Capacity { uppers, lowers, leaves, voxels });
        Volume::from_tiles(&voxels(points, world, &transform)?, transform, background, capacity)
    };
    Engine::become_volume(slf, build().map_err(raised(slf.py()))?)
}

/// Makes a volume of the values in a box, the last axis fastest.
#[pyfunction]
pub fn volume_of_values(
    slf: &Bound<'_, Engine>,
    values: &[u8],
    shape: [usize; 3],
    size: [f32; 3],
    translation: [f32; 3],
    kind: &str,
    background: &[u8],
) -> PyResult<()> {
    let build = || {
        let transform = Transform::scale(size, translation)?;
        let (words, _) = values.as_chunks::<4>();
        match value(kind, background) {
            Some(Value::F32(around)) => {
                let numbers: Vec<f32> = words.iter().map(|&word| f32::from_le_bytes(word)).collect();
                Volume::from_dense(Dense::F32(&numbers, around), shape, transform)
            }
            Some(Value::I32(around)) => {
                let numbers: Vec<i32> = words.iter().map(|&word| i32::from_le_bytes(word)).collect();
                Volume::from_dense(Dense::I32(&numbers, around), shape, transform)
            }
            Some(Value::Vec3F32(around)) => {
                let numbers = rows(values, f32::from_le_bytes);
                Volume::from_dense(Dense::Vec3F32(&numbers, around), shape, transform)
            }
            _ => Err(no_type()),
        }
    };
    Engine::become_volume(slf, build().map_err(raised(slf.py()))?)
}

/// Makes a volume of the bytes of one grid, which are copied.
#[pyfunction]
pub fn volume_of_grid(slf: &Bound<'_, Engine>, bytes: &[u8]) -> PyResult<()> {
    let grids = Volume::open(bytes).map_err(raised(slf.py()))?;
    match grids.into_iter().next() {
        Some(volume) => Engine::become_volume(slf, volume),
        None => Err(raised(slf.py())(VolumeError::Empty { what: "bytes" }.into())),
    }
}

/// The grids of a NanoVDB file.
#[pyfunction]
pub fn volume_grids<'py>(py: Python<'py>, file: &[u8]) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let volumes = Volume::from_file_bytes(file).map_err(raised(py))?;
    Ok(volumes.iter().map(|volume| PyBytes::new(py, volume.bytes())).collect())
}

/// What a NanoVDB file of a volume holds.
#[pyfunction]
pub fn volume_file<'py>(slf: &Bound<'py, Engine>, zip: bool) -> PyResult<Bound<'py, PyBytes>> {
    let py = slf.py();
    let codec = if zip { Codec::Zip } else { Codec::None };
    let bytes = slf.get().with_volume(py, |volume| Volume::file_bytes(&[volume], codec))?;
    Ok(PyBytes::new(py, &bytes.map_err(raised(py))?))
}

/// What a volume says of itself.
#[pyfunction]
pub fn volume_facts<'py>(slf: &Bound<'py, Engine>) -> PyResult<Bound<'py, PyDict>> {
    let py = slf.py();
    let info = slf.get().with_volume(py, Volume::info)?;
    let facts = PyDict::new(py);
    facts.set_item("name", &info.name)?;
    facts.set_item("type", info.grid_type.name())?;
    facts.set_item("is_index", info.grid_type.is_index())?;
    facts.set_item("bytes", info.bytes)?;
    facts.set_item("index", info.index)?;
    facts.set_item("count", info.count)?;
    facts.set_item("matrix", info.transform.matrix().as_flattened().to_vec())?;
    facts.set_item("translation", info.transform.translation())?;
    facts.set_item("voxel_size", info.voxel_size)?;
    facts.set_item("nodes", (info.voxels, info.leaves, info.lowers, info.uppers))?;
    let features: Vec<_> = info
        .features
        .iter()
        .map(|feature| (feature.name.clone(), feature.type_number, feature.offset, feature.count, feature.value_bytes))
        .collect();
    facts.set_item("features", features)?;
    Ok(facts)
}

/// The first voxel of each leaf, or (`all`) all voxels, by their number: int32, three to a row.
#[pyfunction]
pub fn volume_coordinates<'py>(slf: &Bound<'py, Engine>, all: bool) -> PyResult<Bound<'py, PyBytes>> {
    let py = slf.py();
    let found = slf.get().with_volume(py, |volume| if all { volume.voxels() } else { volume.tiles() })?;
    let bytes: Vec<u8> = found.as_flattened().iter().flat_map(|x| x.to_le_bytes()).collect();
    Ok(PyBytes::new(py, &bytes))
}

/// A copy of the bytes of a volume.
#[pyfunction]
pub fn volume_bytes<'py>(slf: &Bound<'py, Engine>) -> PyResult<Bound<'py, PyBytes>> {
    let py = slf.py();
    slf.get().with_volume(py, |volume| PyBytes::new(py, volume.bytes()))
}

/// Other tiles or voxels, in the same memory. Whether there was room: if not, it is as it was.
#[pyfunction]
pub fn volume_rebuild(slf: &Bound<'_, Engine>, points: &[u8], world: bool) -> PyResult<Option<&'static str>> {
    let mut full = None;
    slf.get().change_volume(slf.py(), |volume| {
        let coordinates = voxels(points, world, &volume.info().transform)?;
        match volume.rebuild(&coordinates) {
            Err(EngineError::Volume(VolumeError::Capacity { what, .. })) => {
                full = Some(what);
                Ok(())
            }
            other => other,
        }
    })?;
    Ok(full)
}
