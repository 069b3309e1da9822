//! What does a kernel receive of a Rust program's arguments? Each is checked against its parameter
//! and written into the struct of arguments; arrays stay in the caller's memory.

use crate::embed::messages;
use smallvec::SmallVec;

use super::arg::{Arg, Array, Dim, Form};
use super::element::rust_type;
use crate::abi::{ARRAY_FLAGS_RETAIN, ArrayDescriptor, LaunchBounds, argument_layout, descriptor};
use crate::analysis::written::Touched;
use crate::diag::{Code, counted};
use crate::ir::{Const, Function};
use crate::run::args::memory::Buffer;
use crate::run::args::{Arguments, Lent, literal};
use crate::run::launch::dim_by_block;
use crate::run::{Fail, Result, fail};
use crate::types::{ARRAY_DESCRIPTOR_SIZE, ArrayType, Layout, MAX_DIMS, StructTable, Type};

/// What a kernel takes.
#[doc(hidden)]
#[derive(Debug)]
pub struct Signature {
    kernel: String,
    params: Vec<Param>,
    /// Of the struct of arguments.
    size: usize,
    /// What its entries write.
    written: Vec<Touched>,
    /// The same of each parameter that is an array.
    writes: Vec<bool>,
}

/// A parameter, and where it lies in the struct of arguments.
#[doc(hidden)]
#[derive(Debug)]
pub struct Param {
    pub name: String,
    pub ty: Type,
    pub offset: u32,
}

/// The arguments of one launch in the form that compiled kernels take.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct Bound {
    /// The struct of arguments, in words for its alignment.
    words: SmallVec<[u64; 64]>,
    /// Address and bytes of all memory that the kernel may write.
    pub(super) memory: SmallVec<[(u64, u64); 8]>,
    /// Of that which it only reads.
    pub(super) constant: SmallVec<[(u64, u64); 8]>,
    arrays: SmallVec<[BoundArray; 8]>,
    values: SmallVec<[BoundValue; 4]>,
}

/// A value whose gradient is asked for.
#[derive(Debug)]
struct BoundValue {
    /// In the struct of arguments.
    offset: u32,
    size: u32,
    /// Where its gradient is added, laid out as the value.
    gradient: *mut u8,
}

// SAFETY: represents a `&mut` of a number (`Element` is `Send + Sync`).
unsafe impl Send for BoundValue {}
// SAFETY: as above; only the run that ends writes it.
unsafe impl Sync for BoundValue {}

/// An array that was bound.
#[derive(Debug)]
pub(super) struct BoundArray {
    /// `x`, or `s.x`.
    path: SmallVec<[u32; 4]>,
    ty: ArrayType,
    offset: u32,
    descriptor: ArrayDescriptor,
    /// Bytes of its memory and of its gradient's, from the first element on, and before it.
    bytes: usize,
    below: usize,
}

impl BoundArray {
    /// In the struct of arguments.
    pub(super) fn offset(&self) -> u32 {
        self.offset
    }

    pub(super) fn has_gradient(&self) -> bool {
        self.descriptor.grad != 0
    }

    /// From the first byte to behind the last; empty for an array without elements.
    pub(super) fn range(&self) -> (u64, u64) {
        let (start, end) =
            (self.descriptor.data.wrapping_sub(self.below as u64), self.descriptor.data + self.bytes as u64);
        if self.descriptor.data == 0 { (0, 0) } else { (start, end) }
    }
}

