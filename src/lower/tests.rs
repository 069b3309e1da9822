//! Small typed trees, lowered, verified, and shown as IR text.

use super::lower;
use crate::check::tree::*;
use crate::ir::print::print;
use crate::ir::verify::verify;
use crate::ir::{BinaryOp, CompareOp, Const};
use crate::source::{FileId, Span};
use crate::types::{BOOL, I32, Scalar, Type};

fn at() -> Span {
    Span::new(FileId(0), 0, 0)
}

fn expr(kind: ExprKind, ty: Type) -> Expr {
    Expr { kind, ty, span: at() }
}

fn stmt(kind: StmtKind) -> Stmt {
    Stmt { kind, span: at() }
}

fn int(value: i128) -> Expr {
    expr(ExprKind::Const(Const::int(Scalar::I32, value)), I32)
}

fn binary(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    let ty = a.ty;
    expr(ExprKind::Binary(op, Box::new(a), Box::new(b)), ty)
}

fn add(a: Expr, b: Expr) -> Expr {
    binary(BinaryOp::Add, a, b)
}

fn less(a: Expr, b: Expr) -> Expr {
    expr(ExprKind::Compare(CompareOp::Lt, Box::new(a), Box::new(b)), BOOL)
}

fn when(condition: Expr, then: Vec<Stmt>, otherwise: Vec<Stmt>) -> Stmt {
    stmt(StmtKind::If { condition, then, otherwise })
}

fn give(value: Expr) -> Stmt {
    stmt(StmtKind::Return(vec![value]))
}

/// A function under construction: parameters first, then variables.
struct Fun {
    function: Function,
}

impl Fun {
    fn new(name: &str, params: &[(&str, Type)], results: &[Type]) -> Fun {
        let locals = params.iter().map(|(name, ty)| Local { name: name.to_string(), ty: *ty, span: at() }).collect();
        Fun {
            function: Function {
                name: name.into(),
                source_name: name.into(),
                kernel_rank: None,
                library: false,
                cuda_name: None,
                locals,
                param_count: params.len() as u32,
                results: results.to_vec(),
                by_ref: Vec::new(),
                body: Vec::new(),
                span: at(),
            },
        }
    }

    fn var(&mut self, name: &str, ty: Type) -> LocalId {
        self.function.locals.push(Local { name: name.into(), ty, span: at() })
    }

    fn get(&self, local: LocalId) -> Expr {
        expr(ExprKind::Local(local), self.function.locals[local].ty)
    }

    fn set(&self, local: LocalId, value: Expr) -> Stmt {
        stmt(StmtKind::Assign(self.place(local), value))
    }

    fn place(&self, local: LocalId) -> Place {
        Place { root: Root::Local(local), path: Vec::new(), ty: self.function.locals[local].ty, span: at() }
    }

    fn count(&self, variable: LocalId, end: Expr, body: Vec<Stmt>) -> Stmt {
        stmt(StmtKind::For { variable, start: int(0), end, step: int(1), body })
    }

    fn body(mut self, body: Vec<Stmt>) -> Function {
        self.function.body = body;
        self.function
    }
}

/// The IR text of the last function, after the module has passed the verifier.
fn text(functions: Vec<Function>) -> String {
    let checked = Checked { functions: functions.into_iter().collect(), ..Checked::default() };
    let module = lower(&checked);
    let shown = print(&module);
    if let Err(errors) = verify(&module) {
        panic!("{}\n{shown}", errors.join("\n"));
    }
    let last = shown.rfind("\nfunc").map_or(0, |start| start + 1);
    shown[last..].trim().to_string()
}

const A: LocalId = LocalId(0);
const B: LocalId = LocalId(1);

#[test]
fn a_branch_gives_what_is_read_later_and_nothing_else() {
    let mut f = Fun::new("f", &[("a", I32), ("b", I32)], &[I32]);
    let (x, t) = (f.var("x", I32), f.var("t", I32));
    let body = vec![
        f.set(x, int(1)),
        when(
            less(f.get(A), f.get(B)),
            vec![f.set(t, add(f.get(A), f.get(A))), f.set(x, add(f.get(t), f.get(t)))],
            vec![],
        ),
        give(f.get(x)),
    ];
    let expected = "\
func @f(%a: int32, %b: int32) -> (int32) {
  %x: int32 = const 1
  %0: bool = lt %a, %b
  %x.1: int32 = if %0 {
    %t: int32 = add %a, %a
    %x.2: int32 = add %t, %t
    yield %x.2
  } else {
    yield %x
  }
  return %x.1
}";
    assert_eq!(text(vec![f.body(body)]), expected);
}

#[test]
fn a_loop_carries_what_its_turns_hand_on() {
    let mut f = Fun::new("f", &[("a", I32), ("b", I32)], &[I32]);
    let (x, t, i) = (f.var("x", I32), f.var("t", I32), f.var("i", I32));
    let body = vec![
        f.count(
            i,
            f.get(A),
            vec![
                f.set(t, add(f.get(i), f.get(B))),
                when(less(f.get(t), int(3)), vec![stmt(StmtKind::Continue)], vec![]),
                when(less(int(100), f.get(t)), vec![f.set(x, int(5)), stmt(StmtKind::Break)], vec![]),
                f.set(x, add(f.get(x), f.get(t))),
            ],
        ),
        give(add(f.get(x), f.get(i))),
    ];
    let expected = "\
func @f(%a: int32, %b: int32) -> (int32) {
  %0: int32 = const 0
  %1: int32 = const 1
  %2: int32 = zero
  %3: int32 = zero
  %x: int32, %i: int32 = for %i.1: int32 = %0 to %a step %1 carry %x.1: int32 = %2, %i.2: int32 = %3 {
    %t: int32 = add %i.1, %b
    %4: int32 = const 3
    %5: bool = lt %t, %4
    if %5 {
      continue %x.1, %i.1
    }
    %6: int32 = const 100
    %7: bool = lt %6, %t
    if %7 {
      %x.2: int32 = const 5
      break %x.2, %i.1
    }
    %x.3: int32 = add %x.1, %t
    yield %x.3, %i.1
  }
  %8: int32 = add %x, %i
  return %8
}";
    assert_eq!(text(vec![f.body(body)]), expected);
}
