//! What is a mesh, a tree of boxes, a hash grid, a volume or a texture in Python? An object that
//! keeps the arrays it is made of, in place. Kernels read it by its id. What users call is in
//! Python (`kc/_engines.py`, `kc/_volumes.py`, `kc/_textures.py`).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use kc::abi::ArrayDescriptor;
use kc::engines::bvh::BvhInput;
use kc::engines::hash_grid::{Points, Real};
use kc::engines::memory::Plain;
use kc::engines::mesh::{MeshInput, MeshView};
use kc::engines::registry::{self, State, state_of};
use kc::engines::texture::TextureView;
use kc::engines::{Bvh, Constructor, Engine as _, EngineError, HashGrid, Kind, Mesh, Source, Texture, Volume};
use kc::types::{ArrayType, Element, Scalar, StructTable};
use numpy::PyUntypedArray;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBytes, PyDict, PyTuple, PyWeakrefMethods, PyWeakrefReference};
use pyo3::{PyTraverseError, PyVisit};

use crate::arguments::{as_numpy, held};
use crate::bind;
use crate::error::{Fault, Refused};
use crate::memory::Place;
use crate::textures;
use crate::view::{self, of_numpy};

/// A mesh, a tree of boxes, a hash grid, a volume or a texture; nothing yet before it is built.
#[pyclass(frozen, subclass, weakref, module = "kc._native")]
#[derive(Default)]
pub struct Engine {
    built: OnceLock<(u64, Kind)>,
    held: Mutex<Option<Held>>,
}

struct Held {
    made: Made,
    arrays: Arrays,
    /// What the descriptor names as gradients.
    gradients: [Option<Py<PyUntypedArray>>; 2],
    /// The engine as it is now, for tapes: what it was, once it has changed.
    past: Past,
    /// What a grid was built of, which it does not read again: kept so that launches that write it
    /// are noticed.
    built_of: Option<Py<PyUntypedArray>>,
}

enum Made {
    Mesh(Box<Mesh>),
    Bvh(Box<Bvh>),
    Grid(HashGrid),
    Volume(Box<Volume>),
    Texture(Box<Texture>),
}

/// What an engine was when a launch used it. None: it is that still.
type Past = Arc<Mutex<Option<Made>>>;

/// The arrays that an engine reads, by name, as they were given and as NumPy's.
#[derive(Default)]
struct Arrays(Vec<(&'static str, Py<PyAny>, Py<PyUntypedArray>)>);

impl Arrays {
    fn find(&self, name: &str) -> Option<&(&'static str, Py<PyAny>, Py<PyUntypedArray>)> {
        self.0.iter().find(|(known, ..)| *known == name)
    }

    /// Takes an array in the place of one of this name, or none.
    fn put(&mut self, name: &'static str, array: Option<(Py<PyAny>, Py<PyUntypedArray>)>) {
        self.0.retain(|(known, ..)| *known != name);
        self.0.extend(array.map(|(object, array)| (name, object, array)));
    }

    /// The gradient that an array has, if it fits.
    fn gradient<'py>(&self, py: Python<'py>, name: &str) -> Option<Bound<'py, PyUntypedArray>> {
        let (_, object, array) = self.find(name)?;
        let gradient = held(object.bind(py)).ok()??;
        let (own, its) = (of_numpy(array.bind(py)), of_numpy(&gradient));
        let fits = own.shape == its.shape && own.strides == its.strides && its.writable && !own.shape.contains(&0);
        fits.then_some(gradient)
    }
}

const POINTS: &str = "points";
const VELOCITIES: &str = "velocities";
/// The texels of a texture.
const DATA: &str = "data";

/// The objects by their ids, while they live.
static LIVE: Mutex<Option<HashMap<u64, Py<PyWeakrefReference>>>> = Mutex::new(None);

/// The object with this id, if one lives.
fn find<'py>(py: Python<'py>, id: u64) -> Option<Bound<'py, Engine>> {
    let weak = {
        let live = LIVE.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        live.as_ref()?.get(&id)?.clone_ref(py)
    };
    weak.bind(py).upgrade()?.cast_into::<Engine>().ok()
}

/// The object that an argument is or has the id of.
pub fn of_argument<'py>(value: &Bound<'py, PyAny>) -> Option<Bound<'py, Engine>> {
    if let Ok(engine) = value.cast::<Engine>() {
        return Some(engine.clone());
    }
    value.extract::<u64>().ok().filter(|&id| id != 0).and_then(|id| find(value.py(), id))
}

