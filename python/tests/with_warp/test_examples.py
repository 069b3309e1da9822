"""Warp's own examples through `import kc.warp as wp`: what Warp computes."""

import importlib.util
import os
import subprocess
import sys

import numpy as np
import pytest

import warp.examples

FOLDER = os.path.dirname(warp.examples.__file__)
DRIVER = """
import importlib.util, sys
import numpy as np
path, attributes, steps, out = sys.argv[1:]
spec = importlib.util.spec_from_file_location("program", path)
program = importlib.util.module_from_spec(spec)
sys.modules["program"] = program
spec.loader.exec_module(program)
wp = program.wp
if not wp.__name__.startswith("kc"):
    wp.config.log_level = wp.LOG_WARNING
with wp.ScopedDevice("cpu"):
    example = program.Example(**({"stage_path": None} if "stage_path" in program.Example.__init__.__code__.co_varnames else {}))
    for _ in range(int(steps)):
        example.step()
np.savez(out, **{name: getattr(example, name).numpy() for name in attributes.split(",")})
"""


@pytest.mark.parametrize(
    "name, attributes",
    [("core/example_wave", "sim_grid0,sim_grid1"), ("core/example_fluid", "rho0,u0"), ("core/example_graph_capture", "pixel_values")],
)
def test_example(tmp_path, name, attributes):
    with open(os.path.join(FOLDER, name + ".py")) as file:
        text = file.read()
    replaced = text.replace("import warp as wp\n", "import kc.warp as wp\n")
    assert replaced != text and importlib.util.find_spec("warp")
    (tmp_path / "driver.py").write_text(DRIVER)
    found = {}
    for which, source in (("warp", text), ("kc", replaced)):
        (tmp_path / f"with_{which}.py").write_text(source)
        command = [sys.executable, "driver.py", f"with_{which}.py", attributes, "3", f"{which}.npz"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        found[which] = dict(np.load(tmp_path / f"{which}.npz"))
    for key, expected in found["warp"].items():
        assert np.abs(expected).max() > 0
        np.testing.assert_allclose(found["kc"][key], expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max(), err_msg=key)
