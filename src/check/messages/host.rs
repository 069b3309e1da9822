//! Findings about host code: launches, and types for generic kernels.

use crate::diag::{Code, Diagnostic, counted};
use crate::source::Span;

/// A kernel is called by host code.
pub(in crate::check) fn called(name: &str, launch: &str, at: Span, place: Span) -> Diagnostic {
    Diagnostic::new(Code::W0409, format!("kernel `{name}` is called, not launched"))
        .label(at, "Python cannot call a kernel")
        .label(place, "defined here")
        .help(format!("write `{launch}`, with the number of threads in `dim`"))
}

/// A launch calls the kernel instead of naming it.
pub(in crate::check) fn launched_call(name: &str, given: &str, at: Span, place: Span) -> Diagnostic {
    Diagnostic::new(Code::W0409, format!("kernel `{name}` is called, not launched"))
        .label(at, "a launch takes the kernel itself")
        .label(place, "defined here")
        .help(format!("write `wp.launch({name}, dim=..., inputs=[{given}])`"))
}

/// A launch does not say how many threads it has.
pub(in crate::check) fn no_dim(kernel: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::W0409, format!("this launch of `{kernel}` does not say how many threads it has"))
        .label(at, "`dim` is missing")
        .help("add `dim=n`, or `dim=(n, m)` for two dimensions")
}

/// A launch has fewer dimensions than its kernel asks for.
pub(in crate::check) fn rank(
    kernel: &str,
    asked: usize,
    dimensions: &str,
    extents: &str,
    at: Span,
    place: Span,
) -> Diagnostic {
    Diagnostic::new(
        Code::W0409,
        format!("`{kernel}` asks for {}, and this launch has {dimensions}", counted(asked, "coordinate")),
    )
    .label(at, dimensions)
    .label(place, format!("the last of the {asked} is always 0"))
    .help(format!("give as many extents: `dim=({extents})`"))
}

/// An argument of a launch is of another type than its parameter.
pub(in crate::check) fn argument(
    param: &str,
    kernel: &str,
    wanted: &str,
    found: &str,
    at: Span,
    place: Span,
) -> Diagnostic {
    Diagnostic::new(
        Code::W0409,
        format!("parameter `{param}` of `{kernel}` is `{wanted}`, and this launch gives {found}"),
    )
    .label(at, format!("this is {found}"))
    .label(place, "declared here")
}

/// The module option `fast_math` is something else than a bool.
pub(in crate::check) fn fast_math(written: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0401, format!("`fast_math` is True or False, not `{written}`"))
        .label(at, "any other value would count as True in Warp")
        .help("write `\"fast_math\": True`; `docs/gpu.md` says what it changes")
}

/// A launch has blocks of a size that there is not.
pub(in crate::check) fn block_dim(written: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E1006, format!("a block has 1 to 1024 threads, and not {written}"))
        .label(at, "the threads of a block")
        .help("give a whole number, best a multiple of 32: `block_dim=128`")
}

/// A kernel calls CUDA text that kc cannot pass on.
pub(in crate::check) fn cuda_text(kernel: &str, names: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::W0506, format!("kernel `{kernel}` calls CUDA text that kc cannot pass on: {names}"))
        .label(at, "checked; not compiled")
}

/// A kernel needs values that only Python knows.
pub(in crate::check) fn python_values(kernel: &str, one: &str, names: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::W0504, format!("kernel `{kernel}` needs {one} that only Python knows: {names}"))
        .label(at, "checked as far as possible; not compiled")
}

/// Host code gives types for a kernel that there is not.
pub(in crate::check) fn overload_of_nothing(kernel: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0905, format!("there is no kernel `{kernel}`")).label(at, "types are given for it")
}

/// `--types` is no kernel with types.
pub(in crate::check) fn types_not_understood(text: &str) -> Diagnostic {
    Diagnostic::new(Code::E1012, format!("`--types {text}` names no kernel and types")).help(
        "write the kernel with a type for each generic parameter: `scale(x=wp.array(dtype=wp.float64), s=wp.float64)`",
    )
}

/// Types are given for a kernel that is not generic.
pub(in crate::check) fn overload_of_concrete(name: &str, at: Span, place: Span) -> Diagnostic {
    Diagnostic::new(Code::E0315, format!("kernel `{name}` is not generic"))
        .label(at, "types are given for it")
        .label(place, "its parameters have types")
}

/// Types are given for a parameter that the kernel does not have.
pub(in crate::check) fn overload_of_no_parameter(kernel: &str, name: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0315, format!("kernel `{kernel}` has no parameter `{name}`")).label(at, "in this overload")
}

/// An overload gives no type for a generic parameter.
pub(in crate::check) fn overload_incomplete(kernel: &str, name: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::E0315, format!("this overload of `{kernel}` gives no type for `{name}`"))
        .label(at, "a type for each generic parameter is needed")
}

/// The types that host code computes for an overload are none of its kernel.
pub(in crate::check) fn overload_does_not_fit(kernel: &str, types: &str, at: Span, place: Span) -> Diagnostic {
    Diagnostic::new(Code::E0315, format!("kernel `{kernel}` does not take these types: {types}"))
        .label(at, "in this overload")
        .label(place, "declared here")
}

/// An overload gives a type that its parameter does not take.
pub(in crate::check) fn overload_type(
    name: &str,
    kernel: &str,
    wanted: &str,
    found: &str,
    at: Span,
    place: Span,
) -> Diagnostic {
    Diagnostic::new(Code::E0315, format!("`{name}` of kernel `{kernel}` is `{wanted}`, not `{found}`"))
        .label(at, "in this overload")
        .label(place, "declared here")
}

/// A launch gives another number of arguments than its kernel takes.
pub(in crate::check) fn number_of_arguments(
    kernel: &str,
    (wanted, given): (usize, usize),
    params: &str,
    at: Span,
    place: Span,
) -> Diagnostic {
    let message = format!("`{kernel}` takes {}, and this launch gives {given}", counted(wanted, "argument"));
    Diagnostic::new(Code::W0409, message)
        .label(at, format!("{given} given"))
        .label(place, "defined here")
        .help(format!("it takes {params}"))
}

/// A kernel needs something that Python alone can compute.
pub(in crate::check) fn python_alone(kernel: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::W0504, format!("kernel `{kernel}` needs what only Python knows")).label(at, "not compiled")
}

/// A kernel is generic, and nothing says for which types it is compiled; `options` are its generic
/// parameters as `--types` takes them.
pub(in crate::check) fn generic_kernel(kernel: &str, types: &str, options: &str, at: Span) -> Diagnostic {
    Diagnostic::new(Code::W0505, format!("kernel `{kernel}` is generic, and the file names no types for it"))
        .label(at, format!("not compiled: {types}"))
        .note("an array with one element type names it: `wp.array(dtype=float)`")
        .help(format!(
            "say which types are wanted: `wp.overload({kernel}, [...])` with a type for each parameter, or \
             `--types '{kernel}({options})'`"
        ))
}

/// A kernel cannot run in the last block of a launch, which is not full; `why` says what is wrong.
pub(in crate::check) fn last_block(kernel: &str, threads: u32, whole: u32, why: &str) -> Diagnostic {
    let message =
        format!("kernel `{kernel}` cannot run in a block of {threads} of {whole} threads, the last of this launch");
    Diagnostic::new(Code::E1006, message).note(format!("in such a block, {why}")).help(
        "launch a multiple of `block_dim`, and give the threads above the end a value that changes nothing: `v = float(0.0)`, \
         then `if i < n: v = x[i]`",
    )
}
