//! Findings about values: what is none in a kernel, and what is computed while compiling.

use crate::diag::{Code, Diagnostic, counted};
use crate::limits::{
    MAX_CONSTANT_COPIES, MAX_CONSTANT_PARTS, MAX_INSTANCES, MAX_NESTED_USES, MAX_PYTHON_CLAUSES,
    MAX_UNROLLED_STATEMENTS,
};
use crate::source::Span;

/// A conditional chooses between two functions or types, which only a run decides.
pub(in crate::check) fn undecided_choice(a: &str, b: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0322, format!("this is `{a}` or `{b}`: which one, only a run decides"))
        .label(at, "chosen here")
        .help(format!("use each where it is chosen: `{a}(x) if c else {b}(x)`"))
}

/// An integer literal does not fit in 64 bits.
pub(in crate::check) fn integer_beyond_64_bits(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0503, "this integer does not fit in 64 bits").label(at, "too large")
}

/// A value of the module is one that only Python can compute.
pub(in crate::check) fn opaque_value(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0501, "this value is not a compile-time constant")
        .label(at, "computed by Python at run time")
        .help("kernels read numbers, vectors and matrices of the module; pass other values as arguments")
}

/// The argument of `wp.static` uses a variable that a run computes.
pub(in crate::check) fn static_of_run_time(name: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0501, format!("`wp.static` needs `{name}`, which is known at run time only"))
        .label(at, "not a compile-time constant")
}

/// A name is used that a branch or loop gave to one of several views.
pub(in crate::check) fn left_view(name: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0302, format!("`{name}` is a view that a branch or loop named"))
        .label(at, "which one, is not known here")
        .help("make a tile before, and copy into it there: `wp.tile_assign(t, ...)`")
}

/// An integer literal does not fit in `int32`.
pub(in crate::check) fn literal_beyond_int32(value: i128, help: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0503, format!("{value} does not fit in `int32`"))
        .label(at, "an integer literal is `int32`")
        .help(help)
}

/// The shape of an array is used as one value.
pub(in crate::check) fn whole_shape(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0304, "a shape has an extent for each dimension")
        .label(at, "a tuple is not a value of its own")
}

/// A tuple is used as one value.
pub(in crate::check) fn tuple(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0304, "a tuple is not a value of its own").label(at, "unpack it or take one of its items")
}

/// A slice object is used as a value.
pub(in crate::check) fn slice(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0304, "a slice is not a value of its own").label(at, "it names a part: `t[slice(0, 4)]`")
}

/// The call of a function without results is used as a value.
pub(in crate::check) fn no_result(function: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0324, format!("`{function}` returns nothing")).label(at, "no value comes out of this call")
}

/// The call of a function with several results is used as one value.
pub(in crate::check) fn several_results(count: usize, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0313, format!("this function returns {}", counted(count, "value")))
        .label(at, "assign them to as many variables")
}

/// A stack of a block is used as a value.
pub(in crate::check) fn stack(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0304, "a stack is not a value of its own")
        .label(at, "push, pop, clear or count: `wp.tile_stack_push(s, value, True)`")
}

/// `wp.adjoint` is used without the name of a parameter.
pub(in crate::check) fn adjoint(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0304, "`wp.adjoint` is used as a value").label(at, "name a parameter: `wp.adjoint[x]`")
}

/// The gradient of a function is used as a value.
pub(in crate::check) fn gradient(function: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0404, format!("the gradient of `{function}` is used as a value"))
        .label(at, "it can only be called")
}

/// A function is used as a value.
pub(in crate::check) fn function(function: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0404, format!("function `{function}` is used as a value"))
        .label(at, "a function can only be called, or passed to a `wp.Function` parameter")
}

/// `None` is used as a value.
pub(in crate::check) fn none(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0304, "kernels have no `None`").label(at, "not a value")
}

/// A dict is used as a value.
pub(in crate::check) fn dict(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0304, "a dict is used as a value").label(at, "look up one of its keys")
}

/// A type is used as a value.
pub(in crate::check) fn type_(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0304, "a type is used as a value").label(at, "call it to make a value")
}

/// A module is used as a value.
pub(in crate::check) fn module(path: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0304, format!("module `{path}` is used as a value")).label(at, "name one of its members")
}

/// An enumeration is used as a value.
pub(in crate::check) fn enumeration(name: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0304, format!("enumeration `{name}` is used as a value"))
        .label(at, "name one of its members")
}

/// Python's arithmetic divides by zero while compiling.
pub(in crate::check) fn division_by_zero(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0501, "this divides by zero").label(at, "Python stops here")
}

/// A number that Python can hold is beyond kc's constants.
pub(in crate::check) fn too_large(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0508, "this number is too large")
        .label(at, "while compiling, integers have up to 128 bits, and floats are finite")
}

/// Strings are compared in a kernel.
pub(in crate::check) fn comparison_of_strings(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0304, "kernels have no string values")
        .label(at, "only Python can compare them, while kernels are compiled")
}

/// A dict is looked up in a kernel.
pub(in crate::check) fn lookup_in_dict(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0308, "a kernel cannot have a dict")
        .label(at, "only Python can look this up, while kernels are compiled")
}

