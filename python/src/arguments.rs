//! Which arrays are among the arguments of a launch, and which of them are one? Derivatives have to
//! know: each array has one gradient, and what a kernel writes to must be no other array of the
//! same launch.

use kc::types::{ArrayType, Scalar, StructTable, Type};
use numpy::PyUntypedArray;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList};
use pyo3::{PyTraverseError, PyVisit};
use smallvec::SmallVec;

use crate::bind;
use crate::device;
use crate::engines::{self, Used, UsedArray};
use crate::error::Refused;
use crate::kernel::{Kernel, Ready};
use crate::memory::Place;
use crate::textures;
use crate::view::Array;

/// Parameter, then fields.
pub type Path = SmallVec<[u32; 4]>;

/// What the parameters of a kernel are made of.
pub struct Parts {
    /// The arrays, in their order.
    pub arrays: Vec<Part>,
    params: Vec<Kind>,
    /// The names of the floats that are given by value.
    pub floats: Vec<String>,
}

/// An array among the parameters: itself one, or a field of a struct (`s.x`).
pub struct Part {
    pub name: String,
    pub path: Path,
    ty: ArrayType,
    /// Whether its elements have floats, and whether the kernel writes to it by this name.
    pub floats: bool,
    pub writes: bool,
}

enum Kind {
    /// The number of the array.
    Array(usize),
    Value,
    /// A number that may be the id of a mesh: the name of the parameter.
    Id(String),
    Struct {
        name: String,
        ty: String,
        fields: Vec<(String, Kind)>,
    },
}

impl Parts {
    pub fn of(kernel: &kc::Kernel) -> Parts {
        let mut parts = Parts { arrays: Vec::new(), params: Vec::new(), floats: Vec::new() };
        for (n, param) in kernel.signature().params().iter().enumerate() {
            let kind = parts.add(kernel, &mut SmallVec::from_slice(&[n as u32]), &param.name, param.ty);
            parts.params.push(kind);
        }
        parts
    }

    fn add(&mut self, kernel: &kc::Kernel, path: &mut Path, name: &str, ty: Type) -> Kind {
        let structs: &StructTable = kernel.structs();
        match ty {
            Type::Array(ty) => {
                let floats = Type::from(ty.element).holds_floats(structs);
                let writes = kernel.signature().writes(path);
                self.arrays.push(Part { name: name.to_string(), path: path.clone(), ty, floats, writes });
                Kind::Array(self.arrays.len() - 1)
            }
            Type::Struct(id) => {
                let mut fields = Vec::new();
                for (k, field) in structs[id].fields.iter().enumerate() {
                    path.push(k as u32);
                    let kind = self.add(kernel, path, &format!("{name}.{}", field.name), field.ty);
                    path.pop();
                    fields.push((field.name.clone(), kind));
                }
                Kind::Struct { name: name.to_string(), ty: structs[id].name.clone(), fields }
            }
            Type::Scalar(Scalar::U64) => Kind::Id(name.to_string()),
            _ => {
                if ty.holds_floats(structs) {
                    self.floats.push(name.to_string());
                }
                Kind::Value
            }
        }
    }
}

/// An array argument.
pub struct Given {
    /// Which of [`Parts::arrays`].
    pub part: usize,
    /// What the caller passed, and the NumPy array of its memory.
    pub object: Py<PyAny>,
    pub array: Py<PyUntypedArray>,
    pub place: Place,
    /// The first with the same array: often itself.
    pub first: usize,
    /// It shares memory with another array, and neither is written.
    pub shared: bool,
    /// Whether the kernel writes to the array by any name.
    pub written: bool,
}

/// The arguments as they came, with the arrays taken out.
pub enum Node {
    /// The number of an array.
    Array(usize),
    Value(Py<PyAny>),
    /// The number of an engine, and what was given.
    Engine(usize, Py<PyAny>),
    Struct(Vec<Node>),
}

/// The arguments of one launch.
#[pyclass(frozen, module = "kc._native")]
pub struct Arguments {
    kernel: Py<Kernel>,
    pub arrays: Vec<Given>,
    pub nodes: Vec<Node>,
    /// Meshes, trees of boxes and hash grids, each once.
    pub engines: Vec<Used>,
}

