//! Findings about types: those that are written, and those that do not fit together.

use crate::diag::{Applicability, Code, Diagnostic};
use crate::limits::{MAX_LENGTH, MAX_PARTS};
use crate::source::Span;

/// The two sides of a conditional expression have different types.
pub(in crate::check) fn sides_of_conditional(a: &str, b: &str, then: Span, otherwise: Span) -> Diagnostic {
    Diagnostic::new(Code::E0301, format!("the two sides of this conditional are `{a}` and `{b}`"))
        .label(then, format!("this is `{a}`"))
        .label(otherwise, format!("this is `{b}`"))
}

/// The two sides of a conditional expression are tuples that do not match.
pub(in crate::check) fn tuples_of_conditional(one: &str, other: &str, at_left: Span, at_right: Span) -> Diagnostic {
    Diagnostic::new(Code::E0301, "the two sides of this conditional do not fit")
        .label(at_left, format!("these are {one}"))
        .label(at_right, format!("these are {other}"))
        .help("give both sides as many values, of the same types; arrays and tiles are chosen by `if`")
}

/// A variable is assigned a value of another type than it has.
pub(in crate::check) fn another_type(name: &str, old: &str, new: &str, value: Span, first: Span) -> Diagnostic {
    Diagnostic::new(Code::E0302, format!("`{name}` is `{old}` and cannot become `{new}`"))
        .label(value, format!("this is `{new}`"))
        .label(first, format!("`{name}` is `{old}` since here"))
        .note("a variable keeps one type in its whole function")
}

/// A unary operator is not defined for its operand.
pub(in crate::check) fn unary_operand(symbol: &str, shown: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0301, format!("`{symbol}` is not defined for `{shown}`"))
        .label(at, format!("this is `{shown}`"))
}

/// A subscripted type has parts that are not known.
pub(in crate::check) fn open_parts(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0310, "this type has open parts").label(at, "not known here")
}

/// A value is stored where another type is.
pub(in crate::check) fn stored_type(found: &str, what: &str, wanted: &str, value: Span, place: Span) -> Diagnostic {
    Diagnostic::new(Code::E0303, format!("cannot store `{found}` where {what} `{wanted}`"))
        .label(value, format!("this is `{found}`"))
        .label(place, format!("this is `{wanted}`"))
}

/// A condition is neither a `bool` nor a number.
pub(in crate::check) fn not_a_condition(ty: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0307, format!("`{ty}` is neither true nor false"))
        .label(at, "a condition is a `bool` or a number")
}

/// A name in a loop gets another meaning than it has before.
pub(in crate::check) fn another_meaning(name: &str, was: &str, is: &str) -> Diagnostic {
    Diagnostic::new(Code::E0302, format!("`{name}` is {was} and cannot become {is}"))
}

/// An argument that is a type is given as a string.
pub(in crate::check) fn quoted_type_argument(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0310, "a type is needed here, not its name in quotes").label(at, "a string")
}

/// An argument that is to be a type is none.
pub(in crate::check) fn no_type_argument(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0310, "a type is needed here").label(at, "not a type")
}

/// The `dtype` of a value is no scalar type.
pub(in crate::check) fn no_scalar_type(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0310, "`dtype` is a scalar type").label(at, "not a scalar type")
}

/// A type is called that has no constructor.
pub(in crate::check) fn no_constructor(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0404, "this type cannot be called").label(at, "no constructor")
}

/// A conversion is called with another number of values than one.
pub(in crate::check) fn arguments_of_conversion(ty: &str, given: usize, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0402, format!("a conversion to `{ty}` takes one value")).label(at, format!("{given} given"))
}

/// A value is converted to a scalar that cannot be.
pub(in crate::check) fn no_conversion(from: &str, to: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0301, format!("`{from}` cannot become `{to}`")).label(at, format!("this is `{from}`"))
}

/// A vector or matrix is made without values and without its `dtype`.
pub(in crate::check) fn unknown_dtype(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0402, "the `dtype` of this value is not known").label(at, "add `dtype=float`")
}

/// A matrix is made without its shape.
pub(in crate::check) fn unknown_shape(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0402, "the `shape` of this matrix is missing").label(at, "add `shape=(rows, columns)`")
}

/// The size of a vector or matrix is no constant.
pub(in crate::check) fn size_at_run_time(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0305, "the size of a vector or matrix is a constant").label(at, "not a constant")
}

/// A struct has a field of its own type.
pub(in crate::check) fn struct_in_itself(owner: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0310, format!("struct `{owner}` would hold itself"))
        .label(at, "of no size that ends")
        .help("keep the index of the other one in an array: `next: int`")
}

/// An annotation represents several types.
pub(in crate::check) fn not_one_type(ty: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0310, format!("`{ty}` is not one type")).label(at, "a concrete type is needed here")
}

