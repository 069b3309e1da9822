//! Operators: primitive operations where the types allow, functions of the library (or the user's
//! overloads) elsewhere.

use crate::check::body::{Binding, Body, Mode};
use crate::check::messages;
use crate::check::tree::{Expr, ExprKind, LocalId, Place, Root};
use crate::check::types::advice::left_moves;
use crate::check::types::value::{Constant, FunctionName, Number, Operand, Reported, Res, cast_to, convert_help};
use crate::diag::{Applicability, Diagnostic};
use crate::ids::Id;
use crate::ir::{BinaryOp as IrBinary, CompareOp as IrCompare, UnaryOp as IrUnary};
use crate::source::Span;
use crate::syntax::ast::{self, BinaryOp, CompareOp, UnaryOp};
use crate::types::{BOOL, Scalar, Type};

/// The library's name of an operator; a user's function of this name overloads it.
fn function_name(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "add",
        BinaryOp::Sub => "sub",
        BinaryOp::Mul | BinaryOp::MatMul => "mul",
        BinaryOp::Div => "div",
        BinaryOp::FloorDiv => "floordiv",
        BinaryOp::Mod => "mod",
        BinaryOp::Pow => "pow",
        BinaryOp::BitAnd => "bit_and",
        BinaryOp::BitOr => "bit_or",
        BinaryOp::BitXor => "bit_xor",
        BinaryOp::Shl => "lshift",
        BinaryOp::Shr => "rshift",
    }
}

impl Body<'_, '_> {
    pub fn binary(
        &mut self,
        op: BinaryOp,
        left: Operand,
        right: Operand,
        span: Span,
        at_left: Span,
        at_right: Span,
    ) -> Res<Operand> {
        if let (Operand::Const(a), Operand::Const(b)) = (&left, &right) {
            if self.mode == (Mode::Host { library: false }) && a.scalar.is_none() && b.scalar.is_none() {
                match host_arithmetic(op, a.number, b.number) {
                    Ok(Some(number)) => return Ok(Operand::Const(Constant::untyped(number))),
                    Ok(None) => {}
                    Err(Beyond::Zero) => {
                        return Err(self.report(messages::values::division_by_zero(at_right)));
                    }
                    Err(Beyond::Range) => return self.beyond_constants(span),
                }
            }
            if let Some(folded) = self.fold(op, *a, *b) {
                return Ok(Operand::Const(self.kept_quotient(op, a, b, folded)));
            }
        }
        if let Some(result) = self.python_binary(op, &left, &right, span) {
            return result;
        }
        if self.is_tile(&left) || self.is_tile(&right) {
            return self.tile_binary(op, left, right, (span, at_left, at_right));
        }
        let (mut left, mut right) = (left, right);
        if !self.has_user_operator(op) {
            if op == BinaryOp::Pow
                && let Some(power) = self.whole_power(&left, &right, span, (at_left, at_right))
            {
                return Ok(power);
            }
            self.note_computed(op, &left, &right, span);
            // Bits are of integers.
            let bits =
                matches!(op, BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor | BinaryOp::Shl | BinaryOp::Shr);
            let floats = |operand: &Operand| match operand {
                Operand::Value(expr) => expr.ty.scalar_part().is_some_and(Scalar::is_float),
                _ => false,
            };
            if !bits || !floats(&left) && !floats(&right) {
                (left, right) = self.adapted_pair(left, right, (at_left, at_right));
            }
        }
        let (l, r) = self.unify(left, right, at_left, at_right)?;
        if let Some(result) = self.user_operator(function_name(op), &[&l, &r], span) {
            return result;
        }
        if let Some(kind) = self.primitive(op, &l, &r) {
            let ty = if r.ty.is_composite() { r.ty } else { l.ty };
            return Ok(Operand::Value(Expr::new(kind(Box::new(l), Box::new(r)), ty, span)));
        }
        // Two unequal scalars never fit: say so at once, in terms of the operator.
        let scalars = matches!((l.ty, r.ty), (Type::Scalar(_), Type::Scalar(_)));
        if !scalars || l.ty == r.ty {
            let args = [(&l, at_left), (&r, at_right)];
            if let Some(result) = self.call_if_matches(&FunctionName::Builtin(function_name(op).into()), &args, span) {
                return result;
            }
        }
        self.operand_mismatch(op.symbol(), Some(op), &l, &r, at_left, at_right)
    }

