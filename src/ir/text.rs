//! The lexical rules that [`super::print`] and [`super::parse`] share: identifiers, strings,
//! constants, type names.

use std::fmt::Write as _;

use super::{Const, Function, Op};
use crate::source::Span;
use crate::types::{Scalar, StructTable, Type};

/// Letters (of any script), digits and underscores, not starting with a digit.
pub(super) fn is_identifier(name: &str) -> bool {
    if name.is_ascii() {
        let all = name.bytes().all(|c| c == b'_' || c.is_ascii_alphanumeric());
        return all && name.bytes().next().is_some_and(|c| !c.is_ascii_digit());
    }
    name.chars().next().is_some_and(|c| c == '_' || c.is_alphabetic())
        && name.chars().all(|c| c == '_' || c.is_alphanumeric())
}

/// A string in quotes, on one line.
pub(super) fn quote(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_control() => quoted.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// Writes a number: what `{}` does, without its machinery.
pub(super) fn number(out: &mut String, n: u32) {
    if n >= 10 {
        number(out, n / 10);
    }
    out.push(char::from(b'0' + (n % 10) as u8));
}

/// Writes the text of a constant; its type is elsewhere.
pub(super) fn constant(out: &mut String, c: Const) {
    let _ = match (c.scalar, c.as_int(), c.as_float()) {
        (Scalar::Bool, ..) => write!(out, "{}", c.bits != 0),
        (_, Some(value), _) => match u32::try_from(value) {
            Ok(small) => {
                number(out, small);
                Ok(())
            }
            Err(_) => write!(out, "{value}"),
        },
        (_, _, Some(value)) if value.is_nan() => write!(out, "nan({:#x})", c.bits),
        // Small whole numbers, which are frequent, have this form in every format.
        (_, _, Some(value)) if value.is_sign_positive() && value < 1e4 && value.fract() == 0.0 => {
            number(out, value as u32);
            out.push_str(".0");
            Ok(())
        }
        (Scalar::F64, _, Some(value)) => write!(out, "{value:?}"),
        // The narrow formats are exact in `f32`, whose shortest digits say the same with less.
        (_, _, Some(value)) => write!(out, "{:?}", value as f32),
        (_, None, None) => write!(out, "{}", c.bits),
    };
}

/// Reads what [`constant`] wrote (without a NaN, which takes several tokens).
pub(super) fn parse_constant(scalar: Scalar, text: &str) -> Option<Const> {
    Some(match scalar {
        Scalar::Bool => match text {
            "true" => Const::bool(true),
            "false" => Const::bool(false),
            _ => return None,
        },
        Scalar::F64 => Const::float(scalar, text.parse().ok()?),
        s if s.is_float() => Const::float(scalar, f64::from(text.parse::<f32>().ok()?)),
        s => {
            let value = text.parse().ok()?;
            Some(Const::int(s, value)).filter(|c| c.as_int() == Some(value))?
        }
    })
}

/// The places of a function's stores, in the order of the text: by their numbers the text names
/// them.
pub(super) fn stores(function: &Function) -> Vec<Span> {
    let mut places = Vec::new();
    function.walk(function.entry, &mut |_, inst| {
        if let Op::Store { .. } = inst.op {
            places.push(inst.span);
        }
    });
    places
}

/// The built-in type with a name of one word: `float32`, `vec3f`, `spatial_matrixd`.
pub(super) fn builtin_type(name: &str) -> Option<Type> {
    if let Some(scalar) = Scalar::from_name(name) {
        return Some(Type::Scalar(scalar));
    }
    if !["vec", "mat", "quat", "transform", "spatial_"].iter().any(|start| name.starts_with(start)) {
        return None;
    }
    let none = StructTable::new();
    Scalar::ALL.into_iter().filter(|s| s.suffix().is_some_and(|suffix| name.ends_with(suffix))).find_map(|s| {
        let candidates = [
            Type::Vec(2, s),
            Type::Vec(3, s),
            Type::Vec(4, s),
            Type::Vec(6, s),
            Type::Mat(2, 2, s),
            Type::Mat(3, 3, s),
            Type::Mat(4, 4, s),
            Type::Mat(6, 6, s),
            Type::Quat(s),
            Type::Transform(s),
        ];
        candidates.into_iter().find(|ty| ty.display(&none) == name)
    })
}

/// The structs under the names that types show: a name that a built-in type has gets an apostrophe.
pub(super) fn shown_structs(structs: &StructTable) -> StructTable {
    let mut shown = structs.clone();
    for def in shown.values_mut() {
        if builtin_type(&def.name).is_some()
            || ["vec", "mat", "quat", "transform", "local"].contains(&&*def.name)
            || def.name.starts_with("array")
        {
            def.name.push('\'');
        }
    }
    shown
}
