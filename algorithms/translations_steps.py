# === attention_head
# --- torch
import math

import torch
import torch.nn as nn

tokens = 24
head_dim = 8


class Model(nn.Module):
    """One head of causal attention, and its weights."""

    def forward(self, q, k, v):
        raw = q @ k.T / math.sqrt(q.shape[1])
        later = torch.ones_like(raw, dtype=torch.bool).triu(1)
        scores = torch.softmax(raw.masked_fill(later, float("-inf")), dim=1)
        out = scores @ v
        return scores, out


def get_inputs():
    return [torch.rand(tokens, head_dim) for _ in range(3)]


def get_init_inputs():
    return []
# --- triton
import triton
import triton.language as tl


@triton.jit
def query_kernel(q_ptr, k_ptr, v_ptr, scores_ptr, out_ptr, count, depth, COUNT: tl.constexpr, DEPTH: tl.constexpr):
    query = tl.program_id(0)
    other = tl.arange(0, COUNT)
    term = tl.arange(0, DEPTH)
    seen = other <= query
    at = other[:, None] * depth + term[None, :]
    taken = seen[:, None] & (term < depth)[None, :]
    own = tl.load(q_ptr + query * depth + term, mask=term < depth, other=0.0)
    raw = tl.sum(tl.load(k_ptr + at, mask=taken, other=0.0) * own[None, :], axis=1) / tl.sqrt(depth * 1.0)
    raw = tl.where(seen, raw, -float("inf"))
    power = tl.exp(raw - tl.max(raw, axis=0))
    share = power / tl.sum(power, axis=0)
    tl.store(scores_ptr + query * count + other, share, mask=seen)
    mixed = tl.sum(share[:, None] * tl.load(v_ptr + at, mask=taken, other=0.0), axis=0)
    tl.store(out_ptr + query * depth + term, mixed, mask=term < depth)


def run(q, k, v, scores, out):
    """One program per query."""
    count, depth = q.shape
    query_kernel[(count,)](
        q, k, v, scores, out, count, depth, COUNT=triton.next_power_of_2(count), DEPTH=triton.next_power_of_2(depth)
    )
# --- numba
import math

from numba import cuda


@cuda.jit
def query_kernel(q, k, v, scores, out):
    query = cuda.grid(1)
    if query >= q.shape[0]:
        return
    depth = q.shape[1]
    peak = -math.inf
    for other in range(query + 1):
        total = 0.0
        for term in range(depth):
            total += q[query, term] * k[other, term]
        scores[query, other] = total / math.sqrt(depth)
        peak = max(peak, scores[query, other])
    total = 0.0
    for other in range(query + 1):
        scores[query, other] = math.exp(scores[query, other] - peak)
        total += scores[query, other]
    for other in range(query + 1):
        scores[query, other] /= total
    for term in range(depth):
        mixed = 0.0
        for other in range(query + 1):
            mixed += scores[query, other] * v[other, term]
        out[query, term] = mixed


