//! Numbers that adapt: a literal takes the type of what it meets, where that changes nothing of it,
//! or where it is a decimal that meets a wider or narrower float. A variable that starts with a
//! literal gets its type from what it meets later.
//!
//! Warp's rule is stricter: nothing converts by itself ([`crate::check::Options::strict`]). What it
//! accepts means the same here, as adapting begins where it ends in an error.

use crate::check::body::{Body, Mode};
use crate::check::calls::call::Given;
use crate::check::tree::{Expr, ExprKind, LocalId};
use crate::check::types::value::{Constant, Number, Operand, Res};
use crate::ids::Id;
use crate::ir::BinaryOp as IrBinary;
use crate::source::Span;
use crate::syntax::ast::BinaryOp;
use crate::types::{Scalar, Type};

/// The greatest whole exponent of an integer that is written out as products.
const MOST_PRODUCTS: i128 = 63;

impl Body<'_, '_> {
    /// Whether literals of this code adapt.
    pub fn adapts(&self) -> bool {
        self.mode == Mode::User && !self.c.settings.strict
    }

    /// The number that an operand is in Python: a literal, or arithmetic on literals alone.
    pub fn literal_number(&self, operand: &Operand) -> Option<Constant> {
        match operand {
            Operand::Const(c) if c.scalar.is_none() => Some(*c),
            Operand::Value(expr) if expr.ty.as_scalar().is_some() => {
                self.literals.computed.get(&expr.span).map(|&number| Constant::untyped(Number::Float(number)))
            }
            _ => None,
        }
    }

    /// A quotient of whole numbers that has a fraction is an integer here, and none in Python: it
    /// adapts to nothing.
    pub fn kept_quotient(&self, op: BinaryOp, left: &Constant, right: &Constant, quotient: Constant) -> Constant {
        match (left.number, right.number) {
            (Number::Int(a), Number::Int(b)) if op == BinaryOp::Div && b != 0 && a % b != 0 && self.adapts() => {
                Constant { scalar: Some(quotient.scalar()), ..quotient }
            }
            _ => quotient,
        }
    }

    /// The operand as a number of this type, if it is a literal that adapts to it and has not it
    /// already.
    fn as_scalar_of(&self, operand: &Operand, scalar: Scalar, span: Span) -> Option<Expr> {
        let c = self.literal_number(operand)?;
        (c.scalar() != scalar && c.adapts_exactly(scalar)).then(|| c.expr_as(scalar, span))
    }

    /// The operand for a place of this type.
    pub fn adapted(&self, operand: Operand, ty: Type, span: Span) -> Operand {
        let Some(scalar) = ty.scalar_part().filter(|_| self.adapts()) else { return operand };
        match self.as_scalar_of(&operand, scalar, span) {
            Some(expr) => Operand::Value(expr),
            None => operand,
        }
    }

    /// Two operands, of which a literal takes the type of the other's numbers.
    pub fn adapted_pair(&mut self, left: Operand, right: Operand, at: (Span, Span)) -> (Operand, Operand) {
        if !self.adapts() {
            return (left, right);
        }
        let scalar = |operand: &Operand| match operand {
            Operand::Value(expr) => expr.ty.scalar_part(),
            Operand::Const(c) => Some(c.scalar()),
            _ => None,
        };
        let (Some(l), Some(r)) = (scalar(&left), scalar(&right)) else { return (left, right) };
        if l == r {
            return (left, right);
        }
        // Of two literals the whole number becomes a float.
        let fixed = |operand: &Operand| self.literal_number(operand).is_none();
        if (fixed(&right) || r.is_float() && l.is_int())
            && let Some(expr) = self.as_scalar_of(&left, r, at.0)
        {
            return (Operand::Value(expr), right);
        }
        if (fixed(&left) || l.is_float() && r.is_int())
            && let Some(expr) = self.as_scalar_of(&right, l, at.1)
        {
            return (left, Operand::Value(expr));
        }
        (left, right)
    }

