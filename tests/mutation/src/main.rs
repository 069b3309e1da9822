//! Writes many mutants of a crate into one tree, each behind a switch, so that the crate is built
//! once for all of them (mutant schemata: Untch, Offutt, Harrold, "Mutation analysis using mutant
//! schemata", ISSTA 1993).
//!
//! `schemata MUTANTS.json TREE` rewrites the files of TREE that the mutants are in, and prints the
//! numbers of those that it could write. MUTANTS.json holds what `cargo mutants --list --json`
//! lists, each with an `id`; the switch is the function `crate::mutant(id)`, which the caller adds
//! to the crate.
//!
//! Where it can be told, a mutant asks for its switch only when it would compute something else:
//! `a || b` written as `a && b` only if the two differ. So the places that ask while no mutant is
//! on are those that a test must run to notice anything (Howden, "Weak mutation testing and
//! completeness of test sets", IEEE TSE 1982).

use std::collections::BTreeMap;

use proc_macro2::Span;
use serde::Deserialize;
use syn::spanned::Spanned;
use syn::visit_mut::{self, VisitMut};
use syn::{Arm, BinOp, Block, Expr, ExprBinary, parse_quote};

#[derive(Deserialize)]
struct Mutant {
    id: u32,
    file: String,
    genre: String,
    span: Place,
    replacement: String,
    /// Whether to ask for the switch always: the other form did not compile.
    #[serde(default)]
    plain: bool,
}

/// What is to be written at a place.
struct Change {
    id: u32,
    replacement: String,
    plain: bool,
}

#[derive(Deserialize)]
struct Place {
    start: Start,
}

/// Both count from 1.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Start {
    line: usize,
    column: usize,
}

struct Rewriter {
    mutants: BTreeMap<Start, Vec<Mutant>>,
    written: Vec<u32>,
}

impl Rewriter {
    /// The mutants of a kind that begin at a place.
    fn at(&self, span: Span, genre: &str) -> Vec<Change> {
        let start = Start { line: span.start().line, column: span.start().column + 1 };
        let here = self.mutants.get(&start).into_iter().flatten();
        let change = |mutant: &Mutant| Change {
            id: mutant.id,
            replacement: mutant.replacement.clone(),
            plain: mutant.plain,
        };
        here.filter(|mutant| mutant.genre == genre).map(change).collect()
    }

