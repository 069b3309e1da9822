"""Reports of what ``verify`` and ``time`` found: HTML in one file, JSON as upstream's analysis reads it, and a gate for CI."""

from __future__ import annotations

import html
import json
import math

from . import facts


class Unreadable(Exception):
    """A file is no result of ``verify`` or ``time``."""


def load(paths) -> dict:
    """What files say, by task: ``{"verdict": ..., "time": ...}``; a later file wins."""
    found = {}
    for path in paths:
        try:
            with open(path, encoding="utf-8") as file:
                data = json.load(file)
        except ValueError as error:
            raise Unreadable(f"{path} is no JSON: {error}") from None
        if not isinstance(data, dict) or not ("verdicts" in data or "times" in data):
            raise Unreadable(f"{path} is no result of `verify --json` or `time --json`")
        for one in data.get("verdicts", []):
            key = "simulator" if data.get("device") == "sim" else "verdict"
            found.setdefault(one["task"], {})[key] = one
        for one in data.get("times", []):
            found.setdefault(one["task"], {})["time"] = one
    return found


def _place(item):
    """Sorts by level and number."""
    level, slash, number = str(item[0]).partition("/")
    return (int(level), int(number)) if slash else (1, int(level))


def _task(key):
    try:
        return facts.task(key)
    except facts.UnknownTask:
        return None


def fast(found, p) -> float:
    """fast_p: the share of tasks that are right and more than ``p`` times as fast as what they are compared with."""
    if not found:
        return 0.0
    good = [one for one in found.values() if one.get("verdict", {}).get("right") and one.get("time", {}).get("speedup", 0) > p]
    return len(good) / len(found)


def upstream(found) -> dict:
    """``eval_results.json`` as upstream's ``benchmark_eval_analysis.py`` reads it."""
    made = {}
    for number, one in sorted(found.items(), key=_place):
        verdict, time = one.get("verdict"), one.get("time", {})
        refusal = (verdict or {}).get("refusal") or {}
        made[str(number).rpartition("/")[2]] = [{
            "sample_id": 0,
            "compiled": refusal.get("what") != "failed",
            "correctness": bool(verdict["right"] if verdict else time.get("agrees")),
            "metadata": {"checked_by": "kc.bench", "hardware": time.get("device", "host"), **({"refusal": refusal["text"]} if refusal else {})},
            "runtime": time.get("ms", -1.0),
            "runtime_stats": {"median": time.get("ms", -1.0), "num_trials": time.get("runs", 0)},
        }]
    return made