impl Bound {
    /// Puts a value in its place.
    pub fn put(&mut self, offset: u32, bytes: &[u8]) {
        let at = offset as usize;
        self.bytes_mut()[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// Puts an array in its place. Its memory, and that of its gradient, has `bytes` from the first
    /// element on, and `below` more before it where strides are negative.
    pub fn put_array(&mut self, place: &Place, ty: ArrayType, descriptor: ArrayDescriptor, memory: Extent) {
        let Extent { below, bytes, writable } = memory;
        for (at, writable) in [(descriptor.data, writable), (descriptor.grad, true)] {
            let range = (at.wrapping_sub(below as u64), (below + bytes) as u64);
            match writable {
                _ if at == 0 => {}
                true => self.memory.push(range),
                false => self.constant.push(range),
            }
        }
        // SAFETY: a descriptor is plain data, without gaps.
        let raw = unsafe { &*(&raw const descriptor).cast::<[u8; ARRAY_DESCRIPTOR_SIZE as usize]>() };
        self.put(place.offset, raw);
        let path = SmallVec::from_slice(&place.path);
        self.arrays.push(BoundArray { path, ty, offset: place.offset, descriptor, bytes, below });
    }

    /// Whether no array keeps its gradient through stores, and no value has one.
    pub(super) fn overwrites_gradients(&self) -> bool {
        self.values.is_empty() && self.arrays.iter().all(|array| array.descriptor.flags & ARRAY_FLAGS_RETAIN == 0)
    }

    /// Of all arrays and gradients.
    pub(super) fn bytes_of_arrays(&self) -> u64 {
        self.memory.iter().chain(&self.constant).map(|&(_, bytes)| bytes).sum()
    }

    /// The arrays in the order of [`Signature::arguments`].
    pub(super) fn arrays(&self) -> impl Iterator<Item = &BoundArray> {
        self.arrays.iter()
    }

    /// A copy of the struct of arguments with room behind it, `size` bytes in all.
    pub(super) fn grown(&self, size: usize) -> SmallVec<[u64; 64]> {
        let mut block = self.words.clone();
        block.resize(size.div_ceil(8).max(block.len()), 0);
        block
    }

    /// Arrays of floats without a gradient.
    fn without_gradient<'a>(&'a self, structs: &'a StructTable) -> impl Iterator<Item = &'a BoundArray> {
        self.arrays.iter().filter(|array| {
            array.descriptor.grad == 0
                && array.descriptor.data != 0
                && Type::from(array.ty.element).holds_floats(structs)
        })
    }

    /// Whether an array of floats has no gradient.
    pub(super) fn lacks_gradients(&self, structs: &StructTable) -> bool {
        self.without_gradient(structs).next().is_some()
    }

    /// Gives arrays of floats without a gradient one of zeros in a copy of the struct of arguments.
    pub(super) fn complete(&self, block: &mut [u64], structs: &StructTable) -> Result<Vec<Buffer>> {
        let mut made = Vec::new();
        for array in self.without_gradient(structs) {
            let zeros = Buffer::zeroed((array.below + array.bytes) as u64, "a gradient")?;
            // Descriptors are aligned to words.
            block[((array.offset + descriptor::GRAD) / 8) as usize] = zeros.address() + array.below as u64;
            made.push(zeros);
        }
        Ok(made)
    }

    pub(super) fn block(&self) -> *const std::ffi::c_void {
        self.words.as_ptr().cast()
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        let bytes = self.words.len() * 8;
        // SAFETY: every byte of a word is initialised, and bytes need no alignment.
        unsafe { std::slice::from_raw_parts_mut(self.words.as_mut_ptr().cast(), bytes) }
    }

    /// The struct of arguments, with words that fill it up.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast(), self.words.len() * 8) }
    }
}

impl Bound {
    /// Adds the gradients of values to the memory that was given for them. The error names a value
    /// that has none.
    pub fn add_gradients(&self, arguments: &Arguments) -> std::result::Result<(), String> {
        for value in &self.values {
            let inside = |at: u32| (value.offset..value.offset + value.size).contains(&at);
            for parameter in arguments.parameters.iter().filter(|parameter| inside(parameter.place.offset)) {
                let Some(sums) = &parameter.gradient else { return Err(parameter.key.clone()) };
                let scalar = parameter.scalar();
                for (n, sum) in sums.iter().enumerate() {
                    let at = (parameter.place.offset - value.offset) as usize + n * scalar.size() as usize;
                    // SAFETY: the memory holds one value of the argument's type and is borrowed
                    // exclusively; `at` is that of a float in it.
                    let bytes =
                        unsafe { std::slice::from_raw_parts_mut(value.gradient.add(at), scalar.size() as usize) };
                    let before = literal::to_f64(bytes, scalar);
                    literal::store(Const::float(scalar, before + sum).bits, scalar, bytes);
                }
            }
        }
        Ok(())
    }
}

/// The bounds of a launch of a kernel in blocks of so many threads; None: as the device likes it.
pub(super) fn bounds(dim: &Dim, kernel: &Function, block: Option<u32>) -> Result<LaunchBounds> {
    if let Some(block) = block.filter(|block| !(1..=1024).contains(block)) {
        return Err(fail(Code::E1006, format!("a block has 1 to 1024 threads, and not {block}")));
    }
    let whole = |extents: &SmallVec<[u32; MAX_DIMS]>| {
        // The dimensions are those of the launch, without a list of others.
        if !kernel.by_block {
            return Ok(LaunchBounds::new(extents));
        }
        let block = block.filter(|_| kernel.by_block).unwrap_or(1);
        dim_by_block(kernel, extents, block).map(|dim| LaunchBounds::new(&dim))
    };
    let extents: Option<SmallVec<[u32; MAX_DIMS]>> = dim.0.iter().map(|&n| u32::try_from(n).ok()).collect();
    let known = extents.filter(|extents| !extents.is_empty() && extents.len() <= MAX_DIMS);
    known.as_ref().map(whole).transpose()?.flatten().ok_or_else(|| {
        let message = format!(
            "a launch has 1 to {MAX_DIMS} dimensions of at most {} threads, 2^63 in all, and not {:?}",
            i32::MAX,
            dim.0.as_slice()
        );
        fail(Code::E1006, message)
    })
}

impl Signature {
    pub(super) fn new(kernel: &Function, structs: &StructTable, written: Touched) -> Signature {
        let types: Vec<Type> = kernel.params().iter().map(|&p| kernel.ty(p)).collect();
        let (offsets, layout) = argument_layout(&types, structs);
        let name = |n: usize| kernel.values[kernel.params()[n]].name.clone().unwrap_or_else(|| format!("argument {n}"));
        let params = types.iter().zip(offsets).enumerate();
        let mut made = Signature {
            kernel: kernel.source_name.clone(),
            params: params.map(|(n, (&ty, offset))| Param { name: name(n), ty, offset }).collect(),
            size: layout.size as usize,
            written: Vec::new(),
            writes: vec![false; types.len()],
        };
        made.add(written);
        made
    }

