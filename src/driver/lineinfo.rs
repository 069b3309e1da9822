//! PTX that says which source lines its instructions come from, for profilers and debuggers.

use std::fmt::Write as _;

use crate::source::lined::Lined;

/// The text with the directives `.file` and `.loc` of the PTX ISA; `path` is the source as it was
/// named. What comes from imported files counts as part of the line that uses it.
pub fn with_directives(ptx: &Lined, path: &str) -> String {
    let mut out = String::with_capacity(ptx.text.len() + ptx.text.len() / 4);
    let mut current = None;
    for (line, from) in ptx.text.lines().zip(&ptx.lines) {
        if line.starts_with(['.', '}']) {
            // Each function begins anew.
            current = None;
        }
        if let Some(&number) = from.first().filter(|&&number| current != Some(number)) {
            let _ = writeln!(out, "\t.loc\t1 {number} 0");
            current = Some(number);
        }
        out.push_str(line);
        out.push('\n');
        if line.starts_with(".address_size") {
            // Strings of PTX have no escapes.
            let path: String = path.chars().filter(|c| !c.is_control()).collect();
            let _ = writeln!(out, "\n.file\t1 \"{}\"", path.replace('"', "'"));
        }
    }
    out
}
