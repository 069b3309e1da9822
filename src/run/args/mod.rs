//! What does the kernel receive? A launch's arguments, checked against the kernel's parameters and
//! laid out in memory.

mod arrays;
mod convert;
pub mod elements;
mod engines;
pub mod fill;
mod lent;
pub mod literal;
pub mod memory;
pub mod parameters;
mod places;
pub mod random;
pub mod shared;
mod volumes;

use std::collections::{BTreeMap, HashMap};
use std::ffi::c_void;

pub use lent::Lent;

use engines::BoundEngine;

use super::launch::{Argument, ArgumentKind, DType, Launch, Literal};
use super::{Fail, Result, fail};
use crate::abi::{argument_layout, descriptor};
use crate::diag::Code;
use crate::engines::Kind;
use crate::ir::{Const, Function, Phase, eval};
use crate::run::args::elements::{Leaf, for_each_element};
use crate::run::args::memory::Buffer;
use crate::run::args::parameters::{FloatParameter, float_parameters};
use crate::run::files::mesh_file::MeshFile;
use crate::run::files::npz::Npz;
use crate::types::{ARRAY_DESCRIPTOR_SIZE, ArrayType, Layout, Scalar, StructId, StructTable, Type};

/// The arguments of one launch, ready to run.
pub struct Arguments {
    /// The kernel's parameters as a C struct.
    block: Buffer,
    buffers: Vec<Buffer>,
    /// Every array with memory of its own or shared, in the order of the parameters.
    pub arrays: Vec<BoundArray>,
    /// The floats that are given by value, in the order of the parameters.
    pub parameters: Vec<FloatParameter>,
    /// What ids among the arguments are of.
    engines: Vec<BoundEngine>,
    /// Where the parameters end in the block. Descriptors of arrays that engines have follow.
    end: u32,
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
    /// Of its descriptor in the argument struct.
    offset: u32,
    place: BufferOffset,
    pub grad: Option<Grad>,
    /// A store keeps the gradient of the element that it overwrites.
    pub retain_grad: bool,
}

impl BoundArray {
    /// Whether its elements lie one behind the other, the last dimension's first.
    pub fn is_dense(&self, structs: &StructTable) -> bool {
        let element = Layout::of(self.ty.element.into(), structs).size;
        elements::dense_strides(&self.shape, element).is_some_and(|dense| dense == self.strides)
    }

    /// The bytes of its elements. Those that share memory, by a stride of 0, count once.
    pub fn bytes(&self, structs: &StructTable) -> u64 {
        let apart = self.shape.iter().zip(&self.strides).filter(|&(_, &stride)| stride != 0);
        let empty = self.shape.contains(&0);
        let elements: u64 = if empty { 0 } else { apart.map(|(&n, _)| u64::from(n)).product() };
        elements * u64::from(Layout::of(self.ty.element.into(), structs).size)
    }
}

/// An array or its gradient.
#[derive(Clone, Copy)]
pub struct Named<'a> {
    /// Of the same type and shape.
    pub array: &'a BoundArray,
    place: BufferOffset,
}

/// The gradient array of an array: same type, shape and strides.
#[derive(Clone, Debug)]
pub struct Grad {
    pub key: String,
    place: BufferOffset,
    /// It is handed over as an adjoint argument, not with the array.
    pub external: bool,
}

/// Byte `origin` of a buffer is the first element.
#[derive(Clone, Copy, Debug)]
struct BufferOffset {
    buffer: usize,
    origin: u64,
}

/// The contents of all arrays at one moment, and the values of the parameters.
pub struct Snapshot {
    buffers: Vec<Vec<u8>>,
    block: Vec<u8>,
}

