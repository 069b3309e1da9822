//! Which call is being written, and at which argument is the cursor? Read from the text before the
//! cursor, for a call that is not finished does not parse.

use super::File;
use super::find::decorator;
use super::hover::header;
use super::words;
use crate::check::facts::Meaning;
use crate::library::reference;
use crate::types::Type;

/// One way to call it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Signature {
    pub label: String,
    pub doc: String,
    /// The parameters, each a part of `label`.
    pub params: Vec<String>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Help {
    pub signatures: Vec<Signature>,
    /// The signature that fits the arguments so far.
    pub active: usize,
    /// The argument at the cursor, from 0.
    pub argument: usize,
}

pub fn help(file: &File, offset: u32) -> Option<Help> {
    let item = file.enclosing(offset)?;
    let Open { callee, from, argument, keyword } = open_call(file.text().get(item.start as usize..offset as usize)?)?;
    let name = callee.rsplit('.').next().unwrap_or(callee);
    let signatures = if callee.contains('.') { builtin(name) } else { own(file, name) };
    let signatures = if signatures.is_empty() && !callee.contains('.') { builtin(name) } else { signatures };
    if signatures.is_empty() {
        return None;
    }
    let takes = |signature: &&Signature| argument < signature.params.len() || argument == 0;
    let first = first_type(file, item.start + from as u32);
    let fits = |signature: &Signature| {
        let param = signature.params.first().and_then(|param| param.split_once(": ")).map(|(_, ty)| ty);
        first.is_some_and(|ty| param.is_some_and(|param| accepts(param, ty)))
    };
    let best = signatures.iter().position(|signature| takes(&signature) && fits(signature));
    let active = best.or_else(|| signatures.iter().position(|signature| takes(&signature))).unwrap_or(0);
    let named = |word: &str| {
        let is = |param: &String| param.split([':', '=']).next().is_some_and(|name| name.trim() == word);
        signatures.get(active).and_then(|signature| signature.params.iter().position(is))
    };
    let argument = keyword.and_then(named).unwrap_or(argument);
    Some(Help { signatures, active, argument })
}

/// The type of the argument that begins at an offset.
fn first_type(file: &File, offset: u32) -> Option<Type> {
    let blanks = file.text().get(offset as usize..)?;
    let at = offset + (blanks.len() - blanks.trim_start().len()) as u32;
    let expressions = file.expressions_at(at);
    let whole = expressions.into_iter().find(|expr| expr.span.start == at)?;
    match file.analysis.facts.expressions.get(&whole.span)? {
        Meaning::Value(ty) | Meaning::Constant(_, ty) => Some(*ty),
        _ => None,
    }
}

/// Whether a parameter of the library, as written, can take a type. A guess that only chooses what
/// is shown first.
fn accepts(param: &str, ty: Type) -> bool {
    match ty {
        Type::Vec(..) => param.starts_with("Vec"),
        Type::Mat(..) => param.starts_with("Mat"),
        Type::Quat(_) => param.starts_with("Quat"),
        Type::Transform(_) => param.starts_with("Transform"),
        Type::Array(_) | Type::Local(_) => param.starts_with("Array"),
        Type::Scalar(s) => match param {
            "Float" => s.is_float(),
            "Int" => s.is_int(),
            "Scalar" => true,
            _ => param == s.name(),
        },
        Type::Struct(_) => false,
    }
}

fn builtin(name: &str) -> Vec<Signature> {
    let overloads = reference::builtin(name).into_iter();
    let mut list: Vec<Signature> =
        overloads.map(|o| Signature { label: o.signature, doc: o.doc, params: o.params }).collect();
    if let (true, Some(word)) = (list.is_empty(), words::find(name)) {
        let (label, doc) = (word.signature.to_string(), word.doc.to_string());
        list.push(Signature { label, doc, params: word.params() });
    }
    list
}

fn own(file: &File, name: &str) -> Vec<Signature> {
    if let Some(class) = file.classes().find(|class| class.name.text == name) {
        let params: Vec<String> = class
            .members
            .iter()
            .map(|m| {
                format!(
                    "{}{}",
                    m.name.text,
                    m.annotation.as_ref().map_or(String::new(), |a| format!(": {}", file.slice(a.span)))
                )
            })
            .collect();
        let doc = class.doc.clone().unwrap_or_default();
        return vec![Signature { label: format!("{name}({})", params.join(", ")), doc, params }];
    }
    let functions = file.functions().filter(|f| f.name.text == name && decorator(f) != Some("kernel"));
    functions
        .map(|function| Signature {
            label: header(file, function),
            doc: function.doc.clone().unwrap_or_default(),
            params: function.params.iter().map(|param| file.slice(param.span).to_string()).collect(),
        })
        .collect()
}

/// A call that is open at the end of a text.
struct Open<'a> {
    callee: &'a str,
    /// Where its arguments begin.
    from: usize,
    /// The number of the last argument, from 0.
    argument: usize,
    /// The keyword before the cursor.
    keyword: Option<&'a str>,
}

/// The innermost call that is open.
fn open_call(text: &str) -> Option<Open<'_>> {
    // (where the bracket is, whether it is round, the arguments before, where the last one begins)
    let mut open: Vec<(usize, bool, usize, usize)> = Vec::new();
    let mut quote = None;
    let mut comment = false;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            _ if comment => comment = c != '\n',
            (Some(q), _) if c == q || c == '\n' => quote = None,
            (Some(_), _) => {}
            (None, '#') => comment = true,
            (None, '"' | '\'') => quote = Some(c),
            (None, '(' | '[' | '{') => open.push((at, c == '(', 0, at + 1)),
            (None, ')' | ']' | '}') => {
                open.pop();
            }
            (None, ',') => {
                if let Some(last) = open.last_mut() {
                    last.2 += 1;
                    last.3 = at + 1;
                }
            }
            _ => {}
        }
    }
    if comment {
        return None;
    }
    while let Some((at, round, count, from)) = open.pop() {
        let before = text.get(..at)?.trim_end();
        let callee_start = before
            .char_indices()
            .rev()
            .take_while(|(_, c)| c.is_alphanumeric() || matches!(c, '_' | '.'))
            .last()
            .map(|(start, _)| start);
        let Some(start) = callee_start.filter(|_| round) else { continue };
        let callee = before.get(start..)?;
        if matches!(callee, "if" | "while" | "and" | "or" | "not" | "in" | "return") {
            continue;
        }
        // The parameters of a definition are no arguments.
        if before.get(..start)?.trim_end().ends_with("def") {
            return None;
        }
        let argument = text.get(from..)?;
        let keyword = argument.split_once('=').map(|(name, _)| name.trim()).filter(|name| !name.is_empty());
        let keyword = keyword.filter(|name| name.chars().all(|c| c.is_alphanumeric() || c == '_'));
        return Some(Open { callee, from: at + 1, argument: count, keyword });
    }
    None
}