    /// Notes what arithmetic on literals alone gives in Python: `1.0 / 3.0` beside a float64 has
    /// all its digits.
    pub fn note_computed(&mut self, op: BinaryOp, left: &Operand, right: &Operand, span: Span) {
        let (Some(a), Some(b)) = (self.literal_number(left), self.literal_number(right)) else { return };
        if !self.adapts() || !matches!(a.number, Number::Float(_)) && !matches!(b.number, Number::Float(_)) {
            return;
        }
        let (x, y) = (a.number.as_f64(), b.number.as_f64());
        let result = match op {
            BinaryOp::Add => x + y,
            BinaryOp::Sub => x - y,
            BinaryOp::Mul => x * y,
            BinaryOp::Div if y != 0.0 => x / y,
            _ => return,
        };
        self.literals.computed.insert(span, result);
    }

    /// The negative of such a number.
    pub fn note_negated(&mut self, operand: &Expr, span: Span) {
        if let Some(&number) = self.literals.computed.get(&operand.span) {
            self.literals.computed.insert(span, -number);
        }
    }

    /// `x ** n` with a whole number `n`: products where Python's have the same result.
    pub fn whole_power(&mut self, left: &Operand, right: &Operand, span: Span, at: (Span, Span)) -> Option<Operand> {
        let (Operand::Value(base), true) = (left, self.adapts()) else { return None };
        let exponent = match self.literal_number(right)?.number {
            Number::Int(n) => n,
            _ => return None,
        };
        let scalar = base.ty.as_scalar()?;
        let product = |l: Expr, r: Expr| {
            let ty = l.ty;
            Expr::new(ExprKind::Binary(IrBinary::Mul, Box::new(l), Box::new(r)), ty, span)
        };
        let mut lets = Vec::new();
        if scalar.is_float() && exponent == 2 {
            let base = self.shared(base.clone(), &mut lets);
            return Some(Operand::Value(self.wrap(lets, product(base.clone(), base))));
        }
        if !scalar.is_int() || !(0..=MOST_PRODUCTS).contains(&exponent) {
            return None;
        }
        let base = self.shared(base.clone(), &mut lets);
        let (mut left, mut square, mut result) = (exponent, base, None);
        while left > 0 {
            if left % 2 == 1 {
                result = Some(match result {
                    None => square.clone(),
                    Some(known) => product(known, square.clone()),
                });
            }
            left /= 2;
            if left > 0 {
                let next = product(square.clone(), square);
                square = self.shared(next, &mut lets);
            }
        }
        let one = Constant::untyped(Number::Int(1)).expr_as(scalar, at.0);
        Some(Operand::Value(self.wrap(lets, result.unwrap_or(one))))
    }

    /// The arguments of a call of which literals, and what is computed of them alone, are open.
    pub fn open_arguments(&self, given: &[Given]) -> Option<Vec<Given>> {
        if !self.adapts() {
            return None;
        }
        let mut any = false;
        let open = |given: &Given| {
            let constant = self.literal_number(&given.operand);
            any |= constant.is_some();
            let operand = constant.map_or_else(|| given.operand.clone(), Operand::Const);
            Given { operand, ..given.clone() }
        };
        let open: Vec<Given> = given.iter().map(open).collect();
        any.then_some(open)
    }

    /// The value that a variable starts with, which gets its type from what the variable meets.
    pub fn start_value(&mut self, operand: Operand, at: Span, value: Span) -> Res<Expr> {
        if let (Some(c), Some(&scalar)) = (self.literal_number(&operand), self.literals.starts.get(&at))
            && c.adapts_exactly(scalar)
        {
            return Ok(c.expr_as(scalar, value));
        }
        self.materialize(operand, value)
    }

    /// Notes that a new variable holds a literal, or what is computed of such variables and
    /// literals.
    pub fn note_start(&mut self, id: LocalId, literal: Option<Constant>, value: &Expr) {
        if !self.adapts() || id.index() < self.function.parameters {
            return;
        }
        let mut from = Vec::new();
        if let Some(constant) = literal {
            self.literals.started.entry(id).or_insert(constant);
        } else if value.ty.as_scalar().is_some_and(Scalar::is_float) && self.is_of_starts(value, &mut from) {
            self.literals.derived.entry(id).or_insert(from);
        }
    }

