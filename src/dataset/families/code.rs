//! How are lines of Python read, and changed without changing what they mean? By their words and
//! brackets: enough for the plain statements of kernels.

use std::ops::Range;

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Where a line's comment begins; its length if it has none. Texts in quotes hold no `#` in the
/// library.
pub fn code_end(line: &str) -> usize {
    line.find('#').unwrap_or(line.len())
}

/// The places of a name in a line's code: no attribute, no part of a longer one, no name of an
/// argument.
pub fn places(line: &str, name: &str) -> Vec<Range<usize>> {
    let code = &line[..code_end(line)];
    let bytes = code.as_bytes();
    let mut out = Vec::new();
    let mut from = 0;
    while let Some(at) = code[from..].find(name).map(|at| from + at) {
        let end = at + name.len();
        let before = at.checked_sub(1).map_or(b' ', |n| bytes[n]);
        let after = bytes.get(end).copied().unwrap_or(b' ');
        let next = bytes.get(end + 1).copied().unwrap_or(b' ');
        let is_keyword = after == b'=' && next != b'=';
        if !is_word(before) && before != b'.' && !is_word(after) && !is_keyword {
            out.push(at..end);
        }
        from = end;
    }
    out
}

pub fn mentions(line: &str, name: &str) -> bool {
    !places(line, name).is_empty()
}

/// The line with another text in the place of a name.
pub fn replace(line: &str, name: &str, text: &str) -> String {
    let mut out = line.to_string();
    for place in places(line, name).into_iter().rev() {
        out.replace_range(place, text);
    }
    out
}

/// The names in a line's code.
pub fn words(line: &str) -> impl Iterator<Item = &str> {
    let code = &line[..code_end(line)];
    let parts = code.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    parts.filter(|word| word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))
}

