//! Where in a program can a fault be put? The places of its syntax tree, and edits of its text.

use std::ops::Range;

use crate::dataset::identity;
use crate::diag::Diagnostics;
use crate::source::{FileId, Span};
use crate::syntax::ast::{Arg, Expr, ExprKind, Function, Item, Parsed, Stmt};
use crate::syntax::{self, visit};

/// A change of the text that makes a program wrong.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// `missing-colon`
    pub kind: &'static str,
    /// What was done, for people.
    pub note: String,
    edits: Vec<(Range<usize>, String)>,
    /// Another launch than the right one, where the host program is wrong.
    pub launch: Option<Relaunch>,
}

/// How the threads of a launch differ from the right ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Relaunch {
    /// One less in the first dimension.
    Short,
    /// One more there.
    Long,
    /// As many as there should be blocks of 256.
    Blocks,
    /// The first two extents stand for each other.
    Swapped,
    /// A thread for eight elements.
    Eighth,
}

impl Relaunch {
    /// The extents of the launch, of those that are meant.
    pub fn of(self, mut threads: Vec<u32>) -> Vec<u32> {
        let Some(first) = threads.first_mut() else { return threads };
        match self {
            Relaunch::Short => *first = first.saturating_sub(1),
            Relaunch::Long => *first += 1,
            Relaunch::Blocks => *first = first.div_ceil(256),
            Relaunch::Eighth => *first = first.div_ceil(8),
            Relaunch::Swapped if threads.len() > 1 => threads.swap(0, 1),
            Relaunch::Swapped => {}
        }
        threads
    }
}

impl Fault {
    /// One that the Python program does not have.
    pub fn of_cuda(kind: &'static str, note: &str) -> Fault {
        Fault { kind, note: note.to_string(), edits: Vec::new(), launch: None }
    }

    /// The program with the fault in it; None if an edit does not fit the text.
    pub fn apply(&self, text: &str) -> Option<String> {
        let mut edits: Vec<_> = self.edits.iter().collect();
        edits.sort_by_key(|(range, _)| range.start);
        let mut out = String::with_capacity(text.len() + 16);
        let mut at = 0;
        for (range, with) in edits {
            out.push_str(text.get(at..range.start)?);
            out.push_str(with);
            at = range.end;
        }
        out.push_str(text.get(at..)?);
        Some(out)
    }
}

/// An expression and the statement that contains it.
#[derive(Clone, Copy)]
pub struct Site<'a> {
    pub function: &'a Function,
    pub stmt: &'a Stmt,
    pub expr: &'a Expr,
}

/// The parsed program.
pub struct Sites<'a> {
    pub text: &'a str,
    pub functions: Vec<&'a Function>,
    /// All statements of all functions, nested ones included, in the order of the text.
    pub statements: Vec<(&'a Function, &'a Stmt)>,
    /// All expressions of all statements, parts included.
    pub exprs: Vec<Site<'a>>,
}

/// The tree of a text, for [`Sites::new`].
pub fn parse(text: &str) -> Parsed {
    syntax::parse(FileId(0), text, &mut Diagnostics::new())
}

