"""Vectors, matrices, quaternions and transforms as Python makes them: what Warp 1.19 takes, and what each gives."""

import copy
import pickle

import kc
import kc.warp as wp
import numpy as np
import pytest


def numbers(value):
    return np.asarray(value).ravel().tolist()


@pytest.mark.parametrize("kind", [kc.transform, wp.transform, wp.transformd])
def test_transforms_from_position_and_rotation(kind):
    vec, quat = (wp.vec3d, wp.quatd) if kind is wp.transformd else (wp.vec3, wp.quat)
    p, q = vec(1.0, 2.0, 3.0), quat(0.0, 1.0, 0.0, 0.0)
    whole = [1.0, 2.0, 3.0, 0.0, 1.0, 0.0, 0.0]
    for made in [
        kind(p, q), kind(p=p, q=q), kind(p, q=q), kind((1, 2, 3), [0, 1, 0, 0]), kind(np.array([1, 2, 3]), q),
        kind(*whole), kind(whole), kind(kind(p, q)), kind(*kind(p, q)),
    ]:
        assert type(made) is kind and numbers(made) == whole
    assert numbers(kind(p)) == numbers(kind(p=p)) == [1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0]
    assert numbers(kind(q=q)) == [0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0]
    assert numbers(kind()) == [0.0] * 6 + [1.0] and numbers(kind(2.0)) == [2.0] * 7


def test_parts_of_transforms():
    t = wp.transform(wp.vec3(1.0, 2.0, 3.0), wp.quat_identity())
    assert type(t.p) is wp.vec3 and type(t.q) is wp.quat
    assert numbers(t.p) == [1.0, 2.0, 3.0] and numbers(t.q) == [0.0, 0.0, 0.0, 1.0]
    # A value of its own; the whole is set by the part.
    t.p[0] = 9.0
    assert t[0] == 1.0
    t.p, t.q = (4.0, 5.0, 6.0), wp.quat(0.0, 1.0, 0.0, 0.0)
    assert numbers(t) == [4.0, 5.0, 6.0, 0.0, 1.0, 0.0, 0.0]
    assert type(wp.transformd(wp.vec3d(), wp.quatd()).p) is wp.vec3d
    assert numbers(wp.transform_point(t, wp.vec3(1.0, 0.0, 0.0))) == [3.0, 5.0, 6.0]


def test_transforms_in_structs_are_zero_at_first():
    @kc.struct
    class Frame:
        at: kc.transform

    assert numbers(Frame().at) == [0.0] * 7


@pytest.mark.parametrize(
    "make",
    [
        lambda: wp.transform(wp.vec3(), wp.vec3()),
        lambda: wp.transform(1.0, 2.0),
        lambda: wp.transform(wp.vec3(), None),
        lambda: wp.transform([1.0] * 7, q=wp.quat()),
        lambda: wp.transform(wp.vec3(), p=wp.vec3()),
        lambda: wp.transform(r=wp.vec3()),
        lambda: wp.vec3(1.0, 2.0),
        lambda: wp.vec2([1.0, 2.0, 3.0]),
        lambda: wp.mat22(wp.vec3(), wp.vec2()),
    ],
)
def test_what_does_not_fit_is_said_in_words_of_kernels(make):
    with pytest.raises((TypeError, ValueError), match="^(kc\\.|`[pq]` of kc\\.)"):
        make()


def test_matrices_and_long_vectors_from_vectors():
    rows = [wp.vec3(1.0, 2.0, 3.0), wp.vec3(4.0, 5.0, 6.0), wp.vec3(7.0, 8.0, 9.0)]
    assert wp.mat33(*rows)[0, 1] == 2.0 and numbers(wp.mat33(*rows)) == numbers(range(1, 10))
    assert numbers(wp.mat22([1.0, 2.0], (3.0, 4.0))) == numbers(wp.mat22([[1.0, 2.0], [3.0, 4.0]])) == [1.0, 2.0, 3.0, 4.0]
    assert numbers(wp.spatial_vector(wp.vec3(1.0), wp.vec3(2.0))) == [1.0] * 3 + [2.0] * 3
    assert numbers(wp.quat(wp.vec3(1.0, 2.0, 3.0), 4.0)) == [1.0, 2.0, 3.0, 4.0]
    assert numbers(wp.vec3l(2**62 + 1, 0, 0))[0] == 2**62 + 1


def test_the_rotation_between_two_vectors():
    """The numbers are Warp 1.19's."""
    between = lambda a, b: np.asarray(wp.quat_between_vectors(wp.vec3(*a), wp.vec3(*b)))
    half = 0.70710677
    for a, b, q in [
        ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, half, half)),
        ((2.0, 0.0, 0.0), (0.0, 3.0, 0.0), (0.0, 0.0, half, half)),
        ((0.5, -1.0, 2.0), (1.0, 2.0, 3.0), (-0.46754128, 0.03339582, 0.13358323, 0.8731811)),
        ((1.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0)),
        # Opposite directions, and none.
        ((1.0, 2.0, 3.0), (-1.0, -2.0, -3.0), (0.0, 0.0, 0.0, 1.0)),
        ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0)),
    ]:
        assert between(a, b) == pytest.approx(q, abs=1e-6)


