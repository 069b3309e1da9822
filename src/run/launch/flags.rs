//! How do the flags of `kc run FILE -k KERNEL --dim ... --arg ...` describe a launch?
//!
//! The kernel's parameter types say how a text is to be read, so flags are parsed when the kernel
//! is known.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{Argument, ArgumentKind, ArrayArgument, DType, Direction, Fill, Launch, Literal, Number, Source, Stored};
use crate::diag::Code;
use crate::ir::{Function, FunctionKind};
use crate::run::files::{mesh_file, volume_file};
use crate::run::{Fail, Result, fail, list, shorten};
use crate::types::{ArrayType, Element, MAX_DIMS, Scalar, StructTable, Type};

/// What is before and after the colon of `data.npz:x` and `bunny.obj:points`; other files have no
/// entries.
pub fn file_and_entry(text: &str) -> (&str, Option<&str>) {
    let ends = [".npz:", ".nvdb:", ".obj:", ".ply:", ".stl:"];
    let colon = ends.iter().filter_map(|end| Some(text.rfind(end)? + end.len() - 1)).max();
    match colon {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    }
}

/// The launch of `kernel` that `--dim` and the `--arg NAME=VALUE` texts describe. `dim`: None where
/// it is not given, which is an error that says all that is missing.
pub fn launch(
    source: &Path,
    kernel: &Function,
    structs: &StructTable,
    dim: Option<&[u32]>,
    args: &[String],
) -> Result<Launch> {
    let mut forms = Forms::of(structs, args)?;
    let mut arguments = Vec::new();
    for &param in kernel.params() {
        let name = kernel.values[param].name.clone().unwrap_or_else(|| param.to_string());
        arguments.extend(forms.argument(&name, &name, kernel.ty(param))?);
    }
    forms.all_used(kernel)?;
    let Forms { missing, gradients, .. } = forms;
    let dim = match dim {
        Some(dim) if missing.is_empty() => dim,
        _ => return Err(is_missing(source, kernel, dim, &missing, args)),
    };
    Ok(Launch {
        id: kernel.source_name.clone(),
        source: source.to_path_buf(),
        kernel: Some(kernel.source_name.clone()),
        direction: if gradients { Direction::Gradient } else { Direction::Forward },
        dim: dim.to_vec(),
        block_dim: 256,
        args: arguments,
        structs: BTreeMap::new(),
        inputs: PathBuf::new(),
        grid: None,
        max_expanded: None,
    })
}

/// Puts what `--arg NAME=VALUE` texts say in place of arguments that a launch of `kernel` has.
pub fn replace(launch: &mut Launch, kernel: &Function, structs: &StructTable, args: &[String]) -> Result<()> {
    let mut forms = Forms::of(structs, args)?;
    for (argument, &param) in launch.args.iter_mut().zip(kernel.params()) {
        let path = argument.name.clone();
        forms.replace(&path, argument, kernel.ty(param))?;
    }
    forms.all_used(kernel)?;
    if forms.gradients {
        launch.direction = Direction::Gradient;
    }
    Ok(())
}

/// `256x256` as extents.
pub fn parse_dim(option: &str, text: &str) -> Result<Vec<u32>> {
    let bad = || {
        let text = shorten(text);
        fail(
            Code::E1012,
            format!("{option} {text}: expected 1 to {MAX_DIMS} extents of 0 to {}, such as 256x256", i32::MAX),
        )
    };
    let extents: Option<Vec<u32>> =
        text.split(['x', ',']).map(|n| n.trim().parse().ok().filter(|&n: &u32| n <= i32::MAX as u32)).collect();
    extents.filter(|e| e.len() <= MAX_DIMS).ok_or_else(bad)
}

/// `NAME=VALUE`, both not empty.
pub fn split_assignment<'a>(option: &str, text: &'a str) -> Result<(&'a str, &'a str)> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() && !value.is_empty() => Ok((name.trim(), value)),
        _ => Err(fail(Code::E1012, format!("{option} {}: expected NAME=VALUE", shorten(text)))),
    }
}

