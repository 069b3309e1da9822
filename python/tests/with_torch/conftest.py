"""Where the tensors of these tests are: `KC_TEST_DEVICE=cuda` for those that the memory of a GPU may hold."""

import os

import torch

torch.set_default_device(os.environ.get("KC_TEST_DEVICE", "cpu"))