    /// Reports a number that Python can hold and kc's constants cannot.
    pub fn beyond_constants<T>(&mut self, span: Span) -> Res<T> {
        Err(self.report(messages::values::too_large(span)))
    }

    /// The primitive operation for these operand types, if there is one.
    #[expect(clippy::type_complexity, reason = "a constructor of one node")]
    fn primitive(&self, op: BinaryOp, l: &Expr, r: &Expr) -> Option<fn(Box<Expr>, Box<Expr>) -> ExprKind> {
        macro_rules! node {
            ($op:ident) => {
                Some(|l, r| ExprKind::Binary(IrBinary::$op, l, r))
            };
        }
        if let (Type::Scalar(a), Type::Scalar(b)) = (l.ty, r.ty) {
            if a != b {
                return None;
            }
            let (int, float) = (a.is_int(), a.is_float());
            let bits = int || a == Scalar::Bool;
            return match op {
                BinaryOp::Add if int || float => node!(Add),
                BinaryOp::Sub if int || float => node!(Sub),
                BinaryOp::Mul | BinaryOp::MatMul if int || float => node!(Mul),
                BinaryOp::Div if int || float => node!(Div),
                BinaryOp::FloorDiv if int => node!(FloorDiv),
                BinaryOp::Mod if int => node!(Rem),
                BinaryOp::BitAnd if bits => node!(And),
                BinaryOp::BitOr if bits => node!(Or),
                BinaryOp::BitXor if bits => node!(Xor),
                BinaryOp::Shl if int => node!(Shl),
                BinaryOp::Shr if int => node!(Shr),
                _ => None,
            };
        }
        let plain = |ty: Type| matches!(ty, Type::Vec(..) | Type::Mat(..) | Type::Quat(_));
        let scalar_of = |c: Type, s: Type| plain(c) && s.as_scalar().is_some() && c.scalar_part() == s.as_scalar();
        match op {
            BinaryOp::Add if l.ty == r.ty && plain(l.ty) => node!(Add),
            BinaryOp::Sub if l.ty == r.ty && plain(l.ty) => node!(Sub),
            BinaryOp::Mul if scalar_of(l.ty, r.ty) || scalar_of(r.ty, l.ty) => node!(Mul),
            BinaryOp::Div if scalar_of(l.ty, r.ty) => node!(Div),
            _ => None,
        }
    }

    /// Whether the file has functions named like the operator.
    pub fn has_user_operator(&self, op: BinaryOp) -> bool {
        !self.is_library() && self.c.user_function(function_name(op)).is_some()
    }

    /// A `@wp.func` named like the operator, if the file has one that takes these operands.
    fn user_operator(&mut self, name: &str, operands: &[&Expr], span: Span) -> Option<Res<Operand>> {
        if self.is_library() {
            return None;
        }
        let function = self.c.user_function(name)?;
        let args: Vec<(&Expr, Span)> = operands.iter().map(|&e| (e, e.span)).collect();
        self.call_if_matches(&function, &args, span)
    }

    /// That an operator does not take operands of these types together, with what each is.
    fn mismatch(&self, symbol: &str, (left, at_left): (Type, Span), (right, at_right): (Type, Span)) -> Diagnostic {
        let (a, b) = (self.show(left), self.show(right));
        match left == right {
            true => messages::types::operator_of_type(symbol, &a, at_left, at_right),
            false => messages::types::operator_mixes(symbol, (&a, at_left), (&b, at_right)),
        }
    }

