//! How is other people's PTX run? As its text says; what is given has to fit what it takes.

use super::arrays::Arrays;
use super::words::{Shown, Source, line_span};
use super::{Ids, Runs, copies, host_bytes, host_bytes_mut, tried};
use crate::abi::argument_layout;
use crate::diag::Code;
use crate::ptx;
use crate::run::devices::{Ptx, Report};
use crate::run::messages;
use crate::run::{Fail, Result, fail, list};
use crate::sim::{self, Form};
use crate::types::{Layout, StructTable, Type};

/// The most shared memory of a block.
const MOST_SHARED: u32 = 227 << 10;

/// Runs the launch.
pub fn run(launch: &Ptx) -> Result<Report> {
    let parsed = ptx::parse(launch.text).map_err(|error| refused(launch, &error))?;
    let entry = entry(launch, &parsed)?;
    let code = sim::decode(&parsed, entry).map_err(|error| refused(launch, &error))?;
    fits(launch, &code)?;

    let types: Vec<Type> = launch.params.iter().map(|(_, ty)| *ty).collect();
    let names: Vec<String> = launch.params.iter().map(|(name, _)| name.clone()).collect();
    let structs = StructTable::default();
    let mut memory = sim::memory(&code);
    let mut pieces = Vec::new();
    for &(address, len) in launch.memory {
        // SAFETY: the memory is the launch's.
        let bytes = unsafe { host_bytes(address, len) };
        pieces.push((address, len, memory.give(bytes, 0)));
    }
    // SAFETY: the arguments were bound for these parameters.
    let mut words = unsafe { copies::arguments(launch.args, &types, &structs, &pieces, &Ids::default()) }?;
    let block = copies::bytes(&mut words);
    let arrays = Arrays::of(&types, &names, &structs, block);
    let mut params = vec![0; code.param_bytes as usize];
    let (offsets, _) = argument_layout(&types, &structs);
    for (&(at, size), offset) in code.params.iter().zip(offsets) {
        // Of an array its address, which is first.
        let (at, size, offset) = (at as usize, size as usize, offset as usize);
        params[at..at + size].copy_from_slice(&block[offset..offset + size]);
    }
    let form = Form::new(launch.grid, launch.block, launch.shared_bytes);
    let form = form.for_kernel(code.cluster).map_err(|why| fail(Code::E1006, format!("`{entry}`: {why}")))?;
    let source = Source::Text { file: launch.file, text: launch.text };
    let text = launch.trial.counts.then(|| sim::Text::of(&launch.text.into(), &parsed, entry));
    let shown = Shown { code: &code, arrays: &arrays, source, text: text.as_ref() };
    let mut report = Report::default();
    let runs = Runs { repeats: 1, trial: &launch.trial, stop: None };
    let Some(memory) = tried(&shown, &form, &params, memory, &runs, &mut report) else { return Ok(report) };
    for &(address, len, device) in &pieces {
        // SAFETY: the memory is the launch's, and nobody else uses it.
        unsafe { host_bytes_mut(address, len) }.copy_from_slice(memory.contents(device, len));
    }
    Ok(report)
}

/// The kernel that is asked for.
fn entry<'a>(launch: &Ptx<'a>, parsed: &ptx::Module<'a>) -> Result<&'a str> {
    let all: Vec<String> = parsed.entries().map(|f| f.name.to_string()).collect();
    let named = |name: &str| parsed.entries().map(|f| f.name).find(|known| *known == name);
    match (launch.entry, all.as_slice()) {
        (_, []) => Err(fail(Code::E0908, "the PTX has no kernels")),
        (None, [only]) => named(only).ok_or_else(|| fail(Code::E0908, "the PTX has no kernels")),
        (None, _) => Err(fail(Code::E1003, format!("the PTX has several kernels, name one: {}", list(&all)))),
        (Some(name), _) => named(name)
            .ok_or_else(|| fail(Code::E0905, format!("the PTX has no kernel `{name}`; it has {}", list(&all)))),
    }
}

/// Whether the launch gives what the kernel takes.
fn fits(launch: &Ptx, code: &sim::Code) -> Result<()> {
    let kernel = &code.entry;
    if code.params.len() != launch.params.len() {
        let (takes, given) = (code.params.len(), launch.params.len());
        return Err(fail(Code::E1004, format!("`{kernel}` takes {takes} parameters, and the launch gives {given}")));
    }
    for ((name, ty), &(_, takes)) in launch.params.iter().zip(&code.params) {
        let given = match ty {
            Type::Array(_) => 8,
            ty => Layout::of(*ty, &StructTable::default()).size,
        };
        if given != takes {
            let message = format!("argument `{name}` has {given} bytes, and `{kernel}` takes {takes} there");
            return Err(fail(Code::E1005, message));
        }
    }
    let threads = u64::from(launch.block.iter().product::<u32>());
    if code.max_threads.is_some_and(|most| threads > most)
        || code.required_threads.is_some_and(|required| threads != required)
    {
        let bound = code.required_threads.or(code.max_threads).unwrap_or(0);
        return Err(fail(Code::E1006, format!("`{kernel}` is made for blocks of {bound} threads, not {threads}")));
    }
    let shared = code.shared_bytes + launch.shared_bytes;
    if shared > MOST_SHARED {
        let message = format!("`{kernel}` has {shared} bytes of shared memory; a block can have {MOST_SHARED}");
        return Err(fail(Code::E1006, message));
    }
    Ok(())
}

/// The text is no PTX, or has what is not known.
fn refused(launch: &Ptx, error: &ptx::Error) -> Fail {
    let at = line_span(launch.file, launch.text, error.at);
    Box::new(match error.unknown {
        true => messages::unknown_ptx(&error.message, at),
        false => messages::invalid_ptx(&error.message, at),
    })
}
