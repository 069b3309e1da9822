# Textures: numbers in a regular grid, sampled between them. A texture is passed by value: the address of
# its descriptor, its size, and in `metadata` how it is sampled, packed as Warp 1.19 packs it
# (warp/native/texture.h). On every device the same arithmetic is done, that of Warp on the host: units
# of GPUs for textures keep 8 bits of a fraction.

# What happens beside the texture.
_WRAP = 0
_CLAMP = 1
_MIRROR = 2

# How numbers are stored. What is missing below are those of `int32`.
_OF_UINT8 = 0
_OF_UINT16 = 1
_OF_FLOAT32 = 2
_OF_INT8 = 3
_OF_INT16 = 4
_OF_FLOAT16 = 5
_OF_UINT32 = 6


@struct
class Texture1D:
    """A row of texels, for `texture_sample`: `width` of them."""

    tex: uint64
    width: int32
    metadata: uint32


@struct
class Texture2D:
    """An image, for `texture_sample`: `height` rows of `width` texels."""

    tex: uint64
    width: int32
    height: int32
    metadata: uint32


@struct
class Texture3D:
    """A stack of `depth` images, for `texture_sample`."""

    tex: uint64
    width: int32
    height: int32
    depth: int32
    metadata: uint32


@func
@no_grad("an integer")
def _field(metadata: uint32, first: int32, count: int32) -> int32:
    """The bits of one fact."""
    return int32((metadata >> uint32(first)) & ((uint32(1) << uint32(count)) - uint32(1)))


@func
@no_grad("a condition")
def _is_closest(metadata: uint32) -> bool:
    """Whether the nearest texel counts alone."""
    return _field(metadata, 6, 1) == _CLOSEST


@func
@no_grad("a condition")
def _is_normalized(metadata: uint32) -> bool:
    """Whether coordinates go from 0 to 1, and not from texel to texel."""
    return _field(metadata, 13, 1) != 0


@func
@no_grad("an integer")
def _beside(metadata: uint32, axis: int32) -> int32:
    """What happens beside the texture along an axis."""
    return _field(metadata, 14 + 2 * axis, 2)


# Levels of detail: each has half as many texels along each axis as the one before.


@struct
class _Level:
    """Where the texels of a level are and their gradients, 0 if there are none, and how many there are."""

    texels: uint64
    gradients: uint64
    metadata: uint32
    width: int32
    height: int32
    depth: int32


@func
@no_grad("addresses")
def _level_of(tex: uint64, metadata: uint32, size: Vec[3, int32], level: int32) -> _Level:
    """A level of a texture."""
    gradients = uint64(0)
    # Descriptors of Warp end before.
    if _field(metadata, 31, 1) != 0:
        gradients = _word_at(tex + uint64(504))
    texels = _word_at(tex + uint64(56) + _bytes(8 * level))
    w = max(size[0] >> level, 1)
    h = max(size[1] >> level, 1)
    return _Level(texels, gradients, metadata, w, h, max(size[2] >> level, 1))


@func
def _detail(metadata: uint32, lod: float32) -> float32:
    """The level that is asked for, among those that there are; NaN asks for the first."""
    last = float32(_field(metadata, 8, 5) - 1)
    return where(lod >= 0.0, where(lod > last, last, lod), 0.0)


@func
@zero_grad("it changes in steps")
def _first_level(metadata: uint32, detail: float32) -> int32:
    """The level that counts, or the first of two."""
    half = where(_field(metadata, 7, 1) == _CLOSEST, 0.5, 0.0)
    return min(int32(floor(detail + half)), max(_field(metadata, 8, 5) - 1, 0))


@func
@no_grad("an integer")
def _second_level(metadata: uint32, first: int32) -> int32:
    """The second of two levels that count; the same where one counts."""
    mixed = _field(metadata, 7, 1) != _CLOSEST and first + 1 < _field(metadata, 8, 5)
    return where(mixed, first + 1, first)


# From a coordinate to texels.


@func
def _in_turn(x: float32, metadata: uint32, axis: int32, base: int32) -> float64:
    """A coordinate without whole turns of a texture that repeats itself along an axis; exact. `base` is how many
    texels the first level has."""
    mode = _beside(metadata, axis)
    at = float64(x)
    if mode == _WRAP or mode == _MIRROR:
        turn = where(mode == _MIRROR, float64(2.0), float64(1.0))
        if _is_normalized(metadata):
            # Exact, too, and quick.
            at = at - turn * trunc(at / turn)
        else:
            at = mod(at, turn * float64(base))
    return at


