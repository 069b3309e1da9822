//! How does an NVIDIA GPU run a kernel? As PTX, on the first one that the driver knows.

use super::{Device, Executable, Found, How};
use crate::ir::{FuncId, Module};
use crate::run::Result;

#[cfg(feature = "cuda")]
mod driver;

/// NVIDIA GPUs, through the CUDA driver.
pub struct Cuda;

impl Device for Cuda {
    fn name(&self) -> &'static str {
        "cuda"
    }

    fn about(&self) -> &'static str {
        "The first NVIDIA GPU, through its driver"
    }

    #[cfg(feature = "cuda")]
    fn found(&self) -> Result<Vec<Found>> {
        let (version, list) = driver::devices()?;
        Ok(list.iter().map(|gpu| gpu.found(version)).collect())
    }

    #[cfg(feature = "cuda")]
    fn prepare(&self, module: &Module, kernel: FuncId, how: &How) -> Result<Box<dyn Executable>> {
        Ok(Box::new(driver::Kernel::load(module, kernel, how.fmad)?))
    }

    #[cfg(not(feature = "cuda"))]
    fn found(&self) -> Result<Vec<Found>> {
        Err(left_out())
    }

    #[cfg(not(feature = "cuda"))]
    fn prepare(&self, _: &Module, _: FuncId, _: &How) -> Result<Box<dyn Executable>> {
        Err(left_out())
    }

    fn keeps_order(&self) -> bool {
        false
    }

    fn reports_prints(&self) -> bool {
        false
    }
}

/// Why there is no such device in this program.
#[cfg(not(feature = "cuda"))]
fn left_out() -> crate::run::Fail {
    let message = "the device `cuda` is not available: kc was built without it (the feature `cuda`)";
    crate::run::fail(crate::diag::Code::E1104, message)
}
