//! When are two programs the same, and how large is one? Hashes and counts of the kernel's syntax
//! tree.
//!
//! Three notions, from fine to coarse: *alpha* (the same except for names), *shape* (the same
//! except for names and constants), *skeleton* (the same control flow and kinds of statements). How
//! a type is spelt makes no difference to any of them.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::sync::{Arc, OnceLock};

use sha2::{Digest, Sha256};

use super::near::{self, Sketch};
use super::spelling;

use crate::diag::Diagnostics;
use crate::source::FileId;
use crate::syntax::{self, ast};
use ast::{Expr, ExprKind, Stmt, StmtKind};

/// The first 64 bits of a SHA-256.
pub fn hash64(bytes: &[u8]) -> u64 {
    let digest = Sha256::digest(bytes);
    digest.iter().take(8).fold(0, |word, &byte| word << 8 | u64::from(byte))
}

/// What identifies a kernel, and its measures.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Identity {
    pub alpha: u64,
    pub shape: u64,
    /// The shape of the first kernel alone.
    pub first: u64,
    pub skeleton: u64,
    /// For finding programs that are nearly the same.
    pub sketch: Sketch,
    pub statements: u32,
    pub nodes: u32,
    pub tree_depth: u32,
    pub control_depth: u32,
    /// Decisions plus one (McCabe 1976).
    pub cyclomatic: u32,
    /// Words of the tree times the bits to tell the different ones apart (Halstead 1977).
    pub volume: f64,
    /// The built-ins, each time they are called.
    pub builtins: Vec<String>,
    pub has_while: bool,
    pub has_loop: bool,
    pub has_branch: bool,
    pub calls_functions: bool,
}

/// The kernel of a source text; None if there is none.
pub fn kernel(text: &str) -> Option<ast::Function> {
    kernels(text).next()
}

/// The kernels at the top level of a source text.
pub fn kernels(text: &str) -> impl Iterator<Item = ast::Function> + use<> {
    let parsed = syntax::parse(FileId(0), text, &mut Diagnostics::new());
    parsed.items.into_iter().filter_map(|item| match item {
        ast::Item::Function(function) if has_kernel_decorator(&function) => Some(Arc::unwrap_or_clone(function)),
        _ => None,
    })
}

pub fn has_kernel_decorator(function: &ast::Function) -> bool {
    function.decorators.iter().any(|decorator| is_kernel(&decorator.expr))
}

/// Whether a program is in a collection that models are measured with: each of its kernels has the
/// structure of one there, or one of them with more than a few statements has, or its name.
pub fn is_known_program(parsed: &ast::Parsed) -> bool {
    /// Copies, fills and sums are in every collection, and in every program.
    const FEW: u32 = 6;
    let known = |kernel: &ast::Function| {
        let (identity, written) = (of_kernel(kernel), as_written(kernel));
        (is_known(&identity, &kernel.name.text) || is_known(&written, &kernel.name.text), identity.statements)
    };
    let known: Vec<(bool, u32)> = kernels_of(parsed).map(known).collect();
    known.iter().all(|(known, _)| *known) || known.iter().any(|(known, statements)| *known && *statements > FEW)
}

/// Whether a kernel is in a collection that models are measured with: it has the structure of one
/// there, or its name. `known.txt` holds the hashes, some of them of kernels as they were written,
/// types in their own spelling; `kc dataset identify FILE...` prints those of other files.
fn is_known(identity: &Identity, name: &str) -> bool {
    static KNOWN: OnceLock<HashSet<String>> = OnceLock::new();
    let known = KNOWN.get_or_init(|| include_str!("known.txt").lines().map(str::to_string).collect());
    known.contains(&shape_line(identity)) || known.contains(&name_line(name))
}

/// A line of `known.txt`.
pub fn shape_line(identity: &Identity) -> String {
    format!("shape {:016x}", identity.shape)
}

/// The same for a name, however it is spelt.
pub fn name_line(name: &str) -> String {
    let name = name.to_lowercase().replace('_', "");
    format!("name {:016x}", hash64(name.trim_end_matches("kernel").as_bytes()))
}