    fn operand_mismatch(
        &mut self,
        symbol: &str,
        op: Option<BinaryOp>,
        l: &Expr,
        r: &Expr,
        at_left: Span,
        at_right: Span,
    ) -> Res<Operand> {
        self.wish_for_operands([l, r].into_iter());
        let mut diagnostic = self.mismatch(symbol, (l.ty, at_left), (r.ty, at_right));
        diagnostic = self.label_origin(diagnostic, l, at_left);
        diagnostic = self.label_origin(diagnostic, r, at_right);
        if let Some(advice) = op.and_then(|op| self.operand_advice(op, (l.ty, at_left), (r.ty, at_right))) {
            diagnostic = diagnostic.help(advice);
        } else if let (Type::Scalar(a), Type::Scalar(b)) = (l.ty, r.ty)
            && a != b
        {
            let (at, cast) = if left_moves(a, b) { (at_left, (l.ty, b)) } else { (at_right, (r.ty, a)) };
            diagnostic = self.suggest_cast(diagnostic, at, cast, "one side", Applicability::Maybe);
        } else if let Some((to, at)) = number_beside_floats((l.ty, at_left), (r.ty, at_right)) {
            let number = if at == at_left { l.ty } else { r.ty };
            diagnostic = self.suggest_cast(diagnostic, at, (number, to), "the number", Applicability::Maybe);
        } else if matches!(symbol, "<" | "<=" | ">" | ">=") && [l.ty, r.ty].iter().any(|ty| matches!(ty, Type::Vec(..)))
        {
            diagnostic = messages::repairs::compare_components(diagnostic);
        } else if matches!((l.ty, r.ty), (Type::Local(_), Type::Scalar(_)) | (Type::Scalar(_), Type::Local(_))) {
            diagnostic = self.suggest_element(diagnostic, l.ty, at_left, r.ty);
            diagnostic = self.suggest_element(diagnostic, r.ty, at_right, l.ty);
        } else if l.ty != r.ty {
            diagnostic = diagnostic.help(convert_help(r.ty));
        }
        self.distrust(l, r.ty);
        self.distrust(r, l.ty);
        Err(self.report(diagnostic))
    }

    /// Reports `place op= value` where the value has a wider scalar type than the place: no
    /// conversion of the place can be written there. None: the types may go together.
    pub fn refuse_widening(
        &mut self,
        op: BinaryOp,
        place: &Place,
        value: &Operand,
        (at_place, at_value): (Span, Span),
    ) -> Option<Reported> {
        let to = place.ty.as_scalar()?;
        let from = match value {
            Operand::Value(value) => value.ty.as_scalar()?,
            Operand::Const(Constant { scalar: Some(scalar), .. }) => *scalar,
            Operand::Const(Constant { number: Number::Float(_), .. }) => Scalar::F32,
            _ => return None,
        };
        // Without a number on either side there is more to say than which side to convert.
        let numbers = [to, from].iter().all(|&scalar| scalar != Scalar::Bool);
        if to == from || !numbers || !left_moves(to, from) || self.has_user_operator(op) {
            return None;
        }
        let mut diagnostic = self.mismatch(op.symbol(), (place.ty, at_place), (Type::Scalar(from), at_value));
        let variable = match place.root {
            Root::Local(id) if place.path.is_empty() => Some(id),
            _ => None,
        };
        if let Some(id) = variable {
            self.wish(id, from, true);
        }
        if let Some(id) = variable {
            let local = Expr::new(ExprKind::Local(id), place.ty, at_place);
            diagnostic = self.label_origin(diagnostic, &local, at_place);
        }
        if let Operand::Value(value) = value {
            diagnostic = self.label_origin(diagnostic, value, at_value);
        }
        let own = variable.filter(|id| id.index() >= self.function.parameters && to.is_int() && from.is_float());
        diagnostic = match own {
            Some(id) => self.suggest_float_from_start(diagnostic, id),
            None => self.suggest_cast(diagnostic, at_value, (from.into(), to), "the value", Applicability::Maybe),
        };
        // Its other uses would say the same once more.
        own.into_iter().for_each(|id| self.break_bindings(id));
        Some(self.report(diagnostic))
    }

