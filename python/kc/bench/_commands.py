"""The commands of ``python -m kc.bench``: their options, and what they print."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import time

from . import facts
from .facts import SIZES
from .inputs import KINDS


def describe(commands):
    """Adds the commands to a parser."""
    one = commands.add_parser("list", help="the tasks: shapes, bytes, what bounds them")
    _of_tasks(one)
    _of_level(one)
    one.add_argument("--json", action="store_true", help="as JSON")
    one.add_argument("--tasks", dest="checkout", metavar="DIR", help="compare with a checkout of KernelBench: exit code 1 where it says something else")
    one.set_defaults(run=_list)

    one = commands.add_parser("new", help="write a file to fill, with a kernel that is right and slow")
    one.add_argument("task", help="its number or name; `2/9` is of level 2")
    one.add_argument("-o", "--out", metavar="FILE", help="the file [default: NNN_name.py]; `-` prints it")
    one.add_argument("--force", action="store_true", help="replace a file that is there")
    one.set_defaults(run=_new)

    one = commands.add_parser("verify", help="is an answer right?")
    one.add_argument("task", nargs="?", help="number or name of the task; `2/9` is of level 2")
    one.add_argument("answer", nargs="?", help="the file with the class `ModelNew`")
    _of_folders(one)
    one.add_argument(
        "--device", choices=["host", "sim", "gpu", "cuda"], default="host",
        help="`sim`: launches of kc's kernels again on the simulator, which finds races; `gpu`: the answer runs under `kc gpu`, with kernels of "
        "Triton, numba or CUDA C++; `cuda`: models of kc with arrays on a GPU",
    )
    one.add_argument("--sizes", action="append", choices=list(SIZES), help="only these sizes; may be repeated")
    one.add_argument("--inputs", action="append", choices=list(KINDS), help="only these inputs; may be repeated")
    one.add_argument("--seed", type=int, help="decides all random numbers [default: another one each time]")
    one.add_argument("--no-gradients", action="store_true", help="results only")
    one.add_argument("--only-gradients", action="store_true", help="gradients only")
    one.add_argument("--bits", action="store_true", help="refuse an answer whose bits differ when it runs again")
    one.add_argument("--dtype", choices=["float32", "float16", "bfloat16"], default="float32", help="what the answer is given")
    one.add_argument("--tf32", action="store_true", help="products may round their factors to 11 bits")
    one.add_argument("--time-limit", type=float, default=60.0, metavar="SECONDS", help="of each call [default: 60]")
    one.add_argument("--memory", type=float, default=6.0, metavar="GIB", help="of the answer's process [default: 6]")
    one.add_argument("--python", metavar="COMMAND", help="the Python that runs the answer [default: this one]")
    one.add_argument("--json", metavar="FILE", help="write what was found; `-` prints it")
    one.set_defaults(run=_verify)

    one = commands.add_parser("export", help="answers with kc's CUDA text in them, as upstream takes them")
    one.add_argument("task", nargs="?", help="number or name of the task; `2/9` is of level 2")
    one.add_argument("answer", nargs="?", help="the file with kernels of kc and the class `ModelNew`")
    _of_folders(one)
    one.add_argument("-o", "--out-dir", default=".", metavar="DIR", help="where the files go [default: here]")
    one.add_argument("--tf32", action="store_true", help="products by tensor cores, which round their factors to 11 bits")
    one.set_defaults(run=_export)

    one = commands.add_parser("time", help="how long an answer takes on this machine, beside NumPy or on a GPU beside PyTorch")
    one.add_argument("task", nargs="?", help="number or name of the task; `2/9` is of level 2")
    one.add_argument("answer", nargs="?", help="the file with the class `ModelNew`")
    _of_folders(one)
    one.add_argument("--device", choices=["host", "cuda"], default="host", help="this machine's processor, or its GPU [default: host]")
    one.add_argument("--sizes", choices=list(SIZES), default="scaled", help="`shipped` are the real ones, which take gigabytes [default: scaled]")
    one.add_argument("--most", type=float, metavar="GB", help="of `shipped` sizes leave out tasks with more bytes [default: 4; beside PyTorch on a GPU 40]")
    one.add_argument("--seconds", type=float, help="for each of both [default: 0.5; beside PyTorch on a GPU 0.15]")
    one.add_argument("--budget", type=float, metavar="SECONDS", help="on a GPU: end by then, and say what is left out")
    one.add_argument("--inductor", default="0", metavar="N|TASKS", help="on a GPU: time torch.compile as well, of so many tasks or of these (`23,40`) [default: 0]")
    one.add_argument("--jobs", type=int, metavar="N", help="on a GPU: so many processes compile [default: the processors but two, at most 12]")
    one.add_argument("--longest", type=float, default=20.0, metavar="SECONDS", help="on a GPU: a task that takes longer is left out [default: 20]")
    one.add_argument("--stand-in", choices=["cpu", "sim"], help="rehearse a GPU without one: tensors stay in the processor's memory")
    one.add_argument("--python", metavar="COMMAND", help="the Python that runs the answer [default: this one]")
    one.add_argument("--json", metavar="FILE", help="write the times; `-` prints them")
    one.add_argument("--report", action="append", default=[], metavar="FILE", help="on a GPU: a report, HTML or Markdown (.md); may be repeated")
    one.set_defaults(run=_time)

    one = commands.add_parser("report", help="what verify and time found, as HTML and as upstream's JSON")
    one.add_argument("results", nargs="+", metavar="FILE", help="files of `verify --json` and `time --json`")
    one.add_argument("-o", "--out", required=True, metavar="FILE", help="REPORT.html, eval_results.json in upstream's form, or a table in Markdown (.md)")
    one.set_defaults(run=_report)

    one = commands.add_parser("gate", help="exit code 1 if something became worse")
    one.add_argument("results", nargs="+", metavar="FILE", help="files of `verify --json` and `time --json`")
    one.add_argument("--baseline", action="append", required=True, metavar="FILE", help="those of before; may be repeated")
    one.add_argument("--slower", default="5%", metavar="PERCENT", help="how much longer an answer may take [default: 5%%]")
    one.set_defaults(run=_gate)


def _of_tasks(parser):
    parser.add_argument("tasks", nargs="*", metavar="TASK", help="numbers, ranges (1-18) or names [default: all]")
    parser.add_argument("--family", help="only this family, such as `norm`")


def _of_level(parser):
    parser.add_argument("--level", type=int, choices=facts.LEVELS, default=1, help="the level of numbers without one [default: 1]")


def _of_folders(parser):
    parser.add_argument("--all", metavar="FOLDER", help="all files NNN_name.py of a folder")
    parser.add_argument("--only", nargs="*", metavar="TASK", help="of these only numbers, ranges (1-18) or names")
    _of_level(parser)


def _list(given):
    from .__main__ import _selected

    tasks = _selected(given.tasks, given.family, given.level)
    if given.checkout:
        return _compare(given.checkout, tasks)
    if given.json:
        print(json.dumps([
            {"id": t.id, "level": t.level, "name": t.name, "family": t.family, "op": t.op, "inputs": t.input_shapes("shipped"),
             "gigabytes": t.gigabytes, "gflop": t.gflop, "bound_ms": t.bound_ms} for t in tasks
        ], indent=1))
        return 0
    for t in tasks:
        shapes = " ".join("x".join(map(str, s)) or "number" for s in t.input_shapes("shipped"))
        print(f"{t.key!s:>4} {t.title[:44]:44} {t.family[:18]:18} {t.gigabytes:6.2f} GB {t.bound_ms:7.3f} ms  {shapes}")
    return 0


def _compare(checkout, tasks):
    from . import upstream

    try:
        told = upstream.differences(checkout, tasks)
    except upstream.NoCheckout as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for line in told:
        print(line)
    print(f"{len(told)} differences" if told else f"{len(tasks)} tasks are as kc describes them")
    return 1 if told else 0


def _new(given):
    from .new import text_of

    task = facts.task(given.task)
    out = given.out or f"{task.id:03}_{'_'.join(task.title.lower().split())}.py"
    text = text_of(task)
    if out == "-":
        print(text, end="")
        return 0
    if os.path.exists(out) and not given.force:
        print(f"error: {out} is there already; --force replaces it", file=sys.stderr)
        return 2
    pathlib.Path(out).write_text(text, encoding="utf-8")
    print(f"{out}: a kernel that is right and slow. Try: python -m kc.bench verify {task.key} {out}")
    return 0


def _todo(given):
    """Tasks and files that a command is about; None: it says what is missing."""
    from .__main__ import _selected, _solutions

    if given.all:
        files = _solutions(given.all)
        other = [t for t in _selected(given.only, level=given.level) if t.level != given.level]
        if other:
            print(f"error: task {other[0].key} is of level {other[0].level}, and the folder's are of level {given.level} (--level)", file=sys.stderr)
            return None
        todo = [(t, files[t.id]) for t in _selected(given.only, level=given.level) if t.id in files]
        if todo:
            return todo
        print(f"error: {given.all} has no file NNN_name.py of these tasks", file=sys.stderr)
        return None
    if given.task and given.answer:
        return [(facts.task(given.task, given.level), given.answer)]
    print(f"error: {given.command} takes a task and a file, or --all FOLDER", file=sys.stderr)
    return None


def _write(text, path):
    if path == "-":
        print(text)
    else:
        pathlib.Path(path).write_text(text, encoding="utf-8")


def _time(given):
    from . import timing

    todo = _todo(given)
    if todo is None:
        return 2
    if given.stand_in or given.device == "cuda" and _has_torch():
        return _time_live(given, todo)
    times, most, seconds = [], given.most or 4.0, given.seconds or 0.5
    for task, path in todo:
        if given.sizes == "shipped" and task.gigabytes > most:
            print(f"{task.key!s:>4} {task.name[:44]:44} left out: {task.gigabytes} GB (--most)")
            continue
        times.append(timing.measure(task, path, seconds, python=given.python, device=given.device, sizes=given.sizes))
        print(timing.line_of(times[-1]), flush=True)
    if given.json:
        _write(json.dumps({"device": given.device, "times": times}, indent=1), given.json)
    return 1 if any("failed" in one for one in times) else 0


def _has_torch():
    """Whether there is a PyTorch that finds a GPU. It is asked in a process of its own: this one stays small."""
    asked = "import torch, sys; sys.exit(0 if torch.cuda.is_available() else 1)"
    return subprocess.run([sys.executable, "-c", asked], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def _time_live(given, todo):
    from . import live, live_report
    from .__main__ import _selected

    heavy = [t for t, _ in todo if given.sizes == "shipped" and t.gigabytes > (given.most or 40.0)]
    todo = [(t, path) for t, path in todo if t not in heavy]
    for task in heavy:
        print(f"{task.key!s:>4} {task.name[:44]:44} left out: {task.gigabytes} GB (--most)")
    if given.inductor.isdigit():
        # The lightest: they are compiled beside each other, with their arrays.
        chosen = [t for t, _ in sorted(todo, key=lambda one: one[0].gigabytes)][: int(given.inductor)]
    else:
        chosen = _selected(given.inductor.split(","), level=given.level)
    run = live.Live(
        given.sizes, given.seconds or 0.15, given.budget, given.jobs, [str(t.key) for t in chosen], given.longest, given.python, given.stand_in,
        say=lambda line: print(line, flush=True),
    )

    def write():
        data = {"device": "cuda", "about": {**run.about, **more}, "times": [run.times[key] for key in run.names if key in run.times]}
        if given.json and given.json != "-":
            _write(json.dumps(data, indent=1), given.json)
        return data

    more = {"driver": live.driver(), "date": time.strftime("%Y-%m-%d"), "command": "python -m kc.bench " + " ".join(sys.argv[1:])}
    try:
        run.run(todo, write)
    except live.NoLive as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    data = write()
    if given.json == "-":
        print(json.dumps(data, indent=1))
    for path in given.report:
        _write(live_report.table(data) if path.endswith(".md") else live_report.page(data), path)
    print("\n".join(live_report.summary(data)))
    return 1 if any("failed" in one for one in data["times"]) else 0


def _report(given):
    from . import live_report, report

    try:
        alone = live_report.alone(given.results)
        if alone and not given.out.endswith(".json"):
            _write(live_report.table(alone) if given.out.endswith(".md") else live_report.page(alone), given.out)
            return 0
        found = report.load(given.results)
    except report.Unreadable as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if given.out.endswith(".json"):
        if len({str(key).partition("/")[0] if "/" in str(key) else "1" for key in found}) > 1:
            print("error: upstream's form has one level: give the results of one", file=sys.stderr)
            return 2
        _write(json.dumps(report.upstream(found), indent=4), given.out)
    elif given.out.endswith(".md"):
        _write(report.table(found), given.out)
    else:
        _write(report.page(found), given.out)
    return 0


def _gate(given):
    from . import report

    try:
        slower = float(given.slower.rstrip("%")) / 100
    except ValueError:
        print(f"error: --slower is a number of percent, not `{given.slower}`", file=sys.stderr)
        return 2
    try:
        worse = report.gate(report.load(given.results), report.load(given.baseline), slower)
    except report.Unreadable as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for line in worse:
        print(line)
    print(f"{len(worse)} became worse" if worse else "nothing became worse")
    return 1 if worse else 0


def _export(given):
    from . import export

    todo = _todo(given)
    if todo is None:
        return 2
    os.makedirs(given.out_dir, exist_ok=True)
    failed = 0
    for task, path in todo:
        try:
            text = export.text_of(task, path, tf32=given.tf32)
        except export.NotExported as error:
            print(f"{task.key} {task.title}: not exported: {error}")
            failed += 1
            continue
        out = os.path.join(given.out_dir, export.name_of(task))
        pathlib.Path(out).write_text(text, encoding="utf-8")
        print(out)
    return 1 if failed else 0


def _verify(given):
    from .oracle import Oracle
    from .process import Limits

    todo = _todo(given)
    if todo is None:
        return 2
    oracle = Oracle(
        seed=given.seed, sizes=given.sizes, kinds=given.inputs, gradients=not given.no_gradients, forward=not given.only_gradients,
        device=given.device, dtype=given.dtype, allow_tf32=given.tf32, bits=given.bits, python=given.python,
        process_limits=Limits(seconds=given.time_limit, memory=int(given.memory * 2**30)),
    )
    verdicts = []
    for task, path in todo:
        verdicts.append(oracle.verify(task, path))
        print(line_of(verdicts[-1]), flush=True)
        if given.json and given.json != "-":
            # Whoever ends a long run has what was found until then.
            _write(_found(oracle, given, verdicts), given.json)
    if len(todo) > 1:
        print(summary_of(verdicts))
    if given.json == "-":
        print(_found(oracle, given, verdicts))
    return 0 if all(v.right for v in verdicts) else 1


def _found(oracle, given, verdicts):
    return json.dumps({"seed": oracle.seed, "device": given.device, "verdicts": [v.as_dict() for v in verdicts]}, indent=1)


def line_of(verdict) -> str:
    """A verdict as people read it."""
    task, refusal = verdict.task, verdict.refusal
    if refusal is None:
        gradients = f", {verdict.gradients} gradients" if verdict.gradients else ""
        launches = f", {verdict.launches} launches" if verdict.launches else ""
        bits = "" if verdict.deterministic else ", bits differ between runs"
        worst = max(verdict.worst, verdict.worst_gradient)
        text = f"{task.key} {task.title}: right in {verdict.cases} cases{gradients}{launches}; largest error {worst:.2f} of its limit{bits} ({verdict.seconds:.1f} s)"
    else:
        case = f"\n  inputs `{refusal.inputs}`, sizes `{refusal.sizes}`, seed {refusal.seed}" if refusal.inputs else ""
        text = f"{task.key} {task.title}: REFUSED: {refusal.text}{case}\n  again: {refusal.command}"
    return text + "".join(f"\n  note: {note}" for note in verdict.notes)


def summary_of(verdicts) -> str:
    """One line about all of them."""
    right = sum(v.right for v in verdicts)
    gradients = sum(v.right and v.gradients > 0 for v in verdicts)
    return f"{right} of {len(verdicts)} right, gradients of {gradients}, {sum(v.seconds for v in verdicts):.0f} s"
