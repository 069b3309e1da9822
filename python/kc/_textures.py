"""Textures: texels in a regular grid, which kernels sample between them. The compiled half is `engines.rs`."""

from __future__ import annotations

import enum
import operator

import numpy as np

from . import _array, _types
from ._arguments import as_numpy, refuse
from ._engines import Engine

#: What texels are made of.
_NUMBERS = ("uint8", "uint16", "uint32", "int8", "int16", "int32", "float16", "float32")
_AXES = ("width", "height", "depth")


class TextureFilterMode(enum.IntEnum):
    """What is between texels: the nearest one, or a mixture."""

    CLOSEST = 0
    LINEAR = 1


class TextureAddressMode(enum.IntEnum):
    """What is beside a texture: itself again, its last texels, itself mirrored, or zeros."""

    WRAP = 0
    CLAMP = 1
    MIRROR = 2
    BORDER = 3


class Texture(Engine):
    """What textures of one, two and three dimensions have in common."""

    ndim = 0

    def __init__(
        self, data, extents, num_channels, dtype, filter_mode, address_mode, address_modes, normalized_coords, num_mip_levels,
        mip_filter_mode, device, surface_access, cuda_array, requires_grad,
    ):
        if device is not None:
            from .warp._devices import get_device

            get_device(device)
        if surface_access or cuda_array:
            raise refuse("E1005", "a texture of kc is in the memory of the host: it has no surface, and wraps no array of CUDA")
        texels = None if data is None else self._read(data)
        if texels is not None:
            found = texels.shape[self.ndim - 1 :: -1]
            given = (texels.shape[self.ndim] if texels.ndim > self.ndim else 1, texels.dtype.name)
            num_channels = self._same("number of channels", num_channels, given[0])
            extents = [self._same(name, one, other) for name, one, other in zip(_AXES, extents, found)]
            if dtype is not None and _types.scalar_of(dtype).__name__ != given[1]:
                raise refuse("E1011", f"the texels are of type {given[1]}, and the texture is to be of {_types.scalar_of(dtype).__name__}")
            dtype = given[1]
        elif dtype is None:
            raise refuse("E1011", "a texture without texels needs a type: `dtype=kc.float32`")
        self.dtype = _types.scalar_of(_types.NAMED[dtype] if isinstance(dtype, str) else dtype)
        name = self.dtype.__name__
        if name not in _NUMBERS:
            raise refuse("E1005", f"texels are of {', '.join(_NUMBERS[:-1])} or {_NUMBERS[-1]}, not of {name}")
        extents = [_whole(one, name) for one, name in zip(extents, _AXES)]
        self.width, self.height, self.depth = (*extents, 1, 1)[:3]
        self.num_channels = _whole(num_channels, "number of channels")
        usual = TextureFilterMode.CLOSEST if name in ("int32", "uint32") else TextureFilterMode.LINEAR
        self.filter_mode = _mode(TextureFilterMode, filter_mode, usual)
        self.mip_filter_mode = _mode(TextureFilterMode, mip_filter_mode, usual)
        modes = [self._beside(address_mode, one, axis) for axis, one in enumerate(address_modes)]
        self.address_mode_u, self.address_mode_v, self.address_mode_w = (*modes, *[TextureAddressMode.CLAMP] * 2)[:3]
        self.normalized_coords = bool(normalized_coords)
        levels = _whole(num_mip_levels, "number of levels")
        if texels is None and levels != 1:
            raise refuse("E1011", "a texture with levels of detail needs its texels when it is made")
        in_place = name == "float32" and levels == 1 and min(extents) > 0
        if texels is None and in_place and self.num_channels in (1, 2, 4):
            channels = (self.num_channels,) if self.num_channels > 1 else ()
            try:
                texels = np.zeros((*extents[::-1], *channels), np.float32)
            except (MemoryError, ValueError):
                raise refuse("E1011", f"there is no memory for {' x '.join(map(str, extents))} texels") from None
        #: The texels of one level of float32, which have gradients if it is asked for; of others None.
        self.data = None
        if texels is not None:
            held = _array._wrap(texels, self.dtype, requires_grad and in_place)
            self.data = held if in_place else None
        if requires_grad and not in_place:
            raise refuse("E1103", "gradients of texels are those of textures of float32 with one level")
        self._texture(
            None if texels is None else held, extents, self.num_channels, name,
            [int(mode) for mode in (self.filter_mode, self.mip_filter_mode, self.address_mode_u, self.address_mode_v, self.address_mode_w)],
            self.normalized_coords, levels,
        )
        self.num_mip_levels, self.metadata = self._texture_facts()

    def _read(self, data):
        """Texels of the caller's, in memory of their own."""
        memory = as_numpy(data)
        if memory is None:
            raise refuse("E1005", f"the texels are to be an array, not a {type(data).__name__}", "make one of them, with `numpy.array`")
        if memory.ndim not in (self.ndim, self.ndim + 1):
            raise refuse("E1005", f"the texels of a {type(self).__name__} are an array of {self.ndim} dimensions, or {self.ndim + 1} with channels, not of {memory.ndim}")
        if memory.dtype.name not in _NUMBERS:
            raise refuse("E1005", f"texels are of {', '.join(_NUMBERS[:-1])} or {_NUMBERS[-1]}, not of {memory.dtype}", "convert them, with `x.astype(numpy.float32)`")
        return np.array(memory, order="C")

    @staticmethod
    def _same(name, wanted, found):
        if wanted and wanted != found:
            raise refuse("E1011", f"the {name} is to be {wanted}, and that of the texels is {found}")
        return found

    @staticmethod
    def _beside(modes, one, axis):
        if one is None and isinstance(modes, tuple):
            one = modes[axis] if axis < len(modes) else None
        elif one is None:
            one = modes
        return _mode(TextureAddressMode, one, TextureAddressMode.CLAMP)

    @classmethod
    def _fields(cls) -> dict:
        """What a kernel is given: a struct."""
        names = {"tex": "uint64", **dict.fromkeys(_AXES[: cls.ndim], "int32"), "metadata": "uint32"}
        return {name: _types.NAMED[kind] for name, kind in names.items()}

    @classmethod
    def numpy_dtype(cls) -> np.dtype:
        """The NumPy type of arrays of such textures."""
        return np.dtype([(name, kind.numpy_dtype) for name, kind in cls._fields().items()], align=True)

    @property
    def tex(self):
        return self.id

    @property
    def is_mipmapped(self) -> bool:
        return self.num_mip_levels > 1

    @property
    def device(self):
        from .warp._devices import get_device

        return get_device()

    def _shape(self):
        channels = (self.num_channels,) if self.num_channels > 1 else ()
        return (*(self.width, self.height, self.depth)[: self.ndim][::-1], *channels)

    def numpy(self) -> np.ndarray:
        """A copy of the texels of the first level."""
        return np.frombuffer(self._texels(), self.dtype.numpy_dtype).reshape(self._shape()).copy()

    def copy_from(self, src):
        """Takes over the texels of an array or another texture, of the same form."""
        if self.is_mipmapped:
            raise refuse("E1011", "texels of a texture with levels of detail stay as they are")
        texels = src.numpy() if isinstance(src, Texture) else self._read(src)
        if texels.shape != self._shape() and texels.shape != (*self._shape(), 1) or texels.dtype != self.dtype.numpy_dtype:
            raise refuse("E1011", f"the texture has texels of {self.dtype.__name__} of shape {self._shape()}, not of {texels.dtype} of shape {texels.shape}")
        if self.data is not None:
            self.data.assign(texels.reshape(self._shape()))
        else:
            self._write_texels(texels.tobytes())

    def copy_to(self, dst):
        """Copies the texels to an array or another texture, of the same form."""
        if self.is_mipmapped:
            raise refuse("E1011", "texels of a texture with levels of detail are not copied")
        if isinstance(dst, Texture):
            return dst.copy_from(self)
        memory = as_numpy(dst)
        if memory is None or memory.dtype != self.dtype.numpy_dtype or memory.shape not in (self._shape(), (*self._shape(), 1)):
            raise refuse("E1011", f"an array for texels of {self.dtype.__name__} of shape {self._shape()} is wanted")
        if hasattr(dst, "assign"):
            dst.assign(self.numpy().reshape(memory.shape))
        else:
            memory[...] = self.numpy().reshape(memory.shape)


