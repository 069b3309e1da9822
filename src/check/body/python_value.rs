//! Values that only Python has, in expressions that are computed while compiling: `None`, strings,
//! dicts. What may be asked of them is whether they are equal, whether one is in another, and what
//! a dict holds for a key.

use std::rc::Rc;

use crate::check::body::{Body, Mode};
use crate::check::budget;
use crate::check::host::values::truth;
use crate::check::messages;
use crate::check::types::value::{Constant, Dict, Entry, FunctionName, Number, Operand, Reported, Res, TypeWord};
use crate::limits::MAX_CONSTANT_PARTS;
use crate::source::Span;
use crate::syntax::ast::{self, BinaryOp, BoolOp, CompareOp};

impl Body<'_, '_> {
    /// `None`, lists, dicts and comprehensions, where Python computes. None: it does not, or this
    /// is none of them.
    pub fn python_value(&mut self, expr: &ast::Expr) -> Option<Res<Operand>> {
        if !self.is_host() {
            return None;
        }
        Some(match &expr.kind {
            ast::ExprKind::None => Ok(Operand::Type(TypeWord::None)),
            ast::ExprKind::List(items) => {
                items.iter().map(|item| self.expr(item)).collect::<Res<_>>().map(Operand::Tuple)
            }
            ast::ExprKind::Dict(entries) => Ok(Operand::Dict(Rc::new(Dict::new(entries, self.c.scopes.current)))),
            ast::ExprKind::Comprehension(comprehension) => self.comprehension(comprehension, expr.span),
            ast::ExprKind::Lambda(_) | ast::ExprKind::Call { .. } | ast::ExprKind::Subscript { .. } => {
                return self.host_expr(expr);
            }
            _ => return None,
        })
    }

    /// Compares values where Python computes. None: that takes kernel code, or is no comparison of
    /// such values.
    pub fn python_compare(&mut self, op: CompareOp, left: &Operand, right: &Operand) -> Option<Res<Operand>> {
        if !self.is_host() {
            return None;
        }
        let truth = |holds: bool| Some(Ok(Operand::Const(Constant::untyped(Number::Bool(holds)))));
        match op {
            CompareOp::Eq | CompareOp::Is => truth(equal(left, right)?),
            CompareOp::Ne | CompareOp::IsNot => truth(!equal(left, right)?),
            CompareOp::In | CompareOp::NotIn => {
                let found = match (left, right) {
                    (Operand::Str(part), Operand::Str(whole)) => whole.contains(part.as_str()),
                    (item, Operand::Tuple(items)) => any_equal(items, item)?,
                    (key, Operand::Dict(dict)) => match self.entry(dict, key) {
                        Ok(entry) => entry.is_some(),
                        Err(reported) => return Some(Err(reported)),
                    },
                    _ => return None,
                };
                truth(found == (op == CompareOp::In))
            }
            CompareOp::Lt | CompareOp::Le | CompareOp::Gt | CompareOp::Ge => None,
        }
    }

    /// Whether a value counts as true where Python computes. None: it does not, or that is not
    /// known.
    pub fn python_truth(&self, value: &Operand) -> Option<bool> {
        if self.is_python() { truth(value) } else { None }
    }

    /// `a or b` where Python computes: one of them, whatever it is. None: that takes kernel code.
    pub fn python_logic(&mut self, op: BoolOp, operands: &[ast::Expr]) -> Option<Res<Operand>> {
        if !self.is_python() {
            return None;
        }
        let (last, first) = operands.split_last()?;
        for operand in first {
            let value = match self.expr(operand) {
                Ok(value) => value,
                Err(reported) => return Some(Err(reported)),
            };
            if self.python_truth(&value)? == (op == BoolOp::Or) {
                return Some(Ok(value));
            }
        }
        Some(self.expr(last))
    }