fn is_kernel(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Attribute { name, .. } => name.text == "kernel",
        ExprKind::Call { callee, .. } => is_kernel(callee),
        _ => false,
    }
}

/// Identity of a source text's kernels.
pub fn of_text(text: &str) -> Option<Identity> {
    let kernels: Vec<ast::Function> = kernels(text).collect();
    (!kernels.is_empty()).then(|| of_kernels(&kernels.iter().collect::<Vec<_>>()))
}

/// The same for a text that is parsed already.
pub fn of_parsed(parsed: &ast::Parsed) -> Option<Identity> {
    let kernels: Vec<&ast::Function> = kernels_of(parsed).collect();
    (!kernels.is_empty()).then(|| of_kernels(&kernels))
}

/// The first kernel at the top level of a text.
pub fn kernel_of(parsed: &ast::Parsed) -> Option<&ast::Function> {
    kernels_of(parsed).next()
}

/// The kernels at the top level of a text.
pub fn kernels_of(parsed: &ast::Parsed) -> impl Iterator<Item = &ast::Function> {
    parsed.items.iter().filter_map(|item| match item {
        ast::Item::Function(function) if has_kernel_decorator(function) => Some(&**function),
        _ => None,
    })
}

pub fn of_kernel(kernel: &ast::Function) -> Identity {
    of_kernels(&[kernel])
}

/// With types in their own spelling.
fn as_written(kernel: &ast::Function) -> Identity {
    Walker { as_written: true, ..Walker::default() }.identity(&[kernel])
}

/// What a kernel does, whatever the names, the parameters, their order, the docstring and the
/// spelling of types.
pub fn body(kernel: &ast::Function) -> u64 {
    let is_doc = |stmt: &Stmt| matches!(&stmt.kind, StmtKind::Expr(Expr { kind: ExprKind::Str(_), .. }));
    let mut walker = Walker::default();
    walker.block(&kernel.body[usize::from(kernel.body.first().is_some_and(is_doc))..], 2, 0);
    hash64(walker.alpha.as_bytes())
}

/// Of the kernels of a program together: names go on from one to the next.
pub fn of_kernels(kernels: &[&ast::Function]) -> Identity {
    Walker::default().identity(kernels)
}
fn volume(words: &mut Vec<u64>) -> f64 {
    let count = words.len() as f64;
    words.sort_unstable();
    words.dedup();
    (count * (words.len().max(1) as f64).log2() * 100.0).round() / 100.0
}

/// Adds to a text without another one on the way.
fn push(text: &mut String, added: std::fmt::Arguments) {
    text.write_fmt(added).expect("strings take any text");
}

#[derive(Default)]
struct Walker<'a> {
    out: Identity,
    alpha: String,
    shape: String,
    skeleton: String,
    names: HashMap<&'a str, usize>,
    /// Types keep their own spelling.
    as_written: bool,
}

impl<'a> Walker<'a> {
    fn identity(mut self, kernels: &[&'a ast::Function]) -> Identity {
        for kernel in kernels {
            for param in &kernel.params {
                self.name(&param.name.text);
                if let Some(annotation) = &param.annotation {
                    self.annotation(annotation);
                }
                self.close();
            }
            self.shape.push_str("body ");
            self.block(&kernel.body, 2, 0);
            if self.out.first == 0 {
                self.out.first = hash64(self.shape.as_bytes());
            }
        }
        let mut words = near::words(&self.alpha);
        self.out.sketch = Sketch::of(&words);
        self.out.volume = volume(&mut words);
        self.out.alpha = hash64(self.alpha.as_bytes());
        self.out.shape = hash64(self.shape.as_bytes());
        self.out.skeleton = hash64(self.skeleton.as_bytes());
        self.out.cyclomatic += 1;
        self.out
    }

    /// Arrays as `wp.array[float]` and `wp.array2d[float]`.
    fn annotation(&mut self, annotation: &'a Expr) {
        match spelling::array(annotation).filter(|_| !self.as_written) {
            Some((element, ndim)) => {
                let class = if ndim == 1 { "array".to_string() } else { format!("array{ndim}d") };
                self.node("Subscript", 1);
                self.node("Attribute", 2);
                for text in [&mut self.alpha, &mut self.shape] {
                    push(text, format_args!(".{class} "));
                }
                self.plain("wp", 3);
                self.close();
                self.expr(element, 2);
                self.close();
            }
            None => self.expr(annotation, 1),
        }
    }

    /// An expression that is a name.
    fn plain(&mut self, name: &'a str, depth: u32) {
        self.node("Name", depth);
        self.name(name);
        self.close();
    }

    /// The plain name of a type, if an expression is one in another spelling.
    fn scalar(&self, expr: &Expr) -> Option<&'static str> {
        spelling::scalar(expr).filter(|_| !self.as_written)
    }

