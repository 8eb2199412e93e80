"""A built scene: the engine's model and what the application needs around it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from engine.options import Options
from engine.tactile.spec import SensorSpec
from engine.tape.asset import RollAsset
from engine.types import Model
from scenes.cameras import SceneCamera
from scenes.config import SceneConfig
from scenes.motion import pose_at
from scenes.robot import Robot
from scenes.tables import Motion


@dataclass(frozen=True)
class Visual:
    """How a mesh is drawn. color: (r, g, b) in 0..1; finish: matte, satin, gloss, cardboard, tape, gel or metal;
    transparency: 0 opaque; smooth: smooth shading; show: drawn at start; half_thickness [m] for offset drawing."""

    color: tuple[float, float, float]
    finish: str = "matte"
    transparency: float = 0.0
    smooth: bool = False
    show: bool = True
    half_thickness: float = 0.0


@dataclass(frozen=True)
class Tool:
    """What the operator moves: a driven body, with fingers or without.

    palm: name of the driven body; home: (4, 4) world from its mesh frame at start; fingers: joints with drives, their
    coordinate grows while closing; open_position, closed_position: their targets [m]; grasp_meshes: meshes that touch
    what is grasped; grip_force: force limit of one finger's drive [N], None without fingers. robot: name of the robot
    whose end effector this is (it has no `fingers`: its joints are coordinates of the robot); pivot (3,): point of the
    palm's mesh frame that rotations leave in place [m].
    """

    name: str
    palm: str
    home: np.ndarray
    fingers: tuple[str, ...] = ()
    open_position: float = 0.0
    closed_position: float = 0.0
    grasp_meshes: tuple[str, ...] = ()
    grip_force: float | None = None
    robot: str | None = None
    pivot: tuple[float, float, float] = (0.0, 0.0, 0.0)


@dataclass
class Scene:
    """Everything build_scene makes. camera: (eye, target, up) [m]; bookmarks: name -> (eye, target); cameras: those of
    an episode, by name; motions: driven body -> (Motion, (4, 4) start pose); rolls: name of a roll's strip -> its
    asset; robots: by name; edges: dispenser -> ends of its blade's edge, (2, 3) in its frame [m];
    notes: guesses and repairs that the user should see; draws: overrides by which each world differs from the file."""

    name: str
    description: str
    config: SceneConfig
    model: Model
    options: Options
    tools: list[Tool]
    pads: list[SensorSpec]
    camera: tuple[tuple, tuple, tuple]
    bookmarks: dict[str, tuple[tuple, tuple]]
    visuals: dict[str, Visual]
    task: str
    steps: list[str]
    hints: list[str]
    cameras: dict[str, SceneCamera] = field(default_factory=dict)
    motions: dict[str, tuple[Motion, np.ndarray]] = field(default_factory=dict)
    rolls: dict[str, RollAsset] = field(default_factory=dict)
    robots: dict[str, Robot] = field(default_factory=dict)
    edges: dict[str, np.ndarray] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    draws: list[tuple[str, ...]] = field(default_factory=list)

    @property
    def blade(self):
        """scenes.schema.Blade of the scene, its edge filled in, or None."""
        blade = self.config.file.blade
        if blade is None or blade.edge is not None:
            return blade
        return replace(blade, edge=self.edges[blade.mesh])

    @property
    def script(self):
        """Path of the scripted input that shows the scene, or None."""
        return self.config.file.script

    def motion(self, time: float) -> dict[str, np.ndarray]:
        """Target pose (4, 4), world from mesh, at simulated `time` [s] of every driven body that has keyframes."""
        return {name: pose_at(motion, start, time) for name, (motion, start) in self.motions.items()}

    def control_motion(self, control, time: float) -> None:
        """Write the poses of `motion(time)` into Control.body_transform of every world."""
        driven = [name for name, info in self.model.bodies.items() if info.driven]
        for name, pose in self.motion(time).items():
            control.body_transform[:, driven.index(name)] = pose
