"""What other libraries tell by DLPack is checked before it is used: no extent, offset or device that
cannot be reaches memory."""

import ctypes
import os
import random

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


# What no array can be: a change of the fields of a true one, and when it is a lie.
LIES = [
    lambda draw: dict(shape=(-draw.choice([1, 8, 2**31, 2**62]),)),
    lambda draw: dict(shape=None, ndim=draw.randrange(1, 5)),
    lambda draw: dict(ndim=draw.choice([-(2**31), -1, 5, 64, 1000, 2**31 - 1])),
    lambda draw: dict(data=None),
    lambda draw: dict(byte_offset=2**63 + draw.randrange(2**62)),
    lambda draw: dict(shape=(draw.randrange(2**40, 2**62),)),
    lambda draw: dict(shape=(8,), strides=(draw.choice([1, -1]) * draw.randrange(2**40, 2**62),)),
    lambda draw: dict(shape=(2**20, 2**20, 2**20, 2**20)),
    lambda draw: dict(device=draw.choice([2, 4, 7, 14, 77, -1])),
    lambda draw: dict(bits=draw.choice([0, 1, 7, 33, 255])),
    lambda draw: dict(lanes=draw.choice([2, 4, 65535])),
    lambda draw: dict(code=draw.choice([3, 4, 9, 255])),
]


def test_random_lies_are_refused():
    """KC_HOSTILE=10000 draws more."""
    draw = random.Random(20261129)
    y = np.zeros(8, np.float32)
    for n in range(int(os.environ.get("KC_HOSTILE", "500"))):
        said = draw.choice(LIES)(draw)
        with pytest.raises(Exception) as caught:
            double(8, Array(**said), y)
        assert getattr(caught.value, "code", "") in ("E1005", "E1006", "E1010", "E1104"), (n, said, caught.value)
        assert not y.any(), (n, said)


class Interface:
    """The same by NumPy's array interface."""

    def __init__(self, memory, **changes):
        self.memory = memory
        self.__array_interface__ = memory.__array_interface__ | changes


INTERFACE_LIES = [
    lambda draw: dict(shape=(-draw.choice([1, 8, 2**62]),)),
    lambda draw: dict(shape=tuple([2**20] * draw.randrange(4, 40))),
    lambda draw: dict(shape=draw.choice(["8", 8, None, (1.5,), ("8",)])),
    lambda draw: dict(strides=draw.choice([(4, 4), "4", (None,)])),
    lambda draw: dict(typestr=draw.choice(["", "<f", "<f3", "|O", "<V4", "<M8[s]", 7, None])),
    lambda draw: dict(data=draw.choice([None, (), ("x", False), "memory"])),
    lambda draw: dict(version=draw.choice([-1, "3", None])),
]


def test_random_lies_of_array_interfaces_are_refused():
    draw = random.Random(20261130)
    y = np.zeros(8, np.float32)
    for n in range(int(os.environ.get("KC_HOSTILE", "500"))):
        said = {}
        for lie in draw.sample(INTERFACE_LIES, draw.randrange(1, 3)):
            said.update(lie(draw))
        try:
            double(8, Interface(np.arange(8, dtype=np.float32), **said), y)
        except Exception:
            assert not y.any(), (n, said)
            continue
        # NumPy itself takes some: then the kernel ran on what NumPy makes of it.
        y[:] = 0
