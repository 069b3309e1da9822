//! Where do the types in a mismatch come from, and what should be written instead?

use super::fraction::{KeepsInteger, converted, fraction, tight};
use super::pattern::Bindings;
use super::value::{Operand, Reported, cast_name};
use crate::check::body::Body;
use crate::check::calls::call::Given;
use crate::check::messages;
use crate::check::names::habits;
use crate::check::names::suggest::nearest;
use crate::check::state::definition::Signature;
use crate::check::tree::{Expr, ExprKind, Local, LocalId};
use crate::diag::{Applicability, Diagnostic, quoted};
use crate::source::Span;
use crate::syntax::ast::{self, BinaryOp};
use crate::types::{BOOL, Scalar, Type};

impl Body<'_, '_> {
    /// Labels the place that gave the type to the value at `at`: the variable's, the array's.
    pub fn label_origin(&self, diagnostic: Diagnostic, expr: &Expr, at: Span) -> Diagnostic {
        let (id, verb, ty) = match &expr.kind {
            ExprKind::Local(id) => (*id, "is", expr.ty),
            ExprKind::Load { array, path, .. } if path.is_empty() => match array.kind {
                ExprKind::Local(id) => (id, "holds", expr.ty),
                _ => return diagnostic,
            },
            _ => return diagnostic,
        };
        let local = &self.locals[id];
        let place = local.span;
        // What a line says about itself needs no second label, and what has no name has none.
        if local.name.is_empty() || place == at || diagnostic.labels.iter().any(|label| label.span == place) {
            return diagnostic;
        }
        messages::details::because_of_this(diagnostic, &local.name, verb, &self.show(ty), place)
    }

    /// `where(a, condition, b)` with its arguments in order, as text.
    pub fn condition_first(&self, name: &str, given: &[Given], span: Span) -> Option<String> {
        let [_, _, _] = given else { return None };
        let is_bool = |arg: &Given| match &arg.operand {
            Operand::Value(expr) => expr.ty == BOOL,
            Operand::Const(c) => Type::from(c.scalar()) == BOOL,
            _ => false,
        };
        let at = given.iter().position(is_bool).filter(|&at| name == "where" && at > 0)?;
        let plain = given.iter().all(|arg| arg.name.is_none()) && given.iter().filter(|arg| is_bool(arg)).count() == 1;
        let (called, _) = self.c.sources.text(span).split_once('(').filter(|_| plain)?;
        let rest = given.iter().enumerate().filter(|(n, _)| *n != at).map(|(_, arg)| arg);
        let args: Vec<&str> =
            std::iter::once(&given[at]).chain(rest).map(|arg| self.c.sources.text(arg.span)).collect();
        Some(format!("{called}({})", args.join(", ")))
    }

    /// The call with two arguments exchanged, as text, if no other order of two fits.
    pub fn exchanged(&self, signature: &Signature, given: &[Given], span: Span) -> Option<String> {
        let ty = |arg: &Given| match &arg.operand {
            Operand::Value(expr) if arg.name.is_none() => Some(expr.ty),
            Operand::Const(c) if arg.name.is_none() => Some(c.scalar().into()),
            _ => None,
        };
        let types = given.iter().map(ty).collect::<Option<Vec<Type>>>()?;
        let fits = |order: &[usize]| {
            let mut bindings = Bindings::default();
            order.iter().zip(&signature.params).all(|(&k, param)| self.c.fits(&param.pattern, types[k], &mut bindings))
        };
        let pairs = (0..types.len()).flat_map(|k| (0..k).map(move |j| (j, k)));
        let orders = pairs.filter(|&(j, k)| types[j] != types[k]).map(|(j, k)| {
            let mut order: Vec<usize> = (0..types.len()).collect();
            order.swap(j, k);
            order
        });
        let mut fitting = orders.filter(|order| fits(order));
        let (order, None) = (fitting.next()?, fitting.next()) else { return None };
        let (called, _) = self.c.sources.text(span).split_once('(')?;
        let args: Vec<&str> = order.iter().map(|&k| self.c.sources.text(given[k].span)).collect();
        Some(format!("{called}({})", args.join(", ")))
    }

