//! What is offered where types do not fit, attributes are missing, or a tile is no number.

use crate::diag::{Applicability, Diagnostic};
use crate::source::Span;

/// Offers an element of a tile, or its sum, for the tile.
pub(in crate::check) fn element_or_sum(diagnostic: Diagnostic, element: &str) -> Diagnostic {
    diagnostic.help(format!("an element is a number, `{element}`, and so is what comes of all: `wp.tile_sum(...)[0]`"))
}

/// Offers the element of a tile for the tile.
pub(in crate::check) fn element_of_tile(
    diagnostic: Diagnostic,
    element: &str,
    at: Span,
    sure: Applicability,
) -> Diagnostic {
    diagnostic.help(format!("take the element of the tile: `{element}`")).fix("take the element", at, element, sure)
}

/// Offers to load a tile from an array.
pub(in crate::check) fn load_first(diagnostic: Diagnostic) -> Diagnostic {
    diagnostic.help("load a tile from the array first: `wp.tile_load(a, shape=...)`")
}

/// Offers to repeat a tile along a dimension.
pub(in crate::check) fn broadcast(diagnostic: Diagnostic) -> Diagnostic {
    diagnostic.help("`wp.tile_broadcast(t, shape=...)` repeats a tile along a dimension")
}

/// Says where the number of threads in a block comes from.
pub(in crate::check) fn block_dim(diagnostic: Diagnostic, threads: u32) -> Diagnostic {
    diagnostic.note(format!("the dimension of threads is {threads} here")).help(
        "a launch says how many threads a block has: `wp.launch(..., block_dim=n)` in the file, or `--block-dim n`",
    )
}

/// Offers the products that tiles have.
pub(in crate::check) fn product_of_matrices(diagnostic: Diagnostic) -> Diagnostic {
    diagnostic.help("the product of matrices is `wp.tile_matmul(a, b)`, that of the elements `a * b`")
}

/// Offers a tile full of a number.
pub(in crate::check) fn full_tile(diagnostic: Diagnostic) -> Diagnostic {
    diagnostic.help("make a tile of the number, `wp.tile_full(shape=..., value=...)`, or use `wp.tile_map`")
}

/// Offers a function of the elements.
pub(in crate::check) fn map(diagnostic: Diagnostic) -> Diagnostic {
    diagnostic.help("`wp.tile_map(f, ...)` computes each element with a function")
}

/// Offers a tile with elements of another type.
pub(in crate::check) fn converted_tile(
    diagnostic: Diagnostic,
    repaired: &str,
    at: Span,
    sure: Applicability,
) -> Diagnostic {
    diagnostic.help(format!("convert the tile: `{repaired}`")).fix("convert it", at, repaired, sure)
}

/// Offers a division of floats for one of integers.
pub(in crate::check) fn float_division(diagnostic: Diagnostic, text: &str, at: Span) -> Diagnostic {
    diagnostic.help(format!("`/` drops the fraction of integers: divide floats, `{text}`")).fix(
        "divide floats",
        at,
        text,
        Applicability::Maybe,
    )
}

/// Offers floats for what is divided.
pub(in crate::check) fn converted_operands(diagnostic: Diagnostic) -> Diagnostic {
    diagnostic.help("`/` drops the fraction of integers: convert what it divides")
}

/// Offers a conversion.
pub(in crate::check) fn converted(
    diagnostic: Diagnostic,
    what: &str,
    repaired: &str,
    at: Span,
    sure: Applicability,
) -> Diagnostic {
    diagnostic.help(format!("convert {what}: `{repaired}`")).fix("convert it", at, repaired, sure)
}

/// Offers a vector of single components.
pub(in crate::check) fn component_by_component(diagnostic: Diagnostic, vector: &str) -> Diagnostic {
    diagnostic.help(format!("one component at a time: `{vector}`"))
}

/// Offers the sum of the components of a vector.
pub(in crate::check) fn sum_of_components(diagnostic: Diagnostic, sum: &str) -> Diagnostic {
    diagnostic.help(format!("add the components: `{sum}`"))
}

/// Offers a function of Warp for a method.
pub(in crate::check) fn function_for_method(diagnostic: Diagnostic, name: &str, argument: &str) -> Diagnostic {
    diagnostic.help(format!("write `wp.{name}({argument})`"))
}

/// Says how a vector is copied.
pub(in crate::check) fn assignment_copies(diagnostic: Diagnostic) -> Diagnostic {
    diagnostic.help("a vector is copied by `=` alone: leave the call away")
}

/// Says that a method of a number is not needed.
pub(in crate::check) fn a_number_already(diagnostic: Diagnostic, method: &str) -> Diagnostic {
    diagnostic.help(format!("this is a number already: leave `.{method}()` away"))
}

/// Offers to leave a call away.
pub(in crate::check) fn left_away(diagnostic: Diagnostic, at: Span) -> Diagnostic {
    diagnostic.fix("leave it away", at, "", Applicability::Maybe)
}

/// Says what the index of a thread is.
pub(in crate::check) fn number_of_thread(diagnostic: Diagnostic, call: &str) -> Diagnostic {
    diagnostic.help(format!("it is the number of the thread; of two dimensions: `i, j = {call}`"))
}

/// Offers the extent of one dimension.
pub(in crate::check) fn extent_of_dimension(diagnostic: Diagnostic, extent: &str) -> Diagnostic {
    diagnostic.help(format!("write `{extent}`, or `shape` for all dimensions"))
}

/// Offers to compute a value with the digits of its type.
pub(in crate::check) fn digits_kept(diagnostic: Diagnostic, text: &str, at: Span) -> Diagnostic {
    diagnostic.help(format!("convert what it is computed of: `{text}`")).fix(
        "keep the digits",
        at,
        text,
        Applicability::Maybe,
    )
}

/// Offers to compute a `float32` as `float64`.
pub(in crate::check) fn digits_of_float64(
    diagnostic: Diagnostic,
    text: &str,
    at: Span,
    sure: Applicability,
) -> Diagnostic {
    diagnostic.help(format!("compute it as `float64`, to keep its digits: `{text}`")).fix(
        "keep the digits",
        at,
        text,
        sure,
    )
}

/// Offers a second variable for a float, where the first one is an integer.
pub(in crate::check) fn float_of_its_own(diagnostic: Diagnostic, name: &str) -> Diagnostic {
    diagnostic
        .help(format!("`{name}` stays an integer: keep the float in a variable of its own, `value = float({name})`"))
}

/// Offers a float where a variable starts with an integer literal.
pub(in crate::check) fn float_from_start(diagnostic: Diagnostic, name: &str, digits: &str, at: Span) -> Diagnostic {
    diagnostic.help(format!("make `{name}` a float from the start: `{name} = {digits}.0`")).fix(
        "make it a float",
        at,
        format!("{digits}.0"),
        Applicability::Maybe,
    )
}

/// Offers a text for the place, and leaves the help as it is.
pub(in crate::check) fn used_instead(diagnostic: Diagnostic, text: &str, at: Span) -> Diagnostic {
    diagnostic.fix(format!("use `{text}`"), at, text, Applicability::Maybe)
}

/// Offers a tile full of a number.
pub(in crate::check) fn tile_of_number(
    diagnostic: Diagnostic,
    full: &str,
    at: Span,
    sure: Applicability,
) -> Diagnostic {
    diagnostic.help(format!("fill it: `{full}`")).fix("make a tile of the number", at, full, sure)
}