    /// A variable that is no scalar, where the other operand is one, was assigned the wrong thing:
    /// once is enough.
    fn distrust(&mut self, operand: &Expr, other: Type) {
        let ExprKind::Local(id) = operand.kind else { return };
        let is_parameter = id.index() < self.function.parameters;
        if !is_parameter && operand.ty.as_scalar().is_none() && other.as_scalar().is_some() {
            self.break_bindings(id);
        }
    }

    /// Says nothing more of a variable that is assigned.
    pub fn forget(&mut self, name: &str) {
        if let Some(Binding::Local(id)) = self.scope.get(name)
            && id.index() >= self.function.parameters
        {
            self.break_bindings(*id);
        }
    }

    /// Says nothing more of a variable.
    fn break_bindings(&mut self, id: LocalId) {
        for binding in self.scope.values_mut() {
            if matches!(binding, Binding::Local(found) if *found == id) {
                *binding = Binding::Broken;
            }
        }
    }

    pub fn unary(&mut self, op: UnaryOp, operand: Operand, span: Span, at: Span) -> Res<Operand> {
        if let Operand::Const(c) = operand {
            let number = match (op, c.number) {
                (UnaryOp::Neg, Number::Int(v)) => match v.checked_neg() {
                    Some(v) => Some(Number::Int(v)),
                    None => return self.beyond_constants(span),
                },
                (UnaryOp::Neg, Number::Float(v)) => Some(Number::Float(-v)),
                (UnaryOp::Pos, Number::Int(_) | Number::Float(_)) => Some(c.number),
                (UnaryOp::Not, _) => {
                    return Ok(Operand::Const(Constant::untyped(Number::Bool(!self.meant(&c).is_true()))));
                }
                (UnaryOp::Invert, Number::Int(v)) if c.scalar.is_none_or(Scalar::is_signed_int) => {
                    Some(Number::Int(!v))
                }
                _ => None,
            };
            if let Some(number) = number {
                return Ok(Operand::Const(Constant { number, ..c }));
            }
        }
        if op == UnaryOp::Not
            && let Some(holds) = self.python_truth(&operand)
        {
            return Ok(Operand::Const(Constant::untyped(Number::Bool(!holds))));
        }
        if self.is_tile(&operand) {
            return self.tile_unary(op, operand, span, at);
        }
        let expr = if op == UnaryOp::Not { self.truth(operand, at)? } else { self.materialize(operand, at)? };
        if let Some(result) = self.user_operator(
            match op {
                UnaryOp::Neg => "neg",
                UnaryOp::Pos => "pos",
                UnaryOp::Not => "unot",
                UnaryOp::Invert => "invert",
            },
            &[&expr],
            span,
        ) {
            return result;
        }
        let scalar = expr.ty.scalar_part();
        let kind = match op {
            UnaryOp::Neg if scalar.is_some_and(|s| s != Scalar::Bool) => IrUnary::Neg,
            UnaryOp::Pos if scalar.is_some_and(|s| s != Scalar::Bool) => return Ok(Operand::Value(expr)),
            UnaryOp::Not => IrUnary::Not,
            UnaryOp::Invert if scalar.is_some_and(Scalar::is_int) => IrUnary::BitNot,
            _ => {
                let shown = self.show(expr.ty);
                return Err(self.report(messages::types::unary_operand(op.symbol(), &shown, at)));
            }
        };
        let ty = expr.ty;
        if kind == IrUnary::Neg {
            self.note_negated(&expr, span);
        }
        Ok(Operand::Value(Expr::new(ExprKind::Unary(kind, Box::new(expr)), ty, span)))
    }

