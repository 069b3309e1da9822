//! Findings about names: what is not defined, imported or part of the kernel language.

use crate::diag::{Applicability, Code, Diagnostic};
use crate::limits::MAX_SCOPES;
use crate::source::Span;

/// A kernel computes the index of its thread as CUDA does.
pub(in crate::check) fn thread_number(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0502, "blocks and their threads have no meaning inside a kernel")
        .label(at, "the index of a thread, as CUDA computes it")
}

/// A kernel makes a vector of a list by a name of another library.
pub(in crate::check) fn vector_of_list(name: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0502, format!("`{name}` has no meaning inside a kernel"))
        .label(at, "a vector is made by its type")
}

/// A kernel uses a function of Warp for host code.
pub(in crate::check) fn host_function(name: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0203, format!("`{name}` belongs to host code")).label(at, "used inside a kernel")
}

/// A kernel calls a method of a value.
pub(in crate::check) fn method(name: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0202, format!("values have no method `{name}`"))
        .label(at, "a function takes the value as its argument here")
}

/// A kernel uses a name of another library.
pub(in crate::check) fn foreign_name(name: &str, library: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0502, format!("`{name}` has no meaning inside a kernel"))
        .label(at, format!("a name of {library}"))
}

/// A name is not defined.
pub(in crate::check) fn undefined(name: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0201, format!("`{name}` is not defined")).label(at, "not known here")
}

/// A function of NumPy is taken as a built-in.
pub(in crate::check) fn taken_as_builtin(written: &str, builtin: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::W1306, format!("`{written}` is taken as `{builtin}`"))
        .label(at, "nothing of NumPy runs in a kernel")
        .fix(format!("write `{builtin}`"), at, builtin, Applicability::Machine)
}

/// A type has no attribute of this name.
pub(in crate::check) fn attribute_of_type(ty: &str, name: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0202, format!("type `{ty}` has no attribute `{name}`")).label(at, "not known")
}

/// An enumeration has no member of this name.
pub(in crate::check) fn member_of_enumeration(class: &str, member: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0202, format!("`{class}` has no member `{member}`")).label(at, "not a member")
}

/// A decorator is no name of Warp, and near to one.
pub(in crate::check) fn unknown_decorator(module: &str, name: &str, near: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0202, format!("`{module}` has no decorator `{name}`"))
        .label(at, "not known, so that this is no kernel and no function of one")
        .help(format!("did you mean `@{module}.{near}`?"))
        .fix(format!("use `{near}`"), at, near, Applicability::Maybe)
}

/// A decorator belongs to Warp, which the file does not import.
pub(in crate::check) fn warp_not_imported(root: &str, import: &str, at: Span, start: Span) -> Diagnostic {
    Diagnostic::new(Code::E0201, format!("`{root}` is not defined"))
        .label(at, "Warp is not imported")
        .help(format!("begin the file with `{import}`"))
        .fix("import it", start, format!("{import}\n"), Applicability::Maybe)
}

/// A file has no kernels of Warp, and functions that another library decorates.
pub(in crate::check) fn kernels_of_other_library(name: &str, library: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::W0907, format!("this file has no kernels: `{name}` is one of {library}"))
        .label(at, format!("a decorator of {library}"))
        .help("decorate it with `@wp.kernel`, and give each parameter its type")
        .fix("write `@wp.kernel`", at, "wp.kernel", Applicability::Maybe)
}

/// A kernel uses a value of a module of Python.
pub(in crate::check) fn python_value(module: &str, name: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0502, format!("`{module}.{name}` has no meaning inside a kernel"))
        .label(at, format!("a value of the Python module `{module}`"))
}

/// A kernel uses a name of Warp that kc does not support.
pub(in crate::check) fn unsupported_builtin(name: &str, reason: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0408, format!("`{name}` is not supported")).label(at, reason)
}

/// A kernel uses Warp's name for a statement.
pub(in crate::check) fn name_of_statement(name: &str, statement: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0408, format!("`{name}` cannot be called"))
        .label(at, "Warp's name for a statement")
        .help(format!("write the statement itself: `{statement}`"))
}

/// There is no built-in of this name.
pub(in crate::check) fn no_builtin(name: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0202, format!("there is no built-in `{name}`"))
        .label(at, "not a name of the kernel language")
}

/// An imported name is imported from the file that imports it.
pub(in crate::check) fn circular_import(name: &str, module: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0507, format!("the import of `{name}` from `{module}` leads back to itself"))
        .label(at, "used here")
}

/// An imported file does not have the name.
pub(in crate::check) fn missing_in_file(path: &str, name: &str, module: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0507, format!("`{path}` does not have `{name}`"))
        .label(at, format!("imported from `{module}`"))
}

/// A name is imported from outside of the package.
pub(in crate::check) fn outside_package(name: &str, module: &str, help: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0507, format!("`{name}` is imported from `{module}`, which leads out of the package"))
        .label(at, "kc reads the files of one package")
        .help(help)
}

