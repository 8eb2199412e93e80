"""The entity `carton`: a cardboard box with four flaps on creases."""

from __future__ import annotations

from dataclasses import dataclass

from engine.materials import ContactMaterial, JointFriction, JointSpring
from scenes.joints import JOINT_FRICTION, JOINT_SPRING
from scenes.placed import Placed
from scenes.reading import OrNone, Quantity, Table, setting
from scenes.tables import POSITIVE_LENGTH, SIZE, Look, contact_setting, look_setting

FLAPS = ("front", "back", "left", "right")  # at -y, +y, -x, +x; front and back meet over the seam, along x

# A crease of 0.2 m: springs back by 0.25 rad, and its flap of some 10 g does not open it any further.
CREASE = JointSpring(stiffness=0.12, yield_force=0.03, damping=2e-3)


@dataclass(frozen=True)
class Carton(Placed):
    """A box with four flaps that fold on creases; its origin is the middle of its bottom.

    Makes the body NAME, flaps NAME.front (-y), NAME.back (+y), NAME.left (-x), NAME.right (+x), and the joints
    NAME.front_crease and so on: 0 is closed, 90 deg upright. Front and back meet over the seam, which runs along x;
    left and right close below them. A crease gives way when it is folded, so a closed flap springs back a little
    unless something holds it.
    """

    size: tuple = setting(SIZE, "outer extents of the body, without flaps")
    wall: float = setting(POSITIVE_LENGTH, "thickness of the board", 3e-3)
    seam: float = setting(POSITIVE_LENGTH, "gap between front and back flap when closed", 1e-3)
    density: float = setting(Quantity("density", above=0.0), "of the board", 150.0)
    stiffness: float = setting(Quantity("pressure", above=0.0), "resistance to any change of shape", 1e8)
    open_angle: float = setting(Quantity("angle", low=0.0, high=3.0), "of front and back at start", 2.0)
    open_angle_sides: float | None = setting(
        OrNone(Quantity("angle", low=0.0, high=3.0)), "of left and right at start; none: as front and back", None
    )
    crease: JointSpring = setting(JOINT_SPRING, "of each flap", CREASE)
    crease_friction: JointFriction | None = setting(OrNone(JOINT_FRICTION), "of each flap", None)
    overfold: float = setting(Quantity("angle", low=0.0), "by which a flap folds beyond closed before it stops", 0.06)
    contact: ContactMaterial = contact_setting(kappa=1e6, friction_mu=0.5, dhat=5e-4)
    look: Look = look_setting(color=(0.76, 0.60, 0.42), finish="cardboard")


CARTON = Table(Carton, title="carton")
