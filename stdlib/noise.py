# Gradient noise (K. Perlin, Improving Noise, SIGGRAPH 2002) in one to four dimensions, with a hash
# of the lattice point and `state` for the gradients. Inside, a *jet* is a value and its derivatives
# along the axes: (value, x, y, z, t).


@func
def _corner(state: uint32, cell: Vec[N, int32], r: Vec[N, float32]) -> Vec[5, float32]:
    """The jet of the ramp at lattice point `cell`, seen from the offset `r`: a product with a random gradient."""
    primes = Vec[4, uint32](uint32(73856093), uint32(19349663), uint32(53471161), uint32(10000019))
    h = uint32(cell[N - 1]) * primes[N - 1] + state
    for k in range(N - 1):
        h = h ^ (uint32(cell[k]) * primes[k])
    g = Vec[N, float32]()
    if N == 1:
        g[0] = randf(h, -1.0, 1.0)
    else:
        for k in range(N):
            g[k] = randf(h) - 0.5
        g = normalize(g)
    jet = Vec[5, float32]()
    jet[0] = dot(r, g)
    for k in range(N):
        jet[k + 1] = g[k]
    return jet


@func
def _mix(a: Vec[5, float32], b: Vec[5, float32], t: float32, axis: int32) -> Vec[5, float32]:
    """The jet of the fade from `a` at `t = 0` to `b` at `t = 1` along `axis`, by the polynomial 6 t^5 - 15 t^4 + 10 t^3."""
    jet = (b - a) * (t * t * t * (t * (t * 6.0 - 15.0) + 10.0))
    jet[axis + 1] += (b[0] - a[0]) * (30.0 * t * t * (t * (t - 2.0) + 1.0))
    return jet + a


@func
def _lattice(state: uint32, low: Vec[N, int32], high: Vec[N, int32], d: Vec[N, float32]) -> Vec[5, float32]:
    """The jet of the noise at offset `d` in the cell from lattice point `low` to `high`."""
    waiting = Mat[4, 5, float32]()
    jet = Vec[5, float32]()
    # Corners in binary order, a bit per axis: a corner or edge or face waits for its partner one
    # bit up.
    for c in range(1 << N):
        cell = low
        r = d
        for k in range(N):
            if (c >> k) & 1 == 1:
                cell[k] = high[k]
                r[k] = d[k] - 1.0
        jet = _corner(state, cell, r)
        for k in range(N):
            bits = c & ((2 << k) - 1)
            if bits == (1 << k) - 1:
                waiting[k] = jet
            if bits == (2 << k) - 1:
                jet = _mix(waiting[k], jet, d[k], k)
    return jet


@func
def _jet(state: uint32, x: Vec[N, float32]) -> Vec[5, float32]:
    """The jet of the noise at `x`."""
    low = Vec[N, int32]()
    high = Vec[N, int32]()
    d = Vec[N, float32]()
    for k in range(N):
        low[k] = int32(floor(x[k]))
        high[k] = low[k] + 1
        d[k] = x[k] - floor(x[k])
    return _lattice(state, low, high, d)


@func
def _noise(state: uint32, x: Vec[N, float32]) -> float32:
    return _jet(state, x)[0]


@func_grad(_noise)
def _(state: uint32, x: Vec[N, float32], adj_ret: float32):
    jet = _jet(state, x)
    for k in range(N):
        adjoint[x][k] += jet[k + 1] * adj_ret


@func
def noise(state: uint32, x: float32) -> float32:
    """Smooth noise between -1 and 1 along a line; 0 at whole numbers. Equal `state` gives equal noise."""
    return _noise(state, Vec[1, float32](x))


@func
def noise(state: uint32, xy: Vec[2, float32]) -> float32:
    """Smooth noise between -1 and 1 in the plane; 0 at lattice points. Equal `state` gives equal noise."""
    return _noise(state, xy)


@func
def noise(state: uint32, xyz: Vec[3, float32]) -> float32:
    """Smooth noise between -1 and 1 in space; 0 at lattice points. Equal `state` gives equal noise."""
    return _noise(state, xyz)


@func
def noise(state: uint32, xyzt: Vec[4, float32]) -> float32:
    """Smooth noise between -1 and 1 in four dimensions; 0 at lattice points. Equal `state` gives equal noise."""
    return _noise(state, xyzt)


# ---- Periodic
# -----------------------------------------------------------------------------------------------------------


@func
def _periodic_jet(state: uint32, x: Vec[N, float32], period: Vec[N, int32]) -> Vec[5, float32]:
    """The jet of noise on a lattice that repeats."""
    low = Vec[N, int32]()
    high = Vec[N, int32]()
    d = Vec[N, float32]()
    for k in range(N):
        low[k] = int32(floor(x[k])) % period[k]
        high[k] = (low[k] + 1) % period[k]
        d[k] = x[k] - floor(x[k])
    return _lattice(state, low, high, d)