/// Refuses the id of an object that is gone.
pub fn check_alive(py: Python<'_>, id: u64) -> Result<(), Refused> {
    let state = state_of(id);
    if !matches!(state, State::Live { .. }) && !registry::has_foreign() && is_loaded(py, "warp") {
        registry::expect_foreign();
    }
    match state {
        // It may be an id of Warp's.
        _ if registry::has_foreign() => Ok(()),
        State::Freed { kind, .. } => {
            let refused = Refused::new("E1005", format!("this id is of {} that is gone", kind.name()));
            Err(refused.help("keep the object as long as kernels use its id, or pass the object itself"))
        }
        State::Live { .. } | State::Unknown => Ok(()),
    }
}

/// Whether the program imported a module.
fn is_loaded(py: Python<'_>, module: &str) -> bool {
    py.import("sys").and_then(|sys| sys.getattr("modules")?.contains(module)).unwrap_or(true)
}

pub fn wrong(py: Python<'_>, kind: Kind, error: &EngineError) -> PyErr {
    Refused::new("E1011", format!("{} cannot be built: {error}", kind.name())).raise(py)
}

/// An array of an engine, in place: `what` names it in errors.
struct Given<'py> {
    object: Bound<'py, PyAny>,
    array: Bound<'py, PyUntypedArray>,
    descriptor: ArrayDescriptor,
}