    pub fn comparison(&mut self, first: &ast::Expr, rest: &[(CompareOp, ast::Expr)], span: Span) -> Res<Operand> {
        if !self.is_host()
            && let [(op, other)] = rest
            && let Some(written) = self.other_comparison(first, *op, other)
        {
            let what = format!("`{}`", self.c.sources.text(span));
            let diagnostic = messages::statements::unsupported(&what, span);
            return Err(match written {
                Ok(text) => self.replaced(diagnostic, span, &text),
                Err(help) => self.report(diagnostic.help(help)),
            });
        }
        let mut operands = vec![self.expr(first)];
        for (_, expr) in rest {
            operands.push(self.expr(expr));
        }
        let mut operands: Vec<Operand> = operands.into_iter().collect::<Res<_>>()?;
        // The inner operands of a chain stand in two comparisons.
        let mut lets = Vec::new();
        if rest.len() > 1 {
            for operand in &mut operands {
                if let Operand::Value(expr) = operand {
                    *expr = self.shared(expr.clone(), &mut lets);
                }
            }
        }
        let spans: Vec<Span> = std::iter::once(first.span).chain(rest.iter().map(|(_, e)| e.span)).collect();
        let mut results = Vec::new();
        for (k, (op, _)) in rest.iter().enumerate() {
            let pair = (operands[k].clone(), operands[k + 1].clone());
            results.push(self.compare(*op, pair.0, pair.1, span, spans[k], spans[k + 1])?);
        }
        if results.len() == 1 {
            return Ok(results.remove(0));
        }
        let mut values = Vec::new();
        for result in results {
            match result {
                Operand::Const(c) if !c.number.is_true() => return Ok(Operand::Const(c)),
                Operand::Const(_) => {}
                other => values.push(self.materialize(other, span)?),
            }
        }
        Ok(match values.len() {
            0 => Operand::Const(Constant::untyped(Number::Bool(true))),
            1 => Operand::Value(self.wrap(lets, values.remove(0))),
            _ => {
                let all = Expr::new(ExprKind::And(values), BOOL, span);
                Operand::Value(self.wrap(lets, all))
            }
        })
    }

