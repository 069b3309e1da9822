//! What does the kernel receive? A launch's arguments, checked against the kernel's parameters and laid out in memory.

use std::collections::{BTreeMap, HashMap};
use std::ffi::c_void;

use super::launch::{Argument, ArgumentKind, ArrayArgument, DType, Fill, Launch, Literal, Number, Source, Stored};
use super::memory::{self, Buffer};
use super::npy::{Array, Header};
use super::npz::{self, Npz};
use super::{Fail, Result, fail, literal};
use crate::codegen::abi::{argument_layout, descriptor};
use crate::diag::Code;
use crate::ir::Function;
use crate::types::{ArrayType, Layout, MAX_DIMS, Scalar, StructId, StructTable, Type};

/// The arguments of one launch, ready to run.
pub struct Arguments {
    /// The kernel's parameters as a C struct.
    block: Buffer,
    buffers: Vec<Buffer>,
    /// Every array with memory of its own or shared, in the order of the parameters.
    pub arrays: Vec<BoundArray>,
}

/// An array argument and its place in memory.
#[derive(Clone, Debug)]
pub struct BoundArray {
    /// The name under which it is stored: `x`, or `s.x` inside a struct argument.
    pub key: String,
    pub ty: ArrayType,
    pub shape: Vec<u32>,
    /// In bytes.
    pub strides: Vec<i64>,
    place: Place,
    pub grad: Option<Grad>,
}

/// The gradient array of an array: same type, shape and strides.
#[derive(Clone, Debug)]
pub struct Grad {
    pub key: String,
    place: Place,
}

/// Byte `origin` of a buffer is the first element.
#[derive(Clone, Copy, Debug)]
struct Place {
    buffer: usize,
    origin: u64,
}

/// A scalar, vector or matrix inside an array element; the element itself unless it is a struct.
#[derive(Clone, Debug, PartialEq)]
pub struct Leaf {
    /// What follows the array's key: nothing, or `.pos`.
    pub suffix: String,
    /// Bytes from the start of the element.
    pub offset: u32,
    pub scalar: Scalar,
    /// The component shape.
    pub shape: Vec<u64>,
}

impl Leaf {
    fn bytes(&self) -> usize {
        self.shape.iter().product::<u64>() as usize * self.scalar.size() as usize
    }
}

/// The leaves of an element type in the order of memory; None if a struct in it has an array field.
pub fn leaves(ty: Type, structs: &StructTable) -> Option<Vec<Leaf>> {
    fn visit(ty: Type, suffix: String, offset: u32, structs: &StructTable, out: &mut Vec<Leaf>) -> Option<()> {
        let (scalar, shape) = match ty {
            Type::Scalar(s) => (s, vec![]),
            Type::Vec(n, s) => (s, vec![n.into()]),
            Type::Mat(r, c, s) => (s, vec![r.into(), c.into()]),
            Type::Quat(s) => (s, vec![4]),
            Type::Transform(s) => (s, vec![7]),
            Type::Array(_) | Type::Local(_) => return None,
            Type::Struct(id) => {
                for (k, field) in structs[id].fields.iter().enumerate() {
                    let at = offset + Layout::step_offset(ty, k as u32, structs);
                    visit(field.ty, format!("{suffix}.{}", field.name), at, structs, out)?;
                }
                return Some(());
            }
        };
        out.push(Leaf { suffix, offset, scalar, shape });
        Some(())
    }
    let mut out = Vec::new();
    visit(ty, String::new(), 0, structs, &mut out)?;
    Some(out)
}

/// Calls `f` with the byte offset of every element, row major.
fn for_each_element(shape: &[u32], strides: &[i64], mut f: impl FnMut(i64)) {
    if shape.contains(&0) {
        return;
    }
    let mut index = [0u32; MAX_DIMS];
    let mut at = 0;
    loop {
        f(at);
        let mut dim = shape.len();
        loop {
            if dim == 0 {
                return;
            }
            dim -= 1;
            index[dim] += 1;
            at += strides[dim];
            if index[dim] < shape[dim] {
                break;
            }
            at -= strides[dim] * i64::from(index[dim]);
            index[dim] = 0;
        }
    }
}

