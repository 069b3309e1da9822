"""The process that an answer runs in: it loads the file, and runs it on the arrays that it is told.

``python -m kc.bench._worker ANSWER [plain]`` reads one JSON object a line from file descriptor 3 and
answers on 4. Standard output is the answer's own. What decides (references, limits) is in the
parent.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import threading
import time
import traceback

import numpy as np

# The answer may replace what it finds in modules; these are used.
_load, _save, _fromfile = np.load, np.save, np.fromfile
_asarray, _copyto, _array_equal = np.asarray, np.copyto, np.array_equal
_clock, _threads = time.perf_counter, threading.active_count

#: A float32 that is no number, and that nobody computes: what is not written has it.
POISON = 0x7FDEAD55


def _poison(function, types):
    """``empty`` and the like with something in the array that nobody takes for a result."""

    def made(*arguments, **named):
        array = function(*arguments, **named)
        plain = array.numpy() if hasattr(array, "numpy") and not isinstance(array, np.ndarray) and array.device.type == "cpu" else array
        if isinstance(plain, np.ndarray) and plain.dtype.kind in types:
            if plain.dtype == np.float32:
                plain.view(np.uint32).fill(POISON)
            else:
                plain.fill(np.nan if plain.dtype.kind == "f" else np.iinfo(plain.dtype).min + 77)
        return array

    return made


def _poison_all():
    import kc

    far = kc.empty

    def empty(*arguments, **named):
        array = far(*arguments, **named)
        if array.device != "cpu" and array.size and array.numpy().dtype.kind in "fi":
            kind = array.numpy().dtype
            array.fill_(float("nan") if kind.kind == "f" else np.iinfo(kind).min + 77)
        return array

    kc.empty = empty
    np.empty, np.empty_like = _poison(np.empty, "fi"), _poison(np.empty_like, "fi")
    try:
        import torch
    except ImportError:
        return
    torch.empty, torch.empty_like = _poison(torch.empty, "f"), _poison(torch.empty_like, "f")


class _Answer:
    """The file of the answer, and the model that is made of it."""

    def __init__(self, path, poison):
        import linecache

        if poison:
            _poison_all()
        # Answers compute; who asks for the references is refused.
        for name in ("reference", "limits", "oracle"):
            sys.modules[f"kc.bench.{name}"] = None
        sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
        linecache.checkcache(path)
        spec = importlib.util.spec_from_file_location("answer", path)
        self.module = importlib.util.module_from_spec(spec)
        sys.modules["answer"] = self.module
        spec.loader.exec_module(self.module)
        made = getattr(self.module, "ModelNew", None)
        if made is None:
            raise _Told("has no class `ModelNew`")
        if not isinstance(made, type):
            raise _Told(f"has a `ModelNew` that is a {type(made).__name__}, not a class")
        self.made = made
        self.is_torch = "torch" in sys.modules and issubclass(made, sys.modules["torch"].nn.Module)
        self.buffers = {}
        #: The GPU whose memory the arrays are in; None: the host's.
        self.device = None

    def model(self, init, parameters):
        model = self.made(*init)
        if self.is_torch:
            # Parameters in the order of the state, without counters and running statistics.
            own = [p.detach().numpy() for p in model.parameters()]
        else:
            own = model.parameters() if hasattr(model, "parameters") else []
        shapes, wanted = [tuple(p.shape) for p in own], [p.shape for p in parameters]
        self.places = _places(shapes, wanted) if self.is_torch else list(range(len(wanted)))
        own, shapes = ([some[n] for n in self.places] for some in (own, shapes)) if len(own) == len(wanted) else (own, shapes)
        if shapes != wanted:
            raise _Told(f"has parameters of shapes {_listed(shapes)}, where the task has {_listed(wanted)}")
        for mine, given in zip(own, parameters):
            _copyto(mine, given.astype(mine.dtype))
        if self.device:
            if self.is_torch or not hasattr(model, "to"):
                raise _Told("is no `kc.bench.Model`: on a GPU models of kc run")
            model.to(self.device)
        return model

    def given(self, values, dtype, fresh, gradients):
        """The inputs as the answer takes them: in arrays of their own, or in those of the call
        before."""
        made = []
        for n, value in enumerate(values):
            if not isinstance(value, np.ndarray):
                made.append(value)
                continue
            if value.dtype == np.float32 and dtype == "float16":
                value = value.astype(np.float16)
            held = self.buffers.get(n)
            if fresh or held is None or held.shape != value.shape or held.dtype != value.dtype:
                held = self.buffers[n] = np.array(value)
            else:
                _copyto(held, value)
            if self.device:
                import kc

                made.append(kc.array(held, device=self.device))
                continue
            if not self.is_torch:
                made.append(held)
                continue
            import torch

            tensor = torch.from_numpy(held)
            if dtype == "bfloat16" and value.dtype == np.float32:
                tensor = tensor.to(torch.bfloat16)
            made.append(tensor.requires_grad_() if gradients and value.dtype.kind == "f" else tensor)
        return made


class _Told(Exception):
    """What is wrong with the answer, as the rest of a sentence that begins with its name."""


def _places(shapes, wanted):
    """Which parameter of a module each one of the task is: in order of the shapes, since a module
    lists what it holds itself before what its layers hold."""
    left, found = list(range(len(shapes))), []
    for shape in wanted:
        at = next((n for n in left if shapes[n] == shape), left[0] if left else 0)
        found.append(at)
        if at in left:
            left.remove(at)
    return found


def _listed(shapes):
    return ", ".join("x".join(map(str, s)) or "()" for s in shapes) or "none"


def _plain(value):
    """The result as a NumPy array, with the name of its type."""
    if isinstance(value, (list, tuple)) and len(value) == 1:
        value = value[0]
    kind = type(value)
    if kind.__module__.split(".")[0] == "torch":
        import torch

        if kind not in (torch.Tensor, torch.nn.Parameter):
            raise _Told(f"gives a `{kind.__name__}`, which may compute later: a result is a plain tensor")
        value = value.detach()
        if value.dtype == torch.bfloat16:
            return value.float().numpy(), "bfloat16"
        return value.numpy(), str(value.dtype).split(".")[1]
    if hasattr(value, "numpy") and kind.__module__.split(".")[0] == "kc":
        value = value.numpy()
        kind = type(value)
    if isinstance(value, (np.ndarray, np.generic)) and type(value) is not np.matrix:
        if isinstance(value, np.ndarray) and kind is not np.ndarray:
            raise _Told(f"gives a `{kind.__name__}`, which may compute later: a result is a plain array")
        return _asarray(value), str(value.dtype)
    raise _Told(f"gives a `{kind.__name__}`: a result is an array or a tensor")


def _arrays(folder, names):
    return [_load(os.path.join(folder, f"{name}.npy")) if kind == "array" else kind for name, kind in names]


def _run(answer, order):
    folder, dtype = order["folder"], order.get("dtype", "float32")
    values, parameters = _arrays(folder, order["inputs"]), _arrays(folder, order["parameters"])
    init = order["init"]
    if order.get("new", True):
        answer.kept = answer.model([tuple(a) if isinstance(a, list) else a for a in init], parameters)
    model = answer.kept
    before = _threads()
    inputs = answer.given(values, dtype, order["fresh"], "dy" in order)
    told = {"threads": 0}
    began = _clock()
    if order.get("record"):
        from . import simulate

        with simulate.Recorder(order["record"]) as recorder:
            result = model(*inputs)
        told["launches"] = recorder.count
    elif "dy" in order:
        result, gradients = _with_gradients(answer, model, inputs, parameters, _load(os.path.join(folder, "dy.npy")))
        for n, gradient in enumerate(gradients):
            if gradient is not None:
                _save(os.path.join(folder, f"gradient{n}.npy"), gradient)
        told["gradients"] = [gradient is not None for gradient in gradients]
    else:
        result = model(*inputs)
    told["seconds"] = _clock() - began
    # At once: who writes later has not written.
    array, kind = _plain(result)
    _save(os.path.join(folder, "result.npy"), np.array(array, order="C"))
    told.update(kind=kind, shape=list(array.shape), threads=max(0, _threads() - before))
    told["changed"] = _changed(inputs, values, order["inputs"], dtype, answer)
    return told


def _changed(inputs, values, names, dtype, answer):
    """The names of inputs that are not what they were."""
    found = []
    for mine, value, (name, kind) in zip(inputs, values, names):
        if kind == "array":
            now = mine.numpy() if answer.device else mine
            if answer.is_torch:
                now = mine.detach().float().numpy() if dtype == "bfloat16" and value.dtype.kind == "f" else mine.detach().numpy()
            wanted = value.astype(np.float16) if value.dtype == np.float32 and dtype == "float16" else value
            if not _array_equal(now, wanted, equal_nan=wanted.dtype.kind == "f"):
                found.append(name)
    return found


def _with_gradients(answer, model, inputs, parameters, dy):
    """The result, and the gradient of each input and parameter."""
    if answer.is_torch:
        import torch

        result = model(*inputs)
        result.backward(torch.from_numpy(dy).to(result.dtype))
        grads = [x.grad if isinstance(x, torch.Tensor) and x.requires_grad else None for x in inputs]
        own = list(model.parameters())
        grads += [own[n].grad for n in answer.places]
        return result, [None if g is None else g.float().numpy() for g in grads]
    import kc

    with kc.Tape() as tape:
        result = model(*inputs)
    kind = np.float32 if answer.device else result.dtype
    dy = dy.reshape(result.shape).astype(kind)
    tape.backward(grads=[(result, kc.array(dy, device=answer.device) if answer.device else dy)])
    asked = [*inputs, *(model.parameters() if parameters else [])]
    # With `allow_unused` an input that nothing joins has zeros, which the comparison refuses where
    # they are wrong.
    return result, [_asarray(_of_host(tape.gradient(x, allow_unused=True))) if _is_float(x) else None for x in asked]


def _of_host(x):
    return x.numpy() if hasattr(x, "numpy") else x


def _is_float(x):
    if isinstance(x, np.ndarray):
        return x.dtype.kind == "f"
    return hasattr(x, "device") and x.dtype.__name__ == "float32"


def _time(answer, order):
    """Seconds of each of so many runs, on arrays of their own in turn."""
    values, parameters = _arrays(order["folder"], order["inputs"]), _arrays(order["folder"], order["parameters"])
    model = answer.model([tuple(a) if isinstance(a, list) else a for a in order["init"]], parameters)
    sets = [answer.given(values, "float32", True, False) for _ in range(2)]
    def run(inputs):
        model(*inputs)
        if answer.device:
            import kc

            kc.devices()[0].synchronize()

    for inputs in sets:
        run(inputs)
    taken = []
    until = _clock() + order["seconds"]
    while len(taken) < 3 or (_clock() < until and len(taken) < 100):
        inputs = sets[len(taken) % 2]
        began = _clock()
        run(inputs)
        taken.append(_clock() - began)
    return {"times": taken}


def _last_line(error):
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0][:300] if text else ''}".rstrip(": ")


def _where(error, path):
    """The last line of the answer that was running."""
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if os.path.abspath(f.filename) == os.path.abspath(path)]
    return f" at line {lines[-1]}" if lines else ""


def main(path, poison=True):
    orders, replies = os.fdopen(3, "r"), os.fdopen(4, "w")
    answer = None

    def reply(told):
        # Nobody else writes there, and the parent takes one line for each order.
        replies.write(json.dumps({**told, "ticket": order["ticket"]}) + "\n")
        replies.flush()

    for line in orders:
        order = json.loads(line)
        try:
            if order["do"] == "load":
                answer = _Answer(path, poison)
                answer.device = order.get("device")
                reply({"ok": True, "torch": answer.is_torch, "pid": os.getpid()})
            elif order["do"] == "time":
                reply({"ok": True, **_time(answer, order)})
            else:
                reply({"ok": True, **_run(answer, order)})
        except _Told as told:
            reply({"ok": False, "text": str(told)})
        except MemoryError:
            reply({"ok": False, "text": "asks for more memory than it may have", "memory": True})
        except BaseException as error:  # noqa: BLE001 - the answer may raise anything
            doing = "does not import" if order["do"] == "load" else "fails"
            reply({"ok": False, "text": f"{doing}{_where(error, path)}: {_last_line(error)}"})


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:] != ["plain"])
