//! What is a kernel in Python, and how is it called?

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use kc::diag::counted;
use kc::embed::{Dim, Form, On, Signature};
use kc::run::devices::TrapKind;
use kc::types::{Scalar, StructTable, Type};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::{MutexExt, PyOnceLock};
use pyo3::types::{PyDict, PyInt, PyList, PyString, PyTuple};
use smallvec::SmallVec;

use crate::arguments::Parts;
use crate::bind::{self, Binder};
use crate::device;
use crate::error::{self, Refused};
use crate::module::{Module, interruptible};
use crate::tape::{self, Tape};
use crate::view::Gpu;

/// A kernel that is compiled when it is first needed.
#[pyclass(frozen, subclass, weakref, module = "kc._native")]
pub struct Kernel {
    /// Called once: gives a module, the kernel's name in it, and a dict of default values.
    load: Py<PyAny>,
    ready: OnceLock<Ready>,
    /// The same kernel for launches in blocks of so many threads with so many dimensions, where it
    /// is compiled for them.
    others: Mutex<HashMap<(u32, usize), Py<Kernel>>>,
    /// The same kernel since a value that it captured has changed.
    successor: OnceLock<Py<Kernel>>,
    /// Its shapes fit in blocks of some sizes alone: a launch without one is an error.
    needs_blocks: AtomicBool,
}

/// Where a captured value was found: a dict or an object, the name in it, and the value.
type Watched = (Py<PyAny>, Py<PyString>, Py<PyAny>);

/// What is known once it is compiled.
pub struct Ready {
    pub kernel: kc::Kernel,
    module: Py<Module>,
    defaults: Py<PyDict>,
    parts: OnceLock<Parts>,
    watched: Vec<Watched>,
    /// Forms of launches in whose gradients no order of threads can show.
    pub free: Mutex<HashSet<SmallVec<[u64; 64]>>>,
}

impl Ready {
    /// What its parameters are made of.
    pub fn parts(&self) -> &Parts {
        self.parts.get_or_init(|| Parts::of(&self.kernel))
    }

    /// The argument that is no array, of whose elements a thread wanted one.
    fn is_none(&self, error: &kc::Error, given: &[Bound<'_, PyAny>]) -> Option<&str> {
        let Some(TrapKind::OutOfBounds { array: Some(array), extent: 0, .. }) = error.trap() else { return None };
        let params = self.kernel.signature().params().iter().zip(given);
        let mut none = params.filter(|(param, value)| param.name == *array && value.is_none());
        none.next().map(|(param, _)| param.name.as_str())
    }

    /// Runs the kernel.
    pub fn launch(&self, py: Python<'_>, dim: &Dim, given: &[Bound<'_, PyAny>]) -> PyResult<()> {
        let mut binder = Binder::new(self.kernel.signature(), self.kernel.structs()).anywhere();
        for (n, value) in given.iter().enumerate() {
            binder.bind(n, value).map_err(|fault| fault.raise(py))?;
        }
        if let Some(Gpu { ordinal, stream }) = binder.gpu().map_err(|refused| refused.raise(py))? {
            let queue = device::queue(py, ordinal, stream)?;
            binder.wrote(true);
            // SAFETY: as below; memory that is freed meanwhile is used again behind the launch, by
            // libraries that know of the stream.
            let launched = py.detach(|| unsafe { self.kernel.launch_resident(dim, &binder.laid, queue) });
            return launched.map_err(|error| error::raise(py, &error));
        }
        // SAFETY: the arguments fit, and `given` and the binder keep their memory.
        let outcome = py.detach(|| unsafe { device::on_workers(&self.kernel).launch_bound(dim, &binder.laid) });
        if let Err(error) = &outcome
            && let Some(name) = self.is_none(error, given)
        {
            let what = format!(
                "argument `{name}` of kernel `{}`: is None, and the kernel uses its elements",
                self.kernel.name()
            );
            raised();
            return Err(Refused::new("E1005", what)
                .help(format!("pass an array, or test it in the kernel: `if {name}:`"))
                .raise(py));
        }
        conclude(py, outcome)
    }
}

/// The arguments of a call by the kernel's parameters.
pub type Given<'py> = SmallVec<[Bound<'py, PyAny>; 8]>;

/// The kernel of a launch, its dimensions and its arguments, for Python.
type Launched<'py> = (Bound<'py, Kernel>, Vec<usize>, Vec<Bound<'py, PyAny>>);

