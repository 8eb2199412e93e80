"""Joints of one world as ties between hidden points that ride on the two bodies (on nothing for the world).

Ties are linear or quadratic in the points, so a body that stays orthogonal is held exactly as a rigid one would be:
fixed = four points tied, spherical = one, revolute = two along the axis, prismatic = one point on a line and two
directions. Directions are tied over the lever (half the child's bounding diagonal), so the ties' turning stiffness is
`stiffness * lever^2` [N m/rad] whatever the size of the body.
"""

from __future__ import annotations

import numpy as np

from engine.builder.layout import WorldLayout
from engine.builder.parts import JointPart
from engine.builder.terms import TermCollector


def perpendicular_frame(axis: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Unit n1, n2 with (n1, n2, axis) right-handed; (3,) each."""
    helper = np.zeros(3)
    helper[int(np.argmin(np.abs(axis)))] = 1.0
    n1 = np.cross(helper, axis)
    n1 /= np.linalg.norm(n1)
    return n1, np.cross(axis, n1)


def add_joint_terms(terms: TermCollector, joint: JointPart, layout: WorldLayout) -> tuple[str, int]:
    """Add ties and, for revolute and prismatic joints, the coordinate with its drive and limits.

    Returns (kind of the coordinate term, element within it), ("", -1) for joints without a coordinate.
    """
    n1, n2 = perpendicular_frame(joint.axis)

    def on_parent(offset) -> int:
        return layout.add_rider(joint.parent, joint.anchor + offset)

    def on_child(offset) -> int:
        return layout.add_rider(joint.child, joint.anchor + offset)

    zero, lever = np.zeros(3), joint.lever
    if joint.kind == "prismatic":
        centre, origin = on_child(zero), on_parent(zero)
        across = [origin, on_parent(n1), on_parent(n2)]  # at unit distance: the slide's lengths are then metres
        terms.add("slide", [[centre, *across]], stiffness=joint.stiffness)
        directions = [[centre, on_child(lever * d), origin, on_parent(lever * d)] for d in (joint.axis, n1)]
        terms.add("direction_tie", directions, stiffness=joint.stiffness)
        stencil = [[centre, origin, on_parent(joint.axis)]]
        return "slide_coordinate", _add_coordinate(terms, "slide_coordinate", stencil, joint, joint.stiffness)
    offsets = {
        "fixed": [zero, lever * n1, lever * n2, lever * joint.axis],
        "spherical": [zero],
        "revolute": [lever * joint.axis, -lever * joint.axis],
    }[joint.kind]
    terms.add("point_tie", [[on_parent(o), on_child(o)] for o in offsets], stiffness=joint.stiffness)
    if joint.kind != "revolute":
        return "", -1
    stencil = [[on_parent(zero), on_parent(n1), on_parent(n2), on_child(n1)]]
    return "angle_coordinate", _add_coordinate(terms, "angle_coordinate", stencil, joint, joint.stiffness * lever**2)


def _add_coordinate(terms: TermCollector, kind: str, stencil, joint: JointPart, limit_stiffness: float) -> int:
    """Every movable joint has a coordinate, so that its position can always be read; without a drive or spring its
    stiffness is 0. Friction is a second element right behind. The points give 0 at the start, hence offset =
    -position."""
    drive, spring, friction = joint.drive, joint.spring, joint.friction
    stiffness, damping, limit, target, yields = 0.0, 0.0, None, joint.position, 0.0
    if drive is not None:
        stiffness, damping, limit = drive.stiffness, drive.damping, drive.force_limit
    elif spring is not None:
        stiffness, damping, limit = spring.stiffness, spring.damping, spring.yield_force
        target = joint.position if spring.rest is None else spring.rest
        yields = float(limit is not None)
    element = terms.add(
        kind, stencil,
        offset=-joint.position,
        stiffness=stiffness,
        damping=damping,
        target=target,
        force_limit=np.inf if limit is None else limit,
        lower=joint.lower, upper=joint.upper, limit_stiffness=limit_stiffness,
        yields=yields,
    )  # fmt: skip
    if friction is not None:
        terms.add(
            kind, stencil,
            offset=-joint.position,
            stiffness=friction.force / friction.slip,
            damping=0.0,
            target=joint.position,
            force_limit=friction.force,
            lower=-np.inf, upper=np.inf, limit_stiffness=0.0,
            yields=1.0,
        )  # fmt: skip
    return element
