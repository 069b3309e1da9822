//! How are launches recorded, and what of them is kept? The derivative of a launch reads what the
//! launch left in its arrays, so a tape keeps versions of them. Before a recorded launch writes to
//! memory that an earlier derivative reads, its contents are copied. What changes otherwise, by
//! Python code, is found by a digest of the contents, and is an error: neither the derivative nor
//! the flow of gradients would be right. The Python half (`kc/_tape.py`) has what users call.

use std::cell::RefCell;
use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use kc::embed::Part;
use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::{MutexExt, PyOnceLock};
use pyo3::types::{PyDict, PyTuple};
use pyo3::{PyTraverseError, PyVisit};

use crate::adjoint::{Run, has_floats};
use crate::arguments::{Given, as_numpy, held};
use crate::derivative::{Gradients, Launch};
use crate::joined::Joined;
use crate::kernel::{self, Called, Kernel};
use crate::memory::{Place, apart, copy, digest, is_same, zeros_like};

type Array = Py<PyUntypedArray>;

thread_local! {
    /// The tape that records in this thread.
    static CURRENT: RefCell<Option<Py<Tape>>> = const { RefCell::new(None) };
}

/// The tape that records in this thread.
#[pyfunction]
pub fn current(py: Python<'_>) -> Option<Bound<'_, Tape>> {
    CURRENT.with_borrow(|tape| tape.as_ref().map(|tape| tape.bind(py).clone()))
}

#[pyclass(subclass, weakref, dict, module = "kc._native")]
#[derive(Default)]
pub struct Tape {
    steps: Vec<Step>,
    /// All contents that arrays had, and which they have now, by the first bytes of their memory.
    versions: Vec<Version>,
    now: Vec<(usize, usize)>,
    /// The most bytes that one of them has.
    longest: usize,
    /// The gradients of each backward run.
    runs: Mutex<Vec<(Run, Joined)>>,
    broken: Option<String>,
}

/// What an array held between two launches that write to it.
struct Version {
    array: Array,
    place: Place,
    digest: u128,
    /// Whether a derivative reads it.
    read: bool,
    /// Whether a step has written to it, as this array or before as the same one.
    written: bool,
    /// A copy, once the array has other contents.
    saved: Option<Array>,
}

pub enum Step {
    Launch(Box<Recorded>),
    /// Python code of kc set an array: what was given, and the memory of each, of which the first
    /// one was set.
    Host {
        what: String,
        given: Vec<Py<PyAny>>,
        used: Vec<(Array, Place)>,
        /// Takes the gradient of the first one to those of the others, which may be None.
        pull: Py<PyAny>,
    },
}

pub struct Recorded {
    launch: Launch,
    /// By array: what its derivative works on.
    contents: Vec<Contents>,
    /// By engine and array of it, the same: the versions.
    behind: Vec<Vec<Option<usize>>>,
}

enum Contents {
    /// Nothing that is read.
    Any,
    Version(usize),
    /// As before the launch, which runs again.
    Kept(Array),
}

/// An array of floats of a step.
pub struct Used<'s> {
    pub name: String,
    /// As it was given.
    pub object: &'s Py<PyAny>,
    pub place: &'s Place,
    pub written: bool,
}

/// `kc.GradientError`, of a tape.
pub fn wrong(py: Python<'_>, text: &str, advice: Option<&str>) -> PyErr {
    static WRONG: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let made = WRONG.import(py, "kc._tape", "_wrong").and_then(|wrong| wrong.call1((text, advice)));
    made.map_or_else(|error| error, PyErr::from_value)
}

impl Version {
    fn new(py: Python<'_>, array: &Array, place: Place) -> PyResult<Version> {
        let digest = digest(py, array.bind(py))?;
        Ok(Version { array: array.clone_ref(py), place, digest, read: false, written: false, saved: None })
    }

    fn is_unchanged(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.digest == digest(py, self.array.bind(py))?)
    }

    /// Whether one of two arrays that share memory has gradients, and the other one is written to
    /// and has none: stores of integers leave no trace in a derivative.
    fn is_cut(&self, py: Python<'_>, place: &Place, written: bool) -> bool {
        if !self.written && !written || is_same(py, &self.place.dtype, &place.dtype) {
            return false;
        }
        match (has_floats(self.place.dtype.bind(py)), has_floats(place.dtype.bind(py))) {
            (true, false) => written,
            (false, true) => self.written,
            _ => false,
        }
    }
}

