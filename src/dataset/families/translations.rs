//! Which texts in other languages do the same as a program?

use std::collections::HashSet;

use super::code;
use super::forms::Form;
use super::library::{self, Family, Role, Size};
use super::program::Draft;

/// The translations of an algorithm in the names of a program; empty where that does something
/// else: several worlds, several steps, arrays of another shape, or a name that a translation has
/// for a thing of its own.
pub fn of(family: &Family, draft: &Draft) -> Vec<String> {
    let ranks = |roles: &[Role]| {
        let mut list: Vec<usize> = roles.iter().map(|role| role.dims.as_ref().map_or(0, Vec::len)).collect();
        list.sort_unstable();
        list
    };
    let is_same = family.sizes.len() == draft.sizes.len() && ranks(&family.roles) == ranks(&draft.roles);
    let is_once = !matches!(draft.form, Form::Steps | Form::Swap);
    let names = |roles: &[Role], sizes: &[Size]| -> HashSet<String> {
        roles.iter().map(|role| role.name.clone()).chain(sizes.iter().map(|size| size.name.clone())).collect()
    };
    let before = names(&family.roles, &family.sizes);
    let after = names(&draft.roles, &draft.sizes);
    let texts = library::translations(family.name).unwrap_or_default();
    let is_own = |word: &str| after.contains(word) && !before.contains(word);
    let meets = texts.iter().flat_map(|text| text.lines()).flat_map(code::words).any(is_own);
    if is_same && is_once && !meets { draft.notes.clone() } else { Vec::new() }
}
