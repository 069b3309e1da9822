//! Which threads run where the body is lowered to? One by itself, those of a row in the host's
//! loop, or those of a GPU's kernel.

use super::Scalars;
use crate::codegen::llvm::affine::Guards;
use crate::codegen::llvm::builder::Val;
use crate::codegen::llvm::prefetch::Ahead;
use crate::codegen::llvm::simd::{Copies, SimdLanes};
use crate::ids::IdMap;
use crate::ir::ValueId;
use crate::types::Scalar;

pub enum Mode<'ctx> {
    /// One thread, by itself: what checks are needed, it does.
    Thread,
    /// Threads of a row, in the host's fast loop.
    Row(Row<'ctx>),
    /// The threads of a GPU, in the function of a kernel.
    Kernel(GpuKernel<'ctx>),
}

/// A row of threads in the host's fast loop.
pub struct Row<'ctx> {
    /// The number of the thread with last coordinate 0 (i32, not always a thread of the launch).
    pub first: Val<'ctx>,
    /// The last coordinate.
    pub coordinate: Val<'ctx>,
    /// What must hold for the loop to be taken.
    pub guards: Guards<'ctx>,
    /// Several threads at once.
    pub lanes: Option<SimdLanes<'ctx>>,
    /// Where lanes add to elements that they share, in a backward entry.
    pub copies: Option<Copies<'ctx>>,
    /// What is known of later threads.
    pub ahead: Option<Ahead<'ctx>>,
}

/// A kernel of a GPU.
pub struct GpuKernel<'ctx> {
    /// Where arrays of the block begin in the shared memory that launches ask for.
    pub asked_places: IdMap<ValueId, u64>,
    /// Where the threads of a block add up what goes to one place, in an entry that lets them.
    pub block_sums: Option<BlockSums<'ctx>>,
    /// The arrays of which the block has copies to add to.
    pub private: Vec<PrivateCopy<'ctx>>,
}

/// A block's copy of an array, to which its threads add.
#[derive(Clone, Copy)]
pub struct PrivateCopy<'ctx> {
    /// A parameter of the kernel.
    pub array: ValueId,
    pub scalar: Scalar,
    /// Numbers of an element, which are dense in the copy.
    pub numbers: u32,
    /// The address of the copy.
    pub first: Val<'ctx>,
    /// So many elements the copy has (i64): all of the array's, or none.
    pub elements: Val<'ctx>,
    /// Address and stride (i64) of the array.
    pub data: Val<'ctx>,
    pub stride: Val<'ctx>,
}

/// The sums of a kernel's blocks.
#[derive(Default)]
pub struct BlockSums<'ctx> {
    pub sums: Vec<BlockSum<'ctx>>,
    /// While the same code is lowered again: the number of the next sum, which it shares.
    pub again: Option<usize>,
}

/// What a thread adds to one place.
pub struct BlockSum<'ctx> {
    pub scalar: Scalar,
    /// Where the thread has its sums, one for each number of an element.
    pub own: Scalars<'ctx>,
    /// Where it has the address that they belong to; 0 as long as it has not added.
    pub place: Val<'ctx>,
}

impl<'ctx> Mode<'ctx> {
    pub fn row(&self) -> Option<&Row<'ctx>> {
        if let Mode::Row(row) = self { Some(row) } else { None }
    }

    pub fn row_mut(&mut self) -> Option<&mut Row<'ctx>> {
        if let Mode::Row(row) = self { Some(row) } else { None }
    }

    pub fn kernel(&self) -> Option<&GpuKernel<'ctx>> {
        if let Mode::Kernel(kernel) = self { Some(kernel) } else { None }
    }

    pub fn kernel_mut(&mut self) -> Option<&mut GpuKernel<'ctx>> {
        if let Mode::Kernel(kernel) = self { Some(kernel) } else { None }
    }

    pub fn lanes(&self) -> Option<&SimdLanes<'ctx>> {
        self.row()?.lanes.as_ref()
    }

    pub fn lanes_mut(&mut self) -> Option<&mut SimdLanes<'ctx>> {
        self.row_mut()?.lanes.as_mut()
    }

    pub fn guards_mut(&mut self) -> Option<&mut Guards<'ctx>> {
        self.row_mut().map(|row| &mut row.guards)
    }

    pub fn copies(&self) -> Option<&Copies<'ctx>> {
        self.row()?.copies.as_ref()
    }

    pub fn copies_mut(&mut self) -> Option<&mut Copies<'ctx>> {
        self.row_mut()?.copies.as_mut()
    }

    pub fn take_block_sums(&mut self) -> Option<BlockSums<'ctx>> {
        self.kernel_mut()?.block_sums.take()
    }
}
