"""Annotations and defaults of functions: what Python took them for, which later bindings of their names do not change."""

from __future__ import annotations

import ast
import re
import types


def parameters(node) -> list:
    """Those of a function's definition, in order."""
    return [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]


def slots(node) -> list:
    """The annotations and defaults of a function: what each is, of which parameter (or `return`), and its tree."""
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    found = [("annotation", argument.arg, argument.annotation) for argument in parameters(node)]
    found.append(("annotation", "return", node.returns))
    defaults = zip(positional[len(positional) - len(arguments.defaults) :], arguments.defaults)
    found += [("default", argument.arg, tree) for argument, tree in (*defaults, *zip(arguments.kwonlyargs, arguments.kw_defaults))]
    return [slot for slot in found if slot[2] is not None]


def defaults_of(function) -> dict:
    """The defaults of a function's parameters, as they were when it was defined."""
    code, given = function.__code__, function.__defaults__ or ()
    return {**dict(zip(code.co_varnames[code.co_argcount - len(given) : code.co_argcount], given)), **(function.__kwdefaults__ or {})}


def annotation_of(function, name, tree, names):
    """What an annotation stands for. One that is a text, or is not evaluated yet, means what `names` say.

    Raises what Python raises where that has no value.
    """
    try:
        value = function.__annotations__.get(name, "")
    except NameError:
        value = ""
    return evaluated(tree, names) if isinstance(value, str) else value


def evaluated(tree, names):
    return eval(compile(ast.fix_missing_locations(ast.Expression(unquoted(tree))), "<annotation>", "eval"), dict(names))


def unquoted(annotation):
    """The annotation that a text stands for."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        try:
            return ast.parse(annotation.value, mode="eval").body
        except SyntaxError:
            pass
    return annotation


def unquote(node, lines, first):
    """Takes the quotes from annotations that are texts, and leaves the columns."""
    for _, _, annotation in slots(node):
        if not (isinstance(annotation, ast.Constant) and isinstance(annotation.value, str)):
            continue
        if annotation.lineno != annotation.end_lineno:
            continue
        at = annotation.lineno - first
        line = lines[at].encode()
        start, end = annotation.col_offset, annotation.end_col_offset
        text = annotation.value.encode()
        if len(text) + 2 == end - start:
            lines[at] = (line[:start] + b" " + text + b" " + line[end:]).decode()


def is_literal(tree) -> bool:
    """Whether a default means the same everywhere."""
    try:
        ast.literal_eval(tree)
    except ValueError:
        return False
    return True


def is_array(value) -> bool:
    """Whether it is the type of an array, of kc or Warp."""
    kind = type(value)
    ours = kind.__module__ == "kc._types" and kind.__name__ == "ArrayType"
    return ours or kind.__module__.split(".")[0] == "warp" and kind.__name__ in ("array", "_ArrayAnnotation")


def array_word(value):
    """The word for a class or function that makes array types, of kc or Warp: annotations may call it by another name."""
    if not isinstance(value, (type, types.FunctionType)) or value.__module__.split(".")[0] not in ("kc", "warp"):
        return None
    return value.__name__ if re.fullmatch(r"(indexed)?array([1-4]d)?", value.__name__) else None


def alike(one, other) -> bool:
    """Whether two evaluations of an annotation, or a default, gave the same."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if is_array(one):
        return one.ndim == other.ndim and alike(one.dtype, other.dtype)
    if isinstance(one, type):
        # Types that Warp makes anew.
        facts = [[getattr(t, name, None) for name in ("_wp_generic_type_str_", "_shape_", "_wp_scalar_type_")] for t in (one, other)]
        return None not in facts[0] and facts[0] == facts[1]
    try:
        if one == other:
            return True
    except Exception:
        return False
    if isinstance(one, (tuple, list)):
        return len(one) == len(other) and all(map(alike, one, other))
    facts = getattr(one, "__dict__", None)
    return facts is not None and facts.keys() == other.__dict__.keys() and all(alike(facts[key], other.__dict__[key]) for key in facts)
