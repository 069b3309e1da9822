"""Where the tensors of these tests are: `KC_TEST_DEVICE=cuda` for those that the memory of a GPU may hold (PyTorch 2.0 or later)."""

import os

import torch

if device := os.environ.get("KC_TEST_DEVICE"):
    torch.set_default_device(device)


def pytest_collection_modifyitems(items):
    for item in items:
        item.add_marker("torch")
