//! What is the value of an expression, for each thread of a mask?

use kc::syntax::ast::{BoolOp, Expr, ExprKind, UnaryOp};

use super::number::{self, Kind, Number};
use super::value::{Composite, Form, Type, Value, View};
use super::{Lanes, Machine, Mask, Result, Stop, builtins, threads, tiles};

fn fault<T>(text: impl Into<String>) -> Result<T> {
    Err(Stop::Fault(text.into()))
}

/// An index: a number for each thread, or the bounds of a slice.
pub enum Index {
    At(Lanes),
    Range([Option<Lanes>; 3]),
}

impl Index {
    fn bounds(&self, lane: usize) -> Result<[Option<i128>; 3]> {
        let Index::Range(bounds) = self else { return fault("a slice") };
        let mut found = [None; 3];
        for (found, bound) in found.iter_mut().zip(bounds) {
            *found = bound.as_ref().map(|values| values[lane].int()).transpose()?;
        }
        Ok(found)
    }
}

impl Machine {
    pub(super) fn eval(&mut self, e: &Expr, mask: Mask) -> Result<Lanes> {
        match &e.kind {
            ExprKind::Name(name) => self.name(name),
            ExprKind::Int(Some(n)) => Ok(self.all(Value::Number(Number::i32(*n as i64)))),
            ExprKind::Float(x) => Ok(self.all(Value::Number(Number::float(Kind::F32, *x, 0.0)))),
            ExprKind::Str(_) => Ok(self.all(Value::Text)),
            ExprKind::Bool(b) => Ok(self.all(Value::Number(Number::bool(*b)))),
            ExprKind::None => Ok(self.all(Value::Unset)),
            ExprKind::Attribute { base, name } => self.attribute(base, &name.text, mask),
            ExprKind::Unary { op, operand } => {
                let values = self.eval(operand, mask)?;
                self.each(mask, |lane| unary(*op, &values[lane]))
            }
            ExprKind::Binary { op, left, right } => {
                let (a, b) = (self.eval(left, mask)?, self.eval(right, mask)?);
                self.operation(op.symbol(), &a, &b, mask)
            }
            ExprKind::Logic { op, operands } => self.logic(*op, operands, mask),
            ExprKind::Compare { first, rest } => {
                let mut left = self.eval(first, mask)?;
                let mut holds = mask;
                for (op, right) in rest {
                    let right = self.eval(right, mask)?;
                    for lane in threads(mask) {
                        if !compared(op.symbol(), &left[lane], &right[lane])? {
                            holds &= !(1 << lane);
                        }
                    }
                    left = right;
                }
                self.each(mask, |lane| Ok(Value::Number(Number::bool(holds >> lane & 1 == 1))))
            }
            ExprKind::Conditional { condition, then, otherwise } => {
                let holds = self.test(condition, mask)?;
                let lines = std::mem::replace(&mut self.in_lines, false);
                let mut values = vec![Value::Unset; self.block_dim];
                for (side, mask) in [(then, mask & holds), (otherwise, mask & !holds)] {
                    if mask != 0 {
                        let found = self.eval(side, mask)?;
                        threads(mask).for_each(|lane| values[lane] = found[lane].clone());
                    }
                }
                self.in_lines = lines;
                Ok(values)
            }
            ExprKind::Call { callee, args } => self.call(callee, args, mask),
            ExprKind::Subscript { base, indices } => {
                let bases = self.eval(base, mask)?;
                let index = self.indices(indices, mask)?;
                self.each(mask, |lane| self.part(&bases[lane], &index, lane))
            }
            ExprKind::Tuple(items) | ExprKind::List(items) => {
                let items: Vec<Lanes> = items.iter().map(|item| self.eval(item, mask)).collect::<Result<_>>()?;
                self.each(mask, |lane| Ok(Value::Tuple(items.iter().map(|item| item[lane].clone()).collect())))
            }
            other => fault(format!("an expression that this evaluator does not have: {other:?}")),
        }
    }

    pub(super) fn all(&self, value: Value) -> Lanes {
        vec![value; self.block_dim]
    }

    pub(super) fn each(&self, mask: Mask, mut value: impl FnMut(usize) -> Result<Value>) -> Result<Lanes> {
        let mut values = vec![Value::Unset; self.block_dim];
        for lane in threads(mask) {
            values[lane] = value(lane)?;
        }
        Ok(values)
    }

