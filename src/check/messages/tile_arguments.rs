//! Findings about the arguments of tile operations.

use crate::diag::{Code, Diagnostic, counted};
use crate::source::Span;

/// A tile operation gets a parameter twice.
pub(in crate::check) fn given_twice(param: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0402, format!("`{param}` is given twice")).label(at, "the second one")
}

/// The `storage` of a tile is neither "register" nor "shared".
pub(in crate::check) fn storage(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0401, "`storage` is \"register\" or \"shared\"").label(at, "neither of them")
}

/// A tile operation is called with another number of arguments than it takes.
pub(in crate::check) fn wrong_number(name: &str, params: &str, given: usize, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0402, format!("`{name}` takes ({params}), {given} given")).label(at, "this call")
}

/// A tile operation lacks an argument.
pub(in crate::check) fn missing(name: &str, param: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0402, format!("`{name}` needs `{param}`")).label(at, "this call")
}

/// A tile operation is called with something else than a tile.
pub(in crate::check) fn works_on_tiles(name: &str, ty: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0401, format!("`{name}` works on tiles")).label(at, format!("this is `{ty}`"))
}

/// A tile operation changes a tile that has elements several times.
pub(in crate::check) fn repeated_elements_changed(name: &str, param: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0407, format!("`{name}` changes `{param}`, which has elements several times"))
        .label(at, "repeated by `wp.tile_broadcast`")
}

/// A tile operation changes a tile that is no variable.
pub(in crate::check) fn change_is_lost(name: &str, param: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0407, format!("`{name}` changes `{param}`"))
        .label(at, "not a variable: nothing could keep the change")
}

/// An argument that must be known while compiling is not.
pub(in crate::check) fn at_compile_time(what: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0501, format!("{what} is known at compile time"))
        .label(at, "not a constant")
        .help("write numbers, or names of constants of the module")
}

/// A tile has elements of a type that it cannot hold.
pub(in crate::check) fn element(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0310, "a tile holds numbers, vectors or structs").label(at, "not an element type")
}

/// An index of a tile is no integer.
pub(in crate::check) fn index(ty: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0305, format!("an index is an integer, not `{ty}`")).label(at, "not an integer")
}

/// An argument is not known while compiling.
pub(in crate::check) fn constant(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0501, "this is known at compile time").label(at, "not a constant")
}

/// `tile_ones` is called for a type without a one.
pub(in crate::check) fn no_ones(name: &str, ty: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0401, format!("`{name}` makes no tile of `{ty}`")).label(at, "no ones")
}

/// The `storage` of an array of the block is another word than "shared".
pub(in crate::check) fn storage_of_array(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0401, "an array of the block has `storage=\"shared\"`, one of the thread none")
        .label(at, "another word")
}

/// A tile is filled with a value of another type than its elements.
pub(in crate::check) fn fill_value(wanted: &str, found: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0401, format!("a tile of `{wanted}` cannot be filled with `{found}`"))
        .label(at, format!("this is `{found}`"))
}

/// A tile is made of a value that it cannot hold.
pub(in crate::check) fn not_an_element(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0401, "a tile holds numbers, vectors or structs").label(at, "not an element")
}

/// `tile_arange` is called with a keyword that it does not have.
pub(in crate::check) fn keyword_of_arange(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0403, "`tile_arange` takes numbers, `dtype` and `storage`").label(at, "given here")
}

/// `tile_arange` is called with a `dtype` that is no scalar type.
pub(in crate::check) fn type_of_arange(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0310, "`tile_arange` makes numbers").label(at, "`dtype` is no scalar type")
}

/// The bounds of `tile_arange` are no constants.
pub(in crate::check) fn bounds_of_arange(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0501, "the bounds of `tile_arange` are constants").label(at, "not a constant")
}

/// `tile_arange` is called with another number of bounds than 1 to 3.
pub(in crate::check) fn number_of_bounds(given: usize, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0402, "`tile_arange` takes a stop, a start and a step").label(at, counted(given, "number"))
}

/// A Fourier transform is called for elements that are no complex numbers.
pub(in crate::check) fn complex_elements(name: &str, element: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0401, format!("`{name}` works on `vec2f` and `vec2d`: the real and the imaginary part"))
        .label(at, format!("a tile of `{element}`"))
}

/// `precision="tf32"` is given for tiles of another type than `float32`.
pub(in crate::check) fn tf32_of_others(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0401, "`precision=\"tf32\"` is for products of `float32` tiles")
        .label(at, "a tile has another type")
}

/// `precision` is another word than it can be.
pub(in crate::check) fn precision(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0401, "`precision` is \"default\" or \"tf32\"").label(at, "neither of them")
}

