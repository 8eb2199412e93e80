"""The signals: what each is, in which unit and frame. docs/physics/tactile.md repeats the table; a test compares."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import warp as wp


@dataclass(frozen=True)
class Signal:
    """per: what a value belongs to (pixel, marker, sensor); dtype: of the Warp array; text: what it is."""

    per: str
    dtype: type
    unit: str
    frame: str
    text: str

    @property
    def bytes(self) -> int:
        return int(wp.types.type_size_in_bytes(self.dtype))

    @property
    def shape(self) -> tuple[int, ...]:
        """Trailing shape as numpy sees it."""
        return tuple(getattr(self.dtype, "_shape_", ()))

    @property
    def numpy_dtype(self) -> np.dtype:
        scalar = getattr(self.dtype, "_wp_scalar_type_", self.dtype)
        return np.dtype(wp.dtype_to_numpy(scalar))


SIGNALS = {
    "depth": Signal("pixel", wp.float32, "m", "camera", "distance of the coat along the camera's z; 0: nothing seen"),
    "indentation": Signal("pixel", wp.float32, "m", "camera", "how far the coat is pushed in, against the reference"),
    "normal": Signal("pixel", wp.vec3f, "-", "sensor", "outward unit normal of the coat; 0: nothing seen"),
    "rgb": Signal("pixel", wp.vec3ub, "0..255", "-", "colour image of a calibrated sensor"),
    "pressure": Signal("pixel", wp.float32, "Pa", "sensor", "normal force per undeformed area, positive pushing in"),
    "shear": Signal("pixel", wp.vec2f, "Pa", "sensor", "tangential force per undeformed area, along x and y"),
    "contact": Signal("pixel", wp.uint8, "0/1", "-", "1 where the pressure is above `contact_pressure`"),
    "points": Signal("pixel", wp.vec3f, "m", "sensor", "dense point cloud; NaN: nothing seen"),
    "world_points": Signal("pixel", wp.vec3f, "m", "world", "dense point cloud; NaN: nothing seen"),
    "marker": Signal("marker", wp.vec3d, "m", "sensor", "places of the markers: the sparse point cloud"),
    "world_marker": Signal("marker", wp.vec3d, "m", "world", "places of the markers: the sparse point cloud"),
    "marker_pixel": Signal("marker", wp.vec2d, "pixel", "image", "column and row of the markers"),
    "flow": Signal("marker", wp.vec3d, "m", "sensor", "how far the markers have moved"),
    "pixel_flow": Signal("marker", wp.vec2d, "pixel", "image", "how far the markers have moved in the image"),
    "wrench": Signal("sensor", wp.float64, "N, N m", "sensor", "force on the gel, torque about the sensor's origin"),
}
# What each is made from beside the coat itself; the images of one row are made together.
GROUPS = {
    "shape": ("depth", "normal"),
    "indentation": ("indentation",),
    "clouds": ("points", "world_points"),
    "forces": ("pressure", "shear", "contact", "wrench"),
    "markers": ("marker", "world_marker", "marker_pixel", "flow", "pixel_flow"),
    "rgb": ("rgb",),
}


def checked(names) -> tuple[str, ...]:
    """Groups that the named signals, or groups, need. Raises ValueError naming an unknown one and the legal ones."""
    wanted = set()
    for name in names:
        group = name if name in GROUPS else next((g for g, members in GROUPS.items() if name in members), None)
        if group is None:
            legal = f"{', '.join(SIGNALS)}, or the groups {', '.join(GROUPS)}"
            raise ValueError(f"there is no signal '{name}'; legal: {legal}")
        wanted.add(group)
    if wanted & {"indentation", "clouds", "rgb"}:
        wanted.add("shape")
    return tuple(group for group in GROUPS if group in wanted)


def table() -> str:
    """The signals as Markdown."""
    lines = ["| signal | per | shape | type | unit | frame | meaning |", "|---|---|---|---|---|---|---|"]
    for name, s in SIGNALS.items():
        size = "6" if s.per == "sensor" else ", ".join(map(str, s.shape)) or "-"
        cells = (f"`{name}`", s.per, size, s.numpy_dtype.name, s.unit, s.frame, s.text)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
