"""These tests run on an NVIDIA GPU. Without one each is skipped, and says so."""

import pytest

import kc


def pytest_collection_modifyitems(items):
    none = pytest.mark.skip(reason="no NVIDIA GPU: kc.devices() is empty")
    for item in items:
        item.add_marker("gpu")
        if not kc.devices():
            item.add_marker(none)
