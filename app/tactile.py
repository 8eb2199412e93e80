"""What the pads of a session feel, frame by frame: for the panels, the recorder and the replay."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.tactile.array import TactileArray

SIGNALS = ("indentation", "forces", "markers")
KEPT = ("indentation", "pressure", "shear", "contact", "marker", "marker_pixel", "wrench")
# entries of a pad that are images; "depth" in recordings of earlier versions
IMAGES = ("rgb", "indentation", "pressure", "shear", "contact", "depth")


class TactileReader:
    """Signals of world `world`.

    Args:
        scene: with `pads` (engine.tactile.spec.SensorSpec). engine: stands in that scene.
    """

    def __init__(self, scene, engine):
        self.sensors, self.world = tuple(getattr(scene, "pads", ()) or ()), 0
        calibrated = any(getattr(s, "calibration", None) is not None for s in self.sensors)
        self.array = TactileArray(engine, self.sensors, (*SIGNALS, "rgb") if calibrated else SIGNALS)
        self._rest = {s.name: self.array.reference("marker_pixel", s.name).copy() for s in self.sensors}

    def read(self) -> dict[str, dict[str, np.ndarray]]:
        """Pad -> its signals now, copies: what a Frame carries and a recording keeps.

        indentation (h, w) [m]; pressure (h, w), shear (h, w, 2) along the sensor's x and y [Pa]; contact (h, w) 0 or 1;
        rgb (h, w, 3) uint8 of a calibrated pad; marker (m, 3), and displacement (k, 3) of the coat's vertices, sensor
        frame [m]; marker_pixel (m, 2); coat_depth (k,), how far the coat's vertices are pushed in [m]; wrench (6,),
        sensor frame [N, N m]; force (3,), of the wrench in the world [N].
        """
        array, world = self.array, self.world
        array.update()
        out = array.read_world(KEPT + (("rgb",) if array.colours else ()), world)
        for name, values in out.items():
            moved = values["displacement"] = array.coat_displacement(name, world)
            values["coat_depth"] = -moved[:, 2]
            values["force"] = array.world_from_sensor(name, world)[:3, :3] @ values["wrench"][:3]
        return out

    def for_view(self, tactile: dict[str, dict]) -> list[dict[str, Any]]:
        """See `for_view`."""
        return for_view(tactile, self._rest, {s.name: s.marker_shape for s in self.sensors})

    def coats(self, tactile: dict[str, dict]) -> dict[str, np.ndarray]:
        """Mesh -> how far its coat's vertices are pushed in [m], (k,)."""
        mesh_of = {s.name: s.mesh for s in self.sensors}
        return {mesh_of[n]: pad["coat_depth"] for n, pad in tactile.items() if n in mesh_of and "coat_depth" in pad}


def for_view(tactile: dict[str, dict], rest: dict[str, np.ndarray], shapes: dict[str, tuple]) -> list[dict[str, Any]]:
    """What the panel shows of each pad that has an image: name, depth (h, w) [m] pushed in, rgb or None, marker and
    marker_rest (m, 2) [pixel] or None, marker_shape, force [N] and its part along the sensor's axes `local` (3,).

    tactile: as `TactileReader.read` gives it, or a recording; rest: undeformed marker_pixel by pad; shapes: of grids.
    """
    found = []
    for name, pad in tactile.items():
        image = pad.get("indentation", pad.get("depth"))
        if image is None:
            continue
        marker, start = pad.get("marker_pixel"), rest.get(name)
        fits = start is not None and marker is not None and len(start) == len(marker) > 0
        found.append(
            {
                "name": name, "depth": image, "rgb": pad.get("rgb"), "marker": marker if fits else None,
                "marker_rest": start if fits else None, "marker_shape": shapes.get(name, (0, 0)),
                "force": float(np.linalg.norm(pad.get("force", 0.0))),
                "local": np.asarray(pad.get("wrench", np.zeros(6)), float)[:3],
            }
        )  # fmt: skip
    return found


def tactile_reader(scene, engine) -> TactileReader | None:
    """None for a scene without pads."""
    return TactileReader(scene, engine) if getattr(scene, "pads", ()) else None
