//! Which lines of a file does a kernel need? Its imports, and the functions, structs and constants
//! that it names, and those that these name.

use std::collections::BTreeSet;

use crate::source::Span;
use crate::syntax::ast::{Function, Item, Parsed};

/// The program of one kernel.
pub fn of(text: &str, parsed: &Parsed, kernel: &Function) -> String {
    let mut needed: BTreeSet<usize> = BTreeSet::new();
    let of_kernel = |item: &Item| matches!(item, Item::Function(function) if function.span == kernel.span);
    let mut open: Vec<usize> = parsed.items.iter().position(of_kernel).into_iter().collect();
    while let Some(at) = open.pop() {
        if !needed.insert(at) {
            continue;
        }
        let Some((span, _)) = named(&parsed.items[at]) else { continue };
        let words = words(&text[span.start as usize..span.end as usize]);
        let is_named = |item: &Item| named(item).is_some_and(|(_, name)| words.contains(name));
        // A name that is given twice has the value that it had last.
        open.extend(parsed.items.iter().enumerate().filter(|(_, item)| is_named(item)).map(|(n, _)| n));
    }
    let mut imports = String::new();
    let mut rest = String::new();
    let used: BTreeSet<&str> = needed
        .iter()
        .filter_map(|&at| named(&parsed.items[at]))
        .flat_map(|(span, _)| words(&text[span.start as usize..span.end as usize]))
        .collect();
    for (n, item) in parsed.items.iter().enumerate() {
        match item {
            Item::Import(import) => {
                let mut names = import.names.iter().map(|one| one.alias.as_ref().unwrap_or(&one.name).text.as_str());
                let module = import.module.split('.').next().unwrap_or_default();
                let own = import.alias.as_ref().map_or(module, |alias| alias.text.as_str());
                let is_used =
                    if import.names.is_empty() { used.contains(own) } else { names.any(|name| used.contains(name)) };
                if is_used && !imports.contains(lines(text, import.span)) {
                    imports += &format!("{}\n", lines(text, import.span));
                }
            }
            item if needed.contains(&n) => {
                let Some((span, _)) = named(item) else { continue };
                let gap = if matches!(item, Item::Constant(_)) { "\n" } else { "\n\n" };
                rest += &format!("{gap}{}\n", lines(text, span));
            }
            _ => {}
        }
    }
    imports + &rest
}

/// An item that can be named, with its name.
fn named(item: &Item) -> Option<(Span, &str)> {
    match item {
        Item::Function(function) => Some((function.span, &function.name.text)),
        Item::Class(class) => Some((class.span, &class.name.text)),
        Item::Constant(constant) => Some((constant.span, &constant.name.text)),
        _ => None,
    }
}

fn words(text: &str) -> BTreeSet<&str> {
    let parts = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    parts.filter(|word| word.starts_with(|c: char| c.is_alphabetic() || c == '_')).collect()
}

/// The whole lines of a span, without their last end.
fn lines(text: &str, span: Span) -> &str {
    let start = text[..span.start as usize].rfind('\n').map_or(0, |at| at + 1);
    let end = text[span.end as usize..].find('\n').map_or(text.len(), |at| span.end as usize + at);
    text[start..end].trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::identity;
    use crate::diag::Diagnostics;
    use crate::source::FileId;
    use crate::syntax;

    #[test]
    fn kernels_come_with_what_they_name() {
        let text = "import os\nimport warp as wp\n\nSCALE = 2.0\nOTHER = 3.0\n\n@wp.func\ndef half(x: float):\n    return x / SCALE\n\n\
                    @wp.kernel\ndef a(x: wp.array[float]):\n    i = wp.tid()\n    x[i] = half(x[i])\n\n\
                    @wp.kernel\ndef b(x: wp.array[float]):\n    x[wp.tid()] = OTHER\n\nprint(os.name)\n";
        let parsed = syntax::parse(FileId(0), text, &mut Diagnostics::new());
        let kernels: Vec<_> = identity::kernels_of(&parsed).collect();
        let programs: Vec<String> = kernels.iter().map(|kernel| of(text, &parsed, kernel)).collect();
        assert!(programs[0].contains("def half") && programs[0].contains("SCALE = 2.0"), "{}", programs[0]);
        assert!(!programs[0].contains("OTHER") && !programs[0].contains("import os"), "{}", programs[0]);
        assert!(programs[1].contains("OTHER = 3.0") && !programs[1].contains("half"), "{}", programs[1]);
    }
}
