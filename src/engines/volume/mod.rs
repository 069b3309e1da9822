//! What does the id of a volume point to, and who owns it? A NanoVDB buffer, which is a sparse grid
//! of voxels: what `wp.Volume` is. The id is the address of the buffer.
//!
//! - [`types`]: which types of voxels are there, and where do their nodes keep what?
//! - [`bytes`]: how are numbers in a buffer read and written?
//! - [`value`]: what can a voxel hold?
//! - [`transform`]: how do index coordinates become world coordinates?
//! - [`topology`]: which nodes does a volume need?
//! - [`build`]: how do nodes become bytes?
//! - [`check`]: are bytes a volume, whose nodes all lie inside it?
//! - [`read`]: what is in a volume?
//! - [`file`]: what is in a NanoVDB file?

pub mod build;
pub mod bytes;
pub mod check;
pub mod file;
pub mod read;
pub mod topology;
pub mod transform;
pub mod types;
pub mod value;

use super::device::{Engine, Kind, Piece};
use super::error::{EngineError, VolumeError};
use super::memory::{Block, Source, address_of, bytes_of_slice, bytes_of_slice_mut};
use super::registry::{Registration, ranges_of};
use build::Plan;
use file::Codec;
use read::Info;
use topology::{Capacity, Topology};
use transform::Transform;
use types::GridType;
use value::{Dense, Value};

/// A volume.
#[derive(Debug)]
pub struct Volume {
    registration: Registration,
    memory: Memory,
    grid_type: GridType,
    /// How it can be built anew, if it was made here.
    origin: Option<Origin>,
}

#[derive(Debug)]
enum Memory {
    /// Whole blocks: a grid's bytes are a multiple of theirs.
    Owned(Vec<Block>),
    /// The caller's, as words.
    External(Source<u64>),
}

#[derive(Clone, Copy, Debug)]
struct Origin {
    transform: Transform,
    background: Value,
    capacity: Capacity,
}

impl Volume {
    /// Leaves of 8³ active voxels around the given voxels, which have the background's value. With
    /// `capacity` there is room for so many nodes, and [`Volume::rebuild`] can be called.
    pub fn from_tiles(
        tiles: &[[i32; 3]],
        transform: Transform,
        background: Value,
        capacity: Option<Capacity>,
    ) -> Result<Volume, EngineError> {
        Volume::build(&topology(tiles, background)?, transform, background, capacity)
    }

    /// Active voxels, which are numbered in the order of nodes. A voxel may be given twice.
    pub fn from_voxels(
        voxels: &[[i32; 3]],
        transform: Transform,
        capacity: Option<Capacity>,
    ) -> Result<Volume, EngineError> {
        Volume::from_tiles(voxels, transform, Value::OnIndex, capacity)
    }

    /// Values in a box whose first voxel has index 0; `shape` in voxels. Leaves are filled up with
    /// the background.
    pub fn from_dense(values: Dense, shape: [usize; 3], transform: Transform) -> Result<Volume, EngineError> {
        let count = shape.iter().try_fold(1usize, |count, &x| count.checked_mul(x));
        if count != Some(values.count()) {
            return Err(VolumeError::Extents { shape, values: values.count() }.into());
        }
        if values.count() == 0 {
            return Err(VolumeError::Empty { what: "values" }.into());
        }
        let leaves = shape.map(|x| x.div_ceil(8));
        if shape.iter().any(|&x| i32::try_from(x).is_err()) {
            return Err(VolumeError::Extents { shape, values: values.count() }.into());
        }
        let tiles = box_of(leaves).map(|at| at.map(|x| 8 * x as i32)).collect::<Vec<_>>();
        let mut volume = Volume::from_tiles(&tiles, transform, values.background(), None)?;
        volume.fill(values, shape);
        Ok(volume)
    }

    /// The grids of a buffer, one after the other, each copied.
    pub fn open(mut bytes: &[u8]) -> Result<Vec<Volume>, EngineError> {
        let mut volumes = Vec::new();
        while !bytes.is_empty() {
            let (grid, others) = bytes.split_at(check::grid_bytes(bytes)?);
            volumes.push(Volume::from_grid(grid)?);
            bytes = others;
        }
        if volumes.is_empty() { Err(VolumeError::Empty { what: "bytes" }.into()) } else { Ok(volumes) }
    }

