//! Writes many mutants of a crate into one tree, each behind a switch, so that the crate is built once for all of them
//! (mutant schemata: Untch, Offutt, Harrold, "Mutation analysis using mutant schemata", ISSTA 1993).
//!
//! `schemata MUTANTS.json TREE` rewrites the files of TREE that the mutants are in, and prints the numbers of those that it
//! could write. MUTANTS.json holds what `cargo mutants --list --json` lists, each with an `id`; the switch is the function
//! `crate::mutant(id)`, which the caller adds to the crate.

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
    fn at(&self, span: Span, genre: &str) -> Vec<(u32, String)> {
        let start = Start { line: span.start().line, column: span.start().column + 1 };
        let here = self.mutants.get(&start).into_iter().flatten();
        here.filter(|mutant| mutant.genre == genre).map(|mutant| (mutant.id, mutant.replacement.clone())).collect()
    }

    /// Mutants of a whole function return before its body. `original`: the body with its places.
    fn function(&mut self, original: &Block, body: &mut Block) {
        let Some(first) = original.stmts.first() else { return };
        for (id, replacement) in self.at(first.span(), "FnValue") {
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
        for (id, replacement) in found {
            let mutated = match expr.clone() {
                Expr::Binary(was) if movable => match syn::parse_str::<BinOp>(&replacement) {
                    Ok(op) => Expr::Binary(ExprBinary { op, ..was }),
                    Err(_) => continue,
                },
                // A unary operator is left out.
                Expr::Unary(was) => *was.expr,
                _ => continue,
            };
            *expr = parse_quote!((if crate::mutant(#id) { #mutated } else { #expr }));
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
        let changed = guards.into_iter().map(|(id, replacement)| (id, replacement == "true"));
        for (id, always) in changed.chain(deleted.into_iter().map(|(id, _)| (id, false))) {
            let guard: Expr = match (arm.guard.take(), always) {
                (Some((_, guard)), true) => parse_quote!(crate::mutant(#id) || (#guard)),
                (Some((_, guard)), false) => parse_quote!(!crate::mutant(#id) && (#guard)),
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
