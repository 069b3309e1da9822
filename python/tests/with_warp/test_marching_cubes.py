"""The surfaces of `kc.warp.geometry` beside those of Warp: as many triangles, vertices in the same places."""

import numpy as np
import warp
import warp.geometry

import kc.warp


def test_surfaces_are_those_of_warp():
    for seed in range(10):
        values = np.random.default_rng(seed).normal(size=(7, 9, 8)).astype(np.float32)
        found = []
        for wp in (kc.warp, warp):
            field = wp.array(values, dtype=wp.float32, device="cpu")
            verts, indices = wp.geometry.IsoSurfaceMarchingCubes.extract(field, 0.1, lower=(0, 0, 0), upper=(1, 2, 3))
            triangles = verts.numpy()[indices.numpy().reshape(-1, 3)]
            normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
            places = np.round(verts.numpy(), 4)
            found.append((indices.size, places[np.lexsort(places.T)], np.sum(triangles[:, 0] * normals)))
        (count, places, volume), (count_of_warp, places_of_warp, volume_of_warp) = found
        assert count == count_of_warp
        np.testing.assert_allclose(places, places_of_warp, atol=2e-4)
        assert np.sign(volume) == np.sign(volume_of_warp)
