//! Findings of lints: what compiles and is probably not meant.

use crate::diag::{Applicability, Code, Diagnostic};
use crate::source::Span;

/// A comment that allows warnings has another form than expected.
pub(in crate::check) fn allow_form(at: Span) -> Diagnostic {
    Diagnostic::new(Code::W1304, "this comment allows nothing: its form is `# kc: allow(CODE) reason`")
        .label(at, "not understood")
}

/// A comment allows an error.
pub(in crate::check) fn allowed_error(code: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::W1304, format!("{code} is an error and cannot be allowed"))
        .label(at, "only warnings can be allowed")
}

/// A comment allows a code that there is not.
pub(in crate::check) fn unknown_code_allowed(name: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::W1304, format!("there is no code `{name}` to allow"))
        .label(at, "`kc explain` lists all codes")
}

/// A comment allows a warning that is not found.
pub(in crate::check) fn allowed_in_vain(code: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::W1304, format!("{code} is allowed here but not found")).label(at, "nothing to allow")
}

/// Neighbouring threads access elements that lie a row apart.
pub(in crate::check) fn row_apart(element: &str, slow: Span, last: Span) -> Diagnostic {
    Diagnostic::new(Code::I0705, format!("neighbouring threads read or write `{element}` a row apart"))
        .label(slow, "this follows the fastest coordinate of the launch")
        .label(last, "this is the index with neighbours in memory")
        .help("launch with the dimensions swapped, so that the last index follows the last coordinate")
}

/// `/` divides integers.
pub(in crate::check) fn integer_division(ty: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::W1201, "`/` on integers drops the fraction in a kernel")
        .label(at, format!("this is `{ty}`"))
        .note("Python gives a float here; C and kernels give an integer")
}

/// `%` may have a negative left side.
pub(in crate::check) fn negative_remainder(l: &str, r: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::W1201, "`%` of a negative number is negative in a kernel")
        .label(at, "this may be below zero")
        .note("Python's `%` has the sign of the right side; C's and kernels' that of the left side")
        .help(format!("to wrap around, add the divisor first: `({l} + {r}) % {r}`"))
}

/// A loop never ends.
pub(in crate::check) fn endless_loop(at: Span) -> Diagnostic {
    Diagnostic::new(Code::W1305, "this loop never ends")
        .label(at, "always true, and nothing in the loop leaves it")
        .help("leave it with `break` under a condition, or count: `for k in range(n):`")
}

/// A literal loses digits as `float32`.
pub(in crate::check) fn narrowed_literal(text: &str, becomes: &str, wide: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::W1203, format!("`{text}` becomes {becomes} as `float32`"))
        .label(at, "a float literal is `float32` in a kernel")
        .help(format!("write `{wide}` to keep it"))
        .fix("make it a float64", at, wide, Applicability::Maybe)
}

/// A variable is read that is not assigned on all ways to here.
pub(in crate::check) fn maybe_unset(name: &str, whole: &str, at: Span, first: Span) -> Diagnostic {
    Diagnostic::new(Code::W0704, format!("`{name}` may be unset here"))
        .label(at, "read here on every way")
        .label(first, "assigned here, on some ways only")
        .note("a variable that was not assigned is zero in a kernel; Python would raise an error")
        .help(format!("assign `{whole}` before the branch or loop"))
}

/// A function ends without a result on some ways.
pub(in crate::check) fn missing_return(function: &str, types: &str, header: Span, first: Span) -> Diagnostic {
    Diagnostic::new(Code::W1308, format!("`{function}` may end without the value that it returns elsewhere"))
        .label(header, "on another way through it the result is zero")
        .label(first, format!("here {types}"))
        .help("end it with `return` and the value for this case")
}

/// An operation on constants overflows.
pub(in crate::check) fn wrapping_constant(value: i128, ty: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::W1202, format!("{value} does not fit in `{ty}` and wraps"))
        .label(at, format!("computed as `{ty}`"))
        .help("compute with a wider type: `wp.int64(...)`")
}

/// A product is widened after it may have overflowed.
pub(in crate::check) fn widened_too_late(narrow: &str, written: &str, inner: Span, at: Span) -> Diagnostic {
    Diagnostic::new(Code::W1202, format!("this product is computed as `{narrow}` and only then widened"))
        .label(inner, format!("`{narrow}`: it wraps above 2^31"))
        .help(format!("widen the factors: `{written}`"))
        .fix("widen the factors", at, written, Applicability::Maybe)
}

/// A `float32` is compared with a `float64`.
pub(in crate::check) fn mixed_precision(text: &str, narrow: Span, wide: Span) -> Diagnostic {
    Diagnostic::new(Code::W1204, "this comparison is done in double precision")
        .label(narrow, "`float32`, widened")
        .label(wide, "because this is `float64`")
        .help(format!("compare in one precision, or write `wp.float64({text})` if it is meant"))
}

/// Threads write one element without atomics.
pub(in crate::check) fn race(element: &str) -> Diagnostic {
    Diagnostic::new(Code::W0701, format!("threads race on `{element}`"))
}

/// Threads keep a minimum or maximum without atomics.
pub(in crate::check) fn race_on_extreme(element: &str, place: Span, condition: Span) -> Diagnostic {
    Diagnostic::new(Code::W0701, format!("threads race on `{element}`"))
        .label(place, "many threads write this element")
        .label(condition, "and compare with it before: another thread may have stored since")
}

/// A variable hides a built-in or a name of the module.
pub(in crate::check) fn shadowed(name: &str, what: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::W1303, format!("`{name}` hides {what} `{name}`"))
        .label(at, format!("{what} cannot be used in this function"))
        .help(format!("choose another name, such as `{name}_`"))
}

/// Code is never reached.
pub(in crate::check) fn unreachable(at: Span, by: Span) -> Diagnostic {
    Diagnostic::new(Code::W1302, "this code is never reached")
        .label(at, "from here on")
        .label(by, "every way leaves here")
}

/// A variable that represents an array is assigned and never read.
pub(in crate::check) fn array_never_read(name: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::W1301, format!("`{name}` is assigned and never read: the array stays as it is"))
        .label(at, "names another array from here on")
        .help(format!("write its elements: `{name}[i] = ...`"))
}

/// A variable is assigned and never read.
pub(in crate::check) fn never_read(name: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::W1301, format!("`{name}` is never read"))
        .label(at, "assigned here")
        .help(format!("remove it, or name it `_{name}` if it is meant to be unused"))
}

/// The value of an expression statement is not used.
pub(in crate::check) fn unused_value(at: Span) -> Diagnostic {
    Diagnostic::new(Code::W1307, "the value of this statement is not used").label(at, "computed, and dropped")
}

/// A constant index is outside a local array.
pub(in crate::check) fn out_of_bounds(index: i128, extent: i128, array: &str, at: Span, place: Span) -> Diagnostic {
    Diagnostic::new(Code::W0703, format!("index {index} is outside an array of {extent}"))
        .label(at, format!("the indices are 0 to {}", extent - 1))
        .label(place, format!("this is `{array}`"))
}