impl Arguments {
    pub fn of(kernel: &Bound<'_, Kernel>, values: &[Bound<'_, PyAny>]) -> PyResult<Arguments> {
        let ready = kernel.get().ready(kernel.py())?;
        let mut made = Arguments {
            kernel: kernel.clone().unbind(),
            arrays: Vec::new(),
            nodes: Vec::with_capacity(values.len()),
            engines: Vec::new(),
        };
        for (value, kind) in values.iter().zip(&ready.parts().params) {
            let node = made.take(ready, kind, value)?;
            made.nodes.push(node);
        }
        made.compare(kernel.py(), ready)?;
        Ok(made)
    }

    fn take(&mut self, ready: &Ready, kind: &Kind, value: &Bound<'_, PyAny>) -> PyResult<Node> {
        match kind {
            Kind::Array(part) => {
                let Some(array) = as_numpy(value)? else { return Ok(Node::Value(value.clone().unbind())) };
                let (place, first) = (Place::of(&array), self.arrays.len());
                let (object, array) = (value.clone().unbind(), array.unbind());
                self.arrays.push(Given { part: *part, object, array, place, first, shared: false, written: false });
                Ok(Node::Array(first))
            }
            Kind::Value => Ok(Node::Value(value.clone().unbind())),
            Kind::Id(name) => {
                let Some(engine) = engines::of_argument(value) else { return Ok(Node::Value(value.clone().unbind())) };
                let known = self.engines.iter().position(|used| used.engine.is(&engine));
                if known.is_none() {
                    self.engines.push(Used::of(&engine, name)?);
                }
                Ok(Node::Engine(known.unwrap_or(self.engines.len() - 1), value.clone().unbind()))
            }
            Kind::Struct { name, ty, fields } => {
                let py = value.py();
                let texture = textures::fields_of(value, ty).map_err(|fault| {
                    fault.of(&format!("argument `{name}` of kernel `{}`", ready.kernel.name())).raise(py)
                })?;
                if value.is_none() && textures::is_texture(ty) || texture.is_some_and(|texture| !texture.is(value)) {
                    // None, or one of Warp, which is kept.
                    return Ok(Node::Value(value.clone().unbind()));
                }
                let read = bind::reader(value).map_err(|fault| fault.raise(py))?;
                let mut nodes = Vec::with_capacity(fields.len());
                for (field, kind) in fields {
                    let Some(item) = read(field)? else {
                        let text = bind::no_field(ty, field, value);
                        let text = format!("argument `{name}` of kernel `{}`: {text}", ready.kernel.name());
                        return Err(Refused::new("E1004", text).raise(py));
                    };
                    nodes.push(self.take(ready, kind, &item)?);
                }
                Ok(Node::Struct(nodes))
            }
        }
    }

    /// Finds arrays that are one. A derivative takes different parameters to share no memory that
    /// is written.
    fn compare(&mut self, py: Python<'_>, ready: &Ready) -> PyResult<()> {
        let parts = &ready.parts().arrays;
        if let Some((first, rest)) = self.arrays.split_first()
            && let Some(other) = rest.iter().find(|given| given.place.at != first.place.at)
        {
            let refused = bind::apart(other.place.at.map(Some), &parts[first.part].name, first.place.at.map(Some));
            let fault = crate::error::Fault::from(refused);
            let what = format!("argument `{}` of kernel `{}`", parts[other.part].name, ready.kernel.name());
            return Err(fault.of(&what).raise(py));
        }
        for j in 1..self.arrays.len() {
            for i in 0..j {
                let (a, b) = (&self.arrays[i], &self.arrays[j]);
                if !a.place.meets(&b.place) {
                    continue;
                }
                let (its, other) = (&parts[a.part], &parts[b.part]);
                if its.ty == other.ty && a.place.is(&b.place, py) {
                    if b.first == j {
                        self.arrays[j].first = self.arrays[i].first;
                    }
                } else if a.first == i && b.first == j && share(a.array.bind(py), b.array.bind(py)) {
                    if its.writes || other.writes {
                        let name = ready.kernel.name();
                        let text = format!(
                            "arguments `{}` and `{}` of kernel `{name}` share memory, and the kernel writes to it",
                            its.name, other.name
                        );
                        let advice = "pass one array for both, or arrays that share nothing: a derivative of this launch may be wrong";
                        return Err(Refused::new("E1010", text).help(advice).raise(py));
                    }
                    self.arrays[i].shared = true;
                    self.arrays[j].shared = true;
                }
            }
        }
        for n in 0..self.arrays.len() {
            let (first, writes) = (self.arrays[n].first, parts[self.arrays[n].part].writes);
            self.arrays[first].written |= writes;
        }
        for n in 0..self.arrays.len() {
            self.arrays[n].written = self.arrays[self.arrays[n].first].written;
        }
        for behind in self.behind() {
            let written = self.arrays.iter().find(|given| given.written && given.place.meets(&behind.place));
            if let Some(given) = written {
                let (name, own) = (ready.kernel.name(), &parts[given.part].name);
                let text = format!(
                    "argument `{own}` of kernel `{name}` shares memory with `{}`, and the kernel writes to it",
                    behind.name
                );
                let advice = "write to another array, and copy it: a derivative of this launch may be wrong";
                return Err(Refused::new("E1010", text).help(advice).raise(py));
            }
        }
        Ok(())
    }

    /// Pairs of arrays that are one.
    pub fn same(&self) -> impl Iterator<Item = (usize, usize)> {
        self.arrays.iter().enumerate().filter(|(n, given)| given.first != *n).map(|(n, given)| (given.first, n))
    }

    /// The arguments for the kernel, with what `of` gives in the place of each array.
    pub fn filled<'py>(
        &self,
        py: Python<'py>,
        of: &mut dyn FnMut(usize) -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.filled_with(py, of, &[])
    }

    /// The same with other ids in the place of each engine, if there are any.
    pub fn filled_with<'py>(
        &self,
        py: Python<'py>,
        of: &mut dyn FnMut(usize) -> PyResult<Bound<'py, PyAny>>,
        ids: &[u64],
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let params = &self.kernel.get().ready(py)?.parts().params;
        params.iter().zip(&self.nodes).map(|(kind, node)| fill(py, kind, node, of, ids)).collect()
    }

    /// The arrays of floats behind ids.
    pub fn behind(&self) -> impl Iterator<Item = &UsedArray> {
        self.engines.iter().flat_map(|used| &used.arrays)
    }

    /// Lets the descriptors of engines name the gradients that their arrays have.
    pub fn publish(&self, py: Python<'_>) {
        self.engines.iter().for_each(|used| used.engine.get().publish(py));
    }

    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        fn nodes(list: &[Node], visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
            list.iter().try_for_each(|node| match node {
                Node::Array(_) => Ok(()),
                Node::Value(value) | Node::Engine(_, value) => visit.call(value),
                Node::Struct(list) => nodes(list, visit),
            })
        }
        visit.call(&self.kernel)?;
        self.arrays.iter().try_for_each(|given| visit.call(&given.object).and_then(|()| visit.call(&given.array)))?;
        self.engines.iter().try_for_each(|used| used.traverse(visit))?;
        nodes(&self.nodes, visit)
    }

    pub fn part<'k>(&self, ready: &'k Ready, n: usize) -> &'k Part {
        &ready.parts().arrays[self.arrays[n].part]
    }
}

