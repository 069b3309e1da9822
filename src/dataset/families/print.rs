//! How does a program look? Imports, constants, structs, functions and kernels with annotations,
//! docstrings and comments, broken into lines as the usual formatters break them.

use super::facts::Usage;
use super::library::Kind;
use super::program::{Built, Draft};
use super::{code, dialect, facts, host, vary, words};
use crate::run::launch::EngineKind;

/// Columns of a line.
pub const WIDTH: usize = 100;

/// The Python file.
pub fn text(draft: &Draft) -> String {
    let style = &draft.style;
    let mut out: Vec<String> = Vec::new();
    if style.module_doc {
        out.extend(module_doc(draft));
        out.push(String::new());
    }
    let host = host::program(draft);
    let is_any = |function: &Built| function.kind == Kind::Helper && function.head.contains(": Any");
    let needed = [
        (host.iter().any(|line| line.contains("argparse.")), "import argparse"),
        (host.iter().any(|line| line.contains("math.")), "import math"),
        (draft.functions.iter().any(is_any), "from typing import Any"),
    ];
    let standard = needed.iter().filter(|(needed, _)| *needed).map(|(_, line)| line.to_string());
    let before = out.len();
    out.extend(standard);
    if out.len() > before {
        out.push(String::new());
    }
    out.push("import numpy as np".to_string());
    out.push("import warp as wp".to_string());
    if !draft.constants.is_empty() {
        out.push(String::new());
    }
    for name in &draft.constants {
        if let Some(role) = draft.role(name) {
            let about = if style.group_comments { String::new() } else { comment(&role.about) };
            let value = number(&role.ty, &role.content);
            out.push(match draft.is_static && !value.contains("wp.") {
                true => format!("{name} = {value}{about}"),
                false => format!("{name} = wp.constant({value}){about}"),
            });
        }
    }
    if !draft.bundled.is_empty() {
        out.extend(structure(draft));
    }
    for kind in [Kind::Helper, Kind::Kernel] {
        for function in draft.functions.iter().filter(|function| function.kind == kind) {
            out.extend(["", ""].map(str::to_string));
            out.extend(print(draft, function));
        }
    }
    out.extend(host);
    out.iter().map(|line| format!("{}\n", lettered(line.trim_end(), style.lettered))).collect()
}

/// A line with the types of floats named in full, `wp.vec3f`, if people do so here.
pub fn lettered(line: &str, wanted: bool) -> String {
    const TYPES: [&str; 8] = ["vec2", "vec3", "vec4", "mat22", "mat33", "mat44", "quat", "transform"];
    let mut out = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("wp.").filter(|_| wanted) {
        let name = after.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or("");
        let letter = if TYPES.contains(&name) { "f" } else { "" };
        out += &format!("{before}wp.{name}{letter}");
        rest = &after[name.len()..];
    }
    out + rest
}

fn comment(about: &str) -> String {
    if about.is_empty() { String::new() } else { format!("  # {about}") }
}

fn module_doc(draft: &Draft) -> Vec<String> {
    let title = words::sentence(&draft.title);
    let about = words::wrap(&draft.about, 88);
    if about.is_empty() || draft.style.host.is_multiple_of(3) {
        return match title.len() <= WIDTH - 6 {
            true => vec![format!("\"\"\"{title}\"\"\"")],
            false => vec![format!("\"\"\"{}\n\"\"\"\n", words::wrap(&title, 88).join("\n"))],
        };
    }
    let title = words::wrap(&title, 88).join("\n");
    vec![format!("\"\"\"{title}\n\n{}\n\"\"\"\n", about.join("\n"))]
}

fn structure(draft: &Draft) -> Vec<String> {
    let class = class(draft);
    let mut out = vec![String::new(), String::new(), "@wp.struct".to_string(), format!("class {class}:")];
    if draft.style.docs {
        out.push("    \"\"\"Parameters that stay the same in all launches.\"\"\"".to_string());
        out.push(String::new());
    }
    for name in &draft.bundled {
        if let Some(role) = draft.role(name) {
            let about = if draft.style.args { comment(&role.about) } else { String::new() };
            out.push(format!("    {name}: {}{about}", element(draft, &role.ty)));
        }
    }
    out
}

/// The struct of numbers that kernels get.
pub fn class(draft: &Draft) -> String {
    format!("{}Params", words::class(&draft.name))
}

