//! How do LLVM modules become one, as texts? Each has a head, items (globals, prototypes,
//! functions), groups of attributes (`attributes #0 = ...`) and metadata (`!0 = ...`). Groups and
//! metadata are numbered in each module from 0: where modules come together, those of all but the
//! first get new numbers.
//!
//! LLVM Language Reference, "Attribute Groups" and "Metadata".

use std::collections::HashSet;

/// The module `whole` with all that `parts` define: functions that it calls. A prototype of what
/// another one defines is left out.
pub(super) fn join_ir<'a>(whole: String, parts: impl Iterator<Item = &'a str>) -> String {
    let parts: Vec<Parts> = parts.map(Parts::of).collect();
    if parts.is_empty() {
        return whole;
    }
    let own = Parts::of(&whole);
    let mut known: HashSet<&str> = parts.iter().flat_map(|part| &part.items).filter_map(Item::defines).collect();
    let mut text = String::with_capacity(whole.len() + parts.iter().map(|part| part.size).sum::<usize>());
    text.push_str(own.head);
    for item in &own.items {
        if item.defines().is_some() || known.insert(item.name) {
            text.push_str(item.text);
        }
    }
    let mut groups: Vec<&str> = own.groups.clone();
    let mut metadata: Vec<String> = own.metadata.iter().map(|line| line.to_string()).collect();
    for part in &parts {
        let numbers = Numbers {
            groups: part.groups.iter().map(|group| number_of(group, &mut groups)).collect(),
            metadata: metadata.len(),
        };
        for item in &part.items {
            if item.defines().is_some() || known.insert(item.name) {
                numbers.rewrite(item.text, &mut text);
            }
        }
        for line in &part.metadata {
            let mut renumbered = String::new();
            numbers.rewrite(line, &mut renumbered);
            metadata.push(renumbered);
        }
    }
    if !text.ends_with("\n\n") {
        text.push('\n');
    }
    for (number, group) in groups.iter().enumerate() {
        text.push_str(&format!("attributes #{number} = {group}\n"));
    }
    for (number, line) in metadata.iter().enumerate() {
        let blank = if number == 0 { "\n" } else { "" };
        text.push_str(&format!("{blank}!{number} = {line}\n"));
    }
    text
}

/// Where a group is in a list, at whose end it is put if it is new.
fn number_of<'a>(group: &'a str, groups: &mut Vec<&'a str>) -> usize {
    groups.iter().position(|known| *known == group).unwrap_or_else(|| {
        groups.push(group);
        groups.len() - 1
    })
}

/// A global, a prototype or a function, with the comments above it and the blank line after it.
struct Item<'a> {
    name: &'a str,
    text: &'a str,
    defined: bool,
}

impl<'a> Item<'a> {
    /// Its name, if it is a function with a body.
    fn defines(&self) -> Option<&'a str> {
        self.defined.then_some(self.name)
    }
}

/// The parts of a module's text.
struct Parts<'a> {
    head: &'a str,
    items: Vec<Item<'a>>,
    /// What is after `attributes #N = `, in the order of the numbers; so with the metadata.
    groups: Vec<&'a str>,
    metadata: Vec<&'a str>,
    size: usize,
}

impl<'a> Parts<'a> {
    /// Takes the lines from `start` to `end`, which stand together.
    fn paragraph(&mut self, text: &'a str, start: usize, end: usize) {
        let lines = || text[start..end].lines();
        let Some(first) = lines().find(|line| !line.is_empty() && !line.starts_with(';')) else { return };
        if first.starts_with(['@', 'd']) {
            let defined = first.starts_with("define");
            self.items.push(Item { name: name(first), text: &text[start..end], defined });
        } else if first.starts_with("attributes #") {
            self.groups.extend(lines().filter_map(|line| numbered(line, "attributes #")));
        } else if first.starts_with('!') {
            self.metadata.extend(lines().filter_map(|line| numbered(line, "!")));
        } else {
            self.head = &text[..end];
        }
    }

    fn of(text: &'a str) -> Parts<'a> {
        let mut parts =
            Parts { head: "", items: Vec::new(), groups: Vec::new(), metadata: Vec::new(), size: text.len() };
        let (mut at, mut start, mut inside) = (0, 0, false);
        for line in text.split_inclusive('\n') {
            at += line.len();
            inside = if inside { !line.starts_with('}') } else { line.starts_with("define") };
            if line.trim_end().is_empty() && !inside {
                parts.paragraph(text, start, at);
                start = at;
            }
        }
        parts.paragraph(text, start, at);
        parts
    }
}

/// What is after `= ` in a line that begins with `sign` and a number.
fn numbered<'a>(line: &'a str, sign: &str) -> Option<&'a str> {
    let rest = line.strip_prefix(sign)?.trim_start_matches(|c: char| c.is_ascii_digit());
    rest.strip_prefix(" = ")
}

