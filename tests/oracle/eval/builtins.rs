//! What do built-ins of numbers and vectors compute? Each from its definition, with its derivative.

use super::expr::operate;
use super::number::{Kind, Number, binary};
use super::value::{Composite, Form, Value};
use super::{Result, Stop};

fn fault<T>(text: impl Into<String>) -> Result<T> {
    Err(Stop::Fault(text.into()))
}

pub fn pure(name: &str, values: &[Value]) -> Result<Value> {
    if !values.is_empty() && values.iter().all(|v| matches!(v, Value::Unset)) {
        return Err(Stop::Undefined("a variable is read before it is assigned".to_string()));
    }
    // What was not assigned is a zero of the other operand's type.
    if let Some(known) = values.iter().find(|v| !matches!(v, Value::Unset))
        && values.iter().any(|v| matches!(v, Value::Unset))
        && let Value::Number(_) | Value::Composite(_) = known
        && name != "where"
    {
        let zero = super::value::Type::of(known)?.zero();
        let set = |v: &Value| if matches!(v, Value::Unset) { zero.clone() } else { v.clone() };
        return pure(name, &values.iter().map(set).collect::<Vec<_>>());
    }
    match (name, values) {
        ("where", [c, a, b]) => Ok(if c.is_true()? { a.clone() } else { b.clone() }),
        ("len", [Value::Composite(c)]) => Ok(Value::Number(Number::i32(c.numbers.len() as i64))),
        ("len", [Value::Tuple(items)]) => Ok(Value::Number(Number::i32(items.len() as i64))),
        ("len", [Value::Array(view) | Value::Tile(view)]) => Ok(Value::Number(Number::i32(view.shape[0] as i64))),
        ("dot", [Value::Composite(a), Value::Composite(b)]) => Ok(Value::Number(dot(a, b)?)),
        ("length_sq", [Value::Composite(a)]) => Ok(Value::Number(dot(a, a)?)),
        ("length", [Value::Composite(a)]) => length(a).map(Value::Number),
        ("normalize", [Value::Composite(a)]) => normalized(a),
        ("cross", [Value::Composite(a), Value::Composite(b)]) => cross(a, b).map(Value::Composite),
        ("cw_mul", [Value::Composite(a), Value::Composite(b)]) => {
            let parts = a.numbers.iter().zip(&b.numbers).map(|(a, b)| binary("*", *a, *b));
            Ok(Value::Composite(Composite { form: a.form, numbers: parts.collect::<Result<_>>()? }))
        }
        ("transpose", [Value::Composite(Composite { form: Form::Matrix(r, c), numbers })]) => {
            let (r, c) = (*r, *c);
            let turned = (0..c * r).map(|n| numbers[n % r * c + n / r]).collect();
            Ok(Value::Composite(Composite { form: Form::Matrix(c, r), numbers: turned }))
        }
        ("quat_from_axis_angle", [Value::Composite(axis), Value::Number(angle)]) => {
            let kind = angle.kind;
            let half = binary("*", *angle, Number::float(kind, 0.5, 0.0))?;
            let (s, c) = (scalar("sin", half)?, scalar("cos", half)?);
            let mut numbers: Vec<Number> = axis.numbers.iter().map(|a| binary("*", *a, s)).collect::<Result<_>>()?;
            numbers.push(c);
            Ok(Value::Composite(Composite { form: Form::Quaternion, numbers }))
        }
        ("quat_identity", []) => {
            let number = |x| Number::float(Kind::F32, x, 0.0);
            let numbers = [0.0, 0.0, 0.0, 1.0].map(number).to_vec();
            Ok(Value::Composite(Composite { form: Form::Quaternion, numbers }))
        }
        ("quat_inverse", [Value::Composite(q)]) => {
            let turned = |n: usize| if n < 3 { q.numbers[n].opposite() } else { q.numbers[3] };
            Ok(Value::Composite(Composite { form: Form::Quaternion, numbers: (0..4).map(turned).collect() }))
        }
        ("quat_rotate", [Value::Composite(q), Value::Composite(v)]) => rotated(q, v),
        ("min" | "max" | "pow" | "atan2" | "mod", [Value::Number(a), Value::Number(b)]) => {
            two(name, *a, *b).map(Value::Number)
        }
        ("min" | "max", [first, second, third]) => {
            pure(name, &[pure(name, &[first.clone(), second.clone()])?, third.clone()])
        }
        ("clamp", [x, low, high]) => pure("min", &[pure("max", &[low.clone(), x.clone()])?, high.clone()]),
        ("lerp", [a, b, t]) => {
            let Value::Number(number) = t else { return fault("a number") };
            let rest = binary("-", Number::float(number.kind, 1.0, 0.0), *number)?;
            operate("+", &operate("*", a, &Value::Number(rest))?, &operate("*", b, t)?)
        }
        (_, [Value::Number(x)]) => scalar(name, *x).map(Value::Number),
        _ => fault(format!("`{name}` of {values:?}")),
    }
}

