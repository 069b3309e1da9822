//! What do people call things? Names that mean the same, and which of them one person uses.

use std::collections::{HashMap, HashSet};

use crate::dataset::random::Random;

/// Names that go together, as one person has them: the library's first, then those of others in the
/// same order. Where the first of them is missing in a program, nothing of the group is renamed.
const GROUPS: &[&[&[&str]]] = &[
    // axes; a program has one convention for all of them
    &[
        &["ny", "nx", "nz"],
        &["height", "width", "depth"],
        &["rows", "cols", "layers"],
        &["res_y", "res_x", "res_z"],
        &["size_y", "size_x", "size_z"],
        &["grid_height", "grid_width", "grid_depth"],
    ],
    // state of particles
    &[
        &["positions", "velocities", "forces", "masses", "inv_masses"],
        &["pos", "vel", "force", "mass", "inv_mass"],
        &["particle_q", "particle_qd", "particle_f", "particle_mass", "particle_inv_mass"],
        &["particle_pos", "particle_vel", "particle_force", "particle_mass", "particle_inv_mass"],
    ],
    // sparse matrices
    &[
        &["row_offsets", "col_indices", "values", "start", "end"],
        &["row_ptr", "col_idx", "vals", "row_begin", "row_end"],
        &["indptr", "indices", "data", "begin", "end"],
        &["row_starts", "column_indices", "matrix_values", "row_start", "row_end"],
    ],
    &[&["stiffness", "damping"], &["ke", "kd"]],
    &[&["src", "dst"], &["source", "dest"], &["input_values", "output_values"]],
    &[&["num_particles"], &["particle_count"], &["n_particles"]],
    &[&["num_bodies"], &["body_count"], &["n_bodies"]],
    &[&["num_rows"], &["row_count"], &["n_rows"]],
    &[&["num_cells"], &["cell_count"], &["n_cells"]],
    &[&["num_edges"], &["edge_count"], &["n_edges"]],
    &[&["num_points"], &["point_count"], &["n_points"]],
    &[&["dt"], &["dt"], &["time_step"], &["delta_time"]],
    &[&["friction"], &["friction_coeff"]],
    &[&["neighbors"], &["neighbor_indices"], &["neighbor_ids"]],
    &[&["out"], &["result"], &["output"], &["results"]],
    &[&["indices"], &["ids"], &["index_list"]],
    &[&["keys"], &["sort_keys"]],
    // locals
    &[&["value"], &["val"]],
    &[&["slot"], &["slot_index"]],
    &[&["best"], &["best_value"], &["best_so_far"]],
];

/// What single threads and sums that start at 0 are called, with how the line ends that says what
/// they are.
pub const LOCALS: [(&str, &str, &[&str]); 2] = [
    ("i", "wp.tid()", &["i", "tid", "tid", "idx", "index", "elem", "thread_id"]),
    ("s", "(0.0)", &["total", "acc", "accum", "value_sum"]),
];

/// Names of the indices along two and three axes, outermost first.
pub const GRIDS: [&[&[&str]]; 2] = [
    &[&["row", "col"], &["iy", "ix"], &["y", "x"], &["row_idx", "col_idx"]],
    &[&["iz", "iy", "ix"], &["layer", "row", "col"], &["z", "y", "x"], &["cell_z", "cell_y", "cell_x"]],
];

/// Words that mean something else already.
const RESERVED: &[&str] = &[
    "wp",
    "np",
    "math",
    "float",
    "int",
    "range",
    "bool",
    "len",
    "min",
    "max",
    "abs",
    "print",
    "and",
    "or",
    "not",
    "in",
    "is",
    "if",
    "else",
    "elif",
    "for",
    "while",
    "def",
    "class",
    "return",
    "pass",
    "from",
    "import",
    "as",
    "input",
    "rng",
    "main",
    "params",
    "reference",
    "break",
    "continue",
    "True",
    "False",
    "true",
    "false",
];

/// New names for some of the words of a program, group by group.
pub fn rename(random: &mut Random, used: &HashSet<String>) -> HashMap<String, String> {
    let mut taken: HashSet<&str> = used.iter().map(String::as_str).chain(RESERVED.iter().copied()).collect();
    let mut out = HashMap::new();
    for group in GROUPS {
        let own = group[0];
        // The name of a thing must be true of it.
        let fits = |names: &&&[&str]| !names[0].starts_with("particle_") || used.contains("num_particles");
        let others: Vec<&&[&str]> = group[1..].iter().filter(fits).collect();
        if !used.contains(own[0]) || random.chance(25) || others.is_empty() {
            continue;
        }
        let names = random.pick(&others);
        let pairs: Vec<(&str, &str)> = own.iter().copied().zip(names.iter().copied()).collect();
        let needed: Vec<&(&str, &str)> = pairs.iter().filter(|(from, to)| used.contains(*from) && from != to).collect();
        if needed.iter().any(|(_, to)| taken.contains(to)) {
            continue;
        }
        for (from, to) in needed {
            taken.insert(to);
            out.insert(from.to_string(), to.to_string());
        }
    }
    out
}

