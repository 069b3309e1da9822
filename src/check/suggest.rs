//! "Did you mean": the nearest known name.

/// The candidate closest to `name`, if it is close enough to be a slip: an edit distance (insertions, deletions,
/// replacements, swaps of neighbours; Damerau 1964) of at most a third of the length.
pub fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<String> {
    let limit = (name.chars().count() / 3).max(1);
    candidates
        .filter(|c| *c != name && c.len().abs_diff(name.len()) <= limit)
        .map(|c| (distance(name, c), c))
        .filter(|(d, _)| *d <= limit)
        .min()
        .map(|(_, c)| c.to_string())
}

fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let width = b.len() + 1;
    let mut d = vec![0; (a.len() + 1) * width];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            d[i * width + j] = if i == 0 || j == 0 {
                i + j
            } else {
                let replace = d[(i - 1) * width + j - 1] + usize::from(a[i - 1] != b[j - 1]);
                let mut best = replace.min(d[(i - 1) * width + j] + 1).min(d[i * width + j - 1] + 1);
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    best = best.min(d[(i - 2) * width + j - 2] + 1);
                }
                best
            };
        }
    }
    d[a.len() * width + b.len()]
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
    }
}
