# === monte_carlo_volume
# source: hit-or-miss Monte Carlo
# task: draw random heights, check their range and count the points in a ball
# domain: generic
# weight: 6
# sizes: num_samples = 1 9 75 512
# - inside: int[num_samples] zeros; 1 for points in the ball
# - jitter: float[num_samples] zeros; random height of each point above its cell, at most 1
# - points: vec3[num_samples] uniform(-1.0, 1.0); points of the cube
# - hits: int[1] zeros; points in the ball
# - outside_range: int[1] zeros; heights that are not between 0 and 1
# - radius: float = 0.9; radius of the ball
# - seed: int = 42; start of the random numbers
@kernel[num_samples] random sampling
def draw_jitter():
    """Uniform random heights."""
    i = wp.tid()
    guard i < num_samples
    state = wp.rand_init(seed, i)
    {{jitter[i] = wp.randf(state) || jitter[i] = wp.randf(state, 0.0, 1.0)}}

@kernel[num_samples] random sampling
def check_range():
    """Count the heights that no generator should give."""
    i = wp.tid()
    guard i < num_samples
    let h = jitter[i]
    if h < 0.0 or h > 1.0:
        wp.atomic_add(outside_range, 0, 1)

@kernel[num_samples] distance threshold
def test_points():
    """Flag and count the points in the ball."""
    i = wp.tid()
    guard i < num_samples
    let p = points[i]
    if wp.dot(p, p) < radius * radius:
        inside[i] = 1
        wp.atomic_add(hits, 0, 1)

def reference():
    """No height is out of range, whatever the random numbers are."""
    outside_range[0] = 0
    for i in range(num_samples):
        if np.linalg.norm(points[i]) < radius:
            inside[i] = 1
            hits[0] = hits[0] + 1

# === random_walks
# source: random walk on a lattice (Polya 1921)
# task: walk on a ring of sites with transition choices from a table of random bits
# domain: generic
# weight: 7
# split: test
# sizes: num_walkers = 1 7 71 200; num_sites = 3 5 16 64; num_steps = 2 4 8 16
# - coin: int[num_walkers, num_steps] uniform(0, 2); 1 for a step to the right
# - start: int[num_walkers] index(num_sites); first site of each walker
# - site: int[num_walkers] zeros; last site of each walker
# - visits: int[num_sites] zeros; visits of each site
@kernel[num_walkers] pointer chase or walk, histogram count
def walk():
    """Step left or right on the ring and count visits."""
    w = wp.tid()
    guard w < num_walkers
    x = start[w]
    for t in range(num_steps):
        #? move
        if coin[w, t] == 1:
            x = (x + 1) % num_sites
        else:
            x = (x + num_sites - 1) % num_sites
        #|
        # two times the coin minus one is the direction
        x = (x + 2 * coin[w, t] - 1 + num_sites) % num_sites
        #.
        wp.atomic_add(visits, x, 1)
    site[w] = x

def reference():
    for w in range(num_walkers):
        right = 0
        for t in range(num_steps):
            right = right + coin[w, t]
            x = (start[w] + 2 * right - t - 1 + num_steps * num_sites) % num_sites
            visits[x] = visits[x] + 1
            site[w] = x

# === noise_terrain
# source: fractal sums of value noise on an integer lattice (Perlin 1985; Ebert et al. 2003)
# task: build a height field from octaves of lattice noise
# domain: graphics
# weight: 7
# split: validation
# sizes: ny = 1 4 8 24; nx = 2 5 9 32; octaves = 1 2 3 4; lattice = 16 16 16 16
# - random_table: float[lattice] uniform(0.0, 1.0); random numbers of the lattice
# - height: float[ny, nx] zeros; height field
# - frequency: float = 0.3; frequency of the first octave
# - gain: float = 0.5; amplitude from octave to octave
@kernel[ny, nx] noise field, gather
def terrain():
    """Sum octaves of one-dimensional noise along the diagonal."""
    grid i, j
    guard i < ny and j < nx
    h = float(0.0)
    amplitude = float(1.0)
    f = frequency
    for octave in range(octaves):
        x = f * float(i + j)
        cell = int(wp.floor(x))
        t = x - float(cell)
        a = random_table[(cell + 5 * octave) % lattice]
        b = random_table[(cell + 1 + 5 * octave) % lattice]
        # smooth step
        {{h += amplitude * wp.lerp(a, b, t * t * (3.0 - 2.0 * t)) || h += amplitude * (a + (b - a) * t * t * (3.0 - 2.0 * t))}}
        amplitude *= gain
        f *= 2.0
    height[i, j] = h

