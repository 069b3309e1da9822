//! Kernels with tiles, for GPUs: their code for the threads of a block, and the memory that the
//! block needs.

use std::borrow::Cow;

use super::llvm::{Arch, CodegenError};
use crate::diag::Code;
use crate::ids::IdMap;
use crate::ir::{FuncId, Function, Module, Op, ValueId};
use crate::passes::block_threads::{self, MOST_BYTES, Tensor};
use crate::types::{Layout, StructTable};

/// What a block's array in shared memory is aligned to.
pub const ALIGN: u32 = 16;

/// The bytes of shared memory that a block may have where no architecture is named.
pub const DEFAULT_BYTES: u64 = Arch::DEFAULT.shared;

/// The module with the kernels that work on tiles as code of each thread of a block. `most`: bytes
/// of shared memory that a block may have.
pub fn shared<'m>(
    module: &'m Module,
    kernels: &[FuncId],
    tensor: Tensor,
    most: u64,
) -> Result<Cow<'m, Module>, CodegenError> {
    if let Some(message) = tensor.missing() {
        return Err(CodegenError { code: Code::E0823, message, span: None });
    }
    for &kernel in kernels.iter().filter(|&&kernel| module.functions[kernel].by_block) {
        if let Some(span) = module.grid_sync_below(kernel) {
            let name = &module.functions[kernel].source_name;
            let message = format!("kernel `{name}` has tiles, and waits for all threads of the launch");
            return Err(CodegenError { code: Code::E0824, message, span: Some(span) });
        }
    }
    let made = block_threads::shared(module, kernels, tensor).map_err(|refused| {
        let name = &module.functions[refused.kernel].source_name;
        let message = format!("kernel `{name}` has no form for the threads of a block: {}", refused.why);
        CodegenError { code: Code::E0822, message, span: Some(refused.span) }
    })?;
    for &kernel in kernels {
        let function = &made.functions[kernel];
        if Memory::of(function, &made.structs).bytes() > most {
            return Err(too_large(function, &made.structs, most));
        }
    }
    Ok(made)
}

/// The bytes of shared memory that a kernel's block takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Memory {
    /// In arrays of the kernel's own.
    pub own: u64,
    /// In memory that launches ask for: all of it, where it is more than a block has without being
    /// asked.
    pub asked: u64,
}

impl Memory {
    /// Of a kernel in the form for the threads of a block.
    pub fn of(function: &Function, structs: &StructTable) -> Memory {
        let bytes = tiles(function, structs).iter().map(|(_, bytes)| bytes).sum();
        if bytes > MOST_BYTES { Memory { own: 0, asked: bytes } } else { Memory { own: bytes, asked: 0 } }
    }

    pub fn bytes(self) -> u64 {
        self.own + self.asked
    }
}

/// The memory that a kernel with tiles takes; None where there is no code for GPUs.
pub fn memory(module: &Module, kernel: FuncId, tensor: Tensor) -> Option<Memory> {
    let most = Arch::ALL.iter().map(|arch| arch.shared).max()?;
    let made = shared(module, &[kernel], tensor, most).ok()?;
    Some(Memory::of(&made.functions[kernel], &made.structs))
}

/// Where the tiles of a kernel begin in the memory that launches ask for. None: it has arrays of
/// its own.
pub fn asked_places(function: &Function, structs: &StructTable) -> Option<IdMap<ValueId, u64>> {
    let mut at = 0;
    let mut places = IdMap::default();
    for (tile, bytes) in tiles(function, structs) {
        places.insert(tile, at);
        at += bytes;
    }
    (at > MOST_BYTES).then_some(places)
}

/// The tiles that a kernel's block shares, in the order of the code, and the bytes that each takes.
fn tiles(function: &Function, structs: &StructTable) -> Vec<(ValueId, u64)> {
    let mut tiles = Vec::new();
    function.walk(function.entry, &mut |_, inst| {
        if let (Op::SharedArray, Some(&tile)) = (&inst.op, inst.results.first()) {
            let bytes = u64::from(Layout::of(function.ty(tile), structs).size).next_multiple_of(ALIGN.into());
            tiles.push((tile, bytes));
        }
    });
    tiles
}

fn too_large(function: &Function, structs: &StructTable, most: u64) -> CodegenError {
    const MOST_NAMED: usize = 6;
    let mut tiles = tiles(function, structs);
    tiles.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    let name = |tile: ValueId| function.values[tile].name.as_deref().unwrap_or("a result");
    let mut list: Vec<String> =
        tiles.iter().take(MOST_NAMED).map(|&(tile, bytes)| format!("{}: {bytes}", name(tile))).collect();
    if tiles.len() > MOST_NAMED {
        list.push(format!("{} more", tiles.len() - MOST_NAMED));
    }
    let message = format!(
        "the tiles of `{}` take {} bytes of a block's memory, which has {most} ({})",
        function.source_name,
        Memory::of(function, structs).bytes(),
        list.join(", ")
    );
    CodegenError { code: Code::E0822, message, span: Some(function.span) }
}
