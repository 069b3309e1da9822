"""Reports of times beside PyTorch on a GPU: a summary, a table in Markdown, a page of HTML."""

from __future__ import annotations

import html
import json
import math

from . import cards, facts


def alone(paths):
    """What one file says that holds times beside PyTorch; None: there are others."""
    if len(paths) != 1:
        return None
    with open(paths[0], encoding="utf-8") as file:
        try:
            data = json.load(file)
        except ValueError:
            return None
    return data if isinstance(data, dict) and "about" in data and "times" in data else None


def fast(times, p, column="speedup") -> int:
    """How many are right and more than ``p`` times as fast as PyTorch."""
    return sum(one.get("agrees", False) and one.get(column, 0) > p for one in times)


def _mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def summary(data) -> list:
    """The figures of all tasks, as sentences."""
    times, about = data["times"], data["about"]
    timed = [one for one in times if "ms" in one]
    right = [one for one in timed if one["agrees"]]
    machine = [about.get("card", ""), f"driver {about['driver']}" if about.get("driver") else "", f"PyTorch {about.get('torch')}", f"CUDA {about['cuda']}" if about.get("cuda") else ""]
    told = [", ".join(word for word in machine if word) + f", {about.get('date', '')}"]
    failed, out = sum("failed" in one for one in times), sum("left_out" in one for one in times)
    told.append(f"{len(timed)} of {len(times)} tasks timed, {len(right)} agree with PyTorch; {failed} failed, {out} left out")
    for column, name in (("speedup", "strict float32"), ("speedup_tf32", "TF32 in cuDNN, as PyTorch does unless told otherwise")):
        told.append(f"fast_p beside eager, {name}: " + ", ".join(f"{fast(times, p, column)} above {p:g}x" for p in (0.5, 0.8, 1, 1.5, 2)))
    compiled = [one for one in right if "inductor_ms" in one]
    if compiled:
        best = sum(one["ms"] < min(one["inductor_ms"], one["eager_ms"]) for one in compiled)
        told.append(f"beside inductor: {fast(times, 1, 'speedup_inductor')} of {len(compiled)} faster; {best} faster than the better of eager and inductor")
    mean = _mean([one["speedup"] for one in right])
    if mean:
        told.append(f"speed-up over eager: {mean:.2f} (geometric mean of {len(right)})")
    for name, which in (("memory-bound", True), ("compute-bound", False)):
        of = [one for one in right if "over_bound" in one and cards.by_memory(facts.task(one["task"])) == which]
        mine, eager = _mean([one["over_bound"] for one in of]), _mean([one["eager_ms"] / one["bound_ms"] for one in of])
        if of:
            told.append(f"time / bound of {len(of)} {name} tasks: {mine:.2f}, eager {eager:.2f} (geometric means)")
    return told


_HEAD = ("task", "name", "family", "ms", "eager ms", "TF32 ms", "inductor ms", "speed-up", "with TF32", "bound ms", "time / bound", "difference")


def _cells(one):
    task = facts.task(one["task"])
    known = lambda value, form: "" if value is None else format(value, form)
    if "ms" not in one:
        return [str(one["task"]), " ".join(task.title.split()), task.family, one.get("failed") and "failed" or "left out"] + [""] * 5 + [known(one.get("bound_ms"), ".3g"), "", ""]
    tf32 = one["eager_tf32_ms"] if one["eager_tf32_ms"] != one["eager_ms"] else None
    return [
        str(one["task"]), " ".join(task.title.split()), task.family, known(one["ms"], ".4g"), known(one["eager_ms"], ".4g"), known(tf32, ".4g"),
        known(one.get("inductor_ms"), ".4g"), known(one["speedup"], ".2f"), known(one["speedup_tf32"], ".2f"), known(one.get("bound_ms"), ".3g"),
        known(one.get("over_bound"), ".2f"), known(one["difference"], ".1e") + ("" if one["agrees"] else " (differs)"),
    ]


def table(data) -> str:
    """All tasks as a table in Markdown, behind the summary."""
    lines = [f"- {line}" for line in summary(data)]
    lines += ["", "```", data["about"].get("command", ""), "```", "", "| " + " | ".join(_HEAD) + " |", "|" + "---|" * len(_HEAD)]
    for one in data["times"]:
        cells = _cells(one)
        cells[1], cells[2] = f"`{cells[1]}`", f"`{cells[2]}`"
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def page(data, title="kc.bench on a GPU") -> str:
    """The same as one HTML file."""
    from .report import _STYLE

    told = "".join(f"<li>{html.escape(line)}</li>" for line in summary(data))
    head = "".join(f'<th class="n">{name}</th>' if n not in (1, 2) else f"<th>{name}</th>" for n, name in enumerate(_HEAD))
    rows = []
    for one in data["times"]:
        cells = "".join(f'<td class="n">{html.escape(text)}</td>' if n not in (1, 2) else f"<td>{html.escape(text)}</td>" for n, text in enumerate(_cells(one)))
        rows.append(f"<tr>{cells}</tr>")
        why = one.get("failed") or one.get("left_out")
        if why:
            rows.append(f'<tr><td></td><td class="why" colspan="{len(_HEAD) - 1}">{html.escape(why)}</td></tr>')
    body = "\n".join(rows)
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{html.escape(title)}</title><style>{_STYLE}</style></head><body>
<h1>{html.escape(title)}</h1>
<ul>{told}</ul>
<p><code>{html.escape(data["about"].get("command", ""))}</code></p>
<table><thead><tr>{head}</tr></thead>
<tbody>
{body}
</tbody></table>
</body></html>
"""
