//! What does a kernel receive of Python's objects? Each is checked against its parameter; arrays
//! stay where they are.

use std::collections::HashMap;

use kc::abi::ArrayDescriptor;
use kc::embed::{Bound as Laid, Extent, Place, Signature};
use kc::types::{ArrayType, Layout, MAX_DIMS, Scalar, StructTable, Type};
use pyo3::PyTypeInfo;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyComplex, PyDict};
use smallvec::SmallVec;

use crate::device::{self, Memory};
use crate::engines;
use crate::error::{Fault, Refused};
use crate::textures;
use crate::value;
use crate::view::{self, Gpu, Kind, View};

/// Arguments on their way into a launch.
pub struct Binder<'k, 'py> {
    signature: &'k Signature,
    structs: &'k StructTable,
    pub laid: Laid,
    /// What keeps memory alive until the launch is over.
    owners: SmallVec<[Bound<'py, PyAny>; 2]>,
    /// The gradients of arrays, by the arrays' names (`x`, `s.x`).
    gradients: Option<HashMap<String, Bound<'py, PyAny>>>,
    /// Whether arrays may be in the memory of a GPU; if so, where they are, and which of them said
    /// so first.
    anywhere: bool,
    at: Option<(Option<Gpu>, SmallVec<[u32; 4]>)>,
    /// An engine in the memory of the host: a mesh, a texture.
    near: Option<SmallVec<[u32; 4]>>,
    written: SmallVec<[Written<'py>; 2]>,
    /// Tensors of PyTorch that hold whole numbers on a GPU, and that the launch writes to.
    counted: SmallVec<[Bound<'py, PyAny>; 1]>,
}

/// Memory of a GPU that a launch writes to, from byte `low` to before `high`.
struct Written<'py> {
    memory: Bound<'py, Memory>,
    low: usize,
    high: usize,
    is_gradient: bool,
}

type Done = Result<(), Fault>;

impl<'k, 'py> Binder<'k, 'py> {
    pub fn new(signature: &'k Signature, structs: &'k StructTable) -> Binder<'k, 'py> {
        let (laid, owners) = (signature.room(), SmallVec::new());
        let (near, written, counted) = (None, SmallVec::new(), SmallVec::new());
        Binder { signature, structs, laid, owners, gradients: None, anywhere: false, at: None, near, written, counted }
    }

    /// For arrays that may be in the memory of a GPU.
    pub fn anywhere(mut self) -> Self {
        self.anywhere = true;
        self
    }

    /// Where the arrays are. None: on the host.
    pub fn gpu(&self) -> Result<Option<Gpu>, Refused> {
        let Some((Some(gpu), first)) = &self.at else { return Ok(None) };
        let Some(near) = &self.near else { return Ok(Some(*gpu)) };
        let name = |path: &[u32]| self.signature.name(path, self.structs);
        let (kernel, own, first) = (self.signature.kernel(), name(near), name(first));
        let text = format!(
            "argument `{own}` of kernel `{kernel}`: is in the memory of the host, and `{first}` is in the memory of a GPU"
        );
        let help = "meshes, trees, hash grids and textures are the host's: launch with arrays there";
        Err(Refused::new("E1104", text).help(help))
    }

    /// Notes what a launch on a GPU writes to: gradients, and with `arrays` the arrays.
    pub fn wrote(&self, arrays: bool) {
        for written in self.written.iter().filter(|written| written.is_gradient || arrays) {
            written.memory.get().wrote(written.low, written.high);
        }
        for tensor in self.counted.iter().filter(|_| arrays) {
            static WROTE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
            let wrote = WROTE.import(tensor.py(), "kc._arguments", "wrote");
            // An old PyTorch has no such count.
            drop(wrote.and_then(|wrote| wrote.call1((tensor,))));
        }
    }

    /// All arrays of a launch are on one device.
    fn place_at(&mut self, place: &Place, gpu: Option<Gpu>) -> Done {
        match &self.at {
            None if gpu.is_some() && !self.anywhere => Err(on_gpu("it").into()),
            None => {
                self.at = self.anywhere.then(|| (gpu, place.path.clone()));
                Ok(())
            }
            Some((known, _)) if *known == gpu => Ok(()),
            Some((known, first)) => {
                let name = self.signature.name(first, self.structs);
                let streams = known.zip(gpu).filter(|(a, b)| a.stream != b.stream && a.ordinal == b.ordinal);
                let refused = match streams {
                    Some(_) => Refused::new("E1104", format!("its library uses another stream than that of `{name}`"))
                        .help("use one stream for all arrays of a launch, or wait for the others and convert them"),
                    None => apart(gpu.map(|gpu| gpu.ordinal), &name, known.map(|gpu| gpu.ordinal)),
                };
                Err(refused.into())
            }
        }
    }

    /// With gradients of arrays, by the arrays' names.
    pub fn with(mut self, gradients: HashMap<String, Bound<'py, PyAny>>) -> Self {
        self.gradients = Some(gradients);
        self
    }

    /// Binds parameter `n`.
    pub fn bind(&mut self, n: usize, value: &Bound<'py, PyAny>) -> Done {
        let place = Place::of(n, &self.signature.params()[n]);
        self.pack(&place, value)
    }

    fn pack(&mut self, place: &Place, value: &Bound<'py, PyAny>) -> Done {
        match place.ty {
            Type::Array(ty) => {
                self.array(place, ty, value).map_err(|fault| named(place, self.signature, self.structs, fault))
            }
            Type::Struct(id) => {
                let fields = &self.structs[id].fields;
                let texture = textures::fields_of(value, &self.structs[id].name);
                let texture = texture.map_err(|fault| named(place, self.signature, self.structs, fault))?;
                if texture.is_some() {
                    // Of Warp, too, until the launch is over.
                    self.owners.push(value.clone());
                    self.near.get_or_insert_with(|| place.path.clone());
                }
                let value = texture.as_ref().unwrap_or(value);
                if value.is_none() && textures::is_texture(&self.structs[id].name) {
                    return Ok(());
                }
                let read = reader(value).map_err(|fault| named(place, self.signature, self.structs, fault))?;
                for (k, field) in fields.iter().enumerate() {
                    let Some(item) = read(&field.name)? else {
                        let what = no_field(&self.structs[id].name, &field.name, value);
                        return Err(named(place, self.signature, self.structs, Refused::new("E1004", what).into()));
                    };
                    self.pack(&place.field(k as u32, field.ty, self.structs), &item)?;
                }
                Ok(())
            }
            Type::Scalar(Scalar::U64) if self.engine(place, value)? => Ok(()),
            ty => match value::pack(ty, value).map_err(|fault| named(place, self.signature, self.structs, fault))? {
                Some(bytes) => {
                    self.laid.put(place.offset, &bytes);
                    Ok(())
                }
                None => {
                    let wanted = expected(ty, self.structs);
                    let what = format!("expected {wanted}, found {}", found(value));
                    Err(named(place, self.signature, self.structs, Refused::new("E1005", what).into()))
                }
            },
        }
    }

    /// Binds a mesh, a tree of boxes or a hash grid, which is kept until the launch is over. False:
    /// it is no such thing.
    fn engine(&mut self, place: &Place, value: &Bound<'py, PyAny>) -> Result<bool, Fault> {
        let Some(engine) = engines::of_argument(value) else {
            let gone = value.extract::<u64>().map_or(Ok(()), |id| engines::check_alive(value.py(), id));
            return gone.map(|()| false).map_err(|gone| named(place, self.signature, self.structs, gone.into()));
        };
        let id = engine.get().number();
        if id == 0 {
            let refused = Refused::new("E1005", "the object was not built: its __init__ was not called");
            return Err(named(place, self.signature, self.structs, refused.into()));
        }
        self.near.get_or_insert_with(|| place.path.clone());
        self.laid.put(place.offset, &id.to_le_bytes());
        self.owners.push(engine.into_any());
        Ok(true)
    }

    fn array(&mut self, place: &Place, ty: ArrayType, value: &Bound<'py, PyAny>) -> Done {
        // A null array is a descriptor of zeros, as the struct holds already.
        if value.is_none() {
            return Ok(());
        }
        let name = || self.signature.name(&place.path, self.structs);
        if let Some(refused) = of_other_package(value, &name) {
            return Err(refused.into());
        }
        let Some(mut view) = view::view(value)? else {
            let wanted = expected(Type::Array(ty), self.structs);
            let refused = Refused::new("E1005", format!("expected {wanted}, found {}", found(value)));
            return Err(refused.help("make an array of it, with `numpy.array` or `kc.array`").into());
        };
        self.place_at(place, view.gpu)?;
        view.memory.iter().for_each(device::keep);
        let writes = self.signature.writes(&place.path);
        let bears_array = Type::from(ty.element).bears_array(self.structs);
        if bears_array && view.gpu.is_some() {
            let refused = Refused::new("E1104", "its elements hold arrays, and are in the memory of a GPU");
            return Err(refused.help("pass these arrays as arguments, or in one struct").into());
        }
        if bears_array {
            self.arrays_within(ty, value)?;
        }
        let (mut descriptor, extent) =
            described(ty, &view, self.structs, bears_array).map_err(|fault| match fault {
                Fault::Refused(refused) => Fault::Refused(for_its_kind(refused, value, &name)),
                raised => raised,
            })?;
        if writes && !view.writable {
            let refused = Refused::new("E1010", "the kernel writes to it, and it is read-only");
            return Err(refused.help("pass a copy that can be written").into());
        }
        if let Some(gradients) = &self.gradients {
            let name = self.signature.name(&place.path, self.structs);
            if let Some(gradient) = gradients.get(&name) {
                let Some(other) = view::view(gradient)?.filter(|other| other.gpu == view.gpu) else {
                    return Err(Refused::new("E1005", format!("its gradient is {}", found(gradient))).into());
                };
                let (its, _) = describe(ty, &other, self.structs)?;
                // Along a dimension with one element nobody steps.
                let strides = |of: &ArrayDescriptor| {
                    (0..MAX_DIMS)
                        .filter(|&k| of.shape[k] > 1)
                        .map(|k| of.strides[k])
                        .collect::<SmallVec<[i32; MAX_DIMS]>>()
                };
                let differ = its.data != 0 && strides(&its) != strides(&descriptor);
                if its.shape != descriptor.shape || differ || !other.writable {
                    let what = "its gradient has not the same shape and strides, or is read-only";
                    return Err(Refused::new("E1009", what).into());
                }
                descriptor.grad = its.data;
                if let Some(memory) = other.memory {
                    device::keep(&memory);
                    let at = its.data as usize;
                    let (low, high) = (at - extent.below.min(at), at + extent.bytes);
                    self.written.push(Written { memory, low, high, is_gradient: true });
                }
                self.owners.extend(other.owner);
            }
        }
        let whole = !matches!(view.kind, Kind::Scalar(scalar) if scalar.is_float());
        if writes && whole && view.gpu.is_some() && view.memory.is_none() && package(value) == "torch" {
            self.counted.push(value.clone());
        }
        if let Some(memory) = view.memory.take().filter(|_| writes && descriptor.data != 0) {
            let at = descriptor.data as usize;
            let (low, high) = (at - extent.below, at + extent.bytes);
            self.written.push(Written { memory, low, high, is_gradient: false });
        }
        self.laid.put_array(place, ty, descriptor, Extent { writable: view.writable, ..extent });
        self.owners.extend(view.owner.take());
        Ok(())
    }

    /// Elements with arrays in them: these are of the kernel's types, and somebody keeps them.
    fn arrays_within(&self, ty: ArrayType, value: &Bound<'py, PyAny>) -> Done {
        if self.gradients.is_some() {
            let refused = Refused::new("E1103", "its elements hold arrays, whose gradients Python has no place for");
            return Err(refused.help("pass them as arguments, or in one struct").into());
        }
        static WRONG: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let wanted = outline(value.py(), ty.element.into(), self.structs)?;
        let wrong = WRONG.import(value.py(), "kc._structs", "wrong")?.call1((value, wanted))?;
        let Some(what) = wrong.extract::<Option<String>>()? else { return Ok(()) };
        let refused = Refused::new("E1005", what);
        Err(refused.help("make it with `kc.array([s, t], dtype=S)`, and set elements with `a[i] = s`").into())
    }
}

/// What a type is made of, for `kc/_structs.py`: a dict of fields, the dimensions and elements of
/// an array, or the scalar and the extents of a value.
fn outline<'py>(py: Python<'py>, ty: Type, structs: &StructTable) -> PyResult<Bound<'py, PyAny>> {
    match ty {
        Type::Struct(id) => {
            let fields = PyDict::new(py);
            for field in &structs[id].fields {
                fields.set_item(&field.name, outline(py, field.ty, structs)?)?;
            }
            Ok(fields.into_any())
        }
        Type::Array(array) => {
            Ok((array.ndim, outline(py, array.element.into(), structs)?).into_pyobject(py)?.into_any())
        }
        _ => {
            let scalar = ty.scalar_part().map(Scalar::name);
            Ok((scalar, trailing(ty).to_vec()).into_pyobject(py)?.into_any())
        }
    }
}