@func
def _part(turned: float64, metadata: uint32, axis: int32, base: int32) -> float32:
    """Where it is in parts of the texture; from 0 on, if that repeats itself."""
    mode = _beside(metadata, axis)
    normalized = _is_normalized(metadata)
    # Before scaling, which would round the fraction away.
    part = float32(turned)
    if part < 0.0 and (mode == _WRAP or mode == _MIRROR):
        part += where(mode == _MIRROR, 2.0, 1.0) * where(normalized, 1.0, float32(base))
    if not normalized:
        part = part / float32(base)
    return part


@func
def _position(part: float32, metadata: uint32, axis: int32, size: int32) -> float32:
    """The same in texels of a level, from the centre of the first one."""
    mode = _beside(metadata, axis)
    position = part * float32(size) - 0.5
    if mode == _CLAMP:
        position = max(min(position, float32(size - 1)), 0.0)
    elif mode != _WRAP and mode != _MIRROR:
        # Both neighbours are outside, and whole numbers hold them.
        position = max(min(position, float32(size)), -2.0)
    return position


@func
@no_grad("an index")
def _addressed(i: int64, mode: int32, size: int32) -> int64:
    """The texel that counts for number `i` of an axis, at most a turn beside the texture; below 0: none."""
    n = int64(size)
    if mode == _CLAMP:
        return where(i < int64(0), int64(0), where(i >= n, n - int64(1), i))
    if mode != _WRAP and mode != _MIRROR:
        return where(i >= n, int64(-1), i)
    turn = where(mode == _MIRROR, n + n, n)
    inside = where(i < int64(0), i + turn, where(i >= turn, i - turn, i))
    return where(inside >= n, turn - int64(1) - inside, inside)


@func
@zero_grad("it changes in steps")
def _neighbours(position: float32, metadata: uint32, axis: int32, size: int32) -> Vec[2, int64]:
    """The texels before and behind a position along an axis; below 0: none."""
    mode = _beside(metadata, axis)
    i = int64(floor(position))
    return Vec[2, int64](_addressed(i, mode, size), _addressed(i + int64(1), mode, size))


@func
@zero_grad("it changes in steps")
def _nearest(turned: float64, metadata: uint32, axis: int32, base: int32, size: int32) -> Vec[2, int64]:
    """The texel that a coordinate is in; below 0: none. In float64, so that coordinates slightly below 0 stay there."""
    mode = _beside(metadata, axis)
    at = turned * float64(size)
    if not _is_normalized(metadata):
        at = at / float64(base)
    if mode != _WRAP and mode != _MIRROR:
        at = max(min(at, float64(size)), float64(-1.0))
    return Vec[2, int64](_addressed(int64(floor(at)), mode, size))


@func
@no_grad("an index")
def _in_row(x: int64, row: int64, width: int32) -> int64:
    """The number of texel `x` of a row; below 0: one of them is."""
    return where(x < int64(0) or row < int64(0), int64(-1), row * int64(width) + x)


# What is stored.


@func
@zero_grad("integers, and halves, have no gradients")
def _stored_otherwise(texels: uint64, kind: int32, n: uint64) -> float32:
    """Number `n` of a level that is not float32: integers of 8 and 16 bits are parts of their largest."""
    if kind == _OF_UINT8:
        return float32(_constant_array_at(texels + n, uint64(0), 1, uint8(0))[0]) / 255.0
    if kind == _OF_INT8:
        return max(float32(_constant_array_at(texels + n, uint64(0), 1, int8(0))[0]) / 127.0, -1.0)
    two = texels + uint64(2) * n
    if kind == _OF_FLOAT16:
        return float32(_constant_array_at(two, uint64(0), 1, float16(0.0))[0])
    if kind == _OF_UINT16:
        return float32(_constant_array_at(two, uint64(0), 1, uint16(0))[0]) / 65535.0
    if kind == _OF_INT16:
        return max(float32(_constant_array_at(two, uint64(0), 1, int16(0))[0]) / 32767.0, -1.0)
    four = texels + uint64(4) * n
    if kind == _OF_UINT32:
        return float32(_constant_array_at(four, uint64(0), 1, uint32(0))[0])
    return float32(_constant_array_at(four, uint64(0), 1, int32(0))[0])


