"""KernelBench's tasks, checked strictly, without a GPU and without PyTorch.

    python -m kc.bench list                      # the tasks
    python -m kc.bench new 23 -o softmax.py      # a file to fill
    python -m kc.bench verify 23 softmax.py      # is it right?

``docs/kernelbench.md`` is the tutorial.
"""

from ._model import Model, empty, full, zeros
from .facts import Task, UnknownTask, level1, level2, task

__all__ = ["Model", "Task", "UnknownTask", "empty", "full", "level1", "level2", "task", "zeros"]
