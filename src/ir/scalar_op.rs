//! Constants, and the operations on scalars that operations of the IR carry.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::num::NonZeroU32;
use std::ops::Index;

use super::eval;
use crate::ids::{Id, IdVec};
use crate::types::Scalar;

/// A scalar constant as its bits: integers sign- or zero-extended to 64 bits, floats in their own
/// format.
#[derive(Clone, Copy, Debug)]
pub struct Const {
    pub scalar: Scalar,
    pub bits: u64,
    /// The constant of the source that it was written as, for readers: two constants are equal
    /// whatever their names.
    pub named: Option<ConstantId>,
}

/// A constant that the source has a name for. (No zero, so that a constant with or without a name
/// takes 16 bytes.)
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ConstantId(NonZeroU32);

impl Id for ConstantId {
    fn new(index: usize) -> ConstantId {
        let number = u32::try_from(index).ok().and_then(|index| NonZeroU32::new(index + 1));
        ConstantId(number.expect("fewer than 2^32 names"))
    }

    fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// A name in the source for a constant.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct NamedConstant {
    /// One that is computed of another one is called as it is written: `width - 1`.
    pub name: String,
    /// A vector, matrix or the like: its numbers have the name together.
    pub composite: bool,
    pub derived: Option<Derived>,
}

/// How a constant is computed of one that has a name, and of a number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Derived {
    pub of: ConstantId,
    /// What that name represents.
    pub value: i64,
    pub op: BinaryOp,
    pub number: i64,
}

impl NamedConstant {
    /// A name of its own.
    pub fn new(name: String, composite: bool) -> NamedConstant {
        NamedConstant { name, composite, derived: None }
    }
}

/// The names of one source file for constants, each once.
#[derive(Clone, Default)]
pub struct ConstantNames {
    names: IdVec<ConstantId, NamedConstant>,
    known: HashMap<NamedConstant, ConstantId>,
}

impl ConstantNames {
    /// The number of a name, which is new if the name is.
    pub fn enter(&mut self, name: NamedConstant) -> ConstantId {
        *self.known.entry(name).or_insert_with_key(|name| self.names.push(name.clone()))
    }

    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = (ConstantId, &NamedConstant)> {
        self.names.iter()
    }

    /// None: an identifier of another file's names.
    pub fn get(&self, id: ConstantId) -> Option<&NamedConstant> {
        self.names.get(id)
    }
}

/// The names in their order: what finds them has none.
impl std::fmt::Debug for ConstantNames {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.names.values()).finish()
    }
}

impl Index<ConstantId> for ConstantNames {
    type Output = NamedConstant;

    fn index(&self, id: ConstantId) -> &NamedConstant {
        &self.names[id]
    }
}

impl PartialEq for Const {
    fn eq(&self, other: &Const) -> bool {
        (self.scalar, self.bits) == (other.scalar, other.bits)
    }
}

impl Eq for Const {}

