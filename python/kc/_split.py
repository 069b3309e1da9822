"""A launch that is shared among devices, by its first coordinate."""

from __future__ import annotations

from . import _device
from ._array import array


class Split:
    """Rows of a problem, shared among devices: each computes a range of them, and has ``halo`` rows of its neighbours as well.

        split = kc.Split(rows, devices=["cuda:0", "cuda:1"], halo=1)
        u, v = split.scatter(plate), split.scatter(plate)
        for _ in range(100):
            split.launch(jacobi, (rows, columns), split.first, u, v)
            split.exchange(v)
            u, v = v, u
        plate = split.gather(u)

    A launch has on each device as many threads along its first dimension as the device has rows. Arrays that ``scatter`` made are
    the device's parts, and ``split.first`` is the row of its part that its first thread is at: ``halo``, or 0 on the first device.
    ``exchange`` brings the rows at the borders to the neighbours, by copies from GPU to GPU. Nothing waits for the devices but
    ``gather``. Who has another way to exchange rows finds the arrays by ``u.parts``.
    """

    #: In the place of an argument: where a device's own rows begin in its parts.
    first = type("First", (), {"__repr__": lambda self: "<kc.Split.first>"})()

    def __init__(self, rows: int, devices=None, halo: int = 0):
        found = _device.devices() if devices is None else list(devices)
        self.devices = [device if isinstance(device, str) else device.id for device in found]
        self.rows, self.halo = int(rows), int(halo)
        for device in self.devices:
            _device.ordinal_of(device)
        count = len(self.devices)
        if count == 0:
            raise _device.refused("there is no GPU to share a launch among", 'name devices: `devices=["cpu"]` runs it on the host')
        if self.halo < 0 or self.rows < count * max(self.halo, 1):
            text = f"{self.rows} rows for {count} devices are fewer than {max(self.halo, 1)} for each, the rows of a halo"
            raise _device.refused(text, "take fewer devices")
        bounds = [self.rows * k // count for k in range(count + 1)]
        #: The first row of each device, and the one behind its last.
        self.ranges = list(zip(bounds, bounds[1:]))

    def _held(self, k):
        first, last = self.ranges[k]
        return max(first - self.halo, 0), min(last + self.halo, self.rows)

    def scatter(self, data, dtype=None) -> "Parts":
        """Copies of an array's rows on the devices, each with those of its halo."""
        whole = data if isinstance(data, array) else array(data, dtype=dtype)
        if whole.ndim == 0 or len(whole) != self.rows:
            raise ValueError(f"the first dimension of the array has {len(whole) if whole.ndim else 0} elements, and the split {self.rows} rows")
        made = []
        for k, device in enumerate(self.devices):
            low, high = self._held(k)
            made.append(whole[low:high].to(device) if device != whole.device else array(whole[low:high], dtype=whole.dtype, copy=True))
        return Parts(self, made)

    def launch(self, kernel, dim, *arguments, **named):
        """Launches a kernel on each device, for the threads of its rows."""
        dim = (dim,) if isinstance(dim, int) else tuple(dim)
        if dim[0] != self.rows:
            raise ValueError(f"the first dimension of the launch has {dim[0]} threads, and the split {self.rows} rows")
        for k, (first, last) in enumerate(self.ranges):
            mine = [self._of(k, value) for value in arguments]
            kernel((last - first, *dim[1:]), *mine, **{name: self._of(k, value) for name, value in named.items()})

    def _of(self, k, value):
        if value is Split.first:
            return self.ranges[k][0] - self._held(k)[0]
        if isinstance(value, Parts):
            if value.split is not self:
                raise ValueError("the parts of an array are those of another split")
            return value.parts[k]
        return value

    def exchange(self, *arrays: "Parts"):
        """Gives each device the rows that its neighbours have computed, as far as its halo goes."""
        for parts in arrays:
            for k, (first, last) in enumerate(self.ranges):
                low, high = self._held(k)
                here = parts.parts[k]
                if k > 0 and self.halo:
                    here[: first - low] = self._rows(parts, k - 1, low, first)
                if k + 1 < len(self.ranges) and self.halo:
                    here[last - low :] = self._rows(parts, k + 1, last, high)

    def _rows(self, parts, k, first, last):
        low = self._held(k)[0]
        return parts.parts[k][first - low : last - low]

    def gather(self, parts: "Parts"):
        """All rows in one NumPy array, once the devices have computed them."""
        import numpy as np

        own = [self._rows(parts, k, first, last).numpy() for k, (first, last) in enumerate(self.ranges)]
        return np.concatenate(own)

    def synchronize(self):
        """Waits for all devices."""
        for device in _device.devices():
            if device.id in self.devices:
                device.synchronize()


class Parts:
    """The parts of an array on the devices of a split: ``parts`` has one for each."""

    def __init__(self, split, parts):
        self.split, self.parts = split, parts

    def __repr__(self):
        return f"<kc array of {self.split.rows} rows on {', '.join(self.split.devices)}>"