    fn name(&mut self, name: &str) -> Result<Lanes> {
        if let Some(values) = self.frame().names.get(name) {
            return Ok(values.clone());
        }
        if let Some(value) = self.globals.get(name) {
            return Ok(self.all(value.clone()));
        }
        match name {
            "float" | "int" | "bool" => self.builtin(name),
            "range" | "min" | "max" | "abs" | "len" | "round" | "print" => {
                Ok(self.all(Value::Builtin(name.to_string())))
            }
            // A variable that no thread has assigned yet.
            _ => Ok(self.all(Value::Unset)),
        }
    }

    fn builtin(&self, name: &str) -> Result<Lanes> {
        Ok(self.all(match Type::named(name) {
            Some(ty) => Value::Type(ty),
            None => Value::Builtin(name.to_string()),
        }))
    }

    fn attribute(&mut self, base: &Expr, name: &str, mask: Mask) -> Result<Lanes> {
        if matches!(&base.kind, ExprKind::Name(module) if module == "wp" || module == "math") {
            return match (name, &base.kind) {
                ("pi", _) => Ok(self.all(Value::Number(Number::float(Kind::F32, std::f64::consts::PI, 0.0)))),
                _ => self.builtin(name),
            };
        }
        let bases = self.eval(base, mask)?;
        self.each(mask, |lane| match &bases[lane] {
            Value::Array(view) | Value::Tile(view) if name == "shape" => {
                Ok(Value::Tuple(view.shape.iter().map(|&n| Value::Number(Number::i32(n as i64))).collect()))
            }
            Value::Struct(_, fields) => {
                Ok(fields.iter().find(|(field, _)| field == name).map_or(Value::Unset, |(_, value)| value.clone()))
            }
            Value::Composite(composite) => match "xyzw".find(name) {
                Some(n) if name.len() == 1 && n < composite.numbers.len() => Ok(Value::Number(composite.numbers[n])),
                _ => fault(format!("a component `{name}`")),
            },
            Value::Unset => Ok(Value::Unset),
            other => fault(format!("`{name}` of {other:?}")),
        })
    }

    fn logic(&mut self, op: BoolOp, operands: &[Expr], mask: Mask) -> Result<Lanes> {
        let mut open = mask;
        let mut holds = if op == BoolOp::And { mask } else { 0 };
        for operand in operands {
            if open == 0 {
                break;
            }
            let found = self.test(operand, open)?;
            match op {
                BoolOp::And => {
                    holds &= !(open & !found);
                    open &= found;
                }
                BoolOp::Or => {
                    holds |= open & found;
                    open &= !found;
                }
            }
        }
        self.each(mask, |lane| Ok(Value::Number(Number::bool(holds >> lane & 1 == 1))))
    }

    fn operation(&mut self, op: &str, a: &Lanes, b: &Lanes, mask: Mask) -> Result<Lanes> {
        let lane = threads(mask).next().unwrap_or_default();
        if matches!(a[lane], Value::Tile(_)) || matches!(b[lane], Value::Tile(_)) {
            self.together(op, mask)?;
            return Ok(self.all(tiles::elementwise(op, &a[lane], &b[lane])?));
        }
        self.each(mask, |lane| operate(op, &a[lane], &b[lane]))
    }

    pub(super) fn indices(&mut self, indices: &[Expr], mask: Mask) -> Result<Vec<Index>> {
        let mut found = Vec::new();
        for index in indices {
            found.push(match &index.kind {
                ExprKind::Slice { lower, upper, step } => {
                    let mut bounds = [None, None, None];
                    for (bound, e) in bounds.iter_mut().zip([lower, upper, step]) {
                        *bound = e.as_ref().map(|e| self.eval(e, mask)).transpose()?;
                    }
                    Index::Range(bounds)
                }
                _ => Index::At(self.eval(index, mask)?),
            });
        }
        Ok(found)
    }

    /// The element that an index names, and what is left of the index for its components.
    pub(super) fn element_at(view: &View, index: &[Index], lane: usize) -> Result<(usize, Vec<i128>)> {
        let mut numbers = Vec::new();
        for index in index {
            let Index::At(values) = index else { return fault("a slice in place of an element") };
            numbers.push(values[lane].int()?);
        }
        let rank = view.shape.len();
        if numbers.len() < rank {
            return fault("fewer indices than dimensions");
        }
        Ok((view.place(&numbers[..rank])?, numbers[rank..].to_vec()))
    }

