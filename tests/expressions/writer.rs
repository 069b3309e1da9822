//! How do templates become code? Holes are filled with what is in scope, values that nobody used
//! yet first.

use std::collections::HashSet;

use super::formulas;
use super::tree::{Binding, Expr, Kind, Stmt};
use super::vocabulary::{Domain, locals};
use crate::dataset::random::Random;

/// A value that expressions may use: a variable, a parameter, an element of an array.
#[derive(Clone, Debug)]
pub struct Value {
    pub text: String,
    pub kind: Kind,
    pub uses: u32,
    /// Computed here, so that it must be used.
    pub owed: bool,
}

/// A function of the program.
#[derive(Clone, Debug)]
pub struct Callee {
    pub name: String,
    pub params: Vec<Kind>,
    pub result: Kind,
    pub calls: u32,
}

pub struct Writer<'a> {
    pub random: &'a mut Random,
    pub domain: Domain,
    pub values: Vec<Value>,
    pub callees: Vec<Callee>,
    /// Names that cannot be given again.
    pub taken: HashSet<String>,
    /// How often a value was used so far.
    pub used: u64,
}

impl Writer<'_> {
    /// A name of the list that is still free, or one with a number.
    pub fn name(&mut self, candidates: &[&str]) -> String {
        let start = self.random.below(candidates.len().max(1));
        for k in 0..candidates.len() {
            let name = candidates[(start + k) % candidates.len()];
            if self.taken.insert(name.to_string()) {
                return name.to_string();
            }
        }
        let stem = candidates.get(start).copied().unwrap_or("value");
        let mut n = 2;
        loop {
            let name = format!("{stem}_{n}");
            if self.taken.insert(name.clone()) {
                return name;
            }
            n += 1;
        }
    }

    pub fn declare(&mut self, text: &str, kind: Kind, owed: bool) {
        self.values.push(Value { text: text.to_string(), kind, uses: 0, owed });
    }

    /// An expression of a kind; `depth` bounds how far formulas nest.
    pub fn expr(&mut self, kind: Kind, depth: u32) -> Expr {
        if depth == 0 || (self.has(kind) && self.random.chance(if depth > 1 { 20 } else { 40 })) {
            if let Some(value) = self.value(kind) {
                return value;
            }
            if depth == 0 {
                return self.basic(kind);
            }
        }
        if let Some(call) = self.call(kind, depth) {
            return call;
        }
        let formulas = formulas::of(kind);
        // Formulas over kinds that are not there drag in constructors of constants: look for a
        // fitting one first.
        for _ in 0..6 {
            let weights: u32 = formulas.iter().map(|f| f.0).sum();
            let mut at = self.random.below(weights as usize) as u32;
            let mut template = formulas[0].1;
            for &(weight, text) in formulas {
                if at < weight {
                    template = text;
                    break;
                }
                at -= weight;
            }
            if self.feasible(template) {
                let before = self.used;
                let expr = self.fill(template, kind, depth - 1);
                // A formula of literals alone is a constant in disguise.
                if self.used > before || self.values.is_empty() {
                    return expr;
                }
            }
        }
        match self.value(kind) {
            Some(value) => value,
            None => self.basic(kind),
        }
    }

    fn has(&self, kind: Kind) -> bool {
        self.values.iter().any(|v| v.kind.fits(kind))
    }

    /// Whether something in scope fits each composite hole.
    fn feasible(&self, template: &str) -> bool {
        let mut rest = template;
        while let Some(at) = rest.find('{') {
            let end = rest[at..].find('}').map_or(rest.len(), |n| at + n);
            if let Some(kind) = Kind::of(&rest[at + 1..end])
                && kind.components() > 1
                && !self.has(kind)
                && kind != Kind::Direction
            {
                return false;
            }
            rest = &rest[end..];
        }
        true
    }

    /// Something in scope, what is unused first.
    fn value(&mut self, kind: Kind) -> Option<Expr> {
        let weight = |v: &Value| match (v.kind.fits(kind), v.uses) {
            (false, _) => 0,
            (true, 0) => 12,
            (true, 1) => 3,
            (true, _) => 2,
        };
        let weights: Vec<u32> = self.values.iter().map(weight).collect();
        if weights.iter().all(|&w| w == 0) {
            return None;
        }
        let at = self.random.weighted(&weights);
        let value = &mut self.values[at];
        value.uses += 1;
        self.used += 1;
        let value = &self.values[at];
        Some(Expr { text: value.text.clone(), binding: Binding::Atom, kind: value.kind })
    }

    /// The simplest thing of a kind.
    fn basic(&mut self, kind: Kind) -> Expr {
        let floats = self.has(Kind::Float);
        let template = match kind {
            Kind::Positive if floats && self.random.chance(50) => {
                self.random.pick(&["wp.abs({f}) + {c}", "wp.max({f}, {e})"])
            }
            Kind::Unit if floats && self.random.chance(60) => {
                self.random.pick(&["wp.clamp({f}, 0.0, 1.0)", "wp.exp(-wp.abs({f}))", "wp.step({f})"])
            }
            Kind::Signed if floats && self.random.chance(60) => {
                self.random.pick(&["wp.sin({f})", "wp.tanh({f})", "wp.cos({f})", "wp.erf({f})"])
            }
            Kind::Float | Kind::Positive => "{c}",
            Kind::Unit | Kind::Signed => "{e}",
            Kind::Int => "{k}",
            Kind::Bool => "{f} > {c}",
            Kind::Vec(2) => "wp.vec2({f}, {f})",
            Kind::Vec(3) => "wp.vec3({f}, {f}, {f})",
            Kind::Vec(_) => "wp.vec4({f}, {f}, {f}, 1.0)",
            Kind::Direction => "wp.normalize({v3})",
            Kind::Mat(2) => "wp.mat22({f}, 0.0, 0.0, {f})",
            Kind::Mat(3) => "wp.diag({v3})",
            Kind::Mat(_) => "wp.diag({v4})",
            Kind::Quat => "wp.quat_from_axis_angle({n3}, {f})",
            Kind::Transform => "wp.transform({v3}, wp.quat_identity())",
            Kind::Spatial => "wp.spatial_vector({v3}, {v3})",
            Kind::State => "wp.rand_init({k}, {i})",
        };
        self.fill(template, kind, 0)
    }

    fn call(&mut self, kind: Kind, depth: u32) -> Option<Expr> {
        let at = (0..self.callees.len()).find(|&n| {
            let callee = &self.callees[n];
            callee.result.fits(kind) && callee.calls < 2
        })?;
        let likely = if self.callees[at].calls == 0 { 45 } else { 12 };
        if !self.random.chance(likely) {
            return None;
        }
        Some(self.call_of(at, depth.min(2) - 1))
    }

    fn call_of(&mut self, at: usize, depth: u32) -> Expr {
        self.callees[at].calls += 1;
        let callee = self.callees[at].clone();
        let args: Vec<String> = callee.params.iter().map(|&p| self.expr(p, depth).text).collect();
        Expr { text: format!("{}({})", callee.name, args.join(", ")), binding: Binding::Atom, kind: callee.result }
    }

    /// `name = function(...)`.
    pub fn assign_call(&mut self, at: usize) -> Stmt {
        let expr = self.call_of(at, 1);
        let name = self.name(locals(self.domain, expr.kind));
        self.declare(&name, expr.kind, true);
        Stmt::Line(format!("{name} = {}", expr.text))
    }

    /// Fills the holes of an expression template.
    pub fn fill(&mut self, template: &str, kind: Kind, depth: u32) -> Expr {
        let text = self.fill_text(template, depth);
        let binding = binding_of(&text);
        Expr { text, binding, kind }
    }

    /// Fills the holes of a text, with brackets where the neighbours of a hole bind tighter than
    /// its expression.
    fn fill_text(&mut self, template: &str, depth: u32) -> String {
        let mut out = String::with_capacity(template.len() + 32);
        let mut filled: Vec<String> = Vec::new();
        let mut rest = template;
        while let Some(at) = rest.find('{') {
            out.push_str(&rest[..at]);
            let end = rest[at..].find('}').map_or(rest.len() - 1, |n| at + n);
            let word = &rest[at + 1..end];
            rest = &rest[end + 1..];
            match Kind::of(word) {
                Some(kind) => {
                    let mut expr = self.expr(kind, depth);
                    // `x - x` and `wp.min(x, x)` are nothing a person writes.
                    for _ in 0..4 {
                        if !filled.contains(&expr.text) {
                            break;
                        }
                        self.forget(&expr.text);
                        expr = self.expr(kind, depth.max(1));
                    }
                    if filled.contains(&expr.text) && kind.is_float() {
                        let literal = if kind == Kind::Float || kind == Kind::Positive { "c" } else { "e" };
                        expr = Expr { text: self.literal(literal), binding: Binding::Atom, kind };
                    }
                    filled.push(expr.text.clone());
                    if expr.binding < needed(&out, rest) {
                        out.push('(');
                        out.push_str(&expr.text);
                        out.push(')');
                    } else {
                        out.push_str(&expr.text);
                    }
                }
                None => {
                    let literal = self.literal(word);
                    out.push_str(&literal);
                }
            }
        }
        out.push_str(rest);
        out.replace("  ", " ")
    }

    /// Takes one use of a value back.
    fn forget(&mut self, text: &str) {
        if let Some(value) = self.values.iter_mut().find(|v| v.text == text) {
            value.uses = value.uses.saturating_sub(1);
        }
    }

    /// A number where a template names one.
    pub fn literal(&mut self, word: &str) -> String {
        const NEAR_ONE: [f64; 16] =
            [0.5, 0.25, 0.75, 1.5, 2.0, 3.0, 0.8, 1.2, 0.6, 2.5, 1.25, 0.9, 1.1, 4.0, 0.4, 1.75];
        const SMALL: [f64; 12] = [0.1, 0.05, 0.01, 0.2, 0.3, 0.02, 0.25, 0.15, 0.001, 0.4, 0.08, 0.125];
        match word {
            "c" => {
                if self.random.chance(55) {
                    number(*self.random.pick(&NEAR_ONE))
                } else {
                    number(self.random.between(11, 399) as f64 / 100.0)
                }
            }
            "e" => {
                if self.random.chance(60) {
                    number(*self.random.pick(&SMALL))
                } else {
                    number(self.random.between(11, 470) as f64 / 1000.0)
                }
            }
            "k" => self.random.between(2, 9).to_string(),
            "one" => self.random.between(1, 3).to_string(),
            "n" => self.random.between(2, 8).to_string(),
            "many" => self.random.between(8, 40).to_string(),
            "prime" => self.random.pick(&["17", "31", "47", "61", "97", "127"]).to_string(),
            "big" => self.random.pick(&["10.0", "20.0", "50.0", "100.0", "1000.0"]).to_string(),
            "half" => self.random.pick(&["0.5", "0.25", "0.6", "0.7", "0.4"]).to_string(),
            "dt" => self.random.pick(&["0.01", "0.005", "0.02", "0.1", "0.016"]).to_string(),
            "gravity" => self.random.pick(&["9.81", "9.8", "1.62", "3.71"]).to_string(),
            "beta" => self.random.pick(&["0.9", "0.95", "0.8", "0.99", "0.7"]).to_string(),
            "rate" => self.random.pick(&["0.01", "0.001", "0.1", "0.05", "0.003"]).to_string(),
            "component2" => self.random.below(2).to_string(),
            "component3" => self.random.below(3).to_string(),
            "component4" => self.random.below(4).to_string(),
            _ => "1".to_string(),
        }
    }

    /// `name = expression`.
    pub fn assign(&mut self, kind: Kind, depth: u32) -> Stmt {
        let mut expr = self.expr(kind, depth.max(1));
        // A second name for the same thing is nothing a person writes.
        for _ in 0..5 {
            if expr.text.contains([' ', '(', '[']) {
                break;
            }
            self.forget(&expr.text);
            expr = self.expr(kind, depth.max(2));
        }
        let name = self.name(locals(self.domain, kind));
        self.declare(&name, kind, true);
        Stmt::Line(format!("{name} = {}", expr.text))
    }

    /// Writes a fragment; its marked locals are in scope afterwards.
    pub fn fragment(&mut self, header: &str, text: &str) -> Vec<Stmt> {
        let before = self.values.len();
        let mut names: Vec<(&str, String, Kind, bool)> = Vec::new();
        for word in header.split_whitespace() {
            let (name, candidates) = word.split_once('=').unwrap_or((word, "value"));
            let (name, kind) = name.split_once(':').unwrap_or((name, "f"));
            let candidates: Vec<&str> = candidates.split('|').collect();
            let chosen = self.name(&candidates);
            let kept = name.starts_with('*');
            names.push((name.trim_start_matches('*'), chosen, Kind::of(kind).unwrap_or(Kind::Float), kept));
        }
        // The longest first: `$s6` begins with `$s`.
        let mut order: Vec<usize> = (0..names.len()).collect();
        order.sort_by_key(|&n| std::cmp::Reverse(names[n].0.len()));
        let mut lines: Vec<(usize, String)> = Vec::new();
        for line in text.lines() {
            let indent = (line.len() - line.trim_start().len()) / 4;
            let mut line = line.trim_start().to_string();
            for &n in &order {
                line = line.replace(&format!("${}", names[n].0), &names[n].1);
            }
            // A local without a star may fill the holes of later lines.
            let mut defined: Vec<usize> = Vec::new();
            for (n, (_, chosen, _, kept)) in names.iter().enumerate() {
                let assigned =
                    line.starts_with(&format!("{chosen} = ")) || line.starts_with(&format!("for {chosen} in"));
                if !kept && assigned && !self.values[before..].iter().any(|v| v.text == *chosen) {
                    defined.push(n);
                }
            }
            lines.push((indent, self.fill_text(&line, 1)));
            for n in defined {
                let (_, chosen, kind, _) = &names[n];
                self.values.push(Value { text: chosen.clone(), kind: *kind, uses: 1, owed: false });
            }
        }
        self.values.truncate(before);
        for (_, chosen, kind, kept) in &names {
            if *kept {
                self.declare(chosen, *kind, *kind != Kind::State);
            }
        }
        tree(&mut lines.into_iter().peekable(), 0)
    }

    /// A float made of values computed since `from` that nothing has used; None if there are none.
    pub fn rest(&mut self, from: usize) -> Option<Expr> {
        let mut terms: Vec<String> = Vec::new();
        for n in from..self.values.len() {
            let value = &mut self.values[n];
            if !value.owed || value.uses > 0 {
                continue;
            }
            value.uses += 1;
            let (text, kind) = (value.text.clone(), value.kind);
            terms.push(self.as_float(&text, kind));
        }
        let mut text = terms.pop()?;
        for term in terms {
            let template = *self.random.pick(&["+", "-", "+", "*"]);
            text = match template {
                "*" if self.random.chance(60) => format!("{text} + {} * {term}", self.literal("e")),
                "-" => format!("{text} - {term}"),
                _ => format!("{text} + {term}"),
            };
        }
        let binding = binding_of(&text);
        Some(Expr { text, binding, kind: Kind::Float })
    }

    fn as_float(&mut self, text: &str, kind: Kind) -> String {
        match kind {
            Kind::Vec(n) => match self.random.below(3) {
                0 => format!("wp.length({text})"),
                1 => format!("{text}[{}]", self.random.below(n.into())),
                _ => format!("wp.dot({text}, {text})"),
            },
            Kind::Direction => format!("{text}[{}]", self.random.below(3)),
            Kind::Mat(n) if n < 4 => match self.random.below(2) {
                0 => format!("wp.trace({text})"),
                _ => format!("wp.ddot({text}, {text})"),
            },
            Kind::Mat(_) => format!("wp.trace({text})"),
            Kind::Quat => format!("{text}[{}]", self.random.below(4)),
            Kind::Transform => format!("wp.length(wp.transform_get_translation({text}))"),
            Kind::Spatial => format!("wp.length(wp.spatial_top({text}))"),
            Kind::Int => format!("float({text})"),
            Kind::Bool => format!("wp.where({text}, 1.0, 0.0)"),
            Kind::State => format!("wp.randf({text})"),
            _ => text.to_string(),
        }
    }
}

