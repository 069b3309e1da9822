//! How does a reduced production become a node? The actions of `grammar/kernel.lalrpop`.

use std::collections::HashSet;
use std::sync::Arc;

use super::ast::*;
use super::fault::{Fault, FaultKind};
use super::literal;
use crate::source::{FileId, Span};

/// One parsed logical line; the statements behind a `:` on the same line are its suite.
pub enum Line {
    Simple(Vec<Small>),
    If(Expr, Vec<Small>),
    Elif(Expr, Vec<Small>),
    Else(Vec<Small>),
    While(Expr, Vec<Small>),
    For(Expr, Expr, Vec<Small>),
    Def(Name, Vec<Param>, Option<Expr>, Vec<Small>),
    Class(Name, Vec<Arg>, Vec<Small>),
    Decorator(Expr),
}

/// A statement of one line.
pub enum Small {
    Stmt(Stmt),
    Import(Vec<Import>),
}

/// The contents of braces: their items tell a set from a dict.
pub enum BraceItem {
    Element(Box<Expr>),
    Pair(Box<(Expr, Expr)>),
    /// `**other`
    Spread,
}

/// The words for `...`, which as a statement of its own means `pass`.
pub const ELLIPSIS: &str = "`...`";

/// The words for comprehensions.
pub const LIST: &str = "a comprehension";
pub const GENERATOR: &str = "a generator expression";
pub const BRACES: &str = "a set or dict comprehension";

/// What the actions need to know, and what they find.
pub struct Builder<'t> {
    pub file: FileId,
    pub text: &'t str,
    /// What is wrong although the grammar accepts it, such as a target that cannot be assigned to.
    pub faults: Vec<Fault>,
    /// Whether the line holds Python that kernels do not have.
    pub unsupported: bool,
}

pub fn clause(is_async: bool, target: Expr, iter: Expr, conditions: Vec<Expr>) -> Clause {
    Clause { target, iter, conditions, is_async }
}

impl<'t> Builder<'t> {
    pub fn new(file: FileId, text: &'t str) -> Self {
        Self { file, text, faults: Vec::new(), unsupported: false }
    }

    pub fn span(&self, start: u32, end: u32) -> Span {
        // An empty production can put its end before its start.
        Span::new(self.file, start, end.max(start))
    }