/// Prepositions and the like: a name ends before them.
const JOINTS: [&str; 30] = [
    "of", "over", "by", "at", "in", "on", "to", "from", "that", "where", "with", "without", "after", "before", "along",
    "per", "and", "or", "how", "what", "their", "its", "each", "than", "the", "left", "right", "through", "is",
    "which",
];

/// A name for a thing that is described so: `conserved momentum densities [kg/m^2 s]` are
/// `conserved_momentum_densities`, `velocities along x` are `velocities_x`. `own` is the name it
/// has; what tells it from others of its kind stays: `u_next` is `temperature_next`.
pub fn described(own: &str, about: &str) -> Option<String> {
    const KEPT: [&str; 8] = ["new", "next", "prev", "old", "in", "out", "0", "1"];
    // What these say of a thing, its name would lack.
    const TELLING: [&str; 13] =
        ["whose", "up", "that", "where", "which", "with", "without", "by", "from", "to", "between", "than", "less"];
    // Alone they say nothing.
    const BARE: [&str; 10] = ["number", "sum", "index", "part", "value", "share", "mean", "width", "first", "values"];
    let phrase = about.split([';', ':', '[', '(', '.']).next()?;
    let (text, rest) = phrase.split_once(',').unwrap_or((phrase, ""));
    // The first of several things is not all of them: `derivatives along x, y and time`.
    if rest.contains(" and ") || rest.starts_with(" then ") {
        return None;
    }
    let text = text.trim();
    let words: Vec<&str> = text.split_whitespace().collect();
    let end = words.iter().position(|word| JOINTS.contains(word)).unwrap_or(words.len());
    let is_word = |word: &&str| word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    if end == 0 || end > 3 || !words[..end].iter().all(is_word) || words.iter().any(|word| TELLING.contains(word)) {
        return None;
    }
    let mut name = words[..end].join("_").replace('-', "_");
    // The radius of the window is a window's radius.
    let article = |word: &&str| ["a", "an", "the", "each", "all"].contains(word);
    let of = words[end..].strip_prefix(&["of"]).map(|rest| &rest[usize::from(rest.first().is_some_and(article))..]);
    let stop = of.map_or(0, |of| of.iter().position(|word| JOINTS.contains(word)).unwrap_or(of.len()));
    // The product of query and key is not the query's.
    if of.is_some_and(|of| of.get(stop) == Some(&"and")) {
        return None;
    }
    match of {
        Some(of) if (1..=2).contains(&stop) && of[..stop].iter().all(is_word) => {
            let owner = super::facts::singular(&of[..stop].join(" ")).replace([' ', '-'], "_");
            name = format!("{owner}_{name}");
        }
        // What was done to a thing is no name of it.
        _ if BARE.contains(&name.as_str()) || end == 1 && name.ends_with("ed") => return None,
        _ => {}
    }
    if let [.., "along", axis] = words.as_slice()
        && ["x", "y", "z"].contains(axis)
    {
        name += &format!("_{axis}");
    }
    if let Some((_, tail)) = own.rsplit_once('_')
        && KEPT.contains(&tail)
    {
        name += &format!("_{tail}");
    }
    (name.len() >= 4 && name.len() <= 28 && !RESERVED.contains(&name.as_str())).then_some(name)
}