impl<'a> Sites<'a> {
    pub fn new(text: &'a str, parsed: &'a Parsed) -> Sites<'a> {
        let functions: Vec<&Function> = parsed
            .items
            .iter()
            .filter_map(|item| match item {
                // What has no decorator is Python's.
                Item::Function(function) if !function.decorators.is_empty() => Some(&**function),
                _ => None,
            })
            .collect();
        let (mut statements, mut exprs) = (Vec::new(), Vec::new());
        for &function in &functions {
            visit::each_statement(&function.body, &mut |stmt| {
                statements.push((function, stmt));
                visit::expressions(stmt, &mut |whole| {
                    visit::walk(whole, &mut |expr| exprs.push(Site { function, stmt, expr }));
                });
            });
        }
        Sites { text, functions, statements, exprs }
    }

    /// The text at a span.
    pub fn at(&self, span: Span) -> &'a str {
        self.text.get(range(span)).unwrap_or_default()
    }

    /// Where `needle` first is between two offsets.
    pub fn find(&self, from: u32, to: u32, needle: &str) -> Option<Range<usize>> {
        let start = from as usize;
        let at = start + self.text.get(start..to as usize)?.find(needle)?;
        Some(at..at + needle.len())
    }

    /// The first kernel: the one that is launched first.
    pub fn kernel(&self) -> Option<&'a Function> {
        self.functions.iter().copied().find(|function| identity::has_kernel_decorator(function))
    }

    pub fn is_in_kernel(&self, site: &Site) -> bool {
        self.kernel().is_some_and(|kernel| kernel.span == site.function.span)
    }

    /// Calls with the text of what they call.
    pub fn calls(&self) -> impl Iterator<Item = (Site<'a>, &'a str, &'a [Arg])> {
        self.exprs.iter().filter_map(|&site| match &site.expr.kind {
            ExprKind::Call { callee, args } => Some((site, self.at(callee.span), args.as_slice())),
            _ => None,
        })
    }

    /// Elements of arrays that are parameters of the kernel, with the array's name and the indices.
    pub fn elements(&self) -> impl Iterator<Item = (Site<'a>, &'a str, &'a [Expr])> {
        self.exprs.iter().filter_map(|&site| match &site.expr.kind {
            ExprKind::Subscript { base, indices } => {
                let ExprKind::Name(name) = &base.kind else { return None };
                (self.is_in_kernel(&site) && self.array_type(name).is_some()).then_some((
                    site,
                    name.as_str(),
                    indices.as_slice(),
                ))
            }
            _ => None,
        })
    }

    /// Statements `a[i] = value` of the kernel: the element, the array's name, the indices.
    pub fn stores(&self) -> impl Iterator<Item = (Site<'a>, &'a str, &'a [Expr])> {
        self.elements().filter(|(site, _, _)| {
            let targets = visit::targets(site.stmt);
            targets.iter().any(|target| target.span == site.expr.span)
        })
    }

    /// The annotation of a parameter of the kernel, if it is an array.
    pub fn array_type(&self, name: &str) -> Option<&'a str> {
        let param = self.kernel()?.params.iter().find(|param| param.name.text == name)?;
        let annotation = self.at(param.annotation.as_ref()?.span);
        annotation.starts_with("wp.array").then_some(annotation)
    }

    /// The element type of an array's annotation: `float`, `wp.vec3`.
    pub fn element_type(&self, name: &str) -> Option<&'a str> {
        let text = self.array_type(name)?;
        let (_, rest) = text.split_once("dtype=").or_else(|| text.split_once('['))?;
        rest.split([',', ')', ']']).next()
    }

    /// The names of a function's parameters and variables.
    pub fn names(&self, function: &Function) -> Vec<&'a str> {
        let mut out: Vec<&str> = Vec::new();
        let Some(&function) = self.functions.iter().find(|f| f.span == function.span) else { return out };
        out.extend(function.params.iter().map(|param| param.name.text.as_str()));
        visit::each_statement(&function.body, &mut |stmt| {
            for target in visit::targets(stmt) {
                visit::bound_names(target, &mut |_, name| {
                    if !out.contains(&name) {
                        out.push(name);
                    }
                });
            }
        });
        out
    }

    /// The text lines with the offset of their first byte.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &'a str)> {
        let mut at = 0;
        self.text.split_inclusive('\n').map(move |line| {
            let start = at;
            at += line.len();
            (start, line.trim_end_matches('\n'))
        })
    }

    /// The lines of a statement with their line ends.
    pub fn whole_lines(&self, span: Span) -> Range<usize> {
        let start = self.text.get(..span.start as usize).and_then(|text| text.rfind('\n')).map_or(0, |at| at + 1);
        let end = self.text.get(span.end as usize..).and_then(|text| text.find('\n'));
        start..end.map_or(self.text.len(), |at| span.end as usize + at + 1)
    }
}

/// The name of a built-in: `length` of `wp.length`.
pub fn builtin(callee: &str) -> Option<&str> {
    callee.strip_prefix("wp.").filter(|name| !name.contains('.'))
}

/// Whether an expression can be an operand without brackets.
pub fn is_atom(expr: &Expr) -> bool {
    matches!(
        expr.kind,
        ExprKind::Name(_)
            | ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Call { .. }
            | ExprKind::Subscript { .. }
            | ExprKind::Attribute { .. }
    )
}

pub fn range(span: Span) -> Range<usize> {
    span.start as usize..span.end as usize
}

/// Where mutators put the faults that they find places for.
#[derive(Default)]
pub struct Faults {
    pub list: Vec<Fault>,
}

impl Faults {
    pub fn add(&mut self, kind: &'static str, note: String, edits: Vec<(Range<usize>, String)>) {
        self.list.push(Fault { kind, note, edits, launch: None });
    }

    /// A launch is another one.
    pub fn relaunch(&mut self, kind: &'static str, note: String, launch: Relaunch, edits: Vec<(Range<usize>, String)>) {
        self.list.push(Fault { kind, note, edits, launch: Some(launch) });
    }

    /// One text takes the place of another.
    pub fn replace(&mut self, kind: &'static str, note: String, at: Range<usize>, with: impl Into<String>) {
        self.add(kind, note, vec![(at, with.into())]);
    }
}
