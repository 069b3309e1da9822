//! What do people call things? Names that mean the same, and which of them one person uses.

use std::collections::{HashMap, HashSet};

use crate::dataset::random::Random;

/// The name that the library uses, then others for the same.
const NAMES: &[&[&str]] = &[
    // threads and counts
    &["num_particles", "particle_count", "num_points", "n", "num_particles"],
    &["num_bodies", "body_count", "num_bodies", "n"],
    &["num_rows", "rows", "n_rows", "num_rows"],
    &["num_cells", "cell_count", "n_cells", "num_cells"],
    &["num_edges", "edge_count", "num_edges", "n_edges"],
    &["nx", "nx", "width", "cols", "res_x"],
    &["ny", "ny", "height", "rows", "res_y"],
    &["nz", "nz", "depth", "res_z"],
    // physics
    &["positions", "pos", "particle_q", "x", "points", "positions"],
    &["velocities", "vel", "particle_qd", "v", "velocities"],
    &["forces", "particle_f", "f", "force", "forces"],
    &["masses", "mass", "particle_mass", "masses"],
    &["inv_masses", "inv_mass", "particle_inv_mass", "w"],
    &["dt", "dt", "dt", "time_step", "h"],
    &["gravity", "gravity", "g"],
    &["stiffness", "ke", "stiffness", "spring_ke", "k"],
    &["damping", "kd", "damping", "damp"],
    &["rest_lengths", "rest", "rest_length", "spring_rest_length"],
    &["radius", "radius", "h", "cutoff"],
    &["density", "rho", "density", "densities"],
    &["pressure", "p", "pressure"],
    &["friction", "mu", "friction", "friction_coeff"],
    // sparse and graphs
    &["row_offsets", "row_ptr", "indptr", "bsr_offsets", "offsets", "row_offsets"],
    &["col_indices", "cols", "indices", "columns", "col_idx"],
    &["values", "vals", "data", "values", "matrix_values"],
    &["edges", "edge_indices", "edges", "springs", "pairs"],
    &["neighbors", "neighbors", "adjacency", "neighbor_indices"],
    &["labels", "label", "component", "labels"],
    // arrays in general
    &["out", "out", "result", "output", "dst", "dest"],
    &["src", "src", "input", "source", "data_in"],
    &["weights", "weights", "coeffs", "w"],
    &["indices", "indices", "ids", "index_list"],
    &["counts", "counts", "num_per_bin", "histogram"],
    &["mask", "mask", "active", "enabled", "flags"],
    &["total", "total", "acc", "sum_value", "result_sum"],
    &["keys", "keys", "codes", "sort_keys"],
    // locals
    &["start", "start", "begin", "lo"],
    &["end", "end", "stop", "hi"],
    &["value", "value", "val", "v0"],
    &["weight", "weight", "w", "wt"],
    &["slot", "slot", "write_index", "dest_index"],
    &["best", "best", "best_value", "current"],
];

/// Names of values in kernels, the line that says what they are there, and others for the same.
pub const LOCALS: [(&str, &str, &[&str]); 2] = [
    ("i", "i = wp.tid()", &["i", "i", "tid", "idx", "index"]),
    ("s", "s = float(0.0)", &["s", "s", "total", "acc", "value_sum"]),
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
];

/// New names for some of the words of a program.
pub fn rename(random: &mut Random, used: &HashSet<String>) -> HashMap<String, String> {
    let mut taken: HashSet<&str> = used.iter().map(String::as_str).chain(RESERVED.iter().copied()).collect();
    let mut out = HashMap::new();
    for names in NAMES {
        let (from, list) = (names[0], &names[1..]);
        if !used.contains(from) || random.chance(30) {
            continue;
        }
        let name = *random.pick(list);
        if taken.insert(name) {
            out.insert(from.to_string(), name.to_string());
        }
    }
    out
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
    const JOINTS: [&str; 27] = [
        "of", "over", "by", "at", "in", "on", "to", "from", "that", "where", "with", "without", "after", "before",
        "along", "per", "and", "or", "how", "what", "their", "its", "each", "than", "the", "left", "right",
    ];
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
}
