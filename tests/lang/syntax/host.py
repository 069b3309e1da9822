# keeps: kernel_after helper tail
"""Host code is skipped whatever it holds, but for kernels in it."""
import warp as wp
from typing import (
    Any,
    Callable as C,
)

T = 3; U: int = 4
V = lambda x: x + 1
broken = = 3
other = [x for x in range(3)]
async def f(x): await x
match command.split():
    case [a, *rest] if (b := 3) > 2:
        print(f"{a!r:>{b}} {'x'}")
try:
    import numpy as np
except* ImportError:
    raise
if x
    broken here ) ]
with open("a") as f, open("b"):
    pass
class Plain[T](Base, metaclass=M):
    def method(self): return x y z
    @wp.kernel
    def hidden(x: broken broken): $$$
def helper(a, b=3, *, c):
    return a b c
@wp.kernel
def kernel_after(x: wp.array(dtype=float)):
    x[0] = 1.0
x.y = z w
return 3
@other.decorator(1, 2)
def tail(): this is not python
# errors: 28 E0101
