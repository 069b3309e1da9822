//! What can be wrong with the data that an engine is made of? One sentence for each mistake, with
//! the number of the element that has it.

use std::fmt;

/// Why an engine can't be built, refitted or read.
#[derive(Clone, PartialEq, Debug)]
pub enum EngineError {
    /// The mesh's list of corners doesn't end with a whole triangle.
    IndexCount {
        count: usize,
    },
    /// A corner of a face names no point.
    IndexOutOfRange {
        face: usize,
        corner: usize,
        index: i32,
        points: usize,
    },
    /// A coordinate of a point that a face uses is NaN or infinite.
    PointNotFinite {
        point: usize,
        face: usize,
    },
    /// A coordinate of a box is NaN or infinite.
    BoxNotFinite {
        item: usize,
        bound: &'static str,
    },
    /// Two arrays that belong together have different lengths.
    Lengths {
        left: &'static str,
        left_count: usize,
        right: &'static str,
        right_count: usize,
    },
    /// More elements than the format can number.
    TooMany {
        what: &'static str,
        count: usize,
        limit: usize,
    },
    /// An array has other than one dimension, or gaps.
    NotContiguous {
        what: &'static str,
    },
    /// An array of some length has no memory.
    Null {
        what: &'static str,
        count: usize,
    },
    /// An array does not start where its elements may.
    Unaligned {
        what: &'static str,
        address: u64,
        align: usize,
    },
    /// Extents of an array are negative.
    NegativeShape {
        what: &'static str,
        extent: i32,
    },
    LeafSize {
        value: i32,
    },
    Constructor {
        name: String,
    },
    /// The constructor "cubql" takes no groups.
    CubqlGroups,
    Dimensions {
        dims: [i32; 3],
    },
    Cells {
        dims: [i32; 3],
    },
    /// There is no memory for so many cells.
    CellMemory {
        cells: usize,
    },
    CellWidth {
        width: f64,
        dtype: &'static str,
    },
    /// The points of a hash grid have another type than the grid.
    PointType {
        grid: &'static str,
        points: &'static str,
    },
    Volume(VolumeError),
    Texture(TextureError),
}

/// Why a texture can't be made or written.
#[derive(Clone, PartialEq, Debug)]
pub enum TextureError {
    Extent {
        axis: &'static str,
        extent: i64,
    },
    Channels {
        channels: i64,
    },
    /// The numbers of texels; and of an array, its dimensions.
    Numbers {
        name: String,
    },
    Dimensions {
        dims: usize,
        ndim: usize,
    },
    Filter {
        number: i64,
    },
    Address {
        number: i64,
    },
    /// Integers of 32 bits are not mixed.
    Mixture {
        numbers: &'static str,
    },
    Levels {
        levels: i64,
        most: i64,
    },
    Bytes {
        needed: usize,
        given: usize,
    },
    TooLarge {
        bytes: u128,
    },
    /// Texels are not one after the other.
    Gaps,
    /// Texels of a texture with levels stay as they are.
    Fixed,
    /// Only one level of float32 is read where it is.
    InPlace,
}

/// Why bytes are no volume, or a volume can't be made.
#[derive(Clone, PartialEq, Debug)]
pub enum VolumeError {
    /// Bytes end before what they say they hold.
    Cut {
        what: &'static str,
        needed: u64,
        present: u64,
    },
    Magic {
        found: u64,
    },
    Version {
        major: u32,
    },
    GridType {
        number: u32,
    },
    /// A number that says how long or where something is contradicts the rest.
    Inconsistent {
        what: &'static str,
        value: u64,
    },
    Codec {
        name: &'static str,
    },
    CodecNumber {
        number: u16,
    },
    Zlib {
        grid: usize,
    },
    /// A file has between 1 and 65,535 grids.
    Grids {
        count: usize,
    },
    /// There is no room for what a volume is to hold.
    Capacity {
        what: &'static str,
        needed: usize,
        room: usize,
    },
    /// There is no memory for so many bytes.
    TooLarge {
        bytes: usize,
    },
    /// The volume was made without room to be built anew.
    Fixed,
    Empty {
        what: &'static str,
    },
    Extents {
        shape: [usize; 3],
        values: usize,
    },
    /// A point of the world that lies in no voxel whose index i32 can hold.
    Point {
        point: usize,
        world: [f32; 3],
    },
    NotFinite {
        what: &'static str,
    },
    /// The matrix of index to world coordinates can't be turned around.
    Singular,
    VoxelSize {
        value: [f64; 3],
    },
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            EngineError::IndexCount { count } => {
                write!(f, "the mesh has {count} indices, which is no multiple of 3")
            }
            EngineError::IndexOutOfRange { face, corner, index, points } => {
                write!(
                    f,
                    "face {face} of the mesh names point {index} as its corner {corner}, and there are {points} points"
                )
            }
            EngineError::PointNotFinite { point, face } => {
                write!(f, "point {point} of the mesh, which face {face} uses, is not finite")
            }
            EngineError::BoxNotFinite { item, bound } => write!(f, "the {bound} bound of box {item} is not finite"),
            EngineError::Lengths { left, left_count, right, right_count } => {
                write!(f, "there are {left_count} {left} and {right_count} {right}, which must be as many")
            }
            EngineError::TooMany { what, count, limit } => {
                write!(f, "there are {count} {what}, and at most {limit} are supported")
            }
            EngineError::NotContiguous { what } => {
                write!(f, "the {what} must be a one-dimensional array without gaps")
            }
            EngineError::Null { what, count } => write!(f, "the {count} {what} are at address 0"),
            EngineError::Unaligned { what, address, align } => {
                write!(f, "the {what} are at address {address:#x}, which is no multiple of {align}")
            }
            EngineError::NegativeShape { what, extent } => write!(f, "the array of {what} has {extent} elements"),
            EngineError::LeafSize { value } => write!(f, "the leaf size is {value}, and must be at least 1"),
            EngineError::Constructor { name } => {
                write!(f, "there is no constructor {name:?}; there are \"sah\", \"median\", \"lbvh\" and \"cubql\"")
            }
            EngineError::CubqlGroups => f.write_str("the constructor \"cubql\" takes no groups"),
            EngineError::Dimensions { dims: [x, y, z] } => {
                write!(f, "the hash grid has {x} x {y} x {z} cells, and each number must be at least 1")
            }
            EngineError::Cells { dims: [x, y, z] } => {
                write!(f, "the hash grid has {x} x {y} x {z} cells, and at most {} are supported", i32::MAX)
            }
            EngineError::CellMemory { cells } => write!(f, "there is no memory for a hash grid of {cells} cells"),
            EngineError::CellWidth { width, dtype } => {
                write!(
                    f,
                    "the cell width is {width}, which as {dtype} must be finite and above 0, and so must 1 over it"
                )
            }
            EngineError::PointType { grid, points } => {
                write!(f, "the hash grid is of type {grid}, and its points are of type {points}")
            }
            EngineError::Volume(error) => error.fmt(f),
            EngineError::Texture(error) => error.fmt(f),
        }
    }
}

