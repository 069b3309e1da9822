"""Written by python/stubs.py."""

from typing import Any


class Adam:
    """Adam (Kingma and Ba, 2015)."""
    def __init__(self, params: Any = ..., lr: Any = ..., betas: Any = ..., eps: Any = ...) -> None: ...
    def set_params(self, params: Any) -> None: ...
    def reset_internal_state(self) -> None: ...
    def step(self, grad: Any) -> None: ...
    lr: Any
    beta1: Any
    beta2: Any
    eps: Any

class SGD:
    """Gradient descent, with momentum."""
    def __init__(self, params: Any = ..., lr: Any = ..., momentum: Any = ..., dampening: Any = ..., weight_decay: Any = ..., nesterov: Any = ...) -> None: ...
    def set_params(self, params: Any) -> None: ...
    def reset_internal_state(self) -> None: ...
    def step(self, grad: Any) -> None: ...
    lr: Any
    momentum: Any
    dampening: Any
    weight_decay: Any
    nesterov: Any

annotations: Any
from kc.warp import _linear as _linear
linear = _linear
