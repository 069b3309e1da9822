//! What does a launch program ask for? Several launches in order on arrays that they share: the
//! model, and its reading.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::read::Reader;
use super::{ArrayArgument, Fill, Literal, Number, Source, Stored, check_id};
use crate::diag::Code;
use crate::run::{Result, fail, shorten};

/// Steps inside steps.
const MAX_DEPTH: usize = 16;

/// Several launches in one file.
#[derive(Debug)]
pub struct LaunchProgram {
    /// Names the result files.
    pub id: String,
    /// The file of the kernels.
    pub source: PathBuf,
    pub arrays: Vec<(String, ArrayArgument)>,
    /// What is passed by value under a name.
    pub values: Vec<(String, Literal)>,
    pub steps: Vec<Step>,
    /// The gradients of the results: with these the program is differentiated. Every float of an
    /// array has the same.
    pub gradient_of: Vec<(String, f64)>,
    /// The `.npz` that [`Source::Entry`] refers to.
    pub inputs: PathBuf,
}

#[derive(Debug)]
pub enum Step {
    Launch(Call),
    Repeat(u32, Vec<Step>),
    /// Two names change places.
    Swap(String, String),
}

/// A launch of a kernel.
#[derive(Debug)]
pub struct Call {
    pub kernel: String,
    pub dim: Vec<u32>,
    pub block_dim: u32,
    /// By parameter; parameters that are not here take the array or value of their own name.
    pub args: Vec<(String, Given)>,
}

/// What a parameter is given.
#[derive(Clone, Debug)]
pub enum Given {
    /// An array or a value of the program.
    Name(String),
    Value(Literal),
    /// The fields of a struct.
    Fields(Vec<(String, Given)>),
    /// An unset array.
    Null,
}

/// The file as JSON.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileJson {
    #[serde(rename = "format")]
    _format: Value,
    id: Option<String>,
    source: String,
    #[serde(default)]
    arrays: Map<String, Value>,
    #[serde(default)]
    values: Map<String, Value>,
    steps: Vec<StepJson>,
    gradient_of: Option<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ArrayJson {
    shape: Option<Vec<serde_json::Number>>,
    fill: Option<Value>,
    file: Option<String>,
    data: Option<String>,
    #[serde(default)]
    convert: bool,
}

/// One of three kinds: with `kernel`, with `repeat` or with `swap`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StepJson {
    kernel: Option<String>,
    dim: Option<Vec<serde_json::Number>>,
    block_dim: Option<serde_json::Number>,
    args: Option<Map<String, Value>>,
    repeat: Option<serde_json::Number>,
    steps: Option<Vec<StepJson>>,
    swap: Option<Vec<String>>,
}

/// Reads a launch program from the contents of its file.
pub(super) fn parse(reader: &Reader, bytes: &[u8]) -> Result<LaunchProgram> {
    let json: FileJson = serde_json::from_slice(bytes).map_err(|error| reader.malformed(error))?;
    let arrays = json.arrays.into_iter().map(|(name, value)| {
        let array = array(reader, &name, value)?;
        Ok((name, array))
    });
    let arrays: Vec<(String, ArrayArgument)> = arrays.collect::<Result<_>>()?;
    let values = json.values.iter().map(|(name, value)| {
        if arrays.iter().any(|(array, _)| array == name) {
            return Err(reader.fail(Code::E1001, format!("`{name}` is an array and a value")));
        }
        Ok((name.clone(), reader.literal(&format!("values.{name}"), value)?))
    });
    let values = values.collect::<Result<_>>()?;
    let gradient_of = gradient_of(reader, json.gradient_of.as_ref())?;
    let is_array = |name: &str| arrays.iter().any(|(array, _)| array == name);
    if let Some((name, _)) = gradient_of.iter().find(|(name, _)| !is_array(name)) {
        return Err(reader.fail(Code::E1004, format!("gradient_of names `{name}`, which is none of the arrays")));
    }
    let steps = steps(reader, "steps", json.steps, &is_array, 0)?;
    Ok(LaunchProgram {
        id: reader.id(json.id)?,
        source: reader.source(&json.source)?,
        arrays,
        values,
        steps,
        gradient_of,
        inputs: reader.folder().join("inputs.npz"),
    })
}