    fn compare(
        &mut self,
        op: CompareOp,
        left: Operand,
        right: Operand,
        span: Span,
        at_left: Span,
        at_right: Span,
    ) -> Res<Operand> {
        if let Some(result) = self.python_compare(op, &left, &right) {
            return result;
        }
        if matches!((&left, &right), (Operand::Str(_), _) | (_, Operand::Str(_))) {
            let text = format!("wp.static({})", self.c.sources.text(span));
            let diagnostic = messages::values::comparison_of_strings(span);
            return Err(self.replaced(diagnostic, span, &text));
        }
        let ir = match op {
            CompareOp::Eq => IrCompare::Eq,
            CompareOp::Ne => IrCompare::Ne,
            CompareOp::Lt => IrCompare::Lt,
            CompareOp::Le => IrCompare::Le,
            CompareOp::Gt => IrCompare::Gt,
            CompareOp::Ge => IrCompare::Ge,
            CompareOp::In | CompareOp::NotIn => {
                let help = "compare one by one: `i == a or i == b`";
                return self.unsupported(span, &format!("the operator `{}`", op.symbol()), Some(help));
            }
            CompareOp::Is | CompareOp::IsNot => {
                let truth = match &right {
                    Operand::Const(Constant { number: Number::Bool(truth), .. }) => {
                        Some(*truth == (op == CompareOp::Is))
                    }
                    _ => None,
                };
                let text = self.c.sources.text(at_left);
                let help = match truth {
                    Some(true) => format!("write the condition itself: `{text}`"),
                    Some(false) => format!("write `not {text}`"),
                    None if op == CompareOp::Is => "compare values: `a == b`".to_string(),
                    None => "compare values: `a != b`".to_string(),
                };
                return self.unsupported(span, &format!("the operator `{}`", op.symbol()), Some(&help));
            }
        };
        // Types are compared at compile time: `x.dtype == wp.float64`.
        if let (Operand::Type(a), Operand::Type(b)) = (&left, &right)
            && let (crate::check::types::value::TypeWord::Type(a), crate::check::types::value::TypeWord::Type(b)) =
                (a, b)
        {
            let equal = a == b;
            return Ok(Operand::Const(Constant::untyped(Number::Bool(equal == (op == CompareOp::Eq)))));
        }
        if let (Operand::Const(a), Operand::Const(b)) = (&left, &right) {
            let (one, other) = (self.meant(a), self.meant(b));
            let ordering = match (one, other) {
                (Number::Float(_), _) | (_, Number::Float(_)) => one.as_f64().partial_cmp(&other.as_f64()),
                _ => a.as_int().partial_cmp(&b.as_int()),
            };
            let holds = match (ir, ordering) {
                (IrCompare::Ne, None) => true,
                (_, None) => false,
                (IrCompare::Eq, Some(o)) => o.is_eq(),
                (IrCompare::Ne, Some(o)) => o.is_ne(),
                (IrCompare::Lt, Some(o)) => o.is_lt(),
                (IrCompare::Le, Some(o)) => o.is_le(),
                (IrCompare::Gt, Some(o)) => o.is_gt(),
                (IrCompare::Ge, Some(o)) => o.is_ge(),
            };
            return Ok(Operand::Const(Constant::untyped(Number::Bool(holds))));
        }
        // A literal compares as the other side's type where that changes nothing, such as `x > 0`;
        // beside integers of less than 32 bits others are `int32`, as in C.
        let adapt =
            |c: &Constant, v: &Expr| v.ty.as_scalar().filter(|&s| c.adapts_to(s) && (s.size() >= 4 || c.fits(s)));
        let (l, r) = match (left, right) {
            (Operand::Const(c), Operand::Value(v)) if let Some(s) = adapt(&c, &v) => (c.expr_as(s, at_left), v),
            (Operand::Value(v), Operand::Const(c)) if let Some(s) = adapt(&c, &v) => (v, c.expr_as(s, at_right)),
            (left, right) => (self.materialize(left, at_left)?, self.materialize(right, at_right)?),
        };
        let ordered = matches!(ir, IrCompare::Lt | IrCompare::Le | IrCompare::Gt | IrCompare::Ge);
        let (l, r) = match (l.ty, r.ty) {
            (BOOL, BOOL) if ordered => (cast_to(l, Scalar::I32), cast_to(r, Scalar::I32)),
            (a, b) if a == b => (l, r),
            (Type::Scalar(a), Type::Scalar(b)) => {
                let common = common_scalar(a, b);
                (cast_to(l, common), cast_to(r, common))
            }
            _ => return self.operand_mismatch(op.symbol(), None, &l, &r, at_left, at_right),
        };
        let fits = match l.ty {
            Type::Scalar(_) => true,
            ty => ty.is_composite() && !ordered,
        };
        if !fits {
            return self.operand_mismatch(op.symbol(), None, &l, &r, at_left, at_right);
        }
        Ok(Operand::Value(Expr::new(ExprKind::Compare(ir, Box::new(l), Box::new(r)), BOOL, span)))
    }

