//! How does XLA launch a kernel of kc, as JAX compiles programs for it? As a custom call
//! (`xla_ffi`).
//!
//! While JAX traces a program, the Python half (`kc/jax.py`) plans each launch: which operand is
//! which argument, of which shape. The compiled program names the plan by a digest of all that it
//! depends on, so that one which JAX kept on the disk finds the same plan, or none.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError, RwLock};

use kc::embed::{Bound as Laid, Dim, Extent, Form, Gradient, Part, Place, Signature};
use kc::types::{ArrayType, Scalar, StructTable, Type};
use kc::{Outcome, Warning, abi::ArrayDescriptor};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use smallvec::SmallVec;

use crate::bind::{self, Binder};
use crate::error;
use crate::gpu;
use crate::kernel::Kernel;
use crate::view::{Kind, View};

mod far;

pub use far::Where;

/// An argument whose contents come with the run.
struct Leaf {
    place: Place,
    what: What,
}

enum What {
    Array { ty: ArrayType, descriptor: ArrayDescriptor, bytes: usize },
    Value { bytes: usize, name: String, scalar: Scalar },
}

impl Leaf {
    fn bytes(&self) -> usize {
        match &self.what {
            What::Array { bytes, .. } | What::Value { bytes, .. } => *bytes,
        }
    }

    fn floats(&self) -> bool {
        match &self.what {
            What::Array { ty, .. } => Type::from(ty.element).scalar_part().is_some_and(Scalar::is_float),
            What::Value { scalar, .. } => scalar.is_float(),
        }
    }
}

/// A launch, or a derivative of it, for arguments of some shapes.
struct Plan {
    kernel: kc::Kernel,
    mode: Mode,
    dim: Dim,
    /// Operands: a block of the values that do not change with the shapes, these, and what the mode
    /// adds.
    leaves: Vec<Leaf>,
    /// Results of a launch.
    outputs: Vec<Leaf>,
    /// The numbers of those that start with contents: operands behind the leaves.
    starts: Vec<usize>,
    /// Calls on a GPU that have passed the race check.
    seen: Mutex<far::Seen>,
}

/// What is run.
enum Mode {
    Launch,
    /// The derivative along tangents of these, and of the outputs' contents that are floats:
    /// operands, too. The results are the tangents of the outputs that are floats, which stand
    /// beside these.
    Forward {
        along: Vec<Leaf>,
        outputs: Vec<Leaf>,
    },
    /// The derivative in reverse. Operands are the outputs as the launch left them, too, and the
    /// gradients of those that are floats; the results are the gradients of the leaves that are
    /// floats, and of the outputs' contents.
    Backward(Arc<Gradient>),
    /// How that changes, for arrays: along tangents of the leaves that are floats, of the outputs,
    /// and of the gradients of these, which are operands behind those of a derivative in reverse.
    Second {
        gradient: Arc<Gradient>,
        leaves: Vec<Leaf>,
        outputs: Vec<Leaf>,
        tangents: Vec<Leaf>,
        output_tangents: Vec<Leaf>,
    },
}

static PLANS: LazyLock<RwLock<HashMap<String, Arc<Plan>>>> = LazyLock::new(RwLock::default);

/// Path (parameter, then fields), extents with those of the elements, and type of the numbers.
type Given = (Vec<u32>, Vec<isize>, String);

/// The values among the arguments as they lie in memory; None represents what is an operand of its
/// own.
#[pyfunction]
pub fn xla_block<'py>(kernel: &Bound<'py, Kernel>, values: Vec<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyBytes>> {
    let py = kernel.py();
    let ready = &kernel.get().ready(py)?.kernel;
    let mut binder = Binder::new(ready.signature(), ready.structs());
    for (n, value) in values.iter().enumerate() {
        binder.bind(n, value).map_err(|fault| fault.raise(py))?;
    }
    Ok(PyBytes::new(py, binder.laid.bytes()))
}

/// Where a value is in that: offset and bytes.
#[pyfunction]
pub fn xla_place(kernel: &Bound<'_, Kernel>, parameter: usize) -> PyResult<(usize, usize)> {
    let signature = kernel.get().ready(kernel.py())?.kernel.signature();
    let unknown = || PyValueError::new_err("no such value");
    let param = signature.params().get(parameter).ok_or_else(unknown)?;
    let size = param.ty.scalar_part().map_or(0, |scalar| scalar.size() as usize);
    Ok((param.offset as usize, size * param.ty.scalar_count().unwrap_or(1) as usize))
}