fn fill<'py>(
    py: Python<'py>,
    kind: &Kind,
    node: &Node,
    of: &mut dyn FnMut(usize) -> PyResult<Bound<'py, PyAny>>,
    ids: &[u64],
) -> PyResult<Bound<'py, PyAny>> {
    match (node, kind) {
        (Node::Array(n), _) => of(*n),
        (Node::Value(value), _) => Ok(value.bind(py).clone()),
        (Node::Engine(n, value), _) => match ids.get(*n) {
            Some(id) => Ok(id.into_pyobject(py)?.into_any()),
            None => Ok(value.bind(py).clone()),
        },
        (Node::Struct(nodes), kind) => {
            let dict = PyDict::new(py);
            let Kind::Struct { fields, .. } = kind else { return Ok(dict.into_any()) };
            for (node, (name, kind)) in nodes.iter().zip(fields) {
                dict.set_item(name, fill(py, kind, node, of, ids)?)?;
            }
            Ok(dict.into_any())
        }
    }
}

/// A NumPy array of the same memory. None: it is no array.
pub fn as_numpy<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyUntypedArray>>> {
    if let Ok(array) = value.cast::<PyUntypedArray>() {
        return Ok(Some(array.clone()));
    }
    if let Ok(array) = value.cast::<Array>() {
        return Ok(Some(array.get().data(value.py()).into_bound(value.py())));
    }
    if value.is_none() {
        return Ok(None);
    }
    static AS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let made = AS.import(value.py(), "kc._arguments", "as_numpy")?.call1((value,))?;
    Ok(made.cast_into::<PyUntypedArray>().ok())
}

