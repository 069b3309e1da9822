//! What does a program link? An object with the entries of kernels, their unwind tables, and notes
//! for the linker.

use std::collections::BTreeMap;

use super::builder::{Attribute, AttributeLoc, Context};
use super::debug_info::DebugTexts;
use super::host_module::{Compiled, Extras, compile};
use super::options::{CodegenError, HostOptions};
use super::{ffi, frames};
use crate::codegen::linkage::Entry;
use crate::ir::{FuncId, Module};

/// `uwtable(async)`: unwinding works at each instruction.
const UNWOUND_ANYWHERE: u64 = 2;

/// What a program links.
#[derive(Debug)]
pub struct Object {
    pub bytes: Vec<u8>,
    /// The bytes of the stack that each entry needs at most, by its name: see [`frames`].
    pub stack: BTreeMap<String, u64>,
}

/// A relocatable object with the kernels' entries, each `NAME_cpu_kernel_forward`. It needs the C
/// library (`snprintf`, `printf`, `memset`) and, for processors without FMA, its `fma` and `fmaf`.
/// `entries`: the second name of each; `exported`: libraries that it is linked into show them.
/// With `debug` debuggers see lines and variables.
pub fn emit_object(
    module: &Module,
    kernels: &[FuncId],
    options: &HostOptions,
    entries: &[Entry],
    exported: bool,
    debug: Option<DebugTexts>,
) -> Result<Object, CodegenError> {
    let context = Context::create();
    let compiled = compile(&context, module, kernels, options, Extras { debug, ..Extras::default() })?;
    finish(&context, &compiled, entries, exported, true)
}

/// The object of a module; `unwound`: with tables that say how to unwind its frames.
fn finish(
    context: &Context,
    compiled: &Compiled,
    entries: &[Entry],
    exported: bool,
    unwound: bool,
) -> Result<Object, CodegenError> {
    let ll = &compiled.ll;
    frames::ask(ll);
    compiled.machine.guard_branches(ll);
    for function in ll.defined() {
        if unwound {
            // Debuggers, profilers and sanitizers walk through the frames of kernels.
            ll.add_attribute(function, AttributeLoc::Function, Attribute::Number("uwtable", UNWOUND_ANYWHERE));
        }
        // A frame larger than the guard page must not jump over it.
        ll.add_attribute(function, AttributeLoc::Function, Attribute::Text("probe-stack", "inline-asm"));
    }
    for entry in entries {
        ll.name_twice(&entry.name, &entry.symbol, exported);
    }
    let (made, said) = ffi::listen(context, || compiled.machine.emit(ll, false));
    if let Some(error) = said.errors.into_iter().next() {
        return Err(CodegenError::llvm(error));
    }
    Ok(Object { bytes: made?, stack: frames::of_entries(ll, &said.warnings) })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::codegen::llvm::{Atomics, Cpu, Opt};
    use crate::ir::parse::parse;

    /// Unwind tables cost nothing while kernels run: the code is the same.
    #[test]
    fn code_is_the_same_with_unwind_tables_and_without() {
        let module = parse(include_str!("../../cli/limits.ir")).unwrap_or_else(|e| panic!("{e}"));
        let kernels: Vec<FuncId> = module.kernels().map(|(id, _)| id).collect();
        let folder = tempfile::tempdir().expect("a folder");
        for opt in [Opt::None, Opt::Lean, Opt::Full] {
            for checked in [false, true] {
                let options = HostOptions { checked, opt, cpu: Cpu::V3, atomics: Atomics::Called };
                let sections = [true, false].map(|unwound| {
                    let context = Context::create();
                    let compiled = compile(&context, &module, &kernels, &options, Extras::default()).expect("code");
                    let object = finish(&context, &compiled, &[], true, unwound).expect("an object");
                    std::fs::write(folder.path().join("k.o"), object.bytes).expect("a file");
                    [".text", ".eh_frame"].map(|name| {
                        _ = std::fs::remove_file(folder.path().join("section"));
                        let arguments = ["-O", "binary", "--only-section", name, "k.o", "section"];
                        let run = Command::new("objcopy").args(arguments).current_dir(folder.path()).status();
                        assert!(run.is_ok_and(|status| status.success()));
                        std::fs::read(folder.path().join("section")).unwrap_or_default()
                    })
                });
                let [[with, table], [without, none]] = sections;
                assert!(!with.is_empty() && !table.is_empty() && none.is_empty(), "{opt:?} {checked}");
                assert!(with == without, "{opt:?} {checked}: {} and {} bytes", with.len(), without.len());
            }
        }
    }
}