/// Plans a launch (`mode`: `"launch"`) or a derivative of it (`"forward"`, `"backward"`,
/// `"second"`) under a name. `parameters`: some of the values have gradients. `along`: the numbers
/// of the leaves that have tangents. `starts`: those of the outputs that start with contents.
#[pyfunction]
#[pyo3(signature = (name, kernel, dim, leaves, outputs, *, mode, parameters, along, starts))]
#[expect(clippy::too_many_arguments, reason = "they are named in Python")]
pub fn xla_plan(
    name: String,
    kernel: &Bound<'_, Kernel>,
    dim: Vec<usize>,
    leaves: Vec<Given>,
    outputs: Vec<Given>,
    mode: &str,
    parameters: bool,
    along: Vec<usize>,
    starts: Vec<usize>,
) -> PyResult<()> {
    let py = kernel.py();
    if PLANS.read().unwrap_or_else(PoisonError::into_inner).contains_key(&name) {
        return Ok(());
    }
    let ready = &kernel.get().ready(py)?.kernel;
    let refused = |error: kc::Error| error::raise(py, &error);
    let own = (ready.signature(), ready.structs());
    let read = |list: &[Given], (signature, structs): (&Signature, &StructTable)| -> PyResult<Vec<Leaf>> {
        list.iter().map(|given| leaf(py, given.clone(), signature, structs)).collect()
    };
    let (mode, leaves, outputs) = match mode {
        "launch" => (Mode::Launch, read(&leaves, own)?, read(&outputs, own)?),
        "forward" => {
            let of = py.detach(|| ready.tangent_signature()).map_err(refused)?;
            // The tangents come after the parameters, in their order.
            let count = ready.signature().params().len() as u32;
            let tangent = |given: &Given| shifted(given, count);
            let chosen: Vec<Given> = along.iter().filter_map(|&n| leaves.get(n)).map(tangent).collect();
            let (leaves, made) = (read(&leaves, of)?, read(&outputs, of)?);
            let floats = outputs.iter().zip(&made).filter(|(_, leaf)| leaf.floats());
            let results: Vec<Given> = floats.map(|(given, _)| tangent(given)).collect();
            (Mode::Forward { along: read(&chosen, of)?, outputs: read(&results, of)? }, leaves, made)
        }
        "backward" => {
            let form = Form { parameters, ..Form::default() };
            let gradient = py.detach(|| ready.gradient_of(form)).map_err(refused)?;
            let of = (gradient.signature(), gradient.structs());
            let (leaves, outputs) = (read(&leaves, of)?, read(&outputs, of)?);
            (Mode::Backward(gradient), leaves, outputs)
        }
        "second" => {
            let gradient = py.detach(|| ready.gradient_of(Form::default())).map_err(refused)?;
            let of = py.detach(|| ready.second_signature()).map_err(refused)?;
            let first = (gradient.signature(), gradient.structs());
            let beside = |list: &[Given]| -> PyResult<(Vec<Leaf>, Vec<Leaf>)> {
                let own = read(list, of)?;
                let floats = list.iter().zip(&own).filter(|(_, leaf)| leaf.floats());
                let count = ready.first_tangent() as u32;
                let tangents: Vec<Given> = floats.map(|(given, _)| shifted(given, count)).collect();
                Ok((own, read(&tangents, of)?))
            };
            let ((own, tangents), (made, output_tangents)) = (beside(&leaves)?, beside(&outputs)?);
            let (leaves, outputs) = (read(&leaves, first)?, read(&outputs, first)?);
            (Mode::Second { gradient, leaves: own, outputs: made, tangents, output_tangents }, leaves, outputs)
        }
        _ => return Err(PyValueError::new_err("no such mode")),
    };
    let (dim, seen) = (Dim::from(&dim[..]), Mutex::default());
    let plan = Plan { kernel: ready.clone(), mode, dim, leaves, outputs, starts, seen };
    PLANS.write().unwrap_or_else(PoisonError::into_inner).insert(name, Arc::new(plan));
    Ok(())
}

