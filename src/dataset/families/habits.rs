//! What habits does one person have, whatever the algorithm? A value gets a name before it is
//! stored, or what is used once gets none; a sum grows by `+=` or in full; the components of a
//! vector have names or stand where they are put together.

use std::collections::HashSet;

use super::code;
use super::library::Role;
use crate::dataset::random::Random;

/// Lines up to this long come of values without names.
const LONGEST: usize = 92;

/// What a value is called that is stored, where its array has no better word.
const RESULTS: [&str; 3] = ["result", "val", "new_value"];

/// The lines of a function, and what it declares.
pub type Lines<'a> = (&'a mut Vec<String>, &'a str);

/// Writes kernels and helpers as one person does. `taken` are names of other things; `singular` is
/// the word for one of several.
pub fn keep<'a>(
    functions: impl Iterator<Item = Lines<'a>>,
    roles: &[Role],
    taken: &HashSet<String>,
    singular: fn(&str) -> String,
    random: &mut Random,
) {
    let (named, terse) = [(false, false), (true, false), (false, true)][random.weighted(&[30, 38, 32])];
    let sums = [None, Some(true), Some(false)][random.weighted(&[34, 33, 33])];
    let parts = random.chance(40);
    let result = *random.pick(&RESULTS);
    for (body, head) in functions {
        let mut known = taken.clone();
        known.extend(body.iter().flat_map(|line| code::words(line)).map(str::to_string));
        known.extend(code::words(head).map(str::to_string));
        if let Some(short) = sums {
            body.iter_mut().for_each(|line| *line = summed(line, short).unwrap_or(line.clone()));
        }
        if terse {
            unname(body, random);
        }
        if parts {
            let more = |line: &String, known: &mut HashSet<String>| components(line, known);
            spread(body, &mut known, more);
        }
        if named {
            let more = |line: &String, known: &mut HashSet<String>| stored(line, roles, (result, singular), known);
            spread(body, &mut known, more);
        }
    }
}

/// Puts in the place of each line what it becomes, if it becomes something else.
fn spread(
    body: &mut Vec<String>,
    known: &mut HashSet<String>,
    more: impl Fn(&String, &mut HashSet<String>) -> Option<Vec<String>>,
) {
    *body = std::mem::take(body).into_iter().flat_map(|line| more(&line, known).unwrap_or(vec![line])).collect();
}

