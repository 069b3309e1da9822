//! Which types and spellings does a program use? Double precision, flags as booleans, tuples of
//! indices as vectors, constants through `wp.static`, helpers for any type: the same algorithm in
//! the words of people with other needs.

use std::ops::Range;

use super::code;
use super::code::writes;
use super::library::{Kind, Role};
use super::program::Draft;
use crate::dataset::random::Random;

/// Types of single precision, and those of double precision.
const WIDE: [(&str, &str); 9] = [
    ("float", "float64"),
    ("vec2", "vec2d"),
    ("vec3", "vec3d"),
    ("vec4", "vec4d"),
    ("mat22", "mat22d"),
    ("mat33", "mat33d"),
    ("mat44", "mat44d"),
    ("quat", "quatd"),
    ("transform", "transformd"),
];

/// Words of functions that give or take single precision alone.
const SINGLE: [&str; 11] = [
    "wp.rand",
    "noise(",
    "wp.sample_",
    "wp.tile_",
    "spatial",
    "dtype=",
    "wp.mesh_",
    "wp.bvh_",
    "wp.hash_grid_",
    "wp.volume_",
    "wp.texture_",
];

/// The type of single precision that a type represents in double precision; itself for others.
pub fn narrow(ty: &str) -> &str {
    WIDE.iter().find(|(_, wide)| *wide == ty).map_or(ty, |(plain, _)| plain)
}

/// Makes a draft's types and words those of one person.
pub fn speak(draft: &mut Draft, random: &mut Random) {
    flags(draft, random);
    tuples(draft, random);
    // What is of any type already needs no other one.
    if random.chance(4) {
        generalise(draft);
    }
    if random.chance(14) {
        widen(draft);
    }
}

/// The lines of kernels and helpers.
fn device_lines(draft: &Draft) -> impl Iterator<Item = &String> {
    let device = draft.functions.iter().filter(|function| function.kind != Kind::Reference);
    device.flat_map(|function| &function.body)
}

/// Integers that are 0 or 1 may be booleans, or bytes.
fn flags(draft: &mut Draft, random: &mut Random) {
    let is_flag = |role: &&Role| role.ty == "int" && role.is_array() && role.content == "uniform(0, 2)";
    let names: Vec<String> = draft.roles.iter().filter(is_flag).map(|role| role.name.clone()).collect();
    for name in names {
        let wanted = ["int", "bool", "uint8"][random.weighted(&[50, 38, 12])];
        let bodies: Option<Vec<Vec<String>>> = draft
            .functions
            .iter()
            .map(|function| {
                let ty = if function.kind == Kind::Reference && wanted == "uint8" { "int" } else { wanted };
                function.body.iter().map(|line| flagged(line, &name, ty)).collect()
            })
            .collect();
        let is_bound = draft.runs.iter().flat_map(|run| &run.bound).any(|(a, b)| *a == name || *b == name);
        let Some(bodies) = bodies.filter(|_| wanted != "int" && !is_bound) else { continue };
        for (function, body) in draft.functions.iter_mut().zip(bodies) {
            function.body = body;
        }
        let role = draft.roles.iter_mut().find(|role| role.name == name);
        if let Some(role) = role {
            role.ty = wanted.to_string();
            if wanted == "bool" {
                role.about = in_booleans(&role.about);
            }
        }
    }
}

/// What is said of a flag, in the words of booleans: `true in walls` for `1 in walls`.
fn in_booleans(about: &str) -> String {
    code::replace(&code::replace(about, "1", "true"), "0", "false")
}

/// The line with the tests `flag[i] == 1` and the like in the words of a type. None: the flag is
/// used in another way.
fn flagged(line: &str, name: &str, ty: &str) -> Option<String> {
    let mut out = line.to_string();
    for place in code::places(line, name).into_iter().rev() {
        let mut end = place.end;
        while out[end..].starts_with('[') {
            end = code::closing(&out, end)? + 1;
        }
        let rest = &out[end..];
        let (mark, holds) = [(" == 1", true), (" != 0", true), (" > 0", true), (" == 0", false), (" != 1", false)]
            .into_iter()
            .find(|(mark, _)| rest.starts_with(mark))?;
        let behind = &rest[mark.len()..];
        if end == place.end || behind.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '.') {
            return None;
        }
        match ty {
            "bool" => {
                out.replace_range(end..end + mark.len(), "");
                if !holds {
                    out.insert_str(place.start, "not ");
                }
            }
            "uint8" => {
                let number = end + mark.len() - 1..end + mark.len();
                let text = format!("wp.uint8({})", &out[number.clone()]);
                out.replace_range(number, &text);
            }
            _ => {}
        }
    }
    Some(out)
}

