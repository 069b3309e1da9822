# === kepler_orbits
# source: Kepler's equation by Newton's method (Vallado 2013, ch. 2)
# task: compute the positions and speeds of satellites from their orbital elements and count those below a height
# about: The orbits lie in one plane. The anomaly is solved with six Newton steps.
# domain: physics
# weight: 6
# sizes: n = 1 7 71 300
# - period: float[n] uniform(4.0, 9.0); periods of the orbits [s]
# - eccentricity: float[n] uniform(0.0, 0.6); eccentricities
# - perigee: float[n] uniform(0.0, 360.0); direction of the nearest point [deg]
# - position: vec2[n] zeros; positions [m]
# - speed: float[n] zeros; speeds [m/s]
# - azimuth: float[n] zeros; direction of the position, from 0 to 1 turn
# - num_low: int[1] zeros; satellites nearer than the height
# - time: float = 2.5; time after the nearest point [s]
# - gravity: float = 1.0; gravitational parameter [m^3/s^2]
# - height: float = 0.9; distance of low satellites [m]
@kernel[n] newton or fixed point, elementwise map, atomic counter
def locate():
    """Mean anomaly, eccentric anomaly, place and speed."""
    i = wp.tid()
    guard i < n
    e = eccentricity[i]
    two_pi = 6.283185307179586
    motion = two_pi / period[i]
    # Kepler's third law
    a = wp.cbrt(gravity / (motion * motion))
    mean = motion * wp.mod(time, period[i])
    anomaly = mean + e * wp.sin(mean)
    for k in range(6):
        anomaly -= (anomaly - e * wp.sin(anomaly) - mean) / (1.0 - e * wp.cos(anomaly))
    x = a * (wp.cos(anomaly) - e)
    y = a * wp.sqrt(1.0 - e * e) * wp.sin(anomaly)
    turn = wp.radians(perigee[i])
    #? place
    px = wp.cos(turn) * x - wp.sin(turn) * y
    py = wp.sin(turn) * x + wp.cos(turn) * y
    position[i] = wp.vec2(px, py)
    #|
    c = wp.cos(turn)
    s = wp.sin(turn)
    position[i] = wp.mat22(c, -s, s, c) * wp.vec2(x, y)
    #.
    r = wp.length(wp.vec2(x, y))
    # energy of the orbit
    speed[i] = wp.sqrt(gravity * (2.0 / r - 1.0 / a))
    angle = (wp.atan2(y, x) + turn) / two_pi
    azimuth[i] = angle - wp.floor(angle)
    if r < height:
        wp.atomic_add(num_low, 0, 1)

def reference():
    """The anomaly by bisection, the place by the equation of the ellipse."""
    for i in range(n):
        e = eccentricity[i]
        w = 2.0 * math.pi / period[i]
        a = (gravity / w**2.0) ** (1.0 / 3.0)
        m = w * time
        lo = 0.0
        hi = 2.0 * math.pi
        for k in range(50):
            mid = 0.5 * (lo + hi)
            if mid - e * math.sin(mid) < m:
                lo = mid
            else:
                hi = mid
        nu = 2.0 * math.atan2(math.sqrt(1.0 + e) * math.sin(lo / 2.0), math.sqrt(1.0 - e) * math.cos(lo / 2.0))
        r = a * (1.0 - e * e) / (1.0 + e * math.cos(nu))
        way = nu + perigee[i] * math.pi / 180.0
        position[i] = np.array([r * math.cos(way), r * math.sin(way)])
        h = math.sqrt(gravity * a * (1.0 - e * e))
        speed[i] = gravity / h * math.sqrt(1.0 + e * e + 2.0 * e * math.cos(nu))
        azimuth[i] = way / (2.0 * math.pi) - math.floor(way / (2.0 * math.pi))
        if r < height:
            num_low[0] = num_low[0] + 1