/// The package that a type comes from.
fn package(value: &Bound<'_, PyAny>) -> String {
    let module = value.get_type().module().map_or_else(|_| String::new(), |module| module.to_string());
    module.split('.').next().unwrap_or_default().to_string()
}

/// Why an object of another package is no array here, though it has numbers.
fn of_other_package(value: &Bound<'_, PyAny>, name: &dyn Fn() -> String) -> Option<Refused> {
    // NumPy's own arrays, as nearly always.
    if value.get_type().is(numpy::PyUntypedArray::type_object(value.py())) {
        return None;
    }
    let (package, kind) = (package(value), kind_of(value));
    match (package.as_str(), kind.as_str()) {
        ("pandas" | "polars", _) => {
            let column = if kind == "DataFrame" { "['column']" } else { "" };
            let name = name();
            let refused = Refused::new("E1005", format!("found a `{kind}` of {package}, which is no array"));
            Some(refused.help(format!(
                "pass `{name}{column}.to_numpy()`: it shares the memory of a column of plain numbers, and else is a copy, \
                 from which results have to be taken: `a = {name}{column}.to_numpy(copy=True)`, launch, `df['column'] = a`"
            )))
        }
        ("numpy", "MaskedArray") => {
            let name = name();
            let refused = Refused::new("E1005", "found a masked array, and kernels do not see the mask");
            Some(refused.help(format!(
                "pass `{name}.filled(0.0)`, or `{name}.data` and the mask as an array of `bool`: `{name}.mask`"
            )))
        }
        ("torch", _) if value.getattr("requires_grad").is_ok_and(|wants| wants.is_truthy().unwrap_or(false)) => {
            let name = name();
            let refused =
                Refused::new("E1005", "found a tensor with `requires_grad`, whose gradient a launch would lose");
            Some(refused.help(format!(
                "make the kernel a function of PyTorch's, with `kc.torch.function`; or pass `{name}.detach()`, which shares \
                 its memory"
            )))
        }
        _ => None,
    }
}

