//! Are bytes a volume, whose nodes all lie inside it? Kernels follow offsets unasked, so each is
//! tested once, when a volume is opened.

use super::bytes::{i64_at, set_bits, u32_at, u64_at};
use super::types::{self, ALIGN, GridType, Inner, Layout, blind, grid, root, tree};
use crate::engines::error::VolumeError;

/// Nodes of one level: where they start, and how far apart.
struct Level {
    start: usize,
    count: usize,
    bytes: usize,
}

/// The bytes of the grid that starts here.
pub fn grid_bytes(bytes: &[u8]) -> Result<usize, VolumeError> {
    let present = bytes.len() as u64;
    let least = (grid::SIZE + tree::SIZE) as u64;
    if present < least {
        return Err(VolumeError::Cut { what: "volume", needed: least, present });
    }
    let found = u64_at(bytes, grid::MAGIC);
    if found != types::MAGIC_GRID && found != types::MAGIC_0 {
        return Err(VolumeError::Magic { found });
    }
    let major = u32_at(bytes, grid::VERSION) >> 21;
    if major != types::MAJOR {
        return Err(VolumeError::Version { major });
    }
    let value = u64_at(bytes, grid::BYTES);
    if value < least || !value.is_multiple_of(ALIGN as u64) {
        return Err(VolumeError::Inconsistent { what: "size", value });
    }
    match usize::try_from(value) {
        Ok(size) if size <= bytes.len() => Ok(size),
        _ => Err(VolumeError::Cut { what: "volume", needed: value, present }),
    }
}

/// Tests one grid whose bytes these are.
pub fn check(bytes: &[u8]) -> Result<GridType, VolumeError> {
    let number = u32_at(bytes, grid::TYPE);
    let ty = GridType::from_number(number).ok_or(VolumeError::GridType { number })?;
    let flags = u32_at(bytes, grid::FLAGS);
    if flags & types::BREADTH_FIRST == 0 {
        return Err(VolumeError::Inconsistent { what: "word of flags", value: flags.into() });
    }
    check_name(bytes, grid::NAME)?;
    let end = tree_end(bytes)?;
    check_features(bytes, end)?;
    check_nodes(&bytes[..end], ty.layout())?;
    Ok(ty)
}

fn check_name(bytes: &[u8], offset: usize) -> Result<(), VolumeError> {
    let name = &bytes[offset..offset + grid::NAME_BYTES];
    if name.contains(&0) { Ok(()) } else { Err(VolumeError::Cut { what: "name", needed: 257, present: 256 }) }
}

/// Where the tree has to end: where other data start.
fn tree_end(bytes: &[u8]) -> Result<usize, VolumeError> {
    let count = u32_at(bytes, grid::BLIND_COUNT);
    let value = u64_at(bytes, grid::BLIND_OFFSET);
    let end = if count == 0 && value == 0 { Some(bytes.len()) } else { usize::try_from(value).ok() };
    let room = end.and_then(|end| bytes.len().checked_sub(end)).map(|room| room / blind::SIZE);
    match (end, room) {
        (Some(end), Some(room)) if end >= grid::SIZE + tree::SIZE && count as usize <= room => Ok(end),
        _ => Err(VolumeError::Inconsistent { what: "offset of further data", value }),
    }
}

/// Arrays that go with the voxels lie in the volume, behind the offset of their entries or before.
fn check_features(bytes: &[u8], start: usize) -> Result<(), VolumeError> {
    for number in 0..u32_at(bytes, grid::BLIND_COUNT) as usize {
        let entry = start + number * blind::SIZE;
        check_name(bytes, entry + blind::NAME)?;
        let (offset, count) = (i64_at(bytes, entry + blind::OFFSET), u64_at(bytes, entry + blind::COUNT));
        let size = count.checked_mul(u32_at(bytes, entry + blind::VALUE_BYTES).into());
        let first = (entry as u64).checked_add_signed(offset);
        let end = first.zip(size).and_then(|(first, size)| first.checked_add(size));
        if end.is_none_or(|end| end > bytes.len() as u64) {
            return Err(VolumeError::Inconsistent { what: "offset of a feature array", value: offset as u64 });
        }
    }
    Ok(())
}