impl Recorded {
    /// Keeps what the derivative needs of arrays as they are before the launch.
    fn before(&mut self, py: Python<'_>) -> PyResult<()> {
        if self.launch.gradient.records() {
            for (n, given) in self.launch.arguments.arrays.iter().enumerate() {
                if given.first == n && given.written {
                    self.contents[n] = Contents::Kept(copy(given.array.bind(py))?.unbind());
                }
            }
        }
        Ok(())
    }

    /// Runs the derivative on the gradients of a run.
    fn backward(&self, py: Python<'_>, versions: &[Version], run: &mut Run) -> PyResult<()> {
        let Launch { kernel, arguments, gradient, .. } = &self.launch;
        let (ready, arrays) = (kernel.get().ready(py)?, &arguments.arrays);
        let mut data: Vec<Bound<'_, PyUntypedArray>> = Vec::with_capacity(arrays.len());
        let mut gradients: Vec<Option<Bound<'_, PyUntypedArray>>> = Vec::with_capacity(arrays.len());
        let mut given = Gradients::default();
        let mut after = Vec::new();
        for (n, array) in arrays.iter().enumerate() {
            let part = arguments.part(ready, n);
            if array.first != n {
                data.push(data[array.first].clone());
                gradients.push(gradients[array.first].clone());
            } else {
                let mut contents = match &self.contents[n] {
                    Contents::Any => array.array.bind(py).clone(),
                    Contents::Version(version) => {
                        let Version { array, saved, .. } = &versions[*version];
                        saved.as_ref().unwrap_or(array).bind(py).clone()
                    }
                    Contents::Kept(kept) => copy(kept.bind(py))?,
                };
                let mut gradient = None;
                if part.floats {
                    let Some(found) = run.view(py, &array.place)? else {
                        return Err(PyRuntimeError::new_err(
                            "a recorded array has no gradient (this is a fault of kc)",
                        ));
                    };
                    gradient = Some(if array.shared || !array.place.is_plain(py) {
                        // Two elements of it may be one in memory.
                        contents = apart(&contents)?;
                        let own = zeros_like(&contents)?;
                        after.push((found, own.clone()));
                        own
                    } else {
                        found
                    });
                }
                data.push(contents);
                gradients.push(gradient);
            }
            if let Some(gradient) = &gradients[n] {
                given.insert(part.name.clone(), gradient.clone().into_any());
            }
        }
        let mut lent = Vec::with_capacity(arguments.engines.len());
        for (engine, kept) in arguments.engines.iter().zip(&self.behind) {
            let (mut contents, mut gradients) = (Vec::new(), Vec::new());
            for (used, version) in engine.arrays.iter().zip(kept) {
                let found = version.map(|version| &versions[version]);
                let now = found.map_or(&used.array, |version| version.saved.as_ref().unwrap_or(&version.array));
                contents.push(now.bind(py).clone());
                let Some(found) = run.view(py, &used.place)? else {
                    return Err(PyRuntimeError::new_err("a recorded array has no gradient (this is a fault of kc)"));
                };
                gradients.push(found);
            }
            lent.push(engine.lent(py, &contents, &gradients)?);
        }
        let ids: Vec<u64> = lent.iter().map(|lent| lent.id).collect();
        let values = arguments.filled_with(py, &mut |n| Ok(data[n].clone().into_any()), &ids)?;
        let part = if gradient.records() { Part::Both } else { Part::Backward };
        self.launch.call(ready, &values, given).run(py, part, true)?;
        static SCATTER: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        after.into_iter().try_for_each(|(gradient, more)| {
            SCATTER.import(py, "kc._tape", "scatter")?.call1((gradient, more)).map(drop)
        })
    }
}

