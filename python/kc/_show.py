"""What notebooks show of kernels and modules: tabs, in HTML that runs no script."""

from __future__ import annotations

import html
import itertools
import os

_COUNT = itertools.count()
#: Longer texts are cut: a notebook keeps what it shows.
_MOST = 60_000
_STYLE = (
    ".kc-tabs{font:13px/1.5 system-ui,sans-serif;max-width:100%%}.kc-tabs>input{position:absolute;opacity:0}"
    ".kc-tabs>label{display:inline-block;padding:.2em .7em;cursor:pointer;border-bottom:2px solid transparent}"
    ".kc-tabs>pre{display:none;margin:.3em 0 0;padding:.6em;max-height:30em;overflow:auto;border:1px solid #8884;white-space:pre}"
    ".kc-tabs>input:checked+label{border-color:#2f6feb}.kc-tabs>input:focus-visible+label{outline:1px solid #2f6feb}"
)


def _tabs(title, tabs):
    """Tabs of texts by their names; the first is open."""
    group = f"kc{os.getpid()}-{next(_COUNT)}"
    heads, bodies, rules = [], [], []
    for n, (name, text) in enumerate(tabs):
        cut = len(text) > _MOST
        text = text[:_MOST] + f"\n... {len(text) - _MOST:,} characters more" if cut else text
        checked = " checked" if n == 0 else ""
        heads.append(f'<input type="radio" name="{group}" id="{group}-{n}"{checked}><label for="{group}-{n}">{html.escape(name)}</label>')
        bodies.append(f'<pre class="{group}-{n}">{html.escape(text)}</pre>')
        rules.append(f"#{group}-{n}:checked~pre.{group}-{n}{{display:block}}")
    style = _STYLE.replace("%%", "%") + "".join(rules)
    return f'<div class="kc-tabs"><style>{style}</style><b>{html.escape(title)}</b> {"".join(heads)}{"".join(bodies)}</div>'


def _made(tabs, name, make):
    """Adds a text if there is one: a kernel that has no such form has no such tab."""
    try:
        text = make()
    except Exception as error:  # noqa: BLE001 - what is shown never fails
        if name == "Plan":
            tabs.append(("Not compiled", str(error)))
        return
    if text.strip():
        tabs.append((name, text))


def _texts(tabs, one):
    _made(tabs, "Plan", lambda: one.plan)
    if tabs and tabs[-1][0] == "Not compiled":
        return
    _made(tabs, "CUDA", lambda: one.cuda)
    _made(tabs, "PTX", one.ptx)
    _made(tabs, "Findings", lambda: one.warnings)


def of_kernel(kernel) -> str:
    """A kernel: its source, how it runs here, CUDA C++, PTX, and findings."""
    tabs = []
    function = getattr(kernel, "_kc_kernel", None)
    if function is not None:
        import inspect

        _made(tabs, "Source", lambda: inspect.getsource(function))
    _texts(tabs, kernel)
    return _tabs(f"kernel {kernel.__name__}", tabs)


def of_module(module) -> str:
    """A module: how its kernels run here, CUDA C++, PTX, and findings."""
    tabs = []
    _texts(tabs, module)
    return _tabs(f"module of {', '.join(module.names)}", tabs)
