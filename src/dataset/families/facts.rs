//! What does the code do? What docstrings, labels, comments and tasks say of a kernel is read from
//! its lines here, never drawn.

use super::code;
use super::code::writes;
use super::library::{Kind, Role};
use super::program::{Built, Draft};
use super::words;

/// What a kernel does with one of its arrays.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Usage {
    /// Its elements are read, or it is a number.
    Input,
    /// What it held matters, and changes.
    InPlace,
    /// What it held makes no difference, or is the zero that sums start with.
    Output,
}

/// What a function does with a parameter.
pub fn usage(draft: &Draft, function: &Built, name: &str) -> Usage {
    let lines = || function.body.iter().filter(|line| code::mentions(line, name));
    if !lines().any(|line| writes(line, name)) {
        return Usage::Input;
    }
    let is_sum = |line: &String| {
        let text = line.trim_start();
        let sums = ["wp.atomic_add", "wp.atomic_sub"].iter().any(|call| text.starts_with(&format!("{call}({name},")));
        sums || text.starts_with(&format!("wp.tile_atomic_add({name},"))
    };
    let is_zero = draft.role(name).is_some_and(|role| role.content == "zeros");
    let others = draft.functions.iter().filter(|other| other.kind == Kind::Kernel && other.name != function.name);
    let is_own = !others.flat_map(|other| &other.body).any(|line| writes(line, name));
    if lines().all(is_sum) && is_zero && is_own {
        return Usage::Output;
    }
    match lines().any(|line| reads(line, name)) && !is_set_first(function, name) {
        true => Usage::InPlace,
        false => Usage::Output,
    }
}

/// Whether a thread writes its element before it reads it, and no other one.
fn is_set_first(function: &Built, name: &str) -> bool {
    let mut lines = function.body.iter().filter(|line| code::mentions(line, name));
    let Some(first) = lines.next().filter(|line| code::indent(line) == 4 && !reads(line, name)) else { return false };
    let element = |line: &str, end: usize| {
        let close = line[end..].starts_with('[').then(|| code::closing(line, end)).flatten()?;
        Some(line[end..=close].to_string())
    };
    let place = code::places(first, name).into_iter().next();
    let Some(own) = place.filter(|place| place.start == 4).and_then(|place| element(first, place.end)) else {
        return false;
    };
    lines.all(|line| code::places(line, name).iter().all(|place| element(line, place.end).as_ref() == Some(&own)))
}

/// Whether elements of an array are used in a line.
fn reads(line: &str, array: &str) -> bool {
    let is_atomic = ["wp.atomic_", "wp.tile_atomic_"].iter().any(|word| line.contains(word));
    let updates = [" += ", " -= ", " *= ", " /= "].iter().any(|op| line.contains(op));
    let places = code::places(line, array);
    // Extents are not elements.
    let asked = places.iter().filter(|place| line[place.end..].starts_with(".shape")).count();
    let used = places.len() - asked;
    if writes(line, array) { used > 1 || updates || is_atomic } else { used > 0 }
}

/// What a number of a program is the extent of, as the function that has it can tell: `number of
/// rows of `u``. None: nothing that is sure.
pub fn size(draft: &Draft, function: Option<&Built>, size: &str) -> Option<String> {
    if let Some(things) = size.strip_prefix("num_").or(size.strip_prefix("n_")).and_then(plural) {
        return Some(format!("number of {things}"));
    }
    if let Some(things) = size.strip_suffix("_count").and_then(|thing| plural(&several(thing))) {
        return Some(format!("number of {things}"));
    }
    let known = |role: &&Role| {
        let has = |name: &String| function.is_none_or(|function| function.params.contains(name));
        role.is_array() && has(&role.name)
    };
    let arrays = || draft.roles.iter().filter(known);
    let at = |role: &Role| role.dims.as_ref().and_then(|dims| dims.iter().position(|dim| dim == size));
    if let Some((role, axis)) = arrays().find_map(|role| Some((role, at(role)?))) {
        let rank = role.dims.as_ref().map_or(1, Vec::len);
        return Some(match (rank, axis) {
            (1, _) => format!("number of elements of `{}`", role.name),
            (2, 0) => format!("number of rows of `{}`", role.name),
            (2, _) => format!("number of columns of `{}`", role.name),
            _ => format!("extent of `{}` along axis {axis}", role.name),
        });
    }
    let extent = |role: &Role| role.dims.iter().flatten().find(|dim| code::mentions(dim, size)).cloned();
    let Some((role, extent)) = arrays().find_map(|role| Some((role, extent(role)?))) else {
        return match size {
            "half" | "half_width" => Some("elements on each side of the middle one".to_string()),
            "res" => Some("cells along each axis".to_string()),
            "chunk" => Some("elements of a chunk".to_string()),
            axis if words::is_axis(axis) => of_grid(draft, axis),
            things if things.len() > 3 && things.ends_with('s') => Some(format!("number of {things}")),
            _ => None,
        };
    };
    Some(match role.dims.as_ref().map_or(1, Vec::len) {
        1 => format!("`{}` has {extent} elements", role.name),
        _ => format!("an axis of `{}` has {extent} elements", role.name),
    })
}

