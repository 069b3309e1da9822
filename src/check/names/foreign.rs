//! What do the words of Numba, CUDA, Triton, Taichi, PyTorch and of Python's own modules become in
//! a kernel?

use crate::library::Library;

/// What to write instead of a foreign name or a call of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Advice {
    /// A built-in or type of another name; arguments stay as they are.
    Name(&'static str),
    /// The whole call is this built-in without arguments.
    Whole(&'static str),
    /// The first argument alone.
    Argument,
    /// A word of Python itself.
    Word(&'static str),
    /// Something that has another form; the text is a sentence.
    Say(&'static str),
}

use Advice::{Argument, Name, Say, Whole, Word};

const BLOCKS: &str = "`wp.tid()` is the index of the thread in the launch; blocks are not visible in kernels";
const LANES: &str = "the threads of a warp exchange values by `wp.shuffle`, `wp.shuffle_up`, `wp.shuffle_down`, `wp.shuffle_xor`, `wp.ballot` and `wp.match`";
const BARRIER: &str =
    "the threads of a block wait for each other at `wp.sync()`; those of all blocks where a kernel ends";
const SHARED: &str = "an array of the block is `wp.zeros(shape=N, dtype=float, storage=\"shared\")`";
const LOCAL: &str = "an array of the thread alone is `wp.zeros(shape=N, dtype=float)`, with a constant shape";
const RANDOM: &str = "a thread makes its own generator: `state = wp.rand_init(seed, i)`, then `wp.randf(state)`";
const ELEMENT: &str =
    "each thread works on one element: `wp.tid()` is its index, `x[i]` reads and `x[i] = value` writes it";
const REDUCE: &str =
    "a thread sees single elements: loop over the indices, or combine across threads with `wp.atomic_add`";
const HOST: &str = "a kernel calls built-ins and `@wp.func` functions only: compute this outside, and pass it in";

/// The libraries whose words are known here, as people call them.
pub fn library_of(path: &str) -> Option<&'static str> {
    Some(match path.split('.').next()? {
        "numba" => "Numba",
        "triton" => "Triton",
        "taichi" => "Taichi",
        "torch" => "PyTorch",
        "jax" => "JAX",
        "cupy" => "CuPy",
        "cuda" => "CUDA",
        "random" => "Python's `random`",
        "time" => "Python's `time`",
        "os" | "sys" | "itertools" | "functools" | "collections" | "scipy" | "datetime" | "copy" => "host Python",
        _ => return None,
    })
}

/// Whether a word is one that Python code defines in this text, or that Python has itself.
pub fn is_of_python(word: &str, text: &str) -> bool {
    const BUILTINS: &[&str] = &[
        "all",
        "any",
        "bytes",
        "chr",
        "complex",
        "dict",
        "divmod",
        "enumerate",
        "eval",
        "filter",
        "format",
        "frozenset",
        "getattr",
        "globals",
        "hasattr",
        "hash",
        "id",
        "input",
        "isinstance",
        "iter",
        "list",
        "map",
        "next",
        "object",
        "open",
        "ord",
        "repr",
        "reversed",
        "set",
        "setattr",
        "slice",
        "sorted",
        "str",
        "sum",
        "tuple",
        "type",
        "vars",
        "zip",
        "__file__",
        "__name__",
    ];
    let defines = |line: &str| {
        let line = line.trim_start();
        let rest = ["class ", "def ", "async def "].iter().find_map(|start| line.strip_prefix(start));
        rest.and_then(|rest| rest.strip_prefix(word)).is_some_and(|rest| rest.starts_with(['(', ':', ' ']))
    };
    BUILTINS.contains(&word) || text.lines().any(defines)
}

/// The module that people mean by a name without an import.
pub fn of_custom(name: &str) -> Option<&'static str> {
    Some(match name {
        "cuda" => "numba.cuda",
        "numba" | "nb" => "numba",
        "tl" => "triton.language",
        "triton" => "triton",
        "ti" | "taichi" => "taichi",
        "torch" => "torch",
        "jnp" => "jax.numpy",
        "cp" | "cupy" => "cupy",
        _ => return None,
    })
}

/// Whether a path is one of the numbers from which CUDA programs compute the index of a thread.
pub fn is_thread_number(path: &str) -> bool {
    path.split('.').any(|word| matches!(word, "threadIdx" | "blockIdx" | "blockDim" | "gridDim"))
}

/// What to write for the name with this path of modules: `numba.cuda.grid`.
pub fn of_path(path: &str) -> Advice {
    if is_thread_number(path) {
        return Say(BLOCKS);
    }
    let last = path.rsplit('.').next().unwrap_or(path);
    let library = path.split('.').next().unwrap_or(path);
    match (library, last) {
        ("numba", "grid") | ("triton", "program_id") => Whole("tid"),
        ("numba", "gridsize") | ("triton", "num_programs") => {
            Say("a launch has a thread for each element: launch as many as there are, and leave the loop away")
        }
        ("numba", "laneid") => {
            Say("`wp.lane()` is the number of the thread in its block, `wp.lane() % 32` that in its warp")
        }
        ("numba", "syncwarp") => Say(BARRIER),
        ("numba", "warpsize") => Say("a warp has 32 threads"),
        ("numba", word) if word.starts_with("shfl_") || word.starts_with("match_") || word.ends_with("_sync") => {
            Say(LANES)
        }
        ("numba", "ballot" | "activemask" | "lanemask_lt") => Say(LANES),
        (_, "syncthreads" | "threadfence" | "debug_barrier" | "sync" | "block_barrier") => Say(BARRIER),
        ("numba", "add") if path.contains("atomic") => Name("atomic_add"),
        ("numba", "sub") if path.contains("atomic") => Name("atomic_sub"),
        ("numba", "max") if path.contains("atomic") => Name("atomic_max"),
        ("numba", "min") if path.contains("atomic") => Name("atomic_min"),
        ("numba", "exch") if path.contains("atomic") => Name("atomic_exch"),
        ("numba", "cas" | "compare_and_swap") => Name("atomic_cas"),
        ("numba", "array") if path.contains("shared") => Say(SHARED),
        ("numba", "array") if path.contains("local") => Say(LOCAL),
        ("numba", "prange") => Word("range"),
        ("taichi", "static") => Argument,
        ("triton", "static_range") => Word("range"),
        ("triton", "range") => Word("range"),
        ("taichi", "ndrange" | "grouped") => {
            Say("launch over several dimensions, `i, j = wp.tid()`, or nest loops: `for i in range(n):`")
        }
        ("taichi", "random" | "randn") | ("torch" | "jax" | "cupy", "rand" | "randn") | ("random", _) => Say(RANDOM),
        ("taichi", "loop_config") => Say("leave it away: the threads of a launch run in parallel already"),
        ("taichi", "select") => Name("where"),
        ("triton", "arange" | "make_block_ptr" | "load" | "store" | "advance") => Say(ELEMENT),
        ("triton", "cdiv") => Say("write `(a + b - 1) // b`"),
        ("triton", "constexpr") => Word("int"),
        ("triton", "dot") => Say("loop over the inner dimension: `s += a[i, k] * b[k, j]`"),
        ("triton" | "taichi" | "torch" | "jax" | "cupy", "zeros" | "full" | "zeros_like" | "ones" | "empty") => {
            Say(LOCAL)
        }
        ("triton" | "torch" | "jax" | "cupy", "sum" | "max" | "min" | "mean" | "cumsum" | "argmax" | "argmin") => {
            Say(REDUCE)
        }
        ("triton", "atomic_add" | "atomic_max" | "atomic_min" | "atomic_xchg" | "atomic_cas") => {
            Say("write the array and the index apart: `wp.atomic_add(x, i, value)`")
        }
        ("time", _) => Say("a kernel cannot read a clock: time its launch outside"),
        ("taichi", "template") => {
            Say("annotate the type, such as `wp.array(dtype=float)`; `typing.Any` leaves it open")
        }
        _ => of_word(last),
    }
}

/// A word that many libraries share.
fn of_word(word: &str) -> Advice {
    match short_type(word) {
        Some(name) => Name(name),
        None => match super::habits::of_name(word) {
            Some(super::habits::Habit::Name(name)) => Name(name),
            Some(super::habits::Habit::Word(word)) => Word(word),
            Some(super::habits::Habit::Say(help)) => Say(help),
            // `cuda.libdevice.fast_sinf`
            None => match word.strip_prefix("fast_") {
                Some(slow) => of_word(slow),
                None => Library::public_names().find(|name| *name == word).map_or(Say(HOST), Name),
            },
        },
    }
}

/// The type that a word such as `f32`, `int64` or `vec3` names elsewhere.
pub fn short_type(word: &str) -> Option<&'static str> {
    Some(match word {
        "f16" | "float16" | "half" => "float16",
        "bfloat16" => "bfloat16",
        "f32" | "float32" => "float32",
        "f64" | "float64" | "double" => "float64",
        "i8" | "int8" => "int8",
        "i16" | "int16" => "int16",
        "i32" | "int32" => "int32",
        "i64" | "int64" | "long" => "int64",
        "u8" | "uint8" => "uint8",
        "u16" | "uint16" => "uint16",
        "u32" | "uint32" => "uint32",
        "u64" | "uint64" => "uint64",
        "vec2" => "vec2",
        "vec3" => "vec3",
        "vec4" => "vec4",
        "mat2" => "mat22",
        "mat3" => "mat33",
        "mat4" => "mat44",
        _ => return None,
    })
}