impl Ready {
    /// Whether a name that the kernel uses has another value now. What is not there any more counts
    /// as it was.
    fn has_changed(&self, py: Python<'_>) -> bool {
        self.watched.iter().any(|(place, name, value)| {
            let (place, name) = (place.bind(py), name.bind(py));
            let now = match place.cast::<PyDict>() {
                Ok(dict) => dict.get_item(name),
                Err(_) => place.getattr(name).map(Some),
            };
            matches!(now, Ok(Some(now)) if !now.is(value))
        })
    }
}

impl Kernel {
    /// The kernel with the values that its names have now.
    fn current<'py>(slf: &Bound<'py, Kernel>) -> PyResult<Bound<'py, Kernel>> {
        let (py, mut kernel) = (slf.py(), slf.clone());
        while let Some(next) = kernel.get().successor.get() {
            kernel = next.bind(py).clone();
        }
        if !kernel.get().ready(py)?.has_changed(py) {
            return Ok(kernel);
        }
        static SUCCESSOR: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let make = SUCCESSOR.import(py, "kc._kernel", "_successor")?;
        let made = make.call1((&kernel, kernel.get().load.bind(py)))?.cast_into::<Kernel>()?;
        made.get().ready(py)?;
        Ok(kernel.get().successor.get_or_init(|| made.unbind()).bind(py).clone())
    }

    /// The kernel that a call launches: compiled for blocks of the threads that the call says,
    /// where its shapes fit no others (E0319).
    fn called<'py>(slf: &Bound<'py, Kernel>, named: Option<&Bound<'py, PyDict>>) -> PyResult<Bound<'py, Kernel>> {
        let needs_blocks = &slf.get().needs_blocks;
        let known = needs_blocks.load(Ordering::Relaxed);
        if !known {
            match Kernel::current(slf) {
                Err(error) if is_about_shapes(slf.py(), &error) => needs_blocks.store(true, Ordering::Relaxed),
                made => return made,
            }
        }
        let threads = named.map(|named| named.get_item(BLOCK_DIM)).transpose()?.flatten();
        match (threads, slf.getattr_opt("_kc_for_blocks")?) {
            (Some(threads), Some(make)) => Kernel::current(&make.call1((threads,))?.cast_into::<Kernel>()?),
            _ => Kernel::current(slf),
        }
    }

    pub fn ready(&self, py: Python<'_>) -> PyResult<&Ready> {
        if let Some(ready) = self.ready.get() {
            return Ok(ready);
        }
        let loaded = self.load.bind(py).call0()?.cast_into::<PyTuple>()?;
        let (module, name, defaults): (Py<Module>, String, Py<PyDict>) = loaded.get_slice(0, 3).extract()?;
        let watched = if loaded.len() > 3 { loaded.get_item(3)?.extract()? } else { Vec::new() };
        let kernel = module.get().module.kernel(&name).map_err(|error| error::raise(py, &error))?;
        // NumPy's interface is looked up by Python code, which a Ctrl-C that waits would end in the
        // middle of a launch: that would be a panic. Other threads go first, for one may send it.
        py.detach(std::thread::yield_now);
        py.check_signals()?;
        numpy::npyffi::is_numpy_2(py);
        let (parts, free) = (OnceLock::new(), Mutex::default());
        Ok(self.ready.get_or_init(|| Ready { kernel, module, defaults, parts, watched, free }))
    }

    /// What a launch in blocks of so many threads runs, and its dimensions: those of the blocks,
    /// unless the kernel is compiled for these.
    fn in_blocks<'py>(slf: &Bound<'py, Kernel>, dim: Dim, threads: u32) -> PyResult<(Bound<'py, Kernel>, Dim)> {
        let (py, this) = (slf.py(), slf.get());
        let ready = this.ready(py)?;
        let known =
            || -> MutexGuard<'_, _> { this.others.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner) };
        let key = (threads, dim.extents().len());
        let found = known().get(&key).map(|other| other.clone_ref(py));
        if let Some(other) = found {
            return Ok((other.into_bound(py), dim));
        }
        let raise = |error| error::raise(py, &error);
        let (of, at) = (ready.kernel.clone(), dim.clone());
        let Some(module) = interruptible(py, move || of.module_for(&at, threads))?.map_err(raise)? else {
            if ready.kernel.threads_of_blocks() == Some(threads) {
                return Ok((slf.clone(), dim));
            }
            return Ok((slf.clone(), ready.kernel.dim_of_blocks(&dim, threads).map_err(raise)?));
        };
        static OTHER: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let loaded = (Module::new(module), ready.kernel.name(), ready.defaults.clone_ref(py));
        let other = OTHER.import(py, "kc._kernel", "_other")?.call1((slf, loaded))?.cast_into::<Kernel>()?;
        // Two threads may both make it; one's is kept.
        let kept = known().entry(key).or_insert_with(|| other.unbind()).clone_ref(py);
        Ok((kept.into_bound(py), dim))
    }
}