impl<'py> Given<'py> {
    fn of(object: &Bound<'py, PyAny>, element: Element, what: &str) -> PyResult<Given<'py>> {
        Given::of_dims(object, ArrayType { element, ndim: 1 }, what)
    }

    fn of_dims(object: &Bound<'py, PyAny>, ty: ArrayType, what: &str) -> PyResult<Given<'py>> {
        let py = object.py();
        let named = |fault: Fault| fault.of(&format!("the {what}")).raise(py);
        let found = view::view(object).map_err(named)?;
        let (Some(view), Some(array)) = (found, as_numpy(object)?) else {
            let text = format!("the {what} are to be an array, not a {}", object.get_type().name()?);
            return Err(Refused::new("E1005", text).raise(py));
        };
        if view.gpu.is_some() {
            return Err(bind::on_gpu(&format!("the array of {what}")).raise(py));
        }
        let (descriptor, _) = bind::describe(ty, &view, &StructTable::default()).map_err(named)?;
        Ok(Given { object: object.clone(), array, descriptor })
    }

    fn maybe(object: Option<&Bound<'py, PyAny>>, element: Element, what: &str) -> PyResult<Option<Given<'py>>> {
        object.map(|object| Given::of(object, element, what)).transpose()
    }

    fn source<T: Plain>(&self, what: &'static str) -> Result<Source<T>, EngineError> {
        // SAFETY: who has the source keeps the array; the interpreter is held while it is read.
        unsafe { Source::external(&self.descriptor, what) }
    }

    /// Start and bytes of the elements, which have no gaps.
    fn range(&self) -> (u64, u64) {
        let ArrayDescriptor { data, shape, strides, .. } = self.descriptor;
        (data, u64::from(shape[0].unsigned_abs()) * u64::from(strides[0].unsigned_abs()))
    }

    fn kept(self) -> (Py<PyAny>, Py<PyUntypedArray>) {
        (self.object.unbind(), self.array.unbind())
    }
}

const VEC3: Element = Element::Vec(3, Scalar::F32);
const INT: Element = Element::Scalar(Scalar::I32);

fn constructor(name: &str) -> Result<Constructor, EngineError> {
    let found = Constructor::ALL.into_iter().find(|known| known.name() == name.to_ascii_lowercase());
    found.ok_or_else(|| EngineError::Constructor { name: name.to_string() })
}

/// What may be said of the constructor, as a warning.
fn note(py: Python<'_>, constructor: Constructor) -> PyResult<()> {
    let Some(text) = constructor.note() else { return Ok(()) };
    py.import("kc._engines")?.getattr("warn")?.call1((text,)).map(drop)
}

impl Engine {
    fn held<'a>(&'a self, py: Python<'_>) -> MutexGuard<'a, Option<Held>> {
        self.held.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes it, once it is built.
    fn change<R>(&self, py: Python<'_>, change: impl FnOnce(&mut Held) -> PyResult<R>) -> PyResult<R> {
        match &mut *self.held(py) {
            Some(held) => change(held),
            None => Err(unbuilt()),
        }
    }

    fn with_texture<R>(&self, py: Python<'_>, look: impl FnOnce(&Texture) -> PyResult<R>) -> PyResult<R> {
        match &*self.held(py) {
            Some(Held { made: Made::Texture(texture), .. }) => look(texture),
            _ => Err(unbuilt()),
        }
    }

    /// Makes the object a volume.
    pub fn become_volume(slf: &Bound<'_, Engine>, volume: Volume) -> PyResult<()> {
        Engine::begin(slf, Made::Volume(Box::new(volume)), Arrays::default())
    }

    pub fn with_volume<R>(&self, py: Python<'_>, look: impl FnOnce(&Volume) -> R) -> PyResult<R> {
        match &*self.held(py) {
            Some(Held { made: Made::Volume(volume), .. }) => Ok(look(volume)),
            _ => Err(unbuilt()),
        }
    }

    pub fn change_volume(
        &self,
        py: Python<'_>,
        change: impl FnOnce(&mut Volume) -> Result<(), EngineError>,
    ) -> PyResult<()> {
        self.change(py, |held| {
            held.leave(py)?;
            let Made::Volume(volume) = &mut held.made else { return Err(unbuilt()) };
            change(volume).map_err(|error| wrong(py, Kind::Volume, &error))
        })
    }

    /// The class of the kernel language that a texture is of; None: it is no texture.
    pub fn texture_class(&self, py: Python<'_>) -> Option<String> {
        self.with_texture(py, |texture| Ok(texture.form().class())).ok()
    }

    fn begin(slf: &Bound<'_, Engine>, made: Made, arrays: Arrays) -> PyResult<()> {
        let py = slf.py();
        let (id, kind) = made.name();
        if slf.get().built.set((id, kind)).is_err() {
            return Err(PyRuntimeError::new_err(format!("{} is built once", kind.name())));
        }
        let weak = PyWeakrefReference::new(slf.as_any())?.unbind();
        let old = {
            let mut live = LIVE.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
            live.get_or_insert_default().insert(id, weak)
        };
        drop(old);
        *slf.get().held(py) =
            Some(Held { made, arrays, gradients: [None, None], past: Past::default(), built_of: None });
        Ok(())
    }

    /// The id. 0: it is not built.
    pub fn number(&self) -> u64 {
        self.built.get().map_or(0, |(id, _)| *id)
    }

    /// Lets the descriptor name the gradients that its arrays have now.
    pub fn publish(&self, py: Python<'_>) {
        let mut old = [None, None];
        if let Some(Held { made: made @ (Made::Mesh(_) | Made::Texture(_)), arrays, gradients, .. }) =
            &mut *self.held(py)
        {
            let names = if let Made::Mesh(_) = made { [POINTS, VELOCITIES] } else { [DATA, ""] };
            let found = names.map(|name| arrays.gradient(py, name));
            let at = |gradient: &Option<Bound<'_, PyUntypedArray>>| {
                gradient.as_ref().map_or(0, |gradient| of_numpy(gradient).data.expose_provenance() as u64)
            };
            // SAFETY: their form was compared, and they are kept as long as the descriptor names
            // them.
            unsafe {
                match made {
                    Made::Mesh(mesh) => mesh.set_gradients(at(&found[0]), at(&found[1])),
                    Made::Texture(texture) => texture.set_gradients(at(&found[0])),
                    Made::Bvh(_) | Made::Grid(_) | Made::Volume(_) => {}
                }
            };
            old = std::mem::replace(gradients, found.map(|gradient| gradient.map(Bound::unbind)));
        }
        drop(old);
    }
}

fn unbuilt() -> PyErr {
    PyRuntimeError::new_err("the object was not built: its __init__ was not called")
}

impl Drop for Engine {
    fn drop(&mut self) {
        let Some((id, _)) = self.built.get() else { return };
        Python::attach(|py| {
            let mut live = LIVE.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
            let old = live.as_mut().and_then(|live| live.remove(id));
            drop(live);
            drop(old);
        });
    }
}

impl Made {
    fn name(&self) -> (u64, Kind) {
        match self {
            Made::Mesh(mesh) => (mesh.id(), Kind::Mesh),
            Made::Bvh(bvh) => (bvh.id(), Kind::Bvh),
            Made::Grid(grid) => (grid.id(), Kind::HashGrid),
            Made::Volume(volume) => (volume.id(), Kind::Volume),
            Made::Texture(texture) => (texture.id(), Kind::Texture),
        }
    }

    /// As it is now, at another id.
    fn frozen(&self) -> Result<Made, EngineError> {
        Ok(match self {
            // SAFETY: who asked for it keeps the arrays.
            Made::Mesh(mesh) => Made::Mesh(Box::new(unsafe { mesh.frozen() })),
            Made::Bvh(bvh) => Made::Bvh(Box::new(bvh.frozen()?)),
            Made::Grid(grid) => Made::Grid(grid.frozen()),
            Made::Volume(volume) => Made::Volume(Box::new(volume.frozen()?)),
            Made::Texture(texture) => Made::Texture(Box::new(texture.frozen()?)),
        })
    }
}

impl Held {
    /// Before it changes: tapes that use it get it as it was.
    fn leave(&mut self, py: Python<'_>) -> PyResult<()> {
        if Arc::strong_count(&self.past) == 1 {
            return Ok(());
        }
        let past = std::mem::take(&mut self.past);
        let mut past = past.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        if past.is_none() {
            let (_, kind) = self.made.name();
            *past = Some(self.made.frozen().map_err(|error| wrong(py, kind, &error))?);
        }
        Ok(())
    }
}

#[pymethods]
impl Engine {
    #[new]
    #[pyo3(signature = (*_arguments, **_named))]
    fn new(_arguments: &Bound<'_, PyTuple>, _named: Option<&Bound<'_, PyDict>>) -> Engine {
        Engine::default()
    }

    #[expect(clippy::too_many_arguments, reason = "they are Python's")]
    fn _mesh<'py>(
        slf: &Bound<'py, Engine>,
        points: &Bound<'py, PyAny>,
        indices: &Bound<'py, PyAny>,
        velocities: Option<&Bound<'py, PyAny>>,
        groups: Option<&Bound<'py, PyAny>>,
        winding: bool,
        name: &str,
        leaf_size: i32,
    ) -> PyResult<()> {
        let py = slf.py();
        let points = Given::of(points, VEC3, POINTS)?;
        let indices = Given::of(indices, INT, "indices")?;
        let velocities = Given::maybe(velocities, VEC3, VELOCITIES)?;
        let groups = Given::maybe(groups, INT, "groups")?;
        let build = || -> Result<_, EngineError> {
            let input = MeshInput {
                velocities: velocities.as_ref().map(|given| given.source(VELOCITIES)).transpose()?,
                groups: groups.as_ref().map(|given| given.source("groups")).transpose()?,
                support_winding_number: winding,
                constructor: constructor(name)?,
                leaf_size,
                ..MeshInput::new(points.source(POINTS)?, indices.source("indices")?)
            };
            let constructor = input.constructor;
            Ok((Box::new(Mesh::new(input)?), constructor))
        };
        let (mesh, constructor) = build().map_err(|error| wrong(py, Kind::Mesh, &error))?;
        let mut arrays = Arrays::default();
        arrays.put(POINTS, Some(points.kept()));
        arrays.put("indices", Some(indices.kept()));
        arrays.put(VELOCITIES, velocities.map(Given::kept));
        arrays.put("groups", groups.map(Given::kept));
        Engine::begin(slf, Made::Mesh(mesh), arrays)?;
        note(py, constructor)
    }

    fn _bvh<'py>(
        slf: &Bound<'py, Engine>,
        lowers: &Bound<'py, PyAny>,
        uppers: &Bound<'py, PyAny>,
        groups: Option<&Bound<'py, PyAny>>,
        name: &str,
        leaf_size: i32,
    ) -> PyResult<()> {
        let py = slf.py();
        let lowers = Given::of(lowers, VEC3, "lower bounds")?;
        let uppers = Given::of(uppers, VEC3, "upper bounds")?;
        let groups = Given::maybe(groups, INT, "groups")?;
        let build = || -> Result<_, EngineError> {
            let input = BvhInput {
                groups: groups.as_ref().map(|given| given.source("groups")).transpose()?,
                constructor: constructor(name)?,
                leaf_size,
                ..BvhInput::new(lowers.source("lower bounds")?, uppers.source("upper bounds")?)
            };
            let constructor = input.constructor;
            Ok((Box::new(Bvh::new(input)?), constructor))
        };
        let (bvh, constructor) = build().map_err(|error| wrong(py, Kind::Bvh, &error))?;
        let mut arrays = Arrays::default();
        arrays.put("lowers", Some(lowers.kept()));
        arrays.put("uppers", Some(uppers.kept()));
        arrays.put("groups", groups.map(Given::kept));
        Engine::begin(slf, Made::Bvh(bvh), arrays)?;
        note(py, constructor)
    }

    fn _grid(slf: &Bound<'_, Engine>, dims: [i32; 3], dtype: &str) -> PyResult<()> {
        let real = match dtype {
            "float16" => Real::F16,
            "float64" => Real::F64,
            _ => Real::F32,
        };
        let grid = HashGrid::new(dims, real).map_err(|error| wrong(slf.py(), Kind::HashGrid, &error))?;
        Engine::begin(slf, Made::Grid(grid), Arrays::default())
    }

    /// A texture of `texels`, whose last axis may be that of channels; of None, texels are 0.
    /// `modes`: the filters of texels and of levels, then what is beside each axis.
    #[expect(clippy::too_many_arguments, reason = "they are Python's")]
    fn _texture<'py>(
        slf: &Bound<'py, Engine>,
        texels: Option<&Bound<'py, PyAny>>,
        extents: Vec<i64>,
        channels: i64,
        dtype: &str,
        modes: [i64; 5],
        normalized: bool,
        levels: i64,
    ) -> PyResult<()> {
        let py = slf.py();
        let fault = |error: EngineError| wrong(py, Kind::Texture, &error);
        let form = textures::form(&extents, channels, dtype, modes, normalized, levels).map_err(fault)?;
        let mut arrays = Arrays::default();
        let texture = match texels {
            None => Texture::new(form, &[]).map_err(fault)?,
            Some(texels) => {
                let scalar = Scalar::from_name(dtype).unwrap_or(Scalar::F32);
                let given = Given::of_dims(texels, textures::array_of(texels, scalar)?, "texels")?;
                // SAFETY: the array is kept where it is read in place.
                let made = unsafe { Texture::of_array(form, &given.descriptor) }.map_err(fault)?;
                arrays.put(DATA, form.is_read_in_place().then(|| given.kept()));
                made
            }
        };
        Engine::begin(slf, Made::Texture(Box::new(texture)), arrays)
    }

