//! Findings about statements: loops, assignments, results of functions.

use crate::diag::{Code, Diagnostic, counted};
use crate::source::Span;

/// A kernel has a list.
pub(in crate::check) fn lists(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0308, "a kernel cannot have lists").label(at, "not part of the kernel language")
}

/// A function returns a part of a local array.
pub(in crate::check) fn part_of_local_array_returned(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0316, "a part of a local array cannot leave its function")
        .label(at, "returned here")
        .help("return the whole array, or copy the part to an array of its own")
}

/// A loop has several variables.
pub(in crate::check) fn several_loop_variables(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0308, "a kernel cannot have loops over several variables").label(at, "loops count one index")
}

/// A loop goes over something else than a range.
pub(in crate::check) fn not_a_range(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0323, "loops go over `range(...)` only").label(at, "not a range")
}

/// `reversed` is called with another number of arguments than one.
pub(in crate::check) fn arguments_of_reversed(given: usize, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0402, "`reversed` takes one range").label(at, format!("{given} arguments"))
}

/// `range` is called without arguments, with more than three, or with keywords.
pub(in crate::check) fn arguments_of_range(given: usize, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0402, "`range` takes one to three arguments").label(at, format!("{given} given"))
}

/// The step of a loop's `range` is 0.
pub(in crate::check) fn step_of_range_is_zero(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0305, "the step of `range` is 0").label(at, "the loop would never end")
}

/// A function returns a tuple among its results.
pub(in crate::check) fn nested_result(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0304, "a tuple is no result of a function").label(at, "several values among the results")
}

/// A kernel has something that is no part of the kernel language.
pub(in crate::check) fn unsupported(what: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0308, format!("a kernel cannot have {what}")).label(at, "not part of the kernel language")
}

/// A constant of the module is assigned in a kernel.
pub(in crate::check) fn constant_assigned(name: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0314, format!("`{name}` is a constant of the module"))
        .label(at, "a kernel can read it, and not change it")
        .help("a count goes to an array parameter: `wp.atomic_add(count, 0, 1)`")
}

/// Something is assigned that is no variable, element, or part of one.
pub(in crate::check) fn not_assignable(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0314, "this cannot be assigned")
        .label(at, "not a variable, an array element, or a part of one")
        .note("array slices and parts of computed values are not assignable")
        .help("assign to the elements one by one, in a loop if they are many")
}

/// The annotation of a kernel says that it returns something.
pub(in crate::check) fn kernel_promises_result(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0312, "kernels do not return values")
        .label(at, "promised here")
        .help("write the results to an array parameter, and leave the annotation away or write `-> None`")
}

/// A function without a `return` has an annotation of what it returns.
pub(in crate::check) fn promised_result_missing(name: &str, shown: &str, promised: Span, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0324, format!("`{name}` promises `{shown}` and returns nothing"))
        .label(promised, "promised here")
        .label(at, "no `return` follows")
}

/// A function returns another type than its annotation says.
pub(in crate::check) fn other_result_promised(
    name: &str,
    shown: &str,
    found: &str,
    at: Span,
    promised: Span,
) -> Diagnostic {
    Diagnostic::new(Code::E0311, format!("`{name}` promises `{shown}` and returns `{found}`"))
        .label(at, format!("here `{found}`"))
        .label(promised, "promised here")
}

/// A kernel returns a value.
pub(in crate::check) fn kernel_returns_value(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0312, "kernels do not return values")
        .label(at, "returned here")
        .help("write the result to an array parameter")
}

/// A function returns different types in two places.
pub(in crate::check) fn results_differ(old: &str, new: &str, at: Span, place: Span) -> Diagnostic {
    Diagnostic::new(Code::E0311, format!("this function returns {old} and {new}"))
        .label(at, format!("here {new}"))
        .label(place, format!("here {old}"))
        .note("a function returns the same types everywhere")
}

/// An assignment has an annotation.
pub(in crate::check) fn annotated_assignment(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0308, "kernels have no annotated assignments")
        .label(at, "a variable gets the type of its value")
}

/// `break` or `continue` is in no loop.
pub(in crate::check) fn outside_loop(word: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0308, format!("`{word}` outside a loop")).label(at, "there is no loop around this")
}

/// The function `tid` is assigned without a call of it.
pub(in crate::check) fn tid_not_called(written: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0404, format!("`{written}` is not called"))
        .label(at, "the function itself, not the index of the thread")
}

/// One value is unpacked into several variables.
pub(in crate::check) fn one_value_unpacked(ty: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0313, format!("`{ty}` cannot be unpacked")).label(at, "this is one value")
}

/// `wp.tid()` is unpacked into more than 4 variables.
pub(in crate::check) fn too_many_coordinates(count: usize, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0313, "a launch has at most 4 dimensions").label(at, format!("{count} variables"))
}

/// A function that is no kernel calls `wp.tid()`.
pub(in crate::check) fn tid_outside_kernel(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0406, "`wp.tid()` is only known in kernels")
        .label(at, "not inside a `@wp.func`")
        .help("pass the index as an argument: a parameter `i: int`")
}

/// A call that returns a local array is in a part of an expression that may not run.
pub(in crate::check) fn local_array_of_call(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0316, "a call that returns a local array stands where it may not run, or more than once")
        .label(at, "its array is made before the statement")
        .help("assign it to a variable before, in a statement of its own")
}

/// The bounds of a loop's `range` have different integer types.
pub(in crate::check) fn bounds_of_range(first: &str, found: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0305, format!("the arguments of `range` are `{first}` and `{found}`"))
        .label(at, format!("this is `{found}`"))
}

/// A bound of a loop's `range` is no integer.
pub(in crate::check) fn bound_is_no_integer(found: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0305, format!("`range` counts in integers, not `{found}`"))
        .label(at, format!("this is `{found}`"))
}

/// A loop goes over something that has no elements either.
pub(in crate::check) fn not_iterable(at: Span) -> Diagnostic {
    not_a_range(at).help("loop over the indices: `for i in range(n):`")
}

/// Several values are assigned to another number of variables.
pub(in crate::check) fn number_of_values(found: usize, wanted: usize, at: Span) -> Diagnostic {
    let come = if found == 1 { "comes" } else { "come" };
    Diagnostic::new(Code::E0313, format!("{} for {}", counted(found, "value"), counted(wanted, "variable")))
        .label(at, format!("{} {come} from here", counted(found, "value")))
}

/// A part of an array is assigned where an element is expected.
pub(in crate::check) fn too_few_indices_assigned(
    (given, whole, rank): (usize, usize, usize),
    array: &str,
    at: Span,
    place: Span,
) -> Diagnostic {
    let message = format!("{} for an array of {}", counted(given, "index"), counted(whole, "dimension"));
    Diagnostic::new(Code::E0314, message)
        .label(at, format!("this is an array of {}, not an element", counted(rank, "dimension")))
        .label(place, format!("this is `{array}`"))
        .help("give an index for each dimension")
}