#[pymethods]
impl Kernel {
    #[new]
    fn new(load: Py<PyAny>) -> Kernel {
        Kernel {
            load,
            ready: OnceLock::new(),
            others: Mutex::default(),
            successor: OnceLock::new(),
            needs_blocks: AtomicBool::new(false),
        }
    }

    /// Runs the kernel for every thread of `dim`.
    #[pyo3(signature = (*args, **named))]
    fn __call__<'py>(
        slf: &Bound<'py, Kernel>,
        args: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<()> {
        let py = slf.py();
        match tape::current(py) {
            Some(tape) => Tape::launch(&tape, slf, args, named),
            None => Kernel::_launch(slf, args, named),
        }
    }

    /// The same, without a look whether a tape records.
    #[pyo3(signature = (*args, **named))]
    fn _launch<'py>(
        slf: &Bound<'py, Kernel>,
        args: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<()> {
        let (py, called) = (slf.py(), call(slf, args, named)?);
        called.kernel.get().ready(py)?.launch(py, &called.dim, &called.given)
    }

    /// What a call launches: the kernel as it is compiled for it, the dimensions, and the arguments
    /// in the order of the parameters.
    #[pyo3(signature = (*args, **named))]
    fn _arguments<'py>(
        slf: &Bound<'py, Kernel>,
        args: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Launched<'py>> {
        let called = call(slf, args, named)?;
        Ok((called.kernel, called.dim.extents().to_vec(), called.given.into_vec()))
    }

    /// Compiles the kernel for a GPU and loads it there; `gradients`: with its derivatives.
    fn _load_on(slf: &Bound<'_, Kernel>, ordinal: i32, gradients: bool) -> PyResult<()> {
        let (py, current) = (slf.py(), Kernel::current(slf)?);
        let on = On { ordinal, checked: device::are_checked(), in_order: device::are_deterministic() };
        let kernel = current.get().ready(py)?.kernel.clone();
        let load = move || {
            if !gradients {
                return kernel.load_resident(on);
            }
            let gradient = kernel.gradient_of(Form::default())?;
            kernel.load_gradient_resident(&gradient, on)?;
            kernel.load_tangents_resident(on)
        };
        interruptible(py, load)?.map_err(|error| error::raise(py, &error))
    }

    /// What the kernel takes: name and description of each parameter.
    fn _parameters<'py>(slf: &Bound<'py, Kernel>) -> PyResult<Vec<(String, Bound<'py, PyDict>)>> {
        let (py, current) = (slf.py(), Kernel::current(slf)?);
        let kernel = &current.get().ready(py)?.kernel;
        let (params, fills) = (kernel.signature().params().iter().enumerate(), kernel.fills());
        params
            .map(|(n, param)| {
                let about = about(py, kernel.signature(), kernel.structs(), &mut vec![n as u32], param.ty)?;
                about.set_item("fills", fills.get(n).copied().unwrap_or(false))?;
                Ok((param.name.clone(), about))
            })
            .collect()
    }

    /// The module that it was compiled in.
    #[getter]
    fn _module(slf: &Bound<'_, Kernel>) -> PyResult<Py<Module>> {
        let (py, current) = (slf.py(), Kernel::current(slf)?);
        Ok(current.get().ready(py)?.module.clone_ref(py))
    }
}

/// A type as Python code looks at it.
fn about<'py>(
    py: Python<'py>,
    signature: &Signature,
    structs: &StructTable,
    path: &mut Vec<u32>,
    ty: Type,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("type", ty.display(structs))?;
    match ty {
        Type::Array(array) => {
            let element = Type::from(array.element);
            dict.set_item("ndim", array.ndim)?;
            dict.set_item("scalar", element.scalar_part().map(Scalar::name))?;
            dict.set_item("inner", PyTuple::new(py, bind::trailing(element))?)?;
            dict.set_item("floats", element.holds_floats(structs))?;
            dict.set_item("writes", signature.writes(path))?;
        }
        Type::Struct(id) => {
            let fields = PyDict::new(py);
            for (k, field) in structs[id].fields.iter().enumerate() {
                path.push(k as u32);
                fields.set_item(&field.name, about(py, signature, structs, path, field.ty)?)?;
                path.pop();
            }
            dict.set_item("fields", fields)?;
        }
        _ => {
            dict.set_item("float", ty.holds_floats(structs))?;
            dict.set_item("scalar", ty.scalar_part().map(Scalar::name))?;
            dict.set_item("shape", PyTuple::new(py, bind::trailing(ty))?)?;
        }
    }
    Ok(dict)
}