# === map_projection
# source: the Mercator and the sinusoidal projection, and great circles (Snyder 1987)
# task: project places on a sphere to two maps, find their map tiles, and measure their distances from a centre
# about: Tiles have eight columns and rows, counted from the left and from the top of a square Mercator map.
# domain: geometry
# weight: 4
# split: validation
# sizes: n = 1 7 71 300
# - longitude: float[n] uniform(-179.0, 179.0); longitudes [deg]
# - latitude: float[n] uniform(-80.0, 80.0); latitudes [deg]
# - mercator: vec2[n] zeros; places on the Mercator map, in radii
# - sinusoid: vec2[n] zeros; places on the sinusoidal map, in radii
# - tile: vec2i[n] zeros; column and row of the tile
# - distance: float[n] zeros; distances from the centre [km]
# - tile_count: int[8, 8] zeros; places in each tile, row by row
# - center_lon: float = 10.0; longitude of the centre [deg]
# - center_lat: float = 50.0; latitude of the centre [deg]
# - radius: float = 6371.0; radius of the sphere [km]
@kernel[n] elementwise map, histogram count, scatter add
def project_places():
    """Both maps, the tile and the distance."""
    i = wp.tid()
    guard i < n
    pi = 3.141592653589793
    lon = wp.radians(longitude[i])
    lat = wp.radians(latitude[i])
    #? mercator
    y = wp.log(wp.tan(0.25 * pi + 0.5 * lat))
    #|
    # inverse hyperbolic sine of the tangent
    t = wp.tan(lat)
    y = wp.sign(t) * wp.log(wp.abs(t) + wp.sqrt(1.0 + t * t))
    #.
    mercator[i] = wp.vec2(lon, y)
    sinusoid[i] = wp.vec2(lon * wp.cos(lat), lat)
    column = wp.clamp(int(wp.floor(4.0 * (lon / pi + 1.0))), 0, 7)
    row = wp.clamp(int(wp.floor(4.0 * (1.0 - y / pi))), 0, 7)
    tile[i] = wp.vec2i(column, row)
    wp.atomic_add(tile_count, row, column, 1)
    # the haversine of the angle between both places
    a = wp.sin(0.5 * (lat - wp.radians(center_lat)))
    b = wp.sin(0.5 * (lon - wp.radians(center_lon)))
    h = a * a + wp.cos(lat) * wp.cos(wp.radians(center_lat)) * b * b
    distance[i] = 2.0 * radius * wp.asin(wp.sqrt(h))

def reference():
    for i in range(n):
        x = longitude[i] * math.pi / 180.0
        p = latitude[i] * math.pi / 180.0
        y = 0.5 * math.log((1.0 + math.sin(p)) / (1.0 - math.sin(p)))
        mercator[i] = np.array([x, y])
        sinusoid[i] = np.array([math.cos(p) * x, p])
        column = 0
        row = 0
        for k in range(7):
            if longitude[i] / 45.0 + 4.0 >= float(k + 1):
                column = column + 1
            if 4.0 - 4.0 * y / math.pi >= float(k + 1):
                row = row + 1
        tile[i][0] = column
        tile[i][1] = row
        tile_count[row, column] = tile_count[row, column] + 1
        c = center_lat * math.pi / 180.0
        d = x - center_lon * math.pi / 180.0
        ux = math.cos(p) * math.sin(d)
        uy = math.cos(c) * math.sin(p) - math.sin(c) * math.cos(p) * math.cos(d)
        uz = math.sin(c) * math.sin(p) + math.cos(c) * math.cos(p) * math.cos(d)
        distance[i] = radius * math.atan2(math.sqrt(ux * ux + uy * uy), uz)

