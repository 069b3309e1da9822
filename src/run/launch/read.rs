//! The strict reading of launch files (format 1).

use crate::run::messages;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::flags::{element_by_name, file_and_entry};
use super::steps::{self, LaunchProgram};
use super::{
    Argument, ArgumentKind, ArrayArgument, DType, Direction, Fill, Launch, Literal, Number, Source, Stored,
    StructLayout, check_id, default_id,
};
use crate::diag::Code;
use crate::engines::Kind;
use crate::run::files::{mesh_file, volume_file};
use crate::run::{Fail, Result, fail, shorten};
use crate::types::{Element, MAX_DIMS, Scalar};

/// The only format there is.
pub const FORMAT: u64 = 1;

/// A launch file larger than this is refused unread; arrays do not belong in it.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// The file as JSON. Members that only tests use (`outputs`, `tolerance`, ...) are not listed and
/// so ignored.
#[derive(Deserialize)]
pub(super) struct FileJson {
    id: Option<String>,
    pub source: String,
    pub kernel: Option<String>,
    direction: Option<String>,
    dim: Option<Vec<serde_json::Number>>,
    block_dim: Option<serde_json::Number>,
    pub entry: Option<String>,
    pub grid: Option<Vec<serde_json::Number>>,
    pub block: Option<Vec<serde_json::Number>>,
    pub shared_bytes: Option<serde_json::Number>,
    args: Vec<EntryJson>,
    #[serde(default)]
    structs: BTreeMap<String, StructLayout>,
}

/// One entry of `args` or of a struct's `fields`. A misspelt member must not pass for an absent
/// one.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EntryJson {
    name: String,
    kind: String,
    dtype: Option<serde_json::Value>,
    ndim: Option<serde_json::Number>,
    shape: Option<Vec<serde_json::Number>>,
    strides: Option<Vec<serde_json::Number>>,
    data: Option<serde_json::Value>,
    fill: Option<serde_json::Value>,
    file: Option<String>,
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
    #[serde(default)]
    convert: bool,
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

/// What a launch file holds.
pub enum AnyLaunch {
    One(Launch),
    Several(LaunchProgram),
}

impl AnyLaunch {
    pub fn id(&self) -> &str {
        match self {
            AnyLaunch::One(launch) => &launch.id,
            AnyLaunch::Several(program) => &program.id,
        }
    }
}

/// Reads the launch file at `path`, which holds one launch.
pub fn read(path: &Path) -> Result<Launch> {
    read_any(path).and_then(|any| one(path, any))
}

/// Reads a launch from the contents of its file; `path` is for messages and to resolve the paths in
/// it.
pub fn parse(path: &Path, bytes: &[u8]) -> Result<Launch> {
    parse_any(path, bytes).and_then(|any| one(path, any))
}

fn one(path: &Path, any: AnyLaunch) -> Result<Launch> {
    match any {
        AnyLaunch::One(launch) => Ok(launch),
        AnyLaunch::Several(_) => Err(Box::new(messages::several_launches(&path.display().to_string()))),
    }
}

/// Reads the launch file at `path`.
pub fn read_any(path: &Path) -> Result<AnyLaunch> {
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
        return Err(Box::new(messages::no_launch_file(&shown.to_string())));
    }
    parse_any(path, &bytes)
}

fn parse_any(path: &Path, bytes: &[u8]) -> Result<AnyLaunch> {
    // The version comes first: a file of another format may well lack members that this one needs.
    #[derive(Deserialize)]
    struct Version {
        format: serde_json::Value,
        steps: Option<serde::de::IgnoredAny>,
    }
    let reader = Reader { path };
    let version: Version = serde_json::from_slice(bytes).map_err(|error| reader.malformed(error))?;
    if version.format.as_u64() != Some(FORMAT) {
        let found = version.format;
        return Err(reader.fail(Code::E1002, format!("format is {found}, but kc reads format {FORMAT}")));
    }
    if version.steps.is_some() {
        return steps::parse(&reader, bytes).map(AnyLaunch::Several);
    }
    let json: FileJson = serde_json::from_slice(bytes).map_err(|error| reader.malformed(error))?;
    reader.launch(json).map(AnyLaunch::One)
}

/// The kind of engine that a launch file calls so.
fn engine(kind: &str) -> Option<Kind> {
    Kind::ALL.into_iter().find(|engine| engine.word() == kind)
}

/// Reads a file of format 1; what is not so is an error with its place.
pub(super) struct Reader<'a> {
    pub path: &'a Path,
}