def run(q, k, v, scores, out):
    """One thread per query."""
    threads = 64
    query_kernel[(q.shape[0] + threads - 1) // threads, threads](q, k, v, scores, out)

# === contrastive_loss
# --- torch
import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 32
dim = 16


class Model(nn.Module):
    """Each anchor beside all partners."""

    def __init__(self, temperature):
        super().__init__()
        self.divisor = temperature

    def forward(self, anchors, others):
        similarity = anchors @ others.T / self.divisor
        loss = F.cross_entropy(similarity, torch.arange(anchors.shape[0])).reshape(1)
        own = similarity.diagonal()
        correct = (own >= similarity.amax(1)).sum().reshape(1)
        return similarity, loss, correct


def get_inputs():
    return [torch.rand(batch, dim), torch.rand(batch, dim)]


def get_init_inputs():
    return [0.5]
# --- triton
import triton
import triton.language as tl


@triton.jit
def anchor_kernel(
    anchors_ptr, others_ptr, similarity_ptr, loss_ptr, correct_ptr, count, depth, divisor,
    COUNT: tl.constexpr, DEPTH: tl.constexpr,
):
    line = tl.program_id(0)
    partner = tl.arange(0, COUNT)
    term = tl.arange(0, DEPTH)
    inside = partner < count
    taken = inside[:, None] & (term < depth)[None, :]
    anchor = tl.load(anchors_ptr + line * depth + term, mask=term < depth, other=0.0)
    entry = tl.load(others_ptr + partner[:, None] * depth + term[None, :], mask=taken, other=0.0)
    product = tl.sum(entry * anchor[None, :], axis=1) / divisor
    tl.store(similarity_ptr + line * count + partner, product, mask=inside)
    product = tl.where(inside, product, -float("inf"))
    peak = tl.max(product, axis=0)
    own = tl.sum(tl.where(partner == line, product, 0.0), axis=0)
    total = tl.sum(tl.exp(product - peak), axis=0)
    tl.atomic_add(loss_ptr, (peak + tl.log(total) - own) / count)
    tl.atomic_add(correct_ptr, tl.where(own >= peak, 1, 0))


def run(anchors, others, similarity, loss, correct, temperature):
    """One program per anchor."""
    count, depth = anchors.shape
    anchor_kernel[(count,)](
        anchors, others, similarity, loss, correct, count, depth, temperature,
        COUNT=triton.next_power_of_2(count), DEPTH=triton.next_power_of_2(depth),
    )
# --- numba
import math

from numba import cuda


@cuda.jit
def anchor_kernel(anchors, others, similarity, loss, correct, temperature):
    line = cuda.grid(1)
    if line >= anchors.shape[0]:
        return
    count = anchors.shape[0]
    peak = -math.inf
    for partner in range(count):
        product = 0.0
        for term in range(anchors.shape[1]):
            product += anchors[line, term] * others[partner, term]
        similarity[line, partner] = product / temperature
        peak = max(peak, similarity[line, partner])
    total = 0.0
    for partner in range(count):
        total += math.exp(similarity[line, partner] - peak)
    own = similarity[line, line]
    cuda.atomic.add(loss, 0, (peak + math.log(total) - own) / count)
    if own >= peak:
        cuda.atomic.add(correct, 0, 1)


def run(anchors, others, similarity, loss, correct, temperature):
    """One thread per anchor."""
    threads = 64
    blocks = (anchors.shape[0] + threads - 1) // threads
    anchor_kernel[blocks, threads](anchors, others, similarity, loss, correct, temperature)

# === adam_update
# --- torch
import torch
import torch.nn as nn

n = 512


class Model(nn.Module):
    """Adam with clipped gradients."""

    def __init__(self, lr, beta1, beta2, clip, step, EPS):
        super().__init__()
        self.rate, self.decays, self.most, self.number, self.eps = lr, (beta1, beta2), clip, step, EPS

    def forward(self, weights, grads, moment1, moment2):
        of_mean, of_squares = self.decays
        grads = grads.clamp(-self.most, self.most)
        moment1 = torch.lerp(grads, moment1, of_mean)
        moment2 = torch.lerp(grads * grads, moment2, of_squares)
        first_hat = moment1 / (1.0 - of_mean**self.number)
        second_hat = moment2 / (1.0 - of_squares**self.number)
        weights = weights - self.rate * first_hat / (second_hat.sqrt() + self.eps)
        return weights, grads, moment1, moment2


def get_inputs():
    return [torch.rand(n) for _ in range(4)]


def get_init_inputs():
    return [0.001, 0.9, 0.999, 1.0, 3, 1.0e-8]
# --- triton
import triton
import triton.language as tl


@triton.jit
def update_kernel(
    weights_ptr, grads_ptr, first_ptr, second_ptr, count, rate, of_mean, of_squares, most, left_mean, left_squares,
    small, BLOCK: tl.constexpr,
):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    slope = tl.load(grads_ptr + at, mask=inside, other=0.0)
    slope = tl.minimum(tl.maximum(slope, -most), most)
    first = of_mean * tl.load(first_ptr + at, mask=inside, other=0.0) + (1.0 - of_mean) * slope
    second = of_squares * tl.load(second_ptr + at, mask=inside, other=0.0) + (1.0 - of_squares) * slope * slope
    change = rate * (first / left_mean) / (tl.sqrt(second / left_squares) + small)
    tl.store(grads_ptr + at, slope, mask=inside)
    tl.store(first_ptr + at, first, mask=inside)
    tl.store(second_ptr + at, second, mask=inside)
    tl.store(weights_ptr + at, tl.load(weights_ptr + at, mask=inside, other=0.0) - change, mask=inside)


def run(weights, grads, moment1, moment2, lr, beta1, beta2, clip, step, EPS):
    """One program for 128 parameters."""
    count = weights.shape[0]
    left = (1.0 - beta1**step, 1.0 - beta2**step)
    update_kernel[(triton.cdiv(count, 128),)](
        weights, grads, moment1, moment2, count, lr, beta1, beta2, clip, *left, EPS, BLOCK=128
    )
# --- numba
import math

from numba import cuda


@cuda.jit
def update_kernel(weights, grads, moment1, moment2, lr, beta1, beta2, clip, step, EPS):
    at = cuda.grid(1)
    if at >= weights.shape[0]:
        return
    slope = min(max(grads[at], -clip), clip)
    grads[at] = slope
    moment1[at] = beta1 * moment1[at] + (1.0 - beta1) * slope
    moment2[at] = beta2 * moment2[at] + (1.0 - beta2) * slope * slope
    first_hat = moment1[at] / (1.0 - beta1**step)
    second_hat = moment2[at] / (1.0 - beta2**step)
    weights[at] -= lr * first_hat / (math.sqrt(second_hat) + EPS)


def run(weights, grads, moment1, moment2, lr, beta1, beta2, clip, step, EPS):
    """One thread per parameter."""
    threads = 128
    blocks = (weights.shape[0] + threads - 1) // threads
    update_kernel[blocks, threads](weights, grads, moment1, moment2, lr, beta1, beta2, clip, step, EPS)

# === lion_update
# --- torch
import torch
import torch.nn as nn

n = 512


class Model(nn.Module):
    """Lion with gradients clipped by their norm."""

    def __init__(self, lr, beta1, beta2, decay, max_norm):
        super().__init__()
        self.rate, self.decays, self.pull, self.longest = lr, (beta1, beta2), decay, max_norm

    def forward(self, weights, grads, momentum, frozen):
        norm_sq = (grads * grads).sum().reshape(1)
        clipped = grads * torch.clamp(self.longest / norm_sq.sqrt(), max=1.0)
        towards = torch.sign(torch.lerp(clipped, momentum, self.decays[0]))
        free = frozen == 0
        weights = torch.where(free, weights - self.rate * (towards + self.pull * weights), weights)
        momentum = torch.where(free, torch.lerp(clipped, momentum, self.decays[1]), momentum)
        return weights, momentum, norm_sq


def get_inputs():
    return [torch.rand(n), torch.rand(n), torch.rand(n), torch.randint(0, 2, (n,))]


def get_init_inputs():
    return [0.01, 0.9, 0.99, 0.1, 1.5]
# --- triton
import triton
import triton.language as tl


@triton.jit
def norm_kernel(grads_ptr, norm_sq_ptr, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    slope = tl.load(grads_ptr + at, mask=at < count, other=0.0)
    tl.atomic_add(norm_sq_ptr, tl.sum(slope * slope, axis=0))


@triton.jit
def step_kernel(
    weights_ptr, grads_ptr, momentum_ptr, frozen_ptr, norm_sq_ptr, count, rate, near, far, pull, longest,
    BLOCK: tl.constexpr,
):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    free = inside & (tl.load(frozen_ptr + at, mask=inside, other=1) == 0)
    factor = tl.minimum(longest / tl.sqrt(tl.load(norm_sq_ptr)), 1.0)
    slope = tl.load(grads_ptr + at, mask=inside, other=0.0) * factor
    before = tl.load(momentum_ptr + at, mask=inside, other=0.0)
    towards = near * before + (1.0 - near) * slope
    sign = tl.where(towards > 0.0, 1.0, 0.0) - tl.where(towards < 0.0, 1.0, 0.0)
    own = tl.load(weights_ptr + at, mask=inside, other=0.0)
    tl.store(weights_ptr + at, own - rate * (sign + pull * own), mask=free)
    tl.store(momentum_ptr + at, far * before + (1.0 - far) * slope, mask=free)


def run(weights, grads, momentum, frozen, norm_sq, lr, beta1, beta2, decay, max_norm):
    """The norm first, then the step."""
    count = weights.shape[0]
    grid = (triton.cdiv(count, 128),)
    norm_kernel[grid](grads, norm_sq, count, BLOCK=128)
    step_kernel[grid](
        weights, grads, momentum, frozen, norm_sq, count, lr, beta1, beta2, decay, max_norm, BLOCK=128
    )
# --- numba
import math

from numba import cuda


@cuda.jit
def norm_kernel(grads, norm_sq):
    at = cuda.grid(1)
    if at < grads.shape[0]:
        cuda.atomic.add(norm_sq, 0, grads[at] * grads[at])


@cuda.jit
def step_kernel(weights, grads, momentum, frozen, norm_sq, lr, beta1, beta2, decay, max_norm):
    at = cuda.grid(1)
    if at >= weights.shape[0] or frozen[at] != 0:
        return
    slope = grads[at] * min(1.0, max_norm / math.sqrt(norm_sq[0]))
    towards = beta1 * momentum[at] + (1.0 - beta1) * slope
    sign = 0.0
    if towards > 0.0:
        sign = 1.0
    elif towards < 0.0:
        sign = -1.0
    weights[at] -= lr * (sign + decay * weights[at])
    momentum[at] = beta2 * momentum[at] + (1.0 - beta2) * slope


def run(weights, grads, momentum, frozen, norm_sq, lr, beta1, beta2, decay, max_norm):
    """The norm first, then the step."""
    threads = 128
    blocks = (weights.shape[0] + threads - 1) // threads
    norm_kernel[blocks, threads](grads, norm_sq)
    step_kernel[blocks, threads](weights, grads, momentum, frozen, norm_sq, lr, beta1, beta2, decay, max_norm)

# === axpy
# --- torch
import torch
import torch.nn as nn

n = 1024


class Model(nn.Module):
    """One vector is scaled and added to the other."""

    def __init__(self, a):
        super().__init__()
        self.factor = a

    def forward(self, x, y):
        y = torch.add(y, x, alpha=self.factor)
        return y


def get_inputs():
    return [torch.rand(n), torch.rand(n)]


def get_init_inputs():
    return [2.5]
# --- triton
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, count, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    total = factor * tl.load(x_ptr + at, mask=inside) + tl.load(y_ptr + at, mask=inside)
    tl.store(y_ptr + at, total, mask=inside)


def run(x, y, a):
    """One program for 256 elements."""
    count = x.shape[0]
    add_kernel[(triton.cdiv(count, 256),)](x, y, count, a, BLOCK=256)
# --- numba
from numba import cuda


@cuda.jit
def add_kernel(x, y, a):
    at = cuda.grid(1)
    if at < x.shape[0]:
        y[at] += a * x[at]


def run(x, y, a):
    """One thread per element."""
    threads = 256
    add_kernel[(x.shape[0] + threads - 1) // threads, threads](x, y, a)

# === rotary_embedding
# --- torch
import torch
import torch.nn as nn

tokens = 32
half = 8


class Model(nn.Module):
    """Queries and keys turn by their places."""

    def __init__(self, base):
        super().__init__()
        self.root = base

    def forward(self, q, k, position):
        count = q.shape[1] // 2
        rate = self.root ** (-torch.arange(count, dtype=q.dtype) / count)
        angle = position[:, None].to(q.dtype) * rate
        cosine, sine = angle.cos(), angle.sin()

        def turned(both):
            left, right = both[:, :count], both[:, count:]
            return torch.cat([left * cosine - right * sine, left * sine + right * cosine], dim=1)

        q = turned(q)
        k = turned(k)
        agree = (q * k).sum(dim=1)
        return q, k, agree


def get_inputs():
    return [torch.rand(tokens, 2 * half), torch.rand(tokens, 2 * half), torch.randint(0, 30, (tokens,))]


def get_init_inputs():
    return [50.0]
# --- triton
import math

import triton
import triton.language as tl


@triton.jit
def token_kernel(q_ptr, k_ptr, position_ptr, agree_ptr, count, log_root, BLOCK: tl.constexpr):
    token = tl.program_id(0)
    pair = tl.arange(0, BLOCK)
    inside = pair < count
    left = token * 2 * count + pair
    right = left + count
    angle = tl.load(position_ptr + token) * tl.exp(-log_root * pair / count)
    cosine = tl.cos(angle)
    sine = tl.sin(angle)
    a0 = tl.load(q_ptr + left, mask=inside, other=0.0)
    a1 = tl.load(q_ptr + right, mask=inside, other=0.0)
    b0 = tl.load(k_ptr + left, mask=inside, other=0.0)
    b1 = tl.load(k_ptr + right, mask=inside, other=0.0)
    # Threads may hold the same pair: all have read it before one writes.
    tl.debug_barrier()
    tl.store(q_ptr + left, a0 * cosine - a1 * sine, mask=inside)
    tl.store(q_ptr + right, a0 * sine + a1 * cosine, mask=inside)
    tl.store(k_ptr + left, b0 * cosine - b1 * sine, mask=inside)
    tl.store(k_ptr + right, b0 * sine + b1 * cosine, mask=inside)
    tl.store(agree_ptr + token, tl.sum(a0 * b0 + a1 * b1, axis=0))


def run(q, k, position, agree, base):
    """One program per token; the product of a token with itself does not see the rotation."""
    lines, features = q.shape
    count = features // 2
    block = triton.next_power_of_2(count)
    token_kernel[(lines,)](q, k, position, agree, count, math.log(base), BLOCK=block, num_warps=1)
# --- numba
import math

from numba import cuda


@cuda.jit
def token_kernel(q, k, position, agree, base):
    token = cuda.grid(1)
    if token >= q.shape[0]:
        return
    count = q.shape[1] // 2
    total = 0.0
    for pair in range(count):
        angle = position[token] * base ** (-pair / count)
        cosine = math.cos(angle)
        sine = math.sin(angle)
        a0 = q[token, pair]
        a1 = q[token, pair + count]
        b0 = k[token, pair]
        b1 = k[token, pair + count]
        q[token, pair] = a0 * cosine - a1 * sine
        q[token, pair + count] = a0 * sine + a1 * cosine
        k[token, pair] = b0 * cosine - b1 * sine
        k[token, pair + count] = b0 * sine + b1 * cosine
        total += a0 * b0 + a1 * b1
    agree[token] = total


def run(q, k, position, agree, base):
    """One thread per token."""
    threads = 64
    token_kernel[(q.shape[0] + threads - 1) // threads, threads](q, k, position, agree, base)

# === conv1d_valid
# --- torch
import torch
import torch.nn as nn
import torch.nn.functional as F

channels = 8
length = 256
taps = 7


class Model(nn.Module):
    """One impulse response for each line."""

    def forward(self, signal, fir):
        flipped = torch.flip(fir, (1,))[:, None, :]
        filtered = F.conv1d(signal[None], flipped, groups=signal.shape[0])[0]
        return filtered


def get_inputs():
    return [torch.rand(channels, length), torch.rand(channels, taps)]


def get_init_inputs():
    return []
# --- triton
import triton
import triton.language as tl


@triton.jit
def filter_kernel(signal_ptr, fir_ptr, filtered_ptr, samples, weights, results, BLOCK: tl.constexpr):
    line = tl.program_id(0)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = at < results
    total = tl.zeros([BLOCK], dtype=filtered_ptr.dtype.element_ty)
    for term in range(weights):
        past = tl.load(signal_ptr + line * samples + at + weights - 1 - term, mask=inside, other=0.0)
        total += tl.load(fir_ptr + line * weights + term) * past
    tl.store(filtered_ptr + line * results + at, total, mask=inside)


def run(signal, fir, filtered):
    """One program per channel and block of samples."""
    lines, results = filtered.shape
    grid = (lines, triton.cdiv(results, 64))
    filter_kernel[grid](signal, fir, filtered, signal.shape[1], fir.shape[1], results, BLOCK=64)
# --- numba
from numba import cuda


@cuda.jit
def filter_kernel(signal, fir, filtered):
    at, line = cuda.grid(2)
    if line >= filtered.shape[0] or at >= filtered.shape[1]:
        return
    weights = fir.shape[1]
    total = 0.0
    for term in range(weights):
        total += fir[line, term] * signal[line, at + weights - 1 - term]
    filtered[line, at] = total


def run(signal, fir, filtered):
    """One thread per sample."""
    threads = (64, 2)
    blocks = ((filtered.shape[1] + 63) // 64, (filtered.shape[0] + 1) // 2)
    filter_kernel[blocks, threads](signal, fir, filtered)
