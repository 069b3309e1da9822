//! What is left of a launch on disk? `ID.npz` with every array, `ID.json` with the status,
//! `NAME.npy` on demand.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use super::npy;
use super::npz::{NpzWriter, write_whole};
use crate::diag::Code;
use crate::run::args::elements::leaves;
use crate::run::args::parameters::FloatParameter;
use crate::run::args::{Arguments, Named};
use crate::run::{Fail, Result, fail};
use crate::types::{Scalar, StructTable};

/// One stored array: its name, its type and shape as NumPy sees them, its bytes.
struct StoredArray {
    name: String,
    descr: &'static str,
    shape: Vec<u64>,
    bytes: Vec<u8>,
}

/// Calls `f` for every array of the launch, one entry per leaf field, gradients after their array,
/// and then for the gradient of every parameter. Arrays that share memory under one name come once.
fn entries(
    arguments: &Arguments,
    structs: &StructTable,
    mut f: impl FnMut(StoredArray) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let mut seen = std::collections::HashSet::new();
    for array in &arguments.arrays {
        for leaf in leaves(array.ty.element.into(), structs).unwrap_or_default() {
            let shape: Vec<u64> = array.shape.iter().map(|&n| n.into()).chain(leaf.shape.iter().copied()).collect();
            let mut put = |key: &str, bytes: Option<Vec<u8>>| {
                let name = format!("{key}{}", leaf.suffix);
                match bytes {
                    Some(bytes) if seen.insert(name.clone()) => {
                        f(StoredArray { name, descr: npy::descr(leaf.scalar), shape: shape.clone(), bytes })
                    }
                    _ => Ok(()),
                }
            };
            put(&array.key, Some(arguments.gather(array, &leaf)))?;
            if let Some(grad) = &array.grad {
                put(&grad.key, arguments.gather_grad(array, &leaf))?;
            }
        }
    }
    for parameter in &arguments.parameters {
        let name = format!("{}.grad", parameter.key);
        if let Some(gradient) = &parameter.gradient
            && seen.insert(name.clone())
        {
            let bytes = gradient.iter().flat_map(|x| x.to_le_bytes()).collect();
            f(StoredArray { name, descr: npy::descr(Scalar::F64), shape: parameter.shape(), bytes })?;
        }
    }
    Ok(())
}

/// Makes the folder of the results.
pub fn make_folder(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder)
        .map_err(|e| fail(Code::E0904, format!("cannot make the folder {}: {e}", folder.display())))
}

/// Makes a folder, or takes one that is empty; gives its absolute path.
pub fn new_folder(folder: &Path) -> Result<PathBuf> {
    make_folder(folder)?;
    let refused = |what: String| fail(Code::E0904, format!("cannot use the folder {}: {what}", folder.display()));
    let mut entries = std::fs::read_dir(folder).map_err(|error| refused(error.to_string()))?;
    if entries.next().is_some() {
        return Err(refused("it is not empty".to_string()));
    }
    std::path::absolute(folder).map_err(|error| refused(error.to_string()))
}

/// Writes the folder `whole` or nothing: its files go to `partial`, which then gets the name.
pub fn whole_folder(partial: &Path, whole: &Path, write: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let rename = || {
        std::fs::rename(partial, whole)
            .map_err(|error| fail(Code::E0904, format!("cannot write {}: {error}", whole.display())))
    };
    make_folder(partial).and_then(|()| write(partial)).and_then(|()| rename()).inspect_err(|_| {
        // What is left of it goes, as far as that works.
        let _ = std::fs::remove_dir_all(partial);
    })
}

/// Writes `ID.npz`.
pub fn write_npz(folder: &Path, id: &str, arguments: &Arguments, structs: &StructTable) -> Result<()> {
    write_whole(&folder.join(format!("{id}.npz")), |file| {
        let mut npz = NpzWriter::new(BufWriter::new(file));
        entries(arguments, structs, |e| npz.add(&e.name, e.descr, &e.shape, &e.bytes))?;
        npz.finish()?.flush()
    })
}

