//! Stacks of a block of threads: a tile of elements, and one of their number.
//!
//! Threads push and pop one after the other, in their order.

use super::elements::{all_of, arithmetic, compare, load, number, set, variable};
use crate::check::body::Body;
use crate::check::calls::call::Given;
use crate::check::messages;
use crate::check::tree::{Expr, ExprKind, LocalId, Stmt, StmtKind};
use crate::check::types::value::{Operand, Res, Stack};
use crate::ir::{BinaryOp, CompareOp};
use crate::source::Span;
use crate::syntax::ast::Name;
use crate::types::{BOOL, Element, I32, LocalArrayType, Scalar, Type};

impl Body<'_, '_> {
    /// `tile_stack(capacity, dtype)`: an empty one.
    pub(super) fn tile_stack(&mut self, given: &[Given], span: Span) -> Res<Operand> {
        let args = self.arguments_of("tile_stack", &["capacity", "dtype"], 2, given, span)?;
        let Some(capacity) = args.get("capacity") else {
            return Err(self.report(messages::tile_arguments::nothing_given("capacity", span)));
        };
        let extents = self.shape_argument(capacity)?;
        if extents.len() != 1 {
            return Err(self.report(messages::tiles::capacity_of_stack(capacity.span)));
        }
        let element = self.dtype_argument(args.get("dtype"), Element::Scalar(Scalar::F32))?;
        self.summary.by_thread = true;
        let (elements, place) = self.scratch(element, &extents, span);
        // Here, and not where the first of its elements is set, which some threads may not come to.
        let made = self.assign_local(elements, Expr::new(ExprKind::LocalArray, place.ty, span), span);
        self.statement.pending.push(made);
        let (count, _) = self.scratch(Element::Scalar(Scalar::I32), &[1], span);
        self.tiles.filled.insert(count, count);
        let stack = Stack { elements, count };
        self.set_count(stack, number(0, span), span);
        Ok(Operand::Stack(stack))
    }

    /// Arguments of a call, each stack as its tiles.
    pub(in crate::check) fn stacks_as_tiles(&self, given: Vec<Given>) -> Vec<Given> {
        let mut tiles = Vec::with_capacity(given.len());
        for arg in given {
            let Operand::Stack(stack) = arg.operand else {
                tiles.push(arg);
                continue;
            };
            let names =
                arg.name.as_ref().map(|name| Stack::params(&name.text).map(|text| Name { text, span: name.span }));
            let [first, second] = names.map_or([None, None], |names| names.map(Some));
            for (id, name) in [(stack.elements, first), (stack.count, second)] {
                let operand = Operand::Value(variable(id, self.locals[id].ty, arg.span));
                tiles.push(Given { name, operand, span: arg.span });
            }
        }
        tiles
    }

    fn set_count(&mut self, stack: Stack, to: Expr, span: Span) {
        let stmt = self.count_is(stack, to, span);
        self.all_together(vec![stmt], span);
    }

    fn count_is(&self, stack: Stack, to: Expr, span: Span) -> Stmt {
        let count = variable(stack.count, self.locals[stack.count].ty, span);
        set(count, &[number(0, span)], to, span)
    }

    fn count_of(&self, stack: Stack, span: Span) -> Expr {
        let count = variable(stack.count, self.locals[stack.count].ty, span);
        load(count, I32, &[number(0, span)], span)
    }

    fn stack_argument(&mut self, name: &str, given: Option<&Given>, span: Span) -> Res<Stack> {
        match given.map(|given| (&given.operand, given.span)) {
            Some((Operand::Stack(stack), _)) => Ok(*stack),
            Some((_, at)) => Err(self.report(messages::tiles::not_a_stack(name, at))),
            None => Err(self.report(messages::tile_arguments::nothing_given("stack", span))),
        }
    }

    /// The type of a stack's elements, and how many it has room for.
    fn stack_type(&self, stack: Stack) -> (Type, u32) {
        match self.locals[stack.elements].ty {
            Type::Local(LocalArrayType { element, shape, .. }) => (element.into(), shape[0]),
            ty => (ty, 0),
        }
    }

    /// What each thread does under a condition of its own, one after the other.
    fn by_each(&mut self, condition: Expr, then: Vec<Stmt>, span: Span) {
        let condition = match self.c.settings.block_dim {
            1 => condition,
            _ => all_of(vec![compare(CompareOp::Ge, self.thread_in_block(span), number(0, span)), condition], span),
        };
        let kind = StmtKind::If { condition, then, otherwise: Vec::new() };
        self.statement.pending.push(Stmt { kind, span });
    }

    /// `tile_stack_push(s, value, has_value)`: the slot that the thread's value got, or -1.
    pub(super) fn tile_stack_push(&mut self, given: &[Given], span: Span) -> Res<Operand> {
        let args = self.arguments_of("tile_stack_push", &["s", "value", "has_value"], 3, given, span)?;
        let stack = self.stack_argument("tile_stack_push", args.get("s"), span)?;
        let (Some(value), Some(mask)) = (args.get("value"), args.get("has_value")) else {
            return Err(self.report(messages::tile_arguments::nothing_given("value", span)));
        };
        let (ty, capacity) = self.stack_type(stack);
        let at = value.span;
        let value = match (&value.operand, ty) {
            (Operand::Const(c), Type::Scalar(scalar)) => c.expr_as(scalar, at),
            (operand, _) => self.materialize(operand.clone(), at)?,
        };
        if value.ty != ty {
            let (found, wanted) = (self.show(value.ty), self.show(ty));
            return Err(self.report(messages::tiles::pushed(&found, &wanted, at)));
        }
        let value = self.hidden(value);
        let has = self.materialize(mask.operand.clone(), mask.span)?;
        if has.ty != BOOL {
            let shown = self.show(has.ty);
            return Err(self.report(messages::tile_arguments::has_value(&shown, mask.span)));
        }
        self.meet(span);
        let (slot, count) = (self.hidden_number(-1, span), self.new_local("", I32, span));
        let n = variable(count, I32, span);
        let elements = variable(stack.elements, self.locals[stack.elements].ty, span);
        let there = vec![
            set(elements, std::slice::from_ref(&n), value, span),
            self.count_is(stack, arithmetic(BinaryOp::Add, n.clone(), number(1, span)), span),
            self.assign_local(slot, n.clone(), span),
        ];
        let room = compare(CompareOp::Lt, n, number(capacity, span));
        let then = vec![
            self.assign_local(count, self.count_of(stack, span), span),
            Stmt { kind: StmtKind::If { condition: room, then: there, otherwise: Vec::new() }, span },
        ];
        self.by_each(has, then, span);
        Ok(Operand::Value(variable(slot, I32, span)))
    }

    /// `tile_stack_pop(s)`: the value on top, and the slot that it had, or zero and -1.
    pub(super) fn tile_stack_pop(&mut self, given: &[Given], span: Span) -> Res<Operand> {
        let args = self.arguments_of("tile_stack_pop", &["s"], 1, given, span)?;
        let stack = self.stack_argument("tile_stack_pop", args.get("s"), span)?;
        let (ty, _) = self.stack_type(stack);
        self.meet(span);
        let (slot, count) = (self.hidden_number(-1, span), self.new_local("", I32, span));
        let value = self.new_local("", ty, span);
        let zero = self.assign_local(value, Expr::new(ExprKind::Zero, ty, span), span);
        self.statement.pending.push(zero);
        let top = arithmetic(BinaryOp::Sub, variable(count, I32, span), number(1, span));
        let elements = variable(stack.elements, self.locals[stack.elements].ty, span);
        let last = variable(slot, I32, span);
        let there = vec![
            self.assign_local(slot, top, span),
            self.assign_local(value, load(elements, ty, std::slice::from_ref(&last), span), span),
            self.count_is(stack, last, span),
        ];
        let some = compare(CompareOp::Gt, variable(count, I32, span), number(0, span));
        let then = vec![
            self.assign_local(count, self.count_of(stack, span), span),
            Stmt { kind: StmtKind::If { condition: some, then: there, otherwise: Vec::new() }, span },
        ];
        let always = compare(CompareOp::Ge, number(0, span), number(0, span));
        self.by_each(always, then, span);
        let got = [variable(value, ty, span), variable(slot, I32, span)];
        Ok(Operand::Tuple(got.map(Operand::Value).to_vec()))
    }

    /// `tile_stack_clear(s)`
    pub(super) fn tile_stack_clear(&mut self, given: &[Given], span: Span) -> Res<Operand> {
        let args = self.arguments_of("tile_stack_clear", &["s"], 1, given, span)?;
        let stack = self.stack_argument("tile_stack_clear", args.get("s"), span)?;
        self.set_count(stack, number(0, span), span);
        Ok(Operand::Tuple(Vec::new()))
    }

    /// `tile_stack_count(s)`, which may stand anywhere.
    pub(super) fn tile_stack_count(&mut self, given: &[Given], span: Span) -> Res<Operand> {
        let args = self.arguments_of("tile_stack_count", &["s"], 1, given, span)?;
        let stack = self.stack_argument("tile_stack_count", args.get("s"), span)?;
        Ok(Operand::Value(self.count_of(stack, span)))
    }

    /// A new variable with a number.
    fn hidden_number(&mut self, n: i64, span: Span) -> LocalId {
        let id = self.new_local("", I32, span);
        let assign = self.assign_local(id, number(n, span), span);
        self.statement.pending.push(assign);
        id
    }

    /// `name = stack`: another name for it.
    pub fn assign_stack(&mut self, name: &str, stack: Stack, span: Span) -> Res<()> {
        use crate::check::body::Binding;
        if self.nesting.depth > 0 && self.scope.contains_key(name) {
            return Err(self.report(messages::tiles::stack_reassigned(name, span)));
        }
        self.means(name, Binding::Alias(Operand::Stack(stack)), span);
        Ok(())
    }
}
