//! Makes a failing program smaller: statements go, blocks lose their header, expressions become one
//! of their operands or a literal.

use kc::types::{Scalar, Type};

use crate::tree::{Expr, Program, Stmt};

/// The smallest program found for which `fails` holds.
pub fn shrink(program: &Program, tries: usize, fails: &mut dyn FnMut(&Program) -> bool) -> Program {
    let mut best = program.clone();
    let (mut left, mut at, mut changed) = (tries, 0, false);
    while left > 0 {
        let mut smaller = best.clone();
        let mut edit = Edit { left: at, name: None };
        if !edit.program(&mut smaller) {
            // All edits were tried; again, as long as that helps.
            if !changed {
                break;
            }
            (at, changed) = (0, false);
            continue;
        }
        left -= 1;
        if fails(&smaller) {
            best = smaller;
            changed = true;
        } else {
            at += 1;
        }
    }
    best
}

/// The edit with this number.
struct Edit<'a> {
    left: usize,
    /// How the structs of the program are called.
    name: Option<&'a dyn Fn(Type) -> String>,
}

impl Edit<'_> {
    /// Counts down; true: it is this one's turn.
    fn now(&mut self) -> bool {
        let now = self.left == 0;
        self.left = self.left.wrapping_sub(1);
        now
    }

    fn program(&mut self, program: &mut Program) -> bool {
        let names = program.clone();
        let name = |ty| names.python(ty);
        let mut edit = Edit { left: self.left, name: Some(&name) };
        let done = edit.statements(&mut program.kernel.body)
            || program.functions.iter_mut().any(|function| edit.statements(&mut function.body))
            || edit.remove_function(program)
            || edit.expressions(&mut program.kernel.body)
            || program.functions.iter_mut().any(|function| edit.expressions(&mut function.body));
        self.left = edit.left;
        done
    }

    fn remove_function(&mut self, program: &mut Program) -> bool {
        for n in 0..program.functions.len() {
            if self.now() {
                program.functions.remove(n);
                return true;
            }
        }
        false
    }

    fn statements(&mut self, body: &mut Vec<Stmt>) -> bool {
        for n in (0..body.len()).rev() {
            if self.now() {
                body.remove(n);
                return true;
            }
            for k in 0..body[n].parts.len() {
                if body[n].parts[k].block.is_some() && self.now() {
                    let block = body[n].parts[k].block.take().map(|block| block.body).unwrap_or_default();
                    body.splice(n..=n, block);
                    return true;
                }
                if k > 0 && self.now() {
                    body[n].parts.remove(k);
                    return true;
                }
            }
        }
        body.iter_mut()
            .flat_map(|stmt| &mut stmt.parts)
            .filter_map(|part| part.block.as_mut())
            .any(|block| self.statements(&mut block.body))
    }

    fn expressions(&mut self, body: &mut [Stmt]) -> bool {
        for part in body.iter_mut().rev().flat_map(|stmt| &mut stmt.parts) {
            if part.head.args.iter_mut().any(|arg| self.expression(arg)) {
                return true;
            }
            if part.block.as_mut().is_some_and(|block| self.expressions(&mut block.body)) {
                return true;
            }
        }
        false
    }

    fn expression(&mut self, e: &mut Expr) -> bool {
        if e.args.is_empty() {
            return false;
        }
        for n in 0..e.args.len() {
            if e.args[n].ty == e.ty && self.now() {
                *e = e.args.swap_remove(n);
                return true;
            }
        }
        if self.now() {
            *e = Expr::leaf(e.ty, self.literal(e.ty));
            return true;
        }
        e.args.iter_mut().any(|arg| self.expression(arg))
    }

    fn literal(&self, ty: Type) -> String {
        let name = self.name.map(|name| name(ty)).unwrap_or_default();
        match ty {
            Type::Scalar(Scalar::Bool) => "True".to_string(),
            Type::Scalar(Scalar::I32) => "1".to_string(),
            Type::Scalar(Scalar::F32) => "1.0".to_string(),
            Type::Scalar(s) if s.is_float() => format!("{name}(1.0)"),
            Type::Scalar(_) => format!("{name}(1)"),
            _ => format!("{name}()"),
        }
    }
}