/// Words of `warp` that belong to host code.
pub fn of_host_warp(word: &str) -> Option<&'static str> {
    Some(match word {
        "launch" | "launch_tiled" => {
            "kernels start no kernels: launch both from Python, one after the other, or call a `@wp.func`"
        }
        "synchronize" | "synchronize_device" | "synchronize_stream" => {
            "launches end before what follows them reads: leave it away"
        }
        "copy" => "copy elements: `y[i] = x[i]`",
        "zeros_like" | "ones_like" | "empty_like" | "full_like" | "from_numpy" | "to_torch" | "from_torch"
        | "clone" => "kernels make no arrays: make it outside and pass it in",
        "ScopedTimer" | "Tape" | "init" | "config" | "set_device" | "get_device" | "capture_begin"
        | "capture_launch" => HOST,
        _ => return None,
    })
}

/// The function that a method of a vector, matrix or number is here: `v.norm()` is `wp.length(v)`.
pub fn of_method(word: &str) -> Option<&'static str> {
    Some(match word {
        "norm" | "length" | "magnitude" => "length",
        "norm_sqr" => "length_sq",
        "normalize" | "normalized" | "unit" => "normalize",
        "dot" => "dot",
        "cross" => "cross",
        "outer_product" => "outer",
        "transpose" => "transpose",
        "inverse" | "inv" => "inverse",
        "determinant" | "det" => "determinant",
        "trace" => "trace",
        _ => return None,
    })
}

