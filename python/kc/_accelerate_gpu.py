"""Warp's launches on GPUs through kc's code, on the arrays and the stream that a launch of Warp names.

All of them go through one function of Warp's library, which is given the GPU's function: those of `wp.launch`, of recorded commands,
graphs and tapes, and of JAX. kc takes its place, and knows which of the GPU's functions it has code for. Warp's own code is
compiled and loaded as ever: it runs what kc refuses.
"""

from __future__ import annotations

import ctypes
import re

from . import _native
from ._accelerate import Taken, moves_of, said
from ._errors import Error

#: The GPUs that kc's code runs on.
_ordinals = set()
#: By the address of Warp's function of a GPU: kc's kernel, and whether the function is its derivative.
_places = {}
#: What waits for a GPU.
_WAITS = [*(f"wp_cuda_{of}_synchronize" for of in ("context", "stream", "event")), "wp_memcpy_d2h"]
#: Meshes and the like, which Warp builds for the GPU in its own way.
_ENGINES = re.compile(r"\bwp\.(?:tile_)?((?:mesh|bvh|hash_grid|volume|texture)_\w+)")


class OnGpu(Taken):
    """A kernel of Warp on a GPU."""

    def _take(self, kernel, exec, hooks):
        if not exec.device.is_primary:
            raise ValueError("its context is another library's")
        if hooks.cluster_dim != 1:
            raise ValueError("its blocks are launched in clusters")
        most = kernel.options.get("launch_bounds")
        if most is not None and exec.block_dim > (most if isinstance(most, int) else most[0]):
            raise ValueError("its blocks are larger than its launch_bounds, which is Warp's error")
        made, text = self.made(kernel, exec.block_dim)
        engines = _ENGINES.search(text)
        if engines:
            raise ValueError(f"`{engines[1]}` asks what Warp has built on the GPU")
        moves = moves_of(kernel, _native.layout(made))
        where = [tuple(rest) for _, _, *rest in moves]
        place = _native.WarpOnGpu(made, kernel.adj.kernel_dim, exec.device.ordinal, where)
        place.load(False)
        if hooks.backward:
            self.differentiate(made, text, moves)
            if self.why_backward is None:
                try:
                    place.load(True)
                except Error as error:
                    self.why_backward = said(error)
        self.kernel, self.place = made, place
        _ordinals.add(exec.device.ordinal)


def take(core, exec, kernel, hooks):
    """What kc makes of a kernel that Warp has loaded on a GPU."""
    taken = OnGpu(kernel, exec.device.alias, hooks.det_launch_meta, exec, hooks)
    for function, adjoint in ((hooks.forward, False), (hooks.backward, True)):
        # The driver gives addresses of functions that are gone to new ones.
        _places.pop(function, None)
        if function and taken.place is not None:
            _places[function] = taken, adjoint
    if not hasattr(core, "_kc"):
        core._kc = True
        core.wp_cuda_launch_kernel = _launching(core.wp_cuda_launch_kernel)
        for name in _WAITS:
            setattr(core, name, _telling(getattr(core, name)))
    return taken


def _launching(launch):
    def wp_cuda_launch_kernel(
        context, function, size, max_blocks, block_dim, grid_stride, cluster_dim, shared_bytes, params, stream, recorded
    ):
        taken, adjoint = _places.get(function, (None, False))
        if taken is not None:
            is_kcs = not recorded and max_blocks <= 0 and not (adjoint and taken.why_backward)
            if is_kcs and taken.place.run(adjoint, ctypes.addressof(params), block_dim, getattr(stream, "value", stream) or 0):
                return 0
            taken.place.left(adjoint)
        return launch(
            context, function, size, max_blocks, block_dim, grid_stride, cluster_dim, shared_bytes, params, stream, recorded
        )

    return wp_cuda_launch_kernel


def _telling(wait):
    """What threads of kc's code printed and recorded is told by what waits for them."""

    def call(*arguments):
        done = wait(*arguments)
        for ordinal in _ordinals:
            _native.card_told(ordinal)
        return done

    return call
