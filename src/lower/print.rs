//! Prints of many values. `printf` of CUDA takes at most 32 ("Formatted Output", CUDA C++
//! Programming Guide), and shows the conversions of more as they are written.

use crate::ir::print_format::{Piece, pieces};

/// As many as one print has.
const MOST: usize = 32;

/// A format in parts that have at most [`MOST`] values each, with the number of values of each
/// part. What is left of `values` belongs to the last.
pub(super) fn parts(format: &str, values: usize) -> Vec<(&str, usize)> {
    let (mut parts, mut begin, mut at, mut taken, mut left) = (Vec::new(), 0, 0, 0, values);
    for piece in pieces(format).take_while(|_| values > MOST) {
        let (length, wanted) = match piece {
            Piece::Text(text) => (text.len(), 0),
            Piece::Percent => (2, 0),
            Piece::Conversion(found) => (found.written.len(), 1 + found.stars()),
        };
        if taken + wanted > MOST {
            parts.push((&format[begin..at], taken.min(left)));
            (begin, left, taken) = (at, left.saturating_sub(taken), 0);
        }
        taken += wanted;
        at += length;
    }
    parts.push((&format[begin..], left));
    parts
}

#[cfg(test)]
mod tests {
    use super::parts;

    #[test]
    fn few_values_are_one_part() {
        assert_eq!(parts("%d 100%% %*d\n", 3), [("%d 100%% %*d\n", 3)]);
        assert_eq!(parts("no values", 0), [("no values", 0)]);
    }

    #[test]
    fn no_part_has_more_than_32() {
        let format = format!("a {}z", "%g%% ".repeat(70));
        let found = parts(&format, 70);
        assert_eq!(found.iter().map(|part| part.1).collect::<Vec<_>>(), [32, 32, 6]);
        assert_eq!(found.iter().map(|part| part.0).collect::<String>(), format);
        assert!(found[1].0.starts_with("%g%% ") && found[2].0.ends_with(" z"));
    }

    #[test]
    fn a_width_stays_with_its_value() {
        let format = "%d".repeat(31) + "%-*d%d";
        assert_eq!(parts(&format, 34).iter().map(|part| part.1).collect::<Vec<_>>(), [31, 3]);
        assert_eq!(parts(&format, 34)[1].0, "%-*d%d");
    }

    #[test]
    fn formats_that_ask_for_less_or_more() {
        assert_eq!(parts("%d", 40), [("%d", 40)]);
        let found: usize = parts(&"%d".repeat(40), 33).iter().map(|part| part.1).sum();
        assert_eq!(found, 33);
        assert_eq!(parts(&("%d".repeat(33) + "é%"), 33)[1].0, "%dé%");
        let counts: Vec<usize> = parts(&"%d".repeat(90), 40).iter().map(|part| part.1).collect();
        assert_eq!(counts, [32, 8, 0]);
    }
}
