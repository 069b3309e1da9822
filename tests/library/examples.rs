//! Do the examples in the docs compile, and do their checks hold?

use std::path::Path;

use kc::codegen::llvm::{Atomics, Cpu, HostModule, HostOptions, Opt};
use kc::driver::{Compiler, Gradients, Request};
use kc::ir::FuncId;
use kc::library::Library;
use kc::source::SourceMap;
use kc::types::{Scalar, Type};
use libtest_mimic::Failed;

use crate::memory::{self, Memory};

/// An example is the body of a kernel, which has the array `data` of eight float32.
pub fn check(name: &str) -> Result<(), Failed> {
    let (library, mut sources) = (Library::default(), SourceMap::default());
    let mut count = 0;
    let mut missing = false;
    for entry in library.entries(name, &mut sources).iter() {
        let examples = kc::library::reference::examples(entry.function.doc.as_deref().unwrap_or_default());
        missing |= entry.intrinsic && examples.is_empty();
        for example in examples {
            count += 1;
            run(&example)?;
        }
    }
    // Nothing else tests what the compiler itself knows.
    if missing && count == 0 { Err(format!("`{name}` has no example").into()) } else { Ok(()) }
}

fn run(example: &str) -> Result<(), Failed> {
    let mut text = "import warp as wp\n\n\n@wp.kernel\ndef example(data: wp.array(dtype=float)):\n".to_string();
    for line in example.lines() {
        text += &format!("    {line}\n");
    }
    let request = Request { gradients: Gradients { backward: false, ..Gradients::default() }, ..Request::default() };
    let compilation = Compiler::new().load_text(Path::new("example.py"), text.clone(), &request);
    if compilation.diagnostics.has_errors() {
        let messages: Vec<&str> = compilation.diagnostics.iter().map(|d| d.message.as_str()).collect();
        return Err(format!("{}\n{text}", messages.join("\n")).into());
    }
    let module = &compilation.module;
    let kernels: Vec<FuncId> = module.kernels().map(|(id, _)| id).collect();
    let options = HostOptions { checked: true, opt: Opt::Full, cpu: Cpu::Native, atomics: Atomics::Shared };
    let host = HostModule::compile(module, &kernels, &options).map_err(|error| error.to_string())?;
    for kernel in kernels {
        let mut data = [Memory::zeroed(Type::Scalar(Scalar::F32), 8)];
        memory::interpret(module, kernel, 1, &mut data).map_err(|error| format!("{error}\n{text}"))?;
        let entry = host.entry(kernel).ok_or("no entry")?;
        memory::run(entry, 1, &mut [Memory::zeroed(Type::Scalar(Scalar::F32), 8)])?;
    }
    Ok(())
}