pub fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The bracket that closes the one at `open`.
pub fn closing(line: &str, open: usize) -> Option<usize> {
    let mut depth = 0;
    for (at, byte) in line.bytes().enumerate().skip(open) {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// What commas outside of brackets separate.
pub fn arguments(text: &str) -> Vec<&str> {
    let (mut out, mut depth, mut from) = (Vec::new(), 0, 0);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth -= 1,
            b',' if depth == 0 => {
                out.push(text[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    out.push(text[from..].trim());
    out
}

/// Whether an expression has an operator outside of brackets.
pub fn is_compound(text: &str) -> bool {
    let mut depth = 0;
    let text = text.trim();
    text.bytes().any(|byte| {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth -= 1,
            _ => {}
        }
        depth == 0 && byte == b' '
    }) || text.starts_with('-')
}

/// Whether an expression has a sum, a comparison or worse outside of brackets: what a product
/// cannot hold.
pub fn is_sum(text: &str) -> bool {
    let mut depth = 0;
    let bytes = text.trim().as_bytes();
    bytes.iter().enumerate().any(|(at, byte)| {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth -= 1,
            _ => {}
        }
        let next = bytes.get(at + 1).copied().unwrap_or(b' ');
        depth == 0 && *byte == b' ' && !matches!(next, b'*' | b' ') && bytes.get(at.wrapping_sub(1)) != Some(&b'*')
    }) || bytes.first() == Some(&b'-')
}

/// The line with an expression in the place of a name, in brackets where it needs them.
pub fn inline(line: &str, name: &str, expression: &str) -> String {
    let mut out = line.to_string();
    for place in places(line, name).into_iter().rev() {
        let before = line[..place.start].trim_end();
        let after = line[place.end..].trim_start();
        let opens = before.ends_with(['(', ',', '['])
            || (before.ends_with('=') && !["==", "<=", ">=", "!="].iter().any(|op| before.ends_with(op)))
            || before.ends_with(" return");
        let closes = after.is_empty() || after.starts_with([')', ',', ']']);
        let text = match is_compound(expression) && !(opens && closes) {
            true => format!("({expression})"),
            false => expression.to_string(),
        };
        out.replace_range(place, &text);
    }
    out
}

/// The opposite of a condition.
pub fn negated(condition: &str) -> String {
    let flip = |part: &str| {
        const PAIRS: [(&str, &str); 6] =
            [(" < ", " >= "), (" > ", " <= "), (" <= ", " > "), (" >= ", " < "), (" == ", " != "), (" != ", " == ")];
        match PAIRS.iter().find(|(from, _)| part.contains(from)) {
            Some((from, to)) => part.replacen(from, to, 1),
            None => format!("not {part}"),
        }
    };
    match condition.contains(" or ") {
        true => condition.split(" or ").map(flip).collect::<Vec<_>>().join(" and "),
        false => condition.split(" and ").map(flip).collect::<Vec<_>>().join(" or "),
    }
}

/// The line with the indices `[a, b]` of an array as one index into rows that lie one after the
/// other. None: the array is used in another way.
pub fn flattened(line: &str, array: &str, extents: &[String]) -> Option<String> {
    let mut out = line.to_string();
    for place in places(line, array).into_iter().rev() {
        let rest = &out[place.end..];
        let (list, from, to, tail) = if rest.starts_with('[') {
            let close = closing(&out, place.end)?;
            let list = arguments(&out[place.end + 1..close]).iter().map(|s| s.to_string()).collect::<Vec<_>>();
            (list, place.end + 1, close, Vec::new())
        } else {
            let open = out[..place.start].rfind("wp.atomic_").and_then(|at| Some(at + out[at..].find('(')?))?;
            if open + 1 != place.start {
                return None;
            }
            let close = closing(&out, open)?;
            let mut list: Vec<String> = arguments(&out[place.end + 1..close]).iter().map(|s| s.to_string()).collect();
            let tail = list.split_off(extents.len().min(list.len()));
            (list, place.end + 1, close, tail)
        };
        if list.len() != extents.len() {
            return None;
        }
        // What is multiplied by the 0 of a first index, nobody writes down.
        if list[0] == "0" {
            return None;
        }
        let mut index = list[0].clone();
        for (next, extent) in list[1..].iter().zip(&extents[1..]) {
            let row = if is_sum(&index) { format!("({index})") } else { index };
            index = match next.starts_with('-') {
                true => return None,
                false if next == "0" => format!("{row} * {extent}"),
                false => format!("{row} * {extent} + {next}"),
            };
        }
        let text = [vec![index], tail.clone()].concat().join(", ");
        let lead = if tail.is_empty() { "" } else { " " };
        out.replace_range(from..to, &format!("{lead}{text}"));
    }
    Some(out)
}

/// The docstring at the top of a body.
pub fn take_doc(lines: &mut Vec<String>) -> Option<String> {
    let doc = lines.first()?.trim().strip_prefix("\"\"\"")?.strip_suffix("\"\"\"")?.to_string();
    lines.remove(0);
    while lines.first().is_some_and(String::is_empty) {
        lines.remove(0);
    }
    Some(doc)
}

/// Whether a line changes elements of an array.
pub fn writes(line: &str, array: &str) -> bool {
    places(line, array).into_iter().any(|place| {
        let before = &line[..place.start];
        let atomic =
            before.rfind("wp.atomic_").is_some_and(|at| before[at..].ends_with('(') && !before[at..].contains(','));
        let mut end = place.end;
        while line[end..].starts_with('[') {
            end = closing(line, end).map_or(line.len(), |close| close + 1);
        }
        let rest = line[end..].trim_start();
        let rest = rest.strip_prefix(['+', '-', '*', '/']).unwrap_or(rest);
        // Also as an alternative that is not chosen yet.
        let tile = ["wp.tile_store(", "wp.tile_atomic_add("].iter().any(|call| before.ends_with(call));
        let before = before.trim();
        let begins = before.is_empty() || before.ends_with("{{") || before.ends_with("||");
        let stored = begins && end > place.end && rest.starts_with('=') && !rest.starts_with("==");
        atomic || tile || stored
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_as_words() {
        assert_eq!(replace("x[i] = a.x + xx * x  # x", "x", "pos"), "pos[i] = a.x + xx * pos  # x");
        assert_eq!(places("y = wp.max(y0, y)", "y").len(), 2);
    }

    #[test]
    fn expressions_move_into_statements() {
        assert_eq!(inline("a = d * w", "d", "x - y"), "a = (x - y) * w");
        assert_eq!(inline("a = f(d, w)", "d", "x - y"), "a = f(x - y, w)");
        assert_eq!(inline("if a == d:", "d", "x - y"), "if a == (x - y):");
        assert_eq!(inline("a[d] = 1.0", "d", "x[i]"), "a[x[i]] = 1.0");
    }

    #[test]
    fn conditions_are_turned_round() {
        assert_eq!(negated("i < n and j < m"), "i >= n or j >= m");
        assert_eq!(negated("mask[i] != 0"), "mask[i] == 0");
        assert_eq!(negated("a or b"), "not a and not b");
    }

    #[test]
    fn rows_lie_one_after_the_other() {
        let extents = ["ny".to_string(), "nx".to_string()];
        let flat = |line: &str| flattened(line, "u", &extents);
        assert_eq!(flat("a = u[i - 1, j] + u[i, j]").as_deref(), Some("a = u[(i - 1) * nx + j] + u[i * nx + j]"));
        assert_eq!(flat("wp.atomic_add(u, i, j, w)").as_deref(), Some("wp.atomic_add(u, i * nx + j, w)"));
        assert_eq!(flat("a = f(u, i)"), None);
    }
}