    /// Arithmetic on two compile-time numbers; None leaves it to run time.
    fn fold(&self, op: BinaryOp, a: Constant, b: Constant) -> Option<Constant> {
        if a.scalar.is_some() || b.scalar.is_some() {
            return None;
        }
        let host = self.is_host();
        let number = match (a.number, b.number) {
            (Number::Int(x), Number::Int(y)) => match op {
                BinaryOp::Add => Number::Int(x.checked_add(y)?),
                BinaryOp::Sub => Number::Int(x.checked_sub(y)?),
                BinaryOp::Mul => Number::Int(x.checked_mul(y)?),
                BinaryOp::Div if host && y != 0 => Number::Float(x as f64 / y as f64),
                BinaryOp::Div => Number::Int(x.checked_div(y)?),
                BinaryOp::FloorDiv => Number::Int(x.checked_div_euclid(y).filter(|_| y > 0)?),
                // Python's remainder has the sign of the divisor, the kernel language's that of the
                // dividend.
                BinaryOp::Mod if host => Number::Int(x.checked_rem_euclid(y).filter(|_| y > 0)?),
                BinaryOp::Mod => Number::Int(x.checked_rem(y)?),
                BinaryOp::Pow if host => Number::Int(x.checked_pow(u32::try_from(y).ok()?)?),
                BinaryOp::BitAnd => Number::Int(x & y),
                BinaryOp::BitOr => Number::Int(x | y),
                BinaryOp::BitXor => Number::Int(x ^ y),
                BinaryOp::Shl if (0..64).contains(&y) => Number::Int(x.checked_mul(1 << y)?),
                BinaryOp::Shr if (0..64).contains(&y) => Number::Int(x >> y),
                _ => return None,
            },
            (Number::Bool(x), Number::Bool(y)) => match op {
                BinaryOp::BitAnd => Number::Bool(x & y),
                BinaryOp::BitOr => Number::Bool(x | y),
                _ => return None,
            },
            // In kernels float arithmetic is that of float32, which run time does exactly; here it
            // is that of float64.
            (x, y) if host || self.is_library() => {
                let (x, y) = (x.as_f64(), y.as_f64());
                Number::Float(match op {
                    BinaryOp::Add => x + y,
                    BinaryOp::Sub => x - y,
                    BinaryOp::Mul => x * y,
                    BinaryOp::Div if y != 0.0 => x / y,
                    BinaryOp::FloorDiv if y != 0.0 => (x / y).floor(),
                    BinaryOp::Pow => x.powf(y),
                    _ => return None,
                })
            }
            _ => return None,
        };
        // In kernel code an untyped integer is int32: a result that does not fit is left to run
        // time, where it wraps.
        let fits = match number {
            Number::Int(v) if !host && !self.is_library() => i32::try_from(v).is_ok(),
            _ => true,
        };
        fits.then_some(Constant::untyped(number))
    }
}

/// Why Python's arithmetic has no result here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Beyond {
    /// A division by zero.
    Zero,
    /// An integer beyond those of constants, or what Python calls an overflow.
    Range,
}

/// Arithmetic on two numbers of Python code, as Python does it. None: that is no number, or none
/// that is followed.
fn host_arithmetic(op: BinaryOp, a: Number, b: Number) -> Result<Option<Number>, Beyond> {
    let whole = |n| match n {
        Number::Int(v) => Some(v),
        Number::Bool(v) => Some(i128::from(v)),
        Number::Float(_) => None,
    };
    let divides = matches!(op, BinaryOp::Div | BinaryOp::FloorDiv | BinaryOp::Mod);
    if divides && !b.is_true() || op == BinaryOp::Pow && !a.is_true() && b.as_f64() < 0.0 {
        return Err(Beyond::Zero);
    }
    if let (Some(x), Some(y)) = (whole(a), whole(b)) {
        let bools = matches!((a, b), (Number::Bool(_), Number::Bool(_)));
        let result = match op {
            BinaryOp::Add => x.checked_add(y),
            BinaryOp::Sub => x.checked_sub(y),
            BinaryOp::Mul => x.checked_mul(y),
            BinaryOp::Div => return Ok(Some(Number::Float(x as f64 / y as f64))),
            // Both round down: the remainder has the sign of the divisor.
            BinaryOp::FloorDiv => x.checked_div(y).map(|q| q - i128::from(x % y != 0 && (x < 0) != (y < 0))),
            BinaryOp::Mod => x.checked_rem(y).map(|r| if r != 0 && (r < 0) != (y < 0) { r + y } else { r }),
            BinaryOp::Pow if y < 0 => return Ok(Some(Number::Float((x as f64).powf(y as f64)))),
            BinaryOp::Pow => match (x, u32::try_from(y)) {
                (0 | 1, _) => Some(if y == 0 { 1 } else { x }),
                (-1, _) => Some(if y % 2 == 0 { 1 } else { -1 }),
                (_, Ok(y)) => x.checked_pow(y),
                _ => None,
            },
            BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor if bools => {
                let (x, y) = (x != 0, y != 0);
                let result = match op {
                    BinaryOp::BitAnd => x & y,
                    BinaryOp::BitOr => x | y,
                    _ => x ^ y,
                };
                return Ok(Some(Number::Bool(result)));
            }
            BinaryOp::BitAnd => Some(x & y),
            BinaryOp::BitOr => Some(x | y),
            BinaryOp::BitXor => Some(x ^ y),
            BinaryOp::Shl if x == 0 && y >= 0 => Some(0),
            BinaryOp::Shl => u32::try_from(y).ok().filter(|&y| y < 127).and_then(|y| x.checked_mul(1 << y)),
            BinaryOp::Shr if y < 0 => None,
            BinaryOp::Shr => Some(x >> y.min(127)),
            BinaryOp::MatMul => return Ok(None),
        };
        return result.map(|v| Some(Number::Int(v))).ok_or(Beyond::Range);
    }
    let (x, y) = (a.as_f64(), b.as_f64());
    let result = match op {
        BinaryOp::Add => x + y,
        BinaryOp::Sub => x - y,
        BinaryOp::Mul => x * y,
        BinaryOp::Div => x / y,
        BinaryOp::FloorDiv => floor_quotient(x, y),
        BinaryOp::Mod => {
            let r = x % y;
            if r != 0.0 && (r < 0.0) != (y < 0.0) { r + y } else { r }
        }
        BinaryOp::Pow => {
            let power = x.powf(y);
            // Python has complex numbers there, and stops at an overflow.
            if power.is_nan() && !x.is_nan() && !y.is_nan() {
                return Ok(None);
            }
            if power.is_infinite() && x.is_finite() && y.is_finite() {
                return Err(Beyond::Range);
            }
            power
        }
        _ => return Ok(None),
    };
    Ok(Some(Number::Float(result)))
}

