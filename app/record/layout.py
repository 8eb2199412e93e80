"""Names behind the rows of recorded arrays, so that an episode can be read without its scene."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def scene_layout(scene: Any, model: Any) -> dict[str, Any]:
    """What `Recorder(layout=...)` takes, of a built scene and its model (plain values, no paths).

    driven: bodies in the order of `control/body_transform`; joints: in that of `control/joint_target`; tools: name,
    palm (a driven body), fingers (joints), open_position and closed_position [m]; meshes: name -> [first point, last
    point + 1, kind] before any cut; pads: name -> mesh; robots: name -> names of the joint coordinates; stages: of the
    task, in order, of a scene whose physics tells them.
    """
    tools = [
        {
            "name": tool.name, "palm": tool.palm, "fingers": list(tool.fingers),
            "open_position": _plain(tool.open_position), "closed_position": _plain(tool.closed_position),
        }
        for tool in getattr(scene, "tools", ()) or ()
    ]  # fmt: skip
    return {
        "driven": [name for name, body in model.bodies.items() if body.driven],
        "joints": [name for name, joint in model.joints.items() if joint.drive is not None],
        "tools": tools,
        "meshes": {
            name: [int(mesh.points.start), int(mesh.points.stop), str(mesh.kind)] for name, mesh in model.meshes.items()
        },
        "robots": {robot.name: list(robot.kinematics.names) for robot in _robots(scene)},
        "stages": _stages(scene),
        "pads": {getattr(pad, "name", None) or pad.mesh: pad.mesh for pad in getattr(scene, "pads", ()) or ()},
    }


def _stages(scene: Any) -> list[str]:
    file = getattr(getattr(scene, "config", None), "file", None)
    for section, module in (("seal", "scenes.packaging"), ("wrap", "scenes.wrapping")):
        if getattr(file, section, None) is not None:
            return list(import_module(module).STAGES)
    return []


def _robots(scene: Any) -> list:
    robots = getattr(scene, "robots", ()) or ()
    return list(robots.values()) if isinstance(robots, dict) else list(robots)


def _plain(value: Any) -> Any:
    return [float(v) for v in value] if hasattr(value, "__len__") else float(value)