impl Arguments {
    /// Reads, checks and places the arguments of `launch` for `kernel`. `origin` names the launch
    /// in messages.
    pub fn bind(launch: &Launch, origin: &str, kernel: &Function, structs: &StructTable) -> Result<Arguments> {
        let params: Vec<(String, Type)> = kernel
            .params()
            .iter()
            .map(|&v| (kernel.values[v].name.clone().unwrap_or_else(|| v.to_string()), kernel.ty(v)))
            .collect();
        let types: Vec<Type> = params.iter().map(|p| p.1).collect();
        let (offsets, layout) = argument_layout(&types, structs);
        let end = u64::from(layout.size).next_multiple_of(8);
        let more = u64::from(ARRAY_DESCRIPTOR_SIZE) * engines::arrays(&launch.args);
        let mut binder = Binder {
            launch,
            origin,
            structs,
            inputs: None,
            others: HashMap::new(),
            meshes: HashMap::new(),
            placed: BTreeMap::new(),
            budget: memory::available(),
            next: end as u32,
            out: Arguments {
                block: Buffer::zeroed(end + more, "the argument struct")?,
                buffers: Vec::new(),
                arrays: Vec::new(),
                parameters: float_parameters(kernel, structs),
                engines: Vec::new(),
                end: layout.size,
            },
        };
        let owner = format!("kernel `{}`", kernel.source_name);
        let args = binder.matching("", &owner, "parameter", &params, &launch.args)?;
        // Engines come last: they may share arrays of other arguments.
        let all = args.into_iter().zip(types).zip(offsets);
        let is_engine = |argument: &Argument| matches!(argument.kind, ArgumentKind::Engine { .. });
        let (engines, others): (Vec<_>, Vec<_>) = all.partition(|((argument, _), _)| is_engine(argument));
        for ((argument, ty), offset) in others.into_iter().chain(engines) {
            binder.pack(&argument.name, argument, ty, offset)?;
        }
        Ok(binder.out)
    }

    /// The C struct of the parameters.
    pub fn block(&self) -> *const c_void {
        std::ptr::with_exposed_provenance(self.block.address() as usize)
    }

    /// The bytes of the argument struct from an offset on; None where it ends before.
    pub fn bytes_at(&self, offset: u32, size: u32) -> Option<&[u8]> {
        self.block.bytes().get(offset as usize..(offset + size) as usize)
    }

    /// Address and bytes of each block of memory that arrays lie in.
    pub fn memory(&self) -> Vec<(u64, u64)> {
        self.buffers.iter().map(|buffer| (buffer.address(), buffer.bytes().len() as u64)).collect()
    }

    /// The contents of all arrays and gradients, and the values of the parameters.
    pub fn snapshot(&self) -> Snapshot {
        let buffers = self.buffers.iter().map(|b| b.bytes().to_vec()).collect();
        Snapshot { buffers, block: self.block.bytes().to_vec() }
    }

    /// Puts back what a snapshot of these arguments holds. What has not changed is not written, so
    /// that it stays in the caches.
    pub fn restore(&mut self, snapshot: &Snapshot) {
        let buffers = self.buffers.iter_mut().zip(&snapshot.buffers);
        for (buffer, bytes) in buffers.chain([(&mut self.block, &snapshot.block)]) {
            if buffer.bytes() != bytes {
                buffer.bytes_mut().copy_from_slice(bytes);
            }
        }
        self.refit();
    }

    /// Address and bytes of the gradient of one array, if it has one.
    pub fn gradient_memory(&self, array: usize) -> Option<(u64, u64)> {
        let buffer = &self.buffers[self.arrays.get(array)?.grad.as_ref()?.place.buffer];
        Some((buffer.address(), buffer.bytes().len() as u64))
    }

    /// Puts back the gradient of one array.
    pub fn restore_grad(&mut self, array: usize, snapshot: &Snapshot) {
        let Some(grad) = self.arrays.get(array).and_then(|a| a.grad.as_ref()) else { return };
        let n = grad.place.buffer;
        self.buffers[n].bytes_mut().copy_from_slice(&snapshot.buffers[n]);
    }

    /// The argument struct of another entry of the kernel, which takes the same parameters first,
    /// then their adjoints if it is the backward one, then `further` arrays by the numbers of their
    /// parameters. Adjoints are null but those that are external, for the others come with their
    /// arrays.
    pub fn block_for(&self, entry: &Function, structs: &StructTable, further: &[(u32, Described)]) -> Result<Buffer> {
        let given = entry.params().len() - further.len();
        let own = if entry.phase == Phase::Backward { given / 2 } else { given };
        self.block_with(entry, structs, own, |grad| grad.external && entry.phase == Phase::Backward, further)
    }

