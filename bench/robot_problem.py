"""Robots through their joint range and touched on every pad.

Range: each free joint alone goes from the start pose to its lower limit, to its upper one and back, in strides of at
most 10 degrees or 4 mm, while the others stay; then all go together towards both ends. Where a link is held back (by
another link: self-collision is on) the motion turns round. A joint counts as far as the link that it moves got. After
each stride every surface is tested for crossings (engine.contact.intersections, with the model's own filters: links
that a joint joins, and what touches at the start, may overlap).

Touch: a ball of 5 mm radius is put 0.5 mm above the middle of a pad's coat and pressed 0.5 mm into it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

TURN, SLIDE = np.radians(10.0), 4e-3  # [rad], [m] of a stride
BALL, ABOVE, DEEP = 5e-3, 5e-4, 5e-4  # [m]
PROBE = "probe"
FAR = (0.0, 0.0, -2.0)  # [m] where the ball waits
ROBOTIQ = Path(__file__).resolve().parents[1] / "assets" / "robots" / "robotiq_3f.sensors.yaml"


@dataclass(frozen=True)
class RobotCase:
    """A robot of the reference data. urdf, sensors: paths under data/taccel (sensors: JSON, or a file of ours);
    extra: further lines of the entity."""

    urdf: str
    sensors: str | Path
    extra: str = ""


CASES = {
    "panda": RobotCase(
        "panda/panda_tac.urdf", "panda/tac_fabr_1e-07.json",
        "joints: {panda_finger_joint1: 0.02, panda_finger_joint2: 0.02}",
    ),  # fmt: skip
    "allegro": RobotCase("allegro/allegro_hand_description_right.urdf", "allegro/tac_fabr_1e-07.json"),
    "f_tac": RobotCase("f_tac_hand/urdf/f_tac_hand_rigid.urdf", "f_tac_hand/tac_fab_1e-08.json"),
    "robotiq_3f": RobotCase(
        "robotiq_3f/robotiq-3f-gripper_articulated.urdf", ROBOTIQ,
        # its file lets the fingers go through the palm
        'substitute: [[/mujoco/, /collision/], [_vis, ""]]\n    force_limit: 40 N',
    ),  # fmt: skip
}


def write_scene(case: RobotCase, data: Path, folder: Path) -> Path:
    """The scene of a case: the robot in the air and a ball. data: the folder data/taccel."""
    from scenes.sensor_convert import convert_sensors

    sensors = Path(case.sensors)
    if sensors.suffix == ".json":
        convert_sensors(data / sensors, folder / "sensors.yaml", data / case.urdf)
        sensors = folder / "sensors.yaml"
    scene = folder / "robot.yaml"
    scene.write_text(
        f"""options: {{dt: 20 ms, newton_tolerance: 5 mm/s}}
entities:
  robot:
    type: robot
    urdf: {data / case.urdf}
    sensors: {sensors}
    contact: {{dhat: 0.1 mm}}
    {case.extra}
  {PROBE}:
    type: body
    shape: {{type: sphere, radius: {BALL}, subdivisions: 3}}
    position: [{FAR[0]}, {FAR[1]}, {FAR[2]}]
    density: 2000 kg/m3
    driven: true
    gravity: false
    contact: {{dhat: 0.1 mm, friction_mu: 0.5}}
""",
        encoding="utf-8",
    )
    return scene


@dataclass
class Swept:
    """strides; intersecting: strides after which surfaces crossed; unconverged; blocked: strides in which a drive was
    held back; reached (n,): share of each joint's range that it covered alone; newton: iterations."""

    strides: int = 0
    intersecting: int = 0
    unconverged: int = 0
    blocked: int = 0
    newton: int = 0
    reached: np.ndarray = field(default_factory=lambda: np.zeros(0))


def sweep(scene, engine, joints=None, watch: Callable = lambda text: None) -> Swept:
    """See the module. joints: coordinates to move one by one, None: all, and then all together."""
    from engine.contact.intersections import Intersections

    robot = next(iter(scene.robots.values()))
    k = robot.kinematics
    oracle = Intersections(engine.model.collision, engine.model.embedding)
    swept, control = Swept(reached=np.zeros(k.size)), engine.control()
    low, high = np.maximum(k.lower, -np.pi), np.minimum(k.upper, np.pi)

    def go(q: np.ndarray) -> tuple[np.ndarray, bool]:
        robot.write(control, engine.driven_bodies, q)
        report = engine.step(control)
        swept.strides += 1
        swept.newton += report.newton_iterations
        swept.unconverged += not report.converged
        held = any("blocked" in m or "held back" in m for m in report.messages)
        swept.blocked += held
        swept.intersecting += len(oracle.find(engine.positions())) > 0
        return robot.coordinates({body: engine.body_transform(body) for body in robot.bodies})[0], held

    for i in range(k.size) if joints is None else joints:
        watch(f"joint {k.names[i]}")
        seen = [robot.start[i]]
        for end in (low[i], high[i], robot.start[i]):
            for value in _strides(k, i, seen[-1], end):
                q = robot.start.copy()
                q[i] = value
                reached, held = go(q)
                seen.append(float(reached[i]))
                if held:
                    break
        swept.reached[i] = (max(seen) - min(seen)) / max(high[i] - low[i], 1e-12)
    watch("all joints")
    for end in (low, robot.start, high, robot.start) if joints is None else ():
        begin = robot.coordinates({body: engine.body_transform(body) for body in robot.bodies})[0]
        for share in np.arange(1, 13) / 12:
            if go(begin + share * (end - begin))[1]:
                break
    return swept


def _strides(k, i: int, begin: float, end: float) -> np.ndarray:
    joint = next(j for j in k.robot.joints if j.name == k.names[i])
    count = max(1, int(np.ceil(abs(end - begin) / (SLIDE if joint.kind == "prismatic" else TURN))))
    return begin + (end - begin) * np.arange(1, count + 1) / count


@dataclass(frozen=True)
class Touch:
    """depth: largest indentation seen [m]; force: normal force on the pad [N]; quiet: the same of all other pads."""

    depth: float
    force: float
    quiet: float
    converged: bool


def touch(scene, engine, array, name: str) -> Touch:
    """Press the ball on one pad from the start pose; leaves the engine pressed."""
    spec = next(s for s in scene.pads if s.name == name)
    engine.reset()
    state = engine.get_state()
    body = engine.model.bodies[PROBE]
    start = spec.world_from_sensor @ np.array([0.0, 0.0, BALL + ABOVE, 1.0])
    for key in ("x", "x_prev"):
        state[key][body.node] = start[:3] + (state[key][body.node] - np.array(FAR))
    row = engine.driven_bodies.index(PROBE)
    state["control_body_transform"][0, row, :3, 3] = start[:3]
    engine.set_state(state)
    control, converged = engine.control(), True
    for depth in np.linspace(-0.5 * ABOVE, DEEP, 6):
        target = spec.world_from_sensor @ np.array([0.0, 0.0, BALL - depth, 1.0])
        control.body_transform[0, row, :3, 3] = target[:3]
        converged &= engine.step(control).converged
    array.update()
    pressed = {s.name: float(array.numpy("indentation", s.name).max()) for s in scene.pads}
    force = float(np.linalg.norm(array.numpy("wrench", name)[:3]))
    others = [depth for other, depth in pressed.items() if other != name]
    return Touch(pressed[name], force, max(others, default=0.0), converged)
