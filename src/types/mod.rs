//! The data types of kernels, shared by the checker and the IR: scalars, small vectors and
//! matrices, structs, arrays.

use std::fmt::{Display, from_fn};

use crate::ids::IdVec;

mod layout;

pub use layout::{ARRAY_DESCRIPTOR_SIZE, Layout};

/// The number types. `float` is `F32`, `int` is `I32`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Scalar {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F16,
    BF16,
    F32,
    F64,
}

impl Scalar {
    pub const ALL: [Scalar; 13] = [
        Scalar::Bool,
        Scalar::I8,
        Scalar::I16,
        Scalar::I32,
        Scalar::I64,
        Scalar::U8,
        Scalar::U16,
        Scalar::U32,
        Scalar::U64,
        Scalar::F16,
        Scalar::BF16,
        Scalar::F32,
        Scalar::F64,
    ];

    /// The name in kernels, launch files, and IR text: `float32`.
    pub fn name(self) -> &'static str {
        match self {
            Scalar::Bool => "bool",
            Scalar::I8 => "int8",
            Scalar::I16 => "int16",
            Scalar::I32 => "int32",
            Scalar::I64 => "int64",
            Scalar::U8 => "uint8",
            Scalar::U16 => "uint16",
            Scalar::U32 => "uint32",
            Scalar::U64 => "uint64",
            Scalar::F16 => "float16",
            Scalar::BF16 => "bfloat16",
            Scalar::F32 => "float32",
            Scalar::F64 => "float64",
        }
    }

    pub fn from_name(name: &str) -> Option<Scalar> {
        Scalar::ALL.into_iter().find(|s| s.name() == name)
    }

    /// The letters that end a composite type's name: `vec3` + `f`. None for `bool` and `bfloat16`.
    pub fn suffix(self) -> Option<&'static str> {
        Some(match self {
            Scalar::I8 => "b",
            Scalar::U8 => "ub",
            Scalar::I16 => "s",
            Scalar::U16 => "us",
            Scalar::I32 => "i",
            Scalar::U32 => "ui",
            Scalar::I64 => "l",
            Scalar::U64 => "ul",
            Scalar::F16 => "h",
            Scalar::F32 => "f",
            Scalar::F64 => "d",
            Scalar::Bool | Scalar::BF16 => return None,
        })
    }

    /// Size in bytes, which is also the alignment.
    pub fn size(self) -> u32 {
        match self {
            Scalar::Bool | Scalar::I8 | Scalar::U8 => 1,
            Scalar::I16 | Scalar::U16 | Scalar::F16 | Scalar::BF16 => 2,
            Scalar::I32 | Scalar::U32 | Scalar::F32 => 4,
            Scalar::I64 | Scalar::U64 | Scalar::F64 => 8,
        }
    }

    pub fn bits(self) -> u32 {
        if self == Scalar::Bool { 1 } else { self.size() * 8 }
    }

    /// The least and the greatest value of an integer type, of `bool` 0 and 1. Floats have no
    /// limit.
    pub fn int_range(self) -> (i128, i128) {
        match self {
            s if s.is_float() => (i128::MIN, i128::MAX),
            s if s.is_signed_int() => (-(1 << (s.bits() - 1)), (1 << (s.bits() - 1)) - 1),
            s => (0, (1 << s.bits()) - 1),
        }
    }

    pub fn is_float(self) -> bool {
        matches!(self, Scalar::F16 | Scalar::BF16 | Scalar::F32 | Scalar::F64)
    }

    /// Integers without `bool`.
    pub fn is_int(self) -> bool {
        !self.is_float() && self != Scalar::Bool
    }

    pub fn is_signed_int(self) -> bool {
        matches!(self, Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64)
    }

    pub fn is_unsigned_int(self) -> bool {
        self.is_int() && !self.is_signed_int()
    }

    /// The unsigned integer of the same width; other scalars stay.
    pub fn to_unsigned(self) -> Scalar {
        match self {
            Scalar::I8 => Scalar::U8,
            Scalar::I16 => Scalar::U16,
            Scalar::I32 => Scalar::U32,
            Scalar::I64 => Scalar::U64,
            other => other,
        }
    }
}

crate::define_id!(
    /// A `@wp.struct`.
    StructId, "struct"
);

/// The type of a runtime value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Type {
    Scalar(Scalar),
    /// `Vec(n, T)`: n components.
    Vec(u16, Scalar),
    /// `Mat(rows, columns, T)`, row major.
    Mat(u16, u16, Scalar),
    /// x, y, z, w.
    Quat(Scalar),
    /// A translation `p` (`Vec(3, T)`) and a rotation `q` (`Quat(T)`): 7 scalars.
    Transform(Scalar),
    Struct(StructId),
    Array(ArrayType),
    /// An array of fixed size of a thread (`wp.zeros(shape=N, dtype=T)` inside a kernel) or a block
    /// (a tile): a reference to local memory.
    Local(LocalArrayType),
}

