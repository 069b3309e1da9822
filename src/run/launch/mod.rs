//! What does a launch ask for? The model of a launch, and the strict reading of launch files (format 1) into it.
//!
//! A [`Launch`] is plain data: no file but the launch file itself has been opened, and nothing is compared with the
//! kernel yet; [`super::args`] does both. Flags on the command line build the same model ([`crate::run::launch::flags`]).

pub mod flags;
pub mod make;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{Fail, Result, fail, shorten};
use crate::diag::{Code, Diagnostic};
use crate::ir::{Function, FunctionKind};
use crate::types::{Element, MAX_DIMS, Scalar};

/// The only format there is.
pub const FORMAT: u64 = 1;

/// A launch file larger than this is refused unread; arrays do not belong in it.
const MAX_FILE_BYTES: u64 = 64 << 20;

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
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Forward,
    Backward,
    Gradient,
}

impl Launch {
    /// The threads that run where a block is one thread. A kernel with tiles computes once for each block, however many threads
    /// that has elsewhere: the last dimension of its launches is that of the threads of a block.
    pub fn dim_by_block(&self, function: &Function) -> Result<Vec<u32>> {
        let mut dim = self.dim.clone();
        let FunctionKind::Kernel { rank } = function.kind else { return Ok(dim) };
        if !function.by_block || self.block_dim == 1 {
            return Ok(dim);
        }
        let (name, block) = (&function.source_name, self.block_dim);
        let refuse = |message: String, help: &str| {
            let error = fail(Code::E1006, message)
                .label(function.span, "it works on tiles, which belong to a block of threads");
            Err(Box::new(error.help(help)))
        };
        if dim.len() <= usize::from(rank) {
            let message = format!(
                "the threads of a block of {block} differ in the coordinates of kernel `{name}`, which has tiles"
            );
            return refuse(message, "give the launch one dimension more, of `block_dim`, or a `block_dim` of 1");
        }
        match dim.last_mut() {
            Some(last) if *last % block == 0 => *last /= block,
            _ => {
                let message =
                    format!("the last dimension of {:?} is no multiple of block_dim, which is {block}", self.dim);
                return refuse(message, "a kernel with tiles needs whole blocks");
            }
        }
        Ok(dim)
    }
}

/// An argument of the kernel or a field of a struct argument.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    pub name: String,
    pub kind: ArgumentKind,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ArgumentKind {
    Value { dtype: Option<DType>, literal: Literal },
    Array(ArrayArgument),
    Struct { name: Option<String>, fields: Vec<Argument> },
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

/// The file as JSON. Members that only tests use (`outputs`, `tolerance`, ...) are not listed and so ignored.
#[derive(Deserialize)]
struct FileJson {
    format: serde_json::Value,
    id: Option<String>,
    source: String,
    kernel: Option<String>,
    direction: Option<String>,
    dim: Vec<serde_json::Number>,
    block_dim: Option<serde_json::Number>,
    args: Vec<EntryJson>,
    #[serde(default)]
    structs: BTreeMap<String, StructLayout>,
}

/// One entry of `args` or of a struct's `fields`. A misspelt member must not pass for an absent one.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EntryJson {
    name: String,
    kind: String,
    dtype: Option<DTypeJson>,
    ndim: Option<serde_json::Number>,
    shape: Option<Vec<serde_json::Number>>,
    strides: Option<Vec<serde_json::Number>>,
    data: Option<String>,
    fill: Option<serde_json::Value>,
    grad: Option<String>,
    grad_fill: Option<serde_json::Value>,
    #[serde(default)]
    null: bool,
    alias_of: Option<String>,
    grad_alias_of: Option<String>,
    #[serde(default)]
    grad_external: bool,
    #[serde(default)]
    retain_grad: bool,
    value: Option<serde_json::Value>,
    #[serde(rename = "struct")]
    struct_name: Option<String>,
    fields: Option<Vec<EntryJson>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DTypeJson {
    class: String,
    scalar: Option<String>,
    #[serde(default)]
    shape: Vec<serde_json::Number>,
    name: Option<String>,
}

/// Reads the launch file at `path`.
pub fn read(path: &Path) -> Result<Launch> {
    let shown = path.display();
    let unreadable = |e: std::io::Error| fail(Code::E1001, format!("cannot read launch file {shown}: {e}"));
    let metadata = std::fs::metadata(path).map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(fail(Code::E1001, format!("launch file {shown} is not a regular file")));
    }
    if metadata.len() > MAX_FILE_BYTES {
        return Err(fail(Code::E1001, format!("launch file {shown} has {} bytes, more than 64 MiB", metadata.len())));
    }
    let bytes = std::fs::read(path).map_err(unreadable)?;
    if path.extension().is_some_and(|extension| extension == "py" || extension == "ir") {
        let message = format!("{shown} is a source file, and a launch file is expected");
        let help = "a launch file is JSON that names a kernel, its threads and its arguments: see docs/launches.md";
        return Err(Box::new(Diagnostic::new(Code::E1001, message).help(help)));
    }
    parse(path, &bytes)
}

