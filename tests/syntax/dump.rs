//! The syntax tree in a compact text form, one statement a line, for tests. `dump.py` writes the
//! same form from Python's own parser.

use std::fmt::Write;

use kc::source::SourceFile;
use kc::syntax::ast::*;

/// All items of ours: whole functions, headers of plain ones, classes, constants, imports.
pub fn items(parsed: &Parsed, source: &SourceFile) -> String {
    let mut out = Dump { source, text: String::new() };
    for item in &parsed.items {
        match item {
            Item::Import(import) => out.import(import),
            Item::Function(f) => out.function(f),
            Item::Class(class) => out.class(class),
            // Python's own tree has it among the statements that are skipped.
            Item::Call(_) | Item::Return(_) | Item::Attribute(_) => {}
            // What host code holds is compared where it is checked; of functions the header
            // represents it.
            Item::Region(Region {
                kind: RegionKind::Function { name, params, .. } | RegionKind::Launching { name, params },
                ..
            }) => {
                let params: Vec<_> = params.iter().map(param).collect();
                out.line(0, &format!("def {} [{}] -> _", name.text, params.join(" ")));
            }
            Item::Region(_) => {}
            Item::Constant(constant) => out.line(0, &format!("const {} {}", constant.name.text, expr(&constant.value))),
        }
    }
    out.text
}

struct Dump<'s> {
    source: &'s SourceFile,
    text: String,
}

impl Dump<'_> {
    fn line(&mut self, depth: usize, text: &str) {
        let _ = writeln!(self.text, "{:1$}{text}", "", 2 * depth);
    }

    fn import(&mut self, import: &Import) {
        let mut text = format!("import {}", import.module);
        if let Some(alias) = &import.alias {
            let _ = write!(text, " as {}", alias.text);
        }
        for name in &import.names {
            let alias = name.alias.as_ref().map_or("_", |alias| &alias.text);
            let _ = write!(text, " ({} {alias})", name.name.text);
        }
        self.line(0, &text);
    }

    fn function(&mut self, f: &Function) {
        for decorator in &f.decorators {
            self.line(0, &format!("@{}", expr(&decorator.expr)));
        }
        let params: Vec<_> = f.params.iter().map(param).collect();
        self.line(0, &format!("def {} [{}] -> {}", f.name.text, params.join(" "), option(f.returns.as_ref())));
        if let Some(doc) = &f.doc {
            self.line(1, &format!("doc {}", string(doc)));
        }
        self.block(1, &f.body);
    }

    fn class(&mut self, class: &Class) {
        let bases: Vec<_> = class.bases.iter().map(expr).collect();
        self.line(0, &format!("class {} [{}]", class.name.text, bases.join(" ")));
        for member in &class.members {
            let (annotation, value) = (option(member.annotation.as_ref()), option(member.value.as_ref()));
            self.line(1, &format!("{} {annotation} {value}", member.name.text));
        }
    }

    fn block(&mut self, depth: usize, body: &[Stmt]) {
        for stmt in body {
            let place = self.source.line_column(stmt.span.start);
            let at = format!("{}:{}", place.line, place.column);
            match &stmt.kind {
                StmtKind::Assign { targets, value } => {
                    let targets: Vec<_> = targets.iter().map(expr).collect();
                    self.line(depth, &format!("{at} = {} {}", targets.join(" "), expr(value)));
                }
                StmtKind::AugAssign { target, op, value } => {
                    self.line(depth, &format!("{at} {}= {} {}", op.symbol(), expr(target), expr(value)));
                }
                StmtKind::AnnAssign { target, annotation, value } => {
                    let value = option(value.as_ref());
                    self.line(depth, &format!("{at} : {} {} {value}", expr(target), expr(annotation)));
                }
                StmtKind::If { condition, then, otherwise } => {
                    self.line(depth, &format!("{at} if {}", expr(condition)));
                    self.block(depth + 1, then);
                    if !otherwise.is_empty() {
                        self.line(depth, "else");
                        self.block(depth + 1, otherwise);
                    }
                }
                StmtKind::For { target, iter, body, otherwise } => {
                    self.line(depth, &format!("{at} for {} {}", expr(target), expr(iter)));
                    self.block(depth + 1, body);
                    self.line(depth, "else");
                    self.block(depth + 1, otherwise);
                }
                StmtKind::While { condition, body, otherwise } => {
                    self.line(depth, &format!("{at} while {}", expr(condition)));
                    self.block(depth + 1, body);
                    self.line(depth, "else");
                    self.block(depth + 1, otherwise);
                }
                StmtKind::Return(value) => self.line(depth, &format!("{at} return {}", option(value.as_ref()))),
                StmtKind::Expr(value) => self.line(depth, &format!("{at} {}", expr(value))),
                StmtKind::Assert { condition, message } => {
                    self.line(depth, &format!("{at} assert {} {}", expr(condition), option(message.as_ref())));
                }
                StmtKind::Pass => self.line(depth, &format!("{at} pass")),
                StmtKind::Break => self.line(depth, &format!("{at} break")),
                StmtKind::Continue => self.line(depth, &format!("{at} continue")),
                StmtKind::Unsupported(what) => self.line(depth, &format!("{at} ?{what}")),
                StmtKind::Error => self.line(depth, &format!("{at} !error")),
            }
        }
    }
}