/// What an array holds: every type but arrays.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Element {
    Scalar(Scalar),
    Vec(u16, Scalar),
    Mat(u16, u16, Scalar),
    Quat(Scalar),
    Transform(Scalar),
    Struct(StructId),
}

/// A strided view of device memory with 1 to 4 dimensions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ArrayType {
    pub element: Element,
    pub ndim: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct LocalArrayType {
    pub element: Element,
    /// Extents; those past `ndim` are 1.
    pub shape: [u32; 4],
    pub ndim: u8,
    /// It is the block's and not the thread's: a tile.
    pub block: bool,
}

impl LocalArrayType {
    pub fn len(self) -> u64 {
        self.shape.iter().fold(1, |all: u64, &n| all.saturating_mul(u64::from(n)))
    }

    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The extents of its dimensions.
    pub fn extents(&self) -> &[u32] {
        &self.shape[..usize::from(self.ndim)]
    }
}

/// The most dimensions an array can have.
pub const MAX_DIMS: usize = 4;

pub const BOOL: Type = Type::Scalar(Scalar::Bool);
pub const I32: Type = Type::Scalar(Scalar::I32);
pub const U32: Type = Type::Scalar(Scalar::U32);
pub const U64: Type = Type::Scalar(Scalar::U64);
pub const F32: Type = Type::Scalar(Scalar::F32);
pub const F64: Type = Type::Scalar(Scalar::F64);

impl From<Element> for Type {
    fn from(element: Element) -> Type {
        match element {
            Element::Scalar(s) => Type::Scalar(s),
            Element::Vec(n, s) => Type::Vec(n, s),
            Element::Mat(r, c, s) => Type::Mat(r, c, s),
            Element::Quat(s) => Type::Quat(s),
            Element::Transform(s) => Type::Transform(s),
            Element::Struct(id) => Type::Struct(id),
        }
    }
}

impl From<Scalar> for Type {
    fn from(scalar: Scalar) -> Type {
        Type::Scalar(scalar)
    }
}

impl Type {
    /// This type as an array element; None for arrays.
    pub fn element(self) -> Option<Element> {
        Some(match self {
            Type::Scalar(s) => Element::Scalar(s),
            Type::Vec(n, s) => Element::Vec(n, s),
            Type::Mat(r, c, s) => Element::Mat(r, c, s),
            Type::Quat(s) => Element::Quat(s),
            Type::Transform(s) => Element::Transform(s),
            Type::Struct(id) => Element::Struct(id),
            Type::Array(_) | Type::Local(_) => return None,
        })
    }

    pub fn as_scalar(self) -> Option<Scalar> {
        if let Type::Scalar(s) = self { Some(s) } else { None }
    }

    pub fn is_float(self) -> bool {
        self.as_scalar().is_some_and(Scalar::is_float)
    }

    pub fn is_int(self) -> bool {
        self.as_scalar().is_some_and(Scalar::is_int)
    }

    /// The scalar that a scalar, vector, matrix, quaternion or transform is made of.
    pub fn scalar_part(self) -> Option<Scalar> {
        match self {
            Type::Scalar(s) | Type::Vec(_, s) | Type::Mat(_, _, s) | Type::Quat(s) | Type::Transform(s) => Some(s),
            Type::Struct(_) | Type::Array(_) | Type::Local(_) => None,
        }
    }

    /// Vectors, matrices, quaternions, transforms.
    pub fn is_composite(self) -> bool {
        matches!(self, Type::Vec(..) | Type::Mat(..) | Type::Quat(_) | Type::Transform(_))
    }

    /// The number of scalars in a scalar or composite (row major order).
    pub fn scalar_count(self) -> Option<u32> {
        Some(match self {
            Type::Scalar(_) => 1,
            Type::Vec(n, _) => u32::from(n),
            Type::Mat(r, c, _) => u32::from(r) * u32::from(c),
            Type::Quat(_) => 4,
            Type::Transform(_) => 7,
            Type::Struct(_) | Type::Array(_) | Type::Local(_) => return None,
        })
    }

    /// How many scalars and arrays a value of this type is made of.
    pub fn parts(self, structs: &StructTable) -> u64 {
        match self {
            Type::Struct(id) => structs[id].fields.iter().map(|field| field.ty.parts(structs)).sum(),
            _ => self.scalar_count().map_or(1, u64::from),
        }
    }