impl Step {
    /// Its arrays of floats.
    pub fn used<'s>(&'s self, py: Python<'_>) -> PyResult<Vec<Used<'s>>> {
        match self {
            Step::Launch(launch) => {
                let parts = &launch.launch.kernel.get().ready(py)?.parts().arrays;
                let arrays = launch.launch.arguments.arrays.iter().filter(|given| parts[given.part].floats);
                let used = |given: &'s Given| Used {
                    name: parts[given.part].name.clone(),
                    object: &given.object,
                    place: &given.place,
                    written: given.written,
                };
                let behind = launch.launch.arguments.behind().map(|used| Used {
                    name: used.name.clone(),
                    object: &used.object,
                    place: &used.place,
                    written: false,
                });
                Ok(arrays.map(used).chain(behind).collect())
            }
            Step::Host { given, used, .. } => {
                let all = given.iter().zip(used).enumerate();
                let floats = all.filter(|(_, (_, (_, place)))| has_floats(place.dtype.bind(py)));
                let used = |(n, (object, (_, place))): (usize, (&'s Py<PyAny>, &'s (Array, Place)))| {
                    let name = if n == 0 { "target" } else { "source" };
                    Used { name: name.to_string(), object, place, written: n == 0 }
                };
                Ok(floats.map(used).collect())
            }
        }
    }

    /// The kernel, or what Python code did.
    pub fn name(&self, py: Python<'_>) -> PyResult<String> {
        match self {
            Step::Launch(launch) => Ok(launch.launch.kernel.get().ready(py)?.kernel.name().to_string()),
            Step::Host { what, .. } => Ok(what.clone()),
        }
    }

    /// Arrays of floats that have gradients, and those.
    fn held<'py>(&self, py: Python<'py>) -> PyResult<Vec<(Bound<'py, PyUntypedArray>, Bound<'py, PyUntypedArray>)>> {
        let mut found = Vec::new();
        match self {
            Step::Launch(launch) => {
                let launch = &launch.launch;
                let ready = launch.kernel.get().ready(py)?;
                for (n, given) in launch.arguments.arrays.iter().enumerate() {
                    let gradient = held(given.object.bind(py))?.filter(|_| launch.arguments.part(ready, n).floats);
                    found.extend(gradient.map(|gradient| (given.array.bind(py).clone(), gradient)));
                }
                for used in launch.arguments.behind() {
                    let gradient = held(used.object.bind(py))?;
                    found.extend(gradient.map(|gradient| (used.array.bind(py).clone(), gradient)));
                }
            }
            Step::Host { given, used, .. } => {
                for (object, (array, _)) in given.iter().zip(used) {
                    let gradient = held(object.bind(py))?;
                    found.extend(gradient.map(|gradient| (array.bind(py).clone(), gradient)));
                }
            }
        }
        Ok(found)
    }

    fn backward(&self, py: Python<'_>, versions: &[Version], run: &mut Run) -> PyResult<()> {
        match self {
            Step::Launch(launch) => launch.backward(py, versions, run),
            Step::Host { used, pull, .. } => {
                let mut views = Vec::with_capacity(used.len());
                for (_, place) in used {
                    views.push(run.view(py, place)?);
                }
                let mut views = views.into_iter();
                // Numbers that are no floats have no gradient.
                let Some(Some(gradient)) = views.next() else { return Ok(()) };
                pull.bind(py).call1((gradient, views.collect::<Vec<_>>())).map(drop)
            }
        }
    }
}

impl Tape {
    fn edit<'a>(slf: &'a Bound<'_, Tape>) -> PyResult<PyRefMut<'a, Tape>> {
        slf.try_borrow_mut().map_err(|_| PyRuntimeError::new_err("the tape is in use by another thread"))
    }

    fn look<'a>(slf: &'a Bound<'_, Tape>) -> PyResult<PyRef<'a, Tape>> {
        slf.try_borrow().map_err(|_| PyRuntimeError::new_err("the tape records in another thread now"))
    }