def test_operators_of_values():
    v, i = kc.vec3(7.0, 5.0, -3.0), kc.quat(1.0, 0.0, 0.0, 0.0)
    assert type(i * i) is kc.quat and numbers(i * i) == [0.0, 0.0, 0.0, -1.0]
    assert numbers(2 * v) == numbers(v * 2.0) == numbers(np.float32(2) * v) == [14.0, 10.0, -6.0] and type(np.float32(2) * v) is kc.vec3
    assert numbers(kc.vec2i(7, -5) / 2) == [3, -2] and numbers(v % 2.0) == [1.0, 1.0, -1.0]
    assert type(kc.types.matrix((2, 3))() * v) is kc.vec2 and type(kc.types.matrix((2, 3))() * kc.mat33()) is kc.types.matrix((2, 3))
    w = v
    w += v
    assert numbers(v) == [7.0, 5.0, -3.0] and numbers(w) == [14.0, 10.0, -6.0]
    assert type(v[:2]) is kc.vec2 and type(kc.mat22()[0]) is kc.vec2 and bool(kc.vec3())
    v[:2] = 0.0
    assert numbers(v) == [0.0, 0.0, -3.0] and not hasattr(v, "w") and not hasattr(kc.mat22(), "x")


def test_numbers_of_types():
    seven = kc.int32(7)
    assert seven / 2 == seven / kc.int32(2) == 3 and kc.int64(-7) % 2 == -1 and kc.float32(-7.5) % 2.0 == -1.5
    assert type((seven + 1) / kc.int32(3)) is type(pickle.loads(pickle.dumps(seven))) is type(copy.deepcopy(-seven)) is type(seven)
    assert kc.randf(kc.rand_init(42)) == pytest.approx(0.648505) and kc.rand_init(42).dtype == np.uint32

    @kc.kernel
    def divide(n: kc.int32, out: kc.array(dtype=kc.int32)):
        out[0] = n / seven

    out = np.zeros(1, np.int32)
    divide(1, kc.int32(50), out)
    assert out[0] == 7
    with pytest.raises(ZeroDivisionError):
        seven / 0


def test_values_in_functions_of_numpy():
    v, w = kc.vec3(1.0, 2.0, 3.0), kc.vec3(4.0, 5.0, 6.0)
    assert np.dot(v, w) == 32.0 and (v * np.array([1.0, 2.0, 3.0])).tolist() == (np.array([1.0, 2.0, 3.0]) * v).tolist() == [1.0, 4.0, 9.0]
    for made in [np.multiply(v, w), np.sin(v), np.stack([v, w]), np.dot(kc.mat33(1.0), v), np.array(v), np.concatenate((v, w))]:
        assert type(made) is np.ndarray
    assert v.sum() == 6.0 and v.astype(np.float64).dtype == np.float64 and np.array_equal(v, [1, 2, 3])


@pytest.mark.parametrize(
    "compute, text",
    [
        (lambda v: v * v, "two vectors have no product; kc.cw_mul"),
        (lambda v: v + kc.vec3d(), "vec3f \\+ vec3d: convert one: they are of float32 and float64"),
        (lambda v: np.float64(2.0) * v, "convert one"),
        (lambda v: v - kc.vec2(), "one size"),
        (lambda v: kc.mat22() * v, "a row of 2 numbers has no product with 3"),
        (lambda v: kc.quat() * v, "kc.quat_rotate"),
        (lambda v: kc.vec2i() * 2.5, "a float is no int32"),
        (lambda v: kc.int32(7) / kc.float32(2.0), "convert one"),
        (lambda v: v + (1.0, 2.0, 3.0), "unsupported operand"),
        (lambda v: v // 2, "unsupported operand"),
        (lambda v: v < v, "not supported"),
        (lambda v: kc.float32(1.0) < v, "less"),
        (lambda v: True * v, "unsupported operand"),
    ],
)
def test_operators_that_kernels_lack(compute, text):
    with pytest.raises(TypeError, match=text):
        compute(kc.vec3(1.0, 2.0, 3.0))


def test_scalars_are_classes():
    assert issubclass(kc.float32, kc.float16 | kc.float32 | kc.float64) and not issubclass(kc.int32, kc.float16 | kc.float32)
    x = kc.float32(1.5)
    assert isinstance(x, kc.float32) and isinstance(x, np.float32) and not isinstance(x, kc.float64)
    assert type(-x) is type(x * x) is kc.float32 and np.dtype(kc.float32) == np.float32
    assert pickle.loads(pickle.dumps(kc.int64)) is copy.deepcopy(kc.int64) is kc.int64
    assert repr(kc.uint8) == "kc.uint8" and kc.bool(1) is np.True_