/// The tangent of an argument, so many parameters further on.
fn shifted((path, extents, number): &Given, count: u32) -> Given {
    let path = path.iter().enumerate().map(|(n, step)| if n == 0 { step + count } else { *step }).collect();
    (path, extents.clone(), number.clone())
}

fn leaf(py: Python<'_>, given: Given, signature: &Signature, structs: &StructTable) -> PyResult<Leaf> {
    let (path, extents, number) = given;
    let unknown = || PyValueError::new_err("no such argument");
    let mut steps = path.into_iter();
    let n = steps.next().ok_or_else(unknown)? as usize;
    let mut place = Place::of(n, signature.params().get(n).ok_or_else(unknown)?);
    for field in steps {
        let Type::Struct(id) = place.ty else { return Err(unknown()) };
        let ty = structs[id].fields.get(field as usize).ok_or_else(unknown)?.ty;
        place = place.field(field, ty, structs);
    }
    let scalar = Scalar::from_name(&number);
    let what = match place.ty {
        Type::Array(ty) => {
            let scalar = scalar.ok_or_else(|| PyValueError::new_err(format!("kernels have no `{number}`")))?;
            let strides = gpu::by_rows(&extents, scalar.size() as isize);
            // Only its form is looked at.
            let data = std::ptr::without_provenance_mut(64);
            let (shape, kind) = (SmallVec::from_vec(extents), Kind::Scalar(scalar));
            let view = View { data, shape, strides, kind, writable: true, owner: None, gpu: None, memory: None };
            let (descriptor, extent) = bind::describe(ty, &view, structs)
                .map_err(|fault| bind::named(&place, signature, structs, fault).raise(py))?;
            What::Array { ty, descriptor, bytes: extent.bytes }
        }
        ty => {
            let scalar = ty.scalar_part().ok_or_else(unknown)?;
            let count = ty.scalar_count().unwrap_or(1) as usize;
            let name = signature.name(&place.path, structs);
            What::Value { bytes: count * scalar.size() as usize, name, scalar }
        }
    };
    Ok(Leaf { place, what })
}

/// Bytes that a run needs for itself, aligned for every type.
struct Scratch(Vec<u128>);

impl Scratch {
    fn zeros(bytes: usize) -> Scratch {
        Scratch(vec![0; bytes.div_ceil(16)])
    }

    /// # Safety
    /// So many bytes are there.
    unsafe fn of(data: *const u8, bytes: usize) -> Scratch {
        let mut made = Scratch::zeros(bytes);
        // SAFETY: the caller's promise, and there is room for them.
        unsafe { std::ptr::copy_nonoverlapping(data, made.start(), bytes) };
        made
    }

    fn start(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }

    /// # Safety
    /// There is room for so many bytes, and here are as many.
    unsafe fn copy_to(&self, memory: Memory) {
        // SAFETY: the caller's promise.
        unsafe { std::ptr::copy_nonoverlapping(self.0.as_ptr().cast(), memory.data, memory.bytes) };
    }
}

/// Memory of an operand or a result.
#[derive(Clone, Copy)]
pub struct Memory {
    pub data: *mut u8,
    pub bytes: usize,
}

/// Runs the plan of a name; with `at` on a GPU, in whose memory operands and results are.
///
/// # Safety
/// The operands can be read, and the results are written by nobody else.
pub unsafe fn run(name: &str, operands: &[Memory], results: &[Memory], at: Option<&Where>) -> Result<Outcome, String> {
    let plan = PLANS.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned();
    let plan = plan.ok_or("this program was compiled in another process, and the launch is not known in this one")?;
    // SAFETY: the caller's promise.
    unsafe {
        match at {
            None => plan.run(operands, results),
            Some(at) => plan.run_far(at, operands, results),
        }
    }
}

/// XLA runs what it calls without Python, whose warnings these would be.
fn tell<'w>(warnings: impl Iterator<Item = &'w Warning>) {
    warnings.for_each(|warning| eprintln!("{}", warning.text));
}

/// The operands of a run: the block of values, the leaves, the outputs' contents, and what the mode
/// adds.
type Operands<'m> = (Memory, &'m [Memory], &'m [Memory], &'m [Memory]);

