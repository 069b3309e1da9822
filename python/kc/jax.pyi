from collections.abc import Mapping, Sequence
from typing import Any

from . import Kernel

class Caller:
    def __call__(self, dim: int | Sequence[int], *arguments: Any, **named: Any) -> Any: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

def function(kernel: Kernel, outputs: Sequence[str] | Mapping[str, Any]) -> Caller: ...
