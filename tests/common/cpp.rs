//! Builds CUDA text for the host, with a shim for CUDA's built-ins, and calls its kernels.

use std::ffi::c_void;
use std::path::Path;
use std::process::Command;

use kc::abi::{LaunchBounds, device_entry};
use kc::ir::Function;
use libloading::{Library, Symbol};

use crate::arguments::Arguments;

/// Compiles the text for the host, with one plain C entry for each of `kernels`.
pub fn build(kernels: &[&Function], text: &str, folder: &Path, optimise: &str) -> Result<Library, String> {
    let mut wrappers = String::new();
    for kernel in kernels {
        let entry = device_entry(&kernel.source_name, kernel.phase);
        wrappers.push_str(&format!(
            "extern \"C\" void call_{entry}(const void *launch, void **args) {{ call({entry}, launch, args); }}\n"
        ));
    }
    build_with(&wrappers, text, folder, optimise)
}

/// The same, with the C entries `wrappers`.
pub fn build_with(wrappers: &str, text: &str, folder: &Path, optimise: &str) -> Result<Library, String> {
    let texts = [
        ("asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(bits) : \"f\"(x));", "half_from_float(bits, x);"),
        ("asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(x) : \"h\"(bits));", "float_from_half(x, bits);"),
        // Blocks have one thread, and come one after the other: what a launch asks for is theirs.
        (
            "extern __shared__ __align__(16) unsigned char block_memory[];",
            "alignas(16) static unsigned char block_memory[227 << 10];",
        ),
    ];
    let mut source = format!("#define __CUDACC_RTC__ 1\n{}\n{text}\n", include_str!("host_shim.h"));
    for (device, host) in texts {
        source = source.replace(device, host);
    }
    assert!(!source.contains("asm("), "inline assembly that the host shim does not know");
    source.push_str(wrappers);
    let (input, output) = (folder.join("kernels.cpp"), folder.join("kernels.so"));
    std::fs::write(&input, source).expect("the temporary folder is writable");
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_string());
    let flags = ["-std=c++17", optimise, "-w", "-shared", "-fPIC", "-fno-strict-aliasing", "-ffp-contract=off"];
    let run = Command::new(&compiler).args(flags).arg("-o").arg(&output).arg(&input).output();
    let run = run.map_err(|error| format!("{compiler} does not start: {error}"))?;
    if !run.status.success() {
        return Err(format!("{compiler}:\n{}", String::from_utf8_lossy(&run.stderr)));
    }
    // SAFETY: the library was built from the text just now and has no initialisers.
    unsafe { Library::new(&output) }.map_err(|error| format!("what the compiler built cannot be loaded: {error}"))
}

/// Runs a kernel of a library that [`build`] made.
pub fn run(library: &Library, kernel: &Function, launch: &LaunchBounds, arguments: &mut Arguments) {
    let base = arguments.block.as_mut_ptr().cast::<u8>();
    let mut args: Vec<*mut c_void> =
        arguments.offsets.iter().map(|&offset| base.wrapping_add(offset as usize).cast()).collect();
    let entry = device_entry(&kernel.source_name, kernel.phase);
    run_at(library, &entry, std::ptr::from_ref(launch).cast(), &mut args);
}

/// Runs the entry of a kernel with arguments at the given addresses; `launch` is what its wrapper
/// takes first.
pub fn run_at(library: &Library, entry: &str, launch: *const c_void, args: &mut [*mut c_void]) {
    // SAFETY: there is a wrapper of this type for each kernel; its arguments have the layouts that
    // `abi` states.
    unsafe {
        let entry: Symbol<unsafe extern "C" fn(*const c_void, *mut *mut c_void)> =
            library.get(format!("call_{entry}\0").as_bytes()).expect("an entry for every kernel");
        entry(launch, args.as_mut_ptr());
    }
}