    /// The same under the name of the kernel that it was made of.
    pub(super) fn named(self, kernel: &str) -> Signature {
        Signature { kernel: kernel.to_string(), ..self }
    }

    /// The kernel's name in the source.
    pub fn kernel(&self) -> &str {
        &self.kernel
    }

    /// Adds what another entry of the kernel writes of the same parameters.
    pub(super) fn add(&mut self, written: Touched) {
        for (n, writes) in self.writes.iter_mut().enumerate() {
            *writes |= written.may_be(n as u32, &[]);
        }
        self.written.push(written);
    }

    /// What it takes, in order.
    pub fn params(&self) -> &[Param] {
        &self.params
    }

    /// Bytes of the struct of arguments.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Arguments that are all zero yet.
    #[inline]
    pub fn room(&self) -> Bound {
        let words = SmallVec::from_elem(0, self.size.div_ceil(8));
        let (memory, constant) = (SmallVec::new(), SmallVec::new());
        Bound { words, memory, constant, arrays: SmallVec::new(), values: SmallVec::new() }
    }

    /// Whether the kernel may write to the array at `path`: the parameter, then fields.
    pub fn writes(&self, path: &[u32]) -> bool {
        match path {
            [param] => self.writes.get(*param as usize).copied().unwrap_or(true),
            _ => self.written.iter().any(|written| written.may_be(path[0], &path[1..])),
        }
    }

    /// Checks the arguments and lays them out.
    pub(super) fn bind(&self, args: &[Arg], structs: &StructTable) -> Result<Bound> {
        let mut bound = self.room();
        self.fill(args, structs, &mut bound)?;
        Ok(bound)
    }

    /// The same in [`Signature::room`] that is there: to move what is bound takes longer than to
    /// bind it.
    pub(super) fn fill(&self, args: &[Arg], structs: &StructTable, bound: &mut Bound) -> Result<()> {
        if args.len() != self.params.len() {
            let names: Vec<String> = self.params.iter().map(|p| format!("`{}`", p.name)).collect();
            let message = format!(
                "kernel `{}` takes {} ({}), and {} are given",
                self.kernel,
                counted(self.params.len(), "argument"),
                names.join(", "),
                args.len()
            );
            return Err(fail(Code::E1004, message));
        }
        for (n, (param, arg)) in self.params.iter().zip(args).enumerate() {
            let place = Place::of(n, param);
            self.pack(&place, arg, structs, bound)?;
        }
        Ok(())
    }

