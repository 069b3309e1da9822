//! Shared memory that launches ask for, in a kernel whose tiles take more than a block has without
//! being asked: all tiles are parts of it, with the names and types that they have as arrays of
//! their own.

use crate::abi;
use crate::codegen::blocks;
use crate::ids::IdMap;
use crate::ir::{Function, ValueId};
use crate::types::{Layout, StructTable};

/// What it is called.
pub const NAME: &str = "block_memory";

/// Where a tile is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TilePlace {
    /// In an array of its own. `aligned`: as all memory of a block is in PTX, for instructions that
    /// read 16 bytes of it at once.
    Own {
        aligned: bool,
    },
    Asked(TilePart),
}

/// A tile in the memory that launches ask for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TilePart {
    /// `float (&)[4][4]`
    pub ty: String,
    at: u64,
    bytes: u64,
}

impl TilePart {
    pub fn of(
        tile: ValueId,
        ty: String,
        places: &IdMap<ValueId, u64>,
        function: &Function,
        s: &StructTable,
    ) -> Option<TilePart> {
        let &at = places.get(&tile)?;
        Some(TilePart { ty, at, bytes: Layout::of(function.ty(tile), s).size.into() })
    }

    /// The tile's declaration.
    pub fn declaration(&self, name: &str) -> String {
        let TilePart { ty, at, bytes } = self;
        format!("auto &{name} = reinterpret_cast<{ty}>({NAME}[{at}]);  // {bytes} bytes")
    }
}

/// The memory's declaration, in the function with the tiles.
pub fn declaration() -> String {
    format!("extern __shared__ __align__({}) unsigned char {NAME}[];", blocks::ALIGN)
}

/// What a kernel's comment says of its launches.
pub fn launches(function: &Function, structs: &StructTable) -> Vec<String> {
    let bytes = blocks::Memory::of(function, structs).asked;
    if bytes == 0 {
        return Vec::new();
    }
    let entry = abi::device_entry(&function.source_name, function.phase);
    vec![
        format!(
            "A block takes {bytes} bytes of shared memory. A launch asks for them, <<<grid, block, {bytes}>>>, after"
        ),
        format!("cudaFuncSetAttribute({entry}, cudaFuncAttributeMaxDynamicSharedMemorySize, {bytes})."),
    ]
}