/// The gradient that the caller's array has, as a NumPy array.
pub fn held<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyUntypedArray>>> {
    let Ok(array) = object.cast::<Array>() else { return Ok(None) };
    array.get().grad(object.py()).map_or(Ok(None), |grad| as_numpy(grad.bind(object.py())))
}

/// Whether two arrays share an element; where it takes too long to tell, they do.
fn share(a: &Bound<'_, PyUntypedArray>, b: &Bound<'_, PyUntypedArray>) -> bool {
    static SHARE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let asked = SHARE.import(a.py(), "kc._arguments", "share").and_then(|share| share.call1((a, b))?.extract());
    asked.unwrap_or(true)
}

/// An array argument, for Python.
#[pyclass(frozen, get_all, module = "kc._native")]
pub struct Slot {
    /// `x`, or `s.x`; and that of the first argument with the same array.
    name: String,
    first: String,
    /// What the caller passed, the NumPy array of its memory, and that of the gradient that it has.
    given: Py<PyAny>,
    array: Py<PyUntypedArray>,
    held: Option<Py<PyUntypedArray>>,
    floats: bool,
    /// Whether the kernel writes to it: by this name, and by any.
    writes: bool,
    written: bool,
    /// It shares memory with another array, and neither is written.
    shared: bool,
    /// The number of its parameter, and whether it is a field of it.
    parameter: u32,
    is_field: bool,
}

#[pymethods]
impl Arguments {
    #[new]
    fn new(kernel: &Bound<'_, Kernel>, values: Vec<Bound<'_, PyAny>>) -> PyResult<Arguments> {
        Arguments::of(kernel, &values)
    }

    #[getter]
    fn slots(&self, py: Python<'_>) -> PyResult<Vec<Slot>> {
        (0..self.arrays.len()).map(|n| self.slot(py, n)).collect()
    }

    /// Lets the descriptors of meshes name the gradients that their arrays have.
    #[pyo3(name = "publish")]
    fn publish_all(&self, py: Python<'_>) {
        self.publish(py);
    }

    /// The names of floats that are given by value.
    #[getter]
    fn floats(&self, py: Python<'_>) -> PyResult<&[String]> {
        Ok(&self.kernel.get().ready(py)?.parts().floats)
    }

    /// Whether its arrays are in the memory of a GPU.
    #[getter(far)]
    pub fn is_far(&self, py: Python<'_>) -> bool {
        self.arrays.iter().any(|given| device::is_far(given.array.bind(py)))
    }

    /// Paths of arrays that are one.
    #[getter(same)]
    fn paths(&self, py: Python<'_>) -> PyResult<Vec<(Vec<u32>, Vec<u32>)>> {
        let ready = self.kernel.get().ready(py)?;
        let path = |n: usize| self.part(ready, n).path.to_vec();
        Ok(self.same().map(|(a, b)| (path(a), path(b))).collect())
    }

    /// A number that says what a launch is except for the contents of its arrays. None: there is
    /// none.
    #[pyo3(name = "form")]
    fn form_of(&self, py: Python<'_>, dim: Vec<usize>) -> Option<Vec<u64>> {
        form(py, self, &dim).map(SmallVec::into_vec)
    }