@func
def _periodic(state: uint32, x: Vec[N, float32], period: Vec[N, int32]) -> float32:
    return _periodic_jet(state, x, period)[0]


@func_grad(_periodic)
def _(state: uint32, x: Vec[N, float32], period: Vec[N, int32], adj_ret: float32):
    jet = _periodic_jet(state, x, period)
    for k in range(N):
        adjoint[x][k] += jet[k + 1] * adj_ret


@func
@domain(x=(0.1, 0.9))
def pnoise(state: uint32, x: float32, px: int32) -> float32:
    """`noise` that repeats after `px`, for `x >= 0`."""
    return _periodic(state, Vec[1, float32](x), Vec[1, int32](px))


@func
@domain(xy=(0.1, 0.9))
def pnoise(state: uint32, xy: Vec[2, float32], px: int32, py: int32) -> float32:
    """`noise` that repeats after `px` and `py` along the axes, for coordinates >= 0."""
    return _periodic(state, xy, Vec[2, int32](px, py))


@func
@domain(xyz=(0.1, 0.9))
def pnoise(state: uint32, xyz: Vec[3, float32], px: int32, py: int32, pz: int32) -> float32:
    """`noise` that repeats after `px`, `py` and `pz` along the axes, for coordinates >= 0."""
    return _periodic(state, xyz, Vec[3, int32](px, py, pz))


@func
@domain(xyzt=(0.1, 0.9))
def pnoise(state: uint32, xyzt: Vec[4, float32], px: int32, py: int32, pz: int32, pt: int32) -> float32:
    """`noise` that repeats after `px`, `py`, `pz` and `pt` along the axes, for coordinates >= 0."""
    return _periodic(state, xyzt, Vec[4, int32](px, py, pz, pt))


# ---- Curl
# ---------------------------------------------------------------------------------------------------------------


@func
@domain(xy=(0.1, 0.9), octaves=(1, 1), lacunarity=(1.5, 2.0), gain=(0.3, 0.6))
def curlnoise(
    state: uint32, xy: Vec[2, float32], octaves: uint32 = 1, lacunarity: float32 = 2.0, gain: float32 = 0.5
) -> Vec[2, float32]:
    """A swirling flow without sources: the turned gradient of noise, summed over `octaves`.

    From one octave to the next the frequency grows by `lacunarity` and the amplitude by `gain`.
    """
    sum = Vec[5, float32]()
    frequency = float32(1.0)
    amplitude = float32(1.0)
    for i in range(octaves):
        sum += amplitude * _jet(state, frequency * xy)
        amplitude *= gain
        frequency *= lacunarity
    return Vec[2, float32](-sum[2], sum[1])


@func
def _curl(state: uint32, x: Vec[N, float32], octaves: uint32, lacunarity: float32, gain: float32) -> Vec[3, float32]:
    """The curl, in the first three axes, of three noises."""
    a = Vec[5, float32]()
    b = Vec[5, float32]()
    c = Vec[5, float32]()
    s = state
    frequency = float32(1.0)
    amplitude = float32(1.0)
    for i in range(octaves):
        at = frequency * x
        a += amplitude * _jet(s, at)
        s = rand_init(int32(s), 10019689)
        b += amplitude * _jet(s, at)
        s = rand_init(int32(s), 13112221)
        c += amplitude * _jet(s, at)
        amplitude *= gain
        frequency *= lacunarity
    return Vec[3, float32](c[2] - b[3], a[3] - c[1], b[1] - a[2])


@func
@domain(xyz=(0.1, 0.9), octaves=(1, 1), lacunarity=(1.5, 2.0), gain=(0.3, 0.6))
def curlnoise(
    state: uint32, xyz: Vec[3, float32], octaves: uint32 = 1, lacunarity: float32 = 2.0, gain: float32 = 0.5
) -> Vec[3, float32]:
    """A swirling flow without sources: the curl of three noises, summed over `octaves`.

    From one octave to the next the frequency grows by `lacunarity` and the amplitude by `gain`.
    """
    return _curl(state, xyz, octaves, lacunarity, gain)


@func
@domain(xyzt=(0.1, 0.9), octaves=(1, 1), lacunarity=(1.5, 2.0), gain=(0.3, 0.6))
def curlnoise(
    state: uint32, xyzt: Vec[4, float32], octaves: uint32 = 1, lacunarity: float32 = 2.0, gain: float32 = 0.5
) -> Vec[3, float32]:
    """A swirling flow without sources that changes with the fourth coordinate, time; see the other forms."""
    return _curl(state, xyzt, octaves, lacunarity, gain)