    /// `[0.0] * 4`, `a + [1]`, `"a" + "b"`. None: that is arithmetic.
    pub fn python_binary(&mut self, op: BinaryOp, left: &Operand, right: &Operand, span: Span) -> Option<Res<Operand>> {
        if !self.is_python() {
            return None;
        }
        let joined = match (op, left, right) {
            (BinaryOp::Add, Operand::Str(a), Operand::Str(b)) => Operand::Str(format!("{a}{b}")),
            (BinaryOp::Add, Operand::Tuple(a), Operand::Tuple(b)) => Operand::Tuple([a.as_slice(), b].concat()),
            (BinaryOp::Mul, Operand::Tuple(items), Operand::Const(count))
            | (BinaryOp::Mul, Operand::Const(count), Operand::Tuple(items)) => {
                let count = usize::try_from(count.as_int()?.max(0)).unwrap_or(usize::MAX);
                // Items may be large themselves.
                let each: usize = items.iter().map(budget::parts).sum();
                if each.saturating_mul(count) > MAX_CONSTANT_PARTS {
                    return Some(Err(self.c.constant_too_large(span)));
                }
                Operand::Tuple(std::iter::repeat_n(items, count).flatten().cloned().collect())
            }
            _ => return None,
        };
        Some(self.c.charge(&joined, span).map(|()| joined))
    }

    /// `items[1:3]` where Python computes.
    pub fn python_slice(&mut self, items: &[Operand], slice: &ast::Expr) -> Option<Res<Operand>> {
        let ast::ExprKind::Slice { lower, upper, step } = &slice.kind else { return None };
        let mut bounds = [None; 3];
        for (bound, given) in bounds.iter_mut().zip([lower, upper, step]) {
            if let Some(given) = given {
                match self.expr(given) {
                    Ok(operand) => *bound = Some(self.known_int(&operand)?),
                    Err(reported) => return Some(Err(reported)),
                }
            }
        }
        let [lower, upper, step] = bounds;
        let (step, count) = (step.unwrap_or(1), items.len() as i128);
        if step == 0 {
            return Some(Err(self.report(messages::values::step_of_slice_is_zero(slice.span))));
        }
        // Python's rule: negative bounds count from the end, all are clipped to what there is.
        let (least, most) = if step > 0 { (0, count) } else { (-1, count - 1) };
        let clip = |at: i128| (if at < 0 { at.saturating_add(count) } else { at }).clamp(least, most);
        let (start, stop) = if step > 0 { (least, most) } else { (most, least) };
        let (mut at, stop) = (lower.map_or(start, clip), upper.map_or(stop, clip));
        let mut taken = Vec::new();
        while if step > 0 { at < stop } else { at > stop } {
            taken.extend(usize::try_from(at).ok().and_then(|at| items.get(at)).cloned());
            at = at.saturating_add(step);
        }
        Some(Ok(Operand::Tuple(taken)))
    }

    /// Whether this is Python's own code, and not that of the library.
    pub fn is_python(&self) -> bool {
        self.mode == (Mode::Host { library: false })
    }

    /// `dict[key]`
    pub fn dict_item(&mut self, dict: &Dict, indices: &[ast::Expr], span: Span) -> Res<Operand> {
        let key = match indices {
            [index] => self.expr(index)?,
            // `d[1, 2]` is `d[(1, 2)]`.
            _ => Operand::Tuple(indices.iter().map(|index| self.expr(index)).collect::<Res<_>>()?),
        };
        match self.entry(dict, &key)? {
            Some(at) => self.entry_value(dict, at, span),
            None => Err(self.report(messages::values::missing_key(span))),
        }
    }

    /// Which entry a dict has for a key: of equal keys the last.
    fn entry(&mut self, dict: &Dict, key: &Operand) -> Res<Option<usize>> {
        let mut found = None;
        for (at, (other, _)) in dict.entries.iter().enumerate() {
            let other = self.c.within(dict.scope, |c| c.constant(other, false))?;
            if equal(&other, key) == Some(true) {
                found = Some(at);
            }
        }
        Ok(found)
    }

