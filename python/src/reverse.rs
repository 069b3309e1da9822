//! How does `kernel.grad` run? Each array of floats gets a gradient, or has one; the kernel runs,
//! and its derivative after it.

use kc::embed::Part;
use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple};

use crate::arguments::held;
use crate::derivative::{Gradients, Launch};
use crate::device::is_far;
use crate::error::Refused;
use crate::kernel::{self, Called, Kernel, Ready};
use crate::memory::{apart, put, put_number, zeros_like};

type Array<'py> = Bound<'py, PyUntypedArray>;

/// What the kernel works on, and what it gives.
#[derive(Default)]
struct Run<'py> {
    /// By array.
    data: Vec<Array<'py>>,
    gradients: Vec<Option<Array<'py>>>,
    /// Gradients that arrays have, to which others are added after the run, or which are set to
    /// them.
    added: Vec<(Array<'py>, Array<'py>)>,
    set: Vec<(Array<'py>, Array<'py>)>,
    seeded: bool,
}

/// Runs a kernel and its derivative, from `grads` on; gives the gradients by name, of what is given
/// by value as well if that is asked for.
#[pyfunction]
pub fn grad<'py>(
    kernel: &Bound<'py, Kernel>,
    args: &Bound<'py, PyTuple>,
    named: &Bound<'py, PyDict>,
    grads: &Bound<'py, PyDict>,
    parameters: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let py = kernel.py();
    let Called { kernel, dim, given: values } = kernel::call(kernel, args, Some(named))?;
    let ready = kernel.get().ready(py)?;
    let parameters = parameters && !ready.parts().floats.is_empty();
    let launch = Launch::new(&kernel, ready, dim, &values, parameters)?;
    let mut run = Run::default();
    (0..launch.arguments.arrays.len()).try_for_each(|n| run.prepare(py, ready, &launch, n))?;
    run.seed(ready, &launch, grads)?;
    let (mut given, found) = (Gradients::default(), PyDict::new(py));
    for (n, gradient) in run.gradients.iter().enumerate() {
        if let Some(gradient) = gradient {
            let name = &launch.arguments.part(ready, n).name;
            found.set_item(name, handed(gradient, launch.arguments.arrays[n].object.bind(py))?)?;
            given.insert(name.clone(), gradient.clone().into_any());
        }
    }
    let values = launch.arguments.filled(py, &mut |n| Ok(run.data[n].clone().into_any()))?;
    launch.arguments.publish(py);
    let sums = if parameters || launch.gradient.records() {
        if launch.arguments.is_far(py) {
            launch.look(py, ready)?;
        }
        launch.call(ready, &values, given).run(py, Part::Both, false)?
    } else {
        // The same in two steps, which is quicker: that the order of threads does not show may be
        // known.
        launch.look(py, ready)?;
        ready.launch(py, &launch.dim, &values)?;
        launch.call(ready, &values, given).run(py, Part::Backward, true)?
    };
    for (held, more) in &run.added {
        static ADD: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        ADD.import(py, "kc._tape", "add")?.call1((held, more))?;
    }
    for (held, gradient) in &run.set {
        put(held, gradient)?;
    }
    if !sums.is_empty() {
        static VALUES: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        found
            .update(VALUES.import(py, "kc._derivative", "by_value")?.call1((sums,))?.cast::<PyDict>()?.as_mapping())?;
    }
    Ok(found)
}

/// A gradient for who asked: one in the memory of a GPU is an array of kc.
fn handed<'py>(gradient: &Array<'py>, of: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if !is_far(gradient) {
        return Ok(gradient.clone().into_any());
    }
    static WRAP: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    WRAP.import(of.py(), "kc._array", "_wrap")?.call1((gradient, of.getattr("dtype")?, false))
}

impl<'py> Run<'py> {
    /// Finds what the kernel works on for an array, and its gradient.
    fn prepare(&mut self, py: Python<'py>, ready: &Ready, launch: &Launch, n: usize) -> PyResult<()> {
        let given = &launch.arguments.arrays[n];
        if given.first != n {
            self.data.push(self.data[given.first].clone());
            self.gradients.push(self.gradients[given.first].clone());
            return Ok(());
        }
        let mut array = given.array.bind(py).clone();
        if !launch.arguments.part(ready, n).floats {
            self.data.push(array);
            self.gradients.push(None);
            return Ok(());
        }
        if !given.place.is_plain(py) {
            // Its gradient has a place for every element. (It is not written.)
            array = apart(&array)?;
        }
        let held = held(given.object.bind(py))?;
        self.seeded |= held.is_some() && given.written;
        let gradient = match held {
            None => zeros_like(&array)?,
            // Two gradients may share memory, too.
            Some(held) if given.shared => {
                let made = zeros_like(&array)?;
                self.added.push((held, made.clone()));
                made
            }
            Some(held) if held.strides() == array.strides() => held,
            Some(held) => {
                let made = zeros_like(&array)?;
                put(&made, &held)?;
                self.set.push((held, made.clone()));
                made
            }
        };
        self.data.push(array);
        self.gradients.push(Some(gradient));
        Ok(())
    }

    /// Sets gradients to what the caller gave.
    fn seed(&mut self, ready: &Ready, launch: &Launch, grads: &Bound<'py, PyDict>) -> PyResult<()> {
        let (py, name) = (grads.py(), ready.kernel.name());
        let mut known = Vec::new();
        let mut started: Vec<(usize, &String)> = Vec::new();
        for (n, gradient) in self.gradients.iter().enumerate() {
            let Some(gradient) = gradient else { continue };
            let array = &launch.arguments.part(ready, n).name;
            known.push(array);
            let Some(value) = grads.get_item(array)? else { continue };
            self.seeded = true;
            let first = launch.arguments.arrays[n].first;
            if let Some((_, other)) = started.iter().find(|(array, _)| *array == first) {
                let text = format!("`{other}` and `{array}` are one array, with two gradients");
                return Err(Refused::new("E1010", text).raise(py));
            }
            started.push((first, array));
            if !put_number(gradient, &value, false) {
                static FILL: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
                FILL.import(py, "kc._derivative", "fill")?.call1((array, gradient, value))?;
            }
        }
        let list = |names: &[String]| match names {
            [] => "none".to_string(),
            names => names.join(", "),
        };
        let mut unknown = Vec::new();
        for key in grads.keys() {
            let key = key.to_string();
            if !known.contains(&&key) {
                unknown.push(format!("`{key}`"));
            }
        }
        if !unknown.is_empty() {
            let known: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
            let text = format!("kernel `{name}` has no array of floats {}; it has {}", list(&unknown), list(&known));
            return Err(Refused::new("E1004", text).raise(py));
        }
        if !self.seeded {
            let text = format!("no gradient to start from for kernel `{name}`");
            let advice = "say how the result depends on what the kernel writes: grads={'loss': 1.0}";
            return Err(Refused::new("E1004", text).help(advice).raise(py));
        }
        Ok(())
    }
}
