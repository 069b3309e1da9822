//! How is a launch kept? As a launch file with what its arrays held, beside the kernel's text: what
//! `kc run`, `kc bench`, `kc verify` and `kc profile` read.
//!
//! One recorder serves the whole program. While there is none, a launch pays for one relaxed load.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use smallvec::SmallVec;

use super::arg::Dim;
use super::bind::{Bound, Signature};
use super::kernel::Kernel;
use super::{Error, Gradient};
use crate::diag::Code;
use crate::ir::{FuncId, Function};
use crate::run::args::{Arguments, literal};
use crate::run::engine_ids::engine_ids;
use crate::run::files::npz::write_whole;
use crate::run::files::output;
use crate::run::launch::{
    Argument, ArgumentKind, ArrayArgument, Direction, Launch, Literal, Number, Source, Stored, to_json,
};
use crate::run::program::Program;
use crate::run::{Result, fail};
use crate::types::{Layout, MAX_DIMS, Scalar, StructTable, Type};

static ON: AtomicBool = AtomicBool::new(false);
static RECORDER: Mutex<Option<Recorder>> = Mutex::new(None);

/// What was recorded.
#[doc(hidden)]
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    /// The launch files, in the order of the launches.
    pub files: Vec<PathBuf>,
    /// Kernels with launches that could not be kept, and why; the first reason of each.
    pub left: BTreeMap<String, String>,
}

struct Recorder {
    folder: PathBuf,
    /// Launches that are kept of each kernel, direction and size.
    each: usize,
    /// Bytes of arrays that a launch may have.
    most: u64,
    seen: HashMap<(usize, Direction, SmallVec<[usize; MAX_DIMS]>), usize>,
    found: Recorded,
}

impl Recorder {
    /// The first reason of a kernel is kept.
    fn leave_out(&mut self, kernel: &str, why: String) {
        self.found.left.entry(kernel.to_string()).or_insert(why);
    }
}

/// Keeps launches on the host from now on, in a folder that is new or empty: of each kernel,
/// direction and size the first `each`, if their arrays have at most `most` bytes.
///
/// # Errors
/// The folder has files, or cannot be made (`E0904`); or launches are recorded already.
#[doc(hidden)]
pub fn start_recording(folder: &Path, each: usize, most: u64) -> std::result::Result<(), Error> {
    let start = || -> Result<()> {
        let mut recorder = recorder();
        if recorder.is_some() {
            return Err(fail(Code::E0904, "launches are recorded already"));
        }
        let folder = output::new_folder(folder)?;
        *recorder = Some(Recorder { folder, each, most, seen: HashMap::new(), found: Recorded::default() });
        ON.store(true, Ordering::Relaxed);
        Ok(())
    };
    start().map_err(|error| Error::plain(*error))
}

/// Ends it, and says what was kept.
#[doc(hidden)]
pub fn stop_recording() -> Recorded {
    ON.store(false, Ordering::Relaxed);
    recorder().take().map_or_else(Recorded::default, |recorder| recorder.found)
}

/// Whether launches are recorded.
#[doc(hidden)]
#[inline]
pub fn is_recording() -> bool {
    ON.load(Ordering::Relaxed)
}

fn recorder() -> MutexGuard<'static, Option<Recorder>> {
    RECORDER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A launch that is about to run.
struct Coming<'a> {
    kernel: &'a Kernel,
    program: &'a Program,
    function: FuncId,
    signature: &'a Signature,
    direction: Direction,
    dim: &'a Dim,
    bound: &'a Bound,
}

#[doc(hidden)]
impl Kernel {
    /// Keeps a launch that is about to run, if launches are recorded.
    ///
    /// # Safety
    /// As for [`Kernel::launch_bound`].
    pub unsafe fn record(&self, dim: &Dim, bound: &Bound) {
        if is_recording() {
            let (program, signature) = (self.shared.module.program(), self.signature());
            let (function, direction) = (self.shared.forward, Direction::Forward);
            let coming = Coming { kernel: self, program, function, signature, direction, dim, bound };
            // SAFETY: the caller's promise.
            unsafe { coming.keep() };
        }
    }

