//! How do messages say how many there are, and which?

use std::fmt::Display;

/// `1 dimension`, `2 dimensions`, `0 indices`.
pub fn counted(count: usize, noun: &str) -> String {
    if count == 1 {
        return format!("1 {noun}");
    }
    match noun {
        "index" => format!("{count} indices"),
        "axis" => format!("{count} axes"),
        "fix" => format!("{count} fixes"),
        _ => format!("{count} {noun}s"),
    }
}

/// Names in quotes: `` `a`, `b` ``.
pub fn quoted<T: Display>(names: impl IntoIterator<Item = T>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

/// Parts of a sentence: `a, b and c`, where `word` is `and`.
pub fn listed(parts: &[String], word: &str) -> String {
    match parts {
        [before @ .., last] if !before.is_empty() => format!("{} {word} {last}", before.join(", ")),
        all => all.join(", "),
    }
}

/// The first parts of a long list: `a, b and 3 more`.
pub fn first_of(parts: &[String], most: usize) -> String {
    match parts.len().saturating_sub(most) {
        0 => parts.join(", "),
        more => format!("{} and {more} more", parts[..most].join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::{counted, first_of, listed, quoted};

    #[test]
    fn one_has_no_plural() {
        assert_eq!(counted(1, "dimension"), "1 dimension");
        assert_eq!(counted(0, "dimension"), "0 dimensions");
        assert_eq!(counted(2, "index"), "2 indices");
        assert_eq!(counted(1, "index"), "1 index");
    }

    #[test]
    fn lists_read_as_sentences_do() {
        let parts = ["a", "b", "c"].map(String::from);
        assert_eq!(quoted(&parts), "`a`, `b`, `c`");
        assert_eq!([0, 1, 2, 3].map(|n| listed(&parts[..n], "and")), ["", "a", "a and b", "a, b and c"]);
        assert_eq!([1, 2, 3].map(|most| first_of(&parts, most)), ["a and 2 more", "a, b and 1 more", "a, b, c"]);
    }
}