/// Names the argument in the advice, in words of its library.
fn for_its_kind(mut refused: Refused, value: &Bound<'_, PyAny>, name: &dyn Fn() -> String) -> Refused {
    if let Some(help) = &refused.help
        && help.contains("`x.astype(numpy.")
    {
        let name = name();
        let help = match package(value).as_str() {
            "torch" => help.replace("`x.astype(numpy.", &format!("`{name}.to(torch.")),
            "jax" | "jaxlib" => help.replace("`x.astype(numpy.", &format!("`{name}.astype(jax.numpy.")),
            _ => help.replace("`x.astype(numpy.", &format!("`{name}.astype(numpy.")),
        };
        refused.help = Some(help);
    }
    if let Some(help) = refused.help.as_mut().filter(|help| help.starts_with(NO_COMPLEX)) {
        let name = name();
        *help = match package(value).as_str() {
            "torch" => {
                let rest = help.split_once("`, which").map_or("", |(_, rest)| rest);
                format!("{NO_COMPLEX}: pass `torch.view_as_real({name})`, which{rest}")
            }
            _ => help.replace("`x.view", &format!("`{name}.view")).replace("*x.shape", &format!("*{name}.shape")),
        };
    }
    refused
}

/// How the advice for complex numbers begins.
const NO_COMPLEX: &str = "kernels have no complex numbers";

