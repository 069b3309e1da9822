"""Writes docs/gallery.md: common mistakes, with what kc says and what Warp says.

    gallery.py [--kc target/release/kc] [--warp PYTHON] [--out docs/gallery.md]

PYTHON is an interpreter that has `warp-lang==1.19.0`. Warp compiles and launches each file on the CPU, over 8 threads;
the page holds the last exception, or what it gave instead of one.
"""

import argparse
import pathlib
import subprocess
import tempfile
import textwrap

# (title, the kernel file's text after the import)
CASES = [
    ("A number of the wrong type", """
        @wp.kernel
        def k(x: wp.array(dtype=float)):
            i = wp.tid()
            x[i] = i * 2.0
        """),
    ("A misspelled variable", """
        @wp.kernel
        def k(position: wp.array(dtype=float)):
            i = wp.tid()
            position[i] = positon[i] + 1.0
        """),
    ("A misspelled built-in", """
        @wp.kernel
        def k(x: wp.array(dtype=float)):
            i = wp.tid()
            x[i] = wp.sine(x[i])
        """),
    ("NumPy inside a kernel", """
        import numpy as np

        @wp.kernel
        def k(x: wp.array(dtype=float)):
            i = wp.tid()
            x[i] = np.clip(x[i], 0.0, 1.0)
        """),
    ("Three mistakes at once", """
        @wp.kernel
        def k(x: wp.array(dtype=float), n: int):
            i = wp.tid()
            a = x[i] + n
            b = wp.sqroot(a)
            x[i] = b * unknown
        """),
    ("A mistake in another kernel of the file", """
        @wp.kernel
        def k(x: wp.array(dtype=float)):
            i = wp.tid()
            x[i] = x[i] * 2.0

        @wp.kernel
        def other(x: wp.array(dtype=float)):
            i = wp.tid()
            x[i] = undefined
        """),
    ("All threads add to one cell", """
        @wp.kernel
        def k(x: wp.array(dtype=float), total: wp.array(dtype=float)):
            i = wp.tid()
            total[0] = total[0] + x[i]
        """),
    ("A variable that is never read", """
        @wp.kernel
        def k(x: wp.array(dtype=float)):
            i = wp.tid()
            scaled = x[i] * 3.0
            x[i] = x[i] + 1.0
        """),
    ("A variable that may be unset", """
        @wp.kernel
        def k(x: wp.array(dtype=float)):
            i = wp.tid()
            if x[i] > 0.0:
                y = 1.0
            x[i] = y
        """),
    ("A missing colon", """
        @wp.kernel
        def k(x: wp.array(dtype=float)):
            i = wp.tid()
            if x[i] > 0.0
                x[i] = 0.0
        """),
    ("A bracket that is never closed", """
        @wp.kernel
        def k(x: wp.array(dtype=float)):
            i = wp.tid()
            y = wp.max(x[i], wp.abs(x[i])
            x[i] = y
        """),
    ("`=` for `==`", """
        @wp.kernel
        def k(x: wp.array(dtype=float)):
            i = wp.tid()
            if i = 0:
                x[i] = 0.0
        """),
    ("A vector built from integers", """
        @wp.kernel
        def k(v: wp.array(dtype=wp.vec3)):
            i = wp.tid()
            v[i] = wp.vec3(i, 2, 3)
        """),
    ("Two vectors multiplied", """
        @wp.kernel
        def k(v: wp.array(dtype=wp.vec3)):
            i = wp.tid()
            w = v[i] * v[i]
            v[i] = w
        """),
    ("A component that does not exist", """
        @wp.kernel
        def k(v: wp.array(dtype=wp.vec3), x: wp.array(dtype=float)):
            i = wp.tid()
            x[i] = v[i].w
        """),
    ("A constant index outside", """
        @wp.kernel
        def k(v: wp.array(dtype=wp.vec3), x: wp.array(dtype=float)):
            i = wp.tid()
            x[i] = v[i][3]
        """),
    ("Too few indices", """
        @wp.kernel
        def k(image: wp.array2d(dtype=float)):
            i = wp.tid()
            image[i] = 0.0
        """),
    ("A parameter without a type", """
        @wp.kernel
        def k(x: wp.array(dtype=float), scale):
            i = wp.tid()
            x[i] = x[i] * scale
        """),
    ("A kernel that returns", """
        @wp.kernel
        def k(x: wp.array(dtype=float)):
            i = wp.tid()
            return x[i]
        """),
    ("A kernel called from a kernel", """
        @wp.kernel
        def helper(x: wp.array(dtype=float)):
            x[0] = 1.0

        @wp.kernel
        def k(x: wp.array(dtype=float)):
            i = wp.tid()
            helper(x)
        """),
    ("Plain Python called from a kernel", """
        def square(a):
            return a * a

        @wp.kernel
        def k(x: wp.array(dtype=float)):
            i = wp.tid()
            x[i] = square(x[i])
        """),
    ("A list", """
        @wp.kernel
        def k(x: wp.array(dtype=float)):
            i = wp.tid()
            weights = [0.25, 0.5, 0.25]
            x[i] = x[i] * weights[1]
        """),
    ("`try`", """
        @wp.kernel
        def k(x: wp.array(dtype=float)):
            i = wp.tid()
            try:
                x[i] = 1.0 / x[i]
            except ZeroDivisionError:
                x[i] = 0.0
        """),
    ("An f-string", """
        @wp.kernel
        def k(x: wp.array(dtype=float)):
            i = wp.tid()
            print(f"x = {x[i]}")
        """),
    ("Integer division of negative numbers", """
        @wp.kernel
        def k(cell: wp.array(dtype=int)):
            i = wp.tid()
            cell[i] = (i - 4) / 2
        """),
    ("A value that the gradient needs is overwritten", """
        @wp.kernel
        def k(x: wp.array(dtype=float)):
            i = wp.tid()
            x[i] = x[i] * x[i]
        """),
]