    /// The help and the fix that convert the scalar at `at`; `what` names it: "it".
    pub fn suggest_cast(
        &self,
        diagnostic: Diagnostic,
        at: Span,
        (from, to): (Type, Scalar),
        what: &str,
        sure: Applicability,
    ) -> Diagnostic {
        let text = self.c.sources.text(at);
        if self.tiles.computed.contains(&at) {
            let repaired = format!("wp.tile_astype({text}, {})", cast_name(to));
            return messages::type_repairs::converted_tile(diagnostic, &repaired, at, sure);
        }
        if from.is_int()
            && to.is_float()
            && let Some(fraction) =
                self.function.source.as_ref().and_then(|source| fraction(source, at, to, self.c.sources))
        {
            return match fraction {
                Ok(text) => messages::type_repairs::float_division(diagnostic, &text, at),
                Err(KeepsInteger) => messages::type_repairs::converted_operands(diagnostic),
            };
        }
        if to == Scalar::F64
            && from == Type::Scalar(Scalar::F32)
            && let Some((place, text)) = self.text_with_digits(at)
        {
            let sure = if place == at { sure } else { Applicability::Maybe };
            return messages::type_repairs::digits_of_float64(diagnostic, &text, place, sure);
        }
        let repaired = converted(text, to);
        messages::type_repairs::converted(diagnostic, what, &repaired, at, sure)
    }

    /// The help that makes an integer variable a float from its first assignment on, and the fix
    /// where that assigns a literal.
    pub fn suggest_float_from_start(&self, diagnostic: Diagnostic, variable: LocalId) -> Diagnostic {
        let Local { name, span, .. } = &self.locals[variable];
        let text = &self.c.sources.file(span.file).text;
        let literal = text.get(span.end as usize..).and_then(assigned_literal);
        let Some((before, digits)) = literal else {
            return messages::type_repairs::float_of_its_own(diagnostic, name);
        };
        let end = span.end + (before + digits.len()) as u32;
        let at = Span { start: end - digits.len() as u32, end, ..*span };
        messages::type_repairs::float_from_start(diagnostic, name, digits, at)
    }

    /// What to write instead of an operator that its operands do not have.
    pub fn operand_advice(
        &self,
        op: BinaryOp,
        (l, at_left): (Type, Span),
        (r, at_right): (Type, Span),
    ) -> Option<String> {
        let int = |ty: Type| ty.as_scalar().is_some_and(Scalar::is_int);
        let name = |at: Span| {
            let text = self.c.sources.text(at);
            let plain = !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.');
            if plain { text.to_string() } else { "x".to_string() }
        };
        Some(match (op, l, r) {
            (BinaryOp::Add | BinaryOp::Sub, Type::Array(_), r) if int(r) => {
                let x = name(at_left);
                format!("an array is no pointer: `{x}[i]` is its element `i`, and `{x}[i:]` what begins there")
            }
            (_, Type::Array(array), _) | (_, _, Type::Array(array)) => {
                let x = name(if matches!(l, Type::Array(_)) { at_left } else { at_right });
                let index = ["i", "j", "k", "l"][..usize::from(array.ndim).clamp(1, 4)].join(", ");
                format!("a kernel computes with elements: write `{x}[{index}]` with the index of the thread")
            }
            (BinaryOp::BitXor, Type::Scalar(s), Type::Scalar(_)) if s.is_float() => {
                let exponent = match r.is_int() {
                    true => converted(self.c.sources.text(at_right), s),
                    false => self.c.sources.text(at_right).to_string(),
                };
                let power = format!("{} ** {}", tight(self.c.sources.text(at_left)), tight(&exponent));
                format!("a power is `{power}`; `^` is exclusive or, for integers")
            }
            (BinaryOp::Pow, l, _) if int(l) => "integers have no power: multiply, or write `float(x) ** 2.0`".into(),
            (BinaryOp::Mul | BinaryOp::MatMul, Type::Mat(rows, columns, _), Type::Vec(n, _)) => {
                format!("a {rows}x{columns} matrix multiplies vectors of {columns} components, and this one has {n}")
            }
            (BinaryOp::Mul | BinaryOp::MatMul, Type::Mat(a, b, _), Type::Mat(c, d, _)) if b != c => {
                format!("a {a}x{b} matrix multiplies matrices of {b} rows, and this is {c}x{d}")
            }
            (BinaryOp::Mul, Type::Vec(a, s), Type::Vec(b, t)) if (a, s) == (b, t) => {
                "write `wp.cw_mul(a, b)` for the products of the components, `wp.dot(a, b)` for their sum".into()
            }
            (BinaryOp::Div, Type::Vec(a, s), Type::Vec(b, t)) if (a, s) == (b, t) => {
                "write `wp.cw_div(a, b)` for the quotients of the components".into()
            }
            (BinaryOp::Mul, Type::Quat(_), Type::Vec(3, _)) => "write `wp.quat_rotate(q, v)`".into(),
            (BinaryOp::Mul, Type::Transform(_), Type::Vec(3, _)) => {
                "write `wp.transform_point(t, p)` for a point, `wp.transform_vector(t, v)` for a direction".into()
            }
            (BinaryOp::Add | BinaryOp::Sub, Type::Vec(n, s), Type::Scalar(t))
            | (BinaryOp::Add | BinaryOp::Sub, Type::Scalar(t), Type::Vec(n, s))
                if s == t =>
            {
                let name = self.show(Type::Vec(n, s));
                format!("give every component the number: `wp.{name}(...)`")
            }
            (BinaryOp::BitAnd | BinaryOp::BitOr, Type::Scalar(s), Type::Scalar(t)) if s.is_float() && t.is_float() => {
                let (sign, word) = if op == BinaryOp::BitAnd { ("&", "and") } else { ("|", "or") };
                format!(
                    "between conditions write `{word}`: `{sign}` is for the bits of integers, and goes before `<` and `>`"
                )
            }
            (BinaryOp::Shl | BinaryOp::Shr | BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor, l, r)
                if [l, r].iter().any(|ty| ty.scalar_part().is_some_and(Scalar::is_float)) =>
            {
                "bit operations are for integers: `int(x)` takes the number, `wp.cast(x, wp.uint32)` the bits".into()
            }
            (_, Type::Scalar(Scalar::Bool), Type::Scalar(Scalar::Bool)) => {
                "convert them: `int(a)`; or write `and`, `or`".into()
            }
            _ => return None,
        })
    }

