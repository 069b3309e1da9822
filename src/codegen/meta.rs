//! What must a program know to call the kernels without a C compiler? A JSON description: kernels, their parameters with
//! types, offsets and sizes, structs, entry names. Types are written as in launch files.

use std::collections::BTreeMap;

use serde::Serialize;

use super::abi;
use crate::ir::{FuncId, Function, FunctionKind, Module};
use crate::types::{Layout, StructTable, Type};

/// The version of the description's format.
pub const FORMAT: u32 = 1;

/// What the description says about the compilation.
#[derive(Clone, Debug, Default)]
pub struct MetaOptions {
    /// The name of the source file, without folders.
    pub source_name: String,
    /// The GPU architectures that PTX was made for: `sm_90`.
    pub architectures: Vec<String>,
}

#[derive(Serialize)]
struct Description {
    format: u32,
    generator: String,
    source: String,
    architectures: Vec<String>,
    /// Bytes.
    launch_bounds_size: usize,
    array_descriptor_size: usize,
    kernels: Vec<Kernel>,
    structs: BTreeMap<String, Struct>,
}

#[derive(Serialize)]
struct Kernel {
    name: String,
    /// Coordinates of a thread.
    rank: u8,
    entries: Entries,
    /// The struct of host arguments, in bytes. Device entries take the launch and then each argument by value.
    args_size: u32,
    args_align: u32,
    params: Vec<Member>,
}

#[derive(Serialize)]
struct Entries {
    cuda_forward: String,
    cpu_forward: String,
}

#[derive(Serialize)]
struct Struct {
    size: u32,
    align: u32,
    fields: Vec<Member>,
}

/// A parameter or a field.
#[derive(Serialize)]
struct Member {
    name: String,
    kind: &'static str,
    dtype: DType,
    #[serde(skip_serializing_if = "Option::is_none")]
    ndim: Option<u8>,
    offset: u32,
    size: u32,
}

#[derive(Serialize)]
struct DType {
    class: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    scalar: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shape: Option<Vec<u16>>,
    /// Of a struct.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
}

/// The description of some kernels of a module, as indented JSON.
pub fn emit(module: &Module, kernels: &[FuncId], options: &MetaOptions) -> String {
    let mut structs = BTreeMap::new();
    let kernels = kernels.iter().map(|&id| kernel(&module.functions[id], &module.structs, &mut structs)).collect();
    let description = Description {
        format: FORMAT,
        generator: format!("kc {}", env!("CARGO_PKG_VERSION")),
        source: options.source_name.clone(),
        architectures: options.architectures.clone(),
        launch_bounds_size: size_of::<abi::LaunchBounds>(),
        array_descriptor_size: size_of::<abi::ArrayDescriptor>(),
        kernels,
        structs,
    };
    let mut text = serde_json::to_string_pretty(&description).expect("strings, numbers and lists are always JSON");
    text.push('\n');
    text
}

fn kernel(kernel: &Function, structs: &StructTable, used: &mut BTreeMap<String, Struct>) -> Kernel {
    let types: Vec<Type> = kernel.params().iter().map(|&p| kernel.ty(p)).collect();
    let (offsets, layout) = abi::argument_layout(&types, structs);
    let params = kernel.params().iter().zip(&offsets).enumerate().map(|(n, (&param, &offset))| {
        let name = kernel.values[param].name.clone().unwrap_or_else(|| format!("arg{n}"));
        member(name, kernel.ty(param), offset, structs, used)
    });
    Kernel {
        name: kernel.name.clone(),
        rank: if let FunctionKind::Kernel { rank } = kernel.kind { rank } else { 1 },
        entries: Entries {
            cuda_forward: abi::device_entry(&kernel.source_name, kernel.phase),
            cpu_forward: abi::host_entry(&kernel.source_name, kernel.phase),
        },
        args_size: layout.size,
        args_align: layout.align,
        params: params.collect(),
    }
}

fn member(name: String, ty: Type, offset: u32, structs: &StructTable, used: &mut BTreeMap<String, Struct>) -> Member {
    let (kind, element, ndim) = match ty {
        Type::Array(array) => ("array", array.element.into(), Some(array.ndim)),
        Type::Struct(_) => ("struct", ty, None),
        _ => ("value", ty, None),
    };
    Member { name, kind, dtype: dtype(element, structs, used), ndim, offset, size: Layout::of(ty, structs).size }
}

fn dtype(ty: Type, structs: &StructTable, used: &mut BTreeMap<String, Struct>) -> DType {
    let (class, shape) = match ty {
        Type::Scalar(_) | Type::Array(_) | Type::Local(_) => ("scalar", vec![]),
        Type::Vec(n, _) => ("vec", vec![n]),
        Type::Mat(r, c, _) => ("mat", vec![r, c]),
        Type::Quat(_) => ("quat", vec![4]),
        Type::Transform(_) => ("transform", vec![7]),
        Type::Struct(id) => {
            let name = structs[id].name.clone();
            if !used.contains_key(&name) {
                let Layout { size, align } = Layout::of(ty, structs);
                let fields: Vec<Member> = structs[id]
                    .fields
                    .iter()
                    .enumerate()
                    .map(|(n, field)| {
                        let offset = Layout::step_offset(ty, n as u32, structs);
                        member(field.name.clone(), field.ty, offset, structs, used)
                    })
                    .collect();
                used.insert(name.clone(), Struct { size, align, fields });
            }
            return DType { class: "struct", scalar: None, shape: None, name: Some(name) };
        }
    };
    DType { class, scalar: ty.scalar_part().map(|s| s.name()), shape: Some(shape), name: None }
}
