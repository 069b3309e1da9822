"""Launches of Warp on a GPU run kc's code after `kc.accelerate()`; what kc refuses stays with Warp."""

import json
import os
import subprocess

import numpy as np
import pytest
from conftest import KC, ROOT, line_of

WARP = ROOT / ".env-warp/bin/python"
#: Warp's kernels are compiled once for all tests here.
START = """
import sys
import kc
import numpy as np
import warp as wp

wp.config.log_level = wp.LOG_ERROR
wp.config.kernel_cache_dir = {cache!r}
kc.accelerate()
wp.set_device("cuda:0")


def told(kernel):
    return [found for found in kc.report()["kernels"] if found["kernel"].split(".")[-1] == kernel]


"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return str(tmp_path_factory.mktemp("cache"))


@pytest.fixture
def by_kc(gpu, cache):
    def run(text, *options, **variables):
        ran = gpu(START.format(cache=cache) + text, *options, python=WARP, PYTHONPATH=str(ROOT / "python"), **variables)
        assert ran.code == 0, ran.out + ran.said
        return ran.out.splitlines()

    return run


@pytest.fixture(scope="module")
def runs(tmp_path_factory, cache):
    folder = tmp_path_factory.mktemp("runs")
    program = ROOT / "python/tests/with_warp/programs.py"
    own = os.environ | {"PYTHONPATH": str(ROOT / "python"), "WARP_CACHE_PATH": cache}
    by_kc = ["-m", "kc", "run", "--report", "json", "--report-file", "report.json"]
    for name, more in (("warp.npz", []), ("kc.npz", by_kc)):
        command = [KC, "gpu", "--", str(WARP), *more, str(program), name, "cuda:0"]
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=900, env=own)
        # All threads of a block read in Warp's derivative of `tiled_total` what one of them sets to zero. kc's has no race.
        assert done.stderr.count("data-race)") == (name == "warp.npz"), done.stderr
        assert done.returncode == 0 or name == "warp.npz", done.stdout + done.stderr
    return dict(np.load(folder / "warp.npz")), dict(np.load(folder / "kc.npz")), json.loads((folder / "report.json").read_text())


def test_results_are_those_of_warp(runs):
    of_warp, of_kc, _ = runs
    assert of_warp.keys() == of_kc.keys() and len(of_warp) > 20
    # Warp's has the race, and what comes of it.
    of_warp["tiled_total.grad"] = np.repeat([[1.0], [2.0]], 32, axis=1)
    for name, expected in of_warp.items():
        np.testing.assert_allclose(of_kc[name], expected, rtol=2e-6, atol=1e-6, err_msg=name)


def test_nine_of_ten_launches_are_kcs_and_the_report_says_which(runs):
    kernels = runs[2]["kernels"]
    assert {kernel["device"] for kernel in kernels} == {"cuda:0"}
    found = {kernel["kernel"].split(".")[-1].split("__locals__")[-1]: kernel for kernel in kernels}
    assert found["chosen"]["by"] == "warp" and "native snippet" in found["chosen"]["reason"]
    assert (found["folded"]["launches"], found["folded"]["launches_by_warp"]) == (0, 1)
    assert (found["add"]["gradients"], found["add"]["gradients_by_warp"]) == (1, 1)
    assert found["tiled_total"]["gradients"] == found["loss_of"]["gradients"] == 1
    assert "overwrites" in found["square_in_place"]["gradient_reason"]
    by_kc = sum(kernel.get("launches", 0) for kernel in kernels)
    by_warp = sum(kernel.get("launches_by_warp", 1) for kernel in kernels)
    assert by_kc >= 9 * by_warp > 0, (by_kc, by_warp)


def test_all_of_the_other_program_but_its_mesh_runs_by_kc(tmp_path, cache):
    program = ROOT / "python/tests/without_gpu/warp_programs.py"
    report = tmp_path / "report.json"
    command = [KC, "gpu", "--", str(WARP), "-m", "kc", "run", "--report", "json", "--report-file", str(report), str(program), cache]
    own = os.environ | {"PYTHONPATH": str(ROOT / "python")}
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, env=own)
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and len(lines) == 15, done.stdout + done.stderr
    assert all(line.endswith("as on the cpu") for line in lines[:13]) and lines[13] == "thread 3 has 6", lines
    found = {(kernel["kernel"], kernel["device"]): kernel for kernel in json.loads(report.read_text())["kernels"]}
    assert all(kernel["by"] == "kc" for kernel in found.values())
    # On a stream of the program, in two graphs, and by tapes.
    assert found["loss", "cuda:0"]["launches"] == 5 and found["loss", "cuda:0"]["gradients"] == 2
    assert found["row_sums", "cuda:0"]["launches_by_warp"] == 0


REFUSED = """
@wp.func_native("return x * 2.0f;")
def twice(x: float) -> float: ...

