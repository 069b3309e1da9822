//! Which spellings of a type mean the same? People write `wp.array(dtype=float)`, `wp.array[float]`
//! or `wp.array(dtype=wp.float32, ndim=1)`, and a kernel that differs from another one in no more
//! than that is the same kernel.

use crate::syntax::ast::{Expr, ExprKind};

/// The type of an array's elements and its dimensions, of an annotation.
pub fn array(annotation: &Expr) -> Option<(&Expr, u64)> {
    match &annotation.kind {
        ExprKind::Subscript { base, indices } => match indices.as_slice() {
            [element] => Some((element, rank(base)?)),
            _ => None,
        },
        ExprKind::Call { callee, args } => {
            let rank = rank(callee)?;
            let named = |name: &str| args.iter().find(|arg| arg.name.as_ref().is_some_and(|own| own.text == name));
            let first = args.first().filter(|arg| arg.name.is_none());
            let element = &named("dtype").or(first)?.value;
            match named("ndim").map(|arg| &arg.value.kind) {
                Some(ExprKind::Int(Some(ndim))) => Some((element, u64::try_from(*ndim).ok()?)),
                Some(_) => None,
                None => Some((element, rank)),
            }
        }
        _ => None,
    }
}

/// The dimensions that the name of an array type says: `wp.array2d` has 2.
fn rank(class: &Expr) -> Option<u64> {
    match own(class)? {
        "array" | "array1d" => Some(1),
        "array2d" => Some(2),
        "array3d" => Some(3),
        "array4d" => Some(4),
        _ => None,
    }
}

/// The name of a type that Python has too: `wp.float32` is `float`.
pub fn scalar(expr: &Expr) -> Option<&'static str> {
    match own(expr)? {
        "float32" => Some("float"),
        "int32" => Some("int"),
        _ => None,
    }
}

/// The name of a vector or matrix without the letter of single precision: `vec3f` is `vec3`.
pub fn short(name: &str) -> &str {
    const TYPES: [&str; 10] =
        ["vec2", "vec3", "vec4", "mat22", "mat33", "mat44", "quat", "transform", "spatial_vector", "spatial_matrix"];
    name.strip_suffix('f').filter(|plain| TYPES.contains(plain)).unwrap_or(name)
}

/// `name` of `wp.name`.
fn own(expr: &Expr) -> Option<&str> {
    match &expr.kind {
        ExprKind::Attribute { base, name } => match &base.kind {
            ExprKind::Name(module) if module == "wp" || module == "warp" => Some(&name.text),
            _ => None,
        },
        _ => None,
    }
}
