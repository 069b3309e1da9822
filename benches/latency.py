"""How long does kc take, as a whole process?

    latency.py [--kc target/release/kc] [--reps 20]

Prints a table: processor time (user + system, so that a busy machine disturbs little), wall time and peak memory of one
process, median over the repetitions, each with a fresh output folder. The limits are the project's own goals for the
static release; a row above its limit is marked, and the exit status is 1.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

SPRING = '''
@wp.kernel
def spring_{n}(
    x: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    ends: wp.array2d(dtype=int),
    rest: wp.array(dtype=float),
    stiffness: float,
    damping: float,
    f: wp.array(dtype=wp.vec3),
):
    s = wp.tid()
    a = ends[s, 0]
    b = ends[s, 1]
    d = x[a] - x[b]
    l = wp.length(d)
    n = d / l
    m = stiffness * (l - rest[s]) + damping * wp.dot(v[a] - v[b], n)
    wp.atomic_sub(f, a, n * m)
    wp.atomic_add(f, b, n * m)
'''

HEAT = '''
@wp.kernel
def heat_{n}(t: wp.array2d(dtype=float), k: float, out: wp.array2d(dtype=float)):
    i, j = wp.tid()
    if i > 0 and j > 0 and i < t.shape[0] - 1 and j < t.shape[1] - 1:
        around = t[i - 1, j] + t[i + 1, j] + t[i, j - 1] + t[i, j + 1]
        out[i, j] = t[i, j] + k * (around - 4.0 * t[i, j])
    else:
        out[i, j] = t[i, j]
'''

PENDULUM = '''
@wp.kernel
def pendulum_{n}(angle: wp.array(dtype=float), speed: wp.array(dtype=float), steps: int, dt: float):
    i = wp.tid()
    a = angle[i]
    w = speed[i]
    for k in range(steps):
        w = w - wp.sin(a) * dt
        a = a + w * dt
    angle[i] = a
    speed[i] = w * wp.exp(-0.01 * dt)
'''

ROWS = '''
@wp.kernel
def rows_{n}(m: wp.array(dtype=wp.mat33), p: wp.array(dtype=wp.vec3), n: int, out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    total = wp.vec3(0.0, 0.0, 0.0)
    for k in range(n):
        q = m[k] * p[(i + k) % p.shape[0]]
        if wp.dot(q, q) > 1.0:
            q = wp.normalize(q)
        total += q
    out[i] = total
'''

# 40 built-ins of all kinds, most of them with bodies of their own; the library is parsed as far as
# they need it.
LIBRARY = """import warp as wp

@wp.kernel
def library(x: wp.array(dtype=float), v: wp.array(dtype=wp.vec3), q: wp.array(dtype=wp.quat), m: wp.array(dtype=wp.mat33)):
    i = wp.tid()
    state = wp.rand_init(7, i)
    a = x[i]
    s = wp.sin(a) + wp.cos(a) + wp.tan(a) + wp.exp(a) + wp.log(a) + wp.sqrt(a) + wp.tanh(a) + wp.erf(a) + wp.cbrt(a)
    s += wp.pow(a, 3.0) + wp.atan2(a, s) + wp.clamp(a, 0.0, 1.0) + wp.lerp(a, s, 0.5) + wp.smoothstep(0.0, 1.0, a)
    s += wp.min(a, s) + wp.max(a, s) + wp.abs(a) + wp.floor(a) + wp.sign(a) + wp.where(a > 0.0, a, s)
    s += wp.randf(state) + wp.randn(state) + wp.noise(state, v[i]) + wp.pnoise(state, a, 4)
    w = wp.normalize(v[i]) + wp.cross(v[i], wp.curlnoise(state, v[i])) + wp.quat_rotate(wp.normalize(q[i]), v[i])
    u, d, t = wp.svd3(m[i])
    n = wp.inverse(m[i]) + wp.transpose(u) + wp.outer(w, d) + wp.diag(d) + wp.quat_to_matrix(q[i])
    x[i] = s + wp.dot(w, d) + wp.length(w) + wp.determinant(n) + wp.trace(t) + wp.ddot(n, t)
    v[i] = w + wp.sample_unit_sphere(state)
    q[i] = wp.quat_slerp(wp.quat_from_axis_angle(w, a), q[i], 0.5)