/// A type as annotations have it.
fn element(draft: &Draft, ty: &str) -> String {
    match (ty, draft.style.sized) {
        ("float", true) => "wp.float32".to_string(),
        ("int", true) => "wp.int32".to_string(),
        ("float" | "int" | "bool", false) => ty.to_string(),
        _ => format!("wp.{ty}"),
    }
}

/// The annotation of a parameter.
pub fn annotation(draft: &Draft, name: &str, plain: bool) -> String {
    if name == "params" {
        return class(draft);
    }
    let Some(role) = draft.role(name) else { return element(draft, "int") };
    match role.engine() {
        Some(EngineKind::Texture) => return "wp.Texture2D".to_string(),
        Some(_) => return "wp.uint64".to_string(),
        None => {}
    }
    let ty = element(draft, &role.ty);
    let Some(dims) = &role.dims else { return ty };
    let class = if dims.len() == 1 { "array".to_string() } else { format!("array{}d", dims.len()) };
    match (draft.style.brackets || plain, draft.style.host.is_multiple_of(2) || dims.len() == 1) {
        (true, _) => format!("wp.{class}[{ty}]"),
        (false, true) => format!("wp.{class}(dtype={ty})"),
        (false, false) => format!("wp.array(dtype={ty}, ndim={})", dims.len()),
    }
}

/// What a function declares, in the spelling of the program.
fn head(draft: &Draft, declared: &str) -> String {
    let mut out = declared.to_string();
    for ty in ["float", "int"] {
        for mark in [": ", "dtype=", "-> "] {
            out = out.replace(&format!("{mark}{ty}"), &format!("{mark}{}", element(draft, ty)));
        }
    }
    if draft.style.brackets {
        // In the library arrays are written with an argument.
        while let Some((before, after)) = out.split_once("(dtype=") {
            let (ty, rest) = after.split_once(')').unwrap_or((after, ""));
            out = format!("{before}[{ty}]{rest}");
        }
    }
    out
}

/// A number as Python has it.
pub fn number(ty: &str, content: &str) -> String {
    let list: Vec<&str> = content.split_whitespace().collect();
    match (ty, list.as_slice()) {
        // Plain Python computes with what Python has.
        ("float" | "float64" | "int" | "bool", [one]) => one.to_string(),
        (ty, list) if list.len() > 1 && dialect::narrow(ty) != ty => {
            let parts = list.iter().map(|one| format!("wp.float64({one})")).collect::<Vec<_>>();
            format!("wp.{ty}({})", parts.join(", "))
        }
        (_, list) => format!("wp.{ty}({})", list.join(", ")),
    }
}

/// A kernel or a helper.
fn print(draft: &Draft, function: &Built) -> Vec<String> {
    let style = &draft.style;
    let mut out = Vec::new();
    if function.kind == Kind::Helper {
        out.push("@wp.func".to_string());
        let head = format!("def {}({}", function.name, head(draft, &function.head));
        out.extend(helper_head(&lettered(&head, style.lettered)));
        if let Some(doc) = function.doc.as_ref().filter(|_| style.docs) {
            out.push(format!("    \"\"\"{doc}\"\"\""));
        }
    } else {
        let ints = function.written.iter().filter_map(|name| draft.role(name)).all(|role| role.ty == "int");
        let decorator = if ints && style.no_backward { "@wp.kernel(enable_backward=False)" } else { "@wp.kernel" };
        out.push(decorator.to_string());
        out.extend(signature(draft, function));
        if let Some(doc) = function.doc.as_ref().filter(|_| style.docs) {
            out.extend(docstring(draft, function, doc));
        }
    }
    for line in &function.body {
        if line.trim() == vary::THREADS {
            let pad = " ".repeat(code::indent(line));
            out.extend(facts::thread(draft, function).map(|text| format!("{pad}# {text}")));
            continue;
        }
        out.extend(if style.casts { broken(&sized(line)) } else { broken(line) });
    }
    out
}

/// A statement with `wp.int32(0)` for `int(0)`.
fn sized(line: &str) -> String {
    let mut out = line.to_string();
    for (plain, full) in [("int", "wp.int32"), ("float", "wp.float32")] {
        for place in code::places(&out, plain).into_iter().rev() {
            if out[place.end..].starts_with('(') {
                out.replace_range(place, full);
            }
        }
    }
    out
}

