//! What is in a NanoVDB file? A header, a description of each grid, then the grids, each plain or
//! as one block of zlib. <https://www.openvdb.org/documentation/doxygen/NanoVDB_HowItWorks.html>

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;

use super::bytes::{put, u16_at, u32_at, u64_at};
use super::read::Info;
use super::types::{self, grid};
use crate::engines::error::VolumeError;

/// How the grids of a file are compressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Codec {
    None,
    Zip,
}

/// Offsets in the header, and in the description of a grid.
mod at {
    pub const MAGIC: usize = 0;
    pub const VERSION: usize = 8;
    pub const GRIDS: usize = 12;
    pub const CODEC: usize = 14;
    pub const HEADER: usize = 16;

    pub const BYTES: usize = 0;
    pub const FILE_BYTES: usize = 8;
    pub const VOXELS: usize = 24;
    pub const TYPE: usize = 32;
    pub const CLASS: usize = 36;
    pub const WORLD_BOX: usize = 40;
    pub const INDEX_BOX: usize = 88;
    pub const VOXEL_SIZE: usize = 112;
    pub const NAME_BYTES: usize = 136;
    /// Leaves, lower nodes, upper nodes, roots.
    pub const NODES: usize = 140;
    pub const GRID_CODEC: usize = 168;
    pub const GRID_VERSION: usize = 172;
    pub const DESCRIPTION: usize = 176;
}

/// As Warp writes: 32.3.3.
const FILE_VERSION: u32 = 32 << 21 | 3 << 10 | 3;

impl Codec {
    fn from_number(number: u16) -> Result<Codec, VolumeError> {
        match number {
            0 => Ok(Codec::None),
            1 => Ok(Codec::Zip),
            2 => Err(VolumeError::Codec { name: "blosc" }),
            number => Err(VolumeError::CodecNumber { number }),
        }
    }

    fn number(self) -> u16 {
        match self {
            Codec::None => 0,
            Codec::Zip => 1,
        }
    }
}

/// How many bytes the grids of a file have, decompressed, as it says itself.
pub fn expanded(file: &[u8]) -> Result<u64, VolumeError> {
    let (_, sizes) = sizes(&mut &file[..])?;
    Ok(sizes.into_iter().fold(0, u64::saturating_add))
}

/// The grids of a file, decompressed, still to be checked.
pub fn decode(file: &[u8]) -> Result<Vec<Vec<u8>>, VolumeError> {
    let mut rest = file;
    let (codec, sizes) = sizes(&mut rest)?;
    let grids = sizes.into_iter().enumerate();
    grids.map(|(number, bytes)| decode_grid(&mut rest, codec, number, bytes)).collect()
}

/// How the grids are compressed, and the bytes of each; `rest` then begins with the first one.
fn sizes(rest: &mut &[u8]) -> Result<(Codec, Vec<u64>), VolumeError> {
    let header = take(rest, at::HEADER as u64, "file")?;
    let found = u64_at(header, at::MAGIC);
    if found != types::MAGIC_FILE && found != types::MAGIC_0 {
        return Err(VolumeError::Magic { found });
    }
    let major = u32_at(header, at::VERSION) >> 21;
    if major != types::MAJOR {
        return Err(VolumeError::Version { major });
    }
    let codec = Codec::from_number(u16_at(header, at::CODEC))?;
    let mut sizes = Vec::new();
    for _ in 0..u16_at(header, at::GRIDS) {
        let description = take(rest, at::DESCRIPTION as u64, "file")?;
        sizes.push(u64_at(description, at::BYTES));
        take(rest, u32_at(description, at::NAME_BYTES).into(), "name")?;
    }
    Ok((codec, sizes))
}

fn decode_grid(rest: &mut &[u8], codec: Codec, number: usize, bytes: u64) -> Result<Vec<u8>, VolumeError> {
    if codec == Codec::None {
        return Ok(take(rest, bytes, "grid")?.to_vec());
    }
    let size = u64_at(take(rest, 8, "grid")?, 0);
    let mut grid = Vec::new();
    let read = ZlibDecoder::new(take(rest, size, "grid")?).take(bytes.saturating_add(1)).read_to_end(&mut grid);
    if read.is_err() || grid.len() as u64 != bytes {
        return Err(VolumeError::Zlib { grid: number });
    }
    Ok(grid)
}