fn array(reader: &Reader, name: &str, value: Value) -> Result<ArrayArgument> {
    let at = format!("arrays.{name}");
    check_id(name).map_err(|why| reader.fail(Code::E1001, format!("the name {name:?} of an array {why}")))?;
    let json: ArrayJson =
        serde_json::from_value(value).map_err(|error| reader.fail(Code::E1001, format!("{at}: {error}")))?;
    let source = match (&json.fill, &json.file, &json.data) {
        (None, None, None) => Source::Fill(Fill::Value(Literal::One(Number::Int(0)))),
        (Some(fill), None, None) => Source::Fill(reader.fill(&format!("{at}.fill"), fill)?),
        (None, Some(file), None) => reader.file(&at, file)?,
        (None, None, Some(_)) => Source::Entry,
        _ => return Err(reader.fail(Code::E1001, format!("{at}: only one of `fill`, `file` and `data` can be"))),
    };
    let shape = json.shape.map(|shape| reader.extents(&format!("{at}.shape"), &shape)).transpose()?;
    if shape.is_none() && matches!(source, Source::Fill(_)) {
        return Err(reader.fail(Code::E1001, format!("{at}: `shape` is missing")));
    }
    // The archive may call it otherwise, but results are named as the program names it.
    let source = match (source, json.data) {
        (Source::Entry, Some(entry)) => Source::File { path: reader.folder().join("inputs.npz"), entry: Some(entry) },
        (source, _) => source,
    };
    let data = Some(Stored { key: name.to_string(), source });
    Ok(ArrayArgument { shape, data, convert: json.convert, ..ArrayArgument::default() })
}

/// `{"loss": 1}`, or `["loss"]` for ones.
fn gradient_of(reader: &Reader, value: Option<&Value>) -> Result<Vec<(String, f64)>> {
    let bad = |value: &Value| {
        let value = shorten(&value.to_string());
        reader.fail(Code::E1001, format!("gradient_of is {value}, expected [\"ARRAY\"] or {{\"ARRAY\": NUMBER}}"))
    };
    match value {
        None => Ok(Vec::new()),
        Some(value @ Value::Array(names)) => {
            names.iter().map(|name| Ok((name.as_str().ok_or_else(|| bad(value))?.to_string(), 1.0))).collect()
        }
        Some(value @ Value::Object(list)) => {
            list.iter().map(|(name, number)| Ok((name.clone(), number.as_f64().ok_or_else(|| bad(value))?))).collect()
        }
        Some(value) => Err(bad(value)),
    }
}

fn steps(
    reader: &Reader,
    at: &str,
    list: Vec<StepJson>,
    is_array: &dyn Fn(&str) -> bool,
    depth: usize,
) -> Result<Vec<Step>> {
    if depth > MAX_DEPTH {
        return Err(reader.fail(Code::E1001, format!("{at}: more than {MAX_DEPTH} steps inside one another")));
    }
    let mut out = Vec::with_capacity(list.len());
    for (n, step) in list.into_iter().enumerate() {
        let at = format!("{at}[{n}]");
        let wrong = |what: &str| Err(reader.fail(Code::E1001, format!("{at}: {what}")));
        let StepJson { kernel, dim, block_dim, args, repeat, steps: inner, swap } = step;
        out.push(match (kernel, repeat, swap) {
            (Some(kernel), None, None) => {
                if inner.is_some() {
                    return wrong("a launch has no `steps`");
                }
                let Some(dim) = dim else { return wrong("`dim` is missing") };
                let args = args.unwrap_or_default();
                let args = args
                    .iter()
                    .map(|(name, value)| Ok((name.clone(), given(reader, &format!("{at}.args.{name}"), value)?)));
                Step::Launch(Call {
                    kernel,
                    dim: reader.extents(&format!("{at}.dim"), &dim)?,
                    block_dim: reader.block_dim(block_dim.as_ref())?,
                    args: args.collect::<Result<_>>()?,
                })
            }
            (None, repeat, swap) if dim.is_some() || block_dim.is_some() || args.is_some() => {
                let kind = if repeat.is_some() || swap.is_none() { "repetition" } else { "swap" };
                return wrong(&format!("`dim`, `block_dim` and `args` belong to a launch, not to a {kind}"));
            }
            (None, Some(times), None) => {
                let Some(times) = times.as_u64().and_then(|n| u32::try_from(n).ok()) else {
                    return wrong(&format!("repeat is {times}, expected a whole number below 2^32"));
                };
                let Some(inner) = inner else { return wrong("`steps` is missing: what is repeated") };
                Step::Repeat(times, steps(reader, &format!("{at}.steps"), inner, is_array, depth + 1)?)
            }
            (None, None, Some(names)) if inner.is_none() => {
                let [first, second] = names.as_slice() else { return wrong("swap takes the names of two arrays") };
                if let Some(name) = names.iter().find(|name| !is_array(name)) {
                    return Err(
                        reader.fail(Code::E1004, format!("{at}: swap names `{name}`, which is none of the arrays"))
                    );
                }
                Step::Swap(first.clone(), second.clone())
            }
            _ => return wrong("expected one of `kernel`, `repeat` (with `steps`) and `swap`"),
        });
    }
    Ok(out)
}

fn given(reader: &Reader, at: &str, value: &Value) -> Result<Given> {
    Ok(match value {
        Value::String(name) => Given::Name(name.clone()),
        Value::Null => Given::Null,
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| {
                // Structs that hold structs are as deep as their types.
                if at.len() > 4096 {
                    return Err(fail(Code::E1001, format!("{at}: too deep")));
                }
                Ok((name.clone(), given(reader, &format!("{at}.{name}"), value)?))
            };
            Given::Fields(fields.iter().map(field).collect::<Result<_>>()?)
        }
        value => Given::Value(reader.literal(at, value)?),
    })
}
