"""What a robot is: links joined to a tree. Read from a URDF by `scenes.urdf`; this file knows no file format."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

KINDS = ("fixed", "revolute", "continuous", "prismatic")


@dataclass(frozen=True, eq=False)
class RobotLink:
    """One stiff piece. mass [kg], None: not said; com (3,) [m] and inertia (3, 3) [kg m2] about it, in link axes."""

    name: str
    mass: float | None = None
    com: np.ndarray | None = None
    inertia: np.ndarray | None = None


@dataclass(frozen=True)
class Mimic:
    """The coordinate is multiplier * (coordinate of `joint`) + offset."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, eq=False)
class RobotJoint:
    """How a child link moves against its parent.

    origin: (4, 4) parent link from joint frame, where the child's frame is at coordinate 0. axis: (3,) in the joint
    frame; need not be of unit length. lower, upper [m or rad]; velocity [m/s or rad/s]; effort [N or N m]; inf = none.
    """

    name: str
    kind: str
    parent: str
    child: str
    origin: np.ndarray
    axis: np.ndarray
    lower: float = -np.inf
    upper: float = np.inf
    velocity: float = np.inf
    effort: float = np.inf
    mimic: Mimic | None = None


@dataclass(frozen=True, eq=False)
class RobotDescription:
    """A tree of links. Raises ValueError naming the robot and what is wrong: no link or no root, an unknown or double
    name, a link with two parents, a loop, an unknown kind of joint, an axis of length 0, limits that are not finite
    numbers or in the wrong order, a mimic of an unknown or fixed joint or of itself."""

    name: str
    links: tuple[RobotLink, ...]
    joints: tuple[RobotJoint, ...]

    def __post_init__(self):
        names = [link.name for link in self.links]
        if not names:
            self._refuse("it has no link")
        for what, listed in (("link", names), ("joint", [joint.name for joint in self.joints])):
            twice = sorted({name for name in listed if listed.count(name) > 1})
            if twice:
                self._refuse(f"two {what}s are called '{twice[0]}'")
        for joint in self.joints:
            self._check_joint(joint, names)
        children = [joint.child for joint in self.joints]
        for name in names:
            if children.count(name) > 1:
                owners = ", ".join(f"'{j.name}'" for j in self.joints if j.child == name)
                self._refuse(f"link '{name}' is the child of several joints: {owners}; a robot must be a tree")
        roots = [name for name in names if name not in children]
        if len(roots) != 1:
            found = ", ".join(roots) or "a loop"
            self._refuse(f"it must have one root link (one without a parent), it has {len(roots)}: {found}")
        if len(self.ordered_joints()) != len(self.joints):
            self._refuse("its joints form a loop; a robot must be a tree")
        self._check_mimics()

    def _check_joint(self, joint: RobotJoint, links: list[str]) -> None:
        owner = f"joint '{joint.name}'"
        if joint.kind not in KINDS:
            self._refuse(f"{owner} is of the kind '{joint.kind}'; legal kinds: {', '.join(KINDS)}")
        for role in ("parent", "child"):
            if getattr(joint, role) not in links:
                self._refuse(f"{owner} has the {role} '{getattr(joint, role)}'; links: {', '.join(links)}")
        if joint.kind == "fixed":
            return
        length = float(np.linalg.norm(joint.axis))
        if not (np.isfinite(length) and length > 0.0):
            self._refuse(f"{owner} has the axis {np.asarray(joint.axis).tolist()}; it must have a length above 0")
        if np.isnan([joint.lower, joint.upper, joint.velocity, joint.effort]).any() or joint.lower > joint.upper:
            self._refuse(f"{owner} has the limits {joint.lower:g} to {joint.upper:g}; lower must not exceed upper")

    def _check_mimics(self) -> None:
        moving = {joint.name: joint for joint in self.joints if joint.kind != "fixed"}
        for joint in moving.values():
            seen, at = {joint.name}, joint
            while at.mimic is not None:
                if at.mimic.joint not in moving:
                    legal = ", ".join(name for name in moving if name != joint.name) or "none"
                    self._refuse(f"joint '{at.name}' mimics '{at.mimic.joint}', which does not move; moving: {legal}")
                if at.mimic.joint in seen:
                    self._refuse(f"joint '{joint.name}' mimics itself")
                at = moving[at.mimic.joint]
                seen.add(at.name)

    def _refuse(self, what: str) -> None:
        raise ValueError(f"robot '{self.name}': {what}")

    @property
    def root(self) -> str:
        """Name of the link without a parent."""
        children = {joint.child for joint in self.joints}
        return next(link.name for link in self.links if link.name not in children)

    def ordered_joints(self) -> list[RobotJoint]:
        """Joints from the root outwards: a parent comes before its children."""
        found, front = [], [self.root]
        while front:
            link = front.pop(0)
            mine = [joint for joint in self.joints if joint.parent == link]
            found += mine
            front += [joint.child for joint in mine]
        return found

    def rigid_groups(self) -> dict[str, list[str]]:
        """Links that fixed joints hold together: name of the link nearest to the root -> all of them, it first."""
        head = {self.root: self.root}
        groups = {self.root: [self.root]}
        for joint in self.ordered_joints():
            owner = head[joint.parent] if joint.kind == "fixed" else joint.child
            head[joint.child] = owner
            groups.setdefault(owner, []).append(joint.child)
        return groups