    /// The argument struct of the forward-mode kernel: the gradients hold the tangents, those of
    /// arrays and of parameters.
    pub fn block_of_tangents(&self, entry: &Function, structs: &StructTable) -> Result<Buffer> {
        let own = entry.params().len() / 2;
        let mut block = self.block_with(entry, structs, own, |_| true, &[])?;
        let types: Vec<Type> = entry.params().iter().map(|&v| entry.ty(v)).collect();
        let (offsets, _) = argument_layout(&types, structs);
        for parameter in &self.parameters {
            let (n, at) = (parameter.place.param, parameter.place.offset);
            let Some(tangents) = parameter.gradient.as_ref().filter(|_| n < own) else { continue };
            parameters::store(block.bytes_mut(), offsets[own + n] + at - offsets[n], parameter.scalar(), tangents);
        }
        Ok(block)
    }

    /// The argument struct of the forward mode of `entry`: its parameters as [`Self::block_for`]
    /// lays them out, then their tangents: for each array the one of `tangents`, with its gradient;
    /// values have tangent zero.
    pub fn block_of_both(
        &self,
        tangents: &Arguments,
        entry: &Function,
        jvp: &Function,
        structs: &StructTable,
        further: &[(u32, Described)],
        further_tangents: &[(u32, Described)],
    ) -> Result<Buffer> {
        let types: Vec<Type> = jvp.params().iter().map(|&v| jvp.ty(v)).collect();
        let (offsets, layout) = argument_layout(&types, structs);
        let mut block = Buffer::zeroed(layout.size.into(), "the argument struct")?;
        let bytes = block.bytes_mut();
        let own = self.block_for(entry, structs, further)?;
        let second = entry.params().len();
        let end = (offsets.get(second).map_or(layout.size, |&at| at) as usize).min(own.bytes().len());
        bytes[..end].copy_from_slice(&own.bytes()[..end]);
        for array in tangents.arrays.iter().filter(|array| array.offset < tangents.end) {
            let Some(param) = (0..second).rev().find(|&k| offsets[k] <= array.offset) else { continue };
            let at = (offsets[second + param] + array.offset - offsets[param]) as usize;
            let from = array.offset as usize;
            let descriptor = &tangents.block.bytes()[from..from + ARRAY_DESCRIPTOR_SIZE as usize];
            bytes[at..at + ARRAY_DESCRIPTOR_SIZE as usize].copy_from_slice(descriptor);
        }
        for (param, array) in further_tangents {
            if let Some(&offset) = offsets.get(second + *param as usize) {
                array.write(bytes, offset);
            }
        }
        Ok(block)
    }

    /// `own` parameters of the kernel, then as many that take those gradients which `second` picks,
    /// then `further` arrays.
    fn block_with(
        &self,
        entry: &Function,
        structs: &StructTable,
        own: usize,
        second: impl Fn(&Grad) -> bool,
        further: &[(u32, Described)],
    ) -> Result<Buffer> {
        let types: Vec<Type> = entry.params().iter().map(|&v| entry.ty(v)).collect();
        let (offsets, layout) = argument_layout(&types, structs);
        let mut block = Buffer::zeroed(layout.size.into(), "the argument struct")?;
        let bytes = block.bytes_mut();
        // C layout: the parameters stand where they stood, whatever follows.
        let end = offsets.get(own).map_or(layout.size, |&at| at) as usize;
        let end = end.min(self.end as usize);
        bytes[..end].copy_from_slice(&self.block.bytes()[..end]);
        for array in self.arrays.iter().filter(|array| array.offset < self.end) {
            let Some(grad) = array.grad.as_ref().filter(|g| second(g)) else {
                continue;
            };
            let Some(param) = (0..own).rev().find(|&k| offsets[k] <= array.offset) else { continue };
            let at = (offsets[own + param] + array.offset - offsets[param]) as usize;
            let from = array.offset as usize;
            bytes.copy_within(from..from + ARRAY_DESCRIPTOR_SIZE as usize, at);
            put(bytes, at as u32 + descriptor::DATA, &self.address(grad.place).to_le_bytes());
            put(bytes, at as u32 + descriptor::GRAD, &0u64.to_le_bytes());
        }
        for (param, array) in further {
            if let Some(&offset) = offsets.get(*param as usize) {
                array.write(bytes, offset);
            }
        }
        Ok(block)
    }

