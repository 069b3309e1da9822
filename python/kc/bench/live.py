"""How long do answers take on a GPU, beside PyTorch there, eager and compiled?

Answers are compiled ahead, in as many processes as there are processors; then one after the other is
timed, while nothing else uses the GPU. Times are medians by CUDA events, behind a warm-up, and the
GPU's cache is overwritten before each run. ``budget`` ends it in time: what is not timed by then is
told.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time

from . import cards
from ._children import environment

#: An answer that differs from PyTorch by more than this, of the largest element, is not counted.
AGREES = 1e-3


class NoLive(Exception):
    """Nothing can be timed; the text says why."""


class _Process:
    """A worker: it takes one order at a time."""

    def __init__(self, python, stand_in):
        orders, self.orders = os.pipe()
        self.replies, replies = os.pipe()
        # Each worker compiles by itself.
        variables = environment(TORCHINDUCTOR_COMPILE_THREADS="1", PYTHONDONTWRITEBYTECODE="1")
        self.said = tempfile.TemporaryFile()
        self.child = subprocess.Popen(
            [python or sys.executable, "-m", "kc.bench._live_worker", str(orders), str(replies), *([stand_in] if stand_in else [])],
            pass_fds=(orders, replies), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.said,
            env=variables, start_new_session=True,
        )
        os.close(orders)
        os.close(replies)
        self.text, self.since, self.limit, self.order = b"", 0.0, 0.0, None
        # It came later, and prepares an answer when its turn comes.
        self.fresh = False
        self.todo, self.prepared, self.done = [], [], []

    def give(self, order, limit):
        self.order, self.since, self.limit = order, time.monotonic(), limit
        try:
            os.write(self.orders, json.dumps(order).encode() + b"\n")
        except OSError:
            pass

    def reply(self):
        """The reply, once ``replies`` can be read; None: there is more to come."""
        chunk = os.read(self.replies, 1 << 16)
        if not chunk:
            return {"failed": self._last_words(), "broken": True}
        self.text += chunk
        if b"\n" not in self.text:
            return None
        line, _, self.text = self.text.partition(b"\n")
        return json.loads(line)

    def _last_words(self):
        try:
            code = self.child.wait(timeout=2)
        except subprocess.TimeoutExpired:
            return "closes its connection"
        self.said.seek(0)
        said = self.said.read(1 << 16).decode(errors="replace").strip().splitlines()
        name = signal.Signals(-code).name if code < 0 else f"code {code}"
        return f"its process ends by {name}" + (f": {said[-1][:200]}" if said else "")

    def end(self):
        for what in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.child.pid, what)
            except (ProcessLookupError, PermissionError):
                break
            try:
                self.child.wait(timeout=1)
                break
            except subprocess.TimeoutExpired:
                continue
        for one in (self.orders, self.replies):
            try:
                os.close(one)
            except OSError:
                pass


class Live:
    """Times answers: ``Live(...).run(todo)`` gives one dictionary for each task."""

    def __init__(self, sizes="shipped", seconds=0.15, budget=None, jobs=None, inductor=(), longest=20.0, python=None, stand_in=None, say=print):
        self.sizes, self.seconds, self.budget, self.inductor = sizes, seconds, budget, set(inductor)
        self.jobs = jobs or max(1, min(12, (os.cpu_count() or 2) - 2))
        self.longest, self.python, self.stand_in, self.say = longest, python, stand_in, say
        self.began = time.monotonic()
        self.about, self.times, self.processes = {}, {}, []

    def left(self):
        """Seconds of the budget."""
        return float("inf") if self.budget is None else self.budget - (time.monotonic() - self.began)

    def _too_late(self):
        return {"left_out": "its process ended before" if self.budget is None else f"the budget of {self.budget:g} s ended before"}

    def run(self, todo, each=lambda: None):
        """``todo``: pairs of a task and a file. ``each`` is called behind every task."""
        self.names = {str(task.key): task for task, _ in todo}
        try:
            self._start(todo)
            self._prepare()
            self._time(each)
            self._inductor(each)
        finally:
            for process in self.processes:
                process.end()
        for task, path in todo:
            # In the order of the tasks, those that time was too short for as well.
            self.times.setdefault(str(task.key), self._empty(task, path, self._too_late()))
        self.took = time.monotonic() - self.began
        return [self.times[str(task.key)] for task, _ in todo]

    def _empty(self, task, path, told):
        product = self.about.get("card", "")
        made = {"task": task.key, "name": task.name, "path": path, "device": "cuda", "card": product, "sizes": self.sizes}
        made.update(bound_h100_ms=task.bound_ms, eager_h100_ms=task.eager_ms, **told)
        if self.sizes == "shipped":
            made["bound_ms"] = cards.bound_ms(task, product) or task.bound_ms
        return made

    def _note(self, entry, told):
        """What was found about a task."""
        task, path = entry
        one = self._empty(task, path, told)
        if "ms" in one:
            agrees = one.get("shape_agrees") and one["difference"] is not None and one["difference"] <= AGREES
            one["agrees"] = bool(agrees)
            one.setdefault("eager_tf32_ms", one["eager_ms"])
            one["speedup"], one["speedup_tf32"] = one["eager_ms"] / one["ms"], one["eager_tf32_ms"] / one["ms"]
            if "inductor_ms" in one:
                one["speedup_inductor"] = one["inductor_ms"] / one["ms"]
            if "bound_ms" in one:
                one["over_bound"] = one["ms"] / one["bound_ms"]
        self.times[str(task.key)] = one

    def _start(self, todo):
        count = min(self.jobs, len(todo))
        self.processes = [_Process(self.python, self.stand_in) for _ in range(count)]
        for n, entry in enumerate(todo):
            self.processes[n % count].todo.append(entry)
        for process in self.processes:
            process.give({"do": "start"}, 60.0)
        failed = ""

        def started(process, told):
            nonlocal failed
            if "failed" in told:
                failed = told["failed"]
                process.todo, left = [], process.todo
                self.processes.remove(process)
                process.end()
                for n, entry in enumerate(left):
                    if self.processes:
                        self.processes[n % len(self.processes)].todo.append(entry)
            else:
                self.about = told

        self._wait(list(self.processes), started)
        if not self.processes:
            raise NoLive(f"no process starts: {failed}")
        self.say(f"{self.about.get('card')}: {len(self.processes)} processes started, {time.monotonic() - self.began:.1f} s")

    def _wait(self, busy, done):
        """Hears those that have an order, until none has; ``done(process, told)`` may give another one."""
        while busy:
            ready = select.select([p.replies for p in busy], [], [], 0.1)[0]
            for process in list(busy):
                told = process.reply() if process.replies in ready else None
                if told is None and time.monotonic() > process.since + process.limit:
                    told = {"failed": f"does not come back within {process.limit:.0f} s", "broken": True}
                if told is not None:
                    process.order = None
                    done(process, told)
                    if process.order is None:
                        busy.remove(process)

    def _prepare(self):
        """All answers at once: loading and compiling them is the processors' work."""
        again = []

        def following(process):
            if process.todo and self.left() > 5:
                task, path = process.todo[0]
                process.give({"do": "prepare", "task": str(task.key), "path": path}, min(60.0, max(5.0, self.left() / 2)))

        def prepared(process, told):
            entry = process.todo.pop(0)
            if "failed" in told:
                self._note(entry, {"failed": told["failed"]})
                self.say(line_of(self.times[str(entry[0].key)]))
            else:
                process.prepared.append(entry)
            if told.get("broken"):
                again.extend((process.prepared + process.todo,))
                self.processes.remove(process)
                process.end()
            else:
                following(process)

        for process in self.processes:
            following(process)
        self._wait([p for p in self.processes if p.order], prepared)
        for entries in again:
            if self.left() > 15:
                self._replace(entries)
        count = sum(len(p.prepared) for p in self.processes)
        self.say(f"{count} answers compiled, {time.monotonic() - self.began:.1f} s")

    def _replace(self, entries):
        """Another process for tasks of one that is gone; it prepares them when their turn comes."""
        process = _Process(self.python, self.stand_in)
        process.give({"do": "start"}, 60.0)
        self._wait([process], lambda p, told: p.prepared.extend([] if "failed" in told else entries))
        process.fresh = True
        self.processes.append(process)

    def _inductor(self, each):
        """With what is left of the budget: inductor compiles those that it is asked for, as many at once as memory allows; then
        each is timed."""
        todo = {id(p): [e for e in p.done if str(e[0].key) in self.inductor] for p in self.processes}
        todo = {process: entries for process, entries in todo.items() if entries}
        if not todo or self.left() < 15:
            return
        room, used, ready = 0.6 * self.about.get("memory", 0) / 1e9 or 8.0, {}, []

        def following(process):
            entries = todo.get(id(process))
            if not entries or self.left() < 12:
                return
            weight = 3 * entries[0][0].gigabytes if self.sizes == "shipped" else 0.1
            if used and sum(used.values()) + weight > room:
                return
            used[id(process)] = weight
            process.entry = entries.pop(0)
            process.give({"do": "inductor", "task": str(process.entry[0].key), "sizes": self.sizes}, min(120.0, self.left() - 8))

        def compiled(process, told):
            used.pop(id(process), None)
            if "failed" in told:
                self.say(f"inductor, {process.entry[0].name}: {told['failed']}")
                self.times[str(process.entry[0].key)]["inductor_failed"] = told["failed"]
            else:
                ready.append((process, process.entry))
            if told.get("broken"):
                ready[:] = [one for one in ready if one[0] is not process]
                self.processes.remove(process)
                process.end()
            for other in self.processes:
                if other.order is None:
                    following(other)
                    if other.order is not None and other not in busy:
                        busy.append(other)

        for process in self.processes:
            following(process)
        busy = [p for p in self.processes if p.order]
        self._wait(busy, compiled)
        self.say(f"inductor compiled {len(ready)}, {time.monotonic() - self.began:.1f} s")
        for process, (task, path) in ready:
            if self.left() < 1.5 or process not in self.processes:
                break
            told = self._ask(process, {"do": "time_inductor", "task": str(task.key), "sizes": self.sizes, "seconds": self.seconds})
            one = self.times[str(task.key)]
            if "inductor_ms" in told:
                one.update(told, speedup_inductor=told["inductor_ms"] / one["ms"])
                self.say(line_of(one))
            each()

    def _ask(self, process, order):
        """The reply to one order, while nobody else works."""
        found = {}
        process.give(order, max(1.0, min(self.longest, self.left())))
        self._wait([process], lambda p, told: found.update(told))
        if found.get("broken"):
            self.processes.remove(process)
            process.end()
        return found

    def _time(self, each):
        """One after the other, in the order of the tasks."""
        order = {key: n for n, key in enumerate(self.names)}
        while True:
            waiting = [(order[str(entry[0].key)], entry, p) for p in self.processes for entry in p.prepared]
            # Those whose process had to be replaced come last.
            waiting.sort(key=lambda one: (one[2].fresh, one[0]))
            if not waiting:
                return
            _, entry, process = waiting[0]
            if self.left() < 2.0:
                for _, (task, path), _ in waiting:
                    self._note((task, path), self._too_late())
                self.say(f"the budget of {self.budget:g} s is spent: {len(waiting)} tasks are left out")
                return
            process.prepared.remove(entry)
            process.done.append(entry)
            self._note(entry, self._timed(process, entry))
            self.say(line_of(self.times[str(entry[0].key)]))
            each()

    def _timed(self, process, entry):
        task, path = entry
        found = {}
        if process.fresh:
            found = self._ask(process, {"do": "prepare", "task": str(task.key), "path": path})
        if "failed" not in found:
            found = self._ask(process, {"do": "time", "task": str(task.key), "path": path, "sizes": self.sizes, "seconds": self.seconds})
        if found.pop("broken", False):
            if process.prepared and self.left() > 15:
                self._replace(process.prepared)
            if self.left() < 1:
                return self._too_late()
        return found


