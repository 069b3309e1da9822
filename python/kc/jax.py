"""Kernels as functions of JAX arrays, with gradients.

    square = kc.jax.function(kernel, outputs=["y"])
    jax.grad(lambda x: square(n, x).sum())(x)

They work under ``jax.jit``, where XLA calls the kernel's code itself, without Python, and under ``jax.grad``, ``jax.jvp``,
``jax.linearize`` and ``jax.vmap``.
"""

from __future__ import annotations

import hashlib

import jax
import jax.numpy as jnp
import numpy as np

from . import _native
from ._arguments import field_of, parameters_of, refuse
from ._function import Function

__all__ = ["function"]

_TARGET = "kc_launch"

if not hasattr(jax, "ffi"):
    raise ImportError(f"kc.jax needs JAX 0.5 or newer, and this is {jax.__version__}")
jax.ffi.register_ffi_target(_TARGET, _native.xla_target(False), platform="cpu")
jax.ffi.register_ffi_target(_TARGET, _native.xla_target(True), platform="CUDA")


def function(kernel, outputs):
    """A function of arrays that launches ``kernel``, differentiable in forward and in reverse mode, on the CPU and on GPUs of NVIDIA.

    It is called as ``f(dim, *arguments)`` with the kernel's arguments but for ``outputs``, which it makes and gives back: zeros at
    first. ``outputs`` lists their names, or maps each to its shape: ``{"loss": 1, "y": lambda dim, x: x.shape}``, a number,
    a tuple, or a function of what the call is given. Without a shape it is that of the launch.

    An output that is given as an argument, too, by name or where all parameters are given, starts with the contents of that array,
    which stays as it is and has a gradient: ``f(n, x, y=y)`` for a kernel that adds to ``y``.

    ``dim`` and shapes are Python's numbers. Numbers, vectors and matrices may be arrays of JAX, and have gradients then. Other
    arrays than the outputs are not written to.
    """
    return _Function(kernel, outputs, "kc.jax.function").caller()


class _Function(Function):
    def __call__(self, dim, arguments, named):
        kernel, dim, values, made, starts = self.bind(dim, arguments, named, lambda _: lambda shape, scalar, _: _Leaf((), shape, scalar, None))
        walk = _Walk(kernel, made)
        plain = [walk.value((n,), name, kind, value) for n, ((name, kind), value) in enumerate(zip(parameters_of(kernel), values))]
        block = np.frombuffer(_native.xla_block(kernel, plain), np.uint8)
        outputs = tuple(walk.outputs[name] for name in self.shapes)
        starting = tuple(k for k, name in enumerate(self.shapes) if name in starts)
        call = _Call(kernel, tuple(dim), tuple(leaf.about for leaf in walk.leaves), outputs, starting)
        contents = [made[name].array for name in self.shapes if name in starts]
        found = _jax_run.run.bind(block, *(leaf.array for leaf in walk.leaves), *contents, call=call, mode="launch", along=())
        return tuple(found) if len(outputs) > 1 else found[0]

    def started(self, name, kind, value):
        array = _array(self.kernel.__name__, name, value)
        return _Leaf((), array.shape, str(array.dtype), array)


class _Leaf:
    """An array of JAX among the arguments: path (parameter, then fields), shape and type of its numbers."""

    def __init__(self, path, shape, scalar, array):
        self.about, self.array = (path, tuple(shape), scalar), array


