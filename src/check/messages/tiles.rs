//! Findings about tiles as values: how they are assigned, passed and mapped.

use crate::diag::{Code, Diagnostic};
use crate::source::Span;

/// A parameter becomes another tile in a branch or loop.
pub(in crate::check) fn parameter_reassigned(name: &str, at: Span, param: Span) -> Diagnostic {
    Diagnostic::new(Code::E0302, format!("the parameter `{name}` cannot become another tile here"))
        .label(at, "in a branch or loop")
        .label(param, "the caller's tile")
        .help("use another name, or change the caller's tile: `wp.tile_assign(t, ...)`")
}

/// A name of a tile becomes a view in a branch or loop.
pub(in crate::check) fn tile_becomes_view(name: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0302, format!("`{name}` cannot become a view here"))
        .label(at, "in a branch or loop")
        .help(format!("use another name, or copy the elements: `wp.tile_assign({name}, ...)`"))
}

/// A name of a view becomes another tile in a branch or loop.
pub(in crate::check) fn view_becomes_tile(name: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0302, format!("the view `{name}` cannot become another tile here"))
        .label(at, "in a branch or loop")
        .help("use another name for the new tile, or set the view's elements: `h[0:4] = ...`")
}

/// A tile gets a new value while a view of it is used.
pub(in crate::check) fn viewed_tile_reassigned(name: &str, view: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0302, format!("`{name}` gets a new value while `{view}` is a view of it"))
        .label(at, "the view would show the new elements")
        .help("use another name for the new tile")
}

/// Something else than a tile is assigned to a tile.
pub(in crate::check) fn assigned_to_tile(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0303, "a tile is assigned to a tile").label(at, "not a tile")
}

/// A tile is assigned to one with elements of another type.
pub(in crate::check) fn stored_elements(found: &str, wanted: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0303, format!("cannot store `{found}` where the tile's elements are `{wanted}`"))
        .label(at, format!("a tile of `{found}`"))
}

/// A tile operation is in a part of an expression that may not run.
pub(in crate::check) fn operation_in_expression(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0320, "a tile operation stands where it may not run, or more than once")
        .label(at, "all threads of a block do a tile operation together, once")
        .help("compute the tile before, in a statement of its own")
}

/// A function that is called for each element makes tiles or local arrays.
pub(in crate::check) fn tiles_in_function_of_elements(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0319, "a function of elements works on numbers, vectors and structs")
        .label(at, "tiles or local arrays are made inside")
}

/// `tile_map` is called without a tile.
pub(in crate::check) fn map_without_tile(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0401, "one of the arguments is a tile").label(at, "there is none")
}

/// The function of `tile_map` gives something that a tile cannot hold.
pub(in crate::check) fn no_element_comes_out(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0401, "a tile holds numbers, vectors or structs").label(at, "no element comes out")
}

/// A binary operator is not defined for tiles.
pub(in crate::check) fn binary_operator(symbol: &str, operands: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0301, format!("`{symbol}` is not defined for {operands}")).label(at, "this is a tile")
}

/// A unary operator is not defined for tiles.
pub(in crate::check) fn unary_operator(symbol: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0301, format!("`{symbol}` is not defined for tiles"))
        .label(at, "this is a tile")
        .help("`wp.tile_map(f, t)` computes each element with a function")
}

/// A function is called for tiles with another number of arguments than it takes.
pub(in crate::check) fn arguments_of_elementwise(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0402, "the wrong number of arguments for tiles").label(at, "this call")
}

/// The first argument of `tile_map` is no function.
pub(in crate::check) fn map_without_function(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0401, "the first argument is a function").label(at, "not a function")
}

/// `tile_map` is called with a keyword.
pub(in crate::check) fn keyword_of_map(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0403, "`tile_map` has no keywords").label(at, "given here")
}

/// `tile_astype` is called for elements that are no numbers.
pub(in crate::check) fn converted_elements(element: &str, cast: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0401, "`tile_astype` converts numbers")
        .label(at, format!("a tile of `{element}`"))
        .help(format!("convert with `wp.tile_map` and a function, such as `{cast}(...)`"))
}

/// A function that changes a tile gets a view of it too.
pub(in crate::check) fn view_and_tile_passed(view: Span, tile: Span) -> Diagnostic {
    Diagnostic::new(Code::E0407, "a function that changes a tile gets its elements under two names")
        .label(view, "a view of a tile")
        .label(tile, "the same tile")
        .help("copy one of them to a variable of its own first, or give parts that lie apart at constant indices")
}

/// A function changes a view that has elements several times.
pub(in crate::check) fn repeated_elements_passed(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0407, "a function changes a view that has elements several times")
        .label(at, "repeated by `wp.tile_broadcast`")
}

/// A function that changes a tile gets it twice.
pub(in crate::check) fn tile_passed_twice(first: Span, second: Span) -> Diagnostic {
    Diagnostic::new(Code::E0407, "a function that changes a tile gets its elements under two names")
        .label(first, "a tile")
        .label(second, "the same tile")
        .help("copy one of them to a variable of its own first")
}

/// `print` is called with a tile whose elements it does not write.
pub(in crate::check) fn printed_elements(element: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0401, format!("`print` does not write `{element}`"))
        .label(at, format!("a tile of `{element}`"))
}

/// The function of `tile_reduce` gives another type than it takes.
pub(in crate::check) fn type_of_reduction(found: &str, wanted: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0401, format!("the function of `tile_reduce` gives `{found}` for two of `{wanted}`"))
        .label(at, "it must give what it takes")
}

/// The capacity of a stack of a block is several numbers.
pub(in crate::check) fn capacity_of_stack(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0319, "the capacity of a stack is one number").label(at, "several")
}

/// An operation on stacks is called with something else.
pub(in crate::check) fn not_a_stack(name: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0401, format!("`{name}` takes a stack of `wp.tile_stack`")).label(at, "this is none")
}

/// A value is pushed that is of another type than the elements of the stack.
pub(in crate::check) fn pushed(found: &str, wanted: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0303, format!("cannot push `{found}` where the stack's elements are `{wanted}`"))
        .label(at, format!("this is `{found}`"))
}

/// A variable becomes another stack in a branch or loop.
pub(in crate::check) fn stack_reassigned(name: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0302, format!("`{name}` cannot become another stack in a branch or loop"))
        .label(at, "assigned here")
        .help("use another name, or `wp.tile_stack_clear`")
}

/// A value is stored in a tile with elements of another type.
pub(in crate::check) fn stored_element(found: &str, wanted: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0303, format!("cannot store `{found}` where the tile's elements are `{wanted}`"))
        .label(at, format!("this is `{found}`"))
}

/// A number is assigned to a part of a tile of this shape.
pub(in crate::check) fn number_assigned_to_tile(shape: &str, at: Span, target: Span) -> Diagnostic {
    assigned_to_tile(at).label(target, format!("a tile of shape {shape}"))
}
