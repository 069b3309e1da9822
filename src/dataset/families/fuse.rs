//! When is a small kernel a part of another one? Where the same thread has what it needs, people
//! save a launch.

use super::code;
use super::code::writes;
use super::library::{Function, Kind};

/// A kernel's lines with those of a small one behind them, on the array that both know. None: a
/// thread would need what another one makes, some threads are gone before the end, or names would
/// meet.
pub fn fused(
    main: (&Function, &[String], &[String]),
    small: (&[String], &[String]),
    array: &str,
) -> Option<Vec<String>> {
    let ((function, lines, dims), (small, small_dims)) = (main, small);
    let leaves = |line: &String| code::words(line).any(|word| ["return", "require", "grid"].contains(&word));
    // Kernels of tiles have many threads for one number.
    let leaves = |line: &String| leaves(line) || line.contains("wp.tile_");
    if function.kind != Kind::Kernel || dims != small_dims || dims.len() != 1 || lines.iter().any(leaves) {
        return None;
    }
    let (own, theirs) = (thread(lines)?, thread(small)?);
    let is_changed = lines.iter().chain(small).any(|line| writes(line, array));
    let is_own = |line: &String, index: &str| {
        let element = format!("[{index}]");
        code::places(line, array).into_iter().all(|place| line[place.end..].starts_with(&element))
    };
    if is_changed && !(lines.iter().all(|line| is_own(line, own)) && small.iter().all(|line| is_own(line, theirs))) {
        return None;
    }
    let known = |word: &str| lines.iter().any(|line| code::words(line).any(|own| own == word));
    let is_new = |line: &String| declared(line).is_none_or(|name| name == theirs || !known(name));
    // A name of the algorithm may be one of the small kernel's values.
    if !small.iter().all(is_new) || (own != theirs && small.iter().any(|line| code::mentions(line, own))) {
        return None;
    }
    let mut out = lines.to_vec();
    let skipped = |line: &&String| {
        let text = line.trim();
        text.is_empty() || text.starts_with("\"\"\"") || text.ends_with("= wp.tid()") || text.starts_with("guard ")
    };
    out.push(String::new());
    out.extend(small.iter().filter(|line| !skipped(line)).map(|line| code::replace(line, theirs, own)));
    Some(out)
}

/// The name of a thread's number.
fn thread(lines: &[String]) -> Option<&str> {
    lines.iter().find_map(|line| line.trim().strip_suffix(" = wp.tid()")).filter(|name| !name.contains(','))
}

/// The name that a statement gives a value.
fn declared(line: &str) -> Option<&str> {
    let text = line.trim_start();
    let text = text.strip_prefix("let ").or_else(|| text.strip_prefix("for ")).unwrap_or(text);
    let name = text.split_whitespace().next()?;
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    (is_name && (text[name.len()..].starts_with(" = ") || text[name.len()..].starts_with(" in "))).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &[&str]) -> Vec<String> {
        text.iter().map(|line| format!("    {line}")).collect()
    }

    #[test]
    fn only_what_a_thread_has_itself_is_joined() {
        let dims = ["n".to_string()];
        let function = Function {
            kind: Kind::Kernel,
            name: "f".to_string(),
            head: "",
            dims: vec!["n"],
            tags: Vec::new(),
            body: Vec::new(),
        };
        let small = lines(&["t = wp.tid()", "guard t < n", "wp.atomic_max(top, 0, y[t])"]);
        let of = |main: &[&str]| fused((&function, &lines(main), &dims), (&small, &dims), "y");
        let joined = of(&["i = wp.tid()", "y[i] = x[i]"]).expect("its own element");
        assert_eq!(joined.last().map(String::as_str), Some("    wp.atomic_max(top, 0, y[i])"));
        assert_eq!(of(&["i = wp.tid()", "y[i + 1] = x[i]"]), None);
        assert_eq!(of(&["i = wp.tid()", "require x[i] > 0.0", "y[i] = x[i]"]), None);
    }
}