/// First words of names of kernels that say what is done.
const VERBS: [&str; 133] = [
    "accumulate",
    "add",
    "advance",
    "advect",
    "apply",
    "assemble",
    "assign",
    "attach",
    "attend",
    "average",
    "bin",
    "blend",
    "blur",
    "bound",
    "build",
    "burn",
    "check",
    "classify",
    "clear",
    "clip",
    "collect",
    "collide",
    "combine",
    "compute",
    "control",
    "copy",
    "correct",
    "count",
    "damp",
    "decode",
    "deliver",
    "divide",
    "draw",
    "drift",
    "equalize",
    "estimate",
    "eval",
    "evaluate",
    "exchange",
    "exclude",
    "expand",
    "expect",
    "extract",
    "factor",
    "fill",
    "filter",
    "find",
    "flag",
    "follow",
    "fuse",
    "gather",
    "hash",
    "hook",
    "init",
    "insert",
    "integrate",
    "jump",
    "kick",
    "limit",
    "link",
    "list",
    "locate",
    "look",
    "map",
    "march",
    "mark",
    "match",
    "maximize",
    "measure",
    "merge",
    "mix",
    "move",
    "multiply",
    "normalize",
    "number",
    "order",
    "overlap",
    "pack",
    "peel",
    "place",
    "pool",
    "predict",
    "project",
    "propagate",
    "push",
    "quantize",
    "query",
    "rank",
    "react",
    "read",
    "reconstruct",
    "reduce",
    "relax",
    "release",
    "render",
    "resample",
    "reset",
    "resize",
    "reverse",
    "rotate",
    "route",
    "run",
    "sample",
    "scale",
    "scan",
    "scatter",
    "search",
    "select",
    "shade",
    "simulate",
    "solve",
    "sort",
    "splat",
    "split",
    "spread",
    "square",
    "standardize",
    "subtract",
    "sum",
    "suppress",
    "symmetrize",
    "take",
    "test",
    "topple",
    "trace",
    "transform",
    "transpose",
    "update",
    "wake",
    "walk",
    "weigh",
    "wrap",
    "write",
];

/// The name of a kernel with a verb in front, if it has none; what is one step of something is run.
pub fn with_verb(name: &str) -> String {
    let words: Vec<&str> = name.split('_').collect();
    let is_step = |word: &&str| ["step", "sweep", "pass", "iteration"].contains(word);
    match words.as_slice() {
        // `matvec`, `gemm`, `transpose`
        [_] => name.to_string(),
        words if words.iter().any(|word| VERBS.contains(word)) => name.to_string(),
        words if words.iter().any(is_step) => format!("run_{name}"),
        _ => format!("compute_{name}"),
    }
}

/// The name of a kernel behind that of the method, if they have no word in common and it is not
/// longer than people's: `weno_advection_reconstruct_faces`.
pub fn qualified(method: &str, name: &str) -> String {
    const MOST_WORDS: usize = 5;
    let count = method.split('_').count() + name.split('_').count();
    let stem = |word: &str| word.trim_end_matches('s').to_string();
    let is_shared = method.split('_').any(|word| name.split('_').any(|own| stem(own) == stem(word)));
    if is_shared || count > MOST_WORDS { name.to_string() } else { format!("{method}_{name}") }
}

/// Whether the name is that of an axis of a grid.
pub fn is_axis(name: &str) -> bool {
    GROUPS[0].iter().any(|names| names.contains(&name))
}

/// The names, those that belong together in one list: `fx` and `fy`, `p_mass` and `p_vol`, `dt` and
/// `dx`; and whether one of the others given belongs to them.
pub fn kin(names: &[String], others: &[String]) -> Vec<(Vec<String>, bool)> {
    let mut out: Vec<(Vec<String>, bool)> = Vec::new();
    for name in names {
        let (mut own, rest): (Vec<_>, Vec<_>) =
            out.into_iter().partition(|(list, _)| list.iter().any(|other| are_kin(name, other)));
        let mut list: Vec<String> = own.iter_mut().flat_map(|(list, _)| std::mem::take(list)).collect();
        list.push(name.clone());
        let has_other =
            own.iter().any(|(_, has)| *has) || others.iter().any(|other| are_kin(name, &other.to_lowercase()));
        out = rest;
        out.push((list, has_other));
    }
    out
}

/// Whether two names are those of a pair.
fn are_kin(a: &str, b: &str) -> bool {
    let differ = a.bytes().zip(b.bytes()).filter(|(a, b)| a != b).count();
    let is_step = |name: &str| name.len() == 2 && name.starts_with('d');
    let head = |name: &str| name.rsplit_once('_').map(|(head, _)| head.to_string());
    let tail = |name: &str| name.split_once('_').map(|(_, tail)| tail.to_string());
    (a.len() == b.len() && a.len() <= 4 && differ == 1)
        || (is_step(a) && is_step(b))
        || (head(a).is_some() && head(a) == head(b))
        || (tail(a).is_some() && tail(a) == tail(b))
}

/// The name of a class: `heat_explicit` is `HeatExplicit`.
pub fn class(name: &str) -> String {
    let upper = |word: &str| {
        let mut letters = word.chars();
        letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
    };
    name.split('_').map(upper).collect()
}

/// The sentence with a capital letter and a full stop.
pub fn sentence(text: &str) -> String {
    let mut letters = text.trim().chars();
    let first = letters.next().map_or(String::new(), |first| first.to_uppercase().collect());
    let text = format!("{first}{}", letters.as_str());
    if text.is_empty() || text.ends_with(['.', '!', '?']) { text } else { text + "." }
}