/// A product of matrices is added to something else than floats.
pub(in crate::check) fn product_added(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0401, "products are added to floats").label(at, "no tile of numbers")
}

/// A factor of a product is no number.
pub(in crate::check) fn factor(ty: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0401, "a factor of a product is a number").label(at, format!("this is `{ty}`"))
}

/// A product of matrices is of elements that are no floats.
pub(in crate::check) fn product_of_others(element: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0401, "`tile_matmul` works on floats").label(at, format!("a tile of `{element}`"))
}

/// A tile is added to an array whose elements have no atomic addition.
pub(in crate::check) fn added_atomically(element: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0401, format!("there is no atomic addition of `{element}`")).label(at, "these elements")
}

/// The old values of an atomic addition of structs are used.
pub(in crate::check) fn old_structs(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0401, "the old structs cannot be told").label(at, "use this as a statement")
}

/// A tile is stored in an array with elements of another type.
pub(in crate::check) fn stored_in_array(found: &str, wanted: &str, at: Span, array: Span) -> Diagnostic {
    Diagnostic::new(Code::E0303, format!("cannot store `{found}` where the array's elements are `{wanted}`"))
        .label(at, format!("a tile of `{found}`"))
        .label(array, format!("an array of `{wanted}`"))
        .help("`wp.tile_astype(t, dtype=...)` converts the elements")
}

/// Random elements have one bound instead of two.
pub(in crate::check) fn one_bound(name: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0402, format!("`{name}` takes both bounds or none")).label(at, "one of them")
}

/// A tile operation is called for elements that are no numbers.
pub(in crate::check) fn works_on_numbers(name: &str, element: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0401, format!("`{name}` works on numbers")).label(at, format!("a tile of `{element}`"))
}

/// `tile_extract` is called without a tile.
pub(in crate::check) fn extract_of_nothing(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0402, "`tile_extract` takes a tile and indices").label(at, "none given")
}

/// An entry of the library gives a value, and should give none.
pub(in crate::check) fn library_gives_value(function: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0999, format!("the library's `{function}` gives a value")).label(at, "here")
}

/// `tile_sort` is called with keys that are no numbers.
pub(in crate::check) fn keys(element: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0401, "keys are numbers").label(at, format!("a tile of `{element}`"))
}

/// `fill_mode` is another word than it can be.
pub(in crate::check) fn fill_mode(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0401, "`fill_mode` is \"lower\" or \"upper\"").label(at, "neither of them")
}

/// A tile operation is called for elements that are no floats.
pub(in crate::check) fn works_on_floats(name: &str, element: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0401, format!("`{name}` works on float32 and float64"))
        .label(at, format!("a tile of `{element}`"))
}

/// The matrix and the right side of equations are of two types.
pub(in crate::check) fn one_type(name: &str, matrix: &str, right: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0401, format!("`{name}` takes one type, not `{matrix}` and `{right}`"))
        .label(at, format!("a tile of `{right}`"))
}

/// `has_value` is no `bool`.
pub(in crate::check) fn has_value(ty: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0401, "`has_value` is a bool").label(at, format!("this is `{ty}`"))
}

/// A tile is made of values that it cannot hold.
pub(in crate::check) fn held_by_tile(ty: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0401, "a tile holds numbers, vectors or structs").label(at, format!("this is `{ty}`"))
}

/// `untile` is called for elements that are no numbers, vectors or matrices.
pub(in crate::check) fn untiled(element: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0319, "`untile` gives numbers, vectors and matrices")
        .label(at, format!("this is `{element}`"))
}

/// A tile operation is called without arguments.
pub(in crate::check) fn takes_a_tile(name: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0402, format!("`{name}` takes a tile")).label(at, "none given")
}

/// A shuffle is called with another number of arguments than two.
pub(in crate::check) fn of_shuffle(name: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0402, format!("`{name}` takes a value and a number")).label(at, "this call")
}

/// A shuffle is called with a value that it does not pass on.
pub(in crate::check) fn shuffled(name: &str, ty: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0401, format!("`{name}` passes on numbers, vectors and structs"))
        .label(at, format!("this is `{ty}`"))
}

/// `ballot` is called with another number of arguments than one.
pub(in crate::check) fn of_ballot(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0402, "`ballot` takes a condition").label(at, "this call")
}

/// `match` is called with another number of arguments than one.
pub(in crate::check) fn of_match(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0402, "`match` takes a value").label(at, "this call")
}

/// `match` is called with a value that is no integer.
pub(in crate::check) fn matched(ty: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0401, "`match` compares integers").label(at, format!("this is `{ty}`"))
}

/// A tile operation lacks an argument that its parameters require; `what` names it.
pub(in crate::check) fn nothing_given(what: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0402, format!("no {what}")).label(at, "here")
}