/// What an axis is to a function that has no array along it.
fn of_grid(draft: &Draft, name: &str) -> Option<String> {
    let at = |dims: &Vec<String>| Some((dims.len(), dims.iter().position(|dim| dim == name)?));
    let arrays = || draft.roles.iter().filter_map(|role| role.dims.as_ref());
    match arrays().find_map(at) {
        Some((2, 0)) => Some("number of rows of the grid".to_string()),
        Some((2, _)) => Some("number of columns of the grid".to_string()),
        Some((_, axis)) => Some(format!("extent of the grid along axis {axis}")),
        // Its arrays lie as one.
        None => {
            let is_factor = arrays().flatten().any(|dim| code::mentions(dim, name));
            is_factor.then(|| "extent of the grid along one axis".to_string())
        }
    }
}

/// The things that a number counts, in words; None: the name is short for something.
fn plural(things: &str) -> Option<String> {
    const SHORT: [(&str, &str); 13] = [
        ("cols", "columns"),
        ("obs", "observations"),
        ("cams", "cameras"),
        ("arts", "articulations"),
        ("dofs", "degrees of freedom"),
        ("sats", "satellites"),
        ("act", "actuators"),
        ("env", "environments"),
        ("envs", "environments"),
        ("geoms", "geometries"),
        ("tris", "triangles"),
        ("bend", "bending constraints"),
        ("stretch", "stretch constraints"),
    ];
    if let Some((_, long)) = SHORT.iter().find(|(short, _)| *short == things) {
        return Some(long.to_string());
    }
    (things.len() > 3 && things.ends_with('s')).then(|| things.replace('_', " "))
}

/// The word for several things.
fn several(thing: &str) -> String {
    if let Some((many, _)) = ODD.iter().find(|(_, one)| *one == thing) {
        return many.to_string();
    }
    match thing.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'o']) => format!("{stem}ies"),
        _ if thing.ends_with('s') => thing.to_string(),
        _ => format!("{thing}s"),
    }
}

/// Several things, and one of them.
const ODD: [(&str, &str); 6] = [
    ("vertices", "vertex"),
    ("boxes", "box"),
    ("matrices", "matrix"),
    ("axes", "axis"),
    ("indices", "index"),
    ("meshes", "mesh"),
];

/// One of several things.
pub fn singular(things: &str) -> String {
    let (before, last) = things.rsplit_once(' ').map_or(("", things), |(before, last)| (before, last));
    if last.ends_with("ss") {
        return things.to_string();
    }
    let one = match ODD.iter().find(|(many, _)| *many == last) {
        Some((_, one)) => one.to_string(),
        None => match (last.strip_suffix("ies"), last.strip_suffix("sses")) {
            (Some(stem), _) => format!("{stem}y"),
            // Losses, masses, classes.
            (_, Some(stem)) => format!("{stem}ss"),
            _ => last.strip_suffix('s').unwrap_or(last).to_string(),
        },
    };
    if before.is_empty() { one } else { format!("{before} {one}") }
}

/// What one thread of a kernel works on, as the launch and the arrays say; None: nothing that is
/// sure.
pub fn thread(draft: &Draft, function: &Built) -> Option<String> {
    let has_tiles = function.body.iter().any(|line| line.contains("wp.tile_"));
    let dims: Vec<&str> = function.dims.iter().map(String::as_str).collect();
    if dims == ["1"] {
        return Some("a single thread does all of it".to_string());
    }
    let thing = match dims.as_slice() {
        [one] => item(draft, function, one),
        _ => None,
    };
    let thing = thing.or_else(|| element(draft, function, &dims))?;
    Some(match (has_tiles, draft.style.host % 3) {
        (true, _) => format!("one block of threads per {thing}"),
        (false, 0) => format!("one thread per {thing}"),
        (false, 1) => format!("each thread takes one {thing}"),
        (false, _) => format!("{thing} of this thread"),
    })
}

/// What a launch along one extent counts.
fn item(draft: &Draft, function: &Built, extent: &str) -> Option<String> {
    // A product of extents counts elements.
    if extent.contains(' ') {
        return None;
    }
    let stem = extent.strip_prefix("num_").or(extent.strip_prefix("n_")).map(str::to_string);
    let stem = stem.or_else(|| extent.strip_suffix("_count").map(several));
    // A number of threads, and of what is listed, says nothing of what they are for.
    let is_bare = |things: &String| ["threads", "selected", "listed", "chunks"].contains(&things.as_str());
    if let Some(things) = stem.filter(|things| !is_bare(things)) {
        return plural(&things).map(|things| singular(&things));
    }
    let own = |role: &&Role| function.params.contains(&role.name) && role.is_array();
    let dims = |role: &Role| role.dims.clone().unwrap_or_default();
    let rows = draft.roles.iter().filter(own).find(|role| dims(role).len() == 2 && dims(role)[0] == extent);
    rows.map(|role| format!("row of `{}`", role.name))
}

/// An element of an array that has the extents of the launch.
fn element(draft: &Draft, function: &Built, dims: &[&str]) -> Option<String> {
    let fits = |role: &&Role| {
        let own = role.dims.as_ref().is_some_and(|own| *own == dims || (dims.len() == 1 && own.join(" * ") == dims[0]));
        own && function.params.contains(&role.name)
    };
    let mut all = draft.roles.iter().filter(fits);
    let written = all.clone().find(|role| function.written.contains(&role.name));
    written.or_else(|| all.next()).map(|role| format!("element of `{}`", role.name))
}

/// What the code does at borders, with ties and about the order of additions, in sentences.
pub fn rules(draft: &Draft) -> Vec<String> {
    let mut out = Vec::new();
    let mut add = |text: String| {
        if !out.contains(&text) {
            out.push(text);
        }
    };
    for function in draft.functions.iter().filter(|function| function.kind == Kind::Kernel) {
        let is_index = |word: &str| {
            function.threads.iter().any(|name| name == word)
                || draft.sizes.iter().any(|size| size.name == word)
                || ["and", "or", "not"].contains(&word)
        };
        for condition in function.conditions.iter().filter(|condition| code::words(condition).all(is_index)) {
            add(format!("`{}` works where `{condition}`, and leaves everything else as it was.", function.name));
        }
        let mut around: Vec<String> = Vec::new();
        for size in &draft.sizes {
            let wraps = |line: &String| {
                line.contains(&format!(" % {}]", size.name)) || line.contains(&format!(" % {},", size.name))
            };
            let clamps = |line: &String| {
                function.threads.iter().any(|thread| line.contains(&format!("wp.min({thread} + 1, {} - 1)", size.name)))
            };
            if function.body.iter().any(wraps) {
                around.push(format!("`{}`", size.name));
            } else if function.body.iter().any(clamps) {
                add(format!("Indices beyond `{} - 1` are clamped to it.", size.name));
            }
        }
        if !around.is_empty() {
            add(format!("Indices wrap around at {}.", around.join(" and at ")));
        }
    }
    let device = || draft.functions.iter().filter(|function| function.kind != Kind::Reference);
    for lines in device().flat_map(|function| function.body.windows(2)) {
        let Some((condition, (name, _))) = lines[0].trim().strip_prefix("if ").zip(lines[1].trim().split_once(" = "))
        else {
            continue;
        };
        let best = ["best", "nearest", "smallest", "largest", "closest"].iter().any(|word| name.starts_with(word));
        let ends = |mark: &str| condition.trim_end_matches(':').ends_with(&format!(" {mark} {name}"));
        if best && (ends("<") || ends(">")) {
            add("Of equal candidates the first one counts.".to_string());
        } else if best && (ends("<=") || ends(">=")) {
            add("Of equal candidates the last one counts.".to_string());
        }
    }
    if device().flat_map(|function| &function.body).any(|line| line.contains("wp.atomic_add(")) {
        add("Atomic additions may come in any order.".to_string());
    }
    for role in draft.roles.iter().filter(|role| role.is_unordered()) {
        add(format!("The entries of `{}` may come in any order.", role.name));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_read_or_not() {
        assert!(reads("y[i] = x[i]", "x") && !reads("y[i] = x[i]", "y"));
        assert!(reads("y[i] += 1.0", "y") && reads("y[i] = 2.0 * y[i]", "y"));
        assert!(!reads("n = y.shape[0]", "y"));
    }

    #[test]
    fn things_are_counted_in_words() {
        assert_eq!(plural("obs").as_deref(), Some("observations"));
        assert_eq!(plural("act").map(|things| singular(&things)).as_deref(), Some("actuator"));
        assert_eq!((singular("grid vertices").as_str(), singular("bodies").as_str()), ("grid vertex", "body"));
        assert_eq!((singular("inv mass").as_str(), singular("inverse masses").as_str()), ("inv mass", "inverse mass"));
        assert_eq!((singular("losses").as_str(), singular("row masses").as_str()), ("loss", "row mass"));
        assert_eq!(
            (several("body").as_str(), several("vertex").as_str(), several("ray").as_str()),
            ("bodies", "vertices", "rays")
        );
        assert_eq!(plural("xyz"), None);
    }
}
