//! What can be wrong with a text, and how is it said? All words of the syntax stage stand here.

use super::token::{Tok, Token};
use crate::diag::{Applicability, Code, Diagnostic};
use crate::limits::{MAX_CLAUSES, MAX_FAULTS, MAX_NESTING};
use crate::source::{FileId, Span};

/// A finding at a place. Its words are made only when it is reported: most texts are host code,
/// where faults are none of our business.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    pub kind: FaultKind,
    pub start: u32,
    pub end: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FaultKind {
    // Found by the lexer.
    BadCharacter,
    BadNumber,
    UnclosedString,
    UnclosedTripleString,
    // Found by the layout.
    UnclosedBracket,
    StrayBracket,
    TooManyBrackets,
    // Found by the blocks.
    UnexpectedIndent,
    /// An indentation between two blocks.
    OddIndent,
    /// Lines whose order of depth hangs on the width of a tab.
    MixedTabs,
    /// The place is the first token of the line that needs a body.
    MissingBody,
    /// The place is the keyword.
    ClauseAlone,
    DecoratorAlone,
    TooManyBlocks,
    TooManyClauses,
    TooLong,
    TypeParameters,
    // Found by the actions of the grammar.
    InvalidTarget,
    PositionalAfterNamed,
    RepeatedParameter,
    BadEscape,
    // Found by the grammar; the place is the token it could not use.
    MissingColon,
    /// `=` where a comparison is meant.
    AssignInExpression,
    /// `else if`
    ElseIf,
    /// An expression breaks off; the place is the operator that lacks its operand.
    MissingOperand,
    /// A value is needed; the text has another token.
    ExpectedValue,
    /// `*a` where there is nothing to spread it into.
    StarAlone,
    /// Two values side by side.
    MissingOperator,
    AsyncKernel,
    KeywordAsName,
    MissingName,
    MissingParams,
    Unexpected,
    UnexpectedEnd,
    /// The limit of findings.
    TooManyFaults,
}

impl Fault {
    pub fn at(kind: FaultKind, token: Token) -> Self {
        Self { kind, start: token.start, end: token.end }
    }

    /// Faults that break the layout of the whole file; they count in host code too.
    pub fn tears_layout(&self) -> bool {
        matches!(self.kind, FaultKind::UnclosedTripleString | FaultKind::UnclosedBracket)
    }

