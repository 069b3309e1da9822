//! How do messages say how many there are?

/// `1 dimension`, `2 dimensions`, `0 indices`.
pub fn counted(count: usize, noun: &str) -> String {
    if count == 1 {
        return format!("1 {noun}");
    }
    match noun {
        "index" => format!("{count} indices"),
        "axis" => format!("{count} axes"),
        _ => format!("{count} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn one_has_no_plural() {
        assert_eq!(counted(1, "dimension"), "1 dimension");
        assert_eq!(counted(0, "dimension"), "0 dimensions");
        assert_eq!(counted(2, "index"), "2 indices");
        assert_eq!(counted(1, "index"), "1 index");
    }
}
