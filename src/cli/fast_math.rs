//! `--fast-math`.

use crate::diag::Code;
use crate::run::{Result, fail};

#[derive(clap::Args, Clone, Copy, Debug)]
pub(super) struct FastMathArg {
    /// GPU code takes the hardware's approximations of float32 functions, quotients and roots, and
    /// subnormal numbers are zeros, as `-use_fast_math` of nvcc has it. Host code stays as it is.
    /// So do files with `wp.set_module_options({"fast_math": True})`, without this option.
    #[arg(long = "fast-math")]
    pub on: bool,
}

impl FastMathArg {
    /// nvcc's option lets products and sums fuse, too.
    pub fn allows(self, fmad: bool) -> Result<()> {
        if self.on && !fmad {
            return Err(fail(
                Code::E1012,
                "--fast-math lets products and sums fuse, and --fmad off forbids it: give one of them",
            ));
        }
        Ok(())
    }
}
