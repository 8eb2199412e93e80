"""Memory that images take, asked before it is taken."""

from __future__ import annotations

import os

import warp as wp

from engine.tactile.signal_table import GROUPS, SIGNALS

KEY_BYTES = 8  # of the nearest triangle, a pixel
SHARE = 0.9  # of the free memory that may be used


def image_bytes(sensors, groups) -> int:
    """Bytes of one world's images, markers and wrenches."""
    pixels = sum(s.camera.width * s.camera.height for s in sensors)
    markers = sum(len(s.marker_triangle) for s in sensors)
    count = {"pixel": pixels, "marker": markers, "sensor": 6 * len(sensors)}
    total = KEY_BYTES * pixels
    for group in groups:
        total += sum(SIGNALS[name].bytes * count[SIGNALS[name].per] for name in GROUPS[group])
    return total


def free_bytes(device: str) -> int | None:
    """Memory of a device that is free now [byte], None where the system does not say."""
    place = wp.get_device(device)
    if place.is_cuda:
        return int(place.free_memory)
    try:
        with open("/proc/meminfo") as file:
            for line in file:
                if line.startswith("MemAvailable"):
                    return 1024 * int(line.split()[1])
    except OSError:
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def check_memory(sensors, worlds: int, groups, device: str) -> None:
    """Raises MemoryError naming what is asked and what there is."""
    each, free = image_bytes(sensors, groups), free_bytes(device)
    if free is not None and each * worlds > SHARE * free:
        raise MemoryError(
            f"the signals of {len(sensors)} sensors take {each / 1e6:.3g} MB a world, {each * worlds / 1e9:.3g} GB in "
            f"{worlds} worlds; {free / 1e9:.3g} GB are free on {device}. Ask for at most {int(SHARE * free / each)} "
            "worlds, smaller images, or fewer signals"
        )