    /// Mutants of a whole function return before its body. `original`: the body with its places.
    fn function(&mut self, original: &Block, body: &mut Block) {
        let Some(first) = original.stmts.first() else { return };
        for Change { id, replacement, .. } in self.at(first.span(), "FnValue") {
            if let Ok(value) = syn::parse_str::<Expr>(&replacement) {
                body.stmts.insert(0, parse_quote!(if crate::mutant(#id) { return #value; }));
                self.written.push(id);
            }
        }
    }
}

/// Whether an expression binds names: such a one can't be put into another.
fn binds(expr: &Expr) -> bool {
    match expr {
        Expr::Let(_) => true,
        Expr::Binary(b) if matches!(b.op, BinOp::And(_)) => binds(&b.left) || binds(&b.right),
        _ => false,
    }
}

/// An expression with another operator while a mutant is on.
fn switched(was: ExprBinary, op: BinOp, change: &Change) -> Expr {
    let id = change.id;
    let (left, right, old) = (&was.left, &was.right, &was.op);
    let ordered = |op: &BinOp| matches!(op, BinOp::Lt(_) | BinOp::Le(_) | BinOp::Gt(_) | BinOp::Ge(_) | BinOp::Eq(_));
    match (old, &op) {
        (BinOp::Or(_), BinOp::And(_)) if !change.plain => {
            parse_quote!((if (#left) { !crate::mutant(#id) || (#right) } else { (#right) && !crate::mutant(#id) }))
        }
        (BinOp::And(_), BinOp::Or(_)) if !change.plain => {
            parse_quote!((if (#left) { (#right) || crate::mutant(#id) } else { crate::mutant(#id) && (#right) }))
        }
        (old, new) if ordered(old) && ordered(new) && !change.plain => parse_quote!((match (&(#left), &(#right)) {
            (mutant_left, mutant_right) => {
                let (was, new) = (mutant_left #old mutant_right, mutant_left #new mutant_right);
                if was != new && crate::mutant(#id) { new } else { was }
            }
        })),
        _ => {
            let mutated = ExprBinary { op, ..was.clone() };
            parse_quote!((if crate::mutant(#id) { #mutated } else { #was }))
        }
    }
}

impl VisitMut for Rewriter {
    // What the compiler evaluates has no switch.
    fn visit_item_const_mut(&mut self, _: &mut syn::ItemConst) {}
    fn visit_item_static_mut(&mut self, _: &mut syn::ItemStatic) {}
    fn visit_impl_item_const_mut(&mut self, _: &mut syn::ImplItemConst) {}
    fn visit_type_mut(&mut self, _: &mut syn::Type) {}

    fn visit_item_fn_mut(&mut self, function: &mut syn::ItemFn) {
        if function.sig.constness.is_none() {
            let original = function.block.clone();
            visit_mut::visit_block_mut(self, &mut function.block);
            self.function(&original, &mut function.block);
        }
    }

    fn visit_impl_item_fn_mut(&mut self, function: &mut syn::ImplItemFn) {
        if function.sig.constness.is_none() {
            let original = function.block.clone();
            visit_mut::visit_block_mut(self, &mut function.block);
            self.function(&original, &mut function.block);
        }
    }

    fn visit_trait_item_fn_mut(&mut self, function: &mut syn::TraitItemFn) {
        if let Some(body) = &mut function.default {
            let original = body.clone();
            visit_mut::visit_block_mut(self, body);
            self.function(&original, body);
        }
    }

    fn visit_item_mod_mut(&mut self, module: &mut syn::ItemMod) {
        // Tests stay as they are.
        if !module.attrs.iter().any(|attribute| attribute.path().is_ident("cfg")) {
            visit_mut::visit_item_mod_mut(self, module);
        }
    }

    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        let found = match expr {
            Expr::Binary(b) => self.at(b.op.span(), "BinaryOperator"),
            Expr::Unary(u) => self.at(u.op.span(), "UnaryOperator"),
            _ => Vec::new(),
        };
        let movable = !binds(expr);
        visit_mut::visit_expr_mut(self, expr);
        for change in found {
            let id = change.id;
            let written = match expr.clone() {
                Expr::Binary(was) if movable => match syn::parse_str::<BinOp>(&change.replacement) {
                    Ok(op) => switched(was, op, &change),
                    Err(_) => continue,
                },
                // A unary operator is left out.
                Expr::Unary(was) => {
                    let operand = was.expr;
                    parse_quote!((if crate::mutant(#id) { #operand } else { #expr }))
                }
                _ => continue,
            };
            *expr = written;
            self.written.push(id);
        }
    }

    fn visit_arm_mut(&mut self, arm: &mut Arm) {
        let deleted = self.at(arm.span(), "MatchArm");
        let guards = arm.guard.as_ref().map(|(_, guard)| self.at(guard.span(), "MatchArmGuard")).unwrap_or_default();
        let movable = arm.guard.as_ref().is_none_or(|(_, guard)| !binds(guard));
        visit_mut::visit_arm_mut(self, arm);
        if !movable {
            return;
        }
        let changed = guards.into_iter().map(|change| (change.id, change.replacement == "true"));
        for (id, always) in changed.chain(deleted.into_iter().map(|change| (change.id, false))) {
            let guard: Expr = match (arm.guard.take(), always) {
                (Some((_, guard)), true) => parse_quote!((#guard) || crate::mutant(#id)),
                (Some((_, guard)), false) => parse_quote!((#guard) && !crate::mutant(#id)),
                (None, _) => parse_quote!(!crate::mutant(#id)),
            };
            arm.guard = Some((Default::default(), Box::new(guard)));
            self.written.push(id);
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let [_, list, tree] = &std::env::args().collect::<Vec<_>>()[..] else {
        return Err("usage: schemata MUTANTS.json TREE".into());
    };
    let mutants: Vec<Mutant> = serde_json::from_str(&std::fs::read_to_string(list)?)?;
    let mut files: BTreeMap<String, BTreeMap<Start, Vec<Mutant>>> = BTreeMap::new();
    for mutant in mutants {
        files.entry(mutant.file.clone()).or_default().entry(mutant.span.start).or_default().push(mutant);
    }
    let mut written = Vec::new();
    for (file, mutants) in files {
        let path = format!("{tree}/{file}");
        let mut code = syn::parse_file(&std::fs::read_to_string(&path)?)?;
        let mut rewriter = Rewriter { mutants, written: Vec::new() };
        rewriter.visit_file_mut(&mut code);
        std::fs::write(&path, prettyplease::unparse(&code))?;
        written.extend(rewriter.written);
    }
    written.sort_unstable();
    println!("{}", serde_json::to_string(&written)?);
    Ok(())
}
