"""A file to fill: the signature, the shapes, and a kernel that is right and slow."""

from __future__ import annotations

from . import _naive

_HEAD = '''"""Task {id}: {title}.

Inputs as shipped: {shapes}.
This answer is right and slow. `python -m kc.bench verify {id} FILE` says whether yours is.
"""

import kc
from kc.bench import Model, empty


'''


def text_of(task) -> str:
    """The file for a task."""
    shapes = ", ".join(
        f"{one['name']} {'x'.join(map(str, shape)) or one.get('value', 'a number')}"
        for one, shape in zip(task.inputs, task.input_shapes("shipped"))
    )
    return _HEAD.format(id=task.key, title=task.title, shapes=shapes) + _naive.body_of(task).strip("\n") + "\n"