_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 75em; padding: 0 1em; color: #1b1f24; background: #fff }
table { border-collapse: collapse; width: 100% } th, td { padding: .25em .6em; text-align: left; border-bottom: 1px solid #d8dee4 }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums } .right { color: #1a7f37 } .wrong { color: #b42318; font-weight: 600 }
code { font-size: 90% } .why { font-size: 90%; color: #57606a } figure { margin: 1em 0 }
@media (prefers-color-scheme: dark) { body { color: #d1d7e0; background: #15191f } th, td { border-color: #333b46 }
 .right { color: #57c878 } .wrong { color: #ff8a80 } .why { color: #9aa4b2 } }
"""


def page(found, title="kc.bench") -> str:
    """The report as one HTML file."""
    right = sum(bool(one.get("verdict", {}).get("right")) for one in found.values())
    with_gradients = sum(one.get("verdict", {}).get("gradients", 0) > 0 and one["verdict"]["right"] for one in found.values())
    simulated = [one["simulator"] for one in found.values() if "simulator" in one]
    timed = [one["time"] for one in found.values() if "ms" in one.get("time", {})]
    lines = [f"{right} of {len(found)} tasks right, gradients of {with_gradients}."]
    if simulated:
        lines.append(f"On the simulator {sum(one['right'] for one in simulated)} of {len(simulated)}: no races, no stray accesses.")
    if timed:
        shares = ", ".join(f"{100 * fast(found, p):.0f} % above {p}x" for p in (1, 2, 5))
        on_gpu = any(one.get("device") == "cuda" for one in timed)
        beside = "upstream's figures of eager PyTorch on an H100" if on_gpu else "NumPy on this machine"
        lines.append(f"Beside {beside}: {shares}.")
        over = [one["over_bound"] for one in timed if "over_bound" in one]
        if over:
            lines.append(f"Over the bound: {math.exp(sum(map(math.log, over)) / len(over)):.2f} times (geometric mean of {len(over)}).")
    rows = "\n".join(_row(number, one) for number, one in sorted(found.items(), key=_place))
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{html.escape(title)}</title><style>{_STYLE}</style></head><body>
<h1>{html.escape(title)}</h1>
<p>{' '.join(lines)}</p>
<table><thead><tr><th class="n">task</th><th>name</th><th>family</th><th>result</th><th class="n">cases</th><th class="n">gradients</th>
<th class="n">error / limit</th><th class="n">ms</th><th class="n">NumPy ms</th><th class="n">speed-up</th><th class="n">H100 bound ms</th></tr></thead>
<tbody>
{rows}
</tbody></table>
</body></html>
"""


def _row(number, one):
    task = _task(number)
    verdict, time = one.get("verdict"), one.get("time", {})
    result, why = "not checked", ""
    if verdict:
        result = '<span class="right">right</span>' if verdict["right"] else '<span class="wrong">refused</span>'
        if not verdict["right"]:
            refusal = verdict["refusal"]
            why = f'<tr><td></td><td class="why" colspan="10">{html.escape(refusal["text"])}<br><code>{html.escape(refusal["command"])}</code></td></tr>'
    number_of = lambda value, form: "" if value is None else format(value, form)
    worst = max(verdict["worst"], verdict["worst_gradient"]) if verdict and verdict["right"] else None
    cells = [
        ("n", number), ("", html.escape(task.title if task else "")), ("", html.escape(task.family if task else "")), ("", result),
        ("n", verdict["cases"] if verdict else ""), ("n", verdict["gradients"] if verdict else ""), ("n", number_of(worst, ".2f")),
        ("n", number_of(time.get("ms"), ".3f")), ("n", number_of(time.get("numpy_ms"), ".3f")), ("n", number_of(time.get("speedup"), ".2f")),
        ("n", number_of(task.bound_ms if task else None, ".3f")),
    ]
    return "<tr>" + "".join(f'<td class="{kind}">{text}</td>' if kind else f"<td>{text}</td>" for kind, text in cells) + f"</tr>{why}"


def table(found) -> str:
    """The same as a table in Markdown, for a page."""
    lines = [
        "| task | name | family | host | gradients | simulator | error / limit | H100 bound, ms |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for number, one in sorted(found.items(), key=_place):
        task, verdict, sim = facts.task(number), one.get("verdict"), one.get("simulator")
        said = lambda v: "" if v is None else f"right in {v['cases']}" if v["right"] else "refused"
        gradients = "" if verdict is None else str(verdict["gradients"]) if task.has_gradient else "none"
        worst = f"{max(verdict['worst'], verdict['worst_gradient']):.2f}" if verdict and verdict["right"] else ""
        cells = (number, f"`{' '.join(task.title.split())}`", f"`{task.family}`", said(verdict), gradients, said(sim), worst, f"{task.bound_ms:.3g}")
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines) + "\n"


def gate(found, baseline, slower=0.05) -> list:
    """What became worse: tasks that were right and are not, or are missing, and those that take more than ``slower`` longer. Sentences."""
    told = []
    for number, before in sorted(baseline.items(), key=_place):
        now = found.get(number, {})
        for key, where in (("verdict", ""), ("simulator", " on the simulator")):
            if before.get(key, {}).get("right") and not now.get(key, {}).get("right"):
                why = (now.get(key, {}).get("refusal") or {}).get("text", "it was not checked")
                told.append(f"{before[key]['name']} was right{where}, and is not: {why}")
        if before.get("verdict", {}).get("gradients") and now.get("verdict", {}).get("right") and not now["verdict"]["gradients"]:
            told.append(f"{before['verdict']['name']} had its gradients checked, and has not")
        old, new = before.get("time", {}).get("ms"), now.get("time", {}).get("ms")
        if old and not new:
            told.append(f"{before['time']['name']} was timed, and is not")
        elif old and new > old * (1 + slower):
            told.append(f"{before['time']['name']} takes {new:.3f} ms, {100 * (new / old - 1):.0f} % more than {old:.3f} ms")
    return told