    fn text_of(&self, span: Span) -> &'t str {
        self.text.get(span.start as usize..span.end as usize).unwrap_or("")
    }

    fn fault(&mut self, kind: FaultKind, span: Span) {
        self.faults.push(Fault { kind, start: span.start, end: span.end });
    }

    pub fn expr(&self, start: u32, kind: ExprKind, end: u32) -> Expr {
        Expr { kind, span: self.span(start, end) }
    }

    pub fn stmt(&self, start: u32, kind: StmtKind, end: u32) -> Stmt {
        Stmt { kind, span: self.span(start, end) }
    }

    pub fn name(&self, start: u32, end: u32) -> Name {
        let span = self.span(start, end);
        Name { text: self.text_of(span).to_owned(), span }
    }

    pub fn unsupported(&mut self, start: u32, what: &'static str, end: u32) -> Expr {
        self.unsupported = true;
        self.expr(start, ExprKind::Unsupported(what), end)
    }

    pub fn unsupported_stmt(&mut self, what: &'static str) -> StmtKind {
        self.unsupported = true;
        StmtKind::Unsupported(what)
    }

    // Statements

    pub fn assign(&mut self, first: Expr, mut rest: Vec<Expr>) -> StmtKind {
        // The grammar asks for one value at least; it is the last one.
        let Some(value) = rest.pop() else { return StmtKind::Expr(first) };
        let mut targets = Vec::with_capacity(rest.len() + 1);
        targets.push(self.target(first));
        for target in rest {
            targets.push(self.target(target));
        }
        StmtKind::Assign { targets, value }
    }

    pub fn aug_assign(&mut self, target: Expr, op: BinaryOp, value: Expr) -> StmtKind {
        let target = self.single_target(target);
        StmtKind::AugAssign { target, op, value }
    }

    pub fn ann_assign(&mut self, target: Expr, annotation: Expr, value: Option<Expr>) -> StmtKind {
        let target = self.single_target(target);
        StmtKind::AnnAssign { target, annotation, value }
    }

    /// What can be written before `=` or after `for`: names, places, and tuples of them. Something
    /// else is reported, and an error takes its place.
    pub fn target(&mut self, target: Expr) -> Expr {
        if self.check_target(&target) { target } else { Expr { kind: ExprKind::Error, span: target.span } }
    }

    fn check_target(&mut self, target: &Expr) -> bool {
        match &target.kind {
            // Depth: a target nests at most as deep as the brackets of its line.
            ExprKind::Tuple(items) | ExprKind::List(items) => {
                // Every fault is reported, not only the first.
                let mut good = true;
                for item in items {
                    good &= self.check_target(item);
                }
                good
            }
            ExprKind::Starred(inner) => self.check_target(inner),
            ExprKind::Name(_) | ExprKind::Attribute { .. } | ExprKind::Subscript { .. } | ExprKind::Error => true,
            _ => {
                self.fault(FaultKind::InvalidTarget, target.span);
                false
            }
        }
    }

    fn single_target(&mut self, target: Expr) -> Expr {
        match &target.kind {
            ExprKind::Tuple(_) | ExprKind::List(_) | ExprKind::Starred(_) => {
                self.fault(FaultKind::InvalidTarget, target.span);
                Expr { kind: ExprKind::Error, span: target.span }
            }
            _ => self.target(target),
        }
    }

    /// A value that is no list: there `*` has no meaning.
    pub fn single(&mut self, value: Expr) -> Expr {
        if matches!(value.kind, ExprKind::Starred(_)) {
            self.fault(FaultKind::StarAlone, value.span);
        }
        value
    }

    // Imports

    pub fn imports(&self, start: u32, modules: Vec<(Span, Option<Name>)>) -> Vec<Import> {
        modules
            .into_iter()
            .map(|(path, alias)| {
                let end = alias.as_ref().map_or(path.end, |a| a.span.end);
                Import { module: self.path(path), alias, names: Vec::new(), span: self.span(start, end) }
            })
            .collect()
    }

    pub fn import_from(&self, start: u32, module: Span, names: Vec<ImportedName>, end: u32) -> Import {
        Import { module: self.path(module), alias: None, names, span: self.span(start, end) }
    }

    fn path(&self, span: Span) -> String {
        self.text_of(span).chars().filter(|c| !c.is_whitespace() && *c != '\\').collect()
    }

    // Definitions

    pub fn params(&mut self, params: Vec<Param>) -> Vec<Param> {
        let mut seen = HashSet::new();
        for param in &params {
            if !seen.insert(param.name.text.as_str()) {
                self.fault(FaultKind::RepeatedParameter, param.name.span);
            }
        }
        params
    }

    pub fn type_params(&mut self) {
        self.unsupported = true;
    }

    // Expressions

    pub fn tuple(&self, start: u32, items: Vec<Expr>, end: u32) -> Expr {
        self.expr(start, ExprKind::Tuple(items), end)
    }

    pub fn list(&self, start: u32, items: Vec<Expr>, end: u32) -> Expr {
        self.expr(start, ExprKind::List(items), end)
    }

    pub fn comprehension(
        &mut self,
        start: u32,
        what: &'static str,
        element: Expr,
        clauses: Vec<Clause>,
        end: u32,
    ) -> Expr {
        if clauses.iter().any(|clause| clause.is_async) {
            return self.unsupported(start, what, end);
        }
        self.expr(start, ExprKind::Comprehension(Box::new(Comprehension { what, element, clauses })), end)
    }

    /// A comprehension in braces, whose items a set or a dict has: nothing computes it, but it may
    /// call something of interest.
    pub fn brace_comprehension(&mut self, start: u32, item: BraceItem, clauses: Vec<Clause>, end: u32) -> Expr {
        self.unsupported = true;
        let element = match item {
            BraceItem::Element(element) => *element,
            BraceItem::Pair(pair) => {
                let (key, value) = *pair;
                let (start, end) = (key.span.start, value.span.end);
                self.tuple(start, vec![key, value], end)
            }
            BraceItem::Spread => return self.unsupported(start, BRACES, end),
        };
        self.comprehension(start, BRACES, element, clauses, end)
    }

    pub fn lambda(&mut self, start: u32, params: Vec<Param>, body: Expr, end: u32) -> Expr {
        self.expr(start, ExprKind::Lambda(Arc::new(Lambda { params, body })), end)
    }

    pub fn braces(&mut self, start: u32, items: Vec<BraceItem>, end: u32) -> Expr {
        let is_set = matches!(items.first(), Some(BraceItem::Element(_)));
        let count = items.len();
        let pairs: Vec<(Expr, Expr)> = items
            .into_iter()
            .filter_map(|item| if let BraceItem::Pair(pair) = item { Some(*pair) } else { None })
            .collect();
        match pairs.len() == count {
            true => self.expr(start, ExprKind::Dict(pairs), end),
            false => self.unsupported(start, if is_set { "a set" } else { "a dict" }, end),
        }
    }

    /// A parenthesised expression is the expression itself; its place includes the parentheses.
    pub fn group(&self, start: u32, inner: Expr, end: u32) -> Expr {
        self.expr(start, inner.kind, end)
    }

    pub fn starred(&self, start: u32, inner: Expr) -> Expr {
        let end = inner.span.end;
        self.expr(start, ExprKind::Starred(Box::new(inner)), end)
    }

    pub fn unary(&self, start: u32, op: UnaryOp, operand: Expr) -> Expr {
        let end = operand.span.end;
        self.expr(start, ExprKind::Unary { op, operand: Box::new(operand) }, end)
    }

    pub fn call(&mut self, callee: Expr, args: Vec<Arg>, end: u32) -> Expr {
        let mut named = false;
        for arg in &args {
            // `*` may follow a named argument in Python, and `**` is reported of elsewhere.
            let positional = arg.name.is_none() && !matches!(arg.value.kind, ExprKind::Starred(_));
            if positional && named && !matches!(arg.value.kind, ExprKind::Unsupported(_)) {
                self.fault(FaultKind::PositionalAfterNamed, arg.value.span);
            }
            named |= arg.name.is_some();
        }
        self.expr(callee.span.start, ExprKind::Call { callee: Box::new(callee), args }, end)
    }

    pub fn subscript(&self, base: Expr, indices: Vec<Expr>, end: u32) -> Expr {
        self.expr(base.span.start, ExprKind::Subscript { base: Box::new(base), indices }, end)
    }

    pub fn slice(&self, start: u32, lower: Option<Expr>, upper: Option<Expr>, step: Option<Expr>, end: u32) -> Expr {
        let kind = ExprKind::Slice { lower: lower.map(Box::new), upper: upper.map(Box::new), step: step.map(Box::new) };
        self.expr(start, kind, end)
    }

    // Atoms

    pub fn variable(&self, start: u32, end: u32) -> Expr {
        let span = self.span(start, end);
        Expr { kind: ExprKind::Name(self.text_of(span).to_owned()), span }
    }

    pub fn int(&self, start: u32, end: u32) -> Expr {
        let span = self.span(start, end);
        Expr { kind: ExprKind::Int(literal::int(self.text_of(span))), span }
    }

    pub fn float(&self, start: u32, end: u32) -> Expr {
        let span = self.span(start, end);
        Expr { kind: ExprKind::Float(literal::float(self.text_of(span))), span }
    }

    /// Adjacent string literals are one.
    pub fn strings(&mut self, parts: Vec<Span>) -> Expr {
        let mut value = String::new();
        let mut what = None;
        let (mut start, mut end) = (u32::MAX, 0);
        for part in parts {
            (start, end) = (start.min(part.start), end.max(part.end));
            match literal::string(self.text_of(part)) {
                literal::Text::Plain { value: text, bad_escape } => {
                    value.push_str(&text);
                    if let Some(at) = bad_escape {
                        let at = part.start + at;
                        self.fault(FaultKind::BadEscape, self.span(at, at + 2));
                    }
                }
                literal::Text::Bytes => what = Some("a bytes literal"),
                literal::Text::Named => what = Some("`\\N{...}` in a string"),
                literal::Text::Formatted => what = Some("an f-string"),
            }
        }
        match what {
            Some(what) => self.unsupported(start, what, end),
            None => self.expr(start, ExprKind::Str(value), end),
        }
    }
}

