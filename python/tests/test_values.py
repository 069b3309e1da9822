"""Vectors, matrices, quaternions and transforms as Python makes them: what Warp 1.19 takes, and what each gives."""

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