    /// Threads may run backward, and ask for gradients, at once.
    fn runs(&self, py: Python<'_>) -> MutexGuard<'_, Vec<(Run, Joined)>> {
        self.runs.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }

    /// A launch that is recorded.
    pub fn launch(
        slf: &Bound<'_, Tape>,
        kernel: &Bound<'_, Kernel>,
        args: &Bound<'_, PyTuple>,
        named: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let py = slf.py();
        let Called { kernel, dim, given: values } = kernel::call(kernel, args, named)?;
        let ready = kernel.get().ready(py)?;
        let launch = Launch::new(&kernel, ready, dim, &values, false)?;
        let contents = launch.arguments.arrays.iter().map(|_| Contents::Any).collect();
        let mut step = Recorded { launch, contents, behind: Vec::new() };
        let meeting = {
            let arguments = &step.launch.arguments;
            let arrays = arguments.arrays.iter().map(|given| (&given.place, given.written));
            let behind = arguments.behind().map(|used| (&used.place, false));
            Tape::edit(slf)?.expect(py, arrays.chain(behind), ready.kernel.name())?
        };
        step.launch.look(py, ready)?;
        let changed = {
            let arrays = step.launch.arguments.arrays.iter();
            let written = arrays.filter(|given| given.written).map(|given| &given.place);
            Tape::edit(slf)?.before(py, meeting, written)?
        };
        step.before(py)?;
        let ran = ready.launch(py, &step.launch.dim, &values);
        let mut tape = Tape::edit(slf)?;
        if let Err(error) = ran {
            tape.broken = Some(format!("a launch of kernel `{}` failed while it was recorded", ready.kernel.name()));
            return Err(error);
        }
        let Recorded { launch, contents, behind } = &mut step;
        launch.arguments.freeze(py)?;
        let used = launch.arguments.arrays.iter().map(|given| (&given.array, &given.place, given.written));
        let read = launch.arguments.behind().map(|used| (&used.array, &used.place, false));
        tape.after(py, changed, used.chain(read))?;
        for engine in &launch.arguments.engines {
            let versions: Vec<_> = engine.arrays.iter().map(|used| tape.find(py, &used.place)).collect();
            versions.iter().flatten().for_each(|&version| tape.versions[version].read = true);
            behind.push(versions);
        }
        for (n, given) in launch.arguments.arrays.iter().enumerate() {
            let is_kept = matches!(contents[given.first], Contents::Kept(_));
            let is_read = launch.gradient.records() || launch.gradient.reads(&launch.arguments.part(ready, n).path);
            if is_read
                && !is_kept
                && let Some(version) = tape.find(py, &given.place)
            {
                tape.versions[version].read = true;
                contents[given.first] = Contents::Version(version);
            }
        }
        tape.steps.push(Step::Launch(Box::new(step)));
        Ok(())
    }

    /// What a step uses must be as the steps before left it. Gives the versions that share memory
    /// with it.
    fn expect<'p>(
        &self,
        py: Python<'_>,
        wanted: impl Iterator<Item = (&'p Place, bool)>,
        what: &str,
    ) -> PyResult<Vec<usize>> {
        let mut found = Vec::new();
        for (place, written) in wanted {
            for version in self.meeting(place) {
                if self.versions[version].is_cut(py, place, written) {
                    let text = format!(
                        "memory of floats is written to as other numbers, by `{what}` or before it: which gradients end there is not known"
                    );
                    return Err(wrong(py, &text, Some("write to it as an array of floats, or outside of the tape")));
                }
                if found.contains(&version) {
                    continue;
                }
                if !self.versions[version].is_unchanged(py)? {
                    let shape = shown(&self.versions[version].place.shape);
                    let text = format!(
                        "an array of shape {shape} was changed since a recorded launch used it, and `{what}` uses it again: gradients do not flow through what Python code writes"
                    );
                    let advice = "change it by a kernel, with `a[:] = values` of a kc.array, or with `tape.assign(array, values)`";
                    return Err(wrong(py, &text, Some(advice)));
                }
                found.push(version);
            }
        }
        Ok(found)
    }

    /// The versions of now that share memory with a place.
    fn meeting<'a>(&'a self, place: &'a Place) -> impl Iterator<Item = usize> + 'a {
        let from = place.low.saturating_sub(self.longest);
        let first = self.now.partition_point(|(low, _)| *low < from);
        let near = self.now[first..].iter().take_while(|(low, _)| *low < place.high);
        near.map(|(_, version)| *version).filter(|version| self.versions[*version].place.meets(place))
    }

    /// The version of now of an array.
    fn find(&self, py: Python<'_>, place: &Place) -> Option<usize> {
        let first = self.now.partition_point(|(low, _)| *low < place.low);
        let same = self.now[first..].iter().take_while(|(low, _)| *low == place.low);
        same.map(|(_, version)| *version).find(|version| self.versions[*version].place.is(place, py))
    }

    /// What will have other contents, of versions that share memory with a step.
    fn before<'p>(
        &mut self,
        py: Python<'_>,
        meeting: Vec<usize>,
        written: impl Iterator<Item = &'p Place> + Clone,
    ) -> PyResult<Vec<usize>> {
        let mut changed = meeting;
        changed.retain(|version| written.clone().any(|place| self.versions[*version].place.meets(place)));
        for &version in &changed {
            let version = &mut self.versions[version];
            if version.read && version.saved.is_none() {
                version.saved = Some(copy(version.array.bind(py))?.unbind());
            }
        }
        Ok(changed)
    }

