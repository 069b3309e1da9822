//! The page of a code: what does `E0301` mean?

use super::Code;

/// The page of the code that `text` names (`E0301`, `e0301`, `type-mismatch`), or the nearest codes
/// to what was meant.
pub fn page(text: &str) -> Result<&'static str, Vec<Code>> {
    let text = text.trim();
    match Code::ALL.iter().find(|code| code.name().eq_ignore_ascii_case(text) || code.slug() == text) {
        Some(code) => Ok(code.page()),
        None => Err(nearest(text)),
    }
}

/// Up to three codes whose name or slug is near `text`, the nearest first.
fn nearest(text: &str) -> Vec<Code> {
    let name = text.to_ascii_uppercase();
    let slug = text.to_ascii_lowercase().replace(['_', ' '], "-");
    // `W0301` or `301` for `E0301`.
    let digits = name.trim_start_matches(|c: char| !c.is_ascii_digit()).to_string();
    let mut found: Vec<(usize, Code)> = Code::ALL
        .iter()
        .filter_map(|&code| {
            let by_number =
                !digits.is_empty() && code.name()[1..].trim_start_matches('0') == digits.trim_start_matches('0');
            let by_name = distance(code.name(), &name);
            let by_slug = distance(code.slug(), &slug);
            match () {
                () if by_number => Some((0, code)),
                () if by_name <= 1 => Some((by_name, code)),
                () if by_slug <= slug.len() / 3 => Some((by_slug, code)),
                () => None,
            }
        })
        .collect();
    found.sort();
    found.truncate(3);
    found.into_iter().map(|(_, code)| code).collect()
}

/// Edit distance in the optimal string alignment form: inserting, deleting, replacing a character
/// and swapping two neighbours count 1 each.
pub fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    // Only the last three rows of the table are ever read.
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let mut best = (above[j - 1] + usize::from(a[i - 1] != b[j - 1])).min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        for (a, b, n) in [("", "", 0), ("", "abc", 3), ("abc", "acb", 1), ("kitten", "sitting", 3), ("é", "e", 1)] {
            assert_eq!(distance(a, b), n, "{a} {b}");
            assert_eq!(distance(b, a), n, "{b} {a}");
        }
    }

    #[test]
    fn pages_are_found_and_guessed() {
        assert!(page("E0999").is_ok() && page("e0999").is_ok() && page("internal-error").is_ok());
        assert_eq!(page("W0999"), Err(vec![Code::E0999]));
        assert_eq!(page("999"), Err(vec![Code::E0999]));
        assert_eq!(page("internal_eror"), Err(vec![Code::E0999]));
        assert_eq!(page("?!"), Err(vec![]));
    }

    #[test]
    fn every_code_is_well_formed() {
        for pair in Code::ALL.windows(2) {
            assert!(pair[0].name()[1..] < pair[1].name()[1..], "{} before {}", pair[0].name(), pair[1].name());
        }
        let mut slugs: Vec<&str> = Code::ALL.iter().map(|code| code.slug()).collect();
        slugs.sort();
        slugs.windows(2).for_each(|pair| assert_ne!(pair[0], pair[1], "two codes with one slug"));
        for code in Code::ALL {
            let (name, page) = (code.name(), code.page());
            assert!(name.len() == 5 && name[1..].bytes().all(|b| b.is_ascii_digit()), "{name}");
            assert!(code.slug().bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'), "{name}");
            assert!(page.starts_with(&format!("# {name}: ")), "{name}: its page starts with `# {name}: title`");
            assert!(page.lines().count() >= 3, "{name}: the page says nothing beyond its title");
            assert_eq!(page.matches("```").count() % 2, 0, "{name}: an unclosed block");
        }
    }
}
