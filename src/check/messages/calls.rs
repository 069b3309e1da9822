//! Findings about calls: which arguments do not fit their parameters.

use crate::diag::{Code, Diagnostic, counted};
use crate::source::Span;

/// `wp.static` is called with another number of arguments than one.
pub(in crate::check) fn of_static(given: usize, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0402, "`wp.static` takes one expression").label(at, format!("{given} given"))
}

/// Something is called that is no function.
pub(in crate::check) fn not_a_function(what: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0404, format!("{what} is not a function")).label(at, "a value cannot be called")
}

/// An entry of the library names an operation that there is not.
pub(in crate::check) fn no_primitive(name: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0999, format!("the library's `{name}` is not a primitive")).label(at, "called here")
}

/// The default value of a parameter is of another type.
pub(in crate::check) fn default_value(ty: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0401, "the default value does not fit the parameter").label(at, format!("this is `{ty}`"))
}

/// A function changes an argument that is no variable.
pub(in crate::check) fn change_is_lost(function: &str, changed: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0407, format!("`{function}` changes its argument `{changed}`"))
        .label(at, "not a variable: nothing could keep the change")
}

/// A struct is made of more values than it has fields.
pub(in crate::check) fn too_many_fields(owner: &str, fields: usize, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0402, format!("`{owner}` has {}", counted(fields, "field"))).label(at, "no field for this")
}

/// A struct is made of a value that is of another type than its field.
pub(in crate::check) fn field(field: &str, owner: &str, wanted: &str, found: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0303, format!("field `{field}` of `{owner}` is `{wanted}`, not `{found}`"))
        .label(at, format!("this is `{found}`"))
}

/// A vector or matrix is made of a value of another type than its components.
pub(in crate::check) fn component(ty: &str, wanted: &str, found: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0401, format!("a component of `{ty}` is `{wanted}`, not `{found}`"))
        .label(at, format!("this is `{found}`"))
}

/// A vector or matrix is made of too few or too many values.
pub(in crate::check) fn components(ty: &str, count: usize, given: usize, forms: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0402, format!("`{ty}` has {count} components, {given} given"))
        .label(at, "too few or too many")
        .note(format!("it takes {forms}"))
}

/// A call names a parameter that there is not.
pub(in crate::check) fn unknown_keyword(message: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0403, message).label(at, "given here")
}

/// A call names a parameter twice.
pub(in crate::check) fn keyword_twice(name: &str, at: Span, first: Span) -> Diagnostic {
    Diagnostic::new(Code::E0117, format!("`{name}` is given twice"))
        .label(at, "the second one")
        .label(first, "the first one")
}

/// A call gives a parameter by its place and by its name.
pub(in crate::check) fn parameter_twice(function: &str, param: &str, at: Span, first: Span) -> Diagnostic {
    Diagnostic::new(Code::E0402, format!("`{function}` gets `{param}` twice"))
        .label(at, "by its name")
        .label(first, "by its place")
}

/// No overload takes as many arguments.
pub(in crate::check) fn wrong_number_for_all(function: &str, takes: &str, given: usize, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0402, format!("`{function}` takes {takes}, {given} given")).label(at, "this call")
}

/// No overload takes arguments of these types.
pub(in crate::check) fn no_overload(function: &str, types: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0401, format!("no `{function}` takes ({types})"))
        .label(at, "no overload fits these arguments")
}

/// An argument is of another type than its parameter.
pub(in crate::check) fn other_type(function: &str, wanted: &str, param: &str, found: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0401, format!("`{function}` needs `{wanted}` for `{param}`, not `{found}`"))
        .label(at, format!("this is `{found}`"))
}

/// A function does not take arguments of these types.
pub(in crate::check) fn do_not_fit(function: &str, types: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0401, format!("`{function}` does not take ({types})")).label(at, "this call")
}

/// `print` is called with a keyword that kernels do not have.
pub(in crate::check) fn keyword_of_print(function: &str, keyword: &str, help: &str, at: Span) -> Diagnostic {
    unknown_keyword(&format!("`{function}` has no parameter `{keyword}` in a kernel"), at).help(help)
}

/// A function is called with another number of arguments than it takes.
pub(in crate::check) fn wrong_number(function: &str, wanted: usize, given: usize, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0402, format!("`{function}` takes {}, {given} given", counted(wanted, "argument")))
        .label(at, "this call")
}

/// A part of a tile is passed to a function.
pub(in crate::check) fn part_of_tile(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0305, "a part of a tile cannot be passed")
        .label(at, "copy it first: `wp.tile_assign(copy, part)`")
}

/// A part of a local array is passed to a function.
pub(in crate::check) fn part_of_local_array(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0305, "a part of a local array cannot be passed")
        .label(at, "pass the whole array and the indices")
}
