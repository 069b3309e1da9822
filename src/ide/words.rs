//! What do the words say that the compiler itself knows, and so have no entry in the library?

/// A word of the kernel language.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Word {
    pub name: &'static str,
    pub signature: &'static str,
    pub doc: &'static str,
    /// What the gradient is; empty where the question makes no sense.
    pub gradient: &'static str,
    /// Stands only above definitions.
    pub decorator: bool,
}

const fn word(name: &'static str, signature: &'static str, doc: &'static str, gradient: &'static str) -> Word {
    Word { name, signature, doc, gradient, decorator: false }
}

const fn decorator(name: &'static str, signature: &'static str, doc: &'static str) -> Word {
    Word { name, signature, doc, gradient: "", decorator: true }
}

const ATOMIC: &str = "passes the adjoint of the element to `value`";
const NONE: &str = "none: integers";

/// Every word.
pub const WORDS: &[Word] = &[
    decorator("kernel", "@wp.kernel", "Marks a kernel: a function that is launched over a grid of threads."),
    decorator("func", "@wp.func", "Marks a function that kernels can call."),
    decorator("struct", "@wp.struct", "Marks a class whose annotated members are the fields of a struct."),
    decorator(
        "func_grad",
        "@wp.func_grad(f)",
        "Marks the gradient rule of `f`: it takes the parameters of `f`, then the adjoints of its results, and adds to `wp.adjoint[x]`.",
    ),
    decorator("func_replay", "@wp.func_replay(f)", "Marks what runs instead of `f` in backward code."),
    word("adjoint", "adjoint[x]", "The adjoint of the parameter `x`, in a gradient rule.", ""),
    word(
        "array",
        "array(dtype=T, ndim=1)",
        "An array in device memory. `array2d`, `array3d`, `array4d` say the rank.",
        "",
    ),
    word("array2d", "array2d(dtype=T)", "An array in device memory with 2 dimensions.", ""),
    word("array3d", "array3d(dtype=T)", "An array in device memory with 3 dimensions.", ""),
    word("array4d", "array4d(dtype=T)", "An array in device memory with 4 dimensions.", ""),
    word(
        "tid",
        "tid() -> int",
        "The index of this thread in the launch. Assigned to several names it has one coordinate for each: `i, j = wp.tid()`. Only in kernels.",
        NONE,
    ),
    word("block_dim", "block_dim() -> int", "The number of threads of a block.", NONE),
    word(
        "range",
        "range(start=0, end, step=1)",
        "The numbers of a `for` loop, from `start` up to, but not with, `end`.",
        "",
    ),
    word(
        "len",
        "len(x) -> int",
        "The number of components of a vector, of rows of a matrix, of elements in the first dimension of an array.",
        NONE,
    ),
    word(
        "zeros",
        "zeros(shape=N, dtype=T)",
        "An array of zeros that belongs to the thread. `shape` is a compile-time constant.",
        "",
    ),
    word("static", "static(expression)", "Evaluates an expression when the kernel is compiled.", ""),
    word("constant", "constant(value)", "Names a compile-time constant.", ""),
    word("print", "print(value)", "Prints a value, with a new line. The output of the threads comes in no order.", ""),
    word(
        "printf",
        "printf(format, *values)",
        "Prints scalars in the form of C's `printf`. `format` is a string literal.",
        "",
    ),
    word("type", "type(x)", "The type of `x`, for calls such as `type(x)(0)`.", ""),
    word(
        "vector",
        "vector(*components, length=N, dtype=T)",
        "A vector of any length.",
        "each component's adjoint goes to its argument",
    ),
    word(
        "matrix",
        "matrix(*elements, shape=(R, C), dtype=T)",
        "A matrix of any shape, row by row.",
        "each element's adjoint goes to its argument",
    ),
    word(
        "quaternion",
        "quaternion(x, y, z, w, dtype=T)",
        "A quaternion: the vector part, then `w`.",
        "each component's adjoint goes to its argument",
    ),
    word(
        "transformation",
        "transformation(p, q, dtype=T)",
        "A translation `p` and a rotation `q`.",
        "each part's adjoint goes to its argument",
    ),
    word("identity", "identity(n, dtype=T)", "The identity matrix with `n` rows.", "zero: a constant"),
    word("quat_identity", "quat_identity(dtype=float)", "The rotation that changes nothing.", "zero: a constant"),
    word(
        "transform_identity",
        "transform_identity(dtype=float)",
        "The transformation that changes nothing.",
        "zero: a constant",
    ),
    word("cast", "cast(x, T)", "The bits of `x` as a value of type `T`, which has the same size.", "none: bits"),
    word(
        "select",
        "select(condition, if_false, if_true)",
        "One of two values, both of which are computed. `wp.where` has them the other way round.",
        "goes to the value that was chosen",
    ),
    word("view", "view(array, *indices)", "A part of an array with the leading dimensions fixed.", ""),
    word(
        "atomic_add",
        "atomic_add(array, i, ..., value)",
        "Adds to an element, safe among threads, and gives the old value.",
        ATOMIC,
    ),
    word(
        "atomic_sub",
        "atomic_sub(array, i, ..., value)",
        "Subtracts from an element, safe among threads, and gives the old value.",
        "passes the negated adjoint of the element to `value`",
    ),
    word(
        "atomic_min",
        "atomic_min(array, i, ..., value)",
        "Makes an element the smaller of itself and `value`, safe among threads, and gives the old value.",
        "goes to the values that are the result",
    ),
    word(
        "atomic_max",
        "atomic_max(array, i, ..., value)",
        "Makes an element the larger of itself and `value`, safe among threads, and gives the old value.",
        "goes to the values that are the result",
    ),
    word(
        "atomic_and",
        "atomic_and(array, i, ..., value)",
        "`&` on an element, safe among threads; gives the old value.",
        NONE,
    ),
    word(
        "atomic_or",
        "atomic_or(array, i, ..., value)",
        "`|` on an element, safe among threads; gives the old value.",
        NONE,
    ),
    word(
        "atomic_xor",
        "atomic_xor(array, i, ..., value)",
        "`^` on an element, safe among threads; gives the old value.",
        NONE,
    ),
    word(
        "atomic_exch",
        "atomic_exch(array, i, ..., value)",
        "Replaces an element, safe among threads, and gives the old value.",
        "none: it depends on the order of the threads",
    ),
    word(
        "atomic_cas",
        "atomic_cas(array, i, ..., expected, value)",
        "Replaces an element if it is `expected`, safe among threads, and gives the old value.",
        "none: it depends on the order of the threads",
    ),
    word(
        "grad",
        "grad(f)(*arguments)",
        "The gradients of the function `f` with respect to its arguments, at these arguments.",
        "differentiated like any code",
    ),
];

/// The word of this name.
pub fn find(name: &str) -> Option<&'static Word> {
    WORDS.iter().find(|word| word.name == name)
}

impl Word {
    /// The parameters in the signature.
    pub fn params(&self) -> Vec<String> {
        let inside =
            self.signature.split_once('(').and_then(|(_, rest)| rest.split_once(')')).map_or("", |(inside, _)| inside);
        inside.split(", ").filter(|param| !param.is_empty()).map(str::to_string).collect()
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_word_of_the_compiler_has_a_doc() {
        let missing: Vec<&&str> = crate::check::words::NAMES
            .iter()
            .filter(|name| super::find(name).is_none() && crate::library::reference::builtin(name).is_empty())
            .collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}