/// Writes one `NAME.npy` per array.
pub fn write_npy(folder: &Path, arguments: &Arguments, structs: &StructTable) -> Result<()> {
    let mut failed: Option<Fail> = None;
    let written = entries(arguments, structs, |e| {
        if failed.is_none() {
            let path = folder.join(format!("{}.npy", e.name));
            let result = write_whole(&path, |file| {
                let mut output = BufWriter::new(file);
                npy::write(&mut output, e.descr, &e.shape, &e.bytes)?;
                output.flush()
            });
            failed = result.err();
        }
        Ok(())
    });
    match (failed, written) {
        (Some(failed), _) => Err(failed),
        (None, Err(e)) => Err(fail(Code::E0904, e.to_string())),
        (None, Ok(())) => Ok(()),
    }
}

/// Writes an array or a gradient, by its name, as a `.npy` file.
pub fn array(arguments: &Arguments, name: &str, named: Named, structs: &StructTable, path: &Path) -> Result<()> {
    let leaves = leaves(named.array.ty.element.into(), structs);
    let Some([leaf]) = leaves.as_deref().filter(|leaves| leaves.iter().all(|leaf| leaf.suffix.is_empty())) else {
        let message =
            format!("--npy {name}: an array of structs is no single NumPy array; `--out-dir` writes its fields");
        return Err(fail(Code::E1012, message));
    };
    let shape: Vec<u64> = named.array.shape.iter().map(|&n| n.into()).chain(leaf.shape.iter().copied()).collect();
    write_whole(path, |file| {
        let mut output = BufWriter::new(file);
        npy::write(&mut output, npy::descr(leaf.scalar), &shape, &arguments.contents(named, leaf))?;
        output.flush()
    })
}

/// A warning of the compiler about the kernel.
#[derive(serde::Serialize)]
pub struct Finding<'a> {
    pub code: &'a str,
    pub message: &'a str,
    pub line: Option<u32>,
    pub column: Option<u32>,
}

/// What `ID.json` says.
#[derive(serde::Serialize)]
pub struct Status<'a> {
    pub id: &'a str,
    /// `ok` or `error`.
    pub status: &'a str,
    pub code: Option<&'a str>,
    pub message: Option<&'a str>,
    /// What the compiler says that the run takes for granted.
    pub findings: Vec<Finding<'a>>,
    /// Those that the source allows.
    #[serde(skip_serializing_if = "is_none")]
    pub findings_allowed: usize,
    /// The threads whose accesses were compared; null where there was no need, or the run was not
    /// checked.
    pub threads_looked_at: Option<u64>,
    /// Of so many.
    pub threads_to_look_at: Option<u64>,
    /// What the kernel printed.
    pub printed: &'a str,
    /// Of the launch alone: reading, compiling and writing are not counted.
    pub seconds: f64,
    /// Of what was given by value, in a gradient run: by name, `s` or `p.k`.
    #[serde(skip_serializing_if = "serde_json::Map::is_empty")]
    pub parameter_gradients: serde_json::Map<String, serde_json::Value>,
}

fn is_none(count: &usize) -> bool {
    *count == 0
}

/// The gradients of the parameters of a launch as JSON: numbers, lists, and lists of the rows of a
/// matrix.
pub fn parameter_gradients(arguments: &Arguments) -> serde_json::Map<String, serde_json::Value> {
    let of = |parameter: &FloatParameter| {
        let numbers: Vec<serde_json::Value> = parameter.gradient.as_ref()?.iter().map(|&x| number(x)).collect();
        let value = match parameter.shape().as_slice() {
            [] => numbers.into_iter().next()?,
            [_, columns] => numbers.chunks(*columns as usize).map(<[_]>::to_vec).collect(),
            _ => numbers.into(),
        };
        Some((parameter.key.clone(), value))
    };
    arguments.parameters.iter().filter_map(of).collect()
}

/// A number as launch files write it.
fn number(x: f64) -> serde_json::Value {
    match x {
        _ if x.is_nan() => "nan".into(),
        _ if x.is_infinite() => if x > 0.0 { "inf" } else { "-inf" }.into(),
        _ => x.into(),
    }
}

/// Writes `ID.json`.
pub fn write_status(folder: &Path, status: &Status) -> Result<()> {
    write_whole(&folder.join(format!("{}.json", status.id)), |file| {
        let mut text = serde_json::to_vec_pretty(status)?;
        text.push(b'\n');
        file.write_all(&text)
    })
}
