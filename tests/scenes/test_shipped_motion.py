"""The shipped scenes do what they promise: their scripts and keyframes, played through the engine for a while."""

import ipctk
import numpy as np
import pytest

from devices.scripted import load_script
from engine import Engine
from scenes import build_scene, load_config


class Player:
    """Plays a scene's script and keyframes: twist to the palm's target, gripper to the finger targets."""

    def __init__(self, name):
        self.scene = build_scene(load_config(name))
        self.engine = Engine(self.scene.model, self.scene.options)
        self.control = self.engine.control()
        self.script = load_script(self.scene.script) if self.scene.script else None
        self.time, self.closure, self.active, self.steps = 0.0, 0.0, 0, 0

    def run(self, until):
        dt = self.scene.options.dt
        while self.time < until - 0.5 * dt:
            self.time += dt
            self.scene.control_motion(self.control, self.time)
            if self.script:
                self._follow_script(dt)
            report = self.engine.step(self.control)
            self.active += report.contacts > 0
            self.steps += 1

    def _follow_script(self, dt):
        tool, speeds = self.scene.tools[0], self.script.speeds
        segment = next((s for s in self.script.segments if s.until > self.time - 1e-9), self.script.segments[-1])
        row = self.engine.driven_bodies.index(tool.palm)
        self.control.body_transform[0, row, :3, 3] += np.array(segment.twist[:3]) * speeds["linear_speed"] * dt
        self.closure = np.clip(self.closure + segment.gripper * speeds.get("gripper_speed", 1.0) * dt, 0.0, 1.0)
        travel = tool.closed_position - tool.open_position
        for finger in tool.fingers:
            column = self.engine.driven_joints.index(finger)
            self.control.joint_target[0, column] = tool.open_position + self.closure * travel

    def intersects(self):
        x = self.engine.positions()
        collision = self.scene.model.collision
        mesh = ipctk.CollisionMesh(x, collision.edges.numpy(), collision.triangles.numpy())
        return ipctk.has_intersections(mesh, x)


def test_the_gripper_pinches_the_strip_and_lifts_it():
    player = Player("strip_on_box")
    assert not player.intersects()
    player.run(1.1)  # closed on the strip
    signals = player.engine.signals()
    assert signals.joint_force[0] == pytest.approx([8.0, 8.0], rel=0.05), "each finger pinches with its force limit"
    tip = player.engine.mesh_positions("strip")[:7]
    assert np.abs(tip[:, 2] - 0.0405).max() < 2e-3
    held_from = player.engine.body_transform("gripper.palm")[:3, 3]
    held = tip[3]
    player.run(2.0)  # lifted by about 80 mm, carried towards the strip by 18 mm
    tip = player.engine.mesh_positions("strip")[:7]
    palm = player.engine.body_transform("gripper.palm")[:3, 3] - player.scene.tools[0].home[:3, 3]
    moved = tip[3] - held - (player.engine.body_transform("gripper.palm")[:3, 3] - held_from)
    assert np.abs(moved[:2]).max() < 1e-3, "friction keeps it from sliding between the fingers"
    assert palm[2] > 0.07 and tip[3, 2] - 0.0405 == pytest.approx(palm[2], abs=4e-3), "the pinched end follows the palm"
    assert not player.intersects()


def test_the_pad_feels_the_relief():
    player = Player("tactile_press")
    coat = np.unique(player.scene.pads[0].coat)
    rest = player.engine.mesh_positions("pad")[coat, 2]
    player.run(1.2)
    lowered = player.engine.mesh_positions("pad")[coat, 2] - rest
    back = player.engine.body_transform("holder")[2, 3] - player.scene.tools[0].home[2, 3]
    depth = lowered - back
    assert back == pytest.approx(-3e-3, abs=2e-4), "the holder goes where it is told"
    assert 0.7e-3 < depth.max() < 1.3e-3, "the bump stands 1.1 mm into the pad's way"
    assert depth.min() < 0.3e-3, "and hardly beside it"
    assert not player.intersects()


@pytest.mark.parametrize(("name", "until"), [("stress_squeeze", 1.5), ("stress_crumple", 1.5), ("stress_ring", 1.5)])
def test_stress_scenes_touch_and_never_intersect(name, until):
    player = Player(name)
    assert not player.intersects()
    player.run(until)
    assert player.active >= 0.8 * player.steps
    assert not player.intersects()
