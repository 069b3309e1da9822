"""Functions of tensors in the memory of a GPU: all of the way there but the GPU itself, with the stand-in for NVIDIA's driver
(`python/tests/standin.c`), for which all memory is a GPU's. What stands for the kernel's GPU code is C code here, and tensors of the host
tell of their memory as those of a GPU do.
"""

import pytest
import standin

HOST = """
#include <stdint.h>
typedef struct { uint64_t data, grad; int32_t shape[4], strides[4], ndim, flags; } Array;
typedef struct { float a; Array x, y; } Arguments;
#define AT(array, which, i) (*(float *)(array.which + (i) * array.strides[0]))
void scaled_cpu_kernel_forward(const void *launch, const Arguments *at, uint64_t begin, uint64_t end, void *status) {
    for (uint64_t i = begin; i < end; i++) AT(at->y, data, i) = at->a * AT(at->x, data, i) * AT(at->x, data, i);
}
void scaled_cpu_kernel_backward(const void *launch, const Arguments *at, uint64_t begin, uint64_t end, void *status) {
    for (uint64_t i = begin; i < end; i++) AT(at->x, grad, i) += 2 * at->a * AT(at->x, data, i) * AT(at->y, grad, i);
}
typedef struct { Array x, y; } Pair;
void steps_cpu_kernel_forward(const void *launch, const Pair *at, uint64_t begin, uint64_t end, void *status) {
    for (uint64_t i = begin; i < end; i++) {
        float x = AT(at->x, data, i), y = x;
        for (int k = 0; k < 2; k++) y = y * y + x;
        AT(at->y, data, i) = y;
    }
}
typedef struct { Array x, index, y; } Gathered;
#define NUMBER(array, i) (*(int32_t *)(array.data + (i) * array.strides[0]))
void gathered_cpu_kernel_forward(const void *launch, const Gathered *at, uint64_t begin, uint64_t end, void *status) {
    for (uint64_t i = begin; i < end; i++) AT(at->y, data, NUMBER(at->index, i)) = AT(at->x, data, i);
}
void gathered_cpu_kernel_backward(const void *launch, const Gathered *at, uint64_t begin, uint64_t end, void *status) {
    for (uint64_t i = begin; i < end; i++) AT(at->x, grad, i) += AT(at->y, grad, NUMBER(at->index, i));
}
"""

COMMON = """
import json
import kc, kc.torch
import torch

@kc.kernel
def scaled(a: float, x: kc.array(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    y[i] = a * x[i] * x[i]

@kc.kernel
def steps(x: kc.array(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    y[i] = x[i]
    for _ in range(2):
        y[i] = y[i] * y[i] + x[i]

@kc.kernel
def gathered(x: kc.array(dtype=float), index: kc.array(dtype=int), y: kc.array(dtype=float)):
    i = kc.tid()
    y[index[i]] = x[i]

class There:
    def __init__(self, tensor):
        self.__cuda_array_interface__ = {**tensor.numpy().__array_interface__, "version": 3, "stream": 5}

# Copies to the host, and what is made there; all else is on the GPU.
HOST, copies, zeros = [], [], kc.torch._Call.zeros

def on_host(tensors):
    made = [tensor.detach().clone() for tensor in tensors]
    HOST.extend(made)
    copies.append(len(made))
    return made

def made_on_host(call, *given):
    found = zeros(call, *given)
    HOST.extend(found.values())
    return found

def is_on_gpu(tensor):
    return isinstance(tensor, torch.Tensor) and all(tensor.data_ptr() != other.data_ptr() for other in HOST)

def zeros_like(tensor, real=torch.zeros_like):
    made = real(tensor)
    if not is_on_gpu(tensor):
        HOST.append(made)
    return made

torch.zeros_like = zeros_like
kc.torch._on_host, kc.torch._Call.zeros, kc.torch._is_on_gpu = on_host, made_on_host, is_on_gpu
kc.torch._view = lambda tensor: There(tensor.detach()) if is_on_gpu(tensor) else tensor.detach().numpy()
"""


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    return standin.made(tmp_path_factory.mktemp("driver"), HOST)


def run(program, *places, **environment):
    return standin.run(COMMON + program, *places, **environment)


def test_the_gradient_runs_where_the_tensors_are(driver, tmp_path):
    program = """
f = kc.torch.function(scaled, outputs="y")
found = []
for factor in (3.0, 5.0):
    x = torch.tensor([1.0, 2.0, 4.0], requires_grad=True)
    y = f(3, factor, x[:3:1])
    y.backward(torch.tensor([1.0, 10.0, 100.0]))
    found.append([y.tolist(), x.grad.tolist()])
print(json.dumps([found, copies]))
"""
    (found, copies), log = run(program, tmp_path, driver)
    assert found == [[[3, 12, 48], [6, 120, 2400]], [[5, 20, 80], [10, 200, 4000]]]
    # Two launches forward and two backward, on the stream of the tensors; nothing was copied but for the first look at threads of each form.
    assert "launches=4 peak=0 stream=5 " in log
    assert copies == [1, 2] * 2


def test_what_needs_memory_of_its_own_is_done_on_the_host(driver, tmp_path):
    program = """
x = torch.tensor([0.5, 1.0], requires_grad=True)
kc.torch.function(steps, outputs="y")(2, x).sum().backward()
a, z = torch.tensor(3.0, requires_grad=True), torch.tensor([1.0, 2.0], requires_grad=True)
kc.torch.function(scaled, outputs="y")(2, a, z).sum().backward()
print(json.dumps([x.grad.tolist(), a.grad.item(), z.grad.tolist()]))
"""
    (steps, factor, scaled), log = run(program, tmp_path, driver)
    # y1 = x * x + x, y2 = y1 * y1 + x.
    assert steps == pytest.approx([2 * 0.75 * 2 + 1, 2 * 2 * 3 + 1]) and factor == 5 and scaled == [6, 12]
    assert "launches=2 " in log


def test_threads_that_meet_are_refused(driver, tmp_path):
    program = """
f, found = kc.torch.function(gathered, outputs={"y": 2}), []
for index in ([0, 1], [1, 1]):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = f(2, x, torch.tensor(index, dtype=torch.int32))
    try:
        y.sum().backward()
        found.append(x.grad.tolist())
    except kc.Error as error:
        found.append(error.code)
print(json.dumps(found))
"""
    found, _ = run(program, tmp_path, driver)
    assert found == [[1, 1], "E1108"]
