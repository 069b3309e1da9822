"""What a GPU needs at least for a task: its memory's and its float32 units' peaks, by product."""

from __future__ import annotations

#: By a part of the product's name, the first that fits: terabytes a second and float32 TFLOP/s, as
#: NVIDIA's data sheets have them.
_PEAKS = {
    "H200": (4.8, 66.9),
    "H100 PCIe": (2.0, 51.2),
    "H100 NVL": (3.9, 60.0),
    "GH200": (4.0, 66.9),
    "H100": (3.35, 66.9),
    "B200": (8.0, 75.0),
    "A100-SXM4-80GB": (2.04, 19.5),
    "A100 80GB": (1.94, 19.5),
    "A100": (1.56, 19.5),
    "L40S": (0.864, 91.6),
    "L4": (0.3, 30.3),
    "T4": (0.32, 8.1),
    "RTX 4090": (1.008, 82.6),
    "RTX 3090": (0.936, 35.6),
}
_H100 = _PEAKS["H100"]


def peaks(product):
    """Terabytes and float32 TFLOP a second of a product. None: kc does not know it."""
    return next((peak for name, peak in _PEAKS.items() if name.lower() in product.lower()), None)


def by_memory(task) -> bool:
    """Whether an H100's memory bounds the task, and not its float32 units."""
    return abs(task.gigabytes / _H100[0] - task.bound_ms) <= max(0.02 * task.bound_ms, 0.006 / _H100[0])


def bound_ms(task, product):
    """The least milliseconds of a task as shipped on this product; None where it is unknown."""
    peak = peaks(product)
    if peak is None:
        return None
    # What the facts say is an H100's; its flops may be fewer than `gflop` (triangles).
    if by_memory(task):
        return max(task.bound_ms * _H100[0] / peak[0], task.gflop / peak[1] if task.gflop / _H100[1] < task.bound_ms else 0.0)
    return max(task.bound_ms * _H100[1] / peak[1], task.gigabytes / peak[0])
