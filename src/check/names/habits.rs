//! What do people write who come from Python, NumPy, CUDA or GLSL, and what is it called here?

/// The kernel language's way to say something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Habit {
    /// A built-in of another name with the same arguments.
    Name(&'static str),
    /// A word of Python itself.
    Word(&'static str),
    /// Something that has another form; the text ends the sentence "...".
    Say(&'static str),
}

use Habit::{Name, Say, Word};

/// For a function or name that kernels do not have.
pub fn of_name(name: &str) -> Option<Habit> {
    Some(match name {
        // NumPy and `math`
        "clip" => Name("clamp"),
        "fabs" | "fabsf" | "absolute" => Name("abs"),
        "maximum" | "fmax" | "fmaxf" | "amax" => Name("max"),
        "minimum" | "fmin" | "fminf" | "amin" => Name("min"),
        "arcsin" => Name("asin"),
        "arccos" => Name("acos"),
        "arctan" => Name("atan"),
        "arctan2" => Name("atan2"),
        "power" | "powf" => Name("pow"),
        "mod" | "fmod" | "remainder" => Say("write `a % b`; it has the sign of `a`"),
        "norm" => Name("length"),
        "hypot" => Say("write `wp.length(wp.vec2(x, y))`"),
        "transpose" => Name("transpose"),
        "inv" => Name("inverse"),
        "det" => Name("determinant"),
        "outer" => Name("outer"),
        "linalg" => Say("the functions of `np.linalg` are built-ins: `wp.length`, `wp.inverse`, `wp.determinant`"),
        "rand" | "random" | "uniform" => {
            Say("a thread makes its own generator: `state = wp.rand_init(seed, i)`, then `wp.randf(state)`")
        }
        "randn" | "normal" => {
            Say("a thread makes its own generator: `state = wp.rand_init(seed, i)`, then `wp.randn(state)`")
        }
        "randint" => {
            Say("a thread makes its own generator: `state = wp.rand_init(seed, i)`, then `wp.randi(state, low, high)`")
        }
        "concatenate" | "stack" | "arange" | "linspace" | "ones_like" | "zeros_like" => {
            Say("a kernel works on single elements: make the array outside and pass it in")
        }
        "thread_id" | "thread_index" | "global_id" | "get_global_id" | "program_id" => Name("tid"),
        // CUDA
        "atomicAdd" => Name("atomic_add"),
        "atomicSub" => Name("atomic_sub"),
        "atomicMin" => Name("atomic_min"),
        "atomicMax" => Name("atomic_max"),
        "atomicCAS" => Name("atomic_cas"),
        "atomicExch" => Name("atomic_exch"),
        "atomic_inc" | "atomicInc" => Say("write `wp.atomic_add(x, i, 1)`: it gives the count before"),
        "atomic_dec" | "atomicDec" => Say("write `wp.atomic_sub(x, i, 1)`: it gives the count before"),
        "float2" => Name("vec2"),
        "float3" => Name("vec3"),
        "float4" => Name("vec4"),
        "int2" => Name("vec2i"),
        "int3" => Name("vec3i"),
        "int4" => Name("vec4i"),
        "vector2" => Name("vec2"),
        "vector3" => Name("vec3"),
        "vector4" => Name("vec4"),
        "make_float2" => Name("vec2"),
        "make_float3" => Name("vec3"),
        "make_float4" => Name("vec4"),
        "make_int2" => Name("vec2i"),
        "make_int3" => Name("vec3i"),
        "make_int4" => Name("vec4i"),
        "__ldg" => Say("write the element itself, `x[i]`"),
        "sinf" => Name("sin"),
        "cosf" => Name("cos"),
        "tanf" => Name("tan"),
        "expf" => Name("exp"),
        "logf" => Name("log"),
        "sqrtf" => Name("sqrt"),
        "floorf" => Name("floor"),
        "ceilf" => Name("ceil"),
        "rsqrt" | "rsqrtf" => Say("write `1.0 / wp.sqrt(x)`"),
        "fma" | "fmaf" => Say("write `a * b + c`: it is fused where the GPU can"),
        "threadIdx" | "blockIdx" | "blockDim" | "gridDim" => Say("`wp.tid()` is the index of the thread in the launch"),
        "syncthreads" | "__syncthreads" => Say("the threads of a block wait for each other at `wp.sync()`"),
        // GLSL
        "mix" => Name("lerp"),
        "fract" => Name("frac"),
        "inversesqrt" => Say("write `1.0 / wp.sqrt(x)`"),
        // Python
        "sum" => Say("loop over the indices, or sum across threads with `wp.atomic_add`"),
        "any" | "all" | "sorted" | "zip" | "map" | "filter" | "enumerate" | "iter" | "next" => {
            Say("loop over the indices: `for i in range(n):`")
        }
        "isinstance" | "issubclass" | "hasattr" | "getattr" => {
            Say("types are known at compile time; compare `x.dtype` with a type, or write overloads")
        }
        "str" | "repr" | "format" | "input" | "open" => {
            Say("kernels have no strings; `wp.printf(\"%f\\n\", x)` prints")
        }
        "list" | "dict" | "set" | "tuple" => {
            Say("use a vector (`wp.vec3(...)`) or a local array (`wp.zeros(shape=N, dtype=float)`)")
        }
        "divmod" => Say("write `a // b` and `a % b`"),
        "null" | "nullptr" | "NULL" => Say("an array that may be missing is tested by itself: `if x:`"),
        "true" => Word("True"),
        "false" => Word("False"),
        _ => return None,
    })
}

/// For an attribute or method of a value: what to write instead of `value.name`.
pub fn of_attribute(name: &str) -> Option<&'static str> {
    Some(match name {
        "norm" | "length" | "magnitude" => "write `wp.length(v)`",
        "normalize" | "normalized" | "unit" => "write `wp.normalize(v)`",
        "dot" => "write `wp.dot(a, b)`",
        "cross" => "write `wp.cross(a, b)`",
        "T" | "transpose" => "write `wp.transpose(m)`",
        "inverse" | "inv" => "write `wp.inverse(m)`",
        "sum" | "mean" | "max" | "min" | "any" | "all" | "prod" => {
            "loop over the indices, or combine across threads with `wp.atomic_add`, `wp.atomic_max`"
        }
        "append" | "extend" | "insert" | "pop" | "resize" => {
            "arrays keep their size in a kernel; write elements: `x[i] = value`"
        }
        "fill_" | "fill" | "copy" | "clone" | "zero_" | "numpy" | "tolist" => {
            "a thread works on elements: `x[i]` reads and `x[i] = value` writes one"
        }
        "astype" => "convert single values: `float(x)`, `wp.float64(x)`",
        "len" => "write `x.shape[0]`",
        "shape" | "size" | "ndim" => "the number of components is `len(v)`",
        "r" | "g" | "b" | "a" => "components are `x`, `y`, `z`, `w`",
        _ => return None,
    })
}

/// For Python that kernels do not have, in the words of the syntax tree.
pub fn of_construct(what: &str) -> Option<&'static str> {
    Some(match what {
        "an f-string" => "`print(x)` prints values; `wp.printf(\"%f\\n\", x)` formats them",
        "a lambda" => "write a function with `@wp.func`",
        "a nested function" => "move it to the top of the file and decorate it with `@wp.func`",
        "a comprehension" | "a generator expression" => "write a loop: `for i in range(n):`",
        "a dict" | "a set" => "use a `@wp.struct`",
        "`try`" | "`raise`" => "kernels have no exceptions; write an error code to an array, or use `assert`",
        "`with`" => "kernels have no context managers: write the lines below it without it",
        "`import` in a function" => "import at the top of the file",
        "`yield`" | "`async`" | "`await`" => "a kernel runs from start to end in each thread",
        "`global`" | "`nonlocal`" => {
            "module constants can be read; a count goes to an array parameter: `wp.atomic_add(count, 0, 1)`"
        }
        "`del`" => "a variable ends with its function",
        "`:=`" => "assign on a line of its own",
        "a complex number" => "keep the two parts in a `wp.vec2`",
        "`match`" => "write `if` and `elif`",
        "`None`" => "an array that may be missing is tested by itself: `if x:`",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A suggestion that does not exist would send people in a circle.
    #[test]
    fn suggested_names_exist() {
        let words = "clip fabs maximum minimum arcsin arctan2 power norm inv det outer atomicAdd float3 int2 sinf mix";
        for word in words.split(' ') {
            let Some(Name(name)) = of_name(word) else { panic!("{word} has no name") };
            let known = crate::library::Library::has(name) || crate::check::types::value::type_of_name(name).is_some();
            assert!(known, "{word}: there is no `{name}`");
        }
    }
}
