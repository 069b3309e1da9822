//! Names of types in CUDA text, and which identifiers the text may use.

use std::fmt::Write as _;

use std::collections::HashSet;
use std::hash::BuildHasherDefault;
use std::sync::LazyLock;

use crate::ids::IdHasher;
use crate::types::{Scalar, StructTable, Type};

/// The C++ name of a number type.
pub fn scalar_name(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::Bool => "bool",
        Scalar::I8 => "int8",
        Scalar::I16 => "int16",
        Scalar::I32 => "int",
        Scalar::I64 => "int64",
        Scalar::U8 => "uint8",
        Scalar::U16 => "uint16",
        Scalar::U32 => "uint32",
        Scalar::U64 => "uint64",
        Scalar::F16 => "float16",
        Scalar::BF16 => "bfloat16",
        Scalar::F32 => "float",
        Scalar::F64 => "double",
    }
}

/// The C++ name of a type; a local array's is that of its element.
pub fn type_name(ty: Type, structs: &StructTable) -> String {
    let mut name = String::new();
    write_type(&mut name, ty, structs);
    name
}

/// Appends the name of a type.
pub fn write_type(out: &mut String, ty: Type, structs: &StructTable) {
    let (stem, scalar) = match ty {
        Type::Scalar(s) => return out.push_str(scalar_name(s)),
        Type::Struct(id) => return out.push_str(&struct_name(&structs[id].name)),
        Type::Local(local) => return write_type(out, local.element.into(), structs),
        Type::Array(array) => {
            out.push_str("array");
            number(out, array.ndim.into());
            out.push('<');
            write_type(out, array.element.into(), structs);
            return out.push('>');
        }
        Type::Vec(_, s) => ("vec", s),
        Type::Mat(_, _, s) => ("mat", s),
        Type::Quat(s) => ("quat", s),
        Type::Transform(s) => ("transform", s),
    };
    out.push_str(stem);
    match ty {
        Type::Vec(n, _) => number(out, n),
        Type::Mat(r, c, _) => {
            number(out, r);
            if r >= 10 || c >= 10 {
                out.push('x');
            }
            number(out, c);
        }
        _ => {}
    }
    out.push_str(suffix(scalar));
}

/// Appends a small number.
fn number(out: &mut String, n: u16) {
    if n >= 10 {
        number(out, n / 10);
    }
    out.push(char::from(b'0' + (n % 10) as u8));
}

/// Composites of `float` are the common ones and have no suffix: `vec3`, `vec3d`, `vec3_bool`.
fn suffix(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::F32 => "",
        Scalar::Bool => "_bool",
        Scalar::BF16 => "_bfloat16",
        other => other.suffix().unwrap_or(""),
    }
}

/// The name of component `index` of a vector or quaternion with named components.
pub fn component(index: u32) -> &'static str {
    ["x", "y", "z", "w"].get(index as usize).copied().unwrap_or("w")
}

/// Whether the components are members `x`, `y`, ... and not an array `c`.
pub fn has_named_components(ty: Type) -> bool {
    matches!(ty, Type::Vec(1..=4, _) | Type::Quat(_))
}

/// Appends a letter of a Python identifier in letters of ASCII: what people read aloud (`alpha`,
/// `e` for `é`), or else its number. Two names may become one: what they are given to keeps them
/// apart.
fn letter(text: &mut String, c: char) {
    const GREEK: [&str; 25] = [
        "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu", "nu",
        "xi", "omicron", "pi", "rho", "sigma", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega",
    ];
    const LATIN: &str = "AAAAAAACEEEEIIIIDNOOOOO.OUUUUYTsaaaaaaaceeeeiiiidnooooo.ouuuuyty";
    let number = u32::from(c);
    match c {
        _ if c.is_ascii_alphanumeric() => text.push(c),
        _ if c.is_ascii() => text.push('_'),
        'ß' => text.push_str("ss"),
        '\u{3b1}'..='\u{3c9}' => text.push_str(GREEK[number as usize - 0x3b1]),
        '\u{391}'..='\u{3a9}' if number != 0x3a2 => {
            let name = GREEK[number as usize - 0x391];
            text.push_str(&name[..1].to_ascii_uppercase());
            text.push_str(&name[1..]);
        }
        '\u{c0}'..='\u{ff}' if number & 0x1f != 0x17 => text.push_str(&LATIN[number as usize - 0xc0..][..1]),
        _ => {
            let _ = write!(text, "u{number:04x}");
        }
    }
}

