//! How is the kernel of a row called? Its launch and its arguments, as the column `entry` has them.

use serde_json::{Value, json};

use super::artefacts::Compiled;
use super::diversity::is_type;
use super::identity::Identity;
use super::launch::{self, Scale};
use super::row::{Cell, Row};
use super::sample::tree::{Given, Param, Program};
use crate::analysis::alias::Root;
use crate::analysis::effects::{EffectTable, Effects};
use crate::types::Type;

/// Fills the column `entry` of a program; its launch is the one that rows hold the arrays of.
pub fn fill(row: &mut Row, program: &Program, identity: &Identity, compiled: &Compiled) {
    let module = &compiled.program.module;
    let kernel = &module.functions[compiled.forward];
    let mut effects = EffectTable::default();
    effects.cover(module, compiled.forward);
    let effects = &effects[compiled.forward];
    let graded = compiled.backward.is_some();
    let mut uses: Vec<&str> = identity.builtins.iter().map(String::as_str).filter(|name| !is_type(name)).collect();
    uses.sort_unstable();
    uses.dedup();
    row.set("entry.name", program.kernel.name.as_str());
    row.set("entry.launch_dim", Cell::from_iter(launch::size(program, Scale::Few).threads));
    row.set("entry.rounded_up", program.guarded);
    row.set("entry.block_dim", launch::BLOCK_DIM);
    // Kernels of the language as far as it is sampled have no memory that a block shares.
    row.set("entry.shared_bytes", 0u32);
    row.set("entry.uses", Cell::from_iter(uses));
    let types: Vec<Type> = kernel.params().iter().map(|&param| kernel.ty(param)).collect();
    let args: Vec<(&Param, Type)> = program.params.iter().zip(types).collect();
    row.set("entry.args[].name", Cell::from_iter(args.iter().map(|(param, _)| param.name.as_str())));
    row.set("entry.args[].kind", Cell::from_iter(args.iter().map(|(param, _)| kind(&param.given))));
    let elements = args.iter().map(|(_, ty)| element(*ty).0.display(&module.structs).to_string());
    row.set("entry.args[].dtype", Cell::from_iter(elements));
    row.set("entry.args[].ndim", Cell::from_iter(args.iter().map(|(_, ty)| u32::from(element(*ty).1))));
    row.set("entry.args[].shape", Cell::from_iter(args.iter().map(|(param, _)| shape(&param.given))));
    row.set("entry.args[].value", Cell::from_iter(args.iter().map(|(param, _)| value(&param.given))));
    row.set("entry.args[].intent", Cell::from_iter((0..args.len()).map(|n| intent(effects, n as u32))));
    let floats = args.iter().map(|(_, ty)| graded && element(*ty).0.holds_floats(&module.structs));
    row.set("entry.args[].requires_grad", Cell::from_iter(floats));
}

fn kind(given: &Given) -> &'static str {
    match given {
        Given::Array { .. } => "array",
        Given::Count(_) => "count",
        Given::Int(_) | Given::Float(_) => "value",
        Given::Struct(_) => "struct",
    }
}

/// Of an array in terms of the launch.
fn shape(given: &Given) -> Option<String> {
    match given {
        Given::Array { shape, .. } => Some(launch::shape_text(shape)),
        _ => None,
    }
}

/// Of what is no array, as JSON; of a count in terms of the launch.
fn value(given: &Given) -> Option<String> {
    match given {
        Given::Array { .. } => None,
        Given::Count(extent) => Some(launch::extent_text(extent)),
        Given::Int(n) => Some(n.to_string()),
        Given::Float(list) => match list.as_slice() {
            [x] => Some(json!(x).to_string()),
            list => Some(json!(list).to_string()),
        },
        Given::Struct(fields) => Some(struct_value(fields).to_string()),
    }
}

/// The type of an array's elements and its dimensions; the type itself of what is no array.
fn element(ty: Type) -> (Type, u8) {
    match ty {
        Type::Array(array) => (Type::from(array.element), array.ndim),
        ty => (ty, 0),
    }
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
