"""What was asked for, one record a part, already checked and in SI units. Local vertex ids everywhere."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from engine.materials import (
    ContactMaterial,
    JointDrive,
    JointFriction,
    JointSpring,
    ShellMaterial,
    SolidMaterial,
)


@dataclass(frozen=True)
class CutShell:
    """What a shell that has been cut remembers. n vertices, t triangles."""

    seam: np.ndarray  # equal for vertices that were one before a cut, int64 (n,)
    area: np.ndarray  # retained rest area: a piece has its share of the triangle before [m2], float64 (t,)
    cell_area: np.ndarray  # rest area of the triangle of the uncut mesh in which each lies [m2], float64 (t,)
    hinge_shape: np.ndarray  # of mesh.topology.hinges: pieces of a side share what it had [-], float64 (h,)
    kerf: float  # distance of the lips of a fresh cut [m]
    vertices: int  # of the uncut mesh; they keep their ids


@dataclass
class MeshPart:
    """A named mesh of any kind. n vertices, t surface triangles."""

    name: str
    kind: str  # "shell", "solid", "body", "static"
    vertices: np.ndarray  # world position at the start [m], float64 (n, 3)
    triangles: np.ndarray  # surface, int64 (t, 3)
    contact: ContactMaterial
    rest: np.ndarray  # rest vertices in the mesh's own frame [m], float64 (n, 3)
    material: ShellMaterial | SolidMaterial | None = None
    tets: np.ndarray | None = None  # int64 (m, 4)
    point_mass: np.ndarray | None = None  # lumped [kg], float64 (n,); None for bodies and statics
    velocity: np.ndarray | None = None  # [m/s], float64 (n, 3)
    pinned: np.ndarray | None = None  # bool (n,)
    body: int = -1  # index of its body for kind "body"
    carrier: np.ndarray | None = None  # body that carries each vertex by `attach`, -1 none, int (n,)
    visual: object = None  # passed through
    cut: CutShell | None = None  # once it has been cut


@dataclass
class BodyPart:
    """An affine body. Its frame has the mesh's axes and its origin at the centre of mass."""

    name: str
    mesh: int  # index of its mesh
    com: np.ndarray  # centre of mass in the mesh frame [m], float64 (3,)
    rotation: np.ndarray  # mesh frame -> world, float64 (3, 3)
    origin: np.ndarray  # centre of mass in the world at the start [m], float64 (3,)
    moments: np.ndarray  # integral of rho [1, X][1, X]^T in the body frame [kg, kg m, kg m2], float64 (4, 4)
    volume: float  # [m3], for the orthogonality energy
    stiffness: float  # kappa_s [Pa]
    driven: bool = False
    force_limit: float | None = None  # [N]
    drive_stiffness: float = 0.0  # [N/m]
    velocity: np.ndarray = field(default_factory=lambda: np.zeros(6))  # of the centre of mass [m/s, rad/s], world
    gravity: bool = True

    @property
    def nodes(self) -> np.ndarray:
        """Start positions of its four nodes: origin [m] and the three columns of A [-], float64 (4, 3)."""
        return np.vstack([self.origin, self.rotation.T])

    @property
    def node_velocities(self) -> np.ndarray:
        """float64 (4, 3): linear velocity of the centre of mass, then omega x column."""
        linear, omega = self.velocity[:3], self.velocity[3:]
        return np.vstack([linear, np.cross(omega, self.rotation.T)])

    def local(self, world_positions: np.ndarray) -> np.ndarray:
        """World positions (n, 3) in the body frame at the start, float64 (n, 3)."""
        return (np.asarray(world_positions) - self.origin) @ self.rotation


@dataclass
class JointPart:
    """A joint between two bodies, as placed in the world at the start."""

    name: str
    kind: str  # "fixed", "revolute", "prismatic", "spherical"
    parent: int  # body index, -1 = world
    child: int
    anchor: np.ndarray  # world [m], float64 (3,)
    axis: np.ndarray  # unit vector in the world, float64 (3,)
    lower: float  # [m or rad], -inf = none
    upper: float
    drive: JointDrive | None
    stiffness: float  # of the ties [N/m]
    lever: float  # length over which directions are tied [m]
    position: float = 0.0  # joint coordinate at the start [m or rad]
    spring: JointSpring | None = None  # in place of a drive
    friction: JointFriction | None = None