@wp.kernel
def native(x: wp.array(dtype=float)):
    x[wp.tid()] = twice(x[wp.tid()])

@wp.kernel
def asks(mesh: wp.uint64, x: wp.array(dtype=float)):
    if mesh != wp.uint64(0):
        x[0] = wp.mesh_eval_position(mesh, 0, 0.0, 0.0)[0]
    x[wp.tid()] += 1.0

@wp.kernel
def few(x: wp.array(dtype=float)):
    x[wp.tid()] += 1.0

@wp.kernel(module="unique", module_options={{"mode": "debug"}})
def sure(x: wp.array(dtype=float)):
    assert x[wp.tid()] > 0.0
    x[wp.tid()] += 1.0

x = wp.ones(300, dtype=float)
wp.launch(native, 300, [x])
print(x.numpy().sum(), told("native")[0]["by"], told("native")[0]["reason"])
wp.launch(asks, 300, [wp.uint64(0), x])
print(x.numpy().sum(), told("asks")[0]["by"], told("asks")[0]["reason"])
wp.launch(few, 300, [x], max_blocks=1)
wp.launch(few, 300, [x])
print(x.numpy().sum(), told("few")[0]["launches"], told("few")[0]["launches_by_warp"])
wp.launch(sure, 300, [x])
print(x.numpy().sum(), told("sure")[0]["by"], told("sure")[0]["reason"])
"""


def test_what_only_warp_can_do_stays_with_it(by_kc):
    assert by_kc(REFUSED.replace("{{", "{").replace("}}", "}")) == [
        "600.0 warp `twice` is a native snippet",
        "900.0 warp `mesh_eval_position` asks what Warp has built on the GPU",
        "1500.0 1 1",
        "1800.0 warp Warp looks at assertions on the GPU (mode=debug)",
    ]


GRADIENTS = """
@wp.kernel
def error(x: wp.array(dtype=wp.vec3), target: wp.array(dtype=wp.vec3), loss: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(loss, 0, wp.length_sq(x[i] - target[i]))

x = wp.ones(10, dtype=wp.vec3, requires_grad=True)
target, loss = wp.zeros(10, dtype=wp.vec3), wp.zeros(1, dtype=float, requires_grad=True)
with wp.Tape() as tape:
    wp.launch(error, 10, [x, target], [loss])
tape.backward(loss)
print(x.grad.numpy().sum(), told("error")[0]["gradients"], told("error")[0]["gradients_by_warp"])

# A graph holds no memory of a run: `target` has no gradient.
x.grad.zero_()
with wp.ScopedCapture() as capture:
    tape.backward(loss)
wp.capture_launch(capture.graph)
print(x.grad.numpy().sum(), told("error")[0]["gradients"], told("error")[0]["gradients_by_warp"])

# Memory of the launches goes back, and kernels of a module that is loaded anew are others.
for turn in range(300):
    tape.zero()
    tape.backward(loss)
for turn in range(3):
    @wp.kernel(module="unique")
    def again(x: wp.array(dtype=wp.vec3)):
        x[wp.tid()] = x[wp.tid()] * wp.static(float(turn + 1))
    wp.launch(again, 10, [x])
print(x.numpy().sum(), sum(found["launches"] for found in told("again")))
"""


def test_gradients_of_arrays_that_have_none_and_in_graphs(by_kc):
    assert by_kc(GRADIENTS) == ["60.0 1 0", "60.0 1 1", "180.0 3"]


PLACES = """
@wp.kernel
def fill(value: float, x: wp.array2d(dtype=float)):
    i, j = wp.tid()
    x[i, j] = value

for device in ("cuda:1", "cuda:0"):
    stream = wp.Stream(device)
    x = wp.zeros((5, 8), dtype=float, device=device)
    wp.synchronize()
    wp.launch(fill, (5, 4), [2.0, x[:, ::2]], stream=stream)
    wp.synchronize_stream(stream)
    print(x.numpy().sum(), [(found["device"], found["launches"]) for found in told("fill")])
wp.launch(fill, (0, 4), [2.0, x])
wp.launch(fill, (5, 4), [2.0, x[:, ::2]], block_dim=64)
print(sum(found["launches"] for found in told("fill")))
"""


def test_streams_and_devices(by_kc):
    lines = by_kc(PLACES, "--devices", "2")
    assert lines == ["40.0 [('cuda:1', 1)]", "40.0 [('cuda:1', 1), ('cuda:0', 1)]", "3"]


TOLD = """
@wp.kernel
def shift(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i + 1]  # read
    if i == 2:
        printf("thread %d\\n", i)

x, y = wp.ones(4, dtype=float), wp.zeros(4, dtype=float)
for wait in (wp.synchronize, y.numpy, lambda: wp.launch(shift, 3, [x, y])):
    with kc.checked():
        wp.launch(shift, 4, [x, y])
    try:
        wait()
    except kc.IndexError as error:
        print(error.thread, error.array, error.index, error.extent, error.lineno)
print(y.numpy())
"""


def test_checked_launches_and_prints_tell_when_somebody_waits(by_kc):
    line = line_of(START + TOLD, "# read")
    told = ["thread 2", f"(3,) x 4 4 {line}"]
    assert by_kc(TOLD) == [*told, *told, *told, "[1. 1. 1. 0.]"]


SHARED = """
import threading

@wp.struct
class Part:
    x: wp.array(dtype=float)
    w: float
    m: wp.mat22

@wp.kernel
def parts(p: Part, ps: wp.array(dtype=Part), s: bool, h: wp.float16, u: wp.uint8, loss: wp.array(dtype=wp.float64)):
    i = wp.tid()
    if s:
        wp.atomic_add(loss, 0, wp.float64(p.x[i] * p.x[i] * p.w * p.m[1, 0] + ps[1].x[i] * float(h) + float(u)))

@wp.func
def bent(x: float):
    return x * x

@wp.func_grad(bent)
def adj_bent(x: float, adj: float):
    wp.adjoint[x] += 7.0 * adj

@wp.kernel
def twice_read(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = bent(x[i]) + 1.0
    y[i] = y[i] + x[i]

# One array twice, and arrays that overlap: what is written is read again.
x = wp.array(np.arange(4, dtype=np.float32))
wp.launch(twice_read, 4, [x, x])
print(x.numpy())
x = wp.array(np.arange(3, dtype=np.float32))
wp.launch(twice_read, 1, [x[:2], x[1:3]])
print(x.numpy())

p, q = Part(), Part()
p.x, p.w, p.m = wp.array(np.arange(4, dtype=np.float32), requires_grad=True), 3.0, wp.mat22(1.0, 2.0, 5.0, 4.0)
q.x = wp.array(np.arange(4, dtype=np.float32), requires_grad=True)
loss = wp.zeros(1, dtype=wp.float64, requires_grad=True)
with wp.Tape() as tape:
    wp.launch(parts, 4, [p, wp.array([p, q], dtype=Part), True, wp.float16(0.5), wp.uint8(3), loss])
tape.backward(loss)
print(loss.numpy(), p.x.grad.numpy(), q.x.grad.numpy())

x, y = (wp.array(np.ones(2, np.float32), requires_grad=True) for _ in range(2))
with wp.Tape() as tape:
    wp.launch(twice_read, 2, [x], [y])
tape.backward(grads={y: wp.ones(2, dtype=float)})
print(x.grad.numpy(), told("twice_read")[0]["gradients"], told("twice_read")[0]["gradients_by_warp"])
# Gradients of others are Warp's.
x.grad.zero_()
wp.launch(twice_read, 2, [x], [y], adj_inputs=[None], adj_outputs=[wp.ones(2, dtype=float)], adjoint=True)
print(told("twice_read")[0]["gradients"], told("twice_read")[0]["gradients_by_warp"])

def work(k):
    stream, a, b = wp.Stream("cuda:0"), wp.zeros(64, dtype=float), wp.full(64, float(k))
    wp.synchronize_device("cuda:0")
    for _ in range(20):
        wp.launch(twice_read, 64, [b, a], stream=stream)
    wp.synchronize_stream(stream)
    out[k] = float(a.numpy()[5])

out = {}
threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sorted(out.items()), sum(found["launches_by_warp"] for found in told("twice_read")))
"""


def test_arrays_that_overlap_structs_and_threads(by_kc):
    assert by_kc(SHARED) == [
        "[ 2.  4. 10. 20.]",
        "[0. 1. 2.]",
        "[225.] [ 0. 30. 60. 90.] [0.5 0.5 0.5 0.5]",
        "[8. 8.] 1 0",
        "1 1",
        "[(0, 1.0), (1, 3.0), (2, 7.0), (3, 13.0)] 0",
    ]


CONDITIONS = """
@wp.kernel
def grow(x: wp.array(dtype=float), left: wp.array(dtype=int)):
    i = wp.tid()
    x[i] = 2.0 * x[i] + 1.0
    if i == 0:
        left[0] = left[0] - 1

@wp.kernel
def put(x: wp.array(dtype=float), value: float):
    x[wp.tid()] = value

@wp.kernel
def again(rounds: wp.array(dtype=int), left: wp.array(dtype=int)):
    rounds[0] = rounds[0] - 1
    left[0] = 3

x = wp.zeros(40, dtype=float)
left, chosen, rounds = (wp.zeros(1, dtype=int) for _ in range(3))
wp.load_module(device="cuda:0")

def grown():
    wp.capture_while(left, lambda: wp.launch(grow, 40, [x, left]))

def turn():
    grown()
    wp.launch(again, 1, [rounds, left])

with wp.ScopedCapture() as first:
    grown()
    wp.capture_if(chosen, lambda: wp.launch(put, 10, [x, -1.0]), lambda: wp.launch(put, 10, [x, -2.0]))
with wp.ScopedCapture() as second:
    wp.capture_while(rounds, turn)
print(x.numpy().any())
for n in (5, 0, 3):
    left.assign([n]), chosen.assign([n % 2]), x.zero_()
    wp.capture_launch(first.graph)
    print(n, *x.numpy()[[0, 9, 10, 39]], left.numpy()[0])
left.assign([1]), rounds.assign([2]), x.zero_()
wp.capture_launch(second.graph)
print(*x.numpy()[[0, 39]], left.numpy()[0], rounds.numpy()[0])
print({found["kernel"]: found["by"] for found in kc.report()["kernels"]})
"""


@pytest.mark.parametrize("by", ["kc", "warp"])
def test_graphs_that_go_by_conditions(gpu, cache, by):
    start = START.format(cache=cache).replace("kc.accelerate()", "kc.accelerate()" if by == "kc" else "")
    ran = gpu(start + CONDITIONS, python=WARP, PYTHONPATH=str(ROOT / "python"))
    assert ran.code == 0, ran.out + ran.said
    lines = ran.out.splitlines()
    assert lines[:5] == ["False", "5 -1.0 -1.0 31.0 31.0 0", "0 -2.0 -2.0 0.0 0.0 0", "3 -1.0 -1.0 7.0 7.0 0", "15.0 15.0 3 0"]
    assert set(eval(lines[5]).values()) == ({"kc"} if by == "kc" else set())
