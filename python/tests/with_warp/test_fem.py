"""Integrands of Warp's finite elements, whose kernels reach functions through functions, and call one for several types."""

import json
import subprocess
import sys

import numpy as np

PROGRAM = """
import json
import sys

import numpy as np
import warp as wp
import warp.fem as fem

if sys.argv[1] == "kc":
    import kc

    kc.accelerate()


@fem.integrand
def mass(s: fem.Sample, u: fem.Field, v: fem.Field):
    return wp.dot(u(s), v(s))


@fem.integrand
def sides(s: fem.Sample, domain: fem.Domain, u: fem.Field, v: fem.Field, w: fem.Field):
    return wp.dot(fem.average(u, s), fem.average(v, s)) + wp.dot(fem.average(w, s), fem.jump(v, s))


@fem.integrand
def start(s: fem.Sample, domain: fem.Domain):
    x = domain(s)
    return wp.vec2(x[0] * x[1], x[0] - 2.0 * x[1])


geometry = fem.Grid2D(res=wp.vec2i(5, 4))
cells, edges = fem.Cells(geometry), fem.Sides(geometry)
space = fem.make_polynomial_space(geometry, degree=1, dtype=wp.vec2, discontinuous=True)
test, trial = fem.make_test(space, domain=cells), fem.make_trial(space, domain=cells)
field = space.make_field()
fem.interpolate(start, dest=field)
matrix = fem.integrate(mass, fields={"u": trial, "v": test}, assembly="nodal")
of_edges = {"v": fem.make_test(space, domain=edges), "u": field.trace(), "w": fem.make_trial(space, domain=edges)}
first = fem.integrate(mass, fields={"u": field, "v": test})
second = fem.integrate(sides, fields=of_edges)


def blocks(matrix):
    # Those that are in use: there is room for more.
    return matrix.values.numpy()[: matrix.nnz_sync()]


np.savez(sys.argv[2], field=field.dof_values.numpy(), matrix=blocks(matrix), first=first.numpy(), second=blocks(second))
if sys.argv[1] == "kc":
    print(json.dumps(kc.report()["kernels"]))
"""


def test_integrands_run_in_kc(tmp_path):
    program = tmp_path / "integrals.py"
    program.write_text(PROGRAM)

    def run(by):
        done = subprocess.run([sys.executable, program, by, tmp_path / f"{by}.npz"], capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        return np.load(tmp_path / f"{by}.npz"), done.stdout.splitlines()

    (plain, _), (accelerated, told) = run("warp"), run("kc")
    for name in plain:
        np.testing.assert_allclose(accelerated[name], plain[name], rtol=1e-5, atol=1e-6, err_msg=name)
    kernels = json.loads(told[-1])
    assert len(kernels) >= 6
    left = {kernel["kernel"]: kernel for kernel in kernels if kernel["by"] != "kc"}
    assert not left, left
