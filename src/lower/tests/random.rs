//! Random programs of nested control flow, lowered and interpreted, against a direct evaluation of
//! the tree.

use super::*;
use crate::ids::Id;
use crate::ir::UnaryOp;

const VARIABLES: usize = 5;

/// A small generator of numbers (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

/// `bump(p: ref int) -> int`: adds 3 to `p` and gives twice its new value.
pub(super) fn bump() -> Function {
    let mut f = Fun::new("bump", &[("p", I32)], &[I32]);
    f.function.by_ref.push(A);
    let body = vec![f.set(A, add(f.get(A), int(3))), give(add(f.get(A), f.get(A)))];
    f.body(body)
}

struct Writer {
    random: Random,
    fun: Fun,
}

impl Writer {
    fn any(&mut self) -> LocalId {
        LocalId::new(self.random.below(VARIABLES as u64) as usize)
    }

    fn bump_call(&mut self) -> Call {
        let local = self.any();
        Call {
            callee: FnId(0),
            args: vec![self.fun.get(local)],
            by_ref: vec![self.fun.place(local)],
            test: None,
            span: at(),
        }
    }

    fn number(&mut self, depth: u64) -> Expr {
        match self.random.below(if depth == 0 { 3 } else { 8 }) {
            0 => int(i128::from(self.random.below(7)) - 3),
            1 | 2 => {
                let local = self.any();
                self.fun.get(local)
            }
            3 | 4 => add(self.number(depth - 1), self.number(depth - 1)),
            5 => binary(BinaryOp::Mul, self.number(depth - 1), self.number(depth - 1)),
            6 => {
                let call = self.bump_call();
                expr(ExprKind::Call(call), I32)
            }
            _ => {
                let condition = Box::new(self.test(depth - 1));
                let (then, otherwise) = (Box::new(self.number(depth - 1)), Box::new(self.number(depth - 1)));
                expr(ExprKind::Conditional { condition, then, otherwise }, I32)
            }
        }
    }

    fn test(&mut self, depth: u64) -> Expr {
        match self.random.below(if depth == 0 { 2 } else { 6 }) {
            0 | 1 => less(self.number(depth.saturating_sub(1)), self.number(depth.saturating_sub(1))),
            2 => expr(ExprKind::And(vec![self.test(depth - 1), self.test(depth - 1), self.test(depth - 1)]), BOOL),
            3 => expr(ExprKind::Or(vec![self.test(depth - 1), self.test(depth - 1)]), BOOL),
            4 => expr(ExprKind::Const(Const::bool(self.random.one_in(2))), BOOL),
            _ => expr(ExprKind::Unary(UnaryOp::Not, Box::new(self.test(depth - 1))), BOOL),
        }
    }

    fn block(&mut self, depth: u64, in_loop: bool) -> Vec<Stmt> {
        (0..self.random.below(4) + 1).map(|_| self.statement(depth, in_loop)).collect()
    }

    fn statement(&mut self, depth: u64, in_loop: bool) -> Stmt {
        let local = self.any();
        match self.random.below(if depth == 0 { 6 } else { 11 }) {
            0..=2 => {
                let value = self.number(2);
                self.fun.set(local, value)
            }
            3 => {
                let call = self.bump_call();
                stmt(StmtKind::AssignCall { targets: vec![Some(local)], call })
            }
            4 if in_loop => stmt(if self.random.one_in(2) { StmtKind::Break } else { StmtKind::Continue }),
            4 | 5 if self.random.one_in(6) => give(self.number(1)),
            4 | 5 => {
                let other = self.any();
                stmt(StmtKind::AssignMany(vec![(local, self.fun.get(other)), (other, self.fun.get(local))]))
            }
            6..=8 => {
                let condition = self.test(2);
                let then = self.block(depth - 1, in_loop);
                let otherwise = if self.random.one_in(2) { self.block(depth - 1, in_loop) } else { Vec::new() };
                when(condition, then, otherwise)
            }
            9 => {
                let end = int(i128::from(self.random.below(4)));
                let body = self.block(depth - 1, true);
                self.fun.count(local, end, body)
            }
            _ => {
                // A counter of its own ends the loop.
                let counter = self.fun.var("c", I32);
                let condition = expr(ExprKind::And(vec![less(self.fun.get(counter), int(3)), self.test(2)]), BOOL);
                let mut body = vec![self.fun.set(counter, add(self.fun.get(counter), int(1)))];
                body.extend(self.block(depth - 1, true));
                let start = self.fun.set(counter, int(0));
                let stays = less(int(-1000), int(0));
                when(stays, vec![start, stmt(StmtKind::While { condition, body })], vec![])
            }
        }
    }
}

/// The tree, evaluated as Python would.
struct Direct {
    locals: Vec<i32>,
}

