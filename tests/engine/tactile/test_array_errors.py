"""What a TactileArray refuses, and what it keeps up with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.edits import Grasp, Release
from engine.renewal import renew_worlds
from engine.tactile.array import TactileArray
from engine.tactile.memory import image_bytes
from engine.tactile.signal_table import GROUPS, SIGNALS, checked, table
from scenes.sensors import BoxGel
from tests.engine.tactile.pad_scenes import Pad


@pytest.fixture(scope="module")
def pad():
    return Pad()


def test_unknown_names_are_told_with_the_legal_ones(pad):
    with pytest.raises(ValueError, match="there is no signal 'deep'; legal: depth, indentation, .*groups shape"):
        TactileArray(pad.engine, [pad.spec], ["deep"])
    tactile = TactileArray(pad.engine, [pad.spec], ["depth"])
    with pytest.raises(KeyError, match="no sensor 'left'; available: pad"):
        tactile.numpy("depth", "left")
    with pytest.raises(KeyError, match="no signal 'wrench' is computed here; available: depth, normal"):
        tactile.numpy("wrench", "pad")
    with pytest.raises(KeyError, match="sensor pad: no mesh 'gel'; available: holder, pad"):
        TactileArray(pad.engine, [replace(pad.spec, mesh="gel")])
    with pytest.raises(KeyError, match="sensor pad: no body 'arm'; available: holder"):
        TactileArray(pad.engine, [replace(pad.spec, body="arm")])
    with pytest.raises(KeyError, match="sensor 'pad' has no calibration"):
        TactileArray(pad.engine, [pad.spec], ["rgb"]).numpy("rgb", "pad")


def test_bad_sensors_are_refused(pad):
    with pytest.raises(ValueError, match="sensor pad has no coat"):
        TactileArray(pad.engine, [replace(pad.spec, coat=np.zeros((0, 3), int))])
    with pytest.raises(ValueError, match=r"sensor pad has a coat of vertices up to 9999, its mesh has \d+"):
        TactileArray(pad.engine, [replace(pad.spec, coat=np.array([[0, 1, 9999]]))])
    away = pad.spec.camera.sensor_from_camera.copy()
    away[:3, :3] = np.diag([1.0, -1.0, -1.0])
    blind = replace(pad.spec, camera=replace(pad.spec.camera, sensor_from_camera=away))
    with pytest.raises(ValueError, match=r"sensor pad: its camera at \(0, 0, -0.002\) m .* sees nothing of the coat"):
        TactileArray(pad.engine, [blind])
    away[:3] = np.array([[1.0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, -9.0]])
    far = replace(pad.spec, camera=replace(pad.spec.camera, sensor_from_camera=away))
    with pytest.raises(ValueError, match="its coat lies 9 m before its camera; 8 m at most"):
        TactileArray(pad.engine, [far])


def test_worlds_beyond_memory_are_refused_before_anything_is_taken(pad, monkeypatch):
    each = image_bytes([pad.spec], tuple(GROUPS))
    pixels = 80 * 60
    assert each == pixels * (8 + 4 + 4 + 12 + 3 + 4 + 8 + 1 + 12 + 12) + 6 * 8
    monkeypatch.setattr("engine.tactile.memory.free_bytes", lambda device: 3 * each)
    monkeypatch.setattr(pad.engine.model, "num_worlds", 4)
    with pytest.raises(MemoryError, match=r"take 0.326 MB a world, .* in 4 worlds; .* free on cpu. Ask for at most 2"):
        TactileArray(pad.engine, [pad.spec])


def test_groups_bring_what_they_need():
    assert checked(["depth"]) == ("shape",) and checked(["rgb", "wrench"]) == ("shape", "forces", "rgb")
    assert sorted(sum(GROUPS.values(), ())) == sorted(SIGNALS)


def test_grasps_between_steps_do_not_disturb_the_signals():
    pad = Pad()
    tactile = TactileArray(pad.engine, [pad.spec])
    for edits in ([], [Grasp("pad", np.flatnonzero(pad.free)[:4], "holder")], [Release("pad")]):
        pad.engine.apply(edits)
        for _ in range(3):  # the second and third run replay a graph
            pad.engine.step()
            tactile.update()
            assert np.abs(tactile.numpy("depth", "pad") - tactile.reference("depth", "pad")).max() < 1e-8


def test_no_sensors_is_no_work(pad):
    TactileArray(pad.engine, []).update()


def test_the_documented_signals_are_those_there_are():
    page = Path(__file__).parents[3] / "docs" / "physics" / "tactile.md"
    assert table() in page.read_text(encoding="utf-8"), "paste what engine.tactile.signal_table.table() gives"


def test_worlds_may_have_their_pads_elsewhere_and_be_drawn_anew():
    pad = Pad(worlds=3)
    tactile = TactileArray(pad.engine, [pad.spec])
    renew_worlds(pad.engine, {1: Pad(slip=(4e-4, -3e-4, 0.0)).builder})
    for _ in range(3):
        tactile.update()
        for world in range(3):
            assert np.array_equal(tactile.numpy("depth", "pad", world), tactile.reference("depth", "pad")), world
    apart = np.linalg.inv(tactile.world_from_sensor("pad", 0)) @ tactile.world_from_sensor("pad", 1)
    assert apart[:3, 3] == pytest.approx([4e-4, -3e-4, 0.0], abs=1e-12) and apart[1, 0] == pytest.approx(0.04, rel=1e-3)
    fresh = TactileArray(pad.engine, [pad.spec])
    fresh.update()
    assert np.array_equal(fresh.numpy("depth", "pad", 1), tactile.reference("depth", "pad"))


def test_gels_of_other_shapes_in_one_batch_are_refused():
    pad = Pad(worlds=2)
    renew_worlds(pad.engine, {1: Pad(gel=BoxGel(size=(0.008, 0.006, 0.0021), cells=(16, 12, 1))).builder})
    with pytest.raises(ValueError, match="its gel in world 1 is shaped otherwise than in world 0, by 3.5e-05 m"):
        TactileArray(pad.engine, [pad.spec])
