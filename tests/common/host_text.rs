//! Does CUDA text mean what the IR means? The text is built for the host, with a shim for CUDA's built-ins, and every
//! kernel's results are compared bit for bit with those of the reference interpreter.

use kc::abi::LaunchBounds;
use kc::ir::interp::{Outcome, run_kernel};
use kc::ir::{FuncId, Function, FunctionKind, Module};
use kc::types::{Scalar, Type};
use libloading::Library;

use crate::arguments::Arguments;
use crate::cpp;

/// Extents of launches and arrays, by dimension: small, all different, and none a multiple of another.
const LAUNCH: [u32; 4] = [5, 4, 3, 2];
const EXTENTS: [i32; 4] = [7, 5, 6, 4];

/// Runs every kernel of `text`, which was printed from `module`, on the host, and compares it with the interpreter.
#[track_caller]
pub fn assert_same_results(module: &Module, text: &str) {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let kernels: Vec<&Function> = module.kernels().map(|(_, kernel)| kernel).collect();
    let library =
        cpp::build(&kernels, text, folder.path(), "-O1").unwrap_or_else(|message| panic!("{message}\n{text}"));
    for (id, kernel) in module.kernels() {
        compare(module, id, kernel, &library, text);
    }
}

#[track_caller]
fn compare(module: &Module, id: FuncId, kernel: &Function, library: &Library, text: &str) {
    let FunctionKind::Kernel { rank } = kernel.kind else { return };
    let launch = LaunchBounds::new(&LAUNCH[..usize::from(rank)]).expect("a small launch");
    let types: Vec<Type> = kernel.params().iter().map(|&p| kernel.ty(p)).collect();
    // Numbers of every kind, or only such as convert to every integer type.
    for tame in [false, true] {
        if !tame && kernel.name.ends_with("_finite") {
            continue;
        }
        let arguments = || {
            let mut state = 0x2545_f491_4f6c_dd1d;
            Arguments::new(module, &types, EXTENTS, &mut |scalar| number(&mut state, tame, scalar))
        };
        let expected = arguments();
        let mut outcome = Outcome::new(|_| {});
        // SAFETY: the argument block describes memory that `expected` owns.
        unsafe { run_kernel(module, id, &launch, expected.block.as_ptr().cast(), 0, u64::MAX, &mut outcome) };
        assert!(outcome.trap.is_none(), "{}: {:?}", kernel.name, outcome.trap);

        let mut found = arguments();
        cpp::run(library, kernel, &launch, &mut found);
        for (n, (e, f)) in expected.arrays.iter().zip(&found.arrays).enumerate() {
            let differs = e.first_difference(f);
            assert!(
                differs.is_none(),
                "kernel `{}`, array {n}: the CUDA text differs from the IR at scalar {differs:?}\n{text}",
                kernel.name
            );
        }
    }
}

/// The bits of the next number. Integers are small, so that they can be indices from either end.
fn number(state: &mut u64, tame: bool, scalar: Scalar) -> u64 {
    // xorshift64 (Marsaglia, "Xorshift RNGs", 2003)
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    let draw = *state >> 20;
    let constant = match scalar {
        Scalar::Bool => kc::ir::Const::bool(draw.is_multiple_of(2)),
        s if s.is_signed_int() => kc::ir::Const::int(s, i128::from(draw % 8) - 4),
        s if s.is_int() => kc::ir::Const::int(s, i128::from(draw % 4)),
        s => {
            const SPECIAL: [f64; 6] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 1e30, 1e-40];
            let special = SPECIAL.get((draw % 40) as usize).filter(|_| !tame);
            let ordinary = ((draw >> 8) % 4001) as f64 / 100.0 - 20.0;
            kc::ir::Const::float(s, special.copied().unwrap_or(ordinary))
        }
    };
    constant.bits
}