# === sound_levels
# source: sound levels in octave bands and A-weighting (IEC 61672)
# task: turn pressures in frequency bands into weighted sound levels and add them up over the bands of each channel
# about: Octaves are counted from 1000 Hz.
# domain: signal
# weight: 8
# sizes: num_channels = 1 5 18 40; num_bands = 2 3 4 8
# - pressure: float[num_channels, num_bands] uniform(0.02, 0.2); effective pressures [Pa]
# - frequency: float[num_bands] uniform(60.0, 8000.0); middle frequencies of the bands [Hz]
# - level: float[num_channels, num_bands] zeros; weighted levels [dB]
# - octave: int[num_bands] zeros; octaves above 1000 Hz, rounded
# - total: float[num_channels] zeros; levels of all bands together [dB]
# - loud: int[1] zeros; channels above the limit
# - quiet: float = 0.00002; threshold of hearing [Pa]
# - limit: float = 75.0; level of loud channels [dB]
@func
def weighting(f: float) -> float:
    """A-weighting of a frequency, without the constant that makes it 0 dB at 1000 Hz."""
    f2 = f * f
    ratio = f / 12194.0
    return f2 * f2 / ((f2 + 424.36) * wp.sqrt((f2 + 11599.29) * (f2 + 544496.4)) * (1.0 + ratio * ratio))

@kernel[num_channels, num_bands] elementwise map, index unflatten
def band_levels():
    """Twenty times the decimal logarithm."""
    grid c, b
    guard c < num_channels and b < num_bands
    let p = pressure[c, b]
    #? level
    level[c, b] = 20.0 * wp.log10(p / quiet) + 20.0 * wp.log10(weighting(frequency[b])) + 2.0
    #|
    level[c, b] = 20.0 * wp.log10(p / quiet * weighting(frequency[b])) + 2.0
    #.
    if c == 0:
        octave[b] = int(wp.rint(wp.log2(frequency[b] / 1000.0)))

@kernel[num_channels] loop reduction, atomic counter
def channel_levels():
    """Add up powers."""
    c = wp.tid()
    guard c < num_channels
    power = float(0.0)
    for b in range(num_bands):
        power += wp.pow(10.0, 0.1 * level[c, b])
    total[c] = 10.0 * wp.log10(power)
    if total[c] > limit:
        wp.atomic_add(loud, 0, 1)

def reference():
    for b in range(num_bands):
        octave[b] = -6
        for k in range(12):
            if frequency[b] >= 1000.0 * 2.0 ** (float(k) - 5.5):
                octave[b] = k - 5
    for c in range(num_channels):
        power = 0.0
        for b in range(num_bands):
            f = frequency[b]
            a = 12194.0**2.0 * f**4.0
            a = a / ((f**2.0 + 20.6**2.0) * (f**2.0 + 12194.0**2.0))
            a = a / math.sqrt((f**2.0 + 107.7**2.0) * (f**2.0 + 737.9**2.0))
            p = pressure[c, b]
            level[c, b] = 20.0 * (math.log(p) - math.log(quiet) + math.log(a)) / math.log(10.0) + 2.0
            power = power + math.exp(math.log(10.0) * level[c, b] / 10.0)
        total[c] = 10.0 * math.log(power) / math.log(10.0)
        if total[c] > limit:
            loud[0] = loud[0] + 1

# === fixed_point_quantize
# source: fixed-point arithmetic with saturation (Oppenheim and Schafer 2010, sec. 6.7)
# task: quantise samples to fixed-point numbers with rounding and saturation, and collect statistics of the errors
# about: Rounding is to the nearest, halves to the even one. Integer parts are cut towards zero.
# domain: signal
# weight: 5
# sizes: n = 1 7 71 400
# - samples: float[n] uniform(-6.0, 6.0); samples
# - codes: int[n] zeros; fixed-point numbers in units of a step
# - whole: int[n] zeros; integer parts of the samples
# - rest: float[n] zeros; fractions of the samples, with their sign
# - saturated: int[1] zeros; samples beyond the range
# - worst: float[1] zeros; largest error of the others
# - signs: int[3] zeros; negative, zero and positive codes
# - step_size: float = 0.25; distance of the fixed-point numbers
# - most: int = 16; largest code; the smallest is the negative of it
@kernel[n] elementwise map, select threshold, atomic min max, histogram count
def quantize():
    """Round, saturate and split."""
    i = wp.tid()
    guard i < n
    x = samples[i]
    rounded = wp.rint(x / step_size)
    #? split
    whole[i] = int(wp.trunc(x))
    rest[i] = wp.frac(x)
    #|
    let cut = wp.trunc(x)
    whole[i] = int(cut)
    rest[i] = x - cut
    #.
    code = wp.clamp(int(rounded), -most, most)
    codes[i] = code
    if wp.abs(rounded) > float(most):
        wp.atomic_add(saturated, 0, 1)
    else:
        wp.atomic_max(worst, 0, wp.abs(x - float(code) * step_size))
    {{wp.atomic_add(signs, int(wp.sign(float(code))) + 1 - int(wp.where(code == 0, 1, 0)), 1) || wp.atomic_add(signs, wp.where(code < 0, 0, wp.where(code == 0, 1, 2)), 1)}}