    /// The number of levels of a texture, and the word that says how kernels sample it.
    fn _texture_facts(&self, py: Python<'_>) -> PyResult<(i64, u32)> {
        self.with_texture(py, |texture| Ok((texture.form().levels, texture.form().metadata())))
    }

    /// The texels of a texture's first level.
    fn _texels<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        self.with_texture(py, |texture| Ok(PyBytes::new(py, texture.first_level())))
    }

    /// Other texels, of a texture that owns them.
    fn _write_texels(&self, py: Python<'_>, texels: &[u8]) -> PyResult<()> {
        self.change(py, |held| {
            held.leave(py)?;
            let Made::Texture(texture) = &mut held.made else { return Err(unbuilt()) };
            texture.write(texels).map_err(|error| wrong(py, Kind::Texture, &error))
        })
    }

    /// The address that kernels know it by: an argument for a `uint64`. None: it is not built.
    #[getter]
    fn id(&self, py: Python<'_>) -> Option<u64> {
        // Whoever reads the descriptor finds the gradients.
        self.publish(py);
        self.built.get().map(|(id, _)| *id)
    }

    /// The array of a name, as it was given.
    fn _array(&self, py: Python<'_>, name: &str) -> Option<Py<PyAny>> {
        self.held(py).as_ref()?.arrays.find(name).map(|(_, object, _)| object.clone_ref(py))
    }

    fn _set_points(&self, points: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = points.py();
        let given = Given::of(points, VEC3, POINTS)?;
        self.change(py, |held| {
            held.leave(py)?;
            let Made::Mesh(mesh) = &mut held.made else { return Err(unbuilt()) };
            let source = given.source(POINTS).and_then(|points| mesh.set_points(points));
            source.map_err(|error| wrong(py, Kind::Mesh, &error))?;
            held.arrays.put(POINTS, Some(given.kept()));
            Ok(())
        })
    }

    fn _set_velocities(&self, py: Python<'_>, velocities: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let given = Given::maybe(velocities, VEC3, VELOCITIES)?;
        self.change(py, |held| {
            let Made::Mesh(mesh) = &mut held.made else { return Err(unbuilt()) };
            let source = given.as_ref().map(|given| given.source(VELOCITIES)).transpose();
            let set = source.and_then(|velocities| mesh.set_velocities(velocities));
            set.map_err(|error| wrong(py, Kind::Mesh, &error))?;
            held.arrays.put(VELOCITIES, given.map(Given::kept));
            Ok(())
        })
    }

    /// Fits the tree to what its arrays hold now.
    fn refit(&self, py: Python<'_>) -> PyResult<()> {
        self.change(py, |held| {
            held.leave(py)?;
            let (_, kind) = held.made.name();
            let done = match &mut held.made {
                Made::Mesh(mesh) => mesh.refit(),
                Made::Bvh(bvh) => bvh.refit(),
                Made::Grid(_) | Made::Volume(_) | Made::Texture(_) => return Err(unbuilt()),
            };
            done.map_err(|error| wrong(py, kind, &error))
        })
    }

    fn _rebuild(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        let chosen = constructor(name).map_err(|error| wrong(py, Kind::Bvh, &error))?;
        self.change(py, |held| {
            held.leave(py)?;
            let Made::Bvh(bvh) = &mut held.made else { return Err(unbuilt()) };
            bvh.rebuild(chosen).map_err(|error| wrong(py, Kind::Bvh, &error))
        })?;
        note(py, chosen)
    }

    /// Sorts points.
    fn _sort(&self, points: &Bound<'_, PyAny>, width: f64, groups: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let py = points.py();
        self.change(py, |held| {
            held.leave(py)?;
            let Made::Grid(grid) = &mut held.made else { return Err(unbuilt()) };
            let scalar = match grid.dtype() {
                Real::F16 => Scalar::F16,
                Real::F32 => Scalar::F32,
                Real::F64 => Scalar::F64,
            };
            let given = Given::of(points, Element::Vec(3, scalar), POINTS)?;
            let groups = Given::maybe(groups, INT, "groups")?;
            let mut build = || -> Result<(), EngineError> {
                let groups = groups.as_ref().map(|given| given.source::<i32>("groups")).transpose()?;
                let groups = groups.as_ref().map(Source::as_slice);
                match scalar {
                    Scalar::F16 => grid.build(Points::F16(given.source(POINTS)?.as_slice()), width, groups),
                    Scalar::F64 => grid.build(Points::F64(given.source(POINTS)?.as_slice()), width, groups),
                    _ => grid.build(Points::F32(given.source(POINTS)?.as_slice()), width, groups),
                }
            };
            build().map_err(|error| wrong(py, Kind::HashGrid, &error))?;
            grid.follow(given.range());
            held.built_of = Some(given.kept().1);
            Ok(())
        })
    }

    fn _reserve(&self, py: Python<'_>, points: usize, with_groups: bool) -> PyResult<()> {
        self.change(py, |held| {
            let Made::Grid(grid) = &mut held.made else { return Err(unbuilt()) };
            grid.reserve(points, with_groups).map_err(|error| wrong(py, Kind::HashGrid, &error))
        })
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        // What is not looked at counts as used by somebody.
        let Ok(held) = self.held.try_lock() else { return Ok(()) };
        let Some(held) = &*held else { return Ok(()) };
        held.gradients.iter().try_for_each(|gradient| visit.call(gradient))?;
        visit.call(&held.built_of)?;
        held.arrays.0.iter().try_for_each(|(_, object, array)| visit.call(object).and_then(|()| visit.call(array)))
    }
}

