"""The entity `dispenser`: a hand-held tape dispenser with its roll, guide roller and blade."""

from __future__ import annotations

from dataclasses import dataclass

from engine.materials import ContactMaterial, JointFriction
from scenes.joints import JOINT_FRICTION
from scenes.placed import Placed
from scenes.reading import Flag, OrNone, Quantity, Table, setting
from scenes.roll import ROLL, Roll
from scenes.tables import POSITIVE_LENGTH, Look, contact_setting, look_setting

HUB_FRICTION = JointFriction(force=0.02, slip=0.02)


@dataclass(frozen=True)
class Dispenser(Placed):
    """A dispenser that the operator moves. Its origin is the lowest place of its roller, where tape meets the box.

    In its own frame the roller's axis is y, the tape is laid towards +x while the dispenser moves towards -x, sticky
    side down; the blade hangs behind the roller, over the laid tape: lowering that side (a turn about +y) cuts. Makes
    the bodies NAME and NAME.roller, the roll NAME.tape (its core NAME.tape_core on a bearing of NAME), threaded under
    the roller.
    """

    roll: Roll = setting(ROLL, "its roll; position, rotation, free_length and axle are the dispenser's", Roll())
    held: bool = setting(Flag(), "false: nobody holds it, it is no tool and it falls", True)
    roller_radius: float = setting(POSITIVE_LENGTH, "of the guide roller", 0.01)
    feed_angle: float = setting(Quantity("angle", above=0.3, high=1.5), "at which tape comes down to the roller", 1.3)
    clearance: float = setting(POSITIVE_LENGTH, "of the full roll above the laid tape", 8e-3)
    tail: float = setting(Quantity("length", low=0.0), "of tape beyond the roller at start", 0.03)
    blade_reach: float = setting(POSITIVE_LENGTH, "from the roller's axis back to the blade's edge", 0.018)
    blade_height: float = setting(POSITIVE_LENGTH, "of the blade's edge above the laid tape", 7e-3)
    hub_friction: JointFriction | None = setting(OrNone(JOINT_FRICTION), "of the roll's bearing", HUB_FRICTION)
    density: float = setting(Quantity("density", above=0.0), "of frame and roller", 600.0)
    force_limit: float | None = setting(OrNone(Quantity("force", above=0.0)), "with which it may be moved", 40.0)
    drive_stiffness: float = setting(
        Quantity("stiffness", above=0.0), "with which it is moved: soft, so that a blocked one presses without turning",
        8e3,
    )  # fmt: skip
    contact: ContactMaterial = contact_setting(kappa=1e6, friction_mu=0.15, dhat=1.5e-4)
    look: Look = look_setting(color=(0.72, 0.16, 0.14), finish="satin")
    roller_look: Look = setting(
        Table(Look, defaults={"color": (0.2, 0.21, 0.22), "finish": "satin", "smooth": True}, title="look"),
        "how the roller is drawn",
        Look(color=(0.2, 0.21, 0.22), finish="satin", smooth=True),
    )


DISPENSER = Table(Dispenser, title="dispenser")


def tape_name(name: str) -> str:
    """Name of the strip of the dispenser `name`."""
    return f"{name}.tape"


def roller_name(name: str) -> str:
    """Name of its guide roller."""
    return f"{name}.roller"
