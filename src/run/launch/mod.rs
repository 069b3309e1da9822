//! What does a launch ask for? The model of a launch; files ([`read()`]) and flags ([`flags`])
//! build it.
//!
//! A [`Launch`] is plain data: no file but the launch file itself has been opened, and nothing is
//! compared with the kernel yet; [`super::args`] does both.

pub mod as_flags;
mod extents;
pub mod flags;
mod grid;
mod listed;
pub mod make;
mod read;
pub mod steps;
pub mod template;
mod write;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub use grid::GridOfBlocks;
pub use read::{AnyLaunch, FORMAT, parse, read, read_any};
use serde::Deserialize;
pub use write::to_json;

use super::{Result, fail};
use crate::diag::Code;
pub use crate::engines::Kind as EngineKind;
use crate::ir::{BlockThreads, Function, FunctionKind, LastBlock};
use crate::run::files::mesh_file;
use crate::types::Element;

/// One launch of one kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    /// Names the result files; a file name without folders.
    pub id: String,
    /// The kernel's source: Python, or IR text (`.ir`).
    pub source: PathBuf,
    /// None: the only kernel of the source.
    pub kernel: Option<String>,
    pub direction: Direction,
    /// Threads per dimension, at most four.
    pub dim: Vec<u32>,
    /// The block size of a device launch; hosts run blocks of one thread.
    pub block_dim: u32,
    pub args: Vec<Argument>,
    /// Layouts of the structs, where the file states them.
    pub structs: BTreeMap<String, StructLayout>,
    /// The `.npz` that [`Source::Entry`] refers to.
    pub inputs: PathBuf,
    /// For a source that is PTX: its grid. Then `kernel` is the entry, and the arrays are passed as
    /// plain addresses.
    pub grid: Option<GridOfBlocks>,
    /// How many bytes each compressed file of the arguments may hold; None: as the environment says
    /// ([`Room::of`](crate::run::files::npz::Room::of)).
    pub max_expanded: Option<u64>,
}

impl Launch {
    /// Lets numbers of other types in files be converted, in all arguments.
    pub fn convert_files(&mut self) {
        fn visit(argument: &mut Argument) {
            match &mut argument.kind {
                ArgumentKind::Value { .. } => {}
                ArgumentKind::Array(array) => array.convert = true,
                ArgumentKind::Struct { fields, .. } | ArgumentKind::Engine { fields, .. } => {
                    fields.iter_mut().for_each(visit);
                }
            }
        }
        self.args.iter_mut().for_each(visit);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    Forward,
    Backward,
    Gradient,
}

impl Launch {
    /// The threads that run where a block is one thread. A kernel with tiles computes once for each
    /// block, however many threads that has elsewhere: the last dimension of its launches is that
    /// of the threads of a block.
    pub fn dim_by_block(&self, function: &Function) -> Result<Vec<u32>> {
        dim_by_block(function, &self.dim, self.block_dim)
    }
}

/// How a kernel has to be compiled for a launch, where threads of a block have values of their own
/// and it is compiled otherwise.
pub fn other_block_threads(function: &Function, dim: &[u32], block: u32) -> Option<BlockThreads> {
    let FunctionKind::Kernel { rank } = function.kind else { return None };
    let counted = block > 1 && dim.len() <= usize::from(rank);
    let wanted = BlockThreads { threads: block, counted, last: last_block(dim, block).filter(|_| counted) };
    let asks = function.by_block && (function.block_threads.is_some() || wanted.counted);
    (asks && function.block_threads != Some(wanted)).then_some(wanted)
}

/// The block that is not full in a launch whose last dimension counts threads. In a launch of
/// several rows each of them would have one, and Warp's blocks go over their ends instead.
fn last_block(dim: &[u32], block: u32) -> Option<LastBlock> {
    let (&last, rows) = dim.split_last()?;
    let threads = last.checked_rem(block)?;
    (threads > 0 && rows.iter().all(|&n| n == 1)).then_some(LastBlock { number: last / block, threads })
}

/// [`Launch::dim_by_block`] for dimensions and blocks that come from elsewhere.
pub fn dim_by_block(function: &Function, given: &[u32], block: u32) -> Result<Vec<u32>> {
    let mut dim = given.to_vec();
    let FunctionKind::Kernel { rank } = function.kind else { return Ok(dim) };
    let other = function.block_threads.is_some_and(|block_threads| block_threads.threads != block);
    if !function.by_block || block == 1 && !other {
        return Ok(dim);
    }
    let name = &function.source_name;
    let refuse = |message: String, help: &str| {
        let error =
            fail(Code::E1006, message).label(function.span, "it works on tiles, which belong to a block of threads");
        Err(Box::new(error.help(help)))
    };
    if let Some(block_threads) = function.block_threads.filter(|_| other) {
        let made = block_threads.threads;
        let message = format!("kernel `{name}` is compiled for blocks of {made}, and launched in blocks of {block}");
        return refuse(message, "its threads have values of their own: compile it with this `block_dim`");
    }
    let counted = function.block_threads.is_some_and(|block_threads| block_threads.counted);
    if counted && dim.len() != usize::from(rank) {
        let message = format!(
            "kernel `{name}` counts threads in its last of {rank} coordinates, and {given:?} has other dimensions"
        );
        return refuse(message, "give the launch as many dimensions as the kernel has coordinates");
    }
    if dim.len() <= usize::from(rank) && !counted {
        let message =
            format!("the threads of a block of {block} differ in the coordinates of kernel `{name}`, which has tiles");
        return refuse(message, "give the launch one dimension more, of `block_dim`, or a `block_dim` of 1");
    }
    let of_launch = last_block(given, block).filter(|_| counted);
    if function.block_threads.is_some_and(|block_threads| block_threads.last != of_launch) {
        let message = format!("kernel `{name}` is compiled for another number of threads than {given:?} has");
        return refuse(message, "a kernel whose last block is not full is compiled for each launch");
    }
    match dim.last_mut() {
        Some(last) if *last % block == 0 || of_launch.is_some() => *last = last.div_ceil(block),
        _ => {
            let message = format!("the last dimension of {given:?} is no multiple of block_dim, which is {block}");
            let help = match counted {
                true => {
                    "in a launch of several rows, each has whole blocks: give the last dimension a multiple of `block_dim`"
                }
                false => {
                    "the last dimension counts the threads of whole blocks here: give it a multiple of `block_dim`"
                }
            };
            return refuse(message, help);
        }
    }
    Ok(dim)
}

/// An argument of the kernel or a field of a struct argument.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    pub name: String,
    pub kind: ArgumentKind,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ArgumentKind {
    Value {
        dtype: Option<DType>,
        literal: Literal,
    },
    Array(ArrayArgument),
    Struct {
        name: Option<String>,
        fields: Vec<Argument>,
    },
    /// A mesh, a tree of boxes, a hash grid, a volume or a texture that is made for the launch.
    Engine {
        kind: EngineKind,
        fields: Vec<Argument>,
        /// Of a volume that has no fields: where it is.
        file: Option<VolumeFile>,
    },
}

impl ArgumentKind {
    /// The mesh of the triangles in a file, for the argument `name`.
    fn mesh(name: &str, file: &Path) -> ArgumentKind {
        let fields = mesh_file::ENTRIES.map(|entry| {
            let source = Source::File { path: file.to_path_buf(), entry: Some(entry.to_string()) };
            let data = Some(Stored { key: format!("{name}.{entry}"), source });
            Argument {
                name: entry.to_string(),
                kind: ArgumentKind::Array(ArrayArgument { data, ..Default::default() }),
            }
        });
        ArgumentKind::Engine { kind: EngineKind::Mesh, fields: fields.to_vec(), file: None }
    }