"""


def program(count):
    kinds = [SPRING, HEAT, PENDULUM, ROWS]
    return "import warp as wp\n" + "".join(kinds[n % len(kinds)].format(n=n) for n in range(count))


def measure(command, reps):
    rows = []
    for _ in range(reps):
        with tempfile.TemporaryDirectory() as out:
            start = time.perf_counter()
            child = subprocess.Popen([a.replace("OUT", out) for a in command], stdout=subprocess.DEVNULL,
                                     stderr=subprocess.DEVNULL)
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = status
            if status != 0:
                sys.exit(f"failed: {' '.join(command)}")
            wall = time.perf_counter() - start
        rows.append(((usage.ru_utime + usage.ru_stime) * 1e3, wall * 1e3, usage.ru_maxrss / 1024))
    return [statistics.median(column) for column in zip(*rows)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kc", default="target/release/kc")
    parser.add_argument("--reps", type=int, default=20)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        one, fifty, bulk, many = (pathlib.Path(folder, name) for name in ("one.py", "fifty.py", "bulk.py", "library.py"))
        many.write_text(LIBRARY)
        one.write_text(program(1))
        fifty.write_text(program(50))
        bulk.write_text(program(400))
        ptx = [args.kc, "compile", "-o", "OUT", "--emit"]
        # Name, command, kernels, limits in ms of processor time per kernel and in MB.
        rows = [
            ("kc --version", [args.kc, "--version"], 1, 6, None),
            ("check, 1 kernel of 20 lines", [args.kc, "check", "--format", "short", str(one)], 1, None, None),
            ("check, 1 kernel of 40 built-ins", [args.kc, "check", "--format", "short", str(many)], 1, None, None),
            ("PTX, 1 kernel, full", [*ptx, "ptx", str(one)], 1, 50, 80),
            ("PTX, 1 kernel, lean", [*ptx, "ptx", "--opt", "lean", str(one)], 1, None, None),
            ("CUDA text, 1 kernel", [*ptx, "cuda", str(one)], 1, None, None),
            ("PTX, 50 kernels, full", [*ptx, "ptx", str(fifty)], 50, 12, None),
            ("PTX, 50 kernels, lean", [*ptx, "ptx", "--opt", "lean", str(fifty)], 50, None, None),
        ]
        print(f"{'':32} {'CPU ms':>9} {'a kernel':>9} {'wall ms':>9} {'peak MB':>9}  goal")
        missed, took = False, {}
        for name, command, kernels, cpu_limit, memory_limit in rows:
            cpu, wall, memory = measure(command, max(3, args.reps // (4 if kernels > 1 else 1)))
            took[name] = cpu
            goals = [f"<= {cpu_limit} ms" if cpu_limit else "", f"<= {memory_limit} MB" if memory_limit else ""]
            above = (cpu_limit and cpu / kernels > cpu_limit) or (memory_limit and memory > memory_limit)
            missed = missed or bool(above)
            goal = ", ".join(filter(None, goals)) + ("  MISSED" if above else "")
            print(f"{name:32} {cpu:9.1f} {cpu / kernels:9.1f} {wall:9.1f} {memory:9.1f}  {goal}")
        start = took["check, 1 kernel of 20 lines"] - took["kc --version"]
        used = (took["check, 1 kernel of 40 built-ins"] - took["check, 1 kernel of 20 lines"]) / 40
        _, wall, _ = measure([*ptx, "ptx", "--opt", "lean", str(bulk)], 5)
        rate = 400 / wall * 1e3
        missed = missed or rate < 600
        print(f"in bulk: {rate:.0f} kernels/s forward and backward, lean, on {os.cpu_count()} cores, goal 600{'  MISSED' if rate < 600 else ''}")
        print(f"the library: {start:.1f} ms to start, goal <= 5 ms{'  MISSED' if start > 5 else ''}; {used:.2f} ms for each built-in used")
    return int(missed or start > 5)


if __name__ == "__main__":
    sys.exit(main())