@func
def _stored(level: _Level, n: uint64) -> float32:
    """Number `n` of a level."""
    kind = _field(level.metadata, 3, 3)
    if kind == _OF_FLOAT32:
        offset = uint64(4) * n
        gradient = where(level.gradients == uint64(0), uint64(0), level.gradients + offset)
        return _array_at(level.texels + offset, gradient, 1, float32(0.0))[0]
    return _stored_otherwise(level.texels, kind, n)


@func
def _corners(
    level: _Level, xs: Vec[2, int64], ys: Vec[2, int64], zs: Vec[2, int64], like: Mat[M, N, float32]
) -> Mat[M, N, float32]:
    """Texels, each a row: the first axis alternates fastest. 0 where there is none, or no such channel."""
    channels = _field(level.metadata, 0, 3)
    values = Mat[M, N, float32]()
    for c in range(M):
        row = _in_row(ys[(c >> 1) & 1], zs[c >> 2], level.height)
        number = _in_row(xs[c & 1], row, level.width)
        if number >= int64(0):
            for n in range(N):
                if n < channels:
                    values[c, n] = _stored(level, uint64(number) * _bytes(channels) + _bytes(n))
    return values


# Mixtures of the texels around a place. Their gradients take differences of texels first, so that small ones
# stay what they are beside large numbers; and those of channels that nobody asks for count nowhere.


@func
def _lerp(a: float32, b: float32, f: float32) -> float32:
    """`f` of the way from one number to another."""
    return a * (1.0 - f) + b * f


@func
def _mixed(v: Mat[2, N, float32], x: float32) -> Vec[N, float32]:
    """A sample between two texels."""
    return v[0] * (1.0 - x) + v[1] * x


@func_grad(_mixed)
def _(v: Mat[2, N, float32], x: float32, adj_ret: Vec[N, float32]):
    texels = Mat[2, N, float32]()
    slope = float32(0.0)
    for k in range(N):
        seed = adj_ret[k]
        if seed != 0.0:
            texels[0, k] = seed * (1.0 - x)
            texels[1, k] = seed * x
            slope += seed * (v[1, k] - v[0, k])
    adjoint[v] += texels
    adjoint[x] += slope


@func
def _mixed(v: Mat[4, N, float32], x: float32, y: float32) -> Vec[N, float32]:
    """The same between four."""
    low = v[0] * (1.0 - x) + v[1] * x
    high = v[2] * (1.0 - x) + v[3] * x
    return low * (1.0 - y) + high * y


@func_grad(_mixed)
def _(v: Mat[4, N, float32], x: float32, y: float32, adj_ret: Vec[N, float32]):
    texels = Mat[4, N, float32]()
    slope = Vec[2, float32]()
    for k in range(N):
        seed = adj_ret[k]
        if seed != 0.0:
            low = seed * (1.0 - y)
            high = seed * y
            texels[0, k] = low * (1.0 - x)
            texels[1, k] = low * x
            texels[2, k] = high * (1.0 - x)
            texels[3, k] = high * x
            slope[0] += seed * _lerp(v[1, k] - v[0, k], v[3, k] - v[2, k], y)
            slope[1] += seed * _lerp(v[2, k] - v[0, k], v[3, k] - v[1, k], x)
    adjoint[v] += texels
    adjoint[x] += slope[0]
    adjoint[y] += slope[1]


@func
def _mixed(v: Mat[8, N, float32], x: float32, y: float32, z: float32) -> Vec[N, float32]:
    """The same between eight."""
    a = v[0] * (1.0 - x) + v[1] * x
    b = v[2] * (1.0 - x) + v[3] * x
    c = v[4] * (1.0 - x) + v[5] * x
    d = v[6] * (1.0 - x) + v[7] * x
    near = a * (1.0 - y) + b * y
    far = c * (1.0 - y) + d * y
    return near * (1.0 - z) + far * z