    /// Reports `value.name`, which does not exist.
    pub fn unknown_attribute(&mut self, expr: &Expr, base: &ast::Expr, name: &ast::Name) -> Reported {
        let shown = self.show(expr.ty);
        let components = |n: u32| -> Vec<String> { "xyzw".chars().take(n as usize).map(String::from).collect() };
        let known: Vec<String> = match expr.ty {
            Type::Struct(id) => self.c.output.structs[id].fields.iter().map(|f| f.name.clone()).collect(),
            Type::Array(_) => ["shape", "size", "ndim", "dtype", "ptr", "grad"].map(String::from).to_vec(),
            Type::Vec(..) | Type::Quat(_) => components(expr.ty.step_count(&self.c.output.structs)),
            Type::Transform(_) => ["p", "q"].map(String::from).to_vec(),
            _ => Vec::new(),
        };
        let diagnostic = messages::names::no_attribute(&shown, &name.text, name.span, base.span);
        let diagnostic = self.label_origin(diagnostic, expr, base.span);
        let listed = quoted(&known);
        let instead = |diagnostic: Diagnostic, at: Span, text: String| {
            messages::type_repairs::used_instead(diagnostic, &text, at)
        };
        let text = self.c.sources.text(base.span).to_string();
        let diagnostic = match expr.ty {
            Type::Vec(..) | Type::Quat(_) => match swizzle(&name.text, &known) {
                Some(letters) if letters.len() == 1 => {
                    instead(messages::details::components(diagnostic, &listed), name.span, letters.concat())
                }
                Some(letters) => {
                    let scalar = expr.ty.scalar_part().unwrap_or(Scalar::F32);
                    let ty = self.show(Type::Vec(letters.len() as u16, scalar));
                    let parts: Vec<String> = letters.iter().map(|k| format!("{text}.{k}")).collect();
                    let whole = format!("wp.{ty}({})", parts.join(", "));
                    let at = Span { end: name.span.end, ..base.span };
                    instead(messages::type_repairs::component_by_component(diagnostic, &whole), at, whole)
                }
                None => match (name.text.as_str(), habits::of_attribute(&name.text)) {
                    ("sum", _) => {
                        let parts: Vec<String> = known.iter().map(|k| format!("{text}.{k}")).collect();
                        messages::type_repairs::sum_of_components(diagnostic, &parts.join(" + "))
                    }
                    ("max" | "min", _) => messages::type_repairs::function_for_method(diagnostic, &name.text, &text),
                    ("copy" | "clone", _) => messages::type_repairs::assignment_copies(diagnostic),
                    (_, Some(help)) => diagnostic.help(help),
                    (_, None) => messages::details::attributes(diagnostic, &listed),
                },
            },
            Type::Scalar(_) if matches!(name.text.as_str(), "item" | "copy" | "clone" | "numpy" | "get" | "value") => {
                let call = Span { start: base.span.end, end: name.span.end + 2, ..name.span };
                let diagnostic = messages::type_repairs::a_number_already(diagnostic, &name.text);
                if self.c.sources.text(call).ends_with("()") {
                    messages::type_repairs::left_away(diagnostic, call)
                } else {
                    diagnostic
                }
            }
            Type::Scalar(_) if text.ends_with("tid()") => messages::type_repairs::number_of_thread(diagnostic, &text),
            Type::Transform(_) => match name.text.as_str() {
                "x" | "y" | "z" => {
                    let whole = format!("p.{}", name.text);
                    instead(messages::details::parts_of_transform(diagnostic), name.span, whole)
                }
                _ => messages::details::parts_of_transform(diagnostic),
            },
            Type::Array(_) if matches!(name.text.as_str(), "len" | "length" | "count") => {
                let whole = format!("len({text})");
                let at = Span { end: name.span.end, ..base.span };
                instead(messages::type_repairs::extent_of_dimension(diagnostic, &whole), at, whole)
            }
            _ => match nearest(&name.text, known.iter().map(String::as_str)) {
                Some(near) => instead(messages::repairs::did_you_mean_name(diagnostic, &near), name.span, near),
                None => match habits::of_attribute(&name.text) {
                    Some(help) => diagnostic.help(help),
                    None if !known.is_empty() => messages::details::attributes(diagnostic, &listed),
                    None => diagnostic,
                },
            },
        };
        self.report(diagnostic)
    }
}

