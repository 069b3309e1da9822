"""Arrays of kc."""

import gc
import pickle
import weakref

import kc
import numpy as np
import pytest
from kernels import square


def test_arrays_share_numpys_memory():
    data = np.arange(6, dtype=np.float32)
    x = kc.array(data)
    x.numpy()[0] = 9
    assert data[0] == 9 and x.dtype is kc.float32 and x.shape == (6,) and len(x) == 6 and x[0] == 9
    part = x[2:4]
    part.fill_(1.0)
    assert data.tolist() == [9, 1, 1, 1, 4, 5]
    y = kc.zeros(6)
    square(6, x, y)
    assert y.numpy().tolist() == [81, 1, 1, 1, 16, 25]
    assert np.asarray(y).sum() == 125 and np.from_dlpack(y)[0] == 81
    assert np.shares_memory(np.asarray(y), y.numpy())


def test_types():
    assert kc.array([1.0, 2.0]).dtype is kc.float32
    assert kc.array([1, 2]).dtype is kc.int32
    assert kc.array([[1, 2, 3]], dtype=kc.vec3).shape == (1,)
    assert kc.zeros((2, 3), dtype=kc.mat33).numpy().shape == (2, 3, 3, 3)
    assert kc.full(3, 2.0, dtype=kc.float64).numpy().tolist() == [2, 2, 2]
    with pytest.raises(ValueError, match="the shape"):
        kc.array([[1, 2]], dtype=kc.vec3)
    with pytest.raises(ValueError, match="dimensions"):
        kc.array([[1.0, 2.0]], dtype=float, ndim=1)
    with pytest.raises(TypeError):
        kc.zeros(3, dtype="text")
    assert repr(kc.array(dtype=kc.vec3, ndim=2)) == "kc.array(dtype=vec3f, ndim=2)"


def test_gradients_of_arrays():
    x = kc.array([1.0, 2.0, 3.0], requires_grad=True)
    assert x.requires_grad and x.grad.numpy().tolist() == [0, 0, 0]
    x.grad = np.ones(3, np.float32)
    assert x[1:].grad.numpy().tolist() == [1, 1]
    with pytest.raises(ValueError, match="shape"):
        x.grad = np.ones(2, np.float32)
    x.grad = None
    assert x.grad is None


def test_pickles():
    x = kc.array([[1.0, 2.0, 3.0]], dtype=kc.vec3, requires_grad=True)
    again = pickle.loads(pickle.dumps(x))
    assert again.dtype is kc.vec3 and again.numpy().tolist() == [[1, 2, 3]] and again.requires_grad


def test_host_values():
    v = kc.vec3(1.0, 2.0, 3.0)
    assert (v + v).tolist() == [2, 4, 6] and isinstance(v * 2.0, kc.vec3) and v.y == 2 and v == kc.vec3([1, 2, 3])
    m = kc.mat22(1.0, 2.0, 3.0, 4.0)
    assert (m * m).tolist() == [[7, 10], [15, 22]] and m[1, 0] == 3
    assert (m * kc.vec2(1.0, 1.0)).tolist() == [3, 7]
    assert kc.vec3 is kc.types.vector(3) and kc.vec3d().dtype == np.float64
    assert pickle.loads(pickle.dumps(v)) == v
    assert repr(kc.vec2(1.0, 2.0)) == "vec2f(1.0, 2.0)"
    with pytest.raises(TypeError, match="called in kernels"):
        kc.tid()
    with pytest.raises(AttributeError):
        kc.no_such_name


@pytest.mark.parametrize(
    "make, text",
    [
        (lambda: kc.array(np.array([1, 2**40]), dtype=int), "1099511627776 does not fit int32"),
        (lambda: kc.array([2**40]), "1099511627776 does not fit int32"),
        (lambda: kc.array([-1], dtype=kc.uint8), "-1 does not fit uint8, which has 0 to 255"),
        (lambda: kc.array(np.array([2.0**31], np.float32), dtype=int), "2147483648.0 does not fit"),
        (lambda: kc.array(np.array([np.nan]), dtype=int), "nan does not fit"),
        (lambda: kc.array(np.ones((2, 3)) * 2**40, dtype=kc.vec3i), "does not fit int32"),
        (lambda: kc.zeros(3, dtype=kc.int8).fill_(300), "300 does not fit int8"),
        (lambda: kc.zeros(1, dtype=int).assign(np.array([2**31])), "does not fit"),
    ],
)
def test_integers_that_do_not_fit(make, text):
    with pytest.raises(OverflowError, match=text):
        make()


def test_integers_are_set_to_integers():
    x = kc.array(np.array([2**31 - 1, -(2**31)]), dtype=int)
    assert x.numpy().tolist() == [2**31 - 1, -(2**31)] and kc.array([1.7], dtype=int)[0] == 1
    with pytest.raises(ValueError, match="numbers of float64 are no int32"):
        x.fill_(1.5)
    x[0] = kc.int32(4)
    assert x.numpy().tolist() == [4, -(2**31)]


def test_arrays_that_hold_themselves_are_freed():
    x = kc.zeros(3, requires_grad=True)
    x.grad.owner = x
    gone = weakref.ref(x)
    del x
    gc.collect()
    assert gone() is None


def test_arrays_of_no_vectors_are_arguments():
    @kc.kernel
    def count(x: kc.array(dtype=kc.vec3), out: kc.array(dtype=int)):
        out[0] = x.shape[0] + 5

    out = np.zeros(1, np.int32)
    # NumPy gives them strides of 0.
    count(1, np.zeros((0, 3), np.float32), out)
    assert out[0] == 5


def test_reshape_is_the_same_memory():
    x = kc.array(np.arange(12, dtype=np.float32).reshape(3, 4), requires_grad=True)
    y = x.reshape(-1)
    assert y.shape == (12,) and y.grad.shape == (12,)
    y.fill_(3)
    assert (x.numpy() == 3).all() and x.reshape((2, 6)).shape == (2, 6)
    assert kc.zeros((2, 3), dtype=kc.vec3).reshape(6).shape == (6,)
    with pytest.raises(ValueError, match="have gaps"):
        x[:, 1:].reshape(-1)
    with pytest.raises(ValueError):
        x.reshape(5)
