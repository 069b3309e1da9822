//! Which types hold floats, and where?

use crate::ir::{Path, Step};
use crate::types::{Scalar, StructTable, Type};

/// A float scalar inside a value.
#[derive(Clone, PartialEq, Debug)]
pub struct Leaf {
    /// From the value to the scalar; empty if the value is one.
    pub path: Path,
    pub scalar: Scalar,
}

/// Does a value of this type hold floats, by itself or in an array that it refers to?
pub fn has_tangent(ty: Type, structs: &StructTable) -> bool {
    match ty {
        Type::Struct(id) => structs[id].fields.iter().any(|field| has_tangent(field.ty, structs)),
        Type::Array(a) => has_tangent(a.element.into(), structs),
        Type::Local(a) => has_tangent(a.element.into(), structs),
        _ => ty.holds_floats(structs),
    }
}

/// The float scalars of a value in order, without those behind arrays.
pub fn leaves(ty: Type, structs: &StructTable) -> Vec<Leaf> {
    fn visit(ty: Type, path: &mut Path, structs: &StructTable, out: &mut Vec<Leaf>) {
        if let Type::Scalar(scalar) = ty {
            if scalar.is_float() {
                out.push(Leaf { path: path.clone(), scalar });
            }
            return;
        }
        if ty.scalar_part().is_some_and(|s| !s.is_float()) {
            return;
        }
        for n in 0..ty.step_count(structs) {
            if let Some(part) = ty.step(Some(n), structs) {
                path.push(Step::At(n));
                visit(part, path, structs, out);
                path.pop();
            }
        }
    }
    let mut out = Vec::new();
    visit(ty, &mut Path::new(), structs, &mut out);
    out
}
