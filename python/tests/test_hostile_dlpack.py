"""What other libraries tell by DLPack is checked before it is used: no extent, offset or device that
cannot be reaches memory."""

import ctypes

import numpy as np
import pytest

import kc


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Managed(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Array:
    """Eight floats, and what is said of them."""

    def __init__(self, shape=(8,), strides=None, device=1, claimed=1, **changes):
        self.memory = np.arange(8, dtype=np.float32)
        self.shape = None if shape is None else (ctypes.c_int64 * len(shape))(*shape)
        self.strides = None if strides is None else (ctypes.c_int64 * len(strides))(*strides)
        self.claimed = claimed
        tensor = Tensor(self.memory.ctypes.data, device, 0, len(shape or (0,)), 2, 32, 1, self.shape, self.strides, 0)
        for name, value in changes.items():
            setattr(tensor, name, value)
        self.managed = Managed(tensor, None, None)

    def __dlpack__(self, stream=None):
        return new_capsule(ctypes.addressof(self.managed), b"dltensor", None)

    def __dlpack_device__(self):
        return self.claimed, 0


@kc.kernel
def double(x: kc.array(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    y[i] = 2.0 * x[i]


def test_what_is_true_is_taken():
    y = np.zeros(8, np.float32)
    double(8, Array(), y)
    assert y.tolist() == [0, 2, 4, 6, 8, 10, 12, 14]
    double(4, Array(shape=(4,), strides=(2,)), y[:4])
    assert y[:4].tolist() == [0, 4, 8, 12]


@pytest.mark.parametrize(
    ("array", "word"),
    [
        (dict(shape=(-8,)), "negative extent -8"),
        (dict(shape=None, ndim=1), "no extents"),
        (dict(ndim=1000), "1000 dimensions"),
        (dict(ndim=-1), "-1 dimensions"),
        (dict(data=None), "no memory"),
        (dict(byte_offset=2**63), "larger than the memory"),
        (dict(shape=(2**62,)), "larger than the memory"),
        (dict(shape=(2**40,), strides=(2**40,)), "larger than the memory"),
        (dict(shape=(8,), strides=(2**62,)), "larger than the memory"),
        (dict(device=2), "device 2"),
        (dict(device=1, claimed=2), ""),
        (dict(device=77), "device 77"),
    ],
)
def test_what_cannot_be_is_refused(array, word):
    y = np.zeros(8, np.float32)
    with pytest.raises(Exception, match=word) as caught:
        double(8, Array(**array), y)
    assert getattr(caught.value, "code", "") in ("E1005", "E1104"), caught.value
    assert not y.any()