/// A tile is a parameter of a kernel, a field, or an element.
pub(in crate::check) fn tile_in_signature(what: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0310, format!("{what} cannot be a tile"))
        .label(at, "tiles are made in kernels")
        .help("pass an array, and load a tile of it with `wp.tile_load`")
}

/// A type has too many components for a value.
pub(in crate::check) fn too_many_components(ty: &str, count: u64, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0317, format!("`{ty}` has {count} components; a value can have {MAX_PARTS}"))
        .label(at, "too large for a thread")
        .help("keep data of this size in an array")
}

/// A stack of a block is elsewhere than in the annotation of a parameter.
pub(in crate::check) fn stack_elsewhere(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0310, "a stack of a block is a parameter of a function, and no other type")
        .label(at, "no type here")
        .help("make it in the kernel with `s = wp.tile_stack(...)`, and name it in a parameter of a `@wp.func`")
}

/// The type of an array's elements is a string.
pub(in crate::check) fn quoted_element(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0310, "a type of elements does not stand in quotes").label(at, "this is a text, and no type")
}

/// The length of a vector or matrix is out of range.
pub(in crate::check) fn length_of_vector(length: i128, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0317, format!("a vector or matrix cannot have {length} components in a direction"))
        .label(at, format!("a number from 1 to {MAX_LENGTH} is needed"))
        .help("keep data of another size in an array")
}

/// An annotation is no type of the kernel language.
pub(in crate::check) fn not_a_type(label: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0310, "this is not a type of the kernel language")
        .label(at, label)
        .help("types are scalars (`float`, `wp.int32`), `wp.vec3`, `wp.mat33`, `wp.quat`, structs and arrays of them")
}

/// A `float64` is computed as `float32`.
pub(in crate::check) fn digits_of_float32(kept: f64, exact: f64, at: Span) -> Diagnostic {
    Diagnostic::new(Code::W1205, format!("this `float64` has the digits of a `float32`: {kept:?}, not {exact:?}"))
        .label(at, "computed as `float32`, as in Warp")
}

/// A parameter is a tuple.
pub(in crate::check) fn tuple_parameter(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0310, "kernels and functions have no tuple parameters").label(at, "not a type of the kernel language").help("give each part a parameter of its own, or use a vector (`wp.vec2`) or a struct; a function may return a tuple")
}

/// A parameter is a string.
pub(in crate::check) fn string_parameter(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0310, "kernels have no strings")
        .label(at, "not a type of the kernel language")
        .help("pass an `int`, with a constant of the module for each of its meanings")
}

/// An annotation is a type of another library that has a name in the kernel language.
pub(in crate::check) fn foreign_type(name: &str, written: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0310, format!("`{name}` is not a type of the kernel language"))
        .label(at, "kernels have no such type")
        .help(format!("write `{written}`"))
        .fix(format!("write `{written}`"), at, written, Applicability::Maybe)
}

/// An annotation is a type of another library that kernels do not have.
pub(in crate::check) fn foreign_type_without_name(name: &str, help: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0310, format!("`{name}` is not a type of the kernel language"))
        .label(at, "kernels have no such type")
        .help(help)
}

/// An operator does not take two operands of one type.
pub(in crate::check) fn operator_of_type(symbol: &str, ty: &str, left: Span, right: Span) -> Diagnostic {
    let diagnostic = Diagnostic::new(Code::E0301, format!("`{symbol}` is not defined for `{ty}`"));
    operands(diagnostic, (ty, left), (ty, right))
}

/// An operator does not take two operands of these types together.
pub(in crate::check) fn operator_mixes(symbol: &str, left: (&str, Span), right: (&str, Span)) -> Diagnostic {
    let diagnostic = Diagnostic::new(Code::E0301, format!("`{symbol}` cannot mix `{}` and `{}`", left.0, right.0));
    operands(diagnostic, left, right)
}

/// Labels the operands, which are at one place in `x += 1`.
fn operands(diagnostic: Diagnostic, (left, at_left): (&str, Span), (right, at_right): (&str, Span)) -> Diagnostic {
    let diagnostic = diagnostic.label(at_left, format!("this is `{left}`"));
    match at_left == at_right {
        true => diagnostic,
        false => diagnostic.label(at_right, format!("this is `{right}`")),
    }
}

/// A vector or matrix is made by a name without a size; `name` is `vec` or `mat`.
pub(in crate::check) fn without_size(name: &str, help: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0202, format!("there is no built-in `{name}`")).label(at, "a type without a size").help(help)
}

/// A scalar type of Python is written as one of Warp, `wp.float`.
pub(in crate::check) fn python_type_with_prefix(module: &str, ty: &str, at: Span) -> Diagnostic {
    let help = format!("write `{ty}`");
    Diagnostic::new(Code::E0202, format!("`{module}` has no `{ty}`"))
        .label(at, "Python's own name has no prefix")
        .help(help.clone())
        .fix(help, at, ty, Applicability::Machine)
}