/// A list of index pairs may be one of vectors: `edges[e, 0]` is `edges[e][0]`.
fn tuples(draft: &mut Draft, random: &mut Random) {
    let is_list = |role: &&Role| {
        let few = role.dims.as_ref().is_some_and(|dims| dims.len() == 2 && ["2", "3", "4"].contains(&dims[1].as_str()));
        role.ty == "int" && few && ["index", "ring", "uniform"].contains(&role.content().0)
    };
    let names: Vec<String> = draft.roles.iter().filter(is_list).map(|role| role.name.clone()).collect();
    for name in names {
        let is_written = draft.functions.iter().flat_map(|function| &function.body).any(|line| writes(line, &name));
        let is_bound = draft.runs.iter().flat_map(|run| &run.bound).any(|(a, b)| *a == name || *b == name);
        if is_written || is_bound || !random.chance(45) {
            continue;
        }
        let of = |line: &String| component(line, &name);
        let bodies: Option<Vec<Vec<String>>> =
            draft.functions.iter().map(|function| function.body.iter().map(of).collect()).collect();
        let Some(bodies) = bodies else { continue };
        for (function, body) in draft.functions.iter_mut().zip(bodies) {
            function.body = body;
        }
        for role in draft.roles.iter_mut().filter(|role| role.name == name) {
            let few = role.dims.as_mut().and_then(Vec::pop).unwrap_or_default();
            role.ty = format!("vec{few}i");
        }
    }
}

/// The line with `a[i][k]` for `a[i, k]`. None: the array is used in another way.
fn component(line: &str, name: &str) -> Option<String> {
    let mut out = line.to_string();
    for place in code::places(line, name).into_iter().rev() {
        if !out[place.end..].starts_with('[') {
            return None;
        }
        let close = code::closing(&out, place.end)?;
        let list: Vec<&str> = code::arguments(&out[place.end + 1..close]);
        let [row, part] = list.as_slice() else { return None };
        let text = format!("[{row}][{part}]");
        out.replace_range(place.end..=close, &text);
    }
    Some(out)
}

/// Double precision, with every number of its type.
fn widen(draft: &mut Draft) {
    let is_single = |line: &String| SINGLE.iter().any(|word| line.contains(word));
    let has_others = draft.roles.iter().any(|role| role.ty.starts_with("spatial"));
    if device_lines(draft).any(is_single) || has_others {
        return;
    }
    for role in &mut draft.roles {
        if let Some((_, wide)) = WIDE.iter().find(|(plain, _)| *plain == role.ty) {
            role.ty = wide.to_string();
        }
    }
    for function in draft.functions.iter_mut().filter(|function| function.kind != Kind::Reference) {
        if !function.head.contains(": Any") {
            function.body.iter_mut().for_each(|line| *line = widened(line));
        }
        function.head = widened_types(&function.head);
        for mark in [": ", "dtype=", "[", "-> "] {
            function.head = function.head.replace(&format!("{mark}float"), &format!("{mark}wp.float64"));
        }
    }
}

/// The types of vectors in double precision.
fn widened_types(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("wp.") {
        let name = after.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or("");
        let wide = WIDE.iter().find(|(plain, _)| *plain == name).map_or(name, |(_, wide)| wide);
        out += &format!("{before}wp.{wide}");
        rest = &after[name.len()..];
    }
    out + rest
}