    /// One grid in the caller's memory, which is used in place: at least its bytes, as words.
    pub fn external(memory: Source<u64>) -> Result<Volume, EngineError> {
        let bytes = memory.bytes();
        let grid_type = check::check(&bytes[..check::grid_bytes(bytes)?])?;
        let memory = Memory::External(memory);
        Ok(Volume { registration: Registration::default(), memory, grid_type, origin: None }.publish())
    }

    /// The grids of a NanoVDB file (`.nvdb`), plain or compressed by zlib.
    pub fn from_file_bytes(file: &[u8]) -> Result<Vec<Volume>, EngineError> {
        let mut volumes = Vec::new();
        for grid in file::decode(file)? {
            volumes.extend(Volume::open(&grid)?);
        }
        if volumes.is_empty() { Err(VolumeError::Empty { what: "grids" }.into()) } else { Ok(volumes) }
    }

    /// What a NanoVDB file of volumes holds.
    pub fn file_bytes(volumes: &[&Volume], codec: Codec) -> Result<Vec<u8>, EngineError> {
        let grids: Vec<_> = volumes.iter().map(|volume| (volume.bytes(), volume.info())).collect();
        Ok(file::encode(&grids, codec)?)
    }

    /// Other tiles, or other voxels of a volume of numbers of active voxels, in the same memory,
    /// with the background's value. On an error the volume is as it was.
    pub fn rebuild(&mut self, coordinates: &[[i32; 3]]) -> Result<(), EngineError> {
        let origin = self.origin.ok_or(VolumeError::Fixed)?;
        let topology = topology(coordinates, origin.background)?;
        check_capacity(topology.capacity(), origin.capacity)?;
        let plan = plan(self.grid_type, origin.capacity)?;
        plan.write(self.bytes_mut(), &topology, &origin.transform, origin.background);
        Ok(())
    }

    /// A copy at another id, which can't be built anew.
    pub fn frozen(&self) -> Result<Volume, EngineError> {
        let mut volume = Volume::with_bytes(self.bytes().len(), self.grid_type, None)?;
        volume.bytes_mut().copy_from_slice(self.bytes());
        Ok(volume.publish())
    }

    /// Takes all bytes of another volume of the same size.
    pub fn copy_from(&mut self, other: &Volume) {
        self.bytes_mut().copy_from_slice(other.bytes());
    }

    /// What it says of itself.
    pub fn info(&self) -> Info {
        read::info(self.bytes(), self.grid_type)
    }

    /// The first voxel of each leaf.
    pub fn tiles(&self) -> Vec<[i32; 3]> {
        read::tiles(self.bytes(), self.grid_type)
    }

    /// The voxels by their number: all of leaves, or where active ones are counted these.
    pub fn voxels(&self) -> Vec<[i32; 3]> {
        read::voxels(self.bytes(), self.grid_type)
    }

    /// The room that it has, if it can be built anew.
    pub fn capacity(&self) -> Option<Capacity> {
        self.origin.map(|origin| origin.capacity)
    }

    pub fn grid_type(&self) -> GridType {
        self.grid_type
    }

    pub fn bytes(&self) -> &[u8] {
        match &self.memory {
            Memory::Owned(blocks) => bytes_of_slice(blocks),
            Memory::External(words) => words.bytes(),
        }
    }

    /// Empty where the memory is the caller's.
    fn bytes_mut(&mut self) -> &mut [u8] {
        match &mut self.memory {
            Memory::Owned(blocks) => bytes_of_slice_mut(blocks),
            Memory::External(_) => &mut [],
        }
    }

    fn build(
        topology: &Topology,
        transform: Transform,
        background: Value,
        capacity: Option<Capacity>,
    ) -> Result<Volume, EngineError> {
        let room = capacity.unwrap_or(topology.capacity());
        check_capacity(topology.capacity(), room)?;
        let plan = plan(background.grid_type(), room)?;
        let origin = capacity.map(|capacity| Origin { transform, background, capacity });
        let mut volume = Volume::with_bytes(plan.bytes, background.grid_type(), origin)?;
        plan.write(volume.bytes_mut(), topology, &transform, background);
        Ok(volume.publish())
    }