class _Walk:
    """Takes the arrays of JAX out of the arguments."""

    def __init__(self, kernel, made):
        self.kernel, self.made = kernel.__name__, made
        self.leaves, self.outputs = [], {}

    def value(self, path, name, kind, value):
        """What is left without them."""
        if "fields" in kind:
            fields = kind["fields"].items()
            return {field: self.value((*path, k), f"{name}.{field}", inner, field_of(name, value, field)) for k, (field, inner) in enumerate(fields)}
        if name in self.made:
            _, shape, scalar = self.made[name].about
            self.outputs[name] = (path, shape, scalar)
        elif "ndim" in kind:
            if value is not None:
                array = _array(self.kernel, name, value)
                self.leaves.append(_Leaf(path, array.shape, str(array.dtype), array))
        elif isinstance(value, jax.Array):
            array = self.number(name, kind, value)
            self.leaves.append(_Leaf(path, array.shape, kind["scalar"], array))
            return np.zeros(array.shape).tolist() if array.shape else kind["scalar"] == "bool" and False
        else:
            return value
        return None

    def number(self, name, kind, value):
        """A value of the kernel's type. What is whole becomes a float where that is asked for, not the other way round."""
        wanted, found = jnp.dtype(kind["scalar"]), value.dtype
        if value.shape != kind["shape"]:
            text = f"argument `{name}` of kernel `{self.kernel}`: expected `{kind['type']}`, found an array of shape {value.shape}"
            raise refuse("E1005", text)
        fits = wanted == found or jnp.issubdtype(wanted, jnp.floating) and not jnp.issubdtype(found, jnp.complexfloating)
        fits = fits or jnp.issubdtype(wanted, jnp.integer) and jnp.issubdtype(found, jnp.integer)
        if fits:
            self.in_range(name, kind, value, wanted)
            converted = value.astype(wanted)
            if converted.dtype == wanted:
                return converted
        advice = 'jax.config.update("jax_enable_x64", True)' if fits else None
        raise refuse("E1005", f"argument `{name}` of kernel `{self.kernel}`: expected `{kind['type']}`, found {found}", advice)

    def in_range(self, name, kind, value, wanted):
        """Whole numbers are to fit. Of those that JAX traces only their type is known."""
        if not jnp.issubdtype(wanted, jnp.integer):
            return
        room, of = jnp.iinfo(wanted), jnp.iinfo(value.dtype)
        if room.min <= of.min and of.max <= room.max:
            return
        what = f"argument `{name}` of kernel `{self.kernel}`: expected `{kind['type']}`"
        if isinstance(value, jax.core.Tracer):
            raise refuse("E1005", f"{what}, found {value.dtype}, which may not fit", f"say that it does: `{name}.astype(jax.numpy.{wanted})`")
        numbers = np.asarray(value)
        if numbers.size and not room.min <= int(numbers.min()) <= int(numbers.max()) <= room.max:
            raise refuse("E1005", f"{what}, and {value} does not fit")


def _array(kernel, name, value):
    if isinstance(value, jax.Array):
        return value
    given = np.asarray(value)
    array = jnp.asarray(given)
    if array.dtype != given.dtype:
        text = f"argument `{name}` of kernel `{kernel}` is of {given.dtype}, of which JAX makes {array.dtype}"
        raise refuse("E1005", text, 'jax.config.update("jax_enable_x64", True)')
    return array


class _Call:
    """What a launch is but for the contents of its arrays. Equal ones are one for JAX."""

    def __init__(self, kernel, dim, leaves, outputs, starts=()):
        self.kernel, self.dim, self.leaves, self.outputs = kernel, dim, leaves, outputs
        #: The numbers of the outputs that start with contents, which are operands behind the leaves.
        self.starts = starts

    def __eq__(self, other):
        return isinstance(other, _Call) and self.kernel is other.kernel and self._form() == other._form()

    def __hash__(self):
        return hash(self._form())

    def _form(self):
        return self.dim, self.leaves, self.outputs, self.starts

    def planned(self, mode, along=()):
        """The name of its plan."""
        known = self.kernel.__dict__.setdefault("_known_plans", {})
        key = (self, mode, along)
        if key not in known:
            known[key] = self._plan(mode, along)
        return known[key]

    def _plan(self, mode, along):
        parameters = mode == "backward" and any(_floats(leaf) and self.is_value(leaf) for leaf in self.leaves)
        # The same in every process for the same code, and for no other.
        form = (self.kernel.__name__, *self._form(), mode, along, parameters, _native.version())
        name = hashlib.sha256(f"{self.kernel.ir}\n{form!r}".encode()).hexdigest()
        leaves, outputs = list(self.leaves), list(self.outputs)
        _native.xla_plan(name, self.kernel, self.dim, leaves, outputs, mode=mode, parameters=parameters, along=along, starts=list(self.starts))
        return name

    def is_value(self, leaf):
        about = dict(enumerate(kind for _, kind in parameters_of(self.kernel)))
        for step in leaf[0]:
            kind = about[step]
            about = dict(enumerate(kind.get("fields", {}).values()))
        return "ndim" not in kind

    @property
    def wanted(self):
        """The results that are floats."""
        return tuple(output for output in self.outputs if _floats(output))

    @property
    def inputs(self):
        """What changes: the leaves and the outputs' contents, in the order of the operands."""
        return *self.leaves, *(self.outputs[k] for k in self.starts)

    @property
    def moved(self):
        """The outputs' contents that are floats, which always have tangents in forward mode."""
        return [self.outputs[k] for k in self.starts if _floats(self.outputs[k])]

    def run(self, mode, results, operands, along=()):
        types = tuple(jax.ShapeDtypeStruct(shape, jnp.dtype(scalar)) for _, shape, scalar in results)
        call = jax.ffi.ffi_call(_TARGET, types, vmap_method="sequential")
        return tuple(call(*operands, launch=self.planned(mode, along)))


def _floats(leaf):
    return jnp.issubdtype(jnp.dtype(leaf[2]), jnp.floating)


from . import _jax_run  # noqa: E402: it needs what is above
