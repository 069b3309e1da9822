//! Which Rust types lie in memory as a kernel's do?

use crate::types::{Layout, Scalar, StructTable, Type};

/// A type whose values lie in memory as those of a kernel do: numbers, `bool`, `[f32; 3]` for
/// vectors, quaternions (`[f32; 4]`) and transforms (`[f32; 7]`), `[[f32; 3]; 3]` for matrices (row
/// by row), and structs that [`kernel_struct!`](crate::kernel_struct) defines.
///
/// # Safety
/// [`Element::KIND`] describes the type's memory: its size and where each number in it is. Every
/// value that a kernel can store in it is a value of the type.
pub unsafe trait Element: Copy + Send + Sync + 'static {
    /// What it is in memory.
    #[doc(hidden)]
    const KIND: Kind;
}

/// How an element lies in memory.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Kind {
    Scalar(Scalar),
    List(usize, &'static Kind),
    Struct(&'static StructKind),
}

/// A struct with C layout.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct StructKind {
    pub name: &'static str,
    pub size: usize,
    /// Name, offset, kind.
    pub fields: &'static [(&'static str, usize, Kind)],
}

macro_rules! scalars {
    ($($rust:ty => $scalar:ident,)*) => {
        $(
            // SAFETY: the same size and the same meaning of every bit; kernels store 0 or 1 as a
            // bool.
            unsafe impl Element for $rust {
                const KIND: Kind = Kind::Scalar(Scalar::$scalar);
            }
        )*

        /// The Rust type of a number.
        fn rust_name(scalar: Scalar) -> &'static str {
            match scalar {
                $(Scalar::$scalar => stringify!($rust),)*
            }
        }
    };
}

scalars! {
    bool => Bool,
    i8 => I8,
    i16 => I16,
    i32 => I32,
    i64 => I64,
    u8 => U8,
    u16 => U16,
    u32 => U32,
    u64 => U64,
    half::f16 => F16,
    half::bf16 => BF16,
    f32 => F32,
    f64 => F64,
}

// SAFETY: an array's elements lie one after the other.
unsafe impl<T: Element, const N: usize> Element for [T; N] {
    const KIND: Kind = Kind::List(N, &T::KIND);
}

impl Kind {
    /// Copies a value of this kind, without what lies between the fields of a struct.
    ///
    /// # Safety
    /// `from` points to a value of this kind.
    pub(super) unsafe fn copy(&self, from: *const u8, to: &mut [u8]) {
        match self {
            Kind::Scalar(s) => {
                let size = s.size() as usize;
                // SAFETY: a number has no byte that is not initialised.
                to[..size].copy_from_slice(unsafe { std::slice::from_raw_parts(from, size) });
            }
            Kind::List(n, kind) => {
                let size = kind.size();
                // SAFETY: the elements follow each other.
                (0..*n).for_each(|k| unsafe { kind.copy(from.add(k * size), &mut to[k * size..]) });
            }
            Kind::Struct(kind) => {
                for (_, offset, field) in kind.fields {
                    // SAFETY: the field lies there.
                    unsafe { field.copy(from.add(*offset), &mut to[*offset..]) };
                }
            }
        }
    }

    fn size(&self) -> usize {
        match self {
            Kind::Scalar(s) => s.size() as usize,
            Kind::List(n, kind) => n * kind.size(),
            Kind::Struct(kind) => kind.size,
        }
    }