/// Whether shapes do not fit, as those do that are of the threads of a block.
fn is_about_shapes(py: Python<'_>, error: &PyErr) -> bool {
    error.value(py).getattr("code").and_then(|code| code.extract::<String>()).is_ok_and(|code| code == "E0319")
}

/// The argument of a call that says how many threads a block has.
const BLOCK_DIM: &str = "block_dim";

/// What a call launches.
pub struct Called<'py> {
    /// As it is compiled for the call's blocks.
    pub kernel: Bound<'py, Kernel>,
    /// For a kernel with tiles, those of its blocks, or, where it is compiled for these, of
    /// threads.
    pub dim: Dim,
    pub given: Given<'py>,
}

/// What a call of a kernel launches.
pub fn call<'py>(
    kernel: &Bound<'py, Kernel>,
    args: &Bound<'py, PyTuple>,
    named: Option<&Bound<'py, PyDict>>,
) -> PyResult<Called<'py>> {
    let py = args.py();
    let kernel = &Kernel::called(kernel, named)?;
    let ready = kernel.get().ready(py)?;
    let params = ready.kernel.signature().params();
    let count = args.len();
    if count == 0 {
        return Err(PyTypeError::new_err("the first argument of a launch is the number of threads"));
    }
    let mut dim = dim(&args.get_item(0)?).map_err(|refused| refused.raise(py))?;
    let mut given: Given = args.iter().skip(1).take(params.len()).collect();
    let mut named_count = named.map_or(0, |named| named.len());
    // A parameter of this name goes before.
    let is_option = params.iter().all(|param| param.name != BLOCK_DIM);
    let block_dim = named.filter(|_| is_option).map(|named| named.get_item(BLOCK_DIM)).transpose()?.flatten();
    let mut launched = kernel.clone();
    if let Some(threads) = block_dim {
        named_count -= 1;
        let refuse = || {
            let shown = threads.repr().map_or_else(|_| "this".to_string(), |text| text.to_string());
            Refused::new("E1006", format!("a block has 1 to 1024 threads, and not {shown}")).raise(py)
        };
        let threads = threads.extract::<u32>().map_err(|_| refuse())?;
        (launched, dim) = Kernel::in_blocks(kernel, dim, threads)?;
    }
    // A dimension that no coordinate counts runs the same once more for each of its threads.
    let extents = dim.extents();
    let coordinates = ready.kernel.coordinates();
    if coordinates < extents.len()
        && coordinates > 0
        && launched.is(kernel)
        && extents[coordinates..].iter().any(|&n| n > 1)
    {
        too_many(kernel, extents, coordinates)?;
    }
    if count - 1 == params.len() && named_count == 0 {
        return Ok(Called { kernel: launched, dim, given });
    }
    let kernel = ready.kernel.name();
    let refuse = |what: String| {
        let names: Vec<String> = params.iter().map(|param| format!("`{}`", param.name)).collect();
        let all = format!("kernel `{kernel}` takes {} ({})", counted(params.len(), "argument"), names.join(", "));
        Err(Refused::new("E1004", format!("{all}{what}")).raise(py))
    };
    if count - 1 > params.len() {
        return refuse(format!(", and {} are given after the number of threads", count - 1));
    }
    let unknown = |name: &str| params.iter().all(|p| p.name != name) && !(is_option && name == BLOCK_DIM);
    let strangers = named.into_iter().flat_map(|named| named.keys()).map(|name| name.to_string());
    let strangers: Vec<String> = strangers.filter(|name| unknown(name)).collect();
    if let [first, ..] = &strangers[..] {
        let names: Vec<String> = strangers.iter().map(|name| format!("`{name}`")).collect();
        let near = params.iter().map(|param| param.name.as_str());
        let near = near.filter(|name| !named.is_some_and(|named| named.contains(name).unwrap_or(true)));
        let far = |name: &&str| kc::diag::explain::distance(first, name);
        let meant = near.filter(|name| far(name) <= 1.max(first.len() / 3)).min_by_key(far);
        let meant = meant.map(|name| format!("; `{name}` is meant, perhaps"));
        return refuse(format!(", and no {}{}", names.join(", "), meant.unwrap_or_default()));
    }
    for (n, param) in params.iter().enumerate() {
        let by_name = named.map(|named| named.get_item(&param.name)).transpose()?.flatten();
        let value = match by_name {
            Some(_) if n < count - 1 => return refuse(format!(", and `{}` is given twice", param.name)),
            _ if n < count - 1 => continue,
            Some(value) => Some(value),
            None => ready.defaults.bind(py).get_item(&param.name)?,
        };
        match value {
            Some(value) => given.push(value),
            None => return refuse(format!(", and `{}` is not given", param.name)),
        }
    }
    Ok(Called { kernel: launched, dim, given })
}

