//! What some cases offer: a help, and a fix where it is one edit.

use crate::diag::{Applicability, Diagnostic, counted};
use crate::source::Span;

/// Offers a vector or a local array for a list.
pub(in crate::check) fn vector_for_list(diagnostic: Diagnostic) -> Diagnostic {
    diagnostic.help("use a vector (`wp.vec3(...)`) or a local array (`wp.zeros(shape=N, dtype=float)`)")
}

/// Offers another text for the place.
pub(in crate::check) fn written_so(diagnostic: Diagnostic, text: &str, at: Span) -> Diagnostic {
    diagnostic.help(format!("write `{text}`")).fix(format!("write `{text}`"), at, text, Applicability::Maybe)
}

/// Offers a loop over one index.
pub(in crate::check) fn one_index(diagnostic: Diagnostic) -> Diagnostic {
    diagnostic.help("loop over one index")
}

/// Offers a loop over the range of one index.
pub(in crate::check) fn range_of_index(diagnostic: Diagnostic) -> Diagnostic {
    diagnostic.help("loop over one index: `for j in range(n):`")
}

/// Offers a vector for the values of a loop.
pub(in crate::check) fn values_in_vector(diagnostic: Diagnostic) -> Diagnostic {
    diagnostic.help("keep the values in a vector, and loop over its index: `for k in range(3):`")
}

/// Offers a loop over indices, with the lines that read the elements.
pub(in crate::check) fn loop_over_indices(diagnostic: Diagnostic, range: &str, lines: &str) -> Diagnostic {
    diagnostic.help(format!("loop over the indices: `for {range}:` with {lines}"))
}

/// Offers whole steps for a `range` of fractions.
pub(in crate::check) fn whole_steps(diagnostic: Diagnostic, step: &str) -> Diagnostic {
    diagnostic.help(format!("loop over whole steps, and compute from them: `float(j) * {step}`"))
}

/// Offers another name for the new value.
pub(in crate::check) fn another_name(diagnostic: Diagnostic) -> Diagnostic {
    diagnostic.help("use another name for the new value")
}

/// Offers the name that is probably meant.
pub(in crate::check) fn did_you_mean(diagnostic: Diagnostic, near: &str, at: Span) -> Diagnostic {
    diagnostic.help(format!("did you mean `{near}`?")).fix(format!("use `{near}`"), at, near, Applicability::Maybe)
}

/// Offers the results of a function without tuples among them.
pub(in crate::check) fn results_on_one_level(diagnostic: Diagnostic, values: &str) -> Diagnostic {
    diagnostic.help(format!("return all values on one level: `return {values}`"))
}

/// Offers the items of a tuple as results.
pub(in crate::check) fn items_of_result(diagnostic: Diagnostic, tuple: &str) -> Diagnostic {
    diagnostic.help(format!("return its items one by one: `{tuple}[0]`, ..."))
}

/// Offers what of vectors can be compared.
pub(in crate::check) fn compare_components(diagnostic: Diagnostic) -> Diagnostic {
    diagnostic.help("vectors have no order: compare a component, `v[0]`, or the length, `wp.length(v)`")
}

/// Says that arrays get no new dimensions by `None`.
pub(in crate::check) fn no_new_dimensions(diagnostic: Diagnostic) -> Diagnostic {
    diagnostic.help("arrays get no new dimensions in a kernel: leave `None` away")
}

/// Offers fewer indices, or an array with more dimensions.
pub(in crate::check) fn declared_rank(diagnostic: Diagnostic, rank: usize, indices: usize) -> Diagnostic {
    diagnostic.help(format!(
        "use {}, or declare the array with {indices} dimensions: `wp.array{indices}d(dtype=...)`",
        counted(rank, "index")
    ))
}

/// Offers to leave the annotation of a result away.
pub(in crate::check) fn no_annotation(diagnostic: Diagnostic, at: Span) -> Diagnostic {
    diagnostic.fix("leave the annotation away", at, "", Applicability::Machine)
}

/// Offers a `return` behind the last line of a function.
pub(in crate::check) fn return_at_end(diagnostic: Diagnostic, value: &str, indent: &str, end: Span) -> Diagnostic {
    diagnostic.help(format!("end it with `return {value}`")).fix(
        format!("return `{value}`"),
        end,
        format!("\n{indent}return {value}"),
        Applicability::Maybe,
    )
}

/// Offers a `return`, or no annotation of a result.
pub(in crate::check) fn return_or_no_annotation(diagnostic: Diagnostic) -> Diagnostic {
    diagnostic.help("end it with `return` and the value, or leave the annotation away")
}

/// Offers a result of the promised type, or no annotation.
pub(in crate::check) fn promised_type_or_no_annotation(diagnostic: Diagnostic) -> Diagnostic {
    diagnostic.help("return the type that is promised, or leave the annotation away")
}

