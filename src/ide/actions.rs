//! What can be repaired here? The fixes of findings, conversions, atomics, and comments that allow
//! a warning.

use super::File;
use crate::check::facts::Meaning;
use crate::diag::{Applicability, Code, Diagnostic, Level};
use crate::source::Span;
use crate::syntax::ast::{ExprKind, StmtKind};
use crate::syntax::visit::{each_statement, targets};
use crate::types::{Scalar, Type};

/// A change that a person can choose.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Action {
    pub title: String,
    /// Replacements in this file.
    pub edits: Vec<(Span, String)>,
    /// The finding that it repairs: its number in the order of [`File::findings`].
    pub finding: Option<usize>,
    /// It is surely what is meant.
    pub preferred: bool,
}

/// The actions between two offsets.
pub fn actions(file: &File, range: std::ops::Range<u32>) -> Vec<Action> {
    let mut list = Vec::new();
    for (number, (place, diagnostic)) in file.findings().enumerate() {
        if place.start > range.end || range.start > place.end {
            continue;
        }
        if let Some(fix) = &diagnostic.fix {
            list.push(Action {
                title: capital(&fix.message),
                edits: fix.edits.clone(),
                finding: Some(number),
                preferred: fix.applicability == Applicability::Machine,
            });
        }
        list.extend(allow(file, diagnostic, place, number));
    }
    list.extend(convert(file, range.start));
    list.extend(atomic(file, range.start));
    list.retain(|action| action.edits.iter().all(|(span, _)| span.file == crate::driver::Analysis::FILE));
    let mut titles = std::collections::HashSet::new();
    list.retain(|action| titles.insert((action.title.clone(), action.edits.first().map(|(span, _)| *span))));
    list
}

fn capital(message: &str) -> String {
    let mut chars = message.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// A comment that allows a warning on its line.
fn allow(file: &File, diagnostic: &Diagnostic, place: Span, number: usize) -> Option<Action> {
    if diagnostic.level == Level::Error || diagnostic.code == Code::W1304 {
        return None;
    }
    let text = file.text();
    let end = place.start as usize
        + text.get(place.start as usize..)?.find('\n').unwrap_or(text.len() - place.start as usize);
    let end = text.get(..end)?.trim_end().len() as u32;
    let name = diagnostic.code.name();
    Some(Action {
        title: format!("Allow {name} here"),
        edits: vec![(Span::new(place.file, end, end), format!("  # kc: allow({name})"))],
        finding: Some(number),
        preferred: false,
    })
}

/// `float(...)` around the integer at the cursor, and the other way round.
fn convert(file: &File, offset: u32) -> Option<Action> {
    let facts = &file.analysis.facts.expressions;
    let expr = file.expressions_at(offset).into_iter().last()?;
    let to = match facts.get(&expr.span)? {
        Meaning::Value(Type::Scalar(s)) if s.is_int() => "float",
        Meaning::Value(Type::Scalar(Scalar::F32 | Scalar::F64 | Scalar::F16)) => "int",
        _ => return None,
    };
    // What is assigned cannot be converted.
    let function = file.function_at(offset)?;
    let mut target = false;
    each_statement(&function.body, &mut |stmt| {
        target |= targets(stmt).iter().any(|t| t.span.contains(expr.span));
    });
    let param = function.params.iter().any(|p| p.span.start <= offset && offset <= p.span.end);
    if target
        || param
        || !matches!(expr.kind, ExprKind::Name(_) | ExprKind::Subscript { .. } | ExprKind::Attribute { .. })
    {
        return None;
    }
    let text = file.slice(expr.span);
    Some(Action {
        title: format!("Convert to `{to}(...)`"),
        edits: vec![(expr.span, format!("{to}({text})"))],
        finding: None,
        preferred: false,
    })
}

/// `a[i] += v` as `wp.atomic_add(a, i, v)`, also where no race was found.
fn atomic(file: &File, offset: u32) -> Option<Action> {
    use crate::syntax::ast::BinaryOp;
    let function = file.function_at(offset)?;
    let mut found = None;
    each_statement(&function.body, &mut |stmt| {
        let here = stmt.span.start <= offset && offset <= stmt.span.end;
        let StmtKind::AugAssign { target, op, value } = &stmt.kind else { return };
        let ExprKind::Subscript { base, indices } = &target.kind else { return };
        let name = match op {
            BinaryOp::Add => "atomic_add",
            BinaryOp::Sub => "atomic_sub",
            BinaryOp::BitAnd => "atomic_and",
            BinaryOp::BitOr => "atomic_or",
            BinaryOp::BitXor => "atomic_xor",
            _ => return,
        };
        if here && matches!(file.analysis.facts.expressions.get(&base.span), Some(Meaning::Value(Type::Array(_)))) {
            let mut args = vec![file.slice(base.span).to_string()];
            args.extend(indices.iter().map(|index| file.slice(index.span).to_string()));
            args.push(file.slice(value.span).to_string());
            let module = module(file);
            found =
                Some((stmt.span, format!("{module}{name}({})", args.join(", ")), format!("Write as `{module}{name}`")));
        }
    });
    let (span, text, title) = found?;
    Some(Action { title, edits: vec![(span, text)], finding: None, preferred: false })
}

/// `wp.`, or what the file calls it.
fn module(file: &File) -> String {
    use crate::syntax::ast::Item;
    let alias = file.analysis.parsed.all_items().into_iter().find_map(|item| match item {
        Item::Import(import) if import.names.is_empty() && import.module == "warp" => {
            Some(import.alias.as_ref().map_or("warp".to_string(), |alias| alias.text.clone()))
        }
        _ => None,
    });
    format!("{}.", alias.unwrap_or_else(|| "wp".to_string()))
}
