"""How fast is `kc lsp`, and does its memory stay flat?

    lsp.py [--kc target/release/kc] [--edits 200] [--flood 10000] [--busy]

Prints a table of wall-clock times as a client sees them, on files of about 500 and 4,000 lines, with the processor time
that the server and its children took for them, and the memory of the server before and after a flood of edits. The limits
are the project's own goals for the static release; a row above its limit is marked, and the exit status is 1. On a machine
that does other work, too, wall-clock times say little: `--busy` judges by processor time.
"""

import argparse
import json
import os
import pathlib
import queue
import subprocess
import sys
import threading
import time

HEAD = '''import warp as wp


@wp.struct
class Particle:
    position: wp.vec3
    velocity: wp.vec3
    mass: float


@wp.func
def weight(r: float, h: float):
    """A smooth weight that ends at `h`."""
    q = wp.max(0.0, 1.0 - r / h)
    return q * q * q
'''

KERNEL = '''

@wp.kernel
def forces_{n}(
    particles: wp.array(dtype=Particle),
    neighbours: wp.array2d(dtype=int),
    count: wp.array(dtype=int),
    h: float,
    force: wp.array(dtype=wp.vec3),
):
    i = wp.tid()
    here = particles[i].position
    total = wp.vec3(0.0, 0.0, 0.0)
    for k in range(count[i]):
        j = neighbours[i, k]
        away = here - particles[j].position
        distance = wp.length(away)
        if distance > 0.0:
            total += away / distance * weight(distance, h) * particles[j].mass
    speed = wp.length(particles[i].velocity)
    if speed > 100.0:
        total = total * (100.0 / speed)
    force[i] = total
'''

URI = "file:///tmp/bench.py"