impl Number {
    pub fn opposite(self) -> Number {
        if self.kind.is_float() {
            Number::float(self.kind, -self.float, -self.dot)
        } else {
            Number::int(self.kind, -self.int)
        }
    }
}

/// A function of one number.
fn scalar(name: &str, n: Number) -> Result<Number> {
    if !n.kind.is_float() {
        return match name {
            "abs" => Ok(Number::int(n.kind, n.int.abs())),
            "sign" => Ok(Number::int(n.kind, if n.int < 0 { -1 } else { 1 })),
            "neg" => Ok(n.opposite()),
            _ => fault(format!("`{name}` of an integer")),
        };
    }
    let x = n.float;
    let (value, slope) = match name {
        "sin" => (x.sin(), x.cos()),
        "cos" => (x.cos(), -x.sin()),
        "tan" => (x.tan(), 1.0 / x.cos().powi(2)),
        "asin" => (x.asin(), 1.0 / (1.0 - x * x).sqrt()),
        "acos" => (x.acos(), -1.0 / (1.0 - x * x).sqrt()),
        "atan" => (x.atan(), 1.0 / (1.0 + x * x)),
        "sinh" => (x.sinh(), x.cosh()),
        "cosh" => (x.cosh(), x.sinh()),
        "tanh" => (x.tanh(), 1.0 - x.tanh().powi(2)),
        "exp" => (x.exp(), x.exp()),
        "log" => (x.ln(), 1.0 / x),
        "sqrt" => (x.sqrt(), 0.5 / x.sqrt()),
        "abs" => (x.abs(), if x == 0.0 { 0.0 } else { x.signum() }),
        "neg" => (-x, -1.0),
        "floor" => (x.floor(), 0.0),
        "ceil" => (x.ceil(), 0.0),
        "trunc" => (x.trunc(), 0.0),
        "round" => (x.round(), 0.0),
        "sign" => (if x < 0.0 { -1.0 } else { 1.0 }, 0.0),
        "step" => (if x < 0.0 { 1.0 } else { 0.0 }, 0.0),
        _ => return fault(format!("there is no `{name}`")),
    };
    Ok(Number::made(n.kind, value, &[(slope, n.dot)]))
}

/// A function of two numbers; the first has what is equal.
fn two(name: &str, a: Number, b: Number) -> Result<Number> {
    if a.kind != b.kind {
        return fault(format!("`{name}` of {:?} and {:?}", a.kind, b.kind));
    }
    let first = match name {
        "pow" => return binary("**", a, b),
        "mod" => return binary("%", a, b),
        "atan2" => {
            let (y, x) = (a.float, b.float);
            let square = x * x + y * y;
            return Ok(Number::made(a.kind, y.atan2(x), &[(x / square, a.dot), (-y / square, b.dot)]));
        }
        "min" => {
            if a.kind.is_float() {
                a.float <= b.float || b.float.is_nan()
            } else {
                a.int <= b.int
            }
        }
        _ => {
            if a.kind.is_float() {
                a.float >= b.float || b.float.is_nan()
            } else {
                a.int >= b.int
            }
        }
    };
    Ok(if first { a } else { b })
}

fn dot(a: &Composite, b: &Composite) -> Result<Number> {
    let mut sum = Number::zero(a.numbers[0].kind);
    for (a, b) in a.numbers.iter().zip(&b.numbers) {
        sum = binary("+", sum, binary("*", *a, *b)?)?;
    }
    Ok(sum)
}

