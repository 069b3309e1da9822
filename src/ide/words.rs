//! What do the words say that are no built-ins, and so have no entry in the library?

/// A word of the kernel language.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Word {
    pub name: &'static str,
    pub signature: &'static str,
    pub doc: &'static str,
    /// What the gradient is; empty where the question makes no sense.
    pub gradient: &'static str,
    /// Is only above definitions.
    pub decorator: bool,
}

const fn word(name: &'static str, signature: &'static str, doc: &'static str, gradient: &'static str) -> Word {
    Word { name, signature, doc, gradient, decorator: false }
}

const fn decorator(name: &'static str, signature: &'static str, doc: &'static str) -> Word {
    Word { name, signature, doc, gradient: "", decorator: true }
}

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
    /// What the library has an entry for is said there.
    #[test]
    fn no_word_hides_an_entry_of_the_library() {
        for word in super::WORDS {
            assert!(crate::library::reference::builtin(word.name).is_empty(), "{}", word.name);
        }
    }
}
