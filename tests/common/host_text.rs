//! Does CUDA text mean what the IR means? The text is built for the host, with a shim for CUDA's
//! built-ins, and every kernel's results are compared bit for bit with those of the reference
//! interpreter.

use std::ffi::c_void;

use kc::abi::{ArrayDescriptor, LaunchBounds};
use kc::codegen::cuda::{Argument, PlainEntry};
use kc::ir::interp::{Outcome, run_kernel};
use kc::ir::{FuncId, Function, FunctionKind, Module};
use kc::types::{Scalar, Type};

use crate::arguments::Arguments;
use crate::cpp;

/// Extents of launches and arrays, by dimension: small, all different, and none a multiple of
/// another.
const LAUNCH: [u32; 4] = [5, 4, 3, 2];
const EXTENTS: [i32; 4] = [7, 5, 6, 4];

/// Runs every kernel of `text`, which was printed from `module`, on the host, and compares it with
/// the interpreter.
#[track_caller]
pub fn assert_same_results(module: &Module, text: &str) {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let kernels: Vec<&Function> = module.kernels().map(|(_, kernel)| kernel).collect();
    let library =
        cpp::build(&kernels, text, folder.path(), "-O1").unwrap_or_else(|message| panic!("{message}\n{text}"));
    for (id, kernel) in module.kernels() {
        let run = |launch: &LaunchBounds, found: &mut Arguments| cpp::run(&library, kernel, launch, found);
        // Numbers of every kind, or only such as convert to every integer type.
        for numbers in [Numbers::Any, Numbers::Tame] {
            if numbers == Numbers::Tame || !kernel.name.ends_with("_finite") {
                compare(module, id, kernel, numbers, &run, text);
            }
        }
    }
}

/// The same for a text whose kernels take plain parameters: those of `entries`. Each grid has a
/// block too many.
#[track_caller]
pub fn assert_same_plain(module: &Module, text: &str, entries: &[PlainEntry], numbers: &[Numbers]) {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let mut wrappers = String::new();
    for PlainEntry { name, .. } in entries {
        wrappers.push_str(&format!(
            "extern \"C\" void call_{name}(const void *grid, void **args) {{ run_grid({name}, (const unsigned *)grid, args); }}\n"
        ));
    }
    let library =
        cpp::build_with(&wrappers, text, folder.path(), "-O1").unwrap_or_else(|message| panic!("{message}\n{text}"));
    for entry in entries {
        let kernel = &module.functions[entry.kernel];
        let run = |launch: &LaunchBounds, found: &mut Arguments| {
            let block = found.block.as_mut_ptr().cast::<u8>();
            let at = |n: u32, more: usize| -> *mut c_void {
                block.wrapping_add(found.offsets[n as usize] as usize + more).cast()
            };
            let launch_extent = |dim: u8| std::ptr::from_ref(&launch.shape[usize::from(dim)]).cast_mut().cast();
            let shape = std::mem::offset_of!(ArrayDescriptor, shape);
            let argument = |argument: &Argument| match *argument {
                Argument::Array(n) => at(n, std::mem::offset_of!(ArrayDescriptor, data)),
                Argument::Extent(n, dim) => at(n, shape + usize::from(dim) * size_of::<i32>()),
                Argument::Value(n) => at(n, 0),
                Argument::Launch(dim) => launch_extent(dim),
            };
            let mut args: Vec<*mut c_void> = entry.arguments.iter().map(argument).collect();
            let FunctionKind::Kernel { rank } = kernel.kind else { return };
            let mut grid = [1; 3];
            match entry.grid {
                1 => grid[0] = launch.shape[..usize::from(rank)].iter().product::<u32>() + 1,
                axes => (0..axes).for_each(|n| grid[usize::from(n)] = launch.shape[usize::from(axes - 1 - n)] + 1),
            }
            cpp::run_at(&library, &entry.name, grid.as_ptr().cast(), &mut args);
        };
        for &numbers in numbers {
            if numbers != Numbers::Any || !kernel.name.ends_with("_finite") {
                compare(module, entry.kernel, kernel, numbers, &run, text);
            }
        }
    }
}

/// Which arguments a kernel is given, and how exactly its results must agree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Numbers {
    /// Any floats, bit for bit.
    Any,
    /// Floats that convert to every integer type, bit for bit.
    Tame,
    /// Floats near one and natural numbers, up to rounding: for what computes the same in another
    /// order.
    Near,
}

#[track_caller]
fn compare(
    module: &Module,
    id: FuncId,
    kernel: &Function,
    numbers: Numbers,
    run: &dyn Fn(&LaunchBounds, &mut Arguments),
    text: &str,
) {
    let FunctionKind::Kernel { rank } = kernel.kind else { return };
    let launch = LaunchBounds::new(&LAUNCH[..usize::from(rank)]).expect("a small launch");
    let types: Vec<Type> = kernel.params().iter().map(|&p| kernel.ty(p)).collect();
    let arguments = || {
        let mut state = 0x2545_f491_4f6c_dd1d;
        Arguments::new(module, &types, EXTENTS, &mut |scalar| number(&mut state, numbers, scalar))
    };
    let expected = arguments();
    let mut outcome = Outcome::new(|_| {});
    // SAFETY: the argument block describes memory that `expected` owns.
    unsafe { run_kernel(module, id, &launch, expected.block.as_ptr().cast(), 0, u64::MAX, &mut outcome) };
    assert!(outcome.trap.is_none(), "{}: {:?}", kernel.name, outcome.trap);
    let mut found = arguments();
    run(&launch, &mut found);
    for (n, (e, f)) in expected.arrays.iter().zip(&found.arrays).enumerate() {
        let differs = match numbers {
            Numbers::Near => e.first_far(f),
            Numbers::Any | Numbers::Tame => e.first_difference(f),
        };
        assert!(
            differs.is_none(),
            "kernel `{}`, array {n}: the CUDA text differs from the IR at scalar {differs:?}\n{text}",
            kernel.name
        );
    }
}

/// The bits of the next number. Integers are small, so that they can be indices from either end.
fn number(state: &mut u64, numbers: Numbers, scalar: Scalar) -> u64 {
    // xorshift64 (Marsaglia, "Xorshift RNGs", 2003)
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    let draw = *state >> 20;
    let constant = match scalar {
        Scalar::Bool => kc::ir::Const::bool(draw.is_multiple_of(2)),
        s if s.is_signed_int() && numbers == Numbers::Near => kc::ir::Const::int(s, i128::from(draw % 4)),
        s if s.is_signed_int() => kc::ir::Const::int(s, i128::from(draw % 8) - 4),
        s if s.is_int() => kc::ir::Const::int(s, i128::from(draw % 4)),
        s if numbers == Numbers::Near => kc::ir::Const::float(s, 0.5 + (draw % 4096) as f64 / 4096.0),
        s => {
            const SPECIAL: [f64; 6] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 1e30, 1e-40];
            let special = SPECIAL.get((draw % 40) as usize).filter(|_| numbers == Numbers::Any);
            let ordinary = ((draw >> 8) % 4001) as f64 / 100.0 - 20.0;
            kc::ir::Const::float(s, special.copied().unwrap_or(ordinary))
        }
    };
    constant.bits
}
