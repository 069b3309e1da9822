"""Tensors in the memory of a GPU, without one: tensors of the host whose storage has a copy in the memory of the simulated GPU
(`python/kc/libkc_gpu.so`). kc is given that copy, as PyTorch's CUDA tensors tell of theirs; what a call writes is copied back. All of the
way is the real one, with the PTX that a GPU would run, but for PyTorch's own operations, which are the host's.
"""

import contextlib
import ctypes
import pathlib
import types

import kc, kc.torch
import torch
from kc import _torch_gpu

LIBRARY = pathlib.Path(kc.__file__).parent / "libkc_gpu.so"
DRIVER = ctypes.CDLL(str(LIBRARY), mode=ctypes.RTLD_GLOBAL)
SIZE = 1 << 20


class Told:
    """What a tensor of CUDA tells of itself."""

    def __init__(self, tensor, address, stream):
        kind = {torch.bool: "|b1"}.get(tensor.dtype) or tensor.detach().numpy().dtype.str
        size = tensor.element_size()
        strides = tuple(stride * size for stride in tensor.stride())
        about = {"shape": tuple(tensor.shape), "typestr": kind, "data": (address if tensor.numel() else 0, False), "version": 3}
        self.__cuda_array_interface__ = {**about, "strides": strides, "stream": stream}


class Gpu:
    """All tensors but those that kc made on the host are its."""

    def __init__(self, monkeypatch):
        self.arena = kc.zeros(SIZE, dtype=kc.uint8, device="cuda:0")
        self.base = self.arena.__cuda_array_interface__["data"][0]
        self.stream, self.captured = 1, False
        #: Copies to the host for the race check, and numbers that were read.
        self.looks, self.reads = 0, 0
        self.host, self.copies, self.end = [], {}, 0
        self.real = types.SimpleNamespace(
            on_host=kc.torch._on_host, zeros=kc.torch._Call.zeros, read=kc.torch._Call.read, view=kc.torch._view,
            launch=kc._native.Kernel._launch, gradient=kc._native.gradient, tangents=kc._native.tangents,
            second=kc._native.second,
        )
        change = monkeypatch.setattr
        change(kc.torch, "_on_host", self.on_host)
        change(kc.torch._Call, "zeros", lambda call, tensors: self.keep(self.real.zeros(call, tensors)))
        change(kc.torch._Call, "read", lambda call, leaf, tensor: self.read(call, leaf, tensor))
        all_zeros = kc.torch._all_zeros
        change(kc.torch, "_all_zeros", lambda tensors: self.keep(all_zeros(tensors)))
        change(kc.torch, "_is_on_gpu", self.has)
        change(kc.torch, "_view", self.view)
        change(kc._kernel.Kernel, "_launch", self.after(self.real.launch), raising=False)
        change(kc._native, "gradient", self.after(self.real.gradient))
        change(kc._native, "tangents", self.after(self.real.tangents))
        change(kc._native, "second", self.after(self.real.second))
        change(_torch_gpu, "is_captured", lambda: self.captured)
        zeros_near = _torch_gpu._zeros_near
        change(_torch_gpu, "_zeros_near", lambda tensors: self.keep(zeros_near(tensors)))

    def on_host(self, tensors):
        made = [tensor.detach().clone() for tensor in tensors]
        self.host += made
        self.looks += 1
        return made

    def keep(self, tensors):
        self.host += tensors.values()
        return tensors

    def read(self, call, leaf, tensor):
        self.reads += self.has(tensor)
        return self.real.read(call, leaf, tensor)

    def has(self, tensor):
        return isinstance(tensor, torch.Tensor) and not any(tensor.data_ptr() == one.data_ptr() for one in self.host)

    def view(self, tensor):
        if not self.has(tensor):
            return self.real.view(tensor)
        tensor = tensor.detach()
        storage = tensor.storage()
        bytes = len(storage) * storage.element_size()
        known = self.copies.get(storage.data_ptr())
        if known is None:
            known = self.copies[storage.data_ptr()] = storage, self.base + self.end, bytes
            self.end = -(-(self.end + bytes) // 256) * 256
            assert self.end <= SIZE
        ctypes.memmove(known[1], storage.data_ptr(), bytes)
        return Told(tensor, known[1] + tensor.storage_offset() * tensor.element_size(), self.stream)

    def fetch(self):
        for at, (_, address, bytes) in self.copies.items():
            ctypes.memmove(at, address, bytes)

    def after(self, run):
        def ran(*given, **named):
            try:
                return run(*given, **named)
            finally:
                self.fetch()
                if not self.captured:
                    self.copies, self.end = {}, 0

        return ran

    @contextlib.contextmanager
    def capture(self):
        """A graph that another library captures: nothing may wait, load or allocate."""
        stream, graph, made, context = (ctypes.c_void_p() for _ in range(4))
        assert DRIVER.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0 and DRIVER.cuCtxSetCurrent(context) == 0
        assert DRIVER.cuStreamCreate(ctypes.byref(stream), 1) == 0
        assert DRIVER.cuStreamBeginCapture_v2(stream, 0) == 0
        self.stream, self.captured = stream.value, True
        replay = types.SimpleNamespace()
        try:
            yield replay
        finally:
            self.stream, self.captured = 1, False
            self.ended = DRIVER.cuStreamEndCapture(stream, ctypes.byref(graph))
        assert self.ended == 0
        assert DRIVER.cuGraphInstantiateWithFlags(ctypes.byref(made), graph, ctypes.c_ulonglong(0)) == 0

        def run():
            for at, (_, address, bytes) in self.copies.items():
                ctypes.memmove(address, at, bytes)
            assert DRIVER.cuGraphLaunch(made, None) == 0 and DRIVER.cuCtxSynchronize() == 0
            self.fetch()

        replay.run = run