    fn node(&mut self, word: &str, depth: u32) {
        self.out.nodes += 1;
        self.out.tree_depth = self.out.tree_depth.max(depth);
        for text in [&mut self.alpha, &mut self.shape] {
            text.push_str(word);
            text.push(' ');
        }
    }

    fn close(&mut self) {
        self.alpha.push_str(") ");
        self.shape.push_str(") ");
    }

    fn name(&mut self, name: &'a str) {
        const KEPT: [&str; 11] = ["wp", "float", "int", "range", "bool", "len", "min", "max", "warp", "abs", "print"];
        if KEPT.contains(&name) {
            self.alpha.push_str(name);
        } else {
            let next = self.names.len();
            let number = *self.names.entry(name).or_insert(next);
            push(&mut self.alpha, format_args!("v{number}"));
        }
        self.alpha.push(' ');
        self.shape.push_str("name ");
    }

    fn block(&mut self, block: &'a [Stmt], depth: u32, control: u32) {
        self.out.control_depth = self.out.control_depth.max(control);
        for stmt in block {
            self.stmt(stmt, depth, control);
        }
    }

    fn stmt(&mut self, stmt: &'a Stmt, depth: u32, control: u32) {
        self.out.statements += 1;
        let word = match &stmt.kind {
            StmtKind::Assign { .. } => "assign",
            StmtKind::AugAssign { .. } => "update",
            StmtKind::AnnAssign { .. } => "declare",
            StmtKind::If { .. } => "if",
            StmtKind::For { .. } => "for",
            StmtKind::While { .. } => "while",
            StmtKind::Return(_) => "return",
            StmtKind::Expr(_) => "expr",
            StmtKind::Assert { .. } => "assert",
            StmtKind::Pass => "pass",
            StmtKind::Break => "break",
            StmtKind::Continue => "continue",
            StmtKind::Unsupported(_) | StmtKind::Error => "error",
        };
        self.node(word, depth);
        self.skeleton.push_str(word);
        self.skeleton.push('(');
        match &stmt.kind {
            StmtKind::Assign { targets, value } => {
                targets.iter().for_each(|t| self.expr(t, depth + 1));
                self.expr(value, depth + 1);
            }
            StmtKind::AugAssign { target, op, value } => {
                self.node(op.symbol(), depth + 1);
                self.expr(target, depth + 1);
                self.expr(value, depth + 1);
            }
            StmtKind::AnnAssign { target, value, .. } => {
                self.expr(target, depth + 1);
                value.iter().for_each(|v| self.expr(v, depth + 1));
            }
            StmtKind::If { condition, then, otherwise } => {
                self.out.has_branch = true;
                self.out.cyclomatic += 1;
                self.expr(condition, depth + 1);
                self.block(then, depth + 1, control + 1);
                self.shape.push_str("else ");
                self.alpha.push_str("else ");
                // `elif` does not nest.
                let elif = matches!(otherwise.as_slice(), [Stmt { kind: StmtKind::If { .. }, .. }]);
                if !otherwise.is_empty() {
                    self.skeleton.push_str("else ");
                    self.block(otherwise, depth + 1, if elif { control } else { control + 1 });
                }
            }
            StmtKind::For { target, iter, body, .. } => {
                self.out.has_loop = true;
                self.out.cyclomatic += 1;
                self.expr(target, depth + 1);
                self.expr(iter, depth + 1);
                self.block(body, depth + 1, control + 1);
            }
            StmtKind::While { condition, body, .. } => {
                (self.out.has_loop, self.out.has_while) = (true, true);
                self.out.cyclomatic += 1;
                self.expr(condition, depth + 1);
                self.block(body, depth + 1, control + 1);
            }
            StmtKind::Return(value) => value.iter().for_each(|v| self.expr(v, depth + 1)),
            StmtKind::Expr(value) => self.expr(value, depth + 1),
            StmtKind::Assert { condition, .. } => self.expr(condition, depth + 1),
            _ => {}
        }
        self.skeleton.push(')');
        self.close();
    }

