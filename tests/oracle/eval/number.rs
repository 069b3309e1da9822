//! What is a number, and what does an operator make of two? Each float carries its derivative along
//! one direction, so one run gives the values and a directional derivative (forward mode). A
//! float32 is rounded after each operation; derivatives are doubles.

use super::Stop;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Bool,
    /// Bits, and whether it has a sign.
    Int(u8, bool),
    F32,
    F64,
}

pub const I32: Kind = Kind::Int(32, true);
pub const U32: Kind = Kind::Int(32, false);

#[derive(Clone, Copy, Debug)]
pub struct Number {
    pub kind: Kind,
    /// Of booleans and integers.
    pub int: i128,
    /// Of floats.
    pub float: f64,
    /// The derivative of a float.
    pub dot: f64,
}

impl Kind {
    pub fn is_float(self) -> bool {
        matches!(self, Kind::F32 | Kind::F64)
    }

    pub fn named(name: &str) -> Option<Kind> {
        Some(match name {
            "bool" => Kind::Bool,
            "int" | "int32" => I32,
            "uint32" => U32,
            "int64" => Kind::Int(64, true),
            "uint64" => Kind::Int(64, false),
            "int16" => Kind::Int(16, true),
            "uint16" => Kind::Int(16, false),
            "int8" => Kind::Int(8, true),
            "uint8" => Kind::Int(8, false),
            "float" | "float32" => Kind::F32,
            "float64" => Kind::F64,
            _ => return None,
        })
    }

    fn wrap(self, value: i128) -> i128 {
        match self {
            Kind::Int(bits, true) => (value << (128 - bits)) >> (128 - bits),
            Kind::Int(bits, false) => value & ((1 << bits) - 1),
            _ => i128::from(value != 0),
        }
    }
}

impl Number {
    pub fn int(kind: Kind, value: i128) -> Number {
        Number { kind, int: kind.wrap(value), float: 0.0, dot: 0.0 }
    }

    pub fn i32(value: i64) -> Number {
        Number::int(I32, value.into())
    }

    pub fn bool(value: bool) -> Number {
        Number::int(Kind::Bool, value.into())
    }

    pub fn float(kind: Kind, value: f64, dot: f64) -> Number {
        let float = if kind == Kind::F32 { f64::from(value as f32) } else { value };
        Number { kind, int: 0, float, dot }
    }

    pub fn zero(kind: Kind) -> Number {
        if kind.is_float() { Number::float(kind, 0.0, 0.0) } else { Number::int(kind, 0) }
    }

    pub fn is_true(&self) -> bool {
        if self.kind.is_float() { self.float != 0.0 } else { self.int != 0 }
    }

    pub fn value(&self) -> f64 {
        if self.kind.is_float() { self.float } else { self.int as f64 }
    }

    /// Conversion: toward zero and saturating to integers, NaN to 0.
    pub fn cast(&self, to: Kind) -> Number {
        match (self.kind.is_float(), to) {
            (true, Kind::Bool) => Number::bool(self.float != 0.0),
            (true, Kind::Int(bits, signed)) => {
                let (least, most) = match signed {
                    true => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
                    false => (0, (1i128 << bits) - 1),
                };
                Number::int(to, (self.float as i128).clamp(least, most))
            }
            (true, _) => Number::float(to, self.float, self.dot),
            (false, to) if to.is_float() => Number::float(to, self.int as f64, 0.0),
            (false, to) => Number::int(to, self.int),
        }
    }

    /// A function of floats: its value, and its partial derivatives.
    pub fn made(kind: Kind, value: f64, terms: &[(f64, f64)]) -> Number {
        // A term without a tangent counts nothing, whatever its slope.
        let dot = terms.iter().filter(|(_, dot)| *dot != 0.0).map(|(slope, dot)| slope * dot).sum();
        Number::float(kind, value, dot)
    }
}

/// `a op b` as the language has it: no number converts by itself.
pub fn binary(op: &str, a: Number, b: Number) -> Result<Number, Stop> {
    if a.kind != b.kind {
        return Err(Stop::Fault(format!("`{op}` of {:?} and {:?}", a.kind, b.kind)));
    }
    if a.kind.is_float() { float_binary(op, a, b) } else { int_binary(op, a, b) }
}

fn float_binary(op: &str, a: Number, b: Number) -> Result<Number, Stop> {
    let made = |value, da, db| Ok(Number::made(a.kind, value, &[(da, a.dot), (db, b.dot)]));
    let (x, y) = (a.float, b.float);
    match op {
        "+" => made(x + y, 1.0, 1.0),
        "-" => made(x - y, 1.0, -1.0),
        "*" => made(x * y, y, x),
        "/" => made(x / y, 1.0 / y, -x / (y * y)),
        "//" => made((x / y).floor(), 0.0, 0.0),
        "%" => made(x % y, 1.0, -(x / y).trunc()),
        "**" => {
            let by_exponent = if b.dot == 0.0 { 0.0 } else { x.powf(y) * x.ln() };
            made(x.powf(y), y * x.powf(y - 1.0), by_exponent)
        }
        _ => Err(Stop::Fault(format!("`{op}` of floats"))),
    }
}

fn int_binary(op: &str, a: Number, b: Number) -> Result<Number, Stop> {
    let (x, y) = (a.int, b.int);
    let (bits, signed) = match a.kind {
        Kind::Int(bits, signed) => (i128::from(bits), signed),
        _ => (1, false),
    };
    let value = match op {
        "+" => x + y,
        "-" => x - y,
        "*" => x.wrapping_mul(y),
        "/" if y == 0 => 0,
        "/" => x / y,
        "//" if y == 0 => 0,
        "//" => x.div_euclid(y) - i128::from(y < 0 && x.rem_euclid(y) != 0),
        "%" if y == 0 => x,
        "%" => x % y,
        "&" => x & y,
        "|" => x | y,
        "^" => x ^ y,
        "<<" if y < 0 || y >= bits => 0,
        "<<" => x << y,
        ">>" if y < 0 || y >= bits => {
            if signed && x < 0 {
                -1
            } else {
                0
            }
        }
        ">>" => x >> y,
        _ => return Err(Stop::Fault(format!("`{op}` of integers"))),
    };
    Ok(Number::int(a.kind, value))
}

/// Unequal types compare as numbers.
pub fn compare(op: &str, a: Number, b: Number) -> Result<bool, Stop> {
    let order = match (a.kind.is_float(), b.kind.is_float()) {
        (false, false) => Some(a.int.cmp(&b.int)),
        _ => a.value().partial_cmp(&b.value()),
    };
    use std::cmp::Ordering::{Equal, Greater, Less};
    Ok(match op {
        "==" => order == Some(Equal),
        "!=" => order != Some(Equal),
        "<" => order == Some(Less),
        "<=" => matches!(order, Some(Less | Equal)),
        ">" => order == Some(Greater),
        ">=" => matches!(order, Some(Greater | Equal)),
        _ => return Err(Stop::Fault(format!("`{op}` of numbers"))),
    })
}