/// An engine among the arguments of a launch, as it was then.
pub struct Used {
    pub engine: Py<Engine>,
    pub arrays: Vec<UsedArray>,
    past: Past,
}

/// An array of floats behind an id.
pub struct UsedArray {
    /// `mesh.points`
    pub name: String,
    pub object: Py<PyAny>,
    pub array: Py<PyUntypedArray>,
    pub place: Place,
}

impl Used {
    /// `name`: of the argument.
    pub fn of(engine: &Bound<'_, Engine>, name: &str) -> PyResult<Used> {
        let py = engine.py();
        engine.get().change(py, |held| {
            if let Made::Bvh(_) = &held.made {
                // Its boxes may change before it does.
                let mut past = held.past.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
                if past.is_none() {
                    *past = Some(held.made.frozen().map_err(|error| wrong(py, Kind::Bvh, &error))?);
                }
            }
            if let Made::Volume(volume) = &held.made {
                held.past = past_of(py, volume, &held.past)?;
            }
            let mut arrays = Vec::new();
            // Of a texture, `name` is that of its field.
            let name = if let Made::Texture(_) = &held.made { name.strip_suffix(".tex").unwrap_or(name) } else { name };
            if let Made::Mesh(_) | Made::Texture(_) = &held.made {
                for (what, object, array) in &held.arrays.0 {
                    if matches!(*what, POINTS | VELOCITIES | DATA) {
                        let (object, place) = (object.clone_ref(py), Place::of(array.bind(py)));
                        let name = format!("{name}.{what}");
                        arrays.push(UsedArray { name, object, array: array.clone_ref(py), place });
                    }
                }
                // Points first.
                arrays.sort_by(|a, b| a.name.cmp(&b.name));
            }
            Ok(Used { engine: engine.clone().unbind(), arrays, past: Arc::clone(&held.past) })
        })
    }