/// A name is imported from a file that cannot be read.
pub(in crate::check) fn unreadable_file(name: &str, path: &str, reason: &str, help: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0507, format!("`{name}` is imported from `{path}`, which cannot be read"))
        .label(at, "its meaning is in that file")
        .note(reason)
        .help(help)
}

/// A name is imported from a file that is not found.
pub(in crate::check) fn missing_file(name: &str, module: &str, help: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0507, format!("`{name}` is imported from `{module}`, which kc does not find"))
        .label(at, "its meaning is in another file")
        .help(help)
}

/// A file makes too many variants of its kernels.
pub(in crate::check) fn too_many_variants(at: Span) -> Diagnostic {
    Diagnostic::new(
        Code::W0504,
        format!("this file makes more than {MAX_SCOPES} variants of its kernels; the rest is not looked at"),
    )
    .label(at, "of this function, for one")
}

/// The name of a kernel, struct or field has letters that C and PTX do not have.
pub(in crate::check) fn letters(what: &str, name: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0318, format!("{what} `{name}` has letters that C and PTX do not have"))
        .label(at, "this name stands in generated code")
        .help("use the letters of ASCII here; variables and functions may have any name that Python takes")
}

/// A struct has two fields of one name.
pub(in crate::check) fn field_twice(owner: &str, field: &str, at: Span, first: Span) -> Diagnostic {
    Diagnostic::new(Code::E0318, format!("struct `{owner}` has two fields `{field}`"))
        .label(at, "the second one")
        .label(first, "the first one")
}

/// A field of a struct has a default value, which is ignored.
pub(in crate::check) fn default_of_field(field: &str, owner: &str, value: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::W1309, format!("the default of `{field}` is ignored: a new `{owner}` is all zeros"))
        .label(at, "Warp ignores it, too")
        .help(format!("set it where a `{owner}` is made: `s.{field} = {value}`"))
}

/// A kernel is called in a kernel.
pub(in crate::check) fn kernel_in_kernel(name: &str, at: Span, place: Span) -> Diagnostic {
    Diagnostic::new(Code::E0404, format!("kernel `{name}` cannot be used inside a kernel"))
        .label(at, "a kernel is launched, not called")
        .label(place, "defined here")
        .help("move the shared code to a function with `@wp.func`")
}

/// A constant of the module depends on itself.
pub(in crate::check) fn circular_constant(name: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0501, format!("constant `{name}` depends on itself")).label(at, "used here")
}

/// A kernel uses a function or class without a decorator.
pub(in crate::check) fn plain_python(
    name: &str,
    what: &str,
    decorator: &str,
    use_: &str,
    at: Span,
    place: Span,
) -> Diagnostic {
    Diagnostic::new(Code::E0203, format!("`{name}` is not a kernel {what}"))
        .label(at, "used inside a kernel")
        .label(place, "this is plain Python")
        .help(format!("decorate it with `{decorator}` to {use_}"))
}

/// A value has no attribute of this name.
pub(in crate::check) fn no_attribute(ty: &str, name: &str, at: Span, value: Span) -> Diagnostic {
    Diagnostic::new(Code::E0202, format!("`{ty}` has no attribute `{name}`"))
        .label(at, "not known")
        .label(value, format!("this is `{ty}`"))
}

/// A function calls itself.
pub(in crate::check) fn recursion(function: &str, call: Span, place: Span) -> Diagnostic {
    Diagnostic::new(Code::E0405, format!("`{function}` calls itself"))
        .label(call, "this call closes the circle")
        .label(place, "defined here")
        .note("GPU code has no call stack of unbounded depth; kernels have no recursion")
        .help("write it as a loop")
}

/// A function of an imported file has errors.
pub(in crate::check) fn errors_in_import(function: &str, path: &str, call: Span, place: Span) -> Diagnostic {
    Diagnostic::new(Code::E0507, format!("`{function}` of `{path}` has errors"))
        .label(call, "called here")
        .label(place, "defined here")
}

/// A function has `*args` or `**kwargs`.
pub(in crate::check) fn star_parameter(at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0308, "kernels and functions have a fixed number of parameters")
        .label(at, "a variable number of arguments")
        .help("name each parameter, with its type")
}

/// A parameter has no annotation.
pub(in crate::check) fn no_annotation(name: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0309, format!("parameter `{name}` has no type annotation"))
        .label(at, "its type is needed")
        .help(format!("write `{name}: float`, `{name}: wp.array(dtype=float)`, ..."))
}

/// A kernel or function has a parameter `self` or `cls`.
pub(in crate::check) fn method_parameter(what: &str, this: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0309, format!("a {what} has no `{this}`: there is no object on the GPU"))
        .label(at, "leave it away")
        .help(format!("remove `{this}`, and pass the attributes that are needed as parameters"))
}