/// A comprehension has too many `for` to compute while compiling.
pub(in crate::check) fn too_many_clauses(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0508, format!("this has more than {MAX_PYTHON_CLAUSES} `for`"))
        .label(at, "too large to compute while compiling")
}

/// A comprehension unpacks a value into another number of variables.
pub(in crate::check) fn not_unpackable(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0501, "this cannot be unpacked while compiling").label(at, "not as many values")
}

/// The condition of a comprehension is not known while compiling.
pub(in crate::check) fn unknown_condition(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0501, "this value is not a compile-time constant").label(at, "not a condition")
}

/// `min` or `max` of an empty sequence is computed while compiling.
pub(in crate::check) fn extreme_of_nothing(name: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0501, format!("`{name}` of nothing")).label(at, "Python stops here")
}

/// `range` of Python code is called with another number of arguments than 1 to 3.
pub(in crate::check) fn arguments_of_range(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0402, "`range` takes one to three numbers").label(at, "not so many")
}

/// The step of a `range` of Python code is 0.
pub(in crate::check) fn step_of_range_is_zero(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0501, "the step of `range` is zero").label(at, "Python stops here")
}

/// A function of `math` has no value for its arguments.
pub(in crate::check) fn no_value_of_math(name: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0501, format!("`math.{name}` has no value here")).label(at, "Python stops here")
}

/// The step of a slice of a Python sequence is 0.
pub(in crate::check) fn step_of_slice_is_zero(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0501, "the step of a slice is zero").label(at, "Python stops here")
}

/// A dict has no such key.
pub(in crate::check) fn missing_key(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0202, "the dict has no such key").label(at, "Python stops here")
}

/// The entry of a dict depends on itself.
pub(in crate::check) fn circular_entry(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0501, "this entry depends on itself").label(at, "used here")
}

/// A name is used that means different things on two ways to here.
pub(in crate::check) fn several_meanings(name: &str, one: &str, other: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0322, format!("`{name}` is {one} or {other}: which one, only a run decides"))
        .label(at, "used here")
}

/// A constant has too many parts.
pub(in crate::check) fn constant_too_large(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0508, format!("this constant has more than {MAX_CONSTANT_PARTS} parts"))
        .label(at, "too large to compute while compiling")
        .help("pass data of this size to the kernel in an array")
}

/// A string is used as a value; `number`: it is the text of an infinity or NaN.
pub(in crate::check) fn string(number: bool, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0304, "kernels have no string values")
        .label(at, "strings stand only in `print`, `printf`, `assert`")
        .help(if number {
            "these numbers have names: `wp.inf`, `-wp.inf`, `wp.nan`"
        } else {
            "print values after it, `print(\"x =\", x)`, or format them: `wp.printf(\"x = %f\\n\", x)`"
        })
}

/// A function of Python has no value that is known while compiling.
pub(in crate::check) fn not_computed(function: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0502, format!("`{function}` is not computed while compiling"))
        .label(at, "Python alone knows the value")
}

/// A file uses large constants too often.
pub(in crate::check) fn too_many_constants(at: Span) -> Diagnostic {
    let message = format!("the uses of constants in this file have more than {MAX_CONSTANT_COPIES} parts together");
    Diagnostic::new(Code::E0508, message).label(at, "this use is too many")
}

/// The loops of a file are unrolled to too many statements.
pub(in crate::check) fn unrolled_too_often(at: Span) -> Diagnostic {
    let message =
        format!("`wp.static` unrolls the loops of this file to more than {MAX_UNROLLED_STATEMENTS} statements");
    Diagnostic::new(Code::E0910, message).label(at, "this one, for one")
}

/// Functions and constants use one another too deep.
pub(in crate::check) fn nested_too_deep(at: Span) -> Diagnostic {
    let message = format!("functions and constants use one another more than {MAX_NESTED_USES} deep");
    Diagnostic::new(Code::E0910, message).label(at, "this use is too deep")
}

/// A file calls its functions with too many types of arguments.
pub(in crate::check) fn too_many_instances(at: Span) -> Diagnostic {
    let message = format!("this file needs more than {MAX_INSTANCES} versions of functions for types of arguments");
    Diagnostic::new(Code::E0910, message).label(at, "called here with other types")
}

/// A variable that a branch or loop made an alias is used on all ways; `is_shape`: of a shape.
pub(in crate::check) fn maybe_unset(name: &str, is_shape: bool, at: Span, place: Span) -> Diagnostic {
    Diagnostic::new(Code::W0704, format!("`{name}` may be unset here"))
        .label(at, "used here on every way")
        .label(place, "assigned here, on some ways only")
        .note(match is_shape {
            true => "a shape that was not assigned has extents of zero; Python would raise an error",
            false => "kc uses what is assigned there on every way; Python would raise an error",
        })
        .help(format!("assign `{name}` before the branch or loop"))
}

/// A value that host code alone has is used in a kernel. `what`: a kernel, a function of Python.
pub(in crate::check) fn host_value(what: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0404, format!("{what} is no value of kernels")).label(at, "host code alone has it")
}
