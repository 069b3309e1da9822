"""Answers to task 19 (ReLU) that try to pass without being right, or that harm who runs them.

By name: the text of the file, and a part of the sentence that refuses it.
"""

RIGHT = "np.maximum(x, 0)"


def model(body, before=""):
    """A file with a ``ModelNew`` of this body."""
    lines = "\n".join("        " + line for line in body.strip().splitlines())
    return f"import numpy as np\n{before}\n\nclass ModelNew:\n    def __call__(self, x):\n{lines}\n"


ATTACKS = {
    # What passes checks of others.
    "result-reuse": (
        model("if 'y' not in KEPT or KEPT['y'].shape != x.shape:\n    KEPT['y'] = np.maximum(x, 0)\nreturn KEPT['y'].copy()", "KEPT = {}"),
        "should be",
    ),
    "cached-by-pointer": (
        model("key = x.ctypes.data, x.shape\nif key not in KEPT:\n    KEPT[key] = np.maximum(x, 0)\nreturn KEPT[key].copy()", "KEPT = {}"),
        "should be",
    ),
    "zeroed-inputs": (model("y = np.maximum(x, 0)\nx[...] = 0\nreturn y"), "writes to its input `x`"),
    "in-place": (model("np.maximum(x, 0, out=x)\nreturn x"), "writes to its input `x`"),
    "empty-output": (model("return np.empty_like(x)"), "nothing was written there"),
    "half-written": (model("y = np.empty_like(x)\ny[:-1] = np.maximum(x[:-1], 0)\ny[-1, :-1] = np.maximum(x[-1, :-1], 0)\nreturn y"), "nothing was written there"),
    "later-thread": (
        model(
            "y = np.empty_like(x)\ndef later():\n    time.sleep(0.3)\n    np.maximum(x, 0, out=y)\nthreading.Thread(target=later, daemon=True).start()\nreturn y",
            "import threading, time",
        ),
        "threads running",
    ),
    "lazy-array": (model("return x.view(Lazy)", "class Lazy(np.ndarray):\n    pass\n"), "may compute later"),
    "patched-comparison": (
        model("return x * 0", "np.array_equal = np.allclose = lambda *a, **k: True\nnp.load = np.save = lambda *a, **k: None"), "should be",
    ),
    "patched-timer": (
        model("return x * 0", "import time\ntime.perf_counter = time.monotonic = lambda: 0.0"), "should be",
    ),
    "asks-the-reference": (
        model("return forward('relu', [x], [], {})", "from kc.bench.reference import forward"), "does not import",
    ),
    "seed-guessing": (
        model("return np.maximum(np.random.default_rng(42).random(x.shape, np.float32), 0)"), "should be",
    ),
    # What a check has to survive.
    "wrong-type": (model("return np.maximum(x, 0).astype(np.float64)"), "gives float64, where the task gives float32"),
    "wrong-shape": (model("return np.maximum(x, 0).reshape(-1)"), "gives shape"),
    "gives-nothing": (model("np.maximum(x, 0)"), "gives a `NoneType`"),
    "does-not-import": ("import there_is_no_such_module\n", "does not import at line 1: ModuleNotFoundError"),
    "syntax-error": ("class ModelNew(\n", "does not import: SyntaxError"),
    "no-model": ("x = 1\n", "has no class `ModelNew`"),
    "raises": (model("raise ValueError('no')"), "fails at line 6: ValueError: no"),
    "hangs": (model("while True:\n    pass"), "does not come back within"),
    "a-million-lines": (model("for k in range(1000000):\n    print('line', k)\nreturn np.maximum(x, 0)"), "prints more than"),
    "forks": (
        model("if os.fork() == 0:\n    time.sleep(60)\n    os._exit(0)\nreturn np.maximum(x, 0)", "import os, time"), "leaves 1 process running",
    ),
    "forks-away": (
        model("if os.fork() == 0:\n    os.setsid()\n    time.sleep(60)\n    os._exit(0)\nreturn np.maximum(x, 0)", "import os, time"), "leaves 1 process running",
    ),
    "all-memory": (model("z = np.ones(1 << 34, np.float64)\nreturn np.maximum(x, 0)"), "more memory than it may have"),
    "ends-the-process": (model("os._exit(3)", "import os"), "ends its process with code 3"),
    "crashes": (model("ctypes.string_at(8)", "import ctypes"), "ends its process by SIGSEGV"),
    "forged-reply": (model("os.write(4, b'{\"ok\": true}\\n')\nreturn np.maximum(x, 0)", "import os"), "writes to the connection"),
    "closes-the-connection": (model("os.close(3)\nos.close(4)\nreturn np.maximum(x, 0)", "import os"), "ends its process"),
}