/// Lines with their depth as a tree.
fn tree(lines: &mut std::iter::Peekable<std::vec::IntoIter<(usize, String)>>, depth: usize) -> Vec<Stmt> {
    let mut out = Vec::new();
    while let Some((indent, _)) = lines.peek() {
        if *indent < depth {
            break;
        }
        let Some((_, text)) = lines.next() else { break };
        match lines.peek() {
            Some((deeper, _)) if *deeper > depth => out.push(Stmt::Block(text, tree(lines, depth + 1))),
            _ => out.push(Stmt::Line(text)),
        }
    }
    out
}

/// How tightly an expression must bind between these neighbours.
fn needed(before: &str, after: &str) -> Binding {
    let left = before.trim_end().as_bytes();
    let after = after.trim_start();
    let last = left.last().copied().unwrap_or(b'(');
    let left_need = match last {
        b'(' | b',' | b'[' => Binding::Conditional,
        b'=' if left.len() < 2 || !matches!(left[left.len() - 2], b'=' | b'<' | b'>' | b'!') => Binding::Conditional,
        b'*' | b'/' | b'%' | b'@' => Binding::Sign,
        b'+' => Binding::Product,
        b'-' => match left.len() < 2 || matches!(left[left.len() - 2], b'(' | b',') || before.ends_with('-') {
            true => Binding::Sign,
            false => Binding::Product,
        },
        b'&' => Binding::Shift,
        b'^' => Binding::BitAnd,
        b'|' => Binding::BitXor,
        b'<' | b'>' if left.len() > 1 && left[left.len() - 2] == last => Binding::Sum,
        b'<' | b'>' | b'=' => Binding::BitOr,
        _ if before.trim_end().ends_with(" if") || before.trim_end().ends_with(" else") => Binding::Or,
        _ if before.trim_end().ends_with("and") => Binding::Not,
        _ if before.trim_end().ends_with("or") => Binding::And,
        _ if before.trim_end().ends_with("not") => Binding::Not,
        _ => Binding::Conditional,
    };
    let right_need = match after.as_bytes().first() {
        Some(b'.' | b'[') => Binding::Atom,
        Some(b'*' | b'/' | b'%' | b'@') => Binding::Product,
        Some(b'+' | b'-') => Binding::Sum,
        Some(b'&') => Binding::BitAnd,
        Some(b'^') => Binding::BitXor,
        Some(b'|') => Binding::BitOr,
        Some(b'<' | b'>') if after.starts_with("<<") || after.starts_with(">>") => Binding::Shift,
        Some(b'<' | b'>' | b'!') => Binding::BitOr,
        Some(b'=') if after.starts_with("==") => Binding::BitOr,
        _ if after.starts_with("if ") || after.starts_with("else ") => Binding::Or,
        _ if after.starts_with("and ") => Binding::Not,
        _ if after.starts_with("or ") => Binding::And,
        _ => Binding::Conditional,
    };
    left_need.max(right_need)
}