/// Arrays of a launch are on several devices: this one, and the one of another name. A GPU may have
/// a number.
pub fn apart(here: Option<Option<i32>>, name: &str, there: Option<Option<i32>>) -> Refused {
    let memory = |gpu: Option<Option<i32>>| match gpu {
        None => "the memory of the host".to_string(),
        Some(None) => "the memory of a GPU".to_string(),
        Some(Some(n)) => format!("the memory of GPU {n}"),
    };
    Refused::new("E1104", format!("is in {}, and `{name}` is in {}", memory(here), memory(there)))
        .help("copy one of them, so that all arrays of a launch are on one device")
}

/// What is asked of an array on a GPU and is done on the host.
pub fn on_gpu(what: &str) -> Refused {
    let what = if what == "it" { String::new() } else { format!("{what} ") };
    Refused::new("E1104", format!("{what}is in the memory of a GPU, and this runs on the host")).help(
        "launches and `kc.torch.function` take arrays on a GPU as they are, and all else takes `kc.array(x)` of them, which shares the memory; \
         or copy it to the host, for PyTorch with `.cpu()`",
    )
}

/// An error that names its argument.
pub fn named(place: &Place, signature: &Signature, structs: &StructTable, fault: Fault) -> Fault {
    let (kernel, name) = (signature.kernel(), signature.name(&place.path, structs));
    fault.of(&format!("argument `{name}` of kernel `{kernel}`"))
}

