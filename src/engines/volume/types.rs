//! Which types of voxels are there, and where do their nodes keep what? The byte layout of NanoVDB
//! 32 (`NanoVDB.h`, `PNanoVDB.h`): a grid header, a tree header, a root with its tiles, then nodes
//! of 32³ children, nodes of 16³ children, and leaves of 8³ voxels.

/// Offsets in the grid header.
pub mod grid {
    pub const MAGIC: usize = 0;
    pub const CHECKSUM: usize = 8;
    pub const VERSION: usize = 16;
    pub const FLAGS: usize = 20;
    pub const INDEX: usize = 24;
    pub const COUNT: usize = 28;
    pub const BYTES: usize = 32;
    pub const NAME: usize = 40;
    pub const NAME_BYTES: usize = 256;
    pub const MAP: usize = 296;
    pub const WORLD_BOX: usize = 560;
    pub const VOXEL_SIZE: usize = 608;
    pub const CLASS: usize = 632;
    pub const TYPE: usize = 636;
    pub const BLIND_OFFSET: usize = 640;
    pub const BLIND_COUNT: usize = 648;
    /// Of index grids, the number of values, of which value 0 is the background.
    pub const VALUE_COUNT: usize = 656;
    pub const SIZE: usize = 672;
}

/// Offsets in the tree header, which follows the grid header. Node offsets count from it.
pub mod tree {
    pub const LEAF_OFFSET: usize = 0;
    pub const LOWER_OFFSET: usize = 8;
    pub const UPPER_OFFSET: usize = 16;
    pub const ROOT_OFFSET: usize = 24;
    pub const LEAF_COUNT: usize = 32;
    pub const LOWER_COUNT: usize = 36;
    pub const UPPER_COUNT: usize = 40;
    /// Tiles with a value, for the same three levels.
    pub const TILE_COUNTS: usize = 44;
    pub const VOXEL_COUNT: usize = 56;
    pub const SIZE: usize = 64;
}

/// Offsets in the root and its tiles.
pub mod root {
    /// Three i32: the least active index, then the greatest.
    pub const BOX: usize = 0;
    pub const TILE_COUNT: usize = 24;
    pub const BASE: usize = 28;
    pub const TILE_KEY: usize = 0;
    /// Offset of the upper node from the root; 0 for a tile with a value.
    pub const TILE_CHILD: usize = 8;
    pub const TILE_STATE: usize = 16;
    pub const TILE_BASE: usize = 20;
}

/// Offsets in inner nodes.
pub mod inner {
    pub const BOX: usize = 0;
    pub const VALUE_MASK: usize = 32;
}

/// Offsets in leaves.
pub mod leaf {
    /// Three i32: the least active index, and before the leaf's values are known its origin.
    pub const MIN: usize = 0;
    /// Extents of the active voxels minus 1, in a byte each, then flags.
    pub const EXTENTS: usize = 12;
    pub const FLAGS: usize = 15;
    /// In flags: the box is right.
    pub const HAS_BOX: u8 = 2;
    pub const VALUE_MASK: usize = 16;
    pub const BASE: usize = 80;
    pub const VOXELS: usize = 512;
}

/// Offsets in the entry of an array that goes with the voxels, behind the tree.
pub mod blind {
    /// i64, from the start of the entry.
    pub const OFFSET: usize = 0;
    pub const COUNT: usize = 8;
    pub const VALUE_BYTES: usize = 16;
    pub const TYPE: usize = 28;
    pub const NAME: usize = 32;
    pub const SIZE: usize = 288;
}

/// "NanoVDB0", the mark of older grids and of Warp's files.
pub const MAGIC_0: u64 = u64::from_le_bytes(*b"NanoVDB0");
/// "NanoVDB1", the mark of grids.
pub const MAGIC_GRID: u64 = u64::from_le_bytes(*b"NanoVDB1");
/// "NanoVDB2", the mark of files.
pub const MAGIC_FILE: u64 = u64::from_le_bytes(*b"NanoVDB2");

/// 32.8.0, as major, minor and patch in 11, 11 and 10 bits.
pub const VERSION: u32 = 32 << 21 | 8 << 10;
pub const MAJOR: u32 = 32;

