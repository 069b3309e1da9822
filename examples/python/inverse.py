"""What conducts heat badly in this plate? Its conductivity from temperatures, by PyTorch's optimiser.

    python inverse.py [conductivity.png]
"""

import sys

import kc
import picture
import torch


@kc.kernel
def conduct(dt: float, c: kc.array2d(dtype=float), t: kc.array2d(dtype=float), out: kc.array2d(dtype=float)):
    i, j = kc.tid()
    m, n = t.shape[0] - 1, t.shape[1] - 1
    flow = float(0.0)
    if i > 0:
        flow += (c[i, j] + c[i - 1, j]) * (t[i - 1, j] - t[i, j])
    if i < m:
        flow += (c[i, j] + c[i + 1, j]) * (t[i + 1, j] - t[i, j])
    if j > 0:
        flow += (c[i, j] + c[i, j - 1]) * (t[i, j - 1] - t[i, j])
    if j < n:
        flow += (c[i, j] + c[i, j + 1]) * (t[i, j + 1] - t[i, j])
    out[i, j] = t[i, j] + 0.5 * dt * flow


step = kc.torch.function(conduct, outputs=["out"])


def run(conductivity, start, steps):
    t = start
    for _ in range(steps):
        t = step(t.shape, 0.2, conductivity, t)
    return t


def recover(n=32, steps=20, rounds=150):
    """The conductivity that was to be found, the one that was, and the losses."""
    x, y = torch.meshgrid(torch.linspace(-1, 1, n), torch.linspace(-1, 1, n), indexing="ij")
    true = torch.where(x * x + y * y < 0.3, 0.2, 1.0)
    # Several experiments, each heated elsewhere.
    starts = [torch.sin(3.0 * k * x + k) * torch.cos(2.0 * k * y) for k in range(1, 5)]
    measured = [run(true, start, steps) for start in starts]
    guess = torch.full((n, n), 0.6, requires_grad=True)
    optimizer = torch.optim.Adam([guess], lr=0.03)
    losses = []
    for _ in range(rounds):
        optimizer.zero_grad()
        loss = sum(((run(guess, start, steps) - t) ** 2).mean() for start, t in zip(starts, measured))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return true, guess.detach(), losses


if __name__ == "__main__":
    true, found, losses = recover()
    print(f"loss {losses[0]:.2e} at first, {losses[-1]:.2e} at the end; mean error {(found - true).abs().mean():.3f}")
    picture.save(sys.argv[1] if len(sys.argv) > 1 else "conductivity.png", found.numpy())