/// Offers a conversion of a result.
pub(in crate::check) fn converted_result(diagnostic: Diagnostic, cast: &str, value: &str) -> Diagnostic {
    diagnostic.help(format!("convert it: `return {cast}({value})`"))
}

/// Offers a conversion in place of an annotation.
pub(in crate::check) fn value_converted_instead(diagnostic: Diagnostic, repaired: &str, at: Span) -> Diagnostic {
    diagnostic.help(format!("write `{repaired}`")).fix("convert the value instead", at, repaired, Applicability::Maybe)
}

/// Offers one name for one value.
pub(in crate::check) fn one_name(diagnostic: Diagnostic, first: &str, value: &str) -> Diagnostic {
    diagnostic.help(format!("one value has one name: `{first} = {value}`"))
}

/// Offers a name for each value.
pub(in crate::check) fn name_for_each(diagnostic: Diagnostic) -> Diagnostic {
    diagnostic.help("give each value a name, `_` where it is not needed")
}

/// Offers a conditional for `and` and `or` of numbers.
pub(in crate::check) fn conditional_for_logic(diagnostic: Diagnostic) -> Diagnostic {
    diagnostic.help("`and` and `or` give a `bool` in kernels: write `a if a != 0.0 else b`")
}

/// Offers an element of an array for the array.
pub(in crate::check) fn index_for_each_dimension(diagnostic: Diagnostic, element: &str) -> Diagnostic {
    diagnostic.help(format!("one index for each dimension gives an element: `{element}`"))
}

/// Offers a component of a vector, or its length, for the vector.
pub(in crate::check) fn component_or_length(diagnostic: Diagnostic, part: &str, vector: &str) -> Diagnostic {
    diagnostic.help(format!("store a component, `{part}`, or what is computed of all: `wp.length({vector})`"))
}

/// Offers a vector with equal components for a number.
pub(in crate::check) fn vector_of_number(diagnostic: Diagnostic, whole: &str, at: Span) -> Diagnostic {
    diagnostic.help(format!("give every component the number: `{whole}`")).fix(
        "make a vector of it",
        at,
        whole,
        Applicability::Maybe,
    )
}

/// Offers to call functions where they are chosen.
pub(in crate::check) fn functions_where_chosen(diagnostic: Diagnostic, name: &str) -> Diagnostic {
    diagnostic.note("kernels have no pointers to functions").help(format!(
        "call the functions where they are chosen, and keep what they return: `y = {name}(x)` in each branch"
    ))
}

/// Offers to use what is chosen where it is.
pub(in crate::check) fn where_chosen(diagnostic: Diagnostic) -> Diagnostic {
    diagnostic
        .help("use it where it is chosen, and keep the value that comes of it; or give the two names of their own")
}

/// Offers another name for a value that another iteration would see.
pub(in crate::check) fn another_name_in_loop(diagnostic: Diagnostic) -> Diagnostic {
    diagnostic
        .note("an iteration of a loop begins with what the one before it left")
        .help("use another name for the new value")
}

/// Offers a type for its name in quotes.
pub(in crate::check) fn type_itself(diagnostic: Diagnostic) -> Diagnostic {
    diagnostic.help("name the type itself: `dtype=wp.float64`")
}

/// Offers an array and its index as two arguments.
pub(in crate::check) fn array_and_index_apart(diagnostic: Diagnostic, name: &str) -> Diagnostic {
    diagnostic.help(format!("give array and index apart: `wp.{name}(x, i, value)`"))
}

/// Offers square brackets for the index of an array.
pub(in crate::check) fn index_in_brackets(diagnostic: Diagnostic, index: &str, at: Span) -> Diagnostic {
    diagnostic.help("an index stands in square brackets: `x[i]`").fix(
        "index the array",
        at,
        format!("[{index}]"),
        Applicability::Maybe,
    )
}

/// Offers calls of two arguments within one another for more.
pub(in crate::check) fn nested_calls(diagnostic: Diagnostic, nested: &str, at: Span) -> Diagnostic {
    diagnostic.help(format!("nest the calls: `{nested}`")).fix("nest the calls", at, nested, Applicability::Maybe)
}

/// Offers a loop for the reduction of an array.
pub(in crate::check) fn loop_over_elements(diagnostic: Diagnostic, step: &str) -> Diagnostic {
    diagnostic.help(format!("loop over the elements: `for j in range(x.shape[0]):` `{step}`"))
}

/// Offers the state of a generator as the first argument.
pub(in crate::check) fn state_first(diagnostic: Diagnostic, function: &str) -> Diagnostic {
    diagnostic.help(format!("a state comes first: `state = wp.rand_init(seed, wp.tid())`, then `wp.{function}(state)`"))
}

/// Offers how a number is rounded to decimals.
pub(in crate::check) fn round_to_decimals(diagnostic: Diagnostic) -> Diagnostic {
    diagnostic.help("to decimals, scale: `wp.round(x * 100.0) / 100.0`")
}

