//! Which expressions stand in an f-string?

use std::ops::Range;

/// The places of the expressions in a string literal, quotes included; none in one that is no
/// f-string.
pub fn fields(literal: &str) -> Vec<Range<usize>> {
    let Some(quote) = literal.find(['"', '\'']) else { return Vec::new() };
    if !literal[..quote].contains(['f', 'F']) {
        return Vec::new();
    }
    let bytes = literal.as_bytes();
    let mut found = Vec::new();
    let mut at = quote;
    while at < bytes.len() {
        match bytes[at] {
            b'{' if bytes.get(at + 1) == Some(&b'{') => at += 2,
            b'{' => {
                let end = expression_end(bytes, at + 1);
                found.push(at + 1..end);
                at = end;
            }
            _ => at += 1,
        }
    }
    found
}

/// Where an expression ends that begins at `from`: before its format, its conversion or the brace
/// that closes it.
fn expression_end(bytes: &[u8], from: usize) -> usize {
    let mut depth = 0_usize;
    let mut quote = None;
    for at in from..bytes.len() {
        match (quote, bytes[at]) {
            (Some(open), byte) => quote = Some(open).filter(|_| byte != open),
            (None, byte @ (b'"' | b'\'')) => quote = Some(byte),
            (None, b'(' | b'[' | b'{') => depth += 1,
            (None, b'}' | b':') if depth == 0 => return at,
            (None, b'!') if depth == 0 && bytes.get(at + 1) != Some(&b'=') => return at,
            (None, b')' | b']' | b'}') => depth = depth.saturating_sub(1),
            (None, _) => {}
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::fields;

    #[test]
    fn fields_are_found_beside_formats_and_braces() {
        let of = |literal: &'static str| fields(literal).into_iter().map(|place| &literal[place]).collect::<Vec<_>>();
        assert_eq!(of("f'{a} {{no}} {b[i]!r:>{width}} {c != 1}'"), ["a", "b[i]", "width", "c != 1"]);
        assert_eq!(of("rF\"\"\"{d['}']}{x[1:2]:.3f}\"\"\""), ["d['}']", "x[1:2]"]);
        assert_eq!(of("f'{a'"), ["a'"]);
        assert!(of("'{a}'").is_empty() && of("b'{a}'").is_empty());
    }
}