enum Way {
    On,
    Break,
    Continue,
    Return(i32),
}

impl Direct {
    fn bump(&mut self, call: &Call) -> i32 {
        let Root::Local(local) = call.by_ref[0].root else { unreachable!("bump takes variables") };
        let value = &mut self.locals[local.index()];
        *value = value.wrapping_add(3);
        value.wrapping_mul(2)
    }

    fn number(&mut self, e: &Expr) -> i32 {
        match &e.kind {
            ExprKind::Const(c) => c.as_int().unwrap_or(0) as i32,
            ExprKind::Local(local) => self.locals[local.index()],
            ExprKind::Binary(op, a, b) => {
                let (a, b) = (self.number(a), self.number(b));
                if *op == BinaryOp::Add { a.wrapping_add(b) } else { a.wrapping_mul(b) }
            }
            ExprKind::Call(call) => self.bump(call),
            ExprKind::Conditional { condition, then, otherwise } => {
                if self.test(condition) {
                    self.number(then)
                } else {
                    self.number(otherwise)
                }
            }
            other => unreachable!("{other:?}"),
        }
    }

    fn test(&mut self, e: &Expr) -> bool {
        match &e.kind {
            ExprKind::Const(c) => c.bits != 0,
            ExprKind::Compare(_, a, b) => self.number(a) < self.number(b),
            ExprKind::And(parts) => parts.iter().all(|part| self.test(part)),
            ExprKind::Or(parts) => parts.iter().any(|part| self.test(part)),
            ExprKind::Unary(_, a) => !self.test(a),
            other => unreachable!("{other:?}"),
        }
    }

    fn block(&mut self, stmts: &[Stmt]) -> Way {
        for s in stmts {
            match self.statement(s) {
                Way::On => {}
                way => return way,
            }
        }
        Way::On
    }

    fn statement(&mut self, s: &Stmt) -> Way {
        match &s.kind {
            StmtKind::Assign(Place { root: Root::Local(local), .. }, value) => {
                self.locals[local.index()] = self.number(value);
            }
            StmtKind::AssignCall { targets, call } => {
                let value = self.bump(call);
                if let Some(local) = targets[0] {
                    self.locals[local.index()] = value;
                }
            }
            StmtKind::AssignMany(pairs) => {
                let values: Vec<i32> = pairs.iter().map(|(_, value)| self.number(value)).collect();
                for ((local, _), value) in pairs.iter().zip(values) {
                    self.locals[local.index()] = value;
                }
            }
            StmtKind::If { condition, then, otherwise } => {
                return if self.test(condition) { self.block(then) } else { self.block(otherwise) };
            }
            StmtKind::For { variable, end, body, .. } => {
                for i in 0..self.number(end) {
                    self.locals[variable.index()] = i;
                    match self.block(body) {
                        Way::Break => break,
                        Way::Return(value) => return Way::Return(value),
                        Way::On | Way::Continue => {}
                    }
                }
            }
            StmtKind::While { condition, body } => {
                while self.test(condition) {
                    match self.block(body) {
                        Way::Break => break,
                        Way::Return(value) => return Way::Return(value),
                        Way::On | Way::Continue => {}
                    }
                }
            }
            StmtKind::Break => return Way::Break,
            StmtKind::Continue => return Way::Continue,
            StmtKind::Return(values) => return Way::Return(self.number(&values[0])),
            other => unreachable!("{other:?}"),
        }
        Way::On
    }
}

#[test]
fn random_programs_compute_what_their_trees_say() {
    let inputs = [[0, 0], [1, -2], [7, 3], [-5, 40]];
    for seed in 1..=400u64 {
        let mut fun = Fun::new("f", &[("a", I32), ("b", I32)], &[I32]);
        for name in ["x", "y", "z"] {
            fun.var(name, I32);
        }
        // Library functions have their short loops unrolled.
        fun.function.library = seed % 3 == 0;
        let mut writer = Writer { random: Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)), fun };
        let mut body = writer.block(3, false);
        body.extend(writer.block(3, false));
        let sum = (0..VARIABLES).map(|n| writer.fun.get(LocalId::new(n)));
        let sum = sum.reduce(|sum, x| add(binary(BinaryOp::Mul, sum, int(31)), x)).expect("there are variables");
        body.push(give(sum));
        let function = writer.fun.body(body);
        let expected: Vec<i32> = inputs
            .iter()
            .map(|input| {
                let mut direct = Direct { locals: vec![0; function.locals.len()] };
                direct.locals[..2].copy_from_slice(input);
                match direct.block(&function.body) {
                    Way::Return(value) => value,
                    _ => unreachable!("the body ends in a return"),
                }
            })
            .collect();
        let (shown, values) = run(vec![bump(), function], &inputs);
        assert_eq!(values, expected, "seed {seed}\n{shown}");
    }
}