/// The header of a helper in lines that are not too long.
fn helper_head(line: &str) -> Vec<String> {
    let brackets = line.find('(').and_then(|open| Some((open, code::closing(line, open)?)));
    let Some((open, close)) = brackets.filter(|_| line.len() > WIDTH) else { return vec![line.to_string()] };
    let inner = &line[open + 1..close];
    let params = match inner.len() + 4 <= WIDTH {
        true => vec![format!("    {inner}")],
        false => code::arguments(inner).iter().map(|param| format!("    {param},")).collect(),
    };
    [vec![line[..=open].to_string()], params, vec![line[close..].to_string()]].concat()
}

fn signature(draft: &Draft, function: &Built) -> Vec<String> {
    let style = &draft.style;
    let params: Vec<String> =
        function.params.iter().map(|name| format!("{name}: {}", annotation(draft, name, false))).collect();
    let one = format!("def {}({}):", function.name, params.join(", "));
    if one.len() <= if params.len() > 2 { 72 } else { WIDTH } {
        return vec![one];
    }
    let mut out = vec![format!("def {}(", function.name)];
    let groups = style.group_comments && style.order != 2 && params.len() > 2;
    let mut last = None;
    for (name, param) in function.params.iter().zip(&params) {
        let group = match facts::usage(draft, function, name) {
            Usage::InPlace => "    # in and out",
            Usage::Output => "    # outputs",
            Usage::Input => "    # inputs",
        };
        if groups && last.replace(group) != Some(group) {
            out.push(group.to_string());
        }
        out.push(format!("    {param},"));
    }
    out.push("):".to_string());
    out
}

fn docstring(draft: &Draft, function: &Built, doc: &str) -> Vec<String> {
    let described = |name: &String| -> Option<String> {
        if name == "params" {
            return Some("params: parameters of the model".to_string());
        }
        let Some(role) = draft.role(name) else {
            return facts::size(draft, Some(function), name).map(|what| format!("{name}: {what}"));
        };
        let shape = role.dims.as_ref().filter(|_| draft.style.host % 2 == 1);
        let shape = shape.map_or(String::new(), |dims| {
            format!(", shape ({}{})", dims.join(", "), if dims.len() == 1 { "," } else { "" })
        });
        (!role.about.is_empty()).then(|| format!("{name}: {}{shape}", role.about))
    };
    if !draft.style.args {
        return match doc.len() <= WIDTH - 10 {
            true => vec![format!("    \"\"\"{doc}\"\"\"")],
            false => {
                let lines = words::wrap(doc, 88);
                let rest = lines[1..].iter().map(|line| format!("    {line}"));
                let first = [format!("    \"\"\"{}", lines[0])];
                first.into_iter().chain(rest).chain(["    \"\"\"".to_string()]).collect()
            }
        };
    }
    let mut out = Vec::new();
    let lines = words::wrap(doc, 88);
    out.push(format!("    \"\"\"{}", lines[0]));
    out.extend(lines[1..].iter().map(|line| format!("    {line}")));
    out.push(String::new());
    out.push("    Args:".to_string());
    for line in function.params.iter().filter_map(described) {
        let mut lines = words::wrap(&words::sentence_end(&line), 84).into_iter();
        out.extend(lines.next().map(|line| format!("        {line}")));
        out.extend(lines.map(|line| format!("            {line}")));
    }
    out.push("    \"\"\"".to_string());
    out
}