/// How tightly a text binds, by its operators outside brackets.
pub fn binding_of(text: &str) -> Binding {
    let bytes = text.as_bytes();
    let mut loosest = Binding::Atom;
    let mut depth = 0;
    let mut at = 0;
    while at < bytes.len() {
        let (operator, long) = match bytes[at] {
            b'(' | b'[' => {
                depth += 1;
                (None, 1)
            }
            b')' | b']' => {
                depth -= 1;
                (None, 1)
            }
            _ if depth > 0 => (None, 1),
            b' ' => {
                let rest = &text[at + 1..];
                let word = rest.split(' ').next().unwrap_or("");
                let found = match word {
                    "if" => Some(Binding::Conditional),
                    "or" => Some(Binding::Or),
                    "and" => Some(Binding::And),
                    "<" | ">" | "<=" | ">=" | "==" | "!=" => Some(Binding::Compare),
                    "|" => Some(Binding::BitOr),
                    "^" => Some(Binding::BitXor),
                    "&" => Some(Binding::BitAnd),
                    "<<" | ">>" => Some(Binding::Shift),
                    "+" | "-" => Some(Binding::Sum),
                    "*" | "/" | "//" | "%" | "@" => Some(Binding::Product),
                    _ => None,
                };
                (found, 1)
            }
            b'-' if at == 0 => (Some(Binding::Sign), 1),
            b'n' if at == 0 && text.starts_with("not ") => (Some(Binding::Not), 1),
            _ => (None, 1),
        };
        if let Some(operator) = operator {
            loosest = loosest.min(operator);
        }
        at += long;
    }
    loosest
}

/// A float as Python prints it.
pub fn number(value: f64) -> String {
    format!("{value:?}")
}