/// In the grid's flags.
pub const HAS_BOX: u32 = 2;
pub const BREADTH_FIRST: u32 = 32;

/// Everything starts at a multiple of this.
pub const ALIGN: usize = 32;

/// What a voxel holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GridType {
    F32,
    F64,
    I32,
    I64,
    U32,
    Vec3F32,
    Vec3F64,
    Vec4F32,
    Vec4F64,
    /// The number of the voxel, all voxels of leaves counted.
    Index,
    /// The number of the voxel, active voxels counted.
    OnIndex,
    IndexMask,
    OnIndexMask,
}

impl GridType {
    pub const ALL: [GridType; 13] = [
        GridType::F32,
        GridType::F64,
        GridType::I32,
        GridType::I64,
        GridType::U32,
        GridType::Vec3F32,
        GridType::Vec3F64,
        GridType::Vec4F32,
        GridType::Vec4F64,
        GridType::Index,
        GridType::OnIndex,
        GridType::IndexMask,
        GridType::OnIndexMask,
    ];

    /// The number in the grid header.
    pub fn number(self) -> u32 {
        match self {
            GridType::F32 => 1,
            GridType::F64 => 2,
            GridType::I32 => 4,
            GridType::I64 => 5,
            GridType::Vec3F32 => 6,
            GridType::Vec3F64 => 7,
            GridType::U32 => 10,
            GridType::Vec4F32 => 17,
            GridType::Vec4F64 => 18,
            GridType::Index => 19,
            GridType::OnIndex => 20,
            GridType::IndexMask => 21,
            GridType::OnIndexMask => 22,
        }
    }

    pub fn from_number(number: u32) -> Option<GridType> {
        GridType::ALL.into_iter().find(|of| of.number() == number)
    }

    /// As NanoVDB and Warp spell it.
    pub fn name(self) -> &'static str {
        match self {
            GridType::F32 => "float",
            GridType::F64 => "double",
            GridType::I32 => "int32",
            GridType::I64 => "int64",
            GridType::U32 => "uint32",
            GridType::Vec3F32 => "Vec3f",
            GridType::Vec3F64 => "Vec3d",
            GridType::Vec4F32 => "Vec4f",
            GridType::Vec4F64 => "Vec4d",
            GridType::Index => "Index",
            GridType::OnIndex => "OnIndex",
            GridType::IndexMask => "IndexMask",
            GridType::OnIndexMask => "OnIndexMask",
        }
    }

    /// Whether voxels hold their number in place of a value.
    pub fn is_index(self) -> bool {
        self.number() >= GridType::Index.number()
    }

    /// Whether active voxels alone have numbers.
    pub fn counts_active(self) -> bool {
        matches!(self, GridType::OnIndex | GridType::OnIndexMask)
    }

    /// Bytes and alignment of a value, and of a mean of values.
    fn sizes(self) -> [usize; 3] {
        match self {
            GridType::F32 | GridType::I32 | GridType::U32 => [4, 4, 4],
            GridType::F64 | GridType::I64 => [8, 8, 8],
            GridType::Vec3F32 => [12, 4, 4],
            GridType::Vec3F64 => [24, 8, 8],
            GridType::Vec4F32 => [16, 4, 4],
            GridType::Vec4F64 => [32, 8, 8],
            GridType::Index | GridType::OnIndex | GridType::IndexMask | GridType::OnIndexMask => [8, 8, 8],
        }
    }

    pub fn value_bytes(self) -> usize {
        self.sizes()[0]
    }

    pub fn layout(self) -> Layout {
        Layout::of(self)
    }
}

/// Sizes and offsets that depend on the type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// The background value in the root.
    pub background: usize,
    pub root_bytes: usize,
    pub tile_bytes: usize,
    /// Bytes of an entry of an inner node: a value, or the offset of a child from the node.
    pub entry_bytes: usize,
    pub upper: Inner,
    pub lower: Inner,
    /// Values in a leaf; of index grids the number of the first value, then sums over the masks.
    pub leaf_values: usize,
    pub leaf_bytes: usize,
}

/// Sizes and offsets of an inner node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Inner {
    /// Children along an axis, as a power of 2.
    pub log: usize,
    /// Voxels along an axis of a child, as a power of 2.
    pub child_log: usize,
    pub child_mask: usize,
    pub table: usize,
    pub bytes: usize,
}