    /// Notes what arrays hold after a step.
    fn after<'p>(
        &mut self,
        py: Python<'_>,
        changed: Vec<usize>,
        used: impl Iterator<Item = (&'p Array, &'p Place, bool)>,
    ) -> PyResult<()> {
        for old in changed {
            let place = self.versions[old].place.clone_ref(py);
            let first = self.now.partition_point(|(low, _)| *low < place.low);
            let written = self.versions[old].written;
            let made = Version { written, ..Version::new(py, &self.versions[old].array, place)? };
            if let Some(entry) = self.now[first..].iter_mut().find(|(_, version)| *version == old) {
                entry.1 = self.versions.len();
                self.versions.push(made);
            }
        }
        for (array, place, written) in used {
            if place.is_empty() {
                continue;
            }
            if let Some(version) = self.find(py, place) {
                self.versions[version].written |= written;
                continue;
            }
            let at = self.now.partition_point(|(low, _)| *low <= place.low);
            self.now.insert(at, (place.low, self.versions.len()));
            self.longest = self.longest.max(place.high - place.low);
            self.versions.push(Version { written, ..Version::new(py, array, place.clone_ref(py))? });
        }
        Ok(())
    }
}

/// A shape as Python shows it.
pub fn shown(shape: &[isize]) -> String {
    let list: Vec<String> = shape.iter().map(isize::to_string).collect();
    format!("({}{})", list.join(", "), if shape.len() == 1 { "," } else { "" })
}

#[pymethods]
impl Tape {
    #[new]
    #[pyo3(signature = (*_arguments, **_named))]
    fn new(_arguments: &Bound<'_, PyTuple>, _named: Option<&Bound<'_, PyDict>>) -> Tape {
        Tape::default()
    }

    /// Forgets all launches and gradients.
    fn reset(slf: &Bound<'_, Tape>) -> PyResult<()> {
        let old = std::mem::take(&mut *Tape::edit(slf)?);
        drop(old);
        Ok(())
    }

