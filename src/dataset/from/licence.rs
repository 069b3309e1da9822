//! May a file be given to others? What it says itself, or else the licence in its folder or one
//! above it, up to the folder that was asked for.

use std::path::Path;

/// Licences that let others use a text, changed or not, by their names after SPDX, and words that a
/// text has that is one of them. The first that fits counts.
const PERMISSIVE: [(&str, &[&str]); 9] = [
    ("Apache-2.0", &["apache license", "version 2.0"]),
    ("MIT", &["permission is hereby granted, free of charge", "the software is provided \"as is\""]),
    ("BSD-3-Clause", &["redistribution and use in source and binary forms", "neither the name"]),
    ("BSD-2-Clause", &["redistribution and use in source and binary forms"]),
    ("ISC", &["permission to use, copy, modify, and/or distribute this software for any purpose"]),
    ("Zlib", &["this software is provided 'as-is'", "altered source versions must be plainly marked"]),
    ("Unlicense", &["this is free and unencumbered software released into the public domain"]),
    ("CC0-1.0", &["cc0 1.0 universal"]),
    ("0BSD", &["zero-clause bsd"]),
];

/// Lines at the top of a file in which it can name its licence.
const HEAD: usize = 40;

/// The name of a file's licence; None: it has none, or another one.
pub fn of(root: &Path, path: &Path, text: &str) -> Option<&'static str> {
    let head: String = text.lines().take(HEAD).map(|line| format!("{line}\n")).collect();
    if let Some((_, named)) = head.split_once("SPDX-License-Identifier:") {
        let named = named.lines().next().unwrap_or_default().trim();
        return PERMISSIVE.iter().map(|(name, _)| *name).find(|name| named.eq_ignore_ascii_case(name));
    }
    let mut folder = path.parent();
    while let Some(here) = folder.filter(|here| here.starts_with(root)) {
        if let Some(text) = text_in(here) {
            return named(&text);
        }
        folder = here.parent();
    }
    None
}

/// The text of the licence in a folder.
fn text_in(folder: &Path) -> Option<String> {
    const NAMES: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "LICENSE-APACHE", "UNLICENSE"];
    let find =
        |end: &str| NAMES.iter().find_map(|name| std::fs::read_to_string(folder.join(format!("{name}{end}"))).ok());
    ["", ".txt", ".md", ".rst"].into_iter().find_map(find)
}

/// The licence that a text is.
fn named(text: &str) -> Option<&'static str> {
    let text = text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ");
    let fits = |(_, words): &&(&str, &[&str])| words.iter().all(|words| text.contains(words));
    PERMISSIVE.iter().find(fits).map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn licences_are_known_by_their_words() {
        assert_eq!(named("  Apache License\n   Version 2.0, January 2004"), Some("Apache-2.0"));
        assert_eq!(named("GNU GENERAL PUBLIC LICENSE Version 3"), None);
        let of = |text: &str| of(Path::new("/nowhere"), Path::new("/nowhere/a.py"), text);
        assert_eq!(of("# SPDX-License-Identifier: mit\n"), Some("MIT"));
        assert_eq!(of("# SPDX-License-Identifier: GPL-3.0-only\n"), None);
        assert_eq!(of("import warp as wp\n"), None);
    }
}