/// A statement that gives a name a value: the two. Nothing else that is assigned, and no comment.
fn binding(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.trim().split_once(" = ")?;
    (is_name(name) && !line.contains('#') && !value.is_empty()).then_some((name, value))
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// `x = x + y` as `x += y` or the other way; None: it is neither.
fn summed(line: &str, short: bool) -> Option<String> {
    let pad = &line[..code::indent(line)];
    if line.contains('#') {
        return None;
    }
    if short {
        let (name, value) = binding(line)?;
        let rest = value.strip_prefix(name)?;
        let (mark, rest) = [" + ", " - "].iter().find_map(|mark| Some((mark.trim(), rest.strip_prefix(mark)?)))?;
        return (!code::is_sum(rest) && !code::mentions(rest, name)).then(|| format!("{pad}{name} {mark}= {rest}"));
    }
    let (mark, (name, value)) =
        ["+", "-"].iter().find_map(|mark| Some((mark, line.trim().split_once(&format!(" {mark}= "))?)))?;
    let value = if code::is_sum(value) { format!("({value})") } else { value.to_string() };
    is_name(name).then(|| format!("{pad}{name} = {name} {mark} {value}"))
}

/// Values that are used once, at once, need no name.
fn unname(body: &mut Vec<String>, random: &mut Random) {
    let mut at = 0;
    while at + 1 < body.len() {
        match joined(body, at).filter(|_| random.chance(75)) {
            Some((to, line)) => {
                body[to] = line;
                body.remove(at);
            }
            None => at += 1,
        }
    }
}

/// The line that takes the value of the one at a place, and what it is then.
fn joined(body: &[String], at: usize) -> Option<(usize, String)> {
    const OTHERS: [&str; 8] = ["wp.tid", "atomic", "rand", "tile", "print", "wp.float", "wp.int", "address"];
    let (name, value) = binding(&body[at])?;
    // What changes later begins with a cast.
    let begins = ["float(", "int("].iter().any(|word| value.starts_with(word));
    let is_commented = at > 0 && body[at - 1].trim_start().starts_with('#');
    if begins || is_commented || OTHERS.iter().any(|word| value.contains(word)) {
        return None;
    }
    let rest = &body[at + 1..];
    let sets = |line: &String| {
        let text = line.trim();
        ["=", "+=", "-=", "*=", "/=", "//="].iter().any(|mark| text.starts_with(&format!("{name} {mark} ")))
            || text.starts_with("for ") && code::mentions(text.split(" in ").next().unwrap_or_default(), name)
    };
    let used: usize = rest.iter().map(|line| code::places(line, name).len()).sum();
    if used != 1 || body[..at].iter().any(|line| code::mentions(line, name)) || rest.iter().any(sets) {
        return None;
    }
    let user = rest.iter().position(|line| code::mentions(line, name))?;
    let line = &rest[user];
    let same = code::indent(line) == code::indent(&body[at]);
    let opens = ["for ", "while ", "elif ", "else"].iter().any(|word| line.trim_start().starts_with(word));
    // Between them nothing is written but other values with names.
    let is_plain = |line: &String| {
        code::indent(line) == code::indent(&body[at])
            && binding(line).is_some_and(|(other, own)| {
                !code::mentions(value, other) && !OTHERS.iter().any(|word| own.contains(word))
            })
    };
    let place = code::places(line, name).into_iter().next()?;
    let is_picked = line[place.end..].starts_with(['[', '.']);
    if !same || opens || is_picked || line.contains('#') || !rest[..user].iter().all(is_plain) {
        return None;
    }
    let made = code::inline(line, name, value);
    (made.len() <= LONGEST).then_some((at + 1 + user, made))
}

/// A vector that is put together of values with names.
fn components(line: &str, known: &mut HashSet<String>) -> Option<Vec<String>> {
    let (name, value) = binding(line)?;
    let call = ["wp.vec2", "wp.vec3"].into_iter().find(|call| value.starts_with(call))?;
    let open = value.find('(').filter(|open| *open <= call.len() + 1)?;
    if value[call.len()..open].contains('i') || code::closing(value, open) != Some(value.len() - 1) {
        return None;
    }
    let list = code::arguments(&value[open + 1..value.len() - 1]);
    let count = if call.ends_with('2') { 2 } else { 3 };
    if list.len() != count || list.iter().filter(|one| code::is_compound(one) && one.len() > 8).count() < 2 {
        return None;
    }
    let joint = if name.len() < 2 { "" } else { "_" };
    let names: Vec<String> = ["x", "y", "z"].iter().take(count).map(|axis| format!("{name}{joint}{axis}")).collect();
    if code::mentions(value, name) || names.iter().any(|name| known.contains(name)) {
        return None;
    }
    let pad = &line[..code::indent(line)];
    // A number and a plain name stay where they are.
    let wanted = |one: &str| code::is_compound(one) || one.contains('(');
    let mut out: Vec<String> = Vec::new();
    let mut all: Vec<&str> = Vec::new();
    for (name, one) in names.iter().zip(&list) {
        let is_named = wanted(one);
        all.push(if is_named { name } else { one });
        if is_named {
            out.push(format!("{pad}{name} = {one}"));
            known.insert(name.clone());
        }
    }
    out.push(format!("{pad}{name} = {}({})", &value[..open], all.join(", ")));
    Some(out)
}

/// A value with a name, and the line that stores it.
fn stored(
    line: &str,
    roles: &[Role],
    (result, singular): (&str, fn(&str) -> String),
    known: &mut HashSet<String>,
) -> Option<Vec<String>> {
    let pad = &line[..code::indent(line)];
    let text = line.trim();
    let open = text.find('[')?;
    let array = roles.iter().find(|role| role.is_array() && role.name == text[..open])?;
    let close = code::closing(text, open)?;
    let value = text[close + 1..].strip_prefix(" = ")?;
    if line.contains('#') || !code::is_compound(value) || value.len() < 10 || array.ty == "bool" || array.ty == "uint8"
    {
        return None;
    }
    let is_part = code::arguments(&text[open + 1..close])
        .last()
        .is_some_and(|last| last.bytes().all(|byte| byte.is_ascii_digit()));
    let one = singular(&array.name.replace('_', " ")).replace(' ', "_");
    let is_word = array.name.ends_with('s') && one.len() > 3 && one != array.name && !is_part;
    let names = [if is_word { one } else { result.to_string() }, result.to_string()];
    let name = names.into_iter().find(|name| !known.contains(name))?;
    known.insert(name.clone());
    Some(vec![format!("{pad}{name} = {value}"), format!("{pad}{} = {name}", &text[..=close])])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_grow_in_two_ways() {
        assert_eq!(summed("    x = x + a * b", true).as_deref(), Some("    x += a * b"));
        assert_eq!(summed("    x -= a - b", false).as_deref(), Some("    x = x - (a - b)"));
        // Another order of additions, an element, a product.
        for line in ["x = x + a - b", "u[i] = u[i] + a", "x = x * a", "x = x + x"] {
            assert_eq!(summed(line, true), None, "{line}");
        }
        assert_eq!(summed("u[i] += a", false), None);
    }

    fn terse(lines: &[&str]) -> Option<String> {
        let body: Vec<String> = lines.iter().map(|line| format!("    {line}")).collect();
        joined(&body, 0).map(|(_, line)| line.trim().to_string())
    }

    #[test]
    fn what_is_used_once_needs_no_name() {
        assert_eq!(terse(&["d = a - b", "y[i] = d * c"]).as_deref(), Some("y[i] = (a - b) * c"));
        assert_eq!(terse(&["d = a - b", "e = c", "y[i] = d * e"]).as_deref(), Some("y[i] = (a - b) * e"));
        // Used twice, changed between, after a store, in a loop, picked from, changed later.
        assert_eq!(terse(&["d = a - b", "y[i] = d * d"]), None);
        assert_eq!(terse(&["d = a - b", "a = c", "y[i] = d"]), None);
        assert_eq!(terse(&["d = x[i]", "x[i] = 0.0", "y[i] = d"]), None);
        assert_eq!(terse(&["d = a - b", "while d < 1.0:"]), None);
        assert_eq!(terse(&["d = a - b", "y[i] = d[0]"]), None);
        assert_eq!(terse(&["d = a - b", "d += c"]), None);
        assert_eq!(terse(&["d = wp.atomic_add(n, 0, 1)", "y[d] = c"]), None);
    }

    #[test]
    fn values_get_names() {
        let role = Role {
            name: "forces".to_string(),
            ty: "vec3".to_string(),
            dims: Some(vec!["n".to_string()]),
            content: "zeros".to_string(),
            about: "forces".to_string(),
        };
        let mut known = HashSet::new();
        let mut of = |line: &str| {
            stored(
                line,
                std::slice::from_ref(&role),
                ("result", |things| things.trim_end_matches('s').to_string()),
                &mut known,
            )
            .map(|lines| lines.join("|"))
        };
        assert_eq!(of("forces[i] = a * b + c * d").as_deref(), Some("force = a * b + c * d|forces[i] = force"));
        assert_eq!(of("forces[i] = a * b + c * d").as_deref(), Some("result = a * b + c * d|forces[i] = result"));
        assert_eq!(
            (of("forces[i] = a * b + c * d"), of("forces[i] = a"), of("forces[i] += a * b + c * d")),
            (None, None, None)
        );
        let of = |line: &str| components(line, &mut HashSet::new()).map(|lines| lines.join("|"));
        assert_eq!(
            of("g = wp.vec3(a[1] - a[0], b[1] - b[0], 0.0)").as_deref(),
            Some("gx = a[1] - a[0]|gy = b[1] - b[0]|g = wp.vec3(gx, gy, 0.0)")
        );
        assert_eq!(of("g = wp.vec3(a, b, c)"), None);
    }
}