    /// The floats of an array, or of its gradient, in order.
    pub fn floats(&self, array: &BoundArray, gradient: bool, structs: &StructTable) -> Vec<f64> {
        let mut out = Vec::new();
        self.each_float(array, gradient, structs, |scalar, buffer, at| {
            let mut bits = [0; 8];
            let size = scalar.size() as usize;
            bits[..size].copy_from_slice(&self.buffers[buffer].bytes()[at..at + size]);
            out.push(eval::from_memory(scalar, u64::from_le_bytes(bits)).as_float().unwrap_or(0.0));
        });
        out
    }

    /// Writes them; each is rounded to its type.
    pub fn set_floats(&mut self, array: &BoundArray, gradient: bool, structs: &StructTable, values: &[f64]) {
        let mut places = Vec::new();
        self.each_float(array, gradient, structs, |scalar, buffer, at| places.push((scalar, buffer, at)));
        for ((scalar, buffer, at), &value) in places.into_iter().zip(values) {
            let bits = Const::float(scalar, value).bits.to_le_bytes();
            let size = scalar.size() as usize;
            self.buffers[buffer].bytes_mut()[at..at + size].copy_from_slice(&bits[..size]);
        }
        if !gradient {
            self.refit();
        }
    }

    /// Calls `f` with the type, buffer and byte of every float.
    fn each_float(
        &self,
        array: &BoundArray,
        gradient: bool,
        structs: &StructTable,
        mut f: impl FnMut(Scalar, usize, usize),
    ) {
        let place = if gradient { array.grad.as_ref().map(|g| g.place) } else { Some(array.place) };
        let Some(place) = place else { return };
        let leaves = crate::run::args::elements::leaves(array.ty.element.into(), structs).unwrap_or_default();
        for_each_element(&array.shape, &array.strides, |step| {
            for leaf in leaves.iter().filter(|leaf| leaf.scalar.is_float()) {
                let start = (place.origin as i64 + step) as usize + leaf.offset as usize;
                for k in 0..leaf.shape.iter().product::<u64>() as usize {
                    f(leaf.scalar, place.buffer, start + k * leaf.scalar.size() as usize);
                }
            }
        });
    }

    fn address(&self, place: BufferOffset) -> u64 {
        let buffer = &self.buffers[place.buffer];
        // As in Warp, an array without elements is null.
        if buffer.bytes().is_empty() { 0 } else { buffer.address() + place.origin }
    }

    /// The name of the array in whose memory an address is.
    pub fn array_at(&self, address: u64) -> Option<&str> {
        let holds = |array: &&BoundArray| {
            let buffer = &self.buffers[array.place.buffer];
            (buffer.address()..buffer.address() + buffer.bytes().len() as u64).contains(&address)
        };
        self.arrays.iter().find(holds).map(|array| array.key.as_str())
    }