    /// Whether a value of this kind is one of the kernel's type.
    pub(super) fn fits(&self, ty: Type, structs: &StructTable) -> bool {
        let list = |kind: &Kind, n: u32, s: Scalar| matches!(kind, Kind::List(len, Kind::Scalar(t)) if *len == n as usize && *t == s);
        match (ty, self) {
            (Type::Scalar(s), Kind::Scalar(t)) => s == *t,
            (Type::Vec(n, s), kind) => list(kind, n.into(), s),
            (Type::Quat(s), kind) => list(kind, 4, s),
            (Type::Transform(s), kind) => list(kind, 7, s),
            (Type::Mat(rows, columns, s), Kind::List(len, row)) => {
                *len == usize::from(rows) && list(row, columns.into(), s)
            }
            (Type::Struct(id), Kind::Struct(given)) => {
                let fields = &structs[id].fields;
                given.size == Layout::of(ty, structs).size as usize
                    && given.fields.len() == fields.len()
                    && fields.iter().zip(given.fields).enumerate().all(|(k, (field, (name, offset, kind)))| {
                        field.name == *name
                            && *offset == Layout::step_offset(ty, k as u32, structs) as usize
                            && kind.fits(field.ty, structs)
                    })
            }
            _ => false,
        }
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Kind::Scalar(s) => f.write_str(rust_name(*s)),
            Kind::List(n, kind) => write!(f, "[{kind}; {n}]"),
            Kind::Struct(kind) => f.write_str(kind.name),
        }
    }
}

/// The Rust type for a kernel's: `[f32; 3]`. None for arrays.
pub(super) fn rust_type(ty: Type, structs: &StructTable) -> Option<String> {
    Some(match ty {
        Type::Scalar(s) => rust_name(s).to_string(),
        Type::Vec(n, s) => format!("[{}; {n}]", rust_name(s)),
        Type::Mat(rows, columns, s) => format!("[[{}; {columns}]; {rows}]", rust_name(s)),
        Type::Quat(s) => format!("[{}; 4]", rust_name(s)),
        Type::Transform(s) => format!("[{}; 7]", rust_name(s)),
        Type::Struct(id) => {
            let fields = structs[id].fields.iter();
            let fields: Option<Vec<String>> =
                fields.map(|field| Some(format!("{}: {}", field.name, rust_type(field.ty, structs)?))).collect();
            format!("struct {} {{ {} }}", structs[id].name, fields?.join(", "))
        }
        Type::Array(_) | Type::Local(_) => return None,
    })
}

/// Defines a struct that kernels know as a `@wp.struct`: with C layout, and with the same fields in
/// the same order.
///
/// ```
/// kc::kernel_struct! {
///     /// A body that falls.
///     #[derive(Debug, PartialEq)]
///     pub struct Body {
///         pub position: [f32; 3],
///         pub mass: f32,
///     }
/// }
///
/// let module = kc::Compiler::new().compile_text("fall.py", r#"
/// import warp as wp
///
/// @wp.struct
/// class Body:
///     position: wp.vec3
///     mass: float
///
/// @wp.kernel
/// def fall(bodies: wp.array(dtype=Body), dt: float):
///     i = wp.tid()
///     bodies[i].position = bodies[i].position - wp.vec3(0.0, 9.81 * dt, 0.0)
/// "#)?;
/// let mut bodies = [Body { position: [0.0, 10.0, 0.0], mass: 2.0 }];
/// module.kernel("fall")?.launch(1, &mut [kc::Arg::write(&mut bodies), kc::Arg::value(0.5f32)])?;
/// assert_eq!(bodies[0], Body { position: [0.0, 5.095, 0.0], mass: 2.0 });
/// # Ok::<(), kc::Error>(())
/// ```
#[macro_export]
macro_rules! kernel_struct {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident { $($(#[$field_meta:meta])* $field_vis:vis $field:ident: $ty:ty),* $(,)? }
    ) => {
        $(#[$meta])*
        #[repr(C)]
        #[derive(Clone, Copy)]
        $vis struct $name { $($(#[$field_meta])* $field_vis $field: $ty),* }

        // SAFETY: `repr(C)`, with the offsets as they are.
        unsafe impl $crate::Element for $name {
            const KIND: $crate::embed::Kind = $crate::embed::Kind::Struct(&$crate::embed::StructKind {
                name: ::core::stringify!($name),
                size: ::core::mem::size_of::<$name>(),
                fields: &[$((
                    ::core::stringify!($field),
                    ::core::mem::offset_of!($name, $field),
                    <$ty as $crate::Element>::KIND,
                )),*],
            });
        }
    };
}