/// The integer literal that is all of what the text after a name assigns to it, and the bytes
/// before the literal.
fn assigned_literal(after: &str) -> Option<(usize, &str)> {
    let value = after.trim_start_matches(' ').strip_prefix('=')?.trim_start_matches(' ');
    let digits = &value[..value.len() - value.trim_start_matches(|c: char| c.is_ascii_digit()).len()];
    let rest = value[digits.len()..].trim_start_matches([' ', '\t', '\r']);
    let ends = rest.is_empty() || rest.starts_with(['\n', '#', ';']);
    (!digits.is_empty() && ends).then(|| (after.len() - value.len(), digits))
}

/// Which of two scalars of different types is converted: toward the float, or the wider of the two.
pub(crate) fn left_moves(left: Scalar, right: Scalar) -> bool {
    (right.is_float() && !left.is_float()) || (right.is_float() == left.is_float() && right.size() > left.size())
}

/// The components that `xy`, `rgb` or `st` mean elsewhere, if all of them are here.
fn swizzle(name: &str, known: &[String]) -> Option<Vec<String>> {
    let letters = |set: &str| -> Option<Vec<String>> {
        name.chars().map(|c| set.find(c).and_then(|k| known.get(k)).cloned()).collect()
    };
    if name.is_empty() || name.len() > 4 {
        return None;
    }
    ["xyzw", "rgba", "stpq", "uv"].iter().find_map(|set| letters(set))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_literal_is_found_where_it_is_all_that_is_assigned() {
        assert_eq!(assigned_literal(" = 0\n  y = 2"), Some((3, "0")));
        assert_eq!(assigned_literal("=17  # why"), Some((1, "17")));
        assert_eq!(assigned_literal(" = 1; b = 2"), Some((3, "1")));
        assert_eq!(assigned_literal(" = 0x10\n"), None);
        assert_eq!(assigned_literal(" = 0 + n\n"), None);
        assert_eq!(assigned_literal(" == 0\n"), None);
        assert_eq!(assigned_literal(": int = 0\n"), None);
        assert_eq!(assigned_literal(" = -1\n"), None);
    }

    #[test]
    fn swizzles_name_components_that_exist() {
        let known: Vec<String> = ["x", "y", "z"].map(String::from).to_vec();
        assert_eq!(swizzle("zx", &known), Some(vec!["z".into(), "x".into()]));
        assert_eq!(swizzle("rgb", &known), Some(vec!["x".into(), "y".into(), "z".into()]));
        assert_eq!(swizzle("xw", &known), None);
        assert_eq!(swizzle("xg", &known), None);
        assert_eq!(swizzle("norm", &known), None);
    }
}
