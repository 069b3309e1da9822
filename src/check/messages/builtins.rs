//! Findings about calls of built-ins that are no tile operations.

use crate::diag::{Code, Diagnostic, counted};
use crate::limits::{MAX_LOCAL_ELEMENTS, MAX_PRINTED};
use crate::source::Span;

/// `range` is called elsewhere than in the header of a loop.
pub(in crate::check) fn range_outside_loop(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0323, "`range` is only for loops: `for i in range(n):`").label(at, "not a value")
}

/// A built-in without a result is used as a value.
pub(in crate::check) fn statement_as_value(name: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0313, format!("`{name}` gives no value")).label(at, "use it as a statement")
}

/// A built-in is called with another number of arguments than it takes.
pub(in crate::check) fn wrong_number(name: &str, wanted: &str, given: usize, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0402, format!("`{name}` takes {wanted}")).label(at, format!("{given} given"))
}

/// `tid` is called with arguments.
pub(in crate::check) fn arguments_of_tid(given: usize, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0402, "`tid` takes no arguments").label(at, format!("{given} given"))
}

/// `len` is called with something that has no length.
pub(in crate::check) fn no_length(ty: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0401, format!("`{ty}` has no length")).label(at, format!("this is `{ty}`"))
}

/// `zeros` is called without a shape, or with other arguments than it takes.
pub(in crate::check) fn arguments_of_zeros(given: usize, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0402, "`zeros` takes `shape` and `dtype`").label(at, format!("{given} given"))
}

/// A local array has elements of a type that it cannot hold.
pub(in crate::check) fn element_of_local_array(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0310, "a local array holds scalars, vectors or structs").label(at, "not an element type")
}

/// A local array has no dimension, or more than 4.
pub(in crate::check) fn rank_of_local_array(given: usize, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0305, "a local array has 1 to 4 dimensions").label(at, format!("{given} given"))
}

/// The shape of a local array is no constant.
pub(in crate::check) fn shape_of_local_array(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0305, "the shape of a local array is a positive constant")
        .label(at, "not a constant")
        .help("write the largest size that is needed, or pass an array with a part for each thread")
}

/// A local array has too many elements.
pub(in crate::check) fn local_array_too_large(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0305, "this local array is too large")
        .label(at, format!("more than {MAX_LOCAL_ELEMENTS} elements in each thread"))
}

/// The size of `identity` is no constant.
pub(in crate::check) fn size_of_identity(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0305, "`identity` takes a constant size").label(at, "the size is not a constant")
}

/// `cast` is called for two types of different sizes, or types that are no scalars.
pub(in crate::check) fn reinterpreted(from: &str, to: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0401, format!("`cast` cannot read `{from}` as `{to}`"))
        .label(at, "scalars of one size are needed")
}

/// `view` is called with something else than an array.
pub(in crate::check) fn view_of_value(ty: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0401, "`view` takes an array").label(at, format!("this is `{ty}`"))
}

/// `view` is called with an index for each dimension.
pub(in crate::check) fn view_of_element(given: usize, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0305, "`view` fixes some dimensions of an array, not all")
        .label(at, format!("{given} indices"))
}

/// A built-in for arrays is called with something else.
pub(in crate::check) fn works_on_arrays(name: &str, ty: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0401, format!("`{name}` works on arrays")).label(at, format!("this is `{ty}`"))
}

/// An atomic built-in is called with an array whose elements have no atomics.
pub(in crate::check) fn no_atomics(name: &str, ty: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0401, format!("`{name}` is not defined for `{ty}`"))
        .label(at, "the elements have no atomics")
}

/// The value of an atomic built-in is of another type than the elements.
pub(in crate::check) fn atomic_value(name: &str, wanted: &str, found: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0303, format!("`{name}` on an array of `{wanted}` takes `{wanted}`, not `{found}`"))
        .label(at, format!("this is `{found}`"))
}

/// A bit operation is called with something else than integers.
pub(in crate::check) fn bits_of_other_type(name: &str, ty: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0401, format!("`{name}` is not defined for `{ty}`"))
        .label(at, "bit operations work on integers")
}

/// `atomic_cas` is called for elements that are no scalars.
pub(in crate::check) fn compared_and_swapped(ty: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0401, format!("`atomic_cas` is not defined for `{ty}`")).label(at, "it works on scalars")
}

/// `printf` is called without a format.
pub(in crate::check) fn no_format(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0402, "`printf` takes a format string first").label(at, "no string literal")
}

/// `printf` is called with a value that is no scalar.
pub(in crate::check) fn formatted_type(ty: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0401, format!("`printf` writes scalars, not `{ty}`")).label(at, format!("this is `{ty}`"))
}

/// The format of `printf` has a conversion that is not for numbers.
pub(in crate::check) fn unknown_conversion(conversion: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0402, format!("`{conversion}` is not a conversion for numbers"))
        .label(at, "in this format; they have `%d %i %u %x %X %o %c %f %F %e %E %g %G`, and `%%` is a percent sign")
}

/// `print` is called with a value that it does not write.
pub(in crate::check) fn printed_type(ty: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0401, format!("`print` does not write `{ty}`")).label(at, format!("this is `{ty}`"))
}

/// One call prints too many values.
pub(in crate::check) fn too_much_printed(name: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0910, format!("`{name}` writes more than {MAX_PRINTED} values"))
        .label(at, "split it into several, or write to an array and print that")
}

/// A kernel makes an array from a pointer.
pub(in crate::check) fn array_from_pointer(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0408, "a kernel cannot make an array from a pointer")
        .label(at, "memory whose size and type kc could not check")
        .help("pass the array itself as a parameter, or take a view of one: `a[i]`, `a[2:5]`")
        .help("an array of the thread alone is `wp.zeros(shape=8, dtype=float)`, with a constant shape")
}

/// A kernel makes an array as host code does.
pub(in crate::check) fn array_of_host(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0502, "an array of the host has no meaning inside a kernel")
        .label(at, "made by Python")
        .help("pass it to the kernel: a parameter `x: wp.array(dtype=float)`")
}

/// An atomic built-in is called with another number of indices and values than it takes; `call` is
/// what is written instead.
pub(in crate::check) fn arguments_of_atomic(
    name: &str,
    (rank, values, given): (usize, usize, usize),
    call: &str,
    at: Span,
) -> Diagnostic {
    let (indices, values) = (counted(rank, "index"), counted(values, "value"));
    Diagnostic::new(Code::E0402, format!("`{name}` takes the array, {indices} and {values}"))
        .label(at, format!("{} after the array", counted(given, "argument")))
        .help(format!("write `{call}`"))
}

/// The format of `printf` has another number of conversions than values follow.
pub(in crate::check) fn number_of_conversions(wanted: usize, given: usize, at: Span) -> Diagnostic {
    let is = if given == 1 { "is" } else { "are" };
    Diagnostic::new(Code::E0402, format!("the format takes {}, {given} {is} given", counted(wanted, "value")))
        .label(at, "each conversion takes one value after the format, and so does each `*`")
}

/// A product that allows a GPU less than `float32` is computed in it.
pub(in crate::check) fn precision_kept(why: &str, at: Span) -> Diagnostic {
    let message = "this product is computed in `float32`, though `precision=\"tf32\"` allows less";
    Diagnostic::new(Code::W0410, message).label(at, why)
}
