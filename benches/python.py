"""What does a call from Python cost? Run it with a Python that has the package (`make wheel`, then `pip install out/wheels/*.whl`):

    python benches/python.py
    python benches/python.py --warp     # Warp alone, for comparison

Import and first launch are the least of 8 processes each, a call is the least mean of 20 rounds of 2,000.
"""

import os
import subprocess
import sys
import tempfile
import time

begun = time.perf_counter()
import kc

imported = time.perf_counter()
import numpy as np


@kc.kernel
def multiply_add(
    x: kc.array(dtype=float), y: kc.array(dtype=float), z: kc.array(dtype=float), out: kc.array(dtype=float)
):
    i = kc.tid()
    out[i] = x[i] * y[i] + z[i]


def least(call, rounds=20, calls=2000):
    """Seconds of a call."""
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        best = min(best, (time.perf_counter() - start) / calls)
    return best


def start():
    """Seconds of the import, and of the first launch, in this process."""
    arrays = [np.ones(1000, np.float32) for _ in range(4)]
    start = time.perf_counter()
    multiply_add(1000, *arrays)
    first = time.perf_counter() - start
    assert (arrays[3] == 2.0).all()
    return imported - begun, first


def starts(processes=8):
    """The least of several processes: import, first launch without and with code on the disk."""
    found = {False: [], True: []}
    with tempfile.TemporaryDirectory() as folder:
        for n in range(2 * processes):
            cached = n % 2 == 1
            environment = dict(os.environ, KC_CACHE_DIR=os.path.join(folder, str(n // 2)))
            done = subprocess.run([sys.executable, __file__, "--start"], capture_output=True, text=True, check=True, env=environment)
            found[cached].append([float(number) for number in done.stdout.split()])
    best = {cached: [min(column) for column in zip(*rows)] for cached, rows in found.items()}
    print(f"import kc                          {1e3 * min(best[False][0], best[True][0]):8.1f} ms")
    print(f"first launch, which compiles       {1e3 * best[False][1]:8.1f} ms")
    print(f"first launch, code on the disk     {1e3 * best[True][1]:8.1f} ms")


def main():
    if "--start" in sys.argv:
        print(*start())
        return
    if "--warp" in sys.argv:
        with_warp([np.ones(1000, np.float32) for _ in range(4)], "Warp")
        return
    starts()
    arrays = [np.ones(1000, np.float32) for _ in range(4)]
    multiply_add(1000, *arrays)
    print(f"call, 4 NumPy arrays, 1000 threads {1e6 * least(lambda: multiply_add(1000, *arrays)):8.2f} us")
    seed = {"out": 1.0}
    gradient = least(lambda: multiply_add.grad(1000, *arrays, grads=seed), calls=200)
    print(f"the same with its gradient         {1e6 * gradient:8.2f} us")
    tangents = {"x": arrays[0]}
    print(f"the same with a tangent            {1e6 * least(lambda: multiply_add.jvp(1000, *arrays, tangents=tangents), calls=200):8.2f} us")

    def taped():
        with kc.Tape() as tape:
            multiply_add(1000, *arrays)
        tape.backward(grads=[(arrays[3], 1.0)])

    print(f"a tape with one launch, backward   {1e6 * least(taped, calls=100):8.2f} us")
    with_torch()
    with_jax()
    with_warp(arrays)
    threads()


def threads():
    """Sizes around those where a second core begins to help."""
    for n in (1, 1000, 4096, 8192, 16384, 65536, 1048576):
        arrays = [np.ones(n, np.float32) for _ in range(4)]
        call = least(lambda: multiply_add(n, *arrays), calls=max(20, min(2000, 2_000_000 // n)))
        print(f"call, {n:8} threads             {1e6 * call:8.2f} us")


def with_torch():
    """Where there is PyTorch."""
    try:
        import torch
    except ImportError:
        return
    tensors = [torch.ones(1000, requires_grad=True) for _ in range(3)]
    f = kc.torch.function(multiply_add, outputs=["out"])
    print(f"PyTorch function, forward          {1e6 * least(lambda: f(1000, *tensors), calls=200):8.2f} us")
    print(f"the same and backward              {1e6 * least(lambda: f(1000, *tensors).sum().backward(), calls=100):8.2f} us")


def with_jax():
    """Where there is JAX: a launch by itself, in a compiled program, and in the loop of one; JAX's own code for it."""
    try:
        import jax
        import jax.numpy as jnp
    except ImportError:
        return
    f = kc.jax.function(multiply_add, outputs=["out"])
    arrays = [jnp.ones(1000) for _ in range(3)]
    own = jax.jit(lambda x, y, z: x * y + z)
    compiled = jax.jit(lambda x, y, z: f(1000, x, y, z))
    gradient = jax.jit(jax.grad(lambda x, y, z: f(1000, x, y, z).sum()))
    tangent = jax.jit(lambda x, y, z: jax.jvp(lambda x: f(1000, x, y, z), (x,), (y,))[1])
    turns = jax.jit(lambda x, y, z: jax.lax.fori_loop(0, 1000, lambda _, x: f(1000, x, y, z), x))
    for what, call, scale in [
        ("JAX function", lambda: f(1000, *arrays), 1e6),
        ("the same in a compiled program", lambda: compiled(*arrays), 1e6),
        ("the same by JAX alone", lambda: own(*arrays), 1e6),
        ("its gradient, compiled", lambda: gradient(*arrays), 1e6),
        ("its tangent, compiled", lambda: tangent(*arrays), 1e6),
        ("a turn of a compiled loop", lambda: turns(*arrays), 1e3),
    ]:
        call().block_until_ready()
        print(f"{what:34} {scale * least(lambda: call().block_until_ready(), calls=50):8.2f} us")


def with_warp(arrays, by="kc"):
    """`wp.launch` of `kc.warp`, and where there is Warp, its own with kc's code."""
    if by == "kc":
        import kc.warp

        given = [kc.warp.array(x, dtype=float) for x in arrays]
        launch = least(lambda: kc.warp.launch(multiply_add, dim=1000, inputs=given), calls=500)
        print(f"kc.warp.launch, 4 arrays           {1e6 * launch:8.2f} us")
    try:
        import warp as wp
    except ImportError:
        return
    wp.config.log_level = wp.LOG_ERROR
    assert by == "Warp" or kc.accelerate()
    launched = [wp.array(x, dtype=float, requires_grad=True, device="cpu") for x in arrays]
    kernel = warp_kernel(wp)
    call = lambda: wp.launch(kernel, dim=1000, inputs=launched, device="cpu")
    call()
    print(f"wp.launch of Warp, by {by:4}         {1e6 * least(call, calls=500):8.2f} us")
    gradients = [x.grad for x in launched]
    adjoint = lambda: wp.launch(kernel, dim=1000, inputs=launched, adj_inputs=gradients, adjoint=True, device="cpu")
    print(f"its adjoint launch                 {1e6 * least(adjoint, calls=500):8.2f} us")

    def taped():
        with wp.Tape() as tape:
            call()
        tape.backward(grads={})

    print(f"wp.Tape, one launch and backward   {1e6 * least(taped, calls=100):8.2f} us")


def warp_kernel(wp):
    @wp.kernel
    def multiply_add(
        x: wp.array(dtype=float), y: wp.array(dtype=float), z: wp.array(dtype=float), out: wp.array(dtype=float)
    ):
        i = wp.tid()
        out[i] = x[i] * y[i] + z[i]

    return multiply_add


if __name__ == "__main__":
    main()
