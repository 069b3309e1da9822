//! Findings about custom gradients and `wp.grad`.

use crate::diag::{Code, Diagnostic, counted};
use crate::limits::MAX_GRADIENT_DEPTH;
use crate::source::Span;

/// `wp.grad` is called for a function without a result that has a gradient.
pub(in crate::check) fn of_no_value(function: &str, what: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0625, format!("`{function}` returns {what}"))
        .label(at, "there is no value whose gradient could be meant")
}

/// `wp.grad` is called for a function whose result has no gradient.
pub(in crate::check) fn of_other_type(function: &str, ty: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0625, format!("`{function}` returns `{ty}`, which has no gradient"))
        .label(at, "`wp.grad` takes functions that return floats or composites of them")
}

/// A custom gradient is for a function that the file does not have.
pub(in crate::check) fn of_no_function(name: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0621, format!("`{name}` is no `@wp.func` of this file"))
        .label(at, "a custom gradient belongs to a kernel function")
        .help(format!("define `{name}` with `@wp.func` before it"))
}

/// A custom gradient has other parameters than its function.
pub(in crate::check) fn parameters_differ(name: &str, at: Span, place: Span) -> Diagnostic {
    Diagnostic::new(Code::E0622, format!("this gradient does not take the arguments of `{name}`"))
        .label(at, "its first parameters differ")
        .label(place, format!("`{name}` is defined here"))
        .help("repeat the function's parameters, then add one adjoint per returned value")
}

/// A custom gradient does not take an adjoint for each result.
pub(in crate::check) fn adjoints_differ(
    function: &str,
    given: usize,
    wanted: &str,
    at: Span,
    place: Span,
) -> Diagnostic {
    let given = if given == 0 { "no adjoints".to_string() } else { counted(given, "adjoint") };
    Diagnostic::new(
        Code::E0622,
        format!("the last parameters of this gradient are the adjoints of what `{function}` returns"),
    )
    .label(at, format!("{given} here"))
    .label(place, format!("`{function}` returns {wanted}"))
}

/// A replay function has another signature than its function.
pub(in crate::check) fn replay_differs(function: &str, at: Span, place: Span) -> Diagnostic {
    Diagnostic::new(Code::E0623, format!("this replay function differs from `{function}` in its signature"))
        .label(at, "it stands for the function when gradients are computed")
        .label(place, format!("`{function}` is defined here"))
        .help("give it the same parameters and results")
}

/// A custom gradient never writes the adjoint of an argument.
pub(in crate::check) fn adjoint_never_written(param: &str, function: &str, at: Span, place: Span) -> Diagnostic {
    Diagnostic::new(
        Code::W0620,
        format!("no adjoint of argument `{param}` is ever written; its gradient through `{function}` will be 0"),
    )
    .label(at, format!("this gradient never changes `wp.adjoint[{param}]`"))
    .label(place, format!("`{param}` holds floats"))
    .help(format!("add to `wp.adjoint[{param}]`; if 0 is meant, add 0"))
}

/// A custom gradient returns a value.
pub(in crate::check) fn returns_value(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0622, "a gradient returns nothing").label(at, "it writes adjoints: `wp.adjoint[x] += ...`")
}

/// A custom gradient works on threads, and its function on blocks of them, or the other way round.
pub(in crate::check) fn threads_differ(function: &str, what: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0622, format!("the gradient of `{function}` {what}, and the function itself does not"))
        .label(at, "a function and its gradient work on the same: threads, or blocks of them")
}

/// `wp.adjoint` is used outside a custom gradient.
pub(in crate::check) fn adjoint_elsewhere(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0624, "`wp.adjoint` is only known in custom gradients")
        .label(at, "not inside a `@wp.func_grad`")
}

/// The gradient of a function is taken of gradients too often over.
pub(in crate::check) fn too_deep(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0910, format!("gradients of gradients go more than {MAX_GRADIENT_DEPTH} deep"))
        .label(at, "its function calls `wp.grad` of others that do")
}

/// `wp.adjoint[...]` names something else than a parameter of the function.
pub(in crate::check) fn no_parameter_named(at: Span) -> Diagnostic {
    no_adjoint("a parameter of the function is named here", at)
}

/// `wp.adjoint[...]` names a variable without an adjoint.
pub(in crate::check) fn without_adjoint(name: &str, at: Span) -> Diagnostic {
    no_adjoint(&format!("`{name}` is no parameter of the function that holds floats"), at)
}

fn no_adjoint(label: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0624, "this has no adjoint").label(at, label)
}
