//! How do a kernel's gradients change when its arguments change a little? Forward mode of the
//! backward entry: products with second derivatives, for bindings of other languages.

use std::sync::Arc;

use super::arg::Dim;
use super::bind::{self, Bound, Signature};
use super::derivative::Ran;
use super::kernel::{execute, signature};
use super::resident::Residents;
use super::{Error, Kernel, Module, Outcome, messages};
use crate::analysis::order;
use crate::driver;
use crate::ir::{FuncId, Phase};
use crate::run::Result;
use crate::run::devices::{Device, Entry, Job};
use crate::run::program::Program;
use crate::types::StructTable;

/// The word before the kernel's name that its entry has in machine code.
pub(super) const SECOND: &str = "second_";

/// The backward entry with a tangent `d_x` for each parameter `x`, after them all and their
/// adjoints: the data of the array `d_x` are a tangent of the array, its gradient is the tangent of
/// the gradient.
pub(super) struct Second {
    pub(super) program: Arc<Program>,
    pub(super) kernel: FuncId,
    pub(super) signature: Signature,
    entry: Entry,
    pub(super) resident: Residents,
}

impl Second {
    pub fn new(module: &Module, name: &str, device: &'static dyn Device) -> std::result::Result<Second, Error> {
        let (compilation, made) = module.with_second(name)?;
        let ir = &compilation.module;
        let backward = ir.entry(name, Phase::Backward);
        let forward = ir.entry(name, Phase::Forward);
        let keeps = ir.entry(name, Phase::Augmented).is_some()
            || backward.is_some_and(|entry| !ir.functions[entry].tape.is_empty());
        let why = match made {
            Err(why) => Some(why),
            Ok(_) if keeps => Some("its derivative keeps values of the launch".to_string()),
            Ok(_) if forward.is_some_and(|kernel| order::moves_floats(ir, kernel)) => {
                Some("the order of its threads is part of what it computes".to_string())
            }
            Ok(made) => {
                let program = Arc::new(compilation);
                let entry = Entry::new(&program.module, made, device, module.how());
                let signature = signature(&program, made).named(name);
                return Ok(Second { program, kernel: made, signature, entry, resident: Residents::of_second() });
            }
        };
        let program = Arc::new(compilation);
        Err(Error::new(vec![messages::no_second_derivative(name, &why.unwrap_or_default())], program))
    }

    /// # Safety
    /// As for [`Kernel::second_bound`].
    unsafe fn run(&self, kernel: &Kernel, dim: &Dim, bound: &Bound) -> Result<Ran> {
        let module = &self.program.module;
        let bounds = bind::bounds(dim, &module.functions[self.kernel], kernel.block_dim)?;
        let mut block = bound.grown(self.signature.size());
        let made = bound.complete(&mut block, &module.structs)?;
        let more = made.iter().map(|gradient| (gradient.address(), gradient.bytes().len() as u64));
        let memory: Vec<(u64, u64)> = bound.memory.iter().copied().chain(more).collect();
        let job = Job { memory: &memory, constant: &bound.constant, ..kernel.job(bounds, block.as_ptr().cast()) };
        // SAFETY: the block is that of the entry; the arrays are the caller's, as promised.
        let report = unsafe { execute(&self.entry, &self.program, &job, &kernel.shared) }?;
        Ok(Ran::new(bounds, dim.extents().len(), report))
    }
}

/// For bindings of other languages.
#[doc(hidden)]
impl Kernel {
    /// What its second derivative takes: the arguments, as many arrays of adjoints, which are null
    /// here, and from [`Kernel::first_tangent`] on a tangent for each argument. All arrays of
    /// floats among them have gradients.
    ///
    /// # Errors
    /// The kernel has no second derivative.
    pub fn second_signature(&self) -> std::result::Result<(&Signature, &StructTable), Error> {
        let second = self.second()?;
        Ok((&second.signature, &second.program.module.structs))
    }

    /// Which parameter of [`Kernel::second_signature`] is the tangent of the first argument.
    pub fn first_tangent(&self) -> usize {
        2 * self.signature().params().len()
    }

    /// Runs its derivative in reverse mode on arrays as the kernel left them, and beside it how the
    /// gradients change along the tangents.
    ///
    /// # Errors
    /// Those of [`Kernel::launch`]; or there is no second derivative.
    ///
    /// # Safety
    /// The arguments were laid out for [`Kernel::second_signature`]; otherwise as for
    /// [`Kernel::launch_bound`]. A launch with these arguments was looked at ([`Kernel::look`]).
    pub unsafe fn second_bound(&self, dim: &Dim, bound: &Bound) -> std::result::Result<Outcome, Error> {
        let second = self.second()?;
        // SAFETY: the caller's promise.
        let ran = unsafe { second.run(self, dim, bound) };
        let Ran { bounds, dims, report, .. } = ran.map_err(|error| self.error(error, &second.program))?;
        self.conclude(&second.program, second.kernel, &bounds, dims, report)
    }
}

impl Module {
    /// All entries of one kernel, and forward mode of its backward entry; or why there is none.
    fn with_second(&self, kernel: &str) -> std::result::Result<(Program, std::result::Result<FuncId, String>), Error> {
        let mut compilation = self.compiled(kernel)?;
        let made = driver::guard(|| {
            let made = match compilation.differentiable() {
                Some(mut differentiable) => differentiable.second_order(kernel).map(|(_, backward)| backward),
                None => Err("it was compiled without gradients".to_string()),
            };
            (compilation, made)
        });
        let (mut compilation, made) = made.map_err(Error::fault)?;
        if let Ok(made) = made {
            // Forward mode of the forward entry has the same name in the source, from which the one
            // in machine code comes.
            compilation.module.functions[made].source_name = format!("{SECOND}{kernel}");
        }
        Ok((super::module::into_program(compilation), made))
    }
}