impl Plan {
    /// Sorts out operands and results, whose numbers are those of the plan.
    fn parts<'m>(&self, operands: &'m [Memory], results: &[Memory]) -> Result<Operands<'m>, String> {
        let floats = |leaves: &[Leaf]| leaves.iter().filter(|leaf| leaf.floats()).count();
        let started = self.starts.iter().filter(|&&k| self.outputs[k].floats()).count();
        let (more, made) = match &self.mode {
            Mode::Launch => (0, self.outputs.len()),
            Mode::Forward { along, outputs } => (along.len() + started, outputs.len()),
            Mode::Backward(_) => (self.outputs.len() + floats(&self.outputs), floats(&self.leaves) + started),
            Mode::Second { tangents, output_tangents, .. } => {
                let arrays = tangents.iter().filter(|leaf| matches!(leaf.what, What::Array { .. })).count();
                (self.outputs.len() + 3 * output_tangents.len() + tangents.len(), arrays + started)
            }
        };
        let wanted = (1 + self.leaves.len() + self.starts.len() + more, made);
        if (operands.len(), results.len()) != wanted {
            return Err(format!(
                "{} operands and {} results for a launch of {wanted:?}",
                operands.len(),
                results.len()
            ));
        }
        let (block, operands) = operands.split_first().ok_or("no operands")?;
        let (given, rest) = operands.split_at(self.leaves.len());
        let (starts, rest) = rest.split_at(self.starts.len());
        Ok((*block, given, starts, rest))
    }

    /// # Safety
    /// The operands can be read, and the results are written by nobody else.
    unsafe fn run(&self, operands: &[Memory], results: &[Memory]) -> Result<Outcome, String> {
        let (block, given, starts, rest) = self.parts(operands, results)?;
        for result in results {
            // SAFETY: as above.
            unsafe { std::ptr::write_bytes(result.data, 0, result.bytes) };
        }
        match &self.mode {
            Mode::Launch => {
                // SAFETY: as above.
                let mut laid = unsafe { room(self.kernel.signature(), block) }?;
                for (leaf, memory) in self.leaves.iter().zip(given) {
                    leaf.put(&mut laid, *memory, None, false)?;
                }
                for (&k, start) in self.starts.iter().zip(starts) {
                    // SAFETY: as above.
                    unsafe { copy(*start, results[k]) }?;
                }
                for (leaf, memory) in self.outputs.iter().zip(results) {
                    leaf.put(&mut laid, *memory, None, true)?;
                }
                // SAFETY: the arguments are laid out for this kernel, which writes to its outputs
                // alone.
                unsafe { self.kernel.launch_bound(&self.dim, &laid) }.map_err(|error| error.to_string())
            }
            Mode::Forward { along, outputs } => {
                let signature = self.kernel.tangent_signature().map_err(|error| error.to_string())?.0;
                // SAFETY: as above.
                let mut laid = unsafe { room(signature, block) }?;
                let mut own = self.initial(starts)?;
                let (tangents, moved) = rest.split_at(along.len());
                for (leaf, memory) in self.leaves.iter().zip(given).chain(along.iter().zip(tangents)) {
                    leaf.put(&mut laid, *memory, None, false)?;
                }
                for (leaf, own) in self.outputs.iter().zip(&mut own) {
                    leaf.put(&mut laid, Memory { data: own.start(), bytes: leaf.bytes() }, None, true)?;
                }
                for (result, start) in self.started_floats(results).zip(moved) {
                    // SAFETY: as above.
                    unsafe { copy(*start, result) }?;
                }
                for (leaf, memory) in outputs.iter().zip(results) {
                    leaf.put(&mut laid, *memory, None, true)?;
                }
                // SAFETY: the arguments are laid out for the forward mode, which writes to outputs
                // and their tangents alone.
                let ran = unsafe { self.kernel.tangents_bound(&self.dim, &laid) };
                // What the launch prints was printed by the launch.
                ran.map(|_| Outcome::default()).map_err(|error| error.to_string())
            }
            // SAFETY: the caller's promise.
            Mode::Backward(gradient) => unsafe { self.backward(gradient, block, given, starts, rest, results) },
            // SAFETY: the caller's promise.
            Mode::Second { .. } => unsafe { self.second(block, given, starts, rest, results) },
        }
    }

    /// The outputs before the launch.
    fn initial(&self, starts: &[Memory]) -> Result<Vec<Scratch>, String> {
        let mut made: Vec<Scratch> = self.outputs.iter().map(|leaf| Scratch::zeros(leaf.bytes())).collect();
        for (&k, start) in self.starts.iter().zip(starts) {
            let to = Memory { data: made[k].start(), bytes: self.outputs[k].bytes() };
            // SAFETY: an operand can be read.
            unsafe { copy(*start, to) }?;
        }
        Ok(made)
    }

    /// Among memory of the outputs that are floats, that of those which start with contents.
    fn started_floats<'m>(&self, memory: &'m [Memory]) -> impl Iterator<Item = Memory> + use<'m, '_> {
        let place = |k: usize| self.outputs[..k].iter().filter(|leaf| leaf.floats()).count();
        self.starts.iter().filter(|&&k| self.outputs[k].floats()).map(move |&k| memory[place(k)])
    }

    /// # Safety
    /// As for `run`.
    unsafe fn backward(
        &self,
        gradient: &Gradient,
        block: Memory,
        given: &[Memory],
        starts: &[Memory],
        rest: &[Memory],
        results: &[Memory],
    ) -> Result<Outcome, String> {
        let (left, seeds) = rest.split_at(self.outputs.len());
        let mut seeds = seeds.iter();
        // A derivative changes the gradients that it starts from.
        let mut seeds: Vec<Option<Scratch>> = (self.outputs.iter())
            .map(|leaf| {
                let seed = if leaf.floats() { seeds.next() } else { None };
                // SAFETY: the caller's promise.
                seed.map(|seed| unsafe { Scratch::of(seed.data, seed.bytes) })
            })
            .collect();
        let part = if gradient.records() { Part::Both } else { Part::Backward };
        let mut before = self.initial(starts)?;
        // SAFETY: the caller's promise; the arguments are laid out for this gradient, and each
        // array has memory of its own or is only read.
        let (outcome, found) = unsafe {
            let of_seeds = self.seeds_here(&mut seeds);
            let laid = self.laid_backward(gradient, block, given, results, &self.here(&mut before), &of_seeds)?;
            if part == Part::Both {
                self.kernel.gradient_bound(gradient, &self.dim, &laid, part)
            } else {
                // Whether the order of threads shows is seen in the launch itself.
                let seen = self.kernel.look(gradient, &self.dim, &laid).map_err(|error| error.to_string())?;
                tell(seen.partly.iter());
                // What the launch left stays XLA's.
                let outputs = self.outputs.iter().zip(left);
                let mut own: Vec<Scratch> = outputs
                    .map(|(leaf, memory)| match gradient.reads(&leaf.place.path) {
                        true => Scratch::of(memory.data, memory.bytes),
                        false => Scratch::zeros(leaf.bytes()),
                    })
                    .collect();
                let laid = self.laid_backward(gradient, block, given, results, &self.here(&mut own), &of_seeds)?;
                self.kernel.gradient_bound(gradient, &self.dim, &laid, part)
            }
        }
        .map_err(|error| error.to_string())?;
        tell(outcome.warnings.iter().filter(|warning| warning.code == "W1122"));
        let floats = self.leaves.iter().filter(|leaf| leaf.floats());
        for (leaf, result) in floats.zip(results) {
            let What::Value { name, scalar, .. } = &leaf.what else { continue };
            let sums = found.iter().find(|found| found.name == *name).map(|found| &found.sums[..]).unwrap_or_default();
            if sums.len() * scalar.size() as usize != result.bytes {
                return Err(format!("the argument `{name}` has no gradient"));
            }
            // SAFETY: the caller's promise; so many numbers fit.
            unsafe { put_numbers(*scalar, sums, result.data) };
        }
        // The rest of an output's gradient is the gradient of its old contents.
        let started = self.starts.iter().filter_map(|&k| seeds[k].as_ref());
        for (seed, result) in started.zip(&results[self.leaves.iter().filter(|leaf| leaf.floats()).count()..]) {
            // SAFETY: the caller's promise, and they have the same type.
            unsafe { seed.copy_to(*result) };
        }
        // What the launch prints was printed by the launch.
        Ok(Outcome::default())
    }

    /// # Safety
    /// As for `run`.
    unsafe fn second(
        &self,
        block: Memory,
        given: &[Memory],
        starts: &[Memory],
        rest: &[Memory],
        results: &[Memory],
    ) -> Result<Outcome, String> {
        let Mode::Second { gradient, leaves, outputs, tangents, output_tangents } = &self.mode else {
            return Err("no second derivative".to_string());
        };
        let told = |error: kc::Error| error.to_string();
        let count = output_tangents.len();
        let (left, rest) = rest.split_at(outputs.len());
        let (seeds, rest) = rest.split_at(count);
        let (along, rest) = rest.split_at(tangents.len());
        let (outputs_along, seeds_along) = rest.split_at(count);
        // SAFETY: the caller's promise, here and below.
        let copied = |memory: &Memory| unsafe { Scratch::of(memory.data, memory.bytes) };
        let zeros = |leaf: &Leaf| Scratch::zeros(leaf.bytes());
        let here = |scratch: &mut Scratch, leaf: &Leaf| Memory { data: scratch.start(), bytes: leaf.bytes() };
        let mut gradients: Vec<Scratch> = leaves.iter().filter(|leaf| leaf.floats()).map(zeros).collect();
        // Whether the order of threads shows is seen in the launch itself.
        {
            let floats = leaves.iter().filter(|leaf| leaf.floats());
            let of_leaves: Vec<Memory> = gradients.iter_mut().zip(floats).map(|(one, leaf)| here(one, leaf)).collect();
            let mut next = seeds.iter();
            let mut seeds: Vec<Option<Scratch>> =
                outputs.iter().map(|leaf| if leaf.floats() { next.next().map(copied) } else { None }).collect();
            let mut before = self.initial(starts)?;
            // SAFETY: as in `backward`.
            unsafe {
                let (before, seeds) = (self.here(&mut before), self.seeds_here(&mut seeds));
                let laid = self.laid_backward(gradient, block, given, &of_leaves, &before, &seeds)?;
                tell(self.kernel.look(gradient, &self.dim, &laid).map_err(told)?.partly.iter());
            }
        }
        let signature = self.kernel.second_signature().map_err(told)?.0;
        // SAFETY: the caller's promise.
        let mut laid = unsafe { room(signature, block) }?;
        let mut own = gradients.iter_mut();
        for (leaf, memory) in leaves.iter().zip(given) {
            let gradient = if leaf.floats() { own.next().map(Scratch::start) } else { None };
            leaf.put(&mut laid, *memory, gradient, false)?;
        }
        let mut products = results.iter();
        for (leaf, memory) in tangents.iter().zip(along) {
            let is_array = matches!(leaf.what, What::Array { .. });
            let product = if is_array { products.next().map(|result| result.data) } else { None };
            leaf.put(&mut laid, *memory, product, false)?;
        }
        let mut left: Vec<Scratch> = left.iter().map(copied).collect();
        let mut seeds: Vec<Scratch> = seeds.iter().map(copied).collect();
        let mut seeds_along: Vec<Scratch> = seeds_along.iter().map(copied).collect();
        let mut next = seeds.iter_mut();
        for (leaf, left) in outputs.iter().zip(&mut left) {
            let gradient = if leaf.floats() { next.next().map(Scratch::start) } else { None };
            leaf.put(&mut laid, here(left, leaf), gradient, true)?;
        }
        for ((leaf, memory), seed) in output_tangents.iter().zip(outputs_along).zip(&mut seeds_along) {
            leaf.put(&mut laid, *memory, Some(seed.start()), false)?;
        }
        // SAFETY: the arguments are laid out for this entry, which writes to gradients alone.
        unsafe { self.kernel.second_bound(&self.dim, &laid) }.map_err(told)?;
        let place = |k: usize| outputs[..k].iter().filter(|leaf| leaf.floats()).count();
        let started = self.starts.iter().filter(|&&k| outputs[k].floats()).map(|&k| &seeds_along[place(k)]);
        for (seed, result) in started.zip(products) {
            // SAFETY: as above.
            unsafe { seed.copy_to(*result) };
        }
        Ok(Outcome::default())
    }

    /// The memory of outputs.
    fn here(&self, made: &mut [Scratch]) -> Vec<Memory> {
        let outputs = self.outputs.iter().zip(made);
        outputs.map(|(leaf, own)| Memory { data: own.start(), bytes: leaf.bytes() }).collect()
    }

    /// That of their gradients.
    fn seeds_here(&self, made: &mut [Option<Scratch>]) -> Vec<Option<Memory>> {
        let own = |leaf: &Leaf, own: &mut Scratch| Memory { data: own.start(), bytes: leaf.bytes() };
        self.outputs.iter().zip(made).map(|(leaf, seed)| seed.as_mut().map(|seed| own(leaf, seed))).collect()
    }

    /// The arguments of a gradient run, with these outputs.
    ///
    /// # Safety
    /// As for `run`.
    unsafe fn laid_backward(
        &self,
        gradient: &Gradient,
        block: Memory,
        given: &[Memory],
        results: &[Memory],
        outputs: &[Memory],
        seeds: &[Option<Memory>],
    ) -> Result<Laid, String> {
        // SAFETY: the caller's promise.
        let mut laid = unsafe { room(gradient.signature(), block) }?;
        let mut results = results.iter();
        for (leaf, memory) in self.leaves.iter().zip(given) {
            let result = if leaf.floats() { results.next() } else { None };
            leaf.put(&mut laid, *memory, result.map(|result| result.data), false)?;
        }
        for ((leaf, memory), seed) in self.outputs.iter().zip(outputs).zip(seeds) {
            leaf.put(&mut laid, *memory, seed.map(|seed| seed.data), true)?;
        }
        Ok(laid)
    }
}

