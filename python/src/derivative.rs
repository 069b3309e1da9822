//! How are the derivatives of a kernel asked for? What the Python half has sorted out
//! (`kc/_derivative.py`) is bound and run.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};

use kc::Outcome;
use kc::analysis::alias::Root;
use kc::embed::{Dim, Form, Gradient, ParameterGradient, Part};
use kc::types::Type;
use numpy::PyUntypedArray;
use pyo3::prelude::*;

use crate::arguments::{self, Arguments};
use crate::bind::Binder;
use crate::device;
use crate::error::{self, Refused};
use crate::kernel::{Kernel, Ready, conclude, warn};
use crate::memory::{apart, on_host, zeros_like};
use crate::module::interruptible;
use crate::view::Gpu;

/// Arrays that are one: parameter, then fields, of each.
type Same = Vec<(Vec<u32>, Vec<u32>)>;
/// Name, shape and numbers of the gradient of a value.
type Found = Vec<(String, Vec<u64>, Vec<f64>)>;

/// The gradients of arrays by the arrays' names.
pub type Gradients<'py> = HashMap<String, Bound<'py, PyAny>>;

/// A launch whose derivative is asked for.
pub struct Launch {
    pub kernel: Py<Kernel>,
    pub dim: Dim,
    pub arguments: Arguments,
    pub gradient: Arc<Gradient>,
}

impl Launch {
    /// `parameters`: with gradients of what is given by value.
    pub fn new(
        kernel: &Bound<'_, Kernel>,
        ready: &Ready,
        dim: Dim,
        values: &[Bound<'_, PyAny>],
        parameters: bool,
    ) -> PyResult<Launch> {
        let py = kernel.py();
        let arguments = Arguments::of(kernel, values)?;
        let root = |n: usize| {
            let path = &arguments.part(ready, n).path;
            Root::Param(path[0], path[1..].to_vec())
        };
        let same = arguments.same().map(|(a, b)| (root(a), root(b))).collect();
        let form = Form { parameters, same, ..Form::default() };
        let gradient = derived(py, ready, form)?;
        for given in &arguments.arrays {
            let part = &ready.parts().arrays[given.part];
            if part.floats && given.written && !given.place.is_plain(py) {
                let (name, kernel) = (&part.name, ready.kernel.name());
                let text =
                    format!("elements of argument `{name}` of kernel `{kernel}` share memory, and it writes to them");
                return Err(Refused::new("E1010", text).raise(py));
            }
        }
        Ok(Launch { kernel: kernel.clone().unbind(), dim, arguments, gradient })
    }

    /// The derivative of it, with these values and gradients.
    pub fn call<'a, 'py>(
        &'a self,
        ready: &'a Ready,
        values: &'a [Bound<'py, PyAny>],
        gradients: Gradients<'py>,
    ) -> Call<'a, 'py> {
        Call { ready, gradient: &self.gradient, dim: &self.dim, values, gradients }
    }

    /// Raises where the order of threads would show in the gradient.
    pub fn look(&self, py: Python<'_>, ready: &Ready) -> PyResult<()> {
        let form = arguments::form(py, &self.arguments, self.dim.extents());
        let known = || ready.free.lock().unwrap_or_else(PoisonError::into_inner);
        if form.as_ref().is_some_and(|form| known().contains(form)) {
            return Ok(());
        }
        let arrays = &self.arguments.arrays;
        // On a GPU the race check runs once for each form of launch, on copies.
        let far = self.arguments.is_far(py);
        let mut data: Vec<Bound<'_, PyUntypedArray>> = Vec::with_capacity(arrays.len());
        let mut made: Vec<Option<Bound<'_, PyUntypedArray>>> = Vec::with_capacity(arrays.len());
        let mut given = Gradients::default();
        for (n, array) in arrays.iter().enumerate() {
            let part = self.arguments.part(ready, n);
            if array.first != n {
                data.push(data[array.first].clone());
                made.push(made[array.first].clone());
            } else {
                let own = array.array.bind(py);
                data.push(if far {
                    on_host(own)?
                } else if array.place.is_plain(py) {
                    own.clone()
                } else {
                    apart(own)?
                });
                made.push(if part.floats { Some(zeros_like(&data[n])?) } else { None });
            }
            if let Some(gradient) = &made[n] {
                given.insert(part.name.clone(), gradient.clone().into_any());
            }
        }
        let values = self.arguments.filled(py, &mut |n| Ok(data[n].clone().into_any()))?;
        let looked = self.call(ready, &values, given).look(py)?;
        if let Some(form) = form.filter(|_| !looked || far) {
            /// Of how many forms is remembered that there is nothing to look at.
            const MOST: usize = 256;
            let mut known = known();
            if known.len() >= MOST {
                known.clear();
            }
            known.insert(form);
        }
        Ok(())
    }
}

fn form_of(parameters: bool, same: Same) -> Form {
    let root = |path: Vec<u32>| {
        let mut path = path.into_iter();
        Root::Param(path.next().unwrap_or(0), path.collect())
    };
    let same = same.into_iter().map(|(a, b)| (root(a), root(b))).collect();
    Form { parameters, same, ..Form::default() }
}

