//! How is the kernel of a row called? Its launch and its arguments, as the column `entry` has them.

use serde_json::{Value, json};

use super::artefacts::Compiled;
use super::diversity::is_type;
use super::identity::Identity;
use super::launch::{self, Scale};
use super::sample::tree::{Given, Param, Program};
use crate::ir::facts::{EffectTable, Effects, Root};
use crate::types::{StructTable, Type};

/// The column `entry` of a program; its launch is the one that rows hold the arrays of.
pub fn entry(program: &Program, identity: &Identity, compiled: &Compiled) -> Value {
    let module = &compiled.program.module;
    let kernel = &module.functions[compiled.forward];
    let mut effects = EffectTable::default();
    effects.cover(module, compiled.forward);
    let types = kernel.params().iter().map(|&param| kernel.ty(param));
    let graded = compiled.backward.is_some();
    let args: Vec<Value> = program
        .params
        .iter()
        .zip(types)
        .enumerate()
        .map(|(n, (param, ty))| {
            argument(param, ty, intent(&effects[compiled.forward], n as u32), graded, &module.structs)
        })
        .collect();
    let mut uses: Vec<&str> = identity.builtins.iter().map(String::as_str).filter(|name| !is_type(name)).collect();
    uses.sort_unstable();
    uses.dedup();
    json!({
        "name": program.kernel.name,
        "launch_dim": launch::size(program, Scale::Few).threads,
        "rounded_up": program.guarded,
        "block_dim": launch::BLOCK_DIM,
        // Kernels of the language as far as it is sampled have no memory that a block shares.
        "shared_bytes": 0,
        "uses": uses,
        "args": args,
    })
}

fn argument(param: &Param, ty: Type, intent: &str, graded: bool, structs: &StructTable) -> Value {
    let (kind, shape, value) = match &param.given {
        Given::Array { shape, .. } => ("array", Some(launch::shape_text(shape)), None),
        Given::Count(extent) => ("count", None, Some(launch::extent_text(extent))),
        Given::Int(n) => ("value", None, Some(n.to_string())),
        Given::Float(list) => match list.as_slice() {
            [x] => ("value", None, Some(json!(x).to_string())),
            list => ("value", None, Some(json!(list).to_string())),
        },
        Given::Struct(fields) => ("struct", None, Some(struct_value(fields).to_string())),
    };
    let (element, ndim) = match ty {
        Type::Array(array) => (Type::from(array.element), array.ndim),
        ty => (ty, 0),
    };
    json!({
        "name": param.name,
        "kind": kind,
        "dtype": element.display(structs),
        "ndim": ndim,
        "shape": shape,
        "value": value,
        "intent": intent,
        "requires_grad": graded && element.holds_floats(structs),
    })
}

/// A struct's fields by name.
fn struct_value(fields: &[(String, Given)]) -> Value {
    let value = |given: &Given| match given {
        Given::Float(list) if list.len() == 1 => json!(list[0]),
        Given::Float(list) => json!(list),
        Given::Int(n) => json!(n),
        Given::Count(extent) => json!(launch::extent_text(extent)),
        Given::Struct(fields) => struct_value(fields),
        Given::Array { shape, .. } => json!(launch::shape_text(shape)),
    };
    Value::Object(fields.iter().map(|(name, given)| (name.clone(), value(given))).collect())
}

/// What the kernel does with its argument number `n`.
fn intent(effects: &Effects, n: u32) -> &'static str {
    let is_own = |root: &Root| matches!(root, Root::Param(m, _) if *m == n);
    let reads = effects.loads.iter().chain(&effects.atomics).any(is_own);
    let writes = effects.writes().any(is_own);
    match (reads, writes) {
        (true, true) => "inout",
        (false, true) => "out",
        // Values, and arrays of which only the extents are asked for.
        _ => "in",
    }
}
