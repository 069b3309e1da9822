//! Loops over what is no range, as Python writes them: over the elements of an array, `enumerate`,
//! `zip`, a list.

use crate::check::body::{Binding, Body};
use crate::check::messages;
use crate::check::types::value::{Operand, Reported};
use crate::diag::{Diagnostic, quoted};
use crate::source::Span;
use crate::syntax::ast::{self, ExprKind};
use crate::types::Type;

/// What a loop goes over, as text.
#[derive(Clone)]
enum Sequence {
    Array(String),
    /// From, to, and by steps of.
    Range([String; 3]),
}

impl Sequence {
    /// None: it is something else.
    fn of(expr: &ast::Expr, text: &impl Fn(&ast::Expr) -> String) -> Option<Sequence> {
        match &expr.kind {
            ExprKind::Name(_) | ExprKind::Attribute { .. } | ExprKind::Subscript { .. } => {
                Some(Sequence::Array(text(expr)))
            }
            ExprKind::Call { callee, args } if text(callee) == "range" && args.iter().all(|arg| arg.name.is_none()) => {
                let number = |n: usize| args.get(n).map(|arg: &ast::Arg| text(&arg.value));
                match args.len() {
                    1 => Some(Sequence::Range(["0".to_string(), number(0)?, "1".to_string()])),
                    2 | 3 => {
                        let step = number(2).unwrap_or_else(|| "1".to_string());
                        Some(Sequence::Range([number(0)?, number(1)?, step]))
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn length(&self) -> String {
        match self {
            Sequence::Array(array) => format!("{array}.shape[0]"),
            Sequence::Range([start, stop, step]) => {
                let numbers = [start, stop, step].map(|text| text.parse::<i64>().ok());
                match (numbers, start.as_str(), step.as_str()) {
                    ([Some(start), Some(stop), Some(1)], ..) => (stop - start).max(0).to_string(),
                    (_, "0", "1") => stop.clone(),
                    (_, _, "1") => format!("({stop}) - ({start})"),
                    _ => format!("(({stop}) - ({start}) + ({step}) - 1) // ({step})"),
                }
            }
        }
    }

    fn element(&self, index: &str) -> String {
        match self {
            Sequence::Array(array) => format!("{array}[{index}]"),
            Sequence::Range([start, _, step]) => match (start.as_str(), step.as_str()) {
                ("0", "1") => index.to_string(),
                (_, "1") => format!("{start} + {index}"),
                ("0", _) => format!("{index} * ({step})"),
                _ => format!("{start} + {index} * ({step})"),
            },
        }
    }
}

impl Body<'_, '_> {
    /// What a loop assigns in each turn is not known after an error in its header.
    pub fn forgive_targets(&mut self, target: &ast::Expr) {
        let ExprKind::Tuple(targets) = &target.kind else { return };
        for target in targets {
            match &target.kind {
                ExprKind::Name(name) => drop(self.scope.entry(name.clone()).or_insert(Binding::Broken)),
                _ => self.forgive_targets(target),
            }
        }
    }

    /// Refuses `for a, b in ...`.
    pub fn several_variables(&mut self, target: &ast::Expr, iter: &ast::Expr, body: &[ast::Stmt]) -> Reported {
        if let Some(reported) = self.foreign(iter) {
            return reported;
        }
        let diagnostic = messages::statements::several_loop_variables(target.span.to(iter.span));
        let ExprKind::Tuple(targets) = &target.kind else {
            return self.report(messages::repairs::one_index(diagnostic));
        };
        let text = |expr: &ast::Expr| self.c.sources.text(expr.span).to_string();
        let names: Vec<String> = targets.iter().map(text).collect();
        let plain = targets.iter().all(|target| matches!(target.kind, ExprKind::Name(_)));
        let ExprKind::Call { callee, args } = &iter.kind else {
            return self.report(messages::repairs::one_index(diagnostic));
        };
        let sequences: Option<Vec<Sequence>> = args.iter().map(|arg| Sequence::of(&arg.value, &text)).collect();
        let sequences = sequences.unwrap_or_default();
        let (index, values) = match (text(callee).as_str(), names.as_slice(), sequences.as_slice()) {
            ("enumerate", [index, value], [array]) if plain => (index.clone(), vec![(value.clone(), array.clone())]),
            ("zip", names, all) if plain && names.len() == all.len() => {
                (self.free_index(), names.iter().cloned().zip(all.iter().cloned()).collect())
            }
            _ => return self.report(messages::repairs::range_of_index(diagnostic)),
        };
        self.elements(diagnostic, target.span.to(iter.span), &index, &values, body)
    }

    /// Refuses `for value in x` where `x` is an array, or a list that is written out. None: it is
    /// neither.
    pub fn loop_over_values(&mut self, target: &ast::Expr, iter: &ast::Expr, body: &[ast::Stmt]) -> Option<Reported> {
        let diagnostic = messages::statements::not_a_range(iter.span);
        match &iter.kind {
            ExprKind::List(items) | ExprKind::Tuple(items) => {
                let number = |item: &ast::Expr| self.c.sources.text(item.span).parse::<i64>().ok();
                let numbers: Option<Vec<i64>> = items.iter().map(number).collect();
                let numbers = numbers.filter(|all| all.windows(2).all(|pair| pair[1] == pair[0] + 1));
                Some(match numbers.as_deref() {
                    Some([first, .., last]) => {
                        let range = match first {
                            0 => format!("range({})", last + 1),
                            _ => format!("range({first}, {})", last + 1),
                        };
                        self.replaced(diagnostic, iter.span, &range)
                    }
                    _ => self.report(messages::repairs::values_in_vector(diagnostic)),
                })
            }
            ExprKind::Name(_) | ExprKind::Attribute { .. } | ExprKind::Subscript { .. } => {
                let value = match self.expr(iter) {
                    Ok(Operand::Value(value)) => value,
                    Ok(_) => return None,
                    Err(reported) => return Some(reported),
                };
                if !matches!(value.ty, Type::Array(_)) {
                    return None;
                }
                let text = |expr: &ast::Expr| self.c.sources.text(expr.span).to_string();
                let (name, array) = (text(target), text(iter));
                let index = self.free_index();
                Some(self.elements(
                    diagnostic,
                    target.span.to(iter.span),
                    &index,
                    &[(name, Sequence::Array(array))],
                    body,
                ))
            }
            _ => None,
        }
    }

    /// A name for an index that means nothing yet.
    fn free_index(&self) -> String {
        let free = |name: &&str| !self.scope.contains_key(*name) && self.c.lookup(name).is_none();
        ["j", "k", "l", "m", "index"].into_iter().find(free).unwrap_or("index_2").to_string()
    }

    /// Reports with the loop over indices, and the elements as the first lines of its body.
    fn elements(
        &mut self,
        diagnostic: Diagnostic,
        header: Span,
        index: &str,
        values: &[(String, Sequence)],
        body: &[ast::Stmt],
    ) -> Reported {
        let length = values.first().map_or_else(String::new, |(_, sequence)| sequence.length());
        let range = format!("{index} in range({length})");
        let lines: Vec<String> =
            values.iter().map(|(name, sequence)| format!("{name} = {}", sequence.element(index))).collect();
        let shown = quoted(&lines);
        let diagnostic = messages::repairs::loop_over_indices(diagnostic, &range, &shown);
        let Some(first) = body.first() else { return self.report(diagnostic) };
        let text = &self.c.sources.file(first.span.file).text;
        let before = text.get(..first.span.start as usize).unwrap_or_default();
        let indent = before.rsplit('\n').next().unwrap_or_default();
        let between = if indent.trim().is_empty() { format!("\n{indent}") } else { "; ".to_string() };
        let start: String = lines.iter().flat_map(|line| [line.as_str(), &between]).collect();
        let at = Span { end: first.span.start, ..first.span };
        self.report(messages::repairs::indices_for_elements(diagnostic, (header, range), (at, start)))
    }
}
