//! What every kind of launch does, good and bad, without running a kernel: reading, binding,
//! gathering back.

mod bad_files;
mod bad_launches;
mod binding;
mod flag_forms;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::args::Arguments;
use super::{Result, launch};
use crate::ids::IdVec;
use crate::ir::build::Builder;
use crate::ir::{Function, FunctionKind, Op};
use crate::run::files::npy;
use crate::run::files::npz::NpzWriter;
use crate::source::{FileId, Span};
use crate::types::*;

/// A kernel `k` that does nothing, with these parameters.
pub fn kernel(params: &[(&str, Type)]) -> Function {
    let params: Vec<(String, Type)> = params.iter().map(|(n, t)| (n.to_string(), *t)).collect();
    let mut b = Builder::new("k", FunctionKind::Kernel { rank: 1 }, &params, Span::new(FileId(0), 0, 0));
    b.effect(Op::Return(Default::default()));
    b.finish()
}

pub fn array(element: Element, ndim: u8) -> Type {
    Type::Array(ArrayType { element, ndim })
}

/// The structs and parameters that the tests share: an array of floats `x`, one of vectors `m` in
/// two dimensions, a struct `s` with a number and an array in it, an array of structs `parts`, and
/// values.
pub fn fixture() -> (Function, StructTable) {
    let mut structs: StructTable = IdVec::new();
    let field = |name: &str, ty| Field { name: name.to_string(), ty };
    let params = structs.push(StructDef {
        name: "Params".into(),
        fields: vec![field("dt", F32), field("table", array(Element::Scalar(Scalar::I32), 1))],
    });
    // 8-byte alignment leaves a hole of 4 bytes after `pos`.
    let part = structs.push(StructDef {
        name: "Part".into(),
        fields: vec![field("pos", Type::Vec(3, Scalar::F32)), field("id", Type::Scalar(Scalar::I64))],
    });
    let kernel = kernel(&[
        ("x", array(Element::Scalar(Scalar::F32), 1)),
        ("m", array(Element::Vec(2, Scalar::F64), 2)),
        ("s", Type::Struct(params)),
        ("parts", array(Element::Struct(part), 1)),
        ("v", Type::Vec(3, Scalar::F32)),
        ("n", I32),
        ("flag", BOOL),
    ]);
    (kernel, structs)
}

/// The entry of a plain array in a launch file.
pub fn array_entry(name: &str, class: &str, scalar: &str, components: &[u32], shape: &[u32]) -> Value {
    json!({"name": name, "kind": "array", "dtype": {"class": class, "scalar": scalar, "shape": components},
           "ndim": shape.len(), "shape": shape, "data": name})
}

/// A launch that fits [`fixture`].
pub fn good_launch() -> Value {
    json!({
        "format": 1, "id": "case", "source": "kernel.py", "kernel": "k", "direction": "forward", "dim": [4],
        "block_dim": 1,
        "args": [
            array_entry("x", "scalar", "float32", &[], &[4]),
            array_entry("m", "vec", "float64", &[2], &[2, 3]),
            {"name": "s", "kind": "struct", "struct": "Params", "fields": [
                {"name": "dt", "kind": "value", "dtype": {"class": "scalar", "scalar": "float32", "shape": []}, "value": 0.5},
                {"name": "table", "kind": "array", "dtype": {"class": "scalar", "scalar": "int32", "shape": []},
                 "ndim": 1, "shape": [3], "data": "s.table"},
            ]},
            {"name": "parts", "kind": "array", "dtype": {"class": "struct", "name": "Part"}, "ndim": 1, "shape": [2],
             "data": "parts"},
            {"name": "v", "kind": "value", "dtype": {"class": "vec", "scalar": "float32", "shape": [3]},
             "value": [1, "nan", "-inf"]},
            {"name": "n", "kind": "value", "dtype": {"class": "scalar", "scalar": "int32", "shape": []}, "value": -7},
            {"name": "flag", "kind": "value", "dtype": {"class": "scalar", "scalar": "bool", "shape": []}, "value": true},
        ],
        "structs": {
            "Params": {"size": 64, "align": 8, "fields": [{"name": "dt", "offset": 0}, {"name": "table", "offset": 8}]},
            "Part": {"size": 24, "align": 8, "fields": [{"name": "pos", "offset": 0}, {"name": "id", "offset": 16}]},
        },
        "outputs": ["x"],
    })
}

/// One stored array: name, NumPy type, shape, bytes.
pub type Stored = (&'static str, &'static str, Vec<u64>, Vec<u8>);

fn bytes<T: Copy, const N: usize>(values: &[T], to: impl Fn(T) -> [u8; N]) -> Vec<u8> {
    values.iter().flat_map(|&v| to(v)).collect()
}

/// The arrays of [`good_launch`].
pub fn good_arrays() -> Vec<Stored> {
    vec![
        ("x", "<f4", vec![4], bytes(&[1.0, 2.0, 3.0, 4.0], f32::to_le_bytes)),
        ("m", "<f8", vec![2, 3, 2], bytes(&(0..12).map(f64::from).collect::<Vec<_>>(), f64::to_le_bytes)),
        ("s.table", "<i4", vec![3], bytes(&[10, 20, 30], i32::to_le_bytes)),
        ("parts.pos", "<f4", vec![2, 3], bytes(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], f32::to_le_bytes)),
        ("parts.id", "<i8", vec![2], bytes(&[-1, 99], i64::to_le_bytes)),
    ]
}

pub fn npz_bytes(arrays: &[Stored]) -> Vec<u8> {
    let mut npz = NpzWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, descr, shape, bytes) in arrays {
        npz.add(name, descr, shape, bytes).unwrap();
    }
    npz.finish().unwrap().into_inner()
}

/// A folder with a launch file and its arrays.
pub struct Case {
    folder: TempDir,
}

impl Case {
    pub fn new(launch: &Value, arrays: &[Stored]) -> Case {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("case.json"), launch.to_string()).unwrap();
        std::fs::write(folder.path().join("inputs.npz"), npz_bytes(arrays)).unwrap();
        Case { folder }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Reads and binds the launch for the fixture.
    pub fn bind(&self) -> Result<Arguments> {
        let (kernel, structs) = fixture();
        bind(&self.path("case.json"), &kernel, &structs)
    }
}

pub fn bind(path: &Path, kernel: &Function, structs: &StructTable) -> Result<Arguments> {
    let launch = launch::read(path)?;
    Arguments::bind(&launch, "case.json", kernel, structs)
}

/// The contents of a leaf after binding.
pub fn contents(arguments: &Arguments, structs: &StructTable, key: &str, suffix: &str) -> Vec<u8> {
    let array = arguments.arrays.iter().find(|a| a.key == key).unwrap();
    let leaves = crate::run::args::elements::leaves(array.ty.element.into(), structs).unwrap();
    arguments.gather(array, leaves.iter().find(|l| l.suffix == suffix).unwrap())
}

/// The bytes of the argument struct.
pub fn block(arguments: &Arguments, at: usize, len: usize) -> Vec<u8> {
    // SAFETY: tests ask for bytes inside the struct, which lives as long as `arguments`.
    unsafe { std::slice::from_raw_parts(arguments.block().cast::<u8>().add(at), len) }.to_vec()
}

/// A `.npy` file in memory.
pub fn npy_bytes(descr: &str, shape: &[u64], bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    npy::write(&mut out, descr, shape, bytes).unwrap();
    out
}