impl Reader<'_> {
    pub fn malformed(&self, error: serde_json::Error) -> Fail {
        fail(Code::E1001, format!("{}: not a valid launch file: {error}", self.path.display()))
    }

    pub fn id(&self, id: Option<String>) -> Result<String> {
        let id = id.unwrap_or_else(|| default_id(self.path));
        check_id(&id).map_err(|why| self.fail(Code::E1001, format!("id {id:?} {why}")))?;
        Ok(id)
    }

    pub fn source(&self, source: &str) -> Result<PathBuf> {
        if source.is_empty() {
            return Err(self.fail(Code::E1001, "source is empty, expected the name of the kernel's file"));
        }
        Ok(self.folder().join(source))
    }

    pub fn block_dim(&self, given: Option<&serde_json::Number>) -> Result<u32> {
        match given.map(|n| (n, n.as_u64())) {
            None => Ok(1),
            Some((_, Some(n @ 1..=1024))) => Ok(n as u32),
            Some((n, _)) => Err(self.fail(Code::E1006, format!("block_dim is {n}, expected 1 to 1024"))),
        }
    }

    pub fn fail(&self, code: Code, message: impl std::fmt::Display) -> Fail {
        fail(code, format!("{}: {message}", self.path.display()))
    }

    fn launch(&self, json: FileJson) -> Result<Launch> {
        let id = self.id(json.id.clone())?;
        let direction = match json.direction.as_deref() {
            None | Some("forward") => Direction::Forward,
            Some("backward") => Direction::Backward,
            Some("gradient") => Direction::Gradient,
            Some(other) => {
                let message = format!("direction is {other:?}, expected \"forward\", \"backward\" or \"gradient\"");
                return Err(self.fail(Code::E1001, message));
            }
        };
        let grid = self.grid(&json, direction)?;
        let dim = match (&json.dim, &grid) {
            (Some(dim), None) => self.extents("dim", dim)?,
            (None, Some(grid)) => {
                vec![grid.grid.iter().zip(&grid.block).map(|(a, b)| a.saturating_mul(*b)).fold(1, u32::saturating_mul)]
            }
            (None, None) => return Err(self.fail(Code::E1001, "`dim` is missing")),
            (Some(_), Some(_)) => {
                return Err(self.fail(Code::E1001, "`dim` belongs to a kernel in Python; PTX has `grid` and `block`"));
            }
        };
        let block_dim = self.block_dim(json.block_dim.as_ref())?;
        let source = self.source(&json.source)?;
        let args = self.entries("args", json.args, grid.is_some())?;
        Ok(Launch {
            id,
            source,
            kernel: json.entry.or(json.kernel),
            direction,
            dim,
            block_dim,
            args,
            structs: json.structs,
            inputs: self.folder().join("inputs.npz"),
            grid,
            max_expanded: None,
        })
    }

    fn entries(&self, at: &str, list: Vec<EntryJson>, of_ptx: bool) -> Result<Vec<Argument>> {
        list.into_iter().enumerate().map(|(n, entry)| self.entry(&format!("{at}[{n}]"), entry, of_ptx)).collect()
    }

    fn entry(&self, at: &str, mut e: EntryJson, of_ptx: bool) -> Result<Argument> {
        // An array of which PTX is given the address alone.
        match (e.kind.as_str(), of_ptx) {
            ("pointer", true) => {
                e.kind = "array".to_string();
                e.ndim = e.ndim.or_else(|| e.shape.as_ref().map(|shape| shape.len().into()));
            }
            ("array" | "struct", true) => {
                let message =
                    format!("{at} ({}): kind is {:?}, and PTX takes \"value\" or \"pointer\"", e.name, e.kind);
                return Err(self.fail(Code::E1001, message));
            }
            _ => {}
        }
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
            ("file", e.file.is_some()),
            ("convert", e.convert),
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
            kind if engine(kind).is_some() => {
                let more = [("dtype", e.dtype.is_some()), ("struct", e.struct_name.is_some())];
                let of_file = ["mesh", "volume"].contains(&kind) && e.fields.is_none();
                let of_array = of_array.into_iter().filter(|(member, _)| !(of_file && *member == "file"));
                of_array.chain(of_value).chain(more).collect()
            }
            other => {
                let kinds =
                    "\"value\", \"array\", \"struct\", \"mesh\", \"bvh\", \"hash_grid\", \"volume\" or \"texture\"";
                let message = format!("{at}: kind is {other:?}, expected {kinds}");
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
                fields: self.entries(&format!("{at}.fields"), e.fields.ok_or_else(|| missing("fields"))?, of_ptx)?,
            },
            "mesh" if let Some(file) = &e.file => {
                let file = self.folder().join(file);
                if !mesh_file::is_mesh(&file) {
                    let message =
                        format!("{at}: file is {:?}, expected FILE.obj, FILE.ply or FILE.stl", file.display());
                    return Err(self.fail(Code::E1001, message));
                }
                ArgumentKind::mesh(&e.name, &file)
            }
            "volume" if let Some(file) = &e.file => {
                let (file, grid) = file_and_entry(file);
                if !volume_file::is_volume(Path::new(file)) || grid == Some("") {
                    let message = format!("{at}: file is {file:?}, expected FILE.nvdb or FILE.nvdb:GRID");
                    return Err(self.fail(Code::E1001, message));
                }
                ArgumentKind::volume(self.folder().join(file), grid)
            }
            kind if let Some(kind) = engine(kind) => ArgumentKind::Engine {
                kind,
                file: None,
                fields: self.entries(&format!("{at}.fields"), e.fields.ok_or_else(|| missing("fields"))?, of_ptx)?,
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
                // A file knows its own.
                let shape = match (&e.shape, &e.file) {
                    (Some(shape), _) => Some(self.extents(&format!("{at}.shape"), shape)?),
                    (None, Some(_)) => None,
                    (None, None) => return Err(missing("shape")),
                };
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
                let made = e.fill.is_some() || e.file.is_some();
                let named = match e.data {
                    None => None,
                    Some(serde_json::Value::String(key)) => Some(key),
                    Some(other) => {
                        let message = format!(
                            "{at}.data is {}, expected the name of an entry of `inputs.npz`; numbers go to `fill`",
                            shorten(&other.to_string())
                        );
                        return Err(self.fail(Code::E1001, message));
                    }
                };
                let data_key = named.or_else(|| e.alias_of.clone()).or_else(|| made.then(|| e.name.clone()));
                let grad_key = (e.grad.or_else(|| e.grad_alias_of.clone())).or_else(|| {
                    e.grad_fill.as_ref().map(|_| format!("{}.grad", data_key.as_deref().unwrap_or(&e.name)))
                });
                for key in [&data_key, &grad_key].into_iter().flatten() {
                    check_id(key).map_err(|why| self.fail(Code::E1001, format!("{at}: the entry {key:?} {why}")))?;
                }
                let data = Stored {
                    key: data_key.ok_or_else(|| missing("data"))?,
                    source: match &e.file {
                        Some(_) if e.fill.is_some() || e.alias_of.is_some() => return Err(misplaced("file")),
                        Some(file) => self.file(&at, file)?,
                        None => source("fill", &e.fill, e.alias_of)?,
                    },
                };
                let grad = match grad_key {
                    Some(key) => Some(Stored { key, source: source("grad_fill", &e.grad_fill, e.grad_alias_of)? }),
                    None => None,
                };
                ArgumentKind::Array(ArrayArgument {
                    dtype,
                    ndim,
                    shape,
                    strides,
                    data: Some(data),
                    grad,
                    grad_external: e.grad_external,
                    retain_grad: e.retain_grad,
                    convert: e.convert,
                })
            }
        };
        Ok(Argument { name: e.name, kind })
    }

    /// `x.npy`, `image.png`, or `data.npz:x`; beside the launch file.
    pub fn file(&self, at: &str, text: &str) -> Result<Source> {
        let (file, entry) = file_and_entry(text);
        match (file, entry) {
            ("", _) | (_, Some("")) => {
                let message =
                    format!("{at}: file is {:?}, expected FILE.npy, FILE.png or FILE.npz:ENTRY", shorten(text));
                Err(self.fail(Code::E1001, message))
            }
            (file, None) if file.ends_with(".npz") => {
                Err(self
                    .fail(Code::E1001, format!("{at}: file is {text:?}, and its entry is not named: FILE.npz:ENTRY")))
            }
            (file, entry) => Ok(Source::File { path: self.folder().join(file), entry: entry.map(str::to_string) }),
        }
    }

    pub fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new(""))
    }

    pub fn extents(&self, at: &str, list: &[serde_json::Number]) -> Result<Vec<u32>> {
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

    pub fn literal(&self, at: &str, value: &serde_json::Value) -> Result<Literal> {
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

    /// Contents that need no file: a number or `true` for every scalar, a list that is repeated,
    /// `"range"`, `"random"` or `"random:SEED"`.
    pub fn fill(&self, at: &str, value: &serde_json::Value) -> Result<Fill> {
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

    fn dtype(&self, at: &str, given: serde_json::Value) -> Result<DType> {
        let bad = |message: String| self.fail(Code::E1001, format!("{at}: dtype {message}"));
        let shown = shorten(&given.to_string());
        if let serde_json::Value::String(name) = &given {
            let no = || bad(format!("is {shown}, which is no type such as \"float32\", \"vec3\" or \"mat33d\""));
            return element_by_name(name).map(DType::Plain).ok_or_else(no);
        }
        let d: DTypeJson = serde_json::from_value(given).map_err(|error| bad(format!("{shown}: {error}")))?;
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