/// What a struct argument lacks.
pub fn no_field(ty: &str, field: &str, value: &Bound<'_, PyAny>) -> String {
    format!("expected a `{ty}`, and the {} has no field `{field}`", kind_of(value))
}

/// Gives the field of a name, if there is one.
pub type Reader<'a, 'py> = Box<dyn Fn(&str) -> PyResult<Option<Bound<'py, PyAny>>> + 'a>;

/// How the fields of a struct argument are read: from a dict, a structured scalar, or attributes.
pub fn reader<'a, 'py>(value: &'a Bound<'py, PyAny>) -> Result<Reader<'a, 'py>, Fault> {
    if let Ok(dict) = value.cast::<PyDict>() {
        return Ok(Box::new(move |name| dict.get_item(name)));
    }
    // `numpy.void`: an element of a structured array.
    // (That of kc's arrays is a class.)
    let names = value.getattr_opt("dtype")?.map(|dtype| dtype.getattr_opt("names")).transpose()?.flatten();
    if names.is_some_and(|names| !names.is_none()) {
        return Ok(Box::new(move |name| value.get_item(name).map(Some)));
    }
    Ok(Box::new(move |name| value.getattr_opt(name)))
}

/// The descriptor of an array of this type, and the memory around it.
pub fn describe(ty: ArrayType, view: &View<'_>, structs: &StructTable) -> Result<(ArrayDescriptor, Extent), Fault> {
    described(ty, view, structs, false)
}