    fn pack(&self, place: &Place, arg: &Arg, structs: &StructTable, bound: &mut Bound) -> Result<()> {
        match (place.ty, &arg.0) {
            (Type::Array(ty), Form::Array(array)) => self.array(place, ty, array, structs, bound),
            // A null array is a descriptor of zeros, as the struct holds already.
            (Type::Array(_), Form::Null) => Ok(()),
            (ty, Form::Value { kind, bytes, gradient }) if kind.fits(ty, structs) => {
                bound.put(place.offset, bytes);
                let Some((of, memory)) = gradient else { return Ok(()) };
                if of != kind {
                    let what = format!("its gradient is a slice of `{of}`, and not of `{kind}`");
                    return Err(self.fail(place, Code::E1005, structs, &what));
                }
                if memory.len != 1 {
                    let what = format!("its gradient has {}, and a value has one", counted(memory.len, "element"));
                    return Err(self.fail(place, Code::E1009, structs, &what));
                }
                let (offset, size) = (place.offset, bytes.len() as u32);
                bound.values.push(BoundValue { offset, size, gradient: memory.start });
                Ok(())
            }
            (Type::Struct(id), Form::Fields(given)) => {
                let fields = &structs[id].fields;
                if let Some((name, _)) = given.iter().find(|(name, _)| !fields.iter().any(|f| f.name == *name)) {
                    let what = format!("struct `{}` has no field `{name}`", structs[id].name);
                    return Err(self.fail(place, Code::E1004, structs, &what));
                }
                for (k, field) in fields.iter().enumerate() {
                    let mut found = given.iter().filter(|(name, _)| *name == field.name);
                    let (Some((_, arg)), None) = (found.next(), found.next()) else {
                        let what = format!("field `{}` of struct `{}` is not given once", field.name, structs[id].name);
                        return Err(self.fail(place, Code::E1004, structs, &what));
                    };
                    self.pack(&place.field(k as u32, field.ty, structs), arg, structs, bound)?;
                }
                Ok(())
            }
            (ty, _) => {
                let what = format!("expected {}, found {}", expected(ty, structs), arg.describe());
                Err(self.fail(place, Code::E1005, structs, &what))
            }
        }
    }

    fn array(
        &self,
        place: &Place,
        ty: ArrayType,
        given: &Array,
        structs: &StructTable,
        bound: &mut Bound,
    ) -> Result<()> {
        let no = |code: Code, what: String| Err(self.fail(place, code, structs, &what));
        if !given.kind.fits(ty.element.into(), structs) {
            let wanted = expected(Type::Array(ty), structs);
            return no(Code::E1005, format!("expected {wanted}, found a slice of `{}`", given.kind));
        }
        if !given.data.writable && self.writes(&place.path) {
            let what = "the kernel writes to it, and it is given with `Arg::read`; use `Arg::write`".to_string();
            return no(Code::E1010, what);
        }
        let whole = Dim::from(given.data.len);
        let shape = given.shape.as_ref().unwrap_or(&whole);
        if shape.0.len() != usize::from(ty.ndim) {
            let (n, wanted) = (shape.0.len(), expected(Type::Array(ty), structs));
            return no(Code::E1005, format!("expected {wanted}, found {}", counted(n, "extent")));
        }
        if let Some(strides) = given.strides.as_ref().filter(|strides| strides.0.len() != shape.0.len()) {
            return no(
                Code::E1009,
                format!("{} for {}", counted(strides.0.len(), "stride"), counted(shape.0.len(), "extent")),
            );
        }
        let Some((descriptor, elements)) = describe(given, shape) else {
            let what = format!("shape {:?}: extents and strides in bytes are at most {}", shape.0.as_slice(), i32::MAX);
            return no(Code::E1006, what);
        };
        let strided = given.strides.is_some();
        let fits = |len: usize| if strided { elements <= len as u64 } else { elements == len as u64 };
        if !fits(given.data.len) {
            let strides = given.strides.as_ref();
            let strides = strides.map(|s| format!(" with strides {:?}", s.0.as_slice())).unwrap_or_default();
            let (shape, len) = (shape.0.as_slice(), given.data.len);
            return no(
                Code::E1009,
                format!(
                    "shape {shape:?}{strides} takes {}, and the slice has {len}",
                    counted(elements as usize, "element")
                ),
            );
        }
        let mut descriptor = descriptor;
        if let Some((kind, gradient)) = &given.gradient {
            if *kind != given.kind {
                return no(Code::E1005, format!("its gradient is a slice of `{kind}`, and not of `{}`", given.kind));
            }
            if gradient.len != given.data.len {
                let (a, b) = (gradient.len, given.data.len);
                return no(Code::E1009, format!("its gradient has {}, and the array has {b}", counted(a, "element")));
            }
            descriptor.grad = address(gradient.start, gradient.len);
        }
        let bytes = given.data.len * given.size;
        bound.put_array(place, ty, descriptor, Extent { below: 0, bytes, writable: given.data.writable });
        Ok(())
    }

