"""The entity `robot`, and what a built scene knows of one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engine.materials import ContactMaterial
from engine.robots.kinematics import Kinematics
from scenes.errors import SceneError
from scenes.link_shapes import SURFACES
from scenes.placed import Placed
from scenes.reading import (
    Choice,
    FileName,
    Flag,
    Integer,
    ListOf,
    MapOf,
    OrNone,
    Quantity,
    Record,
    Spec,
    Table,
    Text,
    Vector,
    setting,
)
from scenes.tables import ANGLES, NAME, POINT, Look, contact_setting, look_setting
from scenes.yaml_tree import Tree

JOINT_POSITIONS = MapOf(Quantity("joint position"), also=".")


@dataclass(frozen=True)
class Folder(Spec):
    """A folder, relative to the file that names it; read as an absolute Path."""

    def read(self, tree: Tree, name: str) -> Path:
        text = self._scalar(tree, name)
        path = ((Path(tree.place.source).parent if tree.place.line else Path.cwd()) / text).resolve()
        if not path.is_dir():
            raise SceneError(f"{name}: there is no folder {path}", tree.place)
        return path

    def describe(self) -> str:
        return "a folder, relative to the file that names it"


@dataclass(frozen=True)
class EndEffector(Record):
    """What the operator moves: a frame on a link, and the joints of its gripper."""

    link: str = setting(NAME, "link that follows the operator's pose target")
    position: tuple = setting(POINT, "of the tool's centre in the link frame; rotations leave it in place", (0.0,) * 3)
    rotation: tuple = setting(ANGLES, "of the tool's frame about the link's x, then y, then z", (0.0, 0.0, 0.0))
    joints: tuple | None = setting(
        OrNone(ListOf(NAME)), "joints that bring the link to its target; none: all between base and link", None
    )
    open: dict = setting(JOINT_POSITIONS, "gripper joints when open", factory=dict)
    closed: dict = setting(JOINT_POSITIONS, "the same joints when closed", factory=dict)
    effort: dict = setting(
        MapOf(Quantity("joint force", above=0.0), also="."),
        "resistance at which a gripper joint stops closing; of others: the limit in the file", factory=dict,
    )  # fmt: skip
    closing_time: float = setting(Quantity("time", above=0.0), "from open to closed, at the fastest", 0.5)
    lever: float = setting(Quantity("length", above=0.0), "how much one radian counts against metres", 0.1)


_CONTACT = {"dhat": 3e-4, "kappa": 1e6, "friction_mu": 0.6, "self_collision": False}


@dataclass(frozen=True)
class RobotEntity(Placed):
    """A robot from a URDF: its links are driven bodies NAME.LINK; links joined by fixed joints are one body, named
    after the link nearest to the root."""

    urdf: Path = setting(FileName((".urdf", ".xml")), "the robot")
    packages: dict = setting(MapOf(Folder()), "folders of packages that `package://` names", factory=dict)
    substitute: tuple = setting(ListOf(Vector(Text(), 2)), "[text, by what] replaced in names of mesh files", ())
    base: str = setting(
        Choice(("fixed", "moved")), "moved: the base follows the first end effector (a hand without an arm)", "fixed"
    )
    joints: dict = setting(JOINT_POSITIONS, "where joints start; others at 0, a gripper's open", factory=dict)
    end_effectors: dict = setting(MapOf(Table(EndEffector, title="end effector")), "tools by name", factory=dict)
    sensors: Path | None = setting(OrNone(FileName((".yaml",))), "tactile sensors on its links", None)
    collision: str = setting(
        Choice(SURFACES), "auto: simplified when large, hulls of unsound meshes; mesh: as it is; hull: hulls", "auto"
    )
    triangles: int = setting(Integer(20, 100_000), "of one collision mesh at most, for auto", 1500)
    visual: str = setting(Choice(("file", "collision")), "what is drawn", "file")
    self_collision: bool = setting(Flag(), "links that are not neighbours and start apart collide", True)
    ignore: tuple = setting(ListOf(Vector(NAME, 2)), "pairs of links that never touch", ())
    force_limit: float | None = setting(OrNone(Quantity("force", above=0.0)), "of the drive of each link", None)
    force_limits: dict = setting(
        MapOf(OrNone(Quantity("force", above=0.0)), also="."), "of single links, in place of force_limit", factory=dict
    )
    lead: float = setting(
        Quantity("joint position", above=0.0), "how far a joint's target runs ahead of a joint that is held back", 0.06
    )
    density: float = setting(Quantity("density", above=0.0), "of links whose mass is not in the file", 1000.0)
    stiffness: float = setting(Quantity("pressure", above=0.0), "resistance to any change of shape", 1e8)
    gravity: bool = setting(Flag(), "links feel gravity", False)
    contact: ContactMaterial = contact_setting(**_CONTACT)
    look: Look = look_setting(color=(0.82, 0.83, 0.85), finish="satin")


ROBOT = Table(RobotEntity, title="robot")


@dataclass(frozen=True, eq=False)
class RobotTool:
    """One end effector. link, frame (4, 4): link from tool; body: driven body that carries it; arm (k,): coordinates
    that bring it to its target; moves_base: the base follows instead; fingers (f,): coordinates of its gripper, opened,
    closed (f,) [m or rad], effort (f,) [N or N m] at which they stop, closing_time [s]; lever [m]: of a radian."""

    name: str
    link: str
    frame: np.ndarray
    body: str
    arm: np.ndarray
    moves_base: bool
    fingers: np.ndarray
    opened: np.ndarray
    closed: np.ndarray
    effort: np.ndarray
    closing_time: float = 0.5
    lever: float = 0.1


@dataclass(frozen=True, eq=False)
class Robot:
    """A robot of a built scene. base: (4, 4) world from root link at start; start (n,): coordinates at start; bodies:
    driven body -> the link whose frame is its mesh frame; lead [m or rad]: how far targets run ahead of held joints;
    gels: mesh of a sensor on it -> body."""

    name: str
    kinematics: Kinematics
    base: np.ndarray
    start: np.ndarray
    bodies: dict[str, str]
    tools: tuple[RobotTool, ...]
    lead: float
    gels: dict[str, str]

    def transforms(self, q: np.ndarray, base: np.ndarray | None = None, carried=None) -> dict[str, np.ndarray]:
        """Poses (4, 4), world from mesh, of all driven bodies at coordinates q (n,): rows of Control.body_transform.
        carried: tools on links, body -> (link, (4, 4) link from mesh), see `attach`."""
        poses = (self.base if base is None else base) @ self.kinematics.forward(q)
        found = {body: poses[self.kinematics.link_index(link)] for body, link in self.bodies.items()}
        for body, (link, link_from_mesh) in (carried or {}).items():
            found[body] = poses[self.kinematics.link_index(link)] @ link_from_mesh
        return found

    def attach(self, carried, body: str, link: str, pose: np.ndarray, q: np.ndarray, base=None) -> dict:
        """`carried` with one more tool: a driven body that stands at `pose` (4, 4), world from mesh, follows a link
        from now on, where it is. To detach it, take it out: it then stays at its last target. Raises KeyError for an
        unknown link, ValueError for a link's own body or a tool that is carried already."""
        if body in self.bodies or body in (carried or {}):
            raise ValueError(f"robot '{self.name}' carries '{body}' already; free tools are other driven bodies")
        poses = (self.base if base is None else base) @ self.kinematics.forward(q)
        return {**(carried or {}), body: (link, np.linalg.inv(poses[self.kinematics.link_index(link)]) @ pose)}

    def coordinates(self, transforms: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """(q (n,), base (4, 4)) from poses of all driven bodies, the inverse of `transforms`; of bodies that were held
        back, the coordinates of the joints between them. Links without a body are taken at their start."""
        k = self.kinematics
        poses = self.base @ k.forward(self.start)
        known = {link: np.asarray(transforms[body]) for body, link in self.bodies.items()}
        for group, links in k.robot.rigid_groups().items():
            if group not in known:
                continue
            head = np.linalg.inv(poses[k.link_index(group)])
            for link in links:
                poses[k.link_index(link)] = known[group] @ head @ poses[k.link_index(link)]
        root = k.links[0]
        base = known[root].copy() if root in known else self.base
        return k.coordinates(poses, self.start), base

    def write(self, control, driven: list[str], q: np.ndarray, base=None, world=slice(None), carried=None) -> None:
        """Targets into rows of a Control; driven: `Engine.driven_bodies`; world: one, or all; carried: tools, as for
        `transforms`."""
        for body, pose in self.transforms(q, base, carried).items():
            control.body_transform[world, driven.index(body)] = pose
