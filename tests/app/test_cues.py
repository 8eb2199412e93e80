"""What a hand feels at once: touch, cut, a stage; and that it gets to the devices of both hands."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from app.cues import Cues
from tests.app.fakes import FakeDevice, make_loop

SCENE = SimpleNamespace(
    tools=[
        SimpleNamespace(name="hand", palm="palm", grasp_meshes=("left",)),
        SimpleNamespace(name="knife", palm="blade", grasp_meshes=()),
    ]
)
MESHES = {"palm": slice(0, 2), "left": slice(2, 4), "blade": slice(4, 6), "box": slice(6, 8)}


def model(version=0):
    return SimpleNamespace(topology_version=version, meshes={n: SimpleNamespace(points=p) for n, p in MESHES.items()})


def frame(reached=0, **forces):
    force = np.zeros((1, 8, 3))
    for name, newtons in forces.items():  # pressed from both sides: the sum of vectors is nothing
        start = MESHES[name].start
        force[0, start, 2], force[0, start + 1, 2] = 0.5 * newtons, -0.5 * newtons
    return SimpleNamespace(signals=SimpleNamespace(contact_force=force), extra={"guide": {"reached": reached}})


def test_touch_begins_and_ends_at_different_forces():
    cues = Cues()
    seen = [cues.read(frame(left=f), SCENE, model())["hand"] for f in (0.0, 0.08, 0.12, 0.05, 0.02, 0.08)]
    assert seen == [(), (), ("touch",), ("touch",), (), ()]


def test_each_tool_feels_its_own_touch_and_both_feel_a_cut_once():
    cues = Cues()
    assert cues.read(frame(blade=1.0, box=5.0), SCENE, model()) == {"hand": (), "knife": ("touch",)}
    assert cues.read(frame(blade=1.0), SCENE, model(1)) == {"hand": ("cut",), "knife": ("touch", "cut")}
    assert cues.read(frame(blade=1.0), SCENE, model(1)) == {"hand": (), "knife": ("touch",)}


def test_a_stage_is_told_once_and_a_jump_tells_nothing():
    cues = Cues()
    seen = [cues.read(frame(reached), SCENE, model())["hand"] for reached in (0, 1, 1, 0, 1, 2)]
    assert seen == [(), ("stage",), (), (), (), ("stage",)]
    cues.reset()
    assert cues.read(frame(2), SCENE, model(3))["hand"] == (), "what holds after a jump is not news"
    assert cues.read(frame(3), SCENE, model(4))["hand"] == ("cut", "stage")


def test_the_loop_hands_them_to_the_device():
    device, felt = FakeDevice(), []
    device.feedback = felt.append
    loop = make_loop(device)
    engine, palm = loop.session.engine, loop.session.scene.tools[0].palm
    signals = engine.signals

    def pressed_from_the_second_step():
        found = signals()
        found.contact_force[0, loop.session.model.meshes[palm].points, 2] = 1.0 if len(felt) else 0.0
        return found

    engine.signals = pressed_from_the_second_step
    loop.run(3)
    assert ["touch" in f.events for f in felt] == [False, True, True]
    frames = [frame for frame in loop.view.frames if frame.stepped]
    assert [f.force for f in felt] == pytest.approx([np.linalg.norm(f.signals.drive_force[0, 0]) for f in frames])