    /// The part of an array or tile with fewer indices than dimensions, or with slices.
    fn sub_view(view: &View, index: &[Index], lane: usize) -> Result<View> {
        let (mut part, mut dim) = (view.clone(), 0);
        for index in index {
            match index {
                Index::At(values) => {
                    part.offset = {
                        let mut zeros = vec![0; dim];
                        zeros.push(values[lane].int()?);
                        part.place(&zeros)?
                    };
                    part.shape.remove(dim);
                    part.strides.remove(dim);
                }
                range => {
                    part = part.sliced(dim, range.bounds(lane)?)?;
                    dim += 1;
                }
            }
        }
        Ok(part)
    }

    pub(super) fn part(&self, base: &Value, index: &[Index], lane: usize) -> Result<Value> {
        let whole = |view: &View| index.len() < view.shape.len() || index.iter().any(|i| matches!(i, Index::Range(_)));
        match base {
            Value::Array(view) if whole(view) => Ok(Value::Array(Self::sub_view(view, index, lane)?)),
            Value::Tile(view) if whole(view) => Ok(Value::Tile(Self::sub_view(view, index, lane)?)),
            Value::Array(view) | Value::Tile(view) => {
                let (at, parts) = Self::element_at(view, index, lane)?;
                component_at(&self.load(view, matches!(base, Value::Tile(_)), at, lane)?, &parts)
            }
            other => component_of(other, index, lane),
        }
    }

    pub(super) fn set_part(&self, view: &View, tile: bool, index: &[Index], lane: usize, value: Value) -> Result<()> {
        let (at, parts) = Self::element_at(view, index, lane)?;
        if parts.is_empty() {
            return self.store(view, tile, at, lane, value);
        }
        let old = self.load(view, tile, at, lane)?;
        self.store(view, tile, at, lane, with_part(&old, &parts, value)?)
    }
}

fn unary(op: UnaryOp, value: &Value) -> Result<Value> {
    match (op, value) {
        (UnaryOp::Not, value) => Ok(Value::Number(Number::bool(!value.is_true()?))),
        (_, Value::Unset) | (UnaryOp::Pos, _) => Ok(value.clone()),
        (UnaryOp::Neg, Value::Number(n)) => Ok(Value::Number(n.opposite())),
        (UnaryOp::Neg, Value::Composite(c)) => {
            Ok(Value::Composite(Composite { form: c.form, numbers: c.numbers.iter().map(|n| n.opposite()).collect() }))
        }
        (UnaryOp::Neg, Value::Tile(_)) => {
            let Value::Tile(view) = value else { return fault("a tile") };
            let elements: Vec<Value> = view.elements().iter().map(|e| unary(op, e)).collect::<Result<_>>()?;
            Ok(Value::Tile(View::new(view.shape.clone(), view.element.clone(), elements)))
        }
        (UnaryOp::Invert, Value::Number(n)) => Ok(Value::Number(Number::int(n.kind, !n.int))),
        (op, value) => fault(format!("`{}` of {value:?}", op.symbol())),
    }
}

fn compared(op: &str, a: &Value, b: &Value) -> Result<bool> {
    match (a, b) {
        (Value::Unset, Value::Number(n)) => number::compare(op, Number::zero(n.kind), *n),
        (Value::Number(n), Value::Unset) => number::compare(op, *n, Number::zero(n.kind)),
        (Value::Unset, Value::Unset) => number::compare(op, Number::i32(0), Number::i32(0)),
        _ => number::compare(op, a.number()?, b.number()?),
    }
}