/// The name after the first `@`.
fn name(line: &str) -> &str {
    let rest = line.split_once('@').map_or("", |(_, rest)| rest);
    let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "_.$-".contains(c))).unwrap_or(rest.len());
    &rest[..end]
}

/// The new numbers of a module's groups, and how many nodes of metadata come before its own.
struct Numbers {
    groups: Vec<usize>,
    metadata: usize,
}

impl Numbers {
    /// Appends a text in which groups and metadata are called by their new numbers.
    fn rewrite(&self, text: &str, out: &mut String) {
        let mut rest = text;
        let mut quoted = false;
        while let Some(at) = rest.find(['#', '!', '"']) {
            let (before, after) = rest.split_at(at + 1);
            out.push_str(before);
            rest = after;
            let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let number = rest[..digits].parse::<usize>();
            match (before.as_bytes()[at], number) {
                (b'"', _) => quoted = !quoted,
                (b'#', Ok(number)) if !quoted && number < self.groups.len() => {
                    out.push_str(&self.groups[number].to_string());
                    rest = &rest[digits..];
                }
                (b'!', Ok(number)) if !quoted => {
                    out.push_str(&(self.metadata + number).to_string());
                    rest = &rest[digits..];
                }
                _ => {}
            }
        }
        out.push_str(rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = r##"; ModuleID = 'kc'
source_filename = "kc"

@text = private constant [5 x i8] c"#1!0\00"

define void @k(float %x) #1 {
  %1 = call float @f(float %x)
  %2 = call float @llvm.fabs.f32(float %1)

  br label %a, !llvm.loop !0
}

; Function Attrs: nounwind
declare float @f(float) #0

declare float @llvm.fabs.f32(float) #1

attributes #0 = { nounwind }
attributes #1 = { cold }

!0 = distinct !{!0, !1}
!1 = !{!"llvm.loop.mustprogress"}
"##;

    const PART: &str = r##"; ModuleID = 'kc'
source_filename = "kc"

; Function Attrs: nounwind
define float @f(float %0) #1 {
  %2 = call float @llvm.fabs.f32(float %0) #0
  br label %a, !llvm.loop !0
}

; Function Attrs: hot
declare float @llvm.fabs.f32(float) #0

; Function Attrs: hot
declare float @llvm.sqrt.f32(float) #0

attributes #0 = { hot }
attributes #1 = { nounwind }

!0 = distinct !{!0}
"##;

    #[test]
    fn a_function_and_its_caller() {
        let expected = r##"; ModuleID = 'kc'
source_filename = "kc"

@text = private constant [5 x i8] c"#1!0\00"

define void @k(float %x) #1 {
  %1 = call float @f(float %x)
  %2 = call float @llvm.fabs.f32(float %1)

  br label %a, !llvm.loop !0
}

declare float @llvm.fabs.f32(float) #1

; Function Attrs: nounwind
define float @f(float %0) #0 {
  %2 = call float @llvm.fabs.f32(float %0) #2
  br label %a, !llvm.loop !2
}

; Function Attrs: hot
declare float @llvm.sqrt.f32(float) #2

attributes #0 = { nounwind }
attributes #1 = { cold }
attributes #2 = { hot }

!0 = distinct !{!0, !1}
!1 = !{!"llvm.loop.mustprogress"}
!2 = distinct !{!2}
"##;
        assert_eq!(join_ir(WHOLE.to_string(), [PART].into_iter()), expected);
    }

    #[test]
    fn one_module_stays_as_it_is() {
        assert_eq!(join_ir(WHOLE.to_string(), std::iter::empty()), WHOLE);
    }

    #[test]
    fn a_function_that_ends_the_text() {
        let part = "source_filename = \"kc\"\n\ndefine float @f(float %0) {\n  ret float %0\n}\n";
        let joined = join_ir(WHOLE.to_string(), [part].into_iter());
        assert!(joined.contains("\ndefine float @f(float %0) {\n  ret float %0\n}\n\nattributes #0"), "{joined}");
        assert!(!joined.contains("declare float @f"));
    }

    #[test]
    fn signs_in_quotes_are_no_numbers() {
        let numbers = Numbers { groups: vec![7], metadata: 3 };
        let mut out = String::new();
        numbers.rewrite("call void asm \"#0 !0\", \"=r\"() #0, !x !1, !{!\"a!0\", !0} # !", &mut out);
        assert_eq!(out, "call void asm \"#0 !0\", \"=r\"() #7, !x !4, !{!\"a!0\", !3} # !");
    }
}