    /// The array or gradient that is stored under a name.
    pub fn named(&self, key: &str) -> Option<Named<'_>> {
        let own = self.arrays.iter().find(|array| array.key == key).map(|array| Named { array, place: array.place });
        own.or_else(|| {
            self.arrays.iter().find_map(|array| {
                let grad = array.grad.as_ref().filter(|grad| grad.key == key)?;
                Some(Named { array, place: grad.place })
            })
        })
    }

    /// The names of all arrays, gradients after their arrays.
    pub fn names(&self) -> Vec<String> {
        let of = |array: &BoundArray| {
            std::iter::once(array.key.clone()).chain(array.grad.iter().map(|g| g.key.clone())).collect::<Vec<_>>()
        };
        self.arrays.iter().flat_map(of).collect()
    }

    /// The contents of a leaf of an array or gradient, dense and row major.
    pub fn contents(&self, named: Named, leaf: &Leaf) -> Vec<u8> {
        self.gather_at(named.array, named.place, leaf)
    }

    /// The contents of an array's leaf, dense and row major.
    pub fn gather(&self, array: &BoundArray, leaf: &Leaf) -> Vec<u8> {
        self.gather_at(array, array.place, leaf)
    }

    /// The same of its gradient, if it has one.
    pub fn gather_grad(&self, array: &BoundArray, leaf: &Leaf) -> Option<Vec<u8>> {
        Some(self.gather_at(array, array.grad.as_ref()?.place, leaf))
    }

    /// Writes the contents of an array's leaf, as [`Self::gather`] gives them.
    pub fn put_leaf(&mut self, array: &BoundArray, leaf: &Leaf, bytes: &[u8]) {
        let memory = self.buffers[array.place.buffer].bytes_mut();
        let mut chunks = bytes.chunks_exact(leaf.bytes().max(1));
        for_each_element(&array.shape, &array.strides, |at| {
            let start = (array.place.origin as i64 + at) as usize + leaf.offset as usize;
            if let Some(chunk) = chunks.next() {
                memory[start..start + chunk.len()].copy_from_slice(chunk);
            }
        });
    }

    fn gather_at(&self, array: &BoundArray, place: BufferOffset, leaf: &Leaf) -> Vec<u8> {
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

/// What an argument struct says of an array.
pub struct Described {
    /// Addresses; 0 where there is nothing.
    pub data: u64,
    pub grad: u64,
    /// The extent of each dimension, and the bytes from one index to the next.
    pub dims: Vec<(u32, i32)>,
}

impl Described {
    /// Writes the descriptor at an offset of the argument struct.
    fn write(&self, block: &mut [u8], offset: u32) {
        let mut put = |at: u32, bytes: &[u8]| put(block, offset + at, bytes);
        put(descriptor::DATA, &self.data.to_le_bytes());
        put(descriptor::GRAD, &self.grad.to_le_bytes());
        for (k, (extent, stride)) in self.dims.iter().enumerate() {
            put(descriptor::SHAPE + 4 * k as u32, &extent.to_le_bytes());
            put(descriptor::STRIDES + 4 * k as u32, &stride.to_le_bytes());
        }
        put(descriptor::NDIM, &(self.dims.len() as u32).to_le_bytes());
    }
}

fn put(block: &mut [u8], at: u32, bytes: &[u8]) {
    block[at as usize..at as usize + bytes.len()].copy_from_slice(bytes);
}

struct Binder<'a> {
    launch: &'a Launch,
    origin: &'a str,
    structs: &'a StructTable,
    /// The launch's own archive, opened when first needed.
    inputs: Option<Npz>,
    others: HashMap<std::path::PathBuf, Npz>,
    /// Files of triangles by path.
    meshes: HashMap<std::path::PathBuf, MeshFile>,
    /// By key, for aliases.
    placed: BTreeMap<String, (BufferOffset, ArrayType, Vec<u32>, Vec<i64>)>,
    /// Bytes that may still be allocated.
    budget: u64,
    /// Where in the block the descriptor of the next array of an engine is.
    next: u32,
    out: Arguments,
}

impl<'a> Binder<'a> {
    fn fail(&self, code: Code, message: impl std::fmt::Display) -> Fail {
        fail(code, format!("{}: {message}", self.origin))
    }

    /// The arguments in the order of `params`. `path` is the struct they belong to, empty at the
    /// top.
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
        let missing: Vec<&(String, Type)> =
            params.iter().filter(|(name, _)| !by_name.contains_key(name.as_str())).collect();
        match missing.as_slice() {
            [] => Ok(params.iter().filter_map(|(name, _)| by_name.get(name.as_str()).copied()).collect()),
            [(name, ty)] => {
                let (name, ty) = (full(name), ty.display(self.structs));
                Err(self.fail(Code::E1004, format!("argument `{name}` of {owner} is missing ({what} type `{ty}`)")))
            }
            several => {
                let names: Vec<String> = several.iter().map(|(name, _)| full(name)).collect();
                let mut error =
                    self.fail(Code::E1004, format!("arguments of {owner} are missing: {}", super::list(&names)));
                let types =
                    several.iter().map(|(name, ty)| format!("`{}`: `{}`", full(name), ty.display(self.structs)));
                error.notes.extend(types);
                Err(error)
            }
        }
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
            (Type::Struct(id), ArgumentKind::Engine { kind: Kind::Texture, fields, .. }) => {
                self.texture(path, id, fields, offset)
            }
            (Type::Scalar(Scalar::U64), ArgumentKind::Engine { file: Some(file), .. }) => {
                self.volume_of_file(path, file, offset)
            }
            (Type::Scalar(Scalar::U64), ArgumentKind::Engine { kind, fields, .. }) if *kind != Kind::Texture => {
                self.engine(path, *kind, fields, offset)
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
        let (def, ty) = (&self.structs[id], Type::Struct(id));
        // Under another name it may well be another struct: names are the source's own affair.
        let Some(stated) = self.launch.structs.get(name).filter(|_| def.name == name) else { return Ok(()) };
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
        ArgumentKind::Engine { kind, .. } => kind.name(),
    }
}