    /// What a derivative is given in its place: as the engine was, with these contents and
    /// gradients of its arrays.
    pub fn lent<'py>(
        &self,
        py: Python<'py>,
        contents: &[Bound<'py, PyUntypedArray>],
        gradients: &[Bound<'py, PyUntypedArray>],
    ) -> PyResult<Lent> {
        let past = self.past.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = &*past {
            return lent(made, contents, gradients);
        }
        drop(past);
        self.engine.get().change(py, |held| lent(&held.made, contents, gradients))
    }

    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.engine)?;
        self.arrays.iter().try_for_each(|used| visit.call(&used.object).and_then(|()| visit.call(&used.array)))
    }
}

/// A volume as it is now: launches write to it, and nothing says so. The last copy, if it is that.
fn past_of(py: Python<'_>, volume: &Volume, last: &Past) -> PyResult<Past> {
    let known = last.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
    if matches!(&*known, Some(Made::Volume(kept)) if kept.bytes() == volume.bytes()) {
        return Ok(Arc::clone(last));
    }
    let copy = volume.frozen().map_err(|error| wrong(py, Kind::Volume, &error))?;
    Ok(Arc::new(Mutex::new(Some(Made::Volume(Box::new(copy))))))
}

/// An id for the time of a launch.
pub struct Lent {
    pub id: u64,
    _view: Option<View>,
}

