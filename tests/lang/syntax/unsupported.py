# keeps: k after
import warp as wp


@wp.kernel
def k(x: wp.array(dtype=float)):
    global a, b
    nonlocal c
    del x[0], x[1]
    raise ValueError("a") from None
    import numpy as np, os
    from a import b
    with open("x") as f, g:
        broken here ]
    try:
        broken
    except (A, B) as e:
        broken broken
    else:
        x
    finally:
        x
    match x:
        case 1: broken ]
        case _:
            pass
    def nested(a b):
        pass
    @decorated
    class C:
        pass
    async for i in x:
        pass
    async def g(): pass
    type A = int
    y = lambda a, *b, c=3, **d: a
    y = [i async for i in x if i if y for j in k]
    y = {a: b, **c}
    y = {a, *b}
    y = {a: b for a, b in c}
    y = (i for i in x)
    y = f(i for i in x)
    y = (z := 3)
    y = await z
    y = yield z
    yield
    y = f"{x}" "abc"
    y = b"abc"
    y = 3j
    y = x[...]
    y = f(*a, **b)
    match = 3
    type = 4
    print(match, type)
    ...


@wp.func
def after(a: float):
    return a
# errors:
