//! How does an algorithm of one system become one of many? People who simulate thousands of worlds
//! give their arrays one more dimension and their launches one more index; what all worlds share
//! stays as it is.

use super::code;
use super::code::writes;
use super::library::{Kind, Role, Size};
use super::program::Draft;
use crate::dataset::random::Random;

/// What a world is called: the number of them, the index of one, and a word for several.
const NAMES: [(&str, &str, &str); 6] = [
    ("num_worlds", "worldid", "worlds"),
    ("num_worlds", "world", "worlds"),
    ("nworld", "worldid", "worlds"),
    ("num_envs", "env", "environments"),
    ("num_systems", "system", "systems"),
    ("batch_size", "batch", "samples"),
];

/// Makes all kernels of a draft work on many systems. Nothing happens where an array is used in
/// another way than by its elements, or where names would meet.
pub fn batch(draft: &mut Draft, random: &mut Random) {
    let (count, index, things) = *random.pick(&NAMES);
    let taken = |name: &str| {
        draft.roles.iter().any(|role| role.name == name)
            || draft.sizes.iter().any(|size| size.name == name)
            || draft.functions.iter().any(|function| function.body.iter().any(|line| code::mentions(line, name)))
    };
    let is_launch = |line: &String| line.trim_end().ends_with("= wp.tid()");
    let fits = draft.functions.iter().all(|function| match function.kind {
        Kind::Kernel => {
            function.dims.len() < 3
                && function.dims.iter().all(|dim| dim != "1")
                && function.body.iter().filter(|line| is_launch(line)).count() == 1
        }
        Kind::Helper => !function.head.contains("array"),
        Kind::Reference => !function.body.iter().any(|line| line.contains("return")),
    });
    // What has worlds of its own gets no further ones.
    let has_own = NAMES.iter().any(|(count, ..)| draft.sizes.iter().any(|size| size.name == *count));
    let has_word = ["world", "env", "system", "batch"].iter().any(|word| taken(word));
    // One engine is not many.
    let has_engine = draft.roles.iter().any(|role| role.engine().is_some());
    if !fits || has_engine || has_own || taken(count) || taken(index) || has_word {
        return;
    }
    let is_written =
        |role: &Role| draft.functions.iter().flat_map(|function| &function.body).any(|line| writes(line, &role.name));
    let is_state = |role: &Role| ["zeros", "uniform", "normal", "full", "unit", "rotation"].contains(&role.content().0);
    // All state has the dimension or none: what is written, and every array of floats. What is
    // found by an index, the order of things and the numbers of a method are the same in all
    // worlds.
    let is_method = |role: &Role| {
        let is_table = role.dims.iter().flatten().all(|dim| dim.parse::<u32>().is_ok());
        let words = ["weight", "coefficient", "filter", "impulse response", "quadrature", "lattice", "kernel"];
        is_table || words.iter().any(|word| role.about.contains(word))
    };
    let is_own = |role: &Role| is_written(role) || !role.ty.ends_with('i') && role.ty != "int" && !is_method(role);
    let arrays = || draft.roles.iter().filter(|role| role.is_array());
    let lifted: Vec<Role> = arrays().filter(|role| is_own(role)).cloned().collect();
    if lifted.iter().any(|role| role.dims.as_ref().is_some_and(|dims| dims.len() > 3)) {
        return;
    }
    // Worlds that begin alike are one world.
    if lifted.iter().all(|role| ["zeros", "full"].contains(&role.content().0)) {
        return;
    }
    let is_whole =
        |role: &Role| draft.runs.iter().flat_map(|run| &run.bound).any(|(a, b)| *a == role.name || *b == role.name);
    if lifted.iter().any(|role| is_whole(role) || !is_state(role)) {
        return;
    }
    let line_of = |line: &String| {
        lifted.iter().try_fold(line.clone(), |line, role| {
            let is_single = role.dims.as_ref().is_some_and(|dims| *dims == ["1"]);
            indexed(&line, &role.name, index, is_single)
        })
    };
    let bodies: Option<Vec<Vec<String>>> =
        draft.functions.iter().map(|function| function.body.iter().map(line_of).collect()).collect();
    let Some(bodies) = bodies else { return };
    for (function, body) in draft.functions.iter_mut().zip(bodies) {
        match function.kind {
            Kind::Kernel => {
                function.body = body;
                for line in function.body.iter_mut().filter(|line| is_launch(line)) {
                    let pad = code::indent(line);
                    line.insert_str(pad, &format!("{index}, "));
                }
                function.dims.insert(0, count.to_string());
                function.threads.insert(0, index.to_string());
                // Its guard does not know of worlds.
                function.is_guarded = false;
            }
            Kind::Reference => {
                let inner = body.iter().map(|line| if line.is_empty() { String::new() } else { format!("    {line}") });
                function.body = [format!("    for {index} in range({count}):")].into_iter().chain(inner).collect();
            }
            Kind::Helper => {}
        }
    }
    for role in draft.roles.iter_mut().filter(|role| lifted.iter().any(|lifted| lifted.name == role.name)) {
        let dims = role.dims.get_or_insert_default();
        dims.retain(|dim| dim != "1");
        dims.insert(0, count.to_string());
    }
    draft.sizes.push(Size { name: count.to_string(), values: [1, 2, 3], host: 4 });
    let is_shared =
        draft.roles.iter().any(|role| role.is_array() && !lifted.iter().any(|lifted| lifted.name == role.name));
    let shared = match is_shared {
        true => {
            format!("The {things} are independent; arrays without a dimension for them are the same for all {things}.")
        }
        false => format!("The {things} are independent."),
    };
    draft.about = format!("{} {shared}", draft.about).trim().to_string();
}

/// The line with one more index in front of those of an array; in the place of the 0 where the
/// array had one element. None: the array is used in another way.
fn indexed(line: &str, array: &str, index: &str, is_single: bool) -> Option<String> {
    let mut out = line.to_string();
    for place in code::places(line, array).into_iter().rev() {
        let rest = &out[place.end..];
        let before = &out[..place.start];
        let is_atomic =
            before.ends_with('(') && before.rsplit(' ').next().is_some_and(|word| word.starts_with("wp.atomic_"));
        let from = match rest.as_bytes() {
            [b'[', ..] => place.end + 1,
            [b',', b' ', ..] if is_atomic => place.end + 2,
            _ => return None,
        };
        if is_single {
            if !out[from..].starts_with("0]") && !out[from..].starts_with("0,") {
                return None;
            }
            out.replace_range(from..from + 1, index);
        } else {
            out.insert_str(from, &format!("{index}, "));
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_get_the_index_of_their_world() {
        let of = |line: &str, is_single: bool| indexed(line, "u", "w", is_single);
        assert_eq!(of("a = u[i - 1] + u[j]", false).as_deref(), Some("a = u[w, i - 1] + u[w, j]"));
        assert_eq!(of("wp.atomic_add(u, i, x)", false).as_deref(), Some("wp.atomic_add(u, w, i, x)"));
        assert_eq!(of("wp.atomic_add(u, 0, x)", true).as_deref(), Some("wp.atomic_add(u, w, x)"));
        assert_eq!(of("u[1] = x", true), None);
        assert_eq!(of("f(u, i)", false), None);
    }
}