/// # Safety
/// `from` can be read; nobody else writes `to`.
unsafe fn copy(from: Memory, to: Memory) -> Result<(), String> {
    if from.bytes != to.bytes {
        return Err(format!("an output of {} bytes starts with {}", to.bytes, from.bytes));
    }
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy_nonoverlapping(from.data, to.data, to.bytes) };
    Ok(())
}

/// The struct of arguments, which begins with the values of a block.
///
/// # Safety
/// The block can be read.
unsafe fn room(signature: &Signature, block: Memory) -> Result<Laid, String> {
    let mut laid = signature.room();
    if block.bytes > laid.bytes().len() {
        return Err(format!("a block of {} bytes for {}", block.bytes, laid.bytes().len()));
    }
    // SAFETY: the caller's promise.
    laid.put(0, unsafe { std::slice::from_raw_parts(block.data, block.bytes) });
    Ok(laid)
}

/// # Safety
/// There is room for so many numbers.
unsafe fn put_numbers(scalar: Scalar, numbers: &[f64], to: *mut u8) {
    for (n, &number) in numbers.iter().enumerate() {
        let bytes: SmallVec<[u8; 8]> = match scalar {
            Scalar::F16 => SmallVec::from_slice(&half::f16::from_f64(number).to_ne_bytes()),
            Scalar::BF16 => SmallVec::from_slice(&half::bf16::from_f64(number).to_ne_bytes()),
            Scalar::F32 => SmallVec::from_slice(&(number as f32).to_ne_bytes()),
            _ => SmallVec::from_slice(&number.to_ne_bytes()),
        };
        // SAFETY: the caller's promise.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.add(n * bytes.len()), bytes.len()) };
    }
}