/// A list with its last item, which the grammar reads apart.
pub fn push<T>(mut items: Vec<T>, last: Option<T>) -> Vec<T> {
    items.extend(last);
    items
}

/// A statement that is only an expression.
pub fn expression(value: Expr) -> StmtKind {
    match value.kind {
        ExprKind::Unsupported(ELLIPSIS) => StmtKind::Pass,
        _ => StmtKind::Expr(value),
    }
}

pub fn import_star() -> Vec<ImportedName> {
    let nowhere = Span::new(FileId(0), 0, 0);
    vec![ImportedName { name: Name { text: "*".to_owned(), span: nowhere }, alias: None }]
}

pub fn imported(name: Name, alias: Option<Name>) -> ImportedName {
    ImportedName { name, alias }
}

pub fn param(name: Name, annotation: Option<Expr>, default: Option<Expr>, star: Star) -> Param {
    let last = default.as_ref().or(annotation.as_ref()).map_or(name.span, |e| e.span);
    Param { span: name.span.to(last), name, annotation, default, star }
}

pub fn conditional(condition: Expr, then: Expr, otherwise: Expr) -> Expr {
    let span = then.span.to(otherwise.span);
    let kind =
        ExprKind::Conditional { condition: Box::new(condition), then: Box::new(then), otherwise: Box::new(otherwise) };
    Expr { kind, span }
}