/// The error that says at once all that is missing, with a command line that has it.
fn is_missing(source: &Path, kernel: &Function, dim: Option<&[u32]>, missing: &[Missing], args: &[String]) -> Fail {
    let names: Vec<String> = missing.iter().map(|one| one.path.clone()).collect();
    let (code, what) = match (dim, missing) {
        (None, []) => (Code::E1012, "--dim is missing: the number of threads, such as 1000 or 256x256".to_string()),
        (None, _) => (Code::E1012, format!("what is missing: --dim, the number of threads, and {}", list(&names))),
        (Some(_), [one]) => {
            (Code::E1004, format!("argument `{}` of kernel `{}` is missing", one.path, kernel.source_name))
        }
        (Some(_), _) => {
            (Code::E1004, format!("arguments of kernel `{}` are missing: {}", kernel.source_name, list(&names)))
        }
    };
    let mut error = fail(code, what);
    error.notes.extend(missing.iter().map(|one| format!("`{}`: `{}`", one.path, one.ty)));
    let shape = |dim: &[u32]| dim.iter().map(u32::to_string).collect::<Vec<_>>().join("x");
    let rank = match kernel.kind {
        FunctionKind::Kernel { rank } => rank,
        FunctionKind::Device => 1,
    };
    let example = dim.map_or_else(|| example_extents(rank), shape);
    let mut words = vec![format!("kc run {} -k {} --dim {example}", source.display(), kernel.source_name)];
    words.extend(args.iter().map(|text| format!("--arg {text}")));
    words.extend(missing.iter().map(|one| format!("--arg {}={}", one.path, one.example)));
    error.help = Some(format!("for example: `{}`", words.join(" ")));
    error
}

/// A parameter or a field that no `--arg` names.
struct Missing {
    path: String,
    ty: String,
    /// A value that it could have.
    example: String,
}

/// What the flags say, parameter by parameter.
struct Forms<'a> {
    structs: &'a StructTable,
    /// By name; whether it was asked for yet.
    given: BTreeMap<&'a str, (&'a str, bool)>,
    missing: Vec<Missing>,
    /// The gradient of an array is given.
    gradients: bool,
}