    fn __enter__<'py>(slf: Bound<'py, Tape>) -> PyResult<Bound<'py, Tape>> {
        if current(slf.py()).is_some() {
            return Err(PyRuntimeError::new_err("a tape records already in this thread"));
        }
        CURRENT.set(Some(slf.clone().unbind()));
        Ok(slf)
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, _error: &Bound<'_, PyTuple>) {
        let tape = CURRENT.take();
        drop(tape);
    }

    fn __len__(&self) -> usize {
        self.steps.len()
    }

    /// Runs what sets the first one of some arrays, and records it. `pull` takes the gradient of
    /// that and those of the others.
    fn _write(
        slf: &Bound<'_, Tape>,
        what: &str,
        given: Vec<(Bound<'_, PyAny>, Bound<'_, PyUntypedArray>)>,
        run: &Bound<'_, PyAny>,
        pull: Py<PyAny>,
    ) -> PyResult<()> {
        let py = slf.py();
        let (given, used): (Vec<_>, Vec<(Array, Place)>) = given
            .into_iter()
            .map(|(object, array)| (object.unbind(), (array.clone().unbind(), Place::of(&array))))
            .unzip();
        let changed = {
            let mut tape = Tape::edit(slf)?;
            let places = used.iter().enumerate().map(|(n, (_, place))| (place, n == 0));
            let meeting = tape.expect(py, places, what)?;
            tape.before(py, meeting, used.iter().take(1).map(|(_, place)| place))?
        };
        run.call0()?;
        let mut tape = Tape::edit(slf)?;
        tape.after(py, changed, used.iter().enumerate().map(|(n, (array, place))| (array, place, n == 0)))?;
        tape.steps.push(Step::Host { what: what.to_string(), given, used, pull });
        Ok(())
    }

    /// Records what Python code did to arrays of floats, whose derivative it brings: `pull` takes
    /// the gradients of all. Gives which of them hold something else than the last step left there.
    fn _record(
        slf: &Bound<'_, Tape>,
        what: &str,
        given: Vec<(Bound<'_, PyAny>, Bound<'_, PyUntypedArray>)>,
        pull: Py<PyAny>,
    ) -> PyResult<Vec<bool>> {
        let py = slf.py();
        let (given, used): (Vec<_>, Vec<(Array, Place)>) = given
            .into_iter()
            .map(|(object, array)| (object.unbind(), (array.clone().unbind(), Place::of(&array))))
            .unzip();
        let mut tape = Tape::edit(slf)?;
        let (mut changed, mut told) = (Vec::new(), Vec::with_capacity(used.len()));
        for (_, place) in &used {
            let mut is_changed = false;
            for version in tape.meeting(place) {
                let known = &tape.versions[version];
                if known.is_unchanged(py)? {
                    continue;
                }
                if !known.place.is(place, py) || known.read && known.saved.is_none() {
                    let shape = shown(&known.place.shape);
                    let text = format!(
                        "an array of shape {shape} that the derivative reads was changed since it was recorded, before `{what}`"
                    );
                    return Err(wrong(py, &text, Some("write to an array that no recorded launch has read")));
                }
                is_changed = true;
                if !changed.contains(&version) {
                    changed.push(version);
                }
            }
            told.push(is_changed);
        }
        tape.after(py, changed, used.iter().map(|(array, place)| (array, place, true)))?;
        tape.steps.push(Step::Host { what: what.to_string(), given, used, pull });
        Ok(told)
    }

    /// Whether Python code has changed memory that no step wrote to: what is there now is a
    /// constant.
    fn _is_replaced(slf: &Bound<'_, Tape>, array: &Bound<'_, PyUntypedArray>) -> PyResult<bool> {
        let (py, place, tape) = (slf.py(), Place::of(array), Tape::look(slf)?);
        let versions: Vec<&Version> = tape.meeting(&place).map(|version| &tape.versions[version]).collect();
        if versions.iter().any(|version| version.written) {
            return Ok(false);
        }
        for version in versions {
            if !version.is_unchanged(py)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Runs all derivatives, from gradients of some arrays on.
    fn _backward(slf: &Bound<'_, Tape>, seeds: Vec<(Bound<'_, PyAny>, Bound<'_, PyAny>)>) -> PyResult<()> {
        let py = slf.py();
        let tape = Tape::look(slf)?;
        let run = {
            if let Some(text) = &tape.broken {
                return Err(wrong(py, text, None));
            }
            for (_, version) in &tape.now {
                let version = &tape.versions[*version];
                if version.read && !version.is_unchanged(py)? {
                    let shape = shown(&version.place.shape);
                    let text = format!(
                        "an array of shape {shape} that the derivative reads was changed since it was recorded"
                    );
                    let advice =
                        "change it after `tape.backward`, or with `tape.assign(array, values)` while the tape records";
                    return Err(wrong(py, &text, Some(advice)));
                }
            }
            let mut places = Vec::new();
            for step in &tape.steps {
                places.extend(step.used(py)?.into_iter().map(|array| array.place));
            }
            let mut run = Run::new(py, places)?;
            let mut results = Vec::new();
            for (array, _) in &seeds {
                let array = as_numpy(array)?.filter(|array| has_floats(&array.dtype()));
                results.extend(array.map(|array| Place::of(&array)));
            }
            // Steps may have used parts of them alone.
            results.iter().try_for_each(|place| run.join(py, place))?;
            seeds.iter().try_for_each(|(array, value)| run.seed(array, value))?;
            tape.steps.iter().rev().try_for_each(|step| step.backward(py, &tape.versions, &mut run))?;
            let mut held = Vec::new();
            for step in &tape.steps {
                for (array, gradient) in step.held(py)? {
                    let more = run.view(py, &Place::of(&array))?;
                    held.push((gradient, more));
                }
            }
            if !held.is_empty() {
                static HAND: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
                HAND.import(py, "kc._tape", "_hand_over")?.call1((held,))?;
            }
            (run, Joined::of(py, tape.steps.iter(), &results)?)
        };
        tape.runs(py).push(run);
        Ok(())
    }

    /// The gradients of an array, one of each backward run that has it.
    fn _views<'py>(
        slf: &Bound<'py, Tape>,
        array: &Bound<'py, PyUntypedArray>,
    ) -> PyResult<Vec<Bound<'py, PyUntypedArray>>> {
        let place = Place::of(array);
        let mut found = Vec::new();
        for (run, _) in Tape::look(slf)?.runs(slf.py()).iter_mut() {
            let view = run.view(slf.py(), &place)?;
            found.extend(view.map_or_else(|| run.gathered(slf.py(), &place), |view| Ok(Some(view)))?);
        }
        Ok(found)
    }

    /// Why no backward run says how its result depends on an array. None: one does.
    fn _unjoined(slf: &Bound<'_, Tape>, array: &Bound<'_, PyUntypedArray>) -> PyResult<Option<String>> {
        let (place, tape) = (Place::of(array), Tape::look(slf)?);
        let runs = tape.runs(slf.py());
        if place.is_empty() || runs.iter().any(|(_, joined)| joined.has(&place)) {
            return Ok(None);
        }
        Ok(runs.last().map(|(_, joined)| joined.told(&place)))
    }

    /// The objects that arrays of floats were given as, each once.
    fn _used(slf: &Bound<'_, Tape>) -> PyResult<Vec<Py<PyAny>>> {
        let (py, tape) = (slf.py(), Tape::look(slf)?);
        let (mut found, mut known) = (Vec::new(), HashSet::new());
        for step in &tape.steps {
            let objects = step.used(py)?.into_iter().map(|array| array.object);
            found.extend(objects.filter(|object| known.insert(object.as_ptr())).map(|object| object.clone_ref(py)));
        }
        Ok(found)
    }

    /// Arrays that have gradients, and those.
    fn _held<'py>(&self, py: Python<'py>) -> PyResult<Vec<(Bound<'py, PyUntypedArray>, Bound<'py, PyUntypedArray>)>> {
        let mut found = Vec::new();
        for step in &self.steps {
            found.extend(step.held(py)?);
        }
        Ok(found)
    }

    /// Forgets the gradients of all runs.
    fn _forget(slf: &Bound<'_, Tape>) -> PyResult<()> {
        let old = std::mem::take(&mut *Tape::look(slf)?.runs(slf.py()));
        drop(old);
        Ok(())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        for step in &self.steps {
            match step {
                Step::Launch(launch) => {
                    launch.launch.arguments.traverse(&visit)?;
                    for contents in &launch.contents {
                        if let Contents::Kept(kept) = contents {
                            visit.call(kept)?;
                        }
                    }
                }
                Step::Host { given, used, pull, .. } => {
                    visit.call(pull)?;
                    given.iter().try_for_each(|object| visit.call(object))?;
                    used.iter().try_for_each(|(array, _)| visit.call(array))?;
                }
            }
        }
        for version in &self.versions {
            visit.call(&version.array)?;
            visit.call(&version.saved)?;
        }
        // What is not looked at counts as used by somebody.
        let Ok(runs) = self.runs.try_lock() else { return Ok(()) };
        runs.iter().try_for_each(|(run, _)| run.traverse(&visit))
    }

    fn __clear__(&mut self) {
        drop(std::mem::take(self));
    }
}