/// An operator between values: of numbers, of vectors part by part, of matrices and quaternions by
/// their rules.
pub fn operate(op: &str, a: &Value, b: &Value) -> Result<Value> {
    use Value::{Composite as C, Number as N, Unset};
    match (a, b) {
        (N(a), N(b)) => Ok(N(number::binary(op, *a, *b)?)),
        (Unset, N(b)) => Ok(N(number::binary(op, Number::zero(b.kind), *b)?)),
        (N(a), Unset) => Ok(N(number::binary(op, *a, Number::zero(a.kind))?)),
        (Unset, C(b)) => operate(op, &Type::Composite(b.form, b.numbers[0].kind).zero(), &C(b.clone())),
        (C(a), Unset) => operate(op, &C(a.clone()), &Type::Composite(a.form, a.numbers[0].kind).zero()),
        (Unset, Unset) => Ok(Unset),
        (C(a), C(b)) if op == "*" && a.form == Form::Quaternion => builtins::quaternion_product(a, b).map(C),
        (C(a), C(b)) if op == "+" || op == "-" => {
            let parts = a.numbers.iter().zip(&b.numbers).map(|(a, b)| number::binary(op, *a, *b));
            Ok(C(Composite { form: a.form, numbers: parts.collect::<Result<_>>()? }))
        }
        (C(a), C(b)) => builtins::matrix_product(op, a, b).map(C),
        (C(a), N(b)) => {
            let parts = a.numbers.iter().map(|a| number::binary(op, *a, *b));
            Ok(C(Composite { form: a.form, numbers: parts.collect::<Result<_>>()? }))
        }
        (N(a), C(b)) if op == "*" => {
            let parts = b.numbers.iter().map(|b| number::binary(op, *a, *b));
            Ok(C(Composite { form: b.form, numbers: parts.collect::<Result<_>>()? }))
        }
        _ => fault(format!("`{op}` of {a:?} and {b:?}")),
    }
}

/// The item of a tuple, or the component of a vector, at a known place.
pub fn component(value: &Value, n: usize) -> Result<Value> {
    component_at(value, &[n as i128])
}

pub fn component_at(value: &Value, parts: &[i128]) -> Result<Value> {
    let wrap = |n: i128, len: usize| {
        let n = if n < 0 { n + len as i128 } else { n };
        if n < 0 || n >= len as i128 { fault(format!("component {n} of {len}")) } else { Ok(n as usize) }
    };
    let Some((&first, rest)) = parts.split_first() else { return Ok(value.clone()) };
    match value {
        Value::Tuple(items) => component_at(&items[wrap(first, items.len())?], rest),
        Value::Composite(Composite { form: Form::Matrix(r, c), numbers }) => {
            let row = wrap(first, *r)?;
            let numbers = numbers[row * c..(row + 1) * c].to_vec();
            component_at(&Value::Composite(Composite { form: Form::Vector(*c), numbers }), rest)
        }
        Value::Composite(composite) => Ok(Value::Number(composite.numbers[wrap(first, composite.numbers.len())?])),
        Value::Unset => Ok(Value::Unset),
        other => fault(format!("a part of {other:?}")),
    }
}

fn component_of(value: &Value, index: &[Index], lane: usize) -> Result<Value> {
    if let (Value::Tuple(items), [range @ Index::Range(_)]) = (value, index) {
        let numbers = (0..items.len()).map(|n| Value::Number(Number::i32(n as i64))).collect();
        let part = View::new(vec![items.len()], Type::Number(number::I32), numbers).sliced(0, range.bounds(lane)?)?;
        let places = part.elements();
        return places.iter().map(|n| Ok(items[n.int()? as usize].clone())).collect::<Result<_>>().map(Value::Tuple);
    }
    component_at(value, &numbers(index, lane)?)
}

fn numbers(index: &[Index], lane: usize) -> Result<Vec<i128>> {
    let at = |index: &Index| match index {
        Index::At(values) => values[lane].int(),
        Index::Range(_) => fault("a slice of a composite"),
    };
    index.iter().map(at).collect()
}

/// A value with one of its parts replaced.
pub fn with_part(value: &Value, parts: &[i128], new: Value) -> Result<Value> {
    let Some((&first, rest)) = parts.split_first() else { return Ok(new) };
    let wrap = |len: usize| (if first < 0 { first + len as i128 } else { first }) as usize;
    let mut changed = value.clone();
    match &mut changed {
        Value::Composite(Composite { form: Form::Matrix(r, c), numbers }) if rest.len() == 1 => {
            numbers[wrap(*r) * *c + rest[0] as usize] = new.number()?;
        }
        Value::Composite(Composite { form: Form::Matrix(r, c), numbers }) => {
            let (row, Value::Composite(new)) = (wrap(*r), new) else { return fault("a row") };
            numbers[row * *c..(row + 1) * *c].copy_from_slice(&new.numbers);
        }
        Value::Composite(composite) => {
            let n = wrap(composite.numbers.len());
            composite.numbers[n] = new.number()?;
        }
        other => return fault(format!("a part of {other:?}")),
    }
    Ok(changed)
}

pub fn with_component(value: &Value, index: &[Index], lane: usize, new: Value) -> Result<Value> {
    with_part(value, &numbers(index, lane)?, new)
}
