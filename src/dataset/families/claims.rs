//! Does the text say something that the code does not do? Names that are not there, codes that
//! nothing handles, numbers that are not drawn as the description says.

use super::code;
use super::facts;
use super::library::{Kind, Role};
use super::program::{Built, Draft};

/// The first thing that is said and not so.
pub fn first(draft: &Draft) -> Option<String> {
    let roles = draft.roles.iter().find_map(|role| content(role).or_else(|| codes(draft, role)));
    let device = || draft.functions.iter().filter(|function| function.kind != Kind::Reference);
    roles.or_else(|| device().find_map(|function| names(draft, function).or_else(|| threads(draft, function))))
}

/// A description that promises another distribution or order than the array has.
fn content(role: &Role) -> Option<String> {
    const PROMISES: [(&str, &[&str]); 9] = [
        ("unit variance", &["normal"]),
        ("normal increments", &["normal"]),
        ("normally distributed", &["normal"]),
        ("standard normal", &["normal"]),
        ("sorted", &["sorted", "rows", "range", "zeros"]),
        ("unit vector", &["unit", "zeros"]),
        ("unit ray", &["unit"]),
        ("each once", &["permutation", "range", "zeros"]),
        ("permutation", &["permutation", "zeros"]),
    ];
    if !role.is_array() {
        return None;
    }
    let is_false =
        |(words, contents): &&(&str, &[&str])| role.about.contains(words) && !contents.contains(&role.content().0);
    // What a kernel sorts in place is not sorted before.
    let (words, _) = PROMISES.iter().find(is_false).filter(|_| !role.about.contains("in place"))?;
    Some(format!("`{}` is described as {words} and filled by `{}`", role.name, role.content))
}

/// A list of codes, `0 fluid, 1 wall`, of which one is never drawn, or of which more than one is
/// never asked for.
fn codes(draft: &Draft, role: &Role) -> Option<String> {
    let ("uniform", list) = role.content() else { return None };
    let listed: Vec<i64> = codes_of(&role.about);
    if role.ty != "int" || listed.len() < 2 {
        return None;
    }
    let number = |n: usize| list.get(n).and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0) as i64;
    if let Some(code) = listed.iter().find(|code| !(number(0)..number(1)).contains(code)) {
        return Some(format!("`{}` never is {code}, as its description says", role.name));
    }
    let device = || draft.functions.iter().filter(|function| function.kind != Kind::Reference);
    let is_asked = |code: i64| {
        let marks = [" == ", " != ", " > ", " < ", " >= ", " <= "];
        device().flat_map(|function| &function.body).any(|line| {
            marks.iter().any(|mark| {
                line.match_indices(&format!("{mark}{code}")).any(|(at, found)| {
                    !line[at + found.len()..].starts_with(|c: char| c.is_ascii_alphanumeric() || c == '.')
                })
            })
        })
    };
    let silent: Vec<i64> = listed.iter().copied().filter(|&code| !is_asked(code)).collect();
    (silent.len() > 1).then(|| format!("nothing asks whether `{}` is {silent:?}", role.name))
}

/// The numbers of a list of codes.
fn codes_of(about: &str) -> Vec<i64> {
    let part = |part: &str| {
        let (number, name) = part.trim().split_once(' ')?;
        let number = number.rsplit(": ").next()?.parse::<i64>().ok()?;
        name.starts_with(|c: char| c.is_ascii_lowercase()).then_some(number)
    };
    // Behind a colon the list begins.
    let list = about.rsplit(": ").next().unwrap_or(about);
    list.split([',', ';']).filter_map(part).collect()
}

/// A name in backticks, or an argument of a docstring, that the function does not have.
fn names(draft: &Draft, function: &Built) -> Option<String> {
    let known = |name: &str| {
        let in_body = function.body.iter().any(|line| code::mentions(line, name));
        in_body || function.params.iter().any(|param| param == name) || code::mentions(&function.head, name)
    };
    let comments = function.body.iter().filter_map(|line| line.split_once('#').map(|(_, comment)| comment));
    let texts = comments.chain(function.doc.as_deref());
    for text in texts {
        for name in text.split('`').skip(1).step_by(2) {
            let first = name.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default();
            if !first.is_empty() && !first.starts_with(|c: char| c.is_ascii_digit()) && !known(first) {
                return Some(format!("`{}` has no `{first}`", function.name));
            }
        }
    }
    let sizes = function.params.iter().filter(|name| draft.role(name).is_none());
    let texts = sizes.filter_map(|name| facts::size(draft, Some(function), name));
    let of_others = |text: String| {
        let name = text.split('`').nth(1)?.to_string();
        (!known(&name)).then(|| format!("`{}` has no `{name}`", function.name))
    };
    texts.filter_map(of_others).next()
}

/// A comment that gives each number or row a thread where threads work together.
fn threads(draft: &Draft, function: &Built) -> Option<String> {
    let has_tiles = function.body.iter().any(|line| line.contains("wp.tile_"));
    let comments = function.body.iter().filter_map(|line| line.split_once('#').map(|(_, comment)| comment));
    let mut texts = comments.chain(function.doc.as_deref());
    let is_one = |text: &str| {
        let text = text.to_lowercase();
        ["one thread per", "per thread", "each thread takes", "of this thread"].iter().any(|words| text.contains(words))
    };
    let is_false = has_tiles && texts.any(is_one);
    let dims = function.dims.join(", ");
    is_false
        .then(|| format!("`{}` of {} has a block for what is said of a thread of [{dims}]", function.name, draft.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn role(content: &str, about: &str) -> Role {
        Role {
            name: "a".to_string(),
            ty: "float".to_string(),
            dims: Some(vec!["n".to_string()]),
            content: content.to_string(),
            about: about.to_string(),
        }
    }

    #[test]
    fn promises_are_compared_with_what_is_drawn() {
        assert!(content(&role("uniform(-1.7, 1.7)", "increments with unit variance")).is_some());
        assert!(content(&role("normal(0.0, 1.0)", "increments with unit variance")).is_none());
        assert!(content(&role("uniform(0, 100)", "keys, sorted in place")).is_none());
        assert!(content(&role("index(n)", "elements, each once")).is_some());
    }

    #[test]
    fn codes_are_read_from_descriptions() {
        assert_eq!(codes_of("0 fluid, 1 wall, 2 prescribed velocity"), [0, 1, 2]);
        assert_eq!(codes_of("dynamics: 0 none, 1 integrator"), [0, 1]);
        assert!(codes_of("positions along 3 axes").is_empty());
    }
}