    fn from_grid(grid: &[u8]) -> Result<Volume, EngineError> {
        let mut volume = Volume::with_bytes(grid.len(), check::check(grid)?, None)?;
        volume.bytes_mut().copy_from_slice(grid);
        Ok(volume.publish())
    }

    fn with_bytes(bytes: usize, grid_type: GridType, origin: Option<Origin>) -> Result<Volume, EngineError> {
        let (count, mut blocks) = (bytes / size_of::<Block>(), Vec::new());
        blocks.try_reserve_exact(count).map_err(|_| VolumeError::TooLarge { bytes })?;
        blocks.resize(count, Block::default());
        Ok(Volume { registration: Registration::default(), memory: Memory::Owned(blocks), grid_type, origin })
    }

    fn publish(mut self) -> Volume {
        let ranges = ranges_of(&self);
        self.registration.publish(self.id(), Kind::Volume, ranges);
        self
    }

    /// Other values for the box of [`Volume::from_dense`]; beside it leaves get the background.
    pub fn fill(&mut self, values: Dense, shape: [usize; 3]) {
        let (size, offset) = (self.grid_type.value_bytes(), self.grid_type.layout().leaf_values);
        let around = values.background().bytes();
        let leaves: Vec<usize> = read::leaves(self.bytes(), self.grid_type).collect();
        for leaf in leaves {
            let whole = &mut self.bytes_mut()[leaf + offset..][..size * types::leaf::VOXELS];
            whole.chunks_exact_mut(size).for_each(|voxel| voxel.copy_from_slice(&around));
            let origin = read::origin(self.bytes(), leaf).map(|x| x as usize);
            let [rows_x, rows_y, row] = std::array::from_fn(|k| (shape[k] - origin[k]).min(8));
            for [x, y, _] in box_of([rows_x, rows_y, 1]) {
                let from = size * (((origin[0] + x) * shape[1] + origin[1] + y) * shape[2] + origin[2]);
                let to = leaf + offset + size * (x << 6 | y << 3);
                self.bytes_mut()[to..to + size * row].copy_from_slice(&values.bytes()[from..from + size * row]);
            }
        }
    }
}

impl Engine for Volume {
    fn id(&self) -> u64 {
        address_of(self.bytes())
    }

    fn kind(&self) -> Kind {
        Kind::Volume
    }

    fn header(&self) -> &[u8] {
        self.bytes()
    }

    fn pieces(&self) -> Vec<Piece<'_>> {
        Vec::new()
    }
}

fn topology(coordinates: &[[i32; 3]], background: Value) -> Result<Topology, VolumeError> {
    if coordinates.is_empty() {
        return Err(VolumeError::Empty { what: "coordinates" });
    }
    Ok(if background == Value::OnIndex { Topology::of_voxels(coordinates) } else { Topology::of_tiles(coordinates) })
}

/// Counts are 32 bits wide.
fn plan(grid_type: GridType, capacity: Capacity) -> Result<Plan, VolumeError> {
    let counts = [capacity.uppers, capacity.lowers, capacity.leaves];
    let fits = counts.iter().all(|&count| u32::try_from(count).is_ok());
    Plan::new(grid_type, capacity).filter(|_| fits).ok_or(VolumeError::TooLarge { bytes: usize::MAX })
}

fn check_capacity(needed: Capacity, room: Capacity) -> Result<(), VolumeError> {
    let levels = [
        ("upper nodes", needed.uppers, room.uppers),
        ("lower nodes", needed.lowers, room.lowers),
        ("leaves", needed.leaves, room.leaves),
        ("voxels", needed.voxels, room.voxels),
    ];
    match levels.into_iter().find(|(_, needed, room)| needed > room) {
        Some((what, needed, room)) => Err(VolumeError::Capacity { what, needed, room }),
        None => Ok(()),
    }
}

/// All places of a box, the last axis fastest.
fn box_of([x, y, z]: [usize; 3]) -> impl Iterator<Item = [usize; 3]> {
    (0..x).flat_map(move |i| (0..y).flat_map(move |j| (0..z).map(move |k| [i, j, k])))
}

#[cfg(test)]
mod tests;