/// Runs the kernel and its derivative, or with `backward` the derivative alone; `gradients` are
/// those of arrays by name. `silent`: what it prints was printed before.
#[pyfunction]
#[pyo3(signature = (kernel, dim, values, gradients, same, *, parameters=false, backward=false, silent=false))]
#[expect(clippy::too_many_arguments, reason = "they are named in Python")]
pub fn gradient<'py>(
    kernel: &Bound<'py, Kernel>,
    dim: Vec<usize>,
    values: Vec<Bound<'py, PyAny>>,
    gradients: Gradients<'py>,
    same: Same,
    parameters: bool,
    backward: bool,
    silent: bool,
) -> PyResult<Found> {
    let py = kernel.py();
    let ready = kernel.get().ready(py)?;
    let gradient = derived(py, ready, form_of(parameters, same))?;
    let part = if backward { Part::Backward } else { Part::Both };
    let call = Call { ready, gradient: &gradient, dim: &Dim::from(&dim[..]), values: &values, gradients };
    call.run(py, part, silent)
}

/// A run of a derivative.
pub struct Call<'a, 'py> {
    pub ready: &'a Ready,
    pub gradient: &'a Gradient,
    pub dim: &'a Dim,
    pub values: &'a [Bound<'py, PyAny>],
    pub gradients: Gradients<'py>,
}

impl<'py> Call<'_, 'py> {
    /// Runs it; `silent`: what it prints was printed before.
    pub fn run(self, py: Python<'py>, part: Part, silent: bool) -> PyResult<Found> {
        let (kernel, gradient, dim) = (&self.ready.kernel, self.gradient, self.dim);
        let binder = Binder::new(gradient.signature(), gradient.structs()).with(self.gradients).anywhere();
        let binder = filled(binder, self.values)?;
        let ran = match binder.gpu().map_err(|refused| refused.raise(py))? {
            Some(Gpu { ordinal, stream }) => {
                let queue = device::queue(py, ordinal, stream)?;
                if !gradient.is_alone() {
                    device::takes_memory(py)?;
                }
                binder.wrote(part == Part::Both);
                // SAFETY: as below, and as for launches there.
                py.detach(|| unsafe { kernel.gradient_resident(gradient, dim, &binder.laid, part, queue) })
            }
            // SAFETY: the arguments fit, and `values` and the binder keep their memory; the
            // gradients are arrays that can be written. Who called has seen to what they share.
            None => {
                py.detach(|| unsafe { device::on_workers(kernel).gradient_bound(gradient, dim, &binder.laid, part) })
            }
        };
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

    /// Raises what [`gradient`] would raise where the order of threads shows; nothing is run.
    /// False: it follows from extents and integers alone that there is nothing to raise.
    pub fn look(self, py: Python<'py>) -> PyResult<bool> {
        let (kernel, gradient, dim) = (&self.ready.kernel, self.gradient, self.dim);
        let binder = Binder::new(gradient.signature(), gradient.structs()).with(self.gradients);
        let binder = filled(binder, self.values)?;
        // SAFETY: as above.
        let seen = py.detach(|| unsafe { kernel.look(gradient, dim, &binder.laid) });
        let seen = seen.map_err(|error| error::raise(py, &error))?;
        warn(py, seen.partly.into_iter().collect())?;
        Ok(seen.any)
    }
}

/// [`Call::look`] for Python.
#[pyfunction]
pub fn look<'py>(
    kernel: &Bound<'py, Kernel>,
    dim: Vec<usize>,
    values: Vec<Bound<'py, PyAny>>,
    gradients: Gradients<'py>,
    same: Same,
) -> PyResult<bool> {
    let py = kernel.py();
    let ready = kernel.get().ready(py)?;
    let gradient = derived(py, ready, form_of(false, same))?;
    Call { ready, gradient: &gradient, dim: &Dim::from(&dim[..]), values: &values, gradients }.look(py)
}

/// How many instructions are looked at for threads whose order shows.
#[pyfunction]
pub fn look_for(steps: u64) {
    kc::run::race_check::look_for(steps);
}

/// The gradient of a kernel, compiled when it is first asked for.
pub fn derived(py: Python<'_>, ready: &Ready, form: Form) -> PyResult<Arc<Gradient>> {
    if let Some(known) = ready.kernel.known_gradient(&form) {
        return Ok(known);
    }
    let kernel = ready.kernel.clone();
    interruptible(py, move || kernel.gradient_of(form))?.map_err(|error| error::raise(py, &error))
}

