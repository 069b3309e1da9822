//! How is a launch written as a launch file?

use serde_json::{Map, Value, json};

use super::{Argument, ArgumentKind, ArrayArgument, Direction, Fill, Launch, Literal, Number, Source, Stored};
use crate::codegen::meta::dtype_json;
use crate::ir::Function;
use crate::types::{StructTable, Type};

/// The text of a launch file, an argument a line. `source` is the kernel's file as the launch file
/// is to name it. The types are those of the kernel's parameters.
pub fn to_json(launch: &Launch, source: &str, kernel: &Function, structs: &StructTable) -> String {
    let types: Vec<(String, Type)> =
        kernel.params().iter().enumerate().map(|(n, &p)| (kernel.param_name(n), kernel.ty(p))).collect();
    let arguments = launch.args.iter().filter_map(|argument| {
        let ty = types.iter().find(|(name, _)| *name == argument.name)?.1;
        Some(format!("    {}", self::argument(argument, ty, structs)))
    });
    let arguments: Vec<String> = arguments.collect();
    let direction = match launch.direction {
        Direction::Forward => "forward",
        Direction::Backward => "backward",
        Direction::Gradient => "gradient",
    };
    let head = [
        ("format", json!(super::FORMAT)),
        ("id", json!(launch.id)),
        ("source", json!(source)),
        ("kernel", json!(kernel.source_name)),
        ("direction", json!(direction)),
        ("dim", json!(launch.dim)),
        ("block_dim", json!(launch.block_dim)),
    ];
    let head: String = head.iter().map(|(name, value)| format!("  {:?}: {value},\n", name)).collect();
    let arguments = if arguments.is_empty() { String::new() } else { format!("\n{}\n  ", arguments.join(",\n")) };
    format!("{{\n{head}  \"args\": [{arguments}]\n}}\n")
}

fn argument(argument: &Argument, ty: Type, structs: &StructTable) -> Value {
    let mut entry = Map::new();
    let mut put = |name: &str, value: Value| entry.insert(name.to_string(), value);
    put("name", json!(argument.name));
    match (&argument.kind, ty) {
        (ArgumentKind::Struct { fields, .. }, Type::Struct(id)) => {
            put("kind", json!("struct"));
            put("struct", json!(structs[id].name));
            let field = |one: &Argument| {
                let ty = structs[id].fields.iter().find(|field| field.name == one.name)?.ty;
                Some(self::argument(one, ty, structs))
            };
            put("fields", fields.iter().filter_map(field).collect());
        }
        (ArgumentKind::Array(given), Type::Array(array)) => {
            put("kind", json!("array"));
            put("dtype", dtype_json(array.element.into(), structs));
            put("ndim", json!(array.ndim));
            contents(&argument.name, given, &mut put);
        }
        (ArgumentKind::Value { literal, .. }, _) => {
            put("kind", json!("value"));
            put("dtype", dtype_json(ty, structs));
            put("value", value(literal));
        }
        // Such a launch could not be bound.
        _ => {}
    }
    Value::Object(entry)
}

fn contents(name: &str, given: &ArrayArgument, put: &mut impl FnMut(&str, Value) -> Option<Value>) {
    let Some(data) = &given.data else {
        put("null", json!(true));
        return;
    };
    if let Some(shape) = &given.shape {
        put("shape", json!(shape));
    }
    if let Some(strides) = &given.strides {
        put("strides", json!(strides));
    }
    stored(data, ["data", "fill", "alias_of"], put);
    if data.key != name && matches!(data.source, Source::Fill(_) | Source::File { .. }) {
        // Without it they would be stored as the parameter, or the field of a struct, is called:
        // two structs have fields of one name.
        put("data", json!(data.key));
    }
    if let Some(grad) = &given.grad {
        stored(grad, ["grad", "grad_fill", "grad_alias_of"], put);
    }
    for (name, set) in
        [("grad_external", given.grad_external), ("retain_grad", given.retain_grad), ("convert", given.convert)]
    {
        if set {
            put(name, json!(true));
        }
    }
}

/// `names`: of the members for an entry of the archive, for contents that are made up, and for
/// another array.
fn stored(stored: &Stored, names: [&str; 3], put: &mut impl FnMut(&str, Value) -> Option<Value>) {
    match &stored.source {
        Source::Entry => put(names[0], json!(stored.key)),
        Source::Fill(fill) => put(names[1], self::fill(fill)),
        Source::Alias(target) => put(names[2], json!(target)),
        Source::File { path, entry: None } => put("file", json!(path.display().to_string())),
        Source::File { path, entry: Some(entry) } => put("file", json!(format!("{}:{entry}", path.display()))),
    };
}

fn fill(fill: &Fill) -> Value {
    match fill {
        Fill::Value(literal) => value(literal),
        Fill::Range => json!("range"),
        Fill::Random(seed) => json!(format!("random:{seed}")),
        Fill::List(list) => list.iter().map(number).collect(),
    }
}

fn value(literal: &Literal) -> Value {
    match literal {
        Literal::One(one) => number(one),
        Literal::Many(list) => list.iter().map(number).collect(),
    }
}

fn number(number: &Number) -> Value {
    match *number {
        Number::Bool(value) => json!(value),
        Number::Int(value) => i64::try_from(value).map_or_else(|_| json!(value as u64), |value| json!(value)),
        Number::Float(value) if value.is_nan() => json!("nan"),
        Number::Float(value) if value.is_infinite() => json!(if value > 0.0 { "inf" } else { "-inf" }),
        Number::Float(value) => json!(value),
    }
}