    /// The same arguments for a gradient run, which gives an array of zeros to every array of
    /// floats that has no gradient.
    ///
    /// # Safety
    /// The arrays stay where they are as long as the result lives.
    pub(super) unsafe fn arguments(
        &self,
        bound: &Bound,
        kernel: &Function,
        structs: &StructTable,
    ) -> Result<Arguments> {
        let lent = bound.arrays.iter().map(|array| Lent {
            key: self.name(&array.path, structs),
            ty: array.ty,
            offset: array.offset,
            descriptor: array.descriptor,
            bytes: array.bytes,
            below: array.below,
        });
        // SAFETY: the caller's promise; the descriptors were made from slices of so many bytes.
        unsafe { Arguments::lent(kernel, &bound.bytes()[..self.size], lent, structs) }
    }

    /// `x`, or `s.x`.
    pub fn name(&self, path: &[u32], structs: &StructTable) -> String {
        let param = &self.params[path[0] as usize];
        let (mut name, mut ty) = (param.name.clone(), param.ty);
        for &k in &path[1..] {
            let Type::Struct(id) = ty else { break };
            let field = &structs[id].fields[k as usize];
            name = format!("{name}.{}", field.name);
            ty = field.ty;
        }
        name
    }

    fn fail(&self, place: &Place, code: Code, structs: &StructTable, what: &str) -> Fail {
        let name = self.name(&place.path, structs);
        Box::new(messages::argument(code, &name, &self.kernel, what))
    }
}

/// Where an argument goes.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct Place {
    /// The parameter, then fields.
    pub path: SmallVec<[u32; 4]>,
    pub ty: Type,
    pub offset: u32,
}

/// How much memory an array has around its first element.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    pub below: usize,
    pub bytes: usize,
    pub writable: bool,
}

impl Place {
    /// That of parameter `n`.
    pub fn of(n: usize, param: &Param) -> Place {
        Place { path: SmallVec::from_slice(&[n as u32]), ty: param.ty, offset: param.offset }
    }

    /// That of a field of the struct that goes here.
    pub fn field(&self, k: u32, ty: Type, structs: &StructTable) -> Place {
        let mut path = self.path.clone();
        path.push(k);
        Place { path, ty, offset: self.offset + Layout::step_offset(self.ty, k, structs) }
    }
}

/// What fits a parameter, in the words of both languages.
fn expected(ty: Type, structs: &StructTable) -> String {
    let shown = ty.shown(structs);
    match ty {
        Type::Array(array) => {
            let extents = if array.ndim == 1 { String::new() } else { format!(" with {} extents", array.ndim) };
            match rust_type(array.element.into(), structs) {
                Some(element) => format!("`{shown}`, a slice of `{element}`{extents}"),
                None => format!("`{shown}`"),
            }
        }
        _ => match rust_type(ty, structs) {
            Some(rust) => format!("`{shown}`, a value `{rust}`"),
            None => format!("`{shown}`, its fields with `Arg::fields`"),
        },
    }
}

/// The descriptor of an array, without a gradient, and the elements from its first to its last.
/// None: it is too large. There are as many strides as extents.
fn describe(given: &Array, shape: &Dim) -> Option<(ArrayDescriptor, u64)> {
    let small = |n: usize| i32::try_from(n).ok();
    let mut descriptor = ArrayDescriptor {
        data: address(given.data.start, given.data.len),
        grad: 0,
        shape: [0; MAX_DIMS],
        strides: [0; MAX_DIMS],
        ndim: shape.0.len() as i32,
        flags: 0,
    };
    let (mut last, mut step) = (0u64, 1usize);
    for (k, &n) in shape.0.iter().enumerate().rev() {
        let stride = given.strides.as_ref().map_or(step, |strides| strides.0[k]);
        *descriptor.shape.get_mut(k)? = small(n)?;
        // Along a dimension with one element nobody steps.
        let bytes = stride.checked_mul(given.size).and_then(small).or((n <= 1).then_some(0))?;
        *descriptor.strides.get_mut(k)? = bytes;
        last = last.checked_add((n.saturating_sub(1) as u64).checked_mul(stride as u64)?)?;
        step = step.checked_mul(n.max(1))?;
    }
    let elements = if shape.0.contains(&0) { 0 } else { last + 1 };
    Some((descriptor, elements))
}

/// As in Warp, an array without elements is null.
fn address(start: *mut u8, len: usize) -> u64 {
    if len == 0 { 0 } else { start.expose_provenance() as u64 }
}