impl Hash for Const {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.scalar, self.bits).hash(state);
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UnaryOp {
    Neg,
    /// bool
    Not,
    /// Integers.
    BitNot,
    Abs,
    /// Floats.
    Sqrt,
    Floor,
    Ceil,
    Trunc,
    /// Nearest, ties to even.
    RoundEven,
    /// Nearest, ties away from zero.
    Round,
    /// Integers: number of one bits, in the operand's type.
    PopCount,
    /// Integers: number of zero bits above the highest one bit; the width for 0.
    LeadingZeros,
    /// float32: the same number. Instructions for matrices that it is a factor of may round it to
    /// TensorFloat-32.
    Tf32,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    /// Integers.
    FloorDiv,
    /// Integers.
    Rem,
    Min,
    Max,
    /// Integers and bool.
    And,
    Or,
    Xor,
    Shl,
    /// Arithmetic for signed, logical for unsigned.
    Shr,
    /// Floats: the magnitude of a with the sign of b.
    CopySign,
    /// uint32, uint64: the high half of the double-width product.
    MulHigh,
    /// Integers: the distance |a - b|, which wraps where the type has no room for it.
    AbsDiff,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CompareOp {
    Eq,
    /// True when unordered.
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

impl CompareOp {
    /// The comparison with its sides exchanged.
    pub fn mirrored(self) -> CompareOp {
        match self {
            CompareOp::Lt => CompareOp::Gt,
            CompareOp::Gt => CompareOp::Lt,
            CompareOp::Le => CompareOp::Ge,
            CompareOp::Ge => CompareOp::Le,
            CompareOp::Eq | CompareOp::Ne => self,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AtomicOp {
    Add,
    Sub,
    Min,
    Max,
    And,
    Or,
    Xor,
    Exchange,
}

impl AtomicOp {
    /// The operation that combines the old value with the operand; None: the operand replaces it.
    pub fn binary(self) -> Option<BinaryOp> {
        Some(match self {
            AtomicOp::Add => BinaryOp::Add,
            AtomicOp::Sub => BinaryOp::Sub,
            AtomicOp::Min => BinaryOp::Min,
            AtomicOp::Max => BinaryOp::Max,
            AtomicOp::And => BinaryOp::And,
            AtomicOp::Or => BinaryOp::Or,
            AtomicOp::Xor => BinaryOp::Xor,
            AtomicOp::Exchange => return None,
        })
    }
}

/// Gives each op a name that is the same in the IR text and in the library's `@op("...")` entries.
macro_rules! op_names {
    ($ty:ident { $($variant:ident $name:literal),* $(,)? }) => {
        impl $ty {
            pub const ALL: &[$ty] = &[$($ty::$variant),*];

            pub fn name(self) -> &'static str {
                match self { $($ty::$variant => $name),* }
            }

            pub fn from_name(name: &str) -> Option<$ty> {
                match name { $($name => Some($ty::$variant),)* _ => None }
            }
        }
    };
}

op_names!(UnaryOp {
    Neg "neg", Not "not", BitNot "bit_not", Abs "abs", Sqrt "sqrt", Floor "floor", Ceil "ceil", Trunc "trunc",
    RoundEven "round_even", Round "round", PopCount "pop_count", LeadingZeros "leading_zeros",
    Tf32 "tf32",
});
op_names!(BinaryOp {
    Add "add", Sub "sub", Mul "mul", Div "div", FloorDiv "floor_div", Rem "rem", Min "min", Max "max", And "and",
    Or "or", Xor "xor", Shl "shl", Shr "shr", CopySign "copy_sign", MulHigh "mul_high",
    AbsDiff "abs_diff",
});
op_names!(CompareOp { Eq "eq", Ne "ne", Lt "lt", Le "le", Gt "gt", Ge "ge" });
op_names!(AtomicOp {
    Add "add", Sub "sub", Min "min", Max "max", And "and", Or "or", Xor "xor", Exchange "exchange",
});

impl Const {
    /// The one with these bits, which must be as above.
    pub const fn new(scalar: Scalar, bits: u64) -> Const {
        Const { scalar, bits, named: None }
    }

    pub fn bool(value: bool) -> Const {
        Const::new(Scalar::Bool, u64::from(value))
    }

    /// An integer of type `scalar`, wrapped to its width; a float is rounded once, a bool is
    /// `value != 0`.
    pub fn int(scalar: Scalar, value: i128) -> Const {
        let bits = match scalar {
            Scalar::I8 => value as i8 as i64 as u64,
            Scalar::I16 => value as i16 as i64 as u64,
            Scalar::I32 => value as i32 as i64 as u64,
            Scalar::U8 => u64::from(value as u8),
            Scalar::U16 => u64::from(value as u16),
            Scalar::U32 => u64::from(value as u32),
            Scalar::I64 | Scalar::U64 => value as u64,
            Scalar::Bool => u64::from(value != 0),
            Scalar::F16 | Scalar::BF16 | Scalar::F32 | Scalar::F64 => eval::int_to_float(scalar, value),
        };
        Const::new(scalar, bits)
    }

    /// A float of type `scalar`, rounded to it once.
    pub fn float(scalar: Scalar, value: f64) -> Const {
        let bits = match scalar {
            // Not `half`'s own conversion from `f64`, which drops low bits or rounds twice.
            Scalar::F16 | Scalar::BF16 => eval::narrow(scalar, value),
            Scalar::F32 => u64::from((value as f32).to_bits()),
            Scalar::F64 => value.to_bits(),
            _ => return Const::int(scalar, value as i128),
        };
        Const::new(scalar, bits)
    }

    /// The value of an integer or bool constant; None for floats.
    pub fn as_int(self) -> Option<i128> {
        match self.scalar {
            s if s.is_float() => None,
            s if s.is_signed_int() => Some(i128::from(self.bits as i64)),
            _ => Some(i128::from(self.bits)),
        }
    }

    /// Whether it is -0.0, which added to anything leaves it as it is.
    pub fn is_minus_zero(self) -> bool {
        self.scalar.is_float() && self.bits == Const::float(self.scalar, -0.0).bits
    }

    /// The value of a float constant, exact; None for integers and bool.
    pub fn as_float(self) -> Option<f64> {
        Some(match self.scalar {
            Scalar::F16 => half::f16::from_bits(self.bits as u16).to_f64(),
            Scalar::BF16 => half::bf16::from_bits(self.bits as u16).to_f64(),
            Scalar::F32 => f64::from(f32::from_bits(self.bits as u32)),
            Scalar::F64 => f64::from_bits(self.bits),
            _ => return None,
        })
    }
}