    /// The volume in a file, which is called `grid`, or the first one.
    fn volume(path: PathBuf, grid: Option<&str>) -> ArgumentKind {
        let file = VolumeFile { path, grid: grid.map(str::to_string) };
        ArgumentKind::Engine { kind: EngineKind::Volume, fields: Vec::new(), file: Some(file) }
    }
}

/// A grid of a file: the first one, or the one with this name.
#[derive(Clone, Debug, PartialEq)]
pub struct VolumeFile {
    pub path: PathBuf,
    pub grid: Option<String>,
}

/// An array argument; what is None follows from the kernel's parameter or from the stored array.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ArrayArgument {
    pub dtype: Option<DType>,
    pub ndim: Option<u32>,
    pub shape: Option<Vec<u32>>,
    /// In bytes; None: dense, row major.
    pub strides: Option<Vec<i64>>,
    /// None: an unset (null) array.
    pub data: Option<Stored>,
    pub grad: Option<Stored>,
    /// The gradient is handed over as an adjoint argument, not with the array.
    pub grad_external: bool,
    /// A store keeps the gradient of the element that it overwrites.
    pub retain_grad: bool,
    /// Numbers of another type in a file are converted.
    pub convert: bool,
}

/// Where the contents of one array come from, and the name under which they are written back.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    pub key: String,
    pub source: Source,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// The entry `key` of the launch's `.npz` (one per leaf field for structs).
    Entry,
    /// The same memory as the earlier array with this key.
    Alias(String),
    /// A `.npy`, or an entry of a `.npz`.
    File { path: PathBuf, entry: Option<String> },
    /// Made up on the spot.
    Fill(Fill),
}

/// Contents that need no file.
#[derive(Clone, Debug, PartialEq)]
pub enum Fill {
    /// Every scalar is this.
    Value(Literal),
    /// Element number n (row major) is n, in every component.
    Range,
    /// Uniform: floats in [0, 1), integers in 0..100, from this seed.
    Random(u64),
    /// The components of all elements, row major; where they end, they begin again.
    List(Vec<Number>),
}

#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    One(Number),
    /// Row major components.
    Many(Vec<Number>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    Bool(bool),
    /// Integers keep all 64 bits.
    Int(i128),
    Float(f64),
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Number::Bool(b) => write!(f, "{b}"),
            Number::Int(i) => write!(f, "{i}"),
            Number::Float(x) => write!(f, "{x:?}"),
        }
    }
}

/// An element type as a launch file writes it.
#[derive(Clone, Debug, PartialEq)]
pub enum DType {
    Plain(Element),
    Struct(String),
}

/// A struct's memory layout as a launch file states it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StructLayout {
    pub size: u64,
    pub align: u64,
    pub fields: Vec<FieldLayout>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct FieldLayout {
    pub name: String,
    pub offset: u64,
}

/// The id of a launch file that states none: a folder per launch is the usual arrangement, so the
/// folder's name.
pub fn default_id(path: &Path) -> String {
    let absolute = std::path::absolute(path).unwrap_or_default();
    let folder = absolute.parent().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    folder.filter(|id| check_id(id).is_ok()).unwrap_or_else(|| "launch".to_string())
}

/// An id becomes a file name; the error completes the sentence "id X ...".
pub(super) fn check_id(id: &str) -> std::result::Result<(), &'static str> {
    if id.is_empty() {
        return Err("is empty");
    }
    if id.len() > 200 {
        return Err("is longer than 200 bytes");
    }
    if id.starts_with('.') || id.chars().any(|c| matches!(c, '/' | '\\') || c.is_control()) {
        return Err("cannot be a file name: it starts with a dot or holds a slash or a control character");
    }
    Ok(())
}