/// `and` binds tighter than `or`.
pub fn logic(first: Expr, rest: Vec<(BoolOp, Expr)>) -> Expr {
    let joined = |op: BoolOp, mut operands: Vec<Expr>| {
        let last = operands.pop()?;
        let Some(first) = operands.first() else { return Some(last) };
        let span = first.span.to(last.span);
        operands.push(last);
        Some(Expr { kind: ExprKind::Logic { op, operands }, span })
    };
    let span = first.span;
    let mut terms = Vec::new();
    let mut factors = vec![first];
    for (op, operand) in rest {
        if op == BoolOp::Or {
            terms.extend(joined(BoolOp::And, std::mem::take(&mut factors)));
        }
        factors.push(operand);
    }
    terms.extend(joined(BoolOp::And, factors));
    // There is one operand at least.
    joined(BoolOp::Or, terms).unwrap_or(Expr { kind: ExprKind::Error, span })
}

pub fn compare(first: Expr, rest: Vec<(CompareOp, Expr)>) -> Expr {
    let span = rest.last().map_or(first.span, |(_, last)| first.span.to(last.span));
    Expr { kind: ExprKind::Compare { first: Box::new(first), rest }, span }
}

/// The tree of a list of operators that all take the operand to their left first where they bind
/// equally tight (Dijkstra 1961).
pub fn operators(first: Expr, rest: Vec<(BinaryOp, Expr)>) -> Expr {
    // Left sides whose right sides are not whole yet, each bound tighter than the one before.
    let mut waiting: Vec<(Expr, BinaryOp)> = Vec::new();
    let mut right = first;
    for (op, operand) in rest {
        while let Some((left, before)) = waiting.pop_if(|(_, before)| before.binding() >= op.binding()) {
            right = binary(left, before, right);
        }
        waiting.push((right, op));
        right = operand;
    }
    while let Some((left, op)) = waiting.pop() {
        right = binary(left, op, right);
    }
    right
}

pub fn binary(left: Expr, op: BinaryOp, right: Expr) -> Expr {
    let span = left.span.to(right.span);
    Expr { kind: ExprKind::Binary { op, left: Box::new(left), right: Box::new(right) }, span }
}

pub fn attribute(base: Expr, name: Name) -> Expr {
    let span = base.span.to(name.span);
    Expr { kind: ExprKind::Attribute { base: Box::new(base), name }, span }
}

/// `a[(i, j)]` means `a[i, j]`.
pub fn indices(only: Expr) -> Vec<Expr> {
    match only.kind {
        ExprKind::Tuple(items) if !items.is_empty() => items,
        _ => vec![only],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::Diagnostics;
    use crate::syntax;

    /// The tree of an expression, with brackets around every operator.
    fn tree(text: &str) -> String {
        fn show(expr: &Expr) -> String {
            match &expr.kind {
                ExprKind::Name(name) => name.clone(),
                ExprKind::Unary { op, operand } => format!("({} {})", op.symbol(), show(operand)),
                ExprKind::Binary { op, left, right } => format!("({} {} {})", show(left), op.symbol(), show(right)),
                ExprKind::Logic { op, operands } => {
                    let operands: Vec<String> = operands.iter().map(show).collect();
                    format!("({})", operands.join(if *op == BoolOp::And { " and " } else { " or " }))
                }
                ExprKind::Compare { first, rest } => {
                    let rest: String = rest.iter().map(|(op, e)| format!(" {} {}", op.symbol(), show(e))).collect();
                    format!("({}{rest})", show(first))
                }
                other => format!("{other:?}"),
            }
        }
        let source = format!("X = {text}\n");
        let parsed = syntax::parse(FileId(0), &source, &mut Diagnostics::new());
        let Some(Item::Constant(constant)) = parsed.items.first() else { return format!("{:?}", parsed.items) };
        assert_eq!(constant.value.span, Span::new(FileId(0), 4, 4 + text.len() as u32), "{text}");
        show(&constant.value)
    }

    #[test]
    fn operators_bind_as_in_python() {
        let cases = [
            ("a - b - c", "((a - b) - c)"),
            ("a + b * c - d / e % f", "((a + (b * c)) - ((d / e) % f))"),
            ("a | b ^ c & d << e + f * g", "(a | (b ^ (c & (d << (e + (f * g))))))"),
            ("a * b + c << d & e ^ f | g", "((((((a * b) + c) << d) & e) ^ f) | g)"),
            ("a | b | c ^ d", "((a | b) | (c ^ d))"),
            ("a // b @ c", "((a // b) @ c)"),
            ("-a ** -b ** c * d", "((- (a ** (- (b ** c)))) * d)"),
            ("- + ~a << b", "((- (+ (~ a))) << b)"),
            ("a < b + c <= d", "(a < (b + c) <= d)"),
            ("not a == b and not not c", "((not (a == b)) and (not (not c)))"),
            ("a and b or c or d and e and f", "((a and b) or c or (d and e and f))"),
            ("a or b and c", "(a or (b and c))"),
            ("a or b", "(a or b)"),
            ("a is not b in c", "(a is not b in c)"),
        ];
        for (text, expected) in cases {
            assert_eq!(tree(text), expected, "{text}");
        }
    }
}
