"""Array operations while a tape records: the gradient of each in kc.warp is that of differences, and beside it Warp's own."""

import sys

import kc
import kc.warp
import numpy as np
import pytest
import warp


def kernels_of(wp):
    @wp.kernel
    def square(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
        i = wp.tid()
        y[i] = x[i] * x[i]

    @wp.kernel
    def measure(z: wp.array(dtype=wp.float64), loss: wp.array(dtype=wp.float64)):
        i = wp.tid()
        wp.atomic_add(loss, 0, wp.float64(i + 1) * z[i] * z[i])

    return {"square": square, "measure": measure}


KERNELS = {kc.warp: kernels_of(kc.warp), warp: kernels_of(warp)}

#: What is tried, the program, and what Warp does: "same", or "drops" where it loses a gradient that is there, or has one that is not;
#: "refuses" where it has no such operation. A program makes `z` of `y`, six numbers of float64, the squares of `x`.
PROGRAMS = """
array.contiguous | z = y[::2].contiguous() | same
array.contiguous | z = y.contiguous() | same
array.transpose array.reshape array.flatten | z = y.reshape((2, 3)).transpose().contiguous().flatten() | same
array.transpose array.reshape array.flatten | z = y.reshape((2, 3)).transpose((1, 0)).contiguous().reshape(6) | same
array.flatten | z = y.reshape((2, 3))[1:].flatten() | same
array.__getitem__ | z = y[1:5][::2].contiguous() | same
array.__getitem__ | z = y.reshape((3, 2))[1] | same
array.view | z = y.view(wp.float64) | same
array.to | z = y.to("cpu") | same
array.assign | z = like(y); z.assign(y) | same
array.assign | z = like(y); z[1:4].assign(y[2:5]) | same
array.assign | z = like(y); z.assign(y[:4]) | same
array.copy_ | z = like(y); z.copy_(y) | refuses
array.assign | z = like(y); f = like(y, wp.float32); f.assign(y); wp.utils.array_cast(f, z) | refuses
array.assign | z = like(y); z.assign(np.arange(6.0)) | same
array.assign | z = like(y); z.assign(y.numpy()) | drops
array.assign | z = like(y); z.assign([y[:3], y[3:]]) | drops
array.zero_ | y.zero_(); z = y | same
array.zero_ | y[1:3].zero_(); z = y | same
array.fill_ | y.fill_(2.0); z = y | drops
array.fill_ | y[::2].fill_(2.0); z = y | drops
array.fill_ | z = wp.clone(y); y.fill_(0.0) | same
array.__setitem__ | z = like(y); z[1:3] = y[0:2] | refuses
array.__setitem__ | z = like(y); z[4] = 5.0; z[0:4:2] = y[2:4] | refuses
array.__setitem__ | y[0] = 3.0; z = y | refuses
array.__setitem__ | z = like(y); z[:] = y[3:4] | refuses
array.__setitem__ | y[1:4] = y[0:3]; z = y | refuses
array.__setitem__ | y[::2] = 1.0; z = y | refuses
array.__setitem__ | z = like(y); z[1:3] = y[wp.array([4, 4], dtype=int)] | refuses
array.__deepcopy__ | import copy; z = copy.deepcopy(y) | refuses
array | z = wp.array(y, dtype=wp.float64) | drops
array | f = wp.array(y, dtype=wp.float32); z = wp.array(f, dtype=wp.float64) | drops
array | z = wp.array(y[::2], dtype=wp.float64) | drops
array | z = wp.array(y, dtype=wp.vec3d).view(wp.vec3d); z = wp.array(z, dtype=wp.float64, shape=6) | drops
array | z = wp.array(y, dtype=wp.float64, copy=False) | drops
array | z = wp.array([y, y[::-1]], dtype=wp.float64).flatten() | refuses
array1d | z = wp.array1d(y, dtype=wp.float64) | drops
array2d | z = wp.array2d(y.reshape((2, 3)), dtype=wp.float64).flatten() | drops
array3d | z = wp.array3d(y.reshape((1, 2, 3)), dtype=wp.float64).flatten() | drops
array4d | z = wp.array4d(y.reshape((1, 1, 2, 3)), dtype=wp.float64).flatten() | drops
from_numpy | z = wp.from_numpy(y.numpy(), dtype=wp.float64) | drops
clone | z = wp.clone(y) | same
clone | z = wp.clone(y[1::2]) | same
clone indexedarray | z = wp.clone(y[wp.array([1, 1, 3], dtype=int)]) | drops
copy | z = like(y); wp.copy(z, y) | same
copy | z = like(y); wp.copy(z, y, dest_offset=1, src_offset=2, count=3) | same
copy | z = like(y); wp.copy(z[::2], y[3:]) | same
copy | z = like(y).reshape((3, 2)); wp.copy(z, y.reshape((2, 3)).transpose()); z = z.flatten() | same
copy | z = like(y); wp.copy(z, y); wp.copy(z, y[3:], count=3); wp.copy(y, x) | same
copy indexedarray | z = like(y, n=3); wp.copy(z, y[wp.array([1, 1, 3], dtype=int)]) | drops
copy indexedarray | z = like(y); wp.copy(z[wp.array([1, 2, 5], dtype=int)], y[:3]) | drops
copy indexedarray | z = like(y); wp.copy(z[wp.array([1, 1, 5], dtype=int)], y[:3]) | drops
copy indexedarray | z = like(y); i = wp.array([1, 2, 5], dtype=int); wp.copy(z[i], y[wp.array([0, 0, 4], dtype=int)]); i.fill_(0) | drops
copy indexedarray | z = like(y, n=4).reshape((2, 2)); i = wp.array([2, 0], dtype=int); wp.copy(z, y.reshape((2, 3))[:, i]); z = z.flatten() | drops
indexedarray indexedarray.contiguous | z = y[wp.array([1, 1, 3], dtype=int)].contiguous() | drops
indexedarray1d | z = wp.indexedarray1d(y, [wp.array([5, 0], dtype=int)]).contiguous() | drops
indexedarray2d | z = wp.indexedarray2d(y.reshape((2, 3)), [None, wp.array([2, 2], dtype=int)]).contiguous().flatten() | drops
indexedarray3d | z = wp.indexedarray3d(y.reshape((1, 2, 3)), [None, wp.array([1, 1], dtype=int), None]).contiguous().flatten() | drops
indexedarray4d | z = wp.indexedarray4d(y.reshape((1, 1, 2, 3)), [None, None, None, wp.array([2], dtype=int)]).contiguous().flatten() | drops
indexedarray.assign | z = like(y); z[wp.array([1, 2, 5], dtype=int)].assign(y[:3]) | drops
indexedarray.assign | z = like(y); z[wp.array([1, 2, 5], dtype=int)].assign(y[wp.array([0, 2, 4], dtype=int)]) | drops
indexedarray.assign | z = wp.clone(y); z[wp.array([1, 2, 5], dtype=int)].assign(np.array([1.0, 2.0, 3.0])) | drops
indexedarray.fill_ | y[wp.array([1, 2], dtype=int)].fill_(3.0); z = y | drops
indexedarray.zero_ | y[wp.array([1, 2], dtype=int)].zero_(); z = y | same
zeros zeros_like | z = wp.zeros_like(y); wp.copy(z, y) | same
empty empty_like | z = wp.empty_like(y); wp.copy(z, y) | same
ones ones_like | z = wp.ones_like(y); wp.copy(z, y[1:], count=2) | same
full full_like | z = wp.full_like(y, 2.0); wp.copy(z, y[1:], count=2) | same
utils.array_scan | z = like(y); wp.utils.array_scan(y, z) | drops
utils.runlength_encode | n = like(y, int); wp.utils.runlength_encode(like(y, int), n, like(y, int)); z = y | same
utils.radix_sort_pairs | n = wp.array([2, 0, 1, 0, 0, 0], dtype=int); wp.utils.radix_sort_pairs(n, like(y, int), 3); z = y | same
utils.segmented_sort_pairs | n = wp.array([2, 0, 1, 0, 0, 0], dtype=int); wp.utils.segmented_sort_pairs(n, like(y, int), 3, wp.array([0, 3], dtype=int)); z = y | same
utils.array_scan | z = like(y); wp.utils.array_scan(y, z, False) | drops
utils.array_scan | wp.utils.array_scan(y, y); z = y | drops
utils.array_scan | z = like(y); wp.utils.array_scan(y.view(wp.float64)[::2], z[::2]) | drops
utils.array_scan | w = wp.zeros(2, dtype=wp.vec3d); wp.utils.array_scan(wp.array(y, dtype=wp.vec3d), w); z = wp.array(w, dtype=wp.float64, shape=6) | drops
utils.array_sum | z = like(y, n=1); wp.utils.array_sum(y, out=z) | drops
utils.array_sum | z = like(y, n=1); wp.utils.array_sum(y, out=z, value_count=3) | drops
utils.array_sum | z = wp.utils.array_sum(y.reshape((2, 3)), axis=0).flatten() | drops
utils.array_sum | z = wp.utils.array_sum(y.reshape((2, 3)), axis=1).flatten() | drops
utils.array_sum | z = wp.utils.array_sum(y.reshape((2, 3)).transpose(), axis=-1, value_count=1).flatten() | drops
utils.array_inner | z = like(y, n=1); wp.utils.array_inner(y, y, out=z) | drops
utils.array_inner | z = like(y, n=1); wp.utils.array_inner(y, x, out=z, count=4) | drops
utils.array_inner | z = wp.utils.array_inner(y.reshape((2, 3)), x.reshape((2, 3)), axis=0).flatten() | drops
utils.array_inner | z = wp.utils.array_inner(y.reshape((2, 3)).transpose(), x.reshape((2, 3)).transpose(), axis=0).flatten(); y.zero_() | drops
utils.array_cast | f = like(y, wp.float32); z = like(y); wp.utils.array_cast(y, f); wp.utils.array_cast(f, z) | same
utils.array_cast | z = like(y); wp.utils.array_cast(y, z) | same
utils.array_cast | f = like(y, wp.float32); z = like(y); wp.utils.array_cast(y, f, 4); wp.utils.array_cast(f, z) | same
utils.array_cast | i = like(y, int); z = like(y); wp.utils.array_cast(y, i); wp.utils.array_cast(i, z) | same
utils.array_cast | f = wp.zeros(2, dtype=wp.vec3, requires_grad=True); z = like(y); wp.utils.array_cast(y, f); wp.utils.array_cast(f, z) | drops
launch | z = like(y); wp.launch(square, 6, [y], [z]) | same
launch | z = like(y); wp.launch(square, 3, [y[::2]], [z[3:]]) | same
Launch | z = like(y); wp.launch(square, 6, [y], [z], record_cmd=True).launch() | drops
capture_launch ScopedCapture | z = like(y); tape.__exit__(None, None, None); g = captured(z, y); tape.__enter__(); wp.capture_launch(g) | drops
"""

#: What is no operation on arrays: it only asks, gives values of Python, or makes arrays of nothing.
NO_OPERATIONS = """
array.__array__ array.__array_interface__ array.__cuda_array_interface__ array.__class_getitem__ array.__dlpack__ array.__dlpack_device__ array.__init__ array.__iter__ array.__len__
array.__module__ array.__doc__ array.__new__ array.__reduce__ array.__repr__ array.__dict__ array.device array.grad array.is_contiguous array.list
array.ndim array.on array.prefetch array.ptr array.requires_grad array.shape array.size array.strides
indexedarray.__dict__ indexedarray.__doc__ indexedarray.__init__ indexedarray.__len__ indexedarray.__module__ indexedarray.__new__ indexedarray.__repr__
indexedarray.__weakref__ indexedarray.device indexedarray.dtype indexedarray.list indexedarray.ndim indexedarray.numpy
indexedarray.shape indexedarray.size
Tape Graph capture_begin capture_end done is_captured launch_tiled utils.create_warp_function
""".split()
#: What no tape can differentiate is refused while one records.
REFUSED = """
optim.Adam | wp.optim.Adam([x]).step([y])
optim.SGD | wp.optim.SGD([x]).step([y])
utils.radix_sort_pairs | wp.utils.radix_sort_pairs(like(y, int), y, 3)
utils.segmented_sort_pairs | wp.utils.segmented_sort_pairs(wp.zeros(6, dtype=wp.float32), like(y, int), 3, wp.array([0, 3], dtype=int))
launch | wp.launch(square, 6, [x], [y], adj_inputs=[x.grad], adj_outputs=[y.grad], adjoint=True)
copy | z = wp.zeros(6, dtype=wp.int64); wp.copy(z, y.view(wp.int64)); z = z.view(wp.float64)
array.fill_ | y.view(wp.int64).fill_(0); z = y
array.__setitem__ | y.numpy()[0] = 3.0; z = y[1:].contiguous(); y[0] = 2.0
"""


def captured(wp):
    def make(z, y):
        with wp.ScopedCapture() as capture:
            wp.copy(z, y)
        return capture.graph

    return make


def run(wp, program, start, tape=None):
    """The gradient of the loss, or without a tape the loss."""
    made = wp.float64
    x = wp.array(start, dtype=made, requires_grad=True)
    y, loss = wp.zeros(6, dtype=made, requires_grad=True), wp.zeros(1, dtype=made, requires_grad=True)

    def like(array, dtype=made, n=6):
        return wp.zeros(n, dtype=dtype, requires_grad=dtype is not int)

    class NoTape:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

    tape = wp.Tape() if tape else NoTape()
    names = {"wp": wp, "np": np, "x": x, "y": y, "tape": tape, "like": like, "captured": captured(wp), **KERNELS[wp]}
    with tape:
        wp.launch(names["square"], 6, [x], [y])
        exec("\n".join(program.split("; ")), names)
        z = names["z"]
        wp.launch(names["measure"], z.size, [z], [loss])
    if isinstance(tape, NoTape):
        return loss.numpy()[0]
    tape.backward(loss)
    return x.grad.numpy().copy()


def by_differences(program, start, along, h=0.125):
    """The derivative along a direction. Of eight points, so exact for losses that are polynomials of degree 8."""
    step, weights = along * h, {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
    return sum(w * (run(kc.warp, program, start + k * step) - run(kc.warp, program, start - k * step)) for k, w in weights.items()) / h


def rows_of(text):
    return [tuple(part.strip() for part in row.split(" | ")) for row in text.strip().splitlines()]


ROWS = rows_of(PROGRAMS)


@pytest.mark.parametrize("names, program, warps", ROWS, ids=[row[1] for row in ROWS])
def test_gradients(names, program, warps):
    start = np.array([1.0, 2.0, -3.0, 4.0, 0.5, 6.0])
    found = run(kc.warp, program, start, tape=True)
    # Differences of numbers of float32 are those of them, and what went through integers has none.
    single, whole = "float32" in program or "vec3," in program, "int)" in program and "array_cast" in program
    for along in np.array([[1, 2, 3, -1, 4, 0.5], [0.7, -1, 0.3, 1, 0.2, 1]]):
        expected = 0.0 if whole else by_differences(program, start, along)
        np.testing.assert_allclose(found @ along, expected, rtol=1e-4 if single else 1e-9, atol=1e-2 if single else 1e-8)
    try:
        other = run(warp, program, start, tape=True)
    except Exception:
        assert warps == "refuses"
        return
    assert warps == ("same" if np.allclose(found, other, rtol=1e-5) else "drops"), other


@pytest.mark.parametrize("names, program", rows_of(REFUSED), ids=[row[1] for row in rows_of(REFUSED)])
def test_refusals(names, program):
    with pytest.raises(kc.GradientError) as caught:
        run(kc.warp, program + ("" if "z = " in program else "; z = y"), np.arange(1.0, 7.0), tape=True)
    assert caught.value.code == "E1103" and "help" in str(caught.value)


def surface():
    """The public names of kc.warp that may be operations on arrays."""
    found = set()
    for kind in (kc.warp.array, kc.warp.indexedarray):
        members = {member for one in kind.__mro__ if one.__module__ in ("kc._array", "kc.warp._arrays") for member in vars(one)}
        found |= {f"{kind.__name__}.{member}" for member in members if not member.startswith("_") or member.startswith("__")}
    modules = {"kc.warp._arrays": "", "kc.warp._launches": "", "kc.warp.utils": "utils.", "kc.warp.optim": "optim."}
    for module, prefix in modules.items():
        public = {name: value for name, value in vars(sys.modules[module]).items() if not name.startswith("_") and callable(value)}
        ranked = {name for name, value in public.items() if type(value).__module__ in modules or isinstance(value, type(kc.array2d))}
        found |= {prefix + name for name, value in public.items() if getattr(value, "__module__", None) == module or name in ranked}
    return found


def test_each_operation_has_a_row():
    rows = {name for names, _, _ in ROWS for name in names.split()}
    known = rows | set(NO_OPERATIONS) | {row[0] for row in rows_of(REFUSED)}
    there = surface()
    assert there - known == set(), "operations without a row"
    assert known - there == set(), "rows without an operation"