@func_grad(_mixed)
def _(v: Mat[8, N, float32], x: float32, y: float32, z: float32, adj_ret: Vec[N, float32]):
    texels = Mat[8, N, float32]()
    slope = Vec[3, float32]()
    for k in range(N):
        seed = adj_ret[k]
        if seed != 0.0:
            for c in range(8):
                across = where((c & 1) == 0, 1.0 - x, x)
                down = where((c & 2) == 0, 1.0 - y, y)
                texels[c, k] = seed * where((c & 4) == 0, 1.0 - z, z) * down * across
            near = _lerp(v[1, k] - v[0, k], v[3, k] - v[2, k], y)
            slope[0] += seed * _lerp(near, _lerp(v[5, k] - v[4, k], v[7, k] - v[6, k], y), z)
            near = _lerp(v[2, k] - v[0, k], v[3, k] - v[1, k], x)
            slope[1] += seed * _lerp(near, _lerp(v[6, k] - v[4, k], v[7, k] - v[5, k], x), z)
            near = _lerp(v[4, k] - v[0, k], v[5, k] - v[1, k], x)
            slope[2] += seed * _lerp(near, _lerp(v[6, k] - v[2, k], v[7, k] - v[3, k], x), y)
    adjoint[v] += texels
    adjoint[x] += slope[0]
    adjoint[y] += slope[1]
    adjoint[z] += slope[2]


@func
@zero_grad("used for a gradient")
def _rest(v: Mat[8, N, float32], x: float32, y: float32, z: float32) -> Vec[N, float32]:
    """What a sample has more than its first texel, by differences from that."""
    rest = Vec[N, float32]()
    for k in range(N):
        o = v[0, k]
        near = _lerp((v[1, k] - o) * x, _lerp(v[2, k] - o, v[3, k] - o, x), y)
        far = _lerp(_lerp(v[4, k] - o, v[5, k] - o, x), _lerp(v[6, k] - o, v[7, k] - o, x), y)
        rest[k] = _lerp(near, far, z)
    return rest


@func
@zero_grad("used for a gradient")
def _rest(v: Mat[4, N, float32], x: float32, y: float32) -> Vec[N, float32]:
    """The same."""
    rest = Vec[N, float32]()
    for k in range(N):
        o = v[0, k]
        rest[k] = _lerp((v[1, k] - o) * x, _lerp(v[2, k] - o, v[3, k] - o, x), y)
    return rest


@func
@zero_grad("used for a gradient")
def _rest(v: Mat[2, N, float32], x: float32) -> Vec[N, float32]:
    """The same."""
    return (v[1] - v[0]) * x


@func
@zero_grad("used for a gradient")
def _rise(a: Mat[3, N, float32], b: Mat[3, N, float32]) -> Vec[N, float32]:
    """How much more a sample is than another one, by differences of texels where these are finite."""
    rise = Vec[N, float32]()
    for k in range(N):
        by_texels = (b[1, k] - a[1, k]) + (b[2, k] - a[2, k])
        rise[k] = where(isfinite(by_texels), by_texels, b[0, k] - a[0, k])
    return rise


@func
def _mixed_levels(a: Vec[N, float32], b: Vec[N, float32], f: float32, rise: Vec[N, float32]) -> Vec[N, float32]:
    """A sample between two levels; the first one alone where it is reached, whatever the second is."""
    if f == 0.0:
        return a
    return a * (1.0 - f) + b * f


@func_grad(_mixed_levels)
def _(a: Vec[N, float32], b: Vec[N, float32], f: float32, rise: Vec[N, float32], adj_ret: Vec[N, float32]):
    adjoint[a] += adj_ret * (1.0 - f)
    adjoint[b] += adj_ret * f
    slope = float32(0.0)
    for k in range(N):
        if adj_ret[k] != 0.0:
            slope += adj_ret[k] * rise[k]
    adjoint[f] += slope


@func
def _sample(value: Vec[N, float32], texel: Vec[N, float32], rest: Vec[N, float32]) -> Mat[3, N, float32]:
    """A sample of a level, its first texel, and what it has more than that."""
    sample = Mat[3, N, float32]()
    sample[0] = value
    sample[1] = texel
    sample[2] = rest
    return sample


@func
@no_grad("indices")
def _first_only() -> Vec[2, int64]:
    """Along an axis that a texture does not have."""
    return Vec[2, int64](int64(0))


@func
def _at_level(t: Texture1D, at: Vec[1, float64], number: int32, like: Vec[N, float32]) -> Mat[3, N, float32]:
    """A sample of one level, where coordinates are without whole turns."""
    m = t.metadata
    level = _level_of(t.tex, m, Vec[3, int32](t.width, 1, 1), number)
    sample = Mat[3, N, float32]()
    if _is_closest(m):
        xs = _nearest(at[0], m, 0, t.width, level.width)
        texel = _corners(level, xs, _first_only(), _first_only(), Mat[1, N, float32]())[0]
        sample = _sample(texel, texel, Vec[N, float32]())
    else:
        x = _position(_part(at[0], m, 0, t.width), m, 0, level.width)
        xs = _neighbours(x, m, 0, level.width)
        v = _corners(level, xs, _first_only(), _first_only(), Mat[2, N, float32]())
        fx = x - floor(x)
        sample = _sample(_mixed(v, fx), v[0], _rest(v, fx))
    return sample


