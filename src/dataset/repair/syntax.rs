//! Faults that the parser finds: slips of the keyboard and habits from other languages.

use super::sites::{Faults, Sites, range};
use crate::syntax::ast::{CompareOp, ExprKind, StmtKind};

pub fn faults(sites: &Sites, out: &mut Faults) {
    lines(sites, out);
    brackets(sites, out);
    operators(sites, out);
}

/// Misspelt keywords.
const KEYWORDS: [(&str, &str); 8] = [
    ("return ", "retrun "),
    ("return ", "reutrn "),
    ("for ", "fro "),
    ("while ", "whlie "),
    ("else:", "esle:"),
    ("elif ", "else if "),
    ("def ", "fn "),
    ("class ", "clas "),
];

fn lines(sites: &Sites, out: &mut Faults) {
    let mut before = "";
    for (start, line) in sites.lines() {
        let code = line.trim_start();
        let indent = line.len() - code.len();
        let opens = ["def ", "if ", "elif ", "else:", "for ", "while ", "class ", ")"];
        if line.ends_with(':') && opens.iter().any(|word| code.starts_with(word)) {
            let at = start + line.len() - 1;
            out.replace("missing-colon", format!("the `:` after `{}` is missing", head(code)), at..at + 1, "");
        }
        for (word, wrong) in KEYWORDS {
            if code.starts_with(word) {
                let at = start + indent;
                let (word, wrong) = (word.trim_end(), wrong.trim_end());
                let note = format!("`{word}` is written `{wrong}`");
                out.replace("misspelt-keyword", note, at..at + word.len(), wrong);
            }
        }
        if indent >= 4 && !code.is_empty() && !code.starts_with(['"', ')', '#']) && !code.ends_with(',') {
            let follows = before.ends_with(':');
            let from = start..start + indent;
            if follows {
                let shallow = " ".repeat(indent - 4);
                out.replace("missing-indent", "the body is not indented".to_string(), from, shallow);
            } else {
                let note = "the line is indented further than its block".to_string();
                out.replace("unexpected-indent", note, from.clone(), " ".repeat(indent + 4));
                let note = "the indentation matches no block".to_string();
                out.replace("uneven-indent", note, from, " ".repeat(indent - 1));
            }
        }
        if code.starts_with("\"\"\"") && code.len() > 6 && code.ends_with("\"\"\"") {
            let at = start + line.len() - 3;
            out.replace("unclosed-string", "the docstring is not closed".to_string(), at..at + 3, "");
        }
        before = line;
    }
}

/// The first word of a header.
fn head(code: &str) -> &str {
    code.split([' ', ':', '(']).next().filter(|word| !word.is_empty()).unwrap_or("def")
}

fn brackets(sites: &Sites, out: &mut Faults) {
    for (site, callee, args) in sites.calls() {
        let end = site.expr.span.end as usize;
        if sites.text.get(end - 1..end) == Some(")") {
            out.replace("missing-bracket", format!("the call of `{callee}` is not closed"), end - 1..end, "");
            if site.stmt.span.end == site.expr.span.end {
                out.replace("stray-bracket", "one `)` too many".to_string(), end..end, ")");
            }
        }
        for pair in args.windows(2) {
            if let Some(comma) = sites.find(pair[0].value.span.end, pair[1].value.span.start, ",") {
                let note = format!("a `,` between the arguments of `{callee}` is missing");
                out.replace("missing-comma", note, comma, "");
            }
        }
    }
    for function in &sites.functions {
        for pair in function.params.windows(2) {
            if let Some(comma) = sites.find(pair[0].span.end, pair[1].span.start, ",") {
                let note = format!("the `,` after the parameter `{}` is missing", pair[0].name.text);
                out.replace("missing-comma", note, comma, "");
            }
        }
    }
    for site in &sites.exprs {
        if let ExprKind::Subscript { base, .. } = &site.expr.kind {
            let end = site.expr.span.end as usize;
            if sites.text.get(end - 1..end) == Some("]") {
                let note = format!("the index of `{}` is not closed", sites.at(base.span));
                out.replace("missing-bracket", note, end - 1..end, "");
            }
        }
    }
}

fn operators(sites: &Sites, out: &mut Faults) {
    for site in &sites.exprs {
        match &site.expr.kind {
            ExprKind::Compare { first, rest } if matches!(site.stmt.kind, StmtKind::If { .. }) => {
                let Some((op, second)) = rest.first() else { continue };
                let Some(at) = sites.find(first.span.end, second.span.start, op.symbol()) else { continue };
                let wrong = match op {
                    CompareOp::Eq => "=",
                    CompareOp::Le => "=<",
                    CompareOp::Ge => "=>",
                    CompareOp::Ne => "<>",
                    _ => continue,
                };
                out.replace("wrong-operator", format!("`{}` is written `{wrong}`", op.symbol()), at, wrong);
            }
            ExprKind::Logic { operands, .. } => {
                for pair in operands.windows(2) {
                    for (word, sign) in [(" and ", " && "), (" or ", " || ")] {
                        if let Some(at) = sites.find(pair[0].span.end, pair[1].span.start, word) {
                            let note = format!("`{}` is written as in C", word.trim());
                            out.replace("c-operator", note, at, sign);
                        }
                    }
                }
            }
            ExprKind::Binary { op, left, right } => {
                let ends = right.span.end == site.stmt.span.end && sites.at(right.span).len() < 12;
                if let (true, Some(at)) = (ends, sites.find(left.span.end, right.span.start, op.symbol())) {
                    let note = format!("the operand after `{}` is missing", op.symbol());
                    out.replace("missing-operand", note, at.end..right.span.end as usize, "");
                }
            }
            _ => {}
        }
    }
    for (_, stmt) in &sites.statements {
        if let StmtKind::AugAssign { value, .. } = &stmt.kind
            && sites.at(value.span) == "1"
            && let Some(at) = sites.find(stmt.span.start, value.span.start, "+=")
        {
            let from = sites.text.get(..at.start).map_or(at.start, |text| text.trim_end().len());
            let all = from..range(value.span).end;
            out.replace("c-operator", "the counter is raised with `++`".to_string(), all, "++");
        }
    }
}
