"""What happens, a line of JSON a frame: for tests, for a second screen, for whoever wants to know without a window.

`tacktile run --state-log FILE`. Units are SI. The fields are listed in docs/user_guide.md.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from app.frame import Frame
from app.tape import strip_rows
from devices.rotations import nearest_rotation, quat_from_matrix

FREE = 0.999  # damage from which a point counts as free


class StateLog:
    """A sink of the loop. Each line is written whole and flushed, so that another process may read along.

    Args:
        path: of the file; one that is there is replaced. loop: asked for tools and recorder.

    Raises:
        ValueError: the file cannot be written; the text says why.
    """

    def __init__(self, path: Path, loop):
        self._loop = loop
        try:
            self._file = Path(path).open("w", encoding="utf-8", buffering=1)
        except OSError as error:
            raise ValueError(f"--state-log {path}: {error.strerror or error}") from None

    def __call__(self, frame: Frame) -> None:
        self._file.write(json.dumps(self.line(frame), allow_nan=False) + "\n")

    def close(self) -> None:
        self._file.close()

    def line(self, frame: Frame) -> dict[str, Any]:
        """The fields of one line."""
        operator, recorder = self._loop.operator, self._loop.wiring.recorder
        record = recorder.status() if recorder is not None else None
        report = frame.report
        return {
            "index": frame.index,
            "stepped": frame.stepped,
            "time": _rounded(frame.time_sim),
            "mode": frame.mode,
            "paused_reason": frame.paused_reason,
            "realtime": _rounded(frame.realtime_factor),
            "input": self._loop.operator.device.name,
            "health": frame.status.health.value if frame.status is not None else None,
            "waiting": self._loop.operator.mapping.reason,
            "frame": self._loop.operator.mapping.frame,
            "held": list(frame.sample.raw.get("down", ())) if frame.sample is not None else [],
            "tools": self._tools(frame),
            "meshes": self._meshes(frame),
            "pads": {
                name: {"deepest": _rounded(np.max(pad["indentation"], initial=0.0)), "force": _rounded(pad["force"])}
                for name, pad in frame.extra.get("tactile", {}).items()
            },
            "tape": self._tape(frame),
            "tool": operator.tool_in_hand,
            "task": frame.extra.get("guide", {}).get("stages", {}),
            "record": None
            if record is None
            else {
                "state": record.state.value, "episode": record.episode, "frames": record.num_frames,
                "label": record.label,
            },
            "converged": report.converged if report is not None else None,
            "newton_iterations": report.newton_iterations if report is not None else None,
            "events": list(frame.events),
        }  # fmt: skip

    def _tools(self, frame: Frame) -> dict[str, Any]:
        operator, engine = self._loop.operator, self._loop.session.engine
        out = {}
        for number, tool in enumerate(operator.tools):
            state = operator.teleop.tools[number]
            out[tool.name] = {
                "target": _rounded(state.position),
                "reached": _rounded(engine.body_transform(tool.palm)[:3, 3]),
                "quaternion": _rounded(quat_from_matrix(nearest_rotation(engine.body_transform(tool.palm)))),
                "closure": _rounded(state.closure),
            }
        info = operator.about(frame.signals)
        if "drive_force" in info:
            out[info["tool"]] |= {"force": _rounded(info["drive_force"])}
        if "grip_force" in info:
            out[info["tool"]] |= {"opening": _rounded(info["opening"]), "grip_force": _rounded(info["grip_force"])}
        return out

    def _tape(self, frame: Frame) -> dict[str, Any]:
        """Numbers of each roll, and how many points of its free end are stuck to something (`laid`)."""
        found, out = frame.extra.get("tape", {}), {}
        for name, roll in found.get("rolls", {}).items():
            row = strip_rows(
                self._loop.session.model.meshes[name].rest, self._loop.session.scene.rolls[name].spec.cell
            )
            laid = (np.nan_to_num(found["damage"][name], nan=1.0) < FREE) & (row > row.max() - roll["free_rows"])
            out[name] = {key: _rounded(value) for key, value in roll.items()} | {"laid": int(laid.sum())}
        return out

    def _meshes(self, frame: Frame) -> dict[str, Any]:
        """Corners of the boxes around shells and solids."""
        out = {}
        points = np.asarray(frame.points)
        for name, mesh in self._loop.session.model.meshes.items():
            if mesh.kind in ("shell", "solid"):
                own = points[mesh.points]
                out[name] = {"lower": _rounded(own.min(axis=0)), "upper": _rounded(own.max(axis=0))}
        return out


def _rounded(values) -> Any:
    """Six digits: a micrometre of a metre; not a number becomes null, as JSON has none."""
    array = np.asarray(values, dtype=float)
    if array.ndim:
        return [_rounded(value) for value in array]
    return float(f"{float(array):.6g}") if np.isfinite(array) else None