def line_of(one) -> str:
    """A measurement as people read it."""
    head = f"{one['task']!s:>5} {one['name'][:40]:40}"
    if "failed" in one:
        return f"{head} not timed: {one['failed']}"
    if "left_out" in one:
        return f"{head} left out: {one['left_out']}"
    text = f"{head} {one['ms']:9.3f} ms  eager {one['eager_ms']:9.3f} ({one['speedup']:5.2f}x)"
    if one["eager_tf32_ms"] != one["eager_ms"]:
        text += f"  TF32 {one['eager_tf32_ms']:8.3f} ({one['speedup_tf32']:5.2f}x)"
    if "inductor_ms" in one:
        text += f"  inductor {one['inductor_ms']:8.3f} ({one['speedup_inductor']:5.2f}x)"
    if "over_bound" in one:
        text += f"  {one['over_bound']:6.2f} bounds"
    return text if one["agrees"] else f"{text}  DIFFERS by {one['difference']}"


def driver() -> str:
    """The version of the machine's driver; empty where nobody tells."""
    try:
        done = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], capture_output=True, text=True, timeout=10)
        return done.stdout.strip().splitlines()[0] if done.returncode == 0 and done.stdout.strip() else ""
    except (OSError, subprocess.TimeoutExpired):
        return ""