impl<'a> Forms<'a> {
    fn of(structs: &'a StructTable, args: &'a [String]) -> Result<Forms<'a>> {
        let mut given: BTreeMap<&str, (&str, bool)> = BTreeMap::new();
        for text in args {
            let (name, value) = split_assignment("--arg", text)?;
            if given.insert(name, (value, false)).is_some() {
                return Err(fail(Code::E1004, format!("argument `{name}` is given twice")));
            }
        }
        Ok(Forms { structs, given, missing: Vec::new(), gradients: false })
    }

    /// Whether the kernel has a parameter for each text.
    fn all_used(&self, kernel: &Function) -> Result<()> {
        let Some((name, _)) = self.given.iter().find(|(_, (_, used))| !used) else { return Ok(()) };
        let names: Vec<String> = kernel
            .params()
            .iter()
            .filter_map(|&p| {
                Some(format!("{}: {}", kernel.values[p].name.as_ref()?, kernel.ty(p).display(self.structs)))
            })
            .collect();
        let has = if names.is_empty() { "no parameters".to_string() } else { list(&names) };
        let message =
            format!("argument `{name}` is not a parameter of kernel `{}`, which has {has}", kernel.source_name);
        Err(fail(Code::E1004, message))
    }

    /// Puts what is said of a parameter or its fields in place of what `argument` has.
    fn replace(&mut self, path: &str, argument: &mut Argument, ty: Type) -> Result<()> {
        match (ty, &mut argument.kind) {
            (Type::Struct(id), ArgumentKind::Struct { fields, .. }) => {
                for (own, field) in fields.iter_mut().zip(&self.structs[id].fields) {
                    self.replace(&format!("{path}.{}", field.name), own, field.ty)?;
                }
            }
            _ if self.given.contains_key(path) => {
                if let Some(said) = self.argument(path, &argument.name.clone(), ty)? {
                    *argument = said;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn take(&mut self, path: &str) -> Option<&'a str> {
        let (value, used) = self.given.get_mut(path)?;
        *used = true;
        Some(value)
    }

    /// The argument for one parameter or field; None if it is missing.
    fn argument(&mut self, path: &str, name: &str, ty: Type) -> Result<Option<Argument>> {
        let (name, structs) = (name.to_string(), self.structs);
        if let Type::Struct(id) = ty {
            let mut fields = Vec::new();
            for field in &structs[id].fields {
                fields.extend(self.argument(&format!("{path}.{}", field.name), &field.name, field.ty)?);
            }
            return Ok(Some(Argument { name, kind: ArgumentKind::Struct { name: None, fields } }));
        }
        let Some(value) = self.take(path) else {
            self.missing.push(Missing {
                path: path.to_string(),
                ty: ty.display(structs).to_string(),
                example: example(ty),
            });
            return Ok(None);
        };
        let kind = match ty {
            Type::Array(array) => {
                let mut argument = parse_array(path, value, array, structs)?;
                let of_gradient = format!("{path}.grad");
                if let Some(text) = self.take(&of_gradient) {
                    argument.grad = gradient(&of_gradient, text, &argument, array, structs)?;
                    self.gradients = true;
                }
                ArgumentKind::Array(argument)
            }
            Type::Scalar(Scalar::U64) if value.starts_with("mesh:") => mesh(path, value)?,
            Type::Scalar(Scalar::U64) if value.starts_with("volume:") => volume(path, value)?,
            _ => {
                let Some(literal) = parse_literal(value) else {
                    let (ty, value) = (ty.display(structs), shorten(value));
                    let message =
                        format!("--arg {path}={value}: expected a value of type `{ty}`, such as 2.5 or 1,2,3");
                    return Err(fail(Code::E1012, message));
                };
                // A vector of one component is a list as well.
                let literal = match literal {
                    Literal::One(n) if ty.is_composite() && ty.scalar_count() == Some(1) => Literal::Many(vec![n]),
                    other => other,
                };
                ArgumentKind::Value { dtype: None, literal }
            }
        };
        Ok(Some(Argument { name, kind }))
    }
}

/// `mesh:FILE`: the mesh of the triangles in a file.
fn mesh(path: &str, value: &str) -> Result<ArgumentKind> {
    let file = value.strip_prefix("mesh:").map(PathBuf::from).filter(|file| mesh_file::is_mesh(file));
    let Some(file) = file else {
        let message =
            format!("--arg {path}={}: expected mesh:FILE.obj, mesh:FILE.ply or mesh:FILE.stl", shorten(value));
        return Err(fail(Code::E1012, message));
    };
    Ok(ArgumentKind::mesh(path, &file))
}

/// `volume:FILE` or `volume:FILE:GRID`.
fn volume(path: &str, value: &str) -> Result<ArgumentKind> {
    let (file, grid) = file_and_entry(value.strip_prefix("volume:").unwrap_or(value));
    if !volume_file::is_volume(Path::new(file)) || grid == Some("") {
        let message = format!("--arg {path}={}: expected volume:FILE.nvdb or volume:FILE.nvdb:GRID", shorten(value));
        return Err(fail(Code::E1012, message));
    }
    Ok(ArgumentKind::volume(PathBuf::from(file), grid))
}

/// A text after `--arg NAME=` that a parameter of this type takes.
fn example(ty: Type) -> String {
    match ty {
        Type::Array(array) => format!("zeros:{}", example_extents(array.ndim)),
        Type::Scalar(scalar) if scalar.is_float() => "1.0".to_string(),
        Type::Scalar(_) => "1".to_string(),
        other => vec!["1"; other.scalar_count().unwrap_or(1) as usize].join(","),
    }
}

/// Extents for an example: few enough elements in any number of dimensions.
fn example_extents(dims: u8) -> String {
    let extent = match dims {
        0 | 1 => "1000",
        2 => "100",
        _ => "10",
    };
    vec![extent; usize::from(dims.max(1))].join("x")
}

/// The right side of `--arg x.grad=...`: as for the array itself, and of the same shape, which may
/// be left out.
fn gradient(
    path: &str,
    text: &str,
    of: &ArrayArgument,
    ty: ArrayType,
    structs: &StructTable,
) -> Result<Option<Stored>> {
    let made = ["zeros", "ones", "range"].contains(&text);
    let made =
        made || ["full:", "random:"].iter().any(|word| text.strip_prefix(word).is_some_and(|rest| !rest.contains(':')));
    let parsed = match made {
        // The shape represents that of the array.
        true => parse_array(path, &format!("{text}:1"), ty, structs)?,
        false => parse_array(path, text, ty, structs)?,
    };
    if !made
        && let (Some(own), Some(shape)) = (&parsed.shape, &of.shape)
        && own != shape
    {
        let message = format!("--arg {path}: its shape {own:?} is not that of the array, {shape:?}");
        return Err(fail(Code::E1009, message));
    }
    Ok(parsed.data)
}

/// `2`, `-1e3`, `true`, `nan`, `1,2,3`.
fn parse_literal(text: &str) -> Option<Literal> {
    if text.contains(',') {
        return text.split(',').map(parse_number).collect::<Option<_>>().map(Literal::Many);
    }
    parse_number(text).map(Literal::One)
}

pub(super) fn parse_number(text: &str) -> Option<Number> {
    let text = text.trim();
    Some(match text {
        "true" | "True" => Number::Bool(true),
        "false" | "False" => Number::Bool(false),
        _ => match text.parse() {
            Ok(int) => Number::Int(int),
            Err(_) => Number::Float(text.parse().ok()?),
        },
    })
}

/// The right side of `--arg x=...` for an array.
fn parse_array(path: &str, text: &str, ty: ArrayType, structs: &StructTable) -> Result<ArrayArgument> {
    let element = ty.element;
    let bad = |why: &str| Err(fail(Code::E1012, format!("--arg {path}={}: {why}", shorten(text))));
    if text == "null" {
        return Ok(ArrayArgument::default());
    }
    let stored = |source| Some(Stored { key: path.to_string(), source });
    if let Some(file) = text.strip_prefix('@') {
        let (file, entry) = match file_and_entry(file) {
            (_, Some("")) => return bad("the name of the entry after `.npz:` is missing"),
            (file, None) if file.ends_with(".npz") => (file, Some(path.to_string())),
            (file, entry) => (file, entry.map(str::to_string)),
        };
        let data = stored(Source::File { path: PathBuf::from(file), entry });
        return Ok(ArrayArgument { data, ..ArrayArgument::default() });
    }
    if let Some((shape, numbers)) = super::listed::parse(text) {
        let Some(shape) = super::listed::shape(&shape, ty) else {
            let ty = Type::Array(ty).display(structs).to_string();
            return bad(&format!("a list of shape {shape:?} has not the form of `{ty}`; write it as NumPy would"));
        };
        let data = stored(Source::Fill(Fill::List(numbers)));
        return Ok(ArrayArgument { shape: Some(shape), data, ..ArrayArgument::default() });
    }
    let parts: Vec<&str> = text.split(':').collect();
    let forms = "expected numbers (1,2,3 or [[1,2],[3,4]]), @FILE.npy, @FILE.npz:ENTRY, @FILE.png, null, zeros:DTYPE:SHAPE, ones:DTYPE:SHAPE, \
                 full:VALUE:DTYPE:SHAPE, range:DTYPE:SHAPE or random:SEED:DTYPE:SHAPE";
    let (fill, rest) = match parts.as_slice() {
        ["zeros", rest @ ..] => (Fill::Value(Literal::One(Number::Int(0))), rest),
        ["ones", rest @ ..] => (Fill::Value(Literal::One(Number::Int(1))), rest),
        ["range", rest @ ..] => (Fill::Range, rest),
        ["full", value, rest @ ..] => match parse_literal(value) {
            Some(literal) => (Fill::Value(literal), rest),
            None => return bad("the value after `full:` is not a number or a list of them"),
        },
        ["random", seed, rest @ ..] => match seed.parse() {
            Ok(seed) => (Fill::Random(seed), rest),
            Err(_) => return bad("the seed after `random:` is not a whole number"),
        },
        _ => return bad(forms),
    };
    let (dtype, shape) = match rest {
        [shape] => (None, shape),
        [dtype, shape] => match dtype_by_name(dtype, structs) {
            Some(dtype) => (Some(dtype), shape),
            None => return bad(&format!("`{dtype}` is not a type, such as f32, vec3f or mat33")),
        },
        _ => return bad(forms),
    };
    // A struct by name represents exactly the kernel's struct of that name.
    if let Some(DType::Struct(name)) = &dtype
        && !matches!(element, Element::Struct(id) if structs[id].name == *name)
    {
        let message = format!("argument `{path}`: expected `{}`, found `{name}`", Type::from(element).display(structs));
        return Err(fail(Code::E1005, message));
    }
    let shape = parse_dim(&format!("--arg {path}: shape"), shape)?;
    Ok(ArrayArgument { dtype, shape: Some(shape), data: stored(Source::Fill(fill)), ..ArrayArgument::default() })
}

/// A type by name, as [`element_by_name`] knows it, or a struct's.
fn dtype_by_name(name: &str, structs: &StructTable) -> Option<DType> {
    let is_struct = || structs.values().any(|def| def.name == name).then(|| DType::Struct(name.to_string()));
    element_by_name(name).map(DType::Plain).or_else(is_struct)
}

/// `f32`, `float32`, `float`, `vec3`, `vec3f`, `mat33d`, `quat` or `transform`.
pub(super) fn element_by_name(name: &str) -> Option<Element> {
    let scalar = match name {
        "float" => Some(Scalar::F32),
        "int" => Some(Scalar::I32),
        "bf16" => Some(Scalar::BF16),
        _ => Scalar::ALL.into_iter().find(|s| s.name() == name || short_name(*s) == name),
    };
    if let Some(scalar) = scalar {
        return Some(Element::Scalar(scalar));
    }
    let suffixed = |stem: &str, element: &dyn Fn(Scalar) -> Element| {
        let suffix = name.strip_prefix(stem)?;
        if suffix.is_empty() {
            return Some(element(Scalar::F32));
        }
        Scalar::ALL.into_iter().find(|s| s.suffix() == Some(suffix)).map(element)
    };
    let mut found = suffixed("quat", &Element::Quat)
        .or_else(|| suffixed("transform", &Element::Transform))
        .or_else(|| suffixed("spatial_vector", &|s| Element::Vec(6, s)))
        .or_else(|| suffixed("spatial_matrix", &|s| Element::Mat(6, 6, s)));
    for n in 2..=4 {
        found = found
            .or_else(|| suffixed(&format!("vec{n}"), &|s| Element::Vec(n, s)))
            .or_else(|| suffixed(&format!("mat{n}{n}"), &|s| Element::Mat(n, n, s)));
    }
    found
}

/// `f32`, `i8`, `u64`, `bool`.
fn short_name(scalar: Scalar) -> String {
    let name = scalar.name();
    name.replace("bfloat", "bf").replace("float", "f").replace("uint", "u").replace("int", "i")
}
