//! What is in a volume? Its description, and the coordinates of its leaves and voxels. The bytes
//! have passed [`super::check`].

use super::bytes::{coord_at, i64_at, set_bits, u32_at, u64_at};
use super::transform::Transform;
use super::types::{GridType, blind, grid, leaf, root, tree};

/// What a volume says of itself.
#[derive(Clone, PartialEq, Debug)]
pub struct Info {
    pub name: String,
    pub grid_type: GridType,
    /// Of this grid.
    pub bytes: u64,
    /// Its place among the grids of a file, and how many these are.
    pub index: u32,
    pub count: u32,
    /// From index to world coordinates.
    pub transform: Transform,
    pub voxel_size: [f64; 3],
    /// The least and the greatest index of active voxels.
    pub index_box: [[i32; 3]; 2],
    pub uppers: u32,
    pub lowers: u32,
    pub leaves: u32,
    /// Voxels that have a value or a number: all of leaves, or where active ones are counted these.
    pub voxels: u64,
    pub features: Vec<Feature>,
}

/// An array that goes with the voxels, as "blind data" of the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Feature {
    pub name: String,
    /// The type of its values as a number of NanoVDB, which need not be one of [`GridType`].
    pub type_number: u32,
    /// Bytes from the start of the volume.
    pub offset: usize,
    pub count: u64,
    pub value_bytes: u32,
}

pub fn info(bytes: &[u8], grid_type: GridType) -> Info {
    let counted = |at: usize| u32_at(bytes, grid::SIZE + at);
    let root = grid::SIZE + u64_at(bytes, grid::SIZE + tree::ROOT_OFFSET) as usize + root::BOX;
    let leaves = counted(tree::LEAF_COUNT);
    let active = u64_at(bytes, grid::SIZE + tree::VOXEL_COUNT);
    Info {
        name: name_at(bytes, grid::NAME),
        grid_type,
        bytes: u64_at(bytes, grid::BYTES),
        index: u32_at(bytes, grid::INDEX),
        count: u32_at(bytes, grid::COUNT),
        transform: Transform::read(bytes),
        voxel_size: std::array::from_fn(|k| f64::from_bits(u64_at(bytes, grid::VOXEL_SIZE + 8 * k))),
        index_box: [coord_at(bytes, root), coord_at(bytes, root + 12)],
        uppers: counted(tree::UPPER_COUNT),
        lowers: counted(tree::LOWER_COUNT),
        leaves,
        voxels: if grid_type.counts_active() { active } else { u64::from(leaves) * leaf::VOXELS as u64 },
        features: features(bytes),
    }
}

/// The text before the first zero.
fn name_at(bytes: &[u8], offset: usize) -> String {
    let name = bytes[offset..offset + grid::NAME_BYTES].split(|&byte| byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(name).into_owned()
}

fn features(bytes: &[u8]) -> Vec<Feature> {
    let start = u64_at(bytes, grid::BLIND_OFFSET) as usize;
    let entries = (0..u32_at(bytes, grid::BLIND_COUNT) as usize).map(|number| start + number * blind::SIZE);
    let feature = |entry: usize| Feature {
        name: name_at(bytes, entry + blind::NAME),
        type_number: u32_at(bytes, entry + blind::TYPE),
        offset: entry.wrapping_add_signed(i64_at(bytes, entry + blind::OFFSET) as isize),
        count: u64_at(bytes, entry + blind::COUNT),
        value_bytes: u32_at(bytes, entry + blind::VALUE_BYTES),
    };
    entries.map(feature).collect()
}

/// Where leaves start in the bytes.
pub fn leaves(bytes: &[u8], grid_type: GridType) -> impl Iterator<Item = usize> + use<> {
    // Without leaves the offset may be anything.
    let start = grid::SIZE.wrapping_add(u64_at(bytes, grid::SIZE + tree::LEAF_OFFSET) as usize);
    let count = u32_at(bytes, grid::SIZE + tree::LEAF_COUNT) as usize;
    let stride = grid_type.layout().leaf_bytes;
    (0..count).map(move |number| start + number * stride)
}

/// The first voxel of a leaf.
pub fn origin(bytes: &[u8], leaf: usize) -> [i32; 3] {
    coord_at(bytes, leaf + leaf::MIN).map(|x| x & !7)
}

/// The first voxel of each leaf, in the order of leaves.
pub fn tiles(bytes: &[u8], grid_type: GridType) -> Vec<[i32; 3]> {
    leaves(bytes, grid_type).map(|leaf| origin(bytes, leaf)).collect()
}

/// The coordinates of voxels by their number.
pub fn voxels(bytes: &[u8], grid_type: GridType) -> Vec<[i32; 3]> {
    let in_leaf = |leaf: usize| {
        let origin = origin(bytes, leaf);
        let entries: Vec<usize> = if grid_type.counts_active() {
            set_bits(bytes, leaf + leaf::VALUE_MASK, leaf::VOXELS).collect()
        } else {
            (0..leaf::VOXELS).collect()
        };
        entries.into_iter().map(move |entry| {
            let within = [entry >> 6, entry >> 3 & 7, entry & 7];
            std::array::from_fn(|k| origin[k] + within[k] as i32)
        })
    };
    let found = leaves(bytes, grid_type).map(|leaf| (first_number(bytes, grid_type, leaf), in_leaf(leaf)));
    let mut found: Vec<(u64, _)> = found.collect();
    if grid_type.is_index() {
        found.sort_by_key(|(first, _)| *first);
    }
    found.into_iter().flat_map(|(_, voxels)| voxels).collect()
}

/// Of index grids, the number of a leaf's first voxel.
fn first_number(bytes: &[u8], grid_type: GridType, leaf: usize) -> u64 {
    u64_at(bytes, leaf + grid_type.layout().leaf_values)
}
