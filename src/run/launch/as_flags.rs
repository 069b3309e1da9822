//! How would flags of `kc run` say the arguments of a launch that is made up?

use super::{Argument, ArgumentKind, Fill, Literal, Source};
use crate::types::{StructTable, Type};

/// `NAME` and `VALUE` of each `--arg` for an argument; `owner` is before its name: `s.` for a field
/// of `s`.
pub fn written(owner: &str, argument: &Argument) -> Vec<(String, String)> {
    let name = format!("{owner}{}", argument.name);
    match &argument.kind {
        ArgumentKind::Value { literal, .. } => vec![(name, numbers(literal))],
        ArgumentKind::Array(array) => {
            let shape = array.shape.as_deref().unwrap_or_default();
            let shape = shape.iter().map(u32::to_string).collect::<Vec<_>>().join("x");
            let fill = match array.data.as_ref().map(|stored| &stored.source) {
                Some(Source::Fill(Fill::Value(literal))) => format!("full:{}:{shape}", numbers(literal)),
                Some(Source::Fill(Fill::Range)) => format!("range:{shape}"),
                Some(Source::Fill(Fill::Random(seed))) => format!("random:{seed}:{shape}"),
                _ => "null".to_string(),
            };
            vec![(name, fill)]
        }
        ArgumentKind::Struct { fields, .. } => {
            let owner = format!("{name}.");
            fields.iter().flat_map(|field| written(&owner, field)).collect()
        }
        // Of files, which nobody makes up.
        ArgumentKind::Engine { .. } => Vec::new(),
    }
}

fn numbers(literal: &Literal) -> String {
    match literal {
        Literal::One(number) => number.to_string(),
        Literal::Many(list) => list.iter().map(ToString::to_string).collect::<Vec<_>>().join(","),
    }
}

/// The parts of a parameter that flags name one by one, each with its type.
pub fn leaves(name: &str, ty: Type, structs: &StructTable) -> Vec<(String, String)> {
    match ty {
        Type::Struct(id) => {
            let fields = structs[id].fields.iter();
            fields.flat_map(|field| leaves(&format!("{name}.{}", field.name), field.ty, structs)).collect()
        }
        _ => vec![(name.to_string(), ty.display(structs))],
    }
}