    /// `dict.items()`, `dict.keys()` or `dict.values()`. Of equal keys the first one is where the
    /// last one's value is.
    pub fn entries(&mut self, dict: &Dict, method: &str, span: Span) -> Res<Operand> {
        let mut found: Vec<(Operand, usize)> = Vec::new();
        for (at, (key, _)) in dict.entries.iter().enumerate() {
            let key = self.c.within(dict.scope, |c| c.constant(key, false))?;
            match found.iter_mut().find(|(other, _)| equal(other, &key) == Some(true)) {
                Some((_, place)) => *place = at,
                None => found.push((key, at)),
            }
        }
        let mut items = Vec::new();
        for (key, at) in found {
            items.push(match method {
                "keys" => key,
                "values" => self.entry_value(dict, at, span)?,
                _ => Operand::Tuple(vec![key, self.entry_value(dict, at, span)?]),
            });
        }
        let items = Operand::Tuple(items);
        self.c.charge(&items, span).map(|()| items)
    }

    /// The value of an entry, computed on its first use.
    fn entry_value(&mut self, dict: &Dict, at: usize, span: Span) -> Res<Operand> {
        let before = dict.found.borrow()[at].clone();
        match before {
            Entry::Known(value) => return self.c.charge(&value, span).map(|()| value),
            Entry::Evaluating => return Err(self.report(messages::values::circular_entry(span))),
            // What was not said must be found again.
            Entry::Failed { said } if said || self.c.evaluation.is_quiet() => return Err(Reported),
            Entry::Failed { .. } | Entry::Unread => {}
        }
        dict.found.borrow_mut()[at] = Entry::Evaluating;
        let value = self.c.nested(span, |c| c.within(dict.scope, |c| c.constant(&dict.entries[at].1, false)));
        dict.found.borrow_mut()[at] = match &value {
            Ok(value) => Entry::Known(value.clone()),
            Err(Reported) => Entry::Failed { said: !self.c.evaluation.is_quiet() },
        };
        value
    }
}

/// Whether one of the items is equal to a value. None: for one of them that is not known.
fn any_equal(items: &[Operand], value: &Operand) -> Option<bool> {
    let known: Option<Vec<bool>> = items.iter().map(|item| equal(item, value)).collect();
    known.map(|known| known.contains(&true))
}

/// Whether two values of Python are equal. None: they are not such values, or are not known.
fn equal(left: &Operand, right: &Operand) -> Option<bool> {
    use Operand::{Const, Dict, Enum, Function, Host, Module, Str, Tuple, Type, Value};
    Some(match (left, right) {
        (Const(a), Const(b)) => match (a.as_int(), b.as_int()) {
            (Some(a), Some(b)) => a == b,
            _ => a.number.as_f64() == b.number.as_f64(),
        },
        (Str(a), Str(b)) => a == b,
        (Type(TypeWord::None), Type(TypeWord::None)) => true,
        (Type(TypeWord::Type(a)), Type(TypeWord::Type(b))) => a == b,
        (Function(FunctionName::Builtin(a)), Function(FunctionName::Builtin(b))) => a == b,
        (Function(FunctionName::User { scope: a, name: x }), Function(FunctionName::User { scope: b, name: y })) => {
            a == b && x == y
        }
        (Function(_), Function(_)) => false,
        (Module(a), Module(b)) => a == b,
        (Tuple(a), Tuple(b)) => {
            let items: Option<Vec<bool>> = a.iter().zip(b).map(|(a, b)| equal(a, b)).collect();
            items?.iter().all(|&same| same) && a.len() == b.len()
        }
        // `None` is nothing else; nor is text.
        (Type(TypeWord::None) | Str(_), other) | (other, Type(TypeWord::None) | Str(_)) => match other {
            Const(_) | Str(_) | Type(_) | Function(_) | Module(_) | Tuple(_) | Enum(_) | Dict(_) | Host(_)
            | Value(_) => false,
            _ => return None,
        },
        _ => return None,
    })
}
