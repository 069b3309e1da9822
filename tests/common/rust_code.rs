//! What of a Rust source file is built outside of tests?

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};

/// The code that is built outside of tests. Comments, text literals and what is under
/// `#[cfg(test)]` are blanks, so that lines keep their numbers.
#[derive(Default)]
pub struct Code {
    pub text: String,
    /// The modules that are in files of their own and are built for tests alone.
    pub test_modules: Vec<TestModule>,
}

pub struct TestModule {
    pub name: String,
    /// What `#[path = "..."]` says.
    pub path: Option<String>,
}

impl Code {
    pub fn of(text: &str) -> Code {
        let tokens: TokenStream = text.parse().unwrap_or_else(|error| panic!("{error}:\n{text}"));
        let blank = text.bytes().map(|c| if c == b'\n' { c } else { b' ' }).collect();
        let mut reader = Reader { text, kept: blank, test_modules: Vec::new() };
        reader.keep(tokens);
        Code { text: String::from_utf8(reader.kept).expect("whole tokens"), test_modules: reader.test_modules }
    }
}

struct Reader<'t> {
    text: &'t str,
    kept: Vec<u8>,
    test_modules: Vec<TestModule>,
}

impl Reader<'_> {
    /// Copies the tokens that are built outside of tests to their places.
    fn keep(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut rest = &tokens[..];
        while let Some((token, after)) = rest.split_first() {
            if is_test_attribute(rest) {
                let item = &rest[..2 + length_of_item(&rest[2..])];
                self.test_modules.extend(module_elsewhere(item));
                rest = &rest[item.len()..];
                continue;
            }
            match token {
                TokenTree::Group(group) => {
                    let (open, close) = match group.delimiter() {
                        Delimiter::Parenthesis => ("(", ")"),
                        Delimiter::Brace => ("{", "}"),
                        Delimiter::Bracket => ("[", "]"),
                        Delimiter::None => ("", ""),
                    };
                    self.copy(group.span_open(), open);
                    self.keep(group.stream());
                    self.copy(group.span_close(), close);
                }
                TokenTree::Literal(literal) if !literal.to_string().starts_with(|c: char| c.is_ascii_digit()) => {}
                token => self.copy(token.span(), &token.to_string()),
            }
            rest = after;
        }
    }

    fn copy(&mut self, span: Span, token: &str) {
        let place = span.byte_range();
        // A documentation comment is an attribute whose tokens all have the place of the comment.
        if self.text[place.clone()] == *token {
            self.kept[place].copy_from_slice(token.as_bytes());
        }
    }
}

/// Whether tokens begin with `#[cfg(test)]`.
fn is_test_attribute(tokens: &[TokenTree]) -> bool {
    attribute(tokens).is_some_and(|attribute| attribute == "cfg(test)")
}

/// What is in the `#[...]` that tokens begin with, without its blanks.
fn attribute(tokens: &[TokenTree]) -> Option<String> {
    match tokens {
        [TokenTree::Punct(mark), TokenTree::Group(group), ..]
            if mark.as_char() == '#' && group.delimiter() == Delimiter::Bracket =>
        {
            Some(group.stream().to_string().replace(' ', ""))
        }
        _ => None,
    }
}

/// The number of tokens from the attributes of an item, field or arm to its end. Of a few items it
/// ends early, which leaves more to be checked: of those with a block inside an expression.
fn length_of_item(tokens: &[TokenTree]) -> usize {
    const ITEMS: &[&str] = &[
        "fn",
        "mod",
        "use",
        "impl",
        "struct",
        "enum",
        "union",
        "const",
        "static",
        "trait",
        "type",
        "unsafe",
        "async",
        "extern",
        "macro_rules",
        "let",
    ];
    let mut is_item = false;
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        if attribute(&tokens[at..]).is_some() {
            at += 2;
            continue;
        }
        at += 1;
        match token {
            TokenTree::Ident(word) => is_item |= ITEMS.contains(&&*word.to_string()),
            TokenTree::Punct(mark) if mark.as_char() == ';' || mark.as_char() == ',' && !is_item => return at,
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => return at,
            _ => {}
        }
    }
    at
}

/// The module of `#[path = "b.rs"] mod a;`.
fn module_elsewhere(item: &[TokenTree]) -> Option<TestModule> {
    let [.., TokenTree::Ident(word), TokenTree::Ident(name), TokenTree::Punct(end)] = item else { return None };
    if *word != "mod" || end.as_char() != ';' {
        return None;
    }
    let path =
        (0..item.len()).find_map(|n| Some(attribute(&item[n..])?.strip_prefix("path=")?.trim_matches('"').into()));
    Some(TestModule { name: name.to_string(), path })
}