/// The same; `arrays`: of elements with arrays in them, too.
fn described(
    ty: ArrayType,
    view: &View<'_>,
    structs: &StructTable,
    arrays: bool,
) -> Result<(ArrayDescriptor, Extent), Fault> {
    let element = Type::from(ty.element);
    let layout = Layout::of_element(ty.element, structs);
    let inner = trailing(element);
    let dims = usize::from(ty.ndim);
    // Vectors and matrices are trailing dimensions of numbers, or elements of a structured type.
    let whole = match &view.kind {
        Kind::Scalar(scalar) if element.scalar_part() == Some(*scalar) => &inner[..],
        kind @ Kind::Other(_) if same_memory(kind, element, layout, structs, arrays) => &[],
        kind => return Err(wrong_kind(ty, kind, structs).into()),
    };
    let (shape, strides) = merged(view, dims, dims + whole.len())?;
    let (n, size) = (shape.len(), layout.size as isize);
    if n != dims + whole.len() || shape[dims..].iter().zip(whole).any(|(&a, &b)| a != b as isize) {
        return Err(wrong_shape(ty, whole, view, structs).into());
    }
    // The numbers of an element follow each other; where there are none, strides may be 0.
    let empty = shape.contains(&0);
    let mut step = if whole.is_empty() { size } else { element.scalar_part().map_or(1, Scalar::size) as isize };
    for k in (dims..n).rev() {
        if strides[k] != step && shape[k] > 1 && !empty {
            let what = format!("the components of an element lie {} bytes apart, and not {step}", strides[k]);
            let refused = Refused::new("E1009", what);
            return Err(refused.help("make them neighbours, with `numpy.ascontiguousarray(x)`").into());
        }
        step *= shape[k];
    }
    let mut descriptor =
        ArrayDescriptor { data: 0, grad: 0, shape: [0; MAX_DIMS], strides: [0; MAX_DIMS], ndim: dims as i32, flags: 0 };
    let (mut below, mut above) = (0usize, 0usize);
    for k in 0..dims {
        let (extent, stride) = (shape[k], strides[k]);
        let steps = extent.max(1).unsigned_abs() - 1;
        // Along a dimension with one element nobody steps.
        let stride = if steps == 0 || empty { stride.clamp(0, i32::MAX as isize) } else { stride };
        let (Ok(small), Ok(bytes)) = (i32::try_from(extent), i32::try_from(stride)) else {
            let what = format!("shape {:?}: extents and strides in bytes are at most {}", shape.as_slice(), i32::MAX);
            return Err(Refused::new("E1006", what).into());
        };
        descriptor.shape[k] = small;
        descriptor.strides[k] = bytes;
        let reach = steps.saturating_mul(stride.unsigned_abs());
        match stride < 0 {
            true => below = below.saturating_add(reach),
            false => above = above.saturating_add(reach),
        }
        if !empty && steps > 0 && stride % layout.align as isize != 0 {
            return Err(unaligned(ty, structs).into());
        }
    }
    if empty {
        // As in Warp, an array without elements is null.
        return Ok((descriptor, Extent { below: 0, bytes: 0, writable: true }));
    }
    descriptor.data = view.data.expose_provenance() as u64;
    if !descriptor.data.is_multiple_of(u64::from(layout.align)) {
        return Err(unaligned(ty, structs).into());
    }
    Ok((descriptor, Extent { below, bytes: above + size as usize, writable: true }))
}

