"""Tables of what acts along the coordinate of a joint and gives way."""

from __future__ import annotations

from engine.materials import JointFriction, JointSpring
from scenes.reading import OrNone, Quantity, Table

JOINT_SPRING = Table(
    JointSpring,
    {
        "stiffness": (Quantity("joint stiffness", above=0.0), "spring to the rest position"),
        "yield_force": (OrNone(Quantity("joint force", above=0.0)), "at which the rest position follows; none: never"),
        "damping": (Quantity("joint damping", low=0.0), "damping of the joint coordinate"),
        "rest": (OrNone(Quantity("joint position")), "position without force; none: where it starts"),
    },
    title="joint spring",
)
JOINT_FRICTION = Table(
    JointFriction,
    {
        "force": (Quantity("joint force", above=0.0), "against which the joint slides"),
        "slip": (Quantity("joint position", above=0.0), "by how much it gives before it slides"),
    },
    title="joint friction",
)