/// A statement in lines that are not too long.
pub fn broken(line: &str) -> Vec<String> {
    // A colon follows a header.
    let width = if line.starts_with("def ") { WIDTH - 1 } else { WIDTH };
    if line.len() <= width || line.trim_start().starts_with('#') {
        return vec![line.to_string()];
    }
    let pad = " ".repeat(code::indent(line));
    let text = line.trim_start();
    // A call or a list, alone or as the value of a name.
    if let Some(end) = text.chars().next_back().filter(|end| [')', ']'].contains(end)) {
        let open = (0..text.len())
            .find(|&at| matches!(text.as_bytes()[at], b'(' | b'[') && code::closing(text, at) == Some(text.len() - 1));
        let head_is_plain = open.is_some_and(|open| {
            let head = text[..open].split_once(" = ").map_or(&text[..open], |(_, value)| value);
            let head = head.strip_prefix("def ").or(head.strip_prefix("return ")).unwrap_or(head);
            !code::is_compound(head)
        });
        let fits = open.is_some_and(|open| pad.len() + open < WIDTH);
        if let (Some(open), true) = (open, head_is_plain && fits) {
            let inner = &text[open + 1..text.len() - 1];
            let mut out = vec![format!("{pad}{}", &text[..=open])];
            let one = format!("{pad}    {inner}");
            if one.len() <= WIDTH {
                out.push(one);
            } else {
                for argument in code::arguments(inner) {
                    let line = format!("{pad}    {argument}");
                    if line.len() == WIDTH {
                        // The comma does not fit.
                        out.extend(broken_term(&format!("{line},")));
                        continue;
                    }
                    let mut lines = broken(&line);
                    if let Some(last) = lines.last_mut() {
                        last.push(',');
                    }
                    out.extend(lines);
                }
            }
            out.push(format!("{pad}{end}"));
            return out;
        }
    }
    // A sum, in brackets.
    let marks = [" += ", " -= ", " *= ", " = "];
    let split =
        marks.iter().find_map(|mark| text.split_once(mark).map(|(target, value)| (format!("{target}{mark}"), value)));
    let split = split.or_else(|| text.strip_prefix("return ").map(|value| ("return ".to_string(), value)));
    if let Some((head, value)) = split.or_else(|| text.strip_prefix("if ").map(|value| ("if ".to_string(), value))) {
        let (value, end) = value.strip_suffix(':').map_or((value, ")"), |value| (value, "):"));
        let mut out = vec![format!("{pad}{head}(")];
        out.extend(terms(value).into_iter().flat_map(|term| broken_term(&format!("{pad}    {term}"))));
        out.push(format!("{pad}{end}"));
        return out;
    }
    vec![line.to_string()]
}

/// A part of what is in brackets, on several lines if it is too long: what is in its last brackets,
/// or its factors.
fn broken_term(line: &str) -> Vec<String> {
    if line.len() <= WIDTH {
        return vec![line.to_string()];
    }
    let (line, comma) = line.strip_suffix(',').map_or((line, ""), |line| (line, ","));
    let pad = " ".repeat(code::indent(line));
    let close = line.len().saturating_sub(1);
    let open = (0..line.len())
        .find(|&at| matches!(line.as_bytes()[at], b'(' | b'[') && code::closing(line, at) == Some(close));
    // An index stays with its array.
    if let Some(open) = open.filter(|open| close - open > 24) {
        let inner = &line[open + 1..close];
        let parts = match code::arguments(inner).as_slice() {
            [one] => terms(one).into_iter().map(|term| format!("{pad}    {term}")).collect::<Vec<_>>(),
            list => list.iter().map(|argument| format!("{pad}    {argument},")).collect(),
        };
        let parts = parts.iter().flat_map(|part| broken_term(part));
        let last = format!("{pad}{}{comma}", &line[close..]);
        return [line[..=open].to_string()].into_iter().chain(parts).chain([last]).collect();
    }
    let parts = terms(line.trim_start());
    let mut out: Vec<String> = match parts.len() {
        1 => vec![line.to_string()],
        _ => parts.iter().flat_map(|part| broken_term(&format!("{pad}{part}"))).collect(),
    };
    out.iter_mut().last().into_iter().for_each(|line| line.push_str(comma));
    out
}

/// The parts of an expression that its loosest operators join, each with its operator in front.
fn terms(text: &str) -> Vec<String> {
    for operators in [&[" or "][..], &[" and "], &[" + ", " - "], &[" * ", " / "]] {
        let (mut out, mut depth, mut from) = (Vec::new(), 0, 0);
        for (at, byte) in text.bytes().enumerate() {
            match byte {
                b'(' | b'[' => depth += 1,
                b')' | b']' => depth -= 1,
                b' ' if depth == 0 && at > from && operators.iter().any(|op| text[at..].starts_with(op)) => {
                    out.push(text[from..at].trim().to_string());
                    from = at + 1;
                }
                _ => {}
            }
        }
        if !out.is_empty() {
            out.push(text[from..].trim().to_string());
            return out;
        }
    }
    vec![text.to_string()]
}