    /// The arguments for the kernel, with `of(slot)` in the place of each array.
    #[pyo3(name = "filled")]
    fn filled_by<'py>(&self, of: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let py = of.py();
        self.filled(py, &mut |n| of.call1((self.slot(py, n)?,)))
    }
}

impl Arguments {
    fn slot(&self, py: Python<'_>, n: usize) -> PyResult<Slot> {
        let ready = self.kernel.get().ready(py)?;
        let (given, part) = (&self.arrays[n], self.part(ready, n));
        Ok(Slot {
            name: part.name.clone(),
            first: self.part(ready, given.first).name.clone(),
            given: given.object.clone_ref(py),
            array: given.array.clone_ref(py),
            held: held(given.object.bind(py))?.map(Bound::unbind),
            floats: part.floats,
            writes: part.writes,
            written: given.written,
            shared: given.shared,
            parameter: part.path[0],
            is_field: part.path.len() > 1,
        })
    }
}

/// A number that says what a launch is except for the contents of its arrays: its values, and the
/// forms of its arrays. None: some of its values are no plain numbers.
pub fn form(py: Python<'_>, arguments: &Arguments, dim: &[usize]) -> Option<SmallVec<[u64; 64]>> {
    let mut form: SmallVec<[u64; 64]> = SmallVec::new();
    form.push(dim.len() as u64);
    form.extend(dim.iter().map(|&n| n as u64));
    for node in &arguments.nodes {
        put(py, arguments, node, &mut form)?;
    }
    Some(form)
}

fn put(py: Python<'_>, arguments: &Arguments, node: &Node, form: &mut SmallVec<[u64; 64]>) -> Option<()> {
    use pyo3::types::{PyBool, PyFloat, PyInt};
    match node {
        Node::Array(n) => {
            let given = &arguments.arrays[*n];
            form.push(4 | (given.first as u64) << 8 | (given.place.shape.len() as u64) << 40);
            form.extend(given.place.shape.iter().chain(&given.place.strides).map(|&n| n as u64));
            if let Some(memory) = device::of(given.array.bind(py)) {
                // Indices are integers, so other integers are a new form. Floats are not compared.
                let part = &arguments.kernel.get().ready(py).ok()?.parts().arrays[given.part];
                let (low, high) = (given.place.low, given.place.high);
                form.push(6);
                form.push(if part.floats { 0 } else { memory.get().contents(low, high)? });
            }
        }
        Node::Struct(nodes) => nodes.iter().try_for_each(|node| put(py, arguments, node, form))?,
        Node::Engine(n, _) => form.extend([5, arguments.engines[*n].engine.get().number()]),
        Node::Value(value) => {
            let value = value.bind(py);
            let pair = if value.is_none() {
                [0, 0]
            } else if value.is_exact_instance_of::<PyBool>() {
                [1, u64::from(value.extract::<bool>().ok()?)]
            } else if value.is_exact_instance_of::<PyInt>() {
                [2, value.extract::<i64>().ok()? as u64]
            } else if value.is_exact_instance_of::<PyFloat>() {
                [3, value.extract::<f64>().ok()?.to_bits()]
            } else {
                return None;
            };
            form.extend(pair);
        }
    }
    Some(())
}

impl Arguments {
    /// Takes values over as they are now: later changes of the caller's objects do not change them.
    pub fn freeze(&mut self, py: Python<'_>) -> PyResult<()> {
        self.nodes.iter_mut().try_for_each(|node| freeze(py, node))
    }
}

fn freeze(py: Python<'_>, node: &mut Node) -> PyResult<()> {
    match node {
        Node::Array(_) | Node::Engine(..) => Ok(()),
        Node::Struct(nodes) => nodes.iter_mut().try_for_each(|node| freeze(py, node)),
        Node::Value(value) => {
            let now = value.bind(py);
            if let Ok(list) = now.cast::<PyList>() {
                *value = PyList::new(py, list.iter())?.into_any().unbind();
            } else if now.getattr_opt(intern!(py, "dtype"))?.is_some() {
                *value = now.call_method0(intern!(py, "copy"))?.unbind();
            }
            Ok(())
        }
    }
}