/// A launch has more dimensions than its kernel has coordinates: an error, or, for programs of
/// Warp, a warning.
fn too_many(kernel: &Bound<'_, Kernel>, extents: &[usize], coordinates: usize) -> PyResult<()> {
    static TOLD: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = kernel.py();
    let told = TOLD.import(py, "kc._errors", "too_many_dimensions")?;
    told.call1((kernel, PyTuple::new(py, extents)?, coordinates)).map(drop)
}

/// `n`, or a tuple or list of them.
fn dim(value: &Bound<'_, PyAny>) -> Result<Dim, Refused> {
    let refuse = || {
        let shown = value.repr().map_or_else(|_| "this".to_string(), |text| text.to_string());
        let what = format!("a launch has 1 to 4 dimensions of 0 to {} threads, and not {shown}", i32::MAX);
        Refused::new("E1006", what)
    };
    let extent = |item: &Bound<'_, PyAny>| item.extract::<usize>().map_err(|_| refuse());
    if value.is_instance_of::<PyInt>() {
        return Ok(Dim::from(extent(value)?));
    }
    let mut extents: SmallVec<[usize; 4]> = SmallVec::new();
    if let Ok(tuple) = value.cast::<PyTuple>() {
        for item in tuple {
            extents.push(extent(&item)?);
        }
    } else if let Ok(list) = value.cast::<PyList>() {
        for item in list {
            extents.push(extent(&item)?);
        }
    } else {
        extents.push(extent(value)?);
    }
    Ok(Dim::from(&extents[..]))
}

thread_local! {
    /// What a signal handler raised while a launch ran: KeyboardInterrupt, as a rule.
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Whether a launch is to end: Python's signal handlers run on its main thread, between pieces of a
/// launch.
pub fn interrupted() -> bool {
    let already = RAISED.with_borrow(Option::is_some);
    already
        || Python::try_attach(|py| match py.check_signals() {
            Ok(()) => false,
            Err(error) => {
                RAISED.set(Some(error));
                true
            }
        })
        .unwrap_or(false)
}

/// What a signal handler raised while the last launch of this thread ran.
pub fn raised() -> Option<PyErr> {
    RAISED.take()
}

/// Passes on what a launch printed, its warnings and its error.
pub fn conclude(py: Python<'_>, outcome: Result<kc::Outcome, kc::Error>) -> PyResult<()> {
    if let Some(error) = raised() {
        return Err(error);
    }
    let printed = match &outcome {
        Ok(outcome) => &outcome.printed,
        Err(error) => error.printed(),
    };
    let wrote = print(py, printed);
    match outcome {
        Err(error) => Err(error::raise(py, &error)),
        Ok(outcome) => wrote.and_then(|()| warn(py, outcome.warnings)),
    }
}

/// Prints a text, if there is one: what Python code put in place of standard output gets it, as a
/// notebook does.
pub fn print(py: Python<'_>, text: &str) -> PyResult<()> {
    match text.is_empty() {
        true => Ok(()),
        false => py.import("sys").and_then(|sys| sys.getattr("stdout")?.call_method1("write", (text,)).map(drop)),
    }
}

/// A warning for each, at the line of the program that launched or asked for the gradient.
pub fn warn(py: Python<'_>, warnings: Vec<kc::Warning>) -> PyResult<()> {
    if warnings.is_empty() {
        return Ok(());
    }
    let warn = py.import("kc._errors")?.getattr("warn")?;
    warnings.into_iter().try_for_each(|one| warn.call1((one.text, one.code)).map(drop))
}