/// The next bytes.
fn take<'a>(rest: &mut &'a [u8], count: u64, what: &'static str) -> Result<&'a [u8], VolumeError> {
    let present = rest.len() as u64;
    let split = usize::try_from(count).ok().and_then(|count| rest.split_at_checked(count));
    let (taken, others) = split.ok_or(VolumeError::Cut { what, needed: count, present })?;
    *rest = others;
    Ok(taken)
}

/// A file of grids: the bytes of each, with what they say. There are at most 65,535.
pub fn encode(grids: &[(&[u8], Info)], codec: Codec) -> Result<Vec<u8>, VolumeError> {
    let count = u16::try_from(grids.len()).ok().filter(|&count| count > 0);
    let count = count.ok_or(VolumeError::Grids { count: grids.len() })?;
    let mut file = vec![0; at::HEADER];
    put(&mut file, at::MAGIC, types::MAGIC_0.to_le_bytes());
    put(&mut file, at::VERSION, FILE_VERSION.to_le_bytes());
    put(&mut file, at::GRIDS, count.to_le_bytes());
    put(&mut file, at::CODEC, codec.number().to_le_bytes());
    let numbered = (0..).zip(grids).map(|(number, (grid, _))| renumbered(grid, number, count.into()));
    let data: Vec<Vec<u8>> = numbered.map(|grid| compressed(grid, codec)).collect();
    for ((grid, info), data) in grids.iter().zip(&data) {
        describe(&mut file, grid, info, data.len() as u64, codec);
    }
    for data in data {
        if codec == Codec::Zip {
            file.extend((data.len() as u64).to_le_bytes());
        }
        file.extend(data);
    }
    Ok(file)
}

/// A grid that says which of how many it is.
fn renumbered(grid: &[u8], number: u32, count: u32) -> Vec<u8> {
    let mut grid = grid.to_vec();
    put(&mut grid, grid::INDEX, number.to_le_bytes());
    put(&mut grid, grid::COUNT, count.to_le_bytes());
    grid
}

fn compressed(grid: Vec<u8>, codec: Codec) -> Vec<u8> {
    if codec == Codec::None {
        return grid;
    }
    // Writing to memory does not fail.
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    let _ = encoder.write_all(&grid);
    encoder.finish().unwrap_or_default()
}

fn describe(file: &mut Vec<u8>, grid: &[u8], info: &Info, file_bytes: u64, codec: Codec) {
    let start = file.len();
    let name = info.name.as_bytes();
    file.resize(start + at::DESCRIPTION, 0);
    let out = &mut file[start..];
    put(out, at::BYTES, info.bytes.to_le_bytes());
    put(out, at::FILE_BYTES, file_bytes.to_le_bytes());
    put(out, at::VOXELS, info.voxels.to_le_bytes());
    put(out, at::TYPE, info.grid_type.number().to_le_bytes());
    put(out, at::CLASS, u32_at(grid, grid::CLASS).to_le_bytes());
    put(out, at::WORLD_BOX, &grid[grid::WORLD_BOX..grid::WORLD_BOX + 48]);
    for (k, x) in info.index_box.as_flattened().iter().enumerate() {
        put(out, at::INDEX_BOX + 4 * k, x.to_le_bytes());
    }
    put(out, at::VOXEL_SIZE, &grid[grid::VOXEL_SIZE..grid::VOXEL_SIZE + 24]);
    put(out, at::NAME_BYTES, (name.len() as u32 + 1).to_le_bytes());
    for (k, count) in [info.leaves, info.lowers, info.uppers, 1].into_iter().enumerate() {
        put(out, at::NODES + 4 * k, count.to_le_bytes());
    }
    put(out, at::GRID_CODEC, codec.number().to_le_bytes());
    put(out, at::GRID_VERSION, FILE_VERSION.to_le_bytes());
    file.extend(name);
    file.push(0);
}