/// A statement in double precision.
fn widened(line: &str) -> String {
    let end = code::code_end(line);
    let (code, comment) = line.split_at(end);
    let mut out = widened_types(code);
    for place in numbers(&out).into_iter().rev() {
        let before = out[..place.start].trim_end_matches('-');
        let is_cast = before.ends_with("float(") && out[place.end..].starts_with(')');
        if !is_cast {
            out.insert(place.end, ')');
            out.insert_str(place.start, "wp.float64(");
        }
    }
    for place in code::places(&out, "float").into_iter().rev() {
        if out[place.end..].starts_with('(') {
            out.replace_range(place, "wp.float64");
        }
    }
    out.replace("wp.pi", "wp.float64(wp.pi)") + comment
}

/// The places of floating-point numbers in a line's code.
pub fn numbers(line: &str) -> Vec<Range<usize>> {
    let bytes = &line.as_bytes()[..code::code_end(line)];
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.';
    let mut out = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if !is_word(bytes[at]) {
            at += 1;
            continue;
        }
        let start = at;
        let is_number = bytes[at].is_ascii_digit();
        let is_sign = |at: usize| is_number && matches!(bytes[at], b'-' | b'+') && bytes[at - 1] == b'e';
        while at < bytes.len() && (is_word(bytes[at]) || is_sign(at)) {
            at += 1;
        }
        if is_number && line[start..at].contains(['.', 'e']) {
            out.push(start..at);
        }
    }
    out
}

/// Helpers that take any type of number: what they give follows from what they get.
fn generalise(draft: &mut Draft) {
    for function in draft.functions.iter_mut().filter(|function| function.kind == Kind::Helper) {
        let Some((params, result)) = function.head.split_once(')').filter(|(params, _)| !params.contains('(')) else {
            continue;
        };
        let is_float = |param: &&str| param.ends_with(": float");
        let list = code::arguments(params);
        let Some(first) = list.iter().find(|param| is_float(param)).and_then(|param| param.split(':').next()) else {
            continue;
        };
        // Literals get the type of an argument; vectors and loops have types of their own.
        let is_plain = |line: &String| !["wp.vec", "wp.pi", "float(", "int("].iter().any(|word| line.contains(word));
        let is_scalar = |param: &&str| is_float(param) || param.ends_with(": int");
        if !list.iter().all(is_scalar) || !function.body.iter().all(is_plain) {
            continue;
        }
        let typed = |line: &String| {
            let mut out = line.clone();
            for place in numbers(&out).into_iter().rev() {
                let text = format!("type({first})({})", &out[place.clone()]);
                out.replace_range(place, &text);
            }
            out
        };
        let body = function.body.iter().map(typed).collect();
        let params = list.iter().map(|param| match is_float(param) {
            true => format!("{}: Any", param.split(':').next().unwrap_or(param)),
            false => param.to_string(),
        });
        let colon = if result.contains("->") { ":" } else { result };
        function.head = format!("{}){colon}", params.collect::<Vec<_>>().join(", "));
        function.body = body;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_get_the_type_of_double_precision() {
        assert_eq!(widened("x = 1.0e-6 * float(0.0) - v2.x"), "x = wp.float64(1.0e-6) * wp.float64(0.0) - v2.x");
        assert_eq!(widened("p = wp.vec3(0.0, a[1], 2)  # 0.5"), "p = wp.vec3d(wp.float64(0.0), a[1], 2)  # 0.5");
        assert_eq!(widened("n = float(k) + 3"), "n = wp.float64(k) + 3");
        assert_eq!(widened("top = float(-1.0e10)"), "top = wp.float64(-1.0e10)");
    }

    #[test]
    fn flags_are_asked_in_the_words_of_their_type() {
        let of = |line: &str, ty: &str| flagged(line, "m", ty);
        assert_eq!(of("if m[i] == 0 or m[j, k] != 0:", "bool").as_deref(), Some("if not m[i] or m[j, k]:"));
        assert_eq!(of("if m[i] == 1:", "uint8").as_deref(), Some("if m[i] == wp.uint8(1):"));
        assert_eq!(of("n += m[i]", "bool"), None);
    }

    #[test]
    fn pairs_are_vectors() {
        assert_eq!(component("a = e[k, 0] + e[k, d]", "e").as_deref(), Some("a = e[k][0] + e[k][d]"));
        assert_eq!(component("f(e, k)", "e"), None);
    }
}