fn dense_strides(shape: &[u32], element: u32) -> Option<Vec<i64>> {
    let mut strides = vec![0; shape.len()];
    let mut step = i64::from(element);
    for (stride, &n) in strides.iter_mut().zip(shape).rev() {
        *stride = step;
        // An empty array has no element to step to.
        step = step.checked_mul(i64::from(n.max(1)))?;
    }
    Some(strides)
}

impl Arguments {
    /// Reads, checks and places the arguments of `launch` for `kernel`. `origin` names the launch in messages.
    pub fn bind(launch: &Launch, origin: &str, kernel: &Function, structs: &StructTable) -> Result<Arguments> {
        let params: Vec<(String, Type)> = kernel
            .params()
            .iter()
            .map(|&v| (kernel.values[v].name.clone().unwrap_or_else(|| v.to_string()), kernel.ty(v)))
            .collect();
        let types: Vec<Type> = params.iter().map(|p| p.1).collect();
        let (offsets, layout) = argument_layout(&types, structs);
        let mut binder = Binder {
            launch,
            origin,
            structs,
            inputs: None,
            others: HashMap::new(),
            placed: BTreeMap::new(),
            budget: memory::available(),
            out: Arguments {
                block: Buffer::zeroed(layout.size.into(), "the argument struct")?,
                buffers: Vec::new(),
                arrays: Vec::new(),
            },
        };
        let owner = format!("kernel `{}`", kernel.source_name);
        let args = binder.matching("", &owner, "parameter", &params, &launch.args)?;
        for ((argument, (_, ty)), offset) in args.into_iter().zip(&params).zip(offsets) {
            binder.pack(&argument.name, argument, *ty, offset)?;
        }
        Ok(binder.out)
    }

    /// The C struct of the parameters.
    pub fn block(&self) -> *const c_void {
        std::ptr::with_exposed_provenance(self.block.address() as usize)
    }

    /// The contents of an array's leaf, dense and row major.
    pub fn gather(&self, array: &BoundArray, leaf: &Leaf) -> Vec<u8> {
        self.gather_at(array, array.place, leaf)
    }

    /// The same of its gradient, if it has one.
    pub fn gather_grad(&self, array: &BoundArray, leaf: &Leaf) -> Option<Vec<u8>> {
        Some(self.gather_at(array, array.grad.as_ref()?.place, leaf))
    }

    fn gather_at(&self, array: &BoundArray, place: Place, leaf: &Leaf) -> Vec<u8> {
        let memory = self.buffers[place.buffer].bytes();
        let size = leaf.bytes();
        let count: u64 = array.shape.iter().map(|&n| u64::from(n)).product();
        let mut out = Vec::with_capacity(count as usize * size);
        for_each_element(&array.shape, &array.strides, |at| {
            let start = (place.origin as i64 + at) as usize + leaf.offset as usize;
            out.extend_from_slice(&memory[start..start + size]);
        });
        out
    }
}

struct Binder<'a> {
    launch: &'a Launch,
    origin: &'a str,
    structs: &'a StructTable,
    /// The launch's own archive, opened when first needed.
    inputs: Option<Npz>,
    others: HashMap<std::path::PathBuf, Npz>,
    /// By key, for aliases.
    placed: BTreeMap<String, (Place, ArrayType, Vec<u32>, Vec<i64>)>,
    /// Bytes that may still be allocated.
    budget: u64,
    out: Arguments,
}

impl<'a> Binder<'a> {
    fn fail(&self, code: Code, message: impl std::fmt::Display) -> Fail {
        fail(code, format!("{}: {message}", self.origin))
    }