/// Text in lines of at most `width`.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match out.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => out.push(word.to_string()),
        }
    }
    out
}

/// The text with a full stop.
pub fn sentence_end(text: &str) -> String {
    if text.ends_with(['.', '!', '?']) { text.to_string() } else { format!("{text}.") }
}

/// The task of a companion, with what its array is: in the place of `the values` if that is a plain
/// plural, `the filter coefficients`, and in brackets behind it if it is anything else, which a
/// sentence need not bear.
pub fn about(task: &str, array: &str) -> String {
    let plain = array.split(['[', ',', ';']).next().unwrap_or_default().trim();
    let is_named = plain.starts_with(|c: char| c.is_ascii_alphabetic()) && !plain.contains(':');
    let known = ["the values", "the vectors", "the integers"].iter().find(|words| task.contains(**words));
    match known.filter(|_| is_named) {
        Some(words) if is_plural(plain) => task.replacen(words, &format!("the {plain}"), 1),
        Some(_) => format!("{task} ({plain})"),
        None => task.to_string(),
    }
}

/// Whether a text is a noun in the plural with nothing but adjectives and nouns before it.
fn is_plural(text: &str) -> bool {
    let is_word = |word: &str| word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    let mut words = text.split(' ');
    words.clone().all(|word| is_word(word) && !JOINTS.contains(&word))
        && words.next_back().is_some_and(|last| last.ends_with('s') && !last.ends_with("ss") && !last.ends_with("us"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_are_named_so_that_sentences_stay_sentences() {
        let of = |array: &str| about("count the values above a threshold", array);
        assert_eq!(of("contact forces [N]"), "count the contact forces above a threshold");
        for other in ["density", "what a thread found", "twice the kinetic energies", "energies of the systems"] {
            assert_eq!(of(other), format!("count the values above a threshold ({other})"));
        }
        // Codes are no names.
        assert_eq!(of("1 where a box meets the query"), "count the values above a threshold");
        assert_eq!(about("clear the counters before the step", "points"), "clear the counters before the step");
    }

    #[test]
    fn names_come_from_what_things_are() {
        let of = |own: &str, about: &str| described(own, about);
        assert_eq!(of("u_next", "temperature after the step [K]").as_deref(), Some("temperature_next"));
        assert_eq!(of("ux", "velocities along x").as_deref(), Some("velocities_x"));
        assert_eq!(of("mom", "momentum densities [kg/(m^2 s)]").as_deref(), Some("momentum_densities"));
        assert_eq!(of("cx", "velocity of each population along x").as_deref(), Some("population_velocity_x"));
        assert_eq!(of("r", "radius of the window").as_deref(), Some("window_radius"));
        assert_eq!(of("slope", "derivatives along x, y and time"), None);
        assert_eq!(of("residual", "load less the matrix times the field"), None);
        assert_eq!(of("agree", "product of the query and key of each token"), None);
        assert_eq!(of("fixed", "rows whose unknown is prescribed"), None);
        assert_eq!(of("bounds", "smallest, then largest coordinates"), None);
        assert_eq!(
            (of("solid", "1 in walls"), of("solid", "cells that are solid"), of("n", "number")),
            (None, None, None)
        );
        assert_eq!(
            (with_verb("upwind_flux").as_str(), with_verb("heat_step").as_str()),
            ("compute_upwind_flux", "run_heat_step")
        );
    }

    #[test]
    fn pairs_stay_together() {
        let names = ["fx", "omega", "fy", "p_mass", "dt"].map(str::to_string);
        let groups = kin(&names, &["P_VOL".to_string()]);
        let list = |names: &[&str], has: bool| (names.iter().map(|name| name.to_string()).collect::<Vec<_>>(), has);
        for expected in
            [list(&["fx", "fy"], false), list(&["omega"], false), list(&["p_mass"], true), list(&["dt"], false)]
        {
            assert!(groups.contains(&expected), "{groups:?}");
        }
    }

    /// Width beside rows, and a resolution along y beside a number of columns, are two conventions.
    #[test]
    fn axes_are_named_by_one_convention() {
        let used: HashSet<String> = ["ny", "nx", "nz"].map(str::to_string).into();
        for number in 0..50 {
            let names = rename(&mut Random::new(1, number), &used);
            let new: Vec<&str> =
                ["ny", "nx", "nz"].iter().filter_map(|name| names.get(*name)).map(String::as_str).collect();
            assert!(new.is_empty() || GROUPS[0].contains(&new.as_slice()), "{new:?}");
        }
    }
}