@func
def _at_level(t: Texture2D, at: Vec[2, float64], number: int32, like: Vec[N, float32]) -> Mat[3, N, float32]:
    """The same."""
    m = t.metadata
    level = _level_of(t.tex, m, Vec[3, int32](t.width, t.height, 1), number)
    sample = Mat[3, N, float32]()
    if _is_closest(m):
        xs = _nearest(at[0], m, 0, t.width, level.width)
        ys = _nearest(at[1], m, 1, t.height, level.height)
        texel = _corners(level, xs, ys, _first_only(), Mat[1, N, float32]())[0]
        sample = _sample(texel, texel, Vec[N, float32]())
    else:
        x = _position(_part(at[0], m, 0, t.width), m, 0, level.width)
        y = _position(_part(at[1], m, 1, t.height), m, 1, level.height)
        xs = _neighbours(x, m, 0, level.width)
        ys = _neighbours(y, m, 1, level.height)
        v = _corners(level, xs, ys, _first_only(), Mat[4, N, float32]())
        fx = x - floor(x)
        fy = y - floor(y)
        sample = _sample(_mixed(v, fx, fy), v[0], _rest(v, fx, fy))
    return sample


@func
def _at_level(t: Texture3D, at: Vec[3, float64], number: int32, like: Vec[N, float32]) -> Mat[3, N, float32]:
    """The same."""
    m = t.metadata
    level = _level_of(t.tex, m, Vec[3, int32](t.width, t.height, t.depth), number)
    sample = Mat[3, N, float32]()
    if _is_closest(m):
        xs = _nearest(at[0], m, 0, t.width, level.width)
        ys = _nearest(at[1], m, 1, t.height, level.height)
        zs = _nearest(at[2], m, 2, t.depth, level.depth)
        texel = _corners(level, xs, ys, zs, Mat[1, N, float32]())[0]
        sample = _sample(texel, texel, Vec[N, float32]())
    else:
        x = _position(_part(at[0], m, 0, t.width), m, 0, level.width)
        y = _position(_part(at[1], m, 1, t.height), m, 1, level.height)
        z = _position(_part(at[2], m, 2, t.depth), m, 2, level.depth)
        xs = _neighbours(x, m, 0, level.width)
        ys = _neighbours(y, m, 1, level.height)
        zs = _neighbours(z, m, 2, level.depth)
        v = _corners(level, xs, ys, zs, Mat[8, N, float32]())
        fx = x - floor(x)
        fy = y - floor(y)
        fz = z - floor(z)
        sample = _sample(_mixed(v, fx, fy, fz), v[0], _rest(v, fx, fy, fz))
    return sample


# The types of samples. One number is a vector of one.


@func
@no_grad("nothing")
def _like(dtype: type[float32]) -> Vec[1, float32]:
    """What numbers of a type are put in."""
    return Vec[1, float32]()


@func
@no_grad("nothing")
def _like(dtype: type[Vec[2, float32]]) -> Vec[2, float32]:
    """The same."""
    return Vec[2, float32]()


@func
@no_grad("nothing")
def _like(dtype: type[Vec[4, float32]]) -> Vec[4, float32]:
    """The same."""
    return Vec[4, float32]()


@func
def _as_type(value: Vec[1, float32], dtype: type[float32]) -> float32:
    """The value of a type in numbers."""
    return value[0]


@func
def _as_type(value: Vec[N, float32], dtype: type[Vec[N, float32]]) -> Vec[N, float32]:
    """The same."""
    return value