impl Leaf {
    /// Puts memory in the argument's place; `gradient` is that of an array.
    fn put(&self, laid: &mut Laid, memory: Memory, gradient: Option<*mut u8>, writable: bool) -> Result<(), String> {
        if memory.bytes != self.bytes() {
            return Err(format!("an operand of {} bytes for {}", memory.bytes, self.bytes()));
        }
        match &self.what {
            // SAFETY: so many bytes are there.
            What::Value { bytes, .. } => {
                laid.put(self.place.offset, unsafe { std::slice::from_raw_parts(memory.data, *bytes) })
            }
            What::Array { ty, descriptor, bytes } => {
                let mut descriptor = *descriptor;
                if *bytes > 0 {
                    descriptor.data = memory.data.expose_provenance() as u64;
                    descriptor.grad = gradient.map_or(0, |gradient| gradient.expose_provenance() as u64);
                    // Scalars are at most 8 bytes, and XLA's memory is aligned to 16 or more.
                    if !descriptor.data.is_multiple_of(8) || !descriptor.grad.is_multiple_of(8) {
                        return Err("an operand is not aligned".to_string());
                    }
                }
                laid.put_array(&self.place, *ty, descriptor, Extent { below: 0, bytes: *bytes, writable });
            }
        }
        Ok(())
    }
}
