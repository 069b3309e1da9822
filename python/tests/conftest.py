import numpy as np
import pytest


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def pytest_collection_modifyitems(items):
    """`-m basic` has the tests of kc.bench that need neither PyTorch nor a GPU."""
    for item in items:
        if item.path.name.startswith("test_bench") and not list(item.iter_markers("torch")):
            item.add_marker("basic")