/// Reads a launch file from its contents; `path` is for messages and to resolve the paths in it.
pub fn parse(path: &Path, bytes: &[u8]) -> Result<Launch> {
    // The version comes first: a file of another format may well lack members that this one needs.
    #[derive(Deserialize)]
    struct Version {
        format: serde_json::Value,
    }
    let malformed =
        |e: serde_json::Error| fail(Code::E1001, format!("{}: not a valid launch file: {e}", path.display()));
    let version: Version = serde_json::from_slice(bytes).map_err(malformed)?;
    if version.format.as_u64() != Some(FORMAT) {
        let found = version.format;
        return Err(fail(Code::E1002, format!("{}: format is {found}, but kc reads format {FORMAT}", path.display())));
    }
    let json: FileJson = serde_json::from_slice(bytes).map_err(malformed)?;
    debug_assert!(json.format.is_number());
    Reader { path }.launch(json)
}

struct Reader<'a> {
    path: &'a Path,
}

impl Reader<'_> {
    fn fail(&self, code: Code, message: impl std::fmt::Display) -> Fail {
        fail(code, format!("{}: {message}", self.path.display()))
    }

    fn launch(&self, json: FileJson) -> Result<Launch> {
        let folder = self.path.parent().unwrap_or(Path::new(""));
        let id = match json.id {
            Some(id) => id,
            None => default_id(self.path),
        };
        check_id(&id).map_err(|why| self.fail(Code::E1001, format!("id {id:?} {why}")))?;
        let direction = match json.direction.as_deref() {
            None | Some("forward") => Direction::Forward,
            Some("backward") => Direction::Backward,
            Some("gradient") => Direction::Gradient,
            Some(other) => {
                let message = format!("direction is {other:?}, expected \"forward\", \"backward\" or \"gradient\"");
                return Err(self.fail(Code::E1001, message));
            }
        };
        let dim = self.extents("dim", &json.dim)?;
        let block_dim = match &json.block_dim {
            None => 1,
            Some(n) => match n.as_u64() {
                Some(n @ 1..=1024) => n as u32,
                _ => return Err(self.fail(Code::E1006, format!("block_dim is {n}, expected 1 to 1024"))),
            },
        };
        if json.source.is_empty() {
            return Err(self.fail(Code::E1001, "source is empty, expected the name of the kernel's file"));
        }
        let args = self.entries("args", json.args)?;
        Ok(Launch {
            id,
            source: folder.join(json.source),
            kernel: json.kernel,
            direction,
            dim,
            block_dim,
            args,
            structs: json.structs,
            inputs: folder.join("inputs.npz"),
        })
    }

    fn entries(&self, at: &str, list: Vec<EntryJson>) -> Result<Vec<Argument>> {
        list.into_iter().enumerate().map(|(n, entry)| self.entry(&format!("{at}[{n}]"), entry)).collect()
    }

    fn entry(&self, at: &str, e: EntryJson) -> Result<Argument> {
        // With the name, a message can be understood without counting entries.
        let at = format!("{at} ({})", e.name);
        let misplaced = |member: &str| {
            self.fail(Code::E1001, format!("{at}: `{member}` does not belong to an entry of kind \"{}\"", e.kind))
        };
        let of_array = [
            ("ndim", e.ndim.is_some()),
            ("shape", e.shape.is_some()),
            ("strides", e.strides.is_some()),
            ("data", e.data.is_some()),
            ("fill", e.fill.is_some()),
            ("grad", e.grad.is_some()),
            ("grad_fill", e.grad_fill.is_some()),
            ("null", e.null),
            ("alias_of", e.alias_of.is_some()),
            ("grad_alias_of", e.grad_alias_of.is_some()),
        ];
        let of_struct = [("struct", e.struct_name.is_some()), ("fields", e.fields.is_some())];
        let of_value = [("value", e.value.is_some())];
        let foreign: Vec<(&str, bool)> = match e.kind.as_str() {
            "array" => of_struct.into_iter().chain(of_value).collect(),
            "value" => of_array.into_iter().chain(of_struct).collect(),
            "struct" => of_array.into_iter().chain(of_value).chain([("dtype", e.dtype.is_some())]).collect(),
            other => {
                let message = format!("{at}: kind is {other:?}, expected \"value\", \"array\" or \"struct\"");
                return Err(self.fail(Code::E1001, message));
            }
        };
        if let Some((member, _)) = foreign.iter().find(|(_, there)| *there) {
            return Err(misplaced(member));
        }
        let missing = |member: &str| self.fail(Code::E1001, format!("{at}: `{member}` is missing"));
        let kind = match e.kind.as_str() {
            "value" => ArgumentKind::Value {
                dtype: Some(self.dtype(&at, e.dtype.ok_or_else(|| missing("dtype"))?)?),
                literal: self.literal(&at, &e.value.ok_or_else(|| missing("value"))?)?,
            },
            "struct" => ArgumentKind::Struct {
                name: e.struct_name,
                fields: self.entries(&format!("{at}.fields"), e.fields.ok_or_else(|| missing("fields"))?)?,
            },
            _ => {
                let dtype = Some(self.dtype(&at, e.dtype.ok_or_else(|| missing("dtype"))?)?);
                let ndim = e.ndim.ok_or_else(|| missing("ndim"))?;
                let Some(ndim @ 1..=4) = ndim.as_u64() else {
                    return Err(self.fail(Code::E1006, format!("{at}: ndim is {ndim}, expected 1 to 4")));
                };
                let ndim = Some(ndim as u32);
                if e.null {
                    return Ok(Argument {
                        name: e.name,
                        kind: ArgumentKind::Array(ArrayArgument { dtype, ndim, ..ArrayArgument::default() }),
                    });
                }
                let shape = self.extents(&format!("{at}.shape"), &e.shape.ok_or_else(|| missing("shape"))?)?;
                let strides = match &e.strides {
                    None => None,
                    Some(list) => Some(self.strides(&at, list)?),
                };
                let source = |member: &str, fill: &Option<serde_json::Value>, alias: Option<String>| match (fill, alias)
                {
                    (None, None) => Ok(Source::Entry),
                    (None, Some(alias)) => Ok(Source::Alias(alias)),
                    (Some(fill), None) => self.fill(&format!("{at}.{member}"), fill).map(Source::Fill),
                    (Some(_), Some(_)) => Err(misplaced(member)),
                };
                let data_key =
                    e.data.or_else(|| e.alias_of.clone()).or_else(|| e.fill.as_ref().map(|_| e.name.clone()));
                let grad_key = (e.grad.or_else(|| e.grad_alias_of.clone())).or_else(|| {
                    e.grad_fill.as_ref().map(|_| format!("{}.grad", data_key.as_deref().unwrap_or(&e.name)))
                });
                let data = Stored {
                    key: data_key.ok_or_else(|| missing("data"))?,
                    source: source("fill", &e.fill, e.alias_of)?,
                };
                let grad = match grad_key {
                    Some(key) => Some(Stored { key, source: source("grad_fill", &e.grad_fill, e.grad_alias_of)? }),
                    None => None,
                };
                ArgumentKind::Array(ArrayArgument {
                    dtype,
                    ndim,
                    shape: Some(shape),
                    strides,
                    data: Some(data),
                    grad,
                    grad_external: e.grad_external,
                    retain_grad: e.retain_grad,
                })
            }
        };
        Ok(Argument { name: e.name, kind })
    }

    fn extents(&self, at: &str, list: &[serde_json::Number]) -> Result<Vec<u32>> {
        if list.len() > MAX_DIMS {
            let n = list.len();
            return Err(self.fail(Code::E1006, format!("{at} has {n} dimensions, but kc supports at most {MAX_DIMS}")));
        }
        list.iter()
            .enumerate()
            .map(|(k, n)| match n.as_u64() {
                Some(n) if n <= i32::MAX as u64 => Ok(n as u32),
                _ => Err(self.fail(Code::E1006, format!("{at}[{k}] is {n}, expected an extent of 0 to {}", i32::MAX))),
            })
            .collect()
    }

    fn strides(&self, at: &str, list: &[serde_json::Number]) -> Result<Vec<i64>> {
        list.iter()
            .enumerate()
            .map(|(k, n)| {
                n.as_i64().ok_or_else(|| {
                    self.fail(Code::E1010, format!("{at}.strides[{k}] is {n}, expected a whole number of bytes"))
                })
            })
            .collect()
    }

    fn literal(&self, at: &str, value: &serde_json::Value) -> Result<Literal> {
        let bad = |v: &serde_json::Value| {
            let v = shorten(&v.to_string());
            self.fail(
                Code::E1011,
                format!("{at}: value {v} is not a number, \"nan\", \"inf\", \"-inf\", or a flat list of them"),
            )
        };
        match value {
            serde_json::Value::Array(list) => {
                let numbers = list.iter().map(|v| number(v).ok_or_else(|| bad(v))).collect::<Result<_>>()?;
                Ok(Literal::Many(numbers))
            }
            one => Ok(Literal::One(number(one).ok_or_else(|| bad(one))?)),
        }
    }

    /// Contents that need no file: a number or `true` for every scalar, a list that is repeated, `"range"`, `"random"` or
    /// `"random:SEED"`.
    fn fill(&self, at: &str, value: &serde_json::Value) -> Result<Fill> {
        let bad = || {
            let value = shorten(&value.to_string());
            let forms = "a number, a list of numbers, \"range\", \"random\" or \"random:SEED\"";
            self.fail(Code::E1011, format!("{at} is {value}, expected {forms}"))
        };
        if let serde_json::Value::String(text) = value
            && number(value).is_none()
        {
            return match (text.as_str(), text.strip_prefix("random:").map(str::parse)) {
                ("range", _) => Ok(Fill::Range),
                ("random", _) => Ok(Fill::Random(0)),
                (_, Some(Ok(seed))) => Ok(Fill::Random(seed)),
                _ => Err(bad()),
            };
        }
        Ok(match self.literal(at, value).map_err(|_| bad())? {
            Literal::Many(list) if list.is_empty() => return Err(bad()),
            Literal::Many(list) => Fill::List(list),
            one => Fill::Value(one),
        })
    }

    fn dtype(&self, at: &str, d: DTypeJson) -> Result<DType> {
        let bad = |message: String| self.fail(Code::E1001, format!("{at}: dtype {message}"));
        if d.class == "struct" {
            return d.name.map(DType::Struct).ok_or_else(|| bad("of class \"struct\" has no `name`".into()));
        }
        let Some(scalar) = d.scalar else { return Err(bad("has no `scalar`".into())) };
        let Some(scalar) = Scalar::from_name(&scalar) else {
            return Err(bad(format!("has the unknown scalar {scalar:?}")));
        };
        let shape: Option<Vec<u16>> = d.shape.iter().map(|n| n.as_u64().and_then(|n| u16::try_from(n).ok())).collect();
        let element = match (d.class.as_str(), shape.as_deref()) {
            ("scalar", Some([])) => Element::Scalar(scalar),
            ("vec", Some(&[n])) if n > 0 => Element::Vec(n, scalar),
            ("mat", Some(&[r, c])) if r > 0 && c > 0 => Element::Mat(r, c, scalar),
            ("quat", Some([4])) => Element::Quat(scalar),
            ("transform", Some([7])) => Element::Transform(scalar),
            ("scalar" | "vec" | "mat" | "quat" | "transform", _) => {
                let shape: Vec<String> = d.shape.iter().map(|n| n.to_string()).collect();
                return Err(bad(format!("of class \"{}\" has the impossible shape [{}]", d.class, shape.join(", "))));
            }
            (other, _) => return Err(bad(format!("has the unknown class {other:?}"))),
        };
        Ok(DType::Plain(element))
    }
}

fn number(value: &serde_json::Value) -> Option<Number> {
    Some(match value {
        serde_json::Value::Bool(b) => Number::Bool(*b),
        serde_json::Value::Number(n) => match (n.as_i64(), n.as_u64()) {
            (Some(i), _) => Number::Int(i.into()),
            (_, Some(u)) => Number::Int(u.into()),
            _ => Number::Float(n.as_f64()?),
        },
        serde_json::Value::String(s) => Number::Float(match s.as_str() {
            "nan" => f64::NAN,
            "inf" => f64::INFINITY,
            "-inf" => f64::NEG_INFINITY,
            _ => return None,
        }),
        _ => return None,
    })
}

/// The id of a launch file that states none: a folder per launch is the usual arrangement, so the folder's name.
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