    /// The type one access step down: a vector's or quaternion's component, a matrix's row, a
    /// transform's `p` (0) or `q` (1), a struct's field. `index` is None for a step by a value
    /// known only at run time, which structs and transforms do not have.
    pub fn step(self, index: Option<u32>, structs: &StructTable) -> Option<Type> {
        let within = |n: u16| index.is_none_or(|i| i < u32::from(n));
        match self {
            Type::Vec(n, s) if within(n) => Some(Type::Scalar(s)),
            Type::Quat(s) if within(4) => Some(Type::Scalar(s)),
            Type::Mat(r, c, s) if within(r) => Some(Type::Vec(c, s)),
            Type::Transform(s) => match index? {
                0 => Some(Type::Vec(3, s)),
                1 => Some(Type::Quat(s)),
                _ => None,
            },
            Type::Struct(id) => structs[id].fields.get(index? as usize).map(|f| f.ty),
            _ => None,
        }
    }

    /// The number of access steps a value of this type offers (see [`Type::step`]); 0 for scalars
    /// and arrays.
    pub fn step_count(self, structs: &StructTable) -> u32 {
        match self {
            Type::Vec(n, _) => u32::from(n),
            Type::Quat(_) => 4,
            Type::Mat(r, _, _) => u32::from(r),
            Type::Transform(_) => 2,
            Type::Struct(id) => structs[id].fields.len() as u32,
            Type::Scalar(_) | Type::Array(_) | Type::Local(_) => 0,
        }
    }

    /// Whether a value of this type holds floats outside arrays: it has an adjoint of its own.
    pub fn holds_floats(self, structs: &StructTable) -> bool {
        match self {
            Type::Struct(id) => structs[id].fields.iter().any(|field| field.ty.holds_floats(structs)),
            Type::Array(_) | Type::Local(_) => false,
            _ => self.scalar_part().is_some_and(Scalar::is_float),
        }
    }

    /// A local array that belongs to a block of threads.
    pub fn is_tile(self) -> bool {
        matches!(self, Type::Local(LocalArrayType { block: true, .. }))
    }

    /// An array of one thread, or of one block.
    pub fn is_local_array(self) -> bool {
        matches!(self, Type::Local(_))
    }

    /// Whether it is an array or a struct with arrays in it.
    pub fn bears_array(self, structs: &StructTable) -> bool {
        match self {
            Type::Struct(id) => structs[id].fields.iter().any(|field| field.ty.bears_array(structs)),
            Type::Array(_) | Type::Local(_) => true,
            _ => false,
        }
    }

    /// The name a user would write or read: `vec3f`, `mat33d`, `array2d(dtype=float32)`. Struct
    /// names come from the table; see [`StructTable::name_of`].
    pub fn display(self, structs: &StructTable) -> String {
        self.shown(structs).to_string()
    }

    /// The same, for writing it into a longer text.
    pub fn shown(self, structs: &StructTable) -> impl Display {
        from_fn(move |f| match self {
            Type::Scalar(s) => f.write_str(s.name()),
            Type::Vec(n, s) => match (n, s.suffix()) {
                (2..=4, Some(suffix)) => write!(f, "vec{n}{suffix}"),
                (6, Some(suffix)) if s.is_float() => write!(f, "spatial_vector{suffix}"),
                _ => write!(f, "vec({n}, {})", s.name()),
            },
            Type::Mat(r, c, s) => match (r, s.suffix()) {
                (2..=4, Some(suffix)) if r == c => write!(f, "mat{r}{c}{suffix}"),
                (6, Some(suffix)) if c == 6 && s.is_float() => write!(f, "spatial_matrix{suffix}"),
                _ => write!(f, "mat({r}, {c}, {})", s.name()),
            },
            Type::Quat(s) => match s.suffix() {
                Some(suffix) => write!(f, "quat{suffix}"),
                None => write!(f, "quat({})", s.name()),
            },
            Type::Transform(s) => match s.suffix() {
                Some(suffix) => write!(f, "transform{suffix}"),
                None => write!(f, "transform({})", s.name()),
            },
            Type::Struct(id) => f.write_str(&structs[id].name),
            Type::Array(a) => {
                f.write_str("array")?;
                if a.ndim != 1 {
                    write!(f, "{}d", a.ndim)?;
                }
                write!(f, "(dtype={})", Type::from(a.element).shown(structs))
            }
            Type::Local(a) => {
                let word = if a.block { "tile" } else { "local" };
                write!(f, "{word}({}", Type::from(a.element).shown(structs))?;
                for extent in a.extents() {
                    write!(f, ", {extent}")?;
                }
                f.write_str(")")
            }
        })
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Field {
    pub name: String,
    pub ty: Type,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StructDef {
    pub name: String,
    pub fields: Vec<Field>,
}

/// All structs of a module; a struct's fields refer only to structs before it.
pub type StructTable = IdVec<StructId, StructDef>;
