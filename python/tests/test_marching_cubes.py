"""Surfaces by marching cubes: closed, on the edges that they cross, in one order, with gradients."""

import numpy as np
import pytest

import kc.warp as wp


def surface(values, threshold=0.0, **options):
    verts, indices = wp.geometry.IsoSurfaceMarchingCubes.extract(wp.array(values, dtype=float), threshold, **options)
    return verts.numpy(), indices.numpy().reshape(-1, 3)


def closed(values):
    """A field with a border that is above all thresholds."""
    return np.pad(values.astype(np.float32), 1, constant_values=9.0)


def volume(verts, triangles):
    a, b, c = (verts[triangles[:, n]].astype(np.float64) for n in range(3))
    return np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6.0


def sphere(n, radius):
    axes = [np.linspace(-1.0, 1.0, n)] * 3
    return (np.linalg.norm(np.stack(np.meshgrid(*axes, indexing="ij"), -1), axis=-1) - radius).astype(np.float32)


def test_surfaces_have_no_holes():
    # Small fields of random signs have all 256 cases.
    for seed in range(20):
        values = closed(np.random.default_rng(seed).normal(size=(5, 6, 7)))
        verts, triangles = surface(values, 0.1)
        sides = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
        there = {tuple(side) for side in sides}
        assert len(there) == len(sides), "two triangles go along an edge in one direction"
        assert all((b, a) in there for a, b in there), "an edge has one triangle"
        assert set(triangles.flatten()) == set(range(len(verts)))


def test_vertices_are_where_the_field_is_the_threshold():
    values = np.random.default_rng(3).normal(size=(6, 4, 5)).astype(np.float32)
    verts, _ = surface(values, 0.25)
    expected = []
    for axis in range(3):
        a, b = np.moveaxis(values, axis, 0)[:-1], np.moveaxis(values, axis, 0)[1:]
        for at in np.argwhere((a < 0.25) != (b < 0.25)):
            node = np.insert(at[1:], axis, at[0]).astype(float)
            node[axis] += (0.25 - a[tuple(at)]) / (b[tuple(at)] - a[tuple(at)])
            expected.append(node)

    def ordered(points):
        points = np.round(np.array(points, np.float64), 4)
        return points[np.lexsort(points.T)]

    np.testing.assert_allclose(ordered(verts), ordered(expected), atol=2e-4)


def test_a_sphere_has_its_volume_and_normals_point_outwards():
    verts, triangles = surface(sphere(40, 0.7), lower=(-1, -1, -1), upper=(1, 1, 1))
    assert volume(verts, triangles) == pytest.approx(4.0 / 3.0 * np.pi * 0.7**3, rel=5e-3)
    assert len(verts) - len(triangles) // 2 == 2, "Euler's number"


def test_bounds_scale_each_axis():
    iso = wp.geometry.IsoSurfaceMarchingCubes(12, 12, 12, lower=(0.0, 1.0, 2.0), upper=(1.0, 3.0, 8.0))
    iso.surface(wp.array(sphere(12, 0.5), dtype=float), 0.0)
    low, high = iso.verts.numpy().min(axis=0), iso.verts.numpy().max(axis=0)
    np.testing.assert_allclose(low, [0.25, 1.5, 3.5], atol=0.1)
    np.testing.assert_allclose(high, [0.75, 2.5, 6.5], atol=0.2)
    assert wp.MarchingCubes is wp.geometry.IsoSurfaceMarchingCubes


@wp.kernel
def area_of(verts: wp.array(dtype=wp.vec3), indices: wp.array(dtype=int), area: wp.array(dtype=float)):
    i = wp.tid()
    a, b, c = verts[indices[3 * i]], verts[indices[3 * i + 1]], verts[indices[3 * i + 2]]
    wp.atomic_add(area, 0, 0.5 * wp.length(wp.cross(b - a, c - a)))


def test_gradients_go_to_the_field():
    n, radius = 33, 0.6
    field = wp.array(sphere(n, radius), dtype=float, requires_grad=True)
    area = wp.zeros(1, dtype=float, requires_grad=True)
    tape = wp.Tape()
    with tape:
        verts, indices = wp.geometry.IsoSurfaceMarchingCubes.extract(field, 0.0, lower=(-1, -1, -1), upper=(1, 1, 1))
        wp.launch(area_of, dim=indices.size // 3, inputs=[verts, indices], outputs=[area])
    tape.backward(area)
    assert area.numpy()[0] == pytest.approx(4.0 * np.pi * radius**2, rel=1e-2)
    # The field is |x| - radius: less of it everywhere is a larger sphere.
    assert -field.grad.numpy().sum() == pytest.approx(8.0 * np.pi * radius, rel=1e-2)


def test_nothing_where_the_field_crosses_nothing():
    verts, triangles = surface(np.ones((3, 4, 5), np.float32))
    assert verts.shape == (0, 3) and triangles.shape == (0, 3)


@pytest.mark.parametrize(
    ("field", "error", "words"),
    [
        (np.zeros((4, 4), np.float32), ValueError, "three dimensions, not 2"),
        (np.zeros((4, 4, 4), np.float64), TypeError, "float32, not float64"),
        (np.zeros((4, 1, 4), np.float32), ValueError, "at least 2 nodes on each axis"),
    ],
)
def test_other_fields_are_refused(field, error, words):
    array = wp.array(field, dtype=wp.float64 if field.dtype == np.float64 else float)
    with pytest.raises(error, match=words):
        wp.geometry.IsoSurfaceMarchingCubes.extract(array)


def test_a_field_of_another_shape_is_refused():
    iso = wp.geometry.IsoSurfaceMarchingCubes(4, 4, 4)
    with pytest.raises(ValueError, match=r"\(5, 4, 4\), not \(4, 4, 4\)"):
        iso.surface(wp.zeros((5, 4, 4), dtype=float), 0.0)
    iso.resize(5, 4, 4)
    iso.surface(wp.zeros((5, 4, 4), dtype=float), 0.5)
    with pytest.raises(TypeError, match="are one"):
        wp.geometry.IsoSurfaceMarchingCubes(4, 4, 4, lower=(0, 0, 0), domain_bounds_lower_corner=(0, 0, 0))