def _whole(value, what):
    try:
        return operator.index(value)
    except TypeError:
        raise refuse("E1005", f"the {what} is a whole number, not a {type(value).__name__}") from None


def _mode(modes, value, usual):
    if value is None:
        return usual
    try:
        return modes(value)
    except ValueError:
        known = ", ".join(f"{mode.name} ({mode.value})" for mode in modes)
        raise refuse("E1011", f"there is no {modes.__name__} {value!r}; there are {known}") from None


class Texture1D(Texture):
    """A row of texels, for ``kc.texture_sample``: the parameter is ``t: kc.Texture1D``.

        ramp = kc.Texture1D(np.linspace(0.0, 1.0, 64, dtype=np.float32))

    ``data`` has the shape ``(width,)``, or ``(width, channels)`` with 1, 2 or 4 channels, and is copied. Integers of 8 and 16 bits
    are sampled as parts of their largest. ``num_mip_levels=0`` makes all levels of detail.
    """

    _kc_word = "Texture1D"
    ndim = 1

    def __init__(
        self, data=None, width=0, num_channels=0, dtype=None, filter_mode=None, address_mode=TextureAddressMode.CLAMP,
        address_mode_u=None, normalized_coords=True, num_mip_levels=1, mip_filter_mode=None, device=None, surface_access=False,
        cuda_array=0, *, requires_grad=False,
    ):
        super().__init__(
            data, [width], num_channels, dtype, filter_mode, address_mode, [address_mode_u], normalized_coords, num_mip_levels,
            mip_filter_mode, device, surface_access, cuda_array, requires_grad,
        )