class Client:
    """A client that measures from the first byte it sends to the last byte it gets."""

    def __init__(self, kc):
        begin = time.perf_counter()
        self.process = subprocess.Popen([kc, "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.last = 0
        self.inbox = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()
        self.ask("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
        self.initialize = time.perf_counter() - begin, self.cpu()
        self.tell("initialized", {})

    def read(self):
        stream = self.process.stdout
        while True:
            length = 0
            while line := stream.readline().strip():
                name, value = line.split(b":")
                length = int(value)
            if not length:
                return
            self.inbox.put((time.perf_counter(), stream.read(length)))

    def send(self, message):
        body = json.dumps(message).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self.process.stdin.flush()

    def tell(self, method, params):
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def ask(self, method, params):
        """The result, and the seconds it took."""
        self.last += 1
        begin = time.perf_counter()
        self.send({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params})
        while True:
            at, body = self.inbox.get(timeout=60)
            message = json.loads(body)
            if message.get("id") == self.last:
                if "error" in message:
                    raise SystemExit(f"{method}: {message['error']}")
                return message["result"], at - begin

    def timed(self, method, params):
        """The result, with the wall-clock and the processor time it took."""
        before = self.cpu()
        result, seconds = self.ask(method, params)
        return result, (seconds, self.cpu() - before)

    def settle(self):
        """Waits until the server has nothing to do, so that a question is measured alone."""
        threads = pathlib.Path(f"/proc/{self.process.pid}/task")
        state = lambda thread: thread.read_text().rsplit(")", 1)[1].split()[0]
        while any(state(thread) != "S" for thread in threads.glob("*/stat")):
            time.sleep(0.002)

    def findings(self, version):
        """When the findings of a version came, and how many they are."""
        while True:
            at, body = self.inbox.get(timeout=60)
            message = json.loads(body)
            if message.get("method") == "textDocument/publishDiagnostics" and message["params"]["version"] == version:
                return at, len(message["params"]["diagnostics"])

    def cpu(self):
        """The processor time of the server and of its children that ended, in seconds."""
        threads = pathlib.Path(f"/proc/{self.process.pid}/task").glob("*/schedstat")
        own = sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        children = (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")
        return own + children

    def memory(self):
        """What the server holds, in MB."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1000


def text_of(lines):
    text, n = HEAD, 0
    while text.count("\n") < lines:
        text += KERNEL.format(n=n)
        n += 1
    return text


def percentile(values, part):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * part))]


class Table:
    def __init__(self, busy):
        self.busy, self.missed = busy, False
        print(f"{'':42} {'wall':>9}  {'processor':>10}")

    def row(self, what, value, limit, unit="ms", cpu=None):
        over = (cpu if self.busy and cpu is not None else value) > limit
        self.missed |= over
        spent = "" if cpu is None else f"{cpu:9.1f}"
        print(f"{what:42} {value:9.1f}  {spent:>10} {unit:3} (goal {limit:g}){'  OVER' if over else ''}", flush=True)

    def times(self, what, pairs, part, limit):
        """A percentile of pairs of wall-clock and processor times."""
        wall, cpu = ([pair[n] * 1e3 for pair in pairs] for n in (0, 1))
        self.row(what, percentile(wall, part), limit, cpu=percentile(cpu, part))


def session(kc, lines, goals, edits, table):
    text = text_of(lines)
    client = Client(kc)
    print(f"-- {text.count(chr(10))} lines")
    table.times("initialize, with the start of the process", [client.initialize], 0, 20)
    begin, before = time.perf_counter(), client.cpu()
    client.tell("textDocument/didOpen",
                {"textDocument": {"uri": URI, "languageId": "python", "version": 1, "text": text}})
    at, _ = client.findings(1)
    table.times("open to findings", [(at - begin, client.cpu() - before)], 0, goals["open"])
    # A person changes a number in the last kernel, so that every second state has one error more.
    lines_of = text.split("\n")
    line = max(n for n, content in enumerate(lines_of) if "speed > 100.0" in content)
    column = lines_of[line].index("100.0")
    spent, hovers, completions, now = [], [], [], "100.0"
    for version in range(2, edits + 2):
        new = "total" if now == "100.0" else "100.0"
        change = {"range": {"start": {"line": line, "character": column},
                            "end": {"line": line, "character": column + len(now)}}, "text": new}
        now = new
        begin, before = time.perf_counter(), client.cpu()
        client.tell("textDocument/didChange",
                    {"textDocument": {"uri": URI, "version": version}, "contentChanges": [change]})
        at, _ = client.findings(version)
        spent.append((at - begin, client.cpu() - before))
        client.settle()
        place = {"textDocument": {"uri": URI}, "position": {"line": line, "character": column - 4}}
        hovers.append(client.timed("textDocument/hover", place)[1])
        name = {"line": line - 1, "character": lines_of[line - 1].index("wp.") + 3}
        field = {"line": line - 1, "character": lines_of[line - 1].index("velocity")}
        result, seconds = client.timed("textDocument/completion",
                                       {"textDocument": {"uri": URI}, "position": field if version % 2 else name})
        assert result["items"], "no proposals"
        completions.append(seconds)
    table.times("edit to findings, p50", spent, 0.5, goals["p50"])
    table.times("edit to findings, p95", spent, 0.95, goals["p95"])
    table.times("hover, p95", hovers, 0.95, 5)
    table.times("completion, p95", completions, 0.95, 20)
    views = [client.timed("kc/view", {"uri": URI, "kernel": "forces_0", "view": "ptx"})[1] for _ in range(9)]
    table.times("PTX of a kernel after an edit, p50", views, 0.5, goals["ptx"])
    table.row("memory", client.memory(), 60, "MB")
    return client, line, column


def flood(client, line, column, count, table):
    """Edits without a pause, each a key: memory before and after."""
    before = client.memory()
    version = 10_000
    begin = time.perf_counter()
    for n in range(count):
        version += 1
        change = {"range": {"start": {"line": line, "character": column},
                            "end": {"line": line, "character": column + n % 2}}, "text": "" if n % 2 else "1"}
        client.tell("textDocument/didChange",
                    {"textDocument": {"uri": URI, "version": version}, "contentChanges": [change]})
    at, _ = client.findings(version)
    print(f"{count} edits in {at - begin:.2f} s, until the last one was judged")
    table.row("memory after them", client.memory(), 60, "MB")
    table.row("memory gained by them", client.memory() - before, 5, "MB")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--kc", default="target/release/kc")
    parser.add_argument("--edits", type=int, default=200)
    parser.add_argument("--flood", type=int, default=10_000)
    parser.add_argument("--busy", action="store_true")
    options = parser.parse_args()
    table = Table(options.busy)
    small = {"open": 40, "p50": 10, "p95": 20, "ptx": 300}
    large = {"open": 150, "p50": 60, "p95": 100, "ptx": 1000}
    client, line, column = session(options.kc, 480, small, options.edits, table)
    flood(client, line, column, options.flood, table)
    client.process.kill()
    client, *_ = session(options.kc, 3970, large, max(options.edits // 4, 10), table)
    client.process.kill()
    sys.exit(table.missed)


if __name__ == "__main__":
    main()
