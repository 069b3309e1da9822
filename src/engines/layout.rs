//! What do the bytes look like that an id points to? The host structs of Warp 1.19, byte for byte:
//! `native/bvh.h`, `mesh.h`, `solid_angle.h`, `hashgrid.h`, `texture.h`. Pointers are `u64`
//! addresses, padding is written out, and each offset is asserted. `src/codegen/engines/` builds
//! the same in C; [`crate::abi::ENGINE_LAYOUT`] counts changes.

use std::mem::offset_of;
use std::str::FromStr;

use super::error::EngineError;
use crate::abi::ArrayDescriptor;

/// Half of a tree node: a corner of its box, and 31 bits of index below one bit that marks a leaf.
///
/// | node | index of the lower half | index of the upper half |
/// |---|---|---|
/// | inner | left child | right child |
/// | leaf | first entry of `primitive_indices` | one behind the last entry |
///
/// The leaf bit is set in lower halves only.
#[repr(C, align(16))]
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct NodeHalf {
    pub corner: [f32; 3],
    pub bits: u32,
}

impl NodeHalf {
    const LEAF: u32 = 1 << 31;

    /// `index` has 31 bits.
    pub fn new(corner: [f32; 3], index: u32, leaf: bool) -> NodeHalf {
        NodeHalf { corner, bits: index & !Self::LEAF | if leaf { Self::LEAF } else { 0 } }
    }

    pub fn index(self) -> usize {
        (self.bits & !Self::LEAF) as usize
    }

    pub fn is_leaf(self) -> bool {
        self.bits & Self::LEAF != 0
    }

    /// The same half with another index.
    #[must_use]
    pub fn with_index(self, index: u32) -> NodeHalf {
        NodeHalf::new(self.corner, index, self.is_leaf())
    }
}

/// A bounding volume hierarchy. An empty one has no nodes, null arrays, and -1 behind `root`.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BvhHeader {
    /// [`NodeHalf`] for each node.
    pub node_lowers: u64,
    pub node_uppers: u64,
    /// i32 for each node: its parent, -1 at the root.
    pub parents: u64,
    /// Null on the host.
    pub counts: u64,
    /// i32 for each item: its number, in the order of leaves.
    pub primitive_indices: u64,
    pub max_depth: i32,
    pub max_nodes: i32,
    pub num_nodes: i32,
    pub num_leaf_nodes: i32,
    /// Address of one i32, the root's index.
    pub root: u64,
    /// Three f32 for each item.
    pub item_lowers: u64,
    pub item_uppers: u64,
    /// i32 for each item; null without groups.
    pub item_groups: u64,
    pub num_items: i32,
    pub leaf_size: i32,
    pub constructor: i32,
    pub unused: u32,
    pub context: u64,
}

/// A triangle mesh with its tree inline.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MeshHeader {
    pub points: ArrayDescriptor,
    pub velocities: ArrayDescriptor,
    pub indices: ArrayDescriptor,
    /// Three f32 for each face.
    pub lowers: u64,
    pub uppers: u64,
    /// [`SolidAngle`] for each node; null without support for winding numbers.
    pub solid_angle: u64,
    pub num_points: i32,
    pub num_tris: i32,
    pub bvh: BvhHeader,
    pub context: u64,
    pub average_edge_length: f32,
    pub unused: u32,
}

impl Default for MeshHeader {
    fn default() -> MeshHeader {
        MeshHeader {
            points: NO_ARRAY,
            velocities: NO_ARRAY,
            indices: NO_ARRAY,
            lowers: 0,
            uppers: 0,
            solid_angle: 0,
            num_points: 0,
            num_tris: 0,
            bvh: BvhHeader::default(),
            context: 0,
            average_edge_length: 0.0,
            unused: 0,
        }
    }
}

/// The most levels of detail of a texture.
pub const MAX_LEVELS: usize = 16;