def reference():
    for i in range(ny):
        for j in range(nx):
            for octave in range(octaves):
                x = frequency * float(i + j) * 2.0 ** float(octave)
                cell = int(x)
                t = x - float(cell)
                s = 3.0 * t * t - 2.0 * t * t * t
                a = random_table[(cell + 5 * octave) % lattice]
                b = random_table[(cell + 1 + 5 * octave) % lattice]
                height[i, j] = height[i, j] + gain ** float(octave) * ((1.0 - s) * a + s * b)

# === newton_roots
# source: Newton's method for x^3 - a x - b = 0 (Press et al., ch. 9)
# task: find the largest real roots of cubic equations with Newton's method
# domain: generic
# weight: 4
# split: test
# sizes: n = 1 7 71 300
# - coeff_a: float[n] uniform(0.5, 2.0); linear coefficients
# - coeff_b: float[n] uniform(2.0, 4.0); constants
# - root: float[n] zeros; largest real root
# - max_iter: int = 30; iterations at most
# - tolerance: float = 1.0e-5; step that ends the iteration
@kernel[n] newton or fixed point, elementwise map
def solve_cubic():
    """Start right of the largest root and iterate."""
    i = wp.tid()
    guard i < n
    a = coeff_a[i]
    b = coeff_b[i]
    # all roots lie below this
    x = 1.0 + a + b
    dx = x
    count = int(0)
    while wp.abs(dx) > tolerance and count < max_iter:
        f = x * x * x - a * x - b
        dx = f / (3.0 * x * x - a)
        x -= dx
        count += 1
    root[i] = x

def reference():
    """Bisection."""
    for i in range(n):
        lo = 0.9
        hi = 8.0
        for k in range(60):
            mid = 0.5 * (lo + hi)
            if mid**3.0 - coeff_a[i] * mid - coeff_b[i] > 0.0:
                hi = mid
            else:
                lo = mid
        root[i] = lo

# === ou_paths
# source: Euler-Maruyama for the Ornstein-Uhlenbeck process (Kloeden and Platen 1992)
# task: simulate mean-reverting paths from given normal increments and average the ends
# domain: generic
# weight: 3
# split: test
# sizes: num_paths = 1 7 71 256; num_steps = 2 4 8 32
# - noise: float[num_steps, num_paths] normal(0.0, 1.0); increments with unit variance
# - x0: float[num_paths] uniform(-1.0, 1.0); start of each path
# - final: float[num_paths] zeros; end of each path
# - mean: float[1] zeros; mean of the ends
# - theta: float = 0.7; rate of reversion
# - sigma: float = 0.3; volatility
# - dt: float = 0.05; time step
@kernel[num_paths] loop reduction
def simulate_paths():
    """One path per thread."""
    p = wp.tid()
    guard p < num_paths
    x = x0[p]
    for t in range(num_steps):
        let dw = wp.sqrt(dt) * noise[t, p]
        x += -theta * x * dt + sigma * dw
    final[p] = x

@kernel[num_paths] atomic reduction
def mean_of_ends():
    """Average over the paths."""
    p = wp.tid()
    guard p < num_paths
    wp.atomic_add(mean, 0, final[p] / float(num_paths))

def reference():
    for p in range(num_paths):
        x = x0[p]
        for t in range(num_steps):
            x = (1.0 - theta * dt) * x + sigma * math.sqrt(dt) * noise[t, p]
        final[p] = x
        mean[0] = mean[0] + x / float(num_paths)