/// `x // y` of Python: of the quotient without its remainder, so that `1.0 // 0.1` is 9, though
/// `1.0 / 0.1` is 10.
fn floor_quotient(x: f64, y: f64) -> f64 {
    let rest = x % y;
    let below = rest != 0.0 && (rest < 0.0) != (y < 0.0);
    let quotient = (x - rest) / y - f64::from(u8::from(below));
    if quotient == 0.0 {
        return 0.0_f64.copysign(x / y);
    }
    let whole = quotient.floor();
    if quotient - whole > 0.5 { whole + 1.0 } else { whole }
}

/// Of a vector or matrix of floats and a number of another type: the type that the number should
/// have, and where it is.
fn number_beside_floats(left: (Type, Span), right: (Type, Span)) -> Option<(Scalar, Span)> {
    let pair = |composite: Type, number: Type| {
        let parts = composite.scalar_part().filter(|s| composite.is_composite() && s.is_float())?;
        number.as_scalar().filter(|scalar| *scalar != parts && *scalar != Scalar::Bool)?;
        Some(parts)
    };
    match (pair(left.0, right.0), pair(right.0, left.0)) {
        (Some(to), _) => Some((to, right.1)),
        (_, Some(to)) => Some((to, left.1)),
        _ => None,
    }
}

/// The type two scalars are compared in: C++'s usual arithmetic conversions.
fn common_scalar(a: Scalar, b: Scalar) -> Scalar {
    let float = |s: Scalar| s.is_float();
    match (float(a), float(b)) {
        (true, true) if a.size() == b.size() => Scalar::F32,
        (true, true) => {
            if a.size() > b.size() {
                a
            } else {
                b
            }
        }
        (true, false) => a,
        (false, true) => b,
        (false, false) => {
            let promote = |s: Scalar| if s.size() < 4 { Scalar::I32 } else { s };
            let (a, b) = (promote(a), promote(b));
            match a.size().cmp(&b.size()) {
                std::cmp::Ordering::Greater => a,
                std::cmp::Ordering::Less => b,
                std::cmp::Ordering::Equal => {
                    if a.is_unsigned_int() {
                        a
                    } else {
                        b
                    }
                }
            }
        }
    }
}