@func
def texture_sample(tex: Texture1D, u: float32, dtype: type[T], lod: float32 = -1.0) -> T:
    """The value of a texture at `u`. `dtype` says how many channels are read: one as `float`, two as
    `wp.vec2f`, four as `wp.vec4f`; channels that the texture lacks are 0.

    The texture says what the coordinates are (normalized: its ends are 0 and 1), whether the nearest
    texel or a mixture of its neighbours counts, and what is beside it. Integers of 8 and 16 bits are
    parts of their largest, from -1 or 0 to 1; those of 32 bits become floats. Of a texture with levels
    of detail, level `lod` is read, and between two levels a mixture; below 0 the first one.

    Gradients go to the coordinates and to `lod`, and to stored values of `float32` where these have
    some. Where the nearest texel counts, coordinates have a gradient of 0.

    ```python
    wp.expect_eq(wp.texture_sample(ramp, 0.25, dtype=float), 5.0)
    wp.expect_eq(wp.texture_sample(ramp, 0.5, dtype=wp.vec2f), wp.vec2f(15.0, 0.0))
    ```
    """
    value = _like(dtype)
    if tex.tex != uint64(0):
        detail = _detail(tex.metadata, lod)
        first = _first_level(tex.metadata, detail)
        second = _second_level(tex.metadata, first)
        at = Vec[1, float64](_in_turn(u, tex.metadata, 0, tex.width))
        a = _at_level(tex, at, first, _like(dtype))
        value = a[0]
        if second != first:
            b = _at_level(tex, at, second, _like(dtype))
            value = _mixed_levels(a[0], b[0], detail - floor(detail), _rise(a, b))
    return _as_type(value, dtype)


@func
def texture_sample(tex: Texture2D, uv: Vec[2, float32], dtype: type[T], lod: float32 = -1.0) -> T:
    """The value of an image at `uv`: along its rows, then down.

    ```python
    wp.expect_eq(wp.texture_sample(image, wp.vec2(1.5, 0.5), dtype=float), 1.0)
    wp.expect_eq(wp.texture_sample(image, wp.vec2(1.0, 1.0), dtype=float), 5.5)
    ```
    """
    value = _like(dtype)
    if tex.tex != uint64(0):
        detail = _detail(tex.metadata, lod)
        first = _first_level(tex.metadata, detail)
        second = _second_level(tex.metadata, first)
        at = Vec[2, float64](
            _in_turn(uv[0], tex.metadata, 0, tex.width),
            _in_turn(uv[1], tex.metadata, 1, tex.height),
        )
        a = _at_level(tex, at, first, _like(dtype))
        value = a[0]
        if second != first:
            b = _at_level(tex, at, second, _like(dtype))
            value = _mixed_levels(a[0], b[0], detail - floor(detail), _rise(a, b))
    return _as_type(value, dtype)


@func
def texture_sample(tex: Texture2D, u: float32, v: float32, dtype: type[T], lod: float32 = -1.0) -> T:
    """The same by two numbers.

    ```python
    wp.expect_eq(wp.texture_sample(image, 2.5, 1.5, dtype=float), 12.0)
    ```
    """
    return texture_sample(tex, Vec[2, float32](u, v), dtype, lod)


@func
def texture_sample(tex: Texture3D, uvw: Vec[3, float32], dtype: type[T], lod: float32 = -1.0) -> T:
    """The value of a stack of images at `uvw`: along rows, down, and from image to image.

    ```python
    wp.expect_eq(wp.texture_sample(stack, wp.vec3(0.5, 0.5, 0.5), dtype=float), 3.5)
    wp.expect_eq(wp.texture_sample(stack, wp.vec3(0.0, 0.0, 0.0), dtype=float, lod=0.5), 1.75)
    ```
    """
    value = _like(dtype)
    if tex.tex != uint64(0):
        detail = _detail(tex.metadata, lod)
        first = _first_level(tex.metadata, detail)
        second = _second_level(tex.metadata, first)
        at = Vec[3, float64](
            _in_turn(uvw[0], tex.metadata, 0, tex.width),
            _in_turn(uvw[1], tex.metadata, 1, tex.height),
            _in_turn(uvw[2], tex.metadata, 2, tex.depth),
        )
        a = _at_level(tex, at, first, _like(dtype))
        value = a[0]
        if second != first:
            b = _at_level(tex, at, second, _like(dtype))
            value = _mixed_levels(a[0], b[0], detail - floor(detail), _rise(a, b))
    return _as_type(value, dtype)


@func
def texture_sample(tex: Texture3D, u: float32, v: float32, w: float32, dtype: type[T], lod: float32 = -1.0) -> T:
    """The same by three numbers.

    ```python
    wp.expect_eq(wp.texture_sample(stack, 0.0, 0.0, 1.0, dtype=float), 4.0)
    ```
    """
    return texture_sample(tex, Vec[3, float32](u, v, w), dtype, lod)
