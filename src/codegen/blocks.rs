//! Kernels with tiles, for GPUs: their code for the threads of a block, and the memory that the block needs.

use std::borrow::Cow;

use super::llvm::CodegenError;
use crate::diag::Code;
use crate::ir::{FuncId, Function, Module, Op};
use crate::passes::block_threads::{self, MOST_BYTES, Tensor};
use crate::types::{Layout, StructTable};

/// What a block's array in shared memory is aligned to.
pub const ALIGN: u32 = 16;

/// The module with the kernels that work on tiles as code of each thread of a block. `most`: bytes of shared memory that a block may have.
pub fn shared<'m>(
    module: &'m Module,
    kernels: &[FuncId],
    tensor: Tensor,
    most: u64,
) -> Result<Cow<'m, Module>, CodegenError> {
    let made = block_threads::shared(module, kernels, tensor).map_err(|refused| {
        let name = &module.functions[refused.kernel].source_name;
        let message = format!("kernel `{name}` has no form for the threads of a block: {}", refused.why);
        CodegenError { code: Code::E0822, message, span: Some(refused.span) }
    })?;
    for &kernel in kernels {
        let function = &made.functions[kernel];
        let arrays = shared_arrays(function, &made.structs);
        let bytes: u64 = arrays.iter().map(|(_, bytes)| bytes).sum();
        if bytes > most {
            return Err(too_large(function, &arrays, bytes, most));
        }
    }
    Ok(made)
}

/// The shared memory of a kernel that has more than a block has without being asked: its launches ask for so many bytes.
pub fn asked_bytes(function: &Function, structs: &StructTable) -> Option<u64> {
    let bytes = shared_arrays(function, structs).iter().map(|(_, bytes)| bytes).sum();
    (bytes > MOST_BYTES).then_some(bytes)
}

/// The arrays that a kernel's block shares, largest first: name and bytes.
pub fn shared_arrays(function: &Function, structs: &StructTable) -> Vec<(String, u64)> {
    let mut arrays = Vec::new();
    function.walk(function.entry, &mut |_, inst| {
        if let (Op::SharedArray, Some(&array)) = (&inst.op, inst.results.first()) {
            let bytes = u64::from(Layout::of(function.ty(array), structs).size).next_multiple_of(ALIGN.into());
            arrays.push((function.values[array].name.clone().unwrap_or_else(|| "a result".to_string()), bytes));
        }
    });
    arrays.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    arrays
}

fn too_large(function: &Function, arrays: &[(String, u64)], bytes: u64, most: u64) -> CodegenError {
    const MOST_NAMED: usize = 6;
    let mut list: Vec<String> =
        arrays.iter().take(MOST_NAMED).map(|(name, bytes)| format!("{name}: {bytes}")).collect();
    if arrays.len() > MOST_NAMED {
        list.push(format!("{} more", arrays.len() - MOST_NAMED));
    }
    let message = format!(
        "the tiles of `{}` take {bytes} bytes of a block's memory, which has {most} ({})",
        function.source_name,
        list.join(", ")
    );
    CodegenError { code: Code::E0822, message, span: Some(function.span) }
}