/// The extents and strides of an array, in bytes. Kernels have at most [`MAX_DIMS`] dimensions: of
/// more, the first ones are one dimension, where their elements lie at one distance.
fn merged(view: &View<'_>, dims: usize, wanted: usize) -> Result<(Extents, Extents), Refused> {
    let (mut shape, mut strides) = (view.shape.clone(), view.strides.clone());
    while dims == MAX_DIMS && shape.len() > wanted {
        let (outer, inner) = (shape[0], shape[1]);
        let stride = match (outer, inner) {
            _ if shape.contains(&0) => strides[1],
            (1, _) => strides[1],
            (_, 1) => strides[0],
            _ if strides[0] == inner.saturating_mul(strides[1]) => strides[1],
            _ => {
                let shape: Vec<String> = view.shape.iter().map(isize::to_string).collect();
                let what = format!(
                    "the first dimensions of an array of shape ({}) cannot be one, as a kernel with {MAX_DIMS} needs \
                     them: they do not follow each other",
                    shape.join(", ")
                );
                return Err(Refused::new("E1009", what).help("pass a copy, with `numpy.ascontiguousarray(x)`"));
            }
        };
        shape[1] = outer.saturating_mul(inner);
        strides[1] = stride;
        shape.remove(0);
        strides.remove(0);
    }
    Ok((shape, strides))
}

type Extents = SmallVec<[isize; 6]>;

fn unaligned(ty: ArrayType, structs: &StructTable) -> Refused {
    let element = Type::from(ty.element).display(structs);
    Refused::new("E1009", format!("its elements are not aligned as `{element}` must be"))
        .help("pass a copy: `numpy.require(x, requirements=\"CA\")`")
}

/// The extents of an element's numbers.
pub fn trailing(element: Type) -> SmallVec<[usize; 2]> {
    match element {
        Type::Vec(n, _) => SmallVec::from_slice(&[n.into()]),
        Type::Mat(rows, columns, _) => SmallVec::from_slice(&[rows.into(), columns.into()]),
        Type::Quat(_) => SmallVec::from_slice(&[4]),
        Type::Transform(_) => SmallVec::from_slice(&[7]),
        _ => SmallVec::new(),
    }
}

/// Whether structured elements lie in memory as the kernel's do.
fn same_memory(kind: &Kind<'_>, element: Type, layout: Layout, structs: &StructTable, arrays: bool) -> bool {
    let mut wanted = Vec::new();
    numbers(element, 0, structs, &mut wanted)
        && (arrays || !element.bears_array(structs))
        && kind.parts().is_some_and(|(size, parts)| size == layout.size as usize && parts == wanted)
        && kind.is_named_as(element, structs)
}

/// Offset and type of each number. False: something else is in it.
fn numbers(ty: Type, at: usize, structs: &StructTable, out: &mut Vec<(usize, Scalar)>) -> bool {
    if let Type::Array(_) = ty {
        // `ArrayDescriptor`.
        out.extend([(at, Scalar::U64), (at + 8, Scalar::U64)]);
        out.extend((0..2 * MAX_DIMS + 2).map(|n| (at + 16 + 4 * n, Scalar::I32)));
        return true;
    }
    if let Type::Struct(id) = ty {
        return structs[id].fields.iter().enumerate().all(|(k, field)| {
            let offset = Layout::step_offset(ty, k as u32, structs) as usize;
            numbers(field.ty, at + offset, structs, out)
        });
    }
    let Some((scalar, count)) = ty.scalar_part().zip(ty.scalar_count().or(Some(1))) else { return false };
    out.extend((0..count as usize).map(|n| (at + n * scalar.size() as usize, scalar)));
    true
}

