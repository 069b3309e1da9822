"""Written by python/stubs.py."""

from typing import Any


def types_equal(a: Any, b: Any) -> bool:
    """Whether two types are one: ``float`` and ``wp.float32``, vectors of one length."""
    ...
