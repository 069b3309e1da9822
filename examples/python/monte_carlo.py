"""The price of an option by simulation, and how it depends on its parameters: gradients of numbers given by value.

    python monte_carlo.py [prices.png] [--device cuda]
"""

import math

import kc
import numpy as np
import picture


@kc.kernel
def price(
    seed: int, steps: int, spot: kc.float64, strike: kc.float64, rate: kc.float64, sigma: kc.float64, years: kc.float64,
    out: kc.array(dtype=kc.float64),
):
    i = kc.tid()
    state = kc.rand_init(seed, i)
    dt = years / kc.float64(steps)
    log = kc.float64(0.0)
    for _ in range(steps):
        log += (rate - kc.float64(0.5) * sigma * sigma) * dt + sigma * kc.sqrt(dt) * kc.float64(kc.randn(state))
    gain = kc.max(spot * kc.exp(log) - strike, kc.float64(0.0))
    kc.atomic_add(out, 0, kc.exp(-rate * years) * gain)


def simulate(paths=200_000, steps=16, spot=100.0, strike=105.0, rate=0.02, sigma=0.3, years=1.0, seed=1, device="cpu"):
    """The price, and its derivatives by the parameters."""
    out = kc.zeros(1, dtype=kc.float64, device=device)
    found = price.grad(paths, seed, steps, spot, strike, rate, sigma, years, out, grads={"out": 1.0 / paths})
    return float(out.numpy()[0]) / paths, {name: found[name] for name in ("spot", "strike", "rate", "sigma", "years")}


def exact(spot=100.0, strike=105.0, rate=0.02, sigma=0.3, years=1.0):
    """The same by the formula of Black and Scholes."""
    d1 = (math.log(spot / strike) + (rate + 0.5 * sigma**2) * years) / (sigma * math.sqrt(years))
    d2 = d1 - sigma * math.sqrt(years)

    def normal(x):
        return 0.5 * math.erfc(-x / math.sqrt(2.0))

    density = math.exp(-0.5 * d1**2) / math.sqrt(2.0 * math.pi)
    value = spot * normal(d1) - strike * math.exp(-rate * years) * normal(d2)
    return value, {
        "spot": normal(d1), "strike": -math.exp(-rate * years) * normal(d2),
        "rate": strike * years * math.exp(-rate * years) * normal(d2), "sigma": spot * density * math.sqrt(years),
    }


if __name__ == "__main__":
    file, device = picture.arguments("prices.png")
    value, slopes = simulate(device=device)
    known, formula = exact()
    print(f"price {value:.3f}, by the formula {known:.3f}")
    for name, slope in slopes.items():
        print(f"  by {name:6} {slope:9.4f}" + (f", by the formula {formula[name]:9.4f}" if name in formula else ""))
    prices = [[simulate(20_000, spot=spot, sigma=sigma, device=device)[0] for spot in range(60, 141, 5)] for sigma in (0.1, 0.2, 0.3, 0.4, 0.5)]
    shown = np.kron(np.array(prices) / np.max(prices), np.ones((40, 20)))
    picture.save(file, shown)