    /// The finding in words.
    pub fn diagnostic(&self, file: FileId, text: &str) -> Diagnostic {
        let span = Span::new(file, self.start, self.end);
        let here = text.get(self.start as usize..self.end as usize).unwrap_or("");
        let word = quoted(here);
        let new = |code: Code, message: String, label: &str| Diagnostic::new(code, message).label(span, label);
        match self.kind {
            FaultKind::BadCharacter => bad_character(here, span),
            FaultKind::BadNumber => bad_number(here, span),
            FaultKind::UnclosedString => {
                new(Code::E0102, "this string is never closed".into(), "its closing quote is missing on this line")
                    .help("a string over several lines needs triple quotes: `\"\"\"`")
            }
            FaultKind::UnclosedTripleString => {
                let opening = Span::new(file, self.start, self.end.min(self.start + 3));
                Diagnostic::new(Code::E0102, "this triple-quoted string is never closed")
                    .label(opening, "opened here; the same three quotes do not come again")
            }
            FaultKind::UnclosedBracket => {
                let close = match here {
                    "[" => "]",
                    "{" => "}",
                    _ => ")",
                };
                new(Code::E0104, format!("{word} is never closed"), "opened here")
                    .help(format!("close it with `{close}`, most often at the end of this line"))
            }
            FaultKind::StrayBracket => new(Code::E0105, format!("{word} closes nothing"), "no bracket is open here"),
            FaultKind::TooManyBrackets => {
                new(Code::E0115, format!("brackets nest more than {MAX_NESTING} deep"), "this one is too deep")
                    .help("give inner parts a name on a line before")
            }
            FaultKind::UnexpectedIndent => {
                let fault = new(
                    Code::E0106,
                    "unexpected indentation".into(),
                    "deeper than the line before, which opens no block",
                );
                shallower(fault.help("align it with the line before"), text, span)
            }
            FaultKind::OddIndent => new(Code::E0107, "this indentation matches no block".into(), "between two blocks")
                .help("align the line with the block it belongs to"),
            FaultKind::MixedTabs => {
                new(Code::E0107, "tabs and spaces are mixed".into(), "the depth of this line depends on the tab width")
                    .help("indent with spaces only")
            }
            FaultKind::MissingBody => {
                let (label, help) = match next_is_level(text, self.start as usize) {
                    true => ("the line below is no deeper", "indent the lines of its body; an empty one is `pass`"),
                    false => ("nothing follows", "write `pass` for an empty body"),
                };
                new(Code::E0108, format!("{word} needs an indented body"), label).help(help)
            }
            FaultKind::ClauseAlone => {
                let opener = match here {
                    "except" | "finally" => "`try`",
                    "elif" => "`if`",
                    _ => "`if`, `for` or `while`",
                };
                new(
                    Code::E0114,
                    format!("{word} without {opener}"),
                    &format!("no {opener} with this indentation stands before"),
                )
            }
            FaultKind::DecoratorAlone => {
                new(Code::E0118, "this decorator decorates nothing".into(), "a `def` or `class` must follow")
            }
            FaultKind::TooManyBlocks => {
                new(Code::E0115, format!("blocks nest more than {MAX_NESTING} deep"), "this block is too deep")
                    .help("move inner blocks into a `@wp.func`")
            }
            FaultKind::TooManyClauses => {
                new(Code::E0115, format!("more than {MAX_CLAUSES} `elif` in a row"), "this one is too many")
            }
            FaultKind::TooLong => new(Code::E0115, "this expression is too long".into(), "it starts here")
                .help("compute it in several steps"),
            FaultKind::TypeParameters => {
                new(Code::E0117, "kernels and functions have no type parameters".into(), "declared here")
                    .help("annotate the arguments with `typing.Any`")
            }
            FaultKind::InvalidTarget => {
                let fault = new(Code::E0113, "this cannot be assigned to".into(), "not a place for a value");
                if let Some(element) = in_square_brackets(here) {
                    let help = format!("an index stands in square brackets: `{element}`");
                    return fault.help(help).fix("index the array", span, element, Applicability::Maybe);
                }
                fault.help("the left side of `=` is a name, an element `a[i]`, a member `a.x`, or a tuple of names")
            }
            FaultKind::PositionalAfterNamed => {
                new(Code::E0117, "positional argument after a named one".into(), "this argument has no name")
                    .help("put it before the named arguments, or name it")
            }
            FaultKind::RepeatedParameter => {
                new(Code::E0117, format!("two parameters are called {word}"), "the second one")
            }
            FaultKind::BadEscape => new(Code::E0102, format!("{word} is an incomplete escape"), "digits are missing")
                .help("write `\\\\` for a backslash"),
            FaultKind::MissingColon => {
                let end = Span::new(file, self.start, self.start);
                Diagnostic::new(Code::E0109, "`:` is missing").label(end, "the block starts after a `:`").fix(
                    "insert `:`",
                    end,
                    ":",
                    Applicability::Machine,
                )
            }
            FaultKind::AssignInExpression => {
                let after = text.get(span.end as usize..).and_then(|rest| rest.chars().next());
                if let Some(sign) = after.filter(|sign| matches!(sign, '<' | '>')) {
                    let both = Span { end: span.end + 1, ..span };
                    let whole = format!("{sign}=");
                    return new(Code::E0110, format!("there is no `={sign}`"), "the signs are the other way round")
                        .help(format!("write `{whole}`"))
                        .fix(format!("write `{whole}`"), both, whole, Applicability::Maybe);
                }
                new(Code::E0110, "assignment inside an expression".into(), "`=` assigns; `==` compares").fix(
                    "compare with `==`",
                    span,
                    "==",
                    Applicability::Maybe,
                )
            }
            FaultKind::ElseIf => new(Code::E0112, "`else if` is written `elif`".into(), "two words here").fix(
                "replace by `elif`",
                span,
                "elif",
                Applicability::Machine,
            ),
            FaultKind::MissingOperand => {
                let what = if here == "." { "name" } else { "value" };
                let fault = new(Code::E0111, format!("a {what} is missing after {word}"), "nothing follows");
                if here == "++" || here == "--" {
                    let written = format!(" {}= 1", &here[..1]);
                    let help = format!("there is no `{here}`; write `{}`", written.trim());
                    fault.help(help).fix("change it by one", span, written, Applicability::Maybe)
                } else {
                    fault
                }
            }
            FaultKind::ExpectedValue => {
                let fault = new(Code::E0111, format!("expected a value, found {word}"), "a value belongs here");
                let doubled = |op: &str| {
                    (self.start >= 1)
                        .then(|| Span { start: span.start - 1, ..span })
                        .filter(|both| text.get(both.start as usize..both.end as usize) == Some(&op.repeat(2)))
                };
                let logic = |fault: Diagnostic, op: &str, word: &str| {
                    let fault = fault.help(format!("Python writes `{word}`, not `{}`", op.repeat(2)));
                    match doubled(op) {
                        Some(both) => fault.fix(format!("write `{word}`"), both, word, Applicability::Maybe),
                        None => fault,
                    }
                };
                let line = text.get(..self.start as usize).and_then(|before| before.rsplit('\n').next());
                match here {
                    ">" if text.get(..self.start as usize).is_some_and(|before| before.ends_with('<')) => {
                        let both = Span { start: span.start - 1, ..span };
                        fault.help("unequal is `!=`").fix("write `!=`", both, "!=", Applicability::Maybe)
                    }
                    "&" => logic(fault, "&", "and"),
                    "|" => logic(fault, "|", "or"),
                    "//" if line.is_some_and(|line| line.trim().is_empty()) => {
                        fault.help("comments begin with `#`").fix("write `#`", span, "#", Applicability::Maybe)
                    }
                    _ => fault,
                }
            }
            FaultKind::StarAlone => {
                new(Code::E0111, "a starred value stands alone".into(), "`*` spreads a value only among others")
            }
            FaultKind::MissingOperator => {
                let fault =
                    new(Code::E0112, format!("unexpected {word}"), "an operator or a comma is missing before this");
                of_c(fault, text, span)
            }
            FaultKind::AsyncKernel => new(Code::E0308, "a kernel cannot be `async`".into(), "nobody waits on a GPU")
                .help("leave `async` away: launches do not wait for kernels anyway")
                .fix("leave `async` away", Span { end: span.end + 1, ..span }, "", Applicability::Maybe),
            FaultKind::KeywordAsName => {
                new(Code::E0116, format!("{word} is a reserved word"), "it cannot stand here as a name")
            }
            FaultKind::MissingName => new(Code::E0116, format!("expected a name, found {word}"), "a name belongs here"),
            FaultKind::MissingParams => new(
                Code::E0116,
                "this definition has no parameter list".into(),
                "`(` belongs here, also for a function without parameters",
            ),
            FaultKind::Unexpected => {
                let fault = new(Code::E0112, format!("unexpected {word}"), "kc cannot read the line from here");
                match here {
                    "{" => fault.help(NO_BRACES),
                    "//" => fault.help("comments begin with `#`").fix("write `#`", span, "#", Applicability::Maybe),
                    _ => fault,
                }
            }
            FaultKind::UnexpectedEnd => {
                new(Code::E0112, format!("the line ends too early after {word}"), "something is missing after this")
            }
            FaultKind::TooManyFaults => {
                new(Code::E0119, format!("more than {MAX_FAULTS} syntax errors; the rest is not shown"), "stopped here")
            }
        }
    }
}

