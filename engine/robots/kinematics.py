"""Where the links of a robot are (forward kinematics), and how they move with its joints (geometric Jacobian).

Poses are (4, 4), base from link; the base is the root link's frame. Source: Lynch and Park 2017, Modern Robotics,
chapters 4 and 5.
"""

from __future__ import annotations

import numpy as np

from engine.robots.description import RobotDescription


class Kinematics:
    """Of one robot. n coordinates: the joints that move and mimic nobody, from the root outwards; L links, J moving
    joints.

    names: of the coordinates. lower, upper, velocity: float64 (n,) [m or rad, per s]; a mimicking joint's limits
    narrow those of the joint that it follows.
    """

    def __init__(self, robot: RobotDescription):
        self.robot = robot
        self.links = [robot.root] + [joint.child for joint in robot.ordered_joints()]
        self._row = {name: i for i, name in enumerate(self.links)}
        self._joints = robot.ordered_joints()
        self._moving = [joint for joint in self._joints if joint.kind != "fixed"]
        self.names = [joint.name for joint in self._moving if joint.mimic is None]
        self._axis = np.array([np.asarray(j.axis, float) / np.linalg.norm(j.axis) for j in self._moving]).reshape(-1, 3)
        self._cross = np.stack([np.cross(self._axis, e) for e in np.eye(3)], axis=2).reshape(-1, 3, 3)
        self._slides = np.array([joint.kind == "prismatic" for joint in self._moving], bool)
        self._origins = np.array([joint.origin for joint in self._joints]).reshape(-1, 4, 4)
        self._motion_of = np.array([i for i, joint in enumerate(self._joints) if joint.kind != "fixed"], int)
        self._parents = [self._row[joint.parent] for joint in self._joints]
        self._children = np.array([self._row[joint.child] for joint in self._moving], int)
        # coordinates of all moving joints = follow @ q + offset
        self.follow, self.offset = self._followers()
        self.lower, self.upper, self.velocity = self._limits()
        self._upstream = self._joints_above()

    @property
    def size(self) -> int:
        """Number of coordinates n."""
        return len(self.names)

    def index(self, name: str) -> int:
        """Place of a coordinate. Raises KeyError naming those that there are."""
        if name not in self.names:
            mimic = next((j.mimic.joint for j in self._moving if j.name == name and j.mimic), None)
            why = f" it follows '{mimic}';" if mimic else ""
            legal = ", ".join(self.names) or "none"
            raise KeyError(f"robot '{self.robot.name}' has no free joint '{name}';{why} joints: {legal}")
        return self.names.index(name)

    def link_index(self, name: str) -> int:
        """Place of a link in the poses. Raises KeyError naming the links."""
        if name not in self._row:
            raise KeyError(f"robot '{self.robot.name}' has no link '{name}'; links: {', '.join(self.links)}")
        return self._row[name]

    def above(self, link: str) -> list[int]:
        """Coordinates that move a link against the base, ascending. Raises KeyError like `link_index`."""
        self.link_index(link)
        return sorted({int(np.argmax(self.follow[j] != 0.0)) for j in self._upstream[link]})

    def vector(self, values: dict[str, float], base: np.ndarray | None = None) -> np.ndarray:
        """Coordinates (n,) from some by name; the others from `base`, or where 0 is nearest within the limits."""
        q = np.clip(0.0, self.lower, self.upper) if base is None else np.array(base, dtype=np.float64)
        for name, value in values.items():
            q[self.index(name)] = value
        return q

    def clip(self, q: np.ndarray) -> np.ndarray:
        """The nearest coordinates within the limits."""
        return np.clip(q, self.lower, self.upper)

    def joint_values(self, q: np.ndarray) -> np.ndarray:
        """Coordinates of all moving joints, mimicking ones included; q (..., n) -> (..., J)."""
        return q @ self.follow.T + self.offset

    def forward(self, q: np.ndarray) -> np.ndarray:
        """Poses of all links, base from link, float64 (..., L, 4, 4), for coordinates q (..., n)."""
        values = self.joint_values(np.asarray(q, dtype=np.float64))
        local = np.broadcast_to(self._origins, (*values.shape[:-1], *self._origins.shape)).copy()
        local[..., self._motion_of, :, :] = local[..., self._motion_of, :, :] @ self._motions(values)
        poses = np.empty((*values.shape[:-1], len(self.links), 4, 4))
        poses[..., 0, :, :] = np.eye(4)
        for row, parent in enumerate(self._parents, 1):
            np.matmul(poses[..., parent, :, :], local[..., row - 1, :, :], out=poses[..., row, :, :])
        return poses

    def jacobian(self, poses: np.ndarray, link: str, point: np.ndarray) -> np.ndarray:
        """Velocity of a point that is carried by a link, by coordinate: rows 0-2 linear, 3-5 angular, (6, n), base
        frame. poses: (L, 4, 4) of `forward`; point (3,) [m] base frame."""
        columns = np.zeros((6, len(self._moving)))
        above = self._upstream[link]
        frames = poses[self._children[above]]  # the axis is the same before and after the joint's motion
        axes = np.einsum("jab,jb->ja", frames[:, :3, :3], self._axis[above])
        slides = self._slides[above][:, None]
        columns[:3, above] = np.where(slides, axes, np.cross(axes, point - frames[:, :3, 3])).T
        columns[3:, above] = np.where(slides, 0.0, axes).T
        return columns @ self.follow

    def coordinates(self, poses: np.ndarray, near: np.ndarray | None = None) -> np.ndarray:
        """The inverse of `forward` for poses (L, 4, 4) that some coordinates give; q (n,). A joint that turns without
        limit comes out as the turn nearest to `near` (default 0)."""
        q = np.zeros(self.size) if near is None else np.array(near, dtype=np.float64)
        for row, joint in enumerate(self._moving):
            if joint.mimic is not None:
                continue
            parent = poses[self._row[joint.parent]] @ joint.origin
            local = np.linalg.inv(parent) @ poses[self._row[joint.child]]
            axis, i = self._axis[row], self.names.index(joint.name)
            if joint.kind == "prismatic":
                q[i] = axis @ local[:3, 3]
                continue
            skew = np.array([local[2, 1] - local[1, 2], local[0, 2] - local[2, 0], local[1, 0] - local[0, 1]])
            angle = np.arctan2(0.5 * axis @ skew, 0.5 * (np.trace(local[:3, :3]) - 1.0))
            limited = np.isfinite([self.lower[i], self.upper[i]]).all()
            near_turn = 0.5 * (self.lower[i] + self.upper[i]) if limited else q[i]
            q[i] = angle + 2.0 * np.pi * np.round((near_turn - angle) / (2.0 * np.pi))
        return q

    # private --------------------------------------------------------------------------------------------------------
    def _motions(self, values: np.ndarray) -> np.ndarray:
        """Motion of every moving joint at its coordinate, values (..., J) -> (..., J, 4, 4); turns by Rodrigues'
        formula."""
        motions = np.zeros((*values.shape, 4, 4))
        turn = np.where(self._slides, 0.0, values)[..., None, None]
        square = self._cross @ self._cross
        motions[..., :3, :3] = np.eye(3) + np.sin(turn) * self._cross + (1.0 - np.cos(turn)) * square
        motions[..., :3, 3] = np.where(self._slides, values, 0.0)[..., None] * self._axis
        motions[..., 3, 3] = 1.0
        return motions

    def _followers(self) -> tuple[np.ndarray, np.ndarray]:
        follow, offset = np.zeros((len(self._moving), len(self.names))), np.zeros(len(self._moving))
        by_name = {joint.name: joint for joint in self._moving}
        for j, joint in enumerate(self._moving):
            factor, shift, at = 1.0, 0.0, joint
            while at.mimic is not None:
                shift += factor * at.mimic.offset
                factor *= at.mimic.multiplier
                at = by_name[at.mimic.joint]
            follow[j, self.names.index(at.name)], offset[j] = factor, shift
        return follow, offset

    def _limits(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        lower, upper = np.full(self.size, -np.inf), np.full(self.size, np.inf)
        velocity = np.full(self.size, np.inf)
        for j, joint in enumerate(self._moving):
            i = int(np.argmax(np.abs(self.follow[j]) > 0.0))
            factor = self.follow[j, i]
            if factor == 0.0:
                continue
            velocity[i] = min(velocity[i], joint.velocity / abs(factor))
            if joint.kind != "continuous":
                ends = sorted(((joint.lower - self.offset[j]) / factor, (joint.upper - self.offset[j]) / factor))
                lower[i], upper[i] = max(lower[i], ends[0]), min(upper[i], ends[1])
        empty = lower > upper
        if empty.any():
            name = self.names[int(np.argmax(empty))]
            raise ValueError(f"robot '{self.robot.name}': the limits of '{name}' and of what mimics it do not overlap")
        return lower, upper, velocity

    def _joints_above(self) -> dict[str, np.ndarray]:
        """Moving joints between the root and each link."""
        index = {joint.name: j for j, joint in enumerate(self._moving)}
        above: dict[str, np.ndarray] = {self.links[0]: np.zeros(0, int)}
        for joint in self._joints:
            mine = [index[joint.name]] if joint.kind != "fixed" else []
            above[joint.child] = np.concatenate([above[joint.parent], np.array(mine, int)])
        return above
