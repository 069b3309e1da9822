"""Volumes: what is stored is what kernels find, in files and in other forms; NumPy is the judge."""

import io

import kc
import kc.warp as wp
import numpy as np
import pytest


@kc.kernel
def look(volume: kc.uint64, at: kc.array(dtype=kc.vec3i), found: kc.array(dtype=float)):
    i = kc.tid()
    found[i] = kc.volume_lookup_f(volume, at[i][0], at[i][1], at[i][2])


@kc.kernel
def sample(volume: kc.uint64, at: kc.array(dtype=kc.vec3), found: kc.array(dtype=float)):
    i = kc.tid()
    q = kc.volume_world_to_index(volume, at[i])
    found[i] = kc.volume_sample_f(volume, q, kc.Volume.LINEAR)


@kc.kernel
def store(volume: kc.uint64, at: kc.array(dtype=kc.vec3i), values: kc.array(dtype=float)):
    i = kc.tid()
    kc.volume_store_f(volume, at[i][0], at[i][1], at[i][2], values[i])


@kc.kernel
def number(volume: kc.uint64, at: kc.array(dtype=kc.vec3i), found: kc.array(dtype=int)):
    i = kc.tid()
    found[i] = kc.volume_lookup_index(volume, at[i][0], at[i][1], at[i][2])


def test_a_dense_box(rng):
    values = rng.random((9, 4, 17)).astype(np.float32)
    volume = kc.Volume.load_from_numpy(values, min_world=(1, 2, 3), voxel_size=(0.5, 1.0, 2.0), bg_value=-1.0)
    at = rng.integers(-3, 20, (500, 3)).astype(np.int32)
    found = np.zeros(500, np.float32)
    look(500, volume, at, found)
    inside = (at >= 0).all(axis=1) & (at < values.shape).all(axis=1)
    assert 10 < inside.sum() < 490
    np.testing.assert_array_equal(found, np.where(inside, values[tuple(np.where(inside[:, None], at, 0).T)], -1.0))
    assert volume.dtype is kc.float32 and not volume.is_index and volume.get_voxel_size() == (0.5, 1.0, 2.0)
    info = volume.get_grid_info()
    assert info.type_str == "float" and list(info.translation) == [1, 2, 3] and info.transform_matrix[2, 2] == 2
    assert volume.get_tile_count() == 2 * 1 * 3 and volume.get_voxel_count() == 6 * 512
    assert len(np.unique(volume.get_voxels().numpy(), axis=0)) == 6 * 512


def test_gradients_by_place(rng):
    x, y, z = np.mgrid[:8, :8, :8].astype(np.float32)
    volume = kc.Volume.load_from_numpy(x + 2 * y + 3 * z, voxel_size=0.5)
    at = kc.array((0.25 + 3.0 * rng.random((20, 3))).astype(np.float32), dtype=kc.vec3, requires_grad=True)
    found = kc.zeros(20)
    with kc.Tape() as tape:
        sample(20, volume, at, found)
    tape.backward(grads={found: np.ones(20, np.float32)})
    np.testing.assert_allclose(found.numpy(), at.numpy() @ [2, 4, 6], rtol=1e-5)
    np.testing.assert_allclose(at.grad.numpy(), np.tile([2, 4, 6], (20, 1)), rtol=1e-5)


def test_a_tape_has_a_volume_as_it_was(rng):
    values = np.mgrid[:8, :8, :8][0].astype(np.float32)
    volume = kc.Volume.load_from_numpy(values)
    at = kc.array(np.full((1, 3), 3.5, np.float32), dtype=kc.vec3, requires_grad=True)
    found, more = kc.zeros(1), kc.zeros(1)
    places = np.ascontiguousarray(np.argwhere(np.ones((8, 8, 8))), np.int32)
    with kc.Tape() as tape:
        sample(1, volume, at, found)
        store(512, volume, places, (10 * values).ravel())
        sample(1, volume, at, more)
    tape.backward(grads={found: np.ones(1, np.float32)})
    assert found.numpy()[0] == 3.5 and more.numpy()[0] == 35
    np.testing.assert_allclose(at.grad.numpy(), [[1, 0, 0]], atol=1e-6)
    at.grad.zero_()
    tape.zero()
    tape.backward(grads={more: np.ones(1, np.float32)})
    np.testing.assert_allclose(at.grad.numpy(), [[10, 0, 0]], atol=1e-5)