/// The element of an array that `x(i, j)` means.
fn in_square_brackets(text: &str) -> Option<String> {
    let (array, rest) = text.split_once('(')?;
    let index = rest.strip_suffix(')')?;
    let is_name = !array.is_empty() && array.chars().all(|c| c.is_alphanumeric() || c == '_');
    (is_name && !index.trim().is_empty() && !index.contains(['(', ')', '=', '\n'])).then(|| format!("{array}[{index}]"))
}

/// The user's own text in backticks; long texts are cut.
fn quoted(text: &str) -> String {
    let line = text.lines().next().unwrap_or("");
    if line.chars().count() > 40 {
        format!("`{}...`", line.chars().take(37).collect::<String>())
    } else if line.is_empty() {
        "the end of the line".to_owned()
    } else {
        format!("`{line}`")
    }
}

/// The fix that takes a line back to the depth of the one before.
fn shallower(fault: Diagnostic, text: &str, span: Span) -> Diagnostic {
    let before = text.get(..span.start as usize).unwrap_or_default();
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let last = before[..start].lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let wanted = last.len() - last.trim_start_matches(' ').len();
    let here = before[start..].trim_start_matches(' ');
    if here.is_empty() && wanted < before.len() - start {
        let extra = Span { start: (start + wanted) as u32, end: span.start, ..span };
        return fault.fix("align it", extra, "", Applicability::Maybe);
    }
    fault
}