fn wrong_kind(ty: ArrayType, kind: &Kind<'_>, structs: &StructTable) -> Refused {
    let element = Type::from(ty.element);
    let wanted = expected(Type::Array(ty), structs);
    let refused = Refused::new("E1005", format!("expected {wanted}, found elements of {}", kind.shown()));
    match (element.scalar_part(), kind) {
        (Some(Scalar::BF16), _) => refused.help("NumPy has bfloat16 from the package `ml_dtypes`"),
        (Some(scalar), Kind::Scalar(_)) => {
            let name = if scalar == Scalar::Bool { "bool" } else { scalar.name() };
            refused.help(format!("convert it, with `x.astype(numpy.{name})`, or change the type in the kernel"))
        }
        (Some(scalar), Kind::Other(_)) => {
            let shown = kind.shown();
            let help = match shown.as_str() {
                _ if shown.starts_with("datetime64") || shown.starts_with("timedelta64") => {
                    "kernels have no times: pass whole numbers, `x.view(numpy.int64)`, which shares the memory"
                        .to_string()
                }
                "object" => {
                    format!("its elements are Python objects: convert it, with `x.astype(numpy.{})`", scalar.name())
                }
                _ if shown.starts_with("complex") => {
                    let (part, vector) = if shown == "complex64" { ("float32", "vec2") } else { ("float64", "vec2d") };
                    format!(
                        "{NO_COMPLEX}: pass `x.view(numpy.{part}).reshape(*x.shape, 2)`, which shares the memory, and declare \
                         `kc.array(dtype=kc.{vector})`; `+`, `-` and products with numbers are the same there"
                    )
                }
                _ => return refused,
            };
            refused.help(help)
        }
        (None, _) => refused.help("make the array with `kc.zeros(n, dtype=...)`, or with the struct's `numpy_dtype()`"),
    }
}

fn wrong_shape(ty: ArrayType, whole: &[usize], view: &View<'_>, structs: &StructTable) -> Refused {
    let plural = if ty.ndim == 1 { "" } else { "s" };
    let more = match whole {
        [] => String::new(),
        [n] => format!(", then {n} components"),
        list => format!(", then {} components", list.iter().map(usize::to_string).collect::<Vec<_>>().join(" x ")),
    };
    let element = Type::Array(ty).display(structs);
    let shape: Vec<String> = view.shape.iter().map(isize::to_string).collect();
    let shape = shape.join(", ") + if shape.len() == 1 { "," } else { "" };
    Refused::new(
        "E1005",
        format!("expected `{element}`, {} dimension{plural}{more}; found an array of shape ({shape})", ty.ndim),
    )
}

/// What fits a parameter, in the words of Python.
fn expected(ty: Type, structs: &StructTable) -> String {
    let shown = ty.display(structs);
    match ty {
        Type::Array(array) => {
            let element = Type::from(array.element);
            let plural = if array.ndim == 1 { "" } else { "s" };
            let what = match (element.scalar_part(), &trailing(element)[..]) {
                (Some(scalar), []) => format!("{} numbers", scalar.name()),
                (Some(scalar), list) => {
                    let list: Vec<String> = list.iter().map(usize::to_string).collect();
                    format!("{} x {} numbers", list.join(" x "), scalar.name())
                }
                (None, _) => "structs".to_string(),
            };
            format!("`{shown}`, an array of {what} with {} dimension{plural}", array.ndim)
        }
        Type::Scalar(Scalar::Bool) => format!("`{shown}`, True or False"),
        Type::Scalar(scalar) if scalar.is_float() => format!("`{shown}`, a number"),
        Type::Scalar(_) => format!("`{shown}`, a whole number"),
        Type::Mat(rows, columns, _) => format!("`{shown}`, {rows} rows of {columns} numbers"),
        _ => format!("`{shown}`, {} numbers", ty.scalar_count().unwrap_or(0)),
    }
}

fn kind_of(value: &Bound<'_, PyAny>) -> String {
    value.get_type().name().map_or_else(|_| "object".to_string(), |name| name.to_string())
}

/// What was given, for messages.
fn found(value: &Bound<'_, PyAny>) -> String {
    let kind = kind_of(value);
    if value.is_instance_of::<PyComplex>() {
        return "a complex number".to_string();
    }
    match value.len() {
        Ok(n) => format!("a `{kind}` of length {n}"),
        Err(_) => match value.repr() {
            Ok(text) if text.to_string().chars().count() <= 40 => format!("the `{kind}` {text}"),
            _ => format!("a `{kind}`"),
        },
    }
}