class Texture2D(Texture):
    """An image, for ``kc.texture_sample``: the parameter is ``t: kc.Texture2D``.

        image = kc.Texture2D(pixels)             # NumPy: (height, width), or (height, width, channels)
        shade(n, image, uv, colour)              # wp.texture_sample(image, uv[i], dtype=wp.vec4f)

    ``data`` is copied. Integers of 8 and 16 bits are sampled as parts of their largest. With ``requires_grad`` texels of float32
    have gradients: ``image.data.grad``, and ``tape.gradient(image.data)``.
    """

    _kc_word = "Texture2D"
    ndim = 2

    def __init__(
        self, data=None, width=0, height=0, num_channels=0, dtype=None, filter_mode=None, address_mode=TextureAddressMode.CLAMP,
        address_mode_u=None, address_mode_v=None, normalized_coords=True, num_mip_levels=1, mip_filter_mode=None, device=None,
        surface_access=False, cuda_array=0, *, requires_grad=False,
    ):
        super().__init__(
            data, [width, height], num_channels, dtype, filter_mode, address_mode, [address_mode_u, address_mode_v],
            normalized_coords, num_mip_levels, mip_filter_mode, device, surface_access, cuda_array, requires_grad,
        )


class Texture3D(Texture):
    """A stack of images, for ``kc.texture_sample``: the parameter is ``t: kc.Texture3D``.

        density = kc.Texture3D(numbers)          # NumPy: (depth, height, width), or with channels behind
    """

    _kc_word = "Texture3D"
    ndim = 3

    def __init__(
        self, data=None, width=0, height=0, depth=0, num_channels=0, dtype=None, filter_mode=None,
        address_mode=TextureAddressMode.CLAMP, address_mode_u=None, address_mode_v=None, address_mode_w=None, normalized_coords=True,
        num_mip_levels=1, mip_filter_mode=None, device=None, surface_access=False, cuda_array=0, *, requires_grad=False,
    ):
        super().__init__(
            data, [width, height, depth], num_channels, dtype, filter_mode, address_mode,
            [address_mode_u, address_mode_v, address_mode_w], normalized_coords, num_mip_levels, mip_filter_mode, device,
            surface_access, cuda_array, requires_grad,
        )