const NO_BRACES: &str = "there are no braces: `:` ends the line, and what belongs to it is indented below";

/// Adds what a word of C before an unexpected name means in Python: `int i = 0`, `(float)x`.
fn of_c(fault: Diagnostic, text: &str, span: Span) -> Diagnostic {
    let before = text.get(..span.start as usize).unwrap_or_default();
    let line = before.rsplit('\n').next().unwrap_or_default();
    let here = text.get(span.start as usize..span.end as usize).unwrap_or_default();
    let start = span.start - (line.len() - line.trim_start().len()..line.len()).len() as u32;
    let is_type = |word: &str| {
        matches!(
            word,
            "int" | "float" | "double" | "bool" | "auto" | "unsigned" | "char" | "const" | "long" | "size_t" | "void"
        )
    };
    let after_number = before.ends_with(|c: char| c.is_ascii_digit() || c == '.');
    if after_number && matches!(here, "f" | "F" | "h" | "u" | "U" | "l" | "L" | "ul" | "ull" | "lf") {
        let fault =
            fault.help("numbers have no suffix: `1.0` takes the type of what it meets, `wp.float64(1.0)` says it");
        return fault.fix("leave the suffix away", span, "", Applicability::Maybe);
    }
    if here == "{" {
        return fault.help(NO_BRACES);
    }
    if line.trim_start().starts_with("for (") || line.trim_start().starts_with("for(") {
        return fault.help(format!("a loop that counts is `for {here} in range(n):`"));
    }
    if is_type(line.trim()) {
        let fault = fault.help(format!("a variable has the type of its value: `{here} = ...`"));
        return fault.fix("leave the type away", Span { start, end: span.start, ..span }, "", Applicability::Maybe);
    }
    let cast = line.trim_end().strip_suffix(')').and_then(|rest| rest.rsplit_once('('));
    match cast {
        Some((_, ty)) if is_type(ty.trim()) => {
            let at = span.start - (line.len() - line.trim_end().len()) as u32 - ty.len() as u32 - 2;
            let ty = if ty.trim() == "double" { "wp.float64" } else { ty.trim() };
            let written = format!("{ty}({here})");
            let simple = here.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_' || c == b'.');
            let after = text.get(span.end as usize..).unwrap_or_default();
            let fault = fault.help(format!("a conversion is a call: `{ty}(...)`"));
            match simple && !after.trim_start_matches(' ').starts_with(['(', '[', '.']) {
                true => fault.fix("call the type", Span { start: at, ..span }, written, Applicability::Maybe),
                false => fault,
            }
        }
        _ => fault,
    }
}

fn bad_character(here: &str, span: Span) -> Diagnostic {
    let shown: String = here.chars().take(8).flat_map(char::escape_debug).collect();
    let fault =
        Diagnostic::new(Code::E0101, format!("`{shown}` is not part of Python")).label(span, "unknown character");
    match here {
        "!" => fault.help("negation is written `not`, and inequality `!=`").fix(
            "write `not`",
            span,
            "not ",
            Applicability::Maybe,
        ),
        "?" => fault.help("a choice is written `a if condition else b`"),
        "\\" => fault.help("a backslash joins two lines only as the very last character of the first"),
        "\u{201c}" | "\u{201d}" | "\u{2018}" | "\u{2019}" => fault.help("use straight quotes: `\"`"),
        "\u{2212}" | "\u{2013}" => fault.help("use the ASCII minus: `-`"),
        "\u{d7}" => fault.help("multiplication is written `*`"),
        _ => fault,
    }
}

fn bad_number(here: &str, span: Span) -> Diagnostic {
    let fault = Diagnostic::new(Code::E0103, format!("{} is not a number", quoted(here)));
    if here.bytes().all(|b| b.is_ascii_digit() || b == b'_') {
        let decimal = here.trim_start_matches(['0', '_']);
        fault
            .label(span, "a decimal number has no leading zeros")
            .help(format!("write `{decimal}`, or `0o{decimal}` for an octal number"))
    } else {
        fault.label(span, "digits are missing after the prefix, or do not fit it")
    }
}

