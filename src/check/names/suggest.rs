//! "Did you mean": the nearest known name.

use crate::diag::explain::distance;

/// The candidate closest to `name`, if it is close enough to be a slip: an edit distance
/// (insertions, deletions, replacements, swaps of neighbours; Damerau 1964) of at most a third of
/// the length. A name of one or two letters is near to every other one, which says nothing.
pub fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<String> {
    let limit = name.chars().count() / 3;
    candidates
        .filter(|c| *c != name && c.len().abs_diff(name.len()) <= limit)
        .map(|c| (distance(name, c), c))
        .filter(|(d, _)| *d <= limit)
        .min()
        .map(|(_, c)| c.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_slips_and_nothing_else() {
        let names = || ["sin", "cos", "position", "velocity"].into_iter();
        assert_eq!(nearest("positon", names()), Some("position".into()));
        assert_eq!(nearest("isn", names()), Some("sin".into()));
        assert_eq!(nearest("mass", names()), None);
        assert_eq!(nearest("sin", names()), None);
        assert_eq!(nearest("y", ["i", "x"].into_iter()), None);
    }
}