enum View {
    Mesh { _view: MeshView },
    Texture { _view: TextureView },
}

fn lent<'py>(
    made: &Made,
    contents: &[Bound<'py, PyUntypedArray>],
    gradients: &[Bound<'py, PyUntypedArray>],
) -> PyResult<Lent> {
    if let (Made::Texture(texture), [texels], [gradient]) = (made, contents, gradients) {
        let ty = textures::array_of(texels, Scalar::F32)?;
        let mut given = Given::of_dims(texels.as_any(), ty, "texels")?;
        given.descriptor.grad = Given::of_dims(gradient.as_any(), ty, "gradients")?.descriptor.data;
        // SAFETY: the arrays have the texture's form, and live during the launch, as it does.
        let view = unsafe { texture.view(given.descriptor) };
        return Ok(Lent { id: view.id(), _view: Some(View::Texture { _view: view }) });
    }
    let Made::Mesh(mesh) = made else { return Ok(Lent { id: made.name().0, _view: None }) };
    let mut descriptors = Vec::new();
    for (array, gradient) in contents.iter().zip(gradients) {
        let mut given = Given::of(array.as_any(), VEC3, POINTS)?;
        given.descriptor.grad = Given::of(gradient.as_any(), VEC3, "gradients")?.descriptor.data;
        descriptors.push(given.descriptor);
    }
    let mut descriptors = descriptors.into_iter();
    let Some(points) = descriptors.next() else { return Ok(Lent { id: mesh.id(), _view: None }) };
    // SAFETY: the arrays have the form of the mesh's, and live during the launch, as the mesh does;
    // a tree that would change meanwhile would change under any launch.
    let view = unsafe { mesh.view(points, descriptors.next()) };
    Ok(Lent { id: view.id(), _view: Some(View::Mesh { _view: view }) })
}