/// What the grammar could not use, told from the tokens around it. `index` is where it stopped; it
/// can be the end.
pub fn unusable(tokens: &[Token], index: usize, text: &str) -> Fault {
    let before = index.checked_sub(1).and_then(|at| tokens.get(at)).copied();
    let Some(&found) = tokens.get(index) else {
        let Some(before) = before else { return Fault { kind: FaultKind::UnexpectedEnd, start: 0, end: 0 } };
        return match (index.checked_sub(2).and_then(|at| tokens.get(at)), before.kind) {
            (Some(first), Tok::Plus | Tok::Minus) if first.kind == before.kind && first.end == before.start => {
                Fault { kind: FaultKind::MissingOperand, start: first.start, end: before.end }
            }
            (_, Tok::Def | Tok::Class) => Fault::at(FaultKind::UnexpectedEnd, before),
            (_, Tok::Name) if tokens.first().is_some_and(|t| t.kind == Tok::Def) && index == 2 => {
                Fault::at(FaultKind::MissingParams, before)
            }
            (_, Tok::Comma | Tok::Colon) => Fault::at(FaultKind::UnexpectedEnd, before),
            _ if needs_operand(before.kind) => Fault::at(FaultKind::MissingOperand, before),
            _ => Fault::at(FaultKind::UnexpectedEnd, before),
        };
    };
    let kind = match before {
        Some(before) if matches!(before.kind, Tok::Def | Tok::Class | Tok::Dot | Tok::As) => {
            if found.kind.is_keyword() { FaultKind::KeywordAsName } else { FaultKind::MissingName }
        }
        Some(_) if index == 2 && tokens.first().is_some_and(|t| t.kind == Tok::Def) => FaultKind::MissingParams,
        _ if found.kind == Tok::Assign && before.is_some_and(|t| t.kind.is_keyword()) => FaultKind::KeywordAsName,
        _ if found.kind == Tok::Assign => FaultKind::AssignInExpression,
        Some(before) if before.kind.ends_value() && found.kind.starts_value() => FaultKind::MissingOperator,
        // A parameter.
        Some(Token { kind: Tok::LeftParen | Tok::Comma, .. })
            if found.kind.is_keyword() && tokens.first().is_some_and(|t| t.kind == Tok::Def) =>
        {
            FaultKind::KeywordAsName
        }
        Some(before) if needs_operand(before.kind) => FaultKind::ExpectedValue,
        Some(Token { kind: Tok::Comma | Tok::Colon, .. }) if !found.kind.is_keyword() => FaultKind::ExpectedValue,
        None if found.kind.is_keyword() && tokens.get(1).is_some_and(|t| t.kind == Tok::Assign) => {
            FaultKind::KeywordAsName
        }
        None if found.kind.is_keyword() || found.kind.is_closing() => FaultKind::Unexpected,
        None => FaultKind::ExpectedValue,
        Some(_) => FaultKind::Unexpected,
    };
    let culprit = if found.kind == Tok::Assign && kind == FaultKind::KeywordAsName { before } else { Some(found) };
    let mut fault = Fault::at(kind, culprit.unwrap_or(found));
    // A token that the layout put in has no text; point at what is before it.
    if fault.start == fault.end && fault.start > 0 {
        fault.start =
            text.get(..fault.end as usize).and_then(|t| t.char_indices().next_back()).map_or(0, |(at, _)| at as u32);
    }
    fault
}

/// Whether an operand must follow.
fn needs_operand(kind: Tok) -> bool {
    use Tok::*;
    !kind.ends_value() && !matches!(kind, Comma | Colon | Semicolon | Pass | Break | Continue | Return | Yield)
}

/// Whether the first line of code below a header is as deep as the header, and is no clause of it.
fn next_is_level(text: &str, header: usize) -> bool {
    let start = text[..header].rfind('\n').map_or(0, |at| at + 1);
    let code = |line: &str| line.split('#').next().unwrap_or_default().trim_end().to_string();
    let mut lines = text[start..].lines().map(code).skip_while(|line| !line.ends_with(':')).skip(1);
    let depth = |line: &str| line.len() - line.trim_start().len();
    let clauses = ["else", "elif", "except", "finally", "def ", "class ", "@"];
    lines.find(|line| !line.is_empty()).is_some_and(|next| {
        depth(&next) == header - start && !clauses.iter().any(|word| next.trim_start().starts_with(word))
    })
}