/// A Python identifier as a C++ one that is no keyword and no name of the language's or CUDA's own.
pub fn identifier(name: &str) -> String {
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let mut text = match plain {
        true => name.to_string(),
        false => name.chars().fold(String::new(), |mut text, c| {
            letter(&mut text, c);
            text
        }),
    };
    // Names that start with two underscores belong to the compiler.
    if text.starts_with("__") {
        text = text.trim_start_matches('_').to_string();
    }
    if text.is_empty() || text.starts_with(|c: char| c.is_ascii_digit()) {
        text.insert(0, '_');
    }
    if is_reserved(&text) {
        text.push('_');
    }
    text
}

/// The C++ name of a user's struct: no name of a type that the text or CUDA defines, nor of a
/// function of CUDA's, which would hide it.
pub fn struct_name(name: &str) -> String {
    let mut text = identifier(name);
    while is_type_name(&text) || is_cuda_type(&text) || is_cuda_function(&text) {
        text.push('_');
    }
    text
}

/// Vectors of CUDA (`float4`, `ulonglong2`; CUDA C++ Programming Guide, "Built-in Vector Types"),
/// and types of C headers that it includes.
fn is_cuda_type(name: &str) -> bool {
    const NUMBERS: [&str; 12] = [
        "char",
        "uchar",
        "short",
        "ushort",
        "int",
        "uint",
        "long",
        "ulong",
        "longlong",
        "ulonglong",
        "float",
        "double",
    ];
    const OTHERS: [&str; 10] =
        ["half", "half2", "lconv", "timespec", "timeval", "tm", "uint", "ulong", "ushort", "wint_t"];
    name.strip_suffix(['1', '2', '3', '4']).is_some_and(|stem| NUMBERS.contains(&stem)) || OTHERS.contains(&name)
}

/// Keywords of C and C++20, the types, variables, macros and operators that CUDA predefines, and
/// the macros of the C headers that nvcc includes.
pub fn is_reserved(name: &str) -> bool {
    #[rustfmt::skip]
    const NAMES: &[&str] = &[
        "INFINITY", "NAN", "NULL", "alignas", "alignof", "and", "and_eq", "array1", "array2", "array3", "array4",
        "asm", "assert", "atomicAdd", "atomicAnd", "atomicCAS", "atomicExch", "atomicMax", "atomicMin", "atomicOr",
        "atomicSub", "atomicXor", "auto", "bfloat16", "bitand", "bitor", "blockDim", "blockIdx", "block_memory", "bool",
        "break",
        "case", "catch", "char", "char16_t", "char32_t", "char8_t", "class", "co_await", "co_return", "co_yield",
        "compl", "concept", "const", "const_cast", "consteval", "constexpr", "constinit", "continue", "decltype",
        "default", "delete", "dim3", "do", "double", "dynamic_cast", "else", "enum", "explicit", "export", "extern",
        "false", "float", "float16", "for", "friend", "goto", "gridDim", "if", "inline", "int", "int16", "int64",
        "int8", "launch_bounds", "linux", "long", "main", "mutable", "namespace", "new", "noexcept", "not", "not_eq",
        "nullptr", "operator", "or", "or_eq", "printf", "private", "protected", "public", "register",
        "reinterpret_cast", "requires", "restrict", "return", "short", "signed", "size_t", "sizeof", "static",
        "static_assert", "static_cast", "struct", "switch", "template", "this", "threadIdx", "thread_local", "throw",
        "true", "try", "typedef", "typeid", "typename", "uint16", "uint32", "uint64", "uint8", "union", "unix",
        "unsigned", "using", "virtual", "void", "volatile", "warpSize", "wchar_t", "while", "wrap", "xor", "xor_eq",
        "BUFSIZ", "CHAR_BIT", "CHAR_MAX", "CHAR_MIN", "CLOCKS_PER_SEC", "EOF", "EXIT_FAILURE", "EXIT_SUCCESS",
        "FILENAME_MAX", "FOPEN_MAX", "FP_INFINITE", "FP_NAN", "FP_NORMAL", "FP_SUBNORMAL", "FP_ZERO", "HUGE_VAL",
        "HUGE_VALF", "INT_MAX", "INT_MIN", "LLONG_MAX", "LLONG_MIN", "LONG_MAX", "LONG_MIN", "L_tmpnam", "MAXFLOAT",
        "MB_CUR_MAX", "M_1_PI", "M_2_PI", "M_2_SQRTPI", "M_E", "M_LN10", "M_LN2", "M_LOG10E", "M_LOG2E", "M_PI",
        "M_PI_2", "M_PI_4", "M_SQRT1_2", "M_SQRT2", "PATH_MAX", "RAND_MAX", "SCHAR_MAX", "SCHAR_MIN", "SEEK_CUR",
        "SEEK_END", "SEEK_SET", "SHRT_MAX", "SHRT_MIN", "SIZE_MAX", "TMP_MAX", "UCHAR_MAX", "UINT_MAX", "ULLONG_MAX",
        "ULONG_MAX", "USHRT_MAX", "errno", "stderr", "stdin", "stdout",
    ];
    type Names = HashSet<&'static str, BuildHasherDefault<IdHasher>>;
    static SET: LazyLock<Names> = LazyLock::new(|| NAMES.iter().copied().collect());
    SET.contains(name) || name.starts_with("__")
}