    /// The arguments in the order of `params`. `path` is the struct they belong to, empty at the top.
    fn matching(
        &self,
        path: &str,
        owner: &str,
        what: &str,
        params: &[(String, Type)],
        args: &'a [Argument],
    ) -> Result<Vec<&'a Argument>> {
        let full = |name: &str| if path.is_empty() { name.to_string() } else { format!("{path}.{name}") };
        let mut by_name: HashMap<&str, &Argument> = HashMap::new();
        for argument in args {
            if by_name.insert(&argument.name, argument).is_some() {
                return Err(self.fail(Code::E1004, format!("argument `{}` is given twice", full(&argument.name))));
            }
            if !params.iter().any(|(name, _)| *name == argument.name) {
                let names: Vec<String> = params.iter().map(|p| p.0.clone()).collect();
                let has = if names.is_empty() { "none".to_string() } else { super::list(&names) };
                let message =
                    format!("argument `{}` is not a {what} of {owner}; its {what}s are {has}", full(&argument.name));
                return Err(self.fail(Code::E1004, message));
            }
        }
        params
            .iter()
            .map(|(name, ty)| {
                by_name.get(name.as_str()).copied().ok_or_else(|| {
                    let ty = ty.display(self.structs);
                    self.fail(
                        Code::E1004,
                        format!("argument `{}` of {owner} is missing ({what} type `{ty}`)", full(name)),
                    )
                })
            })
            .collect()
    }

    /// Writes one argument at `offset` of the argument struct. `path` is its full name.
    fn pack(&mut self, path: &str, argument: &'a Argument, ty: Type, offset: u32) -> Result<()> {
        let expected = || format!("argument `{path}`: expected `{}`", ty.display(self.structs));
        match (ty, &argument.kind) {
            (Type::Array(array), ArgumentKind::Array(given)) => self.array(path, given, array, offset),
            (Type::Struct(id), ArgumentKind::Struct { name, fields }) => {
                if let Some(name) = name {
                    self.struct_layout(path, name, id)?;
                }
                let def = &self.structs[id];
                let params: Vec<(String, Type)> = def.fields.iter().map(|f| (f.name.clone(), f.ty)).collect();
                let owner = format!("struct `{}`", def.name);
                let fields = self.matching(path, &owner, "field", &params, fields)?;
                for (k, (field, (name, field_ty))) in fields.into_iter().zip(&params).enumerate() {
                    let at = offset + Layout::step_offset(ty, k as u32, self.structs);
                    self.pack(&format!("{path}.{name}"), field, *field_ty, at)?;
                }
                Ok(())
            }
            (Type::Scalar(_) | Type::Vec(..) | Type::Mat(..) | Type::Quat(_) | Type::Transform(_), kind) => {
                let ArgumentKind::Value { dtype, literal } = kind else {
                    return Err(self.fail(Code::E1005, format!("{}, found {}", expected(), kind_name(kind))));
                };
                if let Some(dtype) = dtype
                    && !same_type(dtype, ty)
                {
                    return Err(self.fail(Code::E1005, format!("{}, found a {}", expected(), show_dtype(dtype))));
                }
                let bytes = encode(literal, ty).map_err(|why| {
                    self.fail(Code::E1011, format!("argument `{path}` of type `{}`: {why}", ty.display(self.structs)))
                })?;
                self.out.block.bytes_mut()[offset as usize..][..bytes.len()].copy_from_slice(&bytes);
                Ok(())
            }
            (_, kind) => Err(self.fail(Code::E1005, format!("{}, found {}", expected(), kind_name(kind)))),
        }
    }

    /// Compares the layout that the launch states for a struct with the kernel's.
    fn struct_layout(&self, path: &str, name: &str, id: StructId) -> Result<()> {
        let Some(stated) = self.launch.structs.get(name) else { return Ok(()) };
        let (def, ty) = (&self.structs[id], Type::Struct(id));
        let ours = Layout::of(ty, self.structs);
        let offsets = (0..def.fields.len()).map(|k| u64::from(Layout::step_offset(ty, k as u32, self.structs)));
        let same = stated.size == u64::from(ours.size)
            && stated.align == u64::from(ours.align)
            && stated.fields.iter().map(|f| (f.name.as_str(), f.offset)).eq(def
                .fields
                .iter()
                .map(|f| f.name.as_str())
                .zip(offsets));
        if same {
            return Ok(());
        }
        let fields: Vec<String> = def.fields.iter().map(|f| f.name.clone()).collect();
        let fields =
            if fields.is_empty() { "no fields".to_string() } else { format!("fields {}", super::list(&fields)) };
        let message = format!(
            "argument `{path}`: the launch gives struct `{name}` another layout than the kernel, where `{}` has {} bytes and {fields}",
            def.name, ours.size
        );
        Err(self.fail(Code::E1005, message))
    }

    fn array(&mut self, path: &str, given: &'a ArrayArgument, ty: ArrayType, offset: u32) -> Result<()> {
        let at = format!("argument `{path}`");
        let shown = Type::Array(ty).display(self.structs);
        if let Some(dtype) = &given.dtype {
            if !same_type(dtype, ty.element.into()) {
                let message = format!("{at}: expected `{shown}`, found an array of {}", show_dtype(dtype));
                return Err(self.fail(Code::E1005, message));
            }
            if let (DType::Struct(name), Type::Struct(id)) = (dtype, ty.element.into()) {
                self.struct_layout(path, name, id)?;
            }
        }
        for (what, n) in [("ndim", given.ndim), ("shape", given.shape.as_ref().map(|s| s.len() as u32))] {
            if let Some(n) = n.filter(|&n| n != u32::from(ty.ndim)) {
                let message =
                    format!("{at}: expected `{shown}` with {}, found {what} of {}", dims(ty.ndim.into()), dims(n));
                return Err(self.fail(Code::E1005, message));
            }
        }
        let Some(data) = &given.data else {
            // A null array: a descriptor of zeros, as the block holds already.
            return Ok(());
        };
        let element = Layout::of_element(ty.element, self.structs);
        let Some(leaves) = leaves(ty.element.into(), self.structs) else {
            return Err(self.fail(Code::E1005, format!("{at}: arrays of structs that hold arrays cannot be passed")));
        };
        let mut shape = given.shape.clone();
        let contents = self.read(&at, data, ty, &leaves, &mut shape)?;
        let Some(shape) = shape else {
            return Err(self.fail(Code::E1006, format!("{at}: the shape is not known")));
        };
        let strides = self.strides(&at, &shape, given.strides.as_deref(), element)?;
        let place = self.place(&at, data, ty, &shape, &strides, element)?;
        self.scatter(place, &shape, &strides, &leaves, contents, &at, &data.source)?;
        let grad = match &given.grad {
            None => None,
            Some(grad) => {
                let at = format!("gradient of argument `{path}`");
                let contents = self.read(&at, grad, ty, &leaves, &mut Some(shape.clone()))?;
                let place = self.place(&at, grad, ty, &shape, &strides, element)?;
                self.scatter(place, &shape, &strides, &leaves, contents, &at, &grad.source)?;
                Some(Grad { key: grad.key.clone(), place })
            }
        };
        self.describe(offset, place, grad.as_ref().map(|g| g.place), &shape, &strides);
        self.out.arrays.push(BoundArray { key: data.key.clone(), ty, shape, strides, place, grad });
        Ok(())
    }

    /// Reads the leaves of an array from its file; none for other sources. Fixes the shape where it is not given.
    fn read(
        &mut self,
        at: &str,
        stored: &Stored,
        ty: ArrayType,
        leaves: &[Leaf],
        shape: &mut Option<Vec<u32>>,
    ) -> Result<Vec<Array>> {
        let (path, entry) = match &stored.source {
            Source::Alias(_) | Source::Fill(_) => return Ok(Vec::new()),
            Source::Entry => (self.launch.inputs.clone(), Some(stored.key.clone())),
            Source::File { path, entry } => (path.clone(), entry.clone()),
        };
        let origin = self.origin;
        let mut arrays = Vec::with_capacity(leaves.len());
        for leaf in leaves {
            let check = |header: &Header| {
                let name = match &entry {
                    Some(entry) => format!("entry `{entry}{}` of {}", leaf.suffix, path.display()),
                    None => path.display().to_string(),
                };
                let mismatch = |what: String| Err(fail(Code::E1009, format!("{origin}: {at}: {name} {what}")));
                if !header.holds(leaf.scalar) {
                    return mismatch(format!(
                        "has type {}, expected {} for {}",
                        header.type_name(),
                        &super::npy::descr(leaf.scalar)[1..],
                        leaf.scalar.name()
                    ));
                }
                if shape.is_none() {
                    let outer = header.shape.len().checked_sub(leaf.shape.len()).unwrap_or(usize::MAX);
                    let extents = header.shape.get(..outer).filter(|s| s.len() == usize::from(ty.ndim));
                    let extents = extents.and_then(|s| {
                        s.iter().map(|&n| u32::try_from(n).ok().filter(|&n| n <= i32::MAX as u32)).collect()
                    });
                    let Some(extents) = extents else {
                        let wanted = if leaf.shape.is_empty() {
                            dims(ty.ndim.into())
                        } else {
                            format!("{} and the components {}", dims(ty.ndim.into()), show_shape(&leaf.shape))
                        };
                        return mismatch(format!("has shape {}, expected {wanted}", show_shape(&header.shape)));
                    };
                    *shape = Some(extents);
                }
                let outer = shape.as_deref().unwrap_or_default().iter().map(|&n| u64::from(n));
                let expected: Vec<u64> = outer.chain(leaf.shape.iter().copied()).collect();
                if header.shape != expected {
                    return mismatch(format!(
                        "has shape {}, expected {}",
                        show_shape(&header.shape),
                        show_shape(&expected)
                    ));
                }
                Ok(())
            };
            let array = match &entry {
                Some(entry) => self.archive(&path)?.read(&format!("{entry}{}", leaf.suffix), check)?,
                None if leaf.suffix.is_empty() => npz::read_npy(&path, check)?,
                None => {
                    let message = format!("{at}: an array of structs comes from a .npz with one entry per field");
                    return Err(self.fail(Code::E1009, message));
                }
            };
            arrays.push(array);
        }
        Ok(arrays)
    }

    fn archive(&mut self, path: &std::path::Path) -> Result<&mut Npz> {
        let slot = if path == self.launch.inputs {
            &mut self.inputs
        } else {
            return match self.others.entry(path.to_path_buf()) {
                std::collections::hash_map::Entry::Occupied(e) => Ok(e.into_mut()),
                std::collections::hash_map::Entry::Vacant(e) => Ok(e.insert(Npz::open(path)?)),
            };
        };
        if slot.is_none() {
            *slot = Some(Npz::open(path)?);
        }
        slot.as_mut().ok_or_else(|| fail(Code::E0999, "an archive was closed too early"))
    }

    /// The strides in bytes, given or dense.
    fn strides(&self, at: &str, shape: &[u32], given: Option<&[i64]>, element: Layout) -> Result<Vec<i64>> {
        let Some(given) = given else {
            let dense = dense_strides(shape, element.size).filter(|s| s.iter().all(|&s| i32::try_from(s).is_ok()));
            return dense.ok_or_else(|| {
                let shape = show_shape(&shape.iter().map(|&n| n.into()).collect::<Vec<_>>());
                self.fail(Code::E1006, format!("{at}: shape {shape} needs strides above 2147483647 bytes"))
            });
        };
        if given.len() != shape.len() {
            let (n, wanted) = (given.len(), shape.len());
            return Err(self.fail(Code::E1010, format!("{at}: {n} strides for {}", dims(wanted as u32))));
        }
        if let Some(bad) = given.iter().find(|&&s| s % i64::from(element.align) != 0 || i32::try_from(s).is_err()) {
            let message = format!(
                "{at}: stride {bad} is not a multiple of the element's alignment {} within 32 bits",
                element.align
            );
            return Err(self.fail(Code::E1010, message));
        }
        Ok(given.to_vec())
    }

    /// Finds or allocates the memory of an array.
    fn place(
        &mut self,
        at: &str,
        stored: &Stored,
        ty: ArrayType,
        shape: &[u32],
        strides: &[i64],
        element: Layout,
    ) -> Result<Place> {
        if let Source::Alias(target) = &stored.source {
            let Some((place, target_ty, target_shape, target_strides)) = self.placed.get(target) else {
                let message = format!("{at}: alias_of names `{target}`, which is no earlier array of this launch");
                return Err(self.fail(Code::E1010, message));
            };
            if (*target_ty, target_shape.as_slice(), target_strides.as_slice()) != (ty, shape, strides) {
                let message = format!("{at}: its type, shape or strides differ from those of `{target}`, its alias");
                return Err(self.fail(Code::E1010, message));
            }
            let place = *place;
            if stored.key != *target {
                self.placed.insert(stored.key.clone(), (place, ty, shape.to_vec(), strides.to_vec()));
            }
            return Ok(place);
        }
        if self.placed.contains_key(&stored.key) {
            let message =
                format!("{at}: the array `{}` belongs to an earlier argument; use alias_of to share it", stored.key);
            return Err(self.fail(Code::E1010, message));
        }
        // Extents and strides fit in 31 bits, so nothing here can overflow.
        let (mut low, mut high) = (0i128, i128::from(element.size));
        for (&n, &stride) in shape.iter().zip(strides) {
            let reach = i128::from(n.max(1) - 1) * i128::from(stride);
            if reach < 0 { low += reach } else { high += reach }
        }
        let bytes = if shape.contains(&0) { 0 } else { high - low };
        if bytes > i128::from(self.budget) {
            let message = format!("{at} needs {bytes} bytes of memory, and {} are free", self.budget);
            return Err(self.fail(Code::E1006, message));
        }
        self.budget -= bytes as u64;
        let buffer = Buffer::zeroed(bytes as u64, at)?;
        let place = Place { buffer: self.out.buffers.len(), origin: if bytes == 0 { 0 } else { (-low) as u64 } };
        self.out.buffers.push(buffer);
        self.placed.insert(stored.key.clone(), (place, ty, shape.to_vec(), strides.to_vec()));
        Ok(place)
    }

    /// Writes the contents into the array's memory.
    fn scatter(
        &mut self,
        place: Place,
        shape: &[u32],
        strides: &[i64],
        leaves: &[Leaf],
        contents: Vec<Array>,
        at: &str,
        source: &Source,
    ) -> Result<()> {
        let origin = place.origin as i64;
        if let Source::Fill(fill) = source {
            for leaf in leaves {
                let values =
                    FillValues::new(fill, leaf).map_err(|why| self.fail(Code::E1011, format!("{at}: {why}")))?;
                let memory = self.out.buffers[place.buffer].bytes_mut();
                let mut failed = None;
                let mut number = 0;
                for_each_element(shape, strides, |step| {
                    let start = (origin + step) as usize + leaf.offset as usize;
                    if let Err(why) = values.write(number, &mut memory[start..start + leaf.bytes()]) {
                        failed.get_or_insert(why);
                    }
                    number += 1;
                });
                if let Some(why) = failed {
                    return Err(self.fail(Code::E1011, format!("{at}: {why}")));
                }
            }
            return Ok(());
        }
        let memory = self.out.buffers[place.buffer].bytes_mut();
        for (leaf, array) in leaves.iter().zip(contents) {
            let size = leaf.bytes();
            if size == 0 {
                continue;
            }
            if array.bytes.len() == memory.len() && dense_strides(shape, size as u32).as_deref() == Some(strides) {
                memory.copy_from_slice(&array.bytes);
                continue;
            }
            let mut chunks = array.bytes.chunks_exact(size);
            for_each_element(shape, strides, |step| {
                let start = (origin + step) as usize + leaf.offset as usize;
                if let Some(chunk) = chunks.next() {
                    memory[start..start + size].copy_from_slice(chunk);
                }
            });
        }
        Ok(())
    }

    /// Writes an array descriptor at `offset` of the argument struct.
    fn describe(&mut self, offset: u32, data: Place, grad: Option<Place>, shape: &[u32], strides: &[i64]) {
        let address = |place: Place| {
            let buffer = &self.out.buffers[place.buffer];
            // As in Warp, an array without elements is null.
            if buffer.bytes().is_empty() { 0 } else { buffer.address() + place.origin }
        };
        let (data, grad) = (address(data), grad.map_or(0, address));
        let block = &mut self.out.block.bytes_mut()[offset as usize..];
        let mut put = |at: u32, bytes: &[u8]| block[at as usize..at as usize + bytes.len()].copy_from_slice(bytes);
        put(descriptor::DATA, &data.to_le_bytes());
        put(descriptor::GRAD, &grad.to_le_bytes());
        for (k, (&n, &stride)) in shape.iter().zip(strides).enumerate() {
            put(descriptor::SHAPE + 4 * k as u32, &(n as i32).to_le_bytes());
            put(descriptor::STRIDES + 4 * k as u32, &(stride as i32).to_le_bytes());
        }
        put(descriptor::NDIM, &(shape.len() as i32).to_le_bytes());
    }
}

