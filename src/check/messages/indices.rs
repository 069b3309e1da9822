//! Findings about indices, slices and what is unpacked.

use crate::diag::{Code, Diagnostic, counted};
use crate::source::Span;

/// There are more indices than the array has dimensions.
pub(in crate::check) fn too_many_for_array(given: usize, rank: usize, shown: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0305, format!("{} for an array of {}", counted(given, "index"), counted(rank, "dimension")))
        .label(at, format!("the array is `{shown}`"))
}

/// An indexed array is sliced.
pub(in crate::check) fn slice_of_indexed_array(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0305, "an indexed array has no slices")
        .label(at, "a range")
        .help("slice the array before it is indexed, or loop over the indices")
}

/// A slice of a slice has bounds that are no constants.
pub(in crate::check) fn slice_bounds_of_part(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0305, "the bounds of a slice are constants here").label(at, "not a constant")
}

/// The step of a slice of an array is 0.
pub(in crate::check) fn step_of_elements_is_zero(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0305, "the step of a slice is 0").label(at, "no element follows")
}

/// A value is indexed that has no parts.
pub(in crate::check) fn not_indexable(ty: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0304, format!("`{ty}` cannot be indexed")).label(at, format!("this is `{ty}`"))
}

/// A tuple of functions is indexed by something else than a constant.
pub(in crate::check) fn function_at_run_time(help: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0305, "a tuple of functions is indexed by a constant")
        .label(at, "which function this is, is not known while compiling")
        .help(help)
}

/// The index of a tuple is out of range.
pub(in crate::check) fn outside_tuple(index: i128, count: usize, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0306, format!("index {index} is outside a tuple of {count}")).label(at, "out of range")
}

/// An index is `None`.
pub(in crate::check) fn none(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0305, "an index is an integer, not `None`").label(at, "an array always has a dimension here")
}

/// `slice(...)` is called with a keyword.
pub(in crate::check) fn keyword_of_slice(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0403, "`slice` has no keywords").label(at, "given here")
}

/// `slice(...)` is called with another number of bounds than 1 to 3.
pub(in crate::check) fn arguments_of_slice(given: usize, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0402, format!("`slice` takes 1 to 3 bounds, {given} given")).label(at, "this call")
}

/// An index is no integer.
pub(in crate::check) fn not_an_integer(ty: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0305, format!("an index is an integer, not `{ty}`")).label(at, format!("this is `{ty}`"))
}

/// A vector or matrix has more indices than dimensions.
pub(in crate::check) fn too_many_for_value(given: usize, ty: &str, depth: usize, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0305, format!("{} for `{ty}`", counted(given, "index")))
        .label(at, format!("it takes {depth}"))
}

/// A value is stored in a slice of another type.
pub(in crate::check) fn stored_in_slice(found: &str, wanted: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0303, format!("cannot store `{found}` in a slice that is `{wanted}`"))
        .label(at, format!("this is `{found}`"))
}

/// The step of a slice of a vector or matrix is 0.
pub(in crate::check) fn step_of_components_is_zero(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0305, "the step of a slice is 0").label(at, "no component follows")
}

/// A slice of a vector or matrix has no components.
pub(in crate::check) fn empty_slice(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0306, "this slice is empty").label(at, "no component is left")
}

/// The bounds of a slice of a vector or matrix are no constants.
pub(in crate::check) fn slice_bounds(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0305, "the bounds of this slice are constants")
        .label(at, "not a constant")
        .help("the length of a vector is part of its type; take the components one by one in a loop")
}

/// Something is unpacked whose length is not known.
pub(in crate::check) fn not_unpackable(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0402, "only vectors, matrices, tuples and slices of known length can be unpacked")
        .label(at, "not unpackable")
}

/// The length of an unpacked slice of an array is not known.
pub(in crate::check) fn unpacked_length(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0402, "the number of elements to unpack is not known")
        .label(at, "write the end, and count both ends from the start: `*a[2:5]`")
}

/// The index of a transform is out of range.
pub(in crate::check) fn outside_transform(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0306, "a transform has the components 0 to 6").label(at, "out of range")
}

/// A tuple is indexed by something else than a constant; `vector`: its values make a vector of this
/// length.
pub(in crate::check) fn tuple_at_run_time(vector: Option<usize>, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0305, "a tuple is indexed by a constant").label(at, "not a constant index").help(
        match vector {
            Some(n) => format!("a vector takes any index: make it with `wp.vec{n}(...)`"),
            None => "pass the values as an array, a parameter `x: wp.array(dtype=float)`".to_string(),
        },
    )
}

/// The constant index of a vector or matrix is out of range; `what` is a row, column or component.
pub(in crate::check) fn outside_composite(what: &str, index: i128, count: i128, ty: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0306, format!("{what} {index} of `{ty}` does not exist"))
        .label(at, format!("it has {count} {what}s: 0 to {}, or -{count} to -1 from the end", count - 1))
}