fn check_nodes(bytes: &[u8], layout: Layout) -> Result<(), VolumeError> {
    let counted = |at: usize| u32_at(bytes, grid::SIZE + at) as usize;
    let root = level(bytes, tree::ROOT_OFFSET, 1, layout.root_bytes, "offset of the root")?;
    let tiles = Level {
        start: root.end(),
        count: u32_at(bytes, root.start + root::TILE_COUNT) as usize,
        bytes: layout.tile_bytes,
    };
    if tiles.count > (bytes.len() - tiles.start) / tiles.bytes {
        return Err(VolumeError::Inconsistent { what: "number of tiles", value: tiles.count as u64 });
    }
    let upper =
        level(bytes, tree::UPPER_OFFSET, counted(tree::UPPER_COUNT), layout.upper.bytes, "offset of upper nodes")?;
    let lower =
        level(bytes, tree::LOWER_OFFSET, counted(tree::LOWER_COUNT), layout.lower.bytes, "offset of lower nodes")?;
    let leaf = level(bytes, tree::LEAF_OFFSET, counted(tree::LEAF_COUNT), layout.leaf_bytes, "offset of leaves")?;
    check_order(&[&tiles, &upper, &lower, &leaf])?;
    for tile in tiles.nodes() {
        let child = i64_at(bytes, tile + root::TILE_CHILD);
        if child != 0 {
            upper.require(root.start, child)?;
        }
    }
    check_children(bytes, &upper, layout.upper, layout.entry_bytes, &lower)?;
    check_children(bytes, &lower, layout.lower, layout.entry_bytes, &leaf)
}

fn level(bytes: &[u8], at: usize, count: usize, node_bytes: usize, what: &'static str) -> Result<Level, VolumeError> {
    let value = u64_at(bytes, grid::SIZE + at);
    let level = |start: usize| Level { start, count, bytes: node_bytes };
    if count == 0 {
        return Ok(level(0));
    }
    let start = usize::try_from(value).ok().and_then(|value| value.checked_add(grid::SIZE));
    let fits = |&start: &usize| {
        let room = bytes.len().checked_sub(start).map(|room| room / node_bytes);
        start >= grid::SIZE + tree::SIZE && start.is_multiple_of(ALIGN) && room.is_some_and(|room| count <= room)
    };
    start.filter(fits).map(level).ok_or(VolumeError::Inconsistent { what, value })
}

/// Levels follow each other.
fn check_order(levels: &[&Level]) -> Result<(), VolumeError> {
    let mut end = 0;
    for level in levels.iter().filter(|level| level.count > 0) {
        if level.start < end {
            return Err(VolumeError::Inconsistent { what: "offset of nodes", value: level.start as u64 });
        }
        end = level.end();
    }
    Ok(())
}

fn check_children(
    bytes: &[u8],
    parents: &Level,
    of: Inner,
    entry_bytes: usize,
    children: &Level,
) -> Result<(), VolumeError> {
    for node in parents.nodes() {
        for entry in set_bits(bytes, node + of.child_mask, of.entries()) {
            children.require(node, i64_at(bytes, node + of.table + entry * entry_bytes))?;
        }
    }
    Ok(())
}

impl Level {
    fn end(&self) -> usize {
        self.start + self.count * self.bytes
    }

    fn nodes(&self) -> impl Iterator<Item = usize> + use<> {
        let (start, bytes) = (self.start, self.bytes);
        (0..self.count).map(move |number| start + number * bytes)
    }

    /// An error where there is no node of this level `offset` bytes from `base`.
    fn require(&self, base: usize, offset: i64) -> Result<(), VolumeError> {
        let at = (base as i64).checked_add(offset).and_then(|at| usize::try_from(at).ok());
        let is_node = |at: usize| at >= self.start && at < self.end() && (at - self.start).is_multiple_of(self.bytes);
        if at.is_some_and(is_node) {
            return Ok(());
        }
        Err(VolumeError::Inconsistent { what: "offset of a child", value: offset as u64 })
    }
}
