"""The log that others read along: whole lines, numbers in SI units, nothing that JSON lacks."""

from __future__ import annotations

import json

import numpy as np
import pytest

from app.loop import Wiring
from app.state_log import StateLog
from devices.contract import Health, Status
from tests.app.fake_scene import DT
from tests.app.fakes import FakeDevice, make_loop


def test_a_line_a_frame_says_where_the_tool_is_and_what_the_recorder_does(tmp_path):
    loop = make_loop(FakeDevice((1.0, 0, 0, 0, 0, 0)), wiring=Wiring(pacing=False))
    loop.wiring.sinks = [StateLog(tmp_path / "log", loop)]
    start = loop.session.engine.body_transform("palm")[:3, 3].copy()
    for _ in range(3):
        loop.frame_once()
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert [line["index"] for line in lines] == [1, 2, 3]
    assert lines[2]["time"] == pytest.approx(3 * DT, abs=1e-5) and lines[2]["mode"] == "DRIVING"
    tool = lines[2]["tools"][loop.operator.tools[0].name]
    moved = 3 * DT * loop.operator.settings.linear_speed
    assert tool["target"] == pytest.approx(start + [moved, 0, 0], abs=1e-6)
    assert lines[2]["record"] is None and lines[2]["health"] == "OK"
    strip = loop._points[loop.session.scene.model.meshes["strip"].points]
    assert lines[2]["meshes"]["strip"]["upper"] == pytest.approx(strip.max(axis=0), abs=1e-6)
    assert "table" not in lines[2]["meshes"]


def test_a_pause_with_its_reason_and_numbers_that_are_none(tmp_path):
    device = FakeDevice()
    loop = make_loop(device, wiring=Wiring(pacing=False))
    log = StateLog(tmp_path / "log", loop)
    loop.wiring.sinks = [log]
    device.health = Status(Health.LOST, "pulled out")
    frame = loop.frame_once()
    frame.points[:] = np.nan
    assert log.line(frame)["meshes"]["strip"]["lower"] == [None] * 3
    line = json.loads((tmp_path / "log").read_text())
    assert line["mode"] == "PAUSED" and "pulled out" in line["paused_reason"] and not line["stepped"]


def test_a_file_that_cannot_be_written_is_said(tmp_path):
    with pytest.raises(ValueError, match=r"--state-log .*nowhere.log: No such file or directory"):
        StateLog(tmp_path / "not there" / "nowhere.log", make_loop())