/// Contents made up for one leaf.
struct FillValues<'a> {
    fill: &'a Fill,
    scalar: Scalar,
    /// The bits of every component, where they do not depend on the element.
    constant: Vec<u64>,
    components: usize,
}

impl<'a> FillValues<'a> {
    fn new(fill: &'a Fill, leaf: &Leaf) -> std::result::Result<Self, String> {
        let components = leaf.shape.iter().product::<u64>() as usize;
        let constant = match fill {
            Fill::Value(Literal::One(n)) => vec![literal::bits(*n, leaf.scalar)?; components],
            Fill::Value(Literal::Many(list)) if list.len() == components => {
                list.iter().map(|&n| literal::bits(n, leaf.scalar)).collect::<std::result::Result<_, _>>()?
            }
            Fill::Value(Literal::Many(list)) => {
                return Err(format!("{} numbers for an element of {components} components", list.len()));
            }
            Fill::Range | Fill::Random(_) => Vec::new(),
        };
        Ok(FillValues { fill, scalar: leaf.scalar, constant, components })
    }

    /// Writes element `number`.
    fn write(&self, number: u64, out: &mut [u8]) -> std::result::Result<(), String> {
        let size = self.scalar.size() as usize;
        for (k, out) in out.chunks_exact_mut(size).enumerate() {
            let bits = match self.fill {
                Fill::Value(_) => self.constant[k],
                Fill::Range => literal::bits(Number::Int(number.into()), self.scalar)?,
                Fill::Random(seed) => {
                    let word = split_mix(*seed, number * self.components as u64 + k as u64);
                    let number = match self.scalar {
                        Scalar::Bool => Number::Bool(word >> 63 == 1),
                        // Fewer bits for narrow floats, so that rounding never reaches 1.
                        Scalar::F16 | Scalar::BF16 => Number::Float((word >> 56) as f64 / 256.0),
                        s if s.is_float() => Number::Float((word >> 40) as f64 / (1u64 << 24) as f64),
                        _ => Number::Int((word % 100).into()),
                    };
                    literal::bits(number, self.scalar)?
                }
            };
            literal::store(bits, self.scalar, out);
        }
        Ok(())
    }
}