def reference():
    for i in range(n):
        x = samples[i]
        size = abs(x)
        whole[i] = int(size)
        rest[i] = size - float(int(size))
        low = math.floor(size / step_size)
        up = size / step_size - low
        code = int(low)
        if up > 0.5 or (up == 0.5 and code % 2 == 1):
            code = code + 1
        if code > most:
            code = most
            saturated[0] = saturated[0] + 1
        else:
            worst[0] = max(worst[0], abs(size - float(code) * step_size))
        if x < 0.0:
            whole[i] = -whole[i]
            rest[i] = -rest[i]
            code = -code
        codes[i] = code
        if code == 0:
            signs[1] = signs[1] + 1
        elif code > 0:
            signs[2] = signs[2] + 1
        else:
            signs[0] = signs[0] + 1

# === flag_words
# source: sets as words of bits, changed by atomic operations (Warren 2012, ch. 5)
# task: mark listed elements in words of bits, clear others, and count the marked elements of each word
# about: A word has sixteen elements. Setting comes before clearing.
# domain: generic
# weight: 8
# sizes: num_words = 1 3 9 32; num_set = 2 9 75 300; num_cleared = 1 7 71 200
# - words: int[num_words] uniform(0, 65536); words of bits, changed in place
# - added: int[num_set] index(16); bits that are set
# - added_word: int[num_set] index(num_words); words in which they are set
# - dropped: int[num_cleared] index(16); bits that are cleared
# - dropped_word: int[num_cleared] index(num_words); words in which they are cleared
# - counts: int[num_words] zeros; marked elements of each word
# - lowest: int[num_words] full(-1); lowest marked element of each word, -1 for none
# - parity: int[1] zeros; exclusive or of all words
@kernel[num_set] bit tricks hash morton, scatter, lock or cas
def set_bits():
    """Two threads may set bits of one word."""
    i = wp.tid()
    guard i < num_set
    wp.atomic_or(words, added_word[i], 1 << added[i])

@kernel[num_cleared] bit tricks hash morton, scatter, lock or cas
def clear_bits():
    """The complement of one bit."""
    i = wp.tid()
    guard i < num_cleared
    {{wp.atomic_and(words, dropped_word[i], ~(1 << dropped[i])) || wp.atomic_and(words, dropped_word[i], 65535 - (1 << dropped[i]))}}

@kernel[num_words] bit tricks hash morton, atomic reduction
def count_words():
    """Count, find the lowest, and combine."""
    w = wp.tid()
    guard w < num_words
    word = words[w]
    counts[w] = wp.bit_count(word)
    #? lowest
    if word != 0:
        # bits below the lowest one
        lowest[w] = wp.bit_count((word & -word) - 1)
    #|
    for b in range(16):
        if lowest[w] < 0 and (word >> b) & 1 == 1:
            lowest[w] = b
    #.
    wp.atomic_xor(parity, 0, word)

def reference():
    """Element by element; the exclusive or counts the words with a bit."""
    place = 1
    for b in range(16):
        odd = 0
        for w in range(num_words):
            on = (words[w] // place) % 2
            old = on
            for i in range(num_set):
                if added_word[i] == w and added[i] == b:
                    on = 1
            for i in range(num_cleared):
                if dropped_word[i] == w and dropped[i] == b:
                    on = 0
            words[w] = words[w] + (on - old) * place
            counts[w] = counts[w] + on
            if on == 1 and lowest[w] < 0:
                lowest[w] = b
            odd = (odd + on) % 2
        parity[0] = parity[0] + odd * place
        place = 2 * place