/// A texture. Warp's ends before `grad`, of which the metadata of kc's textures tell.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TextureHeader {
    /// The texels of the first level: rows one after the other, the channels of a texel together.
    pub data: u64,
    pub width: i32,
    /// 0 beyond the texture's dimensions.
    pub height: i32,
    pub depth: i32,
    pub channels: i32,
    pub numbers: i32,
    pub filter: i32,
    pub level_filter: i32,
    pub num_levels: i32,
    pub address: [i32; 3],
    pub normalized: u32,
    /// The texels of each level, and how many bytes behind `data` they are.
    pub levels: [u64; MAX_LEVELS],
    pub offsets: [u64; MAX_LEVELS],
    pub widths: [i32; MAX_LEVELS],
    pub heights: [i32; MAX_LEVELS],
    pub depths: [i32; MAX_LEVELS],
    /// Adjoints of texels of float32; 0: there are none.
    pub grad: u64,
}

/// The bytes from a mesh's id to the id of its tree.
pub const MESH_BVH: u64 = offset_of!(MeshHeader, bvh) as u64;

/// Moments of the triangles below a node. With unit normals n and positions p from the centroid
/// `average_p`: `normal` = ∫ n dA, `n_ij` = ∫ n_i p_j dA, `n_ijk` = ∫ n_i p_j p_k dA. Barill,
/// Dickson, Schmidt, Levin, Jacobson: Fast Winding Numbers for Soups and Clouds, 2018.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct SolidAngle {
    /// Centroid, weighted by area.
    pub average_p: [f32; 3],
    pub normal: [f32; 3],
    /// n_xx, n_yy, n_zz.
    pub n_ij_diag: [f32; 3],
    /// n_xxx, n_yyy, n_zzz.
    pub n_ijk_diag: [f32; 3],
    /// n_xyz summed over the six orders of x, y, z.
    pub sum_permute_n_xyz: f32,
    /// 2 n_xxy + n_yxx, and so on.
    pub two_n_xxy_n_yxx: f32,
    pub two_n_xxz_n_zxx: f32,
    pub two_n_yyz_n_zyy: f32,
    pub two_n_yyx_n_xyy: f32,
    pub two_n_zzx_n_xzz: f32,
    pub two_n_zzy_n_yzz: f32,
    pub n_xy: f32,
    pub n_yx: f32,
    pub n_yz: f32,
    pub n_zy: f32,
    pub n_zx: f32,
    pub n_xz: f32,
    pub lower: [f32; 3],
    pub upper: [f32; 3],
    /// Sum of centroid times area.
    pub area_p: [f32; 3],
    pub area: f32,
    /// Square of the distance from the centroid to the farthest corner of the box, or more.
    pub max_p_dist_sq: f32,
}

/// A hash grid. The last field holds the cell width and its inverse in the grid's type: f16 uses 4
/// bytes of it, f32 8, f64 16.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HashGridHeader {
    /// i32 for each point: cells, ascending.
    pub point_cells: u64,
    /// i32 for each point: its number, in the order of cells.
    pub point_ids: u64,
    /// u64 for each point of a build with groups: cell << 32 | group.
    pub point_keys: u64,
    /// i32 for each cell: the range of `point_ids`; 0 and 0 where it is empty.
    pub cell_starts: u64,
    pub cell_ends: u64,
    pub dims: [i32; 3],
    pub num_points: i32,
    pub max_points: i32,
    pub max_keys: i32,
    pub has_groups: i32,
    pub unused: u32,
    pub context: u64,
    pub widths: [u8; 16],
}

/// Bytes of the header of an f16 or f32 grid; an f64 grid uses all of [`HashGridHeader`].
pub const HASH_GRID_BYTES: usize = 88;

/// Offsets of the fields of an array descriptor that are addresses.
pub const ARRAY_DATA: u32 = 0;
pub const ARRAY_GRAD: u32 = 8;

/// An array without elements.
pub const NO_ARRAY: ArrayDescriptor =
    ArrayDescriptor { data: 0, grad: 0, shape: [0; 4], strides: [0; 4], ndim: 1, flags: 0 };

/// Names of tree constructors, and their numbers in [`BvhHeader::constructor`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Constructor {
    /// Binned surface area heuristic.
    #[default]
    Sah,
    /// Halves along the longest axis.
    Median,
    /// On the host as [`Constructor::Sah`], which [`Constructor::note`] says.
    Lbvh,
    /// Takes the builder of [`Constructor::Sah`], and no groups.
    Cubql,
}