fn param(param: &Param) -> String {
    let star = ["", "*", "**"][param.star as usize];
    format!("({star}{} {} {})", param.name.text, option(param.annotation.as_ref()), option(param.default.as_ref()))
}

fn option(value: Option<&Expr>) -> String {
    value.map_or_else(|| "_".to_owned(), expr)
}

fn boxed(value: Option<&Expr>) -> String {
    option(value)
}

fn string(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            ' '..='~' => out.push(c),
            _ => {
                let _ = write!(out, "\\u{{{:x}}}", c as u32);
            }
        }
    }
    out.push('"');
    out
}

/// One expression.
pub fn expr(value: &Expr) -> String {
    match &value.kind {
        ExprKind::Name(name) => name.clone(),
        ExprKind::Attribute { base, name } => format!("(. {} {})", expr(base), name.text),
        ExprKind::Int(value) => value.map_or_else(|| "huge".to_owned(), |v| v.to_string()),
        ExprKind::Float(value) => format!("f{:016x}", value.to_bits()),
        ExprKind::Str(text) => string(text),
        ExprKind::Bool(value) => if *value { "True" } else { "False" }.to_owned(),
        ExprKind::None => "None".to_owned(),
        ExprKind::Unary { op, operand } => format!("({} {})", op.symbol(), expr(operand)),
        ExprKind::Binary { op, left, right } => format!("({} {} {})", op.symbol(), expr(left), expr(right)),
        ExprKind::Logic { op, operands } => {
            format!("({}{})", if *op == BoolOp::And { "and" } else { "or" }, list(operands))
        }
        ExprKind::Compare { first, rest } => {
            let rest: Vec<_> = rest.iter().map(|(op, e)| format!(" {} {}", op.symbol(), expr(e))).collect();
            format!("(cmp {}{})", expr(first), rest.concat())
        }
        ExprKind::Conditional { condition, then, otherwise } => {
            format!("(if {} {} {})", expr(condition), expr(then), expr(otherwise))
        }
        ExprKind::Call { callee, args } => {
            let args: Vec<_> = args
                .iter()
                .map(|arg| match &arg.name {
                    Some(name) => format!(" {}={}", name.text, expr(&arg.value)),
                    None => format!(" {}", expr(&arg.value)),
                })
                .collect();
            format!("(call {}{})", expr(callee), args.concat())
        }
        ExprKind::Subscript { base, indices } => format!("(at {}{})", expr(base), list(indices)),
        ExprKind::Slice { lower, upper, step } => {
            format!("(: {} {} {})", boxed(lower.as_deref()), boxed(upper.as_deref()), boxed(step.as_deref()))
        }
        ExprKind::Tuple(items) => format!("(tuple{})", list(items)),
        ExprKind::List(items) => format!("(list{})", list(items)),
        ExprKind::Starred(inner) => format!("(* {})", expr(inner)),
        ExprKind::Dict(pairs) => {
            let pairs: Vec<_> = pairs.iter().map(|(key, value)| format!(" {} {}", expr(key), expr(value))).collect();
            format!("(dict{})", pairs.concat())
        }
        ExprKind::Comprehension(comprehension) => {
            let clause = |clause: &Clause| {
                format!(" (for {} {}{})", expr(&clause.target), expr(&clause.iter), list(&clause.conditions))
            };
            let clauses: Vec<_> = comprehension.clauses.iter().map(clause).collect();
            let word = if comprehension.what == "a comprehension" { "each" } else { "generate" };
            format!("({word} {}{})", expr(&comprehension.element), clauses.concat())
        }
        ExprKind::Lambda(lambda) => {
            let params: Vec<_> = lambda.params.iter().map(param).collect();
            format!("(lambda [{}] {})", params.join(" "), expr(&lambda.body))
        }
        ExprKind::Unsupported(what) => format!("?{what}"),
        ExprKind::Opaque => "opaque".to_owned(),
        ExprKind::Error => "!error".to_owned(),
    }
}

fn list(items: &[Expr]) -> String {
    items.iter().map(|item| format!(" {}", expr(item))).collect()
}
