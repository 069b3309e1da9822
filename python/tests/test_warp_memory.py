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


def test_allocators_are_for_gpus():
    """As Warp says on the CPU."""
    allocator = wp.get_device().default_allocator
    place = allocator.allocate(64)
    allocator.deallocate(place, 64)
    with pytest.raises(RuntimeError, match="for CUDA devices"):
        wp.set_device_allocator("cpu", allocator)
    wp.set_device_allocator("cpu", None)