/// Whether a decorator of another library makes kernels or device functions.
pub fn is_jit(path: &str) -> bool {
    let last = path.rsplit('.').next().unwrap_or_default();
    library_of(path).is_some() && matches!(last, "jit" | "njit" | "vectorize" | "guvectorize" | "kernel" | "func")
}

/// Names of classes for arrays, in annotations.
pub fn is_array_class(word: &str) -> bool {
    matches!(
        word,
        "ndarray"
            | "NDArray"
            | "Tensor"
            | "tensor"
            | "Array"
            | "DeviceNDArray"
            | "FloatTensor"
            | "list"
            | "List"
            | "Sequence"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::types::value::type_of_name;

    /// A suggestion that does not exist would send people in a circle.
    #[test]
    fn suggested_names_exist() {
        let known = |name: &str| Library::has(name) || type_of_name(name).is_some() || name == "tid";
        for word in ["norm", "norm_sqr", "unit", "dot", "cross", "outer_product", "transpose", "inv", "det", "trace"] {
            let name = of_method(word).expect("a function");
            assert!(known(name), "{word}: there is no `{name}`");
        }
        for path in
            "numba.cuda.grid triton.language.program_id numba.cuda.atomic.add numba.cuda.atomic.cas taichi.select \
                     taichi.sin taichi.f32 triton.language.exp torch.clamp taichi.math.vec3 numba.float32"
                .split(' ')
        {
            match of_path(path) {
                Name(name) | Whole(name) => assert!(known(name), "{path}: there is no `{name}`"),
                other => panic!("{path}: {other:?}"),
            }
        }
    }
}