/// Functions that CUDA declares for plain numbers: a user's function of this name and of such
/// parameters would clash.
pub fn is_cuda_function(name: &str) -> bool {
    #[rustfmt::skip]
    const NAMES: &[&str] = &[
        "abs", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "brev", "cbrt", "ceil", "clock", "clz",
        "copysign", "cos", "cosh", "cospi", "div", "erf", "erfc", "erfcinv", "erfcx", "erfinv", "exp", "exp10",
        "exp2", "expm1", "fabs", "fdim", "fdivide", "ffs", "floor", "fma", "fmax", "fmin", "fmod", "free", "frexp",
        "funnel", "hypot", "ilogb", "index", "isfinite", "isinf", "isnan", "j0", "j1", "jn", "labs", "ldexp",
        "lgamma", "llabs", "llrint", "llround", "log", "log10", "log1p", "log2", "logb", "lrint", "lround",
        "malloc", "max", "memcpy", "memset", "min", "modf", "nan", "nearbyint", "nextafter", "norm", "norm3d",
        "norm4d", "normcdf", "normcdfinv", "pow", "rcbrt", "remainder", "remquo", "rhypot", "rint", "rnorm",
        "round", "rsqrt", "scalbln", "scalbn", "select", "signbit", "sin", "sincos", "sincospi", "sinh", "sinpi",
        "sqrt", "std", "tan", "tanh", "tgamma", "time", "trunc", "va_list", "y0", "y1", "yn",
    ];
    debug_assert!(NAMES.is_sorted());
    let stem = name.strip_suffix('f').unwrap_or(name);
    NAMES.binary_search(&name).is_ok() || NAMES.binary_search(&stem).is_ok()
}

/// Names of composite types: `vec3d`, `mat33`, `quat`, `transform`.
pub fn is_type_name(name: &str) -> bool {
    let is_suffix = |rest: &str| Scalar::ALL.iter().any(|&s| suffix(s) == rest);
    let numbered = |stem: &str| {
        name.strip_prefix(stem).is_some_and(|rest| {
            let tail = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == 'x');
            tail.len() < rest.len() && is_suffix(tail)
        })
    };
    let plain = |stem: &str| name.strip_prefix(stem).is_some_and(is_suffix);
    numbered("vec") || numbered("mat") || plain("quat") || plain("transform")
}

/// A variable of the text.
pub struct VarData {
    pub ty: Type,
    /// The name it should have.
    pub hint: String,
    /// A parameter taken by reference.
    pub by_reference: bool,
}

impl VarData {
    /// The C++ type of a parameter or variable with its name: `float *x`, `float (&x)[4]`.
    pub fn declaration(&self, name: &str, is_param: bool, structs: &StructTable) -> String {
        let mut out = String::with_capacity(16 + name.len());
        write_type(&mut out, self.ty, structs);
        out.push_str(if self.by_reference && !matches!(self.ty, Type::Local(_)) { " &" } else { " " });
        match self.ty {
            Type::Local(_) if is_param => {
                for part in ["(&", name, ")"] {
                    out.push_str(part);
                }
            }
            _ => out.push_str(name),
        }
        if let Type::Local(local) = self.ty {
            for extent in &local.shape[..usize::from(local.ndim).min(4)] {
                out.push_str(&format!("[{extent}]"));
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_identifier_is_free_to_use() {
        let table =
            [("x", "x"), ("class", "class_"), ("__tid_0", "tid_0"), ("__", "_"), ("3d", "_3d"), ("é", "e"), ("", "_")];
        let table = table.into_iter().chain([
            ("α", "alpha"),
            ("Δt", "Deltat"),
            ("ω_0", "omega_0"),
            ("ς", "sigma"),
            ("Größe", "Grosse"),
            ("λ", "lambda"),
            ("θ̈", "thetau0308"),
            ("变量", "u53d8u91cf"),
            ("À÷ÿ", "Au00f7y"),
            ("EOF", "EOF_"),
            ("M_PI", "M_PI_"),
        ]);
        for (name, expected) in table {
            assert_eq!(identifier(name), expected);
            assert!(!is_reserved(&identifier(name)));
        }
        assert!(is_type_name("vec3d") && is_type_name("mat10x2") && is_type_name("quat") && is_type_name("vec3_bool"));
        assert!(!is_type_name("vec3_dot") && !is_type_name("quat_inverse") && !is_type_name("material"));
    }
}
