"""An answer in a process of its own, with limits on its time, memory, output and processes."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from ._children import environment

#: So many processes an answer may have at once: compilers of other languages need some.
_MOST_PROCESSES = 32


class Limits:
    """What an answer may take: seconds for a call and for loading, bytes of memory, of output and
    of a file."""

    def __init__(self, seconds=60.0, memory=6 << 30, output=1 << 20, file=4 << 30):
        self.seconds, self.memory, self.output, self.file = seconds, memory, output, file


class Failed(Exception):
    """The answer could not be run; the text is the rest of a sentence that begins with its name."""


class Process:
    """Runs one answer. ``call`` sends an order and waits; what goes wrong is ``Failed``, after
    which the process is gone."""

    def __init__(self, path, limits=None, python=None, poison=True, on_gpu=False, device=None):
        # What is not written is NaN or a huge number; who measures times does without.
        self.poison = poison
        # Under `kc gpu`: programs that use CUDA find a simulated GPU.
        self.on_gpu, self.worker = on_gpu, None
        # The GPU that the answer's arrays are on; None: the host's memory.
        self.device = device
        self.path, self.limits, self.python = os.path.abspath(path), limits or Limits(), python or sys.executable
        if os.sep in self.python:
            # It starts in a folder of its own.
            self.python = os.path.abspath(self.python)
        self.folder = tempfile.mkdtemp(prefix="kc-bench-")
        self.home = os.path.join(self.folder, "home")
        self.scratch = os.path.join(self.folder, "tmp")
        os.mkdir(self.home)
        os.mkdir(self.scratch)
        self.child = None
        self.printed = 0
        self.text = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self._end()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self):
        """Starts the process and loads the answer."""
        if not os.path.isfile(self.path):
            raise Failed("is no file")
        orders, self.orders = os.pipe()
        self.replies, replies = os.pipe()
        limits = self.limits

        def prepare():
            import resource

            # The numbers that the worker knows, whatever they are here.
            first, second = os.dup(orders), os.dup(replies)
            while first in (3, 4):
                first = os.dup(first)
            while second in (3, 4):
                second = os.dup(second)
            os.dup2(first, 3)
            os.dup2(second, 4)
            # A driver keeps tables in this process, the simulated one the GPU's memory, too.
            memory = limits.memory + ((16 << 30) if self.on_gpu or self.device else 0)
            resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
            resource.setrlimit(resource.RLIMIT_FSIZE, (limits.file, limits.file))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        more = {"TMPDIR": self.scratch, "PYTHONDONTWRITEBYTECODE": "1"}
        if self.poison:
            # Memory that is asked of the C library is full of 0x7f: no result of anything.
            more["MALLOC_PERTURB_"] = "128"
        before = [sys.executable, "-m", "kc", "gpu", "--color", "never", "--memory", "2G", "--"] if self.on_gpu else []
        self.child = subprocess.Popen(
            [*before, self.python, "-m", "kc.bench._worker", self.path, *([] if self.poison else ["plain"])], cwd=self.home, env=environment(**more), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True, close_fds=False, preexec_fn=prepare,
        )
        os.close(orders)
        os.close(replies)
        self._lines, self.printed, self.text = b"", 0, b""
        self.reader = threading.Thread(target=self._read, args=(self.child,), daemon=True)
        self.reader.start()
        self.worker = self.child.pid
        # Importing takes longer than a call: PyTorch alone takes seconds.
        told = self.call({"do": "load", "device": self.device}, 3 * self.limits.seconds)
        self.worker = told["pid"]
        return told

    def finish(self, seconds=60.0):
        """Lets the process end; what it printed last, and its exit code. It can be started again."""
        os.close(self.orders)
        self.orders = os.open(os.devnull, os.O_WRONLY)
        try:
            code = self.child.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            self._fail("does not end")
        self.reader.join(timeout=5)
        text = self.text.decode(errors="replace")
        self._end()
        return code, text

    def _read(self, child):
        while chunk := child.stdout.read1(1 << 16):
            self.printed += len(chunk)
            # The first of it; what is found on the simulated GPU is said last.
            self.text = (self.text + chunk)[-(1 << 16) :] if self.on_gpu else (self.text + chunk)[:4096]

    def call(self, order, seconds=None):
        """The reply to an order."""
        seconds = seconds or self.limits.seconds
        # A reply that does not have it is not the worker's.
        ticket = os.urandom(8).hex()
        try:
            os.write(self.orders, json.dumps({**order, "ticket": ticket}).encode() + b"\n")
        except OSError:
            self._gone()
        until = time.monotonic() + seconds
        while b"\n" not in self._lines:
            if time.monotonic() > until:
                self._fail(f"does not come back within {seconds:g} s")
            if self.printed > self.limits.output:
                self._fail(f"prints more than {self.limits.output:,} bytes")
            if len(_descendants(self.worker)) > _MOST_PROCESSES:
                self._fail(f"starts more than {_MOST_PROCESSES} processes")
            if select.select([self.replies], [], [], 0.1)[0]:
                chunk = os.read(self.replies, 1 << 16)
                if not chunk:
                    self._gone()
                self._lines += chunk
        line, _, self._lines = self._lines.partition(b"\n")
        try:
            told = json.loads(line)
        except ValueError:
            told = None
        if not isinstance(told, dict) or told.get("ticket") != ticket:
            self._fail("writes to the connection of its process")
        left = _descendants(told.get("pid") or self.worker)
        if left:
            self._fail(f"leaves {len(left)} {'process' if len(left) == 1 else 'processes'} running")
        if self.printed > self.limits.output:
            self._fail(f"prints more than {self.limits.output:,} bytes")
        if not told["ok"]:
            raise Failed(told["text"])
        return told

    def written(self):
        """Files that the answer wrote into its folder."""
        return sorted(os.path.relpath(os.path.join(at, name), self.home) for at, _, names in os.walk(self.home) for name in names)

    def _gone(self):
        try:
            code = self.child.wait(timeout=2)
        except subprocess.TimeoutExpired:
            self._fail("closes the connection of its process")
        if code < 0:
            name = signal.Signals(-code).name
            more = " (it may have more memory than it was allowed)" if code in (-signal.SIGABRT, -signal.SIGSEGV) else ""
            self._fail(f"ends its process by {name}{more}")
        last = self.text.decode(errors="replace").strip().splitlines()
        self._fail(f"ends its process with code {code}" + (f": {last[-1][:200]}" if last else ""))

    def _fail(self, text):
        self._end()
        raise Failed(text)

    def _end(self):
        if self.child is None:
            return
        for pid in _descendants(self.child.pid):
            _kill(pid)
        try:
            os.killpg(self.child.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass
        self.child.wait()
        self.child.stdout.close()
        for one in (self.orders, self.replies):
            os.close(one)
        self.child = None


def _kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def _descendants(pid):
    """The processes that come from this one, in its session or as its children's children; those
    that have ended are left out."""
    parents, found = {}, set()
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == pid:
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            continue
        if fields[0] in (b"Z", b"X"):
            continue
        parents[int(name)] = int(fields[1])
        if int(fields[3]) == pid:
            found.add(int(name))
    grown = True
    while grown:
        more = {p for p, parent in parents.items() if parent in found or parent == pid} - found
        found |= more
        grown = bool(more)
    return found