impl Inner {
    pub fn entries(self) -> usize {
        1 << (3 * self.log)
    }
}

impl Layout {
    /// Headers end with the least and the greatest value, a mean and a deviation.
    fn of(ty: GridType) -> Layout {
        let [bytes, align, mean] = ty.sizes();
        let after_statistics =
            |header: usize| (header.next_multiple_of(align) + 2 * bytes).next_multiple_of(mean) + 2 * mean;
        let entry_bytes = bytes.max(8);
        let inner = |log: usize, child_log: usize| {
            let mask_bytes = 1 << (3 * log - 3);
            let child_mask = inner::VALUE_MASK + mask_bytes;
            let table = after_statistics(child_mask + mask_bytes).next_multiple_of(ALIGN);
            Inner { log, child_log, child_mask, table, bytes: table + (entry_bytes.next_multiple_of(8) << (3 * log)) }
        };
        let background = root::BASE.next_multiple_of(align);
        let (leaf_values, leaf_end) = match ty {
            GridType::Index | GridType::OnIndex => (leaf::BASE, leaf::BASE + 16),
            GridType::IndexMask | GridType::OnIndexMask => (leaf::BASE, leaf::BASE + 16 + 64),
            _ => {
                let values = after_statistics(leaf::BASE).next_multiple_of(ALIGN);
                (values, values + leaf::VOXELS * bytes)
            }
        };
        Layout {
            background,
            root_bytes: after_statistics(background + bytes).next_multiple_of(ALIGN),
            tile_bytes: (root::TILE_BASE.next_multiple_of(align) + bytes).next_multiple_of(ALIGN),
            entry_bytes: entry_bytes.next_multiple_of(8),
            upper: inner(5, 7),
            lower: inner(4, 3),
            leaf_values,
            leaf_bytes: leaf_end.next_multiple_of(ALIGN),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `pnanovdb_grid_type_constants`: background, root, tile, entry, upper table and size, lower
    /// table and size, leaf table and size.
    #[test]
    fn sizes_are_those_of_nanovdb() {
        let known: [(GridType, [usize; 10]); 13] = [
            (GridType::F32, [28, 64, 32, 8, 8256, 270400, 1088, 33856, 96, 2144]),
            (GridType::F64, [32, 96, 32, 8, 8256, 270400, 1088, 33856, 128, 4224]),
            (GridType::I32, [28, 64, 32, 8, 8256, 270400, 1088, 33856, 96, 2144]),
            (GridType::I64, [32, 96, 32, 8, 8256, 270400, 1088, 33856, 128, 4224]),
            (GridType::U32, [28, 64, 32, 8, 8256, 270400, 1088, 33856, 96, 2144]),
            (GridType::Vec3F32, [28, 96, 32, 16, 8256, 532544, 1088, 66624, 128, 6272]),
            (GridType::Vec3F64, [32, 128, 64, 24, 8288, 794720, 1120, 99424, 160, 12448]),
            (GridType::Vec4F32, [28, 96, 64, 16, 8288, 532576, 1120, 66656, 128, 8320]),
            (GridType::Vec4F64, [32, 160, 64, 32, 8320, 1056896, 1152, 132224, 160, 16544]),
            (GridType::Index, [32, 96, 32, 8, 8256, 270400, 1088, 33856, 80, 96]),
            (GridType::OnIndex, [32, 96, 32, 8, 8256, 270400, 1088, 33856, 80, 96]),
            (GridType::IndexMask, [32, 96, 32, 8, 8256, 270400, 1088, 33856, 80, 160]),
            (GridType::OnIndexMask, [32, 96, 32, 8, 8256, 270400, 1088, 33856, 80, 160]),
        ];
        for (ty, expected) in known {
            let l = ty.layout();
            let found = [
                l.background,
                l.root_bytes,
                l.tile_bytes,
                l.entry_bytes,
                l.upper.table,
                l.upper.bytes,
                l.lower.table,
                l.lower.bytes,
                l.leaf_values,
                l.leaf_bytes,
            ];
            assert_eq!(found, expected, "{ty:?}");
            assert_eq!([l.upper.child_mask, l.lower.child_mask], [4128, 544]);
        }
    }
}