impl fmt::Display for TextureError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            TextureError::Extent { axis, extent } => {
                write!(f, "its {axis} is {extent}, and must be from 1 to {}", i32::MAX)
            }
            TextureError::Channels { channels } => write!(f, "it has {channels} channels, and 1, 2 or 4 are supported"),
            TextureError::Numbers { name } => write!(
                f,
                "its texels are of type {name}; uint8, uint16, uint32, int8, int16, int32, float16 and float32 are supported"
            ),
            TextureError::Dimensions { dims, ndim } => write!(
                f,
                "the texels of a texture of {dims} dimensions are an array of {dims}, or {} with channels, not of {ndim}",
                dims + 1
            ),
            TextureError::Filter { number } => {
                write!(f, "there is no filter {number}; there are 0 (closest) and 1 (linear)")
            }
            TextureError::Address { number } => {
                write!(f, "there is no address mode {number}; there are 0 (wrap), 1 (clamp), 2 (mirror) and 3 (border)")
            }
            TextureError::Mixture { numbers } => {
                write!(f, "texels of type {numbers} are not mixed: its filters must be closest")
            }
            TextureError::Levels { levels, most } => {
                write!(f, "it is to have {levels} levels of detail, and 0 (all) to {most} are possible")
            }
            TextureError::Bytes { needed, given } => write!(f, "its texels have {needed} bytes, and {given} are given"),
            TextureError::TooLarge { bytes } => write!(f, "there is no memory for {bytes} bytes of texels"),
            TextureError::Gaps => f.write_str("its texels must lie one after the other, row after row"),
            TextureError::Fixed => f.write_str("texels of a texture with levels of detail stay as they are"),
            TextureError::InPlace => f.write_str("only one level of float32 is read in place"),
        }
    }
}

impl fmt::Display for VolumeError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            VolumeError::Cut { what, needed, present } => {
                write!(f, "the {what} is cut: it needs {needed} bytes, and {present} are there")
            }
            VolumeError::Magic { found } => write!(f, "the bytes are no NanoVDB grid: they start with {found:#018x}"),
            VolumeError::Version { major } => {
                write!(f, "the volume is of NanoVDB version {major}, and 32 is supported")
            }
            VolumeError::GridType { number } => write!(f, "volumes of NanoVDB grid type {number} are not supported"),
            VolumeError::Inconsistent { what, value } => {
                write!(f, "the volume says that its {what} is {value}, which can't be")
            }
            VolumeError::Codec { name } => {
                write!(f, "the file is compressed by {name}, which is not supported; \"none\" and \"zip\" are")
            }
            VolumeError::CodecNumber { number } => {
                write!(f, "the file is compressed by codec {number}, which is not known")
            }
            VolumeError::Zlib { grid } => write!(f, "the compressed data of grid {grid} are damaged"),
            VolumeError::Grids { count } => write!(f, "a file holds 1 to 65535 volumes, and {count} are to be written"),
            VolumeError::Capacity { what, needed, room } => {
                write!(f, "the volume needs {needed} {what}, and it was made for {room}")
            }
            VolumeError::TooLarge { bytes } => write!(f, "there is no memory for a volume of {bytes} bytes"),
            VolumeError::Fixed => f.write_str("the volume was made without room to be built anew"),
            VolumeError::Empty { what } => write!(f, "a volume can't be made of 0 {what}"),
            VolumeError::Extents { shape: [x, y, z], values } => {
                write!(f, "a volume of {x} x {y} x {z} voxels can't be made of {values} values")
            }
            VolumeError::Point { point, world: [x, y, z] } => {
                write!(f, "point {point} is at ({x}, {y}, {z}), where no voxel can be")
            }
            VolumeError::NotFinite { what } => write!(f, "the {what} is not finite"),
            VolumeError::Singular => f.write_str("the transform from index to world coordinates has no inverse"),
            VolumeError::VoxelSize { value: [x, y, z] } => {
                write!(f, "the voxel size is ({x}, {y}, {z}), and must be finite and not 0")
            }
        }
    }
}

impl std::error::Error for EngineError {}

impl From<VolumeError> for EngineError {
    fn from(error: VolumeError) -> EngineError {
        EngineError::Volume(error)
    }
}

impl From<TextureError> for EngineError {
    fn from(error: TextureError) -> EngineError {
        EngineError::Texture(error)
    }
}
