"""`kc.warp` counts the memory of arrays, as Warp's trackers do."""

import gc
import io

import numpy as np
import pytest

import kc.warp as wp


def report(one, **options):
    out = io.StringIO()
    one.report(file=out, **options)
    return out.getvalue()


def test_a_tracker_counts_what_is_made_within():
    before = wp.zeros(1000)
    with wp.ScopedMemoryTracker("run", print=False) as tracker:
        a = wp.zeros(1000)
        with wp.ScopedMemoryTracker("inner", print=False) as inner:
            b = wp.array(np.ones((10, 3)), dtype=wp.vec3)
        wp.empty(500)
    gc.collect()
    text = report(tracker)
    assert text.startswith("host memory: 4,120 bytes in 2 arrays") and "3 arrays of 6,120 bytes were made" in text
    assert "test_warp_memory.py" in text and "[run/inner]" in text and text.index("4,000") < text.index("    120  ")
    assert report(inner).startswith("host memory: 120 bytes in 1 arrays")
    assert report(tracker, max_items=1).endswith("... and 1 more\n")
    del a, b
    gc.collect()
    assert report(tracker).startswith("host memory: 0 bytes in 0 arrays")
    tracker.clear()
    assert "0 arrays of 0 bytes" in report(tracker)
    with pytest.raises(ValueError, match="chronological"):
        report(tracker, sort="name")
    assert before.size == 1000


def test_the_report_of_everything(monkeypatch, capsys):
    with pytest.raises(RuntimeError, match="track_memory"):
        wp.print_memory_report()
    monkeypatch.setattr(wp.config, "track_memory", True)
    kept = wp.zeros(77, dtype=wp.float64)
    wp.print_memory_report()
    assert "616  " in capsys.readouterr().out and kept.size == 77


def test_a_tracker_prints_in_the_end(capsys):
    with wp.ScopedMemoryTracker("run"):
        wp.zeros(3)
    assert capsys.readouterr().out.startswith("host memory: ")


class Counting:
    """An allocator that counts."""

    def __init__(self):
        self.inner, self.live, self.places = wp.get_device().default_allocator, 0, []

    def allocate(self, size):
        self.live += size
        self.places.append(self.inner.allocate(size))
        return self.places[-1]

    def deallocate(self, place, size):
        self.live -= size
        self.inner.deallocate(place, size)


@wp.kernel
def doubled(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = 2.0 * x[i]


def test_allocators():
    mine = Counting()
    wp.set_device_allocator("cpu", mine)
    try:
        assert wp.get_device_allocator("cpu") is mine
        x = wp.ones(10)
        z = wp.zeros((2, 3), dtype=wp.vec3)
        with wp.ScopedAllocator("cpu", None):
            wp.zeros(5)
        assert mine.live == 112 and x.ptr == mine.places[0] and not z.numpy().any()
        wp.launch(doubled, dim=10, inputs=[x])
        part = x[2:4]
        del x, z
        gc.collect()
        assert mine.live == 40 and part.numpy().tolist() == [2, 2]
        del part
        gc.collect()
        assert mine.live == 0
    finally:
        wp.set_device_allocator("cpu", None)
    with pytest.raises(TypeError, match="has `allocate`"):
        wp.set_device_allocator("cpu", object())


def test_programs_that_name_a_gpu():
    """They run on the processor, and are told."""
    with pytest.warns(UserWarning, match="on `cuda:0`") as told:
        x = wp.zeros(3, device="cuda:0")
    assert told[0].filename == __file__ and x.device == "cpu" and not wp.is_cuda_available()
    with pytest.raises(ValueError, match="no device `cudax`"):
        wp.zeros(3, device="cudax")
