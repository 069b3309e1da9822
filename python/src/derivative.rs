//! How are the derivatives of a kernel asked for? What the Python half has sorted out (`kc/_derivative.py`) is bound and run.

use std::collections::HashMap;
use std::sync::Arc;

use kc::analysis::alias::Root;
use kc::embed::{Dim, Form, Gradient, ParameterGradient, Part};
use kc::{Outcome, Warning};
use pyo3::prelude::*;

use crate::bind::Binder;
use crate::error;
use crate::kernel::{Kernel, conclude};

/// Arrays that are one: parameter, then fields, of each.
type Same = Vec<(Vec<u32>, Vec<u32>)>;
/// Name, shape and numbers of the gradient of a value.
type Found = Vec<(String, Vec<u64>, Vec<f64>)>;

fn form(parameters: bool, same: Same) -> Form {
    let root = |path: Vec<u32>| {
        let mut path = path.into_iter();
        Root::Param(path.next().unwrap_or(0), path.collect())
    };
    Form { parameters, same: same.into_iter().map(|(a, b)| (root(a), root(b))).collect() }
}

/// Runs the kernel and its derivative, or with `backward` the derivative alone; `gradients` are those of arrays by name.
/// `silent`: what it prints was printed before.
#[pyfunction]
#[pyo3(signature = (kernel, dim, values, gradients, same, *, parameters=false, backward=false, silent=false))]
#[expect(clippy::too_many_arguments, reason = "they are named in Python")]
pub fn gradient<'py>(
    kernel: &Bound<'py, Kernel>,
    dim: Vec<usize>,
    values: Vec<Bound<'py, PyAny>>,
    gradients: HashMap<String, Bound<'py, PyAny>>,
    same: Same,
    parameters: bool,
    backward: bool,
    silent: bool,
) -> PyResult<Found> {
    let py = kernel.py();
    let ready = &kernel.get().ready(py)?.kernel;
    let gradient = derived(kernel, form(parameters, same))?;
    let binder = bound(&gradient, &values, gradients)?;
    let part = if backward { Part::Backward } else { Part::Both };
    let dim = Dim::from(&dim[..]);
    // SAFETY: the arguments fit, and `values` and the binder keep their memory; the gradients are arrays that can be
    // written. The Python half has seen to what they share.
    let ran = py.detach(|| unsafe { ready.gradient_bound(&gradient, &dim, &binder.laid, part) });
    let (outcome, found) = match ran {
        Ok((mut outcome, found)) => {
            warn(py, std::mem::take(&mut outcome.warnings))?;
            (Ok(if silent { Outcome::default() } else { outcome }), found)
        }
        Err(error) => (Err(error), Vec::new()),
    };
    conclude(py, outcome)?;
    Ok(found.into_iter().map(|ParameterGradient { name, shape, sums }| (name, shape, sums)).collect())
}

/// Raises what [`gradient`] would raise where the order of threads shows; nothing is run. False: it follows from extents and
/// integers alone that there is nothing to raise.
#[pyfunction]
pub fn look<'py>(
    kernel: &Bound<'py, Kernel>,
    dim: Vec<usize>,
    values: Vec<Bound<'py, PyAny>>,
    gradients: HashMap<String, Bound<'py, PyAny>>,
    same: Same,
) -> PyResult<bool> {
    let py = kernel.py();
    let ready = &kernel.get().ready(py)?.kernel;
    let gradient = derived(kernel, form(false, same))?;
    let binder = bound(&gradient, &values, gradients)?;
    let dim = Dim::from(&dim[..]);
    // SAFETY: as above.
    py.detach(|| unsafe { ready.look(&gradient, &dim, &binder.laid) }).map_err(|error| error::raise(py, &error))
}

fn derived(kernel: &Bound<'_, Kernel>, form: Form) -> PyResult<Arc<Gradient>> {
    let py = kernel.py();
    let ready = &kernel.get().ready(py)?.kernel;
    py.detach(|| ready.gradient_of(form)).map_err(|error| error::raise(py, &error))
}

fn bound<'g, 'py>(
    gradient: &'g Gradient,
    values: &[Bound<'py, PyAny>],
    gradients: HashMap<String, Bound<'py, PyAny>>,
) -> PyResult<Binder<'g, 'py>> {
    let mut binder = Binder::new(gradient.signature(), gradient.structs()).with(gradients);
    for (n, value) in values.iter().enumerate() {
        binder.bind(n, value).map_err(|fault| fault.raise(value.py()))?;
    }
    Ok(binder)
}

/// `kc.GradientWarning` for each, at the line of the program that asked for the gradient.
fn warn(py: Python<'_>, warnings: Vec<Warning>) -> PyResult<()> {
    if warnings.is_empty() {
        return Ok(());
    }
    let warn = py.import("kc._errors")?.getattr("warn")?;
    warnings.into_iter().try_for_each(|one| warn.call1((one.text, one.code)).map(drop))
}

/// What the derivative of a launch needs: values that the launch overwrites; and the arrays, of `paths`, that it reads as the
/// launch left them.
#[pyfunction]
pub fn needs(kernel: &Bound<'_, Kernel>, same: Same, paths: Vec<Vec<u32>>) -> PyResult<(bool, Vec<bool>)> {
    let gradient = derived(kernel, form(false, same))?;
    Ok((gradient.records(), paths.iter().map(|path| gradient.reads(path)).collect()))
}

/// Runs the kernel in forward mode: `values`, then a tangent for each.
#[pyfunction]
pub fn tangents<'py>(kernel: &Bound<'py, Kernel>, dim: Vec<usize>, values: Vec<Bound<'py, PyAny>>) -> PyResult<()> {
    let py = kernel.py();
    let ready = &kernel.get().ready(py)?.kernel;
    let signature = py.detach(|| ready.tangent_signature()).map_err(|error| error::raise(py, &error))?;
    let mut binder = Binder::new(signature.0, signature.1);
    for (n, value) in values.iter().enumerate() {
        binder.bind(n, value).map_err(|fault| fault.raise(py))?;
    }
    let (dim, laid) = (Dim::from(&dim[..]), &binder.laid);
    // SAFETY: as above.
    let outcome = py.detach(|| unsafe { ready.tangents_bound(&dim, laid) });
    conclude(py, outcome)
}