/// With all arguments.
fn filled<'g, 'py>(mut binder: Binder<'g, 'py>, values: &[Bound<'py, PyAny>]) -> PyResult<Binder<'g, 'py>> {
    for (n, value) in values.iter().enumerate() {
        binder.bind(n, value).map_err(|fault| fault.raise(value.py()))?;
    }
    Ok(binder)
}

/// Whether the derivative of a launch needs values that the launch overwrites.
#[pyfunction]
pub fn records(kernel: &Bound<'_, Kernel>, same: Same) -> PyResult<bool> {
    let py = kernel.py();
    Ok(derived(py, kernel.get().ready(py)?, form_of(false, same))?.records())
}

/// Whether the derivative of a launch takes nothing but the arguments and their gradients, so that
/// these may be on a GPU.
#[pyfunction]
pub fn is_alone(kernel: &Bound<'_, Kernel>) -> PyResult<bool> {
    let py = kernel.py();
    Ok(derived(py, kernel.get().ready(py)?, Form::default())?.is_alone())
}

/// Runs the kernel in forward mode: `values`, then a tangent for each.
#[pyfunction]
pub fn tangents<'py>(kernel: &Bound<'py, Kernel>, dim: Vec<usize>, values: Vec<Bound<'py, PyAny>>) -> PyResult<()> {
    let py = kernel.py();
    let ready = &kernel.get().ready(py)?.kernel;
    let signature = py.detach(|| ready.tangent_signature()).map_err(|error| error::raise(py, &error))?;
    let arrays = ready.signature().params().iter().find(|param| match param.ty {
        Type::Array(array) => Type::from(array.element).bears_array(ready.structs()),
        _ => false,
    });
    if let Some(param) = arrays {
        let text =
            format!("argument `{}`: its elements hold arrays, whose tangents Python has no place for", param.name);
        return Err(Refused::new("E1103", text).help("pass them as arguments, or in one struct").raise(py));
    }
    let binder = filled(Binder::new(signature.0, signature.1).anywhere(), &values)?;
    let (dim, laid) = (Dim::from(&dim[..]), &binder.laid);
    if let Some(Gpu { ordinal, stream }) = binder.gpu().map_err(|refused| refused.raise(py))? {
        let queue = device::queue(py, ordinal, stream)?;
        binder.wrote(true);
        // SAFETY: as for launches there; who called has looked at the order of threads.
        let ran = py.detach(|| unsafe { ready.tangents_resident(&dim, laid, queue) });
        return ran.map_err(|error| error::raise(py, &error));
    }
    // SAFETY: as above.
    let mut outcome = py.detach(|| unsafe { device::on_workers(ready).tangents_bound(&dim, laid) });
    if let Ok(outcome) = &mut outcome {
        warn(py, std::mem::take(&mut outcome.warnings))?;
    }
    conclude(py, outcome)
}

/// Raises what [`tangents`] would raise where the order of threads shows; nothing is run.
#[pyfunction]
pub fn look_tangents<'py>(
    kernel: &Bound<'py, Kernel>,
    dim: Vec<usize>,
    values: Vec<Bound<'py, PyAny>>,
) -> PyResult<bool> {
    let py = kernel.py();
    let ready = &kernel.get().ready(py)?.kernel;
    let signature = py.detach(|| ready.tangent_signature()).map_err(|error| error::raise(py, &error))?;
    let binder = filled(Binder::new(signature.0, signature.1), &values)?;
    let (dim, laid) = (Dim::from(&dim[..]), &binder.laid);
    // SAFETY: as above.
    let seen = py.detach(|| unsafe { ready.look_tangents(&dim, laid) });
    let seen = seen.map_err(|error| error::raise(py, &error))?;
    warn(py, seen.partly.into_iter().collect())?;
    Ok(seen.any)
}

/// Runs the derivative in reverse on arrays as the launch left them, and beside it how it changes:
/// `tangents` has one for each of `values`. `gradients` are those of arrays by name (`x`), and the
/// tangents of these (`d_x`).
#[pyfunction]
pub fn second<'py>(
    kernel: &Bound<'py, Kernel>,
    dim: Vec<usize>,
    values: Vec<Bound<'py, PyAny>>,
    tangents: Vec<Bound<'py, PyAny>>,
    gradients: Gradients<'py>,
) -> PyResult<()> {
    let py = kernel.py();
    let ready = kernel.get().ready(py)?.kernel.clone();
    let asked = ready.clone();
    interruptible(py, move || asked.second_signature().map(drop))?.map_err(|error| error::raise(py, &error))?;
    let signature = ready.second_signature().map_err(|error| error::raise(py, &error))?;
    let mut binder = filled(Binder::new(signature.0, signature.1).with(gradients).anywhere(), &values)?;
    for (n, tangent) in tangents.iter().enumerate() {
        let at = ready.first_tangent() + n;
        binder.bind(at, tangent).map_err(|fault| fault.raise(py))?;
    }
    let (dim, laid) = (Dim::from(&dim[..]), &binder.laid);
    if let Some(Gpu { ordinal, stream }) = binder.gpu().map_err(|refused| refused.raise(py))? {
        let queue = device::queue(py, ordinal, stream)?;
        binder.wrote(false);
        // SAFETY: as for launches there; who called has looked at the order of threads.
        let ran = py.detach(|| unsafe { ready.second_resident(&dim, laid, queue) });
        return ran.map_err(|error| error::raise(py, &error));
    }
    // SAFETY: as above.
    let outcome = py.detach(|| unsafe { ready.second_bound(&dim, laid) });
    // What it prints was printed before.
    conclude(py, outcome.map(|_| Outcome::default()))
}