DRIVER = '''
import contextlib, importlib.util, io, sys
import numpy as np
quiet = io.StringIO()
try:
    with contextlib.redirect_stdout(quiet):
        import warp as wp
        wp.config.quiet = True
        wp.init()
        spec = importlib.util.spec_from_file_location("kernels", sys.argv[1])
        module = importlib.util.module_from_spec(spec)
        sys.modules["kernels"] = module
        spec.loader.exec_module(module)
        kernel = module.k
        arrays, inputs = {}, []
        for arg in kernel.adj.args:
            if isinstance(arg.type, wp.array):
                shape = (8,) * arg.type.ndim
                arrays[arg.label] = wp.full(shape, 3.0, dtype=arg.type.dtype, device="cpu", requires_grad=True) \\
                    if arg.type.dtype in (float, wp.float32) else wp.zeros(shape, dtype=arg.type.dtype, device="cpu")
                inputs.append(arrays[arg.label])
            else:
                inputs.append(2)
        gradient = len(sys.argv) > 2
        tape = wp.Tape()
        with tape:
            wp.launch(kernel, dim=8, inputs=inputs, device="cpu")
        values = {name: array.numpy().tolist() for name, array in arrays.items()}
        if gradient:
            tape.backward(grads={arrays["x"]: wp.ones(8, dtype=float, device="cpu")})
            values["gradient of x"] = arrays["x"].grad.numpy().tolist()
except BaseException as fault:
    print(f"{type(fault).__name__}: {fault}")
else:
    print("nothing; it runs")
    for name, value in values.items():
        print(f"{name} = {value}")
'''

INTRO = """# What kc says, and what Warp says

{count} common mistakes. Written by `scripts/gallery.py` with kc {version} and Warp 1.19.0; do not edit. Warp compiled and launched each
file on the CPU, over 8 threads, arrays of floats filled with 3. Paths are shortened.
"""


def run(command, **more):
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, **more)
    return (done.stdout + done.stderr).strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--kc", default="target/release/kc")
    parser.add_argument("--warp", default=".env-test/bin/python")
    parser.add_argument("--out", default="docs/gallery.md")
    options = parser.parse_args()
    kc = str(pathlib.Path(options.kc).resolve())
    page = INTRO.format(count=len(CASES), version=run([kc, "--version"]).split()[-1])
    with tempfile.TemporaryDirectory() as folder:
        driver = pathlib.Path(folder, "driver.py")
        driver.write_text(DRIVER)
        file = pathlib.Path(folder, "kernels.py")
        for number, (title, text) in enumerate(CASES, 1):
            text = "import warp as wp\n\n" + textwrap.dedent(text).strip() + "\n"
            file.write_text(text)
            ours = run([kc, "check", "kernels.py"], cwd=folder, env={"NO_COLOR": "1"}).rsplit("\nkernels.py: ", 1)[0]
            gradient = ["gradient"] if "gradient" in title else []
            theirs = run([options.warp, str(driver), str(file), *gradient]).replace(folder + "/", "")
            lines = [line for line in theirs.split("\n") if not line.startswith("Warp CUDA warning")]
            theirs = "\n".join(part for line in lines for part in textwrap.wrap(line, 118) or [""])
            page += f"\n## {number}. {title}\n\n```python\n{text}```\n\nkc:\n\n```text\n{ours.rstrip()}\n```\n\nWarp:\n\n```text\n{theirs}\n```\n"
            print(f"{number}. {title}", flush=True)
    pathlib.Path(options.out).write_text(page)


if __name__ == "__main__":
    main()