def test_tiles_voxels_and_others_later():
    points = kc.array([[0, 0, 0], [100, -9, 3], [1, 1, 1]], dtype=kc.vec3i)
    status = kc.zeros(1, dtype=kc.uint32)
    volume = kc.Volume.allocate_by_tiles(points, 1.0, bg_value=2.5, max_tiles=2, status=status)
    assert sorted(map(tuple, volume.get_tiles().numpy())) == [(0, 0, 0), (96, -16, 0)]
    at = np.array([[7, 7, 7], [100, -9, 3], [8, 0, 0]], np.int32)
    found = np.zeros(3, np.float32)
    store(3, volume, at, np.array([1, 2, 3], np.float32))
    look(3, volume, at, found)
    assert found.tolist() == [1, 2, 2.5]
    assert volume.is_rebuildable and volume.get_rebuild_info().kind == "tiles" and volume.get_rebuild_info().max_leaf_node_count == 2
    volume.rebuild(kc.array([[8.0, 0.0, 0.0]], dtype=kc.vec3), status)
    assert status.numpy()[0] == 0 and volume.get_tiles().numpy().tolist() == [[8, 0, 0]]
    many = kc.array([[0, 0, 0], [8, 0, 0], [16, 0, 0]], dtype=kc.vec3i)
    volume.rebuild(many, status)
    assert status.numpy()[0] == kc.Volume.REBUILD_LEAF_CAPACITY_EXCEEDED and volume.get_tile_count() == 1
    with pytest.raises(ValueError, match="E1011"):
        volume.rebuild(many)
    volume.rebuild(many, status, point_mask=kc.array([1, 0, 1], dtype=int))
    assert status.numpy()[0] == 0 and volume.get_tile_count() == 2

    voxels = kc.Volume.allocate_by_voxels(points, 1.0)
    assert voxels.is_index and voxels.dtype is None and voxels.get_voxel_count() == 3
    numbers = np.zeros(3, np.int32)
    number(3, voxels, voxels.get_voxels().numpy(), numbers)
    assert numbers.tolist() == [0, 1, 2]
    number(3, voxels, at, numbers)
    assert numbers[0] == numbers[2] == -1 and numbers[1] >= 0


@pytest.mark.parametrize("around", [kc.vec3(1.0, 2.0, 3.0), (1.0, 2.0, 3.0, 4.0), kc.float64(2.0), kc.int64(-7), kc.uint32(7), 3, kc.vec4d(1.0)])
def test_types_of_values_and_files(around, tmp_path):
    volume = kc.Volume.allocate((0, 0, 0), (9, 3, 3), 0.25, bg_value=around)
    volume.save_to_nvdb(tmp_path / "it.nvdb", "zip")
    again = wp.Volume.load_from_nvdb((tmp_path / "it.nvdb").open("rb"))
    assert again.array().numpy().tobytes() == volume.array().numpy().tobytes() and again.load_next_grid() is None
    assert again.dtype is volume.dtype and again.get_tile_count() == 2 and isinstance(again.get_tiles(), wp.array)
    assert np.array_equal(again.get_tiles().numpy(), volume.get_tiles().numpy())
    assert kc.Volume(again.array()).get_grid_info() == volume.get_grid_info()


def test_mistakes(tmp_path):
    points = kc.array([[0, 0, 0]], dtype=kc.vec3i)
    for wrong, error in (
        (lambda: kc.Volume.load_from_nvdb(io.BytesIO(b"no volume at all, but long enough")), "E1011"),
        (lambda: kc.Volume(b"short"), "E1011"),
        (lambda: kc.Volume.allocate_by_tiles(points), "voxel_size"),
        (lambda: kc.Volume.allocate_by_tiles(points, -1.0), "greater than 0"),
        (lambda: kc.Volume.allocate_by_tiles(points, 1.0, bg_value="red"), "E1005"),
        (lambda: kc.Volume.allocate_by_tiles(points, 1.0, bg_value=2**40), "E1011"),
        (lambda: kc.Volume.allocate_by_tiles(np.zeros((2, 2), np.int32), 1.0), "E1005"),
        (lambda: kc.Volume.allocate_by_tiles(np.full((1, 3), np.nan, np.float32), 1.0), "E1011"),
        (lambda: kc.Volume.allocate_by_tiles(np.full((1, 3), 1e30, np.float32), 1.0), "E1011"),
        (lambda: kc.Volume.allocate_by_tiles(points, transform=np.zeros((3, 3))), "E1011"),
        (lambda: kc.Volume.load_from_numpy(np.zeros((0, 1, 1))), "E1011"),
        (lambda: kc.Volume.load_from_numpy(np.zeros((2, 2))), "E1005"),
        (lambda: kc.Volume.allocate((0, 0, 0), (-9, 0, 0), 1.0), "E1011"),
        (lambda: kc.Volume.allocate_by_tiles(points, 1.0).save_to_nvdb(tmp_path / "x", "blosc"), "E1011"),
        (lambda: kc.Volume.allocate_by_tiles(points, 1.0).rebuild(points), "room"),
        (lambda: look(1, kc.HashGrid(4, 4, 4), np.zeros((1, 3), np.int32), np.zeros(1, np.float32)), "E1127"),
    ):
        with pytest.raises(Exception, match=error):
            wrong()
