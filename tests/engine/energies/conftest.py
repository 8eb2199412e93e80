"""Every energy test runs on each device present."""

from __future__ import annotations

import pytest
import warp as wp


@pytest.fixture(params=["cpu", *(["cuda:0"] if wp.get_cuda_device_count() else [])])
def device(request) -> str:
    return request.param