    /// The same for a gradient.
    ///
    /// # Safety
    /// As for [`Kernel::gradient_bound`].
    pub(super) unsafe fn record_gradient(&self, of: &Gradient, dim: &Dim, bound: &Bound, direction: Direction) {
        if is_recording() {
            let (program, signature, function) = (of.program(), of.signature(), of.forward());
            let coming = Coming { kernel: self, program, function, signature, direction, dim, bound };
            // SAFETY: the caller's promise.
            unsafe { coming.keep() };
        }
    }

    /// Says why a launch is not kept, if launches are recorded.
    pub fn leave_out(&self, why: &str) {
        if let Some(recorder) = recorder().as_mut() {
            recorder.leave_out(self.name(), why.to_string());
        }
    }
}

impl Coming<'_> {
    /// # Safety
    /// The arguments were laid out for the signature, and their arrays are valid memory.
    unsafe fn keep(&self) {
        let mut recorder = recorder();
        let Some(recorder) = recorder.as_mut() else { return };
        let of = std::ptr::from_ref(&*self.kernel.shared) as usize;
        let count = recorder.seen.entry((of, self.direction, self.dim.extents().into())).or_default();
        if *count >= recorder.each {
            return;
        }
        *count += 1;
        // SAFETY: the caller's promise.
        if let Err(why) = unsafe { self.write(recorder) } {
            recorder.leave_out(self.kernel.name(), why);
        }
    }

    /// # Safety
    /// As above.
    unsafe fn write(&self, recorder: &mut Recorder) -> std::result::Result<(), String> {
        let (module, function) = (&self.program.module, &self.program.module.functions[self.function]);
        let ids = engine_ids(module, self.function);
        if ids.elsewhere || !ids.of_params.is_empty() {
            return Err("it asks a mesh, a volume or the like, which a launch file cannot copy".to_string());
        }
        let bytes = self.bound.bytes_of_arrays();
        if bytes > recorder.most {
            return Err(format!("a launch has arrays of {bytes} bytes, and at most {} are kept", recorder.most));
        }
        // SAFETY: the caller's promise; the arguments go before the launch begins.
        let arguments = unsafe { self.signature.arguments(self.bound, function, &module.structs) };
        let mut arguments = arguments.map_err(|error| error.message.clone())?;
        for (array, lent) in arguments.arrays.iter_mut().zip(self.bound.arrays()) {
            if self.direction == Direction::Forward || !lent.has_gradient() {
                array.grad = None;
            }
        }
        let id = format!("{}-{}", function.source_name, recorder.found.files.len() + 1);
        let args = self.arguments(&arguments, &module.structs)?;
        let launch = Launch {
            id: id.clone(),
            source: PathBuf::new(),
            kernel: Some(function.source_name.clone()),
            direction: self.direction,
            dim: self.dim.extents().iter().map(|&n| n as u32).collect(),
            block_dim: self.kernel.threads_of_blocks().unwrap_or(1),
            args,
            structs: BTreeMap::new(),
            inputs: PathBuf::new(),
            grid: None,
            max_expanded: None,
        };
        let whole = recorder.folder.join(&id);
        let write = |folder: &Path| self.files(folder, &launch, function, &arguments, &module.structs);
        output::whole_folder(&recorder.folder.join(format!(".{id}")), &whole, write)
            .map_err(|error| error.message.clone())?;
        recorder.found.files.push(whole.join("launch.json"));
        Ok(())
    }

    fn files(
        &self,
        folder: &Path,
        launch: &Launch,
        function: &Function,
        arguments: &Arguments,
        structs: &StructTable,
    ) -> Result<()> {
        let put = |name: &str, text: &str| {
            write_whole(&folder.join(name), |file| std::io::Write::write_all(file, text.as_bytes()))
        };
        let source = match self.kernel.shared.module.alone() {
            Some(text) => {
                put("kernel.py", text)?;
                "kernel.py".to_string()
            }
            // What it imports is found beside the file itself.
            None => std::path::absolute(self.kernel.shared.module.path())
                .unwrap_or_else(|_| self.kernel.shared.module.path().to_path_buf())
                .display()
                .to_string(),
        };
        output::write_npz(folder, "inputs", arguments, structs)?;
        put("launch.json", &to_json(launch, &source, function, structs))
    }

    /// The arguments as a launch file names them.
    fn arguments(&self, bound: &Arguments, structs: &StructTable) -> std::result::Result<Vec<Argument>, String> {
        let mut arrays = shared_arrays(self.bound, bound, structs)?;
        let params = self.signature.params().iter();
        params.map(|param| argument(&param.name, "", param.ty, param.offset, bound, &mut arrays, structs)).collect()
    }
}

