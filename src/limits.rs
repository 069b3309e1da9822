//! How much does kc compile? Every bound on what a file can ask of the compiler, with the code that
//! a file beyond it gets.
//!
//! A bound is far above what programs need, and low enough that no file of a megabyte takes the
//! machine down. `docs/limits.md` is [`TABLE`] in words; `tests/limits.rs` keeps it so, and has a
//! program beyond each bound.

/// One row of [`TABLE`].
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// The constant's name in this module.
    pub name: &'static str,
    pub value: u64,
    /// What is counted.
    pub what: &'static str,
    /// The code of the finding; several are joined by a comma, and empty means that nothing is
    /// said.
    pub code: &'static str,
}

macro_rules! limits {
    ($($name:ident: $ty:ty = $value:expr, $code:literal, $what:literal;)*) => {
        $(#[doc = $what] pub const $name: $ty = $value;)*

        /// Every bound.
        pub const TABLE: &[Limit] =
            &[$(Limit { name: stringify!($name), value: $value as u64, what: $what, code: $code }),*];
    };
}

limits! {
    // Text.
    MAX_SOURCE_BYTES: u64 = 16 << 20, "E0903", "bytes of a source file";
    MAX_NESTING: usize = 256, "E0115", "brackets or blocks inside one another";
    MAX_CLAUSES: usize = 4096, "E0115", "`elif` in a row";
    MAX_OPERATORS: usize = 20_000, "E0115", "operators inside one another in one expression";
    MAX_FAULTS: usize = 200, "E0119", "syntax errors of a file";

    // Types.
    MAX_LENGTH: u16 = 1024, "E0317", "components of a vector, rows or columns of a matrix";
    MAX_PARTS: u64 = 4096, "E0317", "components of one value: a matrix, or a struct with all that is in it";
    MAX_LOCAL_ELEMENTS: u32 = 1 << 20, "E0305", "elements of a local array";
    MAX_LOCAL_BYTES: u64 = 256 << 10, "E0802", "bytes of the local arrays of a function, as compiled for the host or to PTX";

    MAX_PRINTED: usize = 4096, "E0910", "values of one `print` or `printf`";

    // What is computed while compiling.
    MAX_CONSTANT_PARTS: usize = 1 << 16, "E0508", "parts (numbers and operations) of one compile-time value";
    MAX_CONSTANT_COPIES: usize = 1 << 21, "E0508", "parts of all uses of compile-time values in a file together";
    MAX_STATIC_ITERATIONS: usize = 4096, "E0501", "iterations of a loop that is unrolled because `wp.static` needs its variable";
    MAX_UNROLLED_STATEMENTS: usize = 1 << 15, "E0910", "statements that such loops of a file are unrolled to, nested ones multiplied";
    MAX_PYTHON_CLAUSES: usize = 8, "E0508", "`for`s of one comprehension that is computed while compiling";
    MAX_NESTED_USES: usize = 4096, "E0910", "functions and constants that are looked up inside one another";
    MAX_INSTANCES: usize = 32_768, "E0910", "versions of the functions of a file, one for each combination of argument types";
    MAX_GRADIENT_DEPTH: u32 = 8, "E0910", "`wp.grad` of functions that call `wp.grad`, inside one another";
    MAX_DIFFERENTIATED: usize = 1 << 17, "W0607, E0605", "operations of a kernel or function with all that is inlined, to be differentiated";
    MAX_ORIGINS: usize = 8, "W0607", "arrays among which a branch or loop chooses one, in a kernel that is differentiated";
    MAX_VIEWS: usize = 4, "W0607", "views of views of such an array";

    MAX_SHOWN: usize = 1_000, "", "findings of a file that an editor shows, the first ones";
    MAX_SUGGESTIONS: usize = 256, "", "unknown names of a file for which a similar one is looked for; the others are reported without";

    // Python code around kernels.
    MAX_SCOPES: usize = 2048, "W0504", "variants of kernels that calls and loops of Python code make";
    MAX_HOST_ITERATIONS: usize = 256, "W0504", "iterations of a Python loop around kernels";
    MAX_HOST_CALLS: u32 = 32, "W0504", "calls of Python functions inside one another, for a compile-time value";
    MAX_FILES: usize = 1024, "E0507", "files that are imported, directly or not";
    MAX_IMPORTS: usize = 64, "E0507", "imports that pass on one name";

    // Parameters.
    MAX_PARAMETER_BYTES: u32 = 32_764, "E0803", "bytes of a kernel's parameters in PTX";
}