/// Offers to swap two arguments of a launch.
pub(in crate::check) fn swapped_arguments(
    diagnostic: Diagnostic,
    one: &str,
    other: &str,
    edits: Vec<(Span, String)>,
) -> Diagnostic {
    diagnostic.help(format!("`{one}` and `{other}` seem to be swapped")).fix_all(
        "swap them",
        edits,
        Applicability::Maybe,
    )
}

/// Offers an array of another type, or a parameter for this one.
pub(in crate::check) fn elements_of_array(diagnostic: Diagnostic, element: &str) -> Diagnostic {
    diagnostic.help(format!("make it with `dtype=wp.{element}`, or declare the parameter for its elements"))
}

/// Shows the annotation of a parameter.
pub(in crate::check) fn declared_type(diagnostic: Diagnostic, annotation: &str) -> Diagnostic {
    diagnostic.help(format!("it takes `{annotation}`"))
}

/// Offers the kernel language for CUDA text.
pub(in crate::check) fn func_for_cuda_text(diagnostic: Diagnostic) -> Diagnostic {
    diagnostic.help("write the function in the kernel language, with `@wp.func`")
}

/// Offers constant arguments for a function that makes kernels.
pub(in crate::check) fn constant_arguments(diagnostic: Diagnostic, function: &str) -> Diagnostic {
    diagnostic.help(format!(
        "call `{function}(...)` in this file with constant arguments, or give the parameter a constant default"
    ))
}

/// Offers one binding of a name, above the kernel.
pub(in crate::check) fn bound_once(diagnostic: Diagnostic) -> Diagnostic {
    diagnostic.help("bind the name once, above the kernel")
}

/// Offers a constant or an argument for a value of Python.
pub(in crate::check) fn constant_or_argument(diagnostic: Diagnostic) -> Diagnostic {
    diagnostic.help("write the value as a constant, or pass it to the kernel as an argument")
}

/// Offers to remove the place.
pub(in crate::check) fn removed(diagnostic: Diagnostic, at: Span) -> Diagnostic {
    diagnostic.fix("remove it", at, "", Applicability::Maybe)
}

/// Names what is probably meant.
pub(in crate::check) fn did_you_mean_name(diagnostic: Diagnostic, near: &str) -> Diagnostic {
    diagnostic.help(format!("did you mean `{near}`?"))
}

/// Offers the decorator of a function or struct.
pub(in crate::check) fn decorator(diagnostic: Diagnostic, decorator: &str, indent: &str, at: Span) -> Diagnostic {
    diagnostic.fix(
        format!("decorate it with `{decorator}`"),
        at,
        format!("{indent}{decorator}\n"),
        Applicability::Maybe,
    )
}

/// Offers the name that something has in this file.
pub(in crate::check) fn name_here(diagnostic: Diagnostic, name: &str, at: Span) -> Diagnostic {
    diagnostic.help(format!("it is called `{name}` here")).fix(format!("use `{name}`"), at, name, Applicability::Maybe)
}

/// Offers the name of a parameter that is probably meant.
pub(in crate::check) fn written_instead(diagnostic: Diagnostic, near: &str, at: Span) -> Diagnostic {
    diagnostic.help(format!("did you mean `{near}`?")).fix(format!("write `{near}`"), at, near, Applicability::Maybe)
}

/// Offers the name by which a file imports Warp.
pub(in crate::check) fn name_of_warp(diagnostic: Diagnostic, own: &str, at: Span) -> Diagnostic {
    diagnostic.help(format!("this file calls it `{own}`")).fix(format!("use `{own}`"), at, own, Applicability::Machine)
}

/// Offers the import of a module; `what` follows `import`.
pub(in crate::check) fn import_first(diagnostic: Diagnostic, what: &str) -> Diagnostic {
    diagnostic.help(format!("import it first: `import {what}`"))
}

/// Offers a definition of a name in host code.
pub(in crate::check) fn define_first(diagnostic: Diagnostic, name: &str) -> Diagnostic {
    diagnostic.help(format!("define or import `{name}` first"))
}

/// Offers a variable or a parameter of a name.
pub(in crate::check) fn assign_first(diagnostic: Diagnostic, name: &str) -> Diagnostic {
    diagnostic.help(format!("assign `{name}` first, or pass it in: a parameter `{name}: float`"))
}

/// Replaces the header of a loop over elements, and reads them in its body.
pub(in crate::check) fn indices_for_elements(
    diagnostic: Diagnostic,
    header: (Span, String),
    body: (Span, String),
) -> Diagnostic {
    diagnostic.fix_all("loop over the indices", vec![header, body], Applicability::Maybe)
}

/// Offers an array of as many dimensions as a parameter has, or a parameter of as many as the
/// array.
pub(in crate::check) fn other_rank(diagnostic: Diagnostic, wanted: usize, given: usize) -> Diagnostic {
    diagnostic.help(format!(
        "an array of {} fits: another shape here, or `wp.array{given}d(...)` in the kernel",
        counted(wanted, "dimension")
    ))
}