impl Constructor {
    pub const ALL: [Constructor; 4] = [Constructor::Sah, Constructor::Median, Constructor::Lbvh, Constructor::Cubql];

    pub fn name(self) -> &'static str {
        match self {
            Constructor::Sah => "sah",
            Constructor::Median => "median",
            Constructor::Lbvh => "lbvh",
            Constructor::Cubql => "cubql",
        }
    }

    /// The number in the header of a tree on the host.
    pub fn number(self) -> i32 {
        match self {
            Constructor::Sah | Constructor::Lbvh => 0,
            Constructor::Median => 1,
            Constructor::Cubql => -1,
        }
    }

    /// What a user should hear about the choice.
    pub fn note(self) -> Option<&'static str> {
        (self == Constructor::Lbvh)
            .then_some("the constructor \"lbvh\" is for GPUs; on the host \"sah\" builds the tree")
    }
}

impl FromStr for Constructor {
    type Err = EngineError;

    /// By name, in small or capital letters.
    fn from_str(name: &str) -> Result<Constructor, EngineError> {
        let found = Constructor::ALL.into_iter().find(|one| one.name().eq_ignore_ascii_case(name));
        found.ok_or_else(|| EngineError::Constructor { name: name.into() })
    }
}

macro_rules! offsets {
    ($struct:ident, $size:literal: $($field:ident $offset:literal),+ $(,)?) => {
        const _: () = assert!(size_of::<$struct>() == $size);
        $(const _: () = assert!(offset_of!($struct, $field) == $offset);)+
    };
}

offsets!(ArrayDescriptor, 56: data 0, grad 8, shape 16, strides 32, ndim 48, flags 52);
offsets!(NodeHalf, 16: corner 0, bits 12);
offsets!(BvhHeader, 112:
    node_lowers 0, node_uppers 8, parents 16, counts 24, primitive_indices 32, max_depth 40, max_nodes 44,
    num_nodes 48, num_leaf_nodes 52, root 56, item_lowers 64, item_uppers 72, item_groups 80, num_items 88,
    leaf_size 92, constructor 96, unused 100, context 104);
offsets!(MeshHeader, 328:
    points 0, velocities 56, indices 112, lowers 168, uppers 176, solid_angle 184, num_points 192, num_tris 196,
    bvh 200, context 312, average_edge_length 320, unused 324);
offsets!(SolidAngle, 144:
    average_p 0, normal 12, n_ij_diag 24, n_ijk_diag 36, sum_permute_n_xyz 48, two_n_xxy_n_yxx 52,
    two_n_xxz_n_zxx 56, two_n_yyz_n_zyy 60, two_n_yyx_n_xyy 64, two_n_zzx_n_xzz 68, two_n_zzy_n_yzz 72, n_xy 76,
    n_yx 80, n_yz 84, n_zy 88, n_zx 92, n_xz 96, lower 100, upper 112, area_p 124, area 136, max_p_dist_sq 140);
offsets!(HashGridHeader, 96:
    point_cells 0, point_ids 8, point_keys 16, cell_starts 24, cell_ends 32, dims 40, num_points 52, max_points 56,
    max_keys 60, has_groups 64, unused 68, context 72, widths 80);
offsets!(TextureHeader, 512:
    data 0, width 8, height 12, depth 16, channels 20, numbers 24, filter 28, level_filter 32, num_levels 36,
    address 40, normalized 52, levels 56, offsets 184, widths 312, heights 376, depths 440, grad 504);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constructors_have_names() {
        for constructor in Constructor::ALL {
            assert_eq!(constructor.name().parse(), Ok(constructor));
            assert_eq!(constructor.name().to_uppercase().parse(), Ok(constructor));
        }
        let error = "sap".parse::<Constructor>().unwrap_err().to_string();
        assert_eq!(error, "there is no constructor \"sap\"; there are \"sah\", \"median\", \"lbvh\" and \"cubql\"");
        assert!(Constructor::Lbvh.note().is_some() && Constructor::Sah.note().is_none());
    }
}
