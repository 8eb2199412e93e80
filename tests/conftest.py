"""Fixtures shared by all tests: every device that is there, quiet Warp."""

from __future__ import annotations

import pytest


def _devices() -> list[str]:
    import warp as wp

    wp.config.quiet = True
    wp.init()
    return ["cpu", *(f"cuda:{i}" for i in range(len(wp.get_cuda_devices())))]


def pytest_generate_tests(metafunc):
    """`device` runs a test on the CPU and on every CUDA device present."""
    if "device" in metafunc.fixturenames:
        metafunc.parametrize("device", _devices())


@pytest.fixture(autouse=True)
def _quiet_warp():
    import warp as wp

    wp.config.quiet = True