/// Number `n` of the SplitMix64 sequence of `seed` (Steele, Lea, Flood: Fast splittable pseudorandom number
/// generators, 2014).
fn split_mix(seed: u64, n: u64) -> u64 {
    let mut z = seed.wrapping_add(n.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The bytes of a scalar or composite value.
fn encode(value: &Literal, ty: Type) -> std::result::Result<Vec<u8>, String> {
    let (Some(scalar), Some(count)) = (ty.scalar_part(), ty.scalar_count()) else {
        return Err("has no value form".to_string());
    };
    let numbers = match value {
        Literal::One(n) if matches!(ty, Type::Scalar(_)) => std::slice::from_ref(n),
        Literal::One(n) => return Err(format!("expected a list of {count} numbers, found {n}")),
        Literal::Many(list) if list.len() as u64 == u64::from(count) && !matches!(ty, Type::Scalar(_)) => list,
        Literal::Many(list) => {
            let wanted = if matches!(ty, Type::Scalar(_)) { "one number".into() } else { format!("{count} numbers") };
            return Err(format!("expected {wanted}, found a list of {}", list.len()));
        }
    };
    let size = scalar.size() as usize;
    let mut bytes = vec![0; size * numbers.len()];
    for (&n, out) in numbers.iter().zip(bytes.chunks_exact_mut(size)) {
        literal::store(literal::bits(n, scalar)?, scalar, out);
    }
    Ok(bytes)
}

/// Struct names are the source's own affair; their fields are compared instead.
fn same_type(dtype: &DType, ty: Type) -> bool {
    match dtype {
        DType::Plain(element) => Type::from(*element) == ty,
        DType::Struct(_) => matches!(ty, Type::Struct(_)),
    }
}

fn show_dtype(dtype: &DType) -> String {
    match dtype {
        DType::Plain(element) => format!("`{}`", Type::from(*element).display(&StructTable::default())),
        DType::Struct(name) => format!("struct `{name}`"),
    }
}

fn kind_name(kind: &ArgumentKind) -> &'static str {
    match kind {
        ArgumentKind::Value { .. } => "a value",
        ArgumentKind::Array(_) => "an array",
        ArgumentKind::Struct { .. } => "a struct",
    }
}

fn dims(n: u32) -> String {
    if n == 1 { "1 dimension".to_string() } else { format!("{n} dimensions") }
}

fn show_shape(shape: &[u64]) -> String {
    let extents: Vec<String> = shape.iter().map(u64::to_string).collect();
    match extents.as_slice() {
        [one] => format!("({one},)"),
        many => format!("({})", many.join(", ")),
    }
}