/// The arrays of a launch by their names, each with where its contents are.
///
/// # Errors
/// Two share memory without being one array.
fn shared_arrays(
    given: &Bound,
    bound: &Arguments,
    structs: &StructTable,
) -> std::result::Result<HashMap<String, ArrayArgument>, String> {
    let mut found = HashMap::new();
    let mut known: Vec<(u64, u64, &str)> = Vec::new();
    let mut arrays: Vec<_> = bound.arrays.iter().zip(given.arrays()).collect();
    // An array can be another one's alias if that comes before it.
    arrays.sort_by_key(|(_, lent)| lent.offset());
    for (array, lent) in arrays {
        let (start, end) = lent.range();
        let mut source = Source::Entry;
        for &(from, to, key) in known.iter().filter(|&&(from, to, _)| start < to && from < end) {
            let same = bound.arrays.iter().find(|other| other.key == key).is_some_and(|other| {
                (other.ty, &other.shape, &other.strides) == (array.ty, &array.shape, &array.strides)
            });
            if !same || (from, to) != (start, end) {
                return Err(format!("`{key}` and `{}` share memory in part", array.key));
            }
            source = Source::Alias(key.to_string());
        }
        if matches!(source, Source::Entry) && start < end {
            known.push((start, end, &array.key));
        }
        let grad = array.grad.as_ref().map(|grad| {
            let source = match &source {
                Source::Alias(key) => Source::Alias(format!("{key}.grad")),
                _ => Source::Entry,
            };
            Stored { key: grad.key.clone(), source }
        });
        let argument = ArrayArgument {
            shape: Some(array.shape.clone()),
            strides: (!array.is_dense(structs)).then(|| array.strides.clone()),
            data: Some(Stored { key: array.key.clone(), source }),
            grad,
            retain_grad: array.retain_grad,
            ..ArrayArgument::default()
        };
        found.insert(array.key.clone(), argument);
    }
    Ok(found)
}

fn argument(
    name: &str,
    owner: &str,
    ty: Type,
    offset: u32,
    bound: &Arguments,
    arrays: &mut HashMap<String, ArrayArgument>,
    structs: &StructTable,
) -> std::result::Result<Argument, String> {
    let key = format!("{owner}{name}");
    let kind = match ty {
        // One that was not bound is unset.
        Type::Array(_) => ArgumentKind::Array(arrays.remove(&key).unwrap_or_default()),
        Type::Struct(id) => {
            let owner = format!("{key}.");
            let fields = structs[id].fields.iter().enumerate().map(|(k, field)| {
                let at = offset + Layout::step_offset(ty, k as u32, structs);
                argument(&field.name, &owner, field.ty, at, bound, arrays, structs)
            });
            ArgumentKind::Struct { name: None, fields: fields.collect::<std::result::Result<_, _>>()? }
        }
        _ => {
            let unknown = || format!("`{key}` has a type that launch files do not");
            let (scalar, count) = ty.scalar_part().zip(ty.scalar_count()).ok_or_else(unknown)?;
            let bytes = bound.bytes_at(offset, scalar.size() * count).ok_or_else(unknown)?;
            let mut numbers = bytes.chunks(scalar.size() as usize).map(|bytes| number(bytes, scalar));
            let literal = match ty {
                Type::Scalar(_) => Literal::One(numbers.next().ok_or_else(unknown)?),
                _ => Literal::Many(numbers.collect()),
            };
            ArgumentKind::Value { dtype: None, literal }
        }
    };
    Ok(Argument { name: name.to_string(), kind })
}

fn number(bytes: &[u8], scalar: Scalar) -> Number {
    match literal::load(bytes, scalar).as_int() {
        Some(value) if scalar == Scalar::Bool => Number::Bool(value != 0),
        Some(value) => Number::Int(value),
        None => Number::Float(literal::to_f64(bytes, scalar)),
    }
}
