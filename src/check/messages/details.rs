//! What some cases add to a finding: labels and notes.

use crate::diag::{Diagnostic, counted};
use crate::source::Span;

/// Says what ends a thread early.
pub(in crate::check) fn return_ends_thread(diagnostic: Diagnostic) -> Diagnostic {
    diagnostic.note("`return` ends the work of this thread")
}

/// Labels the variables that values are assigned to.
pub(in crate::check) fn number_of_targets(diagnostic: Diagnostic, count: usize, at: Span) -> Diagnostic {
    diagnostic.label(at, counted(count, "variable"))
}

/// Labels the place from which a name has a meaning.
pub(in crate::check) fn meaning_from_here(diagnostic: Diagnostic, name: &str, what: &str, at: Span) -> Diagnostic {
    diagnostic.label(at, format!("`{name}` is {what} from here on"))
}

/// Names the parameters with adjoints.
pub(in crate::check) fn known_adjoints(diagnostic: Diagnostic, names: &str) -> Diagnostic {
    diagnostic.note(format!("the parameters with adjoints are {names}"))
}

/// Names the overloads of a function.
pub(in crate::check) fn candidates(diagnostic: Diagnostic, signatures: &str) -> Diagnostic {
    diagnostic.note(format!("the candidates are {signatures}"))
}

/// Shows the signature of a built-in.
pub(in crate::check) fn signature(diagnostic: Diagnostic, signature: &str) -> Diagnostic {
    diagnostic.note(format!("the signature is {signature}"))
}

/// Labels the definition of a function.
pub(in crate::check) fn defined_here(diagnostic: Diagnostic, at: Span) -> Diagnostic {
    diagnostic.label(at, "defined here")
}

/// Labels the declaration of a parameter.
pub(in crate::check) fn declared_here(diagnostic: Diagnostic, name: &str, at: Span) -> Diagnostic {
    diagnostic.label(at, format!("`{name}` is declared here"))
}

/// Says which launch has no race.
pub(in crate::check) fn one_block(diagnostic: Diagnostic) -> Diagnostic {
    diagnostic.note("a launch of one block has no race")
}

/// Labels the value of an update that other threads overwrite.
pub(in crate::check) fn read_before(diagnostic: Diagnostic, at: Span) -> Diagnostic {
    diagnostic.label(at, "and read it before: updates of other threads are lost")
}

/// Labels the values that threads store to one element.
pub(in crate::check) fn last_one_wins(diagnostic: Diagnostic, at: Span) -> Diagnostic {
    diagnostic.label(at, "with different values: the last one wins, whichever that is")
}

/// Says that the index has not all coordinates of the thread.
pub(in crate::check) fn coordinates_left_out(diagnostic: Diagnostic) -> Diagnostic {
    diagnostic.note("the index does not depend on every coordinate of `wp.tid()`")
}

/// Names the files that were looked for.
pub(in crate::check) fn looked_for(diagnostic: Diagnostic, files: &str) -> Diagnostic {
    diagnostic.note(format!("looked for {files}"))
}

/// Names the parameters of a built-in.
pub(in crate::check) fn parameters(diagnostic: Diagnostic, params: &str) -> Diagnostic {
    diagnostic.help(format!("it takes {params}"))
}

/// Labels an operation on tiles of two shapes.
pub(in crate::check) fn one_shape_needed(diagnostic: Diagnostic, at: Span) -> Diagnostic {
    diagnostic.label(at, "element by element needs one shape")
}

/// Labels two tiles with their shapes.
pub(in crate::check) fn two_shapes(
    diagnostic: Diagnostic,
    left: &str,
    right: &str,
    at_left: Span,
    at_right: Span,
) -> Diagnostic {
    diagnostic.label(at_left, format!("the shape is {left}")).label(at_right, format!("the shape is {right}"))
}

/// Labels the place that gave a value its type.
pub(in crate::check) fn because_of_this(
    diagnostic: Diagnostic,
    name: &str,
    verb: &str,
    ty: &str,
    at: Span,
) -> Diagnostic {
    diagnostic.label(at, format!("`{name}` {verb} `{ty}` because of this"))
}

/// Names the components of a vector.
pub(in crate::check) fn components(diagnostic: Diagnostic, components: &str) -> Diagnostic {
    diagnostic.help(format!("components are {components}"))
}

/// Names the attributes of a value.
pub(in crate::check) fn attributes(diagnostic: Diagnostic, names: &str) -> Diagnostic {
    diagnostic.note(format!("it has {names}"))
}

/// Names the parts of a transform.
pub(in crate::check) fn parts_of_transform(diagnostic: Diagnostic) -> Diagnostic {
    diagnostic.help("it has `p`, the translation, and `q`, the rotation")
}

/// Labels the conversion of a value.
pub(in crate::check) fn converted_here(diagnostic: Diagnostic, at: Span) -> Diagnostic {
    diagnostic.label(at, "converted here")
}

/// Says how many overloads are not shown.
pub(in crate::check) fn more_candidates(diagnostic: Diagnostic, more: usize) -> Diagnostic {
    diagnostic.note(format!("and {more} more"))
}