fn length(a: &Composite) -> Result<Number> {
    let square = dot(a, a)?;
    if square.float == 0.0 { Ok(square) } else { scalar("sqrt", square) }
}

fn normalized(a: &Composite) -> Result<Value> {
    let length = length(a)?;
    if length.float == 0.0 {
        return Ok(Value::Composite(Composite {
            form: a.form,
            numbers: vec![Number::zero(length.kind); a.numbers.len()],
        }));
    }
    operate("/", &Value::Composite(a.clone()), &Value::Number(length))
}

fn cross(a: &Composite, b: &Composite) -> Result<Composite> {
    let part = |i: usize, j: usize| {
        binary("-", binary("*", a.numbers[i], b.numbers[j])?, binary("*", a.numbers[j], b.numbers[i])?)
    };
    Ok(Composite { form: Form::Vector(3), numbers: vec![part(1, 2)?, part(2, 0)?, part(0, 1)?] })
}

pub fn quaternion_product(a: &Composite, b: &Composite) -> Result<Composite> {
    // Signs and places of the four terms of x, y, z, w.
    const TERMS: [[(f64, usize, usize); 4]; 4] = [
        [(1.0, 3, 0), (1.0, 0, 3), (1.0, 1, 2), (-1.0, 2, 1)],
        [(1.0, 3, 1), (1.0, 1, 3), (1.0, 2, 0), (-1.0, 0, 2)],
        [(1.0, 3, 2), (1.0, 2, 3), (1.0, 0, 1), (-1.0, 1, 0)],
        [(1.0, 3, 3), (-1.0, 0, 0), (-1.0, 1, 1), (-1.0, 2, 2)],
    ];
    let mut numbers = Vec::new();
    for terms in TERMS {
        let mut sum = Number::zero(a.numbers[0].kind);
        for (sign, i, j) in terms {
            let term = binary("*", a.numbers[i], b.numbers[j])?;
            sum = binary(if sign > 0.0 { "+" } else { "-" }, sum, term)?;
        }
        numbers.push(sum);
    }
    Ok(Composite { form: Form::Quaternion, numbers })
}

/// `v (2 w w - 1) + 2 w (u x v) + 2 u (u . v)` for the quaternion (u, w), as Warp defines it for
/// any length.
fn rotated(q: &Composite, v: &Composite) -> Result<Value> {
    let kind = v.numbers[0].kind;
    let two = Number::float(kind, 2.0, 0.0);
    let u = Composite { form: Form::Vector(3), numbers: q.numbers[..3].to_vec() };
    let w = q.numbers[3];
    let first = binary("-", binary("*", two, binary("*", w, w)?)?, Number::float(kind, 1.0, 0.0))?;
    let (second, third) = (binary("*", two, w)?, binary("*", two, dot(&u, v)?)?);
    let vector = |c: Composite| Value::Composite(c);
    let terms = [(vector(v.clone()), first), (vector(cross(&u, v)?), second), (vector(u.clone()), third)];
    let mut parts = terms.into_iter().map(|(v, by)| operate("*", &v, &Value::Number(by)));
    let (Some(a), Some(b), Some(c)) = (parts.next(), parts.next(), parts.next()) else { return fault("three terms") };
    operate("+", &operate("+", &a?, &b?)?, &c?)
}

/// Products of matrices with matrices and vectors.
pub fn matrix_product(op: &str, a: &Composite, b: &Composite) -> Result<Composite> {
    if op != "*" && op != "@" {
        return fault(format!("`{op}` of composites"));
    }
    let (rows, inner, columns, form) = match (a.form, b.form) {
        (Form::Matrix(r, k), Form::Matrix(l, c)) if k == l => (r, k, c, Form::Matrix(r, c)),
        (Form::Matrix(r, k), Form::Vector(l)) if k == l => (r, k, 1, Form::Vector(r)),
        _ => return fault("a product of composites"),
    };
    let mut numbers = Vec::new();
    for n in 0..rows * columns {
        let mut sum = Number::zero(a.numbers[0].kind);
        for k in 0..inner {
            let term = binary("*", a.numbers[n / columns * inner + k], b.numbers[k * columns + n % columns])?;
            sum = binary("+", sum, term)?;
        }
        numbers.push(sum);
    }
    Ok(Composite { form, numbers })
}
