"""Arrays, launches and graphs as the host sees them, in kc.warp and in Warp."""

import kc.warp
import numpy as np
import pytest
import warp


def kernel_of(wp):
    @wp.kernel
    def more(x: wp.array(dtype=float)):
        i = wp.tid()
        x[i] = x[i] + 1.0

    return more


KERNELS = {kc.warp: kernel_of(kc.warp), warp: kernel_of(warp)}

#: Statements, of which the last one is an expression. `a` is 0.0 to 5.0, with a gradient, `m` the same as two rows, `v` as two vectors.
PROGRAMS = """
a[::2].view(wp.int32)
b = a[::2].view(wp.int32); b.zero_(); a
m.view(wp.uint32)
v.view(wp.vec3i)
v.view(wp.types.matrix((1, 3), wp.float32)).shape
wp.array(np.arange(4.0), dtype=float).view(wp.vec2)
wp.array(np.arange(4.0), dtype=wp.vec2).view(wp.float64)
a.view(wp.int32).requires_grad
a.view(wp.uint32).grad
wp.zeros_like(a).requires_grad
wp.zeros_like(a, requires_grad=False).requires_grad
wp.ones_like(a).requires_grad
wp.zeros_like(m[0]).requires_grad
a.assign([7.0, 8.0]); a
a.assign([7.0]); a
a.assign(np.array([1.0, 2.0, 3.0])); a
a.assign(wp.array([1.0, 2.0, 3.0], dtype=float)); a
a.assign(np.arange(8.0)); a
a.assign(3.0); a
a[::2].assign(np.array([9.0, 8.0, 7.0])); a
m.assign(np.arange(6.0)); m
m.assign(np.ones(3)); m
m.assign(np.ones((3, 2))); m
v.assign([wp.vec3(1.0, 2.0, 3.0)]); v
v.assign(np.ones(6)); v
wp.copy(a, wp.array([7.0, 8.0], dtype=float)); a
wp.copy(a, wp.array([7.0, 8.0], dtype=float), dest_offset=3); a
wp.copy(a, wp.array([7.0, 8.0], dtype=float), dest_offset=5); a
i = wp.zeros(3, dtype=int); i.fill_(1.5); i
i = wp.zeros(3, dtype=int); i.fill_(4); i
i = wp.zeros(3, dtype=wp.vec3i); i.fill_(1.5); i
a.fill_(2); a
v.fill_((1.0, 2.0, 3.0)); v
v.fill_([1.0, 2.0]); v
wp.full(3, 1.5, dtype=int)
wp.full(3, 1.5)
wp.full(3, True)
wp.full(2, (1.0, 2.0, 3.0))
wp.full(2, [1, 2, 3])
wp.full(2, [[1.0, 2.0], [3.0, 4.0]])
wp.full(3, np.array([1.0, 2.0, 3.0]))
wp.array([1, 2])
wp.array([1.5, 2])
wp.array([wp.vec3(1.0, 2.0, 3.0)])
wp.array(5.0, dtype=float)
wp.array([], dtype=wp.vec3)
wp.array(np.ones((4, 3)), dtype=wp.vec3).shape
wp.array(np.ones(12), dtype=wp.vec3).shape
wp.array(np.ones((3, 4)), dtype=wp.vec3).shape
wp.array(np.ones((2, 2, 3)), dtype=wp.vec3).shape
wp.array(np.ones((2, 6)), dtype=wp.vec3).shape
wp.array([1.0, 2.0, 3.0], dtype=wp.vec3).shape
wp.array(wp.vec3(1.0, 2.0, 3.0), dtype=wp.vec3).shape
wp.array(np.ones((4, 9)), dtype=wp.mat33).shape
wp.array(np.ones((3, 3)), dtype=wp.mat33).shape
wp.array(np.ones(9), dtype=wp.mat33).shape
wp.array(np.ones((4, 4)), dtype=wp.mat22).shape
wp.array(np.ones((5, 3)), dtype=wp.vec2).shape
wp.array(np.ones((4, 3)), dtype=wp.vec3, shape=(2, 2)).shape
a.reshape((4, 2))
m.transpose()
m.transpose((1, 0)).requires_grad
wp.array(np.arange(12.0).reshape(2, 2, 3), dtype=wp.vec3).transpose()
wp.launch(more, dim=7 / 2, inputs=[a]); a
wp.launch(more, dim=4.0, inputs=[a]); a
wp.launch(more, dim=(2.0,), inputs=[a]); a
wp.launch(more, dim="3", inputs=[a]); a
wp.launch(more, dim=np.int64(3), inputs=[a]); a
wp.launch(more, dim=np.array([3]), inputs=[a]); a
wp.utils.array_sum(a)
wp.utils.array_sum(m, axis=0)
wp.utils.array_sum(m, axis=1)
wp.utils.array_sum(m, axis=-1)
wp.utils.array_sum(m, axis=2)
o = wp.zeros((1, 3), dtype=float); wp.utils.array_sum(m, out=o, axis=0); o
o = wp.zeros(3, dtype=float); wp.utils.array_sum(m, out=o, axis=0); o
o = wp.zeros(1, dtype=float); wp.utils.array_sum(m, out=o); o
o = wp.zeros((1, 1), dtype=float); wp.utils.array_sum(m, out=o); o
wp.utils.array_sum(v)
o = wp.zeros(1, dtype=wp.vec3); wp.utils.array_sum(v, out=o); o
wp.utils.array_sum(wp.array(np.arange(12.0).reshape(2, 2, 3), dtype=wp.vec3), axis=0)
wp.utils.array_sum(a, value_count=3)
wp.utils.array_sum(m, value_count=1, axis=0)
o = wp.zeros(4, dtype=int); wp.utils.array_scan(wp.array([1, 2, 3, 4], dtype=int), o); o
o = wp.zeros(4, dtype=int); wp.utils.array_scan(wp.array([1, 2, 3, 4], dtype=int), o, False); o
o = wp.zeros(4, dtype=wp.int64); wp.utils.array_scan(wp.array([1, 2, 3, 4], dtype=wp.int64), o); o
o = wp.zeros(5, dtype=int); wp.utils.array_scan(wp.array([1, 2, 3, 4], dtype=int), o); o
o = wp.zeros(4, dtype=float); wp.utils.array_scan(wp.array([1, 2, 3, 4], dtype=int), o); o
o = wp.zeros((2, 2), dtype=int); wp.utils.array_scan(wp.array([[1, 2], [3, 4]], dtype=int), o); o
o = wp.zeros(6, dtype=int); wp.utils.array_cast(a, o); o
wp.capture_begin(); wp.launch(more, dim=3, inputs=[a]); g = wp.capture_end(); a
wp.capture_begin(); wp.launch(more, dim=3, inputs=[a]); g = wp.capture_end(); wp.capture_launch(g); wp.capture_launch(g); a
wp.capture_begin(); a.fill_(2.0); m.zero_(); g = wp.capture_end(); a
wp.capture_begin(); a.fill_(2.0); wp.copy(m, a.reshape((2, 3))); g = wp.capture_end(); wp.capture_launch(g); m
"""


def evaluated(wp, program):
    numbers = np.arange(6.0)
    names = {"wp": wp, "np": np, "more": KERNELS[wp], "a": wp.array(numbers, dtype=float, requires_grad=True)}
    names |= {"m": wp.array(numbers.reshape(2, 3), dtype=float, requires_grad=True), "v": wp.array(numbers.reshape(2, 3), dtype=wp.vec3)}
    *statements, last = program.split("; ")
    try:
        exec("\n".join(statements), names)
        found = eval(last, names)
    except Exception as error:
        return "refused", isinstance(error, IndexError)
    if not isinstance(found, (np.ndarray, np.generic, bool, tuple)):
        found = (tuple(found.shape), found.numpy().dtype.name, found.numpy().tolist())
    return found.tolist() if isinstance(found, (np.ndarray, np.generic)) else found


@pytest.mark.parametrize("program", PROGRAMS.strip().splitlines())
def test_the_same_comes_of_it(program):
    assert evaluated(kc.warp, program) == evaluated(warp, program)
