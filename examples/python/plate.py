"""The temperature of a plate with hot and cold borders, on one device or shared among several.

    python plate.py [plate.png] [--device cuda:0,cuda:1]

Each device has a part of the rows, and copies the rows at its borders to its neighbours after every step.
"""

import kc
import numpy as np
import picture


@kc.kernel
def jacobi(first: int, u: kc.array2d(dtype=float), v: kc.array2d(dtype=float)):
    k, j = kc.tid()
    i = first + k
    v[i, j] = u[i, j]
    if i > 0 and i < u.shape[0] - 1 and j > 0 and j < u.shape[1] - 1:
        v[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])


def start(n):
    """Hot above, colder to the right, and cold elsewhere."""
    plate = np.zeros((n, n), np.float32)
    plate[0], plate[:, -1] = 1.0, 0.5
    return plate


def solve(n=128, steps=2000, devices=("cpu",)):
    """The temperatures after so many steps."""
    split = kc.Split(n, devices, halo=1)
    u, v = split.scatter(start(n)), split.scatter(start(n))
    for _ in range(steps):
        split.launch(jacobi, (n, n), split.first, u, v)
        split.exchange(v)
        u, v = v, u
    return split.gather(u)


if __name__ == "__main__":
    file, devices = picture.arguments("plate.png", devices=True)
    plate = solve(devices=devices)
    print(f"in the middle {plate[len(plate) // 2, len(plate) // 2]:.3f}, on {', '.join(devices)}")
    picture.save(file, np.kron(plate, np.ones((4, 4))))