    fn is_of_starts(&self, value: &Expr, from: &mut Vec<LocalId>) -> bool {
        match &value.kind {
            ExprKind::Const(_) => true,
            ExprKind::Local(id) if self.literals.started.contains_key(id) || self.literals.derived.contains_key(id) => {
                from.push(*id);
                true
            }
            ExprKind::Binary(_, left, right) => self.is_of_starts(left, from) && self.is_of_starts(right, from),
            ExprKind::Unary(_, inner) => self.is_of_starts(inner, from),
            _ => false,
        }
    }

    /// A variable that started with a literal meets a number of another type: if its literal could
    /// have had this type, the body is checked again with it. `becomes`: the variable is to hold
    /// the result. Else an integer stays one.
    pub fn wish(&mut self, variable: LocalId, scalar: Scalar, becomes: bool) {
        if let Some(from) = self.literals.derived.get(&variable).cloned() {
            from.into_iter().for_each(|id| self.wish(id, scalar, false));
            return;
        }
        let Some(constant) = self.literals.started.get(&variable) else { return };
        let local = &self.locals[variable];
        let (Some(from), span) = (local.ty.as_scalar(), local.span) else { return };
        let is_wider = scalar.is_float() && !from.is_float() || scalar.is_float() == from.is_float();
        let kept = from.is_int() && scalar.is_float() && !becomes;
        if from == scalar || kept || !is_wider || !constant.adapts_exactly(scalar) {
            return;
        }
        self.literals.wishes.push((span, scalar));
    }

    /// An integer that is computed of variables that started with literals meets a float: they are
    /// floats from their start if the program makes them floats later.
    fn wish_weakly(&mut self, value: &Expr, scalar: Scalar) {
        let mut from = Vec::new();
        if self.is_of_starts(value, &mut from) {
            for id in from {
                let span = self.locals[id].span;
                if self.literals.started.get(&id).is_some_and(|constant| constant.adapts_exactly(scalar)) {
                    self.literals.weak.push((span, scalar));
                }
            }
        }
    }

    /// Notes that a variable which started with a literal holds a float that is computed.
    pub fn note_computed_float(&mut self, variable: LocalId, literal: bool, ty: Type) {
        if !literal
            && ty.as_scalar().is_some_and(Scalar::is_float)
            && self.literals.starts.contains_key(&self.locals[variable].span)
        {
            self.literals.computed_floats.insert(self.locals[variable].span);
        }
    }

    /// The same for operands of an operator or arguments of a call that do not go together.
    pub fn wish_for_operands<'e>(&mut self, operands: impl Iterator<Item = &'e Expr> + Clone) {
        let float = operands.clone().find_map(|expr| expr.ty.as_scalar().filter(|scalar| scalar.is_float()));
        if let Some(float) = float {
            let integers = operands.clone().filter(|expr| expr.ty.as_scalar().is_some_and(Scalar::is_int));
            integers.for_each(|expr| self.wish_weakly(expr, float));
        }
        let scalars: Vec<(Option<LocalId>, Scalar)> = operands
            .filter_map(|expr| {
                let id = match expr.kind {
                    ExprKind::Local(id) => Some(id),
                    _ => None,
                };
                Some((id, expr.ty.scalar_part()?))
            })
            .collect();
        for (n, &(id, scalar)) in scalars.iter().enumerate() {
            let starts =
                |id: &LocalId| self.literals.started.contains_key(id) || self.literals.derived.contains_key(id);
            let Some(id) = id.filter(starts) else { continue };
            let other = scalars
                .iter()
                .enumerate()
                .find(|(m, (other, to))| *m != n && *to != scalar && other.is_none_or(|other| !starts(&other)));
            if let Some((_, &(_, to))) = other {
                let becomes = self.literals.assigning == Some(id);
                self.wish(id, to, becomes);
            }
        }
    }
}
