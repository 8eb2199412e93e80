"""What the panels show beside the Frame. Not recorded: an episode keeps the Frame alone."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from app.frame import Frame
from app.tape import adhesive_pairs, friction_pairs


def loop_info(loop, frame: Frame) -> dict[str, Any]:
    """For `View.draw`.

    devices (`DeviceWishes.device_info`), episodes (`app.episode_shelf.ShelfView`; None while the browser is closed),
    worlds, world (the one shown),
    scene_name, compute, input, latency_ms, slow, teleop (`Operator.about`), record (`record_info`), checkpoints, forces
    (name -> (3,) [N] on the driven tool), pads (`TactileReader.for_view`), coat_depth (mesh -> (k,) [m]),
    tape (`app.tape.TapeReader.read`), adhesives (`app.tape.adhesive_pairs`), frictions (`friction_pairs`), cut ({} or,
    while one is armed, its mesh and `lines`, polylines (k, 3) [m]).
    """
    sample = frame.sample
    latency = None
    if sample is not None and sample.t_receive and not loop.operator.scripted:
        latency = max(0.0, 1e3 * (frame.time_mono - sample.t_receive))
    forces = {}
    row = loop.operator.row_of_active()
    if frame.signals is not None and row is not None:
        forces[loop.operator.tools[loop.operator.teleop.active].name] = -frame.signals.drive_force[0, row]
    reader = loop.session.tactile
    pads, coats = (reader.for_view(loop._tactile), reader.coats(loop._tactile)) if reader is not None else ([], {})
    marks = [{"id": c.number, "label": c.label, "time": c.time, "automatic": c.automatic} for c in loop.checkpoints]
    return {
        "devices": loop.device_info(frame.time_mono), "episodes": loop.episodes_info(),
        "worlds": loop.session.engine.model.num_worlds, "world": getattr(loop.session.engine, "world", 0),
        "scene_name": loop.session.scene.name, "compute": loop.wiring.compute, "input": loop.operator.device.name,
        "latency_ms": latency, "slow": loop.slow, "teleop": loop.operator.about(frame.signals),
        "record": record_info(loop.wiring.recorder), "checkpoints": marks, "forces": forces, "pads": pads,
        "coat_depth": coats, "tape": loop._tape_now, "guide": loop._guide_now,
        "cut": loop.armed_cut(), "adhesives": adhesive_pairs(loop.session.engine) if loop._tape is not None else [],
        "frictions": friction_pairs(loop.session.engine) if loop._tape is not None else [],
    }  # fmt: skip


@lru_cache(maxsize=1)
def _episodes_in(folder: str, episode: str, state: str) -> int:
    """Counted anew only when the recorder's episode or state changes."""
    return sum(1 for _ in Path(folder).glob("episode_*.h5"))


def record_info(recorder) -> dict[str, Any]:
    """The record panel's numbers; {} without a recorder."""
    if recorder is None:
        return {}
    status = recorder.status()
    info = {
        "state": status.state.value,
        "seconds": status.duration,
        "frames": status.num_frames,
        "disk_free": status.disk_free,
        "message": status.problem or status.reason,
        "problem": bool(status.problem),
        "folder": getattr(recorder, "folder", ""),
        "progress": status.progress,
        "count": _episodes_in(str(getattr(recorder, "folder", "")), status.episode, status.state.value),
    }
    if status.episode:
        info["last"] = {"name": status.episode, "label": status.label, "seconds": status.duration}
    return info