    fn expr(&mut self, expr: &'a Expr, depth: u32) {
        if let Some(name) = self.scalar(expr) {
            return self.plain(name, depth);
        }
        let word = match &expr.kind {
            ExprKind::Name(_) => "Name",
            ExprKind::Attribute { .. } => "Attribute",
            ExprKind::Int(_) | ExprKind::Float(_) | ExprKind::Str(_) | ExprKind::Bool(_) | ExprKind::None => "Constant",
            ExprKind::Unary { op, .. } => op.symbol(),
            ExprKind::Binary { op, .. } => op.symbol(),
            ExprKind::Logic { op: ast::BoolOp::And, .. } => "and",
            ExprKind::Logic { .. } => "or",
            ExprKind::Compare { .. } => "Compare",
            ExprKind::Conditional { .. } => "IfExp",
            ExprKind::Call { .. } => "Call",
            ExprKind::Subscript { .. } => "Subscript",
            ExprKind::Slice { .. } => "Slice",
            ExprKind::Tuple(_) => "Tuple",
            _ => "Other",
        };
        self.node(word, depth);
        match &expr.kind {
            ExprKind::Name(name) => self.name(name),
            ExprKind::Attribute { name, .. } => {
                let name = if self.as_written { &name.text } else { spelling::short(&name.text) };
                for text in [&mut self.alpha, &mut self.shape] {
                    push(text, format_args!(".{name} "));
                }
            }
            ExprKind::Int(value) => push(&mut self.alpha, format_args!("{value:?} ")),
            ExprKind::Float(value) => push(&mut self.alpha, format_args!("{value:?} ")),
            ExprKind::Bool(value) => push(&mut self.alpha, format_args!("{value} ")),
            ExprKind::Compare { rest, .. } => {
                for (op, _) in rest {
                    self.alpha.push_str(op.symbol());
                    self.shape.push_str(op.symbol());
                }
            }
            ExprKind::Conditional { .. } => {
                self.out.has_branch = true;
                self.out.cyclomatic += 1;
            }
            ExprKind::Call { callee, args } => {
                match (self.scalar(callee), &callee.kind) {
                    (Some(name), _) => push(&mut self.shape, format_args!("{name} ")),
                    (None, ExprKind::Attribute { base, name }) if matches!(&base.kind, ExprKind::Name(n) if n == "wp") =>
                    {
                        self.out.builtins.push(name.text.clone());
                    }
                    (None, ExprKind::Name(name)) => {
                        const PYTHON: [&str; 9] =
                            ["range", "float", "int", "len", "min", "max", "abs", "print", "bool"];
                        let known = PYTHON.contains(&name.as_str());
                        self.out.calls_functions |= !known;
                        self.shape.push_str(if known { name } else { "@f" });
                        self.shape.push(' ');
                    }
                    _ => {}
                }
                for arg in args {
                    if let Some(name) = &arg.name {
                        push(&mut self.alpha, format_args!("{}= ", name.text));
                        self.shape.push_str("keyword ");
                    }
                }
            }
            _ => {}
        }
        expr.each_child(&mut |child| self.expr(child, depth + 1));
        self.close();
    }
}
